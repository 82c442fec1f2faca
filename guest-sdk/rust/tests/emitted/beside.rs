//! Does what is beside.

use rote_sdk::{Response, Result, Rote, Value, bail, ensure, join_all, json};

#[rote_sdk::flow]
fn main(cx: &Rote) -> Result<Value> {
    let shop = cx.adapter("shop");

    let orders = shop.call("listOrders", &())?;

    let mut calls = Vec::new();
    for order in cx.query(&orders).pipe(".items[] | select(.n > 1)").all::<Value>()? {
        calls.push(shop.call_bg("getOrder", &json!({ "id": field(&order, "/id")? }))?);
    }
    let fetched_orders = join_all(calls).into_iter().collect::<Result<Vec<_>>>()?;

    for order in fetched_orders.iter().map(|fetched_order| one(fetched_order, ".")).collect::<Result<Vec<_>>>()? {
        shop.call("tellOwner", &json!({ "to": field(&order, "/owner")? }))?;
    }

    let mut notes = Vec::new();
    for order in orders.query_with::<Vec<Value>>("[[.items[] | select(.n > 1)] as $items | range($items | length) as $at | {s2: $s2[$at], item: $items[$at]}]", &[("s2", json!(fetched_orders.iter().map(|fetched_order| one(fetched_order, ".owner")).collect::<Result<Vec<_>>>()?))])? {
        notes.push(shop.call(
            "addNote",
            &json!({
                "order": field(&order, "/item/id")?,
                "text": format!("for {}", text(&field(&order, "/s2")?)),
            }),
        )?);
    }

    Ok(json!(notes.iter().map(|note| note.query::<Value>(".id")).collect::<Result<Vec<_>>>()?))
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

/// Returns a value as it stands inside text.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn run(host: &rote_sdk::testing::FakeHost, parameters: Value) -> Result<Value> {
    host.run(main, parameters)
}
