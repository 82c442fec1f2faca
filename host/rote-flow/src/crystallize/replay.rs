//! The replay check: the emitted component, run against the recorded responses in a home of its own.
//!
//! Nothing is linked that could send. A call is answered when exactly this adapter, tool and arguments were
//! recorded and not yet asked for; anything else is stale and fails the check. The result must be the recorded
//! one, byte for byte as canonical JSON.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rote_home::{Home, read_capped};
use rote_runtime::{FlowRun, Reserved, RunError, ToolHost, World};
use rote_types::{Clock, ResponseId, ResponseRef, RunLimits, ToolCall, WorkspaceName, canonical_json};
use rote_workspace::{Body, NewCall, RecordedOutcome, Recording, RequestRecord, StoredResponse, Workspace};
use serde_json::Value;

use super::arguments::Sources;
use super::parameters::Parameters;
use super::select::Selection;
use super::trace::RecordedCall;
use crate::error::Stale;
use crate::{FlowError, Flows, Package};

/// Most bytes of a recorded artifact.
const MAX_ARTIFACT_BYTES: u64 = 256 << 20;

impl Flows {
    /// Replays the package; returns the number of calls that it made.
    pub(crate) async fn replay(
        &self,
        package: &Package,
        sources: &Sources<'_>,
        selection: &Selection,
        parameters: &Parameters,
        recorded: &Value,
    ) -> Result<usize, FlowError> {
        let root = self.scratch("replay-")?;
        let home = Home::open(root.path())?;
        let name = WorkspaceName::try_from("replay".to_owned())
            .map_err(|error| FlowError::Usage { message: error.to_string() })?;
        let workspace = Arc::new(Workspace::create(&home, &name, self.parts.clock.now())?);
        let tools =
            Arc::new(RecordedTools::new(sources, selection, Arc::clone(&workspace), Arc::clone(&self.parts.clock))?);
        let run = FlowRun {
            payload: package.payload()?.to_vec(),
            parameters: Value::Object(parameters.examples()),
            tools: Arc::clone(&tools) as Arc<dyn ToolHost>,
            workspace,
            flow: Some(package.frontmatter.name.clone()),
            limits: RunLimits::default(),
            depth: 0,
        };
        let prepared = self.parts.runtime.prepare(World::Flow, package.bytes())?;
        let outcome = self.parts.runtime.run_flow(&prepared, run).await;
        if let Some(stale) = tools.take_stale() {
            return Err(FlowError::ReplayStale { stale: Box::new(stale) });
        }
        let result = outcome.map_err(|source| FlowError::ReplayFailed { source: Box::new(source) })?.result;
        if canonical_json(&result).ok() != canonical_json(recorded).ok() {
            return Err(FlowError::ReplayDiffers { recorded: Box::new(recorded.clone()), replayed: Box::new(result) });
        }
        Ok(tools.answered())
    }
}

/// Answers to be given, by what is asked: adapter, tool, canonical arguments.
type Answers = BTreeMap<(String, String, Vec<u8>), VecDeque<(RecordedCall, Recording)>>;

/// Answers calls from a recording.
struct RecordedTools {
    workspace: Arc<Workspace>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    answers: Answers,
    reserved: BTreeMap<ResponseId, Recording>,
    stale: Option<Stale>,
    answered: usize,
}

impl RecordedTools {
    fn new(
        sources: &Sources<'_>,
        selection: &Selection,
        workspace: Arc<Workspace>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, FlowError> {
        let mut answers = Answers::new();
        for position in &selection.kept {
            let call = &sources.trace.calls[*position];
            let recording = recording(sources.workspace, sources.workspace.response(call.response)?)?;
            answers.entry(key(&call.call())).or_default().push_back((call.clone(), recording));
        }
        Ok(Self { workspace, clock, state: Mutex::new(State { answers, ..State::default() }) })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_stale(&self) -> Option<Stale> {
        self.state().stale.take()
    }

    fn answered(&self) -> usize {
        self.state().answered
    }

    fn reserve_one(&self, call: &ToolCall) -> Result<Reserved, RunError> {
        let mut state = self.state();
        let Some((recorded, recording)) = state.answers.get_mut(&key(call)).and_then(VecDeque::pop_front) else {
            let ToolCall { adapter, tool, arguments } = call.clone();
            state.stale.get_or_insert(Stale { adapter, tool, arguments });
            return Err(RunError::Host {
                message: format!("stale: `{}/{}` was not recorded so", call.adapter, call.tool),
            });
        };
        let new = NewCall {
            adapter: call.adapter.clone(),
            tool: call.tool.clone(),
            method: recorded.method,
            raw_arguments: call.arguments.clone(),
            arguments: call.arguments.clone(),
            uses: Vec::new(),
            flow: None,
            at: self.clock.now(),
        };
        let (command, response) = self.workspace.begin_call(&new)?;
        state.reserved.insert(response, recording);
        Ok(Reserved { call: call.clone(), command, response })
    }
}

fn key(call: &ToolCall) -> (String, String, Vec<u8>) {
    let arguments = canonical_json(&call.arguments).unwrap_or_default();
    (call.adapter.to_string(), call.tool.clone(), arguments)
}

#[async_trait]
impl ToolHost for RecordedTools {
    fn reserve(&self, calls: &[ToolCall]) -> Result<Vec<Reserved>, RunError> {
        calls.iter().map(|call| self.reserve_one(call)).collect()
    }

    async fn perform(&self, reserved: Reserved) -> Result<ResponseRef, RunError> {
        let recording = self.state().reserved.remove(&reserved.response);
        let recording = recording.ok_or_else(|| RunError::Host { message: "it was performed twice".to_owned() })?;
        let stored = self.workspace.record(reserved.response, recording)?;
        self.state().answered += 1;
        Ok(stored.reference())
    }
}

/// Turns a stored response into one that can be recorded again.
pub(crate) fn recording(workspace: &Workspace, stored: StoredResponse) -> Result<Recording, FlowError> {
    let mut content_type = stored.summary.content_type.clone();
    let body = match stored.body {
        Body::Empty => Vec::new(),
        Body::Json(text) => text.into_bytes(),
        Body::Text { text, .. } => {
            // The stored text is UTF-8, whatever it was on the wire.
            content_type.push_str("; charset=utf-8");
            text.into_bytes()
        }
        Body::Binary { path, .. } => read_capped(&workspace.folder().join(path), MAX_ARTIFACT_BYTES)?,
    };
    let outcome = RecordedOutcome::Http {
        status: stored.summary.status.unwrap_or(200),
        headers: stored.headers,
        content_type,
        body,
        truncated: stored.truncated,
    };
    Ok(Recording {
        request: RequestRecord { ..stored.request },
        outcome,
        started: stored.summary.at,
        duration: Duration::from_millis(stored.summary.duration_ms.unwrap_or(0)),
    })
}
