//! The scheduler's host, made of the component's imports.

use std::fmt;

use rote_plan::{Call, Host, Place, RunError, RunStatus, Status, Step, StepOutcome};
use serde_json::Value;

use crate::rote::base::types::{Cause, Error, ResponseRef};
use crate::rote::host::{clock, output, query, tasks, tools};

/// The host's typed error, with a text.
pub(crate) struct StepError {
    pub error: Error,
    /// Whether the run stops whatever the plan says.
    is_final: bool,
}

impl StepError {
    /// Of a call. A person who must confirm, or pin the changed adapter anew, is to be told at once.
    fn of_call(error: Error) -> Self {
        let is_final = matches!(error.cause, Cause::ConfirmationNeeded(_) | Cause::FingerprintMismatch(_));
        Self { error, is_final }
    }

    /// Of a call that did not start. A bound that is reached then is the run's, and every later call would fail.
    fn of_start(error: Error) -> Self {
        let is_limit = matches!(error.cause, Cause::Limit(_));
        let of_call = Self::of_call(error);
        Self { is_final: of_call.is_final || is_limit, ..of_call }
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error.cause {
            Cause::Denied(denial) => write!(f, "{} (rule `{}`)", denial.message, denial.rule),
            Cause::ConfirmationNeeded(challenge) => {
                write!(f, "`{}` needs a person's confirmation: {}", challenge.tool, challenge.impact)
            }
            Cause::Http(response) => write!(f, "the remote answered {} (@{})", response.status, response.id),
            Cause::InvalidInput(problems) => {
                let texts: Vec<String> =
                    problems.iter().map(|problem| format!("{} {}", problem.pointer, problem.message)).collect();
                f.write_str(&texts.join("; "))
            }
            Cause::FingerprintMismatch(text)
            | Cause::Auth(text)
            | Cause::Upstream(text)
            | Cause::NotFound(text)
            | Cause::Limit(text)
            | Cause::Internal(text) => f.write_str(text),
        }
    }
}

/// Makes calls through the imports and shows one line for each call that ended and each step that did not run.
#[derive(Default)]
pub(crate) struct PlanHost {
    completed: usize,
    partial: usize,
    failed: usize,
    skipped: usize,
    blocked: usize,
}

impl PlanHost {
    /// Returns how many steps ended in which way, as one line.
    pub(crate) fn summary(&self, total: usize, status: Option<RunStatus>) -> String {
        let mut text = format!("{} of {total} steps done", self.completed);
        let others =
            [(self.partial, "partial"), (self.failed, "failed"), (self.skipped, "skipped"), (self.blocked, "blocked")];
        for (count, what) in others {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        if status == Some(RunStatus::Partial) {
            text.push_str("; the run is partial");
        }
        text
    }
}

impl Host for PlanHost {
    type Response = ResponseRef;
    type Error = StepError;

    fn start(&mut self, _place: Place<'_>, call: Call) -> Result<u32, StepError> {
        let Call { adapter, tool, arguments } = call;
        tools::start(&tools::ToolCall { adapter, tool, arguments: arguments.to_string() }).map_err(StepError::of_start)
    }

    fn wait_any(&mut self, open: &[u32]) -> Result<(usize, Result<ResponseRef, StepError>), StepError> {
        let (index, outcome) = tasks::wait_any(open).map_err(StepError::of_call)?;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        Ok((index, outcome.map_err(StepError::of_call)))
    }

    fn query(&mut self, response: &ResponseRef, program: &str) -> Result<Vec<Value>, StepError> {
        read_outputs(query::response(response.id, program))
    }

    fn query_value(&mut self, value: &Value, program: &str) -> Result<Vec<Value>, StepError> {
        read_outputs(query::value(&value.to_string(), program))
    }

    fn pause(&mut self, milliseconds: u64) -> Result<(), StepError> {
        clock::sleep(milliseconds);
        Ok(())
    }

    fn is_final(&self, error: &StepError) -> bool {
        error.is_final
    }

    fn started(&mut self, step: &Step) {
        show(step, tasks::State::Running);
    }

    fn finished(&mut self, place: Place<'_>, outcome: Result<&ResponseRef, &RunError<StepError>>) {
        let Step { adapter, tool, .. } = place.step;
        let end = match outcome {
            Ok(response) => format!("@{} {}  {}", response.id, response.status, size_text(response.bytes)),
            Err(RunError::Step { source, .. }) => format!("failed: {source}"),
            Err(error) => format!("failed: {error}"),
        };
        output::human(&format!("{place}  {adapter}/{tool}  {end}"));
    }

    fn settled(&mut self, step: &Step, outcome: &StepOutcome<ResponseRef, StepError>) {
        let (count, state) = match outcome.status {
            Status::Completed => (&mut self.completed, tasks::State::Done),
            Status::Partial => (&mut self.partial, tasks::State::Failed),
            Status::Failed => (&mut self.failed, tasks::State::Failed),
            Status::Skipped => (&mut self.skipped, tasks::State::Skipped),
            Status::Blocked => (&mut self.blocked, tasks::State::Skipped),
        };
        *count += 1;
        let because = outcome.because.join(", ");
        match outcome.status {
            Status::Skipped if because.is_empty() => {
                output::human(&format!("{}  skipped: condition is false", step.id))
            }
            Status::Skipped => output::human(&format!("{}  skipped with {because}", step.id)),
            Status::Blocked => output::human(&format!("{}  blocked by {because}", step.id)),
            // Nothing else was said of it.
            Status::Completed if outcome.responses.is_empty() => output::human(&format!("{}  no items", step.id)),
            Status::Completed | Status::Partial | Status::Failed => {}
        }
        show(step, state);
    }
}

/// Shows in the live progress how a step stands.
fn show(step: &Step, state: tasks::State) {
    tasks::progress(&format!("{}  {}/{}", step.id, step.adapter, step.tool), state);
}

fn read_outputs(outputs: Result<Vec<String>, Error>) -> Result<Vec<Value>, StepError> {
    let read = |text: &String| serde_json::from_str(text);
    outputs
        .and_then(|outputs| {
            let values: Result<_, serde_json::Error> = outputs.iter().map(read).collect();
            values.map_err(|error| super::own(Cause::Internal(format!("the query engine gave no JSON: {error}"))))
        })
        .map_err(StepError::of_call)
}

/// Returns a size for people: `812 B`, `12.4 KB`.
fn size_text(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = bytes / (unit / 10);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KB", tenths(1_000)),
        _ => format!("{} MB", tenths(1_000_000)),
    }
}
