//! Numbers that were reckoned in the head for each item, always in the same way: a dose that is twice the weight of each animal. The
//! calls differ in more than the item then, and are a loop as soon as somebody says that the number is `reckoned`.

use std::collections::{BTreeMap, BTreeSet};

use rote_plan::{Expression, Reference};
use rote_types::command;
use serde_json::{Map, Value};

use super::{Item, List, Member, Rows, apart, of_items};
use crate::FlowError;
use crate::crystallize::chance::key_of;
use crate::crystallize::context::{Context, names_id};
use crate::crystallize::desk::Desk;
use crate::crystallize::draft::Draft;
use crate::crystallize::fields::of_two;
use crate::crystallize::link::place_name;
use crate::crystallize::path::{Segment, jq_of};
use crate::literals::{replace, walk_literals};
use crate::question::{Answer, Evidence, Place, Question, QuestionId, RECKONED};

/// Digits behind the point of what something is multiplied by.
const PLACES: f64 = 1e4;

/// A place in the arguments, and what each call sent there.
type Column = (String, Vec<Value>);

/// Calls of one tool for items of one list.
struct Set {
    tool: String,
    source: String,
    array: List,
    members: Vec<Member>,
    arguments: Vec<Expression>,
}

/// Asks about each number that is the same of each item, and puts in how it is reckoned.
pub(super) fn reckon(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    for set in sets(cx, draft) {
        let Some((columns, arguments)) = set.columns() else { continue };
        let Set { tool, source, array, members, .. } = set;
        let group = super::Group { source, array, tool, arguments, members };
        let indexes: Vec<usize> = group.members.iter().map(|member| member.index).collect();
        let Some(items) = super::items(cx, draft, &group) else { continue };
        let is_loop =
            Rows::of(cx, draft, &group).is_some_and(|rows| apart(cx, draft, (&group, &rows), &indexes).is_none());
        let formulas: Option<Vec<(String, String)>> =
            columns.into_iter().map(|(pointer, sent)| Some((pointer, formula(&items, &indexes, &sent)?))).collect();
        for (pointer, formula) in formulas.filter(|_| is_loop).into_iter().flatten() {
            if desk.ask(question(cx, draft, &group, (&pointer, &formula)))? == RECKONED {
                put(draft, &group, (&pointer, &formula));
            }
        }
    }
    Ok(())
}

fn sets(cx: &Context<'_>, draft: &Draft) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    for (position, step) in draft.steps.iter().enumerate() {
        let is_single = step.for_each.is_none() && step.calls.len() == 1;
        if step.out.is_some() || step.broken.is_some() || !is_single || !step.is_write(cx.trace) {
            continue;
        }
        let call = step.call(cx.trace);
        let tool = format!("{}/{}", call.adapter, call.tool);
        for (Item { step: source, array, index }, arguments) in of_items(step) {
            let member = Member { position, index };
            let same = |set: &&mut Set| set.tool == tool && set.source == source && set.array == array;
            match sets.iter_mut().find(same) {
                Some(set) => {
                    set.members.push(member);
                    set.arguments.push(arguments);
                }
                None => {
                    let (members, arguments, tool) = (vec![member], vec![arguments], tool.clone());
                    sets.push(Set { tool, source, array, members, arguments });
                }
            }
        }
    }
    sets.retain(|set| set.members.len() >= 2);
    sets
}

impl Set {
    /// The places of the numbers in which the calls differ, with those that were sent, and the arguments without them; none where they
    /// differ in something else, or in nothing.
    fn columns(&self) -> Option<(Vec<Column>, Expression)> {
        let numbers = |arguments: &Expression| {
            let mut found = BTreeMap::new();
            walk_literals(arguments, &mut |pointer, value| {
                found.extend(value.is_number().then(|| (pointer.to_owned(), value.clone())));
            });
            found
        };
        let all: Vec<BTreeMap<String, Value>> = self.arguments.iter().map(numbers).collect();
        let column = |pointer: &String| {
            Some((pointer.clone(), all.iter().map(|one| one.get(pointer).cloned()).collect::<Option<Vec<_>>>()?))
        };
        let mut columns: Vec<(String, Vec<Value>)> = all.first()?.keys().filter_map(column).collect();
        columns.retain(|(pointer, sent)| sent.iter().any(|one| *one != sent[0]) && !names_id(&place_name(pointer)));
        let without = |arguments: &Expression| {
            let mut rest = arguments.clone();
            replace(&mut rest, &mut |pointer, _| {
                columns.iter().any(|(known, _)| known == pointer).then(|| Expression::Literal(Value::Null))
            });
            rest
        };
        let rest = without(self.arguments.first()?);
        let same = !columns.is_empty() && self.arguments.iter().all(|arguments| without(arguments) == rest);
        same.then_some((columns, rest))
    }
}

