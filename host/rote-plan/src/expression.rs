//! Expressions: JSON in which an object with one `$` key stands for a value that is known only when the plan runs.
//!
//! | JSON | value |
//! |---|---|
//! | `{"$param": "name"}` | the parameter |
//! | `{"$from": {"step": "s1", "jq": ".items[0].id"}}` | the one output of the program on that step's response |
//! | `{"$from": {"step": "s1", "jq": ".items[]", "each": true}}` | all outputs, as an array |
//! | `{"$from": {"step": "s1", "jq": "…", "with": {"title": {"$param": "p"}}}}` | with `$title` bound in the program, to a `$param` or a `$from` |
//! | `{"$item": ".id"}` | the one output of the program on the item of a `for_each` step; `.` is the item itself |
//! | `{"$index": true}` | the item's position, from 0 |
//! | `{"$default": [first, fallback]}` | `first`, or `fallback` when a step that `first` uses gave no response |
//! | `{"$text": ["repo:", {"$param": "owner"}]}` | the parts, joined as text |
//! | `{"$object": [["$filter", …], …]}` | an object with holes whose keys start with `$` |
//! | `{"$literal": …}` | the value itself, even if it looks like an expression |
//!
//! Any other object key that starts with `$` beside or instead of these is refused, so a misspelt expression is
//! never sent as data.
//!
//! A `$from` of a step with `for_each` runs its program on each response and gives an array of the outputs in item
//! order; with `each`, the outputs of all responses one after another. A `$from` of a step with `pages` runs its program
//! once, on the last page with the items of all. Only whole steps are used: one whose items
//! failed in part counts as missing, except as the first of a `$default`, which takes the responses that are there.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::plan::MAX_DEPTH;
use crate::visit::Onward;

/// A value of a response that an earlier step received.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The step.
    pub step: String,
    /// The jq program that picks the value.
    pub jq: String,
    /// Whether all outputs are taken, as an array; otherwise there must be exactly one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// What variables of the program are bound to, by name without `$`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, Bound>,
}

/// What a variable of a jq program is bound to; never null.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Bound {
    /// A parameter of the plan.
    #[serde(rename = "$param")]
    Param(String),
    /// A part of an earlier response.
    #[serde(rename = "$from")]
    From(Box<Reference>),
}

impl Reference {
    /// Refers to the one output of a program without variables.
    #[must_use]
    pub fn new(step: String, jq: String) -> Self {
        Self { step, jq, each: false, with: BTreeMap::new() }
    }

    /// Calls `visit` with this reference and every one that its variables are bound to, outer first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Reference)) {
        visit(self);
        for bound in self.with.values() {
            if let Bound::From(inner) = bound {
                inner.walk(visit);
            }
        }
    }

    /// The depth of nesting, 0 without variables.
    fn depth(&self) -> usize {
        let inner = self.with.values().map(|bound| match bound {
            Bound::Param(_) => 1,
            Bound::From(inner) => 1 + inner.depth(),
        });
        inner.max().unwrap_or(0)
    }
}

/// Returns `program` with its variables bound, as one program. Each value stands in parentheses: `-5 as $n` would be
/// read as `-(5 as $n …)`.
pub fn bind<'a>(program: &str, values: impl IntoIterator<Item = (&'a str, &'a Value)>) -> String {
    let mut text = String::new();
    for (name, value) in values {
        text.push_str(&format!("({value}) as ${name} | "));
    }
    text + program
}

/// A JSON value with holes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum Expression {
    /// A value without holes.
    Literal(Value),
    /// An object, its members in order.
    Object(Vec<(String, Expression)>),
    /// An array.
    Array(Vec<Expression>),
    /// A parameter of the plan.
    Param(String),
    /// A part of an earlier response.
    From(Reference),
    /// A part of the item of a `for_each` step, by jq.
    Item(String),
    /// The position of that item, from 0.
    Index,
    /// A value, and what stands for it when a step that it uses gave no response, or when it is a parameter that
    /// was not given.
    Default(Box<Expression>, Box<Expression>),
    /// Parts joined as text.
    Text(Vec<Expression>),
}

/// How much of a step a value needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Every response.
    Whole,
    /// Those that are there, as long as the step was not skipped or blocked and did not fail as a whole.
    Part,
}

/// An object with a `$` key that is not an expression, nesting beyond [`MAX_DEPTH`], or what is not a condition.
#[derive(Debug)]
pub struct ExpressionError(String);

