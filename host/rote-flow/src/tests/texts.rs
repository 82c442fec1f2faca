//! Texts of one frame: what was written to each of several things differs in what the thing has of its own.

use serde_json::{Value, json};

use super::eye::{elsewhere, items};
use super::reckoned::{answered, words};
use super::tale::{Tale, notes, open, steps};

fn issues(titles: &[&str]) -> Value {
    let issue = |(at, title): (usize, &&str)| json!({"id": 4100 + at, "title": title, "state": "open", "points": at});
    items(&titles.iter().enumerate().map(issue).collect::<Vec<_>>())
}

/// A comment on each of some issues.
async fn commented(list: Value, texts: &[(u64, &str)]) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), list).await;
    for (id, text) in texts {
        tale.call("addComment", json!({"issue_id": id, "body": text}), json!({"id": 900})).await;
    }
    tale
}

#[tokio::test]
async fn short_titles_in_texts_of_one_frame_are_those_of_the_thing_at_hand() {
    let titles = ["Slow", "Slim", "Typo", "Login broken"];
    let texts = titles.map(|title| format!("Ping: {title} is still open"));
    let pinged: Vec<(u64, &str)> = (4100..).zip(texts.iter().map(String::as_str)).collect();
    let tale = commented(issues(&titles), &pinged).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    let said = "linked s3 body Slim = .items[1].title of s1";
    assert!(notes(&made).contains(&said), "{:?}", notes(&made));
    let there = items(&[json!({"id": 71, "title": "Ada"}), json!({"id": 72, "title": "Is still"})]);
    let wrote = elsewhere(&tale, &[there], &[]).await;
    let wanted = [(71, "Ada"), (72, "Is still")]
        .map(|(id, title)| format!("POST /issues/{id}/comments {{\"body\":\"Ping: {title} is still open\"}}"));
    assert_eq!(wrote, wanted);
    // An answer of before counts, and one takes it back.
    let made = answered(&tale, &[], &[("source:s2/body", "taken")]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2));
    let made = answered(&tale, &[], &[("source:s3/body", "always")]).await;
    assert_eq!(steps(&made)["s3"]["body"], json!("Ping: Slim is still open"));
}

