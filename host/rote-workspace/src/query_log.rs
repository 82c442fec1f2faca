//! The log of queries and what they saved: source tokens that nobody had to read.
//!
//! Counts are filled in late, by [`Workspace::count_tokens`]: a count is a pure function of an immutable text.

use jiff::Timestamp;
use rote_types::{FlowName, ResponseId};
use rusqlite::Row;
use serde::Serialize;

use crate::record::response_id;
use crate::response_file::Tokens;
use crate::store::{from_i64, from_time, from_word, to_i64};
use crate::tokens::ENCODING;
use crate::{Body, CommandId, Result, Tokenizer, Workspace};

/// One logged query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueryRecord {
    pub command: CommandId,
    /// The response that was read; `None` for variables and standard input.
    pub source_response: Option<ResponseId>,
    /// The variable that was read.
    pub source_variable: Option<String>,
    /// The jq program, sugar removed.
    pub program: String,
    /// Whether the MCP envelope was unwrapped first.
    pub unwrap_mcp: bool,
    /// The variable that the result was saved in.
    pub saved_as: Option<String>,
    /// The flow that asked.
    pub flow: Option<FlowName>,
    /// Size of the source in bytes.
    pub source_bytes: u64,
    /// Size of the outputs in bytes.
    pub result_bytes: u64,
    /// Tokens of the source, once counted.
    pub source_tokens: Option<u64>,
    /// Tokens of the outputs, once counted.
    pub result_tokens: Option<u64>,
    /// When.
    pub at: Timestamp,
}

impl QueryRecord {
    /// Returns the tokens that the query saved, once both sides are counted; never below zero.
    #[must_use]
    pub fn tokens_saved(&self) -> Option<u64> {
        Some(self.source_tokens?.saturating_sub(self.result_tokens?))
    }
}

/// What a workspace holds and what its queries saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkspaceStats {
    /// Commands in the log.
    pub commands: u64,
    /// Response numbers allocated.
    pub responses: u64,
    /// Of these, errors.
    pub errors: u64,
    pub variables: u64,
    /// Queries logged.
    pub queries: u64,
    /// Tokens of all requests and responses.
    pub request_tokens: u64,
    /// See `request_tokens`.
    pub response_tokens: u64,
    /// Sum over queries of source tokens less result tokens, never below zero per query.
    pub tokens_saved: u64,
    /// Name of the encoding.
    pub encoding: &'static str,
}

/// A query whose tokens are not counted.
struct Uncounted {
    command: u64,
    source_response: Option<ResponseId>,
    source_text: Option<String>,
    result_text: String,
}

impl Workspace {
    /// Returns the query log, oldest first.
    ///
    /// # Errors
    /// The database refused.
    pub fn queries(&self) -> Result<Vec<QueryRecord>> {
        let sql = "SELECT q.command_sequence, q.source_response, q.source_variable, q.program, q.unwrap_mcp, \
                   q.saved_as, c.flow, q.source_bytes, q.result_bytes, q.source_tokens, q.result_tokens, c.timestamp \
                   FROM queries q JOIN commands c ON c.sequence = q.command_sequence ORDER BY q.command_sequence";
        self.with("read the query log", |connection| connection.prepare_cached(sql)?.query_map([], query)?.collect())
    }

    /// Counts what has no count yet and stores it; returns how many texts were counted.
    ///
    /// # Errors
    /// A response cannot be read, or the database refused.
    pub fn count_tokens(&self, tokenizer: Tokenizer) -> Result<u64> {
        let sql = "SELECT id FROM responses WHERE state = 'recorded' AND response_tokens IS NULL ORDER BY id";
        let ids: Vec<i64> = self.with("find uncounted responses", |connection| {
            connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
        })?;
        let mut counted = 0;
        for id in ids {
            self.count_response(tokenizer, ResponseId(from_i64(id)))?;
            counted += 2;
        }
        for query in self.uncounted_queries()? {
            self.count_query(tokenizer, &query)?;
            counted += 1;
        }
        Ok(counted)
    }

