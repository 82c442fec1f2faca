//! What differs between the adapters that a flow pins and those that are installed: plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rote_gate::Change;
use rote_types::{AdapterId, Fingerprint};
use serde::Serialize;

/// Whether a pinned tool still takes what the flow sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compatibility {
    /// It is the pinned one.
    Identical,
    /// It changed, and what the flow sends still fits.
    Compatible,
    /// It is gone, or what the flow sends may not fit any more.
    Breaking,
}

impl Compatibility {
    /// Returns its name, as machine output has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Compatible => "compatible",
            Self::Breaking => "breaking",
        }
    }
}

/// What became of one pinned tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolChange {
    pub tool: String,
    /// Whether this flow can go on using it.
    pub verdict: Compatibility,
    /// What changed, in words.
    pub changes: Vec<String>,
}

impl fmt::Display for ToolChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tool, self.verdict.as_str())?;
        if self.changes.is_empty() { Ok(()) } else { write!(f, " ({})", self.changes.join("; ")) }
    }
}

/// One adapter that is not the pinned one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drift {
    pub adapter: AdapterId,
    /// The pinned surface.
    pub expected: Fingerprint,
    /// The installed surface.
    pub installed: Fingerprint,
    /// Where the flow's requests would go, when that is not where they went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Change<BTreeSet<String>>>,
    /// The vault entries that would be sent in place of the pinned ones, by slot.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub credentials: BTreeMap<String, Change<Option<String>>>,
    /// What became of each tool that the flow uses.
    pub tools: Vec<ToolChange>,
    /// Whether the gate refuses a call of the flow; what differs otherwise is nothing that the flow uses.
    #[serde(skip)]
    pub(crate) stops: bool,
}

impl Drift {
    /// Returns the tools that may not take any more what the flow sends.
    pub(crate) fn breaking(&self) -> impl Iterator<Item = &ToolChange> {
        self.tools.iter().filter(|tool| tool.verdict == Compatibility::Breaking)
    }

    /// Says of each credential which vault entry was pinned and which is there, by their names.
    pub fn credential_lines(&self) -> impl Iterator<Item = String> {
        let line = |(slot, change): (&String, &Change<Option<String>>)| {
            let name = |entry: &Option<String>| entry.as_ref().map(|entry| format!("`{entry}`"));
            let was = name(&change.expected).map_or("no vault entry".to_owned(), |name| format!("vault entry {name}"));
            let now = name(&change.installed).unwrap_or_else(|| "none".to_owned());
            format!("credential `{slot}`: {was} is now {now}")
        };
        self.credentials.iter().map(line)
    }
}
