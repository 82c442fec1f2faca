//! A plan of each form, written out in both languages: the sources are beside the tests of the two SDKs, which build and run
//! them against what the plan did here (`forms.json`).

mod forms;

use std::collections::VecDeque;
use std::path::PathBuf;

use expect_test::expect_file;
use rote_plan::{Call, Host, Place, Plan};
use rote_types::{QueryEngine, QueryLimits};
use serde_json::{Map, Value, json};

use self::forms::{forms, from, step};
use super::{Origins, literal, rust, typescript};
use crate::Frontmatter;
use crate::tests::package::package;
use crate::tests::support::Fixture;

/// A plan, what its calls are answered with, and parameters to run it with.
struct Form {
    name: &'static str,
    parameters: Value,
    plan: Value,
    /// By `adapter/tool`.
    answers: Value,
    runs: Vec<Value>,
}

impl Form {
    fn plan(&self) -> Plan {
        let schemas = self.parameters["properties"].as_object().unwrap();
        let required = self.parameters["required"].as_array().unwrap();
        let declared: Map<String, Value> =
            schemas.keys().map(|name| (name.clone(), json!({"required": required.contains(&json!(name))}))).collect();
        let mut plan = self.plan.clone();
        plan["version"] = json!(1);
        plan["parameters"] = Value::Object(declared);
        Plan::parse(plan.to_string().as_bytes()).unwrap()
    }

    fn frontmatter(&self) -> Frontmatter {
        let description = format!("Does what is {}.", self.name);
        Frontmatter { parameters: self.parameters.clone(), description, ..package().frontmatter }
    }
}

/// What the tests of the SDK call; `main` is private.
const ENTRY: &str = r"
pub(super) fn run(host: &rote_sdk::testing::FakeHost, parameters: Value) -> Result<Value> {
    host.run(main, parameters)
}
";

/// Answers each call at once and remembers what it was asked.
struct Fake<'a> {
    answers: &'a Value,
    engine: &'a dyn QueryEngine,
    calls: Vec<Value>,
    open: VecDeque<(u32, Value)>,
    queries: Vec<Value>,
    /// Milliseconds.
    slept: u64,
}

impl Host for Fake<'_> {
    type Response = Value;
    type Error = String;

    fn start(&mut self, _: Place<'_>, call: Call) -> Result<u32, String> {
        let name = format!("{}/{}", call.adapter, call.tool);
        let handle = u32::try_from(self.calls.len()).unwrap();
        let made =
            self.calls.iter().filter(|one| one["adapter"] == call.adapter.as_str() && one["tool"] == call.tool).count();
        let answer = &self.answers[&name];
        let answer = answer["$in_order"].as_array().map_or(answer, |all| &all[made.min(all.len() - 1)]);
        self.open.push_back((handle, answer.clone()));
        self.calls.push(json!({"adapter": call.adapter, "tool": call.tool, "arguments": call.arguments}));
        Ok(handle)
    }

    fn wait_any(&mut self, tasks: &[u32]) -> Result<(usize, Result<Value, String>), String> {
        let (handle, body) = self.open.pop_front().unwrap();
        Ok((tasks.iter().position(|task| *task == handle).unwrap(), Ok(body)))
    }

    fn pause(&mut self, milliseconds: u64) -> Result<(), String> {
        self.slept += milliseconds;
        Ok(())
    }

    fn query(&mut self, response: &Value, program: &str) -> Result<Vec<Value>, String> {
        self.query_value(response, program)
    }

    fn query_value(&mut self, value: &Value, program: &str) -> Result<Vec<Value>, String> {
        let outputs = self.engine.run(program, value.to_string().as_bytes(), &QueryLimits::default());
        let outputs = outputs.map_err(|error| error.to_string())?.values;
        let outputs: Vec<Value> = outputs.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let query = json!({"input": value, "program": program, "outputs": outputs});
        if !self.queries.contains(&query) {
            self.queries.push(query);
        }
        Ok(outputs)
    }
}

/// What a form's plan does, for the tests of the SDKs.
fn done(form: &Form, engine: &dyn QueryEngine) -> Value {
    let (mut runs, mut queries) = (Vec::new(), Vec::new());
    for parameters in &form.runs {
        let mut fake =
            Fake { answers: &form.answers, engine, calls: Vec::new(), open: VecDeque::new(), queries, slept: 0 };
        let ran = rote_plan::run(&form.plan(), parameters.as_object().unwrap(), &mut fake);
        let result =
            ran.map_or_else(|error| json!({"error": error.to_string()}), |outcome| json!({"ok": outcome.result}));
        runs.push(json!({"parameters": parameters, "calls": fake.calls, "slept": fake.slept, "result": result}));
        queries = fake.queries;
    }
    json!({"name": form.name, "answers": form.answers, "runs": runs, "queries": queries})
}

