//! What a query printed and nothing else: the best evidence of where a value of a write comes from, whatever its argument is called.

use std::rc::Rc;

use rote_plan::{equal, text_of};
use serde_json::Value;

use super::super::chance::{key_of, rounded, tells};
use super::super::context::names_id;
use super::super::occurrences::{Hit, id_words};
use super::super::path::{Segment, jq_of, path_of};
use super::super::pick::chooses;
use super::super::program::{last_field, piped, stages, string_literals};
use super::super::words::{MIN_EMBEDDED_CHARS, places};
use super::super::written::{has_hundredths, with_hundredths};
use super::source::{Sources, holds, kind_of_hit, same_name, shown};
use super::{Linker, Read};

/// Names of arguments that say how many, beside those with `count`.
const COUNTS: [&str; 4] = ["number", "quantity", "size", "total"];
/// How people write a list: what stands between two of its items, and what between the last two.
pub(super) const WRITTEN: [(&str, &str); 10] = [
    (", ", ", "),
    (", ", " and "),
    (", ", ", and "),
    (", ", " & "),
    (",", ","),
    ("; ", "; "),
    (" / ", " / "),
    ("\n", "\n"),
    ("\n- ", "\n- "),
    ("\n* ", "\n* "),
];
/// Most items of a list that is looked for in a text.
const MAX_ITEMS: usize = 1_000;
/// Most programs that are offered for one value.
const MAX_PRINTED: usize = 3;

