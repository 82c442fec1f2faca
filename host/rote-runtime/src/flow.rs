//! The flow world: one run of a flow, in an instance of its own.
//!
//! Invariants: a flow reaches tools, the responses of its own run, and what it shows; every tool call goes
//! through [`ToolHost`] and so through the gate. No call outlives the run. Whatever else it learns from the host
//! is on the run's [`Tape`] before the guest sees it. The imports are in the modules below, one for each interface.

mod clock;
mod output;
mod query;
mod store;
mod tasks;
mod tools;
pub(crate) mod wasi;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rote_types::{Clock, Entropy, FlowName, Misfit, QueryEngine, ResponseId, RunLimits, ToolCall};
use rote_workspace::Workspace;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;
use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker};

use crate::LoadError;
use crate::adapter::HOST_CALLS;
use crate::bindings::adapter::rote::base::types as wit;
use crate::bindings::flow::{Flow, FlowPre};
use crate::budget::Budget;
use crate::engine::EngineHandle;
use crate::error::{LimitKind, RunError};
use crate::host_error::{Explained, Remembered, explain_trap, response_to_wit};
use crate::limiter::{LimitHit, Limiter};
use crate::log::{LogBuffer, LogLine};
use crate::meter::{CpuMeter, arm_async, run_here};
use crate::tape::{Answer, Observer, Tape, TapedFailure};
use crate::tasks::{Outcome, Tasks};
use crate::tools::ToolHost;
use rote_types::{MAX_NESTING, clean_line};

/// What errors call the guest.
const SUBJECT: &str = "flow";
/// Most bytes of one line that is shown, and of all lines of one kind.
const LINE_BYTES: usize = 8 << 10;
const LINES_BYTES: usize = 1 << 20;
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
    /// What this run and those nested in it may use together.
    pub budget: Arc<Budget>,
    /// How many runs this one is nested in; 0 for one that a person started.
    pub depth: u32,
    /// What the run learns beside responses.
    pub tape: Arc<dyn Tape>,
    /// Who watches.
    pub observer: Arc<dyn Observer>,
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
    /// Whether a step that it showed had failed when it ended.
    pub partial: bool,
}

/// Why a run gave no result, with what the guest had logged until then.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct FlowFailure {
    /// Why.
    pub error: RunError,
    /// What the guest logged: an interpreter says there what an exception was.
    pub log: Vec<LogLine>,
    /// The call whose error the guest ended with, or because of whose error it did.
    pub response: Option<ResponseId>,
    /// The call that may be behind an error of the guest's own making, which says of no error of the host's that it is
    /// because of it: the first failure after which no call that was started succeeded, else the last call without an answer.
    pub suspect: Option<ResponseId>,
    /// The place on the tape, from 0, of the failure that the guest ended with, where it is there.
    pub frame: Option<u64>,
}

impl From<RunError> for FlowFailure {
    fn from(error: RunError) -> Self {
        Self { error, log: Vec::new(), response: None, suspect: None, frame: None }
    }
}

impl From<LoadError> for FlowFailure {
    fn from(error: LoadError) -> Self {
        RunError::from(error).into()
    }
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
    wasi: Option<Box<wasi::Wasi>>,
    /// Labels of shown steps that failed and did not end well later.
    failed_steps: BTreeSet<String>,
}

/// The run that an instance was made for; an instance that only describes itself has none.
struct Run {
    payload: Vec<u8>,
    workspace: Arc<Workspace>,
    flow: Option<FlowName>,
    host: Services,
    budget: Arc<Budget>,
    tasks: Tasks,
    tools: Arc<dyn ToolHost>,
    tape: Arc<dyn Tape>,
    /// How many answers the guest got that are on the tape.
    frames: AtomicU64,
    /// The number of the failure among them that the guest is about to be told, from 1; 0 for none.
    failed: AtomicU64,
    observer: Arc<dyn Observer>,
    since: Instant,
}

