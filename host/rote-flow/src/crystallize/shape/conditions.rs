//! Conditions: what was asked of an answer right before a write decides whether the write is made.
//!
//! The reading is that of the recording: what held there has to hold, what did not must not. Was a list asked that is empty, and
//! something made then, the first of the list stands for what was made when there is one ("found, else made").

mod bulk;
mod decided;
mod followed;
mod looked;
mod polled;
mod reading;

use std::collections::BTreeSet;

use rote_plan::{Condition, Expression, Onward, Reference};
use rote_types::command;
use rote_workspace::{Ask, AskKind, ResponseState};
use serde_json::Value;

use super::super::context::Context;
use super::super::desk::Desk;
use super::super::draft::{Draft, DraftStep, Instead};
use super::super::occurrences::names_title;
use super::super::path::{Segment, at, jq_of, path_of};
use super::super::program::string_literals;
use crate::FlowError;
use crate::literals::replace_references;
use crate::question::{Answer, Evidence, Place, Question, QuestionId, QuestionKind};
use crate::trace::Trace;
use polled::Poll;
pub(crate) use polled::leave_out as leave_out_polls;
use reading::{Empty, Reading, item_of, reading};

/// Makes conditions of asks.
pub(crate) fn apply(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    let polls = polled::polls(cx, draft);
    for position in 0..draft.steps.len() {
        let step = &draft.steps[position];
        if step.out.is_some() || step.broken.is_some() || !step.is_write(cx.trace) {
            continue;
        }
        let Asked { mut read, succeeded, unread } = asked(cx, draft, position, &polls);
        let id = step.id.clone();
        if read.is_empty() && unread.is_empty() {
            let mut looks = looked::looks(cx, draft, step);
            looks.retain(|look| !polls.iter().any(|poll| poll.is_of(look.response)));
            if looks.is_empty() && succeeded.is_empty() {
                followed::apply(cx, draft, position, desk)?;
                continue;
            }
            if !looks.is_empty() && desk.ask(looked::question(cx, draft, step, &looks))? == "yes" {
                read.extend(looks.into_iter().filter_map(|look| look.reading.ok()));
            }
        }
        let says = says(&read, &succeeded);
        let unconditional = if unread.is_empty() {
            says.is_empty() || desk.given(&QuestionId::When(id.clone()), &["no"]).is_some()
        } else {
            desk.ask(unread_question(step, &says, &unread, cx))? == "no"
        };
        if unconditional {
            continue;
        }
        let undo = command("--when").assignment(&id, "no");
        desk.note(Some(&id), format!("{id} only when {says}"), Some(undo));
        draft.steps[position].relies = succeeded;
        if read.is_empty() {
            continue;
        }
        called_so(cx, draft, position, &mut read, desk);
        let empty = read.iter().find_map(|reading| reading.empty.clone());
        let condition = match read.len() {
            1 => read.remove(0).condition,
            _ => Condition::All(read.into_iter().map(|reading| reading.condition).collect()),
        };
        draft.steps[position].when = Some(condition);
        if let Some(empty) = empty.filter(|_| draft.steps[position].for_each.is_none()) {
            found_else_made(cx, draft, position, &empty, desk)?;
        }
    }
    bulk::guard(cx, draft, desk);
    polls.iter().try_for_each(|poll| poll.apply(cx, draft, desk))
}

/// Gives the result a value where the step that it comes from may be skipped, by its condition or since it needs one that is.
pub(crate) fn of_result(draft: &mut Draft) {
    let mut result = std::mem::replace(&mut draft.result, Expression::Literal(Value::Null));
    let skippable = skippable(draft);
    replace_references(&mut result, &mut |reference| {
        let step = draft.steps.iter().find(|step| step.id == reference.step && skippable.contains(&step.id))?;
        let instead = step.instead.as_ref().and_then(|instead| instead.of(reference));
        let instead = instead.map_or(Expression::Literal(Value::Null), Expression::From);
        Some(Expression::Default(Box::new(Expression::From(reference.clone())), Box::new(instead)))
    });
    draft.result = result;
}

