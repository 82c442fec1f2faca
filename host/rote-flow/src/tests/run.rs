//! Runs: parameters, preflight, dry run, failure, confirmation and resumption.

use std::sync::Arc;

use rote_home::{FileMode, write_durable};
use rote_runtime::NoObserver;
use rote_types::{Classify, ErrorKind, Interrupt, Requested, ResponseId};
use rote_workspace::Workspace;
use serde_json::json;

use super::support::{Fixture, SHOP, id};
use crate::error::{PinError, RunnerError, Stopped};
use crate::{FlowError, FlowInfo, FlowReference, Package, RunRequest, Runner, RunnerParts};

/// Lists the orders of an owner, gets the first, returns its price.
async fn report(fixture: &Fixture) {
    fixture.set("owner", json!("octocat"));
    assert!(fixture.call("orders_list", json!({"owner": "$owner"})).await);
    assert!(fixture.call("orders_get", json!({"id": "@1{.items[0].id}"})).await);
    fixture.query(2, ".price", None);
    fixture.crystallize(&[]).await.unwrap();
}

#[tokio::test]
async fn a_run_with_another_parameter_gives_another_result_and_keeps_its_responses() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let done = fixture.run(&fixture.run_request(&[("owner", "monalisa")])).await.unwrap();
    assert_eq!(done.result, json!(80));
    let calls: Vec<(u64, &str, u16)> =
        done.steps.iter().map(|step| (step.response.0, step.call.as_str(), step.status)).collect();
    assert_eq!(calls, [(1, "shop/orders_list", 200), (2, "shop/orders_get", 200)]);
    assert_eq!(done.human.len(), 2);
    assert_eq!(done.summary, ["2 of 2 steps done"]);
    let workspace = Workspace::open(&fixture.home, &done.workspace).unwrap();
    assert_eq!(workspace.response(ResponseId(2)).unwrap().summary.status, Some(200));
    assert_eq!(fixture.shop.log()[2..], ["GET /orders?owner=monalisa", "GET /orders/8"]);
}

#[tokio::test]
async fn parameters_that_do_not_fit_list_what_is_expected_and_send_nothing() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let sent = fixture.shop.log().len();
    for (words, problem) in [
        (vec![], "parameter `owner` is missing; flow `report` takes owner (string, such as \"octocat\")"),
        (vec![("ownr", "x")], "parameter `ownr` is unknown (did you mean `owner`?)"),
        (vec![("owner", "a"), ("owner", "b")], "parameter `owner` is given twice"),
    ] {
        let error = fixture.run(&fixture.run_request(&words)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(problem), "{error}");
        assert_eq!(error.hint().unwrap(), "rote run report owner=…");
    }
    assert_eq!(fixture.shop.log().len(), sent);
}

#[tokio::test]
async fn a_changed_adapter_stops_the_run_in_the_words_of_the_seed() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let sent = fixture.shop.log().len();
    fixture.install(&SHOP.replace(r#""name": "limit", "in""#, r#""name": "region", "required": true, "in""#));
    let error = fixture.run(&fixture.run_request(&[("owner", "x")])).await.unwrap_err();
    assert_eq!(error.kind().exit_code(), 7);
    let text = error.to_string();
    for line in [
        "⚠️ Shop adapter fingerprint mismatch.",
        "Expected: mcp_",
        "Installed: mcp_",
        "Re-export this flow to update fingerprints.",
        "orders_get: identical",
        "orders_list: breaking (argument `region` is now required)",
    ] {
        assert!(text.contains(line), "{text}");
    }
    fixture.adapters.remove(&id()).unwrap();
    let error = fixture.run(&fixture.run_request(&[("owner", "x")])).await.unwrap_err();
    assert!(matches!(error, FlowError::Pins(PinError::MissingAdapters { .. })), "{error}");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(fixture.shop.log().len(), sent);
}

#[tokio::test]
async fn a_dry_run_shows_every_call_and_sends_nothing() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let sent = fixture.shop.log().len();
    let dry = fixture.flows.runner.dry_run(&fixture.run_request(&[("owner", "monalisa")])).await.unwrap();
    assert_eq!(dry.calls[0].preview.as_ref().unwrap().url, format!("{}/orders?owner=monalisa", fixture.shop.url));
    assert!(!dry.calls[1].known && dry.calls[1].preview.is_none());
    assert_eq!(dry.calls[1].arguments, json!({"id": "<s1 .items[0].id>"}));
    assert_eq!(fixture.shop.log().len(), sent);
    let runs = rote_workspace::list_workspaces(&fixture.home).unwrap().workspaces;
    assert_eq!(runs.len(), 1, "only the recorded one");
}

