//! Writes whose answer is lost: what each command says of them, and what a person says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use expect_test::{Expect, expect};
use rote_testkit::{FakeApi, Received, Script, TestHome};
use serde_json::json;

use crate::home;

/// Orders of owners: listed, made, cancelled.
pub(crate) fn document() -> String {
    let ok = json!({ "200": { "description": "ok" } });
    let item = json!({ "type": "object", "required": ["item"], "properties": { "item": { "type": "string" } } });
    let body = json!({ "required": true, "content": { "application/json": { "schema": item } } });
    let parameter =
        |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Shop", "version": "1" },
        "paths": {
            "/{owner}/orders": {
                "parameters": [parameter("owner")],
                "get": { "operationId": "list", "responses": ok },
                "post": { "operationId": "create", "requestBody": body, "responses": ok },
            },
            "/ping": { "post": { "operationId": "ping", "responses": ok } },
            "/kept": { "post": {
                "operationId": "keep", "requestBody": body, "responses": ok,
                "parameters": [{ "name": "Idempotency-Key", "in": "header", "schema": { "type": "string" } }],
            } },
        },
    });
    document.to_string()
}

/// A home with the adapter `shop`, whose server loses the answers of writes while the flag is up.
pub(crate) fn shop() -> (TestHome, FakeApi, Arc<AtomicBool>) {
    let losing = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&losing);
    let api = FakeApi::start(move |request: &Received| match request.method == "POST" && flag.load(SeqCst) {
        true if request.target == "/ping" => {
            Script::Raw(b"HTTP/1.1 201 Created\r\ncontent-length: 9\r\n\r\n{".to_vec())
        }
        true => Script::Close,
        false => Script::Json(200, json!({ "n": 1 })),
    });
    let home = home();
    home.file("shop.json", document());
    let run = home.rote(&["adapter", "new", "shop", "shop.json", "--base-url", &api.url()]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    (home, api, losing)
}

fn check(home: &TestHome, commands: &[&[&str]], expected: &Expect) {
    let transcripts: Vec<String> = commands.iter().map(|words| home.transcript(words)).collect();
    expected.assert_eq(&(transcripts.join("\n") + "\n"));
}

