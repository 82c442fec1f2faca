//! One method: the operations that it is, in the walker's shape.

use std::collections::HashMap;

use rote_types::Method;
use serde_json::{Map, Value, json};

use crate::discovery::media::{self, Upload};
use crate::discovery::parameters::{self, Parameter};
use crate::discovery::route::Route;
use crate::discovery::schema;
use crate::notices::{Notes, Notices};
use crate::openapi::Node;

/// The credential slot for an access token of OAuth 2, by the name that Discovery gives it.
pub(crate) const OAUTH: &str = "oauth2";
/// The credential slot for an API key, by the name of its parameter.
pub(crate) const API_KEY: &str = "key";

/// Where the translated document has what each method requires of a schema.
pub(crate) const REQUIREMENTS: &str = "requirements";
/// Where it has `alt` for methods that give content.
pub(crate) const DOWNLOAD: &str = "download";

/// The methods of HTTP that the walker knows, with their keys in a path item.
const METHODS: [(Method, &str); 8] = [
    (Method::Get, "get"),
    (Method::Put, "put"),
    (Method::Post, "post"),
    (Method::Delete, "delete"),
    (Method::Options, "options"),
    (Method::Head, "head"),
    (Method::Patch, "patch"),
    (Method::Trace, "trace"),
];

/// What all methods of a document share.
pub(crate) struct Surroundings<'a> {
    pub(crate) common: Vec<Parameter>,
    /// Where uploads go; they are not below the path of the service.
    pub(crate) root_url: Option<&'a str>,
    pub(crate) has_key: bool,
    pub(crate) has_oauth: bool,
    pub(crate) requirements: Requirements<'a>,
}

/// Named schema → method → properties that the method requires of it (`annotations.required`).
pub(crate) struct Requirements<'a>(HashMap<&'a str, HashMap<&'a str, Vec<&'a str>>>);

impl<'a> Requirements<'a> {
    /// Collects them once: many methods share a schema.
    pub(crate) fn of(root: &'a Value) -> Self {
        let mut all: HashMap<&str, HashMap<&str, Vec<&str>>> = HashMap::new();
        for (schema, value) in root["schemas"].as_object().into_iter().flatten() {
            for (name, property) in value["properties"].as_object().into_iter().flatten() {
                let asking = property["annotations"]["required"].as_array().into_iter().flatten();
                for method in asking.filter_map(Value::as_str) {
                    all.entry(schema).or_default().entry(method).or_default().push(name);
                }
            }
        }
        Self(all)
    }

    /// The schemas that methods add to the named ones, below the key [`REQUIREMENTS`].
    pub(crate) fn schemas(&self) -> Value {
        let of = |methods: &HashMap<&str, Vec<&str>>| -> Map<String, Value> {
            methods.iter().map(|(method, names)| ((*method).to_owned(), json!({"required": names}))).collect()
        };
        self.0.iter().map(|(schema, methods)| ((*schema).to_owned(), Value::Object(of(methods)))).collect()
    }

    fn ask(&self, schema: &str, method: &str) -> bool {
        self.0.get(schema).is_some_and(|methods| methods.contains_key(method))
    }
}

/// A method whose address is known.
pub(crate) struct Declared<'a> {
    pub(crate) node: Node<'a>,
    pub(crate) id: String,
    pub(crate) key: &'static str,
    pub(crate) path: &'a str,
    /// The resources around it, outermost first.
    pub(crate) tag: String,
}

/// Returns the method and its key, if the walker knows it.
pub(crate) fn known(name: &str) -> Option<(Method, &'static str)> {
    METHODS.into_iter().find(|(method, _)| method.as_str().eq_ignore_ascii_case(name))
}

/// One operation in the walker's shape, and where its parts stand.
pub(crate) struct Draft {
    pub(crate) id: String,
    pub(crate) key: &'static str,
    /// Starts with `/`.
    pub(crate) path: String,
    pub(crate) value: Value,
    /// The place of the whole.
    pub(crate) place: String,
    /// Places of its parts, by their pointers below it.
    pub(crate) places: Vec<(String, String)>,
    pub(crate) notes: Notes,
}

impl<'a> Declared<'a> {
    /// Returns the operations of this method: itself and its forms of upload.
    pub(crate) fn drafts(&self, around: &Surroundings<'a>, notes: Notes, notices: &Notices) -> Vec<Draft> {
        let route = Route::of(&self.node, self.path, &notes);
        if !route.segments.is_empty() {
            notices.tally(
                &self.node.pointer,
                "path parameters of several segments are given by their segments, as `flatPath` names them",
            );
        }
        let mut drafts = vec![self.itself(around, &route, notes, notices)];
        for upload in media::uploads(&self.node, notices) {
            let left_out = |why: &str| notices.warn(&upload.place, format!("media upload is left out: {why}"));
            match (around.root_url, route.below(self.path, upload.path)) {
                (Some(root), Some(path)) => drafts.push(self.upload(around, &route, &upload, (root, &path), notices)),
                (None, _) => left_out("the document has no `rootUrl`"),
                (_, None) => left_out("its path does not end as the method's own"),
            }
        }
        drafts
    }

    fn itself(&self, around: &Surroundings<'a>, route: &Route, notes: Notes, notices: &Notices) -> Draft {
        let path = format!("/{}", route.path);
        let mut draft = self.draft(around, route, path, notes, notices);
        if let Some((schema, required)) = self.body(around, &draft.notes) {
            draft.value["requestBody"] =
                json!({"required": required, "content": {"application/json": {"schema": schema}}});
            draft.places.push(("/requestBody".to_owned(), format!("{}/request", self.node.pointer)));
        }
        draft
    }

