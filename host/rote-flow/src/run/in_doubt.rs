//! A run whose flow went on although nobody knows what came of a write of it: it has not ended well.

use rote_gate::Doubt;
use rote_runtime::FlowOutcome;
use rote_types::{ErrorKind, ToolCall};
use rote_workspace::{ResponseSummary, Workspace};

use super::resume::Resumed;
use super::tape::Ended;
use crate::{FlowError, Flows, Frontmatter};

/// Most writes in doubt of one run that are counted.
const MAX_COUNTED: usize = 1_000;

/// What a run leaves that a person has to settle.
pub(super) struct LeftInDoubt {
    /// The first one.
    doubt: Doubt,
    /// How many more there are.
    others: usize,
    /// The kind of the failure of its call.
    pub(super) kind: ErrorKind,
}

impl Flows {
    /// Returns what a run leaves in doubt: its own writes before those of runs that it started.
    pub(super) fn left_in_doubt(
        &self,
        workspace: &Workspace,
        tools: &Resumed,
    ) -> Result<Option<LeftInDoubt>, FlowError> {
        let own = workspace.doubts(MAX_COUNTED)?;
        let Some(first) = own.first() else {
            let nested = tools.nested_doubt();
            return Ok(nested.map(|doubt| LeftInDoubt { doubt, others: 0, kind: ErrorKind::Upstream }));
        };
        let doubt = self.doubt(workspace, first)?;
        Ok(Some(LeftInDoubt { doubt, others: own.len() - 1, kind: tools.kind_of(first.id) }))
    }

    /// Returns all that is known of a write in doubt, with the command that looks where there is one.
    pub(super) fn doubt(&self, workspace: &Workspace, known: &ResponseSummary) -> Result<Doubt, FlowError> {
        let mut doubt = Doubt::of(&self.parts.journal, workspace.name(), known)?;
        let command = workspace.commands()?.into_iter().find(|command| command.sequence == known.command);
        if let (Some(adapter), Some(tool), Some(command)) = (known.adapter.clone(), known.tool.clone(), command) {
            doubt.look = self.parts.tools.look(&ToolCall { adapter, tool, arguments: command.arguments });
        }
        Ok(doubt)
    }
}

impl LeftInDoubt {
    /// The first write.
    pub(super) fn doubt(self) -> Doubt {
        self.doubt
    }

    /// How the tape ends: what the guest was told of the write no longer holds once it is settled.
    pub(super) fn end(&self, workspace: &Workspace) -> Ended {
        let own = self.doubt.workspace == *workspace.name();
        Ended::stopped(own.then_some(self.doubt.response))
    }

    /// The error of the run, with what the flow returned.
    pub(super) fn error(self, frontmatter: &Frontmatter, workspace: &Workspace, outcome: FlowOutcome) -> FlowError {
        FlowError::EndedInDoubt {
            flow: frontmatter.name.clone(),
            workspace: workspace.name().clone(),
            doubt: Box::new(self.doubt),
            others: self.others,
            kind: self.kind,
            result: Box::new(outcome.result),
            log: outcome.log.into_iter().map(|line| line.text).collect(),
        }
    }
}
