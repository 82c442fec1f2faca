//! Which workspace a command is in, and that it says so.

use super::Desk;

const LIST: [&str; 6] = ["call", "tracker", "listIssues", "-p", "project=atlas", "--timeout=60"];

#[test]
fn what_is_recorded_says_where() {
    let (desk, _server) = Desk::with_tracker();
    desk.does(&["init", "one"]);
    let first = |text: &str| text.lines().next().unwrap().to_owned();
    assert!(first(&desk.does(&LIST)).contains(" · in one · "), "a call");
    assert!(first(&desk.does(&["@1"])).contains(" · in one · "), "a look at it");
    let batched = desk.does(&["batch", "tracker", r#"[{"tool_name": "getStatus"}]"#]);
    assert!(batched.contains("in workspace one: 1 of 1 succeeded"), "{batched}");
}

#[test]
fn a_folder_has_a_workspace_of_its_own() {
    let (desk, _server) = Desk::with_tracker();
    desk.does(&["init", "one"]);
    let folder = desk.work().join("two");
    std::fs::create_dir_all(folder.join("below")).unwrap();
    let said = desk.types_in(&folder, &["init", "two", "--here"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(desk.types_in(&folder.join("below"), &LIST).stdout.contains(" · in two · "));
    assert!(desk.does(&LIST).contains(" · in one · "), "another folder goes on with its own");
}

#[test]
fn latest_is_the_workspace_that_was_used_last() {
    let (desk, _server) = Desk::with_tracker();
    let none = desk.types(&["-w", "latest", "ls"]);
    assert_eq!(none.code, 3, "{none:?}");
    desk.does(&["init", "one"]);
    desk.does(&LIST);
    desk.does(&["flow", "template", "create", "--workspace", "one", "--name", "list", "--param", "project"]);
    let ran = desk.types(&["run", "list", "project=beacon"]);
    let next = ran.stderr.lines().find_map(|line| line.strip_prefix("next: rote ")).unwrap().to_owned();
    let (number, run) = next.split_once(" -w ").unwrap();
    assert!(number == "@1" && run.starts_with("run-list-"), "{next}");
    assert!(desk.does(&["-w", "latest", "@1"]).contains(&format!(" · in {run} · ")));
    // What is printed names it, since another one may be the latest by then.
    let missed = desk.types(&["-w", "latest", "@9"]);
    assert!(missed.code == 3 && missed.stderr.contains(&format!("-w {run} ls")), "{missed:?}");
    let taken = desk.types(&["init", "latest"]);
    assert_eq!(taken.code, 2, "{taken:?}");
}
