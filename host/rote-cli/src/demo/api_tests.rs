//! The sample API without a socket: what each request gets, and what it leaves behind.

use super::*;

fn send(store: &mut Store, method: &str, target: &str, body: &str) -> (u16, Value) {
    let headers = vec![
        ("authorization".to_owned(), "Bearer t".to_owned()),
        ("content-type".to_owned(), "multipart/form-data; boundary=XX".to_owned()),
    ];
    let request =
        Request { method: method.to_owned(), target: target.to_owned(), headers, body: body.as_bytes().to_vec() };
    let reply = answer(store, &request);
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or(Value::Null))
}

#[test]
fn lists_are_filtered_and_paged() {
    let mut store = Store::seeded();
    let (status, body) = send(&mut store, "GET", "/v1/projects/atlas/issues?per_page=5&labels=bug%2Cfeature", "");
    assert_eq!(status, 200);
    assert!(body.as_array().is_some_and(|rows| !rows.is_empty() && rows.len() <= 5), "{body}");
    assert_eq!(send(&mut store, "GET", "/v1/projects/atlas/issues?per_page=500", "").0, 422);
}

#[test]
fn an_issue_is_created_changed_and_deleted() {
    let mut store = Store::seeded();
    let (status, issue) = send(&mut store, "POST", "/v1/projects/beacon/issues", r#"{"title":"New"}"#);
    assert_eq!((status, &issue["number"]), (201, &json!(22)));
    let path = "/v1/projects/beacon/issues/22";
    let (_, changed) = send(&mut store, "PATCH", path, r#"{"state":"closed","assignee":"grace"}"#);
    assert_eq!((&changed["state"], &changed["assignee"]["name"]), (&json!("closed"), &json!("Grace Hopper")));
    assert_eq!(send(&mut store, "DELETE", path, "").0, 204);
    assert_eq!(send(&mut store, "GET", path, "").0, 404);
}

#[test]
fn errors_are_answers_with_a_reason() {
    let mut store = Store::seeded();
    for (method, target, body, expected) in [
        ("GET", "/v1/projects/none", "", 404),
        ("GET", "/v1/projects/atlas/issues?state=odd", "", 422),
        ("POST", "/v1/projects/atlas/issues", "{}", 422),
        ("POST", "/v1/projects", r#"{"key":"atlas","title":"x"}"#, 409),
        ("GET", "/v1/nowhere", "", 404),
        ("GET", "/", "", 404),
    ] {
        let (status, body) = send(&mut store, method, target, body);
        assert_eq!(status, expected, "{method} {target}");
        assert!(body["message"].is_string(), "{body}");
    }
}

#[test]
fn an_uploaded_file_comes_back_byte_for_byte() {
    let mut store = Store::seeded();
    let body =
        "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n\u{1}\r\n-\r\n--XX--\r\n";
    let (status, attachment) = send(&mut store, "POST", "/v1/projects/atlas/issues/1/attachments", body);
    assert_eq!((status, &attachment["bytes"]), (201, &json!(4)), "{attachment}");
    let id = attachment["id"].as_str().unwrap();
    assert_eq!(store.attachments[id].bytes, b"\x01\r\n-");
}

#[test]
fn comments_are_paged_by_cursor_without_gap_or_repeat() {
    let mut store = Store::seeded();
    let (mut cursor, mut seen) = (String::new(), Vec::new());
    for _ in 0..5 {
        let target = format!("/v1/projects/atlas/issues/3/comments?limit=1{cursor}");
        let (_, body) = send(&mut store, "GET", &target, "");
        seen.extend(body["comments"].as_array().unwrap().iter().map(|comment| comment["id"].clone()));
        let Some(next) = body["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen.len(), 3);
    seen.dedup();
    assert_eq!(seen.len(), 3);
}

#[test]
fn broken_percent_codes_are_kept_and_do_not_panic() {
    assert_eq!(decode("a%2Fb%zz%4"), "a/b%zz%4");
    assert_eq!(decode("%e2%82%ac+"), "€ ");
}
