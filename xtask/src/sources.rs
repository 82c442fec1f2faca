//! The code of the repository as text, for checks that need no compiler.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::repository;

/// One file without its tests.
pub(crate) struct Source {
    /// Below the repository.
    pub(crate) path: String,
    /// Up to the module of the tests.
    pub(crate) code: String,
}

impl Source {
    /// Its lines with their numbers, comments left out.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.lines().enumerate();
        lines.map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
    }
}

/// The words of a line of code: names, keywords and numbers.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns the Rust files below folders of the repository that are not tests.
///
/// # Errors
/// A folder or file that cannot be read.
pub(crate) fn sources(folders: &[&str]) -> anyhow::Result<Vec<Source>> {
    let root = repository();
    let mut found = Vec::new();
    for folder in folders {
        visit(&root, &root.join(folder), &mut found)?;
    }
    Ok(found)
}

/// Fails with each place of `code` where `finds` finds something, and the line and what it is.
///
/// # Errors
/// `rule` with the places.
pub(crate) fn forbid<'s, I: Iterator<Item = (usize, &'static str)>>(
    code: impl Iterator<Item = &'s Source>,
    finds: impl Fn(&'s Source) -> I,
    rule: &str,
) -> anyhow::Result<()> {
    let found: Vec<String> =
        code.flat_map(|source| finds(source).map(|(line, what)| format!("{}:{line}: `{what}`", source.path))).collect();
    anyhow::ensure!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
    Ok(())
}

fn visit(root: &Path, directory: &Path, found: &mut Vec<Source>) -> anyhow::Result<()> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .with_context(|| directory.display().to_string())?;
    entries.sort();
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if matches!(name, "tests" | "tests.rs" | "target" | "node_modules") {
            continue;
        }
        if path.is_dir() {
            visit(root, &path, found)?;
        } else if name.ends_with(".rs") {
            let code = without_tests(&std::fs::read_to_string(&path)?);
            found.push(Source { path: path.strip_prefix(root)?.to_string_lossy().into_owned(), code });
        }
    }
    Ok(())
}

/// Cuts a file off at its module of tests, which stands last.
fn without_tests(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.starts_with("mod ")) {
            break;
        }
        code.push_str(line);
        code.push('\n');
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_comments_are_left_out() {
        let code = without_tests("fn a() {} // b\n#[cfg(test)]\nfn c() {}\n#[cfg(test)]\nmod tests {}\nfn d() {}\n");
        let source = Source { path: String::new(), code };
        let lines: Vec<_> = source.lines().map(|(_, line)| line).collect();
        assert_eq!(lines, ["fn a() {} ", "#[cfg(test)]", "fn c() {}"]);
    }
}
