//! Which places a parameter takes.

use serde_json::{Value, json};

use super::support::wish;
use super::tale::{Tale, notes, open, steps};
use crate::{CrystallizeRequest, Crystallized, FlowError};

async fn with(tale: &Tale, params: &[&str], answers: &[(&str, &str)]) -> Result<Crystallized, FlowError> {
    let params = params.iter().map(|one| one.parse().unwrap()).collect();
    let answers = answers.iter().map(|(id, word)| ((*id).to_owned(), (*word).to_owned())).collect();
    tale.wish(&CrystallizeRequest { params, answers, force: true, ..wish(&[]) }).await
}

fn param(name: &str) -> Value {
    json!({"$param": name})
}

/// The same number in three places.
async fn tens() -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"page_size": 10}), json!({"next": {"id": 3}})).await;
    let arguments = json!({"title": "at @1{.next.id}", "estimate": {"points": 10, "hours": 10}, "labels": ["a", "b"]});
    tale.call("createIssue", arguments, json!({"id": 9})).await;
    tale
}

#[tokio::test]
async fn a_number_is_bound_where_the_argument_is_named_as_the_parameter() {
    let tale = tens().await;
    let made = with(&tale, &["points=10"], &[]).await.unwrap();
    assert_eq!(steps(&made)["s2"]["estimate"], json!({"points": param("points"), "hours": 10}));
    assert_eq!(steps(&made)["s1"], json!({"page_size": 10}));
    assert!(
        notes(&made).contains(&"also 10 at s1:/page_size, s2:/estimate/hours, which `points` is not"),
        "{:?}",
        notes(&made)
    );
}

#[tokio::test]
async fn a_number_that_no_argument_is_named_for_is_asked() {
    let tale = tens().await;
    let made = with(&tale, &["size=10"], &[]).await.unwrap();
    assert_eq!(open(&made), ["param:size"]);
    assert!(made.report.parameters.is_empty());
    let made = with(&tale, &["size=10"], &[("param:size", "s1:/page_size")]).await.unwrap();
    assert_eq!(steps(&made)["s1"], json!({"page_size": param("size")}));
    assert_eq!((open(&made), &steps(&made)["s2"]["estimate"]), (vec![], &json!({"points": 10, "hours": 10})));
    let made = with(&tale, &["size=10@@2:/estimate/hours,s1:/page_size"], &[]).await.unwrap();
    assert_eq!(steps(&made)["s2"]["estimate"], json!({"points": 10, "hours": param("size")}));
    assert_eq!(steps(&made)["s1"], json!({"page_size": param("size")}));
}

#[tokio::test]
async fn lists_and_objects_are_parameters_too() {
    let tale = tens().await;
    let made = with(&tale, &["labels", "estimate"], &[]).await.unwrap();
    assert_eq!(
        (&steps(&made)["s2"]["labels"], &steps(&made)["s2"]["estimate"]),
        (&param("labels"), &param("estimate"))
    );
    assert_eq!(made.frontmatter.parameters["properties"]["labels"]["type"], "array");
    let made = with(&tale, &["first@s2:/labels/0"], &[]).await.unwrap();
    assert_eq!(steps(&made)["s2"]["labels"], json!([param("first"), "b"]));
    for (spot, why) in [
        ("x@s2:/nothing", "nothing that was typed stands at s2:/nothing"),
        ("x=7@s1:/page_size", "s1:/page_size holds `10`"),
    ] {
        let error = with(&tale, &[spot], &[]).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn a_day_is_bound_in_the_times_of_that_day() {
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"title": "Ship", "due_date": "2026-05-22"}), json!({"id": 9})).await;
    let times = json!({"title": "by 2026-05-22", "start": "2026-05-22T09:00:00Z", "end": "2026-05-23T09:00:00Z"});
    tale.call("createEvent", times, json!({"id": "ev_1"})).await;
    let made = with(&tale, &["day=2026-05-22"], &[]).await.unwrap();
    assert_eq!(steps(&made)["s1"]["due_date"], param("day"));
    assert_eq!(
        steps(&made)["s2"],
        json!({"title": {"$text": ["by ", param("day")]}, "start": {"$text": [param("day"), "T09:00:00Z"]},
            "end": "2026-05-23T09:00:00Z"})
    );
}

