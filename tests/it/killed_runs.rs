//! Runs of flows killed at every boundary and gone on with: no write happens twice, and one whose outcome nobody
//! knows is asked about.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::json;

use crate::home;
use crate::killed::boundaries;

/// Most kills of one flow. With more boundaries, every n-th one is taken.
const KILLS: usize = 200;
/// Requests that the plan makes: a read and two writes. The script makes at least as many.
const PACKETS: usize = 3;
/// Most kills of what goes on with a write in doubt, each of which first has to be lost.
const RESUMED_KILLS: usize = 40;

/// An API of two reads and two writes.
fn document() -> String {
    let ok = json!({ "200": { "description": "ok" } });
    let tagged = json!({ "type": "object", "required": ["tag"],
        "properties": { "tag": { "type": "string" }, "stamp": { "type": "string" }, "from": { "type": "integer" } } });
    let body = json!({ "required": true, "content": { "application/json": { "schema": tagged } } });
    let write = |name: &str| json!({ "post": { "operationId": name, "requestBody": body, "responses": ok } });
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Pair", "version": "1" },
        "paths": {
            "/items": { "get": { "operationId": "items", "responses": ok } },
            "/other": { "get": { "operationId": "other", "responses": ok } },
            "/one": write("one"), "/two": write("two"),
        },
    });
    document.to_string()
}

/// Reads at once, writes, reads the clock and writes what it said.
const PROGRAM: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: pair
 * description: Reads two things at once and writes two others.
 * parameters:
 *   properties:
 *     tag: {type: string, description: Tells the runs apart., examples: ["1"]}
 *   required: [tag]
 * adapters:
 *   pair:
 *     tools: [items, other, one, two]
 * write_permissions: [pair/one, pair/two]
 * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(params: { tag: string }): Promise<unknown> {
  const rote = await Rote.workspace("pair");
  const pair = rote.adapter("pair");
  const [items, other] = await Promise.all([pair.call("items", {}), pair.call("other", {})]);
  const from = items.json<{ n: number }>().n + other.json<{ n: number }>().n;
  rote.vars.set("from", from);
  await pair.call("one", { tag: params.tag, from });
  const stamp = `${Date.now()} ${Math.random()}`;
  await pair.call("two", { tag: params.tag, stamp });
  return { from, kept: rote.vars.get("from") };
}
"#;

/// Returns a home with the adapter and the flow `pair`, run once so that everything is compiled.
fn ready(script: bool) -> (TestHome, FakeApi) {
    ready_with(script, |_| Script::Json(200, json!({ "n": 1 })))
}

fn ready_with(
    script: bool,
    handler: impl Fn(&rote_testkit::Received) -> Script + Send + Sync + 'static,
) -> (TestHome, FakeApi) {
    let (home, api) = (home(), FakeApi::start(handler));
    home.file("pair.json", document());
    let run = home.rote(&["adapter", "new", "pair", "pair.json", "--base-url", &api.url()]);
    assert_eq!(run.code, 0, "{run}");
    if script {
        home.file("main.ts", PROGRAM);
        let run = home.rote(&["flow", "build", "main.ts"]);
        assert_eq!(run.code, 0, "{run}");
    } else {
        assert_eq!(home.rote(&["init", "w"]).code, 0);
        let calls: [&[&str]; 5] = [
            &["call", "pair", "items"],
            &["set", "tag=first"],
            &["call", "pair", "one", "-t", "-p", "tag=$tag", "-p", "from=@1{.n}"],
            &["call", "pair", "two", "-t", "-p", "tag=$tag"],
            &["flow", "template", "create", "--workspace", "w", "--name", "pair"],
        ];
        for words in calls {
            let run = home.rote(words);
            assert_eq!(run.code, 0, "{words:?}: {run}");
        }
    }
    let run = home.rote(&["run", "pair", "tag=ready"]);
    assert_eq!(run.code, 0, "{run}");
    (home, api)
}

/// How often each of the two writes with this tag has arrived.
fn writes(api: &FakeApi, tag: &str) -> (usize, usize) {
    let mark = format!("\"tag\":\"{tag}\"");
    let count = |target: &str| {
        let received = api.received();
        let is_it = |one: &&rote_testkit::Received| one.target == target && text(&one.body).contains(&mark);
        received.iter().filter(is_it).count()
    };
    (count("/one"), count("/two"))
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).replace(' ', "")
}

/// The workspaces of runs.
fn runs(home: &TestHome) -> Vec<String> {
    let entries = home.home().join("rote/workspaces").read_dir().unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("run-")).collect();
    names.sort();
    names
}

/// How many writes with this tag a server makes that makes one for each key, and how many requests it got.
fn keyed_writes(api: &FakeApi, tag: &str) -> (usize, usize) {
    let mark = format!("\"tag\":\"{tag}\"");
    let received = api.received();
    let keys: Vec<&str> = received
        .iter()
        .filter(|one| one.method == "POST" && text(&one.body).contains(&mark))
        .map(|one| one.header("idempotency-key").expect("every write has a key"))
        .collect();
    (keys.iter().collect::<BTreeSet<_>>().len(), keys.len())
}

