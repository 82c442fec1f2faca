//! Discovery's JSON Schema (draft 3, with numbers as text) to the schemas that the walker reads.
//!
//! References stay below `/schemas`, so that the places of schemas are those of the document.

use rote_types::escape_token;
use serde_json::{Map, Number, Value, json};

use crate::discovery::MOST_PLACE;
use crate::notices::Notices;
use crate::openapi::Node;
use crate::prose::capped;

/// Words that mean the same in both.
const SAME: [&str; 3] = ["type", "format", "pattern"];
/// The types of Discovery; `any` says nothing.
const TYPES: [&str; 7] = ["any", "array", "boolean", "integer", "number", "object", "string"];

const UNKNOWN_TYPE: &str = "a `type` that Discovery does not have is left open";
const ODD_DEFAULT: &str = "a default that is not a value of its type is left out";
const TOO_FAR: &str = "schemas whose place is longer than 1,000 bytes are left open";
const ODD_BOUND: &str =
    "bounds that are not numbers, or are of numbers sent as text, are not checked here: the server decides";
const REQUIRED_BELOW: &str =
    "what methods require of objects within a body (`annotations.required`) is not checked here: the server decides";

/// Returns the named schemas of a document.
pub(crate) fn named(root: &Node<'_>, notices: &Notices) -> Map<String, Value> {
    let Some(schemas) = root.get("schemas") else { return Map::new() };
    if !schemas.value.is_object() {
        notices.warn(&schemas.pointer, "`schemas` is not an object");
    }
    schemas.members().map(|(name, node)| (name.to_owned(), translated(&node, 0, notices))).collect()
}

/// Returns a reference to what stands at these keys of the translated document.
pub(crate) fn reference(keys: &[&str]) -> Value {
    // The reader decodes a fragment (RFC 3986 §3.5) before it takes it for a pointer.
    let path: String = keys.iter().map(|key| format!("/{}", escape_token(key).replace('%', "%25"))).collect();
    json!({"$ref": format!("#{path}")})
}

/// Returns the schema of a parameter or of what stands `level` properties deep in a named schema.
pub(crate) fn translated(node: &Node<'_>, level: usize, notices: &Notices) -> Value {
    let Some(members) = node.value.as_object() else { return Value::Null };
    if node.pointer.len() > MOST_PLACE {
        notices.tally(&capped(&node.pointer, MOST_PLACE), TOO_FAR);
        return json!({});
    }
    let kind = node.text("type").unwrap_or("");
    if members.contains_key("type") && !TYPES.contains(&kind) {
        notices.tally_place(&node.pointer, UNKNOWN_TYPE);
    }
    let mut out = words(node);
    bounds(node, kind, &mut out, notices);
    parts(node, level, &mut out, notices);
    if let Some(default) = members.get("default") {
        match default_of(kind, default) {
            Some(default) => drop(out.insert("default".to_owned(), default)),
            None => notices.tally_place(&node.pointer, ODD_DEFAULT),
        }
    }
    if node.flag("repeated") {
        out = repeated(out);
    }
    let said = description(node);
    if !said.is_empty() {
        out.insert("description".to_owned(), json!(said));
    }
    Value::Object(out)
}

/// What both say in the same words, and the reference and the allowed values.
fn words(node: &Node<'_>) -> Map<String, Value> {
    let mut out = Map::new();
    if let Some(name) = node.text("$ref") {
        out.insert("$ref".to_owned(), reference(&["schemas", name])["$ref"].take());
    }
    for key in SAME {
        if let Some(text) = node.text(key).filter(|text| *text != "any") {
            out.insert(key.to_owned(), json!(text));
        }
    }
    for key in ["readOnly", "deprecated"] {
        if node.flag(key) {
            out.insert(key.to_owned(), json!(true));
        }
    }
    let allowed = node.value.get("enum").and_then(Value::as_array);
    let allowed: Vec<&Value> = allowed.into_iter().flatten().filter(|value| value.is_string()).collect();
    if !allowed.is_empty() {
        out.insert("enum".to_owned(), json!(allowed));
    }
    out
}

