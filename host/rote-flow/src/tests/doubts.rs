//! Runs whose writes lost their answers: nothing is sent twice, and a person says what came of it.

use std::path::PathBuf;
use std::sync::Arc;

use rote_runtime::{Observer, RunError};
use rote_types::{Classify, ErrorKind, ResponseId, ResponseRef, ToolCall, WorkspaceName};
use rote_workspace::{ResponseState, Settled, Settlement, Workspace};
use serde_json::json;

use super::support::{Fixture, ordering};
use crate::error::{Left, PackageError, RunnerError, Stopped};
use crate::{FlowError, FlowReference, RunReport, RunRequest};

/// Every answer that is none, or not all of one.
const LOST: &[&[u8]] = &[
    b"",
    b"HTTP/1.1 201 Cre",
    b"HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{\"id\"",
    b"junk\r\n\r\n",
    b"HTTP/1.1 201 Created\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\njunk",
];

/// Runs the flow so that its write loses its answer; returns the workspace of the run.
async fn stopped(fixture: &Fixture, bytes: &[u8]) -> WorkspaceName {
    fixture.shop.lose(bytes);
    // A run with the same parameters would not begin.
    let item = format!("cup{}", fixture.shop.writes());
    let error = fixture.run(&fixture.run_request(&[("item", &item)])).await.unwrap_err();
    assert!(error.to_string().contains("may have happened"), "{error}");
    let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else { panic!("{error}") };
    workspace
}

fn going_on(fixture: &Fixture, workspace: &WorkspaceName, settle: &[(u64, Settlement)]) -> RunRequest {
    let settle = settle.iter().map(|(id, settlement)| (ResponseId(*id), settlement.clone())).collect();
    RunRequest { flow: None, resume: Some(workspace.clone()), settle, ..fixture.run_request(&[]) }
}

async fn go_on(
    fixture: &Fixture,
    workspace: &WorkspaceName,
    settle: &[(u64, Settlement)],
) -> Result<RunReport, FlowError> {
    fixture.run(&going_on(fixture, workspace, settle)).await
}

#[tokio::test]
async fn a_run_whose_write_lost_its_answer_asks_and_sends_nothing() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    for bytes in LOST {
        let before = fixture.shop.writes();
        let workspace = stopped(&fixture, bytes).await;
        for _ in 0..2 {
            let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
            assert!(matches!(&error, FlowError::Run(RunnerError::Unsettled { others: 0, .. })), "{error}");
            assert_eq!(error.kind(), ErrorKind::Conflict);
            let hint = error.hint().unwrap();
            for way in ["--done @1", "--skip @1", "--retry @1"] {
                assert!(hint.contains(&format!("rote run --resume {workspace} {way}")), "{hint}");
            }
        }
        assert_eq!(fixture.shop.writes(), before + 1, "{}", String::from_utf8_lossy(bytes));
    }
    let stats = fixture.flows.analytics.stats(&"report".parse().unwrap()).unwrap();
    assert_eq!((stats.in_doubt, stats.completed), (LOST.len() as u64, 0));
}

#[tokio::test]
async fn a_write_that_happened_gives_the_answer_that_a_person_knows() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, b"").await;
    let before = fixture.shop.writes();
    let answer = Settlement::Done { answer: Some("{\"created\":{\"item\":\"cup\"}}".to_owned()) };
    let done = go_on(&fixture, &workspace, &[(1, answer)]).await.unwrap();
    assert_eq!((done.result, fixture.shop.writes()), (json!(30), before));
    let opened = Workspace::open(&fixture.home, &workspace).unwrap();
    let row = opened.summary(ResponseId(1)).unwrap();
    assert_eq!((row.state, row.settled, row.status), (ResponseState::Ok, Some(Settled::Done), Some(200)));
    let again = go_on(&fixture, &workspace, &[]).await.unwrap();
    assert_eq!((again.result, fixture.shop.writes()), (json!(30), before), "it stays settled");
}

