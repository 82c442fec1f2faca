//! Which calls become steps, and which value is the result.
//!
//! Kept are the writes, the call whose response is the result, and what those use, directly or not. Left out are
//! failed calls, attempts that a later one replaced, and reads that nothing uses. A write is replaced by a later
//! one only when both have the same target: the same arguments, or for `PUT`, `PATCH` and `DELETE` the same path;
//! two different `POST`s are two effects, and both are kept.

use std::collections::BTreeSet;

use rote_types::{Method, ResponseId, exact_json};
use rote_workspace::ResponseState;
use serde_json::Value;

use super::arguments::Sources;
use super::report::{Dropped, Report};
use super::request::{CrystallizeRequest, ResultSpec};
use crate::error::CrystallizeError;
use crate::trace::{RecordedCall, Trace};
use crate::{FlowError, Surface};

/// The calls that become steps, as positions in the trace, and the result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selection {
    pub(crate) kept: Vec<usize>,
    /// The call whose response the result is read from.
    pub(crate) result_call: usize,
    /// The jq program of the result.
    pub(crate) result_jq: String,
}

/// Selects, and reports what was left out.
pub(crate) fn select(
    sources: &Sources<'_>,
    request: &CrystallizeRequest,
    surface: &dyn Surface,
    report: &mut Report,
) -> Result<Selection, FlowError> {
    let trace = sources.trace;
    let nothing = |reason: &str| {
        FlowError::Crystallize(CrystallizeError::NothingToCrystallize {
            workspace: request.workspace.clone(),
            reason: reason.to_owned(),
        })
    };
    if trace.calls.is_empty() {
        return Err(nothing("it has no calls"));
    }
    if let Some(unknown) = request.skip.iter().find(|id| trace.position(**id).is_none()) {
        return Err(FlowError::Usage { message: format!("`{unknown}` cannot be skipped: no call made it") });
    }
    refuse_in_doubt(trace, request)?;
    let mut reasons: Vec<Option<String>> = trace.calls.iter().map(|call| unusable(call, request)).collect();
    mark_superseded(trace, surface, &mut reasons)?;
    let usable = |position: usize| reasons[position].is_none();
    let last = (0..trace.calls.len()).rev().find(|position| usable(*position));
    let last = last.ok_or_else(|| nothing("none of its calls succeeded"))?;
    let (result_call, result_jq) = choose_result(sources, request, &usable, last, &mut report.notes)?;
    report.result = format!("`{result_jq}` of {}", trace.calls[result_call].name());
    let kept = closure(trace, &reasons, result_call)?;
    for (position, call) in trace.calls.iter().enumerate().filter(|(position, _)| !kept.contains(position)) {
        let reason = reasons[position].take().unwrap_or_else(|| unused(trace, position));
        report.dropped.push(Dropped {
            response: call.response,
            call: format!("{}/{}", call.adapter, call.tool),
            reason,
        });
    }
    Ok(Selection { kept: kept.into_iter().collect(), result_call, result_jq })
}

/// A write that may or may not have happened has no place in a flow, and neither has anything after it.
fn refuse_in_doubt(trace: &Trace, request: &CrystallizeRequest) -> Result<(), FlowError> {
    let in_doubt =
        |call: &&RecordedCall| call.state == ResponseState::InDoubt && !request.skip.contains(&call.response);
    match trace.calls.iter().find(in_doubt) {
        None => Ok(()),
        Some(call) => Err(FlowError::Crystallize(CrystallizeError::InDoubt {
            workspace: request.workspace.clone(),
            response: call.response,
            adapter: call.adapter.clone(),
            tool: call.tool.clone(),
        })),
    }
}

/// Why a call cannot be a step by itself.
fn unusable(call: &RecordedCall, request: &CrystallizeRequest) -> Option<String> {
    if request.skip.contains(&call.response) {
        return Some("skipped as asked".to_owned());
    }
    if call.arguments.is_null() {
        return Some("its arguments are lost".to_owned());
    }
    match call.state {
        ResponseState::Ok => None,
        ResponseState::Error => {
            let why = call.error.clone().or_else(|| call.status.map(|status| status.to_string()));
            Some(format!("failed: {}", why.unwrap_or_else(|| "no answer".to_owned())))
        }
        ResponseState::Cleared => Some("was cleared".to_owned()),
        _ => Some("has no recorded outcome".to_owned()),
    }
}

/// Whether a usable call other than `position` uses its response.
fn is_used(trace: &Trace, reasons: &[Option<String>], position: usize) -> bool {
    let response = trace.calls[position].response;
    let uses = |call: &RecordedCall| call.uses.iter().any(|one| one.source_response == Some(response));
    trace.calls.iter().zip(reasons).any(|(call, reason)| reason.is_none() && uses(call))
}

