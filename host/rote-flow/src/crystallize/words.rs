//! The words of a text that are the value of a parameter.

use std::ops::Range;

use rote_find::{singular, split_words};
use rote_plan::{Expression, text_of};
use serde_json::Value;

/// Shortest value that is looked for inside longer text.
pub(crate) const MIN_EMBEDDED_CHARS: usize = 3;

/// Replaces a literal that equals `value`, or the words in it that do, or a day in a time of it.
pub(crate) fn by_text(literal: &Value, name: &str, value: &str) -> Option<Expression> {
    let parameter = || Expression::Param(name.to_owned());
    if matches!(literal, Value::Null | Value::Array(_) | Value::Object(_)) {
        return None;
    }
    if text_of(literal) == value {
        return Some(parameter());
    }
    let text = literal.as_str().filter(|_| is_embedded(value))?;
    let short = value.chars().count() < MIN_EMBEDDED_CHARS;
    let found = places(text, value).into_iter().filter(|range| !short || stands_alone(text, range));
    joined(text, found.map(|range| (range, parameter())))
}

/// Whether a value is looked for inside longer text: one of two characters where it is a name (`Bo`) or a number, one of one where
/// it is a number from 2 on. A number is asked.
fn is_embedded(value: &str) -> bool {
    let count = value.chars().count();
    let number = value.bytes().all(|byte| byte.is_ascii_digit());
    let short = count + 1 == MIN_EMBEDDED_CHARS && (number || value.starts_with(char::is_uppercase));
    count >= MIN_EMBEDDED_CHARS || short || count == 1 && number && !["0", "1"].contains(&value)
}

/// Whether what stands there is not a part of a longer number, a day, a time or a name: `12` is not in `2026-12-31`.
pub(crate) fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let joins = |mut rest: std::iter::Take<&mut dyn Iterator<Item = char>>| {
        let mark = rest.next().is_some_and(|c| "-./:,".contains(c));
        mark && rest.next().is_some_and(char::is_alphanumeric)
    };
    let before: &mut dyn Iterator<Item = char> = &mut text[..range.start].chars().rev();
    let after: &mut dyn Iterator<Item = char> = &mut text[range.end..].chars();
    !joins(before.take(2)) && !joins(after.take(2))
}

/// Where a value stands in a text as words of it, as the day of a time, or as a version: the `2.4` of `v2.4`.
pub(crate) fn places(text: &str, value: &str) -> Vec<Range<usize>> {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut found: Vec<Range<usize>> = Vec::new();
    for (start, _) in text.match_indices(value) {
        let end = start + value.len();
        let after = joins(text[end..].chars().next()) && !(is_day(value) && begins_time(&text[end..]));
        let mut before = text[..start].chars().rev();
        let joined = match before.next() {
            Some('v' | 'V') if value.starts_with(|c: char| c.is_ascii_digit()) => joins(before.next()),
            other => joins(other),
        };
        if !value.is_empty() && !joined && !after && !is_part_of_number(text, start..end) {
            found.push(start..end);
        }
    }
    found
}

/// Whether what stands there is a part of a longer number or version: `410` of `410.00`.
fn is_part_of_number(text: &str, Range { start, end }: Range<usize>) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let goes_on = |near: Option<char>, next: Option<char>| matches!(near, Some('.' | ',')) && is_digit(next);
    let (mut before, mut after) = (text[..start].chars().rev(), text[end..].chars());
    let (first, last) = (text[start..end].chars().next(), text[start..end].chars().next_back());
    is_digit(first) && goes_on(before.next(), before.next()) || is_digit(last) && goes_on(after.next(), after.next())
}

/// A text with other expressions in the place of parts of it, which are in order; none without a part.
pub(crate) fn joined(text: &str, parts: impl IntoIterator<Item = (Range<usize>, Expression)>) -> Option<Expression> {
    let literal = |text: &str| Expression::Literal(Value::from(text));
    let mut made = Vec::new();
    let mut done = 0;
    for (range, part) in parts {
        if range.start > done {
            made.push(literal(&text[done..range.start]));
        }
        made.push(part);
        done = range.end;
    }
    if made.is_empty() {
        return None;
    }
    if done < text.len() {
        made.push(literal(&text[done..]));
    }
    Some(Expression::Text(made))
}

/// The days that a text names, such as `2026-05-22`.
pub(crate) fn days(text: &str) -> impl Iterator<Item = Range<usize>> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.split(move |c| !word(c)).filter(|word| is_day(word)).map(|day| {
        let start = day.as_ptr() as usize - text.as_ptr() as usize;
        start..start + day.len()
    })
}

/// The day of a time such as `2026-05-22T09:00:00Z`.
pub(crate) fn day_of(time: &str) -> Option<&str> {
    let (day, rest) = time.split_at_checked(10)?;
    (is_day(day) && begins_time(rest)).then_some(day)
}

/// `2026-05-22`.
fn is_day(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// `T09:00…`.
fn begins_time(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    bytes.len() >= 6 && bytes[0] == b'T' && bytes[1].is_ascii_digit() && bytes[2].is_ascii_digit() && bytes[3] == b':'
}

/// Whether a word is one of a name.
fn is_word_of(word: &str, name: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    split_words(name).iter().any(|one| singular(one) == singular(&word))
}

/// Whether a text has the name of a member.
pub(crate) fn names_member(text: &str, name: &str) -> bool {
    text.split_whitespace().any(|word| is_word_of(word, name))
}

/// Whether a word beside a number in a text is one of a name.
pub(crate) fn is_named(text: &str, range: &Range<usize>, name: &str) -> bool {
    let same = |word: &str| is_word_of(word, name);
    // `van, 8`: that ends at the comma.
    let before = text[..range.start].split_whitespace().next_back().filter(|word| !word.ends_with([',', ';', '.']));
    let after = text[range.end..].split_whitespace().next();
    before.is_some_and(same) || after.is_some_and(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_named_by_the_word_beside_it() {
        for (text, name, wanted) in [
            ("Room for 8 places", "places", true),
            ("1 van, 8.", "van", false),
            ("Seats: 8", "seat_count", true),
            ("8 vans", "places", false),
            ("8", "places", false),
        ] {
            let at = text.find('8').unwrap();
            assert_eq!(is_named(text, &(at..at + 1), name), wanted, "{text}");
        }
    }
}
