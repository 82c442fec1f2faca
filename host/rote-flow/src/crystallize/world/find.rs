//! What a plan does wrong in another world.

use std::collections::{BTreeMap, BTreeSet};

use rote_plan::{Expression, Plan, Reference, text_of};
use rote_types::QueryEngine;
use serde_json::{Map, Value};

use super::super::occurrences::numbers_of_things;
use super::super::path::{Segment, jq_of};
use super::super::{pick, program};
use super::change::{self, Renaming, date_of, is_list, with_value};
use super::host::{Ran, Sent, run_in};
use super::model::{World, scalars, tells_apart};
use crate::literals::{last_segment, references, walk_scalars};

/// Most values that are tried for one parameter.
const MAX_OTHERS: usize = 8;
/// Most lists that are made longer.
const MAX_LISTS: usize = 4;

/// What is wrong.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    /// An id of the recording is sent where the thing has another one.
    OldId,
    /// The value that a parameter had is sent.
    OldValue { parameter: String },
    /// In another order of a list, another thing of it is taken.
    OtherItem,
    /// A list that was gone through is longer, and nothing is done for what is new.
    MissedItem { exchange: usize, array: String },
    /// The run stops, although everything is there under another name.
    Stops { why: String },
    /// Two arguments that named two things name one, where there is only that one.
    SameThing { other: String },
    /// The run stops after some of its writes when the lists are so.
    StopsHalfway { lists: &'static str, writes: usize, why: String },
}

/// Something wrong, and where.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) step: String,
    /// JSON pointer into its arguments; empty for all of it.
    pub(crate) pointer: String,
    pub(crate) what: What,
    /// What was sent.
    pub(crate) sent: Value,
}

/// A plan, its world, and the values that it was recorded with.
pub(crate) struct Trial<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) world: &'a World,
    pub(crate) parameters: &'a Map<String, Value>,
    /// Parameters of which one of a few values must be given.
    pub(crate) chosen: &'a BTreeSet<String>,
    /// Parameters that stand for their value wherever it is.
    pub(crate) by_value: &'a BTreeSet<String>,
    pub(crate) engine: &'a dyn QueryEngine,
}

