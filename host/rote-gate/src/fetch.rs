//! Documents by URL: API descriptions and what they refer to.
//!
//! Invariants: the same egress as any call; no credential; no other origin than the one that a person typed;
//! a private address only when the person typed a loopback address themselves.

use http::{HeaderMap, HeaderValue, Method, header};
use rote_govern::audit::DOCUMENT_REQUESTED;
use rote_govern::egress::{AllowedRange, EgressRefusal, Target};
use rote_home::{Durability, NewEvent};
use rote_types::CallLimits;
use serde_json::json;
use url::{Host, Url};

use crate::departure::Departure;
use crate::egress::{Answer, Wire, authority};
use crate::request::{ACCEPT_ENCODING, USER_AGENT};
use crate::{Gate, GateError, UpstreamFailure};

/// Most redirects on the way to a document.
const MAX_HOPS: usize = 5;

/// Where a document may come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchRule {
    /// A person typed the URL: any public address, or loopback when the host is written as such.
    Typed,
    /// The document at this typed URL refers to it: only that origin.
    SameOrigin(Url),
}

impl Gate {
    /// Fetches a document of at most `limits.body_bytes` (64 MiB by default).
    ///
    /// # Errors
    /// [`GateError::Egress`] for a URL or address that may not be reached, [`GateError::Denied`] for another
    /// origin, [`GateError::Upstream`] when the remote fails or answers with an error status.
    pub async fn fetch(&self, url: &str, rule: &FetchRule, limits: &CallLimits) -> Result<Vec<u8>, GateError> {
        let mut target = target_of(url)?;
        let typed = match rule {
            FetchRule::Typed => target.url().clone(),
            FetchRule::SameOrigin(origin) => origin.clone(),
        };
        let allowed = loopback_grant(&typed);
        for _ in 0..=MAX_HOPS {
            same_origin(target.url(), &typed)?;
            self.note_document(target.url())?;
            let departure = Departure::default();
            let wire =
                Wire { method: Method::GET, target: &target, headers: headers(), body: None, departure: &departure };
            let answer =
                self.egress.exchange(wire, &allowed, limits).await.map_err(|failure| failure.into_error(None))?;
            match answer.status {
                200..=299 => return Ok(answer.body),
                301 | 302 | 303 | 307 | 308 => target = target_of(&redirect(&answer, &target)?)?,
                status => return Err(protocol(&target, format!("it answered {status}"))),
            }
        }
        Err(protocol(&target, format!("more than {MAX_HOPS} redirects")))
    }

    fn note_document(&self, url: &Url) -> Result<(), GateError> {
        let mut bare = url.clone();
        bare.set_query(None);
        let event = NewEvent { kind: DOCUMENT_REQUESTED, effect: None, body: json!({ "url": bare.as_str() }) };
        self.parts.journal.append(self.parts.clock.now(), Durability::Process, &[event])?;
        Ok(())
    }
}

fn target_of(url: &str) -> Result<Target, GateError> {
    let egress = |refusal: EgressRefusal| GateError::Egress { refusal, adapter: None };
    Target::parse(url).map_err(egress)
}

fn same_origin(url: &Url, typed: &Url) -> Result<(), GateError> {
    if url.origin() == typed.origin() {
        return Ok(());
    }
    let (own, other) = (typed.origin().ascii_serialization(), url.origin().ascii_serialization());
    let message = format!("a document at `{own}` may not lead to `{other}`");
    let hint = Some("fetch the other document yourself and pass the files".to_owned());
    Err(GateError::Denied { rule: "fetch.origin".to_owned(), message, hint })
}

/// The grant that lies in typing a loopback address: that address and that port.
fn loopback_grant(typed: &Url) -> Vec<AllowedRange> {
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

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(ACCEPT_ENCODING));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, application/yaml, */*;q=0.5"));
    headers
}

fn redirect(answer: &Answer, from: &Target) -> Result<String, GateError> {
    let location = answer.location.as_deref().unwrap_or_default();
    let joined = from.url().join(location);
    joined.map(String::from).map_err(|error| protocol(from, format!("its redirect is no URL: {error}")))
}

fn protocol(target: &Target, message: String) -> GateError {
    let failure = UpstreamFailure::Protocol { host: authority(target), message };
    GateError::Upstream { response: None, adapter: None, failure }
}
