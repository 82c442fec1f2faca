//! Import specifiers to files of the root, as Node and bundlers for browsers resolve them: relative files, folders,
//! packages in `node_modules` with `exports`, `imports` and `browser`.
//!
//! A path is relative to the root of the sources, has `/` between its parts and no part `.` or `..`.

use std::path::Path;
use std::sync::Arc;

use oxc_resolver::{ModuleType, ResolveError, ResolveOptions, ResolverGeneric, SideEffects};

use crate::record::RequestKind;
use crate::sources::{Disk, Entry, MAX_PATH, Sources, Trouble};
use crate::{BundleLimits, SourceError};

/// The module name that stands for the SDK.
pub const SDK_MODULE: &str = "@rote/sdk";
/// The global that the SDK is found under when the script runs.
pub const SDK_GLOBAL: &str = "__rote_sdk";

const SUPPORTED: &str =
    "a flow imports relative files (`./name.ts`, `./data.json`), packages in its `node_modules`, and `@rote/sdk`";
/// What a module without an extension may be, in the author's files and in packages.
const OWN_EXTENSIONS: [&str; 4] = [".ts", ".mts", ".js", ".mjs"];
const PACKAGE_EXTENSIONS: [&str; 7] = [".js", ".json", ".mjs", ".cjs", ".node", ".ts", ".mts"];

/// What a specifier means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The SDK.
    Sdk,
    /// A file of the root.
    File(Found),
    /// Nothing: the package says so for programs outside of Node.
    Empty,
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its real path.
    pub(crate) path: String,
    /// What its package says about modules with the extension `.js`.
    pub(crate) kind: Option<ModuleType>,
    /// Its package says that it does nothing but give names.
    pub(crate) pure: bool,
}

/// Why a specifier means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// There is no such file or package; where it was looked for.
    Missing(Vec<String>),
    /// It cannot be imported; why.
    Unsupported(String),
    /// It is something that flows do not have: what, and why.
    Foreign { what: &'static str, reason: &'static str },
    /// A file that cannot be read.
    Unreadable(String, SourceError),
    /// More was looked for than the limits allow.
    TooMany { actual: usize, limit: usize },
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    TypeScript,
    JavaScript,
    Json,
}

/// Returns the language of a path by its extension.
pub(crate) fn language(path: &str) -> Option<Language> {
    let (_, extension) = path.rsplit_once('.')?;
    match extension {
        "ts" | "mts" => Some(Language::TypeScript),
        "js" | "mjs" | "cjs" => Some(Language::JavaScript),
        "json" => Some(Language::Json),
        _ => None,
    }
}

/// Returns the package that a file belongs to; `None` for the author's own.
pub(crate) fn package(path: &str) -> Option<&str> {
    let inside = match path.rfind("/node_modules/") {
        Some(at) => &path[at + "/node_modules/".len()..],
        None => path.strip_prefix("node_modules/")?,
    };
    Some(package_name(inside))
}

/// The first part of a bare specifier, two for `@scope/name`.
pub(crate) fn package_name(specifier: &str) -> &str {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    let end = specifier.match_indices('/').nth(parts - 1).map_or(specifier.len(), |(at, _)| at);
    &specifier[..end]
}

/// Returns why a path cannot be the entry.
pub(crate) fn check_entry(entry: &str) -> Result<(), String> {
    if normalise("", entry).as_deref() != Ok(entry) {
        return Err("it must be a relative path without `.` and `..`".into());
    }
    match language(entry) {
        Some(Language::TypeScript | Language::JavaScript) if !is_declaration(entry) && !entry.ends_with(".cjs") => {
            Ok(())
        }
        _ => Err("it must be a `.ts` or `.js` file".into()),
    }
}

/// The resolvers: one for each kind of importer, with one memory of what is where.
pub(crate) struct Resolver {
    sources: Arc<dyn Sources>,
    trouble: Arc<Trouble>,
    own: ResolverGeneric<Disk>,
    import: ResolverGeneric<Disk>,
    require: ResolverGeneric<Disk>,
    builtin: ResolverGeneric<Disk>,
}

