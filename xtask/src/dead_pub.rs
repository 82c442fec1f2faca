//! Finds public functions that nothing but tests calls: to the compiler, whoever is public is used.
//!
//! By name and without a parser. A name that several functions have is taken as called when any of them is, so this
//! finds less than there is, and nothing that is not.

use std::collections::BTreeMap;

use anyhow::bail;

use crate::sources::{Source, sources, words};

/// What may call the functions of the host: itself with its benchmarks, guests, the SDK and the repository's chores.
const CALLERS: [&str; 6] = ["host", "adapters", "flows", "guest-sdk/rust", "xtask/src", "fuzz"];

/// Who is public for tests of several crates, and why.
const ALLOWED: [(&str, &str); 1] = [("embedded", "tests install descriptions that are in no file")];

/// Looks through the public functions of the host.
pub(crate) fn check() -> anyhow::Result<()> {
    let code = sources(&CALLERS)?;
    let dead = dead(&code);
    if !dead.is_empty() {
        bail!("nothing but tests calls these public functions:\n  {}", dead.join("\n  "));
    }
    println!("each public function of the host has a caller");
    Ok(())
}

fn dead(code: &[Source]) -> Vec<String> {
    let (mut named, mut defined): (BTreeMap<&str, usize>, BTreeMap<&str, usize>) = Default::default();
    for (_, line) in code.iter().flat_map(Source::lines) {
        words(line).for_each(|word| *named.entry(word).or_default() += 1);
        functions(line).for_each(|name| *defined.entry(name).or_default() += 1);
    }
    let mut dead = Vec::new();
    for source in code.iter().filter(|source| source.path.starts_with("host/")) {
        for (number, line) in source.lines().filter(|(_, line)| line.trim_start().starts_with("pub ")) {
            let allowed = |name: &&str| ALLOWED.iter().any(|(known, _)| known == name);
            let lonely = functions(line).filter(|name| named.get(name) == defined.get(name) && !allowed(name));
            dead.extend(lonely.map(|name| format!("{}:{number}: `{name}`", source.path)));
        }
    }
    dead
}

/// The names of the functions that a line begins to define.
fn functions(line: &str) -> impl Iterator<Item = &str> {
    let mut before = "";
    words(line).filter(move |word| std::mem::replace(&mut before, word) == "fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_without_a_caller_is_found_and_one_with_a_caller_is_not() {
        let source = |path: &str, code: &str| Source { path: path.to_owned(), code: code.to_owned() };
        let one = source("host/a.rs", "pub fn called() {}\n    pub const fn lonely() {} // lonely()\nfn own() {}\n");
        let other = source("flows/b.rs", "fn main() { called() }\n");
        assert_eq!(dead(&[one, other]), ["host/a.rs:2: `lonely`"]);
    }

    #[test]
    fn the_host_has_no_dead_function() {
        check().unwrap();
    }
}
