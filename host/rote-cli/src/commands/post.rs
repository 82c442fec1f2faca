//! `rote POST adapter/<id>`: one JSON-RPC 2.0 message in, one out.
//!
//! A call that was made is a `result` in the shape of MCP's `tools/call`; whatever else came of the message is an
//! `error`, whose code is the one of JSON-RPC 2.0 §5.1 where that has one, else -32000 minus the exit code. The
//! exit code is the one that `rote call` would have. With `--json` the envelope of every command takes the place of
//! the JSON-RPC message.

use clap::Args;
use rote_app::BatchPlan;
use rote_types::escape_hidden;
use serde_json::{Map, Value, json};

use crate::commands::batch::{MAX_PARALLEL, run_batch};
use crate::commands::call::{Options, Wish, text_of};
use crate::context::Context;
use crate::error::{CliError, Result, usage};
use crate::render::adapter::hits;
use crate::ui::{Report, Ui};

/// Send a JSON-RPC `tools/call` to an adapter, as an MCP client would
///
/// The virtual tools `<id>_probe` {query, limit}, `<id>_call` {tool_name, arguments} and `<id>_batch_call` {calls,
/// parallel} are understood.
#[derive(Debug, Args)]
pub struct Post {
    /// `adapter/<id>`
    endpoint: String,
    /// The JSON-RPC message, `@FILE`, or `-` for standard input
    message: String,
    #[command(flatten)]
    options: Options,
}

// Codes of JSON-RPC 2.0 §5.1; from -32000 down to -32099 they are the server's own.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const SERVER_ERROR: i64 = -32000;

const HINT: &str =
    r#"rote POST adapter/ID '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TOOL","arguments":{}}}'"#;

impl Post {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let Some(id) = self.endpoint.strip_prefix("adapter/").filter(|id| !id.is_empty()) else {
            return Err(usage(format!("`{}` is no endpoint of the form `adapter/ID`", self.endpoint), HINT));
        };
        let id = id.to_owned();
        let text = text_of(context, &self.message)?;
        let (request, outcome) = match read(&text) {
            Ok(message) => (message["id"].clone(), self.answer(context, ui, &id, &message)),
            Err((request, failure)) => (request, Err(failure)),
        };
        if ui.json {
            return outcome.map_err(|failure| failure.error);
        }
        if let Err(Failure { error: CliError::BrokenPipe, .. }) = outcome {
            return Err(CliError::BrokenPipe);
        }
        // What is echoed would otherwise be the one place that shows what was typed.
        let request = match request {
            Value::Null => request,
            request => context.app()?.masked_value(&request),
        };
        let masked = |failure: Failure| Failure { error: context.masked(failure.error), ..failure };
        Ok(reply(&request, outcome.map_err(masked)))
    }

    /// Does what the message asks for.
    fn answer(self, context: &Context, ui: &mut Ui<'_>, id: &str, message: &Value) -> Result<Report, Failure> {
        let (tool, arguments) = tools_call(message)?;
        let only = |known: &[&str]| only(&arguments, "params.arguments", known);
        let verb = tool.strip_prefix(&format!("{}_", id.replace(['-', '.'], "_")));
        let wish = match verb {
            Some("probe") => {
                only(&["query", "limit"])?;
                return Ok(probe(context, id, &arguments)?);
            }
            Some("batch_call") => {
                only(&["calls", "parallel"])?;
                return Ok(batch(context, ui, id, &arguments, &self.options)?);
            }
            Some("call") => {
                only(&["tool_name", "arguments"])?;
                let tool = arguments.get("tool_name").and_then(Value::as_str);
                let tool = tool.ok_or_else(|| usage("`tool_name` is missing", HINT))?.to_owned();
                let arguments = object(arguments.get("arguments"), "params.arguments.arguments")?;
                Wish { id: id.to_owned(), tool, arguments, parameters: Vec::new() }
            }
            _ => Wish { id: id.to_owned(), tool, arguments, parameters: Vec::new() },
        };
        Ok(self.options.call(context, ui, wish)?)
    }
}

/// Why a message has no result.
struct Failure {
    code: i64,
    error: CliError,
}

impl Failure {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, error: usage(message, HINT) }
    }
}

/// A command's own failure: its words are the request's parameters, the rest is this server's.
impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        let code = match error.exit_code() {
            2 => INVALID_PARAMS,
            exit => SERVER_ERROR - i64::from(exit),
        };
        Self { code, error }
    }
}

