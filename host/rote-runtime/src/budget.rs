//! What one run and all runs nested in it may use together.
//!
//! Invariant: there is one budget for a run that a person starts. A nested run has none of its own, so a flow gains
//! nothing by calling itself many flows.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rote_types::RunLimits;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::error::{LimitKind, RunError};
use crate::meter::CpuMeter;

/// What the counts are called in errors.
const CALLS: &str = "tool calls";
const WRITES: &str = "writes";
const RESPONSES: &str = "bytes of responses";
const KEPT: &str = "bytes of tape, variables, files, arguments and queries";

/// The option of `rote run` that raises the count of this name; none for what cannot be raised.
pub(crate) fn option(what: &str) -> Option<&'static str> {
    let options =
        [(CALLS, "--max-calls"), (WRITES, "--max-writes"), (RESPONSES, "--max-megabytes"), (KEPT, "--max-disk")];
    options.into_iter().find(|(name, _)| *name == what).map(|(_, option)| option)
}

/// How much of a budget is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Tool calls, those that were answered from a record included, and nested runs.
    pub calls: u32,
    /// Calls that change something.
    pub writes: u32,
    /// Bytes of responses.
    pub response_bytes: u64,
    /// Bytes that were kept beside responses.
    pub kept_bytes: u64,
}

/// The budget of a run and of the runs nested in it.
pub struct Budget {
    limits: RunLimits,
    /// When the first of them began, with [`RunLimits::total`] added.
    deadline: OnceLock<Instant>,
    /// Only one guest of them computes at a time: the others wait for the one that they started.
    meter: CpuMeter,
    slots: Arc<Semaphore>,
    stopped: AtomicBool,
    calls: AtomicU32,
    writes: AtomicU32,
    response_bytes: AtomicU64,
    kept_bytes: AtomicU64,
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("limits", &self.limits).field("used", &self.used()).finish_non_exhaustive()
    }
}

impl Budget {
    /// Makes a budget of which nothing is used.
    #[must_use]
    pub fn new(limits: RunLimits) -> Self {
        Self {
            limits,
            deadline: OnceLock::new(),
            meter: CpuMeter::new(limits.cpu),
            slots: Arc::new(Semaphore::new(limits.concurrency.clamp(1, Semaphore::MAX_PERMITS))),
            stopped: AtomicBool::new(false),
            calls: AtomicU32::new(0),
            writes: AtomicU32::new(0),
            response_bytes: AtomicU64::new(0),
            kept_bytes: AtomicU64::new(0),
        }
    }

    /// Returns the bounds.
    #[must_use]
    pub fn limits(&self) -> &RunLimits {
        &self.limits
    }

    /// Returns what is used.
    #[must_use]
    pub fn used(&self) -> Used {
        Used {
            calls: self.calls.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            response_bytes: self.response_bytes.load(Ordering::Relaxed),
            kept_bytes: self.kept_bytes.load(Ordering::Relaxed),
        }
    }

    /// Counts what an earlier part of the same run used, before it was stopped or killed. That is never refused:
    /// what comes next is.
    pub fn note(&self, earlier: Used) {
        add(&self.calls, earlier.calls);
        add(&self.writes, earlier.writes);
        add_bytes(&self.response_bytes, earlier.response_bytes);
        add_bytes(&self.kept_bytes, earlier.kept_bytes);
    }

    /// Counts a response.
    pub fn note_response(&self, bytes: u64) {
        add_bytes(&self.response_bytes, bytes);
    }

