//! Pins of flows against what is installed, shown and renewed.

use rote_flow::{FlowReference, Repin, Repinned};
use rote_types::ErrorKind;

use crate::change::{Change, Consent};
use crate::{AppError, Session};

impl Session {
    /// Says what repinning a flow would change; writes nothing.
    ///
    /// # Errors
    /// `NotFound` for a flow or an adapter that is not there, Usage for a path: only an installed flow is repinned.
    pub fn flow_repin_preview(&self, flow: &str) -> Result<Repin, AppError> {
        match self.flow(flow)? {
            FlowReference::Name(name) => Ok(self.host.pins()?.repin_preview(&name)?),
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
        let pins = self.host.pins()?;
        let plan = pins.plan_repin(shown, accept_breaking)?;
        self.change(Change::FlowRepinned, consent, plan.object(), || Ok(pins.repin(plan)?))
    }
}
