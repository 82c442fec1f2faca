//! Commands that errors and reports name, in whatever crate: each one is there, and so are its options.

use std::path::{Path, PathBuf};

use clap::Command;

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

/// The texts of a file that begin with `rote `, without those of its tests.
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

#[test]
fn every_command_that_a_text_names_is_there() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for package in host.read_dir().unwrap().flatten() {
        sources(&package.path().join("src"), &mut files);
    }
    let mut root = crate::commands::line(None);
    root.build();
    let mut seen = 0;
    let mut wrong = Vec::new();
    for file in files {
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
    let mut root = crate::commands::line(None);
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
