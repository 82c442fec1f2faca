//! Tests of installation and of the registry, on a real disk with small descriptions of our own.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use rote_types::Method;

use super::*;
use crate::source::Reach;

/// A shop with reads, writes, a secret field and a server of its own.
pub(super) const SHOP: &str = r##"{
  "openapi": "3.1.0",
  "info": {"title": "Shop", "version": "2.0"},
  "servers": [{"url": "https://shop.example/v2/"}],
  "paths": {
    "/orders": {
      "get": {"operationId": "orders/list", "tags": ["orders"], "summary": "List the orders of a customer.",
        "parameters": [{"name": "email", "in": "query", "schema": {"type": "string"}},
                       {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}}],
        "responses": {"200": {"description": "ok"}}},
      "post": {"operationId": "orders/create", "tags": ["orders"], "summary": "Place an order.",
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object",
          "required": ["item"], "properties": {"item": {"type": "string"}, "cardNumber": {"type": "string"}}}}}},
        "responses": {"201": {"description": "created"}}}
    },
    "/orders/{id}": {
      "delete": {"operationId": "orders/cancel", "tags": ["orders"], "summary": "Cancel an order.",
        "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
        "responses": {"204": {"description": "gone"}}}
    }
  }
}"##;

#[derive(Debug)]
struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

#[derive(Debug)]
struct Seven;

impl Entropy for Seven {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
}

pub(super) struct Fixture {
    _dir: tempfile::TempDir,
    pub(super) adapters: Adapters,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path().join("home")).unwrap();
        Self { _dir: dir, adapters: Adapters::new(&home, Arc::new(Fixed), Arc::new(Seven)) }
    }

    /// What another process sees.
    pub(super) fn again(&self) -> Adapters {
        Adapters::new(self.adapters.home(), Arc::new(Fixed), Arc::new(Seven))
    }

    fn events(&self) -> Vec<rote_home::Event> {
        rote_home::Journal::open(self.adapters.home(), &Seven).unwrap().read(1, 100).unwrap()
    }

    fn installed() -> Self {
        let fixture = Self::new();
        fixture.install("shop", SHOP, &InstallOptions::default()).unwrap();
        fixture
    }

    pub(super) fn install(
        &self,
        name: &str,
        text: &str,
        options: &InstallOptions,
    ) -> Result<InstallReport, AdapterError> {
        self.adapters.install(self.prepare(name, text, options)?)
    }

    fn prepare(&self, name: &str, text: &str, options: &InstallOptions) -> Result<Prepared, AdapterError> {
        let document = Document::embedded("shop.json", text.as_bytes());
        let loader = Loader::new(&document);
        self.adapters.prepare(&id(name), document, loader, options)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.adapters.home().adapter_dir(&id("shop")).join(name)
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(rote_home::read_capped(&self.file(name), 1 << 24).unwrap()).unwrap()
    }

    pub(super) fn rewrite(&self, name: &str, from: &str, to: &str) {
        let text = self.text(name);
        assert!(text.contains(from), "{name} holds no {from}");
        write_durable(&self.file(name), text.replace(from, to).as_bytes(), FileMode::Private).unwrap();
    }
}

