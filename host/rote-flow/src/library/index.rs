//! The search index on disk, `flows/.index/`: Tantivy, BM25, one document for each flow.
//!
//! Invariants: nothing is here that cannot be made again from the flow files; a search only reads, and no thread
//! outlives a write; whatever is wrong with the files is an error for the caller to rebuild by, never a panic.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use rote_find::Said;
use rote_home::{Home, Staged, refuse_linked_dir};
use rote_types::FlowName;
use tantivy::collector::TopDocs;
use tantivy::directory::MmapDirectory;
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, ConstScoreQuery, DisjunctionMaxQuery, EnableScoring,
    FuzzyTermQuery, Occur, Query, TermQuery,
};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TantivyDocument, TextFieldIndexing, TextOptions, Value,
};
use tantivy::store::Compressor;
use tantivy::{DocAddress, Index, IndexSettings, ReloadPolicy, Searcher, TantivyError, Term};

use super::FlowDocument;
use crate::error::LibraryError;
use crate::{FlowError, FlowStatus};

/// Memory of a writer: the least that Tantivy takes, and enough for thousands of flows.
const WRITER_BYTES: usize = 16 << 20;
/// Size of a block of stored documents. They are read a few at a time, so a block holds about ten.
const BLOCK_BYTES: usize = 8 << 10;
/// The tokenizer of all text: words in lower case, stemmed.
const TOKENIZER: &str = "en_stem";
/// BM25's saturation and length normalisation, as Tantivy has them.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// How many times as many flows as were asked for are looked at for released ones.
const OVERSAMPLING: usize = 3;
/// What a match of misspelt words is worth against one of the words themselves.
const MISSPELT: f32 = 0.5;
/// Below this share of what was said nothing fits, as with tools: a flow that has one word of five is not what was meant.
const FITS: f32 = 0.37;

/// Which flows a search is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Released ones.
    Released,
    /// Drafts too.
    All,
}

/// A flow that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The flow.
    pub document: FlowDocument,
    /// Its BM25 score.
    pub raw: f32,
    /// The score against the best that a flow of this library could have had: about 0 to 1, above for a flow that
    /// says the same in several fields.
    pub share: f32,
    /// What each field gave, for those that gave anything; only when it was asked for.
    pub fields: Vec<(&'static str, f32)>,
}

/// What an index says to an intent.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The flows, best first.
    pub hits: Vec<Ranked>,
    /// The words of the intent as the index has them; other words that stand for them are looked for too.
    pub words: Vec<String>,
    /// The score that a share of 1 stands for.
    pub self_score: f32,
    /// No flow has any of the words; these have words near them.
    pub misspelt: bool,
}

/// A question to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question<'q> {
    /// What somebody wants to do.
    pub intent: &'q str,
    /// Which flows.
    pub scope: Scope,
    /// Most hits.
    pub limit: usize,
    /// Say what each field gave.
    pub explain: bool,
}

