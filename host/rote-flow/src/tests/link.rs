//! Typed values that find their source, and those that do not.

use serde_json::{Value, json};

use super::tale::{Tale, from, notes, open, steps};
use crate::tests::support::wish;
use crate::{CrystallizeRequest, ParamSpec};

#[tokio::test]
async fn the_id_of_what_was_made_is_read_from_there() {
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"title": "Crash"}), json!({"id": 311, "title": "Crash"})).await;
    tale.call("addComment", json!({"issue_id": 311, "body": "Seen"}), json!({"id": 1, "body": "Seen"})).await;
    let made = tale.made(&[]).await;
    assert_eq!(steps(&made)["s2"], json!({"issue_id": from("s1", ".id"), "body": "Seen"}));
    assert_eq!(notes(&made), ["linked s2 issue_id 311 = .id of s1"]);
    assert_eq!(made.report.notes[0].undo.as_deref(), Some("--no-link s2:/issue_id"));
    assert!(open(&made).is_empty());
    let typed = tale.answered_with(&[("source:s2/issue_id", "always")]).await.unwrap();
    assert_eq!(steps(&typed)["s2"]["issue_id"], 311);
}

#[tokio::test]
async fn a_search_stays_because_its_answer_was_typed() {
    let mut tale = Tale::new();
    let found = json!({"items": [{"id": "ct_101", "email": "nora@acme.test", "company_id": "co_9"}]});
    tale.call("searchContacts", json!({"email": "nora@acme.test"}), found).await;
    tale.call("updateContact", json!({"contact_id": "ct_101", "plan": "gold"}), json!({"id": "ct_101"})).await;
    let made = tale.made(&[("customer", Some("nora@acme.test"))]).await;
    assert_eq!(steps(&made)["s1"], json!({"email": {"$param": "customer"}}));
    assert_eq!(steps(&made)["s2"]["contact_id"], from("s1", ".items[] | .id"));
}

#[tokio::test]
async fn what_names_nothing_by_itself_and_was_probably_taken_from_an_answer_is_asked() {
    for (tool, arguments, answer, sent, asked) in [
        ("searchContacts", json!({"email": "bob"}), json!({"id": "cus_B"}), json!({"customer": "cus_B"}), true),
        ("listIssues", json!({}), json!({"id": 7, "amount": 71234}), json!({"amount": 71234}), true),
        ("listIssues", json!({}), json!({"id": 7, "amount": 10}), json!({"amount": 10}), false),
        ("listIssues", json!({}), json!({"id": 7, "other": 71234}), json!({"amount": 71234}), false),
        ("listIssues", json!({}), json!({"number": 3}), json!({"issue": 3}), true),
        ("listIssues", json!({}), json!({"number": 3}), json!({"sprint": 3}), false),
    ] {
        let mut tale = Tale::new();
        tale.call(tool, arguments, json!({"items": [answer]})).await;
        tale.call("createIssue", sent.clone(), json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        let name = sent.as_object().unwrap().keys().next().unwrap();
        let wanted = if asked { vec![format!("source:s2/{name}")] } else { vec![] };
        assert_eq!(open(&made), wanted, "{sent}");
    }
}

#[tokio::test]
async fn a_text_of_the_one_thing_that_was_asked_for_is_asked_unless_it_is_a_common_word() {
    for (login, sent, pointer, asked) in [
        ("u2", json!({"customer": "u2"}), "/customer", true),
        ("u2", json!({"labels": ["u2"]}), "/labels/0", true),
        ("ann-b", json!({"customer": "ann-b"}), "/customer", true),
        ("annB", json!({"customer": "annB"}), "/customer", true),
        // A common word, where it says who.
        ("bob", json!({"customer": "bob"}), "/customer", true),
        ("Bob", json!({"customer": "Bob"}), "/customer", true),
        ("HIGH", json!({"labels": ["HIGH"]}), "/labels/0", false),
        ("high", json!({"labels": ["high"]}), "/labels/0", false),
    ] {
        let mut tale = Tale::new();
        let (login, level) = if login.eq_ignore_ascii_case("high") { ("zoe", login) } else { (login, "low") };
        tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "user": {"login": login}, "level": level})).await;
        tale.call("createIssue", sent.clone(), json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        let id = format!("source:s2{pointer}");
        assert_eq!(open(&made), if asked { vec![&*id] } else { vec![] }, "{sent}");
        assert_eq!(steps(&made)["s2"], sent);
        if asked {
            let linked = tale.answered_with(&[(&id, "@1{.user.login}")]).await.unwrap();
            assert_eq!(steps(&linked)["s2"].pointer(pointer), Some(&from("s1", ".user.login")));
        }
    }
    // Also the only one of a list, at several places, in an answer about nothing that was asked for.
    let one = json!({"id": 7, "user": {"login": "u2"}});
    for (tool, arguments, answer) in [
        ("searchContacts", json!({"q": "x"}), json!({"items": [one]})),
        ("getIssue", json!({"issue_id": 7}), json!({"user": {"login": "u2"}, "by": "u2"})),
        ("listIssues", json!({}), one.clone()),
    ] {
        let mut tale = Tale::new();
        tale.call(tool, arguments, answer).await;
        tale.call("createIssue", json!({"customer": "u2"}), json!({"id": 9})).await;
        assert_eq!(open(&tale.made(&[]).await), ["source:s2/customer"], "{tool}");
    }
}

