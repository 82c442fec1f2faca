//! The journal's key and anchor together: whether the journal on disk is the one that was written.
//!
//! Invariants: nothing is appended to a journal that does not end as the anchor says; a chain without a key is checked
//! from its beginning before it is taken over, once, and only in a home that shows no trace of keys; the anchor is there before the key, and the key before the first
//! event that needs it, so that only a removal leaves one without the other.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rote_types::{Entropy, event};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::json;

use super::anchor::{Anchor, Key, Place, Record, Unlocked};
use super::chain::{self, Link};
use super::{NewEvent, genesis};
use crate::key::host_key_after;
use crate::keyed;
use crate::{Durability, Home, HomeError};

/// Purpose of the host key.
pub(super) const KEY: &str = "journal";

/// Why a journal is not the one that was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Breach {
    /// The chain is broken in its middle, or from its beginning.
    #[error("event {seq} does not fit: {problem}")]
    Event {
        /// Its number.
        seq: u64,
        /// What does not fit.
        problem: String,
    },
    /// Events at the end, or all of them, are not there.
    #[error("events {first} to {last} are gone: the anchor says that {last} were written")]
    Cut {
        /// Number of the first missing event.
        first: u64,
        /// Number of the last one that was written.
        last: u64,
    },
    /// There is another event where the anchor was.
    #[error("event {seq} is not the one that the anchor names")]
    Other {
        /// Its number.
        seq: u64,
    },
    /// An event stands before the first one.
    #[error("event {seq} stands before the first one and was added by somebody else")]
    Before {
        /// Its number.
        seq: i64,
    },
    /// The database does something by itself when it is written to or read.
    #[error("its database has a {what} that rote did not make")]
    Hung {
        /// What, with its name.
        what: String,
    },
    /// The anchor was removed.
    #[error("its anchor `secrets/journal.anchor` is gone")]
    AnchorMissing,
    /// The anchor was changed, or made with another key.
    #[error("its anchor `secrets/journal.anchor` was changed, or its key was")]
    AnchorChanged,
    /// The file is not a journal any more.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// The key was removed.
    #[error("its key `secrets/.journal.key` is gone")]
    KeyMissing,
}

/// What a check of the whole journal found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Events that were checked and are in order.
    pub events: u64,
    /// Hash of the newest event in order: worth writing down elsewhere.
    pub head: rote_types::Sha256Digest,
    /// Number of the first event that does not fit, when it is an event that does not.
    pub first_broken: Option<u64>,
    /// What does not fit.
    pub problem: Option<String>,
    /// First and last event that are missing since the machine was started anew: a power cut takes what was not synced.
    pub lost: Option<(u64, u64)>,
}

impl VerifyReport {
    /// Whether the whole chain is in order.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.problem.is_none()
    }

    /// The database cannot be read as the journal that it was.
    pub(super) fn unreadable(breach: Breach) -> Self {
        Self::found(Place { seq: 0, hash: genesis() }, Some(breach))
    }

    fn found(place: Place, breach: Option<Breach>) -> Self {
        let first_broken = match &breach {
            Some(Breach::Event { seq, .. } | Breach::Other { seq } | Breach::Cut { first: seq, .. }) => Some(*seq),
            _ => None,
        };
        // Of one event the number is told beside the problem.
        let problem = breach.map(|breach| match breach {
            Breach::Event { problem, .. } => problem,
            other => other.to_string(),
        });
        Self { events: place.seq, head: place.hash, first_broken, problem, lost: None }
    }
}

/// Key and anchor of one journal.
#[derive(Debug)]
pub(super) struct Seal {
    journal: PathBuf,
    anchor: PathBuf,
    key: Result<Key, Breach>,
    /// The anchor, between two of its moves.
    kept: Mutex<Option<Unlocked>>,
}

/// The anchor, held while one appends, and where the chain ends.
pub(super) struct Held<'s> {
    pub(super) key: &'s Key,
    pub(super) anchor: Anchor,
}

