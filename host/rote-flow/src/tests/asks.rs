//! What was asked before a write is its condition, or a question; never nothing.

use rote_types::{Clock as _, ResponseId};
use rote_workspace::Ask;
use serde_json::{Value, json};

use super::support::{Ticking, wish};
use super::tale::{Tale, notes, open, steps};
use crate::{CrystallizeRequest, Crystallized};

pub(super) fn plain(condition: &str, program: &str, held: bool) -> Ask {
    Ask {
        condition: serde_json::from_value(json!(condition)).unwrap(),
        response: ResponseId(1),
        others: Vec::new(),
        programs: vec![program.to_owned()],
        comparison: None,
        wanted: None,
        held,
    }
}

fn compared(program: &str, comparison: &str, wanted: &str, held: bool) -> Ask {
    Ask {
        comparison: serde_json::from_value(json!(comparison)).unwrap(),
        wanted: Some(wanted.to_owned()),
        ..plain("compare", program, held)
    }
}

pub(super) fn asks(tale: &Tale, ask: &Ask) {
    tale.fixture.workspace.log_ask(ask, Ticking::default().now()).unwrap();
}

fn answer() -> Value {
    json!({"items": [], "title": "b", "count": 3, "none": null, "object": {}, "text": "", "tags": ["a"], "ids": [1, 2]})
}

/// One answer, what was asked of it, and a comment.
async fn told(ask: &Ask) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), answer()).await;
    asks(&tale, ask);
    tale.call("addComment", json!({"issue_id": 7, "body": "Seen"}), json!({"id": 1})).await;
    tale
}

pub(super) fn when(made: &Crystallized, step: &str) -> Value {
    let step = made.plan.steps.iter().find(|one| one.id == step).unwrap();
    serde_json::to_value(&step.when).unwrap()
}

/// A comparison as `jq op right`.
pub(super) fn short(when: &Value) -> String {
    let sides = &when["compare"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {} {}", text(&sides["left"]["$from"]["jq"]), text(&sides["op"]), sides["right"])
}

#[tokio::test]
async fn each_ask_is_read_as_the_workspace_answered_it() {
    let nothing = |program: &str| {
        format!("[{program} | select(. != null and . != \"\" and . != [] and . != {{}})] | length eq 0")
    };
    for (ask, wanted) in [
        (plain("is-empty", ".none", true), nothing(".none")),
        (plain("is-empty", ".text", true), nothing(".text")),
        (plain("is-empty", ".object", true), nothing(".object")),
        (plain("is-empty", ".items[]", true), nothing(".items[]")),
        (compared(".title", "gt", "a", true), ".title gt \"a\"".to_owned()),
        (compared(".title", "lt", "a", false), ".title ge \"a\"".to_owned()),
        (compared(".title", "eq", "\"b\"", true), ".title eq \"b\"".to_owned()),
        (compared(".title", "eq", "\"c\"", false), ".title ne \"c\"".to_owned()),
        (compared(".count", "eq", "3.0", true), ".count eq 3".to_owned()),
        (compared(".count", "gt", " 2", true), ".count gt 2".to_owned()),
        (compared(".none", "eq", "open", false), ".none ne \"open\"".to_owned()),
        (compared(".tags", "contains", "a", true), ".tags contains \"a\"".to_owned()),
        (compared(".ids", "contains", "2", true), ".ids contains 2".to_owned()),
        (
            Ask { wanted: Some("number".to_owned()), ..plain("is-type", ".count", true) },
            "[.count] | .[0] | type eq \"number\"".to_owned(),
        ),
        (
            Ask { programs: vec![".title".to_owned(), ".none".to_owned()], ..plain("expect", "", false) },
            "[[.title], [.none]] | all(length > 0 and all) eq false".to_owned(),
        ),
    ] {
        let made = told(&ask).await.made(&[]).await;
        assert_eq!((short(&when(&made, "s2")), open(&made)), (wanted, vec![]), "{ask:?}");
    }
    let made = told(&compared(".ids", "contains", "9", false)).await.made(&[]).await;
    assert_eq!(short(&when(&made, "s2")["not"]), ".ids contains 9");
}

#[tokio::test]
async fn what_is_not_a_condition_is_asked() {
    for ask in [
        compared(".title", "match", "^b", true),
        compared(".items", "contains", "3", false),
        plain("is-empty", ".title", true),
        Ask { response: ResponseId(9), ..plain("exists", ".title", true) },
        plain("newer", ".title", true),
        Ask { wanted: Some("b".to_owned()), ..plain("compare", ".title", true) },
    ] {
        let tale = told(&ask).await;
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), when(&made, "s2")), (vec!["when:s2"], Value::Null), "{ask:?}");
        assert!(made.frontmatter.questions[0].writes);
        let made = tale.answered_with(&[("when:s2", "no")]).await.unwrap();
        assert_eq!(open(&made), [""; 0]);
        let made = tale.answered_with(&[("when:s2", "skip")]).await.unwrap();
        assert!(made.plan.steps.iter().all(|step| step.id != "s2"));
        let error = tale.answered_with(&[("when:s2", "maybe")]).await.unwrap_err().to_string();
        assert!(error.contains("`when:s2` is not answered by `maybe`: say no or skip"), "{error}");
    }
    let tale = told(&plain("exists", ".title", true)).await;
    asks(&tale, &compared(".title", "match", "^b", true));
    let error = tale.answered_with(&[("when:s2", "maybe")]).await.unwrap_err().to_string();
    assert!(error.contains("`when:s2` is not answered by `maybe`: say no"), "{error}");
}

