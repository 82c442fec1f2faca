//! Repetition becomes a loop, and what was asked before a write its condition.

use rote_types::{Clock as _, ResponseId};
use rote_workspace::{Ask, AskKind, Comparison};
use serde_json::{Value, json};

use super::support::Ticking;
use super::tale::{Tale, notes, open, steps};
use crate::Crystallized;

fn issues() -> Value {
    json!({"items": [
        {"id": 41, "title": "Fix login", "state": "open"},
        {"id": 42, "title": "Crash", "state": "done"},
        {"id": 43, "title": "Weekly report", "state": "open"},
    ]})
}

/// Comments on items of a list, as typed.
async fn commented(items: &[Value]) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "atlas"}), issues()).await;
    for (number, item) in items.iter().enumerate() {
        let arguments = json!({"issue_id": item, "body": "Done"});
        tale.call("addComment", arguments, json!({"id": 900 + number})).await;
    }
    tale
}

fn for_each(made: &Crystallized) -> Value {
    let step = made.plan.steps.iter().find(|step| step.id == "s2").unwrap();
    step.for_each.as_ref().map_or(Value::Null, |items| serde_json::to_value(items).unwrap()["$from"]["jq"].clone())
}

fn at(index: usize) -> Value {
    format!("@1{{.items[{index}].id}}").into()
}

#[tokio::test]
async fn calls_for_all_items_are_one_step() {
    for items in [[at(0), at(1), at(2)], [json!(41), json!(42), json!(43)]] {
        let tale = commented(&items).await;
        let made = tale.made(&[]).await;
        assert_eq!((for_each(&made), made.plan.steps.len(), open(&made)), (json!(".items[]"), 2, vec![]));
        assert_eq!(steps(&made)["s2"], json!({"issue_id": {"$item": ".id"}, "body": "Done"}));
        assert_eq!(made.plan.steps[1].max_concurrency, Some(1));
        let told = "s2, s3, s4 repeat for each of .items of s1 (3 of 3), as s2";
        assert!(notes(&made).contains(&told), "{:?}", notes(&made));
        let straight = tale.answered_with(&[("loop:s2", "no")]).await.unwrap();
        assert_eq!((for_each(&straight), straight.plan.steps.len()), (Value::Null, 4));
    }
}

#[tokio::test]
async fn writes_that_alternated_are_said_to_be_made_one_after_the_other() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "atlas"}), issues()).await;
    for index in 0..3 {
        tale.call("closeIssue", json!({"issue_id": at(index)}), json!({"id": 41 + index})).await;
        tale.call("addComment", json!({"issue_id": at(index), "body": "Done"}), json!({"id": 900 + index})).await;
    }
    let made = tale.made(&[]).await;
    let said: Vec<&str> = notes(&made).into_iter().filter(|note| note.contains("repeat")).collect();
    let told = "s2, s4, s6 repeat for each of .items of s1 (3 of 3), as s2; s2 is made for all of them before s3 is, which stood \
        between them";
    assert_eq!(said, [told, "s3, s5, s7 repeat for each of .items of s1 (3 of 3), as s3"]);
}

