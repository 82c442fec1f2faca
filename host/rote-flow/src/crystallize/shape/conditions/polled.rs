//! Reads that were made again and again until a member was another one: somebody waited. A plan reads once and does not wait, so the
//! write behind them is made only where it is so at once; elsewhere the run stops before it.

use rote_plan::{Comparison, Condition, Expression, Operator, Reference};
use rote_types::{ResponseId, command};
use rote_workspace::ResponseState;
use serde_json::Value;

use super::super::super::context::Context;
use super::super::super::desk::Desk;
use super::super::super::draft::Draft;
use super::super::super::path::{Segment, at, jq_of};
use crate::FlowError;
use crate::crystallize::world::scalars;
use crate::question::{Answer, Evidence, Place, Question, QuestionId};

/// Words of the names of members that say how far something is, the likeliest first.
const STATES: [&str; 10] =
    ["status", "state", "phase", "done", "ready", "complete", "finish", "progress", "available", "pending"];

/// Reads that waited, and the write behind them.
pub(super) struct Poll {
    responses: Vec<ResponseId>,
    /// The position of the step of the last one.
    last: usize,
    /// The member that changed.
    path: Vec<Segment>,
    value: Value,
    /// The position of the step.
    write: usize,
}

/// All of them.
pub(super) fn polls(cx: &Context<'_>, draft: &Draft) -> Vec<Poll> {
    let calls = &cx.trace.calls;
    let mut found: Vec<Poll> = Vec::new();
    for (first, call) in calls.iter().enumerate().filter(|(_, call)| !call.is_write()) {
        let known = found.iter().any(|poll| poll.responses.contains(&call.response));
        if known || call.state != ResponseState::Ok || call.arguments.as_object().is_none_or(serde_json::Map::is_empty)
        {
            continue;
        }
        let until = calls[first..].iter().position(|later| later.is_write() && later.state == ResponseState::Ok);
        let Some(until) = until.map(|behind| first + behind) else { continue };
        let same = |later: &usize| calls[*later].state == ResponseState::Ok && calls[*later].call() == call.call();
        let reads: Vec<usize> = (first..until).filter(same).collect();
        let Some(last) = reads.last().filter(|_| reads.len() > 1) else { continue };
        let stays = |at: usize| draft.steps[at].out.is_none() && draft.steps[at].broken.is_none();
        let steps = (draft.step_of(*last).filter(|at| stays(*at)), draft.step_of(until).filter(|at| stays(*at)));
        let (Some(step), Some(write)) = steps else { continue };
        if let Some((path, value)) = changed(cx, call.response, calls[*last].response) {
            let responses = reads.iter().map(|read| calls[*read].response).collect();
            found.push(Poll { responses, last: step, path, value, write });
        }
    }
    found
}

/// The member by which the last answer is another one than the first.
fn changed(cx: &Context<'_>, first: ResponseId, last: ResponseId) -> Option<(Vec<Segment>, Value)> {
    let (first, last) = (cx.body(first)?, cx.body(last)?);
    let mut found: Vec<(usize, Vec<Segment>, Value)> = Vec::new();
    scalars(&last, "", &mut Vec::new(), &mut |name, path, value| {
        let name = name.to_ascii_lowercase();
        let rank = STATES.iter().position(|state| name.contains(state));
        let is_state = value.is_boolean() || value.is_string();
        if let Some(rank) = rank.filter(|_| is_state && at(&first, path) != Some(value)) {
            found.push((rank, path.to_vec(), value.clone()));
        }
    });
    found.into_iter().min_by_key(|(rank, ..)| *rank).map(|(_, path, value)| (path, value))
}

impl Poll {
    /// Whether an answer is one of those.
    pub(super) fn is_of(&self, response: ResponseId) -> bool {
        self.responses.contains(&response)
    }

    /// Asks whether a run stops where it is not so yet, and makes it so.
    pub(super) fn apply(&self, cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
        let (step, write) = (draft.steps[self.last].id.clone(), draft.steps[self.write].id.clone());
        if desk.ask(self.question(cx, &step, &write))? != "stop" {
            return Ok(());
        }
        let jq = jq_of(&self.path);
        let why = Value::from(format!("{step} has not come to `{jq}` {} yet", self.value));
        let program = format!("{jq} | if . == {} then . else error({why}) end", self.value);
        let left = Expression::From(Reference::new(step, program));
        let guard = Condition::Compare(Comparison { left, op: Operator::Exists, right: None });
        let guarded = &mut draft.steps[self.write].when;
        *guarded = Some(match guarded.take() {
            Some(known) => Condition::All(vec![guard, known]),
            None => guard,
        });
        Ok(())
    }

    fn question(&self, cx: &Context<'_>, step: &str, write: &str) -> Question {
        let id = QuestionId::When(step.to_owned());
        let (jq, value) = (jq_of(&self.path), &self.value);
        let flag = |word: &str| command("--when").assignment(step, word);
        let reads: Vec<String> = self.responses.iter().map(ResponseId::to_string).collect();
        let last = *self.responses.last().unwrap_or(&self.responses[0]);
        let evidence = |response: &ResponseId| Evidence {
            what: format!("{response} had another one, and it was read again"),
            response: Some(*response),
            jq: Some(jq.clone()),
            value: cx.body(*response).and_then(|body| at(&body, &self.path).cloned()).unwrap_or_default(),
        };
        Question {
            kind: id.kind(),
            ask: format!(
                "{} are one thing read until `{jq}` was {value}, and {write} was made then; a flow reads it once and does not wait: does a run stop where it is not {value} yet?",
                reads.join(", ")
            ),
            places: vec![Place { step: step.to_owned(), pointer: String::new() }],
            evidence: self.responses.iter().filter(|response| **response != last).take(3).map(evidence).collect(),
            answers: vec![
                Answer::new("stop", format!("the run fails before {write} where `{jq}` is not {value}"), flag("stop")),
                Answer::new("no", format!("{write} is made, whatever `{jq}` is"), flag("no")),
            ],
            taken: "stop".to_owned(),
            writes: true,
            open: true,
            id,
        }
    }
}
