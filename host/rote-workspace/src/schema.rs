//! The shape of a body: types, optional keys, lengths, capped examples.

use std::cell::Cell;

use indexmap::IndexMap;
use rote_types::ResponseId;
use serde_json::{Map, Value, json};

use crate::overview::cut;
use crate::skim::{items, members, type_of};
use crate::{Body, JsonType, Result, Workspace};

/// Deepest level described; below it only the type is named.
const MAX_DEPTH: usize = 16;
/// Most keys described of one object.
const MAX_KEYS: usize = 300;
/// Most places described of one body: a few levels of keys that are all different would be more than the body.
const MAX_PLACES: usize = 10_000;
/// Most example values of one place.
const MAX_EXAMPLES: usize = 3;
/// Longest example, in characters.
const MAX_EXAMPLE_CHARS: usize = 60;
/// What a JSON Schema of ours is written in.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Returns the shape of a value as data: `{"type": "object", "keys": {…}}`, `{"type": "array", "length": 3,
/// "items": …}`, `{"type": "string", "examples": […]}`; a key that not all objects have is `"optional": true`,
/// and a place with several types has a list of them.
#[must_use]
pub fn schema_of(value: &Value) -> Value {
    let mut shape = Shape::default();
    shape.observe(&value.to_string(), MAX_DEPTH, &Cell::new(MAX_PLACES));
    shape.describe()
}

/// Returns what a text that is JSON is like as a JSON Schema (2020-12) that it is valid against. Examples are left out where
/// it would be longer than the text with them.
fn json_schema_of(json: &str) -> Value {
    let mut shape = Shape::default();
    shape.observe(json, MAX_DEPTH, &Cell::new(MAX_PLACES));
    let with = |examples| {
        let mut schema = Map::from_iter([("$schema".to_owned(), json!(DIALECT))]);
        schema.extend(shape.json_schema(examples));
        Value::Object(schema)
    };
    let full = with(true);
    if full.to_string().len() <= json.len() { full } else { with(false) }
}

/// A JSON Schema of a body that is not JSON, with what is known of it in words.
fn no_json(kind: Value, about: String) -> Value {
    let schema = json!({ "$schema": DIALECT, "description": about });
    match (schema, kind) {
        (Value::Object(mut schema), Value::Object(kind)) => {
            schema.extend(kind);
            Value::Object(schema)
        }
        (schema, _) => schema,
    }
}

impl Workspace {
    /// Returns what a recorded body is like, as a JSON Schema.
    ///
    /// # Errors
    /// Unknown or unfinished response.
    pub fn schema(&self, id: ResponseId) -> Result<Value> {
        Ok(match self.response(id)?.body {
            Body::Json(text) => json_schema_of(&text),
            Body::Text { text, .. } => {
                let about = format!("text of {} bytes and {} lines", text.len(), text.lines().count());
                no_json(json!({ "type": "string" }), about)
            }
            Body::Binary { sha256, bytes, .. } => {
                no_json(json!({ "type": "string" }), format!("{bytes} bytes, sha256 {}", sha256.hex()))
            }
            Body::Empty => no_json(json!({ "not": {} }), "there is no body".to_owned()),
        })
    }
}

#[derive(Default)]
struct Shape {
    types: Vec<&'static str>,
    keys: IndexMap<String, (Shape, usize)>,
    objects: usize,
    more_keys: bool,
    items: Option<Box<Shape>>,
    lengths: Option<(usize, usize)>,
    /// One of the numbers is not whole.
    fractions: bool,
    examples: Vec<Value>,
}

impl Shape {
    fn observe(&mut self, json: &str, depth: usize, places: &Cell<usize>) {
        let kind = type_of(json);
        if !self.types.contains(&kind.as_str()) {
            self.types.push(kind.as_str());
        }
        let below = depth.checked_sub(1);
        match (kind, below) {
            (JsonType::Object, Some(below)) => self.observe_fields(json, below, places),
            (JsonType::Array, _) => {
                let length = items(json, |item| {
                    if let Some(below) = below {
                        self.items.get_or_insert_default().observe(item.get(), below, places);
                    }
                });
                let (least, most) = self.lengths.unwrap_or((length, length));
                self.lengths = Some((least.min(length), most.max(length)));
            }
            (JsonType::Object | JsonType::Null, _) => {}
            (JsonType::Boolean | JsonType::Number | JsonType::String, _) => self.observe_scalar(kind, json),
        }
    }

    fn observe_scalar(&mut self, kind: JsonType, json: &str) {
        let whole = kind != JsonType::Number || self.fractions;
        if whole && self.examples.len() == MAX_EXAMPLES {
            return;
        }
        let Ok(value) = serde_json::from_str(json) else { return };
        self.fractions |= rote_types::type_name(&value) == "number";
        let example = shorten(value);
        if self.examples.len() < MAX_EXAMPLES && !self.examples.contains(&example) {
            self.examples.push(example);
        }
    }

    fn observe_fields(&mut self, json: &str, depth: usize, places: &Cell<usize>) {
        self.objects += 1;
        members(json, |key, value| {
            if !self.keys.contains_key(&*key) {
                let left = places.get().checked_sub(1).filter(|_| self.keys.len() < MAX_KEYS);
                self.more_keys |= left.is_none();
                let Some(left) = left else { return };
                places.set(left);
            }
            let (shape, seen) = self.keys.entry(key.into_owned()).or_default();
            *seen += 1;
            shape.observe(value.get(), depth, places);
        });
    }

