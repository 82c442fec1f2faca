//! Jobs that repeat, and jobs over pages.

use rote_testkit::World;
use serde_json::json;

use super::{Job, check};

#[test]
fn loops() {
    check("loops", [whole(), parts(), pages()].into_iter().flatten().collect());
}

fn issue(world: World, title: &str, state: &str, priority: &str) -> World {
    world.with("issue", json!({ "project": "atlas", "title": title, "state": state, "priority": priority }))
}

/// Two calls for each item, a list of typed ids, a loop over what a search found.
fn whole() -> Vec<Job> {
    let two = |seed: u64| World::seed(seed).issues("atlas", &["a", "b"]);
    let people = |seed: u64, names: &[&str]| {
        let company = World::seed(seed).with("company", json!({ "name": "Acme", "domain": "acme.test" }));
        names.iter().fold(company, |world, name| {
            world.with("contact", json!({ "name": name, "email": format!("{name}@acme.test"), "company_id": "«Acme»" }))
        })
    };
    vec![
        Job::new(26, "a comment and a closing for each issue", two(1))
            .does(
                "call tracker listIssues -p project=atlas
                 call tracker addComment -p 'issue_id=@1{.items[0].id}' -p body=Done
                 call tracker closeIssue -p 'issue_id=@1{.items[0].id}' -p resolution=fixed
                 call tracker addComment -p 'issue_id=@1{.items[1].id}' -p body=Done
                 call tracker closeIssue -p 'issue_id=@1{.items[1].id}' -p resolution=fixed",
            )
            .asked(&["--param body=Done"])
            .runs("body=Over", World::seed(7).issues("atlas", &["p", "q", "r"]), &BOTH_OVER)
            .plain(&BOTH_DONE)
            .runs("body=Over", World::seed(8), &[]),
        Job::new(27, "a note at every contact of a company, its name in the text", people(1, &["ann", "ben"]))
            .does(
                "call crm listCompanies -p domain=acme.test
                 call crm listContacts -p 'company_id=@1{.[0].id}'
                 call crm updateContact -p 'contact_id=@2{.items[0].id}' -p 'notes=Dear @2{.items[0].name}'
                 call crm updateContact -p 'contact_id=@2{.items[1].id}' -p 'notes=Dear @2{.items[1].name}'",
            )
            .asked(&["--param domain=acme.test"])
            .runs(
                "domain=acme.test",
                people(7, &["cid", "dot", "eve"]),
                &[
                    "updateContact(contact_id: cid, notes: Dear cid)",
                    "updateContact(contact_id: dot, notes: Dear dot)",
                    "updateContact(contact_id: eve, notes: Dear eve)",
                ],
            )
            .plain(&[
                "updateContact(contact_id: cid, notes: Dear cid)",
                "updateContact(contact_id: dot, notes: Dear dot)",
                "updateContact(contact_id: eve, notes: Dear eve)",
            ]),
        Job::new(28, "all issues of a list raised, their ids typed", two(1))
            .does(
                "call tracker listIssues -p project=atlas
                 call tracker updateIssue -p issue_id=«a» -p priority=high
                 call tracker updateIssue -p issue_id=«b» -p priority=high",
            )
            .asked(&["--param priority=high"])
            .runs(
                "priority=low",
                World::seed(7).issues("atlas", &["p", "q", "r"]),
                &[
                    "updateIssue(issue_id: p, priority: low)",
                    "updateIssue(issue_id: q, priority: low)",
                    "updateIssue(issue_id: r, priority: low)",
                ],
            )
            .plain(&[
                "updateIssue(issue_id: p, priority: high)",
                "updateIssue(issue_id: q, priority: high)",
                "updateIssue(issue_id: r, priority: high)",
            ]),
    ]
}

const BOTH_OVER: [&str; 6] = [
    "addComment(body: Over, issue_id: p)",
    "addComment(body: Over, issue_id: q)",
    "addComment(body: Over, issue_id: r)",
    "closeIssue(issue_id: p, resolution: fixed)",
    "closeIssue(issue_id: q, resolution: fixed)",
    "closeIssue(issue_id: r, resolution: fixed)",
];
const BOTH_DONE: [&str; 6] = [
    "addComment(body: Done, issue_id: p)",
    "addComment(body: Done, issue_id: q)",
    "addComment(body: Done, issue_id: r)",
    "closeIssue(issue_id: p, resolution: fixed)",
    "closeIssue(issue_id: q, resolution: fixed)",
    "closeIssue(issue_id: r, resolution: fixed)",
];

