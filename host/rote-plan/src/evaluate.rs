//! Filling the holes of an expression.
//!
//! An optional parameter that was not given leaves out the object member that is made of it alone; anywhere else
//! its absence is an error, because there is no honest text or array item for it. A `$default` gives it a value.

use serde_json::{Map, Value};

use crate::{Expression, Reference};

/// Where the values of holes come from.
pub trait Values {
    /// What can go wrong.
    type Error;

    /// Returns the parameter's value, or `None` when it is optional and was not given.
    ///
    /// # Errors
    /// When there is no such parameter.
    fn parameter(&mut self, name: &str) -> Result<Option<Value>, Self::Error>;

    /// Returns the value that `reference` picks.
    ///
    /// # Errors
    /// When it picks nothing, or the response is not there.
    fn reference(&mut self, reference: &Reference) -> Result<Value, Self::Error>;

    /// Returns the value that the jq program `program` picks from the item of a `for_each` step.
    ///
    /// # Errors
    /// When it picks nothing, or there is no item here.
    fn item(&mut self, program: &str) -> Result<Value, Self::Error>;

    /// Returns the position of that item.
    ///
    /// # Errors
    /// When there is no item here.
    fn index(&mut self) -> Result<Value, Self::Error>;

    /// Whether `step` gave a response, which decides between the two values of a `$default`. Before a run it is
    /// taken for granted.
    fn answered(&self, _step: &str) -> bool {
        true
    }

    /// Makes the error for a parameter that is needed as part of a larger value but was not given.
    fn absent(&mut self, name: &str) -> Self::Error;
}

/// Returns the value of `expression`, or `None` when it is a parameter that was not given.
///
/// # Errors
/// The errors of `values`.
pub fn evaluate<V: Values + ?Sized>(expression: &Expression, values: &mut V) -> Result<Option<Value>, V::Error> {
    Ok(Some(match expression {
        Expression::Literal(value) => value.clone(),
        Expression::Param(name) => return values.parameter(name),
        Expression::From(reference) => values.reference(reference)?,
        Expression::Item(program) => values.item(program)?,
        Expression::Index => values.index()?,
        Expression::Default(first, fallback) => {
            if first.is_answered(&|step| values.answered(step))
                && let Some(value) = evaluate(first, values)?
            {
                return Ok(Some(value));
            }
            return evaluate(fallback, values);
        }
        Expression::Array(items) => {
            Value::Array(items.iter().map(|item| needed(item, values)).collect::<Result<_, _>>()?)
        }
        Expression::Object(members) => {
            let mut object = Map::with_capacity(members.len());
            for (key, inner) in members {
                if let Some(value) = evaluate(inner, values)? {
                    object.insert(key.clone(), value);
                }
            }
            Value::Object(object)
        }
        Expression::Text(parts) => {
            let mut text = String::new();
            for part in parts {
                text.push_str(&text_of(&needed(part, values)?));
            }
            Value::String(text)
        }
    }))
}

/// Evaluates an expression that must have a value.
fn needed<V: Values + ?Sized>(expression: &Expression, values: &mut V) -> Result<Value, V::Error> {
    match evaluate(expression, values)? {
        Some(value) => Ok(value),
        None => match expression {
            Expression::Param(name) => Err(values.absent(name)),
            _ => Ok(Value::Null),
        },
    }
}

/// Returns a value as it stands inside text: a string as it is, anything else as compact JSON.
#[must_use]
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
