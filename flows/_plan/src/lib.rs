//! The plan template: a component of world `rote:flow/flow` that runs the plan in its payload.
//!
//! Every crystallized flow is this component with another payload, so all of them share one compiled template.
//! It decides nothing about policy: it evaluates arguments, starts calls in dependency order and reads responses
//! by jq, all through the host. Its text output is one line per call, and one per step that did not run.
#![expect(missing_docs, unsafe_code, reason = "what wit-bindgen generates")]
mod host;

wit_bindgen::generate!({
    path: ["../../wit/rote-base@0.2.0", "../../wit/rote-host@0.2.0", "../../wit/rote-flow@0.2.0"],
    world: "rote:flow/flow",
    generate_all,
});

use rote_plan::{Plan, RunError};
use serde_json::Value;

use crate::host::{PlanHost, StepError};
use crate::rote::base::types::{Cause, Problem};
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
    own(Cause::InvalidInput(vec![Problem { pointer: pointer.to_owned(), message }]))
}

/// An error that is not the host's.
fn own(cause: Cause) -> Error {
    Error { id: None, cause, context: String::new() }
}

/// Says in the world's words why the run failed: the host's own error, with the step named.
fn failure(error: RunError<StepError>) -> Error {
    let text = error.to_string();
    match error {
        RunError::Step { step, source } => Error { context: format!("step `{step}`"), ..source.error },
        RunError::Host { source } => source.error,
        RunError::Missing { cause: Some(cause), .. } => failure(*cause),
        RunError::Missing { .. } => own(Cause::NotFound(text)),
        RunError::Never { .. } => own(Cause::Upstream(text)),
        RunError::Value { .. } => invalid("", text),
        RunError::Parameters { missing, unknown } => {
            let problem = |kind: &str, name: String| Problem {
                pointer: format!("/{name}"),
                message: format!("parameter `{name}` is {kind}"),
            };
            let missing = missing.into_iter().map(|name| problem("missing", name));
            let unknown = unknown.into_iter().map(|name| problem("unknown", name));
            own(Cause::InvalidInput(missing.chain(unknown).collect()))
        }
        _ => own(Cause::Internal(text)),
    }
}
