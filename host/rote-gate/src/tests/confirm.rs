//! Confirm tokens: one call, once, for five minutes.

use std::sync::Arc;

use crate::{Authority, Claim, FlowStamp, Gate, GateError, GateParts, Invocation, ToolPermission};
use rote_govern::{BlessedTool, Blessing, Permissions};
use rote_types::{AdapterId, AuthKind, Classify, Entropy, ErrorKind, ServerDecision, TrustRoot};
use rote_workspace::Workspace;
use serde_json::{Value, json};

use crate::tests::support::{SECRET, Server, Surface, World, claim};

async fn refusal(
    world: &World,
    surface: &Surface,
    arguments: Value,
    token: Option<String>,
) -> (String, Option<String>) {
    let mut call = world.call(surface, "delete", arguments);
    call.confirm = token.into_iter().collect();
    match world.send(&call, claim("DELETE", "/things/7")).await.unwrap_err() {
        GateError::ConfirmationNeeded { token, detail, .. } => (token, detail.refused),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_delete_waits_for_a_token_that_works_once() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let call = world.call(&surface, "delete", json!({"id": 7}));
    let error = world.send(&call, claim("DELETE", "/things/7")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfirmationNeeded);
    let GateError::ConfirmationNeeded { token, detail, .. } = &error else { panic!("{error:?}") };
    assert_eq!(token.len(), 16);
    assert_eq!(detail.impact, "deletes `/things/{id}` with `id` = 7");
    assert_eq!(error.hint().unwrap(), format!("rote call things delete '{{\"id\":7}}' -w w --confirm {token}"));
    assert_eq!(server.seen(), 0);

    let mut call = world.call(&surface, "delete", json!({"id": 7}));
    call.confirm = [token.clone()].into();
    world.send(&call, claim("DELETE", "/things/7")).await.unwrap();
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
async fn a_token_for_one_id_does_not_confirm_its_neighbour() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let (token, _) = refusal(&world, &surface, json!({"id": 9_007_199_254_740_992_u64}), None).await;
    let (_, refused) = refusal(&world, &surface, json!({"id": 9_007_199_254_740_993_u64}), Some(token)).await;
    assert!(refused.unwrap().contains("arguments"));
    assert_eq!(server.seen(), 0);
}

#[tokio::test]
async fn a_get_that_destroys_waits_too() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let call = world.call(&surface, "forget", json!({"id": 7}));
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    let GateError::ConfirmationNeeded { detail, .. } = &error else { panic!("{error:?}") };
    assert_eq!(detail.impact, "acts, perhaps for good, on `/things/{id}` with `id` = 7");
    assert_eq!(server.seen(), 0);
}

