//! What a person made in the head of a thing that was read: each is asked, although nothing else is taken of that thing.

use serde_json::{Value, json};

use super::reckoned::{answered, words};
use super::tale::{Tale, from, open, steps};

/// A thing that was read, what was asked of it, and a write.
async fn read(thing: Value, query: Option<&str>, write: (&str, Value)) -> Tale {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 5001}), thing).await;
    if let Some(query) = query {
        tale.query(1, query);
    }
    tale.call(write.0, write.1, json!({"id": 900})).await;
    tale
}

const ISSUE: [(&str, Option<&str>); 1] = [("issue", Some("5001"))];

#[tokio::test]
async fn an_amount_that_fields_texts_and_other_numbers_give_is_asked_and_reckoned_of_the_thing_of_the_run() {
    let thing = json!({"id": 5001, "price": 120.5, "level": {"target": 55, "now": 31}, "fee": 2.25});
    for (sent, gives) in [
        (json!({"issue": 5001, "amount": 24}), ".target - .now"),
        (json!({"issue": 5001, "estimate": 4, "amount": 482}), "$estimate * $price"),
        (json!({"issue": 5001, "amount": 102.43, "text": "15% off"}), "0.85 * $price"),
        (json!({"issue": 5001, "amount": 145.81, "text": "with 21 % VAT"}), "1.21 * $price"),
        (json!({"issue": 5001, "amount": 125.5, "text": "plus 5 shipping"}), "5 + $price"),
        (json!({"issue": 5001, "amount": 60, "text": "up by 5"}), "5 + $target"),
    ] {
        let tale = read(thing.clone(), None, ("createIssue", sent.clone())).await;
        let params = [ISSUE[0], ("estimate", None)];
        let params = if sent.get("estimate").is_some() { &params[..] } else { &ISSUE[..] };
        let made = answered(&tale, params, &[]).await;
        assert_eq!(open(&made), ["source:s2/amount"], "{sent}");
        let made = answered(&tale, params, &[("source:s2/amount", "reckoned")]).await;
        let jq = steps(&made)["s2"]["amount"]["$from"]["jq"].as_str().unwrap().to_owned();
        assert!(jq.contains(gives), "{sent}: {jq}");
        assert_eq!(steps(&made)["s1"]["issue_id"], json!({"$param": "issue"}), "{sent}");
    }
}

#[tokio::test]
async fn a_sum_of_what_two_things_have_is_asked() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 5001}), json!({"id": 5001, "price": 9.5})).await;
    tale.call("getEvent", json!({"event_id": "evt_1"}), json!({"id": "evt_1", "fee": 2.25})).await;
    let sent = json!({"issue": 5001, "customer": "evt_1", "amount": 11.75});
    tale.call("createIssue", sent, json!({"id": 900})).await;
    let params = [ISSUE[0], ("customer", Some("evt_1"))];
    let made = answered(&tale, &params, &[]).await;
    assert_eq!(open(&made), ["source:s3/amount"]);
    assert_eq!(words(&made, "source:s3/amount"), ["reckoned", "always"]);
}

#[tokio::test]
async fn an_amount_that_is_twice_one_field_or_a_part_of_it_is_asked_and_reckoned_of_the_thing_of_the_run() {
    let thing = json!({"id": 5001, "price": 120.5, "level": {"target": 550, "now": 31}, "fee": 2.25});
    for (amount, gives) in [
        (json!(241), ". | .price * 2"),
        (json!(60.25), ". | (.price / 2) * 1e8 | round / 1e8"),
        (json!(40.17), ". | (.price / 3) * 100 | round / 100"),
        (json!(30.13), ". | (.price / 4) * 100 | round / 100"),
        (json!(12.05), ". | (.price / 10) * 1e8 | round / 1e8"),
        (json!(275), ".level | .target / 2"),
    ] {
        let tale = read(thing.clone(), None, ("createIssue", json!({"issue": 5001, "amount": amount}))).await;
        let made = answered(&tale, &ISSUE, &[]).await;
        assert_eq!((open(&made), steps(&made)["s2"]["amount"].clone()), (vec!["source:s2/amount"], amount.clone()));
        assert_eq!(words(&made, "source:s2/amount"), ["reckoned", "always"], "{amount}");
        let made = answered(&tale, &ISSUE, &[("source:s2/amount", "reckoned")]).await;
        assert_eq!((steps(&made)["s2"]["amount"].clone(), open(&made)), (from("s1", gives), vec![]), "{amount}");
        assert_eq!(steps(&made)["s1"]["issue_id"], json!({"$param": "issue"}), "{amount}");
    }
}

