//! Paths that lead out, files that others change, and folders that others swap.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rote_home::Home;
use rote_types::{Classify, sha256};
use rote_workspace::SeenFile;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Doing;
use super::commit::Commit;
use super::task::Task;
use crate::departure::Departure;
use crate::effect::answer::Answered;
use crate::effect::place::{Place, Root};
use crate::file_refusal::FileRefusal;

struct Folder {
    _dir: TempDir,
    root: PathBuf,
    outside: PathBuf,
    home: Home,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let whole = dir.path().canonicalize().unwrap();
        let (root, outside) = (whole.join("root"), whole.join("outside"));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(root.join("a/file"), "one\ntwo\n").unwrap();
        fs::write(outside.join("file"), "secret").unwrap();
        let home = Home::open(whole.join("home")).unwrap();
        Self { _dir: dir, root, outside, home }
    }

    fn opened(&self) -> Root {
        let base = url::Url::from_file_path(&self.root).unwrap();
        Root::open(&"fs".parse().unwrap(), Some(base.as_str())).unwrap()
    }

    fn task(&self, tool: &str, arguments: Value) -> Result<(Task, Place), FileRefusal> {
        Task::read(&self.opened(), tool, &arguments).map(|found| found.unwrap())
    }

    /// Makes a change of what is there now.
    fn change(&self, tool: &str, arguments: Value) -> Result<Answered, FileRefusal> {
        let root = self.opened();
        let (task, place) = self.task(tool, arguments)?;
        let expected = root.look(&place)?;
        self.change_from(&root, (&task, &place), expected)
    }

    fn change_from(
        &self,
        root: &Root,
        (task, place): (&Task, &Place),
        expected: SeenFile,
    ) -> Result<Answered, FileRefusal> {
        let commit = Commit { root, home: &self.home, place, expected, departure: &Departure::default() };
        commit.make(task).map(|(said, _)| said)
    }

    fn look(&self, tool: &str, arguments: Value) -> Answered {
        let (task, place) = self.task(tool, arguments).unwrap();
        Doing { root: self.opened(), task, place }.look().unwrap().0
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Every path below the folder.
    fn names(&self) -> Vec<String> {
        let said = self.look("list_files", json!({ "recursive": true }));
        said.body["entries"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect()
    }
}

fn code<T>(result: Result<T, FileRefusal>) -> &'static str {
    result.err().map_or("", |refusal| refusal.code())
}

/// Every path of up to four of these parts leads to what is in the folder, or is refused.
#[test]
fn no_path_leads_out() {
    let folder = Folder::new();
    symlink("..", folder.root.join("a/up")).unwrap();
    symlink("../../..", folder.root.join("a/out")).unwrap();
    symlink(&folder.outside, folder.root.join("abs")).unwrap();
    symlink("nowhere", folder.root.join("lost")).unwrap();
    symlink("b", folder.root.join("a/in")).unwrap();
    let root = folder.opened();
    let parts = ["a", "b", "..", ".", "up", "out", "abs", "lost", "in", "file", "new"];
    let mut paths = vec![PathBuf::new()];
    let (mut inside, mut refused) = (0, 0);
    for _ in 0..4 {
        paths = paths.iter().flat_map(|path| parts.map(|part| path.join(part))).collect();
        for path in &paths {
            match root.resolve(path.to_str().unwrap()) {
                Ok(place) => {
                    inside += 1;
                    let whole = folder.root.join(&place.inside);
                    let there = whole.ancestors().find(|one| one.symlink_metadata().is_ok()).unwrap();
                    assert_eq!(there.canonicalize().unwrap(), there, "{path:?}");
                    assert!(there.starts_with(&folder.root), "{path:?}");
                    if let Ok(real) = folder.root.join(path).canonicalize() {
                        assert_eq!(real, whole, "{path:?}");
                    }
                }
                Err(_) => {
                    refused += 1;
                    // It leaves on the way, leads nowhere, or there is something wrong with it.
                    let walked = path.components().scan(folder.root.clone(), |at, part| {
                        *at = at.join(part).canonicalize().unwrap_or_default();
                        Some(at.starts_with(&folder.root))
                    });
                    assert!(walked.into_iter().any(|inside| !inside), "{path:?}");
                }
            }
        }
    }
    assert!(inside > 1_000 && refused > 1_000, "{inside} {refused}");
    for (path, expected) in [
        ("../outside/file", "SCOPE_VIOLATION"),
        ("abs/file", "SCOPE_VIOLATION"),
        ("a/out/outside/file", "SCOPE_VIOLATION"),
        ("/etc/passwd", "SCOPE_VIOLATION"),
        ("lost", "file.path"),
        ("a/file/x", "file.path"),
        ("new/../a", "file.path"),
        ("a\0b", "file.path"),
        (&"a/".repeat(300), "file.path"),
        (&"x".repeat(5_000), "file.path"),
    ] {
        assert_eq!(code(root.resolve(path)), expected, "{path:?}");
    }
    let absolute = folder.root.join("a/./b/../file");
    assert_eq!(root.resolve(absolute.to_str().unwrap()).unwrap().inside, "a/file");
}

