//! Runs within runs: a composite flow starts flows that it pins by digest, each in a workspace of its own.
//!
//! Invariant: a nested run has no budget and no blessing of its own. It spends the budget of the run that a person
//! started, and a blessing lifts its writes only when that run's flow was blessed together with this one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rote_gate::Doubt;
use rote_govern::Blessing;
use rote_runtime::{Budget, NoObserver, RunError, Used};
use rote_types::{FlowName, MAX_NESTING, ResponseId, Sha256Digest, WorkspaceIdentity, WorkspaceName};
use rote_workspace::{CommandKind, ResponseState, ResponseSummary, Settled, Workspace};
use serde_json::Value;

use super::begin::Despite;
use super::earlier::{self, Earlier};
use super::{RunContext, RunRequest, Runner, in_doubt};
use crate::error::{Left, RunnerError, Stopped};
use crate::tape::FileTape;
use crate::{FlowError, FlowReference, FlowStatus, Package, ParameterInput, parameter};

/// What a nested run has from the one that started it.
pub(crate) struct Inherited {
    pub(super) depth: u32,
    pub(super) budget: Arc<Budget>,
    /// The blessing of the flow that a person started.
    pub(super) blessing: Option<Arc<Blessing>>,
    /// The workspace of that run.
    pub(super) root: WorkspaceIdentity,
    /// What the run used before is in the budget already.
    pub(super) counted: bool,
}

/// What a run needs to start others.
pub(crate) struct Nested {
    runner: Runner,
    context: RunContext,
    depth: u32,
    tape: Arc<FileTape>,
    earlier: Earlier,
    /// What this run and those that it started used before is in the budget.
    counted: bool,
    /// Flows that were begun and have a write in doubt, with their parameters.
    in_doubt: Mutex<BTreeMap<Begun, WorkspaceName>>,
}

/// What becomes of a nested run of an earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// Its end is told again.
    Again,
    /// It goes on, if anything begins it again.
    GoesOn,
}

/// A nested flow as it is compared: its name and the digest of its parameters.
type Begun = (String, Sha256Digest);

fn begun(name: &str, parameters: &Value) -> Begun {
    (name.to_owned(), parameter::digest(parameters))
}

impl Nested {
    pub(crate) fn new(
        runner: Runner,
        context: RunContext,
        depth: u32,
        (tape, earlier, counted): (Arc<FileTape>, Earlier, bool),
    ) -> Self {
        Self { runner, context, depth, tape, earlier, counted, in_doubt: Mutex::default() }
    }

    /// Makes the workspace of a nested run; nothing runs yet.
    pub(crate) fn begin(&self, name: &str, parameters: &Value) -> Result<String, RunError> {
        self.try_begin(name, parameters).map_err(|error| RunError::nested(&error))
    }

    fn try_begin(&self, name: &str, parameters: &Value) -> Result<String, FlowError> {
        let (reference, _) = self.pinned(name)?;
        if let Some(workspace) = self.in_doubt().get(&begun(name, parameters)) {
            return Err(self.refused(name, format!("a write of its run in `{workspace}` is in doubt")));
        }
        let input = input(parameters)?;
        if let Some(workspace) = self.begun_before(&reference, &input)? {
            return Ok(workspace);
        }
        let begun = self.runner.begin_new(&reference, &input, Some(&self.context), Despite::default())?;
        self.check_digest(name, &begun.package)?;
        Ok(begun.workspace.name().to_string())
    }

    /// Takes the run of the same flow with the same parameters that an earlier attempt began: it is gone on with, since
    /// begun anew it would write what it has written.
    fn begun_before(&self, flow: &FlowReference, input: &ParameterInput) -> Result<Option<String>, FlowError> {
        if !self.tape.has_runs() {
            return Ok(None);
        }
        let (package, parameters) = self.runner.preflight(flow, input)?;
        let wanted = parameter::digest(&parameters);
        let fits = |run: &str| {
            earlier::open(&self.runner.library().home, run).is_some_and(|(_, recorded)| {
                let header = &recorded.header;
                header.sha256 == package.digest()
                    && parameter::digest(&header.parameters) == wanted
                    && header.parent.as_ref() == Some(self.context.workspace.name())
            })
        };
        Ok(self.tape.take_run(fits))
    }

    /// Returns the flow of that name when the running flow pins it and it is still that one, and released.
    fn pinned(&self, name: &str) -> Result<(FlowReference, Package), FlowError> {
        let named: FlowName = name.parse().map_err(|_| self.refused(name, "that is not a flow's name".to_owned()))?;
        if !self.context.frontmatter.flows.contains_key(&named) {
            return Err(self.refused(name, "its frontmatter does not pin it".to_owned()));
        }
        let reference = FlowReference::Name(named);
        let (_, package) = self.runner.library().load(&reference)?;
        self.check_digest(name, &package)?;
        if package.frontmatter.status != FlowStatus::Released {
            return Err(self.refused(name, "it is not released".to_owned()));
        }
        Ok((reference, package))
    }

