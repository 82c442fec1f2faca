//! When values are equal, and when that is no more than chance: how much of a value there has to be, by where it stands, to say that
//! it was taken from there.

use rote_plan::text_of;
use serde_json::Value;

/// Fewest letters and digits, with the point between them, of what a query printed, and of the one thing that was read.
const FEWEST: usize = 2;
/// The same of things of which there are several, and of what only has the same name.
const FEWEST_OF_SEVERAL: usize = 3;
/// Fewest digits of a bare number in a text that is an id.
const FEWEST_OF_ID: usize = 6;
/// Whole numbers below it are exact as binary fractions.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;
/// Parts of one that are exact enough for a number that was reckoned with binary fractions.
const EXACT_PARTS: u32 = 100_000_000;
/// Most digits behind the point to which people round.
const MOST_DIGITS: u32 = 4;
/// How many times a number is taken of which nobody writes down how.
const MOST_TIMES: u8 = 10;

/// What is looked for of a value: numbers and texts by how they are written, `3200.0` as `3200`.
pub(crate) fn key_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < MAX_WHOLE);
            Some(whole.map_or_else(|| number.to_string(), |whole| format!("{whole:.0}")))
        }
        Value::String(_) | Value::Number(_) => Some(text_of(value)),
        _ => None,
    }
}

fn length(value: &Value) -> usize {
    let text = key_of(value).unwrap_or_default();
    text.chars().filter(|c| c.is_alphanumeric() || *c == '.').count()
}

/// Whether a value is not equal by chance where one thing has it.
pub(crate) fn tells(value: &Value) -> bool {
    length(value) >= FEWEST
}

/// Whether a value is not equal by chance where one of several things has it.
pub(crate) fn tells_of_several(value: &Value) -> bool {
    length(value) >= FEWEST_OF_SEVERAL
}

/// Whether a bare number in a text is an id.
pub(crate) fn is_long_id(word: &str) -> bool {
    word.len() >= FEWEST_OF_ID && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The parts of one to which a number was rounded that was sent as another one: what a binary fraction has too much behind the
/// point, or the digits that were typed, where there are enough of them.
pub(crate) fn rounded(found: f64, sent: f64) -> Option<u32> {
    let digits = sent.to_string().split_once('.').map_or(0, |(_, digits)| digits.len());
    let typed = u32::try_from(digits).ok().filter(|digits| *digits <= MOST_DIGITS).map(|digits| 10_u32.pow(digits));
    let typed = typed.filter(|_| tells_of_several(&Value::from(sent)));
    let gives = |parts: &u32| (found * f64::from(*parts)).round() / f64::from(*parts) == sent;
    [Some(EXACT_PARTS), typed].into_iter().flatten().find(gives).filter(|_| found != sent)
}

/// How many times one number is in another one, where that is no more than a person reckons in the head.
pub(crate) fn times(part: f64, whole: f64) -> Option<u8> {
    (2..=MOST_TIMES).find(|times| part > 1.0 && (part * f64::from(*times) - whole).abs() <= whole * 1e-9)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_tells_by_its_letters_and_digits() {
        for (value, one, several) in [
            (json!(8), false, false),
            (json!(-8.0), false, false),
            (json!(12), true, false),
            (json!(2.1), true, true),
            (json!("B7"), true, false),
            (json!("B-7"), true, false),
            (json!("R12"), true, true),
            (json!("-"), false, false),
        ] {
            assert_eq!((tells(&value), tells_of_several(&value)), (one, several), "{value}");
        }
        assert_eq!(
            (times(4.0, 8.0), times(12.5, 50.0), times(8.0, 4.0), times(1.0, 2.0)),
            (Some(2), Some(4), None, None)
        );
        for (found, sent, parts) in [
            (13750.000000000002, 13750.0, Some(100_000_000)),
            (33.333333333333336, 33.33, Some(100)),
            (1234.6, 1235.0, Some(1)),
            (12.5, 13.0, None),
            (13750.0, 13750.0, None),
            (33.333333333333336, 33.34, None),
        ] {
            assert_eq!(rounded(found, sent), parts, "{found} {sent}");
        }
        assert!(is_long_id("138921851") && !is_long_id("12345") && !is_long_id("12345a"));
    }
}
