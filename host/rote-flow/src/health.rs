//! Health: whether a flow can run here and now, and for each thing that is in the way the command that mends it.
//!
//! Looks only; nothing is run, sent or changed. A flow whose file is broken has a health too.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use rote_gate::CredentialPreview;
use rote_types::{AdapterId, Classify, FlowName, command};
use serde::{Serialize, Serializer};

use crate::error::{BlessError, LibraryError, PackageError, install};
use crate::run::refuse_undecided;
use crate::{
    AdapterPin, Analytics, BlessingState, Blessings, FlowError, FlowReference, FlowStats, Package, Pins, ToolSource,
};

/// Runs from which on a flow that never ended well counts as broken.
const MIN_FAILED_RUNS: u64 = 3;

/// Something in the way, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HealthProblem {
    /// What is wrong.
    pub what: String,
    /// The command that mends it.
    pub fix: String,
}

/// How an installed adapter stands to the one that a flow pins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AdapterState {
    /// It is the pinned one.
    Pinned,
    /// It sends the flow's requests to other origins.
    Elsewhere,
    /// It fills a credential of the flow's calls from another vault entry.
    Rebound,
    /// It changed; what the flow sends still fits.
    Compatible,
    /// It changed, and what the flow sends may not fit.
    Breaking,
    /// It is not installed.
    Missing,
}

impl AdapterState {
    /// Returns its name, as machine output has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Elsewhere => "elsewhere",
            Self::Rebound => "rebound",
            Self::Compatible => "compatible",
            Self::Breaking => "breaking",
            Self::Missing => "missing",
        }
    }
}

/// One adapter of a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdapterHealth {
    pub adapter: AdapterId,
    /// How it stands to the pinned one.
    pub state: AdapterState,
    /// Its credentials, as the flow's calls find them.
    pub credentials: Vec<CredentialPreview>,
}

/// How a flow stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowHealth {
    /// The flow.
    pub name: String,
    /// Its version; none when its file is broken.
    pub version: Option<String>,
    /// The file.
    pub path: PathBuf,
    /// Whether nothing is in the way.
    pub healthy: bool,
    /// Whether the digest in the file is that of its bytes.
    pub intact: bool,
    pub adapters: Vec<AdapterHealth>,
    /// How its blessing stands; none when it has none, which is the word `none` in machine output.
    #[serde(serialize_with = "or_none")]
    pub blessing: Option<BlessingState>,
    /// What its runs were like; none when it never ran.
    pub runs: Option<FlowStats>,
    /// What is in the way.
    pub problems: Vec<HealthProblem>,
}

/// Says how flows stand here: their files, adapters, credentials, blessings and earlier runs.
#[derive(Clone)]
pub struct Doctor {
    blessings: Blessings,
    analytics: Analytics,
    tools: Arc<dyn ToolSource>,
}

impl Doctor {
    /// Makes it; `tools` says which credentials are there.
    #[must_use]
    pub fn new(blessings: Blessings, analytics: Analytics, tools: Arc<dyn ToolSource>) -> Self {
        Self { blessings, analytics, tools }
    }

    fn pins(&self) -> &Pins {
        &self.blessings.pins
    }

    /// Says how one flow stands.
    ///
    /// # Errors
    /// There is no such flow, or what belongs to rote itself cannot be read. A broken flow is not an error.
    pub fn health(&self, flow: &FlowReference) -> Result<FlowHealth, FlowError> {
        match self.pins().library.load(flow) {
            Ok((path, package)) => self.health_of(path, &package),
            Err(
                error @ (FlowError::Library(LibraryError::NoFlow { .. } | LibraryError::NoFile { .. })
                | FlowError::Home(_)),
            ) => Err(error),
            Err(FlowError::Library(LibraryError::File { source, .. })) if matches!(*source, FlowError::Home(_)) => {
                Err(*source)
            }
            Err(error) => Ok(self.broken(flow, &error)),
        }
    }

