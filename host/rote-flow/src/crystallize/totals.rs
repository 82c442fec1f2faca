//! Numbers of a write that are reckoned from its other numbers and from what queries printed: the total of its lines, a price times a count. Where one of those
//! is another one in each run, a total that stays would be wrong in silence, so it is asked; so is a later write that has it too.

use std::collections::BTreeMap;

use rote_plan::{Bound, Expression, Reference, text_of};
use rote_types::command;
use serde_json::Value;

use super::bind::known;
use super::closure;
use super::context::Context;
use super::desk::Desk;
use super::draft::{Draft, DraftStep};
use super::link::{self, place_name};
use super::parameters::Parameters;
use super::path::jq_of;
use super::world::scalars;
use crate::FlowError;
use crate::literals::replace;
use crate::question::{Answer, Evidence, Place, Question, QuestionId};

/// Fewest digits of a number that is not the sum of others by chance.
const MIN_DIGITS: usize = 2;
/// Most numbers of one write that are looked at.
const MAX_NUMBERS: usize = 200;
/// Most answers that are offered for a total that an earlier answer has.
const MAX_READS: usize = 3;
/// Most numbers beside a total that are tried in pairs.
const MAX_BESIDE: usize = 16;
/// Most numbers that were printed before, the last ones.
const MAX_PRINTED: usize = 6;
/// The answer that reckons a number in each run.
const RECKONED: &str = "reckoned";

/// A number of a write.
#[derive(Clone)]
struct Amount {
    /// Its list and position, where it is a member of the thing of a list; else the object.
    around: String,
    name: String,
    /// As a question calls it.
    label: String,
    pointer: String,
    number: f64,
    /// Where it comes from; none when it is the same in each run.
    from: Option<Expression>,
}

/// How a number is reckoned: the sum of products.
type Formula<'a> = Vec<Vec<&'a Amount>>;

/// Asks about the totals of the writes that stay.
pub(crate) fn ask(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &Parameters,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    // What is reckoned anew, by its number, and the call that had it first.
    let mut changing: BTreeMap<String, usize> = BTreeMap::new();
    for at in closure::needed(cx.trace, draft) {
        let step = &draft.steps[at];
        if !step.is_write(cx.trace) || step.for_each.is_some() {
            continue;
        }
        let amounts = amounts(cx, step);
        let printed = printed(cx, draft, step, desk);
        let mut made: BTreeMap<String, Expression> = BTreeMap::new();
        for total in amounts.iter().filter(|one| one.from.is_none() && tells(one.number)) {
            let id = QuestionId::at(QuestionId::Source, &step.id, &total.pointer);
            let Some(formula) = formula(&amounts, &printed, total) else {
                ask_again(cx, draft, (step, total), &changing, desk)?;
                continue;
            };
            let reckoned = expression(cx, (draft, step), parameters, (&formula, total));
            let word = desk.ask(question(id, (step, total), &formula, reckoned.is_some()))?;
            if let Some(reckoned) = reckoned.filter(|_| word == RECKONED) {
                made.insert(total.pointer.clone(), reckoned);
            }
            changing.entry(total.number.to_string()).or_insert(step.calls[0]);
        }
        if !made.is_empty() {
            replace(&mut draft.steps[at].arguments, &mut |pointer, _| made.remove(pointer));
        }
    }
    Ok(())
}

fn tells(number: f64) -> bool {
    number.to_string().bytes().filter(u8::is_ascii_digit).count() >= MIN_DIGITS
}

/// The numbers of a write, as they were sent.
fn amounts(cx: &Context<'_>, step: &DraftStep) -> Vec<Amount> {
    let mut found = Vec::new();
    collect(&step.arguments, String::new(), &mut |pointer, from| {
        let number = step.call(cx.trace).arguments.pointer(pointer).and_then(Value::as_f64);
        let (around, name) = pointer.rsplit_once('/').unwrap_or_default();
        if let Some(number) = number.filter(|_| found.len() < MAX_NUMBERS) {
            let (around, name, label) = (around.to_owned(), name.to_owned(), place_name(pointer));
            found.push(Amount { around, name, label, pointer: pointer.to_owned(), number, from: from.cloned() });
        }
    });
    found
}

/// The numbers that queries printed before a write, as if they stood beside its own.
fn printed(cx: &Context<'_>, draft: &Draft, step: &DraftStep, desk: &mut Desk) -> Vec<Amount> {
    let all = link::printed_numbers(cx, draft, step, desk).into_iter().take(MAX_PRINTED);
    let amount = |(reference, number): (Reference, f64)| {
        let label = format!("`{}` of {}", reference.jq, reference.step);
        let from = Some(Expression::From(reference));
        Amount { around: String::new(), name: "value".to_owned(), label, pointer: String::new(), number, from }
    };
    all.map(amount).collect()
}

