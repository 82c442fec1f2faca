//! Ids that a program compares with, `select(.assignee_id == 32)`: read where an earlier answer has them, like typed ones. What else
//! it has that a query printed before, `.rate * 42.5`, is asked.
//!
//! What stands in the answer that the program reads is a choice from it and stays. What a parameter was bound to is a variable by now.

use std::collections::BTreeSet;
use std::ops::Range;

use rote_plan::{Bound, Expression, Reference};
use rote_types::command;
use serde_json::Value;

use super::super::bind::{given_as, known, spliced, with_parameters};
use super::super::chance::tells;
use super::super::context::{Context, names_id};
use super::super::desk::{Desk, PARAMETER, REFERENCE};
use super::super::draft::Draft;
use super::super::occurrences::{Hit, Occurrences};
use super::super::parameters::Parameters;
use super::super::path::Segment;
use super::super::pick;
use super::super::program::{Compared, compared, last_field, names_variable, string_literals, values};
use super::printed::{distinct, same, says_nothing};
use super::source::Sources;
use super::{Linker, Read, text_of};
use crate::FlowError;
use crate::literals::{DAY, change_references, looks_like};
use crate::question::{Answer, QuestionId};

/// Finds the sources of what the programs of these steps compare and reckon with.
pub(crate) fn values_in_programs(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &Parameters,
    steps: &BTreeSet<usize>,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let seen = Occurrences::of(cx, draft);
    for at in steps.iter().copied() {
        let step = &draft.steps[at];
        let mut linker = Linker::of(cx, draft, step, &seen, desk);
        let mut expressions: Vec<(String, Expression)> = vec![(String::new(), step.arguments.clone())];
        expressions.extend(step.others().into_iter().map(|(place, one)| (format!("/{place}"), one.clone())));
        for (place, expression) in &mut expressions {
            change_references(expression, &mut |pointer, reference| {
                let pointer = if place.is_empty() { pointer } else { place.as_str() };
                if let Some(linked) = linker.values_of(pointer, reference, parameters) {
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
    Ok(())
}

/// The same for the program of the result, which stands at the step that it reads.
pub(crate) fn values_of_the_result(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &Parameters,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let seen = Occurrences::of(cx, draft);
    let mut result = draft.result.clone();
    let reads = result.references().first().map(|reference| reference.step.clone());
    let Some(step) = draft.steps.iter().find(|step| Some(&step.id) == reads.as_ref()) else { return Ok(()) };
    let mut linker = Linker::of(cx, draft, step, &seen, desk);
    change_references(&mut result, &mut |_, reference| {
        if let Some(linked) = linker.values_of("/result", reference, parameters) {
            *reference = linked;
        }
    });
    linker.failed.take().map_or(Ok(()), Err)?;
    draft.result = result;
    Ok(())
}

/// Puts a variable in the place of a literal; the literal as parts around a parameter, where that is a part of it.
fn bind(bound: &mut Reference, range: Range<usize>, name: &str, (source, parts): (Bound, Option<&[Expression]>)) {
    let mut variable: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    while variable.is_empty() || bound.with.contains_key(&variable) || names_variable(&bound.jq, &variable) {
        variable.push('_');
    }
    let text = parts.map_or_else(|| format!("${variable}"), |parts| spliced(parts, &variable));
    bound.jq.replace_range(range, &text);
    bound.with.insert(variable, source);
}

/// What takes the place of a value in a program, as a person says.
enum Given {
    Read(Reference),
    /// The parameter, and the text around it where it is a part.
    Parameter(String, Option<Vec<Expression>>),
}

/// The answer that says that a value is a parameter's.
pub(crate) fn word_of(parameter: &str) -> String {
    format!("{PARAMETER}{parameter}")
}

impl Linker<'_, '_> {
    /// The reference with its ids bound to where they come from; none when there is nothing to bind.
    fn values_of(&mut self, pointer: &str, reference: &Reference, parameters: &Parameters) -> Option<Reference> {
        let mut bound = reference.clone();
        let mut told = None;
        for one in compared(&reference.jq).into_iter().rev() {
            let place = format!("{pointer}{{{}}}", text_of(&one.value));
            let Some(source) = self.source_of_id(&place, reference, &one) else { continue };
            let source = with_parameters(self.cx, self.draft, parameters, source);
            bind(&mut bound, one.range, &one.name, (Bound::From(Box::new(source)), None));
        }
        for (range, value) in values(&bound.jq).into_iter().rev() {
            let place = format!("{pointer}{{{}}}", text_of(&value));
            let Some(given) = self.ask_of_typed(&place, reference, &value, parameters) else { continue };
            told = Some(place);
            match given {
                Given::Read(source) => {
                    let source = with_parameters(self.cx, self.draft, parameters, source);
                    let name = last_field(&source.jq);
                    let source = Bound::From(Box::new(source));
                    bind(&mut bound, range, name.as_deref().unwrap_or("value"), (source, None));
                }
                Given::Parameter(name, parts) => {
                    bind(&mut bound, range, &name, (Bound::Param(name.clone()), parts.as_deref()));
                }
            }
        }
        let step = self.draft.steps.iter().find(|step| step.id == reference.step)?;
        let run = |response, reference: &Reference| {
            let value =
                |(name, bound): (&String, &Bound)| Some((name.clone(), known(self.cx, self.draft, parameters, bound)?));
            let values: Vec<(String, Value)> = reference.with.iter().map(value).collect::<Option<_>>()?;
            let program = rote_plan::bind(&reference.jq, values.iter().map(|(name, value)| (name.as_str(), value)));
            self.cx.outputs(response, &program).ok()
        };
        let is_proved = step.calls.iter().all(|call| {
            let response = self.cx.trace.calls[*call].response;
            let (Some(before), Some(now)) = (run(response, reference), run(response, &bound)) else { return false };
            before.len() == now.len() && before.iter().zip(now.iter()).all(|(one, other)| same(one, other))
        });
        if let Some(place) = told.filter(|_| !is_proved) {
            let id = QuestionId::at(QuestionId::Source, &self.step.id, &place);
            let message =
                format!("`{id}`: with that the program gives something else than in the recording: {}", bound.jq);
            self.failed = Some(FlowError::Usage { message });
        }
        (is_proved && bound != *reference).then_some(bound)
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

    /// Asks about a number, a text or a day in a program that an earlier query printed, that is a parameter's or that is a day; gives
    /// what a person says.
    fn ask_of_typed(
        &mut self,
        pointer: &str,
        reference: &Reference,
        value: &Value,
        parameters: &Parameters,
    ) -> Option<Given> {
        let id = QuestionId::at(QuestionId::Source, &self.step.id, pointer);
        let offered = given_as(parameters, value);
        let words: Vec<String> = offered.iter().map(|(name, _)| word_of(name)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["always", REFERENCE]).collect();
        match self.desk.given(&id, &words) {
            Some(word) if word.starts_with('@') => {
                return match self.read(&id, &word, value) {
                    Ok(Expression::From(source)) => Some(Given::Read(source)),
                    Ok(_) => None,
                    Err(error) => {
                        self.failed = Some(error);
                        None
                    }
                };
            }
            Some(word) => {
                let said = offered.into_iter().find(|(name, _)| word_of(name) == word);
                return said.map(|(name, parts)| Given::Parameter(name, parts));
            }
            None => {}
        }
        let tells = tells(value);
        let asked = self.desk.questions.iter().any(|question| question.id == id);
        // Of one digit only the parameter that has it says something.
        let is_given = !offered.is_empty() && !says_nothing(value);
        if !(tells || is_given) || asked || self.cx.is_claimed(&self.step.id, pointer, "", value) {
            return None;
        }
        let prints = self.prints();
        let own = prints.iter().position(|(read, _)| read.step == reference.step && read.jq == reference.jq);
        let before = prints.into_iter().skip(own.map_or(0, |own| own + 1));
        let printed = |(read, outputs): &(Read, std::rc::Rc<Vec<Value>>)| {
            matches!(outputs.as_slice(), [one] if same(one, value))
                && !values(&read.jq).iter().any(|(_, typed)| same(typed, value))
                && !self.is_typed_before("", value, read)
        };
        let printed: Vec<Read> = before.filter(printed).map(|(read, _)| read).collect();
        let of_things = self.of_things(value).into_iter().filter(|read| read.step != reference.step);
        let all = printed.into_iter().chain(of_things).filter(|_| tells);
        let reads = distinct(all.map(|read| self.told_apart(read)));
        // A day decides which things are meant, and is another one next week.
        if !reads.is_empty() || looks_like(value) == Some(DAY) || !offered.is_empty() {
            let mut question = self.question(id, pointer, value, reads);
            let answer = |(name, _): &(String, _)| {
                Answer::by_id(&question.id, word_of(name), format!("it is what the parameter {name} says"))
            };
            let answers: Vec<Answer> = offered.iter().map(answer).collect();
            let last = question.answers.len().saturating_sub(1);
            question.answers.splice(last..last, answers);
            if let Err(error) = self.desk.ask(question) {
                self.failed = Some(error);
            }
        }
        None
    }

    /// The read of an item by what it was chosen for, where that is known: its place is another one in other lists.
    fn told_apart(&self, read: Read) -> Read {
        let jq = pick::told_apart(self.cx, self.draft, self.step, &Reference::new(read.step.clone(), read.jq.clone()));
        Read { jq: jq.unwrap_or(read.jq), ..read }
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
            let is_it = matches!(outputs.as_slice(), [one] if same(one, value));
            read.step != of && stands && is_it && !typed(&read.jq)
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