pub(crate) fn writes(api: &FakeApi) -> usize {
    api.received().iter().filter(|one| one.method == "POST").count()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one transcript")]
fn a_lost_answer_is_told_listed_and_settled() {
    let (home, api, _losing) = shop();
    let commands: [&[&str]; 12] = [
        &["call", "shop", "create", "-p", "owner=ann lee", "-p", "item=pen"],
        &["call", "shop", "ping"],
        &["ls"],
        &["@1", "."],
        &["clear", "@1"],
        &["doubts"],
        &["doubts", "settle", "--done", "@1", "--answer", r#"{"id": 7}"#, "--yes"],
        &["doubts", "settle", "--skip", "@2", "--yes"],
        &["doubts", "settle", "--skip", "@2", "--yes"],
        &["doubts"],
        &["ls"],
        &["@1", ".id"],
    ];
    check(
        &home,
        &commands,
        &expect![[r#"
        $ rote call shop create -p 'owner=ann lee' -p item=pen
        --- stderr
        error: `POST http://127.0.0.1:[PORT]/ann%20lee/orders` with `{"owner":"ann lee","item":"pen"}` (`shop/create`, `@1` of workspace `w`) left at [TIME] and may have happened: the answer of `127.0.0.1:[PORT]` broke off or is not HTTP: connection closed before message completed

        hint: rote call shop list '{"owner":"ann lee"}' # may tell whether it happened
        rote doubts settle --workspace w --done @1 # it happened; --answer JSON says what it answered
        rote doubts settle --workspace w --skip @1 # it did not happen and shall not
        rote doubts settle --workspace w --retry @1 # it did not happen: the same call is sent again then
        --- exit 8
        $ rote call shop ping
        --- stderr
        error: `POST http://127.0.0.1:[PORT]/ping` (`shop/ping`, `@2` of workspace `w`) left at [TIME], was answered 201 and may have happened: the answer of `127.0.0.1:[PORT]` broke off or is not HTTP: end of file before message length reached

        hint: rote doubts settle --workspace w --done @2 # it happened; --answer JSON says what it answered
        rote doubts settle --workspace w --skip @2 # it did not happen and shall not
        rote doubts settle --workspace w --retry @2 # it did not happen: the same call is sent again then
        --- exit 8
        $ rote ls
        workspace w: 2 responses
        ID  CALL         STATUS    SIZE  TIME
        @1  shop create  in_doubt  0 B   [DURATION]
        @2  shop ping    in_doubt  0 B   [DURATION]
        $ rote @1 .
        --- stderr
        error: response `@1` has no recorded outcome (`in_doubt`)

        hint: rote doubts
        --- exit 10
        $ rote clear @1
        --- stderr
        error: response `@1` has no recorded outcome (`in_doubt`)

        hint: rote doubts
        --- exit 10
        $ rote doubts
        2 writes in doubt

        `POST http://127.0.0.1:[PORT]/ping` (`shop/ping`, `@2` of workspace `w`) left at [TIME], was answered 201 and may have happened
          the answer of `127.0.0.1:[PORT]` broke off or is not HTTP: end of file before message length reached
          rote doubts settle --workspace w --done @2 # it happened; --answer JSON says what it answered
          rote doubts settle --workspace w --skip @2 # it did not happen and shall not
          rote doubts settle --workspace w --retry @2 # it did not happen: the same call is sent again then

        `POST http://127.0.0.1:[PORT]/ann%20lee/orders` with `{"owner":"ann lee","item":"pen"}` (`shop/create`, `@1` of workspace `w`) left at [TIME] and may have happened
          the answer of `127.0.0.1:[PORT]` broke off or is not HTTP: connection closed before message completed
          rote call shop list '{"owner":"ann lee"}' # may tell whether it happened
          rote doubts settle --workspace w --done @1 # it happened; --answer JSON says what it answered
          rote doubts settle --workspace w --skip @1 # it did not happen and shall not
          rote doubts settle --workspace w --retry @1 # it did not happen: the same call is sent again then
        $ rote doubts settle --done @1 --answer '{"id": 7}' --yes
        @1 of workspace w: done
        $ rote doubts settle --skip @2 --yes
        @2 of workspace w: skipped
        $ rote doubts settle --skip @2 --yes
        --- stderr
        error: response `@2` of workspace `w` is not in doubt: it is `skipped`

        hint: rote ls --workspace w
        --- exit 10
        $ rote doubts
        no write is in doubt
        $ rote ls
        workspace w: 2 responses
        ID  CALL         STATUS    SIZE  TIME
        @1  shop create  200 done  9 B   [DURATION]
        @2  shop ping    skipped   91 B  [DURATION]
        $ rote @1 .id
        7
    "#]],
    );
    assert_eq!(writes(&api), 2);
    let kinds: Vec<String> =
        home.data(&["audit", "tail"]).as_array().unwrap().iter().map(|one| one["kind"].to_string()).collect();
    assert_eq!(kinds.iter().filter(|kind| kind.contains("effect.settled")).count(), 2, "{kinds:?}");
}

#[test]
fn a_batch_and_a_message_say_what_may_have_happened() {
    let (home, api, _losing) = shop();
    let calls = r#"[{"tool_name":"list","arguments":{"owner":"a"}},{"tool_name":"create","arguments":{"owner":"a","item":"x"}}]"#;
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ping","arguments":{}}}"#;
    let run = home.rote(&["batch", "shop", calls]);
    assert!(run.code == 1 && run.stdout.contains("1 of 2 succeeded, 1 may have happened: rote doubts"), "{run}");
    let run = home.rote(&["POST", "adapter/shop", message]);
    assert!(run.code == 8 && run.stdout.contains("was answered 201 and may have happened"), "{run}");
    let listed = home.data(&["doubts"]);
    assert_eq!((listed["total"].as_u64(), listed["doubts"][0]["status"].as_u64()), (Some(2), Some(201)), "{listed}");
    assert_eq!(home.data(&["doubts", "--limit", "1"])["doubts"].as_array().map(Vec::len), Some(1));
    assert_eq!(writes(&api), 2);
}

#[test]
fn words_that_settle_nothing_are_refused() {
    let (home, _api, _losing) = shop();
    assert_eq!(home.rote(&["call", "shop", "ping"]).code, 8);
    let commands: [&[&str]; 6] = [
        &["doubts", "settle"],
        &["doubts", "settle", "--done", "@1", "--skip", "@1"],
        &["doubts", "settle", "--skip", "@1", "--answer", "{}"],
        &["doubts", "settle", "--done", "@1", "--answer", "{"],
        &["doubts", "settle", "--done", "@9"],
        &["run", "x", "--done", "@1"],
    ];
    check(
        &home,
        &commands,
        &expect![[r#"
        $ rote doubts settle
        --- stderr
        error: nothing is said of any write

        hint: rote doubts settle --done @N, --skip @N or --retry @N
        --- exit 2
        $ rote doubts settle --done @1 --skip @1
        --- stderr
        error: two things are said of `@1`

        hint: say one of --done @N, --skip @N, --retry @N of each
        --- exit 2
        $ rote doubts settle --skip @1 --answer '{}'
        --- stderr
        error: the following required arguments were not provided:
          --done <@N>

        Usage: rote doubts settle --done <@N> --skip <@N> --answer <JSON>

        For more information, try '--help'.
        --- exit 2
        $ rote doubts settle --done @1 --answer '{'
        --- stderr
        error: the document is neither JSON nor YAML: EOF while parsing an object at line 1 column 1
        --- exit 2
        $ rote doubts settle --done @9
        --- stderr
        error: workspace `w` has no response `@9` (there is only `@1`)

        hint: rote ls
        --- exit 3
        $ rote run x --done @1
        --- stderr
        error: `@1` is settled for a run that is resumed

        hint: rote run --resume WORKSPACE …
        --- exit 2
    "#]],
    );
    assert_eq!(home.data(&["doubts"])["total"], 1);
}

#[test]
fn a_write_in_doubt_is_not_made_by_the_same_call_typed_again() {
    let (home, api, losing) = shop();
    let pen = r#"{"owner":"ann","item":"pen"}"#;
    assert_eq!(home.rote(&["call", "shop", "create", pen]).code, 8);
    losing.store(false, SeqCst);
    // However it is asked for: with the members in another order, one by one, as a message, in a batch, with a token.
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"create","arguments":{pen}}}}}"#);
    let calls: [&[&str]; 5] = [
        &["call", "shop", "create", pen],
        &["call", "shop", "create", r#"{"item":"pen","owner":"ann"}"#],
        &["call", "shop", "create", "-p", "item=pen", "-p", "owner=ann"],
        &["call", "shop", "create", pen, "--confirm", "0123456789abcdef"],
        &["POST", "adapter/shop", &message],
    ];
    for words in calls {
        let run = home.rote(words);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(run.code == 10 && said.contains("`@1` of workspace `w`"), "{words:?}: {run}");
        for word in ["--done", "--skip", "--retry"] {
            assert!(said.contains(&format!("rote doubts settle --workspace w {word} @1")), "{words:?}: {run}");
        }
    }
    let batch = format!(
        r#"[{{"tool_name":"create","arguments":{pen}}},{{"tool_name":"create","arguments":{{"owner":"ann","item":"cup"}}}}]"#
    );
    let run = home.rote(&["batch", "shop", &batch]);
    assert!(run.code == 1 && run.stdout.contains("1 of 2 succeeded"), "{run}");
    assert_eq!(writes(&api), 2, "the cup is another write");
    assert_eq!(home.data(&["doubts"])["total"], 1, "what was refused is not a doubt");
    assert_eq!(home.rote(&["call", "shop", "create", pen, "-w", "w", "--dry-run"]).code, 10, "it can be looked at");
    // Another workspace is other work.
    assert_eq!(home.rote(&["init", "v"]).code, 0);
    assert_eq!(home.rote(&["call", "shop", "create", pen, "-w", "v"]).code, 0);
    assert_eq!(writes(&api), 3);
    for (word, number) in [("--retry", "@1"), ("--skip", "@9"), ("--done", "@11")] {
        let run = home.rote(&["doubts", "settle", "-w", "w", word, number, "--yes"]);
        assert_eq!(run.code, 0, "{run}");
        let before = writes(&api);
        losing.store(true, SeqCst);
        let run = home.rote(&["call", "shop", "create", pen, "-w", "w"]);
        assert_eq!((run.code, writes(&api)), (8, before + 1), "after {word} it is sent: {run}");
        losing.store(false, SeqCst);
        let run = home.rote(&["call", "shop", "create", pen, "-w", "w"]);
        assert_eq!((run.code, writes(&api)), (10, before + 1), "{run}");
    }
}

/// The files of a workspace's database.
pub(crate) fn database(home: &TestHome, workspace: &str) -> Vec<std::path::PathBuf> {
    let folder = home.home().join("rote/workspaces").join(workspace).join(".rote");
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("workspace.db")).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test puts an older file back, as a person does")]
fn a_write_that_an_older_copy_of_its_workspace_has_forgotten_is_not_made_again() {
    let (home, api, losing) = shop();
    losing.store(false, SeqCst);
    assert_eq!(home.rote(&["call", "shop", "list", "-p", "owner=ann"]).code, 0);
    let copy: Vec<_> = database(&home, "w").into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect();
    losing.store(true, SeqCst);
    assert_eq!(home.rote(&["call", "shop", "ping"]).code, 8);
    database(&home, "w").iter().for_each(|path| std::fs::remove_file(path).unwrap());
    copy.iter().for_each(|(bytes, path)| std::fs::write(path, bytes).unwrap());
    losing.store(false, SeqCst);
    let run = home.rote(&["call", "shop", "ping"]);
    assert!(run.code == 10 && run.stderr.contains("`@2` of workspace `w`"), "{run}");
    assert_eq!(writes(&api), 1);
    let listed = home.rote(&["doubts"]);
    assert!(listed.stdout.contains("1 write in doubt") && listed.stdout.contains("lost its record"), "{listed}");
    assert_eq!(home.rote(&["doubts", "settle", "--retry", "@2", "--yes"]).code, 0);
    assert_eq!((home.rote(&["call", "shop", "ping"]).code, writes(&api)), (0, 2));
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test loses files and puts older ones back, as a person or a power cut does"
)]
fn a_workspace_without_its_log_forgets_no_write() {
    for older in [true, false] {
        let (home, api, losing) = shop();
        assert_eq!(home.rote(&["init", "n1"]).code, 0);
        let main = home.home().join("rote/workspaces/n1/.rote/workspace.db");
        let copy = std::fs::read(&main).unwrap();
        losing.store(false, SeqCst);
        assert_eq!(home.rote(&["call", "shop", "create", "-p", "owner=ann", "-p", "item=pen"]).code, 0);
        losing.store(true, SeqCst);
        assert_eq!(home.rote(&["call", "shop", "ping"]).code, 8);
        losing.store(false, SeqCst);
        let files = database(&home, "n1").into_iter().filter(|path| older || *path != main);
        files.for_each(|path| std::fs::remove_file(path).unwrap());
        if older {
            std::fs::write(&main, &copy).unwrap();
        }
        let listed = home.rote(&["doubts"]);
        assert!(
            listed.stdout.contains("1 write in doubt") && listed.stdout.contains("`@2` of workspace `n1`"),
            "{listed}"
        );
        let run = home.rote(&["call", "shop", "ping"]);
        assert!(run.code == 10 && run.stderr.contains("`@2` of workspace `n1`"), "{run}");
        assert_eq!(writes(&api), 2);
        let listed = home.rote(&["ls"]);
        assert!(
            listed.stdout.contains("@1  shop create  200") && listed.stdout.contains("@2  shop ping    in_doubt"),
            "{listed}"
        );
    }
}

/// Removes a folder, or a database with what lies beside it.
#[expect(clippy::disallowed_methods, reason = "a test loses files, as a person does")]
fn take_away(home: &TestHome, below_home: &str) {
    let path = home.home().join(below_home);
    if path.is_dir() {
        return std::fs::remove_dir_all(&path).unwrap();
    }
    for end in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(format!("{}{end}", path.display())));
    }
}

