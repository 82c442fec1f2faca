//! A person's signature: what needs one, what one is good for, and who cannot give one.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "a test is the other program that changes the files, and fails with what it saw"
)]

use std::fs;

use expect_test::expect;
use rote_testkit::{FakeApi, Run, TestHome};
use serde_json::{Value, json};

use crate::killed::{SAMPLES, boundaries, ready};
use crate::terminal::Terminal;
use crate::{home, tracker};

const PASSPHRASE: &str = "correct-horse-battery";

/// A home in which a person enrolled a key.
struct Signing(TestHome);

impl Signing {
    fn enrolled(home: TestHome) -> Self {
        let signing = Self(home);
        let run = signing.with_passphrase(&["approve", "init"], PASSPHRASE);
        assert_eq!(run.code, 0, "{run}");
        signing
    }

    fn with_passphrase(&self, words: &[&str], passphrase: &str) -> Run {
        self.0.invocation(words).env("ROTE_APPROVAL_PASSPHRASE", passphrase).run()
    }

    /// Makes a call that needs a signature; returns the name of the request.
    fn asks(&self, words: &[&str]) -> String {
        let run = self.0.rote(&[&["--json"], words].concat());
        assert_eq!(run.code, 5, "{run}");
        let details = &run.envelope()["error"]["details"];
        assert!(details.get("confirm_token").is_none(), "{run}");
        details["approval_id"].as_str().unwrap_or_else(|| panic!("{run}")).to_owned()
    }

    /// The digits by which a person says which plan was read.
    fn plan(&self, id: &str) -> String {
        self.0.data(&["approve", "show", id])["plan_hash"].as_str().unwrap()[..16].to_owned()
    }

    fn allows(&self, id: &str) {
        let run = self.with_passphrase(&["approve", "allow", id, "--plan", &self.plan(id)], PASSPHRASE);
        assert_eq!(run.code, 0, "{run}");
    }

    /// Makes a change that needs a signature, with one.
    fn signed(&self, words: &[&str]) -> Run {
        let id = self.asks(words);
        self.allows(&id);
        self.0.rote(&[words, &["--approval", &id]].concat())
    }

    fn state(&self, id: &str) -> String {
        self.0.data(&["approve", "show", id])["state"].as_str().unwrap().to_owned()
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        let tail = self.0.data(&["audit", "tail", "-n", "300"]);
        let of_kind = |event: &&Value| event["kind"] == kind;
        tail.as_array().unwrap().iter().filter(of_kind).cloned().collect()
    }
}

/// A home with an adapter whose one operation removes something, and the API that counts.
fn things() -> (TestHome, FakeApi) {
    let (home, api) = ready("get");
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Things", "version": "1" },
        "paths": { "/things/{id}": { "delete": { "operationId": "remove", "parameters": [
            { "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }
        ], "responses": { "200": { "description": "ok" } } } } },
    });
    home.file("things.json", document.to_string());
    let run = home.rote(&["adapter", "new", "things", "things.json", "--base-url", &api.url()]);
    assert_eq!(run.code, 0, "{run}");
    (home, api)
}

/// The same, where a person enrolled a key.
fn deleting() -> (Signing, FakeApi) {
    let (home, api) = things();
    (Signing::enrolled(home), api)
}

const REMOVE: [&str; 4] = ["call", "things", "remove", "id=7"];

fn confirmed(id: &str) -> Vec<&str> {
    [&REMOVE[..], &["--confirm", id]].concat()
}

/// J-2 of the joint conformance cases, and C-02: with a key no token counts, and a signature counts once.
#[test]
fn a_call_goes_with_a_signature_and_goes_once() {
    let (home, api) = things();
    let token = home.rote(&[&["--json"], &REMOVE[..]].concat()).envelope()["error"]["details"]["confirm_token"].clone();
    let token = token.as_str().unwrap();
    let signing = Signing::enrolled(home);
    let before = api.received().len();
    let with = |word: &str| signing.0.rote(&confirmed(word));
    let run = with(token);
    assert!(run.code == 5 && run.stderr.contains("a person's signature counts, and no token"), "{run}");
    let id = signing.asks(&REMOVE);
    let run = with(&id);
    assert!(run.code == 5 && run.stderr.contains("nobody has decided yet"), "{run}");
    assert_eq!(api.received().len(), before, "no packet without a signature");
    signing.allows(&id);
    assert_eq!(with(&id).code, 0);
    assert_eq!(api.received().len(), before + 1);
    let run = with(&id);
    assert!(run.code == 5 && run.stderr.contains("the approval was used at"), "{run}");
    assert_eq!(api.received().len(), before + 1);
    let started = signing.events("effect.started").pop().unwrap();
    assert_eq!((&started["body"]["approval"], &started["body"]["decision"]), (&json!(id), &json!("confirmed")));
    assert_eq!(signing.events("approval.consumed").len(), 1);
}

