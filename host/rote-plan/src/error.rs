//! What can be wrong with a plan, and what can go wrong when it runs.
//!
//! Written by hand instead of derived: this crate is compiled into guests and has no dependency but serde.

use std::fmt;

use crate::{MAX_CONCURRENCY, MAX_PAUSE, MAX_READS, Status};

/// A plan that is not well formed. Its author is to blame; running it again does not help.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// The text is not JSON, or not of the plan's shape.
    Syntax {
        /// What the reader said, with line and column where there is one.
        message: String,
    },
    /// It was written for another version of the format.
    Version {
        /// The version that it names.
        found: u64,
    },
    /// It is larger than a bound allows.
    TooLarge {
        /// What is too large, such as `steps`.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// A step or a parameter has a name that is not allowed.
    Name {
        /// The name.
        name: String,
    },
    /// A variable of a jq program has a name that jq does not take.
    Variable {
        /// Whose program it is, a step's id or `result`.
        by: String,
        /// The name.
        name: String,
    },
    /// Two steps have the same id.
    DuplicateStep {
        /// The id.
        step: String,
    },
    /// A step refers to one that does not exist.
    UnknownStep {
        /// Who refers, a step's id or `result`.
        by: String,
        /// The unknown id.
        step: String,
    },
    /// A step refers to a parameter that is not declared.
    UnknownParameter {
        /// Who refers, a step's id or `result`.
        by: String,
        /// The unknown name.
        parameter: String,
    },
    /// Steps wait for each other.
    Cycle {
        /// The steps that can never start.
        steps: Vec<String>,
    },
    /// A step's arguments are not an object.
    Arguments {
        /// The step.
        step: String,
    },
    /// The item of a `for_each` step is used where there is none.
    Item {
        /// Who uses it: a step's id, its `for_each` or `when`, or `result`.
        by: String,
        /// `$item` or `$index`.
        used: &'static str,
    },
    /// What a step is to run for each item of can never be an array.
    ForEach {
        /// The step.
        step: String,
    },
    /// A step's `max_concurrency` is out of bounds, or it has no `for_each`.
    Concurrency {
        /// The step.
        step: String,
    },
    /// What a step's `pages` says is empty, it counts by less than 1 or without an argument, or it has a `for_each` too.
    Pages {
        /// The step.
        step: String,
    },
    /// What a step's `until` says is empty or out of bounds, or it has `pages` too.
    Until {
        /// The step.
        step: String,
    },
    /// A comparison lacks its right side, or has one that its operator does not take.
    Comparison {
        /// The step.
        step: String,
        /// The operator.
        op: &'static str,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { message } => write!(f, "the plan is not well formed: {message}"),
            Self::Version { found } => write!(f, "the plan has version {found}; this rote runs version 1"),
            Self::TooLarge { what, limit } => write!(f, "the plan has too many {what}: at most {limit} are allowed"),
            Self::Name { name } => {
                write!(
                    f,
                    "`{name}` is not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, and start with a letter or `_`"
                )
            }
            Self::Variable { by, name } => {
                write!(f, "`{by}` binds `{name}`, which is not a variable of jq: use letters, digits and `_`")
            }
            Self::DuplicateStep { step } => write!(f, "the plan has two steps `{step}`"),
            Self::UnknownStep { by, step } => write!(f, "`{by}` refers to step `{step}`, which does not exist"),
            Self::UnknownParameter { by, parameter } => {
                write!(f, "`{by}` refers to parameter `{parameter}`, which is not declared")
            }
            Self::Cycle { steps } => write!(f, "steps wait for each other: `{}`", steps.join("`, `")),
            Self::Arguments { step } => write!(f, "the arguments of step `{step}` are not an object"),
            Self::Item { by, used } => write!(f, "`{by}` uses `{used}`, but only arguments of a `for_each` step may"),
            Self::ForEach { step } => write!(f, "the `for_each` of step `{step}` is not an array"),
            Self::Concurrency { step } => write!(
                f,
                "step `{step}` has a wrong `max_concurrency`: it is 1 to {MAX_CONCURRENCY} and goes with `for_each`"
            ),
            Self::Until { step } => write!(
                f,
                "step `{step}` has a wrong `until`: it has `jq`, `pause` (1 to {MAX_PAUSE} milliseconds) and `most` (2 to {MAX_READS} calls), and goes without `pages`"
            ),
            Self::Pages { step } => {
                write!(
                    f,
                    "step `{step}` has wrong `pages`: they have two programs, count by 1 or more for an argument, and go without `for_each`"
                )
            }
            Self::Comparison { step, op: "exists" } => write!(f, "`exists` in step `{step}` takes no right side"),
            Self::Comparison { step, op } => write!(f, "`{op}` in step `{step}` lacks its right side"),
        }
    }
}

