//! Writes of one tool that have something of the items of one list, one item after the other: what was typed is of these items, however
//! short it is, and all that one write has of the list is of one item.

use serde_json::{Value, json};

use super::support::wish;
use super::tale::{Tale, notes, open, steps};
use crate::{CrystallizeRequest, Crystallized};

const FOOD: [(&str, u64); 3] = [("Milk", 1), ("Eggs", 2), ("Bread", 3)];

fn shelf() -> Value {
    FOOD.iter()
        .enumerate()
        .map(|(at, (title, estimate))| json!({"id": 71 + at, "title": title, "estimate": estimate}))
        .collect()
}

/// Reads a list, and makes a thing with each of these arguments.
async fn typed(list: Value, query: Option<&str>, sent: &[Value]) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), list).await;
    if let Some(program) = query {
        tale.query(1, program);
    }
    for (at, sent) in sent.iter().enumerate() {
        tale.call("createIssue", sent.clone(), json!({"id": 900 + at})).await;
    }
    tale
}

fn each(made: &Crystallized, step: &str) -> Value {
    let step = made.plan.steps.iter().find(|one| one.id == step).unwrap();
    step.for_each.as_ref().map_or(Value::Null, |items| serde_json::to_value(items).unwrap()["$from"]["jq"].clone())
}

#[tokio::test]
async fn short_texts_of_all_items_typed_one_by_one_are_asked_and_become_a_loop() {
    let sent = FOOD.map(|(title, _)| json!({"title": title}));
    for list in [shelf(), json!({"items": FOOD.map(|(title, _)| title)})] {
        let bare = list.is_object();
        let tale = typed(list, None, &sent).await;
        assert_eq!(open(&tale.made(&[]).await), ["source:s2/title"]);
        let made = tale.answered_with(&[("source:s2/title", "taken")]).await.unwrap();
        let (items, item) = if bare { (".items[]", ".") } else { (".[]", ".title") };
        assert_eq!((open(&made), each(&made, "s2")), (vec![], json!(items)));
        assert_eq!(steps(&made)["s2"], json!({"title": {"$item": item}}));
        let made = tale.answered_with(&[("source:s2/title", "always")]).await.unwrap();
        assert_eq!((open(&made), steps(&made)["s4"].clone()), (vec![], json!({"title": "Bread"})));
    }
}

#[tokio::test]
async fn all_that_one_write_has_of_a_list_is_of_one_item() {
    let sent = FOOD.map(|(title, estimate)| json!({"title": title, "estimate": estimate}));
    let named = FOOD.map(|(title, estimate)| json!({"id": 70, "title": title, "count": estimate}));
    let made = typed(json!(named), None, &sent).await.answered_with(&[("source:s2/estimate", "taken")]).await.unwrap();
    assert_eq!(steps(&made)["s2"], json!({"estimate": {"$item": ".count"}, "title": {"$item": ".title"}}));
    let tale = typed(shelf(), None, &sent).await;
    assert_eq!(open(&tale.made(&[]).await), ["source:s2/estimate"]);
    let made = tale.answered_with(&[("source:s2/estimate", "taken")]).await.unwrap();
    assert_eq!((open(&made), each(&made, "s2")), (vec![], json!(".[]")));
    assert_eq!(steps(&made)["s2"], json!({"estimate": {"$item": ".estimate"}, "title": {"$item": ".title"}}));
    // Who answers as one value is asked answers for all.
    let made = tale.answered_with(&[("source:s2/estimate", "@1{.[0].estimate}")]).await.unwrap();
    assert_eq!((open(&made), each(&made, "s2")), (vec![], json!(".[]")));
}

#[tokio::test]
async fn a_part_of_the_items_is_asked_and_so_is_which_are_meant() {
    let sent: Vec<Value> =
        FOOD[1..].iter().map(|(title, estimate)| json!({"title": title, "estimate": estimate})).collect();
    let tale = typed(shelf(), None, &sent).await;
    assert_eq!(open(&tale.made(&[]).await), ["source:s2/estimate"]);
    let made = tale.answered_with(&[("source:s2/estimate", "taken")]).await.unwrap();
    assert!(open(&made).contains(&"loop:s2"), "{:?}", open(&made));
}

