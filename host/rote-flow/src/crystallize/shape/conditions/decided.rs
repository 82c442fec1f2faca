//! What was seen of the thing or the list that a write is about, right before it, and is used by nothing: a person may have decided
//! by it. Seen is what a query printed (nothing, true, a word, a number), a list that was empty, and a thing that was not there.
//!
//! Ids, what things are called, the size of a list that has items, places in a list, and what says where a list goes on are read to
//! find the way and not to decide. What the write or anything behind it sends was read for that. What a write was answered is seen
//! of it, too, but for what that write had sent: that was read to see that it is so.

use rote_types::ResponseId;
use rote_workspace::{QueryRecord, ResponseState};
use serde_json::Value;

use super::super::super::context::{Context, names_id};
use super::super::super::draft::{Draft, DraftStep};
use super::super::super::occurrences::names_title;
use super::super::super::path::{jq_of, path_of};
use super::super::super::program::{Kind, conditions, names as has_word, stages, string_literals, tokens};
use super::super::pages::arrays;
use super::super::unread::turns_a_page;
use super::looked::{Look, as_one, counts_places, makes};
use super::reading::{Reading, equals, more_than_none, nothing, something};
use crate::literals::walk_scalars;
use crate::trace::RecordedCall;

/// Most calls of a repetition whose looks are read.
const MAX_CALLS: usize = 100;
/// Most characters of a word that says in which state something is.
const MAX_WORD_CHARS: usize = 24;
/// Fewest characters of a text that two calls share.
const MIN_SHARED_CHARS: usize = 3;

