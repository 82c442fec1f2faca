//! Turns the shorthand words into plain commands before they are parsed.
//!
//! `call ID TOOL --help` is `describe ID TOOL`. `@2 '.x'` is `query @2 '.x'`; `github_probe`, `github_call` and `github_batch_call` are `probe github`,
//! `call github` and `batch github`. The function is pure: whether an adapter of that name exists is found
//! out later, so that a wrong name gets an error about adapters and not about commands.

use std::ffi::OsString;

/// Global flags that take a value of their own.
const WITH_VALUE: [&str; 3] = ["--home", "--workspace", "-w"];

/// Global flags that say how something is shown.
const SHOWN: [&str; 2] = ["--json", "--no-color"];

/// The suffixes of shorthand verbs, longest first, with the command that each stands for.
const SHORTHANDS: [(&str, &str); 3] = [("_batch_call", "batch"), ("_probe", "probe"), ("_call", "call")];

/// Returns the words with a shorthand expanded; `known` says which words are commands already.
#[must_use]
pub fn rewrite(words: Vec<OsString>, known: &dyn Fn(&str) -> bool) -> Vec<OsString> {
    let Some(at) = command_position(&words) else {
        return words;
    };
    let Some(word) = words[at].to_str().map(str::to_owned) else {
        return words;
    };
    let mut rewritten = words;
    if word == "help" {
        // How it is shown was read of all words; to the parser such a word would be the name of a command here.
        let named = rewritten.split_off(at + 1);
        rewritten.extend(named.into_iter().filter(|word| !SHOWN.iter().any(|flag| word == flag)));
        if at + 1 == rewritten.len() {
            // The first screen; what stands behind it is asked for by `--help`.
            rewritten[at] = "-h".into();
        }
        return rewritten;
    }
    if let Some(replacement) = expand(&word, known) {
        rewritten.splice(at..=at, replacement.into_iter().map(OsString::from));
    }
    described(&rewritten, at).unwrap_or(rewritten)
}

/// The help of a call that names its tool is that of the tool.
fn described(words: &[OsString], at: usize) -> Option<Vec<OsString>> {
    let text = |at: usize| words.get(at).and_then(|word| word.to_str());
    let named = [at + 1, at + 2].iter().all(|at| text(*at).is_some_and(|word| !word.starts_with('-')));
    if text(at) != Some("call") || !named {
        return None;
    }
    let rest = &words[at + 3..];
    let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    let rest = &rest[..end];
    if !rest.iter().any(|word| word == "--help" || word == "-h") {
        return None;
    }
    let mut kept = words[..at].to_vec();
    // Those that hold for every command; the first of a pair has its value behind it.
    for (word, value) in rest.iter().zip(rest.iter().skip(1).map(Some).chain([None])) {
        let word_text = word.to_str().unwrap_or_default();
        if WITH_VALUE.contains(&word_text) {
            kept.extend(std::iter::once(word).chain(value).cloned());
        } else if word_text == "--json" || WITH_VALUE.iter().any(|name| word_text.starts_with(&format!("{name}="))) {
            kept.push(word.clone());
        }
    }
    kept.push("describe".into());
    kept.extend_from_slice(&words[at + 1..at + 3]);
    Some(kept)
}

/// Returns where the command stands: the first word after the program's name that is not a global flag.
fn command_position(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let word = word.to_str().unwrap_or_default();
        if WITH_VALUE.contains(&word) {
            at += 2;
        } else if word.starts_with('-') && word.len() > 1 {
            at += 1;
        } else {
            return Some(at);
        }
    }
    None
}

fn expand(word: &str, known: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    if known(word) {
        return None;
    }
    if word.starts_with('@') && word[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return Some(vec!["query".to_owned(), word.to_owned()]);
    }
    SHORTHANDS.iter().find_map(|(suffix, command)| {
        let id = word.strip_suffix(suffix).filter(|id| !id.is_empty())?;
        Some(vec![(*command).to_owned(), id.to_owned()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let words = std::iter::once("rote").chain(line.split(' ')).map(OsString::from).collect();
        let rewritten = rewrite(words, &|word| ["call", "query", "odd_call"].contains(&word));
        let rewritten: Vec<String> = rewritten.into_iter().skip(1).map(|word| word.into_string().unwrap()).collect();
        assert_eq!(rewritten.join(" "), expected, "{line}");
    }

    #[test]
    fn a_response_number_is_a_query() {
        check("@2 .x -r", "query @2 .x -r");
        check("-w demo --json @12", "-w demo --json query @12");
        check("query @2 .x", "query @2 .x");
    }

    #[test]
    fn help_alone_is_the_first_screen() {
        check("help", "-h");
        check("--json help", "--json -h");
        check("help call", "help call");
        check("help --json", "-h");
        check("--json help flow --no-color new", "--json help flow new");
        check("help --jsno", "help --jsno");
    }

    #[test]
    fn verbs_of_an_adapter_are_commands_with_its_id() {
        check("github_probe issues", "probe github issues");
        check("my_api_call get --param a=1", "call my_api get --param a=1");
        check("my_api_batch_call []", "batch my_api []");
        check("--home /h -w w x_call t", "--home /h -w w call x t");
    }

    #[test]
    fn the_help_of_a_call_with_a_tool_is_that_of_the_tool() {
        check("call github issues/get --help", "describe github issues/get");
        check("-w v call a t n=1 -h --json --home /h -p x", "-w v --json --home /h describe a t");
        check("a_call t --home=/h --help", "--home=/h describe a t");
        check("call a --help", "call a --help");
        check("call a t -- --help", "call a t -- --help");
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for line in ["odd_call x", "call a b", "_call x", "--json", "-w", "ls @2", "@x", "@", "call github x_call"] {
            check(line, line);
        }
    }
}
