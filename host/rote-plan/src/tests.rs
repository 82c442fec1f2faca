//! Plans that are refused, and runs with a host that completes calls in an order the test chooses.

mod bound;
mod foresight;
mod pages;
mod random;
mod steps;
mod until;
mod visit;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::*;

/// A host that answers from a list, completes tasks by a rule and writes down what happened. Tool `echo` answers
/// with its arguments; arguments with a true `fail` make any call fail.
#[derive(Default)]
struct Fake {
    /// Response bodies by tool; a tool that is not here fails.
    answers: BTreeMap<String, Value>,
    /// Which of the waiting tasks completes next.
    pick: Option<Box<dyn FnMut(usize) -> usize>>,
    /// Errors that stop the run.
    last_word: Option<&'static str>,
    started: Vec<(String, Value)>,
    log: Vec<String>,
    /// Programs that ran on values.
    value_queries: Vec<String>,
    /// Bodies of tool `poll`, one after the other.
    turns: Vec<Value>,
}

impl Fake {
    fn answer(&self, task: usize) -> Result<&Value, String> {
        let (tool, arguments) = &self.started[task];
        if arguments.get("fail") == Some(&json!(true)) {
            return Err("asked to fail".to_owned());
        }
        if tool == "echo" {
            return Ok(arguments);
        }
        if tool == "poll" {
            let before = self.started[..task].iter().filter(|(tool, _)| tool == "poll").count();
            return self.turns.get(before).ok_or_else(|| format!("no turn {before}"));
        }
        if tool == "pages" {
            let page = arguments.get("page").map_or("first".to_owned(), crate::text_of);
            return self.answers.get(&page).ok_or_else(|| format!("no page {page}"));
        }
        self.answers.get(tool).ok_or_else(|| format!("no answer for {tool}"))
    }
}

/// Understands `.`, `.name`, `.[]`, `empty`, `both` and `boom`; gives a program with variables as it came.
fn jq(body: &Value, program: &str) -> Result<Vec<Value>, String> {
    Ok(match program {
        "." => vec![body.clone()],
        bound if bound.contains(") as $") => vec![json!(bound)],
        joins if joins.ends_with(" = $items") => {
            let pages = body.as_array().unwrap();
            let mut all = pages.last().unwrap().clone();
            all["items"] = pages.iter().flat_map(|page| page["items"].as_array().unwrap().clone()).collect();
            vec![all]
        }
        ".[]" => body.as_array().cloned().unwrap_or_default(),
        "empty" => vec![],
        "both" => vec![json!(1), json!(2)],
        "boom" => return Err("boom".to_owned()),
        path => vec![body.get(path.trim_start_matches('.')).cloned().unwrap_or(Value::Null)],
    })
}

impl Host for Fake {
    type Response = usize;
    type Error = String;

    fn start(&mut self, place: Place<'_>, call: Call) -> Result<u32, String> {
        if call.tool == "unstartable" {
            return Err("refused".to_owned());
        }
        self.log.push(format!("start {place}"));
        self.started.push((call.tool, call.arguments));
        Ok(u32::try_from(self.started.len() - 1).unwrap())
    }

    fn wait_any(&mut self, tasks: &[u32]) -> Result<(usize, Result<usize, String>), String> {
        let index = self.pick.as_mut().map_or(0, |pick| pick(tasks.len()));
        let task = tasks.get(index).copied().unwrap_or(0) as usize;
        Ok((index, self.answer(task).map(|_| task)))
    }

    fn query(&mut self, response: &usize, program: &str) -> Result<Vec<Value>, String> {
        jq(self.answer(*response).unwrap(), program)
    }

    fn query_value(&mut self, value: &Value, program: &str) -> Result<Vec<Value>, String> {
        self.value_queries.push(program.to_owned());
        jq(value, program)
    }

    fn pause(&mut self, milliseconds: u64) -> Result<(), String> {
        self.log.push(format!("pause {milliseconds}"));
        Ok(())
    }

    fn is_final(&self, error: &String) -> bool {
        self.last_word == Some(error)
    }

    fn finished(&mut self, place: Place<'_>, outcome: Result<&usize, &RunError<String>>) {
        self.log.push(format!("{} {place}", if outcome.is_ok() { "done" } else { "fail" }));
    }

    fn settled(&mut self, step: &Step, outcome: &StepOutcome<usize, String>) {
        // What a step without items does is in the lines of its one call already.
        let is_one = step.for_each.is_none() && matches!(outcome.status, Status::Completed | Status::Failed);
        if !is_one {
            let because: Vec<&str> = outcome.because.iter().map(String::as_str).collect();
            self.log.push([&[outcome.status.to_string().as_str(), step.id.as_str()], &because[..]].concat().join(" "));
        }
    }
}

fn plan(value: Value) -> Plan {
    Plan::parse(value.to_string().as_bytes()).unwrap()
}

fn step(id: &str, tool: &str, arguments: Value) -> Value {
    json!({"id": id, "adapter": "api", "tool": tool, "arguments": arguments})
}

