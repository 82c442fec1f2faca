//! A plan of each form, written out in both languages: the sources are beside the tests of the two SDKs, which build and run
//! them against what the plan did here (`forms.json`).

use std::collections::VecDeque;
use std::path::PathBuf;

use expect_test::expect_file;
use rote_plan::{Call, Host, Place, Plan};
use rote_types::{QueryEngine, QueryLimits};
use serde_json::{Map, Value, json};

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

fn from(step: &str, jq: &str) -> Value {
    json!({"$from": {"step": step, "jq": jq}})
}

fn step(id: &str, call: &str, arguments: Value, more: Value) -> Value {
    let (adapter, tool) = call.split_once('/').unwrap();
    let mut step = json!({"id": id, "adapter": adapter, "tool": tool, "arguments": arguments});
    for (key, value) in more.as_object().unwrap() {
        step[key] = value.clone();
    }
    step
}

/// Parameters of all types, in arguments, in text and in programs.
fn given() -> Form {
    let issues = json!({"items": [{"id": 7, "title": "Crash", "n": 1}, {"id": 8, "title": "it's \"so\"", "n": 2.5}]});
    Form {
        name: "given",
        parameters: json!({
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "priority": {"type": "string", "enum": ["low", "high"]},
                "pageSize": {"type": "integer"},
                "share": {"type": "number"},
                "labels": {"type": "array", "items": {"type": "string"}},
                "estimate": {"type": "object"},
                "due-date": {"type": "string"},
                "type": {"type": ["string", "null"]},
                "note": {"type": ["string", "null"]},
            },
            "required": ["title", "priority", "pageSize", "share", "type"],
        }),
        plan: json!({
            "steps": [
                step("s1", "tracker/listIssues", json!({"project": "atlas", "size": {"$param": "pageSize"}}), json!({})),
                step("s2", "tracker/createIssue", json!({
                    "title": {"$text": ["Copy of ", {"$param": "title"}, " `${1}` {", {"$param": "share"}, "} ",
                        from("s1", "[.items[].id]")]},
                    "key": {"$text": [from("s1", ".items | length")]},
                    "parent": {"$from": {"step": "s1", "jq": ".items[] | select(.title == $title) | .id",
                        "with": {"title": {"$param": "title"}}}},
                    "others": {"$from": {"step": "s1", "jq": ".items[].n | select(. >= $n) # all",
                        "each": true, "with": {"n": from("s1", ".items[0].n")}}},
                    "priority": {"$param": "priority"},
                    "labels": {"$param": "labels"},
                    "more": {"due": {"$param": "due-date"}, "estimate": {"$param": "estimate"}, "odd key": [1, 5_000_000_000_i64, 0.5, null]},
                    "type": {"$param": "type"},
                    "note": {"$default": [{"$param": "note"}, "none"]},
                    "share": {"$param": "share"},
                }), json!({})),
            ],
            "result": {"id": from("s2", ".id"), "note": {"$param": "note"}, "none": from("s2", ".missing")},
        }),
        answers: json!({"tracker/listIssues": issues, "tracker/createIssue": {"id": 9}}),
        runs: vec![
            json!({"title": "Crash", "priority": "low", "pageSize": 10, "share": 0.5, "type": null}),
            json!({"title": "it's \"so\"", "priority": "high", "pageSize": 3, "share": 2.5, "type": "bug", "note": null,
                "labels": ["a"], "estimate": {"points": 3}, "due-date": "2026-06-01"}),
        ],
    }
}

