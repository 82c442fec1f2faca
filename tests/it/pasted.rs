//! Commands that rote prints, given to a shell: each word arrives as it was meant, and nothing else runs.

use std::process::Command;

use rote_testkit::{FakeApi, Run, Script, TestHome};
use serde_json::{Value, json};

use crate::{home, tracker};

/// What a remote could answer so that a person who pastes the next command runs another one.
const INJECTED: &str = "x'; touch pwned; echo '";

/// Returns the command behind `next: ` or `hint: `.
#[expect(clippy::panic, reason = "the test fails, with what it saw")]
fn printed<'a>(run: &'a Run, label: &str) -> &'a str {
    run.stderr.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_else(|| panic!("no `{label}`: {run}")).trim()
}

/// Runs a printed command with a `rote` that prints its words.
#[expect(clippy::disallowed_methods, reason = "what a person does with a printed command")]
fn paste(home: &TestHome, command: &str) -> Vec<String> {
    let script = format!("rote() {{ for word in \"$@\"; do printf '%s\\000' \"$word\"; done; }}\n{command}\n");
    let output = Command::new("sh").args(["-c", &script]).current_dir(home.work()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{command}: {output:?}");
    assert!(!home.work().join("pwned").exists(), "`{command}` ran something else");
    String::from_utf8(output.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn a_recorded_value_stays_one_word_of_the_next_command() {
    let (home, _server) = tracker();
    let body = format!("body={INJECTED}");
    let words = ["call", "tracker", "addComment", "-p", "project=atlas", "-p", "number=1", "-p", &body];
    let run = home.rote(&words);
    assert_eq!(run.code, 0, "{run}");
    let run = home.rote(&["flow", "template", "create", "--name", "note", "--param", "body"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(paste(&home, printed(&run, "next: ")), ["run", "note", &body]);
}

#[test]
fn arguments_of_a_refused_write_stay_one_word_of_the_hint() {
    let (home, _server) = tracker();
    let project = format!("{INJECTED}\u{202e}");
    let run = home.rote(&["call", "tracker", "deleteProject", "-p", &format!("project={project}")]);
    assert_eq!(run.code, 5, "{run}");
    let pasted = paste(&home, printed(&run, "hint: "));
    let arguments: Value = serde_json::from_str(&pasted[3]).unwrap();
    assert_eq!(arguments["project"], project);
    assert!(!run.stderr.contains('\u{202e}'), "{run}");
}

#[test]
fn names_of_a_description_are_neither_options_nor_paths() {
    let ids = ["--help", "-w", "-", "..", "../../../tmp/pwn", "/etc/passwd", "", "a\u{1b}[2Jb", &"x".repeat(300)];
    let api = FakeApi::start(|_| Script::Json(200, json!({})));
    let paths: serde_json::Map<String, Value> = ids
        .iter()
        .enumerate()
        .map(|(place, id)| {
            let parameters = json!([{ "name": "--confirm", "in": "query", "schema": { "type": "string" } }]);
            let delete =
                json!({ "operationId": id, "parameters": parameters, "responses": { "200": { "description": "" } } });
            (format!("/p{place}"), json!({ "delete": delete }))
        })
        .collect();
    let home = home();
    let document = json!({ "openapi": "3.0.3", "info": { "title": "t", "version": "1" }, "paths": paths });
    home.file("api.json", document.to_string());
    let run = home.rote(&["adapter", "new", "names", "api.json", "--base-url", &api.url()]);
    assert_eq!(run.code, 0, "{run}");
    let tools = home.data(&["adapter", "info", "names"])["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), ids.len(), "{names:?}");
    for name in names {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c));
        assert!(plain && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.len() <= 64, "{name}");
        assert!(!name.split('/').any(|part| matches!(part, "" | "." | "..")), "{name}");
        // The command of a refusal is complete: pasted, it makes the call, and the parameter keeps its name on the wire.
        let run = home.rote(&["call", "names", name, "-p", "confirm-a2d03be7=x"]);
        assert_eq!(run.code, 5, "{run}");
        let words = paste(&home, printed(&run, "hint: "));
        let run = home.rote(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(run.code, 0, "{run}");
    }
    let sent = api.received();
    assert_eq!(sent.len(), ids.len());
    assert!(sent.iter().all(|request| request.target.ends_with("?--confirm=x")), "{sent:?}");
}

/// Every line that is a command, of all that was printed.
fn commands(run: &Run) -> Vec<String> {
    commands_of(&format!("{}\n{}", run.stdout, run.stderr))
}

/// The same of a text.
pub(crate) fn commands_of(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let line = line.trim_start();
        ["hint: ", "next: ", "fix: "].iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line)
    });
    lines.filter(|line| line.starts_with("rote ")).map(str::to_owned).collect()
}

/// Runs a printed command as it is, in a shell that knows nothing but where `rote` is, in another folder.
#[expect(clippy::disallowed_methods, reason = "what a person does with a printed command")]
fn run_elsewhere(home: &TestHome, line: &str) -> (i32, String) {
    let elsewhere = home.work().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let rote = home.invocation(&[]).command().get_program().to_string_lossy().into_owned();
    let script = format!("rote() {{ {rote} \"$@\"; }}\n{line}\n");
    let shell = Command::new("/bin/sh").args(["-c", &script]).env_clear().current_dir(&elsewhere).output().unwrap();
    assert_eq!(elsewhere.read_dir().unwrap().count(), 0, "`{line}` left something in the folder");
    let text = String::from_utf8_lossy(&shell.stdout).into_owned() + &String::from_utf8_lossy(&shell.stderr);
    (shell.status.code().unwrap_or(-1), text)
}

/// An API with a read, a write and one that destroys, installed as `shop` in a home that no variable names.
struct Shop {
    api: FakeApi,
    home: TestHome,
}

impl Shop {
    fn new() -> Self {
        let api = FakeApi::start(|request| {
            if request.target.contains("lost") { Script::Close } else { Script::Json(200, json!({ "n": 1 })) }
        });
        let home = home();
        let which = json!([{ "name": "which", "in": "query", "schema": { "type": "string" } }]);
        let operation =
            |id: &str| json!({ "operationId": id, "parameters": which, "responses": { "200": { "description": "" } } });
        let paths =
            json!({ "/a": { "get": operation("look"), "post": operation("write"), "delete": operation("drop") } });
        let document = json!({ "openapi": "3.1.0", "info": { "title": "t", "version": "1" }, "paths": paths });
        home.file("api.json", document.to_string());
        let shop = Self { api, home };
        shop.install("shop");
        shop.ok(&["init", "w"]);
        shop
    }

    fn install(&self, id: &str) {
        let url = self.api.url();
        self.ok(&["adapter", "new", id, "api.json", "--base-url", &url, "--bearer-token", "KEY", "--yes"]);
    }

    /// A relative home, and not the one that the environment names.
    fn rote(&self, words: &[&str]) -> Run {
        self.home.rote(&[&["--home", "of its own", "-w", "w"], words].concat())
    }

    fn ok(&self, words: &[&str]) {
        let run = self.rote(words);
        assert_eq!(run.code, 0, "{run}");
    }

    /// Checks that a printed line names the home.
    fn check(&self, line: &str) {
        let named = format!("rote --home '{}' ", self.home.work().join("of its own").display());
        assert!(line.starts_with(&named), "{line}");
    }

    /// Runs a printed line elsewhere, and what it says has to be run instead where it asks.
    fn run(&self, line: &str) {
        self.check(line);
        let (code, text) = run_elsewhere(&self.home, line);
        assert_eq!(code, 0, "{line}: {text}");
    }

    fn run_again(&self, line: &str) {
        self.check(line);
        let (code, text) = run_elsewhere(&self.home, line);
        assert_eq!(code, 5, "{line}: {text}");
        self.run(text.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap());
    }
}

#[test]
fn every_printed_command_works_in_another_folder_with_an_empty_environment() {
    let shop = Shop::new();
    // A missing credential: the hint wants its value.
    let run = shop.rote(&["call", "shop", "look"]);
    assert_eq!((run.code, commands(&run).len()), (4, 1), "{run}");
    let line = commands(&run).remove(0);
    shop.check(&line);
    let (code, text) = run_elsewhere(&shop.home, &format!("printf value-0123456789 | {line} --stdin --yes"));
    assert_eq!(code, 0, "{line}: {text}");
    shop.ok(&["call", "shop", "look"]);
    // One that nobody bound.
    shop.ok(&["token", "delete", "KEY", "--yes"]);
    shop.install("other");
    shop.ok(&["token", "delete", "KEY", "--yes"]);
    shop.ok(&["token", "set", "KEY", "value-0123456789", "--yes"]);
    shop.run_again(&commands(&shop.rote(&["batch", "shop", r#"[{"tool_name": "look"}]"#])).remove(0));
    // A write that has to be confirmed, in text and as data.
    let run = shop.rote(&["call", "shop", "drop", "-p", "which=a b"]);
    assert_eq!(run.code, 5, "{run}");
    let line = commands(&run).remove(0);
    let data = shop.rote(&["call", "shop", "drop", "-p", "which=a b", "--json"]).envelope()["error"].clone();
    assert_eq!(data["hint"], data["details"]["command"]);
    shop.run(&line);
    shop.run(data["hint"].as_str().unwrap());
    assert!(shop.api.received().iter().any(|one| one.method == "DELETE" && one.target.contains("which=a")));
    assert!(!shop.home.home().join("config").exists(), "nothing was done in another home");
}

#[test]
fn every_way_out_of_a_doubt_works_in_another_folder_with_an_empty_environment() {
    let shop = Shop::new();
    shop.ok(&["token", "set", "KEY", "value-0123456789", "--yes"]);
    // Each way out that is shown, one by one.
    for at in 0..6 {
        let run = shop.rote(&["call", "shop", "write", "-p", "which=lost"]);
        assert_eq!(run.code, 8, "{run}");
        let listed = shop.rote(&["doubts"]);
        let (told, listed) = (commands(&run), commands(&listed));
        assert!(told.iter().all(|line| listed.contains(line)), "{told:?} {listed:?}");
        told.iter().chain(&listed).for_each(|line| shop.check(line));
        let settling: Vec<&String> = told.iter().chain(&listed).filter(|line| line.contains("doubts settle")).collect();
        assert_eq!(settling.len(), 6, "{told:?}");
        shop.run_again(settling[at]);
    }
    assert!(shop.rote(&["doubts"]).stdout.contains("no write is in doubt"));
    assert!(!shop.home.home().join("config").exists(), "nothing was done in another home");
}

/// One place quotes: a literal that begins like a command and has a hole would be a second one.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads the sources")]
fn no_source_writes_a_command_by_hand() {
    fn search(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                search(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let hole = |rest: &str| {
                    let joins = |c: char| c.is_whitespace() || c == ',' || c.is_ascii_uppercase();
                    rest.split_once('}').is_some_and(|(name, _)| !name.contains(joins))
                };
                for begins in ["rote ", "--"] {
                    let start = format!("\"{begins}");
                    let literals = text.split(&start).skip(1).filter_map(|rest| rest.split('"').next());
                    // What is not named, such as `--{boundary}`, is not an option.
                    let is_word = |literal: &str| literal.starts_with(|c: char| c.is_ascii_lowercase());
                    let named = literals.filter(|literal| begins != "--" || is_word(literal));
                    let by_hand = named.filter(|literal| literal.split('{').skip(1).any(hole));
                    found.extend(by_hand.map(|literal| format!("{}: {begins}{literal}", path.display())));
                }
            }
        }
    }
    let mut found = Vec::new();
    search(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host").canonicalize().unwrap(), &mut found);
    assert!(found.iter().any(|place| place.contains("tests")), "the search finds those of the tests");
    found.retain(|place| !["/bench", "tests", "rote-types/src/command.rs"].iter().any(|part| place.contains(part)));
    assert!(found.is_empty(), "use `rote_types::command`:\n{}", found.join("\n"));
}
