//! The files of responses that are kept in rows: made when no call waits for them.
//!
//! Invariants: the row is what is read; a number stands in `unfiled` from the transaction of its row until its file is there,
//! so that whoever opens the workspace after a kill finds it; a file is made under the lock of the database, so that nobody
//! clears the number meanwhile. What cannot be written now stays in `unfiled`, and no command fails for it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use rote_home::{FileMode, write_atomic};
use rote_types::ResponseId;
use rusqlite::Connection;

use crate::Workspace;
use crate::store::{database_file, from_i64, to_i64};

/// Most rows of one handle without a file, about.
pub(crate) const MAX_UNFILED: usize = 256;
/// Most files made in one transaction, so that calls hardly wait for it.
const FILES_AT_ONCE: i64 = 16;

/// What one handle has yet to see to.
#[derive(Debug, Default)]
pub(crate) struct Filing(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    has_kept: bool,
    /// Rows since the thread was begun.
    rows: usize,
    thread: Option<JoinHandle<()>>,
}

impl Filing {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the thread, so that nobody writes behind the end; returns whether there were rows.
    pub(crate) fn wait(&self) -> bool {
        let (has_kept, thread) = {
            let mut state = self.state();
            (state.has_kept, state.thread.take())
        };
        // It has nothing to say.
        thread.and_then(|thread| thread.join().ok());
        has_kept
    }
}

/// Writes down that the file of a number does not have what its row has.
pub(crate) fn note_unfiled(transaction: &Connection, id: ResponseId) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO unfiled (id) VALUES (?1)";
    transaction.prepare_cached(sql)?.execute([to_i64(id.0)]).map(drop)
}

impl Workspace {
    /// Counts rows that this handle has written; a thread makes their files once there are many.
    pub(crate) fn note_kept(&self, rows: usize) {
        if rows == 0 {
            return;
        }
        let mut state = self.filing.state();
        state.has_kept = true;
        state.rows = state.rows.saturating_add(rows);
        if state.rows < MAX_UNFILED || state.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let (home, name) = (self.home.clone(), self.name().clone());
        let file = move || drop(Self::open(&home, &name));
        // Without a thread it is done at the end.
        state.thread = Builder::new().name("rote-filing".to_owned()).spawn(file).ok();
        state.rows = 0;
    }

    /// Makes the files that are left to make.
    pub(crate) fn file_all(&self) {
        let mut after = Some(0);
        while let Some(id) = after {
            let filed = self.transact("make files of responses", |transaction| self.file_some(transaction, id));
            after = filed.ok().flatten();
        }
    }

    /// Makes the files of some numbers beyond `after`; returns the last one of them, if there are any. What cannot be made
    /// hides no other.
    fn file_some(&self, transaction: &Connection, after: i64) -> rusqlite::Result<Option<i64>> {
        // A workspace that was removed is not begun anew.
        if !database_file(self.folder()).is_file() {
            return Ok(None);
        }
        let sql = "SELECT u.id, s.content FROM unfiled u LEFT JOIN small_responses s ON s.id = u.id WHERE u.id > ?1 \
                   ORDER BY u.id LIMIT ?2";
        let rows: Vec<(i64, Option<Vec<u8>>)> = transaction
            .prepare_cached(sql)?
            .query_map([after, FILES_AT_ONCE], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        for (id, content) in &rows {
            // Without a row it was cleared.
            if content.as_ref().is_none_or(|content| self.file(ResponseId(from_i64(*id)), content)) {
                transaction.prepare_cached("DELETE FROM unfiled WHERE id = ?1")?.execute([id])?;
            }
        }
        Ok(rows.last().map(|(id, _)| *id))
    }

    /// A file that is there is that of a number which was lost, or has no tokens yet.
    fn file(&self, id: ResponseId, content: &[u8]) -> bool {
        self.add_file(id, content).unwrap_or(false)
            || write_atomic(&self.response_file(id), content, FileMode::Private).is_ok()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if self.filing.wait() {
            self.file_all();
        }
    }
}
