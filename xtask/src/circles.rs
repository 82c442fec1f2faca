//! Checks that the modules of a crate use each other in one direction: what is in a circle can only be read, and changed,
//! as a whole. A module and what lies below it may use each other.
//!
//! It looks at paths that begin with `crate`, `super` or `self`, and follows a name that a module hands on to where it comes
//! from, unless it is handed on by `*`. A method is called without a path; whose it is says its type, which has one.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use anyhow::{Result, ensure};

use crate::repository;
use crate::sources::{Source, sources};
use crate::uses::{Tree, paths};

/// Where modules still use each other in circles: those that stand in the root of a crate, or right below one of its modules.
/// No others below `host/` do, nor shall they.
const KNOTTED: [&str; 21] = [
    "rote-adapter",
    "rote-app",
    "rote-bind",
    "rote-cli",
    "rote-cli::bench",
    "rote-cli::demo",
    "rote-flow",
    "rote-flow::crystallize",
    "rote-flow::crystallize::shape",
    "rote-flow::crystallize::shape::conditions",
    "rote-flow::error",
    "rote-flow::run",
    "rote-home",
    "rote-home::journal",
    "rote-plan",
    "rote-runtime",
    "rote-script",
    "rote-spec::openapi",
    "rote-types",
    "rote-vault",
    "rote-workspace",
];

/// Most modules that a name is handed on through.
const HOPS: usize = 16;

/// A module as its path below the crate's root.
type Module = Vec<String>;

/// What each module uses of its siblings.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// The modules in circles, by where they lie.
type Circles = BTreeMap<String, Vec<String>>;

/// Looks for circles.
///
/// # Errors
/// Lists the modules that are in one, and the places of [`KNOTTED`] that have none.
pub(crate) fn check() -> Result<()> {
    let (mut found, mut free) = (BTreeMap::new(), BTreeSet::new());
    for entry in std::fs::read_dir(repository().join("host"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let folder = format!("host/{name}/src");
        let circles = circles(&name, &Crate::read(&folder, &sources(&[&folder])?).uses());
        if circles.is_empty() {
            free.insert(name);
        }
        found.extend(circles);
    }
    let problems = problems(&found, &KNOTTED);
    ensure!(problems.is_empty(), "modules use each other in circles:\n  {}", problems.join("\n  "));
    let free: Vec<_> = free.into_iter().collect();
    println!("circles: none among the modules of {}; some are left in {}", free.join(", "), KNOTTED.join(", "));
    Ok(())
}

/// Circles in other places than those, and those without one.
fn problems(found: &Circles, knotted: &[&str]) -> Vec<String> {
    let new = found.iter().filter(|(place, _)| !knotted.contains(&place.as_str()));
    let new = new.flat_map(|(place, lines)| lines.iter().map(move |line| format!("{place}: {line}")));
    let untied = knotted.iter().filter(|place| !found.contains_key(**place));
    new.chain(untied.map(|place| format!("{place}: none; take it off `KNOTTED` in xtask/src/circles.rs"))).collect()
}

/// The modules of a crate.
struct Crate {
    /// Each with the paths of its code.
    modules: BTreeMap<Module, Vec<Tree>>,
}

impl Crate {
    fn read(folder: &str, sources: &[Source]) -> Self {
        let mut modules: BTreeMap<Module, Vec<Tree>> = BTreeMap::new();
        for source in sources {
            let below = source.path.strip_prefix(folder).unwrap_or(&source.path).trim_matches('/');
            let mut path: Module = below.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            if path.last().is_some_and(|last| matches!(last.as_str(), "lib" | "main" | "mod")) {
                path.pop();
            }
            for depth in 0..path.len() {
                modules.entry(path[..depth].to_vec()).or_default();
            }
            let code: String = source.lines().map(|(_, line)| format!("{line}\n")).collect();
            modules.entry(path).or_default().extend(paths(&code));
        }
        Self { modules }
    }

    /// What modules of one parent use of each other, themselves or by what lies below them.
    fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (module, trees) in &self.modules {
            for target in trees.iter().filter_map(|tree| self.home(self.absolute(module, &tree.path)?)) {
                let common = module.iter().zip(&target).take_while(|(own, other)| own == other).count();
                if common < module.len() && common < target.len() {
                    let used = target[..=common].to_vec();
                    uses.entry(module[..=common].to_vec()).or_default().insert(used);
                }
            }
        }
        uses
    }

    /// A path of a module's code from the root of the crate; none when it leads out of it.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Module> {
        let (mut base, mut rest) = (module, path);
        let mut begun = false;
        while let Some((head, below)) = rest.split_first() {
            base = match head.as_str() {
                "crate" => &[],
                "self" => base,
                "super" => base.split_last()?.1,
                _ => break,
            };
            (rest, begun) = (below, true);
        }
        // Without such a word it begins with a module below this one, or with another crate.
        let is_below =
            || rest.first().is_some_and(|head| self.modules.contains_key(&[base, slice::from_ref(head)].concat()));
        (begun || is_below()).then(|| [base, rest].concat())
    }

    /// The module that defines what a path from the root names.
    fn home(&self, mut path: Module) -> Option<Module> {
        for _ in 0..HOPS {
            let length = (0..=path.len()).rev().find(|length| self.modules.contains_key(&path[..*length]))?;
            let (module, rest) = path.split_at(length);
            let Some((name, below)) = rest.split_first() else { return Some(path) };
            let handed = self.modules[module].iter().filter(|tree| tree.name.as_ref() == Some(name));
            let mut origins = handed.filter_map(|tree| self.absolute(module, &tree.path));
            let Some(origin) = origins.find(|origin| !path.starts_with(origin)) else { return Some(module.to_vec()) };
            path = [origin.as_slice(), below].concat();
        }
        None
    }
}

