//! The same run, begun again: one of the same flow with the same parameters that may have written what this one would
//! write, or that another process makes just now.
//!
//! Invariant: of two runs that are the same, the second one begins only when nothing of the first is unknown. Which runs
//! are the same their tapes say, whatever their folders are called; of those that have no tape any more the journal says it
//! (`gone`). Flows that write nothing are not asked.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use rote_home::{Home, HomeError, LockGuard};
use rote_types::{FlowName, ResponseId, WorkspaceIdentity, WorkspaceName};
use serde_json::{Map, Value};

use super::begin::Despite;
use super::{RunContext, Runner};
use crate::tape::Ends;
use crate::{FlowError, Frontmatter, parameter};

/// Most characters of a flow's name that go into the name of a run's workspace.
const NAME_CHARS: usize = 30;
/// What the names of workspaces of runs begin with.
pub(super) const PREFIX: &str = "run-";
/// Digits of the time in the name of a run's workspace.
pub(super) const TIME_DIGITS: usize = 14;
/// Random bytes in the name of a run's workspace, two digits each.
pub(super) const RANDOM_BYTES: usize = 3;

/// Latest runs of a flow that are looked at for one of the same parameters.
const MAX_SAME: usize = 1_000;

/// The lock of whoever begins a run that writes.
const LOCK: &str = "begin.lock";
/// How long it is waited for: others look at their runs meanwhile.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// Returns the time in the name of a run's workspace: of two, the later one is the greater text.
pub(super) fn begun_digits(name: &WorkspaceName) -> Option<&str> {
    let digits = name.as_str().rsplit('-').nth(1)?;
    (digits.len() == TIME_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// Whether a workspace of that name may be one of a run, of this flow where one is named.
pub(super) fn may_be_of(name: &WorkspaceName, flow: Option<&FlowName>) -> bool {
    // Of another flow whose name goes on, what is behind is longer.
    let of_flow = |flow: &FlowName| {
        let rest = name.as_str().strip_prefix(&format!("{PREFIX}{}-", short(flow)));
        rest.is_some_and(|rest| rest.len() == TIME_DIGITS + 1 + 2 * RANDOM_BYTES) && begun_digits(name).is_some()
    };
    name.as_str().starts_with(PREFIX) && flow.is_none_or(of_flow)
}

/// What of a flow's name is in those of its workspaces.
pub(super) fn short(flow: &FlowName) -> String {
    flow.as_str().chars().take(NAME_CHARS).collect()
}

/// The workspaces that may be of runs of a flow by their names, the newest first.
pub(super) fn newest(home: &Home, flow: &FlowName) -> Result<Vec<WorkspaceName>, FlowError> {
    let mut names = named(home, |name| may_be_of(name, Some(flow)))?;
    // The name of the workspace of a run ends with when it began.
    names.sort_by(|one, other| other.cmp(one));
    Ok(names)
}

/// Whether a run gets such a name, whatever its flow.
fn is_of_a_run(name: &WorkspaceName) -> bool {
    let random = name.as_str().rsplit('-').next().unwrap_or_default();
    let is_random = random.len() == 2 * RANDOM_BYTES && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    may_be_of(name, None) && begun_digits(name).is_some() && is_random
}

/// The workspaces whose names no run of the flow gets: a person made them, or gave them another name. What has the name of a run
/// of another flow may be one of this; runs that are part of another one, of which there may be a thousand, do not look there,
/// as that takes 14 µs for each workspace.
fn renamed(home: &Home, flow: &FlowName, is_part: bool) -> Result<Vec<WorkspaceName>, FlowError> {
    named(home, |name| !(may_be_of(name, Some(flow)) || is_part && is_of_a_run(name)))
}

/// Whether it is one workspace: a folder may have got another name, and another folder the name.
fn is_same(one: &WorkspaceIdentity, other: &WorkspaceIdentity) -> bool {
    match (&one.id, &other.id) {
        (Some(one), Some(other)) => one == other,
        _ => one.name == other.name,
    }
}

fn named(home: &Home, keep: impl Fn(&WorkspaceName) -> bool) -> Result<Vec<WorkspaceName>, FlowError> {
    let folder = home.workspaces_dir();
    let fail = |source| HomeError::Io { action: "list", path: folder.clone(), source };
    let mut names = Vec::new();
    for found in folder.read_dir().map_err(fail)? {
        let name = found.map_err(fail)?.file_name();
        let name = name.to_str().and_then(|name| name.parse::<WorkspaceName>().ok());
        names.extend(name.filter(&keep));
    }
    Ok(names)
}

impl Runner {
    /// A run is not begun while one of the same flow with the same parameters has a write in doubt: it would make that
    /// write, which may have happened; nor by a person while another process makes that one. Runs of the tree that it is to
    /// be part of are told apart by that tree itself. Returns what keeps others from beginning meanwhile.
    pub(super) fn refuse_same(
        &self,
        frontmatter: &Frontmatter,
        parameters: &Map<String, Value>,
        (parent, despite): (Option<&RunContext>, Despite),
    ) -> Result<Option<LockGuard>, FlowError> {
        if frontmatter.write_permissions.is_empty() && frontmatter.flows.is_empty() {
            return Ok(None);
        }
        let home = &self.library().home;
        let alone = rote_home::lock(&home.storage_dir().join(LOCK), LOCK_WAIT)?;
        // A run that is part of another one is not one that a person could have typed twice.
        let may_be_under_way = parent.is_some() || despite.under_way;
        let wanted = parameter::digest(parameters);
        let same = |name: &WorkspaceName, ends: &Ends| {
            let own = parent.is_some_and(|parent| match &ends.header.root {
                Some(root) => is_same(root, &parent.root),
                None => *name == parent.root.name,
            });
            !own && !ends.is_complete() && parameter::digest(&ends.header.parameters) == wanted
        };
        let (mut seen, mut judged) = (0, BTreeSet::new());
        for name in newest(home, &frontmatter.name)? {
            let Some(ends) = self.ends_of(&name)?.filter(|ends| ends.header.flow == frontmatter.name) else { continue };
            seen += 1;
            if same(&name, &ends) {
                judged.extend(self.refuse_beside(&name, may_be_under_way)?);
            }
            if seen == MAX_SAME {
                break;
            }
        }
        let mut others: BTreeSet<_> = renamed(home, &frontmatter.name, parent.is_some())?.into_iter().collect();
        // However many runs came behind one: what the journal has as open is looked at.
        let open = self.parts.journal.open_of(&frontmatter.name, wanted)?;
        others.extend(open.into_iter().map(|open| open.run.name));
        for name in others {
            match Ends::read_in(&home.workspace_dir(&name)) {
                Ok(Some(ends)) if ends.header.flow == frontmatter.name && same(&name, &ends) => {
                    judged.extend(self.refuse_beside(&name, may_be_under_way)?);
                }
                // It is not of a run, or nobody knows of which one.
                _ => {}
            }
        }
        self.refuse_gone((&frontmatter.name, wanted), parent, &judged)?;
        Ok(Some(alone))
    }

    /// Returns how the tape of a run begins and ends; none where it cannot be read and nothing is in doubt there.
    fn ends_of(&self, name: &WorkspaceName) -> Result<Option<Ends>, FlowError> {
        if let Ok(Some(ends)) = Ends::read_in(&self.library().home.workspace_dir(name)) {
            return Ok(Some(ends));
        }
        // Nobody knows what it ran with. What the journal knows nothing of has sent nothing.
        let any = WorkspaceIdentity { name: name.clone(), id: None };
        if !self.parts.journal.started_behind(&any, ResponseId(0), Timestamp::MIN)?.is_empty() {
            self.opened(name)?;
        }
        Ok(None)
    }
}
