//! Sample arguments from a JSON Schema: the smallest value that fits, deterministic, bounded in depth.

use serde_json::{Map, Value, json};

/// How deep a sample goes before optional parts are left out and required ones become empty.
const DEPTH: usize = 8;

/// Returns arguments with every required property, and every optional one of a simple type.
pub(crate) fn sample_arguments(schema: &Value) -> Value {
    let required = names(schema, "required");
    let mut arguments = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let needed = required.contains(&name.as_str());
        if needed || is_simple(property) {
            arguments.insert(name.clone(), sample(property, schema, DEPTH));
        }
    }
    // What a given argument needs beside it: the required fields of a body that is optional as a whole.
    let given: Vec<String> = arguments.keys().cloned().collect();
    for beside in given.iter().flat_map(|name| names(&schema["dependentRequired"], name)) {
        arguments.entry(beside).or_insert_with(|| sample(&schema["properties"][beside], schema, DEPTH));
    }
    Value::Object(arguments)
}

fn names<'a>(schema: &'a Value, key: &str) -> Vec<&'a str> {
    schema[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Optional properties are sent when a wrong guess is unlikely: enums, booleans, plain numbers and strings.
fn is_simple(property: &Value) -> bool {
    let kind = type_of(property);
    property.get("pattern").is_none()
        && matches!(kind, "boolean" | "integer" | "string" | "number")
        && property.get("format").is_none_or(|format| format != "binary")
}

fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(name) => name,
        Value::Array(all) => all.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("null"),
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "",
    }
}

/// Returns a value that fits `schema`, whose references are looked up in `root`.
fn sample(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == 0 {
        return json!({});
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(json!({}), |target| sample(target, root, depth - 1));
    }
    for fixed in ["const", "default", "example"] {
        if let Some(value) = schema.get(fixed).filter(|value| !value.is_null()) {
            return value.clone();
        }
    }
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.iter().find(|value| !value.is_null())) {
        return first.clone();
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(first) = schema[choice].as_array().and_then(|all| all.first()) {
            return merged(schema, sample(first, root, depth - 1), root, depth);
        }
    }
    if let Some(all) = schema["allOf"].as_array() {
        let parts = all.iter().map(|part| sample(part, root, depth - 1));
        return parts.fold(of_type(schema, root, depth), join);
    }
    of_type(schema, root, depth)
}

/// A choice may stand beside properties that hold for every branch.
fn merged(schema: &Value, chosen: Value, root: &Value, depth: usize) -> Value {
    if schema.get("properties").is_some() { join(of_type(schema, root, depth), chosen) } else { chosen }
}

fn join(left: Value, right: Value) -> Value {
    match (left, right) {
        (Value::Object(mut left), Value::Object(right)) => {
            left.extend(right);
            Value::Object(left)
        }
        (_, right) => right,
    }
}

fn of_type(schema: &Value, root: &Value, depth: usize) -> Value {
    match type_of(schema) {
        "string" => Value::String(text(schema)),
        "integer" => json!(schema["minimum"].as_i64().unwrap_or(1).max(1)),
        "number" => json!(schema["minimum"].as_f64().unwrap_or(1.0).max(1.0)),
        "boolean" => json!(true),
        "array" => {
            let count = usize::try_from(schema["minItems"].as_u64().unwrap_or(1)).unwrap_or(1).clamp(1, 8);
            Value::Array(vec![sample(&schema["items"], root, depth - 1); count])
        }
        "null" => Value::Null,
        "object" => object(schema, root, depth),
        _ => json!({}),
    }
}

fn object(schema: &Value, root: &Value, depth: usize) -> Value {
    let required = names(schema, "required");
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .filter(|(name, _)| required.contains(&name.as_str()))
        .map(|(name, property)| (name.clone(), sample(property, root, depth - 1)))
        .collect::<Map<_, _>>()
        .into()
}

fn text(schema: &Value) -> String {
    let base = match schema["format"].as_str().unwrap_or_default() {
        "date" => "2026-01-31",
        "date-time" => "2026-01-31T12:00:00Z",
        "uuid" => "6c84fb90-12c4-11e1-840d-7b25c5ee775a",
        "email" => "someone@example.com",
        "uri" | "url" => "https://example.com/x",
        "ipv4" => "192.0.2.1",
        "hostname" => "example.com",
        _ => "sample",
    };
    let least = usize::try_from(schema["minLength"].as_u64().unwrap_or(0)).unwrap_or(0).min(1_000);
    let most = usize::try_from(schema["maxLength"].as_u64().unwrap_or(1_000)).unwrap_or(1_000);
    let mut value = base.to_owned();
    while value.len() < least {
        value.push('x');
    }
    value.truncate(most);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_properties_and_references_are_filled() {
        let schema = json!({
            "type": "object", "required": ["a", "c"],
            "properties": {
                "a": {"$ref": "#/$defs/A"}, "b": {"type": "array", "items": {"type": "string"}},
                "c": {"enum": ["x", "y"]}, "d": {"type": "boolean"}
            },
            "$defs": {"A": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 5}}}}
        });
        assert_eq!(sample_arguments(&schema), json!({"a": {"n": 5}, "c": "x", "d": true}));
    }

    #[test]
    fn a_recursive_schema_ends() {
        let schema = json!({
            "type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}
        });
        assert!(sample_arguments(&schema)["next"].is_object());
    }
}
