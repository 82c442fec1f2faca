//! The two writes of each call: its number before the effect, the outcome behind it. What is handed in while one of them is
//! under way is the next transaction, with one commit for all of it; each stands or falls for itself.

use rote_home::{Group, write_all_to};
use rote_types::ResponseId;
use rusqlite::Connection;

use crate::doubt::note_settled;
use crate::filing::note_unfiled;
use crate::record::insert_call;
use crate::response_file::Word;
use crate::store::{allocate, to_i64, word};
use crate::{CommandId, CommandStatus, NewCall, Result, Workspace};

/// What waits to be written.
pub(crate) type Writing = Group<Write, Result<Written>>;

/// One write.
pub(crate) enum Write {
    /// Calls get numbers, all of them or none.
    Begin(Vec<NewCall>),
    /// A number gets its outcome.
    End(Box<Ending>),
}

/// The outcome of a number, as its row has it.
pub(crate) struct Ending {
    pub(crate) id: ResponseId,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) status: Option<u16>,
    pub(crate) content_type: String,
    pub(crate) body_kind: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) started_at: String,
    pub(crate) duration_ms: u64,
    /// What is wrong, of one that is an error.
    pub(crate) error: Option<String>,
    /// The word that ends its doubt with it.
    pub(crate) settled: Option<Word>,
    /// What is kept of the response; none where its file has that.
    pub(crate) content: Option<Vec<u8>>,
}

/// What came of it.
pub(crate) enum Written {
    Begun(Vec<(CommandId, ResponseId)>),
    /// How many rows waited for the outcome.
    Ended(usize),
}

impl Written {
    pub(crate) fn begun(self) -> Vec<(CommandId, ResponseId)> {
        if let Self::Begun(begun) = self { begun } else { Vec::new() }
    }

    pub(crate) fn count(self) -> usize {
        if let Self::Ended(count) = self { count } else { 0 }
    }
}

impl Write {
    fn action(&self) -> &'static str {
        match self {
            Self::Begin(_) => "log the call",
            Self::End(_) => "record the response",
        }
    }

    fn has_content(&self) -> bool {
        matches!(self, Self::End(ending) if ending.content.is_some())
    }

    fn run(&self, transaction: &Connection) -> rusqlite::Result<Written> {
        match self {
            Self::Begin(calls) => begin(transaction, calls).map(Written::Begun),
            Self::End(ending) => ending.run(transaction).map(Written::Ended),
        }
    }
}

impl Workspace {
    /// Writes, and waits with the thread.
    pub(crate) fn write(&self, write: Write) -> Result<Written> {
        self.writing.wait(write, false, |all| self.write_all(&all))
    }

    /// Writes, for a task to wait for.
    pub(crate) async fn write_soon(&self, write: Write) -> Result<Written> {
        self.writing.hand_in(write, |all| self.write_all(&all)).await
    }

    fn write_all(&self, all: &[Write]) -> Vec<Result<Written>> {
        let written = match self.connection() {
            Ok(connection) => {
                let written =
                    write_all_to(&connection, |source| source, all, |transaction, write| write.run(transaction));
                let told = written.into_iter().zip(all);
                told.map(|(one, write)| one.map_err(|source| self.refused(write.action(), source))).collect()
            }
            // Each has an error of its own.
            Err(_) => all.iter().map(|one| self.transact(one.action(), |transaction| one.run(transaction))).collect(),
        };
        self.note_kept(all.iter().filter(|write| write.has_content()).count());
        written
    }
}

fn begin(transaction: &Connection, calls: &[NewCall]) -> rusqlite::Result<Vec<(CommandId, ResponseId)>> {
    let count = u64::try_from(calls.len()).unwrap_or(u64::MAX);
    if count == 0 {
        return Ok(Vec::new());
    }
    let command = allocate(transaction, "command", count)?;
    let response = allocate(transaction, "response", count)?;
    let mut begun = Vec::with_capacity(calls.len());
    for (offset, call) in (0..count).zip(calls) {
        let ids = (CommandId(command + offset), ResponseId(response + offset));
        insert_call(transaction, ids, call)?;
        begun.push(ids);
    }
    Ok(begun)
}

impl Ending {
    /// Writes the outcome into the row and the command's status; returns how many rows were pending.
    fn run(&self, transaction: &Connection) -> rusqlite::Result<usize> {
        let status = if self.error.is_some() { CommandStatus::Failed } else { CommandStatus::Succeeded };
        let sql = "UPDATE responses SET state = 'recorded', is_error = ?2, method = ?3, url = ?4, status = ?5, \
                   content_type = ?6, body_kind = ?7, bytes = ?8, sha256 = ?9, started_at = ?10, \
                   duration_ms = ?11, error = ?12 WHERE id = ?1 AND state = 'pending'";
        let changed = transaction.prepare_cached(sql)?.execute(rusqlite::params![
            to_i64(self.id.0),
            self.error.is_some(),
            self.method,
            self.url,
            self.status,
            self.content_type,
            self.body_kind,
            to_i64(self.bytes),
            self.sha256,
            self.started_at,
            to_i64(self.duration_ms),
            self.error,
        ])?;
        let sql = "UPDATE commands SET status = ?2 WHERE status = 'started' \
                   AND sequence = (SELECT command FROM responses WHERE id = ?1)";
        transaction.prepare_cached(sql)?.execute((to_i64(self.id.0), word(status)))?;
        if changed == 0 {
            return Ok(changed);
        }
        if let Some(content) = &self.content {
            let sql = "INSERT OR REPLACE INTO small_responses (id, content) VALUES (?1, ?2)";
            transaction.prepare_cached(sql)?.execute((to_i64(self.id.0), content))?;
            note_unfiled(transaction, self.id)?;
        }
        if let Some(settled) = self.settled {
            note_settled(transaction, self.id, settled, None)?;
        }
        Ok(changed)
    }
}
