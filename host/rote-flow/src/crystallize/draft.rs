//! The draft: every usable call as a step, before it is known which of them stay. Passes change it; the plan is what is left.

use std::collections::{BTreeMap, BTreeSet};

use rote_plan::{Comparison, Condition, Expression, OnError, Pages, Parameter, Plan, Step, Until, VERSION};
use rote_types::{ResponseId, command};
use rote_workspace::ResponseState;
use serde_json::Value;

use super::along::Along;
use super::context::Context;
use super::desk::Desk;
use super::request::CrystallizeRequest;
use super::variables::Variables;
use crate::FlowError;
use crate::error::CrystallizeError;
use crate::question::Answer;
use crate::trace::{RecordedCall, Trace};

/// A step in the making.
#[derive(Debug)]
pub(crate) struct DraftStep {
    /// `s7` for the call that `@7` answered.
    pub(crate) id: String,
    /// Positions of its calls in the trace: one; all of a loop or of the pages.
    pub(crate) calls: Vec<usize>,
    /// References name other steps of the draft.
    pub(crate) arguments: Expression,
    pub(crate) for_each: Option<Expression>,
    /// What it goes through besides, side by side with the items of another loop; `for_each` stands in for that.
    pub(crate) along: Option<Along>,
    /// The items one after another.
    pub(crate) in_order: bool,
    /// How it reads a list page by page; its calls are those of the pages then.
    pub(crate) pages: Option<Pages>,
    /// What of its answer is waited for.
    pub(crate) until: Option<Until>,
    pub(crate) when: Option<Condition>,
    pub(crate) needs: Vec<String>,
    /// Steps that have succeeded before, which somebody asked: they stay, although nothing of their answers is used.
    pub(crate) relies: BTreeSet<String>,
    /// Steps that have ended before, also when they were skipped.
    pub(crate) after: Vec<String>,
    /// What stands for its answer when it is skipped.
    pub(crate) instead: Option<Instead>,
    /// Pointers of the arguments that crystallize linked.
    pub(crate) linked: BTreeSet<String>,
    /// Pointers of texts in which a parameter is a part of what an answer calls a thing, which is asked: they stay as they are.
    pub(crate) titled: BTreeSet<String>,
    /// Why it was left out.
    pub(crate) out: Option<String>,
    /// Why its arguments cannot be made. It matters as soon as the step stays.
    pub(crate) broken: Option<FlowError>,
}

fn sides<'c>(condition: &'c mut Condition, found: &mut Vec<&'c mut Expression>) {
    match condition {
        Condition::All(inner) | Condition::Any(inner) => inner.iter_mut().for_each(|one| sides(one, found)),
        Condition::Not(inner) => sides(inner, found),
        Condition::Compare(Comparison { left, right, .. }) => {
            found.push(left);
            found.extend(right);
        }
    }
}

/// A thing that was found and takes the place of one that is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instead {
    pub(crate) step: String,
    /// The program that takes it.
    pub(crate) item: String,
}

/// A plan in the making.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) steps: Vec<DraftStep>,
    pub(crate) result: Expression,
    /// The result as it was recorded, which the plan has to give.
    pub(crate) recorded: Value,
}

/// The id of the step that a response makes.
pub(crate) fn step_id(response: ResponseId) -> String {
    format!("s{}", response.0)
}

impl DraftStep {
    /// Returns every expression of the step.
    pub(crate) fn expressions(&self) -> Vec<&Expression> {
        let mut found = vec![&self.arguments];
        found.extend(self.others().into_iter().map(|(_, expression)| expression));
        found
    }

