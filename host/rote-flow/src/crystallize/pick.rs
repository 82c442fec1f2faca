//! Picks: the position of an item becomes the property that it was chosen for.
//!
//! `.items[2].id` says where the item stood in the recording, not why it was taken. A query that picked exactly this item says
//! why; so does a field that equals what the person typed elsewhere. Where nothing says it, it is asked.

use std::collections::BTreeSet;

use rote_plan::{Expression, Onward, Reference, text_of};
use rote_types::{ResponseId, command};
use serde_json::Value;

use super::apart::condition;
use super::context::Context;
use super::desk::{Desk, REFERENCE};
use super::draft::{Draft, DraftStep};
use super::link::word_of;
use super::occurrences::{Occurrences, names_title};
use super::path::{Segment, at, jq_of, path_in, path_of};
use super::program;
use super::request::ResultSpec;
use crate::FlowError;
use crate::literals::{pointer_of, references, walk_literals};
use crate::question::{Answer, Evidence, Place, Question, QuestionId};

/// Fields that people know things by, the best first.
const TELLING: [&str; 8] = ["title", "name", "key", "email", "subject", "label", "domain", "address"];
/// Most fields that a question offers.
const MAX_FIELDS: usize = 3;

/// Names of arguments that say in which order a list is wanted, in lower case and of letters alone.
const ORDERS: [&str; 9] =
    ["sort", "sortby", "order", "orderby", "ordering", "sorting", "direction", "sortorder", "sortdirection"];

/// An item of an array in an answer, and what is taken of it.
struct Item {
    response: ResponseId,
    array: String,
    index: usize,
    /// Whether it was counted from the end: `[-1]`.
    from_end: bool,
    /// The rest of the path, `.id`; empty for the item itself.
    field: String,
    items: Vec<Value>,
    value: Value,
}

/// What takes the place of a position.
#[derive(Clone)]
enum Picked {
    /// A program that takes the item for what it is.
    By(String),
    /// The parameter that the value is.
    Parameter(String),
    /// The value that was recorded.
    Always(Value),
}

impl Picked {
    fn put(self, position: &Reference) -> Expression {
        match self {
            Self::By(jq) => Expression::From(Reference { jq, ..position.clone() }),
            Self::Parameter(name) => Expression::Param(name),
            Self::Always(value) => Expression::Literal(value),
        }
    }
}

/// An item as it was counted: the last of three is the third only in the recording.
type Spot = (ResponseId, String, usize, bool);

/// What was said of an item: who takes the same one takes it so, too.
struct Said {
    spot: Spot,
    /// The step that was asked about, and the question.
    step: String,
    id: QuestionId,
    /// The program that chooses it; none where its position stays.
    chooses: Option<String>,
}

/// Replaces positions.
pub(crate) fn properties(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    let (typed, mut said) = (typed(cx, draft), Vec::new());
    for position in 0..draft.steps.len() {
        let step = &draft.steps[position];
        if step.out.is_some() || step.broken.is_some() {
            continue;
        }
        let mut found = Vec::new();
        references(&step.arguments, &mut |pointer, reference| {
            found.push((pointer.to_owned(), reference.clone()));
        });
        let mut replaced = Vec::new();
        for (pointer, reference) in &found {
            let others: Vec<&Reference> =
                found.iter().filter(|(other, one)| other == pointer && one != reference).map(|(_, one)| one).collect();
            let picker = Picker { cx, draft, step, pointer, typed: &typed, alone: others.is_empty() };
            let is_asked = others.into_iter().any(|other| picker.is_open(other));
            if let Some(picked) = picker.pick(reference, is_asked, desk, &mut said)? {
                replaced.push((pointer.clone(), reference.clone(), picked));
            }
        }
        let arguments = &mut draft.steps[position].arguments;
        for (pointer, old, new) in replaced {
            arguments.visit_mut(&mut |way, one| {
                if matches!(one, Expression::From(reference) if *reference == old) && pointer_of(way) == pointer {
                    *one = new.clone().put(&old);
                }
                Onward::Into
            });
        }
    }
    Ok(())
}

/// The program that takes an item for what it is and not by its place, where a query or what was typed says so; the only one is that.
pub(crate) fn told_apart(cx: &Context<'_>, draft: &Draft, step: &DraftStep, reference: &Reference) -> Option<String> {
    let nothing = BTreeSet::new();
    let item = Picker { cx, draft, step, pointer: "", typed: &nothing, alone: true }.item(reference)?;
    let typed = typed(cx, draft);
    let picker = Picker { cx, draft, step, pointer: "", typed: &typed, alone: true };
    let typed = || picker.by_typed(&item).map(|(field, value)| with_field(&item, &field, &value));
    picker.by_query(&item).or_else(|| picker.only(&item, &reference.step)).or_else(typed)
}

