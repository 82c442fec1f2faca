//! What was seen before a write, and decided by in the head, is a question of the write.

use rote_types::QueryEngine as _;
use serde_json::{Value, json};

use super::asks::{short, when};
use super::tale::{Tale, open};
use crate::Crystallized;

/// A list, a thing, what queries printed of them, and a write.
async fn seen(query: (u64, &str), write: (&str, Value)) -> Tale {
    let mut tale = Tale::new();
    let items = json!([{"id": 41, "state": "open", "title": "a"}]);
    let list = json!({"items": items, "none": [], "total": 0, "next_page_token": "", "has_more": false, "size": 4});
    tale.call("listIssues", json!({}), list).await;
    let issue = json!({"id": 7, "state": "open", "title": "bug", "locked": false, "due": null, "estimate": 3,
        "assignee": "mona", "body": "It does not work", "at": "2026-01-01", "ok": true, "url": "https://a.example/b"});
    tale.call("getIssue", json!({"issue_id": 7}), issue).await;
    tale.query(query.0, query.1);
    tale.call(write.0, write.1, json!({"id": 900})).await;
    tale
}

fn patch() -> (&'static str, Value) {
    ("updateIssue", json!({"issue_id": 7, "state": "closed"}))
}

fn create() -> (&'static str, Value) {
    ("createIssue", json!({"title": "triage"}))
}

#[tokio::test]
async fn what_was_seen_before_a_write_and_used_by_nothing_is_asked() {
    for (query, write, wanted) in [
        ((2, ".state"), patch(), ".state eq \"open\""),
        ((2, ".locked"), patch(), ".locked eq false"),
        ((2, ".ok"), patch(), ".ok eq true"),
        ((2, ".estimate"), patch(), ".estimate eq 3"),
        ((2, ".assignee"), patch(), ".assignee eq \"mona\""),
        ((2, ".due"), patch(), "[.due | select(. != null and . != \"\" and . != [] and . != {})] | length eq 0"),
        ((2, ".state"), ("addComment", json!({"issue_id": "@2{.id}", "body": "Seen"})), ".state eq \"open\""),
        ((1, ".none"), create(), ".none | length eq 0"),
        ((1, ".none | length"), create(), ".none | length eq 0"),
        ((1, ".total"), create(), ".total eq 0"),
        (
            (1, "[.items[] | select(.state == \"done\")] | length"),
            create(),
            "[.items[] | select(.state == \"done\")] | length eq 0",
        ),
    ] {
        let tale = seen(query, write).await;
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), when(&made, "s3")), (vec!["when:s3"], Value::Null), "{query:?}");
        assert!(made.frontmatter.questions[0].writes && made.report.questions[0].taken == "no");
        let made = tale.answered_with(&[("when:s3", "yes")]).await.unwrap();
        assert_eq!((short(&when(&made, "s3")).as_str(), open(&made)), (wanted, vec![]), "{query:?}");
        let made = tale.answered_with(&[("when:s3", "no")]).await.unwrap();
        assert_eq!((open(&made), when(&made, "s3")), (vec![], Value::Null), "{query:?}");
    }
}