/// A part of a list: by a query, by a field.
fn parts() -> Vec<Job> {
    let here = || issue(issue(issue(World::seed(1), "a", "open", "urgent"), "b", "open", "low"), "c", "open", "urgent");
    let there = || {
        let world = issue(issue(World::seed(7), "p", "open", "low"), "q", "open", "urgent");
        issue(issue(issue(world, "r", "open", "urgent"), "s", "open", "low"), "t", "open", "urgent")
    };
    let wanted = &[
        "closeIssue(issue_id: q, resolution: fixed)",
        "closeIssue(issue_id: r, resolution: fixed)",
        "closeIssue(issue_id: t, resolution: fixed)",
    ];
    vec![
        Job::new(29, "the urgent ones closed, picked by a query", here())
            .does(
                r#"call tracker listIssues -p project=atlas
                 query @1 '.items[] | select(.priority=="urgent") | .id'
                 call tracker closeIssue -p issue_id=«a» -p resolution=fixed
                 call tracker closeIssue -p issue_id=«c» -p resolution=fixed"#,
            )
            .asked(&["--param resolution=fixed"])
            .runs("resolution=fixed", there(), wanted)
            .plain(wanted),
        Job::new(30, "the urgent ones closed, by their position", here())
            .does(
                "call tracker listIssues -p project=atlas
                 call tracker closeIssue -p 'issue_id=@1{.items[0].id}' -p resolution=fixed
                 call tracker closeIssue -p 'issue_id=@1{.items[2].id}' -p resolution=fixed",
            )
            .asked(&["--param resolution=fixed"])
            .answers(&["loop:s2=filter"])
            .runs("resolution=fixed", there(), wanted)
            .plain(wanted),
    ]
}

/// Loops and choices over pages.
fn pages() -> Vec<Job> {
    vec![
        Job::new(31, "a comment on each issue of two pages", World::seed(1).issues("atlas", &["a", "b", "c"]))
            .does(
                "call tracker listIssues -p project=atlas -p page_size=2
                 call tracker listIssues -p project=atlas -p page_size=2 -p 'page_token=@1{.next_page_token}'
                 call tracker addComment -p 'issue_id=@1{.items[0].id}' -p body=Done
                 call tracker addComment -p 'issue_id=@1{.items[1].id}' -p body=Done
                 call tracker addComment -p 'issue_id=@2{.items[0].id}' -p body=Done",
            )
            .asked(&["--param body=Done"])
            .runs(
                "body=Over",
                World::seed(7).issues("atlas", &["p", "q", "r", "s", "t"]),
                &[
                    "addComment(body: Over, issue_id: p)",
                    "addComment(body: Over, issue_id: q)",
                    "addComment(body: Over, issue_id: r)",
                    "addComment(body: Over, issue_id: s)",
                    "addComment(body: Over, issue_id: t)",
                ],
            )
            .plain(&[
                "addComment(body: Done, issue_id: p)",
                "addComment(body: Done, issue_id: q)",
                "addComment(body: Done, issue_id: r)",
                "addComment(body: Done, issue_id: s)",
                "addComment(body: Done, issue_id: t)",
            ]),
        Job::new(32, "a contact by name on a later page of the CRM", contacts(1, &["ann", "ben", "cid"]))
            .does(
                r#"call crm listContacts -p limit=2
                 call crm listContacts -p limit=2 -p 'cursor=@1{.next_cursor}'
                 query @2 '.items[] | select(.name=="cid") | .id'
                 call crm updateContact -p contact_id=«cid» -p notes=called"#,
            )
            .asked(&["--param name=cid"])
            .runs("name=ann", contacts(7, &["cid", "ann"]), &["updateContact(contact_id: ann, notes: called)"])
            .plain(&["updateContact(contact_id: cid, notes: called)"]),
    ]
}

fn contacts(seed: u64, names: &[&str]) -> World {
    names.iter().fold(World::seed(seed), |world, name| {
        world.with("contact", json!({ "name": name, "email": format!("{name}@acme.test") }))
    })
}
