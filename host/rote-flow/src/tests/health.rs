//! Health, drift and repin: a flow against an adapter that changed under it.

use rote_home::{FileMode, write_durable};
use rote_types::{Classify, ErrorKind, FlowName};
use serde_json::json;

use super::support::{Fixture, SHOP, id};
use crate::error::PinError;
use crate::{AdapterState, BlessRequest, FlowError, FlowReference};

/// Lists the orders of an owner, makes an order, gets the first, returns its price.
async fn report(fixture: &Fixture) {
    fixture.set("owner", json!("octocat"));
    assert!(fixture.call("orders_list", json!({"owner": "$owner"})).await);
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    assert!(fixture.call("orders_get", json!({"id": "@1{.items[0].id}"})).await);
    fixture.query(3, ".price", None);
    fixture.crystallize(&[]).await.unwrap();
}

fn name() -> FlowName {
    "report".parse().unwrap()
}

/// The verdict and the changes of one tool after the document was changed.
fn judged(fixture: &Fixture, tool: &str, from: &str, to: &str) -> (String, String) {
    assert!(SHOP.contains(from), "{from}");
    fixture.install(&SHOP.replacen(from, to, 1));
    let repin = fixture.flows.pins.repin_preview(&name()).unwrap();
    let found = repin.drifts[0].tools.iter().find(|one| one.tool == tool).unwrap();
    (found.verdict.as_str().to_owned(), found.changes.join("; "))
}