#[test]
fn every_form_is_written_out_and_does_what_it_did() {
    let sdk = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk");
    let fixture = Fixture::new();
    let mut all = Vec::new();
    for form in forms() {
        let (frontmatter, plan) = (form.frontmatter(), form.plan());
        let origins = Origins::of(&[]);
        let name = form.name;
        let source = typescript::program(&frontmatter, &plan, &origins).unwrap();
        expect_file![sdk.join(format!("ts/test/emitted/{name}.ts"))].assert_eq(&source);
        let source = rust::program(&frontmatter, &plan, &origins).unwrap();
        expect_file![sdk.join(format!("rust/tests/emitted/{name}.rs"))].assert_eq(&(source + ENTRY));
        all.push(done(&form, &*fixture.runtime.query_engine()));
    }
    let text = serde_json::to_string_pretty(&all).unwrap() + "\n";
    for folder in ["ts/test/emitted", "rust/tests/emitted"] {
        expect_file![sdk.join(folder).join("forms.json")].assert_eq(&text);
    }
}

#[test]
fn what_is_not_written_out_is_named() {
    let made = |steps: Value, result: Value| {
        let plan = json!({"version": 1, "steps": steps, "result": result});
        let plan = Plan::parse(plan.to_string().as_bytes()).unwrap();
        let frontmatter = package().frontmatter;
        let (script, library) = (
            typescript::program(&frontmatter, &plan, &Origins::default()),
            rust::program(&frontmatter, &plan, &Origins::default()),
        );
        assert_eq!(script.as_ref().err(), library.as_ref().err());
        script.err()
    };
    let one = |more: Value| json!([step("s1", "a/t", json!({}), more)]);
    let never = json!({"any": []});
    assert_eq!(made(one(json!({})), json!(null)), None);
    let until = json!({"jq": ".done", "pause": 1, "most": 2});
    let waits = made(one(json!({"for_each": [1], "until": until})), json!(null));
    assert_eq!(waits.as_deref(), Some("step `s1` waits for each of several"));
    let may_fail = made(one(json!({"on_error": "continue"})), json!(null));
    assert_eq!(may_fail.as_deref(), Some("step `s1` may fail"));
    let two = json!([
        step("s1", "a/t", json!({}), json!({"when": never})),
        step("s2", "a/t", json!({}), json!({"when": never}))
    ]);
    let either = json!({"$default": [from("s1", "."), from("s2", ".")]});
    let reason = made(two, either);
    assert_eq!(reason.as_deref(), Some("the result has a fallback that may be missing too"));
    let plan = Plan::parse(
        json!({"version": 1, "steps": [], "result": {"id": [9_007_199_254_740_993_u64]}}).to_string().as_bytes(),
    );
    let script = typescript::program(&package().frontmatter, &plan.unwrap(), &Origins::default());
    assert_eq!(script.unwrap_err(), "TypeScript does not hold its number 9007199254740993 exactly");
}

#[test]
fn a_literal_never_ends_early() {
    assert_eq!(literal("a\"b\\c\n\u{2028}${x}"), r#""a\"b\\c\n\u{2028}${x}""#);
}

#[test]
fn nothing_of_a_plan_ends_a_comment() {
    let plan =
        json!({"version": 1, "steps": [step("s1", "a/t", json!({"x\n\u{2028}y()": 1}), json!({}))], "result": null});
    let plan = Plan::parse(plan.to_string().as_bytes()).unwrap();
    let frontmatter = Frontmatter { description: "a\r\nb".to_owned(), ..package().frontmatter };
    let script = typescript::program(&frontmatter, &plan, &Origins::of(&[])).unwrap();
    assert!(script.contains("\n  // Typed by hand for @1: x  y().\n"), "{script}");
    let library = rust::program(&frontmatter, &plan, &Origins::of(&[])).unwrap();
    assert!(library.starts_with("//! a  b\n\n") && library.contains("// Typed by hand for @1: x  y().\n"), "{library}");
}

#[test]
fn a_constant_that_an_answer_had_is_told_from_one_that_was_typed() {
    let question = json!({
        "id": "source:s2/issue_id", "kind": "source", "ask": "where from?", "answers": [], "taken": "always", "writes": true, "open": true,
        "places": [{"step": "s2", "pointer": "/issue_id"}, {"step": "s2", "pointer": "/to/0"}],
        "evidence": [{"what": "stands there", "response": 1, "jq": ".items[0].id", "value": 311}],
    });
    let mut question: crate::question::Question = serde_json::from_value(question).unwrap();
    let steps = json!([
        step("s1", "a/list", json!({}), json!({})),
        step("s2", "a/add", json!({"issue_id": 311, "to": ["x"], "body": "Seen"}), json!({"needs": ["s1"]})),
    ]);
    let plan = Plan::parse(json!({"version": 1, "steps": steps, "result": null}).to_string().as_bytes()).unwrap();
    let frontmatter = package().frontmatter;
    let written = |origins: &Origins| {
        [typescript::program(&frontmatter, &plan, origins), rust::program(&frontmatter, &plan, origins)]
            .map(Result::unwrap)
    };
    for (source, indent) in written(&Origins::of(&[question.clone()])).iter().zip(["  ", "    "]) {
        assert!(source.contains(&format!("{indent}// Typed by hand for @2: body.\n")), "{source}");
        for line in ["311, // stood in @1 at .items[0].id\n", "[\"x\"], // stood in @1 at .items[0].id\n"] {
            assert!(source.contains(line), "{source}");
        }
    }
    question.taken = "@1{.items[0].id}".to_owned();
    assert!(written(&Origins::of(&[question])).iter().all(|source| source.contains("@2: issue_id, to, body.")));
    assert!(written(&Origins::default()).iter().all(|source| !source.contains("// ")));
}
