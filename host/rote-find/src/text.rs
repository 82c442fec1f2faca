//! Words of names and sentences, and their stems.

use std::borrow::Cow;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

/// Short forms in names and the words that people type, brought to one form on both sides.
const SHORT_FORMS: [(&str, &str); 10] = [
    ("repo", "repository"),
    ("repos", "repositories"),
    ("org", "organization"),
    ("orgs", "organizations"),
    ("auth", "authentication"),
    ("config", "configuration"),
    ("info", "information"),
    ("msg", "message"),
    ("pr", "pull"),
    ("prs", "pulls"),
];

/// Most words of an intent that are looked at.
const MAX_WORDS: usize = 32;

/// English words that say nothing about what is looked for.
const EMPTY_WORDS: [&str; 34] = [
    "a", "all", "an", "and", "are", "as", "at", "be", "by", "for", "from", "get", "give", "have", "i", "in", "into",
    "is", "it", "me", "my", "of", "on", "or", "please", "show", "that", "the", "this", "to", "want", "which", "with",
    "you",
];

/// Splits where the case changes, between letters and digits and at punctuation; lower case.
#[must_use]
pub fn split_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut current = String::new();
    let characters: Vec<char> = name.chars().collect();
    for (index, &c) in characters.iter().enumerate() {
        if !c.is_alphanumeric() {
            push_word(&mut words, &mut current);
            continue;
        }
        let before = index.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(index + 1);
        let starts = before.is_some_and(|before| {
            (c.is_uppercase() && (before.is_lowercase() || before.is_numeric()))
                || (c.is_uppercase() && before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
                || (c.is_numeric() != before.is_numeric() && before.is_alphanumeric())
        });
        if starts {
            push_word(&mut words, &mut current);
        }
        current.extend(c.to_lowercase());
    }
    push_word(&mut words, &mut current);
    words
}

fn push_word(words: &mut Vec<String>, current: &mut String) {
    if !current.is_empty() {
        words.push(std::mem::take(current));
    }
}

/// Returns the words of a name or a text as search indexes and their queries have them: split where the case changes
/// and at punctuation, in lower case, short forms written out.
#[must_use]
pub fn indexed(name: &str) -> String {
    split_words(name).iter().map(|word| long_form(word)).collect::<Vec<_>>().join(" ")
}

pub(crate) fn long_form(word: &str) -> &str {
    SHORT_FORMS.iter().find(|(short, _)| *short == word).map_or(word, |(_, long)| long)
}

/// Returns a word without its plural; crude, but the same wherever words are compared.
#[must_use]
pub fn singular(word: &str) -> Cow<'_, str> {
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 2) {
        return Cow::Owned(format!("{stem}y"));
    }
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with(['s', 'u', 'i']) => Cow::Borrowed(stem),
        _ => Cow::Borrowed(word),
    }
}

/// Returns what the words of one family share, by Snowball's stemmer for English: `create`, `creates` and `creating` give `creat`.
/// Where it leaves a family apart (`creation`), `same` of the vocabulary joins it.
#[must_use]
pub fn stem(word: &str) -> String {
    static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));
    ENGLISH.stem(long_form(word)).into_owned()
}

/// Returns the words of an intent that say something, at most 32; all of them when none does.
#[must_use]
pub fn meaningful_words(intent: &str) -> Vec<String> {
    let mut words = split_words(intent);
    words.truncate(MAX_WORDS);
    let meaning: Vec<String> =
        words.iter().filter(|word| !EMPTY_WORDS.contains(&String::as_str(word))).cloned().collect();
    if meaning.is_empty() { words } else { meaning }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_where_their_words_end() {
        let cases = [
            ("cardNumber", "card number"),
            ("getHTTPUrl2", "get http url 2"),
            ("billing-card_number", "billing card number"),
            ("repos/list-for-org", "repos list for org"),
            ("SSN", "ssn"),
            ("", ""),
        ];
        for (name, words) in cases {
            assert_eq!(split_words(name).join(" "), words, "{name}");
        }
    }

    #[test]
    fn the_words_of_a_family_have_one_stem() {
        let families = [
            "create creates created creating",
            "delete deletes deleting deletion",
            "repository repositories repo repos",
            "branch branches",
            "status statuses",
            "verify verified verifies",
            "verification verifications",
            "organize organizes organization",
            "stop stopped stopping",
            "reply replies replied",
            "collect collection collections",
        ];
        for family in families {
            let stems: Vec<String> = family.split(' ').map(stem).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{family}: {stems:?}");
        }
        for (one, other) in [("string", "strings"), ("class", "access"), ("run", "range"), ("who", "hook")] {
            assert_eq!(stem(one) == stem(other), one == "string", "{one} {other}");
        }
        for odd in ["", "s", "es", "ing", "日本語", "ee", "été"] {
            assert!(stem(odd).len() <= odd.len() + 4, "{odd}");
        }
    }
}