/// What must be known before an event is appended.
pub(super) struct Admitted {
    pub(super) head: Place,
    /// Events about the journal itself that come first.
    pub(super) due: Vec<NewEvent>,
}

impl Seal {
    /// Loads the key. With the first key the chain so far is taken over.
    pub(super) fn open(home: &Home, entropy: &dyn Entropy, connection: &Connection) -> Result<Self, HomeError> {
        let (journal, anchor) = (home.journal_file(), home.journal_anchor_file());
        let take_over = |bytes: &[u8; 32]| {
            if Record::claimed(&anchor).is_some_and(|record| record.is_used()) || keyed::was(home) {
                return Err(HomeError::Breached { path: journal.clone(), breach: Breach::KeyMissing });
            }
            let place = check_plain(connection, &journal)?;
            Record::new(place).create(&anchor, &Key::new(bytes))
        };
        let key = match host_key_after(home, KEY, entropy, take_over) {
            Ok(bytes) => {
                keyed::mark(home, KEY)?;
                Ok(Key::new(&bytes))
            }
            Err(HomeError::Breached { breach, .. }) => Err(breach),
            Err(error) => return Err(error),
        };
        Ok(Self { journal, anchor, key, kept: Mutex::new(None) })
    }

    /// The journal's key.
    pub(super) fn key(&self) -> Result<&Key, HomeError> {
        self.key.as_ref().map_err(|breach| self.breached(breach.clone()))
    }

    /// Locks the anchor, for as long as the result lives.
    pub(super) fn hold(&self) -> Result<Held<'_>, HomeError> {
        let key = self.key()?;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let anchor = match kept {
            Some(kept) => kept.lock(&self.anchor, key),
            None => Anchor::lock(&self.anchor, key),
        };
        let anchor = anchor?.map_err(|breach| self.breached(breach))?;
        Ok(Held { key, anchor })
    }

    /// Moves the anchor behind what was committed, and keeps it for the next time.
    pub(super) fn advance(&self, mut held: Held<'_>, (head, place): (Place, Place), durability: Durability) {
        if place != head {
            held.anchor.advance(held.key, head, place, durability);
        }
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = held.anchor.unlock();
    }

    /// Checks that the chain ends as the anchor says, and whatever stands behind it. The caller's transaction holds the
    /// write lock.
    pub(super) fn admit(&self, held: &Held<'_>, connection: &Connection) -> Result<Admitted, HomeError> {
        let failed = |source| HomeError::Database { action: "read", path: self.journal.clone(), source };
        if let Some(seq) = chain::before_first(connection).map_err(failed)? {
            return Err(self.breached(Breach::Before { seq }));
        }
        let (record, head) = (&held.anchor.record, chain::head(connection).map_err(failed)?);
        let mut due = Vec::new();
        if head != record.latest {
            let (from, lost) = anchored(record, head).map_err(|breach| self.breached(breach))?;
            let breach = follow(connection, held.key, from).map_err(failed)?;
            breach.map_or(Ok(()), |breach| Err(self.breached(breach)))?;
            if let Some((first, last)) = lost {
                due.push(NewEvent {
                    kind: event::JOURNAL_LOST,
                    effect: None,
                    body: json!({ "first": first, "last": last }),
                });
            }
        }
        if head.seq > 0 && head.seq + 1 == record.keyed_from {
            let body = json!({ "events": head.seq, "head": head.hash });
            due.push(NewEvent { kind: event::JOURNAL_KEYED, effect: None, body });
        }
        Ok(Admitted { head, due })
    }

    /// Walks the whole chain and compares its end with the anchor.
    pub(super) fn verify(&self, connection: &Connection) -> Result<VerifyReport, HomeError> {
        let failed = |source| HomeError::Database { action: "verify", path: self.journal.clone(), source };
        let start = Place { seq: 0, hash: genesis() };
        let Ok(key) = &self.key else {
            return Ok(VerifyReport::found(start, self.key.as_ref().err().cloned()));
        };
        // The anchor is held until the snapshot is taken: what other processes append meanwhile is not seen half.
        let anchor = Anchor::lock(&self.anchor, key)?;
        let transaction = connection.unchecked_transaction().map_err(failed)?;
        let head = chain::head(&transaction).map_err(failed)?;
        let record = anchor.map(|anchor| anchor.record);
        let keyed_from = match &record {
            Ok(record) => record.keyed_from,
            Err(_) => chain::plain_head(&transaction).map_err(failed)?.0 + 1,
        };
        let link = |seq| if seq < keyed_from { Link::Plain } else { Link::Keyed(key) };
        let anchored_at = record.as_ref().ok().map(|record| anchored(record, head));
        let mut other = match &anchored_at {
            Some(Ok((place, _))) if place.seq > 0 => Some(*place),
            _ => None,
        };
        let walk = chain::walk(&transaction, start, link, |place| {
            other = other.filter(|wanted| *wanted != place);
        });
        let walk = walk.map_err(failed)?;
        let before = chain::before_first(&transaction).map_err(failed)?.map(|seq| Breach::Before { seq });
        let hung = chain::hung(&transaction).map_err(failed)?.map(|what| Breach::Hung { what });
        let breach = match (walk.problem, anchored_at.clone(), record) {
            _ if before.is_some() || hung.is_some() => before.or(hung),
            (Some(problem), ..) => Some(Breach::Event { seq: walk.place.seq + 1, problem }),
            (None, Some(Err(breach)), _) | (None, _, Err(breach)) => Some(breach),
            _ => other.map(|place| Breach::Other { seq: place.seq }),
        };
        let mut report = VerifyReport::found(walk.place, breach);
        report.lost = anchored_at.and_then(Result::ok).and_then(|(_, lost)| lost);
        Ok(report)
    }

    pub(super) fn breached(&self, breach: Breach) -> HomeError {
        HomeError::Breached { path: self.journal.clone(), breach }
    }
}

