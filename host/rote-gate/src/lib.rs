//! The effect pipeline: every request that leaves rote is admitted, journaled, sent and recorded here.
//!
//! Invariants: this is the only crate that sends HTTP; a request passes every stage in order and a stage can
//! only tighten; nothing is sent before the journal says so; a credential is added after admission and taken
//! out of everything that comes back. The rules themselves are in `rote-govern`, the bytes in `rote-workspace`.

mod audit;
mod credential;
mod departure;
mod doubt;
mod egress;
mod error;
mod fetch;
mod flight;
mod gate;
mod idempotency;
mod invocation;
mod journal;
mod method_override;
mod preview;
mod projection;
mod redaction;
mod request;
mod resolver;
mod stage;
mod tool;

pub use audit::RebuildReport;
pub use credential::{Unbound, UnboundError};
pub use doubt::{Doubt, is_half_said, recover, settle, sift};
pub use error::{Confirmation, GateError, RecordError, UpstreamFailure};
pub use fetch::FetchRule;
pub use gate::{Gate, GateParts};
pub use idempotency::{known_time, may_carry_key};
pub use invocation::{ClaimedRequest, FlowStamp, Invocation, Pin, PolicyState, ToolPermission};
pub use preview::{BodyPreview, CredentialPreview, Preview, StageVerdict};
pub use redaction::{Redaction, SecretError};
pub use resolver::{Environment, Resolve, ResolveError};
pub use tool::{ToolError, ToolRun, run_build_tool};

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests look at files, and damage them, from outside")]
mod tests;
