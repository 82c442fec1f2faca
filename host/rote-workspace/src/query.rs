//! jq over responses, variables and standard input, through the sandboxed engine.
//!
//! Every query is logged with its source and the size of both sides; tokens are counted later, off the path.
//! Bodies go to the engine as they are stored: this crate never parses one to query it.

use jiff::Timestamp;
use rote_types::{FlowName, QueryEngine, QueryError, QueryLimits, ResponseId};
use rusqlite::Connection;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::record::NewCommand;
use crate::store::to_i64;
use crate::variable::{self, NewVariable};
use crate::{CommandId, CommandKind, ResponseState, Result, Variable, Workspace, WorkspaceError, desugar, sugar};

/// What `-m` runs before the program: the payload of an MCP result, parsed when it is JSON.
const UNWRAP: &str = "((if type == \"object\" then (.content // .result.content?) else null end) as $__content \
    | if ($__content | type) == \"array\" and ($__content[0]?.text? | type) == \"string\" \
      then $__content[0].text as $__text | $__text | (try fromjson catch $__text) \
      else error(\"the body has no content[0].text to unwrap; ask without -m\") end)";

/// What a query reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuerySource {
    /// A recorded response.
    Response(ResponseId),
    Variable(String),
    /// A text of the caller's own (standard input); JSON, or else taken as one string.
    Text(Vec<u8>),
}

/// A query to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryRequest {
    /// What to read.
    pub source: QuerySource,
    /// jq, or the sugar of `rote` (see [`crate::desugar`]). `$name` of a workspace variable is its value.
    pub program: String,
    /// Unwraps an MCP envelope (`content[0].text` parsed as JSON) before the program runs (`-m`).
    pub unwrap_mcp: bool,
    /// Saves the result under this name (`-s`): one output as it is, several as an array.
    pub save_as: Option<String>,
    /// Bounds of the evaluation.
    pub limits: QueryLimits,
    /// The flow that asks, if any.
    pub flow: Option<FlowName>,
    /// When.
    pub at: Timestamp,
}

/// What a query gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryResult {
    /// One compact JSON text per output.
    pub values: Vec<String>,
    /// The jq program that ran, sugar removed.
    pub program: String,
    /// The logged command; none where it could not be logged.
    pub command: Option<CommandId>,
    /// Why it is not in the log, such as a full disk: nobody needs that to read an answer.
    pub unlogged: Option<String>,
    /// Said when the source is an error response: what it is, so that nobody debugs the query instead.
    pub source_error: Option<String>,
    /// The variable that was saved.
    pub saved: Option<Variable>,
}

impl QueryResult {
    /// Returns the outputs as lines: indented JSON, or with `raw` strings as they are (`-r`).
    #[must_use]
    pub fn text(&self, raw: bool) -> String {
        self.values.iter().map(|value| show(value, raw)).collect::<Vec<_>>().join("\n")
    }
}

fn show(value: &str, raw: bool) -> String {
    if raw
        && value.starts_with('"')
        && let Ok(text) = serde_json::from_str(value)
    {
        return text;
    }
    indent(value)
}

