//! Assignment and deletion by paths, as jq does them: what is not there yet is made, and the order of keys stays.

use jaq_core::box_iter::box_once;
use jaq_core::native::{Fun, bome, run, v};
use jaq_core::{Bind, Cv, Error, Exn, ValX};
use jaq_json::{Map, Rc, Val};

use crate::index::{at, keys, not_indexable, place};
use crate::numbers::{float, type_name};

type Data = crate::direct::Query;
type Failure<'a> = Exn<'a, Val>;

/// Longest array that an assignment makes, as in jq.
const MAX_LENGTH: f64 = (1_u64 << 29) as f64;

pub(crate) fn functions() -> impl Iterator<Item = Fun<Data>> {
    let filter = || Bind::Fun(());
    [
        run::<Data>(("_assign", [filter(), Bind::Var(())].into(), |mut cv| {
            let value = cv.0.pop_var();
            box_once(assign(cv, &value))
        })),
        run::<Data>(("_modify", [filter(), filter()].into(), |cv| box_once(modify(cv)))),
        run::<Data>(("setpath", v(2), |mut cv| {
            let (value, path) = (cv.0.pop_var(), cv.0.pop_var());
            bome(keys(&path).and_then(|path| set(cv.1, path, &value)))
        })),
        run::<Data>(("delpaths", v(1), |mut cv| {
            let paths = cv.0.pop_var();
            bome(delete_all(cv.1, &paths))
        })),
    ]
    .into_iter()
}

