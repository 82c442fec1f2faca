//! JSON Schemas of flows: what a result must be, what an argument may be.
//!
//! The output contract of a crystallized flow is the shape that the workspace describes (`keys`, `length`,
//! `optional`); it is read as the JSON Schema that it means. Anything else is JSON Schema 2020-12 already. No
//! schema is fetched: a foreign reference makes it unusable.

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// Most characters of what a validator says.
const MAX_PROBLEM_CHARS: usize = 300;

/// A compiled schema.
pub(crate) struct Contract(Validator);

impl Contract {
    /// Compiles a schema or a shape.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        let document = read_shape(schema);
        let built = jsonschema::options().with_draft(Draft::Draft202012).build(&document);
        built.map(Self).map_err(|error| shorten(&error.to_string()))
    }

    /// Compiles the format of a text.
    pub(crate) fn of_format(format: &str) -> Result<Self, String> {
        let schema = json!({ "format": format });
        let built = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true).build(&schema);
        built.map(Self).map_err(|error| shorten(&error.to_string()))
    }

    /// Compiles one argument of a tool; references lead into the definitions of the whole schema.
    pub(crate) fn of_argument(root: &Value, schema: &Value) -> Result<Self, String> {
        let mut document = json!({ "allOf": [schema] });
        for definitions in ["$defs", "definitions", "components"] {
            if let Some(value) = root.get(definitions) {
                document[definitions] = value.clone();
            }
        }
        let built = jsonschema::options().with_draft(Draft::Draft202012).build(&document);
        built.map(Self).map_err(|error| shorten(&error.to_string()))
    }

    /// Says what is wrong with a value, with the place in it.
    pub(crate) fn problem(&self, value: &Value) -> Option<String> {
        let error = self.0.validate(value).err()?;
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { String::new() } else { format!("at `{place}`: ") };
        Some(shorten(&format!("{place}{error}")))
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(MAX_PROBLEM_CHARS).collect()
}

/// Turns a shape into the schema that it means; a schema stays as it is.
fn read_shape(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let is_shape = members.contains_key("keys") || members.contains_key("length") || members.contains_key("more_keys");
    let unknown = members.get("type").is_some_and(|name| name == "unknown");
    let mut out: Map<String, Value> = Map::new();
    for (key, inner) in members {
        match key.as_str() {
            "length" | "more_keys" | "optional" | "examples" | "keys" => {}
            "type" if unknown => {}
            "items" => drop(out.insert(key.clone(), read_shape(inner))),
            _ => drop(out.insert(key.clone(), inner.clone())),
        }
    }
    if !is_shape && !unknown {
        return match members.get("items") {
            Some(_) => Value::Object(out),
            None => value.clone(),
        };
    }
    let Some(keys) = members.get("keys").and_then(Value::as_object) else { return Value::Object(out) };
    let optional = |shape: &Value| shape.get("optional") == Some(&Value::Bool(true));
    let required: Vec<&String> = keys.iter().filter(|(_, shape)| !optional(shape)).map(|(key, _)| key).collect();
    let properties: Map<String, Value> = keys.iter().map(|(key, shape)| (key.clone(), read_shape(shape))).collect();
    out.insert("required".to_owned(), json!(required));
    out.insert("properties".to_owned(), Value::Object(properties));
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_shape_is_read_as_the_schema_that_it_means() {
        let recorded = json!({"items": [{"id": 1, "note": "x"}, {"id": 2}], "none": []});
        let contract = Contract::new(&rote_workspace::schema_of(&recorded)).unwrap();
        assert_eq!(contract.problem(&recorded), None);
        assert_eq!(contract.problem(&json!({"items": [], "none": [7]})), None);
        let problem = contract.problem(&json!({"items": [{"id": "1"}], "none": []})).unwrap();
        assert!(problem.starts_with("at `/items/0/id`"), "{problem}");
        assert!(contract.problem(&json!({"none": []})).unwrap().contains("items"));
    }

    #[test]
    fn a_schema_is_taken_as_it_is_and_a_broken_one_is_refused() {
        let contract = Contract::new(&json!({"type": "array", "items": {"enum": [1, 2]}})).unwrap();
        assert!(contract.problem(&json!([3])).is_some() && contract.problem(&json!([2])).is_none());
        assert!(Contract::new(&json!({"type": "nothing"})).is_err());
    }
}
