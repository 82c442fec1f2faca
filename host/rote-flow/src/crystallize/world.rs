//! Changed worlds: the plan against the recorded answers with other ids, other values, and lists in another order, longer, or
//! empty. What goes wrong there would go wrong in a run, although the replay of the recording is right: the answers of a
//! replay are the recorded ones.
//!
//! The answers of the recorded calls, those that were left out too, are changed as a whole, so that names stay consistent;
//! each step is answered as its call was; and what it asked for is looked at. Nothing runs but the plan and its jq
//! programs. A finding becomes a question or a note, never another plan.

mod change;
mod find;
mod host;
mod model;
#[cfg(test)]
mod tests;

use rote_plan::{Plan, text_of};
use rote_types::command;
use serde_json::Value;

use super::context::Context;
use super::desk::Desk;
use super::draft::Draft;
use super::parameters::Parameters;
use super::path::jq_of;
use super::pick;
use super::request::ParamSpec;
use crate::question::{Answer, Evidence, Place, Question, QuestionId};
use find::{Finding, Trial, What};
#[cfg(test)]
pub(crate) use host::ask;
pub(crate) use model::scalars;
use model::{World, tells_apart};

/// Most bytes of answers.
const MAX_BYTES: usize = 1 << 20;
/// Most steps.
const MAX_STEPS: usize = 200;
/// Most sources that a question names.
const MAX_SOURCES: usize = 3;

/// Tries the plan in changed worlds; what it finds become questions or notes, never another plan.
pub(crate) fn try_changed(cx: &Context<'_>, draft: &Draft, plan: &Plan, parameters: &Parameters, desk: &mut Desk) {
    let world = World::of(cx, draft);
    let chosen = parameters.chosen();
    let by_value = cx.request.params.iter().filter(|spec| spec.value.is_some()).map(|spec| spec.name.clone()).collect();
    let examples = parameters.examples();
    let trial =
        Trial { plan, world: &world, parameters: &examples, chosen: &chosen, by_value: &by_value, engine: cx.engine };
    let bytes: usize = world.exchanges.iter().map(|one| one.body.to_string().len()).sum();
    let found = match plan.steps.len() {
        _ if bytes > MAX_BYTES => Err(format!("its answers have {bytes} bytes, more than {MAX_BYTES}")),
        steps if steps > MAX_STEPS => Err(format!("it has {steps} steps, more than {MAX_STEPS}")),
        _ => trial.findings(),
    };
    match found {
        Ok(found) => {
            let raise = Raise { cx, draft, world: &world, examples: &examples };
            found.iter().for_each(|finding| raise.raise(finding, desk));
        }
        Err(why) => desk.note(None, format!("not tried against changed data: {why}"), None),
    }
}

/// Makes questions and notes of findings.
struct Raise<'a> {
    cx: &'a Context<'a>,
    draft: &'a Draft,
    world: &'a World,
    examples: &'a serde_json::Map<String, Value>,
}

