//! The life of a flow through the command line: made, recorded, replayed, rewritten in TypeScript, linted, blessed,
//! released, found, forked and bumped.

use serde_json::json;

use crate::flow::crystallized;
use crate::home;

#[test]
fn a_recording_replaces_another_one_and_nothing_else_and_that_is_found_before_the_run() {
    let (home, server) = crystallized();
    home.file("mine.txt", "precious");
    std::os::unix::fs::symlink(home.work().join("mine.txt"), home.work().join("link.rec")).unwrap();
    let before = server.requests().len();
    for (file, code) in [("mine.txt", 10), ("link.rec", 10), ("/dev/null", 10), ("no/such.rec", 3)] {
        let run = home.rote(&["run", "greet", "project=beacon", "--record", file]);
        assert_eq!((run.code, server.requests().len()), (code, before), "{file}: {run}");
    }
    let run = home.rote(&["bind", "tracker", "--lang", "ts", "--out", "link.rec"]);
    assert_eq!(run.code, 10, "{run}");
    for _ in 0..2 {
        assert_eq!(home.rote(&["run", "greet", "project=beacon", "--record", "run.rec", "--another"]).code, 0);
    }
}

#[test]
fn a_recorded_run_replays_offline_also_as_typescript() {
    let (home, server) = crystallized();
    let run = home.rote(&["run", "greet", "project=beacon", "--record", "run.rec"]);
    assert_eq!(run.code, 0, "{run}");
    drop(server);
    let replayed = home.data(&["flow", "test", "--replay", "run.rec"]);
    assert_eq!((&replayed["calls"], &replayed["same_file"]), (&json!(2), &json!(true)));
    // The same program as sources makes the same calls and gives the same result.
    let run = home.rote(&["flow", "export", "greet", "--out", "main.ts"]);
    assert_eq!(run.code, 0, "{run}");
    // What somebody wrote there is kept.
    let read = || std::io::read_to_string(std::fs::File::open(home.work().join("main.ts")).unwrap()).unwrap();
    let written = read();
    home.file("main.ts", format!("{written}// mine\n"));
    let refused = home.rote(&["flow", "export", "greet", "--out", "main.ts"]);
    assert!(refused.code == 10 && read().ends_with("// mine\n"), "{refused}");
    assert_eq!(home.rote(&["flow", "export", "greet", "--out", "main.ts", "--force"]).code, 0);
    assert_eq!(read(), written);
    // A folder that is not there will not come by waiting.
    assert_eq!(home.rote(&["flow", "dev", "nothing-here"]).code, 3);
    let run = home.rote(&["flow", "build", "main.ts", "--out", "script.wasm"]);
    assert_eq!(run.code, 0, "{run}");
    let again = home.data(&["flow", "test", "./script.wasm", "--replay", "run.rec"]);
    assert_eq!((&again["calls"], &again["same_file"]), (&json!(2), &json!(false)));
    assert_eq!(again["result"], replayed["result"]);
    // Everything that was recorded is without the credential.
    let text = std::io::read_to_string(std::fs::File::open(home.work().join("run.rec")).unwrap()).unwrap();
    assert!(!text.contains(crate::SECRET.trim()), "the recording holds the credential");
}

