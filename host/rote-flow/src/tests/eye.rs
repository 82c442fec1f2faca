//! What a person did by eye and in the head: some of the items, a number reckoned for each, twice what was seen, the short parts of a
//! text. Each is asked, and with the answer the flow does in another world what was meant there.

use rote_types::Classify as _;
use serde_json::{Value, json};

use super::reckoned::{answered, words};
use super::support::wish;
use super::tale::{Tale, notes, open, steps};
use crate::{CrystallizeRequest, Crystallized};

/// Runs the flow where the reads are answered so; returns what it wrote.
pub(super) async fn elsewhere(tale: &Tale, reads: &[Value], words: &[(&str, &str)]) -> Vec<String> {
    let shop = &tale.fixture.shop;
    let before = shop.log().len();
    reads.iter().for_each(|read| shop.says(200, read.clone()));
    tale.fixture.run(&tale.fixture.run_request(words)).await.unwrap();
    shop.log()[before..].iter().filter(|line| !line.starts_with("GET ")).cloned().collect()
}

pub(super) fn items(rows: &[Value]) -> Value {
    json!({ "items": rows })
}

#[tokio::test]
async fn a_small_multiple_of_what_a_query_printed_is_asked_and_reckoned() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "vans": 4})).await;
    tale.query(1, ".vans");
    tale.call("createIssue", json!({"title": "lot", "amount": 8}), json!({"id": 9})).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), words(&made, "source:s2/amount")), (vec!["source:s2/amount"], vec!["reckoned", "always"]));
    let made = answered(&tale, &[], &[("source:s2/amount", "reckoned")]).await;
    assert!(open(&made).is_empty(), "{:?}", open(&made));
    let wrote = elsewhere(&tale, &[json!({"id": 7, "vans": 7})], &[]).await;
    assert!(wrote[0].contains("\"amount\":14"), "{wrote:?}");
    // What is sent as it was printed was read for that.
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "vans": 4})).await;
    tale.query(1, ".vans");
    tale.call("createIssue", json!({"title": "lot", "amount": 8, "estimate": 4}), json!({"id": 9})).await;
    assert_eq!(open(&tale.made(&[]).await), ["source:s2/estimate"]);
}

#[tokio::test]
async fn the_short_parts_of_a_text_are_taken_with_those_that_tell() {
    let mut tale = Tale::new();
    let order = |id: u64, gate: &str, bags: u64, of: &str| json!({"id": id, "gate": gate, "bags": bags, "buyer": of});
    tale.call("getIssue", json!({"issue_id": 7}), order(7, "B7", 3, "Mara Lind")).await;
    let text = "Mara Lind: 3 bags at B7, act 2";
    tale.call("addComment", json!({"issue_id": 7, "body": text}), json!({"id": 1})).await;
    let made = answered(&tale, &[("issue_id", None)], &[("source:s2/body", "taken")]).await;
    assert!(open(&made).is_empty(), "{:?}", open(&made));
    let wrote = elsewhere(&tale, &[order(8, "C2", 5, "Ola Berg")], &[("issue_id", "8")]).await;
    assert!(wrote[0].contains("Ola Berg: 5 bags at C2, act 2"), "{wrote:?}");
}

/// Animals that were treated, each with a dose by its weight.
async fn treated() -> Tale {
    let mut tale = Tale::new();
    let animals = [(11, 40), (12, 55), (13, 62)].map(|(id, weight)| json!({"id": id, "weight": weight}));
    tale.call("listIssues", json!({"project": "east"}), items(&animals)).await;
    for (id, dose) in [(11, 80), (12, 110), (13, 124)] {
        let sent = json!({"issue_key": id, "hours": dose});
        tale.call("addWorklog", sent, json!({"id": 900 + id})).await;
    }
    tale
}

