//! Numbers of a write that are sums or products, and days that are some days from another one. The parts are other numbers of that
//! write, what queries printed before it, or what the things of a list have. Where a part is another one in each run, a total that stays would be wrong in silence, so
//! it is asked; so is a number of a later write that is the same.

mod counts;
mod days;
mod fields;
mod formula;
mod sums;
mod typed;

use std::collections::{BTreeMap, BTreeSet};

use rote_plan::{Bound, Expression, Reference};
use rote_types::command;
use serde_json::Value;

use super::bind::{known, with_parameters};
use super::chance::tells;
use super::closure;
use super::context::{Context, names_id};
use super::desk::Desk;
use super::draft::{Draft, DraftStep};
use super::link::{self, place_name};
use super::parameters::Parameters;
use super::path::{Segment, jq_of};
use super::program::last_field;
use super::world::scalars;
use super::written::rounded;
use crate::FlowError;
use crate::literals::{replace, walk_scalars};
use crate::question::{Answer, Evidence, Question, QuestionId, RECKONED};
pub(crate) use days::has_day_near;
use formula::{Amount, Formula, formulas, said};

/// Most numbers of one write that are looked at.
const MAX_NUMBERS: usize = 200;
/// Most answers that are offered for a total that an earlier answer has.
const MAX_READS: usize = 3;
/// Most numbers that were printed before, the last ones.
const MAX_PRINTED: usize = 6;
/// Most numbers of one thing that are tried.
const MAX_FIELDS: usize = 12;

/// Asks about the totals of the writes that stay.
pub(crate) fn ask(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &Parameters,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    // What is reckoned anew, by its number, and the call that had it first.
    let mut changing: BTreeMap<String, usize> = BTreeMap::new();
    let mut series = days::Series::default();
    for at in closure::needed(cx.trace, draft) {
        if !draft.steps[at].is_write(cx.trace) {
            continue;
        }
        days::ask(cx, draft, (parameters, &mut series), at, desk)?;
        let step = &draft.steps[at];
        if step.for_each.is_some() {
            continue;
        }
        let mut made = Totals::of(cx, draft, parameters, step, desk).ask(desk, &mut changing)?;
        if !made.is_empty() {
            replace(&mut draft.steps[at].arguments, &mut |pointer, _| made.remove(pointer));
        }
        fields::ask(cx, draft, parameters, at, desk)?;
    }
    counts::ask(cx, draft, desk)?;
    typed::ask(cx, draft, parameters, desk)
}

/// The numbers of a write.
struct Totals<'a, 'b> {
    cx: &'a Context<'b>,
    draft: &'a Draft,
    parameters: &'a Parameters,
    step: &'a DraftStep,
    /// Those that were printed before are behind those of the write.
    amounts: Vec<Amount>,
}

impl<'a, 'b> Totals<'a, 'b> {
    fn of(
        cx: &'a Context<'b>,
        draft: &'a Draft,
        parameters: &'a Parameters,
        step: &'a DraftStep,
        desk: &mut Desk,
    ) -> Self {
        let mut amounts = amounts(cx, step);
        let printed = link::printed_values(cx, draft, step, desk).into_iter();
        let printed = printed.filter_map(|(reference, value)| Some((reference, value.as_f64()?)));
        amounts.extend(printed.take(MAX_PRINTED).map(|(reference, number)| {
            let reference = with_parameters(cx, draft, parameters, reference);
            let label = format!("`{}` of {}", reference.jq, reference.step);
            let name = last_field(&reference.jq).unwrap_or_else(|| "value".to_owned());
            let behind = draft.steps.iter().find(|one| one.id == reference.step).map_or(0, |one| one.calls[0] + 1);
            let is_sent = cx.is_sent(behind, &Value::from(number));
            let from = Some(Expression::From(reference));
            Amount { from, is_sent, ..Amount::plain(&name, label, number) }
        }));
        amounts.extend(said_in(&step.call(cx.trace).arguments));
        let of_things = of_things(&fields::things(cx, draft, parameters, step), &amounts);
        amounts.extend(of_things);
        Self { cx, draft, parameters, step, amounts }
    }

