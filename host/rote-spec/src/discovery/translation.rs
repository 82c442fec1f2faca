//! The whole document: resources walked, each method placed, the rest of the document in the walker's shape.

use std::collections::HashMap;

use rote_types::escape_token;
use serde_json::{Map, Value, json};

use crate::discovery::method::{
    API_KEY, DOWNLOAD, Declared, Draft, OAUTH, REQUIREMENTS, Requirements, Surroundings, known, scopes,
};
use crate::discovery::{MOST_PLACE, media, parameters, schema};
use crate::names::Claim;
use crate::notices::{Notes, Notices};
use crate::openapi::{Node, Origins};
use crate::prose::capped;
use crate::{Found, Skipped, SpecError, SpecLimits};

/// Most characters of a name that is made of the resources around a method.
const MOST_DERIVED: usize = 200;

/// A document in the walker's shape, and what was noticed of single methods.
pub(crate) struct Translation {
    pub(crate) document: Value,
    pub(crate) origins: Origins,
    /// Place of an operation → what was mended of it here.
    pub(crate) notes: HashMap<String, Vec<String>>,
    pub(crate) skipped: Vec<Skipped>,
}

/// Translates a document.
///
/// # Errors
/// [`SpecError::Limit`] when it has too many methods.
pub(crate) fn translate(found: &Found<'_>, limits: &SpecLimits, notices: &Notices) -> Result<Translation, SpecError> {
    let root = Node { document: 0, pointer: String::new(), value: &found.value };
    let around = Surroundings {
        common: parameters::common(&root, notices),
        root_url: root_url(&root),
        has_key: root.get("parameters").and_then(|all| all.get(API_KEY)).is_some_and(|key| key.value.is_object()),
        has_oauth: root.value.pointer("/auth/oauth2").is_some_and(Value::is_object),
        requirements: Requirements::of(&found.value),
    };
    report_ignored(&root, notices);
    let mut walk = Walk::new(found.name, root.text("name").unwrap_or("api"), limits, notices, &around);
    walk.resource(&root, &mut Vec::new())?;
    if walk.count == 0 {
        notices.warn("/", "the document has no methods");
    }
    let has_scopes = walk.has_scopes || around.has_oauth;
    let (paths, notes, skipped, mut origins) = (walk.paths, walk.notes, walk.skipped, walk.origins);
    let mut schemes = Map::new();
    if has_scopes {
        schemes.insert(OAUTH.to_owned(), json!({"type": "oauth2"}));
        origins.add(format!("/components/securitySchemes/{OAUTH}"), "/auth/oauth2".to_owned());
    }
    if around.has_key {
        schemes.insert(API_KEY.to_owned(), json!({"type": "apiKey", "in": "query", "name": API_KEY}));
        origins.add(format!("/components/securitySchemes/{API_KEY}"), "/parameters/key".to_owned());
    }
    origins.add("/info".to_owned(), "/title".to_owned());
    origins.add(format!("/{REQUIREMENTS}"), "/schemas".to_owned());
    origins.add(format!("/{DOWNLOAD}"), "/parameters/alt".to_owned());
    let alt = media::alternative(around.common.iter().find(|one| one.name == "alt").map(|one| &one.value));
    let requirements = around.requirements.schemas();
    let common: Map<String, Value> = around.common.into_iter().map(|one| (one.name, one.value)).collect();
    let document = json!({
        "info": info(&root), "servers": servers(&root, &mut origins), "paths": paths,
        "parameters": common, "components": {"securitySchemes": schemes}, "schemas": schema::named(&root, notices),
        REQUIREMENTS: requirements, DOWNLOAD: {"alt": alt},
    });
    Ok(Translation { document, origins, notes, skipped })
}

/// Reports the parts of a document that become nothing.
fn report_ignored(root: &Node<'_>, notices: &Notices) {
    if root.text("batchPath").is_some() {
        notices.info("/batchPath", "`batchPath` is ignored: each call is a request of its own");
    }
    let features = root.get("features");
    if features.is_some_and(|list| list.elements().any(|one| one.value == "dataWrapper")) {
        notices.warn("/features", "`dataWrapper` is ignored: bodies are sent without `data` around them");
    }
}

fn info(root: &Node<'_>) -> Value {
    let title = ["title", "canonicalName", "name", "id"].into_iter().find_map(|key| root.text(key));
    json!({"title": title.unwrap_or(""), "version": root.text("version").unwrap_or(""),
           "description": root.text("description").unwrap_or("")})
}

/// The root of the API, below which both the service and its uploads lie.
fn root_url<'a>(root: &Node<'a>) -> Option<&'a str> {
    root.text("rootUrl").filter(|url| !url.is_empty())
}

/// The base URL first, then the regional ones.
fn servers(root: &Node<'_>, origins: &mut Origins) -> Value {
    let service = root.text("servicePath").unwrap_or("").trim_matches('/').to_owned();
    let below = |url: &str| format!("{}/{service}", url.trim_end_matches('/'));
    let (base, place) = match (root_url(root), root.text("baseUrl")) {
        (Some(url), _) => (json!({"url": below(url)}), "/rootUrl"),
        (None, Some(url)) => (json!({"url": url}), "/baseUrl"),
        // A server without a URL is left out with a warning; none at all would be the place where the document was found.
        (None, None) => (json!({}), "/rootUrl"),
    };
    let mut all = vec![base];
    origins.add("/servers".to_owned(), place.to_owned());
    for endpoint in root.get("endpoints").iter().flat_map(|list| list.elements().collect::<Vec<_>>()) {
        if let Some(url) = endpoint.text("endpointUrl") {
            origins.add(format!("/servers/{}", all.len()), endpoint.pointer.clone());
            let said = [endpoint.text("location"), endpoint.text("description")];
            let said: Vec<&str> = said.into_iter().flatten().filter(|text| !text.is_empty()).collect();
            all.push(json!({"url": below(url), "description": said.join(": ")}));
        }
    }
    Value::Array(all)
}

