//! Words of a command line to values, as a JSON Schema asks for them: one rule for arguments of tools and parameters
//! of flows.
//!
//! The declared type rules, through `$ref`, `anyOf`, `oneOf`, `allOf`, `enum` and `const`. Where it leaves a choice, and
//! where nothing is declared, JSON that fits wins over text, except a number that JSON would write otherwise (`1.10`,
//! `1e3`): as a text it keeps its spelling. A whole number is written without a fraction: `3.0` is a number and not an
//! integer. Whether the value is valid is the validator's question.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::check_numbers;

/// Deepest chain of `anyOf`/`oneOf`/`allOf`/`$ref` that is followed to find a type.
const MAX_DEPTH: usize = 8;

/// Returns the names of the JSON types that a schema admits, none when it does not say; `root` has the definitions.
#[must_use]
pub fn types_of<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s str> {
    let mut types = Vec::new();
    collect(root, schema, 0, &mut types);
    let mut seen = BTreeSet::new();
    types.retain(|name| seen.insert(*name));
    types
}

fn collect<'s>(root: &'s Value, schema: &'s Value, depth: usize, types: &mut Vec<&'s str>) {
    if depth > MAX_DEPTH {
        return;
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        if let Some(target) = root.pointer(target) {
            collect(root, target, depth + 1, types);
        }
        return;
    }
    let before = types.len();
    match &schema["type"] {
        Value::String(one) => types.push(one),
        Value::Array(several) => types.extend(several.iter().filter_map(Value::as_str)),
        _ => {}
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        for option in schema[word].as_array().into_iter().flatten() {
            collect(root, option, depth + 1, types);
        }
    }
    if types.len() == before {
        let allowed = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
        types.extend(allowed.map(|value| -> &'s str { type_name(value) }));
    }
}

/// Whether a schema admits a file: an object with its content in base64, as multipart and binary bodies have it.
#[must_use]
pub fn takes_file(root: &Value, schema: &Value) -> bool {
    has_file(root, schema, 0)
}

fn has_file(root: &Value, schema: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        return root.pointer(target).is_some_and(|target| has_file(root, target, depth + 1));
    }
    let own = schema["required"] == json!(["base64"]) && schema["properties"]["base64"].is_object();
    let options = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|word| schema[word].as_array()).flatten();
    own || options.into_iter().any(|option| has_file(root, option, depth + 1))
}

/// Returns the name that JSON Schema has for the type of a value: the narrowest one.
#[must_use]
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a value is of a JSON type, as JSON Schema 2020-12 has it: `3.0` is an integer. Nothing for another name.
#[must_use]
pub fn is_type(name: &str, value: &Value) -> Option<bool> {
    Some(match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => return None,
    })
}

/// One value as it was typed.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// Text, for the schema to say what it is.
    Typed(String),
    /// This text, whatever it looks like.
    Text(String),
    /// This value.
    Json(Value),
}

impl Given {
    /// Reads the word; `root` has the definitions that the schema refers to.
    ///
    /// # Errors
    /// As [`read_word`].
    pub fn read(&self, root: &Value, schema: &Value) -> Result<Value, String> {
        match self {
            Self::Typed(text) => read_word(root, schema, text),
            Self::Text(text) => {
                let types = types_of(root, schema);
                let item = types.contains(&"array") && !types.contains(&"string");
                Ok(if item { json!([text]) } else { json!(text) })
            }
            Self::Json(value) => Ok(value.clone()),
        }
    }
}

