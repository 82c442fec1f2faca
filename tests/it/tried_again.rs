//! A flow that runs another one again after a failure, and a run of which not everything can be written down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use rote_testkit::{FakeApi, Normaliser, Received, Script};
use serde_json::json;

use crate::doubts::{OUTER, document, order, shop, writes};
use crate::home;

/// Orders, and then reads.
const ORDER_AND_LOOK: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: order
 * description: Orders, and looks.
 * adapters: {shop: {tools: [create, list]}}
 * write_permissions: [shop/create]
 * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(): Promise<unknown> {
  const shop = (await Rote.workspace("order")).adapter("shop");
  await shop.call("create", { owner: "ann", item: "pen" });
  return await shop.call("list", { owner: "ann" });
}
"#;

#[test]
fn a_nested_run_that_stopped_after_it_wrote_is_resumed_by_a_flow_that_tries_again() {
    let away = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&away);
    let api = FakeApi::start(move |request: &Received| {
        // The first read fails, and no other.
        if request.method == "GET" && flag.swap(false, SeqCst) {
            return Script::Json(503, json!({ "message": "away" }));
        }
        Script::Json(200, json!({ "n": 1 }))
    });
    let home = home();
    home.file("shop.json", document());
    assert_eq!(home.rote(&["adapter", "new", "shop", "shop.json", "--base-url", &api.url()]).code, 0);
    home.file("order.ts", ORDER_AND_LOOK);
    home.file("outer.ts", OUTER.replace("{ item: \"nested\" }", "{}"));
    for words in
        [&["flow", "build", "order.ts"][..], &["flow", "release", "order", "--force"], &["flow", "build", "outer.ts"]]
    {
        let run = home.rote(words);
        assert_eq!(run.code, 0, "{run}");
    }
    let run = home.rote(&["run", "outer"]);
    let reads = api.received().iter().filter(|one| one.method == "GET").count();
    assert_eq!((run.code, writes(&api), reads), (0, 1, 2), "{run}");
}

/// What is known of an answer that stopped a run is read in the workspace of the run, whatever else its status asks for.
#[test]
fn a_run_that_lacks_a_credential_names_its_workspace_and_how_it_is_resumed() {
    let api = FakeApi::start(|request: &Received| match request.method.as_str() {
        "GET" => Script::Json(401, json!({ "message": "who are you" })),
        _ => Script::Json(200, json!({ "n": 1 })),
    });
    let home = home();
    home.file("shop.json", document());
    assert_eq!(home.rote(&["adapter", "new", "shop", "shop.json", "--base-url", &api.url()]).code, 0);
    home.file("order.ts", ORDER_AND_LOOK);
    assert_eq!(home.rote(&["flow", "build", "order.ts"]).code, 0);
    let run = home.rote(&["run", "order"]);
    let shown = Normaliser::new().apply(&run.stderr);
    let lines: Vec<&str> = shown.lines().rev().take(3).collect();
    let resume = "rote run --resume run-order-[RUN] # makes the call again, and asks first where it may have happened";
    assert_eq!(run.code, 4, "{run}");
    assert!(lines[0].ends_with(resume), "{run}");
    assert!(lines[1].ends_with("rote @2 '.' --workspace run-order-[RUN]"), "{run}");
    assert!(lines[2].contains("no credential was sent"), "{run}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a file of the home, damaged")]
fn a_run_that_ended_well_has_ended_well_where_it_cannot_be_counted() {
    let (home, api, losing) = shop();
    order(&home, &losing);
    losing.store(false, SeqCst);
    let counts = home.home().join("storage/flow_analytics.db");
    for file in ["flow_analytics.db", "flow_analytics.db-wal", "flow_analytics.db-shm"] {
        std::fs::remove_file(counts.with_file_name(file)).ok();
    }
    std::fs::write(&counts, "this is not a database, whatever it is called").unwrap();
    let before = writes(&api);
    let run = home.rote(&["run", "order", "item=cup"]);
    assert_eq!((run.code, writes(&api)), (0, before + 1), "{run}");
    assert!(run.to_string().contains("the run was not counted: "), "{run}");
}
