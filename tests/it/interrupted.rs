//! Ctrl-C and a time limit in the middle of calls and runs: what was under way is recorded as it is, and the message says
//! how to go on.

use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};

use rote_testkit::{FakeApi, Run, Script, TestHome};
use serde_json::{Value, json};

use crate::home;

/// An API of one read and one write, and a workspace `w`.
fn ready() -> (TestHome, FakeApi, Receiver<()>) {
    let (arrived, arrivals): (Sender<()>, _) = channel();
    let api = FakeApi::start(move |request| {
        let _nobody_waits = arrived.send(());
        // What is asked for by name hangs; everything else is answered.
        if request.target.contains("hang") { Script::Hang } else { Script::Json(200, json!({ "n": 1 })) }
    });
    let home = home();
    let ok = json!({ "200": { "description": "ok" } });
    let which = json!([{ "name": "which", "in": "query", "schema": { "type": "string" } }]);
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Slow", "version": "1" },
        "paths": {
            "/read": { "get": { "operationId": "read", "parameters": which, "responses": ok } },
            "/write": { "post": { "operationId": "write", "parameters": which, "responses": ok } },
        },
    });
    home.file("slow.json", document.to_string());
    let run = home.rote(&["adapter", "new", "slow", "slow.json", "--yes", "--base-url", &api.url()]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    (home, api, arrivals)
}

/// Starts a command, waits until its request has arrived `before` times, sends SIGINT and waits for the end.
fn interrupt(home: &TestHome, words: &[&str], arrivals: &Receiver<()>, before: usize) -> Run {
    cut(home, words, arrivals, before, libc::SIGINT)
}

