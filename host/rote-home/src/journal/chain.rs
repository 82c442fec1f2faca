//! The hash chain: how an event's hash is made, and how the whole is checked.
//!
//! `sha256 = SHA-256( JCS({at, effect, kind, prev, seq}) ‖ "\n" ‖ JCS(body) )`, in which `prev` is the hash of
//! the event before it and, for the first one, `sha256("rote:audit:genesis")`.

use std::path::Path;

use jiff::Timestamp;
use rote_types::{Sha256Digest, canonical_json, sha256};
use rusqlite::{Connection, Transaction};
use serde::Serialize;

use super::{COLUMNS, Event, NewEvent, RawEvent, signed};
use crate::HomeError;

/// Returns the hash that the first event follows: `sha256("rote:audit:genesis")`.
#[must_use]
pub fn genesis() -> Sha256Digest {
    sha256(b"rote:audit:genesis")
}

/// What a check of the whole journal found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Events that were checked and are in order.
    pub events: u64,
    /// Hash of the newest event in order: worth writing down elsewhere.
    pub head: Sha256Digest,
    /// Number of the first event that does not fit.
    pub first_broken: Option<u64>,
    /// What does not fit there.
    pub problem: Option<String>,
}

impl VerifyReport {
    /// Whether the whole chain is in order.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.first_broken.is_none()
    }
}

/// What the hash covers besides the body; the fields stand in canonical order.
#[derive(Serialize)]
struct Header<'a> {
    at: &'a str,
    effect: Option<&'a str>,
    kind: &'a str,
    prev: &'a str,
    seq: u64,
}

fn hash(header: &Header<'_>, body: &str) -> Option<Sha256Digest> {
    let mut bytes = canonical_json(header).ok()?;
    bytes.push(b'\n');
    bytes.extend_from_slice(body.as_bytes());
    Some(sha256(&bytes))
}

/// The event's UUID: version 8 (RFC 9562 §5.8), made of the hash.
fn id_of(hash: Sha256Digest) -> String {
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&hash.0[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = hex::encode(bytes);
    [&digits[0..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..32]].join("-")
}

/// Reads 64 hex digits.
pub(super) fn digest_from_hex(digits: &str) -> Option<Sha256Digest> {
    let bytes = hex::decode(digits).ok()?;
    bytes.try_into().ok().map(Sha256Digest)
}

/// Appends events behind the newest one. The caller's transaction holds the write lock.
pub(super) fn append(
    transaction: &Transaction<'_>,
    path: &Path,
    at: Timestamp,
    events: &[NewEvent],
) -> Result<Vec<Event>, HomeError> {
    let failed = |source| HomeError::Database { action: "append to", path: path.to_owned(), source };
    let (seq, head) = read_head(transaction).map_err(failed)?;
    let mut prev = digest_from_hex(&head).ok_or_else(|| HomeError::Corrupt {
        path: path.to_owned(),
        reason: "the head of the chain is not a hash".to_owned(),
    })?;
    let at_text = at.to_string();
    let mut recorded = Vec::with_capacity(events.len());
    for (seq, event) in (seq + 1..).zip(events) {
        let body = canonical_json(&event.body)
            .map_err(|source| HomeError::Canonical { kind: event.kind.to_owned(), source })?;
        let body = String::from_utf8(body).expect("canonical JSON is UTF-8");
        let prev_hex = prev.hex();
        let effect = event.effect.as_ref().map(|effect| effect.0.as_str());
        let header = Header { at: &at_text, effect, kind: event.kind, prev: &prev_hex, seq };
        let hash = hash(&header, &body).expect("a header of texts and a number has a canonical form");
        let id = id_of(hash);
        insert(transaction, &header, &id, &body, &hash.hex()).map_err(failed)?;
        recorded.push(Event {
            seq,
            id,
            at,
            kind: event.kind.to_owned(),
            effect: event.effect.clone(),
            body: event.body.clone(),
            prev,
            hash,
        });
        prev = hash;
    }
    if let Some(last) = recorded.last() {
        write_head(transaction, last).map_err(failed)?;
    }
    Ok(recorded)
}

fn read_head(connection: &Connection) -> Result<(u64, String), rusqlite::Error> {
    let mut statement = connection.prepare_cached("SELECT seq, sha256 FROM head")?;
    statement.query_row([], |row| {
        let seq: i64 = row.get(0)?;
        Ok((u64::try_from(seq).unwrap_or(0), row.get(1)?))
    })
}

fn write_head(connection: &Connection, last: &Event) -> Result<(), rusqlite::Error> {
    let mut statement = connection.prepare_cached("UPDATE head SET seq = ?1, sha256 = ?2")?;
    statement.execute((signed(last.seq), last.hash.hex())).map(drop)
}

fn insert(
    connection: &Connection,
    header: &Header<'_>,
    id: &str,
    body: &str,
    hash: &str,
) -> Result<(), rusqlite::Error> {
    let mut statement = connection
        .prepare_cached(&format!("INSERT INTO events ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"))?;
    let row = (signed(header.seq), id, header.at, header.kind, header.effect, body, header.prev, hash);
    statement.execute(row).map(drop)
}

/// Walks the chain from its beginning.
pub(super) fn verify(connection: &Connection) -> Result<VerifyReport, rusqlite::Error> {
    // One read transaction: what other processes append meanwhile is not seen half.
    let transaction = connection.unchecked_transaction()?;
    let mut report = VerifyReport { events: 0, head: genesis(), first_broken: None, problem: None };
    let mut statement = transaction.prepare(&format!("SELECT {COLUMNS} FROM events ORDER BY seq"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let expected = report.events + 1;
        let checked = RawEvent::from_row(row).map_err(|error| error.to_string());
        match checked.and_then(|raw| check(&raw, expected, report.head)) {
            Ok(hash) => report.head = hash,
            Err(problem) => {
                report.first_broken = Some(expected);
                report.problem = Some(problem);
                return Ok(report);
            }
        }
        report.events = expected;
    }
    let (seq, head) = read_head(&transaction)?;
    if seq != report.events || head != report.head.hex() {
        report.first_broken = Some(report.events + 1);
        report.problem = Some(format!("the chain ends at {}, but event {seq} was recorded", report.events));
    }
    Ok(report)
}

/// Checks one event against its place in the chain and returns its hash.
fn check(raw: &RawEvent, expected: u64, prev: Sha256Digest) -> Result<Sha256Digest, String> {
    if raw.seq != signed(expected) {
        return Err(format!("event {expected} is missing, {} follows", raw.seq));
    }
    if raw.prev != prev.hex() {
        return Err("it does not follow the event before it".to_owned());
    }
    let header = Header { at: &raw.at, effect: raw.effect.as_deref(), kind: &raw.kind, prev: &raw.prev, seq: expected };
    match hash(&header, &raw.body) {
        Some(hash) if hash.hex() == raw.hash && id_of(hash) == raw.id => Ok(hash),
        _ => Err("its content does not have its hash".to_owned()),
    }
}
