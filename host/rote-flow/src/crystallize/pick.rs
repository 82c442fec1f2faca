//! Picks: the position of an item becomes the property that it was chosen for.

use rote_types::ResponseId;

use super::context::Context;
use super::desk::Desk;
use super::draft::Draft;
use crate::FlowError;

/// Replaces positions.
pub(crate) fn properties(_cx: &Context<'_>, _draft: &mut Draft, _desk: &mut Desk) -> Result<(), FlowError> {
    Ok(())
}

/// Returns the condition of a logged query that gives exactly these elements of an array in an answer, as a jq program on one
/// element.
#[expect(dead_code, reason = "the first pass that looks for a condition takes this away")]
pub(crate) fn condition(_cx: &Context<'_>, _response: ResponseId, _array: &str, _elements: &[usize]) -> Option<String> {
    None
}
