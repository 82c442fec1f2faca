//! Types in Rust: structs for objects, enums for sets of texts, `Value` for what Rust has no plain type for.
//!
//! A struct with required fields has no `Default`, and its optional fields are in a second struct that has one:
//! `Args { owner, repo, options: ArgsOptions { state, ..Default::default() } }`. So a field that becomes required
//! cannot be forgotten, and one that is renamed or removed cannot be set.
//!
//! Rust has no recursive aliases, so one that leads to itself without a struct between becomes `Value` there. A
//! struct within itself is boxed.

use std::fmt::Write as _;

use serde_json::Value;

use super::{RESERVED_VALUES, doc};
use crate::graph::components;
use crate::model::Model;
use crate::name::{self, Names};
use crate::shape::{Field, Note, Record, Shape, TypeIndex};
use crate::text;

/// Most characters of prose at a type or field.
const FIELD_PROSE: usize = 300;
/// Members of a union that are named in a comment.
const MAX_LISTED: usize = 12;

const VALUE: &str = "::rote_sdk::Value";

/// Writes the types of a model.
pub(super) struct Types<'m> {
    model: &'m Model<'m>,
    /// Names in use, among them those that are claimed on the way.
    names: Names,
    /// Which types contain each other without a list or a map between: equal numbers.
    components: Vec<usize>,
    /// Which aliases lead to each other without a struct between: equal numbers.
    alias_components: Vec<usize>,
}

/// Where a type is being written.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// The named type around.
    owner: TypeIndex,
    /// The name that an enum or a struct gets here.
    name: &'p str,
    /// Whether a list or a map is between, so that no box is needed.
    indirect: bool,
    /// Whether the owner is an alias and no struct is between.
    aliased: bool,
}

impl<'m> Types<'m> {
    pub(super) fn new(model: &'m Model<'m>) -> Self {
        let types = &model.types;
        let edges: Vec<Vec<TypeIndex>> = types.iter().map(|named| contained(&named.shape)).collect();
        let alias_edges: Vec<Vec<TypeIndex>> = types
            .iter()
            .map(|named| if is_struct(&named.shape) { Vec::new() } else { aliased(&named.shape) })
            .collect();
        Self {
            model,
            names: model.names.clone(),
            components: components(&edges),
            alias_components: components(&alias_edges),
        }
    }

