//! Loops: calls that repeat for the items of one answer become one step.
//!
//! Calls of one tool that differ only in which item of an array they take are one call for each item. When they were made for
//! some of the items only, what tells those from the others is the condition of a query that showed exactly them, or
//! the one member that they share and no other has, which is asked.

mod awaited;
mod columns;
mod eye;
mod made;
mod rows;

use std::fmt;

use rote_plan::{Expression, Reference};
use rote_types::{ResponseId, command};
use rote_workspace::Ask;
use serde_json::Value;

use super::super::apart::{Told, condition, gives, range, told};
use super::super::context::Context;
use super::super::desk::Desk;
use super::super::draft::{Draft, DraftStep};
use super::super::path::{Segment, at, jq_of, path_of};
use super::super::{pick, program};
use super::conditions;
use rows::Rows;

use crate::FlowError;
use crate::literals::replace_references;
use crate::question::QuestionId;

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
    /// Those from one place on, or up to one: `[3:]`.
    Range(String),
    /// Nobody knows.
    These,
}

impl Meant {
    /// The program that gives these items of a list; none where nobody knows.
    fn items(&self, list: &List) -> Option<String> {
        match self {
            Self::All => Some(list.items()),
            Self::Those(condition) => Some(format!("{} | select({condition})", list.items())),
            Self::Range(range) => Some(format!("{}{range}[]", list.jq())),
            Self::These => None,
        }
    }
}

impl fmt::Display for Meant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Those(condition) => write!(f, " with `{condition}`"),
            Self::Range(range) => write!(f, " in `{range}`"),
            Self::All | Self::These => Ok(()),
        }
    }
}

