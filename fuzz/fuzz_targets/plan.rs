//! Any bytes as the plan of a flow: no panic, no runaway, and what is understood is written back with the same meaning
//! and told in sentences, as `rote flow review` tells the plan of a stranger.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rote_flow::{Frontmatter, Sentences};
use rote_plan::Plan;

/// A frontmatter, a zero, a plan.
const PACKAGE: &[u8] = include_bytes!("../seeds/package/nothing");

fuzz_target!(|bytes: &[u8]| {
    let Ok(plan) = Plan::parse(bytes) else { return };
    let text = serde_json::to_vec(&plan).expect("a plan can be written");
    assert_eq!(Plan::parse(&text).expect("a plan can read what it wrote"), plan);
    let header = PACKAGE.split(|byte| *byte == 0).next().unwrap_or_default();
    let frontmatter = Frontmatter::parse(header).expect("a frontmatter can be read");
    let _ = Sentences::of(&frontmatter, &plan).lines();
});
