//! Text, XML and binary bodies.
//!
//! Text is sent in the charset that the content type names; the ones that a string can always or sometimes be
//! written in are UTF-8, US-ASCII and ISO-8859-1. Any other is refused rather than mislabelled.

use serde_json::Value;

use super::{Content, xml};
use crate::problem::{Problem, pointer_to};
use crate::{XmlNode, base64, style};

/// Writes a text body and says which content type to send.
pub(super) fn text(content: &Content, content_type: &str) -> Result<(Vec<u8>, String), Problem> {
    let text = style::scalar(&content.value);
    let bytes = encode(&text, content_type, content)?;
    let names_charset = charset(content_type).is_some();
    // Without a charset a receiver may assume US-ASCII (RFC 2046 §4.1.2).
    let content_type = if text.is_ascii() || names_charset {
        content_type.to_owned()
    } else {
        format!("{content_type}; charset=utf-8")
    };
    Ok((bytes, content_type))
}

/// Writes an XML body: a string as it is, an object by `root`.
pub(super) fn xml(content: &Content, root: &XmlNode, content_type: &str) -> Result<(Vec<u8>, String), Problem> {
    let text = match &content.value {
        Value::String(text) => text.clone(),
        value => xml::document(root, value, &content.pointer())?,
    };
    Ok((encode(&text, content_type, content)?, content_type.to_owned()))
}

/// Writes a binary body: a string as UTF-8, `{"base64": …}` as its bytes.
pub(super) fn binary(content: &Content) -> Result<Vec<u8>, Problem> {
    match &content.value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        Value::Object(members) => match members.get("base64") {
            Some(Value::String(encoded)) => base64::decode(encoded)
                .ok_or_else(|| Problem::new(pointer_to(&content.pointer(), "base64"), "is not base64")),
            _ => Err(not_binary(content)),
        },
        _ => Err(not_binary(content)),
    }
}

fn not_binary(content: &Content) -> Problem {
    Problem::new(content.pointer(), "must be text or `{\"base64\": …}`: it is sent as bytes")
}

fn charset(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    })
}

fn encode(text: &str, content_type: &str, content: &Content) -> Result<Vec<u8>, Problem> {
    let limit = match charset(content_type).as_deref() {
        None | Some("utf-8" | "utf8") => return Ok(text.as_bytes().to_vec()),
        Some("us-ascii" | "ascii") => 0x7f,
        Some("iso-8859-1" | "latin1") => 0xff,
        Some(other) => {
            let message = format!("cannot be sent in charset `{other}`");
            return Err(Problem::new(content.pointer(), message));
        }
    };
    let byte_of = |character: char| u8::try_from(u32::from(character)).ok().filter(|byte| *byte <= limit);
    text.chars()
        .map(|character| {
            byte_of(character).ok_or_else(|| {
                let message = format!("has `{character}`, which the body's charset cannot express");
                Problem::new(content.pointer(), message)
            })
        })
        .collect()
}
