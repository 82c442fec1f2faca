//! What happens to a flow after it was made: blessed, run, recorded, replayed.

use std::collections::BTreeMap;
use std::time::Duration;

use rote_govern::Verdict;
use rote_home::{FileMode, read_capped, write_durable};
use rote_types::{Classify, ErrorKind};
use serde_json::json;

use super::support::{Fixture, Shop, id};
use crate::error::{BlessError, ReplayError};
use crate::{BlessRequest, FlowError, FlowInfo, FlowReference, ReplayRequest, RunRecording};

/// A flow `report` that creates an order and cancels another one, which the guard wants confirmed.
async fn cancelling(fixture: &Fixture) {
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    let policy = fixture.adapters.policy_file(&id());
    let text = String::from_utf8(read_capped(&policy, 1 << 20).unwrap()).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["safe_list"] = json!(["orders_cancel"]);
    write_durable(&policy, value.to_string().as_bytes(), FileMode::Private).unwrap();
    assert!(fixture.call("orders_cancel", json!({"id": 7})).await);
    write_durable(&policy, text.as_bytes(), FileMode::Private).unwrap();
    fixture.crystallize(&[("id", None)]).await.unwrap();
}

fn blessing() -> BlessRequest {
    BlessRequest {
        flow: "report".parse().unwrap(),
        max_calls: Some(1),
        constraints: BTreeMap::from([(
            "shop/orders_cancel".to_owned(),
            serde_json::from_value(json!({"id": {"maximum": 99}})).unwrap(),
        )]),
        lifetime: Some(Duration::from_secs(3_600)),
        by: "ann".to_owned(),
    }
}

/// How the flow's blessing stands.
fn why(health: &crate::FlowHealth) -> String {
    health.blessing.as_ref().map(ToString::to_string).unwrap_or_default()
}

