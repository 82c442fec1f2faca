//! Days of a write that lie some days before or after one that is another one in each run: a parameter, what the write has from
//! elsewhere, what a query printed, what the thing has that it is about. The day that was typed would be wrong in silence, so it is
//! asked. Who moves a thing to another day keeps its time: that is read of the thing, too.

mod things;

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::civil::Date;
use rote_plan::{Bound, Expression, Reference};
use rote_types::{AdapterId, command};
use serde_json::Value;

use super::super::bind::{known, with_parameters};
use super::super::closure;
use super::super::context::Context;
use super::super::dated::{DayForm, dated};
use super::super::desk::Desk;
use super::super::draft::{Draft, DraftStep};
use super::super::link::{self, place_name};
use super::super::parameters::Parameters;
use super::super::path::{Segment, jq_of};
use super::super::words::{day_of, days, joined};
use super::word;
use crate::FlowError;
use crate::literals::{references, replace, walk_literals};
use crate::question::{Answer, Question, QuestionId};
use things::Known;

/// Most days between two of which one was reckoned from the other: a year.
const MAX_DAYS: i32 = 366;
/// Most days from one that a query printed, unless they are whole weeks: others are far from it by chance.
const MAX_FROM_PRINTED: i32 = 31;
/// How many days people say beside whole weeks and months, from a day that nobody looked at by itself.
const SAID: [i32; 5] = [1, 2, 3, 10, 45];
/// Most days of those weeks and months.
const MAX_SAID: i32 = 90;
/// Characters of an hour and a minute: `T09:00`.
const TIME_CHARS: usize = 6;
/// Most ways that are offered for one day.
const MAX_WAYS: usize = 3;

/// The days from which those of the writes of one tool were reckoned.
pub(super) type Series = BTreeMap<(AdapterId, String), Vec<Base>>;

/// A day that is another one in each run.
#[derive(Clone)]
pub(super) struct Base {
    label: String,
    day: Date,
    from: Bound,
    near: Near,
}

/// How a day came before the person, which says how far from it another one is by chance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Near {
    /// It is said, or sent.
    Said,
    /// A query printed it.
    Printed,
    /// The thing has it that the write is about.
    OfThing,
}

/// A day in a literal.
struct Day {
    pointer: String,
    text: String,
    range: Range<usize>,
    /// As an answer has it.
    day: String,
    /// How it is written with the name of its month.
    form: Option<DayForm>,
}

/// The time of a thing that a time on another day keeps.
struct Kept {
    /// How much of what stands behind the day.
    length: usize,
    made: Expression,
    label: String,
}

/// Asks about the days of a write, and puts in those that are to be reckoned. Where one of them has a day from which it was, the others
/// move with it, however far they are, and so do those of later writes of the tool.
pub(super) fn ask(
    cx: &Context<'_>,
    draft: &mut Draft,
    (parameters, series): (&Parameters, &mut Series),
    at: usize,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let step = &draft.steps[at];
    let bases = bases(cx, draft, parameters, step, desk);
    let things = things::texts(cx, draft, parameters, step, |text| date_of(text).is_some());
    let of_things = of_things(cx, draft, parameters, &things);
    let call = step.call(cx.trace);
    let series = series.entry((call.adapter.clone(), call.tool.clone())).or_default();
    let days = typed(step).into_iter().map(|day| {
        let kept = day.kept(cx, draft, parameters, &things);
        let ways = day.ways(&bases, kept.is_some());
        let ways = if ways.is_empty() { day.ways(&of_things, kept.is_some()) } else { ways };
        (day, kept, ways)
    });
    let days: Vec<_> = days.collect();
    let firsts = days.iter().filter_map(|(_, _, ways)| ways.first()).map(|(base, _)| *base);
    for base in firsts.chain(bases.iter().filter(|base| base.is_of_write())) {
        if series.iter().all(|known| known.day != base.day) {
            series.push(Base { near: Near::Said, ..base.clone() });
        }
    }
    let mut made: Vec<(Day, Expression, Option<Kept>)> = Vec::new();
    for (day, kept, ways) in days {
        let ways = if ways.is_empty() { day.ways(series, kept.is_some()) } else { ways };
        if ways.is_empty() {
            continue;
        }
        let offered: Vec<Option<Expression>> =
            ways.iter().map(|way| reckoned(cx, draft, parameters, (step, &day), way, kept.as_ref())).collect();
        let taken = desk.ask(day.question(step, &ways, &offered, kept.as_ref()))?;
        let given = (1..).zip(offered).find(|(number, _)| word(*number) == taken).and_then(|(_, offered)| offered);
        made.extend(given.map(|given| (day, given, kept)));
    }
    replace(&mut draft.steps[at].arguments, &mut |pointer, literal| {
        let here = |(day, ..): &&(Day, Expression, Option<Kept>)| {
            day.pointer == pointer && literal.as_str() == Some(&day.text)
        };
        let parts = made.iter().filter(here).flat_map(|(day, made, kept)| {
            let end = day.range.end;
            let time = kept.as_ref().map(|kept| (end..end + kept.length, kept.made.clone()));
            std::iter::once((day.range.clone(), made.clone())).chain(time)
        });
        let all = joined(literal.as_str()?, parts)?;
        Some(match all {
            Expression::Text(mut parts) if parts.len() == 1 => parts.remove(0),
            other => other,
        })
    });
    Ok(())
}

