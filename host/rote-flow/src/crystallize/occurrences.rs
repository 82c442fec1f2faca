//! Where values stand: in answers, and in what the person typed. The first appearance decides whose a value is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rote_plan::Expression;
use serde_json::Value;

use super::chance::{is_long_id, key_of};
use super::context::{Context, names_id};
use super::dated::dated;
use super::draft::{Draft, DraftStep};
use super::path::Segment;
use super::program::{compared, string_literals, values};
use super::words::{MIN_EMBEDDED_CHARS, day_of, days, places};
use super::written::amounts;
use crate::literals::{last_segment, walk_literals, walk_scalars};

/// Most places that are kept of one value.
const MAX_HITS: usize = 50;

/// Most characters of a text of an answer that is looked for in what was typed.
const MAX_PIECE_CHARS: usize = 200;

/// Fewest characters of one word that tells what a thing is called.
const MIN_TITLE_CHARS: usize = 8;

/// A place in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Position of the call in the trace.
    pub(crate) call: usize,
    pub(crate) path: Vec<Segment>,
}

impl Hit {
    /// The member that holds the value.
    pub(crate) fn field(&self) -> &str {
        self.keys().next().unwrap_or_default()
    }

    /// The member that holds the object of the value.
    pub(crate) fn parent(&self) -> Option<&str> {
        self.keys().nth(1)
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.path.iter().rev().filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        })
    }
}

/// Where the values of the draft stand.
#[derive(Debug, Default)]
pub(crate) struct Occurrences {
    hits: BTreeMap<String, Vec<Hit>>,
    /// Before the answer of which call a text was typed first.
    typed: BTreeMap<String, usize>,
    /// The same of numbers, which mean something only under a name.
    named: BTreeMap<(String, String), usize>,
    /// Texts that were typed into writes.
    texts: BTreeSet<String>,
    /// What things are called in answers, as far as one of these texts has it.
    titles: BTreeSet<String>,
    /// The same of one word, which says who is meant only where one thing was read.
    names: BTreeSet<String>,
    /// Other texts of answers that one of these texts has as words of it, where they are more than common words.
    pieces: BTreeSet<String>,
    /// The same of what says which thing it is in short or common words: one of several that are named together.
    members: BTreeSet<String>,
    /// The words of these texts.
    words: BTreeSet<String>,
    /// Where the times stand that are of a day that one of these texts names.
    times: BTreeMap<String, Vec<Hit>>,
}

impl Occurrences {
    /// Looks for everything that was typed into the calls of the draft.
    pub(crate) fn of(cx: &Context<'_>, draft: &Draft) -> Self {
        let mut found = Self::default();
        found.read_typed(cx);
        let mut wanted = BTreeSet::new();
        for step in &draft.steps {
            walk_literals(&step.arguments, &mut |_, value| {
                wanted.extend(key_of(value));
                let Some(text) = value.as_str() else { return };
                wanted.extend(id_words(text).map(str::to_owned));
                if step.is_write(cx.trace) {
                    let numbers = numbers_of_things(text).chain(bare_numbers(text)).chain(days(text));
                    wanted.extend(numbers.map(|range| text[range].to_owned()));
                    wanted.extend(amounts(text).map(|(_, amount)| amount.number));
                    wanted.extend(dated(text).iter().map(|(_, day)| day.day()));
                    found.words.extend(words(text).map(str::to_owned));
                    found.texts.insert(text.to_owned());
                }
            });
        }
        let expressions = draft.steps.iter().flat_map(DraftStep::expressions).chain([&draft.result]);
        for reference in expressions.flat_map(Expression::references) {
            wanted.extend(compared(&reference.jq).iter().filter_map(|one| key_of(&one.value)));
            wanted.extend(values(&reference.jq).iter().filter_map(|(_, value)| key_of(value)));
        }
        for step in draft.steps.iter().filter(|step| step.out.is_none()) {
            for call in &step.calls {
                if let Some(body) = cx.recorded(cx.trace.calls[*call].response) {
                    found.read_answer(*call, &body, &wanted, &mut Vec::new());
                }
            }
        }
        found
    }

