//! Files that show one thing and would run another, made by somebody who also writes the digest anew.

use rote_home::{FileMode, write_durable};
use rote_runtime::{FRONTMATTER_SECTION, PAYLOAD_SECTION, append_section, strip_rote_sections};
use rote_types::{Classify, ErrorKind, canonical_json, sha256};
use serde_json::{Value, json};

use super::package::package;
use super::support::Fixture;
use crate::error::{LibraryError, PackageError};
use crate::{
    BlessRequest, DIGEST_SECTION, FlowError, FlowInfo, FlowReference, Form, Frontmatter, LintOptions, Package,
    SOURCE_MAP_SECTION,
};

/// The sections of a file before its digest.
type Sections<'a> = Vec<(&'a str, Vec<u8>)>;

fn sealed(mut bytes: Vec<u8>, sections: &Sections<'_>) -> Vec<u8> {
    for (name, contents) in sections {
        append_section(&mut bytes, name, contents).unwrap();
    }
    let digest = sha256(&bytes).to_string();
    append_section(&mut bytes, DIGEST_SECTION, digest.as_bytes()).unwrap();
    bytes
}

fn code() -> Vec<u8> {
    strip_rote_sections(package().bytes()).unwrap()
}

/// Code that is not a template: here the template with something behind it.
fn other_code() -> Vec<u8> {
    let mut code = code();
    append_section(&mut code, "producers", b"someone else").unwrap();
    code
}

fn header(form: Form) -> Vec<u8> {
    canonical_json(&Frontmatter { form, ..package().frontmatter }).unwrap()
}

fn plan() -> Vec<u8> {
    package().payload().unwrap().to_vec()
}

fn refusal(bytes: Vec<u8>) -> FlowError {
    Package::read(bytes).unwrap_err()
}

#[test]
fn a_file_made_here_is_the_one_that_rote_makes() {
    let sections = vec![(FRONTMATTER_SECTION, header(Form::Plan)), (PAYLOAD_SECTION, plan())];
    assert_eq!(sealed(code(), &sections), package().bytes());
}

#[test]
fn a_plan_or_a_script_with_other_code_is_refused_by_the_digest_of_the_code() {
    let map = br#"{"version":3,"sources":[],"mappings":""}"#.to_vec();
    let plan = vec![(FRONTMATTER_SECTION, header(Form::Plan)), (PAYLOAD_SECTION, plan())];
    let script = vec![
        (FRONTMATTER_SECTION, header(Form::Script)),
        (PAYLOAD_SECTION, b"({})".to_vec()),
        (SOURCE_MAP_SECTION, map),
    ];
    for (form, sections) in [("plan", &plan), ("script", &script)] {
        let error = refusal(sealed(other_code(), sections));
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let text = error.to_string();
        assert!(text.contains(&format!("says that it is a {form}")), "{text}");
        assert!(text.contains(&sha256(&other_code()).to_string()), "{text}");
    }
    // The plan template does not run scripts.
    assert!(matches!(
        refusal(sealed(code(), &script)),
        FlowError::Package(PackageError::OtherTemplate { form: Form::Script, .. })
    ));
    // The same code under its own name is a component, whatever it shows.
    let own = Package::read(sealed(other_code(), &vec![(FRONTMATTER_SECTION, header(Form::Component))])).unwrap();
    assert_eq!((own.frontmatter.form, own.plan()), (Form::Component, None));
}

#[test]
fn a_file_has_the_sections_of_its_form_once_and_no_other() {
    let front = || (FRONTMATTER_SECTION, header(Form::Plan));
    let payload = || (PAYLOAD_SECTION, plan());
    let component = || (FRONTMATTER_SECTION, header(Form::Component));
    for sections in [
        vec![front(), payload(), payload()],
        vec![front(), front(), payload()],
        vec![payload(), front()],
        vec![front(), payload(), ("rote:extra", b"{}".to_vec())],
        vec![front(), payload(), (SOURCE_MAP_SECTION, b"{}".to_vec())],
        vec![front(), payload(), (DIGEST_SECTION, b"sha256:0".to_vec())],
        vec![front()],
        vec![component(), payload()],
    ] {
        let error = refusal(sealed(code(), &sections));
        let names: Vec<&str> = sections.iter().map(|(name, _)| *name).collect();
        assert!(
            matches!(error, FlowError::Package(PackageError::Malformed { what: "sections", .. }) | FlowError::Load(_)),
            "{names:?}: {error}"
        );
        assert_eq!(error.kind(), ErrorKind::Conflict, "{names:?}");
    }
}

