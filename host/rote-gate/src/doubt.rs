//! Writes whose outcome nobody knows: which ones they are, what a person is told of one, and how it is settled.
//!
//! The one rule: a write that was begun (`effect.started`, synced before the request starts) is in doubt unless its
//! answer is here as a whole, or no byte of it can have left. One that was not begun has failed and may be repeated. Who
//! applies it: `flight`, with what `departure` saw, for a request under way; the adapter layer's `Reservation`, for a
//! call whose turn never came; `sift` here, with the journal, for what a process left behind that is gone. Where the
//! journal cannot tell, because it was lost or begun anew since, the write stays in doubt.
//!
//! Invariants: nothing is sent that is the same as a write in doubt of its workspace, whoever asks for it (`refuse_same`):
//! a command, a batch, a run, a guest that tries again; nor anything of a run that is the same as one in doubt of any run
//! of its tree. A doubt ends by a person's word, or by the write being made again with the same idempotency key; either
//! is in the journal, with whose it is, before the workspace has it, and of two that settle at once one is refused.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rote_govern::audit::{EffectRecord, EffectSettled, Said, Word};
use rote_govern::idempotency::without_key;
use rote_home::{Durability, Event, Journal, NewEvent, OpenCall, OpenWrite};
use rote_types::event::EFFECT_SETTLED;
use rote_types::{
    Access, AdapterId, ResponseId, Sha256Digest, ToolCall, WorkspaceIdentity, WorkspaceName, canonical_json, clean_line,
};
use rote_workspace::{
    LostAnswer, LostCall, NOT_SENT, NewCall, RecordedOutcome, Recording, RequestRecord, ResponseState, ResponseSummary,
    Settled, Settlement, Workspace, WorkspaceError,
};
use serde_json::Value;

use crate::parts::GateParts;
use crate::{Doubt, GateError, Invocation};

/// Most characters of a write's arguments that are shown with it.
const MAX_ARGUMENTS: usize = 200;

impl Doubt {
    /// Puts together what workspace and journal know of a response; `look` finds the command that reads what a call would
    /// have changed.
    ///
    /// # Errors
    /// [`GateError::Home`] when the journal cannot be read, [`GateError::Workspace`] when the workspace cannot.
    pub fn of(
        journal: &Journal,
        workspace: &Workspace,
        known: &ResponseSummary,
        look: impl FnOnce(&ToolCall) -> Option<String>,
    ) -> Result<Self, GateError> {
        let started = journal.started(workspace.identity(), known.id)?;
        let key = started.as_ref().and_then(|event| event.body["idempotency_key"].as_str()).map(str::to_owned);
        let arguments = workspace.arguments(known.command)?;
        let shown = arguments.as_ref().and_then(shown);
        let call = match (known.adapter.clone(), known.tool.clone(), arguments) {
            (Some(adapter), Some(tool), Some(arguments)) => Some(ToolCall { adapter, tool, arguments }),
            _ => None,
        };
        let url = match (&started, known.url.is_empty()) {
            (Some(event), true) => event.body["url"].as_str().unwrap_or_default().to_owned(),
            _ => known.url.clone(),
        };
        Ok(Self {
            workspace: workspace.name().clone(),
            workspace_id: None,
            response: known.id,
            adapter: known.adapter.clone(),
            tool: known.tool.clone(),
            method: known.method.clone(),
            url,
            arguments: shown,
            left: started.map(|event| event.began()),
            status: known.status,
            problem: known.error.clone(),
            flow: known.flow.clone(),
            // A row that was taken up again has lost what its key is for.
            key: key.filter(|_| workspace.key_purpose(known.id).is_ok_and(|purpose| purpose.is_some())),
            look: call.as_ref().and_then(look),
            is_gone: false,
        })
    }
}

/// Returns masked arguments as a person sees them beside the request; none when there are none, or a row that was taken
/// up again has lost them.
pub(crate) fn shown(arguments: &Value) -> Option<String> {
    match arguments {
        Value::Null => None,
        Value::Object(members) if members.is_empty() => None,
        given => Some(clean_line(&given.to_string(), MAX_ARGUMENTS)),
    }
}