    pub(super) fn name(&self, index: TypeIndex) -> &'m str {
        &self.model.types[index].name
    }

    /// Writes one named type after everything that it needs.
    pub(super) fn declare(&mut self, out: &mut String, index: TypeIndex) {
        let named = &self.model.types[index];
        let lines = text::prose(&named.note.prose, FIELD_PROSE);
        let place = Place { owner: index, name: &named.name, indirect: false, aliased: true };
        if let Some(values) = texts(&named.shape) {
            self.choice(out, &named.name, &values, &lines);
        } else if let Some(record) = merged(&named.shape) {
            self.structure(out, &record, place, &lines);
        } else {
            let mut alias = String::new();
            let name = format!("{}Object", named.name);
            let target = self.type_of(&mut alias, &named.shape, Place { name: &name, ..place });
            out.push_str(&alias);
            doc(out, "", &lines);
            let _ = write!(out, "pub type {} = {target};\n\n", named.name);
        }
    }

    /// Writes a struct; `out` gets its nested types first.
    fn structure(&mut self, out: &mut String, record: &Record, place: Place<'_>, lines: &[String]) {
        let (required, optional): (Vec<&Field>, Vec<&Field>) = record.fields.iter().partition(|field| field.required);
        let split = !required.is_empty() && !optional.is_empty();
        let mut names = Names::reserving(RESERVED_VALUES);
        let mut own = String::new();
        for field in &required {
            self.field(out, &mut own, field, &mut names, place);
        }
        if split {
            let type_name = self.names.claim(&format!("{}Options", place.name), "");
            let mut own_optional = String::new();
            let mut optional_names = Names::reserving(RESERVED_VALUES);
            for field in &optional {
                self.field(out, &mut own_optional, field, &mut optional_names, place);
            }
            let about = [format!("The optional fields of [`{}`].", place.name)];
            braces(out, &type_name, &own_optional, &about, true);
            let name = names.claim("options", "_");
            let _ = write!(own, "    /// The optional fields.\n    #[serde(flatten)]\n    pub {name}: {type_name},\n");
        } else {
            for field in &optional {
                self.field(out, &mut own, field, &mut names, place);
            }
        }
        if record.open {
            let name = names.claim("additional", "_");
            let _ = write!(
                own,
                "    /// Further fields.\n    #[serde(flatten)]\n    \
                 pub {name}: ::std::collections::BTreeMap<String, {VALUE}>,\n"
            );
        }
        braces(out, place.name, &own, lines, required.is_empty());
    }

    fn field(&mut self, out: &mut String, own: &mut String, field: &Field, names: &mut Names, place: Place<'_>) {
        let name = names.claim(&name::snake(&field.name), "_");
        let wanted = format!("{}{}", place.name, name::pascal(&field.name));
        let type_text =
            self.type_of(out, &field.shape, Place { name: &wanted, aliased: false, indirect: false, ..place });
        doc(own, "    ", &field_doc(field));
        let mut attributes = Vec::new();
        if name != field.name {
            attributes.push(format!("rename = {}", text::rust(&field.name)));
        }
        let type_text = if field.required {
            type_text
        } else {
            attributes.push("skip_serializing_if = \"Option::is_none\"".to_owned());
            format!("Option<{type_text}>")
        };
        if !attributes.is_empty() {
            let _ = writeln!(own, "    #[serde({})]", attributes.join(", "));
        }
        let _ = writeln!(own, "    pub {name}: {type_text},");
    }

    /// Returns a type as text; `out` gets the types that have to be declared for it.
    fn type_of(&mut self, out: &mut String, shape: &Shape, place: Place<'_>) -> String {
        if let Some(values) = texts(shape) {
            let name = self.names.claim(&clipped(place.name), "");
            self.choice(out, &name, &values, &[]);
            return name;
        }
        match shape {
            Shape::Boolean => "bool".to_owned(),
            Shape::Integer => "i64".to_owned(),
            Shape::Number => "f64".to_owned(),
            Shape::Text => "String".to_owned(),
            Shape::Null => "()".to_owned(),
            Shape::Literals(values) if values.iter().all(Value::is_boolean) => "bool".to_owned(),
            Shape::Literals(values) if values.iter().all(|value| value.is_i64()) => "i64".to_owned(),
            Shape::List(item) => {
                let name = format!("{}Item", place.name);
                let item = self.type_of(out, item, Place { name: &name, indirect: true, ..place });
                format!("Vec<{item}>")
            }
            Shape::Map(value) => {
                let name = format!("{}Value", place.name);
                let value = self.type_of(out, value, Place { name: &name, indirect: true, ..place });
                format!("::std::collections::BTreeMap<String, {value}>")
            }
            Shape::Union(members) => match optional(members) {
                Some(member) => format!("Option<{}>", self.type_of(out, member, place)),
                None => VALUE.to_owned(),
            },
            Shape::Named(index) => self.named(*index, place),
            Shape::Record(_) | Shape::All(_) => match merged(shape) {
                Some(record) => {
                    let name = self.names.claim(&clipped(place.name), "");
                    self.structure(out, &record, Place { name: &name, ..place }, &[]);
                    name
                }
                None => VALUE.to_owned(),
            },
            Shape::Any | Shape::Never | Shape::Literals(_) => VALUE.to_owned(),
        }
    }

    fn named(&self, index: TypeIndex, place: Place<'_>) -> String {
        let named = &self.model.types[index];
        let is_struct = is_struct(&named.shape);
        if place.aliased && !is_struct && self.alias_components[index] == self.alias_components[place.owner] {
            return VALUE.to_owned();
        }
        if is_struct && !place.indirect && self.components[index] == self.components[place.owner] {
            format!("Box<{}>", named.name)
        } else {
            named.name.clone()
        }
    }

    /// Writes an enum of texts.
    fn choice(&mut self, out: &mut String, name: &str, values: &[&str], lines: &[String]) {
        doc(out, "", lines);
        let _ = write!(out, "#[derive(Debug, Clone, Copy, PartialEq, Eq, ::serde::Serialize)]\npub enum {name} {{\n");
        let mut names = Names::reserving(&["Self"]);
        for value in values {
            let variant = names.claim(&name::variant(value), "");
            let _ = write!(
                out,
                "    /// `{}`.\n    #[serde(rename = {})]\n    {variant},\n",
                text::code(value),
                text::rust(value)
            );
        }
        out.push_str("}\n\n");
    }
}

