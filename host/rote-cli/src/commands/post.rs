//! `rote POST adapter/<id>`.

use clap::Args;
use rote_app::BatchPlan;
use serde_json::{Map, Value, json};

use crate::commands::batch::{MAX_PARALLEL, run_batch};
use crate::commands::call::{Options, Wish, text_of};
use crate::context::Context;
use crate::error::{Result, usage};
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

const HINT: &str =
    r#"rote POST adapter/ID '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TOOL","arguments":{}}}'"#;

impl Post {
    pub(super) fn run(self, context: &Context, ui: &mut Ui<'_>) -> Result<Report> {
        let Some(id) = self.endpoint.strip_prefix("adapter/").filter(|id| !id.is_empty()) else {
            return Err(usage(format!("`{}` is no endpoint of the form `adapter/ID`", self.endpoint), HINT));
        };
        let text = text_of(context, &self.message)?;
        let message: Value =
            serde_json::from_str(&text).map_err(|error| usage(format!("the message is not JSON: {error}"), HINT))?;
        let (tool, arguments) = tools_call(&message)?;
        let verb = tool.strip_prefix(&format!("{}_", id.replace(['-', '.'], "_")));
        let wish = match verb {
            Some("probe") => return probe(context, id, &arguments),
            Some("batch_call") => return batch(context, ui, id, &arguments, self.options.templates),
            Some("call") => {
                let tool = arguments.get("tool_name").and_then(Value::as_str);
                let tool = tool.ok_or_else(|| usage("`tool_name` is missing", HINT))?.to_owned();
                let inner = arguments.get("arguments").and_then(Value::as_object).cloned();
                let arguments = inner.unwrap_or_default();
                Wish { id: id.to_owned(), tool, arguments, parameters: Vec::new() }
            }
            _ => Wish { id: id.to_owned(), tool, arguments, parameters: Vec::new() },
        };
        self.options.call(context, ui, wish)
    }
}

/// Takes the tool's name and its arguments out of a `tools/call` request.
fn tools_call(message: &Value) -> Result<(String, Map<String, Value>)> {
    if message["method"] != "tools/call" {
        return Err(usage("the message is no `tools/call` request", HINT));
    }
    let params = &message["params"];
    let name = params["name"].as_str().ok_or_else(|| usage("`params.name` is missing", HINT))?;
    match &params["arguments"] {
        Value::Null => Ok((name.to_owned(), Map::new())),
        Value::Object(fields) => Ok((name.to_owned(), fields.clone())),
        _ => Err(usage("`params.arguments` is not an object", HINT)),
    }
}

fn batch(
    context: &Context,
    ui: &mut Ui<'_>,
    id: &str,
    arguments: &Map<String, Value>,
    templates: bool,
) -> Result<Report> {
    let calls = arguments.get("calls").ok_or_else(|| usage("`calls` is missing", HINT))?;
    let calls = serde_json::from_value(calls.clone())
        .map_err(|error| usage(format!("`calls` is not a list of tool calls: {error}"), HINT))?;
    let parallel = arguments.get("parallel").and_then(Value::as_u64).unwrap_or(1).clamp(1, MAX_PARALLEL.unsigned_abs());
    let plan = BatchPlan { parallel: usize::try_from(parallel).unwrap_or(1), templates };
    run_batch(context, ui, id, calls, plan)
}

fn probe(context: &Context, id: &str, arguments: &Map<String, Value>) -> Result<Report> {
    let query = arguments.get("query").and_then(Value::as_str);
    let query = query.ok_or_else(|| usage("`query` is missing", HINT))?;
    let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(10).clamp(1, 50);
    let found = context.app()?.probe(id, query, usize::try_from(limit).unwrap_or(10))?;
    let text = hits(&found, false);
    Ok(Report::new(json!({ "intent": query, "tools": found }), text))
}
