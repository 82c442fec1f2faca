//! Conditions: whether a step runs at all.
//!
//! | JSON | holds when |
//! |---|---|
//! | `{"all": […]}`, `{"any": […]}`, `{"not": …}` | all hold; one holds; the one does not |
//! | `{"compare": {"left": …, "op": "eq", "right": …}}` | also `ne`: JSON equality; numbers by value |
//! | … `"op": "lt"` | also `le`, `gt`, `ge`: two numbers, or two texts by their bytes; anything else is an error |
//! | … `"op": "contains"` | the left text has the right one, the left array the right item, the left object the key |
//! | … `"op": "exists"`, no `right` | there is a value that is not `null` |
//!
//! A step that `exists` looks at may have been skipped or have failed: then there is no value.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::evaluate::{Values, evaluate};
use crate::expression::{ExpressionError, Extent};
use crate::{Expression, Reference};

/// A condition on parameters and on responses of earlier steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "Value")]
pub enum Condition {
    /// Every one holds; so it does when there is none.
    All(Vec<Condition>),
    /// At least one holds; so it does not when there is none.
    Any(Vec<Condition>),
    /// The inner one does not hold.
    Not(Box<Condition>),
    /// Two values stand in a relation.
    Compare(Comparison),
}

/// Two values and the relation that is asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The left side.
    pub left: Expression,
    /// The relation.
    pub op: Operator,
    /// The right side; every operator but [`Operator::Exists`] has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<Expression>,
}

/// A relation of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operator {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// The left side has the right one in it.
    Contains,
    /// The left side has a value.
    Exists,
}

impl Operator {
    const ALL: [Self; 8] = [Self::Eq, Self::Ne, Self::Lt, Self::Le, Self::Gt, Self::Ge, Self::Contains, Self::Exists];

    /// Returns its name in a plan.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::Contains => "contains",
            Self::Exists => "exists",
        }
    }
}

// Read by hand from JSON as expressions are: what serde would generate is several times as large in the guest.
impl TryFrom<Value> for Condition {
    type Error = ExpressionError;

    fn try_from(value: Value) -> Result<Self, ExpressionError> {
        let wrong = || ExpressionError::new("a condition is an object with one of `all`, `any`, `not`, `compare`");
        let Value::Object(members) = value else { return Err(wrong()) };
        let mut members = members.into_iter();
        let (Some((key, inner)), None) = (members.next(), members.next()) else { return Err(wrong()) };
        match (key.as_str(), inner) {
            ("all", Value::Array(inner)) => Ok(Self::All(read_all(inner)?)),
            ("any", Value::Array(inner)) => Ok(Self::Any(read_all(inner)?)),
            ("not", inner) => Ok(Self::Not(Box::new(Self::try_from(inner)?))),
            ("compare", Value::Object(sides)) => Ok(Self::Compare(read_comparison(sides)?)),
            _ => Err(wrong()),
        }
    }
}

fn read_all(conditions: Vec<Value>) -> Result<Vec<Condition>, ExpressionError> {
    conditions.into_iter().map(Condition::try_from).collect()
}

fn read_comparison(mut sides: Map<String, Value>) -> Result<Comparison, ExpressionError> {
    let mut take = |key: &str| sides.shift_remove(key);
    let (left, op, right) = (take("left"), take("op"), take("right"));
    if let Some(unknown) = sides.keys().next() {
        return Err(ExpressionError::new(&format!("`compare` has an unknown key `{unknown}`")));
    }
    let op = op.as_ref().and_then(Value::as_str);
    let op = Operator::ALL.into_iter().find(|known| Some(known.name()) == op);
    match (left, op) {
        (Some(left), Some(op)) => {
            Ok(Comparison { left: left.try_into()?, op, right: right.map(Expression::try_from).transpose()? })
        }
        (None, _) => Err(ExpressionError::new("`compare` lacks its left side")),
        (_, None) => {
            let names: Vec<&str> = Operator::ALL.into_iter().map(Operator::name).collect();
            Err(ExpressionError::new(&format!("the `op` of `compare` is one of `{}`", names.join("`, `"))))
        }
    }
}

