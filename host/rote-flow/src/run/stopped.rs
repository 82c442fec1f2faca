//! The error of a run that did not end well: what happened, where it is, and the command that goes on.

use rote_gate::GateError;
use rote_runtime::RunError;
use rote_workspace::Workspace;

use crate::package::Content;
use crate::{FlowError, Package};

/// The error of a run that stopped, with the command that goes on.
pub(super) fn stopped(package: &Package, workspace: &Workspace, source: RunError) -> FlowError {
    let token = match &source {
        RunError::Gate(error) => match &**error {
            GateError::ConfirmationNeeded { token, .. } => Some(token.clone()),
            _ => None,
        },
        _ => None,
    };
    // A resumed run knows its flow and its parameters, so the command needs neither.
    let resume = token.map(|token| format!("rote run --resume {} --confirm {token}", workspace.name()));
    let source = located(package, source);
    FlowError::Stopped {
        flow: package.frontmatter.name.clone(),
        workspace: workspace.name().clone(),
        resume,
        source: Box::new(source),
    }
}

/// An error that the flow made itself, without a second word that it was the flow; that of a script with its places
/// in the author's own files.
fn located(package: &Package, source: RunError) -> RunError {
    let RunError::Guest { kind, message, hint, .. } = source else { return source };
    let map = match &package.content {
        Content::Script { map, .. } => rote_script::SourceMap::parse(map).ok(),
        _ => None,
    };
    let message = map.map_or_else(|| message.clone(), |map| map.translate_text(&message));
    RunError::Guest { subject: String::new(), kind, message, hint }
}
