//! Going on with a run: what it was told before is told again, what is open is made.
//!
//! A call with the same adapter, tool and arguments is the same step. A call that was answered is answered from the
//! record, with its error if it was one; only the failure that stopped the run is made again. A write that was
//! started and has no outcome stops a resumed run before it starts, since nobody knows whether it happened, unless
//! it carries an idempotency key or a person says that it may be repeated.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rote_runtime::{Reserved, RunError, ToolHost};
use rote_types::{AdapterId, ResponseId, ResponseRef, ToolCall, canonical_json};
use rote_workspace::{CommandId, CommandKind, CommandRecord, ResponseState, Workspace};
use serde_json::Value;

use super::StepReport;
use super::nested::Nested;
use super::tape::{Ended, Frame, Recorded};
use crate::FlowError;
use crate::replay::answered_or_failed;

/// A call as it is compared: adapter, tool, canonical arguments.
type Key = (String, String, Vec<u8>);

/// What came of a call of an earlier run.
#[derive(Debug, Clone)]
struct Past {
    command: CommandId,
    response: ResponseRef,
    /// Why there is no answer.
    failure: Option<String>,
}

/// What an earlier run did, by call.
#[derive(Debug, Default)]
pub(crate) struct Done(BTreeMap<Key, VecDeque<Past>>);

fn key(call: &ToolCall) -> Key {
    (call.adapter.to_string(), call.tool.clone(), canonical_json(&call.arguments).unwrap_or_default())
}

/// Reads what a run did in its workspace and which part of its tape holds for the next one.
pub(crate) fn done(
    workspace: &Workspace,
    recorded: Recorded,
    retry: &[ResponseId],
) -> Result<(Done, Vec<Frame>), FlowError> {
    let stopped_by = recorded.end.and_then(|ended| ended.response);
    let mut frames = recorded.frames;
    if let Some(stopped_by) = stopped_by {
        // The guest is about to learn something else here, so what it did afterwards no longer holds.
        let cut = frames.iter().position(|frame| frame.response() == Some(stopped_by));
        frames.truncate(cut.unwrap_or(frames.len()));
    }
    let told: BTreeSet<u64> = frames.iter().filter_map(Frame::response).collect();
    let mut done = Done::default();
    for command in workspace.commands()?.into_iter().filter(|command| command.kind == CommandKind::Call) {
        if let Some((key, past)) = past(workspace, command, stopped_by, &told, retry)? {
            done.0.entry(key).or_default().push_back(past);
        }
    }
    Ok((done, frames))
}

/// What came of one command; `None` when it is to be made again.
fn past(
    workspace: &Workspace,
    command: CommandRecord,
    stopped_by: Option<u64>,
    told: &BTreeSet<u64>,
    retry: &[ResponseId],
) -> Result<Option<(Key, Past)>, FlowError> {
    let (Some(adapter), Some(tool)) = (command.adapter, command.tool) else {
        return Ok(None);
    };
    let Some(response) = command.response_ids.first().copied() else {
        return Ok(None);
    };
    let summary = workspace.summary(response)?;
    let call = ToolCall { adapter, tool, arguments: command.arguments };
    // A server that failed at a write may have done it all the same.
    let broken = stopped_by == Some(response.0)
        && summary.status.is_some_and(|status| status >= 500)
        && command.method.is_some_and(|method| !method.is_read());
    if summary.state == ResponseState::InDoubt || broken {
        if retry.contains(&response) || has_idempotency_key(&call.arguments) {
            return Ok(None);
        }
        let (workspace, ToolCall { adapter, tool, .. }) = (workspace.name().clone(), call);
        return Err(FlowError::InDoubt { workspace, response, adapter, tool });
    }
    match summary.state {
        ResponseState::Ok | ResponseState::Error if stopped_by != Some(response.0) => {
            let answer = workspace.response(response)?.reference();
            let failure = summary.error.filter(|_| summary.status.is_none());
            // A failure without an answer that the guest never learned of is no fact that it relies on.
            let holds = failure.is_none() || told.contains(&response.0);
            Ok(holds.then(|| (key(&call), Past { command: command.sequence, response: answer, failure })))
        }
        _ => Ok(None),
    }
}

/// Whether the remote itself sees to it that a repeated write happens once.
fn has_idempotency_key(arguments: &Value) -> bool {
    let plain = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    arguments.as_object().is_some_and(|members| {
        members.iter().any(|(name, value)| plain(name).ends_with("idempotencykey") && value.as_str() > Some(""))
    })
}

/// A tool host that first looks at what was done before, and remembers what it did.
pub(crate) struct Resumed {
    inner: Arc<dyn ToolHost>,
    nested: Nested,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: Done,
    answered: BTreeMap<ResponseId, Past>,
    calls: BTreeMap<ResponseId, String>,
    resumed: BTreeSet<ResponseId>,
    /// Texts of failed calls, to tell which of them stopped the run.
    failures: Vec<(ResponseId, String)>,
}

impl Resumed {
    pub(crate) fn new(inner: Arc<dyn ToolHost>, nested: Nested, done: Done) -> Self {
        Self { inner, nested, state: Mutex::new(State { done, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how a run that failed with `error` ended: by which call, where it was one. A guest may have put
    /// words around what it was told, such as the step's name. Of calls that failed alike the first one counts:
    /// with it, all that came after is made again.
    pub(crate) fn failed(&self, error: &RunError) -> Ended {
        let text = error.to_string();
        let state = self.state();
        let by = state.failures.iter().find(|(_, failure)| text.contains(failure.as_str()));
        Ended { end: "stopped".to_owned(), response: by.map(|(response, _)| response.0) }
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

    /// Takes the answer of an earlier run, if there is one.
    fn take_done(&self, call: &ToolCall) -> Option<Reserved> {
        let mut state = self.state();
        let past = state.done.0.get_mut(&key(call))?.pop_front()?;
        let (command, response) = (past.command, past.response.id);
        state.answered.insert(response, past);
        state.resumed.insert(response);
        Some(Reserved { call: call.clone(), command, response })
    }
}

#[async_trait]
impl ToolHost for Resumed {
    fn reserve(&self, calls: &[ToolCall]) -> Result<Vec<Reserved>, RunError> {
        let known: Vec<Option<Reserved>> = calls.iter().map(|call| self.take_done(call)).collect();
        let open: Vec<ToolCall> =
            calls.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(call, _)| call.clone()).collect();
        let mut fresh = if open.is_empty() { Vec::new() } else { self.inner.reserve(&open)? }.into_iter();
        let reserved: Vec<Reserved> = known.into_iter().filter_map(|known| known.or_else(|| fresh.next())).collect();
        let mut state = self.state();
        for one in &reserved {
            state.calls.insert(one.response, format!("{}/{}", one.call.adapter, one.call.tool));
        }
        Ok(reserved)
    }

    async fn perform(&self, reserved: Reserved) -> Result<ResponseRef, RunError> {
        let response = reserved.response;
        let answered = self.state().answered.remove(&response);
        let outcome = match answered {
            Some(past) => answered_or_failed(past.response, past.failure),
            None => self.inner.perform(reserved).await,
        };
        if let Err(error) = &outcome {
            self.state().failures.push((response, error.to_string()));
        }
        outcome
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

    fn skip_flow(&self, workspace: &str, name: &str) -> Result<(), RunError> {
        self.nested.skip(workspace, name)
    }

    async fn finish_flow(&self, workspace: &str, name: &str, parameters: &Value) -> Result<Value, RunError> {
        self.nested.finish(workspace, name, parameters).await
    }
}
