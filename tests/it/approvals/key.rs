//! The key, the ones that follow it, and what they sign beside requests.

use std::fs;

use serde_json::{Value, json};

use super::{PASSPHRASE, REMOVE, Signing, confirmed, deleting};
use crate::home;

/// Of two that make a key at once one makes it.
#[test]
fn one_key_is_made_by_many_at_once() {
    let home = home();
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let init = |number: usize| {
            let passphrase = format!("passphrase-number-{number}");
            home.invocation(&["approve", "init"]).env("ROTE_APPROVAL_PASSPHRASE", &passphrase).run().code
        };
        let runs: Vec<_> = (0..4).map(|number| scope.spawn(move || init(number))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| [0, 10].contains(code)), "{codes:?}");
}

/// The key of somebody else, and no key at all, where a person enrolled one.
#[test]
fn a_key_that_is_not_the_enrolled_one_signs_nothing() {
    let (signing, api) = deleting();
    let before = api.received().len();
    let keys = signing.0.home().join("keys");
    let aside = signing.0.work().join("keys");
    fs::rename(&keys, &aside).unwrap();
    let run = signing.0.rote(&REMOVE);
    assert!(run.code == 6 && run.stderr.contains("its files are gone"), "{run}");
    // Whoever takes the files away cannot make a key of their own.
    let run = signing.with_passphrase(&["approve", "init"], "another-passphrase");
    assert_eq!(run.code, 6, "{run}");
    let stranger = home();
    assert_eq!(stranger.rote(&["init", "w"]).code, 0);
    let stranger = Signing::enrolled(stranger);
    fs::rename(stranger.0.home().join("keys"), &keys).unwrap();
    let run = signing.0.rote(&REMOVE);
    assert!(run.code == 6 && run.stderr.contains("the ring does not have it any more"), "{run}");
    fs::remove_dir_all(&keys).unwrap();
    fs::rename(&aside, &keys).unwrap();
    let id = signing.asks(&REMOVE);
    assert_eq!(api.received().len(), before);
    signing.allows(&id);
    assert_eq!(signing.0.rote(&confirmed(&id)).code, 0);
    // A home that was given a key's files has no enrolled key either: nothing is confirmed by token there until one is.
    let copied = home();
    assert_eq!(copied.rote(&["init", "w"]).code, 0);
    fs::create_dir(copied.home().join("keys")).unwrap();
    for file in ["approval.key", "approval.pub", "keyring.json"] {
        fs::copy(keys.join(file), copied.home().join("keys").join(file)).unwrap();
    }
    let run = copied.rote(&["token", "set", "T", "value-0123456789", "--yes"]);
    assert!(run.code == 6 && run.stderr.contains("nobody enrolled"), "{run}");
    let wrong = copied.invocation(&["approve", "init"]).env("ROTE_APPROVAL_PASSPHRASE", "another-passphrase").run();
    assert_eq!(wrong.code, 4, "{wrong}");
    let run = copied.invocation(&["approve", "init"]).env("ROTE_APPROVAL_PASSPHRASE", PASSPHRASE).run();
    assert!(run.code == 0 && run.stdout.contains("enrolled the approval key"), "{run}");
}

/// C-09 and C-10 at the command line.
#[test]
fn a_key_and_the_one_that_follows_it() {
    let (signing, _api) = deleting();
    let short = home();
    let run = short.invocation(&["approve", "init"]).env("ROTE_APPROVAL_PASSPHRASE", "eleven-char").run();
    assert!(run.code == 2 && !short.home().join("keys/approval.key").exists(), "{run}");
    assert_eq!(signing.with_passphrase(&["approve", "init"], PASSPHRASE).code, 10);
    let (waiting, allowed) = (signing.asks(&REMOVE), signing.asks(&["call", "things", "remove", "id=9"]));
    signing.allows(&allowed);
    let run = signing.with_passphrase(&["approve", "rotate-key"], "wrong-passphrase");
    assert!(run.code == 4 && run.stderr.contains("Invalid approval passphrase."), "{run}");
    assert_eq!(signing.state(&waiting), "waiting");
    let keys = signing.0.home().join("keys");
    let kept: Vec<_> =
        ["approval.key", "approval.pub", "keyring.json"].map(|file| (file, fs::read(keys.join(file)).unwrap())).into();
    let run = signing.with_passphrase(&["approve", "rotate-key"], PASSPHRASE);
    assert!(run.code == 0 && run.stdout.contains("let go of 2 requests"), "{run}");
    for id in [&waiting, &allowed] {
        assert_eq!(signing.state(id), "ended");
        let run = signing.0.rote(&["call", "things", "remove", "id=9", "--confirm", id]);
        assert_eq!(run.code, 5, "{run}");
    }
    let again = signing.asks(&REMOVE);
    signing.allows(&again);
    assert_eq!(signing.0.rote(&confirmed(&again)).code, 0);
    assert_eq!(signing.0.rote(&["audit", "verify"]).code, 0);
    // A copy of the old key signs nothing any more.
    for (file, bytes) in kept {
        fs::write(keys.join(file), bytes).unwrap();
    }
    let run = signing.0.rote(&REMOVE);
    assert!(run.code == 6 && run.stderr.contains("the ring does not have it any more"), "{run}");
}

