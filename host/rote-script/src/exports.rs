//! Which binding an exported name means, across modules.
//!
//! Follows ECMA-262, `ResolveExport`: a module's own exports come before those of its `export *`, a name that two
//! `export *` give differently is exported by neither, and `default` is not passed on by `export *`. Names flow along
//! `export *` once, and each name is resolved once, so the work is linear in the names that there are; how many
//! `export *` may give is bounded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::ScriptError;
use crate::link::{Module, Target, is_foreign};
use crate::record::{Export, Form, Shape};

/// The most names that all `export *` of a bundle may give together, counted at each module.
const MAX_STAR_NAMES: usize = 200_000;
/// The most modules that may export a name that one `export *` passes on.
const MAX_ORIGINS: usize = 64;
/// The most `export *` that a name is followed through by recursion.
const MAX_DEPTH: usize = 500;

/// What an exported name is, in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found<'m> {
    /// A binding of a module, which that module exports as `name`.
    Binding { module: usize, binding: &'m str, name: &'m str, shape: Shape },
    /// The exports object of a module.
    Namespace(usize),
    /// A name that a module may have when it runs.
    Open { module: usize, name: &'m str },
    /// A property of the SDK, or the SDK itself.
    Sdk(Option<&'m str>),
    /// A type, which is not there when the script runs.
    Type,
}

/// Why a name has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    Absent,
    Ambiguous,
    Circular,
}

type Meaning<'m> = Result<Found<'m>, Lost>;

/// Resolves the exported names of linked modules.
pub(crate) struct Resolver<'m> {
    modules: &'m [Module<'m>],
    /// Per module, the names that its `export *` give and the modules that export them themselves.
    stars: Vec<BTreeMap<&'m str, BTreeSet<usize>>>,
    /// Per module, whether it passes on names that are known only when it runs.
    open: Vec<bool>,
    known: BTreeMap<(usize, &'m str), Meaning<'m>>,
    depth: usize,
}

