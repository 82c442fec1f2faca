//! The binary under check, in a home of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The binary and its home.
pub(crate) struct Rote {
    binary: PathBuf,
    home: tempfile::TempDir,
}

/// What one command did.
pub(crate) struct Outcome {
    /// Exit code.
    pub(crate) code: i32,
    /// The JSON envelope.
    pub(crate) envelope: Value,
}

impl Rote {
    /// Prepares an empty home with a workspace `peers`.
    pub(crate) fn new(binary: &Path) -> Result<Self> {
        let binary = binary.canonicalize().with_context(|| format!("no binary at {}", binary.display()))?;
        let rote = Self { binary, home: tempfile::tempdir()? };
        rote.ok(&["init", "peers"])?;
        Ok(rote)
    }

    /// The home folder.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Prepares a command in this home.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).env("ROTE_HOME", self.home.path()).env("ROTE_WORKSPACE", "peers").stdin(Stdio::null());
        command
    }

    /// Runs a command with `--json` and returns its outcome whatever the exit code.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<Outcome> {
        let output = self.command(arguments).arg("--json").output().context("cannot start the binary")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let envelope = serde_json::from_str(text.trim()).with_context(|| {
            format!("no envelope from {arguments:?}: {text} {}", String::from_utf8_lossy(&output.stderr))
        })?;
        Ok(Outcome { code: output.status.code().unwrap_or(-1), envelope })
    }

    /// Runs a command that must succeed and returns `data`.
    pub(crate) fn ok(&self, arguments: &[&str]) -> Result<Value> {
        let outcome = self.run(arguments)?;
        ensure!(outcome.code == 0, "{arguments:?} ended with {}: {}", outcome.code, outcome.envelope);
        Ok(outcome.envelope["data"].clone())
    }

    /// Reads the newest recorded response of the workspace, whole.
    pub(crate) fn newest_response(&self) -> Result<Value> {
        let folder = self.home().join("rote/workspaces/peers/.rote/responses");
        let newest = std::fs::read_dir(&folder)?
            .filter_map(|entry| {
                entry.ok()?.file_name().to_str()?.strip_prefix('@')?.strip_suffix(".json")?.parse().ok()
            })
            .max()
            .unwrap_or(0_u64);
        let bytes = std::fs::read(folder.join(format!("@{newest}.json")))?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}