/// The steps that may be skipped.
fn skippable(draft: &Draft) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for step in draft.steps.iter().filter(|step| step.out.is_none()) {
        let mut needs = false;
        for expression in step.expressions() {
            expression.visit(&mut |_, one| match one {
                // What has a value to fall back on is not needed; that value is.
                Expression::Default(_, instead) => {
                    needs |= instead.references().iter().any(|reference| found.contains(&reference.step));
                    Onward::Past
                }
                Expression::From(reference) => {
                    needs |= found.contains(&reference.step);
                    Onward::Into
                }
                _ => Onward::Into,
            });
        }
        if step.when.is_some() || needs {
            found.insert(step.id.clone());
        }
    }
    found
}

/// What was asked before a write.
#[derive(Default)]
struct Asked {
    read: Vec<Reading>,
    /// The steps that had succeeded.
    succeeded: BTreeSet<String>,
    /// What is not a condition of a plan: the ask, and why.
    unread: Vec<(Ask, String)>,
}

/// The asks right before the calls of a step.
fn asked(cx: &Context<'_>, draft: &Draft, position: usize, polls: &[Poll]) -> Asked {
    let step = &draft.steps[position];
    let mut found = Asked::default();
    for (call, (command, ask)) in
        step.calls.iter().flat_map(|call| asks_before(cx.trace, *call).map(move |asked| (*call, asked)))
    {
        // What was asked of the contents between the calls of a loop kept them from being one, but for what each reads.
        if polls.iter().any(|poll| poll.is_of(ask.response))
            || is_look(cx, draft, step, ask)
            || is_again(cx, call, ask)
            || call != step.calls[0] && ask.told_success().is_none()
        {
            continue;
        }
        let outcome = match ask.told_success() {
            None if is_of_another_item(cx.trace, call, ask) => {
                Err("it is of another item than the last one".to_owned())
            }
            Some(told) => outcome(cx, draft, step, *command, (ask, told)).map(|steps| found.succeeded.extend(steps)),
            None => source(cx, draft, step, *command, ask).and_then(|source| reading(cx, source, ask)).map(|reading| {
                if !found.read.contains(&reading) {
                    found.read.push(reading);
                }
            }),
        };
        if let Err(why) = outcome
            && !found.unread.iter().any(|(known, _)| known == ask)
        {
            found.unread.push((ask.clone(), why));
        }
    }
    found
}

/// Whether the last ask before a call was of another item of the same array: this one decided that nothing was done for its item,
/// and is not a condition of what was done for the other.
fn is_of_another_item(trace: &Trace, call: usize, ask: &Ask) -> bool {
    let item = |ask: &Ask| {
        ask.programs.iter().find_map(|program| {
            let (array, rest) = program.split_once('[')?;
            let index: usize = rest.split_once(']')?.0.trim().parse().ok()?;
            Some((ask.response, array.trim().to_owned(), index))
        })
    };
    let Some((response, array, index)) = item(ask) else { return false };
    let last = asks_before(trace, call)
        .filter_map(|(_, other)| item(other))
        .filter(|(of, list, _)| (*of, list) == (response, &array))
        .last();
    last.is_some_and(|(.., of)| of != index)
}

/// What was read of the asks, in words.
fn says(read: &[Reading], succeeded: &BTreeSet<String>) -> String {
    let read = read.iter().map(|reading| reading.says.clone());
    let succeeded = succeeded.iter().map(|step| format!("{step} succeeded"));
    read.chain(succeeded).collect::<Vec<_>>().join(" and ")
}

/// Whether it asked how an attempt at the same write ended, which was made again then.
fn is_again(cx: &Context<'_>, call: usize, ask: &Ask) -> bool {
    let call = &cx.trace.calls[call];
    let again = |response| {
        let failed = cx.trace.position(response).map(|at| &cx.trace.calls[at]);
        failed.is_some_and(|failed| failed.state != ResponseState::Ok && failed.call() == call.call())
    };
    ask.told_success().is_some() && ask.responses().all(again)
}

