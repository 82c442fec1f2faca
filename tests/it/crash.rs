//! Two processes at once, and processes that are killed.

use std::time::{Duration, Instant};

use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::{Value, json};

use crate::{home, tracker};

#[test]
fn processes_on_one_workspace_never_share_a_number() {
    let (home, server) = tracker();
    let runs: Vec<_> = std::thread::scope(|scope| {
        let start = || scope.spawn(|| home.rote(&["call", "tracker", "getStatus", "--json"]));
        let running: Vec<_> = (0..6).map(|_| start()).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut ids: Vec<u64> = runs
        .iter()
        .map(|run| {
            assert_eq!(run.code, 0, "{run}");
            run.envelope()["data"]["view"]["response"]["id"].as_u64().unwrap()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
    assert_eq!(server.requests().len(), 6);
    assert_eq!(home.rote(&["audit", "verify"]).code, 0);
}

/// Starts a call that hangs at the remote, waits until it has arrived there, and kills the process.
fn killed(method: &str) -> (TestHome, FakeApi) {
    let (home, api) = (home(), FakeApi::start(|_| Script::Hang));
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Slow", "version": "1" },
        "paths": { "/x": { method: { "operationId": "x", "responses": { "200": { "description": "ok" } } } } },
    });
    home.file("slow.json", document.to_string());
    let run = home.rote(&["adapter", "new", "slow", "slow.json", "--base-url", &api.url()]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    let mut child = home.invocation(&["call", "slow", "x"]).command().spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while api.received().is_empty() {
        assert!(Instant::now() < deadline, "the call never arrived");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    (home, api)
}

fn state_of_first(home: &TestHome) -> Value {
    home.data(&["ls"])["responses"][0]["state"].clone()
}

#[test]
fn a_killed_write_is_in_doubt_and_never_repeated_by_itself() {
    let (home, api) = killed("post");
    assert_eq!(state_of_first(&home), "in_doubt");
    assert_eq!(home.rote(&["@1", "."]).code, 10);
    assert_eq!(home.rote(&["audit", "verify"]).code, 0);
    let events = home.data(&["audit", "tail"]);
    assert!(events.as_array().unwrap().iter().any(|event| event["kind"] == "effect.started"), "{events}");
    assert_eq!(api.received().len(), 1);
}

#[test]
fn a_killed_read_is_lost_and_its_number_is_not_used_again() {
    let (home, _api) = killed("get");
    assert_eq!(state_of_first(&home), "lost");
    home.file("d.json", "{}");
    let data = home.data(&["inject", "d.json"]);
    assert_eq!(data["response"]["id"], 2);
}

#[test]
fn an_install_that_is_killed_leaves_nothing_or_everything() {
    let home = home();
    home.file("openapi.yaml", rote_cli::demo::DOCUMENT);
    for milliseconds in [1, 3, 6, 10, 15, 25, 40, 60] {
        home.invocation(&["adapter", "new", "tracker", "openapi.yaml", "--yes"])
            .kill_after(Duration::from_millis(milliseconds));
        let listed = home.data(&["adapter", "list"]);
        assert_eq!(listed["unreadable"].as_array().map(Vec::len), Some(0), "after {milliseconds} ms: {listed}");
        if listed["adapters"].as_array().is_some_and(|all| !all.is_empty()) {
            assert_eq!(home.rote(&["adapter", "info", "tracker"]).code, 0, "after {milliseconds} ms");
        }
    }
    let run = home.rote(&["adapter", "new", "tracker", "openapi.yaml", "--yes"]);
    assert_eq!(run.code, 0, "{run}");
}
