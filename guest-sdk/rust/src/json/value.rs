//! Values, as serde asks for them.

use std::borrow::Cow;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer as _, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::MAX_DEPTH;
use super::key::Key;
use super::lexer::Lexer;
use super::mismatch::Mismatch;

type Result<T, E = Mismatch> = std::result::Result<T, E>;

/// Reads one value after the other.
#[derive(Debug)]
pub(super) struct Reader<'de> {
    lexer: Lexer<'de>,
    depth: u32,
}

impl<'de> Reader<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { lexer: Lexer::new(text), depth: 0 }
    }

    /// Takes the end of the text.
    pub(super) fn end(&mut self) -> Result<()> {
        if self.lexer.peek().is_none() { Ok(()) } else { Err(self.lexer.broken()) }
    }

    /// Says that another kind of value is next than the visitor expects.
    fn unexpected<'v>(&mut self, visitor: &impl Visitor<'v>) -> Mismatch {
        let kind = match self.lexer.peek() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            Some(b'-' | b'0'..=b'9') => "number",
            _ => return self.lexer.broken(),
        };
        Mismatch::invalid_type(Unexpected::Other(kind), visitor)
    }

    fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        if self.lexer.peek() != Some(b'"') {
            return Err(self.unexpected(&visitor));
        }
        match self.lexer.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn boolean<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        match self.lexer.peek() {
            Some(b't') => self.lexer.word("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.lexer.word("false").and_then(|()| visitor.visit_bool(false)),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn null<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        match self.lexer.peek() {
            Some(b'n') => self.lexer.word("null").and_then(|()| visitor.visit_unit()),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn integer<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let Some(b'-' | b'0'..=b'9') = self.lexer.peek() else { return Err(self.unexpected(&visitor)) };
        let (text, is_integer) = self.lexer.number()?;
        match integer(text) {
            Some(Integer::Unsigned(value)) if is_integer => visitor.visit_u64(value),
            Some(Integer::Signed(value)) if is_integer => visitor.visit_i64(value),
            _ => Err(Mismatch::invalid_value(Unexpected::Other("number"), &visitor)),
        }
    }

    fn float<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let Some(b'-' | b'0'..=b'9') = self.lexer.peek() else { return Err(self.unexpected(&visitor)) };
        let (text, _) = self.lexer.number()?;
        visitor.visit_f64(text.parse().map_err(|_| self.lexer.broken())?)
    }

    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let (text, is_integer) = self.lexer.number()?;
        match integer(text) {
            Some(Integer::Unsigned(value)) if is_integer => visitor.visit_u64(value),
            Some(Integer::Signed(value)) if is_integer => visitor.visit_i64(value),
            _ => visitor.visit_f64(text.parse().map_err(|_| self.lexer.broken())?),
        }
    }

    fn array<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        if self.lexer.peek() != Some(b'[') {
            return Err(self.unexpected(&visitor));
        }
        self.enter(b'[')?;
        let value = visitor.visit_seq(Items { reader: self, index: 0 })?;
        self.leave(b']')?;
        Ok(value)
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        if self.lexer.peek() != Some(b'{') {
            return Err(self.unexpected(&visitor));
        }
        self.enter(b'{')?;
        let value = visitor.visit_map(Members { reader: self, is_first: true, name: Cow::Borrowed("") })?;
        self.leave(b'}')?;
        Ok(value)
    }

    fn enter(&mut self, open: u8) -> Result<()> {
        self.lexer.need(open)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Mismatch::new("nested too deeply")) } else { Ok(()) }
    }

    fn leave(&mut self, close: u8) -> Result<()> {
        self.depth -= 1;
        self.lexer.need(close)
    }

    /// Takes a value of any kind, without building anything.
    fn skip(&mut self) -> Result<()> {
        match self.lexer.peek() {
            Some(b'"') => self.lexer.string().map(drop),
            Some(b't') => self.lexer.word("true"),
            Some(b'f') => self.lexer.word("false"),
            Some(b'n') => self.lexer.word("null"),
            Some(b'[') => {
                self.enter(b'[')?;
                let mut is_first = true;
                while self.next(b']', &mut is_first)? {
                    self.skip()?;
                }
                self.leave(b']')
            }
            Some(b'{') => {
                self.enter(b'{')?;
                let mut is_first = true;
                while self.next(b'}', &mut is_first)? {
                    self.lexer.string()?;
                    self.lexer.need(b':')?;
                    self.skip()?;
                }
                self.leave(b'}')
            }
            _ => self.lexer.number().map(drop),
        }
    }

    /// Whether another item or member follows; takes the comma before it.
    fn next(&mut self, close: u8, is_first: &mut bool) -> Result<bool> {
        if self.lexer.peek() == Some(close) {
            return Ok(false);
        }
        if !std::mem::take(is_first) {
            self.lexer.need(b',')?;
        }
        Ok(true)
    }
}