/// The steps that had succeeded, where that was asked: a plan goes on only behind a call that succeeds.
fn outcome(
    cx: &Context<'_>,
    draft: &Draft,
    step: &DraftStep,
    command: u64,
    (ask, told): (&Ask, bool),
) -> Result<Vec<String>, String> {
    is_next(cx, step, command)?;
    let mut found = Vec::new();
    for response in ask.responses() {
        let call = cx.trace.position(response);
        if let Some(failed) = call.map(|at| &cx.trace.calls[at]).filter(|call| call.state != ResponseState::Ok) {
            return Err(format!("{} did not succeed, and a plan ends where a call fails", failed.name()));
        }
        let source = call.and_then(|call| draft.step_of(call)).map(|at| &draft.steps[at]);
        let source = source.filter(|step| step.out.is_none() && step.broken.is_none());
        let source = source.ok_or_else(|| format!("{response} is not the answer of a call that stays"))?;
        // A call of a loop goes on only behind the one before it.
        found.extend((source.id != step.id).then(|| source.id.clone()));
    }
    if told { Ok(found) } else { Err("it succeeded".to_owned()) }
}

/// The asks between a call and the last one before it that succeeded: a write that was refused first, and confirmed then, is
/// one write.
pub(super) fn asks_before(trace: &Trace, call: usize) -> impl Iterator<Item = &(u64, Ask)> {
    let before = trace.calls[..call].iter().rev().find(|before| before.state == ResponseState::Ok);
    let from = before.map_or(0, |before| before.command);
    let until = trace.calls[call].command;
    trace.asks.iter().filter(move |(command, _)| *command > from && *command < until)
}

/// Whether it only asked for what the step reads: what is not there stops that, and the look was for it.
pub(super) fn is_look(cx: &Context<'_>, draft: &Draft, step: &DraftStep, ask: &Ask) -> bool {
    let some = matches!((&ask.condition, ask.held), (AskKind::Exists, true) | (AskKind::IsEmpty, false));
    let source = cx.trace.position(ask.response).and_then(|call| draft.step_of(call)).map(|at| &draft.steps[at].id);
    let [program] = ask.programs.as_slice() else { return false };
    let (Some(source), Some(mut path), true) = (source, path_of(program), some) else { return false };
    if matches!(path.last(), Some(Segment::Index(_))) {
        path.pop();
    }
    let reads = |reference: &&Reference| {
        let rest = if path.is_empty() { Some(reference.jq.as_str()) } else { reference.jq.strip_prefix(&jq_of(&path)) };
        let whole = |rest: &str| path.is_empty() || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        reference.step == *source && rest.is_some_and(whole)
    };
    step.expressions().into_iter().flat_map(Expression::references).any(|reference| reads(&reference))
}

/// What came after an ask has to be the step.
fn is_next(cx: &Context<'_>, step: &DraftStep, command: u64) -> Result<(), String> {
    let call = step.call(cx.trace);
    let next = cx.trace.calls.iter().find(|next| next.command > command);
    match next.filter(|next| (&next.adapter, &next.tool) != (&call.adapter, &call.tool)) {
        Some(next) => Err(format!("what came then was {}, which did not succeed", next.name())),
        None => Ok(()),
    }
}

/// The step of whose answer something was asked, where a plan can ask it too.
fn source<'d>(
    cx: &Context<'_>,
    draft: &'d Draft,
    step: &DraftStep,
    command: u64,
    ask: &Ask,
) -> Result<&'d str, String> {
    is_next(cx, step, command)?;
    let position = cx.trace.position(ask.response).and_then(|call| draft.step_of(call));
    let source = position.map(|at| &draft.steps[at]).filter(|step| step.out.is_none() && step.broken.is_none());
    let source = source.ok_or_else(|| format!("{} is not the answer of a call that stays", ask.response))?;
    if source.for_each.is_some() || source.calls.len() != 1 {
        return Err(format!("{} is one of several answers of {}", ask.response, source.id));
    }
    Ok(&source.id)
}