#[tokio::test]
async fn a_write_that_may_be_made_again_is_made_once_and_not_asked_about_again() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, b"").await;
    let before = fixture.shop.writes();
    fixture.shop.lose(b"");
    let error = go_on(&fixture, &workspace, &[(1, Settlement::Retry)]).await.unwrap_err();
    assert!(
        matches!(error, FlowError::Run(RunnerError::Stopped(Stopped { .. }))),
        "the second one is lost as well: {error}"
    );
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    let FlowError::Run(RunnerError::Unsettled { doubt, others: 0, .. }) = &error else { panic!("{error}") };
    assert!(doubt.response > ResponseId(1) && fixture.shop.writes() == before + 1, "{doubt}");
    let done = go_on(&fixture, &workspace, &[(doubt.response.0, Settlement::Retry)]).await.unwrap();
    assert_eq!((done.result, fixture.shop.writes()), (json!(30), before + 2));
}

#[tokio::test]
async fn a_write_that_is_left_out_has_failed() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, b"").await;
    let before = fixture.shop.writes();
    for settle in [&[(1, Settlement::Skip)][..], &[]] {
        let error = go_on(&fixture, &workspace, settle).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("`@1` (`shop/orders_create`) was left out"), "{error}");
    }
    assert_eq!(fixture.shop.writes(), before);
    // What did not happen may still be made.
    go_on(&fixture, &workspace, &[(1, Settlement::Retry)]).await.unwrap();
    assert_eq!(fixture.shop.writes(), before + 1);
}

#[tokio::test]
async fn an_answer_that_stopped_a_run_decides_whether_the_write_is_repeated() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let rows = [
        // It was done, though what it says cannot be read.
        ("201 Created", "content-type: application/json\r\n", None, 0),
        ("303 See Other", "location: /orders/9\r\n", Some("asked"), 0),
        ("409 Conflict", "", None, 1),
        ("429 Too Many Requests", "", None, 1),
        ("500 Oops", "", Some("asked"), 0),
        ("504 Gateway Timeout", "", Some("asked"), 0),
    ];
    for (status, header, asked, again) in rows {
        // It says that it closes: on a connection that is about to be, the next write might be lost.
        let head = format!("HTTP/1.1 {status}\r\n{header}connection: close\r\ncontent-length: 4");
        fixture.shop.lose(format!("{head}\r\n\r\n{{\"a\"").as_bytes());
        let error = fixture.run(&fixture.run_request(&[("item", status)])).await.unwrap_err();
        let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else {
            panic!("{status}: {error}")
        };
        let before = fixture.shop.writes();
        let ended = go_on(&fixture, &workspace, &[]).await;
        match asked {
            Some(_) => {
                assert!(matches!(ended, Err(FlowError::Run(RunnerError::Unsettled { .. }))), "{status}: {ended:?}");
                let answer = Settlement::Done { answer: None };
                go_on(&fixture, &workspace, &[(1, answer)]).await.unwrap();
                go_on(&fixture, &workspace, &[]).await.unwrap();
            }
            None => drop(ended.unwrap()),
        }
        assert_eq!(fixture.shop.writes(), before + again, "{status}");
    }
}

#[tokio::test]
async fn a_write_whose_answer_was_cleared_is_not_made_again() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = fixture.run(&fixture.run_request(&[("item", "cup")])).await.unwrap().workspace;
    Workspace::open(&fixture.home, &workspace).unwrap().clear(&[], "2026-03-01T00:00:00Z".parse().unwrap()).unwrap();
    let before = fixture.shop.writes();
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { .. })), "{error}");
    let answer = Settlement::Done { answer: Some("{}".to_owned()) };
    assert_eq!(go_on(&fixture, &workspace, &[(1, answer)]).await.unwrap().result, json!(30));
    assert_eq!(fixture.shop.writes(), before);
}

