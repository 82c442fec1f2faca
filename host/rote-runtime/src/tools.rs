//! The port through which a flow calls tools. `rote-flow` implements it over `rote-adapter`.

use async_trait::async_trait;
use rote_types::{ResponseId, ResponseRef, ToolCall};
use rote_workspace::CommandId;

use crate::RunError;

/// A call that has its response number and is not yet made.
#[derive(Debug, Clone, PartialEq)]
pub struct Reserved {
    /// What to call.
    pub call: ToolCall,
    /// Its place in the command log of the run's workspace.
    pub command: CommandId,
    /// Its response number.
    pub response: ResponseId,
}

/// Calls tools for a flow. Every call goes through the gate like any other.
#[async_trait]
pub trait ToolHost: Send + Sync {
    /// Checks calls and allocates their response numbers, consecutive and in order; all of them or none.
    ///
    /// # Errors
    /// [`RunError`] of the first call that cannot be made: unknown adapter or tool, wrong arguments, a
    /// permission that the flow does not have. Nothing is allocated then.
    fn reserve(&self, calls: &[ToolCall]) -> Result<Vec<Reserved>, RunError>;

    /// Makes a reserved call. Dropping the future cancels it.
    ///
    /// # Errors
    /// What the call ended with; for an answer with an error status it carries the recorded response.
    async fn perform(&self, reserved: Reserved) -> Result<ResponseRef, RunError>;
}
