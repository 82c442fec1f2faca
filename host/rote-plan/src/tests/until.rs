//! Steps that wait for something.

use super::*;

fn waiting(more: Value) -> Value {
    let mut step = step("job", "poll", json!({"id": {"$param": "id"}}));
    step["until"] = json!({"jq": ".done", "never": ".lost", "pause": 500, "most": 3});
    step.as_object_mut().unwrap().extend(object(more));
    step
}

/// Waits, and writes with what was waited for.
fn job(more: Value) -> Plan {
    let steps = [waiting(more), step("write", "echo", json!({"url": from("job", ".url")}))];
    plan(json!({"version": 1, "parameters": {"id": {"required": true}}, "steps": steps,
        "result": {"$default": [from("write", ".url"), "none"]}}))
}

fn ran(plan: &Plan, turns: &[Value]) -> (Result<Outcome<usize, String>, String>, Vec<String>) {
    let mut fake = Fake { turns: turns.to_vec(), ..Fake::default() };
    let ended = run(plan, &object(json!({"id": 7})), &mut fake).map_err(|error| error.to_string());
    (ended, fake.log)
}

#[test]
fn a_call_is_made_again_after_a_pause_until_it_is_so_and_the_last_answer_counts() {
    let no = json!({"done": false, "url": "early"});
    let (ended, log) = ran(&job(json!({})), &[no.clone(), json!({}), json!({"done": "yes", "url": "u"})]);
    assert_eq!(ended.unwrap().result, json!("u"));
    let turn = ["start job", "done job", "pause 500"];
    assert_eq!(log[..8], [&turn[..], &turn, &turn[..2]].concat());
    let (ended, log) = ran(&job(json!({})), &[json!({"done": 0, "url": "at once"})]);
    assert_eq!(ended.unwrap().result, json!("at once"));
    assert!(!log.contains(&"pause 500".to_owned()), "{log:?}");
}

#[test]
fn what_is_never_so_fails_the_step_before_anything_uses_it() {
    let no = json!({"done": false, "url": "early"});
    let (ended, log) = ran(&job(json!({})), &[no.clone(), no.clone(), no.clone(), no.clone()]);
    assert_eq!(ended.unwrap_err(), "step `job` waited in vain: `.done` was not so in 3 calls");
    assert!(log.contains(&"fail job".to_owned()) && !log.contains(&"start write".to_owned()), "{log:?}");
    let (ended, log) = ran(&job(json!({})), &[no.clone(), json!({"lost": true, "url": "lost"})]);
    let lost = "step `job` waited in vain: `.done` was not so in 2 calls, and `.lost` says that it will not be";
    assert_eq!(ended.unwrap_err(), lost);
    assert_eq!(log.iter().filter(|line| line.starts_with("pause")).count(), 1);
    let (ended, _) = ran(&job(json!({"on_error": "continue"})), &[json!({"lost": 1})]);
    let outcome = ended.unwrap();
    assert_eq!((outcome.result, outcome.steps["job"].status), (json!("none"), Status::Failed));
    let (ended, _) = ran(&job(json!({"until": {"jq": "boom", "pause": 1, "most": 2}})), &[json!({})]);
    assert_eq!(ended.unwrap_err(), "step `job` failed: boom");
}

#[test]
fn a_run_that_stops_meanwhile_does_not_wait_on() {
    let plan = plan(json!({"version": 1, "parameters": {"id": {}},
        "steps": [step("bad", "none", json!({})), waiting(json!({}))], "result": 1}));
    let (ended, log) = ran(&plan, &[json!({}), json!({}), json!({})]);
    assert_eq!(ended.unwrap_err(), "step `bad` failed: no answer for none");
    assert_eq!(log.iter().filter(|line| *line == "start job").count(), 1, "{log:?}");
    assert!(!log.contains(&"pause 500".to_owned()), "{log:?}");
}

