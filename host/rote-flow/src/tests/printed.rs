//! Values of writes that are what a query printed: asked, with its program as the first answer.

use serde_json::{Value, json};

use super::reckoned::words;
use super::tale::{Tale, from, open, steps};
use crate::CrystallizeRequest;
use crate::tests::support::wish;

/// Reads an issue, queries it, and makes one with these arguments.
async fn told(issue: Value, program: &str, sent: &Value) -> Tale {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 41}), issue).await;
    tale.query(1, program);
    tale.call("createIssue", sent.clone(), json!({"id": 50})).await;
    tale
}

#[tokio::test]
async fn what_a_query_printed_whole_is_asked_whatever_it_is_sent_as() {
    let items = json!([{"sku": "MUG", "qty": 2, "price": 4}, {"sku": "TEE", "qty": 1, "price": 5}]);
    let issue = json!({"id": 41, "total": 50.5, "items": items, "state": "open", "points": 5});
    for (program, sent, pointer) in [
        (".total", json!({"amount": 50.5}), "/amount"),
        (".points", json!({"estimate": 5}), "/estimate"),
        (".points + 1000", json!({"estimate": 1005}), "/estimate"),
        (".state", json!({"text": "open"}), "/text"),
        ("[.items[].sku] | join(\", \")", json!({"text": "MUG, TEE"}), "/text"),
        (".items | map({sku, qty})", json!({"text": [{"sku": "MUG", "qty": 2}, {"sku": "TEE", "qty": 1}]}), "/text"),
        (".items[0] | {sku, qty}", json!({"text": {"line": {"sku": "MUG", "qty": 2}}}), "/text/line"),
        ("[.items[0].sku]", json!({"text": {"skus": ["MUG"]}}), "/text/skus"),
    ] {
        let tale = told(issue.clone(), program, &sent).await;
        let made = tale.made(&[]).await;
        let id = format!("source:s2{pointer}");
        assert_eq!(open(&made), [&*id], "{program}");
        let word = made.report.questions[0].answers[0].word.clone();
        assert_eq!(word, format!("@1{{{program}}}"));
        let made = tale.answered_with(&[(&id, &word)]).await.unwrap();
        let linked = json!({"$from": {"step": "s1", "jq": program}});
        assert_eq!((steps(&made)["s2"].pointer(pointer), open(&made)), (Some(&linked), vec![]), "{program}");
        let made = tale.answered_with(&[(&id, "always")]).await.unwrap();
        assert_eq!((steps(&made)["s2"].clone(), open(&made)), (sent, vec![]), "{program}");
    }
}

#[tokio::test]
async fn what_the_person_typed_first_or_says_nothing_is_not_asked() {
    for (program, sent) in [
        (".n", json!({"estimate": 1})),
        (".done", json!({"text": true})),
        (".none", json!({"text": ""})),
        (".labels", json!({"labels": []})),
        ("select(.state == \"open\") | .state", json!({"text": "open"})),
    ] {
        let issue = json!({"id": 41, "n": 1, "done": true, "none": "", "labels": [], "state": "open"});
        let made = told(issue, program, &sent).await.made(&[]).await;
        assert_eq!(open(&made), [""; 0], "{program}");
    }
    let mut tale = Tale::new();
    let issue = json!({"title": "Move", "estimate": 8, "labels": ["a", "b"]});
    tale.call("createIssue", issue.clone(), issue.clone()).await;
    for program in [".title", ".estimate", ".labels"] {
        tale.query(1, program);
    }
    tale.call("createIssue", issue.clone(), issue).await;
    assert_eq!(open(&tale.made(&[]).await), [""; 0]);
}

#[tokio::test]
async fn what_a_query_printed_is_asked_in_a_text_and_so_are_bare_ids() {
    let orders = json!({"items": [{"id": 5001, "sku": "MUG"}, {"id": 5003, "sku": "TEE"}]});
    for (program, text, taken) in [
        (
            "[.items[].sku] | join(\", \")",
            "Out of stock: MUG, TEE",
            json!(["Out of stock: ", "[.items[].sku] | join(\", \")"]),
        ),
        (".items[1].sku", "Out of stock: TEE.", json!(["Out of stock: ", ".items[1].sku", "."])),
        (".items[].id", "Ship order 5001", json!(["Ship order ", ".items[0].id"])),
        (".", "Ship order 5003", json!(["Ship order ", ".items[1].id"])),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), orders.clone()).await;
        tale.query(1, program);
        tale.call("createIssue", json!({"title": text}), json!({"id": 50})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), ["source:s2/title"], "{text}");
        let made = tale.answered_with(&[("source:s2/title", "taken")]).await.unwrap();
        let text = steps(&made)["s2"]["title"]["$text"].clone();
        let parts = text.as_array().unwrap().iter();
        let parts: Vec<Value> = parts.map(|part| part.pointer("/$from/jq").unwrap_or(part).clone()).collect();
        assert_eq!(Value::from(parts), taken);
    }
}

