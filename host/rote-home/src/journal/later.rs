//! Events that nobody waits for: they are appended with whatever is appended next, else a moment later.
//!
//! The end of a read is one: a kill may take it as it takes the read itself, which is only read once more. So a read costs one
//! transaction of the journal and not two. Whoever reads this journal in this process finds them; another process may find
//! them a [`MOMENT`] later.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::Builder;
use std::time::Duration;

use jiff::Timestamp;

use super::extend::Extension;
use super::{Journal, NewEvent};

/// How long an event waits for another one.
const MOMENT: Duration = Duration::from_millis(5);

/// When the first event was left that nobody has appended yet.
#[derive(Debug, Default)]
pub(super) struct Owing(Mutex<Option<Timestamp>>);

impl Owing {
    fn take(&self) -> Option<Timestamp> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns whether nothing was owed before.
    fn begin(&self, at: Timestamp) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(at).is_none()
    }
}

impl Journal {
    /// Leaves events to be appended within a moment. Nothing may rest on them: a kill takes them, and so does a disk that
    /// refuses them, which whoever begins the next call is told of.
    pub fn append_later(self: &Arc<Self>, at: Timestamp, events: Vec<NewEvent>) {
        self.extending.leave(Extension::of(at, events));
        if self.owing.begin(at) {
            let journal = Arc::downgrade(self);
            if Builder::new().name("rote-journal".to_owned()).spawn(move || soon(&journal)).is_err() {
                self.pay();
            }
        }
    }

    /// Appends what was left, if anything was.
    pub(super) fn pay(&self) {
        if let Some(at) = self.owing.take() {
            self.extend(Extension::of(at, Vec::new())).ok();
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
