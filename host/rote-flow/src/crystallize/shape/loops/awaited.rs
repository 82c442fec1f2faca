//! Calls that may be a loop once it is said where their texts come from: until then they differ in more than the item. Who answers what
//! is asked of the items first, `position` of each, would never be offered the loop.

use std::collections::BTreeMap;

use super::of_items;
use crate::crystallize::context::Context;
use crate::crystallize::desk::Desk;
use crate::crystallize::draft::Draft;

/// Says which questions to answer before others.
pub(super) fn tell(cx: &Context<'_>, draft: &Draft, desk: &mut Desk) {
    let mut calls: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    let asked = desk.open().filter(|question| question.answers.iter().any(|answer| answer.word == "taken"));
    for place in asked.flat_map(|question| &question.places) {
        let Some(step) = draft.steps.iter().find(|step| step.id == place.step && step.for_each.is_none()) else {
            continue;
        };
        let call = step.call(cx.trace);
        for (item, _) in of_items(step) {
            let of = (&call.adapter, &call.tool, place.pointer.clone(), item.step, item.array.jq());
            let ids = calls.entry(of).or_default();
            // A call may take several items of one list.
            if !ids.contains(&step.id.as_str()) {
                ids.push(&step.id);
            }
        }
    }
    for ids in calls.into_values().filter(|ids| ids.len() > 1) {
        let text = format!(
            "{} may be one step for each of a list with `taken` as the answer to where their texts come from: answer that before what is asked of \
             the items",
            ids.join(", ")
        );
        desk.note(Some(ids[0]), text, None);
    }
}