/// An integer of JSON.
pub(super) enum Integer {
    Unsigned(u64),
    Signed(i64),
}

/// Reads an integer that fits 64 bits.
pub(super) fn integer(text: &str) -> Option<Integer> {
    if text.starts_with('-') {
        text.parse().ok().map(Integer::Signed)
    } else {
        text.parse().ok().map(Integer::Unsigned)
    }
}

macro_rules! forward {
    ($to:ident: $($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.$to(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.lexer.peek() {
            Some(b'{') => self.object(visitor),
            Some(b'[') => self.array(visitor),
            Some(b'"') => self.string(visitor),
            Some(b't' | b'f') => self.boolean(visitor),
            Some(b'n') => self.null(visitor),
            _ => self.number(visitor),
        }
    }

    forward!(integer:
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64);
    forward!(float: deserialize_f32 deserialize_f64);
    forward!(string: deserialize_char deserialize_str deserialize_string deserialize_identifier);
    forward!(boolean: deserialize_bool);
    forward!(null: deserialize_unit);
    forward!(array: deserialize_seq deserialize_bytes deserialize_byte_buf);
    forward!(object: deserialize_map);

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.integer(visitor)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.integer(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.lexer.peek() {
            Some(b'n') => self.lexer.word("null").and_then(|()| visitor.visit_none()),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value> {
        self.null(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value> {
        self.array(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.array(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.object(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.lexer.peek() {
            // Only a unit variant is written as a string.
            Some(b'"') => match self.lexer.string()? {
                Cow::Borrowed(name) => visitor.visit_enum(name.into_deserializer()),
                Cow::Owned(name) => visitor.visit_enum(name.into_deserializer()),
            },
            Some(b'{') => {
                self.enter(b'{')?;
                let value = visitor.visit_enum(Variant { reader: self })?;
                self.leave(b'}')?;
                Ok(value)
            }
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }
}

/// The items of an array.
struct Items<'a, 'de> {
    reader: &'a mut Reader<'de>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let index = self.index;
        if !self.reader.next(b']', &mut (index == 0))? {
            return Ok(None);
        }
        self.index += 1;
        seed.deserialize(&mut *self.reader).map(Some).map_err(|mismatch| mismatch.below(&index.to_string()))
    }
}

/// The members of an object.
struct Members<'a, 'de> {
    reader: &'a mut Reader<'de>,
    is_first: bool,
    /// The name of the member whose value is next, for messages.
    name: Cow<'de, str>,
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.reader.next(b'}', &mut self.is_first)? {
            return Ok(None);
        }
        self.name = self.reader.lexer.string()?;
        self.reader.lexer.need(b':')?;
        seed.deserialize(Key(self.name.clone())).map(Some).map_err(|mismatch| mismatch.below(&self.name))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        seed.deserialize(&mut *self.reader).map_err(|mismatch| mismatch.below(&self.name))
    }
}

/// An enum that is written as an object of one member.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Mismatch;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let name = self.reader.lexer.string()?;
        self.reader.lexer.need(b':')?;
        Ok((seed.deserialize(Key(name))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Mismatch;

    fn unit_variant(self) -> Result<()> {
        serde::Deserialize::deserialize(self.reader)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self.reader)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value> {
        self.reader.array(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _fields: &'static [&'static str], visitor: V) -> Result<V::Value> {
        self.reader.object(visitor)
    }
}
