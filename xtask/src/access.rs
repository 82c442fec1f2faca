//! Checks that what a tool does to the remote is decided in one place.
//!
//! `rote_types::Access` is decided by the reader of a description (`rote-spec`), and everybody else asks the tool for
//! it. Code that asks the method or a hint instead lets through what only the words of a description tell.

use crate::sources::{Source, forbid, sources};

/// How code asks a method or a hint whether something is changed.
const QUESTIONS: [&str; 8] = [
    ".is_read()",
    "read_only_hint",
    "destructive_hint",
    "Method::Get | Method::Head",
    "Method::Put | Method::Delete",
    "Method::Delete | Method::Put",
    "== Method::Delete",
    "!= Method::Get",
];

/// Who may, and why.
const ALLOWED: [(&str, &str); 3] = [
    ("host/rote-types/src/tool.rs", "the definition: the least that a method says"),
    ("host/rote-spec/", "the reader of descriptions, who decides"),
    ("host/rote-govern/src/guard.rs", "says in words why a verdict is what it is"),
];

/// Looks through all code of the host that is not a test.
pub(crate) fn check() -> anyhow::Result<()> {
    let code = sources(&["host"])?;
    let asks = code.iter().filter(|source| !ALLOWED.iter().any(|(allowed, _)| source.path.starts_with(allowed)));
    forbid(asks, questions, "ask `tool.access` whether a tool changes something (ARCHITECTURE.md)")?;
    println!("what a tool does is asked of its access");
    Ok(())
}

/// The questions that a file's code asks, with their lines.
fn questions(source: &Source) -> impl Iterator<Item = (usize, &'static str)> {
    source.lines().filter_map(|(number, line)| {
        QUESTIONS.into_iter().find(|question| line.contains(question)).map(|question| (number, question))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository;

    #[test]
    fn a_question_to_a_method_is_found_and_one_in_a_comment_is_not() {
        let code = "fn a() {\n    // x.is_read()\n    if tool.method.is_read() {}\n}\n".to_owned();
        assert_eq!(questions(&Source { path: String::new(), code }).collect::<Vec<_>>(), [(3, ".is_read()")]);
    }

    #[test]
    fn only_the_reader_of_descriptions_tells_writes_from_reads() {
        check().unwrap();
        for (allowed, _) in ALLOWED {
            assert!(repository().join(allowed).exists(), "{allowed} is gone: take it from the list");
        }
    }
}
