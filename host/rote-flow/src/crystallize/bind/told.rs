//! A number that a text says with the name of its parameter, `8 places`: it is the parameter there as well.

use std::ops::Range;

use rote_plan::Expression;
use serde_json::Value;

use super::Binder;
use crate::crystallize::link::numbers;
use crate::crystallize::words::{is_named, joined};
use crate::literals::replace;

impl Binder<'_, '_> {
    /// Binds the number where the texts of writes say it beside the name of the parameter; says where.
    pub(super) fn in_texts(&mut self, value: &Value) {
        if !value.is_number() {
            return;
        }
        let (name, wanted) = (self.name, value.to_string());
        for at in self.kept.iter().copied() {
            let step = &mut self.draft.steps[at];
            if !step.is_write(self.cx.trace) {
                continue;
            }
            let mut told = Vec::new();
            replace(&mut step.arguments, &mut |pointer, literal| {
                let text = literal.as_str()?;
                let mut places: Vec<Range<usize>> = numbers(text)
                    .filter(|(range, number)| *number == wanted && is_named(text, range, name))
                    .map(|(range, _)| range)
                    .collect();
                places.sort_by_key(|range| range.start);
                let bound = joined(text, places.into_iter().map(|range| (range, Expression::Param(name.to_owned()))))?;
                told.push(pointer.to_owned());
                Some(bound)
            });
            for pointer in told {
                let text =
                    format!("{wanted} in the text at {}:{pointer} is `{name}`, which it is named after", step.id);
                self.desk.note(Some(&step.id), text, None);
            }
        }
    }
}