/// Calls `visit` with each part that is one value, and where it comes from.
fn collect<'e>(expression: &'e Expression, pointer: String, visit: &mut dyn FnMut(&str, Option<&'e Expression>)) {
    match expression {
        Expression::Literal(value) => {
            crate::literals::walk_scalars(value, pointer, &mut |pointer, _| visit(pointer, None));
        }
        Expression::Object(members) => {
            for (name, inner) in members {
                collect(inner, format!("{pointer}/{}", rote_types::escape_token(name)), visit);
            }
        }
        Expression::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                collect(inner, format!("{pointer}/{at}"), visit);
            }
        }
        Expression::Param(_) | Expression::From(_) => visit(&pointer, Some(expression)),
        _ => {}
    }
}

/// How a number is reckoned from others of which one is not the same in each run: numbers of one name of a list, added up; two
/// beside it, added, or multiplied; two of each thing of a list, multiplied and added up.
fn formula<'a>(amounts: &'a [Amount], printed: &'a [Amount], total: &Amount) -> Option<Formula<'a>> {
    let others: Vec<&Amount> = amounts.iter().filter(|one| one.pointer != total.pointer).collect();
    let mut formulas: Vec<Formula<'a>> = Vec::new();
    let beside = others.iter().copied().filter(|one| one.around == total.around);
    // What is 0 or 1 reckons nothing.
    let beside = beside.take(MAX_BESIDE).chain(printed).filter(|one| ![0.0, 1.0].contains(&one.number));
    let beside: Vec<&Amount> = beside.collect();
    for (at, one) in beside.iter().enumerate() {
        for other in &beside[at + 1..] {
            formulas.push(vec![vec![one, other]]);
            formulas.push(vec![vec![one], vec![other]]);
        }
    }
    // Things of a list, by the list and the name of the number.
    let mut listed: BTreeMap<(&str, &str), Vec<&Amount>> = BTreeMap::new();
    for one in &others {
        let Some((list, position)) = one.around.rsplit_once('/') else { continue };
        if position.bytes().all(|byte| byte.is_ascii_digit()) && !position.is_empty() {
            listed.entry((list, &one.name)).or_default().push(one);
        }
    }
    for ((list, name), column) in &listed {
        formulas.push(column.iter().map(|one| vec![*one]).collect());
        let further = listed.range((*list, *name)..).skip(1).take_while(|((other, _), _)| other == list);
        for (_, other) in further.filter(|(_, other)| other.len() == column.len()) {
            formulas.push(column.iter().zip(other).map(|(one, other)| vec![*one, *other]).collect());
        }
    }
    let value = |formula: &Formula<'_>| -> f64 {
        formula.iter().map(|factors| factors.iter().map(|one| one.number).product::<f64>()).sum()
    };
    let near = |formula: &Formula<'_>| (value(formula) - total.number).abs() <= total.number.abs() * 1e-9;
    let changes = |formula: &Formula<'_>| formula.iter().flatten().any(|one| one.from.is_some());
    formulas.into_iter().find(|formula| !formula.is_empty() && near(formula) && changes(formula))
}

