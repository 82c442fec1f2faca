//! Writes whose outcome nobody knows: listed over all workspaces, and settled by a person.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rote_gate::{Doubt, GateError};
use rote_home::Journal;
use rote_types::{AdapterId, ErrorKind, FlowName, ResponseId, WorkspaceName, command};
use rote_workspace::{
    ResponseSummary, Settled, Settlement, Workspace, WorkspaceError, WorkspaceProblem, workspace_names,
};
use serde::Serialize;
use serde_json::json;

use crate::{AppError, Consent, Session};

/// Most writes in doubt that are looked at in one workspace.
const MAX_OF_ONE: usize = 1_000;

/// Most writes in doubt that an error tells of, one line each.
const MAX_TOLD: usize = 5;

/// The writes in doubt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doubts {
    /// How many are known. There may be more in those that cannot be read.
    pub total: usize,
    /// The newest ones, newest first.
    pub doubts: Vec<Doubt>,
    /// Workspaces that cannot be read: what the journal knows as open in them is among the doubts, and nobody knows more.
    pub unreadable: Vec<WorkspaceProblem>,
}

/// A write that a person has settled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettledWrite {
    /// Its workspace, which may be gone.
    pub workspace: WorkspaceName,
    /// Its number there.
    pub id: ResponseId,
    pub adapter: Option<AdapterId>,
    pub tool: Option<String>,
    /// How.
    pub settled: Settled,
    /// The flow that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowName>,
    /// The command that goes on with its run, or makes the call again that may be made again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A write in doubt that is yet to be described.
enum Found {
    Known(WorkspaceName, Box<ResponseSummary>),
    /// Known by the journal only: its workspace is gone or cannot be read.
    Told(Box<Doubt>),
}

impl Found {
    fn at(&self) -> Timestamp {
        match self {
            Self::Known(_, known) => known.at,
            Self::Told(doubt) => doubt.left.unwrap_or_default(),
        }
    }

    fn workspace(&self) -> Option<&WorkspaceName> {
        match self {
            Self::Known(workspace, _) => Some(workspace),
            Self::Told(_) => None,
        }
    }
}

impl Session {
    /// Returns the writes in doubt of all workspaces, at most `limit` of them with all that is known.
    ///
    /// # Errors
    /// General when the home cannot be read.
    pub fn doubts(&self, limit: usize) -> Result<Doubts, AppError> {
        let (home, journal, mut unreadable) = (self.host.home()?, self.host.journal()?, Vec::new());
        let gone = rote_flow::gone_writes(&journal, home)?;
        let is_gone = |name: &WorkspaceName, id| gone.iter().any(|one| (&one.workspace, one.response) == (name, id));
        let mut found = Vec::new();
        for name in workspace_names(home)? {
            match self.unknown_of(&journal, &name) {
                Ok(unknown) => {
                    let unknown = unknown.into_iter().filter(|one| !is_gone(&name, one.id)).take(MAX_OF_ONE);
                    found.extend(unknown.map(|one| Found::Known(name.clone(), Box::new(one))));
                }
                Err(error) => unreadable.push(WorkspaceProblem { name, problem: error.in_a_line() }),
            }
        }
        let told = gone.into_iter().chain(self.told_of(&journal, &unreadable)?);
        found.extend(told.map(|doubt| Found::Told(Box::new(doubt))));
        found.sort_by_key(|one| std::cmp::Reverse(one.at()));
        let total = found.len();
        found.truncate(limit);
        // One workspace at a time is open, however many there are.
        let names: BTreeSet<WorkspaceName> = found.iter().filter_map(Found::workspace).cloned().collect();
        let mut doubts: Vec<(usize, Doubt)> = Vec::with_capacity(found.len());
        for name in names {
            let workspace = Workspace::open(home, &name)?;
            for (at, one) in found.iter().enumerate() {
                if let Found::Known(of, known) = one
                    && *of == name
                {
                    doubts.push((at, self.describe(&workspace, known)?));
                }
            }
        }
        let told = found.into_iter().enumerate().filter_map(|(at, one)| match one {
            Found::Told(doubt) => Some((at, *doubt)),
            Found::Known(..) => None,
        });
        doubts.extend(told);
        doubts.sort_by_key(|(at, _)| *at);
        Ok(Doubts { total, doubts: doubts.into_iter().map(|(_, doubt)| doubt).collect(), unreadable })
    }