#[tokio::test]
async fn what_is_not_in_doubt_is_not_settled_and_nothing_goes_on() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, b"").await;
    let before = fixture.shop.writes();
    let both = [(1, Settlement::Skip), (7, Settlement::Skip)];
    assert_eq!(go_on(&fixture, &workspace, &both).await.unwrap_err().kind(), ErrorKind::NotFound);
    let row = Workspace::open(&fixture.home, &workspace).unwrap().summary(ResponseId(1)).unwrap();
    assert_eq!(row.state, ResponseState::InDoubt, "all or nothing");
    let wrong = [(1, Settlement::Done { answer: Some("{".to_owned()) })];
    assert_eq!(go_on(&fixture, &workspace, &wrong).await.unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(fixture.shop.writes(), before);
}

#[tokio::test]
async fn two_processes_do_not_make_the_same_run() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, b"").await;
    let opened = Workspace::open(&fixture.home, &workspace).unwrap();
    let held = rote_home::lock(&opened.folder().join("run.lock"), std::time::Duration::ZERO).unwrap();
    let error = go_on(&fixture, &workspace, &[(1, Settlement::Retry)]).await.unwrap_err();
    assert!(matches!(error, FlowError::Run(RunnerError::StillRunning { .. })), "{error}");
    let error = fixture.flows.runner.latest_run(None).unwrap_err();
    assert!(error.to_string().contains("still runs in another process"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    drop(held);
    assert_eq!(fixture.flows.runner.latest_run(None).unwrap().workspace, workspace);
}

#[tokio::test]
async fn the_latest_run_is_the_newest_one_and_of_the_flow_that_is_named() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let error = fixture.flows.runner.latest_run(None).unwrap_err();
    assert!(matches!(error, FlowError::Run(RunnerError::NoRun { .. })), "{error}");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let first = stopped(&fixture, b"").await;
    let report = FlowReference::parse("report").unwrap();
    assert_eq!(fixture.flows.runner.latest_run(Some(&report)).unwrap().workspace, first);
    fixture.wait(200);
    fixture.run(&fixture.run_request(&[("item", "mug")])).await.unwrap();
    fixture.wait(10_000);
    let error = fixture.flows.runner.latest_run(None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    let text = error.to_string();
    assert!(text.contains("begun 2 hours ago, ended well; the newest one that can be resumed is"), "{error}");
    assert_eq!(error.hint().unwrap(), format!("rote run --resume {first}"));
    fixture.remove(&"report".parse().unwrap(), true).unwrap();
    let error = fixture.flows.runner.latest_run(None).unwrap_err();
    assert!(matches!(&error, FlowError::Run(RunnerError::Latest { next: None, .. })), "{error}");
}

#[tokio::test]
async fn a_run_that_ends_at_what_was_left_out_hides_no_other() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let first = stopped(&fixture, b"").await;
    fixture.wait(5);
    let second = stopped(&fixture, b"").await;
    // The word alone changes nothing: the flow has not been told of it.
    let opened = Workspace::open(&fixture.home, &second).unwrap();
    let at = "2026-03-01T00:00:00Z".parse().unwrap();
    opened.settle(ResponseId(1), &Settlement::Skip, at).unwrap();
    assert_eq!(fixture.flows.runner.latest_run(None).unwrap().workspace, second);
    assert_eq!(go_on(&fixture, &second, &[]).await.unwrap_err().kind(), ErrorKind::Denied);
    let error = fixture.flows.runner.latest_run(None).unwrap_err();
    assert!(error.to_string().contains("ends at `@1`, which a person left out"), "{error}");
    assert_eq!(error.hint().unwrap(), format!("rote run --resume {first}"));
    opened.settle(ResponseId(1), &Settlement::Retry, at).unwrap();
    assert_eq!(fixture.flows.runner.latest_run(None).unwrap().workspace, second);
}

