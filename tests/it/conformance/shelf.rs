//! The API that the conformance flows call: every answer is the same each time, but for the calls that are held.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rote_testkit::{FakeApi, Received, Script};
use serde_json::{Value, json};

/// Longest that a call is held. A test that runs into it fails; it only keeps a broken one from hanging.
const MAX_HOLD: Duration = Duration::from_secs(20);

/// Calls that are held until another call releases one of them.
#[derive(Default)]
struct Gate {
    /// How many are held, and how many may go.
    state: Mutex<(usize, usize)>,
    changed: Condvar,
}

impl Gate {
    /// Notes an arrival and waits for a release.
    fn hold(&self) {
        self.change(|(held, _)| *held += 1);
        self.wait(|(_, free)| *free > 0);
        self.change(|(held, free)| (*held, *free) = (held.saturating_sub(1), free.saturating_sub(1)));
    }

    fn change(&self, change: impl FnOnce(&mut (usize, usize))) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    fn wait(&self, until: impl Fn(&(usize, usize)) -> bool) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, MAX_HOLD, |state| !until(state));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Starts the API.
pub(super) fn start() -> FakeApi {
    let gate = Arc::new(Gate::default());
    FakeApi::start(move |request| answer(&gate, request))
}

fn answer(gate: &Gate, request: &Received) -> Script {
    let plain = |status: u16, kind: &str, body: &[u8]| {
        Script::Answer(status, vec![("content-type".to_owned(), kind.to_owned())], body.to_vec())
    };
    let path = request.target.split('?').next().unwrap_or_default();
    match (request.method.as_str(), path) {
        ("GET", "/items") => items(&request.target),
        ("POST", "/items") => {
            let sent: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            Script::Json(201, json!({ "id": 12, "sent": sent }))
        }
        ("GET", "/items/7") => Script::Json(200, item(7)),
        ("GET", "/items/404") => Script::Json(404, json!({ "message": "there is no such item" })),
        ("GET", "/document") => Script::Json(200, document()),
        ("GET", "/text") => plain(200, "text/plain; charset=utf-8", "one line, grüße\n".as_bytes()),
        ("GET", "/nothing") => Script::Answer(204, Vec::new(), Vec::new()),
        ("GET", "/bytes") => plain(200, "application/octet-stream", &[0, 159, 146, 150, 255]),
        ("GET", "/failing") => Script::Json(500, json!({ "message": "out of order" })),
        ("GET", "/closing") => Script::Close,
        ("GET", "/hold") => {
            gate.hold();
            Script::Json(200, json!({ "held": true }))
        }
        ("GET", "/arrived") => {
            gate.wait(|(held, _)| *held > 0);
            Script::Json(200, json!({ "arrived": true }))
        }
        ("GET", "/release") => {
            gate.change(|(_, free)| *free += 1);
            Script::Json(200, json!({ "released": true }))
        }
        ("GET", "/me") => Script::Json(200, json!({ "credential": request.header("authorization") })),
        _ => Script::Json(418, json!({ "message": "the flows never call this" })),
    }
}

fn item(id: u64) -> Value {
    json!({ "id": id, "name": "grüße", "count": 2, "none": null })
}

fn items(target: &str) -> Script {
    let all = [item(7), item(8)];
    let shown = if target.ends_with("limit=1") { &all[..1] } else { &all[..] };
    Script::Json(200, json!(shown))
}

/// What the cases about queries read; the flows have the same as a value.
fn document() -> Value {
    let items = json!([{ "name": "a", "count": 1 }, { "name": "b", "count": 2 }, { "name": "c", "count": 3 }]);
    json!({
        "items": items,
        "owner": { "login": "ada" },
        "packed": r#"{"inner":[{"x":[1,2]}]}"#,
        "odd": { "odd.name": [5] },
    })
}
