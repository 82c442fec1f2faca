//! How long something takes, as a person writes it (`90s`, `10m`, `2h`) and as it is said (`10 minutes`).

/// Units, the longest first: the letter, the word, and the milliseconds.
const UNITS: [(char, &str, u64); 3] = [('h', "hour", 3_600_000), ('m', "minute", 60_000), ('s', "second", 1_000)];

/// Reads a whole number of seconds, minutes or hours, as milliseconds; not none of them.
pub(crate) fn read(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let (.., milliseconds) = UNITS.into_iter().find(|(letter, ..)| unit.chars().eq([*letter]))?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|number| digits && *number > 0)?.checked_mul(milliseconds)
}

/// Says milliseconds in the largest unit of which they are a whole number.
pub(crate) fn said(milliseconds: u64) -> String {
    let whole = UNITS.into_iter().find(|(.., unit)| milliseconds > 0 && milliseconds.is_multiple_of(*unit));
    let (word, count) = whole.map_or(("millisecond", milliseconds), |(_, word, unit)| (word, milliseconds / unit));
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_as_people_write_it_and_said_in_words() {
        for (text, said_so) in [("10s", "10 seconds"), ("60s", "1 minute"), ("90m", "90 minutes"), ("2h", "2 hours")] {
            assert_eq!(read(text).map(said).as_deref(), Some(said_so));
        }
        for text in ["", "s", "0s", "10", "1.5m", "-1s", "10d", "1h 5m", "99999999999999999999h", "1µ", "+1s"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(said(1_500), "1500 milliseconds");
    }
}
