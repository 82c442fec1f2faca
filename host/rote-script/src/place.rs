//! Byte offsets of a source to places that a person can find.

use crate::Place;

/// The most characters of a line that an excerpt shows.
const WINDOW: usize = 160;

/// Returns the place of a byte offset; an offset outside of the text, or inside a character, is moved to its edge.
pub(crate) fn place(file: &str, source: &str, offset: usize) -> Place {
    let offset = source.floor_char_boundary(offset);
    let (before, after) = source.split_at(offset);
    let start = before.rfind(is_line_end).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let end = offset + after.find(is_line_end).unwrap_or(after.len());
    let column = before[start..].chars().count();
    let line = 1 + line_ends(&before[..start]);
    let (file, excerpt) = (file.to_owned(), excerpt(&source[start..end], column));
    Place { file, line: saturate(line), column: saturate(column + 1), excerpt }
}

/// Returns the 1-based line of a byte offset.
pub(crate) fn line_of(source: &str, offset: usize) -> u32 {
    saturate(1 + line_ends(&source[..source.floor_char_boundary(offset)]))
}

/// The line terminators of ECMAScript.
pub(crate) fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn line_ends(text: &str) -> usize {
    let pairs = text.matches("\r\n").count();
    text.chars().filter(|&character| is_line_end(character)).count() - pairs
}

fn excerpt(line: &str, column: usize) -> String {
    let skipped = column.saturating_sub(WINDOW / 2);
    let shown: String = line.chars().skip(skipped).take(WINDOW).collect();
    // Tabs stay tabs, so that the caret stands below its character however wide a tab is shown.
    let pad: String = shown.chars().take(column - skipped).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    format!("{shown}\n{pad}^")
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
