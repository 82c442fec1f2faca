//! The latest run that can go on: not ended, not going on, begun by hand, with a flow that is still the same.

use std::collections::BTreeMap;

use rote_types::{FlowName, Sha256Digest, WorkspaceName};
use rote_workspace::{Workspace, list_workspaces};
use serde::Serialize;

use super::begin::PREFIX;
use super::tape::{self, Recorded};
use crate::{FlowError, FlowReference, Flows};

/// Most runs that are looked at.
const MAX_LOOKED_AT: usize = 1_000;

/// A run that can go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LatestRun {
    /// Its workspace.
    pub workspace: WorkspaceName,
    /// Its flow.
    pub flow: FlowName,
}

impl Flows {
    /// Returns the latest run that did not end well and can go on, of this flow where one is named.
    ///
    /// # Errors
    /// [`FlowError::NothingToResume`], which says why the newest open run cannot go on; `NoFlow` when the named flow
    /// does not exist.
    pub fn latest_run(&self, flow: Option<&FlowReference>) -> Result<LatestRun, FlowError> {
        let named = flow.map(|flow| self.load(flow)).transpose()?.map(|(_, package)| package.frontmatter.name);
        let mut summaries = list_workspaces(&self.parts.home)?;
        summaries.retain(|summary| summary.name.as_str().starts_with(PREFIX));
        summaries.sort_by(|one, other| other.created_at.cmp(&one.created_at).then_with(|| other.name.cmp(&one.name)));
        let mut digests = BTreeMap::new();
        let mut passed = None;
        for summary in summaries.into_iter().take(MAX_LOOKED_AT) {
            // A damaged tape is one of a run that cannot go on.
            let Ok(workspace) = Workspace::open(&self.parts.home, &summary.name) else { continue };
            let Ok(Some(recorded)) = Recorded::read(&workspace) else { continue };
            let header = &recorded.header;
            let other = named.as_ref().is_some_and(|named| header.flow != *named);
            if other || recorded.is_complete() || header.parent.is_some() {
                continue;
            }
            match self.obstacle(&workspace, &recorded, &mut digests) {
                None => return Ok(LatestRun { workspace: summary.name, flow: header.flow.clone() }),
                Some(why) => drop(passed.get_or_insert((summary.name, why))),
            }
        }
        Err(FlowError::NothingToResume { flow: named, passed: passed.map(Box::new) })
    }

    /// Why an open run cannot go on.
    fn obstacle(
        &self,
        workspace: &Workspace,
        recorded: &Recorded,
        digests: &mut BTreeMap<String, Result<Sha256Digest, String>>,
    ) -> Option<String> {
        let header = &recorded.header;
        if let Err(error) = tape::lock(workspace) {
            return Some(error.to_string());
        }
        let digest = digests.entry(header.reference.clone()).or_insert_with(|| {
            let loaded = FlowReference::parse(&header.reference).and_then(|flow| self.load(&flow));
            loaded.map(|(_, package)| package.digest()).map_err(|error| error.to_string())
        });
        match digest {
            Err(why) => Some(why.clone()),
            Ok(digest) if *digest != header.sha256 => {
                Some(format!("flow `{}` is not the one that began it", header.flow))
            }
            Ok(_) => None,
        }
    }
}