impl Condition {
    /// Calls `visit` with every comparison, in order of appearance.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Comparison)) {
        match self {
            Self::All(inner) | Self::Any(inner) => inner.iter().for_each(|one| one.walk(visit)),
            Self::Not(inner) => inner.walk(visit),
            Self::Compare(comparison) => visit(comparison),
        }
    }

    /// Returns the depth of nesting with that of the values, 1 for a comparison of scalars.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::All(inner) | Self::Any(inner) => 1 + inner.iter().map(Self::depth).max().unwrap_or(0),
            Self::Not(inner) => 1 + inner.depth(),
            Self::Compare(Comparison { left, right, .. }) => {
                left.depth().max(right.as_ref().map_or(0, Expression::depth))
            }
        }
    }

    /// Adds to `found` the steps for want of which the condition cannot be decided.
    pub(crate) fn lacking<'a>(&'a self, has: &dyn Fn(&str, Extent) -> bool, found: &mut Vec<&'a str>) {
        self.walk(&mut |comparison| {
            if comparison.op != Operator::Exists {
                let sides = std::iter::once(&comparison.left).chain(&comparison.right);
                sides.for_each(|side| side.lacking(Extent::Whole, has, found));
            }
        });
    }
}

/// What a comparison is made with: values, and an error for sides that do not go together.
pub(crate) trait Compare: Values {
    fn unfit(&self, message: String) -> Self::Error;
}

/// Decides a condition. What does not matter any more is not evaluated.
pub(crate) fn holds<V: Compare>(condition: &Condition, values: &mut V) -> Result<bool, V::Error> {
    let until = |inner: &[Condition], stop: bool, values: &mut V| {
        for one in inner {
            if holds(one, values)? == stop {
                return Ok(stop);
            }
        }
        Ok(!stop)
    };
    match condition {
        Condition::All(inner) => until(inner, false, values),
        Condition::Any(inner) => until(inner, true, values),
        Condition::Not(inner) => Ok(!holds(inner, values)?),
        Condition::Compare(Comparison { left, op: Operator::Exists, .. }) => exists(left, values),
        Condition::Compare(Comparison { left, op, right }) => {
            let left = evaluate(left, values)?.unwrap_or(Value::Null);
            let right = match right {
                Some(right) => evaluate(right, values)?.unwrap_or(Value::Null),
                None => Value::Null,
            };
            compare(&left, *op, &right).ok_or_else(|| {
                let (left, right) = (kind(&left), kind(&right));
                values.unfit(format!("`{}` does not take {left} and {right}", op.name()))
            })
        }
    }
}

fn exists<V: Compare>(left: &Expression, values: &mut V) -> Result<bool, V::Error> {
    if !left.is_answered(&|step| values.answered(step)) {
        return Ok(false);
    }
    if let Expression::From(reference) = left {
        // No output is an answer here, and so are several.
        let all = Reference { each: true, ..reference.clone() };
        let outputs = values.reference(&all)?;
        return Ok(outputs.as_array().is_some_and(|outputs| outputs.iter().any(|output| !output.is_null())));
    }
    Ok(evaluate(left, values)?.is_some_and(|value| !value.is_null()))
}

/// Returns `None` for sides that the operator does not take.
fn compare(left: &Value, op: Operator, right: &Value) -> Option<bool> {
    Some(match op {
        Operator::Eq => equal(left, right),
        Operator::Ne => !equal(left, right),
        Operator::Lt => order(left, right)?.is_lt(),
        Operator::Le => order(left, right)?.is_le(),
        Operator::Gt => order(left, right)?.is_gt(),
        Operator::Ge => order(left, right)?.is_ge(),
        Operator::Contains => match (left, right) {
            (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
            (Value::Object(members), Value::String(key)) => members.contains_key(key),
            (Value::Array(items), item) => items.iter().any(|one| equal(one, item)),
            _ => return None,
        },
        Operator::Exists => !left.is_null(),
    })
}

/// JSON equality in which `1` and `1.0` are the same number.
#[must_use]
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => numbers(left, right) == Some(Ordering::Equal),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, one)| right.get(key).is_some_and(|other| equal(one, other)))
        }
        _ => left == right,
    }
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => numbers(left, right),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// Integers exactly; a fraction with anything as doubles.
fn numbers(left: &Number, right: &Number) -> Option<Ordering> {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// Names the type of a value, with its article.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
