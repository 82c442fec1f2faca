//! Runs a plan: each step as soon as everything it needs has ended, without barriers between levels.
//!
//! What is ready at the same moment starts in the order of the plan, the items of one step in the order of its
//! array, so the calls and their order follow from the plan, the parameters and the answers in the order in which
//! they arrive. How each step ends does not depend on that order either, unless a failure stops the run: then
//! nothing new starts; what is running is waited for, because its effects happen anyway and must be recorded; and
//! the first failure is reported. Only the calls of one `for_each` and the pages of one list are bounded here; all others
//! are the host's to bound. What is waited for is asked for again when nothing else is in flight, after a pause;
//! what waits for longer goes on waiting for the rest.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::condition::{holds, kind};
use crate::evaluate::evaluate;
use crate::expression::Extent;
use crate::foresight::{Ahead, Lack, foreseeable};
use crate::holes::{Holes, Memo};
use crate::progress::{Phase, Progress, State};
use crate::{MAX_ITEMS, MAX_PAGES, OnError, Outcome, Plan, RunError, RunStatus, Status, Step, StepOutcome};

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

/// Where in the plan a call stands; as text `s2`, or `s2[3]` for the fourth item.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The step.
    pub step: &'a Step,
    /// The position of the item or of the page, from 0; `None` for a step without `for_each` and `pages`, or for its
    /// failure as a whole.
    pub item: Option<usize>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.step.id)?;
        self.item.map_or(Ok(()), |item| write!(f, "[{item}]"))
    }
}

/// What makes the calls, reads the responses and is told how it goes.
pub trait Host {
    /// A received response.
    type Response;
    /// Why a call or a query failed.
    type Error;

