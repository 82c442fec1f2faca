//! The search index of one adapter: a file that is read as a whole, and one formula that ranks what shares a word with
//! an intent.
//!
//! Written once, by the installing thread. A query is words, never a query language, so nothing that a person or an
//! agent types is a syntax error. The formula (module `rank`) sees the intent and one tool and no statistics of the
//! index, so scores of different adapters can be compared. One [`Search`] goes over many indexes: what a word means for
//! the intent is found out once (module `lexicon`), which is why hundreds of adapters are searched in milliseconds.

mod file;
mod lexicon;
mod rank;

use std::borrow::Cow;

use rote_types::Method;
use tantivy::tokenizer::{Language, RawTokenizer, Stemmer, TextAnalyzer, TokenStream};

use crate::sensitivity::split_words;
use file::Reader;
use lexicon::Lexicon;
use rank::{Intent, Ranked, found_methods};

pub(crate) use file::{Builder, required};

/// Longest query, in words.
const MAX_WORDS: usize = 32;

/// English words that say nothing about a tool.
const EMPTY_WORDS: [&str; 34] = [
    "a", "all", "an", "and", "are", "as", "at", "be", "by", "for", "from", "get", "give", "have", "i", "in", "into",
    "is", "it", "me", "my", "of", "on", "or", "please", "show", "that", "the", "this", "to", "want", "which", "with",
    "you",
];

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

/// What people call an operation of each method.
fn verbs(method: Method) -> &'static str {
    match method {
        Method::Get => "list read fetch find",
        Method::Post => "create add new",
        Method::Put => "replace set update",
        Method::Patch => "update edit change modify",
        Method::Delete => "delete remove",
        Method::Head | Method::Options | Method::Trace | Method::Mcp => "",
    }
}

/// Returns the words of a name or a text as search indexes and their queries have them: split where the case changes
/// and at punctuation, in lower case, short forms written out.
#[must_use]
pub fn indexed(name: &str) -> String {
    split_words(name).iter().map(|word| long_form(word)).collect::<Vec<_>>().join(" ")
}

fn long_form(word: &str) -> &str {
    SHORT_FORMS.iter().find(|(short, _)| *short == word).map_or(word, |(_, long)| long)
}

/// The first paragraph: what comes after it explains and only blurs the search.
fn summary(description: &str) -> &str {
    description.split("\n\n").next().unwrap_or(description)
}

/// One entry found: the tool's name and how well it fits, 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) tool: String,
    pub(crate) score: f32,
}

/// An intent that is looked for in any number of indexes.
pub(crate) struct Search {
    intent: Intent,
    as_typed: Phase,
    /// For adapters in which nothing has a word of the intent: one edit away, or a beginning.
    misspelt: Phase,
}

/// What is known of words while they are taken as they are, or for misspelt ones.
struct Phase {
    lexicon: Lexicon,
    methods: Vec<Method>,
}

impl Phase {
    fn new(intent: &Intent, misspelt: bool) -> Self {
        let mut lexicon = Lexicon::new(misspelt);
        let methods = found_methods(intent, &mut lexicon);
        Self { lexicon, methods }
    }

    /// Returns the tools that are found in what an index has, best first; `None` when that cannot be read.
    fn search(&mut self, intent: &Intent, content: &[u8], limit: usize) -> Option<Vec<Found>> {
        let mut reader = Reader::new(content);
        let meanings = reader.words(|known| self.lexicon.number(intent, known))?;
        let mut ranked = Vec::new();
        reader.tools(&meanings, |entry| {
            if self.methods.contains(&entry.method) || intent.finds(entry, &self.lexicon) {
                let score = intent.score(entry, &self.lexicon);
                ranked.push(Ranked { score, required: entry.required, depth: entry.depth, name: entry.name });
            }
        })?;
        Some(rank::best(ranked, limit))
    }
}

impl Search {
    pub(crate) fn new(intent: &str) -> Self {
        let intent = Intent::new(intent);
        Self { as_typed: Phase::new(&intent, false), misspelt: Phase::new(&intent, true), intent }
    }

    /// Returns the tools of an index that fit best, at most `limit`; `None` for bytes that are not an index.
    pub(crate) fn best(&mut self, index: &[u8], limit: usize) -> Option<Vec<Found>> {
        let content = file::content(index)?;
        let found = self.as_typed.search(&self.intent, content, limit)?;
        if found.is_empty() { self.misspelt.search(&self.intent, content, limit) } else { Some(found) }
    }
}

