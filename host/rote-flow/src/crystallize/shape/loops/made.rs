//! What is taken by its place from a list that a program makes, `[.items[] | select(…)][0].id`, and is not a loop: the only thing is
//! taken as the only one, and of several it is asked whether their places are meant.

use std::collections::{BTreeMap, BTreeSet};

use rote_types::command;

use super::{indexed, made_item};
use crate::FlowError;
use crate::crystallize::context::Context;
use crate::crystallize::desk::Desk;
use crate::crystallize::draft::Draft;
use crate::crystallize::program;
use crate::literals::{change_references, references};
use crate::question::{Answer, Place, Question, QuestionId};

/// Programs that say in which order things are, or how many: a place among them is meant.
const ORDERED: [&str; 9] =
    ["sort", "sort_by", "min_by", "max_by", "group_by", "unique_by", "reverse", "limit", "first"];

/// What is taken of one list.
#[derive(Default)]
struct Taken {
    indexes: BTreeSet<usize>,
    /// The steps that take it and where, with the program that does.
    by: Vec<(String, String, String)>,
    /// It was typed, and found there.
    is_linked: bool,
}

/// Looks at each place of a list that a program makes.
pub(super) fn places(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    let mut all: BTreeMap<(String, String), Taken> = BTreeMap::new();
    for step in draft.steps.iter().filter(|step| step.out.is_none() && step.broken.is_none()) {
        references(&step.arguments, &mut |pointer, reference| {
            let Some((made, index, _)) = made_item(&reference.jq).filter(|_| reference.with.is_empty()) else { return };
            if !program::names(&made, &ORDERED) && !reference.each {
                let taken = all.entry((reference.step.clone(), made)).or_default();
                taken.indexes.insert(index);
                taken.is_linked |= step.linked.contains(pointer);
                taken.by.push((step.id.clone(), pointer.to_owned(), reference.jq.clone()));
            }
        });
    }
    for ((source, made), taken) in all {
        let of = draft.steps.iter().find(|step| step.id == source && step.is_one()).map(|step| step.call(cx.trace));
        let things = of.and_then(|call| Some(cx.outputs(call.response, &made).ok()?.len()));
        let (Some(things), Some(index)) = (things, taken.indexes.first().copied()) else { continue };
        match (things, taken.indexes.len(), index) {
            (1, 1, 0) if names_one(&made) => only(cx, draft, (&source, &made), &taken, desk),
            (1, 1, 0) => {}
            (_, 1, 0) if !taken.is_linked => {
                let text = format!("{} takes the first of {things} things of `{made}`", taken.by[0].0);
                desk.note(Some(&taken.by[0].0), text, None);
            }
            _ => drop(desk.ask(question(&made, things, &taken))?),
        }
    }
    Ok(())
}

/// Whether it says what a thing is equal to, and not only what it is more or less than: of those the first one is meant.
fn names_one(made: &str) -> bool {
    let conditions = program::conditions(made);
    if !program::stages(made).last().is_some_and(|last| last.trim().starts_with("select(")) {
        return false;
    }
    !conditions.is_empty()
        && conditions.iter().all(|condition| condition.contains("==") && !condition.contains(['<', '>']))
}

/// Takes the one thing that there is: where a run finds several, nobody has said which is meant.
fn only(cx: &Context<'_>, draft: &mut Draft, (source, made): (&str, &str), taken: &Taken, desk: &mut Desk) {
    for (user, pointer, old) in &taken.by {
        let id = QuestionId::at(QuestionId::Pick, user, pointer);
        let Some((.., rest)) = indexed(old).filter(|_| desk.given(&id, &["position"]).is_none()) else { continue };
        let further = format!("{made} | {rest}");
        let response = draft.steps.iter().find(|step| step.id == source).map(|step| step.call(cx.trace).response);
        let outputs = |jq: &str| cx.outputs(response?, jq).ok();
        if outputs(&further).is_none_or(|new| outputs(old).is_none_or(|known| *known != *new)) {
            continue;
        }
        if let Some(step) = draft.steps.iter_mut().find(|step| step.id == *user) {
            change_references(&mut step.arguments, &mut |at, reference| {
                if at == pointer && reference.jq == *old {
                    reference.jq.clone_from(&further);
                }
            });
        }
        let text = format!("{user} takes the only thing of `{made}` of {source}; a run that finds several stops there");
        desk.note(Some(user), text, Some(command("--answer").assignment(&id, "position")));
    }
}

/// Asks whether places are meant: in another run the program makes more, fewer, or others.
fn question(made: &str, things: usize, taken: &Taken) -> Question {
    let steps: BTreeSet<&str> = taken.by.iter().map(|(step, ..)| step.as_str()).collect();
    let steps: Vec<&str> = steps.into_iter().collect();
    let id = QuestionId::Loop(taken.by[0].0.clone());
    let places: Vec<String> = taken.indexes.iter().map(|index| (index + 1).to_string()).collect();
    let takes = if steps.len() == 1 { "takes" } else { "take" };
    let (steps, places) = (steps.join(", "), places.join(", "));
    Question {
        kind: id.kind(),
        ask: format!(
            "{steps} {takes} number {places} of {things} things of `{made}`: are these places meant, and no others?"
        ),
        places: vec![Place { step: taken.by[0].0.clone(), pointer: String::new() }],
        evidence: Vec::new(),
        answers: vec![Answer::new(
            "no",
            "these places in each run, and nothing is done for more".to_owned(),
            command("--loop").assignment(&taken.by[0].0, "no"),
        )],
        taken: "no".to_owned(),
        writes: true,
        open: true,
        id,
    }
}
