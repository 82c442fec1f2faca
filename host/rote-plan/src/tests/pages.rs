//! Lists that are read page by page.

use super::*;

fn listing(more: Value) -> Value {
    let mut step = step("list", "pages", json!({"project": "atlas"}));
    step["pages"] = json!({"argument": "page", "next": ".next", "items": ".items"});
    step.as_object_mut().unwrap().extend(object(more));
    step
}

fn of(steps: &[Value], result: Value) -> Plan {
    plan(json!({"version": 1, "steps": steps, "result": result}))
}

fn page(items: Value, next: Value) -> Value {
    json!({"items": items, "next": next, "total": 3})
}

/// Three pages.
fn three() -> Fake {
    answering(&[
        ("first", page(json!([1, 2]), json!("b"))),
        ("b", page(json!([]), json!("c"))),
        ("c", page(json!([3]), Value::Null)),
    ])
}

#[test]
fn a_list_is_read_to_its_end_and_is_one_answer() {
    let mut each = step("each", "echo", json!({"id": {"$item": "."}}));
    each["for_each"] = from("list", ".items");
    let steps = [listing(json!({})), each];
    let result = json!({"ids": from("each", ".id"), "all": from("list", "."), "flat": {"$from": {"step": "list", "jq": ".total", "each": true}}});
    let mut fake = three();
    let outcome = run(&of(&steps, result), &Map::new(), &mut fake).unwrap();
    let all = json!({"items": [1, 2, 3], "next": null, "total": 3});
    assert_eq!(outcome.result, json!({"ids": [1, 2, 3], "all": all, "flat": [3]}));
    let sent: Vec<&Value> = fake.started[..3].iter().map(|(_, arguments)| arguments).collect();
    let wanted = [
        json!({"project": "atlas"}),
        json!({"project": "atlas", "page": "b"}),
        json!({"project": "atlas", "page": "c"}),
    ];
    assert_eq!(sent, wanted.iter().collect::<Vec<_>>());
    let log = ["start list[0]", "done list[0]", "start list[1]", "done list[1]", "start list[2]", "done list[2]"];
    assert_eq!(fake.log[..6], log);
    let joins = fake.value_queries.iter().filter(|program| program.contains("$items")).count();
    assert_eq!(joins, 1, "{:?}", fake.value_queries);
}

#[test]
fn one_page_is_the_answer_as_it_is() {
    for next in [Value::Null, json!(""), json!(false)] {
        let mut fake = answering(&[("first", page(json!([1]), next))]);
        let outcome = run(&of(&[listing(json!({}))], from("list", ".items")), &Map::new(), &mut fake).unwrap();
        assert_eq!((outcome.result, fake.started.len(), fake.value_queries.len()), (json!([1]), 1, 0));
    }
}

#[test]
fn pages_that_do_not_end_are_an_error() {
    let result = || of(&[listing(json!({}))], from("list", ".items"));
    let mut forever = answering(&[("first", page(json!([1]), json!("b"))), ("b", page(json!([2]), json!("b")))]);
    let error = run(&result(), &Map::new(), &mut forever).unwrap_err().to_string();
    assert_eq!(error, "`list` cannot use a value: page \"b\" is named twice, so its pages do not end");
    assert_eq!(forever.started.len(), 2);

    let mut many = Fake::default();
    many.answers.insert("first".to_owned(), page(json!([0]), json!("1")));
    for number in 1..200 {
        many.answers.insert(number.to_string(), page(json!([number]), json!((number + 1).to_string())));
    }
    let error = run(&result(), &Map::new(), &mut many).unwrap_err().to_string();
    assert_eq!(error, "`list` cannot use a value: it has more than 100 pages");
    assert_eq!(many.started.len(), MAX_PAGES);

    let mut odd = answering(&[("first", page(json!([1]), json!({"x": 1})))]);
    let error = run(&result(), &Map::new(), &mut odd).unwrap_err().to_string();
    assert_eq!(error, "`list` cannot use a value: `.next` is an object, not a page");
}

#[test]
fn some_of_the_pages_are_not_the_list() {
    let mut fake = three();
    fake.answers.remove("c");
    let error = run(&of(&[listing(json!({}))], from("list", ".items")), &Map::new(), &mut fake).unwrap_err();
    assert_eq!(error.to_string(), "step `list[2]` failed: no page c");
    let goes_on =
        of(&[listing(json!({"on_error": "continue"}))], json!({"$default": [from("list", ".items"), "none"]}));
    let outcome = run(&goes_on, &Map::new(), &mut fake).unwrap();
    assert_eq!((outcome.result, outcome.steps["list"].status), (json!("none"), Status::Failed));
    assert_eq!(outcome.steps["list"].responses.len(), 2);
}

#[test]
fn pages_that_are_not_well_formed_are_refused() {
    let wrong = "step `list` has wrong `pages`";
    for (more, expected) in [
        (json!({"for_each": [1]}), wrong),
        (json!({"pages": {"argument": "", "next": ".n", "items": ".i"}}), wrong),
        (json!({"pages": {"argument": "a", "next": ".n"}}), "missing field `items`"),
        (json!({"pages": {"argument": "a", "next": "x".repeat(MAX_PROGRAM_BYTES + 1), "items": ".i"}}), "jq program"),
        (json!({"pages": null}), "the plan is not well formed"),
    ] {
        let value = json!({"version": 1, "steps": [listing(more)], "result": 1}).to_string();
        let error = Plan::parse(value.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let value = json!({"version": 1, "parameters": {}, "steps": [listing(json!({}))], "result": 1});
    assert_eq!(serde_json::to_value(plan(value.clone())).unwrap(), value);
}
