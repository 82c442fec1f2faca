//! Taking an injected value out of whatever comes back, before anybody else sees it.
//!
//! Invariants: works on bytes after decompression, so text, binary and split chunks are alike; looks for the
//! value plain, URL-encoded, JSON- and HTML-escaped, in hexadecimal, UTF-16 and base64 at every alignment;
//! a value shorter than four bytes is no secret and is not looked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use memchr::memmem::Finder;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rote_types::AuthKind;
use secrecy::ExposeSecret;

use crate::credential::{Credential, basic};

/// Shortest value that is looked for.
const SHORTEST: usize = 4;
/// Shortest fragment of base64 that is looked for; shorter ones stand in any text.
const SHORTEST_BASE64: usize = 6;

/// What `encodeURIComponent` leaves, besides letters and digits.
const COMPONENT: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');
/// What RFC 3986 calls unreserved.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Texts up to this size are searched spelling by spelling, which needs no preparation.
const SMALL: usize = 32 << 10;

/// Replaces the values of one request's credentials by their names.
#[derive(Debug, Default)]
pub(crate) struct Redactor {
    spellings: Vec<Finder<'static>>,
    masks: Vec<String>,
    /// All spellings at once; made when the first text is large or holds one of them.
    automaton: OnceLock<AhoCorasick>,
}

impl Redactor {
    /// Prepares the search; costs nothing when there is no credential.
    pub(crate) fn new(credentials: &[Credential]) -> Self {
        let mut patterns: BTreeMap<Vec<u8>, String> = BTreeMap::new();
        for credential in credentials {
            let mask = format!("<{}>", credential.token);
            for secret in secrets_of(credential) {
                if secret.len() < SHORTEST {
                    continue;
                }
                for spelling in spellings(&secret) {
                    patterns.entry(spelling).or_insert_with(|| mask.clone());
                }
            }
        }
        let spellings = patterns.keys().map(|pattern| Finder::new(pattern).into_owned()).collect();
        Self { spellings, masks: patterns.into_values().collect(), automaton: OnceLock::new() }
    }

    /// The automaton, when `text` has something to replace.
    fn found_in(&self, text: &[u8]) -> Option<&AhoCorasick> {
        if self.spellings.is_empty() {
            return None;
        }
        if text.len() <= SMALL && !self.spellings.iter().any(|spelling| spelling.find(text).is_some()) {
            return None;
        }
        let search = self.automaton.get_or_init(|| automaton(self.spellings.iter().map(Finder::needle)));
        search.is_match(text).then_some(search)
    }

    /// Redacts bytes.
    pub(crate) fn bytes(&self, body: Vec<u8>) -> Vec<u8> {
        match self.found_in(&body) {
            Some(search) => search.replace_all_bytes(&body, &self.masks),
            None => body,
        }
    }

    /// Redacts text.
    pub(crate) fn text(&self, text: String) -> String {
        match self.found_in(text.as_bytes()) {
            Some(search) => {
                String::from_utf8_lossy(&search.replace_all_bytes(text.as_bytes(), &self.masks)).into_owned()
            }
            None => text,
        }
    }

    /// Redacts headers, names included.
    pub(crate) fn headers(&self, headers: Vec<(String, String)>) -> Vec<(String, String)> {
        headers.into_iter().map(|(name, value)| (self.text(name), self.text(value))).collect()
    }
}

fn automaton<'n>(needles: impl Iterator<Item = &'n [u8]>) -> AhoCorasick {
    // A deterministic automaton of long tokens would take tens of megabytes.
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(needles)
        .expect("tokens are bounded by the vault, far below the automaton's limit of 2^31 states")
}

/// The texts of a credential that are secret on their own.
fn secrets_of(credential: &Credential) -> Vec<Vec<u8>> {
    let value = credential.value.expose_secret();
    let mut secrets = vec![value.as_bytes().to_vec()];
    if credential.kind == AuthKind::Basic {
        secrets.push(basic(value).into_bytes());
        let pair = value.split_once(':');
        secrets.extend(pair.map(|(_, password)| password.as_bytes().to_vec()));
    }
    secrets
}

