//! The tool calls of one run: started in order, made concurrently within a bound, each waited for once.
//!
//! Invariants: a call's response number is allocated when it is started, before any later start; at most as many
//! calls are in flight as the budget has slots, nested runs included; no call outlives the run. At an orderly end calls in flight are waited
//! for, since an effect that was sent deserves its record, and queued ones are given up; when the run is
//! dropped all of them are cancelled.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rote_types::{ResponseId, ResponseRef, ToolCall};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::Instant;

use crate::budget::Budget;
use crate::error::RunError;
use crate::tape::Observer;
use crate::tools::{Reserved, ToolHost};

/// What became of a call.
pub(crate) type Outcome = Result<ResponseRef, RunError>;

/// All calls of one run.
pub(crate) struct Tasks {
    host: Arc<dyn ToolHost>,
    observer: Arc<dyn Observer>,
    budget: Arc<Budget>,
    /// Has no permits and is closed at the end, which gives up what is queued.
    ended: Arc<Semaphore>,
    in_flight: JoinSet<Outcome>,
    names: HashMap<Id, u32>,
    handles: HashMap<u32, AbortHandle>,
    responses: HashMap<u32, ResponseId>,
    done: HashMap<u32, Outcome>,
    /// Started and not yet waited for.
    open: HashSet<u32>,
    started: u32,
}

impl Tasks {
    pub(crate) fn new(host: Arc<dyn ToolHost>, observer: Arc<dyn Observer>, budget: Arc<Budget>) -> Self {
        Self {
            host,
            observer,
            budget,
            ended: Arc::new(Semaphore::new(0)),
            in_flight: JoinSet::new(),
            names: HashMap::new(),
            handles: HashMap::new(),
            responses: HashMap::new(),
            done: HashMap::new(),
            open: HashSet::new(),
            started: 0,
        }
    }

    /// Reserves and starts calls; the tasks stand in the order of the calls.
    pub(crate) fn start(&mut self, calls: &[ToolCall]) -> Result<Vec<u32>, RunError> {
        let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        self.budget.spend_calls(count)?;
        let reserved = self.host.reserve(calls).inspect_err(|_| self.budget.unspend_calls(count))?;
        if reserved.len() != calls.len() {
            return Err(RunError::Host { message: "the tool host lost a call".to_owned() });
        }
        Ok(reserved.into_iter().map(|reserved| self.spawn(reserved)).collect())
    }

    fn spawn(&mut self, reserved: Reserved) -> u32 {
        let task = self.started;
        self.started += 1;
        self.open.insert(task);
        self.responses.insert(task, reserved.response);
        let (host, observer) = (Arc::clone(&self.host), Arc::clone(&self.observer));
        let (budget, slots, ended) = (Arc::clone(&self.budget), self.budget.slots(), Arc::clone(&self.ended));
        let handle = self.in_flight.spawn(async move {
            let slot = tokio::select! {
                biased;
                // Closed: the run ended before it was this call's turn.
                _ = ended.acquire() => None,
                slot = slots.acquire() => slot.ok(),
            };
            if slot.is_some() && budget.goes_on() {
                return observed(&*host, &*observer, reserved).await;
            }
            let tool = format!("{}/{}", reserved.call.adapter, reserved.call.tool);
            Err(RunError::Cancelled { tool })
        });
        self.names.insert(handle.id(), task);
        self.handles.insert(task, handle);
        task
    }

