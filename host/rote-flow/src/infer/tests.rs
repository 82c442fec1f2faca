//! What is inferred from which clue, with which confidence, and what is never proposed.

use serde_json::json;

use super::*;

fn frontmatter() -> Frontmatter {
    let parameters = json!({
        "type": "object",
        "properties": {
            "owner": {"type": "string"},
            "issue_number": {"type": "integer"},
            "project_id": {"type": "string"},
            "limit": {"type": "integer", "default": 20},
            "state": {"type": "string", "enum": ["open", "closed", "all"]},
            "assignee_email": {"type": "string"},
            "since": {"type": "string", "format": "date"},
            "api_token": {"type": "string"},
        },
        "required": ["owner", "issue_number", "limit", "state"],
    });
    let text = json!({
        "schema": 1, "name": "report", "description": "Reports", "version": "0.1.0", "status": "draft",
        "kind": "atomic", "form": "plan", "parameters": parameters, "adapters": {}, "write_permissions": [],
        "output": {"format": "json", "schema": null},
        "baseline": {"calls": 0, "duration_ms": 0, "tokens": 0}, "provenance": {"rote_version": "0.1.0"},
    });
    Frontmatter::parse(text.to_string().as_bytes()).unwrap()
}

fn context() -> InferContext {
    let environment = [("OWNER", "from-env"), ("API_TOKEN", "hunter2"), ("LIMIT", "many"), ("PATH", "/bin")];
    InferContext {
        environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        variables: vec![("owner".to_owned(), json!("from-variable")), ("issueNumber".to_owned(), json!(3))],
        last_run: json!({"issue_number": 2, "project_id": "p-old", "api_token": "x"}).as_object().unwrap().clone(),
    }
}

fn check(intent: &str, context: &InferContext, expected: &[(&str, Value, f64)]) {
    let inference = Inference::new("report", &frontmatter(), intent, context);
    for (name, value, confidence) in expected {
        let one = inference.parameters.iter().find(|one| one.name == *name).unwrap();
        let found = (one.value.clone().unwrap_or(Value::Null), one.confidence);
        assert_eq!(found, (value.clone(), *confidence), "{intent}: {name}: {}", one.why);
        assert_eq!(one.accepted, *confidence >= 0.8);
    }
}

#[test]
fn what_is_said_outright_is_taken() {
    let none = InferContext::default();
    check(
        "owner=octocat Issue-Number=7",
        &none,
        &[("owner", json!("octocat"), 0.95), ("issue_number", json!(7), 0.95)],
    );
    check("owner='Jane Doe', please", &none, &[("owner", json!("Jane Doe"), 0.95)]);
    check("owner=octocat", &context(), &[("owner", json!("octocat"), 0.95)]);
}

#[test]
fn what_is_said_wrongly_is_asked_and_not_guessed() {
    check("issue_number=seven", &context(), &[("issue_number", Value::Null, 0.0)]);
    let inference = Inference::new("report", &frontmatter(), "issue_number=seven", &context());
    assert_eq!(inference.parameters[1].why, "`issue_number=` in the intent must be integer, not `seven`");
    assert!(inference.open.contains(&"issue_number".to_owned()));
}

#[test]
fn a_value_of_a_known_shape_belongs_to_the_name_near_it() {
    let none = InferContext::default();
    check(
        "show issue #42 of project ROTE-17",
        &none,
        &[("issue_number", json!(42), 0.8), ("project_id", json!("ROTE-17"), 0.8)],
    );
    check("issue 42 with a limit of 10", &none, &[("issue_number", json!(42), 0.8), ("limit", json!(10), 0.8)]);
    check(
        "assigned to ann@example.com since 2026-01-31.",
        &none,
        &[("assignee_email", json!("ann@example.com"), 0.8), ("since", json!("2026-01-31"), 0.8)],
    );
    check("of owner \"Jane Doe\"", &none, &[("owner", json!("Jane Doe"), 0.8)]);
    check("something about 42 other things", &none, &[("issue_number", Value::Null, 0.0), ("limit", json!(20), 0.4)]);
    check("the owner of the house", &none, &[("owner", Value::Null, 0.0)]);
}

#[test]
fn an_allowed_value_is_proposed_when_one_is_clearly_meant() {
    let none = InferContext::default();
    check("the closd ones", &none, &[("state", json!("closed"), 0.75)]);
    check("open and closed", &none, &[("state", Value::Null, 0.0)]);
    check("whatever", &none, &[("state", Value::Null, 0.0)]);
}

#[test]
fn the_surroundings_are_asked_in_their_order_and_only_for_what_fits() {
    check(
        "",
        &context(),
        &[
            ("owner", json!("from-env"), 0.7),
            ("issue_number", json!(3), 0.6),
            ("project_id", json!("p-old"), 0.5),
            ("limit", json!(20), 0.4),
        ],
    );
}

#[test]
fn a_secret_is_never_proposed() {
    check("", &context(), &[("api_token", Value::Null, 0.0)]);
    let environment = BTreeMap::from([("OWNER".to_owned(), "ghp_0123456789abcdefghij".to_owned())]);
    check("", &InferContext { environment, ..InferContext::default() }, &[("owner", Value::Null, 0.0)]);
}

#[test]
fn the_command_has_what_is_sure_and_blanks_for_what_is_needed() {
    let inference = Inference::new("report", &frontmatter(), "owner='Jane Doe' issue 42", &InferContext::default());
    assert_eq!(inference.command, "rote run report owner='Jane Doe' issue_number=42 state=…");
    assert_eq!(inference.open, ["state"]);
}
