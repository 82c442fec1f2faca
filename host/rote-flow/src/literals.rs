//! The literals and references of an expression by JSON pointer: read, replaced.
//!
//! Knows nothing of parameters or steps. Recursion into a value is as deep as the recorded arguments, which the JSON reader
//! bounded.

use rote_plan::{At, Expression, Onward, Reference};
use rote_types::escape_token;
use serde_json::Value;

/// The last segment of a pointer, still escaped.
pub(crate) fn last_segment(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

/// The pointer that names where a visit has come to.
pub(crate) fn pointer_of(way: &[At<'_>]) -> String {
    let mut pointer = String::new();
    for step in way {
        push(&mut pointer, *step);
    }
    pointer
}

fn push(pointer: &mut String, step: At<'_>) {
    pointer.push('/');
    match step {
        At::Key(key) => pointer.push_str(&escape_token(key)),
        At::Index(index) => pointer.push_str(&index.to_string()),
    }
}

/// Calls `visit` with every scalar literal and its pointer.
pub(crate) fn walk_literals(expression: &Expression, visit: &mut dyn FnMut(&str, &Value)) {
    expression.visit(&mut |way, one| {
        if let Expression::Literal(value) = one {
            walk_scalars(value, pointer_of(way), visit);
        }
        Onward::Into
    });
}

/// Calls `visit` with every scalar of a value that stands at `pointer`.
pub(crate) fn walk_scalars(value: &Value, mut pointer: String, visit: &mut dyn FnMut(&str, &Value)) {
    visit_value(value, &mut pointer, &mut |pointer, one| {
        if !one.is_array() && !one.is_object() {
            visit(pointer, one);
        }
        Onward::Into
    });
}

/// Calls `visit` with a value and those inside it, each with its pointer, outer first.
pub(crate) fn visit_value(value: &Value, pointer: &mut String, visit: &mut dyn FnMut(&str, &Value) -> Onward) {
    if visit(pointer, value) == Onward::Past {
        return;
    }
    let length = pointer.len();
    let mut below = |step: At<'_>, inner: &Value| {
        push(pointer, step);
        visit_value(inner, pointer, visit);
        pointer.truncate(length);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, inner)| below(At::Key(key), inner)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, inner)| below(At::Index(index), inner)),
        _ => {}
    }
}

/// Replaces scalar literals for which `make` returns something, inside literal objects and arrays too.
pub(crate) fn replace(expression: &mut Expression, make: &mut dyn FnMut(&str, &Value) -> Option<Expression>) {
    expression.visit_mut(&mut |way, one| {
        if let Expression::Literal(value) = one
            && let Some(new) = replaced(value, &mut pointer_of(way), make)
        {
            *one = new;
            return Onward::Past;
        }
        Onward::Into
    });
    expression.visit_mut(&mut |_, one| {
        if let Expression::Text(parts) = one {
            // What took the place of a part of a text may be one itself.
            let opened = std::mem::take(parts).into_iter().flat_map(|part| match part {
                Expression::Text(inner) => inner,
                other => vec![other],
            });
            *parts = opened.collect();
        }
        Onward::Into
    });
}

/// A literal with its replaced parts, `None` when nothing in it was replaced.
fn replaced(
    value: &Value,
    pointer: &mut String,
    make: &mut dyn FnMut(&str, &Value) -> Option<Expression>,
) -> Option<Expression> {
    let length = pointer.len();
    let mut changed = false;
    let mut inner = |value: &Value, step: At<'_>, pointer: &mut String| {
        push(pointer, step);
        let new = replaced(value, pointer, make);
        pointer.truncate(length);
        changed |= new.is_some();
        new.unwrap_or_else(|| Expression::Literal(value.clone()))
    };
    let whole = match value {
        Value::Object(members) => Expression::Object(
            members.iter().map(|(key, value)| (key.clone(), inner(value, At::Key(key), pointer))).collect(),
        ),
        Value::Array(items) => Expression::Array(
            items.iter().enumerate().map(|(index, value)| inner(value, At::Index(index), pointer)).collect(),
        ),
        scalar => return make(pointer, scalar),
    };
    changed.then_some(whole)
}

/// Calls `visit` with every reference and its pointer.
pub(crate) fn references(expression: &Expression, visit: &mut dyn FnMut(&str, &Reference)) {
    expression.visit(&mut |way, one| {
        if let Expression::From(reference) = one {
            visit(&pointer_of(way), reference);
        }
        Onward::Into
    });
}

/// Calls `visit` with every reference and its pointer, to change it.
pub(crate) fn change_references(expression: &mut Expression, visit: &mut dyn FnMut(&str, &mut Reference)) {
    expression.visit_mut(&mut |way, one| {
        if let Expression::From(reference) = one {
            visit(&pointer_of(way), reference);
        }
        Onward::Into
    });
}

/// Puts what `make` returns in the place of references.
pub(crate) fn replace_references(expression: &mut Expression, make: &mut dyn FnMut(&Reference) -> Option<Expression>) {
    expression.visit_mut(&mut |_, one| {
        if let Expression::From(reference) = one
            && let Some(made) = make(reference)
        {
            *one = made;
            return Onward::Past;
        }
        Onward::Into
    });
}

/// What a day or a time looks like.
pub(crate) const DAY: &str = "it looks like a date";

/// Names what a value looks like, if it looks like something that differs from run to run.
pub(crate) fn looks_like(value: &Value) -> Option<&'static str> {
    let text = value.as_str()?;
    let bytes = text.as_bytes();
    let digits =
        |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    if digits(0..4) && digits(5..7) && digits(8..10) && bytes[4] == b'-' && bytes[7] == b'-' {
        return Some(DAY);
    }
    if text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.') && !text.contains(' ')) {
        return Some("it looks like an e-mail address");
    }
    let hex = |c: char| c.is_ascii_hexdigit() || c == '-';
    let uuid = text.len() == 36 && text.chars().all(hex) && text.matches('-').count() == 4;
    let number = text.len() >= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    (uuid || number).then_some("it looks like an id")
}
