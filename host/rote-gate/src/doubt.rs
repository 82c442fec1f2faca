//! Writes whose outcome nobody knows: what a person is told of one, and how the person settles it.
//!
//! Invariants: a doubt ends only by a person's word, or by a request with the same idempotency key that takes its place;
//! either is in the journal before the workspace has it.

use std::fmt;

use jiff::Timestamp;
use rote_govern::audit::{EffectSettled, SETTLED, Word};
use rote_home::{Durability, Journal, NewEvent};
use rote_types::{AdapterId, CommandLine, FlowName, ResponseId, WorkspaceName, command};
use rote_workspace::{ResponseSummary, Settlement, Workspace};
use serde::Serialize;
use serde_json::Value;

use crate::GateError;

/// A write that may have happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// Where it is recorded.
    pub workspace: WorkspaceName,
    /// Its number there.
    pub response: ResponseId,
    /// The adapter.
    pub adapter: Option<AdapterId>,
    /// The tool.
    pub tool: Option<String>,
    /// The method on the wire.
    pub method: String,
    /// The URL without its query; empty when nothing of the request is known.
    pub url: String,
    /// When it left; `None` when the journal has no start of it, so that it never did.
    pub left: Option<Timestamp>,
    /// The status of its answer, or of the answer's head where no more came.
    pub status: Option<u16>,
    /// What became of its answer.
    pub problem: Option<String>,
    /// The flow that made it.
    pub flow: Option<FlowName>,
    /// The idempotency key of rote's own that it carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A command that reads what would tell whether it happened.
    pub look: Option<String>,
}

impl Doubt {
    /// Puts together what workspace and journal know of a response.
    ///
    /// # Errors
    /// [`GateError::Home`] when the journal cannot be read.
    pub fn of(journal: &Journal, workspace: &WorkspaceName, known: &ResponseSummary) -> Result<Self, GateError> {
        let started = journal.started(workspace, known.id)?;
        let key = started.as_ref().and_then(|event| event.body["idempotency_key"].as_str()).map(str::to_owned);
        let url = match (&started, known.url.is_empty()) {
            (Some(event), true) => event.body["url"].as_str().unwrap_or_default().to_owned(),
            _ => known.url.clone(),
        };
        Ok(Self {
            workspace: workspace.clone(),
            response: known.id,
            adapter: known.adapter.clone(),
            tool: known.tool.clone(),
            method: known.method.clone(),
            url,
            left: started.map(|event| event.at),
            status: known.status,
            problem: known.error.clone(),
            flow: known.flow.clone(),
            key,
            look: None,
        })
    }

    /// Returns the request in one line.
    #[must_use]
    pub fn request(&self) -> String {
        format!("{} {}", self.method, self.url).trim_end().to_owned()
    }

    /// Returns the commands of which one settles it; before them the one that looks.
    #[must_use]
    pub fn ways(&self) -> String {
        self.ways_by(match &self.flow {
            Some(_) => command("rote run").option("--resume", &self.workspace),
            None => self.settle(),
        })
    }

    /// Returns the commands that settle it where a run waits for it that cannot be resumed by itself.
    #[must_use]
    pub fn ways_within(&self, outer: &WorkspaceName) -> String {
        let go_on = command("rote run").option("--resume", outer).note("goes on then");
        format!("{}\n{go_on}", self.ways_by(self.settle()))
    }

    fn settle(&self) -> CommandLine {
        command("rote doubts settle").option("--workspace", &self.workspace)
    }

    fn ways_by(&self, settle: CommandLine) -> String {
        let said = |option, note| settle.clone().option(option, self.response).note(note).to_string();
        let mut ways: Vec<String> =
            self.look.iter().map(|look| format!("{look} # tells whether it happened")).collect();
        ways.push(said("--done", "it happened; --answer JSON says what it answered"));
        ways.push(said("--skip", "it did not happen and shall not"));
        match (&self.flow, &self.key) {
            (Some(_), None) => ways.push(said("--retry", "it did not happen: make it again")),
            (Some(_), Some(_)) => ways.push(said("--retry", "make it again, with the same key")),
            (None, Some(_)) => ways.push(said("--retry", "the same call in this workspace then carries the same key")),
            (None, None) => {}
        }
        ways.join("\n")
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workspace, response, .. } = self;
        write!(f, "`{}` (", self.request())?;
        if let (Some(adapter), Some(tool)) = (&self.adapter, &self.tool) {
            write!(f, "`{adapter}/{tool}`, ")?;
        }
        write!(f, "`{response}` of workspace `{workspace}`) ")?;
        if let Some(key) = &self.key {
            write!(f, "with the idempotency key `{key}` ")?;
        }
        match (self.left, self.status) {
            (None, _) => f.write_str("was not sent as far as the journal knows, yet it may have happened"),
            (Some(left), None) => write!(f, "left at {left} and may have happened"),
            (Some(left), Some(status)) => write!(f, "left at {left}, was answered {status} and may have happened"),
        }
    }
}

/// Settles a write in doubt with what a person says of it; `word` is whose word that is, and none where the write may be
/// repeated under its idempotency key without one.
///
/// # Errors
/// [`GateError::Workspace`] when it is not in doubt or the answer is not JSON; [`GateError::Home`] when the journal
/// refused. Nothing is settled then.
pub fn settle(
    journal: &Journal,
    workspace: &Workspace,
    response: ResponseId,
    settlement: &Settlement,
    word: Option<&Word>,
    now: Timestamp,
) -> Result<ResponseSummary, GateError> {
    let known = workspace.settleable(response, settlement)?;
    let answer = match settlement {
        Settlement::Done { answer: Some(text) } => Some(rote_types::sha256(text.as_bytes())),
        _ => None,
    };
    let body = EffectSettled {
        adapter: known.adapter,
        tool: known.tool,
        workspace: workspace.name().clone(),
        response,
        outcome: settlement.settled().as_str().to_owned(),
        answer,
        word: word.cloned(),
    };
    let effect = journal.started(workspace.name(), response)?.and_then(|event| event.effect);
    let body = serde_json::to_value(body).unwrap_or(Value::Null);
    journal.append(now, Durability::Disk, &[NewEvent { kind: SETTLED, effect, body }])?;
    Ok(workspace.settle(response, settlement, now)?)
}