#[tokio::test]
async fn a_frame_has_amounts_and_days_as_they_are_written_and_ids_by_template() {
    let bill =
        |id: u64, who: &str, amount: f64, due: &str| json!({"id": id, "name": who, "amount": amount, "due": due});
    let list = items(&[
        bill(41, "Bo", 475.0, "2026-03-01T09:00:00Z"),
        bill(42, "Al", 80.5, "2026-03-02T09:00:00Z"),
        bill(43, "Cy", 12.0, "2026-03-09T09:00:00Z"),
    ]);
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), list).await;
    let texts = ["Bo: 475.00 since 2026-03-01", "Al: 80.50 since 2026-03-02", "Cy: 12.00 since 2026-03-09"];
    for (at, text) in texts.into_iter().enumerate() {
        let to = json!({"issue_id": format!("@1{{.items[{at}].id}}"), "body": text});
        tale.call("addComment", to, json!({"id": 900})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    let wrote = elsewhere(&tale, &[items(&[bill(7, "Mo", 3.0, "2027-01-01T08:00:00Z")])], &[]).await;
    assert_eq!(wrote, [r#"POST /issues/7/comments {"body":"Mo: 3.00 since 2027-01-01"}"#]);
}

#[tokio::test]
async fn what_may_be_chance_in_a_frame_is_one_question_for_all_its_texts() {
    // A number of one digit, and a name that stands in two members.
    let short = [(4101, "Reminder 1"), (4102, "Reminder 2"), (4103, "Reminder 3")];
    let tale = commented(issues(&["a", "b", "c", "d"]), &short).await;
    let made = tale.made(&[]).await;
    assert!(open(&made).contains(&"source:s2/body"), "{:?}", open(&made));
    assert_eq!(words(&made, "source:s2/body"), ["taken", "always"]);
    assert!(!open(&made).iter().any(|id| ["source:s3/body", "source:s4/body"].contains(id)), "{:?}", open(&made));
    let made = answered(&tale, &[], &[("source:s2/body", "taken")]).await;
    let said = notes(&made);
    assert!(words(&made, "loop:s2").contains(&"no") && !said.is_empty(), "{said:?}");
    let made = answered(&tale, &[], &[("source:s2/body", "always")]).await;
    assert!(!open(&made).iter().any(|id| id.starts_with("source")), "{:?}", open(&made));
    let people =
        items(&[json!({"id": 41, "name": "Bo", "login": "Bo"}), json!({"id": 42, "name": "Al", "login": "Al"})]);
    let tale = commented(people, &[(41, "Hi Bo!"), (42, "Hi Al!")]).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s2/body", "pick:s2/issue_id", "pick:s3/issue_id"]);
    assert_eq!(words(&made, "source:s2/body"), ["taken", "@1{.items[0].name}", "@1{.items[0].login}", "always"]);
    let may = |note: &&str| note.starts_with("s2, s3 may be one step for each of a list with `taken`");
    assert_eq!(notes(&made).into_iter().filter(may).count(), 1, "{:?}", notes(&made));
    let made = answered(&tale, &[], &[("source:s2/body", "taken")]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    assert!(!notes(&made).iter().any(may), "{:?}", notes(&made));
}

#[tokio::test]
async fn a_text_that_is_nothing_but_what_the_thing_has_is_that_in_each_run() {
    let tale = commented(issues(&["Slow", "Crash"]), &[(4100, "Slow"), (4101, "Crash")]).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    // A text that has the thing's own by template is that already.
    let by_template = [(4100, "Dear @1{.items[0].title}, hi"), (4101, "Dear @1{.items[1].title}, hi")];
    let made = commented(issues(&["Slow", "Crash"]), &by_template).await.made(&[]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    // A parameter that a person wants comes first.
    let made = answered(&tale, &[("word", Some("Slow"))], &[]).await;
    assert_eq!(steps(&made)["s2"]["body"], json!({"$param": "word"}));
}

#[tokio::test]
async fn what_was_done_for_each_is_not_what_a_query_for_a_report_chose() {
    let bill = |id: u64, name: &str, amount: f64, status: &str| json!({"id": id, "name": name, "amount": amount, "status": status});
    let rows = [
        bill(41, "Acme", 475.0, "overdue"),
        bill(42, "Bolt", 80.0, "paid"),
        bill(43, "Core", 1200.5, "overdue"),
        bill(44, "Dune", 12.25, "overdue"),
    ];
    for overdue in [".items[] | select(.status == \"overdue\") | .id", "[.items[] | select(.status == \"overdue\")]"] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), items(&rows)).await;
        tale.query(1, overdue);
        tale.query(1, ".items | max_by(.amount) | {id, name, amount}");
        for (id, text) in [(41, "Acme: 475.00 is due"), (43, "Core: 1200.50 is due"), (44, "Dune: 12.25 is due")] {
            tale.call("addComment", json!({"issue_id": id, "body": text}), json!({"id": 900})).await;
        }
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{overdue} {:?}", notes(&made));
        let there = [bill(7, "Mo", 3.0, "overdue"), bill(8, "No", 9.0, "open"), bill(9, "Po", 4.5, "overdue")];
        let wrote = elsewhere(&tale, &[items(&there)], &[]).await;
        let wanted = [(7, "Mo: 3.00"), (9, "Po: 4.50")]
            .map(|(id, text)| format!("POST /issues/{id}/comments {{\"body\":\"{text} is due\"}}"));
        assert_eq!(wrote, wanted, "{overdue}");
    }
}

#[tokio::test]
async fn texts_that_say_nothing_of_their_own_things_are_not_a_frame() {
    for texts in [
        // The same, of another thing, and of one alone.
        [(4100, "Ping: open"), (4101, "Ping: open")],
        [(4100, "Ping: Slim"), (4101, "Ping: Slow")],
        [(4100, "Ping: Slow"), (4101, "Pong: nothing")],
    ] {
        let tale = commented(issues(&["Slow", "Slim"]), &texts).await;
        let made = tale.made(&[]).await;
        assert!(notes(&made).iter().all(|note| !note.contains("body")), "{texts:?} {:?}", notes(&made));
        assert!(open(&made).iter().all(|id| !id.ends_with("body")), "{texts:?} {:?}", open(&made));
    }
}

#[tokio::test]
async fn a_short_number_beside_what_tells_is_asked_with_the_rest_of_the_frame() {
    let issue = |id: u64, title: &str, comments: u64| json!({"id": id, "title": title, "comments": comments});
    let list = items(&[issue(4100, "Login broken", 3), issue(4101, "Crash on save", 5)]);
    let tale = commented(list, &[(4100, "Login broken: 3 days left"), (4101, "Crash on save: 5 days left")]).await;
    let made = tale.made(&[]).await;
    assert_eq!(open(&made), ["source:s2/body", "pick:s2/issue_id", "pick:s3/issue_id"], "{:?}", notes(&made));
    assert_eq!(words(&made, "source:s2/body")[0], "taken");
    let made = answered(&tale, &[], &[("source:s2/body", "taken")]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    let made = answered(&tale, &[], &[("source:s2/body", "always")]).await;
    assert_eq!(steps(&made)["s3"]["body"], json!("Crash on save: 5 days left"));
}

#[tokio::test]
async fn a_whole_word_that_a_person_says_as_well_is_one_question_for_the_frame() {
    let issue = |id: u64, reporter: &str, severity: &str, area: &str| json!({"id": id, "reporter": reporter, "severity": severity, "area": area});
    // Common words, words of an enum, and one that was said before.
    for (argument, sent) in [("assignee", ["ann", "bob"]), ("priority", ["P1", "P2"]), ("assignee", ["web-1", "api-2"])]
    {
        let mut tale = Tale::new();
        let list = items(&[issue(1, "ann", "P1", "web-1"), issue(2, "bob", "P2", "api-2")]);
        tale.call("listIssues", json!({"project": "web-1"}), list).await;
        for (id, word) in [1, 2].into_iter().zip(sent) {
            let to = json!({"issue_id": format!("@1{{.items[{}].id}}", id - 1), argument: word});
            tale.call("assignIssue", to, json!({"id": id})).await;
        }
        let made = tale.made(&[]).await;
        let asked = format!("source:s2/{argument}");
        let sources: Vec<&str> = open(&made).into_iter().filter(|id| id.starts_with("source")).collect();
        assert_eq!(sources, [asked.as_str()], "{sent:?} {:?}", notes(&made));
        assert_eq!(words(&made, &asked), ["taken", "always"], "{sent:?}");
        assert_eq!(steps(&made)["s3"][argument], json!(sent[1]));
        let made = answered(&tale, &[], &[(&asked, "taken")]).await;
        assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{sent:?} {:?}", notes(&made));
    }
}

#[tokio::test]
async fn what_was_said_of_the_first_text_is_not_said_of_what_only_another_one_has() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), issues(&["a", "b", "c"])).await;
    let comment = |id: u64, text: &str| json!({"issue_id": id, "body": text});
    tale.call("addComment", comment(4101, "Reminder 1: 3 open"), json!({"id": 900})).await;
    tale.query(1, ".items | length");
    tale.call("addComment", comment(4102, "Reminder 2: 3 open"), json!({"id": 901})).await;
    let made = answered(&tale, &[], &[("source:s2/body", "taken")]).await;
    assert!(open(&made).contains(&"source:s3/body"), "{:?} {:?}", open(&made), notes(&made));
    assert_eq!(steps(&made)["s3"]["body"], json!("Reminder 2: 3 open"));
}

