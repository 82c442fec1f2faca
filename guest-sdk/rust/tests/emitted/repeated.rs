//! Does what is repeated.

use rote_sdk::{Response, Result, Rote, Value, bail, ensure, join_all, json};
use serde::Deserialize;

#[derive(Deserialize)]
struct Params {
    body: String,
    names: Vec<String>,
}

#[rote_sdk::flow]
fn main(cx: &Rote, params: Params) -> Result<Value> {
    let tracker = cx.adapter("tracker");

    let issues = tracker.call("listIssues", &())?;

    let mut calls = Vec::new();
    for issue in cx.query(&issues).pipe(r#".items[] | select(.state == "open")"#).all::<Value>()? {
        calls.push(tracker.call_bg("getIssue", &json!({ "issue_id": field(&issue, "/id")? }))?);
    }
    let fetched_issues = join_all(calls).into_iter().collect::<Result<Vec<_>>>()?;

    let mut comments = Vec::new();
    for (index, issue) in fetched_issues.iter().map(|fetched_issue| one(fetched_issue, ".")).collect::<Result<Vec<_>>>()?.into_iter().enumerate() {
        comments.push(tracker.call(
            "addComment",
            &json!({
                "issue_id": field(&issue, "/owner/id")?,
                "body": format!("{}, {} #{}", params.body, text(&one_of(cx, &issue, r#".labels | join("+")"#)?), index),
                "all": field(&issue, "")?,
            }),
        )?);
    }

    for name in &params.names {
        tracker.call(
            "invite",
            &json!({
                "name": name,
                "of": comments.iter().map(|comment| one(comment, ".id")).collect::<Result<Vec<_>>>()?,
            }),
        )?;
    }

    Ok(json!({
        "comments": comments.iter().map(|comment| comment.query::<Value>(".id")).collect::<Result<Vec<_>>>()?,
        "tags": comments.iter().map(|comment| cx.query(comment).pipe(".tags[]").all::<Value>()).collect::<Result<Vec<_>>>()?.concat(),
    }))
}

/// Returns the one output of a jq program; null is not one.
fn one(response: &Response, program: &str) -> Result<Value> {
    let value: Value = response.query(program)?;
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

/// Returns the one output of a jq program on an item; null is not one.
fn one_of(cx: &Rote, item: &Value, program: &str) -> Result<Value> {
    let value: Value = cx.query_value(item)?.pipe(program).execute()?;
    ensure!(!value.is_null(), "`{program}` of an item is null");
    Ok(value)
}

/// Returns a value as it stands inside text.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn run(host: &rote_sdk::testing::FakeHost, parameters: Value) -> Result<Value> {
    host.run(main, parameters)
}