    /// Counts bytes that are about to be kept beside responses.
    ///
    /// # Errors
    /// [`RunError::Limit`] when they are more than what is left; nothing is counted then.
    pub fn spend_kept(&self, bytes: u64) -> Result<(), RunError> {
        let max = self.limits.kept_bytes;
        let sum = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= max);
        let spent = self.kept_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        spent.map(|_| ()).map_err(|_| over(KEPT, max))
    }

    /// Counts calls, all of them or none.
    ///
    /// # Errors
    /// [`RunError::Limit`] when they are more than what is left.
    pub fn spend_calls(&self, count: u32) -> Result<(), RunError> {
        spend(&self.calls, count, self.limits.calls, CALLS)
    }

    /// Takes calls back that were not made.
    pub(crate) fn unspend_calls(&self, count: u32) {
        self.calls.fetch_sub(count, Ordering::Relaxed);
    }

    /// Counts calls that change something, all of them or none.
    ///
    /// # Errors
    /// As [`Budget::spend_calls`].
    pub fn spend_writes(&self, count: u32) -> Result<(), RunError> {
        spend(&self.writes, count, self.limits.writes, WRITES)
    }

    /// Says whether there is room for another response, whatever its size.
    ///
    /// # Errors
    /// [`RunError::Limit`] when there is not.
    pub fn check_response(&self) -> Result<(), RunError> {
        let max = self.limits.response_bytes;
        if self.response_bytes.load(Ordering::Relaxed) < max { Ok(()) } else { Err(over(RESPONSES, max)) }
    }

    /// When all of it has to be over.
    pub(crate) fn deadline(&self) -> Instant {
        *self.deadline.get_or_init(|| Instant::now() + self.limits.total)
    }

    /// The stopwatch of the guests.
    pub(crate) fn meter(&self) -> CpuMeter {
        self.meter.clone()
    }

    /// Says that no further call is made. To be said before a run is dropped: its calls give their slots back one after the
    /// other, and what is queued behind them would take these.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Whether a call whose turn comes now is still made.
    pub(crate) fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::SeqCst) && Instant::now() < self.deadline()
    }

    /// Waits until no call of the run, or of one that it started, is in flight; not longer than `at_most`. A run that was
    /// dropped drops its calls elsewhere, and each writes down what it leaves.
    pub async fn idle(&self, at_most: Duration) {
        let all = u32::try_from(self.limits.concurrency.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        // Over the time, what is in flight is found in doubt by whoever looks next.
        let _idle = tokio::time::timeout(at_most, self.slots.acquire_many(all)).await;
    }

    /// What a call has to hold while it is made.
    pub(crate) fn slots(&self) -> Arc<Semaphore> {
        Arc::clone(&self.slots)
    }
}

fn add(counter: &AtomicU32, count: u32) {
    let sum = |used: u32| Some(used.saturating_add(count));
    // The function always returns a value, so this cannot fail.
    let _before = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
}

fn add_bytes(counter: &AtomicU64, bytes: u64) {
    let sum = |used: u64| Some(used.saturating_add(bytes));
    // The function always returns a value, so this cannot fail.
    let _before = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
}

fn spend(counter: &AtomicU32, count: u32, max: u32, what: &'static str) -> Result<(), RunError> {
    let sum = |used: u32| used.checked_add(count).filter(|sum| count == 0 || *sum <= max);
    let spent = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    spent.map(|_| ()).map_err(|_| over(what, u64::from(max)))
}

/// The refusal of more of something than a run may have.
fn over(what: &'static str, max: u64) -> RunError {
    RunError::Limit { subject: "flow".to_owned(), limit: LimitKind::Count { what, max } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_spent_whole_or_not_and_never_wrap() {
        let budget = Budget::new(RunLimits { calls: 3, writes: 1, response_bytes: 10, ..RunLimits::default() });
        assert!(budget.spend_calls(2).is_ok() && budget.spend_calls(2).is_err());
        assert_eq!(budget.used().calls, 2);
        budget.unspend_calls(1);
        assert!(budget.spend_calls(2).is_ok() && budget.spend_calls(1).is_err() && budget.spend_calls(0).is_ok());
        assert!(budget.spend_writes(1).is_ok() && budget.spend_writes(1).is_err());
        let all = Used { calls: u32::MAX, writes: u32::MAX, response_bytes: u64::MAX, kept_bytes: u64::MAX };
        budget.note(all);
        budget.note(Used { calls: 1, writes: 1, response_bytes: 1, kept_bytes: 1 });
        assert!(budget.used() == all && budget.spend_kept(0).is_err());
        assert!(budget.spend_calls(1).is_err() && budget.spend_writes(1).is_err() && budget.check_response().is_err());
        // Nothing to count is never too much, also after a run that went over.
        assert!(budget.spend_writes(0).is_ok());
    }
}