    /// Asks about each number; gives the expressions of those that are to be reckoned. One that was asked about may be a part of
    /// another one, so it goes on until there are none.
    fn ask(
        mut self,
        desk: &mut Desk,
        changing: &mut BTreeMap<String, usize>,
    ) -> Result<BTreeMap<String, Expression>, FlowError> {
        let mut made = BTreeMap::new();
        let mut asked = BTreeSet::new();
        while let Some((total, formulas)) = self.next(&asked) {
            asked.insert(total);
            let amount = self.amounts[total].clone();
            let pointer = amount.pointer.clone().unwrap_or_default();
            let id = QuestionId::at(QuestionId::Source, &self.step.id, &pointer);
            let offered: Vec<(String, Option<Expression>)> = (1..)
                .zip(&formulas)
                .map(|(number, formula)| (word(number), self.expression(formula, amount.number)))
                .collect();
            let is_settled = desk.given(&id, &["always"]).is_some();
            let taken = desk.ask(self.question(id, total, &formulas, &offered))?;
            if is_settled {
                continue;
            }
            let given = offered.iter().find(|(word, _)| *word == taken).and_then(|(_, made)| made.clone());
            let first = offered.iter().find_map(|(_, made)| made.clone());
            self.amounts[total].of = formulas.iter().flatten().flat_map(|term| term.factors.clone()).collect();
            let parts: Vec<usize> = self.amounts[total].of.iter().copied().collect();
            let further = parts.iter().flat_map(|part| self.amounts[*part].of.clone()).collect::<Vec<_>>();
            self.amounts[total].of.extend(further);
            self.amounts[total].from = given.clone().or(first).or(Some(Expression::Literal(Value::Null)));
            made.extend(given.map(|given| (pointer, given)));
            changing.entry(amount.number.to_string()).or_insert(self.step.calls[0]);
        }
        for amount in self.amounts.iter().filter(|one| one.from.is_none() && tells(&Value::from(one.number))) {
            ask_again(self.cx, self.draft, (self.step, amount), changing, desk)?;
        }
        Ok(made)
    }

    /// The next number that others give.
    fn next(&self, asked: &BTreeSet<usize>) -> Option<(usize, Vec<Formula>)> {
        let open = |at: &usize| {
            let one = &self.amounts[*at];
            one.from.is_none() && one.pointer.is_some() && !asked.contains(at)
        };
        let found = (0..self.amounts.len()).filter(open).map(|at| (at, formulas(&self.amounts, at)));
        found.into_iter().find(|(_, formulas)| !formulas.is_empty())
    }

    /// The expression that reckons a number, provided that it gives the recorded one: rounded to a hundred-millionth, else, as the
    /// recorded one, to a hundredth.
    fn expression(&self, formula: &Formula, recorded: f64) -> Option<Expression> {
        let operands = || formula.iter().flat_map(|term| &term.factors).map(|at| &self.amounts[*at]);
        let read = operands().find_map(|one| match &one.from {
            Some(Expression::From(reference)) if !reference.each => Some(reference.step.clone()),
            _ => None,
        });
        let mut made = Reference::new(closure::input(self.cx.trace, self.draft, self.step, read)?, String::new());
        let mut plain = String::new();
        for term in formula {
            let times = (term.times > 1).then(|| Some(term.times.to_string()));
            let operands: Vec<_> = term.factors.iter().map(|at| operand(&mut made, &self.amounts[*at])).collect();
            let factors = operands.into_iter().chain(times);
            let sign = if term.minus { " - " } else { " + " };
            plain.push_str(if plain.is_empty() { "" } else { sign });
            plain.push_str(&factors.collect::<Option<Vec<String>>>()?.join(" * "));
        }
        [8, 2].into_iter().find_map(|decimals| {
            let made = Reference { jq: rounded(&plain, decimals), ..made.clone() };
            let bound = Bound::From(Box::new(made.clone()));
            let value = known(self.cx, self.draft, self.parameters, &bound)?;
            (value.as_f64() == Some(recorded)).then_some(Expression::From(made))
        })
    }

    fn question(
        &self,
        id: QuestionId,
        total: usize,
        formulas: &[Formula],
        offered: &[(String, Option<Expression>)],
    ) -> Question {
        let Amount { number, pointer, .. } = &self.amounts[total];
        let pointer = pointer.clone().unwrap_or_default();
        let said: Vec<String> = formulas.iter().map(|formula| said(&self.amounts, formula)).collect();
        let fits = offered.iter().zip(&said).filter(|((_, made), _)| made.is_some());
        let mut answers: Vec<Answer> =
            fits.map(|((word, _), said)| Answer::by_id(&id, word, format!("in each run it is {said}"))).collect();
        let spot = format!("{}:{pointer}", self.step.id);
        let always = format!("it is {number} in each run, or the parameter that a `--param` makes of it");
        answers.push(Answer::new("always", always, command("--no-link").argument(&spot)));
        let (place, said) = (place_name(&pointer), said.join(", or "));
        let ask = format!(
            "{place} `{number}` of {} was {said}, which is another one in other runs: does it stay?",
            self.step.id
        );
        Question::of_value(id, (&self.step.id, &pointer), ask, Vec::new(), answers)
    }
}