#[tokio::test]
async fn what_the_person_typed_first_is_the_persons() {
    let mut tale = Tale::new();
    // Also where the API only says it again, or the first call with it failed.
    tale.fails("addComment", json!({"issue_id": "X-1", "body": "No"})).await;
    tale.call(
        "createIssue",
        json!({"title": "Weekly report 19", "text": "t"}),
        json!({"id": 5, "title": "Weekly report 19"}),
    )
    .await;
    tale.call("createIssue", json!({"title": "Weekly report 19", "text": "u"}), json!({"id": 6, "key": "X-1"})).await;
    tale.call("addComment", json!({"issue_id": "X-1", "body": "Yes"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!(steps(&made)["s3"]["title"], "Weekly report 19");
    assert_eq!(steps(&made)["s4"]["issue_id"], "X-1");
    assert_eq!((notes(&made), open(&made)), (vec![], vec![]));
}

#[tokio::test]
async fn numbers_are_linked_where_they_name_a_thing_and_nowhere_else() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"page_size": 7}), json!({"items": [{"id": 7, "points": 3}]})).await;
    tale.call("addWorklog", json!({"issue_key": "A-1", "hours": 3}), json!({"id": 7})).await;
    tale.call("addComment", json!({"issue_id": 7, "body": "Seen"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!(steps(&made)["s2"]["hours"], 3);
    assert_eq!(steps(&made)["s3"]["issue_id"], from("s1", ".items[] | .id"));
}

#[tokio::test]
async fn several_sources_are_asked_and_an_answer_is_checked() {
    let mut tale = Tale::new();
    let issues = json!({"items": [{"id": 1, "owner_id": "u_5"}, {"id": 2, "reviewer_id": "u_5"}]});
    tale.call("listIssues", json!({}), issues).await;
    tale.call("updateContact", json!({"contact_id": "u_5", "plan": "gold"}), json!({})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s2/contact_id"]);
    assert!(made.frontmatter.questions[0].writes);
    assert_eq!(steps(&made), json!({"s2": {"contact_id": "u_5", "plan": "gold"}}));
    let id = "source:s2/contact_id";
    let linked = tale.answered_with(&[(id, "@1{.items[1].reviewer_id}")]).await.unwrap();
    assert_eq!(steps(&linked)["s2"]["contact_id"], from("s1", ".items[1].reviewer_id"));
    assert!(open(&linked).iter().all(|open| open.starts_with("pick:")));
    for (word, why) in
        [("@1{.items[0].id}", "it gives [1] in the recording"), ("@9{.id}", "not the answer of an earlier call")]
    {
        let error = tale.answered_with(&[(id, word)]).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn a_version_is_that_of_the_thing_as_it_was_seen_last() {
    let mut tale = Tale::new();
    let items = json!({"items": [{"id": 4, "version": 3}, {"id": 5, "version": 3}]});
    tale.call("listIssues", json!({}), items).await;
    tale.call(
        "updateIssue",
        json!({"issue_id": "@1{.items[1].id}", "state": "a", "version": 3}),
        json!({"id": 5, "version": 4}),
    )
    .await;
    tale.call(
        "updateIssue",
        json!({"issue_id": "@1{.items[1].id}", "labels": ["b"], "version": 4}),
        json!({"id": 5, "version": 5}),
    )
    .await;
    let made = tale.answered_with(&[("pick:s2/issue_id", "position"), ("pick:s3/issue_id", "position")]).await.unwrap();
    assert_eq!(steps(&made)["s2"]["version"], from("s1", ".items[1].version"));
    assert_eq!(steps(&made)["s3"]["version"], from("s2", ".version"));
}

#[tokio::test]
async fn a_version_that_equals_the_id_is_still_the_version() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": [{"id": 1, "title": "Fix login"}]})).await;
    tale.call("getIssue", json!({"issue_id": "@1{.items[0].id}"}), json!({"id": 1, "version": 1})).await;
    tale.call("updateIssue", json!({"issue_id": "@1{.items[0].id}", "state": "a", "version": 1}), json!({"id": 1}))
        .await;
    let made = tale.answered_with(&[("pick:s2/issue_id", "position")]).await.unwrap();
    let version = made.plan.steps.last().map(|step| serde_json::to_value(&step.arguments).unwrap()["version"].clone());
    assert_eq!(version, Some(from("s2", ".version")));
}

#[tokio::test]
async fn ids_in_a_text_are_linked_and_a_parameter_comes_first() {
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"title": "Move"}), json!({"id": 12, "key": "TRK-12"})).await;
    tale.call("addComment", json!({"issue_id": 99, "body": "see TRK-12, 2 of 9"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!(steps(&made)["s2"]["body"], json!({"$text": ["see ", from("s1", ".key"), ", 2 of 9"]}));
    let params = vec![ParamSpec { name: "body".to_owned(), ..ParamSpec::default() }];
    let made = tale.wish(&CrystallizeRequest { params, force: true, ..wish(&[]) }).await.unwrap();
    assert_eq!(steps(&made)["s2"]["body"], json!({"$param": "body"}));
}

#[tokio::test]
async fn a_list_is_named_by_the_pointer_to_it() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({}), json!({"items": [{"id": 41}, {"id": 42}]})).await;
    tale.call("addWorklog", json!({"all/issue_ids": [41, 42]}), json!({"id": 50})).await;
    let made = tale.made(&[]).await;
    assert_eq!(steps(&made)["s2"]["all/issue_ids"]["$from"]["jq"], ".items[].id");
    let notes = &made.report.notes;
    let undo = notes.iter().find_map(|note| note.undo.as_deref().filter(|_| note.text.starts_with("linked s2")));
    assert_eq!(undo, Some("--no-link 's2:/all~1issue_ids'"));
    let typed = tale.answered_with(&[("source:s2/all~1issue_ids", "always")]).await.unwrap();
    assert!(steps(&typed)["s2"]["all/issue_ids"].is_array());
}

/// A list of two issues and a comment with this text.
async fn told(body: &str) -> Tale {
    let mut tale = Tale::new();
    let items = json!({"items": [
        {"id": "is_4kQ", "number": 11, "key": "PROJ-11", "title": "Fix login", "state": "In Progress"},
        {"id": "is_5rT", "number": 12, "key": "PROJ-12", "title": "backlog", "state": "open"},
    ]});
    tale.call("listIssues", json!({"project": "atlas"}), items).await;
    tale.query(1, ".items | length");
    tale.call("createIssue", json!({"project": "beacon", "text": body}), json!({"id": 900})).await;
    tale
}

#[tokio::test]
async fn what_a_text_has_of_an_answer_is_asked_and_read_there() {
    let at = |jq: &str| from("s1", jq);
    for (body, jq, text) in [
        ("Closes #11.", ".items[0].number", json!(["Closes #", at(".items[0].number"), "."])),
        ("Duplicate of Fix login", ".items[0].title", json!(["Duplicate of ", at(".items[0].title")])),
        ("2 issues left", ".items | length", json!([at(".items | length"), " issues left"])),
    ] {
        let tale = told(body).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made), ["source:s2/text"], "{body}");
        assert!(made.frontmatter.questions[0].writes);
        assert_eq!(steps(&made)["s2"]["text"], body);
        let question = &made.report.questions[0];
        assert!(question.ask.contains(&format!("which is `{jq}` of @1: taken from there?")), "{}", question.ask);
        let words: Vec<&str> = question.answers.iter().map(|answer| answer.word.as_str()).collect();
        assert_eq!(words, ["taken", "always"]);
        let word = format!("@1{{{jq}}}");
        let read = tale.answered_with(&[("source:s2/text", &word)]).await.unwrap();
        assert_eq!(steps(&read)["s2"]["text"], json!({"$text": text}), "{body}");
        let always = tale.answered_with(&[("source:s2/text", "always")]).await.unwrap();
        assert_eq!((steps(&always)["s2"]["text"].clone(), open(&always)), (json!(body), vec![]));
    }
    // An item that was taken so is asked for what it was chosen for, as any other one.
    let tale = told("Closes #12").await;
    let made = tale.answered_with(&[("source:s2/text", "taken")]).await.unwrap();
    assert_eq!(open(&made), ["pick:s2/text"]);
    let word = r#"@1{.items[] | select(.title == "backlog") | .number}"#;
    let made = tale.answered_with(&[("source:s2/text", "taken"), ("pick:s2/text", word)]).await.unwrap();
    let text = json!({"$text": ["Closes #", from("s1", &word[3..word.len() - 1])]});
    assert_eq!((steps(&made)["s2"]["text"].clone(), open(&made)), (text, vec![]));
}

