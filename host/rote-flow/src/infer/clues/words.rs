//! An intent as words, and the shapes that a word can have.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use rote_find::stem;

/// Most words of an intent that are looked at.
const MAX_WORDS: usize = 256;

/// Numbers as people write them out; `one` is more often a pronoun.
const NUMBERS: [(&str, &str); 11] = [
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("eleven", "11"),
    ("twelve", "12"),
];

/// Words that are never a value by where they stand alone.
const FILLERS: [&str; 83] = [
    "a",
    "an",
    "the",
    "my",
    "our",
    "your",
    "this",
    "that",
    "these",
    "those",
    "it",
    "its",
    "and",
    "or",
    "but",
    "as",
    "at",
    "by",
    "for",
    "from",
    "in",
    "into",
    "of",
    "off",
    "on",
    "to",
    "up",
    "with",
    "within",
    "without",
    "via",
    "per",
    "about",
    "above",
    "below",
    "under",
    "is",
    "are",
    "was",
    "were",
    "be",
    "been",
    "do",
    "does",
    "not",
    "no",
    "all",
    "any",
    "every",
    "each",
    "some",
    "me",
    "i",
    "we",
    "us",
    "you",
    "them",
    "him",
    "her",
    "please",
    "just",
    "now",
    "there",
    "here",
    "if",
    "when",
    "then",
    "than",
    "so",
    "too",
    "only",
    "also",
    "yet",
    "everything",
    "nothing",
    "first",
    "last",
    "new",
    "old",
    "who",
    "what",
    "which",
    "where",
];

/// The shapes that are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Email,
    Url,
    Date,
    Time,
    Number,
    Id,
    Quoted,
}

impl Shape {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Email => "email address",
            Self::Url => "URL",
            Self::Date => "date",
            Self::Time => "time",
            Self::Number => "number",
            Self::Id => "id",
            Self::Quoted => "quoted text",
        }
    }
}

/// One word of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) quoted: bool,
    /// Punctuation stands behind it.
    pub(super) ends: bool,
    pub(super) low: String,
    pub(super) stem: String,
}

impl Word {
    pub(super) fn new(text: &str, quoted: bool, ends: bool) -> Self {
        let low = text.to_lowercase();
        let own = low.trim_end_matches("'s");
        Self { text: text.to_owned(), quoted, ends, stem: stem(own), low }
    }

    pub(super) fn shape(&self) -> Option<Shape> {
        let text = self.text.as_str();
        if let Some((local, host)) = text.split_once('@') {
            let email = !local.is_empty() && host.contains('.') && !host.starts_with('.') && !text.contains(' ');
            if email && !host.contains('@') {
                return Some(Shape::Email);
            }
        }
        if self.quoted {
            return Some(Shape::Quoted);
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return Some(Shape::Url);
        }
        if text.parse::<Date>().is_ok() || text.parse::<Timestamp>().is_ok() || moment(text) {
            return Some(Shape::Date);
        }
        if text.contains(':') && text.parse::<Time>().is_ok() {
            return Some(Shape::Time);
        }
        if self.number().is_some() {
            return Some(Shape::Number);
        }
        // What people call things by: `#42`, `ROTE-17`, `octo/repo`, a UUID, a digest.
        let digit = text.contains(|c: char| c.is_ascii_digit());
        let joined = text.trim_matches('/').contains(['/', '_', '-']);
        let id = text.starts_with('#') || digit || joined;
        (id && text.chars().any(char::is_alphanumeric)).then_some(Shape::Id)
    }

    /// The number that a word is, with its unit: `4h`, `1,200`, `ten`.
    pub(super) fn number(&self) -> Option<(String, &str)> {
        if self.quoted {
            return None;
        }
        if let Some((_, digits)) = NUMBERS.iter().find(|(word, _)| *word == self.low) {
            return Some(((*digits).to_owned(), ""));
        }
        let text = self.low.trim_start_matches(['$', '€', '£', '#']);
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+'));
        let digits = &text[..text.len() - unit.len()];
        let groups: Vec<&str> = digits.split('.').next().unwrap_or_default().split(',').collect();
        let grouped = groups.len() == 1 || groups[1..].iter().all(|group| group.len() == 3);
        let digits = digits.replace(',', "");
        let known = unit.is_empty() || UNITS.iter().any(|(short, _)| *short == unit);
        (grouped && known && digits.parse::<f64>().is_ok_and(f64::is_finite)).then_some((digits, unit))
    }

    pub(super) fn is_filler(&self) -> bool {
        !self.quoted && FILLERS.contains(&self.low.as_str())
    }
}

/// Units, and what they are units of, by stems.
const UNITS: [(&str, &str); 21] = [
    ("h", "hour"),
    ("min", "minut"),
    ("m", "minut"),
    ("s", "second"),
    ("ms", "millisecond"),
    ("d", "day"),
    ("px", "pixel"),
    ("%", "percent"),
    ("usd", "amount"),
    ("eur", "amount"),
    ("gbp", "amount"),
    ("dollar", "amount"),
    ("euro", "amount"),
    ("pound", "amount"),
    ("degre", "temperatur"),
    ("copi", "replica"),
    ("instanc", "count"),
    ("hit", "max"),
    ("hit", "limit"),
    ("result", "limit"),
    ("result", "max"),
];

/// Whether a unit is one of something.
pub(super) fn is_unit_of(unit: &str, of: &[String]) -> bool {
    UNITS.iter().any(|(short, long)| *short == unit && of.iter().any(|stem| stem == long))
}

/// A date with a time and without a zone.
fn moment(text: &str) -> bool {
    text.parse::<jiff::civil::DateTime>().is_ok() && text.contains('-')
}

/// Splits at blanks; quotes hold words together, also behind `name=`. Punctuation around a word is not part of it.
pub(super) fn words(intent: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut text = String::new();
    let mut quote = None;
    // Where the quotes end: what is behind them is punctuation.
    let mut quoted: Option<usize> = None;
    let mut push = |text: &mut String, quoted: &mut Option<usize>| {
        let kept = match quoted {
            Some(end) => &text[..*end],
            None => trimmed(text),
        };
        if !kept.is_empty() {
            let ends = text.ends_with([',', ';', ':', '!', '?', '.', ')']);
            words.push(Word::new(kept, quoted.is_some() && !kept.contains('='), ends));
        }
        text.clear();
        *quoted = None;
    };
    for c in intent.chars() {
        match quote {
            Some(open) if c == open => (quote, quoted) = (None, Some(text.len())),
            Some(_) => text.push(c),
            // An apostrophe within a word is not a quote.
            None if matches!(c, '"' | '\'' | '`') && (text.is_empty() || text.ends_with('=')) => {
                quote = Some(c);
            }
            None if c.is_whitespace() => push(&mut text, &mut quoted),
            None => text.push(c),
        }
    }
    push(&mut text, &mut quoted);
    words.truncate(MAX_WORDS);
    words
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| {
        matches!(c, ',' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '<' | '>' | '"' | '\'')
    })
    .trim_end_matches('.')
}
