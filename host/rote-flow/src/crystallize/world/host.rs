//! Running a plan in a world: each step is answered as its call was, whatever it asks for, and what it asked is kept.

use std::borrow::Cow;
use std::collections::VecDeque;

use rote_plan::{Call, Host, Pages, Place, Plan, RunError, run};
use rote_types::{QueryEngine, QueryLimits};
use serde_json::{Map, Value};

use super::super::path::{at, at_mut, path_of};
use super::change::map_scalars;
use super::model::{Exchange, World};
use crate::literals::walk_scalars;

/// What a step asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) step: String,
    /// `adapter/tool`.
    pub(crate) tool: String,
    pub(crate) writes: bool,
    pub(crate) arguments: Value,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) sent: Vec<Sent>,
    /// The result; else the step that stopped it, and why.
    pub(crate) end: Result<Value, (String, String)>,
}

impl Ran {
    /// Returns the number of writes.
    pub(crate) fn writes(&self) -> usize {
        self.sent.iter().filter(|sent| sent.writes).count()
    }
}

struct WorldHost<'a> {
    world: &'a World,
    engine: &'a dyn QueryEngine,
    sent: Vec<Sent>,
    answers: VecDeque<(u32, Cow<'a, Value>)>,
}

/// Runs the plan.
pub(crate) fn run_in(world: &World, plan: &Plan, parameters: &Map<String, Value>, engine: &dyn QueryEngine) -> Ran {
    let mut host = WorldHost { world, engine, sent: Vec::new(), answers: VecDeque::new() };
    let ran = run(plan, parameters, &mut host);
    let end = ran.map(|outcome| outcome.result).map_err(|error| (stopped(&error), error.to_string()));
    Ran { sent: host.sent, end }
}

/// The step that stopped.
fn stopped(error: &RunError<String>) -> String {
    let by = match error {
        RunError::Reference { by, .. } | RunError::Value { by, .. } | RunError::Missing { by, .. } => by,
        RunError::Step { step, .. } | RunError::Never { step, .. } => step,
        _ => "",
    };
    by.split('[').next().unwrap_or_default().to_owned()
}

/// The page behind the last one that was recorded.
fn emptied(last: &Value, pages: &Pages) -> Value {
    let mut page = last.clone();
    if let Some(items) = path_of(&pages.items).and_then(|path| at_mut(&mut page, &path)) {
        *items = Value::Array(Vec::new());
    }
    page
}

/// The answer about another thing than the recorded one: what was sent for that stands for it in the answer, too.
fn of_other(recorded: &Exchange, arguments: &Value) -> Value {
    let mut other = Vec::new();
    walk_scalars(&recorded.sent, String::new(), &mut |pointer, old| {
        let new = arguments.pointer(pointer).filter(|new| *new != old);
        other.extend(new.map(|new| (old.clone(), new.clone())));
    });
    let new = |scalar: &Value| other.iter().find(|(old, _)| old == scalar).map_or(scalar, |(_, new)| new).clone();
    map_scalars(&recorded.body, "", &|_, scalar| new(scalar))
}

/// Runs a program on a value.
pub(crate) fn ask(engine: &dyn QueryEngine, input: &Value, program: &str) -> Result<Vec<Value>, String> {
    // Most programs are a path, and the engine takes far longer than to follow one. What is not there it says itself.
    if let Some(found) = path_of(program).and_then(|path| at(input, &path)) {
        return Ok(vec![found.clone()]);
    }
    let output = engine.run(program, input.to_string().as_bytes(), &QueryLimits::default());
    let output = output.map_err(|error| error.to_string())?;
    output.values.iter().map(|text| serde_json::from_str(text).map_err(|error| error.to_string())).collect()
}

impl<'a> Host for WorldHost<'a> {
    type Response = Cow<'a, Value>;
    type Error = String;

    fn start(&mut self, place: Place<'_>, call: Call) -> Result<u32, String> {
        let recorded: Vec<_> =
            self.world.exchanges.iter().filter(|one| one.step.as_ref() == Some(&place.step.id)).collect();
        let wanted = place.item.unwrap_or(0);
        // An item of a loop is answered as the thing that it is, wherever it stands.
        let repeats = place.step.for_each.is_some();
        let same = recorded.iter().find(|one| repeats && one.sent == call.arguments);
        let exchange =
            same.or(recorded.get(wanted)).or(recorded.last()).ok_or_else(|| "was not recorded".to_owned())?;
        let body = match &place.step.pages {
            Some(pages) if wanted >= recorded.len() => Cow::Owned(emptied(&exchange.body, pages)),
            None if repeats && same.is_none() => Cow::Owned(of_other(exchange, &call.arguments)),
            _ => Cow::Borrowed(&exchange.body),
        };
        let handle = u32::try_from(self.sent.len()).map_err(|error| error.to_string())?;
        self.answers.push_back((handle, body));
        self.sent.push(Sent {
            step: place.step.id.clone(),
            tool: format!("{}/{}", call.adapter, call.tool),
            writes: exchange.writes,
            arguments: call.arguments,
        });
        Ok(handle)
    }

    fn wait_any(&mut self, tasks: &[u32]) -> Result<(usize, Result<Cow<'a, Value>, String>), String> {
        let (handle, body) = self.answers.pop_front().ok_or_else(|| "nothing was asked".to_owned())?;
        let position = tasks.iter().position(|task| *task == handle).ok_or_else(|| "it was answered".to_owned())?;
        Ok((position, Ok(body)))
    }

    fn pause(&mut self, _milliseconds: u64) -> Result<(), String> {
        Ok(())
    }

    fn query(&mut self, response: &Cow<'a, Value>, program: &str) -> Result<Vec<Value>, String> {
        ask(self.engine, response, program)
    }

    fn query_value(&mut self, value: &Value, program: &str) -> Result<Vec<Value>, String> {
        ask(self.engine, value, program)
    }
}
