//! Other worlds: the same answers with other ids, other values, and lists in another order, one longer, one shorter, or
//! empty.

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan as _;
use jiff::civil::Date;
use rote_plan::text_of;
use serde_json::{Map, Number, Value};

use super::super::path::{Segment, at};
use super::model::{World, is_telling, tells_apart};

/// Days that a date moves.
const DAYS: i64 = 9;

/// New names for ids, no two the same and none an old one.
#[derive(Debug, Default)]
pub(crate) struct Renaming {
    to: BTreeMap<String, String>,
}

impl Renaming {
    /// Makes it: a figure more in front of the last number of each. A number that has no other name that is one keeps its own.
    pub(crate) fn of(ids: &BTreeSet<String>) -> Self {
        let new = |id: &str, pad: &str| {
            let lower = pad.replace('9', "1");
            [pad, &lower]
                .map(|pad| padded(id, pad))
                .into_iter()
                .find(|new| number(id).is_none() || number(new).is_some())
        };
        let renamed =
            |pad: &str| ids.iter().filter_map(|id| Some((id.clone(), new(id, pad)?))).collect::<BTreeMap<_, _>>();
        let mut pad = "9".to_owned();
        loop {
            let to = renamed(&pad);
            if !to.values().any(|new| ids.contains(new)) {
                return Self { to };
            }
            pad.push('9');
        }
    }

    /// Returns a value with its ids renamed. `name` is that of the member that holds it.
    pub(crate) fn renamed(&self, value: &Value, name: &str) -> Value {
        map_scalars(value, name, &|name, scalar| match scalar {
            Value::String(text) => match self.to.get(text).filter(|_| tells_apart(name) || is_telling(text)) {
                Some(new) => Value::from(new.as_str()),
                None => Value::from(map_words(text, &|word| self.to.get(word).filter(|_| is_telling(word)).cloned())),
            },
            Value::Number(number) if tells_apart(name) => {
                let new = self.to.get(&number.to_string()).and_then(|new| self::number(new));
                new.map_or_else(|| scalar.clone(), Value::Number)
            }
            _ => scalar.clone(),
        })
    }

    /// Whether a scalar at a place of this name is an old id.
    pub(crate) fn is_old(&self, name: &str, value: &Value) -> bool {
        match value {
            Value::String(text) => self.to.contains_key(text) && (tells_apart(name) || is_telling(text)),
            Value::Number(number) => tells_apart(name) && self.to.contains_key(&number.to_string()),
            _ => false,
        }
    }
}

/// The number that a text is, provided that it is written so.
fn number(text: &str) -> Option<Number> {
    serde_json::from_str::<Number>(text).ok().filter(|number| number.to_string() == text)
}

/// A text with more figures in front of its last number, or behind it all where there is none.
fn padded(text: &str, pad: &str) -> String {
    let Some(end) = text.rfind(|c: char| c.is_ascii_digit()).map(|last| last + 1) else {
        return format!("{text}{pad}");
    };
    let start = text[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
    format!("{}{pad}{}", &text[..start], &text[start..])
}

pub(super) fn map_scalars(value: &Value, name: &str, make: &dyn Fn(&str, &Value) -> Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, inner)| (key.clone(), map_scalars(inner, key, make)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| map_scalars(item, name, make)).collect(),
        scalar => make(name, scalar),
    }
}

/// A text with some of its words replaced.
fn map_words(text: &str, make: &dyn Fn(&str) -> Option<String>) -> String {
    let joins = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let pieces = text.split_inclusive(|c| !joins(c));
    pieces
        .map(|piece| {
            let word = piece.trim_end_matches(|c| !joins(c));
            make(word).map_or_else(|| piece.to_owned(), |new| format!("{new}{}", &piece[word.len()..]))
        })
        .collect()
}

/// The world with other ids.
pub(crate) fn renamed(world: &World, ids: &Renaming) -> World {
    each_body(world, |body| ids.renamed(body, ""))
}

/// Another value for a parameter, of the same shape; none where another one may mean another job.
pub(crate) fn other_value(example: &Value) -> Option<Value> {
    let text = example.as_str().filter(|text| text.chars().count() >= 3)?;
    if let Some(date) = date_of(text) {
        let moved = date.checked_add(DAYS.days()).ok()?.to_string();
        return Some(Value::from(format!("{moved}{}", &text[10..])));
    }
    let digits = text.chars().any(|c| c.is_ascii_digit());
    let other = |c: char| match c {
        '0'..='8' if digits => char::from(c as u8 + 1),
        '9' if digits => '1',
        'a'..='y' | 'A'..='Y' if !digits => char::from(c as u8 + 1),
        'z' if !digits => 'a',
        'Z' if !digits => 'A',
        c => c,
    };
    Some(text.chars().map(other).collect::<String>()).filter(|other| other != text).map(Value::from)
}

/// The day that a text begins with, if it is a day or a time.
pub(crate) fn date_of(text: &str) -> Option<Date> {
    let day = text.get(..10)?;
    let rest = &text[10..];
    let shaped = day.as_bytes()[4] == b'-' && (rest.is_empty() || rest.starts_with('T'));
    shaped.then(|| day.parse().ok()).flatten()
}

