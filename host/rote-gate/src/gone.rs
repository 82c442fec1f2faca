//! Writes in doubt of runs of which nothing is left: no workspace has them, and the journal knows them all the same.
//!
//! A person settles one as any other; the word is in the journal only, and what a new run does is not changed by it.

use rote_govern::audit::{EffectRecord, EffectSettled, Word};
use rote_home::{Durability, Journal, NewEvent, OpenWrite};
use rote_types::event::EFFECT_SETTLED;
use rote_types::{ResponseId, WorkspaceIdentity};
use rote_workspace::Settlement;
use serde_json::Value;

use crate::doubt::said;
use crate::{Doubt, GateError};

impl Doubt {
    /// Puts together what the journal alone knows of a write.
    ///
    /// # Errors
    /// [`GateError::Home`] when the journal cannot be read.
    pub fn of_journal(journal: &Journal, write: &OpenWrite) -> Result<Self, GateError> {
        let started = journal.started(&write.workspace, write.response)?;
        let left = started.as_ref().map(rote_home::Event::began);
        let record = started.and_then(|event| serde_json::from_value::<EffectRecord>(event.body).ok());
        let WorkspaceIdentity { name: workspace, id: workspace_id } = write.workspace.clone();
        let (adapter, tool) = write.call.clone().map(|call| (call.adapter, call.tool)).unzip();
        // After `rote audit restart` no event tells more of it.
        let bare = Self {
            workspace,
            workspace_id,
            response: write.response,
            adapter,
            tool,
            method: String::new(),
            url: String::new(),
            arguments: None,
            left,
            status: None,
            problem: None,
            flow: None,
            key: None,
            look: None,
            is_gone: true,
        };
        let Some(record) = record else { return Ok(bare) };
        Ok(Self {
            adapter: Some(record.adapter),
            tool: Some(record.tool),
            method: record.method.as_str().to_owned(),
            url: record.url,
            flow: record.flow,
            key: record.idempotency_key,
            ..bare
        })
    }
}

/// Returns what the journal knows of writes in doubt of a workspace that is not there, which a person wants to settle so. Which
/// one is meant says its id: its name may have been given twice.
///
/// # Errors
/// [`GateError::NotOpen`] when the journal knows no such write as open, [`GateError::AnswerOfGone`] for an answer; or the
/// journal cannot be read.
pub fn settleable_gone(
    journal: &Journal,
    workspace: &WorkspaceIdentity,
    said: &[(ResponseId, Settlement)],
) -> Result<Vec<Doubt>, GateError> {
    open(journal, workspace, said)?.iter().map(|(write, _)| Doubt::of_journal(journal, write)).collect()
}

/// Settles writes in doubt of a workspace that is not there, all of them or none. Who says it a second time finds it said.
///
/// # Errors
/// As [`settleable_gone`]; [`GateError::Home`] when the journal refused. Nothing is settled then.
pub fn settle_gone(
    journal: &Journal,
    workspace: &WorkspaceIdentity,
    settle: &[(ResponseId, Settlement)],
    word: Option<&Word>,
    now: jiff::Timestamp,
) -> Result<(), GateError> {
    let mut events = Vec::new();
    for (write, settlement) in open(journal, workspace, settle)? {
        let started = journal.started(&write.workspace, write.response)?;
        let (adapter, tool) = write.call.map(|call| (call.adapter, call.tool)).unzip();
        let body = EffectSettled {
            adapter,
            tool,
            response: write.response,
            outcome: said(settlement),
            answer: None,
            word: word.cloned(),
            workspace: write.workspace,
        };
        let effect = started.and_then(|event| event.effect);
        events.push(NewEvent { kind: EFFECT_SETTLED, effect, body: serde_json::to_value(body).unwrap_or(Value::Null) });
    }
    journal.append(now, Durability::Disk, &events)?;
    Ok(())
}

/// The writes that are meant.
fn open<'s>(
    journal: &Journal,
    workspace: &WorkspaceIdentity,
    said: &'s [(ResponseId, Settlement)],
) -> Result<Vec<(OpenWrite, &'s Settlement)>, GateError> {
    let known = journal.open_writes(Some(&workspace.name))?;
    let mut open = Vec::new();
    for (response, settlement) in said {
        let name = workspace.name.clone();
        let meant = known.iter().find(|write| write.workspace == *workspace && write.response == *response);
        let Some(write) = meant else { return Err(GateError::NotOpen { workspace: name, response: *response }) };
        if matches!(settlement, Settlement::Done { answer: Some(_) }) {
            return Err(GateError::AnswerOfGone { workspace: workspace.clone(), response: *response });
        }
        open.push((write.clone(), settlement));
    }
    Ok(open)
}
