//! Search: which flows fit what somebody wants to do, best first, and whether each can be run here and now.
//!
//! Invariants: a hit's file is there and is the one that the index read, as its stamp says; an index that is missing,
//! damaged, of another version or behind is mended on the way, with a note, and is never a reason to find nothing.
//! Only released flows are found unless drafts are asked for.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rote_home::Stamp;
use rote_types::{AdapterId, FlowName, command};
use serde::Serialize;

use crate::analytics::{Analytics, TrackRecord};
use crate::error::{LibraryError, install};
use crate::library::{FlowDocument, Library, ParameterLine, Question, Ranked, Ranking, Scope, reason};
use crate::surface::{Surface, passes};
use crate::{AdapterPin, FlowError, FlowKind, FlowReference, FlowStatus};

/// Hits that are looked at beyond those asked for, so that equal ones at the end can change places.
const SPARE: usize = 5;
/// How often a search starts again because the index was behind.
const ATTEMPTS: usize = 3;

/// A wish to find flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// What somebody wants to do.
    pub intent: String,
    /// Which flows.
    pub scope: Scope,
    /// Most hits.
    pub limit: usize,
    /// Say how each score came about.
    pub explain: bool,
}

/// Whether a pinned adapter is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointState {
    /// The flow runs with what is installed: all that it uses of the pinned one is as it was.
    Ok,
    /// None of that name is installed.
    Missing,
    /// What the flow uses of it is another one.
    Changed,
}

/// One adapter of a found flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// `adapter/<id>`.
    pub endpoint: String,
    /// Whether it is there.
    pub state: EndpointState,
}

/// Whether a flow can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallableState {
    /// Yes.
    Callable,
    /// An adapter is not installed.
    AdapterMissing,
    /// An adapter is not the pinned one.
    AdapterChanged,
}

/// Whether and how a flow can be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Callability {
    /// Whether.
    pub state: CallableState,
    /// The command, with a blank for each value that it needs; when it cannot be run, what helps.
    pub command: String,
    /// The file.
    pub location: PathBuf,
}

/// How a score came about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The BM25 score.
    pub raw_score: f32,
    /// The score that stands for 100%.
    pub self_score: f32,
    /// What each field gave.
    pub fields: BTreeMap<&'static str, f32>,
    /// Its runs, if it had any.
    #[serde(flatten)]
    pub record: Option<TrackRecord>,
}

/// A flow that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchHit {
    pub name: FlowName,
    /// How well it fits, 0 to 100.
    pub match_percent: u8,
    /// Whether it calls other flows.
    pub kind: FlowKind,
    /// Where it is in its life.
    pub status: FlowStatus,
    pub version: String,
    /// What it does.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What it takes.
    pub parameters: Vec<ParameterLine>,
    /// Its adapters.
    pub endpoints: Vec<Endpoint>,
    /// Whether and how it can be run.
    pub callability: Callability,
    /// How the score came about, when that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explanation>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchResults {
    /// The words that were searched for, as the index has them.
    pub words: Vec<String>,
    /// No flow has any of them; the hits have words near them.
    pub misspelt: bool,
    /// The flows, best first.
    pub items: Vec<SearchHit>,
    /// What was done to the index on the way.
    pub notes: Vec<String>,
}

/// Finds flows. Needs neither the journal nor anything that runs or sends.
#[derive(Clone)]
pub struct Search {
    library: Library,
    analytics: Analytics,
    surface: Arc<dyn Surface>,
}

impl Search {
    /// Returns a search over a library; `surface` says which adapters are here, `analytics` how earlier runs went.
    #[must_use]
    pub fn new(library: Library, analytics: Analytics, surface: Arc<dyn Surface>) -> Self {
        Self { library, analytics, surface }
    }

