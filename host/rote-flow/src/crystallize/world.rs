//! Changed worlds: the plan against the recorded answers with other ids, lists and values.

use rote_plan::Plan;

use super::context::Context;
use super::desk::Desk;
use super::parameters::Parameters;
use crate::FlowError;

/// Tries the plan in changed worlds; what it finds become questions or notes, never another plan.
pub(crate) fn try_changed(
    _cx: &Context<'_>,
    _plan: &Plan,
    _parameters: &Parameters,
    _desk: &mut Desk,
) -> Result<(), FlowError> {
    Ok(())
}
