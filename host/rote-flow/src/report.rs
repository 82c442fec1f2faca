//! What is told of runs: plain data.

use std::fmt;

use jiff::Timestamp;
use rote_types::{FlowName, ResponseId, WorkspaceName};
use serde::Serialize;
use serde_json::Value;

use crate::Form;

/// One call of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// Its response, in the run's workspace.
    pub response: ResponseId,
    /// What it called, `adapter/tool`.
    pub call: String,
    /// HTTP status, 0 when there was no answer.
    pub status: u16,
    /// Size of the body in bytes.
    pub bytes: u64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Answered from an earlier run.
    pub resumed: bool,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// How much a run did that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Every step that it showed ended well or was left out.
    Completed,
    /// The flow went on although a step failed.
    Partial,
}

impl RunStatus {
    /// Returns the word of reports and of the analytics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Partial => "partial",
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a run ended well.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    pub flow: FlowName,
    pub version: String,
    /// How it is written; the lines of a plan are its steps, those of a script what its author tells.
    #[serde(skip)]
    pub form: Form,
    /// The workspace of the run.
    pub workspace: WorkspaceName,
    /// Whether it did everything; a run that did not end well is an error.
    pub status: RunStatus,
    /// The machine result.
    pub result: Value,
    /// Lines for a person.
    pub human: Vec<String>,
    /// Lines for a log or a chat.
    pub summary: Vec<String>,
    /// What the flow logged.
    pub log: Vec<String>,
    /// The calls, in the order of their numbers; those of nested runs are in their workspaces.
    pub steps: Vec<StepReport>,
    /// Number of calls and nested runs, those of nested runs included.
    pub calls: u32,
    /// Number of calls that change something, those of nested runs included.
    pub writes: u32,
    /// What a person should know, such as a blessing that no longer counts.
    pub notes: Vec<String>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// A run that a person began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatestRun {
    pub workspace: WorkspaceName,
    pub flow: FlowName,
    /// When it was begun.
    pub begun_at: Timestamp,
    /// Seconds since then.
    pub age_s: u64,
}

impl fmt::Display for LatestRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, unit) = match self.age_s {
            seconds @ 0..120 => (seconds, "seconds"),
            seconds @ 120..7_200 => (seconds / 60, "minutes"),
            seconds @ 7_200..172_800 => (seconds / 3_600, "hours"),
            seconds => (seconds / 86_400, "days"),
        };
        write!(f, "`{}` of flow `{}`, begun {count} {unit} ago", self.workspace, self.flow)
    }
}
