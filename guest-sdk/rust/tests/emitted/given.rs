//! Does what is given.

use rote_sdk::{Response, Result, Rote, Value, ensure, json};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number};

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "due-date")]
    due_date: Option<String>,
    estimate: Option<Map<String, Value>>,
    labels: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    note: Option<Value>,
    #[serde(rename = "pageSize")]
    page_size: i64,
    priority: String,
    share: Number,
    title: String,
    #[serde(rename = "type")]
    type_: Value,
}

#[rote_sdk::flow]
fn main(cx: &Rote, params: Params) -> Result<Value> {
    let tracker = cx.adapter("tracker");

    // Typed by hand for @1: project.
    let issues = tracker.call(
        "listIssues",
        &json!({ "project": "atlas", "size": params.page_size }),
    )?;

    // Typed by hand for @2: more.odd key.
    let mut arguments = json!({
        "title": format!("Copy of {} `${{1}}` {{{}}} {}", params.title, params.share, text(&one(&issues, "[.items[].id]")?)),
        "key": text(&one(&issues, ".items | length")?),
        "parent": one_with(&issues, ".items[] | select(.title == $title) | .id", &[("title", json!(params.title))])?,
        "others": issues.query_with::<Vec<Value>>("[.items[].n | select(. >= $n) # all\n]", &[("n", one(&issues, ".items[0].n")?)])?,
        "priority": params.priority,
        "more": { "odd key": [1, 5000000000_i64, 0.5_f64, null] },
        "type": params.type_,
        "note": match &params.note { Some(value) => json!(value), None => json!("none") },
        "share": params.share,
    });
    if let Some(value) = &params.labels {
        arguments["labels"] = json!(value);
    }
    if let Some(value) = &params.due_date {
        arguments["more"]["due"] = json!(value);
    }
    if let Some(value) = &params.estimate {
        arguments["more"]["estimate"] = json!(value);
    }
    let issue = tracker.call("createIssue", &arguments)?;

    let mut result = json!({
        "id": issue.query::<Value>(".id")?,
        "none": issue.query::<Value>(".missing")?,
    });
    if let Some(value) = &params.note {
        result["note"] = json!(value);
    }
    Ok(result)
}

/// Returns the one output of a jq program; null is not one.
fn one(response: &Response, program: &str) -> Result<Value> {
    let value: Value = response.query(program)?;
    ensure!(!value.is_null(), "`{program}` of @{} is null", response.id());
    Ok(value)
}

/// Returns the one output of a jq program with variables; null is not one.
fn one_with(response: &Response, program: &str, values: &[(&str, Value)]) -> Result<Value> {
    let value: Value = response.query_with(program, values)?;
    ensure!(!value.is_null(), "`{program}` of @{} is null", response.id());
    Ok(value)
}

/// Returns a value as it stands inside text.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads a value that is there, null too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

pub(super) fn run(host: &rote_sdk::testing::FakeHost, parameters: Value) -> Result<Value> {
    host.run(main, parameters)
}
