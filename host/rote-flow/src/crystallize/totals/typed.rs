//! Asks about the numbers of a write that are totals of lists, which no query printed: as an argument, and in a text.

use std::ops::Range;

use rote_plan::{Expression, Reference};
use rote_types::command;
use serde_json::{Number, Value};

use super::counts::COUNTED;
use super::sums::{Sum, sums};
use super::word;
use crate::FlowError;
use crate::crystallize::bind::with_parameters;
use crate::crystallize::chance::key_of;
use crate::crystallize::closure;
use crate::crystallize::context::{Context, names_id};
use crate::crystallize::desk::Desk;
use crate::crystallize::draft::{Draft, DraftStep};
use crate::crystallize::link::{numbers, place_name};
use crate::crystallize::parameters::Parameters;
use crate::crystallize::words::{is_named, joined};
use crate::crystallize::written::{Written, rounded};
use crate::literals::{replace, walk_literals, walk_scalars};
use crate::question::{Answer, Evidence, Question, QuestionId};

/// Most programs that are offered for one total.
const MAX_WAYS: usize = 3;

/// Asks about the totals of the writes that stay, and puts in those that are to be reckoned.
pub(super) fn ask(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &Parameters,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let sums = sums(cx, draft);
    let mut writes = closure::needed(cx.trace, draft);
    writes.retain(|at| draft.steps[*at].is_write(cx.trace) && draft.steps[*at].for_each.is_none());
    for at in writes.into_iter().filter(|_| !sums.is_empty()) {
        let asking = Asking { cx, draft, parameters, step: &draft.steps[at], sums: &sums };
        let mut made = Vec::new();
        let mut literals = Vec::new();
        walk_literals(&asking.step.arguments, &mut |pointer, value| {
            literals.push((pointer.to_owned(), value.clone()));
        });
        for (pointer, value) in literals {
            let new = match &value {
                Value::Number(number) => asking.number(&pointer, number, desk)?,
                Value::String(text) => asking.text(&pointer, text, desk)?,
                _ => None,
            };
            made.extend(new.map(|new| (pointer, value, new)));
        }
        replace(&mut draft.steps[at].arguments, &mut |pointer, literal| {
            let (.., new) = made.iter().find(|(place, value, _)| place == pointer && value == literal)?;
            Some(new.clone())
        });
    }
    Ok(())
}

struct Asking<'a, 'b> {
    cx: &'a Context<'b>,
    draft: &'a Draft,
    parameters: &'a Parameters,
    step: &'a DraftStep,
    sums: &'a [Sum],
}

/// A number that a person typed.
struct Typed<'t> {
    pointer: &'t str,
    /// As it was typed.
    text: &'t str,
    number: f64,
    decimals: usize,
}

impl Asking<'_, '_> {
    fn number(&self, pointer: &str, number: &Number, desk: &mut Desk) -> Result<Option<Expression>, FlowError> {
        let text = number.to_string();
        let Some(number) = number.as_f64().filter(|_| !names_id(&place_name(pointer))) else { return Ok(None) };
        let decimals = text.split_once('.').map_or(0, |(_, rest)| rest.len());
        let typed = Typed { pointer, text: &text, number, decimals };
        let same = |value: &Value| value.as_f64() == Some(number);
        let programs = |jq: &str, is_whole: bool| {
            let plain = is_whole.then(|| format!("({jq})"));
            let cents = (decimals <= 2).then(|| rounded(jq, 2));
            plain.into_iter().chain([rounded(jq, 8)]).chain(cents).collect()
        };
        let ways = self.ways(&typed, &programs, &same);
        let id = QuestionId::at(QuestionId::Source, &self.step.id, pointer);
        if ways.is_empty() || self.is_asked(&typed, true, desk) {
            return Ok(None);
        }
        Ok(self.ask(id, &typed, ways, desk)?.map(Expression::From))
    }

    fn text(&self, pointer: &str, text: &str, desk: &mut Desk) -> Result<Option<Expression>, FlowError> {
        let mut found: Vec<(Range<usize>, Written)> =
            numbers(text).filter_map(|(range, _)| Some((range.clone(), Written::of(&text[range])?))).collect();
        found.sort_by_key(|(range, _)| range.start);
        let mut told: Vec<&Sum> = Vec::new();
        let mut parts = Vec::new();
        for (range, written) in &found {
            let Ok(number) = written.number.parse::<f64>() else { continue };
            let typed = Typed { pointer, text: &text[range.clone()], number, decimals: written.decimals };
            let same = |value: &Value| rote_plan::text_of(value) == typed.text;
            let ways = self.ways(
                &typed,
                &|jq, is_whole| {
                    vec![if is_whole && written.is_plain() { format!("({jq})") } else { written.program(jq) }]
                },
                &same,
            );
            told.extend(ways.iter().map(|(sum, _)| *sum));
            if !ways.is_empty() && !self.is_asked(&typed, false, desk) {
                let id = QuestionId::at(QuestionId::Source, &self.step.id, &format!("{pointer}{{{}}}", typed.text));
                let made = self.ask(id, &typed, ways, desk)?;
                parts.extend(made.map(|made| (range.clone(), Expression::From(made))));
            }
        }
        for (range, written) in &found {
            let Ok(number) = written.number.parse::<f64>() else { continue };
            let typed = Typed { pointer, text: &text[range.clone()], number, decimals: written.decimals };
            let of_list = |sum: &&Sum| {
                told.iter().any(|one| one.is_of_the_list(sum))
                    || is_named(text, range, sum.list()) && self.is_before(sum, &typed)
            };
            let counted = self.sums.iter().filter(of_list).find_map(|sum| Some((sum, sum.counts(number)?)));
            let Some((sum, jq)) = counted.filter(|_| number > 1.0 && written.decimals == 0) else { continue };
            if !parts.iter().any(|(one, _)| one == range) && !self.is_asked(&typed, false, desk) {
                let made = self.count(&typed, (sum, jq), desk)?;
                parts.extend(made.map(|made| (range.clone(), Expression::From(made))));
            }
        }
        parts.sort_by_key(|(range, _)| range.start);
        Ok(joined(text, parts))
    }

