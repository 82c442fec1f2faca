//! What is found in real descriptions: the demo's own, and the corpus when it is beside the repository.

use std::path::Path;

use crate::{Builder, Found, Row, Search};
use rote_spec::{NoReferences, Source, SpecLimits, read};
use rote_types::{SchemaText, Tool};

struct Indexed(Vec<u8>);

impl Indexed {
    /// Indexes a description below the repository; none when it is not there.
    #[expect(clippy::disallowed_methods, reason = "a test reads a description beside the repository")]
    fn of(file: &str) -> Option<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let Ok(bytes) = std::fs::read(&path) else {
            println!("skipped: no {file}");
            return None;
        };
        let source = Source { name: file, bytes: &bytes };
        let api = read(source, &mut NoReferences, &SpecLimits::default()).unwrap();
        let mut builder = Builder::new();
        let row = |tool: &Tool<SchemaText>| Row::of(tool, &tool.input_schema.value().unwrap());
        api.tools.iter().for_each(|one| builder.push(row(&one.tool)));
        Some(Self(builder.finish()))
    }

    fn search(&self, intent: &str) -> Vec<Found> {
        Search::new(intent).best(&self.0, 8).unwrap().fits
    }
}

fn check(id: &str, file: &str, cases: &[(&str, &str)]) {
    let Some(indexed) = Indexed::of(file) else { return };
    let mut wrong = Vec::new();
    for (intent, expected) in cases {
        let found = indexed.search(intent);
        if found.first().map(|one| one.tool.as_str()) != Some(*expected) {
            wrong.push(format!("{intent}: {expected} expected, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{id}:\n{}", wrong.join("\n"));
}

const TRACKER: &str = "adapters/tracker/openapi.yaml";

#[test]
fn the_demo_is_searched_by_what_people_say() {
    let cases = [
        ("list the open issues of a project", "listIssues"),
        ("issues of a project that are open", "listIssues"),
        ("open issues", "listIssues"),
        ("list issues", "listIssues"),
        ("create an issue", "createIssue"),
        ("open an issue", "createIssue"),
        ("delete an issue", "deleteIssue"),
        ("change the title of an issue", "updateIssue"),
        ("comment on an issue", "addComment"),
        ("list comments", "listComments"),
        ("create a project", "createProject"),
        ("upload a file", "uploadAttachment"),
        ("who am I", "whoAmI"),
    ];
    check("tracker", TRACKER, &cases);
}

#[test]
fn what_destroys_never_outranks_a_reading_that_nobody_asked_to_destroy() {
    let tracker = Indexed::of(TRACKER).unwrap();
    for intent in ["issue", "project", "an issue for good", "a project and its issues", "get an issue"] {
        let found = tracker.search(intent);
        let first = found.iter().position(|one| one.tool.starts_with("delete")).unwrap_or(found.len());
        let reads = |one: &Found| one.tool.starts_with("list") || one.tool.starts_with("get");
        assert!(!found[first..].iter().any(reads), "{intent}: {found:?}");
    }
}

#[test]
fn real_descriptions_are_searched_by_what_people_say() {
    let github = [
        ("list issues of a repository", "issues/list-for-repo"),
        ("star a repository", "activity/star-repo-for-authenticated-user"),
        ("create a pull request", "pulls/create"),
        ("create an issue", "issues/create"),
        ("merge a pull request", "pulls/merge"),
    ];
    check("github", "../shared/specs/github-rest.openapi.json", &github);
    check("stripe", "../shared/specs/stripe.openapi.json", &[("create a customer", "PostCustomers")]);
    let pods = [("delete pod", "deleteCoreV1NamespacedPod")];
    check("kubernetes", "../shared/specs/kubernetes-1.13.swagger.json", &pods);
    check("slack", "../shared/specs/slack-web.swagger.json", &[("post a message", "chat_postMessage")]);
    check("box", "../shared/specs/box.openapi.json", &[("copy a file", "post_files_id_copy")]);
}

#[test]
fn scores_of_different_adapters_can_be_compared() {
    let files = ["stripe.openapi.json", "github-rest.openapi.json", "box.openapi.json"];
    let mut best: Vec<(f32, String)> = Vec::new();
    for file in files {
        let Some(indexed) = Indexed::of(&format!("../shared/specs/{file}")) else { return };
        best.extend(indexed.search("create a customer").into_iter().map(|one| (one.score, one.tool)));
    }
    best.sort_by(|one, other| other.0.total_cmp(&one.0));
    assert_eq!(best[0].1, "PostCustomers", "{best:?}");
}