impl Resolver {
    pub(crate) fn new(sources: Arc<dyn Sources>, limits: &BundleLimits) -> Self {
        let trouble = Arc::new(Trouble::new(limits.probes));
        let disk = Disk::new(Arc::clone(&sources), Arc::clone(&trouble));
        let own = ResolveOptions {
            extensions: OWN_EXTENSIONS.map(str::to_owned).to_vec(),
            extension_alias: vec![
                (".js".into(), vec![".js".into(), ".ts".into()]),
                (".mjs".into(), vec![".mjs".into(), ".mts".into()]),
            ],
            ..options("import")
        };
        let own = ResolverGeneric::new_with_file_system(disk, own);
        let import = own.clone_with_options(options("import"));
        let require = own.clone_with_options(options("require"));
        let builtin = own.clone_with_options(ResolveOptions { builtin_modules: true, ..options("import") });
        Self { sources, trouble, own, import, require, builtin }
    }

    /// Resolves what the file `importer` asks for.
    pub(crate) fn resolve(&self, importer: &str, specifier: &str, kind: RequestKind) -> Result<Target, Unresolved> {
        if specifier == SDK_MODULE {
            return Ok(Target::Sdk);
        }
        if specifier.len() > MAX_PATH {
            return Err(Unresolved::Unsupported(format!("the name of a module has at most {MAX_PATH} bytes")));
        }
        let folder = importer.rsplit_once('/').map_or("", |(folder, _)| folder);
        let relative = is_relative(specifier);
        if relative {
            check_path(&normalise(folder, specifier).map_err(Unresolved::Unsupported)?)?;
        } else if let Some(reason) = unsupported(specifier) {
            return Err(Unresolved::Unsupported(format!("{reason}; {SUPPORTED}")));
        }
        let resolver = match kind {
            RequestKind::Require | RequestKind::Try => &self.require,
            _ if relative && package(importer).is_none() => &self.own,
            _ => &self.import,
        };
        let place = format!("/{folder}");
        let resolved = resolver.resolve(Path::new(&place), specifier);
        self.trouble.check().map_err(|(actual, limit)| Unresolved::TooMany { actual, limit })?;
        let manifest = || format!("node_modules/{}/package.json", package_name(specifier));
        match resolved {
            // Without its `package.json` it would be another module.
            Ok(_) if !relative && let Some((path, error)) = self.trouble.at(&manifest()) => {
                Err(Unresolved::Unreadable(path, error))
            }
            Ok(resolution) => self.found(&resolution),
            Err(ResolveError::Ignored(_)) => Ok(Target::Empty),
            Err(error) => Err(self.unresolved(folder, specifier, &resolver.options().extensions, error)),
        }
    }

    fn found(&self, resolution: &oxc_resolver::Resolution) -> Result<Target, Unresolved> {
        let path = resolution.path().to_str().unwrap_or_default().trim_start_matches('/').to_owned();
        if resolution.query().is_some() || resolution.fragment().is_some() {
            return Err(Unresolved::Unsupported("a module has neither a query nor a fragment".into()));
        }
        let path = match self.sources.find(&path) {
            Ok(Entry::File(real)) => real,
            Ok(Entry::Folder(_)) => return Err(Unresolved::Missing(vec![path])),
            Err(error) => return Err(Unresolved::Unreadable(path, error)),
        };
        check_path(&path)?;
        if language(&path).is_none() {
            let reason = format!("`{path}` is not a source; {SUPPORTED}");
            return Err(Unresolved::Unsupported(reason));
        }
        let package = resolution.package_json();
        let pure = package.is_some_and(|package| {
            let folder = package.directory().to_str().unwrap_or_default();
            let inside = resolution.path().to_str().and_then(|path| path.strip_prefix(folder)).unwrap_or_default();
            package.side_effects().is_some_and(|effects| !has_effects(&effects, inside.trim_start_matches('/')))
        });
        Ok(Target::File(Found { kind: resolution.module_type(), pure: pure && self::package(&path).is_some(), path }))
    }

    fn unresolved(&self, folder: &str, specifier: &str, extensions: &[String], error: ResolveError) -> Unresolved {
        let relative = is_relative(specifier);
        if !relative && matches!(self.builtin.resolve("/", specifier), Err(ResolveError::Builtin { .. })) {
            let (what, reason) = ("a module of Node", "a flow runs without Node");
            return Unresolved::Foreign { what, reason };
        }
        let words = if relative {
            normalise(folder, specifier).unwrap_or_default()
        } else {
            format!("node_modules/{}", package_name(specifier))
        };
        if let Some((path, error)) = self.trouble.at(&words) {
            return Unresolved::Unreadable(path, error);
        }
        match error {
            ResolveError::NotFound(_) | ResolveError::ExtensionAlias(..) | ResolveError::MatchedAliasNotFound(..) => {
                Unresolved::Missing(if relative { tried(folder, specifier, extensions) } else { Vec::new() })
            }
            ResolveError::PackagePathNotExported { subpath, .. } => {
                let name = package_name(specifier);
                Unresolved::Unsupported(format!("the package `{name}` does not export `{subpath}` to a flow"))
            }
            ResolveError::Json(error) => {
                let path = error.path.display().to_string();
                let reason = format!("`{}` is not JSON: {}", path.trim_start_matches('/'), error.message);
                Unresolved::Unsupported(reason)
            }
            other => Unresolved::Unsupported(other.to_string().replace("\"/", "\"")),
        }
    }
}

