//! Writes in doubt that a run may repeat unasked: those that the remote makes once, however often it gets them.
//!
//! Invariant: such a write is repeated only while the first request with its key is young, when the very same key will be
//! sent, rote's own or the caller's: by the same tool, to the same place, in the same header. Its doubt stays one until
//! the request that takes its place starts.

use jiff::{SignedDuration, Timestamp};
use rote_govern::idempotency::{KEY_LIFE, given_key_purpose, gives_key, key_header, key_purpose};
use rote_types::{ResponseId, Sha256Digest, ToolCall};
use rote_workspace::{ResponseSummary, Workspace};

use super::Runner;
use crate::FlowError;

/// A write that may be repeated, and until when.
pub(crate) type Offer = (ResponseId, Timestamp);

/// What is needed to judge keys.
pub(crate) struct Keys<'f> {
    runner: &'f Runner,
    /// `None` where nobody knows what time it is.
    now: Option<Timestamp>,
}

impl<'f> Keys<'f> {
    pub(crate) fn new(runner: &'f Runner) -> Result<Self, FlowError> {
        let now = rote_gate::known_time(&runner.parts.journal, &*runner.parts.clock)?;
        Ok(Self { runner, now })
    }

    /// Returns until when a write in doubt may be repeated unasked; `since` is when such a call was first made.
    pub(crate) fn offer(
        &self,
        workspace: &Workspace,
        doubt: &ResponseSummary,
        call: &ToolCall,
        since: Timestamp,
    ) -> Result<Option<Offer>, FlowError> {
        let Some(until) = self.now.and_then(|now| young_until(since, now)) else { return Ok(None) };
        let Some(known) = workspace.key_purpose(doubt.id)? else { return Ok(None) };
        if rote_gate::is_half_said(&self.runner.parts.journal, workspace, doubt)? {
            return Ok(None);
        }
        Ok((self.purpose_now(workspace, doubt, call)? == Some(known)).then_some((doubt.id, until)))
    }

    /// Returns the digest of the arguments that were sent under a number, where the journal knows that it was begun.
    pub(crate) fn sent(&self, workspace: &Workspace, id: ResponseId) -> Result<Option<Sha256Digest>, FlowError> {
        let started = self.runner.parts.journal.started(workspace.identity(), id)?;
        Ok(started.and_then(|started| serde_json::from_value(started.body["args_digest"].clone()).ok()))
    }

    /// What a key of the same call would be for by what is installed now.
    fn purpose_now(
        &self,
        workspace: &Workspace,
        doubt: &ResponseSummary,
        call: &ToolCall,
    ) -> Result<Option<String>, FlowError> {
        // The arguments of the log are masked; the journal has the digest of those that were sent.
        let Some(digest) = self.sent(workspace, doubt.id)? else { return Ok(None) };
        let surface = &self.runner.pins().surface;
        let (Some(manifest), Some(tool)) = (surface.manifest(&call.adapter)?, surface.tool(&call.adapter, &call.tool)?)
        else {
            return Ok(None);
        };
        let purpose = match key_header(&manifest, &tool).filter(|header| !gives_key(header, &call.arguments)) {
            Some(_) => key_purpose(&manifest, &tool, digest),
            None => given_key_purpose(&manifest, &tool, &call.arguments, digest),
        };
        Ok(purpose.map(|purpose| purpose.to_string()))
    }
}

/// Until when a server still knows a key that was first sent then; `None` when it may have forgotten it, or when it was
/// first sent in the future.
fn young_until(since: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let until = since.checked_add(SignedDuration::try_from(KEY_LIFE).ok()?).ok()?;
    (since <= now && now <= until).then_some(until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trusted_for_a_while_and_never_by_a_clock_that_went_back() {
        let at = |second: i64| Timestamp::from_second(1_000_000 + second).unwrap();
        let life = i64::try_from(KEY_LIFE.as_secs()).unwrap();
        for (age, young) in [(0, true), (life, true), (life + 1, false), (-1, false)] {
            assert_eq!(young_until(at(0), at(age)), young.then_some(at(life)), "{age}");
        }
    }
}