#[test]
fn a_folder_that_becomes_a_link_meanwhile_is_not_followed() {
    let folder = Folder::new();
    let root = folder.opened();
    let (task, place) = folder.task("write_to_file", json!({ "path": "a/file", "content": "x" })).unwrap();
    let expected = root.look(&place).unwrap();
    fs::rename(folder.root.join("a"), folder.root.join("old")).unwrap();
    symlink(&folder.outside, folder.root.join("a")).unwrap();
    assert!(folder.change_from(&root, (&task, &place), expected).is_err());
    // What the link leads to is the very file that was seen.
    fs::write(folder.outside.join("file"), "one\ntwo\n").unwrap();
    assert!(folder.change_from(&root, (&task, &place), expected).is_err());
    assert_eq!(fs::read_to_string(folder.outside.join("file")).unwrap(), "one\ntwo\n");
    let (task, place) = folder.task("read_file", json!({ "path": "old/file" })).unwrap();
    fs::remove_file(folder.root.join("old/file")).unwrap();
    symlink(folder.outside.join("file"), folder.root.join("old/file")).unwrap();
    assert_eq!(code(Doing { root, task, place }.look()), "file.path");
    assert_eq!(fs::read_dir(&folder.outside).unwrap().count(), 1);
}

#[test]
fn the_root_itself_is_not_a_link() {
    let folder = Folder::new();
    let base = url::Url::from_file_path(&folder.root).unwrap();
    fs::rename(&folder.root, folder.root.with_file_name("moved")).unwrap();
    symlink(&folder.outside, &folder.root).unwrap();
    let opened = Root::open(&"fs".parse().unwrap(), Some(base.as_str()));
    assert_eq!(code(opened), "file.root");
    assert_eq!(code(Root::open(&"fs".parse().unwrap(), Some("http://example.com"))), "file.root");
    assert_eq!(code(Root::open(&"fs".parse().unwrap(), None)), "file.root");
}

