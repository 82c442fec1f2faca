//! Flows: frontmatter, package, crystallize, replay check, preflight, run.
//!
//! Invariants: a flow is one file, `flow.wasm`, and every change of a byte in it is noticed before anything in it
//! is believed; a crystallized flow is written only after it reproduced the recorded result from the recorded
//! responses; a run starts only when every pinned adapter is the installed one; each call of a run goes through
//! the gate like any other, and no write goes out that the frontmatter does not name. This crate decides nothing
//! about a call and performs none: that is the gate's.

mod crystallize;
mod error;
mod frontmatter;
mod library;
mod package;
mod parameter;
mod run;
mod surface;
#[cfg(test)]
mod tests;

pub use crystallize::{
    Crystallized, Dropped, ParamSpec, ParameterReport, Place, Proposal, Report, Request, ResultSpec, StepOrigin,
    Suggestion,
};
pub use error::{Drift, FlowError, ParameterProblem, Stale};
pub use frontmatter::{
    AdapterPin, Baseline, CredentialSlot, FlowKind, FlowStatus, Form, Frontmatter, OutputContract, Provenance, ToolPin,
    WriteMode, WritePermission,
};
pub use library::{FlowEntry, FlowInfo, FlowReference, Flows, FlowsParts};
pub use package::{DIGEST_SECTION, MAX_FLOW_BYTES, Package};
pub use parameter::ParameterInput;
pub use run::{AdapterTools, DryRun, DryRunCall, RunContext, RunReport, RunRequest, StepReport, ToolSource};
pub use surface::{Surface, ToolChange};