/// What was called by hand in a workspace that somebody took away is told of by the journal, and not made again under its name.
#[test]
fn a_call_whose_workspace_was_taken_away_stays_in_doubt() {
    let (home, api, losing) = shop();
    let call = ["call", "shop", "create", "owner=ann", "item=pen", "-w", "gone"];
    for taken in ["rote/workspaces/gone/.rote/workspace.db", "rote/workspaces/gone/.rote", "rote/workspaces/gone"] {
        assert_eq!(home.rote(&["init", "gone"]).code, 0);
        losing.store(true, SeqCst);
        let sent = writes(&api);
        let lost = home.rote(&call);
        assert_eq!((lost.code, writes(&api)), (8, sent + 1), "{taken}: {lost}");
        losing.store(false, SeqCst);
        take_away(&home, taken);
        let listed = home.rote(&["doubts"]);
        assert!(listed.code == 0 && listed.stdout.contains("`@1` of workspace `gone`"), "{taken}: {listed}");
        assert!(listed.stdout.contains("; its workspace is gone (its id was `"), "{taken}: {listed}");
        let absent = home.rote(&["ls", "-w", "gone"]);
        let is_lost = absent.stderr.contains("the database of workspace `gone` is gone");
        assert_eq!((absent.code, is_lost), (3, taken.ends_with(".db")), "{taken}: {absent}");
        assert_eq!(home.rote(&["init", "gone"]).code, 0);
        let again = home.rote(&call);
        assert_eq!((again.code, writes(&api)), (10, sent + 1), "{taken}: {again}");
        let other = home.rote(&["call", "shop", "create", "owner=ann", "item=ink", "-w", "gone"]);
        assert_eq!((other.code, writes(&api)), (0, sent + 2), "{taken}: {other}");
        let settled = home.rote(&["doubts", "settle", "--skip", "@1", "-w", "gone", "--yes"]);
        assert_eq!(settled.code, 0, "{taken}: {settled}");
        assert!(home.rote(&["doubts"]).stdout.contains("no write is in doubt"), "{taken}");
        assert_eq!((home.rote(&call).code, writes(&api)), (0, sent + 3), "{taken}");
        take_away(&home, "rote/workspaces/gone");
    }
    assert_eq!(home.rote(&["audit", "verify"]).code, 0);
}

