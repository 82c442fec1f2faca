//! Recordings told call by call: a small tracker whose answers the test gives, crystallized through the real passes and replay.

use serde_json::{Map, Value, json};

use super::support::{Fixture, id, wish};
use crate::{CrystallizeRequest, Crystallized, FlowError};

/// The operations: name, method, path, its other arguments.
const OPERATIONS: [(&str, &str, &str, &[&str]); 23] = [
    ("listIssues", "get", "/issues", &["project", "page_size", "page_token"]),
    ("listCustomers", "get", "/customers", &["starting_after"]),
    ("getIssue", "get", "/issues/{issue_id}", &[]),
    (
        "createIssue",
        "post",
        "/issues",
        &["project", "title", "text", "labels", "estimate", "due_date", "customer", "amount", "issue", "sprint"],
    ),
    ("updateIssue", "patch", "/issues/{issue_id}", &["state", "due_date", "version", "labels"]),
    ("userInfo", "get", "/users.info", &["user"]),
    ("replaceIssue", "put", "/issues/{issue_id}", &["state", "due_date"]),
    ("addComment", "post", "/issues/{issue_id}/comments", &["body"]),
    ("searchContacts", "get", "/contacts", &["email", "q", "limit", "page", "offset", "skip", "start", "sort"]),
    ("updateContact", "patch", "/contacts/{contact_id}", &["plan"]),
    ("createEvent", "post", "/events", &["title", "start", "end", "secret"]),
    ("getEvent", "get", "/events/{event_id}", &[]),
    ("updateEvent", "patch", "/events/{event_id}", &["title", "start"]),
    ("deleteEvent", "delete", "/events/{event_id}", &[]),
    ("deleteIssue", "delete", "/issues/{issue_id}", &[]),
    ("lockIssue", "put", "/issues/{issue_id}/lock", &["reason"]),
    ("unlockIssue", "delete", "/issues/{issue_id}/lock", &[]),
    ("closeIssue", "post", "/issues/{issue_id}/close", &[]),
    ("reopenIssue", "post", "/issues/{issue_id}/reopen", &[]),
    ("assignIssue", "post", "/issues/{issue_id}/assign", &["assignee", "priority"]),
    ("addLabels", "post", "/issues/{issue_id}/labels", &["labels"]),
    ("removeLabel", "delete", "/issues/{issue_id}/labels/{name}", &[]),
    ("addWorklog", "post", "/worklogs", &["issue_key", "hours", "all/issue_ids", "issue_ids"]),
];

/// A workspace in the making.
pub(crate) struct Tale {
    pub(crate) fixture: Fixture,
    calls: u64,
}

impl Tale {
    pub(crate) fn new() -> Self {
        let fixture = Fixture::new();
        fixture.install(&document());
        let policy = fixture.adapters.policy_file(&id());
        let mut value: Value = serde_json::from_slice(&rote_home::read_capped(&policy, 1 << 20).unwrap()).unwrap();
        let safe =
            ["deleteEvent", "deleteIssue", "replaceIssue", "lockIssue", "unlockIssue", "closeIssue", "removeLabel"];
        value["safe_list"] = json!(safe);
        rote_home::write_durable(&policy, value.to_string().as_bytes(), rote_home::FileMode::Private).unwrap();
        Self { fixture, calls: 0 }
    }

    /// Makes a call that is answered so; returns its number.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value, answer: Value) -> u64 {
        self.answered(tool, arguments, 200, answer).await
    }

    /// Makes a call that the API refuses.
    pub(crate) async fn fails(&mut self, tool: &str, arguments: Value) -> u64 {
        self.answered(tool, arguments, 422, json!({"error": {"message": "no"}})).await
    }

    /// Makes a call of what the API does not have.
    pub(crate) async fn missing(&mut self, tool: &str, arguments: Value) -> u64 {
        self.answered(tool, arguments, 404, json!({"error": {"message": "none"}})).await
    }

    async fn answered(&mut self, tool: &str, arguments: Value, status: u16, answer: Value) -> u64 {
        self.fixture.shop.says(status, answer);
        assert_eq!(self.fixture.call(tool, arguments).await, status < 400, "{tool}");
        self.calls += 1;
        self.calls
    }

    pub(crate) fn query(&self, response: u64, program: &str) {
        self.fixture.query(response, program, None);
    }

    pub(crate) async fn made(&self, params: &[(&str, Option<&str>)]) -> Crystallized {
        self.fixture.crystallize(params).await.unwrap()
    }

    /// Makes the flow with answers and parameters.
    pub(crate) async fn answered_with(&self, answers: &[(&str, &str)]) -> Result<Crystallized, FlowError> {
        let answers = answers.iter().map(|(id, word)| ((*id).to_owned(), (*word).to_owned())).collect();
        self.wish(&CrystallizeRequest { answers, force: true, ..wish(&[]) }).await
    }

    pub(crate) async fn wish(&self, request: &CrystallizeRequest) -> Result<Crystallized, FlowError> {
        self.fixture.flows.crystallizer.crystallize(request).await
    }
}

fn document() -> String {
    let mut paths = Map::new();
    for (name, method, path, arguments) in OPERATIONS {
        let named = path.split('{').skip(1).filter_map(|part| part.split_once('}'));
        let mut parameters: Vec<Value> =
            named.map(|(name, _)| json!({"name": name, "in": "path", "required": true, "schema": {}})).collect();
        let mut operation = json!({"operationId": name, "responses": {"200": {"description": "ok"}}});
        if method == "get" {
            parameters.extend(arguments.iter().map(|name| json!({"name": name, "in": "query", "schema": {}})));
        } else if method != "delete" {
            let properties: Map<String, Value> =
                arguments.iter().map(|name| ((*name).to_owned(), schema(name))).collect();
            operation["requestBody"] = json!({"content": {"application/json": {"schema":
                {"type": "object", "properties": properties}}}});
        }
        operation["parameters"] = parameters.into();
        let at = paths.entry(path).or_insert_with(|| json!({}));
        at[method] = operation;
    }
    json!({"openapi": "3.1.0", "info": {"title": "Tracker", "version": "1"},
        "servers": [{"url": "https://tracker.example"}], "paths": paths})
    .to_string()
}

/// What an argument of a body may be.
fn schema(name: &str) -> Value {
    if name == "priority" { json!({"enum": ["P1", "P2", "P3"]}) } else { json!({}) }
}

/// The arguments of the steps, by id.
pub(crate) fn steps(made: &Crystallized) -> Value {
    made.plan
        .steps
        .iter()
        .map(|step| (step.id.clone(), serde_json::to_value(&step.arguments).unwrap()))
        .collect::<Map<String, Value>>()
        .into()
}

/// The notes, a line each.
pub(crate) fn notes(made: &Crystallized) -> Vec<&str> {
    made.report.notes.iter().map(|note| note.text.as_str()).collect()
}

/// The ids of the open questions.
pub(crate) fn open(made: &Crystallized) -> Vec<&str> {
    made.frontmatter.questions.iter().map(|question| question.id.as_str()).collect()
}

/// What a program gives of the answer of a step.
pub(crate) fn from(step: &str, jq: &str) -> Value {
    json!({"$from": {"step": step, "jq": jq}})
}
