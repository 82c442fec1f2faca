//! The words of a tool: what counts where it stands.

use std::collections::BTreeMap;

use rote_types::Tool;
use serde_json::Value;

use crate::intent::PLAIN;
use crate::text::{split_words, stem};

/// A stem is in the last fixed segment of the path: the resource.
pub(crate) const RESOURCE: u8 = 1;
/// A stem is in the name.
pub(crate) const NAME: u8 = 2;
/// A stem is in the title, the first sentence of the description.
pub(crate) const TITLE: u8 = 4;
/// A stem is in the path.
pub(crate) const PATH: u8 = 8;
/// A stem is in a parameter of the path: whoever calls the tool says which one.
pub(crate) const ASKED: u8 = 16;

/// What a word is worth by where it stands.
const WORTH_RESOURCE: f32 = 2.0;
const WORTH_NAME: f32 = 2.2;
const WORTH_TITLE: f32 = 2.0;
const WORTH_PATH: f32 = 1.0;
const WORTH_TOOLSET: f32 = 0.5;
const WORTH_TEXT: f32 = 0.35;
const WORTH_ARGUMENT: f32 = 0.5;
const WORTH_VALUE: f32 = 0.35;
const WORTH_ARGUMENT_TEXT: f32 = 0.12;
/// The most that all which is neither name, path nor title can give to one word.
const MOST_OF_TEXT: f32 = 0.9;
/// From where on more of the same is worth little.
const SATURATED: f32 = 1.1;

/// Most words of a title, and of a description, that are read.
const TITLE_WORDS: usize = 24;
const TEXT_WORDS: usize = 400;
/// Longest word that tools are found by, in bytes; what is longer is data.
const MAX_WORD_BYTES: usize = 39;
/// Most arguments, at most so deep, whose words are read.
const MAX_ARGUMENTS: usize = 200;
const MAX_DEPTH: usize = 3;

/// Words that names have for their method, or that every sentence has.
const SAY_NOTHING: [&str; 38] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "for", "from", "get", "has", "if", "in", "is", "it",
    "its", "of", "on", "or", "post", "put", "patch", "that", "the", "this", "to", "use", "was", "will", "with", "you",
    "your", "api", "v1", "rest",
];

/// The words of one tool.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// Each stem with what it is worth, and where it stands.
    pub(crate) stems: BTreeMap<String, (u8, u8)>,
    /// The stems of name and path that say what the tool is about.
    pub(crate) head: Vec<String>,
}

#[derive(Default)]
struct Worth {
    head: f32,
    text: f32,
    flags: u8,
}

/// Reads the words of a tool.
pub(crate) fn read<S>(tool: &Tool<S>, schema: &Value) -> Fields {
    let mut all: BTreeMap<String, Worth> = BTreeMap::new();
    let parts: Vec<&str> = tool.path.split('/').filter(|part| !part.is_empty()).collect();
    let fixed: Vec<&&str> = parts.iter().filter(|part| !part.starts_with('{')).collect();
    let mut head = Vec::new();
    let mut once = |text: &str, worth: f32, flags: u8, limit: usize, heads: bool| {
        let mut seen: Vec<String> = Vec::new();
        for word in split_words(text).into_iter().take(limit).filter(|word| tells(word)) {
            let stem = stem(&word);
            if seen.contains(&stem) {
                continue;
            }
            let known = all.entry(stem.clone()).or_default();
            if flags == 0 {
                known.text += worth
            } else {
                known.head += worth
            }
            known.flags |= flags;
            // A list that is searched is not the list.
            let plain = stem != "search" && PLAIN.contains(&stem.as_str());
            if heads && !plain && !head.contains(&stem) {
                head.push(stem.clone());
            }
            seen.push(stem);
        }
    };
    once(&tool.name, WORTH_NAME, NAME, usize::MAX, true);
    if let Some(original) = &tool.original_operation_id {
        once(original, 0.3, NAME, usize::MAX, false);
    }
    for part in &parts {
        let (worth, flags) = if part.starts_with('{') { (WORTH_ARGUMENT, PATH | ASKED) } else { (WORTH_PATH, PATH) };
        once(part, worth, flags, usize::MAX, flags == PATH);
    }
    if let Some(last) = fixed.last() {
        once(last, WORTH_RESOURCE, RESOURCE, usize::MAX, true);
    }
    once(&tool.toolset, WORTH_TOOLSET, 0, usize::MAX, false);
    let (title, text) = title(&tool.description);
    once(title, WORTH_TITLE, TITLE, TITLE_WORDS, false);
    once(text, WORTH_TEXT, 0, TEXT_WORDS, false);
    let mut left = MAX_ARGUMENTS;
    arguments(schema, 0, &mut left, &mut |text, worth| once(text, worth, 0, TITLE_WORDS, false));
    let stems = all.into_iter().map(|(stem, worth)| {
        let sum = worth.head + worth.text.min(MOST_OF_TEXT);
        (stem, (scaled(sum / (sum + SATURATED)), worth.flags))
    });
    Fields { stems: stems.collect(), head }
}

fn scaled(share: f32) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to 0..=255")]
    let byte = (share * 255.0).round().clamp(0.0, 255.0) as u8;
    byte
}

/// Whether a word says something about a tool.
fn tells(word: &str) -> bool {
    word.len() > 1
        && word.len() <= MAX_WORD_BYTES
        && !word.starts_with(|c: char| c.is_ascii_digit())
        && !SAY_NOTHING.contains(&word)
}

/// Parts a description at the end of its first sentence or line.
fn title(description: &str) -> (&str, &str) {
    let description = description.trim_start();
    let line = description.find('\n').unwrap_or(description.len());
    let sentence = description.find(". ").map_or(description.len(), |end| end + 1);
    description.split_at(line.min(sentence))
}

/// Says the names, descriptions and allowed values of arguments.
fn arguments(schema: &Value, depth: usize, left: &mut usize, each: &mut impl FnMut(&str, f32)) {
    if depth > MAX_DEPTH {
        return;
    }
    for (name, argument) in schema["properties"].as_object().into_iter().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let shallow = if depth == 0 || (depth == 1 && name != "body") { 1.0 } else { 0.6 };
        each(name, WORTH_ARGUMENT * shallow);
        for text in [&argument["description"], &argument["title"]].into_iter().filter_map(Value::as_str) {
            each(text, WORTH_ARGUMENT_TEXT);
        }
        for value in argument["enum"].as_array().into_iter().flatten().take(40).filter_map(Value::as_str) {
            each(value, WORTH_VALUE * shallow);
        }
        arguments(argument, depth + 1, left, each);
        arguments(&argument["items"], depth + 1, left, each);
    }
}
