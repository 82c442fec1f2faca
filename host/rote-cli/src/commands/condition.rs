//! The conditions: commands that answer by exit code, 0 for yes and 1 for no.

use clap::Subcommand;
use rote_app::{Comparison, JsonType};
use rote_types::ResponseId;

use crate::context::Context;
use crate::error::{CliError, Result};
use crate::ui::{Report, Ui};

/// Every condition; `rote query` takes them too.
#[derive(Debug, Subcommand)]
pub enum Condition {
    /// Exit 0 when the response is an error, else 1
    IsError {
        /// The response
        #[arg(value_name = "@N")]
        id: ResponseId,
    },
    /// Exit 0 when the response says that the credential was refused
    IsAuthError {
        /// The response
        #[arg(value_name = "@N")]
        id: ResponseId,
    },
    /// Exit 0 when at least one response says that the credential was refused
    AnyAuthError {
        /// The responses
        #[arg(value_name = "@N", required = true)]
        ids: Vec<ResponseId>,
    },
    /// Exit 0 when at least one response is an error
    AnyError {
        /// The responses
        #[arg(value_name = "@N", required = true)]
        ids: Vec<ResponseId>,
    },
    /// Exit 0 when no response is an error
    AllSuccess {
        /// The responses
        #[arg(value_name = "@N", required = true)]
        ids: Vec<ResponseId>,
    },
    /// Exit 0 when the program gives something other than null
    Exists {
        /// The response
        #[arg(value_name = "@N")]
        id: ResponseId,
        /// The jq program
        program: String,
    },
    /// Exit 0 when the program gives nothing, null, or something empty
    IsEmpty {
        /// The response
        #[arg(value_name = "@N")]
        id: ResponseId,
        /// The jq program
        program: String,
    },
    /// Exit 0 when the program's value compares so: `compare @2 '.total' -gt 10`
    Compare {
        /// The response
        #[arg(value_name = "@N")]
        id: ResponseId,
        /// The jq program
        program: String,
        /// -eq, -ne, -gt, -ge, -lt, -le, -match or -contains
        #[arg(value_parser = comparison, allow_hyphen_values = true)]
        operator: Comparison,
        /// What to compare with
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Exit 0 when the program's value has that type
    IsType {
        /// The response
        #[arg(value_name = "@N")]
        id: ResponseId,
        /// The jq program
        program: String,
        /// null, boolean, number, string, array or object
        #[arg(value_name = "TYPE", value_parser = str::parse::<JsonType>)]
        wanted: JsonType,
    },
    /// Exit 0 when the program's values differ between two responses
    Changed {
        /// The earlier response
        #[arg(value_name = "@A")]
        before: ResponseId,
        /// The later response
        #[arg(value_name = "@B")]
        after: ResponseId,
        /// The jq program
        #[arg(default_value = ".")]
        program: String,
    },
    /// Exit 0 when every program gives a true value
    Expect {
        /// The response
        #[arg(value_name = "@N")]
        id: ResponseId,
        /// The jq programs
        #[arg(required = true)]
        programs: Vec<String>,
    },
    /// Exit 0 when the workspace has a session with an endpoint, such as `adapter/github`
    HasSession {
        /// The endpoint
        endpoint: String,
    },
    /// Exit 0 when a variable is set
    HasVar {
        /// Its name
        name: String,
    },
}

fn comparison(word: &str) -> Result<Comparison, String> {
    match word {
        "-eq" | "--eq" => Ok(Comparison::Equal),
        "-ne" | "--ne" => Ok(Comparison::NotEqual),
        "-ge" | "--ge" => Ok(Comparison::AtLeast),
        "-le" | "--le" => Ok(Comparison::AtMost),
        "-gt" | "--gt" => Ok(Comparison::Greater),
        "-lt" | "--lt" => Ok(Comparison::Less),
        "-match" | "--match" => Ok(Comparison::Matches),
        "-contains" | "--contains" => Ok(Comparison::Contains),
        _ => Err("use -eq, -ne, -gt, -ge, -lt, -le, -match or -contains".to_owned()),
    }
}

impl Condition {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        use rote_app::Condition as Asked;
        let asked = match self {
            Self::IsError { id } => Asked::IsError(id),
            Self::IsAuthError { id } => Asked::IsAuthError(id),
            Self::AnyAuthError { ids } => Asked::AnyAuthError(ids),
            Self::AnyError { ids } => Asked::AnyError(ids),
            Self::AllSuccess { ids } => Asked::AllSuccess(ids),
            Self::Exists { id, program } => Asked::Exists(id, program),
            Self::IsEmpty { id, program } => Asked::IsEmpty(id, program),
            Self::Compare { id, program, operator, value } => Asked::Compare(id, program, operator, value),
            Self::IsType { id, program, wanted } => Asked::IsType(id, program, wanted),
            Self::Changed { before, after, program } => Asked::Changed(before, after, program),
            Self::Expect { id, programs } => Asked::Expect(id, programs),
            Self::HasSession { endpoint } => Asked::HasSession(endpoint),
            Self::HasVar { name } => Asked::HasVariable(name),
        };
        let held = context.session()?.holds(&asked).map_err(|error| CliError::Unasked(Box::new(error)))?;
        if let Some(why) = &held.unlogged {
            ui.talk(&format!("note: the condition is not in the log: {why}"));
        }
        Ok(Report::condition(&held))
    }
}