/// Indents a compact JSON text without reading its numbers, so that none changes.
fn indent(compact: &str) -> String {
    let mut out = String::with_capacity(compact.len() * 2);
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut characters = compact.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = characters.next() {
        if in_string {
            out.push(c);
            match c {
                '\\' => out.extend(characters.next()),
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match c {
            '{' | '[' => {
                out.push(c);
                match characters.peek() {
                    Some('}' | ']') => out.extend(characters.next()),
                    _ => {
                        depth += 1;
                        line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            '"' => {
                in_string = true;
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// A query ready for the engine.
struct Prepared {
    /// What is logged and shown: sugar removed.
    program: String,
    /// The same question as one jq program over the source alone; what a variable's provenance keeps.
    portable: String,
}

/// One evaluation, before it is logged.
struct Evaluated {
    values: Vec<String>,
    source_bytes: usize,
    /// Kept until its tokens are counted; a response has its count elsewhere.
    source_text: Option<String>,
    source_error: Option<String>,
}

impl Workspace {
    /// Runs a query and logs it. One that saves nothing is answered where it cannot be logged, too.
    ///
    /// # Errors
    /// The source does not exist, the program is wrong or too expensive, or the database refused. A query
    /// that fails on an error response says so ([`crate::WorkspaceError::QueryOnError`]).
    pub fn query(&self, engine: &dyn QueryEngine, request: &QueryRequest) -> Result<QueryResult> {
        if let Some(name) = &request.save_as {
            variable::check_variable_name(name)?;
        }
        let prepared = prepare(&request.program, request.unwrap_mcp);
        let evaluated = self.evaluate(engine, &request.source, &prepared, &request.limits)?;
        let saved_text =
            request.save_as.as_ref().map(|_| saved_value(&prepared.program, &evaluated.values)).transpose()?;
        let (command, unlogged) = match self.log_query(request, &prepared, &evaluated, saved_text.as_deref()) {
            Ok(command) => (Some(command), None),
            Err(error) if saved_text.is_none() => (None, Some(rote_types::with_causes(&error))),
            Err(error) => return Err(error),
        };
        let saved = match &request.save_as {
            Some(name) => self.var(name)?,
            None => None,
        };
        let Evaluated { values, source_error, .. } = evaluated;
        Ok(QueryResult { values, program: prepared.program, command, unlogged, source_error, saved })
    }

    /// Runs a program on a response without logging it: conditions, templates, differences.
    pub(crate) fn ask(&self, engine: &dyn QueryEngine, id: ResponseId, program: &str) -> Result<Vec<String>> {
        let prepared = prepare(program, false);
        let source = QuerySource::Response(id);
        Ok(self.evaluate(engine, &source, &prepared, &QueryLimits::default())?.values)
    }

    fn evaluate(
        &self,
        engine: &dyn QueryEngine,
        source: &QuerySource,
        prepared: &Prepared,
        limits: &QueryLimits,
    ) -> Result<Evaluated> {
        match source {
            QuerySource::Response(id) => self.evaluate_response(engine, *id, prepared, limits),
            QuerySource::Variable(name) => {
                let text = self
                    .var_text(name)?
                    .ok_or_else(|| WorkspaceError::NoVariable { workspace: self.name().clone(), name: name.clone() })?;
                let values = self.run(engine, prepared, &text, limits)?;
                Ok(Evaluated { values, source_bytes: text.len(), source_text: Some(text), source_error: None })
            }
            QuerySource::Text(bytes) => {
                let text = match serde_json::from_slice::<&serde_json::value::RawValue>(bytes) {
                    Ok(raw) => raw.get().to_owned(),
                    Err(_not_json) => Value::String(String::from_utf8_lossy(bytes).into_owned()).to_string(),
                };
                let values = self.run(engine, prepared, &text, limits)?;
                Ok(Evaluated { values, source_bytes: text.len(), source_text: Some(text), source_error: None })
            }
        }
    }

    fn evaluate_response(
        &self,
        engine: &dyn QueryEngine,
        id: ResponseId,
        prepared: &Prepared,
        limits: &QueryLimits,
    ) -> Result<Evaluated> {
        let (summary, kept) = self.recorded_with(id)?;
        let file = kept.parse()?;
        let text = file.response.body.0.get();
        let problem = (summary.state == ResponseState::Error)
            .then(|| summary.error.unwrap_or_else(|| "an error without a message".to_owned()));
        if let (None, Some(problem)) = (summary.status, &problem)
            && prepared.portable.trim() != "."
        {
            return Err(WorkspaceError::NoAnswer { id, problem: problem.clone() });
        }
        match (self.run(engine, prepared, text, limits), problem) {
            (Err(WorkspaceError::Query { source: source @ QueryError::Runtime { .. } }), Some(problem)) => {
                Err(WorkspaceError::QueryOnError { id, problem, source })
            }
            (Err(error), _) => Err(error),
            (Ok(values), problem) => {
                let source_error = problem.map(|problem| format!("`{id}` is an error response: {problem}"));
                Ok(Evaluated { values, source_bytes: text.len(), source_text: None, source_error })
            }
        }
    }

    /// Runs the engine, with the workspace variables that the program names bound to their values.
    fn run(
        &self,
        engine: &dyn QueryEngine,
        prepared: &Prepared,
        input: &str,
        limits: &QueryLimits,
    ) -> Result<Vec<String>> {
        let identity = prepared.portable.trim() == ".";
        if identity && serde_json::from_str::<IgnoredAny>(input).is_ok() {
            return Ok(vec![without_space(input)]);
        }
        let mut bound = Vec::new();
        for name in sugar::variable_names(&prepared.program) {
            if let Some(text) = self.var_text(&name)? {
                bound.push((name, text));
            }
        }
        let result = if bound.is_empty() {
            engine.run(&prepared.portable, input.as_bytes(), limits)
        } else {
            let (program, input) = bind(&bound, &prepared.portable, input);
            engine.run(&program, input.as_bytes(), limits)
        };
        let output =
            result.map_err(|error| WorkspaceError::Query { source: name_program(error, &prepared.program) })?;
        Ok(output.values)
    }

    fn log_query(
        &self,
        request: &QueryRequest,
        prepared: &Prepared,
        evaluated: &Evaluated,
        saved: Option<&str>,
    ) -> Result<CommandId> {
        let kind = if request.save_as.is_some() { CommandKind::Extract } else { CommandKind::Query };
        let params = serde_json::json!({
            "source": source_name(&request.source),
            "program": prepared.program,
            "unwrap_mcp": request.unwrap_mcp,
            "save_as": request.save_as,
        });
        let flow = request.flow.as_ref().map(FlowName::as_str);
        self.transact("log the query", |transaction| {
            let command = NewCommand::local(kind, params.to_string(), request.at, flow).append(transaction)?;
            insert_query(transaction, command, request, prepared, evaluated)?;
            if let (Some(name), Some(text)) = (&request.save_as, saved) {
                let source = match request.source {
                    QuerySource::Response(id) => Some((id, prepared.portable.as_str())),
                    QuerySource::Variable(_) | QuerySource::Text(_) => None,
                };
                variable::put(transaction, &NewVariable { name, text, source, command, at: request.at })?;
            }
            Ok(command)
        })
    }
}

fn insert_query(
    transaction: &Connection,
    command: CommandId,
    request: &QueryRequest,
    prepared: &Prepared,
    evaluated: &Evaluated,
) -> rusqlite::Result<()> {
    let (response, variable) = match &request.source {
        QuerySource::Response(id) => (Some(to_i64(id.0)), None),
        QuerySource::Variable(name) => (None, Some(name)),
        QuerySource::Text(_) => (None, None),
    };
    let result = evaluated.values.join("\n");
    let size = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    let sql = "INSERT INTO queries (command_sequence, source_response, source_variable, program, unwrap_mcp, saved_as, \
               source_bytes, result_bytes, source_text, result_text) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    transaction.prepare_cached(sql)?.execute(rusqlite::params![
        to_i64(command.0),
        response,
        variable,
        prepared.program,
        request.unwrap_mcp,
        request.save_as,
        size(evaluated.source_bytes),
        size(result.len()),
        evaluated.source_text,
        result,
    ])?;
    Ok(())
}

/// Removes sugar and puts the unwrapping in front.
fn prepare(program: &str, unwrap_mcp: bool) -> Prepared {
    if !unwrap_mcp {
        let program = desugar(program);
        return Prepared { portable: program.clone(), program };
    }
    let program = match sugar::strip_bare_content(program) {
        Some(rest) => format!(".{rest}"),
        None => desugar(program),
    };
    Prepared { portable: format!("{UNWRAP} | {program}"), program }
}

/// Puts variables and input into one document: a program is bounded in size, its input hardly.
fn bind(bound: &[(String, String)], program: &str, input: &str) -> (String, String) {
    let values: Vec<&str> = bound.iter().map(|(_, text)| text.as_str()).collect();
    let names: String =
        bound.iter().enumerate().map(|(place, (name, _))| format!(".v[{place}] as ${name} | ")).collect();
    (format!("{names}.i | {program}"), format!("{{\"v\":[{}],\"i\":{input}}}", values.join(",")))
}

/// Names the program that the user wrote, not the one with our prefix.
fn name_program(error: QueryError, written: &str) -> QueryError {
    let program = written.to_owned();
    match error {
        QueryError::Syntax { message, .. } => QueryError::Syntax { program, message },
        QueryError::Runtime { message, .. } => QueryError::Runtime { program, message },
        QueryError::Limit { limit, .. } => QueryError::Limit { program, limit },
        other => other,
    }
}

/// The value that `-s` keeps: one output as it is, several as an array.
fn saved_value(program: &str, values: &[String]) -> Result<String> {
    match values {
        [] => Err(WorkspaceError::NotOneValue { program: program.to_owned(), count: 0 }),
        [one] => Ok(one.clone()),
        several => Ok(format!("[{}]", several.join(","))),
    }
}

fn source_name(source: &QuerySource) -> String {
    match source {
        QuerySource::Response(id) => id.to_string(),
        QuerySource::Variable(name) => format!("${name}"),
        QuerySource::Text(_) => "stdin".to_owned(),
    }
}

/// Returns a JSON text without the white space between its tokens. This is what `.` gives, and a whole body is the
/// most common thing that a flow asks for: starting the engine for it would cost more than the call.
fn without_space(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    let (mut inside, mut escaped) = (false, false);
    for character in json.chars() {
        match (inside, character) {
            (false, ' ' | '\t' | '\n' | '\r') => continue,
            (false, '"') => inside = true,
            (true, '"') if !escaped => inside = false,
            _ => {}
        }
        escaped = inside && character == '\\' && !escaped;
        compact.push(character);
    }
    compact
}

#[cfg(test)]
mod tests {
    use super::without_space;

    #[test]
    fn only_space_between_tokens_goes() {
        let cases = [
            (" { \"a b\" : [ 1 , 2.50 ] }\n", r#"{"a b":[1,2.50]}"#),
            (r#""a \" b \\" "#, r#""a \" b \\""#),
            (r#"["\\", " "]"#, r#"["\\"," "]"#),
            ("null", "null"),
        ];
        for (json, compact) in cases {
            assert_eq!(without_space(json), compact);
        }
    }
}
