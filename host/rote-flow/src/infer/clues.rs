//! What an intent says about the parameters of a flow.
//!
//! An intent is read as words. `name=value` is taken at its word. Else a value is taken where something in the intent
//! says of which parameter it is: the parameter's name beside it, its unit, its shape, the example that the description
//! gives, or an allowed value said outright. Each word belongs to one parameter at most; what two parameters can claim
//! belongs to none. What is not said stays open: a wrong value costs more than a question.

mod joined;
mod kinds;
mod rules;
mod wish;
mod words;

use std::collections::BTreeMap;

use rote_types::read_word;
use serde_json::Value;

use crate::{Frontmatter, parameter};
use wish::Wish;
use words::{Word, words};

/// Nearness of a word and an allowed value, from 0 to 1, from which one is taken for the other.
const NEAR: f64 = 0.88;

/// What an intent says about one parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Clue {
    /// `name=value`.
    Explicit(Value),
    /// `name=value` with a value that does not fit, and why.
    Wrong(String),
    /// A value that the intent says of this parameter, and how.
    Pattern(Value, String),
    /// An allowed value.
    Allowed(Value, String),
}

/// What an intent says, by parameter.
#[derive(Debug, Default)]
pub(super) struct Clues(BTreeMap<String, Clue>);

/// An intent that is read for the parameters of a flow.
struct Reading<'f> {
    frontmatter: &'f Frontmatter,
    wishes: Vec<Wish<'f>>,
    words: Vec<Word>,
    /// The words that belong to a parameter.
    used: Vec<bool>,
    clues: Clues,
}

impl Clues {
    pub(super) fn of(&self, name: &str) -> Option<&Clue> {
        self.0.get(name)
    }

    pub(super) fn read(frontmatter: &Frontmatter, intent: &str) -> Self {
        let words = joined::joined(words(intent));
        let used = vec![false; words.len()];
        let wishes = Wish::all(frontmatter);
        let mut reading = Reading { frontmatter, wishes, words, used, clues: Self::default() };
        reading.explicit();
        reading.shapes();
        reading.repository();
        reading.told();
        reading.allowed();
        reading.examples();
        reading.counted();
        reading.numbers();
        reading.bounds();
        reading.truths();
        reading.called();
        reading.quoted();
        reading.named();
        reading.ends();
        reading.looks();
        reading.proper_names();
        reading.before_names();
        reading.amount();
        reading.asked();
        reading.thing();
        reading.nearly_allowed();
        reading.clues
    }
}

impl Reading<'_> {
    fn low(&self, place: usize) -> &str {
        self.words.get(place).filter(|word| !word.quoted).map_or("", |word| word.low.as_str())
    }

    /// The words of a kind that belong to no parameter.
    fn free(&self, is: impl Fn(&Word) -> bool) -> impl Iterator<Item = usize> {
        (0..self.words.len()).filter(move |place| !self.used[*place] && is(&self.words[*place]))
    }

    /// The parameters of a kind that nothing is known of.
    fn open(&self, is: impl Fn(&Wish<'_>) -> bool) -> impl Iterator<Item = usize> {
        let open = move |at: &usize| !self.clues.0.contains_key(self.wishes[*at].name) && is(&self.wishes[*at]);
        (0..self.wishes.len()).filter(open)
    }

    /// Whether a word can be a value that somebody said in plain words.
    fn is_value(&self, place: usize) -> bool {
        let word = &self.words[place];
        !self.used[place] && !word.quoted && !word.is_filler() && word.number().is_none_or(|_| word.text.contains('-'))
    }

    /// Gives a word to a parameter, when it can be its value.
    fn take(&mut self, at: usize, place: usize, kind: &str) {
        let (wish, word) = (&self.wishes[at], &self.words[place]);
        let bare = !wish.texts || wish.description.contains("without #");
        let text = match word.number().filter(|_| wish.numbers) {
            Some((digits, _)) => digits,
            None if bare => word.text.trim_start_matches('#').to_owned(),
            None => word.text.clone(),
        };
        let why = format!("{kind} `{}` in the intent", word.text);
        self.used[place] |= self.put(at, &text, &why);
    }

    /// Gives a text to a parameter; whether it can be its value.
    fn put(&mut self, at: usize, text: &str, why: &str) -> bool {
        let (root, wish) = (&self.frontmatter.parameters, &self.wishes[at]);
        let value =
            read_word(root, wish.schema, text).ok().filter(|value| parameter::check(root, wish.schema, value).is_ok());
        let fits = value.is_some();
        if let Some(value) = value {
            self.clues.0.insert(wish.name.to_owned(), Clue::Pattern(value, why.to_owned()));
        }
        fits
    }

    fn explicit(&mut self) {
        let root = &self.frontmatter.parameters;
        for (place, word) in self.words.iter().enumerate() {
            let Some((key, text)) = word.text.split_once('=').filter(|(key, _)| !key.is_empty()) else { continue };
            let Some(wish) = self.wishes.iter().find(|wish| super::plain(wish.name) == super::plain(key)) else {
                continue;
            };
            let value = read_word(root, wish.schema, text);
            let value = value.and_then(|value| parameter::check(root, wish.schema, &value).map(|()| value));
            let clue = value.map_or_else(Clue::Wrong, Clue::Explicit);
            self.clues.0.entry(wish.name.to_owned()).or_insert(clue);
            self.used[place] = true;
        }
    }

    /// Proposes the allowed value that a word is near to.
    fn nearly_allowed(&mut self) {
        for wish in &self.wishes {
            if wish.allowed.is_empty() || self.clues.0.contains_key(wish.name) {
                continue;
            }
            let mut near: Vec<(f64, &Value, &str)> = Vec::new();
            for value in wish.allowed {
                let Some(text) = value.as_str() else { continue };
                let free = self.words.iter().zip(&self.used).filter(|(_, used)| !**used);
                let nearness = free.map(|(word, _)| (nearness(text, &word.text), word.text.as_str()));
                let best = nearness.max_by(|one, other| one.0.total_cmp(&other.0));
                near.extend(best.filter(|(score, _)| *score >= NEAR).map(|(score, word)| (score, value, word)));
            }
            near.sort_by(|one, other| other.0.total_cmp(&one.0));
            // Two values that are equally near leave it open.
            let clear = near.len() == 1 || near.len() > 1 && near[0].0 > near[1].0;
            if let Some((_, value, word)) = near.first().filter(|_| clear) {
                let why = format!("allowed value near `{word}` in the intent");
                self.clues.0.insert(wish.name.to_owned(), Clue::Allowed((*value).clone(), why));
            }
        }
    }
}

fn nearness(allowed: &str, word: &str) -> f64 {
    let (allowed, word) = (super::plain(allowed), super::plain(word));
    if allowed.is_empty() || word.is_empty() {
        return 0.0;
    }
    strsim::jaro_winkler(&allowed, &word)
}
