//! What an operation answers, in short: a JSON Schema without references, cut at a depth and at a number of members.
//!
//! It is what a person looks at and what bindings are typed by; nothing is checked against it. Invariants: it is bounded
//! whatever the source says; where something was left out it says so (`additionalProperties`).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::openapi::documents::{Documents, Node};

/// Most members of an object, by how deep it lies; what lies deeper is an object without members.
const MEMBERS: [usize; 3] = [40, 12, 6];
/// Most members of all objects together.
const MOST_MEMBERS: usize = 96;
/// Longest chain of lists, variants and parts.
const MOST_NESTING: usize = 16;
/// Most schemas that are looked at.
const MOST_VISITS: usize = 600;
/// Most variants of a choice.
const MOST_VARIANTS: usize = 4;
/// Most values of a list of allowed ones, and the most bytes of each.
const MOST_VALUES: usize = 8;
const LONGEST: usize = 64;
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Returns the outline of a schema; one that says nothing is `{}`.
pub(crate) fn outline(documents: &Documents, schema: &Node<'_>) -> Value {
    let open = Vec::new();
    Outliner { documents, members: MOST_MEMBERS, visits: MOST_VISITS, open }.of(schema.clone(), 0, MOST_NESTING)
}

struct Outliner<'a> {
    documents: &'a Documents,
    members: usize,
    visits: usize,
    /// Addresses of the schemas around the one that is looked at: one that contains itself is not written out again.
    open: Vec<usize>,
}

/// What a schema and the parts of its `allOf` say together; the first one that says a thing counts.
#[derive(Default)]
struct Said<'a> {
    types: Vec<&'a str>,
    properties: Vec<(&'a str, Node<'a>)>,
    required: BTreeSet<&'a str>,
    items: Option<Node<'a>>,
    further: Option<Node<'a>>,
    values: Vec<&'a Value>,
    variants: Vec<Node<'a>>,
    nullable: bool,
    cut: bool,
}

impl<'a> Outliner<'a> {
    fn of(&mut self, schema: Node<'a>, level: usize, nesting: usize) -> Value {
        let Ok(schema) = self.documents.resolve(schema) else { return json!({}) };
        let address = std::ptr::from_ref(schema.value).addr();
        if self.open.contains(&address) {
            return Value::Object(typed(types(&schema), false));
        }
        self.open.push(address);
        let out = self.written(schema, level, nesting);
        self.open.pop();
        out
    }

    fn written(&mut self, schema: Node<'a>, level: usize, nesting: usize) -> Value {
        let mut said = Said::default();
        self.gather(schema, nesting, &mut said);
        let mut out = if !said.properties.is_empty() {
            self.object(&mut said, level, nesting)
        } else if let Some(items) = said.items.take() {
            let items = self.of(items, level, nesting.saturating_sub(1));
            json!({"type": "array", "items": items})
        } else if !said.variants.is_empty() {
            return self.choice(&said, level, nesting);
        } else if !said.values.is_empty() {
            json!({"enum": said.values})
        } else if let Some(further) = said.further.take().filter(|_| level < MEMBERS.len()) {
            let further = self.of(further, level + 1, nesting.saturating_sub(1));
            json!({"type": "object", "additionalProperties": further})
        } else {
            return Value::Object(typed(said.types, said.nullable));
        };
        if said.nullable {
            nullable(&mut out);
        }
        out
    }

    /// Collects what a schema says with the parts that it consists of.
    fn gather(&mut self, schema: Node<'a>, nesting: usize, said: &mut Said<'a>) {
        if self.visits == 0 || nesting == 0 {
            said.cut = true;
            return;
        }
        self.visits -= 1;
        let Ok(schema) = self.documents.resolve(schema) else { return };
        if said.types.is_empty() {
            said.types = types(&schema);
        }
        said.nullable |= schema.flag("nullable") || schema.flag("x-nullable");
        for (name, property) in schema.get("properties").iter().flat_map(|all| all.members().collect::<Vec<_>>()) {
            if said.properties.iter().all(|(known, _)| *known != name) {
                said.properties.push((name, property));
            }
        }
        let required = schema.value["required"].as_array().into_iter().flatten();
        said.required.extend(required.filter_map(Value::as_str));
        said.items = said.items.take().or_else(|| schema.get("items").filter(|items| items.value.is_object()));
        let further = schema.get("additionalProperties").filter(|further| further.value.is_object());
        said.further = said.further.take().or(further);
        if said.values.is_empty() {
            said.values = values(schema.value);
        }
        for part in schema.get("allOf").iter().flat_map(|all| all.elements().collect::<Vec<_>>()) {
            self.gather(part, nesting - 1, said);
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(all) = schema.get(word).filter(|_| said.variants.is_empty()) {
                said.variants = all.elements().collect();
            }
        }
    }

