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
mod request;
pub(crate) mod secret;
mod select;
mod steps;
mod suggest;
mod variables;

use std::sync::Arc;

use rote_gate::Redaction;
use rote_home::Journal;
use rote_plan::Plan;
use rote_types::Sha256Digest;
use rote_workspace::{Workspace, schema_of};
use serde::Serialize;

pub use report::{Dropped, ParameterReport, Place, Proposal, Report, StepOrigin, Suggestion};
pub use request::{CrystallizeRequest, ParamSpec, ResultSpec};

use crate::frontmatter::SCHEMA;
use crate::trace::Trace;
use crate::{FlowError, FlowKind, FlowStatus, Form, Frontmatter, OutputContract, Package, Pins, Provenance, Replayer};
use parameters::Parameters;
use steps::Draft;

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
    /// A refusal that names what stands in the way ([`CrystallizeError::NothingToCrystallize`](crate::CrystallizeError::NothingToCrystallize), `InDoubt`,
    /// `UnusableResponse`, `Secret`, `ParamSpec`, `AdapterChanged`), a replay that does not reproduce the recorded
    /// result ([`ReplayError`](crate::error::ReplayError)), or [`LibraryError::Exists`](crate::LibraryError::Exists). Nothing is written then.
    pub async fn crystallize(&self, request: &CrystallizeRequest) -> Result<Crystallized, FlowError> {
        self.pins.library.check_free(&request.name, request.force)?;
        let workspace = Workspace::open(&self.pins.library.home, &request.workspace)?;
        let mut trace = Trace::read(&workspace)?;
        let mut report = Report::default();
        keys::leave_out(&mut trace, &*self.pins.surface, &mut report)?;
        let engine = self.replayer.runtime.query_engine();
        let sources = arguments::Sources { workspace: &workspace, trace: &trace, engine: &*engine };
        let selection = select::select(&sources, request, &*self.pins.surface, &mut report)?;
        let (mut draft, variables) = Draft::build(&sources, &selection)?;
        let mut parameters = Parameters::of(variables);
        parameters.apply(&request.params, &mut draft, &mut report)?;
        secret::refuse_secrets(&trace, &draft, self.redaction())?;
        keys::refuse_literals(&trace, &draft)?;
        parameters.describe(&draft, &trace, &*self.pins.surface, &mut report)?;
        suggest::suggest(&sources, &draft, &mut report)?;
        let plan = draft.plan(parameters.declarations());
        let recorded = sources.result(trace.calls[selection.result_call].response, &selection.result_jq)?;
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
            replay::replay(&self.replayer, &package, &sources, &selection, &parameters, &recorded).await?;
        report.replayed_calls = replayed;
        let path = self.pins.library.write_draft(&request.name, &package, request.force, self.redaction())?;
        let written = companions::write(&self.pins.library, self.redaction(), &package, &recording)?;
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

#[cfg(test)]
mod tests;
