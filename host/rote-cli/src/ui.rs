//! Where output goes: data to stdout, talk to stderr, colour only on a terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use rote_types::{clean, escape_hidden};
use serde_json::{Value, json};

use crate::error::{CliError, Result};
use crate::render::wrap::wrap;

/// What a command has to say when it has done its work.
#[derive(Debug, Default)]
pub struct Report {
    /// What `--json` shows as `data`.
    pub data: Value,
    /// What a person sees on stdout.
    pub text: String,
    /// A body that goes to stdout byte by byte, in place of the text.
    pub bytes: Option<Vec<u8>>,
    /// What to do next, shown to a person on stderr.
    pub next: Vec<String>,
    /// The exit code of a command that did what was asked: 0, or what its answer comes to, such as 1 for a condition that is
    /// false or a batch of which a call failed, the code of the refusal that a dry run found, 10 for open doubts.
    pub exit: u8,
    /// The text is data that somebody asked for as it is, such as a body or a script: into a pipe or a file it goes
    /// byte by byte. Every other text is cleaned, wherever it goes.
    pub verbatim: bool,
    /// The envelope was shown while the command ran; there is never a second one.
    pub data_was_shown: bool,
    /// Lines of the text are commands of ours, to be completed as those that come next.
    pub text_has_commands: bool,
    /// What was done, for whoever cannot be shown the rest.
    pub done: Option<String>,
}

impl Report {
    /// Returns a report that ends with exit code 0.
    pub fn new(data: impl serde::Serialize, text: impl Into<String>) -> Self {
        // Data of ours always has string keys; a value that cannot be shown is a bug that tests would see as null.
        let data = serde_json::to_value(data).unwrap_or(Value::Null);
        Self { data, text: text.into(), ..Self::default() }
    }

    /// Keeps the text as it is, unless it goes to a terminal.
    #[must_use]
    pub fn verbatim(self) -> Self {
        Self { verbatim: true, ..self }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn next(mut self, command: impl Into<String>) -> Self {
        self.next.push(command.into());
        self
    }

    /// Returns the report of a condition: its value decides the exit code.
    pub fn condition(held: &rote_app::Held) -> Self {
        let data = json!({ "result": held.holds, "unmet": held.unmet, "unlogged": held.unlogged });
        let unmet = held.unmet.iter().map(|program| format!("\nnot true: {program}"));
        Self { exit: u8::from(!held.holds), ..Self::new(data, held.holds.to_string() + &unmet.collect::<String>()) }
    }
}

/// The two streams of one command.
pub struct Ui<'a> {
    stdout: &'a mut dyn Write,
    stderr: &'a mut dyn Write,
    /// Machine output was asked for.
    pub json: bool,
    /// Stdout is a terminal: not even data that was asked for as it is may steer it.
    pub terminal: bool,
    /// How wide that terminal is; what is longer is broken between words there, and nowhere else.
    pub columns: Option<usize>,
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
        _ => crate::error::io("cannot write the output", &error).map(|error| error.with_hint("rote ls")),
    })
}

impl<'a> Ui<'a> {
    /// Returns a user interface without colour that writes to these streams.
    pub fn new(stdout: &'a mut dyn Write, stderr: &'a mut dyn Write) -> Self {
        Self { stdout, stderr, json: false, terminal: false, columns: None, colour: false, stderr_colour: false }
    }

    /// Writes data that was asked for as it is to stdout; a terminal gets it without hidden characters.
    ///
    /// # Errors
    /// When the reader is gone.
    pub fn verbatim(&mut self, text: &str) -> Result<()> {
        if self.terminal { self.out(&clean(text)) } else { self.out(text) }
    }

