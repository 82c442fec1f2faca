//! The tool calls of one run: started in order, made concurrently within a bound, each waited for once.
//!
//! Invariants: a call's response number is allocated when it is started, before any later start; at most
//! `concurrency` calls are in flight; no call outlives the run. At an orderly end calls in flight are waited
//! for, since an effect that was sent deserves its record, and queued ones are given up; when the run is
//! dropped all of them are cancelled.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rote_types::{ResponseRef, ToolCall};
use tokio::sync::Semaphore;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

use crate::error::{LimitKind, RunError};
use crate::tools::{Reserved, ToolHost};

/// What became of a call.
pub(crate) type Outcome = Result<ResponseRef, RunError>;

/// All calls of one run.
pub(crate) struct Tasks {
    host: Arc<dyn ToolHost>,
    slots: Arc<Semaphore>,
    in_flight: JoinSet<Outcome>,
    names: HashMap<Id, u32>,
    done: HashMap<u32, Outcome>,
    /// Started and not yet waited for.
    open: HashSet<u32>,
    started: u32,
    max_calls: u32,
}

impl Tasks {
    pub(crate) fn new(host: Arc<dyn ToolHost>, max_calls: u32, concurrency: usize) -> Self {
        Self {
            host,
            slots: Arc::new(Semaphore::new(concurrency.clamp(1, Semaphore::MAX_PERMITS))),
            in_flight: JoinSet::new(),
            names: HashMap::new(),
            done: HashMap::new(),
            open: HashSet::new(),
            started: 0,
            max_calls,
        }
    }

    /// Reserves and starts calls; the tasks stand in the order of the calls.
    pub(crate) fn start(&mut self, calls: &[ToolCall]) -> Result<Vec<u32>, RunError> {
        let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        if count > self.max_calls - self.started {
            let limit = LimitKind::Count { what: "tool calls", max: u64::from(self.max_calls) };
            return Err(RunError::Limit { subject: "flow".to_owned(), limit });
        }
        let reserved = self.host.reserve(calls)?;
        if reserved.len() != calls.len() {
            return Err(RunError::Host { message: "the tool host lost a call".to_owned() });
        }
        Ok(reserved.into_iter().map(|reserved| self.spawn(reserved)).collect())
    }

    fn spawn(&mut self, reserved: Reserved) -> u32 {
        let task = self.started;
        self.started += 1;
        self.open.insert(task);
        let (host, slots) = (Arc::clone(&self.host), Arc::clone(&self.slots));
        let handle = self.in_flight.spawn(async move {
            match slots.acquire().await {
                Ok(_slot) => host.perform(reserved).await,
                // Closed: the run ended before it was this call's turn.
                Err(_) => {
                    let tool = format!("{}/{}", reserved.call.adapter, reserved.call.tool);
                    Err(RunError::Cancelled { tool })
                }
            }
        });
        self.names.insert(handle.id(), task);
        task
    }

    /// Whether every one of `tasks` was started and not yet waited for.
    pub(crate) fn are_open(&self, tasks: &[u32]) -> bool {
        tasks.iter().all(|task| self.open.contains(task))
    }

    /// Waits until one of `tasks` is done. Returns its position and what became of it, or `None` when none
    /// of them is open.
    pub(crate) async fn wait_any(&mut self, tasks: &[u32]) -> Option<(usize, Outcome)> {
        loop {
            for (position, task) in tasks.iter().enumerate() {
                if let Some(outcome) = self.done.remove(task) {
                    self.open.remove(task);
                    return Some((position, outcome));
                }
            }
            if !tasks.iter().any(|task| self.open.contains(task)) || !self.collect_one().await {
                return None;
            }
        }
    }

    /// Waits for one call and returns what became of it.
    pub(crate) async fn wait(&mut self, task: u32) -> Outcome {
        let lost = || RunError::Host { message: "a tool call was lost".to_owned() };
        self.wait_any(&[task]).await.map_or_else(|| Err(lost()), |(_, outcome)| outcome)
    }

    /// Moves the next call that ends from in flight to done; false when none is in flight.
    async fn collect_one(&mut self) -> bool {
        let (id, outcome) = match self.in_flight.join_next_with_id().await {
            Some(Ok((id, outcome))) => (id, outcome),
            Some(Err(error)) => (error.id(), Err(broken(&error))),
            None => return false,
        };
        if let Some(task) = self.names.remove(&id) {
            self.done.insert(task, outcome);
        }
        true
    }

    /// Gives up queued calls, waits for those in flight until `deadline`, and cancels the rest. Returns when
    /// none is left.
    pub(crate) async fn finish(mut self, deadline: Instant) {
        self.slots.close();
        let drained = async { while self.collect_one().await {} };
        if tokio::time::timeout_at(deadline, drained).await.is_err() {
            self.in_flight.shutdown().await;
        }
    }
}

/// A call whose code panicked or was torn down; the host is to blame.
fn broken(error: &JoinError) -> RunError {
    let what = if error.is_panic() { "crashed" } else { "was torn down" };
    RunError::Host { message: format!("a tool call {what}") }
}