impl Trial<'_> {
    /// Tries all worlds; refused when the plan does not even run in its own.
    pub(crate) fn findings(&self) -> Result<Vec<Finding>, String> {
        let as_recorded = self.run(self.world);
        as_recorded.end.as_ref().map_err(|(_, why)| why.clone())?;
        let mut found = self.other_ids();
        found.extend(self.other_given());
        found.extend(self.other_values());
        let missed = self.longer_lists(&as_recorded);
        // What goes through all of a list takes each of it by where it stands, and that is said once.
        let repeats = |one: &Finding| {
            let tool = |step: &str| as_recorded.sent.iter().find(|sent| sent.step == step).map(|sent| &sent.tool);
            let at = |other: &Finding| one.pointer.is_empty() || other.pointer == one.pointer;
            missed.iter().any(|other| at(other) && tool(&other.step) == tool(&one.step))
        };
        found.extend(self.other_order(&as_recorded).into_iter().filter(|one| !repeats(one)));
        found.extend(self.fewer_things("empty", &change::emptied(self.world)));
        let one_less = self.fewer_things("one shorter", &change::shorter(self.world));
        found.extend(one_less.into_iter().filter(|one| !repeats(one)));
        found.extend(self.only_one(&as_recorded));
        found.extend(missed);
        let mut seen = BTreeSet::new();
        found.retain(|one| seen.insert((one.step.clone(), one.pointer.clone())));
        Ok(found)
    }

    fn run(&self, world: &World) -> Ran {
        run_in(world, self.plan, self.parameters, self.engine)
    }

    /// Runs the plan in a world; nothing where that is the recorded one, whose end is known.
    fn elsewhere(&self, world: &World) -> Option<Ran> {
        (world != self.world).then(|| self.run(world))
    }

    fn other_ids(&self) -> Vec<Finding> {
        let programs: Vec<&str> = programs(self.plan);
        let given: Vec<&Value> = self.parameters.values().collect();
        let ids = Renaming::of(&self.world.ids(&given, &programs));
        let Some(ran) = self.elsewhere(&change::renamed(self.world, &ids)) else { return Vec::new() };
        let mut found = Vec::new();
        for sent in &ran.sent {
            walk_scalars(&sent.arguments, String::new(), &mut |pointer, value| {
                if ids.is_old(last_name(pointer), value) {
                    found.push(finding(&sent.step, pointer, What::OldId, value));
                }
            });
        }
        if let Ok(result) = &ran.end {
            scalars(result, "", &mut Vec::new(), &mut |name, _, value| {
                if ids.is_old(name, value) && !found.iter().any(|one| one.step == "result") {
                    found.push(finding("result", "", What::OldId, value));
                }
            });
        }
        // Where a program orders by a number, that may be an id, and other ids are in another order.
        let orders = programs.iter().any(|program| program.contains(['<', '>']));
        found.extend(stop(&ran, found.is_empty() && !orders));
        found
    }

    /// The ids that a person gives are others: what a parameter has by its name alone may be sent elsewhere too.
    fn other_given(&self) -> Vec<Finding> {
        let given = self.given_ids();
        let ids = Renaming::of(&given.values().map(|one| one.old.clone()).collect());
        let renamed = |(name, value): (&String, &Value)| {
            let value = if given.contains_key(name) { ids.renamed(value, "id") } else { value.clone() };
            (name.clone(), value)
        };
        let parameters: Map<String, Value> = self.parameters.iter().map(renamed).collect();
        if parameters == *self.parameters {
            return Vec::new();
        }
        let ran = run_in(&change::renamed(self.world, &ids), self.plan, &parameters, self.engine);
        let mut found = Vec::new();
        for sent in &ran.sent {
            walk_scalars(&sent.arguments, String::new(), &mut |pointer, value| {
                let holds = |old: &str| text_of(value) == old || value.as_str().is_some_and(|text| text.contains(old));
                let numbered = |old: &str| {
                    let text = value.as_str().unwrap_or_default();
                    numbers_of_things(text).any(|number| text[number] == *old)
                };
                let renamed = ids.renamed(value, last_name(pointer)) != *value;
                let is_old = |one: &GivenId| holds(&one.old) && (numbered(&one.old) || one.by_word && renamed);
                if let Some((parameter, _)) = given.iter().find(|(_, one)| is_old(one)) {
                    found.push(finding(&sent.step, pointer, What::OldValue { parameter: parameter.clone() }, value));
                }
            });
        }
        found
    }

    /// The parameters that name a thing, by the argument that they are or because an answer has the value as an id.
    fn given_ids(&self) -> BTreeMap<String, GivenId> {
        let mut ids = BTreeSet::new();
        for exchange in &self.world.exchanges {
            scalars(&exchange.body, "", &mut Vec::new(), &mut |name, _, value| {
                ids.extend(Some(value).filter(|value| !value.is_null() && tells_apart(name)).map(text_of));
            });
        }
        let mut found = BTreeMap::new();
        for step in &self.plan.steps {
            let Expression::Object(members) = &step.arguments else { continue };
            for (argument, inner) in members {
                let Expression::Param(name) = inner else { continue };
                let Some(value) = self.parameters.get(name) else { continue };
                let old = text_of(value);
                if !old.is_empty() && (tells_apart(argument) || ids.contains(&old)) {
                    // A number may be equal by chance.
                    let by_word = value.is_string() || tells_apart(argument);
                    found.insert(name.clone(), GivenId { old, by_word });
                }
            }
        }
        found
    }

    fn other_values(&self) -> Vec<Finding> {
        let mut parameters = self.parameters.clone();
        let mut changed = Vec::new();
        for (name, value) in &mut parameters {
            let other = Some(&*value).filter(|_| !self.chosen.contains(name)).and_then(|value| self.unseen(value));
            let Some(other) = other else { continue };
            changed.push((name.clone(), text_of(value), text_of(&other)));
            *value = other;
        }
        if changed.is_empty() {
            return Vec::new();
        }
        let pairs: Vec<(String, String)> = changed.iter().map(|(_, old, new)| (old.clone(), new.clone())).collect();
        let ran = run_in(&change::with_values(self.world, &pairs), self.plan, &parameters, self.engine);
        let mut found = Vec::new();
        for sent in &ran.sent {
            walk_scalars(&sent.arguments, String::new(), &mut |pointer, value| {
                let Some(text) = value.as_str() else { return };
                let holds = |(name, old, new): &&(String, String, String)| {
                    (date_of(old).is_some() || self.by_value.contains(name)) && with_value(text, old, new).is_some()
                };
                if let Some((name, ..)) = changed.iter().find(holds) {
                    found.push(finding(&sent.step, pointer, What::OldValue { parameter: name.clone() }, value));
                }
            });
        }
        found.extend(stop(&ran, found.is_empty()));
        found
    }

    /// Another value for a parameter that no answer has: it would be that of another thing.
    fn unseen(&self, value: &Value) -> Option<Value> {
        let mut other = change::other_value(value)?;
        for _ in 0..MAX_OTHERS {
            let mut seen = false;
            for exchange in &self.world.exchanges {
                scalars(&exchange.body, "", &mut Vec::new(), &mut |_, _, known| seen |= *known == other);
            }
            if !seen {
                return Some(other);
            }
            other = change::other_value(&other)?;
        }
        None
    }

    fn other_order(&self, as_recorded: &Ran) -> Vec<Finding> {
        let worlds = [change::reordered(self.world), change::reversed(self.world), change::shorter(self.world)];
        let ran: Vec<Ran> = worlds.iter().filter_map(|world| self.elsewhere(world)).collect();
        ran.iter().flat_map(|ran| self.other_items(ran, as_recorded)).collect()
    }

    /// What is taken by where it stands, and is another thing in this run.
    fn other_items(&self, ran: &Ran, as_recorded: &Ran) -> Vec<Finding> {
        let mut found = Vec::new();
        for (step, sent) in by_step(&ran.sent) {
            let Some(expression) = self.plan.steps.iter().find(|one| one.id == step).map(|one| &one.arguments) else {
                continue;
            };
            let before: Vec<&Value> = by_step(&as_recorded.sent).remove(step).unwrap_or_default();
            references(expression, &mut |pointer, reference| {
                let at = |values: &[&Value]| {
                    let mut texts: Vec<String> =
                        values.iter().filter_map(|value| value.pointer(pointer)).map(text_of).collect();
                    texts.sort_unstable();
                    texts.dedup();
                    texts
                };
                let now = at(&sent);
                if is_positional(&reference.jq) && now != at(&before) && !self.is_end_of_order(reference) {
                    let value = now.into_iter().next().map_or(Value::Null, Value::from);
                    found.push(finding(step, pointer, What::OtherItem, &value));
                }
            });
        }
        found
    }

    /// Whether it takes the first or the last of a list that was asked for in an order: then that is what they mean.
    fn is_end_of_order(&self, reference: &Reference) -> bool {
        let Some(step) = self.plan.steps.iter().find(|one| one.id == reference.step) else { return false };
        let ordered = match &step.arguments {
            Expression::Object(members) => members.iter().any(|(name, _)| pick::orders(name)),
            Expression::Literal(Value::Object(members)) => members.keys().any(|name| pick::orders(name)),
            _ => false,
        };
        let ends = ["0", "-1", "first", "last"];
        ordered && matches!(program::positions(&reference.jq).as_slice(), [one] if ends.contains(&one.as_str()))
    }

    fn longer_lists(&self, as_recorded: &Ran) -> Vec<Finding> {
        let mut found = Vec::new();
        for group in groups(self.world, &as_recorded.sent).into_iter().take(MAX_LISTS) {
            let Group { exchange, array, field, tool, pointer, step } = group;
            let Some((longer, added)) = change::longer(self.world, exchange, &array, &field) else { continue };
            let sent = self.run(&longer).sent;
            let done = sent.iter().any(|one| one.tool == tool && one.arguments.pointer(&pointer) == Some(&added));
            if !done {
                let what = What::MissedItem { exchange, array: jq_of(&array) };
                found.push(finding(&step, &pointer, what, &added));
            }
        }
        found
    }

    /// Writes that name one thing twice where every list has only its first one, and named two.
    fn only_one(&self, as_recorded: &Ran) -> Vec<Finding> {
        let Some(ran) = self.elsewhere(&change::only_one(self.world)) else { return Vec::new() };
        let mut found = Vec::new();
        for sent in ran.sent.iter().filter(|sent| sent.writes) {
            let Some(before) = as_recorded.sent.iter().find(|one| one.step == sent.step) else { continue };
            let mut ids: Vec<(String, Value)> = Vec::new();
            walk_scalars(&sent.arguments, String::new(), &mut |pointer, value| {
                if tells_apart(last_name(pointer)) && !value.is_null() {
                    ids.push((pointer.to_owned(), value.clone()));
                }
            });
            for (at, (pointer, value)) in ids.iter().enumerate() {
                let had = |pointer: &str| before.arguments.pointer(pointer);
                let same = |(other, again): &&(String, Value)| again == value && had(other) != had(pointer);
                if let Some((other, _)) = ids[..at].iter().find(same) {
                    let other = last_name(other).to_owned();
                    found.push(finding(&sent.step, pointer, What::SameThing { other }, value));
                }
            }
        }
        found
    }

    fn fewer_things(&self, lists: &'static str, world: &World) -> Vec<Finding> {
        let Some(ran) = self.elsewhere(world) else { return Vec::new() };
        match (&ran.end, ran.writes()) {
            (Err((step, why)), writes) if writes > 0 => {
                vec![finding(step, "", What::StopsHalfway { lists, writes, why: why.clone() }, &Value::Null)]
            }
            _ => Vec::new(),
        }
    }
}

