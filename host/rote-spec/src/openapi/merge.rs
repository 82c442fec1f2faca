//! `allOf` as one schema: what its members say together.
//!
//! Merging is by keyword; where two members contradict or cannot be joined exactly, the later one stays as a
//! member of an `allOf` of its own, so that nothing is lost.

use serde_json::{Map, Value, json};

use crate::openapi::keywords::DROPPED;

/// Adds the constraints of `part` to `target`.
pub(crate) fn merge_into(target: &mut Map<String, Value>, part: Map<String, Value>) {
    let mut rest = Map::new();
    for (key, value) in part {
        let Some(known) = target.get_mut(&key) else {
            target.insert(key, value);
            continue;
        };
        if *known == value {
            continue;
        }
        match key.as_str() {
            "properties" | "patternProperties" => merge_properties(known, value),
            "required" | DROPPED | "allOf" => union(known, value),
            // The outer words describe the whole; the inner ones only a part.
            "description" | "examples" | "default" | "deprecated" => {}
            "enum" => intersect(known, &value),
            "type" => *known = common_type(known, &value),
            // A closed member of an open whole would refuse what its siblings add.
            "additionalProperties" => *known = common_extras(known, value),
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                keep(known, value, |new, old| new > old);
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                keep(known, value, |new, old| new < old);
            }
            _ => {
                rest.insert(key, value);
            }
        }
    }
    if !rest.is_empty() {
        let parts = target.entry("allOf").or_insert_with(|| json!([]));
        union(parts, json!([rest]));
    }
}

fn merge_properties(known: &mut Value, more: Value) {
    let (Value::Object(known), Value::Object(more)) = (known, more) else {
        return;
    };
    for (name, schema) in more {
        match known.get_mut(&name) {
            None => {
                known.insert(name, schema);
            }
            Some(same) if *same == schema => {}
            Some(Value::Object(one)) if is_flat(one) && schema.as_object().is_some_and(is_flat) => {
                if let Value::Object(schema) = schema {
                    merge_into(one, schema);
                }
            }
            Some(one) => {
                let first = one.take();
                *one = if is_open(&first) {
                    schema
                } else if is_open(&schema) {
                    first
                } else {
                    json!({"allOf": [first, schema]})
                };
            }
        }
    }
}

fn is_open(schema: &Value) -> bool {
    schema.as_object().is_some_and(Map::is_empty)
}

fn is_flat(schema: &Map<String, Value>) -> bool {
    !["$ref", "anyOf", "not", "if"].iter().any(|key| schema.contains_key(*key))
}

fn union(known: &mut Value, more: Value) {
    let (Value::Array(known), Value::Array(more)) = (known, more) else {
        return;
    };
    for item in more {
        if !known.contains(&item) {
            known.push(item);
        }
    }
}

/// Members whose enumerations have nothing in common would admit nothing; the first one stays then.
fn intersect(known: &mut Value, other: &Value) {
    let (Value::Array(known), Value::Array(other)) = (known, other) else {
        return;
    };
    if known.iter().any(|option| other.contains(option)) {
        known.retain(|option| other.contains(option));
    }
}

fn common_type(known: &Value, other: &Value) -> Value {
    let list = |value: &Value| match value {
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    let other = list(other);
    let mut common: Vec<Value> = list(known).into_iter().filter(|kind| other.contains(kind)).collect();
    match common.len() {
        0 => known.clone(),
        1 => common.remove(0),
        _ => Value::Array(common),
    }
}

fn common_extras(known: &Value, other: Value) -> Value {
    match (known, &other) {
        (Value::Bool(false), _) => other,
        (_, Value::Bool(false)) => known.clone(),
        (Value::Bool(true), _) => other,
        _ => known.clone(),
    }
}

fn keep(known: &mut Value, new: Value, better: fn(f64, f64) -> bool) {
    if let (Some(new_number), Some(old_number)) = (new.as_f64(), known.as_f64())
        && better(new_number, old_number)
    {
        *known = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(one: Value, two: Value, merged: Value) {
        let (Value::Object(mut one), Value::Object(two)) = (one, two) else { panic!("objects") };
        merge_into(&mut one, two);
        assert_eq!(Value::Object(one), merged);
    }

    #[test]
    fn members_are_joined_keyword_by_keyword() {
        check(
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"b": {}}, "required": ["a", "b"]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "b"]}),
        );
        check(
            json!({"type": ["string", "null"], "minLength": 1}),
            json!({"type": "string", "minLength": 3}),
            json!({"type": "string", "minLength": 3}),
        );
        check(json!({"enum": ["a", "b"]}), json!({"enum": ["b", "c"]}), json!({"enum": ["b"]}));
        check(
            json!({"properties": {"a": {"type": "string"}}}),
            json!({"properties": {"a": {"description": "d"}}}),
            json!({"properties": {"a": {"type": "string", "description": "d"}}}),
        );
    }

    #[test]
    fn what_cannot_be_joined_stays_in_all_of() {
        check(
            json!({"anyOf": [{"type": "string"}]}),
            json!({"anyOf": [{"minLength": 2}]}),
            json!({"anyOf": [{"type": "string"}], "allOf": [{"anyOf": [{"minLength": 2}]}]}),
        );
    }
}
