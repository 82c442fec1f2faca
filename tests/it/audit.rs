//! The journal as a person reads it, and what happens when it is not the one that was written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use rote_testkit::TestHome;

use crate::{home, tracker};

/// The call of all cases.
const CALL: [&str; 3] = ["call", "tracker", "whoAmI"];

/// What the files of a folder hold, by name.
#[expect(clippy::disallowed_methods, reason = "a test looks at files from outside")]
fn files_of(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect()
}

fn remove(path: &Path) {
    std::fs::remove_file(path).unwrap();
}

fn assert_refused(home: &TestHome, context: &str) {
    let verified = home.rote(&["audit", "verify"]);
    assert_eq!(verified.code, 10, "{context}: {verified}");
    assert!(verified.stderr.contains("rote audit restart"), "{context}: {verified}");
    let called = home.rote(&CALL);
    assert_eq!(called.code, 10, "{context}: {called}");
    assert!(called.stderr.contains("is not the one that was written"), "{context}: {called}");
    assert_eq!(home.rote(&["token", "set", "OTHER", "value", "--yes"]).code, 10, "{context}");
    let log = home.home().join("adapters/tracker/logs");
    let before = files_of(&log);
    assert_eq!(home.rote(&["audit", "rebuild"]).code, 10, "{context}");
    assert!(!before.is_empty() && files_of(&log) == before, "{context}: what was written from the journal stays");
    // What rote has recorded can be read all the same.
    assert_eq!(home.rote(&["@1", ".login"]).code, 0, "{context}");
    assert_eq!(home.rote(&["ls"]).code, 0, "{context}");
    assert_eq!(home.rote(&["audit", "tail"]).code, 0, "{context}");
}

#[test]
fn a_journal_that_was_removed_or_cut_stops_every_call_until_somebody_begins_anew() {
    for (context, paths) in [
        ("the database", &["chronicle/journal.db", "chronicle/journal.db-wal", "chronicle/journal.db-shm"][..]),
        ("the anchor", &["secrets/journal.anchor"]),
        ("the key", &["secrets/.journal.key"]),
    ] {
        let (home, server) = tracker();
        assert_eq!(home.rote(&CALL).code, 0);
        assert_eq!(home.rote(&["call", "tracker", "addComment", "project=atlas", "number=1", "body=x"]).code, 0);
        paths.iter().for_each(|path| remove(&home.home().join(path)));
        let before = server.requests().len();
        assert_refused(&home, context);
        assert_eq!(server.requests().len(), before, "{context}: nothing was sent");
        let asked = home.rote(&["audit", "restart"]);
        assert_eq!(asked.code, 5, "{context}: {asked}");
        assert!(asked.stderr.contains("hint: rote audit restart --yes"), "{context}: {asked}");
        assert_refused(&home, context);
        let begun = home.rote(&["audit", "restart", "--yes"]);
        assert_eq!(begun.code, 0, "{context}: {begun}");
        assert_eq!(home.rote(&CALL).code, 0, "{context}");
        assert_eq!(home.rote(&["audit", "verify"]).code, 0, "{context}");
        let first = home.data(&["audit", "tail", "-n", "100"])[0].clone();
        assert_eq!(first["kind"], "journal.restarted", "{context}");
        assert_eq!(first["body"]["attended"], false, "{context}");
        let again = home.rote(&["audit", "restart", "--yes"]);
        assert_eq!(again.code, 10, "{context}: one that is in order goes on: {again}");
    }
}

#[test]
fn what_each_event_is_about_stands_in_its_line() {
    let (home, _server) = tracker();
    assert_eq!(home.rote(&["call", "tracker", "listIssues", "-p", "project=atlas"]).code, 0);
    let made = home.rote(&["flow", "template", "create", "--workspace", "w", "--name", "listed"]);
    assert_eq!(made.code, 0, "{made}");
    assert_eq!(home.rote(&["run", "listed"]).code, 0);
    let tail = home.rote(&["audit", "tail", "-n", "100"]).stdout;
    let line = |kind: &str| {
        let found = tail.lines().find(|line| line.split_whitespace().nth(2) == Some(kind));
        found.unwrap_or_else(|| panic!("no {kind} in\n{tail}")).to_owned()
    };
    for (kind, words) in [
        ("token.set", vec!["TRACKER_TOKEN", "nobody was asked"]),
        ("run.started", vec!["listed · 0.1.0 · run-"]),
        ("run.finished", vec!["listed · run-"]),
    ] {
        let line = line(kind);
        assert!(words.iter().all(|word| line.contains(word)), "{line}");
    }
}

#[test]
fn an_empty_journal_is_in_order() {
    let home = home();
    let run = home.rote(&["audit", "verify"]);
    assert!(run.code == 0 && run.stdout.starts_with("0 events, "), "{run}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test changes a file of the home from outside")]
fn a_journal_that_is_not_a_database_is_kept_aside_by_a_restart() {
    let (home, _server) = tracker();
    assert_eq!(home.rote(&CALL).code, 0);
    for what in ["", "-wal", "-shm"] {
        remove(&home.home().join(format!("chronicle/journal.db{what}")));
    }
    std::fs::write(home.home().join("chronicle/journal.db"), [b'x'; 4096]).unwrap();
    for words in [&["audit", "verify"][..], &CALL] {
        let refused = home.rote(words);
        assert_eq!(refused.code, 10, "{refused}");
        assert!(refused.stderr.contains("file is not a database"), "{refused}");
        assert!(refused.stderr.contains("`rote audit restart`"), "{refused}");
    }
    let begun = home.rote(&["audit", "restart", "--yes"]);
    assert!(begun.code == 0 && begun.stdout.contains("journal.db.kept-1"), "{begun}");
    assert_eq!(home.rote(&CALL).code, 0);
    assert_eq!(home.rote(&["audit", "verify"]).code, 0);
}