/// What was seen since the write before each call of a step.
pub(super) fn looks(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Vec<Look> {
    let mut found = Vec::new();
    for call in step.calls.iter().copied().take(MAX_CALLS) {
        let before = &cx.trace.calls[..call];
        let written = before.iter().rposition(|one| one.is_write() && one.state == ResponseState::Ok);
        let from = written.map_or(0, |at| before[at].command);
        let until = cx.trace.calls[call].command;
        let queries = cx.trace.queries.iter().filter(|query| query.command.0 > from && query.command.0 < until);
        found.extend(queries.filter_map(|query| printed(cx, draft, (step, call), query)));
        let reads = before.iter().skip(written.map_or(0, |at| at + 1)).filter(|read| !read.is_write());
        for read in reads {
            let queried = found.iter().any(|look: &Look| look.response == read.response);
            let seen = if queried { None } else { empty(cx, draft, step, read) };
            found.extend(seen.or_else(|| missing(cx, (step, call), read)));
        }
    }
    found
}

/// What a query printed.
fn printed(cx: &Context<'_>, draft: &Draft, (step, call): (&DraftStep, usize), query: &QueryRecord) -> Option<Look> {
    let response = query.source_response.filter(|_| query.saved_as.is_none())?;
    let source = source(cx, draft, response)?;
    let read = &cx.trace.calls[cx.trace.position(response)?];
    let answers_write = source.is_write(cx.trace);
    let uses = step.uses().any(|id| id == source.id);
    if !uses && !is_about(cx, &cx.trace.calls[call], read, Near::Around) {
        return None;
    }
    let program = cx.portable(query).ok()?;
    let fields = fields(&program);
    if chooses_by_name(&program) || turns_a_page(fields.last().map_or("", String::as_str)) {
        return None;
    }
    let whole = cx.whole(response);
    let outputs = cx.outputs(whole, &program).ok()?;
    let value = as_one(&outputs);
    if outputs.len() == 1 && !value.is_null() && !answers_write && selects_one(&program) {
        let reading = something(cx, &source.id, whole, &program).filter(|_| source.is_one())?;
        let what = format!("the query `{program}` of {response} gave something");
        return Some(Look { response, program: Some(program), what, value, reading: Ok(reading) });
    }
    let echoed = || answers_write && sends(read, &value);
    // What a program says in one case and not in another is a decision, whoever says it then.
    let is_sent = || !has_word(&program, &["if"]) && cx.is_sent(call, &value);
    if counts_places(&program) && outputs.iter().any(Value::is_number) || is_sent() || echoed() {
        return None;
    }
    let none = nothing(cx, &source.id, whole, &program);
    let none = none.or_else(|| some_of(&source.id, &program, &value));
    let what = match &none {
        Some(_) if value.as_f64().is_none_or(|number| number == 0.0) => {
            format!("the query `{program}` of {response} gave nothing")
        }
        _ => format!("the query `{program}` of {response} gave {value}"),
    };
    let telling = || {
        let way = fields.last().is_some_and(|field| names_a_thing(field));
        (outputs.len() == 1 && !way && tells(&value, &program)).then(|| equals(&source.id, &program, &value))
    };
    let reading = none.or_else(telling)?;
    let reading =
        if source.is_one() { Ok(reading) } else { Err(format!("it is one of several answers of {}", source.id)) };
    Some(Look { response, program: Some(program), what, value, reading })
}

/// A list that was read, and has nothing in it, before something was made.
fn empty(cx: &Context<'_>, draft: &Draft, step: &DraftStep, read: &RecordedCall) -> Option<Look> {
    let source = source(cx, draft, read.response).filter(|source| source.is_one() && !source.is_write(cx.trace))?;
    if !makes(cx, step) || !is_about(cx, step.call(cx.trace), read, Near::Same) {
        return None;
    }
    let response = cx.whole(read.response);
    let body = cx.body(response)?;
    let mut lists = Vec::new();
    arrays(&body, &mut Vec::new(), &mut lists);
    let each: Vec<String> = lists.iter().map(|path| format!("{}[]", jq_of(path))).collect();
    let program = match (&*body, lists.as_slice()) {
        (Value::Array(_), _) => ".".to_owned(),
        (_, []) => return None,
        (_, [one]) => jq_of(one),
        _ => format!("[{}]", each.join(", ")),
    };
    let value = as_one(&cx.outputs(response, &program).ok()?);
    value.as_array().filter(|items| items.is_empty())?;
    let reading = Ok(nothing(cx, &source.id, response, &program)?);
    let what = format!("the list of {} was empty", read.response);
    Some(Look { response: read.response, program: Some(program), what, value, reading })
}

/// A thing that was looked for by what the write names too, and was not there.
fn missing(cx: &Context<'_>, (step, call): (&DraftStep, usize), read: &RecordedCall) -> Option<Look> {
    let status = read.status.filter(|status| [404, 410].contains(status))?;
    let write = &cx.trace.calls[call];
    let found = cx.trace.calls[..call]
        .iter()
        .any(|other| other.state == ResponseState::Ok && other.tool == read.tool && other.arguments == read.arguments);
    let named = cx.path_arguments(read).last().is_some_and(|(_, value)| sends(write, value));
    if found || !makes(cx, step) || !(named || shares(cx, write, read)) {
        return None;
    }
    let what = format!("{} was answered {status}", read.name());
    let why = "a plan ends where a call fails".to_owned();
    Some(Look { response: read.response, program: None, what, value: status.into(), reading: Err(why) })
}

/// The step that got an answer, where it stays.
fn source<'d>(cx: &Context<'_>, draft: &'d Draft, response: ResponseId) -> Option<&'d DraftStep> {
    let step = &draft.steps[cx.trace.position(response).and_then(|call| draft.step_of(call))?];
    (step.out.is_none() && step.broken.is_none()).then_some(step)
}

/// How near what was read is to what is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Near {
    /// The same list, or what both name.
    Same,
    /// Also the thing that is written, and the list around it.
    Around,
}

