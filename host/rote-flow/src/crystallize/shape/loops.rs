//! Loops: calls that repeat for the items of one answer become one step.
//!
//! Calls of one tool that differ only in which item of an array they take are one call for each item. When they were made for
//! some of the items only, what tells those from the others is the condition of a query that showed exactly them, or
//! the one member that they share and no other has, which is asked.

mod made;
mod rows;

use rote_plan::{Expression, Reference};
use rote_types::{ResponseId, command};
use rote_workspace::Ask;
use serde_json::Value;

use super::super::context::Context;
use super::super::desk::Desk;
use super::super::draft::{Draft, DraftStep};
use super::super::path::{Segment, at, jq_of, path_of};
use super::super::{pick, program};
use super::conditions;
use rows::Rows;

use crate::FlowError;
use crate::literals::replace_references;
use crate::question::{Answer, Evidence, Place, Question, QuestionId};

/// Members that say which things are meant, before all others.
const TELLING: [&str; 6] = ["state", "status", "type", "archived", "milestone", "label"];

/// A list in an answer, or one that a program makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum List {
    At(Vec<Segment>),
    /// All that the program gives.
    Of(String),
}

impl List {
    /// The program that gives it.
    fn jq(&self) -> String {
        match self {
            Self::At(path) => jq_of(path),
            Self::Of(program) => format!("[{program}]"),
        }
    }

    /// The program that gives its items.
    fn items(&self) -> String {
        match self {
            Self::At(path) => format!("{}[]", jq_of(path)),
            Self::Of(program) => program.clone(),
        }
    }
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    step: String,
    array: List,
    index: usize,
}

/// A call for one item.
struct Member {
    /// Of the step in the draft.
    position: usize,
    index: usize,
}

/// Calls that differ only in the item.
struct Group {
    source: String,
    array: List,
    tool: String,
    arguments: Expression,
    members: Vec<Member>,
}

/// Which items a repetition is for.
enum Meant {
    All,
    /// A jq condition on one item.
    Those(String),
    /// Nobody knows.
    These,
}

/// Folds repetitions.
pub(crate) fn fold(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    conditions::leave_out_polls(cx, draft);
    let mut merged = Vec::new();
    for group in groups(cx, draft) {
        if group.members.iter().any(|member| draft.steps[member.position].for_each.is_some()) {
            continue;
        }
        let Some(items) = items(cx, draft, &group) else { continue };
        let indexes: Vec<usize> = group.members.iter().map(|member| member.index).collect();
        let Some(rows) = Rows::of(cx, draft, &group).filter(|rows| !is_apart(cx, draft, (&group, rows), &indexes))
        else {
            continue;
        };
        let meant = meant(cx, draft, &group, &items, &indexes, desk)?;
        let condition = match meant {
            Meant::All => None,
            Meant::Those(condition) => Some(condition),
            Meant::These => continue,
        };
        let other = between(cx, draft, &group).find(|id| !merged.contains(id));
        note(draft, &group, (condition.as_deref(), items.len()), other, desk);
        merged.extend(group.members.iter().skip(1).map(|member| draft.steps[member.position].id.clone()));
        merge(cx, draft, group, condition);
        for idle in rows.idle {
            draft.steps[idle].out = Some("nothing that stays uses it".to_owned());
        }
        for column in rows.columns {
            let ids: Vec<String> = column.positions.iter().map(|at| draft.steps[*at].id.clone()).collect();
            desk.note(Some(&ids[0]), format!("{} are made for each of them, too, as {}", ids.join(", "), ids[0]), None);
            merged.extend(ids.into_iter().skip(1));
            column.merge(cx, draft);
        }
    }
    draft.steps.retain(|step| !merged.contains(&step.id));
    made::places(cx, draft, desk)
}

/// Whether the calls cannot be one step: their order is not that of the list, or something that is not of it belongs to one of them.
fn is_apart(cx: &Context<'_>, draft: &Draft, (group, rows): (&Group, &Rows), indexes: &[usize]) -> bool {
    let ascending = indexes.windows(2).all(|pair| pair[0] < pair[1]);
    !ascending
        || is_interrupted(cx, draft, group, rows)
        || is_page(cx, draft, group)
        || is_asked(cx, draft, group, rows)
}

