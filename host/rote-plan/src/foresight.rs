//! What a later step reads is looked at as soon as it is there: a value that is missing stops the run before another write, not
//! behind it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::evaluate::evaluate;
use crate::expression::{Expression, Extent};
use crate::schedule::{Host, Running};
use crate::visit::Onward;
use crate::{OnError, Plan, Reference};

/// A step that surely runs, if the run does not stop before, and what of it was not looked at yet.
pub(crate) struct Ahead<'a> {
    position: usize,
    /// What it is repeated for, until that is known.
    each: Option<&'a Expression>,
    /// What its calls are made of.
    arguments: Vec<&'a Reference>,
}

/// The steps of which neither they nor what they need has a condition, or may fail while the run goes on.
pub(crate) fn foreseeable(plan: &Plan) -> Vec<Ahead<'_>> {
    let (mut sure, mut found) = (BTreeSet::new(), Vec::new());
    for (position, step) in plan.steps.iter().enumerate() {
        let mut lacking: Vec<&str> = Vec::new();
        let values = step.for_each.iter().chain(std::iter::once(&step.arguments));
        values.for_each(|value| value.lacking(Extent::Whole, &|id, _| sure.contains(id), &mut lacking));
        let needs = step.needs.iter().all(|need| sure.contains(need.as_str()));
        if step.when.is_none() && step.on_error == OnError::Stop && lacking.is_empty() && needs {
            sure.insert(step.id.as_str());
            found.push(Ahead { position, each: step.for_each.as_ref(), arguments: needed(&step.arguments) });
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
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.retain_mut(|step| {
            let waits = self.failure.is_none() && self.progress.is_waiting(step.position);
            waits && !self.look_ahead(step)
        });
        self.ahead = ahead;
    }

    /// Looks at what is there by now; whether that was all.
    fn look_ahead(&mut self, Ahead { position, each, arguments }: &mut Ahead<'a>) -> bool {
        let is_there = |running: &Self, reference: &Reference| {
            let mut has = true;
            reference.walk(&mut |one| has &= running.progress.has(&one.step, Extent::Whole));
            has
        };
        if each.is_some_and(|each| !needed(each).into_iter().all(|reference| is_there(self, reference))) {
            return false;
        }
        let step = self.progress.states[*position].step;
        let mut memo = std::mem::take(&mut self.progress.states[*position].memo);
        let mut failed = None;
        if let Some(each) = each.take() {
            match evaluate(each, &mut self.holes(&step.id, None, &mut memo).strict()) {
                // For no items nothing is read.
                Ok(Some(Value::Array(found))) if found.is_empty() => arguments.clear(),
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
        arguments.retain(|reference| {
            if failed.is_some() || !is_there(self, reference) {
                return true;
            }
            let one = Expression::From((*reference).clone());
            match evaluate(&one, &mut self.holes(&step.id, None, &mut memo).strict()) {
                Ok(value) => drop(memo.insert((*reference).clone(), value.unwrap_or(Value::Null))),
                Err(error) => failed = Some(error),
            }
            false
        });
        self.progress.states[*position].memo = memo;
        if let Some(error) = failed {
            self.begin(*position, Vec::new());
            self.fail(*position, None, error);
        }
        arguments.is_empty()
    }
}
