//! Idempotency keys of rote's own: the header that an admitted write gets, and the write repeated with the same key.
//!
//! Invariants: the key is in the workspace and in the journal before the request starts; a write is repeated only while
//! it is in doubt, a bounded number of times, within the call's own time, each time with the same bytes; once a request
//! with the key may have left, only a success (2xx) of a later one ends the doubt. What else a server answers to it may
//! mean that the first is still being worked on, or nothing at all.

use std::time::Duration;

use http::{HeaderName, HeaderValue, header};
use rote_govern::Redactor;
use rote_govern::audit::{EffectRepeated, REPEATED};
use rote_govern::idempotency::{key_header, key_purpose};
use rote_home::{Durability, NewEvent};
use rote_types::{ResponseId, Sha256Digest};
use rote_workspace::Settlement;

use crate::egress::{Answer, SendFailure, authority};
use crate::flight::Passage;
use crate::gate::GateParts;
use crate::invocation::Invocation;
use crate::journal::Entry;
use crate::redaction::text;
use crate::request::{Outgoing, is_host_only};
use crate::stage::Admission;
use crate::{GateError, UpstreamFailure, doubt};

/// How long is waited before the second and the third request: for a connection that was just cut, then for a server
/// that is being restarted. There is no fourth.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];

/// Returns whether a header of that name can carry a key: it is a name, and not one that the host decides about.
#[must_use]
pub fn may_carry_key(name: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes())
        .is_ok_and(|name| ![header::CONTENT_TYPE, header::ACCEPT].contains(&name) && !is_host_only(name.as_str()))
}

/// The header and the purpose of the key that a call carries; `None` when it carries none of rote's own: it reads, its
/// API takes none as far as anybody said, or the caller gave one.
pub(crate) fn wanted(admission: &Admission<'_>, arguments: Sha256Digest) -> Option<(HeaderName, Sha256Digest)> {
    let Invocation { adapter, tool, .. } = admission.invocation;
    let name = key_header(adapter, tool).filter(|name| may_carry_key(name))?;
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let given = admission.outgoing.as_ref()?.headers.iter().any(|(known, _)| *known == name);
    (!given).then(|| key_purpose(adapter, tool, arguments)).flatten().map(|purpose| (name, purpose))
}

/// The key that a request carries.
pub(crate) struct Key {
    /// Whether a request with it may have left before.
    pub(crate) again: bool,
    /// The doubts that end with this request, which is made in place of theirs.
    replaces: Vec<ResponseId>,
}

impl Key {
    /// Takes the key of a number and adds it to the request, to what is shown of it and to what the journal gets.
    pub(crate) fn give(
        parts: &GateParts,
        admission: &mut Admission<'_>,
        entry: &mut Entry,
        outgoing: &mut Outgoing,
    ) -> Result<Option<Self>, GateError> {
        let Some((name, purpose)) = wanted(admission, entry.record.args_digest) else { return Ok(None) };
        let (workspace, response) = (&admission.invocation.workspace, entry.record.response);
        let claimed = workspace.claim_key(response, &purpose, &parts.entropy.uuid())?;
        let value = HeaderValue::from_str(&claimed.key).map_err(|_| {
            crate::request::refused("idempotency_key", format!("the key of `{response}` cannot stand in a header"))
        })?;
        outgoing.headers.push((name.clone(), value.clone()));
        if let Some(plain) = &mut admission.outgoing {
            plain.headers.push((name, value));
        }
        entry.record.idempotency_key = Some(claimed.key);
        Ok(Some(Self { again: claimed.again, replaces: claimed.replaces }))
    }

    /// Ends the doubts in whose place this request is made; from here on it is this one that is in doubt.
    pub(crate) fn replace(&self, parts: &GateParts, invocation: &Invocation) -> Result<(), GateError> {
        let said: Vec<_> = self.replaces.iter().map(|response| (*response, Settlement::Repeat)).collect();
        doubt::settle(&parts.journal, &invocation.workspace, &said, None, parts.clock.now())?;
        Ok(())
    }
}

/// How a write with a key is repeated.
pub(crate) struct Repeats<'r> {
    pub(crate) parts: &'r GateParts,
    pub(crate) entry: Entry,
    pub(crate) redactor: &'r Redactor,
    /// A request with the key may have left before this call.
    pub(crate) again: bool,
}

impl Repeats<'_> {
    /// Sends a write until it is answered, has plainly failed, or was tried often enough.
    pub(crate) async fn run(&self, passage: &Passage<'_>, outgoing: &Outgoing) -> Result<Answer, SendFailure> {
        let mut lost = match self.once(passage, outgoing, self.again).await {
            Attempt::Ended(result) => return result,
            Attempt::Lost(failure) => failure,
        };
        for (attempt, pause) in (2..).zip(PAUSES) {
            tokio::time::sleep(pause).await;
            if let Err(error) = self.note(attempt, &lost) {
                // What is not on record is not sent.
                tracing::warn!(%error, "a write was not repeated: the journal refused");
                break;
            }
            match self.once(passage, outgoing, true).await {
                Attempt::Ended(result) => return result,
                Attempt::Lost(failure) => lost = failure,
            }
        }
        Err(lost.into())
    }

    async fn once(&self, passage: &Passage<'_>, outgoing: &Outgoing, again: bool) -> Attempt {
        let host = authority(&outgoing.target);
        match passage.once(outgoing).await {
            Ok(answer) if again && !(200..300).contains(&answer.status) => {
                Attempt::Lost(UpstreamFailure::Unsettled { host, status: answer.status })
            }
            Err(failure) if again || passage.departure.has_left() => Attempt::Lost(failure.into_upstream(host)),
            ended => Attempt::Ended(ended),
        }
    }

    /// Writes that the effect is sent once more.
    fn note(&self, attempt: u32, lost: &UpstreamFailure) -> Result<(), GateError> {
        let record = &self.entry.record;
        let body = EffectRepeated {
            adapter: record.adapter.clone(),
            tool: record.tool.clone(),
            workspace: record.workspace.clone(),
            response: record.response,
            attempt,
            error: text(self.redactor, lost.to_string()),
        };
        let body = serde_json::to_value(body).unwrap_or_default();
        let event = NewEvent { kind: REPEATED, effect: Some(self.entry.effect.clone()), body };
        self.parts.journal.append(self.parts.clock.now(), Durability::Process, &[event])?;
        Ok(())
    }
}

/// What came of one request.
enum Attempt {
    Ended(Result<Answer, SendFailure>),
    /// It may have happened, and nobody knows.
    Lost(UpstreamFailure),
}
