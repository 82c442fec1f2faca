//! The hash chain: how an event's hash is made, and how events are appended.
//!
//! `sha256 = HMAC-SHA-256( key, JCS({at, effect, kind, prev, seq}) ‖ "\n" ‖ JCS(body) )`, in which `prev` is the hash
//! of the event before it and, for the first one, `sha256("rote:audit:genesis")`. Up to schema 2 it was
//! SHA-256 of the same bytes; such a beginning ends with the event `journal.keyed`.

use std::path::Path;

use jiff::Timestamp;
use rote_types::{Sha256Digest, canonical_json, sha256};
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use super::anchor::{Key, Place};
use super::{COLUMNS, Event, NewEvent, RawEvent, open, signed};
use crate::HomeError;

/// Returns the hash that the first event follows: `sha256("rote:audit:genesis")`.
#[must_use]
pub fn genesis() -> Sha256Digest {
    sha256(b"rote:audit:genesis")
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

/// How an event's hash is made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Link<'k> {
    /// Without a key, as up to schema 2.
    Plain,
    /// With the journal's key.
    Keyed(&'k Key),
}

fn hash(link: Link<'_>, header: &Header<'_>, body: &str) -> Option<Sha256Digest> {
    let mut bytes = canonical_json(header).ok()?;
    bytes.push(b'\n');
    bytes.extend_from_slice(body.as_bytes());
    Some(match link {
        Link::Plain => sha256(&bytes),
        Link::Keyed(key) => key.mac(&bytes),
    })
}

/// The event's UUID: version 8 (RFC 9562 §5.8), made of the hash.
pub(super) fn id_of(hash: Sha256Digest) -> String {
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

/// Appends events behind `head`, the newest one. The caller's transaction holds the write lock.
pub(super) fn append(
    transaction: &Connection,
    path: &Path,
    key: &Key,
    head: Place,
    at: Timestamp,
    events: &[NewEvent],
) -> Result<Vec<Event>, HomeError> {
    let failed = |source| HomeError::Database { action: "append to", path: path.to_owned(), source };
    let mut prev = head.hash;
    let at_text = at.to_string();
    let mut recorded = Vec::with_capacity(events.len());
    for (seq, event) in (head.seq + 1..).zip(events) {
        let body = canonical_json(&event.body)
            .map_err(|source| HomeError::Canonical { kind: event.kind.to_owned(), source })?;
        let body = String::from_utf8(body).expect("canonical JSON is UTF-8");
        let prev_hex = prev.hex();
        let effect = event.effect.as_ref().map(|effect| effect.0.as_str());
        let header = Header { at: &at_text, effect, kind: event.kind, prev: &prev_hex, seq };
        let hash = hash(Link::Keyed(key), &header, &body).expect("a header of texts and a number has a canonical form");
        let id = id_of(hash);
        insert(transaction, &header, &id, &body, &hash.hex()).map_err(failed)?;
        open::follow(transaction, event).map_err(failed)?;
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
    Ok(recorded)
}

/// Returns the newest event's place; one whose hash is not one has a hash that fits nothing.
pub(super) fn head(connection: &Connection) -> Result<Place, rusqlite::Error> {
    let mut statement = connection.prepare_cached("SELECT seq, sha256 FROM events ORDER BY seq DESC LIMIT 1")?;
    let found = statement.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).optional()?;
    Ok(found.map_or(Place { seq: 0, hash: genesis() }, |(seq, hash)| Place {
        seq: u64::try_from(seq).unwrap_or(0),
        hash: digest_from_hex(&hash).unwrap_or(Sha256Digest([0; 32])),
    }))
}

/// Returns the hash that stands at an event's number.
pub(super) fn hash_at(connection: &Connection, seq: u64) -> Result<Option<Sha256Digest>, rusqlite::Error> {
    let mut statement = connection.prepare_cached("SELECT sha256 FROM events WHERE seq = ?1")?;
    let found: Option<String> = statement.query_row([signed(seq)], |row| row.get(0)).optional()?;
    Ok(found.and_then(|hash| digest_from_hex(&hash)))
}

/// Returns what a journal before schema 3 said of its end.
pub(super) fn plain_head(connection: &Connection) -> Result<(u64, String), rusqlite::Error> {
    connection.query_row("SELECT seq, sha256 FROM plain_head", [], |row| {
        Ok((u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0), row.get(1)?))
    })
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
    one_row(statement.execute(row)?)
}

/// Refuses what changed no row, or several: a trigger that somebody hung into the database makes an insert nothing.
pub(super) fn one_row(changed: usize) -> Result<(), rusqlite::Error> {
    if changed == 1 { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(changed)) }
}

