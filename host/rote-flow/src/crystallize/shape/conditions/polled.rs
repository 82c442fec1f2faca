//! Reads that were made again and again until a member was another one: somebody waited. Whether a run waits, too, is asked.

mod wait;

use std::fmt;

use rote_plan::{Comparison, Condition, Expression, Operator, Reference, Until};
use rote_types::{ResponseId, command};
use rote_workspace::ResponseState;
use serde_json::Value;

use super::super::super::context::Context;
use super::super::super::desk::Desk;
use super::super::super::draft::{Draft, DraftStep};
use super::super::super::path::{Segment, at, jq_of};
use crate::FlowError;
use crate::crystallize::world::scalars;
use crate::question::{Answer, Evidence, Place, Question, QuestionId};
use wait::{WAIT, Wait};

/// Words of the names of members that say how far something is, the likeliest first.
const STATES: [&str; 10] =
    ["status", "state", "phase", "done", "ready", "complete", "finish", "progress", "available", "pending"];
/// Parts of the names of members that count to a hundred.
const PARTS: [&str; 3] = ["progress", "percent", "complete"];
/// Parts of words that say that something came to another end than it should.
const ENDS: [&str; 10] =
    ["fail", "error", "cancel", "abort", "reject", "denied", "declined", "expired", "timeout", "crash"];

/// Reads that waited, and the write behind them, if there is one.
pub(super) struct Poll {
    responses: Vec<ResponseId>,
    /// The position of the step of the last one.
    last: usize,
    /// The member that changed.
    path: Vec<Segment>,
    target: Target,
    /// What it was before, each once.
    before: Vec<Value>,
    /// The position of the step.
    write: Option<usize>,
}

/// What was waited for.
#[derive(Debug, Clone, PartialEq)]
enum Target {
    Is(Value),
    /// It was null or missing before.
    There,
}

