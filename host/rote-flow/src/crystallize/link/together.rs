//! Several things of one list in one text, or in one list that is sent: `Ann, Bob and Cem`, `ids=[3, 7]`. A person read the list and
//! wrote down some of it, so they are read of it together: all of them, or those that something tells from the others. Where nothing
//! does, that is asked, as the same ones would be sent whatever the list has.

use std::collections::BTreeMap;
use std::ops::Range;

use rote_plan::{equal, text_of};
use serde_json::Value;

use super::super::apart;
use super::super::chance::key_of;
use super::super::occurrences::{Hit, bare_numbers, id_words};
use super::super::path::{Segment, at, jq_of};
use super::super::words::places;
use super::copied::is_identity;
use super::printed::{WRITTEN, distinct, written};
use super::{Linker, Read, is_common};

/// Most places of things of one list in one text.
const MAX_PLACES: usize = 1_000;
/// Most programs that are offered for the same things.
const MAX_READS: usize = 3;

/// The list of an answer that a value is of, and the member that it is of each of its things.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Column {
    call: usize,
    array: Vec<Segment>,
    field: Vec<Segment>,
}

/// Where a value of a column stands in a text, and which things have it.
type Stands = (Range<usize>, Vec<usize>);

/// Some things of a list, as they were written down.
#[derive(Debug, Clone)]
pub(super) struct Together {
    /// Where they stand in the text; nowhere in a list that was sent.
    pub(super) range: Range<usize>,
    /// Where each of them stands.
    pub(super) members: Vec<Range<usize>>,
    /// What reads them, the likeliest first; nothing where nothing tells them from the others.
    pub(super) reads: Vec<Read>,
    /// What reads the same of all things of the list.
    pub(super) all: Read,
    /// How many things it has.
    pub(super) of: usize,
}

impl Column {
    /// The column and the position in it of a value of a list that does not stand in another one.
    fn of(hit: &Hit) -> Option<(Self, usize)> {
        let split = hit.path.iter().position(|segment| matches!(segment, Segment::Index(_)))?;
        let Segment::Index(index) = hit.path[split] else { return None };
        let field = hit.path[split + 1..].to_vec();
        let is_plain = !field.is_empty() && field.iter().all(|segment| matches!(segment, Segment::Key(_)));
        let column = Self { call: hit.call, array: hit.path[..split].to_vec(), field };
        (is_plain && is_identity(hit.field())).then_some((column, index))
    }

    /// The program that takes the member of what another one gives.
    fn taken_of(&self, way: &str) -> String {
        let (field, pipe) = (jq_of(&self.field), if way.contains(" | ") { " | " } else { "" });
        format!("{way}{pipe}{field}")
    }
}

impl Linker<'_, '_> {
    /// The things of lists that a text of a write names one after the other, as people write a list, but for what the person typed
    /// before; those with the most of the text first.
    pub(super) fn together_in(&self, text: &str) -> Vec<Together> {
        if !self.call.is_write() {
            return Vec::new();
        }
        let mut found: Vec<Together> = Vec::new();
        for (column, stands) in self.columns_in(text) {
            for chain in chains(text, &stands) {
                let range = chain[0].0.start..chain[chain.len() - 1].0.end;
                let piece = &text[range.clone()];
                let values: Vec<Value> = chain.iter().map(|(range, _)| Value::from(&text[range.clone()])).collect();
                let as_text = |jq: &str, read: &Read| self.as_text(jq, read, piece);
                let candidates = chain.iter().map(|(_, indexes)| indexes.as_slice()).collect::<Vec<_>>();
                let Some(one) = self.together(&column, &values, &candidates, &as_text) else { continue };
                found.push(Together { range, members: chain.iter().map(|(range, _)| range.clone()).collect(), ..one });
            }
        }
        found.sort_by_key(|one| (std::cmp::Reverse(one.range.len()), one.reads.is_empty()));
        let mut apart: Vec<Together> = Vec::new();
        for one in found {
            match apart.iter_mut().find(|known| known.range.start < one.range.end && one.range.start < known.range.end)
            {
                Some(known) if known.range == one.range => {
                    let reads = std::mem::take(&mut known.reads);
                    known.reads = distinct(reads.into_iter().chain(one.reads));
                    known.reads.truncate(MAX_READS);
                }
                Some(_) => {}
                None => apart.push(one),
            }
        }
        apart
    }

