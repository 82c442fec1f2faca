//! Going on with a run whose flow caught what went wrong: nothing is sent twice, and nothing is told forever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::SeqCst};

use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::json;

use crate::home;

/// A home with the adapter `shop`, whose server hangs up while the flag is up.
fn shop() -> (TestHome, FakeApi, Arc<AtomicBool>) {
    let away = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&away);
    let api =
        FakeApi::start(move |_| if flag.load(SeqCst) { Script::Close } else { Script::Json(200, json!({ "n": 1 })) });
    (home_of(&api), api, away)
}

/// A home with the adapter `shop`.
fn home_of(api: &FakeApi) -> TestHome {
    let home = home();
    let ok = json!({ "200": { "description": "ok" } });
    let item = json!({ "type": "object", "required": ["item"], "properties": { "item": { "type": "string" } } });
    let body = json!({ "required": true, "content": { "application/json": { "schema": item } } });
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Shop", "version": "1" },
        "paths": { "/orders": {
            "get": { "operationId": "list", "responses": ok },
            "post": { "operationId": "create", "requestBody": body, "responses": ok },
        } },
    });
    home.file("shop.json", document.to_string());
    let run = home.rote(&["adapter", "new", "shop", "shop.json", "--yes", "--base-url", &api.url()]);
    assert_eq!(run.code, 0, "{run}");
    home
}

/// The same with a server that answers reads with this status, and writes with 200.
fn answering() -> (TestHome, FakeApi, Arc<AtomicU16>) {
    let status = Arc::new(AtomicU16::new(503));
    let told = Arc::clone(&status);
    let api = FakeApi::start(move |request| match request.method.as_str() {
        "GET" => Script::Json(told.load(SeqCst), json!({ "n": 1 })),
        _ => Script::Json(200, json!({ "n": 1 })),
    });
    (home_of(&api), api, status)
}

/// Builds a TypeScript flow from its body.
fn build(home: &TestHome, name: &str, body: &str) {
    let source = format!(
        "/**\n * @rote-frontmatter\n * ---\n * name: {name}\n * description: Calls a shop.\n * adapters:\n *   shop:\n \
         *     tools: [list, create]\n * write_permissions: [shop/create]\n * ---\n */\n\
         import {{ Rote }} from \"@rote/sdk\";\n\
         export default async function main(): Promise<unknown> {{\n  \
         const shop = (await Rote.workspace(\"{name}\")).adapter(\"shop\");\n{body}\n}}\n"
    );
    home.file(&format!("{name}.ts"), source);
    let run = home.rote(&["flow", "build", &format!("{name}.ts")]);
    assert_eq!(run.code, 0, "{run}");
}

fn writes(api: &FakeApi) -> usize {
    api.received().iter().filter(|one| one.method == "POST").count()
}

/// Tells what became of each of two attempts at the same write.
const TWICE: &str = r#"  const told: string[] = [];
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      await shop.call("create", { item: "pen" });
      told.push("made");
    } catch (error) {
      told.push(String(error));
    }
  }
  return told;"#;

#[test]
fn a_write_that_a_person_left_out_is_not_made_by_the_next_attempt() {
    let (home, api, away) = shop();
    build(&home, "twice", TWICE);
    let run = home.rote(&["run", "twice"]);
    assert_eq!((run.code, writes(&api)), (8, 1), "{run}");
    assert!(run.stderr.contains("flow `twice` ended, and `POST "), "{run}");
    assert!(run.stderr.contains("and may have happened") && run.stderr.contains("--skip @1"), "{run}");
    let run = home.rote(&["run", "--resume", "latest", "twice"]);
    assert_eq!((run.code, writes(&api)), (10, 1), "{run}");
    away.store(false, SeqCst);
    let run = home.rote(&["run", "--resume", "latest", "twice", "--skip", "@1", "--yes", "--output", "json"]);
    assert_eq!((run.code, writes(&api)), (0, 1), "{run}");
    assert_eq!(run.stdout.matches("was left out").count(), 2, "{run}");
    // Told so, the flow ended well: there is nothing to resume.
    let run = home.rote(&["run", "--resume", "latest", "twice"]);
    assert!(run.code == 10 && run.stderr.contains("ended well"), "{run}");
    assert_eq!(writes(&api), 1);
}

#[test]
fn two_equal_writes_of_one_batch_are_both_left_out() {
    let (home, api, away) = shop();
    let body = r#"  const told: string[] = [];
  try {
    await shop.call("create", { item: "pen" });
  } catch (error) {
    told.push(String(error));
  }
  const both = [shop.call("create", { item: "pen" }), shop.call("create", { item: "pen" })];
  for (const one of await Promise.allSettled(both)) {
    told.push(one.status === "rejected" ? String(one.reason) : "made");
  }
  return told;"#;
    build(&home, "both", body);
    assert_eq!(home.rote(&["run", "both"]).code, 8);
    away.store(false, SeqCst);
    let run = home.rote(&["run", "--resume", "latest", "--skip", "@1", "--yes", "--output", "json"]);
    assert_eq!((run.code, writes(&api)), (0, 1), "{run}");
    assert_eq!(run.stdout.matches("was left out").count(), 3, "{run}");
}

