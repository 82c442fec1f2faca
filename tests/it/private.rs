//! What other users, and other programs of the same user, find of rote: nothing that they can read.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rote_testkit::{FakeApi, Invocation, Run, Script, TestHome};
use serde_json::json;

use crate::home;

/// SIGABRT (POSIX), which dumps core where that is not turned off.
const SIGABRT: i32 = 6;

/// Runs `rote` below a shell that sets the surroundings first.
#[expect(clippy::disallowed_methods, reason = "umask and limits are set in a shell")]
fn below(setting: &str, run: &Invocation) -> std::process::Command {
    let command = run.command();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("{setting}; exec \"$@\""), "sh"]).arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(command.get_current_dir().unwrap());
    shell
}

fn with_umask_000(home: &TestHome, words: &[&str]) -> Run {
    let output = below("umask 000", &home.invocation(words)).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        code: output.status.code().unwrap_or(-1),
        killed: false,
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// Everything below a directory that group or others may use.
fn open_to_others(directory: &Path, found: &mut Vec<String>) {
    for entry in directory.read_dir().unwrap().flatten() {
        let metadata = entry.path().symlink_metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            found.push(format!("{mode:03o} {}", entry.path().display()));
        }
        if metadata.is_dir() {
            open_to_others(&entry.path(), found);
        }
    }
}

fn document(api: &FakeApi) -> String {
    let get = json!({ "get": { "operationId": "read", "responses": { "200": { "description": "x" } } } });
    json!({ "openapi": "3.0.3", "info": { "title": "t", "version": "1" }, "servers": [{ "url": api.url() }],
        "paths": { "/x": get } })
    .to_string()
}

