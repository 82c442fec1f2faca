//! Any bytes as a recording that people exchange: no panic, and what is understood is written back with the same meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rote_flow::RunRecording;

fuzz_target!(|bytes: &[u8]| {
    let Ok(recording) = RunRecording::parse(bytes) else { return };
    let text = serde_json::to_vec(&recording).expect("a recording can be written");
    assert_eq!(RunRecording::parse(&text).expect("a recording can read what it wrote"), recording);
});