#[tokio::test]
async fn what_can_be_read_stays_beside_what_cannot() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), answer()).await;
    asks(&tale, &compared(".title", "match", "^b", true));
    asks(&tale, &plain("exists", ".title", true));
    tale.call("addComment", json!({"issue_id": 7, "body": "Seen"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!(
        (open(&made), short(&when(&made, "s2"))),
        (vec!["when:s2"], "[.title | select(. != null)] | length gt 0".to_owned())
    );
    let made = tale.answered_with(&[("when:s2", "rest")]).await.unwrap();
    assert!(open(&made).is_empty() && !when(&made, "s2").is_null());
    let made = tale.answered_with(&[("when:s2", "no")]).await.unwrap();
    assert!(open(&made).is_empty() && when(&made, "s2").is_null());
}

#[tokio::test]
async fn a_write_that_was_refused_first_keeps_its_condition() {
    let comment = json!({"issue_id": 7, "body": "Seen"});
    let issue = json!({"title": "Seen"});
    for (between, arguments, asked) in [("addComment", &comment, false), ("createIssue", &issue, true)] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({}), answer()).await;
        asks(&tale, &plain("is-empty", ".items", true));
        tale.fails(between, arguments.clone()).await;
        asks(&tale, &plain("is-empty", ".items", true));
        tale.call("addComment", comment.clone(), json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        assert_eq!((short(&when(&made, "s3")).as_str(), open(&made).is_empty()), (".items | length eq 0", !asked));
    }
}

#[tokio::test]
async fn writes_that_were_decided_one_by_one_are_not_a_loop() {
    let issues = json!({"items": [{"id": 41, "done": true}, {"id": 42, "done": true}]});
    let patch = |index: usize| json!({"issue_id": format!("@1{{.items[{index}].id}}"), "state": "closed"});
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues.clone()).await;
    for index in 0..2 {
        asks(&tale, &plain("expect", &format!(".items[{index}].done"), true));
        tale.call("updateIssue", patch(index), json!({"id": index})).await;
    }
    let made = tale.made(&[]).await;
    for (step, program) in [("s2", ".items[0].done"), ("s3", ".items[1].done")] {
        assert_eq!(short(&when(&made, step)), format!("[{program}] | length > 0 and all eq true"));
    }
    assert!(made.plan.steps.iter().all(|step| step.for_each.is_none()));

    // One ask of all before the first is for all.
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues).await;
    asks(&tale, &plain("expect", ".items | length < 9", true));
    for index in 0..2 {
        tale.call("updateIssue", patch(index), json!({"id": index})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!((made.plan.steps.len(), made.plan.steps[1].for_each.is_some()), (2, true));
    assert_eq!(short(&when(&made, "s2")), "[.items | length < 9] | length > 0 and all eq true");
}

#[tokio::test]
async fn a_look_at_another_member_of_what_the_write_reads_is_a_condition() {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "reviewed_at": "2026-01-01"})).await;
    asks(&tale, &plain("exists", ".reviewed_at", true));
    tale.call("addComment", json!({"issue_id": "@1{.id}", "body": "Seen"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!(short(&when(&made, "s2")), "[.reviewed_at | select(. != null)] | length gt 0");
}

#[tokio::test]
async fn a_thing_stands_for_one_that_is_made_however_it_was_not_found() {
    for (program, none, first) in
        [(".items[]", json!({"items": []}), ".items[0].id"), (".items", json!({}), "[.items] | flatten(1)[0].id")]
    {
        let mut tale = Tale::new();
        tale.call("searchContacts", json!({"email": "new@acme.test"}), none).await;
        asks(&tale, &plain("is-empty", program, true));
        tale.call("createEvent", json!({"title": "new@acme.test"}), json!({"id": "ev_7"})).await;
        tale.call("updateEvent", json!({"event_id": "@2{.id}", "title": "x"}), json!({"id": "ev_7"})).await;
        tale.call("searchContacts", json!({"q": "x"}), json!({"items": [{"id": "ev_9"}]})).await;
        let made = tale.made(&[]).await;
        assert_eq!(steps(&made)["s3"]["event_id"]["$default"][1]["$from"]["jq"], json!(first));
        assert_eq!(open(&made), [""; 0]);
    }
}

#[tokio::test]
async fn a_question_says_whether_a_write_depends_on_it() {
    for writes in [true, false] {
        let mut tale = Tale::new();
        let items = json!({"items": [{"id": 41, "title": "a"}, {"id": 42, "title": "b"}]});
        tale.call("listIssues", json!({}), items).await;
        tale.call("getIssue", json!({"issue_id": "@1{.items[1].id}"}), json!({"id": 42, "title": "b"})).await;
        if writes {
            tale.call("addComment", json!({"issue_id": "@2{.id}", "body": "Seen"}), json!({"id": 1})).await;
        }
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), made.frontmatter.questions[0].writes), (vec!["pick:s2/issue_id"], writes));
        if !writes {
            let made = tale.answered_with(&[("pick:s2/issue_id", "skip")]).await.unwrap();
            assert_eq!((open(&made), made.plan.steps.len()), (vec![], 1));
        }
    }
}