#[tokio::test]
async fn a_call_that_takes_two_items_is_not_a_loop_with_itself() {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "x"}), issues(&["Login broken", "Crash on save"])).await;
    let both = json!({"project": "@1{.items[0].id}", "issue": "@1{.items[1].id}", "text": "Again: Login broken"});
    tale.call("createIssue", both, json!({"id": 9})).await;
    let made = tale.made(&[]).await;
    assert!(words(&made, "source:s2/text").contains(&"taken"));
    assert!(!notes(&made).iter().any(|note| note.contains("may be one step")), "{:?}", notes(&made));
}

#[tokio::test]
async fn members_behind_many_others_are_of_the_thing_too() {
    let urls = (0..80).map(|at| (format!("a{at}"), json!(format!("https://{at}.example"))));
    let person: Value = urls.collect::<serde_json::Map<_, _>>().into();
    let bill = |id: u64, title: &str| json!({"id": id, "assignee": person, "title": title});
    let list = items(&[bill(41, "Slow"), bill(42, "Slim")]);
    let made = commented(list, &[(41, "Hi: Slow is open"), (42, "Hi: Slim is open")]).await.made(&[]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    let far = |id: u64, who: &str, more: usize| {
        let many = (0..more).map(|at| (format!("a{at}"), json!(at)));
        let many: Value = many.collect::<serde_json::Map<_, _>>().into();
        json!({"id": id, "title": who, "many": many})
    };
    // Of a thing with more members than are looked at it is not sure that one alone has it.
    for (more, asked) in [(100, false), (400, true)] {
        let list = items(&[far(41, "Ada L.", more), far(42, "Bob M.", more)]);
        let made = commented(list, &[(41, "Hi Ada L.!"), (42, "Hi Bob M.!")]).await.made(&[]).await;
        assert_eq!(open(&made).contains(&"source:s2/body"), asked, "{more} {:?}", notes(&made));
    }
}

/// An invoice of a customer.
fn invoice(number: &str, name: &str, amount: f64, currency: &str) -> Value {
    let customer = json!({"name": name, "email": format!("{name}@x.example")});
    let (of, labels) = (name.to_lowercase(), [format!("to-{name}")]);
    json!({"number": number, "amount": amount, "currency": currency, "customer": customer, "by": {"login": of}, "labels": labels})
}

/// A letter about each of some invoices.
async fn letters(invoices: &[Value], texts: &[(&str, &str)]) -> Tale {
    let mut tale = Tale::new();
    tale.call("listIssues", json!({"project": "overdue"}), items(invoices)).await;
    for (to, text) in texts {
        let sent = json!({"customer": format!("{to}@x.example"), "text": text});
        tale.call("createIssue", sent, json!({"id": 900})).await;
    }
    tale
}

#[tokio::test]
async fn short_and_nested_parts_of_a_text_are_asked_with_what_tells_of_the_same_thing() {
    let one = [invoice("2026-101", "Nordwind", 80.0, "EUR")];
    let read = |jq: &str| format!(".items[] | {jq}");
    let hundredths = |jq: &str| format!(".items[0]{jq} | (. * 100 | round)");
    for (text, parts) in [
        ("Dear Nordwind, invoice 2026-101 is due.", vec![read(".customer.name"), read(".number")]),
        ("Dear Nordwind, please pay.", vec![read(".customer.name")]),
        (
            "2026-101 over 80.00 EUR (nordwind)",
            vec![read(".number"), hundredths(".amount"), read(".currency"), read(".by.login")],
        ),
        ("2026-101, to-Nordwind", vec![read(".number"), read(".labels[0]")]),
    ] {
        let tale = letters(&one, &[("Nordwind", text)]).await;
        let made = tale.made(&[]).await;
        assert!(open(&made).contains(&"source:s2/text"), "{text}: {:?}", open(&made));
        let made = answered(&tale, &[], &[("source:s2/text", "taken")]).await;
        let linked = steps(&made)["s2"]["text"]["$text"].clone();
        let linked = linked.as_array().unwrap().iter().filter_map(|part| part["$from"]["jq"].as_str());
        let linked: Vec<&str> = linked.map(|jq| jq.split(" | (if .").next().unwrap()).collect();
        assert_eq!(linked, parts, "{text}");
    }
}

#[tokio::test]
async fn letters_to_several_have_what_is_each_ones_own_and_are_a_loop_once_it_is_answered() {
    let invoices = [
        invoice("2026-101", "Nordwind", 1250.5, "EUR"),
        invoice("2026-102", "Acme", 80.0, "USD"),
        invoice("2026-103", "Lumen", 410.5, "GBP"),
    ];
    let texts = [
        ("Nordwind", "Dear Nordwind, invoice 2026-101 over 1250.50 EUR is due."),
        ("Acme", "Dear Acme, invoice 2026-102 over 80.00 USD is due."),
        ("Lumen", "Dear Lumen, invoice 2026-103 over 410.50 GBP is due."),
    ];
    let tale = letters(&invoices, &texts).await;
    let mut answers: Vec<(String, String)> = Vec::new();
    for step in ["s2", "s3", "s4"] {
        let at = step[1..].parse::<usize>().unwrap() - 2;
        answers.push((format!("source:{step}/text"), "taken".into()));
        answers.push((format!("source:{step}/customer"), format!("@1{{.items[{at}].customer.email}}")));
    }
    let answers: Vec<(&str, &str)> = answers.iter().map(|(id, word)| (&**id, &**word)).collect();
    let made = answered(&tale, &[], &answers).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?} {}", notes(&made), steps(&made));
    let there = [invoice("2026-201", "Zeta", 5.5, "CHF"), invoice("2026-202", "Eta", 99.0, "EUR")];
    let wrote = elsewhere(&tale, &[items(&there)], &[]).await;
    let wanted = [("Zeta", "2026-201", "5.50 CHF"), ("Eta", "2026-202", "99.00 EUR")].map(|(who, number, sum)| {
        format!(
            r#"POST /issues {{"text":"Dear {who}, invoice {number} over {sum} is due.","customer":"{who}@x.example"}}"#
        )
    });
    assert_eq!(wrote, wanted);
}