    fn upload(
        &self,
        around: &Surroundings<'a>,
        route: &Route,
        upload: &Upload<'_>,
        (root, path): (&str, &str),
        notices: &Notices,
    ) -> Draft {
        let path = format!("/{path}?uploadType={}", upload.kind);
        let mut draft = self.draft(around, route, path, Notes::default(), notices);
        draft.id = format!("{}_{}", self.id, upload.kind);
        draft.value["operationId"] = json!(draft.id);
        let said = match upload.kind {
            "media" => "Upload form: the body is the content; no metadata is sent.",
            _ => "Upload form: `metadata` and the content `media` are sent together.",
        };
        draft.value["description"] = json!(format!("{}\n\n{said}", self.node.text("description").unwrap_or("")).trim());
        let metadata = self.body(around, &draft.notes).map(|(schema, _)| schema);
        draft.value["requestBody"] = upload.body(metadata);
        draft.places.push(("/requestBody".to_owned(), format!("{}/mediaUpload", self.node.pointer)));
        draft.value["servers"] = json!([{"url": root}]);
        draft.place.clone_from(&upload.place);
        draft
    }

    /// The schema of the body, and whether the method requires anything of it: where nothing is, the body may be left out.
    fn body(&self, around: &Surroundings<'a>, notes: &Notes) -> Option<(Value, bool)> {
        let request = self.node.get("request")?;
        let Some(name) = request.text("$ref") else {
            notes.add(&request.pointer, "request body without `$ref` taken as any JSON");
            return Some((json!({}), false));
        };
        let named = schema::reference(&["schemas", name]);
        if !around.requirements.ask(name, &self.id) {
            return Some((named, false));
        }
        Some((json!({"allOf": [named, schema::reference(&[REQUIREMENTS, name, &self.id])]}), true))
    }

    /// What the method and its forms of upload share.
    fn draft(&self, around: &Surroundings<'a>, route: &Route, path: String, notes: Notes, notices: &Notices) -> Draft {
        let mut all = parameters::own(&self.node, route, &notes, notices);
        let is_download = self.node.flag("supportsMediaDownload");
        let common = around.common.iter().map(|one| (one.name.as_str(), one));
        for (name, one) in common.filter(|(name, _)| !(is_download && *name == "alt")) {
            if !all.iter().any(|own| own.name == name && own.value["in"] == one.value["in"]) {
                let value = schema::reference(&["parameters", name]);
                all.push(Parameter { name: name.to_owned(), value, place: one.place.clone() });
            }
        }
        if is_download && !all.iter().any(|own| own.name == "alt") {
            let (value, place) = (schema::reference(&[DOWNLOAD, "alt"]), "/parameters/alt".to_owned());
            all.push(Parameter { name: "alt".to_owned(), value, place });
        }
        let mut places = vec![("/responses".to_owned(), format!("{}/response", self.node.pointer))];
        let listed = all.iter().enumerate();
        places.extend(listed.map(|(index, one)| (format!("/parameters/{index}"), one.place.clone())));
        let values: Vec<Value> = all.into_iter().map(|one| one.value).collect();
        let mut value = Map::from_iter([
            ("operationId".to_owned(), json!(self.id)),
            ("parameters".to_owned(), Value::Array(values)),
            ("responses".to_owned(), json!({"200": {"content": self.answers(is_download)}})),
        ]);
        if !self.tag.is_empty() {
            value.insert("tags".to_owned(), json!([self.tag]));
        }
        if let Some(said) = self.node.text("description") {
            value.insert("description".to_owned(), json!(said));
        }
        if self.node.flag("deprecated") {
            value.insert("deprecated".to_owned(), json!(true));
        }
        if let Some(security) = self.security(around) {
            value.insert("security".to_owned(), security);
        }
        let (id, place) = (self.id.clone(), self.node.pointer.clone());
        Draft { id, key: self.key, path, value: Value::Object(value), place, places, notes }
    }

    fn answers(&self, is_download: bool) -> Value {
        let mut content = Map::new();
        if let Some(name) = self.node.get("response").and_then(|response| response.text("$ref")) {
            content.insert("application/json".to_owned(), json!({"schema": schema::reference(&["schemas", name])}));
        }
        if is_download {
            content.insert("*/*".to_owned(), json!({}));
        }
        Value::Object(content)
    }

    /// Where a document has API keys, one is an alternative to a token, as it says of `key`; a method without scopes takes either, or
    /// nothing. All scopes stand in one requirement, although one is enough: which of them a token has, only the server knows.
    fn security(&self, around: &Surroundings<'a>) -> Option<Value> {
        let scopes = scopes(&self.node);
        let by_token = !scopes.is_empty() || around.has_key && around.has_oauth;
        let mut ways: Vec<Value> = by_token.then(|| json!({OAUTH: scopes})).into_iter().collect();
        if around.has_key {
            ways.push(json!({API_KEY: []}));
            ways.extend(scopes.is_empty().then(|| json!({})));
        }
        (!ways.is_empty()).then_some(Value::Array(ways))
    }
}

/// The scopes of a method, any of which lets it be called.
pub(crate) fn scopes<'a>(method: &Node<'a>) -> Vec<&'a str> {
    let listed = method.value.get("scopes").and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str).collect()
}
