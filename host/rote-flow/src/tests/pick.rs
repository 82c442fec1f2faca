//! Items that are taken for what they are, not for where they stood.

use serde_json::{Value, json};

use super::tale::{Tale, notes, open, steps};

fn issues() -> Value {
    json!({"items": [{"id": 41, "title": "Fix login"}, {"id": 42, "title": "Crash"}, {"id": 43, "title": "Weekly report"}]})
}

fn taken(made: &crate::Crystallized) -> Value {
    steps(made)["s2"]["issue_id"]["$from"]["jq"].clone()
}

#[tokio::test]
async fn an_item_that_a_query_picked_is_taken_by_its_condition() {
    for (program, taken_by) in [
        (".items[] | select(.title==\"Weekly report\")", ".items[] | select(.title==\"Weekly report\") | .id"),
        (".items[] | select(.title==\"Weekly report\") | .id", ".items[] | select(.title==\"Weekly report\") | .id"),
        ("[.items[] | select(.id > 42)]", "[.items[] | select(.id > 42)] | .[] | .id"),
        (".items | sort_by(.title) | last | {id, title}", ".items | sort_by(.title) | last | {id, title} | .id"),
    ] {
        for typed in [json!(43), json!("@1{.items[2].id}")] {
            let mut tale = Tale::new();
            tale.call("listIssues", json!({}), issues()).await;
            tale.query(1, program);
            tale.call("addComment", json!({"issue_id": typed, "body": "Seen"}), json!({"id": 1})).await;
            let made = tale.made(&[]).await;
            assert_eq!(taken(&made), taken_by);
            assert!(open(&made).is_empty());
        }
    }
}

#[tokio::test]
async fn an_item_with_what_the_person_typed_is_taken_by_that() {
    let mut tale = Tale::new();
    tale.fails("createIssue", json!({"title": "Crash"})).await;
    tale.call("listIssues", json!({}), issues()).await;
    tale.call("updateIssue", json!({"issue_id": 42, "state": "open"}), json!({"id": 42})).await;
    tale.call("createIssue", json!({"title": "Crash"}), json!({"id": 50})).await;
    let made = tale.made(&[]).await;
    let jq = steps(&made)["s3"]["issue_id"]["$from"]["jq"].clone();
    assert_eq!(jq, ".items[] | select(.title == \"Crash\") | .id");
}

#[tokio::test]
async fn a_position_that_nothing_explains_is_asked() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues()).await;
    tale.call("addComment", json!({"issue_id": 42, "body": "Seen"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!((taken(&made), open(&made)), (json!(".items[1].id"), vec!["pick:s2/issue_id"]));
    let words: Vec<&str> = made.report.questions[0].answers.iter().map(|one| one.word.as_str()).collect();
    assert_eq!(words, ["position", "@1{.items[] | select(.title == \"Crash\") | .id}", "skip"]);
    let made = tale.answered_with(&[("pick:s2/issue_id", words[1])]).await.unwrap();
    assert_eq!((taken(&made), open(&made)), (json!(".items[] | select(.title == \"Crash\") | .id"), vec![]));
    let made = tale.answered_with(&[("pick:s2/issue_id", "position")]).await.unwrap();
    assert_eq!((taken(&made), open(&made)), (json!(".items[1].id"), vec![]));
    assert!(tale.answered_with(&[("pick:s2/issue_id", "@1{.items[0].id}")]).await.is_err());
}

#[tokio::test]
async fn who_takes_the_same_item_is_asked_once() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues()).await;
    tale.call("getIssue", json!({"issue_id": 42}), json!({"id": 42})).await;
    tale.call("addComment", json!({"issue_id": 42, "body": "Seen"}), json!({"id": 1})).await;
    tale.call("createIssue", json!({"title": "@1{.items[1].title}", "issue": "@2{.id}"}), json!({"id": 50})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["pick:s2/issue_id"]);
    let asked = &made.report.questions[0];
    assert!(asked.ask.starts_with("s2 and s3 and s4 take item 2 of 3 of s1") && asked.writes, "{asked:?}");
    let by_title = "@1{.items[] | select(.title == \"Crash\") | .id}";
    let made = tale.answered_with(&[("pick:s2/issue_id", by_title)]).await.unwrap();
    assert_eq!(open(&made), [""; 0]);
    let jq = |step: &str, pointer: &str| steps(&made)[step].pointer(pointer).unwrap()["$from"]["jq"].clone();
    for (step, pointer, field) in [("s2", "/issue_id", "id"), ("s3", "/issue_id", "id"), ("s4", "/title", "title")] {
        assert_eq!(jq(step, pointer), format!(".items[] | select(.title == \"Crash\") | .{field}"), "{step}");
    }
    // Who says it of one of them means that one.
    let made = tale.answered_with(&[("pick:s2/issue_id", by_title), ("pick:s3/issue_id", "position")]).await.unwrap();
    assert_eq!(steps(&made)["s3"]["issue_id"]["$from"]["jq"], ".items[1].id");
}

