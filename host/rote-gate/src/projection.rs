//! Files that are projections of the journal: `write_guard_<date>.jsonl` and `write_guard_nonces.json`.
//!
//! Invariants: the journal is the truth and these files can be made again from it byte for byte; lines stand
//! in the order of the journal, because one lock spans the append to both; a process that dies between the
//! two leaves a mark, and the next one repairs the file before it goes on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rote_govern::audit::{GuardLine, JournalLine, write_guard_line};
use rote_home::{Event, FileMode, Home, HomeError, Journal, append_line, lock, remove_file, write_atomic};
use rote_types::AdapterId;
use serde_json::json;

/// Longest wait for another process that is writing to the same log.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Events read at a time.
const PAGE: usize = 10_000;

/// Appends to the journal and projects what was appended, as one step for other processes.
pub(crate) fn with_guard_log<T, E: From<HomeError>>(
    home: &Home,
    journal: &Journal,
    adapter: &AdapterId,
    append: impl FnOnce() -> Result<(T, Vec<Event>), E>,
) -> Result<T, E> {
    let dir = home.adapter_logs_dir(adapter);
    // An adapter that was removed and installed again has an empty folder and a history.
    let fresh = !lock_file(&dir).exists();
    let _lock = lock(&lock_file(&dir), LOCK_TIMEOUT)?;
    let mark = dir.join(".write_guard.pending");
    let marked = mark.exists();
    if !marked {
        write_atomic(&mark, b"", FileMode::Private)?;
    }
    let behind = marked || fresh;
    let appended = append();
    let projected = match &appended {
        Ok((_, events)) if !behind => append_lines(&dir, events),
        Err(_) if !behind => Ok(()),
        _ => rebuild_one(&dir, journal, adapter),
    };
    // The journal has it all; a log that cannot be written now is made whole by the next call or by a rebuild.
    match projected.and_then(|()| remove_file(&mark)) {
        Ok(()) => {}
        Err(error) => {
            tracing::warn!(%adapter, %error, "the write guard's log is behind the journal")
        }
    }
    appended.map(|(value, _)| value)
}

/// Writes `write_guard_nonces.json` of an adapter: its unexpired tokens, by hash. Editing it grants nothing.
pub(crate) fn write_nonces(
    home: &Home,
    journal: &Journal,
    adapter: &AdapterId,
    now: Timestamp,
) -> Result<(), HomeError> {
    let tokens = journal.pending_tokens(adapter, now)?;
    let rows: Vec<_> = tokens
        .iter()
        .map(|token| {
            json!({
                "id_hash": token.hash,
                "adapter": token.binding.adapter,
                "tool": token.binding.tool,
                "args_digest": token.binding.arguments,
                "scope": token.binding.scope,
                "created_at": token.created_at,
                "expires_at": token.expires_at,
                "consumed_at": token.consumed_at,
            })
        })
        .collect();
    let mut text = format!("{:#}", serde_json::Value::Array(rows));
    text.push('\n');
    write_atomic(&home.adapter_logs_dir(adapter).join("write_guard_nonces.json"), text.as_bytes(), FileMode::Private)
}

/// Every line of every log, by adapter and date.
pub(crate) type Logs = BTreeMap<AdapterId, BTreeMap<String, String>>;

/// Reads the whole journal, a page at a time, and returns the logs that it says there are.
pub(crate) fn logs_of(journal: &Journal, only: Option<&AdapterId>) -> Result<Logs, HomeError> {
    let mut logs = Logs::new();
    let mut next = 1;
    loop {
        let events = journal.read(next, PAGE)?;
        let Some(last) = events.last() else {
            return Ok(logs);
        };
        next = last.seq + 1;
        for guarded in events.iter().filter_map(line_of) {
            if only.is_none_or(|only| *only == guarded.adapter) {
                let log = logs.entry(guarded.adapter).or_default().entry(guarded.date).or_default();
                log.push_str(&guarded.line);
                log.push('\n');
            }
        }
    }
}

/// Makes the logs in `dir` those that are given; returns the names of files that were otherwise.
pub(crate) fn write_logs(dir: &Path, logs: &BTreeMap<String, String>) -> Result<Vec<PathBuf>, HomeError> {
    let mut changed = Vec::new();
    for (date, text) in logs {
        let path = log_file(dir, date);
        let bound = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let same = rote_home::read_capped(&path, bound).is_ok_and(|known| known == text.as_bytes());
        if !same {
            write_atomic(&path, text.as_bytes(), FileMode::Private)?;
            changed.push(path);
        }
    }
    for path in known_logs(dir)? {
        if !logs.keys().any(|date| log_file(dir, date) == path) {
            remove_file(&path)?;
            changed.push(path);
        }
    }
    Ok(changed)
}

/// Takes the lock of an adapter's log.
pub(crate) fn lock_log(dir: &Path) -> Result<rote_home::LockGuard, HomeError> {
    lock(&lock_file(dir), LOCK_TIMEOUT)
}

fn lock_file(dir: &Path) -> PathBuf {
    dir.join(".write_guard.lock")
}

fn log_file(dir: &Path, date: &str) -> PathBuf {
    dir.join(format!("write_guard_{date}.jsonl"))
}

fn line_of(event: &Event) -> Option<GuardLine> {
    let Event { seq, at, kind, effect, body, .. } = event;
    write_guard_line(JournalLine { seq: *seq, at: *at, kind, effect: effect.as_ref(), body })
}

fn append_lines(dir: &Path, events: &[Event]) -> Result<(), HomeError> {
    for guarded in events.iter().filter_map(line_of) {
        append_line(&log_file(dir, &guarded.date), &guarded.line, FileMode::Private)?;
    }
    Ok(())
}

fn rebuild_one(dir: &Path, journal: &Journal, adapter: &AdapterId) -> Result<(), HomeError> {
    let logs = logs_of(journal, Some(adapter))?.remove(adapter).unwrap_or_default();
    write_logs(dir, &logs).map(drop)
}

fn known_logs(dir: &Path) -> Result<Vec<PathBuf>, HomeError> {
    let failed = |source| HomeError::Io { action: "list", path: dir.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("write_guard_") && name.ends_with(".jsonl") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
