//! Queries, variables, injected documents and differences: what a workspace can do without a network.

use rote_types::{QueryError, QueryLimits, ResponseId, WorkspaceName, command};
use rote_workspace::{
    Body, Change, Overview, QueryRequest, QueryResult, QuerySource, ResponseSummary, Variable, WorkspaceError,
};
use serde::Serialize;
use serde_json::Value;

use crate::{AppError, Session};

/// A question to a recorded response.
#[derive(Debug, Clone)]
pub struct Query {
    pub response: ResponseId,
    /// The jq program; none shows the response as a whole.
    pub program: String,
    /// Unwrap an MCP envelope first.
    pub unwrap_mcp: bool,
    /// Keep the result in this variable.
    pub save_as: Option<String>,
}

/// A response as a person wants to see it first: what it is, its shape, its first rows.
#[derive(Debug, Clone, Serialize)]
pub struct ResponseView {
    /// The workspace that has it.
    pub workspace: WorkspaceName,
    /// What the database knows of it.
    pub response: ResponseSummary,
    /// Its shape and first rows.
    pub overview: Overview,
    /// The answer was cut off at a bound.
    pub truncated: bool,
    /// The headers of the answer, secrets masked.
    pub headers: Vec<(String, String)>,
}

/// A body as it is kept.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum BodyView {
    /// There was none.
    Empty,
    /// JSON, verbatim.
    Json {
        /// The text as received.
        text: String,
    },
    Text {
        text: String,
        /// Why it is not JSON when it was declared as that.
        note: Option<String>,
    },
    /// It has more bytes than were asked for.
    LeftOut {
        /// Their number.
        bytes: u64,
    },
    /// Bytes in a file.
    Binary {
        /// Their digest.
        sha256: String,
        /// Their number.
        bytes: u64,
        /// Where they are.
        path: String,
    },
}

impl BodyView {
    /// Leaves out a text of more bytes than `most`.
    pub(crate) fn within(self, most: u64) -> Self {
        match &self {
            Self::Json { text } | Self::Text { text, .. } if text.len() as u64 > most => {
                Self::LeftOut { bytes: text.len() as u64 }
            }
            _ => self,
        }
    }
}

impl Session {
    /// Runs a jq program on a recorded response.
    ///
    /// # Errors
    /// Usage for a program that does not parse, Denied for one with a value of the vault, `NotFound` for a response that is not there, Limit for a
    /// program that does not end.
    pub fn query(&self, query: &Query) -> Result<QueryResult, AppError> {
        // The log keeps the program, and a flow is made from the log.
        self.host.redaction()?.refuse_bytes("the jq program", query.program.as_bytes())?;
        let request = QueryRequest {
            source: QuerySource::Response(query.response),
            program: query.program.clone(),
            unwrap_mcp: query.unwrap_mcp,
            save_as: query.save_as.clone(),
            limits: QueryLimits::default(),
            flow: None,
            at: self.host.now(),
        };
        let result = self.workspace()?.query(&*self.host.jq()?, &request);
        result.map_err(|error| match &error {
            // The program is in the message; what it can reach in the response is what its author has to look up.
            WorkspaceError::Query { source: QueryError::Syntax { .. } | QueryError::Runtime { .. } } => {
                AppError::from(error).with_hint(command("rote query schema").argument(query.response))
            }
            _ => error.into(),
        })
    }

    /// Runs a jq program on text that the caller gives; nothing is recorded.
    ///
    /// # Errors
    /// As for [`Session::query`], and General when the text is not JSON.
    pub fn query_text(&self, program: &str, text: &[u8]) -> Result<Vec<String>, AppError> {
        use rote_types::QueryEngine as _;
        let program = rote_workspace::desugar(program);
        Ok(self.host.jq()?.run(&program, text, &QueryLimits::default())?.values)
    }

    /// Returns what a response is like as a JSON Schema.
    ///
    /// # Errors
    /// `NotFound` for a response that is not there.
    pub fn schema(&self, id: ResponseId) -> Result<Value, AppError> {
        Ok(self.workspace()?.schema(id)?)
    }

    /// Returns a response without its body.
    ///
    /// # Errors
    /// `NotFound` for a response that is not there.
    pub fn view(&self, id: ResponseId, rows: usize) -> Result<ResponseView, AppError> {
        let workspace = self.workspace()?;
        let stored = workspace.response(id)?;
        let overview = stored.overview(rows);
        let (workspace, truncated) = (workspace.name().clone(), stored.truncated);
        Ok(ResponseView { workspace, response: stored.summary, overview, truncated, headers: stored.headers })
    }

    /// Returns a response's body.
    ///
    /// # Errors
    /// `NotFound` for a response that is not there.
    pub fn body(&self, id: ResponseId) -> Result<BodyView, AppError> {
        let workspace = self.workspace()?;
        Ok(match workspace.response(id)?.body {
            Body::Empty => BodyView::Empty,
            Body::Json(text) => BodyView::Json { text },
            Body::Text { text, note } => BodyView::Text { text, note },
            Body::Binary { sha256, bytes, path } => {
                let path = workspace.folder().join(path);
                BodyView::Binary { sha256: sha256.to_string(), bytes, path: path.display().to_string() }
            }
        })
    }

    /// Sets a variable.
    ///
    /// # Errors
    /// Usage for a bad name; Denied for a value of the vault.
    pub fn set_variable(&self, name: &str, value: Value) -> Result<Variable, AppError> {
        self.host.redaction()?.refuse(&format!("variable `{name}`"), &value)?;
        Ok(self.workspace()?.set_var(name, value, self.host.now())?)
    }

    /// Returns the variables.
    ///
    /// # Errors
    /// `NotFound` when no workspace is in use.
    pub fn variables(&self) -> Result<Vec<Variable>, AppError> {
        Ok(self.workspace()?.vars()?)
    }

    /// Records a document of the caller's as a response.
    ///
    /// # Errors
    /// Usage when it is neither JSON nor YAML; Denied when a value of the vault stands in it.
    pub fn inject(&self, name: &str, text: &[u8]) -> Result<ResponseView, AppError> {
        self.host.redaction()?.refuse_bytes(&format!("document `{name}`"), text)?;
        let stored = self.workspace()?.inject(name, text, self.host.now())?;
        self.view(stored.summary.id, crate::call::SHOWN_ROWS)
    }

    /// Compares two responses, or what a program makes of them.
    ///
    /// # Errors
    /// `NotFound` for a response that is not there.
    pub fn diff(&self, a: ResponseId, b: ResponseId, program: Option<&str>) -> Result<Vec<Change>, AppError> {
        Ok(self.workspace()?.diff(&*self.host.jq()?, a, b, program)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_more_bytes_than_were_asked_for_is_left_out() {
        let body = || BodyView::Json { text: "\"é\"".to_owned() };
        assert!(matches!(body().within(4), BodyView::Json { .. }));
        assert!(matches!(body().within(3), BodyView::LeftOut { bytes: 4 }));
    }
}
