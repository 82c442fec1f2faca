//! Stretches of base64 and hexadecimal, decoded at every alignment: what stands before a value moves it.

use std::ops::Range;

/// Lines of base64 in a text, and groups of it between blanks, are at least this long (RFC 2045 has 76 characters, PEM 64, GitHub 60). Hexadecimal has no
/// bound (`pieces`).
const SHORTEST_LINE: usize = 8;
/// Most bytes between two lines: what stands in YAML or XML is set in.
const MAX_GAP: usize = 128;
/// What may stand between two lines, as it is and as JSON writes it.
const BREAKS: [&[u8]; 8] = [b"\\r", b"\\n", b"\\t", b"\r", b"\n", b" ", b"\t", b"\x0c"];
/// Not a character of base64.
const NONE: u8 = 255;

/// What each byte stands for in either alphabet of base64 (RFC 4648 §4 and §5).
const SEXTETS: [u8; 256] = sextets();

#[expect(clippy::cast_possible_truncation, reason = "there are 64 characters, and `try_from` is not const")]
const fn sextets() -> [u8; 256] {
    let mut table = [NONE; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut index = 0;
    while index < alphabet.len() {
        table[alphabet[index] as usize] = index as u8;
        index += 1;
    }
    table[b'-' as usize] = 62;
    table[b'_' as usize] = 63;
    table
}

fn is_base64(byte: u8) -> bool {
    SEXTETS[usize::from(byte)] != NONE
}

/// The characters of a stretch, and where each stands.
struct Run {
    start: usize,
    sextets: Vec<u8>,
    /// From the character of this index on, so many more bytes stand before it: line breaks.
    breaks: Vec<(usize, usize)>,
}

/// How decoded bytes lie in a stretch.
pub(super) struct Place<'r> {
    run: &'r Run,
    /// The first character that was decoded.
    first: usize,
    /// Bits of one character: 6 for base64, 4 for hexadecimal.
    bits: usize,
}

impl Place<'_> {
    /// Where a range of decoded bytes stands in `bytes`, with the padding behind it.
    pub(super) fn origin(&self, range: Range<usize>, bytes: &[u8]) -> Range<usize> {
        let start = self.run.source(self.first + range.start * 8 / self.bits);
        let last = (range.end * 8).div_ceil(self.bits).saturating_sub(1);
        let mut end = self.run.source(self.first + last) + 1;
        let padding = bytes[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
        end += padding;
        start..end
    }
}

impl Run {
    /// Where a character stands.
    fn source(&self, index: usize) -> usize {
        let before = self.breaks.partition_point(|(from, _)| *from <= index);
        self.start + index + before.checked_sub(1).map_or(0, |last| self.breaks[last].1)
    }

    /// Reads the stretch that begins at `start`, over the breaks of its lines.
    fn read(bytes: &[u8], start: usize) -> (Self, usize) {
        let mut run = Self { start, sextets: Vec::new(), breaks: Vec::new() };
        let (mut at, mut skipped) = (start, 0);
        loop {
            let line = bytes[at..].iter().map(|byte| SEXTETS[usize::from(*byte)]).take_while(|one| *one != NONE);
            let before = run.sextets.len();
            run.sextets.extend(line);
            let length = run.sextets.len() - before;
            at += length;
            let gap = line_break(&bytes[at..]);
            if length < SHORTEST_LINE || gap == 0 {
                return (run, at);
            }
            at += gap;
            skipped += gap;
            run.breaks.push((run.sextets.len(), skipped));
        }
    }
}

/// The length of what parts two lines here: line breaks, as they are or as JSON writes them, and blanks before, between and
/// behind them, or blanks alone, as base64 in groups has them.
fn line_break(bytes: &[u8]) -> usize {
    let mut gap = 0;
    while let Some(length) = BREAKS.iter().find(|one| bytes[gap..].starts_with(one)).map(|one| one.len()) {
        gap += length;
        if gap >= MAX_GAP {
            break;
        }
    }
    gap
}

