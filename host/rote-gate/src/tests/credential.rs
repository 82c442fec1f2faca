//! Credentials: added after admission, never seen again.

use crate::{ClaimedRequest, GateError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rote_types::{AuthKind, Classify, ErrorKind};
use serde_json::json;

use crate::tests::support::{SECRET, Server, Surface, World, answer, claim, claim_with_key};

/// Answers with everything that it was sent, in many spellings.
async fn echo() -> Server {
    Server::start(|request| {
        let body = json!({
            "plain": request,
            "base64": STANDARD.encode(request),
            "shifted": STANDARD.encode(format!("x{request}")),
            "token": STANDARD.encode(SECRET),
            "encoded": url::form_urlencoded::byte_serialize(SECRET.as_bytes()).collect::<String>(),
            "escaped": SECRET.replace('/', "\\/"),
        });
        let echoed = request.lines().find(|line| line.contains("s3cr3t")).unwrap_or("none").trim().to_owned();
        let headers = [("content-type", "application/json"), ("x-echo", echoed.as_str())];
        answer("200 OK", &headers, body.to_string().as_bytes())
    })
    .await
}

#[tokio::test]
async fn each_kind_of_credential_travels_its_own_way_and_never_comes_back() {
    let header = AuthKind::ApiKeyHeader { name: "X-Api-Key".into() };
    let query = AuthKind::ApiKeyQuery { name: "api_key".into() };
    let cookie = AuthKind::ApiKeyCookie { name: "sid".into() };
    let basic = STANDARD.encode(format!("alice:{SECRET}"));
    let cases = [
        (AuthKind::Bearer, SECRET.to_owned(), format!("authorization: Bearer {SECRET}")),
        (AuthKind::Basic, format!("alice:{SECRET}"), format!("authorization: Basic {basic}")),
        (header, SECRET.to_owned(), format!("x-api-key: {SECRET}")),
        (query, SECRET.to_owned(), "/things/7?x=1&api_key=s3cr3t%2FValue%2B0123456789 HTTP".to_owned()),
        (cookie, SECRET.to_owned(), format!("cookie: theme=dark; sid={SECRET}")),
    ];
    for (kind, value, sent) in cases {
        let (world, server) = (World::new(), echo().await);
        let surface = Surface::with_auth(&server.url(), Some(kind.clone()));
        world.set_token("API_TOKEN", &value);
        let call = world.call(&surface, "get", json!({"id": 7}));
        let mut request = claim_with_key("GET", "/things/7?x=1&api_key=mine&Api%5FKEY=mine&api.key=mine");
        if !matches!(kind, AuthKind::ApiKeyQuery { .. }) {
            request.url = "/things/7?x=1".into();
        }
        request.headers = vec![("Authorization".into(), "Bearer guest".into()), ("X-Api-Key".into(), "guest".into())];
        request.headers.push(("x_api_key".into(), "guest".into()));
        if matches!(kind, AuthKind::ApiKeyCookie { .. }) {
            for pair in ["theme=dark", "sid=guest", "SID=guest", "s%69d=guest"] {
                request.headers.push(("rote-cookie-parameter".into(), pair.into()));
            }
        }
        world.send(&call, request).await.unwrap();
        assert!(server.request(0).contains(&sent), "{kind:?}: {}", server.request(0));
        assert!(!server.request(0).contains("Bearer guest"), "{kind:?}");
        let own = |name: &str| !matches!(&kind, AuthKind::ApiKeyHeader { name: slot } if slot == name);
        assert_eq!(server.request(0).contains("guest"), own("X-Api-Key"), "{kind:?}: {}", server.request(0));

        let recorded = format!("{:?}", world.recorded(&call));
        assert!(recorded.contains("<API_TOKEN>"), "{kind:?}: {recorded}");
        for needle in [SECRET, &STANDARD.encode(SECRET)[..28], "s3cr3t%2FValue", "s3cr3t\\\\/Value", "czNjcjN0L1ZhbHVl"]
        {
            assert!(!recorded.contains(needle), "{kind:?}: {needle} is in {recorded}");
        }
        world.assert_no_secret_on_disk();
    }
}

#[tokio::test]
async fn a_query_names_no_second_credential_in_any_spelling() {
    let query = AuthKind::ApiKeyQuery { name: "api_key".into() };
    for kind in [AuthKind::Bearer, query] {
        let (world, server) = (World::new(), Server::json("{}").await);
        world.set_token("API_TOKEN", SECRET);
        let surface = Surface::with_auth(&server.url(), Some(kind.clone()));
        for field in ["access_token", "apikey", "x-api-key", "Access%2DToken", "a=1;auth_token", "apiKey[]", "token"] {
            let call = world.call(&surface, "get", json!({"id": 7}));
            let request = claim_with_key("GET", &format!("/things/7?{field}=x"));
            let error = world.send(&call, request).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{kind:?} {field}");
            assert!(error.to_string().contains("beside that of `API_TOKEN`"), "{field}: {error}");
        }
        for field in ["key", "page_token", "q"] {
            let call = world.call(&surface, "get", json!({"id": 7}));
            world.send(&call, claim_with_key("GET", &format!("/things/7?{field}=x"))).await.unwrap();
        }
        assert_eq!(server.requests.lock().unwrap().len(), 3);
    }
}

#[tokio::test]
async fn a_compressed_echo_and_an_error_page_are_redacted_too() {
    let gzipped: &[u8] = include_bytes!("echo.gz");
    let server = Server::start(move |_| answer("500 Oops", &[("content-encoding", "gzip")], gzipped)).await;
    let world = World::new();
    world.set_token("API_TOKEN", SECRET);
    let surface = Surface::with_auth(&server.url(), Some(AuthKind::Bearer));
    let call = world.call(&surface, "get", json!({}));
    let error = world.send(&call, claim_with_key("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(&error, GateError::Http { response, .. } if response.status == 500));
    let recorded = format!("{:?}", world.recorded(&call));
    assert!(recorded.contains("bad token <API_TOKEN> here"), "{recorded}");
    world.assert_no_secret_on_disk();
}

#[tokio::test]
async fn a_missing_credential_is_an_error_before_anything_is_sent() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::with_auth(&server.url(), Some(AuthKind::Bearer));
    let call = world.call(&surface, "get", json!({}));
    let error = world.send(&call, claim_with_key("GET", "/things/7")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert_eq!(error.hint().unwrap(), "rote token set API_TOKEN");
    assert_eq!(server.seen(), 0);
    assert_eq!(world.kinds(), ["effect.denied"]);
}

#[tokio::test]
async fn slots_that_are_not_the_tools_own_are_refused_alike() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::with_auth(&server.url(), Some(AuthKind::Bearer));
    world.set_token("API_TOKEN", SECRET);
    let mut texts = Vec::new();
    for slots in [vec!["other"], vec!["key", "other"], vec!["API_TOKEN"], vec![]] {
        let call = world.call(&surface, "get", json!({}));
        let credentials = vec![slots.into_iter().map(str::to_owned).collect()];
        let request = ClaimedRequest { credentials, ..claim("GET", "/things/7") };
        let error = world.send(&call, request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        texts.push(error.to_string());
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(server.seen(), 0);
}

#[tokio::test]
async fn a_tool_that_needs_none_gets_none() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::at(&server.url());
    world.set_token("API_TOKEN", SECRET);
    let call = world.call(&surface, "get", json!({}));
    world.send(&call, claim("GET", "/things/7")).await.unwrap();
    assert!(!server.request(0).contains(SECRET));
}
