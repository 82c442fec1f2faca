//! Flows beside adapters that change.

use super::Desk;
use crate::demo::DOCUMENT;

const BOUND: &str = r#"/**
 * @rote-frontmatter
 * ---
 * name: count
 * description: Counts issues.
 * parameters: {properties: {project: {type: string}}, required: [project]}
 * adapters: {tracker: {tools: [listIssues]}}
 * ---
 */
import { Rote } from "@rote/sdk";
import { connect, listIssues } from "./tracker.ts";
export default async function main(params: { project: string }): Promise<number> {
  const issues = (await listIssues<unknown[]>(connect(await Rote.workspace("count")), params)).json();
  return issues.length;
}
"#;

#[test]
fn a_bound_flow_runs_beside_changes_of_what_it_does_not_use_and_when_it_is_pinned_anew() {
    let (desk, server) = Desk::with_tracker();
    desk.file("main.ts", BOUND);
    desk.does(&["bind", "tracker", "--lang", "ts", "--tool", "listIssues", "--out", "tracker.ts"]);
    desk.does(&["flow", "build", "main.ts"]);
    let count = |words: &[&str]| desk.types(&[&["run", "count", "project=atlas", "-o", "json"], words].concat());
    let base = server.base_url();
    let install = |document: String| {
        desk.file("changed.yaml", document);
        desk.does(&["adapter", "new", "tracker", "changed.yaml", "--base-url", &base, "--yes"]);
    };
    let first = count(&[]);
    assert_eq!(first.code, 0, "{first:?}");

    // Another tool is gone: what is installed has another fingerprint.
    install(DOCUMENT.replacen("operationId: deleteIssue", "operationId: removeIssue", 1));
    let other = count(&[]);
    assert_eq!((other.code, &other.stdout), (0, &first.stdout), "{other:?}");
    assert!(other.stderr.contains("note: adapter `tracker` was made anew"), "{other:?}");

    // The tool itself changed.
    install(DOCUMENT.replacen("[created, updated, comments]", "[created, updated, comments, votes]", 1));
    let changed = count(&[]);
    assert!(changed.code == 7 && changed.stderr.contains("hint: rote flow repin count"), "{changed:?}");
    desk.does(&["flow", "repin", "count", "--yes", "--accept-breaking"]);
    let again = count(&[]);
    assert_eq!((again.code, &again.stdout), (0, &first.stdout), "{again:?}");
}

#[test]
fn a_new_plan_runs_and_the_page_beside_it_tells_of_one_that_does() {
    let (desk, _server) = Desk::with_tracker();
    desk.does(&["flow", "new", "survey", "--lang", "plan"]);
    desk.does(&["flow", "build", "survey"]);
    assert_eq!(desk.data(&["run", "survey", "who=Ada"])["result"]["text"], "Hello, Ada!");
    let page = std::fs::read_to_string(desk.work().join("survey/PLAN.md")).unwrap();
    let plan = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    desk.file("survey/plan.json", plan);
    desk.file(
        "survey/flow.yaml",
        "name: titles\ndescription: Reads issues.\n\
         parameters: {properties: {project: {type: string}, comment: {type: boolean, default: false}}, required: [project]}\n\
         adapters: {tracker: {tools: [listIssues, getIssue, addComment]}}\nwrite_permissions: [tracker/addComment]\n",
    );
    desk.does(&["flow", "build", "survey"]);
    let titles = desk.data(&["run", "titles", "project=atlas"])["result"]["titles"].take();
    assert_eq!(titles.as_array().map(Vec::len), Some(3), "{titles}");
}
