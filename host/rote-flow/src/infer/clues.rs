//! What an intent says about the parameters of a flow.
//!
//! An intent is read as words. `name=value` is taken at its word. Else a word that is an email address, a URL, an
//! id, a date or a number belongs to the parameter whose name stands nearest before it (or right after it), and each
//! word belongs to one parameter at most.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::civil::Date;
use rote_types::read_word;
use serde_json::Value;

use crate::{Frontmatter, parameter};

/// Most words of an intent that are looked at.
const MAX_WORDS: usize = 256;
/// How many words after a name still belong to it.
const REACH: usize = 3;
/// Nearness of a word and an allowed value, from 0 to 1, from which one is taken for the other.
const NEAR: f64 = 0.88;
/// Ends of names that say what kind of value it is and not of what.
const KINDS: [&str; 12] = ["id", "name", "number", "date", "url", "uri", "email", "key", "slug", "at", "value", "ids"];

/// What an intent says about one parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Clue {
    /// `name=value`.
    Explicit(Value),
    /// `name=value` with a value that does not fit, and why.
    Wrong(String),
    /// A value of a known shape near the name.
    Pattern(Value, String),
    /// An allowed value.
    Allowed(Value, String),
}

/// What an intent says, by parameter.
#[derive(Debug, Default)]
pub(super) struct Clues(BTreeMap<String, Clue>);

/// The shapes that are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Email,
    Url,
    Date,
    Number,
    Id,
    Quoted,
}

impl Shape {
    fn of(word: &Word) -> Option<Self> {
        let text = word.text.as_str();
        if word.quoted {
            return Some(Self::Quoted);
        }
        if let Some((local, host)) = text.split_once('@') {
            let email = !local.is_empty() && host.contains('.') && !host.starts_with('.') && !host.contains('@');
            return email.then_some(Self::Email);
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return Some(Self::Url);
        }
        if text.parse::<Date>().is_ok() || text.parse::<Timestamp>().is_ok() {
            return Some(Self::Date);
        }
        if text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Some(Self::Number);
        }
        // What people call things by: `#42`, `ROTE-17`, `octo/repo`, a UUID, a digest.
        let digit = text.contains(|c: char| c.is_ascii_digit());
        let joined = text.trim_matches('/').contains(['/', '_']) || (digit && text.contains('-'));
        let id = text.starts_with('#') || digit || joined;
        (id && text.chars().any(char::is_alphanumeric)).then_some(Self::Id)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Email => "email address",
            Self::Url => "URL",
            Self::Date => "date",
            Self::Number => "number",
            Self::Id => "id",
            Self::Quoted => "quoted text",
        }
    }
}

/// One word of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    quoted: bool,
}

impl Clues {
    pub(super) fn of(&self, name: &str) -> Option<&Clue> {
        self.0.get(name)
    }

    pub(super) fn read(frontmatter: &Frontmatter, intent: &str) -> Self {
        let words = words(intent);
        let mut clues = Self::default();
        let mut taken = BTreeSet::new();
        clues.explicit(frontmatter, &words, &mut taken);
        clues.patterns(frontmatter, &words, &mut taken);
        clues.allowed(frontmatter, &words, &taken);
        clues
    }

    fn explicit(&mut self, frontmatter: &Frontmatter, words: &[Word], taken: &mut BTreeSet<usize>) {
        for (place, word) in words.iter().enumerate() {
            let Some((key, text)) = word.text.split_once('=').filter(|(key, _)| !key.is_empty()) else { continue };
            let named = frontmatter.parameter_schemas().find(|(name, _)| super::plain(name) == super::plain(key));
            let Some((name, schema)) = named else { continue };
            let root = &frontmatter.parameters;
            let value = read_word(root, schema, text);
            let value = value.and_then(|value| parameter::check(root, schema, &value).map(|()| value));
            let clue = value.map_or_else(Clue::Wrong, Clue::Explicit);
            self.0.entry(name.to_owned()).or_insert(clue);
            taken.insert(place);
        }
    }

    /// Gives words of known shapes to the parameters named near them, the nearest pair first.
    fn patterns(&mut self, frontmatter: &Frontmatter, words: &[Word], taken: &mut BTreeSet<usize>) {
        let mut pairs = Vec::new();
        for (order, (name, schema)) in frontmatter.parameter_schemas().enumerate() {
            if self.0.contains_key(name) {
                continue;
            }
            for (place, word) in words.iter().enumerate().filter(|(place, _)| !taken.contains(place)) {
                let Some((shape, value)) = shaped(&frontmatter.parameters, name, schema, word) else { continue };
                if let Some(distance) = distance(name, words, place, shape) {
                    pairs.push((distance, order, place, name, shape, value));
                }
            }
        }
        pairs.sort_by_key(|(distance, order, place, ..)| (*distance, *order, *place));
        for (_, _, place, name, shape, value) in pairs {
            if !self.0.contains_key(name) && taken.insert(place) {
                let why = format!("{} `{}` near its name in the intent", shape.name(), words[place].text);
                self.0.insert(name.to_owned(), Clue::Pattern(value, why));
            }
        }
    }

