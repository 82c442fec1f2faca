//! The one error type of a flow.

use std::fmt;

use crate::Response;

/// What a flow and the SDK's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a flow and the SDK's functions fail with: a [`Cause`], what the flow was doing, and which error of the host's it is.
///
/// The host knows its own errors again by an identity that travels with the value, so the caller of the flow sees the host's
/// error with its kind and hint, and a resumed run makes the call again that stopped it. Pass an error on with `?`, put words
/// before it with [`ResultExt::context`], or make another one of it with [`Error::because`]; `Error::msg(error)` loses it.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    pub(crate) id: Option<u64>,
    pub(crate) cause: Cause,
    pub(crate) context: String,
}

/// Why something failed: the host's cases (`rote:base/types.cause`), or the flow's own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Cause {
    /// Refused by policy. Blame: caller. Retry: no.
    Denied(Denial),
    /// A person must confirm first. Blame: nobody. Retry: after that, unchanged.
    ConfirmationNeeded(Challenge),
    /// The installed adapter is not the pinned one. Blame: drift. Retry: after re-pinning.
    FingerprintMismatch(String),
    /// A credential is missing or was refused. Blame: user. Retry: after `rote token set`.
    Auth(String),
    /// The remote answered with status 300 or above, but 304; the answer is recorded and can be queried. Blame: remote
    /// or arguments.
    Http(Response),
    /// The remote could not be reached, or broke the protocol. Blame: remote. Retry: may help for reads.
    Upstream(String),
    /// The arguments do not fit. Blame: guest or caller. Retry: no.
    InvalidInput(Vec<Problem>),
    /// Nothing of that name. Blame: caller. Retry: no.
    NotFound(String),
    /// A bound on time, memory, bytes or steps was reached. Retry: no.
    Limit(String),
    /// The host failed. Retry: may help.
    Internal(String),
    /// The flow's own error. Blame: flow. To the caller it is a general failure of the flow with this text.
    Flow(String),
}

/// A refusal by policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The rule that decided, such as `deny_list` or `egress.address`.
    pub rule: String,
    /// What was refused, and of which object.
    pub message: String,
    /// The command that would allow it; empty when none would.
    pub hint: String,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The tool, `adapter/tool`.
    pub tool: String,
    /// What the call would do, in one sentence.
    pub impact: String,
}

/// One problem with arguments or parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer to what is at fault; empty for the whole.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

impl Error {
    /// Makes an error of the flow's own, from a text or from another error.
    #[must_use]
    pub fn msg(message: impl fmt::Display) -> Self {
        Cause::Flow(message.to_string()).into()
    }

    /// Makes an error of the flow's own which says that there is nothing of a name.
    #[must_use]
    pub fn not_found(message: impl fmt::Display) -> Self {
        Cause::NotFound(message.to_string()).into()
    }

    /// Returns why it failed.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// Puts what the flow was doing before the text, and before what was put there earlier.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.context =
            if self.context.is_empty() { context.to_string() } else { format!("{context}: {}", self.context) };
        self
    }

    /// Says that this error is there because of another one. Of one of the same kind it becomes the words before it: by its
    /// kind alone the caller could not tell the two apart.
    ///
    /// ```
    /// # use rote_sdk::{Cause, Error};
    /// # let error = Error::from(Cause::Upstream("connection refused".to_owned()));
    /// let own = Error::not_found("there is no such customer").because(&error);
    /// assert_eq!(own.kind(), "not-found");
    /// ```
    #[must_use]
    pub fn because(mut self, other: &Self) -> Self {
        if self.kind() == other.kind() {
            return other.clone().context(self);
        }
        self.id = other.id;
        self
    }

    /// Returns the name of its kind, as `rote:base/types.cause` has it; a flow's own error is `internal` to its caller.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.cause {
            Cause::Denied(_) => "denied",
            Cause::ConfirmationNeeded(_) => "confirmation-needed",
            Cause::FingerprintMismatch(_) => "fingerprint-mismatch",
            Cause::Auth(_) => "auth",
            Cause::Http(_) => "http",
            Cause::Upstream(_) => "upstream",
            Cause::InvalidInput(_) => "invalid-input",
            Cause::NotFound(_) => "not-found",
            Cause::Limit(_) => "limit",
            Cause::Internal(_) | Cause::Flow(_) => "internal",
        }
    }

    /// Returns the recorded answer when the remote answered with an error.
    #[must_use]
    pub fn response(&self) -> Option<&Response> {
        match &self.cause {
            Cause::Http(response) => Some(response),
            _ => None,
        }
    }

    /// Returns the status of the recorded answer when the remote answered with an error.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.response().map(Response::status)
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        Self { id: None, cause, context: String::new() }
    }
}

