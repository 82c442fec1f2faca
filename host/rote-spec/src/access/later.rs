//! The acts that do not stand first: behind `and`, at the end of a name, in a phrase of several words.
//!
//! A word counts in the base form of its verb only: `searchUpdatedIssues` and `searchDeletedItems` act on nothing.

use super::words::{Class, Place, Table, words_of};
use super::{BEHIND, Evidence, LOOKED_AT, last_segment, verb_of_id, without_tags};

/// A verb with its class and where it counts.
type Verb = (Class, &'static str, Place);

const JOINING: [&str; 4] = ["and", "or", "then", "also"];

/// Words behind which a sentence says what somebody else does.
const ASIDE: [&str; 14] =
    ["can", "could", "how", "if", "may", "must", "should", "that", "when", "where", "whether", "which", "who", "will"];

/// Words with which the object of a verb begins.
const OBJECT: [&str; 20] = [
    "a",
    "all",
    "an",
    "any",
    "each",
    "every",
    "everything",
    "her",
    "him",
    "it",
    "its",
    "one",
    "some",
    "that",
    "the",
    "their",
    "them",
    "these",
    "this",
    "your",
];

/// The acts of the names and the summary of an operation behind its first verb.
pub(super) fn acts(table: &Table, evidence: &Evidence<'_>) -> Vec<Verb> {
    let reads = evidence.method.is_read();
    let verb = verb_of_id(table, evidence.operation_id);
    let asks = verb.is_none_or(|(class, ..)| class == Class::Read);
    let mut found: Vec<Verb> = Vec::new();
    for words in names(evidence) {
        found.extend(joined(table, &words, reads));
        found.extend(last(table, &words).filter(|_| asks && (!reads || verb.is_none())));
    }
    // What a reading operation says besides is said of what it reads.
    if !(reads && verb.is_some_and(|(class, ..)| class == Class::Read)) {
        found.extend(said(table, evidence.summary, reads));
    }
    found
}

/// Whether a name ends with a phrase of the table, or has one before what it is done to or for.
pub(super) fn has_phrase(table: &Table, evidence: &Evidence<'_>) -> bool {
    names(evidence).iter().any(|words| {
        let ends = |end: usize| words.get(end).is_none_or(|word| BEHIND.contains(&word.as_str()));
        (0..words.len()).any(|start| {
            let longest = words.len().min(start + LONGEST_PHRASE);
            (start + 2..=longest).any(|end| ends(end) && table.is_phrase(&words[start..end].join("_")))
        })
    })
}

/// Most words of a phrase.
const LONGEST_PHRASE: usize = 4;

/// The last part of the operation id and the last segment of the path, in words.
fn names(evidence: &Evidence<'_>) -> [Vec<String>; 2] {
    let own = evidence.operation_id.rsplit(['/', '.', ':', '#']).find(|part| !part.is_empty());
    [words_of(own.unwrap_or_default()), words_of(last_segment(&evidence.path))]
}

fn joins(word: &str) -> bool {
    JOINING.contains(&word)
}

/// The verbs behind `and` (`searchAndDelete`). Where the method reads, a word that is a noun too is taken for one.
fn joined(table: &Table, words: &[String], reads: bool) -> Vec<Verb> {
    let behind = words.iter().enumerate().filter(|(_, word)| joins(word));
    let next = |place: usize| words.iter().skip(place + 1).find(|word| !table.is_skipped(word));
    let verbs = behind.filter_map(|(place, _)| next(place)).filter_map(|word| table.act(word));
    verbs.filter(|(_, word)| !reads || !table.is_noun(word)).map(|(class, word)| (class, word, Place::Id)).collect()
}

/// The verb at the end of a name (`searchDelete`, `itemDelete`), which is not a noun there.
fn last(table: &Table, words: &[String]) -> Option<Verb> {
    let [.., before, last] = words else {
        return None;
    };
    let (class, word) = table.act(last).filter(|(_, word)| !table.is_noun(word))?;
    (!BEHIND.contains(&before.as_str())).then_some((class, word, Place::Id))
}

/// The verbs behind `and` in the first sentence of a summary (behind `or` stands what other operations do), in the form that its first verb has. A word that is a noun too needs
/// an object behind it, and so does every word where the method reads.
fn said(table: &Table, summary: &str, reads: bool) -> Vec<Verb> {
    let text = without_tags(summary).to_lowercase();
    let sentence = text.get(..LOOKED_AT.min(text.len())).unwrap_or(&text);
    let sentence = sentence.split(['.', ';', '\n']).next().unwrap_or_default();
    let tokens: Vec<&str> = sentence.split_whitespace().collect();
    let first = tokens.iter().find(|word| !table.is_skipped(word)).copied().unwrap_or_default();
    let named = table.verb(first);
    let third = named.is_some_and(|(_, base)| base != first);
    let aside = tokens.iter().position(|word| ASIDE.contains(word)).unwrap_or(tokens.len());
    let mut found = Vec::new();
    for (place, _) in tokens.iter().enumerate().take(aside).filter(|(_, word)| joins(word) && **word != "or") {
        let mut behind = tokens.iter().skip(place + 1).filter(|word| !table.is_skipped(word));
        let word = behind.next().map_or("", |word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let object =
            behind.next().is_some_and(|word| OBJECT.contains(&word.trim_matches(|c: char| !c.is_alphanumeric())));
        let base = table.verb(word).filter(|(_, base)| (*base != word) == third).and_then(|(_, base)| table.act(base));
        let verb = base.filter(|(_, base)| object || named.is_some() && !reads && !table.is_noun(base));
        found.extend(verb.map(|(class, base)| (class, base, Place::Id)));
    }
    found
}