/// The paths that the innermost filter of the context gives, and the value that they lead into.
fn paths(mut cv: Cv<'_, Data>) -> Result<(Vec<Vec<Val>>, Val), Failure<'_>> {
    let (filter, context) = cv.0.pop_fun();
    let found = filter.paths((context, (cv.1.clone(), Default::default()))).map(|found| {
        let mut path: Vec<Val> = found?.1.iter().cloned().collect();
        path.reverse();
        Ok(path)
    });
    Ok((found.collect::<Result<_, Failure<'_>>>()?, cv.1))
}

fn assign<'a>(cv: Cv<'a, Data>, new: &Val) -> ValX<'a, Val> {
    let (paths, value) = paths(cv)?;
    paths.iter().try_fold(value, |value, path| Ok(set(value, path, new)?))
}

fn modify(mut cv: Cv<'_, Data>) -> ValX<'_, Val> {
    let (filter, context) = cv.0.pop_fun();
    let (paths, mut value) = paths(cv)?;
    let mut gone = Vec::new();
    for path in paths {
        let mut missing = false;
        value = change(value, &path, &mut |old| match filter.run((context.clone(), old)).next() {
            Some(new) => new,
            None => {
                missing = true;
                Ok(Val::Null)
            }
        })?;
        if missing {
            gone.push(path);
        }
    }
    if gone.is_empty() { Ok(value) } else { Ok(delete(value, gone)?) }
}

fn set(value: Val, path: &[Val], new: &Val) -> Result<Val, Error<Val>> {
    change(value, path, &mut |_old| Ok(new.clone()))
}

/// Changes what lies at `path`.
fn change<E: From<Error<Val>>>(value: Val, path: &[Val], by: &mut dyn FnMut(Val) -> Result<Val, E>) -> Result<Val, E> {
    let Some((key, rest)) = path.split_first() else { return by(value) };
    let fail = |text: &str| E::from(Error::str(text));
    match (value, key) {
        (Val::Null, Val::Num(_) | Val::Obj(_)) => change(Val::Arr(Rc::default()), path, by),
        (Val::Null, Val::TStr(_)) => change(Val::obj(Map::default()), path, by),
        (Val::Obj(mut map), Val::TStr(_)) => {
            let entry = Rc::make_mut(&mut map).entry(key.clone()).or_default();
            *entry = change(std::mem::take(entry), rest, by)?;
            Ok(Val::Obj(map))
        }
        (Val::Arr(mut items), Val::Num(_)) => {
            let place = float(key).floor();
            let place = if place < 0.0 { place + items.len() as f64 } else { place };
            if place.is_nan() {
                return Err(fail("Cannot set array element at NaN index"));
            }
            if place < 0.0 {
                return Err(fail("Out of bounds negative array index"));
            }
            if place > MAX_LENGTH {
                return Err(fail("Array index too large"));
            }
            let place = place as usize;
            let list = Rc::make_mut(&mut items);
            if list.len() <= place {
                let missing = place + 1 - list.len();
                list.try_reserve(missing).map_err(|_| fail("Array index too large for the memory of a query"))?;
                list.resize(place + 1, Val::Null);
            }
            list[place] = change(std::mem::take(&mut list[place]), rest, by)?;
            Ok(Val::Arr(items))
        }
        (Val::Arr(mut items), Val::Obj(slice)) => {
            let (from, to) = bounds(slice, items.len())?;
            let part = change(Val::Arr(Rc::new(items[from..to].to_vec())), rest, by)?;
            let Val::Arr(part) = part else {
                return Err(fail("A slice of an array can only be assigned another array"));
            };
            drop(Rc::make_mut(&mut items).splice(from..to, part.iter().cloned()));
            Ok(Val::Arr(items))
        }
        (Val::Arr(_), Val::Arr(_)) => Err(fail("Cannot update field at array index of array")),
        (Val::TStr(_), Val::Obj(_)) => Err(fail("Cannot update string slices")),
        (value, key) => Err(E::from(not_indexable(&value, key))),
    }
}

/// Where a slice begins and ends in an array of `length`.
fn bounds(slice: &Map, length: usize) -> Result<(usize, usize), Error<Val>> {
    let bound = |name: &'static str, default: f64, round: fn(f64) -> f64| match slice.get(&Val::utf8_str(name)) {
        Some(Val::Null) => Ok(default),
        Some(number @ Val::Num(_)) if float(number).is_nan() => Ok(default),
        Some(number @ Val::Num(_)) => Ok(round(float(number))),
        _ => Err(Error::str("Start and end indices of an array slice must be numbers")),
    };
    let size = length as f64;
    let clip = |place: f64| if place < 0.0 { (place + size).max(0.0) } else { place.min(size) };
    let (from, to) = (clip(bound("start", 0.0, f64::floor)?), clip(bound("end", size, f64::ceil)?));
    Ok((from as usize, to.max(from) as usize))
}

fn delete_all(value: Val, paths: &Val) -> Result<Val, Error<Val>> {
    let Val::Arr(paths) = paths else { return Err(Error::str("Paths must be specified as an array")) };
    let paths = paths.iter().map(|path| keys(path).map(<[Val]>::to_vec));
    delete(value, paths.collect::<Result<_, _>>()?)
}

/// Deletes what lies at `paths`, all as they are before anything is deleted.
fn delete(value: Val, mut paths: Vec<Vec<Val>>) -> Result<Val, Error<Val>> {
    paths.sort();
    let paths: Vec<&[Val]> = paths.iter().map(Vec::as_slice).collect();
    if paths.first().is_some_and(|path| path.is_empty()) { Ok(Val::Null) } else { without(value, &paths) }
}

/// As [`delete`], for paths in order, none of which is empty.
fn without(mut value: Val, paths: &[&[Val]]) -> Result<Val, Error<Val>> {
    let mut gone: Vec<&Val> = Vec::new();
    for group in paths.chunk_by(|a, b| a.first() == b.first()) {
        let Some((key, rest)) = group.first().and_then(|path| path.split_first()) else { continue };
        if rest.is_empty() {
            gone.push(key);
            continue;
        }
        let inner: Vec<&[Val]> = group.iter().map(|path| &path[1..]).collect();
        let part = at(&value, key)?;
        if !matches!(part, Val::Null) {
            let part = without(part, &inner)?;
            value = set(value, std::slice::from_ref(key), &part)?;
        }
    }
    if gone.is_empty() { Ok(value) } else { without_keys(value, &gone) }
}

fn without_keys(value: Val, keys: &[&Val]) -> Result<Val, Error<Val>> {
    match value {
        Val::Null => Ok(Val::Null),
        Val::Obj(mut map) => {
            for key in keys {
                if !matches!(key, Val::TStr(_)) {
                    return Err(Error::str(format!("Cannot delete field at object index of {}", type_name(key))));
                }
                Rc::make_mut(&mut map).shift_remove(*key);
            }
            Ok(Val::Obj(map))
        }
        Val::Arr(items) => {
            let mut kept = vec![true; items.len()];
            for key in keys {
                let gone = match key {
                    Val::Num(_) => place(key, items.len()).map(|place| place..place + 1),
                    Val::Obj(slice) => Some(bounds(slice, items.len())?).map(|(from, to)| from..to),
                    key => {
                        return Err(Error::str(format!("Cannot delete field at {} index of array", type_name(key))));
                    }
                };
                kept[gone.unwrap_or_default()].fill(false);
            }
            Ok(items.iter().zip(kept).filter(|(_, kept)| *kept).map(|(item, _)| item.clone()).collect())
        }
        value => Err(Error::str(format!("Cannot delete field of {}", type_name(&value)))),
    }
}
