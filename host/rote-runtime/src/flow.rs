//! The flow world: one run of a flow, in an instance of its own.
//!
//! Invariants: a flow reaches tools, the responses of its own run, and what it shows; every tool call goes
//! through [`ToolHost`] and so through the gate. No call outlives the run.

use std::sync::Arc;

use rote_types::{AdapterId, Clock, FlowName, QueryEngine, QueryLimits, ResponseId, RunLimits, ToolCall};
use rote_workspace::{QueryRequest, QuerySource, Workspace};
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker};

use crate::adapter::{HOST_CALLS, query_value, run_blocking};
use crate::bindings::adapter::rote::base::types as wit;
use crate::bindings::adapter::rote::host::{log, query};
use crate::bindings::flow::rote::host::{output, payload, tools};
use crate::bindings::flow::{Flow, FlowPre};
use crate::engine::EngineHandle;
use crate::error::{LimitKind, Problem, RunError};
use crate::host_error::{Remembered, explain_trap, response_to_wit, to_wit};
use crate::limiter::{LimitHit, Limiter};
use crate::log::{LogBuffer, LogLine};
use crate::meter::{CpuMeter, arm_async, run_here};
use crate::tasks::{Outcome, Tasks};
use crate::text::clean_line;
use crate::tools::ToolHost;

/// Deepest nesting of runs: a flow whose tool runs a flow, and so on.
pub(crate) const DEPTH: u32 = 8;
/// Most bytes of one line that is shown, and of all lines of one kind.
const LINE_BYTES: usize = 8 << 10;
const LINES_BYTES: usize = 1 << 20;
/// Most calls of one batch.
const BATCH: usize = 1_000;

/// Everything that one run is given.
pub struct FlowRun {
    /// Contents of the file's `rote:payload` section; empty when it has none.
    pub payload: Vec<u8>,
    /// The parameters, an object that fits the frontmatter.
    pub parameters: Value,
    /// How tools are called.
    pub tools: Arc<dyn ToolHost>,
    /// The workspace of the run, whose responses can be queried.
    pub workspace: Arc<Workspace>,
    /// The flow's name, as the query log shows it.
    pub flow: Option<FlowName>,
    /// Bounds.
    pub limits: RunLimits,
    /// How many runs this one is nested in; 0 for one that a person started.
    pub depth: u32,
}

/// What a run produced.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowOutcome {
    /// The machine result.
    pub result: Value,
    /// Lines for a person, cleaned.
    pub human: Vec<String>,
    /// Lines for a log or a chat, cleaned.
    pub summary: Vec<String>,
    /// What the guest logged.
    pub log: Vec<LogLine>,
}

/// What a flow's store holds.
pub(crate) struct FlowState {
    limiter: Limiter,
    meter: CpuMeter,
    log: LogBuffer,
    host_calls: u64,
    remembered: Remembered,
    human: Lines,
    summary: Lines,
    result: Option<Value>,
    run: Option<Run>,
}

/// The run that an instance was made for; an instance that only describes itself has none.
struct Run {
    payload: Vec<u8>,
    workspace: Arc<Workspace>,
    flow: Option<FlowName>,
    queries: Arc<dyn QueryEngine>,
    clock: Arc<dyn Clock>,
    limits: RunLimits,
    tasks: Tasks,
}

/// Lines to be shown, bounded.
#[derive(Debug, Default)]
struct Lines {
    lines: Vec<String>,
    bytes: usize,
}

impl Lines {
    fn push(&mut self, text: &str) {
        let line = clean_line(text, LINE_BYTES);
        // A line costs a little even when it is empty.
        self.bytes = self.bytes.saturating_add(line.len() + 32);
        if self.bytes <= LINES_BYTES {
            self.lines.push(line);
        }
    }
}

