//! Commands that errors and reports name, in whatever crate: each one is there, and so are its options; and those that come next
//! are run as they are printed (`hints.txt`).

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "a test reads the sources, does what a person does with a printed command, and fails with what it saw"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::json;

use crate::pasted::commands_of;
use crate::tracker;

/// Words that stand for a command that the text does not spell out.
const OPEN: [&str; 6] = ["@", "{", "<", "-", "ID", "…"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The texts of a source that begin with `rote `, without those of its tests.
fn commands(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let begun = |line: &str| -> Vec<String> {
        let texts = line.split("\"rote ").skip(1).map(|text| text.replace("\\\"", "'"));
        texts.map(|text| text.split(['"', '`']).next().unwrap().to_owned()).collect()
    };
    lines.flat_map(begun).collect()
}

/// Says what is wrong with a command; only its names are looked at, as its values stand open.
fn problem(root: &Command, text: &str) -> Option<String> {
    let words = text.split("\\n").next().unwrap().split_whitespace();
    let mut command = root;
    let mut named = false;
    for word in words {
        let bare = word.trim_matches(|c: char| "[](),:;.'".contains(c));
        if let Some(below) = command.find_subcommand(bare) {
            (command, named) = (below, true);
        } else if !named {
            return (!OPEN.iter().any(|open| bare.starts_with(open))).then(|| format!("there is no command `{bare}`"));
        } else if command.is_subcommand_required_set() && !OPEN.iter().any(|open| bare.starts_with(open)) {
            return Some(format!("`{}` has no command `{bare}`", command.get_name()));
        } else if let Some(long) = bare.strip_prefix("--").filter(|long| !long.is_empty()) {
            let long = long.split('=').next().unwrap();
            let known = command.get_arguments().any(|one| one.get_long() == Some(long)) || long == "help";
            if !known && !long.starts_with('{') {
                return Some(format!("`{}` has no option `--{long}`", command.get_name()));
            }
        }
    }
    None
}

/// All sources of the program.
fn all_sources() -> Vec<PathBuf> {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host");
    let mut files = Vec::new();
    for package in host.read_dir().unwrap().flatten() {
        sources(&package.path().join("src"), &mut files);
    }
    files
}

#[test]
fn every_command_that_a_text_names_is_there() {
    let mut root = rote_cli::commands::Cli::command();
    root.build();
    let mut seen = 0;
    let mut wrong = Vec::new();
    for file in all_sources() {
        for text in commands(&std::fs::read_to_string(&file).unwrap()) {
            seen += 1;
            wrong.extend(problem(&root, &text).map(|why| format!("{}: `rote {text}`: {why}", file.display())));
        }
    }
    assert!(seen > 150, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_command_that_is_not_there_is_found() {
    let mut root = rote_cli::commands::Cli::command();
    root.build();
    for text in ["flo list", "flow lst", "flow list --al", "run x --resum y"] {
        assert!(problem(&root, text).is_some(), "{text}");
    }
    for text in [
        "flow search --all x",
        "run {name} --resume {run}",
        "@1 '.'",
        "token set NAME --stdin",
        "adapter new <id> --spec <file>",
    ] {
        assert_eq!(problem(&root, text), None, "{text}");
    }
}

/// The commands that come next, and how each comes about.
const TABLE: &str = include_str!("hints.txt");

/// One of them.
#[derive(Debug, Default)]
struct Row {
    text: &'static str,
    make: Vec<&'static str>,
    says: &'static str,
    fill: Vec<&'static str>,
    ends: i32,
}

/// The rows of the table, and the texts that are printed in no situation that can be made here.
fn table() -> (Vec<Row>, Vec<&'static str>) {
    let (mut rows, mut none) = (Vec::<Row>::new(), Vec::new());
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap();
        let row = rows.last_mut();
        match (word, row) {
            ("hint", _) => rows.push(Row { text: rest, ..Row::default() }),
            ("none", _) => {
                let (text, reason) = rest.split_once(" -- ").unwrap();
                assert!(!reason.is_empty(), "{line}");
                none.push(text);
            }
            ("make", Some(row)) => row.make.push(rest),
            ("says", Some(row)) => row.says = rest,
            ("fill", Some(row)) => row.fill.push(rest),
            ("ends", Some(row)) => row.ends = rest.parse().unwrap(),
            _ => panic!("{line}"),
        }
    }
    (rows, none)
}

#[test]
fn every_text_that_is_a_command_is_in_the_table() {
    let is_label = |file: &PathBuf| file.components().any(|part| part.as_os_str() == "bench");
    let texts = all_sources().into_iter().filter(|file| !is_label(file)).flat_map(|file| {
        let source = std::fs::read_to_string(file).unwrap();
        commands(&source)
    });
    let printed: BTreeSet<String> = texts.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect();
    let (rows, none) = table();
    let known: BTreeSet<&str> = rows.iter().map(|row| row.text).chain(none).collect();
    // Several ways in one text: the first is the one that is run.
    let is_known = |text: &&String| {
        let first = text.split(", ").next().unwrap();
        known.contains(text.as_str()) || known.contains(first)
    };
    let missing: Vec<&String> = printed.iter().filter(|text| !is_known(text)).collect();
    assert!(missing.is_empty(), "in no row of `hints.txt`: {missing:#?}");
    let is_printed = |text: &&&str| printed.iter().any(|one| one == **text || one.split(", ").next() == Some(**text));
    let stale: Vec<&&str> = known.iter().filter(|text| !is_printed(text)).collect();
    assert!(stale.is_empty(), "printed nowhere any more: {stale:#?}");
}

/// What a shell makes of a line in the folder of a home.
fn shell(home: &TestHome, line: &str) -> (i32, String) {
    let rote = home.invocation(&[]).command().get_program().to_string_lossy().into_owned();
    let mut shell = std::process::Command::new("sh");
    let path = std::env::var_os("PATH").unwrap_or_default();
    shell.args(["-c", &format!("rote() {{ {rote} \"$@\"; }}\n{line}\n")]).current_dir(home.work());
    shell.env_clear().env("PATH", path).env("ROTE_HOME", home.home()).stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + "\n" + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text)
}

/// Puts what a person would into the holes of a command.
fn filled(line: &str, fill: &[&str]) -> String {
    fill.iter().fold(line.to_owned(), |line, pair| {
        // The hole may have an equals sign of its own.
        let mut splits = pair.match_indices('=').map(|(at, _)| (&pair[..at], &pair[at + 1..]));
        let (hole, word) = splits.rfind(|(hole, _)| line.contains(hole)).unwrap_or_else(|| panic!("{pair}: {line}"));
        line.replace(hole, word)
    })
}

/// Checks one row: what is printed for it, run as it is printed, does what it says.
fn run(home: &TestHome, row: &Row) {
    row.make.iter().for_each(|line| drop(shell(home, line)));
    let (code, said) = shell(home, row.says);
    let begins = |line: &String| {
        let words = ["--home ", "-w "].iter().find_map(|option| line.strip_prefix("rote ")?.strip_prefix(option));
        let bare = words.map_or(&line[5..], |rest| rest.split_once(' ').map_or("", |(_, rest)| rest));
        let behind = bare.strip_prefix(row.text);
        behind.is_some_and(|rest| {
            rest.starts_with([' ', ',', '\'', '\"']) || rest.is_empty() || row.text.ends_with(['{', '@'])
        })
    };
    let printed = commands_of(&said).into_iter().find(begins);
    let printed =
        printed.unwrap_or_else(|| panic!("`rote {}` is not printed by `{}`: {code}\n{said}", row.text, row.says));
    let first = printed.split(", or ").next().unwrap().split(", --").next().unwrap();
    let line = filled(first, &row.fill);
    let (code, text) = match shell(home, &line) {
        // It asks, and prints how it is done unasked.
        (5, text) => shell(home, &commands_of(&text)[0]),
        ended => ended,
    };
    assert_eq!(code, row.ends, "`{line}`, printed by `{}`:\n{text}", row.says);
}

#[test]
fn every_command_that_is_printed_as_the_next_one_works() {
    let (home, _server) = tracker();
    let api = FakeApi::start(|request| {
        if request.target.contains("lost") { Script::Close } else { Script::Json(200, json!({ "n": 1 })) }
    });
    let which = json!([{ "name": "which", "in": "query", "schema": { "type": "string" } }]);
    let operation =
        |id: &str| json!({ "operationId": id, "parameters": which, "responses": { "200": { "description": "" } } });
    let paths = BTreeMap::from([("/a", json!({ "get": operation("look"), "post": operation("write") }))]);
    home.file(
        "shop.json",
        json!({ "openapi": "3.1.0", "info": { "title": "t", "version": "1" }, "paths": paths }).to_string(),
    );
    let installed = home.rote(&["adapter", "new", "shop", "shop.json", "--base-url", &api.url()]);
    assert_eq!(installed.code, 0, "{installed}");
    let (rows, _) = table();
    assert!(rows.len() > 50, "{}", rows.len());
    rows.iter().for_each(|row| run(&home, row));
}
