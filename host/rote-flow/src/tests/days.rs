//! Days that were reckoned in the head from one that is another one in each run.

use serde_json::json;

use super::reckoned::{answered, words};
use super::support::wish;
use super::tale::{Tale, notes, open, steps};
use crate::CrystallizeRequest;

/// A job that reads a thing and makes another one with these arguments.
async fn made_from(query: Option<&str>, mut arguments: serde_json::Value) -> Tale {
    let mut tale = Tale::new();
    let lent = json!({"id": 7, "title": "Atlas", "due_date": "2026-12-01", "at": "2026-01-05"});
    tale.call("getIssue", json!({"issue_id": 7}), lent).await;
    if let Some(query) = query {
        tale.query(1, query);
    }
    arguments["estimate"] = json!("@1{.id}");
    tale.call("createIssue", arguments, json!({"id": 9})).await;
    tale
}

#[tokio::test]
async fn a_day_some_days_from_a_parameter_is_asked_wherever_it_stands() {
    let sent = json!({"due_date": "2026-12-09", "sprint": "2026-11-24T09:00:00Z", "text": "from 2026-11-25 to 2026-12-09",
        "title": "2026-11-25"});
    let tale = made_from(None, sent).await;
    let day = [("day", Some("2026-11-25"))];
    let asked = ["source:s2/due_date", "source:s2/sprint", "source:s2/text{2026-12-09}"];
    let made = answered(&tale, &day, &[]).await;
    assert_eq!(open(&made), asked);
    for id in asked {
        assert_eq!(words(&made, id), ["reckoned", "always"], "{id}");
    }
    let made = answered(&tale, &day, &asked.map(|id| (id, "reckoned"))).await;
    assert!(open(&made).is_empty(), "{:?}", open(&made));
    let step = &steps(&made)["s2"];
    let reckoned = |sign: char, days: u32| {
        let jq = format!("($day[0:10] + \"T00:00:00Z\" | fromdate {sign} {days} * 86400 | todate)[0:10]");
        json!({"$from": {"step": "s1", "jq": jq, "with": {"day": {"$param": "day"}}}})
    };
    assert_eq!(step["due_date"], reckoned('+', 14));
    assert_eq!(step["sprint"], json!({"$text": [reckoned('-', 1), "T09:00:00Z"]}));
    assert_eq!(step["text"], json!({"$text": ["from ", {"$param": "day"}, " to ", reckoned('+', 14)]}));
    assert!(open(&answered(&tale, &[], &[]).await).is_empty(), "nothing is another day in another run");
}

#[tokio::test]
async fn a_parameter_that_stands_nowhere_can_be_what_a_day_is_reckoned_from() {
    let tale = made_from(None, json!({"due_date": "2026-12-09", "title": "Report"})).await;
    let day = [("day", Some("2026-11-25"))];
    let made = tale.made(&day).await;
    assert_eq!(open(&made), ["source:s2/due_date"]);
    assert!(!made.plan.parameters.contains_key("day"), "nothing has it yet");
    let made = answered(&tale, &day, &[("source:s2/due_date", "reckoned")]).await;
    assert!(open(&made).is_empty() && made.plan.parameters.contains_key("day"));
    assert_eq!(steps(&made)["s2"]["due_date"]["$from"]["with"]["day"], json!({"$param": "day"}));
    let made = answered(&tale, &day, &[("source:s2/due_date", "always")]).await;
    assert!(notes(&made).contains(&"parameter `day` stands nowhere until a day is `reckoned` from it"));
    let far = tale
        .wish(&CrystallizeRequest { force: true, ..wish(&[("day", Some("2020-01-01"))]) })
        .await
        .unwrap_err()
        .to_string();
    assert!(far.contains("no argument of a kept call holds `2020-01-01`"), "{far}");
}