#[tokio::test]
async fn a_damaged_file_is_not_run_and_is_listed_with_its_problem() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let info = FlowInfo::read(&fixture.flows.blessings, &FlowReference::parse("report").unwrap()).unwrap();
    assert_eq!(info.adapters, json!({"shop": "installed"}));
    let (_, package) = fixture.flows.library.load(&FlowReference::parse("report").unwrap()).unwrap();
    let mut bytes = package.bytes().to_vec();
    bytes[90_000] ^= 4;
    write_durable(&info.path, &bytes, FileMode::Private).unwrap();
    let error = fixture.run(&fixture.run_request(&[("owner", "x")])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(fixture.flows.library.list().unwrap()[0].problem.is_some());
    let error = FlowInfo::read(&fixture.flows.blessings, &FlowReference::parse("reprot").unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "there is no flow `reprot` (did you mean `report`?)");
}

#[tokio::test]
async fn a_write_that_needs_a_person_stops_the_run_and_is_resumed_without_repeating_the_others() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    let policy = fixture.adapters.policy_file(&id());
    let text = String::from_utf8(rote_home::read_capped(&policy, 1 << 20).unwrap()).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["safe_list"] = json!(["orders_cancel"]);
    write_durable(&policy, value.to_string().as_bytes(), FileMode::Private).unwrap();
    assert!(fixture.call("orders_cancel", json!({"id": 7})).await);
    write_durable(&policy, text.as_bytes(), FileMode::Private).unwrap();
    fixture.crystallize(&[("id", None)]).await.unwrap();
    let sent = fixture.shop.log().len();
    let error = fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap_err();
    assert_eq!(error.kind().exit_code(), 5, "{error}");
    assert_eq!(fixture.shop.log()[sent..], [r#"POST /orders {"item":"pen"}"#]);
    let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = &error else { panic!("{error}") };
    let hint = error.hint().unwrap();
    let token = hint.rsplit(' ').next().unwrap().to_owned();
    assert!(hint.starts_with(&format!("rote run --resume {workspace} --confirm ")), "{hint}");
    let mut request = fixture.run_request(&[]);
    request.flow = None;
    request.resume = Some(workspace.clone());
    request.confirm = vec![token];
    let done = fixture.run(&request).await.unwrap();
    assert_eq!(fixture.shop.log()[sent + 1..], ["DELETE /orders/9"], "the first write is not repeated");
    assert!(done.steps[0].resumed && !done.steps[1].resumed);
}

#[tokio::test]
async fn a_step_that_fails_stops_the_run_and_names_the_workspace() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_get", json!({"id": 1})).await);
    fixture.crystallize(&[("id", None)]).await.unwrap();
    let error = fixture.run(&fixture.run_request(&[("id", "404")])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream, "{error}");
    assert!(matches!(error, FlowError::Run(RunnerError::Stopped(Stopped { .. }))));
    let error = fixture.run(&fixture.run_request(&[("id", "four")])).await.unwrap_err();
    assert!(error.to_string().contains("must be integer, not `four`"), "{error}");
}

#[tokio::test]
async fn a_write_that_the_frontmatter_does_not_name_is_refused_before_anything_is_sent() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    let mut frontmatter = made.frontmatter.clone();
    frontmatter.write_permissions.clear();
    let package = Package::of_plan(frontmatter, made.plan).unwrap();
    write_durable(&made.path, package.bytes(), FileMode::Private).unwrap();
    let sent = fixture.shop.log().len();
    let error = fixture.run(&fixture.run_request(&[])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("may not write with `shop/orders_create`"), "{error}");
    assert_eq!(fixture.shop.log().len(), sent);
}

