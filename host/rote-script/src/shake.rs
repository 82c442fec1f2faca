//! What of the modules ends in the script: the author's files whole; of packages what is used, and what does something
//! by itself in a module that runs.
//!
//! A module runs when it is the entry, when one that runs imports it and its package does not say that it only gives
//! names, or when a name is taken from it, through however many others: those run, too, as zod's entry has to set up
//! its messages. Of a module that runs, statements stay that have effects or that a statement which stays uses.

use std::collections::{BTreeMap, BTreeSet};

use crate::ScriptError;
use crate::check::Refusal;
use crate::exports::exports_itself;
use crate::link::{Linked, Module, Target, check_import, order};
use crate::place::place;
use crate::record::{Export, Form, RequestKind, Use};
use crate::resolve;

/// The most steps of the way from the author's file that an error tells.
const MAX_CHAIN: usize = 10;

/// What ends in the script.
pub(crate) struct Live {
    /// Per module, whether it runs.
    pub(crate) modules: Vec<bool>,
    /// Per module and part, whether it stays.
    pub(crate) parts: Vec<Vec<bool>>,
    /// Per module, the exported names that are read.
    pub(crate) names: Vec<BTreeSet<String>>,
    /// Per module, whether it passes on names that are known only when it runs.
    pub(crate) open: Vec<bool>,
    /// The modules that run, in this order, when the script starts.
    pub(crate) order: Vec<usize>,
    /// Modules of ECMAScript that run when they are required, with what runs before each.
    pub(crate) required: BTreeMap<usize, Vec<usize>>,
}

/// Something to be looked at.
enum Job<'m> {
    Module(usize),
    Part(usize, usize),
    /// A name of a module, and the property that is read of it.
    Name(usize, &'m str, Option<&'m str>),
    All(usize),
}

struct Shaker<'m, 'a, 'l> {
    modules: &'m [Module<'a>],
    linked: &'l mut Linked<'m>,
    live: Live,
    all: Vec<bool>,
    seen: BTreeSet<(usize, &'m str, Option<&'m str>)>,
    /// Per module, the parts that bind a name.
    binders: Vec<BTreeMap<&'m str, Vec<usize>>>,
    /// Per module, the module and the place that asked for it first.
    parents: Vec<Option<(usize, u32)>>,
    failed: Option<(usize, usize)>,
    jobs: Vec<Job<'m>>,
}

/// Finds what ends in the script.
///
/// # Errors
/// [`ScriptError::Package`] for what a package asks for where that is part of the script.
pub(crate) fn shake<'m>(
    modules: &'m [Module<'m>],
    linked: &mut Linked<'m>,
    failures: Vec<ScriptError>,
) -> Result<Live, ScriptError> {
    let count = modules.len();
    let open = (0..count).map(|index| linked.resolver.is_open(index)).collect();
    let live = Live {
        modules: vec![false; count],
        parts: modules.iter().map(|module| vec![false; module.parts.len()]).collect(),
        names: vec![BTreeSet::new(); count],
        open,
        order: Vec::new(),
        required: BTreeMap::new(),
    };
    let mut shaker = Shaker {
        modules,
        linked,
        live,
        all: vec![false; count],
        seen: BTreeSet::new(),
        binders: modules.iter().map(binders).collect(),
        parents: vec![None; count],
        failed: None,
        jobs: vec![Job::Module(0)],
    };
    shaker.run()?;
    if let Some((module, failure)) = shaker.failed {
        return Err(match failures.into_iter().nth(failure) {
            Some(error) => shaker.of_package(module, error),
            None => ScriptError::Internal { file: modules[module].path.clone(), message: "an import is lost".into() },
        });
    }
    shaker.refuse()?;
    Ok(shaker.ordered())
}

fn binders<'m>(module: &'m Module<'_>) -> BTreeMap<&'m str, Vec<usize>> {
    let mut binders: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, part) in module.parts.iter().enumerate() {
        for name in &part.declares {
            binders.entry(name).or_default().push(index);
        }
    }
    binders
}