impl Run {
    /// Takes the next answer from the tape; `None` when the host answers anew.
    fn told(&self, question: &str) -> Result<Option<Answer>, RunError> {
        let answer = self.tape.next(question)?;
        self.frames.fetch_add(u64::from(answer.is_some()), Ordering::Relaxed);
        Ok(answer)
    }

    /// Writes an answer down, before the guest sees it.
    fn note(&self, question: &str, answer: &Answer) -> Result<(), RunError> {
        self.tape.record(question, answer)?;
        self.frames.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Writes a failure down, unless it is one of this attempt alone; returns it with its place on the tape.
    fn note_failure(&self, question: &str, error: RunError) -> RunError {
        let Some(failure) = TapedFailure::of(&error) else { return error };
        match self.note(question, &Err(failure)) {
            Ok(()) => self.on_tape(error),
            Err(unwritten) => unwritten,
        }
    }

    /// Notes of a failure that it is the last answer on the tape.
    fn on_tape(&self, error: RunError) -> RunError {
        self.failed.store(self.frames.load(Ordering::Relaxed), Ordering::Relaxed);
        error
    }

    /// Returns the place on the tape, from 0, of the failure that the guest is about to be told.
    fn take_failed(&self) -> Option<u64> {
        self.failed.swap(0, Ordering::Relaxed).checked_sub(1)
    }

    /// Counts bytes that are about to be kept, and sees to it that there is room for them.
    fn keep(&self, bytes: usize) -> Result<(), RunError> {
        self.budget.spend_kept(bytes as u64)?;
        Ok(self.workspace.check_disk()?)
    }
}

/// What the host gives every run.
pub(crate) struct Services {
    pub(crate) queries: Arc<dyn QueryEngine>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
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

/// Makes the linker of the flow world, with WASI for a component that imports some.
pub(crate) fn linker(with_wasi: bool) -> wasmtime::Result<Linker<FlowState>> {
    let handle = EngineHandle::get().map_err(wasmtime::Error::new)?;
    let mut linker = Linker::new(&handle.engine);
    Flow::add_to_linker::<_, HasSelf<FlowState>>(&mut linker, |state| state)?;
    if with_wasi {
        wasi::add_to_linker(&mut linker)?;
    }
    Ok(linker)
}

/// Instantiates the flow and runs it to its end, its bounds, or a trap.
pub(crate) async fn run(pre: &FlowPre<FlowState>, host: Services, run: FlowRun) -> Result<FlowOutcome, FlowFailure> {
    let budget = Arc::clone(&run.budget);
    let limits = *budget.limits();
    if run.depth > MAX_NESTING {
        let limit = LimitKind::Count { what: "nested runs", max: u64::from(MAX_NESTING) };
        return Err(RunError::Limit { subject: SUBJECT.to_owned(), limit }.into());
    }
    let parameters = run.parameters.to_string();
    let tasks = Tasks::new(Arc::clone(&run.tools), Arc::clone(&run.observer), Arc::clone(&budget));
    let FlowRun { payload, tools, workspace, flow, tape, observer, .. } = run;
    let since = Instant::now();
    let run = Run {
        payload,
        workspace,
        flow,
        host,
        budget: Arc::clone(&budget),
        tasks,
        tools,
        tape,
        frames: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        observer,
        since,
    };
    let meter = budget.meter();
    let state = FlowState::new(&limits, meter.clone(), Some(run));
    let handle = EngineHandle::get()?;
    let _running = handle.running();
    let mut store = new_store(handle, &limits, state);
    let work = async {
        let flow = pre.instantiate_async(&mut store).await?;
        flow.call_run(&mut store, &parameters).await
    };
    let deadline = budget.deadline();
    let ended = tokio::time::timeout_at(deadline, work).await;
    // The run that started this one goes on counting from here. Over its bound it is stopped there.
    let _over = meter.stop();
    let mut state = store.into_data();
    state.flush(true);
    if let Some(run) = state.run.take() {
        // Whatever is still in flight gets the rest of the run's time.
        run.tasks.finish(deadline).await;
    }
    let log = std::mem::replace(&mut state.log, LogBuffer::new(0)).finish();
    match outcome(state, ended.ok(), &limits) {
        Ok(outcome) => Ok(FlowOutcome { log, ..outcome }),
        Err(failure) => Err(FlowFailure { log, ..failure }),
    }
}

/// What came of a run whose guest ended, or did not within its time. The log is not in it.
fn outcome(
    mut state: FlowState,
    ended: Option<wasmtime::Result<Result<String, wit::Error>>>,
    limits: &RunLimits,
) -> Result<FlowOutcome, FlowFailure> {
    let Some(ended) = ended else {
        let limit = LimitKind::Total(limits.total);
        return Err(RunError::Limit { subject: SUBJECT.to_owned(), limit }.into());
    };
    let hit = state.limiter.hit();
    let remembered = std::mem::take(&mut state.remembered);
    let answer = ended.map_err(|error| trapped(explain_trap(SUBJECT, &error, hit), &remembered))?;
    let returned = answer.map_err(|error| {
        let Explained { error, response, suspect, frame } = remembered.explain(SUBJECT, error);
        FlowFailure { error: exhausted(error, hit), log: Vec::new(), response, suspect, frame }
    })?;
    let result = match state.result {
        Some(result) => result,
        None => parse_result(&returned, limits.result_bytes)?,
    };
    Ok(FlowOutcome {
        result,
        human: state.human.lines,
        summary: state.summary.lines,
        log: Vec::new(),
        partial: !state.failed_steps.is_empty(),
    })
}

/// Instantiates the flow and returns what it says of itself.
pub(crate) async fn describe(pre: &FlowPre<FlowState>) -> Result<String, RunError> {
    let limits = RunLimits::default();
    let handle = EngineHandle::get()?;
    let _running = handle.running();
    let mut store = new_store(handle, &limits, FlowState::new(&limits, CpuMeter::new(limits.cpu), None));
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
    let mut store = new_store(handle, &limits, FlowState::new(&limits, CpuMeter::new(limits.cpu), None));
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

/// A guest may have crashed because of what it was told; a bound is not a call's fault.
fn trapped(error: RunError, remembered: &Remembered) -> FlowFailure {
    let crashed = matches!(error, RunError::Trapped { .. });
    let suspect = remembered.suspect().filter(|_| crashed);
    FlowFailure { suspect, ..error.into() }
}

/// Names the bound behind a guest's own error: an interpreter reports memory that it did not get as an error.
fn exhausted(error: RunError, hit: Option<LimitHit>) -> RunError {
    match (error, hit) {
        (RunError::Guest { subject, kind: rote_types::ErrorKind::General, .. }, Some(hit)) => {
            RunError::Limit { subject, limit: hit.into() }
        }
        (RunError::Within(mut within), hit) => {
            within.error = exhausted(within.error, hit);
            RunError::Within(within)
        }
        (error, _) => error,
    }
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
    fn new(limits: &RunLimits, meter: CpuMeter, run: Option<Run>) -> Self {
        Self {
            limiter: Limiter::new(limits.memory_bytes),
            meter,
            log: LogBuffer::new(limits.log_bytes),
            host_calls: 0,
            remembered: Remembered::default(),
            human: Lines::default(),
            summary: Lines::default(),
            result: None,
            run,
            wasi: None,
            failed_steps: BTreeSet::new(),
        }
    }

    /// Counts a call of the host.
    fn enter(&mut self) -> Result<(), LimitHit> {
        self.flush(false);
        self.host_calls += 1;
        if self.host_calls > HOST_CALLS { Err(LimitHit::HostCalls(HOST_CALLS)) } else { Ok(()) }
    }

    /// Passes on what the guest printed, so that it stands in the log before what comes next.
    fn flush(&mut self, at_end: bool) {
        if let Some(wasi) = &self.wasi {
            wasi.flush(&mut self.log, at_end);
        }
    }

    fn tell(&mut self, task: u32, outcome: Outcome) -> Result<wit::ResponseRef, wit::Error> {
        match outcome {
            Ok(response) => {
                self.remembered.succeeded(task);
                Ok(response_to_wit(&response))
            }
            Err(error) => {
                let tasks = self.run.as_ref().map(|run| &run.tasks);
                let response = tasks.and_then(|tasks| tasks.response(task));
                Err(self.remembered.tell_of(response, tasks.map_or(0, Tasks::started), error))
            }
        }
    }

    /// Returns the guest's form of a result of the host.
    fn pass<T>(&mut self, result: Result<T, RunError>) -> Result<T, wit::Error> {
        result.map_err(|error| {
            let frame = self.run.as_ref().and_then(Run::take_failed);
            self.remembered.tell_on_tape(frame, error)
        })
    }

    /// Takes the answer from the tape, or asks and writes the answer down before anyone sees it.
    fn taped<T>(&self, question: &str, ask: impl FnOnce(&Run) -> Result<T, RunError>) -> Result<T, RunError>
    where
        T: Serialize + DeserializeOwned,
    {
        let run = self.run.as_ref().ok_or(RunError::Describing)?;
        match run.told(question)? {
            Some(Ok(answer)) => return read_answer(question, answer),
            Some(Err(failure)) => return Err(run.on_tape(failure.into_error())),
            None => {}
        }
        let answer = ask(run).map_err(|error| run.note_failure(question, error))?;
        run.note(question, &Ok(write_answer(&answer)?))?;
        Ok(answer)
    }

    /// Starts calls, or says why not.
    fn start_calls(&mut self, calls: &[ToolCall]) -> Result<Vec<u32>, wit::Error> {
        let Some(run) = &mut self.run else { return Err(self.remembered.tell(RunError::Describing)) };
        run.tasks.start(calls).map_err(|error| self.remembered.tell(error))
    }
}

fn read_answer<T: DeserializeOwned>(question: &str, answer: Value) -> Result<T, RunError> {
    serde_json::from_value(answer)
        .map_err(|error| RunError::Host { message: format!("the tape's answer to `{question}` is broken: {error}") })
}

fn write_answer<T: Serialize>(answer: &T) -> Result<Value, RunError> {
    serde_json::to_value(answer).map_err(|error| RunError::Host { message: error.to_string() })
}

/// Reads JSON that a guest hands on, to a tool, to another flow or to a later call: a number that has lost digits would stand
/// for something else there.
fn read_json(pointer: &str, text: &str) -> Result<Value, RunError> {
    let mut value = rote_types::read_json(text)
        .map_err(|error| invalid(pointer, &format!("not JSON that can be sent: {error}")))?;
    // A guest may have read it as a float.
    rote_types::whole_numbers(&mut value).map_err(|error| invalid(pointer, &error.to_string()))?;
    Ok(value)
}

fn invalid(pointer: &str, message: &str) -> RunError {
    let problem = Misfit { pointer: pointer.to_owned(), message: message.to_owned() };
    RunError::InvalidInput { subject: "tool call".to_owned(), problems: vec![problem] }
}

impl wit::Host for FlowState {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_named_behind_whatever_the_flow_was_doing() {
        let (subject, message) = (SUBJECT.to_owned(), "out of memory".to_owned());
        let own = RunError::Guest { subject, kind: rote_types::ErrorKind::General, message, hint: None };
        let error = exhausted(RunError::within("cannot sync".to_owned(), own), Some(LimitHit::Memory(1 << 20)));
        assert!(matches!(error.behind(), RunError::Limit { limit: LimitKind::Memory(_), .. }), "{error}");
        assert!(error.to_string().starts_with("cannot sync: "), "{error}");
    }
}
