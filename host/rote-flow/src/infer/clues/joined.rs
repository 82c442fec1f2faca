//! Words of an intent that are one value together: dates, times of day, durations and telephone numbers.

use jiff::civil::Date;

use super::words::Word;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Letters of a month from which on it is known.
const SHORT: usize = 3;
/// Fewest digits of a telephone number.
const PHONE: usize = 6;

/// Puts words together that are one value, and writes it as a parameter takes it.
pub(super) fn joined(words: Vec<Word>) -> Vec<Word> {
    let mut all = Vec::with_capacity(words.len());
    let mut rest = words.as_slice();
    while let [first, behind @ ..] = rest {
        let found = [date, phone, duration, clock].iter().find_map(|join| join(rest));
        rest = match found {
            Some((taken, text)) => {
                let ends = rest[..taken].last().is_some_and(|last| last.ends);
                all.push(Word::new(&text, false, ends));
                &rest[taken..]
            }
            None => {
                all.push(first.clone());
                behind
            }
        };
    }
    all
}

/// `12 February 2026`, `12th of Feb 2026`, `February 12, 2026`.
fn date(words: &[Word]) -> Option<(usize, String)> {
    let (taken, day, named, year) = match words {
        [day, of, named, year, ..] if of.low == "of" => (4, day, named, year),
        [one, other, year, ..] => match month(one) {
            Some(_) => (3, other, one, year),
            None => (3, one, other, year),
        },
        _ => return None,
    };
    if day.quoted || year.quoted || year.low.len() != 4 {
        return None;
    }
    let day = day.low.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    let date = Date::new(year.low.parse().ok()?, month(named)?, day).ok()?;
    Some((taken, date.to_string()))
}

/// The number of a month, by its name or the beginning of it.
pub(super) fn month(word: &Word) -> Option<i8> {
    let known = |month: &&str| word.low.len() >= SHORT && month.starts_with(word.low.as_str()) && !word.quoted;
    let at = MONTHS.iter().position(known)?;
    i8::try_from(at + 1).ok()
}

/// `+49 170 5550123`.
fn phone(words: &[Word]) -> Option<(usize, String)> {
    let digits = |word: &Word| !word.quoted && word.low.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let first = words.first().filter(|word| !word.quoted)?;
    first.low.strip_prefix('+').filter(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))?;
    let mut taken = 1;
    while !words[taken - 1].ends && words.get(taken).is_some_and(digits) {
        taken += 1;
    }
    let text = words[..taken].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    (is_phone(&text)).then_some((taken, text))
}

/// Whether a text is a telephone number with its country.
pub(super) fn is_phone(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'-'))
        && digits.bytes().filter(u8::is_ascii_digit).count() >= PHONE
}

/// `2 hours and 10 minutes`: the minutes, before the word that says so.
fn duration(words: &[Word]) -> Option<(usize, String)> {
    let (hours, unit, rest) = match words {
        [hours, unit, and, rest @ ..] if and.low == "and" => (hours, unit, rest),
        [hours, unit, rest @ ..] => (hours, unit, rest),
        _ => return None,
    };
    let [minutes, name, ..] = rest else { return None };
    if unit.stem != "hour" || name.stem != "minut" {
        return None;
    }
    let count = |word: &Word| word.number().and_then(|(digits, _)| digits.parse::<u32>().ok());
    let all = count(hours)?.checked_mul(60)?.checked_add(count(minutes)?)?;
    Some((words.len() - rest.len() + 1, all.to_string()))
}

/// `6:45`, `9am`, `6:30 pm`.
fn clock(words: &[Word]) -> Option<(usize, String)> {
    let word = words.first().filter(|word| !word.quoted)?;
    let half = |text: &str| match text {
        "am" | "a.m" => Some(0),
        "pm" | "p.m" => Some(12),
        _ => None,
    };
    let split = word.low.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.low.len());
    let (digits, behind) = word.low.split_at(split);
    let next = words.get(1).filter(|next| !next.quoted && !word.ends && behind.is_empty());
    let (taken, half) = match (half(behind), next.and_then(|next| half(&next.low))) {
        (Some(half), _) => (1, Some(half)),
        (None, Some(half)) => (2, Some(half)),
        (None, None) => (1, None),
    };
    if half.is_none() && !behind.is_empty() {
        return None;
    }
    let (hour, minute) = match (digits.split_once(':'), half) {
        (Some((hour, minute)), _) if minute.len() == 2 => (hour, minute),
        (None, Some(_)) => (digits, "00"),
        _ => return None,
    };
    let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        None => hour,
        Some(_) => return None,
    };
    (hour < 24 && minute < 60).then(|| (taken, format!("{hour:02}:{minute:02}")))
}