#[tokio::test]
async fn calls_for_some_items_are_for_those_that_a_query_showed_or_one_member_tells() {
    let tale = commented(&[at(0), at(2)]).await;
    let made = tale.made(&[]).await;
    let filtered = json!(".items[] | select(.state == \"open\")");
    assert_eq!((for_each(&made), open(&made)), (filtered.clone(), vec!["loop:s2"]));
    let made = tale.answered_with(&[("loop:s2", "filter")]).await.unwrap();
    assert_eq!((for_each(&made), open(&made)), (filtered, vec![]));
    let made = tale.answered_with(&[("loop:s2", ".id != 42")]).await.unwrap();
    assert_eq!((for_each(&made), open(&made)), (json!(".items[] | select(.id != 42)"), vec![]));
    assert!(tale.answered_with(&[("loop:s2", ".id > 42")]).await.is_err());

    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues()).await;
    tale.query(1, ".items[] | select(.id > 41)");
    for index in [1, 2] {
        tale.call("addComment", json!({"issue_id": at(index), "body": "Done"}), json!({"id": 900 + index})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!((for_each(&made), open(&made)), (json!(".items[] | select(.id > 41)"), vec![]));
}

#[tokio::test]
async fn another_order_and_an_answer_that_is_used_stay_as_they_were_done() {
    let made = commented(&[at(2), at(0), at(1)]).await.made(&[]).await;
    assert_eq!((for_each(&made), made.plan.steps.len()), (Value::Null, 4));
    let mut tale = commented(&[at(0), at(1), at(2)]).await;
    tale.call("addWorklog", json!({"issue_key": "@3{.id}", "hours": 1}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!((for_each(&made), made.plan.steps.len()), (Value::Null, 5));
}

fn asks(tale: &Tale, condition: &str, program: &str, held: bool) {
    let ask = Ask {
        condition: serde_json::from_value(json!(condition)).unwrap(),
        response: ResponseId(1),
        others: Vec::new(),
        programs: vec![program.to_owned()],
        comparison: None,
        wanted: None,
        held,
    };
    tale.fixture.workspace.log_ask(&ask, Ticking::default().now()).unwrap();
}

#[tokio::test]
async fn what_was_asked_before_a_write_is_its_condition() {
    for (condition, program, held, wanted) in [
        ("is-empty", ".items", false, json!({"jq": ".items | length", "op": "gt"})),
        ("exists", ".items[0]", true, json!({"jq": "[.items[0] | select(. != null)] | length", "op": "gt"})),
        ("exists", ".next", false, json!({"jq": "[.next | select(. != null)] | length", "op": "eq"})),
        (
            "expect",
            ".items[0].state == \"open\"",
            true,
            json!({"jq": "[.items[0].state == \"open\"] | length > 0 and all", "op": "eq"}),
        ),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({}), issues()).await;
        asks(&tale, condition, program, held);
        tale.call("addComment", json!({"issue_id": 7, "body": "Seen"}), json!({"id": 1})).await;
        tale.call("addComment", json!({"issue_id": 8, "body": "Seen"}), json!({"id": 2})).await;
        let made = tale.made(&[]).await;
        let step = |id: &str| made.plan.steps.iter().find(|step| step.id == id).unwrap();
        let when = serde_json::to_value(step("s2").when.as_ref().unwrap()).unwrap();
        let found = json!({"jq": when["compare"]["left"]["$from"]["jq"], "op": when["compare"]["op"]});
        assert_eq!(found, wanted);
        // Whether it decided about the write behind that, too, nobody knows.
        assert_eq!((open(&made), &step("s3").after), (vec!["when:s3"], &vec!["s2".to_owned()]));
        for (word, has) in [("yes", true), ("no", false)] {
            let made = tale.answered_with(&[("when:s3", word)]).await.unwrap();
            let step = |id: &str| made.plan.steps.iter().find(|step| step.id == id).unwrap();
            assert_eq!(step("s3").when.is_some(), has, "{word}");
            assert!(!has || step("s3").when == step("s2").when);
        }
        let made = tale.answered_with(&[("when:s2", "no")]).await.unwrap();
        assert!(made.plan.steps.iter().all(|step| step.when.is_none()));
    }
}

#[tokio::test]
async fn a_look_at_what_the_write_reads_is_not_a_condition() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues()).await;
    asks(&tale, "exists", ".items[0]", true);
    tale.call("addComment", json!({"issue_id": at(0), "body": "Seen"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert!(made.plan.steps.iter().all(|step| step.when.is_none()));
}

#[tokio::test]
async fn a_thing_that_was_found_stands_for_one_that_is_made() {
    for shown in [true, false] {
        let mut tale = Tale::new();
        tale.call("searchContacts", json!({"email": "new@acme.test"}), json!({"items": []})).await;
        asks(&tale, "is-empty", ".items", true);
        tale.call("createEvent", json!({"title": "new@acme.test"}), json!({"id": "ev_7"})).await;
        tale.call("updateEvent", json!({"event_id": "@2{.id}", "title": "x"}), json!({"id": "ev_7"})).await;
        if shown {
            tale.call("searchContacts", json!({"q": "x"}), json!({"items": [{"id": "ev_9"}]})).await;
        }
        let made = tale.made(&[]).await;
        let id = json!({"$default": [
            {"$from": {"step": "s2", "jq": ".id"}},
            {"$from": {"step": "s1", "jq": ".items[0].id"}},
        ]});
        assert_eq!(steps(&made)["s3"]["event_id"], id);
        assert_eq!(open(&made), if shown { vec![] } else { vec!["found:s2"] });
        let plain = tale.answered_with(&[("when:s2", "no")]).await.unwrap();
        assert_eq!(steps(&plain)["s3"]["event_id"]["$from"]["step"], "s2");
    }
}

#[tokio::test]
async fn a_parameter_reaches_the_filter_of_a_loop_and_the_right_side_of_a_condition() {
    let issue = |id: u64, project: &str| json!({"id": id, "project": project});
    let mut tale = Tale::new();
    let issues = json!({"items": [issue(41, "atlas"), issue(42, "beacon"), issue(43, "atlas")], "project": "atlas"});
    tale.call("listIssues", json!({}), issues).await;
    tale.query(1, ".items[] | select(.project == \"atlas\")");
    for index in [0, 2] {
        tale.call("addComment", json!({"issue_id": at(index), "body": "Done"}), json!({"id": 900 + index})).await;
    }
    let ask = Ask {
        condition: AskKind::Compare,
        response: ResponseId(1),
        others: Vec::new(),
        programs: vec![".project".to_owned()],
        comparison: Some(Comparison::Equal),
        wanted: Some("atlas".to_owned()),
        held: true,
    };
    tale.fixture.workspace.log_ask(&ask, Ticking::default().now()).unwrap();
    tale.call("createIssue", json!({"title": "Next"}), json!({"id": 50})).await;
    let made = tale.made(&[("project", Some("atlas"))]).await;
    assert_eq!(for_each(&made), ".items[] | select(.project == $project)");
    let last = made.plan.steps.last().unwrap();
    let when = serde_json::to_value(last.when.as_ref().unwrap()).unwrap();
    assert_eq!(when["compare"]["right"], json!({"$param": "project"}));
    let places = made.report.parameters[0].places.iter().map(|place| format!("{}:{}", place.step, place.pointer));
    assert_eq!(places.collect::<Vec<_>>(), ["s2:for_each{}", "s4:when"]);
}

#[tokio::test]
async fn an_item_that_was_asked_about_and_left_out_is_not_a_condition_of_the_next_one() {
    let list = json!({"items": [{"id": 41, "n": 1}, {"id": 42, "n": 2}, {"id": 43, "n": 3}]});
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), list).await;
    for (index, held) in [true, false, true].into_iter().enumerate() {
        asks(&tale, "expect", &format!(".items[{index}].n {} 9", if held { "<" } else { ">" }), held);
        if held {
            let arguments = json!({"issue_id": at(index), "state": "closed"});
            tale.call("updateIssue", arguments, json!({"id": index})).await;
        }
    }
    let made = tale.made(&[]).await;
    assert_eq!((for_each(&made), made.plan.steps.len()), (Value::Null, 3));
    for (step, index) in made.plan.steps[1..].iter().zip([0, 2]) {
        let when = serde_json::to_value(&step.when).unwrap()["compare"]["left"]["$from"]["jq"].to_string();
        assert!(when.contains(&format!("items[{index}]")), "{when}");
    }
    let asked: Vec<&str> = open(&made).into_iter().filter(|id| id.starts_with("when:")).collect();
    assert_eq!(asked, ["when:s3"]);
}