#[tokio::test]
async fn a_day_some_days_from_one_that_a_query_printed_is_asked() {
    for (query, day, asked) in [
        (".due_date", "2026-12-15", true),
        ("{id, due_date}", "2026-12-15", true),
        (".at", "2026-12-15", false),
        (".title", "2026-12-15", false),
    ] {
        let tale = made_from(Some(query), json!({"title": "Again", "due_date": day})).await;
        let made = tale.made(&[]).await;
        let id = "source:s2/due_date";
        assert_eq!(open(&made).contains(&id), asked, "{query}: {:?}", open(&made));
        if asked {
            let made = answered(&tale, &[], &[(id, "reckoned")]).await;
            assert!(steps(&made)["s2"]["due_date"].to_string().contains("+ 14 * 86400"), "{query}");
            let made = answered(&tale, &[], &[(id, "always")]).await;
            assert!(open(&made).is_empty() && steps(&made)["s2"]["due_date"] == day);
        }
    }
}

#[tokio::test]
async fn a_day_some_days_from_one_that_the_same_text_takes_is_asked() {
    for (later, asked) in [("2026-12-15", true), ("2029-12-15", false)] {
        let mut tale = Tale::new();
        tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "due_date": "2026-12-01"})).await;
        let text = format!("It was due on @1{{.due_date}}. Please pay by {later}.");
        tale.call("createIssue", json!({"title": "@1{.id}", "text": text}), json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        let id = format!("source:s2/text{{{later}}}");
        assert_eq!(open(&made), if asked { vec![id.as_str()] } else { vec![] });
        if asked {
            let made = answered(&tale, &[], &[(&id, "reckoned")]).await;
            assert!(open(&made).is_empty() && steps(&made)["s2"]["text"].to_string().contains("+ 14 * 86400"));
        }
    }
}

/// A meeting of this time, and another one some days later; the time is typed so.
async fn met(at: &str, start: &str, tool: &str, more: serde_json::Value) -> Tale {
    let mut tale = Tale::new();
    let meeting =
        json!({"id": "ev_7", "title": "Design of it all", "start": {"date_time": at}, "end": {"date_time": "x"}});
    tale.call("getEvent", json!({"event_id": "ev_7"}), meeting).await;
    let mut arguments = json!({"start": {"date_time": start}});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    tale.call(tool, arguments, json!({"id": "ev_8"})).await;
    tale
}

#[tokio::test]
async fn a_time_on_another_day_keeps_the_time_of_the_thing() {
    let own = json!({"event_id": "ev_7"});
    let taken = json!({"title": "@1{.title}"});
    for (at, start, tool, more, days, rest) in [
        (
            "2026-11-30T10:00:00",
            "2026-12-01T10:00:00",
            "updateEvent",
            &own,
            "+ 1 *",
            json!([".start.date_time | .[10:]"]),
        ),
        (
            "2026-11-30T10:00",
            "2026-12-01T10:00:00",
            "updateEvent",
            &own,
            "+ 1 *",
            json!([".start.date_time | .[10:]", ":00"]),
        ),
        (
            "2026-11-30T10:00:00Z",
            "2026-12-07T10:00:00",
            "createEvent",
            &taken,
            "+ 7 *",
            json!([".start.date_time | .[10:19]"]),
        ),
    ] {
        let tale = met(at, start, tool, more.clone()).await;
        let id = "source:s2/start/date_time";
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), words(&made, id)), (vec![id], vec!["reckoned", "always"]), "{at} {start}");
        let made = answered(&tale, &[], &[(id, "reckoned")]).await;
        let text = steps(&made)["s2"]["start"]["date_time"]["$text"].clone();
        let parts: Vec<serde_json::Value> =
            text.as_array().unwrap().iter().map(|part| part.pointer("/$from/jq").unwrap_or(part).clone()).collect();
        assert!(parts[0].as_str().unwrap().contains(days), "{text}");
        assert_eq!((json!(parts[1..]), open(&made)), (rest, vec![]), "{at} {start}");
        let made = answered(&tale, &[], &[(id, "always")]).await;
        assert!(open(&made).is_empty() && steps(&made)["s2"]["start"]["date_time"] == start);
    }
    let tale = met("2026-11-30T10:00:00", "2026-12-01T10:00:00", "updateEvent", own).await;
    let made = answered(&tale, &[("day", Some("2026-11-30"))], &[("source:s2/start/date_time", "reckoned")]).await;
    let text = steps(&made)["s2"]["start"]["date_time"]["$text"].clone();
    assert_eq!(text[0]["$from"]["with"]["day"], json!({"$param": "day"}), "{text}");
    assert_eq!(text[1]["$from"]["jq"], ".start.date_time | .[10:]");
}