    /// Says how every flow stands, by name.
    ///
    /// # Errors
    /// As [`Doctor::health`].
    pub fn all(&self) -> Result<Vec<FlowHealth>, FlowError> {
        // By the name that it is kept under, whatever it calls itself.
        let one = |name: FlowName| {
            let kept = name.to_string();
            self.health(&FlowReference::Name(name)).map(|health| FlowHealth { name: kept, ..health })
        };
        self.pins().library.names()?.into_iter().map(one).collect()
    }

    fn broken(&self, flow: &FlowReference, error: &FlowError) -> FlowHealth {
        let (name, path) = match flow {
            FlowReference::Name(name) => (name.to_string(), self.pins().library.file(name)),
            FlowReference::Path(path) => (path.display().to_string(), path.clone()),
        };
        let fix = error.hint().unwrap_or_else(|| command("rote flow validate").argument(&name).into());
        let cause = match error {
            FlowError::Library(LibraryError::File { source, .. }) => &**source,
            other => other,
        };
        let problem = HealthProblem { what: cause.to_string(), fix };
        FlowHealth {
            name,
            version: None,
            path,
            healthy: false,
            intact: !matches!(cause, FlowError::Package(PackageError::Tampered)),
            adapters: Vec::new(),
            blessing: None,
            runs: None,
            problems: vec![problem],
        }
    }

    fn health_of(&self, path: PathBuf, package: &Package) -> Result<FlowHealth, FlowError> {
        let frontmatter = &package.frontmatter;
        let mut problems = Vec::new();
        let mut adapters = Vec::new();
        // What changed beside the flow is not the flow's problem.
        let mut drifts = self.pins().drifts(package, Some(&path))?;
        drifts.retain(|drift| drift.stops);
        for (adapter, pin) in &frontmatter.adapters {
            let installed = self.pins().surface.manifest(adapter)?.is_some();
            let drift = drifts.iter().find(|drift| drift.adapter == *adapter);
            let state = match (installed, drift) {
                (false, _) => AdapterState::Missing,
                (true, None) => AdapterState::Pinned,
                (true, Some(drift)) if drift.breaking().next().is_some() => AdapterState::Breaking,
                (true, Some(drift)) if drift.elsewhere.is_some() => AdapterState::Elsewhere,
                (true, Some(drift)) if !drift.credentials.is_empty() => AdapterState::Rebound,
                (true, Some(_)) => AdapterState::Compatible,
            };
            if let Some(mut problem) = adapter_problem(&frontmatter.name, adapter, state, pin.origin.as_deref()) {
                for line in drift.iter().flat_map(|drift| drift.credential_lines()) {
                    problem.what.push_str(&format!("; {line}"));
                }
                problems.push(problem);
            }
            let credentials = self.used_credentials(adapter, pin)?;
            adapters.push(AdapterHealth { adapter: adapter.clone(), state, credentials });
        }
        self.credential_problems(package, &mut problems)?;
        self.flow_problems(package, &mut problems)?;
        if let Err(undecided) = refuse_undecided(frontmatter) {
            let fix = command("rote flow review").argument(&frontmatter.name).into();
            problems.push(HealthProblem { what: undecided.to_string(), fix });
        }
        let blessing = self.blessing_state(package, &mut problems)?;
        let runs = self.analytics.stats(&frontmatter.name)?;
        if runs.runs >= MIN_FAILED_RUNS && runs.completed == 0 {
            let last = runs.errors.first().and_then(|run| run.error.clone()).unwrap_or_default();
            let what = format!("none of its {} runs ended well; the last: {last}", runs.runs);
            problems.push(HealthProblem { what, fix: command("rote flow lint").argument(&frontmatter.name).into() });
        }
        Ok(FlowHealth {
            name: frontmatter.name.to_string(),
            version: Some(frontmatter.version.clone()),
            path,
            healthy: problems.is_empty(),
            intact: true,
            adapters,
            blessing,
            runs: Some(runs).filter(|runs| runs.runs > 0),
            problems,
        })
    }

