//! Errors across the boundary: what a guest is told, and what its caller is told.
//!
//! Invariant: the guest gets a typed variant with text that is safe for it; the caller gets the host's own
//! error whenever the guest passes on what it was told, never a paraphrase.

use std::collections::VecDeque;

use rote_types::{Classify, ErrorKind, QueryError, ResponseId, ResponseRef};
use rote_workspace::WorkspaceError;
use serde_json::Value;

use crate::bindings::adapter::rote::base::types as wit;
use crate::error::{LimitKind, Problem, RunError};
use crate::limiter::LimitHit;
use rote_types::clean_line;

/// Errors that are remembered per instance; a guest that passes on an older one is paraphrased.
const REMEMBERED: usize = 64;
/// Most bytes of a text that a guest put into an error.
const TEXT_BYTES: usize = 2 << 10;
/// Most problems of one refusal that are passed on.
const PROBLEMS: usize = 32;

/// What the guest was told, with what it means to the host.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    told: VecDeque<Told>,
    /// The last call without an answer.
    last_unanswered: Option<ResponseId>,
}

#[derive(Debug)]
struct Told {
    error: wit::Error,
    host: RunError,
    /// The number of the call that failed, where it is one.
    response: Option<ResponseId>,
}

/// What is behind the error that a guest ended with.
#[derive(Debug)]
pub(crate) struct Explained {
    pub(crate) error: RunError,
    /// The call whose error it is.
    pub(crate) response: Option<ResponseId>,
    /// The last call without an answer that the guest was told of, where the error is one of its own making.
    pub(crate) last_unanswered: Option<ResponseId>,
}

impl Remembered {
    /// Returns what the guest is told of `error`, and remembers the error itself.
    pub(crate) fn tell(&mut self, error: RunError) -> wit::Error {
        self.tell_of(None, error)
    }

    /// Returns what the guest is told of a call that failed.
    pub(crate) fn tell_of(&mut self, response: Option<ResponseId>, error: RunError) -> wit::Error {
        let told = to_wit(&error);
        if recorded(&error).is_none() {
            self.last_unanswered = response.or(self.last_unanswered);
        }
        if self.told.len() >= REMEMBERED {
            self.told.pop_front();
        }
        self.told.push_back(Told { error: told.clone(), host: error, response });
        told
    }

    /// Returns the last call without an answer that the guest was told of.
    pub(crate) fn last_unanswered(&self) -> Option<ResponseId> {
        self.last_unanswered
    }

    /// Returns what is known of the bound that the guest was last told it had reached.
    fn last_limit(&self) -> Option<Value> {
        let last = self.told.iter().rev().find(|told| told.host.kind() == ErrorKind::Limit)?;
        last.host.details()
    }

    /// Returns the host's own error behind what the guest ended with, or the guest's as its own. Of calls that failed
    /// alike the first one is named.
    pub(crate) fn explain(mut self, subject: &str, ended_with: wit::Error) -> Explained {
        let alike = |told: &&Told| told.error == ended_with;
        let response = self.told.iter().filter(alike).find_map(|told| told.response);
        let position = self.told.iter().rposition(|told| alike(&told));
        match position.and_then(|position| self.told.remove(position)) {
            Some(told) => Explained { error: told.host, response, last_unanswered: None },
            None => Explained {
                error: from_guest(subject, ended_with, self.last_limit()),
                response: None,
                last_unanswered: self.last_unanswered,
            },
        }
    }
}

/// Returns the wire form of a recorded response.
pub(crate) fn response_to_wit(response: &ResponseRef) -> wit::ResponseRef {
    wit::ResponseRef {
        id: response.id.0,
        status: response.status,
        content_type: response.content_type.clone(),
        bytes: response.bytes,
    }
}

/// Returns what the guest is told of a host error.
pub(crate) fn to_wit(error: &RunError) -> wit::Error {
    if let Some(response) = recorded(error) {
        return wit::Error::Http(response_to_wit(response));
    }
    if let RunError::InvalidInput { problems, .. } = error {
        return wit::Error::InvalidInput(problems.iter().map(problem_to_wit).collect());
    }
    if let Some(problems) = wrong_arguments(error) {
        return wit::Error::InvalidInput(problems);
    }
    let message = rote_types::with_causes(error);
    if is_wrong_query(error) {
        return wit::Error::InvalidInput(vec![wit::Problem { pointer: String::new(), message }]);
    }
    match error.kind() {
        ErrorKind::Denied => wit::Error::Denied(wit::Denial {
            rule: detail(error, "rule").unwrap_or_else(|| "policy".to_owned()),
            message,
            hint: error.hint().unwrap_or_default(),
        }),
        ErrorKind::ConfirmationNeeded => wit::Error::ConfirmationNeeded(wit::Challenge {
            tool: [detail(error, "adapter"), detail(error, "tool")].into_iter().flatten().collect::<Vec<_>>().join("/"),
            impact: detail(error, "impact").unwrap_or(message),
        }),
        ErrorKind::FingerprintMismatch => wit::Error::FingerprintMismatch(message),
        ErrorKind::Auth => wit::Error::Auth(message),
        ErrorKind::Upstream => wit::Error::Upstream(message),
        ErrorKind::Usage => wit::Error::InvalidInput(vec![wit::Problem { pointer: String::new(), message }]),
        ErrorKind::NotFound => wit::Error::NotFound(message),
        ErrorKind::Limit => wit::Error::Limit(message),
        _ => wit::Error::Internal(message),
    }
}