#[tokio::test]
async fn a_value_that_raises_a_call_waits_too_and_its_token_is_for_that_value() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let mut surface = Surface::at(&server.url());
    let patch = surface.tools.iter_mut().find(|tool| tool.name == "patch").unwrap();
    patch.raising.insert("private".to_owned(), vec!["false".to_owned()]);
    let surface = surface.redigested();
    let call = world.call(&surface, "patch", json!({"id": 7, "private": true}));
    world.send(&call, claim("PATCH", "/things/7")).await.unwrap();
    let call = world.call(&surface, "patch", json!({"id": 7, "private": false}));
    let error = world.send(&call, claim("PATCH", "/things/7")).await.unwrap_err();
    let GateError::ConfirmationNeeded { token, detail, .. } = error else { panic!("{error:?}") };
    assert_eq!(detail.impact, "acts, perhaps for good, on `/things/{id}` with `private` = false, `id` = 7");
    let mut other = world.call(&surface, "patch", json!({"id": 8, "private": false}));
    other.confirm = [token.clone()].into();
    assert!(world.send(&other, claim("PATCH", "/things/8")).await.is_err());
    let mut call = world.call(&surface, "patch", json!({"id": 7, "private": false}));
    call.confirm = [token].into();
    world.send(&call, claim("PATCH", "/things/7")).await.unwrap();
    assert_eq!(server.requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_token_is_for_one_tool_one_set_of_arguments_and_one_workspace() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let (token, _) = refusal(&world, &surface, json!({"id": 7}), None).await;
    let (_, refused) = refusal(&world, &surface, json!({"id": 8}), Some(token.clone())).await;
    assert!(refused.unwrap().contains("arguments"));

    let mut call = world.call(&surface, "put", json!({"id": 7}));
    call.confirm = [token.clone()].into();
    assert!(world.send(&call, claim("PUT", "/things/7")).await.is_err());

    let name = "other".parse().unwrap();
    let other = Arc::new(Workspace::create(&world.home, &name, "2026-03-01T12:00:00Z".parse().unwrap()).unwrap());
    let mut call = world.call_in(&other, &surface, "delete", json!({"id": 7}));
    call.confirm = [token.clone()].into();
    assert!(world.send(&call, claim("DELETE", "/things/7")).await.is_err());

    for made_up in ["0000000000000000", "not a token", ""] {
        assert!(refusal(&world, &surface, json!({"id": 7}), Some(made_up.into())).await.1.is_some());
    }
    assert_eq!(server.seen(), 0);
    // Written in another order, the arguments are the same ones; and none of the above has used the token up.
    let mut call = world.call(&surface, "delete", json!({"id": 7}));
    call.confirm = [token].into();
    world.send(&call, claim("DELETE", "/things/7")).await.unwrap();
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
    call.confirm = [token.clone()].into();
    assert_eq!(world.send(&call, claim("DELETE", "/admin")).await.unwrap_err().kind(), ErrorKind::Denied);
    let mut call = world.call(&surface, "delete", json!({}));
    call.confirm = [token].into();
    world.send(&call, claim("DELETE", "/things/7")).await.unwrap();
}

#[tokio::test]
async fn of_many_that_present_a_token_at_once_exactly_one_goes() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let (token, _) = refusal(&world, &surface, json!({}), None).await;
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let mut call = world.call(&surface, "delete", json!({}));
            call.confirm = [token.clone()].into();
            call
        })
        .collect();
    let sends = calls.iter().map(|call| world.send(call, claim("DELETE", "/things/7")));
    let results = futures::future::join_all(sends).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

/// A change that a person, or somebody who got at the command line, makes after a token was minted.
type Change = fn(&mut Surface, &Server);

