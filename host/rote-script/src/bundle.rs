//! The way from an entry to a bundle: read, check, compile, follow the imports, link, print.

use std::collections::{BTreeMap, VecDeque};

use crate::link::{Module, Target};
use crate::place::place;
use crate::record::Request;
use crate::resolve::{self, Language};
use crate::{BundleLimits, ScriptError, SourceError, compile, emit, link, nesting};

/// Where sources come from.
pub trait Sources {
    /// Returns the text of a file. `path` is relative to the root, has `/` between its parts and no part `.` or `..`;
    /// that it does not leave the root by a symbolic link is the implementation's business, as is not to read much more
    /// than [`BundleLimits::file_bytes`].
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when there is no such file, [`SourceError::Unreadable`] when it has no text.
    fn read(&self, path: &str) -> Result<String, SourceError>;
}

/// Sources held in memory: path to text.
impl Sources for BTreeMap<String, String> {
    fn read(&self, path: &str) -> Result<String, SourceError> {
        self.get(path).cloned().ok_or(SourceError::NotFound)
    }
}

/// A script and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// A script, not a module. Its value is the entry's exports object.
    pub code: String,
    /// The source map v3 of `code`, as JSON, with file names relative to the root and without the sources' text.
    pub map: String,
    /// The bundled files: the entry, then the others in the order in which they were found. The SDK is not one.
    pub modules: Vec<String>,
}

/// Bundles an entry, such as `main.ts`, and everything that it imports.
///
/// Imports may name `./x`, `./x.ts`, `./x.js` (also for `x.ts`), a folder with an `index.ts`, `./x.json` (a default
/// export), anywhere below the root of the sources, and `@rote/sdk`, which is the global `__rote_sdk` and, as a default
/// import, that object itself. Imports that only types use vanish, whatever they name.
///
/// # Errors
/// See [`ScriptError`].
pub fn bundle(entry: &str, source: &dyn Sources, limits: &BundleLimits) -> Result<Bundle, ScriptError> {
    resolve::check_entry(entry).map_err(|reason| ScriptError::Entry { entry: entry.to_owned(), reason })?;
    let mut graph = Graph { sources: source, limits, found: BTreeMap::new(), open: VecDeque::new(), source_bytes: 0 };
    if !graph.find(entry)? {
        return Err(ScriptError::Source { file: entry.to_owned(), source: SourceError::NotFound });
    }
    let modules = graph.compile()?;
    let exports = link::link(&modules)?;
    link::check_entry(&modules[0], &exports[0])?;
    let printed = emit::emit(&modules, &exports, &link::order(&modules));
    let internal = |_| ScriptError::Internal { file: entry.to_owned(), message: "it cannot be printed".into() };
    let (code, map) = printed.map_err(internal)?;
    check_size("the bundled script is too large, in bytes", code.len(), limits.output_bytes)?;
    Ok(Bundle { code, map, modules: modules.into_iter().map(|module| module.path).collect() })
}

/// The modules that were found so far. A module's number is its place in the order in which they were found.
struct Graph<'s> {
    sources: &'s dyn Sources,
    limits: &'s BundleLimits,
    found: BTreeMap<String, usize>,
    open: VecDeque<(String, String)>,
    source_bytes: usize,
}

impl Graph<'_> {
    fn compile(&mut self) -> Result<Vec<Module>, ScriptError> {
        let mut modules = Vec::new();
        let mut code_bytes = 0;
        while let Some((path, source)) = self.open.pop_front() {
            let language = resolve::language(&path).ok_or_else(|| ScriptError::Entry {
                entry: path.clone(),
                reason: "its language is not known".into(),
            })?;
            if language != Language::Json {
                nesting::check(&path, &source, self.limits)?;
            }
            let compiled = compile::compile(&path, &source, language)?;
            code_bytes += compiled.code.len();
            check_size("the bundled script is too large, in bytes", code_bytes, self.limits.output_bytes)?;
            let requests = compiled.record.requests.iter();
            let targets = requests.map(|request| self.target(&path, &source, request)).collect::<Result<_, _>>()?;
            modules.push(Module { path, source, compiled, targets });
        }
        Ok(modules)
    }

    fn target(&mut self, importer: &str, source: &str, request: &Request) -> Result<Target, ScriptError> {
        let at = || place(importer, source, request.offset as usize);
        let specifier = request.specifier.clone();
        let files = match resolve::resolve(importer, &specifier) {
            Ok(resolve::Target::Sdk) => return Ok(Target::Sdk),
            Ok(resolve::Target::Files(files)) => files,
            Err(reason) => return Err(ScriptError::Import { at: at(), specifier, reason }),
        };
        for file in &files {
            if self.find(file)? {
                return Ok(Target::Module(self.found[file]));
            }
        }
        Err(ScriptError::Missing { at: at(), specifier, tried: files })
    }

    /// Reads a file unless it is known; `false` when there is none.
    fn find(&mut self, path: &str) -> Result<bool, ScriptError> {
        if self.found.contains_key(path) {
            return Ok(true);
        }
        let source = match self.sources.read(path) {
            Ok(source) => source,
            Err(SourceError::NotFound) => return Ok(false),
            Err(source) => return Err(ScriptError::Source { file: path.to_owned(), source }),
        };
        self.source_bytes += source.len();
        check_size(&format!("`{path}` is too large, in bytes"), source.len(), self.limits.file_bytes)?;
        check_size("the sources are too large, in bytes", self.source_bytes, self.limits.source_bytes)?;
        check_size("too many modules", self.found.len() + 1, self.limits.modules)?;
        self.found.insert(path.to_owned(), self.found.len());
        // The parser wants a `#!` line at the very start.
        let source = source.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(source);
        self.open.push_back((path.to_owned(), source));
        Ok(true)
    }
}

fn check_size(what: &str, actual: usize, limit: usize) -> Result<(), ScriptError> {
    if actual > limit {
        return Err(ScriptError::TooLarge { what: what.to_owned(), actual, limit });
    }
    Ok(())
}