#[test]
fn a_change_leaves_the_whole_file_and_nothing_beside_it() {
    let folder = Folder::new();
    fs::set_permissions(folder.root.join("a/file"), fs::Permissions::from_mode(0o750)).unwrap();
    let said = folder.change("write_to_file", json!({ "path": "a/file", "content": "new" })).unwrap();
    assert_eq!((said.status, said.body["sha256"].as_str()), (200, Some(sha256(b"new").to_string().as_str())));
    assert_eq!(fs::metadata(folder.root.join("a/file")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(folder.change("write_to_file", json!({ "path": "x/y/z", "content": "" })).unwrap().status, 201);
    let binary = json!({ "path": "bin", "content": "/wAA", "encoding": "base64" });
    assert_eq!(folder.change("write_to_file", binary).unwrap().status, 201);
    assert_eq!(fs::read(folder.root.join("bin")).unwrap(), b"\xff\0\0");
    assert_eq!(folder.look("read_file", json!({ "path": "bin" })).body["encoding"], "base64");
    let bad = json!({ "path": "bin", "content": "%", "encoding": "base64" });
    assert_eq!(code(folder.change("write_to_file", bad)), "file.arguments");
    assert_eq!(folder.names(), ["a", "a/b", "a/file", "bin", "x", "x/y", "x/y/z"]);
    // What a killed change left is in nobody's way.
    let left = format!(".rote-{}.tmp", &sha256(folder.root.join("bin").as_os_str().as_encoded_bytes()).hex()[..16]);
    fs::write(folder.root.join(&left), "half").unwrap();
    folder.change("write_to_file", json!({ "path": "bin", "content": "whole" })).unwrap();
    assert_eq!((folder.text("bin").as_str(), folder.root.join(left).exists()), ("whole", false));
}

#[test]
fn edits_need_a_text_that_stands_there_once() {
    let folder = Folder::new();
    let edit = |old: &str, new: &str, all: bool| {
        let arguments = json!({ "path": "a/file", "old_text": old, "new_text": new, "replace_all": all });
        folder.change("edit_file", arguments).unwrap()
    };
    assert_eq!(edit("three", "x", true).status, 422);
    assert_eq!(edit("o", "0", false).status, 422);
    assert_eq!(folder.text("a/file"), "one\ntwo\n");
    let said = edit("o", "0", true);
    assert_eq!((said.status, &said.body["replaced"]), (200, &json!(2)));
    assert_eq!(edit("0ne", "1", false).status, 200);
    assert_eq!(folder.text("a/file"), "1\ntw0\n");
    // What would become too long is not made.
    fs::write(folder.root.join("many"), "a".repeat(1 << 20)).unwrap();
    let long = json!({ "path": "many", "old_text": "a", "new_text": "b".repeat(1 << 20), "replace_all": true });
    assert_eq!(code(folder.change("edit_file", long)), "limit");
    let gone = json!({ "path": "none", "old_text": "a", "new_text": "b" });
    assert_eq!(folder.change("edit_file", gone).unwrap().status, 404);
}

#[test]
fn what_is_not_a_plain_file_is_neither_read_nor_changed() {
    let folder = Folder::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.root.join("pipe"), 0o600.into()).unwrap();
    symlink("file", folder.root.join("a/link")).unwrap();
    for path in ["pipe", "a", "."] {
        assert_eq!(
            code(folder.change("write_to_file", json!({ "path": path, "content": "x" }))),
            "file.path",
            "{path}"
        );
        assert_eq!(code(folder.change("delete_file", json!({ "path": path }))), "file.path", "{path}");
    }
    // By a link within the folder the file is written that it leads to.
    folder.change("write_to_file", json!({ "path": "a/link", "content": "x" })).unwrap();
    assert_eq!((folder.text("a/file").as_str(), folder.root.join("a/link").is_symlink()), ("x", true));
    let (_, place) = folder.task("delete_file", json!({ "path": "a/link" })).unwrap();
    assert_eq!((place.inside.as_str(), place.by_link), ("a/file", true));
    let large = fs::File::create(folder.root.join("large")).unwrap();
    large.set_len((16 << 20) + 1).unwrap();
    let root = folder.opened();
    assert_eq!(code(root.look(&root.resolve("large").unwrap())), "limit");
}

#[test]
fn moves_and_deletes() {
    let folder = Folder::new();
    let to = |destination: &str| folder.change("move_file", json!({ "source": "a/file", "destination": destination }));
    fs::write(folder.root.join("taken"), "mine").unwrap();
    assert_eq!(to("taken").unwrap().status, 409);
    assert_eq!(code(to("../outside/new")), "SCOPE_VIOLATION");
    assert_eq!(to("x/new").unwrap().status, 200);
    assert_eq!((folder.text("x/new").as_str(), folder.text("taken").as_str()), ("one\ntwo\n", "mine"));
    assert_eq!(folder.change("delete_file", json!({ "path": "x/new" })).unwrap().status, 200);
    assert_eq!(folder.change("delete_file", json!({ "path": "x/new" })).unwrap().status, 404);
    assert_eq!(folder.names(), ["a", "a/b", "taken", "x"]);
}

#[test]
fn a_file_that_somebody_else_changed_is_stale() {
    let folder = Folder::new();
    let root = folder.opened();
    let stale = |tool: &str, arguments: Value, expected: SeenFile| {
        let (task, place) = folder.task(tool, arguments).unwrap();
        let refusal = folder.change_from(&root, (&task, &place), expected).unwrap_err();
        assert_eq!(refusal.code(), "STALE_FILE");
        refusal.details().unwrap()
    };
    let old = SeenFile::Bytes(sha256(b"old"));
    let write = json!({ "path": "a/file", "content": "x" });
    let details = stale("write_to_file", write.clone(), old);
    assert_eq!(details["expected_hash"], json!(sha256(b"old")));
    assert_eq!(details["actual_hash"], json!(sha256(b"one\ntwo\n")));
    assert_eq!(stale("write_to_file", write, SeenFile::Absent)["expected_hash"], Value::Null);
    let gone = json!({ "path": "gone" });
    assert_eq!(stale("delete_file", gone, old)["actual_hash"], Value::Null);
    assert_eq!(folder.text("a/file"), "one\ntwo\n");
}

#[test]
fn lists_and_searches_say_what_they_left_out() {
    let folder = Folder::new();
    fs::create_dir_all(folder.root.join(".git/objects")).unwrap();
    fs::write(folder.root.join(".git/objects/two"), "two").unwrap();
    fs::write(folder.root.join("two.bin"), b"two\0").unwrap();
    symlink(&folder.outside, folder.root.join("link")).unwrap();
    assert_eq!(folder.names(), [".git", "a", "a/b", "a/file", "link", "two.bin"]);
    let found = folder.look("search_files", json!({ "regex": "t.o|secret" }));
    assert_eq!(found.body["matches"], json!([{ "path": "a/file", "line": 2, "text": "two" }]));
    assert_eq!(found.body["truncated"], json!(false));
    let none = folder.look("search_files", json!({ "regex": "two", "file_pattern": "*.rs" }));
    assert_eq!((&none.body["matches"], &none.body["files"]), (&json!([]), &json!(0)));
    assert_eq!(folder.look("list_files", json!({ "path": "nowhere" })).status, 404);
    assert_eq!(code(folder.task("search_files", json!({ "regex": "(" }))), "file.arguments");
    assert_eq!(code(folder.task("search_files", json!({ "regex": "(a{1000}){1000}" }))), "file.arguments");
    fs::write(folder.root.join("many"), "x\n".repeat(1_200)).unwrap();
    let many = folder.look("search_files", json!({ "regex": "^x$" }));
    assert_eq!((many.body["matches"].as_array().unwrap().len(), &many.body["truncated"]), (1_000, &json!(true)));
    let lines = folder.look("read_file", json!({ "path": "many", "start_line": 1_200, "end_line": 9_999 }));
    assert_eq!((&lines.body["content"], &lines.body["start_line"]), (&json!("x\n"), &json!(1_200)));
    assert_eq!(folder.look("read_file", json!({ "path": "many", "start_line": 5_000 })).body["content"], "");
}

/// What is of a home is closed, wherever the folder lies.
#[test]
fn a_home_within_the_folder_is_not_entered() {
    let folder = Folder::new();
    let home = Home::open(folder.root.join("deep/home")).unwrap();
    fs::write(home.root().join("config/x"), "two").unwrap();
    assert_eq!(folder.names(), ["a", "a/b", "a/file", "deep", "deep/home"]);
    let found = folder.look("search_files", json!({ "regex": "two" }));
    assert_eq!(found.body["matches"].as_array().unwrap().len(), 1);
    assert!(rote_home::is_of_a_home(Path::new(&folder.root.join("deep/home/config/x"))));
}
