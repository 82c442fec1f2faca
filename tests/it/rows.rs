//! What somebody new met in the first hour, each named by its row in the list of what hurt: what is printed now.
//!
//! Elsewhere: rows 11 and 12 (`guard`), 25 (`rote_cli::tests::workspaces`), 31 (`rote bench` measures the first query of a fresh home), 40
//! (`hints`), 9 (`interrupted::a_time_limit_ends_a_call_a_batch_and_a_message`), 10
//! (`pasted::every_way_out_of_a_doubt_works_in_another_folder_with_an_empty_environment`), 41
//! (`interrupted::an_interrupted_run_names_itself_and_is_asked_about`), 15 (`call::an_answer_is_one_short_block`),
//! 20 (`pages::an_archive_that_a_read_is_redirected_to_is_written_to_a_file`), 21 (`pages::a_list_is_read_to_its_end_and_kept_as_one_document`,
//! `call::a_header_goes_with_its_call_and_into_no_flow`), 24 (`call::an_error_of_the_api_keeps_its_number_and_its_body`), 33
//! (`completion::bash_completes_names_where_the_key_is_pressed`), 34 (`query::the_schema_of_a_response_is_a_json_schema`), 39
//! (`audit::what_each_event_is_about_stands_in_its_line`), 43 also (`first_hour::a_missing_target_is_named_before_anything_is_compiled`), 44
//! (`call::an_argument_is_typed_a_value_a_file_or_a_text`), 47 (`call::whoever_watches_sees_the_request_the_verdicts_and_the_time`), 50 also
//! (`first_hour`).

use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::{Value, json};

use crate::interrupted::send;
use crate::terminal::on_columns;
use crate::{home, tracker};

/// Asserts that a command ends so and says each of these.
fn says(home: &TestHome, words: &[&str], code: i32, texts: &[&str]) {
    let run = home.rote(words);
    assert_eq!(run.code, code, "{run}");
    for text in texts {
        assert!(run.stdout.contains(text) || run.stderr.contains(text), "`{text}` is missing: {run}");
    }
}

