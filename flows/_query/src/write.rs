//! Values as strict JSON. jaq's own writer knows a superset (NaN, byte strings, keys of any type).

use core::fmt::Write as _;

use jaq_json::{Num, Val};

use crate::evaluate::MAX_DEPTH;

/// Why a value was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Larger than allowed.
    Size,
    /// Nested too deeply.
    Depth,
    /// An object key is not a string.
    Key,
}

/// Returns `value` as compact JSON of at most `limit` bytes.
pub(crate) fn json(value: &Val, limit: usize) -> Result<String, Stop> {
    let mut out = String::new();
    write_value(&mut out, value, limit, MAX_DEPTH)?;
    Ok(out)
}

fn write_value(out: &mut String, value: &Val, limit: usize, depth: usize) -> Result<(), Stop> {
    match value {
        Val::Null => out.push_str("null"),
        Val::Bool(true) => out.push_str("true"),
        Val::Bool(false) => out.push_str("false"),
        Val::Num(number) => write_number(out, number),
        Val::TStr(bytes) | Val::BStr(bytes) => write_string(out, bytes),
        Val::Arr(items) => {
            let depth = depth.checked_sub(1).ok_or(Stop::Depth)?;
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item, limit, depth)?;
            }
            out.push(']');
        }
        Val::Obj(entries) => {
            let depth = depth.checked_sub(1).ok_or(Stop::Depth)?;
            out.push('{');
            for (index, (key, item)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let (Val::TStr(key) | Val::BStr(key)) = key else {
                    return Err(Stop::Key);
                };
                write_string(out, key);
                out.push(':');
                write_value(out, item, limit, depth)?;
            }
            out.push('}');
        }
    }
    if out.len() > limit { Err(Stop::Size) } else { Ok(()) }
}

/// Literals stay as they were written; computed numbers look as jq shows them.
fn write_number(out: &mut String, number: &Num) {
    // Writing to a string cannot fail.
    let _ = match number {
        Num::Float(x) if x.is_nan() => out.write_str("null"),
        Num::Float(x) if x.is_infinite() => write!(out, "{}1.7976931348623157e308", if *x < 0.0 { "-" } else { "" }),
        Num::Float(x) if x.fract() == 0.0 && x.abs() < 1e17 => write!(out, "{x:.0}"),
        // The reader also takes a leading plus, which JSON does not have.
        Num::Dec(text) => out.write_str(text.strip_prefix('+').unwrap_or(text)),
        other => write!(out, "{other}"),
    };
}

fn write_string(out: &mut String, bytes: &[u8]) {
    out.push('"');
    let text = String::from_utf8_lossy(bytes);
    let mut start = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0x00..=0x1f | 0x7f => "",
            _ => continue,
        };
        out.push_str(&text[start..index]);
        start = index + 1;
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[start..]);
    out.push('"');
}