/// Puts one value in the place of another: all of a text, its words, and a day in the times of that day.
pub(crate) fn with_value(text: &str, old: &str, new: &str) -> Option<String> {
    let is_date = date_of(old).is_some() && old.len() == 10;
    let joined = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut made = String::new();
    let mut done = 0;
    for (start, _) in text.match_indices(old) {
        let end = start + old.len();
        let after = text[end..].chars().next();
        if start >= done
            && !joined(text[..start].chars().next_back())
            && (!joined(after) || (is_date && after == Some('T')))
        {
            made.push_str(&text[done..start]);
            made.push_str(new);
            done = end;
        }
    }
    made.push_str(&text[done..]);
    (done > 0).then_some(made)
}

/// The world in which these texts are others.
pub(crate) fn with_values(world: &World, changed: &[(String, String)]) -> World {
    each_body(world, |body| {
        map_scalars(body, "", &|_, scalar| {
            let Some(text) = scalar.as_str() else { return scalar.clone() };
            let replace = |text: String, (old, new): &(String, String)| with_value(&text, old, new).unwrap_or(text);
            Value::from(changed.iter().fold(text.to_owned(), replace))
        })
    })
}

/// The world in which every list of things that was read begins with its second one.
pub(crate) fn reordered(world: &World) -> World {
    with_lists(world, &mut |items| items.rotate_left(1))
}

/// The world in which every list of things that was read begins with its last one and ends with its first.
pub(crate) fn reversed(world: &World) -> World {
    with_lists(world, &mut |items| items.reverse())
}

/// The world in which every list of things that was read is without its last one.
pub(crate) fn shorter(world: &World) -> World {
    with_lists(world, &mut |items| items.truncate(items.len().saturating_sub(1)))
}

/// The world in which every list of things that was read has its first one alone.
pub(crate) fn only_one(world: &World) -> World {
    with_lists(world, &mut |items| items.truncate(1))
}

/// The world in which every list of things that was read is empty.
pub(crate) fn emptied(world: &World) -> World {
    with_lists(world, &mut Vec::clear)
}

fn with_lists(world: &World, change: &mut dyn FnMut(&mut Vec<Value>)) -> World {
    let mut other = world.clone();
    for exchange in other.exchanges.iter_mut().filter(|one| !one.writes) {
        each_list(&mut exchange.body, change);
    }
    other
}

/// The world in which one list has one thing more, like its last one but for its ids and names; and the value of `field` in it.
pub(crate) fn longer(world: &World, exchange: usize, array: &[Segment], field: &str) -> Option<(World, Value)> {
    let items = at(&world.exchanges[exchange].body, array)?.as_array()?;
    let last = items.last()?.as_object()?;
    let unique = |name: &str, value: &Value| items.iter().filter(|item| item.get(name) == Some(value)).count() == 1;
    let names = ["title", "name", "subject", "email", "login"];
    let ids: BTreeSet<String> = items
        .iter()
        .filter_map(Value::as_object)
        .flatten()
        .filter(|(name, _)| tells_apart(name))
        .map(|(_, id)| text_of(id))
        .collect();
    let ids = Renaming::of(&ids);
    let other = |(name, value): (&String, &Value)| {
        let new = match value {
            _ if !unique(name, value) => value.clone(),
            value if tells_apart(name) => ids.renamed(value, name),
            Value::String(text) if names.contains(&&**name) => Value::from(padded(text, "9")),
            value => value.clone(),
        };
        (name.clone(), new)
    };
    let added: Map<String, Value> = last.iter().map(other).collect();
    let told = added.get(field)?.clone();
    let mut longer = world.clone();
    let list = array.iter().try_fold(&mut longer.exchanges[exchange].body, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    });
    list?.as_array_mut()?.push(Value::Object(added));
    Some((longer, told))
}

fn each_body(world: &World, change: impl Fn(&Value) -> Value) -> World {
    let mut other = world.clone();
    for exchange in &mut other.exchanges {
        exchange.body = change(&exchange.body);
        exchange.sent = change(&exchange.sent);
    }
    other
}

/// Whether these are things that have ids; the order of anything else may mean something.
pub(crate) fn is_list(items: &[Value]) -> bool {
    let has_id = |item: &Value| item.as_object().is_some_and(|members| members.keys().any(|name| tells_apart(name)));
    !items.is_empty() && items.iter().all(has_id)
}

fn each_list(value: &mut Value, change: &mut dyn FnMut(&mut Vec<Value>)) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(|item| each_list(item, change));
            if is_list(items) {
                change(items);
            }
        }
        Value::Object(members) => members.values_mut().for_each(|inner| each_list(inner, change)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_is_old_only_where_it_has_a_new_name() {
        let ids = [json!(41), json!(-5), json!(1.5), json!(2.0), json!(1_234_567_890_123_456_789_u64), json!(u64::MAX)];
        let renaming = Renaming::of(&ids.iter().map(text_of).collect());
        for id in &ids {
            let new = renaming.renamed(id, "id");
            assert_eq!(renaming.is_old("id", id), new != *id, "{id}");
            assert!(new == *id || !renaming.is_old("id", &new), "{id} {new}");
        }
        let renamed = ids.iter().filter(|id| renaming.is_old("id", id)).count();
        assert_eq!(renamed, 4, "2.0 and the largest number have no other name");
    }
}