#[tokio::test]
async fn several_parts_of_a_text_are_one_question() {
    let tale = told("Follow-up of PROJ-12, see #11 and is_4kQ").await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s2/text"]);
    let words: Vec<&str> = made.report.questions[0].answers.iter().map(|answer| answer.word.as_str()).collect();
    let each = ["taken", "@1{.items[1].key}", "@1{.items[0].number}", "@1{.items[0].id}", "always"];
    assert_eq!(words, each);
    let made = tale.answered_with(&[("source:s2/text", "taken"), ("pick:s2/text", "position")]).await.unwrap();
    let parts = json!([
        "Follow-up of ",
        from("s1", ".items[1].key"),
        ", see #",
        from("s1", ".items[0].number"),
        " and ",
        from("s1", ".items[0].id")
    ]);
    assert_eq!(steps(&made)["s2"]["text"], json!({"$text": parts}));
    let made = tale.answered_with(&[("source:s2/text", each[2])]).await.unwrap();
    let parts = json!(["Follow-up of PROJ-12, see #", from("s1", ".items[0].number"), " and is_4kQ"]);
    assert_eq!(steps(&made)["s2"]["text"], json!({"$text": parts}));
    let error = tale.answered_with(&[("source:s2/text", "@1{.items[1].id}")]).await.unwrap_err().to_string();
    assert!(error.contains("it gives [\"is_5rT\"] in the recording"), "{error}");
}

