//! Conditions over recorded responses: each is a question with yes or no as the answer.

use rote_types::ResponseId;
use rote_workspace::{Ask, Comparison, JsonType};

use crate::{AppError, Session};

/// A question about the workspace in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The response is an error.
    IsError(ResponseId),
    /// The response says that the credential was refused.
    IsAuthError(ResponseId),
    /// At least one is a refused credential.
    AnyAuthError(Vec<ResponseId>),
    /// At least one is an error.
    AnyError(Vec<ResponseId>),
    /// None is an error.
    AllSuccess(Vec<ResponseId>),
    /// The program gives something other than null or nothing.
    Exists(ResponseId, String),
    /// The program gives nothing, null, or something empty.
    IsEmpty(ResponseId, String),
    /// The program's value compares so with the wanted one.
    Compare(ResponseId, String, Comparison, String),
    /// The program's value has that type.
    IsType(ResponseId, String, JsonType),
    /// The program's values differ between the two responses.
    Changed(ResponseId, ResponseId, String),
    /// Every program gives a true value.
    Expect(ResponseId, Vec<String>),
    /// The workspace has a session with that endpoint.
    HasSession(String),
    /// The variable is set.
    HasVariable(String),
}

impl Session {
    /// Answers a condition.
    ///
    /// # Errors
    /// `NotFound` for a response that is not there, Usage for a program that does not parse. A condition that
    /// is false is not an error.
    pub fn holds(&self, condition: &Condition) -> Result<bool, AppError> {
        let workspace = self.workspace()?;
        let held = self.answer(condition)?;
        if let Some(ask) = asked(condition, held) {
            workspace.log_ask(&ask, self.host.now())?;
        }
        Ok(held)
    }

    fn answer(&self, condition: &Condition) -> Result<bool, AppError> {
        let workspace = self.workspace()?;
        Ok(match condition {
            Condition::IsError(id) => workspace.is_error(*id)?,
            Condition::IsAuthError(id) => workspace.is_auth_error(*id)?,
            Condition::AnyAuthError(ids) => workspace.any_auth_error(ids)?,
            Condition::AnyError(ids) => workspace.any_error(ids)?,
            Condition::AllSuccess(ids) => workspace.all_success(ids)?,
            Condition::Exists(id, program) => workspace.exists(&*self.host.jq()?, *id, program)?,
            Condition::IsEmpty(id, program) => workspace.is_empty(&*self.host.jq()?, *id, program)?,
            Condition::Compare(id, program, comparison, wanted) => {
                workspace.compare(&*self.host.jq()?, *id, program, *comparison, wanted)?
            }
            Condition::IsType(id, program, wanted) => workspace.is_type(&*self.host.jq()?, *id, program, *wanted)?,
            Condition::Changed(a, b, program) => workspace.changed(&*self.host.jq()?, *a, *b, program)?,
            Condition::Expect(id, programs) => workspace.expect(&*self.host.jq()?, *id, programs)?,
            Condition::HasSession(endpoint) => workspace.has_session(endpoint)?,
            Condition::HasVariable(name) => workspace.has_var(name)?,
        })
    }
}

/// What is logged of a condition: what was asked of the contents of one answer.
fn asked(condition: &Condition, held: bool) -> Option<Ask> {
    let ask = |name: &str, id: ResponseId, programs: &[String]| Ask {
        condition: name.to_owned(),
        response: id,
        programs: programs.to_vec(),
        comparison: None,
        wanted: None,
        held,
    };
    Some(match condition {
        Condition::Exists(id, program) => ask("exists", *id, std::slice::from_ref(program)),
        Condition::IsEmpty(id, program) => ask("is-empty", *id, std::slice::from_ref(program)),
        Condition::Compare(id, program, comparison, wanted) => Ask {
            comparison: Some(comparison.as_str().to_owned()),
            wanted: Some(wanted.clone()),
            ..ask("compare", *id, std::slice::from_ref(program))
        },
        Condition::IsType(id, program, wanted) => {
            Ask { wanted: Some(wanted.as_str().to_owned()), ..ask("is-type", *id, std::slice::from_ref(program)) }
        }
        Condition::Expect(id, programs) => ask("expect", *id, programs),
        _ => return None,
    })
}
