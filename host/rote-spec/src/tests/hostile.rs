//! Foreign bytes: nothing panics, everything ends, every bound has its error.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{fixture, inline};
use crate::{NoReferences, Source, SpecError, SpecLimits, read};

fn outcome(bytes: &[u8]) -> Result<crate::Api, SpecError> {
    read(Source { name: "hostile.yaml", bytes }, &mut NoReferences, &SpecLimits::default())
}

/// Reads a value as a description and checks that every operation is accounted for.
fn check(document: &Value) {
    let text = document.to_string();
    if let Ok(api) = read(Source { name: "h.json", bytes: text.as_bytes() }, &mut NoReferences, &SpecLimits::default())
    {
        assert_eq!(api.generated() + api.repaired() + api.skipped.len(), api.total);
    }
}

#[test]
fn a_document_of_100_mb_is_refused_by_its_size() {
    let bytes = vec![b' '; 100 << 20];
    let error = outcome(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "`hostile.yaml` exceeds a limit: 104857600 bytes, of at most 67108864 (64 MiB)");
}

#[test]
fn a_flood_of_small_values_is_refused_before_it_is_built() {
    let most = SpecLimits::default().nodes;
    let json = format!("[{}0]", "{},".repeat(most));
    let yaml = "- a: b\n".repeat(most / 2);
    for text in [json, yaml] {
        let error = outcome(text.as_bytes()).unwrap_err();
        assert!(matches!(error, SpecError::Limit { .. }), "{error}");
    }
}

#[test]
fn schemas_that_contain_themselves_in_every_way_end() {
    for schema in [
        json!({"$ref": "#/components/schemas/S"}),
        json!({"allOf": [{"$ref": "#/components/schemas/S"}, {"type": "object"}]}),
        json!({"oneOf": [{"$ref": "#/components/schemas/S"}], "items": {"$ref": "#/components/schemas/S"}}),
        json!({"contains": {"$ref": "#/components/schemas/S"}, "not": {"$ref": "#/components/schemas/S"}}),
        json!({"properties": {"a": {"allOf": [{"$ref": "#/components/schemas/S"}]}}}),
        json!({"additionalProperties": {"$ref": "#/components/schemas/S"}, "xml": {"name": "x"}}),
    ] {
        let content = json!({"schema": {"$ref": "#/components/schemas/S"}});
        for media in ["application/json", "application/xml", "multipart/form-data"] {
            let document = json!({
                "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
                "paths": {"/a": {"post": {"requestBody": {"content": {media: content}},
                    "responses": {"200": {"content": {"application/json": content}}}}}},
                "components": {"schemas": {"S": schema}}
            });
            let api = inline(&document.to_string());
            assert!(api.tools[0].operation.body.is_some());
        }
    }
}

#[test]
fn a_schema_that_doubles_at_every_level_stays_small() {
    let mut schemas = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/components/schemas/S{}", level + 1)});
        let prose = "x".repeat(400);
        schemas.insert(
            format!("S{level}"),
            json!({"description": prose, "allOf": [next, next], "properties": {format!("p{level}"): next, "q": next}}),
        );
    }
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"post": {"requestBody": {"content": {"application/json": {
            "schema": {"$ref": "#/components/schemas/S0"}}}}}}},
        "components": {"schemas": schemas}
    });
    let api = inline(&document.to_string());
    assert!(api.tools[0].tool.input_schema.value().unwrap().to_string().len() < 100 << 10);
    assert!(api.diagnostics.iter().any(|one| one.message.contains("was shortened")), "{:?}", api.diagnostics);
}

#[test]
fn many_tools_from_little_text_are_refused_by_the_output_bound() {
    let mut paths = serde_json::Map::new();
    for index in 0..400 {
        paths.insert(format!("/p{index}"), json!({"$ref": "#/paths/~1base"}));
    }
    let parameters: Vec<Value> =
        (0..400).map(|i| json!({"name": format!("n{i}"), "in": "query", "schema": {"type": "string"}})).collect();
    paths.insert("/base".to_owned(), json!({"get": {"parameters": parameters}}));
    let text = json!({"openapi": "3.0.0", "paths": paths}).to_string();
    let limits = SpecLimits { output_bytes: 1 << 20, ..SpecLimits::default() };
    let error = read(Source { name: "h", bytes: text.as_bytes() }, &mut NoReferences, &limits).unwrap_err();
    assert!(matches!(error, SpecError::Limit { .. }), "{error}");
    let limits = SpecLimits { operations: 100, ..SpecLimits::default() };
    let error = read(Source { name: "h", bytes: text.as_bytes() }, &mut NoReferences, &limits).unwrap_err();
    assert_eq!(error.to_string(), "`h` exceeds a limit: more than 100 operations");
}

