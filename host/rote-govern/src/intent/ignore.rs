//! `.orchestration/.intentignore`: files of a project that no intent changes, as the forks of the hooks have them.
//!
//! A line is a pattern as in `.gitignore`: `#` begins a comment, `!` takes back, `/` at the end stands for all that is in a folder, one at
//! the beginning or within ties it to the project, and a name alone is found in each folder.

use super::IntentsError;
use super::scope::{Pattern, Scope};

/// Most bytes of the file.
pub const MAX_IGNORE_BYTES: u64 = 256 << 10;

/// The files that no intent changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignore {
    path: String,
    scope: Scope,
}

impl Default for Ignore {
    fn default() -> Self {
        Self { path: String::new(), scope: Scope::new(Vec::new()) }
    }
}

/// Why a file is one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ignored<'i> {
    pub(super) entry: &'i str,
    pub(super) path: &'i str,
    pub(super) line: u64,
}

impl Ignore {
    /// Reads the file. `path` stands in messages only.
    ///
    /// # Errors
    /// [`IntentsError`] with the line of what is not a pattern.
    pub fn parse(bytes: &[u8], path: &str) -> Result<Self, IntentsError> {
        let problem = |line: Option<u64>, problem: String| IntentsError { path: path.to_owned(), line, problem };
        let text = std::str::from_utf8(bytes).map_err(|error| problem(None, format!("it is not UTF-8: {error}")))?;
        let mut patterns = Vec::new();
        for (line, entry) in (1..).zip(text.lines().map(str::trim)) {
            if entry.is_empty() || entry.starts_with('#') {
                continue;
            }
            patterns.push(Pattern::parse(in_project(entry), line).map_err(|said| problem(Some(line), said))?);
        }
        Ok(Self { path: path.to_owned(), scope: Scope::new(patterns) })
    }

    /// Whether a file of the project is one of them.
    pub(super) fn of(&self, file: &str) -> Option<Ignored<'_>> {
        let (entry, line) = self.scope.naming(file)?;
        Some(Ignored { entry, path: &self.path, line })
    }
}

/// A pattern as one over paths of the project.
fn in_project(entry: &str) -> String {
    let (not, pattern) = entry.strip_prefix('!').map_or(("", entry), |rest| ("!", rest));
    match pattern.strip_prefix('/') {
        Some(tied) => format!("{not}{tied}"),
        None if pattern.trim_end_matches('/').contains('/') => format!("{not}{pattern}"),
        None => format!("{not}**/{pattern}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_as_git_reads_them() {
        let text = "# secrets\n*.pem\n\n/top.txt\nbuild/\nconfig/*.yaml\n!config/open.yaml\n";
        let ignore = Ignore::parse(text.as_bytes(), "p").unwrap();
        for (file, line) in [
            ("key.pem", Some(2)),
            ("a/b/key.pem", Some(2)),
            ("top.txt", Some(4)),
            ("a/top.txt", None),
            ("build/x/y.o", Some(5)),
            ("a/build/y.o", Some(5)),
            ("config/a.yaml", Some(6)),
            ("config/open.yaml", None),
            ("src/main.rs", None),
            ("/etc/key.pem", None),
        ] {
            assert_eq!(ignore.of(file).map(|found| found.line), line, "{file}");
        }
        assert_eq!(Ignore::parse(b"a\n[", "p").unwrap_err().line, Some(2));
        assert_eq!(Ignore::default().of("key.pem"), None);
    }
}
