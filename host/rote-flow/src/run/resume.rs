//! Going on with a run: what it was told before is told again, what is open is made.
//!
//! A call with the same adapter, tool and arguments is the same step. A call that was answered is answered from the
//! record, with its error if it was one; only the failure that stopped the run is made again. A write whose outcome
//! nobody knows stops a resumed run before it starts, until a person says what came of it (`settle`), unless it
//! carries an idempotency key that is young (`keyed`). Within a run, too, a write that a person left out is not made, as
//! the gate makes none a second time that is in doubt.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use rote_gate::{Doubt, GateError, Redaction};
use rote_govern::args_digest;
use rote_runtime::{FlowFailure, Reserved, RunError, Told, ToolHost};
use rote_types::{AdapterId, Classify, Effected, ErrorKind, Refusal, ResponseId, ResponseRef, Sha256Digest, ToolCall};
use rote_workspace::{CommandId, CommandKind, ResponseState, ResponseSummary, Settled, Workspace};
use serde_json::{Value, json};

use super::keyed::{Keys, Offer};
use super::nested::Nested;
use crate::FlowError;
use crate::replay::answered_or_failed;
use crate::report::StepReport;
use crate::tape::{Ended, Frame, Recorded};

/// A call as it is compared: adapter, tool, digest of the canonical arguments.
type Key = (String, String, Sha256Digest);

/// What came of a call of an earlier run.
#[derive(Debug, Clone)]
struct Past {
    command: CommandId,
    writes: bool,
    response: ResponseRef,
    end: End,
}

/// How a call of an earlier run ended.
#[derive(Debug, Clone)]
enum End {
    /// With the answer that is recorded.
    Answered,
    /// Without an answer, for this reason.
    Failed(String),
    /// A person left it out.
    Skipped,
}

/// What an earlier run did, by call.
#[derive(Debug, Default)]
pub(crate) struct Done(BTreeMap<Key, VecDeque<Past>>);

/// Secrets are masked in what is recorded, so calls are compared as they are recorded: by what the vault knows now.
fn key(redaction: &Redaction, call: &ToolCall) -> Result<Key, GateError> {
    let arguments = redaction.mask(&call.arguments)?;
    Ok((call.adapter.to_string(), call.tool.clone(), args_digest(&arguments)))
}

/// What an earlier run leaves to the next one.
pub(crate) struct Before {
    /// What it did.
    pub(crate) done: Done,
    /// Which part of its tape still holds.
    pub(crate) frames: Vec<Frame>,
    /// Writes whose outcome nobody knows.
    pub(crate) open: Vec<ResponseSummary>,
    /// Writes in doubt that may be repeated, since they carry an idempotency key.
    pub(crate) keyed: Vec<Offer>,
}

