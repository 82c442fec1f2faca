//! Undoing escapes of one level: percent, JSON and C, HTML.

use std::ops::Range;

use memchr::{memchr3, memmem};

use super::entity::{named, unended};

/// Most digits of a numeric character reference that are read: zeros may stand before the number.
const MAX_DIGITS: usize = 32;

/// A text with one level of escapes undone, and the way back.
pub(super) struct Plain {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

/// Escapes of one shape that follow each other: each of `wide` bytes in the source gave `narrow` bytes.
struct Piece {
    at: usize,
    from: usize,
    wide: usize,
    narrow: usize,
    count: usize,
}

impl Piece {
    fn end(&self) -> usize {
        self.at + self.narrow * self.count
    }

    fn source_end(&self) -> usize {
        self.from + self.wide * self.count
    }
}

/// Which escapes are undone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kinds {
    percent: bool,
    backslash: bool,
    entity: bool,
    /// A character reference without a semicolon ends where the next one begins, as browsers read it. Otherwise that one
    /// may be a digit of the first.
    eager: bool,
    /// All levels of percent are undone at once.
    deep: bool,
}

impl Kinds {
    const NONE: Self = Self { percent: false, backslash: false, entity: false, eager: false, deep: false };
    pub(super) const ALL: Self = Self { percent: true, backslash: true, entity: true, ..Self::NONE };
    /// Percent alone, with all its levels at once.
    pub(super) const LEVELS: Self = Self { deep: true, ..Self::NONE };
    /// Character references, which may end where the next one begins.
    pub(super) const ENTITIES: Self = Self { entity: true, eager: true, ..Self::NONE };
    /// Each kind by itself.
    pub(super) const SINGLE: [Self; 4] = [
        Self { percent: true, ..Self::NONE },
        Self { backslash: true, ..Self::NONE },
        Self { entity: true, ..Self::NONE },
        Self::ENTITIES,
    ];
}

/// What an escape stands for.
pub(super) struct Escape {
    /// Its bytes in the source.
    pub(super) length: usize,
    pub(super) meaning: Meaning,
}

pub(super) enum Meaning {
    Byte(u8),
    Char(char),
}

/// Undoes one level of escapes; `None` when there are none. `\"` is left alone unless `quotes` says so, and so are
/// `\n` and its like: no value has a control character, and half of all JSON has those two.
pub(super) fn unescape(source: &[u8], kinds: Kinds, quotes: bool) -> Option<Plain> {
    let mut plain = Plain { bytes: Vec::new(), pieces: Vec::new() };
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr3(b'%', b'\\', b'&', &source[at..]) {
        let start = at + found;
        let rest = &source[start..];
        let escape = match rest[0] {
            b'%' if kinds.deep => percents(rest),
            b'%' if kinds.percent => percent(rest),
            b'\\' if kinds.backslash => backslash(rest, quotes),
            b'&' if kinds.entity => entity(rest, kinds.eager),
            _ => None,
        };
        let Some(Escape { length, meaning }) = escape else {
            // The sign after a backslash is not looked at as the beginning of another escape: `\\u` is not `\u`.
            at = source.len().min(start + if matches!(rest, [b'\\', b'"' | b'n' | b't' | b'r', ..]) { 2 } else { 1 });
            continue;
        };
        if plain.pieces.is_empty() {
            plain.bytes.reserve(source.len());
        }
        plain.bytes.extend_from_slice(&source[copied..start]);
        plain.push(start, length, &meaning);
        at = start + length;
        copied = at;
    }
    if plain.pieces.is_empty() {
        return None;
    }
    plain.bytes.extend_from_slice(&source[copied..]);
    Some(plain)
}

impl Plain {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn push(&mut self, from: usize, wide: usize, meaning: &Meaning) {
        let at = self.bytes.len();
        match *meaning {
            Meaning::Byte(byte) => self.bytes.push(byte),
            Meaning::Char(char) => self.bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        let narrow = self.bytes.len() - at;
        match self.pieces.last_mut() {
            Some(last) if (last.wide, last.narrow, last.end(), last.source_end()) == (wide, narrow, at, from) => {
                last.count += 1;
            }
            _ => self.pieces.push(Piece { at, from, wide, narrow, count: 1 }),
        }
    }

    /// Where the bytes of a range come from.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        let last = range.end.saturating_sub(1);
        self.place(range.start).start..self.place(last).end
    }

    /// The source of one byte.
    fn place(&self, at: usize) -> Range<usize> {
        let before = self.pieces.partition_point(|piece| piece.at <= at);
        let Some(piece) = before.checked_sub(1).map(|index| &self.pieces[index]) else {
            return at..at + 1;
        };
        if at < piece.end() {
            let start = piece.from + (at - piece.at) / piece.narrow * piece.wide;
            return start..start + piece.wide;
        }
        let start = piece.source_end() + (at - piece.end());
        start..start + 1
    }
}