#[tokio::test]
async fn a_number_that_was_reckoned_of_each_item_in_one_way_is_a_loop_when_it_is_said() {
    let tale = treated().await;
    assert!(open(&tale.made(&[]).await).contains(&"source:s2/hours"));
    let made = answered(&tale, &[], &[("source:s2/hours", "reckoned")]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    let there = [(70, 30), (71, 71)].map(|(id, weight)| json!({"id": id, "weight": weight}));
    let wrote = elsewhere(&tale, &[items(&there)], &[]).await;
    let sent = [r#"POST /worklogs {"issue_key":70,"hours":60}"#, r#"POST /worklogs {"issue_key":71,"hours":142}"#];
    assert_eq!(wrote, sent);
    let made = answered(&tale, &[], &[("source:s2/hours", "always")]).await;
    assert!(made.plan.steps.len() == 4 && open(&made).iter().all(|id| !id.starts_with("source")));
}

/// Four issues of which some were closed by eye.
async fn flagged(rows: &[Value], ids: &[u64]) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), items(rows)).await;
    for id in ids {
        tale.call("updateIssue", json!({"issue_id": id, "state": "seen"}), json!({"id": id})).await;
    }
    tale
}

#[tokio::test]
async fn some_of_the_items_by_eye_are_asked_with_the_fields_that_tell() {
    let row = |id: u64, fill: u64, due: Option<&str>| json!({"id": id, "fill": fill, "due": due});
    let rows = [row(41, 90, Some("x")), row(42, 20, None), row(43, 85, Some("y")), row(44, 10, None)];
    let tale = flagged(&rows, &[41, 43]).await;
    let made = tale.made(&[]).await;
    assert_eq!(words(&made, "loop:s2"), [".due != null", ".fill >= 85", "no"]);
    let there = items(&[row(51, 30, None), row(52, 86, None), row(53, 99, Some("z"))]);
    for (condition, closed) in [(".fill >= 85", vec![52, 53]), (".fill > 50", vec![52, 53]), (".due != null", vec![53])]
    {
        let made = answered(&tale, &[], &[("loop:s2", condition)]).await;
        assert!(open(&made).is_empty(), "{condition}: {:?}", open(&made));
        let wrote = elsewhere(&tale, std::slice::from_ref(&there), &[]).await;
        let wanted: Vec<String> =
            closed.iter().map(|id| format!("PATCH /issues/{id} {{\"state\":\"seen\"}}")).collect();
        assert_eq!(wrote, wanted, "{condition}");
    }
    let error = tale.answered_with(&[("loop:s2", "filter")]).await.unwrap_err().to_string();
    assert!(error.contains("nothing tells"), "{error}");
    // Nothing tells them: their places are asked, and which they are.
    let plain = [41, 42, 43, 44].map(|id| json!({"id": id}));
    let made = flagged(&plain, &[41, 43]).await.made(&[]).await;
    assert!(open(&made).contains(&"loop:s2") && words(&made, "loop:s2") == ["no"], "{:?}", open(&made));
}

