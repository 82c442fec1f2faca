//! What was taken of a list of bare texts is asked as what was taken of a list of things is.

use serde_json::{Value, json};

use super::support::wish;
use super::tale::{Tale, from, open, steps};
use crate::{CrystallizeRequest, Crystallized};

/// Members of a thing, of whom some were looked up, and each of them written to.
async fn told(members: &[&str], typed: &[Value]) -> Tale {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 41}), json!({"id": 41, "members": members})).await;
    for (at, user) in typed.iter().enumerate() {
        let name = ["Ann", "Bob", "Cyrus"][at];
        let read = tale.call("userInfo", json!({"user": user}), json!({"user": {"name": name}})).await;
        let hello = format!("Hi @{read}{{.user.name}}");
        tale.call("createIssue", json!({"title": hello, "issue": 7}), json!({"id": 50 + at})).await;
    }
    tale
}

fn words(made: &Crystallized) -> Vec<&str> {
    made.report.questions[0].answers.iter().map(|answer| answer.word.as_str()).collect()
}

const IDS: [&str; 2] = ["U04ANN11", "U04BOB22"];

#[tokio::test]
async fn an_id_of_a_list_of_texts_that_was_typed_into_a_read_is_asked() {
    let tale = told(&IDS, &[json!(IDS[1])]).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), words(&made)), (vec!["source:s2/user"], vec!["@1{.members[1]}", "always"]));
    let made = tale.answered_with(&[("source:s2/user", "@1{.members[1]}")]).await.unwrap();
    assert_eq!((steps(&made)["s2"]["user"].clone(), open(&made)), (from("s1", ".members[1]"), vec![]));
    let made = tale.answered_with(&[("source:s2/user", "always")]).await.unwrap();
    assert_eq!((steps(&made)["s2"]["user"].clone(), open(&made)), (json!(IDS[1]), vec![]));
    // A word that a person says is one; so is what was said before.
    assert_eq!(open(&told(&["ann", "bob"], &[json!("bob")]).await.made(&[]).await), [""; 0]);
}

#[tokio::test]
async fn all_texts_of_a_list_that_were_typed_are_a_loop() {
    for members in [IDS, ["ann", "bob"]] {
        let tale = told(&members, &members.map(|one| json!(one))).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), ["source:s2/user", "source:s4/user"], "{members:?}");
        let answers = [("source:s2/user", "@1{.members[0]}"), ("source:s4/user", "@1{.members[1]}")];
        let made = tale.answered_with(&answers).await.unwrap();
        assert_eq!((open(&made), made.plan.steps.len()), (vec![], 3), "{}", steps(&made));
        assert_eq!(steps(&made)["s2"]["user"], json!({"$item": "."}));
    }
}

#[tokio::test]
async fn the_place_of_a_text_in_a_list_is_asked() {
    for (place, at) in [(".members[0]", 0), (".members[1]", 1), (".members[-1]", 2), (".members[-2]", 1)] {
        let members = ["ann", "bob", "cyrus"];
        let tale = told(&members, &[json!(format!("@1{{{place}}}"))]).await;
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), words(&made)), (vec!["pick:s2/user"], vec!["position", "always", "skip"]), "{place}");
        for (word, user) in [("position", from("s1", place)), ("always", json!(members[at]))] {
            let made = tale.answered_with(&[("pick:s2/user", word)]).await.unwrap();
            assert_eq!((steps(&made)["s2"]["user"].clone(), open(&made)), (user, vec![]), "{place} {word}");
        }
        let request = CrystallizeRequest { force: true, ..wish(&[("who", Some(members[at]))]) };
        let made = tale.wish(&request).await.unwrap();
        assert_eq!((open(&made), words(&made)[1]), (vec!["pick:s2/user"], "parameter:who"));
        let answers = [("pick:s2/user".to_owned(), "parameter:who".to_owned())].into();
        let request = CrystallizeRequest { answers, ..request };
        let made = tale.wish(&request).await.unwrap();
        assert_eq!((steps(&made)["s2"]["user"].clone(), open(&made)), (json!({"$param": "who"}), vec![]));
    }
}

#[tokio::test]
async fn texts_that_were_taken_one_after_the_other_are_a_loop_and_a_query_says_which_is_meant() {
    let tale = told(&["ann", "bob"], &[json!("@1{.members[0]}"), json!("@1{.members[1]}")]).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), steps(&made)["s2"]["user"].clone()), (vec![], json!({"$item": "."})));
    let tale = told(&["ann", "bob", "cyrus"], &[json!("@1{.members[1]}")]).await;
    tale.query(1, ".members");
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["pick:s2/user"]);
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 41}), json!({"id": 41, "members": ["ann", "bob"]})).await;
    tale.query(1, ".members[] | select(startswith(\"b\"))");
    tale.call("createIssue", json!({"title": "@1{.members[1]}"}), json!({"id": 50})).await;
    let made = tale.made(&[]).await;
    let chosen = from("s1", ".members[] | select(startswith(\"b\"))");
    assert_eq!((steps(&made)["s2"]["title"].clone(), open(&made)), (chosen, vec![]));
}

#[tokio::test]
async fn the_only_text_of_a_list_is_the_only_one_and_numbers_have_their_places() {
    let tale = told(&["ann"], &[json!("@1{.members[0]}")]).await;
    let made = tale.made(&[]).await;
    assert_eq!((steps(&made)["s2"]["user"].clone(), open(&made)), (from("s1", ".members[]"), vec![]));
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 41}), json!({"id": 41, "at": [52.5, 13.4]})).await;
    tale.call("createIssue", json!({"title": "Here", "amount": "@1{.at[1]}"}), json!({"id": 50})).await;
    let made = tale.made(&[]).await;
    assert_eq!((steps(&made)["s2"]["amount"].clone(), open(&made)), (from("s1", ".at[1]"), vec![]));
}

#[tokio::test]
async fn the_last_of_a_list_of_things_is_a_place_too() {
    for things in [
        json!([{"number": 4, "title": "Slow"}, {"number": 9, "title": "Crash"}]),
        json!([{"title": "Slow", "due": 4}, {"title": "Crash", "due": 9}]),
    ] {
        let field = if things[0].get("number").is_some() { "number" } else { "due" };
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "web"}), things).await;
        tale.call("createIssue", json!({"title": "Next", "amount": format!("@1{{.[-1].{field}}}")}), json!({"id": 50}))
            .await;
        let made = tale.made(&[]).await;
        let by_title = format!("@1{{.[] | select(.title == \"Crash\") | .{field}}}");
        assert_eq!((open(&made), words(&made)), (vec!["pick:s2/amount"], vec!["position", &*by_title, "skip"]));
        let made = tale.answered_with(&[("pick:s2/amount", &by_title)]).await.unwrap();
        assert_eq!(open(&made), [""; 0]);
    }
}
