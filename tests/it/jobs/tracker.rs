//! Jobs in the tracker.

use rote_testkit::World;
use serde_json::json;

use super::{Job, check};

fn world(seed: u64) -> World {
    World::seed(seed)
}

#[test]
fn tracker() {
    check("tracker", [single(), several(), lists(), repeated(), versions()].into_iter().flatten().collect());
}

/// Jobs about one issue.
fn single() -> Vec<Job> {
    let here = || world(1).issues("atlas", &["Fix login", "Weekly report"]);
    vec![
        Job::new(2, "comment on the issue that was made, its id typed", here())
            .does(
                "call tracker createIssue -p project=atlas -p title=Crash
                 query @1 .id
                 call tracker addComment -p issue_id=«Crash» -p body=Seen",
            )
            .asked(&["--param title=Crash"])
            .runs(
                "title=Hang",
                world(7).issues("atlas", &["Fix login", "Crash"]),
                &["createIssue(project: atlas, title: Hang)", "addComment(body: Seen, issue_id: Hang)"],
            )
            .plain(&["createIssue(project: atlas, title: Crash)", "addComment(body: Seen, issue_id: Crash)"]),
        Job::new(3, "an issue by its title in jq", here())
            .does(
                r#"call tracker listIssues -p project=atlas
                 call tracker addComment -p 'issue_id=@1{.items[] | select(.title=="Weekly report") | .id}' -p body=Seen"#,
            )
            .asked(&["--param 'title=Weekly report'"])
            .runs(
                "'title=Monthly report'",
                world(7).issues("atlas", &["Weekly report", "Fix login", "Monthly report"]),
                &["addComment(body: Seen, issue_id: Monthly report)"],
            )
            .plain(&["addComment(body: Seen, issue_id: Weekly report)"]),
        Job::new(4, "a wrong assignee corrected, dead ends, a look at the end", here())
            .does(
                "!8 call tracker createIssue -p project=atlas -p title=Crash -p assignee=zoe
                 call tracker createIssue -p project=atlas -p title=Crash -p assignee=bo
                 call tracker listProjects
                 call tracker searchIssues -p q=login
                 call tracker addComment -p 'issue_id=@2{.id}' -p body=Seen
                 call tracker getIssue -p 'issue_id=@2{.id}'",
            )
            .asked(&["--param title=Crash"])
            .runs(
                "title=Hang",
                world(7).issues("atlas", &["Other"]),
                &["createIssue(assignee: bo, project: atlas, title: Hang)", "addComment(body: Seen, issue_id: Hang)"],
            )
            .gives("/title", json!("Hang"))
            .plain(&["createIssue(assignee: bo, project: atlas, title: Crash)", "addComment(body: Seen, issue_id: Crash)"]),
    ]
}

/// Jobs that change one issue more than once, or make several.
fn several() -> Vec<Job> {
    let here = || world(1).issues("atlas", &["Fix login", "Weekly report"]);
    vec![
        Job::new(7, "two changes of one issue, other fields", here())
            .does(
                "call tracker searchIssues -p q=login
                 call tracker updateIssue -p 'issue_id=@1{.items[0].id}' -p state=in_progress
                 call tracker getIssue -p 'issue_id=@1{.items[0].id}'
                 call tracker updateIssue -p 'issue_id=@1{.items[0].id}' -p due_date=2026-06-01",
            )
            .asked(&["--param due_date=2026-06-01"])
            .runs(
                "due_date=2026-07-01",
                world(7).issues("atlas", &["Other", "Fix login"]),
                &[
                    "updateIssue(issue_id: Fix login, state: in_progress)",
                    "updateIssue(due_date: 2026-07-01, issue_id: Fix login)",
                ],
            )
            .plain(&[
                "updateIssue(issue_id: Fix login, state: in_progress)",
                "updateIssue(due_date: 2026-06-01, issue_id: Fix login)",
            ]),
        Job::new(16, "a parent, three parts by its key, a text with three keys", here())
            .does(
                "call tracker createIssue -p project=atlas -p title=Move
                 call tracker createIssue -p project=atlas -p title=Pack -p 'parent_key=@1{.key}'
                 call tracker createIssue -p project=atlas -p title=Drive -p 'parent_key=@1{.key}'
                 call tracker createIssue -p project=atlas -p title=Unpack -p 'parent_key=@1{.key}'
                 call tracker addComment -p 'issue_id=@1{.id}' -p 'body=Parts: @2{.key}, @3{.key} and @4{.key}'",
            )
            .asked(&["--param title=Move"])
            .runs("title=Leave", world(7).issues("atlas", &["Other"]), &MOVED_BY_NAME)
            .plain(&MOVED),
    ]
}

