//! A request under way: from the start in the journal to the outcome in journal and workspace.
//!
//! Invariants: whatever happens, one outcome is written: an answer, a failure, or, when the call is dropped
//! while it runs, `cancelled` for a read and `in_doubt` for a write; everything that is written or returned has
//! passed the redactor.

use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, HeaderValue, Method, header};
use jiff::Timestamp;
use rote_govern::Redactor;
use rote_govern::audit::{DENIED, FAILED, FINISHED, IN_DOUBT};
use rote_govern::egress::{AllowedRange, Route, Target, match_url};
use rote_types::{CallLimits, Classify, ResponseId, ResponseRef};
use rote_workspace::{DecodedBody, RecordedOutcome, Recording, RequestRecord};

use crate::credential::{Credential, inject};
use crate::egress::{Answer, Egress, SendFailure, Wire, authority};
use crate::error::RecordError;
use crate::gate::GateParts;
use crate::invocation::Invocation;
use crate::journal::{Ending, Entry};
use crate::redaction::{self, text};
use crate::request::Outgoing;
use crate::{GateError, UpstreamFailure};

/// Most redirects that one read follows, within its own route.
const MAX_HOPS: usize = 5;

/// What sending needs besides the request.
pub(crate) struct Passage<'p> {
    pub(crate) egress: &'p Egress,
    pub(crate) route: Option<&'p Route>,
    /// The request without credentials, for redirects.
    pub(crate) plain: Option<&'p Outgoing>,
    pub(crate) credentials: &'p [Credential],
    pub(crate) allowed: &'p [AllowedRange],
    pub(crate) limits: &'p CallLimits,
}

impl Passage<'_> {
    /// Sends the request; a read follows redirects that stay within the tool's own route, each as a new
    /// request through the same checks.
    pub(crate) async fn run(&self, outgoing: Outgoing) -> Result<Answer, SendFailure> {
        let host = authority(&outgoing.target);
        let work = self.hops(outgoing);
        match tokio::time::timeout(self.limits.total, work).await {
            Ok(result) => result,
            Err(_) => Err(UpstreamFailure::Timeout { host, stage: "total", limit: self.limits.total }.into()),
        }
    }

    async fn hops(&self, mut outgoing: Outgoing) -> Result<Answer, SendFailure> {
        for _ in 0..MAX_HOPS {
            let answer = self.once(&outgoing).await?;
            let Some(next) = self.next_hop(&answer, &outgoing) else {
                return Ok(answer);
            };
            outgoing = next;
        }
        self.once(&outgoing).await
    }

    async fn once(&self, outgoing: &Outgoing) -> Result<Answer, SendFailure> {
        let wire = Wire {
            method: outgoing.method.clone(),
            target: &outgoing.target,
            headers: header_map(outgoing),
            body: outgoing.body.clone(),
        };
        self.egress.exchange(wire, self.allowed, self.limits).await
    }

    fn next_hop(&self, answer: &Answer, outgoing: &Outgoing) -> Option<Outgoing> {
        let reads = matches!(outgoing.method, Method::GET | Method::HEAD);
        if !reads || !is_redirect(answer.status) {
            return None;
        }
        let target = self.redirect_target(answer, &outgoing.target)?;
        let mut next = Outgoing { target, ..self.plain?.clone() };
        inject(&mut next, self.credentials, self.route?).ok()?;
        Some(next)
    }

    fn redirect_target(&self, answer: &Answer, from: &Target) -> Option<Target> {
        let location = answer.location.as_deref()?;
        // Resolved as text, so that a dot segment in it is still seen and refused.
        let absolute = match location.starts_with('/') && !location.starts_with("//") {
            true => format!("{}{location}", from.url().origin().ascii_serialization()),
            false => location.to_owned(),
        };
        if absolute.starts_with('/') {
            return None;
        }
        match_url(&absolute, self.route?).ok()
    }
}

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

fn header_map(outgoing: &Outgoing) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(outgoing.headers.len() + 1);
    for (name, value) in &outgoing.headers {
        headers.append(name.clone(), value.clone());
    }
    if !outgoing.cookies.is_empty()
        && let Ok(mut cookies) = HeaderValue::from_str(&outgoing.cookies.join("; "))
    {
        cookies.set_sensitive(true);
        headers.insert(header::COOKIE, cookies);
    }
    headers
}

/// One started effect; it must land.
pub(crate) struct Flight<'g> {
    pub(crate) parts: &'g GateParts,
    pub(crate) invocation: &'g Invocation,
    pub(crate) entry: Entry,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) request: RequestRecord,
    pub(crate) response: ResponseId,
    pub(crate) started: Timestamp,
    pub(crate) since: Instant,
    pub(crate) landed: bool,
}