/// Ends the writes that a process left behind before it began them: they have failed and may be repeated. What was
/// begun, or is older than what the journal knows, stays in doubt, and so does all of a workspace that was renamed or
/// copied: the journal knows it under another name.
///
/// # Errors
/// The journal cannot be read, or the workspace refused; what is not ended then stays in doubt.
pub fn sift(journal: &Journal, workspace: &Workspace) -> Result<(), GateError> {
    let mut left = Vec::new();
    for one in workspace.doubts(usize::MAX)? {
        if journal.started(workspace.identity(), one.id)?.is_none() {
            left.push(one);
        }
    }
    let began = journal.began()?;
    left.retain(|one| began.is_some_and(|began| began <= one.at));
    if left.is_empty() || !workspace.is_where_it_was_made()? || !journal.was_intact()? {
        return Ok(());
    }
    let _alone = workspace.lock_doubts()?;
    let mut disowned = Vec::new();
    for one in left {
        if workspace.summary(one.id)?.state != ResponseState::InDoubt {
            continue;
        }
        workspace.disown(one.id)?;
        disowned.push(one);
    }
    // Asked again: a process may be one that cannot be seen from here, and have begun a write meanwhile. From now on it
    // cannot. Event by event, since an index could be made to leave one out.
    let begun = if disowned.is_empty() { BTreeSet::new() } else { journal.all_started(workspace.identity())? };
    for one in disowned.into_iter().filter(|one| !begun.contains(&one.id)) {
        workspace.record(one.id, unsent(&one))?;
    }
    Ok(())
}

/// What is recorded of a write that was never begun.
fn unsent(one: &ResponseSummary) -> Recording {
    let message = "its process ended before it was sent".to_owned();
    let endpoint = one.adapter.as_ref().map(|adapter| format!("adapter/{adapter}")).unwrap_or_default();
    Recording {
        request: RequestRecord { method: one.method.clone(), endpoint, ..RequestRecord::default() },
        outcome: RecordedOutcome::Failed { kind: NOT_SENT.to_owned(), message },
        started: one.at,
        duration: Duration::ZERO,
    }
}

/// Takes up the numbers that the journal knows as begun and the workspace does not: its newest rows are lost, by a power cut
/// or since an older copy was put back. A workspace without an id shares its name with those before it, which proves
/// nothing.
///
/// # Errors
/// [`GateError::Forgotten`] when a workspace that was made after this one had its name and wrote; or the journal cannot be
/// read, or the workspace refused.
pub fn recover(journal: &Journal, workspace: &Workspace) -> Result<(), GateError> {
    let (identity, highest) = (workspace.identity(), ResponseId(workspace.highest()?));
    // One that does not know when it was made has lost what it was made with.
    let made = workspace.created_at()?.unwrap_or(Timestamp::MIN);
    let begun = journal.started_behind(identity, highest, made)?;
    let (mine, of_others): (Vec<_>, Vec<_>) =
        begun.into_iter().partition(|event| event.body["workspace_id"].as_str() == identity.id.as_deref());
    // Those without an id are of a rote of before, and not of a workspace that was made later.
    let of_others = of_others.into_iter().filter(|event| event.body["workspace_id"].is_string());
    let write = of_others.filter_map(lost_call).find(|lost| lost.call.access.changes());
    if let Some(LostCall { id, call, .. }) = write {
        let (adapter, tool, at) = (call.adapter, call.tool, call.at);
        return Err(GateError::Forgotten { workspace: identity.name.clone(), response: id, adapter, tool, at });
    }
    let lost: Vec<LostCall> = mine.into_iter().filter(|_| identity.id.is_some()).filter_map(lost_call).collect();
    if !lost.is_empty() {
        workspace.take_up(&lost)?;
    }
    Ok(())
}

/// As [`recover`], of a run that goes on: its numbers in between, too, and what was begun while its folder had the name under
/// which it was made.
///
/// # Errors
/// As [`recover`].
pub fn recover_run(journal: &Journal, workspace: &Workspace) -> Result<(), GateError> {
    recover(journal, workspace)?;
    let identity = workspace.identity();
    if identity.id.is_none() {
        return Ok(());
    }
    let made_as = workspace.made_as()?.filter(|name| *name != identity.name);
    let mut lost = Vec::new();
    for name in [Some(identity.name.clone()), made_as].into_iter().flatten() {
        let place = WorkspaceIdentity { name, id: identity.id.clone() };
        let begun = journal.started_behind(&place, ResponseId(0), Timestamp::MAX)?;
        lost.extend(begun.into_iter().filter_map(lost_call));
    }
    Ok(workspace.take_up(&lost)?)
}

