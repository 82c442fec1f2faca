//! The published crate carries its own copy of the WIT packages; in the repository it must be the original.

use std::path::Path;

const PACKAGES: [&str; 3] = ["rote-base@0.2.0/types.wit", "rote-host@0.2.0/host.wit", "rote-flow@0.2.0/world.wit"];

#[test]
fn the_wit_files_are_those_of_the_repository() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in PACKAGES {
        let copy = std::fs::read_to_string(here.join("wit").join(file)).unwrap();
        // A published crate stands alone.
        if let Ok(original) = std::fs::read_to_string(here.join("../../wit").join(file)) {
            assert!(original == copy, "`{file}` differs; run `cp wit/{file} guest-sdk/rust/wit/{file}` at the root");
        }
    }
}