/// What the flow was doing, put before the error of a result.
pub trait ResultExt<T> {
    /// Puts `context` before the error's text.
    ///
    /// ```
    /// use rote_sdk::ResultExt;
    /// # use rote_sdk::{Cause, Error};
    /// # let order: rote_sdk::Result<()> = Err(Cause::Upstream("connection refused".to_owned()).into());
    /// assert_eq!(order.context("cannot order").unwrap_err().to_string(), "cannot order: connection refused");
    /// ```
    ///
    /// # Errors
    /// The result's own.
    fn context(self, context: impl fmt::Display) -> Result<T>;
}

impl<T> ResultExt<T> for Result<T> {
    fn context(self, context: impl fmt::Display) -> Result<T> {
        self.map_err(|error| error.context(context))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.context.is_empty() {
            write!(f, "{}: ", self.context)?;
        }
        self.cause.fmt(f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => f.write_str(&denial.message),
            Self::ConfirmationNeeded(challenge) => {
                write!(f, "`{}` needs a person's confirmation: {}", challenge.tool, challenge.impact)
            }
            Self::Http(response) => write!(f, "the remote answered {} (@{})", response.status(), response.id()),
            Self::InvalidInput(problems) => {
                for (index, problem) in problems.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "; " })?;
                    f.write_str(&problem.pointer)?;
                    f.write_str(if problem.pointer.is_empty() { "" } else { " " })?;
                    f.write_str(&problem.message)?;
                }
                Ok(())
            }
            Self::FingerprintMismatch(text)
            | Self::Auth(text)
            | Self::Upstream(text)
            | Self::NotFound(text)
            | Self::Limit(text)
            | Self::Internal(text)
            | Self::Flow(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::msg(error)
    }
}

/// Says that a value does not fit the type that the flow asked for.
pub(crate) fn misfit(what: &str, name: &str, Problem { pointer, message }: Problem) -> Error {
    let separator = if pointer.is_empty() { "" } else { ": " };
    Error::msg(format!("{what} `{name}` does not fit: {pointer}{separator}{message}"))
}

/// Returns from the flow with a [`Cause::Flow`] of a formatted text.
///
/// ```
/// fn positive(number: i64) -> rote_sdk::Result<i64> {
///     if number <= 0 {
///         rote_sdk::bail!("{number} is not positive");
///     }
///     Ok(number)
/// }
/// assert_eq!(positive(-1).unwrap_err().to_string(), "-1 is not positive");
/// ```
#[macro_export]
macro_rules! bail {
    ($($message:tt)+) => {
        return ::core::result::Result::Err($crate::Error::msg(::std::format!($($message)+)))
    };
}

/// Returns from the flow with a [`Cause::Flow`] of a formatted text unless a condition holds.
///
/// ```
/// fn positive(number: i64) -> rote_sdk::Result<i64> {
///     rote_sdk::ensure!(number > 0, "{number} is not positive");
///     Ok(number)
/// }
/// assert!(positive(0).is_err());
/// ```
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            $crate::bail!($($message)+);
        }
    };
}
