//! Arguments by which a call publishes something, or does what cannot be taken back: they raise the call, not the tool.

use std::collections::BTreeMap;

use serde_json::Value;

use super::words::{Table, words_of};

/// Returns the arguments of an input schema that raise a call, each with the values that do. An argument that is an object
/// is left to its tool. `about` is what the operation is about.
pub(super) fn arguments(schema: &Value, about: &[String]) -> BTreeMap<String, Vec<String>> {
    let table = Table::get();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let raising = properties.map(|(name, property)| {
        let property = resolved(schema, property);
        let word = words_of(name).join("_");
        // Of a word that is a verb too the exceptions are said of the verb.
        let excepted = !table.is_verb(&word) && table.excepted(&word, about);
        let known = if excepted { &[][..] } else { table.raising(name) };
        let values = known.iter().filter(|value| admits(schema, property, value));
        (name.clone(), values.map(|value| (*value).to_owned()).collect::<Vec<_>>())
    });
    raising.filter(|(_, values)| !values.is_empty()).collect()
}

/// Whether an argument holds a program, or one is the whole body as it stands: nobody can say what such a request does. What does not
/// search may take its program as `query`.
pub(super) fn holds_program(schema: &Value, searches: bool) -> bool {
    let table = Table::get();
    let mut properties = schema["properties"].as_object().into_iter().flatten();
    properties.any(|(name, property)| {
        let text = || rote_types::types_of(schema, property).contains(&"string");
        let queries = !searches && matches!(name.as_str(), "query" | "q");
        table.is_program(name) || (queries || name == "body") && text()
    })
}

/// The definition that a property names, or the property itself.
fn resolved<'s>(schema: &'s Value, property: &'s Value) -> &'s Value {
    let pointer = property["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| schema.pointer(pointer)).unwrap_or(property)
}

/// Whether an argument, or an item of it where it may be a list, may have this value, as far as its schema says.
fn admits(root: &Value, property: &Value, value: &str) -> bool {
    if let Some(listed) = property["enum"].as_array() {
        return has(listed, value);
    }
    let types = rote_types::types_of(root, property);
    let of_list = !matches!(value, "true" | "false" | "1" | "0" | "yes" | "no");
    let items = || resolved(root, &property["items"])["enum"].as_array();
    types.is_empty()
        || types.iter().any(|name| match *name {
            "array" => of_list && items().is_none_or(|listed| has(listed, value)),
            "boolean" => matches!(value, "true" | "false"),
            "integer" | "number" => value.parse::<u8>().is_ok(),
            "string" => true,
            _ => false,
        })
}

/// Whether a value is one of those that are listed, in whatever case.
fn has(listed: &[Value], value: &str) -> bool {
    let text = |one: &Value| one.as_str().map_or_else(|| one.to_string(), str::to_owned).to_lowercase();
    listed.iter().any(|one| text(one) == value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_argument_raises_with_the_values_that_it_may_have() {
        let schema = json!({
            "properties": {
                "private": {"type": "boolean"},
                "isPublic": {"type": ["boolean", "null"]},
                "visibility": {"$ref": "#/$defs/Visibility"},
                "hard-delete": {"type": "string"},
                "force": {"type": "integer"},
                "purge": {},
                "permanent": {"type": "object"},
                "recursive": {"type": "boolean", "enum": [false]},
                "privacy": {"type": "string", "enum": ["PRIVATE", "friends"]},
                "name": {"type": "string"},
                "public_key": {"type": "string"},
                "confirm": {"type": "boolean"},
                "collection_method": {"type": "string", "enum": ["charge_automatically", "send_invoice"]},
                "state": {"type": "string", "enum": ["published", "draft"]},
                "status": {"type": "string", "enum": ["open", "closed"]},
                "role": {"type": "string", "enum": ["editor", "co-owner"]},
                "permissions": {"type": "array", "items": {"type": "string"}},
                "roles": {"type": ["array", "null"], "items": {"type": "string", "enum": ["Owner", "viewer"]}},
                "permission": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
                "admin": {"type": "boolean"},
                "draft": {"type": "boolean"},
                "archived": {"type": "boolean"},
            },
            "$defs": {"Visibility": {"type": "string", "enum": ["Public", "private"]}},
        });
        let expected = json!({
            "private": ["false"], "isPublic": ["true"], "visibility": ["public"], "hard-delete": ["true", "1", "yes"],
            "archived": ["true"], "force": ["1"], "purge": ["true", "1", "yes"],
            "confirm": ["true"], "collection_method": ["charge_automatically"], "state": ["published"], "role": ["co-owner"],
            "permissions": ["admin", "owner"], "roles": ["owner"], "permission": ["admin", "owner"], "admin": ["true"],
        });
        assert_eq!(json!(arguments(&schema, &[])), expected);
        let draft = json!({"properties": {"draft": {"type": "boolean"}}});
        let raised = |about: &str| !arguments(&draft, &words_of(about)).is_empty();
        assert!(raised("create-release") && raised("updateRelease") && !raised("pulls/create"));
        let open = ["role", "visibility", "state", "status"].map(|name| (name.to_owned(), json!({"type": "string"})));
        let open = json!({"properties": serde_json::Map::from_iter(open)});
        let found = arguments(&open, &[]);
        assert_eq!(found["state"], ["published", "publish", "public"]);
        assert_eq!(found["status"], found["state"]);
        assert!(found["role"].contains(&"superuser".into()) && found["visibility"].contains(&"internal".into()));
        assert!(arguments(&json!({"type": "object"}), &[]).is_empty());
    }
}
