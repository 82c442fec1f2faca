//! Crystallize: a recorded workspace in, a pinned and replayed `flow.wasm` out.
//!
//! The order of work: read the log, select the calls that matter, turn their arguments into expressions over
//! earlier steps and parameters, pin the adapters, replay the emitted component against the recorded responses,
//! and only then write the file. What was left out and why, and what could become a parameter, is in the report;
//! nothing is decided silently.

mod arguments;
mod companions;
mod keys;
mod literals;
mod parameters;
mod pins;
pub(crate) mod proposals;
mod replay;
mod report;
pub(crate) mod secret;
mod select;
mod steps;
mod suggest;

use std::sync::Arc;

use rote_gate::Redaction;
use rote_home::Journal;
use rote_plan::Plan;
use rote_types::{FlowName, ResponseId, Sha256Digest, WorkspaceName};
use rote_workspace::{Workspace, schema_of};
use serde::Serialize;
use serde_json::json;

pub use parameters::ParamSpec;
pub use report::{Dropped, ParameterReport, Place, Proposal, Report, StepOrigin, Suggestion};

use crate::frontmatter::SCHEMA;
use crate::trace::Trace;
use crate::{FlowError, FlowKind, FlowStatus, Form, Frontmatter, OutputContract, Package, Pins, Provenance, Replayer};
use parameters::Parameters;
use steps::Draft;

/// What to make a flow from.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The recorded workspace.
    pub workspace: WorkspaceName,
    /// The flow's name.
    pub name: FlowName,
    /// What it does; a sentence made from its steps when absent.
    pub description: Option<String>,
    /// Parameters beside those that hand-set variables make.
    pub params: Vec<ParamSpec>,
    /// The result, when it is not the last query or response.
    pub result: Option<ResultSpec>,
    /// Calls to leave out, whatever the rules say.
    pub skip: Vec<ResponseId>,
    /// The model that explored, for the provenance.
    pub model: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Replaces an existing draft.
    pub force: bool,
}

/// A chosen result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultSpec {
    /// The response.
    pub response: ResponseId,
    /// The jq program on it.
    pub jq: String,
}

/// A flow that was made and written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crystallized {
    /// What it says of itself.
    pub frontmatter: Frontmatter,
    /// Its plan.
    pub plan: Plan,
    /// The file.
    pub path: std::path::PathBuf,
    /// Its size in bytes.
    pub bytes: usize,
    /// Digest of the whole file.
    pub sha256: Sha256Digest,
    /// What lies beside it: editable sources and a recording to replay.
    pub companions: Vec<std::path::PathBuf>,
    /// What was kept, left out, proposed and replayed.
    pub report: Report,
}

/// Makes flows from recorded workspaces.
#[derive(Clone)]
pub struct Crystallizer {
    pins: Pins,
    replayer: Replayer,
    journal: Arc<Journal>,
}

impl Crystallizer {
    /// Makes it; the journal says which of the recorded writes were confirmed.
    #[must_use]
    pub fn new(pins: Pins, replayer: Replayer, journal: Arc<Journal>) -> Self {
        Self { pins, replayer, journal }
    }

    fn redaction(&self) -> &Redaction {
        self.replayer.runtime.redaction()
    }

    /// Makes a flow from a workspace, replays it, and writes it as a draft.
    ///
    /// # Errors
    /// A refusal that names what stands in the way ([`FlowError::NothingToCrystallize`], `InDoubt`,
    /// `UnusableResponse`, `Secret`, `ParamSpec`, `AdapterChanged`), a replay that does not reproduce the recorded
    /// result (`ReplayStale`, `ReplayDiffers`, `ReplayFailed`), or [`FlowError::Exists`]. Nothing is written then.
    pub async fn crystallize(&self, request: &Request) -> Result<Crystallized, FlowError> {
        self.pins.library.check_free(&request.name, request.force)?;
        let workspace = Workspace::open(&self.pins.library.home, &request.workspace)?;
        let mut trace = Trace::read(&workspace)?;
        let mut report = Report::default();
        keys::leave_out(&mut trace, &*self.pins.surface, &mut report)?;
        let engine = self.replayer.runtime.query_engine();
        let sources = arguments::Sources { workspace: &workspace, trace: &trace, engine: &*engine };
        let selection = select::select(&sources, request, &*self.pins.surface, &mut report)?;
        let mut parameters = Parameters::default();
        let mut draft = Draft::build(&sources, &selection, &mut parameters)?;
        parameters.apply(&request.params, &mut draft, &mut report)?;
        secret::refuse_secrets(&trace, &draft, self.redaction())?;
        keys::refuse_literals(&trace, &draft)?;
        parameters.describe(&draft, &trace, &*self.pins.surface, &mut report)?;
        suggest::suggest(&sources, &draft, &mut report)?;
        let plan = draft.plan(&parameters);
        let recorded = sources.result(&selection)?;
        let pins = pins::Pins::collect(&self.journal, &*self.pins.surface, &trace, &draft, &workspace)?;
        let frontmatter = Frontmatter {
            schema: SCHEMA,
            name: request.name.clone(),
            description: request.description.clone().unwrap_or_else(|| draft.description(&trace)),
            version: "0.1.0".to_owned(),
            status: FlowStatus::Draft,
            kind: FlowKind::Atomic,
            form: Form::Plan,
            parameters: parameters.schema(),
            adapters: pins.adapters,
            credentials: pins.credentials,
            write_permissions: pins.write_permissions,
            output: OutputContract { format: "json".to_owned(), schema: schema_of(&recorded) },
            baseline: trace.baseline(&workspace)?,
            provenance: Provenance {
                workspace: Some(request.workspace.clone()),
                commands: draft.commands(&trace),
                created_at: Some(self.replayer.clock.now()),
                rote_version: env!("CARGO_PKG_VERSION").to_owned(),
                model: request.model.clone(),
                forked_from: None,
            },
            tags: request.tags.clone(),
            flows: std::collections::BTreeMap::new(),
        };
        let package = Package::of_plan(frontmatter, plan.clone())?;
        let (replayed, recording) =
            self.replay_workspace(&package, &sources, &selection, &parameters, &recorded).await?;
        report.replayed_calls = replayed;
        let path = self.pins.library.write_draft(&request.name, &package, request.force, self.redaction())?;
        let written = self.write_companions(&package, &recording)?;
        Ok(Crystallized {
            companions: written,
            path,
            bytes: package.bytes().len(),
            sha256: package.digest(),
            frontmatter: package.frontmatter,
            plan,
            report,
        })
    }
}

/// The JSON Schema of an object with these properties.
fn object_schema(properties: serde_json::Map<String, serde_json::Value>, required: &[String]) -> serde_json::Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests;