/// The doubts as they are listed: the number of each, and the id of its workspace where its name does not say which it is.
fn listed(home: &TestHome) -> Vec<(String, Option<String>)> {
    let doubts = home.data(&["doubts"]);
    let id = |one: &serde_json::Value| one["workspace_id"].as_str().map(str::to_owned);
    let doubts = doubts["doubts"].as_array().unwrap().iter();
    doubts.map(|one| (one["response"].to_string(), id(one))).collect()
}

/// A name that is given again has the numbers from 1 once more.
#[test]
fn a_number_of_two_workspaces_of_one_name_is_settled_of_the_one_that_is_said() {
    let (home, api, losing) = shop();
    let call = |item: &str| home.rote(&["call", "shop", "create", "owner=ann", &format!("item={item}"), "-w", "w"]);
    for item in ["pen", "ink", "cup"] {
        assert_eq!(home.rote(&["init", "w"]).code, 0);
        losing.store(true, SeqCst);
        assert_eq!(call(item).code, 8, "{item}");
        losing.store(false, SeqCst);
        if item != "cup" {
            take_away(&home, "rote/workspaces/w");
        }
    }
    let all = listed(&home);
    assert!(all.len() == 3 && all.iter().all(|(number, _)| number == "1"), "{all:?}");
    let settle = |id: &[&str]| home.rote(&[&["doubts", "settle", "--retry", "@1", "-w", "w", "--yes"], id].concat());
    let refused = settle(&[]);
    let ids: Vec<&String> = all.iter().filter_map(|(_, id)| id.as_ref()).collect();
    assert!(refused.code == 10 && ids.iter().all(|id| refused.stderr.contains(*id)), "{refused}");
    assert_eq!(listed(&home), all, "nothing is settled");
    let sent = writes(&api);
    // The newest is first: `cup` is of the workspace that is there, then `ink`, then `pen`.
    let ink = all[1].1.clone().unwrap();
    assert_eq!(settle(&["--workspace-id", &ink]).code, 0);
    assert_eq!(settle(&["--workspace-id", &ink]).code, 3, "it is settled");
    assert_eq!([call("pen").code, call("cup").code], [10, 10]);
    assert_eq!((call("ink").code, writes(&api)), (0, sent + 1));
    let there = all[0].1.clone().unwrap();
    assert_eq!(settle(&["--workspace-id", &there]).code, 0);
    assert_eq!((call("pen").code, call("cup").code, writes(&api)), (10, 0, sent + 2));
    // One is left, and its number alone says it.
    assert_eq!(settle(&[]).code, 0);
    assert_eq!((call("pen").code, writes(&api)), (0, sent + 3));
    assert!(listed(&home).is_empty());
}

