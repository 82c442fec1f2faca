//! The search index of one adapter. Tantivy finds what shares a word with an intent; one formula then ranks it.
//!
//! Written once, in one segment, by the installing thread; read through memory maps. A query is words, never a
//! query language, so nothing that a person or an agent types is a syntax error. The formula (module `rank`) sees
//! the intent and one tool and no statistics of the index, so scores of different adapters can be compared.

mod rank;

use std::path::Path;

use rote_home::refuse_linked_dir;
use rote_types::{AdapterId, Method, Tool};
use tantivy::collector::TopDocs;
use tantivy::directory::MmapDirectory;
use tantivy::query::{BooleanQuery, BoostQuery, FuzzyTermQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TantivyDocument, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{Index, ReloadPolicy, Searcher, TantivyError, Term, doc};

use crate::AdapterError;
use crate::sensitivity::split_words;
use rank::{Entry, Intent};

/// Memory of the writer; one segment of the largest known API needs less.
const WRITER_BYTES: usize = 20 << 20;

/// Longest query, in words.
const MAX_WORDS: usize = 32;

/// Tools that are ranked by the formula: more than any page of results, few enough to take a millisecond or two.
const CANDIDATES: usize = 400;

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

/// The words of a tool's name and what its method is called, each once: `PostCustomersCustomerCards` is no more about
/// customers than `PostCustomers`. One field for both, since a verb that only some names spell out would otherwise
/// count as a rare word.
fn name_words(tool: &Tool) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let name = indexed(&tool.name);
    for word in name.split(' ').chain(verbs(tool.method).split(' ')) {
        if !kept.iter().any(|known| known.trim_end_matches('s') == word.trim_end_matches('s')) {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// A path without its parameters, which repeat what the segments before them say.
fn path_words(path: &str) -> String {
    indexed(&path.split('/').filter(|segment| !segment.starts_with('{')).collect::<Vec<_>>().join("/"))
}

fn long_form(word: &str) -> &str {
    SHORT_FORMS.iter().find(|(short, _)| *short == word).map_or(word, |(_, long)| long)
}

/// The stemming tokenizer that the index and its queries share.
const TOKENIZER: &str = "en_stem";

/// The fields of an entry.
struct Fields {
    schema: Schema,
    name: Field,
    words: Field,
    toolset: Field,
    path: Field,
    description: Field,
    /// Words of name, path and summary as they are, their plural taken off.
    exact: Field,
    /// What the formula needs, as JSON.
    entry: Field,
}

impl Fields {
    fn new() -> Self {
        let mut builder = Schema::builder();
        let indexing =
            TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(IndexRecordOption::WithFreqs);
        let text = TextOptions::default().set_indexing_options(indexing);
        let name = builder.add_text_field("name", STRING | STORED);
        let words = builder.add_text_field("words", text.clone());
        let toolset = builder.add_text_field("toolset", text.clone());
        let path = builder.add_text_field("path", text.clone());
        let description = builder.add_text_field("description", text);
        let indexing =
            TextFieldIndexing::default().set_tokenizer("default").set_index_option(IndexRecordOption::WithFreqs);
        let exact = builder.add_text_field("exact", TextOptions::default().set_indexing_options(indexing));
        let entry = builder.add_text_field("entry", STORED);
        Self { schema: builder.build(), name, words, toolset, path, description, exact, entry }
    }

    /// How much a hit in each field counts.
    fn weights(&self) -> [(Field, f32); 4] {
        [(self.words, 3.0), (self.toolset, 1.0), (self.path, 1.5), (self.description, 1.5)]
    }
}

/// Writes the index of `tools` into the empty directory `dir`.
pub(crate) fn write<'t>(id: &AdapterId, dir: &Path, tools: impl Iterator<Item = &'t Tool>) -> Result<(), AdapterError> {
    let failed = |source| AdapterError::Index { action: "write", id: id.clone(), source };
    write_segment(dir, tools).map_err(failed)
}

fn write_segment<'t>(dir: &Path, tools: impl Iterator<Item = &'t Tool>) -> Result<(), TantivyError> {
    let fields = Fields::new();
    let directory = MmapDirectory::open(dir)?;
    let mut writer = Index::builder()
        .schema(fields.schema.clone())
        .single_segment_index_writer::<TantivyDocument>(directory, WRITER_BYTES)?;
    for tool in tools {
        let entry = Entry::of(tool);
        writer.add_document(doc!(
            fields.name => tool.name.as_str(),
            fields.words => name_words(tool),
            fields.toolset => indexed(&tool.toolset),
            fields.path => path_words(&tool.path),
            fields.description => indexed(summary(&tool.description)),
            fields.exact => entry.exact_words(),
            fields.entry => serde_json::to_string(&entry)?,
        ))?;
    }
    writer.finalize().map(drop)
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

/// Returns the tools that fit `intent` best, at most `limit`.
pub(crate) fn search(id: &AdapterId, dir: &Path, intent: &str, limit: usize) -> Result<Vec<Found>, AdapterError> {
    let failed = |source| AdapterError::Index { action: "search", id: id.clone(), source };
    search_segment(dir, intent, limit).map_err(failed)
}

fn search_segment(dir: &Path, intent: &str, limit: usize) -> Result<Vec<Found>, TantivyError> {
    let fields = Fields::new();
    // A reader writes too: its lock file.
    refuse_linked_dir(dir).map_err(|error| TantivyError::SystemError(error.to_string()))?;
    let index = Index::open(MmapDirectory::open(dir)?)?;
    if index.schema() != fields.schema {
        return Err(TantivyError::SchemaError("the index was made by another version of rote".to_owned()));
    }
    let searcher = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?.searcher();
    let words = stems(&index, intent)?;
    let mut wish = Intent::new(intent);
    let mut entries = candidates(&searcher, &fields, exact_query(&fields, intent, &words))?;
    if entries.is_empty() {
        wish.accept_misspelt();
        entries = candidates(&searcher, &fields, fuzzy_query(&fields, intent))?;
    }
    Ok(wish.rank(&entries, limit))
}

fn candidates(searcher: &Searcher, fields: &Fields, query: BooleanQuery) -> Result<Vec<Entry>, TantivyError> {
    let hits = searcher.search(&query, &TopDocs::with_limit(CANDIDATES).order_by_score())?;
    let mut found = Vec::with_capacity(hits.len());
    for (_, address) in hits {
        let document: TantivyDocument = searcher.doc(address)?;
        if let Some(entry) = document.get_first(fields.entry).and_then(|value| value.as_str()) {
            found.push(serde_json::from_str(entry)?);
        }
    }
    Ok(found)
}

/// The words of an intent as the index has them.
fn stems(index: &Index, intent: &str) -> Result<Vec<String>, TantivyError> {
    let mut analyzer = index
        .tokenizers()
        .get(TOKENIZER)
        .ok_or_else(|| TantivyError::InternalError(format!("tokenizer {TOKENIZER} is not built in")))?;
    let words = meaningful_words(intent);
    let text = words.iter().map(|word| long_form(word)).collect::<Vec<_>>().join(" ");
    let mut stems: Vec<String> = Vec::new();
    let mut stream = analyzer.token_stream(&text);
    while stream.advance() {
        let stem = &stream.token().text;
        if !stems.contains(stem) {
            stems.push(stem.clone());
        }
    }
    Ok(stems)
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

fn exact_query(fields: &Fields, intent: &str, words: &[String]) -> BooleanQuery {
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    let whole = Term::from_field_text(fields.name, intent.trim());
    let whole = Box::new(TermQuery::new(whole, IndexRecordOption::Basic));
    clauses.push((Occur::Should, Box::new(BoostQuery::new(whole, 50.0))));
    for word in words {
        for (field, weight) in fields.weights() {
            let term = TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs);
            clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(term), weight))));
        }
    }
    for word in meaningful_words(intent) {
        let term = Term::from_field_text(fields.exact, &rank::singular(long_form(&word)));
        let term = TermQuery::new(term, IndexRecordOption::WithFreqs);
        clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(term), 4.0))));
    }
    BooleanQuery::new(clauses)
}

