//! The stage of the tour: types commands, shows the short of what they say, and keeps the score.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{TrackerServer, tour_steps};
use rote_types::quoted;

use crate::environment::{Environment, Input};
use crate::error::{Result, io as io_error};
use crate::render::units::clip;
use crate::ui::{DIM, Report, Ui, paint};

/// Widest line of a command's output.
const MAX_LINE: usize = 110;

const TITLE: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const TYPED: Style = AnsiColor::Cyan.on_default();

/// Runs the tour. The report's exit code is 1 when a claim did not hold.
///
/// # Errors
/// General when the system gives no port or no temporary directory.
pub fn tour(ui: &mut Ui<'_>) -> Result<Report> {
    let server = TrackerServer::start(0).map_err(|error| io_error("cannot serve the sample API", &error))?;
    let root = TempDir::with_prefix("rote-demo-").map_err(|error| io_error("cannot make a temporary home", &error))?;
    let mut stage = Stage { ui, server, root, claims: Vec::new(), number: 0 };
    stage.prepare().map_err(|error| io_error("cannot prepare the temporary home", &error))?;
    tour_steps::play(&mut stage)?;
    stage.finish()
}

/// What a typed command said.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: u8,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ran {
    /// Returns both streams, stdout first.
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Returns a value of the machine envelope; null when there is none.
    pub(super) fn json(&self, pointer: &str) -> Value {
        let envelope: Value = serde_json::from_str(&self.stdout).unwrap_or(Value::Null);
        envelope.pointer(pointer).cloned().unwrap_or(Value::Null)
    }
}

struct Claim {
    text: String,
    holds: bool,
}

/// The stage.
pub(super) struct Stage<'a, 'b> {
    ui: &'a mut Ui<'b>,
    pub(super) server: TrackerServer,
    root: TempDir,
    claims: Vec<Claim>,
    number: usize,
}

impl Stage<'_, '_> {
    fn prepare(&self) -> io::Result<()> {
        std::fs::create_dir(self.work())?;
        self.write("openapi.yaml", super::DOCUMENT.as_bytes())
    }

    /// Returns the directory in which the commands are typed.
    pub(super) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Returns the home of the commands.
    pub(super) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Writes a file where the commands are typed.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        std::fs::File::create(self.work().join(name))?.write_all(bytes)
    }

    /// Says something to a person.
    fn say(&mut self, text: &str) -> Result<()> {
        if self.ui.json { Ok(()) } else { self.ui.out(&format!("{text}\n")) }
    }

    fn painted(&self, style: Style, text: &str) -> String {
        if self.ui.colour { paint(style, text) } else { text.to_owned() }
    }

    /// Opens the tour.
    pub(super) fn open(&mut self) -> Result<()> {
        let address = self.server.base_url();
        let title = self.painted(TITLE, "rote demo");
        self.say(&format!("{title} · a sample issue tracker answers at {address}; every ✓ below is checked by code"))
    }

    /// Starts a step.
    pub(super) fn step(&mut self, title: &str) -> Result<()> {
        self.number += 1;
        let title = self.painted(TITLE, &format!("{:>2}  {title}", self.number));
        self.say(&format!("\n{title}"))
    }

    /// Runs a command without showing it.
    pub(super) fn quiet(&self, words: &[&str], input: &str) -> Ran {
        let variables = BTreeMap::from([("ROTE_HOME".to_owned(), self.home().display().to_string())]);
        let environment = Environment {
            variables: Arc::new(variables),
            directory: Some(self.work()),
            input: Input::Bytes(input.as_bytes().to_vec()),
            stdout_terminal: false,
            stderr_terminal: false,
            columns: None,
        };
        let words: Vec<OsString> = std::iter::once("rote").chain(words.iter().copied()).map(OsString::from).collect();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let code = crate::run(words, environment, &mut stdout, &mut stderr);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code, stdout: text(stdout), stderr: text(stderr) }
    }

    /// Types a command: shows it, at most `lines` lines of what it says, and an exit code other than 0.
    pub(super) fn typed(&mut self, words: &[&str], lines: usize) -> Result<Ran> {
        self.typed_with(words, "", lines)
    }

    /// Types a command that reads `input`.
    pub(super) fn typed_with(&mut self, words: &[&str], input: &str, lines: usize) -> Result<Ran> {
        let ran = self.quiet(words, input);
        let pipe = if input.is_empty() { "" } else { "printf %s \"$SECRET\" | " };
        let command = format!("$ {pipe}rote {}", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
        let command = self.painted(TYPED, &command);
        self.say(&format!("    {command}"))?;
        let text = ran.text().replace(&self.root.path().display().to_string(), "$DEMO");
        let shown: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        for (place, line) in shown.iter().take(lines).enumerate() {
            let cut = place + 1 == lines && shown.len() > lines;
            let line = clip(line, if cut { MAX_LINE - 2 } else { MAX_LINE });
            let end = if cut { self.painted(DIM, " …") } else { String::new() };
            self.say(&format!("      {line}{end}"))?;
        }
        if ran.code != 0 {
            let code = self.painted(DIM, &format!("exit {}", ran.code));
            self.say(&format!("      {code}"))?;
        }
        Ok(ran)
    }

    /// Claims something; `holds` has been found out by the caller.
    pub(super) fn claim(&mut self, holds: bool, text: impl Into<String>) -> Result<()> {
        let text = text.into();
        let line = if holds {
            format!("{} proved: {text}", self.painted(GOOD, "✓"))
        } else {
            format!("{} {text}", self.painted(BAD, "✗ NOT TRUE:"))
        };
        self.claims.push(Claim { text, holds });
        self.say(&format!("    {line}"))
    }

    /// Returns whether some bytes stand in any file below the home.
    pub(super) fn on_disk(&self, needle: &[u8]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        search(&self.home(), needle, &mut found);
        found
    }

    fn finish(mut self) -> Result<Report> {
        let total = self.claims.len();
        let held = self.claims.iter().filter(|claim| claim.holds).count();
        let claims: Vec<Value> =
            self.claims.iter().map(|claim| json!({ "claim": claim.text, "holds": claim.holds })).collect();
        let data = json!({ "claims": claims, "held": held, "total": total });
        let style = if held == total { GOOD.bold() } else { BAD };
        let verdict = self.painted(style, &format!("{held} of {total} claims hold"));
        self.say(&format!("\n{verdict}"))?;
        let report = Report { exit: u8::from(held != total), ..Report::new(data, "") };
        Ok(report.next("rote demo serve --port 8741, and the walkthrough in README.md"))
    }
}

/// Looks through all files below a directory; symlinks are not followed.
fn search(directory: &Path, needle: &[u8], found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            search(&path, needle, found);
        } else if kind.is_file() {
            let mut bytes = Vec::new();
            let read = std::fs::File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes));
            if read.is_ok() && bytes.windows(needle.len()).any(|window| window == needle) {
                found.push(path);
            }
        }
    }
}
