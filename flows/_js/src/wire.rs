//! The host's values and errors as the JSON texts that pass between the SDK and this component, both ways.
//!
//! An outcome is `{"ok": …}` or `{"err": {"id", "context", "kind": …}}`; kinds and fields are those of `rote:base/types.cause`.
//! `guest-sdk/ts/src/wire.ts` is the other side.

use serde_json::{Value, json};

use crate::rote::base::types::{Cause, Challenge, Denial, Error, Problem, ResponseRef};

/// Returns `{"ok": <json>}` for a JSON text.
pub(crate) fn ok(json: &str) -> String {
    format!(r#"{{"ok":{json}}}"#)
}

/// Returns the outcome of a host call whose value is turned into a JSON text by `text`.
pub(crate) fn outcome<T>(result: Result<T, Error>, text: impl FnOnce(T) -> String) -> String {
    match result {
        Ok(value) => ok(&text(value)),
        Err(error) => json!({ "err": error_json(&error) }).to_string(),
    }
}

/// Returns JSON texts as one JSON array, without reading them.
pub(crate) fn array(texts: &[String]) -> String {
    format!("[{}]", texts.join(","))
}

/// Returns a response's reference as a JSON text.
pub(crate) fn response_text(response: ResponseRef) -> String {
    response_json(&response).to_string()
}

fn response_json(response: &ResponseRef) -> Value {
    let ResponseRef { id, status, content_type, bytes } = response;
    json!({ "id": id, "status": status, "contentType": content_type, "bytes": bytes })
}

/// Returns an error of the template's own.
pub(crate) fn internal(message: String) -> Error {
    Error { id: None, cause: Cause::Internal(message), context: String::new() }
}

fn error_json(error: &Error) -> Value {
    let mut json = cause_json(&error.cause);
    json["id"] = json!(error.id);
    json
}

fn cause_json(cause: &Cause) -> Value {
    let text = |kind: &str, message: &str| json!({ "kind": kind, "message": message });
    match cause {
        Cause::Denied(Denial { rule, message, hint }) => {
            json!({ "kind": "denied", "rule": rule, "message": message, "hint": hint })
        }
        Cause::ConfirmationNeeded(Challenge { tool, impact }) => {
            json!({ "kind": "confirmation-needed", "tool": tool, "impact": impact })
        }
        Cause::Http(response) => json!({ "kind": "http", "response": response_json(response) }),
        Cause::InvalidInput(problems) => {
            let problem = |problem: &Problem| json!({ "pointer": problem.pointer, "message": problem.message });
            json!({ "kind": "invalid-input", "problems": problems.iter().map(problem).collect::<Vec<_>>() })
        }
        Cause::FingerprintMismatch(message) => text("fingerprint-mismatch", message),
        Cause::Auth(message) => text("auth", message),
        Cause::Upstream(message) => text("upstream", message),
        Cause::NotFound(message) => text("not-found", message),
        Cause::Limit(message) => text("limit", message),
        Cause::Internal(message) => text("internal", message),
    }
}

/// Reads the outcome of a script: its result as a JSON text, or the error that ends the run.
pub(crate) fn script_outcome(outcome: &str) -> Result<String, Error> {
    if let Some(result) = outcome.strip_prefix(r#"{"ok":"#).and_then(|rest| rest.strip_suffix('}')) {
        return Ok(result.to_owned());
    }
    match serde_json::from_str::<Value>(outcome) {
        Ok(value) => Err(error_of(&value["err"])),
        Err(error) => Err(internal(format!("the SDK gave an outcome that is not JSON: {error}"))),
    }
}

/// The inverse of [`error_json`]; what it does not know is `internal`.
fn error_of(value: &Value) -> Error {
    let context = value["context"].as_str().unwrap_or_default().to_owned();
    Error { id: value["id"].as_u64(), cause: cause_of(value), context }
}

fn cause_of(value: &Value) -> Cause {
    let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let message = field("message");
    match value["kind"].as_str().unwrap_or_default() {
        "denied" => Cause::Denied(Denial { rule: field("rule"), message, hint: field("hint") }),
        "confirmation-needed" => Cause::ConfirmationNeeded(Challenge { tool: field("tool"), impact: field("impact") }),
        "http" => Cause::Http(response_of(&value["response"])),
        "invalid-input" => Cause::InvalidInput(problems_of(&value["problems"])),
        "fingerprint-mismatch" => Cause::FingerprintMismatch(message),
        "auth" => Cause::Auth(message),
        "upstream" => Cause::Upstream(message),
        "not-found" => Cause::NotFound(message),
        "limit" => Cause::Limit(message),
        _ => Cause::Internal(message),
    }
}

fn response_of(value: &Value) -> ResponseRef {
    ResponseRef {
        id: value["id"].as_u64().unwrap_or_default(),
        status: value["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or_default(),
        content_type: value["contentType"].as_str().unwrap_or_default().to_owned(),
        bytes: value["bytes"].as_u64().unwrap_or_default(),
    }
}

fn problems_of(value: &Value) -> Vec<Problem> {
    let text = |problem: &Value, name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    let problem = |value: &Value| Problem { pointer: text(value, "pointer"), message: text(value, "message") };
    value.as_array().into_iter().flatten().map(problem).collect()
}
