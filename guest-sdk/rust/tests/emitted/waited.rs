//! Does what is waited.

use std::cmp::Ordering;

use rote_sdk::{Error, Response, Result, Rote, Value, bail, ensure, json};
use serde::Deserialize;

#[derive(Deserialize)]
struct Params {
    id: String,
    view: Option<String>,
}

#[rote_sdk::flow]
fn main(cx: &Rote, params: Params) -> Result<Value> {
    let shop = cx.adapter("shop");

    let started_export = shop.call("startExport", &json!({ "id": params.id }))?;

    let mut arguments = json!({ "export": one(&started_export, ".id")? });
    if let Some(value) = &params.view {
        arguments["view"] = json!(value);
    }
    let fetched_export = until(
        cx,
        [r#".status == "done""#, ""],
        arguments,
        [2000, 5],
        |arguments| shop.call("getExport", arguments),
    )?;

    if compare(&fetched_export.query::<Value>(".parts")?, &json!(1))?.is_gt() {
        until(
            cx,
            [r#".status == "done""#, r#".status == "lost""#],
            json!({ "export": one(&started_export, ".id")? }),
            [2000, 2],
            |arguments| shop.call("getArchive", arguments),
        )?;
    }

    shop.call("publish", &json!({ "url": one(&fetched_export, ".url")? }))?;

    fetched_export.query(".parts")
}

/// Returns the one output of a jq program; null is not one.
fn one(response: &Response, program: &str) -> Result<Value> {
    let value: Value = response.query(program)?;
    ensure!(!value.is_null(), "`{program}` of @{} is null", response.id());
    Ok(value)
}

/// Makes a call until something is so of its answer: pauses so many milliseconds between two, and makes so many at most.
fn until(
    cx: &Rote,
    [program, never]: [&str; 2],
    arguments: Value,
    [pause, most]: [u64; 2],
    call: impl Fn(&Value) -> Result<Response>,
) -> Result<Response> {
    for made in 0..most {
        if made > 0 {
            cx.clock().sleep(std::time::Duration::from_millis(pause));
        }
        let answer = call(&arguments)?;
        let says = |program: &str| -> Result<bool> {
            let outputs = cx.query(&answer).pipe(program).all::<Value>()?;
            Ok(outputs.iter().any(|said| !said.is_null() && *said != false))
        };
        if says(program)? {
            return Ok(answer);
        }
        ensure!(never.is_empty() || !says(never)?, "waited in vain for `{program}`: `{never}`");
    }
    bail!("waited in vain: `{program}` was not so in {most} calls")
}

/// Puts two numbers or two texts in order.
fn compare(left: &Value, right: &Value) -> Result<Ordering> {
    let numbers = left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right));
    let texts = || Some(left.as_str()?.cmp(right.as_str()?));
    numbers.or_else(texts).ok_or_else(|| Error::msg("two numbers or two texts are needed"))
}

pub(super) fn run(host: &rote_sdk::testing::FakeHost, parameters: Value) -> Result<Value> {
    host.run(main, parameters)
}
