//! Responses: what to accept, the names of what comes back, and its outline.
//!
//! The names are evidence of how sensitive the data is; the outline is for whoever reads or binds the tool.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rote_types::SchemaText;
use serde_json::{Value, json};

use crate::openapi::documents::{Documents, Node};
use crate::openapi::media::{Class, class, essence};
use crate::openapi::outline::outline;
use crate::openapi::reader::Reader;

/// Most media types that are named in `Accept`.
const MOST_ACCEPTED: usize = 6;
/// Most property names per operation.
const MOST_FIELDS: usize = 128;
/// Deepest object whose property names are kept.
const MOST_DEPTH: usize = 3;
/// Longest chain of nested schemas that is looked at; variants do not count as depth.
const MOST_NESTING: usize = 24;
/// Most schemas that are looked at per operation.
const MOST_VISITS: usize = 600;
/// Members that say whether a call did what it was for, where they are always true in a success.
const OK_MEMBERS: [&str; 2] = ["ok", "success"];
/// Most schemas one within another in which such a member is looked for.
const MOST_PARTS: usize = 4;
/// Bytes of outlines behind which there are no more.
const MOST_OUTLINES: usize = 32 << 20;

/// What an operation's responses say.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The `Accept` header; empty when nothing is said.
    pub(crate) accept: String,
    /// What the success response is like.
    pub(crate) body: AnsweredBody,
    /// The member that is true in each success, if one is.
    pub(crate) ok_member: Option<String>,
}

/// What is known of a body that comes back.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnsweredBody {
    /// Its property names, sorted.
    pub(crate) fields: Arc<[String]>,
    /// Its outline, if the source says anything.
    pub(crate) outline: Option<Arc<SchemaText>>,
}

/// Bodies that were looked at before, by the address of the schema.
#[derive(Debug, Default)]
pub(crate) struct BodyCache {
    known: RefCell<HashMap<usize, AnsweredBody>>,
    /// Bytes of all outlines.
    spent: Cell<usize>,
}

/// Reads the responses of an operation.
pub(crate) fn answers<'a>(reader: &Reader<'a>, operation: &Node<'a>, cache: &BodyCache) -> Answers {
    let mut media: Vec<String> = Vec::new();
    let mut schema = None;
    let mut refuses = false;
    let mut fallback = None;
    let responses = operation.get("responses");
    for (status, response) in responses.iter().flat_map(|all| all.members().collect::<Vec<_>>()) {
        refuses |= matches!(status, "401" | "403");
        if response.get("links").is_some() {
            reader.notices.tally(&reader.place(&response), "links are ignored");
        }
        if status == "default" {
            fallback = Some(response);
        } else if status.starts_with('2') {
            read(reader, operation, response, &mut media, &mut schema);
        }
    }
    if let (Some(fallback), true, None) = (fallback, media.is_empty(), &schema) {
        read(reader, operation, fallback, &mut media, &mut schema);
    }
    if refuses {
        reader.schemes.refusals.set(reader.schemes.refusals.get() + 1);
    }
    media.sort_by_key(|media| rank(media));
    media.truncate(MOST_ACCEPTED);
    let says = |name: &&&str| schema.as_ref().is_some_and(|schema| is_true(reader.documents, schema, name, MOST_PARTS));
    let ok_member = OK_MEMBERS.iter().find(says).map(|name| (*name).to_owned());
    let body = schema.map(|schema| body(reader.documents, &schema, cache)).unwrap_or_default();
    Answers { accept: media.join(", "), body, ok_member }
}

/// Whether a member of this name can be nothing but true, in the schema or in all that it may be.
fn is_true<'a>(documents: &'a Documents, schema: &Node<'a>, name: &str, left: usize) -> bool {
    let Ok(schema) = documents.resolve(schema.clone()) else { return false };
    let Some(left) = left.checked_sub(1) else { return false };
    let part = |part: Node<'a>| is_true(documents, &part, name, left);
    let parts =
        |key: &str| schema.get(key).iter().flat_map(|all| all.elements().collect::<Vec<_>>()).collect::<Vec<_>>();
    let any_of = |key: &str| !parts(key).is_empty() && parts(key).into_iter().all(part);
    let own = schema.get("properties").and_then(|properties| properties.get(name));
    let own = own.and_then(|member| documents.resolve(member).ok());
    let only = own.is_some_and(|member| match (member.get("const"), member.get("enum")) {
        (Some(constant), _) => constant.value == &Value::Bool(true),
        (None, Some(allowed)) => allowed.value.as_array().is_some_and(|all| *all == [Value::Bool(true)]),
        (None, None) => false,
    });
    only || parts("allOf").into_iter().any(part) || any_of("anyOf") || any_of("oneOf")
}

