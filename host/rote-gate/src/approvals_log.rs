//! `audit/approvals.jsonl`, a projection of the journal: a line for each event about an approval, each with the digest of the one
//! before it.
//!
//! Invariants: the journal is the truth; the last line says how far the file has got, so that it is caught up with what came since and made
//! again where it does not fit; one process writes it at a time.

use std::time::Duration;

use rote_govern::audit::{JournalLine, approval_line};
use rote_home::{
    Event, FileMode, Home, HomeError, Journal, append_line, genesis, lock, read_capped, read_ends, write_atomic,
};
use rote_types::{Sha256Digest, sha256};
use serde_json::Value;

/// Longest wait for another process that writes it.
const WAIT: Duration = Duration::from_secs(10);
/// Events read at a time.
const PAGE: usize = 10_000;
/// Most bytes of a line; its arguments are a digest, and what it is about is one sentence.
const MAX_LINE: u64 = 64 << 10;
/// Most bytes of a file that is compared with what it should be; a longer one is written anew.
const MAX_LOG: u64 = 1 << 30;

/// Brings the log up to the journal. The journal has it where that fails.
pub fn project_approvals(home: &Home, journal: &Journal) {
    if let Err(error) = catch_up(home, journal) {
        tracing::warn!(%error, "the log of approvals is behind the journal");
    }
}

fn catch_up(home: &Home, journal: &Journal) -> Result<(), HomeError> {
    let _lock = lock(&home.approvals_lock(), WAIT)?;
    let path = home.approvals_log_file();
    let Some((seq, mut before)) = last_line(home, journal)? else {
        return write_atomic(&path, whole(journal)?.as_bytes(), FileMode::Private);
    };
    let mut next = seq + 1;
    loop {
        let events = journal.approvals(next, PAGE)?;
        let Some(last) = events.last() else { return Ok(()) };
        next = last.seq + 1;
        for event in &events {
            let line = line_of(event, before);
            append_line(&path, &line, FileMode::Private)?;
            before = sha256(line.as_bytes());
        }
    }
}

/// The number of the event that the last line is of, and that line's digest; none where the file is not what it was left as.
fn last_line(home: &Home, journal: &Journal) -> Result<Option<(u64, Sha256Digest)>, HomeError> {
    let Ok((_, tail)) = read_ends(&home.approvals_log_file(), MAX_LINE, MAX_LINE) else { return Ok(None) };
    let Some(text) = std::str::from_utf8(&tail).ok().and_then(|tail| tail.strip_suffix('\n')) else { return Ok(None) };
    let line = text.rsplit('\n').next().unwrap_or_default();
    let Ok(read) = serde_json::from_str::<Value>(line) else { return Ok(None) };
    let Some(seq) = read["seq"].as_u64() else { return Ok(None) };
    // A journal that was begun anew has another event there, or none.
    let event = journal.read(seq, 1)?.into_iter().next().filter(|event| event.seq == seq);
    let before = read["prev_sha256"].as_str().and_then(|digest| format!("sha256:{digest}").parse().ok());
    let fits = event.zip(before).is_some_and(|(event, before)| line_of(&event, before) == line);
    Ok(fits.then(|| (seq, sha256(line.as_bytes()))))
}

/// All that the journal says there is.
fn whole(journal: &Journal) -> Result<String, HomeError> {
    let (mut text, mut before, mut next) = (String::new(), genesis(), 1);
    loop {
        let events = journal.approvals(next, PAGE)?;
        let Some(last) = events.last() else { return Ok(text) };
        next = last.seq + 1;
        for event in &events {
            let line = line_of(event, before);
            before = sha256(line.as_bytes());
            text.push_str(&line);
            text.push('\n');
        }
    }
}

fn line_of(event: &Event, before: Sha256Digest) -> String {
    let Event { seq, at, kind, effect, body, .. } = event;
    approval_line(&JournalLine { seq: *seq, at: *at, kind, effect: effect.as_ref(), body }, before)
}

/// Makes the log again; returns how many lines it has, and whether it was otherwise. Without an event there is none.
pub(crate) fn rebuild(home: &Home, journal: &Journal) -> Result<(usize, bool), HomeError> {
    let _lock = lock(&home.approvals_lock(), WAIT)?;
    let (path, text) = (home.approvals_log_file(), whole(journal)?);
    let known = read_capped(&path, MAX_LOG).unwrap_or_default();
    let changed = known != text.as_bytes();
    if changed {
        write_atomic(&path, text.as_bytes(), FileMode::Private)?;
    }
    Ok((text.lines().count(), changed))
}