pub(super) fn id(name: &str) -> AdapterId {
    name.parse().unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_package_has_the_files_that_the_layout_lists() {
    let fixture = Fixture::installed();
    assert_eq!(
        names(&fixture.file("")),
        [
            "adapter.wasm",
            "answers.json",
            "capabilities.json",
            "config",
            "index",
            "logs",
            "manifest.json",
            "runtime",
            "sensitivity.json",
            "spec.json",
            "tools.json"
        ]
    );
    assert_eq!(names(&fixture.file("runtime")), ["sessions"]);
    assert_eq!(names(&fixture.file("config")), [".policies.told.json", "policies.json"]);
    assert!(names(&fixture.file("index")).contains(&"offsets.json".to_owned()));
    assert_eq!(fixture.text("spec.json"), SHOP);
}

#[test]
fn the_report_says_what_will_be_made_and_nothing_is_before_it_is_installed() {
    let fixture = Fixture::new();
    let prepared = fixture.prepare("shop", SHOP, &InstallOptions::default()).unwrap();
    let planned = prepared.report().clone();
    assert!(planned.dry_run && fixture.adapters.ids().unwrap().is_empty());
    let made = fixture.adapters.install(prepared).unwrap();
    assert_eq!(InstallReport { dry_run: false, ..planned }, made);
    let counts = made.operations;
    assert_eq!(counts.total, 3);
    assert_eq!(counts.generated + counts.repaired + counts.skipped, counts.total);
    assert_eq!((made.adapter.tools, made.adapter.base_url.as_deref()), (3, Some("https://shop.example/v2")));
    assert_eq!(made.component.bytes, fixture.file("adapter.wasm").metadata().unwrap().len());
    assert_eq!(made.sensitivity_tier, SensitivityTier::High, "a card number is asked for");
}

#[test]
fn what_is_opened_is_what_was_installed() {
    let fixture = Fixture::installed();
    let adapter = fixture.adapters.open(&id("shop")).unwrap();
    assert_eq!(adapter.tool_names().collect::<Vec<_>>(), ["orders/cancel", "orders/create", "orders/list"]);
    let tool = adapter.tool("orders/cancel").unwrap();
    assert_eq!((tool.method, tool.path.as_str()), (Method::Delete, "/orders/{id}"));
    assert!(adapter.policy().is_ok());
    assert!(adapter.check_arguments("orders/cancel", &serde_json::json!({"id": "7"})).is_ok());
    let error = adapter.check_arguments("orders/list", &serde_json::json!({"limt": 7})).unwrap_err();
    assert!(error.to_string().contains("did you mean `limit`"), "{error}");
    let error = adapter.tool("order_list").unwrap_err();
    assert!(matches!(&error, AdapterError::UnknownTool { nearest, .. } if nearest[0] == "orders/list"), "{error}");
    let capabilities = fixture.adapters.capabilities(&id("shop")).unwrap();
    assert_eq!((capabilities.tool_count, capabilities.read_operations, capabilities.write_operations), (3, 1, 2));
}

#[test]
fn the_fingerprint_is_the_surface_and_nothing_else() {
    let fixture = Fixture::new();
    let print = |name: &str, text: &str, options: InstallOptions| {
        fixture.install(name, text, &options).unwrap().adapter.fingerprint
    };
    let base = |url: &str| InstallOptions { base_url: Some(url.to_owned()), ..InstallOptions::default() };
    let one = print("a", SHOP, InstallOptions::default());
    assert_eq!(one, print("b", SHOP, base("https://other.example")), "ids and base URLs are outside of it");
    let reworded = SHOP.replace("Place an order.", "Puts an order in.");
    assert_eq!(one, print("c", &reworded, InstallOptions::default()), "prose is outside of it");
    let changed = SHOP.replace("\"maximum\": 100", "\"maximum\": 50");
    assert_ne!(one, print("d", &changed, InstallOptions::default()));
}

#[test]
fn an_adapter_is_installed_in_the_place_that_somebody_saw_and_in_no_other() {
    let fixture = Fixture::new();
    let prepare = || fixture.prepare("shop", SHOP, &InstallOptions::default()).unwrap();
    let refused = |prepared, context: &str| {
        let error = fixture.adapters.install(prepared).unwrap_err();
        assert!(matches!(error, AdapterError::Meanwhile { .. }), "{context}: {error}");
    };
    let seen = prepare();
    fixture.adapters.install(prepare()).unwrap();
    refused(seen, "another one came");
    let seen = prepare();
    fixture.adapters.set_base_url(&id("shop"), "https://elsewhere.example").unwrap();
    refused(seen, "it goes elsewhere");
    let seen = prepare();
    fixture.adapters.remove(&id("shop")).unwrap();
    refused(seen, "it went");
    assert!(fixture.adapters.ids().unwrap().is_empty());
}

#[test]
fn a_persons_marks_survive_a_replacement() {
    let fixture = Fixture::installed();
    fixture.rewrite("config/policies.json", "\"deny_list\": []", "\"deny_list\": [\"orders/cancel\"]");
    rote_home::append_line(&fixture.file("logs/write_guard_2026-01-01.jsonl"), "{}", FileMode::Private).unwrap();
    let before = fixture.adapters.open(&id("shop")).unwrap();
    let changed = SHOP.replace("\"maximum\": 100", "\"maximum\": 50");
    let report = fixture.install("shop", &changed, &InstallOptions::default()).unwrap();
    assert!(report.replaced);
    let after = fixture.adapters.open(&id("shop")).unwrap();
    assert_ne!(before.manifest().fingerprint, after.manifest().fingerprint);
    assert!(fixture.text("config/policies.json").contains("orders/cancel"));
    assert_eq!(fixture.text("logs/write_guard_2026-01-01.jsonl"), "{}\n");
    // Who opened the old one still reads the old one's tools.
    assert_eq!(before.tool("orders/list").unwrap().input_schema["properties"]["limit"]["maximum"], 100);
    assert_eq!(names(&fixture.adapters.home().adapters_dir()), [".lock-shop", "shop"]);
}

#[test]
fn an_installation_that_fails_or_was_killed_leaves_nothing() {
    let fixture = Fixture::new();
    let adapters_dir = fixture.adapters.home().adapters_dir();
    for broken in ["", "{", "<html></html>", r#"{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{}}"#] {
        assert!(fixture.install("shop", broken, &InstallOptions::default()).is_err(), "{broken}");
        assert!(names(&adapters_dir).is_empty(), "{broken}: {:?}", names(&adapters_dir));
    }
    // A kill leaves the staging directory without its lock; the next installation sweeps it.
    let leftover = adapters_dir.join(".staging-4000000-0");
    write_durable(&leftover.join("manifest.json"), b"{}", FileMode::Private).unwrap();
    assert!(fixture.adapters.ids().unwrap().is_empty());
    fixture.install("shop", SHOP, &InstallOptions::default()).unwrap();
    assert!(!leftover.exists());
}

#[test]
fn every_edit_of_an_installed_package_is_noticed() {
    let fixture = Fixture::installed();
    let cases = [
        ("manifest.json", "\"version\": \"2.0\"", "\"version\": \"2.1\""),
        ("manifest.json", "\"spec_type\": \"openapi31\"", "\"spec_type\": \"openapi3\""),
        ("manifest.json", "https://shop.example/v2", "https://evil.example/v2"),
        ("manifest.json", "\"seal\": \"", "\"seal\": \"00"),
    ];
    for (file, from, to) in cases {
        fixture.rewrite(file, from, to);
        let error = fixture.adapters.open(&id("shop")).unwrap_err();
        assert!(matches!(error, AdapterError::Edited { .. }), "{from}: {error}");
        assert_eq!(fixture.adapters.list().unwrap().1.len(), 1, "a listing says so too");
        assert!(fixture.adapters.set_base_url(&id("shop"), "https://x.example").is_err(), "no command mends it");
        fixture.rewrite(file, to, from);
        fixture.adapters.open(&id("shop")).unwrap();
    }
    fixture.rewrite("tools.json", "/orders/{id}", "/admins/{id}");
    let fresh = fixture.again();
    let adapter = fresh.open(&id("shop")).unwrap();
    assert!(matches!(adapter.tool("orders/cancel").unwrap_err(), AdapterError::Changed { .. }));
    assert!(adapter.tool("orders/list").is_ok(), "the others are as they were");
}

#[test]
fn a_package_that_cannot_be_read_is_named_and_spoils_nothing() {
    let fixture = Fixture::installed();
    fixture.install("other", SHOP, &InstallOptions::default()).unwrap();
    for content in ["", "{", "{}", "[1]"] {
        write_durable(&fixture.file("manifest.json"), content.as_bytes(), FileMode::Private).unwrap();
        let (entries, problems) = fixture.adapters.list().unwrap();
        assert_eq!((entries.len(), problems.len()), (1, 1), "{content}");
        assert!(matches!(fixture.adapters.open(&id("shop")), Err(AdapterError::Damaged { .. })), "{content}");
        let (hits, problems) = fixture.adapters.explore("cancel order", 5).unwrap();
        assert_eq!((hits.fits[0].tool.name.as_str(), problems.len()), ("orders/cancel", 1));
    }
    fixture.adapters.remove(&id("shop")).unwrap();
    assert_eq!(fixture.adapters.ids().unwrap(), [id("other")]);
}

#[test]
fn a_manifest_of_another_adapter_is_refused() {
    let fixture = Fixture::installed();
    fixture.rewrite("manifest.json", "\"id\": \"shop\"", "\"id\": \"bank\"");
    assert!(matches!(fixture.adapters.open(&id("shop")), Err(AdapterError::Damaged { .. })));
}

#[test]
fn an_unknown_adapter_is_answered_with_near_names() {
    let fixture = Fixture::installed();
    let error = fixture.adapters.open(&id("shp")).unwrap_err();
    assert!(matches!(&error, AdapterError::NotInstalled { nearest, .. } if nearest == &["shop"]), "{error}");
    assert!(matches!(fixture.adapters.remove(&id("shp")), Err(AdapterError::NotInstalled { .. })));
}

#[test]
fn a_policy_that_cannot_be_read_denies_and_is_read_again_when_it_is_mended() {
    let fixture = Fixture::installed();
    let good = fixture.text("config/policies.json");
    write_durable(&fixture.file("config/policies.json"), b"{\n\"saef_list\": []}", FileMode::Private).unwrap();
    let adapter = fixture.adapters.open(&id("shop")).unwrap();
    let error = adapter.policy().as_ref().as_ref().unwrap_err();
    assert_eq!(error.line, 2, "{error}");
    rote_home::remove_file(&fixture.file("config/policies.json")).unwrap();
    assert!(fixture.adapters.open(&id("shop")).unwrap().policy().is_err());
    write_durable(&fixture.file("config/policies.json"), good.as_bytes(), FileMode::Private).unwrap();
    assert!(fixture.adapters.open(&id("shop")).unwrap().policy().is_ok());
}

#[test]
fn only_a_typed_loopback_address_is_a_grant() {
    let fixture = Fixture::new();
    let local = SHOP.replace("https://shop.example/v2/", "http://127.0.0.1:8741/v2");
    let report = fixture.install("shop", &local, &InstallOptions::default()).unwrap();
    assert_eq!(report.adapter.base_url.as_deref(), Some("http://127.0.0.1:8741/v2"));
    assert!(report.granted.is_empty(), "the description's own words grant nothing");
    let ranges = || {
        let adapter = fixture.adapters.open(&id("shop")).unwrap();
        let policy = Result::as_ref(adapter.policy()).unwrap();
        policy.allowed_ranges().iter().map(|r| (r.cidr.to_string(), r.port)).collect::<Vec<_>>()
    };
    assert!(ranges().is_empty());
    let fingerprint = report.adapter.fingerprint;
    let line = fixture.adapters.set_base_url(&id("shop"), "http://127.0.0.1:9000/").unwrap();
    assert_eq!((line.base_url.as_deref(), &line.fingerprint), (Some("http://127.0.0.1:9000"), &fingerprint));
    assert_eq!(ranges(), [("127.0.0.1/32".to_owned(), Some(9000))]);
    fixture.adapters.set_base_url(&id("shop"), "http://10.0.0.7/").unwrap();
    assert_eq!(ranges().len(), 1);
    fixture.adapters.allow_cidr(&id("shop"), "10.0.0.7", Some(80), "test box").unwrap();
    assert_eq!(ranges()[1], ("10.0.0.7/32".to_owned(), Some(80)));
    assert!(matches!(
        fixture.adapters.allow_cidr(&id("shop"), "10.0.0.7/8", None, ""),
        Err(AdapterError::Range { .. })
    ));
}

#[test]
fn a_new_grant_joins_the_marks_of_a_replaced_adapter() {
    let fixture = Fixture::installed();
    fixture.rewrite("config/policies.json", "\"confirm_list\": []", "\"confirm_list\": [\"orders/*\"]");
    let base_url = Some("http://127.0.0.1:1234".to_owned());
    let options = InstallOptions { base_url, ..InstallOptions::default() };
    assert_eq!(fixture.install("shop", SHOP, &options).unwrap().granted, ["127.0.0.1/32 port 1234"]);
    let text = fixture.text("config/policies.json");
    assert!(text.contains("orders/*") && text.contains("127.0.0.1/32"), "{text}");
    write_durable(&fixture.file("config/policies.json"), b"{", FileMode::Private).unwrap();
    assert!(matches!(fixture.install("shop", SHOP, &options), Err(AdapterError::Policy(_))));
}

#[test]
fn an_intent_finds_its_tool_with_the_parameters() {
    let fixture = Fixture::installed();
    let hits = fixture.adapters.probe(&id("shop"), "cancel an order", 10).unwrap().fits;
    assert_eq!(hits[0].tool.name, "orders/cancel");
    assert_eq!(hits[0].tool.input_schema["required"][0], "id");
    assert_eq!(fixture.adapters.probe(&id("shop"), "order", 1).unwrap().fits.len(), 1);
    let (all, problems) = fixture.adapters.explore("place an order", 0).unwrap();
    assert_eq!((all.fits[0].tool.name.as_str(), problems.len()), ("orders/create", 0));
}

#[test]
fn yaml_and_what_it_refers_to_end_up_in_the_spec_file() {
    let fixture = Fixture::new();
    let dir = tempfile::tempdir().unwrap();
    let yaml = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths:\n  /x:\n    get:\n      operationId: x\n      \
                parameters:\n        - $ref: 'parts/p.yaml'\n      responses: {'200': {description: ok}}\n";
    let put = |name: &str, text: &str| write_durable(&dir.path().join(name), text.as_bytes(), FileMode::Private);
    put("openapi.yaml", yaml).unwrap();
    put("parts/p.yaml", "{name: q, in: query, schema: {type: string}}").unwrap();
    let document = Document::read(&dir.path().join("openapi.yaml")).unwrap();
    assert!(matches!(document.reach, Reach::Directory(_)));
    let loader = Loader::new(&document);
    let prepared = fixture.adapters.prepare(&id("shop"), document, loader, &InstallOptions::default()).unwrap();
    let report = fixture.adapters.install(prepared).unwrap();
    assert_eq!(report.adapter.base_url, None);
    assert!(report.next[0].to_string().contains("set shop base_url"), "{:?}", report.next);
    let spec: serde_json::Value = serde_json::from_str(&fixture.text("spec.json")).unwrap();
    assert_eq!(spec["openapi"], "3.0.3");
    let documents = spec["x-rote-documents"].as_object().unwrap();
    assert_eq!(documents.len(), 1);
    assert_eq!(documents.values().next().unwrap()["name"], "q");
}

#[test]
fn racing_installations_make_one_adapter() {
    let fixture = Fixture::new();
    let made = std::thread::scope(|scope| {
        let prepared: Vec<Prepared> =
            (0..4).map(|_| fixture.prepare("shop", SHOP, &InstallOptions::default()).unwrap()).collect();
        let adapters = &fixture.adapters;
        let install = |prepared| scope.spawn(move || adapters.install(prepared).is_ok());
        let threads: Vec<_> = prepared.into_iter().map(install).collect();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum::<usize>()
    });
    assert_eq!(made, 1);
    fixture.adapters.open(&id("shop")).unwrap().all_tools().unwrap();
}

/// Takes the seal off a manifest, as a rote of before wrote it.
fn unseal(fixture: &Fixture) {
    let mut manifest: serde_json::Value = serde_json::from_str(&fixture.text("manifest.json")).unwrap();
    for later in ["seal", "policies", "base_url_typed"] {
        manifest.as_object_mut().unwrap().remove(later);
    }
    write_durable(&fixture.file("manifest.json"), manifest.to_string().as_bytes(), FileMode::Private).unwrap();
}

#[test]
fn a_manifest_without_its_seal_is_refused_and_those_of_before_are_taken_over_once() {
    let fixture = Fixture::installed();
    unseal(&fixture);
    let error = fixture.again().open(&id("shop")).unwrap_err();
    assert!(matches!(error, AdapterError::Edited { .. }), "taking a seal off gets no new one: {error}");

    // A home of before has no key, and never had one.
    let home = fixture.adapters.home();
    rote_home::remove_file(&home.secrets_dir().join(".adapter.key")).unwrap();
    rote_home::remove_file(&home.config_dir().join(".adapter.keyed")).unwrap();
    let adapters = fixture.again();
    let adapter = adapters.open(&id("shop")).unwrap();
    assert!(adapter.manifest().base_url_typed, "nobody knows who named the base URL");
    assert!(adapters.take_notes()[0].contains("taken over and sealed as they are: shop"));
    assert!(fixture.events().iter().any(|event| event.kind == "adapter.sealed"));
    let adapters = fixture.again();
    adapters.open(&id("shop")).unwrap();
    assert_eq!(adapters.take_notes(), [""; 0], "said once");
}

#[test]
fn whoever_takes_traces_of_the_key_away_gets_no_edited_manifest_sealed() {
    let traces = ["secrets/.adapter.key", "config/.adapter.keyed", "the seal"];
    for one in 0..traces.len() {
        for other in one..traces.len() {
            let fixture = Fixture::installed();
            let taken = [traces[one], traces[other]];
            fixture.rewrite("manifest.json", "https://shop.example", "https://evil.example");
            if taken.contains(&"the seal") {
                unseal(&fixture);
            }
            for trace in taken {
                rote_home::remove_file(&fixture.adapters.home().root().join(trace)).unwrap_or_default();
            }
            for _ in 0..2 {
                let adapters = fixture.again();
                let error = adapters.open(&id("shop")).unwrap_err();
                assert!(matches!(error, AdapterError::Edited { .. }), "{taken:?}: {error}");
                assert_eq!(adapters.take_notes(), [""; 0], "{taken:?}");
            }
        }
    }
}

#[test]
fn a_take_over_that_was_killed_is_finished_with_the_same_key() {
    let fixture = Fixture::installed();
    fixture.install("other", SHOP, &InstallOptions::default()).unwrap();
    unseal(&fixture);
    let home = fixture.adapters.home();
    let key = home.secrets_dir().join(".adapter.key");
    // The key waits, one manifest is sealed with it already, the other one not yet.
    let bytes = rote_home::read_capped(&key, 32).unwrap();
    write_durable(&key.with_extension("key.new"), &bytes, FileMode::Private).unwrap();
    rote_home::remove_file(&key).unwrap();
    rote_home::remove_file(&home.config_dir().join(".adapter.keyed")).unwrap();
    let adapters = fixture.again();
    for name in ["shop", "other"] {
        adapters.open(&id(name)).unwrap();
    }
    assert!(adapters.take_notes()[0].ends_with("sealed as they are: shop"));
    assert!(!key.with_extension("key.new").exists());
}

/// A clock at whose every look somebody edits a policy.
#[derive(Debug)]
struct Editing {
    file: PathBuf,
    edits: AtomicUsize,
}

impl Clock for Editing {
    fn now(&self) -> Timestamp {
        let left = self.edits.load(Ordering::SeqCst);
        if left > 0 {
            self.edits.store(left - 1, Ordering::SeqCst);
            let text = format!(r#"{{"version": 1, "safe_list": ["edit-{left}"]}}"#);
            write_durable(&self.file, text.as_bytes(), FileMode::Private).unwrap();
        }
        Timestamp::UNIX_EPOCH
    }
}

#[test]
fn a_policy_that_is_edited_while_it_is_told_of_is_told_of_again_or_not_used() {
    for (edits, is_used) in [(1, true), (3, true), (1_000, false)] {
        let fixture = Fixture::installed();
        let file = fixture.file("config/policies.json");
        fixture.rewrite("config/policies.json", "\"safe_list\": []", "\"safe_list\": [\"orders/cancel\"]");
        let clock = Arc::new(Editing { file, edits: AtomicUsize::new(edits) });
        let adapters = Adapters::new(fixture.adapters.home(), clock, Arc::new(Seven));
        match adapters.open(&id("shop")) {
            Ok(adapter) => {
                assert!(is_used, "{edits}");
                let digest = Result::as_ref(adapter.policy()).unwrap().digest();
                assert_eq!(adapter.manifest().policies, Some(digest), "{edits}: what is used was told of");
                let told = fixture.events().iter().filter(|event| event.kind == "policy.changed").count();
                assert_eq!(told, edits + 1);
            }
            Err(error) => assert!(!is_used && matches!(error, AdapterError::Unsettled { .. }), "{edits}: {error}"),
        }
    }
}

#[test]
fn a_policy_file_that_others_could_have_written_denies() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let fixture = Fixture::installed();
    let file = fixture.file("config/policies.json");
    let problem = || {
        let adapter = fixture.adapters.open(&id("shop")).unwrap();
        let error = Result::as_ref(adapter.policy()).unwrap_err().clone();
        (error.problem.clone(), rote_types::Classify::hint(&error).unwrap())
    };
    for mode in [0o666, 0o620, 0o602] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let (what, hint) = problem();
        assert!(what.contains(&format!("mode {mode:03o}")), "{what}");
        assert!(hint.starts_with(&format!("chmod 600 {}", file.display())), "{hint}");
        let error = fixture.adapters.allow_cidr(&id("shop"), "10.0.0.0/8", None, "x").unwrap_err();
        assert!(matches!(error, AdapterError::Home(_)), "{error}");
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let elsewhere = fixture.file("elsewhere.json");
    std::fs::copy(&file, &elsewhere).unwrap();
    rote_home::remove_file(&file).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert_eq!(problem().0, "is a symlink");
    rote_home::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(problem().0, "is not a file");
    std::fs::remove_dir(&file).unwrap();
    std::fs::copy(&elsewhere, &file).unwrap();
    let (folder, moved) = (fixture.file("config"), fixture.file("moved"));
    std::fs::create_dir(&moved).unwrap();
    std::fs::copy(&file, moved.join("policies.json")).unwrap();
    rote_home::remove_dir(&folder).unwrap();
    symlink(&moved, &folder).unwrap();
    let (what, hint) = problem();
    assert_eq!(what, format!("stands behind the symlink {}", folder.display()));
    assert!(hint.starts_with("replace the link by a directory: rm "), "{hint}");
}

#[test]
fn what_an_edited_policy_newly_allows_is_in_the_journal_and_said_once() {
    let fixture = Fixture::installed();
    fixture.adapters.open(&id("shop")).unwrap();
    assert_eq!(fixture.adapters.take_notes(), [""; 0], "what was just installed allows nothing new");
    fixture.rewrite("config/policies.json", "\"safe_list\": []", "\"safe_list\": [\"orders/cancel\"]");
    let trust = || fixture.adapters.open(&id("shop")).unwrap().trust();
    let adapters = fixture.again();
    adapters.open(&id("shop")).unwrap();
    assert_eq!(
        adapters.take_notes(),
        ["policies.json of adapter `shop` was changed; it newly allows safe_list `orders/cancel`"]
    );
    let told = |events: &[rote_home::Event]| events.iter().filter(|event| event.kind == "policy.changed").count();
    let events = fixture.events();
    let event = events.last().unwrap();
    assert_eq!((event.kind.as_str(), &event.body["by"]), ("policy.changed", &serde_json::json!("file")));
    assert_eq!(event.body["allows"], serde_json::json!(["safe_list `orders/cancel`"]));
    let before = trust();
    assert_eq!((told(&fixture.events()), fixture.again().take_notes().len()), (1, 0), "once");

    // What the file is compared with cannot be edited along with it.
    let wide = fixture.text("config/policies.json").replace("\"safe_list\": [", "\"safe_list\": [\"orders/create\",");
    for name in ["config/policies.json", "config/.policies.told.json"] {
        write_durable(&fixture.file(name), wide.as_bytes(), FileMode::Private).unwrap();
    }
    assert_ne!(before, trust(), "and what was confirmed or blessed before is void");
    assert_eq!(told(&fixture.events()), 2);
    fixture.adapters.allow_cidr(&id("shop"), "10.0.0.0/8", None, "x").unwrap();
    let events = fixture.events();
    assert_eq!(events.last().unwrap().body["by"], "command");
    assert_eq!(events.last().unwrap().body["allows"], serde_json::json!(["egress to 10.0.0.0/8"]));
    trust();
    assert_eq!(told(&fixture.events()), 3, "a command is told of once, by itself");

    // Without the copy nobody can say what is new; a name that fits no tool protects nothing.
    rote_home::remove_file(&fixture.file("config/.policies.told.json")).unwrap();
    fixture.rewrite("config/policies.json", "\"deny_list\": []", "\"deny_list\": [\"orders/cancle\"]");
    let adapters = fixture.again();
    adapters.open(&id("shop")).unwrap();
    let notes = adapters.take_notes();
    assert!(notes[0].contains("what it said before is not known, so it may have lifted a denial"), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("`deny_list` of adapter `shop` names `orders/cancle`")), "{notes:?}");
    assert_eq!(fixture.events().last().unwrap().body["compared"], false);
}

