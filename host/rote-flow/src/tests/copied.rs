//! What of a write stands in an earlier answer under another name, or in another way of writing, is a question.

use serde_json::{Value, json};

use super::support::wish;
use super::tale::{Tale, from, open, steps};
use crate::CrystallizeRequest;

/// An order that was asked for by its id, and a list of bills, and a write.
async fn told(tool: &str, sent: Value) -> Tale {
    let mut tale = Tale::new();
    let order = json!({"id": 5001, "ref": "SO-5001", "buyer": "Mara Lind", "total": 120, "price": 49.9, "carrier": "DHL",
        "lines": 7, "region": "eu-west-1", "phone": "+49 30 1234", "page": "https://a.example/o/5001",
        "pickup": "PK-99412", "state": "paid", "status": "In Progress", "at": "2026-11-24T09:00:00Z"});
    tale.call("getIssue", json!({"issue_id": 5001}), order).await;
    let bill = |id: &str, due: u64, who: &str| json!({"id": id, "due": due, "who": who, "kind": "Late"});
    let bills = [bill("in_7", 310, "Bo Ek"), bill("in_8", 75, "Cy Dahl"), bill("in_9", 11, "Ann Roe")];
    tale.call("searchContacts", json!({"q": "late"}), json!({"items": bills})).await;
    tale.call(tool, sent, json!({"id": 1})).await;
    tale
}

fn comment(body: &str) -> (&'static str, Value) {
    ("addComment", json!({"issue_id": 5001, "body": body}))
}

#[tokio::test]
async fn what_an_answer_has_under_another_name_is_asked() {
    for (sent, jq) in [
        (json!({"amount": 120}), Some(".total")),
        (json!({"amount": 49.9}), Some(".price")),
        (json!({"customer": "Mara Lind"}), Some(".buyer")),
        (json!({"title": "PK-99412"}), Some(".pickup")),
        (json!({"customer": "eu-west-1"}), Some(".region")),
        (json!({"amount": 7}), None),
        (json!({"customer": "paid"}), None),
        (json!({"amount": 5001}), None),
        (json!({"amount": 310}), None),
    ] {
        let tale = told("createIssue", sent.clone()).await;
        let name = sent.as_object().unwrap().keys().next().unwrap().clone();
        let id = format!("source:s3/{name}");
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), if jq.is_some() { vec![&*id] } else { vec![] }, "{sent}");
        if let Some(jq) = jq {
            let made = tale.answered_with(&[(&id, &format!("@1{{{jq}}}"))]).await.unwrap();
            assert_eq!(steps(&made)["s3"][&name], from("s1", jq), "{sent}");
        }
    }
}

#[tokio::test]
async fn a_part_of_a_text_that_an_answer_has_is_asked() {
    for (body, jq) in [
        ("Pickup code PK-99412", ".pickup"),
        ("Pay 120 EUR", ".total"),
        ("It costs 49.9", ".price"),
        ("For Mara Lind", ".buyer"),
        ("Sent by DHL", ".carrier"),
        ("In eu-west-1 now", ".region"),
        ("Call +49 30 1234", ".phone"),
        ("See https://a.example/o/5001 for it", ".page"),
        ("Ready on 2026-11-24", ".at | .[0:10]"),
    ] {
        let tale = told(comment(body).0, comment(body).1).await;
        let id = "source:s3/body";
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), [id], "{body}");
        let made = tale.answered_with(&[(id, "taken")]).await.unwrap();
        let parts = steps(&made)["s3"]["body"]["$text"].clone();
        assert!(parts.as_array().unwrap().contains(&from("s1", jq)), "{body}: {parts}");
    }
    for body in ["It is paid", "Take 7 of them", "Late again", "Order 5001"] {
        let made = told(comment(body).0, comment(body).1).await.made(&[]).await;
        assert_eq!(open(&made), Vec::<&str>::new(), "{body}");
    }
}

#[tokio::test]
async fn a_number_that_is_written_in_another_way_is_asked_and_written_so_again() {
    for (body, way) in [("Pay 120.00 EUR", true), ("It costs 49.90", true), ("Pay 120.0 EUR", false)] {
        let tale = told(comment(body).0, comment(body).1).await;
        let made = tale.made(&[]).await;
        let words: Vec<&str> = made.report.questions[0].answers.iter().map(|answer| answer.word.as_str()).collect();
        let wanted = if way { vec!["taken", "always"] } else { vec!["always"] };
        assert_eq!((open(&made), words), (vec!["source:s3/body"], wanted), "{body}");
        if way {
            // The flow is replayed before it is written: the program gives the text that was sent.
            let made = tale.answered_with(&[("source:s3/body", "taken")]).await.unwrap();
            assert!(open(&made).iter().all(|id| !id.starts_with("source")), "{:?}", open(&made));
        }
    }
}

#[tokio::test]
async fn an_amount_of_the_thing_that_is_written_is_its_own() {
    let sent = json!({"contact_id": "in_8", "plan": "75"});
    let tale = told("updateContact", sent).await;
    let made = tale.made(&[]).await;
    assert!(open(&made).contains(&"source:s3/plan"), "{:?}", open(&made));
    let tale = told("addComment", json!({"issue_id": "in_8", "body": "Cy Dahl, please pay 75 EUR"})).await;
    let made = tale.made(&[]).await;
    let question = made.report.questions.iter().find(|question| question.id.to_string() == "source:s3/body").unwrap();
    assert!(question.ask.contains("`75`, which is `.items[1].due` of @2"), "{}", question.ask);
}