/// A workspace in which the first of several issues was commented on, made into a flow called `look`.
fn look(home: &TestHome, answer: &[&str]) {
    let ok = |words: &[&str]| says(home, words, 0, &[]);
    ok(&["call", "tracker", "listIssues", "project=atlas", "labels=bug", "per_page=3"]);
    ok(&["call", "tracker", "addComment", "-t", "project=atlas", "number=@1{.[0].number}", "body=Seen."]);
    let create = ["flow", "template", "create", "-w", "w", "--name", "look", "--param", "project=atlas"];
    ok(&[&create[..], answer].concat());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at files, and changes one, from outside")]
fn row_17_and_28_a_flow_is_found_as_it_would_run() {
    let (home, server) = tracker();
    look(&home, &["--answer", "pick:s2/number=position"]);
    let search = ["flow", "search", "comment on an issue"];
    says(&home, &["flow", "bless", "look", "--yes"], 0, &["it is a draft, and a release is another program"]);
    says(&home, &["flow", "release", "look"], 0, &["its blessing no longer counts: rote flow bless look"]);
    says(&home, &["flow", "bump", "look"], 0, &["released look 0.1.1"]);
    says(&home, &search, 0, &["[OK] adapter/tracker"]);
    // Another surface, on which all that the flow uses is as it was.
    let document = std::fs::read_to_string(home.work().join("openapi.yaml")).unwrap();
    home.file("newer.yaml", document.replace("operationId: listProjects", "operationId: listAllProjects"));
    says(&home, &["adapter", "new", "tracker", "newer.yaml", "--base-url", &server.base_url(), "-y"], 0, &[]);
    says(&home, &search, 0, &["[OK] adapter/tracker", "next: rote run look project=…"]);
    says(&home, &["run", "look", "project=atlas"], 0, &["what this flow uses of it is as it was"]);
    says(&home, &["adapter", "set", "tracker", "base_url", "http://127.0.0.1:9/v1", "-y"], 0, &[]);
    says(&home, &search, 0, &["[CHANGED] adapter/tracker", "next: rote flow repin look"]);
    says(&home, &["run", "look", "project=atlas"], 7, &["hint: rote flow repin look"]);
}

#[test]
fn row_18_a_build_checks_what_bound_functions_are_given_and_what_the_frontmatter_permits() {
    let (home, _server) = tracker();
    let bind =
        ["bind", "tracker", "--lang", "ts", "--tool", "listIssues", "--tool", "addComment", "--out", "lib/tracker.ts"];
    std::fs::create_dir_all(home.work().join("lib")).unwrap();
    says(&home, &bind, 0, &[]);
    let source = |permits: &str, arguments: &str, comments: &str| {
        home.file(
            "main.ts",
            format!(
                "/**\n * @rote-frontmatter\n * ---\n * name: wk\n * description: Comments on an issue\n * adapters:\n *   \
                 tracker:\n *     {permits}\n * output: {{format: json}}\n * ---\n */\n\
                 import {{ AdapterRegistry }} from \"@rote/sdk\";\n\
                 import {{ listIssues }} from \"./lib/tracker\";\nimport * as tracker from \"./lib/tracker.ts\";\n\
                 export default async function main() {{\n  const t = tracker.connect(new AdapterRegistry());\n  \
                 const issues = (await listIssues(t, {arguments})).json();\n  \
                 await {comments};\n  return issues.length;\n}}\n"
            ),
        );
    };
    let comment = r#"tracker.addComment(t, { project: "atlas", number: 1, body: "x" })"#;
    source("tools: [listIssues, addComment]", r#"{ project: "atlas", per_page: "four", limt: 4 }"#, comment);
    let wrong = [
        "main.ts:17:59: `tracker/listIssues`: `per_page` does not fit",
        "main.ts:17:77: `tracker/listIssues`: `limt` is unknown",
    ];
    says(&home, &["flow", "build", "main.ts"], 10, &wrong);
    let right = r#"{ project: "atlas", per_page: 4 }"#;
    // Also by the adapter that the bindings open, and without what the tool needs.
    let by_name = r#"t.call("addComment", { project: "atlas", number: 1 })"#;
    source("tools: [listIssues]", right, by_name);
    let wrong = [
        "main.ts:18:16: `tracker/addComment`: `body` is missing (string)",
        "main.ts:18:16: a run may not call `tracker/addComment`: add `addComment` to the `tools` of adapter `tracker`",
    ];
    says(&home, &["flow", "build", "main.ts"], 10, &wrong);
    // A write that is in the source is not built without its permission, and one that is not is refused where a run comes to it.
    let hidden = r#"t.call(["add", "Comment"].join(""), { project: "atlas", number: 1, body: "x" })"#;
    for (permits, lacks) in [
        ("tools: [listIssues]", "add `addComment` to the `tools` of adapter `tracker` in the frontmatter"),
        ("tools: [listIssues, addComment]", "add `tracker/addComment` to `write_permissions` in the frontmatter"),
    ] {
        source(permits, right, comment);
        says(&home, &["flow", "build", "main.ts"], 10, &[lacks]);
        source(permits, right, hidden);
        says(&home, &["flow", "build", "main.ts"], 0, &[]);
        says(&home, &["run", "wk"], 6, &[&format!("hint: {lacks}")]);
    }
    source("tools: [listIssues, addComment]\n * write_permissions: [tracker/addComment]", right, comment);
    let built = home.rote(&["flow", "build", "main.ts"]);
    assert!(built.code == 0 && !built.stdout.contains("note:"), "{built}");
    assert_eq!(home.data(&["run", "wk"])["result"], 4);
    source("tools: [addComment]\n * write_permissions: [tracker/addComment]", right, comment);
    let lacks =
        "note: main.ts:18:25: a run may not call `tracker/listIssues`: add `listIssues` to the `tools` of adapter";
    says(&home, &["flow", "build", "main.ts"], 0, &[lacks]);
}

#[test]
fn row_13_a_workspace_is_that_of_a_folder_or_a_shell_and_each_answer_names_it() {
    let (home, _server) = tracker();
    let folder = home.work().join("a");
    std::fs::create_dir_all(&folder).unwrap();
    let within = |words: &[&str]| home.invocation(words).in_directory(&folder);
    assert_eq!(within(&["init", "A", "--here"]).run().code, 0);
    says(&home, &["init", "B"], 0, &[]);
    let call = ["call", "tracker", "listProjects"];
    for (run, name) in [
        (within(&call).run(), "A"),
        (home.rote(&call), "B"),
        (home.invocation(&call).env("ROTE_WORKSPACE", "A").run(), "A"),
        (home.rote(&[&call[..], &["-w", "A"]].concat()), "A"),
    ] {
        let first = run.stdout.lines().next().unwrap_or_default();
        assert!(run.code == 0 && first.contains(&format!(" in {name} ")), "{run}");
    }
}

#[test]
fn row_36_lines_fit_the_terminal_and_a_pipe_has_them_whole() {
    let (home, _server) = tracker();
    for words in [&["probe", "tracker", "list the issues of a project"][..], &["adapter", "list"], &["ls"]] {
        let whole = home.rote(words).stdout;
        for columns in [40_u16, 80, 200] {
            let shown = on_columns(&home.invocation(words).env("NO_COLOR", "1"), columns);
            // A command is never cut, as it is there to be copied, and a path that has no room is a line by itself.
            let prose = |line: &&str| !line.contains("rote ") && line.split_whitespace().nth(1).is_some();
            let widest = shown.lines().filter(prose).map(|line| line.trim_end().chars().count()).max();
            assert!(widest.is_some_and(|widest| widest <= usize::from(columns)), "{words:?} at {columns}:\n{shown}");
        }
        let cut = whole.lines().find(|line| line.ends_with('…'));
        assert_eq!(cut, None, "{words:?} in a pipe");
    }
}

/// Makes a folder, and all below it, such that nobody writes to it, or that its owner does.
#[cfg(target_os = "linux")]
fn write_to(folder: &std::path::Path, may: bool) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = if may { 0o700 } else { 0o500 };
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
    for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            write_to(&entry, may);
        } else {
            std::fs::set_permissions(entry, std::fs::Permissions::from_mode(mode & 0o600)).unwrap();
        }
    }
}