fn lost_call(started: Event) -> Option<LostCall> {
    let began = started.began();
    let record: EffectRecord = serde_json::from_value(started.body).ok()?;
    let call = NewCall {
        adapter: record.adapter,
        tool: record.tool,
        method: record.method,
        access: if record.writes { Access::Write } else { Access::Read },
        raw_arguments: Arc::default(),
        arguments: Arc::default(),
        uses: Vec::new(),
        flow: record.flow,
        at: began,
    };
    Some(LostCall { id: record.response, call, url: record.url })
}

/// Refuses a number under which a write was begun before, and leaves that one in doubt: its row was lost while the
/// workspace was open.
pub(crate) fn refuse_begun(journal: &Journal, workspace: &Workspace, response: ResponseId) -> Result<(), GateError> {
    match journal.started(workspace.identity(), response)?.filter(|_| workspace.identity().id.is_some()) {
        Some(started) => refuse_number(workspace, response, started),
        None => Ok(()),
    }
}

/// Refuses a number under which that was begun before, where it was a write, and leaves that one in doubt.
pub(crate) fn refuse_number(workspace: &Workspace, response: ResponseId, started: Event) -> Result<(), GateError> {
    let at = started.began();
    let Some(lost) = lost_call(started).filter(|lost| lost.call.access.changes()) else { return Ok(()) };
    let (adapter, tool) = (lost.call.adapter, lost.call.tool);
    let message = format!("`{adapter}/{tool}` was begun under this number before, and the workspace lost its record");
    let method = lost.call.method.as_str().to_owned();
    let request = RequestRecord { method, url: lost.url, ..RequestRecord::default() };
    let lost = LostAnswer { request, status: None, message, started: at, duration: Duration::ZERO };
    workspace.leave_in_doubt(response, &lost)?;
    let workspace = workspace.name().clone();
    Err(GateError::BegunBefore { workspace, response, adapter, tool, at })
}

/// Refuses a write while the same one, of the same tool with the same arguments, is in doubt in its workspace or, where a
/// run makes it, in any workspace of the tree of runs that a person started; one that is to be alone also while another
/// process makes it.
pub(crate) fn refuse_same(
    parts: &GateParts,
    invocation: &Invocation,
    record: &EffectRecord,
    logged: &Value,
) -> Result<(), GateError> {
    let Invocation { workspace, adapter, tool, .. } = invocation;
    let (response, arguments) = (record.response, record.args_digest);
    let digests = [record.call_digest.unwrap_or(arguments), arguments];
    let call = Call { journal: &parts.journal, invocation, digests, logged };
    let known = workspace.doubts_of(&adapter.id, &tool.name)?;
    if let Some(doubt) = call.same_among(workspace, known.into_iter().filter(|known| known.id != response))? {
        return Err(GateError::SameInDoubt { doubt: Box::new(doubt), outer: None });
    }
    if invocation.alone && !invocation.dry_run {
        // Of those that begin at once the one with the lowest number is sent.
        let earlier = workspace.under_way_of(&adapter.id, &tool.name)?.into_iter().filter(|known| known.id < response);
        if let Some(Doubt { workspace, response, .. }) = call.same_among(workspace, earlier)? {
            let (adapter, tool) = (adapter.id.clone(), tool.name.clone());
            return Err(GateError::SameUnderWay { workspace, response, adapter, tool });
        }
    }
    if let Some(doubt) = call.same_of_gone(workspace, (&adapter.id, &tool.name))? {
        return Err(GateError::SameInDoubt { doubt: Box::new(doubt), outer: None });
    }
    let Some((root, run)) = invocation.flow.as_ref().and_then(|flow| Some((&flow.root, flow.root.id.as_deref()?)))
    else {
        return Ok(());
    };
    for elsewhere in parts.journal.workspaces_of_run(run, digests)? {
        if elsewhere == *workspace.identity() {
            continue;
        }
        let outer = (elsewhere.name != root.name).then(|| root.name.clone());
        let other = match Workspace::open(&parts.home, &elsewhere.name) {
            Err(WorkspaceError::NoWorkspace { .. }) => None,
            other => Some(other?).filter(|other| *other.identity() == elsewhere),
        };
        // `clean` keeps one with a doubt, so that somebody took it away by hand: the journal has what may have happened in it.
        let Some(other) = other else {
            match call
                .same_in_journal(&elsewhere.name, (&adapter.id, &tool.name), |write| write.workspace == elsewhere)?
            {
                Some(doubt) => return Err(GateError::SameInDoubt { doubt: Box::new(doubt), outer }),
                None => continue,
            }
        };
        recover(&parts.journal, &other)?;
        // A key that is offered there is for a call of that workspace; one of this workspace would carry another.
        let of_tool = |known: &ResponseSummary| {
            known.adapter.as_ref() == Some(&adapter.id) && known.tool.as_ref() == Some(&tool.name)
        };
        if let Some(doubt) = call.same_among(&other, other.doubts(usize::MAX)?.into_iter().filter(of_tool))? {
            return Err(GateError::SameInDoubt { doubt: Box::new(doubt), outer });
        }
    }
    Ok(())
}