#[tokio::test]
async fn the_id_of_what_was_made_is_asked_in_a_text_and_that_which_the_person_typed_is_not() {
    let mut tale = Tale::new();
    tale.call(
        "createIssue",
        json!({"customer": 81, "issue": 707}),
        json!({"id": 55, "customer_id": 81, "issue_id": 707}),
    )
    .await;
    tale.call("createIssue", json!({"title": "New order 55 for customer 81"}), json!({"id": 56})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s2/title"]);
    let evidence = &made.report.questions[0].evidence;
    assert_eq!((evidence.len(), &evidence[0].value), (1, &json!("55")));
}

#[tokio::test]
async fn what_a_query_printed_comes_before_the_same_value_of_another_kind() {
    for program in [".[0].id", ".[0] | {id, name}"] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), json!({"items": [{"id": 7, "contact_id": 31}]})).await;
        tale.call("searchContacts", json!({"q": "Ada"}), json!([{"id": 31, "name": "Ada"}])).await;
        tale.query(2, program);
        tale.call("updateContact", json!({"contact_id": 31, "plan": "gold"}), json!({"id": 31})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), ["source:s3/contact_id"], "{program}");
        let words: Vec<&str> = made.report.questions[0].answers.iter().map(|one| one.word.as_str()).collect();
        assert_eq!(words, ["@2{.[0].id}", "@1{.items[0].contact_id}", "always"]);
        let made = tale.answered_with(&[("source:s3/contact_id", words[0])]).await.unwrap();
        let linked = json!({"$from": {"step": "s2", "jq": ".[0].id"}});
        assert_eq!((steps(&made)["s3"]["contact_id"].clone(), open(&made)), (linked, vec![]));
    }
}

#[tokio::test]
async fn a_parameter_does_not_split_what_a_thing_is_called() {
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"q": "Mia"}), json!({"items": [{"id": 4, "name": "Mia Chen"}]})).await;
    tale.call("createIssue", json!({"title": "Hi Mia Chen, welcome"}), json!({"id": 50})).await;
    tale.call("updateContact", json!({"contact_id": 4, "plan": "gold"}), json!({"id": 4})).await;
    let made = tale.made(&[("q", Some("Mia"))]).await;
    assert_eq!(
        (steps(&made)["s2"]["title"].clone(), open(&made)),
        (json!("Hi Mia Chen, welcome"), vec!["source:s2/title", "value:s2/title"])
    );
    let request = |word: &str| CrystallizeRequest {
        answers: [("source:s2/title".to_owned(), word.to_owned())].into(),
        force: true,
        ..wish(&[("q", Some("Mia"))])
    };
    let made = tale.wish(&request("taken")).await.unwrap();
    let name = json!({"$from": {"step": "s1", "jq": ".items[] | .name"}});
    assert_eq!(steps(&made)["s2"]["title"], json!({"$text": ["Hi ", name, ", welcome"]}));
    let made = tale.wish(&request("always")).await.unwrap();
    assert_eq!(steps(&made)["s2"]["title"], json!({"$text": ["Hi ", {"$param": "q"}, " Chen, welcome"]}));
}

#[tokio::test]
async fn a_list_that_is_sent_back_with_more_or_less_is_asked() {
    for (had, sent, jq) in [
        (json!(["bug"]), json!(["bug", "ui"]), Some(".items[].labels | . + ([\"ui\"] - .)")),
        (json!(["bug", "ui"]), json!(["bug"]), Some(".items[].labels - [\"ui\"]")),
        (json!(["bug"]), json!(["ui"]), Some(".items[].labels | . - [\"bug\"] | . + ([\"ui\"] - .)")),
        (json!([]), json!(["ui"]), Some(".items[].labels | . + ([\"ui\"] - .)")),
        (json!([]), json!([]), None),
        (json!(["bug"]), json!([7]), None),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), json!({"items": [{"id": 7, "labels": had}]})).await;
        tale.call("updateIssue", json!({"issue_id": 7, "labels": sent}), json!({"id": 7})).await;
        let made = tale.made(&[]).await;
        let Some(jq) = jq else {
            assert_eq!(open(&made), [""; 0], "{sent}");
            continue;
        };
        assert_eq!(open(&made), ["source:s2/labels"], "{sent}");
        let word = made.report.questions[0].answers[0].word.clone();
        assert_eq!(word, format!("@1{{{jq}}}"));
        let made = tale.answered_with(&[("source:s2/labels", &word)]).await.unwrap();
        assert_eq!(steps(&made)["s2"]["labels"], json!({"$from": {"step": "s1", "jq": jq}}));
    }
}

