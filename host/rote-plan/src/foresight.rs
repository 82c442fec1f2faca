//! What a later step reads is looked at as soon as it is there: a value that is missing stops the run before another write, not
//! behind it.

use serde_json::Value;

use crate::evaluate::evaluate;
use crate::expression::{Expression, Extent};
use crate::schedule::{Host, Running};
use crate::visit::Onward;
use crate::{OnError, Plan, Reference};

/// The positions of the steps that surely run, if the run does not stop before: neither they nor what they need has a condition,
/// or may fail while the run goes on.
pub(crate) fn foreseeable(plan: &Plan) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    for (position, step) in plan.steps.iter().enumerate() {
        let known = |id: &str| found.iter().any(|at| plan.steps[*at].id == id);
        let mut lacking: Vec<&str> = Vec::new();
        let values = step.for_each.iter().chain(std::iter::once(&step.arguments));
        values.for_each(|value| value.lacking(Extent::Whole, &|id, _| known(id), &mut lacking));
        let needs = step.needs.iter().all(|need| known(need));
        if step.when.is_none() && step.on_error == OnError::Stop && lacking.is_empty() && needs {
            found.push(position);
        }
    }
    found
}

/// The references of a value that are needed whatever else happens.
fn needed(value: &Expression) -> Vec<&Reference> {
    let mut found = Vec::new();
    value.visit(&mut |_, inner| match inner {
        Expression::Default(..) => Onward::Past,
        Expression::From(reference) => {
            found.push(reference);
            Onward::Past
        }
        _ => Onward::Into,
    });
    found
}

impl<'a, H: Host + ?Sized> Running<'a, H> {
    /// Looks at what the steps that wait will read of those that have ended. What was found is kept for the step.
    pub(crate) fn foresee(&mut self) {
        for position in self.foreseeable.clone() {
            if self.failure.is_some() {
                return;
            }
            if self.progress.is_waiting(position) {
                self.look_ahead(position);
            }
        }
    }

    fn look_ahead(&mut self, position: usize) {
        let step = self.progress.states[position].step;
        let mut memo = std::mem::take(&mut self.progress.states[position].memo);
        let mut references: Vec<&'a Reference> = step.for_each.as_ref().map(needed).unwrap_or_default();
        // For no items nothing is read.
        let has_items = match &step.for_each {
            None => true,
            Some(_) if references.iter().any(|reference| self.is_missing(reference)) => false,
            Some(items) => {
                let found = evaluate(items, &mut self.holes(&step.id, None, &mut memo).strict());
                matches!(found, Ok(Some(Value::Array(items))) if !items.is_empty())
            }
        };
        if has_items {
            references.extend(needed(&step.arguments));
        }
        let mut failed = None;
        for reference in references {
            if failed.is_some() || memo.contains_key(reference) || self.is_missing(reference) {
                continue;
            }
            let one = Expression::From(reference.clone());
            match evaluate(&one, &mut self.holes(&step.id, None, &mut memo).strict()) {
                Ok(value) => drop(memo.insert(reference.clone(), value.unwrap_or(Value::Null))),
                Err(error) => failed = Some(error),
            }
        }
        self.progress.states[position].memo = memo;
        if let Some(error) = failed {
            self.begin(position, Vec::new());
            self.fail(position, None, error);
        }
    }

    /// Whether a step that a reference goes to, also for a variable of its program, has not ended yet.
    fn is_missing(&self, reference: &Reference) -> bool {
        let mut lacks = false;
        reference.walk(&mut |one| lacks |= !self.progress.has(&one.step, Extent::Whole));
        lacks
    }
}
