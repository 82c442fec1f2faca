//! Lint, score and validate: each code is triggered here by one change of a flow that has nothing to find.

use std::path::{Path, PathBuf};

use rote_home::{FileMode, read_capped, write_durable};
use rote_plan::Plan;
use rote_runtime::strip_rote_sections;
use rote_types::sha256;
use serde_json::{Value, json};

use super::support::{Fixture, SHOP, id};
use crate::{Content, FlowKind, FlowPin, FlowReference, Frontmatter, LINT_CODES, LintOptions, Package, Severity};

/// A flow that lists the orders of an owner, makes one, and returns a price: two reads, one write.
async fn made(fixture: &Fixture) -> Package {
    fixture.set("owner", json!("octocat"));
    assert!(fixture.call("orders_list", json!({"owner": "$owner"})).await);
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    assert!(fixture.call("orders_get", json!({"id": "@1{.items[0].id}"})).await);
    fixture.query(3, ".price", None);
    let answers = [("pick:s3/id".to_owned(), "position".to_owned())].into();
    let request = crate::CrystallizeRequest { answers, ..super::support::wish(&[]) };
    fixture.flows.crystallizer.crystallize(&request).await.unwrap();
    fixture.flows.library.load(&reference()).unwrap().1
}

fn reference() -> FlowReference {
    FlowReference::parse("report").unwrap()
}

/// The flow with another frontmatter and plan, given as JSON.
fn changed(package: &Package, change: impl FnOnce(&mut Value, &mut Value)) -> Package {
    let mut frontmatter = serde_json::to_value(&package.frontmatter).unwrap();
    let mut plan = serde_json::to_value(package.plan().unwrap()).unwrap();
    change(&mut frontmatter, &mut plan);
    let frontmatter: Frontmatter = serde_json::from_value(frontmatter).unwrap();
    Package::of_plan(frontmatter, serde_json::from_value(plan).unwrap()).unwrap()
}

/// The findings as `severity CODE place`.
fn seen(fixture: &Fixture, package: &Package) -> Vec<String> {
    let found = fixture.flows.linter.inspect(package, None).unwrap().sorted();
    found.iter().map(|one| format!("{} {} {}", one.severity, one.code, one.position)).collect()
}

#[tokio::test]
async fn what_crystallize_makes_has_no_errors_and_few_warnings() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    assert_eq!(seen(&fixture, &package), ["note STATUS_DRAFT frontmatter/status"]);
    let report = fixture.flows.linter.lint_reference(&reference(), LintOptions::default()).await.unwrap();
    assert!(report.errors == 0 && report.warnings == 0 && report.replayed.is_some(), "{report:?}");
    // Without the recording that crystallize leaves beside it, the workspace is replayed.
    let beside = fixture.home.flow_dir(&"report".parse().unwrap()).join("test.rec");
    rote_home::remove_file(&beside).unwrap();
    let report = fixture.flows.linter.lint_reference(&reference(), LintOptions::default()).await.unwrap();
    assert_eq!(report.replayed.as_deref(), Some("workspace work"));
    assert!(report.errors == 0 && report.warnings == 0, "{report:?}");
}

