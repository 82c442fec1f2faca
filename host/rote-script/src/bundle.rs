//! The way from an entry to a bundle: read, check, compile, follow the imports, link, leave out, print.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::thread;

use oxc_allocator::Allocator;
use oxc_resolver::ModuleType;

use crate::calls::Calls;
use crate::compile::{File, compile, print};
use crate::link::{Module, Target};
use crate::place::place;
use crate::record::{Body, Compiled, Printed, Request, RequestKind};
use crate::resolve::{self, Found, Language, Resolver, Unresolved};
use crate::sources::Sources;
use crate::{BundleLimits, ImportedCall, LiteralCall, ScriptError, emit, link, nesting, shake};

/// The stack that sources are compiled on. Only what is touched takes memory. The deepest trees that pass the nesting
/// check were measured to need less than 16 MiB, unoptimised; a test compiles one of each kind.
const STACK_BYTES: usize = 128 * 1024 * 1024;

/// How much of a specifier an error has, in characters.
const MAX_SHOWN: usize = 200;

/// A script and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// A script, not a module. Its value is the entry's exports object.
    pub code: String,
    /// The source map v3 of `code`, as JSON, with file names relative to the root and without the sources' text.
    pub map: String,
    /// The bundled files: the entry, then the others in the order in which they were found. The SDK is not one.
    pub modules: Vec<String>,
    /// The calls of tools whose names stand in the author's own files, file by file.
    pub calls: Vec<LiteralCall>,
    /// The calls of functions that the author's own files import from each other, file by file.
    pub imported_calls: Vec<ImportedCall>,
}

/// Bundles an entry, such as `main.ts`, and everything that it imports.
///
/// Imports may name `./x`, `./x.ts`, `./x.js` (also for `x.ts`), a folder with an `index.ts`, `./x.json` (a default
/// export), anywhere below the root of the sources, packages in a `node_modules` of the root, and `@rote/sdk`, which is
/// the global `__rote_sdk` and, as a default import, that object itself. Imports that only types use vanish, whatever
/// they name. The author's files are bundled whole; of packages, what is not used is left out.
///
/// # Errors
/// See [`ScriptError`].
pub fn bundle(entry: &str, sources: Arc<dyn Sources>, limits: &BundleLimits) -> Result<Bundle, ScriptError> {
    resolve::check_entry(entry).map_err(|reason| ScriptError::Entry { entry: entry.to_owned(), reason })?;
    let internal = |message: String| ScriptError::Internal { file: entry.to_owned(), message };
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("rote-script".into()).stack_size(STACK_BYTES);
        let worker = builder
            .spawn_scoped(scope, || compile_all(entry, sources, limits))
            .map_err(|error| internal(format!("no thread: {error}")))?;
        worker.join().map_err(|_| internal("the compiler panicked on it or on what it imports".into()))?
    })
}

fn compile_all(entry: &str, sources: Arc<dyn Sources>, limits: &BundleLimits) -> Result<Bundle, ScriptError> {
    let allocator = Allocator::default();
    let resolver = Resolver::new(Arc::clone(&sources), limits);
    let sdk = sources.sdk();
    let mut graph = Graph {
        sources,
        resolver,
        limits,
        allocator: &allocator,
        found: BTreeMap::new(),
        open: VecDeque::new(),
        source_bytes: 0,
        failures: Vec::new(),
        calls: Calls::default(),
    };
    let first = Found { path: entry.to_owned(), kind: None, pure: false };
    graph.find(&first)?;
    let (modules, mut bodies) = graph.compile()?;
    let Calls { tools: calls, imported: imported_calls } = std::mem::take(&mut graph.calls);
    let mut linked = link::link(&modules, sdk.as_deref())?;
    link::check_entry(&modules[0], &linked.exports[0])?;
    let live = shake::shake(&modules, &mut linked, graph.failures)?;
    let mut printed = Vec::with_capacity(modules.len());
    let mut code_bytes = 0;
    for (index, module) in modules.iter().enumerate() {
        let code = if live.modules[index] {
            print(&module.path, module.form, &mut bodies[index], &live.parts[index])
        } else {
            Printed::default()
        };
        code_bytes += code.code.len();
        check_size("the bundled script is too large, in bytes", code_bytes, limits.output_bytes)?;
        printed.push(code);
    }
    let script = emit::emit(&modules, &linked.exports, &live, &printed);
    let internal = |_| ScriptError::Internal { file: entry.to_owned(), message: "it cannot be printed".into() };
    let (code, map) = script.map_err(internal)?;
    check_size("the bundled script is too large, in bytes", code.len(), limits.output_bytes)?;
    let kept = modules.into_iter().zip(&live.modules).filter(|(_, live)| **live);
    Ok(Bundle { code, map, modules: kept.map(|(module, _)| module.path).collect(), calls, imported_calls })
}

