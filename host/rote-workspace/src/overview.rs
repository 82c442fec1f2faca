//! The short overview of a body: its shape in one line, and the first rows of the list that it is about.

use rote_types::is_hidden;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::skim::{self, items, length, members, type_of};
use crate::{Body, JsonType, StoredResponse};

/// Keys that name one thing; an object that wraps a list has none of them.
const IDENTITIES: [&str; 6] = ["id", "number", "key", "uuid", "name", "title"];
/// Keys named in the one-line shape.
const SHAPE_KEYS: usize = 8;
/// Longest row of an overview, in characters.
const ROW_CHARS: usize = 110;
/// Longest key of the shape, and longest text of a row's field, in characters.
const PART_CHARS: usize = 40;

/// What the short human line of a call shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// The shape in one line, such as `array[30] of {id, name, owner{…}, …}`.
    pub shape: String,
    /// The first rows, each one line.
    pub rows: Vec<String>,
}

impl StoredResponse {
    /// Returns the overview of its body with at most `rows` rows.
    #[must_use]
    pub fn overview(&self, rows: usize) -> Overview {
        match &self.body {
            Body::Json(text) => overview_of(text, rows),
            Body::Text { text, .. } => text_overview(text, rows),
            Body::Binary { sha256, bytes, .. } => {
                Overview { shape: format!("{bytes} bytes, sha256 {}…", &sha256.hex()[..12]), rows: Vec::new() }
            }
            Body::Empty => Overview { shape: "empty".to_owned(), rows: Vec::new() },
        }
    }
}

/// Returns the overview of a text that is JSON, with at most `rows` rows.
fn overview_of(json: &str, rows: usize) -> Overview {
    let list = match type_of(json) {
        JsonType::Array => Some(json),
        JsonType::Object => main_list(json),
        _ => None,
    };
    let rows = match list {
        Some(list) => first(list, rows).into_iter().map(row).collect(),
        None if type_of(json) == JsonType::Object && rows > 0 => vec![row(json)],
        None => Vec::new(),
    };
    Overview { shape: shape_line(json, 2), rows }
}

/// The first items of a list.
fn first(list: &str, count: usize) -> Vec<&str> {
    let mut first = Vec::new();
    items(list, |item| {
        if first.len() < count {
            first.push(item.get());
        }
    });
    first
}

/// The list that an object wraps: the only one, or the longest of several; nothing where the object is itself what was
/// asked for: it has an identity, and its lists, such as labels, are parts of it.
fn main_list(object: &str) -> Option<&str> {
    let (mut identified, mut scalars, mut longest) = (false, false, None::<(usize, &str)>);
    members(object, |key, value| match type_of(value.get()) {
        JsonType::String | JsonType::Number => {
            scalars = true;
            identified |= IDENTITIES.contains(&&*key);
        }
        JsonType::Array => {
            let length = length(value.get());
            if length > 0 && longest.is_none_or(|(most, _)| length >= most) {
                longest = Some((length, value.get()));
            }
        }
        _ => {}
    });
    let (_, list) = longest.filter(|_| !identified)?;
    let mut objects = false;
    items(list, |item| objects |= type_of(item.get()) == JsonType::Object);
    (objects || !scalars).then_some(list)
}

fn shape_line(json: &str, depth: usize) -> String {
    match type_of(json) {
        JsonType::Object if depth > 0 => {
            let mut keys = Vec::new();
            let count = members(json, |key, value| {
                if keys.len() < SHAPE_KEYS {
                    keys.push(key_shape(&key, value, depth));
                }
            });
            if count > SHAPE_KEYS {
                keys.push(format!("… {} more", count - SHAPE_KEYS));
            }
            format!("{{{}}}", keys.join(", "))
        }
        JsonType::Object if length(json) == 0 => "{}".to_owned(),
        JsonType::Object => "{…}".to_owned(),
        JsonType::Array => match first(json, 1).first() {
            Some(one) if depth > 0 => format!("array[{}] of {}", length(json), shape_line(one, depth - 1)),
            _ => format!("array[{}]", length(json)),
        },
        scalar => scalar.as_str().to_owned(),
    }
}

