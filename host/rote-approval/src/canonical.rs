//! The byte form over which plans are hashed and decisions signed: sorted keys, no white space, ASCII only.
//!
//! It is that of Python's `json.dumps(sort_keys=True, separators=(",", ":"))`, which the envelopes of the seed use, and not
//! RFC 8785: keys are sorted by code point, what is not ASCII is escaped, and floats are written as Python writes them.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Exponents of ten from which on, and below which, Python writes a float with an exponent (`float.__repr__`).
const FIXED: std::ops::Range<i32> = -4..16;

/// Returns a value as text. What was hashed is stored as this text and never made again from what reading it gives: a float
/// may not be read as the one that was written.
pub(crate) fn canonical(value: &Value) -> String {
    let mut bytes = Vec::with_capacity(256);
    sorted(value)
        .serialize(&mut Serializer::with_formatter(&mut bytes, Ascii))
        .expect("a JSON value has text keys, and memory takes it");
    String::from_utf8(bytes).expect("it is ASCII")
}

/// A value with the keys of all its objects by code point, as `str` orders them.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            Value::Object(fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        other => other.clone(),
    }
}

/// Escapes what is not ASCII, as UTF-16 in lower-case hex.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for char in fragment.chars() {
            if char.is_ascii() {
                writer.write_all(&[char as u8])?;
                continue;
            }
            for unit in char.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(python_float(value).as_bytes())
    }
}

/// A finite float as Python writes it: the shortest digits that give it again, `1.0`, `1e+16`, `1e-07`.
fn python_float(value: f64) -> String {
    let shortest = format!("{value:e}");
    let Some((mantissa, exponent)) = shortest.split_once('e') else { return shortest };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if FIXED.contains(&exponent) {
        let fixed = format!("{value}");
        return if fixed.contains('.') { fixed } else { fixed + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn is_what_python_writes() {
        let value = json!({"b": "é😀\u{7f}/\"\\\n\u{1}", "a": [null, true, 1, -3], "é": {}});
        let written =
            "{\"a\":[null,true,1,-3],\"b\":\"\\u00e9\\ud83d\\ude00\u{7f}/\\\"\\\\\\n\\u0001\",\"\\u00e9\":{}}";
        assert_eq!(canonical(&value), written);
        for (float, written) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (123_456_789_012_345.6, "123456789012345.6"),
            (1e15, "1000000000000000.0"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1e-7, "1e-07"),
            (1.5e300, "1.5e+300"),
            (0.1, "0.1"),
        ] {
            assert_eq!(canonical(&json!(float)), written);
        }
    }

    #[test]
    fn keys_are_sorted_by_code_point_and_not_by_utf16() {
        // U+FF5E comes before U+1F600, whose UTF-16 begins with U+D83D.
        assert_eq!(canonical(&json!({"😀": 1, "～": 2})), r#"{"\uff5e":2,"\ud83d\ude00":1}"#);
    }

    proptest! {
        #[test]
        fn what_is_written_is_ascii_and_reads_as_the_same(keys in proptest::collection::vec(".*", 0..4), whole: i64) {
            let value = Value::Object(keys.iter().map(|key| (key.clone(), json!([key, whole]))).collect());
            let written = canonical(&value);
            prop_assert!(written.is_ascii());
            prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
        }

        #[test]
        fn a_float_is_written_with_digits_that_give_it_again(float: f64) {
            prop_assume!(float.is_finite());
            let written = canonical(&json!(float));
            prop_assert_eq!(written.parse::<f64>().unwrap().to_bits(), float.to_bits());
            prop_assert!(written.contains(['.', 'e']));
        }
    }
}
