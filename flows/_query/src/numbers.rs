//! Products, quotients, remainders and conversions with jq's cases and words.

use jaq_core::Error;
use jaq_core::native::{Fun, bome, run, v};
use jaq_json::{Num, Val, read};
use jaq_std::ValT as _;

type Data = crate::direct::Query;
type Outcome = Result<Val, Error<Val>>;

/// Longest part of a value in a message, in bytes.
const SHOWN: usize = 29;
/// Longest string that a product makes, as in jq.
const MAX_REPEATED: f64 = 2_147_483_647.0;

pub(crate) fn functions() -> impl Iterator<Item = Fun<Data>> {
    [
        run::<Data>(("_multiply", v(2), |mut cv| {
            let (right, left) = (cv.0.pop_var(), cv.0.pop_var());
            bome(multiply(left, right))
        })),
        run::<Data>(("_divide", v(2), |mut cv| {
            let (right, left) = (cv.0.pop_var(), cv.0.pop_var());
            bome(divide(left, right))
        })),
        run::<Data>(("_modulo", v(2), |mut cv| {
            let (right, left) = (cv.0.pop_var(), cv.0.pop_var());
            bome(modulo(left, right))
        })),
        run::<Data>(("_negate", v(0), |cv| {
            bome(match cv.1 {
                Val::Num(number) => Ok(Val::Num(-number)),
                value => Err(Error::str(format!("{} cannot be negated", shown(&value)))),
            })
        })),
        run::<Data>(("_shown", v(0), |cv| bome(Ok(Val::from(shown(&cv.1)))))),
        run::<Data>(("tonumber", v(0), |cv| bome(to_number(cv.1)))),
        run::<Data>(("implode", v(0), |cv| bome(implode(&cv.1)))),
    ]
    .into_iter()
}

pub(crate) fn float(value: &Val) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

pub(crate) fn type_name(value: &Val) -> &'static str {
    match value {
        Val::Null => "null",
        Val::Bool(_) => "boolean",
        Val::Num(_) => "number",
        Val::TStr(_) | Val::BStr(_) => "string",
        Val::Arr(_) => "array",
        Val::Obj(_) => "object",
    }
}

/// A value in a message: its type, and as much of it as jq shows.
pub(crate) fn shown(value: &Val) -> String {
    let text = crate::write::json(value, usize::MAX).unwrap_or_default();
    if text.len() <= SHOWN {
        return format!("{} ({text})", type_name(value));
    }
    let rest = if text.starts_with('"') { "...\"" } else { "..." };
    let end = (0..=SHOWN - rest.len()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{} ({}{rest})", type_name(value), &text[..end])
}

pub(crate) fn multiply(left: Val, right: Val) -> Outcome {
    match (left, right) {
        (Val::TStr(text), number @ Val::Num(_)) | (number @ Val::Num(_), Val::TStr(text)) => {
            let times = float(&number);
            if times.is_nan() || times < 0.0 {
                return Ok(Val::Null);
            }
            let bytes = text.len() as f64 * times;
            if bytes > MAX_REPEATED {
                return Err(Error::str("Repeat string result too long"));
            }
            Ok(Val::utf8_str(text.repeat(times as usize)))
        }
        (left, right) => left * right,
    }
}

pub(crate) fn divide(left: Val, right: Val) -> Outcome {
    match (&left, &right) {
        (Val::Num(_), Val::Num(_)) if float(&right) == 0.0 => Err(undivided(&left, &right, "")),
        (Val::Num(_), Val::Num(_)) | (Val::TStr(_), Val::TStr(_)) => left / right,
        _ => Err(Error::str(format!("{} and {} cannot be divided", shown(&left), shown(&right)))),
    }
}

fn undivided(left: &Val, right: &Val, how: &str) -> Error<Val> {
    Error::str(format!("{} and {} cannot be divided{how} because the divisor is zero", shown(left), shown(right)))
}

/// The remainder of whole numbers; fractions are cut off first.
pub(crate) fn modulo(left: Val, right: Val) -> Outcome {
    let (Val::Num(a), Val::Num(b)) = (&left, &right) else {
        return Err(Error::str(format!("{} and {} cannot be divided (remainder)", shown(&left), shown(&right))));
    };
    let whole = |number: &Num| matches!(number, Num::Int(_) | Num::BigInt(_));
    if whole(a) && whole(b) && right != Val::from(0_usize) {
        return left % right;
    }
    let (a, b) = (float(&left), float(&right));
    if a.is_nan() || b.is_nan() {
        return Ok(Val::from(f64::NAN));
    }
    let (a, b) = (a as i64, b as i64);
    match b {
        0 => Err(undivided(&left, &right, " (remainder)")),
        b => Ok(Val::Num(Num::from_integral(a.checked_rem(b).unwrap_or_default()))),
    }
}

fn to_number(value: Val) -> Outcome {
    let number = match &value {
        Val::Num(_) => return Ok(value),
        Val::TStr(text) => std::str::from_utf8(text).ok().and_then(number),
        _ => None,
    };
    number.map(Val::Num).ok_or_else(|| Error::str(format!("{} cannot be parsed as a number", shown(&value))))
}

/// A number as jq reads one from a string: a sign, digits before or after a point, an exponent.
fn number(text: &str) -> Option<Num> {
    if matches!(text.strip_prefix('-').unwrap_or(text), "nan" | "NaN") {
        return Some(Num::Float(f64::NAN));
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if rest.starts_with(['+', '-']) {
        return None;
    }
    let text = if rest.starts_with('.') { format!("{sign}0{rest}") } else { format!("{sign}{rest}") };
    read::parse_single_num(text.as_bytes())
}

fn implode(value: &Val) -> Outcome {
    let Val::Arr(points) = value else { return Err(Error::str("implode input must be an array")) };
    let mut text = String::with_capacity(points.len());
    for point in points.iter() {
        let number = float(point);
        if number.is_nan() {
            let shown = shown(point);
            return Err(Error::str(format!("{shown} can't be imploded, unicode codepoint needs to be numeric")));
        }
        let code = u32::try_from(number as i64).ok().and_then(char::from_u32);
        text.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    Ok(Val::from(text))
}
