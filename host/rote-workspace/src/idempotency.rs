//! Idempotency keys of rote's own: which request carries which, and which one is sent again.
//!
//! Invariants: a key is given to a number before its request starts, in one transaction, so that of two calls that are
//! alike only one gets the key of an earlier one; a key goes to another number only when each request that may have
//! carried it is settled with `retry`, or was offered by the run that goes on.

use rote_types::{ResponseId, Sha256Digest};
use rusqlite::{OptionalExtension, Transaction};

use crate::store::{from_i64, to_i64};
use crate::{Result, Workspace};

/// The key that a request carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedKey {
    /// The key.
    pub key: String,
    /// Whether a request with it may have left before.
    pub again: bool,
    /// The numbers in doubt that this request is made in place of.
    pub replaces: Vec<ResponseId>,
}

/// The oldest key for a purpose whose every request may be made again, or never left: it has failed without a status.
const RETRIED: &str = "SELECT one.idempotency_key FROM responses AS one WHERE one.key_for = ?1 AND one.settled = 'retried' \
    AND NOT EXISTS (SELECT 1 FROM responses AS other WHERE other.key_for = ?1 \
    AND other.idempotency_key = one.idempotency_key AND other.settled IS NOT 'retried' \
    AND NOT (other.state <> 'pending' AND other.status IS NULL AND other.settled IS NULL)) ORDER BY one.id LIMIT 1";

/// The requests that a run offers whose key is the oldest offered one for a purpose.
const OFFERED: &str = "SELECT id, idempotency_key FROM responses WHERE key_for = ?1 AND key_offered \
    AND settled IS NULL AND idempotency_key = (SELECT idempotency_key FROM responses \
    WHERE key_for = ?1 AND key_offered AND settled IS NULL ORDER BY id LIMIT 1) ORDER BY id";

impl Workspace {
    /// Gives an allocated number its key for `purpose`: one that was offered, or that a person said may be sent again,
    /// else `fresh`.
    ///
    /// # Errors
    /// The database refused.
    pub fn claim_key(&self, id: ResponseId, purpose: &Sha256Digest, fresh: &str) -> Result<ClaimedKey> {
        let purpose = purpose.to_string();
        self.transact("give the request its idempotency key", |transaction| {
            let claimed = match offered(transaction, &purpose)? {
                Some(offered) => offered,
                None => {
                    let retried =
                        transaction.prepare_cached(RETRIED)?.query_row([&purpose], |row| row.get(0)).optional()?;
                    let again = retried.is_some();
                    ClaimedKey { key: retried.unwrap_or_else(|| fresh.to_owned()), again, replaces: Vec::new() }
                }
            };
            let sql = "UPDATE responses SET key_offered = 0 WHERE key_for = ?1 AND idempotency_key = ?2";
            transaction.prepare_cached(sql)?.execute((&purpose, &claimed.key))?;
            let sql = "UPDATE responses SET idempotency_key = ?2, key_for = ?3 WHERE id = ?1";
            transaction.prepare_cached(sql)?.execute((to_i64(id.0), &claimed.key, &purpose))?;
            Ok(claimed)
        })
    }

    /// Lets the next call that is alike carry the key of a number in doubt, in place of it.
    ///
    /// # Errors
    /// The database refused.
    pub fn offer_key(&self, id: ResponseId) -> Result<()> {
        let sql = "UPDATE responses SET key_offered = 1 WHERE id = ?1 AND idempotency_key IS NOT NULL";
        self.with("offer an idempotency key", |connection| connection.prepare_cached(sql)?.execute([to_i64(id.0)]))?;
        Ok(())
    }

    /// Returns the digest of what the key of a number is for; `None` when it carries none of rote's own.
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

fn offered(transaction: &Transaction<'_>, purpose: &str) -> rusqlite::Result<Option<ClaimedKey>> {
    let mut statement = transaction.prepare_cached(OFFERED)?;
    let rows = statement.query_map([purpose], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let mut found: Option<ClaimedKey> = None;
    for row in rows {
        let (id, key) = row?;
        let claimed = found.get_or_insert(ClaimedKey { key, again: true, replaces: Vec::new() });
        claimed.replaces.push(ResponseId(from_i64(id)));
    }
    Ok(found)
}
