//! A write that followed one with a condition: what was asked before the first may be what decided about both.

use rote_types::command;

use super::super::super::context::Context;
use super::super::super::desk::Desk;
use super::super::super::draft::{Draft, DraftStep};
use crate::FlowError;
use crate::question::{Answer, Place, Question, QuestionId};

/// Asks whether a step has the condition of the write before it, where nothing was asked between them.
pub(super) fn apply(cx: &Context<'_>, draft: &mut Draft, position: usize, desk: &mut Desk) -> Result<(), FlowError> {
    let Some(first) = conditional(cx, draft, position) else { return Ok(()) };
    let (first, step) = (&draft.steps[first], &draft.steps[position]);
    let (when, relies) = (first.when.clone(), first.relies.clone());
    if desk.ask(question(cx, first, step))? == "yes" {
        desk.note(Some(&step.id), format!("{} only when {} is made", step.id, first.id), None);
        let step = &mut draft.steps[position];
        (step.when, step.relies) = (when, relies);
    }
    Ok(())
}

/// The write before a step, where it is made under a condition and the step does not wait for it already.
fn conditional(cx: &Context<'_>, draft: &Draft, position: usize) -> Option<usize> {
    let step = &draft.steps[position];
    let stays = |step: &DraftStep| step.out.is_none() && step.broken.is_none() && step.is_write(cx.trace);
    let first = (0..position).rev().find(|at| stays(&draft.steps[*at]))?;
    let before = &draft.steps[first];
    let waits = step.uses().any(|id| id == before.id);
    (before.when.is_some() && before.for_each.is_none() && before.instead.is_none() && !waits).then_some(first)
}

fn question(cx: &Context<'_>, first: &DraftStep, step: &DraftStep) -> Question {
    let (id, before) = (&step.id, &first.id);
    let when = |word: &str, means: String| Answer::new(word, means, command("--when").assignment(id, word));
    let mut answers =
        vec![when("yes", format!("{id} is made when {before} is")), when("no", format!("{id} is made in each run"))];
    answers.extend(step.skip(cx.trace));
    let question = QuestionId::When(id.clone());
    Question {
        kind: question.kind(),
        ask: format!(
            "{id} came after {before}, which has a condition, and nothing was asked between: is it made only then, too?"
        ),
        places: [first, step].map(|step| Place { step: step.id.clone(), pointer: String::new() }).to_vec(),
        evidence: Vec::new(),
        taken: "yes".to_owned(),
        answers,
        writes: true,
        open: true,
        id: question,
    }
}
