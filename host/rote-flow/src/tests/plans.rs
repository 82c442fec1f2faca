//! What a plan can say that crystallize's straight lines do not: variables in queries, and what is not written out.

use rote_plan::{Plan, bind};
use rote_types::{QueryEngine as _, QueryLimits};
use serde_json::{Value, json};

use super::support::Fixture;
use crate::recording::RunRecording;
use crate::{Crystallized, Package};

/// A flow that lists the orders of `octocat` and gets the one with the number `n`.
async fn picking(fixture: &Fixture) -> (Crystallized, Package) {
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    assert!(fixture.call("orders_get", json!({"id": "@1{.items[0].id}"})).await);
    fixture.query(2, ".price", None);
    let made = fixture.crystallize(&[]).await.unwrap();
    let mut plan = serde_json::to_value(&made.plan).unwrap();
    plan["parameters"] = json!({"n": {"required": true}});
    plan["steps"][1]["arguments"]["id"] = json!({"$from": {
        "step": "s1",
        "jq": ".items[] | select(.id == $n) | .id",
        "with": {"n": {"$param": "n"}},
    }});
    let mut frontmatter = made.frontmatter.clone();
    let schema = json!({"type": "integer", "description": "a number", "examples": [7]});
    frontmatter.parameters = json!({"type": "object", "properties": {"n": schema}, "required": ["n"]});
    let plan: Plan = serde_json::from_value(plan).unwrap();
    let package = Package::of_plan(frontmatter, plan).unwrap();
    let redaction = fixture.runtime.redaction();
    fixture.flows.library.write_draft(&made.frontmatter.name, &package, true, redaction).unwrap();
    (made, package)
}

#[tokio::test]
async fn a_variable_in_a_query_reaches_the_engine_of_the_host() {
    let fixture = Fixture::new();
    let (_, package) = picking(&fixture).await;
    for (n, price) in [("7", 70), ("107", 1070)] {
        let report = fixture.run(&fixture.run_request(&[("n", n)])).await.unwrap();
        assert_eq!(report.result, json!(price));
    }
    let error = format!("{:?}", fixture.run(&fixture.run_request(&[("n", "8")])).await.unwrap_err());
    assert!(error.contains("`.items[] | select(.id == $n) | .id` of step `s1` has no output"), "{error}");
    let findings = fixture.flows.linter.inspect(&package, None).unwrap().sorted();
    assert!(findings.iter().all(|finding| finding.code != "QUERY_SYNTAX"), "{findings:?}");
}

#[test]
fn a_bound_value_is_data_whatever_it_holds() {
    let fixture = Fixture::new();
    let engine = fixture.runtime.query_engine();
    for value in [
        json!(-5),
        json!(1e30),
        json!("a \"b\" \\(1) \u{1} \u{2028} # c"),
        json!({"a": -5, "b c": [-1, {"$d": null}]}),
        json!([]),
        json!(true),
    ] {
        let outputs = engine.run(&bind("def f: $n; f", [("n", &value)]), b"null", &QueryLimits::default()).unwrap();
        let outputs: Vec<Value> = outputs.values.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(outputs, [value]);
    }
}

#[tokio::test]
async fn sources_that_cannot_be_written_are_said_and_those_of_another_plan_go() {
    let fixture = Fixture::new();
    let (made, package) = picking(&fixture).await;
    let folder = fixture.home.flow_dir(&made.frontmatter.name);
    let sources = [folder.join("main.ts"), folder.join("rust/src/lib.rs")];
    assert!(sources.iter().all(|path| path.exists()));
    let recording = RunRecording::read(&folder.join("test.rec")).unwrap();
    let mut notes = Vec::new();
    let redaction = fixture.runtime.redaction();
    let library = &fixture.flows.library;
    let mut plan = package.plan().unwrap().clone();
    plan.steps[1].on_error = rote_plan::OnError::Continue;
    let package = Package::of_plan(package.frontmatter, plan).unwrap();
    let origins = crate::emit::Origins::default();
    let made =
        crate::crystallize::companions::make(library, redaction, (&package, &recording), &origins, None, &mut notes);
    let written = made.unwrap().write(&folder).unwrap();
    assert_eq!(written, [folder.join("test.rec")]);
    assert!(sources.iter().all(|path| !path.exists()));
    let notes: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    let reason = "is not written: step `s2` may fail";
    assert_eq!(notes, [format!("main.ts {reason}"), format!("rust {reason}")]);
}
