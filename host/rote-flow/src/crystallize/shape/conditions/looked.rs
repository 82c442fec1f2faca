//! What a person looked at before a write and decided by in the head: a label by its name, of which the list had none; a list that
//! was empty; a state; a thing that was not there. Nobody said that the write depends on it, so that is asked, once for a write.

use rote_types::{Access, Method, ResponseId, command};
use rote_workspace::{QueryRecord, ResponseState};
use serde_json::Value;

use super::super::super::context::{Context, path_names};
use super::super::super::draft::{Draft, DraftStep};
use super::super::super::link::place_name;
use super::super::super::occurrences::names_title;
use super::super::super::path::{Segment, at, jq_of};
use super::super::super::program::{string_literals, tokens};
use super::super::pages::arrays;
use super::decided;
use super::reading::{Reading, nothing};
use crate::literals::walk_scalars;
use crate::question::{Answer, Evidence, Place, Question, QuestionId};

/// Beginnings of the names of tools that make something.
const MAKES: [&str; 3] = ["create", "add", "new"];

/// Most looks that are kept of one write.
const MAX_LOOKS: usize = 6;

/// What was seen before a write.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) response: ResponseId,
    pub(super) program: Option<String>,
    /// In words.
    pub(super) what: String,
    pub(super) value: Value,
    /// That it is so again; else why a plan does not ask it.
    pub(super) reading: Result<Reading, String>,
}

