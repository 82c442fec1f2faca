//! Lists and objects that an answer gave as a whole.

use std::borrow::Cow;

use rote_plan::{At, Expression, Onward, Reference};
use rote_types::command;
use serde_json::{Map, Value};

use super::super::bind::place::replace_at;
use super::super::context::names_id;
use super::super::desk::REFERENCE;
use super::super::path::{Segment, jq_of};
use super::super::secret::is_secret;
use super::source::same_name;
use super::{Linker, Read, place_name};
use crate::literals::{pointer_of, visit_value};
use crate::question::QuestionId;

impl Linker<'_, '_> {
    /// Lists that are all ids of an array, in its order, and those that a query gave, which are asked for.
    pub(super) fn lists(&mut self, arguments: &mut Expression) {
        if let Expression::Literal(Value::Object(members)) = arguments {
            let member = |(key, value): (&String, &Value)| (key.clone(), Expression::Literal(value.clone()));
            *arguments = Expression::Object(members.iter().map(member).collect());
        }
        self.asked_wholes(arguments);
        let Expression::Object(members) = arguments else { return };
        for (name, inner) in members {
            let Expression::Literal(Value::Array(items)) = inner else { continue };
            let pointer = pointer_of(&[At::Key(name)]);
            let Some((step, jq)) = Some(&*name).filter(|name| names_id(name)).and_then(|_| self.all_of(name, items))
            else {
                continue;
            };
            let place = format!("{}:{pointer}", self.step.id);
            let id = QuestionId::at(QuestionId::Source, &self.step.id, &pointer);
            if self.desk.given(&id, &["always"]).is_none() {
                let text = format!("linked {} {name} = all {jq} of {step}", self.step.id);
                self.desk.note(Some(&self.step.id), text, Some(command("--no-link").argument(place)));
                *inner = Expression::From(Reference { each: true, ..Reference::new(step, jq) });
            }
        }
    }

    /// Asks for the lists and objects in a literal that a query gave before they were sent, the outer ones first, and puts what an
    /// answer says in their place.
    fn asked_wholes(&mut self, arguments: &mut Expression) {
        let mut wholes: Vec<(String, Value)> = Vec::new();
        arguments.visit(&mut |way, one| {
            if let Expression::Literal(value) = one {
                visit_value(value, &mut pointer_of(way), &mut |pointer, inner| {
                    if !pointer.is_empty() && (inner.is_array() || inner.is_object()) {
                        wholes.push((pointer.to_owned(), inner.clone()));
                    }
                    Onward::Into
                });
            }
            Onward::Into
        });
        for (pointer, value) in wholes {
            if let Some(found) = self.asked_whole(&pointer, &value) {
                replace_at(arguments, &pointer, &found);
            }
        }
    }

    /// What a list or an object is taken from by an answer; asked where a query gave exactly it.
    fn asked_whole(&mut self, pointer: &str, value: &Value) -> Option<Expression> {
        let name = place_name(pointer);
        let within = self.whole.iter().any(|whole| pointer.starts_with(whole.as_str()));
        if within || names_id(&name) || self.cx.is_claimed(&self.step.id, pointer, &name, value) {
            return None;
        }
        if is_secret(pointer, value) {
            return None;
        }
        let mut reads = self.printed(&name, value);
        if reads.is_empty() {
            reads.extend(self.changed(&name, value));
        }
        if reads.is_empty() && !self.is_changed_of_target(&name, value) {
            return None;
        }
        self.whole.push(format!("{pointer}/"));
        let id = QuestionId::at(QuestionId::Source, &self.step.id, pointer);
        match self.desk.given(&id, &["always", REFERENCE]).filter(|word| word.starts_with('@')) {
            Some(word) => self.read(&id, &word, value).map_err(|error| self.failed = Some(error)).ok(),
            None => self.ask(id, pointer, value, reads),
        }
    }

    /// The step and the program that gives exactly these values.
    fn all_of(&self, name: &str, items: &[Value]) -> Option<(String, String)> {
        if items.len() < 2 {
            return None;
        }
        self.hits(name, &items[0]).into_iter().find_map(|hit| {
            let at = hit.path.iter().position(|segment| *segment == Segment::Index(0))?;
            let (array, field) = (&hit.path[..at], &hit.path[at + 1..]);
            let field = if field.is_empty() { String::new() } else { jq_of(field) };
            let array = if array.is_empty() { ".".to_owned() } else { jq_of(array) };
            let jq = format!("{array}[]{field}");
            let outputs = self.cx.outputs(self.response(hit), &jq).ok()?;
            (outputs.as_slice() == items).then(|| (self.source(hit).0, jq))
        })
    }

