//! The vocabulary: what people's words ask for, and which words of descriptions stand for them (`words.txt`).

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::near::{LEAST_MISSPELT, is_one_edit};
use crate::text::stem;

/// The data, which documents itself.
const WORDS: &str = include_str!("words.txt");

/// How many other words can stand where a key has `_`.
const GAP: usize = 5;

/// What a tool has to do for an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    Read,
    Create,
    Change,
    /// Something is changed, and the tool is named after the verb.
    Act,
    Destroy,
}

/// One entry: a key and what it stands for.
#[derive(Debug)]
pub(crate) struct Meaning {
    /// Words of the key; none where others can be.
    key: Vec<Option<String>>,
    /// The first of them as it is written.
    pub(crate) first: String,
    /// What a verb asks for.
    pub(crate) deed: Option<Deed>,
    /// Stems that tools are found by.
    pub(crate) stands_for: Vec<String>,
}

/// A key found in a sentence.
pub(crate) struct Match<'v> {
    pub(crate) meaning: &'v Meaning,
    /// The places of the key's words.
    pub(crate) places: Vec<usize>,
}

/// All entries by the first word of their keys.
pub(crate) struct Vocabulary {
    verbs: HashMap<String, Vec<Meaning>>,
    nouns: HashMap<String, Vec<Meaning>>,
    /// By words, not by stems: `note` is not `not`.
    empty: HashMap<String, Vec<Meaning>>,
    alike: HashMap<String, Vec<String>>,
}

impl Vocabulary {
    /// Returns the one there is.
    pub(crate) fn get() -> &'static Self {
        static ONE: OnceLock<Vocabulary> = OnceLock::new();
        ONE.get_or_init(|| Self::read(WORDS))
    }

    fn read(text: &str) -> Self {
        let mut all =
            Self { verbs: HashMap::new(), nouns: HashMap::new(), empty: HashMap::new(), alike: HashMap::new() };
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            let (keys, meant) = rest.split_once('=').unwrap_or((rest, ""));
            let meant: Vec<String> = meant.split_whitespace().map(stem).collect();
            if kind == "same" {
                let group: Vec<String> = keys.split_whitespace().map(stem).collect();
                for word in &group {
                    let others = group.iter().filter(|other| *other != word).cloned();
                    all.alike.entry(word.clone()).or_default().extend(others);
                }
                continue;
            }
            let deed = match kind {
                "read" => Some(Deed::Read),
                "create" => Some(Deed::Create),
                "change" => Some(Deed::Change),
                "act" => Some(Deed::Act),
                "destroy" => Some(Deed::Destroy),
                _ => None,
            };
            for key in keys.split(',').map(str::trim).filter(|key| !key.is_empty()) {
                let written = key.split(' ').next().unwrap_or_default().to_owned();
                let form = |word: &str| if kind == "empty" { word.to_owned() } else { stem(word) };
                let key: Vec<_> = key.split(' ').map(|word| (word != "_").then(|| form(word))).collect();
                let Some(first) = key.first().cloned().flatten() else { continue };
                let meaning = Meaning { key, first: written, deed, stands_for: meant.clone() };
                let all = match (deed, kind) {
                    (Some(_), _) => &mut all.verbs,
                    (None, "empty") => &mut all.empty,
                    (None, _) => &mut all.nouns,
                };
                all.entry(first).or_default().push(meaning);
            }
        }
        for entries in all.verbs.values_mut().chain(all.nouns.values_mut()).chain(all.empty.values_mut()) {
            entries.sort_by_key(|entry| {
                let words = entry.key.iter().flatten().count();
                (std::cmp::Reverse(words), entry.key.len())
            });
        }
        all
    }

    /// Returns the longest key of a verb that begins at a place of a sentence of stems.
    pub(crate) fn verb(&self, stems: &[Option<String>], at: usize) -> Option<Match<'_>> {
        found(&self.verbs, stems, at)
    }

    /// Returns the only verb of one word that a stem is a misspelling of.
    pub(crate) fn near_verb(&self, stem: &str) -> Option<&str> {
        let mut near = self.verbs.keys().filter(|known| known.len() >= LEAST_MISSPELT && is_one_edit(stem, known));
        near.next().filter(|_| near.next().is_none()).map(String::as_str)
    }

    /// Returns the longest key of another word that begins at a place.
    pub(crate) fn noun(&self, stems: &[Option<String>], at: usize) -> Option<Match<'_>> {
        found(&self.nouns, stems, at)
    }

    /// Returns a key that says nothing and begins at a place.
    pub(crate) fn empty(&self, words: &[Option<String>], at: usize) -> Option<Match<'_>> {
        found(&self.empty, words, at)
    }

    /// Words that stand for a stem as it does for them.
    pub(crate) fn alike(&self, stem: &str) -> &[String] {
        self.alike.get(stem).map_or(&[], Vec::as_slice)
    }

    /// Whether a stem begins a key.
    pub(crate) fn knows(&self, stem: &str) -> bool {
        self.verbs.contains_key(stem) || self.nouns.contains_key(stem)
    }
}