    /// The programs that give a number as it was typed, each with the sum that it is; what the person typed before the list was read
    /// is not of it.
    fn ways(
        &self,
        typed: &Typed<'_>,
        programs: &dyn Fn(&str, bool) -> Vec<String>,
        same: &dyn Fn(&Value) -> bool,
    ) -> Vec<(&Sum, Reference)> {
        let given = |sum: &'_ Sum| -> Option<Reference> {
            let way = sum.gives(typed.number, typed.decimals).filter(|_| self.is_before(sum, typed))?;
            let response = self.cx.trace.calls[sum.call].response;
            let fits = |jq: &String| {
                let outputs = self.cx.outputs(response, jq);
                outputs.is_ok_and(|outputs| matches!(outputs.as_slice(), [one] if same(one)))
            };
            let jq = programs(&way.jq, way.is_whole).into_iter().find(fits)?;
            Some(with_parameters(self.cx, self.draft, self.parameters, Reference::new(sum.step.clone(), jq)))
        };
        self.sums.iter().filter_map(|sum| Some((sum, given(sum)?))).take(MAX_WAYS).collect()
    }

    fn is_before(&self, sum: &Sum, typed: &Typed<'_>) -> bool {
        let key = key_of(&Value::from(typed.number));
        let said = || {
            self.cx.trace.calls[..=sum.call].iter().any(|call| {
                let mut said = false;
                walk_scalars(&call.raw, String::new(), &mut |_, value| said |= key_of(value) == key);
                said
            })
        };
        sum.call < self.step.calls[0] && !said()
    }

    /// Whether another question is about the number: an answer has it as it is.
    fn is_asked(&self, typed: &Typed<'_>, is_whole: bool, desk: &Desk) -> bool {
        let spot = format!("{}{{{}}}", typed.pointer, typed.text);
        let own = QuestionId::at(QuestionId::Source, &self.step.id, &spot);
        desk.questions.iter().any(|question| {
            let here = question.places.iter().any(|one| one.step == self.step.id && one.pointer == typed.pointer);
            let of_it = || question.evidence.iter().any(|one| rote_plan::text_of(&one.value) == typed.text);
            question.id == own || here && (is_whole || of_it())
        })
    }

    /// Asks about a total; gives the program that a person takes.
    fn ask(
        &self,
        id: QuestionId,
        typed: &Typed<'_>,
        ways: Vec<(&Sum, Reference)>,
        desk: &mut Desk,
    ) -> Result<Option<Reference>, FlowError> {
        let told = |(sum, made): &(&Sum, Reference)| format!("`{}` of {}", made.jq, sum.step);
        let means = |(at, way): (usize, &(&Sum, Reference))| {
            Answer::by_id(&id, word(at), format!("in each run it is {}", told(way)))
        };
        let answers = (1..).zip(&ways).map(means).collect();
        let said: Vec<String> = ways.iter().map(told).collect();
        let question = self.question(id.clone(), typed, &said, answers);
        let taken = desk.ask(question)?;
        Ok((1..).zip(ways).find(|(at, _)| word(*at) == taken).map(|(_, (_, made))| made))
    }

    fn count(
        &self,
        typed: &Typed<'_>,
        (sum, jq): (&Sum, String),
        desk: &mut Desk,
    ) -> Result<Option<Reference>, FlowError> {
        let id = QuestionId::at(QuestionId::Source, &self.step.id, &format!("{}{{{}}}", typed.pointer, typed.text));
        let said = format!("`{jq}` of {}", sum.step);
        let answers = vec![Answer::by_id(&id, COUNTED, format!("in each run it is {said}"))];
        let taken = desk.ask(self.question(id, typed, &[said], answers))?;
        Ok((taken == COUNTED).then(|| Reference::new(sum.step.clone(), jq)))
    }

    fn question(&self, id: QuestionId, typed: &Typed<'_>, said: &[String], mut answers: Vec<Answer>) -> Question {
        let (step, place) = (&self.step.id, place_name(typed.pointer));
        let spot = id.place().map(|place| format!("{}:{}", place.step, place.pointer)).unwrap_or_default();
        let always = format!("it is {} in each run, or the parameter that a `--param` makes of it", typed.text);
        answers.push(Answer::new("always", always, command("--no-link").argument(spot)));
        let ask = format!(
            "{place} `{}` of {step} was {}, which is another number in other runs: does it stay?",
            typed.text,
            said.join(", or ")
        );
        let what = format!("is {}", said.join(", and "));
        let evidence = vec![Evidence { what, response: None, jq: None, value: Value::from(typed.text) }];
        Question::of_value(id, (step, typed.pointer), ask, evidence, answers)
    }
}
