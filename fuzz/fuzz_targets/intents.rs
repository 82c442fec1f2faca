//! Any bytes as a file of intents: no panic, and an edit says what was there with one change.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rote_govern::intent::{IntentStatus, Intents};

fuzz_target!(|bytes: &[u8]| {
    let Ok(intents) = Intents::parse(bytes, "intents.yaml") else { return };
    for intent in intents.all().iter().take(8) {
        assert!(intent.brief().len() <= 16 << 10);
        if let Ok(edited) = intents.with_status(&intent.id, IntentStatus::Blocked) {
            let again = Intents::parse(edited.as_bytes(), "intents.yaml").expect("an edit can be read");
            assert_eq!(again.get(&intent.id).expect("it is there still").status, IntentStatus::Blocked);
        }
        if let Ok(edited) = intents.with_entry(&intent.id, "tool:a.b") {
            let again = Intents::parse(edited.as_bytes(), "intents.yaml").expect("an edit can be read");
            let entries = &again.get(&intent.id).expect("it is there still").scope;
            assert_eq!(entries.entries().last(), Some("tool:a.b"));
        }
    }
});
