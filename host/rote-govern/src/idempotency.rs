//! Which writes carry an idempotency key of rote's own, what such a key is for, and how long it is trusted.
//!
//! A key is sent, and a write repeated with it, only where the description declares the header or a person set it:
//! nothing else says that the server looks at it. A key that the caller gives counts where the description declares the
//! argument.

use std::time::Duration;

use rote_types::{AuthKind, KeyHeader, Manifest, Method, Sha256Digest, Tool, is_idempotency_key, sha256};
use serde_json::{Value, json};

use crate::reach::{bases, origin};
use crate::same_field;

/// How long after the first request with a key a write may be repeated with it unasked. Servers forget keys: Qonto's
/// after 30 minutes (docs.qonto.com, "Idempotent requests"), the shortest documented life that we know of, Mollie's
/// after an hour, most after 24 hours (Stripe, Dwolla). The rest of the 30 minutes is for the call itself.
pub const KEY_LIFE: Duration = Duration::from_mins(25);

/// An API of which it is known, though its description does not say so, that every `POST` takes a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownApi {
    /// The origin of its base URL.
    pub origin: &'static str,
    pub header: &'static str,
    /// Where its makers say so.
    pub source: &'static str,
}

/// It is suggested to a person, and nothing more.
const KNOWN: [KnownApi; 3] = [
    KnownApi {
        origin: "https://api.stripe.com",
        header: "Idempotency-Key",
        source: "https://docs.stripe.com/api/idempotent_requests",
    },
    KnownApi {
        origin: "https://api.increase.com",
        header: "Idempotency-Key",
        source: "https://increase.com/documentation/idempotency-keys",
    },
    KnownApi {
        origin: "https://api.dwolla.com",
        header: "Idempotency-Key",
        source: "https://developers.dwolla.com/docs/api-reference/api-fundamentals/idempotency-key",
    },
];

/// Returns what is known of the API at a base URL.
#[must_use]
pub fn known_api(base_url: &str) -> Option<&'static KnownApi> {
    let origin = origin(base_url);
    KNOWN.iter().find(|known| known.origin == origin)
}

/// Returns the header in which a call of `tool` carries a key of rote's own, if it does.
///
/// A header that a person set holds for `POST` and `PATCH`: the other methods are idempotent by themselves (RFC 9110
/// §9.2.2), and servers ignore keys there (Stripe says so). What the description declares for one tool goes before it.
#[must_use]
pub fn key_header<'m>(manifest: &'m Manifest, tool: &'m Tool) -> Option<&'m str> {
    let declared = tool.idempotency_header.as_deref();
    let header = match &manifest.idempotency_header {
        None => declared,
        Some(KeyHeader::None) => None,
        Some(KeyHeader::Named(name)) => {
            declared.or_else(|| matches!(tool.method, Method::Post | Method::Patch).then_some(name.as_str()))
        }
    };
    header.filter(|name| tool.access.changes() && !carries_credential(manifest, name))
}

/// Whether a header of that name carries a credential of the adapter: a server gets one value under one name, and that is
/// the credential.
#[must_use]
pub fn carries_credential(manifest: &Manifest, header: &str) -> bool {
    let mut kinds = manifest.auth.schemes.values().map(|slot| &slot.kind);
    kinds.any(|kind| matches!(kind, AuthKind::ApiKeyHeader { name } if same_field(name, header)))
}

/// Returns the digest of what a key is for: the same call of the same tool to the same place in the same header. Another
/// call gets another key. `None` where a call carries none.
#[must_use]
pub fn key_purpose(manifest: &Manifest, tool: &Tool, arguments: Sha256Digest) -> Option<Sha256Digest> {
    purpose(manifest, tool, &key_header(manifest, tool)?.to_ascii_lowercase(), arguments)
}

/// Whether an argument of that name is the idempotency key of its own call: by its name, or since the description or a
/// person named it as the header.
#[must_use]
pub fn is_key_argument(manifest: &Manifest, tool: &Tool, name: &str) -> bool {
    let by_person = match &manifest.idempotency_header {
        Some(KeyHeader::Named(header)) => Some(header.as_str()),
        Some(KeyHeader::None) | None => None,
    };
    let mut headers = [tool.idempotency_header.as_deref(), by_person].into_iter().flatten();
    is_idempotency_key(name) || headers.any(|header| header.eq_ignore_ascii_case(name))
}