#[test]
fn a_run_that_is_killed_anywhere_repeats_its_write_with_the_same_key() {
    let (home, api) = ready(true);
    let run = home.rote(&["adapter", "set", "pair", "idempotency_header", "Idempotency-Key", "-y"]);
    assert_eq!(run.code, 0, "{run}");
    let mut points = boundaries(&home, &["run", "pair", "tag=counted"], KILLS);
    points.extend((1..=PACKETS).map(|packet| format!("sent:{packet}")));
    let (mut kills, mut repeated) = (0, 0);
    for at in points {
        let (tag, before) = (format!("k{at}"), runs(&home));
        let run = home.invocation(&["run", "pair", &format!("tag={tag}")]).env("ROTE_TEST_KILL_AT", &at).run();
        api.settle();
        assert!(run.killed || !at.starts_with("sent:"), "{run}");
        kills += usize::from(run.killed);
        let new: Vec<String> = runs(&home).into_iter().filter(|name| !before.contains(name)).collect();
        let sent = keyed_writes(&api, &tag);
        let Some(workspace) = new.first() else { continue };
        let run = home.rote(&["run", "--resume", workspace, "--output", "json"]);
        api.settle();
        let (made, requests) = keyed_writes(&api, &tag);
        let context = format!("killed at {at}, {sent:?} sent, {requests} at the end, then {run}");
        assert!(made <= 2, "{context}");
        match run.code {
            0 => assert_eq!(made, 2, "{context}"),
            // Killed between its number and its start in the journal, or before there was a run.
            3 | 10 => assert_eq!((made, requests), sent, "{context}"),
            _ => unreachable!("{context}"),
        }
        repeated += requests - made;
        assert_eq!(home.rote(&["audit", "verify"]).code, 0, "{context}");
    }
    assert!(kills > 20 && repeated > 0, "{kills} kills, {repeated} repeated");
}

fn killed_runs(script: bool) {
    let (home, api) = ready(script);
    let mut points = boundaries(&home, &["run", "pair", "tag=counted"], KILLS);
    points.extend((1..=PACKETS).map(|packet| format!("sent:{packet}")));
    let (mut kills, mut resumed, mut asked) = (0, 0, 0);
    for at in points {
        let tag = format!("k{at}");
        let before = runs(&home);
        let word = format!("tag={tag}");
        let run = home.invocation(&["run", "pair", &word]).env("ROTE_TEST_KILL_AT", &at).run();
        api.settle();
        let context = format!("killed at {at}: {run}");
        assert!(run.killed || run.code == 0, "{context}");
        assert!(run.killed || !at.starts_with("sent:"), "{run}");
        kills += usize::from(run.killed);
        let new: Vec<String> = runs(&home).into_iter().filter(|name| !before.contains(name)).collect();
        assert!(new.len() <= 1, "{context}");
        let Some(workspace) = new.first() else {
            assert_eq!(writes(&api, &tag), (0, 0), "{context}");
            continue;
        };
        let sent = writes(&api, &tag);
        let run = home.rote(&["run", "--resume", workspace, "--output", "json"]);
        api.settle();
        let (one, two) = writes(&api, &tag);
        let context = format!("killed at {at}, {sent:?} sent, then {run}");
        assert!(one <= 1 && two <= 1, "{context}");
        match run.code {
            0 => {
                assert_eq!((one, two), (1, 1), "{context}");
                resumed += 1;
            }
            // Before the workspace and its tape are there, there is no run, and nothing was sent.
            3 => assert_eq!(sent, (0, 0), "{context}"),
            10 if run.stderr.contains("is not one of a run") => assert_eq!(sent, (0, 0), "{context}"),
            10 => {
                assert!(run.stderr.contains("may have happened"), "{context}");
                assert_eq!((one, two), sent, "{context}");
                asked += 1;
            }
            _ => unreachable!("{context}"),
        }
        assert_eq!(home.rote(&["audit", "verify"]).code, 0, "{context}");
    }
    assert!(kills > 60 && resumed > 30 && asked > 0, "{kills} kills, {resumed} resumed, {asked} asked about");
}

#[test]
fn a_plan_that_is_killed_anywhere_goes_on_without_writing_twice() {
    killed_runs(false);
}

#[test]
fn a_script_that_is_killed_anywhere_goes_on_without_writing_twice() {
    killed_runs(true);
}

/// A home whose server hangs up on the first write while the flag is up.
fn losing() -> (TestHome, FakeApi, Arc<AtomicBool>) {
    let losing = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&losing);
    let (home, api) = ready_with(true, move |request| {
        if request.target == "/one" && flag.load(SeqCst) { Script::Close } else { Script::Json(200, json!({ "n": 1 })) }
    });
    (home, api, losing)
}