#[tokio::test]
async fn what_is_in_a_text_by_chance_or_from_the_person_is_not_asked() {
    for body in ["Closes 11 of 12", "the backlog", "3 issues left", "2nd try, #13", "Now In Progress"] {
        let made = told(body).await.made(&[]).await;
        assert_eq!((open(&made), steps(&made)["s2"]["text"].clone()), (vec![], json!(body)));
    }
    let mut tale = Tale::new();
    let issue = json!({"id": 11, "title": "Fix login"});
    tale.call("searchContacts", json!({"q": "Fix login"}), json!({"items": []})).await;
    tale.call("getIssue", json!({"issue_id": 11}), issue).await;
    tale.call("addComment", json!({"issue_id": 11, "body": "#11 is Fix login"}), json!({"id": 1})).await;
    assert_eq!(open(&tale.made(&[]).await), Vec::<&str>::new());
}

#[tokio::test]
async fn the_rest_of_a_text_with_a_parameter_is_asked_too() {
    let tale = told("Acme Corp: closes #11").await;
    let params =
        vec![ParamSpec { name: "who".to_owned(), value: Some("Acme Corp".to_owned()), ..ParamSpec::default() }];
    let answers =
        [("source:s2/text".to_owned(), "taken".to_owned()), ("pick:s2/text".to_owned(), "position".to_owned())];
    let asked = CrystallizeRequest { params, force: true, ..wish(&[]) };
    let made = tale.wish(&asked).await.unwrap();
    assert_eq!(open(&made), ["source:s2/text"]);
    let made = tale.wish(&CrystallizeRequest { answers: answers.into(), ..asked }).await.unwrap();
    let text = json!([{"$param": "who"}, ": closes #", from("s1", ".items[0].number")]);
    assert_eq!(steps(&made)["s2"]["text"], json!({"$text": text}));
}

