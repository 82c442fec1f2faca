//! Where requests go, and where they do not.

use std::sync::atomic::Ordering;

use crate::GateError;
use rote_govern::egress::EgressRefusal;
use rote_types::{AuthKind, Classify, ErrorKind, ServerDecision};
use serde_json::json;

use crate::tests::support::{FakeResolver, SECRET, Server, Surface, World, answer, claim, claim_with_key, ok};

#[tokio::test]
async fn a_loopback_address_needs_a_grant_however_it_is_spelt() {
    let server = Server::json("{}").await;
    let port = server.address.port();
    let none = r#"{"version":1}"#;
    for host in ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "0", "127.0.0.1."] {
        let world = World::new();
        let surface = Surface::at(&format!("http://{host}:{port}")).policy(none);
        let call = world.call(&surface, "get", json!({}));
        let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
        assert!(matches!(&error, GateError::Egress { refusal: EgressRefusal::Address { .. }, .. }), "{host}: {error}");
        assert!(error.hint().unwrap().starts_with("rote adapter allow things --cidr "), "{host}");
        assert_eq!(world.kinds(), ["effect.denied"], "{host}");
        assert!(world.workspace.response(call.response).is_ok(), "{host}");
    }
    assert_eq!(server.seen(), 0);
}

#[tokio::test]
async fn a_server_that_only_the_description_names_gets_nothing_until_a_person_says_so() {
    let (world, typed, other) = (World::new(), Server::json("{}").await, Server::json("{}").await);
    world.set_token("API_TOKEN", SECRET);
    let mut surface = Surface::with_auth(&typed.url(), Some(AuthKind::Bearer)).with_server("get", &other.url());
    let send = async |surface: &Surface| {
        let call = world.call(surface, "get", json!({}));
        // The component knows the description only.
        world.send(&call, claim_with_key("GET", &format!("{}/things/7", other.url()))).await
    };
    let error = send(&surface).await.unwrap_err();
    assert!(matches!(&error, GateError::Egress { refusal: EgressRefusal::Server { .. }, .. }), "{error}");
    assert_eq!((error.kind(), error.details().unwrap()["rule"].as_str()), (ErrorKind::Denied, Some("egress.server")));
    assert!(error.hint().unwrap().contains(&format!("rote adapter set things server {}=URL", other.url())));
    assert_eq!((typed.seen(), other.seen()), (0, 0));

    surface.manifest_mut(|manifest| drop(manifest.servers.insert(other.url(), ServerDecision::Map(typed.url()))));
    send(&surface).await.unwrap();
    assert_eq!((typed.seen(), other.seen()), (1, 0), "it was mapped to where the others go");

    surface.manifest_mut(|manifest| drop(manifest.servers.insert(other.url(), ServerDecision::Keep)));
    world.bind(&"things".parse().unwrap(), &other.url());
    send(&surface).await.unwrap();
    assert_eq!((typed.seen(), other.seen()), (1, 1), "a person kept it");
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_not_dialled() {
    let server = Server::json("{}").await;
    for answers in [&["127.0.0.1"][..], &["::1"], &["10.0.0.1"], &["169.254.169.254"], &["fd00:ec2::254"]] {
        let world = World::with_resolver(Some(FakeResolver::new(&[answers])));
        let base = format!("http://api.example.com:{}", server.address.port());
        let surface = Surface::at(&base).policy(r#"{"version":1}"#);
        let call = world.call(&surface, "get", json!({}));
        let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert_eq!(world.kinds(), ["effect.started", "effect.denied", "effect.failed"]);
    }
    assert_eq!(server.seen(), 0);
}

#[tokio::test]
async fn a_rebinding_resolver_is_asked_once_and_only_its_vetted_answer_is_dialled() {
    let server = Server::json("{}").await;
    // The second address has no grant; if anything asked again, the request would go nowhere or elsewhere.
    let resolver = FakeResolver::new(&[&["10.0.0.1", "127.0.0.1"], &["127.0.0.2"]]);
    let world = World::with_resolver(Some(resolver.clone()));
    let surface = Surface::at(&format!("http://api.example.com:{}", server.address.port()));
    let call = world.call(&surface, "get", json!({}));
    world.send(&call, claim("GET", "/things/7")).await.unwrap();
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 1);
    assert!(server.request(0).contains(&format!("host: api.example.com:{}\r\n", server.address.port())));
    // The pooled connection to the granted address is no way around the check of the second answer.
    let call = world.call(&surface, "get", json!({}));
    assert!(world.send(&call, claim("GET", "/things/7")).await.is_err());
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_grant_is_for_its_port_only() {
    let server = Server::json("{}").await;
    let policy = format!(
        r#"{{"version":1,"egress":{{"allow":[{{"cidr":"127.0.0.1/32","port":{},"reason":""}}]}}}}"#,
        server.address.port() ^ 1
    );
    let world = World::new();
    let surface = Surface::at(&server.url()).policy(&policy);
    let call = world.call(&surface, "get", json!({}));
    assert!(world.send(&call, claim("GET", "/things/7")).await.is_err());
    assert_eq!(server.seen(), 0);
}

#[tokio::test]
async fn a_request_that_is_not_the_tools_own_never_leaves() {
    let server = Server::json("{}").await;
    let other = format!("http://127.0.0.1:{}/things/7", server.address.port() ^ 1);
    let userinfo = format!("http://127.0.0.1:{}@evil.example/things/7", server.address.port());
    let cases = [
        ("DELETE", "/things/7"),
        ("GET", "/things/7/secrets"),
        ("GET", "/things/.."),
        ("GET", "/things/%2e%2e"),
        ("GET", "/things/..%2f..%2fadmin"),
        ("GET", "//evil.example/things/7"),
        ("GET", &other),
        ("GET", &userinfo),
        ("GET", "https://127.0.0.1/things/7"),
        ("GET", "/things/7#x"),
        ("GET", "/things/a\\b"),
        ("GET", ""),
        ("GET", "/things/7?_method=DELETE"),
        ("GET", "file:///etc/passwd"),
    ];
    let world = World::new();
    let surface = Surface::at(&server.url());
    for (method, url) in cases {
        let call = world.call(&surface, "get", json!({}));
        let error = world.send(&call, claim(method, url)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{method} {url}: {error}");
    }
    assert_eq!(server.seen(), 0);
}

#[tokio::test]
async fn a_redirect_elsewhere_is_recorded_and_not_followed() {
    let elsewhere = Server::json("{}").await;
    for status in ["301 M", "302 F", "303 S", "307 T", "308 P"] {
        for to in [
            elsewhere.url(),
            "http://10.0.0.1/things/7".into(),
            "file:///etc/passwd".into(),
            "//evil/x".into(),
            "/things/../admin".into(),
            "gopher://x/".into(),
        ] {
            let location = to.clone();
            let server = Server::start(move |_| answer(status, &[("location", &location)], b"")).await;
            let world = World::new();
            world.set_token("API_TOKEN", SECRET);
            let surface = Surface::with_auth(&server.url(), Some(AuthKind::Bearer));
            let call = world.call(&surface, "get", json!({}));
            let error = world.send(&call, claim_with_key("GET", "/things/7")).await.unwrap_err();
            assert!(matches!(&error, GateError::Redirected { location, .. } if *location == to), "{error}");
            assert!(error.to_string().ends_with("it does not lead to the same tool at the same origin"), "{error}");
            assert_eq!(error.kind(), ErrorKind::Upstream);
            assert_eq!(server.requests.lock().unwrap().len(), 1);
            assert!(world.recorded(&call).summary.status.is_some());
        }
    }
    assert_eq!(elsewhere.seen(), 0);
}

#[tokio::test]
async fn a_read_follows_redirects_within_its_own_route_and_a_loop_ends() {
    let server = Server::start(|request| match request.starts_with("GET /things/1 ") {
        true => answer("302 Found", &[("location", "/things/2?x=1")], b""),
        false if request.starts_with("GET /things/2?x=1 ") => ok("application/json", b"{\"ok\":true}"),
        false => answer("302 Found", &[("location", "/things/loop")], b""),
    })
    .await;
    let world = World::new();
    let surface = Surface::at(&server.url());
    let call = world.call(&surface, "get", json!({}));
    assert_eq!(world.send(&call, claim("GET", "/things/1")).await.unwrap().status, 200);
    let call = world.call(&surface, "get", json!({}));
    let error = world.send(&call, claim("GET", "/things/loop")).await.unwrap_err();
    let told =
        "`things/get` answered 302 to `/things/loop`, which is not followed: the call was redirected 5 times before";
    assert_eq!(error.to_string(), told);
    assert_eq!(server.requests.lock().unwrap().len(), 2 + 6);
}

#[tokio::test]
async fn each_hop_of_a_redirect_passes_the_checks_of_the_first_request() {
    for to in [
        "/things/2?_method=DELETE",
        "/things/2?x-http-method-override=DELETE",
        "/things/2?method=delete",
        "/things/2?access_token=evil",
        "/things/2?a=1;Api.Key=evil",
        "/things/2?token=evil",
        "/things/..;",
        "/things/%252e%252e",
    ] {
        let server = Server::start(move |_| answer("302 F", &[("location", to)], b"")).await;
        let world = World::new();
        world.set_token("API_TOKEN", SECRET);
        let surface = Surface::with_auth(&server.url(), Some(AuthKind::Bearer));
        let call = world.call(&surface, "get", json!({}));
        let error = world.send(&call, claim_with_key("GET", "/things/7")).await.unwrap_err();
        assert!(matches!(&error, GateError::Redirected { .. }), "{to}: {error}");
        assert_eq!(server.requests.lock().unwrap().len(), 1, "{to}");
    }
}

#[tokio::test]
async fn a_write_is_never_sent_twice() {
    let server = Server::start(|_| answer("307 T", &[("location", "/things/2")], b"")).await;
    let world = World::new();
    let surface = Surface::at(&server.url());
    let call = world.call(&surface, "post", json!({}));
    let error = world.send(&call, claim("POST", "/things/1")).await.unwrap_err();
    assert!(matches!(error, GateError::Redirected { .. }));
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::json("{}").await;
    let world = World::new();
    let surface = Surface::at(&server.url());
    for _ in 0..5 {
        let call = world.call(&surface, "get", json!({}));
        world.send(&call, claim("GET", "/things/7")).await.unwrap();
    }
    assert_eq!(server.seen(), 1);
}

#[tokio::test]
async fn a_document_is_fetched_from_typed_loopback_only_and_from_its_own_origin() {
    let other = Server::json("{}").await;
    let to = other.url();
    let server = Server::start(move |request| match request.starts_with("GET /away") {
        true => answer("302 F", &[("location", &to)], b""),
        false if request.starts_with("GET /moved") => answer("302 F", &[("location", "/spec.json")], b""),
        false if request.starts_with("GET /none") => answer("404 N", &[], b""),
        false => ok("application/json", b"{\"openapi\":\"3.1.0\"}"),
    })
    .await;
    let world = World::new();
    let limits = rote_types::CallLimits::default();
    let fetch = async |url: String, typed: Option<&str>| {
        let typed = typed.unwrap_or(&url).parse().unwrap();
        world.gate.fetch(&url.parse().unwrap(), &typed, &limits).await
    };
    let base = server.url();
    assert_eq!(fetch(format!("{base}/spec.json"), None).await.unwrap(), b"{\"openapi\":\"3.1.0\"}");
    assert_eq!(fetch(format!("{base}/moved"), None).await.unwrap(), b"{\"openapi\":\"3.1.0\"}");
    assert!(matches!(fetch(format!("{base}/away"), None).await, Err(GateError::Denied { .. })));
    assert!(matches!(fetch(format!("{base}/none"), None).await, Err(GateError::Upstream { .. })));
    assert!(fetch(format!("{base}/spec.json"), Some(&base)).await.is_ok());
    assert!(matches!(fetch(other.url(), Some(&base)).await, Err(GateError::Denied { .. })));
    assert!(matches!(fetch("http://10.0.0.1/x".into(), None).await, Err(GateError::Egress { .. })));
    assert!(matches!(fetch("http://169.254.169.254/latest".into(), None).await, Err(GateError::Egress { .. })));
    assert_eq!(other.seen(), 0);
}
