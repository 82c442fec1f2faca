//! Idempotency keys: which request carries which of rote's own, and which one is sent again, rote's own or the caller's.
//!
//! Invariants: a key is given to a number before its request starts, in one transaction, so that of two calls that are
//! alike only one gets the key of an earlier one; a key goes to another number only when each request that may have
//! carried it is settled with `retry`, or was offered by the run that goes on. An offer holds for a time; where that is
//! over, or what time it is is not known, a call that is alike gets no key, so that it is not made.

use jiff::Timestamp;
use rote_types::{ResponseId, Sha256Digest};
use rusqlite::{Connection, OptionalExtension};

use crate::store::{from_i64, to_i64};
use crate::{Result, Workspace, WorkspaceError};

/// The key that a request carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedKey {
    /// The key of rote's own; none where the caller gave one.
    pub key: Option<String>,
    /// Whether a request with it may have left before.
    pub again: bool,
    /// The numbers in doubt that this request is made in place of.
    pub replaces: Vec<ResponseId>,
}

/// The oldest key for a purpose whose every request may be made again, or never left: it has failed without a status.
const RETRIED: &str = "SELECT one.idempotency_key FROM responses AS one WHERE one.key_for = ?1 AND one.settled = 'retried' \
    AND one.idempotency_key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM responses AS other WHERE other.key_for = ?1 \
    AND other.idempotency_key = one.idempotency_key AND other.settled IS NOT 'retried' \
    AND NOT (other.state <> 'pending' AND other.status IS NULL AND other.settled IS NULL)) ORDER BY one.id LIMIT 1";

/// The requests that a run offers whose key is the oldest offered one for a purpose, and until when each is offered.
const OFFERED: &str = "SELECT id, idempotency_key, key_offered FROM responses WHERE key_for = ?1 AND key_offered \
    AND settled IS NULL AND idempotency_key IS (SELECT idempotency_key FROM responses \
    WHERE key_for = ?1 AND key_offered AND settled IS NULL ORDER BY id LIMIT 1) ORDER BY id";

impl Workspace {
    /// Gives an allocated number its key for `purpose`: one that was offered, or that a person said may be sent again,
    /// else `fresh`. Where the caller gave the key there is no fresh one, and only what was offered is sent again. `now`
    /// is `None` where nobody knows what time it is.
    ///
    /// # Errors
    /// `KeyTooOld` when one is offered no longer; or the database refused.
    pub fn claim_key(
        &self,
        id: ResponseId,
        purpose: &Sha256Digest,
        fresh: Option<&str>,
        now: Option<Timestamp>,
    ) -> Result<ClaimedKey> {
        let purpose = purpose.to_string();
        let claimed = self.transact("give the request its idempotency key", |transaction| {
            let claimed = match (offered(transaction, &purpose, now)?, fresh) {
                (Some(Err(too_old)), _) => return Ok(Err(too_old)),
                (Some(Ok(offered)), _) => offered,
                (None, None) => ClaimedKey { key: None, again: false, replaces: Vec::new() },
                (None, Some(fresh)) => {
                    let retried: Option<String> =
                        transaction.prepare_cached(RETRIED)?.query_row([&purpose], |row| row.get(0)).optional()?;
                    let again = retried.is_some();
                    let key = Some(retried.unwrap_or_else(|| fresh.to_owned()));
                    ClaimedKey { key, again, replaces: Vec::new() }
                }
            };
            let sql = "UPDATE responses SET key_offered = 0 WHERE key_for = ?1 AND idempotency_key IS ?2";
            transaction.prepare_cached(sql)?.execute((&purpose, &claimed.key))?;
            let sql = "UPDATE responses SET idempotency_key = ?2, key_for = ?3 WHERE id = ?1";
            transaction.prepare_cached(sql)?.execute((to_i64(id.0), &claimed.key, &purpose))?;
            Ok(Ok(claimed))
        })?;
        claimed.map_err(|id| WorkspaceError::KeyTooOld { workspace: self.name().clone(), id })
    }

    /// Lets the next call that is alike carry the key of a number in doubt, in place of it, until then.
    ///
    /// # Errors
    /// The database refused.
    pub fn offer_key(&self, id: ResponseId, until: Timestamp) -> Result<()> {
        let sql = "UPDATE responses SET key_offered = ?2 WHERE id = ?1 AND key_for IS NOT NULL";
        self.with("offer an idempotency key", |connection| {
            connection.prepare_cached(sql)?.execute((to_i64(id.0), until.as_second()))
        })?;
        Ok(())
    }

    /// Returns the digest of what the key of a number is for; `None` when it carries none.
    ///
    /// # Errors
    /// The database refused.
    pub fn key_purpose(&self, id: ResponseId) -> Result<Option<String>> {
        let sql = "SELECT key_for FROM responses WHERE id = ?1";
        let found = self.with("read an idempotency key", |connection| {
            connection.prepare_cached(sql)?.query_row([to_i64(id.0)], |row| row.get(0)).optional()
        })?;
        Ok(found.flatten())
    }
}

/// The key that is offered for a purpose, or the number whose offer holds no longer.
type Offer = std::result::Result<ClaimedKey, ResponseId>;

fn offered(transaction: &Connection, purpose: &str, now: Option<Timestamp>) -> rusqlite::Result<Option<Offer>> {
    let mut statement = transaction.prepare_cached(OFFERED)?;
    let rows = statement.query_map([purpose], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut found: Option<ClaimedKey> = None;
    for row in rows {
        let (id, key, until): (i64, Option<String>, i64) = row?;
        let id = ResponseId(from_i64(id));
        if now.is_none_or(|now| now.as_second() > until) {
            return Ok(Some(Err(id)));
        }
        found.get_or_insert(ClaimedKey { key, again: true, replaces: Vec::new() }).replaces.push(id);
    }
    Ok(found.map(Ok))
}
