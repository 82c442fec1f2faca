//! Completion as a shell does it, on a terminal: the script is loaded, a key is pressed, and the name stands there.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::terminal::Terminal;
use crate::tracker;

#[test]
#[expect(clippy::disallowed_methods, reason = "a shell, in which a person types")]
fn bash_completes_names_where_the_key_is_pressed() {
    let (home, _server) = tracker();
    assert_eq!(home.rote(&["call", "tracker", "listIssues", "-p", "project=atlas"]).code, 0);
    let pets = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/specs/petstore3.openapi.yaml");
    assert_eq!(home.rote(&["adapter", "new", "pets", pets, "--yes"]).code, 0);
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
}