    /// Returns every expression of the step beside its arguments, with the name of its place.
    pub(crate) fn others(&self) -> Vec<(&'static str, &Expression)> {
        let mut found: Vec<(&'static str, &Expression)> = Vec::new();
        found.extend(self.for_each.iter().map(|items| ("for_each", items)));
        if let Some(condition) = &self.when {
            condition.walk(&mut |Comparison { left, right, .. }| {
                found.push(("when", left));
                found.extend(right.iter().map(|right| ("when", right)));
            });
        }
        found
    }

    /// Returns the same, in the same order, to change it.
    pub(crate) fn others_mut(&mut self) -> Vec<&mut Expression> {
        let mut found: Vec<&mut Expression> = Vec::new();
        found.extend(&mut self.for_each);
        if let Some(condition) = &mut self.when {
            sides(condition, &mut found);
        }
        found
    }

    /// Returns the steps whose answers it uses.
    pub(crate) fn uses(&self) -> impl Iterator<Item = &str> {
        let along = self.along.iter().flat_map(Along::steps);
        let named = self.expressions().into_iter().flat_map(Expression::references);
        named.map(|reference| reference.step.as_str()).chain(along)
    }

    /// Returns the first of its calls.
    pub(crate) fn call<'t>(&self, trace: &'t Trace) -> &'t RecordedCall {
        &trace.calls[self.calls[0]]
    }

    /// Returns the answer that leaves it out, where it is one call.
    pub(crate) fn skip(&self, trace: &Trace) -> Option<Answer> {
        let [call] = self.calls.as_slice() else { return None };
        let flag = command("--skip").argument(trace.calls[*call].response);
        Some(Answer::new("skip", format!("{} is not a part of the flow", self.id), flag))
    }

    /// Whether its answer is one thing: that of a call, or all pages of a list.
    pub(crate) fn is_one(&self) -> bool {
        self.for_each.is_none() && (self.calls.len() == 1 || self.pages.is_some())
    }

    /// Whether it changes something.
    pub(crate) fn is_write(&self, trace: &Trace) -> bool {
        self.calls.iter().any(|position| trace.calls[*position].is_write())
    }
}

impl Draft {
    /// Makes a step of every usable call; returns the variables that they used too.
    pub(crate) fn of_all_usable(cx: &Context<'_>, desk: &mut Desk) -> Result<(Self, Variables), FlowError> {
        let trace = cx.trace;
        refuse_nothing(trace, cx.request)?;
        refuse_in_doubt(trace, cx.request)?;
        let mut variables = Variables::default();
        let mut steps = Vec::new();
        let reasons: Vec<Option<String>> = trace.calls.iter().map(|call| unusable(call, cx.request)).collect();
        for (position, call) in trace.calls.iter().enumerate() {
            match &reasons[position] {
                Some(reason) => desk.leave_out(call, reason.clone()),
                None => steps.push(step(cx, position, &reasons, &mut variables)),
            }
        }
        if steps.is_empty() {
            return Err(nothing(cx.request, "none of its calls succeeded"));
        }
        Ok((Self { steps, result: Expression::Literal(Value::Null), recorded: Value::Null }, variables))
    }

    /// Returns the position of the step that a call became part of.
    pub(crate) fn step_of(&self, call: usize) -> Option<usize> {
        self.steps.iter().position(|step| step.calls.contains(&call))
    }

    /// Returns the finished plan.
    pub(crate) fn plan(&self, trace: &Trace, parameters: BTreeMap<String, Parameter>) -> Plan {
        let step = |step: &DraftStep| {
            let call = step.call(trace);
            Step {
                id: step.id.clone(),
                adapter: call.adapter.to_string(),
                tool: call.tool.clone(),
                arguments: step.arguments.clone(),
                needs: step.needs.clone(),
                after: step.after.clone(),
                when: step.when.clone(),
                for_each: self.items(step),
                max_concurrency: (step.for_each.is_some() && step.in_order).then_some(1),
                pages: step.pages.clone(),
                until: step.until.clone(),
                on_error: OnError::Stop,
            }
        };
        Plan { version: VERSION, parameters, steps: self.steps.iter().map(step).collect(), result: self.result.clone() }
    }

    /// What a step goes through.
    fn items(&self, step: &DraftStep) -> Option<Expression> {
        let base = step.along.as_ref().and_then(|along| self.steps.iter().find(|one| one.id == along.base));
        match (&step.along, base.and_then(|base| base.for_each.as_ref())) {
            (Some(along), Some(Expression::From(items))) => Some(along.items(items)),
            _ => step.for_each.clone(),
        }
    }

