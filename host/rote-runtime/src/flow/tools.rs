//! `rote:host/tools` and `rote:host/flows`: decode, one call of the run's tool host, encode.

use rote_types::{AdapterId, MAX_BATCH, ToolCall};
use serde_json::Value;

use super::{FlowState, Run, invalid, read_json};
use crate::bindings::adapter::rote::base::types as wit;
use crate::bindings::flow::rote::host::{flows, tools};
use crate::error::{LimitKind, RunError};
use crate::tape::{flow_begin, flow_end};

/// Most tools that one probe returns.
const PROBED: u32 = 50;
/// Most bytes of an intent or a name that a guest asks about.
const ASKED_BYTES: usize = 1 << 10;

/// What the workspace of a run takes that does nothing.
const WORKSPACE_BYTES: usize = 128 << 10;

/// Reads a call as the guest wrote it.
fn decode(call: tools::ToolCall) -> Result<ToolCall, RunError> {
    let adapter: AdapterId = call.adapter.parse().map_err(|_| invalid("/adapter", "not an adapter id"))?;
    let arguments = read_json("/arguments", &call.arguments)?;
    if !arguments.is_object() {
        return Err(invalid("/arguments", "not an object"));
    }
    Ok(ToolCall { adapter, tool: call.tool, arguments })
}

impl tools::Host for FlowState {
    async fn call(&mut self, call: tools::ToolCall) -> wasmtime::Result<Result<wit::ResponseRef, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let call = match decode(call) {
            Ok(call) => call,
            Err(error) => return Ok(Err(self.remembered.tell(error))),
        };
        Ok(match self.start_calls(&[call]) {
            Ok(tasks) => self.wait(tasks[0]).await,
            Err(error) => Err(error),
        })
    }

    async fn batch(
        &mut self,
        calls: Vec<tools::ToolCall>,
    ) -> wasmtime::Result<Vec<Result<wit::ResponseRef, wit::Error>>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let count = calls.len();
        if count > MAX_BATCH {
            let limit = LimitKind::Count { what: "calls in one batch", max: MAX_BATCH as u64 };
            let error = self.remembered.tell(RunError::Limit { subject: "flow".to_owned(), limit });
            return Ok(vec![Err(error); count]);
        }
        let started = self.start_batch(calls);
        let mut answers = Vec::with_capacity(count);
        for task in started {
            answers.push(match task {
                Ok(task) => self.wait(task).await,
                Err(error) => Err(error),
            });
        }
        Ok(answers)
    }

    async fn start(&mut self, call: tools::ToolCall) -> wasmtime::Result<Result<u32, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        Ok(match decode(call) {
            Ok(call) => self.start_calls(&[call]).map(|tasks| tasks[0]),
            Err(error) => Err(self.remembered.tell(error)),
        })
    }

    async fn probe(
        &mut self,
        adapter: String,
        intent: String,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<String>, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let found = self.probe_adapter(&adapter, &intent, limit.clamp(1, PROBED));
        Ok(self.pass(found.map(|found| found.iter().map(Value::to_string).collect())))
    }

    async fn status(&mut self, adapter: String) -> wasmtime::Result<Result<String, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let status = adapter_id(&adapter).and_then(|id| {
            let question = format!("tools.status {id}");
            self.taped::<Value>(&question, |run| run.tools.status(&id))
        });
        Ok(self.pass(status.map(|status| status.to_string())))
    }
}

impl FlowState {
    fn probe_adapter(&self, adapter: &str, intent: &str, limit: u32) -> Result<Vec<Value>, RunError> {
        if intent.len() > ASKED_BYTES {
            return Err(invalid("/intent", "longer than 1,024 bytes"));
        }
        let id = adapter_id(adapter)?;
        let question = format!("tools.probe {id} {limit} {intent}");
        self.taped(&question, |run| run.tools.probe(&id, intent, limit))
    }

    /// Starts all calls of a batch at once, or, when one cannot be made, each that can.
    fn start_batch(&mut self, calls: Vec<tools::ToolCall>) -> Vec<Result<u32, wit::Error>> {
        let decoded: Vec<Result<ToolCall, RunError>> = calls.into_iter().map(decode).collect();
        let all: Option<Vec<ToolCall>> = decoded.iter().map(|call| call.as_ref().ok().cloned()).collect();
        let Some(run) = &mut self.run else {
            return decoded.iter().map(|_| Err(self.remembered.tell(RunError::Describing))).collect();
        };
        if let Some(Ok(tasks)) = all.map(|all| run.tasks.start(&all)) {
            return tasks.into_iter().map(Ok).collect();
        }
        let start_one = |call: Result<ToolCall, RunError>| match call {
            Ok(call) => self.start_calls(&[call]).map(|tasks| tasks[0]),
            Err(error) => Err(self.remembered.tell(error)),
        };
        decoded.into_iter().map(start_one).collect()
    }

    /// Runs another flow. Its workspace is on the tape before it runs, so that a killed run goes on with it.
    async fn run_nested(&mut self, name: &str, parameters: &str) -> Result<String, RunError> {
        let parameters = read_json("/parameters", parameters)?;
        // A run is a call too, so that runs of flows that call nothing are bounded as well.
        let run = self.run.as_ref().ok_or(RunError::Describing)?;
        run.budget.spend_calls(1)?;
        run.keep(WORKSPACE_BYTES)?;
        let begun: String = self.taped(&flow_begin(name), |run: &Run| run.tools.begin_flow(name, &parameters))?;
        let run = self.run.as_ref().ok_or(RunError::Describing)?;
        let question = flow_end(name);
        match run.told(&question)? {
            Some(Ok(answer)) => return Ok(answer.to_string()),
            Some(Err(failure)) => return Err(run.on_tape(failure.into_error())),
            None => {}
        }
        let result = run.tools.finish_flow(&begun, name, &parameters).await;
        let result = result.map_err(|error| run.note_failure(&question, error))?;
        let text = result.to_string();
        run.note(&question, &Ok(result))?;
        Ok(text)
    }
}

fn adapter_id(text: &str) -> Result<AdapterId, RunError> {
    text.parse().map_err(|_| invalid("/adapter", "not an adapter id"))
}

impl flows::Host for FlowState {
    async fn run(&mut self, name: String, parameters: String) -> wasmtime::Result<Result<String, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        if name.len() > ASKED_BYTES {
            return Ok(Err(self.remembered.tell(invalid("/name", "longer than 1,024 bytes"))));
        }
        let result = self.run_nested(&name, &parameters).await;
        Ok(self.pass(result))
    }
}
