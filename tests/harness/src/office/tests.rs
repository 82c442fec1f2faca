//! What the jobs rely on: pages, versions, conflicts and rate limits of the four APIs, and that ids of an earlier world are strangers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Office, World};

/// Sends one request and returns status and body.
#[expect(clippy::disallowed_methods, reason = "the test is the client")]
fn send(office: &Office, api: &str, method: &str, target: &str, body: Value) -> (u16, Value) {
    let (_, running) = office.apis.iter().find(|(name, _)| *name == api).unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(("127.0.0.1", running.port())).unwrap();
    let head = format!("{method} /v1{target} HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

fn office(world: World) -> Office {
    let office = Office::start();
    office.reset(world);
    office
}

#[test]
fn a_write_is_logged_by_meaning() {
    let office = office(World::seed(1).issues("atlas", &["Fix login"]));
    let comment = json!({ "body": office.fill("see «Fix login.key»") });
    let path = office.fill("/issues/«Fix login»/comments");
    assert_eq!(send(&office, "tracker", "POST", &path, comment).0, 201);
    let log = office.log();
    assert_eq!(log[0].effect.as_deref(), Some("addComment(body: see Fix login, issue_id: Fix login)"));
    assert_eq!((log[0].api, log[0].operation.as_str()), ("tracker", "addComment"));
    assert_eq!(office.named(&json!({ "id": log[0].arguments["issue_id"] })), json!({ "id": "Fix login" }));
}

#[test]
fn ids_come_from_the_seed_and_an_old_one_is_a_stranger_s() {
    let office = office(World::seed(1).issues("atlas", &["Fix login"]));
    let path = office.fill("/issues/«Fix login»/close");
    office.reset(World::seed(2).issues("atlas", &["Fix login"]));
    assert_ne!(office.fill("/issues/«Fix login»/close"), path);
    assert_eq!(send(&office, "tracker", "POST", &path, json!({ "resolution": "fixed" })).0, 200);
    assert_eq!(office.log()[0].effect.as_deref(), Some("closeIssue(issue_id: stranger, resolution: fixed)"));
    assert_eq!(send(&office, "tracker", "GET", "/issues", Value::Null).1["total"], 1);
    assert_eq!(send(&office, "tracker", "GET", "/issues/9999", Value::Null).0, 404);
}

#[test]
fn lists_come_in_pages_and_filtered() {
    let world = World::seed(1).issues("atlas", &["a", "b", "c"]).issues("beacon", &["d"]);
    let office = office(world);
    let (_, first) = send(&office, "tracker", "GET", "/issues?project=atlas&page_size=2", Value::Null);
    assert_eq!(first["items"].as_array().map(Vec::len), Some(2));
    let token = first["next_page_token"].as_str().unwrap();
    let target = format!("/issues?project=atlas&page_size=2&page_token={token}");
    let (_, second) = send(&office, "tracker", "GET", &target, Value::Null);
    assert_eq!((&second["items"][0]["title"], second.get("next_page_token")), (&json!("c"), None));
    assert_eq!(send(&office, "tracker", "GET", "/issues?page_token=p9x2", Value::Null).0, 400);
    assert_eq!(send(&office, "tracker", "GET", "/search?q=D", Value::Null).1["items"][0]["project"], "beacon");
}

#[test]
fn what_is_wrong_is_refused_with_a_message() {
    let company = json!({ "name": "Acme", "domain": "acme.test" });
    let contact = json!({ "name": "Nora", "email": "nora@acme.test", "company_id": "«Acme»" });
    let office = office(World::seed(1).issues("atlas", &["a"]).with("company", company).with("contact", contact));
    let issue = office.fill("/issues/«a»");
    let message = |api: &str, method: &str, target: &str, body: Value| {
        let (status, body) = send(&office, api, method, target, body);
        (status, body["error"]["message"].as_str().unwrap_or_default().to_owned())
    };
    let refused = |status: u16, text: &str| (status, text.to_owned());
    let taken = json!({ "name": "N", "email": "nora@acme.test" });
    assert_eq!(message("crm", "POST", "/contacts", taken), refused(409, "the address is taken"));
    assert_eq!(message("tracker", "PATCH", &issue, json!({ "version": 1, "title": "b" })), refused(200, ""));
    assert_eq!(
        message("tracker", "PATCH", &issue, json!({ "version": 1 })),
        refused(409, "version 1 is stale, it is 2")
    );
    assert_eq!(
        message("tracker", "PATCH", &issue, json!({ "assignee": "zoe" })),
        refused(422, "there is nobody called zoe")
    );
    assert_eq!(
        message("tracker", "PATCH", &issue, json!({ "due_date": "soon" })),
        refused(422, "due_date is not a day")
    );
    assert_eq!(message("tracker", "POST", "/issues", json!({ "title": "x" })), refused(422, "project is required"));
    let state = json!({ "state": "gone" });
    assert_eq!(message("tracker", "PATCH", &issue, state).0, 422);
    let estimate = json!({ "estimate": { "points": "many" } });
    assert_eq!(message("tracker", "PATCH", &issue, estimate), refused(422, "points is of another type"));
}

#[test]
fn a_throttled_operation_answers_the_second_time() {
    let office = office(World::seed(1).throttle("createFolder"));
    let make = || send(&office, "files", "POST", "/folders", json!({ "name": "Reports" })).0;
    assert_eq!([make(), make(), make()], [429, 201, 409]);
    assert_eq!(office.log().iter().filter(|entry| entry.effect.is_some()).count(), 1);
}

#[test]
fn free_hours_are_those_without_an_event() {
    let event =
        json!({ "calendar": "team", "title": "x", "start": "2026-05-11T09:00:00Z", "end": "2026-05-11T10:00:00Z" });
    let office = office(World::seed(1).with("event", event));
    let day = json!({ "calendar": "team", "day": "2026-05-11" });
    let (_, free) = send(&office, "calendar", "POST", "/free-busy", day);
    assert_eq!(free["free"][0]["start"], "2026-05-11T10:00:00Z");
    assert_eq!(office.log()[0].effect, None);
    let path = office.fill("/events/«x»");
    assert_eq!(send(&office, "calendar", "DELETE", &path, Value::Null).0, 204);
    assert_eq!(office.log()[1].effect.as_deref(), Some("deleteEvent(event_id: x)"));
}
