//! Numbers in texts of writes that are others in another run: how many calls a loop of the flow makes, and what a write reads or reckons.

use rote_plan::{Expression, Reference};
use rote_types::command;
use serde_json::Value;

use crate::FlowError;
use crate::crystallize::chance::tells;
use crate::crystallize::closure;
use crate::crystallize::context::Context;
use crate::crystallize::desk::Desk;
use crate::crystallize::draft::{Draft, DraftStep};
use crate::crystallize::link::{numbers, place_name};
use crate::crystallize::path::path_of;
use crate::crystallize::program::{made_list, stages};
use crate::crystallize::words::joined;
use crate::crystallize::written::{has_hundredths, with_hundredths};
use crate::literals::{references, replace, walk_literals};
use crate::question::{Answer, Evidence, Question, QuestionId};

/// The answer that counts in each run.
pub(super) const COUNTED: &str = "counted";
/// The answer that writes a number as it is in each run.
const TAKEN: &str = "taken";

/// What a number of a text is in each run.
enum What {
    /// How many things there are.
    Count,
    /// What a write reads or reckons.
    Amount,
}

/// A number that is another one in another run.
struct Known {
    what: What,
    number: f64,
    /// The step, or the list, that has it.
    of: String,
    /// The call from which on it is one; a text before a loop may say how many there will be.
    since: usize,
    /// The program that gives it.
    from: Option<Reference>,
}

/// Asks about the numbers in the texts of the writes that stay.
pub(super) fn ask(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    let mut kept = closure::needed(cx.trace, draft);
    let mut known: Vec<Known> = kept.iter().filter_map(|at| counted(cx, draft, &draft.steps[*at])).collect();
    known.extend(kept.iter().filter_map(|at| all_of(cx, draft, &draft.steps[*at])));
    known.extend(kept.iter().flat_map(|at| listed(cx, draft, &draft.steps[*at])));
    kept.retain(|at| draft.steps[*at].is_write(cx.trace) && draft.steps[*at].for_each.is_none());
    known.extend(kept.iter().flat_map(|at| amounts(cx, &draft.steps[*at])));
    for at in kept.into_iter().filter(|_| !known.is_empty()) {
        let changes = in_texts(cx, draft, at, &known, desk)?;
        replace(&mut draft.steps[at].arguments, &mut |pointer, literal| {
            let here = |(place, text, _): &&(String, String, _)| place == pointer && literal.as_str() == Some(text);
            changes.iter().find(here).and_then(|(.., made)| made.clone())
        });
    }
    Ok(())
}

/// The texts of a write, each with its place and with the numbers in it that were answered; all of one text at once, as a text that
/// was changed is not found again.
fn in_texts(
    cx: &Context<'_>,
    draft: &Draft,
    at: usize,
    known: &[Known],
    desk: &mut Desk,
) -> Result<Vec<(String, String, Option<Expression>)>, FlowError> {
    let step = &draft.steps[at];
    let mut texts = Vec::new();
    walk_literals(&step.arguments, &mut |pointer, literal| {
        texts.extend(literal.as_str().map(|text| (pointer.to_owned(), text.to_owned())));
    });
    let mut changes = Vec::new();
    for (pointer, text) in texts {
        let mut found: Vec<_> = numbers(&text).collect();
        found.sort_by_key(|(range, _)| range.start);
        let mut parts = Vec::new();
        for (range, number) in found {
            let number = number.parse().ok();
            let Some(of) = known.iter().find(|one| Some(one.number) == number && one.is_of(step)) else { continue };
            let from = of.from.as_ref().filter(|from| is_before(cx, draft, from, step));
            let question = of.question(&step.id, &pointer, &text[range.clone()], from.is_some());
            if desk.ask(question)? != "always"
                && let Some(from) = from
            {
                let from = Expression::From(of.written(from, &text[range.clone()]));
                parts.push((range, from));
            }
        }
        if !parts.is_empty() {
            changes.push((pointer, text.clone(), joined(&text, parts)));
        }
    }
    Ok(changes)
}

/// Whether what a program reads was there before a write was made.
fn is_before(cx: &Context<'_>, draft: &Draft, from: &Reference, write: &DraftStep) -> bool {
    let source = draft.steps.iter().find(|step| step.id == from.step);
    source.is_some_and(|source| source.call(cx.trace).response < write.call(cx.trace).response)
}

impl Known {
    /// Whether a text of a step may tell it. How often a step is done is not in its own texts.
    fn is_of(&self, step: &DraftStep) -> bool {
        match self.what {
            What::Count => self.of != step.id,
            What::Amount => self.since <= step.calls[0],
        }
    }

    /// The reference that gives it as it was written: with hundredths, where it was.
    fn written(&self, from: &Reference, text: &str) -> Reference {
        let jq = if has_hundredths(text) { with_hundredths(&from.jq) } else { from.jq.clone() };
        Reference { jq, ..from.clone() }
    }

