//! How wide what is printed is, and that a pipe gets all of it.

use super::Desk;

const DELETE: [&str; 7] = ["call", "tracker", "deleteIssue", "-p", "project=atlas", "-p", "number=1"];

#[test]
fn a_dry_run_of_what_is_denied_says_why_and_is_a_refusal() {
    let (desk, _server) = Desk::with_tracker();
    desk.does(&["token", "set", "TRACKER_TOKEN", "tracker-pat-0123456789", "--yes"]);
    let dry: Vec<&str> = DELETE.iter().copied().chain(["--dry-run"]).collect();
    let confirm = desk.types(&dry);
    assert_eq!(confirm.code, 0, "it would ask: {confirm:?}");
    // A policy that cannot be read denies, and its path alone is longer than a cell of a table used to be.
    let file = desk.home().join("adapters/tracker/config/policies.json");
    std::fs::write(&file, "{\n  \"deny_list\": [\n").unwrap();
    let denied = desk.types(&dry);
    assert_eq!(denied.code, 6, "{denied:?}");
    assert!(
        denied.stdout.contains("policies.json") && denied.stdout.contains("line 3: EOF while parsing a list"),
        "{denied:?}"
    );
    let json: Vec<&str> = dry.iter().copied().chain(["--json"]).collect();
    assert_eq!(desk.types(&json).code, 6);
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let (desk, _server) = Desk::with_tracker();
    desk.does(&["init", "w"]);
    desk.does(&["call", "tracker", "listIssues", "-p", "project=atlas"]);
    for words in
        [&["ls"][..], &["adapter", "list"], &["probe", "tracker", "list issues"], &["adapter", "info", "tracker"]]
    {
        let words: Vec<&str> = words.iter().copied().chain(["--home", "../home"]).collect();
        let narrow = desk.types_on(&words, 40).stdout;
        let wide = narrow.lines().filter(|line| line.chars().count() > 40).collect::<Vec<_>>();
        assert!(wide.iter().all(|line| line.trim().split(' ').count() <= 2), "{words:?}: {wide:?}");
        let piped = desk.does(&words);
        let words_of = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words_of(&narrow), words_of(&piped), "nothing is lost");
    }
}

#[test]
fn both_forms_of_a_long_list_have_the_same_bound() {
    let desk = Desk::new();
    let get = |n: usize| serde_json::json!({ "get": { "operationId": format!("get{n}"), "responses": {} } });
    let paths: serde_json::Map<String, serde_json::Value> = (0..40).map(|n| (format!("/{n}"), get(n))).collect();
    let document = serde_json::json!({ "openapi": "3.1.0", "info": { "title": "t", "version": "1" }, "paths": paths });
    desk.file("api.json", document.to_string());
    desk.does(&["adapter", "new", "many", "api.json", "--base-url", "http://127.0.0.1:1"]);
    let listed = |words: &[&str]| {
        let data = desk.data(words);
        (data["tools"].as_array().unwrap().len(), data["tools_total"].as_u64())
    };
    assert_eq!(listed(&["adapter", "info", "many"]), (30, Some(40)));
    assert_eq!(listed(&["adapter", "info", "many", "--all"]), (40, Some(40)));
}

#[test]
fn the_help_of_each_command_fits_a_narrow_terminal_and_says_all_of_it() {
    fn below(command: &clap::Command, path: &[&str], desk: &Desk) {
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            let path: Vec<&str> = path.iter().copied().chain([one.get_name()]).collect();
            let words: Vec<&str> = path.iter().copied().chain(["--help", "--no-color"]).collect();
            let narrow = desk.types_on(&words, 40).stdout;
            let wide = narrow.lines().find(|line| line.trim_end().chars().count() > 40);
            assert_eq!(wide, None, "{words:?}");
            let words_of = |text: &str| text.replace('\\', "").split_whitespace().collect::<String>();
            assert_eq!(words_of(&narrow), words_of(&desk.does(&words)), "{words:?}");
            below(one, &path, desk);
        }
    }
    below(&crate::commands::line(None), &[], &Desk::new());
}
