//! The reader against serde_json: what it takes, what it refuses, and where it says the problem is.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::read;
use crate::Problem;

#[derive(Debug, PartialEq, Deserialize)]
struct Everything {
    text: String,
    letter: char,
    yes: bool,
    small: u8,
    negative: i64,
    ratio: f64,
    nothing: Option<u32>,
    something: Option<u32>,
    pair: (u8, String),
    wrapped: Wrapped,
    kinds: Vec<Kind>,
    by_number: BTreeMap<u32, bool>,
    by_kind: BTreeMap<Plain, u8>,
    any: Value,
    #[serde(default)]
    absent: u8,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Wrapped(Vec<String>);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { a: u8 },
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
enum Plain {
    One,
    Two,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type")]
enum Tagged {
    Circle { radius: f64 },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Flattened {
    a: u8,
    #[serde(flatten)]
    rest: HashMap<String, Value>,
}

/// Both readers give the same value.
#[track_caller]
fn agrees<T: DeserializeOwned + PartialEq + std::fmt::Debug>(text: &str) {
    assert_eq!(read::<T>(text).unwrap(), serde_json::from_str::<T>(text).unwrap(), "{text}");
}

#[track_caller]
fn refuses<T: DeserializeOwned + std::fmt::Debug>(text: &str, pointer: &str, message: &str) {
    let problem = Problem { pointer: pointer.to_owned(), message: message.to_owned() };
    assert_eq!(read::<T>(text).unwrap_err(), problem, "{text}");
}

#[test]
fn values_are_those_that_serde_json_reads() {
    agrees::<Everything>(
        r#" {"text": "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é", "letter": "ß", "yes": true, "small": 255, "negative": -3,
            "ratio": 1, "nothing": null, "something": 4, "pair": [1, "x"], "wrapped": ["a", "b"],
            "kinds": ["unit", {"newtype": 1}, {"tuple": [1, 2]}, {"struct": {"a": 1}}, {"unit": null}],
            "by_number": {"7": true}, "by_kind": {"One": 1, "Two": 2}, "unknown": [{"a": [1.5e3, -0, {}], "b": false}, null],
            "any": {"n": [0, -1, 1.5, 1e300, 18446744073709551615, 18446744073709551616], "s": "", "o": {}, "z": null}} "#,
    );
    agrees::<Tagged>(r#"{"type": "Circle", "radius": 0.1}"#);
    agrees::<Vec<Untagged>>(r#"[1, "a"]"#);
    agrees::<Flattened>(r#"{"a": 1, "b": [true], "c": "x"}"#);
    agrees::<Value>("[]");
    agrees::<()>("null");
    agrees::<Vec<f64>>("[0.1, 123456789.123456789, -2.5e-3]");
    assert_eq!(read::<&str>("\"borrowed\"").unwrap(), "borrowed");
}

#[test]
fn what_does_not_fit_is_named_by_its_pointer() {
    refuses::<Everything>(r#"{"pair": [1, 2]}"#, "/pair/1", "expected a string, found number");
    refuses::<Everything>(r#"{"small": 256}"#, "/small", "expected u8, found another number");
    refuses::<Everything>(r#"{"small": 1.5}"#, "/small", "expected u8, found another number");
    refuses::<Everything>("{}", "", "missing field `text`");
    refuses::<HashMap<String, u8>>(r#"{"a/b~": "x"}"#, "/a~1b~0", "expected u8, found string");
    refuses::<Vec<Plain>>(r#"["Three"]"#, "/0", "unknown variant `Three`, expected `One` or `Two`");
    refuses::<Everything>("[]", "", "expected struct Everything, found array");
    refuses::<Value>(&"[".repeat(200), &"/0".repeat(128), "nested too deeply");
}

#[test]
fn what_serde_json_refuses_is_refused() {
    let texts = [
        "",
        "{",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "nul",
        "truth",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\n\"",
        "1 2",
        "[]]",
        "NaN",
        "{\"a\":1 \"b\":2}",
        "[,1]",
        "{,}",
    ];
    for text in texts {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        assert!(read::<Value>(text).is_err(), "{text}");
        assert!(read::<serde::de::IgnoredAny>(text).is_err(), "ignored {text}");
    }
}

#[test]
fn every_cut_of_a_text_is_refused_and_none_panics() {
    let text = json!({ "a": [1.5, "é\n", { "b": null }], "c": true }).to_string();
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        assert!(read::<Value>(&text[..end]).is_err(), "{}", &text[..end]);
    }
}
