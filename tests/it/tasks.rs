//! What rote does itself for a person: fetches and builds are in the journal with start and outcome, and one that was cut
//! off is lost and holds nothing back. A dry run begins nothing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rote_testkit::{FakeApi, Invocation, Script, TestHome};
use serde_json::{Value, json};

use crate::flow::crystallized;
use crate::home;

/// A stand-in for cargo: waits until somebody opens `hold`, or fails at once when there is a file `fail` beside the crate.
const CARGO: &str = "#!/bin/sh\nif [ -e fail ]; then echo 'no good' >&2; exit 101; fi\n\
                     mkfifo hold; exec cat hold > /dev/null\n";

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

/// Starts a command, waits until something is so, and kills it.
fn killed(run: &Invocation, what: &str, is_so: impl Fn() -> bool) {
    let mut child = run.command().spawn().unwrap();
    until(what, is_so);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The newest events, oldest first, without those that tell of an adapter.
fn tasks(home: &TestHome) -> Vec<Value> {
    let events = home.data(&["audit", "tail"]);
    let is_task = |event: &&Value| event["body"]["task"].is_string();
    events.as_array().unwrap().iter().filter(is_task).cloned().collect()
}

fn line_of(home: &TestHome, event: &Value) -> String {
    let run = home.rote(&["audit", "tail"]);
    let seq = event["seq"].to_string();
    run.stdout.lines().find(|line| line.trim_start().starts_with(&format!("{seq} "))).unwrap().to_owned()
}

#[test]
fn a_fetch_that_was_killed_is_lost_and_the_next_one_is_made() {
    let hangs = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&hangs);
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Small", "version": "1" }, "servers": [{ "url": "http://127.0.0.1:9" }],
        "paths": { "/x": { "get": { "operationId": "x", "responses": { "200": { "description": "ok" } } } } },
    });
    let api =
        FakeApi::start(
            move |_| if asked.load(Ordering::SeqCst) { Script::Hang } else { Script::Json(200, document.clone()) },
        );
    let home = home();
    let url = format!("{}/spec.json", api.url());
    let install = ["adapter", "new", "small", &url, "--yes"];
    killed(&home.invocation(&install), "the fetch never arrived", || !api.received().is_empty());
    let [started] = tasks(&home).try_into().unwrap();
    assert_eq!((&started["kind"], &started["state"]), (&json!("effect.started"), &json!("lost")));
    assert_eq!(started["body"]["url"], json!(url));
    let line = line_of(&home, &started);
    assert!(line.contains(" lost: the process ended before the outcome was known · install"), "{line}");
    assert_eq!(home.data(&["doubts"])["doubts"], json!([]), "nobody has to say what came of it");

    hangs.store(false, Ordering::SeqCst);
    let run = home.rote(&install);
    assert_eq!(run.code, 0, "{run}");
    let events = tasks(&home);
    let [_, started, finished] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((started.get("state"), &finished["kind"]), (None, &json!("effect.finished")));
    assert_eq!((&started["effect"], &finished["body"]["status"]), (&finished["effect"], &json!(200)));
    assert_eq!(home.rote(&["audit", "verify"]).code, 0);
    assert_eq!(home.data(&["audit", "rebuild"])["changed"], json!([]));
}

#[test]
fn a_build_has_its_start_and_outcome_also_when_the_tool_fails_or_the_process_is_killed() {
    let home = home();
    let cargo = home.file("bin/cargo", CARGO);
    make_executable(&cargo);
    home.file("crate/Cargo.toml", "[package]\nname = \"made\"\n");
    let path = format!("{}:/usr/bin:/bin", cargo.parent().unwrap().display());
    let build = home.invocation(&["flow", "build", "crate"]).env("PATH", &path);
    let hold = home.work().join("crate/hold");
    killed(&build, "cargo never began", || hold.exists());
    // A killed rote could not end it: it ends when somebody has opened what it reads.
    drop(std::fs::OpenOptions::new().write(true).open(&hold).unwrap());
    let [started] = builds(&home).try_into().unwrap();
    assert_eq!((&started["kind"], &started["state"]), (&json!("effect.started"), &json!("lost")));
    let body = &started["body"];
    assert!(body["program"].as_str().unwrap().starts_with("cargo build --release"), "{body}");
    assert!(body["folder"].as_str().unwrap().ends_with("/crate"), "{body}");

    home.file("crate/fail", "");
    let run = build.run();
    assert_eq!(run.code, 10, "{run}");
    assert!(run.stderr.contains("no good"), "{run}");
    let events = builds(&home);
    let [_, started, finished] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&started["effect"], started.get("state")), (&finished["effect"], None));
    assert_eq!((&finished["kind"], &finished["body"]["exit_code"]), (&json!("effect.finished"), &json!(101)));
    let line = line_of(&home, finished);
    assert!(line.ends_with("build · exit code 101 · it ended with exit code 101"), "{line}");
}

/// The tasks but those that ask the compiler for its targets.
fn builds(home: &TestHome) -> Vec<Value> {
    let all = tasks(home);
    let asks = |event: &&Value| event["body"]["program"].as_str().is_some_and(|program| program.starts_with("rustc"));
    let asked: Vec<Value> = all.iter().filter(asks).map(|event| event["effect"].clone()).collect();
    all.into_iter().filter(|event| !asked.contains(&event["effect"])).collect()
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_dry_run_begins_nothing_whoever_asks_for_it() {
    let (home, server) = crystallized();
    let before = (server.requests().len(), home.data(&["audit", "tail", "-n", "1"])[0]["seq"].as_u64().unwrap());
    let wishes: [&[&str]; 3] = [
        &["call", "tracker", "getIssue", "-p", "project=atlas", "-p", "number=1", "--dry-run"],
        &["tracker_call", "deleteIssue", "-p", "project=atlas", "-p", "number=1", "--dry-run"],
        &["run", "greet", "project=beacon", "--dry-run"],
    ];
    for words in wishes {
        let data = home.data(words);
        assert!(data["dry_run"].is_object(), "{words:?}: {data}");
    }
    let events = home.data(&["audit", "tail", "-n", "50"]);
    let new = events.as_array().unwrap().iter().filter(|event| event["seq"].as_u64().unwrap() > before.1);
    let kinds: Vec<&str> = new.map(|event| event["kind"].as_str().unwrap()).collect();
    assert!(kinds.len() >= 3 && kinds.iter().all(|kind| *kind == "effect.previewed"), "{kinds:?}");
    assert_eq!(server.requests().len(), before.0);
}
