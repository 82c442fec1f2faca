//! Ids that a program compares with, `select(.assignee_id == 32)`: read where an earlier answer has them, like typed ones. What else
//! it has that a query printed before, `.rate * 42.5`, is asked.
//!
//! What stands in the answer that the program reads is a choice from it and stays. What a parameter was bound to is a variable by now.

use std::ops::Range;

use rote_plan::{Bound, Expression, Reference};
use rote_types::command;
use serde_json::Value;

use super::super::bind::{known, with_parameters};
use super::super::closure;
use super::super::context::{Context, names_id};
use super::super::desk::{Desk, REFERENCE};
use super::super::draft::Draft;
use super::super::occurrences::{Hit, Occurrences};
use super::super::parameters::Parameters;
use super::super::path::Segment;
use super::super::program::{Compared, Kind, compared, names_variable, string_literals, tokens, values};
use super::printed::distinct;
use super::source::Sources;
use super::{Linker, Read, text_of};
use crate::FlowError;
use crate::literals::{DAY, change_references, looks_like};
use crate::question::QuestionId;

/// Fewest letters and digits of a value that is not equal by chance to what a query printed.
const MIN_TELLING: usize = 2;

/// Finds the sources of the ids that the programs of the steps that stay compare with.
pub(crate) fn ids_in_programs(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &Parameters,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let seen = Occurrences::of(cx, draft);
    for at in closure::needed(cx.trace, draft) {
        let step = &draft.steps[at];
        let mut linker = Linker::of(cx, draft, step, &seen, desk);
        let mut expressions: Vec<(String, Expression)> = vec![(String::new(), step.arguments.clone())];
        expressions.extend(step.others().into_iter().map(|(place, one)| (format!("/{place}"), one.clone())));
        for (place, expression) in &mut expressions {
            change_references(expression, &mut |pointer, reference| {
                let pointer = if place.is_empty() { pointer } else { place.as_str() };
                if let Some(linked) = linker.ids_of(pointer, reference, parameters) {
                    *reference = linked;
                }
            });
        }
        linker.failed.take().map_or(Ok(()), Err)?;
        let mut new = expressions.into_iter().map(|(_, expression)| expression);
        let step = &mut draft.steps[at];
        step.arguments = new.next().unwrap_or(Expression::Literal(Value::Null));
        for (old, new) in step.others_mut().into_iter().zip(new) {
            *old = new;
        }
    }
    ids_of_the_result(cx, draft, (&seen, parameters), desk)
}

/// The same for the program of the result, which stands at the step that it reads.
fn ids_of_the_result(
    cx: &Context<'_>,
    draft: &mut Draft,
    (seen, parameters): (&Occurrences, &Parameters),
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let mut result = draft.result.clone();
    let reads = result.references().first().map(|reference| reference.step.clone());
    let Some(step) = draft.steps.iter().find(|step| Some(&step.id) == reads.as_ref()) else { return Ok(()) };
    let mut linker = Linker::of(cx, draft, step, seen, desk);
    change_references(&mut result, &mut |_, reference| {
        if let Some(linked) = linker.ids_of("/result", reference, parameters) {
            *reference = linked;
        }
    });
    linker.failed.take().map_or(Ok(()), Err)?;
    draft.result = result;
    Ok(())
}

/// Puts a variable in the place of a literal.
fn bind(bound: &mut Reference, range: Range<usize>, name: &str, source: Reference) {
    let mut variable: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    while variable.is_empty() || bound.with.contains_key(&variable) || names_variable(&bound.jq, &variable) {
        variable.push('_');
    }
    bound.jq.replace_range(range, &format!("${variable}"));
    bound.with.insert(variable, Bound::From(Box::new(source)));
}

/// The last field that a program takes.
fn last_field(program: &str) -> Option<String> {
    let mut words = tokens(program)?.into_iter().rev().filter(|token| token.kind == Kind::Word);
    words.find_map(|token| program[token.range].strip_prefix('.').map(str::to_owned))
}

