//! How a run and its steps ended.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::RunError;

/// How a step ended. What it means for a step that needs it:
///
/// | status | the needing step | as the first of a `$default` |
/// |---|---|---|
/// | `completed` | runs | its value |
/// | `partial` | is blocked | the value of the responses that are there |
/// | `failed`, `blocked` | is blocked | the fallback |
/// | `skipped` | is skipped | the fallback |
///
/// To need is to refer to it from the arguments, `for_each` or `when`, or to name it in `needs`. Where one need
/// would block and another skip, the step is blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Every call was answered; so it is when there was no item to call for.
    Completed,
    /// Some items of a `for_each` failed and others did not.
    Partial,
    /// The call failed, or those of all items, or that of one page, or the calls could not be made.
    Failed,
    /// Its condition is false, or it needs a step that was skipped.
    Skipped,
    /// It needs a step that did not end well.
    Blocked,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Blocked => "blocked",
        })
    }
}

/// How one step ended. Calls are keyed by the position of their item or page, in that order; the one call of any other step
/// has the key `None`, and so has the failure of a step whose calls could not be made.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOutcome<R, E> {
    /// How it ended as a whole.
    pub status: Status,
    /// What was received.
    pub responses: BTreeMap<Option<usize>, R>,
    /// What failed and did not end the run.
    pub failures: BTreeMap<Option<usize>, RunError<E>>,
    /// The steps for want of which it was skipped or blocked, in order of use; none when its condition is false.
    pub because: Vec<String>,
}

/// How a run ended that has a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Every step completed or was skipped.
    Completed,
    /// A step failed in part or as a whole, and perhaps blocked others.
    Partial,
}

/// How a run ended well.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<R, E> {
    /// Whether it did everything.
    pub status: RunStatus,
    /// The value of the plan's result.
    pub result: Value,
    /// How each step ended, by step id.
    pub steps: BTreeMap<String, StepOutcome<R, E>>,
}
