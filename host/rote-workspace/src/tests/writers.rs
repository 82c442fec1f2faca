//! Many writers: threads with connections of their own, another process, and processes that die.

use std::collections::BTreeSet;

use rote_home::Home;
use rote_types::{Access, Method, ResponseId};
use serde_json::json;

use super::support::{Setup, at, call, json_body, large};
use crate::{Body, ResponseState, Workspace};

const HOME: &str = "ROTE_WORKSPACE_TEST_HOME";

/// Runs this test binary again as the writer below.
#[expect(clippy::disallowed_methods, reason = "a second process is what is tested")]
fn other_process(setup: &Setup) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::writers::writes_as_another_process", "--nocapture"])
        .env(HOME, setup.home.root())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// Does nothing in a normal run; in the second process it makes calls and leaves two without an outcome.
#[test]
#[expect(clippy::disallowed_methods, reason = "how the second process is told what to do")]
fn writes_as_another_process() {
    let Ok(root) = std::env::var(HOME) else {
        return;
    };
    let home = Home::open(root).unwrap();
    let workspace = Workspace::open(&home, &"w".parse().unwrap()).unwrap();
    for _ in 0..30 {
        let (_, id) = workspace.begin_call(&call("list")).unwrap();
        workspace.record(id, json_body(&format!("{}", id.0))).unwrap();
    }
    workspace.begin_call(&call("list")).unwrap();
    let mut write = call("create");
    write.method = Method::Post;
    write.access = Access::Write;
    workspace.begin_call(&write).unwrap();
}

#[test]
fn numbers_are_dense_and_unique_across_threads_and_processes() {
    let setup = Setup::new();
    let mut children: Vec<_> = (0..2).map(|_| other_process(&setup)).collect();
    let mut all = BTreeSet::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let workspace = Workspace::open(&setup.home, setup.workspace.name()).unwrap();
                    let mut ids = Vec::new();
                    for _ in 0..20 {
                        let begun = workspace.begin_calls(&[call("a"), call("b"), call("c")]).unwrap();
                        // Consecutive and in order, whatever the others do.
                        assert!(begun.windows(2).all(|pair| pair[1].1.0 == pair[0].1.0 + 1));
                        for (_, id) in begun {
                            workspace.record(id, json_body(&format!("{}", id.0))).unwrap();
                            ids.push(id);
                        }
                    }
                    ids
                })
            })
            .collect();
        for writer in writers {
            for id in writer.join().unwrap() {
                assert!(all.insert(id), "{id} was given twice");
            }
        }
    });
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let rows = setup.workspace.ls().unwrap();
    let expected = 6 * 20 * 3 + 2 * 32;
    assert_eq!(rows.iter().map(|row| row.id.0).collect::<Vec<_>>(), (1..=expected).collect::<Vec<_>>());
    let count = |state| rows.iter().filter(|row| row.state == state).count();
    assert_eq!((count(ResponseState::Lost), count(ResponseState::InDoubt)), (2, 2));
    for row in rows.iter().filter(|row| row.state == ResponseState::Ok) {
        assert_eq!(setup.body(row.id).as_json(), row.id.0.to_string());
    }
    assert_eq!(setup.workspace.overall().unwrap().state, "needs attention");
}

#[test]
fn a_file_whose_process_died_before_the_row_is_adopted() {
    let setup = Setup::new();
    let text = large("1");
    let id = setup.record(json_body(&text));
    // The state that a kill between file and row leaves behind.
    let sql = "UPDATE responses SET state = 'pending', owner = '1:0', status = NULL, bytes = 0, sha256 = NULL";
    setup.workspace.with("forget the row", |connection| connection.execute(sql, [])).unwrap();
    let row = setup.workspace.summary(id).unwrap();
    assert_eq!((row.state, row.status, row.bytes), (ResponseState::Ok, Some(200), text.len() as u64));
    assert_eq!(setup.workspace.ls().unwrap()[0].state, ResponseState::Ok);
}

