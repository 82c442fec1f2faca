//! Servers that are down, slow, endless, lying or broken.

use std::time::{Duration, Instant};

use async_compression::tokio::bufread::GzipEncoder;

use crate::{GateError, UpstreamFailure};
use rote_types::{Classify, Effected, ErrorKind};
use rote_workspace::{Body, ResponseState};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::tests::support::{Server, Surface, World, answer, claim, ok, read_request};

fn failure(error: &GateError) -> &UpstreamFailure {
    match error {
        GateError::Upstream { failure, .. } => failure,
        other => panic!("{other:?}"),
    }
}

/// A server that sends `head` and then `chunk` again and again, with a pause between.
async fn endless(head: &'static str, chunk: Vec<u8>, pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let chunk = chunk.clone();
            tokio::spawn(async move {
                read_request(&mut stream, &mut Vec::new()).await;
                stream.write_all(head.as_bytes()).await.ok();
                while stream.write_all(&chunk).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            });
        }
    });
    base
}

#[tokio::test]
async fn an_answer_is_recorded_with_its_status_and_body() {
    let server =
        Server::start(|_| answer("404 Not Found", &[("content-type", "application/json")], b"{\"e\":1}")).await;
    let world = World::new();
    let surface = Surface::at(&server.url());
    let call = world.call(&surface, "get", json!({}));
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    let response = error.recorded().unwrap();
    assert_eq!((response.id, response.status, response.bytes), (call.response, 404, 7));
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert_eq!(world.recorded(&call).summary.state, ResponseState::Error);
    assert_eq!(world.kinds(), ["effect.started", "effect.finished"]);
}

#[tokio::test]
async fn an_answer_that_says_no_in_a_success_is_a_failure_of_the_api_and_no_doubt() {
    let body = br#"{"ok":false,"error":"is_archived"}"#;
    let server = Server::start(|_| answer("200 OK", &[("content-type", "application/json")], body)).await;
    let (world, surface) = (World::new(), Surface::at(&server.url()));
    for _again in 0..2 {
        let call = world.call(&surface, "patch", json!({}));
        let error = world.send(&call, claim("PATCH", "/things/7")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream);
        let message = format!(
            "`patch` of adapter `things` answered 200: `ok` is false, is_archived (recorded as `{}`)",
            call.response
        );
        assert_eq!(error.to_string(), message);
        let summary = world.recorded(&call).summary;
        assert_eq!((summary.state, summary.effected()), (ResponseState::Error, Some(Effected::No)));
        assert!(!summary.is_open());
    }
    let started = world.kinds().into_iter().filter(|kind| kind == "effect.started").count();
    assert_eq!(started, 2, "a write that was refused may be made again");
    let call = world.call(&surface, "get", json!({}));
    world.send(&call, claim("GET", "/things/7")).await.expect("nothing says what `ok` means here");
}

#[tokio::test]
async fn broken_json_is_an_upstream_error_and_stays_on_record() {
    let server =
        Server::start(|_| answer("200 OK", &[("content-type", "application/json")], b"{\"items\": [1, 2")).await;
    let world = World::new();
    let call = world.call(&Surface::at(&server.url()), "get", json!({}));
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(&error, GateError::BrokenJson { problem, .. } if problem.starts_with("EOF")), "{error}");
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert_eq!(error.recorded().map(|response| response.id), Some(call.response));
    assert!(matches!(world.recorded(&call).body, Body::Text { text, .. } if text == "{\"items\": [1, 2"));
}

#[tokio::test]
async fn a_refused_credential_is_an_auth_error() {
    let server = Server::start(|_| answer("401 Unauthorized", &[], b"")).await;
    let world = World::new();
    let call = world.call(&Surface::at(&server.url()), "get", json!({}));
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
}

#[tokio::test]
async fn nobody_listening_is_unreachable_and_the_number_keeps_the_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let world = World::new();
    let call = world.call(&Surface::at(&base), "get", json!({}));
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(failure(&error), UpstreamFailure::Unreachable { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Upstream);
    let recorded = world.recorded(&call);
    assert_eq!(recorded.summary.state, ResponseState::Error);
    assert_eq!(world.kinds(), ["effect.started", "effect.failed"]);
}

