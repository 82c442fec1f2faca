//! Documents by URL: API descriptions and what they refer to.
//!
//! Invariants: the same egress as any call; no credential; no other origin than the one that a person typed;
//! a private address only when the person typed a loopback address themselves.

use std::collections::BTreeSet;

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
    let course = Course::Origin { typed: typed.clone(), below: task.below().map(str::to_owned) };
    Ok((Request::new(outgoing, course), "the URL can be fetched".to_owned()))
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

/// Whether a URL, in the form in which it is dialled, is a base URL or below it.
pub(crate) fn is_below(url: &Url, base: &str) -> bool {
    let Ok(base) = Target::parse(base) else { return false };
    let (own, path) = (base.url().path().trim_end_matches('/'), url.path());
    url.origin() == base.url().origin()
        && path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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
    /// https, and from no other origin. `allowed`, what the adapter may reach beside public addresses, counts only below the
    /// URLs that the called tool's requests are appended to: an answer does not choose what is asked of a machine that is
    /// reached because a person granted it to an API.
    ///
    /// # Errors
    /// As [`Gate::fetch`].
    pub async fn follow(
        &self,
        location: &str,
        (below, allowed): (&BTreeSet<String>, &[AllowedRange]),
        limits: &CallLimits,
    ) -> Result<Vec<u8>, GateError> {
        let target = Target::parse(location).map_err(|refusal| GateError::Egress { refusal, adapter: None })?;
        if !target.is_https() && !target.literal().is_some_and(|address| address.is_loopback()) {
            return Err(refused("fetch.cleartext", "what an answer leads to is fetched over https only".to_owned()));
        }
        let leads = target.url().clone();
        let base = below.iter().find(|base| is_below(&leads, base)).cloned();
        if base.is_none()
            && target.literal().is_some_and(|address| address_verdict(address, &[], target.port()).is_err())
        {
            let places: Vec<&str> = below.iter().map(String::as_str).collect();
            let places = if places.is_empty() { "nowhere".to_owned() } else { places.join("` or `") };
            let message =
                format!("an answer may lead to a private address only below `{places}`, where the call's requests go");
            return Err(refused("fetch.private", message));
        }
        let allowed = if base.is_some() { allowed.to_owned() } else { Vec::new() };
        let task = HostTask::Follow { leads: leads.clone(), below: base, allowed, limits: *limits };
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
