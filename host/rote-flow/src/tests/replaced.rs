//! A list that was sent with other elements than the one that was read, or in another order, is a question.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::eye::elsewhere;
use super::support::wish;
use super::tale::{Tale, from, notes, open, steps};
use crate::{CrystallizeRequest, Crystallized};

const MAPPED: &str = "map(if . == \"needs-triage\" then \"triaged\" else . end)";
const MOVED: &str = ". - [\"needs-triage\"] | . + ([\"triaged\"] - .)";

fn issue(id: u64, labels: &[&str]) -> Value {
    let labels: Vec<Value> = labels.iter().map(|name| json!({"id": 900 + name.len(), "name": name})).collect();
    json!({"id": id, "title": format!("Issue {id}"), "labels": labels})
}

async fn told(tool: &str, sent: Value) -> Tale {
    let mut tale = Tale::new();
    let read = issue(3, &["needs-triage", "ui", "bug"]);
    tale.call("getIssue", json!({"issue_id": 3}), read).await;
    tale.call(tool, sent, json!({"id": 3})).await;
    tale
}

async fn relabeled(sent: &[&str]) -> Tale {
    told("updateIssue", json!({"issue_id": 3, "labels": sent})).await
}

fn words(made: &Crystallized, id: &str) -> Vec<String> {
    let question = made.report.questions.iter().find(|question| question.id.to_string() == id);
    question.into_iter().flat_map(|question| &question.answers).map(|answer| answer.word.clone()).collect()
}

fn named(program: &str) -> String {
    format!("@1{{[.labels[].name] | {program}}}")
}

#[tokio::test]
async fn a_list_of_which_an_element_was_replaced_is_asked() {
    let front = ". - [\"needs-triage\"] | [\"triaged\"] + (. - [\"triaged\"])";
    let two = "map(if . == \"needs-triage\" then \"triaged\" elif . == \"bug\" then \"defect\" else . end)";
    for (sent, programs) in [
        (vec!["triaged", "ui", "bug"], vec![front, MAPPED]),
        (vec!["ui", "bug", "triaged"], vec![MOVED]),
        (vec!["triaged", "ui", "defect"], vec![two]),
        (vec!["ui", "triaged"], vec![". - [\"needs-triage\",\"bug\"] | . + ([\"triaged\"] - .)"]),
        (vec!["triaged", "needs-triage", "ui", "bug"], vec!["[\"triaged\"] + (. - [\"triaged\"])"]),
        (vec!["bug", "triaged", "ui"], vec![]),
        (vec!["bug", "ui", "needs-triage"], vec!["reverse"]),
        (vec!["bug", "needs-triage", "ui"], vec!["sort"]),
        (vec!["ui", "needs-triage", "bug"], vec![]),
        (vec!["bug", "ui"], vec![]),
    ] {
        let tale = relabeled(&sent).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), ["source:s2/labels"], "{sent:?}");
        let mut wanted: Vec<String> = programs.into_iter().map(named).collect();
        wanted.push("always".to_owned());
        assert_eq!(words(&made, "source:s2/labels"), wanted, "{sent:?}");
        for word in &wanted {
            let made = tale.answered_with(&[("source:s2/labels", word)]).await.unwrap();
            let jq = word.strip_prefix("@1{").and_then(|word| word.strip_suffix('}'));
            let labels = jq.map_or_else(|| json!(sent), |jq| from("s1", jq));
            assert_eq!((steps(&made)["s2"]["labels"].clone(), open(&made)), (labels, vec![]));
        }
    }
    // Who printed the names first is asked the same.
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 3}), issue(3, &["needs-triage", "ui", "bug"])).await;
    tale.query(1, "[.labels[].name]");
    let sent = json!({"issue_id": 3, "labels": ["triaged", "ui", "bug"]});
    tale.call("updateIssue", sent, json!({"id": 3})).await;
    assert_eq!(words(&tale.made(&[]).await, "source:s2/labels")[1], named(MAPPED));
}

/// The issue 3 with these labels, as bare texts, relabeled.
async fn bare(had: &[&str], (tool, sent): (&str, Value)) -> Crystallized {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 3}), json!({"id": 3, "labels": had})).await;
    tale.call(tool, sent, json!({"id": 3})).await;
    tale.made(&[]).await
}

