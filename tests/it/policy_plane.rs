//! Changes of what rote may do, and with which credentials: each is one event of the journal, written first.

use serde_json::{Value, json};

use crate::{SECRET, home, tracker};

/// Returns the events of some kinds as kind and body, oldest first.
fn events(home: &rote_testkit::TestHome, kinds: &[&str]) -> Vec<(String, Value)> {
    let events = home.data(&["audit", "tail", "-n", "200"]);
    let all = events.as_array().unwrap().iter();
    let pairs = all.map(|event| (event["kind"].as_str().unwrap().to_owned(), event["body"].clone()));
    pairs.filter(|(kind, _)| kinds.contains(&kind.as_str())).collect()
}

#[test]
fn each_change_is_an_event_that_says_whether_somebody_was_asked() {
    let (home, _server) = tracker();
    let changes: [(&[&str], &str, Value); 7] = [
        (
            &["token", "set", "TRACKER_TOKEN", SECRET, "-y"],
            "token.set",
            json!({"name": "TRACKER_TOKEN", "replaced": true}),
        ),
        (
            &["token", "get", "TRACKER_TOKEN", "--reveal", "-y"],
            "token.revealed",
            json!({"name": "TRACKER_TOKEN", "source": "vault"}),
        ),
        (&["token", "delete", "TRACKER_TOKEN", "--yes"], "token.deleted", json!({"name": "TRACKER_TOKEN"})),
        (
            &["adapter", "allow", "tracker", "--cidr", "10.0.0.0/8", "--port", "80", "--reason", "test", "-y"],
            "adapter.allowed",
            json!({"adapter": "tracker", "cidr": "10.0.0.0/8", "port": 80, "reason": "test"}),
        ),
        (
            &["adapter", "set", "tracker", "base_url", "http://127.0.0.1:9/v1", "-y"],
            "adapter.set",
            json!({"adapter": "tracker", "key": "base_url", "value": "http://127.0.0.1:9/v1"}),
        ),
        (
            &["adapter", "set", "tracker", "credential", "MY_PAT", "-y"],
            "adapter.set",
            json!({"adapter": "tracker", "key": "credential", "value": "MY_PAT"}),
        ),
        (&["adapter", "remove", "tracker", "-y"], "adapter.removed", json!({"adapter": "tracker"})),
    ];
    for (words, kind, object) in changes {
        let run = home.rote(words);
        assert_eq!(run.code, 0, "{run}");
        let found = events(&home, &[kind]);
        let (_, body) = found.last().unwrap_or_else(|| panic!("`{words:?}` left no {kind}"));
        assert_eq!(body["attended"], false, "{words:?}");
        assert!(body["by"].is_string(), "{words:?}");
        for (name, value) in object.as_object().unwrap() {
            assert_eq!(&body[name], value, "{words:?}: {body}");
        }
        assert!(!body.to_string().contains(SECRET), "{body}");
    }
}

#[test]
fn a_change_that_fails_after_its_event_is_followed_by_one_that_says_so() {
    let home = home();
    let set = home.rote(&["token", "set", "T", "two\nlines", "-y"]);
    assert_eq!(set.code, 2, "{set}");
    let found = events(&home, &["token.set", "change.failed"]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[1].1, json!({"seq": 1, "change": "token.set", "error": "usage"}));
    // What names nothing is refused before anything is written.
    assert_eq!(home.rote(&["token", "delete", "NOTHING", "-y"]).code, 3);
    assert_eq!(home.rote(&["adapter", "remove", "nothing", "-y"]).code, 3);
    assert_eq!(home.data(&["audit", "tail"]).as_array().unwrap().len(), 2);
}
