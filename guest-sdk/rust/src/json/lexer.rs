//! The tokens of a JSON text (RFC 8259).

use std::borrow::Cow;

use super::mismatch::Mismatch;

type Result<T, E = Mismatch> = std::result::Result<T, E>;

/// A position in a text.
#[derive(Debug)]
pub(super) struct Lexer<'de> {
    text: &'de str,
    at: usize,
}

impl<'de> Lexer<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { text, at: 0 }
    }

    /// Skips white space and returns the next byte without taking it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    /// Takes `byte` if it is next, after white space.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes `byte`, or says that the text is not JSON.
    pub(super) fn need(&mut self, byte: u8) -> Result<()> {
        if self.take(byte) { Ok(()) } else { Err(self.broken()) }
    }

    /// Takes a word such as `null`, whose first byte was seen.
    pub(super) fn word(&mut self, word: &str) -> Result<()> {
        if !self.rest().starts_with(word) {
            return Err(self.broken());
        }
        self.at += word.len();
        Ok(())
    }

    /// Takes a number and returns how it is written, and whether it is written as an integer.
    pub(super) fn number(&mut self) -> Result<(&'de str, bool)> {
        self.peek();
        let start = self.at;
        self.at += usize::from(self.byte() == Some(b'-'));
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        let mut is_integer = true;
        if self.byte() == Some(b'.') {
            is_integer = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            is_integer = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok((self.since(start), is_integer))
    }

    /// Takes a string and returns its content.
    pub(super) fn string(&mut self) -> Result<Cow<'de, str>> {
        self.need(b'"')?;
        let mut start = self.at;
        let mut unescaped: Option<String> = None;
        loop {
            let Some(byte) = self.byte() else { return Err(self.broken()) };
            match byte {
                b'"' => {
                    let part = self.since(start);
                    self.at += 1;
                    return Ok(match unescaped {
                        None => Cow::Borrowed(part),
                        Some(mut whole) => {
                            whole.push_str(part);
                            Cow::Owned(whole)
                        }
                    });
                }
                b'\\' => {
                    let part = self.since(start);
                    self.at += 1;
                    let escaped = self.escape()?;
                    let whole = unescaped.get_or_insert_with(String::new);
                    whole.push_str(part);
                    whole.push(escaped);
                    start = self.at;
                }
                0..0x20 => return Err(self.broken()),
                _ => self.at += 1,
            }
        }
    }

    /// Says that the text is not JSON, and where.
    pub(super) fn broken(&self) -> Mismatch {
        Mismatch::new(&format!("not JSON at byte {}", self.at))
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'de str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Tokens begin and end at ASCII, so that the range is always one of characters.
    fn since(&self, start: usize) -> &'de str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at == start { Err(self.broken()) } else { Ok(()) }
    }

    /// Takes what follows a backslash.
    fn escape(&mut self) -> Result<char> {
        let Some(byte) = self.byte() else { return Err(self.broken()) };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.broken()),
        })
    }

    /// Takes four hex digits, and for the first of a pair of surrogates also the second.
    fn unicode(&mut self) -> Result<char> {
        let unit = self.unit()?;
        let code = if let 0xd800..0xdc00 = unit {
            self.word("\\u")?;
            let low = self.unit()?.wrapping_sub(0xdc00);
            if low >= 0x400 {
                return Err(self.broken());
            }
            0x1_0000 + ((unit - 0xd800) << 10) + low
        } else {
            unit
        };
        char::from_u32(code).ok_or_else(|| self.broken())
    }

    fn unit(&mut self) -> Result<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit * 16 + digit.ok_or_else(|| self.broken())?;
            self.at += 1;
        }
        Ok(unit)
    }
}
