//! What a person asks for when a flow is made of a workspace.

use std::collections::BTreeMap;
use std::str::FromStr;

use rote_types::{FlowName, IdError, ResponseId, WorkspaceName};

/// What to make a flow from.
#[derive(Debug, Clone, PartialEq)]
pub struct CrystallizeRequest {
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
    /// Answers by the id of their question.
    pub answers: BTreeMap<String, String>,
}

impl CrystallizeRequest {
    /// Asks for a flow with nothing said about it.
    #[must_use]
    pub fn new(workspace: WorkspaceName, name: FlowName) -> Self {
        Self {
            workspace,
            name,
            description: None,
            params: Vec::new(),
            result: None,
            skip: Vec::new(),
            model: None,
            tags: Vec::new(),
            force: false,
            answers: BTreeMap::new(),
        }
    }
}

/// A chosen result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultSpec {
    /// The response.
    pub response: ResponseId,
    /// The jq program on it.
    pub jq: String,
}

impl FromStr for ResultSpec {
    type Err = IdError;

    /// Reads `@3` or `@3{.jq}`.
    fn from_str(text: &str) -> Result<Self, IdError> {
        let (id, jq) = match text.strip_suffix('}').and_then(|text| text.split_once('{')) {
            Some((id, jq)) => (id, jq),
            None => (text, "."),
        };
        Ok(Self { response: id.parse()?, jq: jq.to_owned() })
    }
}

/// A parameter that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamSpec {
    /// Its name.
    pub name: String,
    /// The recorded value that it stands for; without one, the argument of that name is meant.
    pub value: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_a_response_and_perhaps_a_program() {
        let spec = |response, jq: &str| ResultSpec { response: ResponseId(response), jq: jq.to_owned() };
        assert_eq!("@3".parse(), Ok(spec(3, ".")));
        assert_eq!("@3{.a | {b}}".parse(), Ok(spec(3, ".a | {b}")));
        assert!("3".parse::<ResultSpec>().is_err());
    }
}
