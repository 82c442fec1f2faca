//! Files of a folder, through the built-in adapter: what an intent owns, and nothing that somebody else changed.

#![expect(clippy::disallowed_methods, reason = "a test is the other program that changes the files")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rote_testkit::{Run, TestHome};
use serde_json::{Value, json};

use crate::home;

const INTENTS: &str = "\
active_intents:
  - id: INT-001   # ours
    status: IN_PROGRESS
    owned_scope: ['src/**', '!src/gen/**']
  - id: INT-002
    status: PENDING
    owned_scope: ['docs/**', 'src/shared.rs']
";

struct Folder(TestHome);

impl Folder {
    fn new() -> Self {
        let home = home();
        home.file("src/a.rs", "one\n");
        let run = home.rote(&["adapter", "new", "fs", "builtin:fs", "--root", ".", "--yes"]);
        assert_eq!(run.code, 0, "{run}");
        assert_eq!(home.rote(&["init", "w"]).code, 0);
        Self(home)
    }

    /// A folder in which an intent is worked on.
    fn in_project() -> Self {
        let folder = Self::new();
        folder.0.file(".orchestration/active_intents.yaml", INTENTS);
        assert_eq!(folder.0.rote(&["intent", "select", "INT-001"]).code, 0);
        folder
    }

    fn call(&self, words: &[&str]) -> Run {
        self.0.rote(&[&["call", "fs"], words].concat())
    }

    fn done(&self, words: &[&str]) {
        let run = self.call(words);
        assert_eq!(run.code, 0, "{words:?}: {run}");
    }

    /// The details of a call that changes nothing.
    fn refused(&self, words: &[&str]) -> Value {
        let before = self.files();
        let run = self.0.rote(&[&["--json", "call", "fs"], words].concat());
        assert!(run.code != 0, "{run}");
        assert_eq!(self.files(), before, "{words:?}");
        run.envelope()["error"]["details"].clone()
    }

    fn rule(&self, words: &[&str]) -> String {
        self.refused(words)["rule"].as_str().unwrap_or_default().to_owned()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.work().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// All files below `src`, with what is in them.
    fn files(&self) -> Vec<(PathBuf, String)> {
        let mut open = vec![self.path("src")];
        let mut files = Vec::new();
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => open.push(entry.path()),
                    kind if kind.is_file() => files.push((entry.path(), fs::read_to_string(entry.path()).unwrap())),
                    _ => {}
                }
            }
        }
        files.sort();
        files
    }
}

