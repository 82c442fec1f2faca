//! Finding tools by what somebody wants to do: tools go into an index, an intent comes out as a ranking. Pure.

mod fields;
mod file;
mod intent;
mod near;
mod rank;
mod text;
mod vocabulary;

pub use file::{Builder, Row};
pub use text::{indexed, meaningful_words, singular, split_words, stem};

use file::Index;
use intent::Intent;

/// One entry found: the tool's name and how well it fits, 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The tool's name.
    pub tool: String,
    /// How well it fits, 0 to 1.
    pub score: f32,
}

/// An intent that is looked for in any number of indexes.
#[derive(Debug)]
pub struct Search {
    intent: Intent,
}

impl Search {
    /// Reads an intent.
    #[must_use]
    pub fn new(intent: &str) -> Self {
        Self { intent: Intent::new(intent) }
    }

    /// Returns the tools of an index that fit best, at most `limit`; `None` for bytes that are not an index.
    #[must_use]
    pub fn best(&self, index: &[u8], limit: usize) -> Option<Vec<Found>> {
        rank::rank(&self.intent, &Index::read(index)?, limit)
    }
}

#[cfg(test)]
mod tests;
