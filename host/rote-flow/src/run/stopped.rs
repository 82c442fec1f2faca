//! The error of a run that did not end well: what happened, where it is, and the command that goes on.

use rote_runtime::{FlowFailure, LimitKind, RunError};
use rote_types::{Classify, CommandLine, Refusal, ResponseId, command};
use rote_workspace::Workspace;

use super::Running;
use super::in_doubt::LeftInDoubt;
use crate::FlowError;
use crate::error::{Left, RunnerError, Stopped};

/// The error of a run that stopped, with the command that resumes the run. `left` is a write in doubt; `within` says that a run that
/// it started may have been writing.
pub(super) fn stopped(
    running: &Running,
    workspace: &Workspace,
    failure: FlowFailure,
    (left, within): (Option<LeftInDoubt>, bool),
) -> FlowError {
    let FlowFailure { error: source, log, response, .. } = failure;
    // However deep: what goes on is the run that a person started.
    let token = match source.refusal() {
        Some(Refusal::Confirmation { token, .. }) => Some(token),
        _ => None,
    };
    // A resumed run knows its flow and its parameters, so the command needs neither.
    let goes_on = || command("rote run").option("--resume", workspace.name());
    let out_of_time =
        matches!(source.behind(), RunError::Interrupted | RunError::Limit { limit: LimitKind::Total(_), .. });
    let resume = match token {
        Some(token) => {
            let resume = goes_on().option("--confirm", &token).to_string();
            // A request is signed first; a confirm token is enough by itself.
            let is_request = source.details().is_some_and(|details| details.get("approval_id").is_some());
            let allow = command("rote approve allow").argument(&token).note("by a person, with the passphrase");
            Some(if is_request { format!("{allow}\n{resume}") } else { resume })
        }
        None if out_of_time => Some(goes_on().into()),
        None => unanswered(workspace, response)
            .map(|id| {
                let done = goes_on().option("--done", id).plain("--answer JSON");
                done.note("says what it answered, where the flow needs that").into()
            })
            .or_else(|| happened_before(workspace, response?, &goes_on)),
    };
    let left = match left {
        Some(left) => left.of_stopped(workspace, &source, response),
        None if out_of_time && within => Left::Within,
        None => Left::Nothing,
    };
    let source = located(running, source);
    FlowError::Run(RunnerError::Stopped(Stopped {
        flow: running.frontmatter.name.clone(),
        workspace: workspace.name().clone(),
        resume,
        failure: Box::new(source),
        log: log.into_iter().map(|line| line.text).collect(),
        left,
        unkept: Vec::new(),
    }))
}

/// The first write that happened and of which nobody knows what it answered; of a run that a call stopped, that call.
fn unanswered(workspace: &Workspace, stopped_by: Option<ResponseId>) -> Option<ResponseId> {
    let mut made = workspace.ls().ok()?.into_iter().filter(|one| stopped_by.is_none_or(|id| id == one.id));
    made.find(|one| workspace.lacks_answer(one).unwrap_or(false)).map(|one| one.id)
}

/// The commands for a run that was stopped by a refusal (4xx) of what was made in the place of a doubt: that one may have
/// happened after all.
fn happened_before(workspace: &Workspace, refused: ResponseId, goes_on: &dyn Fn() -> CommandLine) -> Option<String> {
    let first = workspace.retried_before(refused).ok()??.id;
    let done = goes_on().option("--done", first).note("it had happened; --answer JSON says what it answered");
    let skip = goes_on().option("--skip", first).note("it did not happen and shall not");
    Some(format!("{done}\n{skip}\n{}", goes_on().note("makes it again")))
}

/// An error that the flow made itself, without a second word that it was the flow; that of a script with its places
/// in the author's own files.
fn located(running: &Running, source: RunError) -> RunError {
    let map = running.map.as_ref().and_then(|map| rote_script::SourceMap::parse(map).ok());
    let translate = |text: String| map.as_ref().map_or_else(|| text.clone(), |map| map.translate_text(&text));
    match source {
        RunError::Guest { kind, message, hint, .. } => {
            RunError::Guest { subject: String::new(), kind, message: translate(message), hint }
        }
        RunError::Because { error, source } => RunError::Because { error: Box::new(located(running, *error)), source },
        RunError::Within(mut within) => {
            within.context = translate(within.context);
            within.error = located(running, within.error);
            RunError::Within(within)
        }
        other => other,
    }
}
