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
 * parameters: {properties: {how: {type: string}, attempt: {type: number}}}
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

/// Steps with other parameters than those of other cases: a run is not begun while the same one has a write in doubt.
fn of_case(case: usize, how: &str) -> String {
    how.chars().map(|one| one.to_digit(10).map_or(one.to_string(), |digit| format!("{}{digit}", case + 1))).collect()
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
    let cases = ["d,d", "n1,n1", "n1,n2", "n1,d", "d,n1", "m1,d", "d,m1", "m1,n1", "n1,m1", "m1,m2"];
    for (case, how) in cases.into_iter().enumerate() {
        let how = of_case(case, how);
        let before = writes(&api);
        let run = home.rote(&["run", "outer", &format!("how={how}")]);
        assert_eq!((writes(&api), run.code), (before + 1, 8), "{how}: {run}");
        let run = home.rote(&["run", "--resume", "latest"]);
        assert_eq!((writes(&api), run.code), (before + 1, 10), "{how}: {run}");
    }
}

#[test]
fn a_key_of_one_run_is_no_leave_for_another_run_of_its_tree() {
    let (home, api, losing) = shop();
    tree(&home, "keep");
    for (count, how) in ["n1,d", "d,n1", "m1,n2"].into_iter().enumerate() {
        let run = home.rote(&["run", "outer", &format!("how={}", of_case(count, how))]);
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

/// The flow `outer`, which runs `sorted` (one tag after another) and then removes what it made; `sorted` refuses `bad`.
const CAUGHT: &str = r#"const seen: unknown[] = [];
  for (const attempt of [0, 1]) {
    try { seen.push(await rote.flows.run("inner", { attempt })); } catch { seen.push("failed"); }
  }
  HOW
  return seen;"#;

/// Makes `inner`, which fails at attempt 0 and writes at any other, and `outer`, which gets over that and ends with `how`.
fn caught(home: &TestHome, how: &str) {
    let inner = "if (params.attempt === 0) throw new Error(\"no\");\n  return (await write()).json();";
    let outer = CAUGHT.replace("HOW", how);
    for (name, extra, body) in [("inner", "", inner), ("outer", " * flows: [inner]\n", outer.as_str())] {
        let script = SCRIPT
            .replace("NAME", name)
            .replace("TOOL", "create")
            .replace("ARGUMENTS", r#"{ owner: "ann", item: "X" }"#);
        home.file("main.ts", script.replace("EXTRA", extra).replace("BODY", body));
        for words in [&["flow", "build", "main.ts"][..], &["flow", "release", name, "--force"][..]] {
            let run = home.rote(words);
            assert_eq!(run.code, 0, "{run}");
        }
    }
}

#[test]
fn a_failure_that_a_flow_got_over_is_told_again_and_what_follows_is_not_made_again() {
    let (home, api, losing) = shop();
    losing.store(false, SeqCst);
    // What is drawn after the failure is drawn once: in another attempt, another write would be made.
    let drawn = "await rote.adapter(\"shop\").call(\"create\", { owner: \"ann\", item: String(Math.random()) });";
    caught(&home, &format!("{drawn}\n  throw new Error(`not yet`);"));
    let before = writes(&api);
    let run = home.rote(&["run", "outer", "how=x"]);
    assert_eq!((run.code, writes(&api)), (1, before + 2), "{run}");
    for _ in 0..2 {
        let run = home.rote(&["run", "--resume", "latest"]);
        assert_eq!((run.code, writes(&api)), (1, before + 2), "{run}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test changes a file behind the program's back")]
fn a_nested_run_is_found_again_when_the_tape_is_left() {
    let (home, api, losing) = shop();
    losing.store(false, SeqCst);
    let outer =
        "const names = await rote.workspace.variables();\n".replace("rote.workspace.variables", "Promise.resolve");
    caught(&home, &format!("{outer}  throw new Error(`not yet`);"));
    let before = writes(&api);
    let run = home.rote(&["run", "outer", "how=x"]);
    assert_eq!((run.code, writes(&api)), (1, before + 1), "{run}");
    // The tape begins with a question that the flow does not ask: nothing of it is told again.
    let workspace = home.home().join("rote/workspaces");
    let run = workspace
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("run-outer"));
    let tape = run.unwrap().join(".rote/run.jsonl");
    let text = std::fs::read_to_string(&tape).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    std::fs::write(&tape, format!("{header}\n{{\"q\":\"clock.now\",\"a\":1}}\n{rest}")).unwrap();
    for _ in 0..2 {
        let run = home.rote(&["run", "--resume", "latest"]);
        assert_eq!((run.code, writes(&api)), (1, before + 1), "{run}");
    }
}

#[test]
fn a_doubt_is_named_whatever_a_flow_ends_with() {
    let (home, api, _losing) = shop();
    for (count, end) in
        ["throw new Error(\"gave up\")", "throw \"text\"", "await rote.flows.run(\"none\", {})"].iter().enumerate()
    {
        let body = format!("try {{ await write(); }} catch {{ {end}; }}\n  return 1;");
        let script = SCRIPT
            .replace("NAME", &format!("lone{count}"))
            .replace("TOOL", "create")
            .replace("ARGUMENTS", &format!(r#"{{ owner: "ann", item: "Y{count}" }}"#));
        home.file("main.ts", script.replace("EXTRA", "").replace("BODY", &body));
        let run = home.rote(&["flow", "build", "main.ts"]);
        assert_eq!(run.code, 0, "{run}");
        let before = writes(&api);
        let run = home.rote(&["run", &format!("lone{count}"), "how=x", "--json"]);
        assert_eq!((run.code, writes(&api)), (8, before + 1), "{end}: {run}");
        assert!(run.stdout.contains("may have happened") && run.stdout.contains("\"doubt\""), "{end}: {run}");
    }
}

#[test]
fn a_run_is_not_begun_anew_while_a_write_of_the_same_run_is_in_doubt() {
    let (home, api, losing) = shop();
    caught(&home, "");
    let run = |word: &str| home.rote(&["run", "outer", word]).code;
    let before = writes(&api);
    assert_eq!((run("how=a"), writes(&api)), (8, before + 1), "the nested write is lost");
    losing.store(false, SeqCst);
    assert_eq!((run("how=a"), writes(&api)), (10, before + 1), "it may have happened");
    assert_eq!((run("how=b"), writes(&api)), (0, before + 1), "the same nested run is refused, and the flow goes on");
    let lost = home.data(&["doubts"])["doubts"][0].clone();
    let place = lost["workspace"].as_str().unwrap();
    let settled = home.rote(&["doubts", "settle", "--workspace", place, "--skip", "@1", "-y"]);
    assert_eq!(settled.code, 0, "{settled}");
    assert_eq!((run("how=a"), writes(&api)), (0, before + 2), "a person has spoken");
}

#[test]
fn a_doubt_of_a_nested_run_stops_the_same_run_begun_by_hand_and_the_other_way_round() {
    let (home, api, losing) = shop();
    tree(&home, "create");
    for (case, (first, second)) in [("outer", "inner"), ("inner", "outer")].into_iter().enumerate() {
        let attempt = case + 1;
        let words = |name: &str| match name {
            "outer" => format!("how=n{attempt}"),
            _ => format!("attempt={attempt}"),
        };
        losing.store(true, SeqCst);
        let before = writes(&api);
        let run = home.rote(&["run", first, &words(first)]);
        assert_eq!((run.code, writes(&api)), (8, before + 1), "{run}");
        losing.store(false, SeqCst);
        let run = home.rote(&["run", second, &words(second)]);
        assert_eq!(writes(&api), before + 1, "{first}, then {second}: {run}");
    }
    // Another number is another run; the same number written otherwise is not.
    let before = writes(&api);
    assert_eq!((home.rote(&["run", "inner", "attempt=2.0"]).code, writes(&api)), (10, before));
    assert_eq!((home.rote(&["run", "inner", "attempt=3"]).code, writes(&api)), (0, before + 1));
}

#[test]
fn a_run_that_cannot_be_read_is_taken_for_the_same_where_it_has_a_doubt() {
    for damage in ["tape", "cut tape", "database"] {
        let (home, api, losing) = shop();
        tree(&home, "create");
        assert_eq!(home.rote(&["run", "inner", "attempt=1"]).code, 8);
        let place = home.data(&["doubts"])["doubts"][0]["workspace"].as_str().unwrap().to_owned();
        let folder = home.home().join("rote/workspaces").join(place).join(".rote");
        let (file, text) = match damage {
            "tape" => ("run.jsonl", ""),
            "cut tape" => ("run.jsonl", "{\"tape\":"),
            _ => ("workspace.db", "not a database"),
        };
        for log in ["workspace.db-wal", "workspace.db-shm"].into_iter().filter(|_| damage == "database") {
            let _gone = std::fs::remove_file(folder.join(log));
        }
        std::io::Write::write_all(&mut std::fs::File::create(folder.join(file)).unwrap(), text.as_bytes()).unwrap();
        losing.store(false, SeqCst);
        let (before, run) = (writes(&api), home.rote(&["run", "inner", "attempt=1"]));
        assert_eq!((run.code, writes(&api)), (10, before), "{damage}: {run}");
    }
}

#[test]
fn runs_of_a_flow_with_a_longer_name_do_not_hide_a_doubt() {
    let (home, api, losing) = shop();
    tree(&home, "create");
    assert_eq!(home.rote(&["run", "inner", "attempt=1"]).code, 8);
    losing.store(false, SeqCst);
    let place = home.data(&["doubts"])["doubts"][0]["workspace"].as_str().unwrap().to_owned();
    // As runs of `inner-most` are called; each sorts before that of `inner`.
    let all = home.home().join("rote/workspaces");
    for count in 0..1_100 {
        std::fs::create_dir(all.join(place.replace("run-inner-", &format!("run-inner-most{count}-")))).unwrap();
    }
    let (before, run) = (writes(&api), home.rote(&["run", "inner", "attempt=1"]));
    assert_eq!((run.code, writes(&api)), (10, before), "{run}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "as a person would")]
fn a_write_in_doubt_of_a_run_that_was_taken_away_is_listed_and_settled_all_the_same() {
    let (home, api, losing) = shop();
    tree(&home, "create");
    // Of the first tree only the nested run is left, of the second one only the outer run, of the third nothing.
    for (case, taken) in [&["run-outer-"][..], &["run-inner-"], &["run-outer-", "run-inner-"]].into_iter().enumerate() {
        let (how, attempt) = (format!("how=n{case}"), format!("attempt={case}"));
        let run = home.rote(&["run", "outer", &how]);
        assert_eq!((writes(&api), run.code), (case + 1, 8), "{run}");
        let workspaces = home.home().join("rote/workspaces");
        for found in std::fs::read_dir(&workspaces).unwrap() {
            let found = found.unwrap();
            let name = found.file_name().into_string().unwrap();
            if taken.iter().any(|prefix| name.starts_with(prefix)) {
                std::fs::remove_dir_all(found.path()).unwrap();
            }
        }
        for words in [&["run", "outer", &how][..], &["run", "inner", &attempt]] {
            let run = home.rote(words);
            assert_eq!((writes(&api), run.code), (case + 1, 10), "{taken:?} {words:?}: {run}");
        }
        let listed = home.data(&["doubts"]);
        let doubt = &listed["doubts"][0];
        assert_eq!((listed["total"].as_u64(), &doubt["tool"]), (Some(1), &serde_json::json!("create")), "{listed}");
        let workspace = doubt["workspace"].as_str().unwrap().to_owned();
        let settle = ["doubts", "settle", "-w", &workspace, "--retry", "@1", "--yes"];
        let run = home.rote(&settle);
        assert!(run.code == 0 && run.stdout.contains("may be made again, nothing was sent"), "{run}");
        assert_eq!((home.rote(&settle).code == 0, writes(&api)), (false, case + 1));
        assert_eq!(home.data(&["doubts"])["total"], 0);
    }
    losing.store(false, SeqCst);
    let run = home.rote(&["run", "outer", "how=n2"]);
    assert_eq!((run.code, writes(&api)), (0, 4), "{run}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "as a person would")]
fn a_nested_run_that_was_taken_away_counts_where_its_outer_run_goes_on() {
    let (home, api, losing) = shop();
    tree(&home, "create");
    for (case, how) in ["n1,d", "m1,d"].into_iter().enumerate() {
        let how = of_case(case, how);
        losing.store(true, SeqCst);
        let run = home.rote(&["run", "outer", &format!("how={how}")]);
        assert_eq!((writes(&api), run.code), (case + 1, 8), "{how}: {run}");
        losing.store(false, SeqCst);
        let workspaces = home.home().join("rote/workspaces");
        for found in std::fs::read_dir(&workspaces).unwrap().map(Result::unwrap) {
            if found.file_name().to_string_lossy().starts_with("run-inner-") {
                std::fs::remove_dir_all(found.path()).unwrap();
            }
        }
        // The flow takes what it is told for an answer, and ends; nothing was sent.
        let run = home.rote(&["run", "--resume", "latest"]);
        assert_eq!(writes(&api), case + 1, "{how}: {run}");
        assert_eq!(home.data(&["doubts"])["total"], case + 1, "{how}");
    }
}