    /// The credentials that the flow's own calls can use.
    fn used_credentials(&self, adapter: &AdapterId, pin: &AdapterPin) -> Result<Vec<CredentialPreview>, FlowError> {
        let mut used = BTreeSet::new();
        for name in pin.tools.keys() {
            let tool = self.pins().surface.tool(adapter, name)?;
            used.extend(tool.into_iter().flat_map(|tool| tool.security).flatten());
        }
        let tools: Vec<&str> = pin.tools.keys().map(String::as_str).collect();
        let mut found = self.tools.credentials(adapter, &tools)?;
        found.retain(|one| used.contains(&one.slot));
        Ok(found)
    }

    /// Credentials for want of which a call of a run would be refused: by the gate's own rule, one problem for each command
    /// that mends it.
    fn credential_problems(&self, package: &Package, problems: &mut Vec<HealthProblem>) -> Result<(), FlowError> {
        let mut fixes = BTreeSet::new();
        for error in crate::run::lacking(&*self.tools, &self.pins().library, package)? {
            let fix = error.hint().unwrap_or_default();
            if fixes.insert(fix.clone()) {
                problems.push(HealthProblem { what: error.to_string(), fix });
            }
        }
        Ok(())
    }

    /// Flows that it runs and that a run would refuse.
    fn flow_problems(&self, package: &Package, problems: &mut Vec<HealthProblem>) -> Result<(), FlowError> {
        let mut findings = crate::lint::Findings::default();
        self.pins().lint_flow_pins(package, &mut findings)?;
        for finding in findings.sorted() {
            let fix = finding.fix.map_or_else(String::new, |fix| fix.to_string());
            problems.push(HealthProblem { what: finding.message, fix });
        }
        Ok(())
    }

    fn blessing_state(
        &self,
        package: &Package,
        problems: &mut Vec<HealthProblem>,
    ) -> Result<Option<BlessingState>, FlowError> {
        let void = match self.blessings.blessing(package) {
            Ok(None) => return Ok(None),
            Ok(Some(blessing)) => self.blessings.blessed_change(&package.frontmatter.name, &blessing)?,
            Err(error) => Some(error),
        };
        match void {
            None => Ok(Some(BlessingState::Valid)),
            Some(error) => {
                let fix = error.hint().unwrap_or_default();
                let FlowError::Bless(BlessError::Void { why, .. }) = &error else { return Err(error) };
                let state = BlessingState::Void(why.to_string());
                problems.push(HealthProblem { what: error.to_string(), fix });
                Ok(Some(state))
            }
        }
    }
}

fn or_none<S: Serializer>(blessing: &Option<BlessingState>, serializer: S) -> Result<S::Ok, S::Error> {
    match blessing {
        Some(state) => state.serialize(serializer),
        None => serializer.serialize_str("none"),
    }
}

fn adapter_problem(
    flow: &FlowName,
    adapter: &AdapterId,
    state: AdapterState,
    origin: Option<&str>,
) -> Option<HealthProblem> {
    let (what, fix) = match state {
        AdapterState::Missing => (format!("adapter `{adapter}` is not installed"), install(adapter, origin)),
        AdapterState::Elsewhere => {
            let what = format!("adapter `{adapter}` goes elsewhere than where the flow was made");
            (what, command("rote flow repin").argument(flow).into())
        }
        AdapterState::Rebound => {
            let what = format!("adapter `{adapter}` sends another credential than the flow was made with");
            (what, command("rote flow repin").argument(flow).into())
        }
        AdapterState::Compatible => {
            let what = format!("adapter `{adapter}` changed; all that the flow sends still fits");
            (what, command("rote flow repin").argument(flow).into())
        }
        AdapterState::Breaking => {
            let what = format!("adapter `{adapter}` changed in a way that may break the flow");
            (what, command("rote flow repin").argument(flow).plain("--accept-breaking").into())
        }
        AdapterState::Pinned => return None,
    };
    Some(HealthProblem { what, fix })
}
