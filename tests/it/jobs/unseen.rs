//! Jobs written from the API descriptions alone, apart from the code that makes flows of them.

use rote_testkit::World;
use serde_json::json;

use super::{Job, check};

#[test]
fn unseen() {
    let jobs = [selling(), people(), tracking(), combing(), filing(), planning(), texts()];
    check("unseen", jobs.into_iter().flatten().collect());
}

fn company(world: World, name: &str) -> World {
    world.with("company", json!({ "name": name, "domain": format!("{}.test", name.to_lowercase()) }))
}

fn contact(world: World, name: &str, company: &str) -> World {
    let email = format!("{}@{}.test", name.to_lowercase(), company.to_lowercase());
    world.with("contact", json!({ "name": name, "email": email, "company_id": format!("«{company}»") }))
}

fn atlas(seed: u64, titles: &[&str]) -> World {
    World::seed(seed).issues("atlas", titles)
}

fn selling() -> Vec<Job> {
    let there = || company(company(World::seed(7), "Globex"), "Acme");
    vec![
        Job::new(
            48,
            "a contact and a deal for a company, ids typed",
            company(company(World::seed(1), "Acme"), "Globex"),
        )
        .does(
            "call crm listCompanies -p domain=acme.test
                 call crm createContact -p name=Ida -p email=ida@acme.test -p company_id=«Acme»
                 call crm createDeal -p name=Licence -p company_id=«Acme» -p contact_id=«Ida» -p value=500",
        )
        .asked(&["--param domain=acme.test", "--param value=500"])
        .runs(
            "domain=globex.test value=900",
            there(),
            &[
                "createContact(company_id: Globex, email: ida@globex.test, name: Ida)",
                "createDeal(company_id: Globex, contact_id: Ida, name: Licence, value: 900)",
            ],
        )
        .plain(&[
            "createContact(company_id: Acme, email: ida@acme.test, name: Ida)",
            "createDeal(company_id: Acme, contact_id: Ida, name: Licence, value: 500)",
        ]),
        Job::new(49, "a deal made and won, its id and version typed", company(World::seed(1), "Acme"))
            .does(
                "call crm listCompanies -p domain=acme.test
                 call crm createDeal -p name=Licence -p 'company_id=@1{.[0].id}' -p value=500
                 call crm updateDeal -p deal_id=«Licence» -p stage=won -p version=1",
            )
            .asked(&["--param name=Licence"])
            .runs(
                "name=Support",
                there(),
                &[
                    "createDeal(company_id: Acme, name: Support, value: 500)",
                    "updateDeal(deal_id: Support, stage: won)",
                ],
            )
            .plain(&[
                "createDeal(company_id: Acme, name: Licence, value: 500)",
                "updateDeal(deal_id: Licence, stage: won)",
            ]),
    ]
}