    fn read_typed(&mut self, cx: &Context<'_>) {
        for (position, call) in cx.trace.calls.iter().enumerate() {
            walk_scalars(&call.raw, String::new(), &mut |pointer, value| {
                let Some(key) = key_of(value) else { return };
                self.named.entry((key.clone(), last_segment(pointer).to_owned())).or_insert(position);
                self.typed.entry(key).or_insert(position);
            });
        }
        for query in &cx.trace.queries {
            let position = cx.trace.calls.iter().filter(|call| call.command < query.command.0).count();
            for literal in string_literals(&query.program) {
                let first = self.typed.entry(literal.text).or_insert(position);
                *first = position.min(*first);
            }
        }
    }

    fn read_answer(&mut self, call: usize, value: &Value, wanted: &BTreeSet<String>, path: &mut Vec<Segment>) {
        match value {
            Value::Object(members) => {
                for (key, inner) in members {
                    path.push(Segment::Key(key.clone()));
                    self.read_answer(call, inner, wanted, path);
                    path.pop();
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    path.push(Segment::Index(index));
                    self.read_answer(call, inner, wanted, path);
                    path.pop();
                }
            }
            scalar => {
                let Some(key) = key_of(scalar) else { return };
                if let Some(day) = day_of(&key).filter(|day| wanted.contains(*day)) {
                    keep(self.times.entry(day.to_owned()).or_default(), Hit { call, path: path.clone() });
                }
                if self.is_title(path, scalar, tells) {
                    self.titles.insert(key.clone());
                } else if self.is_title(path, scalar, is_name) {
                    self.names.insert(key.clone());
                } else if scalar.is_string() && is_piece(&key) && self.is_within(&key) {
                    self.pieces.insert(key.clone());
                } else if scalar.is_string() && is_member(path, &key) && self.is_within(&key) {
                    self.members.insert(key.clone());
                } else if !wanted.contains(&key) {
                    return;
                }
                keep(self.hits.entry(key).or_default(), Hit { call, path: path.clone() });
            }
        }
    }

    /// Whether a thing is called so, and a longer text that was typed has that.
    fn is_title(&self, path: &[Segment], value: &Value, tells: fn(&str) -> bool) -> bool {
        let called = path.iter().rev().find_map(|segment| match segment {
            Segment::Key(key) => Some(names_title(key)),
            Segment::Index(_) => None,
        });
        let title = value.as_str().filter(|title| called == Some(true) && tells(title));
        title.is_some_and(|title| self.is_within(title))
    }

    /// Whether a longer text that was typed into a write has these words.
    fn is_within(&self, piece: &str) -> bool {
        // Most texts of an answer end here.
        let known = words(piece).next().is_some_and(|first| self.words.contains(first));
        known && self.texts.iter().any(|text| text.len() > piece.len() && !places(text, piece).is_empty())
    }

    /// Returns other texts of answers that a text has, the longest first.
    pub(crate) fn pieces_in(&self, text: &str) -> Vec<&str> {
        longest_in(&self.pieces, text)
    }

    /// Returns whatever of answers a text has that may be one of several things, the longest first.
    pub(crate) fn members_in(&self, text: &str) -> Vec<&str> {
        let all = [&self.titles, &self.names, &self.pieces, &self.members];
        all.into_iter().flat_map(|known| longest_in(known, text)).collect()
    }

    /// Returns where a value stood before a call, whoever had it first.
    pub(crate) fn all(&self, key: &str, call: usize) -> Vec<&Hit> {
        self.hits.get(key).into_iter().flatten().filter(|hit| hit.call < call).collect()
    }

    /// Returns where the times of a day stood before a call, unless the person typed the day first.
    pub(crate) fn of_day(&self, day: &str, call: usize) -> Vec<&Hit> {
        let hits = self.times.get(day).into_iter().flatten().filter(|hit| hit.call < call);
        hits.filter(|hit| !self.is_said_before(day, hit.call)).collect()
    }

    /// Returns what things are called that a text has, the longest first.
    pub(crate) fn titles_in(&self, text: &str) -> Vec<&str> {
        longest_in(&self.titles, text)
    }

