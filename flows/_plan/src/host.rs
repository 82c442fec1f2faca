//! The scheduler's host, made of the component's imports.

use std::fmt;

use rote_plan::{Call, Host, Step};
use serde_json::Value;

use crate::rote::base::types::{Error, ResponseRef};
use crate::rote::host::{output, query, tools};

/// The host's typed error, with a text.
pub struct StepError(pub Error);

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Error::Denied(denial) => write!(f, "{} (rule `{}`)", denial.message, denial.rule),
            Error::ConfirmationNeeded(challenge) => {
                write!(f, "`{}` needs a person's confirmation: {}", challenge.tool, challenge.impact)
            }
            Error::Http(response) => write!(f, "the remote answered {} (@{})", response.status, response.id),
            Error::InvalidInput(problems) => {
                let texts: Vec<String> =
                    problems.iter().map(|problem| format!("{} {}", problem.pointer, problem.message)).collect();
                f.write_str(&texts.join("; "))
            }
            Error::FingerprintMismatch(text)
            | Error::Auth(text)
            | Error::Upstream(text)
            | Error::NotFound(text)
            | Error::Limit(text)
            | Error::Internal(text) => f.write_str(text),
        }
    }
}

/// Makes calls through the imports and shows one line for each step that ended.
#[derive(Default)]
pub struct PlanHost {
    done: usize,
    failed: usize,
}

impl PlanHost {
    /// Returns how many steps ended well, as one line.
    pub fn summary(&self, total: usize) -> String {
        match self.failed {
            0 => format!("{} of {total} steps done", self.done),
            failed => format!("{} of {total} steps done, {failed} failed", self.done),
        }
    }
}

impl Host for PlanHost {
    type Response = ResponseRef;
    type Error = StepError;

    fn start(&mut self, _step: &Step, call: Call) -> Result<u32, StepError> {
        let Call { adapter, tool, arguments } = call;
        tools::start(&tools::ToolCall { adapter, tool, arguments: arguments.to_string() }).map_err(StepError)
    }

    fn wait_any(&mut self, tasks: &[u32]) -> Result<(usize, Result<ResponseRef, StepError>), StepError> {
        let (index, outcome) = tools::wait_any(tasks).map_err(StepError)?;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        Ok((index, outcome.map_err(StepError)))
    }

    fn query(&mut self, response: &ResponseRef, program: &str) -> Result<Vec<Value>, StepError> {
        let outputs = query::response(response.id, program).map_err(StepError)?;
        outputs
            .iter()
            .map(|text| serde_json::from_str(text))
            .collect::<Result<_, _>>()
            .map_err(|error| StepError(Error::Internal(format!("the query engine gave no JSON: {error}"))))
    }

    fn finished(&mut self, step: &Step, outcome: Result<&ResponseRef, &StepError>) {
        let Step { id, adapter, tool, .. } = step;
        match outcome {
            Ok(response) => {
                self.done += 1;
                let size = size_text(response.bytes);
                output::human(&format!("{id}  {adapter}/{tool}  @{} {}  {size}", response.id, response.status));
            }
            Err(error) => {
                self.failed += 1;
                output::human(&format!("{id}  {adapter}/{tool}  failed: {error}"));
            }
        }
    }
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