/// Reads what a run did in its workspace.
pub(crate) fn before(
    workspace: &Workspace,
    redaction: &Redaction,
    keys: &Keys<'_>,
    recorded: Recorded,
) -> Result<Before, FlowError> {
    let stopped_by = recorded.end.and_then(|ended| ended.response).map(ResponseId);
    let mut before = Before { done: Done::default(), frames: recorded.frames, open: Vec::new(), keyed: Vec::new() };
    let mut calls = Vec::new();
    let mut changed: BTreeSet<ResponseId> = BTreeSet::new();
    let mut first_made: BTreeMap<Key, Timestamp> = BTreeMap::new();
    for command in workspace.commands()?.into_iter().filter(|command| command.kind == CommandKind::Call) {
        let (Some(adapter), Some(tool)) = (command.adapter, command.tool) else { continue };
        let call = ToolCall { adapter, tool, arguments: command.arguments };
        let mut key = key(redaction, &call)?;
        // The row of a call that was lost and taken up again has no arguments; of a flow's the journal has the digest.
        if let (true, Some(first)) = (call.arguments.is_null(), command.response_ids.first()) {
            key.2 = keys.sent(workspace, *first)?.unwrap_or(key.2);
        }
        let since = *first_made.entry(key.clone()).or_insert(command.timestamp);
        // A call may have sent several requests; the first one's number is the call's.
        let made = command.response_ids.iter().map(|id| workspace.summary(*id)).collect::<Result<Vec<_>, _>>()?;
        let unknown = made.iter().find(|one| is_unknown(one, stopped_by)).cloned();
        let Some(first) = made.into_iter().next() else { continue };
        let offer = match &unknown {
            // Of what happened, as a person said, only the answer is missing.
            Some(one) if one.settled.is_none() => keys.offer(workspace, one, &call, since)?,
            _ => None,
        };
        match (unknown, offer) {
            (Some(_), Some(offer)) => {
                before.keyed.push(offer);
                changed.insert(first.id);
            }
            (Some(one), None) => before.open.push(one),
            (None, _) => {
                if matches!(first.settled, Some(Settled::Done | Settled::Retried)) {
                    changed.insert(first.id);
                }
                calls.push((key, first));
            }
        }
    }
    // Where the guest is about to learn something else, what it did afterwards no longer holds.
    let answers: BTreeSet<ResponseId> = calls.iter().map(|(_, made)| made.answer.unwrap_or(made.id)).collect();
    let differs = |frame: &Frame| match frame.told() {
        Told::Call { response: Some(id), .. } if stopped_by == Some(id) => true,
        Told::Call { response: Some(id), ok: true } => !answers.contains(&id),
        Told::Call { response: Some(id), ok: false } => changed.contains(&id),
        _ => false,
    };
    let cut = before.frames.iter().position(differs);
    before.frames.truncate(cut.unwrap_or(before.frames.len()));
    let told: BTreeSet<ResponseId> = before.frames.iter().filter_map(Frame::response).collect();
    let last: BTreeMap<Key, ResponseId> = calls.iter().map(|(key, made)| (key.clone(), made.id)).collect();
    for (key, made) in calls {
        // What changed nothing, the flow does not know of and was made again stopped an earlier attempt.
        let unchanged = !made.writes || made.settled.is_none() && made.effected() == Some(Effected::No);
        if unchanged && !told.contains(&made.id) && last.get(&key) != Some(&made.id) {
            continue;
        }
        if let Some(past) = past(workspace, &made, stopped_by, &told)? {
            before.done.0.entry(key).or_default().push_back(past);
        }
    }
    Ok(before)
}

/// Whether a person has to say what came of a write before the run goes on. A server's failure (5xx) or redirect is
/// asked about only where it stopped the run: elsewhere the flow was told of it and knew what to do.
pub(super) fn is_unknown(made: &ResponseSummary, stopped_by: Option<ResponseId>) -> bool {
    let answered = matches!(made.state, ResponseState::Ok | ResponseState::Error);
    made.is_open() && (!answered || stopped_by == Some(made.id) || made.settled.is_some())
}

/// What came of one call; `None` when it is to be made again.
fn past(
    workspace: &Workspace,
    made: &ResponseSummary,
    stopped_by: Option<ResponseId>,
    told: &BTreeSet<ResponseId>,
) -> Result<Option<Past>, FlowError> {
    let holds = |response: ResponseId, end: End| -> Result<Option<Past>, FlowError> {
        Ok(Some(Past {
            command: made.command,
            writes: made.writes,
            response: workspace.response(response)?.reference(),
            end,
        }))
    };
    match (made.settled, made.state) {
        (Some(Settled::Retried), _) => Ok(None),
        (Some(Settled::Done), _) => holds(made.answer.unwrap_or(made.id), End::Answered),
        // Of what did not happen nothing has to be read, so that it may have been cleared.
        (Some(Settled::Skipped), _) => {
            let response =
                ResponseRef { id: made.id, status: 0, content_type: String::new(), bytes: 0, refused: false };
            Ok(Some(Past { command: made.command, writes: made.writes, response, end: End::Skipped }))
        }
        (None, ResponseState::Ok | ResponseState::Error) => {
            // The failure that stopped the run is made again, except a write that was done.
            let done = made.writes && made.effected() == Some(Effected::Yes);
            if stopped_by == Some(made.id) && !done {
                return Ok(None);
            }
            match made.error.clone().filter(|_| made.status.is_none()) {
                None => holds(made.id, End::Answered),
                // A failure without an answer that the guest never learned of is not a fact that it relies on.
                Some(why) if told.contains(&made.id) => holds(made.id, End::Failed(why)),
                Some(_) => Ok(None),
            }
        }
        (None, _) => Ok(None),
    }
}

