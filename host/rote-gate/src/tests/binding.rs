//! A credential goes to the adapter and the origin that a person bound it to, unseen on the way, and nowhere else.

use std::sync::Arc;

use rote_types::{AuthKind, AuthSlot, Classify, ErrorKind, Manifest};
use serde_json::json;

use crate::tests::support::{FakeResolver, SECRET, Server, Surface, World, answer, claim, claim_with_key};
use crate::{ClaimedRequest, GateError};

fn nobody() -> World {
    World::unbound(None, Arc::new(|_| None))
}

fn bearer(server: &Server) -> Surface {
    Surface::with_auth(&server.url(), Some(AuthKind::Bearer))
}

/// The same surface under another id.
fn renamed(surface: &Surface, id: &str) -> Surface {
    let manifest = Manifest { id: id.parse().unwrap(), ..Manifest::clone(&surface.manifest) };
    Surface { manifest: Arc::new(manifest), tools: surface.tools.clone(), policy: surface.policy.clone() }
}

/// Makes the call and returns its failure.
async fn refused(world: &World, surface: &Surface, request: ClaimedRequest) -> GateError {
    let call = world.call(surface, "get", json!({}));
    world.send(&call, request).await.unwrap_err()
}

#[tokio::test]
async fn another_adapter_and_another_origin_get_nothing_until_a_person_binds_them() {
    let (world, own, other) = (nobody(), Server::json("{}").await, Server::json("{}").await);
    world.set_token("API_TOKEN", SECRET);
    let things = "things".parse().unwrap();
    let (mine, moved, foreign) = (bearer(&own), bearer(&other), renamed(&bearer(&own), "foreign"));
    let request = || claim_with_key("GET", "/things/7");
    assert!(matches!(refused(&world, &mine, request()).await, GateError::Unbound { stored: true, .. }));
    world.bind(&things, &own.url());
    world.send(&world.call(&mine, "get", json!({})), request()).await.unwrap();
    assert!(own.request(0).contains(SECRET));
    for (surface, id) in [(&moved, "things"), (&foreign, "foreign")] {
        let error = refused(&world, surface, request()).await;
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert_eq!(error.hint().unwrap(), format!("rote token bind API_TOKEN {id}"));
        assert_eq!(error.details().unwrap()["unbound"]["adapter"], id);
    }
    assert_eq!((own.seen(), other.seen()), (1, 0));
    world.bind(&things, &other.url());
    world.send(&world.call(&moved, "get", json!({})), request()).await.unwrap();
    assert!(other.request(0).contains(SECRET));
    world.assert_no_secret_on_disk();
}

#[tokio::test]
async fn the_environment_is_read_for_a_name_that_a_person_bound() {
    let (world, server) = (World::unbound(None, Arc::new(|_| Some(SECRET.to_owned()))), Server::json("{}").await);
    let surface = bearer(&server);
    let error = refused(&world, &surface, claim_with_key("GET", "/things/7")).await;
    assert!(matches!(error, GateError::Unbound { stored: false, .. }), "{error}");
    assert_eq!(server.seen(), 0);
    world.bind(&surface.manifest.id, &server.url());
    let call = world.call(&surface, "get", json!({}));
    world.send(&call, claim_with_key("GET", "/things/7")).await.unwrap();
    assert!(server.request(0).contains(&format!("authorization: Bearer {SECRET}")));
    assert!(matches!(
        refused(&world, &renamed(&surface, "foreign"), claim_with_key("GET", "/things/7")).await,
        GateError::Unbound { .. }
    ));
    assert_eq!(server.seen(), 1);
}

#[tokio::test]
async fn a_redirect_to_another_server_of_the_tool_does_not_take_the_credential_along() {
    let (world, far) = (nobody(), Server::json("{}").await);
    let to = format!("{}/things/7", far.url());
    let near = Server::start(move |_| answer("302 Found", &[("location", to.as_str())], b"")).await;
    let mut surface = bearer(&near);
    for tool in &mut surface.tools {
        tool.servers = vec![near.url(), far.url()];
    }
    let surface = surface.redigested();
    world.set_token("API_TOKEN", SECRET);
    world.bind(&surface.manifest.id, &near.url());
    let error = refused(&world, &surface, claim_with_key("GET", "/things/7")).await;
    assert!(matches!(error, GateError::Redirected { .. }), "{error}");
    assert_eq!((near.seen(), far.seen()), (1, 0));
}

