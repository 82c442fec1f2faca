//! How far the steps of a run are, and what of them is there for others.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::expression::Extent;
use crate::holes::Memo;
use crate::{Pages, Plan, Status, Step, StepOutcome};

/// How far a step is.
pub(crate) enum Phase {
    Waiting,
    Started,
    Ended,
}

/// One step during a run.
pub(crate) struct State<'a, R, E> {
    pub(crate) step: &'a Step,
    /// Positions of the steps that must have ended first.
    needs: Vec<usize>,
    pub(crate) phase: Phase,
    /// The status is the real one from [`Phase::Ended`] on.
    pub(crate) outcome: StepOutcome<R, E>,
    /// One `None` for a step without `for_each`; with `pages`, what names each that is known of, `None` the first.
    pub(crate) items: Vec<Option<Value>>,
    /// Its items, where they were looked at before its turn.
    pub(crate) foreseen: Option<Vec<Option<Value>>>,
    /// How many of the items were started, or could not be.
    pub(crate) next: usize,
    /// The items whose calls are made again after a pause, with the milliseconds that are left of it.
    pub(crate) waiting: Vec<(usize, u64)>,
    /// Those whose pause is over.
    pub(crate) again: Vec<usize>,
    /// How many calls of an item did not give what is waited for.
    pub(crate) turns: BTreeMap<usize, usize>,
    pub(crate) in_flight: usize,
    /// How many calls failed, the one that stopped the run included.
    pub(crate) failed: usize,
    pub(crate) memo: Memo,
    /// What has named a page.
    pub(crate) named: Vec<Value>,
    /// All pages as one answer, once somebody has asked.
    pub(crate) joined: OnceCell<Value>,
}

/// How far the steps are.
pub(crate) struct Progress<'a, R, E> {
    pub(crate) positions: BTreeMap<&'a str, usize>,
    pub(crate) states: Vec<State<'a, R, E>>,
}

impl<'a, R, E> Progress<'a, R, E> {
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let mut positions = BTreeMap::new();
        for (position, step) in plan.steps.iter().enumerate() {
            positions.insert(step.id.as_str(), position);
        }
        let state = |step: &'a Step| State {
            step,
            needs: step.waits_for().into_iter().filter_map(|need| positions.get(need).copied()).collect(),
            phase: Phase::Waiting,
            outcome: StepOutcome {
                status: Status::Completed,
                responses: BTreeMap::new(),
                failures: BTreeMap::new(),
                because: Vec::new(),
            },
            items: Vec::new(),
            foreseen: None,
            next: 0,
            waiting: Vec::new(),
            again: Vec::new(),
            turns: BTreeMap::new(),
            in_flight: 0,
            failed: 0,
            memo: Memo::new(),
            named: Vec::new(),
            joined: OnceCell::new(),
        };
        let states = plan.steps.iter().map(state).collect();
        Self { positions, states }
    }

    /// Returns a step that has ended and how.
    pub(crate) fn ended(&self, step: &str) -> Option<(&Step, &StepOutcome<R, E>)> {
        let state = &self.states[*self.positions.get(step)?];
        matches!(state.phase, Phase::Ended).then_some((state.step, &state.outcome))
    }

    /// Returns where all pages of a step are kept as one answer; none for a step that has not several.
    pub(crate) fn pages(&self, step: &str) -> Option<(&Pages, &OnceCell<Value>)> {
        let State { step, outcome, joined, .. } = &self.states[*self.positions.get(step)?];
        step.pages.as_ref().filter(|_| outcome.responses.len() > 1).map(|pages| (pages, joined))
    }

    /// Whether as much of a step is there as is asked for.
    pub(crate) fn has(&self, step: &str, extent: Extent) -> bool {
        self.ended(step).is_some_and(|(_, outcome)| match outcome.status {
            Status::Completed => true,
            Status::Partial => extent == Extent::Part,
            Status::Failed | Status::Skipped | Status::Blocked => false,
        })
    }

    pub(crate) fn is_waiting(&self, position: usize) -> bool {
        matches!(self.states[position].phase, Phase::Waiting)
    }

    pub(crate) fn is_ready(&self, position: usize) -> bool {
        let State { phase, needs, .. } = &self.states[position];
        matches!(phase, Phase::Waiting) && needs.iter().all(|need| matches!(self.states[*need].phase, Phase::Ended))
    }

    /// Returns the steps for want of which a step cannot run.
    pub(crate) fn lacking(&self, step: &'a Step) -> Vec<&'a str> {
        let has = |step: &str, extent| self.has(step, extent);
        let mut found: Vec<&str> = self.undecided(step);
        found.extend(step.needs.iter().map(String::as_str).filter(|need| !has(need, Extent::Whole)));
        let values = step.for_each.iter().chain(std::iter::once(&step.arguments));
        values.for_each(|value| value.lacking(Extent::Whole, &has, &mut found));
        found
    }

    /// Returns the steps for want of which its condition cannot be decided.
    pub(crate) fn undecided(&self, step: &'a Step) -> Vec<&'a str> {
        let mut found = Vec::new();
        if let Some(condition) = &step.when {
            condition.lacking(&|step, extent| self.has(step, extent), &mut found);
        }
        found
    }
}