#[tokio::test]
async fn a_word_that_no_question_has_is_refused_and_all_is_for_all() {
    let mut tale = Tale::new();
    let items: Vec<Value> =
        (41..44).map(|id| json!({"id": id, "state": if id == 42 { "done" } else { "open" }})).collect();
    tale.call("listIssues", json!({}), json!({"items": items})).await;
    for id in [41, 43] {
        tale.call("addComment", json!({"issue_id": id, "body": "Done"}), json!({"id": 900})).await;
    }
    let error = tale.answered_with(&[("loop:s2", "all")]).await.unwrap_err().to_string();
    assert!(error.contains("`loop:s2` cannot be `all`: s2 and those like it took 2 of 3 items"), "{error}");
    let mut other = Tale::new();
    other.call("listIssues", json!({}), json!({"items": [{"id": 41}, {"id": 42}, {"id": 43}]})).await;
    for id in [41, 43] {
        other.call("addComment", json!({"issue_id": id, "body": "Done"}), json!({"id": 900})).await;
    }
    let error = other.answered_with(&[("loop:s2", "filter")]).await.unwrap_err().to_string();
    assert!(error.contains("`loop:s2` cannot be `filter`: nothing tells"), "{error}");
    for (id, word) in [("source:s2/issue_id", "alwyas"), ("pick:s2/issue_id", "third"), ("source:s2/body", "no")] {
        let error = tale.answered_with(&[("loop:s2", "no"), (id, word)]).await.unwrap_err().to_string();
        assert!(error.contains(&format!("`{id}` is not answered by `{word}`: say ")), "{error}");
    }
}

