//! Numbers in texts of writes that are others in another run: how many calls a loop of the flow makes, and what a write reads or reckons.

use rote_plan::{Expression, Reference};
use rote_types::command;
use serde_json::Value;

use crate::FlowError;
use crate::crystallize::closure;
use crate::crystallize::context::Context;
use crate::crystallize::desk::Desk;
use crate::crystallize::draft::{Draft, DraftStep};
use crate::crystallize::link::{numbers, place_name};
use crate::crystallize::occurrences::bare_numbers;
use crate::crystallize::program::made_list;
use crate::crystallize::words::joined;
use crate::literals::{references, replace, walk_literals};
use crate::question::{Answer, Place, Question, QuestionId};

/// The answer that counts in each run.
const COUNTED: &str = "counted";
/// The answer that writes a number as it is in each run.
const TAKEN: &str = "taken";
/// Fewest digits, less one, of a number that is not equal to another one by chance.
const MIN_DIGITS: usize = 2;

/// A loop, how many calls it made, and the program that counts its items.
struct Loop {
    step: String,
    calls: usize,
    count: Option<Reference>,
}

/// Asks about the counts in the texts of the writes that stay.
pub(super) fn ask(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    let kept = closure::needed(cx.trace, draft);
    let mut loops: Vec<Loop> = kept.iter().filter_map(|at| counted(cx, draft, &draft.steps[*at])).collect();
    loops.extend(kept.iter().flat_map(|at| listed(cx, draft, &draft.steps[*at])));
    for at in kept.into_iter().filter(|_| !loops.is_empty()) {
        let step = &draft.steps[at];
        if !step.is_write(cx.trace) || step.for_each.is_some() {
            continue;
        }
        let mut found = Vec::new();
        walk_literals(&step.arguments, &mut |pointer, literal| {
            let text = literal.as_str().unwrap_or_default();
            for range in bare_numbers(text) {
                let number = text[range.clone()].parse().ok();
                let of = loops.iter().find(|one| Some(one.calls) == number && one.step != step.id);
                found.extend(of.map(|of| (pointer.to_owned(), text.to_owned(), range, of)));
            }
        });
        let mut changes = Vec::new();
        for (pointer, text, range, of) in found {
            if desk.ask(question(&step.id, &pointer, of))? == COUNTED
                && let Some(count) = &of.count
            {
                changes.push((text.clone(), joined(&text, [(range, Expression::From(count.clone()))])));
            }
        }
        put(&mut draft.steps[at].arguments, &changes);
    }
    amounts(cx, draft, desk)
}

/// Puts texts in the place of literals.
fn put(arguments: &mut Expression, changes: &[(String, Option<Expression>)]) {
    replace(arguments, &mut |_, literal| {
        let changed = changes.iter().find(|(text, _)| literal.as_str() == Some(text))?;
        changed.1.clone()
    });
}

/// A number that a write reads or reckons in each run.
struct Amount {
    step: String,
    call: usize,
    number: f64,
    from: Reference,
}

/// Asks about numbers in texts that a write at that place or before it reads or reckons in each run, also as people write them.
fn amounts(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    let kept = closure::needed(cx.trace, draft);
    let writes: Vec<usize> = kept
        .into_iter()
        .filter(|at| draft.steps[*at].is_write(cx.trace) && draft.steps[*at].for_each.is_none())
        .collect();
    let mut read: Vec<Amount> = Vec::new();
    for step in writes.iter().map(|at| &draft.steps[*at]) {
        references(&step.arguments, &mut |pointer, from| {
            let number = step.call(cx.trace).arguments.pointer(pointer).and_then(Value::as_f64);
            let told = number.filter(|number| number.to_string().len() > MIN_DIGITS && !from.each);
            let amount = |number| Amount { step: step.id.clone(), call: step.calls[0], number, from: from.clone() };
            read.extend(told.map(amount));
        });
    }
    for at in writes.into_iter().filter(|_| !read.is_empty()) {
        let step = &draft.steps[at];
        let mut found = Vec::new();
        walk_literals(&step.arguments, &mut |pointer, literal| {
            let text = literal.as_str().unwrap_or_default();
            for (range, number) in numbers(text) {
                let number = number.parse().ok();
                let of = read.iter().find(|one| Some(one.number) == number && one.call <= step.calls[0]);
                found.extend(of.map(|of| (pointer.to_owned(), text.to_owned(), range, of)));
            }
        });
        let mut changes = Vec::new();
        for (pointer, text, range, of) in found {
            if desk.ask(question_of_amount(&step.id, &pointer, &text[range.clone()], of))? == TAKEN {
                let from = Expression::From(written(of, &text[range.clone()]));
                changes.push((text.clone(), joined(&text, [(range, from)])));
            }
        }
        put(&mut draft.steps[at].arguments, &changes);
    }
    Ok(())
}

