//! The formula that ranks: how well one tool fits an intent, from 0 to 1.
//!
//! It weighs, without any statistics of the index: how many of the intent's words the tool knows and where, whether
//! the summary says the same, whether the name and the resource at the end of the path say little else, and whether
//! the method fits the verb. A tool that destroys is never better than 0.1 unless the intent names destruction, and
//! any other stays above that when it has a word of the intent in its name or path.

use std::collections::BTreeSet;

use rote_types::Method;

use super::file::{Entry, Known};
use super::lexicon::{Lexicon, begins_with_one_edit, is_one_edit};
use super::{Found, long_form, meaningful_words, singular, split_words, stem, stemmer, verbs};

/// Longest word that tools are found by, in bytes; what is longer is data.
pub(super) const MAX_WORD_BYTES: usize = 39;

/// Least letters of a word that may be misspelt.
const LEAST_MISSPELT: usize = 3;

/// The most that a tool which destroys can reach when nobody asked for that.
const UNASKED_DESTRUCTION: f32 = 0.1;

/// Words that ask for destruction; words that begin with `un`, such as `unstar`, do too.
const DESTRUCTIVE: [&str; 22] = [
    "ban", "cancel", "clear", "close", "delete", "destroy", "detach", "disable", "discard", "dismiss", "drop", "erase",
    "expire", "kick", "kill", "leave", "purge", "remove", "reset", "revoke", "stop", "wipe",
];

/// Adjectives: they narrow a reading down, and no tool has to be named after them.
const ADJECTIVES: [&str; 12] =
    ["active", "closed", "current", "existing", "last", "latest", "new", "newest", "old", "open", "own", "recent"];

/// The methods that a verb asks for.
pub(super) fn methods(verb: &str) -> Option<&'static [Method]> {
    Some(match verb {
        "list" | "get" | "show" | "find" | "read" | "fetch" | "search" | "retrieve" | "view" | "see" | "return"
        | "returns" | "lists" | "gets" => &[Method::Get, Method::Head],
        "create" | "add" | "post" | "make" | "send" | "creates" | "adds" => &[Method::Post],
        "upload" | "attach" => &[Method::Post, Method::Put],
        "update" | "change" | "edit" | "modify" | "rename" | "updates" => &[Method::Patch, Method::Put, Method::Post],
        "replace" | "set" | "put" => &[Method::Put, Method::Patch, Method::Post],
        "delete" | "remove" | "destroy" | "erase" | "deletes" => &[Method::Delete],
        _ => return None,
    })
}

/// One word of an intent in its forms.
pub(super) struct Word {
    text: String,
    singular: String,
    stem: String,
    weight: f32,
}

impl Word {
    /// How alike it and a word of an index are.
    pub(super) fn likeness(&self, known: &Known<'_>, misspelt: bool) -> f32 {
        if self.text == known.text {
            return 1.0;
        }
        if self.singular == singular(known.text) {
            return 0.93;
        }
        if self.text.get(..3) == known.text.get(..3) && self.stem == known.stem {
            return 0.6;
        }
        let near = || is_one_edit(&self.text, known.text) || known.text.starts_with(&self.text);
        if misspelt && self.text.chars().count() >= LEAST_MISSPELT && near() { 0.5 } else { 0.0 }
    }
}

/// What somebody wants to do.
pub(super) struct Intent {
    whole: String,
    /// The first word when it may be a verb.
    verb: String,
    wanted: Option<&'static [Method]>,
    destructive: bool,
    /// What it is about: neither the verb nor words that say nothing.
    words: Vec<Word>,
    /// The stems by which tools are found.
    stems: BTreeSet<String>,
    /// The words without their plural, by which tools are found too.
    singulars: BTreeSet<String>,
    /// The words as they were typed.
    typed: Vec<String>,
}

