//! The fake host.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::jq;
use super::script::Script;
use super::state::{Answer, Background, Call, State, Subject, invalid};
use crate::__private::Entry;
use crate::host::{Host, HostHandle, Level, StepState, ToolCall};
use crate::{Cause, Credential, Error, Response, Result, Rote, ToolMatch};

/// 2026-01-01T00:00:00Z, in milliseconds since 1970.
const STARTED_AT: u64 = 1_767_225_600_000;
/// The longest name of a file, in bytes, and the most random bytes of one call: those of the host.
const NAME_BYTES: usize = 100;
const RANDOM_BYTES: u32 = 65_536;

/// A host whose answers are written down by the test, and which remembers what the flow did. Clones are one host.
///
/// Until told otherwise it is 2026-01-01T00:00:00Z, no time passes, randomness starts from a fixed seed, and every
/// adapter is installed as its pin says.
#[derive(Debug, Clone)]
pub struct FakeHost {
    state: Arc<Mutex<State>>,
}

impl Default for FakeHost {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeHost {
    /// Makes a host without answers.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State { started_at: STARTED_AT, ..State::default() })) }
    }

    /// Returns what a flow takes as its first argument.
    #[must_use]
    pub fn rote(&self) -> Rote {
        Rote { host: self.handle() }
    }

    /// Runs a flow as the host would: parameters and result pass through JSON, and [`Output::result`] comes before
    /// what the function returns.
    ///
    /// # Errors
    /// [`Cause::InvalidInput`](crate::Cause::InvalidInput) when the parameters do not fit, else what the flow returns.
    ///
    /// [`Output::result`]: crate::Output::result
    #[expect(clippy::needless_pass_by_value, reason = "tests pass `json!` values and function names")]
    pub fn run<Signature>(&self, flow: impl Entry<Signature>, parameters: Value) -> Result<Value> {
        let returned = flow.enter(&self.rote(), &parameters.to_string())?;
        match self.result() {
            Some(result) => Ok(result),
            None => Ok(serde_json::from_str(&returned)?),
        }
    }

    /// Starts writing down the answers of a tool.
    pub fn on(&self, adapter: &str, tool: &str) -> Script {
        Script::new(self.clone(), Subject::Tool { adapter: adapter.to_owned(), tool: tool.to_owned() })
    }

    /// Starts writing down the results of another flow.
    pub fn on_flow(&self, name: &str) -> Script {
        Script::new(self.clone(), Subject::Flow { name: name.to_owned() })
    }

    /// Sets what is pinned and what is installed of an adapter.
    pub fn set_fingerprints(&self, adapter: &str, expected: Option<&str>, installed: Option<&str>) {
        let mut state = self.state();
        let status = state.status_mut(adapter);
        status.expected = expected.map(str::to_owned);
        status.installed = installed.map(str::to_owned);
        status.matches = expected.is_none() || expected == installed;
    }

    /// Sets whether a credential of an adapter is there.
    pub fn set_credential(&self, adapter: &str, slot: &str, present: bool) {
        let mut state = self.state();
        let credentials = &mut state.status_mut(adapter).credentials;
        credentials.retain(|credential| credential.slot != slot);
        credentials.push(Credential { slot: slot.to_owned(), present });
    }

    /// Adds a tool to what [`Adapter::probe`](crate::Adapter::probe) finds, which is all tools in the order in which
    /// they were added.
    pub fn add_tool(&self, adapter: &str, tool: &str, description: &str) {
        let mut state = self.state();
        let tools = state.tools.entry(adapter.to_owned()).or_default();
        tools.push(ToolMatch {
            tool: tool.to_owned(),
            description: description.to_owned(),
            method: "GET".to_owned(),
            score: 1.0,
            input_schema: serde_json::json!({ "type": "object" }),
        });
    }

    /// Sets a variable.
    pub fn set_var(&self, name: &str, value: Value) {
        self.state().variables.insert(name.to_owned(), value);
    }

