//! Modules put together: what each exports in the end, whether every import is there, and in which order they run.

use std::collections::BTreeMap;

use crate::ScriptError;
use crate::check::Refusal;
use crate::exports::{Found, Lost, Resolver};
use crate::place::place;
use crate::record::{Export, Form, Part, Record, Shape};
use crate::resolve::SDK_MODULE;

/// A compiled module with its requests resolved.
#[derive(Debug)]
pub(crate) struct Module<'a> {
    pub(crate) path: String,
    pub(crate) source: &'a str,
    pub(crate) form: Form,
    pub(crate) record: Record,
    pub(crate) parts: Vec<Part>,
    pub(crate) refusals: Vec<Refusal>,
    /// Per request of the record, what it means.
    pub(crate) targets: Vec<Target>,
    /// It belongs to a package: what nobody uses is left out.
    pub(crate) package: bool,
    /// It does nothing but give names, as its package says.
    pub(crate) pure: bool,
    /// It takes a CommonJS module's `module.exports` as the default export whatever that says, as Node does.
    pub(crate) node: bool,
    /// It does not compile; the number of the failure. It then looks like a CommonJS module, whose names nobody knows.
    pub(crate) broken: Option<usize>,
}

/// What a request means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Sdk,
    Module(usize),
    /// An object without properties: the package says so for programs outside of Node.
    Empty,
    /// Nothing, which the module that asks expects: it fails when that is run.
    Absent,
    /// Nothing; the number of the failure.
    Failed(usize),
}

/// The exports of each module, in the order of the modules; types are left out.
pub(crate) type Exports<'m> = Vec<BTreeMap<&'m str, Found<'m>>>;

/// What names mean across modules.
pub(crate) struct Linked<'m> {
    pub(crate) exports: Exports<'m>,
    pub(crate) resolver: Resolver<'m>,
}

/// Whether the names of what a request means are known only when it runs.
pub(crate) fn is_foreign(modules: &[Module<'_>], target: Target) -> bool {
    match target {
        Target::Module(target) => modules[target].form == Form::CommonJs,
        Target::Empty | Target::Absent | Target::Failed(_) => true,
        Target::Sdk => false,
    }
}

/// Resolves every export, and checks every import of the author's own files.
///
/// # Errors
/// [`ScriptError::Export`] for the first name that a module or the SDK does not export.
pub(crate) fn link<'m>(modules: &'m [Module<'_>], sdk: Option<&[String]>) -> Result<Linked<'m>, ScriptError> {
    let mut resolver = Resolver::new(modules)?;
    let mut exports = Exports::new();
    for (index, module) in modules.iter().enumerate() {
        for import in module.record.imports.iter().filter(|_| !module.package) {
            let (name, offset) = (&import.name, import.offset);
            check_import(modules, &mut resolver, module, import.request, name, offset)?;
            check_sdk(module, import.request, (name, offset), sdk)?;
        }
        for export in module.record.exports.values().filter(|_| !module.package) {
            if let Export::Indirect { request, name, offset, .. } = export {
                check_sdk(module, *request, (name, *offset), sdk)?;
            }
        }
        exports.push(exports_of(modules, &mut resolver, index)?);
    }
    Ok(Linked { exports, resolver })
}

fn exports_of<'m>(
    modules: &'m [Module<'_>],
    resolver: &mut Resolver<'m>,
    index: usize,
) -> Result<BTreeMap<&'m str, Found<'m>>, ScriptError> {
    let module = &modules[index];
    let mut all = BTreeMap::new();
    for (name, export) in &module.record.exports {
        let found = match (resolver.resolve(index, name), export) {
            (Ok(found), _) => found,
            // It counts only where somebody uses it.
            (Err(_), _) if module.package => continue,
            (Err(lost), Export::Indirect { request, name, offset, .. }) => {
                return Err(failure(module, *offset, target_path(modules, module.targets[*request]), name, lost));
            }
            (Err(lost), _) => return Err(failure(module, 0, &module.path, name, lost)),
        };
        all.insert(name.as_str(), found);
    }
    for name in resolver.star_names(index) {
        // Two modules that give a name differently give it not at all.
        if let Ok(found) = resolver.resolve(index, name) {
            all.insert(name, found);
        }
    }
    all.retain(|_, found| *found != Found::Type);
    Ok(all)
}