/// Takes the newest rows of a workspace away, as a power cut does.
fn lose_rows(fixture: &Fixture, workspace: &WorkspaceName) {
    let path = fixture.home.workspace_dir(workspace).join("workspace.db");
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "DELETE FROM dependencies; DELETE FROM queries; DELETE FROM unfiled; DELETE FROM small_responses; DELETE FROM responses; DELETE FROM commands; \
               UPDATE counter SET value = 0";
    connection.execute_batch(sql).unwrap();
}

#[tokio::test]
async fn a_write_whose_row_is_lost_is_asked_about_all_the_same() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    for (word, writes) in
        [(Settlement::Done { answer: Some("{\"created\":{\"item\":\"cup\"}}".to_owned()) }, 0), (Settlement::Retry, 1)]
    {
        let workspace = stopped(&fixture, b"").await;
        let before = fixture.shop.writes();
        lose_rows(&fixture, &workspace);
        for _ in 0..2 {
            let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
            let FlowError::Run(RunnerError::Unsettled { doubt, others: 0, .. }) = &error else { panic!("{error}") };
            assert_eq!((doubt.response, fixture.shop.writes()), (ResponseId(1), before));
            assert!(doubt.left.is_some() && doubt.url.contains("orders"), "{doubt}");
        }
        let done = go_on(&fixture, &workspace, &[(1, word)]).await.unwrap();
        assert_eq!((done.result, fixture.shop.writes()), (json!(30), before + writes));
    }
}

#[tokio::test]
async fn an_answer_whose_row_is_lost_is_not_asked_for_again() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let done = fixture.run(&fixture.run_request(&[("item", "mug")])).await.unwrap();
    let before = fixture.shop.writes();
    lose_rows(&fixture, &done.workspace);
    let again = go_on(&fixture, &done.workspace, &[]).await.unwrap();
    assert_eq!((again.result, fixture.shop.writes()), (done.result, before), "its file is still there");
}

#[tokio::test]
async fn a_run_is_locked_before_its_tape_is_read() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, b"").await;
    let opened = Workspace::open(&fixture.home, &workspace).unwrap();
    // As the one that holds it might have left it just then.
    rote_home::write_atomic(&opened.folder().join("run.jsonl"), b"half a li\n", rote_home::FileMode::Private).unwrap();
    let held = rote_home::lock(&opened.folder().join("run.lock"), std::time::Duration::ZERO).unwrap();
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert!(matches!(error, FlowError::Run(RunnerError::StillRunning { .. })), "{error}");
    drop(held);
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert!(matches!(error, FlowError::Package(PackageError::Malformed { .. })), "{error}");
}

#[tokio::test]
async fn what_a_run_is_asked_about_is_listed_and_nothing_else() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let listed = |workspace: &WorkspaceName| {
        let opened = Workspace::open(&fixture.home, workspace).unwrap();
        crate::unknown_writes(&opened).unwrap().iter().map(|one| one.id).collect::<Vec<_>>()
    };
    let lost = stopped(&fixture, b"").await;
    assert_eq!(listed(&lost), [ResponseId(1)]);
    for status in ["500 Internal Server Error", "302 Found", "409 Conflict"] {
        fixture.shop.lose(
            format!("HTTP/1.1 {status}\r\nlocation: /there\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
                .as_bytes(),
        );
        let error = fixture.run(&fixture.run_request(&[("item", status)])).await.unwrap_err();
        let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else { panic!("{error}") };
        let asked = match go_on(&fixture, &workspace, &[]).await {
            Err(FlowError::Run(RunnerError::Unsettled { doubt, others: 0, .. })) => vec![doubt.response],
            Ok(_) => Vec::new(),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(asked, if status.starts_with('4') { vec![] } else { vec![ResponseId(1)] }, "{status}");
        assert_eq!(listed(&workspace), asked, "{status}");
        if !asked.is_empty() {
            go_on(&fixture, &workspace, &[(1, Settlement::Retry)]).await.unwrap();
            assert!(listed(&workspace).is_empty(), "{status}");
        }
    }
    // What a person said that it answered is gone: before the run went on, it is asked for as the first time.
    let workspace = stopped(&fixture, b"").await;
    let opened = Workspace::open(&fixture.home, &workspace).unwrap();
    opened.settle(ResponseId(1), &Settlement::Done { answer: Some("{}".to_owned()) }, fixture.now()).unwrap();
    assert!(listed(&workspace).is_empty());
    opened.clear(&[], fixture.now()).unwrap();
    assert_eq!(listed(&workspace), [ResponseId(1)]);
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { others: 0, .. })), "{error}");
    // What a run that ended well was answered is not asked about, also when it was cleared since.
    let done = fixture.run(&fixture.run_request(&[("item", "mug")])).await.unwrap();
    Workspace::open(&fixture.home, &done.workspace)
        .unwrap()
        .clear(&[], "2026-03-01T00:00:00Z".parse().unwrap())
        .unwrap();
    assert!(listed(&done.workspace).is_empty());
}

