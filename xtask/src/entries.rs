//! Checks that what ARCHITECTURE.md sends its reader to is there: the entry points and the ports.
//!
//! An entry point is a line of the list below "Entry points": a file, then symbols of it, up to the first colon. The ports are
//! the public traits of the host.

use anyhow::{Context, Result, ensure};

use crate::repository;
use crate::sources::{Source, sources, words};

/// Words before the name that they define, in Rust and in TypeScript.
const KINDS: [&str; 10] = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "class", "function"];

/// Looks up every entry point and every port.
///
/// # Errors
/// Lists all that are not where the text says.
pub(crate) fn check() -> Result<()> {
    let root = repository();
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).context("cannot read ARCHITECTURE.md")?;
    let entries = entries(&text);
    ensure!(!entries.is_empty(), "ARCHITECTURE.md has no list of entry points");
    let mut problems = Vec::new();
    for Entry { path, symbols } in &entries {
        let Ok(code) = std::fs::read_to_string(root.join(path)) else {
            problems.push(format!("there is no file `{path}`"));
            continue;
        };
        let source = Source { path: (*path).to_owned(), code };
        let gone = symbols.iter().filter(|symbol| !defines(&source, symbol));
        problems.extend(gone.map(|symbol| format!("`{path}` does not define `{symbol}`")));
    }
    for (path, name) in ports(&sources(&["host"])?) {
        if !text.contains(&format!("`{name}`")) {
            problems.push(format!("the port `{name}` of {path} is not in the text"));
        }
    }
    ensure!(problems.is_empty(), "ARCHITECTURE.md is out of date:\n  {}", problems.join("\n  "));
    println!("entry points: {}, each where ARCHITECTURE.md says, and it names every port", entries.len());
    Ok(())
}

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'t> {
    path: &'t str,
    symbols: Vec<&'t str>,
}

/// The lines of the form ``- `file` `symbol`, `Type::function`: text`` below "Entry points".
fn entries(text: &str) -> Vec<Entry<'_>> {
    let list = text.lines().skip_while(|line| !line.starts_with("Entry points")).skip(1);
    let lines = list.skip_while(|line| line.is_empty()).take_while(|line| line.starts_with(['-', ' ']));
    let heads = lines.filter_map(|line| line.strip_prefix("- ")).map(|line| line.split(": ").next().unwrap_or(line));
    heads
        .filter_map(|head| {
            let mut names = head.split('`').skip(1).step_by(2);
            Some(Entry { path: names.next()?, symbols: names.collect() })
        })
        .collect()
}

/// Whether the file's code defines a symbol, or a type's function.
fn defines(source: &Source, symbol: &str) -> bool {
    let Some((owner, function)) = symbol.split_once("::") else {
        return source.lines().any(|(_, line)| KINDS.iter().any(|kind| follows(line, kind, symbol)));
    };
    let mut within = false;
    source.lines().any(|(_, line)| {
        if line.starts_with(|first: char| !first.is_whitespace()) {
            within = words(line).any(|word| matches!(word, "impl" | "trait")) && words(line).any(|word| word == owner);
        }
        within && follows(line, "fn", function)
    })
}

/// Whether `name` stands right behind `kind` in a line.
fn follows(line: &str, kind: &str, name: &str) -> bool {
    words(line).zip(words(line).skip(1)).any(|(first, second)| first == kind && second == name)
}

/// The public traits with the files that define them.
fn ports(code: &[Source]) -> impl Iterator<Item = (&str, &str)> {
    code.iter().flat_map(|source| {
        let lines = source.lines().filter(|(_, line)| line.starts_with("pub trait "));
        lines.filter_map(|(_, line)| words(line).nth(2)).map(|name| (source.path.as_str(), name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(code: &str) -> Source {
        Source { path: "a.rs".to_owned(), code: code.to_owned() }
    }

    #[test]
    fn an_entry_is_a_file_and_its_symbols() {
        let text =
            "Entry points:\n\n- `a.rs` `run`, `Gate::send`: what `it` does\n  and more\n- `b.rs`: a file\n\n- `c`";
        let expected =
            [Entry { path: "a.rs", symbols: vec!["run", "Gate::send"] }, Entry { path: "b.rs", symbols: Vec::new() }];
        assert_eq!(entries(text), expected);
    }

    #[test]
    fn a_symbol_that_is_only_used_or_another_types_is_not_defined() {
        let code = source(
            "pub struct Gate;\nimpl Gate {\n    pub async fn send(&self) { other::run() }\n}\nimpl Door {\n    fn open() {}\n}\n\
             // fn remark\npub(crate) const fn free() {}\n",
        );
        for there in ["Gate", "Gate::send", "Door::open", "free"] {
            assert!(defines(&code, there), "{there}");
        }
        for gone in ["run", "Gate::open", "Door", "remark", "sen", "Gate::"] {
            assert!(!defines(&code, gone), "{gone}");
        }
    }

    #[test]
    fn ports_are_public_traits() {
        let code = [source("pub trait Clock: Send {}\npub(crate) trait Own {}\n    pub trait Inner {}\n")];
        assert_eq!(ports(&code).collect::<Vec<_>>(), [("a.rs", "Clock")]);
    }
}