impl<'m> Shaker<'m, '_, '_> {
    fn run(&mut self) -> Result<(), ScriptError> {
        while let Some(job) = self.jobs.pop() {
            match job {
                Job::Module(module) => self.module(module),
                Job::Part(module, part) => self.part(module, part)?,
                Job::Name(module, name, member) => self.name(module, name, member),
                Job::All(module) => self.all(module),
            }
            if self.failed.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Has the module that is asked for run.
    fn ask(&mut self, asker: usize, target: usize, offset: u32) {
        if !self.live.modules[target] && self.parents[target].is_none() {
            self.parents[target] = Some((asker, offset));
        }
        self.jobs.push(Job::Module(target));
    }

    fn module(&mut self, index: usize) {
        if std::mem::replace(&mut self.live.modules[index], true) {
            return;
        }
        let module = &self.modules[index];
        if let Some(failure) = module.broken {
            self.failed.get_or_insert((index, failure));
        }
        for (part, facts) in module.parts.iter().enumerate() {
            if facts.effects {
                self.jobs.push(Job::Part(index, part));
            }
        }
        for (request, target) in module.record.requests.iter().zip(&module.targets) {
            let required = matches!(request.kind, RequestKind::Require | RequestKind::Try);
            match *target {
                Target::Module(target) if required => {
                    self.ask(index, target, request.offset);
                    self.jobs.push(Job::All(target));
                }
                Target::Module(target) if !self.modules[target].pure => self.ask(index, target, request.offset),
                Target::Failed(failure) if request.kind != RequestKind::Import => {
                    self.failed.get_or_insert((index, failure));
                }
                _ => {}
            }
        }
        if !module.package || module.form == Form::Json {
            self.jobs.push(Job::All(index));
        }
        // What is copied when the module runs has to be there, whatever its name.
        if self.live.open[index] {
            for request in module.record.stars.clone() {
                self.used(index, request, None, None, module.record.requests[request].offset);
            }
        }
    }

    fn part(&mut self, index: usize, part: usize) -> Result<(), ScriptError> {
        let module = &self.modules[index];
        if std::mem::replace(&mut self.live.parts[index][part], true) {
            return Ok(());
        }
        for used in &module.parts[part].uses {
            match used {
                Use::Local(name) => self.binders_of(index, name),
                Use::Import { request, name, member, offset } => {
                    if let Some(name) = name.as_deref().filter(|_| module.package) {
                        let resolver = &mut self.linked.resolver;
                        check_import(self.modules, resolver, module, *request, name, *offset)
                            .map_err(|error| self.of_package(index, error))?;
                    }
                    self.used(index, *request, name.as_deref(), member.as_deref(), *offset);
                }
            }
        }
        Ok(())
    }

    fn binders_of(&mut self, module: usize, name: &str) {
        let parts = self.binders[module].get(name).into_iter().flatten();
        self.jobs.extend(parts.map(|part| Job::Part(module, *part)));
    }

    /// A module uses what it asked for: a name of it, or all of it, or one property of either.
    fn used(&mut self, asker: usize, request: usize, name: Option<&'m str>, member: Option<&'m str>, offset: u32) {
        let target = match self.modules[asker].targets[request] {
            Target::Module(target) => target,
            Target::Failed(failure) => {
                self.failed.get_or_insert((asker, failure));
                return;
            }
            _ => return,
        };
        self.ask(asker, target, offset);
        self.jobs.push(match (name, member) {
            _ if self.modules[target].form == Form::CommonJs => return,
            (Some(name), member) => Job::Name(target, name, member),
            (None, Some(member)) => Job::Name(target, member, None),
            (None, None) => Job::All(target),
        });
    }

    fn name(&mut self, index: usize, name: &'m str, member: Option<&'m str>) {
        if !self.seen.insert((index, name, member)) {
            return;
        }
        self.jobs.push(Job::Module(index));
        let module = &self.modules[index];
        self.live.names[index].insert(name.to_owned());
        match module.record.exports.get(name) {
            Some(Export::Local { binding, .. }) => self.binders_of(index, binding),
            Some(Export::Indirect { request, name: next, offset, .. }) => {
                self.used(index, *request, Some(next), member, *offset);
            }
            Some(Export::Namespace { request, .. }) => {
                self.used(index, *request, None, member, module.record.requests[*request].offset);
            }
            None if exports_itself(module, name) => {}
            None => {
                for target in self.linked.resolver.star_sources(index, name) {
                    self.ask(index, target, 0);
                    if self.modules[target].form != Form::CommonJs {
                        self.jobs.push(Job::Name(target, name, member));
                    }
                }
            }
        }
    }

    fn all(&mut self, index: usize) {
        if std::mem::replace(&mut self.all[index], true) {
            return;
        }
        self.jobs.push(Job::Module(index));
        let names: Vec<&'m str> = self.linked.exports[index].keys().copied().collect();
        self.jobs.extend(names.into_iter().map(|name| Job::Name(index, name, None)));
    }

    /// Refuses what a flow cannot use, where it stays.
    fn refuse(&self) -> Result<(), ScriptError> {
        for (index, module) in self.modules.iter().enumerate().filter(|(index, _)| self.live.modules[*index]) {
            let stays = |refusal: &&Refusal| {
                let at = refusal.span.start;
                let part = module.parts.iter().position(|part| (part.start..part.end).contains(&at));
                part.is_none_or(|part| self.live.parts[index][part])
            };
            if let Some(refusal) = module.refusals.iter().find(stays) {
                let at = place(&module.path, module.source, refusal.span.start as usize);
                let (what, reason) = (refusal.what.clone(), refusal.reason.to_owned());
                return Err(self.of_package(index, ScriptError::Refused { at, what, reason }));
            }
        }
        Ok(())
    }

    /// An error of a package, with the way to it.
    fn of_package(&self, index: usize, error: ScriptError) -> ScriptError {
        let (mut chain, mut module) = (Vec::new(), index);
        while let Some((asker, offset)) = self.parents[module].filter(|_| chain.len() < MAX_CHAIN) {
            let asking = &self.modules[asker];
            let at = place(&asking.path, asking.source, offset as usize);
            chain.push(format!("{}:{}:{}", at.file, at.line, at.column));
            module = asker;
        }
        let package = resolve::package(&self.modules[index].path).unwrap_or_default().to_owned();
        ScriptError::Package { package, chain, problem: Box::new(error) }
    }

    fn ordered(self) -> Live {
        let Self { modules, mut live, .. } = self;
        let running = |first: usize| -> Vec<usize> {
            order(modules, first).into_iter().filter(|index| live.modules[*index]).collect()
        };
        let eager = running(0);
        let mut required = BTreeMap::new();
        for (_, module) in modules.iter().enumerate().filter(|(index, _)| live.modules[*index]) {
            let asked = module.record.requests.iter().zip(&module.targets);
            let common = asked.filter(|(request, _)| matches!(request.kind, RequestKind::Require | RequestKind::Try));
            for (_, target) in common {
                if let Target::Module(target) = *target
                    && modules[target].form != Form::CommonJs
                {
                    required.entry(target).or_insert_with(|| running(target));
                }
            }
        }
        (live.order, live.required) = (eager, required);
        live
    }
}