#[tokio::test]
async fn a_list_that_goes_back_with_nothing_of_what_was_there_is_asked() {
    let mapped = "| map(if . == \"nt\" then \"triaged\" else . end)";
    for (had, sent, programs) in [
        (vec!["nt"], vec!["triaged"], vec!["| . - [\"nt\"] | . + ([\"triaged\"] - .)", mapped]),
        (vec!["stale"], vec![], vec!["- [\"stale\"]"]),
        (vec!["bug", "ui"], vec![], vec!["- [\"bug\",\"ui\"]"]),
        (vec!["nt", "stale"], vec!["triaged"], vec!["| . - [\"nt\",\"stale\"] | . + ([\"triaged\"] - .)"]),
        (vec!["nt"], vec!["triaged", "p1"], vec!["| . - [\"nt\"] | . + ([\"triaged\",\"p1\"] - .)"]),
        (vec![], vec!["q4"], vec!["| . + ([\"q4\"] - .)"]),
    ] {
        let made = bare(&had, ("updateIssue", json!({"issue_id": 3, "labels": sent}))).await;
        assert_eq!(open(&made), ["source:s2/labels"], "{had:?} {sent:?}");
        let mut wanted: Vec<String> = programs.iter().map(|jq| format!("@1{{.labels {jq}}}")).collect();
        wanted.push("always".to_owned());
        assert_eq!(words(&made, "source:s2/labels"), wanted, "{had:?} {sent:?}");
    }
    // Of an API that answers with objects it is what they are called, also where none is left.
    for (sent, first) in [
        (json!(["done"]), named(". - [\"needs-triage\",\"ui\",\"bug\"] | . + ([\"done\"] - .)")),
        (json!([]), "@1{[.labels[].name] - [\"needs-triage\",\"ui\",\"bug\"]}".to_owned()),
    ] {
        let made = told("updateIssue", json!({"issue_id": 3, "labels": sent})).await.made(&[]).await;
        assert_eq!(words(&made, "source:s2/labels"), [first, "always".to_owned()]);
    }
    // What is added to a list by a call of its own, or what another thing gets, is not that list.
    for write in [
        ("addLabels", json!({"issue_id": 3, "labels": ["p1"]})),
        ("createIssue", json!({"title": "Again", "labels": ["p1"]})),
        ("createIssue", json!({"title": "Part", "issue": 3, "labels": ["p1"]})),
        ("updateIssue", json!({"issue_id": 8, "labels": ["p1"]})),
    ] {
        assert_eq!(words(&bare(&["bug"], write.clone()).await, "source:s2/labels"), [""; 0], "{write:?}");
    }
    // An empty list is what it was.
    let same = bare(&[], ("updateIssue", json!({"issue_id": 3, "labels": []}))).await;
    assert_eq!(open(&same), [""; 0]);
}

/// Several issues of a list, each with its labels as bare texts, relabeled.
async fn each(all: &[(&[&str], &[&str])]) -> Tale {
    let mut tale = Tale::new();
    let issues = || (21..).zip(all);
    let items: Vec<Value> = issues().map(|(id, (had, _))| json!({"id": id, "labels": had})).collect();
    tale.call("listIssues", json!({"project": "web"}), json!({"items": items})).await;
    for (id, (_, sent)) in issues() {
        tale.call("updateIssue", json!({"issue_id": id, "labels": sent}), json!({"id": id, "labels": sent})).await;
    }
    tale
}

#[tokio::test]
async fn what_was_changed_of_each_with_nothing_left_of_some_is_one_question_and_a_loop() {
    let added = "map(if . == \"nt\" then \"triaged\" else . end) | . + ([\"q4\"] - .)";
    for (all, program) in [
        (vec![(&["nt"][..], &["triaged"][..]), (&["nt"], &["triaged"])], "| . - [\"nt\"] | . + ([\"triaged\"] - .)"),
        (vec![(&[], &["q4"]), (&[], &["q4"])], "| . + ([\"q4\"] - .)"),
        (vec![(&["stale", "bug"], &["bug"]), (&["perf", "stale"], &["perf"]), (&["stale"], &[])], "- [\"stale\"]"),
        (vec![(&["stale"], &[]), (&["perf", "stale"], &["perf"]), (&[], &[])], "- [\"stale\"]"),
        (
            vec![(&["nt", "ui"], &["triaged", "ui", "q4"]), (&["nt", "bug"], &["triaged", "bug", "q4"])],
            &*format!("| {added}"),
        ),
        (vec![(&["nt", "ui"], &["triaged", "ui", "q4"]), (&["nt"], &["triaged", "q4"])], &*format!("| {added}")),
    ] {
        let tale = each(&all).await;
        let made = tale.made(&[]).await;
        let asked: Vec<&str> = open(&made).into_iter().filter(|id| id.starts_with("source")).collect();
        assert_eq!(asked, ["source:s2/labels"], "{all:?}");
        let word = format!("@1{{.items[0] | .labels {program}}}");
        let offered = words(&made, "source:s2/labels");
        assert!(offered.contains(&word), "{word}: {offered:?}");
        assert!(offered.iter().all(|word| word == "always" || word.starts_with("@1{")), "{offered:?}");
        let made = tale.answered_with(&[("source:s2/labels", &word)]).await.unwrap();
        let each = json!({"issue_id": {"$item": ".id"}, "labels": {"$item": format!(".labels {program}")}});
        assert_eq!((open(&made), steps(&made)["s2"].clone()), (vec![], each), "{all:?}");
    }
}