/// The modules that were found so far. A module's number is its place in the order in which they were found.
struct Graph<'s, 'a> {
    sources: Arc<dyn Sources>,
    resolver: Resolver,
    limits: &'s BundleLimits,
    allocator: &'a Allocator,
    found: BTreeMap<String, usize>,
    open: VecDeque<(Found, &'a str)>,
    source_bytes: usize,
    /// What packages ask for and is not there, and files of them that do not compile; it counts only where
    /// it would be part of the script.
    failures: Vec<ScriptError>,
    calls: Calls,
}

impl<'a> Graph<'_, 'a> {
    fn compile(&mut self) -> Result<(Vec<Module<'a>>, Vec<Body<'a>>), ScriptError> {
        let (mut modules, mut bodies) = (Vec::new(), Vec::new());
        while let Some((found, source)) = self.open.pop_front() {
            let Found { path, kind, pure } = found;
            let language = resolve::language(&path).ok_or_else(|| ScriptError::Entry {
                entry: path.clone(),
                reason: "its language is not known".into(),
            })?;
            let package = resolve::package(&path).is_some();
            let file = File { name: &path, source, language, package, kind, allocator: self.allocator };
            let mut broken = None;
            let compiled = match self.compile_one(&file) {
                Err(error) if package => {
                    self.failures.push(error);
                    broken = Some(self.failures.len() - 1);
                    Compiled::broken()
                }
                compiled => compiled?,
            };
            self.calls.tools.extend(compiled.calls.tools);
            self.calls.imported.extend(compiled.calls.imported);
            let requests = compiled.record.requests.iter();
            let targets =
                requests.map(|request| self.target(&path, source, request)).collect::<Result<_, ScriptError>>()?;
            let node = kind == Some(ModuleType::Module) || path.ends_with(".mjs") || path.ends_with(".mts");
            let (form, record) = (compiled.form, compiled.record);
            let (parts, refusals) = (compiled.parts, compiled.refusals);
            modules.push(Module { path, source, form, record, parts, refusals, targets, package, pure, node, broken });
            bodies.push(compiled.body);
        }
        Ok((modules, bodies))
    }

    fn compile_one(&self, file: &File<'_, 'a>) -> Result<Compiled<'a>, ScriptError> {
        if file.language != Language::Json {
            nesting::check(file.name, file.source, self.limits)?;
        }
        compile(file)
    }

    /// Returns what a request means. A failure of the author's own files is one of the bundle.
    fn target(&mut self, importer: &str, source: &str, request: &Request) -> Result<Target, ScriptError> {
        let unresolved = match self.resolver.resolve(importer, &request.specifier, request.kind) {
            Ok(resolve::Target::Sdk) => return Ok(Target::Sdk),
            Ok(resolve::Target::Empty) => return Ok(Target::Empty),
            Ok(resolve::Target::File(found)) => return self.find(&found).map(Target::Module),
            Err(unresolved) => unresolved,
        };
        let missing = matches!(unresolved, Unresolved::Missing(_) | Unresolved::Foreign { .. });
        if request.kind == RequestKind::Try && missing {
            return Ok(Target::Absent);
        }
        let error = failure(importer, source, request, unresolved);
        if resolve::package(importer).is_none() || matches!(error, ScriptError::TooLarge { .. }) {
            return Err(error);
        }
        self.failures.push(error);
        Ok(Target::Failed(self.failures.len() - 1))
    }

    /// Reads a file unless it is known, and returns its number.
    fn find(&mut self, found: &Found) -> Result<usize, ScriptError> {
        let path = found.path.as_str();
        if let Some(known) = self.found.get(path) {
            return Ok(*known);
        }
        let read = self.sources.read(path);
        let source = read.map_err(|source| ScriptError::Source { file: path.to_owned(), source })?;
        self.source_bytes += source.len();
        check_size(&format!("`{path}` is too large, in bytes"), source.len(), self.limits.file_bytes)?;
        check_size("the sources are too large, in bytes", self.source_bytes, self.limits.source_bytes)?;
        check_size("too many modules", self.found.len() + 1, self.limits.modules)?;
        let number = self.found.len();
        self.found.insert(path.to_owned(), number);
        // The parser wants a `#!` line at the very start.
        let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
        self.open.push_back((found.clone(), self.allocator.alloc_str(source)));
        Ok(number)
    }
}

/// Why a request fails, in the words for people.
fn failure(importer: &str, source: &str, request: &Request, unresolved: Unresolved) -> ScriptError {
    let at = place(importer, source, request.offset as usize);
    let specifier = shown(&request.specifier);
    match unresolved {
        Unresolved::Missing(tried) if !tried.is_empty() => ScriptError::Missing { at, specifier, tried },
        Unresolved::Missing(_) if specifier.starts_with('#') => {
            let reason = "the package of this file has no such entry in its `imports`".into();
            ScriptError::Import { at, specifier, reason }
        }
        Unresolved::Missing(_) => {
            let package = resolve::package_name(&specifier);
            let reason = format!(
                "there is no `node_modules/{package}` in the flow's folder; install it there \
                 (`npm install {package}`), or import a relative file or `@rote/sdk`"
            );
            ScriptError::Import { at, specifier, reason }
        }
        Unresolved::Unsupported(reason) => ScriptError::Import { at, specifier, reason },
        Unresolved::Foreign { what, reason } => {
            let reason = format!(
                "it is {what}, and {reason}; call an adapter with `@rote/sdk`, or use a package of plain ECMAScript"
            );
            ScriptError::Import { at, specifier, reason }
        }
        Unresolved::Unreadable(file, source) => ScriptError::Source { file, source },
        Unresolved::TooMany { actual, limit } => {
            ScriptError::TooLarge { what: "too many places were looked at for imports".into(), actual, limit }
        }
    }
}

/// A specifier as an error has it.
fn shown(specifier: &str) -> String {
    match specifier.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &specifier[..end]),
        None => specifier.to_owned(),
    }
}

fn check_size(what: &str, actual: usize, limit: usize) -> Result<(), ScriptError> {
    if actual > limit {
        return Err(ScriptError::TooLarge { what: what.to_owned(), actual, limit });
    }
    Ok(())
}
