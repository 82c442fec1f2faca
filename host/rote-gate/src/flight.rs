//! A request under way: from the start in the journal to the outcome in journal and workspace.
//!
//! Invariants: whatever happens, one outcome is written: an answer, a failure, or that the effect is in doubt, by
//! the rule of `doubt`, also when the call is dropped while it runs; everything that is written or returned
//! has passed the redactor.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use http::{HeaderMap, HeaderValue, Method, header};
use jiff::Timestamp;
use rote_govern::Redactor;
use rote_govern::audit::{DENIED, FAILED, FINISHED, IN_DOUBT};
use rote_govern::egress::{AllowedRange, Target, match_url};
use rote_types::{CallLimits, Classify, ResponseId, ResponseRef};
use rote_workspace::{DecodedBody, LostAnswer, RecordedOutcome, Recording, RequestRecord};

use crate::credential::{Credential, Way, inject};
use crate::departure::Departure;
use crate::doubt::{Doubt, shown};
use crate::egress::{Answer, Egress, SendFailure, Wire, authority};
use crate::error::RecordError;
use crate::gate::GateParts;
use crate::idempotency::Repeats;
use crate::invocation::Invocation;
use crate::journal::{Ending, Entry};
use crate::redaction::{self, text};
use crate::request::Outgoing;
use crate::stage::Admission;
use crate::{GateError, UpstreamFailure};

/// Most redirects that one read follows, within its own route.
const MAX_HOPS: usize = 5;

/// What sending needs besides the request.
pub(crate) struct Passage<'p> {
    pub(crate) egress: &'p Egress,
    pub(crate) way: Option<Way<'p>>,
    /// The request without credentials, for redirects.
    pub(crate) plain: Option<&'p Outgoing>,
    pub(crate) credentials: &'p [Credential],
    pub(crate) allowed: &'p [AllowedRange],
    pub(crate) limits: &'p CallLimits,
    pub(crate) departure: &'p Departure,
    /// It changes something, so it follows no redirect.
    pub(crate) writes: bool,
    /// How it is sent more than once; a write that carries no key of rote's own is sent once, whatever comes back.
    pub(crate) repeats: Option<Repeats<'p>>,
}

impl Passage<'_> {
    /// Sends the request; a read follows redirects that stay within the tool's own route, each as a new
    /// request through the same checks.
    pub(crate) async fn run(&self, outgoing: Outgoing) -> Result<Answer, SendFailure> {
        let host = authority(&outgoing.target);
        let work = async {
            match &self.repeats {
                Some(repeats) => repeats.run(self, &outgoing).await,
                None => self.hops(outgoing).await,
            }
        };
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
        let answer = self.once(&outgoing).await?;
        let one_too_many = self.next_hop(&answer, &outgoing).is_some();
        Ok(Answer { one_too_many, ..answer })
    }

    /// Sends one request.
    pub(crate) async fn once(&self, outgoing: &Outgoing) -> Result<Answer, SendFailure> {
        let wire = Wire {
            method: outgoing.method.clone(),
            target: &outgoing.target,
            headers: header_map(outgoing),
            body: outgoing.body.clone(),
            departure: self.departure,
        };
        self.egress.exchange(wire, self.allowed, self.limits).await
    }

    fn next_hop(&self, answer: &Answer, outgoing: &Outgoing) -> Option<Outgoing> {
        let reads = matches!(outgoing.method, Method::GET | Method::HEAD);
        if self.writes || !reads || !is_redirect(answer.status) {
            return None;
        }
        let target = self.redirect_target(answer, &outgoing.target)?;
        let mut next = Outgoing { target, ..self.plain?.clone() };
        inject(&mut next, self.credentials, self.way.as_ref()?).ok()?;
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
        match_url(&absolute, self.way.as_ref()?.route).ok()
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
    pub(crate) departure: Departure,
    /// It carries an idempotency key with which a request may have left before.
    pub(crate) again: bool,
    pub(crate) landed: bool,
}

impl<'g> Flight<'g> {
    /// Begins with an effect whose start is in the journal.
    pub(crate) fn take_off(
        parts: &'g GateParts,
        admission: &Admission<'g>,
        entry: Entry,
        request: RequestRecord,
        again: bool,
    ) -> Self {
        Self {
            parts,
            invocation: admission.invocation,
            response: entry.record.response,
            entry,
            redactor: Arc::clone(&admission.redactor),
            request,
            started: parts.clock.now(),
            since: Instant::now(),
            departure: Departure::default(),
            again,
            landed: false,
        }
    }