/// Returns the arguments without the idempotency key of the call, where they have one: who makes up a new one for each
/// attempt makes the same call all the same.
#[must_use]
pub fn without_key(manifest: &Manifest, tool: &Tool, arguments: &Value) -> Option<Value> {
    let is_key = |name: &String| is_key_argument(manifest, tool, name);
    let members = arguments.as_object().filter(|members| members.keys().any(is_key))?;
    let others = members.iter().filter(|(name, _)| !is_key(name));
    Some(others.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Whether the arguments send that header, so that a request gets no key of rote's own. What is `null` is not sent.
#[must_use]
pub fn gives_key(header: &str, arguments: &Value) -> bool {
    let is_sent = |(name, value): (&String, &Value)| name.eq_ignore_ascii_case(header) && !value.is_null();
    arguments.as_object().is_some_and(|members| members.iter().any(is_sent))
}

/// Returns the digest of what the key is for that a caller gives in the arguments, whose digest is `digest`: the same
/// call of the same tool to the same place. `None` where there is none that the description declares, or where a person
/// said that this API takes none.
#[must_use]
pub fn given_key_purpose(
    manifest: &Manifest,
    tool: &Tool,
    arguments: &Value,
    digest: Sha256Digest,
) -> Option<Sha256Digest> {
    let takes_none = manifest.idempotency_header == Some(KeyHeader::None) || !tool.access.changes();
    let is_key = |(name, value): (&String, &Value)| {
        is_key_argument(manifest, tool, name)
            && tool.input_schema["properties"].get(name).is_some()
            && value.as_str() > Some("")
    };
    let given = !takes_none && arguments.as_object().is_some_and(|members| members.iter().any(is_key));
    // No header has that name, so it is the digest of no key of rote's own.
    given.then(|| purpose(manifest, tool, "", digest)).flatten()
}

fn purpose(manifest: &Manifest, tool: &Tool, header: &str, arguments: Sha256Digest) -> Option<Sha256Digest> {
    let contract = manifest.tool_digests.get(&tool.name)?;
    let bases = bases(manifest, tool).ok()?;
    let purpose = json!([manifest.id, tool.name, contract, header, bases, arguments]);
    Some(sha256(purpose.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rote_types::{Access, ToolDigest};

    fn manifest(header: Option<KeyHeader>) -> Manifest {
        let mut manifest: Manifest = serde_json::from_value(json!({
            "schema": 1, "id": "shop", "name": "Shop", "version": "0.1.0", "spec_type": "openapi3",
            "spec_version": "3.0.2", "spec_source": "shop.json", "server": {"name": "Shop", "version": "2"},
            "base_url": "https://shop.example/v1", "fingerprint": "mcp_x", "tool_digests": {"t": "a"},
            "sensitivity_tier": "low", "auth": {}, "component": {"bytes": 0, "sha256": sha256(b"")},
            "created_at": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        manifest.idempotency_header = header;
        manifest
    }

    fn tool(method: &str, declared: Option<&str>) -> Tool {
        serde_json::from_value(json!({
            "name": "t", "method": method, "path": "/t", "toolset": "t", "inputSchema": {}, "idempotencyHeader": declared,
        }))
        .unwrap()
    }

    #[test]
    fn a_key_is_sent_where_it_is_declared_or_a_person_set_it() {
        let own = || Some(KeyHeader::Named("X-Key".to_owned()));
        let rows = [
            (None, "POST", None, None),
            (None, "POST", Some("Idempotency-Key"), Some("Idempotency-Key")),
            (None, "DELETE", Some("Idempotency-Key"), Some("Idempotency-Key")),
            (None, "GET", Some("Idempotency-Key"), None),
            (own(), "POST", None, Some("X-Key")),
            (own(), "PATCH", None, Some("X-Key")),
            (own(), "PUT", None, None),
            (own(), "DELETE", None, None),
            (own(), "GET", None, None),
            (own(), "PUT", Some("Idempotency-Key"), Some("Idempotency-Key")),
            (Some(KeyHeader::None), "POST", Some("Idempotency-Key"), None),
        ];
        for (set, method, declared, expected) in rows {
            let (manifest, tool) = (manifest(set.clone()), tool(method, declared));
            assert_eq!(key_header(&manifest, &tool), expected, "{set:?} {method} {declared:?}");
        }
        let hidden = Tool { access: Access::Destroy, ..tool("GET", Some("Idempotency-Key")) };
        assert_eq!(key_header(&manifest(None), &hidden), Some("Idempotency-Key"), "a read by method that destroys");
    }

    #[test]
    fn a_key_is_for_one_call_of_one_tool_to_one_place() {
        let (manifest, tool) = (manifest(None), tool("POST", Some("Idempotency-Key")));
        let purpose =
            |manifest: &Manifest, tool: &Tool, text: &str| key_purpose(manifest, tool, sha256(text.as_bytes()));
        let known = purpose(&manifest, &tool, "a");
        assert!(known.is_some());
        assert_eq!(known, purpose(&manifest, &tool, "a"));
        assert_ne!(known, purpose(&manifest, &tool, "b"), "other arguments");
        let mut elsewhere = manifest.clone();
        elsewhere.base_url = Some("https://other.example/v1".to_owned());
        let mut other = manifest.clone();
        other.tool_digests.insert("t".to_owned(), ToolDigest("b".to_owned()));
        for changed in [elsewhere, other] {
            assert_ne!(known, purpose(&changed, &tool, "a"));
        }
        let renamed = Tool { idempotency_header: Some("X-Key".to_owned()), ..tool.clone() };
        assert_ne!(known, purpose(&manifest, &renamed, "a"));
        let spelled = Tool { idempotency_header: Some("idempotency-key".to_owned()), ..tool };
        assert_eq!(known, purpose(&manifest, &spelled, "a"), "header names have no case");
    }

    #[test]
    fn a_key_is_given_where_the_header_is_sent() {
        for (arguments, given) in [
            (json!({"Idempotency-Key": "k"}), true),
            (json!({"idempotency-key": ""}), true),
            (json!({"Idempotency-Key": 7}), true),
            (json!({"Idempotency-Key": null}), false),
            (json!({"key": "k"}), false),
            (json!("Idempotency-Key"), false),
        ] {
            assert_eq!(gives_key("Idempotency-Key", &arguments), given, "{arguments}");
        }
    }

    #[test]
    fn an_argument_is_a_key_by_its_name_and_by_the_header_that_was_named() {
        let own = || Some(KeyHeader::Named("X-Own".to_owned()));
        let vendor = || Some("X-Qonto-Idempotency-Key");
        let rows = [
            (None, None, "idempotency_key", true),
            (None, None, "X-Qonto-Idempotency-Key", false),
            (None, vendor(), "x-qonto-idempotency-key", true),
            (Some(KeyHeader::None), vendor(), "X-Qonto-Idempotency-Key", true),
            (own(), vendor(), "x-own", true),
            (own(), None, "X-Other", false),
            (None, None, "previous_idempotency_key", false),
        ];
        for (set, declared, name, is_key) in rows {
            let (manifest, tool) = (manifest(set), tool("PUT", declared));
            assert_eq!(is_key_argument(&manifest, &tool, name), is_key, "{name} {declared:?}");
            let rest = without_key(&manifest, &tool, &json!({"a": 1, name: "k"}));
            assert_eq!(rest, is_key.then(|| json!({"a": 1})), "{name} {declared:?}");
        }
        assert_eq!(without_key(&manifest(None), &tool("POST", None), &json!(["idempotency_key"])), None);
    }

    #[test]
    fn a_key_of_the_callers_counts_where_it_is_declared() {
        let properties = json!({ "idempotency_key": {}, "X-Own": {}, "previous_idempotency_key": {}, "item": {} });
        let declares = |method| Tool { input_schema: json!({ "properties": properties }), ..tool(method, None) };
        let named = || Some(KeyHeader::Named("x-own".to_owned()));
        let rows = [
            (None, "POST", json!({"idempotency_key": "k"}), true),
            (None, "POST", json!({"idempotency_key": ""}), false),
            (None, "POST", json!({"idempotency_key": 7}), false),
            (None, "GET", json!({"idempotency_key": "k"}), false),
            (Some(KeyHeader::None), "POST", json!({"idempotency_key": "k"}), false),
            (None, "POST", json!({"idempotencyKey": "k"}), false),
            (None, "POST", json!({"previous_idempotency_key": "k"}), false),
            (None, "POST", json!({"X-Own": "k"}), false),
            (named(), "POST", json!({"X-Own": "k"}), true),
            (None, "POST", json!({"item": {"idempotency_key": "k"}}), false),
            (None, "POST", json!(["idempotency_key"]), false),
        ];
        let digest = sha256(b"a");
        for (set, method, arguments, counts) in rows {
            let (manifest, tool) = (manifest(set), declares(method));
            let purpose = given_key_purpose(&manifest, &tool, &arguments, digest);
            assert_eq!(purpose.is_some(), counts, "{method} {arguments}");
            assert!(purpose.is_none() || purpose != key_purpose(&manifest, &tool, digest));
        }
    }

    #[test]
    fn an_api_is_known_by_its_origin() {
        let known = |url: &str| known_api(url).map(|api| api.header);
        assert_eq!(known("https://api.stripe.com/v1"), Some("Idempotency-Key"));
        for other in ["http://api.stripe.com", "https://api.stripe.com.evil.example", "https://stripe.com", "junk"] {
            assert_eq!(known(other), None, "{other}");
        }
        for api in KNOWN {
            assert_eq!(origin(api.origin), api.origin);
            assert!(api.source.starts_with("https://") && rote_types::names_idempotency_key(api.header));
        }
    }
}
