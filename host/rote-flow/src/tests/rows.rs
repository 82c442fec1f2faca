//! Things that were done one by one in several calls, of which later ones use the answers of earlier ones.

use serde_json::{Value, json};

use super::tale::{Tale, notes, open, steps};
use crate::Crystallized;

const OWNERS: [&str; 3] = ["Ada", "Bob", "Cy"];

/// A tracker whose three issues are read one by one.
async fn listed(states: [&str; 3]) -> Tale {
    let mut tale = Tale::new();
    let item = |at: usize| json!({"id": 41 + at, "title": format!("T{at}"), "state": states[at]});
    let items: Vec<Value> = (0..3).map(item).collect();
    tale.call("listIssues", json!({"project": "atlas"}), json!({"items": items})).await;
    tale
}

/// Reads an issue of the list; returns the number of the answer.
async fn read(tale: &mut Tale, at: usize) -> u64 {
    let issue = json!({"issue_id": format!("@1{{.items[{at}].id}}")});
    tale.call("getIssue", issue, json!({"id": 41 + at, "owner": {"name": OWNERS[at]}, "mail": format!("{at}@x")})).await
}

fn each(made: &Crystallized, step: &str) -> Value {
    let step = made.plan.steps.iter().find(|one| one.id == step).unwrap();
    step.for_each.as_ref().map_or(Value::Null, |items| serde_json::to_value(items).unwrap()["$from"].clone())
}

fn ids(made: &Crystallized) -> Vec<&str> {
    made.plan.steps.iter().map(|step| step.id.as_str()).collect()
}