impl Intent {
    pub(super) fn new(text: &str) -> Self {
        let all = split_words(text);
        let typed = meaningful_words(text);
        let please = ["please", "i", "want", "to"];
        let verb = all.iter().find(|word| !please.contains(&word.as_str())).cloned().unwrap_or_default();
        let after = all.iter().skip_while(|word| **word != verb).nth(1).map_or("", String::as_str);
        let opens = verb == "open" && matches!(after, "a" | "an" | "new");
        let wanted = if opens { Some(&[Method::Post][..]) } else { methods(&verb) };
        // A name that was typed, such as `issues/list`, has its verb elsewhere.
        let wanted = wanted.or_else(|| typed.iter().rev().find_map(|word| methods(word)));
        let mut stemmer = stemmer();
        let mut words: Vec<Word> = Vec::new();
        for word in typed.iter().map(|word| long_form(word)) {
            let spoken = methods(word).is_some() || (opens && word == "open");
            if words.iter().any(|known| known.text == word) {
                continue;
            }
            let weight = if spoken {
                0.15
            } else if ADJECTIVES.contains(&word) {
                0.25
            } else {
                1.0
            };
            let (text, singular, stem) = (word.to_owned(), singular(word).into_owned(), stem(&mut stemmer, word));
            words.push(Word { text, singular, stem, weight });
        }
        let destructive =
            all.iter().any(|word| DESTRUCTIVE.contains(&word.as_str()) || (word.starts_with("un") && word.len() > 4));
        let short = |word: &&Word| word.text.len() <= MAX_WORD_BYTES;
        let stems = words.iter().filter(short).map(|word| word.stem.clone()).collect();
        let singulars = words.iter().filter(short).map(|word| word.singular.clone()).collect();
        Self { whole: text.trim().to_owned(), verb, wanted, destructive, words, stems, singulars, typed }
    }

    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    pub(super) fn verb(&self) -> &str {
        &self.verb
    }

    /// Whether a word says the method that is wanted.
    pub(super) fn wants(&self, word: &str) -> bool {
        methods(word).is_some_and(|known| self.wanted.is_some_and(|wanted| wanted.first() == known.first()))
    }

    pub(super) fn has_stem(&self, stem: &str) -> bool {
        self.stems.contains(stem)
    }

    pub(super) fn has_singular(&self, word: &str) -> bool {
        self.singulars.contains(&*singular(word))
    }

    /// Whether a stem is one edit away from a word that was typed, or goes on after it.
    pub(super) fn is_near(&self, stem: &str) -> bool {
        let words = self.typed.iter().filter(|word| word.chars().count() >= LEAST_MISSPELT);
        words.into_iter().any(|word| begins_with_one_edit(word, stem))
    }

    /// Whether a tool shares a word with the intent.
    pub(super) fn finds(&self, entry: &Entry<'_, '_>, lexicon: &Lexicon) -> bool {
        let found = |number: &u32| lexicon.meaning(*number).found;
        let either = |number: &u32| found(number) || lexicon.meaning(*number).found_as_is;
        entry.name == self.whole
            || entry.words().iter().any(either)
            || entry.path().iter().any(either)
            || entry.summary().iter().any(either)
            || entry.toolset().iter().any(found)
            || entry.rest().iter().any(found)
    }

    pub(super) fn score(&self, entry: &Entry<'_, '_>, lexicon: &Lexicon) -> f32 {
        if entry.name == self.whole {
            return 1.0;
        }
        let total: f32 = self.words.iter().map(|word| word.weight).sum();
        let best = self.likest(entry, lexicon);
        let known: f32 = self.words.iter().zip(&best).map(|(word, best)| word.weight * best).sum();
        let coverage = if total > 0.0 { known / total } else { 0.0 };
        let shape = 0.45 * coverage
            + 0.25 * self.same(entry.summary(), lexicon)
            + 0.12 * share(entry.words(), lexicon)
            + 0.10 * share(entry.resource(), lexicon)
            + 0.08 * says_verb(entry, lexicon);
        // Small enough to part only what is otherwise alike.
        let effort = 0.002 * f32::from(entry.required.min(10)) + 0.002 * f32::from(entry.depth.min(10));
        let old = if entry.deprecated { 0.6 } else { 1.0 };
        let score = (shape - effort).max(0.0) * self.affinity(entry, lexicon) * old;
        match entry.destructive && !self.destructive {
            true => score * UNASKED_DESTRUCTION,
            false if coverage > 0.0 => UNASKED_DESTRUCTION + score * (0.99 - UNASKED_DESTRUCTION),
            false => score,
        }
    }

    /// How well the method fits what is wanted; reading is what nobody has to ask for.
    fn affinity(&self, entry: &Entry<'_, '_>, lexicon: &Lexicon) -> f32 {
        let verb = |number: &u32| lexicon.meaning(*number).verb;
        let names_it = || entry.words().iter().any(verb) || entry.summary().first().is_some_and(verb);
        match self.wanted {
            Some(wanted) if wanted.first() == Some(&entry.method) => 1.0,
            Some(wanted) if wanted.contains(&entry.method) => 0.95,
            Some(_) if entry.words().iter().any(verb) => 0.9,
            Some(_) if entry.method == Method::Mcp => 0.9,
            Some(_) => 0.65,
            None if entry.method.is_read() => 1.0,
            None if !ADJECTIVES.contains(&self.verb.as_str()) && names_it() => 0.98,
            None => 0.75,
        }
    }

