//! Pending stubs: a note in a workspace that it is worth a flow, so that the wish outlives the conversation.
//!
//! An agent writes the stub as its last act before it shows results; a person, or the agent once it was told yes,
//! makes the flow with the command that the stub turns into.

use std::path::PathBuf;

use jiff::Timestamp;
use rote_home::{FileMode, HomeError, read_capped, remove_file, write_atomic};
use rote_types::{AdapterId, FlowName, ResponseId, WorkspaceName, command};
use rote_workspace::{Workspace, workspace_names};
use serde::{Deserialize, Serialize};

use crate::error::{LibraryError, PackageError};
use crate::{FlowError, Library};

/// The file in the workspace's folder.
const FILE: &str = "pending.json";
/// Most bytes of a stub.
const MAX_BYTES: u64 = 64 << 10;

/// A wish for a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingFlow {
    /// The workspace that it would be made from.
    pub workspace: WorkspaceName,
    pub name: FlowName,
    /// The adapters that matter.
    pub adapters: Vec<AdapterId>,
    /// What it would do.
    pub description: String,
    /// The jq program that gives the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The response that it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseId>,
    /// Names of arguments that should become parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<String>,
    /// Anything else to remember.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// When it was written.
    pub created_at: Timestamp,
}

impl PendingFlow {
    /// The command that makes the flow.
    #[must_use]
    pub fn command(&self) -> String {
        let mut create = command("rote flow template create");
        create = create.option("--workspace", &self.workspace).option("--name", &self.name);
        create = self.params.iter().fold(create, |create, name| create.option("--param", name));
        if let Some(response) = self.response {
            let query = self.query.as_deref().unwrap_or(".");
            create = create.option("--result", format!("{response}{{{query}}}"));
        }
        create.option("--description", &self.description).into()
    }
}

impl Library {
    /// Writes a stub into its workspace; an older one is replaced.
    ///
    /// # Errors
    /// There is no such workspace, or the disk refused.
    pub fn write_pending(&self, stub: &PendingFlow) -> Result<PathBuf, FlowError> {
        let path = self.pending_file(&stub.workspace)?;
        let text = serde_json::to_string_pretty(stub).map_err(|error| {
            FlowError::Package(PackageError::Malformed { what: "pending stub", message: error.to_string() })
        })?;
        write_atomic(&path, (text + "\n").as_bytes(), FileMode::Private)?;
        Ok(path)
    }

    /// Reads the stub of a workspace.
    ///
    /// # Errors
    /// [`LibraryError::NotPending`] when it has none.
    pub fn pending(&self, workspace: &WorkspaceName) -> Result<PendingFlow, FlowError> {
        let path = self.pending_file(workspace)?;
        let bytes = match read_capped(&path, MAX_BYTES) {
            Err(HomeError::NotFound { .. }) => {
                return Err(FlowError::Library(LibraryError::NotPending { workspace: workspace.clone() }));
            }
            read => read?,
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            FlowError::Package(PackageError::Malformed {
                what: "pending stub",
                message: format!("`{}`: {error}", path.display()),
            })
        })
    }

    /// Lists all stubs, newest first.
    ///
    /// # Errors
    /// The workspaces cannot be read.
    pub fn all_pending(&self) -> Result<Vec<PendingFlow>, FlowError> {
        let names = workspace_names(&self.home)?;
        let mut stubs: Vec<PendingFlow> = names.iter().filter_map(|name| self.pending(name).ok()).collect();
        stubs.sort_by_key(|stub| std::cmp::Reverse(stub.created_at));
        Ok(stubs)
    }

    /// Removes the stub of a workspace.
    ///
    /// # Errors
    /// [`LibraryError::NotPending`] when it has none.
    pub fn discard_pending(&self, workspace: &WorkspaceName) -> Result<(), FlowError> {
        let path = self.pending_file(workspace)?;
        if path.exists() {
            Ok(remove_file(&path)?)
        } else {
            Err(FlowError::Library(LibraryError::NotPending { workspace: workspace.clone() }))
        }
    }

    fn pending_file(&self, workspace: &WorkspaceName) -> Result<PathBuf, FlowError> {
        Ok(Workspace::open(&self.home, workspace)?.folder().join(FILE))
    }
}
