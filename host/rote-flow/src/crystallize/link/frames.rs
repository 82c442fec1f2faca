//! Texts of one frame: of what was written to each of several things of a list, `Ping: TITLE is still open`, the parts that differ are
//! in each text what the thing at hand has under one name. Titles and names of a few letters are not that by chance, so they are linked.
//! Where several members have the same, a part is a number of few digits, or the whole text is a word that a person says as well, it
//! is one question for all texts of the frame.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use jiff::civil::Date;
use rote_plan::text_of;
use serde_json::Value;

use super::super::chance::{tells, tells_of_several};
use super::super::context::Context;
use super::super::dated::DayForm;
use super::super::desk::Desk;
use super::super::draft::{Draft, DraftStep};
use super::super::occurrences::{Occurrences, names_title};
use super::super::path::{Segment, at, jq_of, path_of};
use super::super::request::ResultSpec;
use super::super::words::{day_of, places};
use super::super::written::with_hundredths;
use super::source::Sources;
use super::{Linker, Read, is_common, place_name};
use crate::literals::{references, walk_literals, walk_scalars};
use crate::question::QuestionId;

/// Most members of a thing that are looked at, in all forms, and how deep they lie.
const MAX_FIELDS: usize = 512;
const MAX_DEPTH: usize = 3;
/// With how many of the others a text is compared.
const MAX_OTHERS: usize = 8;
/// Most bytes of a text that is compared, and of a member that may stand in one.
const MAX_TEXT: usize = 8_192;

/// A thing of a list that a call names by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Thing {
    /// Position of the call that answered with the list.
    call: usize,
    array: Vec<Segment>,
    index: usize,
    /// What of it the call sends, and where.
    id: Vec<Segment>,
    pointer: String,
}

/// How a member of a thing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// `475.00`.
    Hundredths,
    /// The day of a time.
    Day,
    /// A day with the name of its month.
    Dated(DayForm),
}

impl Form {
    /// The program that writes so what a program gives.
    pub(super) fn of(self, jq: String) -> String {
        match self {
            Self::Plain => jq,
            Self::Hundredths => with_hundredths(&jq),
            Self::Day => format!("{jq} | .[0:10]"),
            Self::Dated(form) => form.program(&jq),
        }
    }
}

/// A member of a thing, and in which form.
pub(super) type Field = (Vec<Segment>, Form);

/// Where something of a thing stands in a text, and the members that have it.
type Own = (Range<usize>, Vec<Field>);

/// A text that was written to a thing.
struct Entry {
    step: String,
    text: String,
    /// It may be what a person says, whatever the thing has.
    said: bool,
    thing: Thing,
    has: Rc<Members>,
}

/// What a thing has.
#[derive(Default)]
struct Members {
    /// Each member as it may be written.
    fields: Vec<(Field, String)>,
    /// There are more than were looked at.
    cut: bool,
}

/// A piece of a frame.
#[derive(Debug, PartialEq)]
enum Piece {
    Same(String),
    /// What the thing has in each of these members.
    Own(Vec<Field>),
}

/// What of a text is its thing's own.
pub(super) struct Framed {
    text: String,
    /// The first step with a text of the frame.
    pub(super) lead: String,
    /// In order, each with what it is read by.
    pub(super) parts: Vec<(Range<usize>, Vec<Read>)>,
    /// It is not chance, and one member alone has each part.
    pub(super) sure: bool,
}

impl Framed {
    /// Whether this is one of the parts.
    pub(super) fn has(&self, part: &Range<usize>) -> bool {
        self.parts.iter().any(|(range, _)| range == part)
    }
}

/// The framed texts of all writes, by step and pointer.
#[derive(Default)]
pub(super) struct Frames(BTreeMap<(String, String), Framed>);