impl Flight<'_> {
    /// Records the outcome and says what the caller gets.
    pub(crate) fn land(mut self, result: Result<Answer, SendFailure>) -> Result<ResponseRef, GateError> {
        self.landed = true;
        match result {
            Ok(answer) => self.answered(answer),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    fn answered(&mut self, answer: Answer) -> Result<ResponseRef, GateError> {
        let (status, location) = (answer.status, answer.location.map(|location| text(&self.redactor, location)));
        let outcome = RecordedOutcome::Http {
            status,
            headers: redaction::headers(&self.redactor, answer.headers),
            // Decoded first: what a character set or JSON hides is masked as it is recorded.
            body: redaction::body(&self.redactor, DecodedBody::read(&answer.content_type, answer.body)),
            content_type: text(&self.redactor, answer.content_type),
            truncated: false,
        };
        let mut ending = Ending { status: Some(status), duration: self.since.elapsed(), ..Ending::default() };
        let stored = self.invocation.workspace.record(self.response, self.recording(outcome));
        let stored = stored.map(|stored| (stored.reference(), stored.body.broken_json().map(str::to_owned)));
        match &stored {
            Ok((response, _)) => ending.bytes = Some(response.bytes),
            Err(_) => ending.error = Some("the answer could not be recorded".to_owned()),
        }
        let closed = self.entry.close(self.parts, FINISHED, &ending);
        let unrecorded =
            |source| GateError::ExecutedUnrecorded { response: self.response, status: Some(status), source };
        let (response, broken) = stored.map_err(|error| unrecorded(RecordError::Workspace(error)))?;
        match closed {
            Ok(()) => {}
            Err(GateError::Home(error)) => return Err(unrecorded(RecordError::Journal(error))),
            Err(other) => return Err(other),
        }
        let judged = self.judge(response, location)?;
        let Some(problem) = broken else { return Ok(judged) };
        let (adapter, tool) = (self.invocation.adapter.id.clone(), self.invocation.tool.name.clone());
        Err(GateError::BrokenJson { response: judged, adapter, tool, problem })
    }

    /// An answer is a success below 300 and a failure from 400 on; between them stand unfollowed redirects.
    fn judge(&self, response: ResponseRef, location: Option<String>) -> Result<ResponseRef, GateError> {
        let (adapter, tool) = (self.invocation.adapter.id.clone(), self.invocation.tool.name.clone());
        match (response.status, location) {
            (400.., _) => Err(GateError::Http { response, adapter, tool }),
            (status, Some(location)) if is_redirect(status) => {
                let reason = match self.entry.writes {
                    true => "a write is never sent twice",
                    false => "it does not lead to the same tool at the same origin",
                };
                let tool = format!("{adapter}/{tool}");
                Err(GateError::Redirected { response, tool, location, reason })
            }
            _ => Ok(response),
        }
    }

    fn failed(&mut self, failure: SendFailure) -> GateError {
        let refused = matches!(failure, SendFailure::Refused(_));
        let error = match failure.into_error(Some(self.response)) {
            GateError::Upstream { response, failure, .. } => {
                let adapter = Some(self.invocation.adapter.id.clone());
                GateError::Upstream { response, adapter, failure: clean(failure, &self.redactor) }
            }
            GateError::Egress { refusal, .. } => {
                GateError::Egress { refusal, adapter: Some(self.invocation.adapter.id.clone()) }
            }
            other => other,
        };
        let code = match &error {
            GateError::Upstream { failure, .. } => failure.code(),
            other => other.kind().as_str(),
        };
        if refused {
            let mut denied = self.entry.clone();
            denied.refuse(crate::stage::rule_of(&error), &error.to_string(), &self.redactor);
            if let Err(problem) = denied.note(self.parts, DENIED) {
                tracing::warn!(error = %problem, "a refusal could not be journaled");
            }
        }
        // A write whose answer was lost on the way may have happened all the same.
        let kind = if self.entry.writes && is_open(&error) { IN_DOUBT } else { FAILED };
        match self.record_failure(kind, code, &error.to_string()) {
            // Whether a write happened is not known, so its loss must not look like a plain failure.
            Err(source) if self.entry.writes && !refused => {
                GateError::ExecutedUnrecorded { response: self.response, status: None, source }
            }
            Err(source) => {
                tracing::warn!(error = %source, "a failure could not be recorded");
                error
            }
            Ok(()) => error,
        }
    }

    fn record_failure(&self, kind: &'static str, code: &str, message: &str) -> Result<(), RecordError> {
        let message = text(&self.redactor, message.to_owned());
        let outcome = RecordedOutcome::Failed { kind: code.to_owned(), message: message.clone() };
        let recorded = self.invocation.workspace.record(self.response, self.recording(outcome));
        let ending = Ending { error: Some(message), duration: self.since.elapsed(), ..Ending::default() };
        let closed = self.entry.close(self.parts, kind, &ending);
        recorded?;
        match closed {
            Err(GateError::Home(error)) => Err(RecordError::Journal(error)),
            _ => Ok(()),
        }
    }

    fn recording(&self, outcome: RecordedOutcome) -> Recording {
        Recording { request: self.request.clone(), outcome, started: self.started, duration: self.since.elapsed() }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.landed {
            return;
        }
        let (kind, message) = match self.entry.writes {
            true => (IN_DOUBT, "the call was given up while it ran; whether it happened is not known"),
            false => (FAILED, "the call was given up while it ran"),
        };
        if let Err(error) = self.record_failure(kind, "cancelled", message) {
            tracing::warn!(%error, "a cancelled call could not be recorded");
        }
    }
}

/// Whether the remote may have acted although there is no answer.
fn is_open(error: &GateError) -> bool {
    let GateError::Upstream { failure, .. } = error else {
        return false;
    };
    match failure {
        UpstreamFailure::Timeout { stage, .. } => matches!(*stage, "first byte" | "total"),
        UpstreamFailure::Protocol { .. } | UpstreamFailure::Cancelled { .. } => true,
        _ => false,
    }
}

/// Takes secrets out of the only free text that a failure has.
fn clean(failure: UpstreamFailure, redactor: &Redactor) -> UpstreamFailure {
    match failure {
        UpstreamFailure::Unreachable { host, message } => {
            UpstreamFailure::Unreachable { host, message: text(redactor, message) }
        }
        UpstreamFailure::Encoding { host, message } => {
            UpstreamFailure::Encoding { host, message: text(redactor, message) }
        }
        UpstreamFailure::Protocol { host, message } => {
            UpstreamFailure::Protocol { host, message: text(redactor, message) }
        }
        other => other,
    }
}