#[test]
fn a_flow_is_linted_released_found_forked_and_bumped() {
    let (home, _server) = crystallized();
    assert_eq!(home.rote(&["run", "greet", "project=beacon"]).code, 0);
    let linted = home.rote(&["flow", "lint", "greet"]);
    assert_eq!(linted.code, 0, "{linted}");
    assert_eq!(home.data(&["flow", "search", "comment"])["search_results"][0]["items"], json!([]));
    let released = home.rote(&["flow", "release", "greet"]);
    assert_eq!(released.code, 0, "{released}");
    let found = home.rote(&["flow", "search", "comment on an issue"]);
    assert!(found.stdout.contains("greet") && found.stdout.contains("[OK] adapter/tracker"), "{found}");
    let taken = home.rote(&["flow", "template", "create", "--workspace", "w", "--name", "greet", "--force"]);
    assert_eq!(taken.code, 10, "a released flow is not replaced: {taken}");
    assert_eq!(home.data(&["flow", "fork", "greet", "--as", "hello"])["frontmatter"]["version"], "0.1.0");
    assert_eq!(home.data(&["flow", "bump", "greet", "minor"])["version"], "0.2.0", "released as it was");
    let stats = home.data(&["flow", "stats", "greet"]);
    assert_eq!((&stats["runs"], &stats["completed"]), (&json!(1), &json!(1)));
    assert_eq!(home.data(&["flow", "doctor"])["flows"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_workspace_is_exported_as_a_flow_and_as_its_source() {
    let (home, _server) = crystallized();
    let export = ["export", "look.wasm", "--params", "project", "--release", "--workspace", "w"];
    let run = home.rote(&export);
    assert!(run.code == 10 && run.stderr.contains("QUESTION_OPEN"), "{run}");
    // A source has the questions too: what is built from it is not a way around them.
    assert_eq!(home.rote(&["flow", "export", "look", "--out", "look.ts"]).code, 0);
    assert_eq!(home.rote(&["flow", "build", "look.ts"]).code, 0);
    let run = home.rote(&["run", "look", "project=beacon"]);
    assert!(run.code == 10 && run.stderr.contains("`questions` in its header"), "{run}");
    let run = home.rote(&[&export[..], &["--force", "--answer", "pick:s3/number=position"]].concat());
    assert_eq!(run.code, 0, "{run}");
    let ran = home.rote(&["run", "./look.wasm", "project=beacon", "--quiet"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.stderr.contains("done "), "{ran}");
    let run = home.rote(&["export", "look-again.ts", "--params", "project", "--workspace", "w"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(home.rote(&["flow", "build", "look-again.ts", "--out", "again.wasm"]).code, 0);
    assert!(home.rote(&["decompile", "look"]).stdout.contains("listIssues"));
    let refused = home.rote(&["export", "look.exe", "--workspace", "w"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert_eq!(home.rote(&["flow", "remove", "look"]).code, 10, "it is released");
    assert_eq!(home.rote(&["flow", "remove", "look", "--force"]).code, 0);
    assert_eq!(home.rote(&["run", "look", "project=beacon"]).code, 3);
}

#[test]
fn a_blessing_lets_a_flow_delete_until_the_flow_changes() {
    let (home, _server) = crate::tracker();
    home.file(
        "main.ts",
        "/**\n * @rote-frontmatter\n * ---\n * name: sweep\n * description: Deletes one issue.\n * parameters:\n \
         *   properties:\n *     number: {type: integer}\n *   required: [number]\n * adapters:\n \
         *   tracker: {tools: [deleteIssue]}\n * write_permissions: [tracker/deleteIssue]\n * ---\n */\n\
         import { Rote } from \"@rote/sdk\";\n\
         export default async function main(params: { number: number }): Promise<void> {\n  \
         const rote = await Rote.workspace(\"sweep\");\n  \
         await rote.adapter(\"tracker\").call(\"deleteIssue\", { project: \"atlas\", number: params.number });\n}\n",
    );
    let build = || {
        let run = home.rote(&["flow", "build", "main.ts"]);
        assert_eq!(run.code, 0, "{run}");
    };
    build();
    let first = home.data(&["call", "tracker", "listIssues", "-p", "project=atlas"]);
    assert!(first["view"]["response"]["id"].is_u64(), "{first}");
    let number = |at: u32| {
        let run = home.rote(&["query", "@1", &format!(".[{at}].number")]);
        format!("number={}", run.stdout.trim())
    };
    assert_eq!(home.rote(&["run", "sweep", &number(0)]).code, 5);
    assert_eq!(home.rote(&["flow", "bless", "sweep"]).code, 5, "nobody is there to say yes");
    let blessed = home.rote(&["flow", "bless", "sweep", "--yes", "--max-calls", "1"]);
    assert_eq!(blessed.code, 0, "{blessed}");
    let run = home.rote(&["run", "sweep", &number(0)]);
    assert_eq!(run.code, 0, "{run}");
    let audit = home.data(&["audit", "tail", "-n", "10"]).to_string();
    assert!(audit.contains("\"rule\":\"blessing\"") && audit.contains("\"flow\":\"sweep\""), "{audit}");
    // The same sources make the same bytes, so a rebuild keeps the blessing; a changed source voids it.
    build();
    assert_eq!(home.rote(&["run", "sweep", &number(1)]).code, 0);
    let text = std::io::read_to_string(std::fs::File::open(home.work().join("main.ts")).unwrap()).unwrap();
    home.file("main.ts", text.replace("Deletes one issue.", "Deletes an issue."));
    build();
    assert_eq!(home.rote(&["run", "sweep", &number(2)]).code, 5);
}

#[test]
fn sources_that_do_not_build_say_where() {
    let home = home();
    let cases = [
        ("export default function main() { const x = ; }", "main.ts:1:44"),
        ("import x from \"left-pad\"; export default function main() { return x; }", "cannot import `left-pad`"),
        ("export default function main() { return eval(\"1\"); }", "`eval` is not supported"),
        ("const x: number = 1;", "export"),
    ];
    for (source, expected) in cases {
        let header = "/**\n * @rote-frontmatter\n * ---\n * name: bad\n * description: Bad.\n * ---\n */ ";
        home.file("main.ts", format!("{header}{source}"));
        let run = home.rote(&["flow", "build", "main.ts"]);
        let expected = expected.replace("main.ts:1:44", "main.ts:7:48");
        assert!(run.code == 10 && run.stderr.contains(&expected), "{source}: {run}");
    }
    home.file("main.ts", "export default function main() {}");
    let run = home.rote(&["flow", "build", "main.ts"]);
    assert!(run.code == 10 && run.stderr.contains("has no frontmatter"), "{run}");
}

#[test]
fn code_from_texts_is_refused_at_run_time_too() {
    let home = home();
    let tricks = [
        "globalThis[\"ev\" + \"al\"](\"1\")",
        "(0, globalThis[\"ev\" + \"al\"])(\"1\")",
        "globalThis[\"Func\" + \"tion\"](\"return 1\")",
        "(function () {}).constructor(\"return 1\")()",
        "new ((async () => {}).constructor)(\"return 1\")",
        "(function* () {}).constructor(\"yield 1\")",
        "(async function* () {}).constructor(\"yield 1\")",
        "Reflect.construct((() => 1).constructor, [\"return 1\"])",
        "new (class extends ((() => 1).constructor) {})(\"return 1\")",
        "Object.getPrototypeOf((async () => 1).constructor).constructor(\"return 1\")",
        "[\"return 1\"].map((() => 1).constructor)",
    ];
    let tried: String = tricks.iter().map(|trick| format!("attempt(() => {trick}), ")).collect();
    home.file(
        "main.ts",
        format!(
            "/**\n * @rote-frontmatter\n * ---\n * name: tricks\n * description: Makes code of texts.\n * ---\n */\n\
             function attempt(make: () => unknown): string {{\n  \
             try {{ return `ran: ${{typeof make()}}`; }} catch (error) {{ return String(error); }}\n}}\n\
             export default function main(): unknown {{\n  \
             const F = (() => 1).constructor;\n  \
             try {{ Object.defineProperty(Function.prototype, \"constructor\", {{ value: 1 }}); }} catch {{ /* fixed */ }}\n  \
             return [F === Function && main instanceof Function && F.name, typeof (globalThis as any).setTimeout, {tried}];\n}}\n"
        ),
    );
    let built = home.rote(&["flow", "build", "main.ts"]);
    assert_eq!(built.code, 0, "{built}");
    let data = home.data(&["run", "tricks"]);
    let told = data["result"].as_array().unwrap();
    assert_eq!((&told[0], &told[1]), (&json!("Function"), &json!("undefined")));
    assert_eq!(told.len(), tricks.len() + 2);
    for (trick, answer) in tricks.iter().zip(&told[2..]) {
        let answer = answer.as_str().unwrap();
        assert!(
            answer.starts_with("TypeError: `") && answer.contains("only the code that was bundled"),
            "{trick}: {answer}"
        );
    }
}

/// Writes a folder with a plan and its frontmatter.
fn plan(home: &rote_testkit::TestHome, folder: &str, header: &str, plan: &serde_json::Value) {
    home.file(&format!("{folder}/flow.yaml"), header);
    home.file(&format!("{folder}/plan.json"), plan.to_string());
    let run = home.rote(&["flow", "build", folder]);
    assert_eq!(run.code, 0, "{run}");
}

#[test]
fn a_plan_with_a_loop_a_condition_and_a_step_that_may_fail_runs() {
    let (home, server) = crate::tracker();
    let header = "name: survey\ndescription: Reads the first issues one by one.\n\
                  parameters: {properties: {comment: {type: boolean, default: false}}}\n\
                  adapters: {tracker: {tools: [listIssues, getIssue, addComment]}}\n\
                  write_permissions: [tracker/addComment]\n";
    let steps = json!([
        {"id": "list", "adapter": "tracker", "tool": "listIssues", "arguments": {"project": "atlas"}},
        {"id": "each", "adapter": "tracker", "tool": "getIssue", "max_concurrency": 2,
         "for_each": {"$from": {"step": "list", "jq": ".[:3][].number", "each": true}},
         "arguments": {"project": "atlas", "number": {"$item": "."}}},
        {"id": "gone", "adapter": "tracker", "tool": "getIssue", "on_error": "continue",
         "arguments": {"project": "atlas", "number": 9999}},
        {"id": "note", "adapter": "tracker", "tool": "addComment",
         "when": {"compare": {"left": {"$param": "comment"}, "op": "eq", "right": true}},
         "arguments": {"project": "atlas", "number": 1, "body": "Seen."}},
    ]);
    let result = json!({
        "titles": {"$from": {"step": "each", "jq": ".title"}},
        "gone": {"$default": [{"$from": {"step": "gone", "jq": ".title"}}, "not there"]},
    });
    plan(
        &home,
        "survey",
        header,
        &json!({"version": 1, "parameters": {"comment": {"default": false}}, "steps": steps, "result": result}),
    );
    let before = server.requests().len();
    let data = home.data(&["run", "survey"]);
    assert_eq!(data["result"]["titles"].as_array().map(Vec::len), Some(3), "{data}");
    assert_eq!(data["result"]["gone"], "not there");
    assert!(data["summary"][0].as_str().unwrap().contains("the run is partial"), "{data}");
    assert_eq!(data["status"], "partial");
    let stats = home.data(&["flow", "stats", "survey"]);
    assert_eq!((&stats["completed"], &stats["partial"]), (&json!(1), &json!(1)));
    assert_eq!(server.requests().len() - before, 5, "the comment was not made");
}

#[test]
fn a_composite_flow_runs_released_flows_that_it_pins() {
    let (home, _server) = crystallized();
    let script = |name: &str, flows: &str, body: &str| {
        format!(
            "/**\n * @rote-frontmatter\n * ---\n * name: {name}\n * description: Runs another flow.\n * flows: [{flows}]\n \
             * ---\n */\nimport {{ Rote }} from \"@rote/sdk\";\nexport default async function main(): Promise<unknown> {{\n  \
             const rote = await Rote.workspace(\"outer\");\n  {body}\n}}\n"
        )
    };
    let body = "return await rote.flows.run(\"greet\", { project: \"beacon\" });";
    home.file("main.ts", script("outer", "greet", body));
    assert_eq!(home.rote(&["flow", "build", "main.ts"]).code, 0);
    let run = home.rote(&["run", "outer"]);
    assert!(run.code == 6 && run.stderr.contains("it is not released"), "{run}");
    assert_eq!(home.rote(&["flow", "release", "greet"]).code, 0);
    let run = home.rote(&["run", "outer"]);
    assert!(run.code == 6 && run.stderr.contains("another digest"), "the released file is another one: {run}");
    assert_eq!(home.rote(&["flow", "build", "main.ts"]).code, 0);
    let data = home.data(&["run", "outer"]);
    assert!(data["result"]["id"].is_u64(), "{data}");
    home.file("main.ts", script("outer", "", body));
    assert_eq!(home.rote(&["flow", "build", "main.ts"]).code, 0);
    let run = home.rote(&["run", "outer"]);
    assert!(run.code == 6 && run.stderr.contains("does not pin it"), "{run}");
}

#[test]
fn a_plan_is_built_from_its_file_as_from_its_folder() {
    let home = home();
    home.file("plan.json", r#"{"version": 1, "steps": [], "result": 7}"#);
    home.file("flow.yaml", "name: seven\ndescription: Says seven.\nversion: 0.1.0\n");
    let built = home.rote(&["flow", "build", "plan.json"]);
    assert_eq!(built.code, 0, "{built}");
    assert_eq!(home.data(&["run", "seven"])["result"], 7);
    assert_eq!(home.data(&["flow", "build", "."])["sha256"], home.data(&["flow", "build", "plan.json"])["sha256"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test breaks files of the home, as a disk does")]
fn flows_are_listed_and_found_whatever_became_of_the_journal_and_the_vault() {
    let (home, _server) = crystallized();
    for file in ["chronicle/journal.db", "chronicle/journal.db-wal", "chronicle/journal.db-shm", "secrets/tokens.json"]
    {
        std::fs::remove_file(home.home().join(file)).ok();
    }
    for file in ["chronicle/journal.db", "secrets/tokens.json"] {
        std::fs::write(home.home().join(file), [b'x'; 4096]).unwrap();
    }
    for words in [&["flow", "list"][..], &["flow", "search", "--all", "greet"], &["flow", "stats", "greet"]] {
        let run = home.rote(words);
        assert!(run.code == 0 && run.stdout.contains("greet"), "{run}");
    }
    // What a blessing is worth stands in the journal.
    assert_eq!(home.rote(&["flow", "info", "greet"]).code, 10);
}

#[test]
fn listing_flows_makes_neither_journal_nor_key() {
    let home = crate::home();
    assert_eq!(home.rote(&["flow", "list"]).code, 0);
    for folder in ["chronicle", "secrets"] {
        let made = home.home().join(folder).read_dir().map_or(0, Iterator::count);
        assert_eq!(made, 0, "{folder}");
    }
}