/// C-02 with processes: of many that present a signed request at once one goes.
#[test]
fn of_many_processes_with_one_approval_one_makes_the_call() {
    let (signing, api) = deleting();
    let id = signing.asks(&REMOVE);
    signing.allows(&id);
    let before = api.received().len();
    let words = confirmed(&id);
    let words = [&words[..], &["--another"]].concat();
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(|| signing.0.rote(&words).code)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| [0, 5].contains(code)), "{codes:?}");
    assert_eq!(api.received().len(), before + 1);
}

/// J-3, J-8 and C-03: what was approved is what is done, or nothing is, and the approval stays.
#[test]
fn what_is_not_what_was_approved_is_not_done() {
    let (signing, api) = deleting();
    let id = signing.asks(&REMOVE);
    signing.allows(&id);
    let before = api.received().len();
    let other = signing.0.rote(&["call", "things", "remove", "id=8", "--confirm", &id]);
    assert!(other.code == 5 && other.stderr.contains("the arguments differ"), "{other}");
    assert_eq!(signing.0.rote(&["init", "elsewhere"]).code, 0);
    let elsewhere = signing.0.rote(&confirmed(&id));
    assert!(elsewhere.code == 5 && elsewhere.stderr.contains("the workspace or flow differ"), "{elsewhere}");
    assert_eq!(signing.0.rote(&["init", "w"]).code, 0);
    // Another surface in the place of the adapter.
    let document = fs::read_to_string(signing.0.work().join("things.json")).unwrap();
    let changed = document.replace("\"Things\"", "\"Other things\"");
    let install = |document: &str| {
        signing.0.file("things.json", document);
        let words = ["adapter", "new", "things", "things.json", "--base-url", &api.url(), "--yes"];
        let run = signing.signed(&words);
        assert_eq!(run.code, 0, "{run}");
    };
    install(&changed);
    let run = signing.0.rote(&confirmed(&id));
    assert_eq!(run.code, 7, "{run}");
    assert_eq!(signing.state(&id), "allowed");
    assert_eq!(api.received().len(), before, "no packet left");
    install(&document);
    assert_eq!(signing.0.rote(&confirmed(&id)).code, 0);
}

