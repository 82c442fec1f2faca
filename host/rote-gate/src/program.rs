//! A program as it is asked for, and what came of it: plain data, for whoever speaks of it without running one.

use std::path::PathBuf;
use std::time::Duration;

use rote_types::{Classify, ErrorKind};

/// Longest run of a program.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// A program as somebody wants it run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedProcess {
    /// Its name, looked up as a shell does, or its path.
    pub program: String,
    pub arguments: Vec<String>,
    /// The folder that it runs in.
    pub folder: PathBuf,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRun {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// The end of what it printed to stderr, values of the vault masked.
    pub output: String,
}

impl ProcessRun {
    /// Whether it succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessFailure {
    /// It could not be started.
    #[error("cannot run `{program}`")]
    Start {
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// It took longer than 30 minutes and was stopped.
    #[error("`{program}` was stopped after {} minutes", TIMEOUT.as_secs() / 60)]
    Timeout { program: String },
}

impl Classify for ProcessFailure {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Start { .. } => ErrorKind::General,
            Self::Timeout { .. } => ErrorKind::Limit,
        }
    }
}
