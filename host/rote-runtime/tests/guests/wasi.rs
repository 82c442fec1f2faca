//! Flows that import WASI: they get time, randomness and a place to print, and nothing that reaches outside.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Fixture, flow_module, foreign_component, wider_component};
use rote_runtime::{
    Answer, Budget, FlowFailure, FlowOutcome, FlowRun, LimitKind, NoObserver, NoTape, Reserved, RunError, Tape,
    ToolHost, World,
};
use rote_types::{Classify, ErrorKind, ResponseRef, RunLimits, ToolCall};
use rote_workspace::Workspace;
use serde_json::{Value, json};

/// As much of WASI as the guests here use.
const WASI: &str = "
package wasi:io@0.2.3 {
  interface poll { resource pollable { block: func(); } }
  interface error { resource error; }
  interface streams {
    use error.{error};
    variant stream-error { last-operation-failed(error), closed }
    resource output-stream { blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>; }
  }
}
package wasi:clocks@0.2.3 {
  interface wall-clock { record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime; }
  interface monotonic-clock {
    use wasi:io/poll@0.2.3.{pollable};
    now: func() -> u64;
    subscribe-duration: func(when: u64) -> pollable;
  }
}
package wasi:random@0.2.3 { interface random { get-random-u64: func() -> u64; } }
package wasi:cli@0.2.3 {
  interface stdout { use wasi:io/streams@0.2.3.{output-stream}; get-stdout: func() -> output-stream; }
  interface stderr { use wasi:io/streams@0.2.3.{output-stream}; get-stderr: func() -> output-stream; }
  interface exit { exit: func(status: result); }
}";

const CLOCKS: &str = r#"
  (import "wasi:clocks/wall-clock@0.2.3" "now" (func $wall (param i32)))
  (import "wasi:clocks/monotonic-clock@0.2.3" "now" (func $monotonic (result i64)))
  (import "wasi:clocks/monotonic-clock@0.2.3" "subscribe-duration" (func $timer (param i64) (result i32)))
  (import "wasi:io/poll@0.2.3" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:random/random@0.2.3" "get-random-u64" (func $random (result i64)))"#;
const STREAMS: &str = r#"
  (import "wasi:cli/stdout@0.2.3" "get-stdout" (func $stdout (result i32)))
  (import "wasi:cli/stderr@0.2.3" "get-stderr" (func $stderr (result i32)))
  (import "wasi:cli/exit@0.2.3" "exit" (func $exit (param i32)))
  (import "wasi:io/streams@0.2.3" "[method]output-stream.blocking-write-and-flush"
    (func $print (param i32 i32 i32 i32)))
  (import "rote:host/log@0.2.0" "write" (func $log (param i32 i32 i32)))
  (data (i32.const 600) "printed\0anoted")"#;

/// A flow that imports WASI.
fn guest(imports: &str, body: &str) -> Vec<u8> {
    let world = "package test:guest; world guest { include rote:flow/flow@0.2.0;
        import wasi:clocks/wall-clock@0.2.3; import wasi:clocks/monotonic-clock@0.2.3;
        import wasi:random/random@0.2.3; import wasi:io/poll@0.2.3; import wasi:io/streams@0.2.3;
        import wasi:cli/stdout@0.2.3; import wasi:cli/stderr@0.2.3; import wasi:cli/exit@0.2.3; }";
    wider_component(&format!("{world}\n{WASI}"), &flow_module(imports, body))
}

/// Makes no calls.
struct NoTools;

#[async_trait::async_trait]
impl ToolHost for NoTools {
    fn reserve(&self, _: &[ToolCall]) -> Result<Vec<Reserved>, RunError> {
        Ok(Vec::new())
    }

    async fn perform(&self, _: Reserved) -> Result<ResponseRef, RunError> {
        Err(RunError::Host { message: "no call was reserved".to_owned() })
    }
}

/// Tells what it was made with, and keeps what it is told.
#[derive(Default)]
struct Script {
    told: Mutex<Vec<(String, Value)>>,
    heard: Mutex<Vec<(String, Value)>>,
}

impl Tape for Script {
    fn next(&self, question: &str) -> Result<Option<Answer>, RunError> {
        let mut told = self.told.lock().unwrap();
        match told.first() {
            Some((next, _)) if next == question => Ok(Some(Ok(told.remove(0).1))),
            _ => Ok(None),
        }
    }

    fn record(&self, question: &str, answer: &Answer) -> Result<(), RunError> {
        self.heard.lock().unwrap().push((question.to_owned(), answer.clone().unwrap()));
        Ok(())
    }
}

async fn run_taped(tape: Arc<dyn Tape>, imports: &str, body: &str) -> Result<FlowOutcome, FlowFailure> {
    let fixture = Fixture::new();
    let runtime = fixture.runtime();
    let prepared = runtime.sandbox().prepare(World::Flow, &guest(imports, body)).unwrap();
    let workspace = Workspace::create(&fixture.home, &"test".parse().unwrap(), jiff::Timestamp::UNIX_EPOCH).unwrap();
    let limits = RunLimits { cpu: Duration::from_millis(200), total: Duration::from_secs(20), ..RunLimits::default() };
    let run = FlowRun {
        payload: Vec::new(),
        parameters: json!({}),
        tools: Arc::new(NoTools),
        workspace: Arc::new(workspace),
        flow: None,
        budget: Arc::new(Budget::new(limits)),
        depth: 0,
        tape,
        observer: Arc::new(NoObserver),
    };
    runtime.run_flow(&prepared, run).await
}