    /// Returns the calls that became steps, in the order of the log.
    pub(crate) fn calls<'t>(&self, trace: &'t Trace) -> Vec<&'t RecordedCall> {
        let mut positions: Vec<usize> = self.steps.iter().flat_map(|step| step.calls.iter().copied()).collect();
        positions.sort_unstable();
        positions.into_iter().map(|position| &trace.calls[position]).collect()
    }

    /// Describes the flow by what it calls.
    pub(crate) fn description(&self, trace: &Trace) -> String {
        let mut tools: Vec<String> = Vec::new();
        for step in &self.steps {
            let call = step.call(trace);
            let name = format!("{}/{}", call.adapter, call.tool);
            if tools.last() != Some(&name) {
                tools.push(name);
            }
        }
        let more = tools.len().saturating_sub(8);
        tools.truncate(8);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("Calls {}{rest}", tools.join(", then "))
    }
}

fn step(cx: &Context<'_>, position: usize, reasons: &[Option<String>], variables: &mut Variables) -> DraftStep {
    let call = &cx.trace.calls[position];
    let (arguments, broken) = match arguments(cx, call, reasons, variables) {
        Ok(arguments) => (arguments, None),
        Err(error) => (Expression::Literal(call.arguments.clone()), Some(error)),
    };
    DraftStep {
        id: step_id(call.response),
        calls: vec![position],
        arguments,
        for_each: None,
        along: None,
        in_order: false,
        pages: None,
        until: None,
        when: None,
        needs: Vec::new(),
        relies: BTreeSet::new(),
        after: Vec::new(),
        instead: None,
        linked: BTreeSet::new(),
        titled: BTreeSet::new(),
        out: None,
        broken,
    }
}

fn arguments(
    cx: &Context<'_>,
    call: &RecordedCall,
    reasons: &[Option<String>],
    variables: &mut Variables,
) -> Result<Expression, FlowError> {
    for source in call.uses.iter().filter_map(|one| one.source_response) {
        // A document that was injected is not a call: its values become literals or parameters.
        if let Some(reason) = cx.trace.position(source).and_then(|position| reasons[position].as_ref()) {
            return Err(unusable_source(call, source, reason));
        }
    }
    cx.arguments(call, &|response| cx.trace.position(response).map(|_| step_id(response)), variables)
}

pub(crate) fn unusable_source(call: &RecordedCall, response: ResponseId, reason: &str) -> FlowError {
    FlowError::Crystallize(CrystallizeError::UnusableResponse { by: call.name(), response, reason: reason.to_owned() })
}

fn nothing(request: &CrystallizeRequest, reason: &str) -> FlowError {
    FlowError::Crystallize(CrystallizeError::NothingToCrystallize {
        workspace: request.workspace.clone(),
        reason: reason.to_owned(),
    })
}

fn refuse_nothing(trace: &Trace, request: &CrystallizeRequest) -> Result<(), FlowError> {
    if trace.calls.is_empty() {
        return Err(nothing(request, "it has no calls"));
    }
    match request.skip.iter().find(|id| trace.position(**id).is_none()) {
        Some(unknown) => Err(FlowError::Usage { message: format!("`{unknown}` cannot be skipped: no call made it") }),
        None => Ok(()),
    }
}

/// A write that may or may not have happened has no place in a flow, and neither has anything after it.
fn refuse_in_doubt(trace: &Trace, request: &CrystallizeRequest) -> Result<(), FlowError> {
    let in_doubt =
        |call: &&RecordedCall| call.state == ResponseState::InDoubt && !request.skip.contains(&call.response);
    match trace.calls.iter().find(in_doubt) {
        None => Ok(()),
        Some(call) => Err(FlowError::Crystallize(CrystallizeError::InDoubt {
            workspace: request.workspace.clone(),
            response: call.response,
            adapter: call.adapter.clone(),
            tool: call.tool.clone(),
        })),
    }
}

/// Why a call cannot be a step by itself.
fn unusable(call: &RecordedCall, request: &CrystallizeRequest) -> Option<String> {
    if request.skip.contains(&call.response) {
        return Some("skipped as asked".to_owned());
    }
    if call.arguments.is_null() {
        return Some("its arguments are lost".to_owned());
    }
    match call.state {
        ResponseState::Ok => None,
        ResponseState::Error => {
            let why = call.error.clone().or_else(|| call.status.map(|status| status.to_string()));
            Some(format!("failed: {}", why.unwrap_or_else(|| "no answer".to_owned())))
        }
        ResponseState::Cleared => Some("was cleared".to_owned()),
        _ => Some("has no recorded outcome".to_owned()),
    }
}
