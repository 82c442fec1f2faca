//! Reads that come behind a write although they need nothing of it: where such a list has not what a later write takes of it, the run
//! stops when a part is done. A plan keeps the order, since the write may change what is read, so it is said.

use std::collections::BTreeSet;

use super::context::Context;
use super::desk::Desk;
use super::draft::Draft;
use super::{pick, program};

/// Says it of each such read.
pub(crate) fn tell(cx: &Context<'_>, draft: &Draft, desk: &mut Desk) {
    let Some(first) = draft.steps.iter().position(|step| step.is_write(cx.trace)) else { return };
    // What is made of an answer of a write has to come behind it.
    let mut behind: BTreeSet<&str> = BTreeSet::new();
    for step in &draft.steps[first..] {
        if step.is_write(cx.trace) || step.uses().any(|used| behind.contains(used)) {
            behind.insert(&step.id);
            continue;
        }
        let chooses = |jq: &str| pick::chooses(jq) || !program::positions(jq).is_empty() || jq.contains("[]");
        let taker = draft.steps.iter().filter(|one| one.is_write(cx.trace)).find(|one| {
            let mut references = one.expressions().into_iter().flat_map(rote_plan::Expression::references);
            references.any(|reference| reference.step == step.id && chooses(&reference.jq))
        });
        if let Some(taker) = taker {
            let (id, taker, first) = (&step.id, &taker.id, &draft.steps[first].id);
            let text = format!(
                "{id} is read behind {first}, as it was done: a run in which it has not what {taker} takes stops when {first} is made already"
            );
            desk.note(Some(id), text, None);
        }
    }
}
