//! Several calls at once, some of which are recorded: all of them are reserved, or nothing changes.

use std::sync::Arc;

use async_trait::async_trait;
use rote_runtime::{Reserved, RunError, ToolHost};
use rote_types::{ResponseId, ResponseRef, ToolCall};
use rote_workspace::Workspace;
use serde_json::json;

use super::{Keys, Nested, Recorded, Resumed, before, key};
use crate::FlowReference;
use crate::run::RunContext;
use crate::run::earlier::Earlier;
use crate::tape::FileTape;
use crate::tests::support::{Fixture, id};

/// Makes no call.
struct Refusing;

#[async_trait]
impl ToolHost for Refusing {
    fn reserve(&self, _calls: &[ToolCall]) -> Result<Vec<Reserved>, RunError> {
        Err(RunError::Host { message: "refused".to_owned() })
    }

    async fn perform(&self, reserved: Reserved) -> Result<ResponseRef, RunError> {
        Err(RunError::Host { message: format!("{} was made", reserved.response) })
    }
}

#[tokio::test]
async fn recorded_answers_are_put_back_when_a_batch_is_refused() {
    let fixture = Fixture::new();
    fixture.set("item", json!("pen"));
    assert!(fixture.call("orders_create", json!({"item": "$item"})).await);
    assert!(fixture.call("orders_get", json!({"id": 3})).await);
    fixture.query(2, ".price", None);
    fixture.crystallize(&[]).await.unwrap();
    let done = fixture.run(&fixture.run_request(&[("item", "cup")])).await.unwrap();
    let workspace = Workspace::open(&fixture.home, &done.workspace).unwrap();
    let redaction = Arc::clone(fixture.runtime.redaction());
    let recorded = Recorded::read(&workspace).unwrap().unwrap();
    let spare = Workspace::create(&fixture.home, &"spare".parse().unwrap(), jiff::Timestamp::UNIX_EPOCH).unwrap();
    let tape = Arc::new(FileTape::begin(&spare, &recorded.header).unwrap());
    let earlier = before(&workspace, &redaction, &Keys::new(&fixture.flows.runner).unwrap(), recorded).unwrap();
    let (_, package) = fixture.flows.library.load(&FlowReference::parse("report").unwrap()).unwrap();
    let context = RunContext::plain(Workspace::open(&fixture.home, &done.workspace).unwrap(), &package.frontmatter);
    let nested = Nested::new(fixture.flows.runner.clone(), context, 0, (tape, Earlier::default(), false));
    let resumed = Resumed::new(Arc::new(Refusing), nested, Arc::new(workspace), redaction, earlier.done);
    let call = |tool: &str, arguments| ToolCall { adapter: id(), tool: tool.to_owned(), arguments };
    let create = call("orders_create", json!({"item": "cup"}));
    let (get, unknown) = (call("orders_get", json!({"id": 3})), call("orders_get", json!({"id": 77})));
    for _ in 0..2 {
        resumed.reserve(&[create.clone(), unknown.clone(), get.clone()]).unwrap_err();
    }
    for (number, call) in [(1, &create), (2, &get)] {
        let reserved = resumed.reserve(std::slice::from_ref(call)).unwrap().remove(0);
        assert_eq!(reserved.response, ResponseId(number), "it is still recorded");
        assert_eq!(resumed.perform(reserved).await.unwrap().id, ResponseId(number));
        resumed.reserve(std::slice::from_ref(call)).unwrap_err();
    }
}

#[test]
fn neighbouring_ids_are_different_steps() {
    let fixture = Fixture::new();
    let of = |number: u64| {
        let call = ToolCall { adapter: id(), tool: "orders_get".to_owned(), arguments: json!({"id": number}) };
        key(fixture.runtime.redaction(), &call).unwrap()
    };
    assert_ne!(of(9_007_199_254_740_993), of(9_007_199_254_740_992));
}
