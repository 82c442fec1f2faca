//! What of a text is short, and stands in the thing that the rest of the text was taken from: the `B7` and the `3` of `Order 5001: 3
//! bags at B7`. Alone it would be equal by chance; beside what tells it is written off the same thing.

use std::ops::Range;

use rote_plan::text_of;
use serde_json::Value;

use super::super::path::{Segment, jq_of, path_of};
use super::super::program::stages;
use super::super::words::places;
use super::copied::numbers;
use super::printed::{distinct, says_nothing};
use super::{Linker, Read, is_common};

/// Most things that a text was taken from.
const MAX_THINGS: usize = 8;

impl Linker<'_, '_> {
    /// What else of a text the things have that these reads take something of, where one member alone has it.
    pub(super) fn beside(&self, text: &str, taken: &[Read]) -> Vec<(Range<usize>, Read)> {
        let things = distinct(taken.iter().filter_map(around));
        let mut found: Vec<(Range<usize>, Read)> = Vec::new();
        for thing in things.into_iter().take(MAX_THINGS) {
            let outputs = self.cx.outputs(thing.response, &thing.jq);
            let Some(call) = self.cx.trace.position(thing.response) else { continue };
            let Some([Value::Object(members)]) = outputs.as_ref().ok().map(|outputs| outputs.as_slice()) else {
                continue;
            };
            for (name, value) in members {
                let same = |other: &&Value| text_of(other) == text_of(value);
                let alone = members.values().filter(same).count() == 1;
                if !alone || says_nothing(value) || self.seen.is_said_before(&text_of(value), call) {
                    continue;
                }
                let member = jq_of(&[Segment::Key(name.clone())]);
                let jq = if path_of(&thing.jq).is_none() {
                    format!("{} | {member}", thing.jq)
                } else if thing.jq == "." {
                    member
                } else {
                    format!("{}{member}", thing.jq)
                };
                found.extend(standing(text, value).map(|range| (range, Read { jq: jq.clone(), ..thing.clone() })));
            }
        }
        found
    }
}

/// The thing that a read takes a member of.
fn around(read: &Read) -> Option<Read> {
    let of = |path: &[Segment]| {
        let (last, way) = path.split_last()?;
        matches!(last, Segment::Key(_)).then(|| jq_of(way))
    };
    if let Some(path) = path_of(&read.jq) {
        return Some(Read { jq: of(&path)?, ..read.clone() });
    }
    let all = stages(&read.jq);
    let (last, before) = all.split_last().filter(|(_, before)| !before.is_empty())?;
    let way = of(&path_of(last.trim())?)?;
    let before = before.iter().map(|stage| stage.trim()).collect::<Vec<_>>().join(" | ");
    let jq = if way == "." { before } else { format!("{before} | {way}") };
    Some(Read { jq, ..read.clone() })
}

/// Where a number, or a text that is not of common words, stands in a longer one, as a word of its own.
fn standing(text: &str, value: &Value) -> impl Iterator<Item = Range<usize>> {
    let found: Vec<Range<usize>> = match value {
        Value::Number(_) => {
            let wanted = text_of(value);
            numbers(text)
                .filter(|(range, number)| *number == wanted && text[range.clone()] == wanted)
                .map(|(range, _)| range)
                .collect()
        }
        Value::String(piece) if !is_common(piece) && piece.len() < text.len() => places(text, piece),
        _ => Vec::new(),
    };
    found.into_iter()
}
