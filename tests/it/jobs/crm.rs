//! Jobs in the CRM.

use rote_testkit::World;
use serde_json::json;

use super::{Job, check};

#[test]
fn crm() {
    check("crm", [contacts(), deals()].into_iter().flatten().collect());
}

fn company(world: World, name: &str, plan: &str) -> World {
    let domain = format!("{}.test", name.to_lowercase());
    world.with("company", json!({ "name": name, "domain": domain, "plan": plan }))
}

fn contact(world: World, name: &str, email: &str, company: &str) -> World {
    world.with("contact", json!({ "name": name, "email": email, "company_id": format!("«{company}»") }))
}

fn here() -> World {
    contact(company(company(World::seed(1), "Acme", "gold"), "Globex", "free"), "Nora", "nora@acme.test", "Acme")
}

/// Bo before Nora, both of Globex, with other ids.
fn there() -> World {
    let world = company(company(World::seed(7), "Globex", "silver"), "Acme", "gold");
    contact(contact(world, "Bo", "bo@globex.test", "Globex"), "Nora", "nora@acme.test", "Globex")
}

fn contacts() -> Vec<Job> {
    vec![
        Job::new(1, "from an address to the plan of the company", here())
            .does(
                "call crm listContacts -p email=nora@acme.test
                 call crm getContact -p 'contact_id=@1{.items[0].id}'
                 call crm listContacts -p email=nobody@acme.test
                 !8 call crm getCompany -p company_id=co_9
                 call crm getCompany -p 'company_id=@2{.company_id}'
                 query @5 '{name, plan}'",
            )
            .asked(&["--param email=nora@acme.test"])
            .runs("email=bo@globex.test", there(), &[])
            .gives("", json!({ "name": "Globex", "plan": "silver" }))
            .plain(&[])
            .plain_gives("", json!({ "name": "Globex", "plan": "silver" })),
        Job::new(5, "a contact found by its address, its id typed", here())
            .does(
                "call crm listContacts -p email=nora@acme.test
                 call crm updateContact -p contact_id=«Nora» -p notes=called",
            )
            .asked(&["--param email=nora@acme.test"])
            .runs("email=bo@globex.test", there(), &["updateContact(contact_id: Bo, notes: called)"])
            .plain(&["updateContact(contact_id: Nora, notes: called)"]),
        Job::new(13, "a contact made unless it is there", here())
            .does(
                "call crm listContacts -p email=new@acme.test
                 is-empty @1 .items
                 call crm createContact -p name=New -p email=new@acme.test
                 call crm updateContact -p 'contact_id=@2{.id}' -p notes=called",
            )
            .asked(&["--param email=new@acme.test", "--param name=New"])
            .answers(&["found:s2=first"])
            .runs("email=bo@globex.test name=Bo", there(), &["updateContact(contact_id: Bo, notes: called)"])
            .runs(
                "email=cy@acme.test name=Cy",
                there(),
                &["createContact(email: cy@acme.test, name: Cy)", "updateContact(contact_id: Cy, notes: called)"],
            )
            .plain(&[
                "createContact(email: new@acme.test, name: New)",
                "updateContact(contact_id: New, notes: called)",
            ]),
        Job::new(23, "a search that may find nobody", here())
            .does(
                "call crm listContacts -p email=nora@acme.test
                 call crm updateContact -p 'contact_id=@1{.items[0].id}' -p notes=called",
            )
            .asked(&["--param email=nora@acme.test"])
            .runs("email=bo@globex.test", there(), &["updateContact(contact_id: Bo, notes: called)"])
            .plain(&["updateContact(contact_id: Nora, notes: called)"])
            .runs("email=nobody@globex.test", there(), &[])
            .stops(),
    ]
}

fn deals() -> Vec<Job> {
    vec![
        Job::new(9, "a customer's name in a title, a text and a file name", here())
            .does(
                "call tracker createIssue -p project=atlas -p 'title=Onboard Acme' -p 'description=Acme of Acmeville: begin'
                 call files uploadFile -p name=Acme.md -p 'content=Welcome, Acme'
                 call calendar createEvent -p calendar=team -p 'title=Nora and Acme' -p start=2026-05-11T09:00:00Z -p end=2026-05-11T10:00:00Z",
            )
            .asked(&["--param customer=Acme", "--param person=Nora", "--param project=atlas"])
            .runs(
                "customer=Globex person=Bo project=beacon",
                there(),
                &[
                    "createIssue(description: Globex of Acmeville: begin, project: beacon, title: Onboard Globex)",
                    "uploadFile(content: Welcome, Globex, name: Globex.md)",
                    "createEvent(calendar: team, end: 2026-05-11T10:00:00Z, start: 2026-05-11T09:00:00Z, title: Bo and Globex)",
                ],
            )
            .plain(&[
                "createIssue(description: Acme of Acmeville: begin, project: atlas, title: Onboard Acme)",
                "uploadFile(content: Welcome, Acme, name: Acme.md)",
                "createEvent(calendar: team, end: 2026-05-11T10:00:00Z, start: 2026-05-11T09:00:00Z, title: Nora and Acme)",
            ]),
        Job::new(18, "variables of the workspace", here())
            .does(
                "set domain=acme.test value=2500 name=Onboarding
                 call crm listCompanies -p 'domain=$domain'
                 call crm createDeal -p 'name=$name' -p 'company_id=@1{.[0].id}' -p 'value=$value'",
            )
            .asked(&[])
            .runs(
                "domain=globex.test value=900 name=Renewal",
                there(),
                &["createDeal(company_id: Globex, name: Renewal, value: 900)"],
            ),
        Job::new(22, "a webhook with a secret", here())
            .does("call crm createWebhook -p url=https://hooks.test/a -p secret=first-signing-secret-x1 -p 'events=[\"deal\"]'")
            .asked(&["--param secret", "--param url=https://hooks.test/a"])
            .because("--param secret")
            .runs(
                "secret=other-signing-secret-y2 url=https://hooks.test/b",
                there(),
                &[r#"createWebhook(events: ["deal"], secret: other-signing-secret-y2, url: https://hooks.test/b)"#],
            )
            .plain(&[]),
    ]
}