#[tokio::test]
async fn a_day_some_days_from_one_of_the_thing_at_hand_is_asked() {
    for (sent, asked) in [
        (json!({"title": "@1{.title}", "due_date": "2026-12-02"}), true),
        (json!({"title": "@1{.title}", "due_date": "2026-11-03"}), true),
        (json!({"title": "@1{.title}", "due_date": "2026-12-10"}), false),
        (json!({"title": "@1{.title}", "due_date": "2027-11-02"}), false),
        (json!({"title": "Anew", "due_date": "2026-12-02"}), false),
        (json!({"title": "Anew", "estimate": "@1{.id}", "due_date": "2026-12-02"}), false),
    ] {
        let mut tale = Tale::new();
        let order =
            json!({"id": 51, "title": "Order of Ann Lee", "placed_on": "2026-11-02", "updated_at": "2026-12-01"});
        tale.call("getIssue", json!({"issue_id": 51}), order).await;
        tale.call("createIssue", sent.clone(), json!({"id": 9})).await;
        let made = tale.made(&[]).await;
        let id = "source:s2/due_date";
        assert_eq!(open(&made), if asked { vec![id] } else { vec![] }, "{sent}");
        if asked {
            assert_eq!(words(&made, id), ["reckoned", "always"]);
            let made = answered(&tale, &[], &[(id, "reckoned")]).await;
            let read = steps(&made)["s2"]["due_date"]["$from"]["with"]["day"]["$from"]["jq"].clone();
            assert_eq!((read, open(&made)), (json!(".placed_on"), vec![]));
        }
    }
}

/// A visit that was read, and two events that were made for it, by these arguments.
async fn planned(events: &[serde_json::Value]) -> Tale {
    let mut tale = Tale::new();
    let visit = json!({"id": 7, "title": "Visit of all", "due_date": "2026-03-01"});
    tale.call("getIssue", json!({"issue_id": 7}), visit).await;
    for event in events {
        tale.call("createEvent", event.clone(), json!({"id": "ev_8"})).await;
    }
    tale
}

#[tokio::test]
async fn the_days_of_one_write_and_of_the_writes_of_one_tool_move_together() {
    // Four days, and eight, from a day of the thing are what nobody says; beside one day they are of the same series.
    let first = |end: &str| json!({"title": "@1{.title}", "start": "2026-03-02", "end": end});
    let second = json!({"title": "@1{.title}", "start": "2026-03-09"});
    let tale = planned(&[first("2026-03-05"), second.clone()]).await;
    let asked = ["source:s2/end", "source:s2/start", "source:s3/start"];
    let mut found = open(&tale.made(&[]).await).into_iter().map(str::to_owned).collect::<Vec<_>>();
    found.sort_unstable();
    assert_eq!(found, asked);
    let made = answered(&tale, &[], &asked.map(|id| (id, "reckoned"))).await;
    assert!(open(&made).is_empty(), "{:?}", open(&made));
    for (step, place, days) in [("s2", "start", "+ 1 *"), ("s2", "end", "+ 4 *"), ("s3", "start", "+ 8 *")] {
        let day = steps(&made)[step][place].to_string();
        assert!(day.contains(days) && day.contains(".due_date"), "{day}");
    }
    // Alone they are chance.
    assert!(open(&planned(&[second]).await.made(&[]).await).is_empty());
    // What the first one takes from the thing, the next one follows.
    let taken = json!({"title": "@1{.title}", "start": "@1{.due_date}"});
    let later = json!({"title": "@1{.title}", "start": "2026-03-06"});
    assert_eq!(open(&planned(&[taken, later]).await.made(&[]).await), ["source:s3/start"]);
}

