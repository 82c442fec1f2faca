//! Parameters beyond the arguments that they were found in: in programs, and in steps that were brought in after all others.

use std::collections::BTreeSet;

use rote_plan::{Expression, Onward, Reference};
use rote_types::escape_token;
use serde_json::Value;

use super::super::chance::tells_of_several;
use super::super::closure;
use super::super::context::{Context, names_id};
use super::super::desk::Desk;
use super::super::draft::Draft;
use super::super::link::{place_name, word_of};
use super::super::parameters::Parameters;
use super::super::program::string_literals;
use super::super::request::ResultSpec;
use super::super::words::by_text;
use super::super::{link, totals};
use super::query::Binding;
use super::{Binder, Wanted, bind, by_name_only, with_parameters};
use crate::FlowError;
use crate::literals::{change_references, last_segment, pointer_of, replace};
use crate::question::{Answer, Place, QuestionId, QuestionKind};

/// Makes the parameters, and looks at what the steps that stay compare and reckon with; what that brings in is treated alike.
pub(crate) fn bind_all(
    cx: &Context<'_>,
    draft: &mut Draft,
    parameters: &mut Parameters,
    desk: &mut Desk,
) -> Result<(), FlowError> {
    let late = bind(cx, draft, parameters, desk, Wanted::Found)?;
    let mut looked = closure::needed(cx.trace, draft);
    link::values_in_programs(cx, draft, parameters, &looked, desk)?;
    link::values_of_the_result(cx, draft, parameters, desk)?;
    totals::ask(cx, draft, parameters, desk)?;
    loop {
        let new: BTreeSet<usize> = closure::needed(cx.trace, draft).difference(&looked).copied().collect();
        if new.is_empty() {
            break;
        }
        reach(cx, draft, parameters, &new);
        link::values_in_programs(cx, draft, parameters, &new, desk)?;
        looked.extend(new);
    }
    // What stands only in a step that was brought in.
    bind(cx, draft, parameters, desk, Wanted::These(&late)).map(drop)
}

/// Makes the parameters in steps that stay only since another one reads from them.
fn reach(cx: &Context<'_>, draft: &mut Draft, parameters: &Parameters, new: &BTreeSet<usize>) {
    let given = parameters.longest_first();
    for at in new.iter().copied() {
        let mut arguments = draft.steps[at].arguments.clone();
        replace(&mut arguments, &mut |pointer, literal| {
            given.iter().find_map(|(name, example)| {
                // The number of a thing is that of the parameter, whatever it is called there.
                let is_id = literal.is_number() && tells_of_several(literal) && names_id(&place_name(pointer));
                let named = literal == *example && (is_id || last_segment(pointer) == escape_token(name));
                let text = example.as_str().filter(|text| !text.is_empty() && !by_name_only(text));
                if named {
                    return Some(Expression::Param((*name).to_owned()));
                }
                text.and_then(|text| by_text(literal, name, text))
            })
        });
        change_references(&mut arguments, &mut |_, reference| {
            *reference = with_parameters(cx, draft, parameters, reference.clone());
        });
        draft.steps[at].arguments = arguments;
    }
}

impl Binder<'_, '_> {
    /// Whether a write that stays has a day from which the parameter, which stands nowhere, is not far: that may be reckoned.
    pub(super) fn is_near_a_day(&self, value: &str) -> bool {
        self.steps().any(|step| step.is_write(self.cx.trace) && totals::has_day_near(step, value))
    }

    /// Whether the parameter stands nowhere yet, and may as soon as a question is answered, which is noted.
    pub(super) fn is_to_come(&mut self, value: &str) -> bool {
        if self.parameters.example(self.name).is_some() {
            return false;
        }
        let when = match self.answered_with(value) {
            _ if self.is_near_a_day(value) => "a day is `reckoned` from it".to_owned(),
            Some((question, word)) => format!("`{question}` is answered so, as by `{word}`"),
            None => return false,
        };
        self.desk.note(None, format!("parameter `{}` stands nowhere until {when}", self.name), None);
        true
    }

    /// The open question that has the parameter as an answer, or about a source one in whose program the value stands.
    fn answered_with(&self, value: &str) -> Option<(QuestionId, String)> {
        let holds = |answer: &&Answer| {
            let read = answer.word.parse::<ResultSpec>().ok();
            read.is_some_and(|read| string_literals(&read.jq).iter().any(|literal| literal.text == value))
        };
        let word = word_of(self.name);
        self.desk.open().find_map(|question| {
            let fits = |answer: &&Answer| match question.kind {
                QuestionKind::Source => holds(answer),
                QuestionKind::Pick => answer.word == word,
                _ => false,
            };
            question.answers.iter().find(fits).map(|answer| (question.id.clone(), answer.word.clone()))
        })
    }

    /// What was sent where an answer has put the parameter.
    pub(super) fn put_by_answer(&self) -> Option<Value> {
        self.steps().find_map(|step| {
            let mut found = None;
            step.arguments.visit(&mut |way, one| {
                if matches!(one, Expression::Param(name) if name == self.name) {
                    found = step.call(self.cx.trace).arguments.pointer(&pointer_of(way)).cloned().or(found.take());
                }
                if matches!(one, Expression::Text(_)) { Onward::Past } else { Onward::Into }
            });
            found
        })
    }

    /// Binds the parameter in the programs that read the answers of steps that were asked for it.
    pub(super) fn in_programs_of(&mut self, places: &[Place], value: &str) {
        let binding = Binding { name: self.name, value };
        let reads = |reference: &Reference| places.iter().any(|place| place.step == reference.step);
        for at in self.kept {
            let mut expression = self.draft.steps[*at].arguments.clone();
            change_references(&mut expression, &mut |_, reference| {
                let bound = binding.bind(self.cx, self.draft, self.parameters, reference);
                if let Some(bound) = bound.filter(|_| reads(reference)) {
                    *reference = bound;
                }
            });
            self.draft.steps[*at].arguments = expression;
        }
    }
}
