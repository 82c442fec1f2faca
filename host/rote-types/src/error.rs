//! The kinds of failure that a user, a script or an agent can tell apart.
//!
//! Every library has its own error types; each says through [`Classify`] which kind it is and what to do
//! next, so that the exit code and the hint are decided where the failure is understood.

use crate::AdapterId;
use serde::{Deserialize, Serialize};

/// Returns the text of an error with those of its causes: for whoever is told no more than a text.
#[must_use]
pub fn with_causes<E: std::error::Error + ?Sized>(error: &E) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

/// What kind of failure it is. The numbers are the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// Anything without a kind of its own, and a false condition: exit 1.
    General,
    /// The words of the command or its input are wrong: exit 2.
    Usage,
    /// The named adapter, tool, workspace, response, variable or flow does not exist: exit 3.
    NotFound,
    /// A credential is missing, unreadable or was refused by the remote: exit 4.
    Auth,
    /// The call needs a person's confirmation first: exit 5.
    ConfirmationNeeded,
    /// A policy, a limit of reach or the sandbox forbids it: exit 6.
    Denied,
    /// The installed adapter is not the one that was pinned: exit 7.
    FingerprintMismatch,
    /// The remote could not be reached or answered with an error: exit 8.
    Upstream,
    /// A bound on time, memory, bytes or steps was reached: exit 9.
    Limit,
    /// The state on disk contradicts the request, or a strict check failed: exit 10.
    Conflict,
    /// Somebody asked the process to stop (Ctrl-C, SIGTERM): exit 130, as a shell has it for SIGINT.
    Interrupted,
}

impl ErrorKind {
    /// Returns the process exit code: 1 to 10, or 130.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::General => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Auth => 4,
            Self::ConfirmationNeeded => 5,
            Self::Denied => 6,
            Self::FingerprintMismatch => 7,
            Self::Upstream => 8,
            Self::Limit => 9,
            Self::Conflict => 10,
            Self::Interrupted => 130,
        }
    }

    /// Returns the stable machine name, as `error.kind` carries it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::Auth => "auth",
            Self::ConfirmationNeeded => "confirmation_needed",
            Self::Denied => "denied",
            Self::FingerprintMismatch => "fingerprint_mismatch",
            Self::Upstream => "upstream",
            Self::Limit => "limit",
            Self::Conflict => "conflict",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A refusal with what a program does about it; `details` says the same to whoever reads JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A rule decided, such as `deny_list`.
    Rule(String),
    /// Arguments do not fit.
    Arguments(Vec<Misfit>),
    /// A person confirms the call first.
    Confirmation {
        /// The tool, `adapter/tool`.
        tool: String,
        /// What the call would do.
        impact: String,
        /// What confirms it once.
        token: String,
    },
    /// A bound was reached.
    Bound {
        /// The option of `rote run` that raises it, where there is one.
        option: Option<&'static str>,
    },
    /// Nothing was sent, since nobody bound these stored credentials to where they would go.
    Unbound(Vec<WantedCredential>),
}

/// A credential of the vault that an adapter would send.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedCredential {
    /// The entry of the vault.
    pub token: String,
    pub adapter: AdapterId,
}

/// One argument that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// JSON pointer into the arguments; empty for the whole.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// What the edge needs to know of a library error beyond its text.
pub trait Classify: std::error::Error {
    /// Returns the kind, which decides the exit code.
    fn kind(&self) -> ErrorKind;

    /// Returns what to do next, as a command where there is one.
    fn hint(&self) -> Option<String> {
        None
    }

    /// Returns which refusal it is, where a program does something about it.
    fn refusal(&self) -> Option<Refusal> {
        None
    }

    /// Returns what a flow logged before it stopped, line by line.
    fn log(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns data for `error.details` in machine output; never a secret.
    fn details(&self) -> Option<serde_json::Value> {
        None
    }
}