/// What a flow is told of a call that a person left out, and of every further one that is the same.
fn left_out(response: ResponseId, call: &ToolCall) -> RunError {
    let ToolCall { adapter, tool, .. } = call;
    let message =
        format!("`{response}` (`{adapter}/{tool}`) was left out: a person said that it did not happen and shall not");
    let rule = "settled.skipped";
    let (details, refusal) = (Some(json!({ "rule": rule })), Some(Box::new(Refusal::Rule(rule.to_owned()))));
    RunError::Nested { kind: ErrorKind::Denied, message, hint: None, details, refusal, names_doubt: false }
}

/// An answer of an earlier run that was taken for a call.
struct Taken {
    key: Key,
    command: CommandId,
    response: ResponseId,
}

/// A tool host that first looks at what was done before, and remembers what it did.
pub(crate) struct Resumed {
    inner: Arc<dyn ToolHost>,
    nested: Nested,
    workspace: Arc<Workspace>,
    redaction: Arc<Redaction>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: Done,
    answered: BTreeMap<ResponseId, Past>,
    calls: BTreeMap<ResponseId, String>,
    /// The numbers of the calls that were made, by call.
    made: BTreeMap<Key, Vec<ResponseId>>,
    resumed: BTreeSet<ResponseId>,
    /// What kind of failure the guest was told of a call.
    failures: Vec<Failure>,
}

struct Failure {
    response: ResponseId,
    kind: ErrorKind,
}