#[test]
fn a_call_in_doubt_is_known_behind_a_journal_that_was_begun_anew() {
    let (home, api, losing) = shop();
    let call = ["call", "shop", "create", "owner=ann", "item=pen", "-w", "w"];
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    losing.store(true, SeqCst);
    assert_eq!(home.rote(&call).code, 8);
    losing.store(false, SeqCst);
    take_away(&home, "rote/workspaces/w");
    take_away(&home, "secrets/journal.anchor");
    let sent = writes(&api);
    assert_eq!(home.rote(&["audit", "restart", "--yes"]).code, 0);
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    let again = home.rote(&call);
    assert!(again.code == 10 && again.stderr.contains("its workspace is gone"), "{again}");
    assert_eq!(writes(&api), sent);
    assert_eq!(home.rote(&["doubts", "settle", "--done", "@1", "-w", "w", "--yes"]).code, 0);
    assert_eq!((home.rote(&call).code, writes(&api)), (0, sent + 1));
}

#[test]
fn a_run_without_the_log_of_its_workspace_asks_before_it_writes_again() {
    let (home, api, losing) = shop();
    order(&home, &losing);
    let before = writes(&api);
    assert_eq!(home.rote(&["run", "order", "item=cup"]).code, 8);
    let doubts = home.data(&["doubts"]);
    let run = doubts["doubts"][0]["workspace"].as_str().unwrap().to_owned();
    let log = database(&home, &run).into_iter().filter(|path| !path.ends_with("workspace.db"));
    log.for_each(|path| std::fs::remove_file(path).unwrap());
    losing.store(false, SeqCst);
    let resumed = home.rote(&["run", "--resume", &run]);
    assert!(resumed.code == 10 && resumed.stderr.contains("may have happened: say what came of it"), "{resumed}");
    assert_eq!(writes(&api), before + 1);
}