/// Loops in order and at once, over items, over a parameter, over what another loop gave.
fn repeated() -> Form {
    Form {
        name: "repeated",
        parameters: json!({
            "type": "object",
            "properties": {"names": {"type": "array", "items": {"type": "string"}}, "body": {"type": "string"}},
            "required": ["names", "body"],
        }),
        plan: json!({
            "steps": [
                step("s1", "tracker/listIssues", json!({}), json!({})),
                step("s2", "tracker/getIssue", json!({"issue_id": {"$item": ".id"}}), json!({
                    "for_each": {"$from": {"step": "s1", "jq": ".items[] | select(.state == \"open\")", "each": true}},
                })),
                step("s3", "tracker/addComment", json!({
                    "issue_id": {"$item": ".owner.id"},
                    "body": {"$text": [{"$param": "body"}, ", ", {"$item": ".labels | join(\"+\")"}, " #", {"$index": true}]},
                    "all": {"$item": "."},
                }), json!({"for_each": from("s2", "."), "max_concurrency": 1})),
                step("s4", "tracker/invite", json!({"name": {"$item": "."}, "of": from("s3", ".id")}), json!({
                    "for_each": {"$param": "names"}, "max_concurrency": 1,
                })),
            ],
            "result": {"comments": from("s3", ".id"), "tags": {"$from": {"step": "s3", "jq": ".tags[]", "each": true}}},
        }),
        answers: json!({
            "tracker/listIssues": {"items": [{"id": 1, "state": "open"}, {"id": 2, "state": "done"}, {"id": 3, "state": "open"}]},
            "tracker/getIssue": {"owner": {"id": 5}, "labels": ["x", "y"]},
            "tracker/addComment": {"id": 6, "tags": ["t", "u"]},
            "tracker/invite": {},
        }),
        runs: vec![json!({"names": ["ann", "ben"], "body": "Done"}), json!({"names": [], "body": "Over"})],
    }
}

