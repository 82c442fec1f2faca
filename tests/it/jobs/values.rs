//! Jobs about values: nested, listed, enumerated, dated, found in texts, typed from answers.

use rote_testkit::World;
use serde_json::json;

use super::{Job, check};

#[test]
fn values() {
    check("values", [bodies(), dates(), typed(), changes(), found()].into_iter().flatten().collect());
}

fn atlas(seed: u64) -> World {
    World::seed(seed).issues("atlas", &["Fix login", "Paint wall"])
}

fn bodies() -> Vec<Job> {
    vec![
        Job::new(33, "an enumerated and a listed argument", atlas(1))
            .does(
                "call tracker createIssue -p project=atlas -p title=Crash -p priority=high -p labels=bug -p labels=ui",
            )
            .asked(&["--param priority", "--param title=Crash"])
            .runs(
                "priority=low title=Hang",
                atlas(7),
                &[r#"createIssue(labels: ["bug","ui"], priority: low, project: atlas, title: Hang)"#],
            )
            .plain(&[r#"createIssue(labels: ["bug","ui"], priority: high, project: atlas, title: Crash)"#]),
        Job::new(34, "labels as a parameter", atlas(1))
            .does("call tracker createIssue -p project=atlas -p title=Crash -p 'labels=[\"bug\",\"ui\"]'")
            .asked(&["--param labels"])
            .runs("'labels=[\"docs\"]'", atlas(7), &[r#"createIssue(labels: ["docs"], project: atlas, title: Crash)"#])
            .plain(&[r#"createIssue(labels: ["bug","ui"], project: atlas, title: Crash)"#]),
        Job::new(35, "ten thrice, by the name alone", atlas(1))
            .does(
                r#"call tracker listIssues -p project=atlas -p page_size=10
                 call tracker createIssue -p project=atlas -p title=Next -p 'estimate={"points":10,"hours":10}'
                 call tracker addWorklog -p 'issue_id=@2{.id}' -p hours=10 -p note=begun"#,
            )
            .asked(&["--param points"])
            .runs(
                "points=3",
                atlas(7),
                &[
                    r#"createIssue(estimate: {"hours":10,"points":3}, project: atlas, title: Next)"#,
                    "addWorklog(hours: 10, issue_id: Next, note: begun)",
                ],
            )
            .plain(&[
                r#"createIssue(estimate: {"hours":10,"points":10}, project: atlas, title: Next)"#,
                "addWorklog(hours: 10, issue_id: Next, note: begun)",
            ]),
        Job::new(36, "a variable in jq", atlas(1))
            .does(
                "set 'want=Paint wall'
                 call tracker listIssues -p project=atlas
                 call tracker addComment -p 'issue_id=@1{.items[] | select(.title==$want) | .id}' -p body=Seen",
            )
            .asked(&[])
            .runs("'want=Fix login'", atlas(7), &["addComment(body: Seen, issue_id: Fix login)"]),
    ]
}

fn dates() -> Vec<Job> {
    vec![
        Job::new(37, "a day in a text, in a date and in two times", atlas(1))
            .does(
                "call tracker createIssue -p project=atlas -p 'title=Release 2026-05-22' -p due_date=2026-05-22
                 call calendar createEvent -p calendar=team -p 'title=Release 2026-05-22' -p start=2026-05-22T08:30:00Z -p end=2026-05-22T09:15:00Z",
            )
            .asked(&["--param day=2026-05-22"])
            .runs(
                "day=2026-06-30",
                atlas(7),
                &[
                    "createIssue(due_date: 2026-06-30, project: atlas, title: Release 2026-06-30)",
                    "createEvent(calendar: team, end: 2026-06-30T09:15:00Z, start: 2026-06-30T08:30:00Z, title: Release 2026-06-30)",
                ],
            )
            .plain(&[
                "createIssue(due_date: 2026-05-22, project: atlas, title: Release 2026-05-22)",
                "createEvent(calendar: team, end: 2026-05-22T09:15:00Z, start: 2026-05-22T08:30:00Z, title: Release 2026-05-22)",
            ]),
        Job::new(38, "a free hour of another day, both ends by query", World::seed(1))
            .does(
                "call calendar freeBusy -p calendar=team -p day=2026-05-11
                 call calendar createEvent -p calendar=team -p title=Look -p 'start=@1{.free[0].start}' -p 'end=@1{.free[0].end}'",
            )
            .asked(&["--param day=2026-05-11", "--param title=Look"])
            .may(&["freeBusy"])
            .runs(
                "day=2026-05-12 title=See",
                World::seed(7).with("event", json!({
                    "calendar": "team", "title": "x", "start": "2026-05-12T09:00:00Z", "end": "2026-05-12T10:00:00Z"
                })),
                &["createEvent(calendar: team, end: 2026-05-12T11:00:00Z, start: 2026-05-12T10:00:00Z, title: See)"],
            )
            .plain(&["createEvent(calendar: team, end: 2026-05-11T10:00:00Z, start: 2026-05-11T09:00:00Z, title: Look)"]),
    ]
}

/// What the API said first, typed again.
fn typed() -> Vec<Job> {
    let company = |seed: u64, mail: &str| {
        World::seed(seed)
            .with("company", json!({ "name": "Acme", "domain": "acme.test", "support": mail }))
            .with("folder", json!({ "name": "Other" }))
    };
    vec![
        Job::new(39, "a key in a text, typed", atlas(1))
            .does(
                "call tracker createIssue -p project=atlas -p title=Crash
                 call tracker createIssue -p project=atlas -p title=Follow -p 'description=See «Crash.key» first'",
            )
            .asked(&["--param title=Crash"])
            .runs(
                "title=Hang",
                atlas(7),
                &[
                    "createIssue(project: atlas, title: Hang)",
                    "createIssue(description: See Hang first, project: atlas, title: Follow)",
                ],
            )
            .plain(&[
                "createIssue(project: atlas, title: Crash)",
                "createIssue(description: See Crash first, project: atlas, title: Follow)",
            ]),
        Job::new(40, "an address from an answer, typed into an event", company(1, "help@acme.test"))
            .does(
                "call crm listCompanies -p domain=acme.test
                 call calendar createEvent -p calendar=team -p title=Call -p start=2026-05-22T09:00:00Z -p end=2026-05-22T10:00:00Z -p attendees=help@acme.test",
            )
            .asked(&["--param title=Call"])
            .answers(&["source:s2/attendees/0=@1{.[0].support}"])
            .runs(
                "title=Talk",
                company(7, "desk@acme.test"),
                &[r#"createEvent(attendees: ["desk@acme.test"], calendar: team, end: 2026-05-22T10:00:00Z, start: 2026-05-22T09:00:00Z, title: Talk)"#],
            )
            .plain(&[r#"createEvent(attendees: ["desk@acme.test"], calendar: team, end: 2026-05-22T10:00:00Z, start: 2026-05-22T09:00:00Z, title: Call)"#]),
        Job::new(41, "a folder by its name, its id typed for an upload", company(1, "x@acme.test"))
            .does(
                "call files listFolders -p name=Other
                 call files uploadFile -p folder_id=«Other» -p name=a.md -p content=Text",
            )
            .asked(&["--param content=Text"])
            .runs("content=More", company(7, "y@acme.test"), &["uploadFile(content: More, folder_id: Other, name: a.md)"])
            .plain(&["uploadFile(content: Text, folder_id: Other, name: a.md)"]),
    ]
}

/// Changes of one object.
fn changes() -> Vec<Job> {
    vec![
        Job::new(42, "the same hour logged twice", atlas(1))
            .does(
                "call tracker searchIssues -p q=login
                 call tracker addWorklog -p 'issue_id=@1{.items[0].id}' -p hours=1
                 call tracker addWorklog -p 'issue_id=@1{.items[0].id}' -p hours=1",
            )
            .asked(&["--param q=login"])
            .runs(
                "q=paint",
                atlas(7),
                &["addWorklog(hours: 1, issue_id: Paint wall)", "addWorklog(hours: 1, issue_id: Paint wall)"],
            )
            .plain(&["addWorklog(hours: 1, issue_id: Fix login)", "addWorklog(hours: 1, issue_id: Fix login)"]),
        Job::new(43, "a change corrected by one of the same field", atlas(1))
            .does(
                "call tracker searchIssues -p q=login
                 call tracker updateIssue -p 'issue_id=@1{.items[0].id}' -p priority=low
                 call tracker updateIssue -p 'issue_id=@1{.items[0].id}' -p priority=high",
            )
            .asked(&["--param q=login"])
            .runs("q=paint", atlas(7), &["updateIssue(issue_id: Paint wall, priority: high)"])
            .plain(&["updateIssue(issue_id: Fix login, priority: high)"]),
        Job::new(44, "labels set behind a change", atlas(1))
            .does(
                "call tracker searchIssues -p q=login
                 call tracker updateIssue -p 'issue_id=@1{.items[0].id}' -p priority=low
                 call tracker setLabels -p 'issue_id=@1{.items[0].id}' -p labels=bug",
            )
            .asked(&["--param q=login"])
            .answers(&["source:s3/labels=always"])
            .runs(
                "q=paint",
                atlas(7),
                &[
                    "updateIssue(issue_id: Paint wall, priority: low)",
                    r#"setLabels(issue_id: Paint wall, labels: ["bug"])"#,
                ],
            )
            .plain(&[
                "updateIssue(issue_id: Fix login, priority: low)",
                r#"setLabels(issue_id: Fix login, labels: ["bug"])"#,
            ]),
        Job::new(45, "a comment made by mistake, deleted, and the right one", atlas(1))
            .does(
                "call tracker searchIssues -p q=login
                 call tracker addComment -p 'issue_id=@1{.items[0].id}' -p body=Wrong
                 call tracker deleteComment -p 'issue_id=@1{.items[0].id}' -p 'comment_id=@2{.id}'
                 call tracker addComment -p 'issue_id=@1{.items[0].id}' -p body=Right",
            )
            .asked(&["--param q=login"])
            .runs("q=paint", atlas(7), &["addComment(body: Right, issue_id: Paint wall)"])
            .plain(&["addComment(body: Right, issue_id: Fix login)"]),
    ]
}

/// Found, else made.
fn found() -> Vec<Job> {
    let folder = |seed: u64, names: &[&str]| {
        names.iter().fold(World::seed(seed), |world, name| world.with("folder", json!({ "name": name })))
    };
    vec![
        Job::new(46, "a folder made because it was not found, without asking", folder(1, &["Other"]))
            .does(
                "call files listFolders -p name=Reports
                 call files createFolder -p name=Reports
                 call files uploadFile -p 'folder_id=@2{.id}' -p name=a.md -p content=Text",
            )
            .asked(&["--param content=Text"])
            .answers(&["when:s2=yes", "found:s2=first"])
            .runs(
                "content=More",
                folder(7, &["Reports"]),
                &["uploadFile(content: More, folder_id: Reports, name: a.md)"],
            )
            .plain(&["uploadFile(content: Text, folder_id: Reports, name: a.md)"])
            .runs(
                "content=More",
                folder(8, &[]),
                &["createFolder(name: Reports)", "uploadFile(content: More, folder_id: Reports, name: a.md)"],
            )
            .plain(&["createFolder(name: Reports)", "uploadFile(content: Text, folder_id: Reports, name: a.md)"]),
        Job::new(47, "a folder that is there, made otherwise", folder(1, &["Other", "Reports"]))
            .does(
                "call files listFolders -p name=Reports
                 exists @1 '.folders[0]'
                 call files uploadFile -p 'folder_id=@1{.folders[0].id}' -p name=a.md -p content=Text",
            )
            .asked(&["--param content=Text"])
            .runs(
                "content=More",
                folder(7, &["Reports"]),
                &["uploadFile(content: More, folder_id: Reports, name: a.md)"],
            )
            .plain(&["uploadFile(content: Text, folder_id: Reports, name: a.md)"])
            .runs("content=More", folder(8, &["Other"]), &[])
            .stops(),
    ]
}
