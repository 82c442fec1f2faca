//! What a flow sees of the host, through the fake.

use std::time::{Duration, SystemTime};

use rote_sdk::testing::FakeHost;
use rote_sdk::{Cause, Challenge, Denial, Error, Problem, Result, Rote, Value, join_all, json, wait_any};
use serde::{Deserialize, Serialize};

fn denied() -> Error {
    Error::from(Cause::Denied(Denial {
        rule: "deny_list".to_owned(),
        message: "`shop/orders` is denied".to_owned(),
        hint: "rote adapter allow shop orders".to_owned(),
    }))
}

#[test]
fn answers_are_given_in_order_and_the_last_one_again() {
    let host = FakeHost::new();
    host.on("shop", "orders").json(json!(1)).json(json!(2));
    let shop = host.rote().adapter("shop");
    let ids: Vec<u8> = (0..3).map(|_| shop.call("orders", &()).unwrap().json().unwrap()).collect();
    assert_eq!(ids, [1, 2, 2]);
    assert_eq!(host.calls()[0].arguments, json!({}));
}

#[test]
fn an_answer_can_be_for_some_arguments_only() {
    let host = FakeHost::new();
    host.on("shop", "order").with(json!({"id": 1})).json(json!("one"));
    host.on("shop", "order").with(json!({"id": 2})).json(json!("two"));
    let shop = host.rote().adapter("shop");
    let two = shop.call("order", &json!({"id": 2, "full": true})).unwrap();
    assert_eq!(two.json::<String>().unwrap(), "two");
    let missing = shop.call("order", &json!({"id": 3})).unwrap_err();
    let Cause::NotFound(text) = missing.cause() else { panic!() };
    assert_eq!(text, r#"the test has no answer for `shop/order` {"id":3}"#);
}

#[test]
fn an_error_answer_is_recorded_and_can_be_queried() {
    let host = FakeHost::new();
    host.on("shop", "order").status(404, json!({"message": "no such order"}));
    let error = host.rote().adapter("shop").call("order", &()).unwrap_err();
    assert_eq!(error.status(), Some(404));
    assert_eq!(error.to_string(), "the remote answered 404 (@1)");
    let Cause::Http(response) = error.cause() else { panic!() };
    assert_eq!(response.query::<String>(".message").unwrap(), "no such order");
}

#[test]
fn an_answer_fails_by_its_status_as_in_the_host() {
    let host = FakeHost::new();
    let failures: Vec<u16> = [200, 299, 300, 302, 304, 307, 400, 500]
        .into_iter()
        .filter(|status| {
            host.on("shop", "order").status(*status, json!(null));
            host.rote().adapter("shop").call("order", &()).is_err_and(|error| error.status() == Some(*status))
        })
        .collect();
    assert_eq!(failures, [300, 302, 307, 400, 500]);
}

#[test]
fn errors_of_the_host_pass_through_a_flow_unchanged() {
    fn flow(cx: &Rote) -> Result<Value> {
        let response = cx.tasks().run("order", || cx.adapter("shop").call("orders", &()))?;
        response.json()
    }
    let challenge = Challenge { tool: "shop/orders".to_owned(), impact: "orders a book".to_owned() };
    for error in
        [denied(), Cause::ConfirmationNeeded(challenge).into(), Cause::Limit("too many calls".to_owned()).into()]
    {
        let host = FakeHost::new();
        host.on("shop", "orders").fail(error.clone());
        assert_eq!(host.run(flow, json!({})), Err(error));
        assert_eq!(host.steps()[1], ("order".to_owned(), "failed".to_owned()));
    }
}

#[test]
fn parameters_and_result_pass_through_json() {
    #[derive(Deserialize)]
    struct Params {
        left: i32,
        #[serde(default)]
        right: i32,
    }
    #[derive(Serialize)]
    struct Sum {
        sum: i32,
    }
    fn flow(_cx: &Rote, params: Params) -> Result<Sum> {
        Ok(Sum { sum: params.left + params.right })
    }
    let host = FakeHost::new();
    assert_eq!(host.run(flow, json!({"left": 2, "right": 3})), Ok(json!({"sum": 5})));
    let problem = Problem { pointer: "/left".to_owned(), message: "expected i32, found string".to_owned() };
    assert_eq!(host.run(flow, json!({"left": "2"})), Err(Cause::InvalidInput(vec![problem]).into()));
}

#[test]
fn a_given_result_comes_before_the_returned_one_and_only_once() {
    fn flow(cx: &Rote) -> Result<()> {
        cx.output().result(&json!({"early": true}))?;
        assert_eq!(cx.output().result(&json!({})).unwrap_err().kind(), "invalid-input");
        Ok(())
    }
    let not_an_object = FakeHost::new().rote().output().result(&[1]).unwrap_err();
    assert_eq!(
        (not_an_object.kind(), not_an_object.to_string().as_str()),
        ("invalid-input", "the result is not an object")
    );
    assert_eq!(FakeHost::new().run(flow, json!({})), Ok(json!({"early": true})));
    assert_eq!(FakeHost::new().run(|_: &Rote| Ok(()), json!({})), Ok(Value::Null));
}

#[test]
fn each_task_is_waited_for_once() {
    let host = FakeHost::new();
    host.on("shop", "order").json(json!("a")).fail(denied()).json(json!("c"));
    let shop = host.rote().adapter("shop");
    let mut tasks: Vec<_> = (0..3).map(|_| shop.call_bg("order", &()).unwrap()).collect();
    let mut seen = Vec::new();
    while let Some((position, answer)) = wait_any(&mut tasks).unwrap() {
        seen.push((position, answer.is_ok()));
    }
    assert_eq!(seen, [(0, true), (1, false), (2, true)]);
    assert!(tasks.iter().all(rote_sdk::Task::is_done));
    assert!(join_all(tasks).iter().all(|answer| matches!(answer, Err(error) if error.kind() == "invalid-input")));
}

#[test]
fn a_cancelled_task_is_remembered_as_such() {
    let host = FakeHost::new();
    host.on("shop", "order").json(json!(null));
    let shop = host.rote().adapter("shop");
    let (kept, given_up) = (shop.call_bg("order", &()).unwrap(), shop.call_bg("order", &()).unwrap());
    given_up.cancel().unwrap();
    assert_eq!(kept.wait().unwrap().id(), 1);
    assert_eq!(host.calls().iter().map(|call| call.is_cancelled).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_batch_answers_in_its_order() {
    let host = FakeHost::new();
    host.on("shop", "order").json(json!({"id": 7}));
    let shop = host.rote().adapter("shop");
    let answers = shop.batch_call([("order", json!({"id": 7})), ("missing", json!({}))]).unwrap();
    assert_eq!(answers[0].as_ref().unwrap().query::<u8>(".id").unwrap(), 7);
    assert!(matches!(&answers[1], Err(error) if error.kind() == "not-found"));
    assert_eq!(shop.call("order", &[1]).unwrap_err().kind(), "invalid-input");
}

#[test]
fn preflight_names_fingerprints_before_credentials() {
    let host = FakeHost::new();
    let cx = host.rote();
    assert_eq!(cx.preflight(&["adapter/shop", "mail"]), Ok(()));
    host.set_credential("shop", "bearer", false);
    host.set_credential("shop", "key", false);
    host.set_fingerprints("mail", Some("mcp_a"), Some("mcp_b"));
    let text = "⚠️ Mail adapter fingerprint mismatch.\nExpected: mcp_a\nInstalled: mcp_b\n\
                Re-export this flow to update fingerprints.";
    let drifted = Error::from(Cause::FingerprintMismatch(text.to_owned()));
    assert_eq!(cx.preflight(&["shop", "mail"]), Err(drifted.clone()));
    let missing = Error::from(Cause::Auth("adapter `shop` has no value for `bearer`, `key`".to_owned()));
    assert_eq!(cx.preflight(&["shop"]), Err(missing));
    assert_eq!(cx.tokens().check("adapter/shop"), Ok(false));
    assert_eq!(cx.tokens().info("shop").unwrap()[0].slot, "bearer");
    assert_eq!(cx.adapter("mail").expected_fingerprint(), Ok(Some("mcp_a".to_owned())));
    assert_eq!(cx.adapter("adapter/mail").with_fingerprint("mcp_b").unwrap().id(), "mail");
    assert_eq!(cx.adapter("mail").with_fingerprint("mcp_a").unwrap_err(), drifted);
}

#[test]
fn variables_files_and_other_flows_are_the_tests() {
    let host = FakeHost::new();
    let cx = host.rote();
    assert_eq!(cx.vars().get::<u8>("n"), Ok(None));
    cx.vars().set("n", &5).unwrap();
    assert_eq!((cx.vars().get("n"), host.var("n")), (Ok(Some(5)), Some(json!(5))));
    let text = cx.vars().get::<String>("n").unwrap_err().to_string();
    assert_eq!(text, "the variable `n` does not fit: expected a string, found number");
    assert_eq!(cx.vars().names().unwrap(), ["n"]);

    cx.files().write("report.md", "# Report").unwrap();
    assert_eq!(cx.files().read("report.md").unwrap(), b"# Report");
    assert_eq!(cx.files().list().unwrap()[0].bytes, 8);
    assert_eq!(cx.files().read("other").unwrap_err().kind(), "not-found");
    assert_eq!(cx.files().write("../x", "").unwrap_err().kind(), "invalid-input");
    cx.files().write("broken", b"a\xe0\x80b").unwrap();
    assert_eq!(cx.files().read_text("broken").unwrap(), "a\u{fffd}\u{fffd}b");

    host.on_flow("stars").with(json!({"repo": "a"})).json(json!({"stars": [1, 2]}));
    let stars: Value = cx.flows().run("stars", &json!({"repo": "a"})).unwrap();
    assert_eq!(stars["stars"][1], 2);
    assert_eq!(host.flow_runs()[0].0, "stars");
}

#[test]
fn tools_are_found_as_they_were_added() {
    let host = FakeHost::new();
    host.add_tool("shop", "orders/list", "Lists orders");
    host.add_tool("shop", "orders/get", "Gets an order");
    let found = host.rote().adapter("shop").probe("list orders", 1).unwrap();
    assert_eq!(found.iter().map(|tool| tool.tool.as_str()).collect::<Vec<_>>(), ["orders/list"]);
}

#[test]
fn time_and_randomness_are_the_same_in_every_test() {
    let host = FakeHost::new();
    let clock = host.rote().clock();
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    assert_eq!((clock.now(), clock.elapsed()), (start, Duration::ZERO));
    host.advance(Duration::from_millis(1_500));
    assert_eq!((clock.now(), clock.elapsed()), (start + Duration::from_millis(1_500), Duration::from_millis(1_500)));
    clock.sleep(Duration::from_millis(500));
    assert_eq!((host.slept(), clock.elapsed()), (Duration::from_millis(500), Duration::from_secs(2)));
    clock.sleep(Duration::MAX);
    let (first, second) = (clock.random(8), clock.random(8));
    assert_ne!(first, second);
    host.set_seed(0);
    assert_eq!(clock.random(16), [first, second].concat());
}

#[test]
fn output_and_log_are_kept() {
    let host = FakeHost::new();
    let cx = host.rote();
    cx.output().human(String::from("one line"));
    cx.output().summary("short");
    cx.log().warn("odd");
    cx.tasks().skip("later");
    assert_eq!((host.human(), host.summary()), (vec!["one line".to_owned()], vec!["short".to_owned()]));
    assert_eq!(host.log(), [("warn".to_owned(), "odd".to_owned())]);
    assert_eq!(host.steps(), [("later".to_owned(), "skipped".to_owned())]);
}
