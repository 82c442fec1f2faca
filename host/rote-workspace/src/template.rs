//! The template language: finds `$var`, `${var}`, `@N` and `@N{jq}` in a string.
//!
//! `$$` is a dollar sign and `@@` before a digit an at sign. An at sign inside a word (`me@1and1.com`) and a
//! dollar sign before anything but a name (`$5`) are themselves. Nothing here reads a workspace.

use rote_types::ResponseId;
use serde_json::Value;

/// One piece of a template string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text that stays.
    Text(String),
    Reference {
        /// What it names.
        reference: Reference,
        /// How it is written.
        written: String,
    },
    /// Something that starts like a reference and is none.
    Broken {
        /// How it is written.
        written: String,
        /// Why it is none.
        reason: &'static str,
    },
}

/// What a reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A variable, by name.
    Variable(String),
    /// A whole response body.
    Response(ResponseId),
    /// A query over a response body.
    Query(ResponseId, String),
}

/// Whether any string of `value` holds a reference.
#[must_use]
pub fn has_template(value: &Value) -> bool {
    let is_reference = |piece: &Piece| !matches!(piece, Piece::Text(_));
    match value {
        Value::String(text) => parse(text).iter().any(is_reference),
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(fields) => fields.values().any(has_template),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the first text of `value` that somebody will have meant as a reference, as it is written: one with braces
/// (`@2{.id}`, `${name}`, `$name{.id}`), or one alone (`@2`, `$name`). A `$name` in a sentence is a price or a ticker.
#[must_use]
pub fn meant_reference(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => meant_in(&parse(text)),
        Value::Array(items) => items.iter().find_map(meant_reference),
        Value::Object(fields) => fields.values().find_map(meant_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn meant_in(pieces: &[Piece]) -> Option<String> {
    let meant = |(place, piece): (usize, &Piece)| match piece {
        Piece::Text(_) => None,
        Piece::Broken { written, .. } => Some(written.clone()),
        Piece::Reference { reference, written } => {
            let next = pieces.get(place + 1);
            let braces = matches!(next, Some(Piece::Text(text)) if text.starts_with('{'));
            let meant = match reference {
                Reference::Query(..) => true,
                Reference::Variable(_) => written.starts_with("${") || braces || pieces.len() == 1,
                Reference::Response(_) => pieces.len() == 1,
            };
            meant.then(|| written.clone())
        }
    };
    pieces.iter().enumerate().find_map(meant)
}

/// Splits a string into its pieces. Adjacent texts are one piece; an empty string has no pieces.
#[must_use]
pub fn parse(text: &str) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    let mut rest = text;
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let (piece, length) = match next {
            '$' => variable(rest),
            '@' if !before.is_some_and(in_word) => response(rest),
            _ => (None, next.len_utf8()),
        };
        let (taken, remaining) = rest.split_at(length);
        match piece {
            Some(piece) => pieces.push(piece),
            // An escape is two signs that stand for one.
            None if is_escape(taken) => pieces.text(&taken[1..]),
            None => pieces.text(taken),
        }
        before = taken.chars().next_back();
        rest = remaining;
    }
    pieces.0
}

#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn push(&mut self, piece: Piece) {
        self.0.push(piece);
    }

    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(known)) => known.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }
}

fn is_escape(taken: &str) -> bool {
    matches!(taken, "$$" | "@@")
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | '@')
}

/// Reads what starts with `$`; returns how many bytes it takes.
fn variable(rest: &str) -> (Option<Piece>, usize) {
    let after = &rest[1..];
    if after.starts_with('$') {
        return (None, 2);
    }
    if let Some(inner) = after.strip_prefix('{') {
        let name_end = name_length(inner);
        if name_end > 0 && inner[name_end..].starts_with('}') {
            return (
                Some(reference(Reference::Variable(inner[..name_end].to_owned()), &rest[..name_end + 3])),
                name_end + 3,
            );
        }
        return (None, 1);
    }
    match name_length(after) {
        0 => (None, 1),
        length => (Some(reference(Reference::Variable(after[..length].to_owned()), &rest[..=length])), length + 1),
    }
}

fn name_length(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}

/// Reads what starts with `@`; returns how many bytes it takes.
fn response(rest: &str) -> (Option<Piece>, usize) {
    let after = &rest[1..];
    if after.starts_with('@') && after[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return (None, 2);
    }
    let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    let follows = after[digits..].chars().next();
    let number = after[..digits].parse::<u64>().ok().filter(|number| *number > 0);
    let Some(id) = number.map(ResponseId) else {
        return (None, 1);
    };
    match follows {
        Some('{') => query(rest, id, digits + 1),
        Some(c) if c.is_alphanumeric() || c == '_' => (None, 1),
        _ => (Some(reference(Reference::Response(id), &rest[..=digits])), digits + 1),
    }
}

/// Reads `@N{jq}` whose brace stands at `open`.
fn query(rest: &str, id: ResponseId, open: usize) -> (Option<Piece>, usize) {
    match closing_brace(&rest[open..]) {
        Some(close) => {
            let program = rest[open + 1..open + close].trim().to_owned();
            let length = open + close + 1;
            (Some(reference(Reference::Query(id, program), &rest[..length])), length)
        }
        None => {
            let written: String = rest.chars().take(40).collect();
            (Some(Piece::Broken { written, reason: "has no closing `}`" }), rest.len())
        }
    }
}