#[tokio::test]
async fn what_the_one_thing_that_was_read_has_under_the_same_name_is_asked() {
    for (project, items, asked) in [
        ("x", json!([{"id": 7, "sprint": "EUR", "estimate": 5}]), vec!["source:s2/estimate", "source:s2/sprint"]),
        ("x", json!([{"id": 7, "sprint": "EUR", "estimate": 5}, {"id": 8}]), vec![]),
        ("EUR", json!([{"id": 7, "sprint": "EUR"}]), vec![]),
        ("x", json!([{"id": 7, "project": "atlas"}]), vec![]),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": project}), json!({"items": items})).await;
        tale.call("createIssue", json!({"sprint": "EUR", "estimate": 5, "project": "atlas"}), json!({"id": 50})).await;
        let made = tale.made(&[]).await;
        let mut found = open(&made);
        found.sort_unstable();
        assert_eq!(found, asked);
    }
}

#[tokio::test]
async fn a_count_is_how_many_things_a_query_printed() {
    let items = json!([{"id": 4101, "n": 5, "word": "a"}, {"id": 4102, "n": 1, "word": "b"}, {"id": 4103, "n": 7, "word": "c"}]);
    for (program, sent, word) in [
        (
            ".items[] | select(.n > 3) | .id",
            json!({"amount_count": 2}),
            "@1{[.items[] | select(.n > 3) | .id] | length}",
        ),
        ("[.items[] | .n]", json!({"total": 3}), "@1{[.items[] | .n] | length}"),
        ("[.items[].word]|join(\", \")", json!({"count": 3}), "@1{[.items[].word] | length}"),
    ] {
        let tale = told(json!({"items": items}), program, &json!({"text": sent})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made).len(), 1, "{program}");
        assert_eq!(made.report.questions[0].answers[0].word, word);
    }
    let tale = told(json!({"items": items}), ".items[] | select(.n > 3) | .id", &json!({"estimate": 2})).await;
    assert_eq!(open(&tale.made(&[]).await), [""; 0]);
}

#[tokio::test]
async fn a_count_beside_a_list_of_the_thing_is_how_many_that_has() {
    for (sent, asked) in [
        (json!({"labels": ["ab", "cd"], "text": {"count": 2}}), true),
        (json!({"labels": ["ab", "cd"], "text": {"count": 3}}), false),
        (json!({"labels": ["ab", "cd"], "text": {"weeks": 2}}), false),
    ] {
        let mut tale = Tale::new();
        tale.call("getIssue", json!({"issue_id": 41}), json!({"id": 41, "labels": ["ab", "cd"]})).await;
        tale.call("createIssue", sent.clone(), json!({"id": 50})).await;
        let made = tale.made(&[]).await;
        let count = made.report.questions.iter().find(|one| one.id.to_string() == "source:s2/text/count");
        let words = count.map(|one| one.answers[0].word.as_str());
        assert_eq!(words, asked.then_some("@1{.labels | length}"), "{sent}");
    }
}

#[tokio::test]
async fn a_list_that_a_query_printed_is_asked_however_it_is_written() {
    let people = json!({"items": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}, {"id": 3, "name": "Cy"}]});
    for (program, text, tail) in [
        ("[.items[].name]", "Invited: Ada, Bob, Cy", "join(\", \")"),
        (".items[].name", "Invited: Ada, Bob and Cy today", "else join(\", \") end"),
        (".items[].name", "Ada,Bob,Cy", "join(\",\")"),
        ("[.items[] | select(.id != 2) | .name]", "With Ada and Cy.", "else join(\", \") end"),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), people.clone()).await;
        tale.query(1, program);
        tale.call("createIssue", json!({"title": text}), json!({"id": 50})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), ["source:s2/title"], "{text}");
        let word = made.report.questions[0].answers[0].word.clone();
        let made = tale.answered_with(&[("source:s2/title", &word)]).await.unwrap();
        assert!(steps(&made)["s2"]["title"].to_string().contains(&tail.replace('"', "\\\"")), "{text}: {made:?}");
    }
    // Where the person has said them all, or wrote something else, the query is not offered; they are some of the list.
    for (program, text) in [("[.items[].name]", "Invited: Ada, Cy"), ("[\"Ada\", \"Bob\"]", "Invited: Ada, Bob")] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), people.clone()).await;
        tale.query(1, program);
        tale.call("createIssue", json!({"title": text}), json!({"id": 50})).await;
        let made = tale.made(&[]).await;
        let words: Vec<&str> = made.report.questions[0].answers.iter().map(|answer| answer.word.as_str()).collect();
        assert_eq!((open(&made), words), (vec!["source:s2/title"], vec!["always"]), "{text}");
    }
}

