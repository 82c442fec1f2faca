//! Errors across the boundary: what a guest is told, and what its caller is told.
//!
//! Invariant: the guest gets a typed variant with text that is safe for it, and a number; the caller gets the host's own
//! error whenever the guest gives that number back, whatever words it puts around it. Nothing is known by its text.

use std::collections::VecDeque;
use std::mem::{Discriminant, discriminant};

use rote_types::{Classify, ErrorKind, MAX_BATCH, Misfit, QueryError, Refusal, ResponseId, ResponseRef};
use rote_workspace::WorkspaceError;

use crate::bindings::adapter::rote::base::types as wit;
use crate::error::{LimitKind, RunError};
use crate::limiter::LimitHit;
use rote_types::clean_line;

/// Errors that are remembered per instance; one that a guest passes on after that many others counts as its own.
const REMEMBERED: usize = 1 << 10;
// Of one batch, each call can fail, and the guest passes on the first.
const _: () = assert!(REMEMBERED >= MAX_BATCH);
/// Most bytes of a text that a guest put into an error.
const TEXT_BYTES: usize = 2 << 10;
/// Most problems of one refusal that are passed on.
const PROBLEMS: usize = 32;

/// What the guest was told, with what it means to the host.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    told: VecDeque<Told>,
    /// The number of the last error.
    last: u64,
    unanswered: Option<ResponseId>,
    stuck: Option<Stuck>,
}

#[derive(Debug)]
struct Told {
    id: u64,
    case: Discriminant<wit::Cause>,
    host: RunError,
    /// The number of the call that failed, where it is one.
    response: Option<ResponseId>,
    /// Where the failure is on the tape.
    frame: Option<u64>,
}

/// A call that failed, since when no call that was started later has succeeded.
#[derive(Debug, Clone, Copy)]
struct Stuck {
    response: ResponseId,
    /// How many calls had been started when the guest learned of it.
    started: u32,
}

/// What is behind the error that a guest ended with.
#[derive(Debug)]
pub(crate) struct Explained {
    pub(crate) error: RunError,
    /// The call whose error it is.
    pub(crate) response: Option<ResponseId>,
    /// The call that may be behind an error of the guest's own making.
    pub(crate) suspect: Option<ResponseId>,
    /// Where the failure that it is is on the tape.
    pub(crate) frame: Option<u64>,
}

impl Remembered {
    /// Returns what the guest is told of `error`, and remembers the error itself.
    pub(crate) fn tell(&mut self, error: RunError) -> wit::Error {
        self.remember(None, None, error)
    }

    /// As [`Remembered::tell`], of a failure that is on the tape.
    pub(crate) fn tell_on_tape(&mut self, frame: Option<u64>, error: RunError) -> wit::Error {
        self.remember(None, frame, error)
    }

    /// Returns what the guest is told of a call that failed, `started` calls having been started by then.
    pub(crate) fn tell_of(&mut self, response: Option<ResponseId>, started: u32, error: RunError) -> wit::Error {
        if recorded(&error).is_none() {
            self.unanswered = response.or(self.unanswered);
        }
        if let (None, Some(response)) = (self.stuck, response) {
            self.stuck = Some(Stuck { response, started });
        }
        self.remember(response, None, error)
    }

    /// Notes that the guest was told of a call that succeeded: what it began after a failure shows that it got over it.
    pub(crate) fn succeeded(&mut self, task: u32) {
        self.stuck = self.stuck.filter(|stuck| task < stuck.started);
    }

    fn remember(&mut self, response: Option<ResponseId>, frame: Option<u64>, error: RunError) -> wit::Error {
        let cause = to_wit(&error);
        self.last += 1;
        if self.told.len() >= REMEMBERED {
            self.told.pop_front();
        }
        self.told.push_back(Told { id: self.last, case: discriminant(&cause), host: error, response, frame });
        wit::Error { id: Some(self.last), cause, context: String::new() }
    }

    /// Returns the call that may be behind an error which is not one of those that the guest was told: the failure that it
    /// did not get over, else the last call without an answer.
    pub(crate) fn suspect(&self) -> Option<ResponseId> {
        self.stuck.map(|stuck| stuck.response).or(self.unanswered)
    }

