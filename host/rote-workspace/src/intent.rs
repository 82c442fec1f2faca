//! The intent for which a workspace writes, in `intent.json` of its folder: a file, so that a command that opens no workspace
//! knows it too.

use rote_home::{FileMode, Home, HomeError, read_capped, write_durable};
use rote_types::WorkspaceName;
use serde::{Deserialize, Serialize};

use crate::{Result, WorkspaceError};

const FILE: &str = "intent.json";
/// Most bytes of it: a path and an id.
const MAX_BYTES: u64 = 16 << 10;

/// An intent that somebody selected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectedIntent {
    /// The project's file of intents, as an absolute path.
    pub file: String,
    pub id: String,
}

impl SelectedIntent {
    /// Returns the one of a workspace, which need not be there.
    ///
    /// # Errors
    /// The file cannot be read, or is not what [`SelectedIntent::keep`] wrote.
    pub fn of(home: &Home, workspace: &WorkspaceName) -> Result<Option<Self>> {
        let path = home.workspace_dir(workspace).join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let bytes = read_capped(&path, MAX_BYTES)?;
        let selected = serde_json::from_slice(&bytes);
        Ok(Some(selected.map_err(|error| HomeError::Corrupt { path: path.clone(), reason: error.to_string() })?))
    }

    /// Makes it the one of a workspace that is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, home: &Home, workspace: &WorkspaceName) -> Result<()> {
        let path = home.workspace_dir(workspace).join(FILE);
        let text = serde_json::to_vec(self)
            .map_err(|source| WorkspaceError::Encode { what: "the selected intent", source })?;
        Ok(write_durable(&path, &text, FileMode::Private)?)
    }
}