fn finding(step: &str, pointer: &str, what: What, sent: &Value) -> Finding {
    Finding { step: step.to_owned(), pointer: pointer.to_owned(), what, sent: sent.clone() }
}

/// An id that a person gives.
struct GivenId {
    old: String,
    /// It is meant wherever it is a word; else only where it stands as `#11`.
    by_word: bool,
}

/// A stop in a world where everything has only other names; what was found before explains it.
fn stop(ran: &Ran, unexplained: bool) -> Option<Finding> {
    let (step, why) = ran.end.as_ref().err().filter(|_| unexplained)?;
    Some(finding(step, "", What::Stops { why: why.clone() }, &Value::Null))
}

/// The last name of a pointer; items have the name of their array.
fn last_name(pointer: &str) -> &str {
    let mut rest = pointer;
    while !rest.is_empty() && last_segment(rest).chars().all(|c| c.is_ascii_digit()) {
        rest = rest.rsplit_once('/').map_or("", |(before, _)| before);
    }
    last_segment(rest)
}

fn programs(plan: &Plan) -> Vec<&str> {
    let expressions = plan.steps.iter().flat_map(|step| [Some(&step.arguments), step.for_each.as_ref()]);
    let all = expressions.flatten().chain([&plan.result]);
    all.flat_map(Expression::references).map(|reference| reference.jq.as_str()).collect()
}