/// The reference that gives a number as it was written: with hundredths, where it was.
fn written(of: &Amount, text: &str) -> Reference {
    let hundredths = text.rsplit_once('.').is_some_and(|(_, rest)| rest.len() == 2);
    if !hundredths {
        return of.from.clone();
    }
    let jq = format!(
        "({}) | (. * 100 | round | tostring | (if length < 3 then \"00\"[length - 1:] + . else . end)) | .[:-2] + \".\" + .[-2:]",
        of.from.jq
    );
    Reference { jq, ..of.from.clone() }
}

fn question_of_amount(step: &str, pointer: &str, text: &str, of: &Amount) -> Question {
    let id = QuestionId::at(QuestionId::Source, step, &format!("{pointer}{{{text}}}"));
    let mut answers = Vec::new();
    if !text.contains(',') {
        answers.push(Answer::by_id(&id, TAKEN, format!("in each run it is what {} has for it", of.step)));
    }
    let flag = command("--no-link").argument(format!("{step}:{pointer}{{{text}}}"));
    answers.push(Answer::new("always", "the text is the same in each run".to_owned(), flag));
    Question {
        kind: id.kind(),
        ask: format!(
            "{} of {step} says {text}, which {} has from elsewhere in each run: does it stay?",
            place_name(pointer),
            of.step
        ),
        places: vec![Place { step: step.to_owned(), pointer: pointer.to_owned() }],
        evidence: Vec::new(),
        answers,
        taken: "always".to_owned(),
        writes: true,
        open: true,
        id,
    }
}

/// The lists that programs of a write make, of which a run has another count.
fn listed(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Vec<Loop> {
    let mut found = Vec::new();
    references(&step.arguments, &mut |_, reference| {
        let Some((inside, _)) = made_list(&reference.jq).filter(|_| reference.with.is_empty()) else { return };
        let source = draft.steps.iter().find(|one| one.id == reference.step).filter(|one| one.is_one());
        let of = source.and_then(|source| cx.outputs(source.call(cx.trace).response, inside).ok());
        let Some(calls) = of.map(|outputs| outputs.len()).filter(|calls| *calls > 1) else { return };
        let count = Some(Reference { jq: format!("[{inside}] | length"), each: false, ..reference.clone() });
        found.push(Loop { step: format!("`{inside}` of {}", reference.step), calls, count });
    });
    found
}

/// A loop of which a run has another count.
fn counted(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Option<Loop> {
    let items = step.for_each.as_ref().filter(|_| step.calls.len() > 1)?;
    let count = match items {
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
    let gives = |count: &Reference| {
        let source = draft.steps.iter().find(|one| one.id == count.step).filter(|one| one.is_one())?;
        let value = cx.result(source.call(cx.trace).response, &count.jq).ok()?;
        (value.as_u64() == u64::try_from(step.calls.len()).ok()).then_some(())
    };
    let count = count.filter(|count| count.with.is_empty() && gives(count).is_some());
    Some(Loop { step: step.id.clone(), calls: step.calls.len(), count })
}

fn question(step: &str, pointer: &str, of: &Loop) -> Question {
    let calls = of.calls;
    let id = QuestionId::at(QuestionId::Source, step, &format!("{pointer}{{{calls}}}"));
    let mut answers = Vec::new();
    if of.count.is_some() {
        answers.push(Answer::by_id(&id, COUNTED, format!("in each run it is for how many things {} is", of.step)));
    }
    let always = "the text is the same in each run".to_owned();
    answers.push(Answer::new("always", always, command("--no-link").argument(format!("{step}:{pointer}{{{calls}}}"))));
    Question {
        kind: id.kind(),
        ask: format!(
            "{} of {step} says {calls}, and {} was for {calls} things, which are more or fewer in other runs: does it stay?",
            place_name(pointer),
            of.step
        ),
        places: vec![Place { step: step.to_owned(), pointer: pointer.to_owned() }],
        evidence: vec![crate::question::Evidence {
            what: format!("{} was for {calls} things", of.step),
            response: None,
            jq: None,
            value: Value::from(calls),
        }],
        answers,
        taken: "always".to_owned(),
        writes: true,
        open: true,
        id,
    }
}