impl<'a> Linker<'a, '_> {
    /// What printed exactly this value before this write, the last query first; none of what the person typed before that.
    pub(super) fn printed(&self, name: &str, value: &Value) -> Vec<Read> {
        if !self.call.is_write() || says_nothing(value) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (read, outputs) in self.prints() {
            let typed = string_literals(&read.jq).iter().any(|literal| *value == *literal.text);
            if typed || self.is_typed_before(name, value, &read) {
                continue;
            }
            let gives = |jq: &String| {
                let outputs = self.cx.outputs(read.response, jq);
                outputs.is_ok_and(|outputs| matches!(outputs.as_slice(), [one] if same(one, value)))
            };
            let many = value.as_array().filter(|items| items.len() > 1);
            let collected = many.filter(|_| equal(&Value::from(outputs.as_slice()), value));
            found.extend(self.counted_in_a_text(name, value, &read));
            let jq = match (collected, counted(name, value, &outputs)) {
                (Some(_), _) => format!("[{}]", read.jq),
                (None, true) if outputs.len() == 1 => format!("{} | length", read.jq),
                (None, true) => format!("[{}] | length", read.jq),
                (None, false) => read.jq.clone(),
            };
            let as_text =
                value.as_str().and_then(|text| written((&read.jq, &outputs), text).find(|one| one.text == text));
            let jq = as_text.map_or(jq, |one| one.jq);
            // What stands in the answer itself is read there, unless the query chose of what it is.
            let body = self.cx.body(read.response);
            let apart = chooses(&read.jq) || !body.is_some_and(|body| holds(&body, value));
            let of_one = member(&read.jq, &outputs, name, value).filter(|jq| apart && gives(jq));
            let jq = if gives(&jq) { Some(jq) } else { with_rounding(&jq, &outputs, value).filter(gives) };
            found.extend(jq.map(|jq| Read { jq, ..read.clone() }));
            found.extend(of_one.map(|jq| Read { jq, ..read }));
        }
        let mut found = distinct(found);
        found.truncate(MAX_PRINTED);
        found
    }

    /// How many things a list has that the write sends beside the number, as the one thing read last has it.
    pub(super) fn counted_beside(&self, name: &str, value: &Value) -> Option<Read> {
        let sent = self.call.arguments.as_object().filter(|_| self.call.is_write() && value.is_number())?;
        let lists = sent.iter().filter(|(_, list)| counted(name, value, std::slice::from_ref(*list)));
        lists.filter(|(_, list)| list.is_array()).find_map(|(name, list)| {
            self.find_list(name, |read, had, _| {
                equal(&Value::from(had), list).then(|| Read { jq: format!("{} | length", read.jq), ..read })
            })
        })
    }

    /// How many things a query joined to one text.
    fn counted_in_a_text(&self, name: &str, value: &Value, read: &Read) -> Option<Read> {
        let all = stages(&read.jq);
        let (_, list) = all.split_last().filter(|(last, _)| last.trim().starts_with("join("))?;
        let list = piped(list);
        let outputs = self.cx.outputs(read.response, &list).ok()?;
        let is_count = outputs.len() == 1 && counted(name, value, &outputs);
        is_count.then(|| Read { jq: format!("{list} | length"), ..read.clone() })
    }

    /// What queries printed whole that a text of this write has as words of it, the longest first; ids and what things are called have
    /// sources of their own.
    pub(super) fn printed_in(&self, text: &str) -> Vec<(String, Read)> {
        if !self.call.is_write() {
            return Vec::new();
        }
        let titles = self.seen.titles_in(text);
        let mut found: Vec<(String, Read)> = Vec::new();
        for (read, outputs) in self.prints() {
            let call = self.cx.trace.position(read.response);
            let literals = string_literals(&read.jq);
            let is_typed = |piece: &str| {
                literals.iter().any(|literal| literal.text == piece)
                    || call.is_some_and(|call| self.seen.is_said_before(piece, call))
            };
            for Print { text: printed, pieces, jq } in
                whole(&read.jq, &outputs).into_iter().chain(written((&read.jq, &outputs), text))
            {
                // A number that was printed alone is seldom another one.
                let is_number = pieces.len() == 1 && printed.parse::<u64>().is_ok_and(|number| number > 1);
                let short = !is_number && printed.chars().count() < MIN_EMBEDDED_CHARS || printed.len() >= text.len();
                let named = id_words(&printed).any(|word| word == printed) || titles.contains(&&*printed);
                let typed = pieces.iter().all(|piece| is_typed(piece));
                let known = found.iter().any(|(known, _)| *known == printed);
                if !short && !named && !typed && !known && !places(text, &printed).is_empty() {
                    found.push((printed, Read { jq, ..read.clone() }));
                }
            }
        }
        found.sort_by_key(|(printed, _)| std::cmp::Reverse(printed.len()));
        found
    }

    /// Where a query that chose one thing printed, as a member of it, what these reads give of the same answer.
    pub(super) fn of_the_chosen(&self, piece: &str, reads: &[Read]) -> Option<Read> {
        let of_it = |read: &Read| reads.iter().any(|one| one.response == read.response);
        self.prints().into_iter().filter(|(read, _)| chooses(&read.jq) && of_it(read)).find_map(|(read, outputs)| {
            let [Value::Object(members)] = outputs.as_slice() else { return None };
            let jq = |field: &String| format!("{} | {}", read.jq, jq_of(&[Segment::Key(field.clone())]));
            let plain = || Some(jq(members.iter().find(|(_, one)| text_of(one) == piece)?.0));
            let is_written = |one: &Value| has_hundredths(piece) && one.as_f64() == piece.parse().ok();
            let written = || Some(with_hundredths(&jq(members.iter().find(|(_, one)| is_written(one))?.0)));
            let jq = plain().or_else(written)?;
            Some(Read { jq, ..read })
        })
    }

    /// How far a number is from the one that a query printed under its name: somebody added something in the head.
    pub(super) fn changed_from(&self, name: &str, value: &Value) -> Vec<Read> {
        let Some(sent) = value.as_f64().filter(|_| self.call.is_write()) else { return Vec::new() };
        let mut found = Vec::new();
        for (read, outputs) in self.prints() {
            let (jq, known) = match outputs.as_slice() {
                [Value::Object(members)] => match members.iter().find(|(field, _)| same_name(field, name)) {
                    Some((field, known)) => (format!("{} | {}", read.jq, jq_of(&[Segment::Key(field.clone())])), known),
                    None => continue,
                },
                [known] if last_field(&read.jq).is_some_and(|field| same_name(&field, name)) => {
                    (format!("({})", read.jq), known)
                }
                _ => continue,
            };
            let Some(known) = known.as_f64().filter(|known| *known != sent) else { continue };
            let by = ((sent - known) * 1e8).round() / 1e8;
            let sign = if by < 0.0 { '-' } else { '+' };
            let jq = format!("{jq} {sign} {}", by.abs());
            let gives = self.cx.outputs(read.response, &jq);
            if gives.is_ok_and(|outputs| matches!(outputs.as_slice(), [one] if same(one, value))) {
                found.push(Read { jq, ..read });
            }
        }
        let mut found = distinct(found);
        found.truncate(MAX_PRINTED);
        found
    }

    /// The queries before this call on answers that a run has too, the last one first, each with what it printed.
    pub(super) fn prints(&self) -> Vec<(Read, Rc<Vec<Value>>)> {
        let before = self.cx.trace.queries.iter().rev().filter(|query| query.command.0 < self.call.command);
        let print = |query: &rote_workspace::QueryRecord| {
            let response = query.source_response?;
            let call = self.cx.trace.position(response).filter(|call| *call < self.step.calls[0])?;
            let step = self.draft.step_of(call).map(|at| &self.draft.steps[at])?;
            let stays = step.calls.first() == Some(&call) && step.broken.is_none() && step.out.is_none();
            let jq = self.cx.portable(query).ok().filter(|_| stays)?;
            let outputs = self.cx.outputs(response, &jq).ok()?;
            Some((Read { step: step.id.clone(), response, jq }, outputs))
        };
        before.filter_map(print).collect()
    }

    /// Whether the person typed it before that answer: it only says it again.
    pub(super) fn is_typed_before(&self, name: &str, value: &Value, read: &Read) -> bool {
        let Some(call) = self.cx.trace.position(read.response) else { return false };
        if key_of(value).is_some() {
            return self.seen.is_typed_before(value, name, call);
        }
        let said = |value: &Value| self.cx.trace.calls[..=call].iter().any(|call| holds(&call.raw, value));
        // A list of what was typed one by one: `labels=bug` of the search is `["bug"]` of what is made.
        said(value) || value.as_array().is_some_and(|items| items.iter().all(said))
    }

    /// The places that queries showed of things of another kind than the likeliest source, which they did not show as well.
    pub(super) fn shown_elsewhere<'h>(&self, sources: &Sources<'h>, likeliest: &Hit, printed: &[Read]) -> Vec<&'h Hit> {
        if !self.call.is_write() || self.cx.trace.calls[likeliest.call].is_write() {
            return Vec::new();
        }
        let shows = |hit: &Hit| {
            if printed.iter().any(|read| read.response == self.response(hit)) {
                2
            } else {
                u8::from(names_id(hit.field()) && shown(self.cx, self.call, hit))
            }
        };
        let kind = |hit: &Hit| (hit.field().to_owned(), kind_of_hit(self.cx, hit));
        let (known, own) = (shows(likeliest), kind(likeliest));
        sources.all().filter(|hit| shows(hit) > known && kind(hit) != own).collect()
    }
}

