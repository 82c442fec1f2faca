//! Schemas of the source to the JSON Schema (2020-12) that an agent fills.
//!
//! Named object schemas become `$defs`, which keeps output small and makes cycles natural; scalars are
//! inlined, `allOf` is merged, `oneOf` is offered as `anyOf` (the server decides between overlapping variants),
//! response-only properties are left out of bodies, and prose that no agent needs is dropped.
//! Invariants: nesting, closure and size are bounded by [`Detail`]; what lies beyond becomes a permissive schema.
//! It does not validate anything and never fails: a schema that cannot be read is permissive, with a note.

use std::collections::{BTreeSet, VecDeque};

use indexmap::IndexMap;
use rote_types::SpecType;
use serde_json::{Map, Value, json};

use crate::notices::Notes;
use crate::openapi::documents::{Documents, Node};
use crate::openapi::keywords;
use crate::openapi::merge::merge_into;

/// Most patterns of one tool that are counted as left out.
const MOST_UNREAD: usize = 1_000;
/// Deepest chain of `allOf` members that are merged into one schema.
const MERGE_DEPTH: usize = 24;

/// How much of a schema is kept. Levels are tried in turn until the tool's schema is small enough.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    /// Deepest inline nesting.
    pub(crate) depth: usize,
    /// Longest chain of `$defs` from the root.
    pub(crate) closure: usize,
    /// Most characters of a description at the top.
    pub(crate) top_prose: usize,
    /// Most characters of a description further down.
    pub(crate) nested_prose: usize,
    /// Most bytes, estimated.
    pub(crate) bytes: usize,
}

impl Detail {
    /// The levels, the fullest first.
    pub(crate) fn levels(depth: usize, bytes: usize) -> [Self; 6] {
        let full = Self { depth, closure: 16, top_prose: 1_000, nested_prose: 300, bytes };
        [
            full,
            Self { nested_prose: 80, ..full },
            Self { nested_prose: 0, ..full },
            Self { depth: depth.min(5), closure: 3, top_prose: 400, nested_prose: 0, bytes },
            Self { depth: depth.min(3), closure: 1, top_prose: 200, nested_prose: 0, bytes },
            Self { depth: depth.min(2), closure: 0, top_prose: 0, nested_prose: 0, bytes },
        ]
    }
}

/// One definition that was promised by a `$ref` and is still to be written.
struct Promise<'a> {
    name: String,
    node: Node<'a>,
    level: usize,
}

/// Writes the schemas of one tool.
pub(crate) struct SchemaWriter<'a, 'n> {
    documents: &'a Documents,
    spec_type: SpecType,
    detail: Detail,
    notes: &'n Notes,
    /// Address of the source schema → name in `$defs`.
    names: IndexMap<usize, String>,
    promises: VecDeque<Promise<'a>>,
    /// Chain of `$defs` that leads to what is being written.
    level: usize,
    /// Source schemas whose `allOf` is being merged.
    merging: Vec<usize>,
    spent: usize,
    truncated: bool,
    /// Whether response-only properties are left out.
    request: bool,
    /// Where patterns stand that nobody here can check.
    unread: BTreeSet<String>,
}

impl<'a, 'n> SchemaWriter<'a, 'n> {
    /// A writer that has written nothing yet.
    pub(crate) fn new(documents: &'a Documents, spec_type: SpecType, detail: Detail, notes: &'n Notes) -> Self {
        Self {
            documents,
            spec_type,
            detail,
            notes,
            names: IndexMap::new(),
            promises: VecDeque::new(),
            level: 0,
            merging: Vec::new(),
            spent: 0,
            truncated: false,
            request: false,
            unread: BTreeSet::new(),
        }
    }

