//! What is open: writes of which the journal does not know that they were done or were not, and the runs that they count for.
//! It is there also when the workspace of a run or a call is not.
//!
//! Invariant: two tables that follow from the events, in the transaction of each ([`follow`]); so they have as many rows as
//! runs that have not ended well and writes that nobody has settled, however long the journal is.

use std::collections::{BTreeMap, BTreeSet};

use rote_types::event::{EFFECT_FAILED, EFFECT_FINISHED, EFFECT_SETTLED, EFFECT_STARTED, RUN_FINISHED, RUN_STARTED};
use rote_types::{AdapterId, Effected, FlowName, ResponseId, Sha256Digest, WorkspaceIdentity, WorkspaceName};
use rusqlite::{Connection, Params, Row};
use serde_json::Value;

use super::chain::one_row;
use super::{Event, Journal, NewEvent};
use crate::HomeError;

/// What stands for the run of a write that no flow made.
const BY_HAND: &str = "";

/// A write that may have happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWrite {
    /// The workspace that it was made in.
    pub workspace: WorkspaceIdentity,
    /// Its number there.
    pub response: ResponseId,
    /// A flow made it, so that its run is asked about; else its workspace alone.
    pub of_flow: bool,
    /// The id of the workspace of the run that a person started.
    pub root: Option<String>,
    /// What was called; none where the event did not say it.
    pub call: Option<OpenCall>,
}

/// What an open write is of, as its `effect.started` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    pub adapter: AdapterId,
    pub tool: String,
    /// The digest of its arguments ([`Event::call_digest`]).
    pub arguments: Sha256Digest,
}

impl Event {
    /// The digest by which a start says which call it is of: that of the arguments without the idempotency key of the caller's,
    /// where they had one.
    #[must_use]
    pub fn call_digest(&self) -> Option<&str> {
        call_digest(|name| self.body[name].as_str())
    }
}

/// As [`Event::call_digest`]; `find.rs` and the index `events_of_run` have the same rule.
pub(super) fn call_digest<'b>(text: impl Fn(&str) -> Option<&'b str>) -> Option<&'b str> {
    text("call_digest").or_else(|| text("args_digest"))
}

impl OpenCall {
    fn read(adapter: Option<&str>, tool: Option<&str>, arguments: Option<&str>) -> Option<Self> {
        Some(Self { adapter: adapter?.parse().ok()?, tool: tool?.to_owned(), arguments: arguments?.parse().ok()? })
    }
}

/// A write that counts for a run: its own, or one of a run that it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOfRun {
    pub write: OpenWrite,
    /// The workspace of the run.
    pub run: WorkspaceIdentity,
}

/// The writes of runs of a flow with parameters of a digest. The few writes decide, and not the runs.
pub(super) const OF_RUNS: &str = "SELECT w.workspace, w.workspace_id, w.response, w.run, w.adapter, w.tool, w.arguments, \
    r.workspace, r.workspace_id \
    FROM open_writes w CROSS JOIN open_runs r ON r.workspace_id IN (w.workspace_id, w.run) \
    WHERE r.flow = ?1 AND r.parameters = ?2 AND w.run IS NOT '' ORDER BY w.workspace_id, w.response";

/// All of them, or those of a workspace.
const ALL: &str = "SELECT workspace, workspace_id, response, run, adapter, tool, arguments FROM open_writes \
    WHERE ?1 IS NULL OR workspace = ?1 ORDER BY workspace_id, response";

/// Puts a write in; the columns in the order in which it is compared with the events.
pub(super) const PUT_WRITE: &str = "INSERT OR REPLACE INTO open_writes \
    (workspace_id, response, workspace, run, adapter, tool, arguments) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// The kinds of events that say what is open.
pub(super) const FOLLOWED: [&str; 6] =
    [RUN_STARTED, RUN_FINISHED, EFFECT_STARTED, EFFECT_FINISHED, EFFECT_FAILED, EFFECT_SETTLED];

