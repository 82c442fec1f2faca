//! Writes whose answer is lost, and what a person says of them.

use std::time::Duration;

use rote_types::{Access, Classify, ErrorKind, Method, ResponseId};

use super::cleaned;
use super::support::{Setup, at, call, http, large};
use crate::{Body, CleanFilter, LostAnswer, RequestRecord, ResponseState, Settled, Settlement, WorkspaceError};

fn write() -> crate::NewCall {
    crate::NewCall { method: Method::Post, access: Access::Write, ..call("create") }
}

/// Makes a write and loses its answer.
fn lost(setup: &Setup, status: Option<u16>) -> ResponseId {
    let (_, id) = setup.workspace.begin_call(&write()).unwrap();
    let request = RequestRecord { method: "POST".into(), url: "https://a.example/x?q=1".into(), ..Default::default() };
    let message = "the answer broke off".to_owned();
    let answer = LostAnswer { request, status, message, started: at(3), duration: Duration::from_millis(7) };
    setup.workspace.leave_in_doubt(id, &answer).unwrap();
    assert!(matches!(
        setup.workspace.leave_in_doubt(ResponseId(99), &answer),
        Err(WorkspaceError::AlreadyRecorded { .. })
    ));
    id
}

#[test]
fn a_lost_answer_is_in_doubt_while_its_process_lives_and_nothing_removes_it() {
    let setup = Setup::new();
    let id = lost(&setup, Some(201));
    let row = setup.workspace.summary(id).unwrap();
    assert_eq!((row.state, row.status, row.url.as_str()), (ResponseState::InDoubt, Some(201), "https://a.example/x"));
    assert_eq!(row.error.as_deref(), Some("the answer broke off"));
    assert!(row.is_open() && row.writes);
    assert_eq!(setup.workspace.doubts(10).unwrap(), [row]);
    assert_eq!(setup.workspace.doubts(0).unwrap(), []);
    let error = setup.workspace.response(id).unwrap_err();
    assert_eq!((error.kind(), error.hint().as_deref()), (ErrorKind::Conflict, Some("rote doubts")));
    assert_eq!(setup.workspace.clear(&[], at(9)).unwrap(), 0);
    let all = CleanFilter { all: true, ..CleanFilter::default() };
    assert_eq!(cleaned(&setup.home, &all, at(9), false).unwrap().removed, []);
}

#[test]
fn a_person_says_once_what_came_of_it() {
    let setup = Setup::new();
    let rows = [
        (None, Settlement::Done { answer: Some("{\"n\":7}".into()) }, ResponseState::Ok, Some(200)),
        (None, Settlement::Done { answer: None }, ResponseState::Ok, Some(204)),
        (Some(201), Settlement::Done { answer: None }, ResponseState::Ok, Some(201)),
        // What the head of another answer said is not an answer of a write that happened.
        (Some(409), Settlement::Done { answer: None }, ResponseState::Ok, Some(204)),
        (Some(500), Settlement::Done { answer: Some("{\"n\":7}".into()) }, ResponseState::Ok, Some(200)),
        (Some(201), Settlement::Skip, ResponseState::Error, None),
        (None, Settlement::Retry, ResponseState::Error, None),
    ];
    for (status, settlement, state, recorded) in rows {
        let id = lost(&setup, status);
        let row = setup.workspace.settle(id, &settlement, at(5)).unwrap();
        assert_eq!(
            (row.state, row.status, row.settled),
            (state, recorded, Some(settlement.settled())),
            "{settlement:?}"
        );
        assert!(!row.is_open());
        let again = setup.workspace.settle(id, &Settlement::Done { answer: None }, at(6)).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Conflict, "{again}");
    }
    assert_eq!(setup.body(ResponseId(1)), Body::Json("{\"n\":7}".into()));
    assert_eq!(setup.body(ResponseId(2)), Body::Empty);
    assert_eq!(setup.workspace.doubts(10).unwrap(), []);
    // What did not happen may still be made.
    let row = setup.workspace.settle(ResponseId(6), &Settlement::Retry, at(7)).unwrap();
    assert_eq!(row.settled, Some(Settled::Retried));
}

