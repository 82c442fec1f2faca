//! What travels between layers when a tool is called.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AdapterId, ResponseId};

/// A wish to call a tool, as a person, a script or a guest wrote it. Nothing in it has been checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub adapter: AdapterId,
    /// The tool's name in that adapter.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Value,
}

/// A recorded response, small enough to hand to a guest; the body stays with the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRef {
    /// Its number in the workspace.
    pub id: ResponseId,
    /// HTTP status, 100–599.
    pub status: u16,
    /// Media type without parameters, empty when the remote gave none.
    pub content_type: String,
    /// Size of the decoded body in bytes.
    pub bytes: u64,
    /// It says in a success that the call failed, by the member that its description has for that ([`crate::Tool::ok_member`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

impl ResponseRef {
    /// Whether the caller is told of a failure: by its status ([`is_failure`]), or because it says so.
    #[must_use]
    pub fn is_failure(&self, writes: bool) -> bool {
        self.refused || is_failure(self.status, writes)
    }
}

/// Whether a status is a failure: of a write that did not say that it was done; of a read from 300 on, but 304, which answers
/// a condition that the caller set (RFC 9110 §15.4.5). What is recorded of a call, what a run is told and what it is told
/// again, resumed or replayed, is decided here.
#[must_use]
pub fn is_failure(status: u16, writes: bool) -> bool {
    if writes { Effected::by(status) != Effected::Yes } else { status >= 300 && status != 304 }
}

/// Whether a write was done, as the status of its answer says (RFC 9110 §15).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effected {
    /// 2xx: it was done.
    Yes,
    /// 4xx, 408 and 429 (RFC 6585 §4) among them: the server did not act.
    No,
    /// Anything else. A server that fails (5xx) may have acted before; a redirect (3xx) after a write often means that it did.
    Unknown,
}

impl Effected {
    /// Reads a status.
    #[must_use]
    pub fn by(status: u16) -> Self {
        match status {
            200..=299 => Self::Yes,
            400..=499 => Self::No,
            _ => Self::Unknown,
        }
    }
}

/// Returns the target of a link with `rel="next"` in a `Link` header (RFC 8288).
#[must_use]
pub fn next_link(header: &str) -> Option<&str> {
    let mut rest = header;
    while let Some((_, behind)) = rest.split_once('<') {
        let (url, behind) = behind.split_once('>')?;
        let end = behind.find('<').unwrap_or(behind.len());
        let is_next = |word: &str| {
            let (name, value) = word.split_once('=').unwrap_or_default();
            let mut kinds = value.trim().trim_end_matches(',').trim().trim_matches('"').split(' ');
            name.trim().eq_ignore_ascii_case("rel") && kinds.any(|kind| kind.eq_ignore_ascii_case("next"))
        };
        if behind[..end].split(';').any(is_next) {
            return Some(url);
        }
        rest = &behind[end..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_failure_by_its_status() {
        let failures = |writes: bool| -> Vec<u16> {
            let is_failure = |status: &u16| {
                let (id, content_type) = (ResponseId(1), String::new());
                ResponseRef { id, status: *status, content_type, bytes: 0, refused: false }.is_failure(writes)
            };
            [200, 204, 299, 300, 302, 303, 304, 307, 400, 500].into_iter().filter(is_failure).collect()
        };
        assert_eq!(failures(false), [300, 302, 303, 307, 400, 500]);
        assert_eq!(failures(true), [300, 302, 303, 304, 307, 400, 500], "nothing was done under a condition");
    }
}
