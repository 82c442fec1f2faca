//! Places of parameters in arguments: found, read, replaced.

use rote_plan::{At, Expression, Onward};
use rote_types::escape_token;
use serde_json::Value;

use crate::literals::{last_segment, pointer_of, visit_value};

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
pub(in crate::crystallize) fn replace_at(expression: &mut Expression, pointer: &str, new: &Expression) {
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
