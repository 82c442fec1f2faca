//! What does not fit, and where.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use crate::Problem;

/// Why a text is not the value that was asked for.
#[derive(Debug)]
pub(super) struct Mismatch {
    /// Names and indices on the way down, innermost first.
    path: Vec<String>,
    message: String,
}

impl Mismatch {
    pub(super) fn new(message: &str) -> Self {
        Self { path: Vec::new(), message: message.to_owned() }
    }

    /// Says that it is below a member or an item.
    pub(super) fn below(mut self, name: &str) -> Self {
        self.path.push(name.replace('~', "~0").replace('/', "~1"));
        self
    }

    pub(super) fn into_problem(self) -> Problem {
        let mut pointer = String::new();
        for name in self.path.iter().rev() {
            pointer.extend(["/", name.as_str()]);
        }
        Problem { pointer, message: self.message }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

/// serde's own texts print the value that was found, and so floats.
impl Error for Mismatch {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: Vec::new(), message: message.to_string() }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self { path: Vec::new(), message: format!("expected {expected}, found {}", kind(found)) }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self { path: Vec::new(), message: format!("expected {expected}, found another {}", kind(found)) }
    }
}

fn kind(found: Unexpected<'_>) -> &str {
    match found {
        Unexpected::Bool(_) => "boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "number",
        Unexpected::Char(_) | Unexpected::Str(_) => "string",
        Unexpected::Bytes(_) => "bytes",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "array",
        Unexpected::Map => "object",
        Unexpected::Other(kind) => kind,
        _ => "value",
    }
}
