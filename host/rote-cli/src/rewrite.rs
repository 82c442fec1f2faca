//! Turns the shorthand words into plain commands before they are parsed.
//!
//! `@2 '.x'` is `query @2 '.x'`; `github_probe`, `github_call` and `github_batch_call` are `probe github`,
//! `call github` and `batch github`. The function is pure: whether an adapter of that name exists is found
//! out later, so that a wrong name gets an error about adapters and not about commands.

use std::ffi::OsString;

/// Global flags that take a value of their own.
const WITH_VALUE: [&str; 3] = ["--home", "--workspace", "-w"];

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
    let Some(replacement) = expand(&word, known) else {
        return words;
    };
    let mut rewritten = words;
    rewritten.splice(at..=at, replacement.into_iter().map(OsString::from));
    rewritten
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
    fn verbs_of_an_adapter_are_commands_with_its_id() {
        check("github_probe issues", "probe github issues");
        check("my_api_call get --param a=1", "call my_api get --param a=1");
        check("my_api_batch_call []", "batch my_api []");
        check("--home /h -w w x_call t", "--home /h -w w call x t");
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for line in ["odd_call x", "call a b", "_call x", "--json", "-w", "ls @2", "@x", "@", "call github x_call"] {
            check(line, line);
        }
    }
}