/// Whether a step has a day that is not far from this one, and not this one.
pub(crate) fn has_day_near(step: &DraftStep, day: &str) -> bool {
    let Some(base) = date_of(day) else { return false };
    typed(step).iter().any(|day| day.apart(base).is_some_and(|apart| apart.abs() <= MAX_DAYS))
}

/// The day that a text is, or that it is a time of.
fn date_of(text: &str) -> Option<Date> {
    let day = day_of(text).unwrap_or(text);
    (days(day).next()?.len() == day.len()).then(|| day.parse().ok()).flatten()
}

/// The days that a step has as they were typed.
fn typed(step: &DraftStep) -> Vec<Day> {
    let mut found = Vec::new();
    walk_literals(&step.arguments, &mut |pointer, literal| {
        let text = literal.as_str().unwrap_or_default();
        let of_time = day_of(text).map(|day| 0..day.len());
        let plain = of_time.into_iter().chain(days(text)).map(|range| (range.clone(), text[range].to_owned(), None));
        let dated = dated(text).into_iter().map(|(range, one)| (range, one.day(), Some(one.form)));
        let mut all: Vec<_> = plain.chain(dated).collect();
        all.sort_by_key(|(range, ..)| range.start);
        found.extend(all.into_iter().map(|(range, day, form)| {
            let (pointer, text) = (pointer.to_owned(), text.to_owned());
            Day { pointer, text, range, day, form }
        }));
    });
    found
}

/// The days that are others in each run, the likeliest first.
fn bases(cx: &Context<'_>, draft: &Draft, parameters: &Parameters, step: &DraftStep, desk: &mut Desk) -> Vec<Base> {
    let mut found: Vec<Base> = Vec::new();
    let mut add = |label: String, value: &Value, from: Bound, near: Near| {
        let day = value.as_str().and_then(date_of);
        let day = day.filter(|day| found.iter().all(|base: &Base| base.day != *day));
        found.extend(day.map(|day| Base { label, day, from, near }));
    };
    for (name, example) in parameters.longest_first() {
        add(format!("parameter `{name}`"), example, Bound::Param(name.to_owned()), Near::Said);
    }
    references(&step.arguments, &mut |pointer, reference| {
        let bound = Bound::From(Box::new(reference.clone()));
        // In a text it is a part of what was sent.
        if let Some(value) = known(cx, draft, parameters, &bound).filter(|_| !reference.each) {
            let of = value.as_str().map_or_else(String::new, |day| format!(" {day}"));
            add(format!("`{}`{of}", place_name(pointer)), &value, bound, Near::Said);
        }
    });
    for (reference, value) in link::printed_values(cx, draft, step, desk) {
        let mut read = |reference: Reference, value: &Value| {
            let label = format!("`{}` of {}", reference.jq, reference.step);
            let reference = with_parameters(cx, draft, parameters, reference);
            add(label, value, Bound::From(Box::new(reference)), Near::Printed);
        };
        for (name, member) in value.as_object().into_iter().flatten() {
            let jq = format!("{} | {}", reference.jq, jq_of(&[Segment::Key(name.clone())]));
            read(Reference { jq, ..reference.clone() }, member);
        }
        read(reference, &value);
    }
    found
}

/// The days that the things have that a write is about, each once.
fn of_things(cx: &Context<'_>, draft: &Draft, parameters: &Parameters, things: &[Known]) -> Vec<Base> {
    let mut found: Vec<Base> = Vec::new();
    for Known { reference, text, .. } in things {
        let day = date_of(text).filter(|day| found.iter().all(|base| base.day != *day));
        found.extend(day.map(|day| {
            let label = format!("`{}` of {}", reference.jq, reference.step);
            let reference = with_parameters(cx, draft, parameters, reference.clone());
            Base { label, day, from: Bound::From(Box::new(reference)), near: Near::OfThing }
        }));
    }
    found
}

/// The program that reckons a day, provided that it gives the recorded one.
fn reckoned(
    cx: &Context<'_>,
    draft: &Draft,
    parameters: &Parameters,
    (step, day): (&DraftStep, &Day),
    (base, apart): &(&Base, i32),
    kept: Option<&Kept>,
) -> Option<Expression> {
    let read = match &base.from {
        Bound::From(reference) => Some(reference.step.clone()),
        Bound::Param(_) => kept.and_then(|kept| kept.made.references().first().map(|time| time.step.clone())),
    };
    let sign = if *apart < 0 { '-' } else { '+' };
    let jq = format!("($day[0:10] + \"T00:00:00Z\" | fromdate {sign} {} * 86400 | todate)[0:10]", apart.unsigned_abs());
    let jq = day.form.map_or(jq.clone(), |form| form.program(&jq));
    let mut made = Reference::new(closure::input(cx.trace, draft, step, read)?, jq);
    made.with.insert("day".to_owned(), base.from.clone());
    let value = known(cx, draft, parameters, &Bound::From(Box::new(made.clone())))?;
    (value.as_str() == Some(day.written())).then_some(Expression::From(made))
}

