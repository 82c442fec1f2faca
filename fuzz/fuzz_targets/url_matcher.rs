//! Any text as a URL: what the policy sees is what a second, independent reader sees, and nothing outside the
//! route is ever admitted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rote_govern::egress::{Route, Target, match_url, normalise};
use rote_types::Method;

/// Scheme, host, port and path by splitting alone, as RFC 3986 appendix B reads a URL.
fn second_reader(text: &str) -> (&str, &str, u16, &str) {
    let (scheme, rest) = text.split_once("://").expect("a normalised URL is absolute");
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    assert!(!authority.contains('@') && !text.contains(['#', '\\']));
    let default = if scheme == "https" { 443 } else { 80 };
    let colon = authority.rfind(':').filter(|at| *at > authority.rfind(']').unwrap_or(0));
    let (host, port) = match colon {
        Some(at) => (&authority[..at], authority[at + 1..].parse().expect("a port is a number")),
        None => (authority, default),
    };
    let path = &tail[..tail.find('?').unwrap_or(tail.len())];
    (scheme, host.trim_start_matches('[').trim_end_matches(']'), port, path)
}

fn same_view(target: &Target) {
    let (scheme, host, port, path) = second_reader(target.url().as_str());
    assert_eq!(scheme == "https", target.is_https());
    assert_eq!(host, target.host());
    assert_eq!(port, target.port());
    assert_eq!(path, target.url().path());
    assert!(path.split('/').all(|segment| segment != "." && segment != ".."));
    assert_eq!(&normalise(target.url().as_str()).expect("normalising twice is normalising once"), target.url());
}

fuzz_target!(|text: &str| {
    if let Ok(target) = Target::parse(text) {
        same_view(&target);
    }
    let bases = ["https://api.example.com/v1", "http://127.0.0.1:8080"];
    let route = Route::new(Method::Get, &bases, "/pets/{id}/v{version}.json").expect("the route is fine");
    for raw in [text.to_owned(), format!("/{text}"), format!("https://api.example.com/v1/pets/{text}")] {
        if let Ok(target) = match_url(&raw, &route) {
            same_view(&target);
            let at = (target.host(), target.port(), target.url().path().split('/').nth(1));
            assert!(matches!(at, ("api.example.com", 443, Some("v1")) | ("127.0.0.1", 8080, Some("pets"))), "{at:?}");
        }
    }
});