/// The log of approvals follows from the journal, and each line from the one before.
#[test]
fn the_log_of_approvals_is_made_again_byte_for_byte() {
    let (signing, _api) = deleting();
    let path = signing.0.home().join("audit/approvals.jsonl");
    let (first, second) = (signing.asks(&REMOVE), signing.asks(&["call", "things", "remove", "id=9"]));
    signing.allows(&first);
    assert_eq!(signing.0.rote(&confirmed(&first)).code, 0);
    assert_eq!(signing.0.rote(&["approve", "deny", &second, "--reason", "no"]).code, 0);
    let log = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    let expected = [
        "approval.key_enrolled",
        "approval.requested",
        "approval.requested",
        "approval.decided",
        "approval.consumed",
        "approval.decided",
    ];
    assert_eq!(told, expected);
    assert_eq!(lines[3]["approved"], true);
    assert_eq!((&lines[5]["approved"], &lines[5]["reason"]), (&json!(false), &json!("no")));
    let mut before = rote_types::sha256(b"rote:audit:genesis").hex();
    for line in log.lines() {
        let read: Value = serde_json::from_str(line).unwrap();
        assert_eq!(read["prev_sha256"], before, "{line}");
        before = rote_types::sha256(line.as_bytes()).hex();
    }
    // Half a line, a line that somebody made up, and no file.
    for broken in [log[..log.len() - 10].to_owned(), format!("{log}{{}}\n"), log.replace("\"no\"", "\"yes\"")] {
        fs::write(&path, broken).unwrap();
        assert_eq!(signing.0.rote(&["audit", "rebuild"]).code, 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), log);
    }
    fs::write(&path, &log[..log.len() - 10]).unwrap();
    let third = signing.asks(&["call", "things", "remove", "id=10"]);
    let caught_up = fs::read_to_string(&path).unwrap();
    assert!(caught_up.starts_with(&log) && caught_up.contains(&third), "{caught_up}");
    fs::remove_file(&path).unwrap();
    assert_eq!(signing.0.rote(&["audit", "rebuild"]).code, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), caught_up);
}

/// Whoever has the home, and not the passphrase, cannot rewrite what was before a signature.
#[test]
fn the_key_signs_where_the_journal_ends() {
    let (signing, _api) = deleting();
    let id = signing.asks(&REMOVE);
    signing.allows(&id);
    let verify = |more: &[&str]| signing.0.rote(&[&["audit", "verify"], more].concat());
    let run = verify(&[]);
    assert!(run.code == 0 && run.stdout.contains("signed up to event"), "{run}");
    let anchor = signing.0.rote(&["audit", "anchor"]);
    assert_eq!(anchor.code, 0, "{anchor}");
    let kept = signing.0.file("kept.json", &anchor.stdout).display().to_string();
    assert_eq!(signing.0.rote(&confirmed(&id)).code, 0);
    assert_eq!(verify(&["--anchor", &kept]).code, 0);
    let signed = signing.0.home().join("chronicle/journal.signed");
    let text = fs::read_to_string(&signed).unwrap();
    let seq = serde_json::from_str::<Value>(&text).unwrap()["seq"].clone();
    fs::write(&signed, text.replace(&format!("\"seq\":{seq}"), "\"seq\":1")).unwrap();
    let run = verify(&[]);
    assert!(run.code == 10 && run.stderr.contains("its signature does not fit"), "{run}");
    fs::remove_file(&signed).unwrap();
    assert_eq!(verify(&[]).code, 10);
    assert_eq!(verify(&["--anchor", &kept]).code, 0);
    // A journal that was begun anew does not have what was signed; that takes the passphrase, and the key stays enrolled.
    let journal = rusqlite::Connection::open(signing.0.home().join("chronicle/journal.db")).unwrap();
    journal
        .execute_batch(
            "DROP TRIGGER IF EXISTS events_are_not_updated; UPDATE events SET body_json = '{}' WHERE seq = 1",
        )
        .unwrap();
    drop(journal);
    assert_eq!(signing.0.rote(&["audit", "restart", "--yes"]).code, 5);
    let run = signing.with_passphrase(&["audit", "restart", "--yes"], PASSPHRASE);
    assert_eq!(run.code, 0, "{run}");
    let run = verify(&[]);
    assert!(run.code == 0 && run.stdout.contains("signed up to event"), "{run}");
    assert_eq!(verify(&["--anchor", &kept]).code, 10);
    signing.asks(&REMOVE);
}
