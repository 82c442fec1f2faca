//! Runs of flows.

use std::error::Error;
use std::fmt;

use rote_gate::{Doubt, GateError};
use rote_runtime::{FlowOutcome, RunError};
use rote_types::{AdapterId, Classify, CommandLine, ErrorKind, FlowName, Refusal, WorkspaceName, command};
use rote_workspace::Workspace;
use serde::Serialize;
use serde_json::{Value, json};

use super::text::{asked_text, expected_text, of_text, others_text, problems_text, unkept_text};
use super::told::{Told, classified, of_flow};
use crate::report::{LatestRun, RunReport};
use crate::{FlowError, Frontmatter, OpenQuestion};

/// One thing that is wrong with the parameters of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParameterProblem {
    /// The parameter's name.
    pub name: String,
    /// What is wrong.
    pub problem: String,
}

/// A run that ended without a result.
#[derive(Debug)]
pub struct Stopped {
    pub flow: FlowName,
    /// The workspace of the run, where what happened can be read.
    pub workspace: WorkspaceName,
    /// The command that resumes the run after a confirmation, when there is time again, or with an answer that a person knows.
    pub resume: Option<String>,
    /// Why.
    pub failure: Box<RunError>,
    /// What the flow logged until then.
    pub log: Vec<String>,
    /// What it may have done that nobody knows of.
    pub left: Left,
    /// Why its end could not be written down.
    pub unkept: Vec<String>,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flow, failure, left, unkept, .. } = self;
        write!(f, "flow `{flow}` stopped: {failure}{}{}", left_text(left), unkept_text(unkept))
    }
}

impl Error for Stopped {
    /// The causes of the failure, whose text stands in that of the run: it is not a cause of its own.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.failure.source()
    }
}

impl Stopped {
    fn told(&self) -> Told {
        let Self { flow, workspace, resume, failure, log, left, .. } = self;
        let Left::Doubt { doubt, kind, named: false } = left else {
            let details = json!({ "flow": flow, "workspace": workspace, "cause": failure.details(), "log": log });
            return Told::new(failure.kind())
                .hint(resume.clone().unwrap_or_else(|| goes_on(failure, workspace)))
                // Nobody makes a run anew, with what it has written, because a credential was bound.
                .refusal(failure.refusal().filter(|refusal| !matches!(refusal, Refusal::Unbound(_))))
                .log(log)
                .details(details);
        };
        let ways = if doubt.workspace == *workspace { doubt.ways() } else { doubt.ways_within(workspace) };
        // Whatever else went wrong: the run goes on once a person has said what came of the write.
        let kind = if failure.is_cut_off() { failure.kind() } else { *kind };
        let details =
            json!({ "flow": flow, "workspace": workspace, "doubt": doubt, "cause": failure.details(), "log": log });
        Told::new(kind).hint(ways).log(log).details(details)
    }
}

