//! A thing is made where none was found: what was not found is not on another page either.

use serde_json::{Value, json};

use super::asks::{asks, plain, short, when};
use super::tale::{Tale, open, steps};
use crate::Crystallized;

/// A search with this answer, a query of it, and what is made then and used.
async fn made_anew(tool: &str, arguments: Value, answer: Value, query: Option<&str>) -> Tale {
    let mut tale = Tale::new();
    tale.call(tool, arguments, answer).await;
    if let Some(query) = query {
        tale.query(1, query);
    }
    tale.call("createIssue", json!({"title": "Acme"}), json!({"id": 9})).await;
    tale.call("addComment", json!({"issue_id": "@2{.id}", "body": "Welcome"}), json!({"id": 900})).await;
    tale
}

/// How the search reads its pages.
fn pages(made: &Crystallized) -> Value {
    serde_json::to_value(&made.plan.steps[0].pages).unwrap()
}

fn guarded(next: &str) -> Value {
    json!({"next": next, "items": ".items"})
}

#[tokio::test]
async fn a_list_in_which_nothing_was_found_is_whole_or_read_on() {
    let by_page = json!({"argument": "page", "next": "(. | length) > 0", "items": ".", "count": {"from": 1, "by": 1}});
    let by_token = json!({"argument": "page_token", "next": ".next_page_token", "items": ".items"});
    for (tool, answer, wanted) in [
        ("searchContacts", json!({"items": [], "has_more": false}), guarded(".has_more")),
        ("searchContacts", json!({"items": [], "total": 0}), guarded(".total > (.items | length)")),
        ("listIssues", json!({"items": [], "next_page_token": null}), by_token),
        ("searchContacts", json!([]), by_page),
    ] {
        let arguments = if tool == "listIssues" { json!({"project": "Acme"}) } else { json!({"q": "Acme"}) };
        let tale = made_anew(tool, arguments, answer.clone(), None).await;
        for found in ["named", "first", "one", "nothing"] {
            let given = [("when:s2", "yes"), ("found:s2", found)];
            let made = tale.answered_with(&given).await.unwrap();
            assert_eq!((pages(&made), open(&made)), (wanted.clone(), vec![]), "{answer} {found}");
        }
        let made = tale.answered_with(&[("when:s2", "no")]).await.unwrap();
        assert!(steps(&made)["s1"].is_null() && open(&made).is_empty(), "{answer}");
    }
}

#[tokio::test]
async fn a_list_in_which_a_query_or_an_ask_found_nothing_is_whole_too() {
    let others = json!({"items": [{"id": 1, "title": "Other"}], "has_more": false});
    let query = ".items[] | select(.title == \"Acme\")";
    let tale = made_anew("searchContacts", json!({}), others.clone(), Some(query)).await;
    let made = tale.answered_with(&[("when:s2", "yes")]).await.unwrap();
    assert_eq!((pages(&made), open(&made)), (guarded(".has_more"), vec![]));

    let empty = json!({"items": [], "warnings": [], "has_more": false});
    let tale = made_anew("searchContacts", json!({"q": "Acme"}), empty, None).await;
    let made = tale.answered_with(&[("when:s2", "yes")]).await.unwrap();
    assert_eq!((pages(&made), open(&made)), (guarded(".has_more"), vec![]));

    let mut tale = Tale::new();
    tale.call("searchContacts", json!({}), others).await;
    asks(&tale, &plain("is-empty", query, true));
    tale.call("createIssue", json!({"title": "Acme"}), json!({"id": 9})).await;
    let made = tale.made(&[]).await;
    assert_eq!((pages(&made), open(&made)), (guarded(".has_more"), vec![]));
}

#[tokio::test]
async fn a_list_that_goes_on_without_what_was_looked_for_is_asked() {
    let full: Vec<Value> = (0..30).map(|id| json!({"id": id, "title": format!("Other {id}")})).collect();
    let query = ".[] | select(.title == \"Acme\")";
    let more = json!({"items": [], "has_more": true});
    for (answer, query, asked) in
        [(more, None, vec!["found:s2", "pages:s1"]), (full.into(), Some(query), vec!["pages:s1"])]
    {
        let tale = made_anew("searchContacts", json!({"q": "Acme"}), answer, query).await;
        let made = tale.answered_with(&[("when:s2", "yes")]).await.unwrap();
        assert_eq!(open(&made), asked);
    }
}

#[tokio::test]
async fn a_run_makes_nothing_that_may_stand_on_the_next_page() {
    for (recorded, now) in [
        (json!({"items": [], "has_more": false}), json!({"items": [{"id": 1, "title": "x"}], "has_more": true})),
        (json!({"items": [], "has_more": false}), json!({"items": [], "has_more": true})),
        (json!({"items": [], "total": 0}), json!({"items": [{"id": 1, "title": "x"}], "total": 300})),
    ] {
        let tale = made_anew("searchContacts", json!({"q": "Acme"}), recorded, None).await;
        tale.answered_with(&[("when:s2", "yes"), ("found:s2", "named")]).await.unwrap();
        let shop = &tale.fixture.shop;
        let sent = shop.log().len();
        shop.says(200, now.clone());
        assert!(tale.fixture.run(&tale.fixture.run_request(&[])).await.is_err(), "{now}");
        assert_eq!(shop.log()[sent..], ["GET /contacts?q=Acme"], "{now}");
    }
}

#[tokio::test]
async fn a_thing_that_a_list_did_not_have_is_asked_though_nobody_queried_the_list() {
    let lists =
        |name: &str| json!({"items": [{"id": 4, "title": name}, {"id": 5, "title": "Later"}], "has_more": false});
    let tale = made_anew("listIssues", json!({}), lists("Bug"), None).await;
    assert_eq!(open(&tale.made(&[]).await), ["when:s2"]);
    let made = tale.answered_with(&[("when:s2", "yes")]).await.unwrap();
    assert_eq!(open(&made), [""; 0]);
    assert!(short(&when(&made, "s2")).contains(".items[] | select(.title == \"Acme\")"), "{:?}", when(&made, "s2"));
    assert_eq!(pages(&made), guarded(".has_more"));
    for (query, answer, tool) in [
        (None, lists("Acme"), "listIssues"),
        (Some(".items | length"), lists("Bug"), "listIssues"),
        (None, lists("Bug"), "searchContacts"),
    ] {
        let tale = made_anew(tool, json!({}), answer, query).await;
        assert_eq!(open(&tale.made(&[]).await), [""; 0], "{query:?} {tool}");
    }
}