/// Asks whether a write is made whatever was asked before it.
fn unread_question(step: &DraftStep, says: &str, unread: &[(Ask, String)], cx: &Context<'_>) -> Question {
    let id = &step.id;
    let when = |word: &str, means: String| Answer::new(word, means, command("--when").assignment(id, word));
    let mut answers = vec![when("no", format!("{id} is made in each run"))];
    if !says.is_empty() {
        answers.insert(0, when("rest", format!("{id} is made when {says}")));
    }
    answers.extend(step.skip(cx.trace));
    let of = |ask: &Ask| ask.responses().map(|response| response.to_string()).collect::<Vec<_>>().join(", ");
    let spoken: Vec<String> =
        unread.iter().map(|(ask, why)| format!("`{}` of {} ({why})", words(ask), of(ask))).collect();
    let evidence = unread.iter().map(|(ask, _)| Evidence {
        what: format!("`{}` {}", words(ask), if ask.held { "held" } else { "did not hold" }),
        response: Some(ask.response),
        jq: ask.programs.first().cloned(),
        value: ask.held.into(),
    });
    Question {
        id: QuestionId::When(id.clone()),
        kind: QuestionKind::When,
        ask: format!("before {id} was asked {}, and that is not its condition: when is it made?", spoken.join(", ")),
        places: vec![Place { step: id.clone(), pointer: String::new() }],
        evidence: evidence.collect(),
        taken: answers[0].word.clone(),
        answers,
        writes: true,
        open: true,
    }
}

/// An ask as it was typed, without the response.
fn words(ask: &Ask) -> String {
    let comparison = ask.comparison.map(|comparison| format!("-{}", comparison.as_str()));
    let typed = ask.programs.iter().chain(&comparison).chain(&ask.wanted).map(String::as_str);
    std::iter::once(ask.condition.as_str()).chain(typed).collect::<Vec<_>>().join(" ")
}

/// Lets the first thing of a list stand for what is made when the list is empty, where both were asked for with the same value.
fn found_else_made(
    cx: &Context<'_>,
    draft: &mut Draft,
    made: usize,
    empty: &Empty,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let Empty { step: found, list, item } = empty;
    let Some(search) = draft.steps.iter().position(|step| step.id == *found) else { return Ok(()) };
    let calls = [search, made].map(|at| &cx.trace.calls[draft.steps[at].calls[0]]);
    let values =
        calls.map(|call| call.arguments.as_object().into_iter().flatten().map(|(_, value)| value).collect::<Vec<_>>());
    let literals: Vec<Value> = string_literals(item).into_iter().map(|literal| literal.text.into()).collect();
    let looked_for = values[0].iter().copied().chain(&literals);
    if !looked_for.into_iter().any(|value| value.is_string() && values[1].contains(&value)) {
        return Ok(());
    }
    let id = draft.steps[made].id.clone();
    let instead = Instead { step: found.clone(), item: item.clone() };
    let mut programs = Vec::new();
    for step in draft.steps.iter().skip(made + 1).filter(|step| step.out.is_none()) {
        let references = step.expressions().into_iter().flat_map(Expression::references);
        programs.extend(references.filter(|reference| reference.step == id).map(|reference| reference.jq.clone()));
    }
    if programs.is_empty() {
        desk.unasked(&QuestionId::Found(id.clone()), || format!("nothing behind {id} uses what it makes"));
    }
    let shown = programs.iter().all(|jq| has(cx, calls[0], list, jq));
    if !shown && ask(cx, draft, (search, made), &instead, list, desk)? == "nothing" {
        return Ok(());
    }
    let replace = |expression: &mut Expression| {
        replace_references(expression, &mut |reference| {
            let other = instead.of(reference).filter(|_| reference.step == id)?;
            let made = Box::new(Expression::From(reference.clone()));
            Some(Expression::Default(made, Box::new(Expression::From(other))))
        });
    };
    for step in draft.steps.iter_mut().skip(made + 1) {
        replace(&mut step.arguments);
    }
    if shown {
        desk.note(Some(&id), format!("where {id} is not made, `{}` of {found} stands for it", instead.item), None);
    }
    draft.steps[made].instead = Some(instead);
    Ok(())
}

