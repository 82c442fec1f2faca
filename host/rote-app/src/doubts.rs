//! Writes whose outcome nobody knows: listed over all workspaces, and settled by a person.

use std::collections::BTreeSet;
use std::sync::Arc;

use rote_gate::{Doubt, GateError};
use rote_home::Journal;
use rote_types::{ErrorKind, ResponseId, WorkspaceName, command};
use rote_workspace::{ResponseSummary, Settlement, Workspace, WorkspaceProblem, workspace_names};
use serde::Serialize;
use serde_json::json;

use crate::{AppError, Consent, Session};

/// Most writes in doubt that are looked at in one workspace.
const MAX_OF_ONE: usize = 1_000;

/// Most writes in doubt that an error tells of, one line each.
const MAX_TOLD: usize = 5;

/// The writes in doubt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doubts {
    /// How many there are.
    pub total: usize,
    /// The newest ones, newest first.
    pub doubts: Vec<Doubt>,
    /// Workspaces that cannot be read, so that nobody knows what is in doubt in them.
    pub unreadable: Vec<WorkspaceProblem>,
}

impl Session {
    /// Returns the writes in doubt of all workspaces, at most `limit` of them with all that is known.
    ///
    /// # Errors
    /// General when the home cannot be read.
    pub fn doubts(&self, limit: usize) -> Result<Doubts, AppError> {
        let mut found: Vec<(WorkspaceName, ResponseSummary)> = Vec::new();
        let (journal, mut unreadable) = (self.host.journal()?, Vec::new());
        for name in workspace_names(self.host.home()?)? {
            match self.unknown_of(&journal, &name) {
                Ok(unknown) => found.extend(unknown.into_iter().take(MAX_OF_ONE).map(|doubt| (name.clone(), doubt))),
                Err(error) => unreadable.push(WorkspaceProblem { name, problem: error.in_a_line() }),
            }
        }
        found.sort_by_key(|(_, one)| std::cmp::Reverse(one.at));
        let total = found.len();
        found.truncate(limit);
        // One workspace at a time is open, however many there are.
        let names: BTreeSet<&WorkspaceName> = found.iter().map(|(name, _)| name).collect();
        let mut doubts: Vec<(usize, Doubt)> = Vec::with_capacity(found.len());
        for name in names {
            let workspace = Workspace::open(self.host.home()?, name)?;
            for (at, (_, known)) in found.iter().enumerate().filter(|(_, (of, _))| of == name) {
                doubts.push((at, self.describe(&workspace, known)?));
            }
        }
        doubts.sort_by_key(|(at, _)| *at);
        Ok(Doubts { total, doubts: doubts.into_iter().map(|(_, doubt)| doubt).collect(), unreadable })
    }

    /// Returns the writes of one workspace that are in doubt or wait in a stopped run.
    fn unknown_of(&self, journal: &Journal, name: &WorkspaceName) -> Result<Vec<ResponseSummary>, AppError> {
        let workspace = Workspace::open(self.host.home()?, name)?;
        let taken_up = rote_gate::recover(journal, &workspace).and_then(|()| rote_gate::sift(journal, &workspace));
        // What else cannot be taken up or ended now can be listed all the same.
        if let Err(error @ GateError::Forgotten { .. }) = taken_up {
            return Err(error.into());
        }
        Ok(rote_flow::unknown_writes(&workspace)?)
    }

    /// Returns what is known of the writes of a workspace, that in use where none is named, that a person wants to
    /// settle so; nothing is settled.
    ///
    /// # Errors
    /// As [`Session::settle`].
    pub fn settleable(
        &self,
        workspace: Option<&str>,
        settle: &[(ResponseId, Settlement)],
    ) -> Result<Vec<Doubt>, AppError> {
        self.refuse_known_answers(settle)?;
        let workspace = match workspace {
            Some(text) => Arc::new(self.open_sifted(&text.parse()?)?),
            None => self.workspace()?,
        };
        let one = |(id, settlement): &(ResponseId, Settlement)| {
            let known = workspace.settleable(*id, settlement)?;
            self.describe(&workspace, &known)
        };
        settle.iter().map(one).collect()
    }

    /// Settles writes of the workspace in use with what a person says of them; returns how each stands then.
    ///
    /// # Errors
    /// Conflict when one of them is not in doubt, `NotFound` when there is none of that number, Usage for an answer
    /// that is not JSON; nothing is settled then.
    pub fn settle(
        &self,
        settle: &[(ResponseId, Settlement)],
        consent: Consent,
    ) -> Result<Vec<ResponseSummary>, AppError> {
        self.settleable(None, settle)?;
        let (workspace, journal, word) = (self.workspace()?, self.host.journal()?, self.word(consent));
        Ok(rote_gate::settle(&journal, &workspace, settle, Some(&word), self.host.now())?)
    }

    /// Refuses answers of a person's own in which a value of the vault stands, as any document of theirs.
    pub(crate) fn refuse_known_answers(&self, settle: &[(ResponseId, Settlement)]) -> Result<(), AppError> {
        for (id, settlement) in settle {
            if let Settlement::Done { answer: Some(answer) } = settlement {
                self.host.redaction()?.refuse_bytes(&format!("the answer of `{id}`"), answer.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Makes calls in a workspace until they end or somebody asks the process to stop. They are dropped then, what left
    /// of them is in doubt, and the error says so.
    pub(crate) async fn stoppable<T>(
        &self,
        workspace: &Workspace,
        calls: impl Future<Output = Result<T, AppError>>,
    ) -> Result<T, AppError> {
        let before = workspace.highest()?;
        tokio::select! {
            ended = calls => return ended,
            () = self.host.interrupt().requested() => {}
        }
        Err(self.interrupted(workspace, before)?)
    }

    /// The error of calls with numbers above this one that were interrupted, with the writes that may have happened.
    fn interrupted(&self, workspace: &Workspace, before: u64) -> Result<AppError, AppError> {
        let lost = workspace.doubts(MAX_OF_ONE)?.into_iter().filter(|one| one.id.0 > before);
        let lost: Vec<Doubt> = lost.map(|one| self.describe(workspace, &one)).collect::<Result<_, _>>()?;
        let error = AppError::new(ErrorKind::Interrupted, "interrupted");
        if lost.is_empty() {
            return Ok(error.with_hint("rote ls"));
        }
        let error = lost.iter().take(MAX_TOLD).fold(error, |error, doubt| error.with_cause(doubt.to_string()));
        let hint = match &*lost {
            [one] => one.ways(),
            _ => command("rote doubts").note("lists them, with the commands that settle each").to_string(),
        };
        Ok(error.with_hint(hint).with_details(json!({ "doubts": lost })))
    }

    fn describe(&self, workspace: &Workspace, known: &ResponseSummary) -> Result<Doubt, AppError> {
        let adapters = self.host.adapters()?;
        // An adapter that is gone or damaged must not hide the doubt.
        Ok(Doubt::of(&*self.host.journal()?, workspace, known, |write| adapters.look(write).unwrap_or_default())?)
    }
}
