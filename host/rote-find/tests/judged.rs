//! The judged intents whose descriptions the repository has are found as well as they were.

#[path = "../examples/judge/set.rs"]
mod set;

use std::path::Path;

use set::{Described, Figures, Judged};

const JUDGED: &str = include_str!("../../../tests/fixtures/intents/judged.json");
const SPOKEN: &str = include_str!("../../../tests/fixtures/intents/spoken.json");
/// Written before the words were chosen, and not looked at since.
const APART: &str = include_str!("../../../tests/fixtures/intents/apart.json");

/// Judges the intents over one description; those of which it has no right operation are left out.
fn judge(set: &str, api: &str, file: &str, least: Figures) {
    let set: Vec<Judged> = serde_json::from_str(set).expect("the set is JSON");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/specs");
    let described = Described::read(&root.join(file)).expect("the description is there");
    let has = |id: &String| described.tools.iter().any(|(name, (original, _))| name == id || original == id);
    let mut all = Figures::default();
    let of = set.iter().filter(|one| one.api == api);
    for one in of.filter(|one| one.expect.is_empty() || one.expect.iter().any(has)) {
        all += described.judge(one).1;
    }
    assert_eq!((all.findable, all.unfindable), (least.findable, least.unfindable), "the set is another: {all}");
    let listed = |of: &Figures| (of.first + of.near_first, of.top3 + of.near);
    let (now, before) = (listed(&all), listed(&least));
    let worse = all.first < least.first
        || all.top3 < least.top3
        || now.0 < before.0
        || now.1 < before.1
        || all.none < least.none;
    assert!(!worse && all.destructive <= least.destructive, "{api}: {all}; it was {least}");
}

#[test]
fn a_small_description_is_searched_as_well_as_it_was() {
    let least = Figures { findable: 6, first: 6, top3: 6, ..Figures::default() };
    judge(JUDGED, "petstore3.openapi.yaml", "petstore3.openapi.yaml", least);
}

#[test]
fn a_part_of_a_large_description_is_searched_as_well_as_it_was() {
    let least =
        Figures { findable: 6, first: 6, top3: 6, unfindable: 7, none: 7, destructive: 0, ..Figures::default() };
    judge(JUDGED, "github-rest.openapi.json", "github-subset.openapi.json", least);
}

#[test]
fn what_no_tool_of_a_part_does_is_told_as_well_as_it_was() {
    let least = Figures { findable: 1, unfindable: 5, none: 5, ..Figures::default() };
    judge(SPOKEN, "github-rest.openapi.json", "github-subset.openapi.json", least);
}

#[test]
fn intents_that_nobody_looked_at_are_found_as_well_as_they_were() {
    let least =
        Figures { findable: 2, first: 1, top3: 2, unfindable: 1, none: 1, destructive: 0, ..Figures::default() };
    judge(APART, "github-rest.openapi.json", "github-subset.openapi.json", least);
}
