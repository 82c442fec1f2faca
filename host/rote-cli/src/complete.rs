//! What may stand at the end of a command line, for a shell that completes it.
//!
//! Pure but for the names, which the caller looks up: the words decide which argument is meant, and the argument decides
//! what names fit. An argument that nobody knows here has no candidates, and the shell offers files.

use std::any::TypeId;
use std::ffi::OsString;

use clap::builder::ValueParser;
use clap::{Arg, Command, CommandFactory};
use rote_app::Names;
use rote_types::ResponseId;

use crate::commands::{Cli, Global};

/// A word that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) word: String,
    /// What it means, in a line; empty for names.
    pub(crate) about: String,
}

/// Gives names, none where they cannot be read.
pub(crate) type Lookup<'a> = dyn Fn(&Global, &Names) -> Vec<String> + 'a;

/// Returns the words that fit in place of the last one; the first is the program.
pub(crate) fn candidates(words: &[String], lookup: &Lookup<'_>) -> Vec<Candidate> {
    let Some((current, typed)) = words.split_last().filter(|(_, typed)| !typed.is_empty()) else { return Vec::new() };
    let mut root = Cli::command();
    root.build();
    let known = |word: &str| root.find_subcommand(word).is_some();
    let typed = crate::rewrite::rewrite(typed.iter().map(OsString::from).collect(), &known);
    let typed: Vec<String> = typed.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let line = Line::read(&root, typed.get(1..).unwrap_or_default());
    let fitting = line.fitting(current, lookup);
    fitting.into_iter().filter(|one| one.word.starts_with(current.as_str())).collect()
}

/// What the words before the one that is completed say.
struct Line<'a> {
    command: &'a Command,
    path: Vec<&'a str>,
    positionals: Vec<&'a str>,
    /// The option whose value comes next.
    open: Option<&'a Arg>,
    /// Behind `--`, where nothing is an option.
    plain: bool,
    global: Global,
}

impl<'a> Line<'a> {
    fn read(root: &'a Command, words: &'a [String]) -> Self {
        let global =
            Global { home: None, workspace: None, approval: Vec::new(), json: false, no_color: false, verbose: 0 };
        let (path, positionals) = (Vec::new(), Vec::new());
        let mut line = Self { command: root, path, positionals, open: None, plain: false, global };
        words.iter().for_each(|word| line.take(word));
        line
    }

    fn take(&mut self, word: &'a str) {
        if let Some(option) = self.open.take() {
            self.value(option, word);
        } else if !self.plain && word == "--" {
            self.plain = true;
        } else if let Some((option, value)) = self.option(word).filter(|_| !self.plain) {
            match value {
                Some(value) => self.value(option, value),
                None => self.open = Some(option).filter(|option| option.get_action().takes_values()),
            }
        } else if word.starts_with('-') && word.len() > 1 && !self.plain {
            // A flag, several in a word, or nothing that is known.
        } else if let Some(command) = self.command.find_subcommand(word).filter(|_| self.positionals.is_empty()) {
            self.command = command;
            self.path.push(command.get_name());
        } else {
            self.positionals.push(word);
        }
    }

    fn value(&mut self, option: &Arg, value: &str) {
        match option.get_id().as_str() {
            "home" => self.global.home = Some(value.into()),
            "workspace" => self.global.workspace = Some(value.to_owned()),
            _ => {}
        }
    }