/// The answer that takes one of several formulas.
fn word(number: usize) -> String {
    if number == 1 { RECKONED.to_owned() } else { format!("{RECKONED}-{number}") }
}

/// The numbers that the texts of a write name: of a percentage the part of one, what is left of one without it, and one with it.
fn said_in(arguments: &Value) -> Vec<Amount> {
    let mut found: Vec<Amount> = Vec::new();
    let amount = |label: String, number: f64| Amount { is_said: true, ..Amount::plain("said", label, number) };
    walk_scalars(arguments, String::new(), &mut |_, value| {
        let text = value.as_str().unwrap_or_default();
        for (at, word) in numbers_in(text) {
            let Some(number) = word.parse::<f64>().ok().filter(|number| *number > 0.0) else { continue };
            if found.len() >= 3 * MAX_PRINTED {
                return;
            }
            if !text[at + word.len()..].trim_start().starts_with('%') {
                found.push(amount(format!("the {word} of its text"), number));
                continue;
            }
            let whole = [(number, number), (100.0 - number, 100.0 - number), (100.0 + number, 100.0 + number)];
            let of_one = whole.into_iter().filter(|(percent, _)| *percent > 0.0);
            found.extend(of_one.map(|(percent, part)| amount(format!("{percent} percent"), part / 100.0)));
        }
    });
    found
}

/// The numbers of a text as they are written there, each with its place; what is a part of a word is none.
fn numbers_in(text: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find(|c: char| c.is_ascii_digit()).map(|begin| at + begin) {
        let end = text[begin..].find(|c| !is_part(c)).map_or(text.len(), |end| begin + end);
        let word = text[begin..end].trim_end_matches('.');
        let is_alone = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | ':' | '/'));
        if is_alone(text[..begin].chars().next_back()) && is_alone(text[end..].chars().next()) {
            found.push((begin, word));
        }
        at = end;
    }
    found
}

/// The numbers that the things have which a write is for, but for those that it sends.
fn of_things(things: &[(Reference, Value)], sent: &[Amount]) -> Vec<Amount> {
    let mut found = Vec::new();
    for (thing, value) in things {
        let members = value.as_object().into_iter().flatten().filter(|(name, _)| !names_id(name));
        let numbers = members.filter_map(|(name, value)| Some((name, value.as_f64().filter(|number| *number != 0.0)?)));
        let is_new = |(name, number): &(&String, f64)| {
            sent.iter().all(|one| one.from.is_none() || one.name != **name || one.number != *number)
        };
        for (name, number) in numbers.filter(is_new).take(MAX_FIELDS) {
            let field = jq_of(&[Segment::Key(name.clone())]);
            let jq = if thing.jq == "." { field } else { format!("{} | {field}", thing.jq) };
            let label = format!("`{name}` of {}", thing.step);
            let from = Some(Expression::From(Reference { jq, ..thing.clone() }));
            let around = format!("{} {}", thing.step, thing.jq);
            found.push(Amount { around, from, is_of_thing: true, ..Amount::plain(name, label, number) });
        }
    }
    found
}

/// The numbers of a write, as they were sent.
fn amounts(cx: &Context<'_>, step: &DraftStep) -> Vec<Amount> {
    let mut found = Vec::new();
    collect(&step.arguments, String::new(), &mut |pointer, from| {
        let number = step.call(cx.trace).arguments.pointer(pointer).and_then(Value::as_f64);
        let (around, name) = pointer.rsplit_once('/').unwrap_or_default();
        if let Some(number) = number.filter(|_| found.len() < MAX_NUMBERS) {
            let (around, label) = (around.to_owned(), place_name(pointer));
            let (pointer, from) = (Some(pointer.to_owned()), from.cloned());
            found.push(Amount { around, pointer, from, ..Amount::plain(name, label, number) });
        }
    });
    found
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
    let Some(pointer) = amount.pointer.clone() else { return Ok(()) };
    let id = QuestionId::at(QuestionId::Source, &step.id, &pointer);
    let spot = format!("{}:{pointer}", step.id);
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
    let place = place_name(&pointer);
    let ask = format!("{place} `{number}` of {} is what {of} reckoned: does it stay?", step.id);
    let question = Question::of_value(id, (&step.id, &pointer), ask, evidence, answers);
    desk.ask(question).map(drop)
}