#[tokio::test]
async fn a_token_does_not_outlive_what_it_was_given_for() {
    let changes: [(&str, Change); 4] = [
        ("base URL was", |surface, moved| surface.manifest_mut(|manifest| manifest.base_url = Some(moved.url()))),
        ("kept or mapped", |surface, moved| {
            surface.manifest_mut(|manifest| drop(manifest.servers.insert(moved.url(), ServerDecision::Keep)));
        }),
        ("credential", |surface, _| {
            surface.manifest_mut(|manifest| {
                manifest.auth.schemes.get_mut("key").unwrap().token_env = "OTHER_TOKEN".to_owned();
            });
        }),
        ("policies.json", |surface, _| {
            surface.policy = surface.policy.replace(r#""version":1"#, r#""version":1,"safe_list":["put"]"#);
        }),
    ];
    for (says, change) in changes {
        let (world, server, moved) = (World::new(), Server::json("{}").await, Server::json("{}").await);
        let mut surface = Surface::with_auth(&server.url(), Some(AuthKind::Bearer));
        world.set_token("API_TOKEN", SECRET);
        let (token, _) = refusal(&world, &surface, json!({"id": 7}), None).await;
        change(&mut surface, &moved);
        let (_, refused) = refusal(&world, &surface, json!({"id": 7}), Some(token)).await;
        let refused = refused.unwrap();
        assert!(refused.contains(says), "{says}: {refused}");
        assert_eq!((server.seen(), moved.seen()), (0, 0), "{says}");
    }
}

#[tokio::test]
async fn a_workspace_cannot_borrow_the_scope_of_a_flow_and_long_flows_can_be_confirmed() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let stamp = |name: &str| FlowStamp {
        name: name.parse().unwrap(),
        write_permissions: vec![ToolPermission { adapter: "things".parse().unwrap(), tool: "delete".to_owned() }],
        blessing: None,
        root: world.workspace.identity().clone(),
    };
    let send = async |mut call: Invocation, flow: Option<FlowStamp>, token: Option<String>| {
        (call.flow, call.confirm) = (flow.map(Arc::new), token.into_iter().collect());
        match world.send(&call, claim("DELETE", "/things/7")).await {
            Err(GateError::ConfirmationNeeded { token, .. }) => Err(token),
            other => {
                other.unwrap();
                Ok(())
            }
        }
    };
    let now = "2026-03-01T12:00:00Z".parse().unwrap();
    let borrowed = Arc::new(Workspace::create(&world.home, &"flow.inner".parse().unwrap(), now).unwrap());
    let as_person = || world.call_in(&borrowed, &surface, "delete", json!({}));
    let token = send(as_person(), None, None).await.unwrap_err();
    assert!(send(world.call(&surface, "delete", json!({})), Some(stamp("inner")), Some(token)).await.is_err());
    assert_eq!(server.seen(), 0);
    for name in ["inner".to_owned(), "f".repeat(64)] {
        let token = send(world.call(&surface, "delete", json!({})), Some(stamp(&name)), None).await.unwrap_err();
        send(as_person(), Some(stamp(&name)), Some(token)).await.unwrap();
    }
    assert_eq!(server.requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn of_several_tokens_each_call_finds_its_own_in_whatever_order_they_come() {
    for reversed in [false, true] {
        let (world, server) = (World::new(), Server::json("{}").await);
        let surface = Surface::at(&server.url());
        let mut tokens = Vec::new();
        for id in [1, 2, 3] {
            tokens.push(refusal(&world, &surface, json!({ "id": id }), None).await.0);
        }
        if reversed {
            tokens.reverse();
        }
        let all: Arc<[String]> = tokens.into();
        for id in [2, 1, 3] {
            let mut call = world.call(&surface, "delete", json!({ "id": id }));
            call.confirm = Arc::clone(&all);
            world.send(&call, claim("DELETE", &format!("/things/{id}"))).await.unwrap();
        }
        assert_eq!(server.requests.lock().unwrap().len(), 3);
        let consumed = world.kinds().iter().filter(|kind| *kind == "approval.consumed").count();
        assert_eq!(consumed, 3);
        // A fourth call has none among them, whether they are used up or not.
        let mut call = world.call(&surface, "delete", json!({"id": 4}));
        call.confirm = all;
        let error = world.send(&call, claim("DELETE", "/things/4")).await.unwrap_err();
        let GateError::ConfirmationNeeded { detail, .. } = error else { panic!("{error:?}") };
        assert_eq!(detail.refused.unwrap(), "none of the 3 confirm tokens is for this call");
    }
}

/// Uses a blessing up when the effect gets its id, which is after the stages and before the start.
#[derive(Debug)]
struct Outrun {
    blessing: Arc<Blessing>,
    call: (AdapterId, TrustRoot, Arc<Value>),
}

impl Entropy for Outrun {
    fn fill(&self, buffer: &mut [u8]) {
        let (adapter, trust, arguments) = &self.call;
        self.blessing.take(adapter, "delete", trust, arguments);
        buffer.fill(7);
    }
}

/// A blessing of flow `f` for one call of `delete` of the adapter of this call.
pub(super) fn blessed(call: &Invocation) -> Arc<Blessing> {
    let blessing = Blessing::new(Permissions {
        version: 3,
        flow: "f".parse().unwrap(),
        source_sha256: rote_types::sha256(b"flow"),
        trust: [(call.adapter.id.clone(), call.trust())].into(),
        tools: vec![BlessedTool {
            adapter: call.adapter.id.clone(),
            tool: "delete".to_owned(),
            by: None,
            max_calls: Some(1),
            args_constraints: std::collections::BTreeMap::default(),
        }],
        blessed_by: "p".to_owned(),
        blessed_at: jiff::Timestamp::UNIX_EPOCH,
        expires_at: None,
        alg: "HMAC-SHA-256".to_owned(),
        mac: String::new(),
    });
    Arc::new(blessing.unwrap())
}

#[tokio::test]
async fn what_a_blessing_no_longer_covers_is_not_on_record_as_blessed() {
    for confirmed in [false, true] {
        let (world, server) = (World::new(), Server::json("{}").await);
        let surface = Surface::at(&server.url());
        let flow = |blessing| {
            let permitted = ToolPermission { adapter: "things".parse().unwrap(), tool: "delete".to_owned() };
            let (name, root) = ("f".parse().unwrap(), world.workspace.identity().clone());
            Some(Arc::new(FlowStamp { name, write_permissions: vec![permitted], blessing, root }))
        };
        let mut call = world.call(&surface, "delete", json!({"id": 7}));
        call.flow = flow(None);
        let asked = world.send(&call, claim("DELETE", "/things/7")).await.unwrap_err();
        let GateError::ConfirmationNeeded { token, .. } = asked else { panic!("{asked:?}") };
        let blessing = blessed(&call);
        let mut call = world.call(&surface, "delete", json!({"id": 7}));
        call.flow = flow(Some(Arc::clone(&blessing)));
        if confirmed {
            call.confirm = [token].into();
        }
        let entropy =
            Arc::new(Outrun { blessing, call: (call.adapter.id.clone(), call.trust(), Arc::clone(&call.arguments)) });
        let gate = Gate::new(GateParts { entropy, ..world.gate.parts.clone() });
        let result = gate.perform(&Authority::Call(&call), Claim::Http(claim("DELETE", "/things/7"))).await;
        assert_eq!(result.is_ok(), confirmed, "{result:?}");
        let kind = if confirmed { "effect.started" } else { "approval.requested" };
        let event = world.events().into_iter().rfind(|event| event.kind == kind).unwrap();
        let decision = if confirmed { "confirmed" } else { "confirm" };
        assert_eq!(event.body["decision"], decision, "{event:?}");
        assert_ne!(event.body["rule"], "blessing", "{event:?}");
    }
}

#[tokio::test]
async fn within_a_run_a_token_that_has_confirmed_its_own_call_says_nothing_of_another() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let stamp = Arc::new(FlowStamp {
        name: "f".parse().unwrap(),
        write_permissions: vec![ToolPermission { adapter: "things".parse().unwrap(), tool: "delete".to_owned() }],
        blessing: None,
        root: world.workspace.identity().clone(),
    });
    let send = async |id: u32, tokens: &[String]| {
        let mut call = world.call(&surface, "delete", json!({ "id": id }));
        (call.flow, call.confirm) = (Some(Arc::clone(&stamp)), tokens.into());
        match world.send(&call, claim("DELETE", "/things/7")).await {
            Err(GateError::ConfirmationNeeded { token, detail, .. }) => Some((token, detail.refused)),
            other => {
                other.unwrap();
                None
            }
        }
    };
    let (token, refused) = send(1, &[]).await.unwrap();
    assert_eq!(refused, None);
    assert_eq!(
        send(2, std::slice::from_ref(&token)).await.unwrap().1.unwrap(),
        "the confirm token was made for other arguments"
    );
    assert_eq!(send(1, std::slice::from_ref(&token)).await, None);
    assert_eq!(send(2, std::slice::from_ref(&token)).await.unwrap().1, None);
    assert!(send(1, &[token]).await.unwrap().1.unwrap().starts_with("the confirm token was used at"));
}