    fn allowed(&mut self, frontmatter: &Frontmatter, words: &[Word], taken: &BTreeSet<usize>) {
        for (name, schema) in frontmatter.parameter_schemas() {
            let values = schema.get("enum").and_then(Value::as_array);
            let Some(values) = values.filter(|_| !self.0.contains_key(name)) else { continue };
            let mut near: Vec<(f64, &Value, &str)> = Vec::new();
            for value in values {
                let Some(text) = value.as_str() else { continue };
                let free = words.iter().enumerate().filter(|(place, _)| !taken.contains(place));
                let nearness = free.map(|(_, word)| (nearness(text, &word.text), word.text.as_str()));
                let best = nearness.max_by(|one, other| one.0.total_cmp(&other.0));
                near.extend(best.filter(|(score, _)| *score >= NEAR).map(|(score, word)| (score, value, word)));
            }
            near.sort_by(|one, other| other.0.total_cmp(&one.0));
            // Two values that are equally near leave it open.
            let clear = near.len() == 1 || near.len() > 1 && near[0].0 > near[1].0;
            if let Some((_, value, word)) = near.first().filter(|_| clear) {
                let why = format!("allowed value near `{word}` in the intent");
                self.0.insert(name.to_owned(), Clue::Allowed((*value).clone(), why));
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

/// Splits at blanks; quotes hold words together, also behind `name=`. Punctuation around a word is not part of it.
fn words(intent: &str) -> Vec<Word> {
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
            words.push(Word { text: kept.to_owned(), quoted: quoted.is_some() && !kept.contains('=') });
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

/// Reads a word as a value of the parameter, when it has a shape that the parameter can have.
fn shaped(root: &Value, name: &str, schema: &Value, word: &Word) -> Option<(Shape, Value)> {
    let shape = Shape::of(word)?;
    let types = parameter::types_of(root, schema);
    let texts = types.iter().any(|kind| matches!(*kind, "string" | "any"));
    let hint = hinted(name, schema);
    let admitted = match (hint, shape) {
        (Some(hint), shape) if texts => hint == shape,
        (_, Shape::Number | Shape::Id) => true,
        _ => texts,
    };
    // `#42` is issue 42, and a string keeps what was written.
    let text = if texts { word.text.as_str() } else { word.text.trim_start_matches('#') };
    let value = read_word(root, schema, text).ok()?;
    (admitted && parameter::check(root, schema, &value).is_ok()).then_some((shape, value))
}

/// The shape that a parameter asks for by its format or its name.
fn hinted(name: &str, schema: &Value) -> Option<Shape> {
    match schema.get("format").and_then(Value::as_str) {
        Some("email") => return Some(Shape::Email),
        Some("uri" | "url") => return Some(Shape::Url),
        Some("date" | "date-time") => return Some(Shape::Date),
        _ => {}
    }
    let words = rote_find::indexed(name);
    words.split(' ').find_map(|word| match word {
        "email" | "mail" => Some(Shape::Email),
        "url" | "uri" | "link" | "webhook" => Some(Shape::Url),
        "date" | "day" | "since" | "until" => Some(Shape::Date),
        _ => None,
    })
}

/// How far a word is from the parameter's name; nothing when it is out of reach. A name stands before its value, or
/// right behind it (`10 items`); an email address, URL or date needs no name when the parameter is called after it.
fn distance(name: &str, words: &[Word], place: usize, shape: Shape) -> Option<usize> {
    let of = |word: &str| word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned();
    let all: Vec<String> = rote_find::indexed(name).split(' ').map(of).collect();
    let telling: Vec<&String> = all.iter().filter(|word| !KINDS.contains(&word.as_str())).collect();
    let telling = if telling.is_empty() { all.iter().collect() } else { telling };
    let names = |word: &Word| {
        let spoken = rote_find::indexed(&word.text);
        !word.quoted && spoken.split(' ').map(of).any(|word| telling.contains(&&word))
    };
    let before = (1..=REACH).find(|back| place.checked_sub(*back).is_some_and(|at| names(&words[at])));
    let after = words.get(place + 1).filter(|word| names(word)).map(|_| 2);
    let near = before.map(|back| back * 2 - 1).into_iter().chain(after).min();
    let only = || words.iter().filter(|word| Shape::of(word) == Some(shape)).count() == 1;
    let self_evident = matches!(shape, Shape::Email | Shape::Url | Shape::Date);
    let called =
        || all.iter().any(|word| matches!(word.as_str(), "email" | "mail" | "url" | "uri" | "link" | "date" | "day"));
    near.or_else(|| (self_evident && called() && only()).then_some(REACH * 2 + 1))
}
