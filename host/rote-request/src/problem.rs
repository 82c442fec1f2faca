//! What is wrong with one argument, and the collection of such problems.
//!
//! The builder goes on after a problem, so that a caller sees all of them at once.

use std::fmt;

/// One problem with the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer (RFC 6901) into the arguments; empty for the whole.
    pub pointer: String,
    /// What is wrong: lower case, no full stop.
    pub message: String,
}

impl Problem {
    /// Makes a problem of the value at `pointer`.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            return formatter.write_str(&self.message);
        }
        write!(formatter, "`{}` {}", self.pointer, self.message)
    }
}

impl std::error::Error for Problem {}

/// Returns `parent` with one more reference token, escaped.
pub(crate) fn pointer_to(parent: &str, token: &str) -> String {
    format!("{parent}/{}", token.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_escapes_tilde_and_slash() {
        assert_eq!(pointer_to("/a", "b/c~d"), "/a/b~1c~0d");
    }
}