async fn run(imports: &str, body: &str) -> Result<FlowOutcome, FlowFailure> {
    run_taped(Arc::new(NoTape), imports, body).await
}

#[tokio::test]
async fn time_and_randomness_are_on_the_tape() {
    let tape = Arc::new(Script::default());
    let body = "(call $wall (i32.const 512)) (drop (call $monotonic)) (drop (call $random))
        (call $block (call $timer (i64.const 1)))";
    run_taped(Arc::clone(&tape) as _, CLOCKS, body).await.unwrap();
    let heard = tape.heard.lock().unwrap();
    let questions: Vec<&str> = heard.iter().map(|(question, _)| question.as_str()).collect();
    assert_eq!(questions, ["wasi.wall-clock", "wasi.monotonic-clock", "wasi.random 8", "wasi.block"]);
    assert_eq!(heard[0].1, json!(0), "the clock of the fixture stands at 1970");
}

#[tokio::test]
async fn a_guest_is_told_what_it_was_told_before_and_does_not_wait_again() {
    let tape = Script::default();
    let long = u64::MAX;
    let answers = [("wasi.wall-clock", json!(7_003)), ("wasi.monotonic-clock", json!(9)), ("wasi.block", json!([]))];
    *tape.told.lock().unwrap() = answers.map(|(question, answer)| (question.to_owned(), answer)).to_vec();
    let tape = Arc::new(tape);
    let body = format!(
        "(call $wall (i32.const 512))
         (if (i64.ne (i64.load (i32.const 512)) (i64.const 7)) (then unreachable))
         (if (i32.ne (i32.load (i32.const 520)) (i32.const 3000000)) (then unreachable))
         (if (i64.ne (call $monotonic) (i64.const 9)) (then unreachable))
         (call $block (call $timer (i64.const {long})))"
    );
    run_taped(Arc::clone(&tape) as _, CLOCKS, &body).await.unwrap();
    assert!(tape.heard.lock().unwrap().is_empty() && tape.told.lock().unwrap().is_empty());
}

#[tokio::test]
async fn waiting_does_not_use_up_the_guests_time() {
    // A third longer than the guest may compute. The host looks at the time when it is asked for the variables.
    let names = r#"(import "rote:host/vars@0.2.0" "names" (func $names (param i32)))"#;
    let body = "(call $block (call $timer (i64.const 270000000))) (call $names (i32.const 512))";
    run(&format!("{CLOCKS}{names}"), body).await.unwrap();
}

#[tokio::test]
async fn what_is_printed_stands_in_the_log_where_it_was_printed() {
    let body = "(call $print (call $stdout) (i32.const 600) (i32.const 8) (i32.const 512))
        (call $log (i32.const 1) (i32.const 608) (i32.const 5))
        (call $print (call $stdout) (i32.const 600) (i32.const 4) (i32.const 512))";
    let outcome = run(STREAMS, body).await.unwrap();
    let lines: Vec<&str> = outcome.log.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["printed", "noted", "prin"]);
}

#[tokio::test]
async fn a_crash_is_explained_by_what_was_printed_last() {
    let body = "(call $print (call $stderr) (i32.const 600) (i32.const 8) (i32.const 512)) unreachable";
    let failure = run(STREAMS, body).await.unwrap_err();
    assert_eq!(failure.log[0].text, "printed");
    let error = run(STREAMS, "(call $exit (i32.const 1))").await.unwrap_err().to_string();
    assert_eq!(error, "flow crashed: it ended itself as failed");
}

#[tokio::test]
async fn streams_and_prints_without_end_are_bounded() {
    let flood = run(STREAMS, "(loop $more (drop (call $stdout)) (br $more))").await.unwrap_err();
    assert!(flood.to_string().contains("table has no free keys"), "{flood}");
    let print = "(local.set $i (call $stdout))
        (loop $more (call $print (local.get $i) (i32.const 600) (i32.const 8) (i32.const 512)) (br $more))";
    let error = run(STREAMS, print).await.unwrap_err();
    assert!(matches!(error.error, RunError::Limit { limit: LimitKind::Cpu(_), .. }), "{error}");
}

#[test]
fn what_reaches_outside_is_refused_and_adapters_get_nothing_of_it() {
    let sandbox = Fixture::new().sandbox();
    let core = r#"(module (import "wasi:sockets/tcp@0.2.3" "go" (func)))"#;
    let sockets = "package test:guest; world guest { import wasi:sockets/tcp@0.2.3; }
        package wasi:sockets@0.2.3 { interface tcp { go: func(); } }";
    let error = sandbox.prepare(World::Flow, &foreign_component(sockets, core)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.hint().unwrap().contains("--stub-wasi"));
    let error = sandbox.prepare(World::Adapter, &guest(CLOCKS, "")).unwrap_err();
    assert!(error.to_string().contains("wasi:") && error.kind() == ErrorKind::Denied, "{error}");
}
