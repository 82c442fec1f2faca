//! Any bytes as an API description: no panic, no runaway, and every operation is accounted for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rote_spec::{NoReferences, Source, SpecLimits, read};

fuzz_target!(|bytes: &[u8]| {
    let limits = SpecLimits { document_bytes: 1 << 20, nodes: 100_000, ..SpecLimits::default() };
    for name in ["fuzz.json", "https://api.example.com/fuzz.yaml"] {
        if let Ok(api) = read(Source { name, bytes }, &mut NoReferences, &limits) {
            assert_eq!(api.generated() + api.repaired() + api.skipped.len(), api.total);
        }
    }
});