#[tokio::test]
async fn what_a_query_printed_but_for_its_rounding_is_asked() {
    for (amount, program, sent, taken) in [
        (json!(12500), ".amount * 1.1", json!(13750), Some("(.amount * 1.1) * 100000000 | round / 100000000")),
        (json!(100), ".amount / 3", json!(33.33), Some("(.amount / 3) * 100 | round / 100")),
        (json!(3704), ".amount / 3", json!(1235), Some("(.amount / 3) | round")),
        (json!(25), ".amount / 2", json!(13), None),
        (json!(100), ".amount / 3", json!(33.34), None),
    ] {
        let mut tale = Tale::new();
        tale.call("getIssue", json!({"issue_id": 41}), json!({"id": 41, "amount": amount})).await;
        tale.query(1, program);
        tale.call("addWorklog", json!({"issue_key": "@1{.id}", "hours": sent}), json!({"id": 41})).await;
        let made = tale.made(&[]).await;
        let id = "source:s2/hours";
        let asked: Vec<&str> = open(&made).into_iter().filter(|id| !id.starts_with("when:")).collect();
        // An amount that nothing gives is asked about, too, without an answer that reckons it.
        let is_amount = taken.is_some() || sent.is_f64();
        assert_eq!(asked, is_amount.then_some(id).into_iter().collect::<Vec<_>>(), "{program} {sent}");
        assert!(!is_amount || taken.is_some() || words(&made, id) == ["always"], "{program} {sent}");
        if let Some(taken) = taken {
            assert_eq!(open(&made), [id], "{program} {sent}");
            let made = tale.answered_with(&[(id, &format!("@1{{{taken}}}"))]).await.unwrap();
            let linked = json!({"$from": {"step": "s1", "jq": taken}});
            assert_eq!((steps(&made)["s2"]["hours"].clone(), open(&made)), (linked, vec![]));
        }
    }
}

#[tokio::test]
async fn what_a_query_printed_of_one_thing_is_the_first_source_of_a_text_that_has_it() {
    let mut tale = Tale::new();
    let order = |id: u64, total: f64, customer: &str| json!({"id": id, "total": total, "currency": "EUR", "customer": {"id": customer}});
    let orders = [order(1, 10.1, "con_1"), order(2, 99.9, "con_2"), order(3, 50.0, "con_3")];
    tale.call("listIssues", json!({}), json!({"orders": orders})).await;
    let program = ".orders | max_by(.total) | {id, total, c: .customer.id}";
    tale.query(1, program);
    let sent = json!({"contact_id": "con_2", "plan": "Biggest order: #2, EUR 99.90"});
    tale.call("updateContact", sent, json!({"id": "con_2"})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s2/plan"]);
    let first = |made: &crate::Crystallized| {
        let parts = steps(made)["s2"]["plan"]["$text"].clone();
        let all = parts.as_array().unwrap().iter();
        all.filter_map(|part| Some(part.pointer("/$from/jq")?.as_str()?.to_owned())).collect::<Vec<String>>()
    };
    let made = tale.answered_with(&[("source:s2/plan", "taken")]).await.unwrap();
    assert_eq!(open(&made), [""; 0]);
    assert!(
        first(&made).iter().all(|jq| jq.trim_start_matches('(').starts_with(".orders | max_by(.total)")),
        "{:?}",
        first(&made)
    );
    assert!(first(&made).len() > 1);
}

#[tokio::test]
async fn the_currency_of_the_thing_whose_amount_is_sent_is_asked_although_others_have_it_too() {
    let order = |id: u64, total: f64, of: &str| json!({"id": id, "estimate": total, "sprint": of, "project": "paid"});
    let list = json!({"items": [order(101, 1250.75, "EUR"), order(102, 80.5, "EUR")]});
    for (sent, asked) in [
        (json!({"estimate": 1250.75, "sprint": "EUR"}), vec!["source:s2/estimate", "source:s2/sprint"]),
        // What nothing but its own word says, and words in small letters, are what a person says.
        (json!({"title": "x", "sprint": "EUR"}), vec![]),
        (json!({"estimate": 1250.75, "project": "paid"}), vec!["source:s2/estimate"]),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), list.clone()).await;
        tale.call("createIssue", sent.clone(), json!({"id": 9})).await;
        assert_eq!(open(&tale.made(&[]).await), asked, "{sent}");
        if asked.len() == 2 {
            let answers =
                [("source:s2/estimate", "@1{.items[0].estimate}"), ("source:s2/sprint", "@1{.items[0].sprint}")];
            let made = tale.answered_with(&answers).await.unwrap();
            assert!(open(&made).iter().all(|id| id.starts_with("pick:")), "{:?}", open(&made));
            assert_eq!(steps(&made)["s2"]["sprint"], from("s1", ".items[0].sprint"));
        }
    }
}
