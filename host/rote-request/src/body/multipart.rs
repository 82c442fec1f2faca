//! Multipart bodies (RFC 7578, RFC 2046 §5.1).
//!
//! A string is a text part, `{"base64": …, "filename": …, "content_type": …}` a file part, an array one part per
//! element, anything else a JSON part. The boundary is a digest of the content, so that the same arguments give
//! the same bytes, and is checked not to occur in any part.

use serde_json::{Map, Value};

use super::{Content, Written, is_content_type};
use crate::problem::{Problem, pointer_to};
use crate::{base64, style};

/// How many boundaries are tried. One in 2^128 contents needs a second; a guard against an endless loop.
const BOUNDARY_ATTEMPTS: u32 = 64;

struct Part {
    headers: String,
    bytes: Vec<u8>,
}

/// Writes the fields as parts.
pub(super) fn write(
    content: &Content,
    content_type: &str,
    content_types: &[(String, String)],
    files: &[String],
) -> Result<Written, Problem> {
    if !is_content_type(content_type) {
        return Err(Problem::new(content.pointer(), "has a content type that is not a media type"));
    }
    let is_form = content_type.to_ascii_lowercase().starts_with("multipart/form-data");
    let mut parts = Vec::new();
    for (name, value) in content.fields()? {
        let field = Field { name, content_type: lookup(content_types, name), is_file: files.contains(name), is_form };
        field.push(&mut parts, value, &content.field_pointer(name))?;
    }
    let boundary = boundary(&parts)
        .ok_or_else(|| Problem::new(content.pointer(), "has content that no multipart boundary can delimit"))?;
    let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.headers.len() + part.bytes.len() + 48).sum());
    for part in &parts {
        bytes.extend_from_slice(format!("--{boundary}\r\n{}\r\n", part.headers).as_bytes());
        bytes.extend_from_slice(&part.bytes);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let content_type = format!("{content_type}; boundary={boundary}");
    Ok(Written { content_type, owns_content_type: true, bytes })
}

/// The first concrete content type that the description gives a field; it may list several.
fn lookup<'a>(content_types: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, listed) = content_types.iter().find(|(field, _)| field == name)?;
    listed.split(',').map(str::trim).find(|one| is_content_type(one) && !one.contains('*'))
}

struct Field<'a> {
    name: &'a str,
    content_type: Option<&'a str>,
    is_file: bool,
    is_form: bool,
}

impl Field<'_> {
    fn push(&self, parts: &mut Vec<Part>, value: &Value, pointer: &str) -> Result<(), Problem> {
        match value {
            Value::Null => Ok(()),
            Value::Array(_) if self.content_type.is_some_and(style::is_json) => {
                parts.push(self.part(None, self.content_type, value.to_string().into_bytes()));
                Ok(())
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    parts.extend(self.single(item, &pointer_to(pointer, &index.to_string()))?);
                }
                Ok(())
            }
            other => {
                parts.extend(self.single(other, pointer)?);
                Ok(())
            }
        }
    }

    fn single(&self, value: &Value, pointer: &str) -> Result<Option<Part>, Problem> {
        let part = match value {
            Value::Null => return Ok(None),
            Value::Object(members) if members.get("base64").is_some_and(Value::is_string) => {
                self.file(members, pointer)?
            }
            Value::String(text) if self.is_file => {
                let content_type = self.content_type.unwrap_or("application/octet-stream");
                self.part(Some(self.name), Some(content_type), text.clone().into_bytes())
            }
            _ if self.is_file && value.is_object() => {
                let message = "must be text or `{\"base64\": …, \"filename\": …, \"content_type\": …}`: it is a file";
                return Err(Problem::new(pointer, message));
            }
            Value::Object(_) | Value::Array(_) => {
                let content_type = self.content_type.unwrap_or("application/json");
                self.part(None, Some(content_type), value.to_string().into_bytes())
            }
            scalar => {
                let text = match self.content_type {
                    Some(content_type) => style::in_content_type(scalar, content_type),
                    None => style::scalar(scalar),
                };
                self.part(None, self.content_type, text.into_bytes())
            }
        };
        Ok(Some(part))
    }

    fn file(&self, members: &Map<String, Value>, pointer: &str) -> Result<Part, Problem> {
        let encoded = members.get("base64").and_then(Value::as_str).unwrap_or_default();
        let bytes =
            base64::decode(encoded).ok_or_else(|| Problem::new(pointer_to(pointer, "base64"), "is not base64"))?;
        let filename = members.get("filename").and_then(Value::as_str).unwrap_or(self.name);
        let content_type = members
            .get("content_type")
            .and_then(Value::as_str)
            .or(self.content_type)
            .unwrap_or("application/octet-stream");
        if !is_content_type(content_type) {
            return Err(Problem::new(pointer_to(pointer, "content_type"), "is not a media type"));
        }
        Ok(self.part(Some(filename), Some(content_type), bytes))
    }

    fn part(&self, filename: Option<&str>, content_type: Option<&str>, bytes: Vec<u8>) -> Part {
        let mut headers = String::new();
        let filename = filename.map(|filename| format!("; filename=\"{}\"", quoted(filename)));
        if self.is_form {
            headers.push_str("Content-Disposition: form-data; name=\"");
            headers.push_str(&quoted(self.name));
            headers.push('"');
            headers.push_str(filename.as_deref().unwrap_or_default());
            headers.push_str("\r\n");
        } else if let Some(filename) = filename {
            headers.push_str("Content-Disposition: attachment");
            headers.push_str(&filename);
            headers.push_str("\r\n");
        }
        if let Some(content_type) = content_type {
            headers.push_str("Content-Type: ");
            headers.push_str(content_type);
            headers.push_str("\r\n");
        }
        Part { headers, bytes }
    }
}

/// Escapes a name as browsers do (WHATWG HTML, multipart/form-data encoding), and drops other controls.
fn quoted(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => output.push_str("%22"),
            '\r' => output.push_str("%0D"),
            '\n' => output.push_str("%0A"),
            other if other.is_control() => {}
            other => output.push(other),
        }
    }
    output
}

fn boundary(parts: &[Part]) -> Option<String> {
    (0..BOUNDARY_ATTEMPTS).map(|attempt| candidate(parts, attempt)).find(|candidate| {
        let needle = candidate.as_bytes();
        !parts.iter().any(|part| occurs(&part.bytes, needle) || occurs(part.headers.as_bytes(), needle))
    })
}

/// 128-bit FNV-1a over the parts: a name for the content, not a protection of anything.
fn candidate(parts: &[Part], attempt: u32) -> String {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash = OFFSET;
    let mut feed = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    };
    feed(&attempt.to_le_bytes());
    for part in parts {
        feed(part.headers.as_bytes());
        feed(b"\n");
        feed(&part.bytes);
    }
    format!("rote-{hash:032x}")
}

/// Looks for `needle`, which starts with `r`; skips to candidates by their first byte.
fn occurs(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window[0] == needle[0] && window == needle)
}