/// For misspelt words: one edit away, or a beginning.
fn fuzzy_query(fields: &Fields, intent: &str) -> BooleanQuery {
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    for word in meaningful_words(intent).iter().filter(|word| word.chars().count() >= 3) {
        for (field, weight) in fields.weights() {
            let term = Term::from_field_text(field, word);
            let query = FuzzyTermQuery::new_prefix(term, 1, true);
            clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(query), weight))));
        }
    }
    BooleanQuery::new(clauses)
}

#[cfg(test)]
mod corpus;

#[cfg(test)]
mod tests {
    use super::*;
    use rote_types::{Access, ToolHints};
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

    fn index() -> (tempfile::TempDir, AdapterId) {
        let dir = tempfile::tempdir().unwrap();
        let id: AdapterId = "git".parse().unwrap();
        let tools = [
            tool("issues/list-for-repo", "List issues in a repository.", "/repos/{owner}/{repo}/issues"),
            tool("issues/create", "Any user with pull access can create an issue.", "/repos/{owner}/{repo}/issues"),
            tool("pulls/merge", "Merges a pull request into the base branch.", "/repos/{owner}/{repo}/pulls/merge"),
            tool("getPetById", "Returns a single pet", "/pet/{petId}"),
            tool("PostCustomersCustomerCards", "Create a card for a customer.", "/v1/customers/{customer}/cards"),
            tool("PostCustomers", "Creates a new customer object.", "/v1/customers"),
            tool("uploadFile", "Uploads an image", "/pet/{petId}/uploadImage"),
        ];
        write(&id, dir.path(), tools.iter()).unwrap();
        (dir, id)
    }

    fn names(intent: &str) -> Vec<String> {
        let (dir, id) = index();
        search(&id, dir.path(), intent, 10).unwrap().into_iter().map(|found| found.tool).collect()
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
        let (dir, id) = index();
        assert_eq!(search(&id, dir.path(), "issue pet pull", 2).unwrap().len(), 2);
    }

    #[test]
    fn a_missing_index_is_an_error_that_names_the_adapter() {
        let dir = tempfile::tempdir().unwrap();
        let error = search(&"git".parse().unwrap(), dir.path(), "x", 1).unwrap_err();
        assert!(error.to_string().contains("`git`"), "{error}");
    }
}