/// A run that could not begin, or did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// The parameters of a run do not fit.
    #[error("{}; flow `{flow}` takes {}", problems_text(.problems), expected_text(.expected))]
    Parameters {
        flow: FlowName,
        /// What is wrong.
        problems: Vec<ParameterProblem>,
        /// What is expected, one line each.
        expected: Vec<String>,
        /// The schemas of all parameters.
        schema: Box<Value>,
    },
    /// Questions about what it writes are open.
    #[error("flow `{flow}` has open questions about what it writes: {}", asked_text(questions))]
    Undecided {
        flow: FlowName,
        /// What nobody has answered.
        questions: Vec<OpenQuestion>,
    },
    /// A flow tried to call something that it does not pin.
    #[error("flow `{flow}` may not call `{adapter}/{tool}`: its frontmatter does not pin it")]
    NotPinned { flow: FlowName, adapter: AdapterId, tool: String },
    /// The run ended without a result.
    #[error(transparent)]
    Stopped(Stopped),
    /// A run cannot go on before a person says what came of a write of it.
    #[error("{doubt}{}: say what came of it", others_text(*others))]
    Unsettled {
        /// The first one.
        doubt: Box<Doubt>,
        /// How many more there are.
        others: usize,
        /// The run that is to go on, where the write is of one that it started.
        outer: Option<WorkspaceName>,
    },
    /// A run of the same flow cannot be read, so that nobody knows whether a write of it is in doubt.
    #[error("`{workspace}` may be a run of the same flow with a write in doubt, and cannot be read: {problem}")]
    Unreadable {
        workspace: WorkspaceName,
        /// What is wrong with it.
        problem: String,
    },
    /// The flow ended, and nobody knows what came of a write of its run.
    #[error("flow `{flow}` ended, and {doubt}{}: say what came of it{}", others_text(*others), unkept_text(unkept))]
    EndedInDoubt {
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
    /// The flow ended well, and not everything that is kept of a run could be written.
    #[error("flow `{flow}` ended well, and was not written down whole: {unkept}")]
    Unkept {
        flow: FlowName,
        /// The workspace of the run.
        workspace: WorkspaceName,
        /// What the flow returned.
        result: Box<Value>,
        /// What the flow logged.
        log: Vec<String>,
        /// What could not be written, and why.
        unkept: String,
        /// What kind of failure that was.
        kind: ErrorKind,
        /// Its end is not on record: resumed, the run gives its result again and sends nothing.
        unended: bool,
    },
    /// Another process makes the run.
    #[error("the run in workspace `{workspace}` still runs in another process")]
    StillRunning { workspace: WorkspaceName },
    /// Another process makes the same run.
    #[error("the same run of flow `{flow}`, with the same parameters, runs in workspace `{workspace}`")]
    UnderWay {
        flow: FlowName,
        /// The workspace of that run.
        workspace: WorkspaceName,
    },
    /// The workspace is not one of a run.
    #[error("workspace `{workspace}` is not one of a run, so there is nothing to resume")]
    NotARun { workspace: WorkspaceName },
    /// The workspace is a copy of that of a run, which is there.
    #[error("workspace `{workspace}` is a copy of `{original}`, whose run it is that can be resumed")]
    Copied {
        workspace: WorkspaceName,
        /// The workspace that the run has written into.
        original: WorkspaceName,
    },
    /// There is no workspace of that name, so no run.
    #[error("there is no run `{workspace}` to resume")]
    NoSuchRun { workspace: WorkspaceName },
    /// There is no run.
    #[error("there is no run{} to resume", of_text(flow.as_ref()))]
    NoRun {
        /// The flow whose run was asked for.
        flow: Option<FlowName>,
    },
    /// The latest run cannot be resumed, or has nothing to resume.
    #[error(
        "the latest run{}, {latest}, {why}{}",
        of_text(flow.as_ref()),
        next.as_deref().map_or_else(String::new, |next| format!("; the newest one that can be resumed is {next}"))
    )]
    Latest {
        /// The flow whose run was asked for.
        flow: Option<FlowName>,
        /// The latest run.
        latest: Box<LatestRun>,
        /// What is with it.
        why: String,
        /// The newest one that can be resumed.
        next: Option<Box<LatestRun>>,
    },
    /// A workspace of a run cannot be read, so that nobody knows whether it is that of the latest one.
    #[error("workspace `{workspace}` cannot be read, and its run may be the latest one: {problem}")]
    LatestUnreadable {
        workspace: WorkspaceName,
        /// What is wrong with it.
        problem: String,
        /// The newest run of those that can be read.
        known: Option<Box<LatestRun>>,
    },
    /// The run that is to go on was another one.
    #[error("the run of `{flow}` in workspace `{workspace}` cannot be resumed: {what}")]
    OtherRun {
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
}

classified!(RunnerError);

impl RunnerError {
    /// A run that ended well and is on record, without the recording that was asked for.
    pub(crate) fn unkept_of(report: RunReport, error: &FlowError) -> Self {
        Self::Unkept {
            flow: report.flow,
            workspace: report.workspace,
            result: Box::new(report.result),
            log: report.log,
            unkept: rote_types::with_causes(error),
            kind: error.kind(),
            unended: false,
        }
    }

    /// A run that ended well, whose end could not be written down.
    pub(crate) fn unended(
        frontmatter: &Frontmatter,
        workspace: &Workspace,
        outcome: FlowOutcome,
        error: &FlowError,
    ) -> Self {
        Self::Unkept {
            flow: frontmatter.name.clone(),
            workspace: workspace.name().clone(),
            result: Box::new(outcome.result),
            log: outcome.log.into_iter().map(|line| line.text).collect(),
            unkept: rote_types::with_causes(error),
            kind: error.kind(),
            unended: true,
        }
    }