/// Runs a command that may write no more than the permissions of files say, also where root runs the tests.
#[cfg(target_os = "linux")]
fn as_permitted(home: &TestHome, words: &[&str]) -> std::process::Output {
    use std::os::unix::process::CommandExt as _;
    const CAP_DAC_OVERRIDE: libc::c_ulong = 1;
    let mut command = home.invocation(words).command();
    #[expect(unsafe_code, reason = "a capability is dropped between fork and exec")]
    // SAFETY: the closure makes one call of the system and allocates nothing. Whoever has no such capability cannot drop it.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0);
            Ok(())
        });
    }
    command.output().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn row_38_a_home_that_takes_nothing_can_be_read() {
    let (home, _server) = tracker();
    says(&home, &["call", "tracker", "listIssues", "project=atlas"], 0, &[]);
    write_to(&home.home(), false);
    let refused = as_permitted(&home, &["set", "a=1"]);
    let read = [
        &["probe", "tracker", "list issues"][..],
        &["explore", "list issues"],
        &["describe", "tracker", "listIssues"],
        &["adapter", "list"],
        &["ls"],
        &["where"],
        &["vars"],
        &["doubts"],
        &["@1", ".[0].title"],
        &["query", "schema", "@1"],
        &["flow", "list"],
        &["flow", "search", "list issues"],
        &["token", "list"],
        &["audit", "tail"],
    ]
    .map(|words| (words, as_permitted(&home, words)));
    write_to(&home.home(), true);
    assert_eq!(refused.status.code(), Some(1), "nothing can be written: {refused:?}");
    for (words, output) in read {
        assert!(output.status.success() && !output.stdout.is_empty(), "{words:?}: {output:?}");
    }
}

/// An API with so many reads, an upload, and two ways to authenticate.
fn many(home: &TestHome, url: &str, reads: usize) {
    let ok = || json!({ "200": { "description": "ok" } });
    let mut paths: serde_json::Map<String, Value> = (0..reads)
        .map(|n| (format!("/a{n}"), json!({ "get": { "operationId": format!("read{n}"), "responses": ok() } })))
        .collect();
    let file =
        json!({ "type": "object", "properties": { "file": { "type": "string" }, "purpose": { "type": "string" } } });
    let body = json!({ "content": { "multipart/form-data": { "schema": file } } });
    paths.insert(
        "/files".to_owned(),
        json!({ "post": { "operationId": "upload", "requestBody": body, "responses": ok() } }),
    );
    // A list of names, bare or in an object, as GitHub takes labels.
    let names = json!({ "type": "array", "items": { "type": "string" } });
    let either = json!({ "oneOf": [{ "type": "object", "properties": { "labels": names.clone() } }, names, { "type": "string" }] });
    let body = json!({ "content": { "application/json": { "schema": either } } });
    paths.insert(
        "/labels".to_owned(),
        json!({ "post": { "operationId": "label", "requestBody": body, "responses": ok() } }),
    );
    let schemes =
        json!({ "basic": { "type": "http", "scheme": "basic" }, "bearer": { "type": "http", "scheme": "bearer" } });
    let document = json!({ "openapi": "3.0.3", "info": { "title": "Many", "version": "1" }, "paths": paths,
        "security": [{ "basic": [] }, { "bearer": [] }], "components": { "securitySchemes": schemes } });
    home.file("many.json", document.to_string());
    says(
        home,
        &["adapter", "new", "many", "many.json", "--base-url", url, "-y"],
        0,
        &["next: rote token set MANY_TOKEN"],
    );
    says(home, &["init", "w"], 0, &[]);
}

