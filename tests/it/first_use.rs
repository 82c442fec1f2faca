//! A credential is bound when it is first used: a person is asked, for every command the same way, before anything is sent.

use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::{SECRET, home};

/// Runs a command that has to succeed.
fn ok(home: &TestHome, words: &[&str]) {
    let run = home.rote(words);
    assert_eq!(run.code, 0, "{run}");
}

fn store(home: &TestHome) {
    let run = home.invocation(&["token", "set", "KEY", "--stdin", "--yes"]).input(SECRET).run();
    assert_eq!(run.code, 0, "{run}");
}

/// A home with the adapters `one` and `two` of one API, which send the credential `KEY`, and the flow `both`, which calls
/// both. The credential is stored and bound to neither.
fn unbound() -> (TestHome, FakeApi) {
    let api = FakeApi::start(|_| Script::Json(200, json!({ "n": 1 })));
    let home = home();
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Shop", "version": "1" },
        "paths": { "/me": { "get": { "operationId": "me", "responses": { "200": { "description": "ok" } },
            "parameters": [{ "name": "n", "in": "query", "schema": { "type": "integer" } }] } } },
    });
    home.file("api.json", document.to_string());
    for id in ["one", "two"] {
        ok(&home, &["adapter", "new", id, "api.json", "--base-url", &api.url(), "--bearer-token", "KEY", "--yes"]);
    }
    store(&home);
    ok(&home, &["init", "w"]);
    ok(&home, &["call", "one", "me"]);
    ok(&home, &["call", "two", "me", "-t", "-p", "n=@1{.n}"]);
    ok(&home, &["flow", "template", "create", "--workspace", "w", "--name", "both"]);
    ok(&home, &["token", "delete", "KEY", "--yes"]);
    store(&home);
    (home, api)
}

fn bindings(home: &TestHome) -> Vec<String> {
    let listed = home.data(&["token", "list"]);
    let all = listed[0]["bindings"].as_array().cloned().unwrap_or_default();
    all.iter().map(|one| one["adapter"].as_str().unwrap().to_owned()).collect()
}

/// The kinds of the newest events, oldest first.
fn kinds(home: &TestHome, count: &str) -> Vec<Value> {
    let events = home.data(&["audit", "tail", "-n", count]);
    events.as_array().unwrap().iter().map(|event| event["kind"].clone()).collect()
}

fn runs(home: &TestHome) -> usize {
    let folder = home.home().join("rote/workspaces").read_dir().unwrap();
    folder.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("run-")).count()
}

const BATCH: &str = r#"[{"tool_name": "me"}, {"tool_name": "me"}]"#;
const MESSAGE: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "one_batch_call", "arguments": {"calls": [{"tool_name": "me"}]}}}"#;

/// The commands that use the credential, with the adapters that they send it by.
const USES: [(&[&str], &[&str]); 4] = [
    (&["run", "both"], &["one", "two"]),
    (&["batch", "one", BATCH], &["one"]),
    (&["POST", "adapter/one", MESSAGE], &["one"]),
    (&["call", "two", "me"], &["two"]),
];

#[test]
fn without_a_terminal_nothing_is_sent_and_every_command_that_binds_is_named() {
    let (home, api) = unbound();
    let (sent, before) = (api.received().len(), runs(&home));
    for (words, adapters) in USES {
        let run = home.invocation(words).input("y\ny\n").run();
        assert_eq!(run.code, 4, "{run}");
        for id in adapters {
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains(&format!("rote token bind KEY {id}")), "{run}");
        }
    }
    let run = home.rote(&["run", "both"]);
    let all = format!("nobody bound `KEY` to adapter `one` at {0}, nor `KEY` to adapter `two` at {0}", api.url());
    assert!(run.stderr.contains(&all), "{run}");
    assert_eq!((api.received().len(), runs(&home)), (sent, before));
    // A dry run sends nothing, and shows what would be refused.
    let dry = home.rote(&["run", "both", "--dry-run"]);
    assert!(dry.code == 0 && dry.stdout.contains("deny"), "{dry}");
}

#[test]
fn on_a_terminal_each_command_asks_for_all_that_it_needs_before_anything_is_sent() {
    for (words, adapters) in USES {
        let (home, api) = unbound();
        let sent = api.received().len();
        let mut terminal = Terminal::start(&home.invocation(words), "y\ny\n");
        for id in adapters {
            terminal.shows(&format!("let `{id}` send `KEY` to {}? [y/N]", api.url()));
            assert_eq!(api.received().len(), sent);
            assert!(bindings(&home).is_empty(), "bound before all was asked");
            terminal.types("y");
        }
        let (code, screen) = terminal.end();
        assert_eq!(code, 0, "{screen}");
        assert_eq!(bindings(&home), adapters.to_vec());
        assert!(api.received()[sent..].iter().all(|one| one.header("authorization").is_some()));
        assert!(api.received().len() > sent);
        let events = home.data(&["audit", "tail", "-n", "100"]);
        let bound: Vec<&Value> =
            events.as_array().unwrap().iter().filter(|event| event["kind"] == "token.bound").collect();
        let last = &bound[bound.len() - adapters.len()..];
        for (event, id) in last.iter().zip(adapters) {
            assert_eq!((&event["body"]["attended"], &event["body"]["adapter"]), (&json!(true), &json!(id)));
        }
        // Nobody is asked twice.
        assert_eq!(home.rote(words).code, 0);
    }
}

#[test]
fn one_no_binds_nothing_and_sends_nothing() {
    let (home, api) = unbound();
    let (sent, before) = (api.received().len(), runs(&home));
    let mut terminal = Terminal::start(&home.invocation(&["run", "both"]), "");
    terminal.shows("let `one` send");
    terminal.types("y");
    terminal.shows("let `two` send");
    terminal.types("");
    let (code, screen) = terminal.end();
    assert!(code == 4 && screen.contains("rote token bind KEY two"), "{code} {screen}");
    assert_eq!((bindings(&home), api.received().len(), runs(&home)), (Vec::new(), sent, before));
    assert!(!kinds(&home, "1").contains(&json!("token.bound")));
}

#[test]
fn ctrl_c_at_the_second_question_binds_nothing() {
    let (home, api) = unbound();
    let sent = api.received().len();
    let mut terminal = Terminal::start(&home.invocation(&["run", "both"]), "");
    terminal.shows("let `one` send");
    terminal.types("y");
    terminal.shows("let `two` send");
    terminal.interrupts();
    let (code, screen) = terminal.end();
    assert!(code == 130 && screen.contains("interrupted"), "{code} {screen}");
    assert_eq!((bindings(&home), api.received().len()), (Vec::new(), sent));
}
