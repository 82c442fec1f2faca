//! The input as a value, less what the program does not look at.
//!
//! What is JSON, and what is read beyond it, is jaq's own reader's rule (`jaq_json::read`): the same lexer, the same
//! order of steps, so that the same texts are refused with the same words; jq's `nan` is read too. Else differences are
//! in cost. A string without escapes is not copied out of the input; a container gets its size once; what no part of
//! the program needs (`need.rs`) is checked and left out.

use std::borrow::Cow;

use hifijson::escape::Lex as _;
use hifijson::num::LexWrite as _;
use hifijson::str::LexWrite as _;
use hifijson::token::{Expect, Lex as _};
use hifijson::{Read as _, SliceLexer};
use jaq_json::{Map, Num, Rc, Val};

use crate::evaluate::MAX_DEPTH;
use crate::need::{Field, Need};

/// Why a text is not read.
#[derive(Debug)]
enum Wrong {
    /// Arrays and objects are nested too deeply.
    Deep,
    /// It is not JSON.
    Json(hifijson::Error),
}

impl<E: Into<hifijson::Error>> From<E> for Wrong {
    fn from(error: E) -> Self {
        Self::Json(error.into())
    }
}

type Lexer = SliceLexer<'static>;

/// Children of the containers that are being read, so that each container is made once, in its size.
struct Reader {
    values: Vec<Val>,
    entries: Vec<(Val, Val)>,
    empty: Map,
}

/// Reads exactly one value of which the program needs `need`.
///
/// # Errors
/// What is wrong with the text, and where.
pub(crate) fn read(text: &'static [u8], need: &Need) -> Result<Val, String> {
    let mut lexer = SliceLexer::new(text);
    let mut reader = Reader { values: Vec::new(), entries: Vec::new(), empty: Map::default() };
    let value = lexer.exactly_one(next_token, |next, lexer| reader.value(next, lexer, Some(need), MAX_DEPTH));
    value.map_err(|wrong| match wrong {
        Wrong::Deep => format!("nested deeper than {MAX_DEPTH} levels"),
        Wrong::Json(error) => format!("byte offset {}: {error}", text.len() - lexer.as_slice().len()),
    })
}

/// Skips white space and comments and peeks at what follows.
fn next_token(lexer: &mut Lexer) -> Option<u8> {
    loop {
        lexer.eat_whitespace();
        match lexer.peek_next() {
            Some(b'#') => lexer.skip_until(|byte| byte == b'\n'),
            next => return next,
        }
    }
}

impl Reader {
    /// Reads the value that begins with `next`; without a need it is checked only, and null stands for it.
    fn value(&mut self, next: u8, lexer: &mut Lexer, need: Option<&Need>, depth: usize) -> Result<Val, Wrong> {
        Ok(match next {
            b'n' if lexer.strip_prefix(b"null") => Val::Null,
            b'n' if lexer.strip_prefix(b"nan") => Val::Num(Num::Float(f64::NAN)),
            b't' if lexer.strip_prefix(b"true") => Val::Bool(true),
            b'f' if lexer.strip_prefix(b"false") => Val::Bool(false),
            b'b' if lexer.strip_prefix(b"b\"") => Val::byte_str(bytes_of(string(lexer, true)?)),
            b'N' if lexer.strip_prefix(b"NaN") => Val::Num(Num::Float(f64::NAN)),
            b'I' if lexer.strip_prefix(b"Infinity") => Val::Num(Num::Float(f64::INFINITY)),
            b'0'..=b'9' | b'+' | b'-' => number(lexer, need.is_some())?,
            b'"' => {
                let text = string(lexer.discarded(), false)?;
                if need.is_some() { text_of(text) } else { Val::Null }
            }
            b'[' => self.array(lexer.discarded(), need, depth.checked_sub(1).ok_or(Wrong::Deep)?)?,
            b'{' => self.object(lexer.discarded(), need, depth.checked_sub(1).ok_or(Wrong::Deep)?)?,
            _ => return Err(Expect::Value.into()),
        })
    }

    fn array(&mut self, lexer: &mut Lexer, need: Option<&Need>, depth: usize) -> Result<Val, Wrong> {
        let first = self.values.len();
        let mut place = 0;
        lexer.seq(b']', next_token, |next, lexer| {
            let value = self.value(next, lexer, need.and_then(|need| need.element(place)), depth)?;
            if need.is_some() {
                self.values.push(value);
            }
            place += 1;
            Ok::<_, Wrong>(())
        })?;
        if need.is_none() {
            return Ok(Val::Null);
        }
        Ok(Val::Arr(Rc::new(self.values.drain(first..).collect())))
    }