    /// Gives a call up; a write that was sent is recorded as in doubt. False when nobody could wait for it any more.
    pub(crate) fn cancel(&mut self, task: u32) -> bool {
        if let (true, Some(handle)) = (self.open.contains(&task), self.handles.remove(&task)) {
            handle.abort();
            return true;
        }
        self.done.contains_key(&task)
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

    /// Returns how many calls were started; they are numbered from 0.
    pub(crate) fn started(&self) -> u32 {
        self.started
    }

    /// Returns the number of the response of a call.
    pub(crate) fn response(&self, task: u32) -> Option<ResponseId> {
        self.responses.get(&task).copied()
    }

    /// Moves the next call that ends from in flight to done; false when none is in flight.
    async fn collect_one(&mut self) -> bool {
        let (id, outcome) = match self.in_flight.join_next_with_id().await {
            Some(Ok((id, outcome))) => (id, outcome),
            Some(Err(error)) => (error.id(), Err(broken(&error))),
            None => return false,
        };
        if let Some(task) = self.names.remove(&id) {
            self.handles.remove(&task);
            self.done.insert(task, outcome);
        }
        true
    }

    /// Gives up queued calls, waits for those in flight until `deadline`, and cancels the rest. Returns when
    /// none is left.
    pub(crate) async fn finish(mut self, deadline: Instant) {
        self.ended.close();
        let drained = async { while self.collect_one().await {} };
        if tokio::time::timeout_at(deadline, drained).await.is_err() {
            self.in_flight.shutdown().await;
        }
    }
}

/// Makes a call and tells who watches.
async fn observed(host: &dyn ToolHost, observer: &dyn Observer, reserved: Reserved) -> Outcome {
    let (response, call) = (reserved.response, reserved.call.clone());
    observer.call_started(response, &call);
    let outcome = host.perform(reserved).await;
    observer.call_ended(response, &call, outcome.as_ref());
    outcome
}

/// A call that the flow gave up, or whose code panicked; then the host is to blame.
fn broken(error: &JoinError) -> RunError {
    let what = if error.is_panic() { "crashed" } else { "was given up by the flow" };
    RunError::Host { message: format!("a tool call {what}") }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use rote_types::AdapterId;
    use rote_workspace::CommandId;
    use serde_json::json;
    use tokio::sync::Notify;

    use super::*;
    use crate::tape::NoObserver;
    use rote_types::RunLimits;

    /// Says when its first call has begun, which lasts until it is let go.
    #[derive(Default)]
    struct Slow {
        begun: Notify,
        go: Notify,
    }

    #[async_trait]
    impl ToolHost for Slow {
        fn reserve(&self, calls: &[ToolCall]) -> Result<Vec<Reserved>, RunError> {
            let one = |(n, call): (u64, &ToolCall)| Reserved {
                call: call.clone(),
                command: CommandId(n),
                response: ResponseId(n),
            };
            Ok((1..).zip(calls).map(one).collect())
        }

        async fn perform(&self, reserved: Reserved) -> Outcome {
            if reserved.response == ResponseId(1) {
                self.begun.notify_one();
                self.go.notified().await;
            }
            let message = format!("made {}", reserved.response);
            Err(RunError::Host { message })
        }
    }

    #[tokio::test]
    async fn a_call_whose_turn_comes_after_the_run_was_stopped_is_not_made() {
        let budget = Arc::new(Budget::new(RunLimits { concurrency: 1, ..RunLimits::default() }));
        let host = Arc::new(Slow::default());
        let mut tasks = Tasks::new(Arc::clone(&host) as _, Arc::new(NoObserver), Arc::clone(&budget));
        let adapter: AdapterId = "slow".parse().unwrap();
        let call = ToolCall { adapter, tool: "write".to_owned(), arguments: json!({}) };
        let both = tasks.start(&[call.clone(), call]).unwrap();
        host.begun.notified().await;
        budget.stop();
        host.go.notify_one();
        let ends = [tasks.wait_any(&both).await.unwrap(), tasks.wait_any(&both).await.unwrap()];
        let ends = ends.map(|(position, outcome)| (position, outcome.unwrap_err().to_string()));
        assert_eq!(ends[0], (0, "the host failed: made @1".to_owned()));
        assert_eq!(ends[1], (1, "call of `slow/write` was given up: its run ended first".to_owned()));
    }
}