    /// Returns the names of one word that a text has, the longest first.
    pub(crate) fn names_in(&self, text: &str) -> Vec<&str> {
        longest_in(&self.names, text)
    }

    /// Returns where what a thing is called stood before a call, unless the person typed it first, be it in a text.
    pub(crate) fn of_title(&self, title: &str, call: usize) -> Vec<&Hit> {
        let hits = self.of_the_api(&Value::from(title), "", call);
        let Some(first) = hits.first().map(|hit| hit.call) else { return hits };
        let typed = self.typed.iter().any(|(text, at)| *at <= first && !places(text, title).is_empty());
        if typed { Vec::new() } else { hits }
    }

    /// Returns where the number of a thing stood before a call, unless the person named a thing by it first.
    pub(crate) fn of_number(&self, number: &str, call: usize) -> Vec<&Hit> {
        let hits = self.hits.get(number).into_iter().flatten();
        let hits: Vec<&Hit> = hits.filter(|hit| hit.call < call && names_id(hit.field())).collect();
        let typed =
            self.named.iter().filter(|((key, name), _)| key == number && names_id(name)).map(|(_, at)| *at).min();
        match (hits.first(), typed) {
            (Some(first), Some(typed)) if typed <= first.call => Vec::new(),
            _ => hits,
        }
    }

    /// Returns where a value stood before a call, provided that an answer had it before the person typed it.
    pub(crate) fn of_the_api(&self, value: &Value, name: &str, call: usize) -> Vec<&Hit> {
        let Some(key) = key_of(value) else { return Vec::new() };
        let hits: Vec<&Hit> = self.hits.get(&key).into_iter().flatten().filter(|hit| hit.call < call).collect();
        let typed = match value {
            Value::Number(_) => self.named.get(&(key, name.to_owned())),
            _ => self.typed.get(&key),
        };
        match (hits.first(), typed) {
            (Some(first), Some(typed)) if *typed <= first.call => Vec::new(),
            _ => hits,
        }
    }

    /// Whether the person typed it, a number under this name, before the answer of a call.
    pub(crate) fn is_typed_before(&self, value: &Value, name: &str, call: usize) -> bool {
        let Some(key) = key_of(value) else { return false };
        let typed = match value {
            Value::Number(_) => self.named.get(&(key, name.to_owned())),
            _ => self.typed.get(&key),
        };
        typed.is_some_and(|typed| *typed <= call)
    }

    /// Whether the person typed it in any place, be it as a number, before the answer of a call.
    pub(crate) fn is_said_before(&self, text: &str, call: usize) -> bool {
        let named = self.named.iter().any(|((key, _), at)| key == text && *at <= call);
        named || self.typed.get(text).is_some_and(|at| *at <= call)
    }

    /// Whether a person typed this text before any answer had it.
    pub(crate) fn of_the_person(&self, value: &Value) -> bool {
        let Some(key) = key_of(value) else { return false };
        let first = self.hits.get(&key).and_then(|hits| hits.first()).map(|hit| hit.call);
        self.typed.get(&key).is_some_and(|typed| first.is_none_or(|first| *typed <= first))
    }
}

/// Whether a text of some characters is what a thing of a list is called, or its id.
fn is_member(path: &[Segment], text: &str) -> bool {
    let [.., Segment::Key(name)] = path else { return false };
    let in_list = path.iter().any(|segment| matches!(segment, Segment::Index(_)));
    in_list
        && (names_id(name) || names_title(name))
        && (MIN_EMBEDDED_CHARS - 1..=MAX_PIECE_CHARS).contains(&text.chars().count())
}

fn keep(hits: &mut Vec<Hit>, hit: Hit) {
    if hits.len() < MAX_HITS {
        hits.push(hit);
    }
}

fn longest_in<'s>(known: &'s BTreeSet<String>, text: &str) -> Vec<&'s str> {
    let found = known.iter().filter(|title| title.len() < text.len() && !places(text, title).is_empty());
    let mut found: Vec<&str> = found.map(String::as_str).collect();
    found.sort_by_key(|title| std::cmp::Reverse(title.len()));
    found
}

