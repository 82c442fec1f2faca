//! Bad input: each with a clear error, the right exit code, and nothing lost.

use rote_testkit::{FakeApi, Run, Script, TestHome};
use serde_json::{Value, json};

use crate::{home, tracker};

/// Every failure reads the same way and says what to do or why.
fn assert_fails(run: &Run, codes: &[i32]) {
    assert!(codes.contains(&run.code), "expected one of {codes:?}: {run}");
    assert!(run.stderr.starts_with("error: "), "{run}");
    assert!(!run.stderr.contains("panicked"), "{run}");
}

fn install(home: &TestHome, content: &[u8]) -> Run {
    home.file("spec.yaml", content);
    home.rote(&["adapter", "new", "bad", "spec.yaml"])
}

#[test]
fn descriptions_that_are_none_are_refused() {
    let home = home();
    let deep = format!("{{\"openapi\":\"3.1.0\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let bomb = (0..30).fold("openapi: 3.1.0\na0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, at| {
        let previous = format!("*a{at},").repeat(9);
        format!("{text}a{}: &a{} [{}]\n", at + 1, at + 1, previous.trim_end_matches(','))
    });
    for (what, content) in [
        ("nothing", ""),
        ("a truncated document", "{\"openapi\": \"3.1.0\", \"paths\": {"),
        ("a web page", "<!DOCTYPE html><html><body>Sign in</body></html>"),
        ("deep nesting", deep.as_str()),
        ("an alias bomb", bomb.as_str()),
        ("another document", "{\"swagger\": \"1.2\", \"apis\": []}"),
        ("a list", "[]"),
    ] {
        let run = install(&home, content.as_bytes());
        assert!(
            run.code != 0 && run.stderr.starts_with("error: ") && !run.stderr.contains("panicked"),
            "{what}: {run}"
        );
    }
    assert_fails(&install(&home, &[0xff, 0xfe, 0x00, 0x01]), &[1, 2, 9, 10]);
    assert_fails(&home.rote(&["adapter", "new", "bad", "no-such-file.yaml"]), &[3]);
    assert_fails(&home.rote(&["adapter", "new", "../up", "spec.yaml"]), &[2]);
    assert_fails(&home.rote(&["adapter", "new", "bad", "ftp://example.com/openapi.yaml"]), &[2, 3]);
    assert_fails(&home.rote(&["adapter", "new", "bad", "http://169.254.169.254/openapi.yaml"]), &[6]);
    assert_eq!(home.data(&["adapter", "list"])["adapters"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_description_reads_no_file_outside_its_directory() {
    let home = home();
    let operation = |reference: &str| {
        json!({ "get": {
            "operationId": "x", "parameters": [{ "$ref": reference }], "responses": { "200": { "description": "ok" } },
        } })
    };
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "T", "version": "1" }, "servers": [{ "url": "https://api.example" }],
        "paths": {
            "/a": operation("/etc/passwd"), "/b": operation("file:///etc/passwd"), "/c": operation("../../../etc/passwd"),
            "/d": operation("http://169.254.169.254/latest/meta-data"), "/e": operation("#/components/parameters/self"),
        },
        "components": { "parameters": { "self": { "$ref": "#/components/parameters/self" } } },
    });
    let run = install(&home, document.to_string().as_bytes());
    assert!(!run.to_string().contains("root:"), "{run}");
    let data = home.data(&["adapter", "new", "bad", "spec.yaml", "--yes"]);
    let operations = &data["operations"];
    assert_eq!(operations["total"], 5);
    assert_eq!(operations["generated"], 0, "{data}");
    for name in ["spec.json", "tools.json"] {
        assert!(!home.read(&format!("adapters/bad/{name}")).contains("root:"), "{name}");
    }
}

