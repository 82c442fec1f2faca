//! Foreign bytes as a flow: the sections are read, the exact-world check and the complexity bounds hold, nothing
//! panics, and what was stripped once has nothing left to strip.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rote_runtime::{
    FRONTMATTER_SECTION, PAYLOAD_SECTION, World, append_section, check, custom_section, strip_rote_sections,
};

/// Header of a component, so that the fuzzer need not find it.
const HEADER: [u8; 8] = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];

fn load(bytes: &[u8]) {
    let accepted = check(World::Flow, bytes).is_ok();
    let Ok(stripped) = strip_rote_sections(bytes) else {
        assert!(!accepted, "a file without readable sections was accepted");
        return;
    };
    assert!(matches!(custom_section(&stripped, PAYLOAD_SECTION), Ok(None)));
    assert_eq!(strip_rote_sections(&stripped).ok().as_deref(), Some(&stripped[..]));
    assert_eq!(check(World::Flow, &stripped).is_ok(), accepted, "a payload changed the verdict");
    let _ = custom_section(bytes, FRONTMATTER_SECTION);

    let mut extended = stripped;
    append_section(&mut extended, PAYLOAD_SECTION, bytes).expect("the input is below 4 GiB");
    assert_eq!(custom_section(&extended, PAYLOAD_SECTION).ok().flatten(), Some(bytes));
}

fuzz_target!(|bytes: &[u8]| {
    load(bytes);
    load(&[&HEADER, bytes].concat());
});
