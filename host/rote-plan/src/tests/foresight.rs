//! What a later step reads is looked at before an earlier one writes.

use serde_json::{Map, json};

use super::{Fake, plan, step};
use crate::{RunError, run};

/// Runs two reads, a write, and a last step, with this in it; what was started, and the step that stopped the run.
fn ran(last: serde_json::Value, write: serde_json::Value) -> (Vec<String>, Option<String>) {
    let mut list = step("a", "list", json!({}));
    list["on_error"] = json!("stop");
    let mut write = [step("w", "echo", json!({"of": {"$from": {"step": "a", "jq": ".id"}}})), write];
    if let Some(more) = write[1].clone().as_object() {
        write[0].as_object_mut().unwrap().extend(more.clone());
    }
    let mut end = step("z", "echo", json!({}));
    end.as_object_mut().unwrap().extend(last.as_object().unwrap().clone());
    end["after"] = json!(["w"]);
    let plan =
        plan(json!({"version": 1, "steps": [list, write[0], end], "result": {"$from": {"step": "a", "jq": "."}}}));
    let answer = json!({"id": 1, "none": [], "some": [{"id": 5}], "two": [{"id": 5}, {"id": null}]});
    let mut host = Fake { answers: [("list".to_owned(), answer)].into(), ..Fake::default() };
    let ended = run(&plan, &Map::new(), &mut host);
    let stopped = ended.err().map(|error| match error {
        RunError::Reference { by, .. } | RunError::Step { step: by, .. } => by,
        other => format!("{other:?}"),
    });
    (host.started.into_iter().map(|(tool, _)| tool).collect(), stopped)
}

fn from(step: &str, jq: &str) -> serde_json::Value {
    json!({"$from": {"step": step, "jq": jq}})
}

#[test]
fn a_value_that_is_missing_stops_the_run_before_the_write() {
    let stops = |last: serde_json::Value| ran(last, json!({}));
    let before = (vec!["list".to_owned()], Some("z".to_owned()));
    for jq in [".gone", "empty", "both", "boom"] {
        assert_eq!(stops(json!({"arguments": {"x": from("a", jq)}})), before, "{jq}");
        assert_eq!(stops(json!({"arguments": {"x": {"$text": ["no ", from("a", jq)]}}})), before, "{jq}");
    }
    assert_eq!(stops(json!({"for_each": from("a", ".some"), "arguments": {"x": from("a", ".gone")}})), before);
}

#[test]
fn what_may_not_be_needed_is_not_looked_at() {
    let gone = json!({"x": from("a", ".gone")});
    let after = |last: serde_json::Value, write: serde_json::Value| ran(last, write).0.len() > 1;
    assert!(after(json!({"for_each": from("a", ".none"), "arguments": gone}), json!({})), "no items");
    assert!(after(json!({"arguments": gone, "on_error": "continue"}), json!({})), "it may fail");
    assert!(
        after(json!({"arguments": {"x": {"$default": [from("w", ".gone"), 1]}}}), json!({})),
        "it has another value"
    );
    let never = json!({"compare": {"left": from("a", ".id"), "op": "eq", "right": 2}});
    assert!(after(json!({"arguments": gone, "when": never}), json!({})), "it has a condition");
    let depends = json!({"arguments": {"x": from("a", ".gone"), "y": from("w", ".of")}});
    assert_eq!(ran(depends, json!({"when": never})), (vec!["list".to_owned()], None), "it is skipped with another one");
}

#[test]
fn what_one_of_the_items_lacks_stops_the_run_before_the_first_of_them_is_written() {
    let each = |arguments: serde_json::Value| json!({"for_each": from("a", ".two"), "arguments": arguments});
    for arguments in [json!({"x": {"$item": ".id"}}), json!({"x": {"$text": ["no ", {"$item": ".id"}]}})] {
        assert_eq!(ran(each(arguments.clone()), json!({})), (vec!["list".to_owned()], Some("z[1]".to_owned())));
        // The write itself is repeated, before it runs for the first of them.
        let writes = ran(json!({"arguments": {}}), each(arguments.clone()));
        assert_eq!(writes, (vec!["list".to_owned()], Some("w[1]".to_owned())));
        // With a condition nothing is known of it before its turn comes.
        let mut asked = each(arguments);
        asked["when"] = json!({"compare": {"left": from("a", ".id"), "op": "eq", "right": 1}});
        assert_eq!(ran(json!({"arguments": {}}), asked), (vec!["list".to_owned()], Some("w[1]".to_owned())));
    }
}

#[test]
fn an_item_that_may_fail_or_has_another_value_stops_nothing_before_its_turn() {
    let ran = |arguments: serde_json::Value, on_error: &str| {
        let each = json!({"for_each": from("a", ".two"), "arguments": arguments, "on_error": on_error});
        ran(each, json!({})).0.len()
    };
    assert_eq!(ran(json!({"x": {"$item": ".id"}}), "continue"), 3, "it may fail");
    assert_eq!(ran(json!({"x": {"$default": [{"$item": ".id"}, 0]}}), "stop"), 3, "only its own call evaluates that");
}