#[tokio::test]
async fn a_blessed_flow_writes_without_a_token_within_its_bounds() {
    let fixture = Fixture::new();
    cancelling(&fixture).await;
    fixture.bless(&blessing());
    let sent = fixture.shop.log().len();
    let done = fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap();
    assert_eq!(fixture.shop.log()[sent..], [r#"POST /orders {"item":"pen"}"#, "DELETE /orders/9"]);
    assert!(done.notes.is_empty(), "{:?}", done.notes);
    let error = fixture.run(&fixture.run_request(&[("id", "100")])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfirmationNeeded, "an argument out of bounds: {error}");
    fixture.unbless(&"report".parse().unwrap());
    let error = fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfirmationNeeded, "{error}");
}

#[tokio::test]
async fn no_copy_of_its_file_brings_a_blessing_back() {
    let fixture = Fixture::new();
    cancelling(&fixture).await;
    let name: rote_types::FlowName = "report".parse().unwrap();
    let wide = fixture.bless(&BlessRequest { constraints: BTreeMap::new(), ..blessing() });
    let copy = read_capped(&wide.path, 1 << 20).unwrap();
    let put_back = || write_durable(&wide.path, &copy, FileMode::Private).unwrap();
    let refused = async || {
        let error = fixture.run(&fixture.run_request(&[("id", "100")])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConfirmationNeeded, "{error}");
        let health = fixture.flows.doctor.health(&FlowReference::Name(name.clone())).unwrap();
        assert!(why(&health).contains("was taken back, or a newer one took its place"), "{health:?}");
    };
    put_back();
    fixture.run(&fixture.run_request(&[("id", "100")])).await.unwrap();
    fixture.unbless(&name);
    put_back();
    refused().await;
    // Of two blessings only the newer one counts.
    let narrow = fixture.bless(&blessing());
    let newer = read_capped(&narrow.path, 1 << 20).unwrap();
    put_back();
    refused().await;
    write_durable(&narrow.path, &newer, FileMode::Private).unwrap();
    fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap();
    // While its file is elsewhere there is something to take back all the same.
    rote_home::remove_file(&narrow.path).unwrap();
    assert!(fixture.flows.blessings.has_blessing(&name).unwrap());
    fixture.unbless(&name);
    assert!(!fixture.flows.blessings.has_blessing(&name).unwrap());
    write_durable(&narrow.path, &newer, FileMode::Private).unwrap();
    refused().await;
    // A flow that is removed and brought back, with its file, is not blessed either.
    let again = fixture.bless(&blessing());
    let (path, package) = fixture.flows.library.load(&FlowReference::Name(name.clone())).unwrap();
    let blessed = read_capped(&again.path, 1 << 20).unwrap();
    fixture.remove(&name, true).unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_durable(&path, package.bytes(), FileMode::Private).unwrap();
    write_durable(&again.path, &blessed, FileMode::Private).unwrap();
    refused().await;
}

#[tokio::test]
async fn a_dry_run_and_info_say_what_the_blessing_allows() {
    let fixture = Fixture::new();
    cancelling(&fixture).await;
    let report = FlowReference::parse("report").unwrap();
    let cancels = async |id: &str| {
        let dry = fixture.flows.runner.dry_run(&fixture.run_request(&[("id", id)])).await.unwrap();
        let call = dry.calls.into_iter().find(|call| call.tool == "orders_cancel").unwrap();
        (call.verdict, call.blessed, call.to_string().contains("(allowed by the blessing)"))
    };
    assert_eq!(cancels("9").await, (Verdict::Confirm, false, false));
    assert_eq!(FlowInfo::read(&fixture.flows.blessings, &report).unwrap().blessing, None);
    fixture.bless(&blessing());
    assert_eq!(cancels("9").await, (Verdict::Audit, true, true));
    assert_eq!(cancels("100").await, (Verdict::Confirm, false, false), "an argument out of bounds");
    let info = FlowInfo::read(&fixture.flows.blessings, &report).unwrap().blessing.unwrap();
    assert_eq!((&info.state, info.by.as_deref(), info.tools), (&crate::BlessingState::Valid, Some("ann"), 2));
    assert!(info.at < info.expires_at && info.max_calls == Some(2), "{info:?}");
    fixture.adapters.allow_cidr(&id(), "10.0.0.0/8", None, "test").unwrap();
    assert_eq!(cancels("9").await, (Verdict::Confirm, false, false));
    let info = FlowInfo::read(&fixture.flows.blessings, &report).unwrap().blessing.unwrap();
    assert!(info.state.to_string().contains("policies.json was changed"), "{info:?}");
}

#[tokio::test]
async fn a_blessing_ends_when_the_adapter_goes_elsewhere_or_its_policies_change() {
    let fixture = Fixture::new();
    cancelling(&fixture).await;
    fixture.bless(&blessing());
    let policy = fixture.home.adapter_policy_file(&id());
    let text = read_capped(&policy, 1 << 20).unwrap();
    fixture.adapters.allow_cidr(&id(), "10.0.0.0/8", None, "test").unwrap();
    let sent = fixture.shop.log().len();
    let error = fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfirmationNeeded, "{error}");
    assert!(
        error.to_string().contains("blessing no longer counts: the adapter's policies.json was changed"),
        "{error}"
    );
    let health = fixture.flows.doctor.health(&FlowReference::parse("report").unwrap()).unwrap();
    assert!(why(&health).contains("policies.json was changed"), "{health:?}");
    write_durable(&policy, &text, FileMode::Private).unwrap();
    fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap();

    // Elsewhere is another server that would take the call.
    let other = Shop::start();
    fixture.adapters.set_base_url(&id(), &other.url).unwrap();
    let error = fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FingerprintMismatch, "{error}");
    let says = error.to_string();
    assert!(says.contains(&fixture.shop.url) && says.contains(&other.url), "{says}");
    assert_eq!(error.hint().unwrap(), "rote flow repin report");
    assert_eq!(other.log(), [""; 0]);
    assert_eq!(fixture.shop.log().len(), sent + 3, "the POST before the refusal, and one whole run");

    let shown = fixture.flows.pins.repin_preview(&"report".parse().unwrap()).unwrap();
    assert!(!shown.breaking && shown.voids_blessing, "{shown:?}");
    fixture.repin(&shown, false).unwrap();
    let error = fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfirmationNeeded, "{error}");
    assert_eq!(other.log(), [r#"POST /orders {"item":"pen"}"#], "the delete waits for a person");
    fixture.bless(&blessing());
    fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap();
    assert_eq!(other.log().last().unwrap(), "DELETE /orders/9");
}

#[tokio::test]
async fn a_flow_of_before_goes_wherever_its_adapter_goes() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_get", json!({"id": 2})).await);
    fixture.crystallize(&[]).await.unwrap();
    let reference = FlowReference::parse("report").unwrap();
    let (path, package) = fixture.flows.library.load(&reference).unwrap();
    let mut old = package.frontmatter.clone();
    let pin = old.adapters.get_mut(&id()).unwrap();
    assert_eq!(pin.goes_to, Some(std::collections::BTreeSet::from([fixture.shop.url.clone()])));
    pin.goes_to = None;
    pin.tools.values_mut().for_each(|tool| tool.below = None);
    let written = package.with_frontmatter(old).unwrap();
    write_durable(&path, written.bytes(), FileMode::Private).unwrap();
    let other = Shop::start();
    fixture.adapters.set_base_url(&id(), &other.url).unwrap();
    fixture.run(&fixture.run_request(&[])).await.unwrap();
    assert_eq!(other.log(), ["GET /orders/2"]);
}

