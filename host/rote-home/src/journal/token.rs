//! Confirm tokens: one person's word for one exact call, once, for a short time.
//!
//! The token itself is never stored, only its SHA-256, so reading the database grants nothing. Writing it grants nothing
//! either: a row counts with a MAC under the journal's key, and a token that the journal has as consumed stays used.

use jiff::{SignedDuration, Timestamp};
use rote_types::event::{APPROVAL_CONSUMED, APPROVAL_REQUESTED};
use rote_types::{AdapterId, ConfirmScope, Sha256Digest, TrustChange, TrustRoot};
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;

use super::anchor::Key;
use super::{COLUMNS, RawEvent};

/// How long an expired token is kept, so that using it late says "expired" and not "unknown": one hour.
const KEEP_EXPIRED_US: i64 = 3_600_000_000;

/// How far ahead of the clock a token may have been made, for clocks that are set to the right time: one minute.
const AHEAD: SignedDuration = SignedDuration::from_secs(60);

/// What a token is good for: this call and no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenBinding {
    pub adapter: AdapterId,
    /// What the adapter was when the token was made.
    pub trust: TrustRoot,
    pub tool: String,
    /// SHA-256 of the canonical arguments.
    pub arguments: Sha256Digest,
    /// The workspace, or the flow.
    pub scope: ConfirmScope,
}

/// A token to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// SHA-256 of the token's text.
    pub hash: Sha256Digest,
    /// What it is good for.
    pub binding: TokenBinding,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A token that somebody presents for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenClaim {
    /// SHA-256 of the presented text.
    pub hash: Sha256Digest,
    /// The call that it is presented for.
    pub binding: TokenBinding,
    /// When a credential that the adapter may use was last set: a token from before is for another account, maybe.
    pub credential_set: Option<Timestamp>,
}

/// A stored token that has not expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingToken {
    /// SHA-256 of its text.
    pub hash: Sha256Digest,
    /// What it is good for.
    pub binding: TokenBinding,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was used.
    pub consumed_at: Option<Timestamp>,
}

/// Why a presented token does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenRefusal {
    /// Nobody made it, or it expired long ago.
    #[error("the confirm token is not known")]
    Unknown,
    /// Its time is over.
    #[error("the confirm token expired at {at}")]
    Expired {
        /// When it ended.
        at: Timestamp,
    },
    /// The clock stands before the time at which it was made, so nobody knows whether its time is over.
    #[error("the confirm token was made at {at}, and the clock stands before that")]
    Ahead {
        /// When it was made.
        at: Timestamp,
    },
    /// It has confirmed a call already.
    #[error("the confirm token was used at {at}")]
    Used {
        /// When it was used.
        at: Timestamp,
    },
    /// It was made for another call.
    #[error("the confirm token was made for {}{field}", if *field == "arguments" { "other " } else { "another " })]
    Mismatch {
        /// What differs: `adapter`, `tool`, `arguments` or `workspace or flow`.
        field: &'static str,
        /// It has confirmed that call already.
        spent: bool,
    },
    /// The adapter is not what it was when the token was made.
    #[error("the confirm token no longer counts: {change}")]
    Changed {
        /// What differs.
        change: TrustChange,
    },
}

/// Stores a token and forgets those that expired an hour before it was made.
pub(super) fn put(connection: &Connection, key: &Key, token: &NewToken) -> Result<(), rusqlite::Error> {
    let created = token.created_at.as_microsecond();
    connection
        .prepare_cached("DELETE FROM confirm_tokens WHERE expires_us < ?1")?
        .execute([created.saturating_sub(KEEP_EXPIRED_US)])?;
    let binding = &token.binding;
    connection
        .prepare_cached("INSERT INTO confirm_tokens VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, ?9)")?
        .execute((
            token.hash.hex(),
            binding.adapter.as_str(),
            trust_json(&binding.trust),
            &binding.tool,
            binding.arguments.hex(),
            binding.scope.to_string(),
            created,
            token.expires_at.as_microsecond(),
            mac(key, token).hex(),
        ))
        .map(drop)
}

