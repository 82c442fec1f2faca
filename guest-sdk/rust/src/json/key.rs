//! Names of members as the keys of a map, which may be numbers or booleans written as strings.

use std::borrow::Cow;

use serde::de::{Deserializer, EnumAccess, IntoDeserializer as _, Visitor};
use serde::forward_to_deserialize_any;

use super::mismatch::Mismatch;
use super::value::{Integer, integer};

type Result<T, E = Mismatch> = std::result::Result<T, E>;

/// The name of a member.
#[derive(Debug)]
pub(super) struct Key<'de>(pub(super) Cow<'de, str>);

macro_rules! integers {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match integer(&self.0) {
                Some(Integer::Unsigned(value)) => visitor.visit_u64(value),
                Some(Integer::Signed(value)) => visitor.visit_i64(value),
                None => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Cow::Borrowed(name) => visitor.visit_borrowed_str(name),
            Cow::Owned(name) => visitor.visit_string(name),
        }
    }

    integers!(deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64);

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match &*self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        f32 f64 i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

impl<'de> EnumAccess<'de> for Key<'de> {
    type Error = Mismatch;
    type Variant = <serde::de::value::StringDeserializer<Mismatch> as EnumAccess<'de>>::Variant;

    fn variant_seed<V: serde::de::DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self::Variant)> {
        self.0.into_owned().into_deserializer().variant_seed(seed)
    }
}
