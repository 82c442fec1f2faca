//! Pages of a list become one step that reads it to its end.

use serde_json::{Value, json};

use super::tale::{Tale, notes, open, steps};
use crate::error::{RunnerError, Stopped};
use crate::{Crystallized, FlowError, RunRequest};

fn page(ids: &[u64], next: &Value) -> Value {
    let items: Vec<Value> = ids.iter().map(|id| json!({"id": id, "title": format!("Issue {id}")})).collect();
    json!({"items": items, "next_page_token": next})
}

/// Two pages of a list; the second token is what the last answer names.
async fn read(token: Value, last: &Value) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "atlas", "page_size": 2}), page(&[41, 42], &json!("tok-2b"))).await;
    let arguments = json!({"project": "atlas", "page_size": 2, "page_token": token});
    tale.call("listIssues", arguments, page(&[43], last)).await;
    tale
}

fn token() -> Value {
    json!("@1{.next_page_token}")
}

async fn comment(tale: &mut Tale, issue: &str) {
    tale.call("addComment", json!({"issue_id": issue, "body": "Done"}), json!({"id": 900})).await;
}

/// How each step reads its pages.
fn pages(made: &Crystallized) -> Value {
    made.plan.steps.iter().map(|step| json!([step.id, step.pages])).collect()
}

fn one_list() -> Value {
    json!({"argument": "page_token", "next": ".next_page_token", "items": ".items"})
}

