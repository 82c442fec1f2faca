//! Release, search, the search index and infer, on a home with an installed adapter.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rote_home::{FileMode, remove_file, write_durable};
use rote_types::{Classify, ErrorKind, FlowName};
use serde_json::{Value, json};

use super::support::{Fixture, id};
use crate::error::{LibraryError, PinError};
use crate::{
    CallableState, EndpointState, FlowError, FlowReference, FlowStatus, Frontmatter, InferSource, Package, Scope,
    SearchRequest, SearchResults,
};

fn flow(name: &str) -> FlowName {
    name.parse().unwrap()
}

/// Writes a flow that calls nothing, under a name, with a description and tags.
fn write(fixture: &Fixture, name: &str, status: FlowStatus, description: &str, tags: &[&str]) -> PathBuf {
    let package = super::package::package();
    let frontmatter = Frontmatter {
        name: flow(name),
        status,
        description: description.to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..package.frontmatter.clone()
    };
    let package = package.with_frontmatter(frontmatter).unwrap();
    let path = fixture.home.flow_dir(&flow(name)).join("flow.wasm");
    write_durable(&path, package.bytes(), FileMode::Private).unwrap();
    path
}

fn library(fixture: &Fixture) {
    use FlowStatus::{Draft, Released};
    write(fixture, "open-issues", Released, "Lists the open issues of a project", &["tracker"]);
    write(fixture, "closeStaleIssues", Released, "Closes what nobody touched for a year", &["cleanup"]);
    write(fixture, "invoice-report", Released, "Adds up the invoices of a month", &["billing", "issues"]);
    write(fixture, "issue-digest", Draft, "Sends the issues of a week", &[]);
}

fn request(intent: &str) -> SearchRequest {
    SearchRequest { intent: intent.to_owned(), scope: Scope::Released, limit: 10, explain: false }
}

fn search(fixture: &Fixture, intent: &str) -> SearchResults {
    fixture.flows.search.search(&request(intent)).unwrap()
}

fn names(found: &SearchResults) -> Vec<&str> {
    found.items.iter().map(|hit| hit.name.as_str()).collect()
}

fn events(fixture: &Fixture, kind: &str) -> usize {
    let events = fixture.flows.runner.parts.journal.tail(1_000).unwrap();
    events.iter().filter(|event| event.kind == kind).count()
}

async fn draft(fixture: &Fixture) {
    assert!(fixture.call("orders_list", json!({"owner": "octocat"})).await);
    fixture.crystallize(&[("owner", None)]).await.unwrap();
}

#[tokio::test]
async fn a_released_flow_is_found_and_a_draft_only_when_asked_for() {
    let fixture = Fixture::new();
    draft(&fixture).await;
    assert!(names(&search(&fixture, "report")).is_empty());
    let all = SearchRequest { scope: Scope::All, ..request("report") };
    assert_eq!(names(&fixture.flows.search.search(&all).unwrap()), ["report"]);
    let released = fixture.flows.releases.release(&flow("report"), false).await.unwrap();
    assert!(!released.already && released.draft_sha256.is_some_and(|draft| draft != released.sha256));
    let found = search(&fixture, "report");
    assert!(found.notes.is_empty(), "the release told the index: {:?}", found.notes);
    let hit = &found.items[0];
    assert_eq!((hit.name.as_str(), hit.match_percent, hit.status), ("report", 100, FlowStatus::Released));
    assert_eq!(hit.callability.state, CallableState::Callable);
    assert_eq!(hit.callability.command, "rote run report owner=…");
    assert_eq!(hit.endpoints[0].endpoint, "adapter/shop");
    assert_eq!(events(&fixture, "flow.released"), 1);
    assert!(fixture.run(&fixture.run_request(&[("owner", "x")])).await.is_ok());
}

