//! The loader: only a component of exactly the asked world is ever compiled or run.

use crate::support::{Fixture, PRELUDE, adapter, component, flow, foreign_component};
use rote_runtime::{LoadError, World, append_section, is_code_with_rote_sections};
use rote_types::{Classify, ErrorKind, sha256};

const EMPTY_BODY: &str = "";

fn query_world() -> Vec<u8> {
    component(
        "rote:query/query",
        &format!(r#"(module {PRELUDE} (func (export "run") (param i32 i32 i32 i32 i64) (result i32) unreachable))"#),
    )
}

#[test]
fn a_component_of_each_world_is_prepared() {
    let sandbox = Fixture::new().sandbox();
    for (world, bytes) in
        [(World::Adapter, adapter("", EMPTY_BODY)), (World::Flow, flow("", EMPTY_BODY)), (World::Query, query_world())]
    {
        let prepared = sandbox.prepare(world, &bytes).unwrap();
        assert_eq!(prepared.world(), world);
        assert_eq!(prepared.code_digest(), sha256(&bytes));
    }
}

#[test]
fn the_committed_templates_fit_their_worlds() {
    let sandbox = Fixture::new().sandbox();
    for (world, path) in [(World::Flow, "flows/_plan/plan.wasm"), (World::Query, "flows/_query/query.wasm")] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        sandbox.prepare(world, &std::fs::read(path).unwrap()).unwrap();
    }
}

/// What is refused, with the kind and a part of the text that must name the trouble.
fn refused(world: World, bytes: &[u8], kind: ErrorKind, text: &str) {
    let fixture = Fixture::new();
    let error = fixture.sandbox().prepare(world, bytes).expect_err(text);
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(text), "`{error}` does not say `{text}`");
    assert!(!fixture.home.cache_dir().join("components").exists(), "it was compiled");
}

#[test]
fn what_is_no_component_is_refused() {
    let module = wat::parse_str("(module)").unwrap();
    refused(World::Adapter, b"", ErrorKind::Conflict, "not a WebAssembly component: 0 bytes");
    refused(World::Adapter, b"<!doctype html>", ErrorKind::Conflict, "not a WebAssembly component");
    refused(World::Adapter, &module, ErrorKind::Conflict, "core WebAssembly module");
    refused(World::Adapter, &vec![0; (64 << 20) + 1], ErrorKind::Limit, "too large");
}

#[test]
fn a_component_of_another_world_is_refused_with_the_difference_named() {
    refused(World::Flow, &adapter("", EMPTY_BODY), ErrorKind::Denied, "exports `call`");
    refused(World::Adapter, &flow("", EMPTY_BODY), ErrorKind::Denied, "exports `run`");
    let tools = r#"(import "rote:host/tools@0.2.0" "start" (func (param i32 i32 i32 i32 i32 i32 i32)))"#;
    refused(World::Adapter, &flow(tools, EMPTY_BODY), ErrorKind::Denied, "imports `rote:host/tools@0.2.0`");
}

#[test]
fn imports_from_outside_the_world_are_refused_by_name() {
    let with_import = |package: &str, import: &str| {
        let wit = format!(
            "package test:guest; world guest {{ import {import}; export describe: func() -> string; }}
             package {package} {{ interface streams {{ go: func(); }} }}"
        );
        let core = format!(
            r#"(module (import "{import}" "go" (func)) {PRELUDE} (func (export "describe") (result i32) unreachable))"#
        );
        foreign_component(&wit, &core)
    };
    for (package, import) in [
        ("wasi:sockets@0.2.0", "wasi:sockets/streams@0.2.0"),
        ("wasi:filesystem@0.2.3", "wasi:filesystem/streams@0.2.3"),
        ("rote:host@0.2.0", "rote:host/streams@0.2.0"),
        ("rote:host@0.1.0", "rote:host/streams@0.1.0"),
    ] {
        let text = format!("imports `{import}`");
        refused(World::Adapter, &with_import(package, import), ErrorKind::Denied, &text);
    }
}

#[test]
fn an_import_of_another_version_says_so() {
    let wit = "package test:guest; world guest { import rote:host/log@0.1.0; export describe: func() -> string; }
               package rote:host@0.1.0 { interface log { go: func(); } }";
    let core = format!(
        r#"(module (import "rote:host/log@0.1.0" "go" (func)) {PRELUDE} (func (export "describe") (result i32) unreachable))"#
    );
    let component = foreign_component(wit, &core);
    refused(World::Adapter, &component, ErrorKind::Conflict, "made for another version of rote");
}

