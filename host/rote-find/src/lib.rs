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
use vocabulary::Deed;

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

/// One thing that an intent says.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// How much it counts beside the others.
    pub weight: f32,
    /// How much it counts where nothing has it: it may be what somebody called something.
    pub unknown: f32,
    /// The stems that it is found by, its own first, with how much each counts.
    pub stems: Vec<(String, f32)>,
}

impl Search {
    /// Reads an intent.
    #[must_use]
    pub fn new(intent: &str) -> Self {
        Self { intent: Intent::new(intent) }
    }

    /// Returns what the intent says, for an index of another kind; nothing where it has no words.
    #[must_use]
    pub fn said(&self) -> Vec<Said> {
        let terms = &self.intent.terms;
        let of_object =
            |stem: &str| terms.iter().any(|term| term.object && term.forms.iter().any(|(form, _)| form == stem));
        // What a verb says of its object (`file a bug`), the object says.
        let keeps = |term: &intent::Term, stem: &str| !term.verb || !of_object(stem);
        let stems = |term: &intent::Term| term.forms.iter().filter(|(stem, _)| keeps(term, stem)).cloned().collect();
        terms
            .iter()
            .map(|term| Said { weight: term.weight, unknown: rank::unknown(term), stems: stems(term) })
            .collect()
    }

    /// Whether something takes away by its name, and nothing that was said does.
    #[must_use]
    pub fn undoes(&self, name: &str) -> bool {
        self.intent.deed != Deed::Destroy && rank::undoes(&self.intent, name)
    }

    /// How well what something does by its name fits what is wanted, above 0 to 1.
    #[must_use]
    pub fn does(&self, name: &str) -> f32 {
        let words = split_words(name).join(" ");
        match (self.intent.deed, Intent::new(&words).deed) {
            (wanted, done) if wanted == done => 1.0,
            (Deed::Destroy, _) | (_, Deed::Destroy) => 0.5,
            _ => 0.8,
        }
    }

    /// Returns the tools of an index that fit best, at most `limit`, or else the nearest; `None` for bytes that are not an index.
    #[must_use]
    pub fn best(&self, index: &[u8], limit: usize) -> Option<Answer<Found>> {
        rank::rank(&self.intent, &Index::read(index)?, limit)
    }
}

#[cfg(test)]
mod tests;
