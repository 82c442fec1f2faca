//! Reading a body by its parts: each part stays text until it is looked at, so that a body of 64 MiB takes no tree of
//! values, which has 50 times its size.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::JsonType;

/// Returns the type of a text that is JSON.
pub(crate) fn type_of(json: &str) -> JsonType {
    match json.trim_start().as_bytes().first() {
        Some(b'{') => JsonType::Object,
        Some(b'[') => JsonType::Array,
        Some(b'"') => JsonType::String,
        Some(b't' | b'f') => JsonType::Boolean,
        Some(b'n') | None => JsonType::Null,
        Some(_) => JsonType::Number,
    }
}

/// Shows each item of a list to `visit`, and returns their number; 0 of what is not a list.
pub(crate) fn items<'t>(json: &'t str, visit: impl FnMut(&'t RawValue)) -> usize {
    // What is recorded as JSON was checked then; of another text nothing is shown.
    serde_json::Deserializer::from_str(json).deserialize_seq(Items(visit)).unwrap_or(0)
}

/// Shows each member of an object to `visit`, and returns their number; 0 of what is not an object.
pub(crate) fn members<'t>(json: &'t str, visit: impl FnMut(Cow<'t, str>, &'t RawValue)) -> usize {
    serde_json::Deserializer::from_str(json).deserialize_map(Members(visit)).unwrap_or(0)
}

/// Returns the number of items of a list, or of members of an object.
pub(crate) fn length(json: &str) -> usize {
    match type_of(json) {
        JsonType::Array => items(json, |_| {}),
        JsonType::Object => members(json, |_, _| {}),
        _ => 0,
    }
}

/// Returns what a text of JSON says, borrowed where it has no escapes; of one with a lone surrogate what is written.
pub(crate) fn text(json: &str) -> Cow<'_, str> {
    serde_json::from_str(json).map_or(Cow::Borrowed(json), |Text(text)| text)
}

struct Items<F>(F);

impl<'t, F: FnMut(&'t RawValue)> Visitor<'t> for Items<F> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'t>>(mut self, mut list: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while let Some(item) = list.next_element::<&RawValue>()? {
            (self.0)(item);
            count += 1;
        }
        Ok(count)
    }
}

struct Members<F>(F);

impl<'t, F: FnMut(Cow<'t, str>, &'t RawValue)> Visitor<'t> for Members<F> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(mut self, mut object: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while let Some(key) = object.next_key::<&RawValue>()? {
            (self.0)(text(key.get()), object.next_value()?);
            count += 1;
        }
        Ok(count)
    }
}

/// A text that is borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_shown_as_they_are_written() {
        let mut seen = Vec::new();
        assert_eq!(items(" [1.50, {\"a\": []},\n null]", |item| seen.push(item.get().to_owned())), 3);
        assert_eq!(seen, ["1.50", "{\"a\": []}", "null"]);
        let mut seen = Vec::new();
        assert_eq!(members(r#"{"a": 1, "\u0062": [2]}"#, |key, value| seen.push((key.into_owned(), value.get()))), 2);
        assert_eq!(seen, [("a".to_owned(), "1"), ("b".to_owned(), "[2]")]);
        assert_eq!((items("{}", |_| {}), members("[]", |_, _| {}), length("\"x\"")), (0, 0, 0));
    }
}