#[tokio::test]
async fn a_range_of_a_list_that_a_query_took_is_a_loop_over_that() {
    let rows = [41, 42, 43, 44].map(|id| json!({"id": id}));
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), items(&rows)).await;
    tale.query(1, ".items[2:] | .[].id");
    for id in [43, 44] {
        tale.call("updateIssue", json!({"issue_id": id, "state": "seen"}), json!({"id": id})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    let there = [51, 52, 53].map(|id| json!({"id": id}));
    assert_eq!(elsewhere(&tale, &[items(&there)], &[]).await, [r#"PATCH /issues/53 {"state":"seen"}"#]);
}

#[tokio::test]
async fn the_count_of_the_whole_list_is_asked_beside_that_of_a_part() {
    let row = |id: u64, state: &str| json!({"id": id, "state": state});
    let rows = [row(41, "open"), row(42, "done"), row(43, "open")];
    let mut tale = flagged(&rows, &[41, 43]).await;
    tale.call("addComment", json!({"issue_id": 7, "body": "2 of 3 seen"}), json!({"id": 1})).await;
    let made = answered(&tale, &[], &[("loop:s2", "filter")]).await;
    assert_eq!(open(&made), ["source:s4/body{2}", "source:s4/body{3}"]);
    let all = [("loop:s2", "filter"), ("source:s4/body{2}", "counted"), ("source:s4/body{3}", "counted")];
    assert!(open(&answered(&tale, &[], &all).await).is_empty());
    let there = items(&[row(51, "open"), row(52, "done"), row(53, "done"), row(54, "done")]);
    let wrote = elsewhere(&tale, &[there], &[]).await;
    assert!(wrote[1].contains("1 of 4 seen"), "{wrote:?}");
}

#[tokio::test]
async fn why_calls_are_not_a_loop_is_said_to_who_asks_for_one() {
    let rows = [41, 42].map(|id| json!({"id": id}));
    for (ids, why) in [
        (
            &[42, 41][..],
            "there is not a question `loop:s2`, since s2, s3 are not one step for each of `.items`: they were not made in the order",
        ),
        (&[41][..], "`loop:s2` cannot be `all`"),
        (&[77][..], "there is not a question `loop:s2`, since no other step calls updateIssue"),
    ] {
        let tale = flagged(&rows, ids).await;
        let error = tale.answered_with(&[("loop:s2", "all")]).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn the_pause_and_the_time_of_a_wait_are_said_with_the_answer() {
    let mut tale = Tale::new();
    for state in ["queued", "done"] {
        tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "status": state})).await;
    }
    tale.call("addComment", json!({"issue_id": 7, "body": "Seen"}), json!({"id": 1})).await;
    let made = answered(&tale, &[], &[("when:s2", "wait:10s/30m")]).await;
    let until = made.plan.steps[0].until.as_ref().unwrap();
    assert_eq!((until.pause, until.most, open(&made)), (10_000, 180, vec![]));
    assert!(
        made.sentences.steps[0].when[0].starts_with("again every 10 seconds until"),
        "{:?}",
        made.sentences.steps[0]
    );
    let error = tale.answered_with(&[("when:s2", "wait:10s")]).await.unwrap_err();
    assert_eq!(error.kind(), rote_types::ErrorKind::Usage, "{error}");
}

async fn brought() -> Tale {
    let mut tale = Tale::new();
    let now = tale.fixture.now();
    tale.fixture.workspace.inject("plan.json", br#"{"title": "Spring"}"#, now).unwrap();
    tale.call("createIssue", json!({"title": "@1{.title}", "text": "Spring"}), json!({"id": 9})).await;
    tale
}

#[tokio::test]
async fn what_was_taken_of_a_file_that_was_brought_in_is_a_parameter_or_stays() {
    let tale = brought().await;
    let id = "source:s2/title";
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), words(&made, id)), (vec![id], vec!["parameter:title", "always"]));
    let made = answered(&tale, &[], &[(id, "parameter:title")]).await;
    assert_eq!((open(&made), steps(&made)["s2"]["title"].clone()), (vec![], json!({"$param": "title"})));
    assert!(elsewhere(&tale, &[], &[("title", "Autumn")]).await[0].contains("Autumn"));
    assert!(open(&answered(&tale, &[], &[(id, "always")]).await).is_empty());
    let error = tale.answered_with(&[("source:s2/text", "@1{.title}")]).await.unwrap_err().to_string();
    assert!(error.contains("a file that was brought in") && error.contains("--param NAME@s2:/text"), "{error}");
}

#[tokio::test]
async fn a_number_that_a_text_says_with_the_name_of_its_parameter_is_that() {
    let mut tale = Tale::new();
    let sent = json!({"title": "12 points", "text": "12 weeks", "estimate": 12});
    tale.call("createIssue", sent, json!({"id": 9})).await;
    let request = CrystallizeRequest { params: vec!["points=12@s1:/estimate".parse().unwrap()], ..wish(&[]) };
    let made: Crystallized = tale.wish(&request).await.unwrap();
    assert_eq!(steps(&made)["s1"]["title"], json!({"$text": [{"$param": "points"}, " points"]}));
    assert_eq!(steps(&made)["s1"]["text"], json!("12 weeks"));
}

#[tokio::test]
async fn a_list_that_is_read_behind_a_write_is_told() {
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"title": "first"}), json!({"id": 9})).await;
    tale.call("searchContacts", json!({"q": "ada"}), items(&[json!({"id": "k-1"})])).await;
    tale.call("updateContact", json!({"contact_id": "@2{.items[0].id}", "plan": "gold"}), json!({"id": "k-1"})).await;
    let made = tale.made(&[]).await;
    assert!(
        notes(&made).iter().any(|note| note.starts_with("s2 is read behind s1, as it was done")),
        "{:?}",
        notes(&made)
    );
}