/// The ways in which the item at a place can be meant.
pub(crate) fn answers(cx: &Context<'_>, draft: &Draft, step: &str, pointer: &str) -> Option<Vec<Answer>> {
    let step = draft.steps.iter().find(|one| one.id == step)?;
    let mut found: Vec<Reference> = Vec::new();
    references(&step.arguments, &mut |at, reference| {
        found.extend((at == pointer).then(|| reference.clone()));
    });
    let [reference] = found.as_slice() else { return None };
    let picker = Picker { cx, draft, step, pointer, typed: &BTreeSet::new(), alone: true };
    let item = picker.item(reference)?;
    Some(picker.question(QuestionId::at(QuestionId::Pick, &step.id, pointer), &item, reference).answers)
}

/// What the person typed, as text.
fn typed(cx: &Context<'_>, draft: &Draft) -> BTreeSet<String> {
    let seen = Occurrences::of(cx, draft);
    let mut typed: BTreeSet<String> = cx.request.params.iter().filter_map(|spec| spec.value.clone()).collect();
    for step in &draft.steps {
        walk_literals(&step.arguments, &mut |_, value| {
            if let Some(text) = value.as_str().filter(|_| seen.of_the_person(value)) {
                typed.insert(text.to_owned());
            }
        });
    }
    typed
}

struct Picker<'a, 'b> {
    cx: &'a Context<'b>,
    draft: &'a Draft,
    step: &'a DraftStep,
    pointer: &'a str,
    typed: &'a BTreeSet<String>,
    /// Whether nothing else is taken at this place: an answer that names one item is not that of several.
    alone: bool,
}

impl Picker<'_, '_> {
    /// The program that takes the one item there is: where a run finds several, nobody has said which is meant.
    fn only(&self, item: &Item, source: &str) -> Option<String> {
        let step = self.draft.steps.iter().find(|step| step.id == source)?;
        let further = if item.field.is_empty() { String::new() } else { format!(" | {}", item.field) };
        let plain = format!("{}[]{further}", item.array);
        let named = self.asked_for(step, item).map(|(field, value)| with_field(item, &field, &value));
        let jq = named.unwrap_or(plain);
        (item.items.len() == 1 && !self.is_ordered(step) && self.gives(item, &jq)).then_some(jq)
    }

    /// Whether a list was asked for in an order.
    fn is_ordered(&self, source: &DraftStep) -> bool {
        source.call(self.cx.trace).arguments.as_object().is_none_or(|sent| sent.keys().any(|name| orders(name)))
    }

    /// What the only item is called, where that is, word for word, what was asked for: a search may find what is called nearly so.
    fn asked_for(&self, step: &DraftStep, item: &Item) -> Option<(String, String)> {
        let element = item.items.first()?.as_object()?;
        let mut found = None;
        walk_literals(&step.arguments, &mut |pointer, literal| {
            let said = literal.as_str().filter(|text| text.parse::<f64>().is_err() && !text.contains('@'));
            let same = |(field, value): &(&String, &Value)| {
                pointer == format!("/{field}") && names_title(field) && *value == literal
            };
            let member = said.and_then(|said| Some((element.iter().find(same)?.0.clone(), said.to_owned())));
            found = found.take().or(member);
        });
        found
    }

    /// Whether nothing says for what an item is taken.
    fn is_open(&self, reference: &Reference) -> bool {
        self.item(reference).is_some_and(|item| item.items.len() > 1 && self.told(&item, reference).is_none())
    }

    /// The program that takes the item for what a query or what was typed says that it is, and that in words.
    fn told(&self, item: &Item, reference: &Reference) -> Option<(String, String)> {
        let (step, source) = (&self.step.id, &reference.step);
        if let Some(jq) = self.by_query(item) {
            let text = format!(
                "{step} takes the item of {source} that the query picked: {jq}; a run in which it gives several, or none, stops there"
            );
            return Some((jq, text));
        }
        if let Some(jq) = self.only(item, source) {
            let so = if is_by_property(&jq) { " that is called so" } else { "" };
            let text =
                format!("{step} takes the only item of {source}{so}; a run that finds several, or none, stops there");
            return Some((jq, text));
        }
        let (field, value) = self.by_typed(item).filter(|_| item.items.len() > 1)?;
        let text = format!("{step} takes the item of {source} whose {field} is {value}");
        Some((with_field(item, &field, &value), text))
    }