/// The words of a text that look like ids of things: `TRK-12`, `ct_101`, `cus_B`, a UUID. A bare number only where it is too long
/// to be there by chance.
pub(crate) fn id_words(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.split(move |c| !word(c)).filter(|word| is_id_word(word))
}

/// The numbers of things that a text names as `#11`.
pub(crate) fn numbers_of_things(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices('#').filter_map(|(at, _)| {
        let start = at + 1;
        let length = text[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - start);
        let ends = text[start + length..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        (length > 0 && ends).then_some(start..start + length)
    })
}

/// The words of a text that are whole numbers.
pub(crate) fn bare_numbers(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_whitespace().filter_map(|word| {
        let number = word.trim_matches(|c: char| ".,:;!?()$€£¥".contains(c));
        let start = number.as_ptr() as usize - text.as_ptr() as usize;
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| start..start + number.len())
    })
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether a member of this name says what a thing is called.
pub(crate) fn names_title(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["title", "name", "subject", "summary", "email", "label", "domain", "address"]
        .iter()
        .any(|end| lower.ends_with(end))
}

/// Whether a text is more than a common word: several words, or a long one that is not of letters alone.
fn tells(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    let odd = text.chars().any(|c| !c.is_alphabetic()) || text.chars().skip(1).any(char::is_uppercase);
    words >= 2 || odd && text.chars().count() >= MIN_TITLE_CHARS
}

/// Whether a text is one word that begins with a capital, as names do.
pub(crate) fn is_name(text: &str) -> bool {
    let word = text.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '\'');
    word && text.chars().next().is_some_and(char::is_uppercase) && text.chars().count() >= MIN_EMBEDDED_CHARS
}

/// Whether a text of an answer is more than common words: one with a digit, a capital or a mark such as those of an address; of two
/// characters a code such as `B7`.
fn is_piece(text: &str) -> bool {
    let count = text.chars().count();
    let odd = |c: char| c.is_ascii_digit() || c.is_uppercase() || "/@:+.".contains(c);
    let code = count + 1 == MIN_EMBEDDED_CHARS
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.ends_with(|c: char| c.is_ascii_digit());
    code || (MIN_EMBEDDED_CHARS..=MAX_PIECE_CHARS).contains(&count) && text.chars().any(odd)
}

fn is_id_word(word: &str) -> bool {
    let uuid =
        word.len() == 36 && word.matches('-').count() == 4 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let numbered = |head: &str, tail: &str, upper: bool| {
        !head.is_empty()
            && !tail.is_empty()
            && head.chars().all(|c| if upper { c.is_ascii_uppercase() } else { c.is_ascii_lowercase() })
            && tail.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
            && tail.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let key = word
        .split_once('-')
        .is_some_and(|(head, tail)| numbered(head, tail, true) && tail.chars().all(|c| c.is_ascii_digit()));
    uuid || key || is_long_id(word) || word.split_once('_').is_some_and(|(head, tail)| numbered(head, tail, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_a_text_are_words() {
        let found: Vec<&str> =
            id_words("see TRK-12, ct_101 and (ev_9f), cus_B, 138921851, not 12, a_b, B2-c, week-19").collect();
        assert_eq!(found, ["TRK-12", "ct_101", "ev_9f", "cus_B", "138921851"]);
    }

    #[test]
    fn a_number_of_a_thing_stands_behind_its_mark() {
        let text = "Closes #11, #7; not #a, #12b, # 3 or 4";
        let found: Vec<&str> = numbers_of_things(text).map(|range| &text[range]).collect();
        assert_eq!(found, ["11", "7"]);
    }

    #[test]
    fn what_tells_is_more_than_a_common_word() {
        for (text, wanted) in [
            ("Fix login", true),
            ("nora@acme.test", true),
            ("RoadMap2", true),
            ("documentation", false),
            ("Backlog", false),
            ("bug-1", false),
            ("a -", false),
        ] {
            assert_eq!(tells(text), wanted, "{text}");
        }
    }
}
