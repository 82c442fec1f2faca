//! Numbers that were reckoned, rows of a table that a query made, and values in programs: each is asked or read where it came from.

use serde_json::{Value, json};

use super::support::wish;
use super::tale::{Tale, notes, open, steps};
use crate::{CrystallizeRequest, Crystallized};

/// The words of the answers to a question.
pub(super) fn words<'m>(made: &'m Crystallized, id: &str) -> Vec<&'m str> {
    let question = made.report.questions.iter().find(|question| question.id.to_string() == id).unwrap();
    question.answers.iter().map(|answer| answer.word.as_str()).collect()
}

pub(super) async fn answered(tale: &Tale, params: &[(&str, Option<&str>)], answers: &[(&str, &str)]) -> Crystallized {
    let answers = answers.iter().map(|(id, word)| ((*id).to_owned(), (*word).to_owned())).collect();
    tale.wish(&CrystallizeRequest { answers, force: true, ..wish(params) }).await.unwrap()
}

#[tokio::test]
async fn a_number_in_a_program_that_a_query_printed_before_is_asked() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "worked": {"hours": 42.5}})).await;
    tale.query(1, ".worked.hours");
    tale.call("getIssue", json!({"issue_id": 8}), json!({"id": 8, "rate": 25})).await;
    tale.query(2, ".rate * 42.5");
    tale.call("createIssue", json!({"amount": 1062.5}), json!({"id": 9})).await;
    let made = answered(&tale, &[], &[("source:s3/amount", "@2{.rate * 42.5}")]).await;
    assert_eq!(open(&made), ["source:s3/amount{42.5}"]);
    assert_eq!(words(&made, "source:s3/amount{42.5}"), ["@1{.worked.hours}", "always"]);
    let both = [("source:s3/amount", "@2{.rate * 42.5}"), ("source:s3/amount{42.5}", "@1{.worked.hours}")];
    let made = answered(&tale, &[], &both).await;
    let hours = json!({"$from": {"step": "s1", "jq": ".worked.hours"}});
    let read = json!({"$from": {"step": "s2", "jq": ".rate * $hours", "with": {"hours": hours}}});
    assert_eq!((steps(&made)["s3"]["amount"].clone(), open(&made)), (read, vec![]));
}

#[tokio::test]
async fn a_number_in_a_program_that_the_one_thing_read_has_is_asked() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "place": {"lat": 48.2}})).await;
    let near = json!({"items": [{"id": 31, "lat": 48.3}, {"id": 32, "lat": 40.1}]});
    tale.call("searchContacts", json!({"q": "van"}), near).await;
    tale.query(2, ".items | min_by((.lat - 48.2) * (.lat - 48.2)) | .id");
    tale.call("updateContact", json!({"contact_id": 31, "plan": "busy"}), json!({"id": 31})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s3/contact_id{48.2}"]);
    assert_eq!(words(&made, "source:s3/contact_id{48.2}"), ["@1{.place.lat}", "always"]);
}

#[tokio::test]
async fn a_day_that_a_write_depends_on_is_asked_and_a_parameter_settles_it() {
    let mut tale = Tale::new();
    let items = json!({"items": [{"id": 1, "due": "2026-11-24"}, {"id": 2, "due": "2027-12-09"}]});
    tale.call("listIssues", json!({"project": "x"}), items).await;
    tale.query(1, ".items[] | select(.due < \"2026-12-01\") | .id");
    tale.call("updateIssue", json!({"issue_id": 1, "state": "late"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s2/issue_id{2026-12-01}"]);
    let made = answered(&tale, &[("before", Some("2026-12-01"))], &[]).await;
    assert!(open(&made).is_empty(), "{:?}", open(&made));
}

#[tokio::test]
async fn a_total_is_asked_once_what_it_was_reckoned_from_is_another_one() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "tariff": {"price": 0.3}})).await;
    tale.query(1, ".tariff.price");
    tale.call("createIssue", json!({"estimate": 120, "amount": 36}), json!({"id": 9, "amount": 36})).await;
    tale.call("addWorklog", json!({"hours": 36}), json!({"id": 1})).await;
    let made = tale.made(&[("estimate", None)]).await;
    assert_eq!(open(&made), ["source:s2/amount", "source:s3/hours"]);
    assert_eq!(words(&made, "source:s2/amount"), ["reckoned", "always"]);
    assert_eq!(words(&made, "source:s3/hours"), ["@2{.amount}", "always"]);
    let answers = [("source:s2/amount", "reckoned"), ("source:s3/hours", "@2{.amount}")];
    let made = answered(&tale, &[("estimate", None)], &answers).await;
    let price = json!({"$from": {"step": "s1", "jq": ".tariff.price"}});
    let with = json!({"estimate": {"$param": "estimate"}, "price": price});
    let jq = "($estimate * $price) * 100000000 | round / 100000000";
    let reckoned = json!({"$from": {"step": "s1", "jq": jq, "with": with}});
    assert_eq!((steps(&made)["s2"]["amount"].clone(), open(&made)), (reckoned, vec![]));
}