/// All that was looked at before a step.
pub(super) fn looks(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Vec<Look> {
    let mut found: Vec<Look> = Vec::new();
    let of_name = by_name(cx, draft, step).or_else(|| unlisted(cx, draft, step));
    for look in of_name.into_iter().chain(decided::looks(cx, draft, step)) {
        let known = found.iter().any(|known| (known.response, &known.program) == (look.response, &look.program));
        if !known && found.len() < MAX_LOOKS {
            found.push(look);
        }
    }
    found
}

/// The last query that looked for what a step makes, where it gave nothing.
fn by_name(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Option<Look> {
    let call = step.call(cx.trace);
    if step.calls.len() != 1 || step.for_each.is_some() || !makes(cx, step) {
        return None;
    }
    let names = names(cx, step);
    let before = cx.trace.queries.iter().rev().filter(|query| query.command.0 < call.command);
    let (query, source, program) = before.into_iter().find_map(|query| {
        let at = cx.trace.position(query.source_response?).and_then(|call| draft.step_of(call))?;
        let source = &draft.steps[at];
        let program = cx.portable(query).ok()?;
        let asked = &source.call(cx.trace).arguments;
        let stays = source.out.is_none() && source.broken.is_none() && source.is_one() && !source.is_write(cx.trace);
        let of_it = names.iter().any(|name| is_in(name, &program, asked));
        (stays && of_it && program.trim() != ".").then_some((query, source, program))
    })?;
    let response = query.source_response?;
    let whole = cx.whole(response);
    let outputs = cx.outputs(whole, &program).ok()?;
    if counts_places(&program) && outputs.iter().any(Value::is_number) {
        return None;
    }
    let reading = Ok(nothing(cx, &source.id, whole, &program)?);
    let what = format!("the query `{program}` of {response} gave nothing");
    Some(Look { response, program: Some(program), what, value: as_one(&outputs), reading })
}

/// The last list of the same things, of which a query printed what they are called, or which was read right before and for nothing
/// else, where none is called as what the step makes.
fn unlisted(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Option<Look> {
    let call = step.call(cx.trace);
    if step.calls.len() != 1 || step.for_each.is_some() || !makes(cx, step) {
        return None;
    }
    let tool = cx.tool(call)?;
    let named = call.arguments.as_object()?.iter().find(|(name, value)| {
        names_title(name) && value.is_string() && !path_names(&tool.path).any(|one| one == name.as_str())
    })?;
    let before = cx.trace.calls[..step.calls[0]].iter().rev();
    let read = before.into_iter().find(|read| !read.is_write() && decided::is_of_list(cx, call, read))?;
    let source = &draft.steps[cx.trace.position(read.response).and_then(|call| draft.step_of(call))?];
    if source.out.is_some() || source.broken.is_some() || !source.is_one() {
        return None;
    }
    let whole = cx.whole(read.response);
    let body = cx.body(whole)?;
    let mut lists = if body.is_array() { vec![Vec::new()] } else { Vec::new() };
    arrays(&body, &mut Vec::new(), &mut lists);
    let [list] = lists.as_slice() else { return None };
    let items = at(&body, list)?.as_array().filter(|items| !items.is_empty())?;
    let (name, value) = named;
    let is_other = |item: &Value| item.get(name).is_some_and(|other| other.is_string() && other != value);
    let called: Vec<&Value> = items.iter().filter_map(|item| item.get(name)).collect();
    let of_it = |query: &&QueryRecord| {
        query.source_response.map(|of| cx.whole(of)) == Some(whole) && query.command.0 < call.command
    };
    let queries = || cx.trace.queries.iter().filter(of_it);
    let lists_them = |query: &QueryRecord| {
        let outputs = cx.portable(query).ok().and_then(|jq| cx.outputs(whole, &jq).ok());
        outputs.is_some_and(|outputs| match outputs.as_slice() {
            [Value::Array(all)] => all.iter().eq(called.iter().copied()),
            several => several.iter().eq(called.iter().copied()),
        })
    };
    let last = cx.trace.calls[..step.calls[0]].iter().rev().find(|before| before.state == ResponseState::Ok);
    let is_used = draft.steps.iter().any(|user| user.out.is_none() && user.uses().any(|id| id == source.id));
    let is_last = last.is_some_and(|last| last.response == read.response);
    // A list that was narrowed does not say that a thing is not there, and is read for other reasons as well.
    let is_whole = read.arguments.as_object().is_none_or(|asked| !asked.values().any(Value::is_string));
    let by_eye = !is_used && is_last && is_whole && queries().next().is_none();
    if !by_eye && !queries().any(lists_them) {
        return None;
    }
    let program = format!("{}[] | select({} == {value})", jq_of(list), jq_of(&[Segment::Key(name.clone())]));
    let reading = Ok(nothing(cx, &source.id, whole, &program).filter(|_| items.iter().all(is_other))?);
    let what = format!("the list of {} had nothing whose {name} is {value}", read.response);
    Some(Look { response: read.response, program: Some(program), what, value: Value::Null, reading })
}

/// Whether a program gives a place in a list, which may be 0 of what was found.
pub(super) fn counts_places(program: &str) -> bool {
    let words = tokens(program).unwrap_or_default();
    words.iter().any(|word| ["index", "rindex"].contains(&&program[word.range.clone()]))
}

/// Outputs as one value.
pub(super) fn as_one(outputs: &[Value]) -> Value {
    match outputs {
        [] => Value::Null,
        [one] => one.clone(),
        several => Value::Array(several.to_vec()),
    }
}

/// Whether a step makes something new.
pub(super) fn makes(cx: &Context<'_>, step: &DraftStep) -> bool {
    let call = step.call(cx.trace);
    let named = MAKES.iter().any(|word| call.tool.to_ascii_lowercase().starts_with(word));
    // A `POST` that searches makes nothing, and what is grave is not made in passing.
    cx.tool(call).is_some_and(|tool| tool.access == Access::Write) && (named || call.method == Method::Post)
}

/// The names that a step gives to what it makes, as they were sent.
fn names(cx: &Context<'_>, step: &DraftStep) -> Vec<String> {
    let call = step.call(cx.trace);
    let tool = cx.tool(call);
    let mut found = Vec::new();
    walk_scalars(&call.arguments, String::new(), &mut |pointer, value| {
        let name = place_name(pointer);
        let of_path = tool.as_ref().is_some_and(|tool| path_names(&tool.path).any(|one| one == name));
        let is_name = names_title(&name) || ["key", "slug"].contains(&name.to_ascii_lowercase().as_str());
        found.extend(value.as_str().filter(|text| is_name && !of_path && !text.is_empty()).map(str::to_owned));
    });
    found
}

/// Whether a name was looked for: by the query, or by the call that it is about.
fn is_in(name: &str, program: &str, asked: &Value) -> bool {
    let mut found = string_literals(program).iter().any(|literal| literal.text == name);
    walk_scalars(asked, String::new(), &mut |_, value| found |= value.as_str() == Some(name));
    found
}

/// Asks whether a write is made only where it is again as it was seen.
pub(super) fn question(cx: &Context<'_>, draft: &Draft, step: &DraftStep, looks: &[Look]) -> Question {
    let id = &step.id;
    let when = |word: &str, means: String| Answer::new(word, means, command("--when").assignment(id, word));
    let mut answers = vec![when("no", format!("{id} is made in each run, whatever is seen then"))];
    let read: Vec<&str> =
        looks.iter().filter_map(|look| look.reading.as_ref().ok()).map(|reading| reading.says.as_str()).collect();
    if !read.is_empty() {
        let is_used = draft.steps.iter().any(|other| other.out.is_none() && other.uses().any(|used| used == id));
        let then = QuestionId::Found(id.clone());
        let then = format!("; what uses it is asked then: `{then}`, which may be answered at once");
        let then = if is_used && makes(cx, step) { then } else { String::new() };
        answers.push(when("yes", format!("{id} is made when {}{then}", read.join(" and "))));
    }
    answers.extend(step.skip(cx.trace));
    let seen = |look: &Look| match &look.reading {
        Ok(_) => look.what.clone(),
        Err(why) => format!("{} ({why})", look.what),
    };
    let seen: Vec<String> = looks.iter().map(seen).collect();
    let evidence = |look: &Look| Evidence {
        what: look.what.clone(),
        response: Some(look.response),
        jq: look.program.clone(),
        value: look.value.clone(),
    };
    Question {
        id: QuestionId::When(id.clone()),
        kind: QuestionId::When(id.clone()).kind(),
        ask: format!("before {id} was made, {}: is it made only where that is so?", seen.join(", and ")),
        places: vec![Place { step: id.clone(), pointer: String::new() }],
        evidence: looks.iter().map(evidence).collect(),
        answers,
        taken: "no".to_owned(),
        writes: true,
        open: true,
    }
}