#[test]
fn a_function_import_of_an_allowed_name_is_refused() {
    let wit = "package test:guest; world guest { import http: func(); export describe: func() -> string; }";
    let core = format!(
        r#"(module (import "$root" "http" (func)) {PRELUDE} (func (export "describe") (result i32) unreachable))"#
    );
    refused(World::Adapter, &foreign_component(wit, &core), ErrorKind::Denied, "imports `http`");
}

#[test]
fn extra_and_missing_exports_are_refused_by_name() {
    let guest = |exports: &str, functions: &str| {
        let wit = format!("package test:guest; world guest {{ {exports} }}");
        foreign_component(&wit, &format!("(module {PRELUDE} {functions})"))
    };
    let describe = r#"(func (export "describe") (result i32) unreachable)"#;
    let call = r#"(func (export "call") (param i32 i32 i32 i32) (result i32) unreachable)"#;
    let extra = guest(
        "export describe: func() -> string; export call: func(tool: string, arguments: string) -> string; export init: func();",
        &format!(r#"{describe} {call} (func (export "init"))"#),
    );
    refused(World::Adapter, &extra, ErrorKind::Denied, "exports `init`");
    let missing = guest("export describe: func() -> string;", describe);
    refused(World::Adapter, &missing, ErrorKind::Conflict, "does not export `call`");
}

#[test]
fn a_function_of_the_right_name_and_the_wrong_type_is_refused() {
    let wit = "package test:guest; world guest {
        export describe: func() -> string; export call: func(tool: string, arguments: string) -> string; }";
    let core = format!(
        r#"(module {PRELUDE} (func (export "describe") (result i32) unreachable)
            (func (export "call") (param i32 i32 i32 i32) (result i32) unreachable))"#
    );
    let bytes = foreign_component(wit, &core);
    let error = Fixture::new().sandbox().prepare(World::Adapter, &bytes).unwrap_err();
    assert!(matches!(error, LoadError::WrongType { .. }), "{error}");
    assert!(error.to_string().contains("`call`"), "{error}");
}

#[test]
fn bytes_other_than_the_pinned_ones_are_refused_before_anything_else() {
    let fixture = Fixture::new();
    let bytes = adapter("", EMPTY_BODY);
    let mut swapped = bytes.clone();
    append_section(&mut swapped, "producers", b"x").unwrap();
    let error = fixture.sandbox().prepare_pinned(World::Adapter, &swapped, sha256(&bytes)).unwrap_err();
    assert!(matches!(error, LoadError::Digest { .. }) && error.kind() == ErrorKind::Denied, "{error}");
    fixture.sandbox().prepare_pinned(World::Adapter, &bytes, sha256(&bytes)).unwrap();
}

#[test]
fn every_truncation_is_refused() {
    let sandbox = Fixture::new().sandbox();
    let bytes = adapter("", EMPTY_BODY);
    let accepted = (0..bytes.len()).filter(|length| sandbox.prepare(World::Adapter, &bytes[..*length]).is_ok());
    // Names and producers follow the code as sections of their own; a cut between them leaves a whole component.
    assert!(accepted.count() <= 3);
}

#[test]
fn flipped_bits_are_refused_or_still_a_whole_component() {
    let sandbox = Fixture::new().sandbox();
    let bytes = adapter("", EMPTY_BODY);
    for position in (0..bytes.len()).step_by(7) {
        let mut flipped = bytes.clone();
        flipped[position] ^= 1 << (position % 8);
        // No panic and a typed error; a flip inside a name or a constant may leave a valid component.
        let _ = sandbox.prepare(World::Adapter, &flipped);
    }
}

#[test]
fn too_many_of_anything_is_refused_before_it_is_compiled() {
    let functions = "(func)".repeat(60_000);
    let many = component(
        "rote:query/query",
        &format!(
            r#"(module {PRELUDE} {functions} (func (export "run") (param i32 i32 i32 i32 i64) (result i32) unreachable))"#
        ),
    );
    refused(World::Query, &many, ErrorKind::Limit, "functions, at most 50000");
    let body = "(drop (i32.const 1))".repeat(400_000);
    let large = component(
        "rote:query/query",
        &format!(
            r#"(module {PRELUDE} (func (export "run") (param i32 i32 i32 i32 i64) (result i32) {body} unreachable))"#
        ),
    );
    refused(World::Query, &large, ErrorKind::Limit, "bytes in one function");
}

