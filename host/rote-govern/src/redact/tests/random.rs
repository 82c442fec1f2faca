//! Secrets, ways to write them and places to put them, by chance: no reading of what comes out has the secret.

use serde_json::json;

use super::super::*;
use super::spelling::{Chance, WAYS, Way, tells, write};

const CASES: u64 = 3_000;

/// A secret as an issuer of one makes it.
fn secret(chance: &mut Chance) -> String {
    let alphabet: Vec<char> = chance
        .pick(&[
            "0123456789abcdef",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.",
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
            "aäbéczжñ字-ß€012",
        ])
        .chars()
        .collect();
    let length = 8 + chance.below(40);
    let text: String = (0..length).map(|_| alphabet[chance.below(alphabet.len())]).collect();
    // The vault takes white space off the ends.
    format!("k{}z", text.trim())
}

/// One or two ways, the second of which writes what the first gave.
fn spelled(secret: &str, chance: &mut Chance) -> (Vec<Way>, String) {
    let first = WAYS[chance.below(WAYS.len())];
    let mut ways = vec![first];
    let mut text = write(first, secret, chance);
    if chance.one_in(2) {
        let second = WAYS[chance.below(WAYS.len())];
        // In another case, base64 is another text, and `\u` and `&amp;` are not escapes any more.
        let exact = matches!(first, Way::Base64 | Way::Json | Way::Html | Way::Lines | Way::Wide);
        // A form's `+` for a blank is a character of base64, and only what is not encoded already is found in wide text.
        let lost = match second {
            Way::Case => exact,
            Way::Form => first == Way::Lines,
            Way::Wide => !matches!(first, Way::Plain | Way::Case),
            _ => false,
        };
        if !lost {
            ways.push(second);
            text = write(second, &text, chance);
        }
    }
    (ways, text)
}

#[test]
fn no_reading_of_a_masked_text_has_the_secret() {
    let mut unmasked = Vec::new();
    for seed in 0..CASES {
        let chance = &mut Chance(seed);
        let secret = secret(chance);
        let redactor =
            Redactor::new([Secret::new("OTHER", "some-other-value-0"), Secret::new("API_TOKEN", secret.as_str())]);
        let (ways, text) = spelled(&secret, chance);
        let case = format!("seed {seed}: {secret:?} by {ways:?} is {text:?}");
        for out in [in_text(&redactor, &text, chance), in_json(&redactor, &text, chance)] {
            assert!(!tells(out.as_bytes(), &secret, 2), "{case} -> {out}");
            // Not found because it is gone, not because it was never there.
            unmasked.extend((!out.contains("<API_TOKEN>")).then(|| format!("{case} -> {out}")));
        }
        let bytes = redactor.bytes([&[0, 0xff][..], text.as_bytes(), &[0xfe]].concat());
        assert!(!tells(&bytes, &secret, 2), "{case} -> {bytes:?}");
    }
    assert!(unmasked.is_empty(), "{}", unmasked.join("\n"));
}

/// A line of text, a header, a page.
fn in_text(redactor: &Redactor, text: &str, chance: &mut Chance) -> String {
    let whole = match chance.below(5) {
        0 => format!("Bearer {text}"),
        1 => format!("https://api.example/x?page=2&key={text}&z=1"),
        2 => format!("<html><body><h1>401</h1>no such token: <b>{text}</b> &mdash; 100% wrong</body></html>"),
        3 => format!("line one\nauthorization: token {text}\r\nhost: x\n"),
        _ => format!("({text}) ({text})"),
    };
    redactor.text(&whole).into_owned()
}

/// A document: as a value, a key, within a text, within JSON that is a text.
fn in_json(redactor: &Redactor, text: &str, chance: &mut Chance) -> String {
    let inner = json!({"t": text, "n": [1, 2.50, null]}).to_string();
    let document = match chance.below(4) {
        0 => json!({"a": {"token": text}, "b": "\u{1f600}\n\"x\""}).to_string(),
        1 => json!([{text: true}]).to_string(),
        2 => json!({"message": format!("no: '{text}'."), "n": 1e9}).to_string(),
        _ => json!({"raw": inner, "again": [inner]}).to_string(),
    };
    let clean = redactor.json(&document).into_owned();
    serde_json::from_str::<Value>(&clean).unwrap_or_else(|error| panic!("{document} -> {clean}: {error}"));
    clean
}
