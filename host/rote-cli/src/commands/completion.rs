//! `rote completion`, and what the scripts that it prints ask.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;
use rote_types::clean_line;
use serde_json::json;

use crate::commands::{Cli, Global};
use crate::complete::{Candidate, candidates, split};
use crate::context::Context;
use crate::error::Result;
use crate::ui::Report;

/// Longest explanation of a candidate, in characters.
const MAX_ABOUT: usize = 80;

/// Print a completion script for a shell
///
/// bash, zsh and fish complete adapters, tools, flows, workspaces and `@N` too, as they are when the key is pressed.
#[derive(Debug, Args)]
pub struct Completion {
    /// The shell
    shell: Shell,
}

impl Completion {
    pub(super) fn run(self) -> Result<Report> {
        let script = match self.shell {
            Shell::Bash => include_str!("completion/rote.bash").to_owned(),
            Shell::Zsh => include_str!("completion/rote.zsh").to_owned(),
            Shell::Fish => include_str!("completion/rote.fish").to_owned(),
            other => {
                let mut script = Vec::new();
                clap_complete::generate(other, &mut Cli::command(), "rote", &mut script);
                String::from_utf8_lossy(&script).into_owned()
            }
        };
        Ok(Report::new(json!({ "shell": self.shell.to_string(), "script": script }), script).verbatim())
    }
}

/// The shells whose scripts ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Asking {
    /// The line up to the cursor, in one word
    Bash,
    /// Its words
    Zsh,
    /// Its words
    Fish,
}

/// Print what fits at the end of a command line, a word on each line
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Complete {
    /// The shell that asks
    shell: Asking,
    /// The line or its words; the last one is completed
    #[arg(last = true, required = true)]
    words: Vec<String>,
}

impl Complete {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let words = match self.shell {
            Asking::Bash => split(&self.words.join(" ")),
            Asking::Zsh | Asking::Fish => self.words,
        };
        // Nobody wants to read why there are no names while typing.
        let lookup = |global: &Global, names: &_| {
            let there = context.elsewhere(global);
            if !there.has_home() {
                return Vec::new();
            }
            there.session().ok().and_then(|session| session.names(names).ok()).unwrap_or_default()
        };
        let mut found = candidates(&words, &lookup);
        found.retain(|one| self.shell.takes(&one.word));
        let current = words.last().map_or("", String::as_str);
        let lines: Vec<String> = found.iter().map(|one| self.shell.line(one, current)).collect();
        let words: Vec<&str> = found.iter().map(|one| one.word.as_str()).collect();
        Ok(Report::new(json!({ "words": words }), lines.join("\n")))
    }
}

impl Asking {
    /// Whether a shell puts a word into the line as what it is. Bash puts it there raw: `$(…)` of a description, which is a stranger's
    /// text, would be run with the line, and a file would stand for `*`. The other two quote what needs it.
    fn takes(self, word: &str) -> bool {
        let is_bare = |letter: char| letter.is_alphanumeric() || "-_./:@%+,=[]".contains(letter);
        !matches!(self, Self::Bash) || word.chars().all(is_bare)
    }

    /// How a shell wants a candidate.
    fn line(self, candidate: &Candidate, current: &str) -> String {
        let word = &candidate.word;
        let about = clean_line(&candidate.about, MAX_ABOUT);
        match self {
            // What stands before the last of these letters is a word of its own to bash.
            Self::Bash => {
                let kept = current.rfind(['=', ':']).map_or(0, |place| place + 1);
                word.get(kept..).unwrap_or_default().to_owned()
            }
            Self::Zsh if about.is_empty() => word.replace(':', "\\:"),
            Self::Zsh => format!("{}:{about}", word.replace(':', "\\:")),
            Self::Fish if about.is_empty() => word.clone(),
            Self::Fish => format!("{word}\t{about}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_gets_only_what_it_reads_as_one_word() {
        for word in [
            "$(touch x)",
            "`x`",
            "a;b",
            "a b",
            "*",
            "~",
            "<(x)",
            "{a,b}",
            "!x",
            "a\\b",
            "a'b",
            "a\"b",
            "a|b",
            "a&b",
            "#",
            "?",
        ] {
            assert!(!Asking::Bash.takes(word) && Asking::Zsh.takes(word) && Asking::Fish.takes(word), "{word}");
        }
        for word in ["--param=state=open", "created[gte]=", "adapter/x", "pets.list:v1", "@1", "größe=a,b", "50%"] {
            assert!(Asking::Bash.takes(word), "{word}");
        }
    }
}