#[test]
fn json_that_two_readers_read_differently_is_refused() {
    let doubled = |text: &[u8], more: &str| {
        let text = String::from_utf8(text.to_vec()).unwrap();
        format!("{{{more},{}", &text[1..]).into_bytes()
    };
    let front = doubled(&header(Form::Plan), r#""parameters":{"type":"object"}"#);
    let error = refusal(sealed(code(), &vec![(FRONTMATTER_SECTION, front), (PAYLOAD_SECTION, plan())]));
    assert!(matches!(error, FlowError::Package(PackageError::Malformed { what: "frontmatter", .. })), "{error}");
    let plan = doubled(&plan(), r#""result":{"other":true}"#);
    let error = refusal(sealed(code(), &vec![(FRONTMATTER_SECTION, header(Form::Plan)), (PAYLOAD_SECTION, plan)]));
    assert!(matches!(error, FlowError::Package(PackageError::Malformed { what: "plan", .. })), "{error}");
}

/// The flow `report` of the fixture, which pins a DELETE, with other code in its file.
async fn trojan(fixture: &Fixture) -> FlowReference {
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    let (_, package) = fixture.flows.library.load(&FlowReference::Path(made.path.clone())).unwrap();
    let sections = vec![
        (FRONTMATTER_SECTION, canonical_json(&package.frontmatter).unwrap()),
        (PAYLOAD_SECTION, package.payload().unwrap().to_vec()),
    ];
    write_durable(&made.path, &sealed(other_code(), &sections), FileMode::Private).unwrap();
    FlowReference::parse("report").unwrap()
}

#[tokio::test]
async fn no_view_shows_a_trojan_as_a_plan_and_nothing_runs_or_blesses_it() {
    let fixture = Fixture::new();
    let flow = trojan(&fixture).await;
    let sent = fixture.shop.log().len();
    let flows = &fixture.flows;
    let bless = BlessRequest {
        flow: "report".parse().unwrap(),
        max_calls: None,
        constraints: std::collections::BTreeMap::new(),
        lifetime: None,
        by: "ann".to_owned(),
    };
    let request = fixture.run_request(&[]);
    let errors = [
        ("info", FlowInfo::read(&flows.blessings, &flow).unwrap_err()),
        ("decompile", flows.library.decompile(&flow).unwrap_err()),
        ("validate", flows.linter.validate(&flow).unwrap_err()),
        ("lint", flows.linter.lint_reference(&flow, LintOptions::default()).await.unwrap_err()),
        ("bless", flows.blessings.offer_blessing(bless).unwrap_err()),
        ("release", flows.releases.release(&"report".parse().unwrap(), true).await.unwrap_err()),
        ("dry run", flows.runner.dry_run(&request).await.unwrap_err()),
        ("run", fixture.run(&request).await.unwrap_err()),
    ];
    for (view, error) in errors {
        let FlowError::Library(LibraryError::File { source, .. }) = &error else { panic!("{view}: {error}") };
        assert!(
            matches!(**source, FlowError::Package(PackageError::OtherTemplate { form: Form::Plan, .. })),
            "{view}: {source}"
        );
        assert_eq!(error.kind(), ErrorKind::Conflict, "{view}");
    }
    let entry = &flows.library.list().unwrap()[0];
    assert_eq!((entry.form, entry.steps), (None, None));
    assert!(entry.problem.as_deref().unwrap().contains("its code `sha256:"), "{entry:?}");
    assert_eq!(fixture.shop.log().len(), sent);
}

#[tokio::test]
async fn a_flow_is_read_again_when_its_file_was_changed_in_place_with_its_old_time() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    fixture.flows.library.rebuild_index().unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&made.path).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    let length = file.metadata().unwrap().len();
    std::os::unix::fs::FileExt::write_all_at(&file, b"\0", length - 1).unwrap();
    file.set_modified(before).unwrap();
    assert!(fixture.flows.library.list().unwrap()[0].problem.is_some());
}

