//! Does what is made.

use rote_sdk::{Response, Result, Rote, Value, ensure, json};
use serde::Deserialize;

#[derive(Deserialize)]
struct Params {
    email: String,
}

#[rote_sdk::flow]
fn main(cx: &Rote, params: Params) -> Result<Value> {
    let crm = cx.adapter("crm");
    let tracker = cx.adapter("tracker");

    let contacts = crm.call_bg("listContacts", &json!({ "email": params.email }))?;
    let issues = tracker.call_bg("listIssues", &())?;
    let contacts = contacts.wait()?;
    let issues = issues.wait()?;

    let (contact, note) = if contacts.query::<Value>(".items | length")?.as_f64() == Some(0.0) {
        let contact = crm.call_bg("createContact", &json!({ "email": params.email }))?;
        let task = crm.call_bg("createTask", &())?;
        let contact = contact.wait()?;
        let task = task.wait()?;
        // Typed by hand for @4: text.
        let note = crm.call(
            "addNote",
            &json!({
                "contact_id": one(&contact, ".id")?,
                "text": "new",
                "task": one(&task, ".id")?,
            }),
        )?;
        (Some(contact), Some(note))
    } else {
        (None, None)
    };

    let updated_contact = crm.call(
        "updateContact",
        &json!({
            "contact_id": match &contact { Some(contact) => one(contact, ".id")?, None => one(&contacts, ".items[0].id")? },
            "issues": one(&issues, ".items | length")?,
        }),
    )?;

    match &note {
        Some(note) => note.json(),
        None => updated_contact.json(),
    }
}

/// Returns the one output of a jq program; null is not one.
fn one(response: &Response, program: &str) -> Result<Value> {
    let value: Value = response.query(program)?;
    ensure!(!value.is_null(), "`{program}` of @{} is null", response.id());
    Ok(value)
}

pub(super) fn run(host: &rote_sdk::testing::FakeHost, parameters: Value) -> Result<Value> {
    host.run(main, parameters)
}