fn by_step(sent: &[Sent]) -> BTreeMap<&str, Vec<&Value>> {
    let mut found: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for one in sent {
        found.entry(&one.step).or_default().push(&one.arguments);
    }
    found
}

/// Whether a program takes an item by where it stands, and says nothing else of it.
fn is_positional(jq: &str) -> bool {
    !program::positions(jq).is_empty() && !pick::is_by_property(jq)
}

/// Writes of one tool, one for each thing of a list and otherwise the same.
struct Group {
    exchange: usize,
    array: Vec<Segment>,
    field: String,
    tool: String,
    pointer: String,
    step: String,
}

fn groups(world: &World, sent: &[Sent]) -> Vec<Group> {
    let mut found: Vec<Group> = Vec::new();
    for (exchange, one) in world.exchanges.iter().enumerate().filter(|(_, one)| !one.writes) {
        lists(&one.body, &mut Vec::new(), &mut |array, items| {
            for field in fields(items) {
                let ids: Vec<String> = items.iter().filter_map(|item| item.get(&field)).map(text_of).collect();
                if let Some((tool, pointer, step)) = gone_through(items, &ids, sent) {
                    let known = found.iter().any(|other| other.tool == tool && other.pointer == pointer);
                    if !known {
                        found.push(Group { exchange, array: array.to_vec(), field, tool, pointer, step });
                    }
                }
            }
        });
    }
    found
}