#[tokio::test]
async fn a_loop_over_two_pages_is_over_the_list() {
    let mut tale = read(json!("tok-2b"), &Value::Null).await;
    for issue in ["@1{.items[0].id}", "@1{.items[1].id}", "@2{.items[0].id}"] {
        comment(&mut tale, issue).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!((pages(&made), open(&made)), (json!([["s1", one_list()], ["s3", null]]), vec![]));
    let items = serde_json::to_value(made.plan.steps[1].for_each.as_ref().unwrap()).unwrap();
    assert_eq!(items, json!({"$from": {"step": "s1", "jq": ".items[]", "each": true}}));
    assert_eq!(steps(&made)["s1"], json!({"project": "atlas", "page_size": 2}));
    let told = "s1, s2 read the pages of one list, to its end, as s1";
    assert!(notes(&made).contains(&told), "{:?}", notes(&made));
    let lines = made.sentences.lines().join("\n");
    assert!(lines.contains("page after page to the last, at most 100"), "{lines}");

    let made = tale.answered_with(&[("pages:s1", "no")]).await.unwrap();
    assert_eq!(made.plan.steps.len(), 5);
    assert!(made.plan.steps.iter().all(|step| step.pages.is_none() && step.for_each.is_none()));
    assert!(tale.answered_with(&[("pages:s1", "some")]).await.is_err());
}

#[tokio::test]
async fn a_thing_of_a_later_page_is_found_on_any() {
    let mut tale = read(token(), &Value::Null).await;
    tale.query(2, ".items[] | select(.title == \"Issue 43\") | .id");
    tale.call("addComment", json!({"issue_id": 43, "body": "Done"}), json!({"id": 900})).await;
    let made = tale.made(&[]).await;
    let jq = ".items[] | select(.title == \"Issue 43\") | .id";
    assert_eq!(steps(&made)["s3"]["issue_id"], json!({"$from": {"step": "s1", "jq": jq}}));
    assert_eq!((pages(&made)[0][1].clone(), open(&made)), (one_list(), vec![]));
}

#[tokio::test]
async fn pages_with_what_was_done_between_them_are_one_list() {
    let mut tale = Tale::new();
    let mut token = Value::Null;
    for (ids, next) in [(vec![41, 42], json!("tok-2b")), (vec![43], json!("tok-3c")), (vec![44], Value::Null)] {
        let mut arguments = json!({"project": "atlas"});
        if !token.is_null() {
            arguments["page_token"] = token;
        }
        tale.call("listIssues", arguments, page(&ids, &next)).await;
        token = next;
        for id in ids {
            tale.call("addComment", json!({"issue_id": id, "body": "Done"}), json!({"id": 900 + id})).await;
        }
    }
    let made = tale.made(&[]).await;
    assert_eq!((pages(&made), open(&made)), (json!([["s1", one_list()], ["s2", null]]), vec![]));
    assert!(made.plan.steps[1].for_each.is_some());
}

#[tokio::test]
async fn a_page_that_was_typed_is_known_by_what_named_it() {
    let mut tale = Tale::new();
    let contacts = |id: u64, after: Value| json!({"contacts": [{"id": id}], "paging": {"after": after}});
    tale.call("searchContacts", json!({"email": "@acme.test"}), contacts(1, json!("MTIzNDU2Nzg5MA"))).await;
    let second = json!({"email": "@acme.test", "q": "MTIzNDU2Nzg5MA"});
    tale.call("searchContacts", second, contacts(2, Value::Null)).await;
    let made = tale.made(&[]).await;
    let list = json!({"argument": "q", "next": ".paging.after", "items": ".contacts"});
    assert_eq!((pages(&made), open(&made)), (json!([["s1", list]]), vec![]));
    assert!(made.report.questions.is_empty());
}

#[tokio::test]
async fn a_list_that_was_not_read_to_its_end_is_asked_about() {
    let mut tale = read(token(), &json!("tok-3c")).await;
    comment(&mut tale, "@2{.items[] | select(.title == \"Issue 43\") | .id}").await;
    let made = tale.made(&[]).await;
    assert_eq!((pages(&made)[0][1].clone(), open(&made)), (one_list(), vec!["pages:s1"]));
    assert!(made.frontmatter.questions[0].writes);
    let made = tale.answered_with(&[("pages:s1", "all")]).await.unwrap();
    assert_eq!((pages(&made)[0][1].clone(), open(&made)), (one_list(), vec![]));
    let made = tale.answered_with(&[("pages:s1", "no")]).await.unwrap();
    assert!(made.plan.steps.iter().all(|step| step.pages.is_none()));
}

#[tokio::test]
async fn the_result_is_of_all_pages_and_one_joined_by_hand_is_theirs() {
    let ids = |made: &Crystallized| {
        let schema = serde_json::to_value(&made.plan.result).unwrap();
        schema["$from"]["jq"].clone()
    };
    let tale = read(token(), &Value::Null).await;
    let made = tale.made(&[]).await;
    assert_eq!((pages(&made), ids(&made)), (json!([["s1", one_list()]]), json!(".")));
    let told = "the result is `.` of all pages of s1, not of one";
    assert!(notes(&made).contains(&told), "{:?}", notes(&made));

    let tale = read(token(), &Value::Null).await;
    tale.fixture.query(1, ".items", Some("first"));
    tale.query(2, "$first + .items");
    let made = tale.made(&[]).await;
    assert_eq!((pages(&made), ids(&made)), (json!([["s1", one_list()]]), json!(".items")));
}

#[tokio::test]
async fn what_is_of_one_page_alone_keeps_the_pages_apart() {
    let mut tale = read(token(), &Value::Null).await;
    comment(&mut tale, "@2{.items | length}").await;
    let made = tale.made(&[]).await;
    assert!(made.plan.steps.iter().all(|step| step.pages.is_none()));
    let told = "s1, s2 stay the pages that were read: `.items | length` of s2 is another thing in all of them";
    assert!(notes(&made).contains(&told), "{:?}", notes(&made));

    // What was made between two pages may be on the second.
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "atlas"}), page(&[41], &json!("tok-2b"))).await;
    tale.call("createIssue", json!({"project": "atlas", "title": "Issue 43"}), json!({"id": 43})).await;
    let second = json!({"project": "atlas", "page_token": "@1{.next_page_token}"});
    tale.call("listIssues", second, page(&[43], &Value::Null)).await;
    comment(&mut tale, "@3{.items[] | select(.title == \"Issue 43\") | .id}").await;
    let made = tale.made(&[]).await;
    assert!(made.plan.steps.iter().all(|step| step.pages.is_none()));
    let told = "s1, s3 stay the pages that were read: s2 may have changed the list between them";
    assert!(notes(&made).contains(&told), "{:?}", notes(&made));

    // What an issue belongs to is not a page, although it has labels too.
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 41}), json!({"id": 41, "next_id": 42, "labels": ["a"]})).await;
    let parent = json!({"issue_id": "@1{.next_id}"});
    tale.call("getIssue", parent, json!({"id": 42, "next_id": null, "labels": ["b"]})).await;
    assert!(tale.made(&[]).await.plan.steps.iter().all(|step| step.pages.is_none()));
    let mut tale = Tale::new();
    let owned = |id: u64| json!({"owner": "ann@acme.test", "items": [{"id": id}]});
    tale.call("searchContacts", json!({}), owned(1)).await;
    tale.call("searchContacts", json!({"email": "@1{.owner}"}), owned(2)).await;
    assert!(tale.made(&[]).await.plan.steps.iter().all(|step| step.pages.is_none()));

    // Another project is another list.
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "atlas"}), page(&[41], &json!("tok-2b"))).await;
    let other = json!({"project": "beacon", "page_token": "@1{.next_page_token}"});
    tale.call("listIssues", other, page(&[42], &Value::Null)).await;
    assert!(tale.made(&[]).await.plan.steps.iter().all(|step| step.pages.is_none()));
}

