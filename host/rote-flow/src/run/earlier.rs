//! What an earlier attempt of a run had started: which failures of its tape are not told again, and the nested runs that
//! are gone on with in place of being begun anew.
//!
//! Invariant: a nested run that was begun once is found again by its flow and its parameters, whatever became of the tape
//! that began it; so what it wrote is not written twice. None of it goes on while a write of it is in doubt.

use std::collections::BTreeSet;

use rote_gate::Doubt;
use rote_home::Home;
use rote_runtime::{TapedFailure, Told};
use rote_types::{Effected, MAX_NESTING, ResponseId, WorkspaceName};
use rote_workspace::{ResponseState, ResponseSummary, Workspace, WorkspaceError};

use super::Runner;
use super::in_doubt::{MAX_COUNTED, unknown_writes};
use super::keyed::Keys;
use super::resume;
use crate::FlowError;
use crate::error::RunnerError;
use crate::tape::{self, Ended, Ends, Frame, Recorded};

/// The nested runs of an earlier attempt, by their workspaces.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// They are not on the tape any more: what begins them again goes on with them.
    pub(super) left: BTreeSet<String>,
    /// Their end is told again, so they do not run.
    pub(super) ended: BTreeSet<String>,
}

impl Earlier {
    pub(super) fn contains(&self, run: &str) -> bool {
        self.left.contains(run) || self.ended.contains(run)
    }

    /// Sorts the nested runs that were begun by what the tape still says of them.
    pub(super) fn of(mut begun: BTreeSet<String>, frames: &[Frame]) -> Self {
        let mut ended = BTreeSet::new();
        for (at, run) in frames.iter().enumerate().filter_map(|(at, frame)| Some((at, frame.nested()?))) {
            begun.remove(run);
            // A guest waits for a nested run before it asks for anything else.
            if at + 1 < frames.len() {
                ended.insert(run.to_owned());
            }
        }
        Self { left: begun, ended }
    }
}

/// Takes away what the run is to learn anew: the failure that stopped it, and what followed; and the first failure of a nested
/// run with a write in doubt, which goes on: a person has spoken of it, or it carries a key.
pub(super) fn cut(home: &Home, workspace: &Workspace, recorded: &mut Recorded) {
    if let Some(read) = last_read(workspace, recorded) {
        recorded.end = Some(Ended::stopped(Some(read)));
    }
    let frames = &recorded.frames;
    let stopped = recorded.end.as_ref().and_then(|end| match end.frame {
        Some(frame) => usize::try_from(frame).ok(),
        None if end.is_stop() && end.response.is_none() => stuck(frames),
        // The time that was up for a nested run was up for all of it.
        None if end.is_cut_off() && frames.last().is_some_and(is_limit) => Some(frames.len() - 1),
        None => None,
    });
    let doubtful = frames.windows(2).position(|pair| match pair {
        [begin, end] => {
            let doubt = end.failure.as_ref().is_some_and(TapedFailure::names_doubt);
            doubt && begin.nested().is_some_and(|run| open(home, run).is_some())
        }
        _ => false,
    });
    let cut = stopped.into_iter().chain(doubtful.map(|begin| begin + 1)).min();
    recorded.frames.truncate(cut.unwrap_or(recorded.frames.len()));
}

fn is_limit(frame: &Frame) -> bool {
    frame.failure.as_ref().is_some_and(TapedFailure::is_limit)
}

/// The first failure after which the run learned of no success: of one that says not why it ended, that is the reason.
fn stuck(frames: &[Frame]) -> Option<usize> {
    let after = frames.iter().rposition(Frame::is_success).map_or(0, |last| last + 1);
    frames[after..].iter().position(|frame| frame.failure.is_some()).map(|at| after + at)
}

