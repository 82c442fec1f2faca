//! What is granted is what was shown, or nothing: whatever another process does between a question and its answer, and
//! whatever other question the same command asks.

#![expect(clippy::disallowed_methods, reason = "another process changes files of the home")]

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::{Value, json};

use crate::home;
use crate::terminal::Terminal;

const VALUE: &str = "key-of-the-shop-0123456789";

/// Runs a command that has to succeed.
fn ok(home: &TestHome, words: &[&str]) {
    let run = home.rote(words);
    assert_eq!(run.code, 0, "{run}");
}

fn document(most: u32) -> String {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer", "maximum": most } } });
    let body = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    let post = json!({ "operationId": "order", "requestBody": body, "responses": { "201": { "description": "ok" } } });
    json!({ "openapi": "3.1.0", "info": { "title": "Shop", "version": "1" }, "paths": { "/orders": { "post": post } } })
        .to_string()
}

/// A home with the adapters `shop` and `other` of one API, which both send `KEY`, and the flow `sweep`, which orders. The
/// API closes the connection while the switch is on.
fn shop(lost: &'static AtomicBool) -> (TestHome, FakeApi) {
    let api =
        FakeApi::start(move |_| if lost.load(SeqCst) { Script::Close } else { Script::Json(201, json!({ "id": 1 })) });
    let home = home();
    home.file("shop.json", document(10));
    for id in ["shop", "other"] {
        ok(&home, &["adapter", "new", id, "shop.json", "--base-url", &api.url(), "--bearer-token", "KEY", "--yes"]);
    }
    ok(&home, &["token", "set", "KEY", VALUE, "--yes"]);
    ok(&home, &["init", "w"]);
    ok(&home, &["call", "shop", "order", "-p", "n=1"]);
    ok(&home, &["flow", "template", "create", "--workspace", "w", "--name", "sweep"]);
    (home, api)
}

fn unbind(home: &TestHome) {
    ok(home, &["token", "delete", "KEY", "--yes"]);
    ok(home, &["token", "set", "KEY", VALUE, "--yes"]);
}

fn kinds(home: &TestHome) -> Vec<Value> {
    let events = home.data(&["audit", "tail", "-n", "500"]);
    events.as_array().unwrap().iter().map(|event| event["kind"].clone()).collect()
}

/// Asks, lets another process act, answers yes; returns the exit code and what was shown.
fn meanwhile(home: &TestHome, words: &[&str], act: &dyn Fn(&TestHome)) -> (i32, String) {
    let mut terminal = Terminal::start(&home.invocation(words), "");
    terminal.shows("[y/N]");
    act(home);
    terminal.types("y");
    terminal.end()
}