/// B-01, B-02 and B-04 of the conformance table of the governance hooks, and B-07.
#[test]
fn the_intent_says_which_files_are_changed() {
    let folder = Folder::new();
    folder.0.file(".orchestration/active_intents.yaml", INTENTS);
    folder.done(&["read_file", "path=src/a.rs"]);
    assert_eq!(folder.rule(&["write_to_file", "path=src/a.rs", "content=x"]), "INTENT_REQUIRED");
    let tail = folder.0.data(&["audit", "tail"]);
    let denied = tail.as_array().unwrap().iter().filter(|event| event["kind"] == "effect.denied");
    let rules: Vec<_> = denied.map(|event| event["body"]["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["INTENT_REQUIRED"]);
    assert_eq!(folder.0.rote(&["intent", "select", "INT-001"]).code, 0);
    folder.done(&["write_to_file", "path=src/x/y.rs", "content=new"]);
    let details = folder.refused(&["write_to_file", "path=docs/z.md", "content=x"]);
    assert_eq!((&details["rule"], &details["target"]), (&json!("SCOPE_VIOLATION"), &json!("docs/z.md")));
    assert_eq!(details["owned_scope"], json!(["src/**", "!src/gen/**"]));
    let details = folder.refused(&["write_to_file", "path=src/gen/g.rs", "content=x"]);
    assert_eq!((&details["rule"], &details["entry"]), (&json!("SCOPE_VIOLATION"), &json!("!src/gen/**")));
    let moved = ["move_file", "source=src/x/y.rs", "destination=src/gen/y.rs"];
    assert_eq!(folder.rule(&moved), "SCOPE_VIOLATION");
    let write = |more: &str| folder.rule(&["write_to_file", "path=src/b.rs", "content=x", more]);
    assert_eq!(write("intent_id=INT-002"), "INTENT_MISMATCH");
    assert_eq!(write("mutation_class=FREEFORM"), "INVALID_METADATA");
    folder.done(&["write_to_file", "path=src/b.rs", "content=x", "mutation_class=AST_REFACTOR", "intent_id=INT-001"]);
}

/// B-05: the path that a file really has counts, and not how it is written.
#[test]
fn no_spelling_of_a_path_leads_out() {
    let folder = Folder::in_project();
    let outside = folder.path("../outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, folder.path("src/link")).unwrap();
    symlink("../.orchestration", folder.path("src/orchestration")).unwrap();
    fs::create_dir_all(folder.path("src/gen")).unwrap();
    symlink("gen", folder.path("src/alias")).unwrap();
    let absolute = outside.join("x").display().to_string();
    for (path, rule) in [
        ("src/../../etc/x", "SCOPE_VIOLATION"),
        ("src/link/x", "SCOPE_VIOLATION"),
        ("src/./link/../../x", "SCOPE_VIOLATION"),
        (absolute.as_str(), "SCOPE_VIOLATION"),
        ("/etc/passwd", "SCOPE_VIOLATION"),
        ("src/alias/x", "SCOPE_VIOLATION"),
        ("src/../docs/x", "SCOPE_VIOLATION"),
        ("src/orchestration/active_intents.yaml", "PROTECTED_PATH"),
        (".orchestration/agent_trace.jsonl", "PROTECTED_PATH"),
        (".git/hooks/post-commit", "PROTECTED_PATH"),
        ("src/.git/config", "PROTECTED_PATH"),
    ] {
        assert_eq!(folder.rule(&["write_to_file", &format!("path={path}"), "content=x"]), rule, "{path}");
    }
    assert_eq!(folder.rule(&["read_file", "path=src/link/x"]), "SCOPE_VIOLATION");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
    assert_eq!(folder.text(".orchestration/active_intents.yaml"), INTENTS);
}

/// B-06: the file of intents is read at each write.
#[test]
fn an_intent_that_a_person_ends_lets_nothing_be_changed() {
    let folder = Folder::in_project();
    folder.done(&["write_to_file", "path=src/new.rs", "content=1"]);
    folder.0.file(".orchestration/active_intents.yaml", &INTENTS.replace("IN_PROGRESS", "COMPLETED"));
    let details = folder.refused(&["write_to_file", "path=src/new.rs", "content=2"]);
    assert_eq!((&details["rule"], &details["status"]), (&json!("INTENT_NOT_ACTIVE"), &json!("COMPLETED")));
    folder.0.file(".orchestration/active_intents.yaml", &INTENTS.replace("PENDING", "IN_PROGRESS"));
    folder.done(&["write_to_file", "path=src/new.rs", "content=2"]);
    let details = folder.refused(&["write_to_file", "path=src/shared.rs", "content=x"]);
    assert_eq!(
        (&details["rule"], &details["owner_intent_id"]),
        (&json!("OWNERSHIP_CONFLICT"), &json!("INT-002"))
    );
}

/// B-08 and B-09.
#[test]
fn what_somebody_else_did_to_a_file_stays() {
    let folder = Folder::in_project();
    let write = ["write_to_file", "path=src/a.rs", "content=mine"];
    let unseen = folder.refused(&write);
    assert_eq!((&unseen["rule"], &unseen["expected_hash"]), (&json!("STALE_FILE"), &Value::Null));
    folder.done(&["read_file", "path=src/a.rs", "end_line=1"]);
    folder.0.file("src/a.rs", "theirs\n");
    let stale = folder.refused(&write);
    assert_eq!(stale["rule"], "STALE_FILE");
    assert_eq!(stale["resolution"], "RE_READ_REQUIRED");
    for member in ["expected_hash", "actual_hash"] {
        assert!(stale[member].as_str().unwrap().starts_with("sha256:"), "{stale}");
    }
    assert_eq!(folder.0.rote(&["--json", "call", "fs", write[0], write[1], write[2]]).code, 10);
    assert_eq!(folder.text("src/a.rs"), "theirs\n");
    folder.done(&["read_file", "path=src/a.rs"]);
    folder.done(&write);
    // What it wrote itself it has seen.
    folder.done(&["edit_file", "path=src/a.rs", "old_text=mine", "new_text=ours"]);
    assert_eq!(folder.text("src/a.rs"), "ours");
    fs::remove_file(folder.path("src/a.rs")).unwrap();
    assert_eq!(folder.refused(&write)["actual_hash"], Value::Null);
    assert_eq!(folder.call(&["read_file", "path=src/late.rs"]).code, 8);
    folder.0.file("src/late.rs", "theirs");
    let late = folder.refused(&["write_to_file", "path=src/late.rs", "content=mine"]);
    assert_eq!((&late["rule"], &late["expected_hash"]), (&json!("STALE_FILE"), &Value::Null));
    assert_eq!(folder.text("src/late.rs"), "theirs");
}

/// B-10: of two who read the same, one writes.
#[test]
fn of_two_agents_one_writes() {
    let folder = Folder::in_project();
    for workspace in ["one", "two"] {
        assert_eq!(folder.0.rote(&["init", workspace]).code, 0);
        assert_eq!(folder.0.rote(&["intent", "select", "INT-001"]).code, 0);
        assert_eq!(folder.0.rote(&["call", "fs", "read_file", "path=src/a.rs", "-w", workspace]).code, 0);
    }
    let write = |workspace: &str| {
        let content = format!("content={workspace}");
        folder.0.rote(&["call", "fs", "write_to_file", "path=src/a.rs", &content, "-w", workspace])
    };
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| write("one"));
        (write("two"), one.join().unwrap())
    });
    let mut codes = [one.code, two.code];
    codes.sort_unstable();
    assert_eq!(codes, [0, 10], "{one}{two}");
    let written = folder.text("src/a.rs");
    assert!(written == "one" || written == "two", "{written}");
}