#[tokio::test]
async fn what_was_read_to_find_the_way_or_to_be_sent_is_not_asked() {
    let comment = |body: &str| ("addComment", json!({"issue_id": 7, "body": body}));
    for (query, write) in [
        ((2, ".title"), patch()),
        ((2, ".id"), patch()),
        ((2, ".body"), patch()),
        ((2, ".at"), patch()),
        ((2, ".url"), patch()),
        ((2, "."), patch()),
        ((1, ".items"), create()),
        ((1, ".items | length"), create()),
        ((1, ".items[] | .id"), create()),
        ((1, ".next_page_token"), create()),
        ((1, ".has_more"), create()),
        ((2, ".state"), ("updateIssue", json!({"issue_id": 7, "state": "open"}))),
        ((2, ".state"), comment("It is open now")),
        ((2, ".estimate"), comment("3 points")),
        ((2, ".state"), ("updateContact", json!({"contact_id": "c_9", "plan": "pro"}))),
    ] {
        let made = seen(query, write).await.made(&[]).await;
        assert!(!open(&made).contains(&"when:s3"), "{query:?}");
    }
    let mut tale = seen((2, ".state"), ("createIssue", json!({"title": "x"}))).await;
    tale.query(2, ".state");
    tale.call("addComment", json!({"issue_id": 7, "body": "Seen"}), json!({"id": 1})).await;
    tale.call("updateIssue", patch().1, json!({"id": 7})).await;
    let made = tale.made(&[]).await;
    let asked: Vec<&str> = open(&made).into_iter().filter(|id| id.starts_with("when:")).collect();
    assert_eq!(asked, ["when:s4"], "each look is asked of the write behind it");
}

#[tokio::test]
async fn what_a_write_was_answered_is_seen_but_for_what_it_sent() {
    for (program, wanted) in [
        (".state", Some(".state eq \"triage\"")),
        (".assignee", Some("[.assignee | select(. != null and . != \"\" and . != [] and . != {})] | length eq 0")),
        (".priority", None),
        (".id", None),
    ] {
        let mut tale = Tale::new();
        let made = json!({"id": 7, "state": "triage", "assignee": null, "priority": "high"});
        tale.call("createIssue", json!({"title": "bug", "labels": ["high"]}), made).await;
        tale.query(1, program);
        tale.call("addComment", json!({"issue_id": "@1{.id}", "body": "Who takes it?"}), json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), wanted.map(|_| "when:s2").into_iter().collect::<Vec<_>>(), "{program}");
        if let Some(wanted) = wanted {
            let made = tale.answered_with(&[("when:s2", "yes")]).await.unwrap();
            assert_eq!((short(&when(&made, "s2")).as_str(), open(&made)), (wanted, vec![]), "{program}");
        }
    }
}

#[tokio::test]
async fn all_looks_before_a_write_are_one_question() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "state": "open", "locked": false})).await;
    tale.query(1, ".state");
    tale.call("searchContacts", json!({"q": "x"}), json!({"items": [{"id": "c_1"}]})).await;
    tale.query(1, ".locked");
    tale.query(1, ".state");
    tale.call("updateIssue", patch().1, json!({"id": 7})).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), made.report.questions[0].evidence.len()), (vec!["when:s3"], 2));
    let made = tale.answered_with(&[("when:s3", "yes")]).await.unwrap();
    let all: Vec<String> = when(&made, "s3")["all"].as_array().unwrap().iter().map(short).collect();
    assert_eq!(all, [".state eq \"open\"", ".locked eq false"]);
}

#[tokio::test]
async fn a_list_that_was_empty_before_something_was_made_is_asked() {
    for (search, list, jq) in [
        (("searchContacts", json!({"email": "new@acme.test"})), json!({"items": []}), ".items | length eq 0"),
        (("listIssues", json!({})), json!([]), ". | length eq 0"),
        (("listIssues", json!({})), json!({"warnings": [], "items": []}), "([.warnings[], .items[]]) | length eq 0"),
    ] {
        let mut tale = Tale::new();
        tale.call(search.0, search.1, list).await;
        tale.call("createIssue", json!({"title": "new@acme.test"}), json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), ["when:s2"], "{jq}");
        let made = tale.answered_with(&[("when:s2", "yes")]).await.unwrap();
        assert_eq!((short(&when(&made, "s2")).as_str(), open(&made)), (jq, vec![]));
    }
    for (search, list) in [
        (("searchContacts", json!({"email": "other@acme.test"})), json!({"items": []})),
        (("listIssues", json!({})), json!({"items": [{"id": 1}]})),
    ] {
        let mut tale = Tale::new();
        tale.call(search.0, search.1, list).await;
        tale.call("createIssue", json!({"title": "new@acme.test"}), json!({"id": 9})).await;
        assert_eq!(open(&tale.made(&[]).await), [""; 0]);
    }
}