/// Flows with what they do, and intents as people say them with the flow that each is about; none for the last.
const FLOWS: [(&str, &str); 16] = [
    ("create-issue", "Creates an issue with labels in the tracker"),
    ("close-stale-issues", "Closes the issues that nobody touched for a year"),
    ("open-issues", "Lists the open issues of a project"),
    ("remove-member", "Removes a member from the team and revokes the tokens of the member"),
    ("add-member", "Adds a person to the team with a role"),
    ("refund-order", "Refunds the payment of an order and sends a receipt"),
    ("invoice-report", "Adds up the invoices of a month by customer"),
    ("create-customer", "Creates a customer with an email address"),
    ("cancel-subscription", "Cancels the subscription of a customer at the end of the period"),
    ("post-message", "Posts a message to a channel"),
    ("delete-messages", "Deletes all messages of a channel"),
    ("restart-deployment", "Restarts a deployment and waits until its pods are ready"),
    ("rollback-release", "Deploys the release before the last one again"),
    ("schedule-meeting", "Creates an event in the calendar and invites the attendees"),
    ("share-folder", "Shares a folder with a person by email"),
    ("upload-file", "Uploads a file to a folder"),
];
const INTENTS: [(&str, &str); 26] = [
    ("file a bug", "create-issue"),
    ("raise a ticket about the login page", "create-issue"),
    ("which issues are still open?", "open-issues"),
    ("close old issues", "close-stale-issues"),
    ("kick someone out of the team", "remove-member"),
    ("invite ada to the team", "add-member"),
    ("give the money back for an order", "refund-order"),
    ("refund a payment", "refund-order"),
    ("how much did we bill each customer last month?", "invoice-report"),
    ("sum up invoices", "invoice-report"),
    ("sign up a new customer", "create-customer"),
    ("stop the subscription of acme", "cancel-subscription"),
    ("say hello in the general channel", "post-message"),
    ("send a message to #ops", "post-message"),
    ("read the messages of a channel", "post-message"),
    ("wipe the messages of a channel", "delete-messages"),
    ("bounce the deployment", "restart-deployment"),
    ("reboot a deployment", "restart-deployment"),
    ("roll back the last release", "rollback-release"),
    ("set up a meeting with bob", "schedule-meeting"),
    ("book a meeting", "schedule-meeting"),
    ("let cy see a folder", "share-folder"),
    ("put a file into a folder", "upload-file"),
    ("what is the weather in oslo?", ""),
    ("translate a poem", ""),
    ("order a pizza", ""),
];

/// But for two: no word for `say` is one of `post-message`, and `order` is a word of `refund-order`.
#[test]
fn flows_are_found_as_people_ask_for_them() {
    let fixture = Fixture::new();
    for (name, description) in FLOWS {
        write(&fixture, name, FlowStatus::Released, description, &[]);
    }
    let mut missed = Vec::new();
    let known = ["say hello in the general channel", "order a pizza"];
    for (intent, wanted) in INTENTS.into_iter().filter(|(intent, _)| !known.contains(intent)) {
        let found = search(&fixture, intent);
        let first = found.items.first().map_or("", |hit| hit.name.as_str());
        if first != wanted {
            let shares: Vec<_> = found.items.iter().take(3).map(|hit| (hit.name.as_str(), hit.match_percent)).collect();
            missed.push(format!("{intent}: {shares:?}, not `{wanted}`"));
        }
    }
    assert!(missed.is_empty(), "{} of {}\n{}", missed.len(), INTENTS.len(), missed.join("\n"));
}

#[tokio::test]
async fn releasing_twice_changes_nothing_and_says_so() {
    let fixture = Fixture::new();
    draft(&fixture).await;
    let first = fixture.flows.releases.release(&flow("report"), false).await.unwrap();
    let second = fixture.flows.releases.release(&flow("report"), false).await.unwrap();
    assert!(second.already);
    assert_eq!((second.sha256, second.draft_sha256), (first.sha256, None));
    assert_eq!(events(&fixture, "flow.released"), 1);
    let error = fixture.crystallize(&[("owner", None)]).await.unwrap_err();
    assert!(matches!(error, FlowError::Library(LibraryError::Exists { released: true, .. })), "{error}");
}

#[tokio::test]
async fn a_release_that_fails_leaves_the_draft() {
    let fixture = Fixture::new();
    draft(&fixture).await;
    let path = fixture.home.flow_dir(&flow("report")).join("flow.wasm");
    let before = rote_home::read_capped(&path, 1 << 26).unwrap();
    // The index cannot be put in its place: a file has its name.
    let index = fixture.home.flow_index_dir();
    rote_home::remove_dir(&index).unwrap();
    std::os::unix::fs::symlink("/nowhere", &index).unwrap();
    fixture.flows.releases.release(&flow("report"), false).await.unwrap_err();
    assert_eq!(rote_home::read_capped(&path, 1 << 26).unwrap(), before);
    assert_eq!(events(&fixture, "flow.released"), 0);
    remove_file(&index).unwrap();
    assert!(!fixture.flows.releases.release(&flow("report"), false).await.unwrap().already);
}