/// Every spelling of a secret that a server is likely to send back.
fn spellings(secret: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut texts = BTreeSet::from([secret.to_vec()]);
    for set in [&COMPONENT, &UNRESERVED, NON_ALPHANUMERIC] {
        let encoded = percent_encode(secret, set).to_string();
        texts.insert(encoded.replace("%20", "+").into_bytes());
        texts.insert(lower_escapes(&encoded).into_bytes());
        texts.insert(encoded.into_bytes());
    }
    let mut all = BTreeSet::new();
    if let Ok(text) = std::str::from_utf8(secret) {
        texts.extend(escaped(text));
        all.insert(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        all.insert(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    all.insert(hex::encode(secret).into_bytes());
    all.insert(hex::encode_upper(secret).into_bytes());
    // A whole request that is sent back in base64 holds the credential as it stood in there.
    for text in &texts {
        for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
            all.insert(engine.encode(text).into_bytes());
        }
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            all.extend((0..3).filter_map(|offset| base64_fragment(engine, text, offset)));
        }
    }
    all.extend(texts);
    all.retain(|spelling| spelling.len() >= SHORTEST);
    all
}

/// `%2F` as `%2f`.
fn lower_escapes(encoded: &str) -> String {
    let mut left = 0;
    encoded
        .chars()
        .map(|c| {
            if c == '%' {
                left = 2;
                return c;
            }
            let c = if left > 0 { c.to_ascii_lowercase() } else { c };
            left = usize::saturating_sub(left, 1);
            c
        })
        .collect()
}

/// The text as JSON and HTML writers escape it.
fn escaped(text: &str) -> Vec<Vec<u8>> {
    let json = serde_json::to_string(text).unwrap_or_default();
    let json = json.trim_matches('"').to_owned();
    let unicode = |c: char| match c {
        '<' | '>' | '&' | '\'' | '+' | '=' | '\u{7f}'.. => {
            c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        other => other.to_string(),
    };
    let ascii: String = json.chars().map(unicode).collect();
    let html = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let quoted = html.replace('\'', "&#39;");
    let all = [json.replace('/', "\\/"), ascii.replace('/', "\\/"), json, ascii, html, quoted];
    all.into_iter().map(String::into_bytes).collect()
}

/// The part of a base64 text that the secret alone decides when it starts `offset` bytes into a group.
fn base64_fragment(engine: &impl Engine, secret: &[u8], offset: usize) -> Option<Vec<u8>> {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(secret);
    let encoded = engine.encode(&padded);
    // Characters that also carry bits of what stands before or after are not decided by the secret.
    let start = (offset * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    let fragment = encoded.get(start..end)?;
    (fragment.len() >= SHORTEST_BASE64).then(|| fragment.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::SecretString;

    const SECRET: &str = "s3cr3t/Tok+en=\"é&<x>";

    fn redactor(kind: AuthKind, value: &str) -> Redactor {
        Redactor::new(&[Credential { kind, token: "API_TOKEN".into(), value: SecretString::from(value) }])
    }

    #[test]
    fn every_spelling_of_a_secret_is_replaced() {
        let redactor = redactor(AuthKind::Bearer, SECRET);
        let mut texts = vec![
            SECRET.to_owned(),
            serde_json::to_string(SECRET).unwrap(),
            serde_json::to_string(SECRET).unwrap().replace('/', "\\/"),
            url::form_urlencoded::byte_serialize(SECRET.as_bytes()).collect(),
            percent_encode(SECRET.as_bytes(), NON_ALPHANUMERIC).to_string(),
            percent_encode(SECRET.as_bytes(), &COMPONENT)
                .to_string()
                .to_lowercase()
                .replace("s3cr3t%2ftok", "s3cr3t%2fTok"),
            hex::encode(SECRET),
            hex::encode_upper(SECRET),
            STANDARD.encode(SECRET),
            URL_SAFE_NO_PAD.encode(SECRET),
        ];
        for before in ["", "u", "us", "use", "user:"] {
            for after in ["", "!", "!!", "tail"] {
                texts.push(STANDARD.encode(format!("{before}{SECRET}{after}")));
                texts.push(URL_SAFE.encode(format!("{before}{SECRET}{after}")));
            }
        }
        for text in texts {
            let clean = String::from_utf8(redactor.bytes(format!("before {text} after").into_bytes())).unwrap();
            assert!(clean.contains("<API_TOKEN>"), "{text} -> {clean}");
        }
    }

    #[test]
    fn binary_and_wide_text_are_searched_too() {
        let redactor = redactor(AuthKind::Bearer, "hunter22");
        let wide: Vec<u8> = "hunter22".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let clean = redactor.bytes([&[0xff, 0x01][..], &wide, &[0xfe]].concat());
        assert_eq!(clean, [&[0xff, 0x01][..], b"<API_TOKEN>", &[0xfe]].concat());
    }

    #[test]
    fn the_password_of_a_basic_credential_is_secret_on_its_own() {
        let redactor = redactor(AuthKind::Basic, "alice:hunter22");
        for text in ["hunter22", "alice:hunter22", &STANDARD.encode("alice:hunter22")] {
            assert!(!redactor.text(format!("x {text} y")).contains(text), "{text}");
        }
        assert_eq!(redactor.text("alice".into()), "alice");
    }

    #[test]
    fn a_text_without_the_secret_is_untouched() {
        let redactor = redactor(AuthKind::Bearer, SECRET);
        assert_eq!(redactor.text("nothing to see".into()), "nothing to see");
        assert_eq!(Redactor::new(&[]).bytes(b"abc".to_vec()), b"abc");
    }
}
