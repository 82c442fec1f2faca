//! The flows on disk: `flows/<name>/flow.wasm`, found by name or path, listed, written, and in the search index.
//!
//! A listing never fails because of one broken file; it shows the file with its problem. Only this module writes
//! flow files, always as a whole and under a lock.

mod document;
mod index;
mod maintain;
mod opened;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rote_gate::Redaction;
use rote_home::{FileMode, Home, HomeError, Stamp, create_private_dir, read_capped, write_durable};
use rote_types::{Classify, FlowName, Sha256Digest, nearest};
use serde::Serialize;

pub use document::{FlowDocument, ParameterLine};
pub use index::{FlowIndex, Question, Ranked, Ranking, Scope};
pub(crate) use maintain::reason;
pub use maintain::{IndexReport, Unreadable};

use self::opened::Opened;
use crate::error::LibraryError;
use crate::{FlowError, FlowStatus, Form, MAX_FLOW_BYTES, Package};

/// The file of a flow in its folder.
const FILE: &str = "flow.wasm";
/// Most flows that are listed.
const MAX_LISTED: usize = 100_000;
/// Longest wait for another process that writes a flow.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The flow files of one home: listed, read, written, searched for. Needs nothing but the home.
#[derive(Debug, Clone)]
pub struct Library {
    pub(crate) home: Home,
    opened: Opened,
}

/// How a flow is named: by its file or by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowReference {
    /// An installed flow.
    Name(FlowName),
    /// A file.
    Path(PathBuf),
}