/// Reads one word as what a schema admits; `root` has the definitions that the schema refers to.
///
/// # Errors
/// What is wrong with the word, to stand behind its name.
pub fn read_word(root: &Value, schema: &Value, text: &str) -> Result<Value, String> {
    let types = types_of(root, schema);
    let admits = |kind: &str| types.is_empty() || types.contains(&kind);
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let fits = |value: &Value| match type_name(value) {
        "string" => false,
        // Beside text the object is a file, which has its content in it; another one is text that looks like JSON.
        "object" if admits("string") && value.get("base64").is_none() && takes_file(root, schema) => false,
        "integer" => admits("integer") || admits("number"),
        kind => admits(kind),
    };
    let keeps = |value: &Value| {
        let written = value.to_string();
        !value.is_number() || !admits("string") || written == text
    };
    // Digits of a text that is not JSON are not a number.
    let exact = parsed.as_ref().map_or(Ok(()), |_| check_numbers(text));
    if let Some(value) = parsed.filter(|_| exact.is_ok()).filter(fits).filter(keeps) {
        return Ok(value);
    }
    if admits("string") {
        return Ok(json!(text));
    }
    if let Err(lost) = exact {
        return Err(format!("cannot be `{text}`: {lost}"));
    }
    if admits("array") {
        return read_word(root, &schema["items"], text).map(|item| json!([item]));
    }
    Err(format!("must be {}, not `{text}`", types.join(" or ")))
}