fn key_shape(key: &str, value: &RawValue, depth: usize) -> String {
    let (key, json) = (cut(&plain(key), PART_CHARS), value.get());
    match type_of(json) {
        JsonType::Object => format!("{key}{{…}}"),
        JsonType::Array => match first(json, 1).first() {
            Some(one) if depth > 1 && type_of(one) == JsonType::Object => {
                format!("{key}[{}] of {}", length(json), shape_line(one, depth - 1))
            }
            _ => format!("{key}[{}]", length(json)),
        },
        _ => key,
    }
}

/// One element as one line: its scalar fields, or the value itself.
fn row(json: &str) -> String {
    let text = match type_of(json) {
        JsonType::Object => {
            let mut scalars = Vec::new();
            members(json, |key, value| match type_of(value.get()) {
                _ if scalars.len() == SHAPE_KEYS => {}
                JsonType::Object | JsonType::Array | JsonType::Null => {}
                JsonType::String => scalars.push(format!("{key}={}", cut(&skim::text(value.get()), PART_CHARS))),
                JsonType::Number | JsonType::Boolean => scalars.push(format!("{key}={}", value.get())),
            });
            // What has nothing but objects in it, as errors of many APIs, is shown as it is.
            if scalars.is_empty() { compact(json) } else { scalars.join("  ") }
        }
        JsonType::String => skim::text(json).into_owned(),
        JsonType::Array => format!("array[{}]", length(json)),
        _ => json.trim().to_owned(),
    };
    cut(&plain(&text), ROW_CHARS)
}

/// A value without blanks; one of which a row shows a small part is left as it is written.
fn compact(json: &str) -> String {
    let small = Some(json).filter(|json| json.len() <= 64 * ROW_CHARS);
    let value = small.and_then(|json| serde_json::from_str::<Value>(json).ok());
    value.map_or_else(|| cut(json, ROW_CHARS), |value| value.to_string())
}

fn text_overview(text: &str, rows: usize) -> Overview {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let count = text.lines().count();
    Overview {
        shape: format!("text, {count} line{}", if count == 1 { "" } else { "s" }),
        rows: lines.take(rows).map(|line| cut(&plain(line), ROW_CHARS)).collect(),
    }
}

/// Takes line breaks, terminal escapes and other hidden characters out: a remote's text goes to a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect()
}

/// The first characters of a text.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: &Value, rows: usize) -> Overview {
        overview_of(&value.to_string(), rows)
    }

    #[test]
    fn an_overview_of_one_thing_shows_the_thing_not_its_parts() {
        let issue = json!({"number": 7, "title": "Late", "labels": ["bug"], "comments": [{"id": 1}]});
        assert_eq!(of(&issue, 3).rows, ["number=7  title=Late"]);
        let nested = json!({"error": {"message": "too small", "field": "amount"}});
        assert_eq!(of(&nested, 3).rows, [r#"{"error":{"message":"too small","field":"amount"}}"#]);
        assert_eq!(of(&json!({"state": "up", "nodes": ["a", "b"]}), 3).rows, ["state=up"]);
        assert_eq!(of(&json!({"total": 1, "items": [{"id": 1}]}), 3).rows, ["id=1"]);
        assert_eq!(of(&json!({"names": ["a", "b"]}), 3).rows, ["a", "b"]);
    }

    #[test]
    fn an_overview_counts_lines() {
        assert_eq!(text_overview("a\n", 1).shape, "text, 1 line");
        assert_eq!(text_overview("a\nb", 1).shape, "text, 2 lines");
    }

    #[test]
    fn an_overview_shows_shape_and_first_rows() {
        let value = json!({"total": 2, "items": [{"id": 1, "name": "a\u{1b}[31m", "owner": {"x": 1}}, {"id": 2}]});
        let overview = of(&value, 1);
        assert_eq!(overview.shape, "{total, items[2] of {id, name, owner{…}}}");
        assert_eq!(overview.rows, ["id=1  name=a [31m"]);
        assert_eq!(
            of(&json!([1, 2, 3]), 2),
            Overview { shape: "array[3] of number".to_owned(), rows: vec!["1".to_owned(), "2".to_owned()] }
        );
        assert_eq!(of(&json!("x"), 2).shape, "string");
    }
}