#[test]
fn row_16_both_forms_list_as_many_tools() {
    let home = home();
    many(&home, "http://127.0.0.1:9", 40);
    let listed = |words: &[&str]| {
        let data = home.data(words);
        (data["tools"].as_array().unwrap().len(), data["tools_total"].clone())
    };
    assert_eq!(listed(&["adapter", "info", "many"]), (30, json!(42)));
    assert_eq!(listed(&["adapter", "info", "many", "--all"]), (42, json!(42)));
    let rows = |words: &[&str]| home.rote(words).stdout.lines().filter(|line| line.contains("  GET  ")).count();
    says(&home, &["adapter", "info", "many"], 0, &["… 12 tools more; --all lists them"]);
    assert_eq!((rows(&["adapter", "info", "many"]), rows(&["adapter", "info", "many", "--all"])), (29, 40));
}

#[test]
fn row_19_22_and_29_an_argument_is_that_of_the_one_object_a_credential_has_one_name_and_a_file_is_a_file() {
    let api = FakeApi::start(|_| Script::Json(200, json!({})));
    let home = home();
    many(&home, &api.url(), 1);
    // What is missing is what the install named.
    says(
        &home,
        &["call", "many", "read0"],
        4,
        &["there is no value for `MANY_TOKEN`", "hint: rote token set MANY_TOKEN"],
    );
    says(&home, &["token", "set", "MANY_TOKEN", "value-of-many-0123456789", "--yes"], 0, &[]);
    says(&home, &["call", "many", "label", "labels=bug", "labels=urgent"], 0, &[]);
    let sent = api.received().last().unwrap().body.clone();
    assert_eq!(serde_json::from_slice::<Value>(&sent).unwrap(), json!({ "labels": ["bug", "urgent"] }));
    home.file("notes.md", "# Notes\n");
    says(&home, &["call", "many", "upload", "file=@notes.md", "purpose=x"], 0, &[]);
    let sent = String::from_utf8(api.received().last().unwrap().body.clone()).unwrap();
    assert!(sent.contains("name=\"file\"; filename=\"notes.md\"") && sent.contains("# Notes"), "{sent}");
    assert!(sent.contains("name=\"purpose\"\r\n"), "{sent}");
}

#[test]
fn row_30_what_was_recorded_is_the_default_of_a_parameter_that_says_so() {
    let (home, _server) = tracker();
    let plain = ["--answer", "pick:s2/number=position", "--param", "body"];
    look(&home, &plain);
    says(&home, &["run", "look", "project=atlas"], 2, &["parameter `body` is missing"]);
    let again = ["flow", "template", "create", "-w", "w", "--name", "look", "--param", "project=atlas", "--force"];
    says(&home, &[&again[..], &plain, &["--default", "body"]].concat(), 0, &[]);
    says(&home, &["run", "look", "project=atlas"], 0, &["\"body\": \"Seen.\""]);
    says(&home, &["run", "look", "project=atlas", "body=New."], 0, &["\"body\": \"New.\""]);
}

#[test]
fn row_32_and_35_a_tool_is_shown_whole_and_a_long_body_is_cut_on_a_terminal_only() {
    let (home, _server) = tracker();
    let described = home.rote(&["describe", "tracker", "listIssues"]);
    assert!(described.stdout.contains("  per_page  integer; default 30; at least 1; at most 100\n"), "{described}");
    assert_eq!(home.rote(&["call", "tracker", "listIssues", "--help"]).stdout, described.stdout);
    says(&home, &["call", "tracker", "listIssues", "project=atlas"], 0, &[]);
    let whole = home.rote(&["@1", "."]).stdout;
    assert!(whole.lines().count() > 300 && !whole.contains("more lines"), "{whole}");
    let shown = on_columns(&home.invocation(&["@1", "."]), 120);
    assert!(shown.lines().count() <= 102 && shown.contains("more lines; all: rote query @1 --body"), "{shown}");
    assert!(on_columns(&home.invocation(&["@1", ".[0].title"]), 120).starts_with('"'));
}

