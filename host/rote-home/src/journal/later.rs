//! Events that nobody waits for: they are appended with whatever is appended next, else a moment later.
//!
//! The end of a read is one: a kill may take it as it takes the read itself, which is only read once more. So a read costs one
//! transaction of the journal and not two. Whoever reads this journal in this process finds them; another process may find
//! them a [`MOMENT`] later.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Builder;
use std::time::Duration;

use jiff::Timestamp;

use super::extend::Extension;
use super::{Journal, NewEvent};
use crate::HomeError;

/// How long an event waits for another one.
const MOMENT: Duration = Duration::from_millis(5);

/// What is left to append.
#[derive(Debug, Default)]
pub(super) struct Owing(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// When the last event was left, of those that nobody has appended yet.
    since: Option<Timestamp>,
    /// Why some could not be appended, until somebody is told.
    refused: Option<HomeError>,
}

impl Owing {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    /// Leaves events to be appended within a moment. Nothing may rest on them: a kill takes them, and so does a disk that
    /// refuses them, which [`Journal::settle`] says.
    pub fn append_later(self: &Arc<Self>, at: Timestamp, events: Vec<NewEvent>) {
        self.extending.leave(Extension::of(at, events));
        let is_first = self.owing.state().since.replace(at).is_none();
        if is_first {
            let journal = Arc::downgrade(self);
            if Builder::new().name("rote-journal".to_owned()).spawn(move || soon(&journal)).is_err() {
                self.pay();
            }
        }
    }

    /// Appends what was left, at the end of a command.
    ///
    /// # Errors
    /// As [`Journal::append`], also of what was left and refused since the last time.
    pub fn settle(&self) -> Result<(), HomeError> {
        self.pay();
        let refused = self.owing.state().refused.take();
        refused.map_or(Ok(()), Err)
    }

    /// Appends what was left, if anything was.
    pub(super) fn pay(&self) {
        let since = self.owing.state().since.take();
        if let Some(at) = since
            && let Err(error) = self.extend(Extension::of(at, Vec::new()))
        {
            self.owing.state().refused = Some(error);
        }
    }
}

fn soon(journal: &Weak<Journal>) {
    std::thread::sleep(MOMENT);
    // One that is gone has appended it at its end.
    if let Some(journal) = journal.upgrade() {
        journal.pay();
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.pay();
    }
}
