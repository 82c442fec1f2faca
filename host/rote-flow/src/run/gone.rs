//! Runs and calls of which nothing is left to resume: the workspace, its database or the tape was taken away while a write of
//! theirs was in doubt. The journal knows the write, and of which flow and which parameters a run was.
//!
//! Invariant: where a tape can be read, what it and its workspace say decides; where not, the journal does.

use std::collections::BTreeSet;

use rote_gate::Doubt;
use rote_home::{Home, Journal, OpenOfRun, OpenWrite};
use rote_types::{FlowName, Sha256Digest, WorkspaceIdentity};
use rote_workspace::{Workspace, WorkspaceError};

use super::in_doubt::has_tape;
use super::{RunContext, Runner};
use crate::FlowError;
use crate::error::RunnerError;

/// What is left of a run.
struct Rest {
    /// Its workspace, where that can be read.
    workspace: Option<Workspace>,
    /// A tape that can be read, or a workspace that cannot: what that says is asked for elsewhere.
    is_run: bool,
}

impl Rest {
    fn of(home: &Home, run: &WorkspaceIdentity) -> Self {
        match Workspace::open(home, &run.name) {
            Ok(workspace) if workspace.identity() == run => {
                let is_run = has_tape(&workspace);
                Self { workspace: Some(workspace), is_run }
            }
            // Another one has its name now.
            Ok(_) | Err(WorkspaceError::NoWorkspace { .. }) => Self { workspace: None, is_run: false },
            Err(_) => Self { workspace: None, is_run: true },
        }
    }
}

/// Returns the writes in doubt of runs of which nothing is left to resume, and of calls whose workspace is gone.
///
/// # Errors
/// The journal or a workspace cannot be read.
pub fn gone_writes(journal: &Journal, home: &Home) -> Result<Vec<Doubt>, FlowError> {
    let mut doubts = Vec::new();
    for write in journal.open_writes(None)? {
        let rest = Rest::of(home, &write.workspace);
        // A workspace that is there tells of what was called in it.
        if !rest.is_run && (write.of_flow || rest.workspace.is_none()) {
            doubts.extend(doubt_of(journal, &write, rest)?);
        }
    }
    Ok(doubts)
}

/// Returns what is known of a write; none where its workspace knows what came of it.
fn doubt_of(journal: &Journal, write: &OpenWrite, rest: Rest) -> Result<Option<Doubt>, FlowError> {
    let Some(workspace) = rest.workspace else { return Ok(Some(Doubt::of_journal(journal, write)?)) };
    rote_gate::recover(journal, &workspace)?;
    rote_gate::sift(journal, &workspace)?;
    let known = workspace.summary(write.response)?;
    if !known.is_open() {
        return Ok(None);
    }
    let doubt = Doubt::of(journal, &workspace, &known, |_| None)?;
    Ok(Some(Doubt { is_gone: true, ..doubt }))
}

impl Runner {
    /// A run is not begun while the same one, of which nothing is left, has a write in doubt. `judged` are the ids of those
    /// that their tapes spoke for.
    pub(super) fn refuse_gone(
        &self,
        (flow, parameters): (&FlowName, Sha256Digest),
        parent: Option<&RunContext>,
        judged: &BTreeSet<String>,
    ) -> Result<(), FlowError> {
        let (home, journal) = (&self.library().home, &self.parts.journal);
        let mut doubts = Vec::new();
        for OpenOfRun { write, run } in journal.open_of(flow, parameters)? {
            let is_judged = |run: &WorkspaceIdentity| run.id.as_ref().is_some_and(|id| judged.contains(id));
            // Its own tree tells the runs that it has begun apart, but for one that is gone.
            let is_own = parent.is_some_and(|parent| parent.root.id.is_some() && parent.root.id == write.root);
            let rest = Rest::of(home, &write.workspace);
            let has_run = is_own || is_judged(&run) || Rest::of(home, &run).is_run;
            if has_run && (rest.is_run || is_judged(&write.workspace)) {
                continue;
            }
            doubts.extend(doubt_of(journal, &write, rest)?);
        }
        let others = doubts.len().saturating_sub(1);
        match doubts.into_iter().next() {
            None => Ok(()),
            Some(first) => {
                let doubt = Box::new(first);
                Err(FlowError::Run(RunnerError::Unsettled { doubt, others, outer: None }))
            }
        }
    }
}