/// Makes the linker of the flow world.
pub(crate) fn linker() -> wasmtime::Result<Linker<FlowState>> {
    let handle = EngineHandle::get().map_err(wasmtime::Error::new)?;
    let mut linker = Linker::new(&handle.engine);
    Flow::add_to_linker::<_, HasSelf<FlowState>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// Instantiates the flow and runs it to its end, its bounds, or a trap.
pub(crate) async fn run(
    pre: &FlowPre<FlowState>,
    queries: Arc<dyn QueryEngine>,
    clock: Arc<dyn Clock>,
    run: FlowRun,
) -> Result<FlowOutcome, RunError> {
    const SUBJECT: &str = "flow";
    let limits = run.limits;
    if run.depth > DEPTH {
        let limit = LimitKind::Count { what: "nested runs", max: u64::from(DEPTH) };
        return Err(RunError::Limit { subject: SUBJECT.to_owned(), limit });
    }
    let parameters = run.parameters.to_string();
    let tasks = Tasks::new(run.tools, limits.calls, limits.concurrency);
    let (payload, workspace, flow) = (run.payload, run.workspace, run.flow);
    let state = FlowState::new(&limits, Some(Run { payload, workspace, flow, queries, clock, limits, tasks }));
    let handle = EngineHandle::get()?;
    let _running = handle.running();
    let mut store = new_store(handle, &limits, state);
    let work = async {
        let flow = pre.instantiate_async(&mut store).await?;
        flow.call_run(&mut store, &parameters).await
    };
    let deadline = tokio::time::Instant::now() + limits.total;
    let ended = tokio::time::timeout_at(deadline, work).await;
    let mut state = store.into_data();
    if let Some(run) = state.run.take() {
        // Whatever is still in flight gets the rest of the run's time.
        run.tasks.finish(deadline).await;
    }
    let Ok(result) = ended else {
        let limit = LimitKind::Total(limits.total);
        return Err(RunError::Limit { subject: SUBJECT.to_owned(), limit });
    };
    let answer = result.map_err(|error| explain_trap(SUBJECT, &error, state.limiter.hit()))?;
    let returned = match answer {
        Ok(returned) => returned,
        Err(error) => return Err(state.remembered.explain(SUBJECT, error)),
    };
    let result = match state.result {
        Some(result) => result,
        None => parse_result(&returned, limits.result_bytes)?,
    };
    Ok(FlowOutcome { result, human: state.human.lines, summary: state.summary.lines, log: state.log.finish() })
}

/// Instantiates the flow and returns what it says of itself.
pub(crate) async fn describe(pre: &FlowPre<FlowState>) -> Result<String, RunError> {
    let limits = RunLimits::default();
    let handle = EngineHandle::get()?;
    let _running = handle.running();
    let mut store = new_store(handle, &limits, FlowState::new(&limits, None));
    let result = async {
        let flow = pre.instantiate_async(&mut store).await?;
        flow.call_describe(&mut store).await
    }
    .await;
    result.map_err(|error| explain_trap("flow", &error, store.data().limiter.hit()))
}

/// Makes an instance and drops it, for benchmarks.
pub(crate) fn instantiate_and_drop(pre: &FlowPre<FlowState>) -> Result<(), RunError> {
    let handle = EngineHandle::get()?;
    let _running = handle.running();
    let limits = RunLimits::default();
    let mut store = new_store(handle, &limits, FlowState::new(&limits, None));
    match run_here(pre.instantiate_async(&mut store)) {
        Ok(_) => Ok(()),
        Err(error) => Err(explain_trap("flow", &error, None)),
    }
}

fn new_store(handle: &EngineHandle, limits: &RunLimits, state: FlowState) -> Store<FlowState> {
    let mut store = Store::new(&handle.engine, state);
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(limits.result_bytes.saturating_add(64 << 20));
    let meter = store.data().meter.clone();
    arm_async(&mut store, &meter);
    meter.resume();
    store
}

/// Reads the machine result, which must be JSON of bounded size.
fn parse_result(text: &str, max: usize) -> Result<Value, RunError> {
    if text.len() > max {
        let limit = LimitKind::Bytes { what: "result", max };
        return Err(RunError::Limit { subject: "flow".to_owned(), limit });
    }
    serde_json::from_str(text).map_err(|error| RunError::Contract {
        subject: "flow".to_owned(),
        message: format!("its result is not JSON: {error}"),
    })
}

impl FlowState {
    fn new(limits: &RunLimits, run: Option<Run>) -> Self {
        Self {
            limiter: Limiter::new(limits.memory_bytes),
            meter: CpuMeter::new(limits.cpu),
            log: LogBuffer::new(limits.log_bytes),
            host_calls: 0,
            remembered: Remembered::default(),
            human: Lines::default(),
            summary: Lines::default(),
            result: None,
            run,
        }
    }

    /// Counts a call of the host.
    fn enter(&mut self) -> Result<(), LimitHit> {
        self.host_calls += 1;
        if self.host_calls > HOST_CALLS { Err(LimitHit::HostCalls(HOST_CALLS)) } else { Ok(()) }
    }

    fn tell(&mut self, outcome: Outcome) -> Result<wit::ResponseRef, wit::Error> {
        outcome.map(|response| response_to_wit(&response)).map_err(|error| self.remembered.tell(error))
    }

    /// Starts calls, or says why not.
    fn start_calls(&mut self, calls: &[ToolCall]) -> Result<Vec<u32>, wit::Error> {
        let Some(run) = &mut self.run else { return Err(no_run()) };
        run.tasks.start(calls).map_err(|error| self.remembered.tell(error))
    }

    async fn wait(&mut self, task: u32) -> Result<wit::ResponseRef, wit::Error> {
        let Some(run) = &mut self.run else { return Err(no_run()) };
        let outcome = run.tasks.wait(task).await;
        self.tell(outcome)
    }
}

/// Reads a call as the guest wrote it.
fn decode(call: tools::ToolCall) -> Result<ToolCall, RunError> {
    let adapter: AdapterId = call.adapter.parse().map_err(|_| invalid("/adapter", "not an adapter id"))?;
    let arguments: Value =
        serde_json::from_str(&call.arguments).map_err(|error| invalid("/arguments", &format!("not JSON: {error}")))?;
    if !arguments.is_object() {
        return Err(invalid("/arguments", "not an object"));
    }
    Ok(ToolCall { adapter, tool: call.tool, arguments })
}

fn invalid(pointer: &str, message: &str) -> RunError {
    let problem = Problem { pointer: pointer.to_owned(), message: message.to_owned() };
    RunError::InvalidInput { subject: "tool call".to_owned(), problems: vec![problem] }
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
        if count > BATCH {
            let limit = LimitKind::Count { what: "calls in one batch", max: BATCH as u64 };
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

    async fn wait_any(
        &mut self,
        tasks: Vec<u32>,
    ) -> wasmtime::Result<Result<(u32, Result<wit::ResponseRef, wit::Error>), wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let Some(run) = &mut self.run else {
            return Ok(Err(no_run()));
        };
        if tasks.is_empty() || !run.tasks.are_open(&tasks) {
            return Ok(Err(self
                .remembered
                .tell(invalid("", "no task, or one that was never started or is waited for"))));
        }
        let Some((position, outcome)) = run.tasks.wait_any(&tasks).await else {
            let error = RunError::Host { message: "a tool call was lost".to_owned() };
            return Ok(Err(self.remembered.tell(error)));
        };
        let position = u32::try_from(position)?;
        Ok(Ok((position, self.tell(outcome))))
    }
}

impl FlowState {
    /// Starts all calls of a batch at once, or, when one cannot be made, each that can.
    fn start_batch(&mut self, calls: Vec<tools::ToolCall>) -> Vec<Result<u32, wit::Error>> {
        let decoded: Vec<Result<ToolCall, RunError>> = calls.into_iter().map(decode).collect();
        let all: Option<Vec<ToolCall>> = decoded.iter().map(|call| call.as_ref().ok().cloned()).collect();
        let Some(run) = &mut self.run else {
            return decoded.iter().map(|_| Err(no_run())).collect();
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
}

impl query::Host for FlowState {
    async fn response(&mut self, id: u64, program: String) -> wasmtime::Result<Result<Vec<String>, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let Some(run) = &self.run else { return Ok(Err(no_run())) };
        let (workspace, engine) = (Arc::clone(&run.workspace), Arc::clone(&run.queries));
        let request = QueryRequest {
            source: QuerySource::Response(ResponseId(id)),
            program,
            unwrap_mcp: false,
            save_as: None,
            limits: QueryLimits::default(),
            flow: run.flow.clone(),
            at: run.clock.now(),
        };
        let result = run_blocking(move || Ok(workspace.query(&*engine, &request)?.values)).await;
        Ok(result.map_err(|error| self.remembered.tell(error)))
    }

    async fn value(&mut self, input: String, program: String) -> wasmtime::Result<Result<Vec<String>, wit::Error>> {
        self.enter()?;
        let meter = self.meter.clone();
        let _paused = meter.pause()?;
        let Some(run) = &self.run else { return Ok(Err(no_run())) };
        let engine = Arc::clone(&run.queries);
        let limits = QueryLimits::default();
        let result = run_blocking(move || query_value(&*engine, &input, &program, &limits)).await;
        Ok(result.map_err(|error| self.remembered.tell(error)))
    }
}

impl output::Host for FlowState {
    async fn human(&mut self, text: String) -> wasmtime::Result<()> {
        self.enter()?;
        self.human.push(&text);
        Ok(())
    }

    async fn summary(&mut self, text: String) -> wasmtime::Result<()> {
        self.enter()?;
        self.summary.push(&text);
        Ok(())
    }

    async fn result(&mut self, value: String) -> wasmtime::Result<Result<(), wit::Error>> {
        self.enter()?;
        if self.result.is_some() {
            return Ok(Err(to_wit(&invalid("", "the result was given before"))));
        }
        let max = self.run.as_ref().map_or(0, |run| run.limits.result_bytes);
        match parse_result(&value, max) {
            Ok(value) => {
                self.result = Some(value);
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(self.remembered.tell(error))),
        }
    }
}

impl payload::Host for FlowState {
    async fn read(&mut self) -> wasmtime::Result<Vec<u8>> {
        self.enter()?;
        Ok(self.run.as_ref().map(|run| run.payload.clone()).unwrap_or_default())
    }
}

impl log::Host for FlowState {
    async fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.enter()?;
        self.log.write(level.into(), &message);
        Ok(())
    }
}

impl wit::Host for FlowState {}

/// What a guest is told that uses the host while it only describes itself.
fn no_run() -> wit::Error {
    wit::Error::Denied(wit::Denial {
        rule: "describe".to_owned(),
        message: "nothing may be called while describing".to_owned(),
        hint: String::new(),
    })
}
