//! The paths in Rust code that lead to other modules, read without a compiler.

/// One path: `a::b` of `use a::{b as c, d}`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) path: Vec<String>,
    /// The name that a `use` gives it, under which the module can hand it on.
    pub(crate) name: Option<String>,
}

/// Returns the paths of all `use` and those elsewhere that begin with `crate`, `super` or `self`, of code without comments.
pub(crate) fn paths(code: &str) -> Vec<Tree> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some((first, below)) = rest.split_first() {
        let is_path = matches!(*first, "crate" | "super" | "self") && below.first() == Some(&"::");
        let is_use = *first == "use";
        let (read, left) =
            if is_use || is_path { tree(if is_use { below } else { rest }) } else { (Vec::new(), below) };
        found.extend(read.into_iter().map(|tree| Tree { name: tree.name.filter(|_| is_use), ..tree }));
        rest = if left.len() < rest.len() { left } else { below };
    }
    found
}

/// Names, `::` and single other characters.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let length = if rest.starts_with("::") { 2 } else { word.max(first.len_utf8()) };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Reads a path, or several with common beginnings, and returns what stands behind it.
fn tree<'t, 's>(tokens: &'t [&'s str]) -> (Vec<Tree>, &'t [&'s str]) {
    let (mut found, mut open, mut path) = (Vec::new(), Vec::new(), Vec::<&str>::new());
    let (mut alias, mut is_new, mut wants_name) = (None, false, true);
    let mut rest = tokens;
    while let Some((token, below)) = rest.split_first() {
        let is_word = token.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        match *token {
            "as" if !wants_name && is_new => {
                alias = below.first().copied();
                rest = below.get(1..).unwrap_or_default();
                continue;
            }
            "::" => wants_name = true,
            "{" if wants_name => open.push(path.len()),
            "," | "}" if !open.is_empty() => {
                found.extend(is_new.then(|| leaf(&path, alias)));
                path.truncate(open.last().copied().unwrap_or_default());
                (alias, is_new, wants_name) = (None, false, *token == ",");
                if *token == "}" {
                    open.pop();
                }
            }
            _ if wants_name && (is_word || *token == "*") => {
                path.push(*token);
                (is_new, wants_name) = (true, false);
            }
            _ => break,
        }
        rest = below;
    }
    found.extend(is_new.then(|| leaf(&path, alias)));
    (found, rest)
}

fn leaf(path: &[&str], alias: Option<&str>) -> Tree {
    // `a::{self, B}` names `a` itself; what `*` names is not known.
    let path = match path.split_last() {
        Some((&("self" | "*"), before)) if !before.is_empty() => before,
        _ => path,
    };
    let name = alias.or_else(|| path.last().copied()).map(str::to_owned);
    Tree { path: path.iter().map(|part| (*part).to_owned()).collect(), name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: &str) -> Vec<(String, Option<String>)> {
        paths(code).into_iter().map(|tree| (tree.path.join("::"), tree.name)).collect()
    }

    fn named(path: &str, name: &str) -> (String, Option<String>) {
        (path.to_owned(), Some(name.to_owned()))
    }

    #[test]
    fn a_tree_of_uses_is_each_of_its_paths() {
        let code =
            "pub(crate) use crate::{a::{self, B, c::{D as E, F}},\n  G, };\nuse std::fmt as words;\nuse super::h::*;";
        let expected = [
            named("crate::a", "a"),
            named("crate::a::B", "B"),
            named("crate::a::c::D", "E"),
            named("crate::a::c::F", "F"),
            named("crate::G", "G"),
            named("std::fmt", "words"),
            named("super::h", "h"),
        ];
        assert_eq!(read(code), expected);
    }

    #[test]
    fn a_path_within_code_ends_where_it_ends() {
        let code = "fn f(self, x: super::X) -> crate::a::B<crate::C> { match crate::d::e(self.f) { self::G { h } => super::i::<u8>() } }";
        let found: Vec<String> = read(code).into_iter().map(|(path, _)| path).collect();
        assert_eq!(found, ["super::X", "crate::a::B", "crate::C", "crate::d::e", "self::G", "super::i"]);
        assert!(paths(code).iter().all(|tree| tree.name.is_none()));
    }
}
