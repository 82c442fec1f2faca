//! Jobs in the calendar, the files, and all four.

use rote_testkit::World;
use serde_json::json;

use super::{Job, check};

#[test]
fn mixed() {
    check("mixed", [files(), days(), report()].into_iter().flatten().collect());
}

fn folders(seed: u64, names: &[&str]) -> World {
    names.iter().fold(World::seed(seed), |world, name| world.with("folder", json!({ "name": name })))
}

fn files() -> Vec<Job> {
    vec![
        Job::new(
            14,
            "a taken name, another one, a 429 and the same again",
            folders(1, &["Reports"]).throttle("uploadFile"),
        )
        .does(
            "!8 call files createFolder -p name=Reports
                 call files createFolder -p name=Archive
                 !8 call files uploadFile -p 'folder_id=@2{.id}' -p name=a.md -p content=Text
                 call files uploadFile -p 'folder_id=@2{.id}' -p name=a.md -p content=Text",
        )
        .asked(&["--param folder=Archive"])
        .runs(
            "folder=Later",
            folders(7, &["Reports", "Archive"]),
            &["createFolder(name: Later)", "uploadFile(content: Text, folder_id: Later, name: a.md)"],
        )
        .runs(
            "folder=X",
            folders(8, &[]),
            &["createFolder(name: X)", "uploadFile(content: Text, folder_id: X, name: a.md)"],
        )
        .plain(&["createFolder(name: Archive)", "uploadFile(content: Text, folder_id: Archive, name: a.md)"]),
        Job::new(21, "a file from the disk", folders(1, &["Reports"]))
            .file("week-19.md", "Nineteen.\n")
            .file("week-20.md", "Twenty.\n")
            .does(
                "call files listFolders -p name=Reports
                 call files uploadFile -p 'folder_id=@1{.folders[0].id}' -p name=week.md -p content=@week-19.md",
            )
            .asked(&["--param content"])
            .runs(
                "content=@week-20.md",
                folders(7, &["Other", "Reports"]),
                &["uploadFile(content: Twenty.\n, folder_id: Reports, name: week.md)"],
            )
            .plain(&["uploadFile(content: Nineteen.\n, folder_id: Reports, name: week.md)"]),
    ]
}

fn days() -> Vec<Job> {
    let people = |seed: u64| {
        let company = json!({ "name": "Acme", "domain": "acme.test" });
        let world = World::seed(seed).issues("atlas", &["Other"]).with("company", company);
        world.with("contact", json!({ "name": "Nora", "email": "nora@acme.test", "company_id": "«Acme»" }))
    };
    vec![
        Job::new(17, "four APIs, the first free hour, its end typed", people(1))
            .does(
                r#"call crm listContacts -p email=nora@acme.test
                 call calendar freeBusy -p calendar=team -p day=2026-05-11
                 call calendar createEvent -p calendar=team -p 'title=Kick-off' -p 'start=@2{.free[0].start}' -p end=2026-05-11T10:00:00Z -p 'attendees=["nora@acme.test"]'
                 call tracker createIssue -p project=atlas -p title=Prepare -p due_date=2026-05-11 -p 'estimate={"points":2,"hours":4}'
                 call files uploadFile -p name=agenda.md -p 'content=Kick-off on 2026-05-11'
                 call crm updateContact -p 'contact_id=@1{.items[0].id}' -p 'notes=Kick-off @3{.start}'"#,
            )
            .asked(&["--param day=2026-05-11"])
            .answers(&["source:s3/end=@2{.free[0].end}"])
            .may(&["freeBusy"])
            .runs("day=2026-06-02", people(7), &KICKED_OFF_LATER)
            .plain(&KICKED_OFF),
        Job::new(19, "a day three days later by jq", people(1))
            .does(
                r#"call tracker createIssue -p project=atlas -p title=Ship -p due_date=2026-05-20
                 query @1 '.due_date | strptime("%Y-%m-%d") | mktime + 259200 | strftime("%Y-%m-%d")' -r -s when
                 call calendar createEvent -p calendar=team -p title=Look -p 'start=${when}T09:00:00Z' -p 'end=${when}T10:00:00Z'"#,
            )
            .asked(&["--param due_date=2026-05-20"])
            .runs(
                "due_date=2026-07-01",
                people(7),
                &[
                    "createIssue(due_date: 2026-07-01, project: atlas, title: Ship)",
                    "createEvent(calendar: team, end: 2026-07-04T10:00:00Z, start: 2026-07-04T09:00:00Z, title: Look)",
                ],
            )
            .plain(&[
                "createIssue(due_date: 2026-05-20, project: atlas, title: Ship)",
                "createEvent(calendar: team, end: 2026-05-23T10:00:00Z, start: 2026-05-23T09:00:00Z, title: Look)",
            ]),
        Job::new(20, "a day as an argument and in a time", people(1))
            .does(
                "call tracker createIssue -p project=atlas -p title=Ship -p due_date=2026-05-22
                 call calendar createEvent -p calendar=team -p title=Ship -p start=2026-05-22T09:00:00Z -p end=2026-05-22T10:00:00Z",
            )
            .asked(&["--param due_date=2026-05-22"])
            .runs(
                "due_date=2026-06-30",
                people(7),
                &[
                    "createIssue(due_date: 2026-06-30, project: atlas, title: Ship)",
                    "createEvent(calendar: team, end: 2026-06-30T10:00:00Z, start: 2026-06-30T09:00:00Z, title: Ship)",
                ],
            )
            .plain(&[
                "createIssue(due_date: 2026-05-22, project: atlas, title: Ship)",
                "createEvent(calendar: team, end: 2026-05-22T10:00:00Z, start: 2026-05-22T09:00:00Z, title: Ship)",
            ]),
    ]
}