impl std::error::Error for PlanError {}

/// Why a run ended without a result. `E` is the host's error.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The parameters do not fit the plan. The caller is to blame.
    Parameters {
        /// Required ones that were not given.
        missing: Vec<String>,
        /// Given ones that the plan does not have.
        unknown: Vec<String>,
    },
    /// A step's call failed. What blame and retry mean is in the host's error.
    Step {
        /// The step, of a `for_each` or `pages` step with the position: `s2[3]`.
        step: String,
        /// The host's error.
        source: E,
    },
    /// A value that a step or the result needs is not in the response that should have it.
    Reference {
        /// Who needs it, a step's id or `result`.
        by: String,
        /// What is missing.
        message: String,
    },
    /// A value is there but cannot be used: a `for_each` that is not an array, sides that cannot be compared.
    Value {
        /// Who needs it, a step's id.
        by: String,
        /// What is wrong with it.
        message: String,
    },
    /// What a step waits for was not so in any of its answers.
    Never {
        /// The step, of a `for_each` step with the position: `s2[3]`.
        step: String,
        /// The program that asks for it.
        jq: String,
        /// How many calls were made.
        calls: usize,
        /// The program that says of the last one that it will never be so; none where it was one too many.
        because: Option<String>,
    },
    /// The result needs a step that did not complete.
    Missing {
        /// Who needs it: `result`.
        by: String,
        /// The step.
        step: String,
        /// How that step ended.
        status: Status,
        /// The failure that it goes back to; none when a condition was false.
        cause: Option<Box<RunError<E>>>,
    },
    /// The host answered with something that it must not, such as a task that was never started.
    Protocol {
        /// What it did.
        message: String,
    },
    /// Waiting itself failed.
    Host {
        /// The host's error.
        source: E,
    },
}

impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameters { missing, unknown } => {
                f.write_str("the parameters do not fit")?;
                if !missing.is_empty() {
                    write!(f, "; missing: `{}`", missing.join("`, `"))?;
                }
                if !unknown.is_empty() {
                    write!(f, "; unknown: `{}`", unknown.join("`, `"))?;
                }
                Ok(())
            }
            Self::Step { step, source } => write!(f, "step `{step}` failed: {source}"),
            Self::Reference { by, message } => write!(f, "`{by}` needs a value that is not there: {message}"),
            Self::Value { by, message } => write!(f, "`{by}` cannot use a value: {message}"),
            Self::Never { step, jq, calls, because } => {
                let calls = if *calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
                write!(f, "step `{step}` waited in vain: `{jq}` was not so in {calls}")?;
                because.as_ref().map_or(Ok(()), |never| write!(f, ", and `{never}` says that it will not be"))
            }
            Self::Missing { by, step, status, .. } => {
                write!(f, "`{by}` needs step `{step}`, which is {status}; only a `$default` does without")
            }
            Self::Protocol { message } => write!(f, "the host broke the protocol: {message}"),
            Self::Host { source } => write!(f, "waiting for a step failed: {source}"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for RunError<E> {}
