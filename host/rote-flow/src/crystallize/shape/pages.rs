//! Pages: calls of one tool that are fed by the answer before become one step.

use super::super::context::Context;
use super::super::desk::Desk;
use super::super::draft::Draft;
use crate::FlowError;

/// Merges the pages.
pub(crate) fn merge(_cx: &Context<'_>, _draft: &mut Draft, _desk: &mut Desk) -> Result<(), FlowError> {
    Ok(())
}
