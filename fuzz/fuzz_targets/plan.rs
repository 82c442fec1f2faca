//! Any bytes as the plan of a flow: no panic, no runaway, and what is understood is written back with the same meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rote_plan::Plan;

fuzz_target!(|bytes: &[u8]| {
    let Ok(plan) = Plan::parse(bytes) else { return };
    let text = serde_json::to_vec(&plan).expect("a plan can be written");
    assert_eq!(Plan::parse(&text).expect("a plan can read what it wrote"), plan);
});
