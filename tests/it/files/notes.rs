//! What a project has beside its trace: the map of its intents, lessons, and what no intent changes.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::Folder;

/// Seed 003: the map from intents to files, and a lesson for each kind of failure.
#[test]
fn a_project_has_a_map_of_its_intents_and_lessons() {
    let folder = Folder::in_project();
    folder.0.file("CLAUDE.md", "# Ours\n\nKeep it short.\n");
    folder.done(&["read_file", "path=src/a.rs"]);
    folder.done(&["write_to_file", "path=src/a.rs", "content=two\nthree\n"]);
    let map = folder.text(".orchestration/intent_map.md");
    assert!(map.contains("\n## INT-001\n") && map.contains("| src/a.rs | "), "{map}");
    assert_eq!(folder.text("CLAUDE.md"), "# Ours\n\nKeep it short.\n", "what went well teaches nothing");
    for _ in 0..2 {
        assert_eq!(folder.rule(&["write_to_file", "path=src/gen/g.rs", "content=x"]), "SCOPE_VIOLATION");
        fs::write(folder.path("src/a.rs"), "somebody else's\n").unwrap();
        assert_eq!(folder.rule(&["write_to_file", "path=src/a.rs", "content=x"]), "STALE_FILE");
    }
    let lessons = folder.text("CLAUDE.md");
    assert!(lessons.starts_with("# Ours\n\nKeep it short.\n\n## Lessons\n"), "{lessons}");
    let told = |what: &str| lessons.lines().filter(|line| line.contains(what)).count();
    assert_eq!((told("`INT-001` does not own `src/gen/g.rs` (SCOPE_VIOLATION)"), told("(STALE_FILE)")), (1, 1));
    // Both follow from what is there; what a person wrote in their place stays.
    fs::remove_file(folder.path(".orchestration/intent_map.md")).unwrap();
    assert_eq!(folder.0.rote(&["audit", "rebuild"]).code, 0);
    assert_eq!(folder.text(".orchestration/intent_map.md"), map);
    fs::write(folder.path(".orchestration/intent_map.md"), "# my own map\n").unwrap();
    folder.done(&["read_file", "path=src/a.rs"]);
    folder.done(&["write_to_file", "path=src/a.rs", "content=four\n"]);
    assert_eq!(folder.text(".orchestration/intent_map.md"), "# my own map\n");
    // Where one cannot be written the write is made all the same.
    fs::remove_file(folder.path("CLAUDE.md")).unwrap();
    symlink(folder.path("src/a.rs"), folder.path("CLAUDE.md")).unwrap();
    let before = folder.text("src/a.rs");
    assert_eq!(folder.rule(&["write_to_file", "path=src/gen/h.rs", "content=x"]), "SCOPE_VIOLATION");
    assert_eq!(folder.text("src/a.rs"), before, "nothing is written through a link");
}

/// What `.intentignore` names nobody changes, whatever an intent owns.
#[test]
fn some_files_are_changed_by_no_intent() {
    let folder = Folder::in_project();
    let ignore = |text: &str| folder.0.file(".orchestration/.intentignore", text);
    ignore("# keys\n*.pem\n/src/a.rs\n");
    folder.done(&["read_file", "path=src/a.rs"]);
    let details = folder.refused(&["write_to_file", "path=src/a.rs", "content=x"]);
    assert_eq!((&details["rule"], &details["line"]), (&json!("PROTECTED_PATH"), &json!(3)));
    assert_eq!(folder.rule(&["write_to_file", "path=src/deep/key.pem", "content=x"]), "PROTECTED_PATH");
    assert_eq!(folder.rule(&["move_file", "source=src/a.rs", "destination=src/b.rs"]), "PROTECTED_PATH");
    folder.done(&["write_to_file", "path=src/c.rs", "content=x"]);
    let lessons = folder.text("CLAUDE.md");
    assert!(lessons.contains("nobody changes `src/a.rs` (PROTECTED_PATH)"), "{lessons}");
    // One that cannot be understood protects everything.
    ignore("[\n");
    assert_eq!(folder.rule(&["write_to_file", "path=src/d.rs", "content=x"]), "INTENTS_UNREADABLE");
    ignore("");
    folder.done(&["write_to_file", "path=src/a.rs", "content=x"]);
}