#[tokio::test]
async fn the_list_of_the_own_thing_stands_before_those_of_others() {
    // The second was made from the first by no program of its own: nothing of the first is offered.
    let tale = each(&[(&["nt", "ui"], &["x", "ui", "y"]), (&["b", "a", "c"], &["c", "a", "ui", "b"])]).await;
    let made = tale.made(&[]).await;
    for id in ["source:s2/labels", "source:s3/labels"] {
        let offered = words(&made, id);
        assert!(offered.iter().all(|word| word == "always" || word.starts_with("@1{.items[")), "{offered:?}");
    }
    // Where nothing is offered, the question says what can be given.
    let question = made.report.questions.iter().find(|question| question.id.to_string() == "source:s3/labels").unwrap();
    assert_eq!(question.answers.len(), 1);
    assert!(question.ask.contains("`@N{JQ}`"), "{}", question.ask);
    // Each of two that were read alone has its own.
    let mut tale = Tale::new();
    for (id, labels) in [(3, ["nt", "ui"]), (5, ["nt", "bug"])] {
        tale.call("getIssue", json!({"issue_id": id}), json!({"id": id, "labels": labels})).await;
    }
    tale.call("updateIssue", json!({"issue_id": 3, "labels": ["ui"]}), json!({"id": 3, "labels": ["ui"]})).await;
    tale.call("updateIssue", json!({"issue_id": 5, "labels": ["bug"]}), json!({"id": 5, "labels": ["bug"]})).await;
    let made = tale.made(&[]).await;
    assert_eq!(words(&made, "source:s3/labels"), ["@1{.labels - [\"nt\"]}", "always"]);
    assert_eq!(words(&made, "source:s4/labels"), ["@2{.labels - [\"nt\"]}", "always"]);
}

#[tokio::test]
async fn of_two_programs_the_one_comes_first_that_writes_nothing_twice() {
    let made = bare(&["ui", "nt"], ("updateIssue", json!({"issue_id": 3, "labels": ["ui", "triaged"]}))).await;
    let moved = "@1{.labels | . - [\"nt\"] | . + ([\"triaged\"] - .)}";
    assert_eq!(words(&made, "source:s2/labels")[0], moved);
}

#[tokio::test]
async fn the_list_of_another_thing_has_to_have_most_of_it() {
    for (sent, asked) in
        [(json!(["triaged", "ui", "bug"]), vec!["source:s2/labels"]), (json!(["backend", "urgent", "bug"]), vec![])]
    {
        let made = told("createIssue", json!({"title": "Again", "labels": sent})).await.made(&[]).await;
        assert_eq!(open(&made), asked, "{sent}");
    }
}

#[tokio::test]
async fn the_list_of_the_only_thing_is_not_that_of_several() {
    let mut tale = Tale::new();
    let items = json!({"items": [issue(3, &["needs-triage", "ui", "bug"])]});
    tale.call("listIssues", json!({"project": "web"}), items).await;
    tale.call("updateIssue", json!({"issue_id": 3, "labels": ["ui", "bug"]}), json!({"id": 3})).await;
    let of_one = "@1{.items[] | [.labels[].name] - [\"needs-triage\"]}";
    assert_eq!(words(&tale.made(&[]).await, "source:s2/labels"), [of_one, "always"]);
}

