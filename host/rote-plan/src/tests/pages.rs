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

#[test]
fn counted_pages_are_read_until_an_answer_says_that_there_is_no_other() {
    let more = |items: Value, more: bool| json!({"items": items, "has_more": more});
    let mut fake =
        answering(&[("first", more(json!([1]), true)), ("2", more(json!([2]), true)), ("3", more(json!([3]), false))]);
    let pages = json!({"argument": "page", "next": ".has_more", "items": ".items", "count": {"from": 1, "by": 1}});
    let counted = |pages: &Value| {
        let mut step = step("list", "pages", json!({}));
        step["pages"] = pages.clone();
        json!({"version": 1, "steps": [step], "result": from("list", ".items")})
    };
    let outcome = run(&plan(counted(&pages)), &Map::new(), &mut fake).unwrap();
    assert_eq!(outcome.result, json!([1, 2, 3]));
    let sent: Vec<&Value> = fake.started.iter().map(|(_, arguments)| &arguments["page"]).collect();
    assert_eq!(sent, [&Value::Null, &json!(2), &json!(3)]);

    for wrong in [json!({"count": {"from": 1, "by": 0}}), json!({"count": {"from": 0, "by": 1}, "argument": null})] {
        let mut pages = pages.clone();
        for (name, value) in object(wrong) {
            pages[name] = value;
        }
        assert!(Plan::parse(counted(&pages).to_string().as_bytes()).is_err(), "{pages}");
    }
    let far = json!({"argument": "page", "next": ".has_more", "items": ".items", "count": {"from": i64::MAX, "by": 1}});
    let mut fake = answering(&[("first", more(json!([1]), true))]);
    let error = run(&plan(counted(&far)), &Map::new(), &mut fake).unwrap_err().to_string();
    assert_eq!(error, "`list` cannot use a value: the number of its next page is too large");
}

#[test]
fn a_list_that_can_only_be_read_as_one_page_fails_when_it_has_another() {
    let mut step = step("list", "pages", json!({}));
    step["pages"] = json!({"next": ".has_more", "items": ".items"});
    let plan = of(&[step], from("list", ".items"));
    let mut fake = answering(&[("first", json!({"items": [1], "has_more": false}))]);
    assert_eq!(run(&plan, &Map::new(), &mut fake).unwrap().result, json!([1]));
    let mut fake = answering(&[("first", json!({"items": [1], "has_more": true}))]);
    let error = run(&plan, &Map::new(), &mut fake).unwrap_err().to_string();
    let wanted = "`list` cannot use a value: the list has another page (`.has_more` is true), and only one can be read";
    assert_eq!((error.as_str(), fake.started.len()), (wanted, 1));
}