#[test]
fn a_flow_that_words_its_failure_anew_goes_on_when_the_server_is_back() {
    let (home, api, away) = shop();
    let body = r#"  try {
    return await shop.call("list", {});
  } catch {
    throw new Error("sync failed");
  }"#;
    build(&home, "sync", body);
    let run = home.rote(&["run", "sync"]);
    assert!(run.code != 0 && run.stderr.contains("sync failed"), "{run}");
    let before = api.received().len();
    away.store(false, SeqCst);
    let run = home.rote(&["run", "--resume", "latest"]);
    assert_eq!((run.code, api.received().len()), (0, before + 1), "{run}");
}

/// Fails in words of its own, of which no error of the host is said to be the cause, after what `between` does.
fn in_its_own_words(between: &str) -> String {
    format!(
        "  let away = false;\n  try {{ await shop.call(\"list\", {{}}); }} catch {{ away = true; }}\n{between}\n  \
         if (away) throw new Error(\"sync failed\");\n  return \"done\";"
    )
}

#[test]
fn an_answered_failure_that_a_flow_did_not_get_over_is_made_again() {
    let (home, api, status) = answering();
    build(&home, "sync", &in_its_own_words(""));
    let run = home.rote(&["run", "sync"]);
    assert!(run.code != 0 && run.stderr.contains("sync failed"), "{run}");
    let before = api.received().len();
    status.store(200, SeqCst);
    let run = home.rote(&["run", "--resume", "latest"]);
    assert_eq!((run.code, api.received().len()), (0, before + 1), "{run}");
}

#[test]
fn an_answered_failure_that_a_flow_got_over_stays_what_it_was() {
    let (home, api, status) = answering();
    build(&home, "sync", &in_its_own_words("  await shop.call(\"create\", { item: \"instead\" });"));
    let run = home.rote(&["run", "sync"]);
    assert_eq!((run.code, writes(&api)), (1, 1), "{run}");
    status.store(200, SeqCst);
    // It wrote because of that failure: a resumed run must not find that it never was.
    let run = home.rote(&["run", "--resume", "latest"]);
    assert_eq!((run.code, api.received().len(), writes(&api)), (1, 2, 1), "{run}");
}

#[test]
fn a_flow_that_got_over_a_failure_keeps_it_when_another_one_stops_it() {
    let (home, api, away) = shop();
    let body = r#"  try {
    await shop.call("list", {});
  } catch {
    await shop.call("create", { item: "instead" });
  }
  return "done";"#;
    build(&home, "instead", body);
    let run = home.rote(&["run", "instead"]);
    assert_eq!((run.code, api.received().len(), writes(&api)), (8, 2, 1), "{run}");
    away.store(false, SeqCst);
    // The read failed and the flow knew what to do: only what stopped it is made again.
    let run = home.rote(&["run", "--resume", "latest", "--retry", "@2", "--yes"]);
    assert_eq!((run.code, api.received().len(), writes(&api)), (0, 3, 2), "{run}");
}

#[test]
fn a_plan_whose_server_was_away_goes_on() {
    let (home, api, away) = shop();
    away.store(false, SeqCst);
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    for words in [&["call", "shop", "list"][..], &["flow", "template", "create", "--workspace", "w", "--name", "look"]]
    {
        let run = home.rote(words);
        assert_eq!(run.code, 0, "{run}");
    }
    away.store(true, SeqCst);
    let run = home.rote(&["run", "look"]);
    assert_eq!(run.code, 8, "{run}");
    let before = api.received().len();
    away.store(false, SeqCst);
    let run = home.rote(&["run", "--resume", "latest"]);
    assert_eq!((run.code, api.received().len()), (0, before + 1), "{run}");
}

#[test]
fn the_latest_run_is_not_passed_over_for_an_older_one() {
    let (home, api, away) = shop();
    build(&home, "order", r#"  return await shop.call("create", { item: "pen" });"#);
    build(&home, "read", r#"  return await shop.call("list", {});"#);
    assert_eq!(home.rote(&["run", "order"]).code, 8);
    away.store(false, SeqCst);
    assert_eq!(home.rote(&["run", "read"]).code, 0);
    let run = home.rote(&["run", "--resume", "latest", "--retry", "@1", "--yes"]);
    assert_eq!((run.code, writes(&api)), (10, 1), "{run}");
    assert!(run.stderr.contains("of flow `read`, begun ") && run.stderr.contains(" ago, ended well"), "{run}");
    assert!(run.stderr.contains("hint: rote run --resume run-order-"), "{run}");
    let run = home.rote(&["run", "--resume", "latest", "order", "--retry", "@1", "--yes"]);
    assert_eq!((run.code, writes(&api)), (0, 2), "{run}");
}

#[test]
fn a_plan_that_used_its_writes_up_says_the_option_that_raises_them() {
    let (home, api, away) = shop();
    away.store(false, SeqCst);
    for words in [
        &["init", "w"][..],
        &["set", "item=cup"],
        &["call", "shop", "create", "-t", "-p", "item=$item"],
        &["call", "shop", "create", "-p", "item=hat"],
        &["flow", "template", "create", "--workspace", "w", "--name", "order"],
    ] {
        let run = home.rote(words);
        assert_eq!(run.code, 0, "{run}");
    }
    let before = api.received().len();
    let run = home.rote(&["run", "order", "item=mug", "--max-writes", "1"]);
    assert!(run.code == 9 && run.stderr.contains("step `"), "{run}");
    assert!(run.stderr.contains("hint: rote run --resume run-order-"), "{run}");
    assert!(run.stderr.contains(" --max-writes <more>"), "{run}");
    let run = home.rote(&["run", "--resume", "latest", "--max-writes", "2"]);
    assert_eq!((run.code, api.received().len() - before), (0, 2), "{run}");
}
