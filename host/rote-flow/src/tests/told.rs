//! What a recording tells beside its values: counts and amounts in texts, reads that waited, what was looked for and made, and lists
//! that were typed off.

use rote_types::{Classify as _, ErrorKind};
use serde_json::{Value, json};

use super::eye::elsewhere;
use super::reckoned::{answered, articles, words};
use super::tale::{Tale, notes, open, steps};
use crate::error::{RunnerError, Stopped};
use crate::{FlowError, Package, RunReport, RunRequest};

#[tokio::test]
async fn a_count_of_what_a_loop_does_is_asked_where_a_text_says_it() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), articles()).await;
    for at in 0..3 {
        let arguments = json!({"issue_id": format!("@1{{.items[{at}].id}}"), "state": "left"});
        tale.call("updateIssue", arguments, json!({"id": at})).await;
    }
    tale.call("addComment", json!({"issue_id": 7, "body": "Noor left 3 teams"}), json!({"id": 900})).await;
    let id = "source:s5/body{3}";
    assert_eq!(open(&tale.made(&[]).await), [id]);
    let made = answered(&tale, &[("who", Some("Noor"))], &[(id, "counted")]).await;
    let count = json!({"$from": {"step": "s1", "jq": "[.items[]] | length"}});
    assert!(open(&made).is_empty(), "{:?}", open(&made));
    let text = steps(&made)["s5"]["body"].to_string();
    assert!(text.contains(&count.to_string()) && text.contains("$param"), "{text}");
}

#[tokio::test]
async fn a_number_that_a_query_printed_is_asked_in_a_text_and_behind_a_v() {
    for (text, asked) in [("logged in v40", true), ("24 of 40 in use", true), ("room 140", false)] {
        let mut tale = Tale::new();
        let items =
            json!({"items": [{"id": 1, "title": "cores", "points": 40}, {"id": 2, "title": "disks", "points": 9}]});
        tale.call("listIssues", json!({"project": "x"}), items).await;
        tale.query(1, ".items[] | select(.title == \"cores\") | .points");
        tale.call("addComment", json!({"issue_id": 7, "body": text}), json!({"id": 900})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made).contains(&"source:s2/body"), asked, "{text}: {:?}", open(&made));
    }
}

#[tokio::test]
async fn a_parameter_is_the_version_behind_a_v() {
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"title": "Release 2.4.1", "text": "v2.4.1"}), json!({"id": 9})).await;
    let made = answered(&tale, &[("version", Some("2.4.1"))], &[]).await;
    assert_eq!(steps(&made)["s1"]["text"], json!({"$text": ["v", {"$param": "version"}]}));
}

/// A job that reads one thing until it is ready, and comments on it then.
async fn waited(states: &[&str]) -> Tale {
    let mut tale = Tale::new();
    for state in states {
        tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "status": state, "at": *state})).await;
    }
    tale.call("addComment", json!({"issue_id": 7, "body": "Done"}), json!({"id": 900})).await;
    tale
}

#[tokio::test]
async fn reads_that_waited_are_waited_for_or_stop_the_run_where_it_is_not_so_at_once() {
    let tale = waited(&["creating", "creating", "ready"]).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), words(&made, "when:s3")), (vec!["when:s3"], vec!["wait", "stop", "no"]));
    let s3 = made.plan.steps.iter().find(|step| step.id == "s3").unwrap();
    let until = s3.until.as_ref().unwrap();
    assert_eq!((until.jq.as_str(), until.pause, until.most), (".status == \"ready\"", 5_000, 720));
    assert!(until.never.as_ref().unwrap().starts_with(".status | strings | test(\"fail|error|"));
    assert_eq!(made.plan.steps[1].needs, ["s3"]);
    let made = answered(&tale, &[], &[("when:s3", "stop")]).await;
    assert!(made.plan.steps.iter().any(|step| step.id == "s3"), "what is waited for is read");
    let guard = serde_json::to_string(&made.plan.steps.last().unwrap().when).unwrap();
    assert!(guard.contains("s3 has not come to `.status`"), "{guard}");
    let made = answered(&tale, &[], &[("when:s3", "no")]).await;
    assert!(made.plan.steps.iter().all(|step| step.when.is_none()) && open(&made).is_empty());
    let never = |states: &'static [&'static str]| async move {
        let made = waited(states).await.made(&[]).await;
        made.plan.steps.iter().find_map(|step| step.until.clone()).unwrap().never
    };
    assert_eq!(never(&["error", "ready"]).await, None, "that was waited on");
    assert!(never(&["new", "failed"]).await.is_some());
    assert!(open(&waited(&["ready", "ready"]).await.made(&[]).await).is_empty(), "nothing changed");
}