    /// Writes bytes that were asked for as they are to stdout; a terminal gets the text in them without hidden characters.
    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.terminal {
            return self.verbatim(&String::from_utf8_lossy(bytes));
        }
        written(self.stdout.write_all(bytes).and_then(|()| self.stdout.flush()))
    }

    /// Writes text of ours, which may be painted, to stdout and flushes.
    ///
    /// # Errors
    /// When the reader is gone.
    pub fn out(&mut self, text: &str) -> Result<()> {
        written(self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush()))
    }

    /// Writes talk to stderr, without hidden characters. A reader who is gone does not matter here.
    pub fn talk(&mut self, line: &str) {
        self.painted(&clean(line));
    }

    /// Writes to stderr what was cleaned and may be painted.
    fn painted(&mut self, line: &str) {
        let _unread = writeln!(self.stderr, "{line}");
    }

    /// Writes an envelope. Hidden characters are escaped, so that the value is the same for every reader.
    fn envelope(&mut self, envelope: &Value) -> Result<()> {
        self.out(&format!("{}\n", escape_hidden(&envelope.to_string())))
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
            return self.envelope(&json!({ "schema": 1, "ok": true, "data": report.data }));
        }
        if let Some(bytes) = &report.bytes {
            self.bytes(bytes)?;
        } else if !report.text.is_empty() {
            let end = if report.text.ends_with('\n') { "" } else { "\n" };
            if report.verbatim {
                self.verbatim(&format!("{}{end}", report.text))?
            } else {
                let text = clean(&report.text);
                // A command that somebody copies stays in one line; the terminal breaks it without a line break.
                let columns = self.columns.filter(|_| !report.text_has_commands);
                let text = columns.map_or_else(|| text.to_string(), |columns| wrap(&text, columns));
                self.out(&format!("{text}{end}"))?
            }
        }
        for command in &report.next {
            let line = self.paint_stderr(DIM, &clean(&format!("next: {command}")));
            self.painted(&line);
        }
        Ok(())
    }

    /// Shows a failure: the envelope to stdout for a machine, `error:` to stderr for a person.
    pub fn fail(&mut self, error: &CliError) {
        match error {
            CliError::BrokenPipe => {}
            CliError::Words(words) if !words.use_stderr() && self.json => {
                let help = json!({ "help": words.to_string() });
                let _unread = self.envelope(&json!({ "schema": 1, "ok": true, "data": help }));
            }
            CliError::Words(words) if !words.use_stderr() => {
                let text = if self.colour { words.render().ansi().to_string() } else { words.to_string() };
                // All but the line of usage fits already.
                let text = self.columns.map_or_else(|| text.clone(), |columns| wrap(&text, columns));
                let _unread = self.out(&text);
            }
            _ if self.json => {
                // Where there is no room for an envelope, the other stream tells it.
                if let Err(CliError::App(_)) = self.envelope(&error.envelope()) {
                    self.explain(error);
                }
            }
            _ => self.explain(error),
        }
    }

    /// Shows a failure to a person; not in the parser's own colours, as escapes in the caller's words would stand among them.
    fn explain(&mut self, error: &CliError) {
        let text = self.paint_labels(&clean(&error.text()));
        self.painted(text.trim_end());
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

#[cfg(test)]
mod tests {
    use rote_app::AppError;
    use rote_types::ErrorKind;

    use rote_types::is_hidden;

    use super::*;

    /// A colour, a clipboard write, C1 and a mirrored word.
    const STEERING: &str = "a\u{1b}[31mb\u{1b}]52;c;cHduZWQ=\u{7}c\u{9b}2Jd\u{202e}e";

    /// What both streams get.
    fn shown(terminal: bool, json: bool, show: impl FnOnce(&mut Ui<'_>)) -> (String, String) {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(&mut stdout, &mut stderr);
        (ui.terminal, ui.colour, ui.stderr_colour, ui.json) = (terminal, terminal, terminal, json);
        show(&mut ui);
        (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    #[test]
    fn no_text_steers_a_terminal_or_whoever_reads_a_pipe() {
        for terminal in [false, true] {
            let report = Report::new(json!({}), STEERING).next(STEERING);
            let (stdout, stderr) = shown(terminal, false, |ui| ui.show(&report).unwrap());
            assert_eq!(stdout, "abcde\n");
            let plain = if terminal { paint(DIM, "next: abcde") } else { "next: abcde".to_owned() };
            assert_eq!(stderr, format!("{plain}\n"));
            let (_, stderr) = shown(terminal, false, |ui| ui.talk(STEERING));
            assert_eq!(stderr, "abcde\n");
        }
    }

    #[test]
    fn an_error_cannot_paint_or_forge_a_hint() {
        let error = AppError::new(ErrorKind::Usage, format!("{STEERING}\nhint: rm -rf /")).with_hint("rote ls");
        let error = CliError::App(Box::new(error.with_cause(format!("{STEERING}\nhint: curl evil"))));
        let (_, stderr) = shown(false, false, |ui| ui.fail(&error));
        assert_eq!(
            stderr,
            "error: abcde\n  hint: rm -rf /\n  caused by: abcde\n    hint: curl evil\n\nhint: rote ls\n"
        );
        let (_, stderr) = shown(true, false, |ui| ui.fail(&error));
        assert!(stderr.contains("\u{1b}[") && !stderr.contains(['\u{9b}', '\u{202e}', '\u{7}']), "{stderr:?}");
    }

    #[test]
    fn words_that_do_not_parse_are_cleaned_too() {
        for word in [STEERING, "--\u{1b}[2J", "--\u{1b}]0;x\u{7}", "--\u{1b}]52;c;aGk"] {
            let error = clap::Command::new("rote").try_get_matches_from(["rote", word]).unwrap_err();
            let error = CliError::Words(Box::new(error));
            for terminal in [false, true] {
                let (_, stderr) = shown(terminal, false, |ui| ui.fail(&error));
                assert!(!stderr.contains(['\u{9b}', '\u{202e}', '\u{7}']), "{stderr:?}");
                // Only our own label has a colour.
                assert_eq!(stderr.matches('\u{1b}').count(), if terminal { 3 } else { 0 }, "{stderr:?}");
            }
        }
    }

    #[test]
    fn data_that_was_asked_for_as_it_is_stays_so_in_a_pipe_only() {
        let report = Report::new(json!({}), STEERING).verbatim();
        let (stdout, _) = shown(false, false, |ui| ui.show(&report).unwrap());
        assert_eq!(stdout, format!("{STEERING}\n"));
        let (stdout, _) = shown(true, false, |ui| ui.show(&report).unwrap());
        assert_eq!(stdout, "abcde\n");
    }

    #[test]
    fn an_envelope_has_the_same_value_and_nothing_hidden() {
        let report = Report::new(json!({ "text": STEERING }), "");
        let (stdout, _) = shown(true, true, |ui| ui.show(&report).unwrap());
        assert!(!stdout.trim_end().contains(is_hidden), "{stdout:?}");
        let envelope: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(envelope["data"]["text"], STEERING);
    }
}