impl ExpressionError {
    pub(crate) fn new(message: &str) -> Self {
        Self(message.to_owned())
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Expression {
    /// Returns every reference to a response, in order of appearance.
    #[must_use]
    pub fn references(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.walk(&mut |inner| {
            if let Self::From(reference) = inner {
                reference.walk(&mut |one| found.push(one));
            }
        });
        found
    }

    /// Returns the name of every parameter that is used, in order of appearance.
    #[must_use]
    pub fn parameters(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.walk(&mut |inner| match inner {
            Self::Param(name) => found.push(name.as_str()),
            Self::From(reference) => reference.walk(&mut |one| {
                let names = one.with.values().filter_map(|bound| match bound {
                    Bound::Param(name) => Some(name.as_str()),
                    Bound::From(_) => None,
                });
                names.for_each(|name| found.push(name));
            }),
            _ => {}
        });
        found
    }

    /// Returns the first use of the item or its index, as it is written.
    #[must_use]
    pub fn item_use(&self) -> Option<&'static str> {
        let mut found = None;
        self.walk(&mut |inner| match inner {
            Self::Item(_) => found = found.or(Some("$item")),
            Self::Index => found = found.or(Some("$index")),
            _ => {}
        });
        found
    }

    /// Adds to `found` the steps for want of which this has no value. `has` says of a step whether as much of it is
    /// there as is needed; of a `$default` the fallback counts only when the first is lacking.
    pub(crate) fn lacking<'a>(&'a self, extent: Extent, has: &dyn Fn(&str, Extent) -> bool, found: &mut Vec<&'a str>) {
        self.visit(&mut |_, inner| {
            match inner {
                Self::From(reference) => reference.walk(&mut |one| {
                    if !has(&one.step, extent) {
                        found.push(&one.step);
                    }
                }),
                Self::Default(first, fallback) => {
                    if !first.is_answered(&|step| has(step, Extent::Part)) {
                        fallback.lacking(extent, has, found);
                    }
                    return Onward::Past;
                }
                _ => {}
            }
            Onward::Into
        });
    }

    /// Whether no step is lacking when a part of each is enough.
    pub(crate) fn is_answered(&self, answered: &dyn Fn(&str) -> bool) -> bool {
        let mut found = Vec::new();
        self.lacking(Extent::Part, &|step, _| answered(step), &mut found);
        found.is_empty()
    }

    /// Whether this is an object once evaluated, whatever the holes hold.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_) | Self::Literal(Value::Object(_)))
    }

    /// Returns the depth of nesting, 1 for a scalar.
    #[must_use]
    pub fn depth(&self) -> usize {
        let inner = match self {
            Self::Object(members) => members.iter().map(|(_, inner)| inner.depth()).max().unwrap_or(0),
            Self::Array(items) | Self::Text(items) => items.iter().map(Expression::depth).max().unwrap_or(0),
            Self::Default(first, fallback) => first.depth().max(fallback.depth()),
            Self::Literal(value) => return depth_of(value, 0),
            Self::From(reference) => reference.depth(),
            Self::Param(_) | Self::Item(_) | Self::Index => 0,
        };
        inner + 1
    }
}

/// The depth of a value, or [`MAX_DEPTH`] + 1 as soon as it is beyond that.
fn depth_of(value: &Value, above: usize) -> usize {
    if above > MAX_DEPTH {
        return 1;
    }
    1 + match value {
        Value::Array(items) => items.iter().map(|item| depth_of(item, above + 1)).max().unwrap_or(0),
        Value::Object(members) => members.values().map(|item| depth_of(item, above + 1)).max().unwrap_or(0),
        _ => 0,
    }
}

impl TryFrom<Value> for Expression {
    type Error = ExpressionError;

    fn try_from(value: Value) -> Result<Self, ExpressionError> {
        read(value, 1)
    }
}

