//! Binding: parameters take the places of the values that they stand for.

use super::closure;
use super::context::Context;
use super::desk::Desk;
use super::draft::Draft;
use super::parameters::Parameters;
use crate::FlowError;

/// Makes the parameters that were asked for, in the steps that stay.
pub(crate) fn bind(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &mut Parameters,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let kept = closure::needed(cx.trace, draft);
    parameters.keep_used(draft, &kept);
    parameters.apply(&cx.request.params, draft, &kept, desk)
}
