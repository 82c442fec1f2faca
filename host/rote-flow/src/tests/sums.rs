//! Totals that no query printed: typed off a list by hand, as an argument or in a text.

use rote_types::QueryEngine as _;
use serde_json::{Value, json};

use super::reckoned::{answered, words};
use super::tale::{Tale, from, notes, open, steps};

fn orders() -> Value {
    json!({"orders": [
        {"id": 1, "status": "paid", "total": 1200.5, "quantity": 2, "tip": "1.50"},
        {"id": 2, "status": "open", "total": 340.25, "quantity": 3, "tip": "2.25"},
        {"id": 3, "status": "paid", "total": 200.5, "quantity": 7, "tip": "0.10"},
    ]})
}

/// A list of orders, and a write with what was typed.
async fn typed(list: Value, write: Value) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), list).await;
    tale.call("createIssue", write, json!({"id": 900})).await;
    tale
}

#[tokio::test]
async fn a_total_that_was_typed_into_a_text_is_asked_as_it_was_written() {
    let total = "([.orders[].total] | add // 0)";
    for (text, number) in [
        ("Total 1741.25 for all", "1741.25"),
        ("Total $1,741.25 for all", "1,741.25"),
        ("Total 1 741,25 for all", "1 741,25"),
        ("Total 1.741,25 for all", "1.741,25"),
        ("Total 1741.250 for all", "1741.250"),
    ] {
        let tale = typed(orders(), json!({"text": text})).await;
        let id = format!("source:s2/text{{{number}}}");
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), [id.as_str()], "{text}");
        assert_eq!(words(&made, &id), ["reckoned", "always"]);
        let made = answered(&tale, &[], &[(&id, "reckoned")]).await;
        assert!(open(&made).is_empty(), "{:?}", open(&made));
        let program = steps(&made)["s2"]["text"]["$text"][1]["$from"]["jq"].as_str().unwrap().to_owned();
        assert!(program.starts_with(&total[..total.len() - 1]) || program.starts_with(total), "{program}");
        let made = answered(&tale, &[], &[(&id, "always")]).await;
        assert_eq!((open(&made), steps(&made)["s2"]["text"].clone()), (vec![], json!(text)));
    }
}

#[tokio::test]
async fn a_total_that_was_typed_into_an_argument_is_asked_and_rounded() {
    let list = json!({"items": [{"id": 1, "price": 10.1}, {"id": 2, "price": 20.2}, {"id": 3, "price": 0.0}]});
    let tale = typed(list, json!({"amount": 30.3})).await;
    assert_eq!(open(&tale.made(&[]).await), ["source:s2/amount"]);
    let made = answered(&tale, &[], &[("source:s2/amount", "reckoned")]).await;
    let jq = "([.items[].price] | add // 0) * 100000000 | round / 100000000";
    assert_eq!((steps(&made)["s2"]["amount"].clone(), open(&made)), (from("s1", jq), vec![]));
    let whole = json!({"items": [{"id": 1, "price": 100}, {"id": 2, "price": 250}]});
    let tale = typed(whole, json!({"amount": 350})).await;
    let made = answered(&tale, &[], &[("source:s2/amount", "reckoned")]).await;
    assert_eq!(steps(&made)["s2"]["amount"], from("s1", "([.items[].price] | add // 0)"));
}

#[tokio::test]
async fn a_total_of_some_things_of_products_of_texts_and_a_mean_are_asked() {
    for (number, program) in [
        (json!(1401.0), "[.orders[] | select(.status == \"paid\") | .total] | add // 0"),
        (json!(4825.25), "[.orders[] | .quantity * .total] | add // 0"),
        (json!(3.85), "[.orders[].tip | tonumber] | add // 0"),
        (json!(580.42), "[.orders[].total] | add / length"),
    ] {
        let tale = typed(orders(), json!({"amount": number})).await;
        let made = answered(&tale, &[], &[("source:s2/amount", "reckoned")]).await;
        let jq = steps(&made)["s2"]["amount"]["$from"]["jq"].as_str().unwrap().to_owned();
        assert!(jq.contains(program), "{number}: {jq}");
    }
}

#[tokio::test]
async fn the_count_beside_a_total_is_asked() {
    let tale = typed(orders(), json!({"text": "Total 1741.25 for 3 orders"})).await;
    assert_eq!(open(&tale.made(&[]).await), ["source:s2/text{1741.25}", "source:s2/text{3}"]);
    let both = [("source:s2/text{1741.25}", "reckoned"), ("source:s2/text{3}", "counted")];
    let made = answered(&tale, &[], &both).await;
    let text = &steps(&made)["s2"]["text"]["$text"];
    assert_eq!((text[3].clone(), open(&made)), (from("s1", "[.orders[]] | length"), vec![]), "{:?}", notes(&made));
}

