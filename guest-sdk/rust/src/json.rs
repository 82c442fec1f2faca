//! JSON texts to values.
//!
//! A reader of our own, because of size: serde_json's brings the printing of floats into every component, for error
//! messages, and makes the smallest flow three times as large. This one reads numbers only as what is asked for, so
//! that floats cost nothing where none are wanted, and says by JSON pointer what does not fit.

mod key;
mod lexer;
mod mismatch;
mod value;

#[cfg(test)]
mod tests;

use serde::Deserialize;

use self::value::Reader;
use crate::Problem;

/// Deepest nesting of arrays and objects; serde_json's limit.
const MAX_DEPTH: u32 = 128;

/// Reads a JSON text, with nothing but white space around it.
pub(crate) fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Problem> {
    let mut reader = Reader::new(text);
    let value = T::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|mismatch| mismatch.into_problem())
}