#[tokio::test]
async fn one_that_was_done_by_eye_is_each_with_a_condition_when_it_is_said() {
    let row = |id: u64, diver: bool| json!({"id": id, "diver": diver});
    let tale = flagged(&[row(11, false), row(12, true)], &[12]).await;
    assert_eq!(open(&tale.made(&[]).await), ["pick:s2/issue_id"]);
    let made = answered(&tale, &[], &[("loop:s2", ".diver")]).await;
    assert!(open(&made).is_empty(), "{:?}", open(&made));
    let wrote = elsewhere(&tale, &[items(&[row(21, true), row(22, false), row(23, true)])], &[]).await;
    assert_eq!(wrote, [r#"PATCH /issues/21 {"state":"seen"}"#, r#"PATCH /issues/23 {"state":"seen"}"#]);
}

#[tokio::test]
async fn a_write_for_all_of_a_list_is_not_made_for_none() {
    let row = |id: u64, fill: u64| json!({"id": id, "fill": fill});
    let full = "@1{[.items[] | select(.fill > 80) | .id]}";
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), items(&[row(31, 90), row(32, 95)])).await;
    tale.call("addWorklog", json!({"hours": 1, "issue_ids": full}), json!({"id": 900})).await;
    let made = tale.made(&[]).await;
    assert!(
        open(&made).is_empty() && notes(&made).iter().any(|note| note.contains("s2 only when")),
        "{:?}",
        notes(&made)
    );
    assert_eq!(elsewhere(&tale, &[items(&[row(41, 3)])], &[]).await, [""; 0]);
    assert_eq!(
        elsewhere(&tale, &[items(&[row(41, 99)])], &[]).await,
        [r#"POST /worklogs {"hours":1,"issue_ids":[41]}"#]
    );
    answered(&tale, &[], &[("when:s2", "no")]).await;
    assert_eq!(elsewhere(&tale, &[items(&[row(41, 3)])], &[]).await, [r#"POST /worklogs {"hours":1,"issue_ids":[]}"#]);
}

#[tokio::test]
async fn a_short_number_is_that_of_the_thing_where_the_text_names_it() {
    for (text, asked) in [("line 7 halts", true), ("7 halts", false)] {
        let mut tale = Tale::new();
        tale.call("getIssue", json!({"issue_id": 5}), json!({"id": 5, "line": 7})).await;
        tale.call("addComment", json!({"issue_id": "@1{.id}", "body": text}), json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), if asked { vec!["source:s2/body"] } else { vec![] }, "{text}");
    }
}

#[tokio::test]
async fn the_same_value_at_the_same_place_of_alike_calls_is_one_question() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), items(&[json!({"id": 31}), json!({"id": 32})])).await;
    tale.call("searchContacts", json!({"q": "truck"}), json!({"trucks": [{"id": "tr_7"}]})).await;
    tale.query(2, ".trucks[0].id");
    for id in [31, 32] {
        tale.call("addWorklog", json!({"issue_key": id, "hours": "tr_7"}), json!({"id": 900 + id})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s3/hours"]);
    assert!(made.frontmatter.questions[0].ask.contains("(s4, too)"), "{:?}", made.frontmatter.questions);
    let made = answered(&tale, &[], &[("source:s3/hours", "@2{.trucks[0].id}")]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 3), "{:?}", notes(&made));
    // The two reads are under way at once, in any order: either gets all.
    let world = json!({"items": [{"id": 41}], "trucks": [{"id": "tr_2"}]});
    let wrote = elsewhere(&tale, &[world.clone(), world], &[]).await;
    assert_eq!(wrote, [r#"POST /worklogs {"issue_key":41,"hours":"tr_2"}"#]);
}

#[tokio::test]
async fn a_number_that_is_typed_with_two_digits_behind_the_point_is_written_so_again() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 5}), json!({"id": 5, "lat": 48.2})).await;
    tale.call("createIssue", json!({"title": "Halt", "amount": "48.20"}), json!({"id": 9})).await;
    assert_eq!(open(&tale.made(&[]).await), ["source:s2/amount"]);
    for word in ["taken", "@1{.lat}"] {
        let made = answered(&tale, &[("issue_id", None)], &[("source:s2/amount", word)]).await;
        assert!(open(&made).is_empty(), "{:?}", open(&made));
        for (there, written) in [(51.7, "51.70"), (-0.05, "-0.05"), (-0.5, "-0.50"), (-3.25, "-3.25"), (0.0, "0.00")] {
            let wrote = elsewhere(&tale, &[json!({"id": 6, "lat": there})], &[("issue_id", "6")]).await;
            assert!(wrote[0].contains(&format!(r#""amount":"{written}""#)), "{word}: {wrote:?}");
        }
    }
}
