//! A run whose workspace somebody copied, or took a row from, and files that stand where a command would write.

#![expect(clippy::disallowed_methods, reason = "a test copies and damages files, as a person does")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use rote_testkit::{FakeApi, Received, Script, TestHome};
use serde_json::json;

use crate::doubts::{database, document, writes};
use crate::home;

/// Orders twice, and looks in between.
const TWICE: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: order
 * description: Orders, looks, and orders again.
 * adapters: {shop: {tools: [create, list]}}
 * write_permissions: [shop/create]
 * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(): Promise<unknown> {
  const shop = (await Rote.workspace("order")).adapter("shop");
  await shop.call("create", { owner: "ann", item: "pen" });
  await shop.call("list", { owner: "ann" });
  return await shop.call("create", { owner: "ann", item: "cup" });
}
"#;

/// A home in which a run of `order` has stopped at its read, the folder of its workspace, and what lets the read through.
fn stopped() -> (TestHome, FakeApi, PathBuf, Arc<AtomicBool>) {
    let away = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&away);
    let api = FakeApi::start(move |request: &Received| {
        let is_away = request.method == "GET" && flag.load(SeqCst);
        if is_away { Script::Json(503, json!({ "message": "away" })) } else { Script::Json(200, json!({ "n": 1 })) }
    });
    let home = home();
    home.file("shop.json", document());
    assert_eq!(home.rote(&["adapter", "new", "shop", "shop.json", "--base-url", &api.url()]).code, 0);
    home.file("order.ts", TWICE);
    assert_eq!(home.rote(&["flow", "build", "order.ts"]).code, 0);
    assert_ne!(home.rote(&["run", "order"]).code, 0);
    assert_eq!(writes(&api), 1);
    let runs = home.home().join("rote/workspaces");
    let run = runs.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let run = run.into_iter().find(|path| name(path).starts_with("run-order-")).unwrap();
    away.store(false, SeqCst);
    (home, api, run, away)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in from.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            std::fs::copy(&entry, target).unwrap();
        }
    }
}

#[test]
fn a_copy_of_a_run_is_not_resumed_beside_it_nor_behind_it() {
    let (home, api, run, _) = stopped();
    let copied = run.with_file_name("run-order-copy");
    copy(&run, &copied);
    let resumed = home.rote(&["run", "--resume", &name(&run)]);
    assert_eq!((resumed.code, writes(&api)), (0, 2), "{resumed}");
    let again = home.rote(&["run", "--resume", "run-order-copy"]);
    assert!(again.code == 10 && again.stderr.contains("is a copy of"), "{again}");
    // Nor once the original is gone: what was begun behind the copy the journal has.
    std::fs::remove_dir_all(&run).unwrap();
    let again = home.rote(&["run", "--resume", "run-order-copy"]);
    assert!(again.code == 10 && again.stderr.contains("may have happened"), "{again}");
    assert_eq!(writes(&api), 2);
}

#[test]
fn a_run_whose_folder_has_another_name_goes_on() {
    let (home, api, run, _) = stopped();
    std::fs::rename(&run, run.with_file_name("run-order-moved")).unwrap();
    let resumed = home.rote(&["run", "--resume", "run-order-moved"]);
    assert_eq!((resumed.code, writes(&api)), (0, 2), "{resumed}");
}

#[test]
fn a_write_whose_row_is_gone_from_the_middle_is_asked_about() {
    let (home, api, run, _) = stopped();
    let path = database(&home, &name(&run)).into_iter().find(|path| path.ends_with("workspace.db")).unwrap();
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("DELETE FROM small_responses WHERE id = 1; DELETE FROM responses WHERE id = 1").unwrap();
    drop(database);
    std::fs::remove_dir_all(run.join(".rote/responses")).unwrap();
    let resumed = home.rote(&["run", "--resume", &name(&run)]);
    assert!(resumed.code == 10 && resumed.stderr.contains("may have happened"), "{resumed}");
    assert_eq!(writes(&api), 1);
}

/// What a person has in a file is not lost because a command was told to write there; an older one of what it writes is replaced.
#[test]
fn a_command_replaces_only_what_it_writes() {
    let (home, ..) = stopped();
    home.file("thesis.txt", "years of work");
    std::fs::create_dir(home.work().join("deep")).unwrap();
    for words in [
        &["flow", "build", "order.ts", "--out", "thesis.txt"][..],
        &["bind", "shop", "--out", "thesis.txt"],
        &["flow", "decompile", "order", "--output", "thesis.txt"],
        &["flow", "build", "order.ts", "--out", "deep"],
        &["flow", "build", "order.ts", "--out", "nowhere/x.wasm"],
    ] {
        let run = home.rote(words);
        assert!(matches!(run.code, 3 | 10), "{words:?}: {run}");
    }
    assert_eq!(std::fs::read_to_string(home.work().join("thesis.txt")).unwrap(), "years of work");
    for words in [
        &["flow", "build", "order.ts", "--out", "x.wasm"][..],
        &["bind", "shop", "--out", "shop.ts"],
        &["flow", "decompile", "order", "--output", "order.txt"],
    ] {
        for _ in 0..2 {
            let run = home.rote(words);
            assert_eq!(run.code, 0, "{words:?}: {run}");
        }
    }
}
