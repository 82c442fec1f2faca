//! Lists of the things of a list: a write that is for one of them sends the list that it has, changed. Of several such writes that
//! changed it in one way there is one question, and what answers it makes them a loop.

use rote_plan::{Expression, text_of};
use rote_types::{Method, ResponseId};
use serde_json::{Map, Value};

use super::super::super::context::names_id;
use super::super::super::draft::DraftStep;
use super::super::super::path::{Segment, jq_of};
use super::super::copied::sends;
use super::super::source::{is_generic, same_name};
use super::super::{Linker, Read};
use super::{called, changes};
use crate::question::{Place, QuestionId};
use crate::trace::RecordedCall;

/// Most levels of an answer that are looked through for things.
const MAX_DEPTH: usize = 32;
/// Most writes that are compared.
const MAX_ALIKE: usize = 32;

/// The list of a thing that a write is for, and what was sent of it.
struct Changed {
    /// The write.
    step: String,
    /// Where the thing was read, and the tool that did.
    read: String,
    response: ResponseId,
    tool: (String, String),
    /// The way to the thing.
    path: Vec<Segment>,
    /// The program that gives the list of the thing.
    list: String,
    had: Vec<Value>,
    sent: Vec<Value>,
    /// Whether the write is of that thing, so that what it sends stands for the list.
    is_own: bool,
}

/// The lists of the thing that a write is of, under the name of what it sends.
pub(super) struct OwnLists(Vec<Changed>);

impl OwnLists {
    pub(super) fn has(&self, response: ResponseId, list: &[Value]) -> bool {
        self.0.iter().any(|one| one.response == response && one.had == list)
    }

    /// Whether an answer has the thing, or none has: that of another thing says nothing then.
    pub(super) fn allow(&self, response: ResponseId) -> bool {
        self.0.is_empty() || self.0.iter().any(|one| one.response == response)
    }
}

/// A list that was sent of one of the things of a list.
pub(super) struct OfItem {
    mine: Changed,
    /// The first write that changed the list of another thing.
    first: Option<Changed>,
    /// Whether one of those things stands in another place.
    is_among: bool,
    /// What changes the list so, of whichever thing; none where there is one write alone, of which nothing says for which thing it is.
    programs: Vec<String>,
}

impl Changed {
    /// Whether it is the list of the same kind of thing.
    fn is_of_kin(&self, other: &Self) -> bool {
        let way = |path: &[Segment]| -> Vec<Option<Segment>> {
            path.iter().map(|segment| Some(segment.clone()).filter(|one| matches!(one, Segment::Key(_)))).collect()
        };
        self.tool == other.tool && self.list == other.list && way(&self.path) == way(&other.path)
    }

    /// Whether it is one of the things of one list.
    fn is_of_item(&self) -> bool {
        self.path.iter().filter(|segment| matches!(segment, Segment::Index(_))).count() == 1
    }

    fn is_changed(&self) -> bool {
        changes::shares(&self.had, &self.sent) || self.is_own && changes::may_become(&self.had, &self.sent)
    }

    fn programs(&self) -> Vec<String> {
        let plain = changes::more_or_fewer(&self.list, &self.had, &self.sent);
        plain.into_iter().chain(changes::otherwise(&self.list, &self.had, &self.sent)).collect()
    }

    /// What reads the list, changed by a program.
    fn read(&self, program: &str) -> Read {
        Read { step: self.read.clone(), response: self.response, jq: self.jq(program) }
    }

    fn jq(&self, program: &str) -> String {
        format!("{} | {program}", jq_of(&self.path))
    }
}

impl OfItem {
    /// Whether it is one of several of which all are changed in one way.
    pub(super) fn is_among_others(&self) -> bool {
        self.is_among && !self.programs.is_empty()
    }

    pub(super) fn reads(&self) -> Vec<Read> {
        self.programs.iter().map(|program| self.mine.read(program)).collect()
    }
}

