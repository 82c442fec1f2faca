//! What differs between the adapters that a flow pins and those that are installed: plain data.

use std::collections::BTreeSet;
use std::fmt;

use rote_types::{AdapterId, Fingerprint};
use serde::Serialize;

/// What became of one pinned tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolChange {
    /// The tool.
    pub tool: String,
    /// `identical`, `compatible` or `breaking`, for this flow.
    pub verdict: &'static str,
    /// What changed, in words.
    pub changes: Vec<String>,
}

impl fmt::Display for ToolChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tool, self.verdict)?;
        if self.changes.is_empty() { Ok(()) } else { write!(f, " ({})", self.changes.join("; ")) }
    }
}

/// Where a flow was made to send its requests, and where they would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// The pinned origins.
    pub expected: BTreeSet<String>,
    /// The origins of the same tools as installed.
    pub installed: BTreeSet<String>,
}

/// One adapter that is not the pinned one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// The adapter.
    pub adapter: AdapterId,
    /// The pinned surface.
    pub expected: Fingerprint,
    /// The installed surface.
    pub installed: Fingerprint,
    /// Where the flow's requests would go, when that is not where they went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// What became of each tool that the flow uses.
    pub tools: Vec<ToolChange>,
}