#[test]
fn functions_that_cost_too_much_to_compile_are_refused_unseen() {
    // Under the bound on the bytes of a function, with more locals than a register allocator ends with.
    let updates = "(local.set 10 (i64.add (local.get 12) (local.get 399)))".repeat(100_000);
    let locals = "i64 ".repeat(400);
    let body = format!("(local {locals}) {updates}");
    let large = component(
        "rote:query/query",
        &format!(
            r#"(module {PRELUDE} (func (export "run") (param i32 i32 i32 i32 i64) (result i32) {body} unreachable))"#
        ),
    );
    let started = std::time::Instant::now();
    refused(World::Query, &large, ErrorKind::Limit, "locals times bytes of one function");
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "it was not refused unseen");
}

#[test]
fn nested_components_are_bounded_in_depth() {
    let mut text = "(component".to_owned();
    text.push_str(&" (component".repeat(60));
    text.push_str(&")".repeat(61));
    let mut bytes = wat::parse_str(&text).unwrap();
    // The exact-world check comes first, and it does not descend.
    let error = Fixture::new().sandbox().prepare(World::Adapter, &bytes).unwrap_err();
    assert!(matches!(error, LoadError::MissingExport { .. }), "{error}");
    bytes.extend_from_slice(&[0xff; 16]);
    assert!(Fixture::new().sandbox().prepare(World::Adapter, &bytes).is_err());
}

#[test]
fn flows_that_differ_only_in_their_payload_share_their_code() {
    let fixture = Fixture::new();
    let sandbox = fixture.sandbox();
    let code = flow("", EMPTY_BODY);
    let mut digests = Vec::new();
    for payload in [&b"one"[..], b"two"] {
        let mut bytes = code.clone();
        append_section(&mut bytes, "rote:payload", payload).unwrap();
        digests.push(sandbox.prepare(World::Flow, &bytes).unwrap().code_digest());
    }
    assert_eq!(digests, [sha256(&code), sha256(&code)]);
    assert_eq!(std::fs::read_dir(fixture.home.cache_dir().join("components")).unwrap().count(), 1);
}

#[test]
fn a_component_is_its_code_only_with_nothing_else_behind() {
    let code = flow("", EMPTY_BODY);
    let same = |component: &[u8]| is_code_with_rote_sections(component, &code).unwrap();
    let mut packaged = code.clone();
    append_section(&mut packaged, "rote:payload", b"one").unwrap();
    assert!(same(&code) && same(&packaged));
    append_section(&mut packaged, "name", b"").unwrap();
    assert!(!same(&packaged), "a section of another name is code");
    let mut before = b"\0asm\x0d\0\x01\0".to_vec();
    append_section(&mut before, "rote:payload", b"one").unwrap();
    assert!(!same(&[&before[..], &code[8..]].concat()) && !same(&adapter("", EMPTY_BODY)));
}

#[test]
fn forged_code_in_the_cache_is_never_run() {
    let fixture = Fixture::new();
    let bytes = adapter("", EMPTY_BODY);
    fixture.sandbox().prepare(World::Adapter, &bytes).unwrap();
    let entry = std::fs::read_dir(fixture.home.cache_dir().join("components")).unwrap().next().unwrap().unwrap().path();
    let genuine = std::fs::read(&entry).unwrap();
    for position in [0, 31, 32, 40, genuine.len() / 2, genuine.len() - 1] {
        let mut forged = genuine.clone();
        forged[position] ^= 0x80;
        std::fs::write(&entry, &forged).unwrap();
        fixture.sandbox().prepare(World::Adapter, &bytes).unwrap();
        assert_eq!(std::fs::read(&entry).unwrap()[..32], genuine[..32], "it was not compiled again");
    }
}

#[test]
fn a_cache_that_cannot_be_written_only_costs_time() {
    let fixture = Fixture::new();
    // A file where the directory belongs: nobody, not even root, can write entries below it.
    std::fs::create_dir_all(fixture.home.cache_dir()).unwrap();
    std::fs::write(fixture.home.cache_dir().join("components"), b"").unwrap();
    let bytes = adapter("", EMPTY_BODY);
    for _ in 0..2 {
        fixture.sandbox().prepare(World::Adapter, &bytes).unwrap();
    }
}

#[tokio::test]
async fn the_executor_goes_on_while_a_component_is_made_ready() {
    let runtime = Fixture::new().runtime();
    let (go, wait) = std::sync::mpsc::channel();
    let load = runtime.prepare(move |sandbox| {
        wait.recv().unwrap();
        sandbox.prepare(World::Flow, &flow("", EMPTY_BODY)).unwrap().world()
    });
    let (world, ()) = tokio::join!(load, async { go.send(()).unwrap() });
    assert_eq!(world, World::Flow);
}
