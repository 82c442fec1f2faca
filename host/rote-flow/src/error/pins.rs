//! What a flow pins, held against what is installed.

use rote_types::{AdapterId, ErrorKind, FlowName, command};
use serde_json::json;

use super::text::{breaking_text, mismatch_text, names};
use super::told::{Told, classified, install, of_flow};
use crate::drift::Drift;

/// Adapters that are not those that a flow was made for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// Adapters that the flow needs are not installed.
    #[error("flow `{flow}` needs adapters that are not installed: {}", names(.missing))]
    MissingAdapters {
        flow: FlowName,
        /// The adapters.
        missing: Vec<AdapterId>,
        /// Where the first one's document came from.
        origin: Option<String>,
    },
    /// Installed adapters are not the pinned ones. Nothing was sent.
    #[error("{}", mismatch_text(.drifts))]
    FingerprintMismatch {
        flow: FlowName,
        /// What differs, per adapter.
        drifts: Vec<Drift>,
    },
    /// An adapter changed so that the flow may no longer work.
    #[error("repinning flow `{flow}` may break it: {}", breaking_text(.drifts))]
    RepinBreaking {
        flow: FlowName,
        /// What changed.
        drifts: Vec<Drift>,
    },
    /// A tool that the flow uses is not there to be pinned.
    #[error("flow `{flow}` cannot be repinned: `{adapter}` has no tool `{tool}` any more")]
    ToolGone { flow: FlowName, adapter: AdapterId, tool: String },
    /// What a person agreed to is not what is there now.
    #[error("flow `{flow}` or an adapter of it changed meanwhile")]
    RepinStale { flow: FlowName },
}

classified!(PinError);

impl PinError {
    pub(super) fn told(&self) -> Told {
        match self {
            Self::MissingAdapters { flow, missing, origin } => {
                let install = missing.first().map(|id| install(id, origin.as_deref()));
                let details = json!({ "flow": flow, "adapters": missing });
                Told::new(ErrorKind::NotFound).hint_if(install).details(details)
            }
            Self::FingerprintMismatch { flow, drifts } => Told::new(ErrorKind::FingerprintMismatch)
                .hint(of_flow("rote flow repin", flow))
                .details(json!({ "flow": flow, "adapters": drifts })),
            Self::RepinBreaking { flow, drifts } => Told::new(ErrorKind::Conflict)
                .hint(of_flow("rote flow repin", flow).plain("--accept-breaking"))
                .details(json!({ "flow": flow, "adapters": drifts })),
            Self::ToolGone { adapter, tool, .. } => {
                Told::new(ErrorKind::Conflict).hint(command("rote probe").argument(adapter).argument(tool))
            }
            Self::RepinStale { flow } => Told::new(ErrorKind::Conflict).hint(of_flow("rote flow repin", flow)),
        }
    }
}
