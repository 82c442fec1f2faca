//! Flows that are published and found again: release, search, the search index, and what their parameters would be.

use rote_flow::{IndexReport, Inference, Released, Scope, SearchRequest, SearchResults};

use crate::error::name;
use crate::{App, AppError};

/// A wish to find flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchFlows {
    /// What somebody wants to do.
    pub intent: String,
    /// Drafts too.
    pub drafts: bool,
    /// Most hits.
    pub limit: usize,
    /// Say how each score came about.
    pub explain: bool,
}

impl App {
    /// Releases a draft; with `force` in spite of what is wrong with it.
    ///
    /// # Errors
    /// `NotFound` for a flow or an adapter that is not there, `FingerprintMismatch` for an adapter that changed,
    /// Conflict when the flow is not fit to be released. Nothing is changed then.
    pub async fn release_flow(&self, flow: &str, force: bool) -> Result<Released, AppError> {
        Ok(self.releases()?.release(&name(flow)?, force).await?)
    }

    /// Finds flows by what somebody wants to do.
    ///
    /// # Errors
    /// General when the home cannot be read or the index cannot be written.
    pub fn search_flows(&self, wish: SearchFlows) -> Result<SearchResults, AppError> {
        let scope = if wish.drafts { Scope::All } else { Scope::Released };
        let request = SearchRequest { intent: wish.intent, scope, limit: wish.limit, explain: wish.explain };
        Ok(self.search()?.search(&request)?)
    }

    /// Compares the search index with the flows on disk and mends it.
    ///
    /// # Errors
    /// General when the home cannot be read or the index cannot be written.
    pub fn verify_flow_index(&self) -> Result<IndexReport, AppError> {
        Ok(self.library()?.verify_index()?)
    }

    /// Writes the search index anew from the flows on disk.
    ///
    /// # Errors
    /// As [`App::verify_flow_index`].
    pub fn rebuild_flow_index(&self) -> Result<IndexReport, AppError> {
        Ok(self.library()?.rebuild_index()?)
    }

    /// Says what the parameters of a flow probably are, from an intent, the environment, the workspace in use and
    /// the last run.
    ///
    /// # Errors
    /// `NotFound` when there is no such flow, Conflict when its file is not intact.
    pub fn infer_flow(&self, flow: &str, intent: &str) -> Result<Inference, AppError> {
        let workspace = self.workspace_if_any()?;
        let environment = &self.config().environment;
        Ok(self.library()?.infer(&self.flow_reference(flow)?, intent, environment, workspace.as_deref())?)
    }
}