#[tokio::test]
async fn what_was_said_before_or_stands_in_the_list_by_chance_is_not_asked() {
    let name = |title: &str| json!({"title": title});
    for sent in [
        // In another order, with an item between them, or not all of them of the list.
        [name("Eggs"), name("Milk")],
        [name("Milk"), name("Bread")],
        [name("Milk"), name("Tea")],
        // Numbers alone.
        [json!({"amount": 1}), json!({"amount": 2})],
    ] {
        let made = typed(shelf(), None, &sent).await.made(&[]).await;
        assert_eq!(open(&made), [""; 0], "{sent:?}");
    }
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"title": "Milk"}), json!({"id": 71})).await;
    tale.call("createIssue", json!({"title": "Eggs"}), json!({"id": 72})).await;
    tale.call("listIssues", json!({"project": "x"}), shelf()).await;
    tale.call("createIssue", json!({"title": "Milk", "sprint": "b"}), json!({"id": 73})).await;
    tale.call("createIssue", json!({"title": "Eggs", "sprint": "b"}), json!({"id": 74})).await;
    assert_eq!(open(&tale.made(&[]).await), [""; 0]);
}

#[tokio::test]
async fn a_parameter_among_them_is_none_of_the_list() {
    let sent = FOOD.map(|(title, _)| json!({"title": title}));
    let tale = typed(shelf(), None, &sent).await;
    let made = tale.wish(&CrystallizeRequest { force: true, ..wish(&[("what", Some("Milk"))]) }).await.unwrap();
    assert_eq!(steps(&made)["s2"]["title"], json!({"$param": "what"}));
}

#[tokio::test]
async fn the_rows_that_a_query_printed_are_a_loop_although_the_list_has_some_of_it() {
    let stock = |code: &str, had: u64, par: u64| json!({"code": code, "stock": had, "par": par});
    let list =
        json!({"products": [stock("A-1", 3, 10), stock("B-2", 20, 12), stock("C-3", 5, 30), stock("D-4", 1, 5)]});
    let program = "[.products[] | select(.stock < .par) | {code, need: (.par - .stock)}]";
    let sent = [("A-1", 7), ("C-3", 25), ("D-4", 4)].map(|(code, need)| json!({"title": code, "estimate": need}));
    let tale = typed(list, Some(program), &sent).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), each(&made, "s2")), (vec![], json!(format!("{program} | .[]"))));
    assert_eq!(steps(&made)["s2"], json!({"estimate": {"$item": ".need"}, "title": {"$item": ".code"}}));
    assert!(notes(&made).iter().any(|note| note.contains("repeat for each")), "{:?}", notes(&made));
}

#[tokio::test]
async fn what_all_items_of_a_loop_share_is_asked() {
    let issue = |id: u64, mail: &str| json!({"id": id, "mail": mail, "assignee": "ann", "count": 1});
    let list = json!({"items": [issue(7041, "c@x"), issue(7042, "d@x")]});
    for (assignee, asked) in [("ann", vec!["source:s2/assignee"]), ("eve", vec![])] {
        let mut tale = typed(list.clone(), None, &[]).await;
        for id in [7041, 7042] {
            tale.call("assignIssue", json!({"issue_id": id, "assignee": assignee}), json!({"id": 900 + id})).await;
        }
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), each(&made, "s2")), (asked.clone(), json!(".items[]")));
        if asked.is_empty() {
            continue;
        }
        let made = tale.answered_with(&[("source:s2/assignee", "taken")]).await.unwrap();
        assert_eq!((open(&made), each(&made, "s2")), (vec![], json!(".items[]")));
        assert_eq!(steps(&made)["s2"]["assignee"], json!({"$item": ".assignee"}));
        let made = tale.answered_with(&[("source:s2/assignee", "always")]).await.unwrap();
        assert_eq!((open(&made), steps(&made)["s2"]["assignee"].clone()), (vec![], json!("ann")));
    }
}