#[tokio::test]
async fn the_sum_of_a_list_is_reckoned_and_one_of_constants_stays() {
    let mut tale = Tale::new();
    let lines = json!([{"text": "hours", "sum": 1062.5}, {"text": "bonus", "sum": 200}]);
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "base": 1062.5})).await;
    tale.query(1, ".base");
    tale.call("createIssue", json!({"labels": lines, "amount": 1262.5}), json!({"id": 9})).await;
    let always = [("source:s2/labels/0/sum", "always")];
    assert!(open(&answered(&tale, &[], &always).await).is_empty(), "of constants it is one");
    let bonus = ("source:s2/labels/1/sum", "always");
    let read = [("source:s2/labels/0/sum", "@1{.base}"), ("source:s2/amount", "reckoned"), bonus];
    let made = answered(&tale, &[], &read).await;
    assert!(open(&made).is_empty(), "{:?}", open(&made));
    assert!(steps(&made)["s2"]["amount"]["$from"]["jq"].as_str().unwrap().contains(" + "));
}

const LOW: &str = "[.items[] | select(.stock < .least) | {sku, quantity: (.least * 2 - .stock)}]";

/// A person whose rate a query printed, and an order of so many hours at that rate.
async fn paid(query: &str, asked: Value, order: Value) -> Tale {
    let mut tale = Tale::new();
    let people = json!({"items": [{"id": 1, "name": "Emma", "rate": 25.5}]});
    tale.call("searchContacts", asked, people).await;
    tale.query(1, query);
    tale.call("createIssue", order, json!({"id": 9})).await;
    tale
}

#[tokio::test]
async fn parameters_reach_what_a_total_is_reckoned_from() {
    let by_name = ".items[] | select(.name == \"Emma\") | .rate";
    let order = json!({"title": "Emma", "estimate": 120, "amount": 3060});
    let params = [("name", Some("Emma")), ("estimate", None)];
    let reckoned = [("source:s2/amount", "reckoned")];
    for (query, asked) in [(by_name, json!({})), (".items[0].rate", json!({"q": "Emma"}))] {
        let tale = paid(query, asked.clone(), order.clone()).await;
        let made = answered(&tale, &params, &reckoned).await;
        let plan = serde_json::to_string(&made.plan).unwrap();
        assert!(!plan.contains("Emma"), "{plan}");
        assert!(open(&made).iter().all(|id| !id.starts_with("changed")), "{:?}", open(&made));
    }
}

#[tokio::test]
async fn a_total_may_be_a_part_of_another_one_and_of_constants_alone_it_stays() {
    let order = json!({"title": "@1{.items[0].name}", "estimate": 40, "amount": 100, "text": 20, "due_date": 120, "sprint": 2.5});
    let tale = paid(".items[0].rate", json!({}), order).await;
    let params = [("estimate", None), ("sprint", None)];
    let made = answered(&tale, &params, &[("when:s2", "no")]).await;
    assert_eq!(open(&made), ["source:s2/amount", "source:s2/due_date"]);
    let always = [("when:s2", "no"), ("source:s2/amount", "always")];
    let made = answered(&tale, &params, &always).await;
    assert_eq!((open(&made), words(&made, "source:s2/due_date")), (vec!["source:s2/due_date"], vec!["always"]));
    let both = [("when:s2", "no"), ("source:s2/amount", "reckoned"), ("source:s2/due_date", "reckoned")];
    let made = answered(&tale, &params, &both).await;
    let jq = steps(&made)["s2"]["due_date"]["$from"]["jq"].as_str().unwrap().to_owned();
    assert!(jq.contains("$amount") && !jq.contains("100 "), "{jq}");
}

#[tokio::test]
async fn sums_of_three_differences_and_one_of_something_are_asked() {
    for (order, param, asked) in [
        (json!({"estimate": 100, "sprint": 20, "text": 15, "amount": 135}), "estimate", true),
        (json!({"estimate": 100, "sprint": 20, "amount": 80}), "estimate", true),
        (json!({"estimate": 12.5, "sprint": 1, "amount": 12.5}), "sprint", false),
    ] {
        let tale = paid(".items[0].rate", json!({}), order.clone()).await;
        let made = answered(&tale, &[(param, None)], &[]).await;
        assert_eq!(open(&made).contains(&"source:s2/amount"), asked, "{order}");
    }
}

