//! What a server sends back, and what a person types in, has no value of the vault in it once it is recorded.

use rote_types::{AuthKind, Classify, ErrorKind, Method};
use rote_workspace::{Body, Decoded, DecodedBody};
use serde_json::{Value, json};

use crate::GateError;
use crate::tests::support::{SECRET, Server, Surface, World, answer, claim, claim_with_key, ok};

/// A world with the secret in the vault, and what a server that answers so is recorded as.
async fn recorded(content_type: &'static str, body: Vec<u8>) -> (World, Body) {
    let server = Server::start(move |_| ok(content_type, &body)).await;
    let world = World::new();
    world.set_token("API_TOKEN", SECRET);
    let surface = Surface::with_auth(&server.url(), Some(AuthKind::Bearer));
    let call = world.call(&surface, "get", json!({}));
    world.send(&call, claim_with_key("GET", "/things/7")).await.unwrap();
    let body = world.recorded(&call).body;
    (world, body)
}

fn plain(body: &Body) -> Value {
    let text = body.as_json();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[tokio::test]
async fn json_escapes_of_any_sign_hide_nothing() {
    let all: String = SECRET.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    for spelling in [SECRET.replace('+', "\\u002B").replace('/', "\\u002F"), all] {
        let (world, body) = recorded("application/json", format!("{{\"x\":\"{spelling}\"}}").into_bytes()).await;
        assert_eq!(plain(&body), json!({"x": "<API_TOKEN>"}));
        world.assert_no_secret_on_disk();
    }
}

#[tokio::test]
async fn the_declared_character_set_hides_nothing_and_the_answer_stays_readable() {
    let wide: Vec<u8> =
        json!({"token": SECRET, "n": 1}).to_string().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let slashes = json!({"token": SECRET, "n": 1}).to_string().replace('/', "\\/");
    let escaped: Vec<u8> = slashes.encode_utf16().flat_map(u16::to_be_bytes).collect();
    // ISO-2022-JP may say "now ASCII" between any two letters.
    let shifted: String = SECRET.chars().flat_map(|c| [c.to_string(), "\u{1b}(B".to_owned()]).collect();
    let shifted = format!("{{\"token\":\"{shifted}\",\"n\":1}}").into_bytes();
    for (content_type, bytes) in [
        ("application/json; charset=utf-16le", wide),
        ("application/json; charset=utf-16be", escaped),
        ("application/json; charset=iso-2022-jp", shifted),
    ] {
        let (world, body) = recorded(content_type, bytes).await;
        assert_eq!(plain(&body), json!({"token": "<API_TOKEN>", "n": 1}), "{content_type}");
        world.assert_no_secret_on_disk();
    }
}

#[tokio::test]
async fn letters_in_another_case_and_entities_hide_nothing() {
    let page = format!("<p>no such token: {}</p>", SECRET.replace('/', "&#x2F;").replace('+', "&#43;"));
    for text in [page, SECRET.to_uppercase(), SECRET.to_lowercase()] {
        let (_, body) = recorded("text/html", text.clone().into_bytes()).await;
        assert!(plain(&body).as_str().unwrap().contains("<API_TOKEN>"), "{text}");
    }
}

#[tokio::test]
async fn a_request_url_that_is_sent_back_is_masked_in_the_form_in_which_it_was_sent() {
    let value = "AzS8Q~-!(x*y) z'";
    let server = Server::start(|request| {
        let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
        answer("200 OK", &[("content-type", "text/plain"), ("x-seen", &target)], target.as_bytes())
    })
    .await;
    let world = World::new();
    world.set_token("API_TOKEN", value);
    let surface = Surface::with_auth(&server.url(), Some(AuthKind::ApiKeyQuery { name: "key".into() }));
    let call = world.call(&surface, "get", json!({}));
    world.send(&call, claim_with_key("GET", "/things/7")).await.unwrap();
    let stored = world.recorded(&call);
    assert_eq!(plain(&stored.body), json!("/things/7?key=<API_TOKEN>"));
    assert!(stored.headers.contains(&("x-seen".to_owned(), "/things/7?key=<API_TOKEN>".to_owned())));
}

#[tokio::test]
async fn a_credential_that_this_call_does_not_use_is_masked_in_every_part_of_the_answer() {
    let world = World::new();
    world.set_token("OTHER_TOKEN", SECRET);
    let location = format!("/elsewhere?t={}", SECRET.to_lowercase().replace('/', "%2f"));
    let server = Server::start(move |_| {
        let headers = [("content-type", "application/json"), ("location", location.as_str()), ("x-last", SECRET)];
        answer("302 Found", &headers, json!({"last": SECRET, SECRET: 1}).to_string().as_bytes())
    })
    .await;
    let call = world.call(&Surface::at(&server.url()), "get", json!({}));
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert!(
        matches!(&error, GateError::Redirected { location, .. } if location == "/elsewhere?t=<OTHER_TOKEN>"),
        "{error}"
    );
    let stored = world.recorded(&call);
    assert_eq!(plain(&stored.body), json!({"last": "<OTHER_TOKEN>", "<OTHER_TOKEN>": 1}));
    assert!(stored.headers.contains(&("x-last".to_owned(), "<OTHER_TOKEN>".to_owned())));
    world.assert_no_secret_on_disk();
}

#[tokio::test]
async fn a_value_that_was_stored_a_moment_ago_is_known() {
    let world = World::new();
    let server = Server::start(|_| ok("text/plain", SECRET.as_bytes())).await;
    let surface = Surface::at(&server.url());
    for expected in [SECRET, "<LATE_TOKEN>"] {
        let call = world.call(&surface, "get", json!({}));
        world.send(&call, claim("GET", "/things/7")).await.unwrap();
        assert_eq!(plain(&world.recorded(&call).body), json!(expected));
        world.set_token("LATE_TOKEN", SECRET);
    }
}

#[tokio::test]
async fn a_value_that_is_typed_as_an_argument_is_sent_and_seen_nowhere() {
    let world = World::new();
    world.set_token("API_TOKEN", SECRET);
    let server = Server::json("{}").await;
    let surface = Surface::at(&server.url());
    // As the adapter layer does it: the log has the arguments masked.
    let masked = world.gate.redaction().mask(&json!({"id": SECRET})).unwrap();
    assert_eq!(masked, json!({"id": "<API_TOKEN>"}));
    let body = json!({"name": SECRET, "list": [{"key": format!("Bearer {SECRET}")}]});
    for (tool, dry_run) in [("post", true), ("post", false), ("delete", true), ("delete", false)] {
        let mut call = world.call(&surface, tool, masked.clone());
        call.arguments = json!({"id": SECRET}).into();
        call.dry_run = dry_run;
        let method = if tool == "post" { Method::Post } else { Method::Delete };
        let mut request =
            claim(method.as_str(), &format!("/things/7?x={}", SECRET.replace('/', "%2F").replace('+', "%2B")));
        request.headers = vec![("content-type".into(), "application/json".into()), ("x-key".into(), SECRET.into())];
        request.body = Some(body.to_string().into_bytes());
        let result = world.gate.perform(&crate::Authority::Call(&call), crate::Claim::Http(request)).await;
        let said = format!("{result:?} {:?}", result.as_ref().err().and_then(Classify::hint));
        assert!(!said.contains("s3cr3t"), "{tool}: {said}");
        if tool == "delete" && !dry_run {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::ConfirmationNeeded, "{said}");
        }
    }
    assert!(server.request(0).contains(&format!("x-key: {SECRET}")), "what was typed is what is sent");
    world.assert_no_secret_on_disk();
    let events = format!("{:?}", world.events());
    assert!(!events.contains("s3cr3t"), "{events}");
}

#[tokio::test]
async fn nothing_is_sent_while_it_is_not_known_what_to_mask() {
    let world = World::new();
    world.set_token("API_TOKEN", SECRET);
    let server = Server::json("{}").await;
    let call = world.call(&Surface::at(&server.url()), "get", json!({}));
    let tokens = world.home.tokens_file();
    let text = std::fs::read_to_string(&tokens).unwrap();
    std::fs::write(&tokens, text.replace("API_TOKEN", "API_OTHER")).unwrap();
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert_eq!((error.kind(), server.seen()), (ErrorKind::Auth, 0), "{error}");
}

#[test]
fn a_large_body_without_a_secret_is_not_copied() {
    let redactor = rote_govern::Redactor::new([rote_govern::Secret::new("A", SECRET)]);
    let text = "[\"a\"]".to_owned();
    let place = text.as_ptr();
    let body = DecodedBody { content: Decoded::Json(text), bytes: 5 };
    let Decoded::Json(kept) = crate::redaction::body(&redactor, body).content else { panic!("it was JSON") };
    assert_eq!(kept.as_ptr(), place);
}