#[test]
fn deleting_asks_and_the_question_names_the_file() {
    let folder = Folder::in_project();
    folder.done(&["read_file", "path=src/a.rs"]);
    let run = folder.call(&["delete_file", "path=src/a.rs"]);
    assert_eq!(run.code, 5, "{run}");
    assert!(run.to_string().contains("it deletes the file `src/a.rs`"), "{run}");
    let token = run.to_string().split("--confirm ").nth(1).unwrap()[..16].to_owned();
    // The word was for the file as it was.
    folder.0.file("src/a.rs", "something else");
    assert_eq!(folder.call(&["delete_file", "path=src/a.rs", "--confirm", &token]).code, 10);
    folder.done(&["read_file", "path=src/a.rs"]);
    let again = folder.call(&["delete_file", "path=src/a.rs", "--confirm", &token]);
    assert_eq!(again.code, 5, "{again}");
    let token = again.to_string().rsplit("--confirm ").next().unwrap()[..16].to_owned();
    folder.done(&["delete_file", "path=src/a.rs", "--confirm", &token]);
    assert!(!folder.path("src/a.rs").exists());
}

/// What is masked in an answer is not written back over the secret.
#[test]
fn a_mask_does_not_take_the_place_of_a_secret() {
    let folder = Folder::new();
    let set = folder.0.invocation(&["token", "set", "SHOP_KEY", "--stdin", "--yes"]);
    let run = set.input("s3cr3t-of-the-shop").run();
    assert_eq!(run.code, 0, "{run}");
    folder.0.file("src/env", "KEY=s3cr3t-of-the-shop\nMODE=dev\n");
    let read = folder.0.data(&["call", "fs", "read_file", "path=src/env"]);
    assert!(!read.to_string().contains("s3cr3t"), "{read}");
    assert_eq!(folder.rule(&["write_to_file", "path=src/env", "content=KEY=<SHOP_KEY> MODE=live"]), "file.masked");
    folder.done(&["edit_file", "path=src/env", "old_text=dev", "new_text=live"]);
    assert_eq!(folder.text("src/env"), "KEY=s3cr3t-of-the-shop\nMODE=live\n");
}

#[test]
fn a_folder_is_named_by_a_person() {
    let home = home();
    let new = |words: &[&str]| home.rote(&[&["adapter", "new", "fs"], words].concat());
    let unasked = new(&["builtin:fs", "--root", "."]);
    assert_eq!(unasked.code, 5, "{unasked}");
    assert!(unasked.to_string().contains("read and change the files"), "{unasked}");
    for (words, code, said) in [
        (&["builtin:fs"][..], 2, "--root DIR"),
        (&["builtin:fs", "--root", ".", "--base-url", "http://127.0.0.1:1"], 2, "nothing is sent"),
        (&["builtin:fs", "--root", "nowhere"], 2, "cannot be the folder"),
        (&["builtin:fs", "--root", home.home().to_str().unwrap()], 2, "rote's own home"),
        (&["builtin:shell", "--root", "."], 3, "rote has `builtin:fs`"),
    ] {
        let run = new(&[words, &["--yes"]].concat());
        assert!(run.code == code && run.to_string().contains(said), "{words:?}: {run}");
    }
    assert_eq!(new(&["builtin:fs", "--root", ".", "--yes"]).code, 0);
    let other = home.rote(&["adapter", "set", "fs", "base_url", "http://127.0.0.1:1/", "--yes"]);
    assert!(other.code == 2 && other.to_string().contains("works in a folder"), "{other}");
}
