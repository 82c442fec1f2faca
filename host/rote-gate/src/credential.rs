//! Credentials: which slots a call uses, and how their values travel.
//!
//! Invariants: a guest names slots and nothing else; only the called tool's own slots count; a value is added
//! after admission, to a request whose origin is the adapter's own; refusals say the same for a slot of
//! another tool as for one that does not exist.

use std::collections::BTreeSet;

use base64::Engine;
use http::{HeaderName, HeaderValue, header};
use rote_govern::egress::{Route, match_url};
use rote_types::{AuthKind, AuthSlot, Manifest, Tool};
use rote_vault::Vault;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::request::{Outgoing, refused};
use crate::{CredentialPreview, Environment, GateError};

/// One credential with its value.
#[derive(Debug, Clone)]
pub(crate) struct Credential {
    pub(crate) kind: AuthKind,
    /// The vault entry, which is also its mask.
    pub(crate) token: String,
    pub(crate) value: SecretString,
}

/// The way to authenticate that a call will use.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub(crate) credentials: Vec<Credential>,
    pub(crate) previews: Vec<CredentialPreview>,
    /// Why no way can be used; the request must not be sent then.
    pub(crate) missing: Option<GateError>,
}

/// Where values come from.
pub(crate) struct Source<'s> {
    pub(crate) vault: &'s Vault,
    pub(crate) env: &'s Environment,
}

/// Chooses the first claimed way whose slots all have values; going without one comes last.
pub(crate) fn choose(
    source: &Source<'_>,
    adapter: &Manifest,
    tool: &Tool,
    claimed: &[Vec<String>],
) -> Result<Choice, GateError> {
    check_claim(adapter, tool, claimed)?;
    let mut missing: Option<(Vec<CredentialPreview>, GateError)> = None;
    for alternative in claimed.iter().filter(|alternative| !alternative.is_empty()) {
        match collect(source, adapter, alternative)? {
            Ok((credentials, previews)) => {
                return Ok(Choice { credentials, previews, missing: None });
            }
            Err(problem) => drop(missing.get_or_insert(problem)),
        }
    }
    match missing {
        // Either no way was claimed, or the tool can be called without.
        None => Ok(Choice::default()),
        Some(_) if claimed.iter().any(Vec::is_empty) => Ok(Choice::default()),
        Some((previews, error)) => Ok(Choice { credentials: Vec::new(), previews, missing: Some(error) }),
    }
}

/// Refuses slots that are not the tool's own.
fn check_claim(adapter: &Manifest, tool: &Tool, claimed: &[Vec<String>]) -> Result<(), GateError> {
    let set = |alternative: &[String]| alternative.iter().cloned().collect::<BTreeSet<_>>();
    let own: Vec<_> = tool.security.iter().map(|alternative| set(alternative)).collect();
    let fits = |alternative: &Vec<String>| {
        own.contains(&set(alternative)) || (alternative.is_empty() && tool.security.is_empty())
    };
    if claimed.iter().all(fits) {
        return Ok(());
    }
    let message =
        format!("`{}` of adapter `{}` may not use the credentials that were asked for", tool.name, adapter.id);
    Err(refused("credential.slot", message))
}

type Collected = Result<(Vec<Credential>, Vec<CredentialPreview>), (Vec<CredentialPreview>, GateError)>;

fn collect(source: &Source<'_>, adapter: &Manifest, alternative: &[String]) -> Result<Collected, GateError> {
    let (mut credentials, mut previews, mut missing) = (Vec::new(), Vec::new(), None);
    for slot in alternative {
        let auth = |token: &str, problem: String| GateError::Auth {
            adapter: adapter.id.clone(),
            slot: slot.clone(),
            token: token.to_owned(),
            problem,
        };
        let Some(AuthSlot { kind, token_env, .. }) = adapter.auth.schemes.get(slot) else {
            let reason = adapter.auth.unsupported.get(slot).map_or("it is not supported", String::as_str);
            missing.get_or_insert(auth("", reason.to_owned()));
            continue;
        };
        let found = source.vault.resolve(token_env, source.env.as_ref())?;
        let present = found.is_some();
        previews.push(CredentialPreview { slot: slot.clone(), token: token_env.clone(), present });
        match found {
            Some((value, _)) => credentials.push(Credential { kind: kind.clone(), token: token_env.clone(), value }),
            None => {
                let problem = format!("`{token_env}` is neither in the vault nor in the environment");
                missing.get_or_insert(auth(token_env, problem));
            }
        }
    }
    Ok(match missing {
        None => Ok((credentials, previews)),
        Some(error) => Err((previews, error)),
    })
}

