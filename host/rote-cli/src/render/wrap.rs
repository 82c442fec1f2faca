//! Lines that are longer than the terminal is wide, broken between words.

/// Columns that the further lines of a line are set in by at least.
const INDENT: usize = 2;
/// Fewest columns for text behind an indent.
const NARROWEST: usize = 12;
/// What stands at the end of a line of a command that goes on.
const FOLD: &str = " \\";

/// Returns text whose lines have at most `columns` characters where there is a blank to break at; further lines are set in
/// below what they go on with, such as the last column of a table.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> String {
    text.split('\n').map(|line| wrap_line(line, columns)).collect::<Vec<_>>().join("\n")
}

/// Returns a command in lines of at most `columns` characters where a blank between two words allows it; they are the same command
/// for a shell.
#[must_use]
pub fn fold(command: &str, columns: usize) -> String {
    if command.chars().count() <= columns {
        return command.to_owned();
    }
    let mut open = None;
    let words = command.split(|letter| {
        match (letter, open) {
            ('\'' | '"', None) => open = Some(letter),
            (letter, Some(quote)) if letter == quote => open = None,
            _ => {}
        }
        letter == ' ' && open.is_none()
    });
    let own = command.chars().take_while(|letter| *letter == ' ').count();
    let (mut folded, mut used) = (" ".repeat(own), own);
    for word in words.filter(|word| !word.is_empty()) {
        let width = word.chars().count();
        let begins = used == own;
        if !begins && used + 1 + width + FOLD.len() > columns {
            folded = folded + FOLD + "\n" + &" ".repeat(own + INDENT);
            used = own + INDENT;
        } else if !begins {
            folded.push(' ');
            used += 1;
        }
        folded.push_str(word);
        used += width;
    }
    folded
}

/// The characters of a line, each with the colours behind it, which take no room.
fn cells(line: &str) -> Vec<&str> {
    let (mut cells, mut begin, mut shown, mut escaped) = (Vec::new(), 0, false, false);
    for (at, letter) in line.char_indices() {
        if escaped || letter == '\u{1b}' {
            escaped = letter != 'm';
            continue;
        }
        if shown {
            cells.push(&line[begin..at]);
            begin = at;
        }
        shown = true;
    }
    cells.extend(line.get(begin..).filter(|last| !last.is_empty()));
    cells
}

fn wrap_line(line: &str, columns: usize) -> String {
    let cells = cells(line);
    if cells.len() <= columns {
        return line.to_owned();
    }
    let indent = indent(&cells, columns);
    let (mut wrapped, mut rest, mut room) = (String::new(), cells.as_slice(), columns);
    while rest.len() > room {
        let Some(end) = end(rest, room) else { break };
        let (head, behind) = rest.split_at(end);
        let blanks = behind.iter().take_while(|cell| is_blank(cell)).count();
        wrapped.push_str(head.concat().trim_end());
        // The colours of what follows stand behind the last blank.
        wrapped.extend(behind.iter().take(blanks).map(|cell| cell.trim_start_matches(' ')));
        wrapped.push('\n');
        wrapped.push_str(&" ".repeat(indent));
        rest = behind.get(blanks..).unwrap_or_default();
        room = columns.saturating_sub(indent).max(NARROWEST);
    }
    wrapped.extend(rest.iter().copied());
    wrapped
}

fn is_blank(cell: &str) -> bool {
    cell.starts_with(' ')
}

/// Where a line that is too long ends: at the gap between two columns of its second half, else at the last blank.
fn end(rest: &[&str], room: usize) -> Option<usize> {
    // Not in the indent: an empty line would be all that is gained.
    let begin = rest.iter().position(|cell| !is_blank(cell)).unwrap_or(rest.len());
    let gap = |place: &usize| rest.get(*place..*place + 2).is_some_and(|two| two.iter().all(|cell| is_blank(cell)));
    let column = (begin.max(room / 2) + 1..=room).rev().find(gap);
    let blank = || rest.iter().take(room + 1).rposition(|cell| is_blank(cell)).filter(|place| *place > begin);
    let beyond = || rest.iter().skip(room).position(|cell| is_blank(cell)).map(|more| room + more);
    column.or_else(blank).or_else(beyond)
}

/// Where the last gap of two blanks in the first half of the line ends, else a little behind its own indent.
fn indent(cells: &[&str], columns: usize) -> usize {
    let blank = |place: usize| cells.get(place).is_some_and(|cell| is_blank(cell));
    let own = cells.iter().take_while(|cell| is_blank(cell)).count();
    let half = columns / 2;
    let gap = |place: &usize| blank(place - 2) && blank(place - 1) && !blank(*place);
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
            ("  rote @2 '.x'      rote query @2", 24, "  rote @2 '.x'\n    rote query @2"),
            (
                "\u{1b}[1mone\u{1b}[0m two \u{1b}[36mthree\u{1b}[0m",
                8,
                "\u{1b}[1mone\u{1b}[0m two\u{1b}[36m\n  three\u{1b}[0m",
            ),
            ("\u{1b}[1mone\u{1b}[0m two", 7, "\u{1b}[1mone\u{1b}[0m two"),
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

    #[test]
    fn a_command_that_goes_on_is_the_same_command() {
        for (command, columns, expected) in [
            ("  rote ls", 9, "  rote ls"),
            ("  rote call a b c=d", 16, "  rote call a \\\n    b c=d"),
            ("rote @1 '.[] | .a' -r", 14, "rote @1 \\\n  '.[] | .a' \\\n  -r"),
            ("a_word_that_is_wider x", 10, "a_word_that_is_wider \\\n  x"),
        ] {
            let folded = fold(command, columns);
            assert_eq!(folded, expected, "{command}");
            assert_eq!(
                crate::complete::split(&folded.replace("\\\n", "")),
                crate::complete::split(command.trim_start())
            );
        }
    }
}