/// Each item that the arguments take, and the arguments with that one as the item at hand.
fn of_items(step: &DraftStep) -> Vec<(Item, Expression)> {
    let taken = |reference: &Reference| {
        let plain = !reference.each && reference.with.is_empty();
        let (array, index, rest) = Some(&reference.jq).filter(|_| plain).and_then(|jq| indexed(jq))?;
        Some((Item { step: reference.step.clone(), array, index }, rest))
    };
    let mut found: Vec<(Item, Expression)> = Vec::new();
    for (item, _) in step.arguments.references().into_iter().filter_map(taken) {
        if found.iter().all(|(known, _)| *known != item) {
            let mut arguments = step.arguments.clone();
            replace_references(&mut arguments, &mut |reference| {
                taken(reference).filter(|(other, _)| *other == item).map(|(_, rest)| Expression::Item(rest))
            });
            found.push((item, arguments));
        }
    }
    found
}

/// What a program takes of one item of a list: of one in the answer, `.items[0].id`, or of one that it makes, `[.items[] | …][0].id`.
fn indexed(jq: &str) -> Option<(List, usize, String)> {
    if let Some(path) = path_of(jq) {
        let at = path.iter().position(|segment| matches!(segment, Segment::Index(_)))?;
        let Segment::Index(index) = path[at] else { return None };
        return Some((List::At(path[..at].to_vec()), index, jq_of(&path[at + 1..])));
    }
    let (made, index, rest) = made_item(jq)?;
    let further = rest.strip_prefix('|').map(str::trim);
    let rest = match further {
        Some(further) => further.to_owned(),
        None if rest.is_empty() => ".".to_owned(),
        None if rest.starts_with('[') => format!(".{rest}"),
        None => rest.to_owned(),
    };
    // What is not behind a pipe may be of the whole answer: `[…][0].price - .discount`.
    let is_of_item = further.is_some() || program::stages(&rest).first().is_some_and(|first| path_of(first).is_some());
    is_of_item.then_some((List::Of(made), index, rest))
}

/// What a program takes by its place of what it makes or chooses: what gives the list, the place, and what stands behind it.
fn made_item(jq: &str) -> Option<(String, usize, String)> {
    let Some((made, rest)) = program::made_list(jq) else { return chosen_item(jq) };
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('|') {
        Some(further) => further.trim_start().strip_prefix('.')?,
        None => rest,
    };
    let (index, rest) = rest.strip_prefix('[')?.split_once(']')?;
    Some((made.trim().to_owned(), index.trim().parse().ok()?, rest.trim().to_owned()))
}

/// The same of a list in a thing that it chooses: `.[] | select(.code == "x") | .steps[0].id`.
fn chosen_item(jq: &str) -> Option<(String, usize, String)> {
    let stages = program::stages(jq);
    let (last, chooses) = stages.split_last().filter(|(_, chooses)| !chooses.is_empty())?;
    let path = path_of(last.trim())?;
    let at = path.iter().position(|segment| matches!(segment, Segment::Index(_)))?;
    let Segment::Index(index) = path[at] else { return None };
    let rest = if at + 1 == path.len() { String::new() } else { jq_of(&path[at + 1..]) };
    let chooses = chooses.iter().map(|stage| stage.trim()).collect::<Vec<_>>().join(" | ");
    (program::names(&chooses, &["select"])).then(|| (format!("{chooses} | {}[]", jq_of(&path[..at])), index, rest))
}

fn groups(cx: &Context<'_>, draft: &Draft) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (position, step) in draft.steps.iter().enumerate() {
        if step.out.is_some() || step.broken.is_some() || step.for_each.is_some() || step.calls.len() != 1 {
            continue;
        }
        let call = step.call(cx.trace);
        for (Item { step: source, array, index }, arguments) in of_items(step) {
            let tool = format!("{}/{}", call.adapter, call.tool);
            let member = Member { position, index };
            let same = |group: &&mut Group| {
                group.tool == tool && group.source == source && group.array == array && group.arguments == arguments
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.members.push(member),
                None => groups.push(Group { source, array, tool, arguments, members: vec![member] }),
            }
        }
    }
    groups.retain(|group| group.members.len() >= 2);
    groups
}

/// The response that has the array.
fn response(cx: &Context<'_>, draft: &Draft, group: &Group) -> Option<ResponseId> {
    let source = draft.steps.iter().find(|step| step.id == group.source)?;
    source.is_one().then(|| source.call(cx.trace).response)
}

fn items(cx: &Context<'_>, draft: &Draft, group: &Group) -> Option<Vec<Value>> {
    let response = response(cx, draft, group)?;
    match &group.array {
        List::At(path) => at(&*cx.body(response)?, path)?.as_array().cloned(),
        made => cx.result(response, &made.jq()).ok()?.as_array().cloned(),
    }
}

