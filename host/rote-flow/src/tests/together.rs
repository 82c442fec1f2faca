//! Several things of one list that were written down together: in one text, or as a list.

use serde_json::{Value, json};

use super::eye::{elsewhere, items};
use super::reckoned::{answered, words};
use super::tale::{Tale, from, open, steps};

const BODY: &str = "source:s2/body";

fn person(id: u64, name: &str, paid: bool) -> Value {
    json!({"id": id, "name": name, "paid": paid})
}

fn people() -> Value {
    items(&[person(311, "Ann", true), person(312, "Bob", false), person(313, "Cem", true), person(314, "Dan", false)])
}

/// A list, and a message with this text.
async fn told(list: Value, text: &str) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), list).await;
    tale.call("addComment", json!({"issue_id": 7, "body": text}), json!({"id": 1})).await;
    tale
}

fn ask(made: &crate::Crystallized) -> String {
    made.frontmatter.questions.iter().map(|question| question.ask.clone()).collect()
}

#[tokio::test]
async fn all_things_of_a_list_in_one_text_are_asked_and_written_as_they_were() {
    for (text, there) in [
        ("To Ann, Bob, Cem and Dan.", "To Eve and Flo."),
        ("To Ann, Bob, Cem, Dan: hello", "To Eve, Flo: hello"),
        ("Team:\n- Ann\n- Bob\n- Cem\n- Dan", "Team:\n- Eve\n- Flo"),
        ("See 311, 312, 313, 314", "See 41, 42"),
    ] {
        let tale = told(people(), text).await;
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), words(&made, BODY)), (vec![BODY], vec!["taken", "always"]), "{text}");
        let made = answered(&tale, &[], &[(BODY, "taken")]).await;
        assert!(open(&made).is_empty(), "{:?}", open(&made));
        let list = items(&[person(41, "Eve", true), person(42, "Flo", true)]);
        let wrote = elsewhere(&tale, &[list], &[]).await;
        assert!(wrote[0].contains(Value::from(there).as_str().unwrap().replace('\n', "\\n").as_str()), "{wrote:?}");
    }
}

#[tokio::test]
async fn some_things_of_a_list_in_one_text_are_those_that_a_field_tells() {
    for text in ["Paid: Ann, Cem", "Paid: Ann & Cem"] {
        let tale = told(people(), text).await;
        assert_eq!(open(&tale.made(&[]).await), [BODY], "{text}");
        let made = answered(&tale, &[], &[(BODY, "taken")]).await;
        assert!(open(&made).is_empty(), "{:?}", open(&made));
        let list = [person(41, "Eve", false), person(42, "Flo", true), person(43, "Gil", true)];
        let wrote = elsewhere(&tale, &[items(&list)], &[]).await;
        assert!(wrote[0].contains(&text.replace("Ann", "Flo").replace("Cem", "Gil")), "{wrote:?}");
    }
}

#[tokio::test]
async fn things_that_nothing_tells_from_the_others_are_asked_with_their_list() {
    for (text, answer) in [
        ("Ann and Dan lead", "@1{[.items[0,3].name] | join(\" and \")}"),
        ("Dan, Bob, Ann lead", "@1{[.items[3,1,0].name] | join(\", \")}"),
    ] {
        let tale = told(people(), text).await;
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), words(&made, BODY)), (vec![BODY], vec!["always"]), "{text}");
        let asks = ask(&made);
        assert!(asks.contains("of the 4 of `[.items[].name]` of @1, and nothing tells them"), "{asks}");
        let made = answered(&tale, &[], &[(BODY, answer)]).await;
        assert!(open(&made).is_empty() && steps(&made)["s2"]["body"].to_string().contains(".items["), "{answer}");
        let made = answered(&tale, &[], &[(BODY, "always")]).await;
        assert_eq!((open(&made), steps(&made)["s2"]["body"].clone()), (vec![], json!(text)));
    }
}

#[tokio::test]
async fn what_the_person_said_first_and_what_people_say_as_well_is_not_of_a_list() {
    let mut tale = Tale::new();
    for name in ["Ann", "Cem"] {
        tale.call("searchContacts", json!({"q": name}), json!({"contacts": []})).await;
    }
    tale.call("listIssues", json!({"project": "x"}), people()).await;
    tale.call("addComment", json!({"issue_id": 7, "body": "Ann, Cem"}), json!({"id": 1})).await;
    assert!(open(&tale.made(&[]).await).iter().all(|id| !id.starts_with("source:")));
    let labels = json!({"items": [{"name": "bug"}, {"name": "ui"}, {"name": "docs"}]});
    assert!(open(&told(labels.clone(), "bug, docs").await.made(&[]).await).is_empty());
    assert_eq!(open(&told(labels, "bug, ui, docs").await.made(&[]).await), [BODY]);
    assert!(open(&told(people(), "Ann told Bob").await.made(&[]).await).is_empty());
}

/// A list, and a write of a list of some of it.
async fn listed(list: Value, (tool, sent): (&str, Value)) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), list).await;
    tale.call(tool, sent, json!({"id": 9})).await;
    tale
}

#[tokio::test]
async fn some_ids_of_a_list_in_one_argument_are_those_that_a_field_tells() {
    let tale = listed(people(), ("addWorklog", json!({"hours": 1, "issue_ids": [311, 313]}))).await;
    let id = "source:s2/issue_ids";
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), [id]);
    let word = "@1{[.items[] | select(.paid == true) | .id]}";
    assert_eq!(words(&made, id), [word, "always"]);
    let made = answered(&tale, &[], &[(id, word)]).await;
    assert_eq!(steps(&made)["s2"]["issue_ids"], from("s1", "[.items[] | select(.paid == true) | .id]"));
    assert!(open(&made).iter().all(|id| !id.starts_with("source:")), "{:?}", open(&made));
    // All of them, be it that one of the two writes the numbers with a point, need no question.
    let all = json!({"hours": 1, "issue_ids": [311.0, 312.0, 313.0, 314.0]});
    let made = listed(people(), ("addWorklog", all)).await.made(&[]).await;
    assert!(open(&made).iter().all(|id| !id.starts_with("source:")), "{:?}", open(&made));
    assert_eq!(steps(&made)["s2"]["issue_ids"]["$from"]["jq"], ".items[].id");
}

#[tokio::test]
async fn some_names_of_a_list_in_one_argument_are_asked() {
    let id = "source:s2/labels";
    let tale = listed(people(), ("createIssue", json!({"title": "Party", "labels": ["Bob", "Dan"]}))).await;
    let made = tale.made(&[]).await;
    assert_eq!(
        (open(&made), words(&made, id)),
        (vec![id], vec!["@1{[.items[] | select(.paid == false) | .name]}", "always"])
    );
    let tale = listed(people(), ("createIssue", json!({"title": "Party", "labels": ["Ann", "Dan"]}))).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), words(&made, id)), (vec![id], vec!["always"]));
    let asks = ask(&made);
    assert!(asks.contains("they are 2 of the 4 of `[.items[].name]` of @1") && asks.contains("`@N{JQ}`"), "{asks}");
    assert!(open(&answered(&tale, &[], &[(id, "always")]).await).is_empty());
}