/// A flow that comments on each issue of a list.
async fn commenting() -> Tale {
    let mut tale = read(token(), &Value::Null).await;
    for issue in ["@1{.items[0].id}", "@1{.items[1].id}", "@2{.items[0].id}"] {
        comment(&mut tale, issue).await;
    }
    tale.made(&[]).await;
    tale
}

#[tokio::test]
async fn a_run_reads_all_pages_that_there_are_now_and_goes_on_between_them() {
    let tale = commenting().await;
    let shop = &tale.fixture.shop;
    let sent = shop.log().len();
    shop.says(200, page(&[1], &json!("tok-2c")));
    shop.says(200, page(&[], &json!("tok-3c")));
    shop.says(422, json!({"error": {"message": "not now"}}));
    let error = tale.fixture.run(&tale.fixture.run_request(&[])).await.unwrap_err();
    let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = &error else { panic!("{error}") };
    let last = "GET /issues?project=atlas&page_size=2&page_token=tok-3c";
    assert_eq!(shop.log()[sent..].last().map(String::as_str), Some(last));

    let sent = shop.log().len();
    shop.says(200, page(&[2, 3], &Value::Null));
    let request = RunRequest { flow: None, resume: Some(workspace.clone()), ..tale.fixture.run_request(&[]) };
    for issue in [1, 2, 3] {
        shop.says(200, json!({"id": 900 + issue}));
    }
    let done = tale.fixture.run(&request).await.unwrap();
    let comment = |issue: u64| format!(r#"POST /issues/{issue}/comments {{"body":"Done"}}"#);
    assert_eq!(shop.log()[sent..], [last.to_owned(), comment(1), comment(2), comment(3)]);
    let resumed: Vec<bool> = done.steps.iter().map(|step| step.resumed).collect();
    assert_eq!(resumed, [true, true, false, false, false, false]);
}

#[tokio::test]
async fn a_run_does_not_read_a_list_without_an_end() {
    let tale = commenting().await;
    let sent = tale.fixture.shop.log().len();
    for _ in 0..5 {
        tale.fixture.shop.says(200, page(&[1], &json!("tok-2c")));
    }
    let error = tale.fixture.run(&tale.fixture.run_request(&[])).await.unwrap_err();
    assert!(format!("{error:?}").contains("is named twice, so its pages do not end"), "{error:?}");
    assert_eq!(tale.fixture.shop.log().len() - sent, 2);
}

#[tokio::test]
async fn a_page_that_names_another_one_is_asked_where_a_write_goes_through_it() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "atlas", "page_size": 2}), page(&[41, 42], &json!("tok-2b"))).await;
    let alone = tale.answered_with(&[]).await.unwrap();
    assert!(open(&alone).is_empty() && pages(&alone)[0][1].is_null(), "nothing is done for what it lists");
    comment(&mut tale, "@1{.items[0].id}").await;
    comment(&mut tale, "@1{.items[1].id}").await;
    let made = tale.answered_with(&[]).await.unwrap();
    assert_eq!((pages(&made)[0][1].clone(), open(&made)), (one_list(), vec!["pages:s1"]));
    assert!(made.frontmatter.questions[0].writes && made.plan.steps[1].for_each.is_some());
    let made = tale.answered_with(&[("pages:s1", "all")]).await.unwrap();
    assert_eq!((pages(&made)[0][1].clone(), open(&made)), (one_list(), vec![]));
    let made = tale.answered_with(&[("pages:s1", "no")]).await.unwrap();
    assert_eq!((pages(&made)[0][1].clone(), open(&made)), (Value::Null, vec![]));
}