#[tokio::test]
async fn what_was_replaced_and_what_by_may_be_parameters() {
    let tale = relabeled(&["triaged", "ui", "bug"]).await;
    let params = [("from", Some("needs-triage")), ("to", Some("triaged"))];
    // What is replaced stands nowhere before the question is answered.
    let made = tale.made(&params).await;
    assert_eq!(open(&made), ["source:s2/labels"]);
    assert!(notes(&made).iter().any(|note| note.starts_with("parameter `from` stands nowhere")), "{:?}", notes(&made));
    let answers = [("source:s2/labels".to_owned(), named(MAPPED))].into();
    let made = tale.wish(&CrystallizeRequest { answers, force: true, ..wish(&params) }).await.unwrap();
    let mut labels = from("s1", "[.labels[].name] | map(if . == $from then $to else . end)");
    labels["$from"]["with"] = json!({"from": {"$param": "from"}, "to": {"$param": "to"}});
    assert_eq!((steps(&made)["s2"]["labels"].clone(), open(&made)), (labels, vec![]));
}

/// Two issues of a list, each with its labels relabeled.
async fn both(second: &[&str], sent: [&[&str]; 2]) -> Tale {
    let mut tale = Tale::new();
    let items = [issue(5, second), issue(3, &["needs-triage", "ui", "bug"])];
    tale.call("listIssues", json!({"project": "web"}), json!({"items": items})).await;
    for (id, labels) in [5, 3].into_iter().zip(sent) {
        tale.call("updateIssue", json!({"issue_id": id, "labels": labels}), json!({"id": id})).await;
    }
    tale
}

#[tokio::test]
async fn a_label_that_was_replaced_of_each_of_a_list_is_asked_once_and_is_a_loop() {
    let all = ["triaged", "ui", "bug"];
    for (second, sent, program) in [
        (vec!["needs-triage", "bug"], [&["triaged", "bug"][..], &all], MAPPED),
        (vec!["bug", "needs-triage"], [&["bug", "triaged"], &all], MAPPED),
        (vec!["needs-triage"], [&["triaged"], &all], MAPPED),
        (vec!["bug", "needs-triage"], [&["bug", "triaged"], &["ui", "bug", "triaged"]], MOVED),
        (vec!["bug"], [&["bug"], &["ui", "bug"]], "- [\"needs-triage\"]"),
        (vec!["bug"], [&["bug", "hot"], &["needs-triage", "ui", "bug", "hot"]], ". + ([\"hot\"] - .)"),
    ] {
        let tale = both(&second, sent).await;
        let made = tale.made(&[]).await;
        let picks = ["pick:s2/issue_id", "pick:s3/issue_id"];
        assert_eq!(open(&made), [&["source:s2/labels"], &picks[..]].concat(), "{sent:?}");
        let list = "[.labels[].name]";
        let jq = if program.starts_with('-') { format!("{list} {program}") } else { format!("{list} | {program}") };
        let word = format!("@1{{.items[0] | {jq}}}");
        assert!(words(&made, "source:s2/labels").contains(&word), "{word}: {:?}", words(&made, "source:s2/labels"));
        let made = tale.answered_with(&[("source:s2/labels", &word)]).await.unwrap();
        assert_eq!(open(&made), [""; 0], "{sent:?}");
        let each = json!({"issue_id": {"$item": ".id"}, "labels": {"$item": jq}});
        assert_eq!((made.plan.steps.len(), steps(&made)["s2"].clone()), (2, each), "{sent:?}");
        let always = tale.answered_with(&[("source:s2/labels", "always")]).await.unwrap();
        assert_eq!((open(&always), steps(&always)["s3"]["labels"].clone()), (picks.to_vec(), json!(sent[1])));
    }
}

#[tokio::test]
async fn parameters_of_what_was_replaced_of_each_are_those_of_the_items() {
    let tale = both(&["needs-triage", "bug"], [&["triaged", "bug"], &["triaged", "ui", "bug"]]).await;
    let params = [("from", Some("needs-triage")), ("to", Some("triaged"))];
    let answers = [("source:s2/labels".to_owned(), format!("@1{{.items[0] | [.labels[].name] | {MAPPED}}}"))].into();
    let made = tale.wish(&CrystallizeRequest { answers, force: true, ..wish(&params) }).await.unwrap();
    let each = json!({"issue_id": {"$item": ".item.id"}, "labels": {"$item": ".made_1[]"}});
    assert_eq!((steps(&made)["s2"].clone(), open(&made)), (each, vec![]));
    let mapped = "[.labels[].name] | map(if . == $from then $to else . end)";
    let mut items = from("s1", &format!(".items[] | {{item: ., made_1: [{mapped}]}}"));
    items["$from"]["each"] = json!(true);
    items["$from"]["with"] = json!({"from": {"$param": "from"}, "to": {"$param": "to"}});
    assert_eq!(serde_json::to_value(&made.plan.steps[1].for_each).unwrap(), items);
}

