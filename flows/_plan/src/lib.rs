//! The plan template: a component of world `rote:flow/flow` that runs the plan in its payload.
//!
//! Every crystallized flow is this component with another payload, so all of them share one compiled template.
//! It decides nothing about policy: it evaluates arguments, starts calls in dependency order and reads responses
//! by jq, all through the host. Its text output is one line per call, and one per step that did not run.
#![expect(missing_docs, unsafe_code, reason = "what wit-bindgen generates")]
mod host;

wit_bindgen::generate!({
    path: ["../../wit/rote-base@0.1.0", "../../wit/rote-host@0.1.0", "../../wit/rote-flow@0.1.0"],
    world: "rote:flow/flow",
    generate_all,
});

use rote_plan::{Plan, RunError};
use serde_json::Value;

use crate::host::{PlanHost, StepError};
use crate::rote::base::types::{Denial, Problem};
use crate::rote::host::{log, output, payload};

struct Template;

impl Guest for Template {
    fn describe() -> Json {
        format!(r#"{{"kind":"plan","plan_version":{}}}"#, rote_plan::VERSION)
    }

    fn run(parameters: Json) -> Result<Json, Error> {
        let plan = Plan::parse(&payload::read()).map_err(|error| invalid("/payload", error.to_string()))?;
        let parameters = match serde_json::from_str(&parameters) {
            Ok(Value::Object(parameters)) => parameters,
            Ok(_) => return Err(invalid("", "the parameters are not an object".to_owned())),
            Err(error) => return Err(invalid("", format!("the parameters are not JSON: {error}"))),
        };
        let mut host = PlanHost::default();
        match rote_plan::run(&plan, &parameters, &mut host) {
            Ok(outcome) => {
                output::summary(&host.summary(plan.steps.len(), Some(outcome.status)));
                Ok(outcome.result.to_string())
            }
            Err(error) => {
                log::write(log::Level::Error, &error.to_string());
                output::summary(&format!("{}; {error}", host.summary(plan.steps.len(), None)));
                Err(failure(error))
            }
        }
    }
}

export!(Template);

fn invalid(pointer: &str, message: String) -> Error {
    Error::InvalidInput(vec![Problem { pointer: pointer.to_owned(), message }])
}

/// Says in the world's words why the run failed: the host's own error, with the step named where it has text.
fn failure(error: RunError<StepError>) -> Error {
    let text = error.to_string();
    match error {
        RunError::Step { step, source } => at_step(&step, source.error),
        RunError::Host { source } => source.error,
        RunError::Missing { cause: Some(cause), .. } => failure(*cause),
        RunError::Missing { .. } => Error::NotFound(text),
        RunError::Value { .. } => invalid("", text),
        RunError::Parameters { missing, unknown } => {
            let problem = |kind: &str, name: String| Problem {
                pointer: format!("/{name}"),
                message: format!("parameter `{name}` is {kind}"),
            };
            let missing = missing.into_iter().map(|name| problem("missing", name));
            let unknown = unknown.into_iter().map(|name| problem("unknown", name));
            Error::InvalidInput(missing.chain(unknown).collect())
        }
        _ => Error::Internal(text),
    }
}

/// Puts the step's name before the text of an error.
fn at_step(step: &str, error: Error) -> Error {
    let named = |text: String| format!("step `{step}`: {text}");
    match error {
        Error::Denied(denial) => Error::Denied(Denial { message: named(denial.message), ..denial }),
        Error::FingerprintMismatch(text) => Error::FingerprintMismatch(named(text)),
        Error::Auth(text) => Error::Auth(named(text)),
        Error::Upstream(text) => Error::Upstream(named(text)),
        Error::NotFound(text) => Error::NotFound(named(text)),
        Error::Limit(text) => Error::Limit(named(text)),
        Error::Internal(text) => Error::Internal(named(text)),
        Error::InvalidInput(problems) => {
            let named = |problem: Problem| Problem { message: named(problem.message), ..problem };
            Error::InvalidInput(problems.into_iter().map(named).collect())
        }
        Error::ConfirmationNeeded(challenge) => Error::ConfirmationNeeded(challenge),
        Error::Http(response) => Error::Http(response),
    }
}
