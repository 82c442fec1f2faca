//! Named values of a workspace, each with where it came from.

use jiff::Timestamp;
use rote_types::ResponseId;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;
use serde_json::Value;

use crate::record::{NewCommand, response_id};
use crate::store::{from_i64, from_json, from_time, to_i64};
use crate::{CommandId, CommandKind, Result, Workspace, WorkspaceError};

/// Longest name of a variable, in characters.
const MAX_NAME_CHARS: usize = 64;

/// A named value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variable {
    pub name: String,
    pub value: Value,
    /// The response that it was read from, if it was.
    pub source_response: Option<ResponseId>,
    /// The jq program that read it.
    pub source_query: Option<String>,
    /// The command that set it.
    pub command: Option<CommandId>,
    /// When it was set.
    pub set_at: Timestamp,
}

impl Workspace {
    /// Sets variable `name` by hand and logs it.
    ///
    /// # Errors
    /// [`crate::WorkspaceError::BadVariableName`], or the database refused.
    pub fn set_var(&self, name: &str, value: Value, at: Timestamp) -> Result<Variable> {
        check_variable_name(name)?;
        let params = serde_json::json!({"name": name, "value": value}).to_string();
        let text = value.to_string();
        let command = self.transact("set the variable", |transaction| {
            let command = NewCommand::local(CommandKind::SetVariable, params, at, None).append(transaction)?;
            put(transaction, &NewVariable { name, text: &text, source: None, command, at })?;
            Ok(command)
        })?;
        let name = name.to_owned();
        Ok(Variable { name, value, source_response: None, source_query: None, command: Some(command), set_at: at })
    }

    /// Returns all variables by name.
    ///
    /// # Errors
    /// The database refused.
    pub fn vars(&self) -> Result<Vec<Variable>> {
        let sql = "SELECT name, value_json, source_response, source_query, command_sequence, created_at \
                   FROM variables ORDER BY name";
        self.with("read the variables", |connection| connection.prepare_cached(sql)?.query_map([], variable)?.collect())
    }

    /// Returns one variable, `None` when it was never set.
    ///
    /// # Errors
    /// The database refused.
    pub fn var(&self, name: &str) -> Result<Option<Variable>> {
        let sql = "SELECT name, value_json, source_response, source_query, command_sequence, created_at \
                   FROM variables WHERE name = ?1";
        self.with("read the variable", |connection| {
            connection.prepare_cached(sql)?.query_row([name], variable).optional()
        })
    }

    /// Returns the stored JSON text of one variable: numbers as they were read.
    pub(crate) fn var_text(&self, name: &str) -> Result<Option<String>> {
        let sql = "SELECT value_json FROM variables WHERE name = ?1";
        self.with("read the variable", |connection| {
            connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()
        })
    }
}

/// Refuses what could not be written as `$name`.
///
/// # Errors
/// [`WorkspaceError::BadVariableName`].
pub fn check_variable_name(name: &str) -> Result<()> {
    let fits = name.len() <= MAX_NAME_CHARS
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if fits { Ok(()) } else { Err(WorkspaceError::BadVariableName { name: name.to_owned() }) }
}

/// A variable about to be stored.
pub(crate) struct NewVariable<'a> {
    pub(crate) name: &'a str,
    /// Its value as JSON text.
    pub(crate) text: &'a str,
    /// The response and the program that it was read with.
    pub(crate) source: Option<(ResponseId, &'a str)>,
    pub(crate) command: CommandId,
    pub(crate) at: Timestamp,
}

pub(crate) fn put(connection: &Connection, variable: &NewVariable<'_>) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO variables (name, value_json, source_response, source_query, command_sequence, \
               created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.prepare_cached(sql)?.execute(rusqlite::params![
        variable.name,
        variable.text,
        variable.source.map(|(id, _)| to_i64(id.0)),
        variable.source.map(|(_, program)| program),
        to_i64(variable.command.0),
        variable.at.to_string(),
    ])?;
    Ok(())
}

fn variable(row: &Row<'_>) -> rusqlite::Result<Variable> {
    let command: Option<i64> = row.get(4)?;
    Ok(Variable {
        name: row.get(0)?,
        value: from_json(1, &row.get::<_, String>(1)?)?,
        source_response: response_id(row.get(2)?),
        source_query: row.get(3)?,
        command: command.map(|command| CommandId(from_i64(command))),
        set_at: from_time(5, &row.get::<_, String>(5)?)?,
    })
}