impl Linker<'_, '_> {
    /// The reference with its ids bound to where they come from; none when there is nothing to bind.
    fn ids_of(&mut self, pointer: &str, reference: &Reference, parameters: &Parameters) -> Option<Reference> {
        let mut bound = reference.clone();
        for one in compared(&reference.jq).into_iter().rev() {
            let place = format!("{pointer}{{{}}}", text_of(&one.value));
            let Some(source) = self.source_of_id(&place, reference, &one) else { continue };
            let source = with_parameters(self.cx, self.draft, parameters, source);
            bind(&mut bound, one.range, &one.name, source);
        }
        for (range, value) in values(&bound.jq).into_iter().rev() {
            let place = format!("{pointer}{{{}}}", text_of(&value));
            let Some(source) = self.source_of_printed(&place, reference, &value, parameters) else { continue };
            let source = with_parameters(self.cx, self.draft, parameters, source);
            let name = last_field(&source.jq);
            bind(&mut bound, range, name.as_deref().unwrap_or("value"), source);
        }
        let step = self.draft.steps.iter().find(|step| step.id == reference.step)?;
        let run = |response, reference: &Reference| {
            let value =
                |(name, bound): (&String, &Bound)| Some((name.clone(), known(self.cx, self.draft, parameters, bound)?));
            let values: Vec<(String, Value)> = reference.with.iter().map(value).collect::<Option<_>>()?;
            let program = rote_plan::bind(&reference.jq, values.iter().map(|(name, value)| (name.as_str(), value)));
            self.cx.outputs(response, &program).ok()
        };
        let same = step.calls.iter().all(|call| {
            let response = self.cx.trace.calls[*call].response;
            run(response, reference).is_some_and(|before| run(response, &bound) == Some(before))
        });
        (same && bound != *reference).then_some(bound)
    }

    /// Where an id comes from that a program compares with; asked where several places can be it. Its place is that of the program with
    /// the id in braces: a program may have several.
    fn source_of_id(&mut self, pointer: &str, reference: &Reference, one: &Compared) -> Option<Reference> {
        let id = QuestionId::at(QuestionId::Source, &self.step.id, pointer);
        let hits: Vec<&Hit> = self.hits(&one.name, &one.value);
        let elsewhere =
            |hit: &&Hit| self.draft.step_of(hit.call).is_some_and(|at| self.draft.steps[at].id != reference.step);
        let hits: Vec<&Hit> = hits.into_iter().filter(elsewhere).filter(|hit| names_id(hit.field())).collect();
        if hits.is_empty() || self.cx.is_claimed(&self.step.id, pointer, &one.name, &one.value) {
            return None;
        }
        match self.desk.given(&id, &["always", REFERENCE]) {
            Some(word) if word.starts_with('@') => match self.read(&id, &word, &one.value) {
                Ok(Expression::From(source)) => return Some(source),
                Ok(_) => return None,
                Err(error) => {
                    self.failed = Some(error);
                    return None;
                }
            },
            Some(_) => return None,
            None => {}
        }
        let printed = self.printed_id(&reference.step, &one.value, &hits);
        let sources = Sources::of(self.cx, self.call, pointer, &one.name, &hits);
        let certain = sources.likeliest().filter(|hit| !self.is_position(hit)).map(|hit| self.read_of(hit));
        let Some(read) = printed.or(certain) else {
            let reads = sources.best().map(|hit| self.read_of(hit)).collect();
            self.ask(id, pointer, &one.value, reads);
            return None;
        };
        let text =
            format!("linked {} {} in `{}` = {} of {}", one.name, text_of(&one.value), reference.jq, read.jq, read.step);
        let undo = command("--no-link").argument(format!("{}:{pointer}", self.step.id));
        self.desk.note(Some(&self.step.id), text, Some(undo));
        Some(Reference::new(read.step, read.jq))
    }

