//! Runs a plan: each step as soon as everything it needs is done, without barriers between levels.
//!
//! Steps that are ready at the same moment start in the order of the plan. After the first failure nothing new
//! starts; what is running is waited for, because its effects happen anyway and must be recorded; then the
//! first failure is reported. Limits on concurrency are the host's.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::evaluate::{Values, evaluate};
use crate::{Plan, Reference, RunError, Step};

/// One call, ready to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The adapter.
    pub adapter: String,
    /// The tool.
    pub tool: String,
    /// The arguments, an object without holes.
    pub arguments: Value,
}

/// What makes the calls and reads the responses.
pub trait Host {
    /// A received response.
    type Response: Clone;
    /// Why a call or a query failed.
    type Error;

    /// Starts a call and returns a task that can be waited for once.
    ///
    /// # Errors
    /// When the call cannot even start.
    fn start(&mut self, step: &Step, call: Call) -> Result<u32, Self::Error>;

    /// Waits until one of `tasks` is done; returns its position in `tasks` and how it ended.
    ///
    /// # Errors
    /// When waiting itself failed; the run ends at once.
    #[expect(clippy::type_complexity, reason = "the two results mean different things: waiting and the call")]
    fn wait_any(&mut self, tasks: &[u32]) -> Result<(usize, Result<Self::Response, Self::Error>), Self::Error>;

    /// Runs a jq program on a response and returns its outputs.
    ///
    /// # Errors
    /// When the program fails.
    fn query(&mut self, response: &Self::Response, program: &str) -> Result<Vec<Value>, Self::Error>;

    /// Is told how a step ended, in the order in which steps end.
    fn finished(&mut self, _step: &Step, _outcome: Result<&Self::Response, &Self::Error>) {}
}

/// How a run ended well.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<R> {
    /// The value of the plan's result.
    pub result: Value,
    /// The response of each step, by step id.
    pub responses: BTreeMap<String, R>,
}

/// Runs a plan that was validated.
///
/// # Errors
/// See [`RunError`]; when a step fails, the first failure.
pub fn run<H: Host + ?Sized>(
    plan: &Plan,
    parameters: &Map<String, Value>,
    host: &mut H,
) -> Result<Outcome<H::Response>, RunError<H::Error>> {
    check_parameters(plan, parameters)?;
    let mut running = Running { plan, parameters, host, responses: BTreeMap::new(), tasks: Vec::new() };
    let mut started = vec![false; plan.steps.len()];
    let mut failure = None;
    loop {
        if failure.is_none() {
            failure = running.start_ready(&mut started).err();
        }
        if running.tasks.is_empty() {
            break;
        }
        if let Some(error) = running.wait()? {
            failure.get_or_insert(error);
        }
    }
    match failure {
        Some(error) => Err(error),
        None => running.finish(),
    }
}

/// The parameters must be those of the plan: all required ones and no others.
fn check_parameters<E>(plan: &Plan, given: &Map<String, Value>) -> Result<(), RunError<E>> {
    let missing: Vec<String> = plan
        .parameters
        .iter()
        .filter(|(name, parameter)| parameter.required && parameter.default.is_none() && !given.contains_key(*name))
        .map(|(name, _)| name.clone())
        .collect();
    let unknown: Vec<String> = given.keys().filter(|name| !plan.parameters.contains_key(*name)).cloned().collect();
    if missing.is_empty() && unknown.is_empty() { Ok(()) } else { Err(RunError::Parameters { missing, unknown }) }
}

struct Running<'a, H: Host + ?Sized> {
    plan: &'a Plan,
    parameters: &'a Map<String, Value>,
    host: &'a mut H,
    responses: BTreeMap<String, H::Response>,
    /// Tasks that were started and not yet seen to end, each with the position of its step.
    tasks: Vec<(u32, usize)>,
}

