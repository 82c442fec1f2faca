//! What is done with an answer: its body in a pipe, where a file may go, and what an error status says to do.

use rote_testkit::{FakeApi, Received, Script, TestHome};
use serde_json::json;

use crate::home;

/// Bytes that are not text.
const BYTES: &[u8] = b"\x00\xff{}\n\x1b[31m";

fn answer(request: &Received) -> Script {
    let waiting = |status, seconds: &str| {
        let headers = [("Retry-After", seconds), ("Content-Type", "application/json")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Script::Answer(status, headers.to_vec(), b"{}".to_vec())
    };
    match request.target.as_str() {
        "/bytes" => {
            let kind = ("Content-Type".to_owned(), "application/octet-stream".to_owned());
            Script::Answer(200, vec![kind], BYTES.to_vec())
        }
        "/busy" => waiting(429, "30"),
        "/down" => waiting(503, "7"),
        "/open" | "/secret" | "/bare" => Script::Json(401, json!({ "message": "who are you" })),
        "/closed" => Script::Json(403, json!({ "message": "not you" })),
        _ => Script::Json(200, json!({ "n": 1 })),
    }
}

/// A home with the adapter `files`, of which `secret` takes a credential.
fn files() -> (TestHome, FakeApi) {
    let (home, api) = (home(), FakeApi::start(answer));
    let get = |id: &str| json!({ "get": { "operationId": id, "responses": { "200": { "description": "ok" } } } });
    let mut secret = get("secret");
    secret["get"]["security"] = json!([{ "key": [] }]);
    let mut closed = get("closed");
    closed["get"]["security"] = json!([{ "key": [] }]);
    let mut open = get("open");
    open["get"]["security"] = json!([{}, { "key": [] }]);
    let mut remove = get("createAnIssueLock");
    remove["delete"] = remove["get"].take();
    remove.as_object_mut().unwrap().remove("get");
    let mut one = get("one");
    one["get"]["parameters"] = json!([{ "name": "q", "in": "query", "schema": { "type": "string" } }]);
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Files", "version": "1" },
        "components": { "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } } },
        "paths": {
            "/bytes": get("bytes"), "/one": one, "/busy": get("busy"), "/down": get("down"),
            "/open": open, "/bare": get("bare"), "/secret": secret, "/closed": closed, "/lock": remove,
        },
    });
    home.file("files.json", document.to_string());
    let run = home.rote(&["adapter", "new", "files", "files.json", "--base-url", &api.url(), "--yes"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    (home, api)
}

#[test]
fn a_body_goes_to_standard_output_as_it_is_and_alone() {
    let (home, _api) = files();
    let output = home.invocation(&["call", "files", "bytes", "-o", "-"]).command().output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), BYTES));
    let one = home.rote(&["call", "files", "one", "--output", "-"]);
    assert_eq!((one.code, &*one.stdout), (0, "{\"n\":1}"), "{one}");
    assert!(!home.work().join("-").exists(), "a file has that name");
    for other in [&["--json"][..], &["--jq", "."], &["--body"]] {
        let run = home.rote(&[&["call", "files", "one", "-o", "-"], other].concat());
        assert_eq!(run.code, 2, "{run}");
    }
}

#[test]
fn what_a_program_makes_of_a_body_goes_to_the_file() {
    let (home, _api) = files();
    let run = home.rote(&["call", "files", "one", "--jq", ".n, \"a b\"", "-r", "-o", "n.txt"]);
    assert!(run.code == 0 && run.stdout.contains("wrote "), "{run}");
    assert_eq!(home.read(home.work().join("n.txt").to_str().unwrap()), "1\na b\n");
}