/// The next step towards the meaning of a name.
enum Step<'m> {
    Done(Meaning<'m>),
    Follow(usize, &'m str),
}

impl<'m> Resolver<'m> {
    /// Lets the names flow along `export *`.
    ///
    /// # Errors
    /// [`ScriptError::TooLarge`].
    pub(crate) fn new(modules: &'m [Module<'m>]) -> Result<Self, ScriptError> {
        let mut importers: Vec<Vec<usize>> = vec![Vec::new(); modules.len()];
        for (index, module) in modules.iter().enumerate() {
            star_targets(module).for_each(|target| importers[target].push(index));
        }
        let mut stars: Vec<BTreeMap<&str, BTreeSet<usize>>> = vec![BTreeMap::new(); modules.len()];
        let mut facts = 0;
        // A fact: `module` shows `name`, which `origin` exports itself.
        let mut news: VecDeque<(usize, &str, usize)> = VecDeque::new();
        for (index, module) in modules.iter().enumerate().filter(|(index, _)| !importers[*index].is_empty()) {
            news.extend(own_names(module).map(|name| (index, name, index)));
        }
        while let Some((module, name, origin)) = news.pop_front() {
            for &importer in &importers[module] {
                if exports_itself(&modules[importer], name) {
                    continue;
                }
                let origins = stars[importer].entry(name).or_default();
                if origins.len() <= MAX_ORIGINS && origins.insert(origin) {
                    facts += 1;
                    news.push_back((importer, name, origin));
                }
            }
            if facts > MAX_STAR_NAMES {
                let what = "the names that `export *` gives are too many".into();
                return Err(ScriptError::TooLarge { what, actual: facts, limit: MAX_STAR_NAMES });
            }
        }
        Ok(Self { modules, stars, open: open_modules(modules), known: BTreeMap::new(), depth: 0 })
    }

    /// Returns the names that the `export *` of a module give.
    pub(crate) fn star_names(&self, module: usize) -> Vec<&'m str> {
        self.stars[module].keys().copied().collect()
    }

    /// Returns what a name of a module means.
    ///
    /// # Errors
    /// Why it means nothing.
    pub(crate) fn resolve(&mut self, module: usize, name: &'m str) -> Meaning<'m> {
        let (mut module, mut name) = (module, name);
        let mut path = Vec::new();
        let meaning = loop {
            if let Some(known) = self.known.get(&(module, name)) {
                break *known;
            }
            // Until its meaning is known, a name that is met again goes round in a circle.
            self.known.insert((module, name), Err(Lost::Circular));
            path.push((module, name));
            match self.step(module, name) {
                Step::Done(meaning) => break meaning,
                Step::Follow(next, next_name) => (module, name) = (next, next_name),
            }
        };
        self.known.extend(path.into_iter().map(|key| (key, meaning)));
        meaning
    }

    fn step(&mut self, index: usize, name: &'m str) -> Step<'m> {
        let module = &self.modules[index];
        let found = match module.record.exports.get(name) {
            Some(Export::Local { binding, shape }) => Found::Binding { module: index, binding, name, shape: *shape },
            Some(Export::Namespace { request, access } | Export::Indirect { request, access, .. })
                if is_foreign(self.modules, module.targets[*request]) =>
            {
                Found::Binding { module: index, binding: access, name, shape: Shape::Maybe }
            }
            Some(Export::Namespace { request, .. }) => match module.targets[*request] {
                Target::Module(target) => Found::Namespace(target),
                _ => Found::Sdk(None),
            },
            Some(Export::Indirect { request, name: next, .. }) => match module.targets[*request] {
                Target::Module(target) => return Step::Follow(target, next),
                _ => Found::Sdk(Some(next)),
            },
            None if module.record.types.contains(name) => Found::Type,
            None => return self.star(index, name),
        };
        Step::Done(Ok(found))
    }

    /// Whether a module passes on names that are known only when it runs.
    pub(crate) fn is_open(&self, module: usize) -> bool {
        self.open[module]
    }

    /// Returns the modules whose names a module passes on, among them `name`.
    pub(crate) fn star_sources(&self, module: usize, name: &str) -> Vec<usize> {
        let gives = |target: &usize| {
            let own = name != "default" && exports_itself(&self.modules[*target], name);
            own || self.stars[*target].contains_key(name) || self.open[*target]
        };
        let targets = star_targets(&self.modules[module]);
        targets.filter(|target| gives(target) || self.modules[*target].form == Form::CommonJs).collect()
    }

    fn star(&mut self, index: usize, name: &'m str) -> Step<'m> {
        let Some(origins) = self.stars[index].get(name).cloned() else {
            let open = self.open[index] && name != "default";
            return Step::Done(if open { Ok(Found::Open { module: index, name }) } else { Err(Lost::Absent) });
        };
        match origins.first() {
            Some(origin) if origins.len() == 1 => Step::Follow(*origin, name),
            _ if origins.len() > MAX_ORIGINS => Step::Done(Err(Lost::Ambiguous)),
            _ if self.depth == MAX_DEPTH => Step::Done(Err(Lost::Circular)),
            _ => {
                self.depth += 1;
                let meanings: Vec<_> = origins.iter().filter_map(|origin| self.resolve(*origin, name).ok()).collect();
                self.depth -= 1;
                Step::Done(match meanings.split_first() {
                    None => Err(Lost::Absent),
                    Some((first, others)) if others.iter().all(|other| other.is_same(first)) => Ok(*first),
                    Some(_) => Err(Lost::Ambiguous),
                })
            }
        }
    }
}

impl Found<'_> {
    /// Whether two names mean the same, whatever they are called on the way.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Binding { module, binding, .. }, Self::Binding { module: other, binding: same, .. }) => {
                module == other && binding == same
            }
            _ => self == other,
        }
    }
}

/// The names that a module exports itself and that `export *` passes on.
fn own_names<'m>(module: &'m Module<'_>) -> impl Iterator<Item = &'m str> {
    let record = &module.record;
    record.exports.keys().chain(&record.types).map(String::as_str).filter(|name| *name != "default")
}

pub(crate) fn exports_itself(module: &Module<'_>, name: &str) -> bool {
    module.record.exports.contains_key(name) || module.record.types.contains(name)
}

pub(crate) fn star_targets(module: &Module<'_>) -> impl Iterator<Item = usize> {
    module.record.stars.iter().filter_map(|request| match module.targets[*request] {
        Target::Module(target) => Some(target),
        _ => None,
    })
}

/// Returns which modules pass on names that are known only when they run: by `export *` of a CommonJS module, or of a
/// module that does so.
fn open_modules(modules: &[Module<'_>]) -> Vec<bool> {
    let mut open: Vec<bool> = modules
        .iter()
        .map(|module| module.record.stars.iter().any(|request| is_foreign(modules, module.targets[*request])))
        .collect();
    let mut changed = open.contains(&true);
    while std::mem::take(&mut changed) {
        for (index, module) in modules.iter().enumerate() {
            if !open[index] && star_targets(module).any(|target| open[target]) {
                (open[index], changed) = (true, true);
            }
        }
    }
    open
}