/// A write as it is compared with those in doubt.
struct Call<'c> {
    journal: &'c Journal,
    invocation: &'c Invocation,
    /// The digests of its arguments: without the idempotency key, and with it, since nobody took that out of what was begun
    /// before its header was known as one.
    digests: [Sha256Digest; 2],
    /// The arguments as a log has them.
    logged: &'c Value,
}

impl Call<'_> {
    /// Returns the first one of a workspace's doubts that is the same write.
    fn same_among(
        &self,
        workspace: &Workspace,
        known: impl Iterator<Item = ResponseSummary>,
    ) -> Result<Option<Doubt>, GateError> {
        for known in known {
            // The log has masked arguments; the journal knows the digest of those that were sent.
            let same = match self.journal.started(workspace.identity(), known.id)? {
                Some(started) => {
                    let known = started.call_digest().and_then(|digest| digest.parse().ok());
                    known.is_some_and(|known| self.digests.contains(&known))
                }
                // `1` and `1.0` are the same number.
                None => {
                    let Invocation { adapter, tool, .. } = self.invocation;
                    let canonical = |value: &Value| match without_key(adapter, tool, value) {
                        Some(others) => canonical_json(&others).ok(),
                        None => canonical_json(value).ok(),
                    };
                    workspace
                        .arguments(known.command)?
                        .is_some_and(|logged| canonical(&logged) == canonical(self.logged))
                }
            };
            if same {
                return Ok(Some(Doubt::of(self.journal, workspace, &known, |_| None)?));
            }
        }
        Ok(None)
    }

    /// Returns the first call by hand that is the same write and is in doubt in a workspace that this one took the name of: its
    /// folder or database was taken away, and what was called in it may have happened all the same.
    fn same_of_gone(
        &self,
        workspace: &Workspace,
        (adapter, tool): (&AdapterId, &str),
    ) -> Result<Option<Doubt>, GateError> {
        let by_hand = |write: &OpenWrite| !write.of_flow && write.workspace != *workspace.identity();
        self.same_in_journal(workspace.name(), (adapter, tool), by_hand)
    }

    /// Returns the first open write of workspaces of a name that is the same, of those that are meant.
    fn same_in_journal(
        &self,
        name: &WorkspaceName,
        (adapter, tool): (&AdapterId, &str),
        meant: impl Fn(&OpenWrite) -> bool,
    ) -> Result<Option<Doubt>, GateError> {
        let open = self.journal.open_writes(Some(name))?;
        let is_same =
            |call: &OpenCall| (&call.adapter, &*call.tool) == (adapter, tool) && self.digests.contains(&call.arguments);
        let mut of_gone = open.iter().filter(|write| meant(write));
        match of_gone.find(|write| write.call.as_ref().is_some_and(is_same)) {
            Some(write) => Ok(Some(Doubt::of_journal(self.journal, write)?)),
            None => Ok(None),
        }
    }
}

