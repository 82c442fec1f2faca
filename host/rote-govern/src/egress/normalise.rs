//! Reading a URL once, strictly: whatever two readers could understand differently is refused.
//!
//! Invariants: the result is what the HTTP client dials, character for character; it has a host, no user
//! information, no fragment and no dot segments. This file matches nothing against a route.

use url::{Host, Url};

use super::{EgressRefusal, shown};

/// Longest URL in bytes; servers commonly take 8 KiB.
pub(super) const MAX_URL_BYTES: usize = 64 << 10;

/// Reads an absolute `http` or `https` URL and returns it in the one form in which it is dialled.
///
/// # Errors
/// [`EgressRefusal::Url`] for user information, a fragment, port 0, backslashes, control characters, dot
/// segments in any spelling, encoded control characters, another scheme, and whatever does not parse.
pub fn normalise(raw: &str) -> Result<Url, EgressRefusal> {
    let refused = |problem: &str| EgressRefusal::Url { url: without_userinfo(raw), problem: problem.to_owned() };
    check_text(raw).map_err(refused)?;
    let Some((scheme, rest)) = raw.split_once("://") else {
        return Err(refused("it is not absolute"));
    };
    if !(scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")) {
        return Err(refused("the scheme is neither `https` nor `http`"));
    }
    let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    if authority.contains('@') {
        return Err(refused("it holds user information"));
    }
    if authority.is_empty() {
        return Err(refused("it has no host"));
    }
    let raw_path = &rest[authority.len()..];
    let raw_path = &raw_path[..raw_path.find('?').unwrap_or(raw_path.len())];
    check_path(raw_path).map_err(refused)?;

    let mut url = Url::parse(raw).map_err(|error| refused(&error.to_string()))?;
    drop_trailing_dot(&mut url).map_err(refused)?;
    check_parsed(&url, raw_path).map_err(refused)?;
    Ok(url)
}

/// Checks of the text before any parser has touched it, since parsers repair some of this silently.
fn check_text(raw: &str) -> Result<(), &'static str> {
    if raw.len() > MAX_URL_BYTES {
        return Err("it is longer than 64 KiB");
    }
    if raw.contains('\\') {
        return Err("it holds a backslash, which some readers take for `/`");
    }
    if raw.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("it holds white space or a control character");
    }
    if raw.contains('#') {
        return Err("it has a fragment, which is never sent");
    }
    Ok(())
}

/// Checks of the path as written: a dot segment would be resolved by the parser and no longer be seen.
fn check_path(path: &str) -> Result<(), &'static str> {
    for segment in path.split('/') {
        let mut decoded: Vec<u8> = percent_encoding::percent_decode_str(segment).collect();
        if decoded.iter().any(|byte| *byte < 0x20 || *byte == 0x7f) {
            return Err("its path holds an encoded control character");
        }
        // A proxy in front of a server decodes, and the server does so again.
        for _ in 0..MOST_READERS {
            if holds_dot_segment(&decoded) {
                return Err("its path holds a dot segment");
            }
            decoded = percent_encoding::percent_decode(&decoded).collect();
        }
    }
    Ok(())
}

/// How often a path is decoded on its way, at most.
const MOST_READERS: usize = 4;

/// An encoded slash may stand inside a value, but not lead a server that decodes early elsewhere; what stands behind `;` some
/// servers cut off (RFC 3986 §3.3).
fn holds_dot_segment(decoded: &[u8]) -> bool {
    let mut pieces = decoded.split(|byte| matches!(byte, b'/' | b'\\'));
    let name =
        |piece: &[u8]| piece.split(|byte| *byte == b';').next().is_some_and(|name| name == b"." || name == b"..");
    pieces.any(name)
}

/// Checks of what was parsed, against what was written.
fn check_parsed(url: &Url, raw_path: &str) -> Result<(), &'static str> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds user information");
    }
    if url.port() == Some(0) {
        return Err("port 0 cannot be dialled");
    }
    if url.cannot_be_a_base() || url.host().is_none() {
        return Err("it has no host");
    }
    // The parser lets a few signs through that no host name has and that other readers may take for ends.
    let plain = |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if matches!(url.host(), Some(Host::Domain(name)) if !plain(name)) {
        return Err("its host holds a sign that no host name has");
    }
    let written = raw_path.split('/').count().max(2);
    if url.path().split('/').count() != written {
        return Err("its path changes when it is read");
    }
    Ok(())
}

/// `example.com.` is the same host as `example.com` (RFC 1034 §3.1); one of them is dialled.
fn drop_trailing_dot(url: &mut Url) -> Result<(), &'static str> {
    let Some(Host::Domain(name)) = url.host() else {
        return Ok(());
    };
    let Some(bare) = name.strip_suffix('.') else {
        return Ok(());
    };
    if bare.is_empty() || bare.ends_with('.') {
        return Err("its host has an empty label");
    }
    let bare = bare.to_owned();
    url.set_host(Some(&bare)).map_err(|_| "its host cannot be read")
}

/// A URL for a message: whatever stands before an `@` in the authority could be a password.
fn without_userinfo(raw: &str) -> String {
    let start = raw.find("://").map_or(0, |at| at + 3);
    let end = raw[start..].find(['/', '?', '#', '\\']).map_or(raw.len(), |at| start + at);
    match raw[start..end].rfind('@') {
        Some(at) => shown(&format!("{}…{}", &raw[..start], &raw[start + at..])),
        None => shown(raw),
    }
}
