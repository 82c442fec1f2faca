//! What of a typed text an earlier answer has: ids, the numbers of things (`#11`), what things are called, counts.
//!
//! An id that has one likeliest source is linked. Anything else in the text of a write is asked: another run would write the old one.

use std::ops::Range;

use rote_plan::{Expression, Reference, text_of};
use rote_types::command;
use serde_json::Value;

use super::super::chance::tells_of_several;
use super::super::context::names_id;
use super::super::occurrences::{Hit, Occurrences, bare_numbers, id_words, numbers_of_things};
use super::super::path::{Segment, path_of};
use super::super::program;
use super::super::words::{days, joined, places};
use super::super::written::trimmed;
use super::copied::Copied;
use super::source::{Sources, is_generic};
use super::together::Together;
use super::{Linker, Read};
use crate::question::{Answer, Evidence, Place, Question, QuestionId};

/// A part of a text, and where answers have it.
#[derive(Clone)]
struct Part {
    range: Range<usize>,
    /// The likeliest first.
    reads: Vec<Read>,
    /// It is linked to the first of them without a question.
    sure: bool,
    says: Says,
}

/// How an answer has a part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// As it is written.
    Exact,
    /// As a number that is written otherwise.
    Otherwise,
    /// As so many things of the list that it is read by, of so many: nothing tells which.
    Some(usize, usize),
}

impl Part {
    fn new(range: &Range<usize>, reads: Vec<Read>) -> Self {
        Self { range: range.clone(), reads, sure: false, says: Says::Exact }
    }

    fn is_exact(&self) -> bool {
        self.says == Says::Exact
    }
}

impl Says {
    /// What a part is of what it is read by, in words.
    fn of(self, read: &Read) -> String {
        let place = format!("`{}` of {}", read.jq, read.response);
        match self {
            Self::Exact => format!("which is {place}"),
            Self::Otherwise => format!("which is the number of {place}"),
            Self::Some(some, of) => {
                format!(
                    "which are {some} of the {of} of {place}, and nothing tells them from the others (`@N{{JQ}}` does)"
                )
            }
        }
    }
}

