//! Walking the literals of an expression by JSON pointer, and replacing them.
//!
//! Knows nothing of parameters or steps. Recursion is as deep as the recorded arguments, which the JSON reader
//! bounded.

use rote_plan::Expression;
use serde_json::Value;

use rote_types::escape_token;

/// Shortest value that is looked for inside longer text.
pub(crate) const MIN_EMBEDDED_CHARS: usize = 3;

/// The last segment of a pointer, still escaped.
pub(crate) fn last_segment(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

/// Calls `visit` with every scalar literal and its pointer.
pub(crate) fn walk_literals(expression: &Expression, pointer: &mut String, visit: &mut dyn FnMut(&str, &Value)) {
    let length = pointer.len();
    match expression {
        Expression::Literal(value) => walk_value(value, pointer, visit),
        Expression::Object(members) => {
            for (key, inner) in members {
                pointer.push('/');
                pointer.push_str(&escape_token(key));
                walk_literals(inner, pointer, visit);
                pointer.truncate(length);
            }
        }
        Expression::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                pointer.push_str(&format!("/{index}"));
                walk_literals(inner, pointer, visit);
                pointer.truncate(length);
            }
        }
        Expression::Text(parts) => parts.iter().for_each(|part| walk_literals(part, pointer, visit)),
        Expression::Default(first, fallback) => {
            walk_literals(first, pointer, visit);
            walk_literals(fallback, pointer, visit);
        }
        Expression::Param(_) | Expression::From(_) | Expression::Item(_) | Expression::Index => {}
    }
}

fn walk_value(value: &Value, pointer: &mut String, visit: &mut dyn FnMut(&str, &Value)) {
    let length = pointer.len();
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push_str(&format!("/{index}"));
                walk_value(item, pointer, visit);
                pointer.truncate(length);
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                pointer.push('/');
                pointer.push_str(&escape_token(key));
                walk_value(item, pointer, visit);
                pointer.truncate(length);
            }
        }
        scalar => visit(pointer, scalar),
    }
}

/// Replaces scalar literals for which `make` returns something, inside literal objects and arrays too.
pub(crate) fn replace(
    expression: &mut Expression,
    pointer: &mut String,
    make: &mut dyn FnMut(&str, &Value) -> Option<Expression>,
) {
    let length = pointer.len();
    match expression {
        Expression::Literal(value) => {
            if let Some(replaced) = replaced(value, pointer, make) {
                *expression = replaced;
            }
        }
        Expression::Object(members) => {
            for (key, inner) in members {
                pointer.push('/');
                pointer.push_str(&escape_token(key));
                replace(inner, pointer, make);
                pointer.truncate(length);
            }
        }
        Expression::Array(items) => {
            for (index, inner) in items.iter_mut().enumerate() {
                pointer.push_str(&format!("/{index}"));
                replace(inner, pointer, make);
                pointer.truncate(length);
            }
        }
        Expression::Text(parts) => parts.iter_mut().for_each(|part| replace(part, pointer, make)),
        Expression::Default(first, fallback) => {
            replace(first, pointer, make);
            replace(fallback, pointer, make);
        }
        Expression::Param(_) | Expression::From(_) | Expression::Item(_) | Expression::Index => {}
    }
}

/// A literal with its replaced parts, `None` when nothing in it was replaced.
fn replaced(
    value: &Value,
    pointer: &mut String,
    make: &mut dyn FnMut(&str, &Value) -> Option<Expression>,
) -> Option<Expression> {
    let length = pointer.len();
    let mut changed = false;
    let mut inner = |value: &Value, key: String, pointer: &mut String| {
        pointer.push('/');
        pointer.push_str(&key);
        let new = replaced(value, pointer, make);
        pointer.truncate(length);
        changed |= new.is_some();
        new.unwrap_or_else(|| Expression::Literal(value.clone()))
    };
    let whole = match value {
        Value::Object(members) => Expression::Object(
            members
                .iter()
                .map(|(key, value)| (key.clone(), inner(value, escape_token(key).into_owned(), pointer)))
                .collect(),
        ),
        Value::Array(items) => Expression::Array(
            items.iter().enumerate().map(|(index, value)| inner(value, index.to_string(), pointer)).collect(),
        ),
        scalar => return make(pointer, scalar),
    };
    changed.then_some(whole)
}