/// Calls `visit` with every list of at least two things.
fn lists(value: &Value, path: &mut Vec<Segment>, visit: &mut dyn FnMut(&[Segment], &[Value])) {
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                path.push(Segment::Key(key.clone()));
                lists(inner, path, visit);
                path.pop();
            }
        }
        Value::Array(items) if items.len() >= 2 && is_list(items) => visit(path, items),
        _ => {}
    }
}

/// The members that tell the things of a list apart.
fn fields(items: &[Value]) -> Vec<String> {
    let first = items.first().and_then(Value::as_object);
    let names = first.into_iter().flat_map(|first| first.keys()).filter(|name| tells_apart(name));
    let distinct = |name: &&String| {
        let values: BTreeSet<String> = items.iter().filter_map(|item| item.get(*name)).map(text_of).collect();
        values.len() == items.len()
    };
    names.filter(distinct).cloned().collect()
}

/// The tool, the place and the first step of writes that were made once for each of these ids.
fn gone_through(items: &[Value], ids: &[String], sent: &[Sent]) -> Option<(String, String, String)> {
    for first in sent.iter().filter(|one| one.writes) {
        let mut places = Vec::new();
        walk_scalars(&first.arguments, String::new(), &mut |pointer, value| {
            if tells_apart(last_name(pointer)) && ids.contains(&text_of(value)) {
                places.push(pointer.to_owned());
            }
        });
        for pointer in places {
            let mut seen = BTreeSet::new();
            let mut shapes = BTreeSet::new();
            for one in sent.iter().filter(|one| one.tool == first.tool) {
                let Some(id) = one.arguments.pointer(&pointer).map(text_of) else { continue };
                let Some(at) = ids.iter().position(|known| *known == id) else { continue };
                seen.insert(at);
                shapes.insert(without_item(&one.arguments, &items[at]));
            }
            if seen.len() == ids.len() && shapes.len() == 1 {
                return Some((first.tool.clone(), pointer, first.step.clone()));
            }
        }
    }
    None
}

/// Arguments with everything of the item taken out, as text.
fn without_item(arguments: &Value, item: &Value) -> String {
    let mut own: Vec<(String, String)> = Vec::new();
    scalars(item, "", &mut Vec::new(), &mut |_, path, value| own.push((text_of(value), jq_of(path))));
    let mut told = String::new();
    walk_scalars(arguments, String::new(), &mut |pointer, value| {
        let text = text_of(value);
        let whole = own.iter().find(|(scalar, _)| *scalar == text);
        let shown = match whole {
            Some((_, path)) => format!("<{path}>"),
            None => own
                .iter()
                .filter(|(scalar, _)| scalar.chars().count() >= 3)
                .fold(text, |text, (scalar, path)| text.replace(&**scalar, &format!("<{path}>"))),
        };
        told.push_str(&format!("{pointer}={shown}\n"));
    });
    told
}