#[tokio::test]
async fn what_is_not_fit_is_not_released() {
    let fixture = Fixture::new();
    let path = write(&fixture, "empty", FlowStatus::Draft, " ", &[]);
    let error = fixture.flows.releases.release(&flow("empty"), false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("it has no description"), "{error}");
    let package = Package::read(rote_home::read_capped(&path, 1 << 26).unwrap()).unwrap();
    assert_eq!(package.frontmatter.status, FlowStatus::Draft);
    draft(&fixture).await;
    fixture.adapters.remove(&id()).unwrap();
    let error = fixture.flows.releases.release(&flow("report"), false).await.unwrap_err();
    assert!(matches!(error, FlowError::Pins(PinError::MissingAdapters { .. })), "{error}");
}

#[tokio::test]
async fn what_is_not_fit_is_released_when_a_person_insists_and_the_journal_says_so() {
    let fixture = Fixture::new();
    write(&fixture, "empty", FlowStatus::Draft, " ", &[]);
    let released = fixture.flows.releases.release(&flow("empty"), true).await.unwrap();
    assert!(released.notes.iter().any(|note| note.contains("it has no description")), "{:?}", released.notes);
    assert_eq!(events(&fixture, "flow.released"), 1);
}

#[tokio::test]
async fn a_removed_flow_is_not_found_and_a_released_one_is_removed_with_force_only() {
    let fixture = Fixture::new();
    draft(&fixture).await;
    fixture.flows.releases.release(&flow("report"), false).await.unwrap();
    assert_eq!(names(&search(&fixture, "report")), ["report"]);
    let error = fixture.remove(&flow("report"), false).unwrap_err();
    assert!(
        matches!(error, FlowError::Library(LibraryError::IsReleased { .. })) && error.kind() == ErrorKind::Conflict,
        "{error}"
    );
    fixture.remove(&flow("report"), true).unwrap();
    assert!(!fixture.home.flow_dir(&flow("report")).exists());
    let found = search(&fixture, "report");
    assert!(found.items.is_empty() && found.notes.is_empty(), "{:?}", found.notes);
    let error = fixture.remove(&flow("report"), true).unwrap_err();
    assert!(matches!(error, FlowError::Library(LibraryError::NoFlow { .. })), "{error}");
    // A damaged one goes as well.
    let path = write(&fixture, "broken", FlowStatus::Draft, "Is broken", &[]);
    rote_home::write_atomic(&path, b"broken", rote_home::FileMode::Private).unwrap();
    fixture.remove(&flow("broken"), false).unwrap();
    assert!(fixture.flows.library.list().unwrap().is_empty());
}

#[test]
fn a_flow_that_was_copied_into_the_folder_is_found() {
    let fixture = Fixture::new();
    library(&fixture);
    let before = names(&search(&fixture, "penguins")).len();
    write(&fixture, "count-penguins", FlowStatus::Released, "Counts penguins", &[]);
    let found = search(&fixture, "penguins");
    assert_eq!((before, names(&found)), (0, vec!["count-penguins"]));
    assert!(found.notes.iter().any(|note| note.contains("come or gone")), "{:?}", found.notes);
    assert!(search(&fixture, "penguins").notes.is_empty(), "it is told once");
    rote_home::remove_dir(&fixture.home.flow_dir(&flow("count-penguins"))).unwrap();
    assert!(search(&fixture, "penguins").items.is_empty());
}

#[tokio::test]
async fn a_listing_says_the_same_with_and_without_an_index() {
    let fixture = Fixture::new();
    library(&fixture);
    draft(&fixture).await;
    rote_home::remove_dir(&fixture.home.flow_index_dir()).unwrap();
    let from_files = fixture.flows.library.list().unwrap();
    fixture.flows.library.rebuild_index().unwrap();
    assert_eq!(fixture.flows.library.list().unwrap(), from_files);
    // A file that is not the indexed one is read.
    let path = fixture.home.flow_dir(&flow("report")).join("flow.wasm");
    rote_home::write_atomic(&path, b"broken", rote_home::FileMode::Private).unwrap();
    let listed = fixture.flows.library.list().unwrap();
    let report = listed.iter().find(|entry| entry.name == "report").unwrap();
    assert!(report.problem.is_some(), "{report:?}");
}

