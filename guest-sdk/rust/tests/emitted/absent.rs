//! Does what is absent.

use rote_sdk::{Response, Result, Rote, Value, bail, ensure, json};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Params {
    any: Value,
    first: Option<String>,
    items: Option<Vec<Value>>,
    second: Option<String>,
    size: Option<i64>,
}

#[rote_sdk::flow]
fn main(cx: &Rote, params: Params) -> Result<Value> {
    let shop = cx.adapter("shop");

    let mut arguments = json!({
        "text": format!("size {}", text(&given("size", &params.size)?)),
        "list": [given("size", &params.size)?, {}],
    });
    if let Some(value) = match &params.first { Some(value) => Some(json!(value)), None => params.second.as_ref().map(|value| json!(value)) } {
        arguments["either"] = json!(value);
    }
    if let Some(value) = &params.second {
        arguments["list"][1]["deep"] = json!(value);
    }
    let listed_answer = shop.call("list", &arguments)?;

    let mut answers = Vec::new();
    for item in list(given("items", &params.items)?)? {
        let mut arguments = json!({ "item": field(&item, "")?, "more": {} });
        if let Some(value) = &params.first {
            arguments["more"]["first"] = json!(value);
        }
        answers.push(shop.call("get", &arguments)?);
    }

    if answers.iter().map(|answer2| cx.query(answer2).pipe(".ok").all::<Value>()).collect::<Result<Vec<_>>>()?.concat().iter().any(|output| !output.is_null())
    {
        shop.call(
            "count",
            &json!({
                "count": one_with(&listed_answer, "map(select(.k == $k)) | length", &[("k", some("any", json!(params.any))?)])?,
            }),
        )?;
    }

    Ok(json!(params.first))
}

/// Returns the one output of a jq program with variables; null is not one.
fn one_with(response: &Response, program: &str, values: &[(&str, Value)]) -> Result<Value> {
    let value: Value = response.query_with(program, values)?;
    ensure!(!value.is_null(), "`{program}` of @{} is null", response.id());
    Ok(value)
}

/// Returns what an item has at this JSON pointer, which must be something.
fn field(item: &Value, pointer: &str) -> Result<Value> {
    match item.pointer(pointer) {
        None | Some(Value::Null) => bail!("`{pointer}` of an item is missing"),
        Some(value) => Ok(value.clone()),
    }
}

/// Returns the items of an array.
fn list(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(items) => Ok(items),
        other => bail!("an array is needed, not {other}"),
    }
}

/// Returns a parameter that is needed here although a run may be without it.
fn given<T: Serialize>(name: &str, value: &Option<T>) -> Result<Value> {
    match value {
        Some(value) => Ok(json!(value)),
        None => bail!("parameter `{name}` was not given"),
    }
}

/// Returns a value that must not be null.
fn some(name: &str, value: Value) -> Result<Value> {
    ensure!(!value.is_null(), "`${name}` is null");
    Ok(value)
}

/// Returns a value as it stands inside text.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn run(host: &rote_sdk::testing::FakeHost, parameters: Value) -> Result<Value> {
    host.run(main, parameters)
}
