//! One run of a flow: verified, checked against what is installed, given its parameters, and then executed.
//!
//! The order is fixed: the file's digest, the adapters, the parameters; only then a workspace is made and the
//! component runs. A run that stopped, because a call needed a confirmation or failed, can be resumed in its
//! workspace: calls that succeeded there are answered from the record and not made again.

mod dry;
mod live;
mod preflight;
mod resume;

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use rote_gate::{GateError, Preview};
use rote_govern::Verdict;
use rote_home::{Durability, NewEvent};
use rote_runtime::{FlowOutcome, FlowRun, LogLine, RunError, ToolHost, World};
use rote_types::{Classify, FlowName, ResponseId, RunLimits, ToolCall, WorkspaceName, canonical_json, sha256};
use rote_workspace::Workspace;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use dry::{DryRun, DryRunCall};
pub use live::AdapterTools;

use crate::{FlowError, FlowReference, Flows, Frontmatter, Package, ParameterInput, parameter};
use resume::Done;

/// Most characters of a flow's name that go into the name of a run's workspace.
const NAME_CHARS: usize = 30;

/// A wish to run a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRequest {
    /// Which.
    pub flow: FlowReference,
    /// Its parameters.
    pub parameters: ParameterInput,
    /// The workspace of an earlier run to go on with.
    pub resume: Option<WorkspaceName>,
    /// Confirm tokens, used one by one for the calls that need one.
    pub confirm: Vec<String>,
    /// Bounds.
    pub limits: RunLimits,
}

/// One call of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// Its response, in the run's workspace.
    pub response: ResponseId,
    /// What it called, `adapter/tool`.
    pub call: String,
    /// HTTP status, 0 when there was no answer.
    pub status: u16,
    /// Size of the body in bytes.
    pub bytes: u64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Answered from an earlier run.
    pub resumed: bool,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// How a run ended well.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// The flow.
    pub flow: FlowName,
    /// Its version.
    pub version: String,
    /// The workspace of the run.
    pub workspace: WorkspaceName,
    /// Always `completed`; a run that did not complete is an error.
    pub status: &'static str,
    /// The machine result.
    pub result: Value,
    /// Lines for a person.
    pub human: Vec<String>,
    /// Lines for a log or a chat.
    pub summary: Vec<String>,
    /// What the flow logged.
    pub log: Vec<String>,
    /// The calls, in the order of their numbers.
    pub steps: Vec<StepReport>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// What the calls of one run need to know.
pub struct RunContext {
    /// The workspace of the run.
    pub workspace: Arc<Workspace>,
    /// Pins and permissions.
    pub frontmatter: Arc<Frontmatter>,
    /// Confirm tokens.
    pub confirm: Vec<String>,
}

/// What makes the calls of runs.
#[async_trait]
pub trait ToolSource: Send + Sync {
    /// Returns what makes the calls of one run.
    fn open(&self, context: RunContext) -> Arc<dyn ToolHost>;

    /// Returns what the write guard says of a tool, whatever its arguments, with the reason.
    ///
    /// # Errors
    /// The adapter cannot be read.
    fn verdict(&self, call: &ToolCall) -> Result<(Verdict, String), FlowError>;

    /// Describes a call instead of making it; nothing is sent and no number is spent.
    ///
    /// # Errors
    /// The call cannot be made as it is.
    async fn preview(&self, context: &RunContext, call: &ToolCall) -> Result<Preview, RunError>;
}

impl Flows {
    /// Runs a flow.
    ///
    /// # Errors
    /// What the preflight finds ([`FlowError::MissingAdapters`], `FingerprintMismatch`, `Parameters`); nothing was
    /// sent then. [`FlowError::Stopped`] when a step failed or waits for a confirmation; what was done is in the
    /// workspace that it names, and the hint goes on from there.
    pub async fn run(&self, request: &RunRequest) -> Result<RunReport, FlowError> {
        let started = Instant::now();
        let (package, parameters) = self.preflight(request)?;
        let frontmatter = Arc::new(package.frontmatter.clone());
        let prepared = self.parts.runtime.prepare(World::Flow, package.bytes())?;
        let (workspace, done) = self.workspace(request, &frontmatter)?;
        self.journal_start(&package, &workspace, &parameters)?;
        let context = RunContext {
            workspace: Arc::clone(&workspace),
            frontmatter: Arc::clone(&frontmatter),
            confirm: request.confirm.clone(),
        };
        let tools = Arc::new(resume::Resumed::new(self.parts.tools.open(context), done));
        let run = FlowRun {
            payload: package.payload()?.to_vec(),
            parameters: Value::Object(parameters.clone()),
            tools: Arc::clone(&tools) as Arc<dyn ToolHost>,
            workspace: Arc::clone(&workspace),
            flow: Some(frontmatter.name.clone()),
            limits: request.limits,
            depth: 0,
        };
        let outcome = self.parts.runtime.run_flow(&prepared, run).await;
        self.journal_end(&frontmatter, &workspace, outcome.as_ref().err())?;
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match outcome {
            Ok(outcome) => Ok(report(&frontmatter, &workspace, tools.steps(&workspace)?, outcome, duration_ms)),
            Err(source) => Err(stopped(request, &parameters, &frontmatter, &workspace, source)),
        }
    }

