//! Modules put together: what each exports in the end, whether every import is there, and in which order they run.

use std::collections::BTreeMap;

use crate::ScriptError;
use crate::exports::{Found, Lost, Resolver};
use crate::place::place;
use crate::record::{Compiled, Export, Import, Shape};
use crate::resolve::SDK_MODULE;

/// A compiled module with its requests resolved.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) path: String,
    pub(crate) source: String,
    pub(crate) compiled: Compiled,
    /// Per request of the record, what it means.
    pub(crate) targets: Vec<Target>,
}

/// What a request means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Sdk,
    Module(usize),
}

/// The exports of each module, in the order of the modules; types are left out.
pub(crate) type Exports<'m> = Vec<BTreeMap<&'m str, Found<'m>>>;

/// Resolves every export and checks every import.
///
/// # Errors
/// [`ScriptError::Export`] for the first name that a module does not export.
pub(crate) fn link(modules: &[Module]) -> Result<Exports<'_>, ScriptError> {
    let mut resolver = Resolver::new(modules)?;
    let mut exports = Exports::new();
    for (index, module) in modules.iter().enumerate() {
        for import in &module.compiled.record.imports {
            check_import(modules, &mut resolver, module, import)?;
        }
        exports.push(exports_of(modules, &mut resolver, index)?);
    }
    Ok(exports)
}

fn exports_of<'m>(
    modules: &'m [Module],
    resolver: &mut Resolver<'m>,
    index: usize,
) -> Result<BTreeMap<&'m str, Found<'m>>, ScriptError> {
    let module = &modules[index];
    let mut all = BTreeMap::new();
    for (name, export) in &module.compiled.record.exports {
        let found = resolver.resolve(index, name).map_err(|lost| match export {
            Export::Indirect { request, name, offset } => {
                failure(module, *offset, target_path(modules, module.targets[*request]), name, lost)
            }
            _ => failure(module, 0, &module.path, name, lost),
        })?;
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

fn check_import<'m>(
    modules: &'m [Module],
    resolver: &mut Resolver<'m>,
    module: &Module,
    import: &'m Import,
) -> Result<(), ScriptError> {
    let Target::Module(target) = module.targets[import.request] else { return Ok(()) };
    let path = &modules[target].path;
    match resolver.resolve(target, &import.name) {
        Ok(Found::Type) => {
            let reason = format!("exports `{0}` as a type only; write `import type {{ {0} }}`", import.name);
            Err(export_error(module, import.offset, path, reason))
        }
        Ok(_) => Ok(()),
        Err(lost) => Err(failure(module, import.offset, path, &import.name, lost)),
    }
}

/// Returns the order in which modules run: each after what it imports, in the order of the text; a cycle is entered at
/// its first module.
pub(crate) fn order(modules: &[Module]) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::with_capacity(modules.len()), vec![false; modules.len()]);
    let mut open = vec![(0, 0)];
    if let Some(first) = seen.first_mut() {
        *first = true;
    }
    while let Some((index, next)) = open.pop() {
        match modules[index].targets.get(next) {
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
pub(crate) fn check_entry(entry: &Module, exports: &BTreeMap<&str, Found<'_>>) -> Result<(), ScriptError> {
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

fn target_path(modules: &[Module], target: Target) -> &str {
    match target {
        Target::Module(target) => &modules[target].path,
        Target::Sdk => SDK_MODULE,
    }
}

fn failure(module: &Module, offset: u32, target: &str, name: &str, lost: Lost) -> ScriptError {
    let reason = match lost {
        Lost::Absent if name == "default" => "has no default export".into(),
        Lost::Absent => format!("exports no `{name}`"),
        Lost::Ambiguous => format!("gets `{name}` from two modules by `export *`; export it by name"),
        Lost::Circular => format!("exports `{name}` in a circle of modules that all take it from another"),
    };
    export_error(module, offset, target, reason)
}

fn export_error(module: &Module, offset: u32, target: &str, reason: String) -> ScriptError {
    let at = place(&module.path, &module.source, offset as usize);
    ScriptError::Export { at, module: target.to_owned(), reason }
}