    fn object(&mut self, lexer: &mut Lexer, need: Option<&Need>, depth: usize) -> Result<Val, Wrong> {
        let first = self.entries.len();
        lexer.seq(b'}', next_token, |next, lexer| {
            let (key, field) = self.key(next, lexer, need, depth)?;
            lexer.expect(next_token, b':').ok_or(Expect::Colon)?;
            let next = next_token(lexer).ok_or(Expect::Value)?;
            let value = self.value(next, lexer, field.need(), depth)?;
            if !matches!(field, Field::Left) {
                self.entries.push((key, value));
            }
            Ok::<_, Wrong>(())
        })?;
        if need.is_none() {
            return Ok(Val::Null);
        }
        let mut map = Map::with_capacity_and_hasher(self.entries.len() - first, *self.empty.hasher());
        for (key, value) in self.entries.drain(first..) {
            map.insert(key, value);
        }
        Ok(Val::obj(map))
    }

    /// Reads a key and says what of its value is needed. Keys that are not strings are beyond JSON: kept as they are.
    fn key<'n>(
        &mut self,
        next: u8,
        lexer: &mut Lexer,
        need: Option<&'n Need>,
        depth: usize,
    ) -> Result<(Val, Field<'n>), Wrong> {
        if next != b'"' {
            let field = if need.is_some() { Field::Needed(&Need::Whole) } else { Field::Left };
            return Ok((self.value(next, lexer, field.need(), depth)?, field));
        }
        let text = string(lexer.discarded(), false)?;
        let field = need.map_or(Field::Left, |need| need.field(&text));
        let key = if matches!(field, Field::Left) { Val::Null } else { text_of(text) };
        Ok((key, field))
    }
}

/// Reads a string after its opening quote; bytes are those of the text or what escapes stand for.
fn string(lexer: &mut Lexer, bytes: bool) -> Result<Cow<'static, [u8]>, Wrong> {
    let on_text = |part: &mut &'static [u8], out: &mut Cow<'static, [u8]>| {
        if out.is_empty() {
            *out = Cow::Borrowed(*part)
        } else {
            out.to_mut().extend_from_slice(part)
        }
        Ok::<_, hifijson::str::Error>(())
    };
    let text = lexer.str_fold(Cow::Borrowed(&[][..]), on_text, |lexer, out| {
        use hifijson::escape::Error;
        match lexer.take_next().ok_or(Error::Eof)? {
            b'u' if bytes => Err(Error::InvalidKind(b'u'))?,
            b'x' if bytes => out.to_mut().push(lexer.hex()?),
            kind => out.to_mut().extend_from_slice(lexer.escape(kind)?.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        Ok(())
    });
    Ok(text.map_err(hifijson::Error::Str)?)
}

fn text_of(text: Cow<'static, [u8]>) -> Val {
    Val::utf8_str(bytes_of(text))
}

fn bytes_of(text: Cow<'static, [u8]>) -> bytes::Bytes {
    match text {
        Cow::Borrowed(text) => bytes::Bytes::from_static(text),
        Cow::Owned(text) => bytes::Bytes::from(text),
    }
}

/// Reads a number; one that is not kept is checked only.
fn number(lexer: &mut Lexer, keep: bool) -> Result<Val, Wrong> {
    let (text, parts) = lexer.num_string_with(hifijson::num::Num::signed_digits()).unvalidated();
    let wrong = || hifijson::Error::Num(hifijson::num::Error::ExpectedDigit);
    Ok(match text {
        "+" if lexer.strip_prefix(b"Infinity") => Val::Num(Num::Float(f64::INFINITY)),
        "-" if lexer.strip_prefix(b"Infinity") => Val::Num(Num::Float(f64::NEG_INFINITY)),
        "-" if lexer.strip_prefix(b"NaN") || lexer.strip_prefix(b"nan") => Val::Num(Num::Float(f64::NAN)),
        _ if !text.ends_with(|last: char| last.is_ascii_digit()) => return Err(wrong().into()),
        _ if !keep => Val::Null,
        _ if parts.is_int() => Val::Num(Num::from_str_radix(text, 10).ok_or_else(wrong)?),
        _ => Val::Num(Num::Dec(text.to_owned().into())),
    })
}
