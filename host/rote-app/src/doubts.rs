//! Writes whose outcome nobody knows: listed over all workspaces, and settled by a person.

use std::sync::Arc;

use rote_gate::Doubt;
use rote_types::{ResponseId, ToolCall};
use rote_workspace::{ResponseSummary, Settlement, Workspace, list_workspaces};
use serde::Serialize;

use crate::error::name;
use crate::{App, AppError, Consent};

/// Most writes in doubt that are looked at in one workspace.
const MAX_OF_ONE: usize = 1_000;

/// The writes in doubt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doubts {
    /// How many there are.
    pub total: usize,
    /// The newest ones, newest first.
    pub doubts: Vec<Doubt>,
}

impl App {
    /// Returns the writes in doubt of all workspaces, at most `limit` of them with all that is known.
    ///
    /// # Errors
    /// General when the home cannot be read.
    pub fn doubts(&self, limit: usize) -> Result<Doubts, AppError> {
        let mut found: Vec<(Workspace, ResponseSummary)> = Vec::new();
        for listed in list_workspaces(self.home()?)?.into_iter().filter(|listed| listed.unfinished > 0) {
            for doubt in Workspace::open(self.home()?, &listed.name)?.doubts(MAX_OF_ONE)? {
                found.push((Workspace::open(self.home()?, &listed.name)?, doubt));
            }
        }
        found.sort_by_key(|(_, one)| std::cmp::Reverse(one.at));
        let total = found.len();
        let shown = found.iter().take(limit).map(|(workspace, known)| self.describe(workspace, known));
        Ok(Doubts { total, doubts: shown.collect::<Result<_, _>>()? })
    }

    /// Returns what is known of the writes of a workspace, that in use where none is named, that a person wants to
    /// settle so; nothing is settled.
    ///
    /// # Errors
    /// As [`App::settle`].
    pub fn settleable(
        &self,
        workspace: Option<&str>,
        settle: &[(ResponseId, Settlement)],
    ) -> Result<Vec<Doubt>, AppError> {
        self.refuse_known_answers(settle)?;
        let workspace = match workspace {
            Some(text) => Arc::new(Workspace::open(self.home()?, &name(text)?)?),
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
        let (workspace, journal, word) = (self.workspace()?, self.journal()?, self.word(consent));
        let one = |(id, settlement): &(ResponseId, Settlement)| {
            Ok(rote_gate::settle(&journal, &workspace, *id, settlement, Some(&word), self.now())?)
        };
        settle.iter().map(one).collect()
    }

    /// Refuses answers of a person's own in which a value of the vault stands, as any document of theirs.
    pub(crate) fn refuse_known_answers(&self, settle: &[(ResponseId, Settlement)]) -> Result<(), AppError> {
        for (id, settlement) in settle {
            if let Settlement::Done { answer: Some(answer) } = settlement {
                self.redaction()?.refuse_bytes(&format!("the answer of `{id}`"), answer.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Returns whether anything would make a write of the workspace in use again, once it is said that it may be: the run
    /// that made it, or the same call, with the same idempotency key.
    ///
    /// # Errors
    /// `NotFound` when there is none of that number.
    pub fn can_be_made_again(&self, id: ResponseId) -> Result<bool, AppError> {
        let workspace = self.workspace()?;
        Ok(workspace.summary(id)?.flow.is_some() || workspace.key_purpose(id)?.is_some())
    }

    fn describe(&self, workspace: &Workspace, known: &ResponseSummary) -> Result<Doubt, AppError> {
        let mut doubt = Doubt::of(&*self.journal()?, workspace.name(), known)?;
        let command = workspace.commands()?.into_iter().find(|command| command.sequence == known.command);
        if let (Some(adapter), Some(tool), Some(command)) = (known.adapter.clone(), known.tool.clone(), command) {
            let write = ToolCall { adapter, tool, arguments: command.arguments };
            // An adapter that is gone or damaged must not hide the doubt.
            doubt.look = self.adapters_of_home()?.look(&write).unwrap_or_default();
        }
        Ok(doubt)
    }
}
