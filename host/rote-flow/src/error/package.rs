//! The bytes of a flow file.

use rote_types::{ErrorKind, Sha256Digest};
use serde_json::json;

use super::told::{MAKE_A_FLOW, Told, classified};
use crate::frontmatter::Form;

/// A file that cannot be used as a flow.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The file is a component, perhaps, but no flow.
    #[error("the file is not a flow: {message}")]
    NotAFlow {
        /// What is missing.
        message: String,
    },
    /// The bytes are not those that the digest at the end of the file names.
    #[error("the flow file was changed after it was made: its digest does not match its contents")]
    Tampered,
    /// The file says that a template runs it, and its code is something else.
    #[error(
        "the flow says that it is a {}, and its code `{code}` is not a template that this rote knows: what it shows is not what would run",
        form.as_str()
    )]
    OtherTemplate {
        /// What it claims to be.
        form: Form,
        /// Digest of its code.
        code: Sha256Digest,
    },
    /// A part of the file is not what it must be.
    #[error("the {what} of the flow is malformed: {message}")]
    Malformed {
        /// `frontmatter`, `plan` or another part.
        what: &'static str,
        /// What is wrong.
        message: String,
    },
    /// The file is larger than a flow may be.
    #[error("the flow file is too large: {bytes} bytes, at most {max} are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        max: usize,
    },
}

classified!(PackageError);

impl PackageError {
    pub(super) fn told(&self) -> Told {
        match self {
            Self::Malformed { what: "recording", .. } => {
                Told::new(ErrorKind::Conflict).hint("rote run <flow> --record <file>")
            }
            Self::NotAFlow { .. } | Self::Tampered | Self::Malformed { .. } => {
                Told::new(ErrorKind::Conflict).hint(MAKE_A_FLOW)
            }
            Self::OtherTemplate { form, code } => {
                let hint = if *form == Form::Script { "rote flow build <sources>" } else { MAKE_A_FLOW };
                Told::new(ErrorKind::Conflict).hint(hint).details(json!({ "form": form, "code": code }))
            }
            Self::TooLarge { .. } => Told::new(ErrorKind::Limit),
        }
    }
}
