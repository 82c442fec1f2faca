//! From a workspace to a flow, and what stops a flow.

use expect_test::expect;
use rote_cli::demo::{DOCUMENT, TrackerServer};
use rote_testkit::TestHome;
use serde_json::{Value, json};

use crate::tracker;

/// Explores: lists issues with a detour, comments on the first; then crystallizes.
pub(crate) fn crystallized() -> (TestHome, TrackerServer) {
    let (home, server) = tracker();
    let commands: [&[&str]; 4] = [
        &["call", "tracker", "getIssue", "-p", "project=atlas", "-p", "number=9999"],
        &["call", "tracker", "listIssues", "-p", "project=atlas", "-p", "per_page=2"],
        &[
            "call",
            "tracker",
            "addComment",
            "-t",
            "-p",
            "project=atlas",
            "-p",
            "number=@2{.[0].number}",
            "-p",
            "body=Seen.",
        ],
        &["@3", "{id, body}"],
    ];
    for (at, words) in commands.into_iter().enumerate() {
        let run = home.rote(words);
        assert_eq!(run.code, if at == 0 { 8 } else { 0 }, "{run}");
    }
    let create = ["flow", "template", "create", "--workspace", "w", "--name", "greet", "--param", "project=atlas"];
    let run = home.rote(&[&create[..], &["--answer", "pick:s3/number=position"]].concat());
    assert_eq!(run.code, 0, "{run}");
    (home, server)
}

#[test]
fn a_page_that_link_goes_on_from_is_asked_about_where_its_items_are_searched() {
    for (number, asked) in [("@1{[.[].number] | max}", json!(["pages:s1"])), ("@1{.[0].number}", json!([]))] {
        let (home, _server) = tracker();
        let number = format!("number={number}");
        let list = ["call", "tracker", "listIssues", "project=atlas", "per_page=2"];
        let comment = ["call", "tracker", "addComment", "-t", "project=atlas", &number, "body=Seen."];
        assert_eq!((home.rote(&list).code, home.rote(&comment).code), (0, 0));
        let create = ["flow", "template", "create", "--workspace", "w", "--name", "greet"];
        let made = home.data(&create);
        let open =
            made["frontmatter"]["questions"].as_array().into_iter().flatten().map(|question| question["id"].clone());
        let pages: Vec<Value> = open.filter(|id| id.as_str().is_some_and(|id| id.starts_with("pages:"))).collect();
        assert_eq!(json!(pages), asked, "{made}");
    }
}

#[test]
fn a_workspace_becomes_a_flow_without_its_detours() {
    let (home, _server) = crystallized();
    let info = home.data(&["flow", "info", "greet"]);
    let frontmatter = &info["frontmatter"];
    assert_eq!(frontmatter["write_permissions"].as_array().map(Vec::len), Some(1), "{frontmatter}");
    assert_eq!(frontmatter["write_permissions"][0]["tool"], "addComment");
    let tools = frontmatter["adapters"]["tracker"]["tools"].as_object().unwrap();
    assert_eq!(tools.keys().collect::<Vec<_>>(), ["addComment", "listIssues"]);
    assert!(frontmatter["parameters"]["properties"]["project"].is_object());
    assert!(home.home().join("flows/greet/flow.wasm").is_file());
}

#[test]
fn a_flow_runs_with_other_parameters_and_its_answers_can_be_queried() {
    let (home, server) = crystallized();
    let before = server.requests().len();
    let data = home.data(&["run", "greet", "project=beacon"]);
    let sent: Vec<String> =
        server.requests()[before..].iter().map(|one| format!("{} {}", one.method, one.target)).collect();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent[0].starts_with("GET /v1/projects/beacon/issues?"), "{sent:?}");
    assert!(sent[1].starts_with("POST /v1/projects/beacon/issues/"), "{sent:?}");
    let workspace = data["workspace"].as_str().unwrap();
    assert_eq!(home.rote(&["-w", workspace, "@1", "length"]).stdout, "2\n");
}

#[test]
fn unknown_and_missing_parameters_list_what_is_expected() {
    let (home, server) = crystallized();
    let before = server.requests().len();
    for words in [&["run", "greet", "projct=beacon"][..], &["run", "greet", "project"], &["run", "nothing"]] {
        let run = home.rote(words);
        assert!(run.code == 2 || run.code == 3, "{run}");
        assert!(run.stderr.contains("hint:"), "{run}");
    }
    assert_eq!(server.requests().len(), before);
}

#[test]
fn a_dry_run_of_a_flow_sends_nothing() {
    let (home, server) = crystallized();
    let before = server.requests().len();
    let run = home.rote(&["run", "greet", "project=beacon", "--dry-run"]);
    assert_eq!((run.code, server.requests().len()), (0, before), "{run}");
}