/// What a run read last that failed by itself, after no other failure: it could do nothing with that, so it is read again.
fn last_read(workspace: &Workspace, Recorded { frames, end, .. }: &Recorded) -> Option<ResponseId> {
    let itself = end.as_ref()?;
    if !itself.is_stop() || itself.response.is_some() || itself.frame.is_some() || stuck(frames).is_some() {
        return None;
    }
    match frames.iter().rev().map(Frame::told).find(|told| !matches!(told, Told::Other))? {
        Told::Call { response: Some(id), ok: true } => {
            workspace.summary(id).ok().filter(|read| !read.writes).map(|_| id)
        }
        _ => None,
    }
}

/// Opens the workspace of a nested run; `None` when it was cleaned away or cannot be read, so that nothing goes on there.
pub(super) fn open(home: &Home, run: &str) -> Option<(Workspace, Recorded)> {
    let workspace = Workspace::open(home, &run.parse().ok()?).ok()?;
    let recorded = Recorded::read(&workspace).ok()??;
    Some((workspace, recorded))
}

/// What is to happen to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It goes on: a write in doubt with a young key is made again with that key.
    On,
    /// It is begun anew, with new keys.
    Anew,
}

impl Runner {
    /// Returns the writes of a run of which nobody knows whether they happened. Nobody makes the run meanwhile.
    fn lost(&self, workspace: &Workspace, mut recorded: Recorded, way: Way) -> Result<Vec<ResponseSummary>, FlowError> {
        rote_gate::recover(&self.parts.journal, workspace)?;
        rote_gate::sift(&self.parts.journal, workspace)?;
        if way == Way::Anew {
            // As `rote doubts` lists them, but for one whose answer alone is missing: its status says what happened.
            let told = |one: &ResponseSummary| matches!(one.effected(), Some(Effected::Yes | Effected::No));
            let mut lost = unknown_writes(workspace)?;
            lost.retain(|one| one.state == ResponseState::InDoubt || !told(one));
            return Ok(lost);
        }
        // What stopped it without being in doubt, it was told of; it is asked about when that run itself goes on.
        recorded.end = None;
        let before = resume::before(workspace, self.parts.runtime.redaction(), &Keys::new(self)?, recorded)?;
        Ok(before.open.into_iter().filter(|one| one.state == ResponseState::InDoubt).collect())
    }

    /// Returns the writes in doubt of a run that it would make again with their keys.
    pub(super) fn offered(&self, workspace: &Workspace, recorded: Recorded) -> Result<BTreeSet<ResponseId>, FlowError> {
        let before = resume::before(workspace, self.parts.runtime.redaction(), &Keys::new(self)?, recorded)?;
        Ok(before.keyed.into_iter().map(|(id, _)| id).collect())
    }

    /// A run does not go on, and the same is not begun, while nobody knows what came of a write of a run that it started,
    /// however deep.
    ///
    /// # Errors
    /// [`RunnerError::Unsettled`]; a workspace or the journal cannot be read.
    pub(super) fn refuse_open_within(
        &self,
        outer: &Workspace,
        runs: &BTreeSet<String>,
        (way, depth): (Way, u32),
    ) -> Result<(), FlowError> {
        // A deeper run was never started.
        if depth > MAX_NESTING {
            return Ok(());
        }
        for run in runs {
            let Ok(name) = run.parse() else { continue };
            let Some((workspace, recorded)) = self.opened(&name)? else { continue };
            let below = recorded.nested();
            let lost = self.lost(&workspace, recorded, way)?;
            if let Some(first) = lost.first() {
                let (doubt, outer) = (Box::new(self.doubt(&workspace, first)?), Some(outer.name().clone()));
                return Err(FlowError::Run(RunnerError::Unsettled { doubt, others: lost.len() - 1, outer }));
            }
            self.refuse_open_within(outer, &below, (way, depth + 1))?;
        }
        Ok(())
    }