    /// Where the one thing that was printed or read last has this list under the same name, or with some elements fewer or more, and
    /// the program that adds or takes away these.
    fn changed(&self, name: &str, value: &Value) -> Option<Read> {
        let sent = value.as_array().filter(|sent| !sent.is_empty() && self.call.is_write())?;
        let of = |read: &Read, had: &Value, prefix: &str| {
            let (mut path, mut lists) = (String::new(), Vec::new());
            lists_of_one(had, &mut path, name, &mut lists);
            // A list that a query made has no name of its own.
            let made = had.as_array().filter(|had| !prefix.is_empty() && had.iter().all(is_scalar));
            lists.extend(made.map(|had| (".".to_owned(), Cow::from(had))));
            lists.into_iter().find_map(|(list, had)| {
                let jq = program_of(format!("{prefix}{list}").trim_end_matches(" | ."), &had, sent)?;
                let read = Read { jq, ..read.clone() };
                let gives = || self.cx.outputs(read.response, &read.jq).is_ok_and(|found| *found == [value.clone()]);
                (!self.is_typed_before(name, value, &read) && gives()).then_some(read)
            })
        };
        let printed = self.prints().into_iter().find_map(|(read, outputs)| match outputs.as_slice() {
            [one] => of(&read, one, &format!("{} | ", read.jq)),
            _ => None,
        });
        let earlier = self.draft.steps.iter().filter(|step| step.calls[0] < self.step.calls[0]);
        let mut stays = earlier.filter(|step| step.broken.is_none() && step.out.is_none()).rev();
        printed.or_else(|| {
            stays.find_map(|step| {
                let response = step.call(self.cx.trace).response;
                of(&Read { step: step.id.clone(), response, jq: String::new() }, &*self.cx.body(response)?, "")
            })
        })
    }

    /// Whether a thing of a list, which the write is for, has this list with some elements fewer or more: which thing that is in
    /// another run no program says here.
    fn is_changed_of_target(&self, name: &str, value: &Value) -> bool {
        let Some(sent) = value.as_array().filter(|sent| !sent.is_empty() && self.call.is_write()) else { return false };
        let before = &self.cx.trace.calls[..self.step.calls[0]];
        before.iter().filter_map(|call| self.cx.body(call.response)).any(|body| {
            let mut found = false;
            each_object(&body, 0, &mut |thing| {
                let named = thing.iter().filter(|(key, _)| same_name(key, name));
                let lists = named.filter_map(|(_, list)| list.as_array()).flat_map(|had| called(".", had));
                let is_changed = |had: &[Value]| had != sent && program_of(".", had, sent).is_some();
                found |= lists.into_iter().any(|(_, had)| is_changed(&had)) && self.is_target(thing);
            });
            found
        })
    }
}

/// Most levels of an answer that are looked through for things.
const MAX_DEPTH: usize = 32;

fn each_object(value: &Value, depth: usize, each: &mut impl FnMut(&Map<String, Value>)) {
    let inner: Vec<&Value> = match value {
        _ if depth > MAX_DEPTH => return,
        Value::Object(members) => {
            each(members);
            members.values().collect()
        }
        Value::Array(items) => items.iter().collect(),
        _ => return,
    };
    inner.into_iter().for_each(|one| each_object(one, depth + 1, each));
}

/// A list with the program that gives it.
type List<'v> = (String, Cow<'v, [Value]>);

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// A list, and for one of objects what each of them has under a name, as an API that answers with objects takes names or ids.
fn called<'v>(path: &str, items: &'v [Value]) -> Vec<List<'v>> {
    let mut found = vec![(path.to_owned(), Cow::from(items))];
    let first = items.first().and_then(Value::as_object);
    for key in first.into_iter().flat_map(Map::keys) {
        let of = |item: &Value| item.get(key).filter(|value| value.is_string() || value.is_number()).cloned();
        if let Some(values) = items.iter().map(of).collect::<Option<Vec<_>>>() {
            let list = if path == "." { ".[]".to_owned() } else { format!("{path}[]") };
            found.push((format!("[{list}{}]", jq_of(&[Segment::Key(key.clone())])), Cow::from(values)));
        }
    }
    found
}

/// The lists of this name that are in an answer once: not in items of which there are several.
fn lists_of_one<'v>(value: &'v Value, path: &mut String, name: &str, found: &mut Vec<List<'v>>) {
    let length = path.len();
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                path.push_str(&jq_of(&[Segment::Key(key.clone())]));
                match inner {
                    Value::Array(items) if same_name(key, name) => found.extend(called(path, items)),
                    _ => lists_of_one(inner, path, name, found),
                }
                path.truncate(length);
            }
        }
        Value::Array(items) if items.len() == 1 => {
            path.push_str(if path.is_empty() { ".[]" } else { "[]" });
            lists_of_one(&items[0], path, name, found);
            path.truncate(length);
        }
        _ => {}
    }
}

/// What makes the list that was sent of the one that was there, be it the same.
fn program_of(list: &str, had: &[Value], sent: &[Value]) -> Option<String> {
    let without = |some: &[Value], others: &[Value]| -> Vec<Value> {
        some.iter().filter(|one| !others.contains(one)).cloned().collect()
    };
    let (added, gone) = (Value::from(without(sent, had)), Value::from(without(had, sent)));
    let none = Value::Array(Vec::new());
    if had == sent {
        return Some(list.to_owned());
    }
    if had.is_empty() || (added == none) == (gone == none) {
        return None;
    }
    Some(if gone == none { format!("{list} | . + ({added} - .)") } else { format!("{list} - {gone}") })
}