#[tokio::test]
async fn a_repetition_that_was_said_not_to_be_one_can_be_one_again() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": [{"id": 41}, {"id": 42}]})).await;
    for index in 0..2 {
        let arguments = json!({"issue_id": format!("@1{{.items[{index}].id}}"), "body": "Done"});
        tale.call("addComment", arguments, json!({"id": 900 + index})).await;
    }
    let looped = |made: &Crystallized| made.plan.steps[1].for_each.is_some();
    assert!(!looped(&tale.answered_with(&[("loop:s2", "no")]).await.unwrap()));
    assert!(looped(&tale.answered_with(&[("loop:s2", "all")]).await.unwrap()));
}

#[tokio::test]
async fn more_questions_than_anybody_reads_are_all_asked() {
    let mails: Vec<String> = (0..60).map(|number| format!("user{number}@acme.test")).collect();
    let items: Vec<Value> = mails.iter().map(|mail| json!({"email": mail})).collect();
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": items})).await;
    // As a list they would be asked together.
    let labels: serde_json::Map<String, Value> =
        (0..).zip(&mails).map(|(number, mail): (u32, _)| (format!("l{number}"), json!(mail))).collect();
    tale.call("createIssue", json!({"title": "x", "labels": labels}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made).len(), 60);
}

#[tokio::test]
async fn what_a_query_looked_for_in_vain_is_made_only_then_if_the_person_says_so() {
    let labels = || json!({"items": [{"id": 4, "title": "bug"}, {"id": 5, "title": "later"}]});
    let chosen = ".items[] | select(.title == \"triage\") | .id";
    let some = |program: &str| {
        format!("[{program} | select(. != null and . != \"\" and . != [] and . != {{}})] | length eq 0")
    };
    // What is called so but for capitals stops the run.
    let alike = "[.items[] | select((.title | strings | ascii_downcase) == (\"triage\" | ascii_downcase))]";
    let stop = "error(\"there is `\" + .[0].title + \"`, and what was looked for is `\" + \"triage\" + \"`: is it the same?\")";
    let guarded = some(&format!(
        "[(.items[] | select(.title == \"triage\"))] as $so | {alike} | if $so == [] and . != [] then {stop} else $so[] end"
    ));
    for (program, wanted) in [
        (chosen.to_owned(), guarded.clone()),
        (format!("first({chosen})"), some(&format!("first({chosen})"))),
        (format!("[{chosen}]"), guarded.clone()),
        (format!("[{chosen}] | length"), guarded.clone()),
        (format!("[{chosen}][0]"), guarded.clone()),
        ("any(.items[]; .title == \"triage\")".to_owned(), "any(.items[]; .title == \"triage\") eq false".to_owned()),
        ("[.items[].title] | index(\"triage\")".to_owned(), some("[.items[].title] | index(\"triage\")")),
        (
            "[.items[].title] | contains([\"triage\"])".to_owned(),
            "[.items[].title] | contains([\"triage\"]) eq false".to_owned(),
        ),
        (
            ".items[].title == \"triage\"".to_owned(),
            "[.items[].title == \"triage\" | select(.)] | length eq 0".to_owned(),
        ),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({}), labels()).await;
        tale.query(1, &program);
        tale.call("createIssue", json!({"title": "triage"}), json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), steps(&made)["s1"].is_null()), (vec!["when:s2"], true), "{program}");
        let made = tale.answered_with(&[("when:s2", "no")]).await.unwrap();
        assert_eq!((open(&made), when(&made, "s2")), (vec![], Value::Null), "{program}");
        let made = tale.answered_with(&[("when:s2", "yes")]).await.unwrap();
        assert_eq!((open(&made), short(&when(&made, "s2"))), (vec![], wanted), "{program}");
        assert!(steps(&made)["s1"].is_object(), "{program}");
    }
}

