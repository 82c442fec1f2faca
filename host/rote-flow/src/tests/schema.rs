//! The published JSON Schema of the frontmatter: what it takes is what the code reads, field by field.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rote_types::{Fingerprint, Method, ToolDigest, sha256};
use serde_json::{Value, json};

use super::support::Fixture;
use crate::validate::frontmatter_problem;
use crate::{
    AdapterPin, Baseline, CredentialSlot, FRONTMATTER_SCHEMA, FlowKind, FlowPin, FlowReference, FlowStatus, Form,
    Frontmatter, OpenQuestion, OutputContract, Provenance, ToolPin, WriteMode, WritePermission,
};

/// A frontmatter with everything that one can have. A new field does not compile until it is here.
fn full() -> Frontmatter {
    let tool = ToolPin {
        digest: ToolDigest::of(sha256(b"tool")),
        method: Method::Get,
        path: "/orders".to_owned(),
        access: Some(rote_types::Access::Destroy),
        below: Some(BTreeSet::from(["https://shop.example/v2".to_owned()])),
    };
    let adapter = AdapterPin {
        fingerprint: Fingerprint::of(sha256(b"shop")),
        tools: BTreeMap::from([("orders_list".to_owned(), tool)]),
        server: "Shop 1.0".to_owned(),
        origin: Some("https://shop.example/openapi.json".to_owned()),
        goes_to: Some(BTreeSet::from(["https://shop.example".to_owned()])),
    };
    let shop = || "shop".parse().unwrap();
    Frontmatter {
        schema: 1,
        name: "full".parse().unwrap(),
        description: "Has everything that a frontmatter can have".to_owned(),
        version: "0.1.0".to_owned(),
        status: FlowStatus::Released,
        kind: FlowKind::Composite,
        form: Form::Component,
        parameters: json!({"type": "object", "properties": {}}),
        adapters: BTreeMap::from([(shop(), adapter)]),
        credentials: vec![CredentialSlot { adapter: shop(), slot: "key".to_owned(), token_env: "SHOP_KEY".to_owned() }],
        write_permissions: vec![WritePermission { adapter: shop(), tool: "a".to_owned(), mode: WriteMode::Confirm }],
        output: OutputContract { format: "json".to_owned(), schema: Value::Null },
        baseline: Baseline { calls: 1, duration_ms: 2, tokens: 3 },
        provenance: Provenance {
            workspace: Some("work".parse().unwrap()),
            commands: vec![1],
            created_at: Some(Timestamp::UNIX_EPOCH),
            rote_version: "0.1.0".to_owned(),
            model: Some("model".to_owned()),
            forked_from: Some("other@0.1.0".to_owned()),
        },
        tags: vec!["orders".to_owned()],
        flows: BTreeMap::from([(
            "other".parse().unwrap(),
            FlowPin { version: "0.1.0".to_owned(), sha256: sha256(b"other") },
        )]),
        questions: vec![OpenQuestion {
            id: "source:s5/issue_id".to_owned(),
            ask: "Where is it from?".to_owned(),
            writes: true,
        }],
    }
}

/// The objects of a full frontmatter whose keys are fixed, by pointer.
const OBJECTS: [&str; 10] = [
    "",
    "/adapters/shop",
    "/adapters/shop/tools/orders_list",
    "/credentials/0",
    "/write_permissions/0",
    "/output",
    "/baseline",
    "/provenance",
    "/flows/other",
    "/questions/0",
];

#[test]
fn every_field_is_in_the_schema_and_required_exactly_when_the_reader_requires_it() {
    let whole = serde_json::to_value(full()).unwrap();
    assert_eq!(frontmatter_problem(&whole), None);
    for pointer in OBJECTS {
        let keys: Vec<String> = whole.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut without = whole.clone();
            without.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(&key);
            let reads = Frontmatter::parse(without.to_string().as_bytes()).is_ok();
            assert_eq!(frontmatter_problem(&without).is_none(), reads, "`{pointer}` without `{key}`");
        }
        let mut more = whole.clone();
        more.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert("unknown".to_owned(), json!(1));
        assert!(frontmatter_problem(&more).is_some(), "`{pointer}` takes an unknown key");
    }
}

