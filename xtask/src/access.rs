//! Checks that what a tool does to the remote is decided in one place.
//!
//! `rote_types::Access` is decided by the reader of a description (`rote-spec`), and everybody else asks the tool for
//! it. Code that asks the method or a hint instead lets through what only the words of a description tell.

use std::path::Path;

use anyhow::{Context, bail};

use crate::repository;

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
const ALLOWED: [(&str, &str); 6] = [
    ("host/rote-types/src/tool.rs", "the definition: the least that a method says"),
    ("host/rote-spec/", "the reader of descriptions, who decides"),
    ("host/rote-govern/src/guard.rs", "says in words why a verdict is what it is"),
    ("host/rote-adapter/src/index/rank.rs", "guesses from an intent's words which method is wanted"),
    ("host/rote-adapter/src/index.rs", "adds words for a method to the search index"),
    ("host/rote-flow/src/crystallize/select.rs", "a `PUT` or `DELETE` names its target in its path (RFC 9110 §9.3)"),
];

/// Looks through all code of the host that is not a test.
pub(crate) fn check() -> anyhow::Result<()> {
    let root = repository();
    let mut found = Vec::new();
    visit(&root, &root.join("host"), &mut found)?;
    if !found.is_empty() {
        bail!("ask `tool.access` whether a tool changes something (ARCHITECTURE.md):\n  {}", found.join("\n  "));
    }
    println!("what a tool does is asked of its access");
    Ok(())
}

fn visit(root: &Path, directory: &Path, found: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_test = matches!(name, "tests" | "tests.rs" | "benches" | "examples");
        if path.is_dir() && !is_test {
            visit(root, &path, found)?;
        } else if name.ends_with(".rs") && !is_test {
            let relative = path.strip_prefix(root)?.to_string_lossy().into_owned();
            if !ALLOWED.iter().any(|(allowed, _)| relative.starts_with(allowed)) {
                let text = std::fs::read_to_string(&path)?;
                found.extend(questions(&text).map(|(line, what)| format!("{relative}:{line}: `{what}`")));
            }
        }
    }
    Ok(())
}

/// The questions that a file's code asks, with their lines; its tests are left out.
fn questions(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    let code = code.enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter_map(|(index, line)| {
        QUESTIONS.into_iter().find(|question| line.contains(question)).map(|question| (index + 1, question))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_to_a_method_is_found_and_one_in_a_test_is_not() {
        let text = "fn a() {\n    // x.is_read()\n    if tool.method.is_read() {}\n}\n#[cfg(test)]\nmod tests { m.is_read() }\n";
        assert_eq!(questions(text).collect::<Vec<_>>(), [(3, ".is_read()")]);
    }

    #[test]
    fn only_the_reader_of_descriptions_tells_writes_from_reads() {
        check().unwrap();
        for (allowed, _) in ALLOWED {
            assert!(repository().join(allowed).exists(), "{allowed} is gone: take it from the list");
        }
    }
}