/// Reads a request; a failure comes with the id that it answers, null when none can be told (JSON-RPC 2.0 §5).
fn read(text: &str) -> Result<Value, (Value, Failure)> {
    let message: Value = serde_json::from_str(text)
        .map_err(|error| (Value::Null, Failure::new(PARSE_ERROR, format!("the message is not JSON: {error}"))))?;
    let invalid = |id: &Value, problem: &str| Err((id.clone(), Failure::new(INVALID_REQUEST, problem)));
    let id = match &message["id"] {
        id @ (Value::String(_) | Value::Number(_)) => id,
        _ => return invalid(&Value::Null, "the message has no `id`, which is a text or a number"),
    };
    let known = ["jsonrpc", "id", "method", "params"];
    if let Some(key) =
        message.as_object().into_iter().flatten().map(|(key, _)| key).find(|key| !known.contains(&key.as_str()))
    {
        return invalid(id, &format!("a request has no member `{key}`"));
    }
    if message["jsonrpc"] != "2.0" {
        return invalid(id, "the message is not of `jsonrpc` version \"2.0\"");
    }
    Ok(message)
}

/// Puts what came of a message into JSON-RPC.
fn reply(request: &Value, outcome: Result<Report, Failure>) -> Report {
    let (exit, done, message) = match outcome {
        Ok(Report { data, text, exit, done, .. }) => {
            let content = json!([{ "type": "text", "text": text }]);
            let result = json!({ "content": content, "structuredContent": data, "isError": exit != 0 });
            (exit, done, json!({ "jsonrpc": "2.0", "id": request, "result": result }))
        }
        Err(Failure { code, error }) => {
            let told = &error.envelope()["error"];
            let data = json!({ "kind": told["kind"], "hint": told["hint"], "details": told["details"] });
            let problem = json!({ "code": code, "message": told["message"], "data": data });
            let done = Some(error.envelope()["error"]["message"].as_str().unwrap_or_default().to_owned());
            (error.exit_code(), done, json!({ "jsonrpc": "2.0", "id": request, "error": problem }))
        }
    };
    Report { exit, done, ..Report::new(&message, escape_hidden(&message.to_string())).verbatim() }
}

/// Takes the tool's name and its arguments out of a `tools/call` request.
fn tools_call(message: &Value) -> Result<(String, Map<String, Value>), Failure> {
    if message["method"] != "tools/call" {
        return Err(Failure::new(METHOD_NOT_FOUND, "the message is no `tools/call` request"));
    }
    let params = object(message.get("params"), "params")?;
    // `_meta` is MCP's own place for what concerns the exchange and not the call.
    only(&params, "params", &["name", "arguments", "_meta"])?;
    let name = params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| usage("`params.name` is missing", HINT))?;
    Ok((name.to_owned(), object(params.get("arguments"), "params.arguments")?))
}

/// Returns the object at `place`; one that is not given is empty.
fn object(value: Option<&Value>, place: &str) -> Result<Map<String, Value>> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(members)) => Ok(members.clone()),
        Some(_) => Err(usage(format!("`{place}` is not an object"), HINT)),
    }
}

/// Refuses what nobody here reads: a call that goes out without what was meant for it is another call.
fn only(members: &Map<String, Value>, place: &str, known: &[&str]) -> Result<()> {
    match members.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let known = known.join(", ");
            Err(usage(format!("`{place}` has no member `{key}`: its members are {known}"), HINT))
        }
    }
}

/// Returns a number from 1 to `most`; `default` where it is not given.
fn number(members: &Map<String, Value>, name: &str, default: u64, most: u64) -> Result<u64> {
    let Some(given) = members.get(name).filter(|given| !given.is_null()) else { return Ok(default) };
    let number = given.as_u64().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| usage(format!("`params.arguments.{name}` is a number from 1 to {most}, not {given}"), HINT))
}

fn batch(
    context: &Context,
    ui: &mut Ui<'_>,
    id: &str,
    arguments: &Map<String, Value>,
    options: &Options,
) -> Result<Report> {
    let calls = arguments.get("calls").ok_or_else(|| usage("`calls` is missing", HINT))?;
    let calls = serde_json::from_value(calls.clone())
        .map_err(|error| usage(format!("`calls` is not a list of tool calls: {error}"), HINT))?;
    let parallel = number(arguments, "parallel", 1, MAX_PARALLEL.unsigned_abs())?;
    let plan = BatchPlan {
        parallel: usize::try_from(parallel).unwrap_or(1),
        references: options.references.chosen(),
        timeout: options.timeout,
    };
    run_batch(context, ui, id, calls, plan)
}

fn probe(context: &Context, id: &str, arguments: &Map<String, Value>) -> Result<Report> {
    let query = arguments.get("query").and_then(Value::as_str);
    let query = query.ok_or_else(|| usage("`query` is missing", HINT))?;
    let limit = number(arguments, "limit", 10, 50)?;
    let found = context.app()?.probe(id, query, usize::try_from(limit).unwrap_or(10))?;
    let text = hits(&found, false);
    Ok(Report::new(json!({ "intent": query, "tools": found }), text))
}
