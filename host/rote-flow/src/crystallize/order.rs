//! The order that effects impose on the steps.
//!
//! Values order steps by themselves. Beyond that a write waits for every step recorded before it, and a read for every
//! write before it: what was seen after a change must be seen after it again. A read that waits counts as a write. Other reads between two writes are independent and
//! run at once. Needs that others imply are left out.

use std::collections::BTreeSet;

use super::draft::Draft;
use crate::trace::Trace;

/// Adds the needs that the order of effects imposes.
pub(crate) fn effects(trace: &Trace, draft: &mut Draft) {
    let bars: Vec<bool> = draft.steps.iter().map(|step| step.is_write(trace) || step.until.is_some()).collect();
    let mut reached: Vec<BTreeSet<usize>> = Vec::with_capacity(bars.len());
    for position in 0..bars.len() {
        let derived: BTreeSet<&str> = draft.steps[position].uses().collect();
        let mut behind: BTreeSet<usize> =
            (0..position).filter(|earlier| derived.contains(draft.steps[*earlier].id.as_str())).collect();
        for direct in behind.clone() {
            behind.extend(reached[direct].iter().copied());
        }
        let mut needs = Vec::new();
        let mut after = Vec::new();
        // The latest first: what it waits for itself need not be named again.
        for earlier in (0..position).rev() {
            if (bars[position] || bars[earlier]) && !behind.contains(&earlier) {
                // One that may be skipped must not skip what comes after it, unless that was asked whether it succeeded.
                let id = &draft.steps[earlier].id;
                let skips = draft.steps[earlier].when.is_none() || draft.steps[position].relies.contains(id);
                let list = if skips { &mut needs } else { &mut after };
                list.push(id.clone());
                behind.insert(earlier);
                behind.extend(reached[earlier].iter().copied());
            }
        }
        needs.reverse();
        after.reverse();
        (draft.steps[position].needs, draft.steps[position].after) = (needs, after);
        reached.push(behind);
    }
}
