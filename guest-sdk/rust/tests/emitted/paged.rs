//! Does what is paged.

use std::cmp::Ordering;

use rote_sdk::{Error, Response, Result, Rote, Value, bail, ensure, json};
use serde::Deserialize;

#[derive(Deserialize)]
struct Params {
    id: String,
    state: Option<String>,
}

#[rote_sdk::flow]
fn main(cx: &Rote, params: Params) -> Result<Value> {
    let shop = cx.adapter("shop");

    let mut arguments = json!({ "size": 2 });
    if let Some(value) = &params.state {
        arguments["state"] = json!(value);
    }
    let orders = pages(
        cx,
        [".next", ".items"],
        arguments,
        |said, _| Ok(("cursor", said)),
        |arguments| shop.call("listOrders", arguments),
    )?;

    for order in all_of_pages(cx, &orders, ".items[] | select(.n > 1)", &[])? {
        shop.call("getOrder", &json!({ "id": field(&order, "/id")? }))?;
    }

    if all_of_pages(cx, &orders, ".items[0]", &[])?.iter().any(|output| !output.is_null()) {
        shop.call(
            "count",
            &json!({
                "count": one_of_pages(cx, &orders, ".items | length", &[])?,
                "named": one_of_pages(cx, &orders, ".items | map(select(.id == $id)) | length", &[("id", json!(params.id))])?,
            }),
        )?;
    }

    if compare(&of_pages(cx, &orders, ".items | length", &[])?, &json!(2))?.is_gt() {
        let notes = pages(
            cx,
            [".next", ".items"],
            json!({}),
            |_, read| Ok(("page", json!(1 + read))),
            |arguments| shop.call("listNotes", arguments),
        )?;
        shop.call(
            "addNote",
            &json!({ "after": one_of_pages(cx, &notes, ".items[-1].text", &[])? }),
        )?;
    }

    let tags = pages(
        cx,
        [".next", ".items"],
        json!({}),
        only_page,
        |arguments| shop.call("listTags", arguments),
    )?;

    Ok(json!({
        "orders": orders.clone(),
        "next": of_pages(cx, &orders, ".next", &[])?,
        "tags": of_pages(cx, &tags, ".items", &[])?,
    }))
}

/// Reads a list page by page, as long as an answer says that there is another one: the last answer with the items of all.
fn pages(
    cx: &Rote,
    [next, items]: [&str; 2],
    mut arguments: Value,
    turn: impl Fn(Value, usize) -> Result<(&'static str, Value)>,
    call: impl Fn(&Value) -> Result<Response>,
) -> Result<Value> {
    let (mut read, mut named) = (Vec::new(), Vec::new());
    loop {
        let answer = call(&arguments)?;
        read.push(answer.json::<Value>()?);
        let said = cx.query(&answer).pipe(next).all::<Value>()?.into_iter().next();
        let Some(said) = said.filter(|said| !said.is_null() && *said != false && *said != "") else { break };
        let (argument, page) = turn(said, read.len())?;
        ensure!(!named.contains(&page), "page {page} is named twice, so the pages do not end");
        ensure!(read.len() < 100, "the list has more than 100 pages");
        arguments[argument] = page.clone();
        named.push(page);
    }
    if read.len() == 1 {
        return Ok(read.remove(0));
    }
    let join = format!("[.[] | ({items} // [])[]] as $items | .[-1] | {items} = $items");
    cx.query_value(&read)?.pipe(&join).execute()
}

/// Stops where a list has another page.
fn only_page(_: Value, _: usize) -> Result<(&'static str, Value)> {
    bail!("the list has another page, and only one can be read")
}

/// Returns the one output of a jq program on all pages of a list; null is not one.
fn one_of_pages(cx: &Rote, list: &Value, program: &str, values: &[(&str, Value)]) -> Result<Value> {
    let value = of_pages(cx, list, program, values)?;
    ensure!(!value.is_null(), "`{program}` of all pages is null");
    Ok(value)
}

/// Returns the one output of a jq program on all pages of a list.
fn of_pages(cx: &Rote, list: &Value, program: &str, values: &[(&str, Value)]) -> Result<Value> {
    let mut outputs = all_of_pages(cx, list, program, values)?;
    ensure!(outputs.len() == 1, "`{program}` of all pages has {} outputs, one is needed", outputs.len());
    Ok(outputs.remove(0))
}

/// Returns the outputs of a jq program on all pages of a list.
fn all_of_pages(cx: &Rote, list: &Value, program: &str, values: &[(&str, Value)]) -> Result<Vec<Value>> {
    let bound: String = values.iter().map(|(name, value)| format!("({value}) as ${name} | ")).collect();
    cx.query_value(list)?.pipe(&(bound + program)).all()
}

/// Returns what an item has at this JSON pointer, which must be something.
fn field(item: &Value, pointer: &str) -> Result<Value> {
    match item.pointer(pointer) {
        None | Some(Value::Null) => bail!("`{pointer}` of an item is missing"),
        Some(value) => Ok(value.clone()),
    }
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
