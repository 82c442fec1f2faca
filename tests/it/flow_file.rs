//! Files that are given to `rote run` and are no flow, or not the flow that was made.
//!
//! Whoever rewrites a flow can write a new digest too, so what comes after the digest has to hold by itself.

use expect_test::{Expect, expect};
use rote_cli::demo::TrackerServer;
use rote_runtime::{FRONTMATTER_SECTION, PAYLOAD_SECTION, append_section, custom_section, strip_rote_sections};
use rote_testkit::TestHome;
use rote_types::sha256;
use wasm_encoder::{ComponentExportKind, ComponentExportSection, ComponentSection};

use crate::flow::crystallized;

/// Returns a home with the flow `greet`, and the bytes of its file.
fn flow() -> (TestHome, TrackerServer, Vec<u8>) {
    let (home, server) = crystallized();
    let mut bytes = Vec::new();
    let file = std::fs::File::open(home.home().join("flows/greet/flow.wasm"));
    std::io::Read::read_to_end(&mut file.unwrap(), &mut bytes).unwrap();
    (home, server, bytes)
}

/// Gives other code what the flow says of itself, and a digest that fits.
fn forged(flow: &[u8], mut code: Vec<u8>) -> Vec<u8> {
    for name in [FRONTMATTER_SECTION, PAYLOAD_SECTION] {
        append_section(&mut code, name, custom_section(flow, name).unwrap().unwrap()).unwrap();
    }
    let digest = sha256(&code).to_string();
    append_section(&mut code, "rote:digest", digest.as_bytes()).unwrap();
    code
}

/// Runs a file of these bytes, which sends nothing.
fn check(home: &TestHome, server: &TrackerServer, bytes: &[u8], expected: &Expect) {
    home.file("x.wasm", bytes);
    let before = server.requests().len();
    let run = home.rote(&["run", "./x.wasm", "project=beacon"]);
    assert!(!run.stderr.contains("panicked"), "{run}");
    assert_eq!(server.requests().len(), before);
    expected.assert_eq(&(home.normaliser().apply(&run.to_string()) + "\n"));
}

#[test]
fn a_forged_file_that_changes_nothing_runs() {
    let (home, _server, flow) = flow();
    let same = forged(&flow, strip_rote_sections(&flow).unwrap());
    assert_eq!(same, flow);
    home.file("x.wasm", same);
    assert_eq!(home.rote(&["run", "./x.wasm", "project=beacon"]).code, 0);
}

#[test]
fn a_flipped_byte_is_named_with_its_file() {
    let (home, server, mut flow) = flow();
    let middle = flow.len() / 2;
    flow[middle] ^= 0x20;
    check(
        &home,
        &server,
        &flow,
        &expect![[r#"
        $ rote run ./x.wasm project=beacon
        --- stderr
        error: cannot use flow file `[DIR]/work/x.wasm`
          caused by: the flow file was changed after it was made: its digest does not match its contents

        hint: rote flow template create --workspace <workspace> --name <name>
        --- exit 10
    "#]],
    );
}

#[test]
fn an_extra_export_is_refused() {
    let (home, server, flow) = flow();
    let mut code = strip_rote_sections(&flow).unwrap();
    let mut exports = ComponentExportSection::new();
    exports.export("extra", ComponentExportKind::Instance, 0, None);
    exports.append_to_component(&mut code);
    check(
        &home,
        &server,
        &forged(&flow, code),
        &expect![[r#"
        $ rote run ./x.wasm project=beacon
        --- stderr
        error: cannot use flow file `[DIR]/work/x.wasm`
          caused by: component exports `extra`, which is not part of world `rote:flow/flow@0.1.0`

        hint: rote flow template create --workspace <workspace> --name <name>
        --- exit 6
    "#]],
    );
}

#[test]
fn an_unknown_import_is_refused() {
    let (home, server, flow) = flow();
    let code = wat::parse_str(r#"(component (import "wasi:sockets/tcp@0.2.0" (instance)))"#).unwrap();
    check(
        &home,
        &server,
        &forged(&flow, code),
        &expect![[r#"
            $ rote run ./x.wasm project=beacon
            --- stderr
            error: cannot use flow file `[DIR]/work/x.wasm`
              caused by: component imports `wasi:sockets/tcp@0.2.0`, which world `rote:flow/flow@0.1.0` does not offer

            hint: leave it out: componentize-py --stub-wasi, componentize-js disableFeatures: ["http", "fetch-event"]; a flow reaches the network through tools
            --- exit 6
        "#]],
    );
}

#[test]
fn a_core_module_is_refused() {
    let (home, server, flow) = flow();
    check(
        &home,
        &server,
        b"\0asm\x01\0\0\0",
        &expect![[r#"
        $ rote run ./x.wasm project=beacon
        --- stderr
        error: cannot use flow file `[DIR]/work/x.wasm`
          caused by: a core WebAssembly module, not a component

        hint: rote flow template create --workspace <workspace> --name <name>
        --- exit 10
    "#]],
    );
    let module = wat::parse_str("(module)").unwrap();
    check(
        &home,
        &server,
        &forged(&flow, module),
        &expect![[r#"
        $ rote run ./x.wasm project=beacon
        --- stderr
        error: cannot use flow file `[DIR]/work/x.wasm`
          caused by: a core WebAssembly module, not a component

        hint: rote flow template create --workspace <workspace> --name <name>
        --- exit 10
    "#]],
    );
}

#[test]
fn a_text_file_is_refused() {
    let (home, server, _) = flow();
    check(
        &home,
        &server,
        b"#!/bin/sh\necho hello\n",
        &expect![[r#"
        $ rote run ./x.wasm project=beacon
        --- stderr
        error: cannot use flow file `[DIR]/work/x.wasm`
          caused by: not a WebAssembly component: 21 bytes without its header

        hint: rote flow template create --workspace <workspace> --name <name>
        --- exit 10
    "#]],
    );
}

#[test]
fn an_empty_file_is_refused() {
    let (home, server, _) = flow();
    check(
        &home,
        &server,
        b"",
        &expect![[r#"
        $ rote run ./x.wasm project=beacon
        --- stderr
        error: cannot use flow file `[DIR]/work/x.wasm`
          caused by: not a WebAssembly component: 0 bytes without its header

        hint: rote flow template create --workspace <workspace> --name <name>
        --- exit 10
    "#]],
    );
}