#[test]
fn row_50_small_things_say_what_they_mean() {
    let (home, _server) = tracker();
    says(&home, &["call", "tracker", "listIssues", "project=atlas", "-p", "per_page=3"], 0, &[]);
    says(&home, &["expect", "@1", "length == 3", "length == 4"], 1, &["not true: length == 4"]);
    says(&home, &["flow", "stats", "nope"], 3, &["there is no flow `nope`", "hint: rote flow list"]);
    let tail = home.rote(&["audit", "tail"]).stdout;
    let second = |line: &str| line.split_whitespace().nth(1).is_some_and(|at| at.len() == "2026-11-21T22:53:23".len());
    assert!(tail.lines().skip(1).all(second), "{tail}");
    let dumb = on_columns(&home.invocation(&["help"]).env("TERM", "dumb"), 80);
    assert!(!dumb.contains('\u{1b}'), "{dumb}");
}

#[test]
fn row_36_and_42_the_help_fits_the_terminal_and_says_the_same_on_each() {
    let home = home();
    let said = |text: &str| text.replace('\\', "").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for words in [&["help"][..], &["--help"], &["help", "call"], &["call", "--help"], &["flow", "new", "--help"]] {
        let whole = home.rote(words).stdout;
        for columns in [40_u16, 200] {
            let shown = on_columns(&home.invocation(words).env("NO_COLOR", "1"), columns);
            let wide = shown.lines().find(|line| line.trim_end().chars().count() > usize::from(columns.min(100)));
            assert_eq!(wide, None, "{words:?} at {columns}");
            assert_eq!(said(&shown), said(&whole), "{words:?} at {columns}");
        }
    }
}

#[test]
fn row_26_and_40_a_run_that_is_not_there_names_what_is() {
    let (home, _server) = tracker();
    says(&home, &["run", "--resume", "run-nope"], 3, &["there is no run `run-nope` to resume", "hint: rote ls --all"]);
    says(&home, &["run", "--resume", "latest"], 3, &["hint: rote flow list"]);
    look(&home, &["--answer", "pick:s2/number=position"]);
    says(&home, &["run", "--resume", "latest", "look"], 3, &["there is no run of `look`", "hint: rote run look"]);
}

