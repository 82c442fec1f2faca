//! One write in doubt, wherever in a tree of runs it is: none of the tree's runs sends it a second time.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::SeqCst;

use rote_testkit::{FakeApi, TestHome};

use crate::doubts::{shop, writes};

/// A flow with the tool `TOOL`, which it may write with, and with `EXTRA` in its header.
const SCRIPT: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: NAME
 * description: Is a flow of a test.
 * parameters: {properties: {how: {type: string}, attempt: {type: integer}}}
 * adapters: {shop: {tools: [TOOL]}}
 * write_permissions: [shop/TOOL]
EXTRA * ---
 */
import { Rote } from "@rote/sdk";

export default async function main(params: { how?: string; attempt?: number }): Promise<unknown> {
  const rote = await Rote.workspace("NAME");
  const write = () => rote.adapter("shop").call("TOOL", ARGUMENTS);
  BODY
}
"#;

/// Takes its steps one after the other, whatever becomes of each, and returns what did.
const STEPS: &str = r#"const kinds: string[] = [];
  for (const step of (params.how ?? "").split(",")) {
    const nested = (name: string) => rote.flows.run(name, { attempt: Number(step.slice(1)) });
    const take = () => step === "d" ? write() : nested(step[0] === "m" ? "middle" : "inner");
    try { await take(); kinds.push("ok"); } catch (error) { kinds.push((error as { kind: string }).kind); }
  }
  return kinds;"#;

/// A home with the flow `outer`, which writes itself (`d`), by `inner` (`n1`) and by `middle`, which runs `inner` (`m1`).
fn tree(home: &TestHome, tool: &str) {
    let arguments = if tool == "keep" { r#"{ item: "X" }"# } else { r#"{ owner: "ann", item: "X" }"# };
    let build = |name: &str, extra: &str, body: &str| {
        let script = SCRIPT.replace("NAME", name).replace("TOOL", tool).replace("ARGUMENTS", arguments);
        home.file("main.ts", script.replace("EXTRA", extra).replace("BODY", body));
        let release = ["flow", "release", name, "--force"];
        for words in [&["flow", "build", "main.ts"][..], &release[..]] {
            let run = home.rote(words);
            assert_eq!(run.code, 0, "{run}");
        }
    };
    build("inner", "", "return (await write()).json();");
    let inner = "return await rote.flows.run(\"inner\", { attempt: params.attempt });";
    build("middle", " * flows: [inner]\n", inner);
    build("outer", " * flows: [inner, middle]\n", STEPS);
}

/// The idempotency keys that were sent.
fn keys(api: &FakeApi) -> BTreeSet<String> {
    let key = |one: &rote_testkit::Received| one.header("idempotency-key").map(ToOwned::to_owned);
    api.received().iter().filter_map(key).collect()
}

#[test]
fn no_run_of_a_tree_sends_again_what_is_in_doubt_in_another() {
    let (home, api, _losing) = shop();
    tree(&home, "create");
    for how in ["d,d", "n1,n1", "n1,n2", "n1,d", "d,n1", "m1,d", "d,m1", "m1,n1", "n1,m1", "m1,m2"] {
        let before = writes(&api);
        let run = home.rote(&["run", "outer", &format!("how={how}")]);
        assert_eq!((writes(&api), run.code), (before + 1, 8), "{how}: {run}");
        let run = home.rote(&["run", "--resume", "latest"]);
        assert_eq!((writes(&api), run.code), (before + 1, if how.starts_with('d') { 10 } else { 8 }), "{how}: {run}");
    }
}

#[test]
fn a_key_of_one_run_is_no_leave_for_another_run_of_its_tree() {
    let (home, api, losing) = shop();
    tree(&home, "keep");
    for (count, how) in ["n1,d", "d,n1", "m1,n2"].into_iter().enumerate() {
        let run = home.rote(&["run", "outer", &format!("how={how}")]);
        assert!(run.code == 8 && keys(&api).len() == count + 1, "{how}: {run}");
    }
    // The key is sent again where it was, and the doubt ends with it; what the flow asks for then is another write.
    let (sent, known) = (writes(&api), keys(&api));
    losing.store(false, SeqCst);
    let run = home.rote(&["run", "--resume", "latest", "--json"]);
    assert_eq!((run.code, keys(&api).len()), (0, 4), "{run}");
    let again = api.received().into_iter().filter(|one| one.method == "POST").nth(sent).unwrap();
    assert!(known.contains(again.header("idempotency-key").unwrap()), "{again:?}");
}

#[test]
fn the_refusal_names_the_doubt_and_settling_it_lets_the_tree_go_on() {
    let (home, api, losing) = shop();
    tree(&home, "create");
    home.file(
        "main.ts",
        SCRIPT
            .replace("NAME", "again")
            .replace("TOOL", "create")
            .replace("ARGUMENTS", r#"{ owner: "ann", item: "X" }"#)
            .replace("EXTRA", " * flows: [inner]\n")
            .replace(
                "BODY",
                "try { await rote.flows.run(\"inner\", {}); } catch { /* tried */ }\n  return (await write()).json();",
            ),
    );
    assert_eq!(home.rote(&["flow", "build", "main.ts"]).code, 0);
    let run = home.rote(&["run", "again"]);
    let doubt = home.data(&["doubts"])["doubts"][0].clone();
    let workspace = doubt["workspace"].as_str().unwrap().to_owned();
    assert!(workspace.starts_with("run-inner-"), "{doubt}");
    assert_eq!((run.code, writes(&api)), (10, 1), "{run}");
    let settle = format!("rote doubts settle --workspace {workspace} --done @1");
    for part in ["same call may have happened before", &workspace, &settle, "rote run --resume run-again-"] {
        assert!(run.stderr.contains(part), "{part}: {run}");
    }
    let run = home.rote(&["run", "--resume", "latest"]);
    assert!(run.code == 10 && writes(&api) == 1 && run.stderr.contains(&settle), "{run}");
    let run = home.rote(&["doubts", "settle", "-w", &workspace, "--done", "@1", "--answer", r#"{"n": 5}"#, "--yes"]);
    assert_eq!(run.code, 0, "{run}");
    losing.store(false, SeqCst);
    let run = home.rote(&["run", "--resume", "latest", "--output", "json"]);
    assert_eq!((run.code, writes(&api)), (0, 2), "{run}");
}