fn from(step: &str, jq: &str) -> Value {
    json!({"$from": {"step": step, "jq": jq}})
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn answering(tools: &[(&str, Value)]) -> Fake {
    Fake { answers: tools.iter().map(|(tool, body)| ((*tool).to_owned(), body.clone())).collect(), ..Fake::default() }
}

#[test]
fn a_plan_that_is_not_well_formed_is_refused_with_its_reason() {
    let one = |arguments: Value| json!({"version": 1, "steps": [step("a", "t", arguments)], "result": null});
    let cases = [
        (json!({"version": 2, "new": true}), "the plan has version 2"),
        (json!({"version": 1, "steps": [], "result": 1, "extra": 1}), "unknown field `extra`"),
        (json!({"version": 1, "steps": [{"id": "a"}], "result": 1}), "missing field `adapter`"),
        (one(json!([])), "the arguments of step `a` are not an object"),
        (one(json!({"$param": "p"})), "the arguments of step `a` are not an object"),
        (one(json!({"x": {"$param": "p"}})), "`a` refers to parameter `p`, which is not declared"),
        (one(json!({"x": {"$parm": "p"}})), "`$parm` is not an expression"),
        (one(json!({"x": {"$param": 1}})), "`$param` is not an expression, or its value has the wrong type"),
        (one(json!({"x": {"$param": "p", "y": 1}})), "an expression is an object with one `$` key"),
        (one(json!({"x": from("b", ".")})), "`a` refers to step `b`, which does not exist"),
        (one(json!({"x": {"$from": {"step": "a"}}})), "`$from` is not well formed: missing field `jq`"),
        (one(json!({"x": {"$from": {"step": "a", "jq": ".", "raw": true}}})), "unknown field `raw`"),
        (one(json!({"x": from("a", ".")})), "steps wait for each other: `a`"),
        (json!({"version": 1, "steps": [step("a b", "t", json!({}))], "result": 1}), "`a b` is not a name"),
        (
            json!({"version": 1, "steps": [step("a", "t", json!({})), step("a", "t", json!({}))], "result": 1}),
            "the plan has two steps `a`",
        ),
        (json!({"version": 1, "steps": [], "result": from("z", ".")}), "`result` refers to step `z`"),
        (json!({"version": 1, "parameters": {"p": {"reqired": true}}, "steps": [], "result": 1}), "unknown field"),
        (json!([]), "the plan is not well formed"),
    ];
    for (value, expected) in cases {
        let error = Plan::parse(value.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{value} gave {error}");
    }
}

#[test]
fn bounds_on_size_and_depth_hold() {
    let mut deep = json!(1);
    for _ in 0..MAX_DEPTH {
        deep = json!([deep]);
    }
    let too_deep = json!({"version": 1, "steps": [], "result": deep});
    assert!(Plan::parse(too_deep.to_string().as_bytes()).is_err());
    let steps: Vec<Value> = (0..=MAX_STEPS).map(|n| step(&format!("s{n}"), "t", json!({}))).collect();
    let too_many = json!({"version": 1, "steps": steps, "result": 1});
    assert_eq!(
        Plan::parse(too_many.to_string().as_bytes()),
        Err(PlanError::TooLarge { what: "steps", limit: MAX_STEPS })
    );
    let program = "x".repeat(MAX_PROGRAM_BYTES + 1);
    let too_long = json!({"version": 1, "steps": [step("a", "t", json!({}))], "result": from("a", &program)});
    assert!(Plan::parse(too_long.to_string().as_bytes()).is_err());
    assert!(Plan::parse(&vec![b' '; MAX_PLAN_BYTES + 1]).is_err());
    assert!(Plan::parse("[".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn a_plan_survives_a_round_trip_and_a_literal_that_looks_like_an_expression_stays_data() {
    let value = json!({
        "version": 1,
        "parameters": {"p": {"required": true}, "q": {"required": false, "default": null}},
        "steps": [step("a", "t", json!({"query": {"$literal": {"$param": "p"}}, "name": {"$text": ["x-", {"$param": "p"}]}}))],
        "result": {"all": {"$from": {"step": "a", "jq": ".", "each": true}}},
    });
    let plan = plan(value.clone());
    assert_eq!(serde_json::to_value(&plan).unwrap(), value);
    let mut fake = answering(&[("t", json!(5))]);
    let outcome = run(&plan, &object(json!({"p": 7})), &mut fake).unwrap();
    assert_eq!(fake.started[0].1, json!({"query": {"$param": "p"}, "name": "x-7"}));
    assert_eq!(outcome.result, json!({"all": [5]}));
}

#[test]
fn an_argument_whose_name_starts_with_a_dollar_can_have_a_hole() {
    let value = json!({
        "version": 1,
        "parameters": {"n": {"required": true}},
        "steps": [step("a", "t", json!({"$object": [["$top", {"$param": "n"}], ["plain", 1]]}))],
        "result": null,
    });
    let plan = plan(value.clone());
    assert_eq!(serde_json::to_value(&plan).unwrap(), value);
    let mut fake = answering(&[("t", json!(5))]);
    run(&plan, &object(json!({"n": 7})), &mut fake).unwrap();
    assert_eq!(fake.started[0].1, json!({"$top": 7, "plain": 1}));
}

#[test]
fn a_step_starts_as_soon_as_its_own_needs_are_met_without_a_barrier() {
    let plan = plan(json!({
        "version": 1,
        "steps": [
            step("last", "t", json!({"x": from("slow", "."), "y": from("second", ".")})),
            step("slow", "t", json!({})),
            step("fast", "t", json!({})),
            step("second", "t", json!({"x": from("fast", ".")})),
        ],
        "result": from("last", "."),
    }));
    let mut fake = answering(&[("t", json!(1))]);
    // The newest task completes first, so `slow` stays in flight while `fast` and `second` pass it.
    fake.pick = Some(Box::new(|waiting| waiting - 1));
    run(&plan, &Map::new(), &mut fake).unwrap();
    let expected = [
        "start slow",
        "start fast",
        "done fast",
        "start second",
        "done second",
        "done slow",
        "start last",
        "done last",
    ];
    assert_eq!(fake.log, expected);
}

#[test]
fn an_explicit_need_orders_steps_that_share_no_value() {
    let mut second = step("second", "t", json!({}));
    second["needs"] = json!(["first"]);
    let plan = plan(json!({"version": 1, "steps": [second, step("first", "t", json!({}))], "result": 1}));
    let mut fake = answering(&[("t", json!(1))]);
    run(&plan, &Map::new(), &mut fake).unwrap();
    assert_eq!(fake.log, ["start first", "done first", "start second", "done second"]);
}

#[test]
fn a_failure_stops_new_starts_and_waits_for_what_runs() {
    let mut after = step("after", "t", json!({}));
    after["needs"] = json!(["slow"]);
    let plan = plan(json!({
        "version": 1,
        "steps": [step("bad", "broken", json!({})), step("slow", "t", json!({})), after],
        "result": 1,
    }));
    let mut fake = answering(&[("t", json!(1))]);
    let error = run(&plan, &Map::new(), &mut fake).unwrap_err();
    assert_eq!(error, RunError::Step { step: "bad".to_owned(), source: "no answer for broken".to_owned() });
    assert_eq!(fake.log, ["start bad", "start slow", "fail bad", "done slow"]);
}

#[test]
fn a_call_that_cannot_start_fails_its_step() {
    let plan = plan(json!({
        "version": 1,
        "steps": [step("ok", "t", json!({})), step("no", "unstartable", json!({})), step("never", "t", json!({}))],
        "result": 1,
    }));
    let mut fake = answering(&[("t", json!(1))]);
    let error = run(&plan, &Map::new(), &mut fake).unwrap_err();
    assert!(matches!(error, RunError::Step { ref step, .. } if step == "no"));
    assert_eq!(fake.log, ["start ok", "fail no", "done ok"]);
}

#[test]
fn a_reference_needs_exactly_one_output_that_is_not_null() {
    for (jq, message) in [
        (".gone", "`.gone` of step `a` is null"),
        ("empty", "`empty` of step `a` has no output"),
        ("both", "`both` of step `a` has 2 outputs, one is needed"),
    ] {
        let plan = plan(json!({
            "version": 1,
            "steps": [step("a", "t", json!({})), step("b", "t", json!({"x": from("a", jq)}))],
            "result": 1,
        }));
        let error = run(&plan, &Map::new(), &mut answering(&[("t", json!({}))])).unwrap_err();
        assert_eq!(error, RunError::Reference { by: "b".to_owned(), message: message.to_owned() });
    }
}

#[test]
fn parameters_are_complete_and_known_or_the_run_does_not_start() {
    let plan = plan(json!({
        "version": 1,
        "parameters": {"must": {"required": true}, "may": {}, "has": {"required": true, "default": 3}},
        "steps": [step("a", "t", json!({"must": {"$param": "must"}, "may": {"$param": "may"}, "has": {"$param": "has"}}))],
        "result": 1,
    }));
    let mut fake = answering(&[("t", json!(1))]);
    let error = run(&plan, &object(json!({"typo": 1})), &mut fake).unwrap_err();
    assert_eq!(error, RunError::Parameters { missing: vec!["must".to_owned()], unknown: vec!["typo".to_owned()] });
    assert!(fake.log.is_empty());
    run(&plan, &object(json!({"must": null})), &mut fake).unwrap();
    assert_eq!(fake.started[0].1, json!({"must": null, "has": 3}), "an optional parameter leaves its member out");
}

#[test]
fn a_host_that_reports_an_unknown_task_ends_the_run() {
    let plan = plan(json!({"version": 1, "steps": [step("a", "t", json!({}))], "result": 1}));
    let mut fake = answering(&[("t", json!(1))]);
    fake.pick = Some(Box::new(|_| 5));
    assert!(matches!(run(&plan, &Map::new(), &mut fake), Err(RunError::Protocol { .. })));
}
