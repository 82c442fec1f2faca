//! The members of a JSON body that a server may take for the method, duplicates included.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::names_a_method;

/// Returns the members of the outermost object, or of the objects in an outermost array, whose names a server
/// may take for the method; of each of several lines. A text that is not JSON is searched for their names.
pub(super) fn members(body: &[u8]) -> Vec<(String, Value)> {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut found = Vec::new();
    for document in serde_json::Deserializer::from_slice(text).into_iter::<Members>() {
        match document {
            Ok(Members(members)) => found.extend(members),
            // A laxer reader may go on where this one stops.
            Err(_) => {
                found.extend(mentioned(text));
                break;
            }
        }
    }
    found
}

/// A name in a text that only a laxer reader can read, with a value that is not a method; an escape could hide one.
fn mentioned(text: &[u8]) -> Option<(String, Value)> {
    let text = String::from_utf8_lossy(text);
    let name = text.split(['"', '\'']).find(|piece| names_a_method(piece));
    let hidden = text.contains("\\u").then_some("_method");
    name.or(hidden).map(|name| (name.to_owned(), Value::from("something unreadable")))
}

/// What a document says about the method.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Level { in_array: false }.deserialize(deserializer).map(Members)
    }
}

/// The outermost value, or one element of an outermost array.
#[derive(Clone, Copy)]
struct Level {
    in_array: bool,
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Vec<(String, Value)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Vec<(String, Value)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if names_a_method(&name) {
                found.push((name, map.next_value()?));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        if self.in_array {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(found);
        }
        while let Some(more) = items.next_element_seed(Level { in_array: true })? {
            found.extend(more);
        }
        Ok(found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }
}