#[tokio::test]
async fn what_is_waited_for_bars_what_comes_behind_it_and_stays_without_a_write() {
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"title": "Export"}), json!({"id": 7})).await;
    for state in ["running", "done"] {
        tale.call("getIssue", json!({"issue_id": "@1{.id}"}), json!({"id": 7, "status": state})).await;
    }
    tale.call("listIssues", json!({"project": "@1{.id}"}), json!({"items": [{"id": 1}]})).await;
    tale.query(4, ".items | length");
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), words(&made, "when:s3")), (vec!["when:s3"], vec!["wait", "no"]));
    assert_eq!(made.plan.steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["s1", "s3", "s4"]);
    assert_eq!(made.plan.steps[2].needs, ["s3"]);
    let said = made.sentences.steps.iter().find(|one| one.step == "s3").unwrap();
    assert!(
        said.when[0]
            .starts_with("again every 5 seconds until `.status == \"done\"`, for 1 hour at most; the run stops")
    );
    let made = answered(&tale, &[], &[("when:s3", "no")]).await;
    assert_eq!(made.plan.steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["s1", "s4"]);
}

#[tokio::test]
async fn what_is_waited_for_is_a_state_a_hundred_or_what_was_not_there() {
    for (states, until) in [
        ([json!({"done": false}), json!({"done": true})], Some(".done == true")),
        ([json!({"percent_complete": 40}), json!({"percent_complete": 100})], Some(".percent_complete == 100")),
        ([json!({"progress": 40}), json!({"progress": 60})], None),
        ([json!({"url": null}), json!({"url": "https://x.example/1"})], Some(".url != null")),
        ([json!({}), json!({"url": "https://x.example/1"})], Some(".url != null")),
        ([json!({"other": null}), json!({"other": "x", "url": "u"})], Some(".url != null")),
        (
            [json!({"job": {"completed_at": null}}), json!({"job": {"completed_at": "2026-01-02T03:04:05Z"}})],
            Some(".job.completed_at != null"),
        ),
        ([json!({"finished_at": "2026-01-01T00:00:00Z"}), json!({"finished_at": "2026-01-02T00:00:00Z"})], None),
        ([json!({"views": 1}), json!({"views": 2})], None),
        ([json!({"note": null}), json!({"note": "x"})], None),
    ] {
        for arguments in [json!({}), json!({"issue_id": 7})] {
            let tool = if arguments == json!({}) { "searchContacts" } else { "getIssue" };
            let mut tale = Tale::new();
            for state in &states {
                tale.call(tool, arguments.clone(), state.clone()).await;
            }
            let body = if states[1].get("url").is_some() { "@2{.url}" } else { "Seen" };
            tale.call("addComment", json!({"issue_id": 7, "body": body}), json!({"id": 900})).await;
            let made = tale.made(&[]).await;
            let found = made.plan.steps.iter().find_map(|step| step.until.as_ref()).map(|until| until.jq.as_str());
            assert_eq!(found, until, "{tool} {states:?}");
            assert!(until.is_none() || answered(&tale, &[], &[("when:s2", "stop")]).await.plan.steps[1].when.is_some());
        }
    }
    let mut tale = Tale::new();
    for state in ["open", "done"] {
        tale.call("searchContacts", json!({}), json!({"items": [{"id": 1, "state": state}]})).await;
    }
    tale.call("addComment", json!({"issue_id": 7, "body": "Seen"}), json!({"id": 900})).await;
    assert!(!open(&tale.made(&[]).await).contains(&"when:s2"), "a list was looked at twice");
}

/// Installs the flow that waits, with so short a pause that a test can.
async fn installed() -> Tale {
    let tale = waited(&["creating", "ready"]).await;
    let made = answered(&tale, &[], &[("when:s2", "wait")]).await;
    let (fixture, mut plan) = (&tale.fixture, made.plan);
    plan.steps[0].until.as_mut().unwrap().pause = 1;
    let package = Package::of_plan(made.frontmatter, plan).unwrap();
    let (library, redaction) = (&fixture.flows.library, fixture.runtime.redaction());
    library.write_draft(&package.frontmatter.name, &package, true, redaction).unwrap();
    tale
}

