//! What the words of indexes mean for one intent: each is looked at once, however many tools and adapters have it.

use std::collections::HashMap;

use super::file::Known;
use super::rank::{Intent, MAX_WORD_BYTES, methods};
use super::{EMPTY_WORDS, singular};

/// What one word means for the intent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning {
    /// A tool with it in a name, path, toolset or summary is found.
    pub(super) found: bool,
    /// A tool with it in its name, its path or the ranked part of its summary is found.
    pub(super) found_as_is: bool,
    /// It says something about a tool.
    pub(super) telling: bool,
    /// It is what people call a method.
    pub(super) spoken: bool,
    /// It is the intent's verb.
    pub(super) verb: bool,
    /// It is the intent's verb, or its plural.
    pub(super) like_verb: bool,
    pub(super) opens: bool,
    /// Whether somebody who wants this would say that word.
    pub(super) says: f32,
}

/// The words that were looked at.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    /// Whether a word one edit away, or one that goes on after it, is taken for it.
    misspelt: bool,
    numbers: HashMap<String, u32>,
    meanings: Vec<Meaning>,
    /// Of each word its likeness to each word of the intent.
    likeness: Vec<f32>,
}

impl Lexicon {
    pub(super) fn new(misspelt: bool) -> Self {
        Self { misspelt, ..Self::default() }
    }

    /// The number of a word's meaning.
    pub(super) fn number(&mut self, intent: &Intent, known: &Known<'_>) -> u32 {
        if let Some(number) = self.numbers.get(known.text) {
            return *number;
        }
        let number = u32::try_from(self.meanings.len()).unwrap_or(u32::MAX);
        let likeness = intent.words().iter().map(|word| word.likeness(known, self.misspelt));
        self.likeness.extend(likeness);
        let start = self.likeness.len() - intent.words().len();
        let best = self.likeness[start..].iter().copied().fold(0.0, f32::max);
        self.meanings.push(Meaning {
            found: known.text.len() <= MAX_WORD_BYTES && self.finds(intent, known),
            found_as_is: !self.misspelt && intent.has_singular(known.text),
            telling: is_telling(known.text),
            spoken: methods(known.text).is_some(),
            verb: intent.verb() == known.text,
            like_verb: intent.verb() == known.text || singular(known.text) == intent.verb(),
            opens: known.text == "open",
            says: if intent.wants(known.text) { 1.0 } else { best },
        });
        self.numbers.insert(known.text.to_owned(), number);
        number
    }

    fn finds(&self, intent: &Intent, known: &Known<'_>) -> bool {
        if self.misspelt { intent.is_near(known.stem) } else { intent.has_stem(known.stem) }
    }

    pub(super) fn meaning(&self, number: u32) -> &Meaning {
        &self.meanings[number as usize]
    }

    /// How alike a word and each of the intent's are.
    pub(super) fn likeness(&self, number: u32, words: usize) -> &[f32] {
        &self.likeness[number as usize * words..][..words]
    }
}

/// Whether a word says something about a tool: neither a number, a letter, nor a word that every sentence has.
fn is_telling(word: &str) -> bool {
    word.len() > 1 && !word.starts_with(|c: char| c.is_ascii_digit()) && !EMPTY_WORDS.contains(&word)
}

/// Whether two words are at most one edit apart: a letter more, less or another, or two that changed places.
pub(super) fn is_one_edit(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    edit_of(&one, &other, false)
}

/// Whether a word is at most one edit away from a beginning of another.
pub(super) fn begins_with_one_edit(word: &str, other: &str) -> bool {
    let (word, other): (Vec<char>, Vec<char>) = (word.chars().collect(), other.chars().collect());
    edit_of(&word, &other, true)
}

fn edit_of(word: &[char], other: &[char], or_longer: bool) -> bool {
    let fits = |word: &[char], other: &[char]| if or_longer { other.starts_with(word) } else { word == other };
    let same = word.iter().zip(other).take_while(|(one, other)| one == other).count();
    match (&word[same..], &other[same..]) {
        ([], _) if or_longer => true,
        ([], rest) | (rest, []) => rest.len() <= 1,
        // Another letter, one less, one more, two that changed places.
        (word @ [a, less @ ..], other @ [b, more @ ..]) => {
            fits(less, more)
                || fits(less, other)
                || fits(word, more)
                || matches!((less, more), ([c, less @ ..], [d, more @ ..]) if a == d && b == c && fits(less, more))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn one_edit_is_what_the_distance_says(one in "[abcé]{0,6}", other in "[abcé]{0,6}") {
            prop_assert_eq!(is_one_edit(&one, &other), strsim::osa_distance(&one, &other) <= 1);
            let beginnings = (0..=other.chars().count()).map(|end| other.chars().take(end).collect::<String>());
            let near = beginnings.into_iter().any(|beginning| strsim::osa_distance(&one, &beginning) <= 1);
            prop_assert_eq!(begins_with_one_edit(&one, &other), near);
        }
    }
}
