//! The same run, begun again: told of what the first one may have done, or that it is under way.

use rote_home::{FileMode, read_capped, write_atomic};
use rote_runtime::NoObserver;
use rote_types::{Classify, ErrorKind, ResponseId, WorkspaceIdentity, WorkspaceName};
use rote_workspace::{Settlement, Workspace};
use serde_json::json;

use super::support::{Fixture, name, ordering};
use crate::error::{RunnerError, Stopped};
use crate::{FlowError, FlowReference, RunRequest};

async fn run(fixture: &Fixture, item: &str) -> Result<(), FlowError> {
    fixture.run(&fixture.run_request(&[("item", item)])).await.map(drop)
}

/// Runs it so that the write is answered like this; returns the workspace of the run.
async fn stopped(fixture: &Fixture, item: &str, status: &str) -> WorkspaceName {
    let head = format!("HTTP/1.1 {status}\r\nlocation: /there\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    fixture.shop.lose(if status.is_empty() { b"" } else { head.as_bytes() });
    match run(fixture, item).await.unwrap_err() {
        FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) => workspace,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn what_a_resumed_run_asks_about_a_new_one_is_told_of() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    for status in ["", "500 Internal Server Error", "302 Found"] {
        let item = format!("cup{status}");
        let workspace = stopped(&fixture, &item, status).await;
        let before = fixture.shop.writes();
        for _ in 0..2 {
            let error = run(&fixture, &item).await.unwrap_err();
            assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { .. })), "{status}: {error}");
            assert_eq!(error.kind(), ErrorKind::Conflict);
            let dry = fixture.flows.runner.dry_run(&fixture.run_request(&[("item", &item)])).await.unwrap();
            assert!(dry.notes.iter().any(|note| *note == format!("a run is refused now: {error}")), "{:?}", dry.notes);
            let retry = format!("rote run --resume {workspace} --retry @1");
            assert!(error.hint().unwrap().contains(&retry), "{status}: {:?}", error.hint());
        }
        assert_eq!(fixture.shop.writes(), before, "{status}");
        // With other parameters it is another run.
        let other = fixture.flows.runner.dry_run(&fixture.run_request(&[("item", "mug")])).await.unwrap();
        assert!(other.notes.is_empty(), "{:?}", other.notes);
        run(&fixture, &format!("mug{status}")).await.unwrap();
        let opened = Workspace::open(&fixture.home, &workspace).unwrap();
        opened.settle(ResponseId(1), &Settlement::Skip, fixture.now()).unwrap();
        run(&fixture, &item).await.unwrap();
        assert_eq!(fixture.shop.writes(), before + 2, "{status}");
    }
    // A 4xx says that the server did not act.
    stopped(&fixture, "tea", "409 Conflict").await;
    run(&fixture, "tea").await.unwrap();
}

#[tokio::test]
async fn a_run_whose_folder_has_another_name_is_found_all_the_same() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, "cup", "").await;
    let folder = |name: &str| fixture.home.workspaces_dir().join(name);
    let (backup, other) = (format!("{workspace}.bak"), "run-other-20261122223250-abcdef");
    for (from, to) in [(workspace.as_str(), "kept"), ("kept", "run-kept"), ("run-kept", &backup), (&backup, other)] {
        #[expect(clippy::disallowed_methods, reason = "as a person would")]
        std::fs::rename(folder(from), folder(to)).unwrap();
        let error = run(&fixture, "cup").await.unwrap_err();
        let FlowError::Run(RunnerError::Unsettled { doubt, .. }) = &error else { panic!("{error}") };
        assert_eq!((&doubt.workspace, fixture.shop.writes()), (&name(to), 2));
    }
    run(&fixture, "mug").await.unwrap();
}

#[tokio::test]
async fn a_run_that_is_under_way_is_not_begun_a_second_time() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let held = fixture.flows.runner.begin(&fixture.run_request(&[("item", "cup")])).unwrap();
    let error = run(&fixture, "cup").await.unwrap_err();
    let FlowError::Run(RunnerError::UnderWay { workspace, .. }) = &error else { panic!("{error}") };
    assert_eq!((workspace, error.kind()), (held.workspace.name(), ErrorKind::Conflict));
    let hint = error.hint().unwrap();
    assert!(hint.contains(&format!("rote ls --workspace {workspace}")) && hint.contains("--another"), "{hint}");
    assert_eq!(fixture.shop.writes(), 1);
    run(&fixture, "mug").await.unwrap();
    run_beside(&fixture).await;
    // Its process is gone, and with it its lock: it had not begun to write.
    drop(held);
    run(&fixture, "cup").await.unwrap();
    assert_eq!(fixture.shop.writes(), 4);
}

/// Begins the same run all the same.
async fn run_beside(fixture: &Fixture) {
    let request = RunRequest { another: true, ..fixture.run_request(&[("item", "cup")]) };
    fixture.run(&request).await.unwrap();
}

#[tokio::test]
async fn of_runs_that_begin_at_once_one_begins() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let request = fixture.run_request(&[("item", "cup")]);
    let begun: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| fixture.flows.runner.begin(&request))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(begun.iter().filter(|begun| begun.is_ok()).count(), 1);
}

