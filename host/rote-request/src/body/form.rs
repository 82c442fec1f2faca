//! `application/x-www-form-urlencoded` bodies.
//!
//! Each field is written by its own encoding or by the default one. Where the description gives a field no
//! encoding, OpenAPI (3.1.1 §4.8.15.1.1) says that an object is JSON: so an object under a default that is not a
//! bracketed style is written as JSON, which is also what servers that take such fields expect.

use serde_json::Value;

use super::Content;
use crate::problem::Problem;
use crate::{Encoding, Style, style};

/// Writes the fields.
pub(super) fn write(
    content: &Content,
    default: &Encoding,
    encodings: &[(String, Encoding)],
) -> Result<Vec<u8>, Problem> {
    // A caller who has the encoded text already may hand it over as it is.
    if let Value::String(text) = &content.value {
        return Ok(text.clone().into_bytes());
    }
    let mut body = String::new();
    for (name, value) in content.fields()? {
        for (name, text) in pairs(name, value, default, encodings) {
            if !body.is_empty() {
                body.push('&');
            }
            body.push_str(&name);
            body.push('=');
            body.push_str(&text);
        }
    }
    Ok(body.into_bytes())
}

fn pairs(name: &str, value: &Value, default: &Encoding, encodings: &[(String, Encoding)]) -> Vec<style::Pair> {
    if value.is_null() {
        return Vec::new();
    }
    if let Some((_, own)) = encodings.iter().find(|(field, _)| field == name) {
        return style::as_pairs(name, value, own);
    }
    let bracketed = matches!(default.style, Style::DeepObject | Style::Brackets);
    if value.is_object() && !bracketed {
        return style::as_pairs(name, &Value::String(value.to_string()), default);
    }
    style::as_pairs(name, value, default)
}