/// One changed frontmatter or plan, and the finding that it must give.
type Case = (&'static str, fn(&mut Value, &mut Value));

const STATIC: [Case; 29] = [
    ("warning QUESTION_OPEN frontmatter/questions/0", |front, _| {
        front["questions"] = json!([{"id": "when:s2", "ask": "Which one?"}]);
    }),
    ("error QUESTION_OPEN frontmatter/questions/0", |front, _| {
        front["questions"] = json!([{"id": "when:s2", "ask": "Which one?", "writes": true}]);
    }),
    ("error ARGUMENT_UNFIT plan/steps/1/arguments", |_, plan| plan["steps"][1]["arguments"] = json!({})),
    ("error ARGUMENT_UNFIT plan/steps/1/arguments", |_, plan| plan["steps"][1]["arguments"]["item"] = json!(7)),
    ("error ARGUMENT_UNFIT plan/steps/1/arguments", |_, plan| plan["steps"][1]["arguments"]["itm"] = json!("x")),
    ("error ADAPTER_UNDECLARED plan/steps/0", |front, _| front["adapters"] = json!({})),
    ("error TOOL_UNDECLARED plan/steps/2", |front, _| {
        drop(remove(&mut front["adapters"]["shop"]["tools"], "orders_get"))
    }),
    ("warning ADAPTER_UNUSED frontmatter/adapters/shop", |_, plan| {
        plan["steps"] = json!([]);
        plan["result"] = json!({"$param": "owner"});
    }),
    ("warning TOOL_UNUSED frontmatter/adapters/shop/tools/orders_create", |_, plan| {
        drop(plan["steps"].as_array_mut().unwrap().remove(1));
        plan["steps"][1]["needs"] = json!([]);
    }),
    ("warning WRITE_PERMISSION_UNUSED frontmatter/write_permissions/1", |front, _| {
        let other = json!({"adapter": "shop", "tool": "orders_get", "mode": "audit"});
        front["write_permissions"].as_array_mut().unwrap().push(other);
    }),
    ("error WRITE_PERMISSION_MISSING plan/steps/1", |front, _| front["write_permissions"] = json!([])),
    ("warning DESCRIPTION_MISSING frontmatter/description", |front, _| front["description"] = json!(" ")),
    ("warning DESCRIPTION_SHORT frontmatter/description", |front, _| front["description"] = json!("a flow")),
    ("warning VERSION_INVALID frontmatter/version", |front, _| front["version"] = json!("1.0")),
    ("error KIND_MISMATCH frontmatter/kind", |front, _| front["kind"] = json!("composite")),
    ("error OUTPUT_FORMAT frontmatter/output/format", |front, _| front["output"]["format"] = json!("yaml")),
    ("warning OUTPUT_SCHEMA_MISSING frontmatter/output/schema", |front, _| front["output"]["schema"] = Value::Null),
    ("error OUTPUT_SCHEMA_INVALID frontmatter/output/schema", |front, _| {
        front["output"]["schema"] = json!({"type": 7})
    }),
    ("warning PARAMETER_DESCRIPTION_MISSING frontmatter/parameters/properties/owner", |front, _| {
        drop(remove(&mut front["parameters"]["properties"]["owner"], "description"));
    }),
    ("warning PARAMETER_EXAMPLE_MISSING frontmatter/parameters/properties/owner", |front, _| {
        drop(remove(&mut front["parameters"]["properties"]["owner"], "examples"));
    }),
    ("error PARAMETER_VALUE_INVALID frontmatter/parameters/properties/owner", |front, _| {
        front["parameters"]["properties"]["owner"]["default"] = json!(7);
    }),
    ("warning PARAMETER_UNUSED frontmatter/parameters/properties/owner", |_, plan| {
        plan["steps"][0]["arguments"]["owner"] = json!("octocat");
    }),
    ("warning LITERAL_VARIES plan/steps/1/arguments/item", |_, plan| {
        plan["steps"][1]["arguments"]["item"] = json!("ann@example.org");
    }),
    ("error SECRET_LITERAL plan/steps/1/arguments/item", |_, plan| {
        plan["steps"][1]["arguments"]["item"] = json!("ghp_0123456789abcdefghij");
    }),
    ("error RESPONSE_ID_LEAK plan/steps/1/arguments/item", |_, plan| {
        plan["steps"][1]["arguments"]["item"] = json!("@7{.items[0]}");
    }),
    ("warning RESPONSE_ID_LEAK frontmatter/description", |front, _| {
        front["description"] = json!("Reads what @7 has and returns its price");
    }),
    ("error QUERY_SYNTAX plan/result", |_, plan| plan["result"]["$from"]["jq"] = json!(".price |")),
    ("warning RESULT_MISSING plan/result", |_, plan| plan["result"] = Value::Null),
    ("warning STEP_UNUSED plan/steps/2", |_, plan| plan["result"] = json!({"$param": "owner"})),
];

fn remove(value: &mut Value, key: &str) -> Option<Value> {
    value.as_object_mut().unwrap().remove(key)
}

#[tokio::test]
async fn one_change_gives_one_finding_with_its_place_and_a_way_out() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    for (expected, change) in STATIC {
        let package = changed(&package, change);
        let found = seen(&fixture, &package);
        assert!(found.iter().any(|one| one == expected), "{expected} not in {found:?}");
        let findings = fixture.flows.linter.inspect(&package, None).unwrap().sorted();
        assert!(findings.iter().all(|one| one.fix.is_some()), "{findings:?}");
    }
}