#[tokio::test]
async fn a_flow_that_is_kept_under_another_name_is_refused_by_name() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    let folder = fixture.home.flow_dir(&"harmless".parse().unwrap());
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(&made.path, folder.join("flow.wasm")).unwrap();
    let error = FlowInfo::read(&fixture.flows.blessings, &FlowReference::parse("harmless").unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "the flow that is kept as `harmless` calls itself `report`");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let entries = fixture.flows.library.list().unwrap();
    let problems: Vec<bool> = entries.iter().map(|entry| entry.problem.is_some()).collect();
    assert_eq!(problems, [true, false]);
    // By its path it is what it says.
    assert!(FlowInfo::read(&fixture.flows.blessings, &FlowReference::Path(folder.join("flow.wasm"))).is_ok());
}

#[tokio::test]
async fn a_plan_is_decompiled_with_everything_that_decides_what_it_does() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_get", json!({"id": 7})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    let mut plan = serde_json::to_value(&made.plan).unwrap();
    plan["steps"][0]["on_error"] = json!("continue");
    plan["steps"][0]["for_each"] = json!([1, 2]);
    plan["steps"][0]["max_concurrency"] = json!(3);
    let package = Package::of_plan(made.frontmatter, serde_json::from_value::<rote_plan::Plan>(plan).unwrap()).unwrap();
    write_durable(&made.path, package.bytes(), FileMode::Private).unwrap();
    let text = fixture.flows.library.decompile(&FlowReference::parse("report").unwrap()).unwrap();
    for line in ["for each of [1,2], at most 3 at once\n", "the run goes on when it fails\n", "id: always 7\n"] {
        assert!(text.contains(line), "{text}");
    }
    assert_ne!(fixture.flows.runner.dry_run(&fixture.run_request(&[])).await.unwrap().calls[0].arguments, Value::Null);
}

#[tokio::test]
async fn a_plan_that_waits_by_a_write_is_neither_made_nor_read() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    let made = fixture.crystallize(&[]).await.unwrap();
    let (_, package) = fixture.flows.library.load(&FlowReference::Path(made.path)).unwrap();
    let waiting = |tool: &str| {
        let mut plan = serde_json::to_value(package.plan().unwrap()).unwrap();
        plan["steps"][0]["tool"] = json!(tool);
        plan["steps"][0]["until"] = json!({"jq": ".id", "pause": 1, "most": 2});
        plan
    };
    let mut paging = waiting("orders_create");
    let pages = json!({"argument": "n", "next": "true", "items": ".items", "count": {"from": 1, "by": 1}});
    paging["steps"][0].as_object_mut().unwrap().remove("until");
    paging["steps"][0]["pages"] = pages;
    let error = Package::of_plan(package.frontmatter.clone(), serde_json::from_value(paging).unwrap());
    assert!(error.as_ref().is_err_and(|error| error.to_string().contains("writes and has `pages`")), "{error:?}");
    let write = waiting("orders_create");
    let refused = "step `s1` writes and has `until`, so it would write again and again: give it to a step that reads";
    let error = Package::of_plan(package.frontmatter.clone(), serde_json::from_value(write.clone()).unwrap());
    assert!(error.as_ref().is_err_and(|error| error.to_string().contains(refused)), "{error:?}");
    let header = canonical_json(&package.frontmatter).unwrap();
    let sections = vec![(FRONTMATTER_SECTION, header), (PAYLOAD_SECTION, canonical_json(&write).unwrap())];
    let error = refusal(sealed(code(), &sections));
    assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains(refused), "{error}");
    let read = serde_json::from_value(waiting("orders_list")).unwrap();
    assert!(Package::of_plan(package.frontmatter.clone(), read).is_ok());
    // A search by `POST` is a read that may be made again.
    let mut frontmatter = package.frontmatter;
    let pins = frontmatter.adapters.values_mut().flat_map(|adapter| adapter.tools.values_mut());
    pins.for_each(|pin| pin.access = Some(rote_types::Access::Read));
    assert!(Package::of_plan(frontmatter, serde_json::from_value(write).unwrap()).is_ok());
}

