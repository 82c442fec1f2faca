//! What a call does to the remote and how it can fail, as rote's defaults have it.
//!
//! A copy in miniature of `rote_govern::guard` without a policy: bindings are written on one machine and run on
//! another, whose lists may be stricter or, for an audited tool, laxer. The first lines of a file say so.

use rote_types::{Access, Tool};

/// What the write guard does with a call when the policy lists nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// It happens.
    Read,
    /// It happens and the audit says so.
    Audit,
    /// It happens after a person has confirmed it.
    Confirm,
}

impl Write {
    pub(crate) fn of(tool: &Tool) -> Self {
        match tool.access {
            access if access.asks(tool.method) => Self::Confirm,
            Access::Read => Self::Read,
            Access::Write | Access::Destroy => Self::Audit,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Audit => "audit",
            Self::Confirm => "confirm",
        }
    }

    /// The class in words, for a doc comment.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Read => "read (changes nothing)",
            Self::Audit => "audit (happens, and is audited)",
            Self::Confirm => "confirm (waits until a person has confirmed it)",
        }
    }
}

/// Cases of `error` in `rote:base/types` that any call can end in.
pub(crate) const COMMON_ERRORS: [&str; 8] =
    ["denied", "fingerprint-mismatch", "http", "upstream", "invalid-input", "not-found", "limit", "internal"];

/// Cases beyond the common ones.
pub(crate) fn further_errors(tool: &Tool, write: Write) -> Vec<&'static str> {
    let mut errors = Vec::new();
    if tool.security.iter().any(|slots| !slots.is_empty()) {
        errors.push("auth");
    }
    if write != Write::Read {
        errors.push("confirmation-needed");
    }
    errors
}