/// Returns what is wrong with the arguments of a call, where the layer above says it argument by argument.
fn wrong_arguments(error: &RunError) -> Option<Vec<wit::Problem>> {
    let problem = |problem: &Value| {
        let name = problem.get("argument")?.as_str()?;
        let pointer = format!("/{}", rote_types::escape_token(name));
        Some(wit::Problem { pointer, message: problem.get("problem")?.as_str()?.to_owned() })
    };
    let RunError::Nested { kind: ErrorKind::Usage, details: Some(details), .. } = error else { return None };
    let problems: Vec<_> = details.get("problems")?.as_array()?.iter().map(problem).collect::<Option<_>>()?;
    (!problems.is_empty()).then_some(problems)
}

/// Whether a jq program does not fit what it reads: to a person a failure like others, to a guest its own input.
fn is_wrong_query(error: &RunError) -> bool {
    let query = match error {
        RunError::Query(query) => query,
        RunError::Workspace(error) => match &**error {
            WorkspaceError::Query { source } => source,
            _ => return false,
        },
        _ => return false,
    };
    matches!(query, QueryError::Runtime { .. } | QueryError::Input { .. })
}

/// Returns the recorded answer that an error carries, if it does.
fn recorded(error: &RunError) -> Option<&ResponseRef> {
    match error {
        RunError::Gate(gate) => gate.recorded(),
        RunError::Http { response, .. } => Some(response),
        _ => None,
    }
}

fn detail(error: &RunError, key: &str) -> Option<String> {
    error.details()?.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn problem_to_wit(problem: &Problem) -> wit::Problem {
    wit::Problem { pointer: problem.pointer.clone(), message: problem.message.clone() }
}

/// Returns an error that the guest made itself, its texts cleaned. One that tells of a bound has what is known of the `limit`
/// that the guest was told of, whatever words it put around it.
fn from_guest(subject: &str, error: wit::Error, limit: Option<Value>) -> RunError {
    let details = limit.filter(|_| matches!(error, wit::Error::Limit(_)));
    let guest = |kind: ErrorKind, message: &str, hint: Option<&str>| RunError::Guest {
        subject: subject.to_owned(),
        details: details.clone(),
        kind,
        message: clean_line(message, TEXT_BYTES),
        hint: hint.filter(|hint| !hint.is_empty()).map(|hint| clean_line(hint, TEXT_BYTES)),
    };
    match error {
        wit::Error::Denied(denial) => guest(ErrorKind::Denied, &denial.message, Some(&denial.hint)),
        wit::Error::ConfirmationNeeded(challenge) => guest(ErrorKind::General, &challenge.impact, None),
        wit::Error::FingerprintMismatch(message) => guest(ErrorKind::FingerprintMismatch, &message, None),
        wit::Error::Auth(message) => guest(ErrorKind::Auth, &message, None),
        wit::Error::Http(response) => guest(
            ErrorKind::Upstream,
            &format!("{} answered with status {}", ResponseId(response.id), response.status),
            None,
        ),
        wit::Error::Upstream(message) => guest(ErrorKind::Upstream, &message, None),
        wit::Error::InvalidInput(problems) => RunError::InvalidInput {
            subject: subject.to_owned(),
            problems: problems.iter().take(PROBLEMS).map(problem_from_wit).collect(),
        },
        wit::Error::NotFound(message) => guest(ErrorKind::NotFound, &message, None),
        wit::Error::Limit(message) => guest(ErrorKind::Limit, &message, None),
        wit::Error::Internal(message) => guest(ErrorKind::General, &message, None),
    }
}

fn problem_from_wit(problem: &wit::Problem) -> Problem {
    Problem { pointer: clean_line(&problem.pointer, TEXT_BYTES), message: clean_line(&problem.message, TEXT_BYTES) }
}

/// Explains what ended a guest from outside: a trap, a bound, or the engine.
pub(crate) fn explain_trap(subject: &str, error: &wasmtime::Error, refused: Option<LimitHit>) -> RunError {
    let limit = |limit: LimitKind| RunError::Limit { subject: subject.to_owned(), limit };
    if let Some(hit) = error.downcast_ref::<LimitHit>().copied() {
        return limit(hit.into());
    }
    let trap = error.downcast_ref::<wasmtime::Trap>();
    if trap == Some(&wasmtime::Trap::StackOverflow) {
        return limit(LimitKind::Stack);
    }
    // A guest whose memory or table may not grow usually gives up with `unreachable`.
    if let Some(hit) = refused {
        return limit(hit.into());
    }
    if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() {
        return limit(LimitKind::Instances);
    }
    let reason = trap.map_or_else(|| format!("{:#}", error.root_cause()), ToString::to_string);
    RunError::Trapped {
        subject: subject.to_owned(),
        reason: clean_line(&reason, TEXT_BYTES),
        backtrace: backtrace(error),
    }
}

/// The innermost guest functions, cleaned.
fn backtrace(error: &wasmtime::Error) -> Vec<String> {
    const FRAMES: usize = 8;
    let Some(backtrace) = error.downcast_ref::<wasmtime::WasmBacktrace>() else {
        return Vec::new();
    };
    let name = |frame: &wasmtime::FrameInfo| match frame.func_name() {
        Some(name) => clean_line(name, 200),
        None => format!("function {}", frame.func_index()),
    };
    backtrace.frames().iter().take(FRAMES).map(name).collect()
}

impl From<LimitHit> for LimitKind {
    fn from(hit: LimitHit) -> Self {
        match hit {
            LimitHit::Time(limit) => Self::Cpu(limit),
            LimitHit::Memory(bytes) => Self::Memory(bytes),
            LimitHit::Table(elements) => Self::Table(elements),
            LimitHit::HostCalls(max) => Self::Count { what: "host calls", max },
        }
    }
}
