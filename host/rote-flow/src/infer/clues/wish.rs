//! What a parameter can be said by: the words of its name, those of its description, and the shape of its values.

use rote_find::{split_words, stem};
use serde_json::Value;

use super::words::Shape;
use crate::{Frontmatter, parameter};

/// Words of names that say what kind of value it is and not of what.
const KINDS: [&str; 20] = [
    "id", "ids", "name", "number", "date", "url", "uri", "email", "key", "slug", "at", "value", "from", "to", "in",
    "is", "only", "max", "until", "off",
];
/// Words of descriptions that say nothing of what the value is of.
const EMPTY: [&str; 30] = [
    "a", "an", "the", "of", "to", "in", "on", "at", "for", "is", "are", "it", "its", "that", "which", "with", "or",
    "and", "as", "such", "so", "how", "by", "be", "from", "text", "name", "number", "value", "key",
];
/// Names of what is written freely.
const TEXTS: [&str; 14] = [
    "text",
    "body",
    "message",
    "comment",
    "note",
    "notes",
    "memo",
    "content",
    "description",
    "subject",
    "title",
    "query",
    "caption",
    "summary",
];
/// Names of where something comes from, and of where it goes.
const SOURCES: [&str; 9] = ["source", "from", "origin", "sender", "start", "begin", "since", "head", "after"];
const TARGETS: [&str; 8] = ["target", "to", "destination", "recipient", "until", "end", "base", "before"];

/// Which end of a way a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Source,
    Target,
}

/// One parameter.
pub(super) struct Wish<'f> {
    pub(super) name: &'f str,
    pub(super) schema: &'f Value,
    /// Words of its name.
    pub(super) words: Vec<String>,
    /// Stems of its name.
    pub(super) own: Vec<String>,
    /// Those of them that say of what the value is.
    pub(super) telling: Vec<String>,
    /// Stems of the beginning of its description.
    pub(super) about: Vec<String>,
    pub(super) description: &'f str,
    pub(super) hint: Option<Shape>,
    pub(super) allowed: &'f [Value],
    pub(super) texts: bool,
    pub(super) numbers: bool,
    pub(super) truth: bool,
}

impl<'f> Wish<'f> {
    pub(super) fn all(frontmatter: &'f Frontmatter) -> Vec<Self> {
        frontmatter.parameter_schemas().map(|(name, schema)| Self::of(&frontmatter.parameters, name, schema)).collect()
    }

    fn of(root: &'f Value, name: &'f str, schema: &'f Value) -> Self {
        let types = parameter::types_of(root, schema);
        let words = split_words(name);
        let own: Vec<String> = words.iter().map(|word| stem(word)).collect();
        let telling: Vec<String> =
            words.iter().filter(|word| !KINDS.contains(&word.as_str())).map(|word| stem(word)).collect();
        let description = schema["description"].as_str().unwrap_or_default();
        let begin = description.split([',', ';', ':', '.']).next().unwrap_or_default();
        let about = split_words(begin).into_iter().filter(|word| !EMPTY.contains(&word.as_str()));
        Self {
            name,
            schema,
            telling: if telling.is_empty() { own.clone() } else { telling },
            about: about.map(|word| stem(&word)).collect(),
            hint: hinted(schema, &words, description),
            allowed: schema.get("enum").and_then(Value::as_array).map_or(&[], Vec::as_slice),
            texts: types.iter().any(|kind| matches!(*kind, "string" | "any")),
            numbers: types.iter().any(|kind| matches!(*kind, "integer" | "number")),
            truth: types.contains(&"boolean"),
            own,
            words,
            description,
        }
    }

    /// Whether any text can be its value.
    pub(super) fn is_free(&self) -> bool {
        self.texts && self.allowed.is_empty() && self.hint.is_none()
    }

    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    /// Whether its description begins with one of these.
    pub(super) fn is_described(&self, begins: &[&str]) -> bool {
        let says = self.description.to_lowercase();
        begins.iter().any(|begin| says.starts_with(begin))
    }

    /// Whether the beginning of its description has one of these words.
    pub(super) fn is_about(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.about.contains(&stem(word)))
    }

    pub(super) fn is_text(&self) -> bool {
        self.has(&TEXTS)
    }

    pub(super) fn end(&self) -> Option<End> {
        match (self.has(&SOURCES), self.has(&TARGETS)) {
            (true, false) => Some(End::Source),
            (false, true) => Some(End::Target),
            _ => None,
        }
    }

    /// What the description gives as an example.
    pub(super) fn example(&self) -> Option<&'f str> {
        let (_, behind) = self.description.split_once("such as ").or_else(|| self.description.split_once("e.g. "))?;
        let word = behind.split_whitespace().next()?;
        Some(word.trim_matches(|c: char| matches!(c, '.' | ',' | ';' | ')' | '`' | '"')))
    }
}

/// The shape that a parameter asks for by its format, its name or its description.
fn hinted(schema: &Value, words: &[String], description: &str) -> Option<Shape> {
    match schema.get("format").and_then(Value::as_str) {
        Some("email") => return Some(Shape::Email),
        Some("uri" | "url") => return Some(Shape::Url),
        Some("date" | "date-time") => return Some(Shape::Date),
        Some("time") => return Some(Shape::Time),
        _ => {}
    }
    let own = words.iter().find_map(|word| match word.as_str() {
        "email" | "mail" => Some(Shape::Email),
        "url" | "uri" | "link" | "webhook" => Some(Shape::Url),
        "date" | "day" | "since" => Some(Shape::Date),
        _ => None,
    });
    let says = |text: &str| description.to_ascii_lowercase().contains(text);
    own.or_else(|| match () {
        () if says("email address") || description.to_ascii_lowercase().starts_with("email ") => Some(Shape::Email),
        () if says("yyyy-mm-dd") || says("iso 8601") => Some(Shape::Date),
        () if says("hh:mm") => Some(Shape::Time),
        () => None,
    })
}
