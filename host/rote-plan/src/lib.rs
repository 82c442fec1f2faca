//! The plan of a crystallized flow and the scheduler that runs it; shared by `rote-flow` and the plan guest.
//!
//! Invariants: pure data and control flow. No I/O, no clock, no randomness, no threads; the same plan, the same
//! parameters and the same answers give the same calls in the same order. A [`Plan`] that came through
//! [`Plan::parse`] is acyclic, bounded and refers only to steps and parameters that it has. Nothing here knows
//! what a call does: that is the business of the [`Host`].

mod error;
mod evaluate;
mod expression;
mod plan;
mod schedule;
#[cfg(test)]
mod tests;

pub use error::{PlanError, RunError};
pub use evaluate::{Values, evaluate, text_of};
pub use expression::{Expression, Reference};
pub use plan::{
    MAX_DEPTH, MAX_PARAMETERS, MAX_PLAN_BYTES, MAX_PROGRAM_BYTES, MAX_STEPS, Parameter, Plan, Step, VERSION,
};
pub use schedule::{Call, Host, Outcome, run};
