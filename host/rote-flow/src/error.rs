//! What can go wrong with flows, with the exit code and the next command for each.

mod classify;
mod text;

pub(crate) use classify::install;

use std::path::{Path, PathBuf};

use rote_gate::{Doubt, GateError, SecretError, UnboundError};
use rote_govern::BlessingError;
use rote_home::HomeError;
use rote_plan::PlanError;
use rote_runtime::{LoadError, RunError};
use rote_types::{AdapterId, Classify, ErrorKind, Fingerprint, FlowName, ResponseId, Sha256Digest, WorkspaceName};
use rote_workspace::WorkspaceError;
use serde::Serialize;
use serde_json::Value;

use text::{
    breaking_text, expected_text, mismatch_text, names, nearest_text, of_text, others_text, problems_text, unkept_text,
};

use crate::drift::Drift;
use crate::frontmatter::Form;
use crate::report::LatestRun;

/// What is said of a run that was cut off in the middle of a write.
const CUT_OFF: &str = "; a write that was under way may have happened: rote doubts";

/// Where every flow comes from.
const MAKE_A_FLOW: &str = "rote flow template create --workspace <workspace> --name <name>";

/// One thing that is wrong with the parameters of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParameterProblem {
    /// The parameter's name.
    pub name: String,
    /// What is wrong.
    pub problem: String,
}

/// What a replay asked for and the recording does not have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stale {
    /// The call as `adapter/tool`, or another question to the host.
    pub question: String,
    /// The arguments that were asked for, or what the recording has in this place.
    pub arguments: Value,
}