#[tokio::test]
async fn a_changed_flow_or_permissions_file_is_no_longer_blessed_and_says_so() {
    let fixture = Fixture::new();
    cancelling(&fixture).await;
    let blessed = fixture.bless(&blessing());
    let text = String::from_utf8(read_capped(&blessed.path, 1 << 20).unwrap()).unwrap();
    let wider = text.replace("\"max_calls\": 1", "\"max_calls\": 9");
    assert_ne!(text, wider);
    write_durable(&blessed.path, wider.as_bytes(), FileMode::Private).unwrap();
    let error = fixture.run(&fixture.run_request(&[("id", "9")])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfirmationNeeded, "{error}");
    let (_, package) = fixture.flows.library.load(&FlowReference::parse("report").unwrap()).unwrap();
    assert!(matches!(fixture.flows.blessings.blessing(&package), Err(FlowError::Bless(BlessError::Void { .. }))));
}

#[tokio::test]
async fn a_recorded_run_replays_without_a_network_and_names_what_is_stale() {
    let fixture = Fixture::new();
    fixture.set("owner", json!("octocat"));
    assert!(fixture.call("orders_list", json!({"owner": "$owner"})).await);
    assert!(fixture.call("orders_get", json!({"id": "@1{.items[0].id}"})).await);
    fixture.query(2, ".price", None);
    fixture.crystallize(&[]).await.unwrap();
    let path = fixture.home.root().join("run.rec");
    let mut request = fixture.run_request(&[("owner", "monalisa")]);
    request.record = Some(path.clone());
    let done = fixture.run(&request).await.unwrap();
    let sent = fixture.shop.log().len();
    let replay = |path: &std::path::Path| ReplayRequest { flow: None, recording: path.to_owned() };
    for _ in 0..2 {
        let report = fixture.flows.replayer.test(&replay(&path)).await.unwrap();
        assert_eq!((report.calls, &report.result), (2, &done.result));
    }
    assert_eq!(fixture.shop.log().len(), sent, "nothing was sent");

    let mut recording = RunRecording::read(&path).unwrap();
    recording.expected.as_mut().unwrap().result = json!("other");
    recording.write(&path, fixture.runtime.redaction()).unwrap();
    let error = fixture.flows.replayer.test(&replay(&path)).await.unwrap_err();
    assert!(matches!(error, FlowError::Replay(ReplayError::Differs { .. })), "{error}");
    recording.calls.pop();
    recording.write(&path, fixture.runtime.redaction()).unwrap();
    let error = fixture.flows.replayer.test(&replay(&path)).await.unwrap_err();
    assert!(error.to_string().starts_with("stale: the flow asks for `shop/orders_get`"), "{error}");
    write_durable(&path, br#"{"recording": 2}"#, FileMode::Private).unwrap();
    let error = fixture.flows.replayer.test(&replay(&path)).await.unwrap_err();
    assert!(error.to_string().contains("it has version 2; this rote reads 1"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

#[tokio::test]
async fn runs_are_counted_with_what_they_saved() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_get", json!({"id": 2})).await);
    fixture.crystallize(&[("id", None)]).await.unwrap();
    fixture.run(&fixture.run_request(&[("id", "2")])).await.unwrap();
    fixture.run(&fixture.run_request(&[("id", "404")])).await.unwrap_err();
    let stats = fixture.flows.analytics.stats(&"report".parse().unwrap()).unwrap();
    assert_eq!((stats.runs, stats.completed, stats.errors.len()), (2, 1, 1));
    assert!(stats.p50_ms.is_some() && stats.p95_ms == stats.p50_ms);
    assert_eq!(fixture.flows.analytics.all_stats().unwrap().len(), 1);
}
