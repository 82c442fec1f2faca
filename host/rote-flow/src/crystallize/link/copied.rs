//! What of a write stands in an earlier answer too, though no name says that it was taken from there: an amount that the answer calls
//! a total, the name of a buyer, the code in a text. A flow with the old one would be wrong in silence, so it is asked.
//!
//! Left alone is what a person says as well: common words, small numbers, what several things of a list share.

use std::ops::Range;

use rote_plan::text_of;
use serde_json::{Map, Value};

use super::super::chance::{tells, tells_of_several};
use super::super::context::names_id;
use super::super::dated::dated;
use super::super::occurrences::{Hit, names_title};
use super::super::path::{Segment, at, jq_of};
use super::super::words::{MIN_EMBEDDED_CHARS, days, is_named, places};
use super::super::written::{amounts, has_hundredths, with_hundredths};
use super::currencies::Sum;
use super::printed::says_nothing;
use super::source::same_name;
use super::{Linker, Read, is_common};
use crate::literals::walk_scalars;
use crate::trace::RecordedCall;

/// Fewest arguments with values of one answer under their names that make a copy of it.
const MIN_COPIED: usize = 2;
/// Names of members that say who or which, beside those of ids and titles.
const IDENTITIES: [&str; 8] = ["login", "username", "user", "handle", "code", "sku", "ref", "reference"];

/// What of a text an answer has, and where; `exact` where it is written in the same way.
pub(super) struct Copied {
    pub(super) range: Range<usize>,
    pub(super) reads: Vec<Read>,
    pub(super) exact: bool,
}