/// The place from which on a chain that ends at `head` is to be checked, and which events a power cut took.
type Anchored = (Place, Option<(u64, u64)>);

fn anchored(record: &Record, head: Place) -> Result<Anchored, Breach> {
    if head.seq >= record.latest.seq {
        return Ok((record.latest, None));
    }
    let (first, last) = (head.seq + 1, record.latest.seq);
    if record.is_of_another_boot() && head.seq >= record.synced.seq {
        Ok((record.synced, Some((first, last))))
    } else {
        Err(Breach::Cut { first, last })
    }
}

/// Checks that the event at `from` is the anchored one, and that those behind it follow under the key.
fn follow(connection: &Connection, key: &Key, from: Place) -> Result<Option<Breach>, rusqlite::Error> {
    if from.seq > 0 && chain::hash_at(connection, from.seq)? != Some(from.hash) {
        return Ok(Some(Breach::Other { seq: from.seq }));
    }
    let walk = chain::walk(connection, from, |_| Link::Keyed(key), |_| ())?;
    Ok(walk.problem.map(|problem| Breach::Event { seq: walk.place.seq + 1, problem }))
}

/// Checks a chain without a key from its beginning and returns its end.
fn check_plain(connection: &Connection, path: &std::path::Path) -> Result<Place, HomeError> {
    let failed = |source| HomeError::Database { action: "verify", path: path.to_owned(), source };
    let start = Place { seq: 0, hash: genesis() };
    let walk = chain::walk(connection, start, |_| Link::Plain, |_| ()).map_err(failed)?;
    let (last, hash) = chain::plain_head(connection).map_err(failed)?;
    let seq = walk.place.seq + 1;
    let breach = match walk.problem {
        Some(problem) => Some(Breach::Event { seq, problem }),
        None if walk.place.seq < last => Some(Breach::Cut { first: seq, last }),
        None if walk.place.seq != last || walk.place.hash.hex() != hash => Some(Breach::Other { seq: walk.place.seq }),
        None => None,
    };
    breach.map_or(Ok(walk.place), |breach| Err(HomeError::Breached { path: path.to_owned(), breach }))
}
