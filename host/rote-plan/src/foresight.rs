//! What a later step reads is looked at as soon as it is there: a value that is missing stops the run before another write, not
//! behind it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::evaluate::{Values, evaluate};
use crate::expression::{Expression, Extent};
use crate::holes::Memo;
use crate::schedule::{Host, Place, Running};
use crate::visit::Onward;
use crate::{OnError, Plan, Reference, RunError, Step};

/// Why a step cannot run, and of which of its items that is so.
pub(crate) type Lack<E> = (Option<usize>, RunError<E>);

/// A step that surely runs, if the run does not stop before, and what of it was not looked at yet.
pub(crate) struct Ahead<'a> {
    position: usize,
    /// What it is repeated for, until that is known.
    each: Option<&'a Expression>,
    /// The parts of answers that its calls are made of.
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

/// The programs on the item that a value needs whatever else happens, each once.
fn needed_of_items(value: &Expression) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    value.visit(&mut |_, inner| match inner {
        Expression::Default(..) => Onward::Past,
        Expression::Item(program) => {
            found.insert(program.as_str());
            Onward::Past
        }
        _ => Onward::Into,
    });
    found
}

impl<'a, H: Host + ?Sized> Running<'a, H> {
    /// Looks at what the calls of a step read of each of its items, unless one that fails lets the others go on: an item that lacks
    /// it stops the run before the first of them is written, not behind it.
    pub(crate) fn look_at_items(&mut self, step: &Step, items: &[Option<Value>]) -> Result<(), Lack<H::Error>> {
        if step.on_error == OnError::Continue {
            return Ok(());
        }
        let programs = needed_of_items(&step.arguments);
        for (index, item) in items.iter().enumerate() {
            let Some(item) = item else { continue };
            let by = Place { step, item: Some(index) }.to_string();
            let mut memo = Memo::new();
            let mut holes = self.holes(&by, Some((index, item)), &mut memo).strict();
            for program in &programs {
                holes.item(program).map_err(|error| (Some(index), error))?;
            }
        }
        Ok(())
    }

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
        if each.take().is_some() {
            match self.items(step) {
                // For no items nothing is read.
                Ok(items) if items.is_empty() => arguments.clear(),
                Ok(items) => self.progress.states[*position].foreseen = Some(items),
                // That is not a list, or too long a one: it says so in its turn.
                Err((None, RunError::Value { .. })) => {}
                Err(lack) => failed = Some(lack),
            }
        }
        arguments.retain(|reference| {
            if failed.is_some() || !is_there(self, reference) {
                return true;
            }
            let one = Expression::From((*reference).clone());
            match evaluate(&one, &mut self.holes(&step.id, None, &mut memo).strict()) {
                Ok(value) => drop(memo.insert((*reference).clone(), value.unwrap_or(Value::Null))),
                Err(error) => failed = Some((None, error)),
            }
            false
        });
        self.progress.states[*position].memo = memo;
        if let Some((item, error)) = failed {
            self.begin(*position, Vec::new());
            self.fail(*position, item, error);
        }
        arguments.is_empty()
    }
}