/// The program that rounds the number that a query printed to that which was sent.
fn with_rounding(jq: &str, outputs: &[Value], value: &Value) -> Option<String> {
    let [one] = outputs else { return None };
    let parts = rounded(one.as_f64()?, value.as_f64()?)?;
    Some(if parts == 1 { format!("({jq}) | round") } else { format!("({jq}) * {parts} | round / {parts}") })
}

/// The program that gives a value as a member of the one object that a query made.
fn member(jq: &str, outputs: &[Value], name: &str, value: &Value) -> Option<String> {
    let [Value::Object(members)] = outputs else { return None };
    let (field, _) = members
        .iter()
        .filter(|_| path_of(jq).is_none())
        .find(|(field, found)| same(found, value) && (tells(value) || same_name(field, name)))?;
    Some(format!("{jq} | {}", jq_of(&[Segment::Key(field.clone())])))
}

/// What a query printed, as a text, and the program that gives that.
pub(super) struct Print {
    pub(super) text: String,
    /// What of it the person may have typed.
    pieces: Vec<String>,
    pub(super) jq: String,
}

/// The one text or number that a query printed.
fn whole(jq: &str, outputs: &[Value]) -> Option<Print> {
    let [one @ (Value::String(_) | Value::Number(_))] = outputs else { return None };
    let text = text_of(one);
    Some(Print { pieces: vec![text.clone()], text, jq: jq.to_owned() })
}

/// The texts that a query printed, one by one or in a list, in each way in which people write a list that a text has room for.
pub(super) fn written((jq, outputs): (&str, &[Value]), within: &str) -> impl Iterator<Item = Print> {
    let (list, items) = match outputs {
        [Value::Array(items)] => (jq.to_owned(), items.as_slice()),
        several => (format!("[{jq}]"), several),
    };
    let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    let fits = |texts: &Vec<String>| texts.iter().map(String::len).sum::<usize>() <= within.len();
    let pieces = texts.filter(|texts| (2..=MAX_ITEMS).contains(&texts.len()) && fits(texts)).into_iter();
    pieces.flat_map(move |pieces| {
        let list = list.clone();
        WRITTEN.into_iter().filter_map(move |(between, last)| {
            let (end, rest) = pieces.split_last()?;
            let text = format!("{}{last}{end}", rest.join(between));
            let [between, last] = [between, last].map(|text| Value::from(text).to_string());
            let jq = if between == last {
                format!("{list} | join({between})")
            } else {
                format!(
                    "{list} | if length > 1 then (.[:length - 1] | join({between})) + {last} + .[length - 1] else join({between}) end"
                )
            };
            Some(Print { text, pieces: pieces.clone(), jq })
        })
    })
}

/// The first of those that are equal.
pub(super) fn distinct(reads: impl IntoIterator<Item = Read>) -> Vec<Read> {
    let mut found: Vec<Read> = Vec::new();
    for read in reads {
        if !found.contains(&read) {
            found.push(read);
        }
    }
    found
}

/// Values that are equal by chance.
pub(super) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        scalar => ["", "0", "1"].contains(&text_of(scalar).as_str()),
    }
}

/// Whether a number that is called a count is how many things a query printed, one by one or in a list.
fn counted(name: &str, value: &Value, outputs: &[Value]) -> bool {
    let name = name.to_ascii_lowercase();
    let counts = name.contains("count") || COUNTS.contains(&name.as_str());
    let many = match outputs {
        [Value::Array(items)] => items.len(),
        outputs => outputs.len(),
    };
    counts && many > 1 && value.as_u64() == u64::try_from(many).ok()
}

pub(super) fn same(one: &Value, other: &Value) -> bool {
    equal(one, other) || key_of(one).is_some() && key_of(one) == key_of(other)
}
