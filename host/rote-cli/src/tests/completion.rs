//! What the scripts of a shell get when a key is pressed.

use super::Desk;

#[test]
fn names_come_from_the_home_that_the_line_means() {
    let (desk, _server) = Desk::with_tracker();
    desk.does(&["init", "one"]);
    desk.does(&["call", "tracker", "listIssues", "-p", "project=atlas"]);
    for (shell, words, expected) in [
        ("zsh", &["rote", "call", "tr"][..], "tracker\n"),
        ("fish", &["rote", "call", "tracker", "listI"], "listIssues\n"),
        ("bash", &["rote call tracker listIssues -p proj"], "project=\n"),
        ("bash", &["rote ls --workspace=o"], "one\n"),
        ("bash", &["rote @"], "@1\n"),
        ("zsh", &["rote", "completion", "b"], "bash\n"),
        ("fish", &["rote", "audit", "ver"], "verify\tCheck the journal\n"),
    ] {
        let typed: Vec<&str> = ["complete", shell, "--"].iter().chain(words).copied().collect();
        let said = desk.does(&typed);
        assert_eq!(said.split('\t').next(), expected.split('\t').next(), "{words:?}");
    }
    let nowhere = desk.work().join("nowhere");
    let elsewhere = format!("rote --home {} call tr", nowhere.display());
    assert_eq!(desk.does(&["complete", "bash", "--", &elsewhere]), "");
    assert!(!nowhere.exists(), "completion makes no home");
}