fn found<'v>(entries: &'v HashMap<String, Vec<Meaning>>, stems: &[Option<String>], at: usize) -> Option<Match<'v>> {
    let first = stems.get(at)?.as_ref()?;
    let fits = |meaning: &'v Meaning| Some(Match { meaning, places: places(&meaning.key, stems, at)? });
    entries.get(first)?.iter().find_map(fits)
}

/// Where the words of a key are in a sentence, when they are.
fn places(key: &[Option<String>], stems: &[Option<String>], at: usize) -> Option<Vec<usize>> {
    let (mut places, mut next, mut gap) = (Vec::with_capacity(key.len()), at, 0);
    for word in key {
        let Some(word) = word else {
            gap = GAP;
            continue;
        };
        let reach = stems.len().min(next + gap + 1);
        let here = (next..reach).find(|place| stems[*place].as_ref() == Some(word))?;
        places.push(here);
        (next, gap) = (here + 1, 0);
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn spelled(meaning: &Meaning) -> String {
        meaning.key.iter().map(|word| word.as_deref().unwrap_or("_")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_line_is_of_a_known_kind_and_has_a_key() {
        for line in WORDS.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let (kind, rest) = line.split_once("  ").unwrap_or((line, ""));
            let kinds = ["empty", "read", "create", "change", "act", "destroy", "noun", "same"];
            assert!(kinds.contains(&kind) && !rest.trim().is_empty() && !rest.starts_with('='), "{line}");
        }
    }

    #[test]
    fn no_key_has_two_entries() {
        let all = Vocabulary::get();
        for entries in [&all.verbs, &all.nouns, &all.empty] {
            let mut keys = BTreeSet::new();
            let twice: Vec<String> =
                entries.values().flatten().map(spelled).filter(|key| !keys.insert(key.clone())).collect();
            assert!(twice.is_empty(), "{twice:?}");
        }
    }

    #[test]
    fn no_two_entries_stand_for_each_other() {
        let nouns = &Vocabulary::get().nouns;
        let of = |word: &str| nouns.get(word).into_iter().flatten().filter(|meaning| meaning.key.len() == 1);
        let mut cycles = Vec::new();
        for meaning in nouns.values().flatten().filter(|meaning| meaning.key.len() == 1) {
            let own = spelled(meaning);
            // Keys of one line share what they stand for, each other included.
            let back = |other: &Meaning| other.stands_for != meaning.stands_for && other.stands_for.contains(&own);
            let cycle = meaning.stands_for.iter().filter(|word| of(word).any(back));
            cycles.extend(cycle.map(|word| format!("{own} and {word}")));
        }
        assert!(cycles.is_empty(), "{cycles:?}");
    }

    #[test]
    fn an_entry_is_found_with_words_between_and_the_longest_first() {
        let stems = |text: &str| text.split(' ').map(|word| Some(stem(word))).collect::<Vec<_>>();
        let verb =
            |text: &str| Vocabulary::get().verb(&stems(text), 0).map(|found| (spelled(found.meaning), found.places));
        assert_eq!(verb("take the old label off it"), Some(("take _ off".to_owned(), vec![0, 4])));
        assert_eq!(verb("take 1 2 3 4 5 6 off"), None);
        assert_eq!(verb("turns off"), Some(("turn off".to_owned(), vec![0, 1])));
    }
}