#[tokio::test]
async fn the_total_of_all_pages_is_asked() {
    let mut tale = Tale::new();
    for (page, amount, next) in [("", 400, "p2"), ("p2", 250, "")] {
        let arguments =
            if page.is_empty() { json!({"project": "x"}) } else { json!({"project": "x", "page_token": page}) };
        let items = json!({"items": [{"id": amount, "amount": amount}, {"id": amount + 1, "amount": 10}], "next_page_token": next});
        tale.call("listIssues", arguments, items).await;
    }
    tale.query(1, "[.items[].id]");
    tale.call("createIssue", json!({"text": "670 in all"}), json!({"id": 900})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s3/text{670}"], "{:?}", notes(&made));
}

#[tokio::test]
async fn what_was_typed_before_the_list_was_read_and_what_is_short_is_not_a_total_of_it() {
    let mut tale = Tale::new();
    tale.call(
        "listIssues",
        json!({"project": "x", "page_size": 350}),
        json!({"items": [{"id": 1, "price": 100}, {"id": 2, "price": 250}]}),
    )
    .await;
    tale.call("createIssue", json!({"amount": 350}), json!({"id": 900})).await;
    assert!(open(&tale.made(&[]).await).iter().all(|id| !id.starts_with("source:")));
    let small = json!({"items": [{"id": 1, "price": 4}, {"id": 2, "price": 8}]});
    assert!(open(&typed(small, json!({"text": "12 of them"})).await.made(&[]).await).is_empty());
}

#[tokio::test]
async fn a_total_that_a_query_printed_is_one_question() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), orders()).await;
    tale.query(1, "[.orders[].total] | add");
    tale.call("createIssue", json!({"text": "Total 1741.25"}), json!({"id": 900})).await;
    assert_eq!(open(&tale.made(&[]).await), ["source:s2/text"]);
}

#[tokio::test]
async fn a_whole_number_that_an_answer_has_with_a_point_is_written_as_it_was_typed() {
    for (write, place, id, word) in [
        (json!({"text": "Pay 80 EUR now"}), "text", "source:s2/text", "taken"),
        (json!({"amount": "80"}), "amount", "source:s2/amount", "@1{.total}"),
        (json!({"amount": 80}), "amount", "source:s2/amount", "@1{.total}"),
    ] {
        let mut tale = Tale::new();
        tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "total": 80.0})).await;
        tale.call("createIssue", write.clone(), json!({"id": 900})).await;
        let made = answered(&tale, &[], &[(id, word)]).await;
        let sent = steps(&made)["s2"][place].to_string();
        assert!(sent.contains(".total") && open(&made).is_empty(), "{write}: {sent}");
    }
}

#[tokio::test]
async fn what_is_reckoned_into_a_text_is_rounded_as_it_was_written() {
    for (program, sent, wanted) in [
        (".items[0].price + .items[1].price", "0.75", "0.30"),
        (".items[0].price * 2", "0.5", "0.2"),
        (".items[0].price", "0.25", "0.1"),
    ] {
        let mut tale = Tale::new();
        let list = |one: f64, other: f64| json!({"items": [{"id": 1, "price": one}, {"id": 2, "price": other}]});
        tale.call("listIssues", json!({"project": "x"}), list(0.25, 0.5)).await;
        let text = format!("Pay @1{{{program}}} EUR");
        tale.call("createIssue", json!({"text": text}), json!({"id": 900})).await;
        let answers = [("pick:s2/text", "position")];
        let made = answered(&tale, &[], if program.contains("[0]") { &answers } else { &[] }).await;
        let jq = steps(&made)["s2"]["text"]["$text"][1]["$from"]["jq"].as_str().unwrap().to_owned();
        let run = |list: Value| {
            let engine = tale.fixture.runtime.query_engine();
            let found = engine.run(&jq, list.to_string().as_bytes(), &rote_types::QueryLimits::default()).unwrap();
            found.values.iter().map(|one| one.trim_matches('"').to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            (run(list(0.25, 0.5)), run(list(0.1, 0.2))),
            (vec![sent.to_owned()], vec![wanted.to_owned()]),
            "{jq}"
        );
    }
}