    /// Finds flows.
    ///
    /// # Errors
    /// The folder of flows or an adapter cannot be read, or the index can neither be used nor written anew.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchResults, FlowError> {
        let mut notes = Vec::new();
        self.catch_up(&mut notes)?;
        let question = Question {
            intent: &request.intent,
            scope: request.scope,
            limit: request.limit + SPARE,
            explain: request.explain,
        };
        let mut ranking = self.rank(&question, &mut notes)?;
        for _ in 1..ATTEMPTS {
            let stale = self.stale(&ranking);
            if stale.is_empty() {
                break;
            }
            let names = stale.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            notes.push(format!("the search index was behind for {names} and was mended"));
            let guard = self.library.lock_flows()?;
            self.library.index_flows(&stale)?;
            drop(guard);
            ranking = self.rank(&question, &mut notes)?;
        }
        // Somebody replaces files faster than they are read: those are left out this time.
        let stale = self.stale(&ranking);
        ranking.hits.retain(|hit| !stale.contains(&hit.document.name));
        let hits = self.in_order(ranking.hits, &request.intent, request.explain)?;
        let items = hits.into_iter().take(request.limit);
        let items = items.map(|(hit, record)| self.hit(hit, record, request.explain, ranking.self_score));
        let items = items.collect::<Result<_, _>>()?;
        Ok(SearchResults { words: ranking.words, misspelt: ranking.misspelt, items, notes })
    }

    /// Mends the index after a change whose process was killed before the index had it, or that was made by hand.
    fn catch_up(&self, notes: &mut Vec<String>) -> Result<(), FlowError> {
        if self.library.change_marker().exists() {
            let _guard = self.library.lock_flows()?;
            // Whoever held the lock may have finished the change meanwhile.
            if self.library.change_marker().exists() {
                self.library.mend_index()?;
                notes.push("a change of a flow had been interrupted; the search index was mended".to_owned());
            }
        } else if self.library.search_index().exists() && self.library.folder_changed() {
            let _guard = self.library.lock_flows()?;
            let report = self.library.mend_index()?;
            let moved = report.added.len() + report.removed.len();
            match report.reason {
                Some(reason) => notes.push(format!("the search index was written anew: {reason}")),
                None if moved > 0 => {
                    notes.push(format!("flows had come or gone: the search index was mended ({moved})"))
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Asks the index; one that cannot be used is written anew first.
    fn rank(&self, question: &Question<'_>, notes: &mut Vec<String>) -> Result<Ranking, FlowError> {
        let error = match self.library.search_index().rank(question) {
            Err(error @ FlowError::Library(LibraryError::Index { .. })) => error,
            other => return other,
        };
        // Where nothing is to be found, an index is not needed, and the disk may take none.
        if !self.library.search_index().exists() && self.library.names()?.is_empty() {
            return Ok(Ranking { hits: Vec::new(), words: Vec::new(), self_score: 1.0, misspelt: false });
        }
        let _guard = self.library.lock_flows()?;
        let reason = if self.library.search_index().exists() { reason(&error) } else { "there was none".to_owned() };
        // Whoever held the lock may have written it meanwhile.
        if let Ok(ranking) = self.library.search_index().rank(question) {
            return Ok(ranking);
        }
        let report = self.library.write_index(None)?;
        if report.flows > 0 {
            notes.push(format!("the search index was written anew: {reason}"));
        }
        self.library.search_index().rank(question)
    }

    /// The hits whose files are not those that the index read.
    fn stale(&self, ranking: &Ranking) -> Vec<FlowName> {
        let documents = ranking.hits.iter().map(|hit| &hit.document);
        let stale = documents.filter(|document| Stamp::of(&self.library.file(&document.name)) != Some(document.stamp));
        stale.map(|document| document.name.clone()).collect()
    }

    /// Puts equal hits in the order of their runs: more success first, then the later run; a flow that never ran
    /// stands between one that mostly succeeds and one that mostly fails. A flow that was named outright comes first, and one
    /// that takes away by its name, which nothing that was said does, last.
    fn in_order(
        &self,
        hits: Vec<Ranked>,
        intent: &str,
        explain: bool,
    ) -> Result<Vec<(Ranked, Option<TrackRecord>)>, FlowError> {
        let wish = rote_find::Search::new(intent);
        let mut hits = hits;
        for hit in &mut hits {
            hit.share *= wish.does(hit.document.name.as_str());
        }
        let tied = hits.windows(2).any(|two| step(&two[0]) == step(&two[1]));
        let names: Vec<&FlowName> = hits.iter().map(|hit| &hit.document.name).collect();
        let mut records = if tied || explain { self.analytics.track_records(&names)? } else { BTreeMap::new() };
        let mut hits: Vec<(Ranked, Option<TrackRecord>)> = hits
            .into_iter()
            .map(|hit| (records.remove(hit.document.name.as_str()), hit))
            .map(|(r, h)| (h, r))
            .collect();
        hits.sort_by_cached_key(|(hit, record)| {
            let success = record.as_ref().map_or(500, |record| thousandths(record.success_rate));
            let last = record.as_ref().and_then(|record| record.last_run.clone());
            let changed = (hit.document.stamp.seconds, hit.document.stamp.nanoseconds);
            let named = hit.document.name.as_str() == intent.trim();
            let undoes = !named && wish.undoes(hit.document.name.as_str());
            (undoes, Reverse((named, step(hit), success, last, changed)), hit.document.name.clone())
        });
        if let Some((first, _)) = hits.first_mut().filter(|(first, _)| first.document.name.as_str() == intent.trim()) {
            first.share = first.share.max(1.0);
        }
        Ok(hits)
    }

    fn hit(
        &self,
        hit: Ranked,
        record: Option<TrackRecord>,
        explain: bool,
        self_score: f32,
    ) -> Result<SearchHit, FlowError> {
        let match_percent = percent(hit.share);
        let explain = explain.then(|| Explanation {
            raw_score: hit.raw,
            self_score,
            fields: hit.fields.iter().copied().collect(),
            record,
        });
        let document = hit.document;
        let endpoints = self.endpoints(&document)?;
        let callability = self.callability(&document, &endpoints);
        Ok(SearchHit {
            match_percent,
            kind: document.kind,
            status: document.status,
            version: document.version,
            description: document.description,
            tags: document.tags,
            parameters: document.parameters,
            name: document.name,
            endpoints,
            callability,
            explain,
        })
    }

    /// The adapters of a flow as a run would find them: what decides is what the flow uses of each.
    fn endpoints(&self, document: &FlowDocument) -> Result<Vec<Endpoint>, FlowError> {
        if document.adapters.is_empty() {
            return Ok(Vec::new());
        }
        let (_, package) = self.library.load(&FlowReference::Name(document.name.clone()))?;
        let frontmatter = &package.frontmatter;
        let endpoint = |(id, pin): (&AdapterId, &AdapterPin)| {
            let tools: Vec<&str> = pin.tools.keys().map(String::as_str).collect();
            let state = match self.surface.read(id, &tools)? {
                None => EndpointState::Missing,
                Some(installed) if passes(frontmatter, id, pin, &installed) => EndpointState::Ok,
                Some(_) => EndpointState::Changed,
            };
            Ok(Endpoint { endpoint: format!("adapter/{id}"), state })
        };
        frontmatter.adapters.iter().map(endpoint).collect()
    }

    fn callability(&self, document: &FlowDocument, endpoints: &[Endpoint]) -> Callability {
        let location = self.library.file(&document.name);
        let first = |state| endpoints.iter().find(|endpoint| endpoint.state == state);
        let (state, command) = if let Some(missing) = first(EndpointState::Missing) {
            let id = missing.endpoint.trim_start_matches("adapter/");
            (CallableState::AdapterMissing, install(id, None))
        } else if first(EndpointState::Changed).is_some() {
            (CallableState::AdapterChanged, command("rote flow repin").argument(&document.name).into())
        } else {
            (CallableState::Callable, document.command())
        };
        Callability { state, command, location }
    }
}

/// The percentage that a person sees.
fn percent(share: f32) -> u8 {
    // In range: it is cut to 0..=100 first.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to 0..=100")]
    let percent = (share * 100.0).round().clamp(0.0, 100.0) as u8;
    percent
}

/// Scores of the same step are equal: a hundredth of the best one, as a person sees them, also above 100%.
fn step(hit: &Ranked) -> i64 {
    i64::from(percent(hit.share.min(1.0))) + i64::from(percent((hit.share - 1.0).clamp(0.0, 1.0)))
}

fn thousandths(rate: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to 0..=1000")]
    let thousandths = (rate * 1_000.0).round().clamp(0.0, 1_000.0) as u32;
    thousandths
}