#[tokio::test]
async fn a_parameter_of_the_plan_that_the_frontmatter_lacks_is_undeclared() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    let package = changed(&package, |_, plan| plan["parameters"]["limit"] = json!({"required": false}));
    assert!(seen(&fixture, &package).contains(&"error PARAMETER_UNDECLARED plan/parameters/limit".to_owned()));
}

#[tokio::test]
async fn pins_are_held_against_what_is_here() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    let (_, other) = fixture.flows.library.load(&reference()).unwrap();
    let pin = |sha256| FlowPin { version: "0.1.0".to_owned(), sha256 };
    let mut frontmatter = package.frontmatter.clone();
    frontmatter.kind = FlowKind::Composite;
    frontmatter.flows.insert("report".parse().unwrap(), pin(other.digest()));
    frontmatter.flows.insert("gone".parse().unwrap(), pin(other.digest()));
    let found = seen(&fixture, &package.with_frontmatter(frontmatter.clone()).unwrap());
    assert!(found.contains(&"warning FLOW_PIN_DRAFT frontmatter/flows/report".to_owned()), "{found:?}");
    assert!(found.contains(&"warning FLOW_PIN_MISSING frontmatter/flows/gone".to_owned()), "{found:?}");
    frontmatter.flows.insert("report".parse().unwrap(), pin(sha256(b"another")));
    let found = seen(&fixture, &package.with_frontmatter(frontmatter).unwrap());
    assert!(found.contains(&"warning FLOW_PIN_DRIFT frontmatter/flows/report".to_owned()), "{found:?}");

    let elsewhere = Path::new("/flows/other/flow.wasm");
    let found = fixture.flows.linter.inspect(&package, Some(elsewhere)).unwrap();
    assert!(found.has("NAME_MISMATCH"));

    fixture.install(
        &SHOP.replace(
            r#""in": "query", "schema": {"type": "integer"}"#,
            r#""in": "query", "schema": {"type": "string"}"#,
        ),
    );
    let findings = fixture.flows.linter.inspect(&package, None).unwrap().sorted();
    let drift = findings.iter().find(|one| one.code == "ADAPTER_DRIFT").unwrap();
    assert_eq!(drift.position.to_string(), "frontmatter/adapters/shop/fingerprint");
    assert_eq!(drift.fix.as_ref().unwrap().to_string(), "rote flow repin report");
    fixture.adapters.remove(&id()).unwrap();
    assert!(seen(&fixture, &package).contains(&"warning ADAPTER_MISSING frontmatter/adapters/shop".to_owned()));
}

/// The bytes with every occurrence of a name replaced by another one of the same length.
fn renamed(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, part)| *part == from.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at..at + to.len()].copy_from_slice(to.as_bytes()));
    bytes
}

#[tokio::test]
async fn a_component_is_judged_by_what_it_imports() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    let code = strip_rote_sections(package.bytes()).unwrap();
    let component =
        |bytes: &[u8], frontmatter: &Frontmatter| Package::of_component(frontmatter.clone(), bytes).unwrap();

    let found = seen(&fixture, &component(&code, &package.frontmatter));
    assert!(found.contains(&"note CALLS_UNSEEN component".to_owned()), "{found:?}");
    // The plan template has a payload to read; a component of its own has none.
    assert!(found.contains(&"warning IMPORT_UNNEEDED component".to_owned()), "{found:?}");
    assert!(
        !fixture.flows.linter.inspect(&component(&code, &package.frontmatter), None).unwrap().has("IMPORT_MISSING")
    );

    let mut frontmatter = package.frontmatter.clone();
    frontmatter
        .flows
        .insert("report".parse().unwrap(), FlowPin { version: "0.1.0".to_owned(), sha256: package.digest() });
    let found = seen(&fixture, &component(&code, &frontmatter));
    assert!(found.contains(&"error IMPORT_MISSING frontmatter/flows".to_owned()), "{found:?}");

    let newer = component(&renamed(&code, "rote:host/tools@0.2.0", "rote:host/tools@0.9.0"), &package.frontmatter);
    let findings = fixture.flows.linter.inspect(&newer, None).unwrap().sorted();
    let version = findings.iter().find(|one| one.code == "WORLD_VERSION").unwrap();
    assert_eq!(version.message, "it imports `rote:host/tools@0.9.0`; this rote offers `rote:host/tools@0.2.0`");
    assert_eq!(version.severity, Severity::Error);
    let foreign = component(&renamed(&code, "rote:host/tools@0.2.0", "rote:host/tolls@0.2.0"), &package.frontmatter);
    assert!(seen(&fixture, &foreign).contains(&"error WORLD_MISMATCH component".to_owned()));
}