fn words(text: &str) -> Vec<String> {
    split_words(text).iter().map(|word| long_form(word).to_owned()).collect()
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

fn stemmer() -> TextAnalyzer {
    TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(Language::English)).build()
}

fn stem(stemmer: &mut TextAnalyzer, word: &str) -> String {
    let mut stream = stemmer.token_stream(word);
    if stream.advance() { stream.token().text.clone() } else { String::new() }
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
mod corpus;

#[cfg(test)]
mod tests {
    use super::*;
    use rote_types::{Access, Tool, ToolHints};
    use serde_json::json;

    fn tool(name: &str, description: &str, path: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            original_operation_id: None,
            description: description.to_owned(),
            method: Method::Get,
            path: path.to_owned(),
            servers: Vec::new(),
            toolset: name.split('/').next().unwrap_or_default().to_owned(),
            access: Access::Read,
            spelled: Vec::new(),
            idempotency_header: None,
            raising: std::collections::BTreeMap::new(),
            hints: ToolHints::default(),
            deprecated: false,
            security: Vec::new(),
            input_schema: json!({}),
        }
    }

    fn index() -> Vec<u8> {
        let tools = [
            tool("issues/list-for-repo", "List issues in a repository.", "/repos/{owner}/{repo}/issues"),
            tool("issues/create", "Any user with pull access can create an issue.", "/repos/{owner}/{repo}/issues"),
            tool("pulls/merge", "Merges a pull request into the base branch.", "/repos/{owner}/{repo}/pulls/merge"),
            tool("getPetById", "Returns a single pet", "/pet/{petId}"),
            tool("PostCustomersCustomerCards", "Create a card for a customer.", "/v1/customers/{customer}/cards"),
            tool("PostCustomers", "Creates a new customer object.", "/v1/customers"),
            tool("uploadFile", "Uploads an image", "/pet/{petId}/uploadImage"),
        ];
        let mut builder = Builder::new();
        tools.iter().for_each(|tool| builder.push(tool, 0));
        builder.finish()
    }

    fn names(intent: &str) -> Vec<String> {
        let found = Search::new(intent).best(&index(), 10).unwrap();
        found.into_iter().map(|found| found.tool).collect()
    }

    #[test]
    fn an_intent_finds_the_tool_for_it_first() {
        let cases = [
            ("create an issue", "issues/create"),
            ("list the issues of a repository", "issues/list-for-repo"),
            ("merge pull request", "pulls/merge"),
            ("merging", "pulls/merge"),
            ("pet by id", "getPetById"),
            ("getPetById", "getPetById"),
            ("issues/create", "issues/create"),
            ("upload an image", "uploadFile"),
            ("uplaod", "uploadFile"),
            ("create a customer", "PostCustomers"),
            ("list repo issues", "issues/list-for-repo"),
        ];
        for (intent, expected) in cases {
            assert_eq!(names(intent).first().map(String::as_str), Some(expected), "{intent}: {:?}", names(intent));
        }
    }

    #[test]
    fn nothing_that_is_typed_is_a_syntax_error() {
        for odd in ["", "   ", "AND OR NOT", "name:(", "\"", "*", "^2~", "\u{0}", &"x ".repeat(10_000), "日本語"] {
            names(odd);
        }
        assert!(names("zzzzqqq").is_empty());
    }

    #[test]
    fn the_limit_holds() {
        assert_eq!(Search::new("issue pet pull").best(&index(), 2).unwrap().len(), 2);
    }

    #[test]
    fn one_search_goes_over_many_indexes_and_each_is_searched_as_if_alone() {
        let other = {
            let mut builder = Builder::new();
            builder.push(&tool("uplaods/list", "Lists what was uplaoded", "/uplaods"), 0);
            builder.finish()
        };
        for intent in ["create an issue", "uplaod", "pet by id", "list"] {
            let mut search = Search::new(intent);
            for bytes in [&index(), &other, &index()] {
                assert_eq!(search.best(bytes, 10), Search::new(intent).best(bytes, 10), "{intent}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_index_are_told_from_one() {
        let whole = index();
        let mut search = Search::new("create an issue");
        for length in 0..whole.len() {
            assert_eq!(search.best(&whole[..length], 5), None, "{length}");
        }
        assert_eq!(search.best(&[&whole[..], b"x"].concat(), 5), None);
        for position in 0..whole.len() {
            let mut damaged = whole.clone();
            for bit in [0x01, 0xff] {
                damaged[position] = whole[position] ^ bit;
                assert_eq!(search.best(&damaged, 5), None, "{position} {bit}");
            }
        }
    }
}