fn run_events(fixture: &Fixture) -> Vec<String> {
    let events = fixture.flows.runner.parts.journal.tail(1_000).unwrap();
    events.into_iter().map(|event| event.kind).filter(|kind| kind.starts_with("run.")).collect()
}

/// Somebody has asked already.
#[derive(Debug)]
struct Asked;

impl Interrupt for Asked {
    fn requested(&self) -> Requested<'_> {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn a_run_that_is_stopped_before_its_component_is_ready_sends_nothing_and_has_an_end() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let sent = fixture.shop.log().len();
    let parts = RunnerParts { interrupt: Arc::new(Asked), ..fixture.flows.runner.parts.clone() };
    let request = fixture.run_request(&[("owner", "monalisa")]);
    let error = Runner::new(parts).run(&request, Arc::new(NoObserver)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    assert_eq!(run_events(&fixture), ["run.started", "run.failed"]);
    assert_eq!(fixture.shop.log().len(), sent);
}

#[tokio::test]
async fn a_run_that_cannot_begin_is_not_in_the_journal() {
    let fixture = Fixture::new();
    report(&fixture).await;
    std::fs::create_dir(fixture.home.flow_permissions_file(&"report".parse().unwrap())).unwrap();
    fixture.run(&fixture.run_request(&[("owner", "monalisa")])).await.unwrap_err();
    assert_eq!(run_events(&fixture), [""; 0]);
}

/// A plan that calls nothing takes the place of the flow.
async fn without_calls(fixture: &Fixture) {
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    let mut frontmatter = made.frontmatter.clone();
    frontmatter.parameters = json!({"type": "object", "properties": {}});
    let plan = json!({"version": 1, "steps": [], "result": {"fine": true}});
    let package = Package::of_plan(frontmatter, serde_json::from_value(plan).unwrap()).unwrap();
    let redaction = fixture.runtime.redaction();
    fixture.flows.library.write_draft(&made.frontmatter.name, &package, true, redaction).unwrap();
}

#[tokio::test]
async fn a_run_without_calls_opens_no_database_and_is_there_as_any_other() {
    let fixture = Fixture::new();
    without_calls(&fixture).await;
    let request = fixture.run_request(&[]);
    let (one, other) = tokio::join!(fixture.run(&request), fixture.run(&request));
    let listed = rote_workspace::list_workspaces(&fixture.home).unwrap();
    for done in [one.unwrap(), other.unwrap()] {
        assert_eq!(done.result, json!({"fine": true}));
        assert!(rote_home::is_as_made(&fixture.home.workspace_dir(&done.workspace).join("workspace.db")));
        assert!(listed.workspaces.iter().any(|one| one.name == done.workspace));
        let opened = Workspace::open(&fixture.home, &done.workspace).unwrap();
        assert!(opened.ls().unwrap().is_empty() && opened.is_where_it_was_made().unwrap());
        let again = RunRequest { resume: Some(done.workspace), ..RunRequest::default() };
        assert_eq!(fixture.run(&again).await.unwrap().result, json!({"fine": true}));
    }
    let (started, finished) = ("run.started", "run.finished");
    assert_eq!(run_events(&fixture).iter().filter(|kind| *kind == started).count(), 4);
    assert_eq!(run_events(&fixture).iter().filter(|kind| *kind == finished).count(), 4);
}

#[tokio::test]
async fn a_run_that_is_killed_before_its_first_call_is_gone_on_with() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let begun = fixture.flows.runner.begin(&fixture.run_request(&[("owner", "monalisa")])).unwrap();
    let identity = begun.workspace.identity().clone();
    drop(begun);
    let again = RunRequest { resume: Some(identity.name.clone()), ..RunRequest::default() };
    assert_eq!(fixture.run(&again).await.unwrap().result, json!(80));
    let opened = Workspace::open(&fixture.home, &identity.name).unwrap();
    assert_eq!((opened.identity(), opened.ls().unwrap().len()), (&identity, 2));
}
