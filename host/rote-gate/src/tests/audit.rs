//! The journal and what is made from it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::tests::support::{Server, Surface, World, claim};

fn logs(world: &World, surface: &Surface) -> Vec<(PathBuf, String)> {
    let dir = world.home.adapter_logs_dir(&surface.manifest.id);
    let mut found: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect();
    found.sort();
    found
}

/// Two days of reads, writes and refusals, some at the same time.
async fn history() -> (World, Surface, Server) {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    for _ in 0..2 {
        let calls: Vec<_> = (0..8).map(|_| world.call(&surface, "post", json!({"id": 1}))).collect();
        let sends = calls.iter().map(|call| world.send(call, claim("POST", "/things/1")));
        for result in futures::future::join_all(sends).await {
            result.unwrap();
        }
        for (tool, method) in [("get", "GET"), ("delete", "DELETE"), ("patch", "POST")] {
            let call = world.call(&surface, tool, json!({"id": 1}));
            drop(world.send(&call, claim(method, "/things/1")).await);
        }
        world.clock.advance(24 * 3600);
    }
    (world, surface, server)
}

#[tokio::test]
async fn the_log_has_a_line_per_guarded_call_in_the_order_of_the_journal() {
    let (world, surface, _server) = history().await;
    let logs = logs(&world, &surface);
    assert_eq!(logs.len(), 2);
    let lines: Vec<Value> =
        logs.iter().flat_map(|(_, text)| text.lines()).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2 * 10);
    let decisions: Vec<_> = lines[..10].iter().map(|line| line["decision"].as_str().unwrap()).collect();
    assert_eq!(decisions[..8], ["audit"; 8]);
    assert_eq!(decisions[8..], ["confirm", "deny"]);
    let order: Vec<_> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(order.is_sorted(), "{order:?}");
    for field in
        ["timestamp", "tool", "method", "risk_level", "impact", "reason", "workspace", "effect_id", "args_digest"]
    {
        assert!(lines.iter().all(|line| line[field].is_string()), "{field}");
    }
    assert!(lines.iter().all(|line| line["dry_run"] == false && line.as_object().unwrap().contains_key("flow")));
}

#[tokio::test]
async fn a_rebuild_gives_the_same_bytes_whatever_was_done_to_the_files() {
    let (world, surface, _server) = history().await;
    let before = logs(&world, &surface);
    let report = world.gate.rebuild().unwrap();
    // Two logs of the guard, and that of approvals with a line for each request.
    assert_eq!((report.files, report.lines, report.changed.len()), (3, 22, 0));

    let dir = world.home.adapter_logs_dir(&surface.manifest.id);
    std::fs::write(&before[0].0, "half a li").unwrap();
    std::fs::remove_file(&before[1].0).unwrap();
    std::fs::write(dir.join("write_guard_2020-01-01.jsonl"), "{}\n").unwrap();
    let report = world.gate.rebuild().unwrap();
    assert_eq!(report.changed.len(), 3);
    assert_eq!(logs(&world, &surface), before);
    assert!(world.gate.parts.journal.verify().unwrap().is_intact());
}

#[tokio::test]
async fn a_kill_between_journal_and_log_is_repaired_by_the_next_call() {
    let (world, surface, _server) = history().await;
    let before = logs(&world, &surface);
    // What such a kill leaves: the mark, and a log without its newest lines.
    let dir = world.home.adapter_logs_dir(&surface.manifest.id);
    std::fs::write(dir.join(".write_guard.pending"), "").unwrap();
    let (path, text) = &before[1];
    std::fs::write(path, &text[..text.len() - 30]).unwrap();
    let call = world.call(&surface, "post", json!({"id": 1}));
    world.send(&call, claim("POST", "/things/1")).await.unwrap();
    let after = logs(&world, &surface);
    assert_eq!(after[..2], before[..]);
    assert_eq!(after.len(), 3);
    assert_eq!(world.gate.rebuild().unwrap().changed.len(), 0);
}

#[tokio::test]
async fn an_adapter_that_was_installed_again_gets_its_whole_log_back_with_the_next_call() {
    let (world, surface, _server) = history().await;
    let before = logs(&world, &surface);
    let dir = world.home.adapter_logs_dir(&surface.manifest.id);
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::create_dir(&dir).unwrap();
    let call = world.call(&surface, "post", json!({"id": 1}));
    world.send(&call, claim("POST", "/things/1")).await.unwrap();
    assert_eq!(logs(&world, &surface)[..before.len()], before[..]);
    assert_eq!(world.gate.rebuild().unwrap().changed.len(), 0);
}

#[tokio::test]
async fn the_start_is_in_the_journal_before_the_first_byte_leaves() {
    let world = std::sync::Arc::new(World::new());
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (watch, at_request) = (world.journal.clone(), seen.clone());
    let server = Server::start(move |_| {
        let kinds = watch.read(1, 100).unwrap().into_iter().map(|event| event.kind);
        at_request.lock().unwrap().extend(kinds);
        crate::tests::support::ok("application/json", b"{}")
    })
    .await;
    let call = world.call(&Surface::at(&server.url()), "post", json!({"id": 1}));
    world.send(&call, claim("POST", "/things/1")).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["effect.started"]);
    assert_eq!(world.kinds(), ["effect.started", "effect.finished"]);
    let events = world.events();
    assert_eq!(events[0].effect, events[1].effect);
    assert_eq!(events[0].body["response"], json!(call.response));
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_is_said_so() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let call = world.call(&Surface::at(&server.url()), "post", json!({"id": 1}));
    let folder = world.workspace.folder().to_owned();
    // The disk is gone between the start and the answer: what stands for it is a folder that is a file.
    std::fs::remove_dir_all(folder.join("responses")).ok();
    std::fs::write(folder.join("responses"), "").unwrap();
    let error = world.send(&call, claim("POST", "/things/1")).await.unwrap_err();
    assert!(matches!(&error, crate::GateError::ExecutedUnrecorded { status: Some(200), .. }), "{error:?}");
    assert_eq!(rote_types::Classify::kind(&error).exit_code(), 10);
    assert_eq!(world.kinds(), ["effect.started", "effect.finished"]);
    assert!(world.events()[1].body["error"].is_string());
}

/// What is recorded is told as recorded, whatever the journal could take.
#[tokio::test]
async fn an_answer_that_is_recorded_and_not_journaled_is_told_as_recorded() {
    let world = World::new();
    let journal = world.home.journal_file();
    let server = Server::start(move |_| {
        // The journal takes no end from here on, as on a disk that is full.
        let refuse = "CREATE TRIGGER IF NOT EXISTS full BEFORE INSERT ON events WHEN NEW.kind = 'effect.finished' \
            BEGIN SELECT RAISE(ABORT, 'disk full'); END";
        rusqlite::Connection::open(&journal).unwrap().execute_batch(refuse).unwrap();
        crate::tests::support::ok("application/json", b"{}")
    })
    .await;
    let call = world.call(&Surface::at(&server.url()), "post", json!({"id": 1}));
    let error = world.send(&call, claim("POST", "/things/1")).await.unwrap_err();
    assert!(matches!(&error, crate::GateError::Unjournaled { response, .. } if response.status == 200), "{error:?}");
    assert_eq!(rote_types::Classify::hint(&error).unwrap(), format!("rote {} '.'", call.response));
    assert_eq!(error.recorded().map(|response| response.id), Some(call.response));
    assert_eq!(world.recorded(&call).reference().status, 200);
}