#[test]
fn row_23_a_flow_that_a_run_would_refuse_is_not_healthy() {
    let (home, _server) = tracker();
    look(&home, &[]);
    says(
        &home,
        &["flow", "health", "look"],
        1,
        &["has open questions about what it writes", "fix: rote flow review look"],
    );
    says(&home, &["run", "look", "project=atlas"], 10, &["pick:s2/number"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at files, and changes one, from outside")]
fn row_43_a_new_crate_holds_what_it_is_built_with() {
    let home = home();
    says(&home, &["flow", "new", "rusty", "--lang", "rust"], 0, &["rusty/rote-sdk"]);
    let manifest = std::fs::read_to_string(home.work().join("rusty/Cargo.toml")).unwrap();
    let own = r#"rote-sdk = { version = "0.1", path = "rote-sdk" }"#;
    assert!(manifest.contains(own) && !manifest.contains(home.home().to_str().unwrap()), "{manifest}");
    for file in ["Cargo.toml", "src/lib.rs", "macros/Cargo.toml", "wit"] {
        assert!(home.work().join("rusty/rote-sdk").join(file).exists(), "{file}");
    }
}

#[test]
fn row_46_a_tool_is_described_and_bound_with_what_it_answers() {
    let (home, _server) = tracker();
    let described = home.rote(&["describe", "tracker", "addComment"]);
    let answers = described.stdout.split_once("\nAnswers:\n").expect("it says what comes back").1;
    let shape =
        "  {id: integer, author: {login: string, name: string, email: string}, body: string, created_at: string}\n";
    assert_eq!(answers, shape);
    let data = home.data(&["describe", "tracker", "listIssues"]);
    assert_eq!(
        (&data["answer"]["type"], &data["answer"]["items"]["properties"]["number"]["type"]),
        (&json!("array"), &json!("integer"))
    );
    assert_eq!(home.data(&["describe", "tracker", "deleteIssue"])["answer"], Value::Null, "nothing comes back");
    let bound = home.rote(&["bind", "tracker", "--lang", "ts", "--tool", "addComment"]).stdout;
    assert!(bound.contains("export interface AddCommentAnswer {\n  id: number;"), "{bound}");
    assert!(bound.contains("function addComment<T = AddCommentAnswer>("), "{bound}");
    // A package from before that was kept has none.
    std::fs::remove_file(home.home().join("adapters/tracker/answers.json")).unwrap();
    let before = home.rote(&["describe", "tracker", "addComment"]);
    assert!(before.code == 0 && !before.stdout.contains("Answers:"), "{before}");
}

#[test]
fn row_48_each_command_has_one_envelope_of_one_shape() {
    let (home, _server) = tracker();
    for words in [&["set", "a=1"][..], &["set", "a=1", "b=2"]] {
        assert!(home.data(words).is_array(), "{words:?}");
    }
    says(&home, &["flow", "new", "greet"], 0, &[]);
    let once = home.rote(&["flow", "dev", "greet", "who=Ada", "--once", "--json"]);
    assert_eq!(once.stdout.lines().count(), 1, "{once}");
    assert_eq!(once.envelope()["data"], json!({ "flow": "greet", "output": "Hello, Ada!" }));
}

#[test]
fn a_batch_makes_all_calls_or_ends_with_the_first_that_fails() {
    let (home, _server) = tracker();
    let calls = json!([
        { "tool_name": "getIssue", "arguments": { "project": "atlas", "number": 9999 } },
        { "tool_name": "getProject", "arguments": { "project": "beacon" } },
    ])
    .to_string();
    says(&home, &["batch", "tracker", &calls], 1, &["@2  getProject  200", "1 of 2 succeeded"]);
    says(
        &home,
        &["batch", "tracker", &calls, "--fail-fast"],
        1,
        &["not made: a call before it failed", "0 of 2 succeeded"],
    );
    let states =
        home.data(&["ls"])["responses"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect::<Vec<_>>();
    assert_eq!(states, ["error", "ok", "error", "error"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at files, and changes one, from outside")]
fn a_name_in_a_policy_that_is_none_of_a_tool_is_told_each_time() {
    let (home, _server) = tracker();
    let file = home.home().join("adapters/tracker/config/policies.json");
    let policy = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, policy.replace("\"deny_list\": []", "\"deny_list\": [\"addComent\"]")).unwrap();
    let told = "`deny_list` of adapter `tracker` names `addComent`, which is none of its tools and does nothing (did you mean `addComment`?)";
    for _ in 0..2 {
        says(&home, &["call", "tracker", "getStatus"], 0, &[told]);
    }
}

#[test]
fn a_number_that_is_none_of_64_bits_is_not_sent_as_another_text() {
    let (home, _server) = tracker();
    let refused = "`number` is 1e+300, which does not fit into 64 bits as a whole number";
    says(&home, &["call", "tracker", "getIssue", "project=atlas", "number:=1e300", "--dry-run"], 2, &[refused]);
    says(&home, &["call", "tracker", "getIssue", "project=atlas", "number:=1e3", "--dry-run"], 0, &["/issues/1000"]);
}

#[test]
fn a_pipe_of_a_name_is_not_waited_for_and_one_of_the_shell_is_left_by_the_first_signal() {
    let (home, _server) = tracker();
    let pipe = home.work().join("pipe");
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    #[expect(unsafe_code, reason = "mkfifo(3) has no safe form in libc")]
    // SAFETY: the name is a text that ends with a zero and lives until the call is over.
    let made = unsafe { libc::mkfifo(name.as_ptr(), 0o600) };
    assert_eq!(made, 0);
    let of = |file| ["call", "tracker", "addComment", "project=atlas", "number=1", file, "--dry-run"];
    for (file, named) in
        [("body=@pipe", "/pipe` is not a plain file"), ("body=@/dev/zero", "`/dev/zero` is not a plain file")]
    {
        says(&home, &of(file), 10, &[named]);
    }
    let mut child = home.invocation(&of("body=@/dev/stdin")).command().spawn().unwrap();
    // More than a pipe holds: this ends once the command reads, which has then not read all.
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, &[b'x'; (64 << 10) + 1]).unwrap();
    send(&child, libc::SIGTERM);
    let ended = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(libc::SIGTERM), "{ended}");
}