/// What a run in which the issue has these states one after the other comes to, and the methods of what it sends.
async fn run(tale: &Tale, states: &[&str], request: &RunRequest) -> (Result<RunReport, FlowError>, Vec<String>) {
    let fixture = &tale.fixture;
    let sent = fixture.shop.log().len();
    for state in states {
        fixture.shop.says(200, json!({"id": 7, "status": *state}));
    }
    let ran = fixture.run(request).await;
    (ran, fixture.shop.log()[sent..].iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect())
}

#[tokio::test]
async fn a_run_waits_and_writes_only_when_it_is_so() {
    let tale = installed().await;
    let first = tale.fixture.run_request(&[]);
    let (ran, sent) = run(&tale, &["queued", "creating", "odd", "ready"], &first).await;
    assert!(ran.is_ok(), "{ran:?}");
    assert_eq!(sent, ["GET", "GET", "GET", "GET", "POST"]);
}

#[tokio::test]
async fn a_read_that_failed_in_each_attempt_is_made_again_in_the_next_one() {
    let tale = installed().await;
    let mut request = tale.fixture.run_request(&[]);
    for (number, status) in [(1, 500), (2, 503), (3, 500)] {
        tale.fixture.shop.says(status, json!({"error": "busy"}));
        let (ran, sent) = run(&tale, &[], &request).await;
        let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = ran.unwrap_err() else {
            panic!("attempt {number}")
        };
        assert_eq!(sent, ["GET"], "attempt {number}");
        request = RunRequest { resume: Some(workspace), ..RunRequest::default() };
    }
    // And so is a write that the API refused.
    tale.fixture.shop.says(200, json!({"id": 7, "status": "ready"}));
    for (sends, status) in [(vec!["GET", "POST"], 409), (vec!["POST"], 409), (vec!["POST"], 422)] {
        tale.fixture.shop.says(status, json!({"error": "locked"}));
        let (ran, sent) = run(&tale, &[], &request).await;
        assert_eq!((sent, ran.is_err()), (sends.into_iter().map(str::to_owned).collect(), true));
    }
    let (ran, sent) = run(&tale, &[], &request).await;
    assert!(ran.is_ok(), "{ran:?}");
    assert_eq!(sent, ["POST"]);
}

#[tokio::test]
async fn a_run_that_waited_in_vain_reads_again_when_it_is_resumed() {
    let tale = installed().await;
    let first = tale.fixture.run_request(&[]);
    let (ran, sent) = run(&tale, &["creating", "FAILED"], &first).await;
    let error = ran.unwrap_err();
    assert_eq!((sent.len(), error.kind()), (2, ErrorKind::Upstream), "{error}");
    assert!(
        error.to_string().contains("step `s2` waited in vain: `.status == \"ready\"` was not so in 2 calls"),
        "{error}"
    );
    let FlowError::Run(RunnerError::Stopped(Stopped { workspace, .. })) = error else { panic!("{error}") };
    let again = RunRequest { resume: Some(workspace), ..RunRequest::default() };
    let (ran, sent) = run(&tale, &["failed"], &again).await;
    assert_eq!((sent, ran.unwrap_err().kind()), (vec!["GET".to_owned()], ErrorKind::Upstream));
    let (ran, sent) = run(&tale, &["creating", "ready"], &again).await;
    assert!(ran.is_ok(), "{ran:?}");
    assert_eq!(sent, ["GET", "GET", "POST"]);
}