/// A list of what a schema says; what is said of the whole stays with the whole.
fn repeated(mut item: Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::from_iter([("type".to_owned(), json!("array"))]);
    for key in ["readOnly", "deprecated"] {
        if let Some(value) = item.remove(key) {
            out.insert(key.to_owned(), value);
        }
    }
    if let Some(default) = item.remove("default") {
        out.insert("default".to_owned(), json!([default]));
    }
    out.insert("items".to_owned(), Value::Object(item));
    out
}

/// The schemas within a schema.
fn parts(node: &Node<'_>, level: usize, out: &mut Map<String, Value>, notices: &Notices) {
    if let Some(all) = node.get("properties").filter(|all| all.value.is_object()) {
        let mut required = Vec::new();
        let mut properties = Map::new();
        for (name, property) in all.members() {
            if property.flag("required") {
                required.push(name);
            }
            if level > 0 && property.get("annotations").is_some_and(|said| said.get("required").is_some()) {
                notices.tally_place(&property.pointer, REQUIRED_BELOW);
            }
            properties.insert(name.to_owned(), translated(&property, level + 1, notices));
        }
        out.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
    }
    if let Some(items) = node.get("items").filter(|items| items.value.is_object()) {
        out.insert("items".to_owned(), translated(&items, level + 1, notices));
    }
    match node.get("additionalProperties") {
        Some(open) if open.value.is_boolean() => {
            drop(out.insert("additionalProperties".to_owned(), open.value.clone()))
        }
        Some(open) => drop(out.insert("additionalProperties".to_owned(), translated(&open, level + 1, notices))),
        None => {}
    }
    let variants = node.get("variant").and_then(|variant| variant.get("map"));
    let variants: Vec<Value> = variants
        .iter()
        .flat_map(|map| map.elements().filter_map(|one| one.text("$ref")).collect::<Vec<_>>())
        .map(|name| reference(&["schemas", name]))
        .collect();
    if !variants.is_empty() {
        out.insert("oneOf".to_owned(), Value::Array(variants));
    }
}

fn bounds(node: &Node<'_>, kind: &str, out: &mut Map<String, Value>, notices: &Notices) {
    for key in ["minimum", "maximum"] {
        let Some(bound) = node.get(key) else { continue };
        match number(bound.value).filter(|_| matches!(kind, "integer" | "number")) {
            Some(bound) => drop(out.insert(key.to_owned(), bound)),
            None => notices.tally_place(&bound.pointer, ODD_BOUND),
        }
    }
}

/// A number, which Discovery writes as text.
fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => serde_json::from_str::<Number>(text.trim()).ok().map(Value::Number),
        _ => None,
    }
}

/// A default, which Discovery writes as text whatever its type is.
fn default_of(kind: &str, value: &Value) -> Option<Value> {
    match (kind, value) {
        ("integer" | "number", _) => number(value),
        ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("boolean", Value::String(text)) => text.trim().to_ascii_lowercase().parse().ok().map(Value::Bool),
        ("boolean", _) => None,
        (_, Value::String(_)) => Some(value.clone()),
        ("string", Value::Number(_) | Value::Bool(_)) => Some(json!(value.to_string())),
        _ => None,
    }
}

/// The description, and what is said of each allowed value.
pub(crate) fn description(node: &Node<'_>) -> String {
    let mut text = node.text("description").unwrap_or("").trim().to_owned();
    let list = |key: &str| -> Vec<&str> {
        let all = node.value.get(key).and_then(Value::as_array);
        all.into_iter().flatten().map(|one| one.as_str().unwrap_or("").trim()).collect()
    };
    for (value, said) in list("enum").iter().zip(list("enumDescriptions")).filter(|(_, said)| !said.is_empty()) {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}- `{value}`: {said}"));
    }
    text
}
