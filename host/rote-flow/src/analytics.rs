//! What runs cost: `storage/flow_analytics.db`, one row for each run, and what they saved against the baseline.
//!
//! A row is written after the run. Losing one loses a statistic; the journal has the run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rote_home::{Creation, open_database};
use rote_types::{CONCEALED, Classify, Clock, ErrorKind, FlowName, Sha256Digest, WorkspaceName};
use rote_workspace::Workspace;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, ToSql, params};
use serde::Serialize;
use serde_json::Value;

use crate::error::LibraryError;
use crate::report::{RunReport, RunStatus};
use crate::{FlowError, Frontmatter, Library};

/// The database's name below `storage/`.
const FILE: &str = "flow_analytics.db";
/// Shortest text that is concealed in the error of a run.
const MIN_CONCEALED: usize = 4;
const MIGRATIONS: &[&str] = &["CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    flow TEXT NOT NULL,
    version TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    workspace TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    duration_ms INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    resumed INTEGER NOT NULL,
    tokens INTEGER,
    baseline_tokens INTEGER NOT NULL,
    baseline_ms INTEGER NOT NULL,
    model TEXT,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_flow ON runs (flow, id);"];
/// Rows of one flow that its statistics look at, the last ones.
const WINDOW: i64 = 1_000;

/// How a run ended, for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd<'a> {
    /// Well.
    Completed,
    /// Not, for this reason.
    Stopped(&'a str),
}

/// What came of a recorded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunRowStatus {
    /// It ended well.
    Completed,
    /// It ended well, and went on although a step failed.
    Partial,
    /// It did not end well.
    Stopped,
    /// It did not end well, and left a write in doubt.
    InDoubt,
}

impl RunRowStatus {
    const ALL: [Self; 4] = [Self::Completed, Self::Partial, Self::Stopped, Self::InDoubt];

    /// Returns the word in the database and in machine output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Partial => "partial",
            Self::Stopped => "stopped",
            Self::InDoubt => "in_doubt",
        }
    }

    fn is_well(self) -> bool {
        matches!(self, Self::Completed | Self::Partial)
    }
}

impl From<RunStatus> for RunRowStatus {
    fn from(status: RunStatus) -> Self {
        match status {
            RunStatus::Completed => Self::Completed,
            RunStatus::Partial => Self::Partial,
        }
    }
}

impl ToSql for RunRowStatus {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

impl FromSql for RunRowStatus {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = value.as_str()?;
        Self::ALL.into_iter().find(|one| one.as_str() == word).ok_or(FromSqlError::InvalidType)
    }
}

/// One recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// The workspace of the run.
    pub workspace: String,
    /// The flow's version.
    pub version: String,
    /// What came of it.
    pub status: RunRowStatus,
    /// Why it stopped.
    pub error: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Calls that it made.
    pub calls: u64,
    /// When it ended.
    pub at: String,
}

/// What the runs of one flow were like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowStats {
    pub flow: String,
    /// Runs that the figures are of: at most the last 1,000.
    pub runs: u64,
    /// Runs that ended well, the partial ones included.
    pub completed: u64,
    /// Those of them that went on although a step failed.
    pub partial: u64,
    /// Runs that stopped and left a write in doubt.
    pub in_doubt: u64,
    /// Their share, 0 to 1.
    pub success_rate: f64,
    /// Median duration of completed runs in milliseconds.
    pub p50_ms: Option<u64>,
    /// 95th percentile of the same.
    pub p95_ms: Option<u64>,
    /// Tokens that completed runs showed to the caller.
    pub tokens_used: u64,
    /// Tokens that doing the same by hand had cost, minus those used; never less than 0.
    pub tokens_saved: u64,
    /// When the last run ended.
    pub last_run: Option<String>,
    /// The last failures, newest first.
    pub errors: Vec<RunRow>,
}

/// How the runs of one flow went, in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrackRecord {
    /// Share of the runs that ended well, 0 to 1.
    pub success_rate: f64,
    pub runs: u64,
    /// When the last one ended.
    pub last_run: Option<String>,
}

/// A text without others, as they are and as JSON has them. A short one would be found everywhere.
fn without(text: &str, mut concealed: Vec<String>) -> String {
    concealed.retain(|one| one.len() >= MIN_CONCEALED);
    concealed.sort_by_key(|one| std::cmp::Reverse(one.len()));
    concealed.iter().fold(text.to_owned(), |text, one| {
        let quoted = Value::from(one.as_str()).to_string();
        let text = text.replace(quoted.trim_matches('"'), CONCEALED).replace(one, CONCEALED);
        // What an error quotes may be cut off within it.
        let ends = one.char_indices().map(|(end, _)| end).filter(|end| *end >= MIN_CONCEALED);
        ends.rev().fold(text, |text, end| text.replace(&format!("{}…", &one[..end]), CONCEALED))
    })
}