#[tokio::test]
async fn a_number_that_an_answer_has_and_others_give_is_one_question_with_both_answers() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "price": 12.5, "amount": 500})).await;
    let order = json!({"customer": "@1{.id}", "estimate": 40, "sprint": 12.5, "amount": 500});
    tale.call("createIssue", order, json!({"id": 9})).await;
    let params = [("estimate", None)];
    let made = answered(&tale, &params, &[("source:s2/sprint", "always")]).await;
    assert_eq!(words(&made, "source:s2/amount"), ["@1{.amount}", "reckoned", "reckoned-2", "always"]);
    let made = answered(&tale, &params, &[("source:s2/sprint", "always"), ("source:s2/amount", "reckoned")]).await;
    assert!(open(&made).is_empty(), "{:?}", open(&made));
    assert!(steps(&made)["s2"]["amount"]["$from"]["jq"].as_str().unwrap().contains("$estimate * 12.5"));
}

#[tokio::test]
async fn a_value_in_a_program_may_be_a_parameter_or_a_part_of_it_is_one() {
    let mut tale = Tale::new();
    let items = json!({"items": [{"id": 11, "from": "2026-11-25T00:00:00Z", "points": 3},
        {"id": 12, "from": "2026-11-20T00:00:00Z", "points": 5}]});
    tale.call("listIssues", json!({"project": "2026-11-25"}), items).await;
    let of_day = "@1{.items[] | select(.from >= \"2026-11-25T00:00:00Z\") | .id}";
    tale.call("getIssue", json!({"issue_id": of_day}), json!({"id": 11})).await;
    tale.call("updateIssue", json!({"issue_id": "@2{.id}", "state": "late"}), json!({"id": 11})).await;
    let day = [("day", Some("2026-11-25"))];
    let id = "source:s2/issue_id{2026-11-25T00:00:00Z}";
    assert_eq!(open(&answered(&tale, &day, &[]).await), [id]);
    let made = answered(&tale, &day, &[(id, "parameter:day")]).await;
    let jq = steps(&made)["s2"]["issue_id"]["$from"]["jq"].as_str().unwrap().to_owned();
    assert!(jq.contains("(.from >= ($day + \"T00:00:00Z\"))"), "{jq}");
    let request = CrystallizeRequest {
        answers: [(id.to_owned(), "parameter:other".to_owned())].into(),
        force: true,
        ..wish(&day)
    };
    assert!(tale.wish(&request).await.is_err());
}

#[tokio::test]
async fn a_parameter_of_a_step_that_a_program_brings_in_is_made() {
    let mut tale = Tale::new();
    let people = json!({"items": [{"id": 1, "name": "Emma", "hours": 42.5}]});
    tale.call("searchContacts", json!({"q": "Emma"}), people).await;
    tale.query(1, ".items[0].hours");
    tale.call("getIssue", json!({"issue_id": 8}), json!({"id": 8, "rate": 25})).await;
    tale.query(2, ".rate * 42.5");
    tale.call("createIssue", json!({"amount": 1062.5}), json!({"id": 9})).await;
    let both = [("source:s3/amount", "@2{.rate * 42.5}"), ("source:s3/amount{42.5}", "@1{.items[0].hours}")];
    let made = answered(&tale, &[("name", Some("Emma"))], &both).await;
    assert_eq!(steps(&made)["s1"], json!({"q": {"$param": "name"}}));
}

pub(super) fn articles() -> Value {
    let of = |sku: &str, stock: u64, least: u64| json!({"id": sku, "sku": sku, "stock": stock, "least": least});
    json!({"items": [of("A-1", 12, 50), of("A-2", 90, 50), of("A-3", 5, 20)], "total": 3})
}

