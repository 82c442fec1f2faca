//! Places of parameters in arguments: found, read, replaced.

use rote_plan::{Expression, text_of};
use rote_types::{escape_token, unescape_token};
use serde_json::Value;

use super::super::literals::{MIN_EMBEDDED_CHARS, last_segment};

/// Replaces a literal that equals `value`, or the words in it that do, or a day in a time of it.
pub(crate) fn by_text(literal: &Value, name: &str, value: &str) -> Option<Expression> {
    let parameter = || Expression::Param(name.to_owned());
    if matches!(literal, Value::Null | Value::Array(_) | Value::Object(_)) {
        return None;
    }
    if text_of(literal) == value {
        return Some(parameter());
    }
    let text = literal.as_str().filter(|_| value.chars().count() >= MIN_EMBEDDED_CHARS)?;
    let mut parts = Vec::new();
    let mut done = 0;
    for (start, _) in text.match_indices(value) {
        let end = start + value.len();
        let joined = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let after = joined(text[end..].chars().next()) && !(is_day(value) && begins_time(&text[end..]));
        if start < done || joined(text[..start].chars().next_back()) || after {
            continue;
        }
        if start > done {
            parts.push(Expression::Literal(Value::from(&text[done..start])));
        }
        parts.push(parameter());
        done = end;
    }
    if parts.is_empty() {
        return None;
    }
    if done < text.len() {
        parts.push(Expression::Literal(Value::from(&text[done..])));
    }
    Some(Expression::Text(parts))
}

/// `2026-05-22`.
fn is_day(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// `T09:00…`.
fn begins_time(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    bytes.len() >= 6 && bytes[0] == b'T' && bytes[1].is_ascii_digit() && bytes[2].is_ascii_digit() && bytes[3] == b':'
}

/// Visits the literals, lists and objects included, of the arguments of this name.
pub(super) fn walk_named(expression: &Expression, name: &str, visit: &mut dyn FnMut(&str, &Value)) {
    let escaped = escape_token(name).into_owned();
    walk(expression, &mut String::new(), &mut |pointer, value| {
        let named = last_segment(pointer) == escaped;
        if named {
            visit(pointer, value);
        }
        named
    });
}

/// Visits literals from the outside in; one that is taken is not looked into.
fn walk(expression: &Expression, pointer: &mut String, take: &mut dyn FnMut(&str, &Value) -> bool) {
    if let Some(value) = literal(expression) {
        walk_value(&value, pointer, take);
        return;
    }
    let length = pointer.len();
    let mut below = |key: &str, inner: &Expression| {
        pointer.push('/');
        pointer.push_str(&escape_token(key));
        walk(inner, pointer, take);
        pointer.truncate(length);
    };
    match expression {
        Expression::Object(members) => members.iter().for_each(|(key, inner)| below(key, inner)),
        Expression::Array(items) => {
            items.iter().enumerate().for_each(|(index, inner)| below(&index.to_string(), inner));
        }
        _ => {}
    }
}

fn walk_value(value: &Value, pointer: &mut String, take: &mut dyn FnMut(&str, &Value) -> bool) {
    if take(pointer, value) {
        return;
    }
    let length = pointer.len();
    let mut below = |key: &str, inner: &Value| {
        pointer.push('/');
        pointer.push_str(&escape_token(key));
        walk_value(inner, pointer, take);
        pointer.truncate(length);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, inner)| below(key, inner)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, inner)| below(&index.to_string(), inner)),
        _ => {}
    }
}

/// The value of an expression without holes.
fn literal(expression: &Expression) -> Option<Value> {
    match expression {
        Expression::Literal(value) => Some(value.clone()),
        Expression::Object(members) => {
            let member = |(key, inner): &(String, Expression)| Some((key.clone(), literal(inner)?));
            members.iter().map(member).collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
        }
        Expression::Array(items) => items.iter().map(literal).collect::<Option<Vec<_>>>().map(Value::Array),
        _ => None,
    }
}

/// Returns what was typed at a place.
pub(super) fn literal_at(expression: &Expression, pointer: &str) -> Option<Value> {
    let Some((segment, rest)) = split(pointer) else { return literal(expression) };
    match expression {
        Expression::Literal(value) => value.pointer(pointer).cloned(),
        Expression::Object(members) => {
            members.iter().find(|(key, _)| *key == segment).and_then(|(_, inner)| literal_at(inner, rest))
        }
        Expression::Array(items) => literal_at(items.get(segment.parse::<usize>().ok()?)?, rest),
        _ => None,
    }
}

/// Puts an expression in a place.
pub(super) fn replace_at(expression: &mut Expression, pointer: &str, new: Expression) {
    let Some((segment, rest)) = split(pointer) else {
        *expression = new;
        return;
    };
    if let Expression::Literal(value) = expression {
        *expression = opened(value);
    }
    match expression {
        Expression::Object(members) => {
            if let Some((_, inner)) = members.iter_mut().find(|(key, _)| *key == segment) {
                replace_at(inner, rest, new);
            }
        }
        Expression::Array(items) => {
            if let Some(inner) = segment.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                replace_at(inner, rest, new);
            }
        }
        _ => {}
    }
}

/// A literal whose members or items are expressions of their own.
fn opened(value: &Value) -> Expression {
    match value {
        Value::Object(members) => Expression::Object(
            members.iter().map(|(key, inner)| (key.clone(), Expression::Literal(inner.clone()))).collect(),
        ),
        Value::Array(items) => Expression::Array(items.iter().cloned().map(Expression::Literal).collect()),
        scalar => Expression::Literal(scalar.clone()),
    }
}

/// The first segment of a pointer and the rest.
fn split(pointer: &str) -> Option<(String, &str)> {
    let inner = pointer.strip_prefix('/')?;
    let end = inner.find('/').unwrap_or(inner.len());
    Some((unescape_token(&inner[..end]).into_owned(), &inner[end..]))
}