/// Adds the values to a request and checks its URL once more.
pub(crate) fn inject(outgoing: &mut Outgoing, credentials: &[Credential], route: &Route) -> Result<(), GateError> {
    let mut url = outgoing.target.url().clone();
    for credential in credentials {
        let value = credential.value.expose_secret();
        let unusable = || refused("credential.value", format!("the value of `{}` cannot be sent", credential.token));
        match &credential.kind {
            AuthKind::Bearer => set_header(outgoing, header::AUTHORIZATION, &format!("Bearer {value}")),
            AuthKind::Basic => set_header(outgoing, header::AUTHORIZATION, &format!("Basic {}", basic(value))),
            AuthKind::ApiKeyHeader { name } => {
                let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
                set_header(outgoing, name, value)
            }
            AuthKind::ApiKeyQuery { name } => {
                url = with_query(&url, name, value);
                Some(())
            }
            AuthKind::ApiKeyCookie { name } => {
                outgoing.cookies.retain(|pair| pair.split('=').next() != Some(name));
                let clean = value.bytes().all(|byte| (0x21..0x7f).contains(&byte) && !b";,\"\\".contains(&byte));
                clean.then(|| outgoing.cookies.push(format!("{name}={value}")))
            }
        }
        .ok_or_else(unusable)?;
    }
    outgoing.target = match_url(url.as_str(), route).map_err(|refusal| GateError::Egress { refusal, adapter: None })?;
    Ok(())
}

/// Sets a header in place of the guest's and marks it as one that is never logged or indexed.
fn set_header(outgoing: &mut Outgoing, name: HeaderName, value: &str) -> Option<()> {
    let mut value = HeaderValue::from_bytes(value.as_bytes()).ok()?;
    value.set_sensitive(true);
    outgoing.headers.retain(|(known, _)| *known != name);
    outgoing.headers.push((name, value));
    Some(())
}

/// The value of `Authorization: Basic` (RFC 7617): user and password, or a user alone.
pub(crate) fn basic(value: &str) -> String {
    let pair = if value.contains(':') { value.to_owned() } else { format!("{value}:") };
    base64::engine::general_purpose::STANDARD.encode(pair)
}

fn with_query(url: &Url, name: &str, value: &str) -> Url {
    let mut url = without_query(url, name);
    url.query_pairs_mut().append_pair(name, value);
    url
}

/// Takes the guest's fields of that name out; the others stay as they are encoded.
fn without_query(url: &Url, name: &str) -> Url {
    let Some(query) = url.query() else {
        return url.clone();
    };
    let is_named = |pair: &&str| url::form_urlencoded::parse(pair.as_bytes()).any(|(key, _)| key == name);
    let kept: Vec<_> = query.split('&').filter(|pair| !is_named(pair)).collect();
    let mut url = url.clone();
    url.set_query((!kept.is_empty()).then(|| kept.join("&")).as_deref());
    url
}

/// The URL and headers of a request as people see them: every credential is its name in angle brackets.
pub(crate) fn masked(outgoing: &Outgoing, previews: &[(AuthKind, String)]) -> (String, Vec<(String, String)>) {
    let mut url = outgoing.target.url().clone();
    let mut tail = String::new();
    let mut cookies = outgoing.cookies.clone();
    let mut added: Vec<(String, String)> = Vec::new();
    for (kind, token) in previews {
        match kind {
            AuthKind::Bearer => added.push(("authorization".into(), format!("Bearer <{token}>"))),
            AuthKind::Basic => added.push(("authorization".into(), format!("Basic <{token}>"))),
            AuthKind::ApiKeyHeader { name } => added.push((name.to_ascii_lowercase(), format!("<{token}>"))),
            AuthKind::ApiKeyQuery { name } => {
                url = without_query(&url, name);
                tail.push_str(&format!("&{name}=<{token}>"));
            }
            AuthKind::ApiKeyCookie { name } => {
                cookies.retain(|pair| pair.split('=').next() != Some(name));
                cookies.push(format!("{name}=<{token}>"));
            }
        }
    }
    let mut text = url.to_string();
    if !tail.is_empty() {
        let joint = if url.query().is_some() { tail } else { tail.replacen('&', "?", 1) };
        text.push_str(&joint);
    }
    let kept = outgoing.headers.iter().filter(|(name, _)| !added.iter().any(|(other, _)| other == name.as_str()));
    let mut headers: Vec<(String, String)> =
        kept.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect();
    headers.extend(added);
    if !cookies.is_empty() {
        headers.push(("cookie".into(), cookies.join("; ")));
    }
    (text, headers)
}

/// The kinds and names of a manifest's slots, for [`masked`].
pub(crate) fn kinds(adapter: &Manifest, previews: &[CredentialPreview]) -> Vec<(AuthKind, String)> {
    let kind = |preview: &CredentialPreview| adapter.auth.schemes.get(&preview.slot).map(|slot| slot.kind.clone());
    previews.iter().filter_map(|preview| Some((kind(preview)?, preview.token.clone()))).collect()
}
