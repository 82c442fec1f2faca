//! The vault entries that a flow pins: another one is not sent in their place, and not pinned unseen.

use rote_adapter::EntryWord;
use rote_home::{FileMode, write_durable};
use rote_types::{Classify, ErrorKind, FlowName};
use serde_json::json;

use super::support::{Fixture, SHOP, id};
use crate::error::PinError;
use crate::{AdapterState, FlowError, FlowInfo, FlowReference};

/// The shop with a bearer token for every operation but the one that makes an order.
fn secured() -> String {
    let schemes = r#""components": {"securitySchemes": {"pat": {"type": "http", "scheme": "bearer"}}}, "security": [{"pat": []}], "paths": {"#;
    SHOP.replacen(r#""paths": {"#, schemes, 1).replacen(
        r#""post": {"operationId": "orders_create","#,
        r#""post": {"operationId": "orders_create", "security": [],"#,
        1,
    )
}

/// A home with the values `SHOP_TOKEN` and `OTHER`, and a flow that reads an order with the first, or makes one with none.
async fn fixture(reads: bool) -> Fixture {
    let fixture = Fixture::new();
    fixture.install(&secured());
    fixture.set_token("SHOP_TOKEN");
    fixture.set_token("OTHER");
    let (tool, arguments) =
        if reads { ("orders_get", json!({"id": 2})) } else { ("orders_create", json!({"item": "pen"})) };
    assert!(fixture.call(tool, arguments).await);
    fixture.crystallize(&[]).await.unwrap();
    fixture
}

fn rebind(fixture: &Fixture, to: &str) {
    fixture.adapters.set_entry(&id(), &EntryWord::parse(to).unwrap()).unwrap();
}

fn name() -> FlowName {
    "report".parse().unwrap()
}

const LINE: &str = "credential `pat`: vault entry `SHOP_TOKEN` is now `OTHER`";

#[tokio::test]
async fn another_vault_entry_stops_the_flow_until_it_was_shown_and_pinned() {
    let fixture = fixture(true).await;
    rebind(&fixture, "OTHER");
    let sent = fixture.shop.log().len();
    let error = fixture.run(&fixture.run_request(&[])).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.hint().as_deref()),
        (ErrorKind::FingerprintMismatch, Some("rote flow repin report"))
    );
    assert_eq!(error.to_string(), format!("⚠️ Shop adapter sends another credential.\n  {LINE}"));
    let info = || FlowInfo::read(&fixture.flows.blessings, &FlowReference::Name(name())).unwrap();
    assert_eq!(info().adapters, json!({"shop": "mismatch"}));
    let change = json!({"pat": {"expected": "SHOP_TOKEN", "installed": "OTHER"}});
    assert_eq!(error.details().unwrap()["adapters"][0]["credentials"], change);
    assert_eq!(fixture.shop.log().len(), sent);

    let reference = FlowReference::Name(name());
    let health = fixture.flows.doctor.health(&reference).unwrap();
    assert_eq!((health.healthy, health.adapters[0].state), (false, AdapterState::Rebound));
    assert!(health.problems[0].what.contains(LINE) && health.problems[0].fix == "rote flow repin report", "{health:?}");

    let pins = &fixture.flows.pins;
    let shown = pins.repin_preview(&name()).unwrap();
    assert_eq!((shown.breaking, shown.drifts[0].credential_lines().collect()), (false, vec![LINE.to_owned()]));
    let plan = pins.plan_repin(&shown, false).unwrap();
    assert_eq!(plan.object()["adapters"][0]["credentials"], change);
    let done = pins.repin(plan).unwrap();
    assert_eq!(Some(done.sha256), shown.to_sha256);
    fixture.run(&fixture.run_request(&[])).await.unwrap();
    assert_eq!(info().adapters, json!({"shop": "installed"}));
    assert!(pins.repin_preview(&name()).unwrap().drifts.is_empty());
}

#[tokio::test]
async fn a_vault_entry_that_was_not_shown_is_not_pinned() {
    let fixture = fixture(true).await;
    let pins = &fixture.flows.pins;
    rebind(&fixture, "OTHER");
    let shown = pins.repin_preview(&name()).unwrap();
    rebind(&fixture, "THIRD");
    assert!(matches!(pins.plan_repin(&shown, true), Err(FlowError::Pins(PinError::RepinStale { .. }))));
    // Nor beside another change that is the same.
    fixture.install(&secured().replacen(
        r#""id", "in": "path", "required": true, "schema""#,
        r#""id", "in": "path", "description": "x", "required": true, "schema""#,
        2,
    ));
    rebind(&fixture, "OTHER");
    let shown = pins.repin_preview(&name()).unwrap();
    rebind(&fixture, "SHOP_TOKEN");
    assert!(matches!(pins.plan_repin(&shown, true), Err(FlowError::Pins(PinError::RepinStale { .. }))));
    rebind(&fixture, "OTHER");
    fixture.repin(&shown, true).unwrap();
}

#[tokio::test]
async fn a_flow_none_of_whose_tools_needs_the_credential_runs_beside_another_one() {
    let fixture = fixture(false).await;
    rebind(&fixture, "OTHER");
    fixture.run(&fixture.run_request(&[])).await.unwrap();
    assert!(fixture.flows.pins.repin_preview(&name()).unwrap().drifts.is_empty());
}

#[tokio::test]
async fn a_flow_that_pins_no_credential_takes_what_the_adapter_has() {
    let fixture = fixture(true).await;
    let (path, package) = fixture.flows.library.load(&FlowReference::Name(name())).unwrap();
    let mut old = package.frontmatter.clone();
    old.credentials.clear();
    write_durable(&path, package.with_frontmatter(old).unwrap().bytes(), FileMode::Private).unwrap();
    rebind(&fixture, "OTHER");
    fixture.run(&fixture.run_request(&[])).await.unwrap();
    assert!(fixture.flows.pins.repin_preview(&name()).unwrap().drifts.is_empty());
}

#[tokio::test]
async fn a_credential_that_a_changed_tool_begins_to_need_is_shown_before_it_is_pinned() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_get", json!({"id": 2})).await);
    fixture.crystallize(&[]).await.unwrap();
    fixture.install(&secured());
    let error = fixture.run(&fixture.run_request(&[])).await.unwrap_err();
    let line = "credential `pat`: no vault entry is now `SHOP_TOKEN`";
    assert!(error.to_string().contains(line), "{error}");
    let shown = fixture.flows.pins.repin_preview(&name()).unwrap();
    assert_eq!(shown.drifts[0].credential_lines().collect::<Vec<_>>(), [line]);
    fixture.repin(&shown, true).unwrap();
    // And one that none of them needs any more.
    fixture.install(SHOP);
    let shown = fixture.flows.pins.repin_preview(&name()).unwrap();
    let line = "credential `pat`: vault entry `SHOP_TOKEN` is now none";
    assert_eq!(shown.drifts[0].credential_lines().collect::<Vec<_>>(), [line]);
}
