//! What the tracker answers: a pure function from a request and the store to a reply.
//!
//! It follows `adapters/tracker/openapi.yaml` operation by operation. It does no I/O and knows no sockets.

use serde_json::{Map, Value, json};

use super::store::{Attachment, Issue, Project, Store, person_named};

/// One request, as far as the API looks at it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method on the wire.
    pub method: String,
    /// The path with its query, as received.
    pub target: String,
    /// Header names in lower case with their values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// One answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

/// The path below which everything lives.
pub(super) const PREFIX: &str = "/v1";

type Outcome = Result<Reply, Reply>;

impl Reply {
    fn json(status: u16, value: &impl serde::Serialize) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self { status, headers: vec![("content-type", "application/json".to_owned())], body }
    }

    fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    fn problem(status: u16, message: &str) -> Self {
        Self::json(status, &json!({ "message": message }))
    }

    fn invalid(field: &str, problem: &str) -> Self {
        let errors = json!([{ "field": field, "problem": problem }]);
        Self::json(422, &json!({ "message": "validation failed", "errors": errors }))
    }
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the decoded path segments below the prefix, or none when the path is another one.
    fn segments(&self) -> Option<Vec<String>> {
        let path = self.target.split('?').next().unwrap_or_default();
        let below = path.strip_prefix(PREFIX)?.strip_prefix('/')?;
        Some(below.split('/').map(decode).collect())
    }

    /// Returns the decoded query pairs in order.
    fn query(&self) -> Vec<(String, String)> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect()
    }

    fn query_value(&self, name: &str) -> Option<String> {
        self.query().into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns the caller's bearer token.
    fn token(&self) -> Result<&str, Reply> {
        self.header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "))
            .filter(|token| !token.is_empty())
            .ok_or_else(|| Reply::problem(401, "a bearer token is needed"))
    }

    fn json(&self) -> Result<Map<String, Value>, Reply> {
        serde_json::from_slice(&self.body).map_err(|_| Reply::problem(422, "the body is not a JSON object"))
    }

    /// Returns a whole number from the query, bounded as the document says.
    fn number(&self, name: &str, default: usize, most: usize) -> Result<usize, Reply> {
        let Some(text) = self.query_value(name) else {
            return Ok(default);
        };
        match text.parse::<usize>() {
            Ok(number) if (1..=most).contains(&number) => Ok(number),
            _ => Err(Reply::invalid(name, &format!("must be a number from 1 to {most}"))),
        }
    }
}

fn pair(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (decode(name), decode(value))
}

/// Percent-decodes, with `+` as a blank.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, ..]) => {
                let digits = [*high, *low];
                let byte = std::str::from_utf8(&digits).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
                bytes.push(byte.unwrap_or(b'%'));
                if byte.is_some() {
                    rest = &tail[2..];
                }
            }
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Answers one request.
pub(super) fn answer(store: &mut Store, request: &Request) -> Reply {
    let Some(segments) = request.segments() else {
        return Reply::problem(404, "there is no such path");
    };
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let outcome = match (request.method.as_str(), segments.as_slice()) {
        ("GET", ["status"]) => Ok(text("ok\n")),
        ("GET", ["whoami"]) => who_am_i(request),
        ("GET", ["search"]) => search(store, request),
        ("GET", ["attachments", id]) => download(store, id),
        (method, ["projects", rest @ ..]) => projects(store, request, method, rest),
        _ => Err(Reply::problem(404, "there is no such path")),
    };
    outcome.unwrap_or_else(|problem| problem)
}

/// Answers a request whose body is over the server's cap.
pub(super) fn too_large() -> Reply {
    Reply::problem(413, "the body is too large")
}

fn text(body: &str) -> Reply {
    Reply {
        status: 200,
        headers: vec![("content-type", "text/plain; charset=utf-8".to_owned())],
        body: body.as_bytes().to_vec(),
    }
}

/// Echoes the credential on purpose, in the clear and as base64 would show it: the demo proves that neither
/// reaches the caller of rote.
fn who_am_i(request: &Request) -> Outcome {
    request.token()?;
    let headers: Map<String, Value> =
        request.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    Ok(Reply::json(200, &json!({ "login": "ada", "headers": headers })))
}

fn projects(store: &mut Store, request: &Request, method: &str, rest: &[&str]) -> Outcome {
    match (method, rest) {
        ("GET", []) => list_projects(store, request),
        ("POST", []) => create_project(store, request),
        (_, [key, below @ ..]) => {
            let project = store.project(key).ok_or_else(|| Reply::problem(404, "there is no such project"))?;
            match below {
                [] => one_project(store, request, method, project),
                ["labels"] if method == "GET" => Ok(labels(store, key)),
                ["issues", rest @ ..] => issues(store, request, method, key, rest),
                _ => Err(Reply::problem(404, "there is no such path")),
            }
        }
        _ => Err(Reply::problem(405, "the method is not allowed here")),
    }
}

