//! A credential in the body of a request: a field of a form of pairs, a part of one of parts, or a member of the
//! object that a JSON body is, as the content type says. Without a body it makes a form of pairs.
//!
//! Invariants: what the guest wrote stays byte for byte, except that a form loses the guest's own field of that name; a
//! body in which somebody could read two values under one name is refused.

use bytes::Bytes;
use http::{HeaderValue, header};
use rote_govern::same_field;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use url::form_urlencoded;

use crate::method_override::part_names;
use crate::request::Outgoing;

const FORM: &str = "application/x-www-form-urlencoded";

/// Puts `value` into the field `name`; false, and the body as it was, when it has no place there.
pub(super) fn fill(outgoing: &mut Outgoing, name: &str, value: &str) -> bool {
    fill_with(outgoing, name, value, &|value| form_urlencoded::byte_serialize(value.as_bytes()).collect())
}

/// The same with what people see in place of a value, which a form shows as it is.
pub(super) fn show(outgoing: &mut Outgoing, name: &str, mask: &str) {
    fill_with(outgoing, name, mask, &str::to_owned);
}

fn fill_with(outgoing: &mut Outgoing, name: &str, value: &str, encode: &dyn Fn(&str) -> String) -> bool {
    let mut types = outgoing.headers.iter().filter(|(known, _)| *known == header::CONTENT_TYPE);
    let (declared, several) = (types.next().map(|(_, declared)| declared.clone()), types.next().is_some());
    let Some(declared) = declared.as_ref().map_or(Some(FORM), |declared| declared.to_str().ok()).filter(|_| !several)
    else {
        return false;
    };
    let body = outgoing.body.clone().unwrap_or_default();
    let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let filled = match essence.as_str() {
        FORM => in_pairs(&body, name, &encode(value)),
        "multipart/form-data" => in_parts(&body, declared, name, value),
        "application/json" | "text/json" => in_object(&body, name, value),
        other if other.ends_with("+json") => in_object(&body, name, value),
        _ => None,
    };
    let Some(filled) = filled else { return false };
    if !outgoing.headers.iter().any(|(known, _)| *known == header::CONTENT_TYPE) {
        outgoing.headers.push((header::CONTENT_TYPE, HeaderValue::from_static(FORM)));
    }
    outgoing.body = Some(Bytes::from(filled));
    true
}

/// Takes the fields of that name out of pairs; the others stay as they are encoded.
pub(super) fn without(pairs: &str, name: &str) -> String {
    let is_named = |pair: &&str| form_urlencoded::parse(pair.as_bytes()).any(|(key, _)| same_field(&key, name));
    pairs.split('&').filter(|pair| !pair.is_empty() && !is_named(pair)).collect::<Vec<_>>().join("&")
}

fn in_pairs(body: &[u8], name: &str, value: &str) -> Option<Vec<u8>> {
    let mut form = without(std::str::from_utf8(body).ok()?, name);
    if !form.is_empty() {
        form.push('&');
    }
    let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    form.push_str(&format!("{name}={value}"));
    Some(form.into_bytes())
}

/// RFC 7578: the part comes first. A value with a line break could end its part.
fn in_parts(body: &[u8], content_type: &str, name: &str, value: &str) -> Option<Vec<u8>> {
    let delimiter = format!("--{}", boundary(content_type)?);
    let follows = body.strip_prefix(delimiter.as_bytes())?;
    let begins = follows.starts_with(b"\r\n") || follows.starts_with(b"--");
    let clean = |text: &str| !text.contains(['\r', '\n', '"', '\0']);
    let fits = clean(name) && !value.contains(['\r', '\n', '\0']) && !value.contains(&delimiter);
    if !begins || !fits || part_names(body).any(|own| same_field(&own, name)) {
        return None;
    }
    let part = format!("{delimiter}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    Some([part.as_bytes(), body].concat())
}

/// The boundary of a content type, bare or quoted.
fn boundary(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1).filter_map(|one| one.split_once('='));
    let (_, value) = parameters.into_iter().find(|(key, _)| key.trim().eq_ignore_ascii_case("boundary"))?;
    let value = value.trim().trim_matches('"');
    (!value.is_empty()).then_some(value)
}

fn in_object(body: &[u8], name: &str, value: &str) -> Option<Vec<u8>> {
    let Keys(keys) = serde_json::from_slice(body).ok()?;
    if keys.iter().any(|key| same_field(key, name)) {
        return None;
    }
    let start = body.iter().position(|byte| *byte == b'{')?;
    let comma = if keys.is_empty() { "" } else { "," };
    let member = format!("{}:{}{comma}", Value::from(name), Value::from(value));
    Some([&body[..=start], member.as_bytes(), &body[start + 1..]].concat())
}

/// The names of an object's members.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Keys;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(Keys(names))
            }
        }
        deserializer.deserialize_map(Names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_comes_first_and_twice_is_refused() {
        let body = b"--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhi\r\n--b--\r\n";
        let media = "multipart/form-data; charset=utf-8; boundary=\"b\"";
        let filled = in_parts(body, media, "token", "s3cret").unwrap();
        let part = b"--b\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\ns3cret\r\n";
        assert_eq!(filled, [&part[..], &body[..]].concat());
        assert_eq!(in_parts(b"--b--\r\n", media, "token", "s").unwrap().len(), part.len() - 5 + 7);
        for (body, media, name, value) in [
            (&body[..], media, "text", "s3cret"),
            (&body[..], media, "TEXT", "s3cret"),
            (&body[..], media, "text[0]", "s3cret"),
            (&body[..], "multipart/form-data", "token", "s3cret"),
            (&body[..], "multipart/form-data; boundary=c", "token", "s3cret"),
            (&b"--bc\r\n"[..], media, "token", "s3cret"),
            (&body[..], media, "token", "a\r\n--b--"),
            (&body[..], media, "token", "a--b"),
            (&body[..], media, "to\"ken", "s3cret"),
            (&b""[..], media, "token", "s3cret"),
        ] {
            assert_eq!(in_parts(body, media, name, value), None, "{media} {name} {value}");
        }
    }

    #[test]
    fn an_object_keeps_its_bytes_and_twice_is_refused() {
        for (body, filled) in [
            ("{}", r#"{"token":"a\"b"}"#),
            (" { \"n\": 1e400 }", " {\"token\":\"a\\\"b\", \"n\": 1e400 }"),
            (r#"{"tokens":1}"#, r#"{"token":"a\"b","tokens":1}"#),
        ] {
            assert_eq!(in_object(body.as_bytes(), "token", "a\"b").as_deref(), Some(filled.as_bytes()));
        }
        let twice = [r#"{"token":1}"#, r#"{"a":1,"\u0074oken":1}"#, r#"{"Token":1}"#, r#"{"TO\u212aEN":1}"#];
        for body in twice.into_iter().chain(["[]", "", "{} {}", "{\"a\"}", "null"]) {
            assert_eq!(in_object(body.as_bytes(), "token", "x"), None, "{body}");
        }
    }
}