/// Where the stretch begins that ends with these bytes, over the breaks of its lines.
fn beginning(bytes: &[u8]) -> usize {
    let line_before = |end: usize| end - bytes[..end].iter().rev().take_while(|byte| is_base64(**byte)).count();
    let mut start = line_before(bytes.len());
    loop {
        let Some(end) = break_before(&bytes[..start + usize::from(is_of_break(bytes, start))]) else { return start };
        let before = line_before(end);
        if end - before < SHORTEST_LINE {
            return start;
        }
        start = before;
    }
}

/// Whether the letter of a break that is written `\n` stands here: it is not a character of a line.
fn is_of_break(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at), Some(b'n' | b'r' | b't')) && bytes[..at].ends_with(b"\\")
}

/// Where what parts two lines begins that ends these bytes ([`line_break`]).
fn break_before(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    while let Some(before) = BREAKS.iter().find_map(|one| rest.strip_suffix(*one)) {
        rest = before;
        if bytes.len() - rest.len() >= MAX_GAP {
            break;
        }
    }
    (rest.len() < bytes.len()).then_some(rest.len())
}

/// Gives `visit` every reading of every stretch that can hold `shortest` bytes, however long it is: a picture, an
/// archive and a text can hold a value alike.
pub(super) fn each(bytes: &[u8], shortest: usize, visit: &mut dyn FnMut(&[u8], &Place<'_>)) {
    // Four characters of base64 for three bytes; hexadecimal needs more.
    let shortest = (shortest * 4).div_ceil(3);
    let mut decoded = Vec::new();
    let (mut done, mut probe) = (0, shortest.saturating_sub(1));
    // Every stretch that is long enough covers a byte that is looked at.
    while probe < bytes.len() {
        if !is_base64(bytes[probe]) || is_of_break(bytes, probe) {
            // A break may stand within a stretch.
            let within = matches!(bytes[probe], b'\n' | b'\r' | b'\x0c' | b'\\' | b' ' | b'\t' | b'n' | b'r' | b't');
            probe += if within { 1 } else { shortest };
            continue;
        }
        let (run, end) = Run::read(bytes, done + beginning(&bytes[done..=probe]));
        if run.sextets.len() >= shortest {
            base64(&run, &mut decoded, visit);
            hexadecimal(&run, shortest, &mut decoded, visit);
        }
        done = end;
        probe = end + shortest;
    }
}

fn base64(run: &Run, decoded: &mut Vec<u8>, visit: &mut dyn FnMut(&[u8], &Place<'_>)) {
    for first in 0..4.min(run.sextets.len()) {
        of_sextets(&run.sextets[first..], decoded);
        visit(decoded, &Place { run, first, bits: 6 });
    }
}

fn hexadecimal(run: &Run, shortest: usize, decoded: &mut Vec<u8>, visit: &mut dyn FnMut(&[u8], &Place<'_>)) {
    let mut at = 0;
    while at < run.sextets.len() {
        let digits: Vec<u8> = run.sextets[at..].iter().map_while(|sextet| nibble(*sextet)).collect();
        for first in (0..2).filter(|_| digits.len() >= shortest) {
            of_nibbles(&digits[first..], decoded);
            visit(decoded, &Place { run, first: at + first, bits: 4 });
        }
        at += digits.len().max(1);
    }
}

fn of_sextets(sextets: &[u8], decoded: &mut Vec<u8>) {
    decoded.clear();
    let (groups, rest) = sextets.as_chunks::<4>();
    for [a, b, c, d] in groups {
        decoded.extend_from_slice(&[a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
    }
    match rest {
        [a, b] => decoded.push(a << 2 | b >> 4),
        [a, b, c] => decoded.extend_from_slice(&[a << 2 | b >> 4, b << 4 | c >> 2]),
        _ => {}
    }
}

fn of_nibbles(nibbles: &[u8], decoded: &mut Vec<u8>) {
    decoded.clear();
    let (pairs, _) = nibbles.as_chunks::<2>();
    decoded.extend(pairs.iter().map(|[high, low]| high << 4 | low));
}

/// The hexadecimal digit that a character of base64 is as well.
fn nibble(sextet: u8) -> Option<u8> {
    match sextet {
        0..=5 => Some(sextet + 10),
        26..=31 => Some(sextet - 26 + 10),
        52..=61 => Some(sextet - 52),
        _ => None,
    }
}
