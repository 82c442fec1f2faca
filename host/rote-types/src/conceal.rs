//! Values that their schema says are not to be shown: `writeOnly`, or a text of `format: password`.

use serde_json::Value;

/// What stands for a value that is not shown.
pub const CONCEALED: &str = "<SECRET>";
/// Deepest schema that is looked into, references counted.
const MAX_DEPTH: u32 = 32;
/// Most schemas that are looked into for one value: alternatives that refer to each other would double with each step.
const MAX_STEPS: u32 = 100_000;
/// Keywords whose members say more of the same value.
const SAME_VALUE: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Whether a schema says that its value is not to be shown.
#[must_use]
pub fn is_concealed(schema: &Value) -> bool {
    schema["writeOnly"] == Value::Bool(true) || schema["format"] == "password"
}

/// Returns a copy in which [`CONCEALED`] stands for what the schema conceals, and what stood there; none where that is
/// nothing. What stands behind the hundred thousandth schema that is looked into is concealed, as nobody knows what it is.
#[must_use]
pub fn conceal(schema: &Value, value: &Value) -> Option<(Value, Vec<Value>)> {
    let (mut copy, mut found) = (value.clone(), Vec::new());
    Walk { root: schema, found: &mut found, left: MAX_STEPS }.value(schema, &mut copy, 0);
    (!found.is_empty()).then_some((copy, found))
}

struct Walk<'s> {
    /// Where references lead into.
    root: &'s Value,
    found: &'s mut Vec<Value>,
    /// How many schemas may still be looked into.
    left: u32,
}

impl Walk<'_> {
    fn value(&mut self, schema: &Value, value: &mut Value, depth: u32) {
        if depth > MAX_DEPTH || !schema.is_object() {
            return;
        }
        let is_unread = self.left == 0;
        self.left = self.left.saturating_sub(1);
        if is_unread || is_concealed(schema) {
            if *value != CONCEALED {
                self.found.push(std::mem::replace(value, Value::from(CONCEALED)));
            }
            return;
        }
        let root = self.root;
        if let Some(inner) = schema["$ref"].as_str().and_then(|to| root.pointer(to.strip_prefix('#')?)) {
            self.value(inner, value, depth + 1);
        }
        for inner in SAME_VALUE.iter().filter_map(|keyword| schema[keyword].as_array()).flatten() {
            self.value(inner, value, depth + 1);
        }
        match value {
            Value::Object(members) => {
                for (name, inner) in members {
                    let schema = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                    self.value(schema, inner, depth + 1);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|inner| self.value(&schema["items"], inner, depth + 1)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_schema_conceals_is_found_however_deep() {
        let schema = json!({
            "$defs": {"Login": {"properties": {"pin": {"type": "string", "format": "password"}}}, "Loop": {"$ref": "#/$defs/Loop"}},
            "properties": {
                "login": {"allOf": [{"$ref": "#/$defs/Login"}]}, "loop": {"$ref": "#/$defs/Loop"},
                "keys": {"items": {"writeOnly": true}}, "name": {"type": "string"}},
            "additionalProperties": {"format": "password"}
        });
        let value =
            json!({"login": {"pin": "1234", "user": "a"}, "keys": ["k1", 2], "name": "n", "more": "m", "loop": {}});
        let (shown, found) = conceal(&schema, &value).unwrap();
        let expected = json!({"login": {"pin": CONCEALED, "user": "a"}, "keys": [CONCEALED, CONCEALED], "name": "n",
            "more": CONCEALED, "loop": {}});
        assert_eq!(shown, expected);
        assert_eq!(found, [json!("1234"), json!("k1"), json!(2), json!("m")]);
        assert_eq!(conceal(&schema, &json!({"name": "n"})), None);
    }

    #[test]
    fn alternatives_that_refer_to_each_other_come_to_an_end() {
        let twice = json!([{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]);
        let schema = json!({"$defs": {"a": {"anyOf": twice}}, "$ref": "#/$defs/a"});
        let (shown, found) = conceal(&schema, &json!({"pin": "1234"})).unwrap();
        assert_eq!((shown, found), (json!(CONCEALED), vec![json!({"pin": "1234"})]));
    }
}
