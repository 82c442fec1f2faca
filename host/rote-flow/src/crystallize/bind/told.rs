//! A value of a parameter that is written otherwise, `279.00` of 279, `2 March 2026` of `2026-03-02`, and a number that a text says with the name of its parameter,
//! `8 places`: it is the parameter there as well.

use std::ops::Range;

use jiff::civil::Date;
use rote_plan::{Bound, Expression, Reference, equal, text_of};
use rote_types::{ResponseId, command};
use serde_json::Value;

use super::Binder;
use crate::FlowError;
use crate::crystallize::chance::{key_of, tells_of_several};
use crate::crystallize::closure;
use crate::crystallize::context::Context;
use crate::crystallize::dated::dated;
use crate::crystallize::draft::DraftStep;
use crate::crystallize::link::{numbers, place_name};
use crate::crystallize::words::{by_text, days, is_named, joined};
use crate::crystallize::written::{Written, amounts};
use crate::literals::{replace, walk_literals};
use crate::question::{Answer, Question, QuestionId};

/// What a parameter is put into the literals of a step as.
pub(super) struct Put<'a, 'b> {
    cx: &'a Context<'b>,
    name: &'a str,
    value: &'a str,
    /// The step, and its answer, on which a program of the parameter is run; none where nothing is made before.
    on: Option<(String, ResponseId)>,
}

impl Put<'_, '_> {
    /// A literal with the parameter in it: where it is the value, or has it as words of it, or as an amount that is written otherwise.
    pub(super) fn of(&self, literal: &Value) -> Option<Expression> {
        if is_value(literal, self.value) {
            return Some(Expression::Param(self.name.to_owned()));
        }
        by_text(literal, self.name, self.value).or_else(|| {
            let text = literal.as_str()?;
            let made = |range: Range<usize>| Some((range.clone(), self.written(&text[range])?));
            whole(joined(text, self.otherwise(text).into_iter().filter_map(made))?)
        })
    }

    /// Where a text has the value as an amount, or a day, that is written otherwise; an amount of few digits is another one by chance.
    fn otherwise(&self, text: &str) -> Vec<Range<usize>> {
        if is_day(self.value) {
            let days = dated(text).into_iter().filter(|(_, one)| one.day() == self.value);
            return days.map(|(range, _)| range).collect();
        }
        let Some(number) = amount(self.value) else { return Vec::new() };
        let is_it = |(range, one): &(Range<usize>, Written)| {
            let is_told = tells_of_several(&Value::from(self.value)) || is_named(text, range, self.name);
            one.number.parse() == Ok(number) && text[range.clone()] != *self.value && is_told
        };
        let mut found: Vec<Range<usize>> = amounts(text).filter(is_it).map(|(range, _)| range).collect();
        found.sort_by_key(|range| range.start);
        found
    }

    /// What writes the parameter as a text has it: itself, or a program, proved on the value.
    fn written(&self, piece: &str) -> Option<Expression> {
        if piece == self.value {
            return Some(Expression::Param(self.name.to_owned()));
        }
        let (step, response) = self.on.clone()?;
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let variable: String = self.name.chars().map(plain).collect();
        let jq = match dated(piece).as_slice() {
            [(_, one)] => one.form.program(&format!("${variable}")),
            _ => Written::of(piece)?.program(&format!("(${variable} | tonumber)")),
        };
        let proof = rote_plan::bind(&jq, [(variable.as_str(), &Value::from(self.value))]);
        let outputs = self.cx.outputs(response, &proof).ok()?;
        let mut made = Reference::new(step, jq);
        made.with.insert(variable, Bound::Param(self.name.to_owned()));
        matches!(outputs.as_slice(), [one] if text_of(one) == piece).then_some(Expression::From(made))
    }
}

