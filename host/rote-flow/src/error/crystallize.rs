//! A workspace that cannot become a flow.

use rote_types::{AdapterId, ErrorKind, FlowName, ResponseId, WorkspaceName, command};
use serde_json::json;

use super::told::{Told, classified, of_flow};

/// A workspace that cannot become a flow.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrystallizeError {
    /// What is to become a flow has a write whose outcome nobody knows.
    #[error(
        "`{response}` (`{adapter}/{tool}`) of workspace `{workspace}` was sent and nobody knows what came of it: it may have happened"
    )]
    InDoubt {
        workspace: WorkspaceName,
        /// The response number.
        response: ResponseId,
        adapter: AdapterId,
        tool: String,
    },
    /// The workspace has no calls.
    #[error("workspace `{workspace}` has nothing to crystallize: {reason}")]
    NothingToCrystallize {
        workspace: WorkspaceName,
        /// Why there is nothing.
        reason: String,
    },
    /// A step needs a response that is not there to replay from.
    #[error("`{by}` uses response `{response}`, which {reason}")]
    UnusableResponse {
        /// Who needs it.
        by: String,
        response: ResponseId,
        /// Why it cannot be used, such as `was cleared`.
        reason: String,
    },
    /// A call that the flow needs was made with headers of its own.
    #[error("`{call}` was called with the header `{headers}`, and the calls of a flow have no headers of their own")]
    Headers {
        /// The response number.
        response: ResponseId,
        /// The call, as `@N adapter/tool`.
        call: String,
        /// The names.
        headers: String,
    },
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
    /// A flow has nothing to answer, or cannot be made again.
    #[error("the questions of flow `{flow}` cannot be answered: {reason}")]
    NotAnswerable {
        flow: FlowName,
        /// It is a release, and no draft that can be made anew.
        released: bool,
        /// Why not.
        reason: String,
    },
    /// The adapter or tool of a recorded call is gone or another one.
    #[error("`{adapter}` changed since the workspace was recorded: {reason}")]
    AdapterChanged {
        adapter: AdapterId,
        /// What changed.
        reason: String,
    },
}

classified!(CrystallizeError);

impl CrystallizeError {
    pub(super) fn told(&self) -> Told {
        match self {
            Self::InDoubt { .. } => Told::new(ErrorKind::Conflict).hint("rote doubts"),
            Self::NothingToCrystallize { workspace, .. } => Told::new(ErrorKind::Conflict)
                .hint(command("rote call <adapter> <tool>").option("--workspace", workspace)),
            Self::Headers { response, .. } => Told::new(ErrorKind::Conflict)
                .hint(command("rote flow template create --name NAME").option("--skip", response)),
            Self::UnusableResponse { .. } | Self::AdapterChanged { .. } => Told::new(ErrorKind::Conflict),
            Self::NotAnswerable { flow, released: true, .. } => {
                Told::new(ErrorKind::Conflict).hint(of_flow("rote flow review", flow))
            }
            Self::NotAnswerable { flow, .. } => Told::new(ErrorKind::Conflict)
                .hint(command("rote flow template create").option("--name", flow).plain("--force")),
            Self::Secret { step, pointer } => {
                let name = pointer.rsplit('/').next().unwrap_or_default();
                // Many a pair has a member of this name: the place says which.
                let param = if name.eq_ignore_ascii_case("value") {
                    format!("secret@{}:{pointer}", step.split(' ').next().unwrap_or_default())
                } else {
                    name.to_owned()
                };
                Told::new(ErrorKind::Denied)
                    .hint(command("rote flow template create --name NAME").option("--param", param))
            }
            Self::FrozenKey { value, .. } => Told::new(ErrorKind::Usage)
                .hint(command("rote flow template create --name NAME").option("--param", format!("key={value}"))),
            Self::ParamSpec { name, arguments, .. } => {
                Told::new(ErrorKind::Usage).details(json!({ "parameter": name, "arguments": arguments }))
            }
        }
    }
}