/// Returns the place of the brace that closes the one at 0; braces in jq strings do not count.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    outside_strings(text).find_map(|(place, byte)| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => return None,
        }
        (depth == 0).then_some(place)
    })
}

/// Whether a jq program says itself what stands for null (`//`); slashes in its strings do not count.
pub(crate) fn has_alternative(program: &str) -> bool {
    let slashes: Vec<usize> =
        outside_strings(program).filter(|(_, byte)| *byte == b'/').map(|(place, _)| place).collect();
    slashes.windows(2).any(|two| two[0] + 1 == two[1])
}

/// The bytes of a jq program that do not stand in one of its strings, with their places.
fn outside_strings(program: &str) -> impl Iterator<Item = (usize, u8)> {
    let mut in_string = false;
    let mut bytes = program.bytes().enumerate();
    std::iter::from_fn(move || {
        loop {
            let (place, byte) = bytes.next()?;
            match byte {
                b'\\' if in_string => drop(bytes.next()),
                b'"' => in_string = !in_string,
                _ if !in_string => return Some((place, byte)),
                _ => {}
            }
        }
    })
}

fn reference(reference: Reference, written: &str) -> Piece {
    Piece::Reference { reference, written: written.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reference_is_meant_where_braces_or_the_whole_text_say_so() {
        for meant in ["@1{.a}", "see @12{.a}", "${x}", "a ${x} b", "$x{.a}", "$x", "@3", "@1{"] {
            assert!(meant_reference(&Value::from(vec![meant])).is_some(), "{meant}");
        }
        for not in ["", "$5", "in $USD", "me@1and1.com", "@1 and @2", "@here", "$$x", "{a}"] {
            assert_eq!(meant_reference(&Value::from(not)), None, "{not}");
        }
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    fn var(name: &str, written: &str) -> Piece {
        reference(Reference::Variable(name.to_owned()), written)
    }

    fn whole(id: u64) -> Piece {
        reference(Reference::Response(ResponseId(id)), &format!("@{id}"))
    }

    fn ask(id: u64, program: &str, written: &str) -> Piece {
        reference(Reference::Query(ResponseId(id), program.to_owned()), written)
    }

    #[test]
    fn references_are_found() {
        let rows = [
            ("", vec![]),
            ("plain", vec![text("plain")]),
            ("$owner", vec![var("owner", "$owner")]),
            ("${owner}_1", vec![var("owner", "${owner}"), text("_1")]),
            ("x=$y.", vec![text("x="), var("y", "$y"), text(".")]),
            ("$a$b", vec![var("a", "$a"), var("b", "$b")]),
            ("$$a costs $5 and $", vec![text("$a costs $5 and $")]),
            ("@2", vec![whole(2)]),
            ("@2{.id}", vec![ask(2, ".id", "@2{.id}")]),
            ("@2{ .a | {b: \"}\"} }/x", vec![ask(2, ".a | {b: \"}\"}", "@2{ .a | {b: \"}\"} }"), text("/x")]),
            ("me@1and1.com", vec![text("me@1and1.com")]),
            ("me@2", vec![text("me@2")]),
            ("@1st", vec![text("@1st")]),
            ("@@2", vec![text("@2")]),
            ("@0 @", vec![text("@0 @")]),
            ("see @12, @3.", vec![text("see "), whole(12), text(", "), whole(3), text(".")]),
        ];
        for (input, expected) in rows {
            assert_eq!(parse(input), expected, "{input}");
        }
    }

    #[test]
    fn an_alternative_is_one_outside_of_the_strings_of_a_program() {
        for program in [".a // null", ".a//1", r#"."b\"c" // "x""#, ".a //= 1"] {
            assert!(has_alternative(program), "{program}");
        }
        for program in [r#".url | ltrimstr("https://")"#, r#"."a\"//b""#, ".a / 2 / 3", ""] {
            assert!(!has_alternative(program), "{program}");
        }
    }

    #[test]
    fn an_open_brace_is_reported() {
        let expected = Piece::Broken { written: "@2{.id".to_owned(), reason: "has no closing `}`" };
        assert_eq!(parse("@2{.id"), vec![expected]);
    }

    #[test]
    fn templates_are_found_at_any_depth() {
        assert!(has_template(&serde_json::json!({"a": [{"b": "$x"}]})));
        assert!(!has_template(&serde_json::json!({"$x": ["$5", 1, "a@b.c"]})));
    }

    proptest! {
        #[test]
        fn any_text_is_survived_and_no_text_is_lost(input in "\\PC*") {
            let mut back = String::new();
            for piece in parse(&input) {
                match piece {
                    Piece::Text(text) => back.push_str(&text.replace('$', "$$")),
                    Piece::Reference { written, .. } => back.push_str(&written),
                    Piece::Broken { .. } => return Ok(()),
                }
            }
            // What was read can be written again and reads the same.
            let again: Vec<Piece> = parse(&back);
            let first: Vec<Piece> = parse(&input);
            if !input.contains('@') {
                prop_assert_eq!(again, first);
            }
        }

        #[test]
        fn text_without_signs_is_one_piece(input in "[^$@]+") {
            prop_assert_eq!(parse(&input), vec![Piece::Text(input)]);
        }
    }
}