#[tokio::test]
async fn the_first_one_stays_the_first_where_a_person_wrote_so_and_the_only_one_the_only_one() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues()).await;
    tale.call("addComment", json!({"issue_id": "@1{.items[0].id}", "body": "Seen"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!((taken(&made), notes(&made)), (json!(".items[0].id"), vec!["s2 takes the first of 3 items of s1"]));
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": [{"id": 41, "title": "Fix"}]})).await;
    tale.call("addComment", json!({"issue_id": 41, "body": "Seen"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!((taken(&made), open(&made)), (json!(".items[] | .id"), vec![]));
    let made = tale.answered_with(&[("pick:s2/issue_id", "position")]).await.unwrap();
    assert_eq!((taken(&made), open(&made)), (json!(".items[0].id"), vec![]));
}

#[tokio::test]
async fn the_last_one_is_asked_as_the_first_one_is() {
    for taken_by in [".items[0].id", ".items[-1].id", ".items | last | .id"] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({}), issues()).await;
        let id = format!("@1{{{taken_by}}}");
        tale.call("addComment", json!({"issue_id": id, "body": "Seen"}), json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        assert_eq!((taken(&made), open(&made)), (json!(taken_by), vec!["pick:s2/issue_id"]), "{taken_by}");
        let words: Vec<&str> = made.report.questions[0].answers.iter().map(|one| one.word.as_str()).collect();
        assert_eq!((words[0], *words.last().unwrap()), ("position", "skip"));
        let title = if taken_by == ".items[0].id" { "Fix login" } else { "Weekly report" };
        let by_title = format!("@1{{.items[] | select(.title == \"{title}\") | .id}}");
        // What a program takes is not looked up.
        assert_eq!(words.contains(&by_title.as_str()), !taken_by.contains("last"), "{words:?}");
        let made = tale.answered_with(&[("pick:s2/issue_id", "position")]).await.unwrap();
        assert_eq!((taken(&made), open(&made)), (json!(taken_by), vec![]));
    }
}

#[tokio::test]
async fn a_place_from_the_end_within_an_item_stays_that() {
    let mut tale = Tale::new();
    let issue =
        |id: u64, title: &str| json!({"id": id, "title": title, "notes": [{"id": id * 10}, {"id": id * 10 + 1}]});
    let issues = json!({"items": [issue(41, "Fix"), issue(42, "Crash"), issue(43, "Slow")]});
    tale.call("listIssues", json!({}), issues).await;
    let note = json!({"issue_id": "@1{.items[2].notes[-1].id}", "body": "Seen"});
    tale.call("addComment", note, json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    let offered = made.report.questions.iter().flat_map(|one| &one.answers);
    assert_eq!(offered.filter(|one| one.word.contains(".notes[1]")).count(), 0, "{:?}", made.report.questions);
    assert_eq!(taken(&made), json!(".items[2].notes[-1].id"));
}

#[tokio::test]
async fn the_last_of_three_and_the_third_are_two_things() {
    let mut tale = Tale::new();
    let issues =
        json!({"items": [{"id": 41, "title": "Fix"}, {"id": 42, "title": "Crash"}, {"id": 43, "title": "Slow"}]});
    tale.call("listIssues", json!({}), issues).await;
    for taken_by in [".items[2].id", ".items[-1].id"] {
        let id = format!("@1{{{taken_by}}}");
        tale.call("addComment", json!({"issue_id": id, "body": "Seen"}), json!({"id": 1})).await;
    }
    assert_eq!(open(&tale.made(&[]).await), ["pick:s2/issue_id", "pick:s3/issue_id"]);
}

#[tokio::test]
async fn a_flag_to_paste_quotes_the_words_of_a_server() {
    let mut tale = Tale::new();
    let title = "x'; touch /tmp/y; '";
    let issues = json!({"items": [{"id": 41, "title": "Fix"}, {"id": 42, "title": title}]});
    tale.call("listIssues", json!({}), issues).await;
    tale.call("addComment", json!({"issue_id": 42, "body": "Seen"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    let answer = &made.report.questions[0].answers[1];
    assert_eq!(answer.word, format!("@1{{.items[] | select(.title == \"{title}\") | .id}}"));
    let word = answer.word.replace('\'', r"'\''");
    assert_eq!(answer.flag, format!("--answer pick:s2/issue_id='{word}'"));
}

#[tokio::test]
async fn an_answer_that_is_offered_is_taken() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues()).await;
    let text = "@1{.items[1].title} and @1{.items[2].title}";
    tale.call("createIssue", json!({"title": "Both", "text": text}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["pick:s2/text"]);
    for answer in &made.report.questions[0].answers {
        let made = tale.answered_with(&[("pick:s2/text", &answer.word)]).await;
        assert!(answer.word == "skip" || made.is_ok_and(|made| open(&made).is_empty()), "{}", answer.word);
    }
}

#[tokio::test]
async fn an_item_that_was_typed_may_be_the_one_that_a_parameter_says() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues()).await;
    tale.call("addComment", json!({"issue_id": 42, "body": "Seen"}), json!({"id": 1})).await;
    tale.call("createIssue", json!({"title": "Again", "issue": 42}), json!({"id": 50})).await;
    let asked = crate::CrystallizeRequest { force: true, ..super::support::wish(&[("issue", Some("42"))]) };
    let made = tale.wish(&asked).await.unwrap();
    let question = made.report.questions.iter().find(|one| one.id.to_string() == "pick:s2/issue_id").unwrap();
    assert!(question.answers.iter().any(|answer| answer.word == "parameter:issue"), "{question:?}");
    let answers = [("pick:s2/issue_id".to_owned(), "parameter:issue".to_owned())].into();
    let made = tale.wish(&crate::CrystallizeRequest { answers, ..asked }).await.unwrap();
    assert_eq!(steps(&made)["s2"]["issue_id"], json!({"$param": "issue"}));
    assert!(open(&made).is_empty(), "{:?}", open(&made));
}

#[tokio::test]
async fn which_item_a_call_took_that_falls_out_is_not_asked() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), issues()).await;
    tale.call("getIssue", json!({"issue_id": 43}), json!({"id": 43})).await;
    tale.call("createIssue", json!({"title": "@1{.items[0].title}"}), json!({"id": 50})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["pick:s3/title"]);
    let words: Vec<&str> = made.report.questions[0].answers.iter().map(|one| one.word.as_str()).collect();
    assert_eq!(words[0], "position");
    assert!(words.len() > 2, "what tells it apart is offered where a changed list asks, too: {words:?}");
}

#[tokio::test]
async fn a_position_is_that_of_what_was_asked_about_and_not_of_what_a_query_chose() {
    let mut tale = Tale::new();
    let order = |id: u64, total: u64| json!({"id": id, "total": total, "customer": {"id": format!("con_{id}")}});
    tale.call("listIssues", json!({}), json!({"orders": [order(11, 10), order(12, 99), order(13, 50)]})).await;
    tale.query(1, ".orders | max_by(.total) | .customer.id");
    let sent = json!({"contact_id": "con_12", "plan": "Biggest order: #12, then #13"});
    tale.call("updateContact", sent, json!({"id": "con_12"})).await;
    let made = tale.answered_with(&[("source:s2/plan", "taken")]).await.unwrap();
    assert_eq!(open(&made), ["pick:s2/plan"]);
    let made = tale.answered_with(&[("source:s2/plan", "taken"), ("pick:s2/plan", "position")]).await.unwrap();
    let text = &steps(&made)["s2"]["plan"]["$text"];
    let read = [&text[1]["$from"]["jq"], &text[3]["$from"]["jq"]];
    assert_eq!((read, open(&made)), ([&json!(".orders | max_by(.total) | .id"), &json!(".orders[2].id")], vec![]));
}