/// C-03 and C-04 at the file: somebody writes the database or the ring of keys past rote.
#[test]
fn whoever_writes_the_files_gets_no_call_for_it() {
    let (signing, api) = deleting();
    let id = signing.asks(&REMOVE);
    let before = api.received().len();
    let database = || rusqlite::Connection::open(signing.0.home().join("approvals.sqlite")).unwrap();
    let set = |what: &str| {
        let sql = format!("UPDATE approval_envelopes SET {what} WHERE envelope_id = ?1");
        assert_eq!(database().execute(&sql, [&id]).unwrap(), 1);
    };
    // Another word for the same call.
    let told =
        database().query_row("SELECT about_json FROM approval_envelopes", [], |row| row.get::<_, String>(0)).unwrap();
    set("about_json = replace(about_json, 'deletes', 'reads')");
    let shown = signing.0.rote(&["approve", "show", &id]).stdout;
    assert!(shown.contains("what is stored of it was changed") && !shown.contains("reads"), "{shown}");
    database().execute("UPDATE approval_envelopes SET about_json = ?1", [&told]).unwrap();
    // A signature of no key.
    set(&format!("signature_hex = '{}', signed_object_json = '{{}}'", "00".repeat(64)));
    let run = signing.0.rote(&confirmed(&id));
    assert!(run.code == 5 && run.stderr.contains("its signature does not fit"), "{run}");
    set("signature_hex = NULL, signed_object_json = NULL");
    // What a person would sign is what was asked for.
    set("tool_calls_json = replace(tool_calls_json, '\"7\"', '\"8\"')");
    let run = signing.with_passphrase(&["approve", "allow", &id, "--plan", &signing.plan(&id)], PASSPHRASE);
    assert!(run.code == 10 && signing.0.rote(&["approve", "show", &id]).stdout.contains("was changed"), "{run}");
    set("tool_calls_json = replace(tool_calls_json, '\"8\"', '\"7\"')");
    signing.allows(&id);
    assert_eq!(signing.0.rote(&confirmed(&id)).code, 0);
    assert_eq!(api.received().len(), before + 1);
    // Used is used, whatever the database says then: the journal has it.
    set("state = 'pending', consumed_at = NULL");
    let run = signing.0.rote(&confirmed(&id));
    assert!(run.code == 5 && run.stderr.contains("the approval was used at"), "{run}");
    // Nor under another name, nor where the journal is made to hide it: what is not as it was written counts as used.
    let renamed = "ap_0000000000000001";
    set(&format!("envelope_id = '{renamed}', state = 'pending', consumed_at = NULL"));
    assert_eq!(signing.0.rote(&confirmed(renamed)).code, 5);
    database()
        .execute("UPDATE approval_envelopes SET envelope_id = ?1 WHERE envelope_id = ?2", [&id, renamed])
        .unwrap();
    let rename = renaming(&signing);
    rename("approval.consumed", "approval.hidden");
    let run = signing.0.rote(&confirmed(&id));
    assert_eq!(run.code, 5, "{run}");
    rename("approval.hidden", "approval.consumed");
    assert_eq!(api.received().len(), before + 1);
}

/// A row of the journal that is made another.
fn renaming(signing: &Signing) -> impl Fn(&str, &str) {
    let journal = rusqlite::Connection::open(signing.0.home().join("chronicle/journal.db")).unwrap();
    let trigger = "SELECT sql FROM sqlite_schema WHERE name = 'events_are_not_updated'";
    let trigger: String = journal.query_row(trigger, [], |row| row.get(0)).unwrap();
    move |from, to| {
        let update = format!("UPDATE events SET kind = '{to}' WHERE kind = '{from}'");
        journal.execute_batch(&format!("DROP TRIGGER events_are_not_updated; {update}; {trigger}")).unwrap();
    }
}

/// A journal that is made to forget the key: no token counts, and nothing is begun anew.
#[test]
fn a_journal_that_forgets_the_key_gives_nothing_back() {
    let (signing, api) = deleting();
    let (before, rename) = (api.received().len(), renaming(&signing));
    rename("approval.key_enrolled", "approval.hidden");
    let run = signing.0.rote(&REMOVE);
    assert!(run.code == 6 && run.stderr.contains("nobody enrolled"), "{run}");
    let keys = signing.0.home().join("keys");
    fs::rename(&keys, signing.0.work().join("aside")).unwrap();
    assert_eq!(signing.0.rote(&REMOVE).code, 6);
    assert_eq!(signing.0.rote(&["token", "set", "T", "value-0123456789", "--yes"]).code, 6);
    assert_eq!(signing.0.rote(&["audit", "restart", "--yes"]).code, 6);
    assert_eq!(signing.with_passphrase(&["approve", "init"], "passphrase-of-another").code, 6);
    fs::rename(signing.0.work().join("aside"), &keys).unwrap();
    rename("approval.hidden", "approval.key_enrolled");
    assert_eq!(signing.0.rote(&["audit", "verify"]).code, 0);
    assert_eq!(api.received().len(), before);
}