/// The program that gives of each item the number that was sent: a field some times, or more or less by as much, or what two fields
/// give.
fn formula(items: &[Value], indexes: &[usize], sent: &[Value]) -> Option<String> {
    let rows: Vec<&Map<String, Value>> =
        indexes.iter().map(|index| items.get(*index)?.as_object()).collect::<Option<_>>()?;
    let sent: Vec<f64> = sent.iter().map(Value::as_f64).collect::<Option<_>>()?;
    let names = rows.first()?.keys().filter(|name| !names_id(name));
    let of_one = names.into_iter().find_map(|name| {
        let field: Vec<f64> = rows.iter().map(|row| row.get(name)?.as_f64()).collect::<Option<_>>()?;
        // Of items that have all the same, anything is as much more.
        let distinct: BTreeSet<Option<String>> = field.iter().map(|one| key_of(&Value::from(*one))).collect();
        if distinct.len() < 2 || field.contains(&0.0) {
            return None;
        }
        let path = jq_of(&[Segment::Key(name.clone())]);
        let near = |one: f64, other: f64| (one - other).abs() <= other.abs() * 1e-9;
        let times = (sent[0] / field[0] * PLACES).round() / PLACES;
        if field.iter().zip(&sent).all(|(field, sent)| near(field * times, *sent)) {
            let exact = times.fract() == 0.0;
            return Some(if exact {
                format!("{path} * {times}")
            } else {
                format!("{path} * {times} * 1e8 | round / 1e8")
            });
        }
        let more = sent[0] - field[0];
        let is_more = more != 0.0 && more.fract() == 0.0;
        let by = field.iter().zip(&sent).all(|(field, sent)| near(field + more, *sent));
        let plain = format!("{path} {} {}", if more < 0.0 { '-' } else { '+' }, more.abs());
        let is_whole = field.iter().all(|one| one.fract() == 0.0);
        (is_more && by).then(|| if is_whole { plain } else { format!("({plain}) * 1e8 | round / 1e8") })
    });
    of_one.or_else(|| of_two(&rows, &sent))
}

fn question(cx: &Context<'_>, draft: &Draft, group: &super::Group, (pointer, formula): (&str, &str)) -> Question {
    let ids: Vec<&str> = group.members.iter().map(|member| draft.steps[member.position].id.as_str()).collect();
    let id = QuestionId::at(QuestionId::Source, ids[0], pointer);
    let (name, all) = (place_name(pointer), ids.join(", "));
    let list = group.array.jq();
    let answers = vec![
        Answer::by_id(&id, RECKONED, format!("in each run it is that, and {} is made for each of `{list}`", ids[0])),
        Answer::new(
            "always",
            "these numbers are the same in each run".to_owned(),
            command("--no-link").argument(format!("{}:{pointer}", ids[0])),
        ),
    ];
    let evidence = group.members.iter().map(|member| {
        let step = &draft.steps[member.position];
        let call = step.call(cx.trace);
        let value = call.arguments.pointer(pointer).cloned().unwrap_or_default();
        Evidence { what: format!("{} sent", step.id), response: Some(call.response), jq: None, value }
    });
    let ask =
        format!("{name} of {all} was `{formula}` of the item of `{list}` of {} each time: does it stay?", group.source);
    let place = |step: &&str| Place { step: (*step).to_owned(), pointer: pointer.to_owned() };
    let places = ids.iter().map(place).collect();
    Question { places, ..Question::of_value(id, (ids[0], pointer), ask, evidence.collect(), answers) }
}

/// Puts the program in the place of what was sent.
fn put(draft: &mut Draft, group: &super::Group, (pointer, formula): (&str, &str)) {
    for member in &group.members {
        let item = match &group.array {
            List::At(path) => {
                let way: Vec<Segment> = path.iter().cloned().chain([Segment::Index(member.index)]).collect();
                jq_of(&way)
            }
            made @ List::Of(_) => format!("{}[{}]", made.jq(), member.index),
        };
        let read = Expression::From(Reference::new(group.source.clone(), format!("{item} | {formula}")));
        replace(&mut draft.steps[member.position].arguments, &mut |at, _| (at == pointer).then(|| read.clone()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_reckoned_of_each_item_in_one_way() {
        let items: Vec<Value> = [(40, 7), (55, 9), (62, 10)]
            .map(|(weight, tall)| json!({"id": 7, "weight": weight, "age": 1, "tall": tall}))
            .to_vec();
        for (indexes, sent, wanted) in [
            (vec![0, 1, 2], json!([80, 110, 124]), Some(".weight * 2")),
            (vec![0, 2], json!([60, 93]), Some(".weight * 1.5 * 1e8 | round / 1e8")),
            (vec![0, 1], json!([45, 60]), Some(".weight + 5")),
            (vec![0, 1], json!([35, 50]), Some(".weight - 5")),
            (vec![0, 1], json!([80, 111]), None),
            (vec![0, 1, 2], json!([33, 46, 52]), Some(".weight - .tall")),
            (vec![0, 1, 2], json!([280, 495, 620]), Some(".weight * .tall")),
            (vec![0, 1, 2], json!([33, 46, 53]), None),
            (vec![0, 1], json!([3, 4]), None),
        ] {
            assert_eq!(formula(&items, &indexes, sent.as_array().unwrap()).as_deref(), wanted, "{sent}");
        }
    }
}
