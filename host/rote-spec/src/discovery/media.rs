//! Media: what a method gives as it is, and the forms in which it takes content.
//!
//! An upload has another path and another body than the method itself, so each form is a tool of its own, named by the method and by the value
//! of `uploadType` (`drive.files.create_media`): the verb stays in the last part, where access is read from it. The resumable protocol
//! is several requests that depend on headers of answers; it becomes no tool.

use serde_json::{Value, json};

use crate::notices::Notices;
use crate::openapi::{Class, Node, class};

const RESUMABLE: &str =
    "resumable upload is left out: it is several requests in one; the upload tools send the content in one request";

/// Content of any type. A range is not sent: the caller's `content_type` is, or else `application/octet-stream`. `*/*` would be read as JSON.
const ANY: &str = "content/*";

/// One form of upload.
#[derive(Debug)]
pub(crate) struct Upload<'a> {
    /// The value of `uploadType`, and the end of the tool's name.
    pub(crate) kind: &'static str,
    /// The path below the root of the API.
    pub(crate) path: &'a str,
    pub(crate) place: String,
    /// The one type that is taken, or a range.
    accepted: String,
}

/// Returns the forms of upload that can be a request each.
pub(crate) fn uploads<'a>(method: &Node<'a>, notices: &Notices) -> Vec<Upload<'a>> {
    let Some(media) = method.get("mediaUpload").filter(|_| method.flag("supportsMediaUpload")) else {
        if method.flag("supportsMediaUpload") {
            notices.warn(&method.pointer, "media upload is left out: the method has no `mediaUpload`");
        }
        return Vec::new();
    };
    let protocols = media.get("protocols");
    let protocol = |name: &str| protocols.as_ref().and_then(|all| all.get(name));
    if let Some(resumable) = protocol("resumable") {
        notices.tally(&resumable.pointer, RESUMABLE);
    }
    let Some(simple) = protocol("simple") else { return Vec::new() };
    let Some(path) = simple.text("path").filter(|path| !path.is_empty() && !path.contains("://")) else {
        notices.warn(&simple.pointer, "media upload is left out: it has no `path` below the root of the API");
        return Vec::new();
    };
    let accepted = accepted(&media);
    let form = |kind, place| Upload { kind, path, place, accepted: accepted.clone() };
    let mut all = vec![form("media", simple.pointer.clone())];
    if simple.flag("multipart") && method.get("request").is_some() {
        all.push(form("multipart", format!("{}/multipart", simple.pointer)));
    }
    all
}

/// The type of the content: the one that is taken, else a range that the caller narrows with `content_type`.
fn accepted(media: &Node<'_>) -> String {
    let listed: Vec<&str> = media
        .get("accept")
        .map_or_else(Vec::new, |list| list.elements().filter_map(|one| one.value.as_str()).map(str::trim).collect());
    match listed.as_slice() {
        // What `message/*` means in mail; the server refuses `application/octet-stream` there.
        ["message/*"] => "message/rfc822".to_owned(),
        [one] if class(one) == Class::Binary && one.contains('/') => (*one).to_owned(),
        _ => ANY.to_owned(),
    }
}

impl Upload<'_> {
    /// The body of this form; `metadata` is the schema of the method's own body.
    pub(crate) fn body(&self, metadata: Option<Value>) -> Value {
        let content = json!({"type": "string", "format": "binary", "description": "The content."});
        if self.kind == "media" {
            return json!({"required": true, "content": {self.accepted.as_str(): {"schema": content}}});
        }
        let metadata = json!({"allOf": [metadata, {"type": "object"}]});
        // RFC 2387: the first part is the root, which Google reads as the metadata.
        let schema = json!({"type": "object", "properties": {"metadata": metadata, "media": content},
                            "required": ["metadata", "media"]});
        let mut encoding = json!({"metadata": {"contentType": "application/json; charset=UTF-8"}});
        if !self.accepted.contains('*') {
            encoding["media"] = json!({"contentType": self.accepted});
        }
        json!({"required": true, "content": {"multipart/related": {"schema": schema, "encoding": encoding}}})
    }
}

/// Lets `alt` ask for the content itself, in the shape of a parameter; one that takes any text does already.
pub(crate) fn alternative(common: Option<&Value>) -> Value {
    let json = json!({"name": "alt", "in": "query", "schema": {"type": "string", "enum": ["json"], "default": "json"}});
    let mut parameter = common.cloned().unwrap_or(json);
    let media = json!("media");
    let said = parameter["description"].as_str().unwrap_or("").to_owned();
    if let Some(values) = parameter.pointer_mut("/schema/enum").and_then(Value::as_array_mut)
        && !values.contains(&media)
    {
        values.push(media);
        parameter["description"] = json!(format!("{said}\n- `media`: the content itself").trim_start());
    }
    parameter
}