#[test]
fn a_secret_that_was_typed_is_sent_and_said_so() {
    let (home, api) = files();
    let set = home.invocation(&["token", "set", "OTHER_TOKEN", "--stdin", "--yes"]).input("canary-5d1e9f00").run();
    assert_eq!(set.code, 0, "{set}");
    let run = home.rote(&["call", "files", "one", "q=canary-5d1e9f00"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(
        run.stderr.contains("note: the value of `OTHER_TOKEN` stands in the arguments at `/q` and is sent"),
        "{run}"
    );
    assert!(api.received()[0].target.contains("canary-5d1e9f00") && !run.stderr.contains("canary"), "{run}");
    let items = r#"[{"tool_name": "one", "arguments": {"q": "canary-5d1e9f00"}}]"#;
    let run = home.invocation(&["batch", "files", "-"]).input(items).run();
    assert!(run.stderr.contains("note: the value of `OTHER_TOKEN` stands in the arguments at `/q`"), "{run}");
    let run = home.invocation(&["token", "set", "SHORT_TOKEN", "--stdin", "--yes"]).input("ab1").run();
    assert!(run.code == 0 && run.stdout.contains("note: it is too short to be masked in what comes back"), "{run}");
}

#[test]
fn a_folder_that_is_not_there_is_not_made_for_a_body() {
    let (home, api) = files();
    let run = home.rote(&["call", "files", "one", "-o", "no/such/one.json"]);
    assert!(run.code == 3 && run.stderr.contains("/no/such` is not a folder that is there"), "{run}");
    assert!(run.stderr.contains("hint: mkdir -p ") && !home.work().join("no").exists(), "{run}");
    assert_eq!(api.received().len(), 0, "nothing was sent");
}

#[test]
fn a_refused_credential_is_named_and_so_is_a_missing_one() {
    let (home, _api) = files();
    let entry = home.data(&["adapter", "info", "files"]).to_string();
    assert!(entry.contains("FILES_TOKEN"), "{entry}");
    let run = home.rote(&["call", "files", "open"]);
    assert!(run.stderr.contains("hint: rote token set FILES_TOKEN # no credential was sent"), "{run}");
    assert!(run.stderr.contains("\nrote token bind FILES_TOKEN files # "), "{run}");
    let run = home.rote(&["call", "files", "bare"]);
    let new = run.stderr.lines().find(|line| line.starts_with("hint: rote adapter new files ")).unwrap();
    assert!(new.contains("files.json --base-url http://127.0.0.1:"), "{run}");
    assert!(new.contains(" --bearer-token FILES_TOKEN --yes # no credential was sent"), "{run}");
    let run =
        home.invocation(&["token", "set", "FILES_TOKEN", "--stdin", "--yes"]).input("qz7-vault-of-files-4417").run();
    assert_eq!(run.code, 0, "{run}");
    for tool in ["secret", "closed"] {
        let run = home.rote(&["call", "files", tool]);
        let hint = "hint: rote token set FILES_TOKEN # another value of the credential that was sent\nrote @";
        assert!(run.stderr.contains(hint), "{run}");
    }
    let run = home.rote(&["call", "files", "secret", "--json"]);
    assert_eq!(run.envelope()["error"]["details"]["credentials"], json!(["FILES_TOKEN"]), "{run}");
}

#[test]
fn an_answer_that_asks_to_wait_says_how_long() {
    let (home, _api) = files();
    for (tool, seconds) in [("busy", 30), ("down", 7)] {
        let run = home.rote(&["call", "files", tool]);
        assert!(run.code == 8 && run.stderr.contains(&format!("; it asks to wait {seconds} s\n")), "{run}");
        let run = home.rote(&["call", "files", tool, "--json"]);
        assert_eq!(run.envelope()["error"]["details"]["retry_after_seconds"], json!(seconds), "{run}");
    }
}

#[test]
fn words_that_are_no_name_are_looked_up_and_not_guessed() {
    let (home, _api) = files();
    let run = home.rote(&["call", "files", "create an issue lock"]);
    assert!(run.code == 3 && !run.stderr.contains("did you mean"), "{run}");
    assert!(run.stderr.contains("hint: rote probe files 'create an issue lock'"), "{run}");
    let run = home.rote(&["call", "files", "byte"]);
    assert!(run.stderr.contains("did you mean `bytes`"), "{run}");
}

/// Who writes a file for a person writes none of rote's own, also through a folder that leads there.
#[test]
fn no_command_writes_below_the_home() {
    let (home, _api) = files();
    let before = home.read("adapters/files/config/policies.json");
    std::os::unix::fs::symlink(home.home().join("adapters"), home.work().join("ad")).unwrap();
    let policies = home.home().join("adapters/files/config/policies.json");
    for file in [policies.to_str().unwrap(), "ad/files/config/policies.json"] {
        for words in [
            &["bind", "files", "--lang", "ts", "--out", file][..],
            &["call", "files", "one", "--force", "-o", file],
            &["flow", "new", "mine", "--dir", file],
            &["run", "mine", "--record", file],
        ] {
            let run = home.rote(words);
            assert!(run.code == 6 && run.stderr.contains("is below the home"), "{words:?}: {run}");
        }
    }
    assert_eq!(home.read("adapters/files/config/policies.json"), before);
}