#[tokio::test]
async fn a_value_of_a_call_that_falls_out_is_refused_with_the_way_to_keep_it() {
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"email": "nora@acme.test"}), json!({"items": [{"name": "Nora"}]})).await;
    tale.call("addComment", json!({"issue_id": 7, "body": "Hi"}), json!({"id": 1})).await;
    let error = with(&tale, &["customer=nora@acme.test"], &[]).await.unwrap_err().to_string();
    assert!(error.contains("stands only in s1 shop/searchContacts, which is left out"), "{error}");
    assert!(error.contains("--link STEP:/PLACE=@1{JQ}"), "{error}");
}

#[tokio::test]
async fn a_default_and_an_optional_parameter_may_be_left_out_of_a_run() {
    let tale = tens().await;
    let mut request =
        CrystallizeRequest { force: true, ..wish(&[("points", None), ("labels", None), ("hours", None)]) };
    request.params[0].default = Some(Some("3".to_owned()));
    request.params[1].optional = true;
    request.params[2].default = Some(None);
    request.params[2].description = Some("How long".to_owned());
    let made = tale.wish(&request).await.unwrap();
    let schema = &made.frontmatter.parameters;
    assert_eq!((&schema["required"], &schema["properties"]["points"]["default"]), (&json!([]), &json!(3)));
    assert_eq!(schema["properties"]["hours"]["description"], "How long");
    tale.fixture.shop.says(200, json!({"next": {"id": 3}}));
    tale.fixture.shop.says(200, json!({"id": 10}));
    tale.fixture.run(&tale.fixture.run_request(&[])).await.unwrap();
    let sent = tale.fixture.shop.log().pop().unwrap();
    assert!(sent.ends_with(r#"{"title":"at 3","estimate":{"hours":10,"points":3}}"#), "{sent}");
    request.params[0].default = Some(Some("many".to_owned()));
    assert!(tale.wish(&request).await.is_err());
    request.params[0] = crate::ParamSpec { optional: true, default: Some(None), ..request.params[0].clone() };
    let error = tale.wish(&request).await.unwrap_err().to_string();
    assert!(error.contains("`points` cannot be both"), "{error}");
}

#[tokio::test]
async fn a_text_is_bound_in_queries_too() {
    let mut tale = Tale::new();
    let items = json!({"items": [{"id": 1, "project": "beacon", "title": "x"}, {"id": 2, "project": "atlas", "title": "report of atlas"}]});
    tale.call("listIssues", json!({"project": "atlas"}), items).await;
    let picked = "@1{.items[] | select(.project==\"atlas\" and .title == \"report of atlas\") | .id}";
    tale.call("addComment", json!({"issue_id": picked, "body": "Seen"}), json!({"id": 1})).await;
    let made = with(&tale, &["project=atlas"], &[]).await.unwrap();
    assert_eq!(steps(&made)["s1"], json!({"project": param("project")}));
    assert_eq!(
        steps(&made)["s2"]["issue_id"]["$from"],
        json!({"step": "s1", "jq": ".items[] | select(.project==$project and .title == (\"report of \" + $project)) | .id",
            "with": {"project": param("project")}})
    );
    let places: Vec<String> =
        made.report.parameters[0].places.iter().map(|place| format!("{}:{}", place.step, place.pointer)).collect();
    assert_eq!(places, ["s1:/project", "s2:/issue_id{}"]);
    let only = with(&tale, &["where=atlas@s2:/issue_id{}"], &[]).await.unwrap();
    assert_eq!(steps(&only)["s1"], json!({"project": "atlas"}));
    assert!(steps(&only)["s2"]["issue_id"]["$from"]["with"].get("where").is_some());
}

#[tokio::test]
async fn a_variable_in_a_query_is_a_parameter_or_the_query_that_saved_it() {
    let mut tale = Tale::new();
    tale.fixture.set("want", json!("Crash"));
    tale.call("listIssues", json!({}), json!({"items": [{"id": 1, "title": "x"}, {"id": 2, "title": "Crash"}]})).await;
    tale.fixture.query(1, ".items[0].title", Some("other"));
    let picked =
        |name: &str| json!({"issue_id": format!("@1{{.items[] | select(.title==${name}) | .id}}"), "body": "Seen"});
    tale.call("addComment", picked("want"), json!({"id": 1})).await;
    tale.call("addComment", picked("other"), json!({"id": 2})).await;
    let made = tale.made(&[]).await;
    let bound = |step: &str| steps(&made)[step]["issue_id"]["$from"]["with"].clone();
    assert_eq!(bound("s2"), json!({"want": param("want")}));
    assert_eq!(bound("s3"), json!({"other": {"$from": {"step": "s1", "jq": ".items[0].title"}}}));
}

#[tokio::test]
async fn a_number_whose_own_call_fell_out_is_not_put_where_it_stands_by_chance() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 11}), json!({"id": 11})).await;
    tale.call("createIssue", json!({"estimate": 11}), json!({"id": 12})).await;
    let made = tale.made(&[("issue_id", Some("11"))]).await;
    assert_eq!((open(&made), &steps(&made)["s2"]["estimate"]), (vec!["param:issue_id"], &json!(11)));
    let request = CrystallizeRequest {
        answers: [("param:issue_id".to_owned(), "s2:/estimate".to_owned())].into(),
        force: true,
        ..wish(&[("issue_id", Some("11"))])
    };
    assert_eq!(steps(&tale.wish(&request).await.unwrap())["s2"]["estimate"], json!({"$param": "issue_id"}));
}

