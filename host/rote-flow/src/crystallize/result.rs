//! Which value is the result: as asked; else the last shown query that no usable call follows; else the last answer.

use rote_plan::Expression;
use rote_types::ResponseId;

use super::context::Context;
use super::desk::Desk;
use super::draft::Draft;
use super::request::ResultSpec;
use crate::FlowError;
use crate::error::CrystallizeError;

/// Chooses the result, and says of it where it comes from.
pub(crate) fn choose(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<String, FlowError> {
    let (call, step, jq) = source(cx, draft, desk)?;
    let response = cx.trace.calls[call].response;
    draft.result = Expression::From(cx.reference(draft.steps[step].id.clone(), response, jq.clone())?);
    draft.recorded = cx.result(response, &jq)?;
    Ok(format!("`{jq}` of {}", cx.trace.calls[call].name()))
}

/// The call, its step, and the program on its answer.
fn source(cx: &Context<'_>, draft: &Draft, desk: &mut Desk) -> Result<(usize, usize, String), FlowError> {
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
        Some(((call, step), query)) => {
            for variable in cx.frozen(query)? {
                let name = variable.name;
                let text =
                    format!("variable `{name}` in the result's query is frozen: runs use its value as it is now");
                desk.note(None, text, None);
            }
            Ok((call, step, cx.portable(query)?))
        }
        None => Ok((call, step, ".".to_owned())),
    }
}
