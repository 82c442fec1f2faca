//! Wrong plans of jobs and what is found of each, and the right plans of the same jobs, of which nothing is.

use std::collections::BTreeSet;

use rote_plan::{Expression, Plan};
use rote_types::{QueryEngine, ResponseId};
use serde_json::{Map, Value, json};

use super::find::{Trial, What};
use super::model::{Exchange, World};
use crate::tests::support::Fixture;

/// A job as it was recorded: the tools, what was typed, what was answered.
struct Job {
    calls: Vec<(&'static str, Value, Value)>,
    /// The values of the parameters that plans of it have.
    parameters: Value,
}

/// A plan of a job: for each step the call that it was made from, and its arguments; with `each`, the list that it is for,
/// with `pages`, how it is read page by page.
fn found(engine: &dyn QueryEngine, job: &Job, steps: &[(usize, Value)], by_value: &[&str]) -> Vec<String> {
    let is_write = |tool: &str| !tool.starts_with("list") && !tool.starts_with("get");
    let step_of = |call: usize| steps.iter().find(|(of, _)| *of == call).map(|(of, _)| format!("s{of}"));
    // A loop stands for all calls of its tool, and so does a list of pages.
    let loops: Vec<(usize, &str)> = steps
        .iter()
        .filter(|(_, arguments)| arguments.get("each").or(arguments.get("pages")).is_some())
        .map(|(of, _)| (*of, job.calls[*of - 1].0))
        .collect();
    let exchange = |(at, (tool, typed, body)): (usize, &(&str, Value, Value))| Exchange {
        response: ResponseId(u64::try_from(at).unwrap() + 1),
        step: loops.iter().find(|(_, of)| of == tool).map(|(of, _)| format!("s{of}")).or_else(|| step_of(at + 1)),
        tool: format!("api/{tool}"),
        writes: is_write(tool),
        typed: typed.clone(),
        sent: typed.clone(),
        body: body.clone(),
    };
    let world = World { exchanges: job.calls.iter().enumerate().map(exchange).collect() };
    let plan = plan(job, steps);
    let parameters: Map<String, Value> = job.parameters.as_object().unwrap().clone();
    let used: BTreeSet<&String> = plan.parameters.keys().collect();
    let parameters = parameters.into_iter().filter(|(name, _)| used.contains(name)).collect();
    let by_value = by_value.iter().map(|name| (*name).to_owned()).collect();
    let trial = Trial {
        plan: &plan,
        world: &world,
        parameters: &parameters,
        chosen: &BTreeSet::new(),
        by_value: &by_value,
        engine,
    };
    let name = |what: &What| match what {
        What::OldId => "old id",
        What::OldValue { .. } => "old value",
        What::OtherItem => "other item",
        What::MissedItem { .. } => "missed item",
        What::Stops { .. } => "stops",
        What::SameThing { .. } => "same thing",
        What::StopsHalfway { .. } => "stops halfway",
    };
    let found = trial.findings().unwrap();
    found.iter().map(|one| format!("{} {}{}", name(&one.what), one.step, one.pointer)).collect()
}

fn plan(job: &Job, steps: &[(usize, Value)]) -> Plan {
    let mut used = BTreeSet::new();
    let mut made = Vec::new();
    for (position, (of, arguments)) in steps.iter().enumerate() {
        let mut arguments = arguments.clone();
        let each = arguments.as_object_mut().unwrap().shift_remove("each");
        let pages = arguments.as_object_mut().unwrap().shift_remove("pages");
        let read: Expression = serde_json::from_value(arguments.clone()).unwrap();
        used.extend(read.parameters().into_iter().map(str::to_owned));
        let needs: Vec<String> = steps[..position].iter().map(|(of, _)| format!("s{of}")).collect();
        let mut step = json!({"id": format!("s{of}"), "adapter": "api", "tool": job.calls[*of - 1].0, "arguments": arguments, "needs": needs});
        if let Some(pages) = pages {
            step["pages"] = pages;
        }
        if let Some(each) = each {
            step["for_each"] = each;
            step["max_concurrency"] = 1.into();
        }
        made.push(step);
    }
    let parameters: Map<String, Value> = used.into_iter().map(|name| (name, json!({"required": true}))).collect();
    let plan = json!({"version": 1, "parameters": parameters, "steps": made, "result": null});
    Plan::parse(plan.to_string().as_bytes()).unwrap()
}

fn from(step: &str, jq: &str) -> Value {
    json!({"$from": {"step": step, "jq": jq}})
}

fn each(step: &str, jq: &str) -> Value {
    json!({"$from": {"step": step, "jq": jq, "each": true}})
}

fn issues() -> Value {
    json!({"items": [
        {"id": 41, "key": "TRK-1", "title": "Fix login", "state": "open"},
        {"id": 42, "key": "TRK-2", "title": "Crash", "state": "open"},
        {"id": 43, "key": "TRK-3", "title": "Weekly report", "state": "done"},
    ]})
}

/// A plan, and what is found of it.
type Case<'a> = (&'a [(usize, Value)], &'a [&'a str]);

