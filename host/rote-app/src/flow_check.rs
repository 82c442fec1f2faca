//! Flows looked at: format, lint, score, health, and their pins against what is installed.

use std::path::PathBuf;

use rote_flow::{
    FRONTMATTER_SCHEMA, FlowHealth, FlowReference, FlowScore, LintOptions, LintReport, Repin, Repinned, Validated,
};
use rote_types::ErrorKind;
use serde_json::Value;

use crate::change::{Change, Consent};
use crate::{App, AppError};

/// A wish to lint a flow.
#[derive(Debug, Clone)]
pub struct Lint {
    /// Its name, or a path to its file.
    pub flow: String,
    /// A recording to replay, instead of what belongs to the flow.
    pub replay: Option<PathBuf>,
    /// Leave the replay out.
    pub skip_runtime: bool,
}

impl App {
    /// Checks the format of a flow's file.
    ///
    /// # Errors
    /// `NotFound` when there is none, Conflict or Denied with the first check that does not hold.
    pub fn flow_validate(&self, flow: &str) -> Result<Validated, AppError> {
        Ok(self.linter()?.validate(&self.flow_reference(flow)?)?)
    }

    /// Looks for what is wrong with a flow or could be better.
    ///
    /// # Errors
    /// `NotFound` when there is no such flow or recording. What is wrong with the flow is in the report.
    pub async fn flow_lint(&self, wish: Lint) -> Result<LintReport, AppError> {
        let options = LintOptions {
            path: None,
            replay: wish.replay.map(|path| self.absolute(&path)),
            skip_runtime: wish.skip_runtime,
        };
        Ok(self.linter()?.lint_reference(&self.flow_reference(&wish.flow)?, options).await?)
    }

    /// Scores a flow from 0 to 100.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn flow_score(&self, flow: &str) -> Result<FlowScore, AppError> {
        Ok(self.linter()?.score(&self.flow_reference(flow)?)?)
    }

    /// Says how one flow stands.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn flow_health(&self, flow: &str) -> Result<FlowHealth, AppError> {
        Ok(self.doctor()?.health(&self.flow_reference(flow)?)?)
    }

    /// Says how every flow stands.
    ///
    /// # Errors
    /// General when the home cannot be read.
    pub fn flow_doctor(&self) -> Result<Vec<FlowHealth>, AppError> {
        Ok(self.doctor()?.all()?)
    }

    /// Says what repinning a flow would change; writes nothing.
    ///
    /// # Errors
    /// `NotFound` for a flow or an adapter that is not there, Usage for a path: only an installed flow is repinned.
    pub fn flow_repin_preview(&self, flow: &str) -> Result<Repin, AppError> {
        match self.flow_reference(flow)? {
            FlowReference::Name(name) => Ok(self.pins()?.repin_preview(&name)?),
            FlowReference::Path(_) => {
                let message = "only an installed flow can be repinned, by its name";
                Err(AppError::new(ErrorKind::Usage, message).with_hint("rote flow list"))
            }
        }
    }

    /// Writes a flow with the pins that were shown.
    ///
    /// # Errors
    /// Conflict when a tool is breaking and that was not accepted, or something changed since it was shown.
    pub fn flow_repin(&self, shown: &Repin, accept_breaking: bool, consent: Consent) -> Result<Repinned, AppError> {
        let pins = self.pins()?;
        let plan = pins.plan_repin(shown, accept_breaking)?;
        self.change(Change::FlowRepinned, consent, plan.object(), || Ok(pins.repin(plan)?))
    }

    /// Returns the JSON Schema of the frontmatter, as text and as data.
    ///
    /// # Errors
    /// Never: the file is compiled in and tested.
    pub fn flow_schema(&self) -> Result<(&'static str, Value), AppError> {
        let data = serde_json::from_str(FRONTMATTER_SCHEMA)
            .map_err(|error| AppError::new(ErrorKind::General, format!("the schema is broken: {error}")))?;
        Ok((FRONTMATTER_SCHEMA, data))
    }
}