/// Takes over what an event says of what is open: one of [`FOLLOWED`].
pub(super) fn follow(transaction: &Connection, event: &NewEvent) -> Result<(), rusqlite::Error> {
    let text = |name: &str| event.body[name].as_str();
    let Some(id) = text("workspace_id") else { return Ok(()) };
    let response = || event.body["response"].as_i64();
    match event.kind {
        RUN_STARTED => {
            let (Some(workspace), Some(flow), Some(parameters)) =
                (text("workspace"), text("flow"), text("parameters_digest"))
            else {
                return Ok(());
            };
            let sql =
                "INSERT OR REPLACE INTO open_runs (workspace_id, workspace, flow, parameters) VALUES (?1, ?2, ?3, ?4)";
            one_row(transaction.prepare_cached(sql)?.execute((id, workspace, flow, parameters))?)?;
        }
        RUN_FINISHED => {
            transaction.prepare_cached("DELETE FROM open_runs WHERE workspace_id = ?1")?.execute([id])?;
            // Its flow was told of them, and ended well.
            let sql = "DELETE FROM open_writes WHERE workspace_id = ?1 AND run IS NOT ''";
            transaction.prepare_cached(sql)?.execute([id])?;
        }
        EFFECT_STARTED if event.body["writes"] == true => {
            let (Some(workspace), Some(response)) = (text("workspace"), response()) else { return Ok(()) };
            let run = text("flow").map_or(Some(BY_HAND), |_| text("run"));
            let call = (text("adapter"), text("tool"), call_digest(text));
            let row = (id, response, workspace, run, call.0, call.1, call.2);
            one_row(transaction.prepare_cached(PUT_WRITE)?.execute(row)?)?;
        }
        EFFECT_FAILED | EFFECT_SETTLED => {
            let sql = "DELETE FROM open_writes WHERE workspace_id = ?1 AND response = ?2";
            transaction.prepare_cached(sql)?.execute((id, response()))?;
        }
        EFFECT_FINISHED if is_recorded(&event.body) => {
            let sql = "DELETE FROM open_writes WHERE workspace_id = ?1 AND response = ?2 AND (?3 OR run = '')";
            transaction.prepare_cached(sql)?.execute((id, response(), is_told(&event.body)))?;
        }
        _ => {}
    }
    Ok(())
}

/// Whether an answer says what came of a write: by its status, where it has one, else by being there, as `ResponseSummary::is_open`
/// of a workspace has it. Of what could not be recorded nobody knows.
fn is_told(finished: &Value) -> bool {
    let by = |status: &Value| {
        let status = status.as_u64().and_then(|status| u16::try_from(status).ok());
        status.is_some_and(|status| Effected::by(status) != Effected::Unknown)
    };
    is_recorded(finished) && finished.get("status").filter(|status| !status.is_null()).is_none_or(by)
}

/// Whether an answer came and its workspace has it.
fn is_recorded(finished: &Value) -> bool {
    finished.get("error").is_none_or(Value::is_null)
}

/// Writes that were begun and have no end, by the id of their workspace, its name and the number.
type Begun = BTreeMap<(Option<String>, WorkspaceName, u64), OpenWrite>;

/// Takes over what an event says of writes of some workspaces, also of those that no flow made.
fn take_over(begun: &mut Begun, names: &BTreeSet<WorkspaceName>, kind: &str, body: &Value) {
    let id = body["workspace_id"].as_str();
    if kind == RUN_FINISHED {
        begun.retain(|(of, _, _), write| !write.of_flow || id.is_none() || of.as_deref() != id);
        return;
    }
    let name = body["workspace"].as_str().and_then(|name| name.parse::<WorkspaceName>().ok());
    let Some(name) = name.filter(|name| names.contains(name)) else { return };
    let Some(response) = body["response"].as_u64() else { return };
    let place = (id.map(str::to_owned), name.clone(), response);
    match kind {
        // An event of before does not say whether it writes, and may.
        EFFECT_STARTED if body["writes"] != false => {
            let workspace = WorkspaceIdentity { name, id: place.0.clone() };
            let text = |name: &str| body[name].as_str();
            let call = OpenCall::read(text("adapter"), text("tool"), call_digest(text));
            let (response, of_flow) = (ResponseId(response), body["flow"].is_string());
            begun.insert(place, OpenWrite { workspace, response, of_flow, root: None, call });
        }
        EFFECT_FAILED | EFFECT_SETTLED => drop(begun.remove(&place)),
        EFFECT_FINISHED => {
            let ends =
                if begun.get(&place).is_some_and(|write| write.of_flow) { is_told(body) } else { is_recorded(body) };
            if ends {
                begun.remove(&place);
            }
        }
        _ => {}
    }
}

