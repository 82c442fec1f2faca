//! Hexadecimal in pieces: `73:65:63`, `73 65 63`, `0x73, 0x65`, a dump, lines however short; and whole behind `\x`.

use std::ops::Range;

use memchr::memchr_iter;

/// Digits of one piece are pairs, so that a piece is whole bytes.
const PAIR: usize = 2;

/// What a byte is to hexadecimal in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Digit,
    /// Stands between pieces.
    Mark,
    /// Stands between pieces behind a backslash: a line break as JSON writes it.
    Escaped,
    Other,
}

const KINDS: [Kind; 256] = kinds();

const fn kinds() -> [Kind; 256] {
    let mut table = [Kind::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "the loop ends at 255, and `try_from` is not const")]
        let this = byte as u8;
        table[byte] = match this {
            b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => Kind::Digit,
            b' ' | b'\t' | b'\r' | b'\n' | b'\\' | b'x' | b'X' => Kind::Mark,
            b':' | b'-' | b',' | b'.' | b';' | b'_' | b'|' | b'/' | b'+' | b'"' | b'\'' => Kind::Mark,
            b'n' | b'r' | b't' => Kind::Escaped,
            _ => Kind::Other,
        };
        byte += 1;
    }
    table
}

/// Pieces that follow each other, as bytes, and where each piece begins.
#[derive(Default)]
pub(super) struct Pieces {
    decoded: Vec<u8>,
    /// From the byte of this index on, bytes stand two digits each from that place on.
    starts: Vec<(usize, usize)>,
}

impl Pieces {
    /// Where a range of decoded bytes stands.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        self.place(range.start)..self.place(range.end.saturating_sub(1)) + PAIR
    }

    fn place(&self, at: usize) -> usize {
        let before = self.starts.partition_point(|(index, _)| *index <= at);
        let (index, start) = before.checked_sub(1).map_or((0, 0), |last| self.starts[last]);
        start + (at - index) * PAIR
    }

    fn push(&mut self, piece: &[u8], start: usize) {
        self.starts.push((self.decoded.len(), start));
        let (pairs, _) = piece.as_chunks::<PAIR>();
        self.decoded.extend(pairs.iter().map(|[high, low]| nibble(*high) << 4 | nibble(*low)));
    }

    /// Gives what was gathered to `visit` if it can hold a value, and begins anew.
    fn end(&mut self, shortest: usize, visit: &mut dyn FnMut(&[u8], &Self)) {
        if self.decoded.len() >= shortest {
            visit(&self.decoded, self);
        }
        self.decoded.clear();
        self.starts.clear();
    }
}

/// Gives `visit` the bytes of every stretch of at least two pieces that has `shortest` bytes.
pub(super) fn each(bytes: &[u8], shortest: usize, visit: &mut dyn FnMut(&[u8], &Pieces)) {
    let mut pieces = Pieces::default();
    // A stretch has two digits for each byte, so it covers a byte that is looked at.
    let stride = shortest * PAIR;
    let (mut done, mut probe) = (0, stride.saturating_sub(1));
    while probe < bytes.len() {
        if !belongs(bytes, probe) {
            probe += stride;
            continue;
        }
        let start = (done..probe).rev().take_while(|at| belongs(bytes, *at)).last().unwrap_or(probe);
        let end = (probe..bytes.len()).find(|at| !belongs(bytes, *at)).unwrap_or(bytes.len());
        if end - start > stride {
            split(bytes, start..end, shortest, &mut pieces, visit);
        }
        done = end;
        probe = end + stride;
    }
}

fn belongs(bytes: &[u8], at: usize) -> bool {
    match KINDS[usize::from(bytes[at])] {
        Kind::Digit | Kind::Mark => true,
        Kind::Escaped => at > 0 && bytes[at - 1] == b'\\',
        Kind::Other => false,
    }
}

/// Takes a stretch of digits and marks apart. Digits of an odd number end what stood before them and begin anew.
fn split(
    bytes: &[u8],
    stretch: Range<usize>,
    shortest: usize,
    pieces: &mut Pieces,
    visit: &mut dyn FnMut(&[u8], &Pieces),
) {
    let is_digit = |at: &usize| KINDS[usize::from(bytes[*at])] == Kind::Digit;
    let mut at = stretch.start;
    while let Some(start) = (at..stretch.end).find(is_digit) {
        at = (start..stretch.end).find(|at| !is_digit(at)).unwrap_or(stretch.end);
        let piece = &bytes[start..at];
        let is_prefix = piece == b"0" && matches!(bytes.get(at), Some(b'x' | b'X'));
        if piece.len().is_multiple_of(PAIR) {
            pieces.push(piece, start);
        } else if !is_prefix {
            // A letter before the first piece, or behind the last one, may look like a digit of it.
            pieces.push(&piece[..piece.len() - 1], start);
            pieces.end(shortest, visit);
            pieces.push(&piece[1..], start + 1);
        }
    }
    // One piece by itself is a stretch of its own (`run`).
    if pieces.starts.len() > 1 {
        pieces.end(shortest, visit);
    } else {
        pieces.end(usize::MAX, visit);
    }
}

/// Gives `visit` the bytes of what stands in one piece behind `\x`, as PostgreSQL writes bytes: undoing escapes would take
/// the first of them away.
pub(super) fn behind_backslash(bytes: &[u8], shortest: usize, visit: &mut dyn FnMut(&[u8], &Pieces)) {
    let mut pieces = Pieces::default();
    let mut done = 0;
    for found in memchr_iter(b'\\', bytes) {
        let start = found + 2;
        if start < done || !matches!(bytes.get(found + 1), Some(b'x' | b'X')) {
            continue;
        }
        let digits = bytes[start..].iter().take_while(|byte| KINDS[usize::from(**byte)] == Kind::Digit).count();
        done = start + digits;
        pieces.push(&bytes[start..start + digits], start);
        pieces.end(shortest, visit);
    }
}

fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