impl Linker<'_, '_> {
    /// The list that a thing of a list has, where a write for it sends that changed, or others send theirs changed in a way that fits.
    pub(super) fn of_item(&self, pointer: &str, name: &str, value: &Value) -> Option<OfItem> {
        let mine = self.lists_of(self.step, name, value);
        let alike = if mine.is_empty() { Vec::new() } else { self.alike_writes(pointer) };
        let others: Vec<Changed> = alike.into_iter().flat_map(|(step, sent)| self.lists_of(step, name, sent)).collect();
        let (mine, programs) = mine.into_iter().find_map(|mine| {
            let kin: Vec<&Changed> = others.iter().filter(|one| one.is_of_kin(&mine)).collect();
            let programs = self.programs_of(&mine, &kin);
            (mine.is_changed() || !programs.is_empty()).then_some((mine, programs))
        })?;
        let is_among = others.iter().any(|one| one.is_of_kin(&mine) && one.path != mine.path);
        let first = others.into_iter().find(|one| one.is_of_kin(&mine));
        Some(OfItem { mine, first, is_among, programs })
    }

    /// What changes the lists of all of these things as they were; else, where some of them are in other ways, this one.
    fn programs_of(&self, mine: &Changed, kin: &[&Changed]) -> Vec<String> {
        let all = || kin.iter().copied().chain([mine]);
        if kin.is_empty() || !mine.is_of_item() || !all().any(Changed::is_changed) {
            return Vec::new();
        }
        let mut programs: Vec<String> = Vec::new();
        // In one order for each of them: it is one question.
        let (before, after): (Vec<&Changed>, Vec<&Changed>) = kin.iter().partition(|one| self.is_before(&one.step));
        for program in before.into_iter().chain([mine]).chain(after).flat_map(Changed::programs) {
            if !programs.contains(&program) {
                programs.push(program);
            }
        }
        programs.sort_by_key(|program| changes::may_write_twice(program));
        let of_all: Vec<String> =
            programs.into_iter().filter(|program| all().all(|one| self.gives(one, program))).collect();
        if of_all.is_empty() && mine.is_changed() {
            return mine.programs().into_iter().filter(|program| self.gives(mine, program)).collect();
        }
        of_all
    }

    /// What was said, or asked, of the same change of another thing before: the expression, or that nothing is left to ask.
    pub(super) fn as_before(&mut self, of: &OfItem, pointer: &str, value: &Value) -> Option<Option<Expression>> {
        let first = of.first.as_ref().filter(|first| self.is_before(&first.step))?;
        let id = QuestionId::at(QuestionId::Source, &first.step, pointer);
        let said = self.desk.given(&id, &["always", super::REFERENCE]);
        let begin = format!("{}{{{} | ", first.response, jq_of(&first.path));
        let program = said.as_deref().and_then(|word| word.strip_prefix(&begin)?.strip_suffix('}'));
        if let Some(program) = program {
            let word = of.mine.read(program).word();
            let own = QuestionId::at(QuestionId::Source, &self.step.id, pointer);
            let read = self.read(&own, &word, value).ok()?;
            let (name, own, other) = (super::place_name(pointer), &self.step.id, &first.step);
            self.desk.note(Some(own), format!("{name} of {own} is changed as that of {other}: {program}"), None);
            return Some(Some(read));
        }
        let words: Vec<String> = of.programs.iter().map(|program| first.read(program).word()).collect();
        let place = Place { step: self.step.id.clone(), pointer: pointer.to_owned() };
        (!words.is_empty() && self.desk.joins(&id, &words, place)).then_some(None)
    }

    fn is_before(&self, step: &str) -> bool {
        let own = |one: &&DraftStep| one.id == step;
        self.draft.steps.iter().find(own).is_some_and(|one| one.calls[0] < self.step.calls[0])
    }

    fn gives(&self, of: &Changed, program: &str) -> bool {
        let outputs = self.cx.outputs(of.response, &of.jq(program));
        outputs.is_ok_and(|found| matches!(found.as_slice(), [Value::Array(found)] if *found == of.sent))
    }