/// Words of a command, what another process does, and the kind of the event that must not come of it.
type Case<'c> = (&'c [&'c str], &'c dyn Fn(&TestHome), &'c str);

fn move_on(home: &TestHome) {
    ok(home, &["adapter", "set", "shop", "base_url", "http://127.0.0.1:9", "--yes"]);
}

fn edit_policies(home: &TestHome) {
    let path = home.home().join("adapters/shop/config/policies.json");
    let mut policies: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    policies["safe_list"] = json!(["order"]);
    std::fs::write(&path, policies.to_string()).unwrap();
}

fn edit_manifest(home: &TestHome) {
    let path = home.home().join("adapters/shop/manifest.json");
    let text = std::fs::read_to_string(&path).unwrap().replace("http://127.0.0.1:", "http://127.0.0.2:");
    std::fs::write(&path, text).unwrap();
}

fn other_flow(home: &TestHome) {
    ok(home, &["call", "shop", "order", "-p", "n=2"]);
    ok(home, &["flow", "template", "create", "--workspace", "w", "--name", "sweep", "--force"]);
}

fn other_surface(home: &TestHome) {
    home.file("shop.json", document(4));
    let base = home.data(&["adapter", "info", "shop"])["adapter"]["base_url"].as_str().unwrap().to_owned();
    ok(home, &["adapter", "new", "shop", "shop.json", "--base-url", &base, "--bearer-token", "KEY", "--yes"]);
}

#[test]
fn what_was_edited_behind_the_question_is_not_granted() {
    static LOST: AtomicBool = AtomicBool::new(false);
    let cases: [Case<'_>; 12] = [
        (&["flow", "bless", "sweep"], &edit_policies, "flow.blessed"),
        (&["flow", "bless", "sweep"], &other_flow, "flow.blessed"),
        (&["flow", "bless", "sweep"], &move_on, "flow.blessed"),
        (&["flow", "bless", "sweep"], &other_surface, "flow.blessed"),
        (&["flow", "bless", "sweep"], &edit_manifest, "flow.blessed"),
        (&["token", "bind", "KEY", "shop"], &move_on, "token.bound"),
        (&["token", "bind", "KEY", "shop"], &edit_manifest, "token.bound"),
        (&["call", "shop", "order", "-p", "n=3"], &move_on, "token.bound"),
        (&["run", "sweep"], &move_on, "token.bound"),
        (&["token", "set", "KEY", "another-value-0123456789", "--adapter", "shop"], &move_on, "token.set"),
        (&["adapter", "set", "shop", "credential", "MINE"], &move_on, "token.bound"),
        (&["adapter", "allow", "shop", "--cleartext"], &move_on, "adapter.allowed"),
    ];
    for (at, (words, act, kind)) in cases.into_iter().enumerate() {
        let (home, api) = shop(&LOST);
        if kind == "token.bound" {
            unbind(&home);
        }
        let count = |kinds: Vec<Value>| kinds.into_iter().filter(|one| *one == kind).count();
        // What the other process does is in the journal, too.
        let before = count(kinds(&home));
        let theirs = std::cell::Cell::new(0);
        let sent = std::cell::Cell::new(0);
        let (code, screen) = meanwhile(&home, words, &|home| {
            act(home);
            theirs.set(count(kinds(home)) - before);
            sent.set(api.received().len());
        });
        assert!(matches!(code, 4 | 7 | 10), "{at} {words:?}: {code}\n{screen}");
        assert_eq!(count(kinds(&home)), before + theirs.get(), "{at} {words:?}: {screen}");
        assert_eq!(api.received().len(), sent.get(), "{at} {words:?}: {screen}");
        let permissions = home.home().join("flows/sweep.permissions.json");
        assert!(!permissions.exists(), "{at} {words:?}");
    }
}

#[test]
fn what_is_installed_repinned_or_removed_is_what_was_shown() {
    static LOST: AtomicBool = AtomicBool::new(false);
    let (home, api) = shop(&LOST);
    let fingerprint = || home.data(&["adapter", "info", "shop"])["adapter"]["fingerprint"].clone();
    let was = fingerprint();
    // The description that was read is installed, not the one that lies there by now.
    let url = api.url();
    let new = ["adapter", "new", "shop", "shop.json", "--base-url", &url, "--bearer-token", "KEY"];
    let (code, screen) = meanwhile(&home, &new, &|home| drop(home.file("shop.json", document(5))));
    assert_eq!((code, fingerprint()), (0, was.clone()), "{screen}");
    let (code, screen) = meanwhile(&home, &new, &other_surface);
    assert_eq!(code, 10, "{screen}");
    assert_ne!(fingerprint(), was);
    // The flow is shown with the surface of now, and another one is there when the answer comes.
    let before = home.data(&["flow", "info", "sweep"])["sha256"].clone();
    let (code, screen) = meanwhile(&home, &["flow", "repin", "sweep"], &move_on);
    assert_eq!(code, 10, "{screen}");
    assert_eq!(home.data(&["flow", "info", "sweep"])["sha256"], before);
    assert!(!kinds(&home).contains(&json!("flow.repinned")));
    // Nor is another credential pinned than the one that was shown.
    let rebind = |home: &TestHome| ok(home, &["adapter", "set", "shop", "credential", "MINE", "--yes"]);
    let (code, screen) = meanwhile(&home, &["flow", "repin", "sweep"], &rebind);
    assert_eq!(code, 10, "{screen}");
    assert!(!kinds(&home).contains(&json!("flow.repinned")));
    let (code, screen) = meanwhile(&home, &["flow", "repin", "sweep"], &|_| ());
    assert!(code == 0 && screen.contains("vault entry `KEY` is now `MINE`"), "{screen}");
    // A flow that took the place of the one with the blessing stays.
    let (home, _api) = shop(&LOST);
    ok(&home, &["flow", "bless", "sweep", "--yes"]);
    let (code, screen) = meanwhile(&home, &["flow", "remove", "sweep"], &other_flow);
    assert_eq!(code, 10, "{screen}");
    ok(&home, &["flow", "info", "sweep"]);
}

#[test]
fn a_question_within_a_command_that_asked_already_undoes_nothing_of_it_halfway() {
    static LOST: AtomicBool = AtomicBool::new(false);
    let (home, api) = shop(&LOST);
    LOST.store(true, SeqCst);
    let stopped = home.rote(&["run", "sweep", "--json"]);
    assert_eq!(stopped.code, 8, "{stopped}");
    let workspace = stopped.envelope()["error"]["details"]["workspace"].as_str().unwrap().to_owned();
    LOST.store(false, SeqCst);
    unbind(&home);
    let again = home.invocation(&["run", "--resume", &workspace, "--retry", "@1"]);
    let sent = api.received().len();
    for stop in [false, true] {
        let mut terminal = Terminal::start(&again, "");
        terminal.shows("settle it so? [y/N]");
        terminal.types("y");
        terminal.shows("let `shop` send `KEY` to");
        if stop {
            terminal.interrupts()
        } else {
            terminal.types("n")
        }
        let (code, screen) = terminal.end();
        assert_eq!(code, if stop { 130 } else { 4 }, "{screen}");
        assert_eq!(home.data(&["doubts"])["total"], 1, "{screen}");
        assert!(!kinds(&home).contains(&json!("effect.settled")) && api.received().len() == sent, "{screen}");
    }
    // Neither is a flag for the one question an answer to the other.
    let run = home.rote(&["run", "--resume", &workspace, "--retry", "@1", "--yes"]);
    assert!(run.code == 4 && run.stderr.contains("rote token bind KEY shop"), "{run}");
    assert_eq!(home.data(&["doubts"])["total"], 1);
    let mut terminal = Terminal::start(&again, "");
    terminal.shows("settle it so? [y/N]");
    terminal.types("y");
    terminal.shows("let `shop` send `KEY` to");
    terminal.types("y");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!((api.received().len(), &home.data(&["doubts"])["total"]), (sent + 1, &json!(0)));
    let events = home.data(&["audit", "tail", "-n", "500"]);
    for kind in ["token.bound", "effect.settled"] {
        let event = events.as_array().unwrap().iter().rfind(|event| event["kind"] == kind).unwrap();
        assert_eq!(event["body"]["attended"], true, "{event}");
    }
}
