//! Values of writes that are what a query printed: asked, with its program as the first answer.

use serde_json::{Value, json};

use super::tale::{Tale, open, steps};

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
