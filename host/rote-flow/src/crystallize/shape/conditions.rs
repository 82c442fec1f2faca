//! Conditions: what was asked before a write decides whether it is made.

use super::super::context::Context;
use super::super::desk::Desk;
use super::super::draft::Draft;
use crate::FlowError;

/// Gives steps their conditions.
pub(crate) fn apply(_cx: &Context<'_>, _draft: &mut Draft, _desk: &mut Desk) -> Result<(), FlowError> {
    Ok(())
}