#[tokio::test]
async fn a_number_is_the_same_however_it_is_written_and_its_item_is_chosen_as_a_query_chose_it() {
    for balance in [json!(3200), json!(3200.0), json!(3200.5)] {
        let mut tale = Tale::new();
        let accounts = json!({"items": [{"id": 1, "kind": "checking", "balance": balance},
            {"id": 2, "kind": "savings", "balance": 10}]});
        tale.call("searchContacts", json!({"q": "Maja"}), accounts).await;
        tale.query(1, ".items[] | select(.kind == \"checking\") | {id, balance}");
        tale.call("listIssues", json!({"project": "x"}), json!({"items": [{"id": 7, "amount": 895.5}]})).await;
        let program = format!("{balance} - ([.items[].amount] | add)");
        tale.query(2, &program);
        let amount = json!(balance.as_f64().unwrap() - 895.5);
        tale.call("createIssue", json!({"amount": amount}), json!({"id": 9})).await;
        let read = format!("@2{{{program}}}");
        let made = answered(&tale, &[], &[("source:s3/amount", &read)]).await;
        let id = format!("source:s3/amount{{{balance}}}");
        assert!(open(&made).contains(&id.as_str()), "{:?}", open(&made));
        let offered = words(&made, &id)[0].to_owned();
        assert_eq!(offered, "@1{.items[] | select(.kind == \"checking\") | {id, balance} | .balance}");
        let made = answered(&tale, &[], &[("source:s3/amount", &read), (&id, &offered)]).await;
        assert!(!open(&made).contains(&id.as_str()));
        assert!(!serde_json::to_string(&made.plan).unwrap().contains("3200"));
    }
}

#[tokio::test]
async fn what_was_added_in_the_head_to_what_a_query_printed_is_asked() {
    let mut tale = Tale::new();
    let items = json!({"items": [{"id": 1, "title": "Lions", "amount": 18}, {"id": 2, "title": "Bears", "amount": 3}]});
    tale.call("listIssues", json!({"project": "x"}), items).await;
    tale.query(1, ".items[] | select(.title == \"Lions\") | {id, amount}");
    tale.call("createIssue", json!({"title": "Lions", "amount": 21}), json!({"id": 9})).await;
    let made = tale.made(&[]).await;
    let offered = words(&made, "source:s2/amount");
    assert_eq!(offered, ["@1{.items[] | select(.title == \"Lions\") | {id, amount} | .amount + 3}", "always"]);
}

#[tokio::test]
async fn what_was_looked_for_in_a_list_stands_for_what_is_made_where_it_is_there() {
    for query in
        [".items[] | select(.title == \"Renewals\") | .id", "[.items[] | select(.title == \"Renewals\")] | length"]
    {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), json!({"items": [{"id": 1, "title": "Cleaning"}]})).await;
        tale.query(1, query);
        tale.call("createIssue", json!({"title": "Renewals"}), json!({"id": 2, "title": "Renewals"})).await;
        tale.call("addComment", json!({"issue_id": "@2{.id}", "body": "Call Ada"}), json!({"id": 900})).await;
        let made = answered(&tale, &[("list", Some("Renewals"))], &[("when:s2", "yes")]).await;
        let id = steps(&made)["s3"]["issue_id"].clone();
        let jq = "(.items[] | select(.title == $list)).id";
        assert_eq!(id["$default"][1]["$from"]["jq"], jq, "{id}");
        assert!(open(&made).is_empty(), "{:?}", open(&made));
    }
}

#[tokio::test]
async fn of_a_search_that_finds_parts_of_names_the_one_that_is_called_so_may_be_meant() {
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"q": "Voss in Spring"}), json!({"items": []})).await;
    tale.call("createIssue", json!({"title": "Voss in Spring"}), json!({"id": 2, "title": "Voss in Spring"})).await;
    tale.call("addComment", json!({"issue_id": "@2{.id}", "body": "Open"}), json!({"id": 900})).await;
    let params = [("title", Some("Voss in Spring"))];
    let made = answered(&tale, &params, &[("when:s2", "yes")]).await;
    assert_eq!(words(&made, "found:s2"), ["named", "first", "one", "nothing"]);
    let made = answered(&tale, &params, &[("when:s2", "yes"), ("found:s2", "named")]).await;
    let plan = serde_json::to_value(&made.plan).unwrap();
    let when = plan["steps"][1]["when"].to_string();
    assert!(when.contains("select(.title == $title)"), "{when}");
    assert_eq!(
        steps(&made)["s3"]["issue_id"]["$default"][1]["$from"]["jq"],
        "(.items[] | select(.title == $title)).id"
    );
    // A search that finds whatever the capitals are: nobody said whether that one is meant.
    for (there, wrote, stops) in [
        (vec!["Voss in Spring", "VOSS in spring"], vec!["POST /issues/0/comments {\"body\":\"Open\"}"], false),
        (vec!["Voss in Springfield"], vec!["POST /issues {", "POST /issues/9/comments {\"body\":\"Open\"}"], false),
        (vec!["VOSS in spring"], vec![], true),
    ] {
        let found = there.iter().enumerate().map(|(id, title)| json!({"id": id, "title": title}));
        let shop = &tale.fixture.shop;
        let before = shop.log().len();
        shop.says(200, json!({"items": found.collect::<Vec<_>>()}));
        // The page behind it, as nothing says that there is none.
        shop.says(200, json!({"items": []}));
        if wrote.len() > 1 {
            shop.says(200, json!({"id": 9}));
        }
        let ended = tale.fixture.run(&tale.fixture.run_request(&[("title", "Voss in Spring")])).await;
        let sent: Vec<String> = shop.log()[before..].iter().filter(|line| !line.starts_with("GET ")).cloned().collect();
        let same = sent.len() == wrote.len() && sent.iter().zip(&wrote).all(|(sent, wrote)| sent.starts_with(wrote));
        assert!(same, "{there:?}: {sent:?}");
        let error = ended.err().map(|error| rote_types::with_causes(&error)).unwrap_or_default();
        assert_eq!(
            error.contains("there is `VOSS in spring`, and what was looked for is `Voss in Spring`"),
            stops,
            "{error}"
        );
    }
}

