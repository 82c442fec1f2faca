//! Calls whose turn never came, in batches and runs that are cut off: they have failed, and only what left is in doubt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};

use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::{Value, json};

use crate::home;
use crate::interrupted::{cut, send};

/// Calls of a batch or run, of which two are made at a time.
const CALLS: usize = 20;

/// An API of one write, which hangs while the flag is up.
fn ready() -> (TestHome, FakeApi, Receiver<()>, Arc<AtomicBool>) {
    let (arrived, arrivals) = channel();
    let hangs = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&hangs);
    let api = FakeApi::start(move |_| {
        // Whoever waits for the arrival may change it.
        let hangs = flag.load(SeqCst);
        let _nobody_waits = arrived.send(());
        if hangs { Script::Hang } else { Script::Json(201, json!({ "n": 1 })) }
    });
    let home = home();
    let ok = json!({ "200": { "description": "ok" } });
    let which = json!([{ "name": "which", "in": "query", "schema": { "type": "string" } }]);
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Slow", "version": "1" },
        "paths": { "/write": { "post": { "operationId": "write", "parameters": which, "responses": ok } } },
    });
    home.file("slow.json", document.to_string());
    let run = home.rote(&["adapter", "new", "slow", "slow.json", "--yes", "--base-url", &api.url()]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    (home, api, arrivals, hangs)
}

fn calls() -> String {
    let one = |which| json!({ "tool_name": "write", "arguments": { "which": format!("n{which}") } });
    Value::from_iter((0..CALLS).map(one)).to_string()
}

/// How many numbers of a workspace are in doubt, and how many have failed.
fn counts(home: &TestHome, workspace: &str) -> (usize, usize) {
    let listed = home.data(&["ls", "--workspace", workspace]);
    let listed = listed["responses"].as_array().unwrap();
    let count = |state: &str| listed.iter().filter(|one| one["state"] == state).count();
    (count("in_doubt"), count("error"))
}

fn starts(home: &TestHome) -> usize {
    let events = home.data(&["audit", "tail", "-n", "1000"]);
    events.as_array().unwrap().iter().filter(|event| event["kind"] == "effect.started").count()
}

#[test]
fn a_batch_that_is_cut_off_leaves_only_what_left_in_doubt() {
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let (home, api, arrivals, _) = ready();
        let run = cut(&home, &["batch", "slow", &calls(), "--parallel", "2"], &arrivals, 2, signal);
        assert_ne!(run.code, 0, "{run}");
        assert_eq!(home.data(&["doubts"])["total"], 2, "{signal}: {run}");
        assert_eq!((counts(&home, "w"), starts(&home)), ((2, CALLS - 2), 2), "{signal}: {run}");
        assert_eq!(api.received().len(), 2);
        let listed = home.rote(&["doubts"]);
        assert!(listed.stdout.starts_with("2 writes in doubt") && listed.stdout.contains(" left at "), "{listed}");
        let run = home.rote(&["@20", "."]);
        assert!(run.stdout.contains("sent"), "{run}");
        assert_eq!(home.rote(&["audit", "verify"]).code, 0);
    }
}

/// Writes many times at once.
const PROGRAM: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: many
 * description: Writes twenty times.
 * adapters:
 *   slow:
 *     tools: [write]
 * write_permissions: [slow/write]
 * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(): Promise<unknown> {
  const slow = (await Rote.workspace("many")).adapter("slow");
  const all = Array.from({ length: 20 }, (_, n) => slow.call("write", { which: `n${n}` }));
  await Promise.all(all);
  return "done";
}
"#;