/// Settles writes in doubt with what is said of each, all of them or none; `word` is whose word that is, and none where
/// writes are repeated under their idempotency keys without one.
///
/// # Errors
/// [`GateError::Workspace`] when one is not in doubt or its answer is not JSON; [`GateError::SettledOtherwise`] when the
/// journal has another word already, of somebody who was cut off; [`GateError::Home`] when the journal refused. Nothing
/// is settled then.
pub fn settle(
    journal: &Journal,
    workspace: &Workspace,
    said: &[(ResponseId, Settlement)],
    word: Option<&Word>,
    now: Timestamp,
) -> Result<Vec<ResponseSummary>, GateError> {
    if said.is_empty() {
        return Ok(Vec::new());
    }
    let _alone = workspace.lock_doubts()?;
    let mut events = Vec::new();
    for (response, settlement) in said {
        events.extend(event_of(journal, workspace, *response, settlement, word)?);
    }
    if !events.is_empty() {
        journal.append(now, Durability::Disk, &events)?;
    }
    said.iter().map(|(response, settlement)| Ok(workspace.settle(*response, settlement, now)?)).collect()
}

/// Returns what the journal gets of a word; none when it has just that word already.
fn event_of(
    journal: &Journal,
    workspace: &Workspace,
    response: ResponseId,
    settlement: &Settlement,
    word: Option<&Word>,
) -> Result<Option<NewEvent>, GateError> {
    let known = workspace.settleable(response, settlement)?;
    let answer = match settlement {
        Settlement::Done { answer: Some(text) } => Some(rote_types::sha256(text.as_bytes())),
        _ => None,
    };
    let started = journal.started(workspace.identity(), response)?;
    let body = EffectSettled {
        adapter: known.adapter.clone(),
        tool: known.tool.clone(),
        workspace: workspace.identity().clone(),
        response,
        outcome: said(settlement),
        answer,
        word: word.cloned(),
    };
    match unheard(journal, &known, workspace.identity(), started.as_ref())? {
        Some(said) if said.outcome == body.outcome && said.answer == body.answer => Ok(None),
        // Nobody said that it is repeated, so whoever says something may say anything.
        Some(said) if said.word.is_some() || word.is_none() => {
            let (workspace, outcome) = (workspace.name().clone(), said.outcome);
            Err(GateError::SettledOtherwise { workspace, response, outcome })
        }
        Some(_) | None => {
            let effect = started.and_then(|event| event.effect);
            let body = serde_json::to_value(body).unwrap_or(Value::Null);
            Ok(Some(NewEvent { kind: EFFECT_SETTLED, effect, body }))
        }
    }
}

/// What the journal says for a settlement.
pub(crate) fn said(settlement: &Settlement) -> Said {
    match settlement {
        Settlement::Done { .. } => Said::Done,
        Settlement::Skip => Said::Skipped,
        Settlement::Retry => Said::Retried,
        Settlement::Repeat => Said::Repeated,
    }
}

/// Returns whether the journal has a person's word of a write that the workspace has not: only the same word completes
/// it, so that the person has to be asked.
///
/// # Errors
/// [`GateError::Home`] when the journal cannot be read.
pub fn is_half_said(journal: &Journal, workspace: &Workspace, known: &ResponseSummary) -> Result<bool, GateError> {
    let started = journal.started(workspace.identity(), known.id)?;
    Ok(unheard(journal, known, workspace.identity(), started.as_ref())?.is_some_and(|said| said.word.is_some()))
}

/// Returns the word that the journal has and the workspace has not: who said it was cut off in between. A workspace of
/// the same name may have been there before there were ids, so that it counts only for the same effect.
fn unheard(
    journal: &Journal,
    known: &ResponseSummary,
    workspace: &WorkspaceIdentity,
    started: Option<&Event>,
) -> Result<Option<EffectSettled>, GateError> {
    let Some(event) = journal.settled(workspace, known.id)? else { return Ok(None) };
    let same = match started {
        Some(started) => event.seq > started.seq && event.effect == started.effect,
        None => event.effect.is_none() && event.at >= known.at,
    };
    let said = serde_json::from_value::<EffectSettled>(event.body).ok().filter(|_| same);
    let heard = |said: &EffectSettled| match known.settled {
        None => false,
        Some(Settled::Retried) => matches!(said.outcome, Said::Retried | Said::Repeated),
        Some(Settled::Done) => said.outcome == Said::Done,
        Some(Settled::Skipped) => said.outcome == Said::Skipped,
    };
    Ok(said.filter(|said| !heard(said)))
}