#[tokio::test]
async fn a_parameter_is_looked_for_where_its_value_was() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": [{"id": 4, "title": "bug"}]})).await;
    tale.query(1, ".items[] | select(.title == \"triage\") | .id");
    tale.call("createIssue", json!({"title": "triage"}), json!({"id": 9})).await;
    let answers = [("when:s2".to_owned(), "yes".to_owned())].into();
    let request = crate::CrystallizeRequest { answers, ..super::support::wish(&[("title", Some("triage"))]) };
    let made = tale.wish(&request).await.unwrap();
    let left = &when(&made, "s2")["compare"]["left"]["$from"];
    assert!(left["jq"].as_str().unwrap().contains("select(.title == $title)"), "{left}");
    assert_eq!(left["with"]["title"], json!({"$param": "title"}));
}

#[tokio::test]
async fn what_a_query_found_or_another_one_looked_for_is_not_asked() {
    let labels = json!({"items": [{"id": 4, "title": "triage"}, {"id": 5, "title": "bug"}]});
    for (program, tool, arguments) in [
        (".items[] | select(.title == \"triage\") | .id", "createIssue", json!({"title": "triage"})),
        ("[.items[].title] | index(\"triage\")", "createIssue", json!({"title": "triage"})),
        (".items[] | select(.title == \"other\") | .id", "createIssue", json!({"title": "triage"})),
        (".items[] | select(.title == \"other\") | .id", "createIssue", json!({"title": "it", "text": "other"})),
        (".items[] | select(.title == \"other\") | .id", "updateEvent", json!({"event_id": 4, "title": "other"})),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({}), labels.clone()).await;
        tale.query(1, program);
        tale.call(tool, arguments, json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        assert!(!open(&made).contains(&"when:s2"), "{program}");
    }
}

fn of_outcome(condition: &str, of: &[u64], held: bool) -> Ask {
    let mut of = of.iter().map(|id| ResponseId(*id));
    let response = of.next().unwrap();
    Ask { response, others: of.collect(), programs: Vec::new(), ..plain(condition, "", held) }
}

#[tokio::test]
async fn a_write_that_was_made_because_a_call_succeeded_waits_for_that_call() {
    for (condition, of, held) in [
        ("is-error", vec![2], false),
        ("is-auth-error", vec![2], false),
        ("any-error", vec![1, 2], false),
        ("any-auth-error", vec![1, 2], false),
        ("all-success", vec![1, 2], true),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({}), answer()).await;
        tale.call("getIssue", json!({"issue_id": 9}), json!({"id": 9})).await;
        asks(&tale, &of_outcome(condition, &of, held));
        tale.call("createIssue", json!({"title": "Seen"}), json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        let step = made.plan.steps.last().unwrap();
        let wanted: Vec<String> = of.iter().map(|id| format!("s{id}")).collect();
        assert_eq!((&step.needs, open(&made)), (&wanted, vec![]), "{condition}");
        assert!(notes(&made).iter().any(|note| note.starts_with("s3 only when s")), "{:?}", notes(&made));
        let made = tale.answered_with(&[("when:s3", "no")]).await.unwrap();
        assert_eq!(made.plan.steps.len(), 1, "{condition}");
    }
}

#[tokio::test]
async fn a_write_that_was_made_because_a_call_failed_is_asked() {
    for (condition, of, held) in [
        ("is-error", vec![1], true),
        ("is-auth-error", vec![1], false),
        ("any-error", vec![1, 2], true),
        ("all-success", vec![2, 1], false),
        ("is-error", vec![2], true),
        ("changed", vec![2, 2], true),
    ] {
        let mut tale = Tale::new();
        tale.fails("getIssue", json!({"issue_id": 9})).await;
        tale.call("listIssues", json!({}), answer()).await;
        asks(&tale, &of_outcome(condition, &of, held));
        tale.call("createIssue", json!({"title": "Seen"}), json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), ["when:s3"], "{condition}");
        assert!(made.frontmatter.questions[0].writes && made.report.questions[0].taken == "no");
        let made = tale.answered_with(&[("when:s3", "no")]).await.unwrap();
        assert_eq!(open(&made), [""; 0]);
    }
}