#[test]
fn every_truncation_of_a_description_is_an_error_or_a_smaller_one() {
    for file in ["bodies.openapi.yaml", "api.swagger.yaml"] {
        assert!(fixture(file).total > 0);
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/specs").join(file);
        let bytes = super::bytes(&path).unwrap();
        for end in (0..bytes.len()).step_by(37) {
            if let Ok(api) = outcome(&bytes[..end]) {
                assert_eq!(api.generated() + api.repaired() + api.skipped.len(), api.total);
            }
        }
    }
}

const WORDS: [&str; 18] = [
    "object",
    "array",
    "string",
    "file",
    "path",
    "query",
    "body",
    "formData",
    "deepObject",
    "#/paths/~1a",
    "#/components/schemas/S",
    "#/components",
    "#",
    "binary",
    "apiKey",
    "http",
    "bearer",
    "*/*",
];

const KEYS: [&str; 43] = [
    "$ref",
    "paths",
    "/a/{b}",
    "get",
    "post",
    "parameters",
    "requestBody",
    "content",
    "application/json",
    "schema",
    "properties",
    "items",
    "allOf",
    "oneOf",
    "anyOf",
    "required",
    "type",
    "enum",
    "in",
    "name",
    "responses",
    "200",
    "servers",
    "url",
    "variables",
    "security",
    "components",
    "schemas",
    "S",
    "tags",
    "operationId",
    "encoding",
    "style",
    "explode",
    "xml",
    "nullable",
    "default",
    "additionalProperties",
    "securitySchemes",
    "multipart/form-data",
    "consumes",
    "collectionFormat",
    "format",
];

/// Values with the words of the formats in them, so that mutations reach deep.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "[a-z{}/#?.~%]{0,8}".prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let key = prop::sample::select(&KEYS[..]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// Replaces the value at the `at`-th place of a document, in depth-first order.
pub(super) fn mutate(document: &mut Value, at: &mut usize, replacement: &Value) -> bool {
    if *at == 0 {
        *document = replacement.clone();
        return true;
    }
    *at -= 1;
    match document {
        Value::Object(members) => members.values_mut().any(|value| mutate(value, at, replacement)),
        Value::Array(items) => items.iter_mut().any(|value| mutate(value, at, replacement)),
        _ => false,
    }
}

fn seed(swagger: bool) -> Value {
    let file = if swagger { "api.swagger.yaml" } else { "bodies.openapi.yaml" };
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/specs").join(file);
    let bytes = super::bytes(&path).unwrap();
    let json = crate::document_json(Source { name: file, bytes: &bytes }, &SpecLimits::default()).unwrap();
    serde_json::from_slice(&json).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = outcome(&bytes);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "(openapi: 3.1.0\n)?[ a-z0-9:{}\\[\\]\"'&*<|>#!%@\\-\n]{0,200}") {
        let _ = outcome(text.as_bytes());
    }

    #[test]
    fn arbitrary_descriptions_are_accounted_for(paths in value(), components in value(), version in 0..3_usize) {
        let head = [("openapi", "3.0.0"), ("openapi", "3.1.0"), ("swagger", "2.0")][version];
        check(&json!({head.0: head.1, "paths": {"/a/{b}": paths, "/c": {"post": paths}}, "components": components,
                      "servers": components, "security": components, "securityDefinitions": components}));
    }

    #[test]
    fn mutated_descriptions_are_accounted_for(at in 0..400_usize, replacement in value(), swagger in any::<bool>()) {
        let mut document = seed(swagger);
        mutate(&mut document, &mut at.clone(), &replacement);
        check(&document);
    }
}