/// The fields of an entry. Another schema than this one means that another version of rote wrote the index.
struct Fields {
    schema: Schema,
    key: Field,
    status: Field,
    /// Searched fields, their names for a person, and how much a hit in each counts.
    searched: [(Field, &'static str, f32); 5],
    document: Field,
}

impl Fields {
    fn new() -> Self {
        let mut builder = Schema::builder();
        let indexing =
            TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(IndexRecordOption::WithFreqs);
        let text = TextOptions::default().set_indexing_options(indexing);
        let key = builder.add_text_field("key", STRING);
        let status = builder.add_text_field("status", STRING);
        let weights = [("name", 3.0), ("tags", 2.0), ("description", 1.0), ("parameters", 0.5), ("calls", 0.5)];
        let searched = weights.map(|(name, weight)| (builder.add_text_field(name, text.clone()), name, weight));
        let document = builder.add_text_field("document_3", STORED);
        Self { schema: builder.build(), key, status, searched, document }
    }

    fn entry(&self, document: &FlowDocument) -> Result<TantivyDocument, TantivyError> {
        let mut entry = TantivyDocument::new();
        entry.add_text(self.key, document.name.as_str());
        entry.add_text(self.status, status_word(document.status));
        for ((field, _, _), text) in self.searched.iter().zip(texts(document)) {
            entry.add_text(*field, rote_find::indexed(&text));
        }
        entry.add_text(self.document, serde_json::to_string(document)?);
        Ok(entry)
    }
}

/// What a flow is found by, in the order of the fields.
fn texts(document: &FlowDocument) -> [String; 5] {
    let parameters: Vec<&str> = document.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let calls: Vec<&str> =
        document.adapters.keys().map(|id| id.as_str()).chain(document.tools.iter().map(String::as_str)).collect();
    let name = document.name.to_string();
    [name, document.tags.join(" "), document.description.clone(), parameters.join(" "), calls.join(" ")]
}

fn status_word(status: FlowStatus) -> &'static str {
    match status {
        FlowStatus::Draft => "draft",
        FlowStatus::Released => "released",
    }
}

/// The index of one home.
#[derive(Debug, Clone)]
pub struct FlowIndex {
    dir: PathBuf,
}

impl FlowIndex {
    /// Returns the index of a home; nothing is opened.
    #[must_use]
    pub fn of(home: &Home) -> Self {
        Self { dir: home.flow_index_dir() }
    }

    /// Whether there is one, in whatever state.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.dir.join("meta.json").is_file()
    }

    /// Writes the index anew and puts it in place of the old one in one step.
    ///
    /// # Errors
    /// [`LibraryError::Index`] or the home's when the folder cannot be written; the old one is still there then.
    pub fn rebuild(&self, documents: &[FlowDocument]) -> Result<(), FlowError> {
        let staged = Staged::new(&self.dir)?;
        guarded("write", || {
            let fields = Fields::new();
            let settings = IndexSettings {
                docstore_compression: Compressor::None,
                docstore_compress_dedicated_thread: false,
                docstore_blocksize: BLOCK_BYTES,
                ..IndexSettings::default()
            };
            let directory = MmapDirectory::open(staged.path())?;
            let mut writer = Index::builder()
                .schema(fields.schema.clone())
                .settings(settings)
                .single_segment_index_writer::<TantivyDocument>(directory, WRITER_BYTES)?;
            for document in documents {
                writer.add_document(fields.entry(document)?)?;
            }
            writer.finalize().map(drop)
        })?;
        Ok(staged.commit()?)
    }

