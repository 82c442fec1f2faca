//! Texts that name a day or a time of day that there is not, such as `2026-02-31`.
//!
//! Servers read more forms than RFC 3339 has, and words such as `now` beside them. So a text of another form passes, and
//! only what is written as a day or a time of day has to be one.

use jiff::civil::Date;
use jsonschema::{Keyword, ValidationError};
use serde_json::Value;

/// The keyword whose formats are checked here; of any other format nothing is said.
pub(crate) const FORMAT: &str = "format";

const FORMATS: [&str; 3] = ["date", "date-time", "time"];

/// Whether a format is one of a moment.
pub(crate) fn is_moment(format: &Value) -> bool {
    format.as_str().is_some_and(|format| FORMATS.contains(&format))
}

/// Makes the check of a format.
pub(crate) fn check(format: &Value) -> Box<dyn for<'i> Keyword<'i>> {
    Box::new(Moment { is_moment: is_moment(format) })
}

struct Moment {
    is_moment: bool,
}

impl<'i> Keyword<'i> for Moment {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        match value.as_str().filter(|_| self.is_moment).and_then(impossible) {
            Some(problem) => Err(ValidationError::custom(problem)),
            None => Ok(()),
        }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        self.validate(value).is_ok()
    }
}

/// Says what no calendar or no clock has of a text.
fn impossible(text: &str) -> Option<String> {
    let Some((day, rest)) = numbers(text, "0000-00-00") else { return no_time(text) };
    let time = rest.strip_prefix(['T', 't', ' ']);
    if time.is_none() && !rest.is_empty() {
        return None;
    }
    let small = |number: i16| i8::try_from(number).ok();
    let is_day = matches!(day[..], [year, month, day]
        if small(month).zip(small(day)).is_some_and(|(month, day)| Date::new(year, month, day).is_ok()));
    if is_day {
        return time.and_then(no_time);
    }
    Some(format!("{} is not a day of the calendar", &text[..text.len() - rest.len()]))
}

/// Says what no clock has of a text. A day ends at 24:00, and some minutes have a second 60.
fn no_time(text: &str) -> Option<String> {
    let (time, rest) = numbers(text, "00:00:00").or_else(|| numbers(text, "00:00"))?;
    let is_time = match time[..] {
        [24, ref rest @ ..] => rest.iter().all(|number| *number == 0),
        [hour, minute, ref second @ ..] => hour < 24 && minute < 60 && second.iter().all(|second| *second <= 60),
        _ => true,
    };
    let is_other = rest.starts_with(|c: char| c.is_alphanumeric() && !matches!(c, 'Z' | 'z'));
    (!is_time && !is_other).then(|| format!("{} is not a time of day", &text[..text.len() - rest.len()]))
}

/// Reads the numbers at the beginning of a text that is written as `shape` is, where `0` stands for any digit.
fn numbers<'t>(text: &'t str, shape: &str) -> Option<(Vec<i16>, &'t str)> {
    let (head, rest) = text.split_at_checked(shape.len())?;
    let alike = |(c, as_in): (u8, u8)| if as_in == b'0' { c.is_ascii_digit() } else { c == as_in };
    let is_whole = head.bytes().zip(shape.bytes()).all(alike) && !rest.starts_with(|c: char| c.is_ascii_digit());
    let numbers = head.split(['-', ':']).map(str::parse).collect::<Result<_, _>>().ok()?;
    is_whole.then_some((numbers, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_calendar_or_clock_has_is_impossible() {
        let none = [
            ("2026-02-31", "2026-02-31 is not a day of the calendar"),
            ("2025-02-29T10:00:00Z", "2025-02-29 is not a day of the calendar"),
            ("2026-13-01 10:00", "2026-13-01 is not a day of the calendar"),
            ("2026-00-10", "2026-00-10 is not a day of the calendar"),
            ("2026-02-28T25:00:00Z", "25:00:00 is not a time of day"),
            ("2026-02-28T23:60", "23:60 is not a time of day"),
            ("24:30:00+02:00", "24:30:00 is not a time of day"),
            ("10:00:61.5Z", "10:00:61 is not a time of day"),
        ];
        for (text, problem) in none {
            assert_eq!(impossible(text).as_deref(), Some(problem), "{text}");
        }
        let possible = [
            "2024-02-29",
            "2000-02-29",
            "0000-01-01",
            "9999-12-31T23:59:60Z",
            "2026-02-28T24:00:00",
            "2026-02-28T10:00:00.123+05:30",
            "24:00",
            "10:00",
            "",
            "now",
            "tomorrow",
            "2026-2-31",
            "31.02.2026",
            "20260231",
            "2026-02",
            "2026-W09-8",
            "2026-02-310",
            "2026-02-31-draft",
            "1:61",
            "1767225600",
            "99:99am",
            "２０２６-02-31",
            "日本語日本語",
            "@1{.due}",
        ];
        for text in possible {
            assert_eq!(impossible(text), None, "{text}");
        }
    }
}