#[tokio::test]
async fn a_plan_of_an_older_template_is_named() {
    let fixture = Fixture::new();
    let package = made(&fixture).await.with_older_template("0.0.9");
    assert!(seen(&fixture, &package).contains(&"warning TEMPLATE_OTHER component".to_owned()));
}

fn script(package: &Package, code: &str) -> Package {
    Package::of_script(
        package.frontmatter.clone(),
        code.to_owned(),
        r#"{"version":3,"sources":[],"mappings":""}"#.to_owned(),
    )
    .unwrap()
}

#[tokio::test]
async fn the_literals_of_a_script_are_its_calls() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    let code = "const shop = rote.adapter('shop');\nshop.call('orders_list', { owner });\nshop.call('orders_create');\n\
                shop.call('orders_get');";
    assert_eq!(seen(&fixture, &script(&package, code)), ["note STATUS_DRAFT frontmatter/status"]);
    let code = "const mail = rote.adapter('mail');\nconst token = 'ghp_0123456789abcdefghij';\nshop.call('orders_gett', '@3');";
    let found = seen(&fixture, &script(&package, code));
    for expected in [
        "error ADAPTER_UNDECLARED bundle:1",
        "error SECRET_LITERAL bundle:2",
        "error RESPONSE_ID_LEAK bundle:3",
        "warning TOOL_UNDECLARED bundle:3",
        "warning ADAPTER_UNUSED frontmatter/adapters/shop",
        "warning PARAMETER_UNUSED frontmatter/parameters/properties/owner",
        "warning WRITE_PERMISSION_UNUSED frontmatter/write_permissions/0",
    ] {
        assert!(found.iter().any(|one| one == expected), "{expected} not in {found:?}");
    }
}

/// Runs the flow and returns its recording as JSON.
async fn recorded(fixture: &Fixture) -> (PathBuf, Value) {
    let path = fixture.home.root().join("run.rec");
    let mut request = fixture.run_request(&[("owner", "monalisa")]);
    request.record = Some(path.clone());
    fixture.run(&request).await.unwrap();
    let bytes = read_capped(&path, 1 << 20).unwrap();
    (path, serde_json::from_slice(&bytes).unwrap())
}

async fn replayed(fixture: &Fixture, package: &Package, path: &Path, recording: &Value) -> Vec<String> {
    write_durable(path, recording.to_string().as_bytes(), FileMode::Private).unwrap();
    let options = LintOptions { replay: Some(path.to_owned()), ..LintOptions::default() };
    let report = fixture.flows.linter.lint(package, &options).await.unwrap();
    report.findings.iter().map(|one| one.code.to_owned()).collect()
}

#[tokio::test]
async fn a_recording_is_replayed_and_what_differs_is_found() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    let (path, recording) = recorded(&fixture).await;
    assert_eq!(replayed(&fixture, &package, &path, &recording).await, ["STATUS_DRAFT"]);
    type Damage = (&'static str, fn(&mut Value));
    let cases: [Damage; 5] = [
        ("RECORDING_OTHER", |recording| recording["flow"] = json!("another")),
        ("REPLAY_DIFFERS", |recording| recording["expected"]["result"] = json!(7)),
        ("REPLAY_STALE", |recording| recording["calls"][0]["arguments"] = json!({"owner": "someone"})),
        ("REPLAY_FAILED", |recording| {
            recording["calls"][0]["outcome"] = json!({"kind": "failed", "message": "no answer"})
        }),
        ("CALLS_UNASKED", |recording| {
            let call = recording["calls"][0].clone();
            recording["calls"].as_array_mut().unwrap().push(call);
        }),
    ];
    for (expected, change) in cases {
        let mut recording = recording.clone();
        change(&mut recording);
        let found = replayed(&fixture, &package, &path, &recording).await;
        assert!(found.iter().any(|code| code == expected), "{expected} not in {found:?}");
    }
    let package = changed(&package, |front, _| front["output"]["schema"] = json!({"type": "string"}));
    assert!(replayed(&fixture, &package, &path, &recording).await.contains(&"RESULT_SCHEMA".to_owned()));
}