    /// Returns what the journal knows as open of workspaces that cannot be read.
    fn told_of(&self, journal: &Journal, unreadable: &[WorkspaceProblem]) -> Result<Vec<Doubt>, AppError> {
        if unreadable.is_empty() {
            return Ok(Vec::new());
        }
        let names = unreadable.iter().map(|one| one.name.clone()).collect();
        let open = journal.begun_in(&names)?;
        let told = open.iter().take(MAX_OF_ONE).map(|write| {
            let doubt = Doubt::of_journal(journal, write)?;
            // It may be there still, for whoever mends it.
            Ok(Doubt { is_gone: false, ..doubt })
        });
        told.collect()
    }

    /// Returns the writes of one workspace that are in doubt or wait in a stopped run.
    fn unknown_of(&self, journal: &Journal, name: &WorkspaceName) -> Result<Vec<ResponseSummary>, AppError> {
        let workspace = Workspace::open(self.host.home()?, name)?;
        let taken_up = rote_gate::recover(journal, &workspace).and_then(|()| rote_gate::sift(journal, &workspace));
        // What else cannot be taken up or ended now can be listed all the same.
        if let Err(error @ GateError::Forgotten { .. }) = taken_up {
            return Err(error.into());
        }
        Ok(rote_flow::unknown_writes(&workspace)?)
    }

    /// Returns what is known of the writes of a workspace, that in use where none is named, that a person wants to
    /// settle so; nothing is settled.
    ///
    /// # Errors
    /// As [`Session::settle`].
    pub fn settleable(
        &self,
        workspace: Option<&str>,
        settle: &[(ResponseId, Settlement)],
    ) -> Result<Vec<Doubt>, AppError> {
        self.refuse_known_answers(settle)?;
        let name = match workspace {
            Some(text) => text.parse()?,
            None => self.named()?,
        };
        let Some(workspace) = self.there(&name, settle)? else {
            return Ok(rote_gate::settleable_gone(&*self.host.journal()?, &name, settle)?);
        };
        let one = |(id, settlement): &(ResponseId, Settlement)| {
            let known = workspace.settleable(*id, settlement)?;
            self.describe(&workspace, &known)
        };
        settle.iter().map(one).collect()
    }

    /// Settles writes of the workspace in use, be it there or not, with what a person says of them; returns how each stands
    /// then.
    ///
    /// # Errors
    /// Conflict when one of them is not in doubt, `NotFound` when there is none of that number, Usage for an answer
    /// that is not JSON; nothing is settled then.
    pub fn settle(&self, settle: &[(ResponseId, Settlement)], consent: Consent) -> Result<Vec<SettledWrite>, AppError> {
        let doubts = self.settleable(None, settle)?;
        let (name, journal, word, now) = (self.named()?, self.host.journal()?, self.word(consent), self.host.now());
        let workspace = self.there(&name, settle)?;
        match &workspace {
            Some(workspace) => drop(rote_gate::settle(&journal, workspace, settle, Some(&word), now)?),
            None => rote_gate::settle_gone(&journal, &name, settle, Some(&word), now)?,
        }
        // A name that was given twice may have had several of a number.
        let settled = settle.iter().filter_map(|(id, settlement)| {
            let doubt = doubts.iter().find(|doubt| doubt.response == *id)?;
            Some((doubt, settlement.settled()))
        });
        settled.map(|(doubt, settled)| self.settled(doubt, settled, workspace.as_ref())).collect()
    }