    /// Where a number or a text comes from that a program has and a query before it printed, as a person says; they are asked.
    fn source_of_printed(
        &mut self,
        pointer: &str,
        reference: &Reference,
        value: &Value,
        parameters: &Parameters,
    ) -> Option<Reference> {
        let id = QuestionId::at(QuestionId::Source, &self.step.id, pointer);
        match self.desk.given(&id, &["always", REFERENCE]) {
            Some(word) if word.starts_with('@') => {
                return match self.read(&id, &word, value) {
                    Ok(Expression::From(source)) => Some(source),
                    Ok(_) => None,
                    Err(error) => {
                        self.failed = Some(error);
                        None
                    }
                };
            }
            Some(_) => return None,
            None => {}
        }
        let tells = text_of(value).chars().filter(|c| c.is_alphanumeric()).count() >= MIN_TELLING;
        let asked = self.desk.questions.iter().any(|question| question.id == id);
        if !tells || asked || self.cx.is_claimed(&self.step.id, pointer, "", value) {
            return None;
        }
        let prints = self.prints();
        let own = prints.iter().position(|(read, _)| read.step == reference.step && read.jq == reference.jq);
        let before = prints.into_iter().skip(own.map_or(0, |own| own + 1));
        let printed = |(read, outputs): &(Read, std::rc::Rc<Vec<Value>>)| {
            outputs.as_slice() == std::slice::from_ref(value)
                && !values(&read.jq).iter().any(|(_, typed)| typed == value)
                && !self.is_typed_before("", value, read)
        };
        let printed: Vec<Read> = before.filter(printed).map(|(read, _)| read).collect();
        let of_things = self.of_things(value).into_iter().filter(|read| read.step != reference.step);
        let reads = distinct(printed.into_iter().chain(of_things));
        // A day decides for which things there are writes, and is another one next week.
        let is_day = self.call.is_write() && looks_like(value) == Some(DAY);
        // A number means something only under a name, so it was not bound; it may be the parameter all the same.
        let is_given =
            value.is_number() && parameters.examples().values().any(|example| text_of(example) == text_of(value));
        if !reads.is_empty() || is_day || is_given {
            self.ask(id, pointer, value, reads);
        }
        None
    }

    /// Where the one thing that was read has it, or another one that it tells apart.
    fn of_things(&self, value: &Value) -> Vec<Read> {
        match value {
            Value::Number(number) => self.numbered(&number.to_string()),
            value => {
                let hits = self.hits("", value);
                let tells = value.as_str().is_some_and(|text| !hits.is_empty() && self.tells_which(text, &hits));
                if tells { self.reads(hits) } else { Vec::new() }
            }
        }
    }

    /// The query that showed the id and nothing else, of an answer that has it.
    fn printed_id(&self, of: &str, value: &Value, hits: &[&Hit]) -> Option<Read> {
        let all = self.prints().into_iter();
        let typed = |jq: &str| string_literals(jq).iter().any(|literal| *value == *literal.text);
        all.filter(|(read, outputs)| {
            let stands = hits.iter().any(|hit| self.response(hit) == read.response);
            read.step != of && stands && outputs.as_slice() == std::slice::from_ref(value) && !typed(&read.jq)
        })
        .map(|(read, _)| read)
        .find(|read| super::super::program::positions(&read.jq).is_empty())
    }

    /// Whether it is one of several items, which only a position tells.
    fn is_position(&self, hit: &Hit) -> bool {
        let body = self.cx.body(self.response(hit));
        (0..hit.path.len()).filter(|at| matches!(hit.path[*at], Segment::Index(_))).any(|at| {
            let list = body.as_ref().and_then(|body| super::super::path::at(body, &hit.path[..at])?.as_array());
            list.is_none_or(|list| list.len() != 1)
        })
    }
}