#[test]
fn a_changed_adapter_stops_a_flow_with_exit_7() {
    let (home, server) = crystallized();
    home.file(
        "changed.yaml",
        DOCUMENT.replacen("schema: { type: integer, minimum: 1 }", "schema: { type: string }", 1),
    );
    let run = home.rote(&["adapter", "new", "tracker", "changed.yaml", "--base-url", &server.base_url(), "--yes"]);
    assert_eq!(run.code, 0, "{run}");
    let before = server.requests().len();
    let transcript = home.transcript(&["run", "greet", "project=beacon"]);
    expect![[r#"
        $ rote run greet project=beacon
        --- stderr
        error: ⚠️ Tracker adapter fingerprint mismatch.
          Expected: mcp_[FINGERPRINT]
          Installed: mcp_[FINGERPRINT]
          Re-export this flow to update fingerprints.
          addComment: breaking (argument `number` does not take 37: 37 is not of type "string")
          listIssues: identical

        hint: rote flow repin greet
        --- exit 7
    "#]]
    .assert_eq(&(transcript + "\n"));
    assert_eq!(server.requests().len(), before);
}

#[test]
fn a_missing_adapter_stops_a_flow() {
    let (home, _server) = crystallized();
    assert_eq!(home.rote(&["adapter", "remove", "tracker", "--yes"]).code, 0);
    let run = home.rote(&["run", "greet", "project=beacon"]);
    assert_eq!(run.code, 3, "{run}");
}

#[test]
fn no_byte_of_a_flow_can_change_unnoticed() {
    let (home, server) = crystallized();
    let mut bytes = Vec::new();
    let path = home.home().join("flows/greet/flow.wasm");
    std::io::Read::read_to_end(&mut std::fs::File::open(path).unwrap(), &mut bytes).unwrap();
    let before = server.requests().len();
    for at in [0, 4, 9, bytes.len() / 3, bytes.len() / 2, bytes.len() - 40, bytes.len() - 1] {
        let mut changed = bytes.clone();
        changed[at] ^= 0x20;
        home.file("changed.wasm", &changed);
        let run = home.rote(&["run", "./changed.wasm", "project=beacon"]);
        assert_ne!(run.code, 0, "byte {at}: {run}");
        assert!(run.stderr.starts_with("error:"), "byte {at}: {run}");
    }
    assert_eq!(server.requests().len(), before);
}

#[test]
fn a_parameter_of_a_run_may_be_the_content_of_a_file() {
    let (home, server) = crystallized();
    home.file("project.txt", "beacon");
    let paths = |words: &[&str]| {
        let before = server.requests().len();
        let run = home.rote(&[&["run", "greet"], words].concat());
        (run, server.requests()[before..].iter().map(|one| one.target.clone()).collect::<Vec<_>>())
    };
    let (run, sent) = paths(&["project=@project.txt"]);
    assert!(run.code == 0 && sent[0].starts_with("/v1/projects/beacon/issues?"), "{run}");
    // The steps, and then the result.
    assert!(run.stdout.starts_with("s2  tracker/listIssues") && run.stdout.contains("\"body\": \"Seen.\""), "{run}");
    let (run, sent) = paths(&["project=@@project.txt"]);
    assert!(run.code == 8 && sent[0].starts_with("/v1/projects/%40project.txt/issues?"), "{sent:?} {run}");
    // What the API itself said is wrong is told.
    assert!(run.stderr.contains("answered 404: "), "{run}");
    let (run, sent) = paths(&["project=@gone.txt"]);
    assert!(run.code == 3 && sent.is_empty() && run.stderr.contains("written with `@@`"), "{run}");
}

#[test]
fn a_flow_that_writes_waits_for_what_its_recording_did_not_decide() {
    let (home, server) = crystallized();
    let second = ["addComment", "-t", "-p", "project=atlas", "-p", "number=@1{.[1].number}", "-p", "body=Seen."];
    assert_eq!(home.rote(&["init", "v"]).code, 0);
    assert_eq!(home.rote(&["call", "tracker", "listIssues", "-p", "project=atlas", "-w", "v"]).code, 0);
    assert_eq!(home.rote(&[&["-w", "v", "call", "tracker"], &second[..]].concat()).code, 0);
    let made = home.rote(&["flow", "template", "create", "--workspace", "v", "--name", "second"]);
    assert!(made.stdout.contains("open 1: s2 takes item 2") && made.stdout.contains("1=position"), "{made}");
    let before = server.requests().len();
    let refused = home.rote(&["run", "second"]);
    assert_eq!(refused.code, 10, "{refused}");
    assert!(refused.stderr.contains("rote flow answer second pick:s2/number=…"), "{refused}");
    assert_eq!(home.rote(&["flow", "release", "second"]).code, 10);
    assert_eq!(server.requests().len(), before);
    let review = home.rote(&["flow", "review", "second"]);
    assert!(review.stdout.contains("number: the number of the second of s1"), "{review}");
    let answered = home.rote(&["flow", "answer", "second", "1=position"]);
    assert_eq!(answered.code, 0, "{answered}");
    let review = home.rote(&["flow", "review", "second"]);
    assert!(!review.stdout.contains("open 1:") && review.stdout.contains("answered:"), "{review}");
    assert!(review.stdout.contains("(pick:s2/number): position"), "{review}");
    assert_eq!(home.rote(&["run", "second"]).code, 0);
    assert_eq!(home.rote(&["flow", "answer", "second", "1"]).code, 2);
}