#[tokio::test]
async fn a_table_typed_off_row_by_row_is_one_call_for_each_row() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), articles()).await;
    tale.query(1, LOW);
    for (sku, quantity) in [("A-1", 88), ("A-3", 35)] {
        tale.call("createIssue", json!({"title": sku, "amount": quantity}), json!({"id": quantity})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!(made.plan.steps.len(), 2, "{:?}", notes(&made));
    assert_eq!(steps(&made)["s2"], json!({"title": {"$item": ".sku"}, "amount": {"$item": ".quantity"}}));
    let each = serde_json::to_value(&made.plan.steps[1].for_each).unwrap();
    assert_eq!(each["$from"]["jq"], format!("{LOW} | .[]"));
}

#[tokio::test]
async fn templates_with_positions_of_a_made_list_are_a_loop_and_what_cannot_be_one_is_asked() {
    for (second, asked) in
        [(json!("@1{[.items[] | select(.stock < .least)][1].sku}"), vec![]), (json!("Other"), vec![])]
    {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), articles()).await;
        tale.call("createIssue", json!({"title": "@1{[.items[] | select(.stock < .least)][0].sku}"}), json!({"id": 8}))
            .await;
        tale.call("createIssue", json!({"title": second}), json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), made.plan.steps.len()), (asked, if second == "Other" { 3 } else { 2 }));
    }
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), articles()).await;
    for (at, text) in [(0, "first"), (1, "second")] {
        let title = format!("@1{{[.items[] | select(.stock < .least)][{at}].sku}}");
        tale.call("createIssue", json!({"title": title, "text": text}), json!({"id": 8})).await;
    }
    assert_eq!(open(&tale.made(&[]).await), ["loop:s2"]);
}

#[tokio::test]
async fn the_only_item_is_the_one_that_is_called_as_asked() {
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"q": "x"}), json!({"items": []})).await;
    tale.call("listIssues", json!({"project": "Moon"}), json!({"items": [{"id": 71, "project": "Moon"}]})).await;
    tale.call("updateIssue", json!({"issue_id": 71, "state": "done"}), json!({"id": 71})).await;
    let made = tale.made(&[("project", Some("Moon"))]).await;
    assert_eq!(steps(&made)["s3"]["issue_id"]["$from"]["jq"], ".items[] | .id", "a project is not what it is called");
}

#[tokio::test]
async fn the_query_that_printed_the_id_comes_before_others_that_lead_to_it() {
    let mut tale = Tale::new();
    let contacts = json!({"items": [{"id": "k-1", "made": "2026-01-01", "phone": "1"}, {"id": "k-2", "made": "2026-02-01", "phone": "2"}]});
    tale.call("searchContacts", json!({"q": "ada"}), contacts).await;
    tale.query(1, ".items | sort_by(.made) | .[1].id");
    tale.query(1, ".items | max_by(.made) | .phone");
    tale.call("updateContact", json!({"contact_id": "k-2", "plan": "gold"}), json!({"id": "k-2"})).await;
    let made = tale.made(&[]).await;
    assert_eq!(steps(&made)["s2"]["contact_id"]["$from"]["jq"], ".items | sort_by(.made) | .[1].id");
}

#[tokio::test]
async fn a_parameter_is_not_a_part_of_a_time_that_an_answer_has() {
    let mut tale = Tale::new();
    let event = json!({"id": 7, "start": "2026-11-25T09:00:00Z"});
    tale.call("getIssue", json!({"issue_id": 7}), event).await;
    let slots =
        json!({"items": [{"id": 1, "from": "2026-11-25T08:00:00Z"}, {"id": 2, "from": "2026-11-25T11:00:00Z"}]});
    tale.call("listIssues", json!({"project": "2026-11-25"}), slots).await;
    tale.query(2, "[.items[] | select(.from > \"2026-11-25T09:00:00Z\")][0].from");
    tale.call("createEvent", json!({"title": "x", "start": "2026-11-25T11:00:00Z"}), json!({"id": 9})).await;
    let made = tale.made(&[("day", Some("2026-11-25"))]).await;
    assert!(open(&made).contains(&"source:s3/start"), "{:?}", open(&made));
    let taken = words(&made, "source:s3/start")[0].to_owned();
    let made = answered(&tale, &[("day", Some("2026-11-25"))], &[("source:s3/start", &taken)]).await;
    assert_eq!(open(&made), ["source:s3/start{2026-11-25T09:00:00Z}"]);
    assert_eq!(words(&made, open(&made)[0]), ["@1{.start}", "parameter:day", "always"]);
}

#[tokio::test]
async fn a_program_that_reads_beside_the_item_is_not_a_loop_and_its_places_are_asked() {
    let low = "[.items[] | select(.stock < .least)]";
    for rest in [".stock - (.discount // 0)", ".stock + .fee", ".stock | . * 2"] {
        let mut tale = Tale::new();
        let mut body = articles();
        body["fee"] = json!(1);
        tale.call("listIssues", json!({"project": "x"}), body).await;
        for at in 0..2 {
            let amount = format!("@1{{{low}[{at}]{rest}}}");
            tale.call("createIssue", json!({"amount": amount}), json!({"id": 8})).await;
        }
        let made = tale.made(&[]).await;
        let is_loop = rest.contains('|');
        assert_eq!((open(&made).is_empty(), made.plan.steps.len() == 2), (is_loop, is_loop), "{rest}");
    }
}