    pub(super) fn told(&self) -> Told {
        match self {
            Self::Parameters { flow, problems, expected, schema } => {
                let details = json!({ "flow": flow, "problems": problems, "parameters": schema });
                Told::new(ErrorKind::Usage).hint(with_parameters(flow, expected)).details(details)
            }
            Self::Undecided { flow, questions } => undecided(flow, questions),
            Self::NotPinned { adapter, tool, .. } => denied("frontmatter.adapters").hint(to_permit(adapter, tool)),
            Self::NestedFlow { flow, .. } => denied("frontmatter.flows").hint(of_flow("rote flow info", flow)),
            Self::Stopped(stopped) => stopped.told(),
            Self::Unsettled { doubt, others, outer } => Told::new(ErrorKind::Conflict)
                .hint(outer.as_ref().map_or_else(|| doubt.ways(), |outer| doubt.ways_within(outer)))
                .details(json!({ "doubt": doubt, "others": others })),
            Self::Unreadable { .. } => Told::new(ErrorKind::Conflict).hint("rote doubts"),
            Self::EndedInDoubt { flow, workspace, doubt, others, kind, result, log, .. } => {
                let own = doubt.workspace == *workspace;
                let details = json!({
                    "flow": flow,
                    "workspace": workspace,
                    "doubt": doubt,
                    "others": others,
                    "result": result,
                    "log": log,
                });
                let ways = if own { doubt.ways() } else { doubt.ways_within(workspace) };
                Told::new(*kind).hint(ways).log(log).details(details)
            }
            Self::Unkept { flow, workspace, result, log, kind, unended, .. } => {
                let details =
                    json!({ "flow": flow, "workspace": workspace, "result": result, "log": log, "ended": true });
                let look = command("rote ls")
                    .option("--workspace", workspace)
                    .note("what it did; begun anew it does that again");
                let resume =
                    command("rote run").option("--resume", workspace).note("gives the result again, and sends nothing");
                Told::new(*kind).hint(if *unended { resume } else { look }).log(log).details(details)
            }
            Self::StillRunning { workspace } => {
                Told::new(ErrorKind::Conflict).hint(command("rote ls").option("--workspace", workspace))
            }
            Self::UnderWay { flow, workspace } => under_way(flow, workspace),
            Self::Copied { original, .. } => {
                Told::new(ErrorKind::Conflict).hint(command("rote run").option("--resume", original))
            }
            Self::NotARun { .. } => Told::new(ErrorKind::Conflict).hint("rote run <flow>"),
            Self::NoSuchRun { .. } => {
                Told::new(ErrorKind::NotFound).hint(command("rote ls --all").note("names the workspaces of runs"))
            }
            Self::NoRun { flow: Some(flow) } => Told::new(ErrorKind::NotFound).hint(of_flow("rote run", flow)),
            Self::NoRun { flow: None } => Told::new(ErrorKind::NotFound).hint("rote flow list"),
            Self::Latest { latest, next, .. } => {
                let run = next.as_deref().map_or_else(
                    || of_flow("rote run", &latest.flow),
                    |next| command("rote run").option("--resume", &next.workspace),
                );
                Told::new(ErrorKind::Conflict).hint(run).details(json!({ "latest": latest, "next": next }))
            }
            Self::LatestUnreadable { known: Some(known), .. } => {
                let resume = command("rote run").option("--resume", &known.workspace);
                Told::new(ErrorKind::Conflict).hint(resume.note("the newest one that can be read"))
            }
            Self::LatestUnreadable { known: None, .. } => Told::new(ErrorKind::Conflict).hint("rote ls --all"),
            Self::OtherRun { flow, .. } => Told::new(ErrorKind::Conflict).hint(of_flow("rote flow info", flow)),
        }
    }
}

/// The run with the names of its parameters.
fn with_parameters(flow: &FlowName, expected: &[String]) -> CommandLine {
    let names = expected.iter().filter_map(|line| line.split([' ', '`']).find(|word| !word.is_empty()));
    names.fold(of_flow("rote run", flow), CommandLine::blank)
}

/// What an author does so that a flow may call a tool.
fn to_permit(adapter: &AdapterId, tool: &str) -> String {
    let line = match tool {
        "*" => format!("name adapter `{adapter}` with its `tools`"),
        tool => format!("add `{tool}` to the `tools` of adapter `{adapter}`"),
    };
    format!("{line} in the frontmatter of its source, and build it again")
}

