//! Form bodies: how each field of a URL-encoded or multipart body is written.

use rote_request::{Encoding, Location, MediaKind, Style};
use serde_json::{Map, Value, json};

use crate::openapi::body::BodyPlan;
use crate::openapi::media::{self, Class};
use crate::openapi::parameters::collection_encoding;

/// What OpenAPI writes fields with by default: each element of an array as a pair of its own.
const DEFAULT: Encoding = Encoding { style: Style::Form, explode: true, allow_reserved: false, content_type: None };

/// `application/x-www-form-urlencoded`, as the source's `encoding` or `collectionFormat` says.
pub(crate) fn urlencoded(plan: &BodyPlan<'_>, schema: &Map<String, Value>) -> MediaKind {
    let mut encodings = Vec::new();
    for field in &plan.fields {
        let format = field.node.text("collectionFormat");
        if field.node.text("type") == Some("array") && format != Some("multi") {
            encodings.push((field.name.to_owned(), collection_encoding(format, Location::Query)));
        }
    }
    let declared = plan.encoding.iter().flat_map(|all| all.members().collect::<Vec<_>>());
    for (name, encoding) in declared {
        if let Some(encoding) = declared_encoding(encoding.value) {
            encodings.push((name.to_owned(), encoding));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        // OpenAPI 3.1.1 §4.8.15.1.2: an object without an encoding of its own is written as JSON.
        if is_object(property) && !encodings.iter().any(|(known, _)| known == name) {
            let json = Encoding { content_type: Some("application/json".to_owned()), ..DEFAULT };
            encodings.push((name.clone(), json));
        }
    }
    MediaKind::Form { default: DEFAULT, encodings }
}

fn declared_encoding(value: &Value) -> Option<Encoding> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let flag = |key: &str| value.get(key).and_then(Value::as_bool);
    if text("style").is_none() && flag("explode").is_none() && flag("allowReserved").is_none() {
        let content_type = text("contentType").filter(|media| media::class(media) != Class::Text)?;
        return Some(Encoding { content_type: Some(content_type.to_owned()), ..DEFAULT });
    }
    let style = match text("style") {
        Some("deepObject") => Style::DeepObject,
        Some("spaceDelimited") => Style::SpaceDelimited,
        Some("pipeDelimited") => Style::PipeDelimited,
        _ => Style::Form,
    };
    let explode = style == Style::DeepObject || flag("explode").unwrap_or(style == Style::Form);
    Some(Encoding { style, explode, allow_reserved: flag("allowReserved").unwrap_or(false), content_type: None })
}

fn is_object(schema: &Value) -> bool {
    schema.get("type") == Some(&json!("object")) || schema.get("properties").is_some()
}

/// `multipart/form-data` and its kin; fields that are files get the schema of one.
pub(crate) fn multipart(plan: &BodyPlan<'_>, schema: &mut Map<String, Value>) -> MediaKind {
    let mut content_types = Vec::new();
    for (name, encoding) in plan.encoding.iter().flat_map(|all| all.members().collect::<Vec<_>>()) {
        // A list of types leaves the choice to the sender; the first one that is not a range is taken.
        let listed = encoding.text("contentType").unwrap_or("");
        if let Some(media) = listed.split(',').map(str::trim).find(|media| !media.is_empty() && !media.contains('*')) {
            content_types.push((name.to_owned(), media.to_owned()));
        }
    }
    let mut files = Vec::new();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            let declared = content_types.iter().find(|(known, _)| known == name).map(|(_, media)| media.as_str());
            if make_file(property, declared) {
                files.push(name.clone());
            } else if declared.is_none() {
                admit_file(property);
            }
        }
    }
    MediaKind::Multipart { content_types, files }
}

/// Turns the schema of a file, or of a list of files, into what an agent can fill.
fn make_file(property: &mut Value, declared: Option<&str>) -> bool {
    if let Some(items) = property.get_mut("items") {
        return make_file(items, declared);
    }
    if !is_file(property, declared) {
        return false;
    }
    let description = property.as_object_mut().and_then(|schema| schema.remove("description"));
    *property = Value::Object(file_schema(description));
    true
}

/// Lets a field of text be a file as well: some descriptions say no more of their files.
fn admit_file(property: &mut Value) {
    // What says more of its text, such as a choice or that it is concealed, is no file.
    const PLAIN: [&str; 6] = ["type", "description", "minLength", "maxLength", "pattern", "examples"];
    let is_plain = |schema: &Map<String, Value>| schema.keys().all(|key| PLAIN.contains(&key.as_str()));
    let Some(mut text) = property.as_object().filter(|schema| is_plain(schema)).cloned() else { return };
    if text.get("type") != Some(&json!("string")) {
        return;
    }
    let description = text.remove("description");
    let mut either = file_schema(description);
    if let Some(Value::Array(variants)) = either.get_mut("anyOf") {
        variants[0] = Value::Object(text);
    }
    *property = Value::Object(either);
}

fn is_file(schema: &Value, declared: Option<&str>) -> bool {
    let is_text = schema.get("type").is_none_or(|kind| kind == "string" || *kind == json!(["string", "null"]));
    let marked = schema.get("format").is_some_and(|format| format == "binary" || format == "byte")
        || schema.get("contentMediaType").is_some()
        || schema.get("contentEncoding").is_some();
    let typed = declared.is_some_and(|media| media::class(media) == Class::Binary);
    // 3.1 writes a file as a schema that says nothing.
    let says_nothing = schema.as_object().is_some_and(|schema| schema.keys().all(|key| key == "description"));
    is_text && (marked || typed || says_nothing)
}

/// The schema of binary content: text as it is, or base64 with a name.
pub(crate) fn file_schema(description: Option<Value>) -> Map<String, Value> {
    let mut schema = Map::new();
    if let Some(description) = description {
        schema.insert("description".to_owned(), description);
    }
    let variants = json!([
        {"type": "string", "description": "The content as text."},
        {"type": "object", "properties": {
            "base64": {"type": "string", "description": "The content, base64."},
            "filename": {"type": "string"},
            "content_type": {"type": "string"}
        }, "required": ["base64"], "additionalProperties": false}
    ]);
    schema.insert("anyOf".to_owned(), variants);
    schema
}
