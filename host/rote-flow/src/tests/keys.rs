//! Runs whose writes carry idempotency keys, rote's own or the caller's: what a run repeats unasked, and when it asks.

use std::collections::BTreeSet;

use rote_govern::audit::{EffectSettled, Said, Word};
use rote_types::event::EFFECT_SETTLED;
use rote_types::{ResponseId, RunLimits, WorkspaceName};
use rote_workspace::{Settled, Settlement, Workspace};
use serde_json::json;

use super::support::{Fixture, SHOP, id};
use crate::error::{RunnerError, Stopped};
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
    let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else { panic!("{error}") };
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
        assert!(matches!(error, FlowError::Run(RunnerError::Stopped(Stopped { .. }))), "a 409 says nothing: {error}");
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
    let FlowError::Run(RunnerError::Unsettled { doubt, others: 0, .. }) = &error else { panic!("{error}") };
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
        assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { .. })), "{word}: {error}");
        assert_eq!(arrived(&fixture), (3, 1), "{word}");
    }
    let fixture = ordering().await;
    let workspace = stopped(&fixture).await;
    let elsewhere = fixture.shop.url.replace("127.0.0.1", "localhost");
    fixture.adapters.set_base_url(&id(), &elsewhere).unwrap();
    go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert_eq!(arrived(&fixture), (3, 1), "another place knows no key of this one");
}

/// Has writes ask for a confirmation; returns the policy of before.
fn ask_first(fixture: &Fixture) -> Vec<u8> {
    let policy = rote_home::read_capped(&fixture.adapters.policy_file(&id()), 1 << 20).unwrap();
    let mut asks: serde_json::Value = serde_json::from_slice(&policy).unwrap();
    asks["confirm_list"] = json!(["orders_create"]);
    set_policy(fixture, asks.to_string().as_bytes());
    policy
}

fn set_policy(fixture: &Fixture, bytes: &[u8]) {
    rote_home::write_durable(&fixture.adapters.policy_file(&id()), bytes, rote_home::FileMode::Private).unwrap();
}

#[tokio::test]
async fn a_run_that_is_refused_before_it_repeats_leaves_the_doubt() {
    let fixture = ordering().await;
    let workspace = stopped(&fixture).await;
    let policy = ask_first(&fixture);
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert_eq!((arrived(&fixture), settled(&fixture, &workspace, 1)), ((3, 1), None), "{error}");
    set_policy(&fixture, &policy);
    go_on(&fixture, &workspace, &[]).await.unwrap();
    assert_eq!((arrived(&fixture), settled(&fixture, &workspace, 1)), ((4, 1), Some(Settled::Retried)));
}

/// A flow `report` whose write carries a key of the caller's, in this member of the body.
async fn placing(member: &str) -> Fixture {
    let fixture = Fixture::new();
    let note = r#""note": {"type": "string"}"#;
    fixture.install(&SHOP.replace(note, &format!(r#"{note}, "{member}": {{"type": "string"}}"#)));
    fixture.set("item", json!("pen"));
    fixture.set("key", json!("k1"));
    assert!(fixture.call("orders_create", json!({"item": "$item", member: "$key"})).await);
    assert!(fixture.call("orders_get", json!({"id": 3})).await);
    fixture.query(2, ".price", None);
    fixture.crystallize(&[]).await.unwrap();
    fixture
}

/// Runs the flow so that its write stays in doubt; returns the workspace of the run.
async fn lost(fixture: &Fixture) -> WorkspaceName {
    fixture.shop.lose(b"");
    let error = fixture.run(&fixture.run_request(&[("item", "cup"), ("key", "k2")])).await.unwrap_err();
    let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else { panic!("{error}") };
    workspace
}

fn doubts(fixture: &Fixture, workspace: &WorkspaceName) -> Vec<u64> {
    let doubts = Workspace::open(&fixture.home, workspace).unwrap().doubts(10).unwrap();
    doubts.into_iter().map(|one| one.id.0).collect()
}

#[tokio::test]
async fn a_key_of_the_callers_is_sent_again_while_it_is_young_and_ends_no_doubt_before_that() {
    let fixture = placing("idempotency_key").await;
    let workspace = lost(&fixture).await;
    let policy = ask_first(&fixture);
    go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert_eq!((fixture.shop.writes(), doubts(&fixture, &workspace)), (2, vec![1]), "it was not made again");
    set_policy(&fixture, &policy);
    let young = placing("idempotency_key").await;
    let other = lost(&young).await;
    young.wait(20 * 60);
    go_on(&young, &other, &[]).await.unwrap();
    assert_eq!((young.shop.writes(), doubts(&young, &other)), (3, vec![]));
    assert_eq!(settled(&young, &other, 1), Some(Settled::Retried));
    fixture.wait(48 * 3_600);
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert!(
        matches!(error, FlowError::Run(RunnerError::Unsettled { others: 0, .. })),
        "a server forgot that key: {error}"
    );
    assert_eq!((fixture.shop.writes(), doubts(&fixture, &workspace)), (2, vec![1]));
}

#[tokio::test]
async fn what_a_server_says_to_a_key_of_the_callers_that_is_sent_again_ends_no_doubt() {
    let fixture = placing("idempotency_key").await;
    let workspace = lost(&fixture).await;
    fixture.shop.lose(b"HTTP/1.1 409 Conflict\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert_eq!((fixture.shop.writes(), doubts(&fixture, &workspace).len()), (3, 1), "the first may have happened");
    fixture.wait(26 * 60);
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { others: 0, .. })), "{error}");
    assert_eq!(fixture.shop.writes(), 3);
}

#[tokio::test]
async fn a_key_of_another_write_or_one_that_would_go_elsewhere_is_asked_about() {
    let fixture = placing("previous_idempotency_key").await;
    let workspace = lost(&fixture).await;
    let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { .. })), "it is not the key of this write: {error}");
    let fixture = placing("idempotency_key").await;
    let workspace = lost(&fixture).await;
    let elsewhere = fixture.shop.url.replace("127.0.0.1", "localhost");
    fixture.adapters.set_base_url(&id(), &elsewhere).unwrap();
    go_on(&fixture, &workspace, &[]).await.unwrap_err();
    assert_eq!(fixture.shop.writes(), 2, "another place knows no key of this one");
}