/// Whether another answer of the same tool shows that the things of the list have what is taken.
fn has(cx: &Context<'_>, search: &crate::trace::RecordedCall, list: &str, jq: &str) -> bool {
    let (Some(list), Some(path)) = (path_of(list), path_of(jq)) else { return false };
    let same = cx.trace.calls.iter().filter(|call| call.adapter == search.adapter && call.tool == search.tool);
    same.filter_map(|call| cx.body(call.response)).any(|body| {
        let first = at(&body, &list).and_then(|list| if list.is_array() { list.get(0) } else { Some(list) });
        first.and_then(|first| at(first, &path)).is_some_and(|value| !value.is_null())
    })
}

/// What a thing that is made is called, in whose place the one of a searched list is taken that is called so; `list` was empty. And the
/// program that gives that or nothing: where one is called so but for capitals, nobody has said whether it is meant, and the run stops.
fn called(cx: &Context<'_>, draft: &Draft, (search, made): (usize, usize), list: &str) -> Option<(String, String)> {
    let [search, made] = [search, made].map(|at| &cx.trace.calls[draft.steps[at].calls[0]].arguments);
    let asked: Vec<&Value> = search.as_object()?.values().filter(|value| value.is_string()).collect();
    let mut names = made.as_object()?.iter().filter(|(name, value)| names_title(name) && asked.contains(value));
    let (name, value) = names.next()?;
    let item = item_of(list, &format!("select({} == {value})", member_of(name)));
    let none = unless_alike(&item, list, name, value);
    Some((item, none))
}

/// The same where a filter of one's own looked for it in vain: the program that gives what the filter does or nothing.
fn filtered(cx: &Context<'_>, draft: &Draft, made: usize, Empty { list, item, .. }: &Empty) -> Option<String> {
    let made = cx.trace.calls[draft.steps[made].calls[0]].arguments.as_object()?;
    let literals = string_literals(item);
    let compares = |name: &str, value: &Value| {
        let stands = literals.iter().any(|literal| *value == *literal.text);
        stands && (names_title(name) || item.contains(&member_of(name))) && !item.contains("ascii_")
    };
    let (name, value) = made.iter().find(|(name, value)| compares(name, value))?;
    Some(unless_alike(item, list, name, value))
}

/// The program that gives what another one does, and stops where that is nothing and the list has something that is called so but for
/// capitals.
fn unless_alike(item: &str, list: &str, name: &str, value: &Value) -> String {
    let member = member_of(name);
    let alike = format!("{list}[] | select(({member} | strings | ascii_downcase) == ({value} | ascii_downcase))");
    let [there, wanted] = ["there is `", "`, and what was looked for is `"].map(Value::from);
    let end = Value::from("`: is it the same?");
    let stop = format!("error({there} + .[0]{member} + {wanted} + {value} + {end})");
    format!("[{item}] as $so | [{alike}] | if $so == [] and . != [] then {stop} else $so[] end")
}

fn member_of(name: &str) -> String {
    jq_of(&[Segment::Key(name.to_owned())])
}

/// The first of a list that was empty, where it has what the thing is made with beside what was looked for; a run in which it has
/// something else stops.
fn alike(cx: &Context<'_>, draft: &Draft, (search, made): (usize, usize), list: &str) -> Option<String> {
    let [search, made] = [search, made].map(|at| &cx.trace.calls[draft.steps[at].calls[0]].arguments);
    let asked: Vec<&Value> = search.as_object()?.values().collect();
    let is_other = |value: &Value| (value.is_string() || value.is_number()) && !asked.contains(&value);
    let same = |(name, value): (&String, &Value)| {
        let member = member_of(name);
        format!("({member} == null or {member} == {value})")
    };
    let all: Vec<String> = made.as_object()?.iter().filter(|(_, value)| is_other(value)).map(same).collect();
    let why = Value::from("what was found is not as it would be made");
    (!all.is_empty())
        .then(|| format!("({list} | .[0] | if . == null or {} then . else error({why}) end)", all.join(" and ")))
}

