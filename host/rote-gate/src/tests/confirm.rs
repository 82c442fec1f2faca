//! Confirm tokens: one call, once, for five minutes.

use std::sync::Arc;

use crate::GateError;
use rote_types::{Classify, ErrorKind};
use rote_workspace::Workspace;
use serde_json::{Value, json};

use crate::tests::support::{Server, Surface, World, claim};

async fn refusal(
    world: &World,
    surface: &Surface,
    arguments: Value,
    token: Option<String>,
) -> (String, Option<String>) {
    let mut call = world.call(surface, "delete", arguments);
    call.confirm = token;
    match world.gate.send(&call, claim("DELETE", "/things/7")).await.unwrap_err() {
        GateError::ConfirmationNeeded { token, detail, .. } => (token, detail.refused),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_delete_waits_for_a_token_that_works_once() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let call = world.call(&surface, "delete", json!({"id": 7}));
    let error = world.gate.send(&call, claim("DELETE", "/things/7")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfirmationNeeded);
    let GateError::ConfirmationNeeded { token, detail, .. } = &error else { panic!("{error:?}") };
    assert_eq!(token.len(), 16);
    assert_eq!(detail.impact, "deletes `/things/{id}` with `id` = 7");
    assert_eq!(error.hint().unwrap(), format!("rote call things delete '{{\"id\":7}}' -w w --confirm {token}"));
    assert_eq!(server.seen(), 0);

    let mut call = world.call(&surface, "delete", json!({"id": 7}));
    call.confirm = Some(token.clone());
    world.gate.send(&call, claim("DELETE", "/things/7")).await.unwrap();
    let (_, refused) = refusal(&world, &surface, json!({"id": 7}), Some(token.clone())).await;
    assert!(refused.unwrap().contains("used"));
    assert_eq!(server.requests.lock().unwrap().len(), 1);
    assert_eq!(
        world.kinds(),
        ["approval.requested", "approval.consumed", "effect.started", "effect.finished", "approval.requested"]
    );
    // Only the hash of a token is stored, in any file.
    let nonces = world.home.adapter_logs_dir(&surface.manifest.id).join("write_guard_nonces.json");
    let nonces = std::fs::read_to_string(nonces).unwrap();
    assert!(nonces.contains("id_hash") && !nonces.contains(token.as_str()));
}

#[tokio::test]
async fn a_token_is_for_one_tool_one_set_of_arguments_and_one_workspace() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let (token, _) = refusal(&world, &surface, json!({"id": 7}), None).await;
    let (_, refused) = refusal(&world, &surface, json!({"id": 8}), Some(token.clone())).await;
    assert!(refused.unwrap().contains("arguments"));

    let mut call = world.call(&surface, "put", json!({"id": 7}));
    call.confirm = Some(token.clone());
    assert!(world.gate.send(&call, claim("PUT", "/things/7")).await.is_err());

    let name = "other".parse().unwrap();
    let other = Arc::new(Workspace::create(&world.home, &name, "2026-03-01T12:00:00Z".parse().unwrap()).unwrap());
    let mut call = world.call_in(&other, &surface, "delete", json!({"id": 7}));
    call.confirm = Some(token.clone());
    assert!(world.gate.send(&call, claim("DELETE", "/things/7")).await.is_err());

    for made_up in ["0000000000000000", "not a token", ""] {
        assert!(refusal(&world, &surface, json!({"id": 7}), Some(made_up.into())).await.1.is_some());
    }
    assert_eq!(server.seen(), 0);
    // Written in another order, the arguments are the same ones; and none of the above has used the token up.
    let mut call = world.call(&surface, "delete", json!({"id": 7}));
    call.confirm = Some(token);
    world.gate.send(&call, claim("DELETE", "/things/7")).await.unwrap();
}

#[tokio::test]
async fn a_token_ends_after_five_minutes() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let (token, _) = refusal(&world, &surface, json!({}), None).await;
    world.clock.advance(301);
    let (_, refused) = refusal(&world, &surface, json!({}), Some(token)).await;
    assert!(refused.unwrap().contains("expired"));
    assert_eq!(server.seen(), 0);
}

#[tokio::test]
async fn a_call_that_would_be_denied_does_not_use_its_token_up() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let (token, _) = refusal(&world, &surface, json!({}), None).await;
    let mut call = world.call(&surface, "delete", json!({}));
    call.confirm = Some(token.clone());
    assert_eq!(world.gate.send(&call, claim("DELETE", "/admin")).await.unwrap_err().kind(), ErrorKind::Denied);
    let mut call = world.call(&surface, "delete", json!({}));
    call.confirm = Some(token);
    world.gate.send(&call, claim("DELETE", "/things/7")).await.unwrap();
}

#[tokio::test]
async fn of_many_that_present_a_token_at_once_exactly_one_goes() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let (token, _) = refusal(&world, &surface, json!({}), None).await;
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let mut call = world.call(&surface, "delete", json!({}));
            call.confirm = Some(token.clone());
            call
        })
        .collect();
    let sends = calls.iter().map(|call| world.gate.send(call, claim("DELETE", "/things/7")));
    let results = futures::future::join_all(sends).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}
