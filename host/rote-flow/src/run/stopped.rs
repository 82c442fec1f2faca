//! The error of a run that did not end well: what happened, where it is, and the command that goes on.

use rote_gate::{Doubt, GateError};
use rote_runtime::{FlowFailure, LimitKind, RunError};
use rote_types::{ErrorKind, command};
use rote_workspace::Workspace;
use serde_json::Value;

use super::Running;
use crate::FlowError;
use crate::error::RunnerError;

/// What a stopped run may have done.
pub(super) struct Left {
    /// A write in doubt.
    pub(super) doubt: Option<Doubt>,
    /// A run that it started may have been writing.
    pub(super) within: bool,
}

/// The error of a run that stopped, with the command that goes on.
pub(super) fn stopped(running: &Running, workspace: &Workspace, failure: FlowFailure, left: Left) -> FlowError {
    let FlowFailure { error: source, log, .. } = failure;
    let token = match &source {
        RunError::Gate(error) => match &**error {
            GateError::ConfirmationNeeded { token, .. } => Some(token.clone()),
            _ => None,
        },
        RunError::Nested { kind: ErrorKind::ConfirmationNeeded, details: Some(details), .. } => nested_token(details),
        _ => None,
    };
    // A resumed run knows its flow and its parameters, so the command needs neither.
    let goes_on = || command("rote run").option("--resume", workspace.name());
    let out_of_time = matches!(source, RunError::Interrupted | RunError::Limit { limit: LimitKind::Total(_), .. });
    let resume = match token {
        Some(token) => Some(goes_on().option("--confirm", token).into()),
        None => out_of_time.then(|| goes_on().into()),
    };
    let source = located(running, source);
    FlowError::Run(RunnerError::Stopped {
        flow: running.frontmatter.name.clone(),
        workspace: workspace.name().clone(),
        resume,
        source: Box::new(source),
        log: log.into_iter().map(|line| line.text).collect(),
        // Any other end of a write names itself.
        cut_off: out_of_time && (left.within || left.doubt.is_some()),
        doubt: left.doubt.map(Box::new),
        unkept: Vec::new(),
    })
}

/// The token of a write that waits in a nested run: what goes on is the run that a person started.
fn nested_token(details: &Value) -> Option<String> {
    let mut cause = details;
    while let Some(inner) = cause.get("cause") {
        cause = inner;
    }
    cause.get("confirm_token")?.as_str().map(ToOwned::to_owned)
}

/// An error that the flow made itself, without a second word that it was the flow; that of a script with its places
/// in the author's own files.
fn located(running: &Running, source: RunError) -> RunError {
    let RunError::Guest { kind, message, hint, details, .. } = source else { return source };
    let map = running.map.as_ref().and_then(|map| rote_script::SourceMap::parse(map).ok());
    let message = map.map_or_else(|| message.clone(), |map| map.translate_text(&message));
    RunError::Guest { subject: String::new(), kind, message, hint, details }
}
