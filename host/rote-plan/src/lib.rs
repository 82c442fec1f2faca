//! The plan of a crystallized flow and the scheduler that runs it; shared by `rote-flow` and the plan guest.
//!
//! Invariants: pure data and control flow. No I/O, no clock, no randomness, no threads; the same plan, the same
//! parameters and the same answers give the same calls in the same order. A [`Plan`] that came through
//! [`Plan::parse`] is acyclic, bounded and refers only to steps and parameters that it has. Nothing here knows
//! what a call does: that is the business of the [`Host`].
//!
//! A [`Step`] is one call, with `for_each` one call for each item of an array, with `pages` one for each page of a list, with
//! `until` the same one again and again. `when` can skip it, `on_error`
//! can let the run go on without it; what then becomes of the steps that need it is said at [`Status`].

mod condition;
mod error;
mod evaluate;
mod expression;
mod foresight;
mod holes;
mod outcome;
mod plan;
mod progress;
mod schedule;
#[cfg(test)]
mod tests;
mod visit;

pub use condition::{Comparison, Condition, Operator, equal};
pub use error::{PlanError, RunError};
pub use evaluate::{Values, evaluate, text_of};
pub use expression::{Bound, Expression, Reference, bind};
pub use outcome::{Outcome, RunStatus, Status, StepOutcome};
pub use plan::{
    Count, DEFAULT_CONCURRENCY, MAX_CONCURRENCY, MAX_DEPTH, MAX_ITEMS, MAX_PAGES, MAX_PARAMETERS, MAX_PAUSE,
    MAX_PLAN_BYTES, MAX_PROGRAM_BYTES, MAX_READS, MAX_STEPS, MAX_VARIABLES, OnError, Pages, Parameter, Plan, Step,
    Until, VERSION,
};
pub use schedule::{Call, Host, Place, Ran, run};
pub use visit::{At, Onward};
