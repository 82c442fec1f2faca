//! Finding tools by what somebody wants to do: tools go into an index, an intent comes out as a ranking. Pure.

mod fields;
mod file;
mod intent;
mod near;
mod rank;
mod text;
mod value;
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

/// What there is for an intent.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// What fits, best first.
    pub fits: Vec<T>,
    /// Where nothing fits, what comes nearest, best first, at most [`MOST_NEAR`]; nothing that destroys unless that is wanted.
    pub near: Vec<T>,
}

/// Most that is named where nothing fits.
pub const MOST_NEAR: usize = 3;

impl<T> Default for Answer<T> {
    fn default() -> Self {
        Self { fits: Vec::new(), near: Vec::new() }
    }
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

    /// Returns the tools of an index that fit best, at most `limit`, or else the nearest; `None` for bytes that are not an index.
    #[must_use]
    pub fn best(&self, index: &[u8], limit: usize) -> Option<Answer<Found>> {
        rank::rank(&self.intent, &Index::read(index)?, limit)
    }
}

#[cfg(test)]
mod tests;