#[tokio::test]
async fn a_name_that_only_what_the_job_made_has_is_ambiguous_where_another_value_was_typed() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": "is_7"}), json!({"title": "Old"})).await;
    tale.call("createIssue", json!({"project": "atlas", "title": "Crash"}), json!({"id": "is_9"})).await;
    tale.call("addComment", json!({"issue_id": "is_9", "body": "Seen"}), json!({"id": 1})).await;
    let error = with(&tale, &["issue_id"], &[]).await.unwrap_err().to_string();
    assert!(error.contains("`is_7` at s1:/issue_id, `is_9` at s3:/issue_id; say which"), "{error}");
}

#[tokio::test]
async fn a_parameter_that_a_text_of_a_write_tells_is_asked_and_a_short_name_is_put_in() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 77}), json!({"id": 77})).await;
    tale.call("addComment", json!({"issue_id": 77, "body": "Replacement for 77"}), json!({"id": 1})).await;
    let made = tale.made(&[("issue_id", Some("77"))]).await;
    let words: Vec<&str> = made.report.questions[0].answers.iter().map(|answer| answer.word.as_str()).collect();
    assert_eq!((open(&made), words), (vec!["param:issue_id"], vec!["s2:/body", "all", "none"]));
    for (word, body) in
        [("all", json!({"$text": ["Replacement for ", {"$param": "issue_id"}]})), ("none", json!("Replacement for 77"))]
    {
        let made = with(&tale, &["issue_id=77"], &[("param:issue_id", word)]).await.unwrap();
        assert_eq!((open(&made), &steps(&made)["s2"]["body"]), (vec![], &body), "{word}");
    }
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 12}), json!({"id": 12})).await;
    tale.call("addComment", json!({"issue_id": 12, "body": "Due 2026-12-31, 12:30, v1.12"}), json!({"id": 1})).await;
    assert!(open(&tale.made(&[("issue_id", Some("12"))]).await).is_empty());
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"title": "Call Bo at Lindqvist", "customer": "Bo"}), json!({"id": 1})).await;
    let made = tale.made(&[("name", Some("Bo"))]).await;
    assert_eq!(steps(&made)["s1"]["title"], json!({"$text": ["Call ", {"$param": "name"}, " at Lindqvist"]}));
}

#[tokio::test]
async fn a_parameter_of_a_call_that_falls_out_is_what_stays_of_its_value() {
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"q": "2026-11-24"}), json!({"items": []})).await;
    tale.call("createEvent", json!({"title": "Lunch", "start": "2026-11-24T12:00:00Z"}), json!({"id": 1})).await;
    let made = tale.made(&[("q", None)]).await;
    assert_eq!(steps(&made)["s2"]["start"], json!({"$text": [{"$param": "q"}, "T12:00:00Z"]}));
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"q": "else"}), json!({"items": []})).await;
    tale.call("createEvent", json!({"title": "Lunch", "start": "2026-11-24T12:00:00Z"}), json!({"id": 1})).await;
    let error = tale.wish(&wish(&[("q", None)])).await.unwrap_err().to_string();
    assert!(error.contains("only an argument of s1"), "{error}");
}
