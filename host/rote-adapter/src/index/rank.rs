//! The formula that ranks: how well one tool fits an intent, from 0 to 1.
//!
//! It weighs, without any statistics of the index: how many of the intent's words the tool knows and where, whether
//! the summary says the same, whether the name and the resource at the end of the path say little else, and whether
//! the method fits the verb. A tool that destroys is never better than 0.1 unless the intent names destruction, and
//! any other stays above that when it has a word of the intent in its name or path.

use rote_types::{Access, Method, Tool};
use serde::{Deserialize, Serialize};
use tantivy::tokenizer::{Language, RawTokenizer, Stemmer, TextAnalyzer, TokenStream};

use super::{EMPTY_WORDS, Found, long_form, meaningful_words, split_words, summary};

/// Most words of a summary that are kept.
const SUMMARY_WORDS: usize = 24;

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
fn methods(verb: &str) -> Option<&'static [Method]> {
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

/// What the formula needs of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    name: String,
    /// Words of the name.
    words: Vec<String>,
    /// Words of the path's fixed segments.
    path: Vec<String>,
    /// Words of the last fixed segment: the resource.
    resource: Vec<String>,
    toolset: Vec<String>,
    summary: Vec<String>,
    method: Method,
    deprecated: bool,
    destructive: bool,
    /// Segments of the path.
    depth: u16,
    /// Required parameters.
    required: u16,
}

impl Entry {
    pub(super) fn of(tool: &Tool) -> Self {
        let fixed: Vec<&str> = tool.path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{')).collect();
        let mut summary = words(summary(&tool.description));
        summary.truncate(SUMMARY_WORDS);
        let count = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
        let required = tool.input_schema["required"].as_array().map_or(0, Vec::len);
        Self {
            name: tool.name.clone(),
            words: words(&tool.name),
            path: words(&fixed.join("/")),
            resource: fixed.last().map(|last| words(last)).unwrap_or_default(),
            toolset: words(&tool.toolset),
            summary,
            method: tool.method,
            deprecated: tool.deprecated,
            // What another method destroys its words say, and who wants it says them too.
            destructive: tool.access == Access::Destroy
                && !matches!(tool.method, Method::Post | Method::Patch | Method::Put),
            depth: count(tool.path.split('/').count()),
            required: count(required),
        }
    }

    /// The words to be found as they are.
    pub(super) fn exact_words(&self) -> String {
        let all = self.words.iter().chain(&self.path).chain(&self.summary);
        all.map(|word| singular(word)).collect::<Vec<_>>().join(" ")
    }
}

fn words(text: &str) -> Vec<String> {
    split_words(text).iter().map(|word| long_form(word).to_owned()).collect()
}

/// A word without its plural; crude, but the same on both sides.
pub(super) fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 2) {
        return format!("{stem}y");
    }
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// One word of an intent in its forms.
struct Word {
    text: String,
    singular: String,
    stem: String,
    weight: f32,
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
    misspelt: bool,
}

impl Intent {
    pub(super) fn new(text: &str) -> Self {
        let all = split_words(text);
        let meaning = meaningful_words(text);
        let please = ["please", "i", "want", "to"];
        let verb = all.iter().find(|word| !please.contains(&word.as_str())).cloned().unwrap_or_default();
        let after = all.iter().skip_while(|word| **word != verb).nth(1).map_or("", String::as_str);
        let opens = verb == "open" && matches!(after, "a" | "an" | "new");
        let wanted = if opens { Some(&[Method::Post][..]) } else { methods(&verb) };
        // A name that was typed, such as `issues/list`, has its verb elsewhere.
        let wanted = wanted.or_else(|| meaning.iter().rev().find_map(|word| methods(word)));
        let mut stemmer = stemmer();
        let mut kept: Vec<Word> = Vec::new();
        for word in meaning.iter().map(|word| long_form(word)) {
            let spoken = methods(word).is_some() || (opens && word == "open");
            if kept.iter().any(|known| known.text == word) {
                continue;
            }
            let weight = if spoken {
                0.15
            } else if ADJECTIVES.contains(&word) {
                0.25
            } else {
                1.0
            };
            let (text, singular, stem) = (word.to_owned(), singular(word), stem(&mut stemmer, word));
            kept.push(Word { text, singular, stem, weight });
        }
        let destructive =
            all.iter().any(|word| DESTRUCTIVE.contains(&word.as_str()) || (word.starts_with("un") && word.len() > 4));
        Self { whole: text.trim().to_owned(), verb, wanted, destructive, words: kept, misspelt: false }
    }