#[test]
fn sandboxes_that_do_not_fit_the_process_are_a_limit_and_their_number_is_a_number() {
    let (home, _server) = crate::flow::crystallized();
    let run = |count: &str| home.invocation(&["run", "greet", "project=beacon"]).env("ROTE_INSTANCES", count).run();
    // The flow is one, and the adapter that it calls is another.
    let one = run("1");
    assert!(one.code == 9 && one.stderr.contains("the instances that fit this process"), "{one}");
    assert_eq!(run("8").code, 0);
    for wrong in ["many", "0", "10001"] {
        let refused = run(wrong);
        assert!(refused.code == 2 && refused.stderr.contains("ROTE_INSTANCES"), "{refused}");
    }
}

/// Installs an adapter with one GET on a fake API and a workspace, and calls it.
fn call(script: impl Fn() -> Script + Send + Sync + 'static) -> (TestHome, FakeApi, Run) {
    let (home, api) = (home(), FakeApi::start(move |_| script()));
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Fake", "version": "1" },
        "components": { "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } } },
        "security": [{ "key": [] }],
        "paths": { "/x": { "get": { "operationId": "x", "responses": { "200": { "description": "ok" } } } } },
    });
    home.file("fake.json", document.to_string());
    let made = home.data(&["adapter", "new", "fake", "fake.json", "--base-url", &api.url()]);
    let name = made["auth"]["token_env"].as_str().unwrap_or_default().to_owned();
    let set = home.invocation(&["token", "set", &name, "--stdin", "--yes"]).input("s3cret-value-of-the-test").run();
    assert_eq!(set.code, 0, "{set}");
    assert_eq!(home.rote(&["init", "w"]).code, 0);
    let run = home.rote(&["call", "fake", "x"]);
    (home, api, run)
}

fn first(home: &TestHome) -> Value {
    home.data(&["ls"])["responses"][0].clone()
}

#[test]
fn a_server_that_is_down_or_hangs_up_is_an_upstream_error_on_record() {
    let (home, _api, run) = call(|| Script::Close);
    assert_fails(&run, &[8]);
    assert_eq!(first(&home)["state"], "error");
    let (home, api, _) = call(|| Script::Json(200, json!({})));
    drop(api);
    let run = home.rote(&["call", "fake", "x"]);
    assert_fails(&run, &[8]);
    assert!(run.stderr.contains("hint: check the address: rote adapter info fake"), "{run}");
}

#[test]
fn a_server_that_talks_garbage_is_an_upstream_error() {
    let (_home, _api, run) = call(|| Script::Raw(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()));
    assert_fails(&run, &[8]);
    let (home, _api, run) = call(|| {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Script::Answer(200, headers, b"{\"a\": ".to_vec())
    });
    assert_fails(&run, &[8]);
    assert_eq!(home.rote(&["@1", "--body"]).stdout, "{\"a\": \n");
    assert_ne!(home.rote(&["@1", ".a"]).code, 0);
}

#[test]
fn an_answer_without_end_is_cut_off_at_the_bound() {
    let (home, _api, run) = call(|| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1073741824\r\n\r\n".to_vec();
        Script::Endless(head, vec![b' '; 1 << 16], 1 << 30)
    });
    assert!(run.code == 8 || run.code == 9, "{run}");
    assert_eq!(first(&home)["state"], "error");
}

#[test]
fn a_gzip_bomb_is_cut_off_at_the_bound() {
    let (home, _api, run) = call(|| {
        let head =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n"
                .to_vec();
        // One gzip member of a million zeros, again and again: RFC 1952 lets members follow each other.
        Script::Endless(head, ZEROS.to_vec(), 16 << 20)
    });
    assert!(run.code == 8 || run.code == 9, "{run}");
    assert_eq!(first(&home)["state"], "error");
}

#[test]
fn a_redirect_to_a_private_address_is_not_followed() {
    let (home, api, run) = call(|| {
        Script::Answer(
            302,
            vec![("location".to_owned(), "http://169.254.169.254/latest/meta-data".to_owned())],
            Vec::new(),
        )
    });
    assert_fails(&run, &[6, 8]);
    assert_eq!(api.received().len(), 1);
    assert_eq!(first(&home)["status"], 302);
}

