//! The languages that flows and bindings are written in.

use std::str::FromStr;

use serde::Deserialize;

use crate::IdError;

/// A language of flows and of the bindings for their calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// One file, no toolchain.
    #[serde(rename = "ts")]
    TypeScript,
    /// A crate for wasm32-unknown-unknown.
    Rust,
}

impl Language {
    /// Returns the word that `--lang` takes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TypeScript => "ts",
            Self::Rust => "rust",
        }
    }
}

impl FromStr for Language {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        [Self::TypeScript, Self::Rust]
            .into_iter()
            .find(|language| language.as_str() == text)
            .ok_or_else(|| IdError::new("language", text, "use `ts` or `rust`"))
    }
}
