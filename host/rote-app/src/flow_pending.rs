//! Flows that somebody wants to make later.

use rote_flow::PendingFlow;
use rote_types::ErrorKind;

use crate::{AppError, Session};

impl Session {
    /// Writes a stub of a flow into its workspace.
    ///
    /// # Errors
    /// `NotFound` when there is no such workspace; Denied when a value of the vault stands in the stub.
    pub fn pending_write(&self, stub: &PendingFlow) -> Result<(), AppError> {
        let text = serde_json::to_value(stub).map_err(|error| AppError::new(ErrorKind::General, error.to_string()))?;
        self.host.redaction()?.refuse(&format!("the wish for `{}`", stub.name), &text)?;
        self.host.library()?.write_pending(stub)?;
        Ok(())
    }
}