    fn describe(&self) -> Value {
        let mut out = Map::new();
        let kind = match self.types.as_slice() {
            [] => json!("unknown"),
            [one] => json!(one),
            several => json!(several),
        };
        out.insert("type".to_owned(), kind);
        if self.objects > 0 {
            out.insert("keys".to_owned(), Value::Object(self.describe_keys()));
        }
        if self.more_keys {
            out.insert("more_keys".to_owned(), json!(true));
        }
        if let Some((least, most)) = self.lengths {
            out.insert(
                "length".to_owned(),
                if least == most { json!(least) } else { json!({"min": least, "max": most}) },
            );
        }
        if let Some(items) = self.items.as_ref().filter(|items| !items.types.is_empty()) {
            out.insert("items".to_owned(), items.describe());
        }
        if !self.examples.is_empty() {
            out.insert("examples".to_owned(), Value::Array(self.examples.clone()));
        }
        Value::Object(out)
    }

    /// The shape in the words of JSON Schema, with an example of each place that has one.
    fn json_schema(&self, examples: bool) -> Map<String, Value> {
        let name = |name: &&'static str| if *name == "number" && !self.fractions { "integer" } else { *name };
        let mut schema = Map::new();
        match self.types.as_slice() {
            [] => {}
            [one] => drop(schema.insert("type".to_owned(), json!(name(one)))),
            several => drop(schema.insert("type".to_owned(), several.iter().map(name).collect())),
        }
        if !self.keys.is_empty() {
            let below =
                |(key, (shape, _)): (&String, &(Shape, usize))| (key.clone(), shape.json_schema(examples).into());
            schema.insert("properties".to_owned(), Value::Object(self.keys.iter().map(below).collect()));
            let always = self.keys.iter().filter(|(_, (_, seen))| *seen == self.objects).map(|(key, _)| json!(key));
            let always: Vec<Value> = always.collect();
            if !always.is_empty() {
                schema.insert("required".to_owned(), always.into());
            }
        }
        if let Some(items) = self.items.as_ref().filter(|items| !items.types.is_empty()) {
            schema.insert("items".to_owned(), items.json_schema(examples).into());
        }
        if let Some(example) = self.examples.first().filter(|_| examples) {
            schema.insert("examples".to_owned(), json!([example]));
        }
        schema
    }

    fn describe_keys(&self) -> Map<String, Value> {
        let describe = |(key, (shape, seen)): (&String, &(Shape, usize))| {
            let mut description = shape.describe();
            if *seen < self.objects
                && let Some(fields) = description.as_object_mut()
            {
                fields.insert("optional".to_owned(), json!(true));
            }
            (key.clone(), description)
        };
        self.keys.iter().map(describe).collect()
    }
}

fn shorten(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(&text, MAX_EXAMPLE_CHARS)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_names_types_optional_keys_lengths_and_examples() {
        let value = json!([
            {"id": 1, "name": "a", "tags": ["x"]},
            {"id": 2, "name": null, "tags": [], "extra": true},
        ]);
        let expected = json!({
            "type": "array", "length": 2,
            "items": {"type": "object", "keys": {
                "id": {"type": "number", "examples": [1, 2]},
                "name": {"type": ["string", "null"], "examples": ["a"]},
                "tags": {"type": "array", "length": {"min": 0, "max": 1}, "items": {"type": "string", "examples": ["x"]}},
                "extra": {"type": "boolean", "examples": [true], "optional": true},
            }},
        });
        assert_eq!(schema_of(&value), expected);
    }

    #[test]
    fn a_json_schema_fits_its_value_and_is_shorter_than_a_list() {
        let value = json!([
            {"id": 1, "name": "a", "tags": ["x"], "share": 0.5},
            {"id": 2, "name": null, "tags": [], "share": 1, "extra": {}},
        ]);
        let properties = json!({
            "id": {"type": "integer"}, "name": {"type": ["string", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}}, "share": {"type": "number"},
            "extra": {"type": "object"},
        });
        let items = json!({ "type": "object", "properties": properties, "required": ["id", "name", "tags", "share"] });
        assert_eq!(json_schema_of(&value.to_string()), json!({ "$schema": DIALECT, "type": "array", "items": items }));
        let many: Value = (0..40).map(|n| json!({ "id": n, "title": format!("Number {n}") })).collect();
        let schema = json_schema_of(&many.to_string());
        assert_eq!(schema["items"]["properties"]["title"]["examples"], json!(["Number 0"]));
        assert!(schema.to_string().len() < many.to_string().len() / 4);
    }

    #[test]
    fn a_schema_is_bounded() {
        let wide: Map<String, Value> = (0..1_000).map(|n| (format!("k{n}"), json!("x".repeat(500)))).collect();
        let schema = schema_of(&Value::Object(wide));
        assert_eq!(schema["keys"].as_object().unwrap().len(), MAX_KEYS);
        assert_eq!(schema["more_keys"], json!(true));
        assert!(schema["keys"]["k0"]["examples"][0].as_str().unwrap().chars().count() <= MAX_EXAMPLE_CHARS + 1);
        let leaf = |n: usize| json!({ format!("a{n}"): 0, format!("b{n}"): 0 });
        let broad: Map<String, Value> = (0..200)
            .map(|n| {
                (format!("k{n}"), (0..200).map(|m| (format!("m{m}"), leaf(n * 200 + m))).collect::<Map<_, _>>().into())
            })
            .collect();
        assert!(schema_of(&Value::Object(broad)).to_string().matches("\"type\"").count() <= MAX_PLACES + 1);
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(schema_of(&deep).to_string().len() < 2_000);
    }
}