    /// Counts request and body of one response, in the row and with the rest of it.
    fn count_response(&self, tokenizer: Tokenizer, id: ResponseId) -> Result<()> {
        let kept = self.kept(id)?;
        let mut file = kept.parse()?;
        let request_body = file.request.body.0.get();
        let body = if request_body == "null" { "" } else { request_body };
        let request_tokens = tokenizer.count(&format!("{} {}\n{body}", file.request.method, file.request.url));
        let response_tokens = match file.body(&kept.path)? {
            Body::Empty | Body::Binary { .. } => 0,
            Body::Json(text) | Body::Text { text, .. } => tokenizer.count(&text),
        };
        file.tokens = Tokens {
            encoding: Some(ENCODING.to_owned()),
            request_tokens: Some(request_tokens),
            response_tokens: Some(response_tokens),
            total_tokens: Some(request_tokens.saturating_add(response_tokens)),
        };
        self.keep_instead(id, &kept, &file)?;
        let sql = "UPDATE responses SET request_tokens = ?2, response_tokens = ?3, encoding = ?4 WHERE id = ?1";
        self.with("store the token counts", |connection| {
            let row = (to_i64(id.0), to_i64(request_tokens), to_i64(response_tokens), ENCODING);
            connection.prepare_cached(sql)?.execute(row)
        })?;
        Ok(())
    }

    fn uncounted_queries(&self) -> Result<Vec<Uncounted>> {
        let sql = "SELECT command_sequence, source_response, source_text, result_text FROM queries \
                   WHERE result_text IS NOT NULL ORDER BY command_sequence";
        self.with("find uncounted queries", |connection| {
            let read = |row: &Row<'_>| {
                Ok(Uncounted {
                    command: from_i64(row.get(0)?),
                    source_response: response_id(row.get(1)?),
                    source_text: row.get(2)?,
                    result_text: row.get(3)?,
                })
            };
            connection.prepare_cached(sql)?.query_map([], read)?.collect()
        })
    }

    fn count_query(&self, tokenizer: Tokenizer, query: &Uncounted) -> Result<()> {
        let source = match (&query.source_text, query.source_response) {
            (Some(text), _) => Some(tokenizer.count(text)),
            // Counted just before, unless it was cleared in between.
            (None, Some(id)) => self.summary(id)?.response_tokens,
            (None, None) => None,
        };
        let result = tokenizer.count(&query.result_text);
        let sql = "UPDATE queries SET source_tokens = ?2, result_tokens = ?3, source_text = NULL, result_text = NULL \
                   WHERE command_sequence = ?1";
        self.with("store the token counts", |connection| {
            connection.prepare_cached(sql)?.execute((to_i64(query.command), source.map(to_i64), to_i64(result)))
        })?;
        Ok(())
    }

    /// Returns totals; call [`Workspace::count_tokens`] first for exact token sums.
    ///
    /// # Errors
    /// The database refused.
    pub fn stats(&self) -> Result<WorkspaceStats> {
        let sql = "SELECT (SELECT count(*) FROM commands), (SELECT value FROM counter WHERE name = 'response'), \
                   (SELECT count(*) FROM responses WHERE is_error), (SELECT count(*) FROM variables), \
                   (SELECT count(*) FROM queries), (SELECT coalesce(sum(request_tokens), 0) FROM responses), \
                   (SELECT coalesce(sum(response_tokens), 0) FROM responses), \
                   (SELECT coalesce(sum(max(source_tokens - result_tokens, 0)), 0) FROM queries)";
        self.with("read the totals", |connection| {
            connection.query_row(sql, [], |row| {
                let number = |column| row.get(column).map(from_i64);
                Ok(WorkspaceStats {
                    commands: number(0)?,
                    responses: number(1)?,
                    errors: number(2)?,
                    variables: number(3)?,
                    queries: number(4)?,
                    request_tokens: number(5)?,
                    response_tokens: number(6)?,
                    tokens_saved: number(7)?,
                    encoding: ENCODING,
                })
            })
        })
    }
}

fn query(row: &Row<'_>) -> rusqlite::Result<QueryRecord> {
    let flow: Option<String> = row.get(6)?;
    Ok(QueryRecord {
        command: CommandId(from_i64(row.get(0)?)),
        source_response: response_id(row.get(1)?),
        source_variable: row.get(2)?,
        program: row.get(3)?,
        unwrap_mcp: row.get(4)?,
        saved_as: row.get(5)?,
        flow: flow.map(|flow| from_word(6, flow)).transpose()?,
        source_bytes: from_i64(row.get(7)?),
        result_bytes: from_i64(row.get(8)?),
        source_tokens: row.get::<_, Option<i64>>(9)?.map(from_i64),
        result_tokens: row.get::<_, Option<i64>>(10)?.map(from_i64),
        at: from_time(11, &row.get::<_, String>(11)?)?,
    })
}