#[tokio::test]
async fn an_id_in_a_sentence_that_stands_at_several_places_is_asked_and_read_where_it_is_said() {
    let mut tale = Tale::new();
    let issues = json!([{"id": 41, "customer_id": "cus_B"}, {"id": 42, "customer_id": "cus_B"}]);
    tale.call("listIssues", json!({}), json!({"items": issues})).await;
    tale.call("addComment", json!({"issue_id": 7, "body": "For cus_B and TRK-1"}), json!({"id": 1})).await;
    assert_eq!(open(&tale.made(&[]).await), ["source:s2/body"]);
    let answer = |word| [("source:s2/body", word)];
    let made = tale.answered_with(&answer("@1{.items[1].customer_id}")).await.unwrap();
    let text = json!({"$text": ["For ", from("s1", ".items[1].customer_id"), " and TRK-1"]});
    assert_eq!((open(&made), &steps(&made)["s2"]["body"]), (vec![], &text));
    let made = tale.answered_with(&answer("always")).await.unwrap();
    assert_eq!((open(&made), &steps(&made)["s2"]["body"]), (vec![], &json!("For cus_B and TRK-1")));
}

#[tokio::test]
async fn a_number_that_is_an_id_by_chance_only_is_asked() {
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"estimate": 28}), json!({"key": "TRK-1", "estimate": 28})).await;
    tale.call("addComment", json!({"issue_id": 28, "body": "Seen"}), json!({"id": 9})).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), &steps(&made)["s2"]["issue_id"]), (vec!["source:s2/issue_id"], &json!(28)));
    // The field is named as the thing.
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"q": "bob"}), json!({"issue": 28})).await;
    tale.call("addComment", json!({"issue_id": 28, "body": "Seen"}), json!({"id": 9})).await;
    assert_eq!(steps(&tale.made(&[]).await)["s2"]["issue_id"], from("s1", ".issue"));
}