#[tokio::test]
async fn compatible_is_shown_for_every_argument_and_never_assumed() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let owner = r#""schema": {"type": "string", "description": "Whose"}"#;
    let item = r#""properties": {"item": {"type": "string"}"#;
    let order = r#"[{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]"#;
    let cases = [
        // A parameter: by type, and by its allowed values.
        ("orders_list", owner, r#""schema": {"type": "string", "minLength": 2}"#, "compatible", "fits"),
        (
            "orders_list",
            owner,
            r#""schema": {"type": "integer"}"#,
            "breaking",
            "takes integer and is sent a value of type string",
        ),
        (
            "orders_list",
            owner,
            r#""schema": {"type": "string", "enum": ["octocat"]}"#,
            "breaking",
            "parameter `owner` is not limited",
        ),
        (
            "orders_list",
            owner,
            r#""schema": {"type": "string", "maxLength": 3}"#,
            "breaking",
            r#"does not take "octocat""#,
        ),
        // A literal: by its value.
        ("orders_create", item, r#""properties": {"item": {"enum": ["pen", "cup"]}"#, "compatible", "fits"),
        ("orders_create", item, r#""properties": {"item": {"enum": ["cup"]}"#, "breaking", r#"does not take "pen""#),
        (
            "orders_create",
            r#""required": ["item"]"#,
            r#""required": ["item", "note"]"#,
            "breaking",
            "`note` is now required",
        ),
        // A value of an earlier answer: by what was recorded.
        ("orders_get", order, &order.replace("\"integer\"", "\"integer\", \"minimum\": 1"), "compatible", "fits"),
        ("orders_get", order, &order.replace("\"integer\"", "\"string\""), "breaking", "does not take 7"),
    ];
    for (tool, from, to, verdict, change) in cases {
        let (found, changes) = judged(&fixture, tool, from, to);
        assert!(found == verdict && changes.contains(change), "{to}: {found} ({changes})");
    }
    let workspace = fixture.home.workspace_dir(fixture.workspace.name());
    #[expect(clippy::disallowed_methods, reason = "the test takes a workspace away from outside")]
    std::fs::rename(&workspace, workspace.with_extension("gone")).unwrap();
    rote_home::remove_file(&fixture.home.flow_dir(&name()).join("test.rec")).unwrap();
    let (found, changes) =
        judged(&fixture, "orders_get", order, &order.replace("\"integer\"", "\"integer\", \"minimum\": 1"));
    assert_eq!(found, "breaking");
    assert!(changes.contains("no recorded call shows that it fits"), "{changes}");
}

#[tokio::test]
async fn repin_writes_what_was_shown_and_the_flow_runs_again() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let same = fixture.flows.pins.repin_preview(&name()).unwrap();
    assert!(same.drifts.is_empty());
    let request = BlessRequest {
        flow: name(),
        max_calls: None,
        constraints: std::collections::BTreeMap::new(),
        lifetime: None,
        by: "ann".to_owned(),
    };
    fixture.bless(&request);
    fixture.install(&SHOP.replacen(
        r#""note": {"type": "string"}"#,
        r#""note": {"type": "string", "maxLength": 9}"#,
        1,
    ));
    assert_eq!(fixture.run(&fixture.run_request(&[("owner", "x")])).await.unwrap_err().kind().exit_code(), 7);
    let shown = fixture.flows.pins.repin_preview(&name()).unwrap();
    assert!(!shown.breaking && shown.voids_blessing);
    assert_eq!((shown.from.as_str(), shown.to.as_str()), ("0.1.0", "0.1.1"));
    let plan = fixture.flows.pins.plan_repin(&shown, false).unwrap().object();
    let drift = &shown.drifts[0];
    assert_eq!(plan["adapters"][0]["from"], json!(drift.expected));
    assert_eq!(plan["adapters"][0]["to"], json!(drift.installed));
    let done = fixture.repin(&shown, false).unwrap();
    assert_eq!((&plan["sha256"], &plan["from_sha256"]), (&json!(done.sha256), &json!(shown.sha256)));
    let (_, package) = fixture.flows.library.load(&FlowReference::Name(name())).unwrap();
    assert_eq!((package.digest(), package.frontmatter.version.as_str()), (done.sha256, "0.1.1"));
    assert_eq!(fixture.run(&fixture.run_request(&[("owner", "monalisa")])).await.unwrap().result, json!(80));
    assert_ne!(
        fixture.flows.doctor.health(&FlowReference::Name(name())).unwrap().blessing,
        Some(crate::BlessingState::Valid)
    );
    // What was shown is not what is there any more.
    assert!(matches!(fixture.repin(&shown, false), Err(FlowError::Pins(PinError::RepinStale { .. }))));
}

#[tokio::test]
async fn a_breaking_change_is_pinned_only_when_accepted_and_a_tool_that_is_gone_never() {
    let fixture = Fixture::new();
    report(&fixture).await;
    fixture.install(&SHOP.replacen(r#""required": ["item"]"#, r#""required": ["item", "note"]"#, 1));
    let shown = fixture.flows.pins.repin_preview(&name()).unwrap();
    assert!(shown.breaking);
    let error = fixture.repin(&shown, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.hint().unwrap(), "rote flow repin report --accept-breaking");
    fixture.repin(&shown, true).unwrap();
    fixture.install(&SHOP.replace("orders_create", "orders_make"));
    let shown = fixture.flows.pins.repin_preview(&name()).unwrap();
    assert!(matches!(fixture.repin(&shown, true), Err(FlowError::Pins(PinError::ToolGone { .. }))));
}

#[tokio::test]
async fn health_names_what_is_in_the_way_with_the_command_that_mends_it() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let reference = FlowReference::Name(name());
    let health = fixture.flows.doctor.health(&reference).unwrap();
    assert!(health.healthy && health.intact && health.runs.is_none(), "{health:?}");
    assert_eq!((health.adapters[0].state, health.blessing), (AdapterState::Pinned, None));
    fixture.run(&fixture.run_request(&[("owner", "x")])).await.unwrap();
    assert_eq!(fixture.flows.doctor.health(&reference).unwrap().runs.unwrap().completed, 1);

    fixture.install(&SHOP.replacen(r#""required": ["item"]"#, r#""required": ["item", "note"]"#, 1));
    let health = fixture.flows.doctor.health(&reference).unwrap();
    assert_eq!(health.adapters[0].state, AdapterState::Breaking);
    assert_eq!(health.problems[0].fix, "rote flow repin report --accept-breaking");
    fixture.adapters.remove(&id()).unwrap();
    let health = fixture.flows.doctor.health(&reference).unwrap();
    assert_eq!(health.problems[0].fix, "rote adapter new shop --spec <file|url>");

    let (path, package) = fixture.flows.library.load(&reference).unwrap();
    let mut bytes = package.bytes().to_vec();
    bytes[90_000] ^= 4;
    write_durable(&path, &bytes, FileMode::Private).unwrap();
    let all = fixture.flows.doctor.all().unwrap();
    assert_eq!(all.len(), 1);
    assert!(!all[0].healthy && !all[0].intact && all[0].name == "report", "{all:?}");
}

#[tokio::test]
async fn a_missing_credential_is_a_problem() {
    let fixture = Fixture::new();
    let secured = SHOP.replacen(
        r#""paths": {"#,
        r#""components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}, "security": [{"key": []}], "paths": {"#,
        1,
    );
    report(&fixture).await;
    fixture.install(&secured);
    let shown = fixture.flows.pins.repin_preview(&name()).unwrap();
    fixture.repin(&shown, true).unwrap();
    let health = fixture.flows.doctor.health(&FlowReference::Name(name())).unwrap();
    let problem = health.problems.iter().find(|one| one.what.contains("credential")).expect("a missing credential");
    assert_eq!(problem.fix, "rote token set SHOP_API_KEY");
}

#[tokio::test]
async fn of_several_ways_to_authenticate_one_that_is_there_is_enough() {
    let fixture = Fixture::new();
    let secured = SHOP.replacen(
        r#""paths": {"#,
        r#""components": {"securitySchemes": {"basic": {"type": "http", "scheme": "basic"}, "pat": {"type": "http", "scheme": "bearer"}}}, "security": [{"basic": []}, {"pat": []}], "paths": {"#,
        1,
    );
    report(&fixture).await;
    fixture.install(&secured);
    let shown = fixture.flows.pins.repin_preview(&name()).unwrap();
    fixture.repin(&shown, true).unwrap();
    let problems = || fixture.flows.doctor.health(&FlowReference::Name(name())).unwrap().problems;
    assert_eq!(problems().iter().map(|one| one.fix.as_str()).collect::<Vec<_>>(), ["rote token set SHOP_TOKEN"]);
    fixture.set_token("SHOP_BASIC_AUTH");
    assert_eq!(problems(), []);
}

#[tokio::test]
async fn a_credential_that_is_not_bound_to_the_server_of_a_tool_is_a_problem_as_it_is_for_a_run() {
    let fixture = Fixture::new();
    report(&fixture).await;
    let get = r#""get": {"operationId": "orders_get","#;
    let server = r#""get": {"operationId": "orders_get", "servers": [{"url": "https://files.example"}],"#;
    let secured = SHOP.replacen(get, server, 1).replacen(
        r#""paths": {"#,
        r#""components": {"securitySchemes": {"pat": {"type": "http", "scheme": "bearer"}}}, "security": [{"pat": []}], "paths": {"#,
        1,
    );
    fixture.install(&secured);
    fixture.adapters.set_server(&id(), "files.example=keep").unwrap();
    let shown = fixture.flows.pins.repin_preview(&name()).unwrap();
    fixture.repin(&shown, true).unwrap();
    fixture.set_token("SHOP_TOKEN");
    let health = || fixture.flows.doctor.health(&FlowReference::Name(name())).unwrap();
    let unbound = health();
    let refused = fixture.run(&fixture.run_request(&[("owner", "x")])).await.unwrap_err();
    assert_eq!((refused.kind(), refused.hint().as_deref()), (ErrorKind::Auth, Some("rote token bind SHOP_TOKEN shop")));
    assert_eq!(unbound.problems.iter().map(|one| &one.fix).collect::<Vec<_>>(), [&refused.hint().unwrap()]);
    assert!(unbound.problems[0].what.ends_with("at https://files.example"), "{unbound:?}");
    assert!(!unbound.adapters[0].credentials[0].present);
    fixture.bind("SHOP_TOKEN", "https://files.example");
    let bound = health();
    assert_eq!((bound.problems.as_slice(), bound.adapters[0].credentials[0].present), (&[][..], true));
}