impl Journal {
    /// Returns the open writes of runs of a flow with parameters of that digest, and of runs that they started, where those have
    /// not ended well.
    ///
    /// # Errors
    /// [`HomeError::Database`].
    pub fn open_of(&self, flow: &FlowName, parameters: Sha256Digest) -> Result<Vec<OpenOfRun>, HomeError> {
        let of_run = |row: &Row<'_>| {
            let run = identity(row, 7)?;
            Ok(write(row)?.zip(run).map(|(write, run)| OpenOfRun { write, run }))
        };
        self.rows(OF_RUNS, (flow.as_str(), parameters.to_string()), of_run)
    }

    /// Returns all open writes, or those of the workspaces of a name.
    ///
    /// # Errors
    /// [`HomeError::Database`].
    pub fn open_writes(&self, workspace: Option<&WorkspaceName>) -> Result<Vec<OpenWrite>, HomeError> {
        self.rows(ALL, [workspace.map(WorkspaceName::as_str)], write)
    }

    /// Returns the writes of workspaces of these names, of flows or not, that were begun and of which no event says what came
    /// of them. Goes through the whole chain, past its indexes: it is for workspaces that cannot say it themselves.
    ///
    /// # Errors
    /// As [`Journal::read`].
    pub fn begun_in(&self, names: &BTreeSet<WorkspaceName>) -> Result<Vec<OpenWrite>, HomeError> {
        let read = || -> Result<Begun, rusqlite::Error> {
            let connection = self.connection();
            let mut statement =
                connection.prepare_cached("SELECT kind, body_json FROM events NOT INDEXED ORDER BY seq")?;
            let mut rows = statement.query([])?;
            let mut begun = Begun::new();
            while let Some(row) = rows.next()? {
                let kind = row.get_ref(0)?.as_str()?;
                if FOLLOWED.contains(&kind)
                    && let Ok(body) = serde_json::from_str(row.get_ref(1)?.as_str()?)
                {
                    take_over(&mut begun, names, kind, &body);
                }
            }
            Ok(begun)
        };
        Ok(read().map_err(self.failed("read"))?.into_values().collect())
    }

    /// Reads rows; one that somebody broke by hand is left out.
    fn rows<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl Fn(&Row<'_>) -> Result<Option<T>, rusqlite::Error>,
    ) -> Result<Vec<T>, HomeError> {
        let all = |connection: &Connection| -> Result<Vec<Option<T>>, rusqlite::Error> {
            connection.prepare_cached(sql)?.query_map(parameters, |row| read(row))?.collect()
        };
        let rows = all(&self.connection()).map_err(self.failed("read"))?;
        Ok(rows.into_iter().flatten().collect())
    }
}

fn write(row: &Row<'_>) -> Result<Option<OpenWrite>, rusqlite::Error> {
    let (response, run) = (row.get::<_, i64>(2)?, row.get::<_, Option<String>>(3)?);
    let response = u64::try_from(response).ok().map(ResponseId);
    let of_flow = run.as_deref() != Some(BY_HAND);
    let root = run.filter(|_| of_flow);
    let text = |at| row.get::<_, Option<String>>(at);
    let (adapter, tool, arguments) = (text(4)?, text(5)?, text(6)?);
    let call = OpenCall::read(adapter.as_deref(), tool.as_deref(), arguments.as_deref());
    let open = |(workspace, response)| OpenWrite { workspace, response, of_flow, root, call };
    Ok(identity(row, 0)?.zip(response).map(open))
}

fn identity(row: &Row<'_>, at: usize) -> Result<Option<WorkspaceIdentity>, rusqlite::Error> {
    let (name, id) = (row.get::<_, String>(at)?, row.get(at + 1)?);
    Ok(name.parse().ok().map(|name| WorkspaceIdentity { name, id }))
}