#[test]
fn a_run_that_is_cut_off_asks_about_what_left_and_makes_the_rest_once() {
    for signal in [None, Some(libc::SIGINT), Some(libc::SIGKILL)] {
        let (home, api, arrivals, hangs) = ready();
        home.file("main.ts", PROGRAM);
        let run = home.rote(&["flow", "build", "main.ts"]);
        assert_eq!(run.code, 0, "{run}");
        let words = ["run", "many", "--max-concurrency", "2"];
        let run = match signal {
            Some(signal) => cut(&home, &words, &arrivals, 2, signal),
            None => home.rote(&[&words[..], &["--timeout", "3"]].concat()),
        };
        assert_ne!(run.code, 0, "{run}");
        hangs.store(false, SeqCst);
        let doubts = home.data(&["doubts"]);
        assert_eq!(doubts["total"], 2, "{signal:?}: {run}");
        // Which two left first is not said.
        let left: Vec<String> =
            doubts["doubts"].as_array().unwrap().iter().map(|one| format!("--done=@{}", one["response"])).collect();
        let resumed = home.rote(&["run", "--resume", "latest"]);
        assert!(resumed.code == 10 && resumed.stderr.contains("--done @"), "{signal:?}: {resumed}");
        assert_eq!(api.received().len(), 2, "nothing was sent again");
        let resumed = home.rote(&["run", "--resume", "latest", &left[0], &left[1], "--yes"]);
        assert_eq!(resumed.code, 0, "{signal:?}: {resumed}");
        let mut sent: Vec<String> = api.received().into_iter().map(|one| one.target).collect();
        assert_eq!(sent.len(), CALLS, "{signal:?}: {sent:?}");
        sent.sort();
        sent.dedup();
        assert_eq!(sent.len(), CALLS, "{signal:?}: each once");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a person renames a folder")]
fn a_run_whose_folder_was_renamed_proves_nothing_about_its_writes() {
    let (home, api, arrivals, hangs) = ready();
    home.file("main.ts", PROGRAM);
    let run = home.rote(&["flow", "build", "main.ts"]);
    assert_eq!(run.code, 0, "{run}");
    cut(&home, &["run", "many", "--max-concurrency", "2"], &arrivals, 2, libc::SIGKILL);
    hangs.store(false, SeqCst);
    let folder = home.home().join("rote/workspaces");
    let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names.into_iter().find(|name| name.starts_with("run-many-")).unwrap();
    let renamed = format!("{name}x");
    std::fs::rename(folder.join(&name), folder.join(&renamed)).unwrap();
    let resumed = home.rote(&["run", "--resume", &renamed]);
    assert_eq!(resumed.code, 10, "{resumed}");
    assert_eq!(api.received().len(), 2, "nobody said that it may be made again");
}

#[test]
fn many_doubts_are_listed_with_few_open_files_and_soon() {
    let (home, _api, _arrivals, _) = ready();
    let calls =
        Value::from_iter((0..200).map(|n| json!({ "tool_name": "write", "arguments": { "which": format!("n{n}") } })));
    let calls = calls.to_string();
    let run = home.rote(&["batch", "slow", &calls, "--parallel", "32", "--timeout", "2"]);
    assert_eq!(run.code, 1, "{run}");
    let mut command = home.invocation(&["doubts", "--limit", "1000", "--json"]).command();
    #[expect(unsafe_code, reason = "setrlimit(2) in the child has no safe form in libc")]
    // SAFETY: between fork and exec only setrlimit is called, which is async-signal-safe.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, || {
            let few = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
            match libc::setrlimit(libc::RLIMIT_NOFILE, &raw const few) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let since = std::time::Instant::now();
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let took = since.elapsed();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let data: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(data["data"]["total"], 200, "{text}");
    assert_eq!(data["data"]["doubts"].as_array().map(Vec::len), Some(200));
    assert!(took < std::time::Duration::from_secs(3), "{took:?}");
    println!("200 doubts were listed in {took:?}");
}

#[test]
fn a_write_that_another_process_makes_just_now_is_sent_a_second_time_only_when_a_person_says_so() {
    let (home, api, arrivals, hangs) = ready();
    let call = ["call", "slow", "write", "-p", "which=a"];
    let first = home.invocation(&call).command().spawn().unwrap();
    arrivals.recv().unwrap();
    hangs.store(false, SeqCst);
    let run = home.rote(&call);
    assert_eq!((run.code, api.received().len()), (10, 1), "{run}");
    let told = "the same call (`slow/write`, `@1` of workspace `w`) is under way in another process";
    assert!(run.stderr.contains(told) && run.stderr.contains("rote call slow write … --another"), "{run}");
    // Another call is not the same, and two by hand one after the other are two.
    for words in [&["call", "slow", "write", "-p", "which=b"][..], &["call", "slow", "write", "-p", "which=b"]] {
        assert_eq!(home.rote(words).code, 0);
    }
    assert_eq!((home.rote(&[&call[..], &["--another"]].concat()).code, api.received().len()), (0, 4));
    send(&first, libc::SIGINT);
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(130));
    let run = home.rote(&[&call[..], &["--another"]].concat());
    assert!(run.code == 10 && run.stderr.contains("may have happened"), "{run}");
    assert_eq!(api.received().len(), 4);
}