    /// How well a tool knows each word: the best of its fields.
    fn likest(&self, entry: &Entry<'_, '_>, lexicon: &Lexicon) -> Vec<f32> {
        let mut best = vec![0.0_f32; self.words.len()];
        let fields = [(entry.words(), 1.0), (entry.path(), 0.85), (entry.toolset(), 0.75), (entry.summary(), 0.7)];
        for (words, weight) in fields {
            for number in words {
                for (best, likeness) in best.iter_mut().zip(lexicon.likeness(*number, self.words.len())) {
                    *best = best.max(weight * likeness);
                }
            }
        }
        best
    }

    /// How far a summary and the intent are the same sentence: harmonic mean of the shares of each in the other.
    fn same(&self, summary: &[u32], lexicon: &Lexicon) -> f32 {
        let opens = summary.first().is_some_and(|first| lexicon.meaning(*first).opens);
        let creates = self.wanted.is_some_and(|wanted| wanted.first() == Some(&Method::Post));
        let weight: f32 = self.words.iter().map(|word| word.weight).sum();
        let (mut telling, mut known) = (0, 0.0_f32);
        let mut said = vec![0.0_f32; self.words.len()];
        for number in summary {
            let meaning = lexicon.meaning(*number);
            if meaning.telling {
                telling += 1;
                known += meaning.says;
                for (said, likeness) in said.iter_mut().zip(lexicon.likeness(*number, self.words.len())) {
                    *said = said.max(*likeness);
                }
            }
        }
        if telling == 0 || weight <= 0.0 {
            return 0.0;
        }
        if opens && creates {
            known += 1.0;
        }
        let precision = (known / count(telling)).min(1.0);
        let mut found = 0.0;
        for (word, said) in self.words.iter().zip(said) {
            found += word.weight * said;
        }
        let recall = found / weight;
        if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
    }
}

/// A tool that was found, with what decides where it stands.
pub(super) struct Ranked<'i> {
    pub(super) score: f32,
    pub(super) required: u16,
    pub(super) depth: u16,
    pub(super) name: &'i str,
}

/// Returns the best of what was found, best first. Of equal ones the simpler comes first, then the name decides.
pub(super) fn best(mut ranked: Vec<Ranked<'_>>, limit: usize) -> Vec<Found> {
    ranked.sort_unstable_by(|one, other| {
        let simple = |ranked: &Ranked<'_>| (ranked.required, ranked.depth);
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| simple(one).cmp(&simple(other))).then_with(|| one.name.cmp(other.name))
    });
    ranked.truncate(limit);
    ranked.into_iter().map(|one| Found { tool: one.name.to_owned(), score: one.score }).collect()
}

/// By what the methods are called, whether tools of them are found.
pub(super) fn found_methods(intent: &Intent, lexicon: &mut Lexicon) -> Vec<Method> {
    let mut stemmer = stemmer();
    let mut finds = |method: Method| {
        verbs(method).split(' ').filter(|verb| !verb.is_empty()).any(|verb| {
            let stem = stem(&mut stemmer, verb);
            let number = lexicon.number(intent, &Known { text: verb, stem: &stem });
            lexicon.meaning(number).found
        })
    };
    let all = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
    all.into_iter().filter(|method| finds(*method)).collect()
}

/// Whether the name or the summary has the intent's own verb.
fn says_verb(entry: &Entry<'_, '_>, lexicon: &Lexicon) -> f32 {
    let same = |number: &u32| lexicon.meaning(*number).like_verb;
    let first = entry.summary().first().is_some_and(same);
    let own = entry.words().iter().find(|word| !entry.toolset().contains(word));
    if first || own.is_some_and(same) { 1.0 } else { 0.0 }
}

/// The share of the telling words among `words` that the intent has.
fn share(words: &[u32], lexicon: &Lexicon) -> f32 {
    let telling = words.iter().map(|number| lexicon.meaning(*number)).filter(|word| word.telling && !word.spoken);
    let (mut count_of, mut known) = (0, 0.0_f32);
    for word in telling {
        count_of += 1;
        known += word.says;
    }
    if count_of == 0 { 0.0 } else { known / count(count_of) }
}

fn count(length: usize) -> f32 {
    f32::from(u16::try_from(length).unwrap_or(u16::MAX))
}
