//! The imports as functions of one JavaScript object, which only the SDK gets to see.
//!
//! A function takes strings, numbers and byte arrays and returns an outcome ([`crate::wire`]); it has no logic.

use rquickjs::prelude::Func;
use rquickjs::{Ctx, Object, Result, TypedArray, Value};
use serde_json::Value as Json;

use crate::milliseconds;
use crate::rote::host::{clock, files, flows, log, output, query, tasks, tools, vars};
use crate::wire::{array, outcome, response_text};

/// Returns the object.
pub(crate) fn object<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let natives = Object::new(ctx.clone())?;
    add_calls(&natives)?;
    add_workspace(&natives)?;
    add_output(&natives)?;
    Ok(natives)
}

fn add_calls(natives: &Object<'_>) -> Result<()> {
    natives.set("start", Func::from(start))?;
    natives.set("waitAny", Func::from(wait_any))?;
    natives.set("cancel", Func::from(|task: u32| outcome(tasks::cancel(task), nothing)))?;
    natives.set("progress", Func::from(progress))?;
    natives.set(
        "probe",
        Func::from(|adapter: String, intent: String, limit: u32| {
            outcome(tools::probe(&adapter, &intent, limit), |found| array(&found))
        }),
    )?;
    natives.set("status", Func::from(|adapter: String| outcome(tools::status(&adapter), |status| status)))?;
    natives.set(
        "runFlow",
        Func::from(|name: String, parameters: String| outcome(flows::run(&name, &parameters), |result| result)),
    )
}

fn add_workspace(natives: &Object<'_>) -> Result<()> {
    natives.set(
        "getVariable",
        Func::from(|name: String| {
            outcome(vars::get(&name), |value| value.map_or_else(|| "[]".to_owned(), |value| array(&[value])))
        }),
    )?;
    natives.set("setVariable", Func::from(|name: String, value: String| outcome(vars::set(&name, &value), nothing)))?;
    natives.set("variableNames", Func::from(|| outcome(vars::names(), |names| Json::from(names).to_string())))?;
    natives.set("writeFile", Func::from(write_file))?;
    natives.set("readFile", Func::from(read_file))?;
    natives.set("fileNames", Func::from(file_names))?;
    natives.set("queryResponse", Func::from(query_response))?;
    natives.set(
        "queryValue",
        Func::from(|input: String, program: String| outcome(query::value(&input, &program), |outputs| array(&outputs))),
    )
}

fn add_output(natives: &Object<'_>) -> Result<()> {
    natives.set("now", Func::from(|| milliseconds(clock::now())))?;
    natives.set("elapsed", Func::from(|| milliseconds(clock::elapsed())))?;
    natives.set("sleep", Func::from(sleep))?;
    natives.set("random", Func::from(random))?;
    natives.set("human", Func::from(|text: String| output::human(&text)))?;
    natives.set("summary", Func::from(|text: String| output::summary(&text)))?;
    natives.set("result", Func::from(|value: String| outcome(output::result(&value), nothing)))?;
    natives.set("log", Func::from(write_log))
}

fn start(adapter: String, tool: String, arguments: String) -> String {
    let call = tools::ToolCall { adapter, tool, arguments };
    outcome(tools::start(&call), |task| task.to_string())
}

/// The SDK gives whole milliseconds that fit a double exactly.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn sleep(milliseconds: f64) {
    clock::sleep(milliseconds as u64);
}

fn wait_any(open: Vec<u32>) -> String {
    outcome(tasks::wait_any(&open), |(index, answer)| format!("[{index},{}]", outcome(answer, response_text)))
}

fn progress(label: String, state: String) {
    let state = match state.as_str() {
        "done" => tasks::State::Done,
        "failed" => tasks::State::Failed,
        "skipped" => tasks::State::Skipped,
        _ => tasks::State::Running,
    };
    tasks::progress(&label, state);
}

fn write_file(name: String, content: TypedArray<'_, u8>) -> String {
    // SAFETY: no script runs while the host reads the bytes, so they neither move nor change. A detached array has none.
    let content = unsafe { content.as_bytes() }.unwrap_or_default();
    outcome(files::write(&name, content), nothing)
}

/// Returns the bytes, or the outcome of a failure.
fn read_file(ctx: Ctx<'_>, name: String) -> Result<Value<'_>> {
    match files::read(&name) {
        Ok(content) => Ok(TypedArray::new(ctx, content)?.into_value()),
        Err(error) => Ok(rquickjs::String::from_str(ctx, &outcome(Err(error), |()| String::new()))?.into_value()),
    }
}

fn file_names() -> String {
    let one = |file: files::File| serde_json::json!({ "name": file.name, "bytes": file.bytes });
    outcome(files::names(), |names| Json::from_iter(names.into_iter().map(one)).to_string())
}

fn query_response(id: f64, program: String) -> String {
    // Numbers that are not numbers of a response become 0, which names none.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let id = id as u64;
    outcome(query::response(id, &program), |outputs| array(&outputs))
}

fn random(ctx: Ctx<'_>, length: u32) -> Result<TypedArray<'_, u8>> {
    TypedArray::new(ctx, clock::random(length))
}

fn write_log(level: String, message: String) {
    let level = match level.as_str() {
        "debug" => log::Level::Debug,
        "warn" => log::Level::Warn,
        "error" => log::Level::Error,
        _ => log::Level::Info,
    };
    log::write(level, &message);
}

fn nothing((): ()) -> String {
    "null".to_owned()
}
