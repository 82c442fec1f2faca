//! Names of documents and places in them: RFC 3986 references and RFC 6901 pointers.

use percent_encoding::percent_decode_str;
use rote_types::unescape_token;
use serde_json::Value;
use url::Url;

/// Splits a reference into the absolute name of its document and the decoded fragment. A name is a URL when
/// `base` is one or the reference has a scheme, else a path with `.` and `..` taken out.
pub(crate) fn absolute(base: &str, reference: &str) -> (String, String) {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let fragment = percent_decode_str(fragment).decode_utf8_lossy().into_owned();
    if document.is_empty() {
        return (base.to_owned(), fragment);
    }
    if let Some(mut base) = as_url(base) {
        base.set_fragment(None);
        let name = base.join(document).map_or_else(|_| document.to_owned(), String::from);
        return (name, fragment);
    }
    if as_url(document).is_some() || document.starts_with("//") {
        return (document.to_owned(), fragment);
    }
    let path = percent_decode_str(document).decode_utf8_lossy();
    (join_path(base, &path), fragment)
}

/// Returns the name as a URL when it has a scheme that is longer than a drive letter.
pub(crate) fn as_url(name: &str) -> Option<Url> {
    let url = Url::parse(name).ok()?;
    (url.scheme().len() > 1 && !url.cannot_be_a_base()).then_some(url)
}

fn join_path(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let rooted = path.starts_with('/') || base.starts_with('/');
    if !path.starts_with('/') {
        parts.extend(base.split('/').filter(|part| !part.is_empty()));
        parts.pop();
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if rooted { format!("/{joined}") } else { joined }
}

/// Returns the child of an object or array that a pointer token names.
pub(crate) fn child<'a>(value: &'a Value, token: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(&*unescape_token(token)).or_else(|| object.get(token)),
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_against_the_referring_document() {
        let cases = [
            ("/a/b/api.yaml", "#/x~1y", "/a/b/api.yaml", "/x~1y"),
            ("/a/b/api.yaml", "paths/c.yaml#/z", "/a/b/paths/c.yaml", "/z"),
            ("/a/b/api.yaml", "../d%20e.json", "/a/d e.json", ""),
            ("/a/api.yaml", "../../../../etc/passwd", "/etc/passwd", ""),
            ("api.yaml", "../x.yaml", "../x.yaml", ""),
            ("/a/api.yaml", "http://169.254.169.254/latest", "http://169.254.169.254/latest", ""),
            ("/a/api.yaml", "file:///etc/passwd", "file:///etc/passwd", ""),
            ("https://h.example/s/api.json", "x.json#/a", "https://h.example/s/x.json", "/a"),
            ("https://h.example/s/api.json", "//other/x.json", "https://other/x.json", ""),
            ("/a/api.yaml", "#/paths/%7Bid%7D", "/a/api.yaml", "/paths/{id}"),
        ];
        for (base, reference, name, fragment) in cases {
            assert_eq!(absolute(base, reference), (name.to_owned(), fragment.to_owned()), "{reference}");
        }
    }
}
