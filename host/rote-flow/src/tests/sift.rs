//! Writes that stay, writes that a later one covers, and what was made and deleted again.

use serde_json::json;

use super::tale::{Tale, notes, open, steps};

#[tokio::test]
async fn two_changes_of_other_fields_both_stay() {
    let mut tale = Tale::new();
    tale.call("updateIssue", json!({"issue_id": 7, "state": "doing"}), json!({"id": 7})).await;
    tale.call("getIssue", json!({"issue_id": 7}), json!({"id": 7, "state": "doing"})).await;
    tale.call("updateIssue", json!({"issue_id": 7, "due_date": "2026-06-01"}), json!({"id": 7})).await;
    let made = tale.made(&[]).await;
    assert_eq!(made.plan.steps.len(), 2);
    assert_eq!(notes(&made), ["kept s1 and s3: s1 sets fields that s3 does not"]);
}

#[tokio::test]
async fn a_change_is_covered_by_a_later_one_that_sets_all_of_its_fields_and_only_then() {
    let mut tale = Tale::new();
    tale.call("updateIssue", json!({"issue_id": 7, "state": "doing"}), json!({"id": 7})).await;
    tale.call("updateIssue", json!({"issue_id": 7, "state": "done", "version": 2}), json!({"id": 7})).await;
    let made = tale.made(&[]).await;
    assert_eq!(steps(&made), json!({"s2": {"issue_id": 7, "state": "done", "version": 2}}));
    assert_eq!(made.report.dropped[0].reason, "superseded by @2, which sets all of its fields; `--keep @1`");
    let kept = tale.answered_with(&[("undo:s1", "keep")]).await.unwrap();
    assert_eq!(kept.plan.steps.len(), 2);

    // Something else was done to the thing between.
    let mut tale = Tale::new();
    tale.call("updateIssue", json!({"issue_id": 7, "state": "doing"}), json!({"id": 7})).await;
    tale.call("addComment", json!({"issue_id": 7, "body": "Started"}), json!({"id": 1})).await;
    tale.call("updateIssue", json!({"issue_id": 7, "state": "done"}), json!({"id": 7})).await;
    assert_eq!(tale.made(&[]).await.plan.steps.len(), 3);
}

#[tokio::test]
async fn the_same_write_twice_is_two_effects() {
    let mut tale = Tale::new();
    for id in [1, 2] {
        tale.call("addWorklog", json!({"issue_key": "TRK-9", "hours": 1}), json!({"id": id})).await;
    }
    let made = tale.made(&[]).await;
    assert_eq!(made.plan.steps.len(), 2);
    assert_eq!(notes(&made), ["s1 and s2 are the same write twice"]);
    assert_eq!(made.report.notes[0].undo.as_deref(), Some("--skip @1"));
}

/// An event by mistake, moved and deleted, then a comment.
async fn mistake(tale: &mut Tale) {
    tale.call("createEvent", json!({"title": "Reveiw"}), json!({"id": "ev_91", "title": "Reveiw"})).await;
    tale.call("updateEvent", json!({"event_id": "@1{.id}", "title": "Review"}), json!({"id": "ev_91"})).await;
    tale.call("deleteEvent", json!({"event_id": "ev_91"}), json!({})).await;
}