    /// Starts a call and returns a task that can be waited for once.
    ///
    /// # Errors
    /// When the call cannot even start.
    fn start(&mut self, place: Place<'_>, call: Call) -> Result<u32, Self::Error>;

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

    /// Runs a jq program on a value and returns its outputs.
    ///
    /// # Errors
    /// When the program fails.
    fn query_value(&mut self, value: &Value, program: &str) -> Result<Vec<Value>, Self::Error>;

    /// Lets so many milliseconds pass; nothing is in flight then.
    ///
    /// # Errors
    /// When the run is not to go on.
    fn pause(&mut self, milliseconds: u64) -> Result<(), Self::Error>;

    /// Whether a failure stops the run even where the plan says to continue, such as a call that a person must
    /// confirm first.
    fn is_final(&self, _error: &Self::Error) -> bool {
        false
    }

    /// Is told that the calls of a step are about to start.
    fn started(&mut self, _step: &Step) {}

    /// Is told how a call ended, or that it could not be made, in the order in which that happens.
    fn finished(&mut self, _place: Place<'_>, _outcome: Result<&Self::Response, &RunError<Self::Error>>) {}

    /// Is told how a step ended, once for each step that started, was skipped or was blocked. The failure that
    /// stops the run is not among those of the outcome.
    fn settled(&mut self, _step: &Step, _outcome: &StepOutcome<Self::Response, Self::Error>) {}
}

/// What a run with the host `H` comes to.
pub type Ran<H> = Result<Outcome<<H as Host>::Response, <H as Host>::Error>, RunError<<H as Host>::Error>>;

/// Runs a plan that was validated.
///
/// # Errors
/// See [`RunError`]; when a failure stops the run, that failure.
pub fn run<H: Host + ?Sized>(plan: &Plan, parameters: &Map<String, Value>, host: &mut H) -> Ran<H> {
    check_parameters(plan, parameters)?;
    let (progress, ahead) = (Progress::of(plan), foreseeable(plan));
    let mut running = Running { plan, parameters, host, progress, ahead, tasks: Vec::new(), failure: None };
    loop {
        // An end, such as of a step that is skipped, may make an earlier step of the plan ready.
        while running.failure.is_none() && running.pass() {}
        if !running.tasks.is_empty() {
            running.wait()?;
        } else if !running.turn()? {
            break;
        }
    }
    // Of what was begun when the run stopped.
    for position in 0..plan.steps.len() {
        running.settle_if_done(position);
    }
    match running.failure {
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

pub(crate) struct Running<'a, H: Host + ?Sized> {
    plan: &'a Plan,
    parameters: &'a Map<String, Value>,
    host: &'a mut H,
    pub(crate) progress: Progress<'a, H::Response, H::Error>,
    /// The steps of which is known that they run, as long as something of them was not looked at.
    pub(crate) ahead: Vec<Ahead<'a>>,
    /// Tasks that were started and not yet seen to end.
    tasks: Vec<Task>,
    /// What stops the run.
    pub(crate) failure: Option<RunError<H::Error>>,
}

/// A call in flight.
struct Task {
    handle: u32,
    /// Of its step in the plan.
    position: usize,
    item: Option<usize>,
}

impl<'a, H: Host + ?Sized> Running<'a, H> {
    /// Goes once through the plan and starts what can start; whether a step ended that way.
    fn pass(&mut self) -> bool {
        let mut ended = false;
        self.foresee();
        for position in 0..self.plan.steps.len() {
            if self.failure.is_some() {
                break;
            }
            if self.progress.is_ready(position) {
                self.open(position);
            }
            while self.failure.is_none() && self.has_room(position) {
                self.start_next(position);
            }
            ended |= self.settle_if_done(position);
            if self.failure.is_some() {
                break;
            }
        }
        ended
    }

    fn has_room(&self, position: usize) -> bool {
        let State { phase, step, items, next, again, in_flight, .. } = &self.progress.states[position];
        let left = *next < items.len() || !again.is_empty();
        matches!(phase, Phase::Started) && left && *in_flight < step.concurrency()
    }

    /// Decides whether a step runs, and for which items.
    fn open(&mut self, position: usize) {
        let step = self.progress.states[position].step;
        let undecided = !self.progress.undecided(step).is_empty();
        match &step.when {
            Some(condition) if !undecided => {
                match holds(condition, &mut self.holes(&step.id, None, &mut Memo::new())) {
                    Ok(true) => {}
                    Ok(false) => return self.pass_over(position, Vec::new()),
                    Err(error) => {
                        self.begin(position, Vec::new());
                        return self.fail(position, None, error);
                    }
                }
            }
            _ => {}
        }
        let lacking = self.progress.lacking(step);
        if !lacking.is_empty() {
            return self.pass_over(position, lacking);
        }
        let foreseen = self.progress.states[position].foreseen.take();
        match foreseen.map_or_else(|| self.items(step), Ok) {
            Ok(items) => self.begin(position, items),
            Err((item, error)) => {
                self.begin(position, Vec::new());
                self.fail(position, item, error);
            }
        }
    }

    pub(crate) fn begin(&mut self, position: usize, items: Vec<Option<Value>>) {
        let state = &mut self.progress.states[position];
        state.phase = Phase::Started;
        state.items = items;
        self.host.started(state.step);
    }

    /// Ends a step that does not run, for want of `lacking` or because its condition is false.
    fn pass_over(&mut self, position: usize, lacking: Vec<&str>) {
        let was_skipped =
            |step: &str| self.progress.ended(step).is_some_and(|(_, outcome)| outcome.status == Status::Skipped);
        let blocks = lacking.iter().any(|step| !was_skipped(step));
        let mut because: Vec<String> = Vec::new();
        for step in lacking {
            if was_skipped(step) != blocks && !because.iter().any(|known| known == step) {
                because.push(step.to_owned());
            }
        }
        let state = &mut self.progress.states[position];
        state.outcome.status = if blocks { Status::Blocked } else { Status::Skipped };
        state.outcome.because = because;
        // No items: it is settled in the same pass.
        state.phase = Phase::Started;
    }

    /// Returns the items of a step, each with what its call needs of it; a single `None` when it is not run for each of something.
    pub(crate) fn items(&mut self, step: &Step) -> Result<Vec<Option<Value>>, Lack<H::Error>> {
        let Some(items) = &step.for_each else { return Ok(vec![None]) };
        let unfit = |message: String| (None, RunError::Value { by: step.id.clone(), message });
        let items = evaluate(items, &mut self.holes(&step.id, None, &mut Memo::new()).strict());
        match items.map_err(|error| (None, error))? {
            Some(Value::Array(items)) if items.len() <= MAX_ITEMS => {
                let items: Vec<_> = items.into_iter().map(Some).collect();
                self.look_at_items(step, &items)?;
                Ok(items)
            }
            Some(Value::Array(items)) => {
                Err(unfit(format!("`for_each` has {} items, at most {MAX_ITEMS} are allowed", items.len())))
            }
            Some(other) => Err(unfit(format!("`for_each` is {}, not an array", kind(&other)))),
            None => Err(unfit("`for_each` is a parameter that was not given".to_owned())),
        }
    }

    /// Starts the call of the next item.
    fn start_next(&mut self, position: usize) {
        let state = &mut self.progress.states[position];
        let index = state.again.pop().unwrap_or_else(|| {
            state.next += 1;
            state.next - 1
        });
        self.start(position, index);
    }

    /// Starts the call of an item.
    fn start(&mut self, position: usize, index: usize) {
        let state = &mut self.progress.states[position];
        let step = state.step;
        // What is waited for may be asked for again.
        let value = if step.until.is_some() { state.items[index].clone() } else { state.items[index].take() };
        let position_of = step.for_each.is_some() || step.pages.is_some();
        let item = position_of.then_some(index);
        let mut memo = std::mem::take(&mut state.memo);
        let place = Place { step, item };
        let by = place.to_string();
        let mut holes = self.holes(&by, item.zip(value.as_ref()), &mut memo).strict();
        let arguments = evaluate(&step.arguments, &mut holes);
        self.progress.states[position].memo = memo;
        let started = arguments.and_then(|arguments| {
            let mut arguments = arguments.unwrap_or_else(|| Value::Object(Map::new()));
            let argument = step.pages.as_ref().and_then(|pages| pages.argument.as_ref());
            if let (Some(argument), Some(page), Some(members)) = (argument, value, arguments.as_object_mut()) {
                members.insert(argument.clone(), page);
            }
            let call = Call { adapter: step.adapter.clone(), tool: step.tool.clone(), arguments };
            self.host.start(place, call).map_err(|source| RunError::Step { step: by.clone(), source })
        });
        match started {
            Ok(handle) => {
                self.progress.states[position].in_flight += 1;
                self.tasks.push(Task { handle, position, item });
            }
            Err(error) => self.fail(position, item, error),
        }
    }

    /// Waits for one task and takes its answer.
    fn wait(&mut self) -> Result<(), RunError<H::Error>> {
        let handles: Vec<u32> = self.tasks.iter().map(|task| task.handle).collect();
        let (index, outcome) = self.host.wait_any(&handles).map_err(|source| RunError::Host { source })?;
        if index >= self.tasks.len() {
            let message = format!("it reported task {index} of {}", self.tasks.len());
            return Err(RunError::Protocol { message });
        }
        let Task { position, item, .. } = self.tasks.remove(index);
        let state = &mut self.progress.states[position];
        state.in_flight -= 1;
        let place = Place { step: state.step, item };
        match outcome {
            Ok(response) => {
                self.host.finished(place, Ok(&response));
                match self.is_so(position, item, &response) {
                    Ok(true) => {
                        let next = self.next_page(position, &response);
                        self.progress.states[position].outcome.responses.insert(item, response);
                        if let Err(error) = next {
                            self.fail(position, None, error);
                        }
                    }
                    Ok(false) => {}
                    Err(error) => self.fail(position, item, error),
                }
            }
            Err(source) => self.fail(position, item, RunError::Step { step: place.to_string(), source }),
        }
        self.settle_if_done(position);
        Ok(())
    }

    /// Takes note of the page that an answer names, if it names one.
    fn next_page(&mut self, position: usize, response: &H::Response) -> Result<(), RunError<H::Error>> {
        let state = &mut self.progress.states[position];
        let Some(pages) = &state.step.pages else { return Ok(()) };
        let by = &state.step.id;
        let mut outputs =
            self.host.query(response, &pages.next).map_err(|source| RunError::Step { step: by.clone(), source })?;
        let unfit = |message: String| Err(RunError::Value { by: by.clone(), message });
        let said = match (outputs.pop(), outputs.len()) {
            (None | Some(Value::Null | Value::Bool(false)), 0) => return Ok(()),
            (Some(Value::String(text)), 0) if text.is_empty() => return Ok(()),
            (Some(said), 0) => said,
            (_, more) => return unfit(format!("`{}` has {} outputs, one is needed", pages.next, more + 1)),
        };
        let next = match (&pages.argument, pages.count) {
            (None, _) => {
                let why = format!("the list has another page (`{}` is {said}), and only one can be read", pages.next);
                return unfit(why);
            }
            (Some(_), Some(count)) => match count.behind(state.items.len()) {
                Some(number) => number.into(),
                None => return unfit("the number of its next page is too large".to_owned()),
            },
            (Some(_), None) => said,
        };
        if !next.is_string() && !next.is_number() {
            return unfit(format!("`{}` is {}, not a page", pages.next, kind(&next)));
        }
        if state.named.contains(&next) {
            return unfit(format!("page {next} is named twice, so its pages do not end"));
        }
        if state.items.len() >= MAX_PAGES {
            return unfit(format!("it has more than {MAX_PAGES} pages"));
        }
        state.named.push(next.clone());
        state.items.push(Some(next));
        Ok(())
    }

    /// Whether what a step waits for is so; takes note that the call is made once more where it is not.
    fn is_so(
        &mut self,
        position: usize,
        item: Option<usize>,
        response: &H::Response,
    ) -> Result<bool, RunError<H::Error>> {
        let State { step, turns, waiting, .. } = &mut self.progress.states[position];
        let Some(until) = &step.until else { return Ok(true) };
        let by = Place { step, item }.to_string();
        let mut says = |program: &str| -> Result<bool, RunError<H::Error>> {
            let outputs = self.host.query(response, program);
            let outputs = outputs.map_err(|source| RunError::Step { step: by.clone(), source })?;
            Ok(outputs.iter().any(|output| !matches!(output, Value::Null | Value::Bool(false))))
        };
        if says(&until.jq)? {
            return Ok(true);
        }
        let index = item.unwrap_or(0);
        let calls = *turns.entry(index).and_modify(|calls| *calls += 1).or_insert(1);
        let ended = until.never.as_ref().map_or(Ok(false), |never| says(never))?;
        if ended || calls >= until.most {
            let because = until.never.clone().filter(|_| ended);
            return Err(RunError::Never { step: by, jq: until.jq.clone(), calls, because });
        }
        waiting.push((index, until.pause));
        Ok(false)
    }

    /// Pauses where nothing is in flight and something is waited for, as long as the shortest wait has left, and makes the
    /// calls ready of which the pause is over; whether there are any.
    fn turn(&mut self) -> Result<bool, RunError<H::Error>> {
        let left = self.progress.states.iter().flat_map(|state| &state.waiting).map(|(_, left)| *left);
        let Some(pause) = left.min().filter(|_| self.failure.is_none()) else { return Ok(false) };
        self.host.pause(pause).map_err(|source| RunError::Host { source })?;
        for State { waiting, again, .. } in &mut self.progress.states {
            waiting.iter_mut().for_each(|(_, left)| *left -= pause);
            // The last one is made first.
            again.extend(waiting.iter().rev().filter(|(_, left)| *left == 0).map(|(index, _)| *index));
            waiting.retain(|(_, left)| *left > 0);
        }
        Ok(true)
    }

    /// Takes note of a failure: of a call, or with no item of the step.
    pub(crate) fn fail(&mut self, position: usize, item: Option<usize>, error: RunError<H::Error>) {
        let state = &mut self.progress.states[position];
        state.failed += 1;
        self.host.finished(Place { step: state.step, item }, Err(&error));
        let is_final = matches!(&error, RunError::Step { source, .. } if self.host.is_final(source));
        if is_final || state.step.on_error == OnError::Stop {
            self.failure.get_or_insert(error);
        } else {
            state.outcome.failures.insert(item, error);
        }
    }

    /// Ends a step of which nothing is left to do, and all that is begun when the run stops; whether it did.
    fn settle_if_done(&mut self, position: usize) -> bool {
        let stops = self.failure.is_some();
        let State { phase, outcome, step, items, next, waiting, again, in_flight, failed, memo, .. } =
            &mut self.progress.states[position];
        let left = *next < items.len() || !waiting.is_empty() || !again.is_empty();
        if !matches!(phase, Phase::Started) || *in_flight > 0 || (left && !stops) {
            return false;
        }
        if *failed > 0 || left {
            // Some of the pages would look like all.
            let none = outcome.responses.is_empty() || step.pages.is_some();
            outcome.status = if none { Status::Failed } else { Status::Partial };
        }
        *phase = Phase::Ended;
        *items = Vec::new();
        *memo = Memo::new();
        self.host.settled(step, outcome);
        true
    }

    /// Returns the values for an evaluation; `null` is one of them.
    pub(crate) fn holes<'b>(
        &'b mut self,
        by: &'b str,
        item: Option<(usize, &'b Value)>,
        memo: &'b mut Memo,
    ) -> Holes<'b, H> {
        let Self { plan, parameters, host, progress, .. } = self;
        Holes { plan, parameters, host: &mut **host, progress, by, item, memo, null_is_missing: false }
    }

    fn finish(mut self) -> Ran<H> {
        let plan = self.plan;
        let mut lacking = Vec::new();
        plan.result.lacking(Extent::Whole, &|step, extent| self.progress.has(step, extent), &mut lacking);
        if let Some(step) = lacking.first() {
            return Err(self.missing(step));
        }
        let result = evaluate(&plan.result, &mut self.holes("result", None, &mut Memo::new()))?;
        let mut status = RunStatus::Completed;
        let mut steps = BTreeMap::new();
        for State { step, outcome, .. } in self.progress.states {
            if !matches!(outcome.status, Status::Completed | Status::Skipped) {
                status = RunStatus::Partial;
            }
            steps.insert(step.id.clone(), outcome);
        }
        Ok(Outcome { status, result: result.unwrap_or(Value::Null), steps })
    }

    /// Says that the result needs `step`, and goes back to the failure that is behind it.
    fn missing(mut self, step: &str) -> RunError<H::Error> {
        let status = self.progress.ended(step).map_or(Status::Blocked, |(_, outcome)| outcome.status);
        let mut cause = None;
        let mut behind = Some(step.to_owned());
        while let Some(position) = behind.and_then(|step| self.progress.positions.get(step.as_str()).copied()) {
            let outcome = &mut self.progress.states[position].outcome;
            cause = outcome.failures.pop_first().map(|(_, error)| Box::new(error));
            behind = if cause.is_none() { outcome.because.first().cloned() } else { None };
        }
        RunError::Missing { by: "result".to_owned(), step: step.to_owned(), status, cause }
    }
}