/// The plan says what is sent where a parameter is not given, and so does its schema; a person reads one of the two.
#[tokio::test]
async fn a_default_that_is_shown_is_the_one_that_is_sent() {
    let fixture = Fixture::new();
    assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
    let made = fixture.crystallize(&[("item", Some("pen"))]).await.unwrap();
    let (_, package) = fixture.flows.library.load(&FlowReference::Path(made.path)).unwrap();
    let with = |said: Option<&str>, sent: &str| {
        let (mut frontmatter, mut plan) = (package.frontmatter.clone(), package.plan().unwrap().clone());
        frontmatter.parameters["properties"]["item"]["default"] = json!(sent);
        plan.parameters.get_mut("item").unwrap().default = said.map(|said| json!(said));
        (frontmatter, plan)
    };
    let (frontmatter, plan) = with(Some("pen"), "gun");
    let refused = r#"parameter `item` has the default "pen", and "gun" in its schema: leave one of them out"#;
    let sections = vec![
        (FRONTMATTER_SECTION, canonical_json(&frontmatter).unwrap()),
        (PAYLOAD_SECTION, canonical_json(&plan).unwrap()),
    ];
    assert!(refusal(sealed(code(), &sections)).to_string().contains(refused));
    assert!(Package::of_plan(frontmatter, plan).unwrap_err().to_string().contains(refused));
    for said in [None, Some("gun")] {
        let (frontmatter, plan) = with(said, "gun");
        let words = crate::Sentences::of(&frontmatter, &plan).lines().join(" ");
        assert!(words.contains(r#"parameter item (else "gun")"#), "{words}");
        assert!(Package::of_plan(frontmatter, plan).is_ok());
    }
}

/// What a pin says in words is read by a person; the digest beside it is that of another tool than the words say.
#[tokio::test]
async fn a_pin_that_says_another_thing_of_its_tool_stops_the_flow() {
    type Lie = fn(&mut crate::ToolPin);
    let lies: [(&str, Lie); 3] = [
        ("method GET is now POST", |pin| pin.method = rote_types::Method::Get),
        ("path `/elsewhere` is now `/orders`", |pin| pin.path = "/elsewhere".to_owned()),
        ("than that it is `write`", |pin| pin.access = Some(rote_types::Access::Read)),
    ];
    for (said, lie) in lies {
        let fixture = Fixture::new();
        assert!(fixture.call("orders_create", json!({"item": "pen"})).await);
        let made = fixture.crystallize(&[]).await.unwrap();
        let (_, package) = fixture.flows.library.load(&FlowReference::Path(made.path.clone())).unwrap();
        let mut frontmatter = package.frontmatter.clone();
        let pins = frontmatter.adapters.values_mut().flat_map(|adapter| adapter.tools.values_mut());
        pins.for_each(lie);
        let sections = vec![
            (FRONTMATTER_SECTION, canonical_json(&frontmatter).unwrap()),
            (PAYLOAD_SECTION, package.payload().unwrap().to_vec()),
        ];
        write_durable(&made.path, &sealed(code(), &sections), FileMode::Private).unwrap();
        let before = fixture.shop.log().len();
        let error = fixture.run(&fixture.run_request(&[])).await.unwrap_err();
        assert!(error.to_string().contains(said), "{said}: {error}");
        assert_eq!(fixture.shop.log().len(), before, "{said}");
    }
}