/// The expression that reckons a number, provided that it gives the recorded one; rounded to hundredths where it must be.
fn expression(
    cx: &Context<'_>,
    (draft, step): (&Draft, &DraftStep),
    parameters: &Parameters,
    (formula, total): (&Formula<'_>, &Amount),
) -> Option<Expression> {
    let operands = || formula.iter().flatten();
    let read = operands().find_map(|one| match &one.from {
        Some(Expression::From(reference)) if !reference.each => Some(reference),
        _ => None,
    });
    let base = read.map_or_else(|| step.uses().next(), |reference| Some(&reference.step))?.to_owned();
    let mut made = Reference::new(base, String::new());
    let mut terms = Vec::new();
    for factors in formula {
        let texts = factors.iter().map(|one| operand(&mut made, one)).collect::<Option<Vec<String>>>()?;
        terms.push(texts.join(" * "));
    }
    let plain = terms.join(" + ");
    let rounded = format!("({plain}) * 100 | round / 100");
    [plain, rounded].into_iter().find_map(|jq| {
        let made = Reference { jq, ..made.clone() };
        let value = known(cx, draft, parameters, &Bound::From(Box::new(made.clone())))?;
        (value.as_f64() == Some(total.number)).then_some(Expression::From(made))
    })
}

/// A number as a part of a program.
fn operand(made: &mut Reference, one: &Amount) -> Option<String> {
    let bound = match &one.from {
        None if one.number < 0.0 => return Some(format!("({})", one.number)),
        None => return Some(one.number.to_string()),
        Some(Expression::Param(name)) => Bound::Param(name.clone()),
        Some(Expression::From(reference)) if !reference.each => Bound::From(Box::new(reference.clone())),
        Some(_) => return None,
    };
    let mut variable: String = one.name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    if !variable.starts_with(|c: char| c.is_ascii_alphabetic()) {
        variable.insert(0, 'n');
    }
    while made.with.get(&variable).is_some_and(|known| *known != bound) {
        variable.push('_');
    }
    made.with.insert(variable.clone(), bound);
    Some(format!("${variable}"))
}

fn question(id: QuestionId, (step, total): (&DraftStep, &Amount), formula: &Formula<'_>, fits: bool) -> Question {
    let term =
        |factors: &Vec<&Amount>| factors.iter().map(|one| one.label.as_str()).collect::<Vec<_>>().join(" times ");
    let said = match formula.as_slice() {
        [first, _, ..] if formula.iter().all(|other| term(other) == term(first)) => {
            format!("the sum of {} of each", term(first))
        }
        terms => terms.iter().map(term).collect::<Vec<_>>().join(" plus "),
    };
    let number = total.number;
    let spot = format!("{}:{}", step.id, total.pointer);
    let mut answers = Vec::new();
    if fits {
        answers.push(Answer::by_id(&id, RECKONED, format!("in each run it is {said}")));
    }
    let always = format!("it is {number} in each run, or the parameter that a `--param` makes of it");
    answers.push(Answer::new("always", always, command("--no-link").argument(&spot)));
    let place = place_name(&total.pointer);
    Question {
        kind: id.kind(),
        ask: format!("{place} `{number}` of {} was {said}, which is another one in other runs: does it stay?", step.id),
        places: vec![Place { step: step.id.clone(), pointer: total.pointer.clone() }],
        evidence: Vec::new(),
        answers,
        taken: "always".to_owned(),
        writes: true,
        open: true,
        id,
    }
}

/// Asks about a number of a later write that an earlier one had as its total.
fn ask_again(
    cx: &Context<'_>,
    draft: &Draft,
    (step, amount): (&DraftStep, &Amount),
    changing: &BTreeMap<String, usize>,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let Some(first) = changing.get(&amount.number.to_string()).filter(|first| **first < step.calls[0]) else {
        return Ok(());
    };
    let id = QuestionId::at(QuestionId::Source, &step.id, &amount.pointer);
    let spot = format!("{}:{}", step.id, amount.pointer);
    let number = amount.number;
    let (mut answers, mut evidence) = (Vec::new(), Vec::new());
    for at in *first..step.calls[0] {
        let call = &cx.trace.calls[at];
        let stays =
            draft.step_of(at).is_some_and(|at| draft.steps[at].out.is_none() && draft.steps[at].calls.len() == 1);
        let Some(body) = cx.body(call.response).filter(|_| stays) else { continue };
        scalars(&body, "", &mut Vec::new(), &mut |_, path, value| {
            if value.as_f64() == Some(number) && answers.len() < MAX_READS {
                let jq = jq_of(path);
                let word = format!("{}{{{jq}}}", call.response);
                let means = format!("in each run it is {jq} of {}", call.name());
                answers.push(Answer::new(&*word, means, command("--link").assignment(&spot, &word)));
                let what = format!("stands in the answer of {}", call.name());
                let (response, value) = (Some(call.response), value.clone());
                evidence.push(Evidence { what, response, jq: Some(jq), value });
            }
        });
    }
    let always = format!("it is {number} in each run, or the parameter that a `--param` makes of it");
    answers.push(Answer::new("always", always, command("--no-link").argument(&spot)));
    let of = draft.step_of(*first).map(|at| draft.steps[at].id.clone()).unwrap_or_default();
    let place = place_name(&amount.pointer);
    let question = Question {
        kind: id.kind(),
        ask: format!("{place} `{}` of {} is what {of} reckoned: does it stay?", text_of(&number.into()), step.id),
        places: vec![Place { step: step.id.clone(), pointer: amount.pointer.clone() }],
        evidence,
        answers,
        taken: "always".to_owned(),
        writes: true,
        open: true,
        id,
    };
    desk.ask(question).map(drop)
}
