//! Flows: made from a workspace, listed, shown, run.

use std::path::PathBuf;
use std::sync::Arc;

use rote_flow::{
    Crystallized, DryRun, FlowEntry, FlowInfo, FlowReference, LatestRun, ParamSpec, ParameterInput, Request,
    ResultSpec, RunReport, RunRequest,
};
use rote_runtime::Observer;
use rote_types::{ErrorKind, ResponseId, RunLimits};
use rote_workspace::Settlement;

use crate::error::name;
use crate::{App, AppError, Consent};

/// A wish to make a flow from the workspace in use.
#[derive(Debug, Clone)]
pub struct Crystallize {
    /// The flow's name.
    pub name: String,
    /// Parameters: a name, and the recorded value that it stands for; without one, the argument of that name.
    pub parameters: Vec<(String, Option<String>)>,
    /// What it does.
    pub description: Option<String>,
    /// The result, as `@3` or `@3{.jq}`.
    pub result: Option<String>,
    /// Calls to leave out.
    pub skip: Vec<ResponseId>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Replace a draft.
    pub force: bool,
}

/// A wish to run a flow.
#[derive(Debug, Clone, Default)]
pub struct RunFlow {
    /// Its name, or a path to its file; a resumed run knows it.
    pub flow: Option<String>,
    /// Its parameters as words.
    pub parameters: Vec<(String, String)>,
    /// Check and show, send nothing.
    pub dry_run: bool,
    /// Tokens that confirm single writes.
    pub confirm: Vec<String>,
    /// The workspace of a run that was stopped, to go on with.
    pub resume: Option<String>,
    /// What a person says of writes of that run whose outcome is not known.
    pub settle: Vec<(ResponseId, Settlement)>,
    /// How somebody agreed to that; none where nothing is settled.
    pub consent: Option<Consent>,
    /// Where to leave a recording.
    pub record: Option<PathBuf>,
    /// Bounds.
    pub limits: RunLimits,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub enum FlowRan {
    /// It was only checked.
    Dry(Box<DryRun>),
    /// It ran.
    Done(Box<RunReport>),
}

impl App {
    /// Runs a flow.
    ///
    /// # Errors
    /// `FingerprintMismatch` before any call when an adapter is not the pinned one, Usage for parameters that do
    /// not fit, Denied for a file that is not intact, and whatever a call of it fails with.
    pub async fn run_flow(&self, wish: RunFlow, observer: Arc<dyn Observer>) -> Result<FlowRan, AppError> {
        self.refuse_known_answers(&wish.settle)?;
        let request = RunRequest {
            flow: wish.flow.as_deref().map(|flow| self.flow_reference(flow)).transpose()?,
            parameters: ParameterInput::Words(wish.parameters),
            resume: wish.resume.as_deref().map(name).transpose()?,
            settle: wish.settle,
            said: wish.consent.map(|consent| self.word(consent)),
            confirm: wish.confirm,
            limits: wish.limits,
            record: wish.record.map(|path| self.absolute(&path)),
        };
        let runner = self.runner()?;
        match wish.dry_run {
            true => Ok(FlowRan::Dry(Box::new(runner.dry_run(&request).await?))),
            false => Ok(FlowRan::Done(Box::new(runner.run(&request, observer).await?))),
        }
    }

    /// Returns the latest run that can go on, of this flow where one is named.
    ///
    /// # Errors
    /// `NotFound` when there is none, with the reason.
    pub fn latest_run(&self, flow: Option<&str>) -> Result<LatestRun, AppError> {
        let flow = flow.map(|flow| self.flow_reference(flow)).transpose()?;
        Ok(self.runner()?.latest_run(flow.as_ref())?)
    }

    /// Makes a flow from the workspace in use.
    ///
    /// # Errors
    /// Conflict when the replay does not give the recorded result or the name is taken.
    pub async fn crystallize(&self, wish: Crystallize) -> Result<Crystallized, AppError> {
        let request = Request {
            workspace: self.workspace()?.name().clone(),
            name: name(&wish.name)?,
            description: wish.description,
            params: wish.parameters.into_iter().map(|(name, value)| ParamSpec { name, value }).collect(),
            result: wish.result.as_deref().map(result_spec).transpose()?,
            skip: wish.skip,
            model: None,
            tags: wish.tags,
            force: wish.force,
        };
        Ok(self.crystallizer()?.crystallize(&request).await?)
    }

    /// Returns the flows, broken ones with their problem.
    ///
    /// # Errors
    /// General when the home cannot be read.
    pub fn flows(&self) -> Result<Vec<FlowEntry>, AppError> {
        Ok(self.library()?.list()?)
    }

    /// Returns all about one flow.
    ///
    /// # Errors
    /// `NotFound` when there is none, Denied when its file is not intact.
    pub fn flow_info(&self, text: &str) -> Result<FlowInfo, AppError> {
        Ok(FlowInfo::read(&self.blessings()?, &self.flow_reference(text)?)?)
    }

    /// Returns the flow that a person means; a path is the caller's.
    pub(crate) fn flow_reference(&self, text: &str) -> Result<FlowReference, AppError> {
        Ok(match FlowReference::parse(text)? {
            FlowReference::Path(path) => FlowReference::Path(self.absolute(&path)),
            named => named,
        })
    }
}

/// Reads `@3` or `@3{.jq}`.
fn result_spec(text: &str) -> Result<ResultSpec, AppError> {
    let (id, jq) = match text.strip_suffix('}').and_then(|text| text.split_once('{')) {
        Some((id, jq)) => (id, jq),
        None => (text, "."),
    };
    let response: ResponseId =
        id.parse().map_err(|error: rote_types::IdError| AppError::new(ErrorKind::Usage, error.to_string()))?;
    Ok(ResultSpec { response, jq: jq.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_a_response_and_perhaps_a_program() {
        let spec = |response, jq: &str| ResultSpec { response: ResponseId(response), jq: jq.to_owned() };
        assert_eq!(result_spec("@3"), Ok(spec(3, ".")));
        assert_eq!(result_spec("@3{.a | {b}}"), Ok(spec(3, ".a | {b}")));
        assert!(result_spec("3").is_err());
    }
}
