//! Bodies that are a choice.

use serde_json::{Value, json};

use super::{inline, tool};

#[test]
fn a_choice_with_one_object_is_that_object() {
    let body = |schema: Value| {
        let content = json!({ "application/json": { "schema": schema } });
        let operation = json!({ "operationId": "a", "requestBody": { "required": true, "content": content } });
        let document = json!({
            "openapi": "3.1.0", "info": { "title": "t", "version": "1" }, "paths": { "/a": { "post": operation } },
        });
        tool(&inline(&document.to_string()), "a").tool.input_schema.value().unwrap()
    };
    let text = json!({ "type": "string" });
    let labels = json!({ "type": "array", "items": text });
    let object = json!({ "type": "object", "properties": { "labels": labels }, "required": ["labels"] });
    for schema in [json!({ "oneOf": [object] }), json!({ "anyOf": [labels, object, text], "description": "Both." })] {
        let flat = body(schema);
        assert_eq!((&flat["properties"], &flat["required"]), (&json!({ "labels": labels }), &json!(["labels"])));
    }
    let fields = json!({ "a": text, "b": text });
    let either = json!([{ "required": ["a"] }, { "required": ["b"] }]);
    let flat = body(json!({ "type": "object", "properties": fields, "anyOf": either }));
    assert_eq!((&flat["properties"], &flat["required"]), (&fields, &Value::Null));
    let other = json!({ "type": "object", "properties": { "a": text } });
    for whole in [
        json!({ "oneOf": [object, other] }),
        json!({ "oneOf": [labels, text] }),
        json!({ "oneOf": [object, {}] }),
        json!({ "type": "object", "properties": fields, "anyOf": [{ "properties": { "a": { "const": "x" } } }] }),
    ] {
        assert!(body(whole.clone())["properties"]["__requestBody__"].is_object(), "{whole}");
    }
}

#[test]
fn a_field_of_text_in_a_multipart_body_may_be_a_file() {
    let fields = json!({
        "file": { "type": "string", "description": "A file.", "maxLength": 9 },
        "kind": { "type": "string", "enum": ["a"] },
        "secret": { "type": "string", "format": "password" },
        "count": { "type": "integer" },
    });
    let content = json!({ "multipart/form-data": { "schema": { "type": "object", "properties": fields } } });
    let operation = json!({ "operationId": "a", "requestBody": { "content": content } });
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "t", "version": "1" }, "paths": { "/a": { "post": operation } },
    });
    let read = tool(&inline(&document.to_string()), "a").tool.input_schema.value().unwrap();
    let file = &read["properties"]["file"];
    assert_eq!(
        (&file["description"], &file["anyOf"][0]),
        (&json!("A file."), &json!({ "type": "string", "maxLength": 9 }))
    );
    assert_eq!(file["anyOf"][1]["required"], json!(["base64"]));
    for name in ["kind", "secret", "count"] {
        assert_eq!(read["properties"][name], fields[name], "{name}");
    }
}

#[test]
fn a_member_that_is_true_in_each_success_says_whether_a_call_did_what_it_was_for() {
    let of = |schema: &str| {
        let api = inline(&format!(
            "{{openapi: 3.1.0, info: {{title: t, version: '1'}}, \
             components: {{schemas: {{yes: {{type: boolean, enum: [true]}}, again: {{allOf: [{{$ref: '#/components/schemas/again'}}]}}}}}}, \
             paths: {{/a: {{post: {{operationId: make, responses: {{'200': {{description: d, content: \
             {{application/json: {{schema: {schema}}}}}}}}}}}}}}}}}"
        ));
        tool(&api, "make").tool.ok_member.clone()
    };
    for (schema, expected) in [
        ("{properties: {ok: {$ref: '#/components/schemas/yes'}}}", Some("ok")),
        ("{properties: {success: {const: true}}}", Some("success")),
        ("{allOf: [{properties: {a: {}}}, {properties: {ok: {enum: [true]}}}]}", Some("ok")),
        ("{oneOf: [{properties: {ok: {const: true}}}, {properties: {ok: {enum: [true]}}}]}", Some("ok")),
        ("{oneOf: [{properties: {ok: {const: true}}}, {properties: {ok: {const: false}}}]}", None),
        ("{properties: {ok: {type: boolean}}}", None),
        ("{properties: {ok: {enum: [true, false]}}}", None),
        ("{properties: {deleted: {enum: [true]}}}", None),
        ("{properties: {data: {properties: {ok: {const: true}}}}}", None),
        ("{$ref: '#/components/schemas/again'}", None),
        ("{type: array, items: {properties: {ok: {const: true}}}}", None),
    ] {
        assert_eq!(of(schema).as_deref(), expected, "{schema}");
    }
}
