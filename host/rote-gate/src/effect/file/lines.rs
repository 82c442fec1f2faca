//! Which lines of a file a change made, and what it did to their meaning.

use std::time::{Duration, Instant};

use rote_govern::intent::MutationClass;
use rote_govern::traced::LineRange;
use rote_types::sha256;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// Longest time of a comparison; what is behind it then counts as new.
const LONGEST: Duration = Duration::from_millis(200);
/// Most lines of a file that is compared; all of a longer one count as new.
const MAX_LINES: usize = 100_000;
/// Most ranges; more are one.
const MAX_RANGES: usize = 1_000;

/// The lines that are new: all of a new file, none of what is not text.
pub(super) fn ranges(before: Option<&[u8]>, after: &[u8]) -> Vec<LineRange> {
    let Ok(new) = std::str::from_utf8(after) else { return Vec::new() };
    let is_short = |text: &&str| text.lines().nth(MAX_LINES).is_none();
    let old = before.and_then(|old| std::str::from_utf8(old).ok());
    let Some(old) = old.filter(is_short).filter(|_| is_short(&new)) else {
        return LineRange::whole(new).into_iter().collect();
    };
    let (old, new_lines): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new_lines, Some(Instant::now() + LONGEST));
    let made: Vec<(usize, usize)> = operations.iter().filter_map(made).collect();
    match made.as_slice() {
        [(0, to)] if *to == new_lines.len() => LineRange::whole(new).into_iter().collect(),
        [(from, _), .., (_, to)] if made.len() > MAX_RANGES => vec![range(&new_lines, (*from, *to))],
        made => made.iter().map(|made| range(&new_lines, *made)).collect(),
    }
}

/// The lines that an operation makes, from the first to the one behind the last.
fn made(operation: &DiffOp) -> Option<(usize, usize)> {
    match *operation {
        DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
            Some((new_index, new_index + new_len))
        }
        DiffOp::Equal { .. } | DiffOp::Delete { .. } => None,
    }
}

fn range(lines: &[&str], (from, to): (usize, usize)) -> LineRange {
    let number = |line: usize| u64::try_from(line).unwrap_or(u64::MAX);
    let content_hash = sha256(lines[from..to].join("\n").as_bytes());
    LineRange { start_line: number(from + 1), end_line: number(to), content_hash }
}

/// What a change does to the meaning, as far as it can be told of any language: nothing where only blanks are others.
pub(super) fn class(before: Option<&[u8]>, after: Option<&[u8]>) -> MutationClass {
    let words = |bytes: &'_ [u8]| bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>();
    match (before, after) {
        (Some(before), Some(after)) if words(before) == words(after) => MutationClass::AstRefactor,
        _ => MutationClass::IntentEvolution,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(before: &str, after: &str) -> Vec<(u64, u64)> {
        let ranges = ranges(Some(before.as_bytes()), after.as_bytes());
        ranges.into_iter().map(|range| (range.start_line, range.end_line)).collect()
    }

    #[test]
    fn the_lines_that_are_new_are_named() {
        assert_eq!(of("a\nb\nc\n", "a\nx\nc\ny\nz\n"), [(2, 2), (4, 5)]);
        assert_eq!(of("a\nb\n", "a\n"), []);
        assert_eq!(of("a\n", "b\n"), [(1, 1)]);
        assert_eq!(of("", "a\nb"), [(1, 2)]);
        assert_eq!(ranges(None, b"\xff"), []);
        assert_eq!(ranges(None, b"a\n")[0].content_hash, sha256(b"a\n"));
        assert_eq!(ranges(Some(b"a\nb\nc"), b"a\nx\ny\nc")[0].content_hash, sha256(b"x\ny"));
        let (old, new): (String, String) =
            ((0..5_000).map(|n| format!("{n}\n")).collect(), (0..5_000).map(|n| format!("{}\n", n * n)).collect());
        assert!(of(&old, &new).len() <= MAX_RANGES);
    }

    #[test]
    fn only_blanks_are_a_refactoring() {
        let of = |before: Option<&str>, after: Option<&str>| class(before.map(str::as_bytes), after.map(str::as_bytes));
        assert_eq!(of(Some("if a {b}"), Some("if a {\n    b\n}\n")), MutationClass::AstRefactor);
        assert_eq!(of(Some("a"), Some("b")), MutationClass::IntentEvolution);
        assert_eq!(of(None, Some("a")), MutationClass::IntentEvolution);
        assert_eq!(of(Some("a"), None), MutationClass::IntentEvolution);
    }
}