#[tokio::test]
async fn a_page_behind_which_a_link_leads_on_is_asked_where_writes_go_through_it_and_not_for_its_first() {
    for (takes, expected) in
        [(&["@1{.items[0].id}", "@1{.items[1].id}"][..], &["pages:s1"][..]), (&["@1{.items[0].id}"], &[])]
    {
        let mut tale = Tale::new();
        tale.fixture.shop.goes_on("/issues?page=2");
        tale.call(
            "listIssues",
            json!({"project": "atlas", "page_size": 2}),
            json!({"items": [{"id": 41}, {"id": 42}]}),
        )
        .await;
        for issue in takes {
            comment(&mut tale, issue).await;
        }
        let made = tale.answered_with(&[]).await.unwrap();
        let asked: Vec<&str> = open(&made).into_iter().filter(|id| id.starts_with("pages:")).collect();
        assert_eq!(asked, expected);
    }
}

/// What is open of a flow that comments on the one contact or issue that a query picks.
async fn choosing(tool: &str, arguments: Value, answer: Value) -> (Vec<String>, String) {
    let mut tale = Tale::new();
    tale.call(tool, arguments, answer).await;
    comment(&mut tale, "@1{.items[] | select(.title == \"Issue 41\") | .id}").await;
    let made = tale.made(&[]).await;
    let asked = made.report.questions.first().map(|question| question.ask.clone()).unwrap_or_default();
    (open(&made).into_iter().map(str::to_owned).collect(), asked)
}

#[tokio::test]
async fn a_choice_from_a_page_that_may_not_be_the_last_is_asked() {
    let items = json!([{"id": 41, "title": "Issue 41"}, {"id": 42, "title": "Issue 42"}]);
    for (tool, arguments, more, told) in [
        ("searchContacts", json!({}), json!({"has_more": true}), "`.has_more` of @1 is true"),
        ("searchContacts", json!({}), json!({"links": {"next": "https://a.test/?page=2"}}), "`.links.next` of @1 is"),
        // As many items as were asked for say nothing: the rest was hardly meant.
        ("searchContacts", json!({"limit": 2}), json!({}), ""),
        ("searchContacts", json!({}), json!({"has_more": false, "cursor": "c"}), ""),
        ("searchContacts", json!({"limit": 3}), json!({}), ""),
        ("searchContacts", json!({"limit": 2}), json!({"next": null}), ""),
        ("searchContacts", json!({"limit": 2, "sort": "age"}), json!({}), ""),
        ("listIssues", json!({"page_size": 2}), json!({}), ""),
    ] {
        let mut answer = json!({"items": items});
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (open, asked) = choosing(tool, arguments, answer).await;
        let wanted = if told.is_empty() { vec![] } else { vec!["pages:s1".to_owned()] };
        assert_eq!(open, wanted, "{more}");
        assert!(asked.contains(told), "{asked}");
    }
}