#[tokio::test]
async fn the_place_of_one_thing_of_a_made_list_is_asked_unless_it_is_the_only_or_the_first_one() {
    for (program, wanted, asked) in [
        ("[.items[] | select(.id == \"A-2\")][0].sku", ".items[] | select(.id == \"A-2\") | .sku", false),
        ("[.items[] | select(.stock > 50)][0].sku", "[.items[] | select(.stock > 50)][0].sku", false),
        ("[.items[] | select(.stock < .least)][1].sku", "[.items[] | select(.stock < .least)][1].sku", true),
        ("[.items[] | select(.stock < .least)][0].sku", "[.items[] | select(.stock < .least)][0].sku", false),
        ("[.items | sort_by(.stock) | .[]][1].sku", "[.items | sort_by(.stock) | .[]][1].sku", false),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), articles()).await;
        tale.call("createIssue", json!({"title": format!("@1{{{program}}}")}), json!({"id": 8})).await;
        let made = tale.made(&[]).await;
        assert_eq!(steps(&made)["s2"]["title"]["$from"]["jq"], wanted);
        assert_eq!(open(&made), if asked { vec!["loop:s2"] } else { vec![] }, "{program}");
    }
}

#[tokio::test]
async fn a_number_of_a_row_under_another_name_is_asked() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), articles()).await;
    tale.query(1, ".items[] | select(.sku == \"A-1\") | {sku, stock}");
    tale.call("createIssue", json!({"title": "A-1", "amount": 12, "text": "a dozen more"}), json!({"id": 8})).await;
    let made = tale.made(&[]).await;
    assert!(steps(&made)["s2"]["amount"].is_number(), "{:?}", steps(&made)["s2"]);
}

#[tokio::test]
async fn what_two_fields_of_the_item_give_is_asked_for_one_and_makes_a_loop_for_several() {
    let id = "source:s2/amount";
    for (query, several) in [(false, true), (true, true), (false, false), (true, false)] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), articles()).await;
        if query {
            tale.query(1, ".items[] | {sku, stock, least}");
        }
        let sent = [("A-1", 38), ("A-2", -40), ("A-3", 15)];
        for (at, (_, amount)) in sent.iter().enumerate().take(if several { 3 } else { 1 }) {
            let order = json!({"title": format!("@1{{.items[{at}].sku}}"), "amount": amount});
            tale.call("createIssue", order, json!({"id": 900 + at})).await;
        }
        let made = tale.made(&[]).await;
        let asked: Vec<&str> = open(&made).into_iter().filter(|id| id.ends_with("amount")).collect();
        assert_eq!((asked, words(&made, id)), (vec![id], vec!["reckoned", "always"]), "{query} {several}");
        let made = answered(&tale, &[], &[(id, "always")]).await;
        assert!(open(&made).iter().all(|other| *other != id), "{:?}", open(&made));
        let made = answered(&tale, &[], &[(id, "reckoned")]).await;
        // Which one is meant is another question.
        let picks = |id: &&str| !several && id.starts_with("pick:");
        assert!(open(&made).iter().all(picks), "{query} {several}: {:?}", open(&made));
        let amount = steps(&made)["s2"]["amount"].clone();
        if several {
            assert_eq!((amount, made.plan.steps.len()), (json!({"$item": ".least - .stock"}), 2));
        } else {
            assert_eq!(amount, super::tale::from("s1", ".items[0] | .least - .stock"));
        }
    }
}

#[tokio::test]
async fn what_two_fields_of_the_one_thing_that_was_read_give_is_asked_and_an_amount_that_none_give() {
    for (amount, asked, gives) in [(3663, true, true), (6337, true, true), (3664, true, false), (7, false, false)] {
        let mut tale = Tale::new();
        let thing = json!({"id": 7, "sku": "A-1", "stock": 1337, "least": 5000, "few": 5007});
        tale.call("getIssue", json!({"issue_id": 7}), thing).await;
        tale.call("createIssue", json!({"title": "@1{.sku}", "amount": amount}), json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        let id = "source:s2/amount";
        assert_eq!(open(&made), if asked { vec![id] } else { vec![] }, "{amount}");
        if asked && !gives {
            assert_eq!(words(&made, id), ["always"]);
            assert!(open(&answered(&tale, &[], &[(id, "@1{.least - .stock + 1}")]).await).is_empty());
        }
        if gives {
            let made = answered(&tale, &[], &[(id, "reckoned")]).await;
            let jq = steps(&made)["s2"]["amount"]["$from"]["jq"].as_str().unwrap().to_owned();
            assert!(open(&made).is_empty() && jq.starts_with(". | ."), "{jq}");
        }
    }
}
