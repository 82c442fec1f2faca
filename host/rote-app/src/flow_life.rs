//! Blessings given and taken back, and flows removed with theirs: each is an event of the journal.

use rote_flow::{Blessed, BlessingOffer, Removal};
use rote_types::FlowName;
use serde_json::json;

use crate::change::{Change, Consent};
use crate::{AppError, Session};

impl Session {
    /// Allows a flow what was shown.
    ///
    /// # Errors
    /// Conflict when the flow, a flow that it runs or an adapter changed since.
    pub fn bless(&self, shown: &BlessingOffer, consent: Consent) -> Result<Blessed, AppError> {
        let blessings = self.host.blessings()?;
        let blessed = blessings.sign_blessing(shown)?;
        let permissions = &blessed.permissions;
        let object = json!({
            "flow": permissions.flow,
            "blessing": permissions.id(),
            "sha256": permissions.source_sha256,
            "tools": permissions.tools.len(),
            "permits": permissions.tools,
            "lasts_seconds": permissions.expires_at.map(|at| at.duration_since(permissions.blessed_at).as_secs()),
            "expires_at": permissions.expires_at,
        });
        self.change(Change::FlowBlessed, consent, object, || Ok(blessings.keep_blessing(&blessed)?))?;
        Ok(blessed)
    }

    /// Takes a blessing back; false when there was none.
    ///
    /// # Errors
    /// General when the file cannot be removed.
    pub fn unbless(&self, flow: &FlowName, consent: Consent) -> Result<bool, AppError> {
        let blessings = self.host.blessings()?;
        if !blessings.has_blessing(flow)? {
            return Ok(false);
        }
        self.change(Change::FlowUnblessed, consent, json!({ "flow": flow }), || Ok(blessings.unbless(flow)?))?;
        Ok(true)
    }

    /// Removes a flow, and its blessing with it.
    ///
    /// # Errors
    /// As looking at it; Conflict when it changed since it was looked at.
    pub fn remove_flow(&self, removal: &Removal, force: bool, consent: Consent) -> Result<(), AppError> {
        let blessings = self.host.blessings()?;
        let object = json!({ "flow": removal.flow, "sha256": removal.sha256, "blessed": removal.blessed });
        self.change(Change::FlowRemoved, consent, object, || Ok(blessings.remove(removal, force)?))
    }
}