    /// Writes a file.
    pub fn set_file(&self, name: &str, content: impl Into<Vec<u8>>) {
        self.state().files.insert(name.to_owned(), content.into());
    }

    /// Sets when the run began; a time before 1970 counts as 1970.
    pub fn set_started_at(&self, time: SystemTime) {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.state().started_at = milliseconds(since);
    }

    /// Lets time pass.
    pub fn advance(&self, time: Duration) {
        self.state().elapsed += milliseconds(time);
    }

    /// Returns how long the flow waited, which took no time.
    #[must_use]
    pub fn slept(&self) -> Duration {
        Duration::from_millis(self.state().slept)
    }

    /// Sets where randomness starts.
    pub fn set_seed(&self, seed: u64) {
        self.state().randomness = seed;
    }

    /// Returns the calls of tools, in the order of their starts.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// Returns the runs of other flows: names and parameters.
    #[must_use]
    pub fn flow_runs(&self) -> Vec<(String, Value)> {
        self.state().flow_runs.clone()
    }

    /// Returns a variable.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<Value> {
        self.state().variables.get(name).cloned()
    }

    /// Returns the content of a file.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.state().files.get(name).cloned()
    }

    /// Returns the lines for a person.
    #[must_use]
    pub fn human(&self) -> Vec<String> {
        self.state().human.clone()
    }

    /// Returns the lines for a log or a chat.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        self.state().summary.clone()
    }

    /// Returns what was given to [`Output::result`](crate::Output::result).
    #[must_use]
    pub fn result(&self) -> Option<Value> {
        self.state().result.clone()
    }

    /// Returns the log: levels (`debug`, `info`, `warn`, `error`) and lines.
    #[must_use]
    pub fn log(&self) -> Vec<(String, String)> {
        self.state().log.clone()
    }

    /// Returns what was shown of steps: labels and states (`running`, `done`, `failed`, `skipped`).
    #[must_use]
    pub fn steps(&self) -> Vec<(String, String)> {
        self.state().steps.clone()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self) -> HostHandle {
        HostHandle::new(self.clone())
    }
}

impl Host for FakeHost {
    fn call(&self, call: ToolCall) -> Result<Response> {
        self.state().call(&self.handle(), call)
    }

    fn batch(&self, calls: Vec<ToolCall>) -> Vec<Result<Response>> {
        calls.into_iter().map(|call| self.call(call)).collect()
    }

    fn start(&self, call: ToolCall) -> Result<u32> {
        let mut state = self.state();
        let position = state.calls.len();
        let outcome = state.call(&self.handle(), call);
        if state.calls.len() == position {
            // It was not a call at all.
            return Err(outcome.err().unwrap_or_else(|| invalid("", "not a call")));
        }
        let task = number(state.background.len())?;
        state.background.push(Background { call: position, outcome: Some(outcome) });
        Ok(task)
    }

    fn probe(&self, adapter: &str, _intent: &str, limit: u32) -> Result<Vec<String>> {
        let state = self.state();
        let tools = state.tools.get(adapter).map(Vec::as_slice).unwrap_or_default();
        let limit = usize::try_from(limit.min(50)).unwrap_or(50);
        tools.iter().take(limit).map(|tool| Ok(serde_json::to_string(tool)?)).collect()
    }

    fn status(&self, adapter: &str) -> Result<String> {
        Ok(serde_json::to_string(self.state().status_mut(adapter))?)
    }

    fn wait_any(&self, tasks: &[u32]) -> Result<(u32, Result<Response>)> {
        let mut state = self.state();
        let is_open = |task: &u32| state.background.get(*task as usize).is_some_and(|task| task.outcome.is_some());
        let first = tasks.first().copied().filter(|_| tasks.iter().all(is_open));
        let outcome = first.and_then(|task| state.background.get_mut(task as usize)?.outcome.take());
        outcome.map(|outcome| (0, outcome)).ok_or_else(not_open)
    }