#[test]
fn each_item_is_waited_for_and_all_pause_together() {
    let mut each = waiting(json!({"for_each": ["a", "b", "c"], "max_concurrency": 2}));
    each["arguments"] = json!({"id": {"$item": "."}});
    let of = |more: Value| {
        let mut each = each.clone();
        each.as_object_mut().unwrap().extend(object(more));
        plan(
            json!({"version": 1, "parameters": {"id": {}}, "steps": [each], "result": {"$default": [from("job", ".url"), "none"]}}),
        )
    };
    let turn = |url: &str, done: bool| json!({"url": url, "done": done});
    let turns = [turn("a1", false), turn("b1", true), turn("c1", false), turn("a2", true), turn("c2", true)];
    let (ended, log) = ran(&of(json!({})), &turns);
    assert_eq!(ended.unwrap().result, json!(["a2", "b1", "c2"]));
    assert_eq!(log.iter().filter(|line| line.starts_with("pause")).count(), 1, "{log:?}");
    assert_eq!(log.iter().filter(|line| line.starts_with("start job")).count(), 5);
    let lost = [turn("a1", false), turn("b1", true), json!({"lost": true})];
    let (ended, _) = ran(&of(json!({})), &lost);
    assert_eq!(
        ended.unwrap_err(),
        "step `job[2]` waited in vain: `.done` was not so in 1 call, and `.lost` says that it will not be"
    );
    let lost = [turn("a1", true), turn("b1", true), json!({"lost": true})];
    let (ended, _) = ran(&of(json!({"on_error": "continue"})), &lost);
    let outcome = ended.unwrap();
    assert_eq!((outcome.result, outcome.steps["job"].status), (json!(["a1", "b1"]), Status::Partial));
}

#[test]
fn waiting_that_is_not_well_formed_is_refused() {
    let until = |changed: &str, value: Value| {
        let mut step = waiting(json!({}));
        step["until"][changed] = value;
        step
    };
    for step in [
        until("jq", json!("")),
        until("never", json!("")),
        until("pause", json!(0)),
        until("pause", json!(MAX_PAUSE + 1)),
        until("most", json!(1)),
        until("most", json!(MAX_READS + 1)),
        waiting(json!({"pages": {"next": ".n", "items": ".i"}})),
    ] {
        let value = json!({"version": 1, "parameters": {"id": {}}, "steps": [step], "result": 1}).to_string();
        let error = Plan::parse(value.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("step `job` has a wrong `until`: it has `jq`, `pause`"), "{error}");
    }
    for (changed, value, expected) in
        [("jq", json!("x".repeat(MAX_PROGRAM_BYTES + 1)), "jq program"), ("more", json!(1), "unknown field `more`")]
    {
        let value = json!({"version": 1, "parameters": {"id": {}}, "steps": [until(changed, value)], "result": 1});
        let error = Plan::parse(value.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let value =
        json!({"version": 1, "parameters": {"id": {"required": false}}, "steps": [waiting(json!({}))], "result": 1});
    assert_eq!(serde_json::to_value(plan(value.clone())).unwrap(), value);
}

#[test]
fn what_waits_for_longer_is_not_asked_sooner_beside_what_waits_for_less() {
    let until = |id: &str, pause: u64, most: u64| {
        let mut step = waiting(json!({"until": {"jq": ".done", "pause": pause, "most": most}}));
        step["id"] = json!(id);
        step
    };
    let plan = plan(json!({"version": 1, "parameters": {"id": {}},
        "steps": [until("slow", 2_500, 2), until("quick", 1_000, 10)], "result": 1}));
    let turns = [false, false, false, false, true, true].map(|done| json!({"done": done}));
    let (ended, log) = ran(&plan, &turns);
    ended.unwrap();
    let order: Vec<&str> =
        log.iter().map(String::as_str).filter(|line| line.starts_with("pause") || line.starts_with("start")).collect();
    let (slow, quick, whole) = ("start slow", "start quick", "pause 1000");
    assert_eq!(order, [slow, quick, whole, quick, whole, quick, "pause 500", slow, "pause 500", quick]);
}
