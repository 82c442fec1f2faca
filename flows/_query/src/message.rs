//! Failures in words: what is wrong with a program and where, and what it raised.

use jaq_core::compile::Undefined;
use jaq_core::load::{lex, parse};
use jaq_json::Val;

/// Longest error text in characters; jq errors carry the offending value, which can be a whole response.
const MAX_MESSAGE_CHARS: usize = 400;

/// Says where `program` is not made of tokens.
pub(crate) fn lexed(program: &str, errors: &[lex::Error<&str>]) -> String {
    let words =
        |(expected, found): &lex::Error<&str>| format!("expected {}{}", expected.as_str(), found_at(program, found));
    join(errors.iter().map(words).collect())
}

/// Says where `program` is not a term.
pub(crate) fn parsed(program: &str, errors: &[parse::Error<&str>]) -> String {
    let words =
        |(expected, found): &parse::Error<&str>| format!("expected {}{}", expected.as_str(), found_at(program, found));
    join(errors.iter().map(words).collect())
}

/// Says which names of `program` are unknown.
pub(crate) fn compile(program: &str, errors: &jaq_core::compile::Errors<&str, ()>) -> String {
    let mut messages = Vec::new();
    for (_file, list) in errors {
        for (name, undefined) in list {
            let text = match undefined {
                Undefined::Filter(arity) => format!("unknown function `{name}/{arity}`"),
                other => format!("unknown {} `{name}`", other.as_str()),
            };
            messages.push(format!("{text}{}", place(program, name)));
        }
    }
    join(messages)
}

/// Says what the program raised, as jq would, cut to a readable length.
pub(crate) fn runtime(error: &jaq_core::Error<Val>) -> String {
    let text = match error.clone().into_val() {
        Val::TStr(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        value => format!("(not a string): {value}"),
    };
    cut(text)
}

fn found_at(program: &str, found: &str) -> String {
    match found.chars().next() {
        None => " at the end of the program".to_owned(),
        Some(_) => {
            let word: String = found.chars().take(24).collect();
            format!(", found `{word}`{}", place(program, found))
        }
    }
}

/// Returns ` at line L, column C` for a part of `program`; nothing for a text from elsewhere.
fn place(program: &str, part: &str) -> String {
    let start = (part.as_ptr() as usize).checked_sub(program.as_ptr() as usize);
    let Some(before) = start.and_then(|start| program.get(..start)) else {
        return String::new();
    };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    if program.contains('\n') { format!(" at line {line}, column {column}") } else { format!(" at column {column}") }
}

fn join(messages: Vec<String>) -> String {
    if messages.is_empty() { "the program does not parse".to_owned() } else { cut(messages.join("; ")) }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
