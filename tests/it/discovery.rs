//! Adapters from Google Discovery documents: what is asked for by a method's id arrives as the document says.

use rote_testkit::{FakeApi, Received, Script, TestHome};
use serde_json::{Value, json};

use crate::home;

/// A file's content, which is not text.
const CONTENT: &[u8] = b"\x89PNG\x00\xff";

fn answer(request: &Received) -> Script {
    match request.target.split('?').next().unwrap_or("") {
        "/planner/v2/v2/plans/p/files/f" if request.target.ends_with("alt=media") => {
            Script::Answer(200, vec![("Content-Type".to_owned(), "image/png".to_owned())], CONTENT.to_vec())
        }
        "/planner/v2/plans/p/events" if request.method == "GET" => {
            Script::Json(200, json!({ "items": [{ "id": "e1", "summary": "Stand-up" }] }))
        }
        _ => Script::Json(200, json!({ "id": "made" })),
    }
}

/// A home with the adapter `planner`, a token for it, and the API that both reach.
fn planner() -> (TestHome, FakeApi) {
    let (home, api) = (home(), FakeApi::start(answer));
    home.file("planner.json", include_str!("../fixtures/specs/planner.discovery.json"));
    let base = format!("{}/planner/v2", api.url());
    let server = format!("planner.example={}", api.url());
    let run = home.rote(&["adapter", "new", "planner", "planner.json", "--base-url", &base, "--server", &server]);
    assert_eq!(run.code, 0, "{run}");
    let run = home.invocation(&["token", "set", "PLANNER_TOKEN", "--stdin", "--yes"]).input("ya29-0123456789").run();
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    (home, api)
}

#[test]
fn methods_are_called_by_their_dotted_ids() {
    let (home, api) = planner();
    let list =
        home.rote(&["call", "planner", "planner.events.list", r#"{"planId":"p","eventTypes":["default","travel"]}"#]);
    assert_eq!(list.code, 0, "{list}");
    assert_eq!(home.rote(&["@1", ".items[0].summary", "-r"]).stdout, "Stand-up\n");
    let insert = r#"{"planId":"p","summary":"Review","start":{"dateTime":"2026-03-02T10:00:00Z"},"end":{}}"#;
    let made = home.rote(&["call", "planner", "planner.events.insert", insert]);
    assert_eq!(made.code, 0, "{made}");
    let missing = home.rote(&["call", "planner", "planner.events.insert", r#"{"planId":"p","summary":"Review"}"#]);
    assert!(missing.code != 0 && missing.stderr.contains("start"), "{missing}");
    let received = api.received();
    assert_eq!(received[0].target, "/planner/v2/plans/p/events?eventTypes=default&eventTypes=travel");
    assert_eq!(received[0].header("authorization"), Some("Bearer ya29-0123456789"));
    assert_eq!((received[1].method.as_str(), received[1].target.as_str()), ("POST", "/planner/v2/plans/p/events"));
    let sent: Value = serde_json::from_slice(&received[1].body).unwrap();
    assert_eq!(sent, json!({ "summary": "Review", "start": { "dateTime": "2026-03-02T10:00:00Z" }, "end": {} }));
    assert_eq!(received.len(), 2, "what the method requires is asked for before it is sent");
}

#[test]
fn content_is_downloaded_and_uploaded() {
    let (home, api) = planner();
    let get =
        ["call", "planner", "planner.events.files.get", r#"{"plansId":"p","filesId":"f","alt":"media"}"#, "-o", "-"];
    let output = home.invocation(&get).command().output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), CONTENT));
    let upload = r#"{"metadata":{"name":"n"},"media":{"base64":"aGk=","content_type":"image/png"}}"#;
    let run = home.rote(&["call", "planner", "planner.events.files.create_multipart", upload]);
    assert_eq!(run.code, 0, "{run}");
    let upload = r#"{"__requestBody__":{"base64":"aGk=","content_type":"image/png"}}"#;
    let run = home.rote(&["call", "planner", "planner.events.files.create_media", upload]);
    assert_eq!(run.code, 0, "{run}");
    let received = api.received();
    assert_eq!(received[0].target, "/planner/v2/v2/plans/p/files/f?alt=media");
    assert_eq!(received[1].target, "/upload/planner/v2/files?uploadType=multipart");
    let kind = received[1].header("content-type").unwrap_or("");
    assert!(kind.starts_with("multipart/related; boundary="), "{kind}");
    assert_eq!(received[2].target, "/upload/planner/v2/files?uploadType=media");
    assert_eq!((received[2].header("content-type"), &*received[2].body), (Some("image/png"), &b"hi"[..]));
}

#[test]
fn what_is_left_out_of_a_document_is_said() {
    let home = home();
    home.file("planner.json", include_str!("../fixtures/specs/planner.discovery.json"));
    let run = home.rote(&["adapter", "new", "planner", "planner.json", "--dry-run"]);
    assert_eq!(run.code, 0, "{run}");
    for told in ["resumable upload is left out", "`batchPath` is ignored", "common parameters left out"] {
        assert!(run.to_string().contains(told), "{told}: {run}");
    }
}