    /// Returns the option that a word is, with the value that stands in the word.
    fn option<'w>(&self, word: &'w str) -> Option<(&'a Arg, Option<&'w str>)> {
        let arguments = || self.command.get_arguments();
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            return arguments().find(|one| one.get_long() == Some(name)).map(|one| (one, value));
        }
        let mut letters = word.strip_prefix('-')?.chars();
        let short = letters.next()?;
        let value = letters.as_str();
        arguments().find(|one| one.get_short() == Some(short)).map(|one| (one, Some(value).filter(|it| !it.is_empty())))
    }

    fn fitting(&self, current: &str, lookup: &Lookup<'_>) -> Vec<Candidate> {
        if let Some(option) = self.open {
            return self.values(option, current, lookup);
        }
        if !self.plain && current.starts_with('-') {
            return match current.split_once('=') {
                Some((name, typed)) => {
                    let option = self.option(current).map(|(option, _)| option);
                    let values = option.map(|option| self.values(option, typed, lookup)).unwrap_or_default();
                    values.into_iter().map(|one| Candidate { word: format!("{name}={}", one.word), ..one }).collect()
                }
                None => self.options(),
            };
        }
        let mut all = Vec::new();
        if self.positionals.is_empty() {
            let below = self.command.get_subcommands().filter(|command| !command.is_hide_set());
            all.extend(below.map(|command| described(command.get_name(), command.get_about())));
        }
        if self.path.is_empty() && current.starts_with('@') {
            all.extend(self.looked_up(lookup, Names::Responses));
        }
        let mut places = self.command.get_positionals();
        let place = places.nth(self.positionals.len());
        let last = self
            .command
            .get_positionals()
            .last()
            .filter(|last| last.get_num_args().is_some_and(|range| range.max_values() > 1));
        if let Some(argument) = place.or(last) {
            all.extend(self.values(argument, current, lookup));
        }
        all
    }

    fn options(&self) -> Vec<Candidate> {
        let shown = self.command.get_arguments().filter(|one| !one.is_hide_set() && !one.is_positional());
        let named = shown.filter_map(|one| Some(described(&format!("--{}", one.get_long()?), one.get_help())));
        named.collect()
    }

    /// Returns what an argument may be of which this is typed.
    fn values(&self, argument: &Arg, typed: &str, lookup: &Lookup<'_>) -> Vec<Candidate> {
        let possible = argument.get_possible_values();
        if !possible.is_empty() {
            let shown = possible.iter().filter(|one| !one.is_hide_set());
            return shown.map(|one| described(one.get_name(), one.get_help())).collect();
        }
        let Some(names) = self.names(argument, typed) else { return Vec::new() };
        let found = self.looked_up(lookup, names);
        let all = found.into_iter().filter_map(|one| {
            Some(match argument.get_id().as_str() {
                "endpoint" => plain(format!("adapter/{}", one.word)),
                "words" | "param" | "raw_field" => match typed.split_once('=') {
                    Some((name, _)) => plain(format!("{name}={}", one.word)),
                    None => plain(format!("{}=", one.word)),
                },
                "resume" if !one.word.starts_with("run-") => return None,
                _ => one,
            })
        });
        let takes_latest = matches!(argument.get_id().as_str(), "resume" | "workspace");
        all.chain(takes_latest.then(|| plain("latest".to_owned()))).collect()
    }

    /// Returns of what names an argument is one of which this is typed.
    fn names(&self, argument: &Arg, typed: &str) -> Option<Names> {
        if is_response(argument.get_value_parser()) {
            return Some(Names::Responses);
        }
        let first = || self.positionals.first().map(|word| (*word).to_owned());
        match argument.get_id().as_str() {
            // The name of what is made is not one of those that are there.
            "id" if self.path == ["adapter", "new"] => None,
            "id" | "adapter" | "adapters" | "endpoint" => Some(Names::Adapters),
            "tool" | "tools" => first().map(Names::Tools),
            "words" | "param" | "raw_field" if self.path == ["call"] => {
                let (id, tool) = first().zip(self.positionals.get(1).map(|tool| (*tool).to_owned()))?;
                Some(match typed.split_once('=') {
                    Some((name, _)) => Names::Values(id, tool, name.to_owned()),
                    None => Names::Arguments(id, tool),
                })
            }
            "flow" => Some(Names::Flows),
            "workspace" | "resume" => Some(Names::Workspaces),
            _ => None,
        }
    }

    fn looked_up(&self, lookup: &Lookup<'_>, names: Names) -> Vec<Candidate> {
        lookup(&self.global, &names).into_iter().filter(|name| is_line(name)).map(plain).collect()
    }
}

/// Whether a shell that is given a candidate on each line gets this one whole.
fn is_line(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_control)
}

fn is_response(parser: &ValueParser) -> bool {
    parser.type_id() == TypeId::of::<ResponseId>()
}

fn plain(word: String) -> Candidate {
    Candidate { word, about: String::new() }
}

fn described(word: &str, about: Option<&clap::builder::StyledStr>) -> Candidate {
    let about = about.map(ToString::to_string).unwrap_or_default();
    Candidate { word: word.to_owned(), about: about.lines().next().unwrap_or_default().to_owned() }
}

