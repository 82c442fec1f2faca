//! One home, one server, and the transcript of what was typed there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use rote_testkit::{Normaliser, Run, TestHome};

/// Stands in the commands of the scenes for the server's address.
const URL: &str = "URL";

/// The place where the scenes are played.
pub(super) struct Stage {
    home: TestHome,
    url: String,
    normaliser: Normaliser,
    lines: Vec<String>,
    steps: usize,
}

impl Stage {
    /// Makes an empty home for the binary.
    pub(super) fn new(binary: &Path, url: &str) -> Result<Self> {
        let binary = binary.canonicalize().with_context(|| format!("no binary at {}", binary.display()))?;
        let home = TestHome::new(binary);
        let normaliser = home.normaliser().text(url, URL);
        Ok(Self { home, url: url.to_owned(), normaliser, lines: Vec::new(), steps: 0 })
    }

    /// Returns the home folder.
    pub(super) fn home(&self) -> PathBuf {
        self.home.home()
    }

    /// Returns the folder in which the commands are typed.
    pub(super) fn work(&self) -> PathBuf {
        self.home.work()
    }

    /// Writes a file where the commands are typed.
    pub(super) fn file(&self, name: &str, content: &str) {
        let _path = self.home.file(name, content);
    }

    /// Returns how many commands were typed.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// Returns everything so far.
    pub(super) fn transcript(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    /// Begins a scene.
    pub(super) fn title(&mut self, title: &str) {
        self.line(format!("# {title}"));
    }

    /// Types a command; see [`Stage::judge`].
    pub(super) fn step(&mut self, command: &str, code: i32, says: &[&str]) -> Result<Run> {
        let command = command.replace(URL, &self.url);
        let words = words(&command)?;
        let (rote, words) = words.split_first().context("an empty command")?;
        ensure!(rote == "rote", "`{command}` is not a command of rote");
        let run = self.home.rote(&words.iter().map(String::as_str).collect::<Vec<_>>());
        self.judge(&command, &run, code, says)?;
        Ok(run)
    }

    /// Types the command that the run before gave as its hint.
    pub(super) fn hint(&mut self, before: &Run, code: i32, says: &[&str]) -> Result<Run> {
        let hint = before.stderr.lines().find_map(|line| line.strip_prefix("hint: "));
        self.step(hint.with_context(|| format!("no hint:\n{before}"))?, code, says)
    }

    /// Checks the exit code and that every text stands in a line of the output, and keeps these lines: whole, or
    /// up to the end of a text that ends in `…`, where what follows varies.
    fn judge(&mut self, command: &str, run: &Run, code: i32, says: &[&str]) -> Result<()> {
        ensure!(run.code == code, "exit code {}, {code} was expected:\n{run}", run.code);
        let output: Vec<String> = run.stdout.lines().chain(run.stderr.lines()).map(one_line).collect();
        let mut kept = Vec::new();
        for text in says {
            let text = text.replace(URL, &self.url);
            let (fragment, rest_varies) =
                text.strip_suffix('…').map_or((text.as_str(), false), |fragment| (fragment, true));
            let found = output.iter().find_map(|line| line.find(fragment).map(|at| (line, at + fragment.len())));
            match found {
                Some((line, end)) if rest_varies => kept.push(format!("{}…", &line[..end])),
                Some((line, _)) => kept.push(line.clone()),
                None => bail!("no line says `{fragment}`:\n{run}"),
            }
        }
        self.steps += 1;
        self.line(format!("{code:>2}  {}  =>  {}", one_line(command), kept.join(" / ")));
        Ok(())
    }

    fn line(&mut self, line: String) {
        let line = self.normaliser.apply(&line);
        println!("{line}");
        self.lines.push(line);
    }
}

/// Columns are aligned by what they hold, which varies; one blank is left between words.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Splits a command as a shell does, as far as single quotes go.
fn words(command: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    ensure!(!quoted, "a quote is open at the end of `{command}`");
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_like_in_a_shell() {
        assert_eq!(
            words("rote @1  '.[0] | .x' -p 'a=b c' ''").unwrap(),
            ["rote", "@1", ".[0] | .x", "-p", "a=b c", ""]
        );
        assert!(words("rote 'open").is_err());
    }

    #[test]
    fn a_step_fails_on_another_code_and_on_a_line_that_is_missing() {
        let mut stage = Stage::new(Path::new("/"), "http://127.0.0.1:1").unwrap();
        let run = Run {
            words: Vec::new(),
            code: 5,
            killed: false,
            stdout: "made  7 things in 3 ms\nhint: other\n".to_owned(),
            stderr: "hint: rote ls\n".to_owned(),
        };
        assert!(stage.judge("rote x", &run, 0, &[]).is_err());
        assert!(stage.judge("rote x", &run, 5, &["made 8"]).is_err());
        assert!(stage.transcript().trim().is_empty() && stage.steps() == 0);
        stage.judge("rote x", &run, 5, &["made 7", "made…", "rote ls"]).unwrap();
        assert_eq!(stage.transcript(), " 5  rote x  =>  made 7 things in [DURATION] / made… / hint: rote ls\n");
    }
}