fn read<'a>(
    reader: &Reader<'a>,
    operation: &Node<'a>,
    response: Node<'a>,
    media: &mut Vec<String>,
    schema: &mut Option<Node<'a>>,
) {
    let Ok(response) = reader.documents.resolve(response) else {
        return;
    };
    if reader.is_swagger() {
        if let Some(found) = response.get("schema") {
            schema.get_or_insert(found);
            for name in reader.swagger_media(operation, "produces") {
                add(media, name);
            }
        }
        return;
    }
    for (name, content) in response.get("content").iter().flat_map(|all| all.members().collect::<Vec<_>>()) {
        add(media, name);
        if schema.is_none() && class(name) == Class::Json {
            *schema = content.get("schema");
        }
    }
}

fn add(media: &mut Vec<String>, name: &str) {
    let name = name.trim();
    let is_header_safe = name.contains('/') && name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if is_header_safe && !media.iter().any(|known| known == name) {
        media.push(name.to_owned());
    }
}

/// JSON first, then other types, then ranges; the sort is stable.
fn rank(media: &str) -> u8 {
    let essence = essence(media);
    match class(media) {
        _ if essence.contains('*') => 4,
        Class::Json if essence == "application/json" => 0,
        Class::Json => 1,
        Class::JsonLines => 2,
        _ => 3,
    }
}

/// Collects what a schema says of a body.
fn body<'a>(documents: &'a Documents, schema: &Node<'a>, cache: &BodyCache) -> AnsweredBody {
    let Ok(target) = documents.resolve(schema.clone()) else {
        return AnsweredBody::default();
    };
    let address = std::ptr::from_ref(target.value).addr();
    if let Some(known) = cache.known.borrow().get(&address) {
        return known.clone();
    }
    let mut collector = Collector { documents, visits: MOST_VISITS, found: BTreeSet::new() };
    collector.collect(&target, MOST_DEPTH, MOST_NESTING);
    let fields = collector.found.into_iter().take(MOST_FIELDS).collect();
    let room = cache.spent.get() < MOST_OUTLINES;
    let outline = room.then(|| outline(documents, &target)).filter(|outline| *outline != json!({}));
    let outline = outline.map(|outline| Arc::new(SchemaText::of(&outline)));
    cache.spent.set(cache.spent.get() + outline.as_ref().map_or(0, |outline| outline.as_str().len()));
    let body = AnsweredBody { fields, outline };
    cache.known.borrow_mut().insert(address, body.clone());
    body
}

struct Collector<'a> {
    documents: &'a Documents,
    visits: usize,
    found: BTreeSet<String>,
}

impl<'a> Collector<'a> {
    fn collect(&mut self, schema: &Node<'a>, depth: usize, nesting: usize) {
        if self.visits == 0 || nesting == 0 || depth == 0 || self.found.len() >= MOST_FIELDS {
            return;
        }
        self.visits -= 1;
        let Ok(schema) = self.documents.resolve(schema.clone()) else {
            return;
        };
        for (name, property) in schema.get("properties").iter().flat_map(|all| all.members().collect::<Vec<_>>()) {
            if name.len() <= 64 {
                self.found.insert(name.to_owned());
            }
            if property.value.is_object() {
                self.collect(&property, depth - 1, nesting - 1);
            }
        }
        // A variant is as deep as its whole; `nesting` bounds one that contains itself.
        for key in ["allOf", "anyOf", "oneOf"] {
            for part in schema.get(key).iter().flat_map(|all| all.elements().collect::<Vec<_>>()) {
                self.collect(&part, depth, nesting - 1);
            }
        }
        if let Some(items) = schema.get("items").filter(|items| matches!(items.value, Value::Object(_))) {
            self.collect(&items, depth, nesting - 1);
        }
    }
}
