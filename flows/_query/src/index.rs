//! What lies in a value: under a key, at a place, in a slice, at a path; with jq's cases and words.
//!
//! jaq gives null where a key does not fit an object. Here it is an error, as in jq, so that alternatives (`?//`) and `?`
//! go on where they do in jq.

use jaq_core::box_iter::box_once;
use jaq_core::native::{Fun, bome, run, v};
use jaq_core::{Cv, Error, Exn, Native, PathsPtr, RunPtr, ValT as _, ValXs};
use jaq_json::{Map, Num, Val};

use crate::numbers::{float, shown, type_name};

type Data = crate::direct::Query;
type Outcome<T = Val> = Result<T, Error<Val>>;

/// The last bound of a slice.
const LAST_BOUND: f64 = (i32::MAX - 1) as f64;

pub(crate) fn functions() -> impl Iterator<Item = Fun<Data>> {
    let step = |name, keys, run: RunPtr<Data>, paths: PathsPtr<Data>| {
        (name, v(keys), Native::<Data>::new(run).with_paths(paths))
    };
    [
        step("_index", 1, index, |mut cv| {
            let (key, (value, path)) = (cv.0.pop_var(), cv.1);
            box_once(at(&value, &key).map(|found| (found, path.cons(key))).map_err(Exn::from))
        }),
        step("_each", 0, each, |cv| match cv.1 {
            (value @ (Val::Arr(_) | Val::Obj(_)), path) => {
                let below = move |(key, value)| (value, path.clone().cons(key));
                Box::new(value.key_values().map(move |entry| entry.map(&below).map_err(Exn::from)))
            }
            (value, _) => box_once(Err(Exn::from(not_iterable(&value)))),
        }),
        step("getpath", 1, get, |mut cv| {
            let (steps, (mut value, mut path)) = (cv.0.pop_var(), cv.1);
            let found = keys(&steps).and_then(|keys| {
                for key in keys {
                    (value, path) = (at(&value, key)?, path.cons(key.clone()));
                }
                Ok((value, path))
            });
            box_once(found.map_err(Exn::from))
        }),
        run::<Data>(("_key", v(1), |mut cv| {
            let key = cv.0.pop_var();
            bome(at(&cv.1, &key).map(|_found| match &cv.1 {
                // A whole number, which is all that a pattern of jaq's takes.
                Val::Arr(items) if matches!(key, Val::Num(_)) => {
                    Val::from(place(&key, items.len()).unwrap_or(items.len()))
                }
                _ => key,
            }))
        })),
        run::<Data>(("has", v(1), |mut cv| {
            let key = cv.0.pop_var();
            bome(has(&cv.1, &key).map(Val::from))
        })),
    ]
    .into_iter()
}

fn index(mut cv: Cv<'_, Data>) -> ValXs<'_, Val> {
    let key = cv.0.pop_var();
    bome(at(&cv.1, &key))
}

fn each(cv: Cv<'_, Data>) -> ValXs<'_, Val> {
    match cv.1 {
        value @ (Val::Arr(_) | Val::Obj(_)) => Box::new(value.values().map(|item| item.map_err(Exn::from))),
        value => bome(Err(not_iterable(&value))),
    }
}

fn get(mut cv: Cv<'_, Data>) -> ValXs<'_, Val> {
    let path = cv.0.pop_var();
    bome(keys(&path).and_then(|keys| keys.iter().try_fold(cv.1, |value, key| at(&value, key))))
}

/// Returns what `key` leads to in `value`; null where nothing is.
pub(crate) fn at(value: &Val, key: &Val) -> Outcome {
    Ok(match (value, key) {
        (Val::Obj(map), Val::TStr(_) | Val::BStr(_)) => map.get(key).cloned().unwrap_or_default(),
        (Val::Arr(items), Val::Num(_)) => {
            place(key, items.len()).and_then(|place| items.get(place)).cloned().unwrap_or_default()
        }
        (Val::Arr(_) | Val::TStr(_) | Val::BStr(_), Val::Obj(bounds)) => {
            let (start, end) = (bound(bounds, "start", f64::floor)?, bound(bounds, "end", f64::ceil)?);
            value.clone().range(Some(&start)..Some(&end))?
        }
        // Where the one is in the other; a byte.
        (Val::Arr(_), Val::Arr(_)) | (Val::BStr(_), Val::Num(_)) => value.clone().index(key)?,
        (Val::Null, Val::TStr(_) | Val::Num(_) | Val::Obj(_)) => Val::Null,
        _ => return Err(not_indexable(value, key)),
    })
}

/// The place that `number` means in an array of `length`; one before the first is none.
pub(crate) fn place(number: &Val, length: usize) -> Option<usize> {
    let place = float(number).floor();
    let place = if place < 0.0 { place + length as f64 } else { place };
    (place >= 0.0 && place < length as f64).then_some(place as usize)
}

/// One bound of a slice as a whole number; null where it is open.
fn bound(bounds: &Map, name: &'static str, round: fn(f64) -> f64) -> Outcome {
    match bounds.get(&Val::utf8_str(name)) {
        Some(Val::Null) => Ok(Val::Null),
        Some(number @ Val::Num(_)) if float(number).is_nan() => Ok(Val::Null),
        Some(number @ Val::Num(_)) => {
            let whole = round(float(number)).clamp(-LAST_BOUND, LAST_BOUND);
            Ok(Val::Num(Num::from_integral(whole as i64)))
        }
        _ => Err(Error::str("Start and end indices of an array slice must be numbers")),
    }
}

fn has(value: &Val, key: &Val) -> Outcome<bool> {
    match (value, key) {
        (Val::Null, _) => Ok(false),
        (Val::Obj(map), Val::TStr(_) | Val::BStr(_)) => Ok(map.contains_key(key)),
        (Val::Arr(items), Val::Num(_)) => Ok(float(key) >= 0.0 && place(key, items.len()).is_some()),
        _ => {
            let (value, key) = (type_name(value), type_name(key));
            Err(Error::str(format!("Cannot check whether {value} has a {key} key")))
        }
    }
}

/// The keys of a path that is a value.
pub(crate) fn keys(path: &Val) -> Outcome<&[Val]> {
    match path {
        Val::Arr(keys) => Ok(keys),
        _ => Err(Error::str("Path must be specified as an array")),
    }
}

pub(crate) fn not_indexable(value: &Val, key: &Val) -> Error<Val> {
    Error::str(format!("Cannot index {} with {}", type_name(value), shown(key)))
}

pub(crate) fn not_iterable(value: &Val) -> Error<Val> {
    Error::str(format!("Cannot iterate over {}", shown(value)))
}
