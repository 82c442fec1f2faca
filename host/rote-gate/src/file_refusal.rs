//! Why a file is not touched, by the codes of Roo Code's governance hooks where they have one.

use rote_types::{AdapterId, Classify, ErrorKind, Sha256Digest, command};
use serde_json::{Value, json};

/// A file that is not touched. Nothing happened to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// The adapter has no folder that can be opened.
    #[error("the folder of adapter `{adapter}` cannot be opened: {problem}")]
    Root {
        adapter: AdapterId,
        /// Which folder, and why.
        problem: String,
    },
    /// The path leads out of the folder that a person gave to the adapter.
    #[error("`{path}` leads out of `{root}`, the folder of adapter `{adapter}`")]
    Outside {
        adapter: AdapterId,
        /// As the call names it.
        path: String,
        root: String,
    },
    /// Nobody changes it through an adapter, or nobody reads it.
    #[error("`{path}` is protected: {why}")]
    Protected { path: String, why: &'static str },
    /// The path is none, or leads through what is not a folder.
    #[error("`{path}` is not a path of a file: {problem}")]
    Path { path: String, problem: String },
    /// The arguments do not say what is to be done.
    #[error("{problem}")]
    Arguments { problem: String },
    /// The file is not what the workspace saw when it looked last, or it never looked.
    #[error("`{path}` {}", stale(*expected, *actual))]
    Stale {
        adapter: AdapterId,
        path: String,
        /// What the workspace saw last; none where it saw no file, or never looked.
        expected: Option<Sha256Digest>,
        /// What is there; none where there is no file.
        actual: Option<Sha256Digest>,
    },
    /// Another process changes it.
    #[error("`{path}` is being changed by another process")]
    Busy { path: String },
    /// It is larger than what is read or written whole.
    #[error("`{path}` has {bytes} bytes, more than {limit}")]
    Large { path: String, bytes: u64, limit: u64 },
    /// The disk refused; the file is as it was.
    #[error("cannot {action} `{path}`: {problem}")]
    Disk { action: &'static str, path: String, problem: String },
    /// What would be written holds the mask that stood for a secret in what was read.
    #[error("what would be written into `{path}` holds `<{name}>`, which stood for a secret when it was read")]
    Masked { path: String, name: String },
}

/// What is wrong with a file of which something else was seen.
fn stale(expected: Option<Sha256Digest>, actual: Option<Sha256Digest>) -> &'static str {
    match (expected, actual) {
        (None, _) => "is there, and this workspace has not read it, so that nobody knows what would be lost",
        (Some(_), None) => "was removed since this workspace read it",
        (Some(_), Some(_)) => "was changed since this workspace read it",
    }
}

impl FileRefusal {
    /// Returns the code, which is the rule in the journal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Root { .. } => "file.root",
            Self::Outside { .. } => "SCOPE_VIOLATION",
            Self::Protected { .. } => "PROTECTED_PATH",
            Self::Path { .. } => "file.path",
            Self::Arguments { .. } => "file.arguments",
            Self::Stale { .. } => "STALE_FILE",
            Self::Busy { .. } => "file.busy",
            Self::Large { .. } => "limit",
            Self::Disk { .. } => "file.disk",
            Self::Masked { .. } => "file.masked",
        }
    }
}

impl Classify for FileRefusal {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Outside { .. } | Self::Protected { .. } | Self::Masked { .. } => ErrorKind::Denied,
            Self::Path { .. } | Self::Arguments { .. } => ErrorKind::Usage,
            Self::Root { .. } | Self::Stale { .. } | Self::Busy { .. } => ErrorKind::Conflict,
            Self::Large { .. } => ErrorKind::Limit,
            Self::Disk { .. } => ErrorKind::General,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Root { adapter, .. } | Self::Outside { adapter, .. } => {
                Some(command("rote adapter info").argument(adapter).note("names its folder").into())
            }
            Self::Stale { adapter, path, .. } => {
                let read = command("rote call").argument(adapter).plain("read_file").assignment("path", path);
                Some(read.note("then decide again, and repeat the call").into())
            }
            Self::Busy { .. } => Some("the same command again".to_owned()),
            Self::Masked { .. } => Some("edit_file changes the rest, and leaves the secret where it stands".to_owned()),
            Self::Protected { .. }
            | Self::Path { .. }
            | Self::Arguments { .. }
            | Self::Large { .. }
            | Self::Disk { .. } => None,
        }
    }

    fn details(&self) -> Option<Value> {
        let code = self.code();
        Some(match self {
            Self::Stale { path, expected, actual, .. } => json!({
                "rule": code, "path": path, "expected_hash": expected, "actual_hash": actual,
                "resolution": "RE_READ_REQUIRED"
            }),
            Self::Root { adapter, .. } => json!({ "rule": code, "adapter": adapter }),
            Self::Arguments { .. } => json!({ "rule": code }),
            Self::Outside { path, root, .. } => json!({ "rule": code, "path": path, "root": root }),
            Self::Protected { path, .. }
            | Self::Path { path, .. }
            | Self::Busy { path }
            | Self::Large { path, .. }
            | Self::Disk { path, .. }
            | Self::Masked { path, .. } => json!({ "rule": code, "path": path }),
        })
    }
}