#[test]
fn a_file_of_another_workspace_or_of_an_earlier_call_is_not_adopted() {
    let setup = Setup::new();
    let id = setup.record(json_body(&large("1")));
    let path = setup.workspace.response_file(id);
    let forget = || {
        let sql = "UPDATE responses SET state = 'pending', owner = '1:0'";
        setup.workspace.with("forget the row", |connection| connection.execute(sql, [])).unwrap();
    };
    let own = rote_home::read_capped(&path, 1 << 20).unwrap();
    for (member, other) in [
        ("id", json!(2)),
        ("workspace", json!("another")),
        ("workspace", json!(null)),
        ("adapter", json!("other")),
        ("tool", json!("other")),
        ("started_at", json!("2025-12-31T00:00:00Z")),
    ] {
        let mut file: serde_json::Value = serde_json::from_slice(&own).unwrap();
        file[member] = other;
        rote_home::write_atomic(&path, file.to_string().as_bytes(), rote_home::FileMode::Private).unwrap();
        forget();
        assert_eq!(setup.workspace.summary(id).unwrap().state, ResponseState::Lost, "{member}");
    }
    rote_home::write_atomic(&path, &own, rote_home::FileMode::Private).unwrap();
    assert_eq!(setup.workspace.summary(id).unwrap().state, ResponseState::Ok);
}

#[test]
fn an_answer_is_kept_where_somebody_removed_the_folder_of_answers() {
    let setup = Setup::new();
    setup.record(json_body(&large("1")));
    rote_home::remove_dir(&setup.workspace.responses_dir()).unwrap();
    let second = setup.record(json_body(&large("2")));
    let third = setup.record(json_body("3"));
    assert_eq!((setup.body(second), setup.body(third)), (Body::Json(large("2")), Body::Json("3".to_owned())));
}

#[test]
fn a_file_that_a_recorded_row_needs_is_not_discarded() {
    for (state, stays) in [("recorded", true), ("cleared", false)] {
        let setup = Setup::new();
        let (_, id) = setup.workspace.begin_call(&call("list")).unwrap();
        // What another process makes of it between the file and the row.
        let sql = format!("UPDATE responses SET state = '{state}'");
        setup.workspace.with("end it elsewhere", |connection| connection.execute(&sql, [])).unwrap();
        let error = setup.workspace.record(id, json_body(&large("1"))).unwrap_err();
        assert!(matches!(error, crate::WorkspaceError::AlreadyRecorded { .. }), "{error:?}");
        assert_eq!(setup.workspace.response_file(id).exists(), stays, "{state}");
    }
}

#[test]
fn nothing_is_kept_of_a_small_answer_whose_number_was_ended_elsewhere() {
    let setup = Setup::new();
    let (_, id) = setup.workspace.begin_call(&call("list")).unwrap();
    let sql = "UPDATE responses SET state = 'cleared'";
    setup.workspace.with("end it elsewhere", |connection| connection.execute(sql, [])).unwrap();
    let error = setup.workspace.record(id, json_body("1")).unwrap_err();
    assert!(matches!(error, crate::WorkspaceError::AlreadyRecorded { .. }), "{error:?}");
    assert!(setup.workspace.kept(id).is_err());
}

#[test]
fn a_dead_writer_leaves_lost_reads_and_writes_in_doubt() {
    let setup = Setup::new();
    let mut write = call("create");
    write.method = Method::Delete;
    write.access = Access::Destroy;
    let ids = setup.workspace.begin_calls(&[call("list"), write]).unwrap();
    let sql = "UPDATE responses SET owner = '1:0'";
    setup.workspace.with("kill the owner", |connection| connection.execute(sql, [])).unwrap();
    let state = |id| setup.workspace.summary(id).unwrap().state;
    assert_eq!((state(ids[0].1), state(ids[1].1)), (ResponseState::Lost, ResponseState::InDoubt));
    assert_eq!(setup.workspace.clear(&[], at(2)).unwrap(), 1, "a doubt stays");
    assert!(matches!(setup.workspace.clear(&[ids[1].1], at(2)), Err(crate::WorkspaceError::Unfinished { .. })));
    assert_eq!(setup.workspace.begin_call(&call("list")).unwrap().1, ResponseId(3));
}