#[test]
fn every_property_of_the_schema_is_a_field() {
    let schema: Value = serde_json::from_str(FRONTMATTER_SCHEMA).unwrap();
    let whole = serde_json::to_value(full()).unwrap();
    let definitions = [
        "",
        "adapterPin",
        "toolPin",
        "credentialSlot",
        "writePermission",
        "outputContract",
        "baseline",
        "provenance",
        "flowPin",
        "openQuestion",
    ];
    for (pointer, definition) in OBJECTS.iter().zip(definitions) {
        let at = if definition.is_empty() { &schema } else { &schema["$defs"][definition] };
        let object = whole.pointer(pointer).unwrap().as_object().unwrap();
        let properties = at["properties"].as_object().unwrap();
        let unknown: Vec<&String> = properties.keys().filter(|key| !object.contains_key(*key)).collect();
        assert!(unknown.is_empty(), "{definition}: {unknown:?}");
    }
}

#[test]
fn every_allowed_word_is_in_the_schema() {
    let whole = serde_json::to_value(full()).unwrap();
    let words = [
        ("/status", json!(["draft", "released"])),
        ("/kind", json!(["atomic", "composite"])),
        ("/form", json!(["plan", "script", "component"])),
        ("/write_permissions/0/mode", json!(["allow", "audit", "confirm"])),
        ("/adapters/shop/tools/orders_list/access", json!(["read", "write", "destroy"])),
        (
            "/adapters/shop/tools/orders_list/method",
            json!(["GET", "HEAD", "OPTIONS", "TRACE", "POST", "PATCH", "PUT", "DELETE", "MCP"]),
        ),
    ];
    for (pointer, words) in words {
        for word in words.as_array().unwrap().iter().chain([&json!("nothing")]) {
            let mut changed = whole.clone();
            *changed.pointer_mut(pointer).unwrap() = word.clone();
            let reads = Frontmatter::parse(changed.to_string().as_bytes()).is_ok();
            assert_eq!(frontmatter_problem(&changed).is_none(), reads, "{pointer}: {word}");
        }
    }
}

#[tokio::test]
async fn what_crystallize_writes_fits_the_schema() {
    let fixture = Fixture::new();
    fixture.set("owner", json!("octocat"));
    assert!(fixture.call("orders_list", json!({"owner": "$owner"})).await);
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    fixture.crystallize(&[]).await.unwrap();
    let (_, package) = fixture.flows.library.load(&FlowReference::parse("report").unwrap()).unwrap();
    let value = serde_json::to_value(&package.frontmatter).unwrap();
    assert_eq!(frontmatter_problem(&value), None);
    let nothing = serde_json::to_value(super::package::package().frontmatter).unwrap();
    assert_eq!(frontmatter_problem(&nothing), None);
}

#[test]
fn the_headers_of_all_examples_can_be_read() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for path in [
        "guest-sdk/rust/examples-flows/hello/flow.yaml",
        "guest-sdk/rust/examples-flows/report/flow.yaml",
        "tests/fixtures/wasi/flow.yaml",
        "tests/fixtures/conformance/rust/flow.yaml",
    ] {
        let bytes = rote_home::read_capped(&root.join(path), 1 << 20).unwrap();
        let header = crate::SourceHeader::parse(std::str::from_utf8(&bytes).unwrap(), path, 1);
        assert!(header.is_ok(), "{path}: {header:?}");
    }
}

#[test]
fn a_required_parameter_is_never_made_optional_by_its_spelling() {
    let read = |parameters: &str| {
        let yaml = format!(
            "name: f\ndescription: F\nparameters:\n  properties: {{count: {{type: integer}}, n: {{type: string}}}}\n{parameters}"
        );
        crate::SourceHeader::parse(&yaml, "main.ts", 1).map_err(|error| error.to_string())
    };
    let required = |parameters| read(parameters).map(|header| header.parameters["required"].clone());
    assert_eq!(required("  required: [n, count]\n"), Ok(serde_json::json!(["n", "count"])));
    let place = "`parameters` of main.ts: ";
    for (parameters, problem) in [
        ("  required: [num]\n", "`required` names \"num\", which `properties` does not declare"),
        ("  required: [1]\n", "`required` names 1, which `properties` does not declare"),
        ("  required: n\n", "`required` is not a list of names: \"n\""),
        ("  requird: [n]\n", "the schema has the unknown key `requird` (did you mean `required`?)"),
    ] {
        assert_eq!(required(parameters), Err(format!("{place}{problem}")), "{parameters}");
    }
    let wrong = "name: f\ndescription: F\nparameters: {properties: {count: {type: integr}}}\n";
    assert!(crate::SourceHeader::parse(wrong, "main.ts", 1).is_err());
}