#[test]
fn another_api_under_the_same_name_inherits_no_grant() {
    let fixture = Fixture::installed();
    fixture.rewrite("config/policies.json", "\"safe_list\": []", "\"safe_list\": [\"*\"]");
    fixture.adapters.allow_cidr(&id("shop"), "10.0.0.0/8", None, "x").unwrap();
    let replace = |text: &str| fixture.install("shop", text, &InstallOptions::default()).unwrap();
    let newer =
        SHOP.replace("\"version\": \"2.0\"", "\"version\": \"2.1\"").replace("\"maximum\": 100", "\"maximum\": 50");
    assert!(!replace(&newer).policies_set_aside, "the same API, newer");
    assert!(fixture.text("config/policies.json").contains("\"*\""));
    for other in [
        newer.replace("\"Shop\"", "\"Bank\""),
        newer.replace("https://shop.example", "https://bank.example").replace("\"maximum\": 50", "\"maximum\": 25"),
    ] {
        let kept = fixture.text("config/policies.json");
        assert!(replace(&other).policies_set_aside);
        let policy = fixture.text("config/policies.json");
        assert!(!policy.contains("\"*\"") && !policy.contains("10.0.0.0"), "{policy}");
        assert_eq!(fixture.text("config/policies.replaced.json"), kept);
        replace(&newer);
        write_durable(&fixture.file("config/policies.json"), kept.as_bytes(), FileMode::Private).unwrap();
        fixture.adapters.open(&id("shop")).unwrap();
    }
    // A manifest that somebody edited says nothing of which API it was.
    fixture.rewrite("manifest.json", "\"name\": \"Shop\"", "\"name\": \"Bank\"");
    assert!(replace(&newer.replace("\"Shop\"", "\"Bank\"")).policies_set_aside);
}
