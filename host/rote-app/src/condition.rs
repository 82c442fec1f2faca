//! Conditions over recorded responses: each is a question with yes or no as the answer.

use rote_types::ResponseId;
use rote_workspace::{Ask, AskKind, Comparison, JsonType};

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

/// The answer to a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Whether it holds.
    pub holds: bool,
    /// The programs that did not give a true value, where each had to.
    pub unmet: Vec<String>,
    /// Why the log does not have it, where it should: crystallize will not know of it.
    pub unlogged: Option<String>,
}

impl Session {
    /// Answers a condition. One that was answered is answered although it could not be logged.
    ///
    /// # Errors
    /// Denied for a program or a value with a value of the vault, `NotFound` for a response that is not there, Usage for a program that does not parse. A condition that
    /// is false is not an error.
    pub fn holds(&self, condition: &Condition) -> Result<Held, AppError> {
        let workspace = self.workspace()?;
        let ask = asked(condition);
        // The log keeps what was asked, and a flow is made from the log.
        for typed in ask.iter().flat_map(|ask| ask.programs.iter().chain(&ask.wanted)) {
            self.host.redaction()?.refuse_bytes("the condition", typed.as_bytes())?;
        }
        let (holds, unmet) = self.answer(condition)?;
        let logged = ask.map(|ask| workspace.log_ask(&Ask { held: holds, ..ask }, self.host.now()));
        Ok(Held { holds, unmet, unlogged: logged.and_then(Result::err).map(|error| error.to_string()) })
    }

    /// Whether a condition holds, and what of an expectation is not met.
    fn answer(&self, condition: &Condition) -> Result<(bool, Vec<String>), AppError> {
        let workspace = self.workspace()?;
        let holds = match condition {
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
            Condition::Expect(id, programs) => {
                let unmet = workspace.unmet(&*self.host.jq()?, *id, programs)?;
                return Ok((unmet.is_empty(), unmet));
            }
            Condition::HasSession(endpoint) => workspace.has_session(endpoint)?,
            Condition::HasVariable(name) => workspace.has_var(name)?,
        };
        Ok((holds, Vec::new()))
    }
}

/// What is logged of a condition, but for its answer: what was asked of responses.
fn asked(condition: &Condition) -> Option<Ask> {
    let ask = |condition: AskKind, ids: &[ResponseId], programs: &[String]| {
        let (response, others) = ids.split_first()?;
        let (others, programs) = (others.to_vec(), programs.to_vec());
        Some(Ask { condition, response: *response, others, programs, comparison: None, wanted: None, held: false })
    };
    match condition {
        Condition::IsError(id) => ask(AskKind::IsError, &[*id], &[]),
        Condition::IsAuthError(id) => ask(AskKind::IsAuthError, &[*id], &[]),
        Condition::AnyAuthError(ids) => ask(AskKind::AnyAuthError, ids, &[]),
        Condition::AnyError(ids) => ask(AskKind::AnyError, ids, &[]),
        Condition::AllSuccess(ids) => ask(AskKind::AllSuccess, ids, &[]),
        Condition::Exists(id, program) => ask(AskKind::Exists, &[*id], std::slice::from_ref(program)),
        Condition::IsEmpty(id, program) => ask(AskKind::IsEmpty, &[*id], std::slice::from_ref(program)),
        Condition::Compare(id, program, comparison, wanted) => {
            let ask = ask(AskKind::Compare, &[*id], std::slice::from_ref(program))?;
            Some(Ask { comparison: Some(*comparison), wanted: Some(wanted.clone()), ..ask })
        }
        Condition::IsType(id, program, wanted) => {
            let ask = ask(AskKind::IsType, &[*id], std::slice::from_ref(program))?;
            Some(Ask { wanted: Some(wanted.as_str().to_owned()), ..ask })
        }
        Condition::Changed(a, b, program) => ask(AskKind::Changed, &[*a, *b], std::slice::from_ref(program)),
        Condition::Expect(id, programs) => ask(AskKind::Expect, &[*id], programs),
        Condition::HasSession(_) | Condition::HasVariable(_) => None,
    }
}