#[tokio::test]
async fn names_and_labels_in_comments_are_those_of_the_thing_that_is_commented_on() {
    let issue = |id: u64, title: &str, who: &str, label: &str| json!({"id": id, "title": title, "state": "open", "assignee": {"login": who}, "labels": [label]});
    let list = [issue(4100, "Login", "ann", "bug"), issue(4101, "Search", "bob", "perf")];
    for texts in [
        ["Login is still open (ann)", "Search is still open (bob)"],
        ["@ann: \"Login\" (bug)", "@bob: \"Search\" (perf)"],
        ["#4100 of ann is open", "#4101 of bob is open"],
        ["Please look, ann", "Please look, bob"],
    ] {
        let tale = commented(items(&list), &[(4100, texts[0]), (4101, texts[1])]).await;
        let answers = [("source:s2/body", "taken"), ("source:s3/body", "taken")];
        let made = tale.made(&[]).await;
        let made = if open(&made).is_empty() { made } else { answered(&tale, &[], &answers).await };
        assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?} {}", notes(&made), steps(&made));
        let wrote = elsewhere(&tale, &[items(&[issue(7, "Menu", "cyd", "ui")])], &[]).await;
        let text = texts[0].replace("ann", "cyd").replace("Login", "Menu").replace("bug", "ui").replace("4100", "7");
        let sent = json!({ "body": text });
        assert_eq!(wrote, [format!("POST /issues/7/comments {sent}")]);
    }
}

#[tokio::test]
async fn words_that_say_how_a_thing_stands_are_those_of_the_person() {
    let bill = json!({"id": 5001, "ref": "SO-5001", "buyer": "Ann", "status": "paid", "lines": 7, "open": 1});
    for (text, parts) in [
        ("Order SO-5001 of Ann is paid", vec![".items[] | .ref", ".items[] | .buyer"]),
        ("Order SO-5001: 1 of 2 is open", vec![".items[] | .ref"]),
    ] {
        let mut tale = Tale::new();
        tale.call("listIssues", json!({"project": "x"}), items(std::slice::from_ref(&bill))).await;
        tale.call("createIssue", json!({"text": text}), json!({"id": 900})).await;
        let made = answered(&tale, &[], &[("source:s2/text", "taken")]).await;
        let linked = steps(&made)["s2"]["text"]["$text"].clone();
        let linked = linked.as_array().unwrap().iter().filter_map(|part| part["$from"]["jq"].as_str());
        assert_eq!(linked.collect::<Vec<_>>(), parts, "{text}");
    }
}
