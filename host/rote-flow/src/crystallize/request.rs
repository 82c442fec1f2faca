//! What a person asks for when a flow is made of a workspace.

use rote_types::{FlowName, ResponseId, WorkspaceName};

/// What to make a flow from.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The recorded workspace.
    pub workspace: WorkspaceName,
    /// The flow's name.
    pub name: FlowName,
    /// What it does; a sentence made from its steps when absent.
    pub description: Option<String>,
    /// Parameters beside those that hand-set variables make.
    pub params: Vec<ParamSpec>,
    /// The result, when it is not the last query or response.
    pub result: Option<ResultSpec>,
    /// Calls to leave out, whatever the rules say.
    pub skip: Vec<ResponseId>,
    /// The model that explored, for the provenance.
    pub model: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Replaces an existing draft.
    pub force: bool,
}

/// A chosen result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultSpec {
    /// The response.
    pub response: ResponseId,
    /// The jq program on it.
    pub jq: String,
}

/// A parameter that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamSpec {
    /// Its name.
    pub name: String,
    /// The recorded value that it stands for; without one, the argument of that name is meant.
    pub value: Option<String>,
}