    /// The places of patterns that were left out.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &str> {
        self.unread.iter().map(String::as_str)
    }

    /// Whether the size bound was reached, so that a coarser level of detail should be tried.
    pub(crate) fn is_full(&self) -> bool {
        self.spent > self.detail.bytes
    }

    /// Bytes that were written, estimated.
    pub(crate) fn spent(&self) -> usize {
        self.spent
    }

    /// Whether anything was left out for depth or size.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated || self.is_full()
    }

    /// Writes the schema of a parameter.
    pub(crate) fn parameter(&mut self, node: &Node<'a>) -> Value {
        self.request = false;
        self.convert(node, 0)
    }

    /// Writes the schema of a body, its top level inline even when it is a named one.
    pub(crate) fn body(&mut self, node: &Node<'a>) -> Value {
        self.request = true;
        match node.value {
            Value::Object(_) => Value::Object(self.expanded(node, 0)),
            _ => self.convert(node, 0),
        }
    }

    /// Writes the promised definitions and returns them.
    pub(crate) fn definitions(&mut self) -> Map<String, Value> {
        let mut definitions = Map::new();
        self.request = true;
        while let Some(promise) = self.promises.pop_front() {
            self.level = promise.level;
            let schema = match promise.node.value {
                Value::Object(_) => Value::Object(self.object(&promise.node, 1)),
                _ => self.convert(&promise.node, 1),
            };
            definitions.insert(promise.name, schema);
        }
        definitions
    }

    fn spend(&mut self, bytes: usize) -> bool {
        self.spent = self.spent.saturating_add(bytes);
        !self.is_full()
    }

    fn convert(&mut self, node: &Node<'a>, depth: usize) -> Value {
        if !self.spend(8) {
            return json!({});
        }
        match node.value {
            Value::Bool(false) => json!({"not": {}}),
            Value::Object(_) if node.text("$ref").is_some() => self.reference(node, depth),
            Value::Object(members) => {
                if depth > self.detail.depth && is_complex(members) {
                    return self.permissive(members);
                }
                Value::Object(self.object(node, depth))
            }
            _ => json!({}),
        }
    }

    /// What stands in for a schema that is too deep or too large.
    fn permissive(&mut self, members: &Map<String, Value>) -> Value {
        self.truncated = true;
        match members.get("type") {
            Some(Value::String(kind)) if matches!(kind.as_str(), "object" | "array") => {
                json!({"type": kind})
            }
            _ if members.contains_key("properties") => json!({"type": "object"}),
            _ => json!({}),
        }
    }

    fn target(&mut self, node: &Node<'a>) -> Option<Node<'a>> {
        match self.documents.resolve(node.clone()) {
            Ok(target) => Some(target),
            Err(broken) => {
                self.notes.add(&broken.pointer, format_args!("schema left open: {}", broken.reason));
                None
            }
        }
    }

    fn reference(&mut self, node: &Node<'a>, depth: usize) -> Value {
        let Some(target) = self.target(node) else {
            return json!({});
        };
        let mut out = match target.value.as_object() {
            Some(members) if is_complex(members) => {
                if self.level >= self.detail.closure && !self.names.contains_key(&address(&target)) {
                    return self.permissive(members);
                }
                let name = self.promise(&target);
                self.spend(name.len() + 20);
                Map::from_iter([("$ref".to_owned(), Value::String(format!("#/$defs/{name}")))])
            }
            Some(_) => self.object(&target, depth),
            None => return self.convert(&target, depth),
        };
        self.siblings(node, &mut out, depth);
        Value::Object(out)
    }

    /// Adds what stands beside a `$ref`: everything since 3.1 and in Discovery, annotations before.
    fn siblings(&mut self, node: &Node<'a>, out: &mut Map<String, Value>, depth: usize) {
        let Some(members) = node.value.as_object().filter(|members| members.len() > 1) else {
            return;
        };
        if matches!(self.spec_type, SpecType::Openapi31 | SpecType::Discovery) {
            let mut beside = Map::new();
            self.keywords(node, members, &mut beside, depth);
            for (key, value) in beside {
                if key == "description" || !out.contains_key(&key) {
                    out.insert(key, value);
                }
            }
            return;
        }
        if let Some(text) = members.get("description").and_then(Value::as_str) {
            self.describe(out, text, depth);
        }
        if let Some(default) = members.get("default") {
            out.insert("default".to_owned(), default.clone());
        }
        if is_nullable(members) {
            keywords::make_nullable(out);
        }
    }

    fn promise(&mut self, target: &Node<'a>) -> String {
        if let Some(name) = self.names.get(&address(target)) {
            return name.clone();
        }
        let base = definition_name(&target.pointer);
        let mut name = base.clone();
        let mut number = 2;
        while self.names.values().any(|known| *known == name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.names.insert(address(target), name.clone());
        self.promises.push_back(Promise { name: name.clone(), node: target.clone(), level: self.level + 1 });
        name
    }

    /// The schema at `node` with a reference at its top followed.
    fn expanded(&mut self, node: &Node<'a>, depth: usize) -> Map<String, Value> {
        if node.text("$ref").is_none() {
            return self.object(node, depth);
        }
        let Some(target) = self.target(node) else {
            return Map::new();
        };
        let mut out = match target.value {
            Value::Object(_) => self.object(&target, depth),
            _ => Map::new(),
        };
        self.siblings(node, &mut out, depth);
        out
    }

    fn object(&mut self, node: &Node<'a>, depth: usize) -> Map<String, Value> {
        let mut out = Map::new();
        let Some(members) = node.value.as_object() else {
            return out;
        };
        self.keywords(node, members, &mut out, depth);
        if let Some(parts) = node.get("allOf") {
            self.merge_parts(node, &parts, &mut out, depth);
        }
        keywords::complete(&mut out);
        if is_nullable(members) {
            keywords::make_nullable(&mut out);
        }
        out
    }

    fn merge_parts(&mut self, node: &Node<'a>, parts: &Node<'a>, out: &mut Map<String, Value>, depth: usize) {
        let here = address(node);
        if self.merging.contains(&here) || self.merging.len() >= MERGE_DEPTH {
            let place = self.documents.place(parts.document, &parts.pointer);
            self.notes.add(&place, "`allOf` contains itself and was cut");
            return;
        }
        self.merging.push(here);
        for part in parts.elements() {
            if !self.spend(8) {
                break;
            }
            let part = self.expanded(&part, depth);
            merge_into(out, part);
        }
        self.merging.pop();
    }

    fn keywords(
        &mut self,
        node: &Node<'a>,
        members: &'a Map<String, Value>,
        out: &mut Map<String, Value>,
        depth: usize,
    ) {
        for (key, value) in members {
            if !self.spend(key.len() + 6) {
                return;
            }
            match key.as_str() {
                "properties" => self.properties(node, value, out, depth),
                "items" if value.is_array() => self.list("prefixItems", node.step(key, value), out, depth),
                "prefixItems" | "anyOf" => self.list(key, node.step(key, value), out, depth),
                "oneOf" => self.list("anyOf", node.step(key, value), out, depth),
                "items" | "not" | "contains" | "propertyNames" | "if" | "then" | "else" | "additionalProperties" => {
                    if value.is_object() || value.is_boolean() {
                        let schema = self.convert_keyword(&node.step(key, value), depth + 1);
                        out.insert(key.clone(), schema);
                    }
                }
                "patternProperties" | "dependentSchemas" => {
                    self.schemas(key, node.step(key, value), out, depth);
                }
                "description" => {
                    if let Some(text) = value.as_str() {
                        self.describe(out, text, depth);
                    }
                }
                "pattern" => {
                    if let Some(text) = value.as_str().filter(|text| self.documents.is_pattern(text)) {
                        self.spend(text.len() + 2);
                        out.insert(key.clone(), json!(text));
                    } else if value.is_string() {
                        self.leave_unread(node, key);
                    }
                }
                _ => {
                    if let Some(value) = keywords::plain(key, value) {
                        self.spend(keywords::weight(&value));
                        out.insert(key.clone(), value);
                    }
                }
            }
        }
        keywords::settle(members, out);
        if depth == 0 {
            keywords::example(members, out);
        }
    }

    /// `additionalProperties: true` and the like stay booleans.
    fn convert_keyword(&mut self, node: &Node<'a>, depth: usize) -> Value {
        match node.value {
            Value::Bool(_) => node.value.clone(),
            _ => self.convert(node, depth),
        }
    }

    fn properties(&mut self, node: &Node<'a>, value: &'a Value, out: &mut Map<String, Value>, depth: usize) {
        let mut properties = Map::new();
        let mut dropped = Vec::new();
        for (name, property) in node.step("properties", value).members() {
            if !(property.value.is_object() || property.value.is_boolean()) {
                let place = self.documents.place(property.document, &property.pointer);
                self.notes.add(&place, "property without a schema left open");
            }
            if self.request && self.is_read_only(&property) {
                dropped.push(name);
                continue;
            }
            self.spend(name.len() + 4);
            properties.insert(name.to_owned(), self.convert(&property, depth + 1));
        }
        if properties.is_empty() && dropped.is_empty() {
            return;
        }
        out.insert("properties".to_owned(), Value::Object(properties));
        if !dropped.is_empty() {
            out.insert(keywords::DROPPED.to_owned(), json!(dropped));
        }
    }

    fn is_read_only(&self, property: &Node<'a>) -> bool {
        if property.flag("readOnly") {
            return true;
        }
        property.text("$ref").is_some()
            && self.documents.resolve(property.clone()).is_ok_and(|target| target.flag("readOnly"))
    }

    fn list(&mut self, keyword: &str, list: Node<'a>, out: &mut Map<String, Value>, depth: usize) {
        let mut schemas = Vec::new();
        for element in list.elements() {
            schemas.push(self.convert(&element, depth + 1));
        }
        if schemas.is_empty() {
            return;
        }
        if out.contains_key(keyword) {
            merge_into(out, Map::from_iter([(keyword.to_owned(), Value::Array(schemas))]));
        } else {
            out.insert(keyword.to_owned(), Value::Array(schemas));
        }
    }

    fn schemas(&mut self, keyword: &str, map: Node<'a>, out: &mut Map<String, Value>, depth: usize) {
        let mut schemas = Map::new();
        for (key, schema) in map.members() {
            if keyword == "dependentSchemas" || self.documents.is_pattern(key) {
                schemas.insert(key.to_owned(), self.convert(&schema, depth + 1));
            } else {
                self.leave_unread(&schema, "");
            }
        }
        if !schemas.is_empty() {
            out.insert(keyword.to_owned(), Value::Object(schemas));
        }
    }

    /// Remembers a pattern that is left out; a description with more of them than this says enough of it.
    fn leave_unread(&mut self, node: &Node<'_>, key: &str) {
        if self.unread.len() < MOST_UNREAD {
            let pointer = if key.is_empty() { node.pointer.clone() } else { format!("{}/{key}", node.pointer) };
            self.unread.insert(self.documents.place(node.document, &pointer));
        }
    }

    fn describe(&mut self, out: &mut Map<String, Value>, text: &str, depth: usize) {
        let most = if depth <= 1 && self.level == 0 { self.detail.top_prose } else { self.detail.nested_prose };
        let text = crate::prose::capped(text, most);
        if !text.is_empty() {
            self.spend(text.len());
            out.insert("description".to_owned(), Value::String(text));
        }
    }
}

/// Identity of a source schema: documents do not move while they are walked.
fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node.value).addr()
}

fn is_nullable(members: &Map<String, Value>) -> bool {
    ["nullable", "x-nullable"].iter().any(|key| members.get(*key) == Some(&Value::Bool(true)))
}

/// Whether a schema is worth a definition of its own.
fn is_complex(members: &Map<String, Value>) -> bool {
    let complex = [
        "properties",
        "items",
        "prefixItems",
        "allOf",
        "anyOf",
        "oneOf",
        "patternProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "dependentSchemas",
    ];
    complex.iter().any(|key| members.contains_key(*key))
        || members.get("additionalProperties").is_some_and(Value::is_object)
}

fn definition_name(pointer: &str) -> String {
    let last = pointer.rsplit('/').next().unwrap_or("");
    let mut name: String = rote_types::unescape_token(last)
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' })
        .take(64)
        .collect();
    if name.is_empty() || name.chars().all(|c| c.is_ascii_digit()) || matches!(name.as_str(), "schema" | "items") {
        name = format!("Schema_{name}").trim_end_matches('_').to_owned();
    }
    name
}