#[tokio::test]
async fn a_write_that_failed_and_was_made_again_is_one_write() {
    let issue = json!({"title": "Seen"});
    for (again, asked) in [(issue.clone(), vec![]), (json!({"title": "Other"}), vec!["when:s3"])] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({}), answer()).await;
        tale.fails("createIssue", issue.clone()).await;
        asks(&tale, &of_outcome("is-error", &[2], true));
        tale.call("createIssue", again, json!({"id": 1})).await;
        assert_eq!(open(&tale.made(&[]).await), asked);
    }
}

#[tokio::test]
async fn writes_between_which_was_asked_whether_they_succeeded_are_a_loop() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": [{"id": 41}, {"id": 42}]})).await;
    for index in 0..2 {
        let arguments = json!({"issue_id": format!("@1{{.items[{index}].id}}"), "body": "Done"});
        let made = tale.call("addComment", arguments, json!({"id": 900 + index})).await;
        asks(&tale, &of_outcome("is-error", &[made], false));
    }
    let made = tale.made(&[]).await;
    assert_eq!((made.plan.steps.len(), made.plan.steps[1].for_each.is_some(), open(&made)), (2, true, vec![]));
}

#[tokio::test]
async fn a_write_behind_one_with_a_condition_is_asked_unless_it_waits_for_it() {
    let comment = |issue: u64| json!({"issue_id": issue, "body": "Seen"});
    // A read between them is for either.
    for read in [false, true] {
        let mut tale = told(&plain("is-empty", ".items", true)).await;
        if read {
            tale.call("getIssue", json!({"issue_id": 8}), json!({"id": 8, "state": "open"})).await;
        }
        tale.call("addComment", comment(8), json!({"id": 2})).await;
        tale.call("addComment", comment(9), json!({"id": 3})).await;
        let second = if read { "when:s4" } else { "when:s3" };
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), [second, if read { "when:s5" } else { "when:s4" }], "{read}");
        let not = tale.answered_with(&[(second, "no")]).await.unwrap();
        assert_eq!(open(&not), [""; 0], "what follows one that is made in each run is, too: {read}");
    }
    // What uses it waits for it anyway.
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), answer()).await;
    asks(&tale, &plain("is-empty", ".items", true));
    tale.call("createEvent", json!({"title": "New"}), json!({"id": "ev_7"})).await;
    tale.call("updateEvent", json!({"event_id": "@2{.id}", "title": "x"}), json!({"id": "ev_7"})).await;
    assert_eq!(open(&tale.made(&[]).await), [""; 0]);
}

#[tokio::test]
async fn a_condition_has_a_parameter_that_looks_like_a_number() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": [{"title": "1.4"}]})).await;
    asks(&tale, &plain("is-empty", "[.items[] | select(.title == \"1.6\")]", true));
    tale.call("createIssue", json!({"title": "1.6", "text": "Release 1.6"}), json!({"id": 3})).await;
    let made = |word: &str| {
        let answers = [("param:version".to_owned(), word.to_owned())].into();
        CrystallizeRequest { params: vec!["version=1.6".parse().unwrap()], answers, force: true, ..wish(&[]) }
    };
    let all = tale.wish(&made("all")).await.unwrap();
    let condition = when(&all, "s2").to_string();
    assert!(condition.contains("$version") && !condition.contains("1.6"), "{condition}");
    // Who says that one place is it leaves the condition as it was, and reads so.
    let one = tale.wish(&made("s2:/text")).await.unwrap();
    assert!(when(&one, "s2").to_string().contains("1.6"));
    assert!(notes(&one).contains(&"also in the query of s2: \"1.6\""), "{:?}", notes(&one));
}