#[tokio::test]
async fn what_was_read_of_each_is_used_for_each() {
    let mut tale = listed(["open"; 3]).await;
    for at in 0..3 {
        let read = read(&mut tale, at).await;
        let arguments = json!({"issue_id": format!("@{read}{{.id}}"), "body": format!("@{read}{{.owner.name}}, see")});
        tale.call("addComment", arguments, json!({"id": 900 + at})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!((ids(&made), open(&made)), (vec!["s1", "s2", "s3"], vec![]));
    assert_eq!(each(&made, "s2")["jq"], ".items[]");
    assert_eq!(each(&made, "s3"), json!({"step": "s2", "jq": "."}));
    let wanted = json!({"issue_id": {"$item": ".id"}, "body": {"$text": [{"$item": ".owner.name"}, ", see"]}});
    assert_eq!(steps(&made)["s3"], wanted);
    assert!(notes(&made).contains(&"s3, s5, s7 are made for each of them, too, as s3"), "{:?}", notes(&made));
    let straight = tale.answered_with(&[("loop:s2", "no")]).await.unwrap();
    assert_eq!(straight.plan.steps.len(), 7);
}

#[tokio::test]
async fn an_item_and_what_was_read_of_it_stand_side_by_side() {
    for (states, filter) in [(["open"; 3], ""), (["open", "done", "open"], " | select(.state == \"open\")")] {
        let mut tale = listed(states).await;
        for at in (0..3).filter(|at| states[*at] == "open") {
            let read = read(&mut tale, at).await;
            let arguments = json!({"issue_id": format!("@1{{.items[{at}].id}}"),
                "body": format!("@{read}{{.owner.name}} @{read}{{.mail}}")});
            tale.call("addComment", arguments, json!({"id": 900 + at})).await;
        }
        let answers: &[(&str, &str)] = if filter.is_empty() { &[] } else { &[("loop:s2", "filter")] };
        let made = tale.answered_with(answers).await.unwrap();
        assert_eq!((ids(&made), open(&made)), (vec!["s1", "s2", "s3"], vec![]));
        let answer = |jq: &str| json!({"$from": {"step": "s2", "jq": jq}});
        let items = format!("[.items[]{filter}] as $items | range($items | length) as $at");
        let jq = format!("{items} | {{s2_1: $s2_1[$at], s2_2: $s2_2[$at], item: $items[$at]}}");
        let with = json!({"s2_1": answer(".owner.name"), "s2_2": answer(".mail")});
        assert_eq!(each(&made, "s3"), json!({"step": "s1", "jq": jq, "each": true, "with": with}));
        let body = json!({"$text": [{"$item": ".s2_1"}, " ", {"$item": ".s2_2"}]});
        assert_eq!(steps(&made)["s3"], json!({"issue_id": {"$item": ".item.id"}, "body": body}));
    }
}

#[tokio::test]
async fn what_was_made_for_each_is_gone_on_with() {
    let mut tale = listed(["open"; 3]).await;
    for at in 0..3 {
        let title = json!({"title": format!("@1{{.items[{at}].title}}")});
        let new = tale.call("createIssue", title, json!({"id": 70 + at})).await;
        let comment = json!({"issue_id": format!("@{new}{{.id}}"), "body": "Copied"});
        let comment = tale.call("addComment", comment, json!({"id": 900 + at})).await;
        let both = json!({"issue_id": format!("@{new}{{.id}}"), "labels": [format!("@{comment}{{.id}}"), format!("@1{{.items[{at}].state}}")]});
        tale.call("updateIssue", both, json!({"id": 70 + at})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!((ids(&made), open(&made)), (vec!["s1", "s2", "s3", "s4"], vec![]));
    assert_eq!(steps(&made)["s3"], json!({"issue_id": {"$item": ".id"}, "body": "Copied"}));
    let labels = json!([{"$item": ".s3"}, {"$item": ".item.state"}]);
    assert_eq!(steps(&made)["s4"], json!({"issue_id": {"$item": ".s2"}, "labels": labels}));
    assert!(made.plan.steps[1..].iter().all(|step| step.max_concurrency == Some(1)));
}

#[tokio::test]
async fn a_look_at_one_of_them_that_nothing_uses_falls_out() {
    let mut tale = listed(["open"; 3]).await;
    for at in 0..3 {
        let title = json!({"title": format!("@1{{.items[{at}].title}}")});
        let new = tale.call("createIssue", title, json!({"id": 70 + at})).await;
        if at == 1 {
            tale.call("getIssue", json!({"issue_id": format!("@{new}{{.id}}")}), json!({"id": 70 + at})).await;
        }
        let comment = json!({"issue_id": format!("@{new}{{.id}}"), "body": "Copied"});
        tale.call("addComment", comment, json!({"id": 900 + at})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!((ids(&made), open(&made)), (vec!["s1", "s2", "s3"], vec![]));
    assert!(made.report.dropped.iter().any(|one| one.reason == "nothing that stays uses it"));
}

#[tokio::test]
async fn what_was_started_for_each_is_waited_for() {
    for together in [false, true] {
        let mut tale = listed(["open"; 3]).await;
        let mut new = Vec::new();
        let (mut starts, mut rest) = (0..3).partition::<Vec<usize>, _>(|_| together);
        while let Some(at) = if starts.is_empty() { None } else { Some(starts.remove(0)) } {
            new.push(started(&mut tale, at).await);
            rest.push(at);
        }
        for at in rest {
            let number = if together { new[at] } else { started(&mut tale, at).await };
            let mut last = 0;
            for state in &["creating", "creating", "ready"][at.min(1)..] {
                let body = json!({"id": 70 + at, "status": state, "url": format!("u{at}")});
                last = tale.call("getIssue", json!({"issue_id": format!("@{number}{{.id}}")}), body).await;
            }
            let comment = json!({"issue_id": format!("@{number}{{.id}}"), "body": format!("@{last}{{.url}}")});
            tale.call("addComment", comment, json!({"id": 900 + at})).await;
        }
        let made = tale.made(&[]).await;
        let [_, _, poll, write] = made.plan.steps.as_slice() else { panic!("{:?}", ids(&made)) };
        assert_eq!(open(&made), [format!("when:{}", poll.id)]);
        assert_eq!(poll.until.as_ref().unwrap().jq, ".status == \"ready\"");
        assert!(poll.for_each.is_some() && write.for_each.is_some() && write.until.is_none());
        let made = tale.answered_with(&[(&format!("when:{}", poll.id), "wait")]).await.unwrap();
        assert!(open(&made).is_empty(), "{:?}", open(&made));
    }
}

async fn started(tale: &mut Tale, at: usize) -> u64 {
    let title = json!({"title": format!("@1{{.items[{at}].title}}")});
    tale.call("createIssue", title, json!({"id": 70 + at})).await
}

#[tokio::test]
async fn what_uses_several_of_them_or_differs_stays_as_it_was_done() {
    let mut tale = listed(["open"; 3]).await;
    let mut reads = Vec::new();
    for at in 0..3 {
        reads.push(read(&mut tale, at).await);
    }
    let all: Vec<String> = reads.iter().map(|read| format!("@{read}{{.owner.name}}")).collect();
    tale.call("createIssue", json!({"title": all.join(" and ")}), json!({"id": 9})).await;
    assert_eq!(ids(&tale.made(&[]).await).len(), 5);

    let mut tale = listed(["open"; 3]).await;
    for (at, member) in [".owner.name", ".owner.name", ".mail"].into_iter().enumerate() {
        let read = read(&mut tale, at).await;
        let arguments = json!({"issue_id": format!("@{read}{{.id}}"), "body": format!("@{read}{{{member}}}")});
        tale.call("addComment", arguments, json!({"id": 900 + at})).await;
    }
    assert_eq!(ids(&tale.made(&[]).await).len(), 7);
}
