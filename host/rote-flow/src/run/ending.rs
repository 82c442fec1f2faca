//! The end of a run: what it left is found out, and written into the journal and onto its tape.
//!
//! Invariant: a run that did not end well says so, with its workspace and what may have happened, also where its end
//! cannot be written down any more.

use std::collections::BTreeMap;

use rote_runtime::{FlowFailure, FlowOutcome};
use rote_types::{AdapterId, Classify, conceal};
use rote_workspace::{CommandKind, Workspace};
use serde_json::{Map, Value};

use super::resume::Resumed;
use super::stopped::stopped;
use super::{Runner, Running, report};
use crate::FlowError;
use crate::error::RunnerError;
use crate::literals::walk_scalars;
use crate::report::RunReport;
use crate::tape::FileTape;

/// A run whose guest has ended.
pub(super) struct Ending<'r> {
    pub(super) running: &'r Running,
    pub(super) workspace: &'r Workspace,
    pub(super) tools: &'r Resumed,
    pub(super) tape: &'r FileTape,
    /// A run that it started may have been writing.
    pub(super) within: bool,
    pub(super) duration_ms: u64,
    pub(super) parameters: &'r Map<String, Value>,
}

/// Adds the texts of a value that its schema conceals.
fn add_concealed(schema: &Value, value: &Value, texts: &mut Vec<String>) {
    for found in conceal(schema, value).map(|(_, found)| found).into_iter().flatten() {
        walk_scalars(&found, String::new(), &mut |_, inner| {
            texts.extend(inner.as_str().map(str::to_owned));
        });
    }
}

impl Runner {
    /// The texts among the parameters and the arguments of a run's calls that their schemas conceal.
    pub(super) fn concealed(&self, run: &Ending<'_>) -> Result<Vec<String>, FlowError> {
        let (mut texts, mut tools) = (Vec::new(), BTreeMap::new());
        let schema = &run.running.frontmatter.parameters;
        add_concealed(schema, &Value::Object(run.parameters.clone()), &mut texts);
        for command in run.workspace.commands()?.into_iter().filter(|command| command.kind == CommandKind::Call) {
            let (Some(adapter), Some(tool)) = (command.adapter, command.tool) else { continue };
            let read = |(adapter, tool): &(AdapterId, String)| self.pins().surface.tool(adapter, tool).ok().flatten();
            let called = (adapter, tool);
            let known = tools.entry(called.clone()).or_insert_with(|| read(&called));
            if let Some(tool) = known {
                add_concealed(&tool.input_schema, &command.arguments, &mut texts);
            }
        }
        Ok(texts)
    }

    /// Writes the end of a run down and says how it ended.
    pub(super) fn conclude(
        &self,
        run: &Ending<'_>,
        outcome: Result<FlowOutcome, FlowFailure>,
    ) -> Result<RunReport, FlowError> {
        match outcome {
            Ok(outcome) => self.returned(run, outcome),
            Err(failure) => Err(self.failed(run, failure)),
        }
    }

    /// The end of a run whose guest returned.
    fn returned(&self, run: &Ending<'_>, outcome: FlowOutcome) -> Result<RunReport, FlowError> {
        let (frontmatter, workspace) = (&run.running.frontmatter, run.workspace);
        let left = match self.left_in_doubt(workspace, run.tools) {
            Ok(left) => left,
            Err(error) => return Err(RunnerError::unended(frontmatter, workspace, outcome, &error).into()),
        };
        let Some(left) = left else {
            let written = self.journal_end(frontmatter, workspace, None).and_then(|()| run.tape.end(None));
            return match written.and_then(|()| run.tools.steps(workspace)) {
                Ok(steps) => Ok(report(frontmatter, workspace, steps, outcome, run.duration_ms)),
                Err(error) => Err(RunnerError::unended(frontmatter, workspace, outcome, &error).into()),
            };
        };
        let (kind, end) = (left.kind, left.end(workspace));
        let mut error = left.error(frontmatter, workspace, outcome);
        error.keep(self.journal_end(frontmatter, workspace, Some(kind)));
        error.keep(run.tape.end(Some(end)));
        Err(error)
    }

    /// The end of a run whose guest failed.
    fn failed(&self, run: &Ending<'_>, failure: FlowFailure) -> FlowError {
        let end = run.tools.failed(&failure);
        let (left, unknown) = match self.left_in_doubt(run.workspace, run.tools) {
            Ok(left) => (left, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let mut error = stopped(run.running, run.workspace, failure, (left, run.within));
        let kind = error.kind();
        error.keep(unknown);
        error.keep(self.journal_end(&run.running.frontmatter, run.workspace, Some(kind)));
        error.keep(end.and_then(|end| run.tape.end(Some(end))));
        error
    }
}