#[tokio::test]
async fn a_recording_beside_the_flow_is_found_and_none_is_only_noted() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    let (path, recording) = recorded(&fixture).await;
    let beside = fixture.home.flow_dir(&"report".parse().unwrap()).join("test.rec");
    write_durable(&beside, recording.to_string().as_bytes(), FileMode::Private).unwrap();
    let report = fixture.flows.linter.lint_reference(&reference(), LintOptions::default()).await.unwrap();
    assert_eq!(report.replayed, Some(beside.display().to_string()));
    let package = changed(&package, |front, _| drop(remove(&mut front["provenance"], "workspace")));
    let report = fixture.flows.linter.lint(&package, &LintOptions::default()).await.unwrap();
    assert!(report.findings.iter().any(|one| one.code == "RECORDING_MISSING" && one.severity == Severity::Note));
    let skipped = LintOptions { skip_runtime: true, ..LintOptions::default() };
    let report = fixture.flows.linter.lint(&package, &skipped).await.unwrap();
    assert!(report.findings.iter().all(|one| one.code == "STATUS_DRAFT"), "{report:?}");
    assert!(path.exists());
}

#[tokio::test]
async fn a_run_that_shows_nothing_is_found() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    let (path, mut recording) = recorded(&fixture).await;
    recording["calls"] = json!([]);
    recording["tape"] = json!([]);
    let silent = script(&package, "(globalThis.exports = { default: () => 1 }, { default: () => 1 })");
    let found = replayed(&fixture, &silent, &path, &recording).await;
    assert!(found.contains(&"OUTPUT_HUMAN_MISSING".to_owned()), "{found:?}");
    assert!(found.contains(&"OUTPUT_SUMMARY_MISSING".to_owned()), "{found:?}");
}

#[test]
fn every_code_is_triggered_here() {
    let tests = include_str!("lint.rs");
    let missing: Vec<&str> = LINT_CODES.iter().map(|(code, _)| *code).filter(|code| !tests.contains(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test]
async fn a_score_says_what_it_lost_points_for() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    let score = fixture.flows.linter.score(&reference()).unwrap();
    let weights: f64 = score.dimensions.iter().map(|one| one.weight).sum();
    assert!((weights - 1.0).abs() < 1e-9);
    let lost: Vec<(&str, &str)> =
        score.dimensions.iter().filter(|one| one.value < 1.0).map(|one| (one.name, one.reasons[0].as_str())).collect();
    assert_eq!(
        lost,
        [
            ("frontmatter_completeness", "it has no tags"),
            ("provenance_url", "the document of adapter `shop` has no address that others could take it from"),
        ]
    );
    assert_eq!(score.score, 86);
    let worse = changed(&package, |front, plan| {
        plan["steps"][1]["arguments"]["item"] = json!("ann@example.org");
        plan["result"] = json!("@7");
        front["description"] = json!("x");
    });
    let path = fixture.home.root().join("worse.wasm");
    write_durable(&path, worse.bytes(), FileMode::Private).unwrap();
    let worse = fixture.flows.linter.score(&FlowReference::Path(path)).unwrap();
    let value = |name: &str| worse.dimensions.iter().find(|one| one.name == name).unwrap().value;
    assert!((value("parametrisation") - 0.5).abs() < 1e-9);
    assert!((value("output_format") - 0.8).abs() < 1e-9);
    assert!(value("response_id_leak") == 0.0 && value("dag_structure") < 1.0 && worse.score < score.score);
}

#[tokio::test]
async fn validate_says_what_it_checked_and_refuses_what_is_no_flow() {
    let fixture = Fixture::new();
    let package = made(&fixture).await;
    let held = fixture.flows.linter.validate(&reference()).unwrap();
    let checks: Vec<&str> = held.checks.iter().map(|one| one.check).collect();
    assert_eq!(checks, ["digest", "sections", "frontmatter", "payload", "world"]);
    assert!(matches!(package.content, Content::Plan(Plan { .. })));
    let path = fixture.home.root().join("other.wasm");
    let code = strip_rote_sections(package.bytes()).unwrap();
    let foreign = renamed(&code, "rote:host/tools@0.2.0", "rote:host/tolls@0.2.0");
    let foreign = Package::of_component(package.frontmatter.clone(), &foreign).unwrap();
    write_durable(&path, foreign.bytes(), FileMode::Private).unwrap();
    let error = fixture.flows.linter.validate(&FlowReference::Path(path)).unwrap_err();
    assert!(error.to_string().contains("rote:host/tolls@0.2.0"), "{error}");
}
