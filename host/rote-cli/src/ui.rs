//! Where output goes: data to stdout, talk to stderr, colour only on a terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::error::{CliError, Result};
use crate::render::units::printable;

/// What a command has to say when it has done its work.
#[derive(Debug, Default)]
pub struct Report {
    /// What `--json` shows as `data`.
    pub data: Value,
    /// What a person sees on stdout.
    pub text: String,
    /// What to do next, shown to a person on stderr.
    pub next: Vec<String>,
    /// The exit code: 0, or 1 for a condition that is false.
    pub exit: u8,
    /// The envelope was shown while the command ran; there is never a second one.
    pub data_was_shown: bool,
}

impl Report {
    /// Returns a report that ends with exit code 0.
    pub fn new(data: impl serde::Serialize, text: impl Into<String>) -> Self {
        // Data of ours always has string keys; a value that cannot be shown is a bug that tests would see as null.
        let data = serde_json::to_value(data).unwrap_or(Value::Null);
        Self { data, text: text.into(), next: Vec::new(), exit: 0, data_was_shown: false }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn next(mut self, command: impl Into<String>) -> Self {
        self.next.push(command.into());
        self
    }

    /// Returns the report of a condition: its value decides the exit code.
    pub fn condition(holds: bool) -> Self {
        Self { exit: u8::from(!holds), ..Self::new(json!({ "result": holds }), holds.to_string()) }
    }
}

/// The two streams of one command.
pub struct Ui<'a> {
    stdout: &'a mut dyn Write,
    stderr: &'a mut dyn Write,
    /// Machine output was asked for.
    pub json: bool,
    /// Stdout is a terminal: text of a remote must not steer it.
    pub terminal: bool,
    /// Stdout may have colour.
    pub colour: bool,
    /// Stderr may have colour.
    pub stderr_colour: bool,
}

impl std::fmt::Debug for Ui<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ui").field("json", &self.json).field("colour", &self.colour).finish_non_exhaustive()
    }
}

/// Turns a closed pipe into silence; any other failure to write has nowhere to be told.
fn written(result: io::Result<()>) -> Result<()> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => CliError::BrokenPipe,
        _ => crate::error::io("cannot write the output", &error),
    })
}

impl<'a> Ui<'a> {
    /// Returns a user interface without colour that writes to these streams.
    pub fn new(stdout: &'a mut dyn Write, stderr: &'a mut dyn Write) -> Self {
        Self { stdout, stderr, json: false, terminal: false, colour: false, stderr_colour: false }
    }

    /// Writes text to stdout as it is and flushes.
    ///
    /// # Errors
    /// When the reader is gone.
    pub fn out(&mut self, text: &str) -> Result<()> {
        written(self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush()))
    }

    /// Writes one line of talk to stderr. A reader who is gone does not matter here.
    pub fn talk(&mut self, line: &str) {
        let _unread = writeln!(self.stderr, "{line}");
    }

    /// Shows a report in the way that was asked for.
    ///
    /// # Errors
    /// When the reader is gone.
    pub fn show(&mut self, report: &Report) -> Result<()> {
        if self.json {
            if report.data_was_shown {
                return Ok(());
            }
            return self.out(&format!("{}\n", json!({ "schema": 1, "ok": true, "data": report.data })));
        }
        if !report.text.is_empty() {
            let end = if report.text.ends_with('\n') { "" } else { "\n" };
            let text = if self.terminal { printable(&report.text) } else { report.text.clone() };
            self.out(&format!("{text}{end}"))?;
        }
        for command in &report.next {
            let line = self.paint_stderr(DIM, &format!("next: {command}"));
            self.talk(&line);
        }
        Ok(())
    }

    /// Shows a failure: the envelope to stdout for a machine, `error:` to stderr for a person.
    pub fn fail(&mut self, error: &CliError) {
        match error {
            CliError::BrokenPipe => {}
            CliError::Words(words) if !words.use_stderr() => {
                let text = if self.colour { words.render().ansi().to_string() } else { words.to_string() };
                let _unread = self.out(&text);
            }
            _ if self.json => {
                let _unread = self.out(&format!("{}\n", error.envelope()));
            }
            CliError::Words(words) if self.stderr_colour => {
                let text = words.render().ansi().to_string();
                self.talk(text.trim_end());
            }
            _ => {
                let text = self.paint_labels(&error.text());
                self.talk(text.trim_end());
            }
        }
    }

    fn paint_labels(&self, text: &str) -> String {
        if !self.stderr_colour {
            return text.to_owned();
        }
        let red = AnsiColor::Red.on_default().bold();
        let cyan = AnsiColor::Cyan.on_default().bold();
        text.replacen("error:", &paint(red, "error:"), 1).replacen("\nhint:", &format!("\n{}", paint(cyan, "hint:")), 1)
    }

    fn paint_stderr(&self, style: Style, text: &str) -> String {
        if self.stderr_colour { paint(style, text) } else { text.to_owned() }
    }
}

/// For what is less important than the rest.
pub const DIM: Style = Style::new().dimmed();

/// Wraps text in the codes of a style.
#[must_use]
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