#[test]
fn an_empty_library_is_searched_with_words_near_and_far() {
    let fixture = Fixture::new();
    for intent in ["list things", "comment on an issue", "a", "zz", "lst"] {
        assert!(search(&fixture, intent).items.is_empty(), "{intent}");
    }
}

#[test]
fn names_count_more_than_tags_and_tags_more_than_descriptions() {
    let fixture = Fixture::new();
    library(&fixture);
    assert_eq!(names(&search(&fixture, "issues")), ["open-issues", "closeStaleIssues", "invoice-report"]);
    assert_eq!(names(&search(&fixture, "close stale issues"))[0], "closeStaleIssues");
    assert_eq!(names(&search(&fixture, "show me the invoices of the month"))[0], "invoice-report");
    assert_eq!(names(&search(&fixture, "open-issues"))[0], "open-issues");
    let found = search(&fixture, "closing issues");
    assert_eq!(names(&found)[0], "closeStaleIssues", "words are stemmed");
    assert!(found.items.windows(2).all(|two| two[0].match_percent >= two[1].match_percent));
    let found = search(&fixture, "invioce");
    assert!(found.misspelt && names(&found) == ["invoice-report"], "{found:?}");
    for odd in ["", "   ", "AND OR", "name:(", "\"", "*", "\u{0}", "日本語"] {
        search(&fixture, odd);
    }
}

#[test]
fn an_explanation_says_what_each_field_gave() {
    let fixture = Fixture::new();
    library(&fixture);
    let found = fixture.flows.search.search(&SearchRequest { explain: true, ..request("open issues") }).unwrap();
    let explain = found.items[0].explain.clone().unwrap();
    let sum: f32 = explain.fields.values().sum();
    assert!((sum - explain.raw_score).abs() < 0.01, "{explain:?}");
    assert!(explain.fields["name"] > explain.fields["description"], "{explain:?}");
}

#[test]
fn a_missing_or_damaged_index_is_written_anew_with_a_note() {
    let fixture = Fixture::new();
    library(&fixture);
    assert_eq!(search(&fixture, "issues").notes, ["the search index was written anew: there was none"]);
    assert!(search(&fixture, "issues").notes.is_empty());
    let files = || {
        let entries = fixture.home.flow_index_dir().read_dir().unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end != "lock")).collect::<Vec<_>>()
    };
    for place in 0..files().len() {
        for damaged in [b"".as_slice(), b"{}", &[0xff; 400]] {
            fixture.flows.library.rebuild_index().unwrap();
            let path = files().swap_remove(place);
            write_durable(&path, damaged, FileMode::Private).unwrap();
            let found = search(&fixture, "issues");
            assert_eq!(names(&found), ["open-issues", "closeStaleIssues", "invoice-report"], "{}", path.display());
            assert_eq!(found.notes.len(), 1, "{}: {:?}", path.display(), found.notes);
        }
    }
    assert!(search(&fixture, "issues").notes.is_empty());
}

#[test]
fn a_file_that_was_removed_or_replaced_by_hand_is_not_shown_as_it_was() {
    let fixture = Fixture::new();
    library(&fixture);
    search(&fixture, "issues");
    rote_home::remove_dir(&fixture.home.flow_dir(&flow("open-issues"))).unwrap();
    write(&fixture, "closeStaleIssues", FlowStatus::Released, "Something else", &["issues"]);
    let found = search(&fixture, "issues");
    assert_eq!(names(&found), ["closeStaleIssues", "invoice-report"]);
    assert_eq!(found.items[0].description, "Something else");
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    assert!(search(&fixture, "issues").notes.is_empty());
    let path = fixture.home.flow_dir(&flow("invoice-report")).join("flow.wasm");
    write_durable(&path, b"no flow", FileMode::Private).unwrap();
    assert_eq!(names(&search(&fixture, "issues")), ["closeStaleIssues"]);
}