#[tokio::test]
async fn a_day_with_the_name_of_its_month_is_the_day_that_it_is() {
    let id = "source:s2/body";
    for (text, there) in [
        ("Due on 2 March 2026.", "Due on 11 July 2026."),
        ("Due March 2nd, 2026", "Due July 11th, 2026"),
        ("Due Mon, 02 Mar 2026!", "Due Sat, 11 Jul 2026!"),
    ] {
        for at in ["2026-03-02", "2026-03-02T09:00:00Z"] {
            let mut tale = Tale::new();
            tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "due_date": at})).await;
            tale.call("addComment", json!({"issue_id": 7, "body": text}), json!({"id": 1})).await;
            assert_eq!(open(&tale.made(&[]).await), [id], "{text}");
            let made = answered(&tale, &[("issue_id", None)], &[(id, "taken")]).await;
            assert!(open(&made).is_empty(), "{:?}", open(&made));
            let other = json!({"id": 8, "due_date": at.replace("2026-03-02", "2026-07-11")});
            let wrote = super::eye::elsewhere(&tale, &[other], &[("issue_id", "8")]).await;
            assert!(wrote[0].contains(there), "{wrote:?}");
        }
    }
}

#[tokio::test]
async fn a_day_with_the_name_of_its_month_is_a_parameter_and_some_days_from_one() {
    let sent = json!({"due_date": "2026-11-25", "text": "From 25 November 2026 to December 9, 2026"});
    let tale = made_from(None, sent).await;
    let day = [("day", Some("2026-11-25"))];
    let id = "source:s2/text{December 9, 2026}";
    assert_eq!(open(&answered(&tale, &day, &[]).await), [id]);
    let made = answered(&tale, &day, &[(id, "reckoned")]).await;
    assert!(open(&made).is_empty(), "{:?}", open(&made));
    let lent = json!({"id": 7, "title": "Atlas", "due_date": "2026-12-01", "at": "2026-01-05"});
    let wrote = super::eye::elsewhere(&tale, &[lent], &[("day", "2027-01-22")]).await;
    assert!(wrote[0].contains("From 22 January 2027 to February 5, 2027"), "{wrote:?}");
    // Without a call before it no program writes the day so.
    let mut tale = Tale::new();
    let sent = json!({"due_date": "2026-11-25", "text": "On 25 November 2026"});
    tale.call("createIssue", sent, json!({"id": 9})).await;
    assert_eq!(open(&answered(&tale, &day, &[]).await), ["source:s1/text{25 November 2026}"]);
}

#[tokio::test]
async fn each_of_several_texts_has_the_day_of_its_thing_with_the_name_of_the_month() {
    let mut tale = Tale::new();
    let items = [(311, "2026-03-02"), (312, "2026-04-11")].map(|(id, day)| json!({"id": id, "due_date": day}));
    tale.call("listIssues", json!({"project": "x"}), json!({"items": items})).await;
    for (id, day) in [(311, "2 March 2026"), (312, "11 April 2026")] {
        let body = format!("Please be done by {day}.");
        tale.call("addComment", json!({"issue_id": id, "body": body}), json!({"id": 1})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec![], 2), "{:?}", notes(&made));
    let there = json!({"items": [{"id": 41, "due_date": "2026-12-24"}]});
    let wrote = super::eye::elsewhere(&tale, &[there], &[]).await;
    assert!(wrote[0].contains("done by 24 December 2026."), "{wrote:?}");
}
