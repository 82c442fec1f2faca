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
                let literals = text.split("\"rote ").skip(1).filter_map(|rest| rest.split('"').next());
                let hole = |rest: &str| rest.split_once('}').is_some_and(|(name, _)| !name.contains([' ', '\n', ',']));
                let by_hand = literals.filter(|literal| literal.split('{').skip(1).any(hole));
                found.extend(by_hand.map(|literal| format!("{}: rote {literal}", path.display())));
            }
        }
    }
    let mut found = Vec::new();
    search(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host").canonicalize().unwrap(), &mut found);
    assert!(found.iter().any(|place| place.contains("tests")), "the search finds those of the tests");
    found.retain(|place| !["/bench", "tests", "rote-types/src/command.rs"].iter().any(|part| place.contains(part)));
    assert!(found.is_empty(), "use `rote_types::command`:\n{}", found.join("\n"));
}