impl<'a> Linker<'a, '_> {
    /// A text with what answers have in the place of its parts; none where it stays as it was typed.
    pub(super) fn text(&mut self, pointer: &str, text: &str) -> Option<Expression> {
        let id = QuestionId::at(QuestionId::Source, &self.step.id, pointer);
        let parts = self.parts(pointer, text);
        let framed = self.frames.and_then(|frames| frames.get(&self.step.id, pointer, text));
        if parts.iter().all(|part| part.sure) {
            if framed.is_some() {
                self.desk.given(&id, &["taken"]);
            }
            let mut linked = Vec::new();
            for Part { range, reads, .. } in parts {
                let value = Value::from(&text[range.clone()]);
                let read = reads.into_iter().next();
                let found = read.and_then(|read| self.linked(&id, pointer, &value, read));
                linked.extend(found.map(|found| (range, found)));
            }
            return joined(text, linked);
        }
        if self.desk.given(&id, &[]).is_none() && !self.longer_titles(text).is_empty() {
            self.titled.push(pointer.to_owned());
        }
        // What is asked of this text alone was not asked of the first one.
        let led = framed.filter(|framed| parts.iter().all(|part| part.sure || framed.has(&part.range)));
        let word = match led.and_then(|framed| self.as_the_lead(&framed.lead, &id, pointer)) {
            Some(word) => Ok(word),
            None => self.desk.ask(self.question_of(id, pointer, text, &parts)),
        };
        match word {
            Ok(word) if word == "taken" => {
                let first = |part: Part| Some((part.range, part.reads.into_iter().next()?.expression()));
                joined(text, parts.into_iter().filter(Part::is_exact).filter_map(first))
            }
            Ok(_) => None,
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    /// What was said of the first text of the frame, which is asked for all; none where a text has an answer of its own.
    fn as_the_lead(&mut self, lead: &str, id: &QuestionId, pointer: &str) -> Option<String> {
        if *lead == self.step.id || self.desk.is_answered(id) {
            return None;
        }
        let lead = QuestionId::at(QuestionId::Source, lead, pointer);
        let place = Place { step: self.step.id.clone(), pointer: pointer.to_owned() };
        let said = self.desk.given(&lead, &["taken", "always"]);
        self.desk.is_at(&lead, place).then(|| said.unwrap_or_else(|| "always".to_owned()))
    }

    /// What answers have of a text, in its order, but for what a parameter takes.
    fn parts(&self, pointer: &str, text: &str) -> Vec<Part> {
        let mut parts = self.telling_parts(pointer, text);
        let claimed = self.claimed_in(text);
        for (range, reads) in self.beside(text) {
            let meets = |other: &Range<usize>| range.start < other.end && other.start < range.end;
            if !claimed.iter().any(meets) && !parts.iter().any(|part| meets(&part.range)) {
                parts.push(Part::new(&range, reads));
            }
        }
        let framed = self.frames.and_then(|frames| frames.get(&self.step.id, pointer, text)).is_some();
        for part in parts.iter_mut().filter(|part| part.is_exact() && !framed) {
            if let Some(read) = self.of_the_chosen(&text[part.range.clone()], &part.reads) {
                part.reads.retain(|known| *known != read);
                part.reads.insert(0, read);
            }
        }
        parts.sort_by_key(|part| part.range.start);
        parts
    }

    /// What the parts of a text that tell are read by, each by the likeliest.
    pub(super) fn told_in(&self, pointer: &str, text: &str) -> Vec<Read> {
        self.telling_parts(pointer, text).into_iter().filter_map(|part| part.reads.into_iter().next()).collect()
    }

    /// The parts that tell by themselves.
    fn telling_parts(&self, pointer: &str, text: &str) -> Vec<Part> {
        let claimed = self.claimed_in(text);
        let mut parts: Vec<Part> = Vec::new();
        let mut add = |range: Range<usize>, part: &dyn Fn() -> Option<Part>| {
            let meets = |other: &Range<usize>| range.start < other.end && other.start < range.end;
            if !claimed.iter().any(meets) && !parts.iter().any(|part| meets(&part.range)) {
                parts.extend(part());
            }
        };
        let asked = |range: &Range<usize>, hits: &[&Hit]| self.asked(pointer, range, hits);
        let writes = self.call.is_write();
        let together = self.together_in(text);
        for part in self.whole_parts(pointer, text, &together) {
            add(part.range.clone(), &|| Some(part.clone()));
        }
        for title in self.seen.titles_in(text).into_iter().filter(|_| writes) {
            for range in places(text, title) {
                let hits = || self.first_of_steps(self.seen.of_title(title, self.step.calls[0]));
                add(range.clone(), &|| asked(&range, &hits()));
            }
        }
        for word in id_words(text) {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            let range = start..start + word.len();
            add(range.clone(), &|| {
                let mut hits = self.hits("", &Value::from(word));
                hits.retain(|hit| names_id(hit.field()));
                let sources = Sources::of(self.cx, self.call, pointer, "", &hits);
                let Some(hit) = sources.likeliest() else { return asked(&range, &hits).filter(|_| writes) };
                Some(Part { sure: true, ..Part::new(&range, vec![self.read_of(hit)]) })
            });
        }
        for range in numbers_of_things(text).filter(|_| writes) {
            let hits = || self.first_of_steps(self.seen.of_number(&text[range.clone()], self.step.calls[0]));
            add(range.clone(), &|| asked(&range, &hits()));
        }
        for range in bare_numbers(text).filter(|_| writes) {
            let count = || self.count(&text[range.clone()]);
            add(range.clone(), &|| Some(Part::new(&range, vec![count()?])));
        }
        for range in bare_numbers(text).filter(|_| writes) {
            add(range.clone(), &|| asked(&range, &self.bare_ids(&text[range.clone()])));
        }
        let names = self.seen.names_in(text).into_iter().flat_map(|name| places(text, name));
        let numbers = bare_numbers(text).filter(|range| range.len() > 1);
        for range in names.chain(days(text)).chain(numbers).filter(|_| writes) {
            add(range.clone(), &|| asked(&range, &self.of_one_thing(&text[range.clone()])));
        }
        for Copied { range, reads, exact } in self.copied_in(text) {
            let says = if exact { Says::Exact } else { Says::Otherwise };
            add(range.clone(), &|| Some(Part { says, ..Part::new(&range, reads.clone()) }));
        }
        add_untold(&mut parts, &together, &claimed);
        self.trim(text, &mut parts);
        parts
    }

    /// The parts of which something says more than each by itself: those of its frame, what a query printed, things of one list.
    fn whole_parts(&self, pointer: &str, text: &str, together: &[Together]) -> Vec<Part> {
        let printed = self.printed_in(text).into_iter().flat_map(|(printed, read)| {
            places(text, &printed).into_iter().map(move |range| Part::new(&range, vec![read.clone()]))
        });
        let together = together.iter().filter(|one| !one.reads.is_empty());
        let together = together.map(|one| Part::new(&one.range, one.reads.clone()));
        self.of_its_frame(pointer, text).into_iter().chain(printed).chain(together).collect()
    }

    /// Reads whole numbers without the point that an answer has them with.
    fn trim(&self, text: &str, parts: &mut [Part]) {
        for part in parts.iter_mut().filter(|part| text[part.range.clone()].bytes().all(|byte| byte.is_ascii_digit())) {
            for read in part.reads.iter_mut().filter(|read| self.gives_with_a_point(read)) {
                read.jq = trimmed(&read.jq);
            }
        }
    }

    /// Whether a whole number that is read there has a point: `80.0`.
    fn gives_with_a_point(&self, read: &Read) -> bool {
        let outputs = self.cx.outputs(read.response, &read.jq);
        let has_point = |one: &Value| one.as_f64().is_some_and(|number| one.is_f64() && number.fract() == 0.0);
        outputs.is_ok_and(|outputs| matches!(outputs.as_slice(), [one] if has_point(one)))
    }

    /// What of a text of a frame is the thing's own.
    fn of_its_frame(&self, pointer: &str, text: &str) -> Vec<Part> {
        let Some(framed) = self.frames.and_then(|frames| frames.get(&self.step.id, pointer, text)) else {
            return Vec::new();
        };
        let part = |(range, reads): &(Range<usize>, Vec<Read>)| Part {
            range: range.clone(),
            reads: reads.clone(),
            sure: framed.sure,
            says: Says::Exact,
        };
        framed.parts.iter().map(part).collect()
    }

    /// A part that is asked about; none without a place.
    fn asked(&self, pointer: &str, range: &Range<usize>, hits: &[&Hit]) -> Option<Part> {
        let sources = Sources::of(self.cx, self.call, pointer, "", hits);
        let reads = sources.likeliest().map_or_else(|| sources.best().collect(), |hit| vec![hit]);
        let reads: Vec<Read> = reads.into_iter().map(|hit| self.read_of(hit)).collect();
        (!reads.is_empty()).then(|| Part::new(range, reads))
    }

    /// Where parameters that were asked for stand in a text, but for those that are a part of what a thing is called.
    fn claimed_in(&self, text: &str) -> Vec<Range<usize>> {
        let longer = self.longer_titles(text);
        let mut claimed = self.cx.claimed_in(text);
        claimed.retain(|range| !longer.iter().any(|longer| longer.start <= range.start && range.end <= longer.end));
        claimed
    }

    /// What things are called of which a parameter has a part: an answer has the whole of it.
    fn longer_titles(&self, text: &str) -> Vec<Range<usize>> {
        let claimed = self.cx.claimed_in(text);
        let claims = |range: &Range<usize>| {
            claimed.iter().any(|one| one.len() < range.len() && range.start <= one.start && one.end <= range.end)
        };
        let titles = self.seen.titles_in(text).into_iter().chain(self.seen.pieces_in(text));
        let titles = titles.filter(|_| self.call.is_write() && !claimed.is_empty());
        let known = |title: &&str| !self.first_of_steps(self.seen.of_title(title, self.step.calls[0])).is_empty();
        titles.filter(known).flat_map(|title| places(text, title)).filter(claims).collect()
    }

    /// Where the id of a thing stands that a text names without a mark: one of some length, one that a query printed, or that of
    /// what was made.
    fn bare_ids(&self, number: &str) -> Vec<&'a Hit> {
        let hits = self.first_of_steps(self.seen.of_number(number, self.step.calls[0]));
        let long = tells_of_several(&Value::from(number));
        let printed = || self.prints().iter().any(|(_, outputs)| outputs.iter().any(|one| is_number(one, number)));
        let made = |hit: &&Hit| is_generic(hit.field()) && self.cx.trace.calls[hit.call].is_write();
        let telling = long || number.len() > 1 && (hits.iter().any(made) || printed());
        if telling { hits } else { Vec::new() }
    }

    /// Where a name of one word, a day or a number stands in the answer about one thing, and in one place of such answers.
    fn of_one_thing(&self, part: &str) -> Vec<&'a Hit> {
        let seen: &'a Occurrences = self.seen;
        let mut hits = self.first_of_steps(seen.of_the_api(&Value::from(part), "", self.step.calls[0]));
        hits.retain(|hit| self.is_about_one(hit));
        if hits.len() == 1 { hits } else { Vec::new() }
    }

    /// The last query that counted just so many things in an earlier answer.
    fn count(&self, number: &str) -> Option<Read> {
        self.cx.trace.queries.iter().rev().filter(|query| query.command.0 < self.call.command).find_map(|query| {
            let response = query.source_response?;
            let call = self.cx.trace.position(response).filter(|call| *call < self.step.calls[0])?;
            let step = self.draft.step_of(call).map(|at| &self.draft.steps[at])?;
            let jq = self.cx.portable(query).ok()?;
            let outputs = self.cx.outputs(response, &jq).ok()?;
            let counted = matches!(outputs.as_slice(), [one @ Value::Number(_)] if text_of(one) == number);
            let stays = step.out.is_none() && step.broken.is_none() && step.calls.first() == Some(&call);
            (stays && counted && counts(&jq)).then(|| Read { step: step.id.clone(), response, jq })
        })
    }

    fn question_of(&self, id: QuestionId, pointer: &str, text: &str, parts: &[Part]) -> Question {
        let place = Place { step: self.step.id.clone(), pointer: pointer.to_owned() };
        let spot = format!("{}:{pointer}", place.step);
        let first =
            |part: &'_ Part| Some((text[part.range.clone()].to_owned(), part.reads.first()?.clone(), part.says));
        let firsts = || parts.iter().filter_map(first);
        let told = |(part, read, says): (String, Read, Says)| format!("`{part}`, {}", says.of(&read));
        let ask: Vec<String> = firsts().map(told).collect();
        let means: Vec<String> = firsts()
            .filter(|(.., says)| *says == Says::Exact)
            .map(|(part, read, _)| format!("{} of {} for `{part}`", read.jq, read.response))
            .collect();
        let mut answers = Vec::new();
        if !means.is_empty() {
            answers.push(Answer::by_id(&id, "taken", format!("in each run the text has {}", means.join(" and "))));
        }
        let mut evidence = Vec::new();
        let several = parts.iter().map(|part| part.reads.len()).sum::<usize>() > 1;
        for part in parts {
            let found = &text[part.range.clone()];
            for read in &part.reads {
                let word = format!("{}{{{}}}", read.response, read.jq);
                if several && part.is_exact() {
                    let means = format!("in each run the text has that for `{found}`, and the rest as it was typed");
                    answers.push(Answer::new(word.clone(), means, command("--link").assignment(&spot, word)));
                }
                evidence.push(Evidence {
                    what: format!("`{found}` of the text stands in the answer of {}", read.step),
                    response: Some(read.response),
                    jq: Some(read.jq.clone()),
                    value: Value::from(found),
                });
            }
        }
        let always =
            "the text is the same in each run, or has the parameter that a `--param` makes of a part".to_owned();
        answers.push(Answer::new("always", always, command("--no-link").argument(&spot)));
        Question {
            kind: id.kind(),
            id,
            ask: format!("the text at {spot} has {}: taken from there?", ask.join(", and ")),
            places: vec![place],
            evidence,
            answers,
            taken: "always".to_owned(),
            writes: true,
            open: true,
        }
    }
}

