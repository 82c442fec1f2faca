//! Workspaces that cannot be read: each command goes on with the others and names them.

use std::path::PathBuf;
use std::sync::atomic::Ordering::SeqCst;

use rote_testkit::TestHome;
use serde_json::json;

use crate::doubts::{database, order, shop, writes};

const CREATE: [&str; 7] = ["call", "shop", "create", "-p", "owner=ann", "-p", "item=cup"];

#[expect(clippy::disallowed_methods, reason = "a test breaks a file, as a disk does")]
fn break_workspace(home: &TestHome, name: &str) {
    let file = home.home().join(format!("rote/workspaces/{name}/.rote/workspace.db"));
    for suffix in ["-wal", "-shm"] {
        std::fs::remove_file(PathBuf::from(format!("{}{suffix}", file.display()))).ok();
    }
    std::fs::write(file, "not a database").unwrap();
}

fn runs(home: &TestHome) -> Vec<String> {
    let listed = home.data(&["ls", "--all"]);
    let names = listed["workspaces"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
    names.filter(|name| name.starts_with("run-")).collect()
}

#[test]
fn a_broken_workspace_hides_no_doubt_and_is_named() {
    let (home, _api, _losing) = shop();
    assert_eq!(home.rote(&CREATE).code, 8);
    assert_eq!(home.rote(&["init", "a"]).code, 0);
    break_workspace(&home, "a");
    let run = home.rote(&["doubts"]);
    let first = "what is in doubt in 1 workspace cannot be said\na: unreadable: ";
    assert!(run.code == 10 && run.stdout.starts_with(first), "{run}");
    assert!(run.stdout.contains("1 write known to be in doubt"), "{run}");
    let listed = home.rote(&["doubts", "--json"]).envelope()["data"].take();
    assert_eq!((&listed["total"], &listed["unreadable"][0]["name"]), (&json!(1), &json!("a")), "{listed}");
    let run = home.rote(&["ls", "--all"]);
    assert!(run.code == 0 && run.stdout.contains("needs attention") && run.stdout.contains("\na: unreadable"), "{run}");
    assert_eq!(home.rote(&["init", "b"]).code, 0);
    let run = home.rote(&["clean", "--all"]);
    let told = "removed 1 workspace\n  b\nkept 1: 1 with a write in doubt (rote doubts)\na: unreadable: ";
    assert!(run.code == 0 && run.stdout.starts_with(told), "{run}");
    let event = home.data(&["audit", "tail"]);
    assert!(event.to_string().contains(r#""workspace.removed""#) && event.to_string().contains(r#""b""#), "{event}");
    assert!(home.home().join("rote/workspaces/a").is_dir());
}

#[test]
fn a_doubt_of_a_broken_workspace_is_told_by_the_journal() {
    let (home, _api, losing) = shop();
    assert_eq!(home.rote(&CREATE).code, 8);
    losing.store(false, SeqCst);
    assert_eq!(home.rote(&["call", "shop", "create", "-p", "owner=bob", "-p", "item=mug"]).code, 0);
    break_workspace(&home, "w");
    let run = home.rote(&["doubts"]);
    let first = "what is in doubt in 1 workspace cannot be said\nw: unreadable: ";
    assert!(run.code == 10 && run.stdout.starts_with(first), "{run}");
    assert!(run.stdout.contains("1 write known to be in doubt"), "{run}");
    assert!(run.stdout.contains("/ann/orders` (`shop/create`, `@1` of workspace `w`) left at "), "{run}");
    assert!(run.stdout.contains("it can be settled when its workspace can be read"), "{run}");
    assert!(!run.stdout.contains("doubts settle"), "{run}");
    let run = home.rote(&["doubts", "--json"]);
    let listed = run.envelope()["data"].take();
    assert_eq!((run.code, &listed["total"], &listed["doubts"][0]["response"]), (10, &json!(1), &json!(1)), "{listed}");
    // Nothing is known of a workspace in which nothing was begun, and that is not an all-clear.
    let (home, _api, _losing) = shop();
    break_workspace(&home, "w");
    let run = home.rote(&["doubts"]);
    assert!(run.code == 10 && run.stdout.starts_with(first), "{run}");
    assert!(!run.stdout.contains("no write is in doubt"), "{run}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test changes a file of the home from outside")]
fn an_older_run_is_not_taken_for_the_latest_when_that_cannot_be_read() {
    let (home, api, losing) = shop();
    order(&home, &losing);
    assert_eq!(home.rote(&["run", "order", "item=old"]).code, 8);
    let known = runs(&home);
    assert_eq!(home.rote(&["run", "order", "item=new"]).code, 8);
    let newest = runs(&home).into_iter().find(|name| !known.contains(name)).unwrap();
    break_workspace(&home, &newest);
    let before = writes(&api);
    for words in [&["run", "--resume", "latest"][..], &["run", "--resume", "latest", "order"]] {
        let run = home.rote(words);
        assert!(run.code == 10 && run.stderr.contains(&format!("`{newest}` cannot be read")), "{run}");
        assert!(run.stderr.contains("the newest one that can be read"), "{run}");
    }
    assert_eq!(writes(&api), before);
    // One that is older for certain is none of its business.
    let older = "run-order-20010101000000-000000";
    let folder = home.home().join("rote/workspaces");
    std::fs::rename(folder.join(&newest), folder.join(older)).unwrap();
    let run = home.rote(&["run", "--resume", "latest"]);
    assert!(run.code == 10 && run.stderr.contains("may have happened"), "{run}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test puts an older file back, as a person does")]
fn a_doubt_that_only_the_journal_has_keeps_its_workspace() {
    let (home, _api, _losing) = shop();
    let copy: Vec<_> = database(&home, "w").into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect();
    assert_eq!(home.rote(&CREATE).code, 8);
    database(&home, "w").iter().for_each(|path| std::fs::remove_file(path).unwrap());
    copy.iter().for_each(|(bytes, path)| std::fs::write(path, bytes).unwrap());
    for words in [&["clean", "--empty"][..], &["clean", "--all", "--dry-run"], &["clean", "--all"]] {
        let run = home.rote(words);
        assert!(run.code == 0 && home.home().join("rote/workspaces/w").is_dir(), "{run}");
    }
    assert_eq!(home.data(&["doubts"])["total"], 1);
}

#[test]
fn a_run_that_stopped_after_it_wrote_is_removed_only_by_name_or_with_all() {
    let (home, _api, losing) = shop();
    order(&home, &losing);
    home.file("main.ts", TWICE);
    assert_eq!(home.rote(&["flow", "build", "main.ts"]).code, 0);
    losing.store(false, SeqCst);
    let run = home.rote(&["run", "twice", "--max-writes", "1"]);
    assert_eq!(run.code, 9, "{run}");
    let age = ["clean", "--older-than", "0s"];
    let run = home.rote(&age);
    let told = "kept 1: 1 with a run that stopped after it wrote and can be resumed (--all or --pattern removes it)";
    assert!(run.code == 0 && run.stdout.contains(told), "{run}");
    assert_eq!(runs(&home).len(), 1);
    assert_eq!(home.rote(&["run", "--resume", "latest", "--max-writes", "2"]).code, 0);
    assert!(home.rote(&age).stdout.contains("removed 1 workspace"), "it ended well");
    assert_eq!(home.rote(&["run", "twice", "--max-writes", "1"]).code, 9);
    let run = home.rote(&["clean", "--pattern", "run-*"]);
    assert!(run.stdout.contains("removed 1 workspace"), "{run}");
}

/// Runs `twice`, which may run to its end, and writes then.
const OUTER: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: outer
 * description: Orders two things and one more.
 * adapters: {shop: {tools: [create]}}
 * write_permissions: [shop/create]
 * flows: [twice]
 * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(): Promise<unknown> {
  const rote = await Rote.workspace("outer");
  await rote.flows.run("twice", {});
  return (await rote.adapter("shop").call("create", { owner: "ann", item: "three" })).json();
}
"#;

#[test]
fn a_run_that_ended_within_a_stopped_one_is_kept_with_it() {
    let (home, api, losing) = shop();
    order(&home, &losing);
    losing.store(false, SeqCst);
    for (name, source) in [("twice", TWICE), ("outer", OUTER)] {
        let file = format!("{name}.ts");
        home.file(&file, source);
        let run = home.rote(&["flow", "build", &file]);
        assert_eq!(run.code, 0, "{run}");
        let run = home.rote(&["flow", "release", name, "--force"]);
        assert_eq!(run.code, 0, "{run}");
    }
    let before = writes(&api);
    let run = home.rote(&["run", "outer", "--max-writes", "2"]);
    assert_eq!((run.code, writes(&api)), (9, before + 2), "{run}");
    let run = home.rote(&["clean", "--older-than", "0s"]);
    assert!(run.code == 0 && run.stdout.contains("kept 2: 2 with a run that stopped"), "{run}");
    assert_eq!(runs(&home).len(), 2);
    // What the nested run wrote is still taken off the budget: there is one more write, and no more.
    let run = home.rote(&["run", "--resume", "latest", "outer", "--max-writes", "2"]);
    assert_eq!((run.code, writes(&api)), (9, before + 2), "{run}");
    let run = home.rote(&["run", "--resume", "latest", "outer", "--max-writes", "3"]);
    assert_eq!((run.code, writes(&api)), (0, before + 3), "{run}");
    let run = home.rote(&["clean", "--older-than", "0s"]);
    assert!(run.stdout.contains("removed 2 workspaces"), "{run}");
}

/// Writes twice.
const TWICE: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: twice
 * description: Orders two things.
 * adapters: {shop: {tools: [create]}}
 * write_permissions: [shop/create]
 * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(): Promise<unknown> {
  const shop = (await Rote.workspace("twice")).adapter("shop");
  await shop.call("create", { owner: "ann", item: "one" });
  return (await shop.call("create", { owner: "ann", item: "two" })).json();
}
"#;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test changes a file of the home from outside")]
fn a_response_file_that_a_power_cut_emptied_hides_no_doubt_and_is_written_anew() {
    let (home, _api, _losing) = shop();
    assert_eq!(home.rote(&CREATE).code, 8);
    let responses = home.home().join("rote/workspaces/w/.rote/responses");
    std::fs::create_dir_all(&responses).unwrap();
    std::fs::write(responses.join("@1.json"), "").unwrap();
    assert_eq!(home.data(&["doubts"])["total"], 1);
    assert!(home.rote(&["ls"]).stdout.contains("in_doubt"));
    let run = home.rote(&["doubts", "settle", "--done", "@1", "--answer", r#"{"id": 7}"#, "--yes"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(home.rote(&["@1", ".id"]).stdout.trim(), "7");
}