#[tokio::test]
async fn a_body_without_end_is_cut_at_its_bound() {
    let base = endless("HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 64 << 10], Duration::ZERO).await;
    let world = World::new();
    let mut call = world.call(&Surface::at(&base), "get", json!({}));
    call.limits.body_bytes = 1 << 20;
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(failure(&error), UpstreamFailure::TooLarge { limit: 1_048_576, .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[tokio::test]
async fn a_compression_bomb_is_cut_at_the_same_bound() {
    let bomb = bomb();
    let server = Server::start(move |_| answer("200 OK", &[("content-encoding", "gzip")], &bomb)).await;
    let world = World::new();
    let mut call = world.call(&Surface::at(&server.url()), "get", json!({}));
    call.limits.body_bytes = 1 << 20;
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(failure(&error), UpstreamFailure::TooLarge { .. }), "{error}");
}

/// Two megabytes of zeros in 13 KB of gzip, as a stream without end.
fn bomb() -> Vec<u8> {
    // A fixed-Huffman stream of one zero and 258-byte matches, made by hand so that no compressor
    // is needed. `BTYPE=01`; literal 0 is 00110000; length 258 is code 285 = 11000101; distance 1 is 00000.
    let mut bits: Vec<u8> = vec![1, 1, 0];
    bits.extend([0, 0, 1, 1, 0, 0, 0, 0]);
    for _ in 0..8_200 {
        bits.extend([1, 1, 0, 0, 0, 1, 0, 1]);
        bits.extend([0, 0, 0, 0, 0]);
    }
    bits.extend([0, 0, 0, 0, 0, 0, 0]);
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    for byte in bits.chunks(8) {
        member.push(byte.iter().enumerate().fold(0, |sum, (at, bit)| sum | (bit << at)));
    }
    // The checksum is never reached: the bound is.
    member.extend([0; 8]);
    member
}

#[tokio::test]
async fn a_body_that_is_not_what_its_encoding_says_is_an_error() {
    for encoding in ["gzip", "br", "zstd", "deflate"] {
        let server = Server::start(move |_| answer("200 OK", &[("content-encoding", encoding)], b"\x07 not it")).await;
        let world = World::new();
        let call = world.call(&Surface::at(&server.url()), "get", json!({}));
        let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
        assert!(matches!(failure(&error), UpstreamFailure::Encoding { .. }), "{encoding}: {error:?}");
    }
}

#[tokio::test]
async fn a_body_is_decoded_or_an_error_and_not_recorded_compressed() {
    let packed = gzip(b"{}").await;
    let twice = gzip(&packed).await;
    let said = |values: &[&'static str]| values.iter().map(|value| ("content-encoding", *value)).collect::<Vec<_>>();
    for (headers, body, recorded) in [
        (said(&["GZIP"]), packed.clone(), Some(2)),
        (said(&["x-gzip"]), packed.clone(), Some(2)),
        (said(&["gzip, identity"]), packed.clone(), Some(2)),
        (said(&["gzip,"]), packed.clone(), Some(2)),
        (said(&["gzip", "gzip"]), twice.clone(), Some(2)),
        (said(&["gzip, gzip"]), twice.clone(), Some(2)),
        (said(&["gzip"]), twice.clone(), None),
        (said(&["gzip", "deflate"]), packed.clone(), None),
        (said(&["gzip"; 5]), packed.clone(), None),
        (said(&["identity", "Br"]), b"{}".to_vec(), None),
        (said(&["zlib"]), packed.clone(), None),
        (said(&["compress"]), packed.clone(), None),
        (said(&["gzip", "none"]), packed.clone(), Some(2)),
        (said(&["none"]), packed.clone(), None),
        (said(&["aws-chunked", "gzip"]), packed.clone(), Some(2)),
        (vec![("content-type", "application/json")], packed.clone(), None),
        (vec![("content-type", "application/gzip")], packed.clone(), Some(packed.len())),
        (said(&["identity"]), b"{}".to_vec(), Some(2)),
        (said(&["utf-8"]), b"{}".to_vec(), Some(2)),
        (said(&["GZIP"]), Vec::new(), Some(0)),
    ] {
        let mut head = headers.clone();
        if headers.iter().all(|(name, _)| *name != "content-type") {
            head.push(("content-type", "application/json"));
        }
        let server = Server::start(move |_| answer("200 OK", &head, &body)).await;
        let world = World::new();
        let call = world.call(&Surface::at(&server.url()), "get", json!({}));
        match world.send(&call, claim("GET", "/things/7")).await {
            Err(error) => {
                assert!(matches!(failure(&error), UpstreamFailure::Encoding { .. }), "{headers:?}: {error}");
                assert_eq!(recorded, None, "{headers:?}: {error}");
            }
            Ok(response) => assert_eq!(usize::try_from(response.bytes).ok(), recorded, "{headers:?}"),
        }
    }
}

async fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    GzipEncoder::new(bytes).read_to_end(&mut packed).await.unwrap();
    packed
}

#[tokio::test]
async fn a_server_that_never_answers_is_left_at_the_first_byte_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let world = World::new();
    let mut call = world.call(&Surface::at(&base), "get", json!({}));
    call.limits.first_byte = Duration::from_millis(50);
    let since = Instant::now();
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(failure(&error), UpstreamFailure::Timeout { stage: "first byte", .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(since.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_server_that_drips_is_left_at_the_total_deadline() {
    let base = endless("HTTP/1.1 200 OK\r\n\r\n", vec![b'x'], Duration::from_millis(5)).await;
    let world = World::new();
    let mut call = world.call(&Surface::at(&base), "get", json!({}));
    call.limits.total = Duration::from_millis(100);
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(failure(&error), UpstreamFailure::Timeout { stage: "total", .. }), "{error}");
}

#[tokio::test]
async fn too_many_headers_are_refused() {
    let big = "x".repeat(80 << 10);
    let server = Server::start(move |_| answer("200 OK", &[("x-big", &big)], b"")).await;
    let world = World::new();
    let call = world.call(&Surface::at(&server.url()), "get", json!({}));
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(failure(&error), UpstreamFailure::TooLarge { what: "headers", .. }), "{error}");
    let base = endless("HTTP/1.1 200 OK\r\n", b"x-more: yes and no and yes again\r\n".repeat(64), Duration::ZERO).await;
    let call = world.call(&Surface::at(&base), "get", json!({}));
    let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
    assert!(matches!(failure(&error), UpstreamFailure::TooLarge { what: "headers", .. }), "{error}");
}

#[tokio::test]
async fn what_is_no_http_or_breaks_off_is_a_protocol_failure() {
    for bytes in [&b"SSH-2.0-OpenSSH\r\n"[..], b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort", b""] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream, &mut Vec::new()).await;
            stream.write_all(bytes).await.unwrap();
        });
        let world = World::new();
        let call = world.call(&Surface::at(&base), "get", json!({}));
        let error = world.send(&call, claim("GET", "/things/7")).await.unwrap_err();
        assert!(matches!(failure(&error), UpstreamFailure::Protocol { .. }), "{bytes:?}: {error:?}");
    }
}

#[tokio::test]
async fn further_requests_of_one_call_get_numbers_of_their_own_up_to_the_bound() {
    let server = Server::start(|_| ok("text/plain", b"hi")).await;
    let world = World::new();
    let mut call = world.call(&Surface::at(&server.url()), "get", json!({}));
    call.limits.sends = 2;
    let first = world.send(&call, claim("GET", "/things/1")).await.unwrap();
    let second = world.send(&call, claim("GET", "/things/2")).await.unwrap();
    assert_ne!(first.id, second.id);
    let error = world.send(&call, claim("GET", "/things/3")).await.unwrap_err();
    assert_eq!((error.kind(), world.kinds().len()), (ErrorKind::Limit, 4), "what is over the bound begins nothing");
}

#[tokio::test]
async fn an_answer_without_a_body_has_none_whatever_its_encoding_says() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 100\r\n\r\n";
    let server = Server::start(move |_| head.to_vec()).await;
    let world = World::new();
    let call = world.call(&Surface::at(&server.url()), "head", json!({}));
    let response = world.send(&call, claim("HEAD", "/things/7")).await.unwrap();
    assert_eq!((response.status, response.bytes), (200, 0));
}
