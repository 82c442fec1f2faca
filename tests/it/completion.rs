//! Completion as a shell does it, on a terminal: the script is loaded, a key is pressed, and the name stands there.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::terminal::Terminal;
use crate::tracker;

/// A description of which a parameter lists what a shell would run.
const ODD: &str = r#"{"openapi": "3.0.3", "info": {"title": "Odd", "version": "1"}, "servers": [{"url": "http://127.0.0.1:1"}],
"paths": {"/things": {"get": {"operationId": "findThings", "responses": {"200": {"description": "ok"}}, "parameters": [
  {"name": "kind", "in": "query", "schema": {"type": "string", "enum": ["plain", "$(touch ran)", "p`touch ran`", "p;touch ran", "*", "p\nq"]}}
]}}}}"#;

#[test]
#[expect(clippy::disallowed_methods, reason = "a shell, in which a person types")]
fn bash_completes_names_where_the_key_is_pressed() {
    let (home, _server) = tracker();
    assert_eq!(home.rote(&["call", "tracker", "listIssues", "-p", "project=atlas"]).code, 0);
    let pets = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/specs/petstore3.openapi.yaml");
    assert_eq!(home.rote(&["adapter", "new", "pets", pets, "--yes"]).code, 0);
    home.file("odd.json", ODD);
    assert_eq!(home.rote(&["adapter", "new", "odd", "odd.json", "--yes"]).code, 0);
    let quoted_by_fish = home.rote(&["complete", "fish", "--", "rote", "call", "odd", "findThings", "kind=p"]);
    assert_eq!(quoted_by_fish.stdout, "kind=plain\nkind=p`touch ran`\nkind=p;touch ran\n");
    symlink(home.invocation(&[]).command().get_program(), home.work().join("rote")).unwrap();
    let path = format!("{}:{}", home.work().display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-i"]).current_dir(home.work());
    bash.env("PATH", path).env("ROTE_HOME", home.home()).env("TERM", "dumb").env("PS1", "$ ");
    let mut shell = Terminal::of(bash);
    shell.types("source <(rote completion bash) && echo load'ed'");
    shell.shows("loaded");
    for (typed, shown) in [
        ("rote call tr\tlistI\t-p proj\t", "rote call tracker listIssues -p project="),
        ("rote call pets findPetsByS\tstatus=av\t", "rote call pets findPetsByStatus status=available "),
        // The one of the listed values that is a word: with another one, nothing would be put there.
        ("rote call odd findThings kind=\t", "rote call odd findThings kind=plain "),
        ("rote @\t", "rote @1 "),
        ("rote ls --workspace=w\t", "rote ls --workspace=w "),
    ] {
        shell.presses(typed);
        shell.shows(shown);
        // Ctrl-U: the line is not wanted.
        shell.presses("\u{15}");
    }
    shell.types("exit");
    assert_eq!(shell.end().0, 0);
    assert!(!home.work().join("ran").exists());
}
