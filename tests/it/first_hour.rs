//! The first hour of somebody new: next versions, a compiler that lacks something, headers, comparisons.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rote_testkit::TestHome;

use crate::{home, tracker};

/// A program that somebody has installed, in place of the real one.
fn program(home: &TestHome, name: &str, script: &str) {
    let file = home.file(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_next_version_of_a_released_flow_is_released_and_found() {
    let (home, _server) = tracker();
    assert_eq!(home.rote(&["call", "tracker", "listIssues", "-p", "project=atlas"]).code, 0);
    assert_eq!(home.rote(&["flow", "template", "create", "-w", "w", "--name", "look"]).code, 0);
    let drafted = home.rote(&["flow", "bump", "look"]);
    assert!(drafted.code == 0 && drafted.stdout.contains("look is now a draft of 0.1.1"), "{drafted}");
    assert_eq!(home.rote(&["flow", "release", "look"]).code, 0);
    let found = || home.rote(&["flow", "search", "look"]).stdout.contains("look");
    let bumped = home.rote(&["flow", "bump", "look", "minor"]);
    assert!(bumped.code == 0 && bumped.stdout.contains("released look 0.2.0"), "{bumped}");
    assert!(found());
    let released = home.rote(&["audit", "tail", "-n", "50", "--json"]).stdout.matches("\"flow.released\"").count();
    assert_eq!(released, 2, "each release is in the journal");
    assert_eq!(home.rote(&["run", "look"]).code, 0);
    // What is installed is held against it as at each release, and a refused one leaves the flow as it was.
    let info = || home.data(&["flow", "info", "look"])["sha256"].clone();
    let before = info();
    assert_eq!(home.rote(&["adapter", "set", "tracker", "base_url", "http://127.0.0.1:9/v1", "-y"]).code, 0);
    let refused = home.rote(&["flow", "bump", "look"]);
    assert_eq!((refused.code, info()), (7, before), "{refused}");
    let draft = home.rote(&["flow", "bump", "look", "--draft"]);
    assert!(draft.code == 0 && draft.stdout.contains("look is now a draft of 0.2.1"), "{draft}");
    assert!(!found());
}

#[test]
fn a_version_that_was_released_is_not_built_or_released_with_another_program() {
    let (home, _server) = tracker();
    let source = |version: &str, word: &str| {
        let head = format!("name: hi\n * description: Says it.\n * version: {version}\n * output: {{format: json}}");
        let main = format!("export default async function main(): Promise<unknown> {{ return {{ said: {word:?} }}; }}");
        home.file("main.ts", format!("/**\n * @rote-frontmatter\n * ---\n * {head}\n * ---\n */\n{main}\n"))
    };
    let build = || home.rote(&["flow", "build", "main.ts"]);
    source("0.1.0", "hello");
    assert_eq!(build().code, 0);
    let run = home.rote(&["flow", "release", "hi"]);
    assert_eq!(run.code, 0, "{run}");
    let bumped = home.rote(&["flow", "bump", "hi", "--draft"]);
    assert!(bumped.code == 0 && format!("{bumped}").contains("write `version: 0.1.1` in the frontmatter"), "{bumped}");
    source("0.1.0", "howdy");
    let refused = build();
    assert!(
        refused.code == 10 && refused.stderr.contains("version `0.1.0` of flow `hi` was released before"),
        "{refused}"
    );
    assert!(refused.stderr.contains("hint: write `version: 0.1.1` in the frontmatter of "), "{refused}");
    assert_eq!(home.data(&["flow", "info", "hi"])["frontmatter"]["version"], "0.1.1", "the draft is as it was");
    // A file elsewhere is not the home's flow; what it was is what it may be again.
    assert_eq!(home.rote(&["flow", "build", "main.ts", "--out", "other.wasm"]).code, 0);
    source("0.1.0", "hello");
    assert_eq!(build().code, 0);
    assert_eq!(home.rote(&["flow", "release", "hi"]).code, 0, "the same bytes");
    assert_eq!(home.rote(&["flow", "bump", "hi", "--draft"]).code, 0);
    source("0.1.1", "howdy");
    assert_eq!(build().code, 0);
    assert_eq!(home.rote(&["flow", "release", "hi"]).code, 0);
    assert_eq!(home.data(&["run", "hi"])["result"]["said"], "howdy");
    // A draft of that version that came into the home in another way is not released either, nor by force.
    std::fs::create_dir_all(home.home().join("flows/hi")).unwrap();
    std::fs::copy(home.work().join("other.wasm"), home.home().join("flows/hi/flow.wasm")).unwrap();
    for words in [&["flow", "release", "hi"][..], &["flow", "release", "hi", "--force"]] {
        let refused = home.rote(words);
        assert!(
            refused.code == 10 && refused.stderr.contains("version `0.1.0` of flow `hi` was released"),
            "{refused}"
        );
        assert!(refused.stderr.contains("hint: rote flow bump hi"), "{refused}");
    }
}

#[test]
fn a_new_flow_shows_a_call_that_works_and_an_import_of_nothing_is_refused() {
    let (home, _server) = tracker();
    assert_eq!(home.rote(&["flow", "new", "look", "--lang", "ts"]).code, 0);
    let text = std::io::read_to_string(std::fs::File::open(home.work().join("look/main.ts")).unwrap()).unwrap();
    let text = text.replace(" * # adapters:", " * adapters:").replace(" * #   ", " *   ").replace("  //   ", "  ");
    let text = text.replace("output.result({ text });", "output.result({ text, issues });");
    home.file("look/main.ts", text.replace("{ FlowOutput }", "{ AdapterRegistry, FlowOutput }"));
    let built = home.rote(&["flow", "build", "look"]);
    assert_eq!(built.code, 0, "{built}");
    assert!(home.data(&["run", "look", "who=Ada"])["result"]["issues"].is_array());
    home.file(
        "look/main.ts",
        text.replace("{ FlowOutput }", "{ AdapterRegistry, FlowOutput, rote }") + "export { rote };\n",
    );
    let refused = home.rote(&["flow", "build", "look"]);
    assert!(refused.code == 10 && refused.stderr.contains("`@rote/sdk` exports no `rote`; it exports "), "{refused}");
    assert!(refused.stderr.contains("AdapterRegistry, ") && refused.stderr.contains("Rote, "), "{refused}");
}

#[test]
fn a_missing_target_is_named_before_anything_is_compiled() {
    let home = home();
    let mark = home.work().join("cargo-ran");
    program(&home, "cargo", &format!(": > {}; exit 1", mark.display()));
    program(
        &home,
        "rustc",
        "echo \"error[E0463]: can't find crate for \\`std\\`\" >&2\n\
         echo ' = note: the `wasm32-unknown-unknown` target may not be installed' >&2; exit 1",
    );
    assert_eq!(home.rote(&["flow", "new", "rusty", "--lang", "rust"]).code, 0);
    let path = home.work().join("bin");
    let build =
        |path: &Path| home.invocation(&["flow", "build", "rusty"]).env("PATH", &path.display().to_string()).run();
    let refused = build(&path);
    assert_ne!(refused.code, 0, "{refused}");
    assert!(refused.stderr.contains("the standard library for wasm32-unknown-unknown is not installed"), "{refused}");
    assert!(refused.stderr.contains("hint: rustup target add wasm32-unknown-unknown"), "{refused}");
    assert!(!mark.exists(), "cargo was run");
    // One that has it, or cannot be asked, leaves the rest to cargo.
    program(&home, "rustc", "exit 0");
    assert_ne!(build(&path).code, 0);
    assert!(mark.exists(), "cargo was not run");
}

#[test]
fn a_header_that_goes_around_the_guard_or_the_vault_is_refused() {
    let (home, _server) = tracker();
    let call = |header: &str| home.rote(&["call", "tracker", "listIssues", "-p", "project=atlas", "-H", header]);
    for name in [
        "X-Tunnel-Method",
        "x-verb",
        "X-HTTP-Method",
        "X_HTTP_Method_Override",
        "X-Method-Override",
        "X-Original-URL",
        "x_original_path",
        "X-Original-URI",
        "X-Rewrite-URL",
    ] {
        let header = &format!("{name}: DELETE");
        let run = call(header);
        assert_eq!(run.code, 6, "{header}: {run}");
    }
    for header in ["PRIVATE-TOKEN: abc", "X-Authorization: abc", "X-Access-Token: abc", "X-Api-Key: abc"] {
        let run = call(header);
        assert!(run.code == 6 && run.stderr.contains("carries a credential, which comes from the vault"), "{run}");
        assert!(run.stderr.contains("--api-key-header"), "{run}");
    }
    assert_eq!(call("X-Trace: 7").code, 0);
}

#[test]
fn values_compare_in_all_six_ways() {
    let (home, _server) = tracker();
    assert_eq!(home.rote(&["call", "tracker", "listIssues", "-p", "project=atlas"]).code, 0);
    for (operator, wanted, code) in
        [("-ge", "0", 0), ("-le", "0", 1), ("-ne", "0", 0), ("-ge", "9999", 1), ("-le", "9999", 0), ("-eq", "0", 1)]
    {
        let run = home.rote(&["compare", "@1", "length", operator, wanted]);
        assert_eq!(run.code, code, "{operator} {wanted}: {run}");
    }
}

#[test]
fn to_ask_where_something_is_makes_nothing() {
    let home = home();
    assert_ne!(home.rote(&["where"]).code, 0);
    assert!(!home.home().exists(), "a folder was made");
}

#[test]
fn small_words_do_what_they_do_elsewhere() {
    let home = home();
    for word in ["--version", "-V"] {
        assert_eq!(home.data(&[word])["version"], env!("CARGO_PKG_VERSION"), "{word}");
    }
    assert_eq!(home.rote(&["-V"]).stdout, concat!("rote ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    assert_eq!(home.rote(&["set", "n:=[5]", "m:=\"5\""]).stdout, "$n = [5]\n$m = \"5\"\n");
    let run = home.rote(&["set", "ok=1", "n:=five"]);
    assert!(run.code == 2 && run.stderr.contains("the value of `n` is not JSON"), "{run}");
    assert_eq!(home.data(&["vars"]).as_array().unwrap().len(), 2, "all words are read before the first is set");
}