#[tokio::test]
async fn a_part_of_several_fields_and_a_short_one_are_not_reckoned() {
    for (thing, amount, expected) in [
        (json!({"id": 5001, "price": 120.5, "most": 482}), 241, &["always"][..]),
        (json!({"id": 5001, "price": 120}), 60, &[]),
    ] {
        let tale = read(thing.clone(), None, ("createIssue", json!({"issue": 5001, "amount": amount}))).await;
        let made = answered(&tale, &ISSUE, &[]).await;
        let words = if expected.is_empty() { vec![] } else { words(&made, "source:s2/amount") };
        assert_eq!((open(&made).is_empty(), words.as_slice()), (expected.is_empty(), expected), "{thing}");
    }
}

#[tokio::test]
async fn an_amount_that_nothing_gives_is_asked_where_another_thing_has_another_one() {
    let thing = json!({"id": 5001, "price": 11.25});
    for (amount, asked) in [(json!(5.63), true), (json!(1800), true), (json!(7), false)] {
        let sent = json!({"issue": 5001, "amount": amount});
        let tale = read(thing.clone(), None, ("createIssue", sent.clone())).await;
        let expected: &[&str] = if asked { &["source:s2/amount"] } else { &[] };
        assert_eq!(open(&answered(&tale, &ISSUE, &[]).await), expected, "{sent}");
    }
}

#[tokio::test]
async fn a_word_of_the_thing_is_asked_under_its_own_name() {
    let thing = json!({"id": 5001, "project": "tomato", "state": "open"});
    for (sent, asked) in [
        (json!({"issue": 5001, "project": "tomato"}), true),
        (json!({"issue": 5001, "project": "pepper"}), false),
        (json!({"issue": 5001, "title": "tomato"}), false),
    ] {
        let tale = read(thing.clone(), None, ("createIssue", sent.clone())).await;
        let expected: &[&str] = if asked { &["source:s2/project"] } else { &[] };
        assert_eq!(open(&answered(&tale, &ISSUE, &[]).await), expected, "{sent}");
    }
}

#[tokio::test]
async fn the_first_word_of_a_name_is_asked() {
    let thing = json!({"id": 5001, "name": "Cem Dal", "title": "Fix login"});
    for (body, asked) in [("Called Cem today", true), ("Called Cemile today", false), ("Fix it", false)] {
        let sent = json!({"issue_id": 5001, "body": body});
        let tale = read(thing.clone(), None, ("addComment", sent)).await;
        let expected: &[&str] = if asked { &["source:s2/body"] } else { &[] };
        assert_eq!(open(&answered(&tale, &ISSUE, &[]).await), expected, "{body}");
        if asked {
            let made = answered(&tale, &ISSUE, &[("source:s2/body", "taken")]).await;
            assert!(steps(&made)["s2"]["body"].to_string().contains("split"), "{body}");
        }
    }
}

#[tokio::test]
async fn a_price_of_two_digits_is_written_with_two() {
    let thing = json!({"id": 5001, "price": 42.75});
    let sent = json!({"issue_id": 5001, "body": "Costs 42.75 each"});
    let tale = read(thing, None, ("addComment", sent)).await;
    let made = answered(&tale, &ISSUE, &[("source:s2/body", "taken")]).await;
    let question = &made.report.questions[0];
    let (ask, means) = (&question.ask, &question.answers[0].means);
    assert_eq!(question.evidence[0].jq.as_deref(), Some(".price"), "where it stands");
    assert!(ask.contains("`42.75`, which is `.price` (written as a number) of @1: taken"), "{ask}");
    assert_eq!(means, "in each run the text has .price (written as a number) of @1 for `42.75`");
    assert!(steps(&made)["s2"]["body"].to_string().contains(" * 100 | round"), "{:?}", steps(&made)["s2"]);
}

#[tokio::test]
async fn a_query_that_gives_something_under_a_condition_is_asked() {
    let thing = json!({"id": 5001, "total": 120.5, "items": [{"sku": "a", "count": 2}, {"sku": "b", "count": 1}]});
    for (query, asked) in [
        ("select(.total > 100) | .id", true),
        ("select(.total > 100)", true),
        ("if .total > 100 then \"big\" else \"small\" end", true),
        ("[.items[] | select(.count > 1)] | length", true),
        (".items | length", false),
        (".id", false),
    ] {
        let sent = json!({"issue_id": 5001, "body": "big order"});
        let tale = read(thing.clone(), Some(query), ("addComment", sent)).await;
        let expected: &[&str] = if asked { &["when:s2"] } else { &[] };
        assert_eq!(open(&answered(&tale, &ISSUE, &[]).await), expected, "{query}");
        if asked {
            let made = answered(&tale, &ISSUE, &[("when:s2", "yes")]).await;
            assert!(made.plan.steps.iter().any(|step| step.when.is_some()), "{query}");
        }
    }
}