#[tokio::test]
async fn a_run_that_only_reads_may_be_begun_twice() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_get", json!({"id": 3})).await);
    fixture.query(1, ".price", None);
    fixture.crystallize(&[]).await.unwrap();
    let request = RunRequest { flow: Some(FlowReference::parse("report").unwrap()), ..RunRequest::default() };
    let held = fixture.flows.runner.begin(&request).unwrap();
    fixture.flows.runner.run(&request, std::sync::Arc::new(NoObserver)).await.unwrap();
    drop(held);
}

#[tokio::test]
async fn a_run_that_was_killed_behind_a_failure_of_the_server_is_told_of() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, "cup", "500 Internal Server Error").await;
    let path = fixture.home.workspace_dir(&workspace).join("run.jsonl");
    let tape = String::from_utf8(read_capped(&path, 1 << 20).unwrap()).unwrap();
    let (killed, _end) = tape.trim_end().rsplit_once('\n').unwrap();
    write_atomic(&path, format!("{killed}\n").as_bytes(), FileMode::Private).unwrap();
    let before = fixture.shop.writes();
    let error = run(&fixture, "cup").await.unwrap_err();
    assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { .. })), "{error}");
    assert_eq!(fixture.shop.writes(), before);
}

#[tokio::test]
async fn another_one_is_not_begun_beside_a_write_in_doubt() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let workspace = stopped(&fixture, "cup", "").await;
    // As one whose flow went on behind the failure.
    let under_way = Workspace::open(&fixture.home, &workspace).unwrap();
    let _lock = crate::tape::lock(&under_way).unwrap();
    let before = fixture.shop.writes();
    let request = RunRequest { another: true, ..fixture.run_request(&[("item", "cup")]) };
    let error = fixture.run(&request).await.unwrap_err();
    assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { .. })), "{error}");
    assert_eq!(fixture.shop.writes(), before);
}

/// Takes a file or a whole folder away, as somebody would by hand.
#[expect(clippy::disallowed_methods, reason = "as a person would")]
fn take_away(path: &std::path::Path) {
    if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
}

#[tokio::test]
async fn a_run_of_which_nothing_is_left_is_told_of_by_the_journal() {
    let fixture = Fixture::new();
    ordering(&fixture).await;
    let journal = &fixture.flows.runner.parts.journal;
    for (at, (status, lost)) in ["", "500 Internal Server Error", "302 Found"]
        .into_iter()
        .flat_map(|status| ["", "workspace.db", "run.jsonl"].map(|lost| (status, lost)))
        .enumerate()
    {
        let item = format!("cup{at}");
        let workspace = stopped(&fixture, &item, status).await;
        let folder = fixture.home.workspace_dir(&workspace);
        match lost {
            "run.jsonl" => write_atomic(&folder.join(lost), b"", FileMode::Private).unwrap(),
            "" => take_away(folder.parent().unwrap()),
            file => take_away(&folder.join(file)),
        }
        let (before, mut gone) = (fixture.shop.writes(), None);
        for another in [false, true] {
            let request = RunRequest { another, ..fixture.run_request(&[("item", &item)]) };
            let error = fixture.run(&request).await.unwrap_err();
            let FlowError::Run(RunnerError::Unsettled { doubt, .. }) = &error else {
                panic!("{status} {lost}: {error}")
            };
            assert_eq!((&doubt.workspace, doubt.response), (&workspace, ResponseId(1)));
            let hint = error.hint().unwrap();
            let settle = format!("rote doubts settle --workspace {workspace}");
            gone = doubt.workspace_id.clone();
            let settle = gone.iter().fold(settle, |settle, id| format!("{settle} --workspace-id {id}"));
            assert!(hint.contains(&format!("{settle} --retry @1")), "{hint}");
            assert!(!hint.contains("--resume"), "there is nothing to resume: {hint}");
        }
        let other = fixture.flows.runner.dry_run(&fixture.run_request(&[("item", "mug")])).await.unwrap();
        if lost != "run.jsonl" {
            assert!(other.notes.is_empty(), "{:?}", other.notes);
        }
        assert_eq!(fixture.shop.writes(), before, "{status} {lost}");
        let said = [(ResponseId(1), Settlement::Retry)];
        match Workspace::open(&fixture.home, &workspace) {
            Ok(opened) => drop(rote_gate::settle(journal, &opened, &said, None, fixture.now()).unwrap()),
            Err(_) => {
                let gone = WorkspaceIdentity { name: workspace.clone(), id: gone };
                rote_gate::settle_gone(journal, &gone, &said, None, fixture.now()).unwrap();
            }
        }
        run(&fixture, &item).await.unwrap();
        assert_eq!(fixture.shop.writes(), before + 1, "{status} {lost}");
    }
    // What ended well, or was not done, is not asked about.
    let refused = stopped(&fixture, "tea", "409 Conflict").await;
    take_away(fixture.home.workspace_dir(&refused).parent().unwrap());
    for _ in 0..2 {
        let done = fixture.run(&fixture.run_request(&[("item", "tea")])).await.unwrap();
        take_away(fixture.home.workspace_dir(&done.workspace).parent().unwrap());
    }
}
