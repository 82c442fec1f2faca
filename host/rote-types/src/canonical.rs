//! RFC 8785 canonical JSON: the one byte form over which identities and signatures are computed.

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::{Number, Value};

/// A value that has no canonical form (a map key that is not a string, or a number that JSON cannot hold).
#[derive(Debug, thiserror::Error)]
#[error("value has no canonical JSON form")]
pub struct CanonicalError(#[source] serde_json::Error);

/// Returns the RFC 8785 (JCS) bytes of `value`: sorted keys, ECMAScript numbers, no white space.
///
/// # Errors
/// [`CanonicalError`] when the value cannot be written as JSON; the caller's type is to blame.
pub fn canonical_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    write(value, Canonical::default())
}

/// Returns the bytes of `value` as [`canonical_json`] does, but whole numbers with all of their digits: what a call is
/// told apart by. RFC 8785 writes them as doubles, and beyond 2^53 two ids are the same one then. What is canonical by the
/// RFC is so here too.
///
/// # Errors
/// [`CanonicalError`] as of [`canonical_json`].
pub fn exact_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    write(value, Canonical::exact())
}

fn write<T: Serialize + ?Sized>(value: &T, mut canonical: Canonical) -> Result<Vec<u8>, CanonicalError> {
    canonical.value(&serde_json::to_value(value).map_err(CanonicalError)?);
    Ok(canonical.finish())
}

/// How whole numbers are written.
#[derive(Debug, Default)]
enum Integers {
    /// As the nearest double.
    #[default]
    Doubles,
    /// With all digits.
    Exact,
}

/// Canonical JSON in the making, for who leaves out parts of a value and would have to copy the rest of it first.
#[derive(Debug, Default)]
pub struct Canonical {
    bytes: Vec<u8>,
    integers: Integers,
}

impl Canonical {
    /// Begins one whose whole numbers have all of their digits, as [`exact_json`] writes them.
    #[must_use]
    pub fn exact() -> Self {
        Self { integers: Integers::Exact, ..Self::default() }
    }

    /// Returns what was written.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes a whole value.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.raw(b"null"),
            Value::Bool(true) => self.raw(b"true"),
            Value::Bool(false) => self.raw(b"false"),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                // Neither can stop.
                let _: Option<()> = self.elements(items, |canonical, item| {
                    canonical.value(item);
                    Some(())
                });
            }
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| (key.as_str(), value));
                let _: Option<()> = self.members(members, |canonical, _, value| {
                    canonical.value(value);
                    Some(())
                });
            }
        }
    }

    /// Writes an array, each element by `write`; stops where that returns `None`.
    pub fn elements(&mut self, items: &[Value], mut write: impl FnMut(&mut Self, &Value) -> Option<()>) -> Option<()> {
        self.raw(b"[");
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.raw(b",");
            }
            write(self, item)?;
        }
        self.raw(b"]");
        Some(())
    }

    /// Writes an object, its members in canonical order and each value by `write`; stops where that returns `None`.
    pub fn members<'v, V>(
        &mut self,
        members: impl Iterator<Item = (&'v str, V)>,
        mut write: impl FnMut(&mut Self, &'v str, V) -> Option<()>,
    ) -> Option<()> {
        let mut sorted: Vec<(&str, V)> = members.collect();
        sorted.sort_unstable_by(|(one, _), (other, _)| by_utf16(one, other));
        self.raw(b"{");
        for (index, (key, value)) in sorted.into_iter().enumerate() {
            if index > 0 {
                self.raw(b",");
            }
            self.text(key);
            self.raw(b":");
            write(self, key, value)?;
        }
        self.raw(b"}");
        Some(())
    }

    /// RFC 8785 §3.2.2.2 escapes as little as serde_json does, and in the same way.
    fn text(&mut self, text: &str) {
        serde_json::to_writer(&mut self.bytes, text).expect("a text is JSON, and memory takes all of it");
    }

    /// RFC 8785 §3.2.2.3: every number is a double, unless whole ones are wanted exactly.
    fn number(&mut self, number: &Number) {
        if matches!(self.integers, Integers::Exact) && !number.is_f64() {
            return self.raw(number.to_string().as_bytes());
        }
        let double = number.as_f64().expect("without arbitrary precision every number is a double");
        self.raw(ryu_js::Buffer::new().format_finite(double).as_bytes());
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

/// The order of RFC 8785 §3.2.3: by UTF-16 code units, which for ASCII is that of the bytes.
fn by_utf16(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() { one.cmp(other) } else { one.encode_utf16().cmp(other.encode_utf16()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn key_order_and_white_space_do_not_matter() {
        let one = canonical_json(&json!({"b": 1, "a": [true, null]})).unwrap();
        let two = canonical_json(&json!({"a": [true, null], "b": 1})).unwrap();
        assert_eq!(one, two);
        assert_eq!(one, br#"{"a":[true,null],"b":1}"#);
    }

    #[test]
    fn keys_are_sorted_as_utf16_and_numbers_are_written_as_doubles() {
        let value = json!({"\u{1f600}": 1e30, "\u{fb33}": 1.0, "é": 0.000_001, "z": u64::MAX, "\u{0}\"\n\u{7f}": -0.0});
        let expected =
            "{\"\\u0000\\\"\\n\u{7f}\":0,\"z\":18446744073709552000,\"é\":0.000001,\"\u{1f600}\":1e+30,\"\u{fb33}\":1}";
        assert_eq!(String::from_utf8(canonical_json(&value).unwrap()).unwrap(), expected);
    }

    #[test]
    fn exact_integers_keep_their_digits_and_all_else_is_as_the_rfc_says() {
        let exact = |value: Value| String::from_utf8(exact_json(&value).unwrap()).unwrap();
        assert_eq!(
            exact(json!({"b": u64::MAX, "a": [i64::MIN, 7]})),
            r#"{"a":[-9223372036854775808,7],"b":18446744073709551615}"#
        );
        assert_ne!(exact(json!(9_007_199_254_740_993_u64)), exact(json!(9_007_199_254_740_992_u64)));
        assert_eq!(exact(json!([1.0, -0.0, 1e30, 0.5])), "[1,0,1e+30,0.5]");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().rev().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn another_implementation_writes_the_same(value in values()) {
            prop_assert_eq!(canonical_json(&value).unwrap(), serde_jcs::to_vec(&value).unwrap());
        }

        #[test]
        fn what_is_canonical_by_the_rfc_is_so_exactly(value in values()) {
            let canonical = canonical_json(&value).unwrap();
            let read: Value = serde_json::from_slice(&canonical).unwrap();
            prop_assert_eq!(exact_json(&read).unwrap(), canonical);
        }
    }
}
