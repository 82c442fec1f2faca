//! The life of a flow after it was made: blessed, run, counted.

use std::collections::BTreeMap;
use std::time::Duration;

use rote_flow::{BlessRequest, Blessed, BlessingOffer, FlowStats, Removal, RunEnd};
use rote_govern::Constraint;
use rote_types::ErrorKind;
use serde_json::json;

use crate::change::{Change, Consent};
use crate::error::name;
use crate::{App, AppError};

/// A wish to bless a flow.
#[derive(Debug, Clone)]
pub struct Bless {
    /// The flow.
    pub flow: String,
    /// Most calls of each tool in one run.
    pub max_calls: Option<u32>,
    /// Bounds on arguments as JSON: `{"adapter/tool": {"argument": {"enum": […]}}}`.
    pub constraints: Option<String>,
    /// How long it holds; for ever, when absent.
    pub lifetime: Option<Duration>,
}

impl App {
    /// Returns what a blessing would allow a flow, as it is: to make its writes without a token each.
    ///
    /// # Errors
    /// Conflict when it writes nothing; Usage for constraints that do not fit.
    pub fn flow_blessing(&self, wish: Bless) -> Result<BlessingOffer, AppError> {
        let constraints: BTreeMap<String, BTreeMap<String, Constraint>> = match &wish.constraints {
            None => BTreeMap::new(),
            Some(text) => serde_json::from_str(text).map_err(|error| {
                AppError::new(ErrorKind::Usage, format!("the constraints do not fit: {error}"))
                    .with_hint("--constrain '{\"adapter/tool\": {\"argument\": {\"enum\": [\"a\"]}}}'")
            })?,
        };
        let request = BlessRequest {
            flow: name(&wish.flow)?,
            max_calls: wish.max_calls,
            constraints,
            lifetime: wish.lifetime,
            by: self.user().to_owned(),
        };
        Ok(self.blessings()?.offer_blessing(request)?)
    }

    /// Allows a flow what was shown.
    ///
    /// # Errors
    /// Conflict when the flow, a flow that it runs or an adapter changed since.
    pub fn bless(&self, shown: &BlessingOffer, consent: Consent) -> Result<Blessed, AppError> {
        let blessings = self.blessings()?;
        let blessed = blessings.sign_blessing(shown)?;
        let permissions = &blessed.permissions;
        let object = json!({
            "flow": permissions.flow,
            "blessing": permissions.id(),
            "sha256": permissions.source_sha256,
            "tools": permissions.tools.len(),
            "expires_at": permissions.expires_at,
        });
        self.change(Change::FlowBlessed, consent, object, || Ok(blessings.keep_blessing(&blessed)?))?;
        Ok(blessed)
    }

    /// Takes a blessing back; false when there was none.
    ///
    /// # Errors
    /// General when the file cannot be removed.
    pub fn unbless(&self, flow: &str, consent: Consent) -> Result<bool, AppError> {
        let (blessings, flow) = (self.blessings()?, name(flow)?);
        if !blessings.has_blessing(&flow)? {
            return Ok(false);
        }
        self.change(Change::FlowUnblessed, consent, json!({ "flow": flow }), || Ok(blessings.unbless(&flow)?))?;
        Ok(true)
    }

    /// Says what removing a flow would remove; a released one may be with `force`.
    ///
    /// # Errors
    /// `NotFound` when there is no such flow, Conflict when it is released.
    pub fn flow_removal(&self, flow: &str, force: bool) -> Result<Removal, AppError> {
        Ok(self.blessings()?.removal(&name(flow)?, force)?)
    }

    /// Removes a flow, and its blessing with it.
    ///
    /// # Errors
    /// As [`App::flow_removal`]; Conflict when it changed since it was looked at.
    pub fn remove_flow(&self, removal: &Removal, force: bool, consent: Consent) -> Result<(), AppError> {
        let blessings = self.blessings()?;
        let object = json!({ "flow": removal.flow, "sha256": removal.sha256, "blessed": removal.blessed });
        self.change(Change::FlowRemoved, consent, object, || Ok(blessings.remove(removal, force)?))
    }

    /// Returns what the runs of a flow were like, or of all flows.
    ///
    /// # Errors
    /// General when the database cannot be read.
    pub fn flow_stats(&self, flow: Option<&str>) -> Result<Vec<FlowStats>, AppError> {
        let analytics = self.analytics()?;
        Ok(match flow {
            Some(flow) => vec![analytics.stats(&name(flow)?)?],
            None => analytics.all_stats()?,
        })
    }

    /// Writes down a run that was made elsewhere.
    ///
    /// # Errors
    /// `NotFound` when there is no such flow.
    pub fn record_invocation(&self, flow: &str, error: Option<&str>, duration_ms: u64) -> Result<(), AppError> {
        let end = error.map_or(RunEnd::Completed, RunEnd::Stopped);
        Ok(self.analytics()?.record_invocation(&name(flow)?, None, end, duration_ms)?)
    }
}