    /// Returns the host's own error behind what the guest ended with, or the guest's as its own.
    pub(crate) fn explain(mut self, subject: &str, ended_with: wit::Error) -> Explained {
        let wit::Error { id, cause, context } = ended_with;
        let context = clean_line(&context, TEXT_BYTES);
        let position = id.and_then(|id| self.told.iter().position(|told| told.id == id));
        let Some(told) = position.and_then(|position| self.told.remove(position)) else {
            let error = RunError::within(context, from_guest(subject, cause));
            return Explained { error, response: None, suspect: self.suspect(), frame: None };
        };
        let error = if told.case == discriminant(&cause) {
            told.host
        } else {
            RunError::Because { error: Box::new(from_guest(subject, cause)), source: Box::new(told.host) }
        };
        Explained { error: RunError::within(context, error), response: told.response, suspect: None, frame: told.frame }
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
fn to_wit(error: &RunError) -> wit::Cause {
    if let Some(response) = recorded(error) {
        return wit::Cause::Http(response_to_wit(response));
    }
    let message = rote_types::with_causes(error);
    if is_wrong_query(error) {
        return wit::Cause::InvalidInput(vec![wit::Problem { pointer: String::new(), message }]);
    }
    match (error.kind(), error.refusal()) {
        (ErrorKind::Usage, Some(Refusal::Arguments(problems))) if !problems.is_empty() => {
            wit::Cause::InvalidInput(problems.into_iter().map(problem_to_wit).collect())
        }
        // Some conflicts are refusals too, such as the same write in doubt: asked again, the host says the same.
        (ErrorKind::Conflict, Some(Refusal::Rule(rule))) => {
            wit::Cause::Denied(wit::Denial { rule, message, hint: error.hint().unwrap_or_default() })
        }
        (ErrorKind::Denied, refusal) => {
            let rule = if let Some(Refusal::Rule(rule)) = refusal { rule } else { "policy".to_owned() };
            wit::Cause::Denied(wit::Denial { rule, message, hint: error.hint().unwrap_or_default() })
        }
        (ErrorKind::ConfirmationNeeded, Some(Refusal::Confirmation { tool, impact, .. })) => {
            wit::Cause::ConfirmationNeeded(wit::Challenge { tool, impact })
        }
        (ErrorKind::ConfirmationNeeded, _) => {
            wit::Cause::ConfirmationNeeded(wit::Challenge { tool: String::new(), impact: message })
        }
        (ErrorKind::FingerprintMismatch, _) => wit::Cause::FingerprintMismatch(message),
        (ErrorKind::Auth, _) => wit::Cause::Auth(message),
        (ErrorKind::Upstream, _) => wit::Cause::Upstream(message),
        (ErrorKind::Usage, _) => wit::Cause::InvalidInput(vec![wit::Problem { pointer: String::new(), message }]),
        (ErrorKind::NotFound, _) => wit::Cause::NotFound(message),
        (ErrorKind::Limit, _) => wit::Cause::Limit(message),
        _ => wit::Cause::Internal(message),
    }
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

fn problem_to_wit(Misfit { pointer, message }: Misfit) -> wit::Problem {
    wit::Problem { pointer, message }
}

/// Returns an error that the guest made itself, its texts cleaned.
fn from_guest(subject: &str, cause: wit::Cause) -> RunError {
    let guest = |kind: ErrorKind, message: &str, hint: Option<&str>| RunError::Guest {
        subject: subject.to_owned(),
        kind,
        message: clean_line(message, TEXT_BYTES),
        hint: hint.filter(|hint| !hint.is_empty()).map(|hint| clean_line(hint, TEXT_BYTES)),
    };
    match cause {
        wit::Cause::Denied(denial) => guest(ErrorKind::Denied, &denial.message, Some(&denial.hint)),
        wit::Cause::ConfirmationNeeded(challenge) => guest(ErrorKind::General, &challenge.impact, None),
        wit::Cause::FingerprintMismatch(message) => guest(ErrorKind::FingerprintMismatch, &message, None),
        wit::Cause::Auth(message) => guest(ErrorKind::Auth, &message, None),
        wit::Cause::Http(response) => guest(
            ErrorKind::Upstream,
            &format!("{} answered with status {}", ResponseId(response.id), response.status),
            None,
        ),
        wit::Cause::Upstream(message) => guest(ErrorKind::Upstream, &message, None),
        wit::Cause::InvalidInput(problems) => RunError::InvalidInput {
            subject: subject.to_owned(),
            problems: problems.iter().take(PROBLEMS).map(problem_from_wit).collect(),
        },
        wit::Cause::NotFound(message) => guest(ErrorKind::NotFound, &message, None),
        wit::Cause::Limit(message) => guest(ErrorKind::Limit, &message, None),
        wit::Cause::Internal(message) => guest(ErrorKind::General, &message, None),
    }
}

fn problem_from_wit(problem: &wit::Problem) -> Misfit {
    Misfit { pointer: clean_line(&problem.pointer, TEXT_BYTES), message: clean_line(&problem.message, TEXT_BYTES) }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(message: &str) -> RunError {
        RunError::plain(ErrorKind::Upstream, message)
    }

    fn own(cause: wit::Cause) -> wit::Error {
        wit::Error { id: None, cause, context: String::new() }
    }

    #[test]
    fn an_error_that_is_passed_on_is_the_hosts_whatever_its_fields_say() {
        let mut told = Remembered::default();
        let _first = told.tell_of(Some(ResponseId(1)), 2, failed("away"));
        let second = told.tell_of(Some(ResponseId(2)), 2, failed("away"));
        let changed = wit::Error {
            cause: wit::Cause::Upstream("all is well".to_owned()),
            context: "cannot\u{1b}[31m sync".to_owned(),
            ..second
        };
        let Explained { error, response, suspect, .. } = told.explain("flow", changed);
        assert_eq!((error.to_string().as_str(), response, suspect), ("cannot sync: away", Some(ResponseId(2)), None));
        assert_eq!((error.kind(), error.behind().to_string().as_str()), (ErrorKind::Upstream, "away"));
    }

    #[test]
    fn an_error_made_of_the_hosts_keeps_it_as_its_cause() {
        let mut told = Remembered::default();
        let away = told.tell_of(Some(ResponseId(1)), 1, failed("away"));
        let own = wit::Error { cause: wit::Cause::NotFound("no customer".to_owned()), ..away };
        let Explained { error, response, .. } = told.explain("flow", own);
        assert_eq!((error.kind(), response), (ErrorKind::NotFound, Some(ResponseId(1))));
        assert_eq!(rote_types::with_causes(&error), "flow failed: no customer: away");
    }

    #[test]
    fn a_number_that_was_not_given_makes_no_error_the_hosts() {
        let mut told = Remembered::default();
        let away = told.tell_of(Some(ResponseId(1)), 1, failed("away"));
        let forged = wit::Error { id: Some(99), ..away };
        let Explained { error, response, suspect, .. } = told.explain("flow", forged);
        assert!(matches!(error, RunError::Guest { .. }), "{error:?}");
        assert_eq!((response, suspect), (None, Some(ResponseId(1))));
    }

    #[test]
    fn the_first_failure_that_the_guest_did_not_get_over_is_suspected() {
        let suspect = |told: Remembered| told.explain("flow", own(wit::Cause::Internal("no".to_owned()))).suspect;
        let answered = |id: u64| {
            let response =
                ResponseRef { id: ResponseId(id), status: 503, content_type: String::new(), bytes: 0, refused: false };
            RunError::Http { response, message: "503".to_owned() }
        };
        let mut told = Remembered::default();
        told.tell_of(Some(ResponseId(1)), 2, answered(1));
        told.tell_of(Some(ResponseId(2)), 2, answered(2));
        // Begun before the failure, it says nothing.
        told.succeeded(1);
        assert_eq!(suspect(told), Some(ResponseId(1)));
        let mut told = Remembered::default();
        told.tell_of(Some(ResponseId(1)), 1, answered(1));
        told.succeeded(1);
        assert_eq!(suspect(told), None);
        let mut told = Remembered::default();
        told.tell_of(Some(ResponseId(1)), 1, failed("away"));
        told.succeeded(1);
        assert_eq!(suspect(told), Some(ResponseId(1)), "of a call without an answer nothing is known");
    }
}
