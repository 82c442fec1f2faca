//! The port through which a flow calls tools. `rote-flow` implements it over `rote-adapter`.

use async_trait::async_trait;
use rote_types::{AdapterId, ErrorKind, ResponseId, ResponseRef, ToolCall};
use rote_workspace::CommandId;
use serde_json::Value;

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
    /// [`RunError`] of the first call that cannot be made: unknown adapter or tool, or wrong arguments. Nothing is
    /// allocated then.
    fn reserve(&self, calls: &[ToolCall]) -> Result<Vec<Reserved>, RunError>;

    /// Makes a reserved call. Dropping the future cancels it.
    ///
    /// # Errors
    /// What the call ended with; for an answer with an error status it carries the recorded response.
    async fn perform(&self, reserved: Reserved) -> Result<ResponseRef, RunError>;

    /// Says that no reserved call will be made any more.
    fn release(&self) {}

    /// Ranks the tools of an adapter by intent, best first, each as the guest sees it.
    ///
    /// # Errors
    /// The flow did not declare the adapter, or it is not installed. By default there are no adapters to ask.
    fn probe(&self, adapter: &AdapterId, _intent: &str, _limit: u32) -> Result<Vec<Value>, RunError> {
        Err(nothing("adapter", adapter.as_str()))
    }

    /// Says how an adapter stands: the pinned and the installed fingerprint, and which credentials are there.
    ///
    /// # Errors
    /// As [`ToolHost::probe`].
    fn status(&self, adapter: &AdapterId) -> Result<Value, RunError> {
        Err(nothing("adapter", adapter.as_str()))
    }

    /// Makes what a nested run needs and returns its workspace's name; nothing runs yet.
    ///
    /// # Errors
    /// The flow did not declare the other one, or it cannot run. By default there are no flows to run.
    fn begin_flow(&self, name: &str, _parameters: &Value) -> Result<String, RunError> {
        Err(nothing("flow", name))
    }

    /// Runs a flow in the workspace that [`ToolHost::begin_flow`] named, or goes on with it there.
    ///
    /// # Errors
    /// What the nested run ended with.
    async fn finish_flow(&self, _workspace: &str, name: &str, _parameters: &Value) -> Result<Value, RunError> {
        Err(nothing("flow", name))
    }
}

fn nothing(what: &str, name: &str) -> RunError {
    RunError::plain(ErrorKind::NotFound, format!("there is no {what} `{name}` here"))
}