#[tokio::test]
async fn the_only_page_of_a_list_is_a_list_where_it_says_how_it_would_go_on() {
    for next in [Value::Null, json!("")] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "atlas"}), page(&[41, 42], &next)).await;
        comment(&mut tale, "@1{.items[0].id}").await;
        comment(&mut tale, "@1{.items[1].id}").await;
        let made = tale.made(&[]).await;
        assert_eq!((pages(&made)[0][1].clone(), open(&made)), (one_list(), vec![]));
        let told = "s1 read the only page of a list; each run reads the list to its end";
        assert!(notes(&made).contains(&told), "{:?}", notes(&made));
        let alone = tale.answered_with(&[("pages:s1", "no")]).await.unwrap();
        assert!(alone.plan.steps.iter().all(|step| step.pages.is_none()));
    }
}

#[tokio::test]
async fn a_list_that_goes_on_behind_its_last_thing_is_read_to_its_end() {
    for more in [false, true] {
        let mut tale = Tale::new();
        let page = json!({"items": [{"id": "cus_1", "name": "Ada"}, {"id": "cus_2", "name": "Bo"}], "has_more": more});
        tale.call("listCustomers", json!({}), page).await;
        for at in 0..2 {
            comment(&mut tale, &format!("@1{{.items[{at}].id}}")).await;
        }
        let made = tale.answered_with(&[]).await.unwrap();
        let next = "if .has_more then .items[-1].id else empty end";
        let list = json!({"argument": "starting_after", "next": next, "items": ".items"});
        let asked = if more { vec!["pages:s1"] } else { vec![] };
        assert_eq!((pages(&made)[0][1].clone(), open(&made)), (list, asked));
    }
}

#[tokio::test]
async fn a_later_page_alone_is_asked_about() {
    let items = json!({"items": [{"id": 41, "title": "Issue 41"}, {"id": 42, "title": "Issue 42"}]});
    for (page, wanted) in [(1, vec![]), (2, vec!["pages:s1".to_owned()])] {
        let (open, asked) = choosing("searchContacts", json!({"page": page}), items.clone()).await;
        assert_eq!(open, wanted);
        assert!(wanted.is_empty() || asked.contains("`page` is always 2"), "{asked}");
    }
}

#[tokio::test]
async fn pages_that_were_counted_by_hand_are_asked_about() {
    for (argument, counts, asked) in [
        ("page", [None, Some(2), Some(3)], true),
        ("offset", [Some(0), Some(2), Some(4)], true),
        ("offset", [Some(4), Some(2), Some(0)], false),
    ] {
        let mut tale = Tale::new();
        for (at, count) in counts.into_iter().enumerate() {
            let mut arguments = json!({"email": "acme.test"});
            if let Some(count) = count {
                arguments[argument] = json!(count);
            }
            let items = json!({"items": [{"id": 41 + at, "title": format!("Issue {at}")}, {"id": 51 + at}]});
            tale.call("searchContacts", arguments, items).await;
        }
        comment(&mut tale, "@3{.items[] | select(.title == \"Issue 2\") | .id}").await;
        comment(&mut tale, "@1{.items[] | select(.title == \"Issue 0\") | .id}").await;
        let made = tale.made(&[]).await;
        let pages: Vec<&str> = open(&made).into_iter().filter(|id| id.starts_with("pages:")).collect();
        assert_eq!(pages, if asked { vec!["pages:s1"] } else { vec![] }, "{counts:?}");
        if asked {
            assert!(made.report.questions[0].ask.contains("s1, s2, s3 read pages of one list"));
            assert!(made.frontmatter.questions[0].writes);
            let made = tale.answered_with(&[("pages:s1", "no")]).await.unwrap();
            assert_eq!(open(&made), Vec::<&str>::new());
        }
    }
}

