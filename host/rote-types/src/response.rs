//! What travels between layers when a tool is called.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AdapterId, ResponseId};

/// A wish to call a tool, as a person, a script or a guest wrote it. Nothing in it has been checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The adapter.
    pub adapter: AdapterId,
    /// The tool's name in that adapter.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Value,
}

/// A recorded response, small enough to hand to a guest; the body stays with the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRef {
    /// Its number in the workspace.
    pub id: ResponseId,
    /// HTTP status, 100–599.
    pub status: u16,
    /// Media type without parameters, empty when the remote gave none.
    pub content_type: String,
    /// Size of the decoded body in bytes.
    pub bytes: u64,
}
