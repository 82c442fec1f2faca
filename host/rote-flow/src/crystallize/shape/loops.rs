//! Loops: calls that repeat for the items of one answer become one step.

use super::super::context::Context;
use super::super::desk::Desk;
use super::super::draft::Draft;
use crate::FlowError;

/// Folds repetitions.
pub(crate) fn fold(_cx: &Context<'_>, _draft: &mut Draft, _desk: &mut Desk) -> Result<(), FlowError> {
    Ok(())
}
