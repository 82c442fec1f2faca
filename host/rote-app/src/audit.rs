//! The journal: read, checked, projected again.

use jiff::Timestamp;
use rote_types::{EffectId, ErrorKind};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{App, AppError};

/// One event of the journal.
#[derive(Debug, Clone, Serialize)]
pub struct AuditEvent {
    /// Its place in the chain.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What kind.
    pub kind: String,
    /// The effect that it is about.
    pub effect: Option<EffectId>,
    /// What happened.
    pub body: Value,
    /// Hash over this event and the hash before.
    pub hash: String,
}

/// What a check of the journal found.
#[derive(Debug, Clone, Serialize)]
pub struct Verified {
    /// Events in the chain.
    pub events: u64,
    /// The hash of the last one; kept elsewhere, it proves later that nothing was cut off.
    pub head: String,
}

/// What a rebuild of the projections did.
#[derive(Debug, Clone, Serialize)]
pub struct Rebuilt {
    /// Files written.
    pub files: usize,
    /// Lines in them.
    pub lines: usize,
    /// Files that did not say what the journal says.
    pub changed: Vec<String>,
}

impl App {
    /// Returns the last events, oldest first.
    ///
    /// # Errors
    /// Conflict when the journal is damaged.
    pub fn audit_tail(&self, count: usize) -> Result<Vec<AuditEvent>, AppError> {
        let events = self.gate()?.tail(count)?.into_iter().map(|event| AuditEvent {
            seq: event.seq,
            at: event.at,
            kind: event.kind,
            effect: event.effect,
            body: event.body,
            hash: event.hash.hex(),
        });
        Ok(events.collect())
    }

    /// Checks the whole chain.
    ///
    /// # Errors
    /// Conflict when an event was changed, removed or added.
    pub fn audit_verify(&self) -> Result<Verified, AppError> {
        let report = self.gate()?.verify()?;
        if let Some(seq) = report.first_broken {
            let problem = report.problem.unwrap_or_else(|| "it does not follow from the one before".to_owned());
            let message = format!("the journal is broken at event {seq}");
            let details = json!({ "first_broken": seq, "events": report.events });
            return Err(AppError::new(ErrorKind::Conflict, message)
                .with_cause(problem)
                .with_details(details)
                .with_hint("restore `chronicle/journal.db` from a copy; nothing can mend it"));
        }
        Ok(Verified { events: report.events, head: report.head.to_string() })
    }

    /// Writes the projections of the journal again.
    ///
    /// # Errors
    /// General when a file cannot be written.
    pub fn audit_rebuild(&self) -> Result<Rebuilt, AppError> {
        let report = self.gate()?.rebuild()?;
        Ok(Rebuilt { files: report.files, lines: report.lines, changed: report.changed })
    }
}