/// Cuts one page out of `entries` and adds the `Link` header.
fn page<T: serde::Serialize>(request: &Request, entries: &[T]) -> Outcome {
    let page = request.number("page", 1, 1_000_000)?;
    let per_page = request.number("per_page", 30, 100)?;
    let from = (page - 1).saturating_mul(per_page).min(entries.len());
    let to = from.saturating_add(per_page).min(entries.len());
    let mut reply = Reply::json(200, &&entries[from..to]);
    let path = request.target.split('?').next().unwrap_or_default();
    let link = |page: usize, rel: &str| format!("<{path}?page={page}&per_page={per_page}>; rel=\"{rel}\"");
    let next = (to < entries.len()).then(|| link(page + 1, "next"));
    let previous = (page > 1).then(|| link(page - 1, "prev"));
    let links: Vec<String> = next.into_iter().chain(previous).collect();
    if !links.is_empty() {
        reply.headers.push(("link", links.join(", ")));
    }
    Ok(reply)
}

fn list_projects(store: &Store, request: &Request) -> Outcome {
    let all: Vec<Project> = store.projects.keys().filter_map(|key| store.project(key)).collect();
    page(request, &all)
}

fn required_text(fields: &Map<String, Value>, name: &str, most: usize) -> Result<String, Reply> {
    match fields.get(name).and_then(Value::as_str) {
        Some(text) if (1..=most).contains(&text.chars().count()) => Ok(text.to_owned()),
        Some(_) => Err(Reply::invalid(name, &format!("must have 1 to {most} characters"))),
        None => Err(Reply::invalid(name, "is needed and must be a text")),
    }
}

fn optional_text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn create_project(store: &mut Store, request: &Request) -> Outcome {
    request.token()?;
    let fields = request.json()?;
    let (key, title) = (required_text(&fields, "key", 31)?, required_text(&fields, "title", 120)?);
    if store.projects.contains_key(&key) {
        return Err(Reply::problem(409, "the key is taken"));
    }
    let created_at = store.now();
    let description = optional_text(&fields, "description");
    let project = Project { key: key.clone(), title, description, open_issues: 0, created_at };
    store.projects.insert(key, project.clone());
    Ok(Reply::json(201, &project))
}

fn one_project(store: &mut Store, request: &Request, method: &str, mut project: Project) -> Outcome {
    match method {
        "GET" => Ok(Reply::json(200, &project)),
        "PUT" => {
            request.token()?;
            let fields = request.json()?;
            project.title = required_text(&fields, "title", 120)?;
            project.description = optional_text(&fields, "description");
            store.projects.insert(project.key.clone(), project.clone());
            Ok(Reply::json(200, &project))
        }
        "DELETE" => {
            request.token()?;
            store.projects.remove(&project.key);
            store.issues.retain(|(owner, _), _| *owner != project.key);
            Ok(Reply::empty(204))
        }
        _ => Err(Reply::problem(405, "the method is not allowed here")),
    }
}

fn labels(store: &Store, project: &str) -> Reply {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for label in store.issues_of(project).flat_map(|issue| &issue.labels) {
        *counts.entry(label).or_default() += 1;
    }
    let rows: Vec<Value> = counts.into_iter().map(|(name, issues)| json!({ "name": name, "issues": issues })).collect();
    Reply::json(200, &rows)
}

fn issues(store: &mut Store, request: &Request, method: &str, project: &str, rest: &[&str]) -> Outcome {
    match (method, rest) {
        ("GET", []) => list_issues(store, request, project),
        ("POST", []) => create_issue(store, request, project),
        (_, [number, below @ ..]) => {
            let issue = number.parse().ok().and_then(|number| store.issues.get(&(project.to_owned(), number)));
            let issue = issue.cloned().ok_or_else(|| Reply::problem(404, "there is no such issue"))?;
            one_issue(store, request, (method, below), issue)
        }
        _ => Err(Reply::problem(405, "the method is not allowed here")),
    }
}

fn list_issues(store: &Store, request: &Request, project: &str) -> Outcome {
    let state = request.query_value("state").unwrap_or_else(|| "open".to_owned());
    if !["open", "closed", "all"].contains(&state.as_str()) {
        return Err(Reply::invalid("state", "must be open, closed or all"));
    }
    let wanted = request.query_value("labels").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|label| !label.is_empty()).collect();
    let mut found: Vec<&Issue> = store
        .issues_of(project)
        .filter(|issue| state == "all" || issue.state == state)
        .filter(|issue| wanted.iter().all(|label| issue.labels.iter().any(|own| own == label)))
        .collect();
    match request.query_value("sort").as_deref() {
        None | Some("created") => found.reverse(),
        Some("updated") => found.sort_by(|one, two| two.updated_at.cmp(&one.updated_at)),
        Some("comments") => found.sort_by_key(|issue| std::cmp::Reverse(issue.comments)),
        Some(_) => return Err(Reply::invalid("sort", "must be created, updated or comments")),
    }
    page(request, &found)
}

