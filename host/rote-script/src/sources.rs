//! Where sources come from, and the file system that the resolver sees: the sources and nothing else.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use oxc_resolver::{FileMetadata, FileSystem, ResolveError};
use serde_json::Value;

use crate::SourceError;

/// The most brackets that are open at once in a `package.json`.
const MAX_DEPTH: usize = 100;
/// The longest specifier, and the longest path in a `package.json`: the resolver keeps every folder above each of them.
pub(crate) const MAX_PATH: usize = 1024;
/// The most stars in such a path. Each is replaced by what the specifier has in its place.
const MAX_STARS: usize = 2;
/// The members of a `package.json` that have paths, as far as the resolver reads them.
const WITH_PATHS: [&str; 5] = ["main", "module", "browser", "exports", "imports"];

/// What is at a path, with its real path: the one without symbolic links, relative to the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File(String),
    /// A folder.
    Folder(String),
}

/// Where sources come from. A path is relative to the root, has `/` between its parts and no part `.` or `..`; that it
/// does not leave the root by a symbolic link is the implementation's business.
pub trait Sources: Send + Sync {
    /// Returns the text of a file. Not to read much more than [`BundleLimits::file_bytes`](crate::BundleLimits) is the
    /// implementation's business.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when there is no such file, [`SourceError::Unreadable`] when it has no text.
    fn read(&self, path: &str) -> Result<String, SourceError>;

    /// Returns what is at a path.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when there is nothing, [`SourceError::Unreadable`] when it must not be looked at.
    fn find(&self, path: &str) -> Result<Entry, SourceError>;

    /// Returns the names that the SDK exports; what is imported of one whose names are not known is not checked.
    fn sdk(&self) -> Option<Vec<String>> {
        None
    }
}

/// Sources held in memory: path to text.
impl Sources for BTreeMap<String, String> {
    fn read(&self, path: &str) -> Result<String, SourceError> {
        self.get(path).cloned().ok_or(SourceError::NotFound)
    }

    fn find(&self, path: &str) -> Result<Entry, SourceError> {
        let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
        if self.contains_key(path) {
            return Ok(Entry::File(path.to_owned()));
        }
        match self.range(folder.clone()..).next() {
            Some((next, _)) if next.starts_with(&folder) => Ok(Entry::Folder(path.to_owned())),
            _ => Err(SourceError::NotFound),
        }
    }
}

/// What went wrong while the resolver looked around, which takes any error for "not there".
pub(crate) struct Trouble {
    paths: Mutex<BTreeMap<String, SourceError>>,
    probes: AtomicUsize,
    limit: usize,
}

impl Trouble {
    pub(crate) fn new(limit: usize) -> Self {
        Self { paths: Mutex::default(), probes: AtomicUsize::new(0), limit }
    }

    /// Returns a path with these words in it that must not be looked at.
    pub(crate) fn at(&self, words: &str) -> Option<(String, SourceError)> {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.iter().find(|(path, _)| path.contains(words)).map(|(path, error)| (path.clone(), error.clone()))
    }

    /// Whether more was looked for than is allowed: how much, and the limit.
    pub(crate) fn check(&self) -> Result<(), (usize, usize)> {
        let probes = self.probes.load(Ordering::Relaxed);
        if probes > self.limit { Err((probes, self.limit)) } else { Ok(()) }
    }
}

/// The sources as a file system whose root is `/`.
pub(crate) struct Disk {
    sources: Arc<dyn Sources>,
    trouble: Arc<Trouble>,
}

impl Disk {
    pub(crate) fn new(sources: Arc<dyn Sources>, trouble: Arc<Trouble>) -> Self {
        Self { sources, trouble }
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        let path = name(path)?;
        if self.trouble.probes.fetch_add(1, Ordering::Relaxed) >= self.trouble.limit {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.sources.find(path).map_err(|error| self.note(path, error))
    }

    fn note(&self, path: &str, error: SourceError) -> io::Error {
        if error != SourceError::NotFound {
            let mut paths = self.trouble.paths.lock().unwrap_or_else(PoisonError::into_inner);
            paths.insert(path.to_owned(), error);
        }
        io::ErrorKind::NotFound.into()
    }
}

fn name(path: &Path) -> io::Result<&str> {
    path.to_str().map(|path| path.trim_start_matches('/')).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

impl FileSystem for Disk {
    fn new() -> Self {
        Self { sources: Arc::new(BTreeMap::<String, String>::new()), trouble: Arc::new(Trouble::new(0)) }
    }

    /// Only for `package.json`, which the resolver parses without a bound on its depth.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let path = name(path)?;
        let text = self.sources.read(path).map_err(|error| self.note(path, error))?;
        if let Some(reason) = excess(&text) {
            return Err(self.note(path, SourceError::Unreadable(reason)));
        }
        Ok(text.into_bytes())
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        String::from_utf8(self.read(path)?).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let is_file = matches!(self.entry(path)?, Entry::File(_));
        Ok(FileMetadata::new(is_file, !is_file, false))
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata(path)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, ResolveError> {
        Err(ResolveError::PathNotSupported(path.to_owned()))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
}

/// Returns what a `package.json` has too much of. One that is not JSON has nothing, and the resolver says what is wrong.
fn excess(text: &str) -> Option<String> {
    if depth(text) > MAX_DEPTH {
        return Some(format!("it has more than {MAX_DEPTH} open brackets"));
    }
    let manifest: serde_json::Map<String, Value> = serde_json::from_str(text).ok()?;
    let one = |field: &&str| {
        let mut what = None;
        each_text(manifest.get(*field)?, &mut |text| match () {
            () if text.len() > MAX_PATH => {
                what = Some(format!("a path in its `{field}` has more than {MAX_PATH} bytes"))
            }
            () if text.matches('*').count() > MAX_STARS => {
                what = Some(format!("a pattern in its `{field}` has more than {MAX_STARS} stars"));
            }
            () => {}
        });
        what
    };
    WITH_PATHS.iter().find_map(one)
}

/// Looks at every text of a value, the names of members too.
fn each_text(value: &Value, look: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => look(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, look)),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            look(name);
            each_text(value, look);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns how many brackets of a JSON text are open at once, at most.
fn depth(text: &str) -> usize {
    let (mut open, mut most, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => open += 1,
            b']' | b'}' if !quoted => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}
