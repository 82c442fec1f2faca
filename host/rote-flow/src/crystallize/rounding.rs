//! What a program reckons into a text is rounded as the recorded text was: decimal fractions added up as binary ones would give
//! `0.30000000000000004` in another run.

use rote_plan::{Bound, Expression, Onward, Reference, text_of};
use serde_json::Value;

use super::bind::known;
use super::context::Context;
use super::draft::Draft;
use super::parameters::Parameters;
use super::program::reckons;
use super::written::Written;

/// Rounds what the texts of the writes that stay reckon.
pub(crate) fn round_texts(cx: &Context<'_>, draft: &mut Draft, parameters: &Parameters) {
    let mut changed = Vec::new();
    for (at, step) in draft.steps.iter().enumerate().filter(|(_, step)| step.is_write(cx.trace)) {
        let mut arguments = step.arguments.clone();
        let mut any = false;
        arguments.visit_mut(&mut |_, one| {
            let Expression::Text(parts) = one else { return Onward::Into };
            for part in parts {
                let Expression::From(reference) = part else { continue };
                if let Some(jq) = rounded_as_recorded(cx, draft, parameters, reference) {
                    (reference.jq, any) = (jq, true);
                }
            }
            Onward::Past
        });
        changed.extend(any.then_some((at, arguments)));
    }
    for (at, arguments) in changed {
        draft.steps[at].arguments = arguments;
    }
}

/// The program that writes what another one reckons as it was written in the recording; none where it reckons nothing.
fn rounded_as_recorded(
    cx: &Context<'_>,
    draft: &Draft,
    parameters: &Parameters,
    reference: &Reference,
) -> Option<String> {
    let source = draft.steps.iter().find(|step| step.id == reference.step)?;
    if reference.each || !source.is_one() || !reckons(&reference.jq) {
        return None;
    }
    let gives = |jq: &str| {
        let read = Reference { jq: jq.to_owned(), ..reference.clone() };
        known(cx, draft, parameters, &Bound::From(Box::new(read)))
    };
    let recorded = gives(&reference.jq).filter(Value::is_f64)?;
    let jq = Written::of(&text_of(&recorded))?.program(&reference.jq);
    (text_of(&gives(&jq)?) == text_of(&recorded)).then_some(jq)
}
