//! What an earlier attempt of a run had started: which failures of its tape are not told again, and the nested runs that
//! are gone on with in place of being begun anew.
//!
//! Invariant: a nested run that was begun once is found again by its flow and its parameters, whatever became of the tape
//! that began it; so what it wrote is not written twice. None of it goes on while a write of it is in doubt.

use std::collections::BTreeSet;

use rote_home::Home;
use rote_types::MAX_NESTING;
use rote_workspace::{ResponseState, Settled, Workspace};

use super::Runner;
use super::keyed::Keys;
use super::resume;
use crate::FlowError;
use crate::error::RunnerError;
use crate::tape::{Frame, Recorded};

/// The nested runs of an earlier attempt, by their workspaces.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// They are not on the tape any more: what begins them again goes on with them.
    pub(super) left: BTreeSet<String>,
    /// Their end is told again, so they do not run.
    pub(super) ended: BTreeSet<String>,
}

impl Earlier {
    /// Sorts the nested runs that were begun by what the tape still says of them.
    pub(super) fn of(mut begun: BTreeSet<String>, frames: &[Frame]) -> Self {
        let mut ended = BTreeSet::new();
        for (at, (_, run)) in frames.iter().enumerate().filter_map(|(at, frame)| Some((at, frame.nested()?))) {
            begun.remove(run);
            // A guest waits for a nested run before it asks for anything else.
            if at + 1 < frames.len() {
                ended.insert(run.to_owned());
            }
        }
        Self { left: begun, ended }
    }
}

/// Takes away what the run is to learn anew: the failure that stopped it, and what followed; and the failure of a nested
/// run about a write of which a person has spoken since.
pub(super) fn cut(home: &Home, recorded: &mut Recorded) {
    let stopped = recorded.end.as_ref().filter(|end| end.is_stop());
    let stopped_at = match stopped {
        Some(end) if end.response.is_none() => {
            end.frame.and_then(|frame| usize::try_from(frame).ok()).or_else(|| stuck(&recorded.frames))
        }
        _ => None,
    };
    let settled = recorded.frames.windows(2).position(|pair| match pair {
        [begin, end] if end.failure.is_some() => begin.nested().is_some_and(|(_, run)| is_settled(home, run)),
        _ => false,
    });
    let cut = stopped_at.into_iter().chain(settled.map(|begin| begin + 1)).min();
    recorded.frames.truncate(cut.unwrap_or(recorded.frames.len()));
}

/// The first failure after which the run learned of no success: of one that says not why it ended, that is the reason.
fn stuck(frames: &[Frame]) -> Option<usize> {
    let succeeded = |frame: &Frame| frame.is_success();
    let after = frames.iter().rposition(succeeded).map_or(0, |last| last + 1);
    frames[after..].iter().position(|frame| frame.failure.is_some()).map(|at| after + at)
}

/// Whether a person said of a write of a run what came of it, and the run has not ended well since.
fn is_settled(home: &Home, run: &str) -> bool {
    let Some((workspace, recorded)) = open(home, run) else { return false };
    let word = |one: &rote_workspace::ResponseSummary| {
        matches!(one.settled, Some(Settled::Done | Settled::Retried | Settled::Skipped))
    };
    !recorded.is_complete() && workspace.ls().is_ok_and(|all| all.iter().any(word))
}

/// Opens the workspace of a nested run; `None` when it was cleaned away or cannot be read, so that nothing goes on there.
pub(super) fn open(home: &Home, run: &str) -> Option<(Workspace, Recorded)> {
    let workspace = Workspace::open(home, &run.parse().ok()?).ok()?;
    let recorded = Recorded::read(&workspace).ok()??;
    Some((workspace, recorded))
}

impl Runner {
    /// A run does not go on while nobody knows what came of a write of a run that it started, however deep.
    ///
    /// # Errors
    /// [`RunnerError::Unsettled`]; a workspace or the journal cannot be read.
    pub(super) fn refuse_open_within(
        &self,
        outer: &Workspace,
        runs: &BTreeSet<String>,
        depth: u32,
    ) -> Result<(), FlowError> {
        // A deeper run was never started.
        if depth > MAX_NESTING {
            return Ok(());
        }
        for run in runs {
            let Some((workspace, mut recorded)) = open(&self.library().home, run) else { continue };
            rote_gate::recover(&self.parts.journal, &workspace)?;
            rote_gate::sift(&self.parts.journal, &workspace)?;
            let below = recorded.nested();
            // What stopped it without being in doubt, it was told of; it is asked about when that run itself goes on.
            recorded.end = None;
            let before = resume::before(&workspace, self.parts.runtime.redaction(), &Keys::new(self)?, recorded)?;
            let lost: Vec<_> = before.open.iter().filter(|one| one.state == ResponseState::InDoubt).collect();
            if let Some(first) = lost.first() {
                let (doubt, outer) = (Box::new(self.doubt(&workspace, first)?), Some(outer.name().clone()));
                return Err(FlowError::Run(RunnerError::Unsettled { doubt, others: lost.len() - 1, outer }));
            }
            self.refuse_open_within(outer, &below, depth + 1)?;
        }
        Ok(())
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