/// Leaves a run with its first write, `@3`, in doubt; returns its workspace.
fn doubtful(home: &TestHome, losing: &AtomicBool, tag: &str) -> String {
    let before = runs(home);
    losing.store(true, SeqCst);
    let run = home.rote(&["run", "pair", &format!("tag={tag}")]);
    losing.store(false, SeqCst);
    assert_eq!(run.code, 8, "{run}");
    runs(home).into_iter().find(|name| !before.contains(name)).unwrap()
}

#[test]
fn a_resumed_run_that_is_killed_anywhere_repeats_its_write_with_the_same_key() {
    let (home, api, losing) = losing();
    let run = home.rote(&["adapter", "set", "pair", "idempotency_header", "Idempotency-Key", "-y"]);
    assert_eq!(run.code, 0, "{run}");
    let counted = doubtful(&home, &losing, "counted");
    let mut kills = 0;
    for at in boundaries(&home, &["run", "--resume", &counted], RESUMED_KILLS) {
        let tag = format!("r{at}");
        let workspace = doubtful(&home, &losing, &tag);
        let killed = home.invocation(&["run", "--resume", &workspace]).env("ROTE_TEST_KILL_AT", &at).run();
        kills += usize::from(killed.killed);
        let run = home.rote(&["run", "--resume", &workspace]);
        api.settle();
        let context = format!("killed at {at}: {killed}, then {run}");
        assert_eq!((run.code, keyed_writes(&api, &tag).0), (0, 2), "{context}");
        assert_eq!(home.data(&["doubts"])["total"], 0, "{context}");
        assert_eq!(home.rote(&["audit", "verify"]).code, 0, "{context}");
    }
    assert!(kills > 10, "{kills} kills");
}

#[test]
fn a_word_that_is_cut_off_anywhere_is_completed_by_the_same_word() {
    let (home, api, losing) = losing();
    let word = |workspace: &str| {
        let words = ["doubts", "settle", "-w", workspace, "--done", "@3", "--answer", r#"{"n":1}"#, "--yes"];
        words.map(str::to_owned).to_vec()
    };
    let words = word(&doubtful(&home, &losing, "counted"));
    let points = boundaries(&home, &words.iter().map(String::as_str).collect::<Vec<_>>(), RESUMED_KILLS);
    let (mut kills, mut completed) = (0, 0);
    for at in points {
        let tag = format!("s{at}");
        let workspace = doubtful(&home, &losing, &tag);
        let words = word(&workspace);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let killed = home.invocation(&words).env("ROTE_TEST_KILL_AT", &at).run();
        kills += usize::from(killed.killed);
        let again = home.rote(&words);
        let context = format!("killed at {at}: {killed}, then {again}");
        let was = again.code == 10 && again.stderr.contains("is not in doubt: it is `done`");
        assert!(again.code == 0 || was, "{context}");
        completed += usize::from(again.code == 0);
        let run = home.rote(&["run", "--resume", &workspace]);
        api.settle();
        assert_eq!((run.code, writes(&api, &tag)), (0, (1, 1)), "{context}, then {run}");
        assert_eq!(home.rote(&["audit", "verify"]).code, 0, "{context}");
    }
    assert!(kills > 10 && completed > 0, "{kills} kills, {completed} completed");
}

#[test]
fn a_write_that_the_server_failed_at_is_repeated_only_when_a_person_says_so() {
    let failed = AtomicBool::new(false);
    let fails_once = move |one: &rote_testkit::Received| {
        let is_it = one.target == "/one" && text(&one.body).contains("\"tag\":\"broken\"");
        if is_it && !failed.swap(true, SeqCst) {
            Script::Json(500, json!({ "error": "try again" }))
        } else {
            Script::Json(200, json!({ "n": 1 }))
        }
    };
    let (home, api) = ready_with(true, fails_once);
    assert_eq!(home.rote(&["run", "pair", "tag=broken"]).code, 8);
    let run = home.rote(&["run", "--resume", "latest"]);
    assert!(run.code == 10 && run.stderr.contains("may have happened"), "{run}");
    assert_eq!(writes(&api, "broken"), (1, 0));
    let hint = run.stderr.split("--retry ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let run = home.rote(&["run", "--resume", "latest", "--retry", &hint, "--yes"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(writes(&api, "broken"), (2, 1));
    let run = home.rote(&["run", "--resume", "latest"]);
    assert!(run.code == 10 && run.stderr.contains("ago, ended well"), "{run}");
}

#[test]
fn a_run_that_lost_its_server_goes_on_when_it_is_back() {
    for script in [false, true] {
        let away = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&away);
        let (home, api) =
            ready_with(
                script,
                move |_| if closed.load(SeqCst) { Script::Close } else { Script::Json(200, json!({ "n": 1 })) },
            );
        away.store(true, SeqCst);
        for words in [&["run", "pair", "tag=lost"][..], &["run", "--resume", "latest"]] {
            let run = home.rote(words);
            assert_eq!(run.code, 8, "{run}");
        }
        away.store(false, SeqCst);
        let run = home.rote(&["run", "--resume", "latest"]);
        assert_eq!(run.code, 0, "{run}");
        assert_eq!(writes(&api, "lost"), (1, 1));
    }
}
