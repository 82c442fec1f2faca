//! Masking within JSON: text by text, so that what comes back is JSON.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use memchr::memchr2;
use serde_json::Value;

use super::{AGAIN, AGAIN_FOR_EACH, Hit, Redactor};

/// Masks the texts and numbers of a document in which `hits` stand. The document is known to be JSON; one that is
/// not comes back as something that is not either.
pub(super) fn mask(redactor: &Redactor, text: &str, hits: &[Hit]) -> String {
    let mut masked = String::with_capacity(text.len());
    let again = Cell::new(AGAIN + text.len().saturating_mul(AGAIN_FOR_EACH));
    let (mut copied, mut hits) = (0, hits.iter().peekable());
    for token in tokens(text.as_bytes()) {
        while hits.next_if(|hit| hit.range.end <= token.start).is_some() {}
        let Some(hit) = hits.peek() else { break };
        if hit.range.start >= token.end {
            continue;
        }
        if let Some(replacement) = replacement(redactor, &text[token.clone()], hit, &again) {
            masked.push_str(&text[copied..token.start]);
            masked.push_str(&replacement);
            copied = token.end;
        }
    }
    masked.push_str(&text[copied..]);
    masked
}

/// What stands in place of a text or number with a hit in it; `None` when the hit is none once it is read.
fn replacement(redactor: &Redactor, token: &str, hit: &Hit, again: &Cell<usize>) -> Option<String> {
    let whole = || Some(Value::String(redactor.mask(hit.secret)).to_string());
    if !token.starts_with('"') {
        return redactor.name_in(token).and_then(|_| whole());
    }
    // Half a surrogate pair cannot be read; what it stands in is not kept then.
    let Ok(content) = serde_json::from_str::<String>(token) else { return whole() };
    match redactor.text_within(&content, again) {
        None => whole(),
        Some(Cow::Borrowed(_)) => None,
        Some(Cow::Owned(masked)) => Some(Value::String(masked).to_string()),
    }
}

/// The texts, with their quotation marks, and the numbers of a document, in order.
fn tokens(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let found = text[at..].iter().position(|byte| *byte == b'"' || *byte == b'-' || byte.is_ascii_digit())?;
        let start = at + found;
        at = match text[start] {
            b'"' => end_of_text(text, start),
            _ => start + text[start..].iter().take_while(|byte| is_of_number(**byte)).count(),
        };
        Some(start..at)
    })
}

fn end_of_text(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        if text[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}
