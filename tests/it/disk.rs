//! What a flow can fill the disk with, and what a home does before it is full.

use std::path::Path;

use rote_testkit::{Run, TestHome};
use serde_json::json;

/// A home with the flow `fill`, which does `body` with `rote` and a text `mega` of a megabyte.
fn filling(body: &str) -> TestHome {
    let home = crate::home();
    home.file(
        "main.ts",
        format!(
            "/**\n * @rote-frontmatter\n * ---\n * name: fill\n * description: Fills the disk.\n * ---\n */\n\
             import {{ Rote }} from \"@rote/sdk\";\n\
             export default async function main(): Promise<unknown> {{\n  \
             const rote = await Rote.workspace(\"fill\");\n  const mega = \"x\".repeat(1_000_000);\n  {body}\n}}\n"
        ),
    );
    let run = home.rote(&["flow", "build", "main.ts"]);
    assert_eq!(run.code, 0, "{run}");
    home
}

/// Bytes of the files of all runs.
fn kept(home: &TestHome) -> u64 {
    fn below(folder: &Path) -> u64 {
        let size = |entry: std::fs::DirEntry| match entry.metadata().unwrap() {
            folder if folder.is_dir() => below(&entry.path()),
            file => file.len(),
        };
        folder.read_dir().unwrap().flatten().map(size).sum()
    }
    below(&home.home().join("rote/workspaces"))
}

/// Writes `config/limits.json`.
#[expect(clippy::disallowed_methods, reason = "a test edits a file of the home from outside, as a person does")]
fn bound(home: &TestHome, limits: &serde_json::Value) {
    std::fs::write(home.home().join("config/limits.json"), limits.to_string()).unwrap();
}

fn assert_stopped(run: &Run) {
    assert_eq!(run.code, 9, "{run}");
    let text = "it used up 5242880 bytes of tape, variables, files, arguments and queries";
    assert!(run.stderr.contains(text), "{run}");
    assert!(
        run.stderr.contains("hint: rote run --resume run-fill-") && run.stderr.contains(" --max-disk <more>"),
        "{run}"
    );
}

#[test]
fn what_a_run_keeps_is_bounded_whatever_it_is() {
    for body in [
        "await rote.vars.set(\"v\", mega); for (;;) await rote.vars.get(\"v\");",
        "for (let n = 0; ; n++) await rote.vars.set(`v${n}`, mega);",
        "for (;;) await rote.vars.set(\"v\", mega);",
        "const bytes = new Uint8Array(1_000_000); for (let n = 0; ; n++) await rote.files.write(`f${n}`, bytes);",
        "const bytes = new Uint8Array(1_000_000); for (;;) await rote.files.write(\"f\", bytes);",
    ] {
        let home = filling(body);
        let run = home.rote(&["run", "fill", "--max-disk", "5"]);
        assert_stopped(&run);
        assert!(kept(&home) < 16 << 20, "{body}: {}", kept(&home));
        // What is on the disk counts when the run goes on, and its tape can be read.
        let again = home.rote(&["run", "--resume", "latest", "--max-disk", "5"]);
        assert_stopped(&again);
        assert!(kept(&home) < 16 << 20, "{body}: {}", kept(&home));
    }
}

#[test]
fn nothing_new_begins_when_the_workspaces_take_what_they_may() {
    let home = filling("return 1;");
    assert_eq!(home.data(&["run", "fill"])["result"], 1);
    bound(&home, &json!({"workspaces_bytes": 20_000}));
    for words in [&["run", "fill"][..], &["init", "other"]] {
        let run = home.rote(words);
        assert_eq!(run.code, 9, "{run}");
        assert!(run.stderr.contains("nothing new begins from 20000 bytes on"), "{run}");
        assert!(run.stderr.contains("hint: rote clean --older-than 7d"), "{run}");
    }
    assert_eq!(home.rote(&["ls", "--all"]).code, 0);
    assert_eq!(home.rote(&["clean", "--all"]).code, 0);
    assert_eq!(home.data(&["run", "fill"])["result"], 1);
}

#[test]
fn a_nearly_full_disk_stops_what_would_fill_it_and_nothing_else() {
    let (home, server) = crate::tracker();
    let call = ["call", "tracker", "listIssues", "-p", "project=atlas"];
    assert_eq!(home.rote(&call).code, 0);
    let before = server.requests().len();
    bound(&home, &json!({"free_bytes": u64::MAX}));
    for words in [&call[..], &["init", "other"]] {
        let run = home.rote(words);
        assert_eq!(run.code, 9, "{run}");
        assert!(run.stderr.contains("bytes free, and rote begins nothing below"), "{run}");
    }
    assert_eq!(server.requests().len(), before, "nothing was sent");
    assert_eq!(home.rote(&["ls"]).code, 0);
    assert_eq!(home.rote(&["@1", "length"]).code, 0);
    assert_eq!(home.rote(&["clean", "--all"]).code, 0);
    bound(&home, &json!({}));
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    assert_eq!(home.rote(&call).code, 0);
}