impl Target {
    /// The condition on a value.
    fn condition(&self) -> String {
        match self {
            Self::Is(value) => format!("== {value}"),
            Self::There => "!= null".to_owned(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(value) => write!(f, "{value}"),
            Self::There => f.write_str("there"),
        }
    }
}

/// All of them.
pub(super) fn polls(cx: &Context<'_>, draft: &Draft) -> Vec<Poll> {
    let calls = &cx.trace.calls;
    let mut found: Vec<Poll> = Vec::new();
    for (first, call) in calls.iter().enumerate().filter(|(_, call)| !call.is_write()) {
        let known = found.iter().any(|poll| poll.responses.contains(&call.response));
        if known || call.state != ResponseState::Ok {
            continue;
        }
        let until = calls[first..].iter().position(|later| later.is_write() && later.state == ResponseState::Ok);
        let until = until.map_or(calls.len(), |behind| first + behind);
        let same = |later: &usize| calls[*later].state == ResponseState::Ok && calls[*later].call() == call.call();
        let reads: Vec<usize> = (first..until).filter(same).collect();
        let Some(last) = reads.last().filter(|_| reads.len() > 1) else { continue };
        let stays = |at: &usize| draft.steps[*at].out.is_none() && draft.steps[*at].broken.is_none();
        let Some(step) = draft.step_of(*last).filter(stays) else { continue };
        // Of what repeats the write may be the first one for the next thing.
        let write = draft.step_of(until).filter(stays).filter(|write| *write > step);
        let responses: Vec<ResponseId> = reads.iter().map(|read| calls[*read].response).collect();
        let Some((path, target)) = changed(cx, draft, step, &responses) else { continue };
        // A list that was read again may have been looked at again.
        let names_thing = call.arguments.as_object().is_some_and(|arguments| !arguments.is_empty());
        if !names_thing && path.iter().any(|segment| matches!(segment, Segment::Index(_))) {
            continue;
        }
        let mut before: Vec<Value> = Vec::new();
        for body in responses[..responses.len() - 1].iter().filter_map(|response| cx.body(*response)) {
            before.extend(at(&body, &path).filter(|known| !before.contains(known)).cloned());
        }
        found.push(Poll { responses, last: step, path, target, before, write });
    }
    found
}

/// Takes out the reads that waited, but for the last ones, where nothing uses their answers: what repeats for several things was made
/// once for each then.
pub(crate) fn leave_out(cx: &Context<'_>, draft: &mut Draft) {
    for poll in polls(cx, draft) {
        let Some((last, earlier)) = poll.responses.split_last() else { continue };
        let of = |response: &ResponseId| draft.step_of(cx.trace.position(*response)?);
        let mut found: Vec<usize> = earlier.iter().filter_map(of).collect();
        let shown = cx.trace.queries.last().and_then(|query| query.source_response);
        found.retain(|at| Some(draft.steps[*at].call(cx.trace).response) != shown);
        found.retain(|at| !draft.steps.iter().any(|step| step.uses().any(|used| used == draft.steps[*at].id)));
        for at in found {
            draft.steps[at].out = Some(format!("superseded by {last}"));
        }
    }
}

/// The member by which the last answer is another one than the first: one that says how far something is, else one that was not
/// there before and is used.
fn changed(cx: &Context<'_>, draft: &Draft, step: usize, responses: &[ResponseId]) -> Option<(Vec<Segment>, Target)> {
    let (first, last) = (cx.body(*responses.first()?)?, cx.body(*responses.last()?)?);
    let mut found: Vec<(usize, Vec<Segment>, Target)> = Vec::new();
    scalars(&last, "", &mut Vec::new(), &mut |name, path, value| {
        let name = name.to_ascii_lowercase();
        let old = at(&first, path).unwrap_or(&Value::Null);
        let rank = STATES.iter().position(|state| name.contains(state));
        let target = match value {
            Value::Null => None,
            _ if old == value => None,
            _ if old.is_null() => Some(Target::There),
            // A time is another one in each run.
            Value::String(text) if text.len() >= 8 && text.starts_with(|c: char| c.is_ascii_digit()) => None,
            Value::String(_) | Value::Bool(_) => Some(Target::Is(value.clone())),
            Value::Number(number) if PARTS.iter().any(|part| name.contains(part)) && number.as_f64() == Some(100.0) => {
                Some(Target::Is(value.clone()))
            }
            _ => None,
        };
        let used = || is_used(draft, &draft.steps[step].id, &jq_of(path)).then_some(STATES.len());
        let rank = rank.or_else(|| target.as_ref().filter(|target| **target == Target::There).and_then(|_| used()));
        found.extend(target.zip(rank).map(|(target, rank)| (rank, path.to_vec(), target)));
    });
    found.into_iter().min_by_key(|(rank, ..)| *rank).map(|(_, path, target)| (path, target))
}

/// Whether a step takes this of the answer of another one.
fn is_used(draft: &Draft, step: &str, jq: &str) -> bool {
    let mut references = draft
        .steps
        .iter()
        .filter(|one| one.out.is_none())
        .flat_map(DraftStep::expressions)
        .flat_map(Expression::references);
    references.any(|reference| reference.step == step && reference.jq == jq)
}

impl Poll {
    /// Whether an answer is one of those.
    pub(super) fn is_of(&self, response: ResponseId) -> bool {
        self.responses.contains(&response)
    }