fn ann() -> Word {
    Word { by: "ann".to_owned(), attended: true }
}

/// Writes into the journal what is said of `@1`, as if who says it were killed before the workspace has it.
fn half_say(
    fixture: &Fixture,
    workspace: &WorkspaceName,
    outcome: Said,
    word: Option<Word>,
) -> rote_types::WorkspaceIdentity {
    let journal = &fixture.flows.runner.parts.journal;
    let identity = Workspace::open(&fixture.home, workspace).unwrap().identity().clone();
    let effect = journal.started(&identity, ResponseId(1)).unwrap().unwrap().effect;
    let said = EffectSettled {
        adapter: None,
        tool: None,
        workspace: identity.clone(),
        response: ResponseId(1),
        outcome,
        answer: None,
        word,
    };
    let body = serde_json::to_value(said).unwrap();
    let event = rote_home::NewEvent { kind: EFFECT_SETTLED, effect, body };
    journal.append(fixture.now(), rote_home::Durability::Disk, &[event]).unwrap();
    identity
}

#[tokio::test]
async fn a_word_that_only_the_journal_has_is_completed_before_anything_is_repeated() {
    let fixture = ordering().await;
    let workspace = stopped(&fixture).await;
    half_say(&fixture, &workspace, Said::Skipped, Some(ann()));
    for _ in 0..2 {
        let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
        assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { others: 0, .. })), "{error}");
        assert_eq!((arrived(&fixture), doubts(&fixture, &workspace)), ((3, 1), vec![1]));
    }
    go_on(&fixture, &workspace, &[(1, Settlement::Skip)]).await.unwrap_err();
    assert_eq!((arrived(&fixture), settled(&fixture, &workspace, 1)), ((3, 1), Some(Settled::Skipped)));
}

#[tokio::test]
async fn a_person_may_say_what_they_like_of_a_repetition_that_was_cut_off() {
    for (settlement, sent) in [(Settlement::Done { answer: None }, 3), (Settlement::Skip, 3), (Settlement::Retry, 4)] {
        let fixture = ordering().await;
        let workspace = stopped(&fixture).await;
        let identity = half_say(&fixture, &workspace, Said::Repeated, None);
        fixture.wait(26 * 60);
        let error = go_on(&fixture, &workspace, &[]).await.unwrap_err();
        assert!(matches!(error, FlowError::Run(RunnerError::Unsettled { others: 0, .. })), "{error}");
        let settle = vec![(ResponseId(1), settlement.clone())];
        let request = RunRequest {
            flow: None,
            resume: Some(workspace.clone()),
            settle,
            said: Some(ann()),
            ..fixture.run_request(&[])
        };
        fixture.run(&request).await.ok();
        assert_eq!(settled(&fixture, &workspace, 1), Some(settlement.settled()));
        assert_eq!(arrived(&fixture), (sent, 1), "{settlement:?}");
        let last = fixture.flows.runner.parts.journal.settled(&identity, ResponseId(1)).unwrap().unwrap();
        assert_eq!(last.body["by"], "ann", "the journal says whose word it is");
    }
}

#[tokio::test]
async fn a_write_that_is_repeated_is_one_write_of_the_budget() {
    let fixture = ordering().await;
    let one = |request| RunRequest { limits: RunLimits { writes: 1, ..RunLimits::default() }, ..request };
    fixture.shop.lose_times(b"", 3);
    let error = fixture.run(&one(fixture.run_request(&[("item", "cup")]))).await.unwrap_err();
    let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else { panic!("{error}") };
    let resume = |settle| {
        let resume = Some(workspace.clone());
        one(RunRequest { flow: None, resume, settle, ..fixture.run_request(&[]) })
    };
    fixture.shop.lose_times(b"", 3);
    let error = fixture.run(&resume(Vec::new())).await.unwrap_err();
    assert_eq!(arrived(&fixture), (6, 1), "repeated unasked: {error}");
    fixture.wait(26 * 60);
    let second = ResponseId(doubts(&fixture, &workspace)[0]);
    let done = fixture.run(&resume(vec![(second, Settlement::Retry)])).await.unwrap();
    assert_eq!((done.writes, arrived(&fixture)), (1, (7, 1)), "repeated as a person says");
    fixture.run(&resume(Vec::new())).await.unwrap();
}
