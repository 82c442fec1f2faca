//! What an API refuses: the document's `required`, `enum`, `type` and `format: date`, and who does not work here.

use serde_json::{Map, Value};

/// Who an issue can be assigned to.
const PEOPLE: [&str; 4] = ["ada", "bo", "cleo", "dan"];

/// Says what is wrong with the arguments of an operation.
pub(super) fn wrong(schemas: &Value, schema: &Value, arguments: &Map<String, Value>) -> Option<String> {
    let schema = resolved(schemas, schema);
    let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(name) = missing.into_iter().find(|name| !arguments.contains_key(*name)) {
        return Some(format!("{name} is required"));
    }
    arguments.iter().find_map(|(name, value)| {
        let property = resolved(schemas, &schema["properties"][name]);
        match value {
            Value::Object(members) => wrong(schemas, property, members),
            _ => unfit(name, property, value),
        }
    })
}

fn unfit(name: &str, schema: &Value, value: &Value) -> Option<String> {
    let fits = match schema["type"].as_str() {
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => false,
        _ => true,
    };
    if !fits {
        return Some(format!("{name} is of another type"));
    }
    if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
        return Some(format!("{name} is not one of {}", schema["enum"]));
    }
    let text = value.as_str()?;
    let numbers = text.split('-').map(|part| (part.len(), part.bytes().all(|byte| byte.is_ascii_digit())));
    let is_date = numbers.eq([(4, true), (2, true), (2, true)]);
    if schema["format"] == "date" && !is_date {
        return Some(format!("{name} is not a day"));
    }
    (name == "assignee" && !PEOPLE.contains(&text)).then(|| format!("there is nobody called {text}"))
}

/// Follows a `$ref` into `components/schemas`.
pub(super) fn resolved<'a>(schemas: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        Some(name) => &schemas[name],
        None => schema,
    }
}
