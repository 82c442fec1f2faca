//! What the journal has of a write in a project, from which the line of its trace is made.

use rote_types::{Sha256Digest, sha256};
use serde::{Deserialize, Serialize};

use crate::intent::MutationClass;

/// Most bytes of a model's name, that of Agent Trace 0.1.0.
pub const MAX_MODEL: usize = 250;

/// What the journal has of a write in a project beside what it has of every effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// The folder of the project, an absolute path.
    pub project: String,
    /// The intent that it is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The model that drives the client, as the client says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation_class: Option<MutationClass>,
    /// The call says the class; it is inferred otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declared: bool,
    /// The commit that is checked out in the project's git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TracedFile>,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedFile {
    /// Below the project; absolute outside of it.
    pub path: String,
    /// Digest of its bytes then; none where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Sha256Digest>,
    /// Digest of its bytes before; none where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sha256Digest>,
    /// The lines that are new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<LineRange>,
}

/// Lines of a file as it then is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// From 1.
    pub start_line: u64,
    /// The last one, itself among them.
    pub end_line: u64,
    /// Digest of the lines, joined by line feeds; of a whole file, of its bytes.
    pub content_hash: Sha256Digest,
}

impl LineRange {
    /// Returns the range of a whole text; none where it has no lines.
    #[must_use]
    pub fn whole(text: &str) -> Option<Self> {
        let end_line = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
        (end_line > 0).then(|| Self { start_line: 1, end_line, content_hash: sha256(text.as_bytes()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_text_has_no_lines() {
        assert_eq!(LineRange::whole(""), None);
        assert_eq!(LineRange::whole("a\nb").unwrap().end_line, 2);
    }
}