/// What the key says of a token: everything but whether it was used.
fn mac(key: &Key, token: &NewToken) -> Sha256Digest {
    let binding = &token.binding;
    let fields = (
        ("rote:journal:token", token.hash.hex(), &binding.adapter, &binding.trust, &binding.tool),
        (binding.arguments.hex(), binding.scope.to_string()),
        (token.created_at.as_microsecond(), token.expires_at.as_microsecond()),
    );
    key.mac(&serde_json::to_vec(&fields).expect("texts and numbers, and a trust root, which is text under text keys"))
}

/// Marks a token used, if it is good for exactly this call. The caller's transaction holds the write lock.
pub(super) fn consume(
    connection: &Connection,
    key: &Key,
    claim: &TokenClaim,
    now: Timestamp,
) -> Result<Result<(), TokenRefusal>, rusqlite::Error> {
    let mut stored = connection
        .prepare_cached("SELECT * FROM confirm_tokens WHERE token_sha256 = ?1")?
        .query_row([claim.hash.hex()], |row| from_row(key, row))
        .optional()?
        .flatten();
    // The journal is asked of a token for this call only: of another one its own row is enough for the message.
    let asks = |stored: &&mut PendingToken| {
        stored.consumed_at.is_none() && differing(&stored.binding, &claim.binding).is_none()
    };
    if let Some(stored) = stored.as_mut().filter(asks) {
        stored.consumed_at = history(connection, key, &claim.hash.to_string())?.used;
    }
    if let Err(refusal) = admit(stored.as_ref(), claim, now) {
        return Ok(Err(refusal));
    }
    let changed = connection
        .prepare_cached("UPDATE confirm_tokens SET consumed_us = ?2 WHERE token_sha256 = ?1 AND consumed_us IS NULL")?
        .execute((claim.hash.hex(), now.as_microsecond()))?;
    Ok(if changed == 1 { Ok(()) } else { Err(TokenRefusal::Used { at: now }) })
}

/// What the journal has of a token or of a request, from its end back to where that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalHistory {
    /// When it was used; an event that is not as it was written counts as that.
    pub used: Option<Timestamp>,
    /// The hash of what was asked for; none where the journal does not know of it.
    pub plan_hash: Option<String>,
    /// The latest time since then, whatever the clock said in between.
    pub latest: Option<Timestamp>,
}

/// Goes through the events by their numbers: an index could be made to leave one out; and each has to be the one that was written. No
/// time ends it, since a clock may have been set back.
pub(super) fn history(connection: &Connection, key: &Key, named: &str) -> Result<ApprovalHistory, rusqlite::Error> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM events NOT INDEXED ORDER BY seq DESC"))?;
    let mut rows = statement.query([])?;
    let (mut found, mut behind) = (ApprovalHistory::default(), None);
    while let Some(row) = rows.next()? {
        let event = RawEvent::from_row(row)?;
        let at: Option<Timestamp> = event.at.parse().ok();
        let is_written = super::chain::is_written(key, &event, behind.as_ref());
        found.latest = found.latest.max(at);
        let about = about(&event).filter(|body| is_named(body, named));
        if !is_written || (event.kind == APPROVAL_CONSUMED && about.is_some()) {
            found.used = Some(at.unwrap_or(Timestamp::UNIX_EPOCH));
            return Ok(found);
        }
        if let Some(body) = about {
            found.plan_hash = body["plan_hash"].as_str().map(str::to_owned);
            return Ok(found);
        }
        behind = Some(event);
    }
    Ok(found)
}

/// What an event about an approval says; none of another event.
fn about(event: &RawEvent) -> Option<Value> {
    let is_about = event.kind == APPROVAL_CONSUMED || event.kind == APPROVAL_REQUESTED;
    is_about.then(|| serde_json::from_str(&event.body).unwrap_or_default())
}

