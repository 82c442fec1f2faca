//! A number that waits for its call, and what becomes of it when the call is not made.
//!
//! Invariant: a number that the gate did not begin ends as failed, with the words that nothing was sent, also when the
//! batch or the run is dropped before it was its turn. What the gate began it records itself.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rote_gate::{Invocation, Redaction};
use rote_types::{AdapterId, Classify, Clock, ResponseId, Tool};
use rote_workspace::{
    CommandId, LostAnswer, NOT_SENT, RecordedOutcome, Recording, RequestRecord, ResponseState, Workspace,
};

use crate::AdapterError;

/// The place of a call in the log of its workspace.
pub struct Reservation {
    workspace: Arc<Workspace>,
    clock: Arc<dyn Clock>,
    place: (CommandId, ResponseId),
    request: RequestRecord,
    writes: bool,
    since: Timestamp,
    /// The call, once it is made.
    invocation: Option<Arc<Invocation>>,
}

impl std::fmt::Debug for Reservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reservation").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Reservation {
    pub(crate) fn new(
        workspace: &Arc<Workspace>,
        adapter: &AdapterId,
        tool: &Tool,
        place: (CommandId, ResponseId),
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let request = RequestRecord {
            method: tool.method.as_str().to_owned(),
            endpoint: format!("adapter/{adapter}"),
            ..RequestRecord::default()
        };
        Self {
            workspace: Arc::clone(workspace),
            clock: Arc::clone(clock),
            place,
            request,
            writes: tool.access.changes(),
            since: clock.now(),
            invocation: None,
        }
    }

    /// Returns the command and the number of the answer.
    #[must_use]
    pub fn place(&self) -> (CommandId, ResponseId) {
        self.place
    }

    /// Returns the number of the answer.
    #[must_use]
    pub fn response(&self) -> ResponseId {
        self.place.1
    }

    /// Notes the call that is made under the number.
    pub(crate) fn hand_over(&mut self, invocation: &Arc<Invocation>) {
        self.since = self.clock.now();
        self.invocation = Some(Arc::clone(invocation));
    }

    /// Records a call that failed and left no record: as failed when the gate did not begin it. When the gate did and
    /// could not record what came of it, a write is in doubt.
    pub(crate) fn close(self, error: &AdapterError, redaction: &Redaction) {
        let message = redaction.text(&error.to_string());
        if self.writes && self.is_begun() { self.doubt(message) } else { self.fail(error.kind().as_str(), message) }
    }

    fn is_begun(&self) -> bool {
        self.invocation.as_ref().is_some_and(|call| call.progress.is_begun())
    }

    fn is_open(&self) -> bool {
        self.workspace.summary(self.response()).is_ok_and(|summary| summary.state == ResponseState::Pending)
    }

    fn duration(&self) -> Duration {
        Duration::try_from(self.clock.now().duration_since(self.since)).unwrap_or_default()
    }

    fn doubt(&self, message: String) {
        if !self.is_open() {
            return;
        }
        let (request, started, duration) = (self.request.clone(), self.since, self.duration());
        let lost = LostAnswer { request, status: None, message, started, duration };
        self.report(self.workspace.leave_in_doubt(self.response(), &lost));
    }

    fn fail(&self, kind: &str, message: String) {
        if !self.is_open() {
            return;
        }
        let outcome = RecordedOutcome::Failed { kind: kind.to_owned(), message };
        let (request, started, duration) = (self.request.clone(), self.since, self.duration());
        let recording = Recording { request, outcome, started, duration };
        self.report(self.workspace.record(self.response(), recording).map(drop));
    }

    fn report(&self, written: Result<(), rote_workspace::WorkspaceError>) {
        if let Err(problem) = written {
            tracing::warn!(response = %self.response(), error = %problem, "the end of a call was not recorded");
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // What was begun is recorded by the gate, or stays open for the rule of `rote_gate::doubt`.
        if !self.is_begun() {
            self.fail(NOT_SENT, "the call was given up before it was sent".to_owned());
        }
    }
}
