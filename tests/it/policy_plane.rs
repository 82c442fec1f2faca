//! Changes of what rote may do, and with which credentials: each is one event of the journal, written first.

use expect_test::expect;
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
    let fingerprint = home.data(&["adapter", "info", "tracker"])["adapter"]["fingerprint"].clone();
    let again = ["adapter", "new", "tracker", "openapi.yaml", "--base-url", "http://127.0.0.1:9/v1", "-y"];
    let changes: [(&[&str], &str, Value); 10] = [
        (
            &again,
            "adapter.replaced",
            json!({"adapter": "tracker", "fingerprint": fingerprint, "replaces": fingerprint,
                "base_url": "http://127.0.0.1:9/v1", "hosts": ["http://127.0.0.1:9"], "hosts_total": 1,
                "granted": ["127.0.0.1/32 port 9"]}),
        ),
        (
            &["token", "bind", "TRACKER_TOKEN", "tracker", "-y"],
            "token.bound",
            json!({"name": "TRACKER_TOKEN", "adapter": "tracker", "origins": ["http://127.0.0.1:9"]}),
        ),
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
        (
            &["adapter", "set", "tracker", "idempotency_header", "X-Key", "-y"],
            "adapter.set",
            json!({"adapter": "tracker", "key": "idempotency_header", "value": "X-Key"}),
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
fn a_new_adapter_asks_where_it_changes_what_is_granted() {
    let home = home();
    let document = json!({ "openapi": "3.1.0", "info": { "title": "Files", "version": "2" },
        "servers": [{ "url": "https://files.example" }],
        "paths": {
            "/list": { "get": { "operationId": "list" } },
            "/up": { "get": { "operationId": "up", "servers": [{ "url": "https://uploads.example" }] } },
        } });
    home.file("files.json", document.to_string());
    let new = ["adapter", "new", "files", "files.json"];
    let transcript = |flags: &[&str]| home.transcript(&[&new[..], flags].concat());
    // Typed for a new one, a credential is bound; nobody said that it may be.
    let refused = transcript(&["--bearer-token", "KEY OF MINE"]);
    assert!(refused.contains("--- exit 2"), "{refused}");
    expect![[r#"
        $ rote adapter new files files.json --bearer-token MY_KEY --name 'My files'
        --- stderr
        error: nobody agreed, and nothing was changed
          caused by: adapter `files`: My files 2 (openapi31)
              base url: https://files.example
              goes to: https://files.example: 1 operation
              goes to: https://uploads.example: 1 operation (as the description says)
            let it send `MY_KEY` to https://files.example, https://uploads.example?

        hint: rote adapter new files files.json --bearer-token MY_KEY --name 'My files' --yes
        --- exit 5"#]]
    .assert_eq(&transcript(&["--bearer-token", "MY_KEY", "--name", "My files"]));
    assert!(home.data(&["adapter", "list"])["adapters"].as_array().unwrap().is_empty());
    assert_eq!(events(&home, &["adapter.installed", "token.bound"]), []);
    // Only added, it grants nothing.
    assert_eq!(home.rote(&new).code, 0);
    let installed = events(&home, &["adapter.installed"]);
    assert_eq!(installed.len(), 1);
    assert_eq!(installed[0].1["attended"], false);
    assert_eq!(installed[0].1["hosts"], json!(["https://files.example", "https://uploads.example"]));
    // In the place of another one it is asked about, even if it is the same.
    let before = home.data(&["adapter", "info", "files"]);
    expect![[r#"
        $ rote adapter new files files.json --server uploads.example=keep --base-url https://x.example
        --- stderr
        error: nobody agreed, and nothing was changed
          caused by: adapter `files`: Files 2 (openapi31)
              base url: https://x.example
              goes to: https://x.example: 1 operation
              goes to: https://uploads.example: 1 operation (kept)
            replace the one that is installed?

        hint: rote adapter new files files.json --base-url https://x.example --server uploads.example=keep --yes
        --- exit 5"#]]
    .assert_eq(&transcript(&["--server", "uploads.example=keep", "--base-url", "https://x.example"]));
    assert_eq!(home.data(&["adapter", "info", "files"]), before);
    assert_eq!(events(&home, &["adapter.replaced"]), []);
    assert_eq!(home.rote(&[&new[..], &["--bearer-token", "MY_KEY", "--yes"]].concat()).code, 0);
    let kinds: Vec<String> = events(&home, &["adapter.replaced", "token.bound"]).into_iter().map(|one| one.0).collect();
    assert_eq!(kinds, ["adapter.replaced", "token.bound"]);
}

#[test]
fn a_blessing_and_its_end_are_events_like_all_others() {
    let (home, _server) = tracker();
    assert_eq!(
        home.rote(&["call", "tracker", "addComment", "-p", "project=atlas", "-p", "number=1", "-p", "body=x"]).code,
        0
    );
    assert_eq!(home.rote(&["flow", "template", "create", "--workspace", "w", "--name", "say"]).code, 0);
    // Nobody is asked about what is not there to be taken back.
    let nothing = home.rote(&["flow", "unbless", "say"]);
    assert!(nothing.code == 0 && nothing.stdout.contains("was not blessed"), "{nothing}");
    let made = home.rote(&["flow", "bless", "say", "--yes"]);
    assert_eq!(made.code, 0, "{made}");
    let refused = home.rote(&["flow", "unbless", "say"]);
    assert_eq!(refused.code, 5, "{refused}");
    for _ in 0..2 {
        assert_eq!(home.rote(&["flow", "unbless", "say", "--yes"]).code, 0);
    }
    let found = events(&home, &["flow.blessed", "flow.unblessed"]);
    let kinds: Vec<&str> = found.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(kinds, ["flow.blessed", "flow.unblessed"], "what was not blessed is not taken back");
    for (_, body) in &found {
        assert_eq!((&body["flow"], &body["attended"]), (&json!("say"), &json!(false)));
        assert!(body["by"].is_string(), "{body}");
    }
    assert!(found[0].1["sha256"].is_string() && found[0].1["tools"].is_number(), "{:?}", found[0]);
}

#[test]
fn a_flow_is_repinned_and_removed_by_changes_like_all_others() {
    let (home, _server) = tracker();
    let comment = ["call", "tracker", "addComment", "-p", "project=atlas", "-p", "number=1", "-p", "body=x"];
    assert_eq!(home.rote(&comment).code, 0);
    for name in ["say", "plain"] {
        assert_eq!(home.rote(&["flow", "template", "create", "--workspace", "w", "--name", name]).code, 0);
    }
    let elsewhere = ["adapter", "set", "tracker", "base_url", "http://127.0.0.1:9/v1", "-y"];
    let was = home.data(&["flow", "info", "say"])["frontmatter"]["adapters"]["tracker"].clone();
    assert_eq!(home.rote(&elsewhere).code, 0);
    let refused = home.rote(&["flow", "repin", "say"]);
    assert!(refused.code == 5 && refused.stderr.contains("goes to http://127.0.0.1:9"), "{refused}");
    assert_eq!(events(&home, &["flow.repinned"]), []);
    assert_eq!(home.rote(&["flow", "repin", "say", "--yes"]).code, 0);
    let (_, body) = events(&home, &["flow.repinned"]).remove(0);
    let change = &body["adapters"][0];
    assert_eq!(
        (&body["attended"], &body["flow"], &change["adapter"]),
        (&json!(false), &json!("say"), &json!("tracker"))
    );
    assert_eq!((&change["from"], &change["to"]), (&was["fingerprint"], &was["fingerprint"]));
    assert_eq!(change["elsewhere"], json!({ "expected": was["goes_to"], "installed": ["http://127.0.0.1:9"] }));
    assert_eq!(body["sha256"], home.data(&["flow", "info", "say"])["sha256"]);
    // A flow that nobody blessed is removed unasked, and one with its blessing by somebody's word.
    assert_eq!(home.rote(&["flow", "bless", "say", "--yes"]).code, 0);
    let refused = home.rote(&["flow", "remove", "say"]);
    assert!(refused.code == 5 && refused.stderr.contains("rote flow remove say --yes"), "{refused}");
    assert_eq!(events(&home, &["flow.removed"]), []);
    assert_eq!(home.rote(&["flow", "remove", "plain"]).code, 0);
    assert_eq!(home.rote(&["flow", "remove", "say", "--yes"]).code, 0);
    let removed = events(&home, &["flow.removed"]);
    for ((_, body), (flow, blessed)) in removed.iter().zip([("plain", false), ("say", true)]) {
        assert_eq!(
            (&body["flow"], &body["attended"], &body["blessed"]),
            (&json!(flow), &json!(false), &json!(blessed))
        );
    }
    assert_eq!(removed.len(), 2);
}

#[test]
fn a_blessing_that_was_taken_back_stays_taken_back() {
    let (home, _server) = tracker();
    let comment = ["call", "tracker", "addComment", "-p", "project=atlas", "-p", "number=1", "-p", "body=x"];
    assert_eq!(home.rote(&comment).code, 0);
    assert_eq!(home.rote(&["flow", "template", "create", "--workspace", "w", "--name", "say"]).code, 0);
    assert_eq!(home.rote(&["flow", "bless", "say", "--yes"]).code, 0);
    let file = home.home().join("flows/say.permissions.json");
    let aside = home.home().join("aside.json");
    let state = || home.rote(&["flow", "health", "say"]).stdout;
    assert!(!state().contains("was taken back"), "{}", state());
    // Whether the file lies there or was moved away while it is taken back.
    for moved in [false, true] {
        assert_eq!(home.rote(&["flow", "bless", "say", "--yes"]).code, 0);
        std::fs::copy(&file, &aside).unwrap();
        if moved {
            std::fs::remove_file(&file).unwrap();
        }
        let run = home.rote(&["flow", "unbless", "say", "--yes"]);
        assert!(run.code == 0 && run.stdout.contains("is no longer blessed"), "{run}");
        std::fs::copy(&aside, &file).unwrap();
        assert!(state().contains("was taken back"), "{}", state());
    }
    let run = home.rote(&["run", "say"]);
    assert!(run.code == 0 && run.stderr.contains("was taken back"), "{run}");
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