/// As [`interrupt`], with any signal.
pub(crate) fn cut(home: &TestHome, words: &[&str], arrivals: &Receiver<()>, before: usize, signal: i32) -> Run {
    let child: Child = home.invocation(words).command().spawn().unwrap();
    for _ in 0..before {
        arrivals.recv().unwrap();
    }
    send(&child, signal);
    let output = child.wait_with_output().unwrap();
    Run {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        code: output.status.code().unwrap_or(-1),
        killed: false,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn send(child: &Child, signal: i32) {
    let id = i32::try_from(child.id()).unwrap();
    #[expect(unsafe_code, reason = "kill(2) has no safe form in libc")]
    // SAFETY: the process is a child that was not waited for, so the number is still its own.
    let sent = unsafe { libc::kill(id, signal) };
    assert_eq!(sent, 0);
}

fn states(home: &TestHome, workspace: &str) -> Vec<Value> {
    let listed = home.data(&["ls", "--workspace", workspace]);
    listed["responses"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect()
}

/// Says that a write did not happen, so that the same call is made again.
fn skip(home: &TestHome, number: &str) {
    let run = home.rote(&["doubts", "settle", "-w", "w", "--skip", number, "--yes"]);
    assert_eq!(run.code, 0, "{run}");
}

#[test]
fn a_flow_under_development_is_left_by_the_first_ctrl_c() {
    let home = home();
    home.file("main.ts", "not a flow");
    let mut child: Child = home.invocation(&["flow", "dev", "main.ts"]).command().spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    assert!(lines.by_ref().any(|line| line.unwrap().starts_with("waiting for a change")));
    send(&child, libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn an_interrupted_write_is_in_doubt_and_an_interrupted_read_is_not() {
    let (home, _api, arrivals) = ready();
    let run = interrupt(&home, &["call", "slow", "write", "-p", "which=hang"], &arrivals, 1);
    assert_eq!(run.code, 130, "{run}");
    assert!(run.stderr.starts_with("error: interrupted"), "{run}");
    assert!(run.stderr.contains("may have happened") && run.stderr.contains("--done @1"), "{run}");
    let run = interrupt(&home, &["call", "slow", "read", "-p", "which=hang"], &arrivals, 1);
    assert_eq!(run.code, 130, "{run}");
    assert!(!run.stderr.contains("may have happened"), "an older doubt is not of this call: {run}");
    assert_eq!(states(&home, "w"), ["in_doubt", "error"]);
    skip(&home, "@1");
    let calls = r#"[{"tool_name":"write","arguments":{"which":"hang"}},{"tool_name":"read"}]"#;
    let run = interrupt(&home, &["--json", "batch", "slow", calls], &arrivals, 1);
    assert_eq!(run.code, 130, "{run}");
    let envelope: Value = serde_json::from_str(&run.stdout).unwrap();
    let doubts = envelope["error"]["details"]["doubts"].as_array().unwrap();
    assert_eq!((doubts.len(), &doubts[0]["response"]), (1, &json!(3)), "{run}");
    assert_eq!(home.rote(&["audit", "verify"]).code, 0);
}

#[test]
fn the_sample_api_is_stopped_in_one_way() {
    use std::io::{BufRead, Read};
    let home = home();
    for signal in [libc::SIGINT, libc::SIGTERM].into_iter().cycle().take(8) {
        let mut child = home.invocation(&["demo", "serve", "--port", "0", "--json"]).command().spawn().unwrap();
        let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut told = String::new();
        // The envelope is printed as a whole, and ends with the only line that begins with a bracket.
        while !told.lines().last().is_some_and(|line| line.starts_with('}') || line.ends_with("}}")) {
            assert_ne!(stdout.read_line(&mut told).unwrap(), 0, "{told}");
        }
        send(&child, signal);
        stdout.read_to_string(&mut told).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{told}");
        let envelope: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(envelope["ok"], true, "one envelope: {told}");
    }
}

#[test]
fn a_time_limit_ends_a_call_a_batch_and_a_message() {
    let (home, _api, _arrivals) = ready();
    let calls = r#"[{"tool_name":"write","arguments":{"which":"hang"}},{"tool_name":"read"}]"#;
    let message =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"which":"hang"}}}"#;
    let run = home.rote(&["call", "slow", "write", "-p", "which=hang", "--timeout", "0.5"]);
    assert_eq!(run.code, 9, "{run}");
    assert!(run.stderr.contains("may have happened"), "{run}");
    skip(&home, "@1");
    let run = home.rote(&["call", "slow", "read", "-p", "which=hang", "--timeout", "0.5"]);
    assert_eq!(run.code, 9, "{run}");
    assert!(!run.stderr.contains("may have happened"), "{run}");
    assert_eq!(home.rote(&["batch", "slow", calls, "--timeout", "0.5"]).code, 1);
    assert_eq!(states(&home, "w"), ["error", "error", "in_doubt", "ok"]);
    skip(&home, "@3");
    assert_eq!(home.rote(&["POST", "adapter/slow", message, "--timeout", "0.5"]).code, 9);
    assert_eq!(states(&home, "w"), ["error", "error", "error", "ok", "in_doubt"]);
    for wrong in ["0", "-1", "soon", "1e9", "NaN"] {
        let run = home.rote(&["call", "slow", "read", &format!("--timeout={wrong}")]);
        assert_eq!(run.code, 2, "{run}");
    }
}

/// Writes twice; the second write is the one that hangs.
const PROGRAM: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: pair
 * description: Writes twice.
 * adapters:
 *   slow:
 *     tools: [write]
 * write_permissions: [slow/write]
 * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(): Promise<unknown> {
  const slow = (await Rote.workspace("pair")).adapter("slow");
  await slow.call("write", { which: "first" });
  await slow.call("write", { which: "hang" });
  return "done";
}
"#;

#[test]
fn an_interrupted_run_names_itself_and_is_asked_about() {
    let (home, api, arrivals) = ready();
    home.file("main.ts", PROGRAM);
    assert_eq!(home.rote(&["flow", "build", "main.ts"]).code, 0);
    let run = interrupt(&home, &["run", "pair"], &arrivals, 2);
    assert_eq!(run.code, 130, "{run}");
    let workspace = run.stderr.split_whitespace().find(|word| word.starts_with("run-")).unwrap().to_owned();
    let workspace = workspace.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    assert!(run.stderr.contains(&format!("rote run --resume {workspace}")), "{run}");
    assert_eq!(states(&home, workspace), ["ok", "in_doubt"]);
    let resumed = home.rote(&["run", "--resume", "latest"]);
    assert_eq!(resumed.code, 10, "{resumed}");
    assert_eq!(api.received().len(), 2, "nothing was sent again");
}

#[test]
fn a_run_that_is_out_of_time_is_asked_about_too() {
    let (home, api, _arrivals) = ready();
    home.file("main.ts", PROGRAM);
    assert_eq!(home.rote(&["flow", "build", "main.ts"]).code, 0);
    let run = home.rote(&["run", "pair", "--timeout", "3"]);
    assert_eq!(run.code, 9, "{run}");
    let resumed = home.rote(&["run", "--resume", "latest"]);
    assert_eq!(resumed.code, 10, "{resumed}");
    assert_eq!(api.received().len(), 2, "nothing was sent again");
}