/// Checks that a module exports the name that another takes from it.
///
/// # Errors
/// [`ScriptError::Export`].
pub(crate) fn check_import<'m>(
    modules: &'m [Module<'_>],
    resolver: &mut Resolver<'m>,
    module: &Module<'_>,
    request: usize,
    name: &'m str,
    offset: u32,
) -> Result<(), ScriptError> {
    let Target::Module(target) = module.targets[request] else { return Ok(()) };
    if is_foreign(modules, module.targets[request]) {
        return Ok(());
    }
    let path = &modules[target].path;
    match resolver.resolve(target, name) {
        Ok(Found::Type) => {
            let reason = format!("exports `{name}` as a type only; write `import type {{ {name} }}`");
            Err(export_error(module, offset, path, reason))
        }
        Ok(_) => Ok(()),
        Err(lost) => Err(failure(module, offset, path, name, lost)),
    }
}

/// Checks that the SDK exports a name that a module takes from it.
fn check_sdk(
    module: &Module<'_>,
    request: usize,
    (name, offset): (&str, u32),
    sdk: Option<&[String]>,
) -> Result<(), ScriptError> {
    let Some(sdk) = sdk.filter(|_| module.targets[request] == Target::Sdk) else { return Ok(()) };
    if sdk.iter().any(|one| one == name) {
        return Ok(());
    }
    let reason = format!("exports no `{name}`; it exports {}", sdk.join(", "));
    Err(export_error(module, offset, SDK_MODULE, reason))
}

/// Returns the order in which modules run when `first` is imported: each after what it imports, in the order of the
/// text; a cycle is entered at its first module. What a CommonJS module requires runs when it asks for it.
pub(crate) fn order(modules: &[Module<'_>], first: usize) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::new(), vec![false; modules.len()]);
    let mut open = vec![(first, 0)];
    seen[first] = true;
    while let Some((index, next)) = open.pop() {
        let imports = modules[index].form != Form::CommonJs;
        match modules[index].targets.get(next).filter(|_| imports) {
            None => order.push(index),
            Some(target) => {
                open.push((index, next + 1));
                if let Target::Module(target) = *target
                    && !std::mem::replace(&mut seen[target], true)
                {
                    open.push((target, 0));
                }
            }
        }
    }
    order
}

/// Checks that the entry has something to run.
///
/// # Errors
/// [`ScriptError::NoRun`].
pub(crate) fn check_entry(entry: &Module<'_>, exports: &BTreeMap<&str, Found<'_>>) -> Result<(), ScriptError> {
    let named = ["default", "run"].map(|name| exports.get(name));
    let callable =
        |found: &&Found| !matches!(found, Found::Namespace(_) | Found::Binding { shape: Shape::NotFunction, .. });
    if named.iter().flatten().any(callable) {
        return Ok(());
    }
    let reason = match named {
        [None, None] => "exports neither a default function nor a function `run`",
        [Some(_), _] => "exports a default that is not a function",
        [None, Some(_)] => "exports a `run` that is not a function",
    };
    Err(ScriptError::NoRun { file: entry.path.clone(), reason: reason.into() })
}

fn target_path<'m>(modules: &'m [Module<'_>], target: Target) -> &'m str {
    match target {
        Target::Module(target) => &modules[target].path,
        Target::Sdk => SDK_MODULE,
        Target::Empty | Target::Absent | Target::Failed(_) => "the package",
    }
}

fn failure(module: &Module<'_>, offset: u32, target: &str, name: &str, lost: Lost) -> ScriptError {
    let reason = match lost {
        Lost::Absent if name == "default" => "has no default export".into(),
        Lost::Absent => format!("exports no `{name}`"),
        Lost::Ambiguous => format!("gets `{name}` from two modules by `export *`; export it by name"),
        Lost::Circular => format!("exports `{name}` in a circle of modules that all take it from another"),
    };
    export_error(module, offset, target, reason)
}

fn export_error(module: &Module<'_>, offset: u32, target: &str, reason: String) -> ScriptError {
    let at = place(&module.path, module.source, offset as usize);
    ScriptError::Export { at, module: target.to_owned(), reason }
}