    /// Puts these documents in place of those of the same name, and takes others away, in one commit.
    ///
    /// # Errors
    /// [`LibraryError::Index`]; the index is then as it was, or damaged.
    pub(crate) fn update(&self, put: &[FlowDocument], remove: &[FlowName]) -> Result<(), FlowError> {
        guarded("update", || {
            let fields = Fields::new();
            let index = self.open(&fields)?;
            let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, WRITER_BYTES)?;
            for name in put.iter().map(|document| &document.name).chain(remove) {
                writer.delete_term(Term::from_field_text(fields.key, name.as_str()));
            }
            for document in put {
                writer.add_document(fields.entry(document)?)?;
            }
            writer.commit()?;
            writer.wait_merging_threads()
        })
    }

    /// Returns every document, after a check of all checksums.
    ///
    /// # Errors
    /// [`LibraryError::Index`] when the index is missing, damaged or of another version.
    pub(crate) fn documents(&self) -> Result<Vec<FlowDocument>, FlowError> {
        guarded("verify", || {
            let fields = Fields::new();
            let index = self.open(&fields)?;
            let damaged = index.validate_checksum()?;
            if let Some(file) = damaged.iter().next() {
                return Err(TantivyError::InternalError(format!("`{}` is damaged", file.display())));
            }
            let searcher = searcher(&index)?;
            let mut documents = Vec::new();
            for (place, segment) in (0_u32..).zip(searcher.segment_readers()) {
                for id in segment.doc_ids_alive() {
                    documents.push(read(&searcher, &fields, DocAddress::new(place, id))?);
                }
            }
            Ok(documents)
        })
    }

    /// Returns the flows that fit an intent best.
    ///
    /// # Errors
    /// [`LibraryError::Index`] when the index is missing, damaged or of another version.
    pub fn rank(&self, question: &Question<'_>) -> Result<Ranking, FlowError> {
        guarded("search", || {
            let fields = Fields::new();
            let index = self.open(&fields)?;
            let searcher = searcher(&index)?;
            let said = said(question.intent);
            let words: Vec<String> =
                said.iter().map(|one| one.stems.first().map_or_else(String::new, |(own, _)| own.clone())).collect();
            // Tantivy 0.27 panics when it looks for near words in an index without a document.
            if searcher.num_docs() == 0 || said.is_empty() {
                return Ok(Ranking { hits: Vec::new(), words, self_score: 0.0, misspelt: false });
            }
            let statistics = Statistics::read(&searcher, &fields, &said)?;
            let hits = find(&statistics, &fields, exact_query(&fields, &said), question)?;
            if !hits.is_empty() {
                let self_score = statistics.self_score(&fields)?;
                let hits = hits.into_iter().map(|(raw, document, at)| {
                    let fields =
                        if question.explain { contributions(&statistics, &fields, &said, at)? } else { Vec::new() };
                    Ok(Ranked { document, raw, share: raw / self_score.max(f32::MIN_POSITIVE), fields })
                });
                let hits = hits.collect::<Result<Vec<_>, TantivyError>>()?;
                let hits = hits.into_iter().filter(|hit| statistics.covered(&hit.document) >= FITS).collect();
                return Ok(Ranking { hits, words, self_score, misspelt: false });
            }
            let hits = find(&statistics, &fields, fuzzy_query(&fields, &words), question)?;
            let best: f32 = fields.searched.iter().map(|(_, _, weight)| *weight).fold(0.0, f32::max);
            let self_score = best * words.len() as f32 / MISSPELT;
            let ranked = |(raw, document, _)| Ranked { document, raw, share: raw / self_score, fields: Vec::new() };
            let hits: Vec<Ranked> = hits.into_iter().map(ranked).collect();
            Ok(Ranking { misspelt: !hits.is_empty(), hits, words, self_score })
        })
    }

    fn open(&self, fields: &Fields) -> Result<Index, TantivyError> {
        // A reader writes too: its lock file.
        refuse_linked_dir(&self.dir).map_err(|error| TantivyError::SystemError(error.to_string()))?;
        let index = Index::open(MmapDirectory::open(&self.dir)?)?;
        if index.schema() == fields.schema {
            Ok(index)
        } else {
            Err(TantivyError::SchemaError("the index was made by another version of rote".to_owned()))
        }
    }
}

/// Runs work on the index. Its files are foreign bytes to Tantivy, which does not check all of them when it opens
/// them, so a panic in it means a damaged file and is an error like others.
fn guarded<T>(action: &'static str, work: impl FnOnce() -> Result<T, TantivyError>) -> Result<T, FlowError> {
    let caught = catch_unwind(AssertUnwindSafe(work));
    let result = caught.unwrap_or_else(|_| Err(TantivyError::InternalError("a file of it is damaged".to_owned())));
    result.map_err(|source| FlowError::Library(LibraryError::Index { action, source: Box::new(source) }))
}

fn searcher(index: &Index) -> Result<Searcher, TantivyError> {
    Ok(index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?.searcher())
}

fn read(searcher: &Searcher, fields: &Fields, at: DocAddress) -> Result<FlowDocument, TantivyError> {
    let entry: TantivyDocument = searcher.doc(at)?;
    let text = entry.get_first(fields.document).and_then(|value| value.as_str()).unwrap_or_default();
    Ok(serde_json::from_str(text)?)
}

/// What an intent says; where it says nothing that tells, its words.
fn said(intent: &str) -> Vec<Said> {
    let said = rote_find::Search::new(intent).said();
    if !said.is_empty() {
        return said;
    }
    let words = rote_find::meaningful_words(intent);
    words.iter().map(|word| Said { weight: 1.0, unknown: 1.0, stems: vec![(rote_find::stem(word), 1.0)] }).collect()
}

