//! The Rust sources that rote writes for a plan do what the plan did: `forms.json` has its calls and its result. All are
//! written by the tests of the host's crate `rote-flow`, and stand here as they were written.

#![expect(clippy::unwrap_used, reason = "a test")]

use rote_sdk::testing::FakeHost;
use rote_sdk::{Value, json};

#[rustfmt::skip]
#[path = "emitted/absent.rs"]
mod absent;
#[rustfmt::skip]
#[path = "emitted/asked.rs"]
mod asked;
#[rustfmt::skip]
#[path = "emitted/beside.rs"]
mod beside;
#[rustfmt::skip]
#[path = "emitted/found.rs"]
mod found;
#[rustfmt::skip]
#[path = "emitted/given.rs"]
mod given;
#[rustfmt::skip]
#[path = "emitted/made.rs"]
mod made;
#[rustfmt::skip]
#[path = "emitted/paged.rs"]
mod paged;
#[rustfmt::skip]
#[path = "emitted/repeated.rs"]
mod repeated;
#[rustfmt::skip]
#[path = "emitted/waited.rs"]
mod waited;

fn forms() -> Vec<Value> {
    serde_json::from_str(include_str!("emitted/forms.json")).unwrap()
}

fn host(form: &Value) -> FakeHost {
    let host = FakeHost::new();
    for (call, body) in form["answers"].as_object().unwrap() {
        let (adapter, tool) = call.split_once('/').unwrap();
        let in_order = body["$in_order"].as_array().map_or(std::slice::from_ref(body), Vec::as_slice);
        in_order.iter().fold(host.on(adapter, tool), |script, body| script.json(body.clone()));
    }
    // What no answer was written down for is answered with null.
    for call in form["runs"].as_array().unwrap().iter().flat_map(|run| run["calls"].as_array().unwrap()) {
        let (adapter, tool) = (call["adapter"].as_str().unwrap(), call["tool"].as_str().unwrap());
        if form["answers"].get(format!("{adapter}/{tool}")).is_none() {
            host.on(adapter, tool).json(Value::Null);
        }
    }
    host
}

#[test]
fn each_does_what_its_plan_did() {
    let forms = forms();
    assert_eq!(forms.len(), 9);
    for form in &forms {
        let name = form["name"].as_str().unwrap();
        for run in form["runs"].as_array().unwrap() {
            let (host, parameters) = (host(form), run["parameters"].clone());
            let result = match name {
                "absent" => absent::run(&host, parameters),
                "asked" => asked::run(&host, parameters),
                "beside" => beside::run(&host, parameters),
                "found" => found::run(&host, parameters),
                "given" => given::run(&host, parameters),
                "made" => made::run(&host, parameters),
                "paged" => paged::run(&host, parameters),
                "repeated" => repeated::run(&host, parameters),
                "waited" => waited::run(&host, parameters),
                other => panic!("`{other}` is not among the sources"),
            };
            let calls: Vec<Value> = host
                .calls()
                .into_iter()
                .map(|call| json!({"adapter": call.adapter, "tool": call.tool, "arguments": call.arguments}))
                .collect();
            assert_eq!(Value::Array(calls), run["calls"], "{name}");
            assert_eq!(host.slept().as_millis(), u128::from(run["slept"].as_u64().unwrap()), "{name}");
            assert_eq!(result.ok(), run["result"].get("ok").cloned(), "{name}");
        }
    }
}
