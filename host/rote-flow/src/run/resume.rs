//! Going on with a run: what succeeded before is answered from the record, what did not is made.
//!
//! A plan is deterministic, so a call with the same adapter, tool and arguments is the same step. A write that was
//! started and has no outcome stops a resumed run before it starts: nobody knows whether it happened.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rote_runtime::{Reserved, RunError, ToolHost};
use rote_types::{FlowName, ResponseId, ResponseRef, ToolCall, canonical_json};
use rote_workspace::{CommandId, CommandKind, ResponseState, Workspace};

use super::StepReport;
use crate::FlowError;

/// A call as it is compared: adapter, tool, canonical arguments.
type Key = (String, String, Vec<u8>);

/// What an earlier run did, by call.
pub(crate) type Done = BTreeMap<Key, VecDeque<(CommandId, ResponseRef)>>;

fn key(call: &ToolCall) -> Key {
    (call.adapter.to_string(), call.tool.clone(), canonical_json(&call.arguments).unwrap_or_default())
}

/// Reads what a run of `flow` did in `workspace`.
pub(crate) fn done(workspace: &Workspace, flow: &FlowName) -> Result<Done, FlowError> {
    let mut done = Done::new();
    for command in workspace.commands()?.into_iter().filter(|command| command.kind == CommandKind::Call) {
        if command.flow.as_ref() != Some(flow) {
            let message = format!("workspace `{}` is not one of a run of `{flow}` alone", workspace.name());
            return Err(FlowError::Usage { message });
        }
        let (Some(adapter), Some(tool)) = (command.adapter, command.tool) else {
            continue;
        };
        let Some(response) = command.response_ids.first().copied() else {
            continue;
        };
        match workspace.summary(response)?.state {
            ResponseState::InDoubt => {
                let workspace = workspace.name().clone();
                return Err(FlowError::InDoubt { workspace, response, adapter, tool });
            }
            ResponseState::Ok => {
                let call = ToolCall { adapter, tool, arguments: command.arguments };
                let answer = workspace.response(response)?.reference();
                done.entry(key(&call)).or_default().push_back((command.sequence, answer));
            }
            _ => {}
        }
    }
    Ok(done)
}

/// A tool host that first looks at what was done before, and remembers what it did.
pub(crate) struct Resumed {
    inner: Arc<dyn ToolHost>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: Done,
    answered: BTreeMap<ResponseId, ResponseRef>,
    calls: BTreeMap<ResponseId, String>,
    resumed: BTreeSet<ResponseId>,
}

impl Resumed {
    pub(crate) fn new(inner: Arc<dyn ToolHost>, done: Done) -> Self {
        Self { inner, state: Mutex::new(State { done, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (command, answer) = state.done.get_mut(&key(call))?.pop_front()?;
        let response = answer.id;
        state.answered.insert(response, answer);
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
        let answered = self.state().answered.remove(&reserved.response);
        match answered {
            Some(answer) => Ok(answer),
            None => self.inner.perform(reserved).await,
        }
    }
}
