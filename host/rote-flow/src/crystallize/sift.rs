//! Which calls fall out although they succeeded: writes that a later one replaced.
//!
//! A write is replaced by a later one only when both have the same target: the same arguments, or for `PUT`, `PATCH` and
//! `DELETE` the same path; two different `POST`s are two effects, and both are kept.

use rote_types::{Method, exact_json};
use serde_json::Value;

use super::context::Context;
use super::desk::Desk;
use super::draft::Draft;
use crate::FlowError;
use crate::trace::RecordedCall;

/// Marks what falls out.
pub(crate) fn sift(cx: &Context<'_>, draft: &mut Draft, _desk: &mut Desk) -> Result<(), FlowError> {
    let calls = &cx.trace.calls;
    for earlier in 0..draft.steps.len() {
        let step = &draft.steps[earlier];
        let call = step.call(cx.trace);
        let used =
            |step: &str| draft.steps.iter().any(|other| other.out.is_none() && other.uses().any(|id| id == step));
        if step.out.is_some() || !call.is_write() || used(&step.id) {
            continue;
        }
        let later = draft.steps[earlier + 1..].iter().filter(|other| other.out.is_none()).find_map(|other| {
            let other = &calls[other.calls[0]];
            let same_tool = other.adapter == call.adapter && other.tool == call.tool;
            (same_tool && same_target(cx, call, other)).then_some(other.response)
        });
        if let Some(later) = later {
            draft.steps[earlier].out = Some(format!("superseded by {later}"));
        }
    }
    Ok(())
}

/// Whether two writes of the same tool act on the same thing.
fn same_target(cx: &Context<'_>, one: &RecordedCall, other: &RecordedCall) -> bool {
    let canonical = |value: &Value| exact_json(value).ok();
    if canonical(&one.arguments) == canonical(&other.arguments) {
        return true;
    }
    if !matches!(one.method, Method::Put | Method::Patch | Method::Delete) {
        return false;
    }
    let Some(tool) = cx.tool(one) else { return false };
    let mut names = tool.path.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name);
    names.all(|name| one.arguments.get(name).is_some() && one.arguments.get(name) == other.arguments.get(name))
}