    fn object(&mut self, said: &mut Said<'a>, level: usize, nesting: usize) -> Value {
        let most = MEMBERS.get(level).copied().unwrap_or(0).min(self.members);
        let all = said.properties.len();
        said.properties.retain(|(name, _)| name.len() <= LONGEST);
        said.properties.truncate(most);
        // Taken before any of them is looked into: what lies deeper does not push out what is next to it.
        self.members -= said.properties.len();
        if said.properties.is_empty() {
            return json!({"type": "object"});
        }
        let mut properties = Map::new();
        for (name, property) in std::mem::take(&mut said.properties) {
            properties.insert(name.to_owned(), self.of(property, level + 1, nesting.saturating_sub(1)));
        }
        let required: Vec<&str> = said.required.iter().copied().filter(|name| properties.contains_key(*name)).collect();
        let is_cut = said.cut || properties.len() < all || said.further.is_some() || !said.variants.is_empty();
        let mut out = Map::from_iter([("type".to_owned(), json!("object"))]);
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
        if is_cut {
            out.insert("additionalProperties".to_owned(), json!(true));
        }
        out.insert("properties".to_owned(), Value::Object(properties));
        Value::Object(out)
    }

    /// One of several; what is too many to be told apart is anything.
    fn choice(&mut self, said: &Said<'a>, level: usize, nesting: usize) -> Value {
        let null = json!({"type": "null"});
        let mut found: Vec<Value> = Vec::new();
        let mut is_nullable = said.nullable;
        for variant in said.variants.iter().take(MOST_VARIANTS + 2) {
            let one = self.of(variant.clone(), level, nesting.saturating_sub(1));
            is_nullable |= one == null;
            if one != null && !found.contains(&one) {
                found.push(one);
            }
        }
        let is_open =
            found.contains(&json!({})) || found.len() > MOST_VARIANTS || said.variants.len() > MOST_VARIANTS + 2;
        match found.len() {
            _ if is_open => json!({}),
            0 => null,
            1 => {
                let mut only = found.swap_remove(0);
                if is_nullable {
                    nullable(&mut only);
                }
                only
            }
            _ => {
                found.extend(is_nullable.then_some(null));
                json!({"anyOf": found})
            }
        }
    }
}

/// The types that a schema names.
fn types<'a>(schema: &Node<'a>) -> Vec<&'a str> {
    let named: Vec<&str> = match &schema.value["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    named.into_iter().filter(|name| TYPES.contains(name)).collect()
}

/// The only values that a schema allows, where they are few and short.
fn values(schema: &Value) -> Vec<&Value> {
    let allowed: Vec<&Value> = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const")).collect();
    let is_short = |value: &&Value| match value {
        Value::String(text) => text.len() <= LONGEST,
        other => !other.is_array() && !other.is_object(),
    };
    if allowed.len() <= MOST_VALUES && allowed.iter().all(is_short) { allowed } else { Vec::new() }
}

fn typed(mut types: Vec<&str>, is_nullable: bool) -> Map<String, Value> {
    if is_nullable && !types.is_empty() && !types.contains(&"null") {
        types.push("null");
    }
    match types.as_slice() {
        [] => Map::new(),
        [one] => Map::from_iter([("type".to_owned(), json!(one))]),
        several => Map::from_iter([("type".to_owned(), json!(several))]),
    }
}

/// Lets a schema be `null` as well.
fn nullable(schema: &mut Value) {
    let null = json!({"type": "null"});
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        if !values.contains(&Value::Null) {
            values.push(Value::Null);
        }
    } else if let Some(variants) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        if !variants.contains(&null) {
            variants.push(null);
        }
    } else if let Some(kind) = schema["type"].as_str().filter(|kind| *kind != "null") {
        let both = json!([kind, "null"]);
        schema["type"] = both;
    }
}