    /// A run is not begun while this one, which has the same flow and the same parameters, has a write in doubt, or is under
    /// way where that matters. Returns the id of its workspace, where that is one of a run.
    pub(super) fn refuse_beside(
        &self,
        name: &WorkspaceName,
        may_be_under_way: bool,
    ) -> Result<Option<String>, FlowError> {
        let Some((workspace, recorded)) = self.opened(name)? else { return Ok(None) };
        let id = workspace.identity().id.clone();
        let _lock = match tape::lock(&workspace) {
            // What its flow was told of is in doubt all the same.
            Err(FlowError::Run(RunnerError::StillRunning { .. })) if may_be_under_way => {
                self.refuse_open(&workspace, &workspace.doubts(MAX_COUNTED)?)?;
                return Ok(id);
            }
            Err(FlowError::Run(RunnerError::StillRunning { workspace })) => {
                // It may have ended well since its tape was read.
                let ends = Ends::read_in(&self.library().home.workspace_dir(name))?;
                if ends.is_some_and(|ends| ends.is_complete()) {
                    return Ok(id);
                }
                return Err(FlowError::Run(RunnerError::UnderWay { flow: recorded.header.flow, workspace }));
            }
            taken => taken?,
        };
        let nested = recorded.nested();
        self.refuse_open(&workspace, &self.lost(&workspace, recorded, Way::Anew)?)?;
        self.refuse_open_within(&workspace, &nested, (Way::Anew, 0))?;
        Ok(id)
    }

    /// Opens the workspace of a run; `None` where it was cleaned away, or where it has no tape that can be read and no write
    /// in doubt.
    ///
    /// # Errors
    /// [`RunnerError::Unreadable`] where nobody knows what is in doubt there, [`RunnerError::Unsettled`] where something is.
    pub(super) fn opened(&self, name: &WorkspaceName) -> Result<Option<(Workspace, Recorded)>, FlowError> {
        let workspace = match Workspace::open(&self.library().home, name) {
            Err(WorkspaceError::NoWorkspace { .. }) => return Ok(None),
            Err(error) => {
                let (workspace, problem) = (name.clone(), error.to_string());
                return Err(FlowError::Run(RunnerError::Unreadable { workspace, problem }));
            }
            Ok(workspace) => workspace,
        };
        if let Ok(Some(recorded)) = Recorded::read(&workspace) {
            return Ok(Some((workspace, recorded)));
        }
        let Some(_lock) = tape::lock_now(&workspace) else { return Ok(None) };
        rote_gate::recover(&self.parts.journal, &workspace)?;
        rote_gate::sift(&self.parts.journal, &workspace)?;
        let Some(first) = unknown_writes(&workspace)?.into_iter().next() else { return Ok(None) };
        let doubt = Doubt { is_gone: true, ..self.doubt(&workspace, &first)? };
        Err(FlowError::Run(RunnerError::Unsettled { doubt: Box::new(doubt), others: 0, outer: None }))
    }
}

#[cfg(test)]
mod tests {
    use rote_runtime::Answer;
    use serde_json::json;

    use super::*;

    /// The run is told of a success (`+`) or a failure (`-`) of a nested run, or of something else (`.`).
    fn frames(marks: &str) -> Vec<Frame> {
        let failure = || serde_json::from_value(json!({ "kind": "denied", "message": "no" })).unwrap();
        let frame = |mark: char| match mark {
            '+' => Frame::new("flows.end x", Answer::Ok(json!(1))),
            '-' => Frame::new("flows.end x", Answer::Err(failure())),
            _ => Frame::new("clock.now", Answer::Ok(json!(1))),
        };
        marks.chars().map(frame).collect()
    }

    #[test]
    fn the_failure_that_a_run_did_not_get_over_is_the_first_since_its_last_success() {
        for (marks, at) in [("", None), ("+.", None), ("-", Some(0)), ("-+", None), ("-+.-.-.", Some(3)), ("+..", None)]
        {
            assert_eq!(stuck(&frames(marks)), at, "{marks}");
        }
    }
}