#[tokio::test]
async fn a_credential_travels_encrypted_or_to_this_machine_or_with_a_grant() {
    let server = Server::json("{}").await;
    let port = server.address.port();
    let policy = |cleartext: &str| {
        format!(
            r#"{{"version":1,"egress":{{"allow":[{{"cidr":"127.0.0.1/32"}},{{"cidr":"10.0.0.0/8"}}],"cleartext":[{cleartext}]}}}}"#
        )
    };
    let resolver = |address: &str| -> Option<Arc<dyn crate::Resolve>> { Some(FakeResolver::new(&[&[address]])) };
    let surface = |host: &str, cleartext: &str| {
        Surface::with_auth(&format!("http://{host}:{port}"), Some(AuthKind::Bearer)).policy(&policy(cleartext))
    };
    let world = World::with_resolver(resolver("127.0.0.1"));
    world.set_token("API_TOKEN", SECRET);
    let error = refused(&world, &surface("things.test", ""), claim_with_key("GET", "/things/7")).await;
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert_eq!(error.details().unwrap()["rule"], "credential.cleartext");
    assert_eq!(error.hint().unwrap(), "rote adapter allow things --cleartext");
    assert!(!error.to_string().contains(SECRET));
    // The journal says of a dry run what the dry run says.
    let mut call = world.call(&surface("things.test", ""), "get", json!({}));
    call.dry_run = true;
    world.preview(&call, claim_with_key("GET", "/things/7")).await;
    let previewed = world.events().pop().unwrap();
    assert_eq!((previewed.kind.as_str(), &previewed.body["decision"]), ("effect.previewed", &json!("deny")));
    assert_eq!(previewed.body["rule"], "credential.cleartext");
    // What carries no credential is as free as before.
    let call = world.call(&Surface::at(&format!("http://things.test:{port}")), "get", json!({}));
    world.send(&call, claim("GET", "/things/7")).await.unwrap();
    assert_eq!(server.seen(), 1);
    let granted = format!(r#"{{"origin":"http://things.test:{port}"}}"#);
    for surface in [surface("localhost", ""), surface("things.test", &granted)] {
        let call = world.call(&surface, "get", json!({}));
        world.send(&call, claim_with_key("GET", "/things/7")).await.unwrap();
    }
    assert!(server.request(1).contains(SECRET) && server.request(2).contains(SECRET));
    // A name server cannot lead the name of this machine elsewhere.
    let world = World::with_resolver(resolver("10.9.9.9"));
    world.set_token("API_TOKEN", SECRET);
    let error = refused(&world, &surface("localhost", ""), claim_with_key("GET", "/things/7")).await;
    assert!(matches!(error, GateError::Upstream { .. }), "{error}");
}

#[tokio::test]
async fn a_field_of_a_form_is_filled_and_shown_by_its_name() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::with_auth(&server.url(), Some(AuthKind::ApiKeyForm { name: "token".into() }));
    world.set_token("API_TOKEN", SECRET);
    let form = |body: Option<&str>| ClaimedRequest {
        headers: body
            .map(|_| ("Content-Type".into(), "application/x-www-form-urlencoded; charset=utf-8".into()))
            .into_iter()
            .collect(),
        body: body.map(|body| body.as_bytes().to_vec()),
        ..claim_with_key("POST", "/things/7")
    };
    let encoded = "s3cr3t%2FValue%2B0123456789";
    let cases = [
        (
            Some("channel=C%201&to%6Ben=guest&Token=guest&token[]=guest&text=hi"),
            format!("\r\n\r\nchannel=C%201&text=hi&token={encoded}"),
        ),
        (Some(""), format!("\r\n\r\ntoken={encoded}")),
        (None, format!("\r\n\r\ntoken={encoded}")),
    ];
    for (index, (body, sent)) in cases.iter().enumerate() {
        let call = world.call(&surface, "post", json!({}));
        world.send(&call, form(*body)).await.unwrap();
        let request = server.request(index);
        assert!(request.ends_with(sent), "{request}");
        assert!(request.contains("content-type: application/x-www-form-urlencoded"), "{request}");
    }
    let mut call = world.call(&surface, "post", json!({}));
    call.dry_run = true;
    let shown = world.preview(&call, form(Some("channel=C1"))).await.body.unwrap();
    assert_eq!(shown.text, "channel=C1&token=<API_TOKEN>");
    let text = ClaimedRequest {
        headers: vec![("content-type".into(), "text/plain".into())],
        body: Some(b"hi".to_vec()),
        ..claim_with_key("POST", "/things/7")
    };
    let call = world.call(&surface, "post", json!({}));
    assert_eq!(world.send(&call, text).await.unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(server.requests.lock().unwrap().len(), cases.len());
    world.assert_no_secret_on_disk();
}

#[tokio::test]
async fn a_part_and_a_member_are_filled_and_no_second_one_stands_beside_them() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let surface = Surface::with_auth(&server.url(), Some(AuthKind::ApiKeyForm { name: "token".into() }));
    world.set_token("API_TOKEN", SECRET);
    let with = |media: &str, body: &str| ClaimedRequest {
        headers: vec![("Content-Type".into(), media.into())],
        body: Some(body.as_bytes().to_vec()),
        ..claim_with_key("POST", "/things/7")
    };
    let part = |name: &str| format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
    let (parts, json) = ("multipart/form-data; boundary=b", "Application/JSON; charset=utf-8");
    let text = format!("{}hi\r\n--b--\r\n", part("text"));
    let cases = [
        (parts, text.clone(), format!("{}{SECRET}\r\n{text}", part("token"))),
        (json, r#"{"text":"hi","n":1.10}"#.to_owned(), format!(r#"{{"token":"{SECRET}","text":"hi","n":1.10}}"#)),
        (json, "{}".to_owned(), format!(r#"{{"token":"{SECRET}"}}"#)),
    ];
    for (index, (media, body, sent)) in cases.iter().enumerate() {
        let call = world.call(&surface, "post", json!({}));
        world.send(&call, with(media, body)).await.unwrap();
        let request = server.request(index);
        assert!(request.ends_with(&format!("\r\n\r\n{sent}")), "{request}");
        let mut call = world.call(&surface, "post", json!({}));
        call.dry_run = true;
        let shown = world.preview(&call, with(media, body)).await.body.unwrap();
        assert_eq!(shown.text, sent.replace(SECRET, "<API_TOKEN>"));
    }
    let own = format!("{}mine\r\n--b--\r\n", part("token"));
    // A reader of JSON without case takes the last of two.
    let members = [r#"{"token":"mine"}"#, r#"{"text":"hi","Token":"mine"}"#, r#"{"TO\u212aEN":"mine"}"#, "[]", ""];
    for (media, body) in [(parts, own.as_str())].into_iter().chain(members.map(|body| (json, body))) {
        let call = world.call(&surface, "post", json!({}));
        let error = world.send(&call, with(media, body)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{body}");
        assert!(error.to_string().contains("`API_TOKEN` cannot be sent"), "{error}");
    }
    assert_eq!(server.requests.lock().unwrap().len(), cases.len());
    world.assert_no_secret_on_disk();
}

#[tokio::test]
async fn of_several_ways_the_recommended_one_is_named_and_one_that_is_there_is_enough() {
    let (world, server) = (World::new(), Server::json("{}").await);
    let mut surface = bearer(&server);
    let mut manifest = Manifest::clone(&surface.manifest);
    let basic =
        AuthSlot { kind: AuthKind::Basic, token_env: "API_BASIC".into(), evidence: String::new(), parameter: false };
    manifest.auth.schemes.insert("basic".into(), basic);
    manifest.auth.default_scheme = Some("key".into());
    surface.manifest = Arc::new(manifest);
    for tool in &mut surface.tools {
        tool.security.insert(0, vec!["basic".into()]);
    }
    let surface = surface.redigested();
    let request =
        || ClaimedRequest { credentials: vec![vec!["basic".into()], vec!["key".into()]], ..claim("GET", "/things/7") };
    let error = refused(&world, &surface, request()).await;
    assert_eq!(error.hint().unwrap(), "rote token set API_TOKEN");
    assert!(error.to_string().ends_with("there is no value for `API_TOKEN`; `API_BASIC` would do as well"), "{error}");
    world.set_token("API_TOKEN", SECRET);
    world.send(&world.call(&surface, "get", json!({})), request()).await.unwrap();
    assert_eq!(server.seen(), 1);
}