impl Frames {
    pub(super) fn of(cx: &Context<'_>, draft: &Draft, seen: &Occurrences, desk: &mut Desk) -> Self {
        let mut groups: BTreeMap<_, Vec<Entry>> = BTreeMap::new();
        let stays = |step: &&DraftStep| step.out.is_none() && step.broken.is_none() && step.is_write(cx.trace);
        for step in draft.steps.iter().filter(stays) {
            let call = step.call(cx.trace);
            let linker = Linker::of(cx, draft, step, seen, desk);
            for thing in linker.things() {
                let Some(has) = thing.members(cx).map(Rc::new) else { continue };
                let source = &cx.trace.calls[thing.call];
                walk_scalars(&call.arguments, String::new(), &mut |pointer, value| {
                    let Some(text) = value.as_str().filter(|text| text.len() <= MAX_TEXT) else { return };
                    if pointer == thing.pointer {
                        return;
                    }
                    let of = (thing.pointer.clone(), thing.array.clone(), thing.id.clone());
                    let key = ((&call.adapter, &call.tool, pointer.to_owned()), (&source.adapter, &source.tool), of);
                    let said = linker.is_enum(&place_name(pointer)) || seen.is_said_before(text, thing.call);
                    let (step, text) = (step.id.clone(), text.to_owned());
                    let entry = Entry { step, text, said, thing: thing.clone(), has: Rc::clone(&has) };
                    groups.entry(key).or_default().push(entry);
                });
            }
        }
        let mut found = Self::default();
        for (((_, _, pointer), ..), entries) in groups {
            found.add(cx, draft, &pointer, entries);
        }
        found
    }

    /// What of a text is its thing's own; none where it is not of a frame, or only a piece of what was sent.
    pub(super) fn get(&self, step: &str, pointer: &str, text: &str) -> Option<&Framed> {
        self.0.get(&(step.to_owned(), pointer.to_owned())).filter(|framed| framed.text == text)
    }

    /// Adds the frames of these texts, each with all texts that it fits.
    fn add(&mut self, cx: &Context<'_>, draft: &Draft, pointer: &str, mut entries: Vec<Entry>) {
        while entries.len() > 1 {
            let first = entries.remove(0);
            let others = entries.iter().filter(|other| other.thing != first.thing).take(MAX_OTHERS);
            let mut frames: Vec<Vec<Piece>> = Vec::new();
            frames.extend(others.filter_map(|other| first.frame(other)));
            let fits = |frame: &Vec<Piece>| entries.iter().filter(|other| other.fits(frame).is_some()).count();
            let Some(frame) = frames.into_iter().max_by_key(fits) else { continue };
            let (mut texts, rest): (Vec<Entry>, Vec<Entry>) =
                entries.into_iter().partition(|other| other.fits(&frame).is_some());
            entries = rest;
            texts.insert(0, first);
            self.keep(cx, draft, pointer, &texts, &frame);
        }
    }

    fn keep(&mut self, cx: &Context<'_>, draft: &Draft, pointer: &str, texts: &[Entry], frame: &[Piece]) {
        let all: Option<Vec<Vec<Own>>> = texts.iter().map(|text| text.fits(frame)).collect();
        let Some(all) = all else { return };
        let holes = all.first().map_or(0, Vec::len);
        // The members that have the part in every text.
        let common = |hole: usize| {
            let of = |parts: &Vec<Own>| parts[hole].1.clone();
            let mut fields = all.first().map(of).unwrap_or_default();
            fields.retain(|field| all.iter().all(|parts| parts[hole].1.contains(field)));
            fields.sort_by_key(|(path, _)| !names_title(last_key(path)));
            fields
        };
        let fields: Vec<Vec<Field>> = (0..holes).map(common).collect();
        if fields.iter().any(Vec::is_empty) {
            return;
        }
        let telling =
            |hole: usize| texts.iter().zip(&all).all(|(text, parts)| is_telling(&text.text[parts[hole].0.clone()]));
        let alone = fields.iter().all(|fields| fields.len() == 1) && !texts.iter().any(|text| text.has.cut);
        let whole = matches!(frame, [Piece::Own(_)]);
        let sure = alone && (0..holes).all(telling) && !(whole && texts.iter().any(|text| text.is_a_word(&fields[0])));
        for (text, parts) in texts.iter().zip(&all) {
            let read = |field: &Field| text.thing.read(cx, draft, field);
            let parts = parts.iter().zip(&fields);
            let parts: Vec<(Range<usize>, Vec<Read>)> =
                parts.map(|((range, _), fields)| (range.clone(), fields.iter().filter_map(read).collect())).collect();
            let framed = Framed { text: text.text.clone(), lead: texts[0].step.clone(), parts, sure };
            self.0.entry((text.step.clone(), pointer.to_owned())).or_insert(framed);
        }
    }
}

