//! A journal of before, whose chain has no key, is taken over once.

use super::super::chain::id_of;
use super::*;

/// Makes a journal as rote before the key did, and returns its head.
fn plain(home: &Home, count: i64) -> Sha256Digest {
    let connection = open_database(&home.journal_file(), &MIGRATIONS[..1], Creation::Unsynced).unwrap();
    let mut prev = genesis();
    for seq in 1..=count {
        let header = format!(
            "{{\"at\":\"{}\",\"effect\":null,\"kind\":\"note\",\"prev\":\"{}\",\"seq\":{seq}}}",
            at(0),
            prev.hex()
        );
        let hash = sha256(format!("{header}\n{{\"n\":{seq}}}").as_bytes());
        let row = (seq, id_of(hash), at(0).to_string(), format!("{{\"n\":{seq}}}"), prev.hex(), hash.hex());
        connection.execute("INSERT INTO events VALUES (?1, ?2, ?3, 'note', NULL, ?4, ?5, ?6)", row).unwrap();
        connection.execute("UPDATE head SET seq = ?1, sha256 = ?2", (seq, hash.hex())).unwrap();
        prev = hash;
    }
    prev
}

#[test]
fn a_plain_chain_goes_on_with_the_key() {
    let (_dir, home) = home();
    let head = plain(&home, 3);
    let journal = open(&home);
    let report = journal.verify().unwrap();
    assert_eq!((report.is_intact(), report.events, report.head), (true, 3, head), "{report:?}");
    let recorded = journal.append(at(1), Durability::Process, &[event("effect.started", "x", json!({}))]).unwrap();
    assert_eq!((recorded.len(), recorded[0].seq), (1, 5));
    let marked = &journal.read(4, 1).unwrap()[0];
    assert_eq!((marked.kind.as_str(), &marked.body), ("journal.keyed", &json!({"events": 3, "head": head})));
    fill(&open(&home), 2);
    let report = open(&home).verify().unwrap();
    assert!(report.is_intact() && report.events == 7, "{report:?}");
}

#[test]
fn a_plain_chain_that_was_changed_is_not_taken_over() {
    for (edit, broken) in [
        ("UPDATE events SET body_json = '{}' WHERE seq = 2", 2),
        ("DELETE FROM events WHERE seq = 3", 3),
        ("DELETE FROM events", 1),
    ] {
        let (_dir, home) = home();
        plain(&home, 3);
        tamper(&home, edit);
        let journal = open(&home);
        assert_eq!(journal.verify().unwrap().first_broken, Some(broken), "{edit}");
        let refused = journal.append(at(1), Durability::Process, &[event("note", "x", json!({}))]);
        assert!(matches!(refused, Err(HomeError::Breached { .. })), "{edit}: {refused:?}");
    }
}

#[test]
fn what_was_plain_is_not_changed_afterwards() {
    let (_dir, home) = home();
    plain(&home, 3);
    fill(&open(&home), 1);
    tamper(&home, "DELETE FROM events WHERE seq < 3");
    assert_eq!(open(&home).verify().unwrap().first_broken, Some(1));
}

#[test]
fn an_empty_journal_of_before_needs_no_mark() {
    let (_dir, home) = home();
    plain(&home, 0);
    fill(&open(&home), 1);
    let events = open(&home).read(1, 9).unwrap();
    assert_eq!((events.len(), events[0].kind.as_str()), (1, "effect.started"));
}

#[test]
fn processes_that_race_to_take_it_over_mark_it_once() {
    let (_dir, home) = home();
    plain(&home, 3);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let home = &home;
            scope.spawn(move || fill(&Journal::open(home, &Fixed(number)).unwrap(), 2));
        }
    });
    let events = open(&home).read(1, 99).unwrap();
    assert_eq!(events.iter().filter(|event| event.kind == "journal.keyed").count(), 1);
    assert!(open(&home).verify().unwrap().is_intact());
}

#[test]
fn after_a_restart_nothing_of_the_chain_is_plain() {
    let (_dir, home) = home();
    plain(&home, 3);
    fill(&open(&home), 1);
    tamper(&home, "DELETE FROM events WHERE seq = 5");
    Journal::restart(&home, &Fixed(7), at(5), serde_json::Map::new()).unwrap().unwrap();
    fill(&open(&home), 2);
    crate::remove_file(&home.journal_anchor_file()).unwrap();
    let report = open(&home).verify().unwrap();
    assert_eq!((report.events, report.first_broken), (3, None), "{report:?}");
    assert_eq!(report.problem.unwrap(), "its anchor `secrets/journal.anchor` is gone");
}
