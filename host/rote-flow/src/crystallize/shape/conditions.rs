//! Conditions: what was asked of an answer right before a write decides whether the write is made.
//!
//! The reading is that of the recording: what held there has to hold, what did not must not. Was a list asked that is empty, and
//! something made then, the first of the list stands for what was made when there is one ("found, else made").

use rote_plan::{Comparison, Condition, Expression, Operator, Reference};
use rote_workspace::Ask;
use serde_json::Value;

use super::super::context::Context;
use super::super::desk::{Answer, Desk, Question, QuestionKind};
use super::super::draft::{Draft, Instead};
use super::super::occurrences::{at, jq_of, path_of};
use super::super::report::Place;
use super::replace_references;
use crate::FlowError;

/// An ask, as a condition of a plan.
struct Reading {
    condition: Condition,
    says: String,
    /// The step and the list that was found empty.
    empty: Option<(String, String)>,
}

/// Makes conditions of asks.
pub(crate) fn apply(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    for position in 0..draft.steps.len() {
        let step = &draft.steps[position];
        let plain = step.out.is_none() && step.broken.is_none() && step.for_each.is_none();
        if !plain || !step.is_write(cx.trace) {
            continue;
        }
        let mut readings = readings(cx, draft, position);
        let id = step.id.clone();
        if readings.is_empty() || desk.given(&format!("when:{id}")).is_some_and(|given| given == "no") {
            continue;
        }
        let says: Vec<&str> = readings.iter().map(|reading| reading.says.as_str()).collect();
        desk.note(Some(&id), format!("{id} only when {}", says.join(" and ")), Some(format!("--when {id}=no")));
        let empty = readings.iter().find_map(|reading| reading.empty.clone());
        let condition = match readings.len() {
            1 => readings.remove(0).condition,
            _ => Condition::All(readings.into_iter().map(|reading| reading.condition).collect()),
        };
        draft.steps[position].when = Some(condition);
        if let Some((found, list)) = empty {
            found_else_made(cx, draft, position, &found, &list, desk)?;
        }
    }
    Ok(())
}

/// Gives the result a value where the step that it comes from may be skipped.
pub(crate) fn of_result(draft: &mut Draft) {
    let mut result = std::mem::replace(&mut draft.result, Expression::Literal(Value::Null));
    replace_references(&mut result, &mut |reference| {
        let step = draft.steps.iter().find(|step| step.id == reference.step && step.when.is_some())?;
        let instead = step.instead.as_ref().and_then(|instead| instead.of(reference));
        let instead = instead.map_or(Expression::Literal(Value::Null), Expression::From);
        Some(Expression::Default(Box::new(Expression::From(reference.clone())), Box::new(instead)))
    });
    draft.result = result;
}

/// The asks right before the call of a step.
fn readings(cx: &Context<'_>, draft: &Draft, position: usize) -> Vec<Reading> {
    let call = draft.steps[position].calls[0];
    let from = call.checked_sub(1).map_or(0, |before| cx.trace.calls[before].command);
    let until = cx.trace.calls[call].command;
    let asks = cx.trace.asks.iter().filter(|(command, _)| *command > from && *command < until);
    asks.filter_map(|(_, ask)| {
        let source = cx.trace.position(ask.response).and_then(|call| draft.step_of(call)).map(|at| &draft.steps[at])?;
        let plain = source.out.is_none() && source.broken.is_none() && source.for_each.is_none();
        // What is not there stops a write that reads it, and that is what the look was for.
        let some = matches!((ask.condition.as_str(), ask.held), ("exists", true) | ("is-empty", false));
        let reads = some && draft.steps[position].uses().any(|used| used == source.id);
        (plain && !reads && source.calls.len() == 1).then(|| reading(cx, &source.id, ask)).flatten()
    })
    .collect()
}

/// One ask as a condition, provided that it holds of the recorded answer.
fn reading(cx: &Context<'_>, step: &str, ask: &Ask) -> Option<Reading> {
    let [program] = ask.programs.as_slice() else { return None };
    if cx.names_variables(program) {
        return None;
    }
    let from = |jq: String| Expression::From(Reference::new(step.to_owned(), jq));
    let compare = |jq: String, op: Operator, right: Value| {
        Condition::Compare(Comparison { left: from(jq), op, right: Some(Expression::Literal(right)) })
    };
    let counted = |jq: String, some: bool| {
        let outputs = cx.outputs(ask.response, &jq).ok()?;
        let [Value::Number(count)] = outputs.as_slice() else { return None };
        let op = if some { Operator::Gt } else { Operator::Eq };
        ((count.as_u64()? > 0) == some).then(|| compare(jq, op, 0.into()))
    };
    let not = |held: bool| if held { "" } else { " not" };
    let (condition, says, empty) = match ask.condition.as_str() {
        "is-empty" => {
            let outputs = cx.outputs(ask.response, program).ok()?;
            let [Value::Array(_)] = outputs.as_slice() else { return None };
            let plain = path_of(program).is_some();
            let jq = if plain { format!("{program} | length") } else { format!("({program}) | length") };
            let empty = (ask.held && plain).then(|| (step.to_owned(), program.clone()));
            (counted(jq, !ask.held)?, format!("`{program}` of {step} is{} empty", not(ask.held)), empty)
        }
        "exists" => {
            let jq = format!("[{program} | select(. != null)] | length");
            (counted(jq, ask.held)?, format!("`{program}` of {step} does{} exist", not(ask.held)), None)
        }
        "expect" => {
            let jq = format!("[{program}] | length > 0 and all");
            let right = cx.outputs(ask.response, &jq).is_ok_and(|outputs| *outputs == [Value::from(ask.held)]);
            let says = format!("`{program}` of {step} is{} true", not(ask.held));
            (right.then(|| compare(jq, Operator::Eq, ask.held.into()))?, says, None)
        }
        "compare" => {
            let wanted = ask.wanted.as_deref()?;
            let outputs = cx.outputs(ask.response, program).ok()?;
            let [value] = outputs.as_slice() else { return None };
            let (op, right) = comparison(ask, value, wanted)?;
            (compare(program.clone(), op, right), format!("`{program}` of {step} is {} {wanted}", op.name()), None)
        }
        _ => return None,
    };
    Some(Reading { condition, says, empty })
}