    /// The things of a list that a list is of which a write sends, but for what the person typed before.
    pub(super) fn together_of(&self, name: &str, sent: &Value) -> Option<Together> {
        let items = sent.as_array().filter(|items| self.call.is_write() && items.len() > 1)?;
        let mut columns: BTreeMap<Column, Vec<Vec<usize>>> = BTreeMap::new();
        for (at, item) in items.iter().enumerate().take(MAX_PLACES) {
            for (column, index) in self.stands(item) {
                let all = columns.entry(column).or_insert_with(|| vec![Vec::new(); items.len()]);
                all[at].push(index);
            }
        }
        let as_list = |jq: &str, read: &Read| {
            let jq = format!("[{jq}]");
            let outputs = self.cx.outputs(read.response, &jq).ok()?;
            matches!(outputs.as_slice(), [one] if equal(one, sent)).then_some(jq)
        };
        let found = columns.into_iter().rev().filter(|(_, all)| all.iter().all(|indexes| !indexes.is_empty()));
        let found = found.filter_map(|(column, all)| {
            let candidates: Vec<&[usize]> = all.iter().map(Vec::as_slice).collect();
            let read =
                Read { step: String::new(), response: self.cx.trace.calls[column.call].response, jq: String::new() };
            let is_new = items.iter().any(|item| !self.is_typed_before(name, item, &read));
            self.together(&column, items, &candidates, &as_list).filter(|_| is_new)
        });
        found.reduce(|first, other| if first.reads.is_empty() && !other.reads.is_empty() { other } else { first })
    }

    /// What reads the things of a column that have these values.
    fn together(
        &self,
        column: &Column,
        values: &[Value],
        candidates: &[&[usize]],
        made: &dyn Fn(&str, &Read) -> Option<String>,
    ) -> Option<Together> {
        let indexes = in_turn(candidates)?;
        let response = self.cx.trace.calls[column.call].response;
        let body = self.cx.body(response)?;
        let items = at(&body, &column.array)?.as_array()?;
        // Words that a person says as well are not told to be of the list by being some of it.
        let is_said = |value: &Value| {
            value.as_str().is_some_and(|text| is_common(text) && text.chars().all(|c| !c.is_uppercase()))
        };
        if indexes.len() < items.len() && values.iter().all(is_said) {
            return None;
        }
        let step = self.draft.step_of(column.call).map(|at| self.draft.steps[at].id.clone())?;
        let array = jq_of(&column.array);
        let all = Read { step, response, jq: format!("[{}]", column.taken_of(&format!("{array}[]"))) };
        let in_order = indexes.windows(2).all(|pair| pair[0] < pair[1]);
        let ways = if in_order { apart::ways(self.cx, (response, &array), items, &indexes) } else { Vec::new() };
        let reads = ways.iter().filter_map(|way| Some(Read { jq: made(&column.taken_of(way), &all)?, ..all.clone() }));
        let reads = reads.take(MAX_READS).collect();
        Some(Together { range: 0..0, members: Vec::new(), reads, all, of: items.len() })
    }

    /// The program that writes what another one gives as it stands in a text.
    fn as_text(&self, jq: &str, read: &Read, piece: &str) -> Option<String> {
        let jq = format!("{jq} | tostring");
        let plain = jq.trim_end_matches(" | tostring");
        let outputs = self.cx.outputs(read.response, plain).ok()?;
        let is_text = outputs.iter().all(Value::is_string);
        let texts: Vec<Value> = outputs.iter().map(|one| Value::from(text_of(one))).collect();
        let jq = written((if is_text { plain } else { &jq }, &texts), piece).find(|one| one.text == piece)?.jq;
        let outputs = self.cx.outputs(read.response, &jq).ok()?;
        (*outputs == [Value::from(piece)]).then_some(jq)
    }

