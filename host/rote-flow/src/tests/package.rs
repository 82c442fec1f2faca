//! One file that checks itself.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rote_plan::{Expression, Plan};
use rote_types::{Classify, ErrorKind};
use serde_json::{Value, json};

use crate::error::PackageError;
use crate::{
    Baseline, DIGEST_SECTION, FlowError, FlowKind, FlowStatus, Form, Frontmatter, OutputContract, Package, Provenance,
};

pub(crate) fn package() -> Package {
    let plan = Plan {
        version: 1,
        parameters: BTreeMap::new(),
        steps: Vec::new(),
        result: Expression::Literal(json!({"ok": true})),
    };
    Package::of_plan(frontmatter(), plan).unwrap()
}

fn frontmatter() -> Frontmatter {
    Frontmatter {
        schema: 1,
        name: "nothing".parse().unwrap(),
        description: "Does nothing".to_owned(),
        version: "0.1.0".to_owned(),
        status: FlowStatus::Draft,
        kind: FlowKind::Atomic,
        form: Form::Plan,
        parameters: json!({"type": "object", "properties": {}, "required": []}),
        adapters: BTreeMap::new(),
        credentials: Vec::new(),
        write_permissions: Vec::new(),
        output: OutputContract { format: "json".to_owned(), schema: Value::Null },
        baseline: Baseline::default(),
        provenance: Provenance {
            workspace: Some("work".parse().unwrap()),
            commands: vec![1],
            created_at: Some(Timestamp::UNIX_EPOCH),
            rote_version: "0.1.0".to_owned(),
            model: None,
            forked_from: None,
        },
        tags: Vec::new(),
        flows: BTreeMap::new(),
        questions: Vec::new(),
    }
}

#[test]
fn a_package_round_trips_and_the_same_input_makes_the_same_bytes() {
    let made = package();
    assert_eq!(made.bytes(), package().bytes());
    let read = Package::read(made.bytes().to_vec()).unwrap();
    assert_eq!(read, made);
    assert_eq!(Some(&Plan::parse(read.payload().unwrap()).unwrap()), read.plan());
}

#[test]
fn a_flipped_byte_is_noticed_wherever_it_is() {
    let bytes = package().bytes().to_vec();
    let sections = bytes.len() - 1_200;
    // Every byte of the sections, and a sample of the code, which is larger.
    for position in (0..sections).step_by(997).chain(sections..bytes.len()) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << (position % 8);
        let error = Package::read(damaged).expect_err(&format!("byte {position} of {}", bytes.len()));
        assert_eq!(error.kind(), ErrorKind::Conflict, "{position}: {error}");
    }
}

#[test]
fn every_cut_and_every_addition_is_noticed() {
    let bytes = package().bytes().to_vec();
    for length in (0..bytes.len()).rev().take(1_500).chain([0, 4, 8]) {
        assert!(Package::read(bytes[..length].to_vec()).is_err(), "{length}");
    }
    let mut longer = bytes.clone();
    rote_runtime::append_section(&mut longer, "rote:extra", b"x").unwrap();
    assert!(matches!(Package::read(longer), Err(FlowError::Package(PackageError::Tampered))));
    let mut twice = bytes.clone();
    let tail =
        bytes.len() - bytes.windows(DIGEST_SECTION.len()).rposition(|part| part == DIGEST_SECTION.as_bytes()).unwrap();
    twice.extend_from_slice(&bytes[bytes.len() - tail - 3..]);
    assert!(Package::read(twice).is_err());
}

#[test]
fn what_was_never_a_flow_is_named_as_that() {
    let template = rote_runtime::strip_rote_sections(package().bytes()).unwrap();
    let error = Package::read(template).unwrap_err();
    assert_eq!(error.to_string(), "the file is not a flow: it has no section `rote:frontmatter`");
    let error = Package::read(b"<!doctype html><title>404</title>".to_vec()).unwrap_err();
    assert!(error.to_string().starts_with("not a WebAssembly component"), "{error}");
}

#[test]
fn an_unknown_key_or_another_schema_of_the_frontmatter_is_refused() {
    let mut value = serde_json::to_value(frontmatter()).unwrap();
    value["sandbox"] = json!("strict");
    assert!(
        Frontmatter::parse(value.to_string().as_bytes()).unwrap_err().to_string().contains("unknown field `sandbox`")
    );
    value["schema"] = json!(2);
    assert!(Frontmatter::parse(value.to_string().as_bytes()).unwrap_err().to_string().contains("it has schema 2"));
}
