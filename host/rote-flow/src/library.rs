//! The flows on disk: `flows/<name>/flow.wasm`, found by name or path, listed, described, written.
//!
//! A listing never fails because of one broken file; it shows the file with its problem. Only this module writes
//! flow files, always as a whole and under a lock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rote_home::{FileMode, Home, HomeError, Journal, create_private_dir, lock, read_capped, write_durable};
use rote_plan::Plan;
use rote_runtime::Runtime;
use rote_types::{Classify, Clock, Entropy, FlowName, Interrupt, QueryEngine, Sha256Digest};
use serde::Serialize;
use serde_json::Value;

use crate::package::Content;
use crate::run::ToolSource;
use crate::search::{FlowDocument, Stamp};
use crate::{
    BlessingInfo, FlowError, FlowStatus, FlowWrite, Form, Frontmatter, MAX_FLOW_BYTES, Package, PinnedFlow, Surface,
};

/// The file of a flow in its folder.
const FILE: &str = "flow.wasm";
/// Most flows that are listed.
const MAX_LISTED: usize = 100_000;
/// Longest wait for another process that writes a flow.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Nearness of two names, from 0 to 1, from which one is suggested for the other.
const NEAR: f64 = 0.7;

/// What flows are made of and run with.
#[derive(Clone)]
pub struct FlowsParts {
    /// The home.
    pub home: Home,
    /// The journal, which crystallize reads.
    pub journal: Arc<Journal>,
    /// What runs components.
    pub runtime: Arc<Runtime>,
    /// The installed adapters.
    pub surface: Arc<dyn Surface>,
    /// What makes the calls of a run.
    pub tools: Arc<dyn ToolSource>,
    /// jq.
    pub engine: Arc<dyn QueryEngine>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for the names of workspaces.
    pub entropy: Arc<dyn Entropy>,
    /// Stops a run.
    pub interrupt: Arc<dyn Interrupt>,
}

/// The flows of one home.
#[derive(Clone)]
pub struct Flows {
    pub(crate) parts: FlowsParts,
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
    /// Its version.
    pub version: Option<String>,
    /// Its status.
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

/// Everything about one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowInfo {
    /// What it says of itself.
    pub frontmatter: Frontmatter,
    /// Its plan, when it is one.
    pub plan: Option<Plan>,
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: usize,
    /// Digest of the whole file.
    pub sha256: Sha256Digest,
    /// What each pinned adapter is here: `installed`, `missing` or `mismatch`.
    pub adapters: Value,
    /// What each parameter takes, one line each.
    pub expected: Vec<String>,
    /// The flows that it runs, and those that they run.
    pub flows: Vec<PinnedFlow>,
    /// What it may write, and what those may.
    pub writes: Vec<FlowWrite>,
    /// How its blessing stands; none when it has none.
    pub blessing: Option<BlessingInfo>,
}

impl Flows {
    /// Makes the flows of a home.
    #[must_use]
    pub fn new(parts: FlowsParts) -> Self {
        Self { parts }
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
        let stamp = Stamp::of(path).ok_or_else(|| FlowError::NoFile { path: path.to_owned() })?;
        Ok(FlowDocument::new(name.clone(), &self.read_named(name, path)?, stamp))
    }

    /// Describes one flow.
    ///
    /// # Errors
    /// It does not exist, or its file is no intact flow.
    pub fn info(&self, reference: &FlowReference) -> Result<FlowInfo, FlowError> {
        let (path, package) = self.load(reference)?;
        let mut adapters = serde_json::Map::new();
        for (id, pin) in &package.frontmatter.adapters {
            let state = match self.parts.surface.manifest(id)? {
                None => "missing",
                Some(manifest) if manifest.fingerprint == pin.fingerprint => "installed",
                Some(_) => "mismatch",
            };
            adapters.insert(id.to_string(), state.into());
        }
        let below = self.pinned_flows(&package)?;
        Ok(FlowInfo {
            writes: self.writes(&package.frontmatter, &below, &self.tools_that_count(&package)?)?,
            blessing: self.blessing_info(&package)?,
            flows: below.into_iter().map(|inner| inner.shown).collect(),
            path,
            bytes: package.bytes().len(),
            sha256: package.digest(),
            adapters: Value::Object(adapters),
            expected: crate::parameter::expected(&package.frontmatter),
            plan: package.plan().cloned(),
            frontmatter: package.frontmatter,
        })
    }