/// Returns the number of an event before the first, which no chain has.
pub(super) fn before_first(connection: &Connection) -> Result<Option<i64>, rusqlite::Error> {
    let mut statement = connection.prepare_cached("SELECT seq FROM events WHERE seq < 1 LIMIT 1")?;
    statement.query_row([], |row| row.get(0)).optional()
}

/// Returns what somebody hung into the database: a view or a trigger that is not one of the two that keep events as they are.
pub(super) fn hung(connection: &Connection) -> Result<Option<String>, rusqlite::Error> {
    let sql = "SELECT type || ' `' || name || '`' FROM sqlite_schema WHERE type = 'view' OR type = 'trigger' \
               AND NOT (tbl_name = 'events' AND name IN ('events_are_not_updated', 'events_are_not_deleted')) LIMIT 1";
    connection.query_row(sql, [], |row| row.get(0)).optional()
}

/// A walk along the chain that stops at the first event which does not follow.
#[derive(Debug)]
pub(super) struct Walk {
    /// The last event that follows.
    pub(super) place: Place,
    /// What is wrong with the next one.
    pub(super) problem: Option<String>,
}

/// Walks from the event after `from` to the end. `link` says how each one's hash is made; `seen` is told of each.
pub(super) fn walk<'k>(
    connection: &Connection,
    from: Place,
    link: impl Fn(u64) -> Link<'k>,
    mut seen: impl FnMut(Place),
) -> Result<Walk, rusqlite::Error> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM events WHERE seq > ?1 ORDER BY seq"))?;
    let mut rows = statement.query([signed(from.seq)])?;
    let mut walk = Walk { place: from, problem: None };
    while let Some(row) = rows.next()? {
        let expected = walk.place.seq + 1;
        let raw = RawEvent::from_row(row).map_err(|error| error.to_string());
        match raw.and_then(|raw| check(link(expected), &raw, expected, walk.place.hash)) {
            Ok(hash) => walk.place = Place { seq: expected, hash },
            Err(problem) => {
                walk.problem = Some(problem);
                break;
            }
        }
        seen(walk.place);
    }
    Ok(walk)
}

/// Whether an event is as it was written, and the one behind it follows from it. Of a beginning without a key only the place in the
/// chain is known.
pub(super) fn is_written(key: &Key, event: &RawEvent, behind: Option<&RawEvent>) -> bool {
    if behind.is_some_and(|behind| behind.prev != event.hash || behind.seq != event.seq + 1) {
        return false;
    }
    let (Ok(seq), Some(prev)) = (u64::try_from(event.seq), digest_from_hex(&event.prev)) else { return false };
    [Link::Keyed(key), Link::Plain].into_iter().any(|link| check(link, event, seq, prev).is_ok())
}

/// Checks one event against its place in the chain and returns its hash.
fn check(link: Link<'_>, raw: &RawEvent, expected: u64, prev: Sha256Digest) -> Result<Sha256Digest, String> {
    if raw.seq != signed(expected) {
        return Err(format!("event {expected} is missing, {} follows", raw.seq));
    }
    if raw.prev != prev.hex() {
        return Err("it does not follow the event before it".to_owned());
    }
    let header = Header { at: &raw.at, effect: raw.effect.as_deref(), kind: &raw.kind, prev: &raw.prev, seq: expected };
    match hash(link, &header, &raw.body) {
        Some(hash) if hash.hex() == raw.hash && id_of(hash) == raw.id => Ok(hash),
        _ => Err("its content does not have its hash".to_owned()),
    }
}