/// A failed operation on flows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// No flow of that name is installed.
    #[error("there is no flow `{name}`{}", nearest_text(.nearest.as_deref()))]
    NoFlow {
        /// The name asked for.
        name: String,
        /// An installed name that is close to it.
        nearest: Option<String>,
    },
    /// No file at that path.
    #[error("there is no flow file `{}`", path.display())]
    NoFile {
        /// The path asked for.
        path: PathBuf,
    },
    /// A flow of that name exists and is not to be replaced.
    #[error("flow `{name}` exists already{}", if *.released { " and is released" } else { "" })]
    Exists {
        /// The name.
        name: FlowName,
        /// Whether it is more than a draft.
        released: bool,
    },
    /// A released flow is not removed by the way: others may run it by its digest.
    #[error("flow `{flow}` is released, and other flows may run it")]
    IsReleased {
        /// The flow.
        flow: FlowName,
    },
    /// A file cannot be used as a flow.
    #[error("cannot use flow file `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not; it decides kind and hint.
        source: Box<FlowError>,
    },
    /// The file is a component, perhaps, but no flow.
    #[error("the file is not a flow: {message}")]
    NotAFlow {
        /// What is missing.
        message: String,
    },
    /// The bytes are not those that the digest at the end of the file names.
    #[error("the flow file was changed after it was made: its digest does not match its contents")]
    Tampered,
    /// The file says that a template runs it, and its code is something else.
    #[error(
        "the flow says that it is a {}, and its code `{code}` is not a template that this rote knows: what it shows is not what would run",
        form.as_str()
    )]
    OtherTemplate {
        /// What it claims to be.
        form: Form,
        /// Digest of its code.
        code: Sha256Digest,
    },
    /// The file is kept under another name than its own.
    #[error("the flow that is kept as `{kept}` calls itself `{name}`")]
    OtherName {
        /// The folder's name.
        kept: FlowName,
        /// Its own name.
        name: FlowName,
    },
    /// A part of the file is not what it must be.
    #[error("the {what} of the flow is malformed: {message}")]
    Malformed {
        /// `frontmatter`, `plan` or another part.
        what: &'static str,
        /// What is wrong.
        message: String,
    },
    /// The file is larger than a flow may be.
    #[error("the flow file is too large: {bytes} bytes, at most {max} are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// Adapters that the flow needs are not installed.
    #[error("flow `{flow}` needs adapters that are not installed: {}", names(.missing))]
    MissingAdapters {
        /// The flow.
        flow: FlowName,
        /// The adapters.
        missing: Vec<AdapterId>,
        /// Where the first one's document came from.
        origin: Option<String>,
    },
    /// Installed adapters are not the pinned ones. Nothing was sent.
    #[error("{}", mismatch_text(.drifts))]
    FingerprintMismatch {
        /// The flow.
        flow: FlowName,
        /// What differs, per adapter.
        drifts: Vec<Drift>,
    },
    /// The parameters of a run do not fit.
    #[error("{}; flow `{flow}` takes {}", problems_text(.problems), expected_text(.expected))]
    Parameters {
        /// The flow.
        flow: FlowName,
        /// What is wrong.
        problems: Vec<ParameterProblem>,
        /// What is expected, one line each.
        expected: Vec<String>,
        /// The schemas of all parameters.
        schema: Box<Value>,
    },
    /// A flow tried to call something that it does not pin.
    #[error("flow `{flow}` may not call `{adapter}/{tool}`: its frontmatter does not pin it")]
    NotPinned {
        /// The flow.
        flow: FlowName,
        /// The adapter.
        adapter: AdapterId,
        /// The tool.
        tool: String,
    },
    /// The run ended without a result.
    #[error("flow `{flow}` stopped: {source}{}{}", if *cut_off { CUT_OFF } else { "" }, unkept_text(unkept))]
    Stopped {
        /// The flow.
        flow: FlowName,
        /// The workspace of the run, where what happened can be read.
        workspace: WorkspaceName,
        /// The command that goes on after a confirmation.
        resume: Option<String>,
        /// Why.
        source: Box<RunError>,
        /// What the flow logged until then.
        log: Vec<String>,
        /// It was cut off from outside while a write was under way.
        cut_off: bool,
        /// A write that it left in doubt, its own or of a run that it started.
        doubt: Option<Box<Doubt>>,
        /// Why its end could not be written down.
        unkept: Vec<String>,
    },
    /// What is to become a flow has a write whose outcome nobody knows.
    #[error(
        "`{response}` (`{adapter}/{tool}`) of workspace `{workspace}` was sent and nobody knows what came of it: it may have happened"
    )]
    InDoubt {
        /// The workspace.
        workspace: WorkspaceName,
        /// The response number.
        response: ResponseId,
        /// The adapter.
        adapter: AdapterId,
        /// The tool.
        tool: String,
    },
    /// A run cannot go on before a person says what came of a write of it.
    #[error("{doubt}{}: say what came of it", others_text(*others))]
    Unsettled {
        /// The first one.
        doubt: Box<Doubt>,
        /// How many more there are.
        others: usize,
    },
    /// The flow ended, and nobody knows what came of a write of its run.
    #[error("flow `{flow}` ended, and {doubt}{}: say what came of it{}", others_text(*others), unkept_text(unkept))]
    EndedInDoubt {
        /// The flow.
        flow: FlowName,
        /// The workspace of the run.
        workspace: WorkspaceName,
        /// The first one.
        doubt: Box<Doubt>,
        /// How many more there are.
        others: usize,
        /// The kind of the failure of its call.
        kind: ErrorKind,
        /// What the flow returned.
        result: Box<Value>,
        /// What the flow logged.
        log: Vec<String>,
        /// Why its end could not be written down.
        unkept: Vec<String>,
    },
    /// Another process makes the run.
    #[error("the run in workspace `{workspace}` is still going on in another process")]
    StillRunning {
        /// The workspace.
        workspace: WorkspaceName,
    },
    /// The workspace is not one of a run.
    #[error("workspace `{workspace}` is not one of a run, so there is nothing to go on with")]
    NotARun {
        /// The workspace.
        workspace: WorkspaceName,
    },
    /// There is no run.
    #[error("there is no run{} to go on with", of_text(flow.as_ref()))]
    NoRun {
        /// The flow whose run was asked for.
        flow: Option<FlowName>,
    },
    /// The latest run cannot go on, or has nothing to go on with.
    #[error(
        "the latest run{}, {latest}, {why}{}",
        of_text(flow.as_ref()),
        next.as_deref().map_or_else(String::new, |next| format!("; the newest one that can go on is {next}"))
    )]
    LatestRun {
        /// The flow whose run was asked for.
        flow: Option<FlowName>,
        /// The latest run.
        latest: Box<LatestRun>,
        /// What is with it.
        why: String,
        /// The newest one that can go on.
        next: Option<Box<LatestRun>>,
    },
    /// A workspace of a run cannot be read, so that nobody knows whether it is that of the latest one.
    #[error("workspace `{workspace}` cannot be read, and its run may be the latest one: {problem}")]
    LatestUnreadable {
        /// The workspace.
        workspace: WorkspaceName,
        /// What is wrong with it.
        problem: String,
        /// The newest run of those that can be read.
        known: Option<Box<LatestRun>>,
    },
    /// The run that is to go on was another one.
    #[error("the run of `{flow}` in workspace `{workspace}` cannot go on: {what}")]
    OtherRun {
        /// The workspace.
        workspace: WorkspaceName,
        /// The flow that began the run.
        flow: FlowName,
        /// What differs.
        what: &'static str,
    },
    /// A flow tried to run another one that it may not run.
    #[error("flow `{flow}` may not run flow `{name}`: {reason}")]
    NestedFlow {
        /// The running flow.
        flow: FlowName,
        /// The other one.
        name: String,
        /// Why not.
        reason: String,
    },
    /// The permissions file of a flow does not count.
    #[error("the blessing of flow `{flow}` does not count: {source}")]
    Blessing {
        /// The flow.
        flow: FlowName,
        /// Why.
        source: BlessingError,
    },
    /// There is nothing that a blessing could lift.
    #[error("flow `{flow}` writes nothing, so there is nothing to bless")]
    NothingToBless {
        /// The flow.
        flow: FlowName,
    },
    /// A TypeScript source does not build.
    #[error("{}", source.report())]
    Script {
        /// The entry.
        path: PathBuf,
        /// Why.
        source: Box<rote_script::ScriptError>,
    },
    /// A source has no frontmatter.
    #[error("`{}` has no frontmatter", path.display())]
    NoHeader {
        /// The file that should have it.
        path: PathBuf,
    },
    /// The frontmatter of a source does not fit.
    #[error("{place}: {message}")]
    Source {
        /// File and line, or the part.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// A flow cannot be written as sources.
    #[error("flow `{flow}` cannot be written as a program: {reason}")]
    CannotExport {
        /// The flow.
        flow: FlowName,
        /// Why not.
        reason: String,
    },
    /// A workspace has no pending stub.
    #[error("workspace `{workspace}` has no pending flow")]
    NotPending {
        /// The workspace.
        workspace: WorkspaceName,
    },
    /// There is no source.
    #[error("there is no source file `{}`", path.display())]
    NoSource {
        /// The path asked for.
        path: PathBuf,
    },
    /// A core module could not be wrapped as a component.
    #[error("`{}` cannot be made a component: {message}", path.display())]
    Wrap {
        /// The module.
        path: PathBuf,
        /// What the encoder said.
        message: String,
    },
    /// Generated bindings are those of another surface.
    #[error("`{file}` of flow `{flow}` was made for {expected} of adapter `{adapter}`; installed is {installed}")]
    BindingDrift {
        /// The flow.
        flow: FlowName,
        /// The file with the bindings.
        file: String,
        /// The adapter.
        adapter: AdapterId,
        /// The surface that it was made for.
        expected: Fingerprint,
        /// The installed surface.
        installed: Fingerprint,
    },
    /// A source names a tool that its adapter does not have.
    #[error("adapter `{adapter}` has no tool `{tool}`{}", nearest_text(.nearest.as_deref()))]
    NoTool {
        /// The adapter.
        adapter: AdapterId,
        /// The tool asked for.
        tool: String,
        /// A name that is close to it.
        nearest: Option<String>,
    },
    /// A new project would go where something is.
    #[error("folder `{}` is not empty", path.display())]
    FolderTaken {
        /// The folder.
        path: PathBuf,
    },
    /// The flow is not fit to be released.
    #[error("flow `{flow}` cannot be released: {}", problems.join("; "))]
    NotReleasable {
        /// The flow.
        flow: FlowName,
        /// Everything that stands in the way.
        problems: Vec<String>,
    },
    /// Somebody else replaced the file between two steps.
    #[error("flow `{flow}` was changed by somebody else meanwhile; nothing was written")]
    ChangedMeanwhile {
        /// The flow.
        flow: FlowName,
    },
    /// The search index failed.
    #[error("cannot {action} the search index of flows")]
    Index {
        /// What was being done.
        action: &'static str,
        /// Why.
        source: Box<tantivy::TantivyError>,
    },
    /// The analytics of runs failed.
    #[error("cannot {action} in `flow_analytics.db`")]
    Analytics {
        /// What was being done.
        action: &'static str,
        /// Why.
        source: rusqlite::Error,
    },
    /// An adapter changed so that the flow may no longer work.
    #[error("repinning flow `{flow}` may break it: {}", breaking_text(.drifts))]
    RepinBreaking {
        /// The flow.
        flow: FlowName,
        /// What changed.
        drifts: Vec<Drift>,
    },
    /// A tool that the flow uses is not there to be pinned.
    #[error("flow `{flow}` cannot be repinned: `{adapter}` has no tool `{tool}` any more")]
    ToolGone {
        /// The flow.
        flow: FlowName,
        /// The adapter.
        adapter: AdapterId,
        /// The tool.
        tool: String,
    },
    /// What a person agreed to is not what is there now.
    #[error("flow `{flow}` or an adapter of it changed meanwhile")]
    RepinStale {
        /// The flow.
        flow: FlowName,
    },
    /// The workspace has no calls.
    #[error("workspace `{workspace}` has nothing to crystallize: {reason}")]
    NothingToCrystallize {
        /// The workspace.
        workspace: WorkspaceName,
        /// Why there is nothing.
        reason: String,
    },
    /// A step needs a response that is not there to replay from.
    #[error("`{by}` uses response `{response}`, which {reason}")]
    UnusableResponse {
        /// Who needs it.
        by: String,
        /// The response.
        response: ResponseId,
        /// Why it cannot be used, such as `was cleared`.
        reason: String,
    },
    /// A value of the vault would have been kept in the clear.
    #[error(transparent)]
    Known(#[from] SecretError),
    /// The run would need credentials that nobody bound.
    #[error(transparent)]
    Unbound(#[from] UnboundError),
    /// A literal that looks like a secret would have become part of the flow.
    #[error("argument `{pointer}` of `{step}` holds what looks like a secret; a flow never carries one")]
    Secret {
        /// The call, as `@N adapter/tool`.
        step: String,
        /// JSON pointer into its arguments.
        pointer: String,
    },
    /// A literal idempotency key would have become part of the flow.
    #[error(
        "argument `{pointer}` of `{step}` is a key for one write; with `{value}` in each run, only the first one would write"
    )]
    FrozenKey {
        /// The call, as `@N adapter/tool`.
        step: String,
        /// JSON pointer into its arguments.
        pointer: String,
        /// The key that was typed.
        value: String,
    },
    /// A parameter that was asked for cannot be made.
    #[error("cannot make parameter `{name}`: {reason}")]
    ParamSpec {
        /// The parameter.
        name: String,
        /// Why not.
        reason: String,
        /// Argument names that can become parameters.
        arguments: Vec<String>,
    },
    /// The adapter or tool of a recorded call is gone or another one.
    #[error("`{adapter}` changed since the workspace was recorded: {reason}")]
    AdapterChanged {
        /// The adapter.
        adapter: AdapterId,
        /// What changed.
        reason: String,
    },
    /// The flow asked for something that was not recorded.
    #[error("stale: the flow asks for `{}` with {}, which was not recorded", stale.question, stale.arguments)]
    ReplayStale {
        /// The call.
        stale: Box<Stale>,
    },
    /// The flow gave another result than the recorded one.
    #[error("the flow does not replay: what it gives differs from what was recorded")]
    ReplayDiffers {
        /// The recorded result.
        recorded: Box<Value>,
        /// The replayed result.
        replayed: Box<Value>,
    },
    /// The replay ended without a result.
    #[error("the flow does not replay: {source}")]
    ReplayFailed {
        /// Why.
        source: Box<RunError>,
    },
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The component was refused.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file or the journal failed.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// What a person said of a write could not be written down.
    #[error(transparent)]
    Gate(Box<GateError>),
    /// The workspace failed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A query that crystallize needed failed.
    #[error(transparent)]
    Query(#[from] rote_types::QueryError),
    /// An installed adapter cannot be read.
    #[error("cannot read adapter `{adapter}`: {message}")]
    Adapter {
        /// The adapter.
        adapter: AdapterId,
        /// What its own error said.
        message: String,
        /// Its kind.
        kind: ErrorKind,
        /// Its hint.
        hint: Option<String>,
    },
    /// The words of a request are wrong.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
    },
}

impl From<GateError> for FlowError {
    fn from(error: GateError) -> Self {
        Self::Gate(Box::new(error))
    }
}

impl FlowError {
    /// Names the file that an error is about.
    pub(crate) fn of_file(path: &Path, source: impl Into<Self>) -> Self {
        Self::File { path: path.to_owned(), source: Box::new(source.into()) }
    }

    /// Adds to the error of a run why its end could not be written down: how it ended is what a person has to know.
    pub(crate) fn keep(&mut self, written: Result<(), Self>) {
        let (Self::Stopped { unkept, .. } | Self::EndedInDoubt { unkept, .. }, Err(error)) = (self, written) else {
            return;
        };
        unkept.push(rote_types::with_causes(&error));
    }

    /// Wraps an error of the adapter layer.
    pub(crate) fn adapter(adapter: &AdapterId, error: &dyn Classify) -> Self {
        let message = rote_types::with_causes(error);
        Self::Adapter { adapter: adapter.clone(), message, kind: error.kind(), hint: error.hint() }
    }
}
