//! How good the ranking is, by a set of judged intents (`tests/fixtures/intents`).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use rote_find::{Answer, Builder, Found, Row, Search};
use rote_spec::{DocumentLoader, Source, SpecLimits};
use rote_types::{Access, Tool};
use serde::Deserialize;

/// An intent, and what is right for it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Judged {
    /// The file of the description.
    pub(crate) api: String,
    /// What somebody wants to do.
    pub(crate) intent: String,
    /// The ids of the operations that are right; none where nothing fits.
    pub(crate) expect: Vec<String>,
    /// `read`, `write`, `destroy` or `none`.
    kind: String,
    /// It is asked.
    question: bool,
}

/// A description that can be searched.
pub(crate) struct Described {
    index: Vec<u8>,
    /// Of each tool the id that the description gives, and what it does.
    pub(crate) tools: BTreeMap<String, (String, Access)>,
}

/// Reads the other documents of a description from its folder.
struct Folder(PathBuf);

impl DocumentLoader for Folder {
    #[expect(clippy::disallowed_methods, reason = "a developer's tool reads descriptions")]
    fn load(&mut self, reference: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.0.join(reference.trim_start_matches('/'))).map_err(|error| format!("{reference}: {error}"))
    }
}

impl Described {
    /// Reads and indexes a description; none when it is not there.
    #[expect(clippy::disallowed_methods, reason = "a developer's tool reads descriptions")]
    pub(crate) fn read(file: &Path) -> Option<Self> {
        let bytes = std::fs::read(file).ok()?;
        let source = Source { name: file.to_str()?, bytes: &bytes };
        let mut folder = Folder(PathBuf::from("/"));
        let api = rote_spec::read(source, &mut folder, &SpecLimits::default()).expect("the description can be read");
        let (mut builder, mut tools) = (Builder::new(), BTreeMap::new());
        for one in &api.tools {
            let Tool { name, original_operation_id, access, .. } = &one.tool;
            builder.push(Row::of(&one.tool, &one.tool.input_schema.value().expect("a schema")));
            tools.insert(name.clone(), (original_operation_id.clone().unwrap_or_else(|| name.clone()), *access));
        }
        Some(Self { index: builder.finish(), tools })
    }

    /// Judges what is found for an intent.
    pub(crate) fn judge(&self, judged: &Judged) -> (Answer<Found>, Figures) {
        let found = Search::new(&judged.intent).best(&self.index, 10).expect("an index");
        let right = |name: &String| {
            judged.expect.contains(name) || self.tools.get(name).is_some_and(|(id, _)| judged.expect.contains(id))
        };
        let listed = || found.fits.iter().chain(&found.near);
        let place = listed().position(|one| right(&one.tool));
        let fits = usize::from(!found.fits.is_empty());
        let destroys = |one: &Found| self.tools.get(&one.tool).is_some_and(|(_, access)| *access == Access::Destroy);
        let reads = judged.kind == "read" || judged.question;
        let findable = usize::from(!judged.expect.is_empty());
        let figures = Figures {
            findable,
            first: fits * usize::from(place == Some(0)),
            top3: fits * usize::from(place.is_some_and(|place| place < 3)),
            near_first: (1 - fits) * usize::from(place == Some(0)),
            near: (1 - fits) * usize::from(place.is_some()),
            unfindable: 1 - findable,
            none: (1 - findable) * (1 - fits),
            destructive: usize::from(reads && listed().next().is_some_and(destroys)),
        };
        (found, figures)
    }
}

/// What was found for a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Figures {
    /// Intents for which something is right.
    pub(crate) findable: usize,
    /// Of them those for which that came first.
    pub(crate) first: usize,
    /// Of them those for which it was among the first three.
    pub(crate) top3: usize,
    /// Of the others, for which nothing was said to fit, those for which it was the nearest.
    pub(crate) near_first: usize,
    /// And those for which it was among the nearest three.
    pub(crate) near: usize,
    /// Intents for which nothing is right.
    pub(crate) unfindable: usize,
    /// Of them those for which it was said that nothing fits.
    pub(crate) none: usize,
    /// Reads and questions for which a tool that destroys came first.
    pub(crate) destructive: usize,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.findable += other.findable;
        self.first += other.first;
        self.top3 += other.top3;
        self.near_first += other.near_first;
        self.near += other.near;
        self.unfindable += other.unfindable;
        self.none += other.none;
        self.destructive += other.destructive;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { findable, first, top3, near_first, near, unfindable, none, destructive } = self;
        write!(
            f,
            "first {first} and {near_first} nearest, top 3 {top3} and {near} near of {findable}; \
             none {none} of {unfindable}; destructive first {destructive}"
        )
    }
}
