//! Flows: frontmatter, package, crystallize, replay check, preflight, run.
//!
//! Invariants: a flow is one file, `flow.wasm`, and every change of a byte in it is noticed before anything in it
//! is believed; a crystallized flow is written only after it reproduced the recorded result from the recorded
//! responses; a run starts only when every pinned adapter is the installed one; each call of a run goes through
//! the gate like any other, and no write goes out that the frontmatter does not name. This crate decides nothing
//! about a call and performs none: that is the gate's.

mod analytics;
mod author;
mod bless;
mod contract;
mod crystallize;
mod derive;
mod emit;
mod error;
mod evidence;
mod frontmatter;
mod health;
mod infer;
mod library;
mod lint;
mod package;
mod parameter;
mod pending;
mod pinned;
mod recording;
mod release;
mod remove;
mod repin;
mod replay;
mod run;
mod score;
mod search;
mod surface;
mod template;
mod testing;
#[cfg(test)]
mod tests;
mod usage;
mod validate;

pub use analytics::{FlowStats, RunEnd, RunRow, TrackRecord};
pub use author::{BuildRequest, BuildSource, Built, NewProject, ProjectLanguage, SourceAdapter, SourceHeader};
pub use bless::{BlessRequest, Blessed, BlessingInfo, BlessingOffer};
pub use crystallize::{
    Crystallized, Dropped, ParamSpec, ParameterReport, Place, Proposal, Report, Request, ResultSpec, StepOrigin,
    Suggestion,
};
pub use derive::{Derived, VersionPart};
pub use emit::Exported;
pub use error::{Drift, FlowError, ParameterProblem, Stale};
pub use frontmatter::{
    AdapterPin, Baseline, CredentialSlot, FlowKind, FlowPin, FlowStatus, Form, Frontmatter, OutputContract, Provenance,
    ToolPin, WriteMode, WritePermission,
};
pub use health::{AdapterHealth, FlowHealth, HealthProblem};
pub use infer::{InferContext, InferSource, Inference, InferredParameter};
pub use library::{FlowEntry, FlowInfo, FlowReference, Flows, FlowsParts};
pub use lint::{Finding, Fix, LINT_CODES, LintOptions, LintReport, Position, Severity};
pub use package::{Content, DIGEST_SECTION, MAX_FLOW_BYTES, Package, SOURCE_MAP_SECTION};
pub use parameter::ParameterInput;
pub use pending::PendingFlow;
pub use pinned::{Allowed, FlowWrite, PinnedFlow, write_lines};
pub use recording::{ExchangeOutcome, ExpectedOutput, RecordedBody, RecordedExchange, RunRecording};
pub use release::Released;
pub use remove::Removal;
pub use repin::{Repin, RepinPlan, Repinned};
pub use run::{
    AdapterTools, DryRun, DryRunCall, LatestRun, RunContext, RunReport, RunRequest, RunStatus, StepReport, ToolSource,
    stopped_after_writing, unknown_writes,
};
pub use score::{Dimension, FlowScore, RUBRIC};
pub use search::{
    Callability, CallableState, Endpoint, EndpointState, Explanation, FlowDocument, FlowIndex, IndexReport,
    ParameterLine, Question, Ranked, Ranking, Scope, SearchHit, SearchRequest, SearchResults, Stamp, Unreadable,
};
pub use surface::{Elsewhere, Surface, ToolChange};
pub use testing::{ReplayReport, ReplayRequest};
pub use validate::{FRONTMATTER_SCHEMA, FormatCheck, Validated};