/// Whether the array is one of several pages: a loop over it would be for a part of the things, and look like all.
fn is_page(cx: &Context<'_>, draft: &Draft, group: &Group) -> bool {
    let Some(source) = draft.steps.iter().find(|step| step.id == group.source) else { return true };
    let tool = |step: &DraftStep| (&step.call(cx.trace).adapter, &step.call(cx.trace).tool);
    let same =
        draft.steps.iter().filter(|step| step.out.is_none() && step.id != source.id && tool(step) == tool(source));
    same.into_iter().any(|step| step.uses().any(|used| used == source.id) || source.uses().any(|used| used == step.id))
}

/// Whether a write lies between them that is not for an item of the same array: it would change its place among them.
fn is_interrupted(cx: &Context<'_>, draft: &Draft, group: &Group, rows: &Rows) -> bool {
    let (Some(first), Some(last)) = (group.members.first(), group.members.last()) else { return true };
    (first.position..rows.last().unwrap_or(last.position))
        .filter(|at| !rows.has(*at))
        .map(|at| &draft.steps[at])
        .filter(|step| step.out.is_none() && step.is_write(cx.trace))
        .any(|step| of_items(step).iter().all(|(item, _)| item.step != group.source || item.array != group.array))
}

/// Whether a write among them was decided by itself: something was asked between them, or of an item before the first.
fn is_asked(cx: &Context<'_>, draft: &Draft, group: &Group, rows: &Rows) -> bool {
    let (Some(first), Some(last)) = (group.members.first(), group.members.last()) else { return true };
    let first = &draft.steps[first.position];
    let last = &draft.steps[rows.last().unwrap_or(last.position)];
    let (from, until) = (first.calls[0], last.calls[0]);
    let of_item = |ask: &Ask| ask.programs.iter().any(|program| has_index(program));
    let writes = (from..=until).filter(|call| cx.trace.calls[*call].is_write());
    // That a call succeeded is what a loop asks by itself: it stops where one fails.
    writes
        .flat_map(|call| conditions::asks_before(cx.trace, call).map(move |(_, ask)| (call, ask)))
        .filter(|(_, ask)| ask.told_success() != Some(true))
        .any(|(call, ask)| (call > from || of_item(ask)) && !conditions::is_look(cx, draft, first, ask))
}

/// Whether a program takes an item by its position.
fn has_index(program: &str) -> bool {
    let indexed = |rest: &str| rest.trim_start_matches(['-', ' ']).starts_with(|c: char| c.is_ascii_digit());
    program.split('[').skip(1).any(indexed)
}

fn meant(
    cx: &Context<'_>,
    draft: &Draft,
    group: &Group,
    items: &[Value],
    indexes: &[usize],
    desk: &mut Desk,
) -> Result<Meant, FlowError> {
    let first = &draft.steps[group.members[0].position];
    let id = QuestionId::Loop(first.id.clone());
    let Some(response) = response(cx, draft, group) else { return Ok(Meant::These) };
    let array = group.array.jq();
    let all = indexes.len() == items.len();
    let given = desk.given(&id, &[]);
    match given.as_deref() {
        Some("no") => return Ok(Meant::These),
        Some("all") if !all => {
            let message = format!(
                "`{id}` cannot be `all`: {} and those like it took {} of {} items, and no answer shows the others",
                first.id,
                indexes.len(),
                items.len()
            );
            return Err(FlowError::Usage { message });
        }
        Some("all" | "filter") | None => {}
        Some(condition) if gives(cx, response, &array, condition, indexes) => {
            return Ok(Meant::Those(condition.to_owned()));
        }
        Some(condition) => {
            let message =
                format!("`{condition}` does not hold for exactly the items that {} and those like it took", first.id);
            return Err(FlowError::Usage { message });
        }
    }
    if all {
        return Ok(Meant::All);
    }
    if let Some(condition) = pick::condition(cx, response, &array, indexes) {
        return Ok(Meant::Those(condition));
    }
    let told = predicate(items, indexes).map(|(field, value)| format!("{} == {value}", jq_of(&[Segment::Key(field)])));
    let Some(condition) = told.filter(|condition| gives(cx, response, &array, condition, indexes)) else {
        let message = format!("`{id}` cannot be `filter`: nothing tells the items that were taken from the others");
        return if given.is_some() { Err(FlowError::Usage { message }) } else { Ok(Meant::These) };
    };
    let question = question(cx, first, id, &condition, (items, indexes), (response, &array));
    Ok(if desk.ask(question)? == "filter" { Meant::Those(condition) } else { Meant::These })
}