    /// The other calls of the same tool, with what they sent at this place.
    fn alike_writes(&self, pointer: &str) -> Vec<(&DraftStep, &Value)> {
        let same = |step: &&DraftStep| {
            let call = step.call(self.cx.trace);
            let is_other = step.id != self.step.id && step.out.is_none() && step.broken.is_none();
            is_other && step.calls.len() == 1 && (&call.adapter, &call.tool) == (&self.call.adapter, &self.call.tool)
        };
        let all = self.draft.steps.iter().filter(same).take(MAX_ALIKE);
        all.filter_map(|step| Some((step, step.call(self.cx.trace).arguments.pointer(pointer)?))).collect()
    }

    /// The lists of this name of the thing that this write is of.
    pub(super) fn own_lists(&self, name: &str, value: &Value) -> OwnLists {
        let mut lists = self.lists_of(self.step, name, value);
        lists.retain(|one| one.is_own);
        OwnLists(lists)
    }

    /// The id of the thing that a write is of: not of one to which it adds something (`POST /issues/3/labels`).
    pub(super) fn target<'c>(&'c self, call: &'c RecordedCall) -> Option<&'c Value> {
        let tool = self.cx.tool(call)?;
        if let Some((_, id)) = self.cx.path_arguments(call).pop() {
            let is_of_it = matches!(tool.method, Method::Put | Method::Patch) || tool.path.ends_with('}');
            return Some(id).filter(|_| is_of_it);
        }
        let named = tool.name.to_lowercase();
        let is_of_it = |name: &str| {
            let stem = name.to_lowercase();
            let stem = ["id", "key", "number"]
                .iter()
                .find_map(|end| stem.strip_suffix(end))
                .map(|stem| stem.trim_matches(['_', '-']));
            is_generic(name) || names_id(name) && stem.is_some_and(|stem| named.contains(stem))
        };
        call.arguments.as_object()?.iter().find(|(name, _)| is_of_it(name)).map(|(_, id)| id)
    }

    /// The lists of this name of the things that a call was for, in the answers before it.
    fn lists_of(&self, step: &DraftStep, name: &str, sent: &Value) -> Vec<Changed> {
        let call = step.call(self.cx.trace);
        let Some(sent) = sent.as_array().filter(|_| call.is_write()) else { return Vec::new() };
        let target = self.target(call);
        let is_read = |one: &&DraftStep| one.calls[0] < step.calls[0] && one.out.is_none() && one.broken.is_none();
        let mut found = Vec::new();
        for read in self.draft.steps.iter().filter(is_read) {
            let of: &RecordedCall = read.call(self.cx.trace);
            let Some(body) = self.cx.body(of.response) else { continue };
            each_object(&body, &mut Vec::new(), &mut |path, thing| {
                let named = thing.iter().filter(|(key, had)| same_name(key, name) && had.is_array());
                for (key, had) in named.filter(|_| sends(call, thing)) {
                    let list = jq_of(&[Segment::Key(key.clone())]);
                    let lists = called(&list, had.as_array().map(Vec::as_slice).unwrap_or_default());
                    found.extend(lists.into_iter().map(|(list, had)| Changed {
                        sent: changes::written_as(&had, sent),
                        step: step.id.clone(),
                        read: read.id.clone(),
                        response: of.response,
                        tool: (of.adapter.to_string(), of.tool.clone()),
                        path: path.to_vec(),
                        list,
                        had: had.into_owned(),
                        is_own: target.is_some_and(|id| has_id(thing, id)),
                    }));
                }
            });
        }
        found
    }
}

/// Whether it is the id of a thing.
pub(super) fn has_id(thing: &Map<String, Value>, id: &Value) -> bool {
    thing.iter().any(|(name, own)| names_id(name) && text_of(own) == text_of(id))
}

fn each_object(value: &Value, path: &mut Vec<Segment>, each: &mut impl FnMut(&[Segment], &Map<String, Value>)) {
    if path.len() > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(members) => {
            each(path, members);
            for (key, inner) in members {
                path.push(Segment::Key(key.clone()));
                each_object(inner, path, each);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                path.push(Segment::Index(index));
                each_object(inner, path, each);
                path.pop();
            }
        }
        _ => {}
    }
}
