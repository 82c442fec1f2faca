//! What is open, compared with the events that it follows from: the tables have no hash, so that whoever may write the file
//! could take a row out, and with it the write that a run begun anew would make again.
//!
//! What the events say is found by [`follow`] itself, over a database in memory. Rows of a chain that a restart put aside follow
//! from events that nobody can believe any more: where there was one, rows beyond the events are as they should be.

use std::collections::BTreeSet;

use rote_types::event::JOURNAL_RESTARTED;
use rote_types::{ResponseId, WorkspaceName};
use rusqlite::{Connection, Row};

use super::open::{FOLLOWED, PUT_WRITE, follow};
use super::{Durability, Journal, NewEvent, OPEN};
use crate::HomeError;

/// Workspace id, workspace, flow, digest of the parameters.
type RunRow = (String, String, String, String);
/// Workspace id, number, workspace, id of the root's workspace; adapter, tool and digest of the arguments.
type WriteRow = (String, i64, String, Option<String>, Option<String>, Option<String>, Option<String>);

/// How the tables of what is open differ from the events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenDifference {
    runs: (BTreeSet<RunRow>, BTreeSet<RunRow>),
    writes: (BTreeSet<WriteRow>, BTreeSet<WriteRow>),
}

impl OpenDifference {
    /// Whether there is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns how many rows are missing, and how many are there that no event made.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.runs.0.len() + self.writes.0.len(), self.runs.1.len() + self.writes.1.len())
    }

    /// Returns the writes that are missing.
    pub fn missing_writes(&self) -> impl Iterator<Item = (WorkspaceName, ResponseId)> + '_ {
        self.writes.0.iter().filter_map(|(_, response, workspace, ..)| {
            Some((workspace.parse().ok()?, ResponseId(u64::try_from(*response).ok()?)))
        })
    }
}

impl Journal {
    /// Compares what is open with what the events say; of a journal whose chain is whole.
    ///
    /// # Errors
    /// [`HomeError::Database`].
    pub fn open_difference(&self) -> Result<OpenDifference, HomeError> {
        let connection = self.connection();
        let compared = || {
            let snapshot = connection.unchecked_transaction()?;
            difference(&snapshot)
        };
        compared().map_err(self.failed("read"))
    }

    /// Makes what is open as the events say; returns how it differed.
    ///
    /// # Errors
    /// [`HomeError::Database`].
    pub fn mend_open(&self) -> Result<OpenDifference, HomeError> {
        self.at_durability(&self.connection(), Durability::Disk, |transaction| {
            mend(transaction).map_err(self.failed("write to"))
        })
    }
}

fn difference(connection: &Connection) -> Result<OpenDifference, rusqlite::Error> {
    let said = Connection::open_in_memory()?;
    said.execute_batch(OPEN)?;
    replay(connection, &said)?;
    let restarted = connection.prepare("SELECT 1 FROM events WHERE kind = ?1 LIMIT 1")?.exists([JOURNAL_RESTARTED])?;
    let (said_runs, runs) = (rows(&said, RUNS, run)?, rows(connection, RUNS, run)?);
    let (mut said_writes, writes) = (rows(&said, WRITES, write)?, rows(connection, WRITES, write)?);
    // A journal of before took over the writes of those runs only that are open.
    let ids: BTreeSet<&String> = said_runs.iter().map(|(id, ..)| id).collect();
    said_writes.retain(|row| ids.contains(&row.0) || row.3.as_deref() == Some("") || writes.contains(row));
    let mut found = OpenDifference {
        runs: (&said_runs - &runs, &runs - &said_runs),
        writes: (&said_writes - &writes, &writes - &said_writes),
    };
    if restarted {
        (found.runs.1, found.writes.1) = (BTreeSet::new(), BTreeSet::new());
    }
    Ok(found)
}

/// Makes in `said` what the events say is open.
fn replay(connection: &Connection, said: &Connection) -> Result<(), rusqlite::Error> {
    let kinds: Vec<String> = FOLLOWED.iter().map(|kind| format!("'{kind}'")).collect();
    let sql = format!("SELECT kind, body_json FROM events WHERE kind IN ({}) ORDER BY seq", kinds.join(", "));
    let mut statement = connection.prepare(&sql)?;
    let mut events = statement.query([])?;
    while let Some(row) = events.next()? {
        let (kind, body) = (row.get::<_, String>(0)?, row.get::<_, String>(1)?);
        let kind = FOLLOWED.into_iter().find(|followed| *followed == kind);
        if let (Some(kind), Ok(body)) = (kind, serde_json::from_str(&body)) {
            follow(said, &NewEvent { kind, effect: None, body })?;
        }
    }
    Ok(())
}

fn mend(transaction: &Connection) -> Result<OpenDifference, rusqlite::Error> {
    let found = difference(transaction)?;
    for (id, ..) in &found.runs.1 {
        transaction.execute("DELETE FROM open_runs WHERE workspace_id = ?1", [id])?;
    }
    for (id, response, ..) in &found.writes.1 {
        transaction.execute("DELETE FROM open_writes WHERE workspace_id = ?1 AND response = ?2", (id, response))?;
    }
    for row in found.runs.0.iter().cloned() {
        let sql =
            "INSERT OR REPLACE INTO open_runs (workspace_id, workspace, flow, parameters) VALUES (?1, ?2, ?3, ?4)";
        transaction.execute(sql, row)?;
    }
    for row in found.writes.0.iter().cloned() {
        transaction.execute(PUT_WRITE, row)?;
    }
    Ok(found)
}

const RUNS: &str = "SELECT workspace_id, workspace, flow, parameters FROM open_runs";
const WRITES: &str = "SELECT workspace_id, response, workspace, run, adapter, tool, arguments FROM open_writes";

fn run(row: &Row<'_>) -> Result<RunRow, rusqlite::Error> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn write(row: &Row<'_>) -> Result<WriteRow, rusqlite::Error> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
}

fn rows<T: Ord>(
    connection: &Connection,
    sql: &str,
    read: fn(&Row<'_>) -> Result<T, rusqlite::Error>,
) -> Result<BTreeSet<T>, rusqlite::Error> {
    connection.prepare(sql)?.query_map([], read)?.collect()
}