impl Linker<'_, '_> {
    /// The things of lists that the call names by their ids, each as it is linked.
    fn things(&self) -> Vec<Thing> {
        let mut found = Vec::new();
        references(&self.step.arguments, &mut |pointer, reference| {
            let source = self.draft.steps.iter().find(|step| step.id == reference.step && step.is_one());
            let plain = !reference.each && reference.with.is_empty();
            let path = path_of(&reference.jq).filter(|_| plain);
            found.extend(source.zip(path).and_then(|(source, path)| Thing::of(pointer, source.calls[0], path)));
        });
        walk_literals(&self.step.arguments, &mut |pointer, value| {
            let name = place_name(pointer);
            let id = QuestionId::at(QuestionId::Source, &self.step.id, pointer);
            if !self.is_id_place(pointer, &name, value) || self.cx.is_claimed(&self.step.id, pointer, &name, value) {
                return;
            }
            if let Some(word) = self.desk.word(&id) {
                let read = word.parse::<ResultSpec>().ok();
                let call = read.as_ref().and_then(|read| self.cx.trace.position(read.response));
                let path = read.and_then(|read| path_of(&read.jq));
                found.extend(call.zip(path).and_then(|(call, path)| Thing::of(pointer, call, path)));
                return;
            }
            let hits = self.hits(&name, value);
            let likeliest = Sources::of(self.cx, self.call, pointer, &name, &hits).likeliest();
            found.extend(likeliest.and_then(|hit| Thing::of(pointer, hit.call, hit.path.clone())));
        });
        found
    }
}

impl Thing {
    /// The thing that a path leads into; none where it is not of one list.
    fn of(pointer: &str, call: usize, mut path: Vec<Segment>) -> Option<Self> {
        let split = path.iter().position(|segment| matches!(segment, Segment::Index(_)))?;
        let id = path.split_off(split + 1);
        let Some(Segment::Index(index)) = path.pop() else { return None };
        let in_one = !id.iter().any(|segment| matches!(segment, Segment::Index(_)));
        in_one.then(|| Self { call, array: path, index, id, pointer: pointer.to_owned() })
    }

    fn way(&self) -> impl Iterator<Item = Segment> {
        self.array.iter().cloned().chain([Segment::Index(self.index)])
    }

    fn members(&self, cx: &Context<'_>) -> Option<Members> {
        let body = cx.body(cx.trace.calls[self.call].response)?;
        let thing = at(&body, &self.way().collect::<Vec<_>>()).filter(|thing| thing.is_object())?;
        Some(Members::of(thing))
    }

    fn read(&self, cx: &Context<'_>, draft: &Draft, (path, form): &Field) -> Option<Read> {
        let step = &draft.steps[draft.step_of(self.call)?];
        let jq = jq_of(&self.way().chain(path.iter().cloned()).collect::<Vec<_>>());
        Some(Read { step: step.id.clone(), response: cx.trace.calls[self.call].response, jq: form.of(jq) })
    }
}

/// What a thing has, as it may be written.
pub(super) fn fields(thing: &Value) -> Vec<(Field, String)> {
    Members::of(thing).fields.into_iter().map(|(field, text)| (field, text.to_string())).collect()
}

impl Members {
    /// Those of the thing itself first: what lies deep may be more than is looked at.
    fn of(thing: &Value) -> Self {
        let mut found = Self::default();
        let mut next: VecDeque<(Vec<Segment>, &Value)> = [(Vec::new(), thing)].into();
        while let Some((path, value)) = next.pop_front() {
            if found.fields.len() >= MAX_FIELDS {
                found.cut = true;
                break;
            }
            match value {
                Value::Object(members) if path.len() < MAX_DEPTH => {
                    let room = MAX_FIELDS.saturating_sub(next.len());
                    found.cut |= members.len() > room;
                    let way = |name: &String| path.iter().cloned().chain([Segment::Key(name.clone())]).collect();
                    next.extend(members.iter().take(room).map(|(name, inner)| (way(name), inner)));
                }
                Value::Array(items) if !items.iter().any(|item| item.is_object() || item.is_array()) => {
                    let room = MAX_FIELDS.saturating_sub(next.len());
                    found.cut |= items.len() > room;
                    let way = |index| path.iter().cloned().chain([Segment::Index(index)]).collect();
                    next.extend(items.iter().take(room).enumerate().map(|(index, inner)| (way(index), inner)));
                }
                Value::String(_) | Value::Number(_) => found.add(path, value),
                _ => {}
            }
        }
        found
    }