#[tokio::test]
async fn what_was_made_and_deleted_again_falls_out_with_its_permission() {
    let mut tale = Tale::new();
    mistake(&mut tale).await;
    tale.call("addComment", json!({"issue_id": 7, "body": "Hi"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!(notes(&made), ["s1, s2, s3 left out: made and deleted again"]);
    assert_eq!(steps(&made), json!({"s4": {"issue_id": 7, "body": "Hi"}}));
    let writes: Vec<&str> = made.frontmatter.write_permissions.iter().map(|one| one.tool.as_str()).collect();
    assert_eq!(writes, ["addComment"]);
    assert_eq!(tale.answered_with(&[("undo:s1", "keep")]).await.unwrap().plan.steps.len(), 4);
}

#[tokio::test]
async fn what_something_else_uses_is_asked_and_what_was_there_before_is_deleted() {
    let mut tale = Tale::new();
    mistake(&mut tale).await;
    tale.call("addComment", json!({"issue_id": 7, "body": "Was @1{.id}"}), json!({"id": 1})).await;
    let made = tale.made(&[]).await;
    assert_eq!((open(&made), made.plan.steps.len()), (vec!["undo:s1"], 4));
    let error = tale.answered_with(&[("undo:s1", "pair")]).await.unwrap_err();
    assert!(error.to_string().contains("uses response `@1`, which was made and deleted again"), "{error}");
    let error = tale.answered_with(&[("undo:s1", "what")]).await.unwrap_err();
    assert_eq!(error.to_string(), "`undo:s1` is not answered by `what`: say keep or pair");
    let error = tale.answered_with(&[("undo:s4", "pair")]).await.unwrap_err();
    assert_eq!(error.to_string(), "`undo:s4` is not answered by `pair`: say keep");
    let error = tale.answered_with(&[("undo:s9", "keep")]).await.unwrap_err();
    assert_eq!(error.to_string(), "there is not a question `undo:s9`; asked: undo:s1");
    // Who says of what stays that it does is right.
    assert_eq!(open(&tale.answered_with(&[("undo:s4", "keep")]).await.unwrap()), ["undo:s1"]);

    let mut tale = Tale::new();
    tale.call("updateEvent", json!({"event_id": "ev_5", "title": "Old"}), json!({"id": "ev_5"})).await;
    tale.call("deleteEvent", json!({"event_id": "ev_5"}), json!({})).await;
    assert_eq!(tale.made(&[]).await.plan.steps.len(), 2);
}

#[tokio::test]
async fn what_was_made_and_deleted_again_and_is_sent_elsewhere_is_asked() {
    for sent in [json!({"text": "Was ev_91"}), json!({"customer": "ev_91"})] {
        let mut tale = Tale::new();
        mistake(&mut tale).await;
        tale.call("createIssue", sent.clone(), json!({"id": 1})).await;
        let made = tale.made(&[]).await;
        assert!(open(&made).contains(&"undo:s1"), "{sent}");
        assert_eq!(made.plan.steps.len(), 4, "{sent}");
    }
    // A number under the name of the thing.
    let mut tale = Tale::new();
    tale.call("createEvent", json!({"title": "Call"}), json!({"id": 91})).await;
    tale.call("createIssue", json!({"sprint": 91}), json!({"id": 1})).await;
    tale.call("deleteEvent", json!({"event_id": 91}), json!({})).await;
    assert!(!open(&tale.made(&[]).await).contains(&"undo:s1"));
    let mut tale = Tale::new();
    tale.call("createIssue", json!({"title": "Call"}), json!({"id": 91})).await;
    tale.call("createIssue", json!({"issue": 91}), json!({"id": 92})).await;
    tale.call("deleteIssue", json!({"issue_id": 91}), json!({})).await;
    assert!(open(&tale.made(&[]).await).contains(&"undo:s1"));
}

#[tokio::test]
async fn what_was_changed_and_changed_back_is_asked() {
    let issue = |state: &str| json!({"id": 7, "title": "Crash", "state": state});
    for read in [
        ("getIssue", json!({"issue_id": 7}), issue("open")),
        ("listIssues", json!({}), json!({"items": [issue("open")]})),
    ] {
        let mut tale = Tale::new();
        tale.call(read.0, read.1, read.2).await;
        tale.call("updateIssue", json!({"issue_id": 7, "state": "done"}), issue("done")).await;
        tale.call("updateIssue", json!({"issue_id": 7, "state": "open"}), issue("open")).await;
        tale.call("addComment", json!({"issue_id": 8, "body": "Hi"}), json!({"id": 1})).await;
        let writes = |made: &crate::Crystallized| {
            let all = made.frontmatter.write_permissions.iter().map(|one| one.tool.clone());
            all.collect::<Vec<String>>()
        };
        let made = tale.made(&[]).await;
        assert_eq!((open(&made), writes(&made).len()), (vec!["undo:s2"], 2));
        let pair = tale.answered_with(&[("undo:s2", "pair")]).await.unwrap();
        assert_eq!((open(&pair), writes(&pair)), (vec![], vec!["addComment".to_owned()]));
        let keep = tale.answered_with(&[("undo:s2", "keep")]).await.unwrap();
        assert_eq!(keep.plan.steps.iter().filter(|step| step.tool.ends_with("updateIssue")).count(), 2);
        let last = tale.answered_with(&[("undo:s2", "last")]).await.unwrap();
        assert_eq!(last.plan.steps.iter().filter(|step| step.tool.ends_with("updateIssue")).count(), 1);
    }
    // Another value than before is a correction.
    let mut tale = Tale::new();
    tale.call("getIssue", json!({"issue_id": 7}), issue("open")).await;
    tale.call("updateIssue", json!({"issue_id": 7, "state": "done"}), issue("done")).await;
    tale.call("updateIssue", json!({"issue_id": 7, "state": "doing"}), issue("doing")).await;
    assert!(open(&tale.made(&[]).await).is_empty());
}

#[tokio::test]
async fn what_another_tool_takes_back_is_asked() {
    let seven = json!({"issue_id": 7});
    let labels = |names: &[&str]| json!({"issue_id": 7, "labels": names});
    let label = json!({"issue_id": 7, "name": "bug"});
    let rows = [
        (("lockIssue", json!({"issue_id": 7, "reason": "heated"})), ("unlockIssue", seven.clone()), true),
        (("closeIssue", seven.clone()), ("reopenIssue", seven.clone()), true),
        (("reopenIssue", seven.clone()), ("closeIssue", seven.clone()), true),
        (("addLabels", labels(&["bug", "p1"])), ("removeLabel", label.clone()), true),
        // Of another thing, another value, a change and then the end of what was there.
        (("closeIssue", json!({"issue_id": 8})), ("reopenIssue", seven.clone()), false),
        (("addLabels", labels(&["p1"])), ("removeLabel", label.clone()), false),
        (("addLabels", json!({"issue_id": 8, "labels": ["bug"]})), ("removeLabel", label), false),
        (("replaceIssue", json!({"issue_id": 7, "state": "done"})), ("deleteIssue", seven.clone()), false),
        (("lockIssue", seven.clone()), ("reopenIssue", seven.clone()), false),
    ];
    for ((tool, arguments), (back, others), asks) in rows {
        let mut tale = Tale::new();
        tale.call(tool, arguments.clone(), json!({})).await;
        tale.call("addComment", json!({"issue_id": 9, "body": "Hi"}), json!({"id": 1})).await;
        tale.call(back, others.clone(), json!({})).await;
        let made = tale.made(&[]).await;
        let expected = if asks { vec!["undo:s1"] } else { vec![] };
        assert_eq!(open(&made), expected, "{tool} {arguments}, {back} {others}");
        if asks {
            let pair = tale.answered_with(&[("undo:s1", "pair")]).await.unwrap();
            assert_eq!((open(&pair), pair.plan.steps.len()), (vec![], 1), "{tool}, {back}");
            let keep = tale.answered_with(&[("undo:s1", "keep")]).await.unwrap();
            assert_eq!(keep.plan.steps.len(), 3, "{tool}, {back}");
        }
    }
}
