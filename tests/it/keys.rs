//! Idempotency keys of rote's own: calls, batches, runs and resumed runs against a server that makes one write for each
//! key and loses answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use rote_testkit::{FakeApi, Script, TestHome};
use serde_json::{Value, json};

use crate::home;

/// One write that declares the header and requires it, one that says nothing of it, and a read.
fn document() -> String {
    let ok = json!({ "200": { "description": "ok" } });
    let key = json!({ "name": "Idempotency-Key", "in": "header", "required": true, "schema": { "type": "string" } });
    let text = json!({ "type": "string" });
    let members = json!({ "item": text, "idempotency_key": text });
    let item = json!({ "type": "object", "required": ["item"], "properties": members });
    let body = json!({ "required": true, "content": { "application/json": { "schema": item } } });
    let write = |name: &str| json!({ "operationId": name, "requestBody": body, "responses": ok });
    let mut order = write("order");
    order["parameters"] = json!([key]);
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Till", "version": "1" },
        "paths": {
            "/order": { "post": order },
            "/note": { "post": write("note"), "get": { "operationId": "notes", "responses": ok } },
        },
    });
    document.to_string()
}

/// A home with the adapter `till`, whose server hangs up on as many writes as the counter says.
fn till() -> (TestHome, FakeApi, Arc<AtomicUsize>) {
    let losing = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&losing);
    let lose = move || left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
    let api = FakeApi::start(move |request| {
        if request.method == "POST" && lose() { Script::Close } else { Script::Json(200, json!({ "n": 1 })) }
    });
    let home = home();
    home.file("till.json", document());
    ok(&home, &["adapter", "new", "till", "till.json", "--base-url", &api.url(), "-y"]);
    ok(&home, &["init", "w"]);
    (home, api, losing)
}

fn ok(home: &TestHome, words: &[&str]) -> String {
    let run = home.rote(words);
    assert_eq!(run.code, 0, "{run}");
    run.stdout
}

/// The key of each write that arrived.
fn keys(api: &FakeApi) -> Vec<Option<String>> {
    api.settle();
    let received = api.received();
    let writes = received.iter().filter(|one| one.method == "POST");
    writes.map(|one| one.header("idempotency-key").map(str::to_owned)).collect()
}

/// How many requests arrived, and how many writes a server makes of them that makes one for each key.
fn arrived(api: &FakeApi) -> (usize, usize) {
    let keys = keys(api);
    let bare = keys.iter().filter(|key| key.is_none()).count();
    (keys.len(), bare + keys.iter().flatten().collect::<BTreeSet<_>>().len())
}

const PEN: &str = r#"{"item":"pen"}"#;

