//! Bodies, kind by kind.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::tests::{arguments, operation};
use crate::{BuiltRequest, Problem, build};

fn request(content_type: &str, kind: Value, value: Value) -> Result<BuiltRequest, Vec<Problem>> {
    let operation = operation(json!({
        "method": "POST",
        "body": {
            "content_type": content_type, "kind": kind,
            "arguments": { "whole": { "argument": "__requestBody__" } },
        },
    }));
    build(&operation, &arguments(json!({ "__requestBody__": value })))
}

/// The body as text, after checking the content type that goes with it.
fn body(content_type: &str, kind: Value, value: Value) -> String {
    let request = request(content_type, kind, value).unwrap();
    assert_eq!(header(&request), content_type);
    String::from_utf8(request.body.unwrap()).unwrap()
}

fn header(request: &BuiltRequest) -> &str {
    &request.headers.iter().find(|(name, _)| name == "content-type").unwrap().1
}

fn refusal(content_type: &str, kind: Value, value: Value) -> String {
    let problems = request(content_type, kind, value).unwrap_err();
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn json_is_compact_and_keeps_the_order() {
    let kind = json!({ "json": {} });
    assert_eq!(body("application/vnd.api+json", kind.clone(), json!({ "b": 1, "a": [null] })), r#"{"b":1,"a":[null]}"#);
    assert_eq!(body("application/json", kind.clone(), json!("text")), r#""text""#);
    assert_eq!(body("application/json", kind, json!(null)), "null");
}

#[test]
fn json_lines_are_one_per_element() {
    let kind = json!({ "json": { "lines": true } });
    assert_eq!(body("application/x-ndjson", kind.clone(), json!([{ "a": 1 }, 2])), "{\"a\":1}\n2\n");
    assert_eq!(body("application/x-ndjson", kind, json!({ "a": "x\ny" })), "{\"a\":\"x\\ny\"}\n");
}

#[test]
fn fields_are_collected_and_an_empty_optional_body_is_not_sent() {
    let with_required = |required: bool| {
        operation(json!({
            "body": {
                "content_type": "application/json", "kind": { "json": {} }, "required": required,
                "arguments": { "fields": [{ "argument": "a", "name": "a" }] },
            },
        }))
    };
    assert_eq!(build(&with_required(false), &Map::new()).unwrap().body, None);
    assert_eq!(build(&with_required(true), &Map::new()).unwrap().body.as_deref(), Some(b"{}".as_slice()));
}

#[test]
fn forms_nest_as_the_encoding_says() {
    let content_type = "application/x-www-form-urlencoded";
    let value = json!({ "a": { "b": [{ "c": "x y" }, { "c": "&" }] }, "plain": "p+q", "list": [1, 2], "no": null });
    let deep = json!({ "form": { "default": { "style": "deepObject", "explode": true } } });
    assert_eq!(
        body(content_type, deep, value.clone()).replace("%5B", "[").replace("%5D", "]"),
        "a[b][0][c]=x%20y&a[b][1][c]=%26&plain=p%2Bq&list[0]=1&list[1]=2"
    );
    let form = json!({ "form": { "default": { "style": "form", "explode": true } } });
    assert_eq!(
        body(content_type, form, value),
        "a=%7B%22b%22%3A%5B%7B%22c%22%3A%22x%20y%22%7D%2C%7B%22c%22%3A%22%26%22%7D%5D%7D&plain=p%2Bq&list=1&list=2"
    );
    let own = json!({ "form": {
        "default": { "style": "form", "explode": true },
        "encodings": [["o", { "style": "form", "explode": true }], ["l", { "style": "brackets", "explode": true }]],
    } });
    assert_eq!(body(content_type, own, json!({ "o": { "k": 1 }, "l": ["x"] })), "k=1&l%5B%5D=x");
}

#[test]
fn a_form_must_be_an_object() {
    let kind = json!({ "form": { "default": { "style": "form", "explode": true } } });
    assert_eq!(
        refusal("application/x-www-form-urlencoded", kind, json!([1])),
        "`/__requestBody__` must be an object: its members are the fields of the body"
    );
}

#[test]
fn multipart_writes_text_json_and_file_parts() {
    let kind = json!({ "multipart": {
        "content_types": [["meta", "application/json"], ["photo", "image/png, image/jpeg"], ["any", "*/*"]],
        "files": ["photo", "note"],
    } });
    let value = json!({
        "title": "T\u{e9}", "count": 3, "none": null, "tags": ["a", "b"], "meta": [1], "nested": { "k": 1 },
        "photo": { "base64": "AP8=", "filename": "a\"\r\nb.png" }, "note": "plain", "any": { "base64": "" , "content_type": "text/csv" },
    });
    let request = request("multipart/form-data", kind, value).unwrap();
    let boundary = header(&request).strip_prefix("multipart/form-data; boundary=").unwrap().to_owned();
    let body = String::from_utf8_lossy(request.body.as_deref().unwrap()).replace(&boundary, "B");
    let expected = [
        "--B\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nT\u{e9}\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"count\"\r\n\r\n3\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"tags\"\r\n\r\na\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"tags\"\r\n\r\nb\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n[1]\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"nested\"\r\nContent-Type: application/json\r\n\r\n{\"k\":1}\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a%22%0D%0Ab.png\"\r\nContent-Type: image/png\r\n\r\n\0\u{fffd}\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"note\"; filename=\"note\"\r\nContent-Type: application/octet-stream\r\n\r\nplain\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"any\"; filename=\"any\"\r\nContent-Type: text/csv\r\n\r\n\r\n",
        "--B--\r\n",
    ];
    assert_eq!(body, expected.concat());
}

#[test]
fn multipart_names_what_is_no_file() {
    let kind = json!({ "multipart": { "files": ["f"] } });
    let cases = [
        (json!({ "f": { "base64": "*" } }), "`/__requestBody__/f/base64` is not base64"),
        (
            json!({ "f": [{ "base64": "", "content_type": "a/b\r\nX: y" }] }),
            "`/__requestBody__/f/0/content_type` is not a media type",
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(refusal("multipart/form-data", kind.clone(), value), expected);
    }
    assert!(refusal("multipart/form-data", kind, json!({ "f": {} })).contains("it is a file"));
}

#[test]
fn kin_of_form_data_have_no_field_names() {
    let request = request("multipart/mixed", json!({ "multipart": {} }), json!({ "a": { "x": 1 } })).unwrap();
    let boundary = header(&request).strip_prefix("multipart/mixed; boundary=").unwrap();
    let expected = format!("--{boundary}\r\nContent-Type: application/json\r\n\r\n{{\"x\":1}}\r\n--{boundary}--\r\n");
    assert_eq!(String::from_utf8(request.body.clone().unwrap()).unwrap(), expected);
}

#[test]
fn a_content_type_argument_cannot_take_the_boundary_away() {
    let operation = operation(json!({
        "parameters": [{ "argument": "ct", "name": "Content-Type", "location": "header",
                         "encoding": { "style": "simple", "explode": false } }],
        "body": { "content_type": "multipart/form-data", "kind": { "multipart": {} },
                  "arguments": { "whole": { "argument": "b" } } },
    }));
    let request = build(&operation, &arguments(json!({ "ct": "multipart/form-data", "b": { "x": "y" } }))).unwrap();
    assert_eq!(request.headers.len(), 1);
    assert!(header(&request).contains("; boundary=rote-"));
}

#[test]
fn text_is_sent_in_the_charset_that_is_named() {
    let bytes = |content_type: &str, text: &str| {
        let request = request(content_type, json!("text"), json!(text)).unwrap();
        (header(&request).to_owned(), request.body.unwrap())
    };
    assert_eq!(bytes("text/plain", "abc"), ("text/plain".to_owned(), b"abc".to_vec()));
    assert_eq!(bytes("text/plain", "\u{e9}"), ("text/plain; charset=utf-8".to_owned(), "\u{e9}".as_bytes().to_vec()));
    let latin = "text/plain; charset=ISO-8859-1";
    assert_eq!(bytes(latin, "\u{e9}"), (latin.to_owned(), vec![0xe9]));
    assert!(refusal(latin, json!("text"), json!("\u{20ac}")).contains("cannot express"));
    assert!(refusal("text/plain; charset=shift_jis", json!("text"), json!("x")).contains("`shift_jis`"));
}

#[test]
fn binary_is_text_or_base64_and_a_range_takes_the_given_type() {
    let cases = [
        ("application/octet-stream", json!("x"), "application/octet-stream", b"x".as_slice()),
        ("application/octet-stream", json!({ "base64": "AP8=" }), "application/octet-stream", &[0, 255]),
        ("image/*", json!({ "base64": "AA==", "content_type": "image/png" }), "image/png", &[0]),
        ("*/*", json!("x"), "application/octet-stream", b"x"),
    ];
    for (content_type, value, expected_type, expected) in cases {
        let request = request(content_type, json!("binary"), value).unwrap();
        assert_eq!((header(&request), request.body.as_deref().unwrap()), (expected_type, expected));
    }
    for value in [json!(1), json!({}), json!({ "base64": 1 }), json!([])] {
        assert!(refusal("image/png", json!("binary"), value).contains("it is sent as bytes"));
    }
    let injected = json!({ "base64": "", "content_type": "a/b\r\nX: y" });
    assert!(refusal("*/*", json!("binary"), injected).contains("not a media type"));
}

const PROLOG: &str = r#"<?xml version="1.0" encoding="UTF-8"?>"#;

#[test]
fn xml_follows_the_nodes() {
    let kind = json!({ "xml": { "root": {
        "name": "x:pet", "namespace": ["x", "urn:pets?a&b"],
        "children": [
            ["id", { "name": "identity", "attribute": true }],
            ["tags", { "name": "tags", "wrapped": true, "items": { "name": "tag" } }],
            ["urls", { "name": "url", "items": {} }],
        ],
    } } });
    let value = json!({
        "id": "a\"<b", "name": "<&>\r", "tags": ["1", "2"], "urls": ["u", { "k": 1 }], "empty": "", "none": null,
    });
    let expected = concat!(
        r#"<x:pet xmlns:x="urn:pets?a&amp;b" identity="a&quot;&lt;b"><name>&lt;&amp;&gt;&#13;</name>"#,
        "<tags><tag>1</tag><tag>2</tag></tags><url>u</url><url><k>1</k></url><empty></empty></x:pet>",
    );
    assert_eq!(body("application/xml", kind, value), format!("{PROLOG}{expected}"));
}

#[test]
fn an_xml_document_has_one_root() {
    let kind = json!({ "xml": { "root": { "name": "pets", "items": { "name": "pet" } } } });
    let expected = format!("{PROLOG}<pets><pet>1</pet><pet>2</pet></pets>");
    assert_eq!(body("application/xml", kind, json!([1, 2])), expected);
}

#[test]
fn xml_text_is_sent_as_it_is_and_no_argument_adds_markup() {
    let kind = json!({ "xml": { "root": { "name": "r" } } });
    assert_eq!(body("text/xml", kind.clone(), json!("<a/>")), "<a/>");
    assert_eq!(
        refusal("text/xml", kind.clone(), json!({ "a><b": 1 })),
        "`/__requestBody__/a><b` has the name `a><b`, which no XML element can have"
    );
    assert!(refusal("text/xml", kind, json!({ "a": "\u{0}" })).contains("XML cannot carry"));
}

proptest! {
    #[test]
    fn a_multipart_boundary_never_occurs_in_a_part(parts in prop::collection::vec("(--|rote-|[0-9a-f]|\r\n){0,40}", 0..4)) {
        let fields: Map<String, Value> =
            parts.iter().enumerate().map(|(index, part)| (index.to_string(), json!(part))).collect();
        let request = request("multipart/form-data", json!({ "multipart": {} }), Value::Object(fields)).unwrap();
        let (_, boundary) = header(&request).split_once("boundary=").unwrap();
        let text = String::from_utf8(request.body.clone().unwrap()).unwrap();
        prop_assert_eq!(text.matches(boundary).count(), parts.len() + 1);
        for part in &parts {
            let framed = format!("\r\n\r\n{part}\r\n--{boundary}");
            prop_assert!(text.contains(&framed));
        }
    }
}