    /// The program that takes the item for what it is; none where the position stays. What is asked may be another one at this place.
    fn pick(
        &self,
        reference: &Reference,
        is_asked: bool,
        desk: &mut Desk,
        said: &mut Vec<Said>,
    ) -> Result<Option<Picked>, FlowError> {
        let Some(item) = self.item(reference) else { return Ok(None) };
        let id = QuestionId::at(QuestionId::Pick, &self.step.id, self.pointer);
        let parameter = self.parameter(&item);
        let word = parameter.as_deref().map(word_of);
        if let (Some(name), Some(word)) = (&parameter, &word)
            && desk.given(&id, &[word]).is_some()
        {
            return Ok(Some(Picked::Parameter(name.clone())));
        }
        if item.is_bare() && desk.given(&id, &["always"]).is_some() {
            return Ok(Some(Picked::Always(item.value)));
        }
        let given = desk.given(&id, &["position", REFERENCE]);
        let told = self.told(&item, reference);
        if let Some(word) = given.filter(|_| told.is_none() || !is_asked) {
            return Ok(self.said(&word, (id, &item), said)?.map(Picked::By));
        }
        // Who says where a value comes from means the item that stands there, until it is asked whether that is so in another order.
        let source = desk.given(&QuestionId::at(QuestionId::Source, &self.step.id, self.pointer), &[REFERENCE]);
        if source.is_some() {
            return Ok(None);
        }
        let undo = Some(command("--answer").assignment(&id, "position"));
        let step = &self.step.id;
        if let Some((jq, text)) = told {
            desk.note(Some(step), text, undo);
            return Ok(Some(Picked::By(jq)));
        }
        if item.items.len() == 1 {
            return Ok(None);
        }
        if let Some(end) = self.end(&item, &reference.step) {
            let text = format!("{step} takes the {end} of {} items of {}", item.items.len(), reference.step);
            desk.note(Some(step), text, None);
            return Ok(None);
        }
        if let Some(one) = said.iter().find(|one| one.spot == item.spot()) {
            let jq = one.chooses.as_ref().map(|chooses| format!("{chooses} | {}", or_identity(&item.field)));
            if jq.as_ref().is_none_or(|jq| self.gives(&item, jq)) {
                let text = format!("{step} takes the same item of {} as {}", reference.step, one.step);
                desk.note(Some(step), text, undo);
                desk.is_same(id, one.id.clone());
                return Ok(jq.map(Picked::By));
            }
        }
        let word = desk.ask(self.question(id.clone(), &item, reference))?;
        Ok(self.said(&word, (id, &item), said)?.map(Picked::By))
    }

