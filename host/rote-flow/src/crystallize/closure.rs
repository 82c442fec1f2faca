//! What stays: the writes, what is waited for, the step of the result, and everything that they use, directly or not.

use std::collections::BTreeSet;

use rote_workspace::ResponseState;

use super::context::Context;
use super::desk::Desk;
use super::draft::{Draft, DraftStep, unusable_source};
use crate::FlowError;
use crate::trace::Trace;

/// Returns the positions of the steps that stay.
pub(crate) fn needed(trace: &Trace, draft: &Draft) -> BTreeSet<usize> {
    let is_for_itself = |step: &DraftStep| step.is_write(trace) || step.until.is_some();
    let writes = draft.steps.iter().enumerate().filter(|(_, step)| step.out.is_none() && is_for_itself(step));
    let mut open: Vec<usize> = writes.map(|(position, _)| position).collect();
    let find = |id: &str| draft.steps.iter().position(|step| step.id == id);
    open.extend(draft.result.references().iter().filter_map(|reference| find(&reference.step)));
    used_by(draft, open)
}

/// These steps and all that they use.
fn used_by(draft: &Draft, mut open: Vec<usize>) -> BTreeSet<usize> {
    let find = |id: &str| draft.steps.iter().position(|step| step.id == id);
    let mut kept = BTreeSet::new();
    while let Some(position) = open.pop() {
        if kept.insert(position) {
            let step = &draft.steps[position];
            open.extend(step.uses().chain(step.relies.iter().map(String::as_str)).filter_map(find));
        }
    }
    kept
}

/// Returns the steps that a write is or uses, directly or not.
pub(crate) fn for_writes<'d>(trace: &Trace, draft: &'d Draft) -> BTreeSet<&'d str> {
    let writes = draft.steps.iter().enumerate().filter(|(_, step)| step.is_write(trace));
    let writes = writes.map(|(position, _)| position).collect();
    used_by(draft, writes).into_iter().map(|position| draft.steps[position].id.as_str()).collect()
}

/// Returns the step whose answer is the input of a program of a write: the one that the program reads. For parameters any will do: the
/// first that is made in each run, so that what cannot be reckoned stops the run early.
pub(crate) fn input(trace: &Trace, draft: &Draft, step: &DraftStep, read: Option<String>) -> Option<String> {
    let earlier = || {
        let kept = needed(trace, draft);
        let mut before = kept.iter().map(|at| &draft.steps[*at]).filter(|one| one.calls[0] < step.calls[0]);
        let is_plain = |one: &&DraftStep| one.for_each.is_none() && one.when.is_none() && one.out.is_none();
        before.find(is_plain).map(|one| one.id.clone())
    };
    let used = || step.uses().next().map(str::to_owned);
    read.or_else(earlier).or_else(used)
}

/// Takes out what nothing needs.
pub(crate) fn prune(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    let kept = needed(cx.trace, draft);
    refuse_unusable(cx.trace, draft, &kept)?;
    for (position, step) in std::mem::take(&mut draft.steps).into_iter().enumerate() {
        match step.broken {
            Some(broken) if kept.contains(&position) => return Err(broken),
            _ if kept.contains(&position) => draft.steps.push(step),
            _ => {
                let reason = step.out.clone().unwrap_or_else(|| unused(cx.trace, &step));
                step.calls.iter().for_each(|call| desk.leave_out(&cx.trace.calls[*call], reason.clone()));
            }
        }
    }
    Ok(())
}

/// A step that stays uses one that does not.
fn refuse_unusable(trace: &Trace, draft: &Draft, kept: &BTreeSet<usize>) -> Result<(), FlowError> {
    for step in kept.iter().map(|position| &draft.steps[*position]) {
        let gone = step.uses().find_map(|id| draft.steps.iter().find(|other| other.id == id && other.out.is_some()));
        if let Some((gone, reason)) = gone.and_then(|gone| Some((gone, gone.out.as_ref()?))) {
            return Err(unusable_source(step.call(trace), gone.call(trace).response, reason));
        }
    }
    Ok(())
}

/// Why a usable read was left out.
fn unused(trace: &Trace, step: &DraftStep) -> String {
    let call = step.call(trace);
    let later = trace.calls[step.calls[0] + 1..]
        .iter()
        .find(|other| other.adapter == call.adapter && other.tool == call.tool && other.state == ResponseState::Ok);
    match later {
        Some(later) => format!("superseded by {}", later.response),
        None => "nothing that stays uses it".to_owned(),
    }
}