fn boosted(query: impl Query, weight: f32) -> (Occur, Box<dyn Query>) {
    (Occur::Should, Box::new(BoostQuery::new(Box::new(query), weight)))
}

/// A field that has one of the stems of what was said: the best of them counts.
fn any_of(field: Field, said: &Said) -> DisjunctionMaxQuery {
    let one = |(stem, weight): &(String, f32)| -> Box<dyn Query> {
        let term = TermQuery::new(Term::from_field_text(field, stem), IndexRecordOption::WithFreqs);
        Box::new(BoostQuery::new(Box::new(term), *weight))
    };
    DisjunctionMaxQuery::new(said.stems.iter().map(one).collect())
}

fn exact_query(fields: &Fields, said: &[Said]) -> BooleanQuery {
    let each =
        |one| fields.searched.iter().map(move |(field, _, weight)| boosted(any_of(*field, one), weight * one.weight));
    BooleanQuery::new(said.iter().flat_map(each).collect())
}

/// For misspelt words: one edit away, or a beginning.
fn fuzzy_query(fields: &Fields, words: &[String]) -> BooleanQuery {
    let mut clauses = Vec::new();
    for word in words.iter().filter(|word| word.chars().count() >= 3) {
        for (field, _, weight) in &fields.searched {
            let term = Term::from_field_text(*field, word);
            clauses.push(boosted(FuzzyTermQuery::new_prefix(term, 1, true), *weight));
        }
    }
    BooleanQuery::new(clauses)
}

/// Returns the best documents of a query with their scores.
fn find(
    statistics: &Statistics<'_>,
    fields: &Fields,
    query: BooleanQuery,
    question: &Question<'_>,
) -> Result<Vec<Found>, TantivyError> {
    let limit = question.limit.max(1);
    if question.scope == Scope::All {
        return read_best(statistics, fields, &query, limit, |_| true, limit);
    }
    // Without a filter Tantivy skips what cannot be among the best, which is several times as fast. Libraries are
    // mostly released flows, so the best of all hold enough of them; where they do not, the filter decides.
    let looked_at = limit * OVERSAMPLING;
    let released = |document: &FlowDocument| document.status == FlowStatus::Released;
    let found = read_best(statistics, fields, &query, looked_at, released, limit)?;
    if found.len() == limit {
        return Ok(found);
    }
    let filter = Term::from_field_text(fields.status, status_word(FlowStatus::Released));
    let filter = ConstScoreQuery::new(Box::new(TermQuery::new(filter, IndexRecordOption::Basic)), 0.0);
    let both = BooleanQuery::new(vec![(Occur::Must, Box::new(query)), (Occur::Must, Box::new(filter))]);
    read_best(statistics, fields, &both, limit, released, limit)
}

/// A document that was found: its score, itself, and where it is.
type Found = (f32, FlowDocument, DocAddress);

/// Reads the best `looked_at` documents of a query until `limit` of them are wanted ones.
fn read_best(
    statistics: &Statistics<'_>,
    fields: &Fields,
    query: &dyn Query,
    looked_at: usize,
    wanted: impl Fn(&FlowDocument) -> bool,
    limit: usize,
) -> Result<Vec<Found>, TantivyError> {
    let searcher = statistics.searcher;
    let top = TopDocs::with_limit(looked_at).order_by_score();
    let mut found = Vec::with_capacity(limit);
    for (score, at) in searcher.search_with_statistics_provider(query, &top, statistics)? {
        let document = read(searcher, fields, at)?;
        if wanted(&document) {
            found.push((score, document, at));
        }
        if found.len() == limit {
            break;
        }
    }
    Ok(found)
}

/// BM25's statistics with one rarity for all that is said once, whatever the field and whichever of its stems: a word that many
/// names have, and few tags, must not count for more in a tag than in a name, and one that stands for it not for more than it.
struct Statistics<'s> {
    searcher: &'s Searcher,
    said: Vec<Known<'s>>,
}