/// What all importers have in common. `browser` is what packages call an engine that is not Node.
fn options(kind: &str) -> ResolveOptions {
    ResolveOptions {
        condition_names: [kind, "module", "browser", "default"].map(str::to_owned).to_vec(),
        main_fields: ["browser", "module", "main"].map(str::to_owned).to_vec(),
        alias_fields: vec![vec!["browser".to_owned()]],
        extensions: PACKAGE_EXTENSIONS.map(str::to_owned).to_vec(),
        module_type: true,
        // Links are followed by the sources, which know what may be read; the environment is not looked at.
        symlinks: false,
        node_path: false,
        ..ResolveOptions::default()
    }
}

/// Whether a package says that a file of it does something when it runs.
fn has_effects(effects: &SideEffects<'_>, path: &str) -> bool {
    let matches = |pattern: &str| {
        let pattern = pattern.trim_start_matches("./");
        let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        fast_glob::glob_match(&anywhere, path)
    };
    match effects {
        SideEffects::Bool(effects) => *effects,
        SideEffects::String(pattern) => matches(pattern),
        SideEffects::Array(patterns) => patterns.iter().any(|pattern| matches(pattern)),
    }
}

fn is_relative(specifier: &str) -> bool {
    ["./", "../"].iter().any(|prefix| specifier.starts_with(prefix)) || [".", ".."].contains(&specifier)
}

fn check_path(path: &str) -> Result<(), Unresolved> {
    let unsupported = |reason: &str| Err(Unresolved::Unsupported(reason.to_owned()));
    match path.rsplit_once('.') {
        _ if is_declaration(path) => unsupported("a declaration file has no code; use `import type`"),
        Some((_, "tsx" | "jsx")) => unsupported("JSX is not supported; flows are `.ts` and `.js` files"),
        Some((_, "node")) => {
            let reason = "a flow runs in a sandbox without machine code";
            Err(Unresolved::Foreign { what: "a native module", reason })
        }
        _ => Ok(()),
    }
}

fn unsupported(specifier: &str) -> Option<&'static str> {
    let is_url = specifier.contains("://") || specifier.starts_with("data:");
    match specifier {
        "" => Some("a module has a name"),
        _ if ["npm:", "jsr:"].iter().any(|prefix| specifier.starts_with(prefix)) => {
            Some("a package is imported by its name alone")
        }
        _ if specifier.starts_with('/') || specifier.starts_with("file:") => Some("absolute paths are not portable"),
        _ if is_url => Some("flows load no code from the network"),
        _ => None,
    }
}

fn is_declaration(path: &str) -> bool {
    path.ends_with(".d.ts") || path.ends_with(".d.mts") || path.ends_with(".d.cts")
}

/// Joins and removes `.` and `..`.
fn normalise(folder: &str, path: &str) -> Result<String, String> {
    if path.contains(|c: char| c == '\\' || c.is_control()) {
        return Err("a path has `/` between its parts and no control characters".into());
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or_else(|| format!("it leaves the flow's folder; {SUPPORTED}"))?;
            }
            _ => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// What was looked for when nothing was found, for people.
fn tried(folder: &str, specifier: &str, extensions: &[String]) -> Vec<String> {
    let path = normalise(folder, specifier).unwrap_or_default();
    if language(&path).is_some() {
        let typed = [(".js", ".ts"), (".mjs", ".mts")];
        let typed = typed.iter().find_map(|(js, ts)| Some(format!("{}{ts}", path.strip_suffix(js)?)));
        return std::iter::once(path.clone()).chain(typed).collect();
    }
    let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
    let files = extensions.iter().filter(|_| !path.is_empty()).map(|extension| format!("{path}{extension}"));
    files.chain(extensions.iter().map(|extension| format!("{folder}index{extension}"))).collect()
}
