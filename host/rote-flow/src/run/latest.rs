//! The latest run: begun by hand, of any flow or of one. What `--resume latest` means is that run and no other.

use std::collections::BTreeMap;

use rote_types::{FlowName, Sha256Digest};
use rote_workspace::{Settled, Workspace, WorkspaceError, WorkspaceList, WorkspaceProblem, list_workspaces};

use super::Runner;
use super::same::{PREFIX, begun_digits, may_be_of};
use crate::error::RunnerError;
use crate::report::LatestRun;
use crate::tape::{self, Ends};
use crate::{FlowError, FlowReference};

/// Most runs of the flow, or of any, that are looked at.
const MAX_LOOKED_AT: usize = 1_000;

impl Runner {
    /// Returns the latest run, of this flow where one is named, when it can go on.
    ///
    /// # Errors
    /// [`RunnerError::Latest`] when it ended well, is still going on or cannot go on; it names the newest one that can.
    /// [`RunnerError::LatestUnreadable`] when one that cannot be read may be newer; [`RunnerError::NoRun`] when there is none;
    /// `NoFlow` when the named flow does not exist.
    pub fn latest_run(&self, flow: Option<&FlowReference>) -> Result<LatestRun, FlowError> {
        let named =
            flow.map(|flow| self.library().load(flow)).transpose()?.map(|(_, package)| package.frontmatter.name);
        let WorkspaceList { workspaces: mut summaries, mut unreadable } = list_workspaces(&self.library().home)?;
        summaries.retain(|summary| summary.name.as_str().starts_with(PREFIX));
        unreadable.retain(|one| may_be_of(&one.name, named.as_ref()));
        summaries.sort_by(|one, other| other.created_at.cmp(&one.created_at).then_with(|| other.name.cmp(&one.name)));
        let now = self.parts.clock.now();
        let mut digests = BTreeMap::new();
        let mut latest = None;
        let mut looked_at = 0;
        for summary in summaries {
            let ends = match Ends::read_in(&self.library().home.workspace_dir(&summary.name)) {
                Ok(Some(ends)) => ends,
                Ok(None) => continue,
                // It may be the one that is meant; an older one is not taken for it. Which flow it ran is not known.
                Err(error) if latest.is_none() => return Err(error),
                Err(_damaged) => continue,
            };
            let header = &ends.header;
            let other = named.as_ref().is_some_and(|named| header.flow != *named);
            if other || header.parent.is_some() {
                continue;
            }
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT {
                break;
            }
            let workspace = match Workspace::open(&self.library().home, &summary.name) {
                Err(WorkspaceError::NoWorkspace { .. }) => continue,
                opened => opened?,
            };
            let begun_at = summary.created_at.unwrap_or_default();
            let age_s = u64::try_from(now.duration_since(begun_at).as_secs()).unwrap_or(0);
            let seen = LatestRun { workspace: summary.name, flow: header.flow.clone(), begun_at, age_s };
            if latest.is_none() {
                refuse_newer(&unreadable, Some(&seen))?;
            }
            match (self.obstacle(&workspace, &ends, &mut digests), latest.take()) {
                (None, None) => return Ok(seen),
                (Some(why), None) => latest = Some((seen, why)),
                (None, Some((latest, why))) => return Err(refused(named, latest, why, Some(seen))),
                (Some(_), known) => latest = known,
            }
        }
        if latest.is_none() {
            refuse_newer(&unreadable, None)?;
        }
        Err(match latest {
            Some((latest, why)) => refused(named, latest, why, None),
            None => FlowError::Run(RunnerError::NoRun { flow: named }),
        })
    }

    /// Why a run cannot be resumed, or has nothing to resume.
    fn obstacle(
        &self,
        workspace: &Workspace,
        ends: &Ends,
        digests: &mut BTreeMap<String, Result<Sha256Digest, String>>,
    ) -> Option<String> {
        let header = &ends.header;
        match tape::lock(workspace) {
            Ok(_free) => {}
            Err(FlowError::Run(RunnerError::StillRunning { .. })) => {
                return Some("still runs in another process".to_owned());
            }
            Err(error) => return Some(format!("cannot be resumed: {error}")),
        }
        if ends.is_complete() {
            return Some("ended well".to_owned());
        }
        if let Some(left_out) = ends.left_out() {
            // Until the person says otherwise, it would stop there again.
            let stands = |one: rote_workspace::ResponseSummary| one.settled == Some(Settled::Skipped);
            if workspace.summary(left_out).is_ok_and(stands) {
                return Some(format!("ends at `{left_out}`, which a person left out"));
            }
        }
        let digest = digests.entry(header.reference.clone()).or_insert_with(|| {
            let loaded = FlowReference::parse(&header.reference).and_then(|flow| self.library().load(&flow));
            loaded.map(|(_, package)| package.digest()).map_err(|error| error.to_string())
        });
        match digest {
            Err(why) => Some(format!("cannot be resumed: {why}")),
            Ok(digest) if *digest != header.sha256 => {
                Some(format!("cannot be resumed: flow `{}` is not the one that began it", header.flow))
            }
            Ok(_) => None,
        }
    }
}

/// Refuses to take a run for the latest one where one that cannot be read may be newer.
fn refuse_newer(unreadable: &[WorkspaceProblem], seen: Option<&LatestRun>) -> Result<(), FlowError> {
    let known = seen.and_then(|seen| begun_digits(&seen.workspace));
    // Without both times nobody knows which is newer.
    let is_older =
        |one: &WorkspaceProblem| known.zip(begun_digits(&one.name)).is_some_and(|(known, begun)| begun < known);
    let newer = unreadable.iter().filter(|one| !is_older(one)).max_by_key(|one| begun_digits(&one.name));
    match newer {
        None => Ok(()),
        Some(WorkspaceProblem { name, problem }) => Err(FlowError::Run(RunnerError::LatestUnreadable {
            workspace: name.clone(),
            problem: problem.clone(),
            known: seen.cloned().map(Box::new),
        })),
    }
}

fn refused(flow: Option<FlowName>, latest: LatestRun, why: String, next: Option<LatestRun>) -> FlowError {
    FlowError::Run(RunnerError::Latest { flow, latest: Box::new(latest), why, next: next.map(Box::new) })
}
