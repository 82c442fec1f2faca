//! What a person's word rests on: it ends when the adapter goes elsewhere or is changed behind rote's back.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::json;

use crate::home;

const THINGS: &str = r#"{"openapi": "3.1.0", "info": {"title": "Things", "version": "1"},
    "paths": {"/things/{id}": {
        "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
        "get": {"operationId": "get"}, "delete": {"operationId": "drop"}}}}"#;

/// A home with the adapter at one of two servers, both of which would take every call.
fn things() -> (TestHome, FakeApi, FakeApi) {
    let start = || FakeApi::start(|_| Script::Json(200, json!({"ok": true})));
    let (home, old, new) = (home(), start(), start());
    home.file("things.json", THINGS);
    let made = home.rote(&["adapter", "new", "things", "things.json", "--base-url", &old.url()]);
    assert_eq!(made.code, 0, "{made}");
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    (home, old, new)
}

/// Edits a file as a person would, not through rote.
fn write(path: &Path, text: &str) {
    std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn policies(home: &TestHome) -> PathBuf {
    home.home().join("adapters/things/config/policies.json")
}

#[test]
fn a_confirm_token_is_not_good_for_another_server() {
    let (home, old, new) = things();
    let refused = home.rote(&["call", "things", "drop", "-p", "id=1", "--json"]);
    assert_eq!(refused.code, 5, "{refused}");
    let envelope: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    let token = envelope["error"]["details"]["confirm_token"].as_str().unwrap().to_owned();
    assert_eq!(home.rote(&["adapter", "set", "things", "base_url", &new.url(), "--yes"]).code, 0);
    let again = home.rote(&["call", "things", "drop", "-p", "id=1", "--confirm", &token]);
    assert_eq!(again.code, 5, "{again}");
    let says = format!("the adapter's base URL was `{}` and is `{}`", old.url(), new.url());
    assert!(again.stderr.contains(&says), "{again}");
    assert_eq!((old.received().len(), new.received().len()), (0, 0));
}

#[test]
fn a_confirm_token_is_not_good_for_another_credential() {
    let (home, old, _) = things();
    let new = ["adapter", "new", "things", "things.json", "--base-url", &old.url(), "--bearer-token", "FIRST", "--yes"];
    assert_eq!(home.rote(&new).code, 0);
    for name in ["FIRST", "SECOND"] {
        assert_eq!(home.invocation(&["token", "set", name, "--stdin", "--yes"]).input(crate::SECRET).run().code, 0);
    }
    let refused = home.rote(&["call", "things", "drop", "-p", "id=1", "--json"]);
    let token = refused.envelope()["error"]["details"]["confirm_token"].as_str().unwrap().to_owned();
    assert_eq!(home.rote(&["adapter", "set", "things", "credential", "SECOND", "--yes"]).code, 0);
    let again = home.rote(&["call", "things", "drop", "-p", "id=1", "--confirm", &token]);
    assert!(again.code == 5 && again.stderr.contains("credential"), "{again}");
    // Another value under the same name is another account, too.
    let refused = home.rote(&["call", "things", "drop", "-p", "id=1", "--json"]);
    let token = refused.envelope()["error"]["details"]["confirm_token"].as_str().unwrap().to_owned();
    let other =
        home.invocation(&["token", "set", "SECOND", "--stdin", "--yes"]).input("another-account-0123456789").run();
    assert_eq!(other.code, 0, "{other}");
    let again = home.rote(&["call", "things", "drop", "-p", "id=1", "--confirm", &token]);
    assert!(again.code == 5 && again.stderr.contains("a credential of the adapter was set since"), "{again}");
    assert!(old.received().is_empty());
}

#[test]
fn a_flow_stops_when_its_adapter_goes_elsewhere_until_it_is_repinned() {
    let (home, old, new) = things();
    assert_eq!(home.rote(&["call", "things", "get", "-p", "id=1"]).code, 0);
    assert_eq!(home.rote(&["flow", "template", "create", "--workspace", "w", "--name", "look"]).code, 0);
    assert_eq!(home.rote(&["run", "look"]).code, 0);
    assert_eq!(home.rote(&["adapter", "set", "things", "base_url", &new.url(), "--yes"]).code, 0);
    let stopped = home.rote(&["run", "look"]);
    assert_eq!(stopped.code, 7, "{stopped}");
    for says in [&old.url(), &new.url(), "hint: rote flow repin look"] {
        assert!(stopped.stderr.contains(says), "{says}: {stopped}");
    }
    assert_eq!((old.received().len(), new.received().len()), (2, 0));
    let repinned = home.rote(&["flow", "repin", "look", "--yes"]);
    assert!(repinned.stdout.contains(&format!("goes to {}, was made against {}", new.url(), old.url())), "{repinned}");
    assert_eq!(home.rote(&["run", "look"]).code, 0);
    assert_eq!((old.received().len(), new.received().len()), (2, 1));
}

#[test]
fn an_edited_manifest_is_refused_by_name() {
    let (home, old, new) = things();
    let manifest = home.home().join("adapters/things/manifest.json");
    let text = home.read("adapters/things/manifest.json");
    write(&manifest, &text.replace(&old.url(), &new.url()));
    let refused = home.rote(&["call", "things", "get", "-p", "id=1"]);
    assert_eq!(refused.code, 7, "{refused}");
    assert!(refused.stderr.contains("manifest.json of adapter `things` was changed outside of rote"), "{refused}");
    assert!(refused.stderr.contains("hint: rote adapter new things"), "{refused}");
    assert_eq!(new.received().len(), 0);
    let made = home.rote(&["adapter", "new", "things", "things.json", "--base-url", &old.url(), "--yes"]);
    assert_eq!(made.code, 0, "{made}");
    assert_eq!(home.rote(&["call", "things", "get", "-p", "id=1"]).code, 0);
}

#[test]
fn a_policy_file_is_believed_only_when_nobody_else_could_have_written_it() {
    let (home, old, _) = things();
    let file = policies(&home);
    let denied = |says: &str, hint: &str| {
        let run = home.rote(&["call", "things", "get", "-p", "id=1"]);
        assert_eq!(run.code, 6, "{run}");
        assert!(run.stderr.contains(says) && run.stderr.contains(hint), "{run}");
    };
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    denied("may be written by others (mode 666)", &format!("hint: chmod 600 {}", file.display()));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    // Whoever may write a directory on the way puts another file there.
    for dir in file.ancestors().skip(1).take(3) {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o777)).unwrap();
        let says = format!("stands in {}, which may be written by others (mode 777)", dir.display());
        denied(&says, &format!("hint: chmod 700 {}", dir.display()));
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let elsewhere = home.home().join("elsewhere.json");
    std::fs::copy(&file, &elsewhere).unwrap();
    std::fs::remove_file(&file).unwrap();
    symlink(&elsewhere, &file).unwrap();
    denied("is a symlink", "rm ");
    assert_eq!(old.received().len(), 0);
}