impl Resumed {
    pub(crate) fn new(
        inner: Arc<dyn ToolHost>,
        nested: Nested,
        workspace: Arc<Workspace>,
        redaction: Arc<Redaction>,
        done: Done,
    ) -> Self {
        Self { inner, nested, workspace, redaction, state: Mutex::new(State { done, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how a failed run ended: by which call, where it was one. That is the call because of whose error the guest
    /// says that it ended; of a guest that says so of none, it is the failure that it did not get over.
    pub(crate) fn failed(&self, failure: &FlowFailure) -> Result<Ended, FlowError> {
        match failure.response.or(failure.suspect) {
            Some(response) => self.stopped_by(response),
            None if failure.frame.is_none() && failure.error.is_cut_off() => Ok(Ended::cut_off()),
            None => Ok(Ended::stopped_at(failure.frame)),
        }
    }

    /// Returns how a run ended that this call stopped.
    pub(crate) fn stopped_by(&self, response: ResponseId) -> Result<Ended, FlowError> {
        let left_out = self.workspace.summary(response)?.settled == Some(Settled::Skipped);
        Ok(if left_out { Ended::left_out(response) } else { Ended::stopped(Some(response)) })
    }

    /// Returns what kind of failure the guest was told of a call; a lost answer is the remote's.
    pub(crate) fn kind_of(&self, response: ResponseId) -> ErrorKind {
        let state = self.state();
        let told = state.failures.iter().rev().find(|one| one.response == response);
        told.map_or(ErrorKind::Upstream, |one| one.kind)
    }

    /// Returns the first write in doubt of the runs that this one started.
    pub(crate) fn nested_doubt(&self) -> Option<Doubt> {
        self.nested.open_doubt()
    }

    /// Returns the calls of the run, in the order of their numbers.
    pub(crate) fn steps(&self, workspace: &Workspace) -> Result<Vec<StepReport>, FlowError> {
        let state = self.state();
        let mut steps = Vec::with_capacity(state.calls.len());
        for (response, call) in &state.calls {
            let summary = workspace.summary(*response)?;
            steps.push(StepReport {
                response: *response,
                call: call.clone(),
                status: summary.status.unwrap_or(0),
                bytes: summary.bytes,
                duration_ms: summary.duration_ms.unwrap_or(0),
                resumed: state.resumed.contains(response),
                error: summary.error,
            });
        }
        Ok(steps)
    }

    /// A flow that tries again does not get a write made that a person left out. One that is in doubt the gate refuses.
    fn refuse_left_out(&self, key: &Key, call: &ToolCall) -> Result<(), RunError> {
        let made = self.state().made.get(key).cloned().unwrap_or_default();
        for response in made {
            if self.workspace.summary(response)?.settled == Some(Settled::Skipped) {
                return Err(left_out(response, call));
            }
        }
        Ok(())
    }

    /// Takes the answer of an earlier run, if there is one.
    fn take_done(&self, key: &Key) -> Option<Taken> {
        let mut state = self.state();
        let past = state.done.0.get_mut(key).and_then(VecDeque::pop_front)?;
        let (command, response) = (past.command, past.response.id);
        state.made.entry(key.clone()).or_default().push(response);
        state.answered.insert(response, past);
        state.resumed.insert(response);
        Some(Taken { key: key.clone(), command, response })
    }
}

impl Resumed {
    /// Reserves what has no answer of an earlier run; `known` gets what was taken of those, one for each call that was looked at.
    fn reserve_open(&self, calls: &[ToolCall], known: &mut Vec<Option<Taken>>) -> Result<Vec<Reserved>, RunError> {
        let keys = calls.iter().map(|call| key(&self.redaction, call)).collect::<Result<Vec<Key>, _>>()?;
        known.extend(keys.iter().map(|key| self.take_done(key)));
        let open = |(at, _): &(usize, &ToolCall)| known[*at].is_none();
        let (places, open): (Vec<usize>, Vec<ToolCall>) =
            calls.iter().enumerate().filter(open).map(|(at, call)| (at, call.clone())).unzip();
        places.iter().try_for_each(|at| self.refuse_left_out(&keys[*at], &calls[*at]))?;
        let fresh = if open.is_empty() { Vec::new() } else { self.inner.reserve(&open)? };
        let mut state = self.state();
        for (at, one) in places.iter().zip(&fresh) {
            state.made.entry(keys[*at].clone()).or_default().push(one.response);
        }
        let mut fresh = fresh.into_iter();
        let known = calls.iter().zip(&*known);
        let reserved: Vec<Reserved> = known
            .filter_map(|(call, taken)| match taken {
                Some(Taken { command, response, .. }) => {
                    Some(Reserved { call: call.clone(), command: *command, response: *response })
                }
                None => fresh.next(),
            })
            .collect();
        for one in &reserved {
            state.calls.insert(one.response, format!("{}/{}", one.call.adapter, one.call.tool));
        }
        Ok(reserved)
    }

    /// Undoes [`Resumed::take_done`].
    fn put_back(&self, taken: Taken) {
        let mut state = self.state();
        let Some(past) = state.answered.remove(&taken.response) else { return };
        state.resumed.remove(&taken.response);
        if let Some(made) = state.made.get_mut(&taken.key) {
            made.retain(|response| *response != taken.response);
        }
        state.done.0.entry(taken.key).or_default().push_front(past);
    }
}

#[async_trait]
impl ToolHost for Resumed {
    fn reserve(&self, calls: &[ToolCall]) -> Result<Vec<Reserved>, RunError> {
        let mut known = Vec::with_capacity(calls.len());
        let reserved = self.reserve_open(calls, &mut known);
        if reserved.is_err() {
            // Nothing of it was made; whoever asks again call by call gets what is recorded.
            known.into_iter().flatten().rev().for_each(|reserved| self.put_back(reserved));
        }
        reserved
    }

    async fn perform(&self, reserved: Reserved) -> Result<ResponseRef, RunError> {
        let response = reserved.response;
        let answered = self.state().answered.remove(&response);
        let outcome = match answered {
            Some(Past { response, writes, end: End::Answered, .. }) => answered_or_failed(response, writes, None),
            Some(Past { response, writes, end: End::Failed(why), .. }) => {
                answered_or_failed(response, writes, Some(why))
            }
            Some(Past { end: End::Skipped, .. }) => Err(left_out(response, &reserved.call)),
            None => self.inner.perform(reserved).await,
        };
        if let Err(error) = &outcome {
            self.state().failures.push(Failure { response, kind: error.kind() });
        }
        outcome
    }

    fn release(&self) {
        self.inner.release();
    }

    fn probe(&self, adapter: &AdapterId, intent: &str, limit: u32) -> Result<Vec<Value>, RunError> {
        self.inner.probe(adapter, intent, limit)
    }

    fn status(&self, adapter: &AdapterId) -> Result<Value, RunError> {
        self.inner.status(adapter)
    }

    fn begin_flow(&self, name: &str, parameters: &Value) -> Result<String, RunError> {
        self.nested.begin(name, parameters)
    }

    async fn finish_flow(&self, workspace: &str, name: &str, parameters: &Value) -> Result<Value, RunError> {
        self.nested.finish(workspace, name, parameters).await
    }
}

#[cfg(test)]
mod tests;
