//! What a query looked for before it was made: a label by its name, of which the list had none. Nobody said that it is made only
//! where there is none, so that is asked.

use rote_types::{Access, Method, command};
use rote_workspace::QueryRecord;
use serde_json::Value;

use super::super::super::context::{Context, path_names};
use super::super::super::draft::{Draft, DraftStep};
use super::super::super::link::place_name;
use super::super::super::occurrences::names_title;
use super::super::super::program::{string_literals, tokens};
use super::reading::{Reading, nothing};
use crate::literals::walk_scalars;
use crate::question::{Answer, Evidence, Place, Question, QuestionId};

/// Beginnings of the names of tools that make something.
const MAKES: [&str; 3] = ["create", "add", "new"];

/// A query that gave nothing before something of that name was made.
pub(super) struct Looked<'t> {
    query: &'t QueryRecord,
    program: String,
    value: Value,
    /// That it gives nothing.
    pub(super) reading: Reading,
}

/// The last query that looked for what a step makes, where it gave nothing.
pub(super) fn looked<'t>(cx: &Context<'t>, draft: &Draft, step: &DraftStep) -> Option<Looked<'t>> {
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
    // The place of what was found may be 0.
    let words = tokens(&program)?;
    let counts_places = words.iter().any(|word| ["index", "rindex"].contains(&&program[word.range.clone()]));
    let response = cx.whole(query.source_response?);
    let outputs = cx.outputs(response, &program).ok()?;
    let value = match outputs.as_slice() {
        [] => Value::Null,
        [one] => one.clone(),
        several => Value::Array(several.to_vec()),
    };
    if counts_places && outputs.iter().any(Value::is_number) {
        return None;
    }
    let reading = nothing(cx, &source.id, response, &program)?;
    Some(Looked { query, program, value, reading })
}

/// Whether a step makes something new.
fn makes(cx: &Context<'_>, step: &DraftStep) -> bool {
    let call = step.call(cx.trace);
    let named = MAKES.iter().any(|word| call.tool.to_ascii_lowercase().starts_with(word));
    let grave = cx.tool(call).is_some_and(|tool| tool.access > Access::Write);
    !grave && (named || call.method == Method::Post)
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

impl Looked<'_> {
    /// Asks whether it is made only where the query gives nothing.
    pub(super) fn question(&self, cx: &Context<'_>, step: &DraftStep) -> Question {
        let Self { query, program, value, reading } = self;
        let id = &step.id;
        let response = query.source_response;
        let of = response.map(|response| response.to_string()).unwrap_or_default();
        let when = |word: &str, means: String| Answer::new(word, means, command("--when").assignment(id, word));
        let answers = [
            when("no", format!("{id} is made in each run, also where there is one")),
            when("yes", format!("{id} is made when {}", reading.says)),
        ];
        Question {
            id: QuestionId::When(id.clone()),
            kind: QuestionId::When(id.clone()).kind(),
            ask: format!(
                "the query `{program}` of {of} gave nothing before {id} was made: is it made only where it gives nothing?"
            ),
            places: vec![Place { step: id.clone(), pointer: String::new() }],
            evidence: vec![Evidence {
                what: "the query gave nothing".to_owned(),
                response,
                jq: Some(program.clone()),
                value: value.clone(),
            }],
            answers: answers.into_iter().chain(step.skip(cx.trace)).collect(),
            taken: "no".to_owned(),
            writes: true,
            open: true,
        }
    }
}