/// Splits a line that is being typed as a shell does; the last word is the one at its end, which may be empty.
pub(crate) fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut begun, mut quote) = (Vec::new(), String::new(), false, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (' ' | '\t' | '\n', None) => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
                continue;
            }
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => word.extend(letters.next()),
            (letter, _) => word.push(letter),
        }
        begun = true;
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that fit at the end of a line, where these names are there.
    fn complete(line: &str) -> Vec<String> {
        let lookup = |global: &Global, names: &Names| match names {
            Names::Adapters => vec!["github".to_owned(), "tracker".to_owned()],
            Names::Tools(id) => vec![format!("{id}/list"), format!("{id}/get")],
            Names::Arguments(_, tool) => vec![format!("{tool}-number"), "state".to_owned()],
            Names::Values(_, _, name) if name == "state" => {
                ["closed", "open", "", "c\nopen -rf", "c\tx"].map(ToOwned::to_owned).to_vec()
            }
            Names::Values(..) => Vec::new(),
            Names::Flows => vec!["triage".to_owned(), "weekly".to_owned()],
            Names::Workspaces => vec!["run-a".to_owned(), "work".to_owned()],
            Names::Responses => {
                vec![format!("@1{}", global.workspace.as_deref().unwrap_or_default()), "@2".to_owned()]
            }
        };
        candidates(&split(line), &lookup).into_iter().map(|one| one.word).collect()
    }

    #[test]
    fn each_place_has_its_own_names() {
        for (line, expected) in [
            ("rote ca", &["call"][..]),
            ("rote call ", &["github", "tracker"]),
            ("rote call tr", &["tracker"]),
            ("rote call github ", &["github/list", "github/get"]),
            ("rote github_call github/l", &["github/list"]),
            ("rote call -w x github github/l", &["github/list"]),
            ("rote call github list -p ", &["list-number=", "state="]),
            ("rote call github list st", &["state="]),
            ("rote call github list -f st", &["state="]),
            ("rote call github list state=", &["state=closed", "state=open"]),
            ("rote call github list -p state=o", &["state=open"]),
            ("rote call github list --param=state=c", &["--param=state=closed"]),
            ("rote call github list other=", &[]),
            ("rote call github list --param=st", &["--param=state="]),
            ("rote -w x @", &["@1x", "@2"]),
            ("rote query @", &["@1", "@2"]),
            ("rote diff @1 @2", &["@2"]),
            ("rote run ", &["triage", "weekly"]),
            ("rote run --resume ", &["run-a", "latest"]),
            ("rote ls -w w", &["work"]),
            ("rote ls --workspace=r", &["--workspace=run-a"]),
            ("rote flow inf", &["info", "infer"]),
            ("rote flow info w", &["weekly"]),
            ("rote flow new x --lang ", &["ts", "rust", "plan"]),
            ("rote POST ad", &["adapter/github", "adapter/tracker"]),
            ("rote bind github --tool ", &["github/list", "github/get"]),
            ("rote adapter new ", &[]),
            ("rote adapter new x --sp", &["--spec"]),
            ("rote \"call\" 'gith", &["github"]),
            ("rote audit verify -- --", &[]),
            ("rote compl", &["completion"]),
        ] {
            assert_eq!(complete(line), expected, "{line}");
        }
    }

    #[test]
    fn every_response_flow_and_adapter_of_the_command_line_is_completed() {
        let mut root = Cli::command();
        root.build();
        let mut open: Vec<&Command> = root.get_subcommands().collect();
        let mut seen = 0;
        while let Some(command) = open.pop() {
            open.extend(command.get_subcommands());
            for one in command.get_arguments() {
                let line = Line { command, path: vec![command.get_name()], ..Line::read(&root, &[]) };
                let shows = |name: &str| one.get_value_names().is_some_and(|names| names.iter().any(|it| it == name));
                let wanted = shows("@N") || shows("ID") || shows("FLOW") || shows("ADAPTER");
                let freely =
                    ["new", "help"].contains(&command.get_name()) || one.get_id() == "result" || one.get_id() == "ids";
                if wanted && one.get_action().takes_values() && !freely {
                    seen += 1;
                    assert!(line.names(one, "").is_some() || one.get_id() == "keep", "{}: {one}", command.get_name());
                }
            }
        }
        assert!(seen > 40, "{seen}");
    }
}