/// The runs of the flows of a library, counted.
#[derive(Clone)]
pub struct Analytics {
    library: Library,
    clock: Arc<dyn Clock>,
    /// The database, once somebody asked.
    kept: Arc<OnceLock<Mutex<Connection>>>,
}

impl Analytics {
    /// Returns the analytics of a library; nothing is opened.
    #[must_use]
    pub fn new(library: Library, clock: Arc<dyn Clock>) -> Self {
        Self { library, clock, kept: Arc::default() }
    }

    /// Opens it once: whoever opens a database that nobody has open reads its whole write-ahead log.
    fn open(&self) -> Result<MutexGuard<'_, Connection>, FlowError> {
        let kept = match self.kept.get() {
            Some(kept) => kept,
            None => {
                let file = self.library.home.storage_dir().join(FILE);
                let opened = open_database(&file, MIGRATIONS, Creation::Unsynced)?;
                self.kept.get_or_init(|| Mutex::new(opened))
            }
        };
        Ok(kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes a run down, without the texts that are concealed.
    pub(crate) fn note_run(
        &self,
        frontmatter: &Frontmatter,
        digest: Sha256Digest,
        workspace: &Workspace,
        result: &Result<RunReport, FlowError>,
        (duration_ms, concealed): (u64, Vec<String>),
    ) -> Result<(), FlowError> {
        // A run that waits for a person is not over.
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::ConfirmationNeeded) {
            return Ok(());
        }
        let end = result.as_ref().err().map(|error| without(&error.to_string(), concealed));
        let status = match result {
            Ok(report) => report.status.into(),
            Err(_) if workspace.doubts(1)?.is_empty() => RunRowStatus::Stopped,
            Err(_) => RunRowStatus::InDoubt,
        };
        let shown = result.as_ref().ok().map(shown_bytes);
        let resumed = result.as_ref().is_ok_and(|report| report.steps.iter().any(|step| step.resumed));
        let calls = result.as_ref().map_or(0, |report| report.steps.len());
        let failed = |source| FlowError::Library(LibraryError::Analytics { action: "write a run down", source });
        self.open()?
            .execute(
                "INSERT INTO runs (flow, version, sha256, workspace, status, error, duration_ms, calls, resumed, tokens, \
                 baseline_tokens, baseline_ms, model, at) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)",
                params![
                    frontmatter.name.as_str(),
                    frontmatter.version,
                    digest.to_string(),
                    workspace.name().as_str(),
                    status,
                    end,
                    signed(duration_ms),
                    signed(calls as u64),
                    resumed,
                    // The vocabulary takes longer to load than a run: a quarter of the bytes is near enough here.
                    shown.map(|bytes| signed(bytes.div_ceil(4))),
                    signed(frontmatter.baseline.tokens),
                    signed(frontmatter.baseline.duration_ms),
                    frontmatter.provenance.model,
                    self.clock.now().to_string(),
                ],
            )
            .map_err(failed)?;
        Ok(())
    }

    /// Writes down a run that was made elsewhere, as the SDK's exit hook does.
    ///
    /// # Errors
    /// The flow does not exist or the database refused.
    pub fn record_invocation(
        &self,
        flow: &FlowName,
        workspace: Option<&WorkspaceName>,
        end: RunEnd<'_>,
        duration_ms: u64,
    ) -> Result<(), FlowError> {
        let (_, package) = self.library.load(&crate::FlowReference::Name(flow.clone()))?;
        let error = match end {
            RunEnd::Completed => None,
            RunEnd::Stopped(why) => Some(why),
        };
        let failed = |source| FlowError::Library(LibraryError::Analytics { action: "write a run down", source });
        self.open()?
            .execute(
                "INSERT INTO runs (flow, version, sha256, workspace, status, error, duration_ms, calls, resumed, \
                 baseline_tokens, baseline_ms, at) VALUES (?1,?2,?3,?4,?5,?6,?7,0,0,?8,?9,?10)",
                params![
                    flow.as_str(),
                    package.frontmatter.version,
                    package.digest().to_string(),
                    workspace.map_or("", |workspace| workspace.as_str()),
                    if error.is_none() { RunRowStatus::Completed } else { RunRowStatus::Stopped },
                    error,
                    signed(duration_ms),
                    signed(package.frontmatter.baseline.tokens),
                    signed(package.frontmatter.baseline.duration_ms),
                    self.clock.now().to_string(),
                ],
            )
            .map_err(failed)?;
        Ok(())
    }

