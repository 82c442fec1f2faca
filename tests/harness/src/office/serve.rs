//! From a request to its answer: the route by the document, the arguments by its schemas, the rest by [`Does`].

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Entry;
use super::checks::{resolved, wrong};
use super::model::{Object, World, text};
use crate::{Received, Script};

/// Most items of a page, unless it is asked for otherwise.
const PAGE: usize = 50;
/// Arguments of lists that are no filters.
const PAGING: [&str; 4] = ["page_size", "page_token", "limit", "cursor"];

/// Arguments by name.
type Arguments = Map<String, Value>;

/// One API by its document.
pub(super) struct Api {
    name: &'static str,
    routes: Vec<Route>,
    schemas: Value,
}

struct Route {
    operation: String,
    method: String,
    segments: Vec<String>,
    /// The schemas of path and query parameters by name.
    parameters: Map<String, Value>,
    body: Value,
}

impl Api {
    pub(super) fn read(name: &'static str, document: &str) -> Self {
        let document: Value = serde_json::from_str(document).expect("the documents of the office are JSON");
        let paths = document["paths"].as_object().into_iter().flatten();
        let routes = paths.flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten().filter(|(_, value)| value.is_object());
            methods.map(move |(method, operation)| {
                let lists = [&item["parameters"], &operation["parameters"]];
                let parameters = lists.into_iter().filter_map(Value::as_array).flatten();
                Route {
                    operation: text(&operation["operationId"]),
                    method: method.to_uppercase(),
                    segments: path.split('/').map(str::to_owned).collect(),
                    parameters: parameters.map(|one| (text(&one["name"]), one["schema"].clone())).collect(),
                    body: operation["requestBody"]["content"]["application/json"]["schema"].clone(),
                }
            })
        });
        Self { name, routes: routes.collect(), schemas: document["components"]["schemas"].clone() }
    }

    /// Finds the operation of a request, and its arguments from path, query and body.
    fn route(&self, request: &Received) -> Option<(&Route, Arguments, Arguments)> {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let given: Vec<&str> = path.strip_prefix("/v1")?.split('/').collect();
        let fits = |route: &&Route| {
            let same = |(known, given): (&String, &&str)| known == given || known.starts_with('{');
            route.method == request.method
                && route.segments.len() == given.len()
                && route.segments.iter().zip(&given).all(same)
        };
        let route = self.routes.iter().find(fits)?;
        let placed = route.segments.iter().zip(&given).filter_map(|(known, given)| {
            Some((known.strip_prefix('{')?.strip_suffix('}')?.to_owned(), decoded(given)))
        });
        let asked = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(k, v)| (decoded(k), decoded(v)));
        let plain = placed.chain(asked).map(|(name, word)| {
            let is_number = route.parameters.get(&name).is_some_and(|schema| schema["type"] == "integer");
            let number = word.parse::<i64>().ok().filter(|_| is_number);
            (name, number.map_or_else(|| json!(word), Value::from))
        });
        let body = serde_json::from_slice(&request.body).unwrap_or_default();
        Some((route, plain.collect(), body))
    }
}