#[test]
fn an_answer_that_says_too_little_is_settled_beside_the_record() {
    let setup = Setup::new();
    let made = |status| {
        let (_, id) = setup.workspace.begin_call(&write()).unwrap();
        setup.workspace.record(id, http(status, "application/json", b"{\"e\":1}")).unwrap();
        id
    };
    let rows = [(200, false), (201, false), (303, true), (400, false), (408, false), (409, false), (429, false)];
    for (status, open) in rows.into_iter().chain([(500, true), (502, true), (504, true)]) {
        let id = made(status);
        assert_eq!(setup.workspace.summary(id).unwrap().is_open(), open, "{status}");
    }
    let id = made(504);
    let done = Settlement::Done { answer: Some("{\"n\":8}".into()) };
    let row = setup.workspace.settle(id, &done, at(5)).unwrap();
    assert_eq!((row.status, row.settled), (Some(504), Some(Settled::Done)));
    assert_eq!(setup.body(id), Body::Json("{\"e\":1}".into()), "a recorded answer stays");
    assert_eq!(setup.body(row.answer.unwrap()), Body::Json("{\"n\":8}".into()));
    assert!(!row.is_open());
    setup.workspace.clear(&[row.answer.unwrap()], at(6)).unwrap();
    assert!(setup.workspace.settleable(id, &done).unwrap().is_open(), "the answer that was given is gone");
    for said in [Settlement::Skip, Settlement::Retry, done] {
        let id = lost(&setup, None);
        setup.workspace.settle(id, &said, at(5)).unwrap();
        setup.workspace.clear(&[id], at(6)).unwrap();
        let open = setup.workspace.summary(id).unwrap().is_open();
        assert_eq!(open, said.settled() == Settled::Done, "{said:?}");
        let listed = setup.workspace.open_writes().unwrap().iter().any(|one| one.id == id);
        assert_eq!(listed, open, "{said:?}");
    }
}

#[test]
fn what_is_known_or_is_not_json_settles_nothing() {
    let setup = Setup::new();
    let id = lost(&setup, None);
    let wrong = Settlement::Done { answer: Some("{\"n\":".into()) };
    assert_eq!(setup.workspace.settle(id, &wrong, at(5)).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(setup.workspace.summary(id).unwrap().state, ResponseState::InDoubt);
    let read = setup.record(http(500, "", b""));
    for known in [read, setup.workspace.begin_call(&write()).unwrap().1] {
        let error = setup.workspace.settle(known, &Settlement::Skip, at(5)).unwrap_err();
        assert!(matches!(error, WorkspaceError::NotInDoubt { .. }), "{error}");
    }
    assert_eq!(
        setup.workspace.settle(ResponseId(77), &Settlement::Skip, at(5)).unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn a_word_is_recorded_with_the_record_or_not_at_all() {
    let setup = Setup::new();
    let id = lost(&setup, None);
    setup.workspace.settle(id, &Settlement::Done { answer: Some(large("1")) }, at(5)).unwrap();
    // The state that a kill between file and row leaves behind.
    let sql = "UPDATE responses SET state = 'pending', owner = '1:0', settled = NULL";
    setup.workspace.with("forget the row", |connection| connection.execute(sql, [])).unwrap();
    let row = setup.workspace.summary(id).unwrap();
    assert_eq!((row.settled, row.is_open()), (Some(Settled::Done), false));
    let settles = |command: &crate::CommandRecord| command.kind == crate::CommandKind::Settle;
    assert_eq!(setup.workspace.commands().unwrap().iter().filter(|one| settles(one)).count(), 2);
}

#[test]
fn a_number_is_held_while_it_waits_for_this_process() {
    let setup = Setup::new();
    let (_, id) = setup.workspace.begin_call(&write()).unwrap();
    setup.workspace.hold(id).unwrap();
    setup.workspace.disown(id).unwrap();
    assert!(matches!(setup.workspace.hold(id), Err(WorkspaceError::AlreadyRecorded { .. })));
    assert_eq!(setup.workspace.summary(id).unwrap().state, ResponseState::InDoubt);
}