/// A thing that is found, else made.
fn found(name: &'static str, contacts: Value) -> Form {
    Form {
        name,
        parameters: json!({"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]}),
        plan: json!({
            "steps": [
                step("s1", "crm/listContacts", json!({"email": {"$param": "email"}}), json!({})),
                step("s2", "tracker/listIssues", json!({}), json!({})),
                step("s3", "crm/createContact", json!({"email": {"$param": "email"}}), json!({
                    "when": {"compare": {"left": from("s1", ".items | length"), "op": "eq", "right": 0}},
                })),
                // Made at once with s3, and looked at by s4 alone.
                step("s6", "crm/createTask", json!({}), json!({
                    "when": {"compare": {"left": from("s1", ".items | length"), "op": "eq", "right": 0}},
                })),
                step("s4", "crm/addNote", json!({"contact_id": from("s3", ".id"), "text": "new", "task": from("s6", ".id")}), json!({})),
                step("s5", "crm/updateContact", json!({
                    "contact_id": {"$default": [from("s3", ".id"), from("s1", ".items[0].id")]},
                    "issues": from("s2", ".items | length"),
                }), json!({"after": ["s4"]})),
            ],
            "result": {"$default": [from("s4", "."), from("s5", ".")]},
        }),
        answers: json!({
            "crm/listContacts": {"items": contacts},
            "crm/createContact": {"id": "ct_9"},
            "crm/addNote": {"note": true},
            "crm/createTask": {"id": "tk_3"},
            "crm/updateContact": {"id": "ct_1"},
            "tracker/listIssues": {"items": [1, 2]},
        }),
        runs: vec![json!({"email": "ada@acme.test"})],
    }
}

/// Conditions of every kind.
fn asked() -> Form {
    let compare = |left: Value, op: &str, right: Value| json!({"compare": {"left": left, "op": op, "right": right}});
    let exists = |left: Value| json!({"compare": {"left": left, "op": "exists"}});
    // As crystallize has it, a write starts behind the one before it.
    let after = |step: &str, condition: Value| json!({"when": condition, "needs": ["s1"], "after": [step]});
    let all = json!({"all": [
        compare(from("s1", ".state"), "ne", json!("open")),
        {"any": [compare(from("s1", ".n"), "gt", json!(2)), compare(from("s1", ".title"), "le", json!({"$param": "title"}))]},
        {"not": exists(from("s1", ".gone"))},
        compare(from("s1", ".ok"), "eq", json!(true)),
    ]});
    Form {
        name: "asked",
        parameters: json!({
            "type": "object",
            "properties": {"title": {"type": "string"}, "rest": {"type": "integer"}},
            "required": ["title"],
        }),
        plan: json!({
            "steps": [
                step("s1", "tracker/getIssue", json!({"issue_id": 7}), json!({})),
                step("s2", "tracker/closeIssue", json!({}), after("s1", all.clone())),
                step("s3", "tracker/addComment", json!({"body": "both"}), after("s1", all)),
                step("s4", "tracker/addLabels", json!({}), after("s3", compare(from("s1", ".labels"), "contains", json!("bug")))),
                step("s5", "tracker/setRest", json!({"rest": {"$param": "rest"}}), after("s4", exists(json!({"$param": "rest"})))),
                step("s6", "tracker/addLink", json!({"to": from("s2", ".id")}), json!({"after": ["s5"]})),
                step("s7", "tracker/open", json!({}), json!({
                    "when": {"not": exists(from("s2", ".id"))}, "after": ["s6"],
                })),
                step("s8", "tracker/same", json!({}), after("s7", compare(from("s1", ".labels"), "eq", from("s1", ".marks")))),
                step("s9", "tracker/none", json!({}), after("s8", compare(json!({"$param": "rest"}), "eq", json!(null)))),
                step("s10", "tracker/never", json!({}), after("s9", json!({"any": []}))),
            ],
            "result": [from("s2", ".id")],
        }),
        answers: json!({
            "tracker/getIssue": {"state": "done", "n": 1.0, "title": "b", "ok": true, "labels": ["bug", {"a": 1, "b": 2}],
                "marks": ["bug", {"b": 2, "a": 1.0}]},
            "tracker/closeIssue": {"id": 4},
        }),
        runs: vec![json!({"title": "c"}), json!({"title": "a", "rest": 0})],
    }
}

/// Parameters that a run may be without, where a value is needed and where it is not.
fn absent() -> Form {
    let bound =
        json!({"$from": {"step": "s1", "jq": "map(select(.k == $k)) | length", "with": {"k": {"$param": "any"}}}});
    Form {
        name: "absent",
        parameters: json!({
            "type": "object",
            "properties": {
                "any": {}, "first": {"type": "string"}, "second": {"type": "string"}, "size": {"type": "integer"},
                "items": {"type": "array"},
            },
            "required": ["any"],
        }),
        plan: json!({
            "steps": [
                step("s1", "shop/list", json!({
                    "either": {"$default": [{"$param": "first"}, {"$param": "second"}]},
                    "text": {"$text": ["size ", {"$param": "size"}]},
                    "list": [{"$param": "size"}, {"deep": {"$param": "second"}}],
                }), json!({})),
                step("s2", "shop/get", json!({"item": {"$item": "."}, "more": {"first": {"$param": "first"}}}), json!({
                    "for_each": {"$param": "items"}, "max_concurrency": 1,
                })),
                step("s3", "shop/count", json!({"count": bound}), json!({
                    "when": {"compare": {"left": from("s2", ".ok"), "op": "exists"}}, "needs": ["s2"],
                })),
            ],
            "result": {"$param": "first"},
        }),
        answers: json!({"shop/list": [{"k": 1}, {"k": 2}, {"k": 1}], "shop/get": {"ok": true}, "shop/count": {}}),
        runs: vec![
            json!({"any": 1, "size": 3, "items": [{"a": 1}, "b"]}),
            json!({"any": 2, "size": 0, "second": "s", "items": []}),
            json!({"any": null, "size": 0, "first": "f", "items": [1]}),
            json!({"any": 1}),
            json!({"any": 1, "size": 1}),
        ],
    }
}

/// Lists that are read page by page: each item of one, a part of it with a variable, all of it; a counted one; an only page.
fn paged() -> Form {
    let named = json!({"$from": {"step": "s1", "jq": ".items | map(select(.id == $id)) | length", "with": {"id": {"$param": "id"}}}});
    let page = |items: Value, next: Value| json!({"items": items, "next": next});
    Form {
        name: "paged",
        parameters: json!({
            "type": "object",
            "properties": {"id": {"type": "string"}, "state": {"type": "string"}},
            "required": ["id"],
        }),
        plan: json!({
            "steps": [
                step("s1", "shop/listOrders", json!({"state": {"$param": "state"}, "size": 2}), json!({
                    "pages": {"argument": "cursor", "next": ".next", "items": ".items"},
                })),
                step("s2", "shop/getOrder", json!({"id": {"$item": ".id"}}), json!({
                    "for_each": {"$from": {"step": "s1", "jq": ".items[] | select(.n > 1)", "each": true}}, "max_concurrency": 1,
                })),
                step("s3", "shop/count", json!({"count": from("s1", ".items | length"), "named": named}), json!({
                    "when": {"compare": {"left": from("s1", ".items[0]"), "op": "exists"}}, "needs": ["s1"],
                    "after": ["s2"],
                })),
                step("s4", "shop/listNotes", json!({}), json!({
                    "pages": {"argument": "page", "next": ".next", "items": ".items", "count": {"from": 1, "by": 1}}, "when":
                    {"compare": {"left": from("s1", ".items | length"), "op": "gt", "right": 2}},
                    "after": ["s3"],
                })),
                step("s5", "shop/addNote", json!({"after": from("s4", ".items[-1].text")}), json!({})),
                step("s6", "shop/listTags", json!({}), json!({"pages": {"next": ".next", "items": ".items"}, "after": ["s5"]})),
            ],
            "result": {"orders": from("s1", "."), "next": from("s1", ".next"), "tags": from("s6", ".items")},
        }),
        answers: json!({
            "shop/listOrders": {"$in_order": [
                page(json!([{"id": "a", "n": 1}, {"id": "b", "n": 2}]), json!("c2")),
                page(json!([]), json!("c3")),
                page(json!([{"id": "c", "n": 3}]), json!(null)),
            ]},
            "shop/listNotes": {"$in_order": [
                page(json!([{"text": "old"}]), json!(true)),
                page(json!([{"text": "new"}]), json!("")),
            ]},
            "shop/listTags": page(json!(["red"]), json!(false)),
            "shop/getOrder": {},
            "shop/count": {},
            "shop/addNote": {},
        }),
        runs: vec![json!({"id": "b", "state": "open"}), json!({"id": "z"})],
    }
}

/// A state that is waited for, once with an argument that may be left out and on a condition.
fn waited() -> Form {
    let until = |most: u32| json!({"until": {"jq": ".status == \"done\"", "pause": 2_000, "most": most}});
    let mut later = until(2);
    later["until"]["never"] = json!(".status == \"lost\"");
    later["when"] = json!({"compare": {"left": from("s2", ".parts"), "op": "gt", "right": 1}});
    Form {
        name: "waited",
        parameters: json!({
            "type": "object",
            "properties": {"id": {"type": "string"}, "view": {"type": "string"}},
            "required": ["id"],
        }),
        plan: json!({
            "steps": [
                step("s1", "shop/startExport", json!({"id": {"$param": "id"}}), json!({})),
                step("s2", "shop/getExport", json!({"export": from("s1", ".id"), "view": {"$param": "view"}}), until(5)),
                step("s3", "shop/getArchive", json!({"export": from("s1", ".id")}), later),
                step("s4", "shop/publish", json!({"url": from("s2", ".url")}), json!({"after": ["s3"]})),
            ],
            "result": from("s2", ".parts"),
        }),
        answers: json!({
            "shop/startExport": {"id": "e1"},
            "shop/getExport": {"$in_order": [
                {"status": "queued"},
                {"status": "running"},
                {"status": "done", "url": "u", "parts": 2},
            ]},
            "shop/getArchive": {"$in_order": [{"status": "running"}, {"status": "done"}]},
            "shop/publish": {},
        }),
        runs: vec![json!({"id": "a"}), json!({"id": "b", "view": "all"})],
    }
}

/// What the tests of the SDK call; `main` is private.
const ENTRY: &str = r"
pub(super) fn run(host: &rote_sdk::testing::FakeHost, parameters: Value) -> Result<Value> {
    host.run(main, parameters)
}
";

fn forms() -> Vec<Form> {
    vec![
        given(),
        repeated(),
        found("found", json!([{"id": "ct_1"}])),
        found("made", json!([])),
        asked(),
        absent(),
        paged(),
        waited(),
    ]
}

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
