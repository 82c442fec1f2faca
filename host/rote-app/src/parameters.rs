//! Arguments from `name=value` words, typed by the tool's schema.
//!
//! A word becomes what the schema asks for; where the schema leaves a choice, JSON that fits wins over text.
//! Validation against the schema comes later, in the adapter; here a value is only read.

use serde_json::{Map, Value, json};

use crate::AppError;
use rote_types::ErrorKind;

/// Deepest chain of `anyOf`/`oneOf`/`allOf`/`$ref` that is followed to find a type.
const MAX_DEPTH: usize = 8;

/// Adds `name=value` words to `arguments`. A repeated name makes an array where the schema has one; words that
/// are references stay as they are.
pub(crate) fn add(
    arguments: &mut Map<String, Value>,
    schema: &Value,
    words: &[(String, Value)],
    is_reference: &dyn Fn(&Value) -> bool,
) -> Result<(), AppError> {
    for (name, given) in words {
        let property = &schema["properties"][name];
        let types = types_of(schema, property, 0);
        let value = match given {
            // What a reference stands for has a type of its own, which is known when it is filled in.
            reference if is_reference(reference) => reference.clone(),
            Value::String(text) => typed(name, text, &types, schema, property)?,
            other => other.clone(),
        };
        match arguments.get_mut(name) {
            None => {
                arguments.insert(name.clone(), value);
            }
            Some(Value::Array(items)) if types.iter().any(|kind| kind == "array") => match value {
                Value::Array(more) => items.extend(more),
                one => items.push(one),
            },
            Some(_) => {
                let message = format!("`{name}` is given twice, but is no list");
                return Err(AppError::new(ErrorKind::Usage, message));
            }
        }
    }
    Ok(())
}

/// Returns the JSON types that a schema admits; empty when it does not say.
fn types_of(root: &Value, schema: &Value, depth: usize) -> Vec<String> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        return root.pointer(target).map_or_else(Vec::new, |target| types_of(root, target, depth + 1));
    }
    let mut types: Vec<String> = match &schema["type"] {
        Value::String(one) => vec![one.clone()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    for word in ["anyOf", "oneOf", "allOf"] {
        for option in schema[word].as_array().into_iter().flatten() {
            types.extend(types_of(root, option, depth + 1));
        }
    }
    types
}

/// Reads one word as what the schema admits.
fn typed(name: &str, text: &str, types: &[String], root: &Value, schema: &Value) -> Result<Value, AppError> {
    let admits = |kind: &str| types.iter().any(|known| known == kind);
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let fits = |value: &Value| match value {
        Value::Null => admits("null"),
        Value::Bool(_) => admits("boolean"),
        Value::Number(number) => admits("number") || (admits("integer") && (number.is_i64() || number.is_u64())),
        Value::String(_) => false,
        Value::Array(_) => admits("array"),
        Value::Object(_) => admits("object"),
    };
    if let Some(value) = parsed.clone().filter(&fits) {
        return Ok(value);
    }
    if admits("string") {
        return Ok(json!(text));
    }
    if admits("array") {
        return array_item(name, text, root, schema).map(|item| json!([item]));
    }
    if types.is_empty() {
        // The schema is silent: JSON when it is a structure, otherwise text, which every API takes.
        return Ok(parsed.filter(|value| value.is_object() || value.is_array()).unwrap_or_else(|| json!(text)));
    }
    let wanted = types.join(" or ");
    Err(AppError::new(ErrorKind::Usage, format!("`{name}` must be {wanted}, not `{text}`")))
}

/// Reads a word as one item of a list.
fn array_item(name: &str, text: &str, root: &Value, schema: &Value) -> Result<Value, AppError> {
    let items = &schema["items"];
    let types = types_of(root, items, 0);
    typed(name, text, &types, root, items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[(&str, &str)], expected: Value) {
        let schema = json!({
            "properties": {
                "n": { "type": "integer" }, "f": { "type": "number" }, "b": { "type": "boolean" },
                "s": { "type": "string" }, "o": { "type": "object" },
                "list": { "type": "array", "items": { "type": "string" } },
                "ids": { "type": "array", "items": { "$ref": "#/$defs/id" } },
                "maybe": { "oneOf": [{ "type": "string" }, { "type": "null" }] },
                "any": {},
            },
            "$defs": { "id": { "type": "integer" } },
        });
        let words: Vec<_> = words.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        let mut arguments = Map::new();
        let result = add(&mut arguments, &schema, &words, &|value| value == "@1");
        let result = result.map_or_else(|error| json!(error.message), |()| Value::Object(arguments));
        assert_eq!(result, expected, "{words:?}");
    }

    #[test]
    fn words_become_what_the_schema_asks_for() {
        check(&[("n", "7"), ("f", "1.5"), ("b", "true")], json!({ "n": 7, "f": 1.5, "b": true }));
        check(&[("s", "7"), ("maybe", "null")], json!({ "s": "7", "maybe": null }));
        check(&[("o", r#"{"a":1}"#), ("any", "7"), ("new", "x")], json!({ "o": { "a": 1 }, "any": "7", "new": "x" }));
        check(&[("list", "a"), ("list", "b")], json!({ "list": ["a", "b"] }));
        check(&[("n", "@1")], json!({ "n": "@1" }));
        check(&[("ids", "1"), ("ids", "[2,3]")], json!({ "ids": [1, 2, 3] }));
    }

    #[test]
    fn words_that_fit_nowhere_are_refused_by_name() {
        check(&[("n", "seven")], json!("`n` must be integer, not `seven`"));
        check(&[("n", "1.5")], json!("`n` must be integer, not `1.5`"));
        check(&[("s", "a"), ("s", "b")], json!("`s` is given twice, but is no list"));
        check(&[("ids", "x")], json!("`ids` must be integer, not `x`"));
    }
}