/// Whether a condition holds for exactly these items.
fn gives(cx: &Context<'_>, response: ResponseId, array: &str, condition: &str, indexes: &[usize]) -> bool {
    let wanted: Vec<Value> = indexes.iter().map(|index| Value::from(*index)).collect();
    let jq = format!("[{array}[]] | to_entries[] | select(.value | ({condition})) | .key");
    cx.outputs(response, &jq).is_ok_and(|outputs| *outputs == wanted)
}

/// The one member whose value these items share and no other has.
fn predicate(items: &[Value], indexes: &[usize]) -> Option<(String, Value)> {
    let shared = |(name, value): (&String, &Value)| {
        let has = |index: usize| items[index].get(name) == Some(value);
        let scalar = !matches!(value, Value::Array(_) | Value::Object(_) | Value::Null);
        let right = (0..items.len()).all(|index| has(index) == indexes.contains(&index));
        (scalar && right).then(|| (name.clone(), value.clone()))
    };
    let found: Vec<(String, Value)> = items.get(indexes[0])?.as_object()?.iter().filter_map(shared).collect();
    let telling = found.iter().find(|(name, _)| TELLING.contains(&name.as_str()));
    telling.or(if found.len() == 1 { found.first() } else { None }).cloned()
}

fn question(
    cx: &Context<'_>,
    first: &DraftStep,
    id: QuestionId,
    condition: &str,
    (items, indexes): (&[Value], &[usize]),
    (response, array): (ResponseId, &str),
) -> Question {
    let answer = |word: &str, means: String| Answer::new(word, means, command("--loop").assignment(&first.id, word));
    let left = (0..items.len()).filter(|index| !indexes.contains(index)).take(3);
    let evidence = left.map(|index| Evidence {
        what: "was left out".to_owned(),
        response: Some(response),
        jq: Some(format!("{array}[{index}]")),
        value: items[index].clone(),
    });
    Question {
        kind: id.kind(),
        ask: format!(
            "{} and those like it take {} of {} items of {response} `{array}`: those with `{condition}`?",
            first.id,
            indexes.len(),
            items.len()
        ),
        places: vec![Place { step: first.id.clone(), pointer: String::new() }],
        evidence: evidence.collect(),
        answers: vec![
            answer("filter", format!("one call for each item with `{condition}`")),
            answer("no", "these positions and no others".to_owned()),
        ],
        taken: "filter".to_owned(),
        writes: first.is_write(cx.trace),
        open: true,
        id,
    }
}

/// The other writes between the members of a group.
fn between(cx: &Context<'_>, draft: &Draft, group: &Group) -> impl Iterator<Item = String> {
    let place = |member: Option<&Member>| member.map_or(0, |member| member.position);
    let others = |at: &usize| !group.members.iter().any(|member| member.position == *at);
    let all = (place(group.members.first())..place(group.members.last())).filter(others);
    let writes = all.map(|at| &draft.steps[at]).filter(|step| step.out.is_none() && step.is_write(cx.trace));
    writes.map(|step| step.id.clone())
}

fn note(draft: &Draft, group: &Group, (condition, of): (Option<&str>, usize), other: Option<String>, desk: &mut Desk) {
    let ids: Vec<&str> = group.members.iter().map(|member| draft.steps[member.position].id.as_str()).collect();
    let with = condition.map_or_else(String::new, |condition| format!(" with `{condition}`"));
    let (array, source, all, id) = (group.array.jq(), &group.source, ids.join(", "), ids[0]);
    let mut text = format!("{all} repeat for each of {array} of {source}{with} ({} of {of}), as {id}", ids.len());
    if let Some(other) = other {
        text.push_str(&format!("; {id} is made for all of them before {other} is, which stood between them"));
    }
    desk.note(Some(ids[0]), text, Some(command("--loop").assignment(ids[0], "no")));
}

/// Makes the first of them the step for all; the others are taken out by the caller.
fn merge(cx: &Context<'_>, draft: &mut Draft, group: Group, condition: Option<String>) {
    let calls = group.members.iter().map(|member| draft.steps[member.position].calls[0]).collect();
    let array = group.array.items();
    let filter = condition.map_or_else(String::new, |condition| format!(" | select({condition})"));
    let first = &mut draft.steps[group.members[0].position];
    first.calls = calls;
    first.arguments = group.arguments;
    first.in_order = first.is_write(cx.trace);
    let items = Reference { each: true, ..Reference::new(group.source, format!("{array}{filter}")) };
    first.for_each = Some(Expression::From(items));
}
