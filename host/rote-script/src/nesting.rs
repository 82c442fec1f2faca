//! Bounds the depth of a source's syntax tree before a recursive parser sees it.
//!
//! Two counts, both from the scanner's pieces. Brackets: how many are open at once. Links: every level of a tree that is
//! not a bracket takes at least one word, literal or mark of its own (`!!!x`, `a => b => c`, `if (a) if (b)`,
//! `x + y + z`), so the pieces since the last place where a tree must end, summed over the open brackets, bound the
//! rest. A `;` ends every tree but that of an `if` whose `else` follows; so does a line's end between a value and a word
//! that only starts statements. A `,` ends a tree except between type arguments and behind an `if`.

use crate::place::place;
use crate::scan::{AmbiguousSlash, Kind, Scanner};
use crate::{BundleLimits, ScriptError};

/// The most brackets open at one place, whatever the limits say.
const MAX_BRACKETS: usize = 500;
/// The most links of a chain. Real code has hundreds. The printer indents by depth and a few rules of the parser look
/// ahead along the chain, so time and output grow with its square.
const MAX_LINKS: usize = 5_000;
/// Words that start a statement and cannot go on an expression or a type.
const STARTERS: [&str; 9] = ["const", "let", "var", "return", "throw", "break", "continue", "import", "export"];

/// The pieces of one open bracket (or of the file) since a tree last ended there.
#[derive(Default)]
struct Level {
    links: usize,
    /// `links` at the last `;`, for an `else`.
    before_end: usize,
    /// A `,` does not end a tree: type arguments or an `if` are open.
    holds_commas: bool,
}

/// Checks that a source can be parsed within the stack that parsing has.
///
/// # Errors
/// [`ScriptError::Nesting`] with the place where a bound is passed, [`ScriptError::Refused`] for a `/` that the scanner
/// cannot tell.
pub(crate) fn check(file: &str, source: &str, limits: &BundleLimits) -> Result<(), ScriptError> {
    let max_brackets = limits.nesting.min(MAX_BRACKETS);
    let mut levels = vec![Level::default()];
    let mut total = 0;
    for piece in Scanner::new(source) {
        let piece = piece.map_err(|AmbiguousSlash(at)| ambiguous(file, source, at))?;
        match piece.kind {
            Kind::Comment => continue,
            Kind::Close if levels.len() > 1 => total -= levels.pop().map_or(0, |level| level.links),
            _ => {}
        }
        let Some(level) = levels.last_mut() else { break };
        let text = &source[piece.start..piece.end];
        if piece.after_line && piece.kind == Kind::Word && STARTERS.contains(&text) {
            total -= finish(level, Kind::Mark(b';'));
        }
        total += count(level, piece.kind, text);
        total -= finish(level, piece.kind);
        if piece.kind == Kind::Open {
            levels.push(Level::default());
        }
        let reason = if levels.len() > max_brackets + 1 {
            format!("more than {max_brackets} open brackets")
        } else if total > MAX_LINKS {
            format!("more than {MAX_LINKS} words and operators in one statement; end statements with `;`")
        } else {
            continue;
        };
        return Err(ScriptError::Nesting { at: place(file, source, piece.start), reason });
    }
    Ok(())
}

/// Counts a piece and returns by how much the total grows.
fn count(level: &mut Level, kind: Kind, text: &str) -> usize {
    let mut grown = 1;
    match kind {
        Kind::Word if text == "else" => {
            level.holds_commas = true;
            grown += level.before_end;
        }
        Kind::Word if text == "if" => level.holds_commas = true,
        Kind::Mark(b'<') => level.holds_commas = true,
        _ => {}
    }
    if kind != Kind::Mark(b';') {
        level.before_end = 0;
    }
    level.links += grown;
    grown
}

/// Ends the tree if the piece does, and returns by how much the total shrinks.
fn finish(level: &mut Level, kind: Kind) -> usize {
    match kind {
        Kind::Mark(b',') if !level.holds_commas => std::mem::take(&mut level.links),
        Kind::Mark(b';') => {
            level.holds_commas = false;
            level.before_end = level.links;
            std::mem::take(&mut level.links)
        }
        _ => 0,
    }
}

fn ambiguous(file: &str, source: &str, at: usize) -> ScriptError {
    ScriptError::Refused {
        at: place(file, source, at),
        what: "this `/`".into(),
        reason: "it may divide or start a regular expression; put parentheses around the regular expression, \
                 or the division on one line"
            .into(),
    }
}