#[tokio::test]
async fn the_latest_run_is_found_by_the_ends_of_its_tape() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, b"").await;
    let path = Workspace::open(&fixture.home, &workspace).unwrap().folder().join("run.jsonl");
    let text = String::from_utf8(rote_home::read_capped(&path, 1 << 20).unwrap()).unwrap();
    let (head, rest) = text.split_once('\n').unwrap();
    // What is in between is not looked at; whoever goes on reads all of it.
    let middle = "x".repeat(64 << 10);
    let write = |text: String| rote_home::write_atomic(&path, text.as_bytes(), rote_home::FileMode::Private).unwrap();
    write(format!("{head}\n{middle}\n{rest}"));
    assert_eq!(fixture.flows.runner.latest_run(None).unwrap().workspace, workspace);
    assert!(matches!(
        go_on(&fixture, &workspace, &[]).await.unwrap_err(),
        FlowError::Package(PackageError::Malformed { .. })
    ));
    // A good end counts, half a line behind it does not.
    write(format!("{head}\n{middle}\n{{\"end\":\"completed\"}}\n{{\"q\":"));
    let error = fixture.flows.runner.latest_run(None).unwrap_err();
    assert!(error.to_string().contains("ended well"), "{error}");
    write(format!("{middle}\n{rest}"));
    assert!(matches!(
        fixture.flows.runner.latest_run(None).unwrap_err(),
        FlowError::Package(PackageError::Malformed { .. })
    ));
}

#[tokio::test]
async fn what_a_person_said_is_asked_again_when_the_answer_was_cleared() {
    let answer = || Settlement::Done { answer: Some("{}".to_owned()) };
    let at = "2026-03-01T00:00:00Z".parse().unwrap();
    let failed = b"HTTP/1.1 500 Oops\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    for bytes in [&b""[..], failed] {
        let fixture = Fixture::new();
        ordering(&fixture).await;
        fixture.shop.lose(bytes);
        let error = fixture.run(&fixture.run_request(&[("item", "cup")])).await.unwrap_err();
        let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else { panic!("{error}") };
        let before = fixture.shop.writes();
        go_on(&fixture, &workspace, &[(1, answer())]).await.unwrap();
        let opened = Workspace::open(&fixture.home, &workspace).unwrap();
        let given = opened.summary(ResponseId(1)).unwrap().answer.unwrap_or(ResponseId(1));
        for cleared in [vec![given], Vec::new()] {
            opened.clear(&cleared, at).unwrap();
            let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
            assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { others: 0, .. })), "{error}");
            assert_eq!(go_on(&fixture, &workspace, &[(1, answer())]).await.unwrap().result, json!(30));
        }
        assert_eq!(fixture.shop.writes(), before);
    }
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, b"").await;
    go_on(&fixture, &workspace, &[(1, Settlement::Skip)]).await.unwrap_err();
    Workspace::open(&fixture.home, &workspace).unwrap().clear(&[], at).unwrap();
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert_eq!((error.kind(), fixture.shop.writes()), (ErrorKind::Denied, 2), "{error}");
}