fn label_list(fields: &Map<String, Value>) -> Result<Option<Vec<String>>, Reply> {
    let Some(value) = fields.get("labels") else {
        return Ok(None);
    };
    serde_json::from_value(value.clone()).map(Some).map_err(|_| Reply::invalid("labels", "must be a list of texts"))
}

fn create_issue(store: &mut Store, request: &Request, project: &str) -> Outcome {
    request.token()?;
    let fields = request.json()?;
    let title = required_text(&fields, "title", 200)?;
    let labels = label_list(&fields)?.unwrap_or_default();
    let priority = optional_text(&fields, "priority").unwrap_or_else(|| "normal".to_owned());
    let (number, created_at) = (store.next_number(project), store.now());
    let issue = Issue {
        number,
        project: project.to_owned(),
        title,
        body: optional_text(&fields, "body"),
        state: "open".to_owned(),
        priority: known_priority(priority)?,
        author: person_named("ada"),
        assignee: optional_text(&fields, "assignee").map(|login| person_named(&login)),
        labels,
        comments: 0,
        updated_at: created_at.clone(),
        created_at,
    };
    store.issues.insert((project.to_owned(), number), issue.clone());
    let mut reply = Reply::json(201, &issue);
    reply.headers.push(("location", format!("{PREFIX}/projects/{project}/issues/{number}")));
    Ok(reply)
}

fn known_priority(priority: String) -> Result<String, Reply> {
    let known = ["low", "normal", "high", "urgent"].contains(&priority.as_str());
    known.then_some(priority).ok_or_else(|| Reply::invalid("priority", "must be low, normal, high or urgent"))
}

fn one_issue(store: &mut Store, request: &Request, route: (&str, &[&str]), issue: Issue) -> Outcome {
    let key = (issue.project.clone(), issue.number);
    match route {
        ("GET", []) => Ok(Reply::json(200, &issue)),
        ("PATCH", []) => change_issue(store, request, issue),
        ("DELETE", []) => {
            request.token()?;
            store.issues.remove(&key);
            Ok(Reply::empty(204))
        }
        ("PUT", ["labels"]) => set_labels(store, request, issue),
        ("GET", ["comments"]) => list_comments(store, request, &key),
        ("POST", ["comments"]) => {
            request.token()?;
            let body = required_text(&request.json()?, "body", 10_000)?;
            Ok(Reply::json(201, &store.add_comment(&key.0, key.1, person_named("ada"), body)))
        }
        ("POST", ["attachments"]) => upload(store, request),
        _ => Err(Reply::problem(405, "the method is not allowed here")),
    }
}

fn change_issue(store: &mut Store, request: &Request, mut issue: Issue) -> Outcome {
    request.token()?;
    let fields = request.json()?;
    if fields.contains_key("title") {
        issue.title = required_text(&fields, "title", 200)?;
    }
    if fields.contains_key("body") {
        issue.body = optional_text(&fields, "body");
    }
    if let Some(state) = optional_text(&fields, "state") {
        let known = ["open", "closed"].contains(&state.as_str());
        issue.state = known.then_some(state).ok_or_else(|| Reply::invalid("state", "must be open or closed"))?;
    }
    if let Some(priority) = optional_text(&fields, "priority") {
        issue.priority = known_priority(priority)?;
    }
    if fields.contains_key("assignee") {
        issue.assignee = optional_text(&fields, "assignee").map(|login| person_named(&login));
    }
    keep(store, issue)
}

fn set_labels(store: &mut Store, request: &Request, mut issue: Issue) -> Outcome {
    request.token()?;
    issue.labels = label_list(&request.json()?)?.ok_or_else(|| Reply::invalid("labels", "is needed"))?;
    keep(store, issue)
}

fn keep(store: &mut Store, mut issue: Issue) -> Outcome {
    issue.updated_at = store.now();
    let reply = Reply::json(200, &issue);
    store.issues.insert((issue.project.clone(), issue.number), issue);
    Ok(reply)
}

