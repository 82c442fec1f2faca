//! Refusals that need a doctored recording: no honest workspace leads to them.

mod offers;
mod random;

use rote_types::ResponseId;
use rote_workspace::ResponseState;
use serde_json::{Value, json};

use super::*;
use crate::error::{CrystallizeError, ReplayError};
use crate::tests::support::{Fixture, wish};

/// Crystallizes one reading of order 2, then replays it against `arguments` and `result` as the recording.
async fn replay(arguments: Value, result: Value) -> FlowError {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_get", json!({"id": 2})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    let package = Package::of_plan(made.frontmatter, made.plan).unwrap();
    let mut trace = Trace::read(&fixture.workspace).unwrap();
    trace.calls[0].arguments = arguments;
    let calls = vec![exchange(&fixture.workspace, &trace.calls[0]).unwrap()];
    let parameters = Parameters::default();
    super::replay::replay(&fixture.flows.replayer, &package, calls, &parameters, &result).await.unwrap_err()
}

#[tokio::test]
async fn a_call_that_was_not_recorded_so_is_stale() {
    let error = replay(json!({"id": 3}), Value::Null).await;
    let FlowError::Replay(ReplayError::Stale { stale }) = &error else { panic!("{error}") };
    assert_eq!((stale.question.as_str(), &stale.arguments), ("shop/orders_get", &json!({"id": 2})));
}

#[tokio::test]
async fn another_result_than_the_recorded_one_is_refused_with_both() {
    let error = replay(json!({"id": 2}), json!({"id": 3})).await;
    let FlowError::Replay(ReplayError::Differs { recorded, replayed }) = &error else { panic!("{error}") };
    assert_eq!((&recorded["id"], &replayed["id"]), (&json!(3), &json!(2)));
}

#[tokio::test]
async fn a_write_in_doubt_is_refused_unless_it_is_skipped() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    assert!(fixture.call("orders_get", json!({"id": 2})).await);
    let mut trace = Trace::read(&fixture.workspace).unwrap();
    // What a killed process leaves behind; the workspace's own tests show how it comes about.
    trace.calls[0].state = ResponseState::InDoubt;
    let engine = fixture.runtime.query_engine();
    let draft = |request: &CrystallizeRequest| {
        let cx = Context::new(&fixture.workspace, &trace, request, &*fixture.flows.pins.surface, &*engine);
        Draft::of_all_usable(&cx, &mut Desk::default()).map(|(draft, _)| draft)
    };
    let mut request = wish(&[]);
    let error = draft(&request).unwrap_err();
    assert!(
        matches!(&error, FlowError::Crystallize(CrystallizeError::InDoubt { response: ResponseId(1), .. })),
        "{error}"
    );
    request.skip = vec![ResponseId(1)];
    assert_eq!(draft(&request).unwrap().steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["s2"]);
}

#[test]
fn an_answer_that_another_one_leaves_nothing_of_is_not_needed() {
    let before = |id: &str| std::collections::BTreeSet::from([id.to_owned()]);
    let answers = [("pick:s3/contact_id".to_owned(), "position".to_owned())];
    let mut desk = super::desk::Desk::of(&answers.into());
    assert!(desk.refuse_strays(&before("pick:s4/contact_id")).is_err());
    desk.refuse_strays(&before("pick:s3/contact_id")).unwrap();
    assert_eq!(desk.notes[0].text, "the answer to `pick:s3/contact_id` is not needed: it is not asked any more");
}
