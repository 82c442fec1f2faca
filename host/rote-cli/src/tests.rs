//! Commands as they are typed, in this process: words in, both streams and the exit code out.

#![expect(clippy::disallowed_methods, reason = "a person edits files, and reads the sources")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;

use crate::demo::{DOCUMENT, TrackerServer};
use crate::environment::{Environment, Input};

mod asked;
mod completion;
mod flows;
mod shown;
mod workspaces;

/// A home and a folder in which commands are typed.
pub(crate) struct Desk {
    root: TempDir,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let root = TempDir::new().unwrap();
        std::fs::create_dir(root.path().join("work")).unwrap();
        Self { root }
    }

    /// A desk with the adapter `tracker` of an API that runs as long as the server is kept.
    pub(crate) fn with_tracker() -> (Self, TrackerServer) {
        let (desk, server) = (Self::new(), TrackerServer::start(0).unwrap());
        desk.file("openapi.yaml", DOCUMENT);
        desk.does(&["adapter", "new", "tracker", "openapi.yaml", "--base-url", &server.base_url()]);
        (desk, server)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.work().join(name), text).unwrap();
    }

    /// Types a command, `rote` left out, in the folder.
    pub(crate) fn types(&self, words: &[&str]) -> Said {
        self.types_in(&self.work(), words)
    }

    pub(crate) fn types_in(&self, directory: &Path, words: &[&str]) -> Said {
        self.types_with(directory, words, None)
    }

    /// Types a command on a terminal of so many columns.
    pub(crate) fn types_on(&self, words: &[&str], columns: usize) -> Said {
        self.types_with(&self.work(), words, Some(columns))
    }

    fn types_with(&self, directory: &Path, words: &[&str], columns: Option<usize>) -> Said {
        let home = ("ROTE_HOME".to_owned(), self.home().display().to_string());
        let environment = Environment {
            variables: Arc::new(BTreeMap::from([home])),
            directory: Some(directory.to_owned()),
            input: Input::Bytes(Vec::new()),
            stdout_terminal: columns.is_some(),
            stderr_terminal: false,
            columns,
        };
        let words: Vec<OsString> = std::iter::once(&"rote").chain(words).map(OsString::from).collect();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let code = crate::run(words, environment, &mut stdout, &mut stderr);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said { code, stdout: text(stdout), stderr: text(stderr) }
    }

    /// Types a command that has to succeed, and returns what it said on stdout.
    pub(crate) fn does(&self, words: &[&str]) -> String {
        let said = self.types(words);
        assert_eq!(said.code, 0, "{words:?}: {said:?}");
        said.stdout
    }

    /// Returns the data of a command's envelope.
    pub(crate) fn data(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        serde_json::from_str::<Value>(&self.does(&words)).unwrap()["data"].take()
    }
}
