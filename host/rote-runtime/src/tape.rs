//! What a run learned from its host beside responses: time, randomness, variables, files, which call ended first.
//!
//! Invariant: an answer is on the tape before the guest sees it, a failure too. So a run that was killed anywhere can be
//! run again and learns the same, and a recorded run can be run with nothing but its recording.

use rote_types::{Classify, ErrorKind, Misfit, Refusal, ResponseId, ResponseRef, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::RunError;

/// What the host said to one question.
pub type Answer = Result<Value, TapedFailure>;

/// A failure as it is told again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapedFailure {
    kind: ErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The rule that refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// What does not fit, each with the pointer to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    misfits: Vec<(String, String)>,
    /// It says of a write that it may have happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    doubt: bool,
}

impl TapedFailure {
    /// Returns an error as it is written down; `None` for one of this attempt alone, which is not told again: somebody
    /// stopped it.
    pub(crate) fn of(error: &RunError) -> Option<Self> {
        let kind = error.kind();
        if kind == ErrorKind::Interrupted {
            return None;
        }
        // The command that confirms a call has its token, which is written down nowhere.
        let hint = error.hint().filter(|_| kind != ErrorKind::ConfirmationNeeded);
        let doubt = matches!(error.behind(), RunError::Nested { names_doubt: true, .. });
        let (rule, misfits) = match error.refusal() {
            Some(Refusal::Rule(rule)) => (Some(rule), Vec::new()),
            Some(Refusal::Arguments(misfits)) => {
                (None, misfits.into_iter().map(|one| (one.pointer, one.message)).collect())
            }
            _ => (None, Vec::new()),
        };
        Some(Self { kind, message: rote_types::with_causes(error), hint, rule, misfits, doubt })
    }

    /// Whether it says of a write that it may have happened.
    #[must_use]
    pub fn names_doubt(&self) -> bool {
        self.doubt
    }

    /// Whether a bound was reached.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        self.kind == ErrorKind::Limit
    }

    /// Returns the error that the guest is told again.
    pub(crate) fn into_error(self) -> RunError {
        let Self { kind, message, hint, rule, misfits, doubt } = self;
        let misfits: Vec<Misfit> = misfits.into_iter().map(|(pointer, message)| Misfit { pointer, message }).collect();
        let refusal = match rule {
            Some(rule) => Some(Refusal::Rule(rule)),
            None if misfits.is_empty() => None,
            None => Some(Refusal::Arguments(misfits)),
        };
        RunError::Nested { kind, message, hint, details: None, refusal: refusal.map(Box::new), names_doubt: doubt }
    }
}

/// What begins the questions of which more than the text is known.
const WAIT_ANY: &str = "tasks.wait-any ";
const FLOW_BEGIN: &str = "flows.begin ";
const FLOW_END: &str = "flows.end ";

/// The question which of some calls ends first.
pub(crate) fn wait_any(tasks: &[u32]) -> String {
    format!("{WAIT_ANY}{tasks:?}")
}

/// The question where a nested run of a flow is made.
pub(crate) fn flow_begin(name: &str) -> String {
    format!("{FLOW_BEGIN}{name}")
}

/// The question what came of it.
pub(crate) fn flow_end(name: &str) -> String {
    format!("{FLOW_END}{name}")
}

/// What is on the tape of a call that was waited for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Delivered {
    pub(crate) task: u32,
    /// The number of its response, where it has one.
    pub(crate) response: Option<u64>,
    pub(crate) ok: bool,
}

/// What a guest was told with one answer, as far as it matters to whoever goes on with its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told<'f> {
    /// A call ended; `response` is the number of its answer, where it has one.
    Call {
        /// The number.
        response: Option<ResponseId>,
        /// It succeeded.
        ok: bool,
    },
    /// A nested run was begun.
    Begun {
        /// Its workspace.
        run: &'f str,
    },
    /// A nested run ended.
    Ended {
        /// It succeeded.
        ok: bool,
    },
    /// Anything else.
    Other,
}

impl<'f> Told<'f> {
    /// Reads a question with its answer; none where the host answered with a failure.
    #[must_use]
    pub fn read(question: &'f str, answer: Option<&'f Value>) -> Self {
        if question.starts_with(WAIT_ANY) {
            return match answer.and_then(|answer| Delivered::deserialize(answer).ok()) {
                Some(Delivered { response, ok, .. }) => Self::Call { response: response.map(ResponseId), ok },
                None => Self::Other,
            };
        }
        if question.starts_with(FLOW_END) {
            return Self::Ended { ok: answer.is_some() };
        }
        match answer.and_then(Value::as_str) {
            Some(run) if question.starts_with(FLOW_BEGIN) => Self::Begun { run },
            _ => Self::Other,
        }
    }
}

/// Answers of the host, in the order in which one run asked.
pub trait Tape: Send + Sync {
    /// Returns the recorded answer when `question` is the next one on the tape; `None` when the tape has ended and
    /// the host answers anew.
    ///
    /// # Errors
    /// A tape that must not be left, such as a recording under test, when another question is the next.
    fn next(&self, question: &str) -> Result<Option<Answer>, RunError>;

    /// Writes an answer down.
    ///
    /// # Errors
    /// It cannot be written; the run ends, because it could not be resumed.
    fn record(&self, question: &str, answer: &Answer) -> Result<(), RunError>;
}

/// A tape for runs that are neither recorded nor resumed.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTape;

impl Tape for NoTape {
    fn next(&self, _question: &str) -> Result<Option<Answer>, RunError> {
        Ok(None)
    }

    fn record(&self, _question: &str, _answer: &Answer) -> Result<(), RunError> {
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
