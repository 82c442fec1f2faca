//! Places of parameters in arguments: found, read, replaced.

use rote_plan::{At, Expression, Onward, text_of};
use rote_types::escape_token;
use serde_json::Value;

use super::super::literals::{MIN_EMBEDDED_CHARS, last_segment, pointer_of, visit_value};

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
    let mut take = |pointer: &str, value: &Value| {
        if last_segment(pointer) != escaped {
            return Onward::Into;
        }
        visit(pointer, value);
        Onward::Past
    };
    expression.visit(&mut |way, one| match (literal(one), one) {
        (Some(value), _) => {
            visit_value(&value, &mut pointer_of(way), &mut take);
            Onward::Past
        }
        (None, Expression::Object(_) | Expression::Array(_)) => Onward::Into,
        _ => Onward::Past,
    });
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
    let mut found = None;
    expression.visit(&mut |way, one| match (from(way, pointer), one) {
        (Some(""), _) => {
            found = literal(one);
            Onward::Past
        }
        (Some(rest), Expression::Literal(value)) => {
            found = value.pointer(rest).cloned();
            Onward::Past
        }
        (Some(_), Expression::Object(_) | Expression::Array(_)) => Onward::Into,
        _ => Onward::Past,
    });
    found
}

/// Puts an expression in a place.
pub(super) fn replace_at(expression: &mut Expression, pointer: &str, new: &Expression) {
    expression.visit_mut(&mut |way, one| {
        match from(way, pointer) {
            None => return Onward::Past,
            Some("") => {
                *one = new.clone();
                return Onward::Past;
            }
            Some(_) => {}
        }
        if let Expression::Literal(value) = one {
            *one = opened(value);
        }
        if matches!(one, Expression::Object(_) | Expression::Array(_)) { Onward::Into } else { Onward::Past }
    });
}

/// The rest of a pointer behind this way; none when it leads elsewhere.
fn from<'p>(way: &[At<'_>], pointer: &'p str) -> Option<&'p str> {
    pointer.strip_prefix(&pointer_of(way)).filter(|rest| rest.is_empty() || rest.starts_with('/'))
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
