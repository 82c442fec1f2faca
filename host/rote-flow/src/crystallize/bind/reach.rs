//! Parameters beyond the arguments that they were found in: in programs, and in steps that were brought in after all others.

use std::collections::BTreeSet;

use rote_plan::{Expression, Reference};
use rote_types::escape_token;

use super::super::closure;
use super::super::context::Context;
use super::super::draft::Draft;
use super::super::parameters::Parameters;
use super::super::words::by_text;
use super::query::Binding;
use super::{Binder, by_name_only, with_parameters};
use crate::literals::{change_references, last_segment, replace};
use crate::question::Place;

/// Makes the parameters in steps that stay only since a program of another one reads from them.
pub(crate) fn reach(cx: &Context<'_>, draft: &mut Draft, parameters: &Parameters, before: &BTreeSet<usize>) {
    let new: Vec<usize> = closure::needed(cx.trace, draft).difference(before).copied().collect();
    let given = parameters.examples();
    for at in new {
        let mut arguments = draft.steps[at].arguments.clone();
        replace(&mut arguments, &mut |pointer, literal| {
            given.iter().find_map(|(name, example)| {
                let named = last_segment(pointer) == escape_token(name) && literal == example;
                let text = example.as_str().filter(|text| !text.is_empty() && !by_name_only(text));
                if named {
                    return Some(Expression::Param(name.clone()));
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
