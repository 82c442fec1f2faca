//! A flow built for `wasm32-wasip2`: what Rust's standard library takes from WASI works, and leads nowhere.

use serde_json::json;

use crate::home;

/// Committed, with its source beside it: `cargo xtask guests`.
const FLOW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/wasi/wasi.wasm");

#[test]
fn a_flow_gets_time_randomness_and_a_log_and_nothing_else() {
    let home = home();
    assert_eq!(home.rote(&["flow", "build", FLOW]).code, 0);
    let run = home.rote(&["run", "wasi", "--record", "wasi.rec"]);
    assert_eq!(run.code, 0, "{run}");
    let told: Vec<&str> = run.stderr.lines().filter(|line| ["printed", "warned", "logged"].contains(line)).collect();
    assert_eq!(told, ["printed", "warned", "logged"], "{run}");
    let got = home.data(&["run", "wasi"])["result"].clone();
    let nothing =
        json!({"after_2020": true, "slept": true, "words": 2, "variables": 0, "arguments": 0, "files": false});
    assert_eq!(got, nothing);
    // Time and randomness are in the recording, so it replays.
    let replayed = home.rote(&["flow", "test", "--replay", "wasi.rec"]);
    assert_eq!(replayed.code, 0, "{replayed}");
}

#[test]
fn what_a_crashed_flow_said_is_shown() {
    let home = home();
    assert_eq!(home.rote(&["flow", "build", FLOW]).code, 0);
    let run = home.rote(&["run", "wasi", "crash=true"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("printed") && run.stderr.contains("as it was told"), "{run}");
    let envelope = home.rote(&["run", "wasi", "crash=true", "--json"]).envelope();
    assert!(envelope["error"]["details"]["log"].to_string().contains("as it was told"), "{envelope}");
}
