//! The first line of a binding file: what it was made from, for the tool that checks it.
//!
//! The line is `// rote:bindings ` and one JSON object in ASCII, the same in both languages. It comes before
//! anything that a caller or a description put into the file, and only the first such line counts.

use std::collections::BTreeMap;

use rote_types::{AdapterId, Fingerprint, Language};
use serde::Deserialize;

use crate::text;

const MARK: &str = "// rote:bindings ";
/// Lines looked at: a person may put a licence above.
const LINES: usize = 64;

/// What the first line of a binding file says; enough to write the file again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Header {
    /// Version of the generated code's shape: 1.
    pub version: u32,
    pub adapter: AdapterId,
    /// The surface that the file was made from.
    pub fingerprint: Fingerprint,
    /// The language.
    pub lang: Language,
    /// Tools that were chosen by name; empty with `toolsets` empty means all.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Toolsets that were chosen.
    #[serde(default)]
    pub toolsets: Vec<String>,
}

/// Reads the header of a binding file back, or returns `None` when it has none that is well formed.
#[must_use]
pub fn header_of(binding_source: &str) -> Option<Header> {
    let source = binding_source.strip_prefix('\u{feff}').unwrap_or(binding_source);
    let line = source.lines().take(LINES).find_map(|line| line.strip_prefix(MARK))?;
    let header: Header = serde_json::from_str(line.trim_end()).ok()?;
    (header.version == 1 && is_fingerprint(&header.fingerprint)).then_some(header)
}

/// Returns the functions of a TypeScript binding file with the tool that each calls, as `typescript.rs` writes them.
#[must_use]
pub fn functions_of(binding_source: &str) -> BTreeMap<String, String> {
    let mut functions = BTreeMap::new();
    let mut open = None;
    for line in binding_source.lines() {
        let head = ["export function ", "export async function* "].into_iter().find_map(|head| line.strip_prefix(head));
        if let Some(name) = head.and_then(|rest| rest.split(['<', '(']).next()) {
            open = Some(name.to_owned());
            continue;
        }
        let body = ["  return adapter.call(", "  yield* pagesBy<T>(adapter, "].into_iter();
        let tool = body
            .filter_map(|begin| line.strip_prefix(begin))
            .find_map(|rest| serde_json::Deserializer::from_str(rest).into_iter::<String>().next()?.ok());
        functions.extend(tool.and_then(|tool| Some((open.take()?, tool))));
    }
    functions
}

/// Writes the line, with its end.
pub(crate) fn write(header: &Header) -> String {
    let mut line = format!(
        "{MARK}{{\"version\":{},\"adapter\":{},\"fingerprint\":{},\"lang\":{}",
        header.version,
        text::json(header.adapter.as_str()),
        text::json(header.fingerprint.as_str()),
        text::json(header.lang.as_str()),
    );
    for (key, names) in [("tools", &header.tools), ("toolsets", &header.toolsets)] {
        if !names.is_empty() {
            let list: Vec<String> = names.iter().map(|name| text::json(name)).collect();
            line.push_str(&format!(",\"{key}\":[{}]", list.join(",")));
        }
    }
    line.push_str("}\n");
    line
}

/// Whether the text is `mcp_` and base58, as [`Fingerprint::of`] makes it.
pub(crate) fn is_fingerprint(fingerprint: &Fingerprint) -> bool {
    fingerprint.as_str().strip_prefix("mcp_").is_some_and(is_base58)
}

/// Whether the text is base58 of 20 bytes, give or take leading zeros.
pub(crate) fn is_base58(text: &str) -> bool {
    (20..=28).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() && !matches!(byte, b'0' | b'O' | b'I' | b'l'))
}