/// Takes the journal's anchor away when a call has ended, so that nothing can be appended any more.
struct Breaking(PathBuf);

impl Observer for Breaking {
    fn call_ended(&self, _response: ResponseId, _call: &ToolCall, _outcome: Result<&ResponseRef, &RunError>) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

#[tokio::test]
async fn a_run_whose_end_cannot_be_written_down_still_says_what_may_have_happened() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    fixture.shop.lose(b"");
    let breaking = Arc::new(Breaking(fixture.home.secrets_dir().join("journal.anchor")));
    let error = fixture.flows.runner.run(&fixture.run_request(&[("item", "cup")]), breaking).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("and may have happened") && text.contains("; the end of the run could not be written down: "),
        "{text}"
    );
    assert!(error.hint().unwrap().starts_with("rote run --resume run-report-"), "{error:?}");
    assert!(matches!(error, FlowError::Run(RunnerError::Stopped(Stopped { left: Left::Doubt { .. }, .. }))));
}

#[tokio::test]
async fn many_newer_runs_of_other_flows_hide_no_run() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let first = stopped(&fixture, b"").await;
    let tape = rote_home::read_capped(&fixture.home.workspace_dir(&first).join("run.jsonl"), 1 << 20).unwrap();
    let tape = String::from_utf8(tape).unwrap().replace("\"flow\":\"report\"", "\"flow\":\"other\"");
    for number in 0..1_001 {
        let other = format!("run-other-20300101000000-{number:06x}").parse().unwrap();
        let other = Workspace::create(&fixture.home, &other, "2030-01-01T00:00:00Z".parse().unwrap()).unwrap();
        let file = other.folder().join("run.jsonl");
        rote_home::write_atomic(&file, tape.as_bytes(), rote_home::FileMode::Private).unwrap();
    }
    let report = FlowReference::parse("report").unwrap();
    assert_eq!(fixture.flows.runner.latest_run(Some(&report)).unwrap().workspace, first);
}