fn list_comments(store: &Store, request: &Request, key: &(String, u64)) -> Outcome {
    let limit = request.number("limit", 20, 50)?;
    let after: u64 = request.query_value("cursor").and_then(|text| text.parse().ok()).unwrap_or(0);
    let all = store.comments.get(key).map_or(&[][..], Vec::as_slice);
    let rest: Vec<_> = all.iter().filter(|comment| comment.id > after).collect();
    let shown = &rest[..limit.min(rest.len())];
    let next = (rest.len() > limit).then(|| shown.last().map(|comment| comment.id.to_string())).flatten();
    Ok(Reply::json(200, &json!({ "comments": shown, "next": next })))
}

fn search(store: &Store, request: &Request) -> Outcome {
    let words = request.query_value("q").filter(|words| !words.trim().is_empty());
    let words = words.ok_or_else(|| Reply::invalid("q", "is needed"))?.to_lowercase();
    let query = request.query();
    let values = |name: &str| -> Vec<&str> {
        query.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect()
    };
    let (projects, states) = (values("project"), values("filter[state]"));
    let assignees = values("filter[assignee]");
    let hits: Vec<&Issue> = store
        .issues
        .values()
        .filter(|issue| projects.is_empty() || projects.contains(&issue.project.as_str()))
        .filter(|issue| states.is_empty() || states.contains(&issue.state.as_str()))
        .filter(|issue| {
            let login = issue.assignee.as_ref().map(|person| person.login.as_str());
            assignees.is_empty() || login.is_some_and(|login| assignees.contains(&login))
        })
        .filter(|issue| {
            let text = format!("{} {}", issue.title, issue.body.as_deref().unwrap_or_default()).to_lowercase();
            words.split_whitespace().all(|word| text.contains(word))
        })
        .collect();
    let shown = &hits[..hits.len().min(request.number("per_page", 30, 100)?)];
    Ok(Reply::json(200, &json!({ "total": hits.len(), "items": shown })))
}

fn upload(store: &mut Store, request: &Request) -> Outcome {
    request.token()?;
    let kind = request.header("content-type").unwrap_or_default();
    let boundary = kind.split_once("boundary=").map(|(_, rest)| rest.trim_matches('"'));
    let boundary = boundary.ok_or_else(|| Reply::problem(422, "the body is not multipart/form-data"))?;
    let parts = parts(&request.body, boundary);
    let file = parts.iter().find(|part| part.name == "file");
    let file = file.ok_or_else(|| Reply::invalid("file", "is needed"))?;
    let note = parts.iter().find(|part| part.name == "note");
    let attachment = Attachment {
        filename: file.filename.clone().unwrap_or_else(|| "file".to_owned()),
        bytes: file.bytes.to_vec(),
        note: note.map(|part| String::from_utf8_lossy(part.bytes).into_owned()),
    };
    let id = format!("a{}", store.attachments.len() + 1);
    let reply = json!({
        "id": id, "filename": attachment.filename, "bytes": attachment.bytes.len(), "note": attachment.note,
        "url": format!("{PREFIX}/attachments/{id}"),
    });
    store.attachments.insert(id, attachment);
    Ok(Reply::json(201, &reply))
}

struct Part<'a> {
    name: String,
    filename: Option<String>,
    bytes: &'a [u8],
}

/// Cuts a multipart body (RFC 7578) into its parts; what is malformed is left out.
fn parts<'a>(body: &'a [u8], boundary: &str) -> Vec<Part<'a>> {
    let marker = format!("--{boundary}").into_bytes();
    let mut starts: Vec<usize> =
        (0..body.len().saturating_sub(marker.len() - 1)).filter(|at| body[*at..].starts_with(&marker)).collect();
    starts.push(body.len());
    starts.windows(2).filter_map(|pair| part(&body[(pair[0] + marker.len()).min(pair[1])..pair[1]])).collect()
}

fn part(bytes: &[u8]) -> Option<Part<'_>> {
    let bytes = bytes.strip_prefix(b"\r\n")?;
    let split = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..split]).ok()?;
    let body = bytes[split + 4..].strip_suffix(b"\r\n")?;
    let field = |name: &str| {
        let from = head.find(&format!("; {name}=\""))? + name.len() + 4;
        head[from..].split('"').next().map(str::to_owned)
    };
    Some(Part { name: field("name")?, filename: field("filename"), bytes: body })
}

fn download(store: &Store, id: &str) -> Outcome {
    let attachment = store.attachments.get(id).ok_or_else(|| Reply::problem(404, "there is no such attachment"))?;
    let disposition = format!("attachment; filename=\"{}\"", attachment.filename.replace(['"', '\r', '\n'], "_"));
    Ok(Reply {
        status: 200,
        headers: vec![("content-type", "application/octet-stream".to_owned()), ("content-disposition", disposition)],
        body: attachment.bytes.clone(),
    })
}

#[cfg(test)]
#[path = "api_tests.rs"]
mod tests;
