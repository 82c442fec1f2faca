//! The shape of a body: types, optional keys, lengths, capped examples; and its short overview.

use indexmap::IndexMap;
use rote_types::ResponseId;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{Body, Result, StoredResponse, Workspace};

/// Deepest level described; below it only the type is named.
const MAX_DEPTH: usize = 16;
/// Most keys described of one object.
const MAX_KEYS: usize = 300;
/// Most example values of one place.
const MAX_EXAMPLES: usize = 3;
/// Longest example, in characters.
const MAX_EXAMPLE_CHARS: usize = 60;
/// What a JSON Schema of ours is written in.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Keys that name one thing; an object that wraps a list has none of them.
const IDENTITIES: [&str; 6] = ["id", "number", "key", "uuid", "name", "title"];
/// Keys named in the one-line shape.
const SHAPE_KEYS: usize = 8;
/// Longest row of an overview, in characters.
const ROW_CHARS: usize = 110;

/// What the short human line of a call shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// The shape in one line, such as `array[30] of {id, name, owner{…}, …}`.
    pub shape: String,
    /// The first rows, each one line.
    pub rows: Vec<String>,
}

/// Returns the shape of a value as data: `{"type": "object", "keys": {…}}`, `{"type": "array", "length": 3,
/// "items": …}`, `{"type": "string", "examples": […]}`; a key that not all objects have is `"optional": true`,
/// and a place with several types has a list of them.
#[must_use]
pub fn schema_of(value: &Value) -> Value {
    let mut shape = Shape::default();
    shape.observe(value, MAX_DEPTH);
    shape.describe()
}