#[tokio::test]
async fn an_answer_that_a_later_step_needs_may_be_given_later() {
    let fixture = Fixture::new();
    fixture.set("item", json!("pen"));
    assert!(fixture.call("orders_create", json!({"item": "$item"})).await);
    assert!(fixture.call("orders_list", json!({"owner": "@1{.created.item}"})).await);
    fixture.query(2, ".items[0].id", None);
    fixture.crystallize(&[]).await.unwrap();
    let answer = || Some("{\"created\":{\"item\":\"teapot\"}}".to_owned());
    for bytes in [&b""[..], b"HTTP/1.1 500 Oops\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"] {
        fixture.shop.lose(bytes);
        let item = format!("cup{}", fixture.shop.writes());
        let error = fixture.run(&fixture.run_request(&[("item", &item)])).await.unwrap_err();
        let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else { panic!("{error}") };
        let before = fixture.shop.writes();
        for settle in [&[(1, Settlement::Done { answer: None })][..], &[]] {
            let error = go_on(&fixture, &workspace, settle).await.unwrap_err();
            let hint = error.hint().unwrap();
            assert!(hint.contains(&format!("rote run --resume {workspace} --done @1 --answer")), "{error}: {hint}");
        }
        // It can be said once, and only of what a person said that it happened.
        let done = go_on(&fixture, &workspace, &[(1, Settlement::Done { answer: answer() })]).await.unwrap();
        assert_eq!((done.result, fixture.shop.writes()), (json!(6), before));
        let error = go_on(&fixture, &workspace, &[(1, Settlement::Done { answer: answer() })]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        let again = go_on(&fixture, &workspace, &[]).await.unwrap();
        assert_eq!((again.result, fixture.shop.writes()), (json!(6), before));
    }
}

#[tokio::test]
async fn a_write_whose_answer_is_broken_happened_and_gets_the_answer_that_a_person_knows() {
    let fixture = Fixture::new();
    fixture.set("item", json!("pen"));
    assert!(fixture.call("orders_create", json!({"item": "$item"})).await);
    assert!(fixture.call("orders_list", json!({"owner": "@1{.created.item}"})).await);
    fixture.query(2, ".items[0].owner", None);
    fixture.crystallize(&[]).await.unwrap();
    let head = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 10";
    fixture.shop.lose(format!("{head}\r\n\r\n{{\"created\"").as_bytes());
    let before = fixture.shop.writes();
    let error = fixture.run(&fixture.run_request(&[("item", "cup")])).await.unwrap_err();
    assert!(error.to_string().contains("it happened"), "{error}");
    for _ in 0..2 {
        let hint = error.hint().unwrap();
        assert!(hint.contains("--done @1 --answer JSON") && !hint.contains("makes the call again"), "{hint}");
    }
    let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else { panic!("{error}") };
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert!(error.hint().unwrap().contains("--done @1 --answer JSON"), "{error}: {:?}", error.hint());
    for settlement in [Settlement::Retry, Settlement::Skip, Settlement::Done { answer: None }] {
        let error = go_on(&fixture, &workspace, &[(1, settlement)]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    }
    let answer = Settlement::Done { answer: Some("{\"created\":{\"item\":\"cup\"}}".to_owned()) };
    let done = go_on(&fixture, &workspace, &[(1, answer)]).await.unwrap();
    assert_eq!((done.result, fixture.shop.writes()), (json!("cup"), before + 1));
    let again = go_on(&fixture, &workspace, &[]).await.unwrap();
    assert_eq!((again.result, fixture.shop.writes()), (json!("cup"), before + 1));
}

#[tokio::test]
async fn a_doubt_whose_repetition_was_refused_is_settled_after_all() {
    let answer = || Some("{\"created\":{\"item\":\"cup\"}}".to_owned());
    for (settlement, result) in [
        (Settlement::Done { answer: answer() }, Some(json!(30))),
        (Settlement::Done { answer: None }, Some(json!(30))),
        (Settlement::Skip, None),
    ] {
        let fixture = Fixture::new();
        ordering(&fixture).await;
        let workspace = stopped(&fixture, b"").await;
        fixture.shop.lose(b"HTTP/1.1 409 Conflict\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        let error = go_on(&fixture, &workspace, &[(1, Settlement::Retry)]).await.unwrap_err();
        let hint = error.hint().unwrap();
        for way in ["--done @1 ", "--skip @1 "] {
            assert!(hint.contains(&format!("rote run --resume {workspace} {way}")), "{error}: {hint}");
        }
        let before = fixture.shop.writes();
        for settle in [&[(1, settlement.clone())][..], &[]] {
            let ended = go_on(&fixture, &workspace, settle).await;
            assert_eq!(ended.ok().map(|done| done.result), result, "{settlement:?}");
        }
        assert_eq!(fixture.shop.writes(), before, "{settlement:?}");
    }
}

#[tokio::test]
async fn a_doubt_whose_repetition_succeeded_or_waits_is_not_settled_again() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let done = || Settlement::Done { answer: None };
    let workspace = stopped(&fixture, b"").await;
    go_on(&fixture, &workspace, &[(1, Settlement::Retry)]).await.unwrap();
    assert_eq!(go_on(&fixture, &workspace, &[(1, done())]).await.unwrap_err().kind(), ErrorKind::Conflict);
    let workspace = stopped(&fixture, b"").await;
    fixture.shop.lose(b"");
    go_on(&fixture, &workspace, &[(1, Settlement::Retry)]).await.unwrap_err();
    assert_eq!(go_on(&fixture, &workspace, &[(1, done())]).await.unwrap_err().kind(), ErrorKind::Conflict);
}