    /// Holds a package that was read against the pin. Each reading is checked: the file may be replaced in between.
    fn check_digest(&self, name: &str, package: &Package) -> Result<(), FlowError> {
        match self.context.frontmatter.flows.get(&package.frontmatter.name) {
            Some(pin) if pin.sha256 == package.digest() => Ok(()),
            Some(pin) => Err(self.refused(name, format!("it pins version {} of another digest", pin.version))),
            None => Err(self.refused(name, "its frontmatter does not pin it".to_owned())),
        }
    }

    fn refused(&self, name: &str, reason: String) -> FlowError {
        FlowError::Run(RunnerError::NestedFlow {
            flow: self.context.frontmatter.name.clone(),
            name: name.to_owned(),
            reason,
        })
    }

    /// Runs a flow whose workspace was made, or goes on with it there.
    pub(crate) async fn finish(&self, workspace: &str, name: &str, parameters: &Value) -> Result<Value, RunError> {
        let result = Box::pin(self.try_finish(workspace, name, parameters)).await;
        result.map_err(|error| self.failed(workspace, begun(name, parameters), &error))
    }

    /// The failure of a nested run. What its flow left in doubt is settled in its own workspace; then the outer run
    /// goes on, and must not begin the same anew before.
    fn failed(&self, workspace: &str, begun: Begun, error: &FlowError) -> RunError {
        let told = RunError::nested(error);
        let doubt = match error {
            FlowError::Run(
                RunnerError::Unsettled { doubt, .. }
                | RunnerError::EndedInDoubt { doubt, .. }
                // However deep: it may be of a run that the nested one started.
                | RunnerError::Stopped(Stopped { left: Left::Doubt { doubt, .. }, .. }),
            ) => Some(Doubt::clone(doubt)),
            // Its guest may have put words of its own around what it was told.
            _ => self.doubt_in(workspace),
        };
        let Some(doubt) = doubt else {
            // A flow that tries again resumes what has written, which begun anew would write that twice. What has only read
            // reads anew: it may wait for something to change.
            if self.has_written(workspace) {
                self.tape.leave(workspace);
            }
            return told;
        };
        self.in_doubt().insert(begun, doubt.workspace.clone());
        match told {
            RunError::Nested { kind, message, details, refusal, .. } => {
                let hint = Some(doubt.ways_within(self.context.workspace.name()));
                RunError::Nested { kind, message, hint, details, refusal, names_doubt: true }
            }
            other => other,
        }
    }

    /// Whether a nested run has written something; so it has where that cannot be found out.
    fn has_written(&self, run: &str) -> bool {
        earlier::open(&self.runner.library().home, run)
            .is_none_or(|(workspace, _)| in_doubt::has_written(&workspace).unwrap_or(true))
    }

    /// The first write in doubt of all nested runs.
    pub(crate) fn open_doubt(&self) -> Option<Doubt> {
        let workspaces: Vec<WorkspaceName> = self.in_doubt().values().cloned().collect();
        workspaces.iter().find_map(|workspace| self.doubt_in(workspace.as_str()))
    }

    /// The first write in doubt of a nested run.
    fn doubt_in(&self, workspace: &str) -> Option<Doubt> {
        let workspace = Workspace::open(&self.runner.library().home, &workspace_name(workspace).ok()?).ok()?;
        let known = workspace.doubts(1).ok()?.pop()?;
        self.runner.doubt(&workspace, &known).ok()
    }

    fn in_doubt(&self) -> MutexGuard<'_, BTreeMap<Begun, WorkspaceName>> {
        self.in_doubt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn try_finish(&self, workspace: &str, name: &str, parameters: &Value) -> Result<Value, FlowError> {
        let (reference, _) = self.pinned(name)?;
        let workspace = workspace_name(workspace)?;
        let request = RunRequest {
            flow: Some(reference.clone()),
            parameters: input(parameters)?,
            resume: Some(workspace.clone()),
            settle: Vec::new(),
            said: None,
            confirm: self.context.confirm.clone(),
            limits: *self.context.budget.limits(),
            record: None,
            anyway: false,
            another: false,
        };
        let begun = self.runner.go_on(&workspace, Some(&reference), &request)?;
        self.check_digest(name, &begun.package)?;
        let inherited = Inherited {
            depth: self.depth + 1,
            budget: Arc::clone(&self.context.budget),
            blessing: self.blessing_of(&begun.package),
            root: self.context.root.clone(),
            counted: self.counted || self.earlier.contains(workspace.as_str()),
        };
        let report = self.runner.execute(&request, begun, Arc::new(NoObserver), Some(inherited)).await?;
        Ok(report.result)
    }