/// Writes a struct around its fields.
fn braces(out: &mut String, name: &str, fields: &str, lines: &[String], default: bool) {
    doc(out, "", lines);
    let default = if default { "Default, " } else { "" };
    let _ = write!(out, "#[derive(Debug, Clone, PartialEq, {default}::serde::Serialize)]\npub struct {name} {{\n");
    out.push_str(fields);
    out.push_str("}\n\n");
}

fn field_doc(field: &Field) -> Vec<String> {
    let Note { prose, format, default, deprecated } = &field.note;
    let mut lines = text::prose(prose, FIELD_PROSE);
    lines.extend(format.as_ref().map(|format| format!("Format: {}.", text::phrase(format, 60))));
    lines.extend(default.as_ref().map(|default| format!("Default: {}.", text::phrase(default, 80))));
    match &field.shape {
        Shape::Union(members) if optional(members).is_none() => {
            lines.push(format!("One of: {}.", members.iter().map(word).collect::<Vec<_>>().join(", ")));
        }
        Shape::Literals(values) if texts(&field.shape).is_none() => {
            let listed: Vec<String> = values.iter().take(MAX_LISTED).map(|v| text::code(&v.to_string())).collect();
            lines.push(format!("One of: {}.", listed.join(", ")));
        }
        _ => {}
    }
    if *deprecated {
        lines.push("Deprecated.".to_owned());
    }
    lines
}

/// Returns a shape in a word, for a comment.
fn word(shape: &Shape) -> &'static str {
    match shape {
        Shape::Null => "null",
        Shape::Boolean => "a boolean",
        Shape::Integer => "an integer",
        Shape::Number => "a number",
        Shape::Text => "a text",
        Shape::Literals(_) => "a fixed value",
        Shape::List(_) => "a list",
        Shape::Map(_) | Shape::Record(_) | Shape::All(_) => "an object",
        Shape::Any | Shape::Never | Shape::Union(_) | Shape::Named(_) => "a value of a named type",
    }
}

/// Returns the texts that a shape is one of, or `None` when it is something else.
fn texts(shape: &Shape) -> Option<Vec<&str>> {
    match shape {
        Shape::Literals(values) => values.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Returns the one thing that a union is besides `null`.
fn optional(members: &[Shape]) -> Option<&Shape> {
    match members {
        [member, Shape::Null] => Some(member),
        _ => None,
    }
}

/// Returns the one record that a shape is. Alternatives beside one leave it open.
fn merged(shape: &Shape) -> Option<Record> {
    let parts = match shape {
        Shape::Record(record) => return Some(record.clone()),
        Shape::All(parts) => parts,
        _ => return None,
    };
    let mut whole = Record::default();
    let mut found = false;
    for part in parts {
        match part {
            Shape::Record(record) => {
                found = true;
                whole.open |= record.open;
                for field in &record.fields {
                    match whole.fields.iter_mut().find(|other| other.name == field.name) {
                        Some(other) => other.required |= field.required,
                        None => whole.fields.push(field.clone()),
                    }
                }
            }
            _ => whole.open = true,
        }
    }
    found.then_some(whole)
}

/// Whether a struct is written for a shape.
fn is_struct(shape: &Shape) -> bool {
    match shape {
        Shape::Record(_) => true,
        Shape::All(parts) => parts.iter().any(|part| matches!(part, Shape::Record(_))),
        _ => false,
    }
}

/// Returns the types that an alias leads to without a struct between.
fn aliased(shape: &Shape) -> Vec<TypeIndex> {
    match shape {
        Shape::Named(index) => vec![*index],
        Shape::List(inner) | Shape::Map(inner) => aliased(inner),
        Shape::Union(members) => members.iter().flat_map(aliased).collect(),
        _ => Vec::new(),
    }
}

/// Returns the types that a type contains without a list or a map between.
fn contained(shape: &Shape) -> Vec<TypeIndex> {
    match shape {
        Shape::Named(index) => vec![*index],
        Shape::Union(members) | Shape::All(members) => members.iter().flat_map(contained).collect(),
        Shape::Record(record) => record.fields.iter().flat_map(|field| contained(&field.shape)).collect(),
        _ => Vec::new(),
    }
}

/// Keeps the names of deeply nested types short.
fn clipped(name: &str) -> String {
    const MAX: usize = 120;
    name.chars().take(MAX).collect()
}