    /// Returns the whole file of a flow.
    ///
    /// # Errors
    /// It does not exist, or its file is no intact flow.
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
                Err(FlowError::NoFile { path })
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
        match name == kept {
            true => Ok(package),
            false => Err(FlowError::OtherName { kept: kept.clone(), name: name.clone() }),
        }
    }

    pub(crate) fn read_path(&self, path: &Path) -> Result<Package, FlowError> {
        if !path.exists() {
            return Err(FlowError::Home(HomeError::NotFound { path: path.to_owned() }));
        }
        let max = u64::try_from(MAX_FLOW_BYTES).unwrap_or(u64::MAX);
        Package::read(read_capped(path, max)?).map_err(|error| FlowError::of_file(path, error))
    }

    fn no_flow(&self, name: &FlowName) -> FlowError {
        let nearness = |known: &FlowName| strsim::jaro_winkler(known.as_str(), name.as_str());
        let names = self.names().unwrap_or_default();
        let nearest = names.iter().filter(|known| nearness(known) >= NEAR);
        let nearest = nearest.max_by(|one, other| nearness(one).total_cmp(&nearness(other)));
        FlowError::NoFlow { name: name.to_string(), nearest: nearest.map(ToString::to_string) }
    }

    pub(crate) fn file(&self, name: &FlowName) -> PathBuf {
        self.parts.home.flow_dir(name).join(FILE)
    }

    /// The names of all folders that hold a flow file, sorted.
    pub(crate) fn names(&self) -> Result<Vec<FlowName>, FlowError> {
        let folder = self.parts.home.flows_dir();
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
        if force && !released { Ok(()) } else { Err(FlowError::Exists { name: name.clone(), released }) }
    }

    /// Refuses a flow in which a value of the vault stands: a flow is shown, copied and handed on.
    pub(crate) fn refuse_known(&self, package: &Package) -> Result<(), FlowError> {
        let redaction = self.parts.runtime.redaction();
        let flow = &package.frontmatter.name;
        let json = |value: serde_json::Result<Value>| {
            value.map_err(|error| FlowError::Malformed { what: "flow", message: error.to_string() })
        };
        redaction
            .refuse(&format!("the frontmatter of flow `{flow}`"), &json(serde_json::to_value(&package.frontmatter))?)?;
        match &package.content {
            Content::Plan(plan) => {
                redaction.refuse(&format!("the plan of flow `{flow}`"), &json(serde_json::to_value(plan))?)?;
            }
            Content::Script { code, map } => {
                let what = format!("the code of flow `{flow}`");
                redaction.refuse_bytes(&what, code.as_bytes())?;
                redaction.refuse_bytes(&what, map.as_bytes())?;
            }
            Content::Component => {
                redaction.refuse_bytes(&format!("the component of flow `{flow}`"), package.bytes())?
            }
        }
        Ok(())
    }

    /// Writes a draft.
    pub(crate) fn write_draft(&self, name: &FlowName, package: &Package, force: bool) -> Result<PathBuf, FlowError> {
        self.refuse_known(package)?;
        create_private_dir(&self.parts.home.flows_dir())?;
        let _guard = lock(&self.parts.home.flows_dir().join(".lock"), LOCK_TIMEOUT)?;
        self.check_free(name, force)?;
        let folder = self.parts.home.flow_dir(name);
        create_private_dir(&folder)?;
        let path = folder.join(FILE);
        write_durable(&path, package.bytes(), FileMode::Private)?;
        self.index_draft(name)?;
        Ok(path)
    }

    /// Writes a flow over the file that has this digest; another one is left as it is.
    pub(crate) fn replace(&self, name: &FlowName, old: &Sha256Digest, package: &Package) -> Result<PathBuf, FlowError> {
        let _guard = lock(&self.parts.home.flows_dir().join(".lock"), LOCK_TIMEOUT)?;
        let path = self.file(name);
        if self.read_path(&path)?.digest() != *old {
            return Err(FlowError::ChangedMeanwhile { flow: name.clone() });
        }
        write_durable(&path, package.bytes(), FileMode::Private)?;
        self.index_draft(name)?;
        Ok(path)
    }

    /// A folder that is gone when the value is dropped.
    pub(crate) fn scratch(&self, prefix: &str) -> Result<tempfile::TempDir, FlowError> {
        let folder = self.parts.home.cache_dir();
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
fn reason(error: &FlowError) -> &FlowError {
    if let FlowError::File { source, .. } = error { source } else { error }
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
        problem: Some(format!("{} ({})", error.kind().as_str(), reason(error))),
    }
}