/// A request of which every digest is made to fit other words: the journal has what was asked for.
#[test]
fn a_request_that_is_hashed_anew_is_not_the_one_that_was_asked_for() {
    let (signing, _api) = deleting();
    let id = signing.asks(&REMOVE);
    let database = || rusqlite::Connection::open(signing.0.home().join("approvals.sqlite")).unwrap();
    let told =
        database().query_row("SELECT about_json FROM approval_envelopes", [], |row| row.get::<_, String>(0)).unwrap();
    let columns = "SELECT scope_json, tool_calls_json, plan_hash FROM approval_envelopes";
    let row =
        |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
    let (scope, calls, hash) = database().query_row(columns, [], row).unwrap();
    let forged_told = told.replace("deletes", "reads");
    let digest = |text: &str| rote_types::sha256(text.as_bytes()).hex();
    let forged_scope = scope.replace(&digest(&told), &digest(&forged_told));
    let forged_hash = digest(&format!(r#"{{"scope":{forged_scope},"tool_calls":{calls}}}"#));
    assert_eq!(hash, digest(&format!(r#"{{"scope":{scope},"tool_calls":{calls}}}"#)));
    let write = "UPDATE approval_envelopes SET about_json = ?1, scope_json = ?2, plan_hash = ?3";
    database().execute(write, [&forged_told, &forged_scope, &forged_hash]).unwrap();
    let shown = signing.0.rote(&["approve", "show", &id]).stdout;
    assert!(shown.contains("what is stored of it was changed") && !shown.contains("reads"), "{shown}");
    let run = signing.with_passphrase(&["approve", "allow", &id, "--plan", &forged_hash[..16]], PASSPHRASE);
    assert_eq!(run.code, 10, "{run}");
    assert_ne!(signing.asks(&REMOVE), id, "whoever asks again is asked about what is true");
}

/// What a person is shown is what is signed, whatever stands in the database a moment later.
#[test]
fn nobody_swaps_a_request_under_the_eyes_of_a_person() {
    let (signing, api) = deleting();
    let (harmless, other) = (signing.asks(&REMOVE), signing.asks(&["call", "things", "remove", "id=production"]));
    let before = api.received().len();
    let mut terminal = Terminal::start(&signing.0.invocation(&["approve", "allow", &harmless]), "");
    terminal.shows("allow it? [y/N]");
    let database = rusqlite::Connection::open(signing.0.home().join("approvals.sqlite")).unwrap();
    let rename = |from: &str, to: &str| {
        let sql = "UPDATE approval_envelopes SET envelope_id = ?2 WHERE envelope_id = ?1";
        assert_eq!(database.execute(sql, [from, to]).unwrap(), 1);
    };
    let aside = "ap_0000000000000001";
    rename(&harmless, aside);
    rename(&other, &harmless);
    rename(aside, &other);
    terminal.types("y");
    terminal.shows("passphrase");
    terminal.types(PASSPHRASE);
    let (code, screen) = terminal.end();
    assert_eq!(code, 10, "{screen}");
    for id in [&harmless, &other] {
        assert_ne!(signing.0.rote(&["call", "things", "remove", "id=production", "--confirm", id]).code, 0);
    }
    assert_eq!(api.received().len(), before);
}

/// What goes where, and what else is sent, is shown and signed.
#[test]
fn a_request_tells_all_that_is_sent() {
    let (signing, api) = deleting();
    let with_header = [&REMOVE[..], &["-H", "X-Reason: cascade"]].concat();
    let (bare, id) = (signing.asks(&REMOVE), signing.asks(&with_header));
    assert_ne!(bare, id);
    let shown = signing.0.rote(&["approve", "show", &id]).stdout;
    assert!(shown.contains(r#"header ["X-Reason","cascade"]"#), "{shown}");
    assert!(shown.contains(&format!("sends DELETE {}/things/7", api.url())), "{shown}");
    // The value of a credential is not shown, and another one is another change.
    let set = |value: &'static str| ["token", "set", "T", value, "--yes"];
    let id = signing.asks(&set("value-one-0123456789"));
    signing.allows(&id);
    let other = signing.0.rote(&[&set("value-two-0123456789")[..], &["--approval", &id]].concat());
    assert_eq!(other.code, 5, "{other}");
    assert_eq!(signing.0.rote(&[&set("value-one-0123456789")[..], &["--approval", &id]].concat()).code, 0);
    // An adapter that is only added needs one too: it brings where its calls go.
    signing.asks(&["adapter", "new", "more", "things.json", "--base-url", &api.url()]);
    let words = ["token", "list"];
    assert!(!signing.0.rote(&words).stdout.contains("value-one"));
}

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

/// C-07 and C-08: no is no, whatever was typed for it.
#[test]
fn whatever_is_not_yes_denies() {
    let (signing, api) = deleting();
    let before = api.received().len();
    for (typed, said) in [("", "User denied this action."), ("maybe", "User denied this action."), ("n", "too risky")] {
        let mut terminal = Terminal::start(&signing.0.invocation(&REMOVE), "");
        terminal.shows("allow it? [y/N]");
        terminal.types(typed);
        if typed == "n" {
            terminal.shows("why (Enter says nothing):");
            terminal.types("too risky");
        }
        let (code, screen) = terminal.end();
        assert!(code == 6 && screen.contains(said), "`{typed}`: {screen}");
    }
    // The end of input, in the middle of the question.
    let mut terminal = Terminal::start(&signing.0.invocation(&REMOVE), "");
    terminal.shows("allow it? [y/N]");
    terminal.presses("\u{4}");
    assert_eq!(terminal.end().0, 6);
    // A wrong passphrase signs nothing either, and is not shown; it is asked for three times.
    let mut terminal = Terminal::start(&signing.0.invocation(&REMOVE), "");
    terminal.shows("allow it? [y/N]");
    terminal.types("y");
    terminal.shows("passphrase of the approval key");
    terminal.types("wrong-horse-battery");
    for left in ["2 left", "1 left"] {
        terminal.shows(left);
        terminal.types("wrong-horse-battery");
    }
    let (code, screen) = terminal.end();
    assert!(
        code == 4 && screen.contains("Invalid approval passphrase.") && !screen.contains("wrong-horse"),
        "{screen}"
    );
    // Ctrl-C decides nothing.
    let id = signing.asks(&REMOVE);
    for words in [&REMOVE[..], &["approve", "allow", &id]] {
        let mut terminal = Terminal::start(&signing.0.invocation(words), "");
        terminal.shows("allow it? [y/N]");
        terminal.interrupts();
        assert_eq!(terminal.end().0, 130);
        assert_eq!(signing.state(&id), "waiting");
    }
    assert_eq!(api.received().len(), before);
    // Another one is told of the reason where it presents the request.
    let id = signing.asks(&REMOVE);
    assert_eq!(signing.0.rote(&["approve", "deny", &id, "--reason", "too risky"]).code, 0);
    let run = signing.0.rote(&confirmed(&id));
    assert!(run.code == 6 && run.stderr.contains("User denied this action: too risky"), "{run}");
    assert_eq!(api.received().len(), before);
}

#[test]
fn a_person_at_a_terminal_signs_in_place() {
    let (signing, api) = deleting();
    let before = api.received().len();
    let mut terminal = Terminal::start(&signing.0.invocation(&REMOVE), "y\n");
    terminal.shows("allow it? [y/N]");
    assert_eq!(api.received().len(), before, "what was typed before the question is no answer");
    terminal.types("y");
    terminal.shows("passphrase of the approval key");
    assert!(!terminal.echoes());
    terminal.types(PASSPHRASE);
    let (code, screen) = terminal.end();
    assert!(code == 0 && !screen.contains(PASSPHRASE), "{screen}");
    assert_eq!(api.received().len(), before + 1);
    // So is a change of what rote may do.
    let set = signing.0.invocation(&["token", "set", "T", "value-0123456789"]);
    let mut terminal = Terminal::start(&set, "");
    terminal.shows("[y/N]");
    terminal.types("y");
    terminal.shows("token.set");
    terminal.shows("passphrase of the approval key");
    terminal.types(PASSPHRASE);
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(signing.events("token.set").len(), 1);
}

/// Whoever asks may wait for a person in another process.
#[test]
fn a_call_waits_for_a_person_elsewhere() {
    let (signing, api) = deleting();
    let before = api.received().len();
    let waits = [&REMOVE[..], &["--wait=60"]].concat();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| signing.0.rote(&waits));
        let id = loop {
            let waiting = signing.0.data(&["approve", "ls"]);
            if let Some(id) = waiting["approvals"][0]["approval_id"].as_str() {
                break id.to_owned();
            }
        };
        signing.allows(&id);
        let run = call.join().unwrap();
        assert_eq!(run.code, 0, "{run}");
    });
    assert_eq!(api.received().len(), before + 1);
    let run = signing.0.rote(&[&REMOVE[..], &["--wait=0.3"]].concat());
    assert_eq!(run.code, 5, "{run}");
    assert_eq!(api.received().len(), before + 1);
}

/// A run stops at what has to be signed, and goes on with it; a person at a terminal signs on the way.
#[test]
fn a_run_goes_on_with_a_signature() {
    let (signing, api) = deleting();
    let id = signing.asks(&REMOVE);
    signing.allows(&id);
    assert_eq!(signing.0.rote(&confirmed(&id)).code, 0);
    let run = signing.0.rote(&["flow", "template", "create", "--workspace", "w", "--name", "sweep"]);
    assert_eq!(run.code, 0, "{run}");
    let before = api.received().len();
    let run = signing.0.rote(&["--json", "run", "sweep"]);
    assert_eq!(run.code, 5, "{run}");
    let error = &run.envelope()["error"];
    let id = error["details"]["cause"]["approval_id"].as_str().unwrap().to_owned();
    let hint: Vec<&str> = error["hint"].as_str().unwrap().lines().collect();
    assert!(hint[0].starts_with(&format!("rote approve allow {id}")), "{run}");
    let resume: Vec<&str> = hint[1].split(' ').skip(1).collect();
    assert_eq!(signing.0.rote(&resume).code, 5, "nobody has signed");
    signing.allows(&id);
    // What was signed for the flow is not for a call by hand.
    assert_eq!(signing.0.rote(&confirmed(&id)).code, 5);
    let run = signing.0.rote(&resume);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(api.received().len(), before + 1);
    let mut terminal = Terminal::start(&signing.0.invocation(&["run", "sweep"]), "");
    terminal.shows("allow it? [y/N]");
    terminal.types("y");
    terminal.shows("passphrase of the approval key");
    terminal.types(PASSPHRASE);
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(api.received().len(), before + 2);
}

/// Long arguments are opened before they can be allowed.
#[test]
fn nobody_allows_what_nobody_has_opened() {
    let home = home();
    home.file("src/a.txt", "old\n");
    assert_eq!(home.rote(&["adapter", "new", "fs", "builtin:fs", "--root", ".", "--yes"]).code, 0);
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    // Before there is a key an edit counts at once.
    let policies = home.home().join("adapters/fs/config/policies.json");
    fs::write(&policies, r#"{"version":1,"confirm_list":["write_to_file"]}"#).unwrap();
    let signing = Signing::enrolled(home);
    assert_eq!(signing.0.rote(&["call", "fs", "read_file", "path=src/a.txt"]).code, 0);
    let content = format!("content={}rm -rf /\u{202e}", "harmless line\n".repeat(200));
    let write = ["call", "fs", "write_to_file", "path=src/a.txt", &content];
    let id = signing.asks(&write);
    let allow = |more: &[&str]| signing.with_passphrase(&[&["approve", "allow", &id], more].concat(), PASSPHRASE);
    let run = allow(&[]);
    assert!(run.code == 5 && run.stderr.contains("nobody has said that"), "{run}");
    let run = allow(&["--plan", "0000000000000000"]);
    assert!(run.code == 5 && run.stderr.contains("is not the beginning of the plan"), "{run}");
    assert_eq!(allow(&["--plan", &signing.plan(&id)[..8]]).code, 5, "eight digits can be searched for");
    let mut terminal = Terminal::start(&signing.0.invocation(&["approve", "allow", &id]), "");
    terminal.shows("[s]how all of it first");
    terminal.types("s");
    terminal.shows("rm -rf /\\u202e");
    terminal.shows("allow it? [y/N]");
    terminal.types("y");
    terminal.shows("passphrase");
    terminal.types(PASSPHRASE);
    assert_eq!(terminal.end().0, 0);
    let again = signing.asks(&["call", "fs", "write_to_file", "path=src/b.txt", &content]);
    let mut terminal = Terminal::start(&signing.0.invocation(&["approve", "allow", &again]), "");
    terminal.shows("[s]how all of it first");
    terminal.types("y");
    let (code, screen) = terminal.end();
    assert!(code == 0 && screen.contains("denied 1"), "yes to what nobody opened is no: {screen}");
    let third = signing.asks(&["call", "fs", "write_to_file", "path=src/c.txt", &content]);
    let run = signing.with_passphrase(&["approve", "allow", &third, "--plan", &signing.plan(&id)], PASSPHRASE);
    assert_eq!(run.code, 5, "the plan of another one: {run}");
    signing.allows(&third);
    // Lines within a text are lines, and what nobody sees is spelled.
    let lines = format!("content=\u{3164}{}", "x\n".repeat(50));
    let fourth = signing.asks(&["call", "fs", "write_to_file", "path=src/d.txt", &lines]);
    assert!(signing.0.rote(&["approve", "show", &fourth]).stdout.contains("\\u3164"));
    let mut terminal = Terminal::start(&signing.0.invocation(&["approve", "allow", &fourth]), "");
    terminal.shows("[s]how all of it first");
}

/// Each change of the policy plane, as an agent with a shell would make it.
#[test]
fn no_flag_changes_what_rote_may_do() {
    let (home, server) = tracker();
    let signing = Signing::enrolled(home);
    let changes: [&[&str]; 9] = [
        &["token", "set", "TRACKER_TOKEN", "value-0123456789", "--yes"],
        &["token", "bind", "TRACKER_TOKEN", "tracker", "--yes"],
        &["token", "get", "TRACKER_TOKEN", "--reveal", "--yes"],
        &["token", "delete", "TRACKER_TOKEN", "--yes"],
        &["adapter", "set", "tracker", "base_url", "http://127.0.0.1:9/v1", "--yes"],
        &["adapter", "set", "tracker", "credential", "OTHER", "--yes"],
        &["adapter", "allow", "tracker", "--cidr", "10.0.0.0/8", "--port", "80", "--reason", "x", "--yes"],
        &["adapter", "new", "tracker", "openapi.yaml", "--base-url", "http://127.0.0.1:9/v1", "--yes"],
        &["adapter", "remove", "tracker", "--yes"],
    ];
    let of_home = || (signing.0.data(&["adapter", "info", "tracker"]), signing.0.data(&["token", "list"]));
    let before = of_home();
    let mut asked: Vec<String> = Vec::new();
    for words in changes {
        let id = signing.asks(words);
        // Who has signed one change has signed no other.
        let presented = [words, &["--approval", asked.last().unwrap_or(&id)]].concat();
        assert_eq!(signing.0.rote(&presented).code, 5, "{words:?}");
        asked.push(id);
    }
    assert_eq!(of_home(), before);
    assert_eq!(server.requests().len(), 0);
    // Whoever has no terminal needs no flag either: the signature is the word.
    let set = &changes[4][..5];
    let id = &asked[4];
    signing.allows(id);
    let signed = [set, &["--approval", id]].concat();
    let run = signing.0.rote(&signed);
    assert_eq!(run.code, 0, "{run}");
    let event = signing.events("adapter.set").pop().unwrap();
    assert_eq!((&event["body"]["approval"], &event["body"]["value"]), (&json!(id), &json!("http://127.0.0.1:9/v1")));
    assert_eq!(signing.0.rote(&signed).code, 5, "once");
}

/// A grant that somebody writes into the file of policies is a change of them as any other.
#[test]
fn no_editor_changes_what_rote_may_do() {
    let (signing, api) = deleting();
    let before = api.received().len();
    let file = signing.0.home().join("adapters/things/config/policies.json");
    let was = fs::read_to_string(&file).unwrap();
    let with = |list: &str| was.replace(&format!("\"{list}\": []"), &format!("\"{list}\": [\"remove\"]"));
    let safe = with("safe_list");
    assert_ne!(safe, was);
    fs::write(&file, &safe).unwrap();
    let run = signing.0.rote(&REMOVE);
    assert!(run.code == 5 && run.stderr.contains("safe_list `remove`"), "{run}");
    // No other change takes it along.
    let allow = ["adapter", "allow", "things", "--cidr", "10.0.0.0/8", "--port", "80", "--reason", "x", "--yes"];
    assert_eq!(signing.0.rote(&allow).code, 5);
    let id = signing.asks(&["adapter", "accept", "things", "--yes"]);
    assert_eq!(signing.0.rote(&REMOVE).code, 5);
    assert_eq!(api.received().len(), before);
    // What only tightens counts at once.
    fs::write(&file, with("deny_list")).unwrap();
    assert_eq!(signing.0.rote(&REMOVE).code, 6);
    fs::write(&file, &safe).unwrap();
    let other = signing.0.rote(&["adapter", "accept", "things", "--yes", "--approval", &id]);
    assert_eq!(other.code, 5, "what it said before is another thing now: {other}");
    let id = signing.asks(&["adapter", "accept", "things", "--yes"]);
    signing.allows(&id);
    let run = signing.0.rote(&["adapter", "accept", "things", "--yes", "--approval", &id]);
    assert!(run.code == 0 && run.stdout.contains("safe_list `remove`"), "{run}");
    assert_eq!(signing.0.rote(&REMOVE).code, 0);
    assert_eq!(api.received().len(), before + 1);
    let run = signing.0.rote(&["adapter", "accept", "things"]);
    assert!(run.code == 0 && run.stdout.contains("has told of all"), "{run}");
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

/// C-13 and J-4: stopped at every boundary, a signed call is made once or not, and an approval is good for one at most.
#[test]
fn killed_anywhere_an_approval_is_good_for_one_call() {
    let (signing, api) = deleting();
    let first = signing.asks(&REMOVE);
    signing.allows(&first);
    let (mut unused, mut lost, mut made) = (0, 0, 0);
    for at in boundaries(&signing.0, &confirmed(&first), SAMPLES) {
        let id = signing.asks(&REMOVE);
        signing.allows(&id);
        let before = api.received().len();
        let run = signing.0.invocation(&confirmed(&id)).env("ROTE_TEST_KILL_AT", &at).run();
        api.settle();
        let sent = api.received().len() - before;
        let context = format!("killed at {at}, {sent} sent: {run}");
        assert!(sent <= 1, "{context}");
        // Whoever goes on with it makes the call where none was made, or is told why not.
        let again = signing.0.rote(&confirmed(&id));
        let all = api.received().len() - before;
        assert!(all <= 1, "{context}: {again}");
        match (again.code, sent) {
            (0, 0) => unused += 1,
            (5, 0) => {
                assert!(again.stderr.contains("the journal has no start"), "{context}: {again}");
                lost += 1;
            }
            (_, 1) => made += 1,
            (10, 0) => {}
            other => panic!("{other:?}: {context}: {again}"),
        }
        for open in signing.0.data(&["doubts"])["doubts"].as_array().unwrap() {
            let number = &format!("@{}", open["response"]);
            assert_eq!(signing.0.rote(&["doubts", "settle", "--skip", number, "--yes"]).code, 0, "{context}");
        }
        assert_eq!(signing.0.rote(&["audit", "verify"]).code, 0, "{context}");
    }
    assert!(unused > 0 && lost > 0 && made > 0, "{unused} unused, {lost} lost, {made} made");
}

#[test]
fn a_request_as_a_person_sees_it() {
    let (signing, api) = deleting();
    let id = signing.asks(&REMOVE);
    let shown = signing
        .0
        .rote(&["approve", "show", &id])
        .stdout
        .trim_end()
        .replace(&id, "ap_1")
        .replace(&api.url(), "http://api");
    let until = shown.lines().find(|line| line.starts_with("  until")).unwrap().to_owned();
    let plan = shown.lines().find(|line| line.starts_with("  plan")).unwrap().to_owned();
    let adapter = shown.lines().find(|line| line.starts_with("  adapter")).unwrap().to_owned();
    let shown =
        shown.replace(&until, "  until: …").replace(&plan, "  plan: …").replace(&adapter, "  adapter: things …");
    expect![[r#"
        ap_1  waiting  deletes `/things/{id}` with `id` = "7"
          sends DELETE http://api/things/7
          things/remove
            {
              "id": "7"
            }
          for: workspace:w
          adapter: things …
          plan: …
          until: …"#]]
    .assert_eq(&shown);
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
