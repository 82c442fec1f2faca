//! The currency beside a sum of a text: that of the thing that has the sum, however many others share it.

use serde_json::{Value, json};

use super::reckoned::answered;
use super::tale::{Tale, from, open, steps};

fn order(id: u64, amount: f64, currency: &str) -> Value {
    json!({"id": id, "amount": amount, "currency": currency, "state": "paid"})
}

/// A list that was read, and a text that was written then.
async fn wrote(project: &str, orders: &[Value], text: &str) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": project}), json!({"items": orders})).await;
    tale.call("createIssue", json!({"text": text}), json!({"id": 900})).await;
    tale
}

const ID: &str = "source:s2/text";

#[tokio::test]
async fn the_currency_beside_a_sum_is_that_of_the_thing_that_has_the_sum() {
    let shared = [order(7, 25.0, "EUR"), order(8, 1250.5, "EUR")];
    let small = [order(7, 25.0, "eur"), order(8, 1250.5, "eur")];
    let deep = [json!({"id": 7, "currency": "EUR", "sums": {"gross": 25}}), json!({"id": 8, "currency": "EUR"})];
    for (orders, text, currency) in [
        (&shared, "Refund 1250.50 EUR for order 8", ".items[1].currency"),
        (&shared, "Refund 25.00 EUR for order 7", ".items[0].currency"),
        (&shared, "EUR 25.00 go back", ".items[0].currency"),
        (&small, "Refund 25.00 EUR", ".items[0].currency | ascii_upcase"),
        (&deep, "Refund 25.00 EUR", ".items[0].currency"),
    ] {
        let tale = wrote("x", orders, text).await;
        assert_eq!(open(&answered(&tale, &[], &[]).await), [ID], "{text}");
        let made = answered(&tale, &[], &[(ID, "taken")]).await;
        let parts = steps(&made)["s2"]["text"]["$text"].clone();
        assert!(parts.as_array().unwrap().contains(&from("s1", currency)), "{text}: {parts}");
        assert!(!parts.to_string().contains("EUR"), "{text}: {parts}");
    }
}

#[tokio::test]
async fn the_currency_beside_the_total_of_a_list_is_the_one_that_all_have() {
    let orders = [order(7, 25.0, "EUR"), order(8, 1250.5, "EUR")];
    let tale = wrote("x", &orders, "Total 1275.50 EUR").await;
    let total = "source:s2/text{1275.50}";
    assert_eq!(open(&answered(&tale, &[], &[]).await), [ID, total]);
    let made = answered(&tale, &[], &[(ID, "taken"), (total, "reckoned")]).await;
    let text = steps(&made)["s2"]["text"].to_string();
    assert!(open(&made).is_empty() && text.contains("[.items[] | .currency] | unique"), "{:?} {text}", open(&made));
    assert!(text.contains(" | add // 0") && !text.contains("1275.50"), "{text}");
}

#[tokio::test]
async fn what_several_things_have_or_a_person_says_is_not_the_currency_of_a_thing() {
    let shared = [order(7, 25.0, "EUR"), order(8, 1250.5, "EUR")];
    let same = [order(7, 25.0, "EUR"), order(8, 25.0, "EUR")];
    for (project, orders, text) in [
        ("x", &same, "Refund 25.00 EUR"),
        ("EUR", &shared, "Refund 25.00 EUR"),
        ("x", &shared, "Refund 25.00 USD"),
        ("x", &shared, "Refund 25.00 in EUR"),
        ("x", &shared, "Refund 30.00 EUR"),
    ] {
        let tale = wrote(project, orders, text).await;
        assert_eq!(open(&answered(&tale, &[], &[]).await), [""; 0], "{project} {text}");
    }
}
