//! Where requests go: `servers` of OpenAPI 3, `host`, `basePath` and `schemes` of Swagger 2.
//!
//! A URL that comes out is absolute HTTP(S) without query, fragment, credentials and trailing slash; a server
//! that is only a path stays one when nothing says on which host the document was found.

use rote_types::SpecType;
use serde_json::Value;
use url::Url;

use crate::ServerChoice;
use crate::notices::{Notes, Notices};
use crate::openapi::documents::{Documents, Node};
use crate::openapi::reference::as_url;
use crate::prose::capped;

/// Most servers of one list that are read.
const MOST_SERVERS: usize = 64;

/// Reads the document's servers, the default one first.
pub(crate) fn of_document(documents: &Documents, spec_type: SpecType, notices: &Notices) -> Vec<ServerChoice> {
    let root = documents.root();
    let origin = as_url(documents.first_name()).filter(is_web);
    if spec_type == SpecType::Swagger2 {
        return of_swagger(&root, origin.as_ref(), notices);
    }
    let mut choices: Vec<ServerChoice> = Vec::new();
    let servers = root.get("servers");
    for server in servers.iter().flat_map(|list| list.elements().take(MOST_SERVERS).collect::<Vec<_>>()) {
        let place = documents.place(server.document, &server.pointer);
        match read(&server, origin.as_ref()) {
            Ok(url) if choices.iter().any(|known| known.url == url) => {}
            Ok(url) if url == "/" => notices.info(&place, "server `/` names no host"),
            Ok(url) => choices.push(choice(url, &server, place)),
            Err(reason) => notices.warn(&place, format!("server left out: {reason}")),
        }
    }
    if servers.is_none_or(|list| list.elements().next().is_none())
        && let Some(origin) = origin
    {
        // OpenAPI 3: without `servers`, the server is `/` relative to the document.
        let url = origin.join("/").map_or_else(|_| String::new(), |url| tidy(&url));
        choices.push(ServerChoice { url, description: String::new(), pointer: "/".to_owned() });
    }
    choices
}

/// Reads the servers of a path item or an operation. `None` means that the adapter's own base applies.
pub(crate) fn of_operation(
    documents: &Documents,
    places: [&Node<'_>; 2],
    bases: &[ServerChoice],
    notes: &Notes,
) -> Option<Vec<String>> {
    let list = places.into_iter().find_map(|place| {
        let list = place.get("servers")?;
        let is_empty = list.elements().next().is_none();
        (!is_empty).then_some(list)
    })?;
    let first = as_url(documents.first_name()).filter(is_web);
    let origin = bases.first().and_then(|base| as_url(&base.url)).or(first);
    let mut urls: Vec<String> = Vec::new();
    for server in list.elements().take(MOST_SERVERS) {
        let place = documents.place(server.document, &server.pointer);
        match read(&server, origin.as_ref()) {
            Ok(url) if url.starts_with('/') => {
                notes.add(&place, format_args!("server `{url}` has no host and was left out"));
            }
            Ok(url) if urls.contains(&url) => {}
            Ok(url) => urls.push(url),
            Err(reason) => notes.add(&place, format_args!("server left out: {reason}")),
        }
    }
    let same = urls.first().zip(bases.first()).is_some_and(|(own, base)| *own == base.url);
    (!urls.is_empty() && !same).then_some(urls)
}

fn choice(url: String, server: &Node<'_>, pointer: String) -> ServerChoice {
    let description = capped(server.text("description").unwrap_or(""), 200);
    ServerChoice { url, description, pointer }
}

fn read(server: &Node<'_>, origin: Option<&Url>) -> Result<String, String> {
    let template = match server.value {
        Value::String(url) => url.as_str(),
        _ => server.text("url").ok_or("it has no `url`")?,
    };
    absolute(&substituted(template.trim(), server)?, origin)
}

/// Puts the defaults of its variables into a server's template.
fn substituted(template: &str, server: &Node<'_>) -> Result<String, String> {
    let variables = server.get("variables");
    let mut url = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, end) = after.split_once('}').ok_or_else(|| format!("`{template}` has an open brace"))?;
        let variable = variables.as_ref().and_then(|variables| variables.get(name));
        let first = variable.as_ref().and_then(|variable| variable.get("enum")?.elements().next());
        let default = variable.as_ref().and_then(|variable| variable.get("default")).or(first);
        let value = match default.as_ref().map(|default| default.value) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return Err(format!("variable `{name}` of `{template}` has no default")),
        };
        url.push_str(before);
        url.push_str(&value);
        rest = end;
    }
    url.push_str(rest);
    Ok(url)
}

fn absolute(text: &str, origin: Option<&Url>) -> Result<String, String> {
    if let Some(url) = as_url(text) {
        return if is_web(&url) { Ok(tidy(&url)) } else { Err(format!("`{}` is not HTTP", url.scheme())) };
    }
    let host = text.split(['/', '?']).next().unwrap_or("");
    if !text.starts_with('/') && !text.starts_with('.') && (host.contains('.') || host.contains(':')) {
        // `api.example.com/v1`: a host whose scheme was forgotten.
        return Url::parse(&format!("https://{text}")).map(|url| tidy(&url)).map_err(|e| format!("`{text}`: {e}"));
    }
    if let Some(origin) = origin {
        return origin.join(text).map(|url| tidy(&url)).map_err(|error| format!("`{text}`: {error}"));
    }
    if text.starts_with("//") {
        return Url::parse(&format!("https:{text}")).map(|url| tidy(&url)).map_err(|e| format!("`{text}`: {e}"));
    }
    let path = text.split(['?', '#']).next().unwrap_or("").trim_start_matches('.').trim_matches('/');
    Ok(format!("/{path}"))
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.host().is_some()
}

fn tidy(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only for URLs without a host, which `is_web` excludes.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.as_str().trim_end_matches('/').to_owned()
}

fn of_swagger(root: &Node<'_>, origin: Option<&Url>, notices: &Notices) -> Vec<ServerChoice> {
    let path = root.text("basePath").unwrap_or("/");
    let found_at = || {
        let origin = origin?;
        let port = origin.port().map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{}{port}", origin.host_str()?))
    };
    let Some(host) = root.text("host").map(str::to_owned).filter(|host| !host.is_empty()).or_else(found_at) else {
        if path.trim_matches('/').is_empty() {
            return Vec::new();
        }
        let url = format!("/{}", path.trim_matches('/'));
        return vec![ServerChoice { url, description: String::new(), pointer: "/basePath".to_owned() }];
    };
    let declared: Vec<&str> = root.get("schemes").map_or_else(Vec::new, |list| {
        list.elements()
            .filter_map(|scheme| scheme.value.as_str())
            .filter(|one| matches!(*one, "http" | "https"))
            .collect()
    });
    let fallback = origin.map_or("https", Url::scheme);
    let mut schemes = if declared.is_empty() { vec![fallback] } else { declared };
    schemes.sort_by_key(|scheme| *scheme != "https");
    schemes.dedup();
    let mut choices = Vec::new();
    for scheme in schemes {
        let text = format!("{scheme}://{}/{}", host.trim_end_matches('/'), path.trim_start_matches('/'));
        match absolute(&text, None) {
            Ok(url) => choices.push(ServerChoice { url, description: String::new(), pointer: "/host".to_owned() }),
            Err(reason) => notices.warn("/host", format!("server left out: {reason}")),
        }
    }
    choices
}