    /// The part of the blessing that is for a nested flow.
    fn blessing_of(&self, package: &Package) -> Option<Arc<Blessing>> {
        self.context.blessing.as_ref().map(|blessing| Arc::new(blessing.of_flow(package.digest())))
    }

    /// Counts what this run did in its workspace before it was stopped or killed: a run that goes on has what is
    /// left. Its calls count when it makes them again, and so do the writes that it `offered` to repeat.
    pub(crate) fn note_earlier(&self, offered: &BTreeSet<ResponseId>) -> Result<(), FlowError> {
        let used = self.used(&self.context.workspace, offered)?;
        self.context.budget.note(Used { calls: 0, ..used });
        let Earlier { left, ended } = &self.earlier;
        ended.iter().try_for_each(|run| self.note_run(run, Told::Again))?;
        left.iter().try_for_each(|run| self.note_run(run, Told::GoesOn))
    }

    /// Counts what a nested run used of an earlier attempt, and those that it started.
    fn note_run(&self, run: &str, told: Told) -> Result<(), FlowError> {
        // One that was cleaned away cannot go on.
        let Some((workspace, recorded)) = earlier::open(&self.runner.library().home, run) else { return Ok(()) };
        let (flow, nested) = (recorded.header.flow.clone(), recorded.nested());
        // A run that goes on makes its calls again, and the writes in doubt that carry a key.
        let offered = if told == Told::GoesOn { self.runner.offered(&workspace, recorded)? } else { BTreeSet::new() };
        let note = |used: Used| {
            let calls = if told == Told::GoesOn { 0 } else { used.calls };
            self.context.budget.note(Used { calls, ..used });
        };
        // Of one whose flow is another one by now, what is left is counted.
        let Ok((_, package)) = self.pinned(flow.as_str()) else {
            note(self.used(&workspace, &offered)?);
            return Ok(());
        };
        let context = RunContext {
            blessing: self.blessing_of(&package),
            frontmatter: Arc::new(package.frontmatter),
            workspace: Arc::new(workspace),
            ..self.context.clone()
        };
        let made_of = (Arc::clone(&self.tape), Earlier::default(), true);
        let inner = Self::new(self.runner.clone(), context, self.depth + 1, made_of);
        note(inner.used(&inner.context.workspace, &offered)?);
        if inner.depth > MAX_NESTING {
            return Ok(());
        }
        nested.iter().try_for_each(|run| {
            // A run is a call too; those that this one started spend it when they are asked for again.
            note(Used { calls: 1, ..Used::default() });
            inner.note_run(run, told)
        })
    }

    /// What the calls in a workspace used; the writes among them are taken off the blessing.
    fn used(&self, workspace: &Workspace, offered: &BTreeSet<ResponseId>) -> Result<Used, FlowError> {
        let folder = Path::new(workspace.folder());
        // Responses are counted by their own sizes.
        let (kept_bytes, _) = rote_home::tree_bytes(folder, |path| !path.ends_with("responses"))?;
        let mut used = Used { kept_bytes, ..Used::default() };
        for command in workspace.commands()?.into_iter().filter(|command| command.kind == CommandKind::Call) {
            used.calls = used.calls.saturating_add(1);
            let (mut made, mut writes) = (false, false);
            for response in &command.response_ids {
                let summary = workspace.summary(*response)?;
                used.response_bytes = used.response_bytes.saturating_add(summary.bytes);
                writes |= summary.writes;
                made |= !offered.contains(response) && is_spent(&summary);
            }
            if !made || !writes {
                continue;
            }
            used.writes = used.writes.saturating_add(1);
            if let (Some(blessing), Some(adapter), Some(tool)) =
                (&self.context.blessing, &command.adapter, &command.tool)
            {
                blessing.spend(adapter, tool, &command.arguments);
            }
        }
        Ok(used)
    }
}

/// Whether a call counts as made. What was refused before it was sent changed nothing; a write that is made again counts
/// as the one that takes its place, and one that was left out did not happen.
fn is_spent(made: &ResponseSummary) -> bool {
    match made.settled {
        Some(Settled::Retried | Settled::Skipped) => false,
        Some(Settled::Done) => true,
        None => made.status.is_some() || made.state == ResponseState::InDoubt,
    }
}

fn workspace_name(text: &str) -> Result<WorkspaceName, FlowError> {
    WorkspaceName::try_from(text.to_owned()).map_err(|error| FlowError::Usage { message: error.to_string() })
}

fn input(parameters: &Value) -> Result<ParameterInput, FlowError> {
    match parameters {
        Value::Object(members) => Ok(ParameterInput::Json(members.clone())),
        _ => Err(FlowError::Usage { message: "the parameters of a flow are an object".to_owned() }),
    }
}