    /// What is told of a write that was settled.
    fn settled(
        &self,
        doubt: &Doubt,
        settled: Settled,
        workspace: Option<&Workspace>,
    ) -> Result<SettledWrite, AppError> {
        let Doubt { workspace: name, response, adapter, tool, flow, .. } = doubt.clone();
        let next = match (&flow, workspace) {
            (Some(_), Some(workspace)) if rote_flow::has_tape(workspace) => {
                Some(command("rote run").option("--resume", &name).to_string())
            }
            (Some(flow), _) => Some(command("rote run").argument(flow).plain("…").to_string()),
            (None, Some(workspace)) if settled == Settled::Retried => {
                let arguments = workspace.arguments(workspace.summary(response)?.command)?;
                let call = adapter.as_ref().zip(tool.as_ref()).zip(arguments);
                call.map(|((adapter, tool), arguments)| {
                    let call = command("rote call").argument(adapter).argument(tool).json(&arguments);
                    call.option("--workspace", &name).to_string()
                })
            }
            (None, _) => None,
        };
        Ok(SettledWrite { workspace: name, id: response, adapter, tool, settled, flow, next })
    }

    /// Opens the workspace of these writes; none when it is gone, also where another one has its name and not these writes.
    fn there(&self, name: &WorkspaceName, settle: &[(ResponseId, Settlement)]) -> Result<Option<Workspace>, AppError> {
        match Workspace::open(self.host.home()?, name) {
            Err(WorkspaceError::NoWorkspace { .. }) => return Ok(None),
            other => drop(other?),
        }
        let workspace = self.open_sifted(name)?;
        let open = self.host.journal()?.open_writes(Some(name))?;
        let has = |(id, settlement): &(ResponseId, Settlement)| workspace.settleable(*id, settlement).is_ok();
        let is_gone = |(id, _): &(ResponseId, Settlement)| {
            open.iter().any(|write| write.response == *id && write.workspace != *workspace.identity())
        };
        let of_gone = settle.iter().all(|one| !has(one) && is_gone(one)) && !settle.is_empty();
        Ok((!of_gone).then_some(workspace))
    }

    /// Refuses answers of a person's own in which a value of the vault stands, as any document of theirs.
    pub(crate) fn refuse_known_answers(&self, settle: &[(ResponseId, Settlement)]) -> Result<(), AppError> {
        for (id, settlement) in settle {
            if let Settlement::Done { answer: Some(answer) } = settlement {
                self.host.redaction()?.refuse_bytes(&format!("the answer of `{id}`"), answer.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Makes calls in a workspace until they end or somebody asks the process to stop. They are dropped then, what left
    /// of them is in doubt, and the error says so.
    pub(crate) async fn stoppable<T>(
        &self,
        workspace: &Workspace,
        calls: impl Future<Output = Result<T, AppError>>,
    ) -> Result<T, AppError> {
        let before = workspace.highest()?;
        tokio::select! {
            ended = calls => return ended,
            () = self.host.interrupt().requested() => {}
        }
        Err(self.interrupted(workspace, before)?)
    }

    /// The error of calls with numbers above this one that were interrupted, with the writes that may have happened.
    fn interrupted(&self, workspace: &Workspace, before: u64) -> Result<AppError, AppError> {
        let lost = workspace.doubts(MAX_OF_ONE)?.into_iter().filter(|one| one.id.0 > before);
        let lost: Vec<Doubt> = lost.map(|one| self.describe(workspace, &one)).collect::<Result<_, _>>()?;
        let error = AppError::new(ErrorKind::Interrupted, "interrupted");
        if lost.is_empty() {
            return Ok(error.with_hint("rote ls"));
        }
        let error = lost.iter().take(MAX_TOLD).fold(error, |error, doubt| error.with_cause(doubt.to_string()));
        let hint = match &*lost {
            [one] => one.ways(),
            _ => command("rote doubts").note("lists them, with the commands that settle each").to_string(),
        };
        Ok(error.with_hint(hint).with_details(json!({ "doubts": lost })))
    }

    fn describe(&self, workspace: &Workspace, known: &ResponseSummary) -> Result<Doubt, AppError> {
        let adapters = self.host.adapters()?;
        // An adapter that is gone or damaged must not hide the doubt.
        Ok(Doubt::of(&*self.host.journal()?, workspace, known, |write| adapters.look(write).unwrap_or_default())?)
    }
}