impl Raise<'_> {
    fn raise(&self, finding: &Finding, desk: &mut Desk) {
        let Finding { step, pointer, what, sent } = finding;
        let shown = format!("{step}{pointer}");
        match what {
            What::OldId if step == "result" => {
                let text =
                    format!("the result has `{}`, an id of the recording, whatever the run finds", text_of(sent));
                desk.note(None, text, None);
            }
            What::OldId => self.old_id(finding, desk),
            What::OldValue { parameter } => {
                let old = self.examples.get(parameter).map(text_of).unwrap_or_default();
                let ask = format!("{shown} is `{}` when `{parameter}` is not `{old}`: is that right?", text_of(sent));
                let ask = format!("{ask} {}", self.everywhere(parameter, &old));
                let id = QuestionId::at(QuestionId::Value, step, pointer);
                let always = Answer::by_id(&id, "always", format!("it is {} in each run", text_of(sent)));
                let answers = std::iter::once(always).chain(self.skip(step)).collect();
                self.question(finding, (id, ask), answers, desk);
            }
            What::OtherItem => {
                let ask = format!("{shown} is another one when the list has another order: is the position meant?");
                let id = QuestionId::at(QuestionId::Pick, step, pointer);
                let position = Answer::by_id(&id, "position", "whatever stands there".to_owned());
                let answers = pick::answers(self.cx, self.draft, step, pointer);
                let answers = answers.unwrap_or_else(|| std::iter::once(position).chain(self.skip(step)).collect());
                self.question(finding, (id, ask), answers, desk);
            }
            What::MissedItem { exchange, array } => {
                let list = self.world.exchanges.get(*exchange);
                let of = list.map(|list| format!("`{array}` of {} {}", list.response, list.tool)).unwrap_or_default();
                let ask =
                    format!("{step} and those like it were for all of {of}; one more is not done: is that right?");
                let id = QuestionId::Loop(step.clone());
                let repeated = |word: &str, means: &str| {
                    Answer::new(word, means.to_owned(), command("--loop").assignment(step, word))
                };
                let no = repeated("no", "these calls and no others");
                // A repetition that could be one step is one unless it was said that it is not.
                let said = desk.given(&id, &["no"]).is_some();
                let all = said.then(|| repeated("all", "one call for each"));
                let answers = std::iter::once(no).chain(all).collect();
                self.question(finding, (id, ask), answers, desk);
            }
            What::SameThing { other } => {
                let ask = format!("{shown} names the same thing as {other} where a list has only one: is that right?");
                let id = QuestionId::at(QuestionId::Pick, step, pointer);
                let position = Answer::by_id(&id, "position", "it may be the same".to_owned());
                let answers = std::iter::once(position).chain(self.skip(step)).collect();
                self.question(finding, (id, ask), answers, desk);
            }
            What::Stops { why } => {
                let ask = format!("the flow stops when things have other names ({why}): is that right?");
                let id = QuestionId::Changed(step.clone());
                let accept = Answer::by_id(&id, "accept", "it is".to_owned());
                let answers = std::iter::once(accept).chain(self.skip(step)).collect();
                self.question(finding, (id, ask), answers, desk);
            }
            What::StopsHalfway { lists, writes, why } => {
                let text =
                    format!("when the lists that it reads are {lists}, it stops after {writes} of its writes: {why}");
                desk.note(Some(step), text, None);
            }
        }
    }

    /// A constant that only an answer can have told.
    fn old_id(&self, finding: &Finding, desk: &mut Desk) {
        let Finding { step, pointer, sent, .. } = finding;
        let id = QuestionId::at(QuestionId::Source, step, pointer);
        let ask = format!("{step} sends `{}` as {pointer} in each run: where does it come from?", text_of(sent));
        let spot = format!("{step}:{pointer}");
        let always = format!("it is {} in each run", text_of(sent));
        let mut answers = vec![Answer::new("always", always, command("--no-link").argument(&spot))];
        let before = self.call(step).unwrap_or(usize::MAX);
        for exchange in self.world.exchanges.iter().take(before) {
            scalars(&exchange.body, "", &mut Vec::new(), &mut |name, path, value| {
                if tells_apart(name) && text_of(value) == text_of(sent) && answers.len() <= MAX_SOURCES {
                    let word = format!("{}{{{}}}", exchange.response, jq_of(path));
                    let flag = command("--link").assignment(&spot, &word);
                    answers.push(Answer::new(word, format!("read from {} {}", exchange.response, exchange.tool), flag));
                }
            });
        }
        self.question(finding, (id, ask), answers, desk);
    }

    fn call(&self, step: &str) -> Option<usize> {
        self.draft.steps.iter().find(|one| one.id == step)?.calls.first().copied()
    }

    /// The answer that leaves a step out, which is one call.
    fn skip(&self, step: &str) -> Option<Answer> {
        self.draft.steps.iter().find(|one| one.id == step)?.skip(self.cx.trace)
    }

    /// How a parameter that takes only the argument of its name would take the other places too.
    fn everywhere(&self, parameter: &str, old: &str) -> String {
        let by_name = |spec: &&ParamSpec| spec.name == parameter && spec.value.is_none() && spec.spots.is_empty();
        match self.cx.request.params.iter().find(by_name) {
            Some(_) => {
                format!("(made with `{}`, the parameter goes there too)", command("--param").assignment(parameter, old))
            }
            None => String::new(),
        }
    }

    fn question(&self, finding: &Finding, (id, ask): (QuestionId, String), answers: Vec<Answer>, desk: &mut Desk) {
        let Finding { step, pointer, sent, .. } = finding;
        let taken = answers.first().map(|answer| answer.word.clone()).unwrap_or_default();
        let evidence =
            Evidence { what: "sent in a changed world".to_owned(), response: None, jq: None, value: sent.clone() };
        let place = Place { step: step.clone(), pointer: pointer.clone() };
        let writes = self.draft.steps.iter().any(|one| one.id == *step && one.is_write(self.cx.trace));
        desk.insist(Question {
            kind: id.kind(),
            id,
            ask,
            places: vec![place],
            evidence: vec![evidence],
            answers,
            taken,
            writes,
            open: true,
        });
    }
}
