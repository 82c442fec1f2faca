//! Numbers as people write them in texts: `1741.25`, `1,741.25`, `1 741,25`; and the programs that write them so again.

use std::ops::Range;

use super::path::path_of;

/// The marks that stand between groups of three digits, beside the spaces.
const GROUPS: [char; 6] = [',', '.', '\'', ' ', '\u{a0}', '\u{202f}'];
/// Most digits behind the point that a program writes.
const MAX_DECIMALS: usize = 8;
/// What a program that writes a number has behind the parts to which it rounds it.
const WRITES: &str = " | round) | (if . < 0 then \"-\" else \"\" end) + (fabs | ";
/// The end of a program that writes a whole number without a point.
const TRIMS: &str = " | if . == round then round else . end";
/// Such a program, as a person is told of it.
const PLAINLY: &str = " (written as a number)";

/// A number in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// The same as an answer has it, without zeros at the end: `1741.25`.
    pub(crate) number: String,
    /// How many digits it has behind the point.
    pub(crate) decimals: usize,
    point: char,
    /// What stands between groups of three digits, where there is something.
    group: Option<char>,
}

impl Written {
    /// Reads a number; none of what may be a version, a day or a list of numbers.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let marks: Vec<(usize, char)> = text.char_indices().filter(|(_, c)| !c.is_ascii_digit()).collect();
        let behind = |(at, mark): (usize, char)| text.len() - at - mark.len_utf8();
        let (point, group) = match marks.as_slice() {
            [] => (None, None),
            [one @ (_, '.')] => (Some(*one), None),
            [one @ (_, ',')] if (1..=2).contains(&behind(*one)) => (Some(*one), None),
            [(_, only)] => (None, Some(*only)),
            [(_, first), .., last @ (_, end)] if first != end => (Some(*last), Some(*first)),
            [(_, first), ..] => (None, Some(*first)),
        };
        let end = point.map_or(text.len(), |(at, _)| at);
        let whole = &text[..end];
        let rest = point.map_or("", |(at, mark)| &text[at + mark.len_utf8()..]);
        if let Some(group) = group {
            let mut groups = whole.split(group);
            let first = groups.next()?;
            let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            let grouped = (1..=3).contains(&first.len()) && groups.all(|part| part.len() == 3 && is_digits(part));
            GROUPS.contains(&group).then_some(()).filter(|()| grouped)?;
        }
        let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
        let is_point = point.is_none_or(|(_, mark)| ".,".contains(mark)) && (point.is_none() || !rest.is_empty());
        if digits.is_empty() || !is_point || rest.len() > MAX_DECIMALS || group.is_none() && digits.len() < whole.len()
        {
            return None;
        }
        let short = rest.trim_end_matches('0');
        let number = if short.is_empty() { digits } else { format!("{digits}.{short}") };
        Some(Self { number, decimals: rest.len(), point: point.map_or('.', |(_, mark)| mark), group })
    }

    /// Whether it is of digits alone.
    pub(crate) fn is_plain(&self) -> bool {
        self.group.is_none() && self.decimals == 0
    }

    /// The program that writes so what another one gives; a fraction of one digit may have more in another run.
    pub(crate) fn program(&self, jq: &str) -> String {
        if self.group.is_none() && self.point == '.' && self.decimals < 2 {
            return trimmed(&rounded(jq, 8));
        }
        written(jq, self.decimals, self.point, self.group)
    }
}

/// The program that writes `80` where another one gives `80.0`.
pub(crate) fn trimmed(jq: &str) -> String {
    format!("{jq}{TRIMS}")
}

/// The program that rounds what another one gives: decimal fractions added up as binary ones are not exact.
pub(crate) fn rounded(jq: &str, decimals: usize) -> String {
    let parts = format!("1{}", "0".repeat(decimals));
    format!("({jq}) * {parts} | round / {parts}")
}

/// Whether a number is written with two digits behind the point: `48.20`.
pub(crate) fn has_hundredths(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(_, rest)| rest.len() == 2)
}