    /// The end of a list that is meant: somebody who wrote the position of the first thing meant the first one; of texts, and from the
    /// end, that is said where the list has an order.
    fn end(&self, item: &Item, source: &str) -> Option<&'static str> {
        let source = self.draft.steps.iter().find(|step| step.id == source)?;
        let is_certain = !(item.from_end || item.is_bare()) || self.is_ordered(source);
        let end = if item.from_end {
            (item.index + 1 == item.items.len()).then_some("last")
        } else {
            (item.index == 0).then_some("first")
        };
        end.filter(|_| is_certain && !self.step.linked.contains(self.pointer))
    }

    /// The parameter that was given for the value: it may be that, and not an item's.
    fn parameter(&self, item: &Item) -> Option<String> {
        let mut specs = self.cx.request.params.iter();
        specs.find(|spec| spec.value.as_ref() == Some(&text_of(&item.value))).map(|spec| spec.name.clone())
    }

    /// The program that the answer to a question means; none where the position stays. It is kept for whoever takes the same item.
    fn said(
        &self,
        word: &str,
        (id, item): (QuestionId, &Item),
        said: &mut Vec<Said>,
    ) -> Result<Option<String>, FlowError> {
        let jq = if word.starts_with('@') { Some(self.read(&id, word, item)?) } else { None };
        let end = format!(" | {}", or_identity(&item.field));
        let chooses = jq.as_ref().map(|jq| jq.strip_suffix(&end).map(str::to_owned));
        if chooses != Some(None) {
            said.push(Said { spot: item.spot(), step: self.step.id.clone(), id, chooses: chooses.flatten() });
        }
        Ok(jq)
    }

    /// The steps that take the same item, this one first.
    fn sharing(&self, item: &Item) -> Vec<&DraftStep> {
        let stays = |step: &&DraftStep| step.out.is_none() && step.broken.is_none() && step.id != self.step.id;
        let shares = |step: &&DraftStep| {
            let mut found = false;
            references(&step.arguments, &mut |_, reference| {
                found |= self.item(reference).is_some_and(|other| other.spot() == item.spot());
            });
            found
        };
        std::iter::once(self.step).chain(self.draft.steps.iter().filter(stays).filter(shares)).collect()
    }

    /// The item that a reference goes to.
    fn item(&self, reference: &Reference) -> Option<Item> {
        let source = self.draft.steps.iter().find(|step| step.id == reference.step)?;
        if reference.each || !source.is_one() {
            return None;
        }
        let response = source.call(self.cx.trace).response;
        let body = self.cx.body(response)?;
        let path = path_in(&reference.jq, &body)?;
        let mut counted = reference.jq.split('[').skip(1).map(|index| index.trim_start().starts_with('-'));
        let from_end = counted.next().unwrap_or(false);
        // What is counted from the end within the item would become the place that it had in the recording.
        if counted.any(|from_end| from_end) {
            return None;
        }
        let split = path.iter().position(|segment| matches!(segment, Segment::Index(_)))?;
        let Segment::Index(index) = path[split] else { return None };
        let items = at(&body, &path[..split])?.as_array().filter(|items| !items.is_empty())?.clone();
        let field = &path[split + 1..];
        let field = if field.is_empty() { String::new() } else { jq_of(field) };
        let value = at(&body, &path)?.clone();
        let item = Item { response, array: jq_of(&path[..split]), index, from_end, field, items, value };
        (item.items.iter().all(Value::is_object) || item.is_bare()).then_some(item)
    }

    fn gives(&self, item: &Item, jq: &str) -> bool {
        let outputs = self.cx.outputs(item.response, jq);
        outputs.is_ok_and(|outputs| outputs.as_slice() == std::slice::from_ref(&item.value))
    }

    fn read(&self, id: &QuestionId, word: &str, item: &Item) -> Result<String, FlowError> {
        let wrong = |why: &str| FlowError::Usage { message: format!("`{id}` cannot be `{word}`: {why}") };
        let ResultSpec { response, jq } = word.parse().map_err(|_| wrong("write it as @N{JQ}"))?;
        if response != item.response {
            return Err(wrong(&format!("the item is one of {}", item.response)));
        }
        if self.gives(item, &jq) { Ok(jq) } else { Err(wrong("it does not give the recorded value")) }
    }

    /// What a query said that picked exactly this item.
    fn by_query(&self, item: &Item) -> Option<String> {
        let before = self.step.call(self.cx.trace).command;
        let queries = self.cx.trace.queries.iter().rev();
        let of_it = queries.filter(|query| {
            query.source_response.map(|of| self.cx.whole(of)) == Some(item.response) && query.command.0 < before
        });
        let programs: Vec<String> = of_it.filter_map(|query| self.cx.portable(query).ok()).collect();
        // What printed exactly that comes before what only leads to the same item.
        if let Some(exact) = programs.iter().find(|jq| path_of(jq).is_none() && chooses(jq) && self.gives(item, jq)) {
            return Some(exact.trim().to_owned());
        }
        for program in &programs {
            let stages = program::stages(program);
            for count in (1..=stages.len()).rev() {
                let prefix = stages[..count].join("|").trim().to_owned();
                if path_of(&prefix).is_some() || !chooses(&prefix) {
                    continue;
                }
                let candidates = [
                    (count == stages.len()).then(|| prefix.clone()),
                    (!item.field.is_empty()).then(|| format!("{prefix} | {}", item.field)),
                    Some(format!("{prefix} | .[] | {}", or_identity(&item.field))),
                    Some(format!("{prefix} | .[0] | {}", or_identity(&item.field))),
                ];
                if let Some(jq) = candidates.into_iter().flatten().find(|jq| self.gives(item, jq)) {
                    return Some(jq);
                }
            }
        }
        let condition = condition(self.cx, item.response, &item.array, &[item.index])?;
        let jq = format!("{}[] | select({condition}) | {}", item.array, or_identity(&item.field));
        self.gives(item, &jq).then_some(jq)
    }

    /// The field of the item that equals what the person typed, and no other item has.
    fn by_typed(&self, item: &Item) -> Option<(String, String)> {
        let element = item.items[item.index].as_object()?;
        element.iter().find_map(|(field, value)| {
            let text = value.as_str().filter(|text| self.typed.contains(*text))?;
            is_unique(&item.items, field, value).then(|| (field.clone(), text.to_owned()))
        })
    }

    fn question(&self, id: QuestionId, item: &Item, reference: &Reference) -> Question {
        let element = &item.items[item.index];
        let members = element.as_object().into_iter().flatten();
        let rank = |field: &str| TELLING.iter().position(|one| *one == field).unwrap_or(TELLING.len());
        let mut fields: Vec<(&String, &str)> = members
            .filter_map(|(field, value)| {
                Some((field, value.as_str()?)).filter(|_| is_unique(&item.items, field, value))
            })
            .filter(|(field, _)| !super::context::names_id(field) || *field == "key")
            .collect();
        fields.retain(|(field, value)| self.alone && self.gives(item, &with_field(item, field, value)));
        fields.sort_by_key(|(field, _)| rank(field));
        fields.truncate(MAX_FIELDS);
        let answer = |word: String, means: String| Answer::by_id(&id, word, means);
        let each = command("--loop").assignment(&self.step.id, "CONDITION");
        let each = format!("; each that a condition holds for is `{each}`");
        let each = if self.step.is_write(self.cx.trace) { each } else { String::new() };
        let place = if item.from_end { item.items.len() - item.index } else { item.index + 1 };
        let end = if item.from_end { ", counted from its end," } else { "" };
        let position = format!("it is number {place} of the list{end} in each run{each}");
        let mut answers = vec![answer("position".to_owned(), position)];
        answers.extend(fields.iter().map(|(field, value)| {
            let jq = with_field(item, field, value);
            answer(format!("{}{{{jq}}}", item.response), format!("it is the one whose {field} is `{value}`"))
        }));
        answers.extend(self.parameter(item).map(|name| {
            let means = format!("it is the one that parameter `{name}` says, whatever the list has");
            answer(word_of(&name), means)
        }));
        let value = text_of(&item.value);
        let always = || answer("always".to_owned(), format!("it is `{value}` in each run, whatever the list has"));
        answers.extend(item.is_bare().then(always));
        let sharing = self.sharing(item);
        answers.extend(self.step.skip(self.cx.trace));
        let evidence = fields.iter().map(|(field, value)| Evidence {
            what: format!("no other item has this {field}"),
            response: Some(item.response),
            jq: Some(format!("{}[{}].{field}", item.array, item.index)),
            value: Value::from(*value),
        });
        Question {
            kind: id.kind(),
            ask: format!(
                "{} item {} of {} of {}: which one is meant?",
                takes(&sharing),
                item.index + 1,
                item.items.len(),
                reference.step
            ),
            places: vec![Place { step: self.step.id.clone(), pointer: self.pointer.to_owned() }],
            evidence: evidence.collect(),
            answers,
            taken: "position".to_owned(),
            writes: sharing.iter().any(|step| step.is_write(self.cx.trace)),
            open: true,
            id: id.clone(),
        }
    }
}