fn people() -> Vec<Job> {
    let there = || company(company(World::seed(7), "Globex"), "Acme");
    vec![
        Job::new(50, "everybody of a company asked to come", contact(contact(company(World::seed(1), "Acme"), "Ann", "Acme"), "Ben", "Acme"))
            .does(
                "call crm listCompanies -p domain=acme.test
                 call crm listContacts -p 'company_id=@1{.[0].id}'
                 call calendar createEvent -p calendar=team -p title=Review -p start=2026-05-22T09:00:00Z -p end=2026-05-22T10:00:00Z -p 'attendees=@2{[.items[].email]}'",
            )
            .asked(&["--param title=Review"])
            .runs(
                "title=Talk",
                contact(there(), "Cid", "Acme"),
                &[r#"createEvent(attendees: ["cid@acme.test"], calendar: team, end: 2026-05-22T10:00:00Z, start: 2026-05-22T09:00:00Z, title: Talk)"#],
            )
            .plain(&[r#"createEvent(attendees: ["cid@acme.test"], calendar: team, end: 2026-05-22T10:00:00Z, start: 2026-05-22T09:00:00Z, title: Review)"#]),
        Job::new(51, "a contact moved to another company, both looked up", contact(company(company(World::seed(1), "Acme"), "Globex"), "Ann", "Acme"))
            .does(
                "call crm listContacts -p email=ann@acme.test
                 call crm listCompanies -p domain=globex.test
                 call crm updateContact -p contact_id=«Ann» -p company_id=«Globex»
                 call crm getContact -p contact_id=«Ann»
                 query @4 .company_id",
            )
            .asked(&["--param email=ann@acme.test"])
            .runs(
                "email=ben@acme.test",
                contact(contact(there(), "Ann", "Acme"), "Ben", "Acme"),
                &["updateContact(company_id: Globex, contact_id: Ben)"],
            )
            .gives("", json!("Globex"))
            .plain(&["updateContact(company_id: Globex, contact_id: Ann)"])
            .plain_gives("", json!("Globex")),
    ]
}

fn tracking() -> Vec<Job> {
    let described = |seed: u64, title: &str, label: &str| {
        let fields =
            json!({ "project": "atlas", "title": title, "description": format!("About {title}"), "labels": [label] });
        World::seed(seed).with("issue", fields).issues("atlas", &["Other"])
    };
    vec![
        Job::new(52, "an issue copied into another project", described(1, "Crash", "bug"))
            .does(
                "call tracker searchIssues -p q=crash
                 call tracker createIssue -p project=beacon -p 'title=@1{.items[0].title}' -p 'description=@1{.items[0].description}' -p 'labels=@1{.items[0].labels}'",
            )
            .asked(&["--param q=crash", "--param project=beacon"])
            .runs(
                "q=hang project=delta",
                described(7, "Hang", "ui"),
                &[r#"createIssue(description: About Hang, labels: ["ui"], project: delta, title: Hang)"#],
            ),
        Job::new(53, "a part of an issue, the parent's key typed", atlas(1, &["Other", "Move"]))
            .does(
                "call tracker searchIssues -p q=move
                 call tracker createIssue -p project=atlas -p title=Pack -p parent_key=«Move.key»",
            )
            .asked(&["--param q=move"])
            .runs("q=sail", atlas(7, &["Sail", "Move"]), &["createIssue(parent_key: Sail, project: atlas, title: Pack)"])
            .plain(&["createIssue(parent_key: Move, project: atlas, title: Pack)"]),
        Job::new(54, "a duplicate closed with a word about the first", atlas(1, &["Crash at start", "Crash at end"]))
            .does(
                "call tracker searchIssues -p q=crash
                 call tracker addComment -p issue_id=«Crash at end» -p 'body=Same as «Crash at start.key»'
                 call tracker closeIssue -p issue_id=«Crash at end» -p resolution=duplicate",
            )
            .asked(&["--param q=crash"])
            .answers(&["pick:s2/issue_id=position", "pick:s2/body=position"])
            .runs(
                "q=hang",
                atlas(7, &["Crash at start", "Hang at start", "Hang at end"]),
                &["addComment(body: Same as Hang at start, issue_id: Hang at end)", "closeIssue(issue_id: Hang at end, resolution: duplicate)"],
            ),
        Job::new(55, "an issue begun: assigned, moved, hours logged", atlas(1, &["Other", "Move"]))
            .does(
                "call tracker searchIssues -p q=move
                 call tracker getIssue -p issue_id=«Move»
                 call tracker updateIssue -p issue_id=«Move» -p assignee=ada -p state=in_progress -p 'version=@2{.version}'
                 call tracker addWorklog -p issue_id=«Move» -p hours=2 -p day=2026-05-22 -p note=begun",
            )
            .asked(&["--param q=move", "--param day=2026-05-22"])
            .runs(
                "q=sail day=2026-06-30",
                atlas(7, &["Sail", "Move"]),
                &[
                    "updateIssue(assignee: ada, issue_id: Sail, state: in_progress)",
                    "addWorklog(day: 2026-06-30, hours: 2, issue_id: Sail, note: begun)",
                ],
            )
            .plain(&[
                "updateIssue(assignee: ada, issue_id: Move, state: in_progress)",
                "addWorklog(day: 2026-05-22, hours: 2, issue_id: Move, note: begun)",
            ]),
    ]
}

fn combing() -> Vec<Job> {
    let assigned = |world: World, title: &str, who: &str| {
        world.with("issue", json!({ "project": "atlas", "title": title, "assignee": who }))
    };
    let mine = || assigned(assigned(assigned(World::seed(1), "a", "ada"), "b", "bo"), "c", "ada");
    let theirs = || assigned(assigned(assigned(World::seed(7), "p", "ada"), "q", "ada"), "r", "ada");
    vec![
        Job::new(56, "all issues of one person given to another", mine())
            .does(
                "call tracker listIssues -p assignee=ada
                 call tracker updateIssue -p 'issue_id=@1{.items[0].id}' -p assignee=bo
                 call tracker updateIssue -p 'issue_id=@1{.items[1].id}' -p assignee=bo",
            )
            .asked(&["--param assignee=bo"])
            .runs(
                "assignee=cleo",
                theirs(),
                &[
                    "updateIssue(assignee: cleo, issue_id: p)",
                    "updateIssue(assignee: cleo, issue_id: q)",
                    "updateIssue(assignee: cleo, issue_id: r)",
                ],
            )
            .plain(&[
                "updateIssue(assignee: bo, issue_id: p)",
                "updateIssue(assignee: bo, issue_id: q)",
                "updateIssue(assignee: bo, issue_id: r)",
            ]),
        Job::new(57, "how many issues a project has", atlas(1, &["a", "b"]))
            .does("call tracker listIssues -p project=atlas\n query @1 '.items | length'")
            .asked(&["--param project=atlas"])
            .runs("project=beacon", World::seed(7).issues("beacon", &["a", "b", "c"]), &[])
            .gives("", json!(3))
            .plain(&[])
            .plain_gives("", json!(0)),
        Job::new(58, "the first open issue commented, found by state", atlas(1, &["a", "b"]))
            .does(
                "call tracker listIssues -p project=atlas -p state=open
                 call tracker addComment -p issue_id=«a» -p body=First",
            )
            .asked(&["--param body=First"])
            .answers(&["pick:s2/issue_id=position"])
            .runs("body=Next", atlas(7, &["p"]), &["addComment(body: Next, issue_id: p)"])
            .plain(&["addComment(body: First, issue_id: p)"]),
        Job::new(59, "the list read again behind the writes", atlas(1, &["a"]))
            .does(
                "call tracker listIssues -p project=atlas
                 call tracker createIssue -p project=atlas -p title=Crash
                 call tracker listIssues -p project=atlas
                 query @3 '[.items[].title]'",
            )
            .asked(&["--param title=Crash"])
            .runs("title=Hang", atlas(7, &["p"]), &["createIssue(project: atlas, title: Hang)"])
            .gives("", json!(["p", "Hang"]))
            .plain(&["createIssue(project: atlas, title: Crash)"])
            .plain_gives("", json!(["p", "Crash"])),
    ]
}

fn filing() -> Vec<Job> {
    let files = |seed: u64, folders: &[&str], file: &str, text: &str| {
        let world = folders.iter().fold(World::seed(seed), |world, name| world.with("folder", json!({ "name": name })));
        let other = world.with("file", json!({ "name": "other.md", "folder_id": "«In»", "content": "Other" }));
        other.with("file", json!({ "name": file, "folder_id": "«In»", "content": text })).issues("atlas", &["Report"])
    };
    vec![
        Job::new(60, "a file moved from folder to folder, ids typed", files(1, &["In", "Out"], "a.md", "A"))
            .does(
                "call files listFolders
                 call files listFiles -p folder_id=«In»
                 call files moveFile -p file_id=«a.md» -p folder_id=«Out»",
            )
            .asked(&["--param name=a.md"])
            .answers(&[
                r#"pick:s2/folder_id=@1{.folders[] | select(.name == "In") | .id}"#,
                r#"pick:s3/folder_id=@1{.folders[] | select(.name == "Out") | .id}"#,
            ])
            .runs("name=b.md", files(7, &["Out", "In"], "b.md", "B"), &["moveFile(file_id: b.md, folder_id: Out)"]),
        Job::new(61, "a file deleted that its name picks", files(1, &["In"], "a.md", "A"))
            .does(
                r#"call files listFiles
                 call files deleteFile -p 'file_id=@1{.items[] | select(.name=="a.md") | .id}'"#,
            )
            .asked(&["--param name=a.md"])
            .runs("name=b.md", files(7, &["In"], "b.md", "B"), &["deleteFile(file_id: b.md)"]),
        Job::new(62, "the text of a file as a comment", files(1, &["In"], "a.md", "Alpha and omega"))
            .does(
                r#"call files listFiles
                 call files getFile -p 'file_id=@1{.items[] | select(.name=="a.md") | .id}'
                 call tracker searchIssues -p q=report
                 call tracker addComment -p 'issue_id=@3{.items[0].id}' -p 'body=@2{.content}'"#,
            )
            .asked(&["--param name=a.md"])
            .runs("name=b.md", files(7, &["In"], "b.md", "Beta"), &["addComment(body: Beta, issue_id: Report)"]),
        Job::new(63, "three files of one week", World::seed(1).with("folder", json!({ "name": "In" })))
            .does(
                "call files createFolder -p name=week-19
                 call files uploadFile -p 'folder_id=@1{.id}' -p name=week-19-a.md -p content=A
                 call files uploadFile -p 'folder_id=@1{.id}' -p name=week-19-b.md -p content=B",
            )
            .asked(&["--param week=week-19"])
            .runs(
                "week=week-20",
                World::seed(7),
                &[
                    "createFolder(name: week-20)",
                    "uploadFile(content: A, folder_id: week-20, name: week-20-a.md)",
                    "uploadFile(content: B, folder_id: week-20, name: week-20-b.md)",
                ],
            )
            .plain(&[
                "createFolder(name: week-19)",
                "uploadFile(content: A, folder_id: week-19, name: week-19-a.md)",
                "uploadFile(content: B, folder_id: week-19, name: week-19-b.md)",
            ]),
    ]
}

fn planning() -> Vec<Job> {
    let event = |world: World, title: &str, hour: u8| {
        let time = |hour: u8| format!("2026-05-22T{hour:02}:00:00Z");
        world.with("event", json!({ "calendar": "team", "title": title, "start": time(hour), "end": time(hour + 1) }))
    };
    let here = || event(event(World::seed(1), "Lunch", 12), "Standup", 9);
    let there = || event(event(World::seed(7), "Standup", 10), "Lunch", 13);
    vec![
        Job::new(64, "an event moved, its id typed", here())
            .does(
                "call calendar listEvents -p calendar=team -p title=Standup
                 call calendar updateEvent -p event_id=«Standup» -p start=2026-05-23T09:00:00Z -p end=2026-05-23T10:00:00Z",
            )
            .asked(&["--param title=Standup", "--param day=2026-05-23"])
            .runs(
                "title=Lunch day=2026-06-30",
                there(),
                &["updateEvent(end: 2026-06-30T10:00:00Z, event_id: Lunch, start: 2026-06-30T09:00:00Z)"],
            )
            .plain(&["updateEvent(end: 2026-05-23T10:00:00Z, event_id: Standup, start: 2026-05-23T09:00:00Z)"]),
        Job::new(65, "an event cancelled, seen in the whole list, its id typed", here())
            .does(
                r#"call calendar listEvents -p calendar=team
                 query @1 '.events[] | select(.title=="Standup")'
                 call calendar deleteEvent -p event_id=«Standup»"#,
            )
            .asked(&["--param title=Standup"])
            .runs("title=Lunch", there(), &["deleteEvent(event_id: Lunch)"])
            .plain(&["deleteEvent(event_id: Standup)"]),
        Job::new(66, "an issue due on the day of an event", here().issues("atlas", &["Report"]))
            .does(
                "call calendar listEvents -p calendar=team -p title=Standup
                 call tracker searchIssues -p q=report
                 call tracker updateIssue -p 'issue_id=@2{.items[0].id}' -p 'due_date=@1{.events[0].start[:10]}'",
            )
            .asked(&["--param title=Standup"])
            .runs("title=Lunch", there().issues("atlas", &["Report"]), &["updateIssue(due_date: 2026-05-22, issue_id: Report)"])
            .plain(&["updateIssue(due_date: 2026-05-22, issue_id: Report)"]),
        Job::new(67, "an event unless there is one", here())
            .does(
                "call calendar listEvents -p calendar=team -p title=Retro
                 is-empty @1 .events
                 call calendar createEvent -p calendar=team -p title=Retro -p start=2026-05-22T15:00:00Z -p end=2026-05-22T16:00:00Z",
            )
            .asked(&["--param title=Retro"])
            .runs("title=Lunch", there(), &[])
            .runs(
                "title=Plan",
                there(),
                &["createEvent(calendar: team, end: 2026-05-22T16:00:00Z, start: 2026-05-22T15:00:00Z, title: Plan)"],
            )
            .plain(&["createEvent(calendar: team, end: 2026-05-22T16:00:00Z, start: 2026-05-22T15:00:00Z, title: Retro)"]),
    ]
}

/// Texts that name other things.
fn texts() -> Vec<Job> {
    vec![
        Job::new(68, "what another issue is called in a text, typed", atlas(1, &["Crash at start", "Hang at end"]))
            .does(
                "call tracker searchIssues -p q=crash
                 call tracker searchIssues -p q=hang
                 call tracker addComment -p 'issue_id=@1{.items[0].id}' -p 'body=Duplicate of Hang at end'",
            )
            .asked(&["--param one=crash", "--param other=hang", "--answer source:s3/body=taken"])
            .answers(&["source:s3/body=taken"])
            .runs(
                "one=paint other=sail",
                atlas(7, &["Paint wall", "Sail home", "Crash now", "Hang now"]),
                &["addComment(body: Duplicate of Sail home, issue_id: Paint wall)"],
            )
            .plain(&["addComment(body: Duplicate of Hang now, issue_id: Crash now)"]),
    ]
}