    /// Where values of lists stand in a text, in its order, by their columns; the longer ones where they meet.
    fn columns_in(&self, text: &str) -> BTreeMap<Column, Vec<Stands>> {
        let mut columns: BTreeMap<Column, Vec<Stands>> = BTreeMap::new();
        let mut words: Vec<&str> = self.seen.members_in(text);
        words.extend(id_words(text).chain(bare_numbers(text).map(|range| &text[range])));
        words.sort_by_key(|word| (std::cmp::Reverse(word.len()), *word));
        words.dedup();
        for word in words {
            let ranges = places(text, word);
            for (column, index) in self.stands(&Value::from(word)) {
                let stands = columns.entry(column).or_default();
                for range in ranges.iter().take(MAX_PLACES.saturating_sub(stands.len())) {
                    match stands.iter_mut().find(|(one, _)| one.start < range.end && range.start < one.end) {
                        Some((one, indexes)) if one == range => indexes.push(index),
                        Some(_) => {}
                        None => stands.push((range.clone(), vec![index])),
                    }
                }
            }
        }
        for stands in columns.values_mut() {
            stands.sort_by_key(|(range, _)| range.start);
        }
        columns.retain(|column, stands| {
            let is_new = |(range, _): &Stands| !self.seen.is_said_before(&text[range.clone()], column.call);
            stands.len() > 1 && stands.iter().any(is_new)
        });
        columns
    }

    /// The columns of earlier answers that have a value, each with the position there.
    fn stands(&self, value: &Value) -> Vec<(Column, usize)> {
        let Some(key) = key_of(value) else { return Vec::new() };
        let hits = self.first_of_steps(self.seen.all(&key, self.step.calls[0]));
        hits.into_iter().filter_map(Column::of).collect()
    }
}

/// The positions of different things, each the first one behind that of the thing before where there is one.
fn in_turn(candidates: &[&[usize]]) -> Option<Vec<usize>> {
    let mut found: Vec<usize> = Vec::new();
    for indexes in candidates {
        let behind = indexes.iter().filter(|index| found.last().is_none_or(|last| last < *index)).min();
        let free = || indexes.iter().filter(|index| !found.contains(index)).min();
        let next = *behind.or_else(free)?;
        found.push(next);
    }
    (found.len() > 1).then_some(found)
}

/// The places that follow each other with what people write between the items of a list.
fn chains<'s>(text: &str, stands: &'s [Stands]) -> Vec<&'s [Stands]> {
    let gap = |at: usize| stands.get(at + 1).and_then(|(next, _)| text.get(stands[at].0.end..next.start));
    let run = |from: usize, (between, last): (&str, &str)| {
        let mut end = from;
        while gap(end) == Some(between) {
            end += 1;
        }
        let ends = between == last || gap(end) == Some(last);
        let end = if between == last { end } else { end + 1 };
        (ends && end > from).then_some(end + 1)
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < stands.len() {
        match WRITTEN.into_iter().filter_map(|pair| run(at, pair)).max() {
            Some(end) => {
                found.push(&stands[at..end]);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_of_what_one_way_of_writing_a_list_has_between() {
        for (text, wanted) in [
            ("Ann, Bob, Cem", vec!["Ann, Bob, Cem"]),
            ("Ann, Bob and Cem; Dan", vec!["Ann, Bob and Cem"]),
            ("Ann and Bob", vec!["Ann and Bob"]),
            ("- Ann\n- Bob\n\nCem / Dan", vec!["Ann\n- Bob", "Cem / Dan"]),
            ("Ann told Bob, who met Cem", vec![]),
        ] {
            let names = ["Ann", "Bob", "Cem", "Dan"].into_iter().enumerate();
            let mut stands: Vec<Stands> = names
                .flat_map(|(at, name)| places(text, name).into_iter().map(move |range| (range, vec![at])))
                .collect();
            stands.sort_by_key(|(range, _)| range.start);
            let found = chains(text, &stands);
            let found: Vec<&str> = found.iter().map(|one| &text[one[0].0.start..one[one.len() - 1].0.end]).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }

    #[test]
    fn of_several_things_with_one_name_the_next_one_is_meant() {
        assert_eq!(in_turn(&[&[0, 2], &[1], &[0, 2]]), Some(vec![0, 1, 2]));
        assert_eq!(in_turn(&[&[3], &[1]]), Some(vec![3, 1]));
        assert_eq!((in_turn(&[&[3], &[3]]), in_turn(&[&[3]])), (None, None));
    }
}
