//! An office of four stateful APIs, to find out what a flow really does: a tracker, a CRM, a calendar, a file store.
//!
//! Each has a hand-written OpenAPI document, and routes, checks and types its requests by that very document. What a
//! write changed is logged by meaning ([`Entry::effect`]): ids stand as the names of their objects, so that what two
//! worlds with other ids have in common can be compared.
//!
//! A world is deterministic: ids come from its seed, the clock goes on by a second a request. An id of a world before
//! is answered as if there were such an object, called `stranger`, so that who sends an old id is not saved by a 404.

mod checks;
mod effect;
mod model;
mod serve;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::FakeApi;
pub use model::World;
use serve::{Api, State};

/// The APIs and their documents.
const DOCUMENTS: [(&str, &str); 4] = [
    ("tracker", include_str!("office/api/tracker.json")),
    ("crm", include_str!("office/api/crm.json")),
    ("calendar", include_str!("office/api/calendar.json")),
    ("files", include_str!("office/api/files.json")),
];

/// A request that an API answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The API.
    pub api: &'static str,
    /// The operation, as the document calls it.
    pub operation: String,
    /// Path, query and body in one.
    pub arguments: Value,
    /// The status of the answer.
    pub status: u16,
    /// What was changed, with names in place of ids: `addComment(body: Seen, issue_id: Fix login)`.
    pub effect: Option<String>,
}

/// Four running APIs over one world.
#[derive(Debug)]
pub struct Office {
    state: Arc<Mutex<State>>,
    apis: Vec<(&'static str, FakeApi)>,
}

impl Office {
    /// Starts the APIs over an empty world.
    ///
    /// # Panics
    /// When no loopback port is free.
    #[must_use]
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let apis = DOCUMENTS.map(|(name, document)| {
            let (api, state) = (Api::read(name, document), Arc::clone(&state));
            (name, FakeApi::start(move |request| lock(&state).answer(&api, request)))
        });
        Self { state, apis: apis.into() }
    }

    /// The name, the document and the base URL of each API.
    pub fn apis(&self) -> impl Iterator<Item = (&'static str, &'static str, String)> {
        self.apis.iter().zip(DOCUMENTS).map(|((name, api), (_, text))| (*name, text, format!("{}/v1", api.url())))
    }

    /// Puts another world in the place of this one, with an empty log.
    pub fn reset(&self, world: World) {
        lock(&self.state).reset(world);
    }

    /// What was answered since the last reset, in order.
    #[must_use]
    pub fn log(&self) -> Vec<Entry> {
        lock(&self.state).log.clone()
    }

    /// Replaces `«Name»` by the id of the object of that name, `«Name.field»` by a field of it.
    ///
    /// # Panics
    /// When there is no such object.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        lock(&self.state).world.fill(text)
    }

    /// Returns a value with the names of objects in the place of their ids.
    #[must_use]
    pub fn named(&self, value: &Value) -> Value {
        lock(&self.state).world.named("", value)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