#[tokio::test]
async fn pages_that_were_counted_by_hand_are_one_list_however_their_items_reach_writes() {
    let counts = [("page", [1, 2, 3]), ("offset", [0, 2, 4]), ("skip", [0, 2, 4]), ("start", [0, 2, 4])];
    for (argument, counts) in counts {
        for way in ["by position", "typed", "the first page", "through a read", "asked"] {
            let mut tale = Tale::new();
            for (at, count) in counts.into_iter().enumerate() {
                let items = json!({"items": [{"id": 4100 + at, "title": "a"}, {"id": 5100 + at, "title": "b"}]});
                let arguments = json!({"limit": 2, argument: count});
                tale.call("searchContacts", arguments, if at == 2 { json!({"items": []}) } else { items }).await;
            }
            match way {
                "by position" => {
                    for item in ["@1{.items[0].id}", "@1{.items[1].id}", "@2{.items[0].id}", "@2{.items[1].id}"] {
                        comment(&mut tale, item).await;
                    }
                }
                "typed" => {
                    for item in [4100, 5100, 4101, 5101] {
                        let arguments = json!({"issue_id": item, "body": "Done"});
                        tale.call("addComment", arguments, json!({"id": 900})).await;
                    }
                }
                "the first page" => comment(&mut tale, "@1{.items[1].id}").await,
                "through a read" => {
                    let read = json!({"issue_id": "@2{.items[1].id}"});
                    tale.call("getIssue", read, json!({"id": 5101, "state": "x"})).await;
                    comment(&mut tale, "@4{.id}").await;
                }
                _ => {
                    let ask = json!({"condition": "is-empty", "response": 3, "programs": [".items"], "held": true});
                    let (ask, at) = (serde_json::from_value(ask).unwrap(), "2026-03-01T00:00:00Z".parse().unwrap());
                    tale.fixture.workspace.log_ask(&ask, at).unwrap();
                    comment(&mut tale, "41").await;
                }
            }
            let made = tale.made(&[]).await;
            let asked = made.frontmatter.questions.iter().find(|one| one.id == "pages:s1");
            if way == "asked" {
                assert!(made.plan.steps.iter().all(|step| step.pages.is_none()));
                assert!(asked.is_some_and(|asked| asked.writes), "{argument} {way}: {:?}", open(&made));
                assert!(made.report.questions.iter().any(|one| one.taken == "no"), "{argument} {way}");
                continue;
            }
            let count = json!({"from": counts[0], "by": counts[1] - counts[0]});
            let next = if argument == "page" { "(.items | length) > 1" } else { "(.items | length) == 2" };
            let wanted = json!({"argument": argument, "next": next, "items": ".items", "count": count});
            assert_eq!(pages(&made)[0], json!(["s1", wanted]), "{argument} {way}");
            assert!(asked.is_none(), "{argument} {way}: {:?}", open(&made));
        }
    }
}

#[tokio::test]
async fn an_only_page_that_says_so_is_guarded_or_counted_on_where_the_first_number_is_known() {
    let items = json!([{"id": 41, "title": "a"}, {"id": 42, "title": "b"}]);
    let with = |more: Value| {
        let mut answer = json!({"items": items});
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer
    };
    let guarded = |next: &str| json!({"next": next, "items": ".items"});
    let by_page =
        |next: &str| json!({"argument": "page", "next": next, "items": ".items", "count": {"from": 1, "by": 1}});
    let (counted, grown) = (by_page(".has_more"), by_page("(.items | length) > 2"));
    for (arguments, more, wanted) in [
        (json!({}), json!({"has_more": false}), guarded(".has_more")),
        (json!({}), json!({"total": 2}), guarded(".total > (.items | length)")),
        (json!({}), json!({"meta": {"next_page_url": null}}), guarded(".meta.next_page_url")),
        (json!({"page": 1}), json!({"has_more": false}), counted),
        (json!({}), json!({"total": 9}), grown.clone()),
        (json!({}), json!({}), grown.clone()),
    ] {
        let mut tale = Tale::new();
        tale.call("searchContacts", arguments, with(more.clone())).await;
        comment(&mut tale, "@1{.items[] | select(.title == \"b\") | .id}").await;
        let made = tale.made(&[]).await;
        assert_eq!((pages(&made)[0][1].clone(), open(&made)), (wanted.clone(), vec![]), "{more}");
        if wanted.get("argument").is_none() && !wanted.is_null() {
            let note = "s1 read the only page of a list; a run stops where there is another one";
            assert!(notes(&made).contains(&note), "{:?}", notes(&made));
            let made = tale.answered_with(&[("pages:s1", "no")]).await.unwrap();
            assert!(made.plan.steps.iter().all(|step| step.pages.is_none()));
        }
    }
}

