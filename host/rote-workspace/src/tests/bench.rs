//! Rough cost of the path that every call pays: a bound loose enough for a loaded machine and no optimisation.

use std::time::{Duration, Instant};

use super::support::{Setup, call, json_body};

#[test]
fn beginning_and_recording_a_call_is_cheap() {
    let setup = Setup::new();
    let body = format!("[{}]", vec!["{\"id\":1,\"name\":\"x\"}"; 50].join(","));
    let recordings: Vec<_> = (0..200).map(|_| json_body(&body)).collect();
    let mut times: Vec<Duration> = recordings
        .into_iter()
        .map(|recording| {
            let start = Instant::now();
            let (_, id) = setup.workspace.begin_call(&call("list")).unwrap();
            setup.workspace.record(id, recording).unwrap();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("begin + record: p50 {:?}, p99 {:?}", times[100], times[198]);
    assert!(times[100] < Duration::from_millis(20), "p50 {:?}", times[100]);
}