    fn add(&mut self, path: Vec<Segment>, value: &Value) {
        let text = text_of(value);
        if text.is_empty() || text.len() > MAX_TEXT {
            return;
        }
        if let Some(day) = day_of(&text) {
            self.fields.push(((path.clone(), Form::Day), day.to_owned()));
        }
        if let Ok(date) = day_of(&text).unwrap_or(&text).parse::<Date>() {
            let dated = |form: DayForm| ((path.clone(), Form::Dated(form)), form.write(date));
            self.fields.extend(DayForm::common().map(dated));
        }
        if let Some(number) = value.as_f64() {
            self.fields.push(((path.clone(), Form::Hundredths), format!("{number:.2}")));
        }
        self.fields.push(((path, Form::Plain), text));
    }
}

impl Entry {
    /// Whether it is a word that a person says as well as one of these members has it; what a thing is called is none.
    fn is_a_word(&self, fields: &[Field]) -> bool {
        let titled = fields.iter().any(|(path, _)| names_title(last_key(path)));
        self.said || is_common(&self.text) && !titled
    }

    /// What two texts have in common, and between that what is each one's own; none where they differ in anything else.
    fn frame(&self, other: &Self) -> Option<Vec<Piece>> {
        let both = |(field, mine): &(Field, String)| {
            let starts = |text: &str, value: &str| {
                let found: Vec<usize> = places(text, value).into_iter().map(|range| range.start).collect();
                Some(found).filter(|found| !found.is_empty())
            };
            let at = starts(&self.text, mine)?;
            let (_, theirs) = other.has.fields.iter().find(|(known, text)| known == field && text != mine)?;
            let there = starts(&other.text, theirs)?;
            Some((field.clone(), (mine.len(), at), (theirs.len(), there)))
        };
        let own: Vec<_> = self.has.fields.iter().filter_map(both).collect();
        let mut pieces: Vec<Piece> = Vec::new();
        let (mut at, mut there) = (0, 0);
        while at < self.text.len() || there < other.text.len() {
            let here = own.iter().filter(|(_, (_, mine), (_, theirs))| mine.contains(&at) && theirs.contains(&there));
            let here: Vec<_> = here.collect();
            if let Some(lengths) = here.iter().map(|(_, (mine, _), (theirs, _))| (*mine, *theirs)).max() {
                let longest = here.iter().filter(|(_, (mine, _), (theirs, _))| (*mine, *theirs) == lengths);
                pieces.push(Piece::Own(longest.map(|(field, ..)| field.clone()).collect()));
                (at, there) = (at + lengths.0, there + lengths.1);
                continue;
            }
            let next = self.text[at..].chars().next().filter(|next| other.text[there..].starts_with(*next))?;
            match pieces.last_mut() {
                Some(Piece::Same(text)) => text.push(next),
                _ => pieces.push(Piece::Same(next.to_string())),
            }
            (at, there) = (at + next.len_utf8(), there + next.len_utf8());
        }
        pieces.iter().any(|piece| matches!(piece, Piece::Own(_))).then_some(pieces)
    }

    /// Where the thing's own stands in its text, with the members that have it, provided that the text has this frame.
    fn fits(&self, frame: &[Piece]) -> Option<Vec<Own>> {
        let mut found = Vec::new();
        let mut done = 0;
        for piece in frame {
            let rest = &self.text[done..];
            match piece {
                Piece::Same(text) => done += rest.strip_prefix(text.as_str()).map(|_| text.len())?,
                Piece::Own(fields) => {
                    let stands = |(field, text): &&(Field, String)| fields.contains(field) && rest.starts_with(&**text);
                    let here: Vec<&(Field, String)> = self.has.fields.iter().filter(stands).collect();
                    let length = here.iter().map(|(_, text)| text.len()).max()?;
                    let longest = here.into_iter().filter(|(_, text)| text.len() == length);
                    found.push((done..done + length, longest.map(|(field, _)| field.clone()).collect()));
                    done += length;
                }
            }
        }
        (done == self.text.len()).then_some(found)
    }
}

/// Whether a part is more than a number that counts, or a letter.
fn is_telling(part: &str) -> bool {
    let value = Value::from(part);
    if part.parse::<f64>().is_ok() { tells_of_several(&value) } else { tells(&value) }
}

/// The member that a value stands in, be it in a list.
pub(super) fn last_key(path: &[Segment]) -> &str {
    let key = path.iter().rev().find_map(|segment| match segment {
        Segment::Key(key) => Some(key.as_str()),
        Segment::Index(_) => None,
    });
    key.unwrap_or_default()
}