/// Marks writes that a later one with the same target replaced.
fn mark_superseded(trace: &Trace, surface: &dyn Surface, reasons: &mut [Option<String>]) -> Result<(), FlowError> {
    for earlier in 0..trace.calls.len() {
        let call = &trace.calls[earlier];
        if reasons[earlier].is_some() || !call.is_write() || is_used(trace, reasons, earlier) {
            continue;
        }
        for (later, other) in trace.calls.iter().enumerate().skip(earlier + 1) {
            let same_tool = other.adapter == call.adapter && other.tool == call.tool;
            if same_tool && reasons[later].is_none() && same_target(call, other, surface)? {
                reasons[earlier] = Some(format!("superseded by {}", other.response));
                break;
            }
        }
    }
    Ok(())
}

/// Whether two writes of the same tool act on the same thing.
fn same_target(one: &RecordedCall, other: &RecordedCall, surface: &dyn Surface) -> Result<bool, FlowError> {
    let canonical = |value: &Value| exact_json(value).ok();
    if canonical(&one.arguments) == canonical(&other.arguments) {
        return Ok(true);
    }
    if !matches!(one.method, Method::Put | Method::Patch | Method::Delete) {
        return Ok(false);
    }
    let Some(tool) = surface.tool(&one.adapter, &one.tool)? else {
        return Ok(false);
    };
    let names = tool.path.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name);
    Ok(names
        .into_iter()
        .all(|name| one.arguments.get(name).is_some() && one.arguments.get(name) == other.arguments.get(name)))
}

/// The result: as asked; else the last shown query that no kept call follows; else the last response.
fn choose_result(
    sources: &Sources<'_>,
    request: &CrystallizeRequest,
    usable: &dyn Fn(usize) -> bool,
    last: usize,
    notes: &mut Vec<String>,
) -> Result<(usize, String), FlowError> {
    let trace = sources.trace;
    if let Some(ResultSpec { response, jq }) = &request.result {
        let position = trace.position(*response).filter(|position| usable(*position));
        let position = position.ok_or_else(|| {
            FlowError::Crystallize(CrystallizeError::UnusableResponse {
                by: "result".to_owned(),
                response: *response,
                reason: "is not the answer of a successful call".to_owned(),
            })
        })?;
        return Ok((position, jq.clone()));
    }
    let after = trace.calls[last].command;
    let shown = trace.queries.iter().rev().filter(|query| query.saved_as.is_none() && query.command.0 > after);
    let on_usable = shown.filter_map(|query| {
        let position = trace.position(query.source_response?).filter(|position| usable(*position))?;
        Some((position, query))
    });
    match on_usable.into_iter().next() {
        Some((position, query)) => {
            notes.extend(sources.frozen(query)?.iter().map(|variable| {
                format!("variable `{}` in the result's query is frozen: runs use its value as it is now", variable.name)
            }));
            Ok((position, sources.portable(query)?))
        }
        None => Ok((last, ".".to_owned())),
    }
}

/// The writes, the result's call, and everything that they use.
fn closure(trace: &Trace, reasons: &[Option<String>], result: usize) -> Result<BTreeSet<usize>, FlowError> {
    let writes =
        (0..trace.calls.len()).filter(|position| reasons[*position].is_none() && trace.calls[*position].is_write());
    let mut open: Vec<usize> = writes.chain([result]).collect();
    let mut kept = BTreeSet::new();
    while let Some(position) = open.pop() {
        if !kept.insert(position) {
            continue;
        }
        let call = &trace.calls[position];
        for source in call.uses.iter().filter_map(|one| one.source_response) {
            // A document that was injected is not a call: its values become literals or parameters.
            let Some(needed) = trace.position(source) else { continue };
            if let Some(reason) = &reasons[needed] {
                return Err(unusable_source(call, source, reason));
            }
            open.push(needed);
        }
    }
    Ok(kept)
}

fn unusable_source(call: &RecordedCall, response: ResponseId, reason: &str) -> FlowError {
    FlowError::Crystallize(CrystallizeError::UnusableResponse { by: call.name(), response, reason: reason.to_owned() })
}

/// Why a usable read was left out.
fn unused(trace: &Trace, position: usize) -> String {
    let call = &trace.calls[position];
    let later = trace.calls[position + 1..]
        .iter()
        .find(|other| other.adapter == call.adapter && other.tool == call.tool && other.state == ResponseState::Ok);
    match later {
        Some(later) => format!("superseded by {}", later.response),
        None => "nothing uses what it read".to_owned(),
    }
}
