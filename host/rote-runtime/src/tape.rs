//! What a run learned from its host beside responses: time, randomness, variables, files, which call ended first.
//!
//! Invariant: an answer is on the tape before the guest sees it. So a run that was killed anywhere can be run again
//! and learns the same, and a recorded run can be run with nothing but its recording.

use rote_types::{ResponseId, ResponseRef, ToolCall};
use serde_json::Value;

use crate::RunError;

/// Answers of the host, in the order in which one run asked.
pub trait Tape: Send + Sync {
    /// Returns the recorded answer when `question` is the next one on the tape; `None` when the tape has ended and
    /// the host answers anew.
    ///
    /// # Errors
    /// A tape that must not be left, such as a recording under test, when another question is the next.
    fn next(&self, question: &str) -> Result<Option<Value>, RunError>;

    /// Writes an answer down.
    ///
    /// # Errors
    /// It cannot be written; the run ends, because it could not be resumed.
    fn record(&self, question: &str, answer: &Value) -> Result<(), RunError>;
}

/// A tape for runs that are neither recorded nor resumed.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTape;

impl Tape for NoTape {
    fn next(&self, _question: &str) -> Result<Option<Value>, RunError> {
        Ok(None)
    }

    fn record(&self, _question: &str, _answer: &Value) -> Result<(), RunError> {
        Ok(())
    }
}

/// How a step that a flow shows stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StepState {
    /// It began.
    Running,
    /// It ended well.
    Done,
    /// It failed.
    Failed,
    /// It was left out.
    Skipped,
}

/// Is told what a run does while it does it. Must be quick: the run waits for it.
pub trait Observer: Send + Sync {
    /// A call goes out.
    fn call_started(&self, _response: ResponseId, _call: &ToolCall) {}

    /// A call came back.
    fn call_ended(&self, _response: ResponseId, _call: &ToolCall, _outcome: Result<&ResponseRef, &RunError>) {}

    /// The flow says how a step of its own stands. The label is cleaned.
    fn progress(&self, _label: &str, _state: StepState) {}
}

/// Looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
