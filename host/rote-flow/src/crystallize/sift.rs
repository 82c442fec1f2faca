//! Which calls fall out although they succeeded: writes whose every field a later one sets, and what was made and deleted
//! again.
//!
//! A `PATCH` or `PUT` is covered by a later one of the same thing only when that sets each of its fields; two that set other
//! fields both stay. The same write twice is two effects: both stay, and it is said. A `POST` is never covered.

mod undo;

use std::collections::BTreeSet;

use rote_plan::Onward;
use rote_types::{Method, command, exact_json};
use serde_json::Value;

use super::context::Context;
use super::desk::Desk;
use super::draft::{Draft, DraftStep};
use crate::FlowError;
use crate::literals::visit_value;
use crate::question::QuestionId;
use crate::trace::RecordedCall;

/// Marks what falls out.
pub(crate) fn sift(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    undo::pairs(cx, draft, desk)?;
    let asked = undo::reversals(cx, draft, desk)?;
    // Each is compared with all behind it.
    let sent: Vec<_> = draft.steps.iter().map(|step| exact_json(&step.call(cx.trace).arguments).ok()).collect();
    for earlier in 0..draft.steps.len() {
        let step = &draft.steps[earlier];
        if step.out.is_some() || !step.is_write(cx.trace) || asked.contains(&earlier) {
            continue;
        }
        let call = step.call(cx.trace);
        let path = cx.path_arguments(call);
        let of_one_thing = |at: &usize| {
            let other = draft.steps[*at].call(cx.trace);
            let same_tool = other.adapter == call.adapter && other.tool == call.tool;
            same_tool && (sent[*at] == sent[earlier] || same_target(call, &path, other))
        };
        let mut stays = (earlier + 1..draft.steps.len()).filter(|at| draft.steps[*at].out.is_none());
        let Some(at) = stays.find(of_one_thing) else { continue };
        let later = &draft.steps[at];
        let (id, response) = (&later.id, later.call(cx.trace).response);
        if sent[at] == sent[earlier] {
            let text = format!("{} and {id} are the same write twice", step.id);
            desk.note(Some(&step.id), text, Some(command("--skip").argument(call.response)));
        } else if !is_covered(cx, draft, step, later) {
            desk.note(Some(&step.id), format!("kept {0} and {id}: {0} sets fields that {id} does not", step.id), None);
        } else if !undo::is_kept(desk, &step.id) {
            let reason = format!("superseded by {response}, which sets all of its fields; `--keep {}`", call.response);
            draft.steps[earlier].out = Some(reason);
        }
    }
    // Who says of a write that it stays is told nothing new where it does.
    for step in draft.steps.iter().filter(|step| step.out.is_none() && step.is_write(cx.trace)) {
        desk.given(&QuestionId::Undo(step.id.clone()), &["keep"]);
    }
    Ok(())
}

/// Whether two writes of the same tool act on the same thing, which the `path` of the first names.
fn same_target(one: &RecordedCall, path: &[(String, &Value)], other: &RecordedCall) -> bool {
    matches!(one.method, Method::Put | Method::Patch)
        && !path.is_empty()
        && path.iter().all(|(name, value)| other.arguments.get(name) == Some(value))
}

/// Whether nothing is lost when only the later one of two writes of one thing is made.
fn is_covered(cx: &Context<'_>, draft: &Draft, step: &DraftStep, later: &DraftStep) -> bool {
    let (call, other) = (step.call(cx.trace), later.call(cx.trace));
    let used = draft.steps.iter().any(|user| user.out.is_none() && user.uses().any(|id| id == step.id));
    let target: Vec<&Value> = cx.path_arguments(call).into_iter().map(|(_, value)| value).collect();
    let between = draft.steps.iter().filter(|one| {
        one.out.is_none() && one.is_write(cx.trace) && (step.calls[0] + 1..later.calls[0]).contains(&one.calls[0])
    });
    let touched = between.into_iter().any(|one| {
        let mut values = Vec::new();
        leaves(&one.call(cx.trace).arguments, &mut |_, value| values.push(value.clone()));
        target.iter().any(|id| values.contains(id))
    });
    !used && !touched && fields(&call.arguments).is_subset(&fields(&other.arguments))
}

/// The pointers of what a call sets; arrays are one field each.
fn fields(arguments: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    leaves(arguments, &mut |pointer, _| {
        found.insert(pointer.to_owned());
    });
    found
}

/// Visits everything that is not an object with members.
fn leaves(value: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    visit_value(value, &mut String::new(), &mut |pointer, one| {
        if one.as_object().is_some_and(|members| !members.is_empty()) {
            return Onward::Into;
        }
        visit(pointer, one);
        Onward::Past
    });
}