    /// Takes a word for one that is one edit away from it or goes on after it.
    pub(super) fn accept_misspelt(&mut self) {
        self.misspelt = true;
    }

    /// Returns the best entries, best first. Of equal ones the simpler comes first, then the name decides.
    pub(super) fn rank(&self, entries: &[Entry], limit: usize) -> Vec<Found> {
        let mut stemmer = stemmer();
        let mut ranked: Vec<(f32, &Entry)> =
            entries.iter().map(|entry| (self.score(entry, &mut stemmer), entry)).collect();
        ranked.sort_by(|(score, one), (other_score, other)| {
            let simple = |entry: &Entry| (entry.required, entry.depth);
            other_score
                .total_cmp(score)
                .then_with(|| simple(one).cmp(&simple(other)))
                .then_with(|| one.name.cmp(&other.name))
        });
        ranked.truncate(limit);
        ranked.into_iter().map(|(score, entry)| Found { tool: entry.name.clone(), score }).collect()
    }

    fn score(&self, entry: &Entry, stemmer: &mut TextAnalyzer) -> f32 {
        if entry.name == self.whole {
            return 1.0;
        }
        let total: f32 = self.words.iter().map(|word| word.weight).sum();
        let known: f32 = self.words.iter().map(|word| word.weight * self.best(word, entry, stemmer)).sum();
        let coverage = if total > 0.0 { known / total } else { 0.0 };
        let shape = 0.45 * coverage
            + 0.25 * self.same(&entry.summary, stemmer)
            + 0.12 * self.share(&entry.words, stemmer)
            + 0.10 * self.share(&entry.resource, stemmer)
            + 0.08 * self.says_verb(entry);
        // Small enough to part only what is otherwise alike.
        let effort = 0.002 * f32::from(entry.required.min(10)) + 0.002 * f32::from(entry.depth.min(10));
        let old = if entry.deprecated { 0.6 } else { 1.0 };
        let score = (shape - effort).max(0.0) * self.affinity(entry) * old;
        match entry.destructive && !self.destructive {
            true => score * UNASKED_DESTRUCTION,
            false if coverage > 0.0 => UNASKED_DESTRUCTION + score * (0.99 - UNASKED_DESTRUCTION),
            false => score,
        }
    }

    /// How well the method fits what is wanted; reading is what nobody has to ask for.
    fn affinity(&self, entry: &Entry) -> f32 {
        let names_it = entry.words.contains(&self.verb) || entry.summary.first() == Some(&self.verb);
        match self.wanted {
            Some(wanted) if wanted.first() == Some(&entry.method) => 1.0,
            Some(wanted) if wanted.contains(&entry.method) => 0.95,
            Some(_) if entry.words.contains(&self.verb) => 0.9,
            Some(_) if entry.method == Method::Mcp => 0.9,
            Some(_) => 0.65,
            None if entry.method.is_read() => 1.0,
            None if names_it && !ADJECTIVES.contains(&self.verb.as_str()) => 0.98,
            None => 0.75,
        }
    }

    /// Whether the name or the summary has the intent's own verb.
    fn says_verb(&self, entry: &Entry) -> f32 {
        let same = |word: &String| *word == self.verb || singular(word) == self.verb;
        let first = entry.summary.first().is_some_and(same);
        if first || entry.words.iter().filter(|word| !entry.toolset.contains(word)).take(1).any(same) {
            1.0
        } else {
            0.0
        }
    }