#[test]
fn what_an_edit_of_the_policies_newly_allows_is_said_once_and_journaled() {
    let (home, old, _) = things();
    let file = policies(&home);
    let text = home.read("adapters/things/config/policies.json");
    write(&file, &text.replace("\"safe_list\": []", "\"safe_list\": [\"drop\"]"));
    let call = || home.rote(&["call", "things", "drop", "-p", "id=1"]);
    let note = "note: policies.json of adapter `things` was changed; it newly allows safe_list `drop`";
    let (first, second) = (call(), call());
    assert!(first.code == 0 && first.stderr.contains(note), "{first}");
    assert!(second.code == 0 && !second.stderr.contains("note:"), "{second}");
    assert_eq!(old.received().len(), 2);
    let events = home.rote(&["audit", "tail", "-n", "50", "--json"]).stdout;
    assert_eq!(events.matches("policy.changed").count(), 1, "{events}");
    let text = home.read("adapters/things/config/policies.json");
    let grant = r#""egress": {"cleartext": [{"origin": "http://plain.example", "reason": "x"}],"#;
    let wider = text.replace("\"egress\": {", grant);
    assert_ne!(text, wider);
    write(&file, &wider);
    let third = call();
    assert!(third.stderr.contains("it newly allows credentials unencrypted to http://plain.example"), "{third}");
}

/// What a flow uses is `list` and `add`; the rest of the description is beside the point.
const SHELF: &str = r##"{"openapi": "3.1.0", "info": {"title": "Shelf", "version": "1"},
    "components": {"securitySchemes": {
        "reader": {"type": "http", "scheme": "bearer"}, "admin": {"type": "apiKey", "in": "header", "name": "X-Admin"}}},
    "paths": {
        "/items": {
            "get": {"operationId": "list", "security": [{"reader": []}], "parameters": [
                {"name": "ids", "in": "query", "schema": {"type": "array", "items": {"type": "integer"}}},
                {"name": "X-View", "in": "header", "schema": {"type": "string", "default": "short"}}]},
            "post": {"operationId": "add", "security": [{"reader": []}], "requestBody": {"content": {
                "application/json": {"schema": {"type": "object", "properties": {"title": {"type": "string"}}}}}}}},
        "/keys": {"get": {"operationId": "keys", "security": [{"admin": []}]}}}}"##;