#[tokio::test]
async fn texts_of_a_list_that_were_typed_off_in_order_are_a_loop() {
    for typed in [true, false] {
        let mut tale = Tale::new();
        let kinds = json!({"items": [{"id": 1, "code": "GAR", "steps": ["foundation", "final"]},
            {"id": 2, "code": "POOL", "steps": ["electric"]}]});
        tale.call("listIssues", json!({"project": "x"}), kinds).await;
        let program = ".items[] | select(.code == \"GAR\") | .steps";
        tale.query(1, program);
        for (at, kind) in ["foundation", "final"].into_iter().enumerate() {
            let kind = if typed { json!(kind) } else { json!(format!("@1{{{program}[{at}]}}")) };
            tale.call("createIssue", json!({"title": kind}), json!({"id": 9})).await;
        }
        let made = tale.made(&[]).await;
        assert_eq!(made.plan.steps.len(), 2, "{typed} {:?}", notes(&made));
        let each = serde_json::to_value(&made.plan.steps[1].for_each).unwrap();
        assert_eq!(each["$from"]["jq"], if typed { format!("{program} | .[]") } else { format!("{program}[]") });
    }
}

#[tokio::test]
async fn an_amount_that_is_read_is_asked_in_a_text_as_people_write_it() {
    for (text, wanted) in [("Paid 1900.50 EUR", true), ("Paid 1900.5 EUR", false), ("Paid 1,900.50 EUR", false)] {
        let mut tale = Tale::new();
        tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "points": 2150.5})).await;
        tale.query(1, ".points - 250");
        tale.call("createIssue", json!({"amount": 1900.5}), json!({"id": 9})).await;
        tale.call("addComment", json!({"issue_id": "@2{.id}", "body": text}), json!({"id": 900})).await;
        let read = [("source:s2/amount", "@1{.points - 250}")];
        let made = answered(&tale, &[], &read).await;
        let id = open(&made).into_iter().find(|id| id.starts_with("source:s3/body")).unwrap().to_owned();
        if wanted {
            let made = answered(&tale, &[], &[read[0], (&id, "taken")]).await;
            assert!(steps(&made)["s3"]["body"].to_string().contains("* 100 | round"), "{:?}", steps(&made)["s3"]);
        }
    }
}

#[tokio::test]
async fn a_list_whose_names_were_printed_may_decide_whether_another_one_is_made() {
    let others = json!({"items": [{"id": 1, "title": "Cleaning"}, {"id": 3, "title": "Rent"}]});
    for (asked, query) in [(false, None), (true, Some("[.items[].title]")), (true, Some(".items[].title"))] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), others.clone()).await;
        if let Some(query) = query {
            tale.query(1, query);
        }
        tale.call("createIssue", json!({"title": "Renewals"}), json!({"id": 2})).await;
        tale.call("addComment", json!({"issue_id": "@2{.id}", "body": "Call Ada"}), json!({"id": 900})).await;
        let made = tale.made(&[]).await;
        assert_eq!(open(&made).contains(&"when:s2"), asked, "{query:?}: {:?}", open(&made));
        if asked {
            let made = answered(&tale, &[], &[("when:s2", "yes")]).await;
            let id = steps(&made)["s3"]["issue_id"].clone();
            assert_eq!(id["$default"][1]["$from"]["jq"], "(.items[] | select(.title == \"Renewals\")).id", "{id}");
        }
    }
}