    fn cancel(&self, task: u32) -> Result<()> {
        let mut state = self.state();
        let Some(task) = state.background.get_mut(task as usize).filter(|task| task.outcome.is_some()) else {
            return Err(not_open());
        };
        task.outcome = None;
        let position = task.call;
        if let Some(call) = state.calls.get_mut(position) {
            call.is_cancelled = true;
        }
        Ok(())
    }

    fn progress(&self, label: &str, state: StepState) {
        let state = match state {
            StepState::Running => "running",
            StepState::Done => "done",
            StepState::Failed => "failed",
            StepState::Skipped => "skipped",
        };
        self.state().steps.push((label.to_owned(), state.to_owned()));
    }

    fn run_flow(&self, name: &str, parameters: &str) -> Result<String> {
        let parameters: Value = serde_json::from_str(parameters)?;
        let mut state = self.state();
        let answer = state.answer(&Subject::Flow { name: name.to_owned() }, &parameters);
        state.flow_runs.push((name.to_owned(), parameters));
        match answer? {
            Answer::Body { body, .. } => Ok(body.to_string()),
            Answer::Failure(error) => Err(error),
        }
    }

    fn variable(&self, name: &str) -> Result<Option<String>> {
        Ok(self.state().variables.get(name).map(Value::to_string))
    }

    fn set_variable(&self, name: &str, value: &str) -> Result<()> {
        self.set_var(name, serde_json::from_str(value)?);
        Ok(())
    }

    fn variable_names(&self) -> Result<Vec<String>> {
        Ok(self.state().variables.keys().cloned().collect())
    }

    fn write_file(&self, name: &str, content: &[u8]) -> Result<()> {
        if name.is_empty() || name.len() > NAME_BYTES || name.contains(['/', '\\']) || name.starts_with('.') {
            return Err(invalid("", &format!("`{name}` is not a name of a file")));
        }
        self.set_file(name, content);
        Ok(())
    }

    fn read_file(&self, name: &str) -> Result<Vec<u8>> {
        self.file(name).ok_or_else(|| Error::not_found(format!("there is no file `{name}`")))
    }

    fn files(&self) -> Result<Vec<(String, u64)>> {
        Ok(self.state().files.iter().map(|(name, content)| (name.clone(), content.len() as u64)).collect())
    }

    fn now(&self) -> u64 {
        let state = self.state();
        state.started_at.saturating_add(state.elapsed)
    }

    fn elapsed(&self) -> u64 {
        self.state().elapsed
    }

    fn sleep(&self, milliseconds: u64) {
        let mut state = self.state();
        state.slept = state.slept.saturating_add(milliseconds);
        state.elapsed = state.elapsed.saturating_add(milliseconds);
    }

    fn random(&self, len: u32) -> Vec<u8> {
        let mut state = self.state();
        (0..len.min(RANDOM_BYTES)).map(|_| state.random_byte()).collect()
    }

    fn query_response(&self, id: u64, program: &str) -> Result<Vec<String>> {
        let body = usize::try_from(id).ok().and_then(|id| self.state().bodies.get(id.checked_sub(1)?).cloned());
        match body.flatten() {
            Some(body) => jq::run(program, &body.to_string()),
            None => Err(Error::not_found(format!("there is no response @{id}"))),
        }
    }

    fn query_value(&self, input: &str, program: &str) -> Result<Vec<String>> {
        jq::run(program, input)
    }

    fn human(&self, text: &str) {
        self.state().human.push(text.to_owned());
    }

    fn summary(&self, text: &str) {
        self.state().summary.push(text.to_owned());
    }

    fn result(&self, value: &str) -> Result<()> {
        let mut state = self.state();
        if state.result.is_some() {
            return Err(invalid("", "the result was given before"));
        }
        state.result = Some(serde_json::from_str(value)?);
        Ok(())
    }

    fn log(&self, level: Level, message: &str) {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.state().log.push((level.to_owned(), message.to_owned()));
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn number(position: usize) -> Result<u32> {
    u32::try_from(position).map_err(|_| Cause::Limit("too many tasks".to_owned()).into())
}

fn not_open() -> Error {
    invalid("", "no task, or one that was never started or is waited for")
}