    /// Asks whether a run waits, or stops where it is not so yet, and makes it so.
    pub(super) fn apply(&self, cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
        let step = draft.steps[self.last].id.clone();
        let write = self.write.map(|write| draft.steps[write].id.clone());
        let id = QuestionId::When(step.clone());
        let given = desk.given(&id, &[]);
        let wait = given.as_deref().map(|word| Wait::read(&id, word)).transpose()?.flatten();
        let said = given.as_deref().zip(wait).filter(|(word, _)| *word != WAIT);
        let taken = desk.ask(self.question(cx, &step, write.as_deref(), said))?;
        if taken.starts_with(WAIT) {
            draft.steps[self.last].until = Some(self.until(wait.unwrap_or_default()));
            self.write.map(|write| draft.steps[write].relies.insert(step));
        } else if let (Some(write), "stop") = (self.write, taken.as_str()) {
            let guarded = &mut draft.steps[write].when;
            let guard = self.guard(step);
            *guarded = Some(match guarded.take() {
                Some(known) => Condition::All(vec![guard, known]),
                None => guard,
            });
        }
        Ok(())
    }

    fn until(&self, Wait { pause, most }: Wait) -> Until {
        let jq = jq_of(&self.path);
        let ends = ENDS.join("|");
        let never = format!("{jq} | strings | test(\"{ends}\"; \"i\")");
        // What was waited on in the recording is not an end.
        let is_end = |word: &str| ENDS.iter().any(|end| word.to_lowercase().contains(end));
        let is_word = matches!(self.target, Target::Is(Value::String(_)));
        let ends_differ = is_word && !self.before.iter().filter_map(Value::as_str).any(is_end);
        let never = ends_differ.then_some(never);
        Until { jq: format!("{jq} {}", self.target.condition()), never, pause, most }
    }

    /// The condition that fails where it is not so.
    fn guard(&self, step: String) -> Condition {
        let jq = jq_of(&self.path);
        let why = Value::from(format!("{step} has not come to `{jq}` {} yet", self.target));
        let program = format!("{jq} | if . {} then . else error({why}) end", self.target.condition());
        let left = Expression::From(Reference::new(step, program));
        Condition::Compare(Comparison { left, op: Operator::Exists, right: None })
    }

    /// The question, with how long was said to be waited.
    fn question(&self, cx: &Context<'_>, step: &str, write: Option<&str>, said: Option<(&str, Wait)>) -> Question {
        let id = QuestionId::When(step.to_owned());
        let (jq, value) = (jq_of(&self.path), &self.target);
        let flag = |word: &str| command("--when").assignment(step, word);
        let reads: Vec<String> = self.responses.iter().map(ResponseId::to_string).collect();
        let last = *self.responses.last().unwrap_or(&self.responses[0]);
        let evidence = |response: &ResponseId| Evidence {
            what: format!("{response} had another one, and it was read again"),
            response: Some(*response),
            jq: Some(jq.clone()),
            value: cx.body(*response).and_then(|body| at(&body, &self.path).cloned()).unwrap_or_default(),
        };
        let waits = |wait: Wait| format!("{step} is read {}", wait.said(&format!("`{jq}` is {value}")));
        let other = format!("; `{WAIT}:10s/30m` waits 10 seconds each time, and 30 minutes at most");
        let mut answers = vec![Answer::new(WAIT, waits(Wait::default()) + &other, flag(WAIT))];
        answers.extend(said.map(|(word, wait)| Answer::new(word, waits(wait), flag(word))));
        answers.extend(write.map(|write| {
            Answer::new("stop", format!("the run fails before {write} where `{jq}` is not {value}"), flag("stop"))
        }));
        let no = write.map_or_else(|| format!("{step} is read once"), |write| format!("{write} is made"));
        answers.push(Answer::new("no", format!("{no}, whatever `{jq}` is"), flag("no")));
        let then = write.map(|write| format!(", and {write} was made then")).unwrap_or_default();
        Question {
            kind: id.kind(),
            ask: format!(
                "{} are one thing read until `{jq}` was {value}{then}: does a run wait for that?",
                reads.join(", ")
            ),
            places: vec![Place { step: step.to_owned(), pointer: String::new() }],
            evidence: self.responses.iter().filter(|response| **response != last).take(3).map(evidence).collect(),
            answers,
            taken: WAIT.to_owned(),
            writes: write.is_some(),
            open: true,
            id,
        }
    }
}
