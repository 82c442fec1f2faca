//! Rows that are gone although the journal knows that their requests were begun.
//!
//! The journal is on disk before a write leaves, a row need not be: a power cut takes the newest ones, and so does whoever
//! puts an older copy of the database back. The numbers are taken up again, without an outcome, so that none is given twice.

use std::sync::Arc;

use rote_types::ResponseId;
use serde_json::Value;

use crate::record::insert_call;
use crate::store::{allocate, to_i64};
use crate::{CommandId, NewCall, Result, Workspace};

/// A call that was begun and is not in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LostCall {
    /// Its number.
    pub id: ResponseId,
    /// What it called; its arguments are not known, which `null` says.
    pub call: NewCall,
    /// Where it went, without the query.
    pub url: String,
}

/// What is said of the outcome of one.
const LOST: &str = "the workspace lost its record, which the journal has; it may have happened";

impl Workspace {
    /// Takes up calls whose numbers it knows nothing of: as in doubt where they write.
    ///
    /// # Errors
    /// The database refused; then none was taken up.
    pub fn take_up(&self, lost: &[LostCall]) -> Result<()> {
        self.transact("take up lost calls", |transaction| {
            for LostCall { id, call, url } in lost {
                let sql = "SELECT count(*) FROM responses WHERE id = ?1";
                let twice: i64 = transaction.prepare_cached(sql)?.query_row([to_i64(id.0)], |row| row.get(0))?;
                if twice > 0 {
                    continue;
                }
                let command = CommandId(allocate(transaction, "command", 1)?);
                let unknown = Arc::new(Value::Null);
                let call = NewCall { raw_arguments: Arc::clone(&unknown), arguments: unknown, ..call.clone() };
                insert_call(transaction, (command, *id), &call)?;
                let sql = "UPDATE responses SET owner = '', url = ?2, error = ?3 WHERE id = ?1";
                transaction.prepare_cached(sql)?.execute((to_i64(id.0), url, LOST))?;
                let sql = "UPDATE counter SET value = max(value, ?1) WHERE name = 'response'";
                transaction.prepare_cached(sql)?.execute([to_i64(id.0)])?;
            }
            Ok(())
        })
    }
}
