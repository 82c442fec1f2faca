//! Does what is asked.

use std::cmp::Ordering;

use rote_sdk::{Error, Response, Result, Rote, Value, bail, ensure, json};
use serde::Deserialize;

#[derive(Deserialize)]
struct Params {
    rest: Option<i64>,
    title: String,
}

#[rote_sdk::flow]
fn main(cx: &Rote, params: Params) -> Result<Value> {
    let tracker = cx.adapter("tracker");

    // Typed by hand for @1: issue_id.
    let issue = tracker.call("getIssue", &json!({ "issue_id": 7 }))?;

    let closed_issue = if issue.query::<Value>(".state")? != "open"
        && (compare(&issue.query::<Value>(".n")?, &json!(2))?.is_gt() || compare(&issue.query::<Value>(".title")?, &json!(params.title))?.is_le())
        && !exists(&issue, ".gone", &[])?
        && issue.query::<Value>(".ok")? == true
    {
        let closed_issue = tracker.call_bg("closeIssue", &())?;
        // Typed by hand for @3: body.
        let comment = tracker.call_bg("addComment", &json!({ "body": "both" }))?;
        let closed_issue = closed_issue.wait()?;
        comment.wait()?;
        Some(closed_issue)
    } else {
        None
    };

    if contains(&issue.query::<Value>(".labels")?, &json!("bug"))? {
        tracker.call("addLabels", &())?;
    }

    if params.rest.is_some() {
        let mut arguments = json!({});
        if let Some(value) = &params.rest {
            arguments["rest"] = json!(value);
        }
        tracker.call("setRest", &arguments)?;
    }

    if let Some(closed_issue) = &closed_issue {
        tracker.call("addLink", &json!({ "to": one(closed_issue, ".id")? }))?;
    }

    if !(match &closed_issue { Some(closed_issue) => exists(closed_issue, ".id", &[])?, None => false })
    {
        tracker.call("open", &())?;
    }

    if same(&issue.query::<Value>(".labels")?, &issue.query::<Value>(".marks")?) {
        tracker.call("same", &())?;
    }

    if json!(params.rest).is_null() {
        tracker.call("none", &())?;
    }

    if false {
        tracker.call("never", &())?;
    }

    let Some(closed_issue) = &closed_issue else { bail!("the result needs `s2`, which was skipped") };
    Ok(json!([closed_issue.query::<Value>(".id")?]))
}

/// Returns the one output of a jq program; null is not one.
fn one(response: &Response, program: &str) -> Result<Value> {
    let value: Value = response.query(program)?;
    ensure!(!value.is_null(), "`{program}` of @{} is null", response.id());
    Ok(value)
}

/// Whether a jq program has an output other than null.
fn exists(response: &Response, program: &str, values: &[(&str, Value)]) -> Result<bool> {
    let outputs: Vec<Value> = response.query_with(&format!("[{program}\n]"), values)?;
    Ok(outputs.iter().any(|output| !output.is_null()))
}

/// Whether two values are the same JSON; numbers by what they are, however they are written.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, one)| right.get(name).is_some_and(|other| same(one, other)))
        }
        _ => left == right,
    }
}

/// Puts two numbers or two texts in order.
fn compare(left: &Value, right: &Value) -> Result<Ordering> {
    let numbers = left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right));
    let texts = || Some(left.as_str()?.cmp(right.as_str()?));
    numbers.or_else(texts).ok_or_else(|| Error::msg("two numbers or two texts are needed"))
}

/// Whether a text has this part, an array this item, an object this member.
fn contains(container: &Value, part: &Value) -> Result<bool> {
    match (container, part) {
        (Value::String(text), Value::String(part)) => Ok(text.contains(part)),
        (Value::Object(members), Value::String(name)) => Ok(members.contains_key(name)),
        (Value::Array(items), item) => Ok(items.iter().any(|one| same(one, item))),
        _ => bail!("a text, an array or an object is needed"),
    }
}

pub(super) fn run(host: &rote_sdk::testing::FakeHost, parameters: Value) -> Result<Value> {
    host.run(main, parameters)
}