/// The modules that lead back to themselves, each with those of what it uses that do.
fn circles(name: &str, uses: &Uses) -> Circles {
    let mut found = Circles::new();
    for (module, used) in uses {
        let back: Vec<_> = used.iter().filter(|used| reached(uses, used).contains(module)).collect();
        let Some((own, parent)) = module.split_last().filter(|_| !back.is_empty()) else { continue };
        let back: Vec<_> = back.iter().filter_map(|used| used.last()).map(|used| format!("`{used}`")).collect();
        let place: Vec<&str> = [name].into_iter().chain(parent.iter().map(String::as_str)).collect();
        found.entry(place.join("::")).or_default().push(format!("`{own}` uses {}", back.join(", ")));
    }
    found
}

/// What a module uses, and what that uses, and so on.
fn reached<'u>(uses: &'u Uses, from: &'u Module) -> BTreeSet<&'u Module> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        next.extend(uses.get(module).into_iter().flatten().filter(|used| seen.insert(*used)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modules in circles of a made-up crate.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, code): &(&str, &str)| Source { path: format!("x/src/{path}"), code: (*code).to_owned() };
        let made_up = Crate::read("x/src", &files.iter().map(source).collect::<Vec<_>>());
        problems(&circles("x", &made_up.uses()), &[])
    }

    #[test]
    fn a_circle_is_found_through_what_the_root_hands_on_and_through_folders() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::{A, Other as Another};\npub use c::C;\n"),
            ("a.rs", "use crate::c::d; // crate::b\n"),
            ("b.rs", "use crate::{A, c::{C, A}};\n"),
            ("c/d.rs", "fn f() { crate::Another::new() }\n"),
        ];
        assert_eq!(found(&files), ["x: `a` uses `c`", "x: `c` uses `a`"]);
    }

    #[test]
    fn a_circle_is_found_however_the_path_begins_and_whoever_hands_the_name_on() {
        let by_super = [("a.rs", "use super::b::B;"), ("b/c.rs", "fn f(a: super::super::a::A) {}")];
        assert_eq!(found(&by_super), ["x: `a` uses `b`", "x: `b` uses `a`"]);
        let below = [
            ("p.rs", "mod a;\nmod b;\npub(crate) use self::b::{B, C as D};"),
            ("p/a.rs", "use super::D;"),
            ("p/b.rs", "use crate::p::a::A;"),
        ];
        assert_eq!(found(&below), ["x::p: `a` uses `b`", "x::p: `b` uses `a`"]);
        let of_three =
            [("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "use crate::{a, d};"), ("d.rs", "")];
        assert_eq!(found(&of_three), ["x: `a` uses `b`", "x: `b` uses `c`", "x: `c` uses `a`"]);
    }

    #[test]
    fn one_direction_and_a_parent_with_its_children_are_not_a_circle() {
        let files = [
            ("lib.rs", "mod a;\npub use a::A;\nfn f() { crate::b::g() }"),
            ("a.rs", "use crate::b::B;\nmod below;\npub use below::Deep;\nuse std::fmt;"),
            ("a/below.rs", "use super::A;\nuse crate::a::Z;\nfn f() { super::super::f() }"),
            ("b.rs", "use crate::f;\nuse self::x::X;\nuse a::Foreign;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn names_that_are_handed_on_in_a_ring_come_to_an_end() {
        let files = [("lib.rs", ""), ("a.rs", "pub use crate::b::X;"), ("b.rs", "pub use crate::a::X;")];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn a_new_circle_is_a_problem_and_so_is_a_place_without_one_that_is_said_to_have_some() {
        let found = Circles::from([("x".to_owned(), vec!["a".to_owned()]), ("x::p".to_owned(), vec!["b".to_owned()])]);
        assert_eq!(problems(&found, &["x", "x::p"]), Vec::<String>::new());
        let untied = "y: none; take it off `KNOTTED` in xtask/src/circles.rs";
        assert_eq!(problems(&found, &["x", "y"]), ["x::p: b", untied]);
    }
}
