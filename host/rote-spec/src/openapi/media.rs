//! Media types: what kind of body each one is, and which one of several is sent.

use crate::openapi::documents::Node;

/// How a body of some media type is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Json,
    Form,
    Multipart,
    Xml,
    Text,
    JsonLines,
    Binary,
}

/// A media type without its parameters, in lower case.
pub(crate) fn essence(media: &str) -> String {
    media.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

/// Returns the kind of a media type. Ranges that admit JSON are JSON.
pub(crate) fn class(media: &str) -> Class {
    let essence = essence(media);
    let (top, sub) = essence.split_once('/').unwrap_or((essence.as_str(), ""));
    match (top, sub) {
        ("application" | "text", "json") | ("*", _) | ("application", "*" | "") => Class::Json,
        ("application", "x-www-form-urlencoded") => Class::Form,
        ("multipart", _) => Class::Multipart,
        ("application" | "text", "xml") => Class::Xml,
        (_, "x-ndjson" | "ndjson" | "jsonl" | "x-jsonlines" | "jsonlines" | "x-jsonl") => Class::JsonLines,
        (_, sub) if sub.ends_with("+json") => Class::Json,
        (_, sub) if sub.ends_with("+xml") => Class::Xml,
        ("text", _) => Class::Text,
        ("application", "yaml" | "x-yaml" | "graphql" | "javascript" | "x-sh" | "sql" | "toml" | "jwt") => Class::Text,
        _ => Class::Binary,
    }
}

/// The `Content-Type` to send for a media type that may be a range. A range of binary content stays one: the call says which
/// type its content is of.
pub(crate) fn concrete(media: &str) -> String {
    if !media.contains('*') || class(media) == Class::Binary {
        return media.trim().to_owned();
    }
    let essence = essence(media);
    match class(media) {
        Class::Multipart => "multipart/form-data",
        Class::Text => "text/plain",
        Class::Json if essence == "application/*" || essence == "*/*" => "application/json",
        _ => "application/octet-stream",
    }
    .to_owned()
}

/// Returns the index of the media type to send, of those that a body may have.
pub(crate) fn preferred<'m>(media: impl Iterator<Item = (&'m str, Option<Node<'m>>)>) -> Option<usize> {
    let ranked = media.enumerate().map(|(index, (name, schema))| (class(name), within(name, schema.as_ref()), index));
    ranked.min().map(|(_, _, index)| index)
}

/// Order among media types of one kind: the plain one first, ranges and patch formats last.
fn within(media: &str, schema: Option<&Node<'_>>) -> u8 {
    let takes_list = schema.is_some_and(|schema| schema.text("type") == Some("array"));
    match essence(media).as_str() {
        "application/json" | "application/xml" | "text/plain" | "multipart/form-data" => 0,
        "application/json-patch+json" => {
            if takes_list {
                1
            } else {
                6
            }
        }
        "application/merge-patch+json" => 4,
        "application/strategic-merge-patch+json" => 5,
        other if other.contains('*') => 7,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_have_their_kinds() {
        let cases = [
            ("application/json; charset=utf-8", Class::Json),
            ("application/vnd.github+json", Class::Json),
            ("*/*", Class::Json),
            ("application/x-www-form-urlencoded", Class::Form),
            ("multipart/related", Class::Multipart),
            ("application/soap+xml", Class::Xml),
            ("text/csv", Class::Text),
            ("application/x-ndjson", Class::JsonLines),
            ("image/*", Class::Binary),
            ("application/octet-stream", Class::Binary),
            ("", Class::Binary),
        ];
        for (media, expected) in cases {
            assert_eq!(class(media), expected, "{media}");
        }
        assert_eq!(concrete("*/*"), "application/json");
        assert_eq!(concrete("image/*"), "image/*");
    }

    #[test]
    fn json_is_preferred_then_form_then_multipart() {
        let pick = |media: &[&'static str]| media[preferred(media.iter().map(|one| (*one, None))).unwrap()];
        assert_eq!(pick(&["multipart/form-data", "application/json"]), "application/json");
        assert_eq!(
            pick(&["application/json-patch+json", "application/merge-patch+json"]),
            "application/merge-patch+json"
        );
        assert_eq!(pick(&["image/png", "text/plain", "application/xml"]), "application/xml");
        assert_eq!(pick(&["*/*", "application/vnd.x+json"]), "application/vnd.x+json");
    }
}