#[tokio::test]
async fn a_thing_that_a_query_chose_is_chosen_from_a_list_that_is_whole() {
    for (program, guards) in [
        (".items | max_by(.points) | .id", true),
        (".items[] | select(.points > 4) | .id", true),
        (".items[1].id", false),
    ] {
        let mut tale = Tale::new();
        let items = json!([{"id": 41, "points": 3}, {"id": 42, "points": 5}, {"id": 43, "points": 1}]);
        tale.call("searchContacts", json!({}), json!({"items": items, "has_more": false})).await;
        tale.query(1, program);
        comment(&mut tale, "@1{.items[1].id}").await;
        let guard = guards.then(|| json!({"next": ".has_more", "items": ".items"}));
        assert_eq!(pages(&tale.made(&[]).await), json!([["s1", guard], ["s2", null]]), "{program}");
    }
}

#[tokio::test]
async fn a_loop_over_a_list_that_was_whole_stops_where_it_is_not() {
    let mut tale = Tale::new();
    let answer = json!({"items": [{"id": 41}, {"id": 42}, {"id": 43}], "has_more": false});
    tale.call("searchContacts", json!({}), answer).await;
    for at in 0..3 {
        comment(&mut tale, &format!("@1{{.items[{at}].id}}")).await;
    }
    let made = tale.made(&[]).await;
    let guard = json!({"next": ".has_more", "items": ".items"});
    assert_eq!((pages(&made), open(&made)), (json!([["s1", guard], ["s2", null]]), vec![]));
    assert!(made.plan.steps[1].for_each.is_some());
}

/// How `searchContacts` asked so is read that answers with so many things, and what is open.
async fn unsaid(arguments: Value, answer: &dyn Fn(Vec<Value>) -> Value, things: usize) -> (Value, Vec<String>) {
    let mut tale = Tale::new();
    let items = (0..things).map(|at| json!({"id": 41 + at, "title": format!("Issue {at}")})).collect();
    tale.call("searchContacts", arguments, answer(items)).await;
    let path = if answer(Vec::new()).is_array() { ".[]" } else { ".items[]" };
    comment(&mut tale, &format!("@1{{{path} | select(.title == \"Issue 1\") | .id}}")).await;
    let made = tale.made(&[]).await;
    (pages(&made)[0][1].clone(), open(&made).into_iter().map(str::to_owned).collect())
}

#[tokio::test]
async fn a_list_that_says_nothing_is_read_on_while_a_page_has_more_things_than_the_recorded_one() {
    let wrapped: &dyn Fn(Vec<Value>) -> Value = &|items| json!({"items": items});
    let bare: &dyn Fn(Vec<Value>) -> Value = &|items| items.into();
    let zero: &dyn Fn(Vec<Value>) -> Value = &|items| json!({"items": items, "page": 0});
    let grown = |items: &str, from: u64, things: u64| {
        let next = format!("({items} | length) > {things}");
        json!({"argument": "page", "next": next, "items": items, "count": {"from": from, "by": 1}})
    };
    for (arguments, answer, things, wanted, asked) in [
        (json!({}), wrapped, 3, grown(".items", 1, 3), false),
        (json!({}), bare, 3, grown(".", 1, 3), false),
        (json!({}), zero, 3, grown(".items", 0, 3), false),
        (json!({"limit": 20}), wrapped, 10, grown(".items", 1, 10), false),
        // A page that may have been full, and one that was asked for as it is.
        (json!({}), wrapped, 10, Value::Null, true),
        (json!({"limit": 10}), wrapped, 10, Value::Null, false),
        (json!({"limit": 10, "sort": "age"}), wrapped, 3, Value::Null, false),
        (json!({"page": 2}), wrapped, 3, Value::Null, true),
    ] {
        let (read, open) = unsaid(arguments.clone(), answer, things).await;
        let asked = if asked { vec!["pages:s1"] } else { vec![] };
        assert_eq!((read, open), (wanted, asked.into_iter().map(str::to_owned).collect()), "{arguments} {things}");
    }
}