/// Each of two issues is relabeled and then commented on, with this text of the item at that place.
async fn relabeled_and_told(project: &str, text: &dyn Fn(usize) -> String) -> (Tale, BTreeMap<String, String>) {
    let mut tale = Tale::new();
    let items = [issue(5, &["needs-triage", "bug"]), issue(3, &["needs-triage", "ui", "bug"])];
    tale.call("listIssues", json!({"project": project}), json!({"items": items})).await;
    for (at, (id, labels)) in
        [(5, json!(["triaged", "bug"])), (3, json!(["triaged", "ui", "bug"]))].into_iter().enumerate()
    {
        let update = json!({"issue_id": id, "labels": labels});
        let updated = tale.call("updateIssue", update, json!({"id": id, "rev": 70 + id})).await;
        let comment = json!({"issue_id": format!("@{updated}{{.id}}"), "body": text(at)});
        tale.call("addComment", comment, json!({"id": 900 + at})).await;
    }
    (tale, [("source:s2/labels".to_owned(), format!("@1{{.items[0] | [.labels[].name] | {MAPPED}}}"))].into())
}

#[tokio::test]
async fn a_parameter_of_what_was_replaced_of_each_is_bound_where_another_loop_takes_the_answers() {
    let (tale, answers) = relabeled_and_told("needs-triage", &|_| "Done".to_owned()).await;
    let params = [("from", Some("needs-triage")), ("to", Some("triaged"))];
    let made = tale.wish(&CrystallizeRequest { answers, force: true, ..wish(&params) }).await.unwrap();
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 3), "{:?}", notes(&made));
    let each = json!({"issue_id": {"$item": ".item.id"}, "labels": {"$item": ".made_1[]"}});
    assert_eq!(steps(&made)["s2"], each);
    assert_eq!(steps(&made)["s3"], json!({"issue_id": {"$item": ".id"}, "body": "Done"}));
    let there = json!({"items": [issue(7, &["blocked", "ui"])]});
    let wrote = elsewhere(&tale, &[there, json!({"id": 7})], &[("from", "blocked"), ("to", "free")]).await;
    let wanted = [r#"PATCH /issues/7 {"labels":["free","ui"]}"#, r#"POST /issues/7/comments {"body":"Done"}"#];
    assert_eq!(wrote, wanted);
}

#[tokio::test]
async fn a_program_on_the_item_that_a_parameter_does_not_reach_is_told() {
    let title = |at: usize| format!("@1{{.items[{at}].title}} is done");
    let params = [("from", Some("needs-triage"))];
    let (tale, answers) = relabeled_and_told("needs-triage", &title).await;
    let made = tale.wish(&CrystallizeRequest { answers, force: true, ..wish(&params) }).await.unwrap();
    assert!(notes(&made).contains(&"also in the query of s2: \"needs-triage\""), "{:?}", notes(&made));
    // Where it stands there alone, it is not a parameter.
    let (tale, answers) = relabeled_and_told("web", &title).await;
    let refused = tale.wish(&CrystallizeRequest { answers, force: true, ..wish(&params) }).await.unwrap_err();
    let chain = format!("{refused:?}");
    assert!(chain.contains("`needs-triage` stands only in the query of s2"), "{chain}");
}

#[tokio::test]
async fn an_item_that_was_changed_in_another_way_is_asked_by_itself() {
    let tale = both(&["needs-triage", "bug"], [&["triaged", "bug"], &["ui", "bug"]]).await;
    let made = tale.made(&[]).await;
    let asked: Vec<&str> = open(&made).into_iter().filter(|id| id.starts_with("source")).collect();
    assert_eq!(asked, ["source:s2/labels", "source:s3/labels"]);
    let of_second = words(&made, "source:s3/labels");
    assert_eq!(of_second, ["@1{.items[1] | [.labels[].name] - [\"needs-triage\"]}", "always"]);
    // Of the answer to the first nothing is said of the second.
    let word = words(&made, "source:s2/labels").remove(0);
    let made = tale.answered_with(&[("source:s2/labels", &word)]).await.unwrap();
    assert!(open(&made).contains(&"source:s3/labels"), "{:?}", open(&made));
}