#[test]
fn verifying_the_index_finds_what_was_put_there_by_hand() {
    let fixture = Fixture::new();
    library(&fixture);
    assert!(fixture.flows.library.verify_index().unwrap().rebuilt);
    let report = fixture.flows.library.verify_index().unwrap();
    assert!(!report.rebuilt && report.added.is_empty() && report.flows == 4, "{report:?}");
    write(&fixture, "new-issues", FlowStatus::Released, "New ones", &[]);
    write(&fixture, "open-issues", FlowStatus::Draft, "Lists", &[]);
    rote_home::remove_dir(&fixture.home.flow_dir(&flow("invoice-report"))).unwrap();
    let report = fixture.flows.library.verify_index().unwrap();
    assert_eq!(
        (report.added, report.updated, report.removed),
        (vec![flow("new-issues")], vec![flow("open-issues")], vec![flow("invoice-report")])
    );
    assert_eq!(names(&search(&fixture, "issues")), ["new-issues", "closeStaleIssues"]);
}

#[test]
fn an_interrupted_change_is_noticed_by_the_next_search() {
    let fixture = Fixture::new();
    library(&fixture);
    search(&fixture, "issues");
    // As if the process was killed after the file and before the index.
    fixture.flows.library.announce_change().unwrap();
    write(&fixture, "issue-digest", FlowStatus::Released, "Sends the issues of a week", &[]);
    let found = search(&fixture, "digest");
    assert_eq!((names(&found), found.notes.len()), (vec!["issue-digest"], 1));
    assert!(search(&fixture, "digest").notes.is_empty());
}

#[tokio::test]
async fn equal_flows_are_ordered_by_their_runs() {
    let fixture = Fixture::new();
    for name in ["orders-a", "orders-b", "orders-c"] {
        write(&fixture, name, FlowStatus::Released, "Counts orders", &[]);
    }
    let noted = |name: &str, end| fixture.flows.analytics.record_invocation(&flow(name), None, end, 5).unwrap();
    noted("orders-a", crate::RunEnd::Stopped("it broke"));
    noted("orders-c", crate::RunEnd::Completed);
    assert_eq!(names(&search(&fixture, "orders")), ["orders-c", "orders-b", "orders-a"]);
}

#[tokio::test]
async fn a_flow_whose_adapter_is_gone_or_changed_says_so() {
    let fixture = Fixture::new();
    draft(&fixture).await;
    fixture.flows.releases.release(&flow("report"), false).await.unwrap();
    fixture.install(&super::support::SHOP.replace("\"limit\"", "\"most\""));
    let hit = search(&fixture, "report").items.remove(0);
    assert_eq!(
        (hit.endpoints[0].state, hit.callability.state),
        (EndpointState::Changed, CallableState::AdapterChanged)
    );
    fixture.adapters.remove(&id()).unwrap();
    let hit = search(&fixture, "report").items.remove(0);
    assert_eq!(
        (hit.endpoints[0].state, hit.callability.state),
        (EndpointState::Missing, CallableState::AdapterMissing)
    );
    assert_eq!(hit.callability.command, "rote adapter new shop --spec <file|url>");
}

#[tokio::test]
async fn parameters_are_inferred_from_the_last_run_and_the_workspace() {
    let fixture = Fixture::new();
    draft(&fixture).await;
    let infer = |intent: &str, workspace| {
        let environment = BTreeMap::new();
        let report = FlowReference::parse("report").unwrap();
        fixture.flows.library.infer(&report, intent, &environment, workspace).unwrap()
    };
    let one = |inference: crate::Inference| {
        let one = inference.parameters.into_iter().next().unwrap();
        (one.value.unwrap_or(Value::Null), one.source)
    };
    assert_eq!(one(infer("", None)), (Value::Null, None));
    fixture.run(&fixture.run_request(&[("owner", "monalisa")])).await.unwrap();
    assert_eq!(one(infer("", None)), (json!("monalisa"), Some(InferSource::LastRun)));
    fixture.set("owner", json!("hubot"));
    assert_eq!(one(infer("", Some(&fixture.workspace))), (json!("hubot"), Some(InferSource::Workspace)));
    let inference = infer("owner=octocat", Some(&fixture.workspace));
    assert_eq!(inference.command, "rote run report owner=octocat");
    assert!(inference.open.is_empty());
}
