//! What a person is asked, and the help that is asked for.

use serde_json::Value;

use super::Desk;

#[test]
fn nobody_is_asked_about_what_is_not_there() {
    let (desk, _server) = Desk::with_tracker();
    let questions: [&[&str]; 10] = [
        &["adapter", "remove", "nope"],
        &["adapter", "set", "nope", "base_url", "http://127.0.0.1:9"],
        &["adapter", "set", "nope", "credential", "KEY"],
        &["adapter", "allow", "nope", "--cidr", "127.0.0.1/32"],
        &["adapter", "allow", "nope", "--cleartext"],
        &["flow", "remove", "nope"],
        &["flow", "bless", "nope"],
        &["flow", "unbless", "nope"],
        &["token", "delete", "NOPE"],
        &["token", "get", "NOPE", "--reveal"],
    ];
    for words in questions {
        let said = desk.types(words);
        assert!(said.code == 3 && !said.stderr.contains("nobody agreed"), "{words:?}: {said:?}");
    }
    // What is there is asked about, by its own name.
    let said = desk.types(&["adapter", "remove", "tracker"]);
    assert!(said.code == 5 && said.stderr.contains("remove the adapter `tracker`"), "{said:?}");
}

#[test]
fn a_help_for_a_machine_is_one_object() {
    let desk = Desk::new();
    let helps: [(&[&str], &str); 6] = [
        (&["--json", "help"], "Usage: rote"),
        (&["help", "--json"], "Usage: rote"),
        (&["--help", "--json"], "Exit codes:"),
        (&["help", "flow", "new", "--json"], "Usage: rote flow new"),
        (&["flow", "new", "--help", "--json"], "Usage: rote flow new"),
        (&["--json", "flow", "-h"], "Usage: rote flow"),
    ];
    for (words, part) in helps {
        let said = desk.types(words);
        let envelope: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!((said.code, &envelope["ok"], said.stderr.as_str()), (0, &Value::Bool(true), ""), "{words:?}");
        assert!(envelope["data"]["help"].as_str().unwrap().contains(part), "{words:?}: {envelope}");
    }
    assert_eq!(desk.types(&["help", "--jsno"]).code, 2);
}