fn read(value: Value, depth: usize) -> Result<Expression, ExpressionError> {
    if depth > MAX_DEPTH {
        return Err(ExpressionError(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    match value {
        Value::Object(members) if members.keys().any(|key| key.starts_with('$')) => read_dollar(members, depth),
        Value::Object(members) => read_members(members.into_iter(), depth),
        Value::Array(items) => Ok(collapse_array(read_all(items, depth + 1)?)),
        scalar => Ok(Expression::Literal(scalar)),
    }
}

fn read_members(members: impl Iterator<Item = (String, Value)>, depth: usize) -> Result<Expression, ExpressionError> {
    let inner: Vec<(String, Expression)> =
        members.map(|(key, value)| Ok((key, read(value, depth + 1)?))).collect::<Result<_, ExpressionError>>()?;
    Ok(collapse_object(inner))
}

fn read_all(items: Vec<Value>, depth: usize) -> Result<Vec<Expression>, ExpressionError> {
    items.into_iter().map(|item| read(item, depth)).collect()
}

/// Reads an object that has a `$` key: it must be exactly one expression.
fn read_dollar(members: Map<String, Value>, depth: usize) -> Result<Expression, ExpressionError> {
    let mut members = members.into_iter();
    match (members.next(), members.next()) {
        (Some((key, inner)), None) => match (key.as_str(), inner) {
            ("$literal", inner) if depth_of(&inner, depth) + depth <= MAX_DEPTH => Ok(Expression::Literal(inner)),
            ("$literal", _) => Err(ExpressionError(format!("nested deeper than {MAX_DEPTH} levels"))),
            ("$param", Value::String(name)) => Ok(Expression::Param(name)),
            ("$item", Value::String(program)) => Ok(Expression::Item(program)),
            ("$index", Value::Bool(true)) => Ok(Expression::Index),
            ("$default", Value::Array(parts)) => read_default(parts, depth + 1),
            ("$text", Value::Array(parts)) => Ok(Expression::Text(read_all(parts, depth + 1)?)),
            ("$object", inner) => {
                let pairs: Vec<(String, Value)> = serde_json::from_value(inner)
                    .map_err(|error| ExpressionError(format!("`$object` is not a list of pairs: {error}")))?;
                read_members(pairs.into_iter(), depth)
            }
            ("$from", inner) => serde_json::from_value(inner)
                .map(Expression::From)
                .map_err(|error| ExpressionError(format!("`$from` is not well formed: {error}"))),
            (key, _) => Err(ExpressionError(format!("`{key}` is not an expression, or its value has the wrong type"))),
        },
        _ => Err(ExpressionError("an expression is an object with one `$` key and no other".to_owned())),
    }
}

fn read_default(parts: Vec<Value>, depth: usize) -> Result<Expression, ExpressionError> {
    let mut parts = read_all(parts, depth)?.into_iter();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(first), Some(fallback), None) => Ok(Expression::Default(Box::new(first), Box::new(fallback))),
        _ => Err(ExpressionError("`$default` is a list of two: a value and its fallback".to_owned())),
    }
}

/// An object without holes is a literal, so that equal plans compare equal however they were built.
fn collapse_object(members: Vec<(String, Expression)>) -> Expression {
    if members.iter().any(|(_, inner)| !matches!(inner, Expression::Literal(_))) {
        return Expression::Object(members);
    }
    Expression::Literal(Value::Object(
        members.into_iter().filter_map(|(key, inner)| Some((key, inner.literal()?))).collect(),
    ))
}

fn collapse_array(items: Vec<Expression>) -> Expression {
    if items.iter().any(|inner| !matches!(inner, Expression::Literal(_))) {
        return Expression::Array(items);
    }
    Expression::Literal(Value::Array(items.into_iter().filter_map(Expression::literal).collect()))
}

impl Expression {
    fn literal(self) -> Option<Value> {
        match self {
            Self::Literal(value) => Some(value),
            _ => None,
        }
    }
}

/// Whether a value would be read as an expression somewhere inside.
fn looks_like_expression(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(looks_like_expression),
        Value::Object(members) => {
            members.iter().any(|(key, inner)| key.starts_with('$') || looks_like_expression(inner))
        }
        _ => false,
    }
}

impl From<Expression> for Value {
    fn from(expression: Expression) -> Value {
        match expression {
            Expression::Literal(value) if looks_like_expression(&value) => json!({ "$literal": value }),
            Expression::Literal(value) => value,
            Expression::Object(members) if members.iter().any(|(key, _)| key.starts_with('$')) => {
                let pairs = members.into_iter().map(|(key, inner)| json!([key, Value::from(inner)]));
                json!({ "$object": pairs.collect::<Vec<_>>() })
            }
            Expression::Object(members) => {
                Value::Object(members.into_iter().map(|(key, inner)| (key, inner.into())).collect())
            }
            Expression::Array(items) => Value::Array(items.into_iter().map(Value::from).collect()),
            Expression::Param(name) => json!({ "$param": name }),
            Expression::From(reference) => json!({ "$from": reference }),
            Expression::Item(program) => json!({ "$item": program }),
            Expression::Index => json!({ "$index": true }),
            Expression::Default(first, fallback) => {
                json!({ "$default": [Value::from(*first), Value::from(*fallback)] })
            }
            Expression::Text(parts) => {
                json!({ "$text": parts.into_iter().map(Value::from).collect::<Vec<_>>() })
            }
        }
    }
}
