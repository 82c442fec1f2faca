//! Days as people write them in texts, `2 March 2026`, `Mon, March 2nd, 2026`; and the programs that write them so again.

use std::ops::Range;

use jiff::civil::{Date, Weekday};

/// The months, and how many letters the short name of one has.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const SHORT: usize = 3;
/// Digits of a year.
const YEAR: usize = 4;

/// A day in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dated {
    pub(crate) date: Date,
    pub(crate) form: DayForm,
}

/// How a day is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DayForm {
    /// The day of the week before it.
    weekday: Option<Named>,
    month: Length,
    /// The month stands before the day.
    is_month_first: bool,
    /// `the 2nd of March`.
    has_of: bool,
    /// `02`.
    has_zero: bool,
    /// `2nd`.
    is_ordinal: bool,
    /// There is a comma before the year.
    has_comma: bool,
}

/// A name of a day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Named {
    length: Length,
    has_comma: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Full,
    Short,
}

impl Length {
    fn of(self, name: &str) -> &str {
        match self {
            Self::Full => name,
            Self::Short => name.get(..SHORT).unwrap_or(name),
        }
    }
}

impl Dated {
    /// As an answer has it: `2026-03-02`.
    pub(crate) fn day(&self) -> String {
        self.date.to_string()
    }
}

impl DayForm {
    /// The ways in which a day is written the most.
    pub(crate) fn common() -> impl Iterator<Item = Self> {
        let plain = |month, is_month_first| Self {
            weekday: None,
            month,
            is_month_first,
            has_of: false,
            has_zero: false,
            is_ordinal: false,
            has_comma: is_month_first,
        };
        [Length::Full, Length::Short].into_iter().flat_map(move |month| [plain(month, false), plain(month, true)])
    }

    /// What stands before the number of the day, and behind it, with `%` for what is of the date.
    fn around(self) -> (String, String) {
        let weekday = self.weekday.map_or_else(String::new, |named| {
            let name = if named.length == Length::Full { "%A" } else { "%a" };
            format!("{name}{} ", if named.has_comma { "," } else { "" })
        });
        let month = if self.month == Length::Full { "%B" } else { "%b" };
        let year = if self.has_comma { ", %Y" } else { " %Y" };
        let of = if self.has_of { " of" } else { "" };
        if self.is_month_first {
            (format!("{weekday}{month} "), year.to_owned())
        } else {
            (weekday, format!("{of} {month}{year}"))
        }
    }

    /// A day, written so.
    pub(crate) fn write(self, date: Date) -> String {
        let (before, behind) = self.around();
        let number = if self.has_zero { format!("{:02}", date.day()) } else { date.day().to_string() };
        let ordinal = if self.is_ordinal { ordinal(date.day()) } else { "" };
        let fill = |text: &str| {
            let month = MONTHS[usize::from(date.month().unsigned_abs()) - 1];
            let weekday = WEEKDAYS[usize::from(date.weekday().to_monday_zero_offset().unsigned_abs())];
            let text = text.replace("%A", weekday).replace("%a", Length::Short.of(weekday));
            text.replace("%B", month)
                .replace("%b", Length::Short.of(month))
                .replace("%Y", &format!("{:04}", date.year()))
        };
        format!("{}{number}{ordinal}{}", fill(&before), fill(&behind))
    }

    /// The program that writes so the day, or the day of the time, that another one gives.
    pub(crate) fn program(self, jq: &str) -> String {
        let (before, behind) = self.around();
        let number = if self.has_zero { "%d" } else { "%-d" };
        let seconds = format!("{jq} | .[0:10] + \"T00:00:00Z\" | fromdate");
        if !self.is_ordinal {
            return format!("{seconds} | strftime(\"{before}{number}{behind}\")");
        }
        let ends = "if length > 1 and startswith(\"1\") then \"th\" else {\"1\": \"st\", \"2\": \"nd\", \"3\": \"rd\"}[.[-1:]] // \"th\" end";
        let begins = if before.is_empty() { String::new() } else { format!("strftime(\"{before}\") + ") };
        format!("{seconds} | {begins}(strftime(\"{number}\") | . + ({ends})) + strftime(\"{behind}\")")
    }
}

fn ordinal(day: i8) -> &'static str {
    match (day, day % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// The days that a text names with their months, each with its year: in its order.
pub(crate) fn dated(text: &str) -> Vec<(Range<usize>, Dated)> {
    let mut found: Vec<(Range<usize>, Dated)> = Vec::new();
    for (start, word) in words(text) {
        let Some((month, length)) = named(word, &MONTHS) else { continue };
        let done = found.last().map_or(0, |(range, _)| range.end);
        let one = Around { text, start, end: start + word.len(), month, length };
        if let Some(one) = one.month_first().or_else(|| one.day_first()).filter(|(range, _)| range.start >= done) {
            found.push(one);
        }
    }
    found
}

/// The words of letters of a text, and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= SHORT);
    words.map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Which of some names a word is, whole or short; `May` is whole.
fn named(word: &str, names: &[&str]) -> Option<(usize, Length)> {
    let is = |length: Length| names.iter().position(|name| length.of(name) == word).map(|at| (at, length));
    is(Length::Full).or_else(|| is(Length::Short))
}

/// A month in a text.
struct Around<'t> {
    text: &'t str,
    start: usize,
    end: usize,
    month: usize,
    length: Length,
}