/// Descriptions in each of which one thing that the two tools send, or how that is guarded, is another.
fn changes_of_what_is_sent() -> Vec<(&'static str, String)> {
    let post = |from: &str, to: &str| {
        let (head, tail) = SHELF.split_once("\"post\"").unwrap();
        format!("{head}\"post\"{}", tail.replacen(from, to, 1))
    };
    vec![
        ("the credential of a read", SHELF.replacen("[{\"reader\": []}]", "[{\"admin\": []}]", 1)),
        ("the credential of the write", post("reader", "admin")),
        ("none at all", SHELF.replacen("[{\"reader\": []}]", "[]", 1)),
        ("how the credential travels", SHELF.replacen("\"scheme\": \"bearer\"", "\"scheme\": \"basic\"", 1)),
        ("the encoding of the body", SHELF.replace("application/json", "application/x-www-form-urlencoded")),
        ("the default of a header", SHELF.replace("\"short\"", "\"full\"")),
        ("the place of a parameter", SHELF.replacen("\"in\": \"query\"", "\"in\": \"cookie\"", 1)),
        ("the style of a parameter", SHELF.replacen("\"in\": \"query\"", "\"in\": \"query\", \"explode\": false", 1)),
        ("the write's body", post("\"title\": {\"type\": \"string\"}", "\"title\": {\"type\": \"integer\"}")),
        ("what the write is called", post("\"add\"", "\"delete_all\"")),
        (
            "a server of its own",
            post("\"operationId\"", "\"servers\": [{\"url\": \"https://evil.example\"}], \"operationId\""),
        ),
    ]
}

#[test]
fn a_flow_runs_beside_another_tools_change_and_stops_at_each_change_of_what_it_sends() {
    let (home, api) = (home(), FakeApi::start(|_| Script::Json(200, json!([{"id": 1}]))));
    let (other, place) = (FakeApi::start(|_| Script::Json(200, json!([]))), api.url());
    let install = |document: &str, base: &str, more: &[&str]| {
        home.file("shelf.json", document);
        let made = home.rote(&[&["adapter", "new", "shelf", "shelf.json", "--base-url", base, "--yes"], more].concat());
        assert_eq!(made.code, 0, "{made}");
    };
    install(SHELF, &place, &[]);
    for name in ["SHELF_READER_TOKEN", "SHELF_TOKEN", "OTHER"] {
        assert_eq!(home.invocation(&["token", "set", name, "--stdin", "--yes"]).input(crate::SECRET).run().code, 0);
    }
    // The last answer is the result, so both calls are the flow's.
    let calls = [["call", "shelf", "add", "-p", "title=x"], ["call", "shelf", "list", "-p", "ids=1"]];
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    for call in &calls {
        let made = home.rote(call);
        assert_eq!(made.code, 0, "{made}");
    }
    assert_eq!(home.rote(&["flow", "template", "create", "--workspace", "w", "--name", "look"]).code, 0);
    let (first, sent) = (home.rote(&["run", "look", "-o", "json"]), || api.received().len());
    assert_eq!(first.code, 0, "{first}");

    let spared = [
        SHELF.replace("/keys", "/all-keys"),
        SHELF.replace("\"operationId\": \"keys\"", "\"operationId\": \"secrets\""),
        SHELF.replace("\"version\": \"1\"", "\"version\": \"2\""),
        SHELF.replace("X-Admin", "X-Root"),
    ];
    let health = home.rote(&["flow", "health", "look"]).code;
    for document in spared {
        install(&document, &place, &[]);
        let run = home.rote(&["run", "look", "-o", "json"]);
        assert_eq!((run.code, &run.stdout), (0, &first.stdout), "{document}: {run}");
        assert!(run.stderr.contains("adapter `shelf` was made anew"), "{run}");
        assert!(run.stderr.contains("rote flow repin look"), "{run}");
        assert_eq!(home.rote(&["flow", "health", "look"]).code, health);
    }

    let before = sent();
    let stops = |what: &str| {
        let run = home.rote(&["run", "look"]);
        assert!(run.code == 7 && run.stderr.contains("hint: rote flow repin look"), "{what}: {run}");
        assert_eq!((sent(), other.received().len()), (before, 0), "{what}");
    };
    for (what, document) in changes_of_what_is_sent() {
        assert_ne!(document, SHELF, "{what}");
        install(&document, &place, &[]);
        stops(what);
    }
    install(SHELF, &format!("{place}/v2"), &[]);
    stops("the base path");
    install(SHELF, &other.url(), &[]);
    stops("the origin");
    install(SHELF, &place, &["--bearer-token", "OTHER"]);
    stops("whose credential");
    install(SHELF, &place, &[]);
    assert_eq!(home.rote(&["run", "look"]).code, 0);
}