impl FlowReference {
    /// Reads what a person typed: a path when it has a separator or ends in `.wasm`, else a name.
    ///
    /// # Errors
    /// [`FlowError::Usage`] when it is neither.
    pub fn parse(text: &str) -> Result<Self, FlowError> {
        if text.contains(['/', '\\']) || text.ends_with(".wasm") {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        text.parse()
            .map(Self::Name)
            .map_err(|error: rote_types::IdError| FlowError::Usage { message: error.to_string() })
    }
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowEntry {
    /// The folder's name.
    pub name: String,
    /// What it does; empty for a broken one.
    pub description: String,
    pub version: Option<String>,
    pub status: Option<FlowStatus>,
    /// What it is made of.
    pub form: Option<Form>,
    /// Number of steps, for a plan.
    pub steps: Option<usize>,
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// Ids of its adapters.
    pub adapters: Vec<String>,
    /// The file.
    pub path: PathBuf,
    /// Why it cannot be used, if it cannot.
    pub problem: Option<String>,
}

impl Library {
    /// Returns the flows of a home; nothing is opened.
    #[must_use]
    pub fn new(home: Home) -> Self {
        Self { home, opened: Opened::default() }
    }

    /// Lists the flows by name, broken ones with their problem. What the search index read and nobody replaced since
    /// is taken from there: reading all files of a large library takes seconds.
    ///
    /// # Errors
    /// The folder of flows cannot be read.
    pub fn list(&self) -> Result<Vec<FlowEntry>, FlowError> {
        let indexed = self.search_index().documents().unwrap_or_default();
        let mut indexed: BTreeMap<FlowName, FlowDocument> =
            indexed.into_iter().map(|document| (document.name.clone(), document)).collect();
        let entries = self.names()?.into_iter().map(|name| {
            let path = self.file(&name);
            let known = indexed.remove(&name).filter(|known| Stamp::of(&path) == Some(known.stamp));
            match known.map_or_else(|| self.read_document(&name, &path), Ok) {
                Ok(document) => entry(document, path),
                Err(error) => broken(&name, path, &error),
            }
        });
        Ok(entries.collect())
    }

    /// Reads and verifies a flow file, for a listing or the index. The stamp is taken first: a file that is replaced
    /// meanwhile is noticed later.
    pub(crate) fn read_document(&self, name: &FlowName, path: &Path) -> Result<FlowDocument, FlowError> {
        let stamp =
            Stamp::of(path).ok_or_else(|| FlowError::Library(LibraryError::NoFile { path: path.to_owned() }))?;
        Ok(FlowDocument::new(name.clone(), &self.read_named(name, path)?, stamp))
    }

    /// Returns the whole file of a flow.
    ///
    /// # Errors
    /// It does not exist, or its file is not an intact flow.
    pub fn bytes(&self, reference: &FlowReference) -> Result<Vec<u8>, FlowError> {
        Ok(self.load(reference)?.1.bytes().to_vec())
    }

    /// Reads and verifies a flow.
    pub(crate) fn load(&self, reference: &FlowReference) -> Result<(PathBuf, Package), FlowError> {
        let path = self.path_of(reference);
        let read = match reference {
            FlowReference::Name(name) => self.read_named(name, &path),
            FlowReference::Path(path) => self.read_path(path),
        };
        match (read, reference) {
            (Err(FlowError::Home(HomeError::NotFound { .. })), FlowReference::Name(name)) => Err(self.no_flow(name)),
            (Err(FlowError::Home(HomeError::NotFound { .. })), FlowReference::Path(_)) => {
                Err(FlowError::Library(LibraryError::NoFile { path }))
            }
            (package, _) => package.map(|package| (path, package)),
        }
    }

    /// The file that is meant.
    pub(crate) fn path_of(&self, reference: &FlowReference) -> PathBuf {
        match reference {
            FlowReference::Path(path) => path.clone(),
            FlowReference::Name(name) => self.file(name),
        }
    }

    /// Reads the file that is kept under a name: what a person names is what runs, so it has to be its own name.
    fn read_named(&self, kept: &FlowName, path: &Path) -> Result<Package, FlowError> {
        let package = self.read_path(path)?;
        let name = &package.frontmatter.name;
        if name == kept {
            Ok(package)
        } else {
            Err(FlowError::Library(LibraryError::OtherName { kept: kept.clone(), name: name.clone() }))
        }
    }

    pub(crate) fn read_path(&self, path: &Path) -> Result<Package, FlowError> {
        if !path.exists() {
            return Err(FlowError::Home(HomeError::NotFound { path: path.to_owned() }));
        }
        let stamp = Stamp::of(path);
        if let Some(known) = stamp.and_then(|stamp| self.opened.get(path, stamp)) {
            return Ok(known);
        }
        let max = u64::try_from(MAX_FLOW_BYTES).unwrap_or(u64::MAX);
        let package = Package::read(read_capped(path, max)?).map_err(|error| FlowError::of_file(path, error))?;
        if let Some(stamp) = stamp {
            self.opened.keep(path, stamp, &package);
        }
        Ok(package)
    }

    fn no_flow(&self, name: &FlowName) -> FlowError {
        let names = self.names().unwrap_or_default();
        let nearest = nearest(name.as_str(), names.iter().map(FlowName::as_str));
        FlowError::Library(LibraryError::NoFlow { name: name.to_string(), nearest })
    }

    pub(crate) fn file(&self, name: &FlowName) -> PathBuf {
        self.home.flow_dir(name).join(FILE)
    }

    /// Returns the names of all folders that hold a flow file, sorted.
    ///
    /// # Errors
    /// The folder of flows cannot be read.
    pub fn names(&self) -> Result<Vec<FlowName>, FlowError> {
        let folder = self.home.flows_dir();
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let fail = |source| HomeError::Io { action: "list", path: folder.clone(), source };
        let mut names = Vec::new();
        for found in folder.read_dir().map_err(fail)?.take(MAX_LISTED) {
            let found = found.map_err(fail)?;
            let name = found.file_name().to_str().and_then(|name| name.parse::<FlowName>().ok());
            names.extend(name.filter(|name| self.file(name).is_file()));
        }
        names.sort();
        Ok(names)
    }

    /// Refuses a name that is taken by something that must not be replaced.
    pub(crate) fn check_free(&self, name: &FlowName, force: bool) -> Result<(), FlowError> {
        let path = self.file(name);
        if !path.exists() {
            return Ok(());
        }
        let released = self.read_path(&path).is_ok_and(|package| package.frontmatter.status != FlowStatus::Draft);
        if force && !released {
            Ok(())
        } else {
            Err(FlowError::Library(LibraryError::Exists { name: name.clone(), released }))
        }
    }

    /// Writes a draft in which no value of the vault stands.
    pub(crate) fn write_draft(
        &self,
        name: &FlowName,
        package: &Package,
        force: bool,
        redaction: &Redaction,
    ) -> Result<PathBuf, FlowError> {
        package.refuse_known(redaction)?;
        let _guard = self.lock_flows()?;
        self.check_free(name, force)?;
        let folder = self.home.flow_dir(name);
        create_private_dir(&folder)?;
        let path = folder.join(FILE);
        write_durable(&path, package.bytes(), FileMode::Private)?;
        self.index_draft(name)?;
        Ok(path)
    }

    /// Writes a flow over the file that has this digest; another one is left as it is.
    pub(crate) fn replace(&self, name: &FlowName, old: &Sha256Digest, package: &Package) -> Result<PathBuf, FlowError> {
        let _guard = self.lock_flows()?;
        let path = self.file(name);
        if self.read_path(&path)?.digest() != *old {
            return Err(FlowError::Library(LibraryError::ChangedMeanwhile { flow: name.clone() }));
        }
        write_durable(&path, package.bytes(), FileMode::Private)?;
        self.index_draft(name)?;
        Ok(path)
    }

    /// A folder that is gone when the value is dropped.
    pub(crate) fn scratch(&self, prefix: &str) -> Result<tempfile::TempDir, FlowError> {
        let folder = self.home.cache_dir();
        create_private_dir(&folder)?;
        let made = tempfile::Builder::new().prefix(prefix).tempdir_in(&folder);
        made.map_err(|source| HomeError::Io { action: "make a folder in", path: folder, source }.into())
    }
}

fn entry(document: FlowDocument, path: PathBuf) -> FlowEntry {
    FlowEntry {
        name: document.name.to_string(),
        description: document.description,
        version: Some(document.version),
        status: Some(document.status),
        form: Some(document.form),
        steps: document.steps,
        parameters: document.parameters.into_iter().map(|parameter| parameter.name).collect(),
        adapters: document.adapters.keys().map(ToString::to_string).collect(),
        path,
        problem: None,
    }
}

/// What is wrong with a file that is named already.
fn named(error: &FlowError) -> &FlowError {
    if let FlowError::Library(LibraryError::File { source, .. }) = error { source } else { error }
}

fn broken(name: &FlowName, path: PathBuf, error: &FlowError) -> FlowEntry {
    FlowEntry {
        name: name.to_string(),
        description: String::new(),
        version: None,
        status: None,
        form: None,
        steps: None,
        parameters: Vec::new(),
        adapters: Vec::new(),
        path,
        problem: Some(format!("{} ({})", error.kind().as_str(), named(error))),
    }
}
