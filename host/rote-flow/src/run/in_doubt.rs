//! A run whose flow went on although nobody knows what came of a write of it: it has not ended well.

use rote_gate::{Doubt, GateError};
use rote_home::Home;
use rote_runtime::{FlowOutcome, RunError};
use rote_types::{ErrorKind, ResponseId, WorkspaceIdentity};
use rote_workspace::{ResponseState, ResponseSummary, Workspace, WorkspaceError};

use super::Runner;
use super::resume::Resumed;
use crate::error::{Left, RunnerError};
use crate::tape::{Ended, Ends, Recorded};
use crate::{FlowError, Frontmatter};

/// Returns the writes of a workspace of which nobody knows whether they happened: those in doubt, and of a run that has not
/// ended well those at which the server failed (5xx) or redirected, whatever it was that ended the run: begun anew, it would
/// make them again.
///
/// # Errors
/// The workspace cannot be read. A tape that cannot be read says nothing of its run.
pub fn unknown_writes(workspace: &Workspace) -> Result<Vec<ResponseSummary>, FlowError> {
    let mut writes = workspace.open_writes()?;
    let only_lost = |one: &ResponseSummary| one.state == ResponseState::InDoubt;
    if !writes.iter().all(only_lost) {
        match Ends::read(workspace) {
            Ok(Some(ends)) if !ends.is_complete() => {}
            _ => writes.retain(only_lost),
        }
    }
    Ok(writes)
}

/// Whether a workspace is one of a run that can be gone on with, as far as its tape can be read.
#[must_use]
pub fn has_tape(workspace: &Workspace) -> bool {
    matches!(Ends::read(workspace), Ok(Some(_)))
}

/// Whether a run stopped after it wrote, itself or by runs that it started: only who goes on with it makes none of that
/// twice. What a nested run did belongs to the run that a person started, for as long as that can be resumed.
///
/// # Errors
/// The workspace, that of the run which a person started, or a tape cannot be read.
pub fn stopped_after_writing(home: &Home, workspace: &Workspace) -> Result<bool, FlowError> {
    let Some(ends) = Ends::read(workspace)? else { return Ok(false) };
    if let Some(root) = &ends.header.root
        && is_open(home, root)?
    {
        return Ok(true);
    }
    if ends.is_complete() {
        return Ok(false);
    }
    has_written(workspace)
}

/// Whether a run has written something, or started a run that may have.
pub(super) fn has_written(workspace: &Workspace) -> Result<bool, FlowError> {
    let wrote = |one: &ResponseSummary| one.writes && (one.status.is_some() || one.settled.is_some());
    if workspace.ls()?.iter().any(wrote) {
        return Ok(true);
    }
    let recorded = Recorded::read(workspace)?;
    Ok(recorded.is_some_and(|recorded| recorded.frames.iter().any(|frame| frame.nested().is_some())))
}

/// Whether the workspace of a run is there, and the run has not ended well.
fn is_open(home: &Home, run: &WorkspaceIdentity) -> Result<bool, FlowError> {
    match Workspace::open(home, &run.name) {
        Ok(workspace) if workspace.identity() == run => {
            Ok(Ends::read(&workspace)?.is_some_and(|ends| !ends.is_complete()))
        }
        // Another one has its name now.
        Ok(_) | Err(WorkspaceError::NoWorkspace { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Most writes in doubt of one run that are counted.
pub(super) const MAX_COUNTED: usize = 1_000;

/// What a run leaves that a person has to settle.
pub(super) struct LeftInDoubt {
    /// The first one.
    doubt: Doubt,
    /// How many more there are.
    others: usize,
    /// The kind of the failure of its call.
    pub(super) kind: ErrorKind,
}

impl Runner {
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
        Ok(Doubt::of(&self.parts.journal, workspace, known, |write| self.parts.tools.look(write))?)
    }
}

impl LeftInDoubt {
    /// What is said of it where something stopped the run.
    pub(super) fn of_stopped(self, workspace: &Workspace, source: &RunError, response: Option<ResponseId>) -> Left {
        let own = self.doubt.workspace == *workspace.name() && response == Some(self.doubt.response);
        let named = match source.behind() {
            RunError::Gate(error) => matches!(**error, GateError::InDoubt { .. } | GateError::SameInDoubt { .. }),
            RunError::Nested { names_doubt, .. } => *names_doubt,
            _ => false,
        };
        // The flow's own kind would hide it.
        let as_told = matches!(source, RunError::Gate(_) | RunError::Within(_) | RunError::Nested { .. });
        Left::Doubt { doubt: Box::new(self.doubt), kind: self.kind, named: (own || named) && as_told }
    }

    /// How the tape ends: what the guest was told of the write no longer holds once it is settled.
    pub(super) fn end(&self, workspace: &Workspace) -> Ended {
        if self.doubt.workspace == *workspace.name() {
            Ended::stopped(Some(self.doubt.response))
        } else {
            Ended::cut_off()
        }
    }

    /// The error of the run, with what the flow returned.
    pub(super) fn error(self, frontmatter: &Frontmatter, workspace: &Workspace, outcome: FlowOutcome) -> FlowError {
        FlowError::Run(RunnerError::EndedInDoubt {
            flow: frontmatter.name.clone(),
            workspace: workspace.name().clone(),
            doubt: Box::new(self.doubt),
            others: self.others,
            kind: self.kind,
            result: Box::new(outcome.result),
            log: outcome.log.into_iter().map(|line| line.text).collect(),
            unkept: Vec::new(),
        })
    }
}
