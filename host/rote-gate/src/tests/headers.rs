//! Headers that a person adds to a call: sent, shown and confirmed as the rest of it, or refused by name.

use std::sync::Arc;

use rote_types::{AuthKind, Classify, ErrorKind};
use serde_json::json;

use crate::tests::support::{SECRET, Server, Surface, World, claim};
use crate::{GateError, Invocation};

fn with_headers(call: Invocation, headers: &[(&str, &str)]) -> Invocation {
    let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Invocation { headers: Arc::from(headers), ..call }
}

#[tokio::test]
async fn a_header_of_a_person_takes_the_place_of_the_guests() {
    let (world, server) = (World::new(), Server::json("{}").await);
    world.set_token("API_TOKEN", SECRET);
    let surface = Surface::at(&server.url());
    let typed = [("Accept", "application/vnd.x+json"), ("X-Trace", SECRET)];
    let call = with_headers(world.call(&surface, "get", json!({"id": 7})), &typed);
    let mut request = claim("GET", "/things/7");
    request.headers = vec![("accept".into(), "text/guest".into()), ("x_trace".into(), "guest".into())];
    world.send(&call, request.clone()).await.unwrap();
    let sent = server.request(0);
    assert!(sent.contains("accept: application/vnd.x+json") && !sent.contains("guest"), "{sent}");
    assert!(sent.contains(&format!("x-trace: {SECRET}")), "what is typed is sent as typed: {sent}");
    let recorded = world.recorded(&call);
    assert!(recorded.request.headers.contains(&("x-trace".to_owned(), "<API_TOKEN>".to_owned())), "{recorded:?}");
    let started = world.events().into_iter().find(|event| event.kind == "effect.started").unwrap();
    assert_eq!(started.body["headers"], json!(["accept", "x-trace"]));
    world.assert_no_secret_on_disk();
    let dry = Invocation { dry_run: true, ..with_headers(world.call(&surface, "get", json!({"id": 7})), &typed) };
    let shown = world.preview(&dry, request).await;
    assert!(shown.headers.contains(&("x-trace".to_owned(), "<API_TOKEN>".to_owned())), "{:?}", shown.headers);
}

#[tokio::test]
async fn a_header_that_is_not_a_persons_to_set_is_refused_by_name() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let slot = AuthKind::ApiKeyHeader { name: "X-Api-Key".into() };
    let surface = Surface::with_auth(&server.url(), Some(slot));
    let cases = [
        ("Authorization", "is set by rote alone"),
        ("host", "is set by rote alone"),
        ("Content-Length", "is set by rote alone"),
        ("Cookie", "is set by rote alone"),
        ("X_Http_Method_Override", "is set by rote alone"),
        ("X-Original-URL", "is set by rote alone"),
        ("x_original_path", "is set by rote alone"),
        ("X-Original-URI", "is set by rote alone"),
        ("X-Rewrite-URL", "is set by rote alone"),
        ("X-Method-Override", "is set by rote alone"),
        ("X-HTTP-Method", "is set by rote alone"),
        ("rote-cookie-parameter", "is set by rote alone"),
        ("X-Tunnel-Method", "may name another method than the tool's"),
        ("x_verb", "may name another method than the tool's"),
        ("X-Amz-Target", "may name another operation than the tool's"),
        ("SOAPAction", "may name another operation than the tool's"),
        ("X_Path_Override", "may name another operation than the tool's"),
        ("PRIVATE-TOKEN", "carries a credential, which comes from the vault"),
        ("X-Authorization", "carries a credential, which comes from the vault"),
        ("X-Access_Token", "carries a credential, which comes from the vault"),
        ("x_api_key", "carries a credential, which comes from the vault"),
        ("Content_Type", "says what the body is, which the tool does"),
        ("a b", "has no valid name"),
    ];
    for (name, why) in cases {
        let call = with_headers(world.call(&surface, "get", json!({"id": 7})), &[(name, "x")]);
        let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Denied, format!("header `{name}` {why}")));
    }
    let call = with_headers(world.call(&surface, "get", json!({"id": 7})), &[("X-A", "b\r\nHost: c")]);
    assert_eq!(world.send(&call, claim("GET", "/things/7")).await.unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(server.seen(), 0);
}

#[tokio::test]
async fn a_token_confirms_a_call_with_its_headers() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let delete = |headers: &[(&str, &str)], token: Option<&str>| {
        let call = with_headers(world.call(&surface, "delete", json!({"id": 7})), headers);
        Invocation { confirm: token.map(str::to_owned).into_iter().collect(), ..call }
    };
    let account = [("X-Account", "acct 1")];
    let error = world.send(&delete(&account, None), claim("DELETE", "/things/7")).await.unwrap_err();
    let GateError::ConfirmationNeeded { token, .. } = &error else { panic!("{error:?}") };
    let expected = format!("rote call things delete '{{\"id\":7}}' -H 'X-Account: acct 1' -w w --confirm {token}");
    assert_eq!(error.hint().unwrap(), expected);
    for other in [&[][..], &[("X-Account", "acct 2")]] {
        let error = world.send(&delete(other, Some(token)), claim("DELETE", "/things/7")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConfirmationNeeded, "{other:?}");
    }
    assert_eq!(server.seen(), 0);
    world.send(&delete(&account, Some(token)), claim("DELETE", "/things/7")).await.unwrap();
}

#[tokio::test]
async fn a_header_that_the_tool_declares_is_given_as_its_argument() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    let declaring = |headers: &[(&str, &str)]| {
        let call = world.call(&surface, "get", json!({"id": 7}));
        let schema = json!({"properties": {"X-Version": {"enum": ["1"]}, "Accept": {"type": "string"}}});
        let tool = rote_types::Tool { input_schema: schema, ..(*call.tool).clone() };
        with_headers(Invocation { tool: Arc::new(tool), ..call }, headers)
    };
    let error = world.send(&declaring(&[("x_version", "2")]), claim("GET", "/things/7")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert_eq!(error.to_string(), "header `x_version` is an argument of `get`");
    assert_eq!(error.hint().unwrap(), "rote describe things get");
    assert_eq!(server.seen(), 0);
    // What is wanted back is a person's to say: it passes, up to the tool that was changed for this test.
    let error = world.send(&declaring(&[("Accept", "text/x")]), claim("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(error, GateError::FingerprintMismatch { .. }), "{error}");
}