#[test]
fn every_file_of_the_home_is_the_owners_alone_whatever_the_umask() {
    let api = FakeApi::start(|_| Script::Json(200, json!({ "id": 1 })));
    let home = home();
    home.file("api.json", document(&api));
    for words in [
        &["adapter", "new", "api", "api.json", "--base-url", &api.url()][..],
        &["init", "w"],
        &["call", "api", "read"],
        &["@1", ".id"],
        &["set", "a=1"],
        &["flow", "template", "create", "--name", "f"],
        &["run", "f"],
        &["flow", "index", "--rebuild"],
        &["flow", "search", "read"],
    ] {
        let run = with_umask_000(&home, words);
        assert_eq!(run.code, 0, "{run}");
    }
    let mut found = Vec::new();
    open_to_others(&home.home(), &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
    // What a person asked to have elsewhere has the mode that the person's umask leaves.
    let run = with_umask_000(&home, &["flow", "decompile", "f", "-o", "f.txt"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(home.work().join("f.txt").metadata().unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads what the kernel says of a process")]
fn a_crash_leaves_no_memory_behind() {
    let api = FakeApi::start(|_| Script::Hang);
    let home = home();
    home.file("api.json", document(&api));
    assert_eq!(home.rote(&["adapter", "new", "api", "api.json", "--base-url", &api.url()]).code, 0);
    let setting = "ulimit -c unlimited 2>/dev/null || ulimit -c hard";
    let mut child = below(setting, &home.invocation(&["call", "api", "read"])).spawn().unwrap();
    let began = Instant::now();
    while api.received().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "the call never came");
        std::thread::yield_now();
    }
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().filter(|word| *word == "0").count(), 2, "{core}");
    let status = std::process::Command::new("kill").args(["-ABRT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let status = child.wait().unwrap();
    assert_eq!((status.signal(), status.core_dumped()), (Some(SIGABRT), false));
}

/// Every directory below the home, deepest last, that a command may create or write in.
fn directories(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in directory.read_dir().unwrap().flatten().filter(|entry| entry.file_type().unwrap().is_dir()) {
        found.push(entry.path());
        directories(&entry.path(), found);
    }
}

/// A flow in TypeScript.
const SOURCE: &str = "/**\n * @rote-frontmatter\n * ---\n * name: written\n * description: Gives seven.\n * ---\n */\n\
    export default async function main() { return { seven: 7 }; }\n";

/// Names, sizes and times of all below a directory.
fn state(directory: &Path) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for entry in directory.read_dir().unwrap().flatten() {
        let metadata = entry.path().symlink_metadata().unwrap();
        let name = entry.path().strip_prefix(directory).unwrap().display().to_string();
        if metadata.is_dir() {
            all.extend(state(&entry.path()).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            all.push(format!("{name} {} {:?}", metadata.len(), metadata.modified().unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test plants links")]
fn no_command_writes_through_a_link_below_the_home() {
    let api = FakeApi::start(|_| Script::Json(200, json!({ "id": 1 })));
    let home = home();
    home.file("api.json", document(&api));
    home.file("flow/main.ts", SOURCE);
    let base_url = api.url();
    let commands: [&[&str]; 8] = [
        &["adapter", "new", "api", "api.json", "--base-url", &base_url, "-y"],
        &["init", "w"],
        &["call", "api", "read"],
        &["flow", "template", "create", "--workspace", "w", "--name", "f", "--force"],
        &["run", "f"],
        &["flow", "index", "--rebuild"],
        &["flow", "build", "flow"],
        &["token", "set", "T", "v-0123456789", "--yes"],
    ];
    for words in commands {
        let run = home.rote(words);
        assert_eq!(run.code, 0, "{run}");
    }
    let mut all = Vec::new();
    directories(&home.home(), &mut all);
    // A run has a folder of its own; sources are written as one tree, of which one directory stands for all.
    let once =
        |directory: &Path| ["/run-", "/src", "/rust/"].iter().any(|part| directory.to_string_lossy().contains(part));
    all.retain(|directory| !once(directory));
    assert!(all.len() > 20, "{all:#?}");
    let outside = home.work().join("outside");
    for directory in all {
        std::fs::rename(&directory, &outside).unwrap();
        std::os::unix::fs::symlink(&outside, &directory).unwrap();
        let before = state(&outside);
        for words in commands {
            let run = home.rote(words);
            assert!((0..=10).contains(&run.code), "{}: {run}", directory.display());
        }
        assert_eq!(state(&outside), before, "{} was written through", directory.display());
        if directory.is_symlink() {
            std::fs::remove_file(&directory).unwrap()
        } else {
            std::fs::remove_dir_all(&directory).unwrap()
        }
        std::fs::rename(&outside, &directory).unwrap();
    }
}

/// Runs a command to its end, which comes whatever it finds.
fn ended(run: &Invocation) -> String {
    let mut child = run.command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            return format!("waits for ever: {run:?}");
        }
        std::thread::yield_now();
    }
    let output = child.wait_with_output().unwrap();
    format!("{}\n--- exit {}", String::from_utf8_lossy(&output.stderr), output.status.code().unwrap_or(-1))
}

fn files(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in directory.read_dir().unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() { files(&entry.path(), found) } else { found.push(entry.path()) }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test plants pipes")]
fn a_pipe_in_place_of_a_file_of_the_home_is_waited_for_by_nobody() {
    let api = FakeApi::start(|_| Script::Json(200, json!({ "id": 1 })));
    let home = home();
    home.file("api.json", document(&api));
    let new = ["adapter", "new", "api", "api.json", "--base-url", &api.url(), "--bearer-token", "T", "-y"];
    for words in [&["token", "set", "T", "v-0123456789", "-y"][..], &new, &["init", "w"], &["call", "api", "read"]] {
        let run = home.rote(words);
        assert_eq!(run.code, 0, "{run}");
    }
    let mut all = Vec::new();
    files(&home.home(), &mut all);
    let outside = home.work().join("outside");
    let mut refused = Vec::new();
    for file in all {
        std::fs::rename(&file, &outside).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        for words in [&["call", "api", "read"][..], &["adapter", "info", "api"], &["token", "list"], &["audit", "tail"]]
        {
            let said = ended(&home.invocation(words));
            assert!(!said.contains("waits for ever"), "{}: {said}", file.display());
            if said.contains("is not a file") && said.ends_with("--- exit 6") {
                refused.push(file.strip_prefix(home.home()).unwrap().display().to_string());
            }
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::rename(&outside, &file).unwrap();
    }
    for name in ["chronicle/journal.db", "secrets/tokens.json", "adapters/api/config/policies.json"] {
        assert!(refused.iter().any(|one| one == name), "{name}: {refused:#?}");
    }
}
