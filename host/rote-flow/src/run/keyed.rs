//! Writes in doubt that a run may repeat unasked: those that the remote makes once, however often it gets them.
//!
//! Invariant: such a write is repeated only while the first request with its key is young, and a key of rote's own only
//! when the very same key will be sent: by the same tool, to the same place, in the same header.

use jiff::{SignedDuration, Timestamp};
use rote_govern::idempotency::{KEY_LIFE, key_purpose};
use rote_types::{KeyHeader, ResponseId, Sha256Digest, ToolCall, names_idempotency_key};
use rote_workspace::{ResponseSummary, Settlement, Workspace};
use serde_json::Value;

use crate::{FlowError, Flows};

/// Whose idempotency key a write carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// The caller's, in an argument.
    Caller,
    /// Rote's own, in a header.
    Rote,
}

/// What is needed to judge keys.
pub(crate) struct Keys<'f> {
    flows: &'f Flows,
    now: Timestamp,
}

impl<'f> Keys<'f> {
    pub(crate) fn new(flows: &'f Flows) -> Self {
        Self { flows, now: flows.parts.clock.now() }
    }

    /// Returns whose key makes a write in doubt one that may be repeated unasked; `since` is when such a call was first
    /// made.
    pub(crate) fn carrier(
        &self,
        workspace: &Workspace,
        doubt: &ResponseSummary,
        call: &ToolCall,
        since: Timestamp,
    ) -> Result<Option<Carrier>, FlowError> {
        if !is_young(since, self.now) {
            return Ok(None);
        }
        if gives_a_key(&call.arguments) {
            // Whoever said that this API takes no keys said it of all.
            let manifest = self.flows.parts.surface.manifest(&call.adapter)?;
            let none = manifest.is_some_and(|manifest| manifest.idempotency_header == Some(KeyHeader::None));
            return Ok((!none).then_some(Carrier::Caller));
        }
        let Some(known) = workspace.key_purpose(doubt.id)? else { return Ok(None) };
        Ok((self.purpose_now(workspace, doubt, call)? == Some(known)).then_some(Carrier::Rote))
    }

    /// Returns the digest of the arguments that were sent under a number, where the journal knows that it was begun.
    pub(crate) fn sent(&self, workspace: &Workspace, id: ResponseId) -> Result<Option<Sha256Digest>, FlowError> {
        let started = self.flows.parts.journal.started(workspace.identity(), id)?;
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
        let Some(arguments) = self.sent(workspace, doubt.id)? else { return Ok(None) };
        let surface = &self.flows.parts.surface;
        let (Some(manifest), Some(tool)) = (surface.manifest(&call.adapter)?, surface.tool(&call.adapter, &call.tool)?)
        else {
            return Ok(None);
        };
        Ok(key_purpose(&manifest, &tool, arguments).map(|purpose| purpose.to_string()))
    }
}

impl Flows {
    /// Has a run repeat its keyed writes. With a key of rote's own the doubt stays one until a request with the same key
    /// starts; the caller's is in the arguments, so the call itself is the same.
    pub(crate) fn repeat(&self, workspace: &Workspace, keyed: &[(ResponseId, Carrier)]) -> Result<(), FlowError> {
        let of = |whose: Carrier| keyed.iter().filter(move |(_, carrier)| *carrier == whose).map(|(id, _)| *id);
        let said: Vec<_> = of(Carrier::Caller).map(|id| (id, Settlement::Repeat)).collect();
        rote_gate::settle(&self.parts.journal, workspace, &said, None, self.parts.clock.now())?;
        for id in of(Carrier::Rote) {
            workspace.offer_key(id)?;
        }
        Ok(())
    }
}

/// Whether a server still knows a key. A clock that was set back says nothing, and so the answer is no.
fn is_young(since: Timestamp, now: Timestamp) -> bool {
    let age = now.duration_since(since);
    !age.is_negative() && SignedDuration::try_from(KEY_LIFE).is_ok_and(|life| age <= life)
}

/// Whether the caller gave a key.
fn gives_a_key(arguments: &Value) -> bool {
    let is_key = |(name, value): (&String, &Value)| names_idempotency_key(name) && value.as_str() > Some("");
    arguments.as_object().is_some_and(|members| members.iter().any(is_key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_is_trusted_for_a_while_and_never_by_a_clock_that_went_back() {
        let at = |second: i64| Timestamp::from_second(1_000_000 + second).unwrap();
        let life = i64::try_from(KEY_LIFE.as_secs()).unwrap();
        for (age, young) in [(0, true), (life, true), (life + 1, false), (-1, false)] {
            assert_eq!(is_young(at(0), at(age)), young, "{age}");
        }
    }

    #[test]
    fn an_empty_key_is_not_one() {
        assert!(gives_a_key(&json!({"idempotency_key": "k"})));
        assert!(gives_a_key(&json!({"Idempotency-Key": "k"})));
        for arguments in [json!({"idempotency_key": ""}), json!({"idempotency_key": 7}), json!({"key": "k"}), json!([])]
        {
            assert!(!gives_a_key(&arguments), "{arguments}");
        }
    }
}