/// Reads of an empty list that nothing in it is called as what is made, where that was the answer: a search finds parts of names too.
fn called_so(cx: &Context<'_>, draft: &Draft, made: usize, read: &mut [Reading], desk: &mut Desk) {
    let id = QuestionId::Found(draft.steps[made].id.clone());
    let Some(reading) = read.iter_mut().find(|reading| reading.empty.is_some()) else { return };
    let Some(Empty { step, list, .. }) = reading.empty.clone() else { return };
    let Some(search) = draft.steps.iter().position(|one| one.id == step) else { return };
    let response = cx.whole(draft.steps[search].call(cx.trace).response);
    let named = || called(cx, draft, (search, made), &list);
    let own = reading.empty.as_ref().and_then(|empty| filtered(cx, draft, made, empty));
    if let Some(none) = own.and_then(|none| reading::nothing(cx, &step, response, &none)) {
        reading.condition = none.condition;
    }
    if desk.given(&id, &["alike"]).is_some()
        && let Some(item) = alike(cx, draft, (search, made), &list)
    {
        reading.empty = Some(Empty { item, step: step.clone(), list: list.clone() });
    }
    if desk.given(&id, &["one"]).is_some() {
        reading.empty = Some(Empty { item: format!("({list}[])"), step: step.clone(), list: list.clone() });
    }
    if desk.given(&id, &["named"]).is_some()
        && let Some((item, none)) = named()
        && let Some(condition) = reading::nothing(cx, &step, response, &none)
    {
        *reading = Reading { empty: Some(Empty { step, list, item }), ..condition };
    }
}

fn ask(
    cx: &Context<'_>,
    draft: &Draft,
    (search, made): (usize, usize),
    instead: &Instead,
    list: &str,
    desk: &mut Desk,
) -> Result<String, FlowError> {
    let named = called(cx, draft, (search, made), list);
    let alike = alike(cx, draft, (search, made), list);
    let made = &draft.steps[made];
    let id = QuestionId::Found(made.id.clone());
    let answer = |word: &str, means: String| Answer::by_id(&id, word, means);
    let mut answers = vec![
        answer("first", format!("`{}` of {}, whatever it is called", instead.item, instead.step)),
        answer("one", format!("the only one of {}; a run that finds several stops", instead.step)),
        answer("nothing", format!("what uses {} is left out with it", made.id)),
    ];
    answers.extend(alike.map(|_| {
        let means = "the first one, where all that it has is as it would be made; a run in which it is not stops";
        answer("alike", means.to_owned())
    }));
    if let Some((named, _)) = named {
        let means = format!(
            "`{named}` of {}; else {} is made, but where one is called so but for capitals the run stops",
            instead.step, made.id
        );
        answers.insert(0, answer("named", means));
    }
    desk.ask(Question {
        kind: id.kind(),
        ask: format!(
            "when {} finds one, {} is not made: does `{}` stand for it? No answer of the recording shows one",
            instead.step, made.id, instead.item
        ),
        places: vec![Place { step: made.id.clone(), pointer: String::new() }],
        evidence: Vec::new(),
        answers,
        taken: "first".to_owned(),
        writes: made.is_write(cx.trace),
        open: true,
        id: id.clone(),
    })
}

impl Instead {
    /// Returns what stands for a reference to the answer that is not there.
    fn of(&self, reference: &Reference) -> Option<Reference> {
        let path = path_of(&reference.jq).filter(|_| !reference.each)?;
        let field = if path.is_empty() { String::new() } else { jq_of(&path) };
        let jq =
            if field.starts_with(".[") { format!("{} | {field}", self.item) } else { format!("{}{field}", self.item) };
        Some(Reference::new(self.step.clone(), jq))
    }
}
