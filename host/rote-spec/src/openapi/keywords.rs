//! JSON Schema keywords one by one: which are kept, in what form, and what older dialects meant by them.
//!
//! Everything that leaves here is a valid 2020-12 keyword with a value of the right type, so that a strict
//! validator accepts the schema whatever the source contained.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// Scratch key with the names of properties that were left out; removed by [`complete`].
pub(crate) const DROPPED: &str = "\u{0}dropped";
/// Most characters of an example that is kept.
const EXAMPLE_CHARS: usize = 100;

/// Returns the value of a keyword that holds no schema, when it is one that is kept and is of the right type.
pub(crate) fn plain(key: &str, value: &Value) -> Option<Value> {
    match key {
        "type" => kind(value),
        "format" | "contentEncoding" | "contentMediaType" => value.is_string().then(|| value.clone()),
        "enum" => options(value),
        "const" | "default" => Some(value.clone()),
        "required" => names(value),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number().then(|| value.clone()),
        "multipleOf" => value.as_f64().filter(|number| *number > 0.0).map(|_| value.clone()),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => count(value),
        "uniqueItems" | "deprecated" => (value == &Value::Bool(true)).then(|| value.clone()),
        "dependentRequired" => dependent(value),
        _ => None,
    }
}

fn kind(value: &Value) -> Option<Value> {
    let known = |kind: &str| match kind.to_ascii_lowercase().as_str() {
        "string" | "number" | "integer" | "boolean" | "array" | "object" | "null" => Some(kind.to_ascii_lowercase()),
        "file" => Some("string".to_owned()),
        "int" | "long" => Some("integer".to_owned()),
        "float" | "double" => Some("number".to_owned()),
        "bool" => Some("boolean".to_owned()),
        _ => None,
    };
    match value {
        Value::String(text) => known(text).map(Value::String),
        Value::Array(list) => {
            let mut kinds: Vec<String> = Vec::new();
            for kind in list.iter().filter_map(Value::as_str).filter_map(known) {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            match kinds.len() {
                0 => None,
                1 => kinds.pop().map(Value::String),
                _ => Some(json!(kinds)),
            }
        }
        _ => None,
    }
}

fn options(value: &Value) -> Option<Value> {
    let mut seen = HashSet::new();
    let listed = value.as_array()?.iter().take(2_000);
    let options: Vec<&Value> = listed.filter(|option| seen.insert(option.to_string())).collect();
    (!options.is_empty()).then(|| json!(options))
}

fn names(value: &Value) -> Option<Value> {
    let mut seen = HashSet::new();
    let listed = value.as_array()?.iter().filter_map(Value::as_str);
    let names: Vec<&str> = listed.filter(|name| seen.insert(*name)).collect();
    (!names.is_empty()).then(|| json!(names))
}

fn count(value: &Value) -> Option<Value> {
    let whole = |number: &f64| *number >= 0.0 && number.fract() == 0.0 && *number < 9e15;
    value.as_f64().filter(whole).map(|_| value.as_u64().map_or_else(|| value.clone(), |number| json!(number)))
}

fn dependent(value: &Value) -> Option<Value> {
    let entries: Map<String, Value> =
        value.as_object()?.iter().filter_map(|(key, value)| Some((key.clone(), names(value)?))).collect();
    (!entries.is_empty()).then_some(Value::Object(entries))
}

/// Parses a pattern; [`crate::openapi::documents::Documents::is_pattern`] remembers the outcome.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.len() <= 1_000 && regex_syntax::Parser::new().parse(text).is_ok()
}

/// Returns the approximate size of a value as JSON.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| weight(item) + 1).sum::<usize>() + 2,
        Value::Object(members) => members.iter().map(|(key, value)| key.len() + 4 + weight(value)).sum::<usize>() + 2,
        _ => 5,
    }
}

/// Translates what depends on two keywords at once, with the source beside what was written.
pub(crate) fn settle(source: &Map<String, Value>, out: &mut Map<String, Value>) {
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        // Before 3.1 the exclusive bound was a flag beside the bound.
        if source.get(exclusive) == Some(&Value::Bool(true))
            && let Some(number) = out.remove(bound)
        {
            out.insert(exclusive.to_owned(), number);
        }
    }
    if source.get("type").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("file")) {
        out.insert("format".to_owned(), json!("binary"));
    }
    if out.get("type") == Some(&json!("string")) {
        // YAML turns `[1.0, true]` into numbers and booleans although strings were declared.
        for key in ["enum", "default", "const"] {
            if let Some(value) = out.get_mut(key) {
                as_text(value);
            }
        }
    }
    if let Some(pattern) = source.get("pattern").and_then(Value::as_str)
        && !out.contains_key("pattern")
        && pattern.len() <= 200
    {
        let description = out.get("description").and_then(Value::as_str).unwrap_or("");
        let description = format!("{description} Pattern: `{pattern}`").trim().to_owned();
        out.insert("description".to_owned(), json!(description));
    }
    if !out.contains_key("description")
        && let Some(title) = source.get("title").and_then(Value::as_str)
        && title.contains(' ')
    {
        out.insert("description".to_owned(), json!(crate::prose::capped(title, 120)));
    }
}

fn as_text(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(as_text),
        Value::Number(_) | Value::Bool(_) => *value = Value::String(value.to_string()),
        _ => {}
    }
}

/// Keeps one short example, which tells an agent more than a format does.
pub(crate) fn example(source: &Map<String, Value>, out: &mut Map<String, Value>) {
    let many = source.get("examples").and_then(Value::as_array).and_then(|list| list.first());
    let Some(example) = source.get("example").or(many) else {
        return;
    };
    if !example.is_null() && weight(example) <= EXAMPLE_CHARS {
        out.insert("examples".to_owned(), json!([example]));
    }
}

/// Finishes a schema: required names of left-out properties go, an object without a type gets one.
pub(crate) fn complete(out: &mut Map<String, Value>) {
    if let Some(Value::Array(dropped)) = out.remove(DROPPED)
        && let Some(Value::Array(required)) = out.get_mut("required")
    {
        required.retain(|name| !dropped.contains(name));
        if required.is_empty() {
            out.remove("required");
        }
    }
    let open = ["type", "anyOf", "$ref", "enum", "const"].iter().any(|key| out.contains_key(*key));
    if !open && out.contains_key("properties") {
        out.insert("type".to_owned(), json!("object"));
    } else if !open && out.contains_key("items") {
        out.insert("type".to_owned(), json!("array"));
    }
}

/// Adds `null` to what a schema admits, as `nullable: true` of 3.0 means.
pub(crate) fn make_nullable(out: &mut Map<String, Value>) {
    if let Some(Value::Array(options)) = out.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
    match out.get_mut("type") {
        Some(Value::String(kind)) if kind != "null" => {
            let kinds = json!([kind, "null"]);
            out.insert("type".to_owned(), kinds);
            return;
        }
        Some(Value::Array(kinds)) => {
            if !kinds.iter().any(|kind| kind == "null") {
                kinds.push(json!("null"));
            }
            return;
        }
        Some(_) => return,
        None => {}
    }
    if let Some(Value::Array(variants)) = out.get_mut("anyOf") {
        variants.push(json!({"type": "null"}));
    } else if let Some(reference) = out.remove("$ref") {
        out.insert("anyOf".to_owned(), json!([{"$ref": reference}, {"type": "null"}]));
    }
}
