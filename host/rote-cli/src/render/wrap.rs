//! Lines that are longer than the terminal is wide, broken between words.

/// Columns that the further lines of a line are set in by at least.
const INDENT: usize = 2;
/// Fewest columns for text behind an indent.
const NARROWEST: usize = 12;

/// Returns text whose lines have at most `columns` characters where there is a blank to break at; further lines are set in
/// below what they go on with, such as the last column of a table.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> String {
    text.split('\n').map(|line| wrap_line(line, columns)).collect::<Vec<_>>().join("\n")
}

fn wrap_line(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let letters: Vec<char> = line.chars().collect();
    let indent = indent(&letters, columns);
    let (mut wrapped, mut rest, mut room) = (String::new(), letters.as_slice(), columns);
    while rest.len() > room {
        // Not in the indent: an empty line would be all that is gained.
        let begin = rest.iter().position(|letter| *letter != ' ').unwrap_or(rest.len());
        let blank = rest.iter().take(room + 1).rposition(|letter| *letter == ' ').filter(|place| *place > begin);
        let Some(end) =
            blank.or_else(|| rest.iter().skip(room).position(|letter| *letter == ' ').map(|more| room + more))
        else {
            break;
        };
        let head: String = rest.iter().take(end).collect();
        wrapped.push_str(head.trim_end());
        wrapped.push('\n');
        wrapped.push_str(&" ".repeat(indent));
        rest = rest.get(end..).unwrap_or_default();
        rest = rest.get(rest.iter().take_while(|letter| **letter == ' ').count()..).unwrap_or_default();
        room = columns.saturating_sub(indent).max(NARROWEST);
    }
    wrapped.extend(rest);
    wrapped
}

/// Where the last gap of two blanks in the first half of the line ends, else a little behind its own indent.
fn indent(letters: &[char], columns: usize) -> usize {
    let own = letters.iter().take_while(|letter| **letter == ' ').count();
    let half = columns / 2;
    let gap = |place: &usize| letters.get(place - 2..*place) == Some(&[' ', ' ']) && letters.get(*place) != Some(&' ');
    (own + 3..=half).rev().find(gap).unwrap_or_else(|| (own + INDENT).min(half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_below_its_text() {
        for (line, columns, expected) in [
            ("short", 10, "short"),
            ("one two three four", 14, "one two three\n  four"),
            (
                "  credential  TRACKER_TOKEN in the header",
                40,
                "  credential  TRACKER_TOKEN in the\n              header",
            ),
            ("a_word_that_is_wider than_the_terminal", 10, "a_word_that_is_wider\n  than_the_terminal"),
            ("    listIssues of a project", 20, "    listIssues of a\n      project"),
            ("äöü äöü äöü", 7, "äöü äöü\n  äöü"),
        ] {
            assert_eq!(wrap(line, columns), expected, "{line}");
        }
    }

    #[test]
    fn nothing_is_lost_and_nothing_is_too_wide() {
        let text = "guard   confirm  it replaces /user/starred/{owner}/{repo} and says so in several words that go on and on\n\n  x";
        for columns in [20, 40, 80] {
            let wrapped = wrap(text, columns);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&wrapped), words(text));
            let longest = words(text).iter().map(String::len).max().unwrap_or(0);
            assert!(
                wrapped.lines().all(|line| line.chars().count() <= columns.max(longest + columns / 2)),
                "{wrapped}"
            );
        }
    }
}