impl Base {
    /// Whether the write has it from an earlier answer.
    fn is_of_write(&self) -> bool {
        self.near == Near::Said && matches!(self.from, Bound::From(_))
    }
}

impl Day {
    fn written(&self) -> &str {
        &self.text[self.range.clone()]
    }

    /// How many days it is after another one; none for the same one.
    fn apart(&self, from: Date) -> Option<i32> {
        let day: Date = self.day.parse().ok()?;
        Some((day - from).get_days()).filter(|apart| *apart != 0)
    }

    /// The days from which this one may have been reckoned, with how many days it is after each.
    fn ways<'b>(&self, bases: &'b [Base], keeps_time: bool) -> Vec<(&'b Base, i32)> {
        let way = |base: &'b Base| {
            let apart = self.apart(base.day)?;
            let days = apart.abs();
            let told = match base.near {
                Near::Said => days <= MAX_DAYS,
                Near::Printed => days <= MAX_DAYS && (days <= MAX_FROM_PRINTED || days % 7 == 0),
                Near::OfThing if keeps_time => days <= MAX_FROM_PRINTED,
                Near::OfThing if day_of(&self.text).is_some() => false,
                Near::OfThing => SAID.contains(&days) || days <= MAX_SAID && (days % 7 == 0 || days % 30 == 0),
            };
            told.then_some((base, apart))
        };
        bases.iter().filter_map(way).take(MAX_WAYS).collect()
    }

    /// The time that stands behind the day, where the thing has it under the same name.
    fn kept(&self, cx: &Context<'_>, draft: &Draft, parameters: &Parameters, things: &[Known]) -> Option<Kept> {
        let typed = day_of(&self.text).and_then(|day| self.text.get(day.len()..))?;
        let way: Vec<&str> = self.pointer.split('/').skip(1).collect();
        let same = |known: &&Known| known.way.iter().rev().zip(way.iter().rev()).all(|(one, other)| one == other);
        let Known { reference, text, .. } = things.iter().find(same)?;
        let has = day_of(text).and_then(|day| text.get(day.len()..))?;
        let (length, end) = if typed.starts_with(has) {
            (has.len(), String::new())
        } else {
            let length = if has.starts_with(typed) { typed.len() } else { TIME_CHARS };
            (length, (10 + length).to_string())
        };
        let label = format!("`{}` of {}", reference.jq, reference.step);
        let read = Reference { jq: format!("{} | .[10:{end}]", reference.jq), ..reference.clone() };
        let read = with_parameters(cx, draft, parameters, read);
        let value = known(cx, draft, parameters, &Bound::From(Box::new(read.clone())))?;
        let is_same = value.as_str().is_some_and(|time| typed.get(..length) == Some(time));
        is_same.then_some(Kept { length, made: Expression::From(read), label })
    }

    fn question(
        &self,
        step: &DraftStep,
        ways: &[(&Base, i32)],
        offered: &[Option<Expression>],
        kept: Option<&Kept>,
    ) -> Question {
        let (pointer, day) = (&self.pointer, self.written());
        let is_whole = self.range.len() == self.text.len() || day_of(&self.text).is_some();
        let spot = if is_whole { pointer.clone() } else { format!("{pointer}{{{day}}}") };
        let id = QuestionId::at(QuestionId::Source, &step.id, &spot);
        let said: Vec<String> = ways.iter().map(|(base, apart)| says(&base.label, *apart)).collect();
        let time = kept.map(|kept| format!(", at the time of {}", kept.label)).unwrap_or_default();
        let fits = (1..).zip(&said).zip(offered).filter(|(_, made)| made.is_some());
        let mut answers: Vec<Answer> = fits
            .map(|((number, said), _)| Answer::by_id(&id, word(number), format!("in each run it is {said}{time}")))
            .collect();
        let flag = command("--no-link").argument(format!("{}:{spot}", step.id));
        answers.push(Answer::new(
            "always",
            format!("it is {day} in each run, or the parameter that a `--param` makes of it"),
            flag,
        ));
        let ask = format!(
            "{} `{day}` of {} was {}, which is another day in other runs: does it stay?",
            place_name(pointer),
            step.id,
            said.join(", or ")
        );
        Question::of_value(id, (&step.id, pointer), ask, Vec::new(), answers)
    }
}

/// How a day lies to another one, in words.
fn says(label: &str, apart: i32) -> String {
    let unit = if apart.abs() == 1 { "day" } else { "days" };
    format!("{} {unit} {} {label}", apart.abs(), if apart < 0 { "before" } else { "after" })
}
