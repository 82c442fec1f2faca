//! What a schema comes down to: the part of JSON Schema that a type can say, the same for both languages.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

/// Position in the table of named types.
pub(crate) type TypeIndex = usize;

/// The shape of a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Anything.
    Any,
    /// Nothing fits (`false`).
    Never,
    /// Only `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    Number,
    Text,
    /// One of some scalars; never empty.
    Literals(Vec<Value>),
    /// An array.
    List(Box<Shape>),
    /// An object with any keys.
    Map(Box<Shape>),
    /// An object with known keys.
    Record(Record),
    /// One of several; at least two, none of them a union.
    Union(Vec<Shape>),
    /// All of several at once; at least two.
    All(Vec<Shape>),
    /// A named type.
    Named(TypeIndex),
}

impl Shape {
    /// Makes a union: flat, without repetitions, literals together in front, `null` last.
    pub(crate) fn union(members: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        let mut literals: Vec<Value> = Vec::new();
        let mut nullable = false;
        let mut queue = VecDeque::from(members);
        while let Some(member) = queue.pop_front() {
            match member {
                Self::Any => return Self::Any,
                Self::Never => {}
                Self::Null => nullable = true,
                Self::Union(inner) => inner.into_iter().rev().for_each(|shape| queue.push_front(shape)),
                Self::Literals(values) => literals.extend(values),
                other if flat.contains(&other) => {}
                other => flat.push(other),
            }
        }
        nullable |= literals.iter().any(Value::is_null);
        let text = flat.contains(&Self::Text);
        let mut seen = HashSet::new();
        literals.retain(|value| !value.is_null() && seen.insert(value.to_string()));
        if text {
            literals.retain(|value| !value.is_string());
        }
        if !literals.is_empty() {
            flat.insert(0, Self::Literals(literals));
        }
        if nullable {
            flat.push(Self::Null);
        }
        match flat.len() {
            0 => Self::Never,
            1 => flat.swap_remove(0),
            _ => Self::Union(flat),
        }
    }

    /// Makes an intersection: flat and without parts that say nothing.
    pub(crate) fn all(parts: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        for part in parts {
            match part {
                Self::Any => {}
                Self::All(inner) => flat.extend(inner),
                other if flat.contains(&other) => {}
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Self::Any,
            1 => flat.swap_remove(0),
            _ => Self::All(flat),
        }
    }
}

/// An object with known keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Record {
    /// Its fields, in the order of the schema.
    pub(crate) fields: Vec<Field>,
    /// Whether the schema says that further keys are welcome. Silence does not count, although JSON Schema has
    /// it so: else no misspelt and no removed field could be an error.
    pub(crate) open: bool,
}

/// One field of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    /// Its key.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) shape: Shape,
    /// Whether it must be there.
    pub(crate) required: bool,
    /// What is known in words.
    pub(crate) note: Note,
}

/// What the schema says in words, as it stands there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Note {
    /// `description` or `title`.
    pub(crate) prose: String,
    /// `format`.
    pub(crate) format: Option<String>,
    /// `default`, when it is a scalar, as JSON.
    pub(crate) default: Option<String>,
    /// `deprecated`.
    pub(crate) deprecated: bool,
}