impl Item {
    /// Whether it is one of texts that have no members to tell them apart.
    fn is_bare(&self) -> bool {
        self.items.iter().all(Value::is_string)
    }

    /// Where it stands.
    fn spot(&self) -> Spot {
        (self.response, self.array.clone(), self.index, self.from_end)
    }
}

fn takes(steps: &[&DraftStep]) -> String {
    let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    format!("{} {}", ids.join(" and "), if ids.len() == 1 { "takes" } else { "take" })
}

/// The program that takes the item by a field.
fn with_field(item: &Item, field: &str, value: &str) -> String {
    let field = jq_of(&[Segment::Key(field.to_owned())]);
    let value = Value::from(value);
    format!("{}[] | select({field} == {value}) | {}", item.array, or_identity(&item.field))
}

fn is_unique(items: &[Value], field: &str, value: &Value) -> bool {
    items.iter().filter(|item| item.get(field).is_some_and(|other| text_of(other) == text_of(value))).count() == 1
}

fn or_identity(field: &str) -> &str {
    if field.is_empty() { "." } else { field }
}

/// Whether an argument of this name says in which order a list is wanted.
pub(crate) fn orders(name: &str) -> bool {
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    ORDERS.contains(&letters.to_ascii_lowercase().as_str())
}

/// Whether a program says which item it takes.
pub(crate) fn chooses(program: &str) -> bool {
    is_by_property(program) || program::names(program, &["first", "last"])
}

/// Whether a program says by what it takes an item, not only where it stands.
pub(crate) fn is_by_property(program: &str) -> bool {
    program::names(program, &["select", "sort_by", "min_by", "max_by", "group_by", "unique_by"])
}
