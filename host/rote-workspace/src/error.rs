//! What can go wrong in a workspace, with the exit code and the next command for each.

use std::path::PathBuf;

use rote_home::{HomeError, storage_hint};
use rote_types::{Classify, ErrorKind, QueryError, ResponseId, WorkspaceName, command};
use serde_json::json;

/// One thing that a template asked for and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateProblem {
    /// JSON pointer of the string that holds the reference.
    pub pointer: String,
    /// The reference as written, such as `$owner` or `@4{.id}`.
    pub reference: String,
    /// Why it cannot be substituted.
    pub reason: String,
}

/// A failed workspace operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// No workspace of that name.
    #[error("{}", absence(name, *.lost))]
    NoWorkspace {
        /// The name asked for.
        name: WorkspaceName,
        /// Its folder is there, and its database is not.
        lost: bool,
    },
    /// No response of that number was ever allocated.
    #[error("workspace `{workspace}` has no response `{id}`{}", range_text(*.highest))]
    NoResponse {
        workspace: WorkspaceName,
        /// The number asked for.
        id: ResponseId,
        /// The highest number in use, 0 when there is none.
        highest: u64,
    },
    /// The response was removed by `rote clear`.
    #[error("response `{id}` was cleared")]
    Cleared {
        /// The number asked for.
        id: ResponseId,
    },
    /// The number was allocated, but nothing was recorded.
    #[error("response `{id}` has no recorded outcome (`{state}`)")]
    Unfinished {
        /// The number asked for.
        id: ResponseId,
        /// `pending`, `in_doubt` or `lost`.
        state: &'static str,
    },
    /// A person settles what is known, or was settled already.
    #[error("response `{id}` of workspace `{workspace}` is not in doubt: it is `{state}`")]
    NotInDoubt {
        workspace: WorkspaceName,
        /// The number.
        id: ResponseId,
        /// How it stands.
        state: &'static str,
    },
    /// A write would be made again that is in doubt, and the idempotency key that it carries is trusted no longer.
    #[error("`{id}` of workspace `{workspace}` may have happened, and its idempotency key is too old to be sent again")]
    KeyTooOld {
        workspace: WorkspaceName,
        /// The number.
        id: ResponseId,
    },
    /// An outcome was recorded twice for one number.
    #[error("response `{id}` is already recorded; responses are immutable")]
    AlreadyRecorded {
        /// The number.
        id: ResponseId,
    },
    /// No variable of that name.
    #[error("workspace `{workspace}` has no variable `{name}`")]
    NoVariable {
        workspace: WorkspaceName,
        /// The name asked for.
        name: String,
    },
    /// The name cannot be a variable.
    #[error("`{name}` is not a variable name; use a letter or `_`, then letters, digits or `_`, at most 64")]
    BadVariableName { name: String },
    /// The name cannot be a file of a run.
    #[error("`{}` is not a file name; use 1 to 100 letters, digits, `.`, `_` or `-`, not starting with `.`", .name.escape_debug())]
    BadFileName { name: String },
    /// A run keeps more in files than it may.
    #[error("a run keeps at most {max} {what}")]
    FileLimit {
        /// What was counted, in the plural.
        what: &'static str,
        /// The bound.
        max: u64,
    },
    /// A template names things that are not there, or does not parse.
    #[error("{}", template_text(.problems))]
    Template {
        /// Everything that is missing, in document order.
        problems: Vec<TemplateProblem>,
    },
    /// The query failed.
    #[error("query failed")]
    Query {
        /// Why.
        #[source]
        source: QueryError,
    },
    /// The query failed on a response that is itself an error.
    #[error("response `{id}` is an error ({problem}), so the query has nothing to read")]
    QueryOnError {
        /// The response.
        id: ResponseId,
        /// What the response says, in short.
        problem: String,
        /// What the query engine said.
        #[source]
        source: QueryError,
    },
    /// The call got no answer that a query could read.
    #[error("the call of `{id}` got no answer ({problem}), so the query has nothing to read")]
    NoAnswer {
        /// The response.
        id: ResponseId,
        /// Why, in short.
        problem: String,
    },
    /// The query was expected to give exactly one value.
    #[error("query `{program}` gave {count} values where one is needed")]
    NotOneValue {
        program: String,
        /// How many values it gave.
        count: usize,
    },
    /// A document handed in is neither JSON nor YAML.
    #[error("the document is neither JSON nor YAML: {message}")]
    BadDocument {
        /// What the readers said.
        message: String,
    },
    /// A condition was asked in words that it does not know, or of a value that it cannot judge.
    #[error("{message}")]
    BadCondition {
        /// What is wrong.
        message: String,
    },
    /// A filter of `rote clean` does not parse or would select everything by accident.
    #[error("{message}")]
    BadFilter {
        /// What is wrong.
        message: String,
    },
    /// The file of a recorded response cannot be read back.
    #[error("response file `{}` is damaged", path.display())]
    DamagedResponse {
        /// The file.
        path: PathBuf,
        /// What the reader said.
        #[source]
        source: serde_json::Error,
    },
    /// A row of the database does not hold what it should.
    #[error("`workspace.db` is damaged: {message}")]
    DamagedDatabase {
        /// Which row and why.
        message: String,
    },
    /// A value could not be written as JSON; the host is to blame.
    #[error("cannot write {what} as JSON")]
    Encode {
        /// What was to be written.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The database refused.
    #[error("cannot {action} in the database of workspace `{workspace}`")]
    Database {
        /// What was being done.
        action: &'static str,
        workspace: WorkspaceName,
        /// The database file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// The files below the home refused.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A file or folder of the workspace refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

fn absence(name: &WorkspaceName, lost: bool) -> String {
    if lost { format!("the database of workspace `{name}` is gone") } else { format!("there is no workspace `{name}`") }
}

fn range_text(highest: u64) -> String {
    match highest {
        0 => " (nothing was called yet)".to_owned(),
        1 => " (there is only `@1`)".to_owned(),
        last => format!(" (there are `@1` to `@{last}`)"),
    }
}

fn template_text(problems: &[TemplateProblem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| {
            let place = if problem.pointer.is_empty() { "the template" } else { &problem.pointer };
            format!("`{}` in `{place}` {}", problem.reference, problem.reason)
        })
        .collect();
    format!("cannot fill in the template: {}", lines.join("; "))
}

impl Classify for WorkspaceError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoWorkspace { .. }
            | Self::NoResponse { .. }
            | Self::Cleared { .. }
            | Self::NoVariable { .. }
            | Self::Template { .. } => ErrorKind::NotFound,
            Self::FileLimit { .. } => ErrorKind::Limit,
            Self::BadVariableName { .. }
            | Self::BadFileName { .. }
            | Self::NotOneValue { .. }
            | Self::BadDocument { .. }
            | Self::BadCondition { .. }
            | Self::BadFilter { .. } => ErrorKind::Usage,
            Self::Unfinished { .. }
            | Self::NotInDoubt { .. }
            | Self::KeyTooOld { .. }
            | Self::AlreadyRecorded { .. } => ErrorKind::Conflict,
            Self::Query { source } => source.kind(),
            Self::QueryOnError { .. } | Self::NoAnswer { .. } => ErrorKind::Upstream,
            Self::Database { source, .. } if is_busy(source) => ErrorKind::Conflict,
            Self::DamagedResponse { .. }
            | Self::DamagedDatabase { .. }
            | Self::Encode { .. }
            | Self::Database { .. }
            | Self::Io { .. } => ErrorKind::General,
            Self::Home(source) => source.kind(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoWorkspace { name, lost: false } => Some(command("rote init").argument(name).into()),
            Self::NoWorkspace { name, lost: true } => {
                let init =
                    command("rote init").argument(name).note("begins it anew, where its files cannot be put back");
                Some(format!("{init}\nrote doubts # what is in doubt of it"))
            }
            Self::Unfinished { state: "in_doubt", .. } | Self::KeyTooOld { .. } => Some("rote doubts".to_owned()),
            Self::NotInDoubt { workspace, .. } => Some(command("rote ls").option("--workspace", workspace).into()),
            Self::NoResponse { .. } | Self::Cleared { .. } | Self::Unfinished { .. } => Some("rote ls".to_owned()),
            Self::NoVariable { name, .. } => Some(command("rote set").assignment(name, "VALUE").into()),
            Self::Template { problems } => template_hint(problems),
            Self::QueryOnError { id, .. } | Self::NoAnswer { id, .. } => {
                Some(command("rote").argument(id).plain("'.'").into())
            }
            Self::Home(source) => source.hint(),
            Self::Database { source, path, .. } => storage_hint(source, path),
            _ => None,
        }
    }

    fn details(&self) -> Option<serde_json::Value> {
        match self {
            Self::Template { problems } => {
                let list: Vec<_> = problems
                    .iter()
                    .map(|p| json!({"pointer": p.pointer, "reference": p.reference, "reason": p.reason}))
                    .collect();
                Some(json!({ "missing": list }))
            }
            Self::QueryOnError { id, problem, .. } | Self::NoAnswer { id, problem } => {
                Some(json!({"response": id, "problem": problem}))
            }
            Self::Home(source) => source.details(),
            _ => None,
        }
    }
}

fn template_hint(problems: &[TemplateProblem]) -> Option<String> {
    let first = problems.first()?;
    match first.reference.strip_prefix('$') {
        Some(name) => {
            let name = name.trim_matches(['{', '}']);
            Some(command("rote set").assignment(name, "VALUE").into())
        }
        None => Some("rote ls".to_owned()),
    }
}

fn is_busy(source: &rusqlite::Error) -> bool {
    matches!(source.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
}