impl Around<'_> {
    /// `March 2, 2026`.
    fn month_first(&self) -> Option<(Range<usize>, Dated)> {
        let rest = self.text[self.end..].strip_prefix(' ')?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = rest.split_at_checked(digits).filter(|_| (1..=2).contains(&digits))?;
        let (is_ordinal, rest) = without_ordinal(number, rest)?;
        let (has_comma, year, rest) = year(rest)?;
        let form = DayForm { is_month_first: true, has_comma, is_ordinal, ..self.form(number) };
        self.dated(self.start, self.text.len() - rest.len(), (number, year), form)
    }

    /// `2 March 2026`.
    fn day_first(&self) -> Option<(Range<usize>, Dated)> {
        let (has_comma, year, rest) = year(&self.text[self.end..])?;
        let before = self.text[..self.start].strip_suffix(' ')?;
        let (has_of, before) = before.strip_suffix(" of").map_or((false, before), |before| (true, before));
        let letters = before.len() - before.trim_end_matches(|c: char| c.is_ascii_lowercase()).len();
        let (before, ending) = before.split_at(before.len() - letters);
        let begin = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number = &before[begin..];
        let (is_ordinal, left) = without_ordinal(number, ending)?;
        let joins = before[..begin].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "-./".contains(c));
        if !left.is_empty() || joins || !(1..=2).contains(&number.len()) {
            return None;
        }
        let form = DayForm { has_of, has_comma, is_ordinal, ..self.form(number) };
        self.dated(begin, self.text.len() - rest.len(), (number, year), form)
    }

    fn form(&self, number: &str) -> DayForm {
        DayForm {
            weekday: None,
            month: self.length,
            is_month_first: false,
            has_of: false,
            has_zero: number.starts_with('0'),
            is_ordinal: false,
            has_comma: false,
        }
    }

    fn dated(
        &self,
        start: usize,
        end: usize,
        (number, year): (&str, &str),
        form: DayForm,
    ) -> Option<(Range<usize>, Dated)> {
        let month = i8::try_from(self.month + 1).ok()?;
        let date = Date::new(year.parse().ok()?, month, number.parse().ok()?).ok()?;
        let weekday = self.weekday(start, date);
        let start = weekday.map_or(start, |(start, _)| start);
        let form = DayForm { weekday: weekday.map(|(_, named)| named), ..form };
        (self.text.get(start..end) == Some(&form.write(date))).then_some((start..end, Dated { date, form }))
    }

    /// The day of the week before a day, where it is that one.
    fn weekday(&self, start: usize, date: Date) -> Option<(usize, Named)> {
        let before = self.text[..start].strip_suffix(' ')?;
        let (has_comma, before) = before.strip_suffix(',').map_or((false, before), |before| (true, before));
        let (begin, word) = words(before).last().filter(|(begin, word)| begin + word.len() == before.len())?;
        let (at, length) = named(word, &WEEKDAYS)?;
        let weekday = Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()?;
        (date.weekday() == weekday).then_some((begin, Named { length, has_comma }))
    }
}

/// Whether the ending of an ordinal number stands there, and what stands behind it; nothing where it is that of another one.
fn without_ordinal<'t>(number: &str, rest: &'t str) -> Option<(bool, &'t str)> {
    let ending = ordinal(number.parse().ok()?);
    match rest.strip_prefix(ending) {
        Some(rest) => Some((true, rest)),
        None => (!rest.starts_with(|c: char| c.is_alphanumeric())).then_some((false, rest)),
    }
}

/// The year that stands there, whether a comma does before it, and what stands behind it.
fn year(rest: &str) -> Option<(bool, &str, &str)> {
    let (has_comma, rest) = rest.strip_prefix(',').map_or((false, rest), |rest| (true, rest));
    let (year, rest) = rest.strip_prefix(' ')?.split_at_checked(YEAR)?;
    let is_year = year.bytes().all(|byte| byte.is_ascii_digit()) && !rest.starts_with(|c: char| c.is_alphanumeric());
    is_year.then_some((has_comma, year, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_as_it_is_written() {
        for (text, piece, day) in [
            ("Come on 2 March 2026.", "2 March 2026", "2026-03-02"),
            ("by March 2, 2026, please", "March 2, 2026", "2026-03-02"),
            ("until Mar 21st, 2026", "Mar 21st, 2026", "2026-03-21"),
            ("the 11th of May 2026", "11th of May 2026", "2026-05-11"),
            ("Monday, 02 March 2026", "Monday, 02 March 2026", "2026-03-02"),
            ("Mon 2 Mar 2026", "Mon 2 Mar 2026", "2026-03-02"),
            // Another day of the week is not written with the day.
            ("Tuesday, 2 March 2026", "2 March 2026", "2026-03-02"),
        ] {
            let found = dated(text);
            let found: Vec<(&str, String)> = found.into_iter().map(|(range, one)| (&text[range], one.day())).collect();
            assert_eq!(found, [(piece, day.to_owned())], "{text}");
        }
        for text in [
            "31 February 2026",
            "May 2026",
            "12-2 March 2026",
            "March 2th, 2026",
            "2 March 20261",
            "Marching 2, 2026",
            "é 2 Märch 2026",
        ] {
            assert_eq!(dated(text), [], "{text}");
        }
    }

    #[test]
    fn the_common_forms_write_what_is_read() {
        let date = Date::new(2026, 3, 2).unwrap();
        let written: Vec<String> = DayForm::common().map(|form| form.write(date)).collect();
        assert_eq!(written, ["2 March 2026", "March 2, 2026", "2 Mar 2026", "Mar 2, 2026"]);
        for text in written {
            assert_eq!(dated(&text).len(), 1, "{text}");
        }
    }
}
