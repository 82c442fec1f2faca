//! Numbers and text as a person reads them.

use rote_types::clean_line;

/// Returns a size with at most three significant digits: `812 B`, `12.4 KB`, `3.1 MB` (powers of 1000).
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    // A tenth of the unit at a time, rounded to nearest; integers, so that the figure is exact.
    let mut unit = 0;
    let mut tenths = u128::from(bytes) * 10 / 1000;
    let mut remainder = u128::from(bytes) * 10 % 1000;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        remainder = tenths % 1000;
        tenths /= 1000;
        unit += 1;
    }
    if remainder >= 500 {
        tenths += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Returns a count with thin groups: `12,345`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns `1 issue` or `3 issues`.
#[must_use]
pub fn plural(number: usize, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{end}")
}

/// Returns a duration in the unit that suits it.
#[must_use]
pub fn milliseconds(duration: u64) -> String {
    match duration {
        0..=9_999 => format!("{duration} ms"),
        _ => format!("{}.{} s", duration / 1000, duration % 1000 / 100),
    }
}

/// Returns an instant without the fraction of its second: `2026-11-21T09:55:14Z`.
#[must_use]
pub fn second(at: impl std::fmt::Display) -> String {
    let text = at.to_string();
    text.split_once('.').map_or_else(|| text.clone(), |(whole, _)| format!("{whole}Z"))
}

/// Most characters of one line of a finding.
pub const MAX_LINE: usize = 300;

/// Returns text as one printable line of at most `most` characters, with an ellipsis in place of the rest.
#[must_use]
pub fn clip(text: &str, most: usize) -> String {
    let mut line = clean_line(text, usize::MAX);
    if let Some((end, _)) = line.char_indices().nth(most) {
        line.truncate(end);
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_that_suits() {
        for (bytes, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KB"),
            (12_449, "12.4 KB"),
            (3_150_000, "3.2 MB"),
            (5_000_000_000, "5.0 GB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!([count(7), count(1234), count(1_234_567)], ["7", "1,234", "1,234,567"]);
    }

    #[test]
    fn foreign_text_cannot_reach_the_terminal() {
        assert_eq!(clip("a\u{1b}[2Jb\nc\u{202e}", 20), "ab c");
        assert_eq!(clip("abcdef", 4), "abc…");
    }
}
