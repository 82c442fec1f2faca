//! Documents by URL: API descriptions and what they refer to.
//!
//! Invariants: the same egress as any call; no credential; no other origin than the one that a person typed;
//! a private address only when the person typed a loopback address themselves.

use bytes::Bytes;
use http::{HeaderValue, Method, header};
use rote_govern::egress::{AllowedRange, EgressRefusal, Target, address_verdict};
use rote_govern::{GuardDecision, Risk, Rule, Verdict};
use rote_types::CallLimits;
use url::{Host, Url};

use super::{Course, Request};
use crate::authority::{Authority, HostTask, Performed};
use crate::effect::Claim;
use crate::invocation::ClaimedRequest;
use crate::request::{ACCEPT_ENCODING, Outgoing, USER_AGENT, refused, shown};
use crate::{Gate, GateError};

/// A fetch changes nothing.
pub(crate) const RISK_OF_FETCH: GuardDecision = GuardDecision {
    verdict: Verdict::Allow,
    rule: Rule::Task,
    reason: "a person asked for it, and fetching it changes nothing",
    risk: Risk::Low,
};

/// Says in one sentence what a fetch does.
pub(crate) fn impact_of_fetch(claimed: &ClaimedRequest) -> String {
    let bare = claimed.url.split(['?', '#']).next().unwrap_or_default();
    format!("fetches `{}`", shown(bare))
}

/// Reads a claim of a task that fetches.
pub(crate) fn of_document(task: &HostTask, claimed: &ClaimedRequest) -> Result<(Request, String), GateError> {
    let Some((typed, granted, _)) = task.fetches() else {
        return Err(refused("claim.kind", format!("the task `{}` fetches nothing", task.name())));
    };
    let egress = |refusal: EgressRefusal| GateError::Egress { refusal, adapter: None };
    let target = Target::parse(&claimed.url).map_err(egress)?;
    if claimed.method != Method::GET.as_str() || claimed.body.is_some() || !claimed.credentials.is_empty() {
        return Err(refused("fetch.request", "a document is fetched with a plain `GET`".to_owned()));
    }
    // One at another origin is refused for that (stage `scope`), whatever its address.
    if let (Ok(()), Some(address)) = (same_origin(target.url(), typed), target.literal()) {
        address_verdict(address, &granted, target.port()).map_err(egress)?;
    }
    let headers = vec![
        (header::USER_AGENT, HeaderValue::from_static(USER_AGENT)),
        (header::ACCEPT_ENCODING, HeaderValue::from_static(ACCEPT_ENCODING)),
        (header::ACCEPT, HeaderValue::from_static("application/json, application/yaml, */*;q=0.5")),
    ];
    let outgoing = Outgoing {
        method: Method::GET,
        target,
        headers,
        cookies: Vec::new(),
        body: None::<Bytes>,
        dropped: Vec::new(),
    };
    Ok((Request::new(outgoing, Course::Origin(typed.clone())), "the URL can be fetched".to_owned()))
}

/// Refuses another origin than that of the URL that a person typed.
pub(crate) fn same_origin(url: &Url, typed: &Url) -> Result<(), GateError> {
    if url.origin() == typed.origin() {
        return Ok(());
    }
    let (own, other) = (typed.origin().ascii_serialization(), url.origin().ascii_serialization());
    let message = format!("a document at `{own}` may not lead to `{other}`");
    let hint = Some("fetch the other document yourself and pass the files".to_owned());
    Err(GateError::Denied { rule: "fetch.origin".to_owned(), message, hint })
}

/// The grant that lies in typing a loopback address: that address and that port.
pub(crate) fn loopback_grant(typed: &Url) -> Vec<AllowedRange> {
    let ranges = match typed.host() {
        Some(Host::Ipv4(address)) if address.is_loopback() => vec![format!("{address}/32")],
        Some(Host::Ipv6(address)) if address.is_loopback() => vec![format!("{address}/128")],
        Some(Host::Domain("localhost")) => vec!["127.0.0.1/32".to_owned(), "::1/128".to_owned()],
        _ => Vec::new(),
    };
    let reason = "typed by a person";
    let grant = |cidr| AllowedRange { cidr, port: typed.port_or_known_default(), reason: reason.to_owned() };
    ranges.into_iter().filter_map(|range| range.parse().ok()).map(grant).collect()
}

impl Gate {
    /// Fetches a document of at most `limits.body_bytes` (64 MiB by default) from the origin of `typed`, a URL that a
    /// person typed.
    ///
    /// # Errors
    /// [`GateError::Egress`] for a URL or address that may not be reached, [`GateError::Denied`] for another
    /// origin, [`GateError::Upstream`] when the remote fails or answers with an error status.
    pub async fn fetch(&self, url: &Url, typed: &Url, limits: &CallLimits) -> Result<Vec<u8>, GateError> {
        // In the form in which it is dialled, as what is compared with it. One that has none is refused for that.
        let typed = Target::parse(typed.as_str()).map_or_else(|_| typed.clone(), |target| target.url().clone());
        self.document(&HostTask::Install { typed, limits: *limits }, url).await
    }

    /// Fetches what the answer of a call that reads redirects to: without credentials and without what the call said, over
    /// https or from a loopback address that `allowed` has, and from no other origin.
    ///
    /// # Errors
    /// As [`Gate::fetch`].
    pub async fn follow(
        &self,
        location: &str,
        allowed: &[AllowedRange],
        limits: &CallLimits,
    ) -> Result<Vec<u8>, GateError> {
        let target = Target::parse(location).map_err(|refusal| GateError::Egress { refusal, adapter: None })?;
        if !target.is_https() && !target.literal().is_some_and(|address| address.is_loopback()) {
            return Err(refused("fetch.cleartext", "what an answer leads to is fetched over https only".to_owned()));
        }
        let leads = target.url().clone();
        let task = HostTask::Follow { leads: leads.clone(), allowed: allowed.to_owned(), limits: *limits };
        self.document(&task, &leads).await
    }

    async fn document(&self, task: &HostTask, url: &Url) -> Result<Vec<u8>, GateError> {
        let claim = ClaimedRequest { method: "GET".to_owned(), url: url.to_string(), ..ClaimedRequest::default() };
        match self.perform(&Authority::Task(task), Claim::Http(claim)).await? {
            Performed::Fetched(bytes) => Ok(bytes),
            _ => Err(refused("claim.kind", format!("the task `{}` ended without a document", task.name()))),
        }
    }
}