#[tokio::test]
async fn a_name_from_a_list_is_asked_where_a_query_chose_it_and_is_typed_where_a_person_did() {
    let lead = r#".items[] | select(.role == "lead") | .login"#;
    let whole = r#"[.items[] | select(.role == "lead")]"#;
    let first = format!("{whole} | .[] | .login");
    for (sent, query, asked) in [
        (json!({"labels": ["bob"]}), lead, Some(("/labels/0", lead))),
        (json!({"customer": "bob"}), lead, Some(("/customer", lead))),
        (json!({"customer": "bob"}), whole, Some(("/customer", first.as_str()))),
        // A list that was only looked at, a name that was looked for, a query that showed several.
        (json!({"labels": ["bob"]}), ".items[].login", None),
        (json!({"labels": ["bob"]}), r#".items[] | select(.login == "bob") | .login"#, None),
        (json!({"customer": "bob"}), ".items[] | select(.active) | .login", None),
    ] {
        let mut tale = Tale::new();
        let people = json!({"items": [
            {"id": 1, "login": "ann", "role": "dev", "active": true},
            {"id": 2, "login": "bob", "role": "lead", "active": true},
        ]});
        tale.call("searchContacts", json!({}), people).await;
        tale.query(1, query);
        tale.call("createIssue", sent.clone(), json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        let Some((pointer, jq)) = asked else {
            assert_eq!((open(&made), steps(&made)["s2"].clone()), (vec![], sent), "{query}");
            continue;
        };
        let id = format!("source:s2{pointer}");
        assert_eq!((open(&made), made.frontmatter.questions[0].writes), (vec![&*id], true));
        let linked = tale.answered_with(&[(&id, &format!("@1{{{jq}}}"))]).await.unwrap();
        assert_eq!(steps(&linked)["s2"].pointer(pointer), Some(&from("s1", jq)));
        assert_eq!(made.report.questions[0].answers[0].word, format!("@1{{{jq}}}"));
    }
}

#[tokio::test]
async fn a_list_that_a_query_gave_is_asked_as_a_whole() {
    let mut tale = Tale::new();
    let tags = json!({"id": 41, "tags": [{"name": "needs-a-review"}, {"name": "late"}]});
    tale.call("getIssue", json!({"issue_id": 41}), tags).await;
    tale.query(1, ".tags[].name");
    tale.call("createIssue", json!({"labels": ["needs-a-review", "late"]}), json!({"id": 50})).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s2/labels"]);
    let words: Vec<&str> = made.report.questions[0].answers.iter().map(|one| one.word.as_str()).collect();
    assert_eq!(words, ["@1{[.tags[].name]}", "always"]);
    let made = tale.answered_with(&[("source:s2/labels", words[0])]).await.unwrap();
    assert_eq!(steps(&made)["s2"]["labels"], json!({"$from": {"step": "s1", "jq": "[.tags[].name]"}}));
    assert!(open(&made).is_empty());
    let made = tale.answered_with(&[("source:s2/labels", "always")]).await.unwrap();
    assert_eq!((steps(&made)["s2"]["labels"].clone(), open(&made)), (json!(["needs-a-review", "late"]), vec![]));
}

#[tokio::test]
async fn an_id_in_a_program_is_read_where_it_was_found() {
    let contacts = json!({"contacts": [{"id": 31, "name": "Ada"}, {"id": 32, "name": "Bo"}]});
    let issues = json!({"items": [{"id": 41, "assignee_id": 31}, {"id": 42, "assignee_id": 32}]});
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"q": "o"}), contacts.clone()).await;
    tale.query(1, ".contacts[] | select(.name == \"Bo\") | .id");
    tale.call("listIssues", json!({"project": "atlas"}), issues.clone()).await;
    let program = "@2{.items[] | select(.assignee_id == 32) | .id}";
    tale.call("addComment", json!({"issue_id": program, "body": "Hi"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    let source = json!({"$from": {"step": "s1", "jq": ".contacts[] | select(.name == \"Bo\") | .id"}});
    let reads = json!({"$from": {
        "step": "s2",
        "jq": ".items[] | select(.assignee_id == $assignee_id) | .id",
        "with": {"assignee_id": source},
    }});
    assert_eq!((steps(&made)["s3"]["issue_id"].clone(), open(&made)), (reads, vec![]));
    let told = "linked assignee_id 32 in `.items[] | select(.assignee_id == 32) | .id` = .contacts[] | select(.name == \"Bo\") | .id of s1";
    assert!(notes(&made).contains(&told), "{:?}", notes(&made));
    let always = tale.answered_with(&[("source:s3/issue_id{32}", "always")]).await.unwrap();
    assert_eq!(always.plan.steps.len(), 2);
    // Only seen in a list: a position tells nothing, so it is asked.
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"q": "o"}), contacts).await;
    tale.call("listIssues", json!({"project": "atlas"}), issues).await;
    tale.call("addComment", json!({"issue_id": program, "body": "Hi"}), json!({"id": 1})).await;
    assert_eq!(open(&tale.made(&[]).await), ["source:s3/issue_id{32}", "changed:s3"]);
    let answer = ("source:s3/issue_id{32}", "@1{.contacts[] | select(.name == \"Bo\") | .id}");
    let made = tale.answered_with(&[answer]).await.unwrap();
    assert_eq!((made.plan.steps.len(), open(&made)), (3, vec![]));
}