/// The walk over resources and methods.
struct Walk<'a, 'w> {
    document: &'w str,
    /// The name of the API, with which each id begins.
    api: &'a str,
    limits: &'w SpecLimits,
    notices: &'w Notices,
    around: &'w Surroundings<'a>,
    /// Operations that were met.
    count: usize,
    /// Fragments that were numbered; never the same twice, so that nothing is counted through again.
    number: usize,
    has_scopes: bool,
    paths: Map<String, Value>,
    notes: HashMap<String, Vec<String>>,
    skipped: Vec<Skipped>,
    origins: Origins,
}

impl<'a, 'w> Walk<'a, 'w> {
    fn new(
        document: &'w str,
        api: &'a str,
        limits: &'w SpecLimits,
        notices: &'w Notices,
        around: &'w Surroundings<'a>,
    ) -> Self {
        Self {
            document,
            api,
            limits,
            notices,
            around,
            count: 0,
            number: 0,
            has_scopes: false,
            paths: Map::new(),
            notes: HashMap::new(),
            skipped: Vec::new(),
            origins: Origins::default(),
        }
    }

    /// Reads the methods of a resource, and the resources within it; the document itself is the outermost.
    fn resource(&mut self, node: &Node<'a>, trail: &mut Vec<&'a str>) -> Result<(), SpecError> {
        for key in ["methods", "resources"] {
            if let Some(odd) = node.get(key).filter(|list| !list.value.is_object()) {
                self.notices.warn(&odd.pointer, format!("`{key}` is not an object"));
            }
        }
        for (key, method) in node.get("methods").iter().flat_map(|all| all.members().collect::<Vec<_>>()) {
            self.within(method.pointer.len(), MOST_PLACE, "bytes of the place of a method")?;
            self.count += self.method(method, trail, key);
            self.within(self.count, self.limits.operations, "operations")?;
        }
        // INVARIANT: as deep as the document, which the parser keeps within `SpecLimits::depth`.
        for (name, resource) in node.get("resources").iter().flat_map(|all| all.members().collect::<Vec<_>>()) {
            if !resource.value.is_object() {
                self.notices.warn(&resource.pointer, "the resource is not an object");
            }
            self.within(resource.pointer.len(), MOST_PLACE, "bytes of the place of a resource")?;
            trail.push(name);
            self.resource(&resource, trail)?;
            trail.pop();
        }
        Ok(())
    }

    fn within(&self, count: usize, most: usize, what: &str) -> Result<(), SpecError> {
        if count <= most {
            return Ok(());
        }
        Err(SpecError::Limit { name: self.document.to_owned(), limit: format!("more than {most} {what}") })
    }

    /// Reads one method; returns how many operations it is.
    fn method(&mut self, node: Node<'a>, trail: &[&'a str], key: &str) -> usize {
        let notes = Notes::default();
        let id = node.text("id").map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned);
        let id = id.unwrap_or_else(|| {
            notes.add(&node.pointer, "the method has no `id`; it is named by the resources around it");
            capped(&[&[self.api], trail, &[key]].concat().join("."), MOST_DERIVED)
        });
        let path = node.text("path").filter(|path| !path.trim().is_empty());
        let verb = node.text("httpMethod").unwrap_or("");
        let reason = match (known(verb), path) {
            (Some((_, key)), Some(path)) => {
                self.has_scopes |= !scopes(&node).is_empty();
                let tag = capped(&trail.join(" "), MOST_DERIVED);
                // A fragment is never sent; ours alone tell paths apart.
                let path = path.split('#').next().unwrap_or("");
                let drafts = Declared { node, id, key, path, tag }.drafts(self.around, notes, self.notices);
                let count = drafts.len();
                drafts.into_iter().for_each(|draft| self.place(draft));
                return count;
            }
            _ if !node.value.is_object() => "the method is not an object".to_owned(),
            (_, None) => "the method has no `path`".to_owned(),
            (None, _) if verb.is_empty() => "the method has no `httpMethod`".to_owned(),
            (None, _) => format!("method `{}` is not supported", capped(verb, 40)),
        };
        let (path, method) = (path.unwrap_or("").to_owned(), known(verb).map(|(method, _)| method));
        let name = Claim { operation_id: Some(id), ..Claim::default() }.natural();
        self.skipped.push(Skipped { name, method, path, pointer: node.pointer, reason });
        1
    }

    /// Puts an operation below its path. Where another one has the same path and method, a fragment tells them apart; it is never sent.
    fn place(&mut self, draft: Draft) {
        let mut path = draft.path.clone();
        if self.is_taken(&path, draft.key) {
            path = format!("{}#{}", draft.path, draft.id);
        }
        while self.is_taken(&path, draft.key) {
            self.number += 1;
            path = format!("{}#{}.{}", draft.path, draft.id, self.number);
        }
        let pointer = format!("/paths/{}/{}", escape_token(&path), draft.key);
        for (part, place) in draft.places {
            self.origins.add(format!("{pointer}{part}"), place);
        }
        self.origins.add(pointer, draft.place.clone());
        self.notes.insert(draft.place, draft.notes.finish());
        let item = self.paths.entry(path).or_insert_with(|| json!({}));
        item[draft.key] = draft.value;
    }

    fn is_taken(&self, path: &str, key: &str) -> bool {
        self.paths.get(path).is_some_and(|item| item.get(key).is_some())
    }
}