/// Checks a job: each plan, and what is found of it.
fn check(engine: &dyn QueryEngine, job: &Job, plans: &[Case<'_>]) {
    for (steps, wanted) in plans {
        assert_eq!(found(engine, job, steps, &["title", "day", "q"]), *wanted, "{steps:#?}");
    }
}

#[test]
fn wrong_plans_are_found_and_right_ones_are_not() {
    let fixture = Fixture::new();
    let engine = &*fixture.runtime.query_engine();
    typed_ids(engine);
    positions(engine);
    same_things(engine);
    repeated(engine);
    values(engine);
    named_values(engine);
}

fn typed_ids(engine: &dyn QueryEngine) {
    let create = json!({"title": {"$param": "title"}});
    let job = Job {
        calls: vec![
            ("createIssue", json!({"title": "Crash"}), json!({"id": 311, "key": "TRK-12", "title": "Crash"})),
            ("addComment", json!({"issue_id": 311, "body": "Seen"}), json!({"id": 9})),
        ],
        parameters: json!({"title": "Crash"}),
    };
    check(
        engine,
        &job,
        &[
            (&[(1, create.clone()), (2, json!({"issue_id": 311, "body": "Seen"}))], &["old id s2/issue_id"]),
            (&[(1, create.clone()), (2, json!({"issue_id": from("s1", ".id"), "body": "see TRK-12"}))], &[]),
            (&[(1, create.clone()), (2, json!({"issue_id": "TRK-12", "body": 311}))], &["old id s2/issue_id"]),
            (&[(1, create), (2, json!({"issue_id": from("s1", ".id"), "body": "Seen"}))], &[]),
        ],
    );
    // The search was left out.
    let job = Job {
        calls: vec![
            (
                "listContacts",
                json!({"email": "nora@acme.test"}),
                json!({"items": [{"id": "ct_101", "email": "nora@acme.test"}]}),
            ),
            ("updateContact", json!({"contact_id": "ct_101", "notes": "called"}), json!({"id": "ct_101"})),
        ],
        parameters: json!({"email": "nora@acme.test"}),
    };
    let search = (1, json!({"email": {"$param": "email"}}));
    check(
        engine,
        &job,
        &[
            (&[(2, json!({"contact_id": "ct_101", "notes": "called"}))], &["old id s2/contact_id"]),
            (&[search, (2, json!({"contact_id": from("s1", ".items[0].id"), "notes": "called"}))], &[]),
        ],
    );
    // What the person typed first is the person's.
    let job = Job {
        calls: vec![
            ("getIssue", json!({"issue_id": 41}), json!({"id": 41})),
            ("closeIssue", json!({"issue_id": 41}), json!({"id": 41})),
        ],
        parameters: json!({}),
    };
    check(engine, &job, &[(&[(2, json!({"issue_id": 41}))], &[])]);
}

fn same_things(engine: &dyn QueryEngine) {
    let job = Job {
        calls: vec![
            (
                "listContacts",
                json!({"email": "nora@acme.test"}),
                json!({"items": [
                {"id": 501, "made": "2026-02-01"}, {"id": 502, "made": "2026-01-01"}]}),
            ),
            ("mergeContact", json!({"contact_id": 502, "other_id": 501}), json!({"id": 502})),
        ],
        parameters: json!({}),
    };
    let list = (1, json!({"email": "nora@acme.test"}));
    let merged =
        |other: &str| json!({"contact_id": from("s1", ".items | min_by(.made) | .id"), "other_id": from("s1", other)});
    let second = merged(".items | sort_by(.made) | .[1] | .id");
    check(
        engine,
        &job,
        &[
            (&[list.clone(), (2, merged(".items | max_by(.made) | .id"))], &["same thing s2/other_id"]),
            // It stops where there is not a second one.
            (&[list, (2, second)], &[]),
        ],
    );
}

fn positions(engine: &dyn QueryEngine) {
    let job = Job {
        calls: vec![
            ("listIssues", json!({"project": "atlas"}), issues()),
            ("updateIssue", json!({"issue_id": 43, "priority": "urgent"}), json!({"id": 43})),
        ],
        parameters: json!({}),
    };
    let taken = |jq: &str| json!({"issue_id": from("s1", jq), "priority": "urgent"});
    let list = (1, json!({"project": "atlas"}));
    check(
        engine,
        &job,
        &[
            (&[list.clone(), (2, taken(".items[2].id"))], &["other item s2/issue_id"]),
            (&[list.clone(), (2, taken(".items[] | select(.title == \"Weekly report\") | .id"))], &[]),
            (&[list.clone(), (2, taken(".items | sort_by(.title) | last | .id"))], &[]),
            (&[list.clone(), (2, taken(".items | last | .id"))], &["other item s2/issue_id"]),
            (&[list.clone(), (2, taken(".items[-1].id"))], &["other item s2/issue_id"]),
            (&[list.clone(), (2, taken(".items[-2:] | .[0].id"))], &["other item s2/issue_id"]),
            (&[list.clone(), (2, taken("first(.items[]) | .id"))], &["other item s2/issue_id"]),
            (&[list.clone(), (2, json!({"issue_id": 43, "priority": "urgent"}))], &["old id s2/issue_id"]),
            (&[list, (2, taken(".items[0].id"))], &["other item s2/issue_id"]),
        ],
    );
    // The first and the last in an order that was asked for are what was meant; the third is not.
    let sorted = (1, json!({"project": "atlas", "Sort-By": "comments"}));
    check(
        engine,
        &job,
        &[
            (&[sorted.clone(), (2, taken(".items[0].id"))], &[]),
            (&[sorted.clone(), (2, taken(".items[-1].id"))], &[]),
            (&[sorted.clone(), (2, taken(".items | last | .id"))], &[]),
            (&[sorted, (2, taken(".items[2].id"))], &["other item s2/issue_id"]),
        ],
    );
    // Hours have an order and are not things.
    let job = Job {
        calls: vec![
            (
                "listFree",
                json!({}),
                json!({"free": [{"start": "2026-05-11T09:00:00Z"}, {"start": "2026-05-11T11:00:00Z"}]}),
            ),
            ("createEvent", json!({"start": "@1{.free[0].start}"}), json!({"id": "ev_1"})),
        ],
        parameters: json!({}),
    };
    check(engine, &job, &[(&[(1, json!({})), (2, json!({"start": from("s1", ".free[0].start")}))], &[])]);
}

fn repeated(engine: &dyn QueryEngine) {
    let comment = |id: u64, text: &str| ("addComment", json!({"issue_id": id, "body": text}), json!({"id": id + 900}));
    let job = Job {
        calls: vec![("listIssues", json!({}), issues()), comment(41, "Done"), comment(42, "Done"), comment(43, "Done")],
        parameters: json!({}),
    };
    let list = (1, json!({}));
    let by_title = |title: &str| json!({"issue_id": from("s1", &format!(".items[] | select(.title == \"{title}\") | .id")), "body": "Done"});
    let at = |index: usize| json!({"issue_id": from("s1", &format!(".items[{index}].id")), "body": "Done"});
    let over = |jq: &str| json!({"each": each("s1", jq), "issue_id": {"$item": ".id"}, "body": {"$text": ["About ", {"$item": ".title"}]}});
    check(
        engine,
        &job,
        &[
            (&[list.clone(), (2, at(0)), (3, at(1)), (4, at(2))], &["missed item s2/issue_id"]),
            (
                &[list.clone(), (2, by_title("Fix login")), (3, by_title("Crash")), (4, by_title("Weekly report"))],
                &["missed item s2/issue_id"],
            ),
            (&[list.clone(), (2, over(".items[]"))], &[]),
            (&[list.clone(), (2, over(".items[] | select(.state == \"open\")"))], &[]),
            // Two of three, chosen by name.
            (&[list.clone(), (2, by_title("Fix login")), (4, by_title("Weekly report"))], &[]),
            (&[list.clone(), (2, at(0)), (4, at(2))], &["other item s2/issue_id", "other item s4/issue_id"]),
        ],
    );
    let job = Job {
        calls: vec![
            ("createIssue", json!({"title": "Next"}), json!({"id": 7})),
            ("listIssues", json!({}), issues()),
            comment(41, "Done"),
        ],
        parameters: json!({}),
    };
    let taken = json!({"issue_id": from("s2", ".items[] | select(.title == \"Fix login\") | .id"), "body": "Done"});
    check(engine, &job, &[(&[(1, json!({"title": "Next"})), (2, json!({})), (3, taken)], &["stops halfway s3"])]);
}

fn values(engine: &dyn QueryEngine) {
    let job = Job {
        calls: vec![
            ("createIssue", json!({"due_date": "2026-05-22"}), json!({"id": 5, "due_date": "2026-05-22"})),
            ("createEvent", json!({"start": "2026-05-22T09:00:00Z"}), json!({"id": "ev_1"})),
        ],
        parameters: json!({"day": "2026-05-22"}),
    };
    let due = (1, json!({"due_date": {"$param": "day"}}));
    let later = ".due_date | strptime(\"%Y-%m-%d\") | mktime + 259200 | strftime(\"%Y-%m-%dT00:00:00Z\")";
    check(
        engine,
        &job,
        &[
            (&[due.clone(), (2, json!({"start": "2026-05-22T09:00:00Z"}))], &["old value s2/start"]),
            (&[due.clone(), (2, json!({"start": {"$text": [{"$param": "day"}, "T09:00:00Z"]}}))], &[]),
            (&[due, (2, json!({"start": from("s1", later)}))], &[]),
        ],
    );
    // A parameter that does not reach into jq.
    let job = Job {
        calls: vec![
            (
                "listIssues",
                json!({"q": "login"}),
                json!({"items": [{"id": 41, "project": "atlas"}, {"id": 42, "project": "beacon"}]}),
            ),
            ("addComment", json!({"issue_id": 41, "body": "x"}), json!({"id": 1})),
            ("createIssue", json!({"project": "atlas"}), json!({"id": 2})),
        ],
        parameters: json!({"project": "atlas"}),
    };
    let search = (1, json!({"q": "login"}));
    let comment = json!({"issue_id": from("s1", ".items[] | select(.project==\"atlas\") | .id"), "body": "x"});
    check(
        engine,
        &job,
        &[
            (&[search.clone(), (2, comment.clone()), (3, json!({"project": {"$param": "project"}}))], &["stops s2"]),
            (&[search, (2, comment), (3, json!({"project": "atlas"}))], &[]),
        ],
    );
}

/// What a parameter has by its name stands elsewhere too.
fn named_values(engine: &dyn QueryEngine) {
    for id in [json!(138921), json!("ord_A")] {
        let said = format!("See {}.", rote_plan::text_of(&id));
        let job = Job {
            calls: vec![
                ("getIssue", json!({"issue_id": id}), json!({"id": id})),
                ("addComment", json!({"issue_id": id, "body": said}), json!({"id": 1})),
            ],
            parameters: json!({"issue_id": id}),
        };
        let get = (1, json!({"issue_id": {"$param": "issue_id"}}));
        let comment = |body: Value| (2, json!({"issue_id": {"$param": "issue_id"}, "body": body}));
        let bound = json!({"$text": ["See ", {"$param": "issue_id"}, "."]});
        check(
            engine,
            &job,
            &[(&[get.clone(), comment(json!(said))], &["old value s2/body"]), (&[get, comment(bound)], &[])],
        );
    }
    // The short number of a thing, which its text has behind a `#`.
    let job = Job {
        calls: vec![
            ("getIssue", json!({"issue": 11}), json!({"number": 11, "comments": 11})),
            ("addComment", json!({"issue": 11, "body": "Like #11, page 11"}), json!({"id": 1})),
            ("addComment", json!({"issue": 11, "body": "Room 11, not #112", "limit": 11}), json!({"id": 2})),
        ],
        parameters: json!({"issue": 11}),
    };
    let bound = |(at, (_, typed, _)): (usize, &(&str, Value, Value))| {
        let mut arguments = typed.clone();
        arguments["issue"] = json!({"$param": "issue"});
        (at + 1, arguments)
    };
    let steps: Vec<(usize, Value)> = job.calls.iter().enumerate().map(bound).collect();
    check(engine, &job, &[(&steps, &["old value s2/body"])]);
}

#[test]
fn a_list_of_pages() {
    let fixture = Fixture::new();
    let page = |ids: &[u64], next: Value| {
        let items: Vec<Value> = ids.iter().map(|id| json!({"id": id, "state": "open"})).collect();
        json!({"items": items, "next_page_token": next})
    };
    let comment = |id: u64| ("addComment", json!({"issue_id": id, "body": "Done"}), json!({"id": 900 + id}));
    let job = Job {
        calls: vec![
            ("listIssues", json!({"project": "atlas"}), page(&[41, 42], json!("tok-2b"))),
            ("listIssues", json!({"project": "atlas", "page_token": "@1{.next_page_token}"}), page(&[43], Value::Null)),
            comment(41),
            comment(42),
            comment(43),
        ],
        parameters: json!({}),
    };
    let how = json!({"argument": "page_token", "next": ".next_page_token", "items": ".items"});
    let list = (1, json!({"project": "atlas", "pages": how}));
    let for_all = (3, json!({"issue_id": {"$item": ".id"}, "body": "Done", "each": each("s1", ".items[]")}));
    let at = |call: usize, index: usize| {
        (call, json!({"issue_id": from("s1", &format!(".items[{index}].id")), "body": "Done"}))
    };
    check(
        &*fixture.runtime.query_engine(),
        &job,
        &[
            (&[list.clone(), for_all], &[]),
            (&[list, at(3, 0), at(4, 1), at(5, 2)], &["other item s3/issue_id", "other item s4/issue_id"]),
        ],
    );
}