/// The program that writes the number that another one gives with two digits behind the point.
pub(crate) fn with_hundredths(jq: &str) -> String {
    written(jq, 2, '.', None)
}

fn written(jq: &str, decimals: usize, point: char, group: Option<char>) -> String {
    // What is only a path stays one, so that it can be told of which item of a list it is.
    let jq = if path_of(jq).is_some() { jq.to_owned() } else { format!("({jq})") };
    let too_large = "error(\"an amount of that size has no hundredths\")";
    let zeros = "0".repeat(decimals);
    let grouped = |whole: &str| match group {
        Some(group) => {
            let cut = "([length - 3, 0] | max)";
            format!("({whole} | [while(. != \"\"; .[:{cut}]) | .[{cut}:]] | reverse | join(\"{group}\"))")
        }
        None => whole.to_owned(),
    };
    let (parts, digits) = if decimals == 0 {
        (String::new(), grouped("."))
    } else {
        let least = decimals + 1;
        let padded = format!("(if length < {least} then \"{zeros}\"[length - 1:] + . else . end)");
        let whole = grouped(&format!(".[:length - {decimals}]"));
        (format!(" * 1{zeros}"), format!("{padded} | {whole} + \"{point}\" + .[length - {decimals}:]"))
    };
    format!("{jq} | (.{parts}{WRITES}(if . >= 1e15 then {too_large} else tostring end) | {digits})")
}

/// A text with a few words in the place of all that only writes numbers in the programs which it quotes: nobody reads 300 characters of that.
pub(crate) fn plainly(text: &str) -> String {
    let mut told = String::new();
    let mut rest = text;
    while let Some(Range { start, end }) = writing(rest) {
        // The words are not a part of the program.
        let quote = if rest[end..].starts_with('`') { "`" } else { "" };
        told.extend([&rest[..start], quote, PLAINLY]);
        rest = &rest[end + quote.len()..];
    }
    told + rest
}

/// What a program reads that writes a number of it; the program itself where it writes none.
pub(crate) fn unwritten(jq: &str) -> &str {
    let Some(Range { start, .. }) = writing(jq).filter(|range| range.end == jq.len()) else { return jq };
    let read = &jq[..start];
    // What is not only a path was put into parentheses.
    let inner = read.strip_prefix('(').and_then(|read| read.strip_suffix(')'));
    inner.filter(|_| jq[start..].contains(WRITES)).unwrap_or(read)
}

/// Where a text has the first part of a program that only writes a number.
fn writing(text: &str) -> Option<Range<usize>> {
    let trims = text.match_indices(TRIMS).map(|(start, found)| start..start + found.len()).next();
    let writes = text.match_indices(WRITES).find_map(|(at, found)| {
        let start = text[..at].rfind(" | (.")?;
        let (mut depth, mut quoted) = (1, false);
        let closes = |c: char| {
            quoted ^= c == '"';
            depth += i32::from(!quoted && c == '(') - i32::from(!quoted && c == ')');
            depth == 0
        };
        let behind = at + found.len();
        Some(start..behind + text[behind..].find(closes)? + 1)
    });
    [trims, writes].into_iter().flatten().min_by_key(|range| range.start)
}

/// The amounts that a text names with marks, `1,200`, `49.90` and `1 741,25`.
pub(crate) fn amounts(text: &str) -> impl Iterator<Item = (Range<usize>, Written)> {
    let spaced = spaced(text);
    let meets =
        move |range: &Range<usize>| spaced.iter().any(|(one, _)| one.start < range.end && range.start < one.end);
    let word = |c: char| c.is_ascii_alphanumeric() || ".,_-".contains(c);
    let words = text.split(move |c| !word(c)).filter_map(move |word| {
        let amount = word.trim_matches(|c: char| ".,".contains(c));
        let written = Written::of(amount).filter(|one| !one.is_plain())?;
        let start = amount.as_ptr() as usize - text.as_ptr() as usize;
        Some((start..start + amount.len(), written))
    });
    self::spaced(text).into_iter().chain(words.filter(move |(range, _)| !meets(range)))
}

