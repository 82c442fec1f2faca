//! What a person is told of a write that may have happened, and the commands that settle it. Which ones there are says `doubt`.

use std::fmt;

use jiff::Timestamp;
use rote_types::{AdapterId, CommandLine, Effected, FlowName, ResponseId, WorkspaceName, command};
use serde::Serialize;

/// A write that may have happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// Where it is recorded.
    pub workspace: WorkspaceName,
    /// The id of its workspace, where the name alone does not say which one is meant: it is gone, or one that is gone had the
    /// name and a write of this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// Its number there.
    pub response: ResponseId,
    pub adapter: Option<AdapterId>,
    pub tool: Option<String>,
    /// The method on the wire.
    pub method: String,
    /// The URL without its query; empty when nothing of the request is known.
    pub url: String,
    /// Its arguments as JSON, secrets masked, in one line that may be cut off; none when nothing of them is known.
    pub arguments: Option<String>,
    /// When it left; `None` when the journal does not know whether it did.
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
    /// Nothing is left of its run to resume: it is settled by itself, and what is begun anew knows nothing of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
}

impl Doubt {
    /// Returns the request in one line.
    #[must_use]
    pub fn request(&self) -> String {
        format!("{} {}", self.method, self.url).trim_end().to_owned()
    }

    /// Returns the commands of which one settles it; before them the one that looks.
    #[must_use]
    pub fn ways(&self) -> String {
        self.ways_by(match &self.flow {
            Some(_) if !self.is_gone => command("rote run").option("--resume", &self.workspace),
            _ => self.settle(),
        })
    }

    /// Returns the commands that settle it where a run waits for it that cannot be resumed by itself.
    #[must_use]
    pub fn ways_within(&self, outer: &WorkspaceName) -> String {
        let go_on = command("rote run").option("--resume", outer).note("resumes it then");
        format!("{}\n{go_on}", self.ways_by(self.settle()))
    }

    fn settle(&self) -> CommandLine {
        let settle = command("rote doubts settle").option("--workspace", &self.workspace);
        self.workspace_id.iter().fold(settle, |settle, id| settle.option("--workspace-id", id))
    }

    fn ways_by(&self, settle: CommandLine) -> String {
        let said = |option, note| settle.clone().option(option, self.response).note(note).to_string();
        let mut ways: Vec<String> =
            self.look.iter().map(|look| format!("{look} # may tell whether it happened")).collect();
        if self.is_gone {
            let (done, retry) = match &self.flow {
                Some(_) => (
                    "it happened; a run that is begun anew does it once more",
                    "it did not happen: a run that is begun anew makes it",
                ),
                None => (
                    "it happened; the same call does it once more then",
                    "it did not happen: the same call is sent then",
                ),
            };
            ways.push(said("--done", done));
            ways.push(said("--retry", retry));
            return ways.join("\n");
        }
        ways.push(said("--done", "it happened; --answer JSON says what it answered"));
        ways.push(said("--skip", "it did not happen and shall not"));
        match (&self.flow, &self.key) {
            (Some(_), None) => ways.push(said("--retry", "it did not happen: make it again")),
            (Some(_), Some(_)) => ways.push(said("--retry", "make it again, with the same key")),
            (None, Some(_)) => ways.push(said("--retry", "the same call in this workspace then carries the same key")),
            (None, None) => ways.push(said("--retry", "it did not happen: the same call is sent again then")),
        }
        let refused = self.key.is_some() && self.status.is_some_and(|status| Effected::by(status) != Effected::Yes);
        if let Some(adapter) = self.adapter.as_ref().filter(|_| refused) {
            let without = command("rote adapter set").argument(adapter).plain("idempotency_header none");
            ways.push(without.note("before --retry: without the key, of which the server says no").to_string());
        }
        ways.join("\n")
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workspace, response, .. } = self;
        write!(f, "`{}` ", self.request())?;
        if let Some(arguments) = &self.arguments {
            write!(f, "with `{arguments}` ")?;
        }
        f.write_str("(")?;
        if let (Some(adapter), Some(tool)) = (&self.adapter, &self.tool) {
            write!(f, "`{adapter}/{tool}`, ")?;
        }
        write!(f, "`{response}` of workspace `{workspace}`) ")?;
        if let Some(key) = &self.key {
            write!(f, "with the idempotency key `{key}` ")?;
        }
        match (self.left, self.status) {
            (None, _) => f.write_str("may have happened: the journal does not know whether it left"),
            (Some(left), None) => write!(f, "left at {left} and may have happened"),
            (Some(left), Some(status)) => write!(f, "left at {left}, was answered {status} and may have happened"),
        }?;
        if self.is_gone && self.flow.is_some() {
            f.write_str(", and nothing of its run is left to resume")?;
        }
        match self.workspace_id.as_ref().filter(|_| self.is_gone) {
            Some(id) => write!(f, "; its workspace is gone (its id was `{id}`)"),
            None => Ok(()),
        }
    }
}