#[tokio::test]
async fn a_list_that_a_thing_has_is_asked_where_it_is_sent_the_same_or_changed() {
    let issue = |id: u64, labels: &[&str]| json!({"id": id, "points": id % 2, "labels": labels});
    let listed = json!({"items": [issue(40, &["web"]), issue(41, &["bug", "ui"]), issue(42, &["web"])]});
    let update = |labels: Value| ("updateIssue", json!({"issue_id": 41, "labels": labels}));
    let create = |labels: Value| ("createIssue", json!({"title": "Copy", "labels": labels}));
    let added = " | . + ([\"stale\"] - .)";
    let query = ".items[] | select(.points == 1) | {id, labels}";
    let called = |name: &str| json!({"id": name.len(), "name": name});
    let named = json!({"id": 41, "labels": [called("bug"), called("wontfix"), called("urgent")]});
    let names = "[.labels[].name]";
    for (read, query, (tool, sent), wanted) in [
        // Answered as objects, sent by their names.
        (named.clone(), None, update(json!(["bug", "urgent"])), Some(format!("{names} - [\"wontfix\"]"))),
        (named.clone(), Some(names), update(json!(["bug", "urgent"])), Some(format!("{names} - [\"wontfix\"]"))),
        (
            named.clone(),
            Some(names),
            update(json!(["bug", "wontfix", "urgent", "stale"])),
            Some(format!("{names}{added}")),
        ),
        (
            named.clone(),
            Some(names),
            update(json!(["other"])),
            Some(format!("{names} | . - [\"bug\",\"wontfix\",\"urgent\"] | . + ([\"other\"] - .)")),
        ),
        (named.clone(), Some(names), create(json!(["other"])), None),
        (
            json!({"items": [named.clone(), issue(40, &["web"])]}),
            None,
            update(json!(["bug", "urgent"])),
            Some(String::new()),
        ),
        (issue(41, &["bug", "ui"]), None, create(json!(["bug", "ui"])), Some(".labels".to_owned())),
        (issue(41, &["bug", "ui"]), None, update(json!(["bug", "ui", "stale"])), Some(format!(".labels{added}"))),
        (listed.clone(), Some(query), update(json!(["bug", "ui", "stale"])), Some(format!("{query} | .labels{added}"))),
        // Which thing of the list it is, nothing says.
        (listed.clone(), None, update(json!(["bug", "ui", "stale"])), Some(String::new())),
        (listed.clone(), None, update(json!(["other"])), Some(String::new())),
        (listed.clone(), None, create(json!(["other"])), None),
    ] {
        let mut tale = Tale::new();
        let of_one =
            if read.get("items").is_some() { ("listIssues", json!({})) } else { ("getIssue", json!({"issue_id": 41})) };
        tale.call(of_one.0, of_one.1, read).await;
        query.iter().for_each(|query| tale.query(1, query));
        tale.call(tool, sent, json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        let question = made.report.questions.iter().find(|question| question.id.to_string() == "source:s2/labels");
        let words =
            question.map(|question| question.answers.iter().map(|answer| answer.word.clone()).collect::<Vec<_>>());
        let expected = wanted.map(|jq| match jq.as_str() {
            "" => vec!["always".to_owned()],
            jq => vec![format!("@1{{{jq}}}"), "always".to_owned()],
        });
        assert_eq!(words, expected);
    }
}

#[tokio::test]
async fn a_number_of_the_thing_that_the_rest_is_of_is_asked_under_its_name_however_short_it_is() {
    for (total, sent, asked) in [
        (5, json!({"amount": 5, "customer": "Mara Lind"}), vec!["source:s2/amount", "source:s2/customer"]),
        (1, json!({"amount": 1, "customer": "Mara Lind"}), vec!["source:s2/amount", "source:s2/customer"]),
        (5, json!({"estimate": 5, "customer": "Mara Lind"}), vec!["source:s2/customer"]),
        (5, json!({"amount": 5}), vec![]),
    ] {
        let mut tale = Tale::new();
        let order = json!({"id": 51, "buyer": "Mara Lind", "lines": [{"quantity": total}], "total": total});
        tale.call("getIssue", json!({"issue_id": 51}), order).await;
        tale.call("createIssue", sent.clone(), json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), asked, "{total} {sent}");
        if asked.len() > 1 {
            assert_eq!(made.report.questions[0].answers[0].word, "@1{.total}");
        }
    }
}

#[tokio::test]
async fn short_words_of_the_thing_that_a_text_is_written_to_are_asked() {
    let issue = json!({"id": 4107, "title": "Leak", "priority": "normal", "assignee": "zed"});
    for (text, asked) in [
        ("Priority was normal, is high now (zed)", vec!["normal", "zed"]),
        ("Leak is closed", vec!["Leak"]),
        ("This is normal", vec![]),
    ] {
        let mut tale = Tale::new();
        tale.call("getIssue", json!({"issue_id": 4107}), issue.clone()).await;
        tale.call("addComment", json!({"issue_id": 4107, "body": text}), json!({"id": 1})).await;
        for params in [&[][..], &[("issue_id", Some("4107"))]] {
            let request = CrystallizeRequest { force: true, ..wish(params) };
            let made = tale.wish(&request).await.unwrap();
            let evidence = made.report.questions.iter().flat_map(|question| &question.evidence);
            let parts: Vec<&str> = evidence.filter_map(|one| one.value.as_str()).collect();
            assert_eq!(parts, asked, "{text} {params:?}");
        }
    }
}