/// Puts in the things of a list that nothing tells from the others, in the place of those of them that were found one by one, unless
/// all were.
fn add_untold(parts: &mut Vec<Part>, together: &[Together], claimed: &[Range<usize>]) {
    for one in together.iter().filter(|one| one.reads.is_empty()) {
        let meets = |other: &Range<usize>| one.range.start < other.end && other.start < one.range.end;
        let is_known = |range: &Range<usize>| parts.iter().any(|part| part.range == *range);
        if claimed.iter().any(meets) || one.members.iter().all(is_known) {
            continue;
        }
        parts.retain(|part| !meets(&part.range));
        let says = Says::Some(one.members.len(), one.of);
        parts.push(Part { says, ..Part::new(&one.range, vec![one.all.clone()]) });
    }
}

impl Read {
    fn expression(self) -> Expression {
        Expression::From(Reference::new(self.step, self.jq))
    }
}

/// Where a value that an answer gave stands in a text: behind the mark of a thing's number, else as words of it.
pub(super) fn within(text: &str, found: &Value) -> Vec<Range<usize>> {
    if !matches!(found, Value::String(_) | Value::Number(_)) {
        return Vec::new();
    }
    let value = text_of(found);
    let marked: Vec<Range<usize>> = numbers_of_things(text).filter(|range| text[range.clone()] == value).collect();
    if marked.is_empty() { places(text, &value) } else { marked }
}

fn is_number(value: &Value, number: &str) -> bool {
    matches!(value, Value::Number(_)) && text_of(value) == number
}

/// Whether a program says how many there are.
fn counts(jq: &str) -> bool {
    if let Some(path) = path_of(jq) {
        let total = |key: &str| ["total", "count"].iter().any(|word| key.to_ascii_lowercase().contains(word));
        return matches!(path.last(), Some(Segment::Key(key)) if total(key));
    }
    let tokens = program::tokens(jq).unwrap_or_default();
    tokens.iter().any(|token| ["length", "add"].contains(&&jq[token.range.clone()]))
}
