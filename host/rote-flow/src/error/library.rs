//! The files of the library, and what is kept of them.

use std::path::PathBuf;

use rote_types::{ErrorKind, FlowName, WorkspaceName, command, did_you_mean};
use serde_json::json;

use super::FlowError;
use super::told::{Told, classified, of_flow};

/// A flow that is not there, or is not to be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// No flow of that name is installed.
    #[error("there is no flow `{name}`{}", did_you_mean(nearest))]
    NoFlow {
        /// The name asked for.
        name: String,
        /// Installed names that are close to it.
        nearest: Vec<String>,
    },
    /// No file at that path.
    #[error("there is no flow file `{}`", path.display())]
    NoFile {
        /// The path asked for.
        path: PathBuf,
    },
    /// A flow of that name exists and is not to be replaced.
    #[error("flow `{name}` exists already{}", if *.released { " and is released" } else { "" })]
    Exists {
        name: FlowName,
        /// Whether it is more than a draft.
        released: bool,
    },
    /// The name of a copy is another flow's.
    #[error("there is a flow `{name}` already")]
    NameTaken {
        name: FlowName,
        /// The flow that was to be copied.
        of: FlowName,
    },
    /// A released flow is not removed by the way: others may run it by its digest.
    #[error("flow `{flow}` is released, and other flows may run it")]
    IsReleased { flow: FlowName },
    /// A file cannot be used as a flow.
    #[error("cannot use flow file `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not; it decides kind and hint.
        source: Box<FlowError>,
    },
    /// The file is kept under another name than its own.
    #[error("the flow that is kept as `{kept}` calls itself `{name}`")]
    OtherName {
        /// The folder's name.
        kept: FlowName,
        /// Its own name.
        name: FlowName,
    },
    /// Somebody else replaced the file between two steps.
    #[error("flow `{flow}` was changed by somebody else meanwhile; nothing was written")]
    ChangedMeanwhile { flow: FlowName },
    /// A workspace has no pending stub.
    #[error("workspace `{workspace}` has no pending flow")]
    NotPending { workspace: WorkspaceName },
    /// The search index failed.
    #[error("cannot {action} the search index of flows")]
    Index {
        /// What was being done.
        action: &'static str,
        /// Why.
        source: Box<tantivy::TantivyError>,
    },
    /// The analytics of runs failed.
    #[error("cannot {action} in `flow_analytics.db`")]
    Analytics {
        /// What was being done.
        action: &'static str,
        /// Why.
        source: rusqlite::Error,
    },
}

classified!(LibraryError);

impl LibraryError {
    pub(super) fn told(&self) -> Told {
        match self {
            Self::NoFlow { .. } | Self::NoFile { .. } => Told::new(ErrorKind::NotFound).hint("rote flow list"),
            Self::Exists { released: false, name } => Told::new(ErrorKind::Conflict).hint(
                command("rote flow template create").option("--name", name).plain("--workspace <workspace> --force"),
            ),
            Self::Exists { name, .. } => {
                Told::new(ErrorKind::Conflict).hint(of_flow("rote flow bump", name).plain("--draft"))
            }
            Self::NameTaken { name, of } => Told::new(ErrorKind::Conflict)
                .details(json!({ "name": name }))
                .hint(command("rote flow fork").argument(of).plain("--as <name>")),
            Self::IsReleased { flow } => {
                Told::new(ErrorKind::Conflict).hint(of_flow("rote flow remove", flow).plain("--force"))
            }
            Self::File { source, .. } => source.told(),
            Self::OtherName { kept, name } => Told::new(ErrorKind::Conflict)
                .hint(of_flow("rote flow remove", kept))
                .details(json!({ "kept": kept, "name": name })),
            Self::ChangedMeanwhile { flow } => Told::new(ErrorKind::Conflict).hint(of_flow("rote flow info", flow)),
            Self::NotPending { .. } => Told::new(ErrorKind::NotFound).hint("rote flow pending list"),
            Self::Index { .. } => Told::new(ErrorKind::General).hint("rote flow index --rebuild"),
            Self::Analytics { .. } => Told::new(ErrorKind::General),
        }
    }
}