#[tokio::test]
async fn a_digit_in_a_program_that_a_parameter_has_is_asked() {
    let mut tale = Tale::new();
    let menu = json!({"items": [{"id": 1, "title": "Tasting", "price": 48}, {"id": 2, "title": "Lunch", "price": 20}]});
    tale.call("listIssues", json!({"project": "x"}), menu).await;
    let program = ".items[] | select(.title == \"Tasting\") | .price * 6";
    tale.query(1, program);
    tale.call("createIssue", json!({"estimate": 6, "amount": 288}), json!({"id": 9})).await;
    let read = format!("@1{{{program}}}");
    let made = answered(&tale, &[("estimate", None)], &[("source:s2/amount", &read)]).await;
    assert_eq!(words(&made, "source:s2/amount{6}"), ["parameter:estimate", "always"]);
}

#[tokio::test]
async fn what_a_search_was_counted_for_stands_for_what_is_made_where_it_is_found() {
    let mut tale = Tale::new();
    tale.call("searchContacts", json!({"q": "+44 20 3"}), json!([])).await;
    tale.query(1, "length");
    tale.call("createIssue", json!({"title": "Cy", "text": "+44 20 3"}), json!({"id": 2})).await;
    tale.call("addComment", json!({"issue_id": "@2{.id}", "body": "Booked"}), json!({"id": 900})).await;
    let made = answered(&tale, &[], &[("when:s2", "yes")]).await;
    assert_eq!(open(&made), ["found:s2"]);
    let made = answered(&tale, &[], &[("when:s2", "yes"), ("found:s2", "first")]).await;
    assert_eq!(steps(&made)["s3"]["issue_id"]["$default"][1]["$from"]["jq"], ".[0].id");
    let made = answered(&tale, &[], &[("when:s2", "yes"), ("found:s2", "one")]).await;
    assert_eq!(steps(&made)["s3"]["issue_id"]["$default"][1]["$from"]["jq"], "(.[]).id");
}

#[tokio::test]
async fn a_percentage_of_a_text_and_the_length_of_what_was_added_up_are_asked() {
    let mut tale = Tale::new();
    let gifts = json!({"items": [{"id": 1, "amount": 120}, {"id": 2, "amount": 290}, {"id": 3, "amount": 0.5}]});
    tale.call("listIssues", json!({"project": "x"}), gifts).await;
    let program = "[.items[] | select(.amount > 1) | .amount] | add";
    tale.query(1, program);
    let text = "2 settled gifts, 410.00 less 2.5% fee";
    tale.call("createIssue", json!({"amount": 410, "estimate": 10.25, "text": text}), json!({"id": 9})).await;
    let read = format!("@1{{{program}}}");
    let made = answered(&tale, &[], &[("source:s2/amount", &read)]).await;
    for id in ["source:s2/estimate", "source:s2/text{2}", "source:s2/text{410.00}"] {
        assert!(open(&made).contains(&id), "{id}: {:?}", open(&made));
    }
    assert_eq!(words(&made, "source:s2/estimate"), ["reckoned", "reckoned-2", "always"]);
}

#[tokio::test]
async fn a_digit_of_a_text_that_a_parameter_has_is_asked() {
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"estimate": 6, "text": "for 6 guests, 16 plates"}), json!({"id": 9})).await;
    let made = answered(&tale, &[("party", Some("6"))], &[]).await;
    assert_eq!(open(&made), ["param:party"]);
    assert_eq!(words(&made, "param:party"), ["s1:/estimate", "s1:/text", "all"]);
}