    /// Reads, verifies and checks a flow; returns it with its parameters, typed.
    pub(crate) fn preflight(&self, request: &RunRequest) -> Result<(Package, Map<String, Value>), FlowError> {
        let (_, package) = self.load(&request.flow)?;
        preflight::check_adapters(&*self.parts.surface, &package)?;
        let parameters = parameter::resolve(&package.frontmatter, &request.parameters)?;
        Ok((package, parameters))
    }

    /// The workspace of the run: a new one, or the one that is resumed with what was done there.
    fn workspace(&self, request: &RunRequest, frontmatter: &Frontmatter) -> Result<(Arc<Workspace>, Done), FlowError> {
        if let Some(name) = &request.resume {
            let workspace = Arc::new(Workspace::open(&self.parts.home, name)?);
            let done = resume::done(&workspace, &frontmatter.name)?;
            return Ok((workspace, done));
        }
        let now = self.parts.clock.now();
        let mut random = [0_u8; 3];
        self.parts.entropy.fill(&mut random);
        let digits: String = now.to_string().chars().filter(char::is_ascii_digit).take(14).collect();
        let flow: String = frontmatter.name.as_str().chars().take(NAME_CHARS).collect();
        let suffix: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = WorkspaceName::try_from(format!("run-{flow}-{digits}-{suffix}"))
            .map_err(|error| FlowError::Usage { message: error.to_string() })?;
        Ok((Arc::new(Workspace::create(&self.parts.home, &name, now)?), Done::new()))
    }

    fn journal_start(
        &self,
        package: &Package,
        workspace: &Workspace,
        parameters: &Map<String, Value>,
    ) -> Result<(), FlowError> {
        let frontmatter = &package.frontmatter;
        let body = json!({
            "flow": frontmatter.name,
            "version": frontmatter.version,
            "sha256": package.digest(),
            "workspace": workspace.name(),
            "parameters_digest": sha256(&canonical_json(parameters).unwrap_or_default()),
        });
        self.journal("run.started", body)
    }

    fn journal_end(
        &self,
        frontmatter: &Frontmatter,
        workspace: &Workspace,
        error: Option<&RunError>,
    ) -> Result<(), FlowError> {
        let kind = if error.is_some() { "run.failed" } else { "run.finished" };
        let body = json!({
            "flow": frontmatter.name,
            "workspace": workspace.name(),
            "error": error.map(|error| error.kind().as_str()),
        });
        self.journal(kind, body)
    }

    fn journal(&self, kind: &'static str, body: Value) -> Result<(), FlowError> {
        let event = NewEvent { kind, effect: None, body };
        self.parts.journal.append(self.parts.clock.now(), Durability::Process, &[event])?;
        Ok(())
    }
}

fn report(
    frontmatter: &Frontmatter,
    workspace: &Workspace,
    steps: Vec<StepReport>,
    outcome: FlowOutcome,
    duration_ms: u64,
) -> RunReport {
    let line = |line: LogLine| line.text;
    RunReport {
        flow: frontmatter.name.clone(),
        version: frontmatter.version.clone(),
        workspace: workspace.name().clone(),
        status: "completed",
        result: outcome.result,
        human: outcome.human,
        summary: outcome.summary,
        log: outcome.log.into_iter().map(line).collect(),
        steps,
        duration_ms,
    }
}

/// The error of a run that stopped, with the command that goes on.
fn stopped(
    request: &RunRequest,
    parameters: &Map<String, Value>,
    frontmatter: &Frontmatter,
    workspace: &Workspace,
    source: RunError,
) -> FlowError {
    let token = match &source {
        RunError::Gate(error) => match &**error {
            GateError::ConfirmationNeeded { token, .. } => Some(token.clone()),
            _ => None,
        },
        _ => None,
    };
    let resume = token.map(|token| {
        let flow = match &request.flow {
            FlowReference::Name(name) => name.to_string(),
            FlowReference::Path(path) => quoted(&path.to_string_lossy()),
        };
        let mut words = vec![format!("rote run {flow}")];
        words.extend(parameters.iter().map(|(name, value)| quoted(&format!("{name}={}", rote_plan::text_of(value)))));
        words.push(format!("--resume {} --confirm {token}", workspace.name()));
        words.join(" ")
    });
    FlowError::Stopped {
        flow: frontmatter.name.clone(),
        workspace: workspace.name().clone(),
        resume,
        source: Box::new(source),
    }
}

/// A word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '=' | ':' | ',' | '@' | '+');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