    /// Returns what the runs of a flow were like.
    ///
    /// # Errors
    /// The database refused.
    pub fn stats(&self, flow: &FlowName) -> Result<FlowStats, FlowError> {
        let failed = |source| FlowError::Library(LibraryError::Analytics { action: "read the runs", source });
        let connection = self.open()?;
        stats_of(&connection, flow.as_str()).map_err(failed)
    }

    /// Returns the same for every flow that ever ran, most runs first.
    ///
    /// # Errors
    /// The database refused.
    pub fn all_stats(&self) -> Result<Vec<FlowStats>, FlowError> {
        let failed = |source| FlowError::Library(LibraryError::Analytics { action: "read the runs", source });
        let connection = self.open()?;
        let read = || -> rusqlite::Result<Vec<FlowStats>> {
            let mut names = connection.prepare("SELECT flow FROM runs GROUP BY flow ORDER BY count(*) DESC, flow")?;
            let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            names.iter().map(|name| stats_of(&connection, name)).collect()
        };
        read().map_err(failed)
    }

    /// Returns the track records of flows by name, for rankings; none for those that never ran.
    pub(crate) fn track_records(&self, flows: &[&FlowName]) -> Result<BTreeMap<String, TrackRecord>, FlowError> {
        let mut records = BTreeMap::new();
        if !self.library.home.storage_dir().join(FILE).exists() {
            return Ok(records);
        }
        let failed = |source| FlowError::Library(LibraryError::Analytics { action: "read the runs", source });
        let connection = self.open()?;
        let sql = "SELECT avg(status IN (?2, ?3)), count(*), max(at) FROM runs WHERE flow = ?1 HAVING count(*) > 0";
        let mut statement = connection.prepare(sql).map_err(failed)?;
        for flow in flows {
            let read = |row: &rusqlite::Row<'_>| {
                let runs = u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
                Ok(TrackRecord { success_rate: row.get(0)?, runs, last_run: row.get(2)? })
            };
            if let Some(record) = statement
                .query_row(params![flow.as_str(), RunRowStatus::Completed, RunRowStatus::Partial], read)
                .optional()
                .map_err(failed)?
            {
                records.insert(flow.to_string(), record);
            }
        }
        Ok(records)
    }
}

fn shown_bytes(report: &RunReport) -> u64 {
    let lines: usize = report.human.iter().chain(&report.summary).map(String::len).sum();
    (report.result.to_string().len() + lines) as u64
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn stats_of(connection: &Connection, flow: &str) -> rusqlite::Result<FlowStats> {
    struct Row {
        row: RunRow,
        tokens: u64,
        baseline: u64,
    }
    let unsigned = |number: i64| u64::try_from(number).unwrap_or_default();
    let mut statement = connection.prepare_cached(
        "SELECT workspace, version, status, error, duration_ms, calls, at, coalesce(tokens, 0), baseline_tokens \
         FROM runs WHERE flow = ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let rows = statement.query_map(params![flow, WINDOW], |row| {
        Ok(Row {
            row: RunRow {
                workspace: row.get(0)?,
                version: row.get(1)?,
                status: row.get(2)?,
                error: row.get(3)?,
                duration_ms: unsigned(row.get(4)?),
                calls: unsigned(row.get(5)?),
                at: row.get(6)?,
            },
            tokens: unsigned(row.get(7)?),
            baseline: unsigned(row.get(8)?),
        })
    })?;
    let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
    let completed: Vec<&Row> = rows.iter().filter(|row| row.row.status.is_well()).collect();
    let mut times: Vec<u64> = completed.iter().map(|row| row.row.duration_ms).collect();
    times.sort_unstable();
    let share = |part: usize, whole: usize| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    Ok(FlowStats {
        flow: flow.to_owned(),
        runs: rows.len() as u64,
        completed: completed.len() as u64,
        in_doubt: rows.iter().filter(|row| row.row.status == RunRowStatus::InDoubt).count() as u64,
        partial: completed.iter().filter(|row| row.row.status == RunRowStatus::Partial).count() as u64,
        success_rate: share(completed.len(), rows.len()),
        p50_ms: percentile(&times, 50),
        p95_ms: percentile(&times, 95),
        tokens_used: completed.iter().map(|row| row.tokens).sum(),
        tokens_saved: completed.iter().map(|row| row.baseline.saturating_sub(row.tokens)).sum(),
        last_run: rows.first().map(|row| row.row.at.clone()),
        errors: rows.iter().filter(|row| row.row.error.is_some()).take(5).map(|row| row.row.clone()).collect(),
    })
}

/// The nearest-rank percentile of sorted numbers.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let numbers: Vec<u64> = (1..=100).collect();
        assert_eq!((percentile(&numbers, 50), percentile(&numbers, 95)), (Some(50), Some(95)));
        assert_eq!((percentile(&[7], 50), percentile(&[7], 95), percentile(&[], 50)), (Some(7), Some(7), None));
    }
}