const KICKED_OFF_LATER: [&str; 4] = [
    r#"createEvent(attendees: ["nora@acme.test"], calendar: team, end: 2026-06-02T10:00:00Z, start: 2026-06-02T09:00:00Z, title: Kick-off)"#,
    r#"createIssue(due_date: 2026-06-02, estimate: {"hours":4,"points":2}, project: atlas, title: Prepare)"#,
    "uploadFile(content: Kick-off on 2026-06-02, name: agenda.md)",
    "updateContact(contact_id: Nora, notes: Kick-off 2026-06-02T09:00:00Z)",
];
const KICKED_OFF: [&str; 4] = [
    r#"createEvent(attendees: ["nora@acme.test"], calendar: team, end: 2026-05-11T10:00:00Z, start: 2026-05-11T09:00:00Z, title: Kick-off)"#,
    r#"createIssue(due_date: 2026-05-11, estimate: {"hours":4,"points":2}, project: atlas, title: Prepare)"#,
    "uploadFile(content: Kick-off on 2026-05-11, name: agenda.md)",
    "updateContact(contact_id: Nora, notes: Kick-off 2026-05-11T09:00:00Z)",
];

/// The weekly report: dead ends, and a mistake that was undone.
fn report() -> Vec<Job> {
    let office = |seed: u64| {
        folders(seed, &["Reports"])
            .issues("atlas", &["Weekly report", "Fix login"])
            .issues("beacon", &["Weekly report 2"])
    };
    let job = Job::new(25, "a weekly report with dead ends, and an event made by mistake and deleted", office(1));
    let job = job.does(
        r#"call tracker listProjects
         !8 call tracker getIssue -p issue_id=9999
         call tracker listIssues -p project=atlas
         !8 call tracker updateIssue -p 'issue_id=@3{.items[1].id}' -p assignee=zoe
         call files listFolders -p name=Reports
         call calendar createEvent -p calendar=personal -p 'title=Report week-19' -p start=2026-05-08T09:00:00Z -p end=2026-05-08T10:00:00Z
         call calendar listEvents -p calendar=personal
         call calendar deleteEvent -p event_id=«Report week-19»
         call calendar createEvent -p calendar=team -p 'title=Report week-19' -p start=2026-05-08T09:00:00Z -p end=2026-05-08T10:00:00Z
         call files uploadFile -p 'folder_id=@5{.folders[0].id}' -p name=week-19.md -p 'content=Report of week-19'
         call tracker addComment -p 'issue_id=@3{.items[] | select(.title=="Weekly report") | .id}' -p 'body=week-19: @10{.name}'
         call tracker createIssue -p project=atlas -p 'title=After week-19'"#,
    );
    let job = job.asked(&["--param week=week-19"]).runs(
        "week=week-20",
        office(7),
        &[
            "createEvent(calendar: team, end: 2026-05-08T10:00:00Z, start: 2026-05-08T09:00:00Z, title: Report week-20)",
            "uploadFile(content: Report of week-20, folder_id: Reports, name: week-20.md)",
            "addComment(body: week-20: week-20.md, issue_id: Weekly report)",
            "createIssue(project: atlas, title: After week-20)",
        ],
    );
    vec![job.plain(&[
        "createEvent(calendar: team, end: 2026-05-08T10:00:00Z, start: 2026-05-08T09:00:00Z, title: Report week-19)",
        "uploadFile(content: Report of week-19, folder_id: Reports, name: week-19.md)",
        "addComment(body: week-19: week-19.md, issue_id: Weekly report)",
        "createIssue(project: atlas, title: After week-19)",
    ])]
}