impl<'a> Linker<'a, '_> {
    /// Whether a value that is an argument of a write was probably copied from an answer.
    pub(super) fn is_copied(&self, name: &str, value: &Value, hits: &[&Hit]) -> bool {
        if !self.call.is_write() {
            return false;
        }
        let beside = |hit: &&&Hit| self.is_beside(name, hit) && !self.seen.is_said_before(&text_of(value), hit.call);
        if value.is_number() && hits.iter().any(|hit| beside(&hit)) {
            return true;
        }
        if says_nothing(value) {
            return false;
        }
        match value {
            Value::Number(_) => {
                let near = |hit: &Hit| (self.is_of_one(hit) || self.is_of_target(hit)) && !names_id(hit.field());
                let said = |hit: &Hit| self.seen.is_said_before(&text_of(value), hit.call);
                // Under its own name a number of one digit is that of the thing, too.
                let named = |hit: &Hit| self.is_of_target(hit) && same_name(hit.field(), name);
                hits.iter().any(|hit| near(hit) && (self.has_digits(value, hit) || named(hit)) && !said(hit))
            }
            Value::String(text) if is_common(text) && !is_several(text) => {
                let read = |hit: &&&Hit| self.is_of_one(hit) && same_name(hit.field(), name);
                let who = |hit: &Hit| self.is_of_one(hit) && !self.is_enum(name) && is_identity(hit.field());
                matches!(hits, [hit] if who(hit)) || hits.iter().filter(read).any(|hit| self.is_copy_of(hit.call))
            }
            Value::String(text) => self.tells_which(text, hits),
            _ => false,
        }
    }

    /// What of a text stands in earlier answers, beside ids, titles and what a query printed.
    pub(super) fn copied_in(&self, text: &str) -> Vec<Copied> {
        let mut found = Vec::new();
        if !self.call.is_write() {
            return found;
        }
        for piece in self.seen.pieces_in(text) {
            let hits = self.first_of_steps(self.seen.of_title(piece, self.step.calls[0]));
            // A code of two characters is one of the thing at hand, not of some of a list.
            let near = |hit: &&Hit| self.is_of_one(hit) || self.is_of_target(hit);
            let fits = piece.chars().count() >= MIN_EMBEDDED_CHARS || hits.iter().any(near);
            let reads = if fits && self.tells_which(piece, &hits) { self.reads(hits) } else { Vec::new() };
            let all = places(text, piece).into_iter();
            found.extend(all.map(|range| Copied { range, reads: reads.clone(), exact: true }));
        }
        let first = self.first_names(text).into_iter();
        found.extend(first.map(|(range, read)| Copied { range, reads: vec![read], exact: true }));
        for (range, number) in numbers(text) {
            let exact = number == text[range.clone()];
            let mut reads = self.numbered(&number);
            if reads.is_empty() {
                reads = self.named(text, &range, &number);
            }
            if let Some(Sum { code, currencies, sums }) = self.shared_currencies(text, &range, &number) {
                found.push(Copied { range: code, reads: currencies, exact: true });
                reads = if reads.is_empty() { sums } else { reads };
            }
            // `48.20` is written so of `48.2`; with `1,200` a program has no way to say which commas are meant.
            let written = &text[range.clone()];
            let hundredths = has_hundredths(written) && !written.contains(',');
            // `42.75` too, since the next one may be `54.0`.
            let is_number = |read: &Read| {
                let outputs = self.cx.outputs(read.response, &read.jq);
                outputs.is_ok_and(|outputs| matches!(outputs.as_slice(), [Value::Number(_)]))
            };
            for read in reads.iter_mut().filter(|read| hundredths && (!exact || is_number(read))) {
                read.jq = with_hundredths(&read.jq);
            }
            found.push(Copied { reads, range, exact: exact || hundredths });
        }
        for range in days(text) {
            let hits = self.first_of_steps(self.seen.of_day(&text[range.clone()], self.step.calls[0]));
            let hits = hits.into_iter().filter(|hit| self.is_of_one(hit) || self.is_of_target(hit)).collect();
            let day = |read: Read| Read { jq: format!("{} | .[0:10]", read.jq), ..read };
            found.push(Copied { range, reads: self.reads(hits).into_iter().map(day).collect(), exact: true });
        }
        for (range, one) in dated(text) {
            let day = one.day();
            let whole = self.seen.of_the_api(&Value::from(&*day), "", self.step.calls[0]).into_iter();
            let hits = self.first_of_steps(whole.chain(self.seen.of_day(&day, self.step.calls[0])).collect());
            let hits = hits.into_iter().filter(|hit| self.is_of_one(hit) || self.is_of_target(hit)).collect();
            let written = |read: Read| Read { jq: one.form.program(&read.jq), ..read };
            found.push(Copied { range, reads: self.reads(hits).into_iter().map(written).collect(), exact: true });
        }
        found.retain(|one| !one.reads.is_empty());
        found
    }

    /// The first words of what the things are called that the write is for, where the text has no more of it: `Dear Cem` of `Cem Dal`.
    fn first_names(&self, text: &str) -> Vec<(Range<usize>, Read)> {
        let mut found = Vec::new();
        for read in self.draft.steps.iter().filter(|read| read.calls[0] < self.step.calls[0]) {
            let is_one = read.out.is_none() && read.calls.len() == 1 && !read.is_write(self.cx.trace);
            let call = read.call(self.cx.trace);
            let Some(body) = self.cx.body(call.response).filter(|_| is_one) else { continue };
            let members = body.as_object().into_iter().flatten();
            let is_sent = |one: &Value| tells(one) && self.sends(one);
            let asked = call.arguments.as_object().into_iter().flat_map(|asked| asked.values());
            if !members.clone().map(|(_, one)| one).chain(asked).any(is_sent) {
                continue;
            }
            for (name, called) in members.filter(|(name, _)| name.to_ascii_lowercase().ends_with("name")) {
                let Some((first, _)) = called.as_str().and_then(|called| called.split_once(' ')) else { continue };
                let is_name = first.chars().count() >= 3 && first.starts_with(char::is_uppercase);
                let whole = called.as_str().is_some_and(|called| !places(text, called).is_empty());
                if is_name && !whole {
                    let jq = format!("{} | split(\" \")[0]", jq_of(&[Segment::Key(name.clone())]));
                    let read = Read { step: read.id.clone(), response: call.response, jq };
                    found.extend(places(text, first).into_iter().map(|range| (range, read.clone())));
                }
            }
        }
        found
    }

    /// Whether the write sends a value as a whole.
    fn sends(&self, value: &Value) -> bool {
        let mut found = false;
        walk_scalars(&self.call.arguments, String::new(), &mut |_, sent| found |= sent == value);
        found
    }

    /// Whether a text says which thing is meant: of the one thing that was read or of the one that is written, also a name; of a list
    /// what is not a word, and what things are called.
    pub(super) fn tells_which(&self, text: &str, hits: &[&Hit]) -> bool {
        let near = |hit: &&Hit| self.is_of_one(hit) || self.is_of_target(hit);
        let listed = || {
            let called = hits.iter().all(|hit| is_identity(hit.field()));
            !is_category(hits) && (!is_common(text) || is_several(text) && called)
        };
        let word = is_common(text) && !is_several(text);
        if word { matches!(hits, [hit] if near(hit)) } else { hits.iter().any(near) || listed() }
    }

    /// Where a number of a text stands as an amount of one thing that was read, of the thing that is written, or of some length.
    pub(super) fn numbered(&self, number: &str) -> Vec<Read> {
        let Ok(value) = serde_json::from_str::<Value>(number) else { return Vec::new() };
        let mut hits = self.first_of_steps(self.seen.of_the_api(&value, "", self.step.calls[0]));
        hits.retain(|hit| self.has_digits(&value, hit) && !self.seen.is_said_before(number, hit.call));
        if is_category(&hits) && !hits.iter().any(|hit| self.is_of_target(hit)) { Vec::new() } else { self.reads(hits) }
    }

    /// Where a short number of a text is that of the one thing that was read, or of the thing that is written, by the name beside it:
    /// `line 7`.
    fn named(&self, text: &str, range: &Range<usize>, number: &str) -> Vec<Read> {
        let Ok(value) = serde_json::from_str::<Value>(number) else { return Vec::new() };
        let mut hits = self.first_of_steps(self.seen.of_the_api(&value, "", self.step.calls[0]));
        let near = |hit: &Hit| (self.is_of_one(hit) || self.is_of_target(hit)) && is_named(text, range, hit.field());
        hits.retain(|hit| near(hit) && !self.seen.is_said_before(number, hit.call));
        if says_nothing(&value) { Vec::new() } else { self.reads(hits) }
    }

    /// The places as reads; those of the thing that is written alone where there are some.
    pub(super) fn reads(&self, hits: Vec<&Hit>) -> Vec<Read> {
        let of_target: Vec<&Hit> = hits.iter().copied().filter(|hit| self.is_of_target(hit)).collect();
        let hits = if of_target.is_empty() { hits } else { of_target };
        hits.into_iter().take(MAX_READS).map(|hit| self.read_of(hit)).collect()
    }

    /// The places of the thing that is written, else of one thing; nothing where several things of a list have it.
    pub(super) fn nearest<'h>(&self, mut hits: Vec<&'h Hit>) -> Vec<&'h Hit> {
        if hits.iter().any(|hit| self.is_of_target(hit)) {
            hits.retain(|hit| self.is_of_target(hit));
        } else if is_category(&hits) {
            hits.clear();
        }
        hits.truncate(MAX_READS);
        hits
    }

    /// Whether a number has enough digits for its place.
    fn has_digits(&self, value: &Value, hit: &Hit) -> bool {
        if self.is_of_one(hit) || self.is_of_target(hit) { tells(value) } else { tells_of_several(value) }
    }

    /// Whether a place is of one thing: of what a call asked for by what it says, not of one of several in a list.
    fn is_of_one(&self, hit: &Hit) -> bool {
        let of = &self.cx.trace.calls[hit.call];
        let body = self.cx.body(of.response);
        let alone = |end: usize| {
            let list = body.as_ref().and_then(|body| at(body, &hit.path[..end])?.as_array());
            list.is_some_and(|list| list.len() == 1)
        };
        let lists = (0..hit.path.len()).filter(|end| matches!(hit.path[*end], Segment::Index(_)));
        of.arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) && lists.into_iter().all(alone)
    }

    /// Whether a place is of the thing of a list that the write is for: the write sends its id.
    fn is_of_target(&self, hit: &Hit) -> bool {
        let Some((_, way)) = hit.path.split_last() else { return false };
        let body = self.cx.body(self.cx.trace.calls[hit.call].response);
        body.as_ref().and_then(|body| at(body, way)?.as_object()).is_some_and(|thing| sends(self.call, thing))
    }

    /// Whether several arguments have what an answer has under their names.
    fn is_copy_of(&self, call: usize) -> bool {
        let body = self.cx.body(self.cx.trace.calls[call].response);
        let mut same = 0;
        let Some(body) = body else { return false };
        walk_scalars(&body, String::new(), &mut |pointer, value| {
            let name = super::place_name(pointer);
            let argument = self.call.arguments.get(&name).filter(|argument| !says_nothing(argument));
            same += usize::from(argument == Some(value) && !names_id(&name));
        });
        same >= MIN_COPIED
    }

    /// Whether an argument takes one of a few words.
    pub(super) fn is_enum(&self, name: &str) -> bool {
        let tool = self.cx.tool(self.call);
        tool.is_some_and(|tool| tool.input_schema["properties"][name].get("enum").is_some())
    }
}