#[tokio::test]
async fn a_label_that_was_replaced_on_two_pages_is_one_loop() {
    let mut tale = Tale::new();
    let page = |items: Value, next: Value| json!({"items": items, "next_page_token": next});
    let first = json!([issue(5, &["needs-triage", "bug"]), issue(3, &["needs-triage", "ui", "bug"])]);
    tale.call("listIssues", json!({"project": "web"}), page(first, json!("p2"))).await;
    let second = json!([issue(8, &["api", "needs-triage"])]);
    tale.call("listIssues", json!({"project": "web", "page_token": "p2"}), page(second, json!(null))).await;
    for (id, labels) in
        [(5, json!(["triaged", "bug"])), (3, json!(["triaged", "ui", "bug"])), (8, json!(["api", "triaged"]))]
    {
        tale.call("updateIssue", json!({"issue_id": id, "labels": labels}), json!({"id": id})).await;
    }
    let made = tale.made(&[]).await;
    let asked: Vec<&str> = open(&made).into_iter().filter(|id| id.starts_with("source")).collect();
    assert_eq!(asked, ["source:s3/labels"]);
    let word = format!("@1{{.items[0] | [.labels[].name] | {MAPPED}}}");
    let made = tale.answered_with(&[("source:s3/labels", &word)]).await.unwrap();
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{}", steps(&made));
}

#[tokio::test]
async fn a_number_of_a_list_is_the_same_however_it_is_written() {
    let line = |price: Value| json!({"sku": "A", "price": price});
    let order = json!({"id": 3, "labels": [line(json!(25.0)), line(json!(4.0))]});
    let new = json!({"sku": "B", "price": 2});
    for (sent, wanted) in [
        (json!([line(json!(25)), line(json!(4))]), ".labels".to_owned()),
        (json!([line(json!(25)), line(json!(4)), new]), format!(".labels | . + ([{new}] - .)")),
        (json!([line(json!(4))]), ".labels - [{\"sku\":\"A\",\"price\":25.0}]".to_owned()),
    ] {
        let mut tale = Tale::new();
        tale.call("getIssue", json!({"issue_id": 3}), order.clone()).await;
        tale.call("updateIssue", json!({"issue_id": 3, "labels": sent}), json!({"id": 3})).await;
        let word = format!("@1{{{wanted}}}");
        assert_eq!(words(&tale.made(&[]).await, "source:s2/labels"), [&word, "always"]);
        let made = tale.answered_with(&[("source:s2/labels", &word)]).await.unwrap();
        assert_eq!((steps(&made)["s2"]["labels"].clone(), open(&made)), (from("s1", &wanted), vec![]));
    }
}

#[tokio::test]
async fn each_list_of_several_things_gets_one_more_however_its_numbers_are_written() {
    let line = |sku: &str, price: Value| json!({"sku": sku, "price": price});
    let new = line("B", json!(2));
    let mut tale = Tale::new();
    let order = |id: u64, sku: &str| json!({"id": id, "labels": [line(sku, json!(25.0))]});
    tale.call("listIssues", json!({"project": "x"}), json!([order(5, "A"), order(3, "C")])).await;
    for (id, sku) in [(5, "A"), (3, "C")] {
        let sent = json!({"issue_id": id, "labels": [line(sku, json!(25)), new]});
        tale.call("updateIssue", sent, json!({"id": id})).await;
    }
    let program = format!(".labels | . + ([{new}] - .)");
    let word = format!("@1{{.[0] | {program}}}");
    assert_eq!(words(&tale.made(&[]).await, "source:s2/labels"), [&word, "always"]);
    let made = tale.answered_with(&[("source:s2/labels", &word)]).await.unwrap();
    assert_eq!(steps(&made)["s2"]["labels"], json!({"$item": program}), "{:?}", open(&made));
}

#[tokio::test]
async fn numbers_that_a_query_printed_are_those_that_were_typed_without_the_point() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 3}), json!({"id": 3, "prices": [{"n": 25.0}, {"n": 4.0}]})).await;
    tale.query(1, ".prices[].n");
    tale.call("createIssue", json!({"title": "Prices", "labels": [25, 4]}), json!({"id": 9})).await;
    assert_eq!(words(&tale.made(&[]).await, "source:s2/labels")[0], "@1{[.prices[].n]}");
}
