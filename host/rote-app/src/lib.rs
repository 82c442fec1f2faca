//! Composition root: builds everything once; one method per use case.
//!
//! Invariants: plain data in, plain data out (every outcome serializes); nothing here renders, reads the
//! environment or decides an exit code, so that a command line and a server can share it; nothing is opened
//! before a use case needs it, so that a cheap command stays cheap.

mod adapter;
mod adapter_new;
mod app;
mod audit;
mod call;
mod change;
mod condition;
mod config;
mod doubts;
mod error;
mod flow;
mod flow_author;
mod flow_check;
mod flow_derive;
mod flow_life;
mod flow_search;
mod flows;
mod lazy;
mod parameters;
mod query;
mod system;
mod token;
mod trusted;
mod workspace;

pub use adapter::{AccessCounts, AdapterDetail, AdapterList, CredentialSet, IdempotencyKeys, ToolLine};
pub use adapter_new::{AdapterNew, AdapterPlan};
pub use app::App;
pub use audit::{AuditEvent, Rebuilt, Verified};
pub use call::{BatchError, BatchLine, BatchPlan, Batched, CallDone, CallRequest, Called, Parameter};
pub use change::Consent;
pub use condition::Condition;
pub use config::AppConfig;
pub use doubts::Doubts;
pub use error::AppError;
pub use flow::{Crystallize, FlowRan, RunFlow};
pub use flow_author::{Build, Language};
pub use flow_check::Lint;
pub use flow_derive::Pending;
pub use flow_life::Bless;
pub use flow_search::SearchFlows;
pub use query::{BodyView, Query, ResponseView};
pub use token::TokenStored;
pub use trusted::TRUST;
pub use workspace::{Clean, Cleaned, Initialised, Listing, Where, WorkspaceOrigin};

// Plain data of the layers below that outcomes are made of.
pub use rote_adapter::{AdapterEntry, AdapterLine, AdapterProblem, BatchItem, Hit, InstallReport, References};
pub use rote_flow::{
    Blessed, BlessingInfo, BlessingOffer, Built, Crystallized, Derived, DryRun, Exported, FlowEntry, FlowInfo,
    FlowStats, FlowWrite, Form, Frontmatter, LatestRun, PendingFlow, PinnedFlow, ReplayReport,
    Report as CrystallizeReport, RunReport, VersionPart, write_lines,
};
pub use rote_flow::{
    CallableState, EndpointState, IndexReport, Inference, InferredParameter, Released, SearchHit, SearchResults,
};
pub use rote_flow::{Drift, Finding, FlowHealth, FlowScore, LintReport, Repin, Repinned, Severity, Validated};
pub use rote_gate::{Doubt, OpenTask, Preview};
pub use rote_govern::reach::{Destination, Standing};
pub use rote_home::{Restarted, keep_private};
pub use rote_runtime::{NoObserver, Observer, RunError, StepState};
pub use rote_types::{AuthKind, Authentication, ResponseRef, ToolCall};
pub use rote_vault::{Binding, TokenInfo, TokenPlace, TokenSource};
pub use rote_workspace::{
    Change, ChangeKind, Cleaning, Comparison, JsonType, Kept, KeptFor, Overview, QueryResult, ResponseState,
    ResponseSummary, Settlement, Variable, WorkspaceList, WorkspaceProblem, WorkspaceStats, WorkspaceSummary,
};
