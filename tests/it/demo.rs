//! The tour itself, and what costs nothing.

use crate::home;

#[test]
fn every_claim_of_the_demo_holds() {
    let run = home().rote(&["demo"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(!run.stdout.contains("NOT TRUE"), "{run}");
    assert!(run.stdout.lines().count() <= 150, "the tour is {} lines long", run.stdout.lines().count());
}

#[test]
fn the_demo_tells_a_machine_the_same() {
    let data = home().data(&["demo"]);
    assert_eq!(data["held"], data["total"]);
    assert!(data["total"].as_u64().is_some_and(|total| total >= 18), "{data}");
}

#[test]
fn the_version_and_the_help_touch_no_home() {
    let home = home();
    assert_eq!(home.rote(&["--version"]).stdout, concat!("rote ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(home.rote(&["--help"]).code, 0);
    assert!(!home.home().exists());
}