impl<H: Host + ?Sized> Running<'_, H> {
    /// Starts every step whose needs are met and that has not started.
    fn start_ready(&mut self, started: &mut [bool]) -> Result<(), RunError<H::Error>> {
        let plan = self.plan;
        for (position, step) in plan.steps.iter().enumerate() {
            let ready = || step.all_needs().iter().all(|need| self.responses.contains_key(*need));
            if started[position] || !ready() {
                continue;
            }
            started[position] = true;
            let arguments =
                evaluate(&step.arguments, &mut Holes { running: self, by: &step.id, null_is_missing: true })?;
            let call = Call {
                adapter: step.adapter.clone(),
                tool: step.tool.clone(),
                arguments: arguments.unwrap_or_else(|| Value::Object(Map::new())),
            };
            match self.host.start(step, call) {
                Ok(task) => self.tasks.push((task, position)),
                Err(source) => {
                    self.host.finished(step, Err(&source));
                    return Err(RunError::Step { step: step.id.clone(), source });
                }
            }
        }
        Ok(())
    }

    /// Waits for one task; returns the failure of its step, if it failed.
    fn wait(&mut self) -> Result<Option<RunError<H::Error>>, RunError<H::Error>> {
        let tasks: Vec<u32> = self.tasks.iter().map(|(task, _)| *task).collect();
        let (index, outcome) = self.host.wait_any(&tasks).map_err(|source| RunError::Host { source })?;
        if index >= self.tasks.len() {
            let message = format!("it reported task {index} of {}", self.tasks.len());
            return Err(RunError::Protocol { message });
        }
        let (_, position) = self.tasks.remove(index);
        let plan = self.plan;
        let step = &plan.steps[position];
        self.host.finished(step, outcome.as_ref());
        match outcome {
            Ok(response) => {
                self.responses.insert(step.id.clone(), response);
                Ok(None)
            }
            Err(source) => Ok(Some(RunError::Step { step: step.id.clone(), source })),
        }
    }

    fn finish(mut self) -> Result<Outcome<H::Response>, RunError<H::Error>> {
        let plan = self.plan;
        let mut holes = Holes { running: &mut self, by: "result", null_is_missing: false };
        let result = evaluate(&plan.result, &mut holes)?.unwrap_or(Value::Null);
        Ok(Outcome { result, responses: self.responses })
    }
}

/// The values of holes during a run.
struct Holes<'a, 'b, H: Host + ?Sized> {
    running: &'a mut Running<'b, H>,
    by: &'a str,
    /// A request must not carry `null` where the recorded one had a value; a result may.
    null_is_missing: bool,
}

impl<H: Host + ?Sized> Holes<'_, '_, H> {
    fn missing(&self, message: String) -> RunError<H::Error> {
        RunError::Reference { by: self.by.to_owned(), message }
    }
}

impl<H: Host + ?Sized> Values for Holes<'_, '_, H> {
    type Error = RunError<H::Error>;

    fn parameter(&mut self, name: &str) -> Result<Option<Value>, Self::Error> {
        let default = self.running.plan.parameters.get(name).and_then(|parameter| parameter.default.clone());
        Ok(self.running.parameters.get(name).cloned().or(default))
    }

    fn reference(&mut self, reference: &Reference) -> Result<Value, Self::Error> {
        let Reference { step, jq, each } = reference;
        let response = self.running.responses.get(step).cloned();
        let response = response.ok_or_else(|| self.missing(format!("step `{step}` has no response")))?;
        let mut outputs = self
            .running
            .host
            .query(&response, jq)
            .map_err(|source| RunError::Step { step: self.by.to_owned(), source })?;
        if *each {
            return Ok(Value::Array(outputs));
        }
        match (outputs.pop(), outputs.len()) {
            (Some(Value::Null), 0) if self.null_is_missing => {
                Err(self.missing(format!("`{jq}` of step `{step}` is null")))
            }
            (Some(value), 0) => Ok(value),
            (None, _) => Err(self.missing(format!("`{jq}` of step `{step}` has no output"))),
            (Some(_), more) => {
                Err(self.missing(format!("`{jq}` of step `{step}` has {} outputs, one is needed", more + 1)))
            }
        }
    }

    fn absent(&mut self, name: &str) -> Self::Error {
        self.missing(format!("parameter `{name}` was not given"))
    }
}
