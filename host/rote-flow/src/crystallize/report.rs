//! What crystallize decided and what it leaves to a person.

use std::collections::BTreeSet;

use rote_types::ResponseId;
use serde::Serialize;
use serde_json::Value;

use super::draft::{Draft, DraftStep};
use crate::question::{Dropped, Note, Place, Question};
use crate::trace::Trace;

/// A step and the call that it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepOrigin {
    pub step: String,
    /// The recorded response.
    pub response: ResponseId,
    /// The command in the workspace's log.
    pub command: u64,
    /// What it calls, `adapter/tool`.
    pub call: String,
    /// The steps that it waits for.
    pub needs: Vec<String>,
}

/// A parameter and where it goes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterReport {
    pub name: String,
    /// The recorded value.
    pub example: Value,
    /// `given` on the command line, or `variable` set by hand in the workspace.
    pub source: &'static str,
    /// Its value is a secret: `example` is a word that stands for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Where it is used.
    pub places: Vec<Place>,
}

/// A literal that could become a parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proposal {
    /// A name for it.
    pub name: String,
    pub value: Value,
    /// Why it is proposed.
    pub reason: &'static str,
    /// Where it stands.
    pub places: Vec<Place>,
}

/// Everything that crystallize has to say.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Report {
    /// The steps and their origins.
    pub steps: Vec<StepOrigin>,
    /// What was left out.
    pub dropped: Vec<Dropped>,
    pub parameters: Vec<ParameterReport>,
    /// What could become a parameter: `--param name=value`.
    pub proposals: Vec<Proposal>,
    /// Where the result comes from.
    pub result: String,
    /// What was done without asking, and anything else worth knowing.
    pub notes: Vec<Note>,
    /// What the recording does not decide.
    pub questions: Vec<Question>,
    /// Calls of the replay that reproduced the recorded result.
    pub replayed_calls: usize,
}

impl Report {
    /// Says where each step came from and what it waits for.
    pub(crate) fn of_steps(draft: &Draft, trace: &Trace) -> Self {
        let origin = |step: &DraftStep| {
            let call = step.call(trace);
            let needs: BTreeSet<&str> =
                step.needs.iter().chain(&step.after).map(String::as_str).chain(step.uses()).collect();
            StepOrigin {
                step: step.id.clone(),
                response: call.response,
                command: call.command,
                call: format!("{}/{}", call.adapter, call.tool),
                needs: needs.into_iter().map(str::to_owned).collect(),
            }
        };
        Self { steps: draft.steps.iter().map(origin).collect(), ..Self::default() }
    }
}