    fn question(&self, step: &str, pointer: &str, text: &str, is_read: bool) -> Question {
        let id = QuestionId::at(QuestionId::Source, step, &format!("{pointer}{{{text}}}"));
        let (of, place) = (&self.of, place_name(pointer));
        let mut answers = Vec::new();
        let (ask, evidence) = match self.what {
            What::Count => {
                if is_read {
                    let means = format!("in each run it is for how many things {of} is");
                    answers.push(Answer::by_id(&id, COUNTED, means));
                }
                let what = format!("{of} was for {text} things");
                let ask = format!(
                    "{place} of {step} says {text}, and {what}, which are more or fewer in other runs: does it stay?"
                );
                (ask, vec![Evidence { what, response: None, jq: None, value: Value::from(self.number) }])
            }
            What::Amount => {
                if is_read && !text.contains(',') {
                    answers.push(Answer::by_id(&id, TAKEN, format!("in each run it is what {of} has for it")));
                }
                let ask =
                    format!("{place} of {step} says {text}, which {of} has from elsewhere in each run: does it stay?");
                (ask, Vec::new())
            }
        };
        let flag = command("--no-link").argument(format!("{step}:{pointer}{{{text}}}"));
        answers.push(Answer::new("always", "the text is the same in each run".to_owned(), flag));
        Question::of_value(id, (step, pointer), ask, evidence, answers)
    }
}

/// What a write reads or reckons in each run.
fn amounts(cx: &Context<'_>, step: &DraftStep) -> Vec<Known> {
    let mut read = Vec::new();
    references(&step.arguments, &mut |pointer, from| {
        let number = step.call(cx.trace).arguments.pointer(pointer).and_then(Value::as_f64);
        let counts = from.jq.ends_with("length");
        let told = number.filter(|number| (tells(&Value::from(*number)) || counts) && !from.each);
        read.extend(told.map(|number| Known {
            what: What::Amount,
            number,
            of: step.id.clone(),
            since: step.calls[0],
            from: Some(from.clone()),
        }));
    });
    read
}

/// The lists that programs of a write make, of which a run has another count.
fn listed(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Vec<Known> {
    let mut found = Vec::new();
    references(&step.arguments, &mut |_, reference| {
        let Some((inside, _)) = made_list(&reference.jq).filter(|_| reference.with.is_empty()) else { return };
        let source = draft.steps.iter().find(|one| one.id == reference.step).filter(|one| one.is_one());
        let of = source.and_then(|source| cx.outputs(source.call(cx.trace).response, inside).ok());
        let Some(things) = of.map(|outputs| outputs.len()).filter(|things| *things > 1) else { return };
        let from = Reference { jq: format!("[{inside}] | length"), each: false, ..reference.clone() };
        found.push(count(format!("`{inside}` of {}", reference.step), things, step, Some(from)));
    });
    found
}

/// A loop of which a run has another count.
fn counted(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Option<Known> {
    let items = step.for_each.as_ref().filter(|_| step.calls.len() > 1)?;
    let from = match items {
        Expression::From(reference) => {
            let of = if reference.each {
                format!("[{}] | length", reference.jq)
            } else {
                format!("{} | length", reference.jq)
            };
            Some(Reference { jq: of, each: false, ..reference.clone() })
        }
        _ => None,
    };
    let gives = |from: &Reference| {
        let source = draft.steps.iter().find(|one| one.id == from.step).filter(|one| one.is_one())?;
        let value = cx.result(source.call(cx.trace).response, &from.jq).ok()?;
        (value.as_u64() == u64::try_from(step.calls.len()).ok()).then_some(())
    };
    let from = from.filter(|from| from.with.is_empty() && gives(from).is_some());
    Some(count(step.id.clone(), step.calls.len(), step, from))
}

/// The list of which a loop is for a part: `3 of 5`.
fn all_of(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Option<Known> {
    let Some(Expression::From(items)) = step.for_each.as_ref().filter(|_| step.calls.len() > 1) else { return None };
    let source = draft.steps.iter().find(|one| one.id == items.step).filter(|one| one.is_one())?;
    let list = stages(&items.jq).first().and_then(|first| Some(first.split_once('[')?.0.trim().to_owned()))?;
    path_of(&list).filter(|_| items.with.is_empty())?;
    let from = Reference { jq: format!("{list} | length"), each: false, ..items.clone() };
    let response = source.call(cx.trace).response;
    let things = cx.result(response, &from.jq).ok()?.as_u64().and_then(|things| usize::try_from(things).ok())?;
    let is_part = things > step.calls.len() && cx.result(response, &list).is_ok_and(|list| list.is_array());
    is_part.then(|| count(format!("the list `{list}` of {}", items.step), things, step, Some(from)))
}

fn count(of: String, things: usize, step: &DraftStep, from: Option<Reference>) -> Known {
    // A list has fewer things than a number has digits.
    #[expect(clippy::cast_precision_loss, reason = "the count of the calls of a recording")]
    let number = things as f64;
    Known { what: What::Count, number, of, since: step.calls[0], from }
}