#[tokio::test]
async fn an_id_in_the_program_of_the_result_is_read_where_it_was_found() {
    for program in [
        "[.items[] | select(.assignee | IN(\"u_32\")) | .points] | add",
        "[.items[] | select(.assignee == \"u_32\").points] | add",
    ] {
        let mut tale = Tale::new();
        let contacts = json!({"contacts": [{"id": "u_31", "name": "Ada"}, {"id": "u_32", "name": "Bo"}]});
        tale.call("searchContacts", json!({}), contacts).await;
        tale.query(1, ".contacts[] | select(.name == \"Bo\") | .id");
        let issues = json!({"items": [{"id": 41, "assignee": "u_31", "points": 1}, {"id": 42, "assignee": "u_32", "points": 3}]});
        tale.call("listIssues", json!({"project": "atlas"}), issues).await;
        tale.query(2, program);
        let made = tale.made(&[]).await;
        let result = serde_json::to_value(&made.plan.result).unwrap();
        let source = json!({"$from": {"step": "s1", "jq": ".contacts[] | select(.name == \"Bo\") | .id"}});
        assert_eq!((&result["$from"]["with"]["assignee"], made.plan.steps.len()), (&source, 2), "{result}");
        let always = tale.answered_with(&[("source:s2/result{u_32}", "always")]).await.unwrap();
        assert_eq!(always.plan.steps.len(), 1);
    }
}

/// Reads an issue and its customer, and writes this of them.
async fn copied(tool: &str, sent: Value) -> Tale {
    let mut tale = Tale::new();
    let issue = json!({"id": 5001, "title": "Fix login", "due": "2026-11-20", "estimate": 31, "lead": "u1", "n": 4});
    tale.call("getIssue", json!({"issue_id": 5001}), issue).await;
    tale.call("updateContact", json!({"contact_id": "c1", "plan": "x"}), json!({"id": "c1"})).await;
    let reporter = json!({"id": "u7", "name": "Acme", "address": {"zip": 8001}});
    tale.call("getIssue", json!({"issue_id": 5002}), reporter).await;
    tale.call(tool, sent, json!({"id": 900})).await;
    tale
}

#[tokio::test]
async fn every_part_of_a_text_that_one_answer_has_is_one_question() {
    for (body, parts) in [
        ("Reminder: due 2026-11-20", vec!["2026-11-20"]),
        ("Effort 31 points", vec!["31"]),
        ("for Acme", vec!["Acme"]),
        ("Fix login is open, due 2026-11-20, 31 points for Acme", vec!["Fix login", "2026-11-20", "31", "Acme"]),
        ("due 2026-12-01, 4 left, no acme, Fix", vec![]),
    ] {
        let tale = copied("addComment", json!({"issue_id": 5001, "body": body})).await;
        let made = tale.made(&[]).await;
        let asked = made.report.questions.iter().find(|one| one.ask.starts_with("the text at s4:/body"));
        let found: Vec<&str> =
            asked.iter().flat_map(|one| &one.evidence).filter_map(|one| one.value.as_str()).collect();
        assert_eq!(found, parts, "{body}");
        if !parts.is_empty() {
            let made = tale.answered_with(&[("source:s4/body", "taken")]).await.unwrap();
            let text = steps(&made)["s4"]["body"].to_string();
            assert!(parts.iter().all(|part| !text.contains(part)), "{body}: {text}");
        }
    }
}

#[tokio::test]
async fn a_name_and_a_short_id_of_the_one_thing_that_was_read_are_asked() {
    for (sent, asked) in [
        (json!({"customer": "Acme"}), true),
        (json!({"customer": "u7"}), true),
        (json!({"customer": "Else"}), false),
        (json!({"customer": "u8"}), false),
    ] {
        let made = copied("createIssue", sent.clone()).await.made(&[]).await;
        assert_eq!(open(&made).contains(&"source:s4/customer"), asked, "{sent}: {:?}", open(&made));
    }
}