/// Whether an event is about a token or a request. Its name in any other place, as in an argument, is somebody's word.
fn is_named(body: &Value, named: &str) -> bool {
    ["approval", "token_hash"].iter().any(|member| body[*member] == named)
}

fn admit(stored: Option<&PendingToken>, claim: &TokenClaim, now: Timestamp) -> Result<(), TokenRefusal> {
    let wanted = &claim.binding;
    let stored = stored.ok_or(TokenRefusal::Unknown)?;
    // First: of several tokens the one for this call is looked for, and what is said of it is said of no other.
    if let Some(field) = differing(&stored.binding, wanted) {
        return Err(TokenRefusal::Mismatch { field, spent: stored.consumed_at.is_some() });
    }
    if let Some(at) = stored.consumed_at {
        return Err(TokenRefusal::Used { at });
    }
    if now >= stored.expires_at {
        return Err(TokenRefusal::Expired { at: stored.expires_at });
    }
    if stored.created_at.duration_since(now) > AHEAD {
        return Err(TokenRefusal::Ahead { at: stored.created_at });
    }
    let set = claim.credential_set.filter(|set| *set > stored.created_at).map(|_| TrustChange::CredentialSet);
    let change = stored.binding.trust.change(&wanted.trust).or(set);
    change.map_or(Ok(()), |change| Err(TokenRefusal::Changed { change }))
}

/// What of the call for which a token was made is not so of the one for which it is presented.
fn differing(made_for: &TokenBinding, wanted: &TokenBinding) -> Option<&'static str> {
    let fields = [
        ("adapter", made_for.adapter != wanted.adapter),
        ("tool", made_for.tool != wanted.tool),
        ("arguments", made_for.arguments != wanted.arguments),
        ("workspace or flow", made_for.scope != wanted.scope),
    ];
    fields.into_iter().find_map(|(field, differs)| differs.then_some(field))
}

fn trust_json(trust: &TrustRoot) -> String {
    serde_json::to_string(trust).expect("a trust root is text under text keys")
}

/// The tokens of an adapter that have not expired, oldest first.
pub(super) fn unexpired(
    connection: &Connection,
    key: &Key,
    adapter: &AdapterId,
    now: Timestamp,
) -> Result<Vec<PendingToken>, rusqlite::Error> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM confirm_tokens WHERE adapter = ?1 AND expires_us > ?2 ORDER BY created_us, token_sha256",
    )?;
    let rows = statement.query_map((adapter.as_str(), now.as_microsecond()), |row| from_row(key, row))?;
    rows.filter_map(Result::transpose).collect()
}

/// Reads a row; one that this code has not written grants nothing and is left out.
fn from_row(key: &Key, row: &Row<'_>) -> Result<Option<PendingToken>, rusqlite::Error> {
    let text = |column: usize| row.get::<_, String>(column);
    let time = |column: usize| row.get::<_, i64>(column).map(|us| Timestamp::from_microsecond(us).ok());
    let consumed: Option<i64> = row.get(8)?;
    let (hash, arguments) = (super::chain::digest_from_hex(&text(0)?), super::chain::digest_from_hex(&text(4)?));
    let (adapter, scope) = (text(1)?.parse().ok(), text(5)?.parse().ok());
    let (trust, tool) = (serde_json::from_str(&text(2)?).ok(), text(3)?);
    let (created_at, expires_at) = (time(6)?, time(7)?);
    let claimed = super::chain::digest_from_hex(&text(9)?);
    Ok((|| {
        let binding = TokenBinding { adapter: adapter?, trust: trust?, tool, arguments: arguments?, scope: scope? };
        let token = NewToken { hash: hash?, binding, created_at: created_at?, expires_at: expires_at? };
        let NewToken { hash, binding, created_at, expires_at } =
            (claimed == Some(mac(key, &token))).then_some(token)?;
        let consumed_at = consumed.map(|us| Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH));
        Some(PendingToken { hash, binding, created_at, expires_at, consumed_at })
    })())
}