/// The operator that holds of the recorded value, and the right side.
fn comparison(ask: &Ask, value: &Value, wanted: &str) -> Option<(Operator, Value)> {
    let right = match value {
        Value::String(_) => Value::from(wanted),
        _ => serde_json::from_str(wanted).ok()?,
    };
    let number = || Some((value.as_f64()?, right.as_f64()?));
    let (op, holds) = match (ask.comparison.as_deref()?, ask.held) {
        ("eq", true) => (Operator::Eq, *value == right),
        ("eq", false) => (Operator::Ne, *value != right),
        ("gt", true) => (Operator::Gt, number().is_some_and(|(left, right)| left > right)),
        ("gt", false) => (Operator::Le, number().is_some_and(|(left, right)| left <= right)),
        ("lt", true) => (Operator::Lt, number().is_some_and(|(left, right)| left < right)),
        ("lt", false) => (Operator::Ge, number().is_some_and(|(left, right)| left >= right)),
        _ => return None,
    };
    holds.then_some((op, right))
}

/// Lets the first thing of a list stand for what is made when the list is empty, where both were asked for with the same value.
fn found_else_made(
    cx: &Context<'_>,
    draft: &mut Draft,
    made: usize,
    found: &str,
    list: &str,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let Some(search) = draft.steps.iter().position(|step| step.id == found) else { return Ok(()) };
    let calls = [search, made].map(|at| &cx.trace.calls[draft.steps[at].calls[0]]);
    let values =
        calls.map(|call| call.arguments.as_object().into_iter().flatten().map(|(_, value)| value).collect::<Vec<_>>());
    if !values[0].iter().any(|value| value.is_string() && values[1].contains(value)) {
        return Ok(());
    }
    let id = draft.steps[made].id.clone();
    let instead = Instead { step: found.to_owned(), item: format!("{list}[0]") };
    let mut programs = Vec::new();
    for step in draft.steps.iter().skip(made + 1).filter(|step| step.out.is_none()) {
        let references = step.expressions().into_iter().flat_map(Expression::references);
        programs.extend(references.filter(|reference| reference.step == id).map(|reference| reference.jq.clone()));
    }
    let shown = programs.iter().all(|jq| has(cx, calls[0], list, jq));
    if !shown && ask(cx, draft, made, &instead, desk)? != "first" {
        return Ok(());
    }
    let replace = |expression: &mut Expression| {
        replace_references(expression, &mut |reference| {
            let other = instead.of(reference).filter(|_| reference.step == id)?;
            let made = Box::new(Expression::From(reference.clone()));
            Some(Expression::Default(made, Box::new(Expression::From(other))))
        });
    };
    for step in draft.steps.iter_mut().skip(made + 1) {
        replace(&mut step.arguments);
    }
    if shown {
        desk.note(Some(&id), format!("where {id} is not made, `{}` of {found} stands for it", instead.item), None);
    }
    draft.steps[made].instead = Some(instead);
    Ok(())
}

/// Whether another answer of the same tool shows that the things of the list have what is taken.
fn has(cx: &Context<'_>, search: &crate::trace::RecordedCall, list: &str, jq: &str) -> bool {
    let (Some(list), Some(path)) = (path_of(list), path_of(jq)) else { return false };
    let same = cx.trace.calls.iter().filter(|call| call.adapter == search.adapter && call.tool == search.tool);
    same.filter_map(|call| cx.body(call.response)).any(|body| {
        let first = at(&body, &list).and_then(|list| list.get(0));
        first.and_then(|first| at(first, &path)).is_some_and(|value| !value.is_null())
    })
}

fn ask(cx: &Context<'_>, draft: &Draft, made: usize, instead: &Instead, desk: &mut Desk) -> Result<String, FlowError> {
    let made = &draft.steps[made];
    let id = format!("found:{}", made.id);
    let answer =
        |word: &str, means: String| Answer { word: word.to_owned(), means, flag: format!("--answer {id}={word}") };
    let answers = vec![
        answer("first", format!("`{}` of {}", instead.item, instead.step)),
        answer("nothing", format!("what uses {} is left out with it", made.id)),
    ];
    desk.ask(Question {
        kind: QuestionKind::Found,
        ask: format!(
            "when {} finds one, {} is not made: does `{}` stand for it? No answer of the recording shows one",
            instead.step, made.id, instead.item
        ),
        places: vec![Place { step: made.id.clone(), pointer: String::new() }],
        evidence: Vec::new(),
        answers,
        taken: "first".to_owned(),
        writes: made.is_write(cx.trace),
        open: true,
        id: id.clone(),
    })
}

impl Instead {
    /// Returns what stands for a reference to the answer that is not there.
    fn of(&self, reference: &Reference) -> Option<Reference> {
        let path = path_of(&reference.jq).filter(|_| !reference.each)?;
        let field = if path.is_empty() { String::new() } else { jq_of(&path) };
        let jq =
            if field.starts_with(".[") { format!("{} | {field}", self.item) } else { format!("{}{field}", self.item) };
        Some(Reference::new(self.step.clone(), jq))
    }
}
