//! Why bindings cannot be written.

use rote_types::{Classify, ErrorKind};

/// Bindings that cannot be written. Nothing a schema says leads here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The options name a tool that the adapter does not have. The caller is to blame.
    #[error("adapter `{adapter}` has no tool `{tool}`")]
    UnknownTool {
        adapter: String,
        /// The name.
        tool: String,
    },
    /// The options name a toolset that no tool belongs to. The caller is to blame.
    #[error("adapter `{adapter}` has no toolset `{toolset}`")]
    UnknownToolset {
        adapter: String,
        /// The name.
        toolset: String,
    },
    /// Two tools have the same name. The package is damaged.
    #[error("adapter `{adapter}` has two tools `{tool}`")]
    DuplicateTool {
        adapter: String,
        /// The name.
        tool: String,
    },
    /// The manifest does not have the tool's digest, or not a digest in its place. The package is damaged.
    #[error("the manifest of `{adapter}` has no valid digest for tool `{tool}`")]
    Digest { adapter: String, tool: String },
    /// The manifest's fingerprint does not look like one. The package is damaged.
    #[error("the manifest of `{adapter}` has no valid fingerprint")]
    Fingerprint { adapter: String },
}

impl Classify for BindError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownTool { .. } | Self::UnknownToolset { .. } => ErrorKind::NotFound,
            Self::DuplicateTool { .. } | Self::Digest { .. } | Self::Fingerprint { .. } => ErrorKind::Conflict,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownTool { adapter, tool } => format!("find its name with: rote probe {adapter} \"{tool}\""),
            Self::UnknownToolset { adapter, .. } => format!("see its toolsets with: rote adapter info {adapter}"),
            _ => "install the adapter again: rote adapter new <id> <spec>".to_owned(),
        })
    }
}