/// What a stopped run may have done that nobody knows of.
#[derive(Debug)]
#[non_exhaustive]
pub enum Left {
    Nothing,
    /// A write, its own or of a run that it started.
    Doubt {
        /// The write.
        doubt: Box<Doubt>,
        /// The kind of the failure of its call.
        kind: ErrorKind,
        /// What stopped the run is that failure, and says so.
        named: bool,
    },
    /// It was cut off from outside while a run that it started was writing.
    Within,
}

/// What is said of it behind what stopped the run.
fn left_text(left: &Left) -> String {
    match left {
        Left::Nothing | Left::Doubt { named: true, .. } => String::new(),
        Left::Doubt { doubt, .. } => format!("; {doubt}"),
        Left::Within => "; a write of a run that it started may have happened: rote doubts".to_owned(),
    }
}

/// A refusal by a rule of the frontmatter.
fn undecided(flow: &FlowName, questions: &[OpenQuestion]) -> Told {
    let answer = of_flow("rote flow answer", flow);
    let answer = questions.iter().fold(answer, |answer, one| answer.blank(&one.id));
    let answer = answer.note(
        "`rote flow review` shows the answers; a flow of an edited source is answered by taking the question out of \
         `questions` in its header; `rote run --anyway` runs it as it is",
    );
    Told::new(ErrorKind::Conflict).hint(answer).details(json!({ "flow": flow, "questions": questions }))
}

fn under_way(flow: &FlowName, workspace: &WorkspaceName) -> Told {
    let look = command("rote ls").option("--workspace", workspace).note("what it has done so far");
    let another = of_flow("rote run", flow).plain("…").flag("--another").note("begins another one beside it");
    let details = json!({ "flow": flow, "workspace": workspace });
    Told::new(ErrorKind::Conflict).hint(format!("{look}\n{another}")).details(details)
}

fn denied(rule: &str) -> Told {
    Told::new(ErrorKind::Denied).details(json!({ "rule": rule })).refusal(Some(Refusal::Rule(rule.to_owned())))
}

/// The command after a run that stopped: with a higher bound where it reached one, else that of what stopped it.
fn goes_on(source: &RunError, workspace: &WorkspaceName) -> String {
    let resume = || command("rote run").option("--resume", workspace);
    let raising = match source.refusal() {
        Some(Refusal::Bound { option }) => option,
        _ => None,
    };
    match (raising, source.hint()) {
        // Before the hint of a nested run, which is about its own workspace.
        (Some(option), _) => resume().flag(option).plain("<more>").into(),
        (None, Some(hint)) => match answered(source) {
            None => hint,
            Some(error) => {
                // What the flow itself suggests comes first; of the gate's own, `@N` is a response of the run.
                let own = error.hint().filter(|gates| *gates != hint).map(|_| hint);
                let again = resume().note("makes the call again, and asks first where it may have happened");
                let lines = [own, error.hint_in(workspace), Some(again.into())];
                lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
            }
        },
        // What was away may be back.
        (None, None) if source.kind() == ErrorKind::Upstream => resume().into(),
        (None, None) => command("rote ls").option("--workspace", workspace).into(),
    }
}

/// The gate's error about an answer of the run's own.
fn answered(source: &RunError) -> Option<&GateError> {
    match source.behind() {
        RunError::Gate(error) if error.recorded().is_some() => Some(error),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rote_types::with_causes;

    use super::*;
    use crate::error::ReplayError;

    fn guest(message: &str) -> RunError {
        let (subject, message) = (String::new(), message.to_owned());
        RunError::Guest { subject, kind: ErrorKind::General, message, hint: None }
    }

    /// The flow's own words about an error of the host: whatever they repeat of it, nothing is left out by comparing texts.
    fn reworded(words: &str) -> RunError {
        RunError::Because { error: Box::new(guest(words)), source: Box::new(guest("the server is away")) }
    }

    #[test]
    fn a_stopped_run_tells_its_failure_once_and_each_cause_of_that() -> Result<(), Box<dyn Error>> {
        for words in ["sync failed", "sync failed: the server is away"] {
            let stopped = RunnerError::Stopped(Stopped {
                flow: "sync".parse()?,
                workspace: "run-1".parse()?,
                resume: None,
                failure: Box::new(reworded(words)),
                log: Vec::new(),
                left: Left::Nothing,
                unkept: Vec::new(),
            });
            assert_eq!(with_causes(&stopped), format!("flow `sync` stopped: {words}: the server is away"));
        }
        let replayed = ReplayError::failed(reworded("sync failed"));
        assert_eq!(with_causes(&replayed), "the flow does not replay: sync failed: the server is away");
        Ok(())
    }
}
