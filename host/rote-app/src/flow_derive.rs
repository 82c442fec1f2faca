//! Flows made from other flows, written as sources, and wishes for flows.

use std::path::Path;

use rote_flow::{Derived, Exported, PendingFlow, ProjectLanguage, VersionPart};
use rote_types::{ErrorKind, ResponseId};

use crate::error::name;
use crate::{App, AppError, Language};

/// A wish for a flow that is to be written down.
#[derive(Debug, Clone, Default)]
pub struct Pending {
    /// The workspace; the one in use, when absent.
    pub workspace: Option<String>,
    /// The flow's name.
    pub name: String,
    /// The adapters that matter.
    pub adapters: Vec<String>,
    /// What it would do.
    pub description: String,
    /// The jq program that gives the result.
    pub query: Option<String>,
    /// The response that it runs on.
    pub response: Option<ResponseId>,
    /// Arguments that should become parameters.
    pub params: Vec<String>,
    /// Anything else.
    pub notes: Option<String>,
}

impl App {
    /// Copies a flow under a new name.
    ///
    /// # Errors
    /// Conflict when the name is taken.
    pub fn fork_flow(&self, flow: &str, new: &str, description: Option<String>) -> Result<Derived, AppError> {
        Ok(self.author()?.fork(&self.flow_reference(flow)?, &name(new)?, description)?)
    }

    /// Makes the next version of a flow as a draft.
    ///
    /// # Errors
    /// `NotFound` when there is no such flow.
    pub fn bump_flow(&self, flow: &str, part: VersionPart) -> Result<Derived, AppError> {
        Ok(self.library()?.bump(&name(flow)?, part)?)
    }

    /// Returns a flow as text to read.
    ///
    /// # Errors
    /// `NotFound` when there is no such flow.
    pub fn decompile(&self, flow: &str) -> Result<String, AppError> {
        Ok(self.library()?.decompile(&self.flow_reference(flow)?)?)
    }

    /// Writes a plan flow as sources.
    ///
    /// # Errors
    /// Conflict when it is no plain plan.
    pub fn export_flow(&self, flow: &str, language: Language, path: &Path) -> Result<Exported, AppError> {
        let language = match language {
            Language::TypeScript => ProjectLanguage::TypeScript,
            Language::Rust => ProjectLanguage::Rust,
        };
        Ok(self.library()?.export(&self.flow_reference(flow)?, language, &self.absolute(path))?)
    }

    /// Writes a copy of a flow's file.
    ///
    /// # Errors
    /// `NotFound` when there is no such flow; General when the disk refuses.
    pub fn copy_flow(&self, flow: &str, path: &Path) -> Result<(), AppError> {
        let bytes = self.library()?.bytes(&self.flow_reference(flow)?)?;
        Ok(rote_home::write_atomic(&self.absolute(path), &bytes, rote_home::FileMode::Shared)?)
    }

    /// Writes a wish for a flow into its workspace and returns it.
    ///
    /// # Errors
    /// `NotFound` when there is no such workspace.
    pub fn pending_write(&self, wish: Pending) -> Result<PendingFlow, AppError> {
        let workspace = match &wish.workspace {
            Some(workspace) => name(workspace)?,
            None => self.workspace()?.name().clone(),
        };
        let stub = PendingFlow {
            workspace,
            name: name(&wish.name)?,
            adapters: wish.adapters.iter().map(|id| name(id)).collect::<Result<_, _>>()?,
            description: wish.description,
            query: wish.query,
            response: wish.response,
            params: wish.params,
            notes: wish.notes,
            created_at: self.clock().now(),
        };
        let text = serde_json::to_value(&stub).map_err(|error| AppError::new(ErrorKind::General, error.to_string()))?;
        self.redaction()?.refuse(&format!("the wish for `{}`", stub.name), &text)?;
        self.library()?.write_pending(&stub)?;
        Ok(stub)
    }

    /// Returns the wish in a workspace.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn pending(&self, workspace: &str) -> Result<PendingFlow, AppError> {
        Ok(self.library()?.pending(&name(workspace)?)?)
    }

    /// Returns all wishes.
    ///
    /// # Errors
    /// General when the workspaces cannot be read.
    pub fn all_pending(&self) -> Result<Vec<PendingFlow>, AppError> {
        Ok(self.library()?.all_pending()?)
    }

    /// Removes the wish in a workspace.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn pending_discard(&self, workspace: &str) -> Result<(), AppError> {
        Ok(self.library()?.discard_pending(&name(workspace)?)?)
    }
}