/// What an operation does, with objects of which kind.
enum Does {
    List(&'static str, &'static str),
    Get(&'static str),
    Create(&'static str),
    Update(&'static str),
    /// Sets a field, beside those of the body.
    Set(&'static str, &'static str, &'static str),
    Delete(&'static str),
    Search,
    FreeBusy,
}

fn does(operation: &str) -> Does {
    match operation {
        "listProjects" => Does::List("project", "items"),
        "listMilestones" => Does::List("milestone", "items"),
        "listIssues" => Does::List("issue", "items"),
        "listComments" => Does::List("comment", "items"),
        "listContacts" => Does::List("contact", "items"),
        "listCompanies" => Does::List("company", ""),
        "listCalendars" => Does::List("calendar", "calendars"),
        "listEvents" => Does::List("event", "events"),
        "listFolders" => Does::List("folder", "folders"),
        "listFiles" => Does::List("file", "items"),
        "searchIssues" => Does::Search,
        "freeBusy" => Does::FreeBusy,
        "getIssue" => Does::Get("issue"),
        "getContact" => Does::Get("contact"),
        "getCompany" => Does::Get("company"),
        "getEvent" => Does::Get("event"),
        "getFile" => Does::Get("file"),
        "createIssue" => Does::Create("issue"),
        "addComment" => Does::Create("comment"),
        "addWorklog" => Does::Create("worklog"),
        "createContact" => Does::Create("contact"),
        "createDeal" => Does::Create("deal"),
        "createWebhook" => Does::Create("webhook"),
        "createEvent" => Does::Create("event"),
        "createFolder" => Does::Create("folder"),
        "uploadFile" => Does::Create("file"),
        "closeIssue" => Does::Set("issue", "state", "done"),
        "updateIssue" | "setLabels" => Does::Update("issue"),
        "updateContact" => Does::Update("contact"),
        "updateDeal" => Does::Update("deal"),
        "updateEvent" => Does::Update("event"),
        "moveFile" => Does::Update("file"),
        "deleteComment" => Does::Delete("comment"),
        "deleteEvent" => Does::Delete("event"),
        _ => Does::Delete("file"),
    }
}

/// A status and a body, or a status and what is wrong.
type Outcome = Result<(u16, Value), (u16, String)>;

/// The world, what was asked of it, and its clock.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) world: World,
    pub(super) log: Vec<Entry>,
    clock: usize,
    /// Ids of the worlds before, and of what was deleted in them.
    strangers: BTreeSet<String>,
    /// What was deleted in this one.
    gone: BTreeSet<String>,
}

impl State {
    pub(super) fn reset(&mut self, world: World) {
        self.strangers.extend(self.world.objects.iter().map(|object| text(object.id())));
        self.strangers.append(&mut self.gone);
        (self.world, self.clock) = (world, 0);
        self.log.clear();
    }

    pub(super) fn answer(&mut self, api: &Api, request: &Received) -> Script {
        self.clock += 1;
        let Some((route, plain, body)) = api.route(request) else {
            return Script::Json(404, json!({ "error": { "message": "there is no such path" } }));
        };
        let arguments: Map<String, Value> = plain.iter().chain(&body).map(|(k, v)| (k.clone(), v.clone())).collect();
        let mut before = self.world.clone();
        let outcome = if self.world.throttled.as_ref() == Some(&route.operation) {
            self.world.throttled = None;
            Err((429, "too many requests, slow down".to_owned()))
        } else if let Some(problem) = wrong(&api.schemas, resolved(&api.schemas, &route.body), &body) {
            Err((422, problem))
        } else {
            self.act(&route.operation, &plain, &body)
        };
        let (status, body) = outcome.unwrap_or_else(|(status, told)| (status, json!({ "error": { "message": told } })));
        let reads = route.method == "GET" || route.operation == "freeBusy";
        // A write is told with the names that were there before it, and those of strangers, who come with it.
        before.objects.extend(self.world.objects.iter().filter(|object| object.stranger).cloned());
        let effect = (status < 300 && !reads).then(|| before.effect(&route.operation, &arguments));
        self.log.push(Entry {
            api: api.name,
            operation: route.operation.clone(),
            arguments: Value::Object(arguments),
            status,
            effect,
        });
        Script::Json(status, body)
    }

    fn now(&self) -> String {
        format!("2026-05-04T09:{:02}:{:02}Z", self.clock / 60 % 60, self.clock % 60)
    }

    fn act(&mut self, operation: &str, plain: &Arguments, body: &Arguments) -> Outcome {
        match does(operation) {
            Does::List(kind, field) => self.list(kind, field, plain),
            Does::Search => {
                let word = text(&plain["q"]).to_lowercase();
                let found = self.shown("issue").filter(|one| one.name().to_lowercase().contains(&word));
                Ok((200, json!({ "items": found.map(|one| one.fields.clone()).collect::<Vec<_>>() })))
            }
            Does::FreeBusy => Ok((200, self.free(&text(&body["calendar"]), &text(&body["day"])))),
            Does::Get(kind) => {
                let at = self.find(kind, plain)?;
                Ok((200, Value::Object(self.world.objects[at].fields.clone())))
            }
            Does::Create(kind) => self.create(kind, plain, body),
            Does::Update(kind) => self.update(kind, plain, body),
            Does::Set(kind, field, value) => {
                let mut changes = body.clone();
                changes.insert(field.to_owned(), json!(value));
                self.update(kind, plain, &changes)
            }
            Does::Delete(kind) => {
                let at = self.find(kind, plain)?;
                let gone = self.world.objects.remove(at);
                self.gone.insert(text(gone.id()));
                Ok((204, Value::Null))
            }
        }
    }

    fn shown(&self, kind: &str) -> impl Iterator<Item = &Object> {
        self.world.objects.iter().filter(move |object| object.kind == kind && !object.stranger)
    }

    /// One page, filtered by every argument that is not about pages.
    fn list(&self, kind: &str, field: &str, plain: &Arguments) -> Outcome {
        let filters: Vec<_> = plain.iter().filter(|(name, _)| !PAGING.contains(&name.as_str())).collect();
        let fits = |object: &&Object| filters.iter().all(|(name, value)| object.fields.get(*name) == Some(*value));
        let all: Vec<Value> = self.shown(kind).filter(fits).map(|one| Value::Object(one.fields.clone())).collect();
        if field.is_empty() {
            return Ok((200, Value::Array(all)));
        }
        let size =
            plain.get("page_size").or(plain.get("limit")).and_then(Value::as_u64).and_then(|n| n.try_into().ok());
        let size: usize = size.unwrap_or(PAGE);
        let prefix = format!("p{}x", self.world.objects.first().map_or_else(String::new, |one| text(one.id())));
        let from = match plain.get("page_token").or(plain.get("cursor")).map(text) {
            None => 0,
            Some(token) => match token.strip_prefix(&prefix).and_then(|at| at.parse().ok()) {
                Some(at) => at,
                None => return Err((400, format!("the page token {token} is unknown"))),
            },
        };
        let page: Vec<Value> = all.iter().skip(from).take(size).cloned().collect();
        let next = (from + size < all.len()).then(|| format!("{prefix}{}", from + size));
        let mut answer = Map::from_iter([(field.to_owned(), json!(page)), ("total".to_owned(), json!(all.len()))]);
        if kind == "contact" {
            answer.insert("next_cursor".to_owned(), json!(next));
        } else if let Some(next) = next {
            answer.insert("next_page_token".to_owned(), json!(next));
        }
        Ok((200, Value::Object(answer)))
    }

    /// The hours from 9 to 17 of a day at which nothing of the calendar begins.
    fn free(&self, calendar: &str, day: &str) -> Value {
        let hour = |hour: u8| format!("{day}T{hour:02}:00:00Z");
        let is_taken = |start: &str| {
            self.shown("event").any(|one| one.fields["calendar"] == calendar && one.fields["start"] == start)
        };
        let free = (9..17).map(|at| (hour(at), hour(at + 1))).filter(|(start, _)| !is_taken(start));
        json!({ "free": free.map(|(start, end)| json!({ "start": start, "end": end })).collect::<Vec<_>>() })
    }

    /// Finds the object that the path names, of its own kind.
    fn find(&mut self, kind: &'static str, plain: &Arguments) -> Result<usize, (u16, String)> {
        let id = text(plain.get(&format!("{kind}_id")).unwrap_or(&Value::Null));
        self.known(kind, &id).ok_or_else(|| (404, format!("there is no {kind} {id}")))
    }

    /// Finds an object; an id of the world before is a stranger's.
    fn known(&mut self, kind: &'static str, id: &str) -> Option<usize> {
        self.world.position(kind, id).or_else(|| {
            self.strangers.contains(id).then(|| {
                let id = id.parse::<i64>().map_or_else(|_| json!(id), Value::from);
                let fields = json!({ "id": id, "title": "stranger", "version": 1, "labels": [] });
                let fields = fields.as_object().cloned().unwrap_or_default();
                self.world.objects.push(Object { kind, fields, stranger: true });
                self.world.objects.len() - 1
            })
        })
    }

    fn create(&mut self, kind: &'static str, plain: &Arguments, body: &Arguments) -> Outcome {
        for (name, parent) in
            [("issue_id", "issue"), ("company_id", "company"), ("contact_id", "contact"), ("folder_id", "folder")]
        {
            let Some(id) = plain.get(name).or(body.get(name)).map(text) else { continue };
            if self.known(parent, &id).is_none() {
                return Err((if plain.contains_key(name) { 404 } else { 422 }, format!("there is no {parent} {id}")));
            }
        }
        let unique = [("contact", "email", "the address"), ("folder", "name", "the name")];
        for (_, field, what) in unique.into_iter().filter(|(of, ..)| *of == kind) {
            if self.shown(kind).any(|one| one.fields.get(field) == body.get(field)) {
                return Err((409, format!("{what} is taken")));
            }
        }
        let fields = plain.iter().chain(body).map(|(name, value)| (name.clone(), value.clone())).collect();
        let now = self.now();
        let mut made = self.world.add(kind, fields, &now).fields.clone();
        made.remove("secret");
        Ok((201, Value::Object(made)))
    }

    fn update(&mut self, kind: &'static str, plain: &Arguments, body: &Arguments) -> Outcome {
        let at = self.find(kind, plain)?;
        let now = self.now();
        let fields = &mut self.world.objects[at].fields;
        let version = fields.get("version").and_then(Value::as_u64);
        let given = body.get("version").and_then(Value::as_u64);
        if let (Some(given), Some(version)) = (given, version)
            && given != version
        {
            return Err((409, format!("version {given} is stale, it is {version}")));
        }
        fields.extend(body.clone());
        fields.insert("updated_at".to_owned(), json!(now));
        version.map(|version| fields.insert("version".to_owned(), json!(version + 1)));
        Ok((200, Value::Object(fields.clone())))
    }
}

/// A word of a path or a query as it was meant (RFC 3986, and `+` for a space).
fn decoded(word: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = behind.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = behind;
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
