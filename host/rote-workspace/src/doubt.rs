//! Writes in doubt: how one is recorded, listed and settled.
//!
//! A number in doubt is one without an outcome that nobody holds any more: its process is gone, or has seen that the
//! answer is lost. What a person says of it becomes its outcome, once; a recorded answer stays what it is, and what
//! the person says about it stands beside it.

use std::time::Duration;

use jiff::Timestamp;
use rote_types::ResponseId;
use serde_json::json;

use crate::record::{NewCommand, milliseconds};
use crate::store::{from_i64, to_i64, word};
use crate::{
    CommandKind, DecodedBody, RecordedOutcome, Recording, RequestRecord, ResponseState, ResponseSummary, Result,
    Settled, Workspace, WorkspaceError,
};

/// A write that left and whose answer is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostAnswer {
    /// The request.
    pub request: RequestRecord,
    /// The status that its answer began with, where the head of one came.
    pub status: Option<u16>,
    /// How the answer was lost, for a person; no secret in it.
    pub message: String,
    /// When the effect started.
    pub started: Timestamp,
    /// How long it took.
    pub duration: Duration,
}

/// What a person says of a write whose outcome is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// It happened.
    Done {
        /// What it answered, as JSON; none when it answered nothing that matters.
        answer: Option<String>,
    },
    /// It did not happen and shall not.
    Skip,
    /// It may be made again.
    Retry,
}

impl Settlement {
    /// Returns how the number is settled then.
    #[must_use]
    pub fn settled(&self) -> Settled {
        match self {
            Self::Done { .. } => Settled::Done,
            Self::Skip => Settled::Skipped,
            Self::Retry => Settled::Retried,
        }
    }
}

impl Workspace {
    /// Records that the answer of an allocated number is lost: it is in doubt from now on, also while this process
    /// lives.
    ///
    /// # Errors
    /// `AlreadyRecorded`, or the database refused.
    pub fn leave_in_doubt(&self, id: ResponseId, lost: &LostAnswer) -> Result<()> {
        // An owner without a name is nobody: see `owner`.
        let sql = "UPDATE responses SET owner = '', method = ?2, url = ?3, status = ?4, started_at = ?5, \
                   duration_ms = ?6, error = ?7 WHERE id = ?1 AND state = 'pending'";
        let changed = self.with("leave the response in doubt", |connection| {
            connection.prepare_cached(sql)?.execute(rusqlite::params![
                to_i64(id.0),
                lost.request.method,
                lost.request.url,
                lost.status,
                lost.started.to_string(),
                to_i64(milliseconds(lost.duration)),
                lost.message,
            ])
        })?;
        if changed == 0 { Err(WorkspaceError::AlreadyRecorded { id }) } else { Ok(()) }
    }

    /// Returns the writes in doubt, oldest first, at most `limit`.
    ///
    /// # Errors
    /// The database refused.
    pub fn doubts(&self, limit: usize) -> Result<Vec<ResponseSummary>> {
        let sql = "SELECT id FROM responses WHERE state = 'pending' AND NOT is_read ORDER BY id";
        let ids: Vec<i64> = self.with("find writes in doubt", |connection| {
            connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
        })?;
        let summaries = ids.into_iter().map(|id| self.summary(ResponseId(from_i64(id))));
        summaries
            .filter(|one| one.as_ref().map_or(true, |one| one.state == ResponseState::InDoubt))
            .take(limit)
            .collect()
    }

    /// Settles a write whose outcome is not known with what a person says of it.
    ///
    /// # Errors
    /// `NotInDoubt` when its outcome is known or settled, `BadDocument` for an answer that is not JSON, or a file or
    /// the database refused.
    pub fn settle(&self, id: ResponseId, settlement: &Settlement, at: Timestamp) -> Result<ResponseSummary> {
        let summary = self.settleable(id, settlement)?;
        let mut answer = None;
        if summary.state == ResponseState::InDoubt {
            self.record(id, outcome(&summary, settlement)?)?;
        } else if let Settlement::Done { answer: given } = settlement {
            let given = given.as_deref().unwrap_or("null");
            answer = Some(self.inject(&id.to_string(), given.as_bytes(), at)?.summary.id);
        }
        let settled = settlement.settled();
        let params = json!({ "id": id.to_string(), "settled": settled }).to_string();
        self.transact("settle the response", |transaction| {
            let sql = "UPDATE responses SET settled = ?2, answer = ?3 WHERE id = ?1";
            let answer = answer.map(|answer| to_i64(answer.0));
            transaction.prepare_cached(sql)?.execute((to_i64(id.0), word(settled), answer))?;
            NewCommand::local(CommandKind::Settle, params, at, None).append(transaction)
        })?;
        self.summary(id)
    }

    /// Returns a response that a person may settle so.
    ///
    /// # Errors
    /// `NotInDoubt`, `BadDocument`, or the database refused.
    pub fn settleable(&self, id: ResponseId, settlement: &Settlement) -> Result<ResponseSummary> {
        let summary = self.summary(id)?;
        // What did not happen may still be made, should the person think again.
        let again = summary.settled == Some(Settled::Skipped) && *settlement == Settlement::Retry;
        if !summary.is_open() && !again {
            let state = summary.settled.map_or(summary.state.as_str(), Settled::as_str);
            return Err(WorkspaceError::NotInDoubt { workspace: self.name().clone(), id, state });
        }
        if let Settlement::Done { answer: Some(text) } = settlement {
            serde_json::from_str::<serde::de::IgnoredAny>(text)
                .map_err(|error| WorkspaceError::BadDocument { message: error.to_string() })?;
        }
        Ok(summary)
    }
}

/// What is recorded under a number in doubt once it is settled.
fn outcome(summary: &ResponseSummary, settlement: &Settlement) -> Result<Recording> {
    let failed = |kind: Settled, message: &str| RecordedOutcome::Failed {
        kind: kind.as_str().to_owned(),
        message: message.to_owned(),
    };
    let outcome = match settlement {
        Settlement::Done { answer } => RecordedOutcome::Http {
            // RFC 9110 §15.3: a success with content is 200, one without is 204.
            status: summary.status.unwrap_or(if answer.is_some() { 200 } else { 204 }),
            headers: Vec::new(),
            content_type: answer.as_ref().map_or_else(String::new, |_| "application/json".to_owned()),
            body: DecodedBody::read("application/json", answer.clone().unwrap_or_default().into_bytes()),
            truncated: false,
        },
        Settlement::Skip => failed(Settled::Skipped, "a person said that it did not happen and shall not"),
        Settlement::Retry => failed(Settled::Retried, "a person said that it may be made again"),
    };
    let adapter = summary.adapter.as_ref().map(|adapter| format!("adapter/{adapter}"));
    let request = RequestRecord {
        url: summary.url.clone(),
        method: summary.method.clone(),
        endpoint: adapter.unwrap_or_default(),
        ..RequestRecord::default()
    };
    let duration = Duration::from_millis(summary.duration_ms.unwrap_or(0));
    Ok(Recording { request, outcome, started: summary.at, duration })
}