impl<'a, 'b> Binder<'a, 'b> {
    /// What the parameter is put into the literals of a step as.
    pub(super) fn placing<'v>(&self, step: &DraftStep, value: &'v str) -> Put<'v, 'b>
    where
        'a: 'v,
    {
        let is_written = amount(value).is_some() || is_day(value);
        let input =
            Some(step).filter(|_| is_written).and_then(|step| closure::input(self.cx.trace, self.draft, step, None));
        let on = input.and_then(|id| {
            let step = self.draft.steps.iter().find(|step| step.id == id)?;
            Some((id, step.call(self.cx.trace).response))
        });
        Put { cx: self.cx, name: self.name, value, on }
    }

    /// Binds the number where the texts of writes say it beside the name of the parameter; says where.
    pub(super) fn in_texts(&mut self, value: &Value) {
        let Some(wanted) = key_of(value).filter(|_| value.is_number()) else { return };
        let name = self.name;
        for at in self.kept.iter().copied() {
            if !self.draft.steps[at].is_write(self.cx.trace) {
                continue;
            }
            let put = self.placing(&self.draft.steps[at], &wanted);
            let step = &mut self.draft.steps[at];
            let mut told = Vec::new();
            replace(&mut step.arguments, &mut |pointer, literal| {
                let text = literal.as_str()?;
                let mut places: Vec<Range<usize>> = numbers(text)
                    .filter(|(range, number)| *number == wanted && is_named(text, range, name))
                    .map(|(range, _)| range)
                    .collect();
                places.sort_by_key(|range| range.start);
                let made = |range: Range<usize>| Some((range.clone(), put.written(&text[range])?));
                let bound = joined(text, places.into_iter().filter_map(made))?;
                told.push(pointer.to_owned());
                Some(bound)
            });
            for pointer in told {
                let text =
                    format!("{wanted} in the text at {}:{pointer} is `{name}`, which it is named after", step.id);
                self.desk.note(Some(&step.id), text, None);
            }
        }
    }

    /// Asks about amounts in the texts of writes that are the value, written otherwise, where no program can write the parameter so.
    pub(super) fn ask_of_unwritten(&mut self, value: &str) -> Result<(), FlowError> {
        let mut found = Vec::new();
        for step in self.steps().filter(|step| step.is_write(self.cx.trace)) {
            let put = self.placing(step, value);
            walk_literals(&step.arguments, &mut |pointer, literal| {
                let text = literal.as_str().unwrap_or_default();
                let open = put.otherwise(text).into_iter().map(|range| &text[range]);
                found.extend(open.filter(|piece| put.written(piece).is_none()).map(|piece| {
                    let (step, pointer, piece) = (step.id.clone(), pointer.to_owned(), piece.to_owned());
                    (step, pointer, piece)
                }));
            });
        }
        for (step, pointer, piece) in found {
            let id = QuestionId::at(QuestionId::Source, &step, &format!("{pointer}{{{piece}}}"));
            let always = format!("it is {piece} in each run, whatever `{}` is", self.name);
            let flag = command("--no-link").argument(format!("{step}:{pointer}{{{piece}}}"));
            let ask = format!(
                "{} `{piece}` of {step} is `{}`, written otherwise, and no call before it gives a program that writes it so: does it stay?",
                place_name(&pointer),
                self.name
            );
            let answers = vec![Answer::new("always", always, flag)];
            self.desk.ask(Question::of_value(id, (&step, &pointer), ask, Vec::new(), answers))?;
        }
        Ok(())
    }
}

/// Whether a literal is a value, be it as a number that is written otherwise.
pub(super) fn is_value(literal: &Value, value: &str) -> bool {
    let same = |number: Value| number.is_number() && literal.is_number() && equal(&number, literal);
    text_of(literal) == value || serde_json::from_str(value).is_ok_and(same)
}

/// Whether a value is a day as answers have it.
fn is_day(value: &str) -> bool {
    days(value).next().is_some_and(|range| range.len() == value.len()) && value.parse::<Date>().is_ok()
}

/// The number that a value is: not one that stands everywhere by chance.
fn amount(value: &str) -> Option<f64> {
    value.parse::<f64>().ok().filter(|number| number.is_finite() && ![0.0, 1.0].contains(number))
}

/// A text of one part, as that.
fn whole(text: Expression) -> Option<Expression> {
    match text {
        Expression::Text(mut parts) if parts.len() == 1 => parts.pop(),
        other => Some(other),
    }
}
