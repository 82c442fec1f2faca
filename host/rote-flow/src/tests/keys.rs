//! Runs whose writes carry idempotency keys of rote's own: what a run repeats unasked, and when it asks.

use std::collections::BTreeSet;

use rote_types::{ResponseId, WorkspaceName};
use rote_workspace::{Settled, Settlement, Workspace};
use serde_json::json;

use super::support::{Fixture, id};
use crate::{FlowError, RunReport, RunRequest};

/// A flow `report` that creates an order and reads one, of an API that takes keys.
async fn ordering() -> Fixture {
    let fixture = Fixture::new();
    fixture.adapters.set_idempotency_header(&id(), "Idempotency-Key").unwrap();
    fixture.set("item", json!("pen"));
    assert!(fixture.call("orders_create", json!({"item": "$item"})).await);
    assert!(fixture.call("orders_get", json!({"id": 3})).await);
    fixture.query(2, ".price", None);
    fixture.crystallize(&[]).await.unwrap();
    fixture.shop.keys.lock().unwrap().clear();
    fixture
}

/// Runs the flow so that its write stays in doubt; returns the workspace of the run.
async fn stopped(fixture: &Fixture) -> WorkspaceName {
    fixture.shop.lose_times(b"", 3);
    let error = fixture.run(&fixture.run_request(&[("item", "cup")])).await.unwrap_err();
    assert!(error.to_string().contains("with the idempotency key"), "{error}");
    let FlowError::Stopped { workspace, .. } = error else { panic!("{error}") };
    workspace
}

async fn go_on(
    fixture: &Fixture,
    workspace: &WorkspaceName,
    settle: &[(u64, Settlement)],
) -> Result<RunReport, FlowError> {
    let settle = settle.iter().map(|(id, settlement)| (ResponseId(*id), settlement.clone())).collect();
    let request = RunRequest { flow: None, resume: Some(workspace.clone()), settle, ..fixture.run_request(&[]) };
    fixture.run(&request).await
}

/// How many requests arrived, and how many writes a server makes of them that makes one for each key.
fn arrived(fixture: &Fixture) -> (usize, usize) {
    let keys = fixture.shop.keys.lock().unwrap();
    let distinct: BTreeSet<&str> = keys.iter().map(|key| key.as_deref().expect("every write has a key")).collect();
    (keys.len(), distinct.len())
}

fn settled(fixture: &Fixture, workspace: &WorkspaceName, id: u64) -> Option<Settled> {
    Workspace::open(&fixture.home, workspace).unwrap().summary(ResponseId(id)).unwrap().settled
}

#[tokio::test]
async fn a_run_repeats_its_doubtful_write_with_the_same_key_and_asks_nobody() {
    let fixture = ordering().await;
    let workspace = stopped(&fixture).await;
    assert_eq!(arrived(&fixture), (3, 1));
    let done = go_on(&fixture, &workspace, &[]).await.unwrap();
    assert_eq!((done.result, arrived(&fixture)), (json!(30), (4, 1)));
    assert_eq!(settled(&fixture, &workspace, 1), Some(Settled::Retried));
    let doubts = Workspace::open(&fixture.home, &workspace).unwrap().doubts(10).unwrap();
    assert!(doubts.is_empty(), "{doubts:?}");
    go_on(&fixture, &workspace, &[]).await.unwrap();
    assert_eq!(arrived(&fixture), (4, 1), "what is done is done");
}

#[tokio::test]
async fn however_often_it_is_lost_it_is_one_write() {
    let fixture = ordering().await;
    let workspace = stopped(&fixture).await;
    for round in 1..=3 {
        fixture.shop.lose_times(b"HTTP/1.1 409 Conflict\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", 3);
        let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
        assert!(matches!(error, FlowError::Stopped { .. }), "a 409 says nothing: {error}");
        assert_eq!(arrived(&fixture), (3 + 3 * round, 1));
        let doubts = Workspace::open(&fixture.home, &workspace).unwrap().doubts(10).unwrap();
        assert_eq!(doubts.len(), 1, "only the newest is in doubt: {doubts:?}");
    }
    go_on(&fixture, &workspace, &[]).await.unwrap();
    assert_eq!(arrived(&fixture), (13, 1));
}

#[tokio::test]
async fn an_old_key_is_asked_about_and_still_sent_when_a_person_says_so() {
    let fixture = ordering().await;
    let workspace = stopped(&fixture).await;
    fixture.wait(20 * 60);
    fixture.shop.lose_times(b"", 3);
    go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert_eq!(arrived(&fixture), (6, 1), "still young");
    fixture.wait(6 * 60);
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    let FlowError::Unsettled { doubt, others: 0 } = &error else { panic!("{error}") };
    assert_eq!(arrived(&fixture), (6, 1), "the second one is young, its key is not");
    let again = go_on(&fixture, &workspace, &[(doubt.response.0, Settlement::Retry)]).await.unwrap();
    assert_eq!((again.result, arrived(&fixture)), (json!(30), (7, 1)));
}

#[tokio::test]
async fn a_key_that_would_not_be_sent_again_is_asked_about() {
    for word in ["none", "X-Other-Key"] {
        let fixture = ordering().await;
        let workspace = stopped(&fixture).await;
        fixture.adapters.set_idempotency_header(&id(), word).unwrap();
        let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
        assert!(matches!(error, FlowError::Unsettled { .. }), "{word}: {error}");
        assert_eq!(arrived(&fixture), (3, 1), "{word}");
    }
    let fixture = ordering().await;
    let workspace = stopped(&fixture).await;
    let elsewhere = fixture.shop.url.replace("127.0.0.1", "localhost");
    fixture.adapters.set_base_url(&id(), &elsewhere).unwrap();
    go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert_eq!(arrived(&fixture), (3, 1), "another place knows no key of this one");
}

#[tokio::test]
async fn a_run_that_is_refused_before_it_repeats_leaves_the_doubt() {
    let fixture = ordering().await;
    let workspace = stopped(&fixture).await;
    let policy = rote_home::read_capped(&fixture.adapters.policy_file(&id()), 1 << 20).unwrap();
    let mut asks: serde_json::Value = serde_json::from_slice(&policy).unwrap();
    asks["confirm_list"] = json!(["orders_create"]);
    let write = |bytes: &[u8]| {
        rote_home::write_durable(&fixture.adapters.policy_file(&id()), bytes, rote_home::FileMode::Private).unwrap();
    };
    write(asks.to_string().as_bytes());
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert_eq!((arrived(&fixture), settled(&fixture, &workspace, 1)), ((3, 1), None), "{error}");
    write(&policy);
    go_on(&fixture, &workspace, &[]).await.unwrap();
    assert_eq!((arrived(&fixture), settled(&fixture, &workspace, 1)), ((4, 1), Some(Settled::Retried)));
}