#[test]
fn a_batch_does_not_go_on_with_a_write_that_just_came_into_doubt() {
    let (home, api, _losing) = shop();
    let twice = r#"[{"tool_name":"ping","arguments":{}},{"tool_name":"ping","arguments":{}}]"#;
    let run = home.rote(&["batch", "shop", twice, "--parallel", "1"]);
    assert!(run.code == 1 && run.stdout.contains("1 may have happened"), "{run}");
    assert_eq!(writes(&api), 1);
}

/// A plan of one write, as the flow `order`.
pub(crate) fn order(home: &TestHome, losing: &AtomicBool) {
    losing.store(false, SeqCst);
    let calls: [&[&str]; 4] = [
        &["set", "item=first"],
        &["call", "shop", "create", "-t", "-p", "owner=ann", "-p", "item=$item"],
        &["flow", "template", "create", "--workspace", "w", "--name", "order"],
        &["run", "order", "item=warm"],
    ];
    for words in calls {
        let run = home.rote(words);
        assert_eq!(run.code, 0, "{words:?}: {run}");
    }
    losing.store(true, SeqCst);
}

#[test]
fn a_run_asks_and_goes_on_as_it_is_told() {
    let (home, api, losing) = shop();
    order(&home, &losing);
    let before = writes(&api);
    let run = home.rote(&["run", "order", "item=cup"]);
    assert!(run.code == 8 && run.stderr.contains("and may have happened"), "{run}");
    let commands: [&[&str]; 3] = [
        &["run", "--resume", "latest"],
        &["doubts"],
        &["run", "--resume", "latest", "order", "--done", "@1", "--answer", r#"{"n": 2}"#, "--yes"],
    ];
    check(
        &home,
        &commands,
        &expect![[r#"
            $ rote run --resume latest
            --- stderr
            resuming the run of order in workspace run-order-[RUN]
            error: `POST http://127.0.0.1:[PORT]/ann/orders` with `{"item":"cup","owner":"ann"}` (`shop/create`, `@1` of workspace `run-order-[RUN]`) left at [TIME] and may have happened: say what came of it

            hint: rote call shop list '{"owner":"ann"}' # may tell whether it happened
            rote run --resume run-order-[RUN] --done @1 # it happened; --answer JSON says what it answered
            rote run --resume run-order-[RUN] --skip @1 # it did not happen and shall not
            rote run --resume run-order-[RUN] --retry @1 # it did not happen: make it again
            --- exit 10
            $ rote doubts
            1 write in doubt

            `POST http://127.0.0.1:[PORT]/ann/orders` with `{"item":"cup","owner":"ann"}` (`shop/create`, `@1` of workspace `run-order-[RUN]`) left at [TIME] and may have happened
              made by flow order
              the answer of `127.0.0.1:[PORT]` broke off or is not HTTP: connection closed before message completed
              rote call shop list '{"owner":"ann"}' # may tell whether it happened
              rote run --resume run-order-[RUN] --done @1 # it happened; --answer JSON says what it answered
              rote run --resume run-order-[RUN] --skip @1 # it did not happen and shall not
              rote run --resume run-order-[RUN] --retry @1 # it did not happen: make it again
            $ rote run --resume latest order --done @1 --answer '{"n": 2}' --yes
            s1  shop/create  @1 200  8 B
            {
              "n": 2
            }
            --- stderr
            resuming the run of order in workspace run-order-[RUN]
            done     @1  shop/create  200  [DURATION]
            order completed: 1 call in workspace run-order-[RUN]
            next: rote @1 -w run-order-[RUN]
        "#]],
    );
    assert_eq!(writes(&api), before + 1);
    let run = home.rote(&["run", "order", "item=hat"]);
    assert_eq!(run.code, 8, "{run}");
    losing.store(false, SeqCst);
    let run = home.rote(&["run", "--resume", "latest", "--retry", "@1", "--yes"]);
    assert_eq!((run.code, writes(&api)), (0, before + 3), "{run}");
}

/// Runs `order` twice at most, since it catches the first failure.
pub(crate) const OUTER: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: outer
 * description: Orders, and tries again.
 * flows: [order]
 * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(): Promise<unknown> {
  const rote = await Rote.workspace("outer");
  try {
    return await rote.flows.run("order", { item: "nested" });
  } catch {
    return await rote.flows.run("order", { item: "nested" });
  }
}
"#;

#[test]
fn a_nested_run_is_settled_in_its_own_workspace() {
    let (home, api, losing) = shop();
    order(&home, &losing);
    assert_eq!(home.rote(&["flow", "release", "order", "--force"]).code, 0);
    home.file("outer.ts", OUTER);
    let run = home.rote(&["flow", "build", "outer.ts"]);
    assert_eq!(run.code, 0, "{run}");
    let before = writes(&api);
    let run = home.rote(&["run", "outer"]);
    assert!(run.code != 0 && run.stderr.contains("is in doubt"), "{run}");
    assert_eq!(writes(&api), before + 1, "a flow that tries again does not write again");
    let run = home.rote(&["run", "--resume", "latest"]);
    assert!(run.code != 0 && run.stderr.contains("of outer in workspace run-outer-"), "{run}");
    assert_eq!(writes(&api), before + 1);
    let doubt = home.data(&["doubts"])["doubts"][0].clone();
    let workspace = doubt["workspace"].as_str().unwrap().to_owned();
    assert!(workspace.starts_with("run-order-"), "{doubt}");
    let run = home.rote(&["doubts", "settle", "-w", &workspace, "--done", "@1", "--answer", r#"{"n": 5}"#, "--yes"]);
    assert_eq!(run.code, 0, "{run}");
    let run = home.rote(&["run", "--resume", "latest", "--output", "json"]);
    assert_eq!((run.code, writes(&api)), (0, before + 1), "{run}");
}

/// Passes the failure of `order` on, so that it lies two runs below the outer one.
const MIDDLE: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: middle
 * description: Orders.
 * flows: [order]
 * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(): Promise<unknown> {
  return await (await Rote.workspace("middle")).flows.run("order", { item: "nested" });
}
"#;

#[test]
fn a_write_two_runs_below_is_not_begun_anew() {
    let (home, api, losing) = shop();
    order(&home, &losing);
    home.file("middle.ts", MIDDLE);
    home.file(
        "outer.ts",
        OUTER.replace("[order]", "[middle]").replace("\"order\", { item: \"nested\" }", "\"middle\", {}"),
    );
    for words in [
        &["flow", "release", "order", "--force"][..],
        &["flow", "build", "middle.ts"],
        &["flow", "release", "middle", "--force"],
        &["flow", "build", "outer.ts"],
    ] {
        let run = home.rote(words);
        assert_eq!(run.code, 0, "{run}");
    }
    let before = writes(&api);
    let run = home.rote(&["run", "outer"]);
    assert!(run.code != 0 && run.stderr.contains("is in doubt"), "{run}");
    assert_eq!(writes(&api), before + 1, "the outer flow tries again");
}

/// Of a flow's runs the latest thousand are looked at; an older one is found by what the journal has as open.
#[test]
fn a_run_in_doubt_is_found_behind_a_thousand_later_ones() {
    let (home, api, losing) = shop();
    order(&home, &losing);
    let runs = home.home().join("rote/workspaces");
    let names = || runs.read_dir().unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let ended = names().find(|name| name.starts_with("run-order-")).unwrap();
    let before = writes(&api);
    assert_eq!(home.rote(&["run", "order", "item=cup"]).code, 8);
    losing.store(false, SeqCst);
    for number in 0..1_001 {
        let later = runs.join(format!("run-order-20990101000000-{number:06x}"));
        std::fs::create_dir_all(later.join(".rote")).unwrap();
        std::fs::copy(runs.join(&ended).join(".rote/run.jsonl"), later.join(".rote/run.jsonl")).unwrap();
    }
    let again = home.rote(&["run", "order", "item=cup"]);
    assert!(again.code == 10 && again.stderr.contains("may have happened"), "{again}");
    assert_eq!(writes(&api), before + 1);
}