/// Returns what a value is like as a JSON Schema (2020-12) that it is valid against. Examples are left out where it would
/// be longer than the value with them.
#[must_use]
fn json_schema_of(value: &Value) -> Value {
    let mut shape = Shape::default();
    shape.observe(value, MAX_DEPTH);
    let with = |examples| {
        let mut schema = Map::from_iter([("$schema".to_owned(), json!(DIALECT))]);
        schema.extend(shape.json_schema(examples));
        Value::Object(schema)
    };
    let full = with(true);
    if full.to_string().len() <= value.to_string().len() { full } else { with(false) }
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

/// Returns the overview of a value with at most `rows` rows.
#[must_use]
pub fn overview_of(value: &Value, rows: usize) -> Overview {
    let list = match value {
        Value::Array(items) => Some(items),
        Value::Object(fields) if is_one_thing(fields) => None,
        Value::Object(fields) => main_list(fields),
        _ => None,
    };
    let rows = match (list, value) {
        (Some(items), _) => items.iter().take(rows).map(row).collect(),
        (None, Value::Object(_)) if rows > 0 => vec![row(value)],
        _ => Vec::new(),
    };
    Overview { shape: shape_line(value, 2), rows }
}

impl Workspace {
    /// Returns what a recorded body is like, as a JSON Schema.
    ///
    /// # Errors
    /// Unknown or unfinished response.
    pub fn schema(&self, id: ResponseId) -> Result<Value> {
        Ok(match self.response(id)?.body {
            Body::Json(text) => match serde_json::from_str(&text) {
                Ok(value) => json_schema_of(&value),
                Err(_checked_when_recorded) => no_json(json!({}), format!("text of {} bytes", text.len())),
            },
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

impl StoredResponse {
    /// Returns the overview of its body with at most `rows` rows.
    #[must_use]
    pub fn overview(&self, rows: usize) -> Overview {
        match &self.body {
            Body::Json(text) => match serde_json::from_str(text) {
                Ok(value) => overview_of(&value, rows),
                Err(_checked_when_recorded) => text_overview(text, rows),
            },
            Body::Text { text, .. } => text_overview(text, rows),
            Body::Binary { sha256, bytes, .. } => {
                Overview { shape: format!("{bytes} bytes, sha256 {}…", &sha256.hex()[..12]), rows: Vec::new() }
            }
            Body::Empty => Overview { shape: "empty".to_owned(), rows: Vec::new() },
        }
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
    fn observe(&mut self, value: &Value, depth: usize) {
        let name = crate::JsonType::of(value).as_str();
        if !self.types.contains(&name) {
            self.types.push(name);
        }
        let below = depth.checked_sub(1);
        match (value, below) {
            (Value::Object(fields), Some(below)) => self.observe_fields(fields, below),
            (Value::Array(items), _) => {
                let (least, most) = self.lengths.unwrap_or((items.len(), items.len()));
                self.lengths = Some((least.min(items.len()), most.max(items.len())));
                if let Some(below) = below {
                    let shape = self.items.get_or_insert_default();
                    items.iter().for_each(|item| shape.observe(item, below));
                }
            }
            (Value::Object(_) | Value::Null, _) => {}
            (Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {
                self.fractions |= rote_types::type_name(value) == "number";
                let example = shorten(value);
                if self.examples.len() < MAX_EXAMPLES && !self.examples.contains(&example) {
                    self.examples.push(example);
                }
            }
        }
    }

    fn observe_fields(&mut self, fields: &Map<String, Value>, depth: usize) {
        self.objects += 1;
        for (key, value) in fields {
            if !self.keys.contains_key(key) && self.keys.len() >= MAX_KEYS {
                self.more_keys = true;
                continue;
            }
            let (shape, seen) = self.keys.entry(key.clone()).or_default();
            *seen += 1;
            shape.observe(value, depth);
        }
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

fn shorten(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(text, MAX_EXAMPLE_CHARS)),
        other => other.clone(),
    }
}

/// Whether an object is itself what was asked for, not the wrapping of a list: it has an identity and its lists,
/// such as labels, are parts of it.
fn is_one_thing(fields: &Map<String, Value>) -> bool {
    let scalar = |value: &Value| value.is_string() || value.is_number();
    let lists_objects = main_list(fields).is_some_and(|items| items.iter().any(Value::is_object));
    let identified = IDENTITIES.iter().any(|key| fields.get(*key).is_some_and(scalar));
    identified || (!lists_objects && fields.values().any(scalar))
}

/// The array that a list response is about: the only one, or the longest of several.
fn main_list(fields: &Map<String, Value>) -> Option<&Vec<Value>> {
    fields.values().filter_map(Value::as_array).filter(|items| !items.is_empty()).max_by_key(|items| items.len())
}

fn shape_line(value: &Value, depth: usize) -> String {
    match value {
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(_) if depth == 0 => "{…}".to_owned(),
        Value::Object(fields) => {
            let mut keys: Vec<String> =
                fields.iter().take(SHAPE_KEYS).map(|(key, value)| key_shape(key, value, depth)).collect();
            if fields.len() > SHAPE_KEYS {
                keys.push(format!("… {} more", fields.len() - SHAPE_KEYS));
            }
            format!("{{{}}}", keys.join(", "))
        }
        Value::Array(items) => match items.first() {
            Some(first) if depth > 0 => {
                format!("array[{}] of {}", items.len(), shape_line(first, depth - 1))
            }
            _ => format!("array[{}]", items.len()),
        },
        scalar => crate::JsonType::of(scalar).as_str().to_owned(),
    }
}

fn key_shape(key: &str, value: &Value, depth: usize) -> String {
    let key = cut(&plain(key), 40);
    match value {
        Value::Object(_) => format!("{key}{{…}}"),
        Value::Array(items) => match items.first() {
            Some(first @ Value::Object(_)) if depth > 1 => {
                format!("{key}[{}] of {}", items.len(), shape_line(first, depth - 1))
            }
            _ => format!("{key}[{}]", items.len()),
        },
        _ => key,
    }
}

/// One element as one line: its scalar fields, or the value itself.
fn row(value: &Value) -> String {
    let text = match value {
        Value::Object(fields) => {
            let scalar = |(key, value): (&String, &Value)| match value {
                Value::Object(_) | Value::Array(_) | Value::Null => None,
                Value::String(text) => Some(format!("{key}={}", cut(text, 40))),
                other => Some(format!("{key}={other}")),
            };
            let scalars = fields.iter().filter_map(scalar).take(SHAPE_KEYS).collect::<Vec<_>>().join("  ");
            // What has nothing but objects in it, as errors of many APIs, is shown as it is.
            if scalars.is_empty() { value.to_string() } else { scalars }
        }
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("array[{}]", items.len()),
        other => other.to_string(),
    };
    cut(&plain(&text), ROW_CHARS)
}

fn text_overview(text: &str, rows: usize) -> Overview {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let count = text.lines().count();
    Overview {
        shape: format!("text, {count} line{}", if count == 1 { "" } else { "s" }),
        rows: lines.take(rows).map(|line| cut(&plain(line), ROW_CHARS)).collect(),
    }
}

/// Takes line breaks, terminal escapes and other control characters out: a remote's text goes to a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
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
        assert_eq!(json_schema_of(&value), json!({ "$schema": DIALECT, "type": "array", "items": items }));
        let many: Value = (0..40).map(|n| json!({ "id": n, "title": format!("Number {n}") })).collect();
        let schema = json_schema_of(&many);
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
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(schema_of(&deep).to_string().len() < 2_000);
    }

    #[test]
    fn an_overview_of_one_thing_shows_the_thing_not_its_parts() {
        let issue = json!({"number": 7, "title": "Late", "labels": ["bug"], "comments": [{"id": 1}]});
        assert_eq!(overview_of(&issue, 3).rows, ["number=7  title=Late"]);
        let nested = json!({"error": {"message": "too small", "field": "amount"}});
        assert_eq!(overview_of(&nested, 3).rows, [r#"{"error":{"message":"too small","field":"amount"}}"#]);
        assert_eq!(overview_of(&json!({"state": "up", "nodes": ["a", "b"]}), 3).rows, ["state=up"]);
        assert_eq!(overview_of(&json!({"total": 1, "items": [{"id": 1}]}), 3).rows, ["id=1"]);
        assert_eq!(overview_of(&json!({"names": ["a", "b"]}), 3).rows, ["a", "b"]);
    }

    #[test]
    fn an_overview_counts_lines() {
        assert_eq!(text_overview("a\n", 1).shape, "text, 1 line");
        assert_eq!(text_overview("a\nb", 1).shape, "text, 2 lines");
    }

    #[test]
    fn an_overview_shows_shape_and_first_rows() {
        let value = json!({"total": 2, "items": [{"id": 1, "name": "a\u{1b}[31m", "owner": {"x": 1}}, {"id": 2}]});
        let overview = overview_of(&value, 1);
        assert_eq!(overview.shape, "{total, items[2] of {id, name, owner{…}}}");
        assert_eq!(overview.rows, ["id=1  name=a [31m"]);
        assert_eq!(
            overview_of(&json!([1, 2, 3]), 2),
            Overview { shape: "array[3] of number".to_owned(), rows: vec!["1".to_owned(), "2".to_owned()] }
        );
        assert_eq!(overview_of(&json!("x"), 2).shape, "string");
    }
}