/// `%2F`, and `%u002F` as JavaScript's `escape` writes it.
fn percent(rest: &[u8]) -> Option<Escape> {
    if let Some(byte) = digits(rest, 1, 2, 16) {
        return Some(Escape { length: 3, meaning: Meaning::Byte(u8::try_from(byte).ok()?) });
    }
    let unit = digits(rest, 2, 4, 16).filter(|_| rest[1] == b'u')?;
    Some(Escape { length: 6, meaning: Meaning::Char(char::from_u32(unit)?) })
}

/// `%252525…2F`: what every `%` that is followed by `25` stands for in the end.
fn percents(rest: &[u8]) -> Option<Escape> {
    let levels = rest[1..].chunks_exact(2).take_while(|pair| *pair == b"25").count();
    // The last `25` may be the percent itself, behind which nothing is escaped.
    let of = |levels: usize| {
        let inner = percent(&rest[levels * 2..])?;
        Some(Escape { length: inner.length + levels * 2, meaning: inner.meaning })
    };
    of(levels).or_else(|| of(levels.checked_sub(1)?))
}

/// What JSON, JavaScript, C and their like write after a backslash.
fn backslash(rest: &[u8], quotes: bool) -> Option<Escape> {
    let byte = |length, byte| Some(Escape { length, meaning: Meaning::Byte(byte) });
    match rest.get(1)? {
        b'u' if rest.get(2) == Some(&b'{') => {
            let count = rest[3..].iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
            let point = digits(rest, 3, count, 16).filter(|_| rest.get(3 + count) == Some(&b'}'))?;
            Some(Escape { length: 4 + count, meaning: Meaning::Char(char::from_u32(point)?) })
        }
        b'u' => unit(rest),
        b'U' => {
            let point = digits(rest, 2, 8, 16)?;
            Some(Escape { length: 10, meaning: Meaning::Char(char::from_u32(point)?) })
        }
        b'0'..=b'7' => {
            let count = rest[1..].iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            byte(1 + count, u8::try_from(digits(rest, 1, count, 8)?).ok()?)
        }
        b'x' | b'X' => digits(rest, 2, 2, 16).and_then(|one| byte(4, u8::try_from(one).ok()?)),
        b'"' if !quotes => None,
        sign @ (b'/' | b'\\' | b'\'' | b'"') => byte(2, *sign),
        _ => None,
    }
}

/// One `\uXXXX`, or the two that make a character beyond the first 65,536.
fn unit(rest: &[u8]) -> Option<Escape> {
    let first = digits(rest, 2, 4, 16)?;
    if let Some(char) = char::from_u32(first) {
        return Some(Escape { length: 6, meaning: Meaning::Char(char) });
    }
    let second = digits(rest, 8, 4, 16).filter(|_| rest[6..8] == *b"\\u");
    let pair = second.filter(|second| (0xdc00..0xe000).contains(second) && first < 0xdc00);
    Some(match pair.and_then(|second| char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))) {
        Some(char) => Escape { length: 12, meaning: Meaning::Char(char) },
        None => Escape { length: 6, meaning: Meaning::Char(char::REPLACEMENT_CHARACTER) },
    })
}

/// `&#47;`, `&#x2F;` (with or without the semicolon, as browsers read them) and `&sol;`.
fn entity(rest: &[u8], eager: bool) -> Option<Escape> {
    if rest.get(1) != Some(&b'#') {
        let end = rest.iter().take(10).position(|byte| *byte == b';');
        let whole = end.and_then(|end| Some((end + 1, named(std::str::from_utf8(&rest[1..end]).ok()?)?)));
        let (length, char) = whole.or_else(|| unended(&rest[1..]).map(|(length, char)| (length + 1, char)))?;
        return Some(Escape { length, meaning: Meaning::Char(char) });
    }
    let (start, radix) = if matches!(rest.get(2), Some(b'x' | b'X')) { (3, 16) } else { (2, 10) };
    let of_number = |byte: &&u8| char::from(**byte).is_digit(radix);
    let count = rest.get(start..)?.iter().take(MAX_DIGITS).take_while(of_number).count();
    let char = char::from_u32(digits(rest, start, count, radix)?)?;
    let length = start + count;
    match rest.get(length) {
        Some(b';') => Some(Escape { length: length + 1, meaning: Meaning::Char(char) }),
        // The next digit is an escape itself: this one can be read when that is undone.
        Some(b'\\' | b'%') => None,
        Some(b'&') if !eager => None,
        _ => Some(Escape { length, meaning: Meaning::Char(char) }),
    }
}

/// Whether a character reference ends where the next one begins.
pub(super) fn has_open_reference(source: &[u8]) -> bool {
    memmem::find_iter(source, b"&#").any(|at| {
        let of_number = |byte: &&u8| byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'X');
        let count = source[at + 2..].iter().take(MAX_DIGITS).take_while(of_number).count();
        count > 0 && source.get(at + 2 + count) == Some(&b'&')
    })
}

/// The number of `count` digits at a place.
fn digits(rest: &[u8], start: usize, count: usize, radix: u32) -> Option<u32> {
    let digits = rest.get(start..start + count).filter(|digits| !digits.is_empty())?;
    digits
        .iter()
        .try_fold(0_u32, |number, digit| number.checked_mul(radix)?.checked_add(char::from(*digit).to_digit(radix)?))
}