    /// How well a tool knows a word: the best of its fields.
    fn best(&self, word: &Word, entry: &Entry, stemmer: &mut TextAnalyzer) -> f32 {
        let fields = [(&entry.words, 1.0), (&entry.path, 0.85), (&entry.toolset, 0.75), (&entry.summary, 0.7)];
        fields
            .into_iter()
            .flat_map(|(words, weight)| words.iter().map(move |known| (known, weight)))
            .map(|(known, weight)| weight * self.likeness(word, known, stemmer))
            .fold(0.0, f32::max)
    }

    fn likeness(&self, word: &Word, known: &str, stemmer: &mut TextAnalyzer) -> f32 {
        if word.text == known {
            return 1.0;
        }
        if word.singular == singular(known) {
            return 0.93;
        }
        if word.text.get(..3) == known.get(..3) && stem(stemmer, known) == word.stem {
            return 0.6;
        }
        let near = || strsim::osa_distance(&word.text, known) <= 1 || known.starts_with(&word.text);
        if self.misspelt && word.text.chars().count() >= 3 && near() { 0.5 } else { 0.0 }
    }

    /// Whether somebody who wants this would say that word.
    fn says(&self, known: &str, stemmer: &mut TextAnalyzer) -> f32 {
        if methods(known).is_some_and(|known| self.wanted.is_some_and(|wanted| wanted.first() == known.first())) {
            return 1.0;
        }
        self.words.iter().map(|word| self.likeness(word, known, stemmer)).fold(0.0, f32::max)
    }

    /// The share of the telling words among `words` that the intent has.
    fn share(&self, words: &[String], stemmer: &mut TextAnalyzer) -> f32 {
        let telling: Vec<&String> = words.iter().filter(|word| is_telling(word) && methods(word).is_none()).collect();
        let known: f32 = telling.iter().map(|word| self.says(word, stemmer)).sum();
        if telling.is_empty() { 0.0 } else { known / count(telling.len()) }
    }

    /// How far a summary and the intent are the same sentence: harmonic mean of the shares of each in the other.
    fn same(&self, summary: &[String], stemmer: &mut TextAnalyzer) -> f32 {
        let opens = summary.first().is_some_and(|word| word == "open");
        let creates = self.wanted.is_some_and(|wanted| wanted.first() == Some(&Method::Post));
        let telling: Vec<&String> = summary.iter().filter(|word| is_telling(word)).collect();
        let weight: f32 = self.words.iter().map(|word| word.weight).sum();
        if telling.is_empty() || weight <= 0.0 {
            return 0.0;
        }
        let mut known: f32 = telling.iter().map(|word| self.says(word, stemmer)).sum();
        if opens && creates {
            known += 1.0;
        }
        let precision = (known / count(telling.len())).min(1.0);
        let mut found = 0.0;
        for word in &self.words {
            let said = telling.iter().map(|known| self.likeness(word, known, stemmer)).fold(0.0, f32::max);
            found += word.weight * said;
        }
        let recall = found / weight;
        if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
    }
}

/// Whether a word says something about a tool: neither a number, a letter, nor a word that every sentence has.
fn is_telling(word: &str) -> bool {
    word.len() > 1 && !word.starts_with(|c: char| c.is_ascii_digit()) && !EMPTY_WORDS.contains(&word)
}

fn count(length: usize) -> f32 {
    f32::from(u16::try_from(length).unwrap_or(u16::MAX))
}

fn stemmer() -> TextAnalyzer {
    TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(Language::English)).build()
}

fn stem(stemmer: &mut TextAnalyzer, word: &str) -> String {
    let mut stream = stemmer.token_stream(word);
    if stream.advance() { stream.token().text.clone() } else { String::new() }
}