#[test]
fn a_declared_key_is_sent_recorded_and_repeated() {
    let (home, api, losing) = till();
    assert!(ok(&home, &["adapter", "info", "till"]).contains("idempotency  Idempotency-Key (1 operation)"));
    losing.store(1, SeqCst);
    ok(&home, &["call", "till", "order", PEN]);
    assert_eq!(arrived(&api), (2, 1));
    let key = keys(&api)[0].clone().unwrap();
    let events = home.data(&["audit", "tail", "-n", "3"]);
    let kinds: Vec<&str> = events.as_array().unwrap().iter().filter_map(|event| event["kind"].as_str()).collect();
    assert_eq!(kinds, ["effect.started", "effect.repeated", "effect.finished"]);
    assert_eq!(events[0]["body"]["idempotency_key"], key.as_str());
    assert!(ok(&home, &["audit", "tail", "-n", "2"]).contains("w · @1 · 2 · "));
    let preview = ok(&home, &["call", "till", "order", PEN, "--dry-run"]);
    assert!(preview.contains("<a key of rote's own>"), "{preview}");
    // A key of the caller's own is sent as it is, and nothing is repeated with it.
    losing.store(1, SeqCst);
    let run = home.rote(&["call", "till", "order", r#"{"item":"pen","Idempotency-Key":"mine"}"#]);
    assert!(run.code == 8 && run.stderr.contains("may have happened"), "{run}");
    assert_eq!(keys(&api)[2..], [Some("mine".to_owned())]);
}

#[test]
fn a_doubt_says_its_key_and_the_same_call_can_carry_it_again() {
    let (home, api, losing) = till();
    losing.store(3, SeqCst);
    let run = home.rote(&["call", "till", "order", PEN]);
    let key = keys(&api)[0].clone().unwrap();
    assert!(run.code == 8 && run.stderr.contains(&format!("with the idempotency key `{key}`")), "{run}");
    assert!(run.stderr.contains("rote doubts settle --workspace w --retry @1"), "{run}");
    assert_eq!(home.data(&["doubts"])["doubts"][0]["key"], key.as_str());
    assert_eq!(arrived(&api), (3, 1));
    let same = home.rote(&["call", "till", "order", PEN]);
    assert!(same.code == 10 && same.stderr.contains("--retry @1 # the same call"), "{same}");
    assert_eq!(arrived(&api), (3, 1), "without a word it could be another write");
    ok(&home, &["doubts", "settle", "-w", "w", "--retry", "@1", "--yes"]);
    ok(&home, &["call", "till", "order", r#"{"item":"cup"}"#]);
    assert_eq!(arrived(&api), (4, 2), "another call has another key");
    ok(&home, &["call", "till", "order", PEN]);
    assert_eq!(arrived(&api), (5, 2));
    assert_eq!(keys(&api)[4], Some(key));
}

#[test]
fn a_person_sets_the_header_and_takes_it_away() {
    let (home, api, losing) = till();
    losing.store(1, SeqCst);
    assert_eq!(home.rote(&["call", "till", "note", PEN]).code, 8);
    assert_eq!(keys(&api), [None], "it is not declared there");
    let set = ok(&home, &["adapter", "set", "till", "idempotency_header", "X-Key", "-y"]);
    assert_eq!(set, "till: idempotency keys: Idempotency-Key (1 operation), X-Key (1 operation)\n");
    ok(&home, &["doubts", "settle", "--retry", "@1", "--yes"]);
    ok(&home, &["call", "till", "note", PEN]);
    let sent = api.received().last().unwrap().header("x-key").map(str::len);
    assert_eq!(sent, Some(36));
    assert_eq!(
        ok(&home, &["adapter", "set", "till", "idempotency_header", "none", "-y"]),
        "till: idempotency keys: none, as it was set\n"
    );
    losing.store(1, SeqCst);
    assert_eq!(home.rote(&["call", "till", "order", PEN]).code, 8);
    assert_eq!(keys(&api).last(), Some(&None));
    ok(&home, &["adapter", "set", "till", "idempotency_header", "declared", "-y"]);
    assert_eq!(
        home.data(&["adapter", "info", "till"])["idempotency"],
        json!({"set": null, "headers": {"Idempotency-Key": 1}})
    );
    for bad in ["Host", "a b", "content-length", "Authorization", ""] {
        let run = home.rote(&["adapter", "set", "till", "idempotency_header", bad, "-y"]);
        assert!(
            run.code == 2 && run.stderr.contains("cannot be the idempotency header of adapter `till`"),
            "{bad}: {run}"
        );
    }
}

#[test]
fn a_confirm_token_does_not_outlive_another_header() {
    let (home, api, _losing) = till();
    let policy = home.home().join("adapters/till/config/policies.json");
    let mut asks: Value = serde_json::from_slice(&std::fs::read(&policy).unwrap()).unwrap();
    asks["confirm_list"] = json!(["order"]);
    std::fs::write(&policy, asks.to_string()).unwrap();
    let run = home.rote(&["--json", "call", "till", "order", PEN]);
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    let token = said["error"]["details"]["confirm_token"].as_str().unwrap();
    ok(&home, &["adapter", "set", "till", "idempotency_header", "none", "-y"]);
    let run = home.rote(&["call", "till", "order", PEN, "--confirm", token]);
    assert!(run.code == 5 && run.stderr.contains("header for idempotency keys was changed"), "{run}");
    assert_eq!(arrived(&api), (0, 0));
}

#[test]
fn a_batch_and_a_run_repeat_each_write_with_its_own_key() {
    let (home, api, losing) = till();
    losing.store(2, SeqCst);
    let calls = format!(r#"[{{"tool_name":"order","arguments":{PEN}}},{{"tool_name":"order","arguments":{PEN}}}]"#);
    ok(&home, &["batch", "till", &calls, "--parallel", "1"]);
    assert_eq!(arrived(&api), (4, 2), "two that are alike are two writes: {:?}", keys(&api));
    ok(&home, &["flow", "template", "create", "--workspace", "w", "--name", "twice"]);
    losing.store(1, SeqCst);
    ok(&home, &["run", "twice"]);
    assert_eq!(arrived(&api), (7, 4));
    losing.store(3, SeqCst);
    let run = home.rote(&["run", "twice"]);
    assert_eq!(run.code, 8, "{run}");
    assert_eq!(home.data(&["doubts"])["total"], 1);
    ok(&home, &["run", "--resume", "latest"]);
    assert_eq!(home.data(&["doubts"])["total"], 0);
    let (_, writes) = arrived(&api);
    assert_eq!(writes, 6, "{:?}", keys(&api));
    assert_eq!(home.rote(&["audit", "verify"]).code, 0);
}

#[test]
fn a_key_that_was_typed_is_not_frozen_into_a_flow() {
    let (home, api, _losing) = till();
    ok(&home, &["call", "till", "order", PEN, "-p", "Idempotency-Key=k1"]);
    let made = ok(&home, &["flow", "template", "create", "--name", "orders", "--param", "item=pen"]);
    assert!(
        made.contains("`Idempotency-Key` of `@1 till/order` is left out: each run sends a key of its own"),
        "{made}"
    );
    for item in ["item=pen", "item=pen", "item=cup"] {
        ok(&home, &["run", "orders", item]);
    }
    assert_eq!(arrived(&api), (4, 4), "{:?}", keys(&api));
    // Where rote sends none, the key is a parameter or nothing.
    ok(&home, &["init", "v"]);
    ok(&home, &["call", "till", "note", r#"{"item":"pen","idempotency_key":"k2"}"#]);
    let refused = home.rote(&["flow", "template", "create", "--name", "notes"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("`/idempotency_key` of `@1 till/note` is a key for one write"), "{refused}");
    assert!(refused.stderr.contains("--param key=k2"), "{refused}");
    ok(&home, &["flow", "template", "create", "--name", "notes", "--param", "key=k2"]);
    assert_eq!(home.rote(&["run", "notes"]).code, 2, "a key has no default");
    ok(&home, &["run", "notes", "key=k3"]);
    assert!(String::from_utf8_lossy(&api.received().last().unwrap().body).contains("k3"));
}

#[test]
fn a_new_key_that_is_typed_for_each_attempt_does_not_make_another_call_of_it() {
    let (home, api, losing) = till();
    losing.store(1, SeqCst);
    let call = |key: &[&str]| home.rote(&[&["call", "till", "note", "item=pen", "-w", "w"], key].concat());
    assert_eq!(call(&["idempotency_key=k1"]).code, 8);
    for key in [&["idempotency_key=k2"][..], &[]] {
        let again = call(key);
        assert!(again.code == 10 && again.stderr.contains("may have happened"), "{again}");
    }
    assert_eq!(arrived(&api).0, 1);
    ok(&home, &["doubts", "settle", "-w", "w", "--retry", "@1", "-y"]);
    assert_eq!(call(&["idempotency_key=k2"]).code, 0);
}