/// Whether a call sends the id of a thing.
pub(super) fn sends(call: &RecordedCall, thing: &Map<String, Value>) -> bool {
    let ids = thing.iter().filter(|(name, _)| names_id(name)).map(|(_, id)| text_of(id));
    let ids: Vec<String> = ids.collect();
    let mut found = false;
    walk_scalars(&call.arguments, String::new(), &mut |_, sent| found |= ids.contains(&text_of(sent)));
    found
}

/// Most places that are offered for a part of a text.
const MAX_READS: usize = 3;

/// The numbers of a text, as an answer has them.
pub(crate) fn numbers(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    let marked: Vec<_> = amounts(text).map(|(range, amount)| (range, amount.number)).collect();
    let is_part = |one: &Range<usize>| marked.iter().any(|(range, _)| range.start <= one.start && one.end <= range.end);
    let whole: Vec<_> = super::super::occurrences::bare_numbers(text).filter(|range| !is_part(range)).collect();
    whole.into_iter().map(|range| (range.clone(), text[range].to_owned())).chain(marked)
}

/// Whether several things of a list share a value: that says of what kind they are.
fn is_category(hits: &[&Hit]) -> bool {
    let listed = |hit: &Hit| hit.path.iter().any(|segment| matches!(segment, Segment::Index(_)));
    let shared = |(position, hit): (usize, &&Hit)| {
        let same = |other: &&Hit| other.call == hit.call && other.field() == hit.field() && listed(other);
        listed(hit) && hits[position + 1..].iter().any(same)
    };
    hits.iter().enumerate().any(shared)
}

/// Whether a text has several words that begin with capitals, as names of people do.
fn is_several(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.clone().count() > 1 && words.all(|word| word.starts_with(char::is_uppercase))
}

/// Whether a member of this name says who or which.
pub(super) fn is_identity(field: &str) -> bool {
    names_id(field) || names_title(field) || IDENTITIES.contains(&field.to_ascii_lowercase().as_str())
}