/// Whether a call read the thing or the list that a write is about.
fn is_about(cx: &Context<'_>, write: &RecordedCall, read: &RecordedCall, near: Near) -> bool {
    let (Some(reads), Some(writes)) = (cx.tool(read), cx.tool(write)) else { return false };
    let path = cx.path_arguments(read);
    let same = path.iter().all(|(name, value)| write.arguments.get(name) == Some(value));
    let below = match near {
        Near::Same => writes.path == reads.path,
        Near::Around => {
            writes.path.strip_prefix(&*reads.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
    };
    let of_list = write.adapter == read.adapter && below && same;
    let of_thing = near == Near::Around && path.last().is_some_and(|(_, value)| sends(write, value));
    of_list || of_thing || shares(cx, write, read)
}

/// Whether a call read the list to which a write adds.
pub(super) fn is_of_list(cx: &Context<'_>, write: &RecordedCall, read: &RecordedCall) -> bool {
    let (Some(reads), Some(writes)) = (cx.tool(read), cx.tool(write)) else { return false };
    read.state == ResponseState::Ok && reads.path == writes.path && is_about(cx, write, read, Near::Same)
}

/// Whether what a read was narrowed to is sent by the write too.
fn shares(cx: &Context<'_>, write: &RecordedCall, read: &RecordedCall) -> bool {
    let path = cx.path_arguments(read);
    let mut found = false;
    walk_scalars(&read.arguments, String::new(), &mut |pointer, value| {
        let text = value.as_str().is_some_and(|text| text.chars().count() >= MIN_SHARED_CHARS);
        let of_path = path.iter().any(|(_, known)| *known == value);
        found |= text && !of_path && !cx.is_chosen(read, pointer) && sends(write, value);
    });
    found
}

/// Whether a call sends a value, as a whole.
fn sends(write: &RecordedCall, value: &Value) -> bool {
    let wanted = rote_plan::text_of(value);
    let mut found = false;
    walk_scalars(&write.arguments, String::new(), &mut |_, one| found |= rote_plan::text_of(one) == wanted);
    found
}

/// Whether a program looks for a thing by an id or by what it is called: that is one of those that are found by their names.
fn chooses_by_name(program: &str) -> bool {
    let selects = conditions(program);
    let scopes = if selects.is_empty() { vec![program] } else { selects };
    let by_name = |scope: &str| fields(scope).iter().any(|field| names_a_thing(field));
    scopes.into_iter().any(|scope| by_name(scope) && !string_literals(scope).is_empty())
}

/// That there are some of those that a condition chooses, where a program counts them.
fn some_of(step: &str, program: &str, value: &Value) -> Option<Reading> {
    let is_count = has_word(program, &["length"]) && !conditions(program).is_empty();
    (is_count && value.as_f64().is_some_and(|number| number > 0.0)).then(|| more_than_none(step, program))
}

/// Whether a program gives one thing, or a part of it, only where a condition holds: `select(.total > 100) | .id`. Whatever of it
/// is sent then, the condition was what was asked.
fn selects_one(program: &str) -> bool {
    let stages: Vec<&str> = stages(program).into_iter().map(str::trim).collect();
    let Some(at) = stages.iter().position(|stage| stage.starts_with("select(")) else { return false };
    stages[..at].iter().all(|stage| path_of(stage).is_some())
}

fn names_a_thing(field: &str) -> bool {
    names_title(field) || names_id(field)
}

/// The members that a program names, in order.
fn fields(program: &str) -> Vec<String> {
    let tokens = tokens(program).unwrap_or_default();
    let words = tokens.into_iter().filter(|token| token.kind == Kind::Word).map(|token| &program[token.range]);
    words.filter_map(|word| word.strip_prefix('.')).map(str::to_owned).collect()
}

/// Whether somebody may decide by a value: by a yes, by a number that is not the size of a list, by a word.
fn tells(value: &Value, program: &str) -> bool {
    match value {
        Value::Bool(_) => true,
        Value::Number(_) => !has_word(program, &["length"]),
        Value::String(text) => {
            let digits = text.chars().filter(char::is_ascii_digit).count();
            let plain = text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            plain && text.starts_with(char::is_alphabetic) && digits < 3 && text.chars().count() <= MAX_WORD_CHARS
        }
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}
