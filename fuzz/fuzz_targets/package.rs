//! Foreign bytes as the two parts of a flow that people exchange: what is understood can be packed, and what was packed
//! is read back as it was; a changed byte is noticed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rote_flow::{Frontmatter, Package};
use rote_plan::Plan;

/// Changes one byte of the file, at a place that the input chooses, and expects that the file is refused.
fn changed(file: &[u8], place: usize) {
    let mut other = file.to_owned();
    if let Some(byte) = other.get_mut(place % file.len()) {
        *byte ^= 1;
    }
    assert!(Package::read(other).is_err(), "a changed byte was not noticed");
}

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (header, plan) = bytes.split_at(end);
    let Ok(frontmatter) = Frontmatter::parse(header) else { return };
    let Ok(plan) = Plan::parse(plan.get(1..).unwrap_or_default()) else { return };
    let Ok(package) = Package::of_plan(frontmatter, plan) else { return };
    let again = Package::read(package.bytes().to_owned()).expect("a package can read what it wrote");
    assert_eq!(again.frontmatter, package.frontmatter);
    assert_eq!(again.plan(), package.plan());
    changed(package.bytes(), bytes.len().wrapping_mul(7919));
});