#[tokio::test]
async fn each_number_of_a_text_that_is_answered_is_put_in() {
    let mut tale = Tale::new();
    let gifts = json!({"items": [{"id": 1, "amount": 12.5}, {"id": 2, "amount": 24.5}, {"id": 3, "amount": 70}]});
    tale.call("listIssues", json!({"project": "x"}), gifts).await;
    tale.query(1, "[.items[].amount] | add");
    tale.call("createIssue", json!({"amount": 107}), json!({"id": 9})).await;
    for at in 0..3 {
        let arguments = json!({"issue_id": format!("@1{{.items[{at}].id}}"), "state": "thanked"});
        tale.call("updateIssue", arguments, json!({"id": at})).await;
    }
    let text = "107.00 of 3 gifts, 107 in all";
    tale.call("createIssue", json!({"title": "Sum", "text": text}), json!({"id": 10})).await;
    let read = ("source:s2/amount", "@1{[.items[].amount] | add}");
    let made = answered(&tale, &[], &[read]).await;
    let id = |number: &str| open(&made).into_iter().find(|id| id.ends_with(&format!("/text{{{number}}}"))).unwrap();
    let all = [read, (id("3"), "counted"), (id("107"), "taken"), (id("107.00"), "taken")];
    let made = answered(&tale, &[], &all).await;
    let text = steps(&made)["s6"]["text"].to_string();
    assert_eq!(text.matches("$from").count(), 3, "{text}");
}

#[tokio::test]
async fn a_count_of_what_is_read_behind_a_write_cannot_be_in_it() {
    let mut tale = Tale::new();
    tale.call("addComment", json!({"issue_id": 7, "body": "Closing 3 teams"}), json!({"id": 900})).await;
    tale.call("listIssues", json!({"project": "x"}), articles()).await;
    for at in 0..3 {
        let arguments = json!({"issue_id": format!("@2{{.items[{at}].id}}"), "state": "left"});
        tale.call("updateIssue", arguments, json!({"id": at})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!(words(&made, "source:s1/body{3}"), ["always"]);
}

/// A thing that was read, and what was made of it with these arguments.
async fn priced(arguments: Value) -> Tale {
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "title": "Lamp of glass"})).await;
    tale.call("createIssue", arguments, json!({"id": 9})).await;
    tale
}

#[tokio::test]
async fn an_amount_that_a_text_writes_otherwise_is_the_parameter_where_it_is_said_so() {
    for (written, there) in [("279.00", "1300.00"), ("279,00", "1300,00")] {
        let text = format!("Costs {written} EUR");
        let tale = priced(json!({"title": "@1{.title}", "amount": 279, "text": text})).await;
        let amount = [("amount", Some("279"))];
        let made = answered(&tale, &amount, &[]).await;
        assert_eq!(open(&made), ["param:amount"], "{written}");
        let made = answered(&tale, &amount, &[("param:amount", "all")]).await;
        assert!(open(&made).is_empty(), "{:?}", open(&made));
        let wrote = elsewhere(&tale, &[json!({"id": 7, "title": "Rug"})], &[("amount", "1300")]).await;
        assert!(wrote[0].contains(&format!("Costs {there} EUR")) && wrote[0].contains("\"amount\":1300"), "{wrote:?}");
        let made = answered(&tale, &amount, &[("param:amount", "none")]).await;
        assert_eq!((open(&made), steps(&made)["s2"]["text"].clone()), (vec![], json!(text)));
    }
    // With its name beside it no question is needed, nor where nothing else has the value.
    let tale = priced(json!({"title": "@1{.title}", "amount": 279, "text": "amount 279.00"})).await;
    let made = answered(&tale, &[("amount", Some("279"))], &[]).await;
    assert!(open(&made).is_empty() && steps(&made)["s2"]["text"].to_string().contains("$param"), "{:?}", open(&made));
    let tale = priced(json!({"title": "@1{.title}", "text": "Costs 279.00 EUR"})).await;
    let made = answered(&tale, &[("price", Some("279"))], &[]).await;
    assert!(open(&made).is_empty() && steps(&made)["s2"]["text"].to_string().contains("$param"), "{:?}", open(&made));
}

#[tokio::test]
async fn an_amount_that_no_program_can_write_is_asked_and_a_number_with_a_point_is_the_value() {
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"amount": 279, "text": "Costs 279.00 EUR"}), json!({"id": 9})).await;
    let made = answered(&tale, &[("amount", Some("279"))], &[]).await;
    assert_eq!(open(&made), ["source:s1/text{279.00}"]);
    assert!(
        open(&answered(&tale, &[("amount", Some("279"))], &[("source:s1/text{279.00}", "always")]).await).is_empty()
    );
    for params in [vec![("amount", Some("279"))], vec![("amount", Some("279.0"))]] {
        let tale = priced(json!({"title": "@1{.title}", "amount": 279.0})).await;
        let made = answered(&tale, &params, &[]).await;
        assert_eq!(steps(&made)["s2"]["amount"], json!({"$param": "amount"}));
    }
}