const MOVED_BY_NAME: [&str; 5] = [
    "createIssue(project: atlas, title: Leave)",
    "createIssue(parent_key: Leave, project: atlas, title: Pack)",
    "createIssue(parent_key: Leave, project: atlas, title: Drive)",
    "createIssue(parent_key: Leave, project: atlas, title: Unpack)",
    "addComment(body: Parts: Pack, Drive and Unpack, issue_id: Leave)",
];
const MOVED: [&str; 5] = [
    "createIssue(project: atlas, title: Move)",
    "createIssue(parent_key: Move, project: atlas, title: Pack)",
    "createIssue(parent_key: Move, project: atlas, title: Drive)",
    "createIssue(parent_key: Move, project: atlas, title: Unpack)",
    "addComment(body: Parts: Pack, Drive and Unpack, issue_id: Move)",
];

/// Jobs that take from lists.
fn lists() -> Vec<Job> {
    let two = || world(1).issues("atlas", &["Fix login"]).issues("beacon", &["Paint login", "Old"]);
    vec![
        Job::new(6, "a project as an argument and in jq", two())
            .does(
                r#"call tracker searchIssues -p q=login
                 call tracker addComment -p 'issue_id=@1{.items[] | select(.project=="atlas") | .id}' -p body=Seen
                 call tracker createIssue -p project=atlas -p title=Follow"#,
            )
            .asked(&["--param project=atlas"])
            .runs(
                "project=beacon",
                world(7).issues("beacon", &["Paint login"]).issues("atlas", &["Fix login"]),
                &["addComment(body: Seen, issue_id: Paint login)", "createIssue(project: beacon, title: Follow)"],
            )
            .plain(&["addComment(body: Seen, issue_id: Fix login)", "createIssue(project: atlas, title: Follow)"]),
        Job::new(8, "the same number three times", world(1).issues("atlas", &["a", "b", "c", "d", "e"]))
            .does(
                r#"call tracker listIssues -p project=atlas -p page_size=10
                 call tracker createIssue -p project=atlas -p title=Next -p 'estimate={"points":10,"hours":10}' -p 'parent_key=@1{.items | map(select(.state=="open")) | last | .key}'"#,
            )
            .asked(&["--param points=10"])
            .runs(
                "points=3",
                world(7).issues("atlas", &["a", "b", "c", "d", "e"]),
                &[r#"createIssue(estimate: {"hours":10,"points":3}, parent_key: e, project: atlas, title: Next)"#],
            )
            .plain(&[r#"createIssue(estimate: {"hours":10,"points":10}, parent_key: e, project: atlas, title: Next)"#]),
        Job::new(12, "an issue on the second page", world(1).issues("atlas", &["a", "b", "Target", "c"]))
            .does(
                r#"call tracker listIssues -p project=atlas -p page_size=2
                 call tracker listIssues -p project=atlas -p page_size=2 -p 'page_token=@1{.next_page_token}'
                 call tracker addComment -p 'issue_id=@2{.items[] | select(.title=="Target") | .id}' -p body=Seen"#,
            )
            .asked(&["--param body=Seen"])
            .runs("body=Over", world(7).issues("atlas", &["Target"]), &["addComment(body: Over, issue_id: Target)"])
            .plain(&["addComment(body: Seen, issue_id: Target)"])
            .runs("body=Over", world(8).issues("atlas", &["a", "b", "c", "d", "Target"]), &["addComment(body: Over, issue_id: Target)"])
            .plain(&["addComment(body: Seen, issue_id: Target)"]),
        Job::new(24, "an issue that a query picked, taken by its position", world(1).issues("atlas", &["a", "b", "Weekly report"]))
            .does(
                r#"call tracker listIssues -p project=atlas
                 query @1 '.items[] | select(.title=="Weekly report") | .id'
                 call tracker updateIssue -p 'issue_id=@1{.items[2].id}' -p priority=urgent"#,
            )
            .asked(&["--param priority=urgent"])
            .runs(
                "priority=high",
                world(7).issues("atlas", &["Weekly report", "a", "c", "b"]),
                &["updateIssue(issue_id: Weekly report, priority: high)"],
            )
            .plain(&["updateIssue(issue_id: Weekly report, priority: urgent)"]),
    ]
}

/// Jobs that do the same with several of a list.
fn repeated() -> Vec<Job> {
    let three = || world(1).issues("atlas", &["a", "b", "c"]);
    let milestone = |world: World, project: &str, title: &str, milestone: &str| {
        world.with("issue", json!({ "project": project, "title": title, "milestone": milestone }))
    };
    let goal =
        milestone(milestone(milestone(world(1), "atlas", "a", "May"), "atlas", "b", "June"), "atlas", "c", "May");
    let next =
        milestone(milestone(milestone(world(7), "beacon", "f", "June"), "beacon", "g", "May"), "atlas", "a", "June");
    vec![
        Job::new(10, "a comment on each issue of a list", three())
            .does(
                "call tracker listIssues -p project=atlas
                 call tracker addComment -p 'issue_id=@1{.items[0].id}' -p body=Done
                 call tracker addComment -p 'issue_id=@1{.items[1].id}' -p body=Done
                 call tracker addComment -p 'issue_id=@1{.items[2].id}' -p body=Done",
            )
            .asked(&["--param body=Done"])
            .runs("body=Over", world(7).issues("atlas", &["p", "q", "r", "s"]), &FOUR)
            .plain(&[
                "addComment(body: Done, issue_id: p)",
                "addComment(body: Done, issue_id: q)",
                "addComment(body: Done, issue_id: r)",
                "addComment(body: Done, issue_id: s)",
            ])
            .runs("body=Over", world(8).issues("atlas", &["p"]), &["addComment(body: Over, issue_id: p)"])
            .runs("body=Over", world(9), &[]),
        Job::new(11, "the issues of a milestone closed, their ids typed", goal)
            .does(
                "call tracker listIssues -p project=atlas
                 call tracker closeIssue -p issue_id=«a»
                 call tracker closeIssue -p issue_id=«c»",
            )
            .asked(&["--param project=atlas"])
            .answers(&["loop:s2=filter"])
            .runs("project=beacon", next, &["closeIssue(issue_id: g)"])
            .plain(&[]),
    ]
}

const FOUR: [&str; 4] = [
    "addComment(body: Over, issue_id: p)",
    "addComment(body: Over, issue_id: q)",
    "addComment(body: Over, issue_id: r)",
    "addComment(body: Over, issue_id: s)",
];

/// Jobs that read a version.
fn versions() -> Vec<Job> {
    let labelled = |world: World, title: &str, label: &str| {
        world.with("issue", json!({ "project": "atlas", "title": title, "labels": [label], "version": 4 }))
    };
    vec![
        Job::new(15, "a stale version read anew, a label added to those that are there", labelled(world(1), "Fix login", "ui"))
            .does(
                r#"call tracker searchIssues -p q=login
                 !8 call tracker updateIssue -p 'issue_id=@1{.items[0].id}' -p version=3 -p 'labels=["bug"]'
                 call tracker getIssue -p 'issue_id=@1{.items[0].id}'
                 call tracker updateIssue -p 'issue_id=@3{.id}' -p 'version=@3{.version}' -p 'labels=@3{.labels + ["bug"]}'"#,
            )
            .asked(&["--param q=login"])
            .runs(
                "q=paint",
                labelled(labelled(world(7), "Fix login", "x"), "Paint wall", "y"),
                &[r#"updateIssue(issue_id: Paint wall, labels: ["y","bug"])"#],
            )
            .plain(&[r#"updateIssue(issue_id: Fix login, labels: ["x","bug"])"#]),
    ]
}