/// Adds the value of a word to those that were read; a name that comes again adds to its list.
///
/// # Errors
/// What is wrong, to stand behind the name: it is given twice and is not a list.
pub fn add_word(values: &mut Map<String, Value>, root: &Value, name: &str, value: Value) -> Result<(), String> {
    match values.get_mut(name) {
        None => drop(values.insert(name.to_owned(), value)),
        Some(Value::Array(items)) if types_of(root, &root["properties"][name]).contains(&"array") => match value {
            Value::Array(more) => items.extend(more),
            one => items.push(one),
        },
        Some(_) => return Err("is given twice, but is not a list".to_owned()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_becomes_what_the_schema_admits() {
        let root = json!({ "$defs": { "id": { "type": "integer" }, "again": { "$ref": "#/$defs/again" } } });
        let read = |schema: Value, text: &str| read_word(&root, &schema, text);
        let text_or_number = json!({ "type": ["string", "number"] });
        let content =
            json!({ "type": "object", "properties": { "base64": { "type": "string" } }, "required": ["base64"] });
        let file = json!({ "anyOf": [{ "type": "string" }, content] });
        let either = |one: &str, other: &str| json!({ "anyOf": [{ "type": one }, { "type": other }] });
        for (schema, text, expected) in [
            // A declared type rules.
            (json!({ "type": "string" }), "7", Ok(json!("7"))),
            (json!({ "type": "integer" }), "7", Ok(json!(7))),
            (json!({ "type": "integer" }), "3.0", Err("must be integer, not `3.0`")),
            (json!({ "type": "integer" }), "1.5", Err("must be integer, not `1.5`")),
            (json!({ "type": "array", "items": { "type": "string" } }), "needs-triage", Ok(json!(["needs-triage"]))),
            (json!({ "type": "array", "items": { "type": "string" } }), "2024-01-01", Ok(json!(["2024-01-01"]))),
            (json!({ "type": "integer" }), "seven", Err("must be integer, not `seven`")),
            (json!({ "type": "number" }), "3.0", Ok(json!(3.0))),
            (json!({ "type": "number" }), "3", Ok(json!(3))),
            (json!({ "type": "boolean" }), "true", Ok(json!(true))),
            (json!({ "type": "boolean" }), "yes", Err("must be boolean, not `yes`")),
            (json!({ "type": "object" }), r#"{"a":1}"#, Ok(json!({ "a": 1 }))),
            (json!({ "type": "array", "items": { "type": "string" } }), "7", Ok(json!(["7"]))),
            (json!({ "type": "array", "items": { "type": "string" } }), r#"["7"]"#, Ok(json!(["7"]))),
            (json!({ "type": "array" }), "7", Ok(json!([7]))),
            // However it is declared.
            (json!({ "$ref": "#/$defs/id" }), "7", Ok(json!(7))),
            (json!({ "$ref": "#/$defs/id" }), "x", Err("must be integer, not `x`")),
            (json!({ "type": "array", "items": { "$ref": "#/$defs/id" } }), "x", Err("must be integer, not `x`")),
            (either("integer", "null"), "null", Ok(json!(null))),
            (either("integer", "null"), "x", Err("must be integer or null, not `x`")),
            (json!({ "oneOf": [{ "$ref": "#/$defs/id" }, { "type": "boolean" }] }), "false", Ok(json!(false))),
            (json!({ "allOf": [{ "$ref": "#/$defs/id" }, { "minimum": 1 }] }), "7", Ok(json!(7))),
            (json!({ "enum": [1, 2] }), "2", Ok(json!(2))),
            (json!({ "enum": ["1", "2"] }), "2", Ok(json!("2"))),
            (json!({ "const": "1" }), "1", Ok(json!("1"))),
            // Where there is a choice, JSON that fits wins, and a text keeps its spelling.
            (text_or_number.clone(), "7", Ok(json!(7))),
            (text_or_number.clone(), "1.10", Ok(json!("1.10"))),
            (text_or_number, "true", Ok(json!("true"))),
            (either("string", "null"), "null", Ok(json!(null))),
            // The object beside a text is a file.
            (file.clone(), r#"{"a":1}"#, Ok(json!(r#"{"a":1}"#))),
            (file, r#"{"base64":"eA=="}"#, Ok(json!({ "base64": "eA==" }))),
            // A schema that says nothing, or that leads nowhere, takes anything.
            (json!({}), "7", Ok(json!(7))),
            (json!({}), "-0.5", Ok(json!(-0.5))),
            (json!({}), "1.10", Ok(json!("1.10"))),
            (json!({}), "007", Ok(json!("007"))),
            (json!({}), "1e3", Ok(json!("1e3"))),
            (json!({}), "123456789012345678901", Ok(json!("123456789012345678901"))),
            (json!({}), "true", Ok(json!(true))),
            (json!({}), "null", Ok(json!(null))),
            (json!({}), "[1]", Ok(json!([1]))),
            (json!({}), r#""7""#, Ok(json!(r#""7""#))),
            (json!({}), "x", Ok(json!("x"))),
            (Value::Null, "7", Ok(json!(7))),
            (json!(true), "7", Ok(json!(7))),
            (json!({ "$ref": "#/$defs/again" }), "x", Ok(json!("x"))),
            (json!({ "$ref": "other.json" }), "x", Ok(json!("x"))),
        ] {
            assert_eq!(read(schema.clone(), text), expected.map_err(str::to_owned), "{schema} {text}");
        }
    }

    #[test]
    fn a_text_and_a_value_are_not_read() {
        let list = json!({ "type": "array", "items": { "type": "string" } });
        let text = |text: &str, schema: &Value| Given::Text(text.to_owned()).read(&Value::Null, schema);
        for word in ["7", "null", "[1]", "@a", "\"q\""] {
            assert_eq!(text(word, &json!({})), Ok(json!(word)));
            assert_eq!(text(word, &json!({ "type": ["string", "null", "array"] })), Ok(json!(word)));
            assert_eq!(text(word, &list), Ok(json!([word])));
        }
        assert_eq!(Given::Json(json!("7")).read(&Value::Null, &json!({ "type": "integer" })), Ok(json!("7")));
    }

    #[test]
    fn a_word_that_comes_again_adds_to_a_list() {
        let root = json!({ "properties": { "ids": { "$ref": "#/$defs/ids" }, "any": {} },
            "$defs": { "ids": { "type": "array" } } });
        let mut values = Map::new();
        for value in [json!([1]), json!([2, 3]), json!(4)] {
            add_word(&mut values, &root, "ids", value).unwrap();
        }
        assert_eq!(values["ids"], json!([1, 2, 3, 4]));
        add_word(&mut values, &root, "any", json!([1])).unwrap();
        let twice = add_word(&mut values, &root, "any", json!([2]));
        assert_eq!(twice, Err("is given twice, but is not a list".to_owned()));
    }
}
