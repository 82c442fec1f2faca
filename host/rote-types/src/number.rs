//! JSON that is to be sent, with numbers that keep what was written.
//!
//! A number of JSON is kept as a 64-bit whole number, else as a 64-bit float. What neither holds would go out as another number: an
//! id or an amount of somebody else. So it is refused here; a text keeps every digit. A whole number that is written with a
//! fraction or an exponent (`100.0`, `1e2`) is that whole number, as in JSON Schema (2020-12, validation §6.1.1) and RFC 8785.

use serde_json::Value;

/// From here on a float does not hold every whole number: 2^53.
const FIRST_INEXACT: f64 = 9_007_199_254_740_992.0;

/// Why a text is not JSON that can be sent.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON.
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
    /// A number of it has digits that would be lost.
    #[error("the number {0} would lose digits; give it as text (\"{0}\")")]
    Number(String),
}

/// Reads JSON that is to be sent.
///
/// # Errors
/// What is not JSON, and a number that would be another one.
pub fn read_json(text: &str) -> Result<Value, ReadError> {
    let mut value = serde_json::from_str(text)?;
    check_numbers(text)?;
    make_whole(&mut value);
    Ok(value)
}

/// Refuses a text that is JSON where a number of it would be another one.
///
/// # Errors
/// [`ReadError::Number`], with the first one.
pub fn check_numbers(json: &str) -> Result<(), ReadError> {
    match numbers(json).find(|number| !is_exact(number)) {
        Some(number) => Err(ReadError::Number(number.to_owned())),
        None => Ok(()),
    }
}

/// Writes whole numbers without a fraction; a whole number that is too large for that is the error, for its digits may have been lost
/// before.
///
/// # Errors
/// [`ReadError::Number`], with the first one as it is now.
pub fn whole_numbers(value: &mut Value) -> Result<(), ReadError> {
    make_whole(value);
    let mut lost = None;
    each_number(value, &mut |number| {
        let large =
            number.as_f64().filter(|float| number.is_f64() && float.abs() >= FIRST_INEXACT && float.fract() == 0.0);
        lost = lost.take().or(large.map(|_| number.to_string()));
    });
    lost.map_or(Ok(()), |number| Err(ReadError::Number(number)))
}

fn make_whole(value: &mut Value) {
    each_number(value, &mut |number| {
        let whole =
            number.as_f64().filter(|float| number.is_f64() && float.abs() < FIRST_INEXACT && float.fract() == 0.0);
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
        if let Some(float) = whole {
            *number = (float as i64).into();
        }
    });
}

/// Goes through all numbers; as deep as a reader of JSON went before.
fn each_number(value: &mut Value, each: &mut impl FnMut(&mut serde_json::Number)) {
    match value {
        Value::Number(number) => each(number),
        Value::Array(items) => items.iter_mut().for_each(|item| each_number(item, each)),
        Value::Object(members) => members.values_mut().for_each(|member| each_number(member, each)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The numbers of a text that is JSON, as they are written.
fn numbers(json: &str) -> impl Iterator<Item = &str> {
    let bytes = json.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut in_text = false;
        while let Some(byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'\\' if in_text => at += 1,
                b'"' => in_text = !in_text,
                b'-' | b'0'..=b'9' if !in_text => {
                    let more = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
                    at += bytes[at..].iter().take_while(|byte| more(byte)).count();
                    return json.get(start..at);
                }
                _ => {}
            }
        }
        None
    })
}

/// Whether a number is kept as it is written.
fn is_exact(number: &str) -> bool {
    if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    }
    // What goes out, by the writer that sends it: of two texts that are equally near to a float others may take the other one.
    let sent = number.parse().ok().and_then(serde_json::Number::from_f64);
    sent.is_some_and(|sent| digits_of(&sent.to_string()) == digits_of(number))
}

/// The significant digits of a number, and the power of ten of the last of them; none for what no float comes near.
fn digits_of(number: &str) -> Option<(String, i64)> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) =
        mantissa.trim_start_matches('-').split_once('.').unwrap_or((mantissa.trim_start_matches('-'), ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some((String::new(), 0));
    }
    let power = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let power = power.checked_add(i64::try_from(digits.len() - significant.len()).ok()?)?;
    Some((significant.to_owned(), power))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_that_would_be_another_one_is_refused() {
        for (text, lost) in [
            ("{\"id\": 123456789012345678901}", Some("123456789012345678901")),
            ("[1, 12345678901234567.89]", Some("12345678901234567.89")),
            ("9007199254740993.0", Some("9007199254740993.0")),
            ("100000000000000000001", Some("100000000000000000001")),
            ("-9223372036854775809", Some("-9223372036854775809")),
            ("0.1000000000000000055511151231257827", Some("0.1000000000000000055511151231257827")),
            ("18446744073709551615", None),
            ("-17736164395201.562", None),
            ("-17736164395201.563", Some("-17736164395201.563")),
            ("-9223372036854775808", None),
            ("[0.1, 1.10, -0.0, 49.90, 1e3, 6.02e23, 1E-7]", None),
            ("{\"123456789012345678901\": \"\\\"123456789012345678901\"}", None),
        ] {
            let read = read_json(text);
            match (&read, lost) {
                (Err(ReadError::Number(number)), Some(lost)) => assert_eq!(number, lost),
                (Ok(_), None) => {}
                _ => panic!("{text}: {read:?}"),
            }
        }
        assert!(matches!(read_json("{"), Err(ReadError::Syntax(_))) && read_json("1e400").is_err());
    }

    #[test]
    fn a_whole_number_is_written_as_one() {
        assert_eq!(
            read_json("[100.0, 1e2, -0.0, 1.5, {\"a\": 3.0}]").unwrap().to_string(),
            "[100,100,0,1.5,{\"a\":3}]"
        );
        let mut value = json!([1.0, {"a": [2.0]}]);
        whole_numbers(&mut value).unwrap();
        assert_eq!(value.to_string(), "[1,{\"a\":[2]}]");
        let mut lost = json!({"a": [1.234_567_890_123_456_8e20]});
        assert!(whole_numbers(&mut lost).is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(number in any::<f64>().prop_filter("JSON has no others", |number| number.is_finite()), whole: i64) {
            let text = json!([number, whole]).to_string();
            let read = read_json(&text).unwrap();
            prop_assert_eq!(read[0].as_f64(), Some(if number == 0.0 { 0.0 } else { number }));
            prop_assert_eq!(read[1].as_i64(), Some(whole));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = (read_json(&text), check_numbers(&text));
        }
    }
}