    /// Makes sure that the number is still the call's; from here on the outcome is written here.
    pub(crate) fn hold(&self) -> Result<(), GateError> {
        self.invocation.workspace.hold(self.response)?;
        if self.response == self.invocation.response {
            self.invocation.begun.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Records the outcome and says what the caller gets.
    pub(crate) fn land(mut self, result: Result<Answer, SendFailure>) -> Result<ResponseRef, GateError> {
        self.landed = true;
        match result {
            Ok(answer) => self.answered(answer),
            Err(failure) => Err(self.failed(failure)),
        }
    }

    fn answered(&mut self, answer: Answer) -> Result<ResponseRef, GateError> {
        let (status, one_too_many) = (answer.status, answer.one_too_many);
        let location = answer.location.map(|location| text(&self.redactor, location));
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
            Err(_) => {
                let problem = "the answer could not be recorded";
                ending.error = Some(problem.to_owned());
                // Best effort: where this is refused as well, the end of the process leaves it in doubt.
                if self.entry.writes {
                    self.invocation.workspace.leave_in_doubt(self.response, &self.lost(problem.to_owned())).ok();
                }
            }
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
        let judged = self.judge(response, location, one_too_many)?;
        let Some(problem) = broken else { return Ok(judged) };
        let (adapter, tool) = (self.invocation.adapter.id.clone(), self.invocation.tool.name.clone());
        let wrote = self.entry.writes && judged.status < 300;
        Err(GateError::BrokenJson { response: judged, adapter, tool, problem, wrote })
    }

    /// Tells the caller of a failure or of an answer; a redirect that was not followed says where it leads.
    fn judge(
        &self,
        response: ResponseRef,
        location: Option<String>,
        one_too_many: bool,
    ) -> Result<ResponseRef, GateError> {
        let (adapter, tool) = (self.invocation.adapter.id.clone(), self.invocation.tool.name.clone());
        match (response.status, location) {
            _ if !response.is_failure() => Ok(response),
            (status, Some(location)) if is_redirect(status) => {
                let reason = match self.request.method.as_str() {
                    _ if self.entry.writes => "a write is never sent twice".to_owned(),
                    _ if one_too_many => format!("the call was redirected {MAX_HOPS} times before"),
                    "GET" | "HEAD" => "it does not lead to the same tool at the same origin".to_owned(),
                    method => format!("only GET and HEAD follow a redirect, and this is {method}"),
                };
                let tool = format!("{adapter}/{tool}");
                Err(GateError::Redirected { response, tool, location, reason })
            }
            _ => Err(GateError::Http { response, adapter, tool }),
        }
    }

    fn failed(&mut self, failure: SendFailure) -> GateError {
        let failure = match failure {
            failure if self.is_in_doubt() => {
                let host = self.entry.record.adapter.to_string();
                return self.left_in_doubt(failure.into_upstream(host));
            }
            failure => failure,
        };
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
        if let Err(source) = self.record_failure(code, &error.to_string()) {
            tracing::warn!(error = %source, "a failure could not be recorded");
        }
        error
    }

    /// The rule of `doubt` while its process lives: it writes, bytes of it may have left, and its answer is not here. A
    /// request that takes the place of one in doubt is that one.
    fn is_in_doubt(&self) -> bool {
        self.entry.writes && (self.again || self.departure.has_left())
    }

    fn left_in_doubt(&self, failure: UpstreamFailure) -> GateError {
        let failure = clean(failure, &self.redactor);
        if let Err(source) = self.record_doubt(failure.to_string()) {
            return GateError::ExecutedUnrecorded { response: self.response, status: self.departure.status(), source };
        }
        let (record, arguments) = (&self.entry.record, &self.invocation.arguments);
        let doubt = Doubt {
            workspace: record.workspace.name.clone(),
            response: self.response,
            adapter: Some(record.adapter.clone()),
            tool: Some(record.tool.clone()),
            method: self.request.method.clone(),
            url: record.url.clone(),
            arguments: shown(&self.redactor.value(arguments).unwrap_or_else(|| arguments.clone())),
            left: Some(self.started),
            status: self.departure.status(),
            problem: Some(failure.to_string()),
            flow: record.flow.clone(),
            key: record.idempotency_key.clone(),
            look: None,
        };
        GateError::InDoubt { doubt: Box::new(doubt), failure }
    }

    /// Writes that nobody knows whether it happened.
    fn record_doubt(&self, message: String) -> Result<(), RecordError> {
        let message = text(&self.redactor, message);
        let closed = self.close(IN_DOUBT, &message);
        self.invocation.workspace.leave_in_doubt(self.response, &self.lost(message))?;
        closed
    }

    fn record_failure(&self, code: &str, message: &str) -> Result<(), RecordError> {
        let message = text(&self.redactor, message.to_owned());
        let outcome = RecordedOutcome::Failed { kind: code.to_owned(), message: message.clone() };
        let recorded = self.invocation.workspace.record(self.response, self.recording(outcome));
        let closed = self.close(FAILED, &message);
        recorded?;
        closed
    }

    /// Writes an end without an answer into the journal.
    fn close(&self, kind: &'static str, message: &str) -> Result<(), RecordError> {
        let ending = Ending {
            status: self.departure.status(),
            error: Some(message.to_owned()),
            duration: self.since.elapsed(),
            ..Ending::default()
        };
        match self.entry.close(self.parts, kind, &ending) {
            Err(GateError::Home(error)) => Err(RecordError::Journal(error)),
            _ => Ok(()),
        }
    }

    fn lost(&self, message: String) -> LostAnswer {
        LostAnswer {
            request: self.request.clone(),
            status: self.departure.status(),
            message,
            started: self.started,
            duration: self.since.elapsed(),
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
        let written = match self.is_in_doubt() {
            true => self.record_doubt("the call was given up while it ran; it may have happened".to_owned()),
            false => self.record_failure("cancelled", "the call was given up while it ran"),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "a cancelled call could not be recorded");
        }
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