#[tokio::test]
async fn a_thing_that_was_not_there_before_it_was_made_is_asked() {
    for (title, asked) in [("triage", vec!["when:s2"]), ("other", vec![])] {
        let mut tale = Tale::new();
        tale.missing("getIssue", json!({"issue_id": "triage"})).await;
        tale.call("createIssue", json!({"title": title}), json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), asked, "{title}");
        let words = |made: &Crystallized| {
            made.report.questions.iter().flat_map(|one| one.answers.iter().map(|a| a.word.clone())).collect::<Vec<_>>()
        };
        assert!(!words(&made).contains(&"yes".to_owned()));
    }
}

#[tokio::test]
async fn what_each_item_was_looked_at_for_before_it_was_written_is_asked() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": [{"id": 41}, {"id": 42}]})).await;
    for index in 0..2 {
        let issue = format!("@1{{.items[{index}].id}}");
        let read = tale.call("getIssue", json!({"issue_id": issue}), json!({"state": "stale"})).await;
        tale.query(read, ".state");
        tale.call("updateIssue", json!({"issue_id": issue, "state": "closed"}), json!({"id": index})).await;
    }
    let made = tale.made(&[]).await;
    assert!(open(&made).iter().any(|id| id.starts_with("when:")), "{:?}", made.plan);
}

#[tokio::test]
async fn a_run_that_skips_what_its_result_needs_ends_well_without_one() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": [{"id": 41, "state": "open"}]})).await;
    tale.query(1, "[.items[] | select(.state == \"done\")] | length");
    tale.call("createIssue", json!({"title": "Upgrade"}), json!({"id": 7})).await;
    tale.call("addComment", json!({"issue_id": "@2{.id}", "body": "Now"}), json!({"id": 8})).await;
    let made = tale.answered_with(&[("when:s2", "yes")]).await.unwrap();
    let result = serde_json::to_value(&made.plan.result).unwrap();
    assert_eq!(result["$default"][1], Value::Null, "{result}");
}

#[tokio::test]
async fn what_a_filter_of_ones_own_looked_for_is_not_made_again_where_it_is_there_but_for_capitals() {
    for query in [
        ".items[] | select(.title == \"Renewals\") | .id",
        "[.items[] | select(.title == \"Renewals\")] | length",
        "[.items[] | select(.title == \"Renewals\" and .open)]",
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), json!({"items": [{"id": 1, "title": "Cleaning"}]})).await;
        tale.query(1, query);
        tale.call("createIssue", json!({"title": "Renewals"}), json!({"id": 2, "title": "Renewals"})).await;
        let made = tale.answered_with(&[("when:s2", "yes")]).await.unwrap();
        let jq = when(&made, "s2")["compare"]["left"]["$from"]["jq"].as_str().unwrap().to_owned();
        let run = |titles: &[&str]| {
            let items: Vec<Value> = titles.iter().map(|title| json!({"id": 5, "title": title, "open": true})).collect();
            let list = json!({"items": items}).to_string();
            let engine = tale.fixture.runtime.query_engine();
            let found = engine.run(&jq, list.as_bytes(), &rote_types::QueryLimits::default());
            found.map(|found| found.values).map_err(|error| error.to_string())
        };
        assert_eq!(run(&["Cleaning"]), Ok(vec!["0".to_owned()]), "{jq}");
        assert_eq!(run(&["Renewals", "RENEWALS"]), Ok(vec!["1".to_owned()]), "{jq}");
        let stop = run(&["RENEWALS"]).unwrap_err();
        assert!(stop.contains("there is `RENEWALS`, and what was looked for is `Renewals`"), "{stop}");
        assert!(open(&made).is_empty(), "{:?}", open(&made));
    }
}