/// Those whose groups of digits are parted by spaces or by `'`. A plain space says nothing without digits behind a point:
/// `room 1 200 seats`.
fn spaced(text: &str) -> Vec<(Range<usize>, Written)> {
    let joins = |c: char| c.is_alphanumeric() || "_-.,".contains(c);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()).map(|first| at + first) {
        let end =
            text[start..].find(|c: char| !c.is_ascii_digit() && !GROUPS.contains(&c)).unwrap_or(text.len() - start);
        let run = text[start..start + end].trim_end_matches(|c: char| !c.is_ascii_digit());
        at = start + run.len();
        let outside = [text[..start].chars().next_back(), text[at..].chars().next().filter(|c| !".,".contains(*c))];
        let written = Written::of(run).filter(|one| match one.group {
            Some(' ') => one.decimals > 0,
            Some(group) => !".,".contains(group),
            None => false,
        });
        if let Some(written) = written.filter(|_| !outside.into_iter().flatten().any(joins)) {
            found.push((start..at, written));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_the_number_that_it_writes() {
        let text = "Pay 1,200 or 49.90, 120.00, 75.5. Not 12, v2.4, 1.2.3 or 10.x";
        let found: Vec<(&str, String)> = amounts(text).map(|(range, one)| (&text[range], one.number)).collect();
        let wanted = [("1,200", "1200"), ("49.90", "49.9"), ("120.00", "120"), ("75.5", "75.5")];
        assert_eq!(found, wanted.map(|(written, number)| (written, number.to_owned())));
    }

    #[test]
    fn groups_of_digits_are_parted_by_commas_points_and_spaces() {
        for (text, wanted) in [
            ("€1,741.25 in all", Some(("1,741.25", "1741.25", 2))),
            ("Sum 1 741,25.", Some(("1 741,25", "1741.25", 2))),
            ("1.741,25 €", Some(("1.741,25", "1741.25", 2))),
            ("741,5", Some(("741,5", "741.5", 1))),
            ("12'345'678 CHF", Some(("12'345'678", "12345678", 0))),
            ("1\u{a0}741", Some(("1\u{a0}741", "1741", 0))),
            ("room 1 200 seats", None),
            ("1,2,3", None),
            ("1,2345", None),
            ("2026-01-02", None),
            ("12 34,5", Some(("34,5", "34.5", 1))),
        ] {
            let found = amounts(text).next();
            let found = found.as_ref().map(|(range, one)| (&text[range.clone()], one.number.as_str(), one.decimals));
            assert_eq!(found, wanted, "{text}");
        }
    }

    #[test]
    fn a_person_is_told_of_a_written_number_without_its_program() {
        let amount = |text: &str| Written::of(text).unwrap().program(".a");
        for (text, wanted) in [
            (format!("`{}` of @1", amount("48.20")), "`.a` (written as a number) of @1"),
            (
                format!("{} of @1 and `{}` of @2: so?", amount("1 741,25"), trimmed(".b | .c")),
                ".a (written as a number) of @1 and `.b | .c` (written as a number) of @2: so?",
            ),
            (format!("`{}`", amount("1'741")), "`.a` (written as a number)"),
            (format!("`{}`", with_hundredths("(.a)")), "`((.a))` (written as a number)"),
            ("`.a | round` of (@1)".to_owned(), "`.a | round` of (@1)"),
        ] {
            assert_eq!(plainly(&text), wanted);
        }
        for (jq, read) in [
            (with_hundredths(".items[0].a"), ".items[0].a"),
            (with_hundredths("(.a) | max_by(.b) | (.c)"), "(.a) | max_by(.b) | (.c)"),
            (trimmed("(.a)"), "(.a)"),
            (format!("{} | .[1:]", with_hundredths(".a")), &format!("{} | .[1:]", with_hundredths(".a"))),
        ] {
            assert_eq!(unwritten(&jq), read);
        }
    }

    #[test]
    fn what_is_only_a_path_stays_one() {
        assert!(with_hundredths(".a").starts_with(".a | (. * 100 | round)"));
        assert!(with_hundredths("(.a)").starts_with("((.a)) | "));
    }
}
