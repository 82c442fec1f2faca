//! Which value is the result: as asked; else the last shown query that no usable call follows; else the last answer.

use rote_plan::{Expression, Reference};
use rote_types::{QueryLimits, ResponseId, command};
use serde_json::Value;

use super::arguments::unwrapped;
use super::context::Context;
use super::desk::Desk;
use super::draft::Draft;
use super::parameters::Parameters;
use super::request::ResultSpec;
use super::shape::conditions;
use crate::FlowError;
use crate::error::CrystallizeError;

/// Chooses the result, and says of it where it comes from.
pub(crate) fn choose(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &mut Parameters,
    desk: &mut Desk,
) -> Result<String, FlowError> {
    let (call, step, jq) = source(cx, draft)?;
    let shown = cx.trace.calls[call].response;
    let response = cx.whole(shown);
    let jq = if response == shown && draft.steps[step].pages.is_none() {
        jq
    } else {
        of_pages(cx, draft, step, (shown, jq), desk)?
    };
    if draft.steps[step].for_each.is_some() {
        of_loop(cx, draft, step, &jq)?;
    } else {
        let reference = Reference::new(draft.steps[step].id.clone(), jq.clone());
        let step_of = |response| Some(draft.steps[draft.step_of(cx.trace.position(response)?)?].id.clone());
        let mut parameter = |name: &str, value| parameters.variable(name, value);
        let reference = cx.bound(reference, response, u64::MAX, &step_of, &mut parameter)?;
        let values = cx.variables_of(&jq, u64::MAX)?;
        let values = values.iter().map(|(variable, _)| (variable.name.as_str(), &variable.value));
        draft.recorded = cx.result(response, &rote_plan::bind(&jq, values))?;
        draft.result = Expression::From(reference);
    }
    conditions::of_result(draft);
    Ok(format!("`{jq}` of {}", cx.trace.calls[call].name()))
}

/// The program on all pages of a list for one that was run on one of them: the items, where it joined them by hand.
fn of_pages(
    cx: &Context<'_>,
    draft: &Draft,
    step: usize,
    (shown, jq): (ResponseId, String),
    desk: &mut Desk,
) -> Result<String, FlowError> {
    let step = &draft.steps[step];
    let Some(pages) = &step.pages else { return Ok(jq) };
    let values = cx.variables_of(&jq, u64::MAX)?;
    let bound = rote_plan::bind(&jq, values.iter().map(|(variable, _)| (variable.name.as_str(), &variable.value)));
    let body = cx.recorded(shown).map_or_else(String::new, |body| body.to_string());
    let seen = cx.engine.run(&bound, body.as_bytes(), &QueryLimits::default())?.values;
    let seen: Vec<Value> = seen.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    let all = cx.whole(shown);
    if *cx.outputs(all, &pages.items)? == seen {
        return Ok(pages.items.clone());
    }
    if *cx.outputs(all, &bound)? != seen {
        let text = format!("the result is `{jq}` of all pages of {}, not of one", step.id);
        desk.note(None, text, Some(command("--pages").assignment(&step.id, "no")));
    }
    Ok(jq)
}

/// The result of a loop: that of each call, as an array.
fn of_loop(cx: &Context<'_>, draft: &mut Draft, step: usize, jq: &str) -> Result<(), FlowError> {
    let step = &draft.steps[step];
    let responses = step.calls.iter().map(|call| cx.trace.calls[*call].response);
    let outputs: Vec<_> = responses.map(|response| cx.outputs(response, jq)).collect::<Result<_, _>>()?;
    let each = outputs.iter().any(|outputs| outputs.len() != 1);
    draft.result = Expression::From(Reference { each, ..Reference::new(step.id.clone(), jq.to_owned()) });
    draft.recorded = outputs.iter().flat_map(|outputs| outputs.iter().cloned()).collect();
    Ok(())
}

/// The call, its step, and the program on its answer.
pub(crate) fn source(cx: &Context<'_>, draft: &Draft) -> Result<(usize, usize, String), FlowError> {
    let usable = |response: ResponseId| {
        let call = cx.trace.position(response)?;
        let step = draft.step_of(call).filter(|step| draft.steps[*step].out.is_none())?;
        Some((call, step))
    };
    if let Some(ResultSpec { response, jq }) = &cx.request.result {
        let (call, step) = usable(*response).ok_or_else(|| {
            FlowError::Crystallize(CrystallizeError::UnusableResponse {
                by: "result".to_owned(),
                response: *response,
                reason: "is not the answer of a successful call".to_owned(),
            })
        })?;
        return Ok((call, step, jq.clone()));
    }
    let stays = draft.steps.iter().enumerate().filter(|(_, step)| step.out.is_none());
    let last = stays.flat_map(|(position, step)| step.calls.iter().map(move |call| (*call, position))).max();
    let Some((call, step)) = last else {
        return Err(FlowError::Crystallize(CrystallizeError::NothingToCrystallize {
            workspace: cx.request.workspace.clone(),
            reason: "all of its calls were left out".to_owned(),
        }));
    };
    let after = cx.trace.calls[call].command;
    let mut shown = cx.trace.queries.iter().rev().filter(|query| query.saved_as.is_none() && query.command.0 > after);
    let shown = shown.find_map(|query| Some((usable(query.source_response?)?, query)));
    match shown {
        Some(((call, step), query)) => Ok((call, step, unwrapped(&query.program, query.unwrap_mcp))),
        None => Ok((call, step, ".".to_owned())),
    }
}
