//! Any bytes as the files beside a project's trace: no panic; a map is a map whatever the lines are, lessons are added once and take
//! nothing else away, and a list of protected files is understood or refused.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use rote_govern::intent::Ignore;
use rote_govern::intent_map::{MADE, intent_map};
use rote_govern::lesson::with_lessons;

/// Whether a line may be one of the lessons, of which the oldest go.
fn may_go(line: &str) -> bool {
    line.starts_with("- ") || line.trim().is_empty()
}

fuzz_target!(|bytes: &[u8]| {
    drop(Ignore::parse(bytes, ".intentignore"));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let map = intent_map(text, &BTreeMap::new());
    assert!(map.starts_with(MADE));
    assert!(map.lines().skip(1).all(|line| line.is_empty() || line.starts_with(['|', '#'])), "{map}");
    let (date, lessons) = (jiff::civil::date(2026, 11, 27), ["nobody changes `a` (PROTECTED_PATH)".to_owned()]);
    let Some(added) = with_lessons(text, date, &lessons) else { return };
    for line in text.lines().filter(|line| !may_go(line)) {
        // The last one has a line break behind it now, of which a return at its end is taken for a part.
        let is_kept = |kept: &str| kept.trim_end_matches('\r') == line.trim_end_matches('\r');
        assert!(added.lines().any(is_kept), "{line:?} is gone");
    }
    assert_eq!(with_lessons(&added, date, &lessons), None);
});
