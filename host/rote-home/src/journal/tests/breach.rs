//! Intruders with the files, but without the key; kills and power cuts, which are not intruders; and a new beginning.

use std::path::PathBuf;

use serde_json::Map;

use super::super::anchor::{Anchor, Key, Place, Record};
use super::*;

const NOTHING: [NewEvent; 0] = [];

/// Reads all events, as an intruder would.
fn rows(connection: &Connection) -> Vec<(i64, String, Option<String>, String, String, String)> {
    let mut statement =
        connection.prepare("SELECT seq, ts, effect_id, kind, body_json, prev_sha256 FROM events").unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Makes the hashes of the whole chain fit again, with what is known without the key.
fn rechain(home: &Home) {
    let connection = Connection::open(home.journal_file()).unwrap();
    let mut prev = genesis().hex();
    for (number, (seq, at, effect, kind, body, _)) in (1_i64..).zip(rows(&connection)) {
        let effect = effect.map_or("null".to_owned(), |effect| format!("\"{effect}\""));
        let header =
            format!("{{\"at\":\"{at}\",\"effect\":{effect},\"kind\":\"{kind}\",\"prev\":\"{prev}\",\"seq\":{number}}}");
        let hash = sha256(format!("{header}\n{body}").as_bytes());
        let id = super::super::chain::id_of(hash);
        connection
            .execute(
                "UPDATE events SET seq = ?2, prev_sha256 = ?3, sha256 = ?4, id = ?5 WHERE seq = ?1",
                (seq, number, &prev, hash.hex(), id),
            )
            .unwrap();
        prev = hash.hex();
    }
}

fn journal_files(home: &Home) -> Vec<PathBuf> {
    home.chronicle_dir().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn remove(path: &std::path::Path) {
    std::fs::remove_file(path).unwrap();
}

fn copy(from: &std::path::Path) -> Vec<u8> {
    crate::read_capped(from, 1 << 24).unwrap()
}

fn put(path: &std::path::Path, bytes: &[u8]) {
    crate::write_atomic(path, bytes, crate::FileMode::Private).unwrap();
}

/// Asserts that the journal is refused by a check and by whoever appends, and that it can still be read.
fn assert_refused(home: &Home, context: &str) -> String {
    let journal = open(home);
    let report = journal.verify().unwrap();
    assert!(!report.is_intact(), "{context}: {report:?}");
    let refused = journal.append(at(9), Durability::Process, &[event("effect.started", "late", json!({}))]);
    assert!(matches!(refused, Err(HomeError::Breached { .. })), "{context}: {refused:?}");
    let refused = journal.append_consuming(at(9), &claim("t"), &NOTHING);
    assert!(matches!(refused, Err(HomeError::Breached { .. }) | Ok(Err(_))), "{context}: {refused:?}");
    journal.tail(10).unwrap();
    report.problem.unwrap()
}

#[test]
fn nobody_without_the_key_changes_the_end_unnoticed() {
    let edits = [
        "DELETE FROM events WHERE seq = 6",
        "DELETE FROM events WHERE seq > 2",
        "DELETE FROM events",
        "UPDATE events SET body_json = '{}' WHERE seq = 6",
        "DELETE FROM events WHERE seq = 4",
        "INSERT INTO events SELECT 7, id, ts, kind, effect_id, body_json, sha256, sha256 FROM events WHERE seq = 6",
        "INSERT INTO events SELECT 9007199254740993, id, ts, kind, effect_id, body_json, sha256, sha256 FROM events WHERE seq = 6",
    ];
    for edit in edits {
        let (_dir, home) = home();
        fill(&open(&home), 6);
        tamper(&home, edit);
        rechain(&home);
        assert_refused(&home, edit);
    }
}

#[test]
fn a_journal_that_is_gone_or_older_is_not_taken_for_a_new_one() {
    let (_dir, home) = home();
    fill(&open(&home), 3);
    let old: Vec<_> = journal_files(&home).into_iter().map(|path| (copy(&path), path)).collect();
    fill(&open(&home), 2);
    for path in journal_files(&home) {
        remove(&path);
    }
    assert_eq!(assert_refused(&home, "removed"), "events 1 to 5 are gone: the anchor says that 5 were written");
    for path in journal_files(&home) {
        remove(&path);
    }
    for (bytes, path) in old {
        put(&path, &bytes);
    }
    assert_eq!(assert_refused(&home, "older"), "events 4 to 5 are gone: the anchor says that 5 were written");
}

#[test]
fn anchor_and_key_are_missed_and_their_changes_noticed() {
    type Change = fn(&Home);
    let key = |home: &Home| home.secrets_dir().join(".journal.key");
    let changes: [(&str, Change, &str); 5] = [
        ("no anchor", |home| remove(&home.journal_anchor_file()), "its anchor `secrets/journal.anchor` is gone"),
        (
            "another anchor",
            |home| put(&home.journal_anchor_file(), b"{}"),
            "its anchor `secrets/journal.anchor` was changed, or its key was",
        ),
        (
            "an anchor of another key",
            |home| {
                let start = Place { seq: 0, hash: genesis() };
                Record::new(start).create(&home.journal_anchor_file(), &Key::new(&[8; 32])).unwrap();
            },
            "its anchor `secrets/journal.anchor` was changed, or its key was",
        ),
        (
            "another key",
            |home| put(&home.secrets_dir().join(".journal.key"), &[8; 32]),
            "event 1 does not fit: its content does not have its hash",
        ),
        ("no key", |home| remove(&home.secrets_dir().join(".journal.key")), "its key `secrets/.journal.key` is gone"),
    ];
    for (name, change, problem) in changes {
        let (_dir, home) = home();
        fill(&open(&home), 3);
        assert!(key(&home).exists());
        change(&home);
        let found = assert_refused(&home, name);
        assert!(problem.ends_with(&found), "{name}: {found}");
    }
}

#[test]
fn an_anchor_that_a_kill_left_behind_is_caught_up() {
    let (_dir, home) = home();
    fill(&open(&home), 3);
    let behind = copy(&home.journal_anchor_file());
    fill(&open(&home), 4);
    put(&home.journal_anchor_file(), &behind);
    let journal = open(&home);
    assert!(journal.verify().unwrap().is_intact());
    fill(&journal, 1);
    assert_eq!(journal.verify().unwrap().events, 8);
    tamper(&home, "DELETE FROM events WHERE seq = 8");
    assert_refused(&home, "cut after it was caught up");
}

#[test]
fn an_anchor_that_is_behind_vouches_for_nothing_that_is_forged() {
    let (_dir, home) = home();
    fill(&open(&home), 3);
    let behind = copy(&home.journal_anchor_file());
    fill(&open(&home), 2);
    put(&home.journal_anchor_file(), &behind);
    tamper(&home, "UPDATE events SET body_json = '{}' WHERE seq = 5");
    rechain(&home);
    assert_refused(&home, "forged behind the anchor");
}

/// Makes the anchor one of an earlier run of the machine: `synced` is what was on disk.
fn start_anew(home: &Home, synced: u64, latest: u64) {
    let journal = open(home);
    let place = |seq: u64| journal.read(seq, 1).unwrap()[0].place();
    let key = Key::new(&[7; 32]);
    let record = Anchor::lock(&home.journal_anchor_file(), &key).unwrap().unwrap().record;
    record.of_another_boot(place(synced), place(latest)).create(&home.journal_anchor_file(), &key).unwrap();
}

#[test]
fn a_power_cut_takes_what_was_not_synced_and_the_chain_says_so() {
    let (_dir, home) = home();
    fill(&open(&home), 6);
    start_anew(&home, 3, 6);
    tamper(&home, "DELETE FROM events WHERE seq > 4");
    let journal = open(&home);
    let report = journal.verify().unwrap();
    assert_eq!((report.is_intact(), report.events, report.lost), (true, 4, Some((5, 6))), "{report:?}");
    let recorded = journal.append(at(1), Durability::Process, &[event("note", "x", json!({}))]).unwrap();
    assert_eq!((recorded.len(), recorded[0].seq), (1, 6), "what rote says of itself is not the caller's");
    let marked = &journal.read(5, 1).unwrap()[0];
    assert_eq!((marked.kind.as_str(), &marked.body), ("journal.lost", &json!({"first": 5, "last": 6})));
    assert_eq!(journal.verify().unwrap().lost, None);
    // Whatever was read back after the start is on disk: it may not go any more.
    tamper(&home, "DELETE FROM events WHERE seq = 6");
    assert_refused(&home, "cut after the start");
}

#[test]
fn a_power_cut_takes_nothing_that_was_synced() {
    let (_dir, home) = home();
    fill(&open(&home), 6);
    start_anew(&home, 4, 6);
    tamper(&home, "DELETE FROM events WHERE seq > 3");
    assert_eq!(
        assert_refused(&home, "less than synced"),
        "events 4 to 6 are gone: the anchor says that 6 were written"
    );
}

#[test]
fn a_start_anew_without_loss_changes_nothing() {
    let (_dir, home) = home();
    fill(&open(&home), 6);
    start_anew(&home, 2, 6);
    let journal = open(&home);
    fill(&journal, 1);
    let report = journal.verify().unwrap();
    assert_eq!((report.is_intact(), report.events, report.lost), (true, 7, None), "{report:?}");
}

fn who() -> Map<String, Value> {
    Map::from_iter([("attended".to_owned(), json!(false))])
}

#[test]
fn a_restart_keeps_the_old_events_and_tells_of_them() {
    let (_dir, home) = home();
    fill(&open(&home), 3);
    assert_eq!(Journal::restart(&home, &Fixed(7), at(5), who()).unwrap(), None, "it was in order");
    tamper(&home, "DELETE FROM events WHERE seq = 3");
    let done = Journal::restart(&home, &Fixed(7), at(5), who()).unwrap().unwrap();
    assert_eq!((done.kept.as_str(), done.events), ("events_kept_1", 2));
    let journal = open(&home);
    fill(&journal, 1);
    let first = &journal.read(1, 1).unwrap()[0];
    assert_eq!(first.kind, "journal.restarted");
    assert_eq!(
        (&first.body["attended"], &first.body["events"], &first.body["anchor"]["seq"]),
        (&json!(false), &json!(2), &json!(3))
    );
    assert_eq!(journal.verify().unwrap().events, 2);
    let connection = Connection::open(home.journal_file()).unwrap();
    let kept: i64 = connection.query_row("SELECT count(*) FROM events_kept_1", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 2);
    assert!(connection.execute("DELETE FROM events", []).is_err(), "the new table is append only too");
}

#[test]
fn whatever_was_done_to_it_a_restart_makes_it_usable() {
    type Change = fn(&Home);
    let changes: [(&str, Change); 6] = [
        ("no anchor", |home| remove(&home.journal_anchor_file())),
        ("another anchor", |home| put(&home.journal_anchor_file(), b"{}")),
        ("no key", |home| remove(&home.secrets_dir().join(".journal.key"))),
        ("no journal", |home| journal_files(home).iter().for_each(|path| remove(path))),
        ("no table", |home| tamper(home, "DROP TABLE events")),
        ("a trigger of somebody's", |home| {
            tamper(
                home,
                "DELETE FROM events; CREATE TRIGGER mine AFTER INSERT ON events BEGIN DELETE FROM events; END",
            );
        }),
    ];
    for (name, change) in changes {
        let (_dir, home) = home();
        fill(&open(&home), 3);
        change(&home);
        assert!(!open(&home).verify().unwrap().is_intact(), "{name}");
        assert!(Journal::restart(&home, &Fixed(9), at(5), who()).unwrap().is_some(), "{name}");
        let journal = open(&home);
        fill(&journal, 2);
        let report = journal.verify().unwrap();
        assert!(report.is_intact() && report.events == 3, "{name}: {report:?}");
    }
}

#[test]
fn a_restart_that_was_killed_before_the_anchor_is_given_again() {
    let (_dir, home) = home();
    fill(&open(&home), 3);
    let before = copy(&home.journal_anchor_file());
    tamper(&home, "DELETE FROM events WHERE seq = 3");
    Journal::restart(&home, &Fixed(7), at(5), who()).unwrap().unwrap();
    put(&home.journal_anchor_file(), &before);
    assert_refused(&home, "between commit and anchor");
    let done = Journal::restart(&home, &Fixed(7), at(6), who()).unwrap().unwrap();
    assert_eq!((done.kept.as_str(), done.events), ("events_kept_2", 1));
    assert!(open(&home).verify().unwrap().is_intact());
}

#[test]
fn whoever_had_the_old_chain_open_cannot_go_on_with_it() {
    let (_dir, home) = home();
    let other = open(&home);
    fill(&other, 3);
    tamper(&home, "DELETE FROM events WHERE seq = 3");
    Journal::restart(&home, &Fixed(7), at(5), who()).unwrap().unwrap();
    fill(&other, 1);
    assert_eq!(other.verify().unwrap().events, 2, "it went on with the new one");
}

#[test]
fn a_journal_without_its_key_is_not_taken_over_while_anything_tells_of_keys() {
    let traces: [(&str, &[u8]); 7] = [
        ("config/.journal.keyed", b"x"),
        ("config/.adapter.keyed", b"x"),
        ("config/.vault.keyed", b"x"),
        ("secrets/.adapter.key", &[1; 32]),
        ("chronicle/vault.anchor", b"{}"),
        ("secrets/tokens.json", br#"{"version": 2, "entries": {}}"#),
        ("adapters/shop/manifest.json", br#"{"schema": 1, "seal": "00"}"#),
    ];
    let forge = |home: &Home| {
        fill(&open(home), 3);
        remove(&home.secrets_dir().join(".journal.key"));
        remove(&home.journal_anchor_file());
        crate::remove_file(&home.config_dir().join(".journal.keyed")).unwrap_or_default();
        tamper(home, "UPDATE events SET body_json = '{}' WHERE seq = 3");
        rechain(home);
        let head = "UPDATE plain_head SET seq = 3, sha256 = (SELECT sha256 FROM events WHERE seq = 3)";
        tamper(home, head);
    };
    // Whoever takes away all of them has a home of before.
    let (_dir, before) = home();
    forge(&before);
    assert!(open(&before).verify().unwrap().is_intact());
    for (path, bytes) in traces {
        let (_dir, home) = home();
        forge(&home);
        let path = home.root().join(path);
        crate::create_private_dir(path.parent().unwrap()).unwrap();
        put(&path, bytes);
        assert_eq!(assert_refused(&home, &path.display().to_string()), "its key `secrets/.journal.key` is gone");
    }
}

#[test]
fn a_journal_that_loses_any_two_of_its_traces_is_refused() {
    let traces = ["secrets/.journal.key", "secrets/journal.anchor", "config/.journal.keyed"];
    for one in 0..traces.len() {
        for other in one..traces.len() {
            let (_dir, home) = home();
            fill(&open(&home), 3);
            tamper(&home, "DELETE FROM events WHERE seq = 3");
            rechain(&home);
            for trace in [traces[one], traces[other]] {
                crate::remove_file(&home.root().join(trace)).unwrap_or_default();
            }
            assert_refused(&home, &format!("{} and {}", traces[one], traces[other]));
        }
    }
}

/// Puts something else in the place of the database, with nothing beside it that SQLite could mend it from.
fn garble(home: &Home) {
    for what in ["", "-wal", "-shm"] {
        remove(&home.chronicle_dir().join(format!("journal.db{what}")));
    }
    put(&home.journal_file(), &[b'x'; 4096]);
}

#[test]
fn a_file_that_is_not_a_database_is_kept_aside() {
    let (_dir, home) = home();
    fill(&open(&home), 3);
    for number in 1..3 {
        garble(&home);
        let error = Journal::open(&home, &Fixed(7)).unwrap_err();
        let hint = rote_types::Classify::hint(&error).unwrap_or_default();
        assert!(hint.contains("rote audit restart"), "{error}: {hint}");
        let done = Journal::restart(&home, &Fixed(7), at(5), who()).unwrap().unwrap();
        let name = format!("journal.db.kept-{number}");
        assert_eq!((done.kept.as_str(), done.problem.as_str()), (&*name, "it cannot be read: file is not a database"));
        assert_eq!(copy(&home.chronicle_dir().join(&name)), [b'x'; 4096]);
        let journal = open(&home);
        fill(&journal, 1);
        assert_eq!((journal.verify().unwrap().is_intact(), journal.verify().unwrap().events), (true, 2));
        let first = &journal.read(1, 1).unwrap()[0];
        assert_eq!((first.kind.as_str(), &first.body["kept"]), ("journal.restarted", &json!(name)));
    }
}

#[test]
fn of_many_restarts_at_once_one_begins_a_new_chain() {
    type Change = fn(&Home);
    let changes: [(&str, Change); 3] = [
        ("no anchor", |home| remove(&home.journal_anchor_file())),
        ("an end that was cut", |home| tamper(home, "DELETE FROM events WHERE seq = 3")),
        ("no database", garble),
    ];
    for (name, change) in changes {
        let (_dir, home) = home();
        fill(&open(&home), 3);
        change(&home);
        let begun = std::thread::scope(|scope| {
            let restart = || Journal::restart(&home, &Fixed(7), at(5), who()).unwrap().is_some();
            let threads: Vec<_> = (0..12).map(|_| scope.spawn(restart)).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum::<usize>()
        });
        assert_eq!(begun, 1, "{name}");
        let report = open(&home).verify().unwrap();
        assert_eq!((report.is_intact(), report.events), (true, 1), "{name}: {report:?}");
    }
}

#[test]
fn an_anchor_that_is_another_file_now_is_read_again() {
    let (_dir, home) = home();
    let journal = open(&home);
    fill(&journal, 1);
    // The same bytes in another file, as a copy of the home that was put back has them.
    let path = home.journal_anchor_file();
    let before = crate::read_capped(&path, 1 << 20).unwrap();
    crate::write_atomic(&path, &before, crate::FileMode::Private).unwrap();
    fill(&journal, 1);
    assert_ne!(crate::read_capped(&path, 1 << 20).unwrap(), before, "the file that has the name was moved on");
    crate::write_atomic(&path, b"foreign", crate::FileMode::Private).unwrap();
    let refused = journal.append(at(1), Durability::Process, &[event("x", "e", json!({}))]).unwrap_err();
    assert!(matches!(refused, HomeError::Breached { .. }), "{refused:?}");
}

#[test]
fn what_stands_before_the_first_event_is_found_and_nothing_is_appended_behind_it() {
    for seq in [0, -1, i64::MIN] {
        let (_dir, home) = home();
        fill(&open(&home), 3);
        tamper(
            &home,
            &format!(
                "INSERT INTO events SELECT {seq}, 'x', ts, 'flow.blessed', NULL, body_json, prev_sha256, sha256 FROM events WHERE seq = 1"
            ),
        );
        let journal = open(&home);
        let problem = journal.verify().unwrap().problem.unwrap();
        assert_eq!(problem, format!("event {seq} stands before the first one and was added by somebody else"));
        let error = journal.append(at(2), Durability::Process, &[event("x", "e", json!({}))]).unwrap_err();
        assert!(matches!(error, HomeError::Breached { .. }), "{error}");
        Journal::restart(&home, &Fixed(7), at(5), who()).unwrap().unwrap();
        fill(&open(&home), 1);
    }
}

#[test]
fn a_database_that_does_something_by_itself_is_found_and_takes_no_event() {
    for (name, change, writes) in [
        (
            "a trigger that ignores",
            "CREATE TRIGGER mine BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END",
            false,
        ),
        (
            "one of another table",
            "CREATE TRIGGER mine BEFORE INSERT ON open_writes BEGIN SELECT RAISE(IGNORE); END",
            false,
        ),
        ("a view", "CREATE VIEW other AS SELECT 1", true),
        ("a view of events", "ALTER TABLE events RENAME TO old; CREATE VIEW events AS SELECT * FROM old", false),
    ] {
        let (_dir, home) = home();
        fill(&open(&home), 3);
        tamper(&home, change);
        let journal = open(&home);
        let problem = journal.verify().unwrap().problem.unwrap();
        assert!(problem.contains("that rote did not make"), "{name}: {problem}");
        let body = json!({"workspace": "w", "workspace_id": "i", "response": 1, "writes": true});
        let appended = journal.append(at(2), Durability::Process, &[event("effect.started", "e", body)]);
        assert_eq!(appended.is_ok(), writes, "{name}: {appended:?}");
        drop(journal);
        Journal::restart(&home, &Fixed(7), at(5), who()).unwrap().unwrap();
        let journal = open(&home);
        fill(&journal, 2);
        assert!(journal.verify().unwrap().is_intact(), "{name}");
    }
}