/// Folds repetitions.
pub(crate) fn fold(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    conditions::leave_out_polls(cx, draft);
    columns::reckon(cx, draft, desk)?;
    let mut merged = Vec::new();
    for group in groups(cx, draft, desk) {
        if group.members.iter().any(|member| draft.steps[member.position].for_each.is_some()) {
            continue;
        }
        let Some(items) = items(cx, draft, &group) else { continue };
        let indexes: Vec<usize> = group.members.iter().map(|member| member.index).collect();
        let rows = match Rows::of(cx, draft, &group) {
            Some(rows) => apart(cx, draft, (&group, &rows), &indexes).map_or(Ok(rows), Err),
            None => Err("what uses their answers is not the same for each"),
        };
        let rows = match rows {
            Ok(rows) => rows,
            Err(why) => {
                why_not(draft, &group, why, desk);
                continue;
            }
        };
        let meant = meant(cx, draft, &group, &items, &indexes, desk)?;
        let Some(program) = meant.items(&group.array) else { continue };
        let other = between(cx, draft, &group).find(|id| !merged.contains(id));
        note(draft, &group, (&meant, items.len()), other, desk);
        merged.extend(group.members.iter().skip(1).map(|member| draft.steps[member.position].id.clone()));
        merge(cx, draft, group, program);
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
    for step in &draft.steps {
        desk.unasked(&QuestionId::Loop(step.id.clone()), || alone(cx, draft, step));
    }
    awaited::tell(cx, draft, desk);
    made::places(cx, draft, desk)
}

/// Why calls cannot be one step: their order is not that of the list, or something that is not of it belongs to one of them.
fn apart(cx: &Context<'_>, draft: &Draft, (group, rows): (&Group, &Rows), indexes: &[usize]) -> Option<&'static str> {
    let ascending = indexes.windows(2).all(|pair| pair[0] < pair[1]);
    [
        (!ascending, "they were not made in the order of the list"),
        (is_interrupted(cx, draft, group, rows), "a write of something else stands between them"),
        (is_page(cx, draft, group), "the list is one of several pages"),
        (is_asked(cx, draft, group, rows), "something was asked before single ones of them"),
    ]
    .into_iter()
    .find_map(|(is_so, why)| is_so.then_some(why))
}

/// Says why the calls of a group are not one step.
fn why_not(draft: &Draft, group: &Group, why: &str, desk: &mut Desk) {
    let ids: Vec<&str> = group.members.iter().map(|member| draft.steps[member.position].id.as_str()).collect();
    for id in &ids {
        let why = || format!("{} are not one step for each of `{}`: {why}", ids.join(", "), group.array.jq());
        desk.unasked(&QuestionId::Loop((*id).to_owned()), why);
    }
}

/// Why a step is not one of a repetition.
fn alone(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> String {
    let call = step.call(cx.trace);
    let same = |other: &&DraftStep| other.id != step.id && other.call(cx.trace).tool == call.tool;
    let others: Vec<&str> = draft.steps.iter().filter(same).map(|other| other.id.as_str()).collect();
    if step.for_each.is_some() {
        return format!("{} is made for each already", step.id);
    }
    if others.is_empty() {
        return format!("no other step calls {}", call.tool);
    }
    format!("{} and {} differ in more than the item of one list that they take", step.id, others.join(", "))
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
    if let Some(found) = indexed_further(jq) {
        return Some(found);
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

/// The same of an item with which something is done: `.items[0] | .weight * 2`.
fn indexed_further(jq: &str) -> Option<(List, usize, String)> {
    let stages = program::stages(jq);
    let (first, further) = stages.split_first().filter(|(_, further)| !further.is_empty())?;
    let path = path_of(first)?;
    let at = path.iter().position(|segment| matches!(segment, Segment::Index(_)))?;
    let Segment::Index(index) = path[at] else { return None };
    let further = program::piped(further);
    let rest = if at + 1 == path.len() { further } else { format!("{} | {further}", jq_of(&path[at + 1..])) };
    Some((List::At(path[..at].to_vec()), index, rest))
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
    let chooses = program::piped(chooses);
    (program::names(&chooses, &["select"])).then(|| (format!("{chooses} | {}[]", jq_of(&path[..at])), index, rest))
}

fn groups(cx: &Context<'_>, draft: &Draft, desk: &Desk) -> Vec<Group> {
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
    // One call is for each of something where somebody says of what.
    let said = |member: &Member| desk.is_answered(&QuestionId::Loop(draft.steps[member.position].id.clone()));
    groups.retain(|group| group.members.len() >= 2 || group.members.iter().any(said));
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
    if let Some(condition) = condition(cx, response, &array, indexes) {
        return Ok(Meant::Those(condition));
    }
    if let Some(range) = range(cx, response, &array, indexes) {
        return Ok(Meant::Range(range));
    }
    let partial = eye::Partial { cx, step: first, items, indexes, response, array: &array };
    let holds = |condition: &String| gives(cx, response, &array, condition, indexes);
    let told = match told(items, indexes) {
        Told::By(condition) if holds(&condition) => {
            let question = partial.question(id, &condition);
            return Ok(if desk.ask(question)? == "filter" { Meant::Those(condition) } else { Meant::These });
        }
        Told::By(_) => Vec::new(),
        Told::Otherwise(conditions) => conditions.into_iter().filter(holds).collect(),
    };
    if given.as_deref() == Some("filter") {
        let message = format!("`{id}` cannot be `filter`: nothing tells the items that were taken from the others");
        return Err(FlowError::Usage { message });
    }
    // What was chosen one by one was chosen for what it is.
    if first.is_write(cx.trace) && !is_chosen(cx, draft, group) {
        desk.ask(partial.by_eye(id, &told))?;
    }
    Ok(Meant::These)
}

/// Whether each of the items was chosen for what it is, by a query or by what was typed.
fn is_chosen(cx: &Context<'_>, draft: &Draft, group: &Group) -> bool {
    group.members.iter().all(|member| {
        let step = &draft.steps[member.position];
        let takes = |jq: &str| indexed(jq).is_some_and(|(array, at, _)| array == group.array && at == member.index);
        let mut references = step.arguments.references().into_iter().filter(|reference| takes(&reference.jq));
        references.any(|reference| pick::told_apart(cx, draft, step, reference).is_some())
    })
}

/// The other writes between the members of a group.
fn between(cx: &Context<'_>, draft: &Draft, group: &Group) -> impl Iterator<Item = String> {
    let place = |member: Option<&Member>| member.map_or(0, |member| member.position);
    let others = |at: &usize| !group.members.iter().any(|member| member.position == *at);
    let all = (place(group.members.first())..place(group.members.last())).filter(others);
    let writes = all.map(|at| &draft.steps[at]).filter(|step| step.out.is_none() && step.is_write(cx.trace));
    writes.map(|step| step.id.clone())
}

fn note(draft: &Draft, group: &Group, (meant, of): (&Meant, usize), other: Option<String>, desk: &mut Desk) {
    let ids: Vec<&str> = group.members.iter().map(|member| draft.steps[member.position].id.as_str()).collect();
    let (array, source, all, id) = (group.array.jq(), &group.source, ids.join(", "), ids[0]);
    let mut text = format!("{all} repeat for each of {array} of {source}{meant} ({} of {of}), as {id}", ids.len());
    if let Some(other) = other {
        text.push_str(&format!("; {id} is made for all of them before {other} is, which stood between them"));
    }
    desk.note(Some(ids[0]), text, Some(command("--loop").assignment(ids[0], "no")));
}

/// Makes the first of them the step for all; the others are taken out by the caller.
fn merge(cx: &Context<'_>, draft: &mut Draft, group: Group, program: String) {
    let calls = group.members.iter().map(|member| draft.steps[member.position].calls[0]).collect();
    let first = &mut draft.steps[group.members[0].position];
    first.calls = calls;
    first.arguments = group.arguments;
    first.in_order = first.is_write(cx.trace);
    let items = Reference { each: true, ..Reference::new(group.source, program) };
    first.for_each = Some(Expression::From(items));
}
