//! Parameters: a method's own, and those that the document gives to all methods.
//!
//! Of the common ones those stay arguments that ask for something. What carries a credential never is one: `key` is a slot that the gate
//! fills, and access tokens travel as bearer.

use serde_json::{Map, Value, json};

use crate::discovery::route::Route;
use crate::discovery::schema;
use crate::notices::{Notes, Notices};
use crate::openapi::Node;
use crate::prose::capped;

/// Common parameters that are no arguments: credentials, who asks, and how a request or an answer is written.
const LEFT_OUT: [&str; 9] = [
    "$.xgafv",
    "access_token",
    "callback",
    "key",
    "oauth_token",
    "prettyPrint",
    "uploadType",
    "upload_protocol",
    "userIp",
];
/// Where a parameter can go.
const LOCATIONS: [&str; 2] = ["path", "query"];
/// Most common parameters that are kept; each is repeated in each tool.
const MOST_COMMON: usize = 8;
/// Most parameters of one method; the walker says so of more than 500.
const MOST_OWN: usize = 501;
/// Most characters that a segment repeats of what is said of the whole.
const MOST_PROSE: usize = 500;

/// One parameter in the walker's shape.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) value: Value,
    /// Where it stands in the document.
    pub(crate) place: String,
}

/// Returns the common parameters that are kept.
pub(crate) fn common(root: &Node<'_>, notices: &Notices) -> Vec<Parameter> {
    let Some(declared) = root.get("parameters") else { return Vec::new() };
    if !declared.value.is_object() {
        notices.warn(&declared.pointer, "`parameters` is not an object");
    }
    let (left, kept): (Vec<_>, Vec<_>) = declared.members().partition(|(name, _)| LEFT_OUT.contains(name));
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(|(name, _)| format!("`{name}`")).collect();
        let why = "they carry credentials, or change how a request or an answer is written; an API key is a slot that the gate fills";
        notices.info(&declared.pointer, format!("common parameters left out: {} ({why})", names.join(", ")));
    }
    if kept.len() > MOST_COMMON {
        let text = format!("common parameters behind the first {MOST_COMMON} that are kept are left out");
        notices.warn(&declared.pointer, text);
    }
    let mut all = Vec::new();
    for (name, node) in kept.into_iter().take(MOST_COMMON) {
        let location = node.text("location").unwrap_or("query");
        if node.value.is_object() && location == "query" {
            all.push(parameter(name, location, &node, notices));
        } else {
            notices.warn(&node.pointer, "common parameter left out: it is not an object of the query");
        }
    }
    all
}

/// Returns the parameters that a method declares for itself.
pub(crate) fn own(method: &Node<'_>, route: &Route, notes: &Notes, notices: &Notices) -> Vec<Parameter> {
    let mut all = Vec::new();
    let declared = method.get("parameters");
    if let Some(odd) = declared.as_ref().filter(|declared| !declared.value.is_object()) {
        notes.add(&odd.pointer, "parameters left out: `parameters` is not an object");
    }
    for (name, node) in declared.iter().flat_map(|declared| declared.members().take(MOST_OWN).collect::<Vec<_>>()) {
        let guess = || if route.path.contains(&format!("{{{name}}}")) { "path" } else { "query" };
        let location = node.text("location").unwrap_or_else(guess);
        if !node.value.is_object() {
            notes.add(&node.pointer, format_args!("parameter `{name}` left out: it is not an object"));
        } else if !LOCATIONS.contains(&location) {
            notes.add(&node.pointer, format_args!("parameter in `{location}` left out"));
        } else if !(location == "path" && route.replaced.iter().any(|replaced| replaced == name)) {
            all.push(parameter(name, location, &node, notices));
        }
    }
    all.extend(route.segments.iter().map(|name| segment(method, route, name)));
    all
}

/// One segment of a parameter that has several.
fn segment(method: &Node<'_>, route: &Route, name: &str) -> Parameter {
    let whole = route.replaced.first().map_or("", String::as_str);
    let declared = method.get("parameters").and_then(|all| all.get(whole));
    let said = declared.as_ref().map(schema::description).unwrap_or_default();
    let all: Vec<String> = route.replaced.iter().map(|name| format!("`{name}`")).collect();
    let description = format!("One segment of {}, as in the path. {}", all.join(" or "), capped(&said, MOST_PROSE));
    let value = json!({"name": name, "in": "path", "required": true, "description": description.trim_end(),
                       "schema": {"type": "string", "minLength": 1}});
    let place = declared.map_or_else(|| method.pointer.clone(), |declared| declared.pointer);
    Parameter { name: name.to_owned(), value, place }
}

fn parameter(name: &str, location: &str, node: &Node<'_>, notices: &Notices) -> Parameter {
    let mut schema = schema::translated(node, 0, notices);
    let mut value = Map::from_iter([("name".to_owned(), json!(name)), ("in".to_owned(), json!(location))]);
    if let Some(schema) = schema.as_object_mut() {
        for key in ["description", "deprecated"] {
            if let Some(said) = schema.remove(key) {
                value.insert(key.to_owned(), said);
            }
        }
        schema.remove("readOnly");
    }
    if node.flag("required") {
        value.insert("required".to_owned(), json!(true));
    }
    value.insert("schema".to_owned(), schema);
    Parameter { name: name.to_owned(), value: Value::Object(value), place: node.pointer.clone() }
}