/// What the index has of one thing that was said.
struct Known<'s> {
    said: &'s Said,
    /// The flows that have the commonest of its stems in the field that has it most.
    count: u64,
    /// The fields that have one of its stems at all.
    has: Vec<bool>,
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.searcher.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.searcher.total_num_docs()
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let value = term.value();
        let is = |known: &&Known<'_>| known.said.stems.iter().any(|(stem, _)| value.as_str() == Some(stem));
        self.said.iter().find(is).map_or_else(|| self.searcher.doc_freq(term), |known| Ok(known.count))
    }
}

impl<'s> Statistics<'s> {
    fn read(searcher: &'s Searcher, fields: &Fields, said: &'s [Said]) -> Result<Self, TantivyError> {
        let read = |said: &'s Said| {
            let mut known = Known { said, count: 0, has: vec![false; fields.searched.len()] };
            for ((field, ..), has) in fields.searched.iter().zip(&mut known.has) {
                for (stem, _) in &said.stems {
                    let count = searcher.doc_freq(&Term::from_field_text(*field, stem))?;
                    known.count = known.count.max(count);
                    *has |= count > 0;
                }
            }
            Ok(known)
        };
        Ok(Self { searcher, said: said.iter().map(read).collect::<Result<_, TantivyError>>()? })
    }

    /// How much of what was said a flow has, 0 to 1.
    fn covered(&self, document: &FlowDocument) -> f32 {
        let words = texts(document).into_iter().flat_map(|text| rote_find::split_words(&text));
        let stems: BTreeSet<String> = words.map(|word| rote_find::stem(&word)).collect();
        let best = |known: &Known<'_>| {
            let has = known.said.stems.iter().filter(|(stem, _)| stems.contains(stem));
            known.said.weight * has.map(|(_, weight)| *weight).fold(0.0, f32::max)
        };
        let all = self.said.iter().map(|known| if known.count > 0 { known.said.weight } else { known.said.unknown });
        self.said.iter().map(best).sum::<f32>() / all.sum::<f32>().max(f32::MIN_POSITIVE)
    }

    /// The score of a flow that has each word of the intent in the best field in which this library has it, once, in
    /// a field of usual length. A word that no flow has counts like a usual one of the others.
    fn self_score(&self, fields: &Fields) -> Result<f32, TantivyError> {
        let documents = self.searcher.total_num_docs()? as f32;
        let (mut total, mut weights) = (0.0, 0.0);
        for known in &self.said {
            let frequency = known.count as f32;
            let rarity = (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln();
            let mut best: f32 = 0.0;
            for ((field, _, weight), _) in fields.searched.iter().zip(&known.has).filter(|(_, has)| **has) {
                let average = self.searcher.total_num_tokens(*field)? as f32 / documents;
                let length = average.max(self.said.len() as f32);
                let saturated = (1.0 + K1) / (1.0 + K1 * (1.0 - B + B * length / average));
                best = best.max(weight * rarity * saturated);
            }
            total += best * known.said.weight;
            weights += if best > 0.0 { known.said.weight } else { 0.0 };
        }
        let all: f32 = self.said.iter().map(|known| known.said.weight).sum();
        Ok(if weights > 0.0 { total / weights * all } else { 0.0 })
    }
}

/// What each field gave to the score of one document.
fn contributions(
    statistics: &Statistics<'_>,
    fields: &Fields,
    said: &[Said],
    at: DocAddress,
) -> Result<Vec<(&'static str, f32)>, TantivyError> {
    let mut given = Vec::new();
    for (field, name, weight) in &fields.searched {
        let mut sum = 0.0;
        for one in said {
            let query = BoostQuery::new(Box::new(any_of(*field, one)), weight * one.weight);
            let scoring =
                query.weight(EnableScoring::enabled_from_statistics_provider(statistics, statistics.searcher))?;
            let mut scorer = scoring.scorer(statistics.searcher.segment_reader(at.segment_ord), 1.0)?;
            if scorer.doc() <= at.doc_id && scorer.seek(at.doc_id) == at.doc_id {
                sum += scorer.score();
            }
        }
        if sum > 0.0 {
            given.push((*name, sum));
        }
    }
    Ok(given)
}