#[test]
fn a_credential_that_comes_back_is_taken_out_everywhere() {
    const SECRET: &str = "s3cret-value-of-the-test";
    // The same in base64 and percent-encoded, as an API may put it into a body or a header.
    const BASE64: &str = "czNjcmV0LXZhbHVlLW9mLXRoZS10ZXN0";
    let (home, api, run) = call(|| {
        let headers =
            vec![("x-echo".to_owned(), SECRET.to_owned()), ("content-type".to_owned(), "text/plain".to_owned())];
        Script::Answer(200, headers, format!("{SECRET} {BASE64} s3cret%2Dvalue%2Dof%2Dthe%2Dtest").into_bytes())
    });
    assert_eq!(run.code, 0, "{run}");
    assert!(api.received()[0].header("authorization").is_some_and(|value| value.ends_with(SECRET)));
    let shown = format!("{run}{}{}", home.rote(&["@1", "--body"]), home.rote(&["@1", "--json"]));
    for form in [SECRET, BASE64, "s3cret%2Dvalue"] {
        assert!(!shown.contains(form), "{form}: {shown}");
    }
}

#[test]
fn programs_that_do_not_end_are_stopped() {
    let home = home();
    for program in
        ["def f: f; f", "[limit(1e18; repeat(1))] | length", "[range(1e9)] | length", "\"x\" | until(false; . + .)"]
    {
        let run = home.invocation(&["query-stdin", program]).input("null").run();
        assert_fails(&run, &[1, 9]);
    }
}

#[test]
fn a_file_that_is_no_flow_does_not_run() {
    let home = home();
    for content in [&b""[..], b"\0asm\x01\0\0\0", b"\0asm\x0d\0\x01\0", b"#!/bin/sh\n"] {
        home.file("x.wasm", content);
        assert_fails(&home.rote(&["run", "./x.wasm"]), &[1, 2, 6, 10]);
    }
    assert_fails(&home.rote(&["run", "./none.wasm"]), &[3]);
}

#[test]
fn unknown_words_get_the_nearest_ones() {
    let home = home();
    let run = home.rote(&["adaptr"]);
    assert_fails(&run, &[2]);
    assert!(run.stderr.contains("`adapter`"), "{run}");
    assert_eq!(home.rote(&["adapter", "list", "--jsn"]).code, 2);
    let run = home.rote(&["adaptr", "--json"]);
    assert_eq!((run.code, run.stderr.as_str()), (2, ""), "{run}");
    assert_eq!(run.envelope()["error"]["kind"], "usage");
}

/// A million zero bytes as one gzip member.
const ZEROS: &[u8] = include_bytes!("zeros.gz");

#[test]
fn what_was_done_is_told_where_its_output_has_no_room() {
    let (home, server) = tracker();
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "addComment", "arguments": { "project": "atlas", "number": 1, "body": "x" } } });
    let message = message.to_string();
    let comment = ["call", "tracker", "addComment", "-p", "project=atlas", "-p", "number=1", "-p", "body=x"];
    let failed = ["call", "tracker", "getProject", "-p", "project=none"];
    let written = "; only its output could not be written\n  caused by: cannot write the output\n";
    for (words, says) in [
        (&comment[..], "error: recorded as `@1` (answered 201)"),
        (&[&comment[..], &["--json"]].concat(), "error: recorded as `@2` (answered 201)"),
        (&["POST", "adapter/tracker", &message], "error: recorded as `@3` (answered 201)"),
        (&["batch", "tracker", r#"[{"tool_name":"listProjects"}]"#], "error: recorded as `@4`"),
        (&["set", "a=1"], "error: the command ran to its end"),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = home.invocation(words).command().stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(&format!("{says}{written}")), "{words:?}: {stderr}");
        assert_eq!(output.status.code(), Some(1), "{words:?}: {stderr}");
    }
    // An error is told on the other stream, too.
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = home.invocation(&[&failed[..], &["--json"]].concat()).command().stdout(full).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("answered 404") && output.status.code() == Some(8), "{stderr}");
    assert_eq!(server.requests().len(), 5);
}
