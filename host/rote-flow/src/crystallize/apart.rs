//! Some things of a list apart from the others: by the condition of a query, by a range that one took, by what a field has.

use std::collections::BTreeSet;

use rote_plan::equal;
use rote_types::ResponseId;
use serde_json::Value;

use super::context::{Context, names_id};
use super::path::{Segment, jq_of};
use super::program;

/// Members that say which things are meant, before all others.
const TELLING: [&str; 6] = ["state", "status", "type", "archived", "milestone", "label"];
/// Most conditions that are offered.
const MAX_CONDITIONS: usize = 3;

/// The programs that give these things of a list, which are in its order: all of them, or those that a query or what a field has tells
/// from the others.
pub(crate) fn ways(
    cx: &Context<'_>,
    (response, array): (ResponseId, &str),
    items: &[Value],
    indexes: &[usize],
) -> Vec<String> {
    if indexes.len() == items.len() {
        return vec![format!("{array}[]")];
    }
    let those = |condition: String| format!("{array}[] | select({condition})");
    if let Some(found) = condition(cx, response, array, indexes) {
        return vec![those(found)];
    }
    if let Some(found) = range(cx, response, array, indexes) {
        return vec![format!("{array}{found}[]")];
    }
    let conditions = match told(items, indexes) {
        Told::By(condition) => vec![condition],
        Told::Otherwise(conditions) => conditions,
    };
    conditions.into_iter().filter(|condition| gives(cx, response, array, condition, indexes)).map(those).collect()
}

/// Whether a condition holds for exactly these items.
pub(crate) fn gives(cx: &Context<'_>, response: ResponseId, array: &str, condition: &str, indexes: &[usize]) -> bool {
    let wanted: Vec<Value> = indexes.iter().map(|index| Value::from(*index)).collect();
    let jq = format!("[{array}[]] | to_entries[] | select(.value | ({condition})) | .key");
    cx.outputs(response, &jq).is_ok_and(|outputs| *outputs == wanted)
}

/// Returns the condition of a logged query that gives exactly these elements of an array in an answer, as a jq program on one
/// element.
pub(crate) fn condition(cx: &Context<'_>, response: ResponseId, array: &str, elements: &[usize]) -> Option<String> {
    let gives = |condition: &str| gives(cx, response, array, condition, elements);
    let of_it =
        cx.trace.queries.iter().rev().filter(|query| query.source_response.map(|of| cx.whole(of)) == Some(response));
    for query in of_it {
        let Ok(program) = cx.portable(query) else { continue };
        let found = program::conditions(&program);
        let all = found.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" and ");
        let each = found.iter().map(|one| (*one).to_owned());
        if let Some(condition) = each.chain((found.len() > 1).then_some(all)).find(|one| gives(one)) {
            return Some(condition.trim().to_owned());
        }
    }
    None
}

/// The items from one place on, or up to one, where a query before took just these: `[3:]`.
pub(crate) fn range(cx: &Context<'_>, response: ResponseId, array: &str, indexes: &[usize]) -> Option<String> {
    let wanted: Vec<Value> = indexes.iter().map(|index| Value::from(*index)).collect();
    let of_it =
        cx.trace.queries.iter().rev().filter(|query| query.source_response.map(|of| cx.whole(of)) == Some(response));
    of_it.filter_map(|query| cx.portable(query).ok()).find_map(|jq| {
        let found = program::ranges(&jq);
        found.into_iter().map(str::to_owned).find(|range| {
            let keys = format!("[{array}[]] | to_entries{range}[].key");
            cx.outputs(response, &keys).is_ok_and(|outputs| *outputs == wanted)
        })
    })
}

/// What tells some items from the others.
#[derive(Debug, PartialEq)]
pub(crate) enum Told {
    /// One value of one field, which says which things are meant or is the only one.
    By(String),
    /// Each of these conditions, or nothing.
    Otherwise(Vec<String>),
}

/// Looks for the conditions on one field that hold for these items and for no other.
pub(crate) fn told(items: &[Value], indexes: &[usize]) -> Told {
    let members = items.iter().filter_map(Value::as_object).flat_map(|members| members.keys());
    let names: BTreeSet<&String> = members.collect();
    let values = |name: &str, these: bool| -> Vec<Value> {
        let some = items.iter().enumerate().filter(|(index, _)| indexes.contains(index) == these);
        some.map(|(_, item)| item.get(name).cloned().unwrap_or_default()).collect()
    };
    let told = |name: &&&String, of: fn(&str, &[Value], &[Value]) -> Option<String>| {
        of(&jq_of(&[Segment::Key((**name).clone())]), &values(name, true), &values(name, false))
    };
    let mut equal: Vec<(&String, String)> =
        names.iter().filter_map(|name| Some((*name, told(&name, equals)?))).collect();
    let telling = TELLING.iter().find_map(|one| equal.iter().position(|(name, _)| name == one));
    match (telling, equal.len()) {
        (Some(at), _) => return Told::By(equal.swap_remove(at).1),
        (None, 1) => return Told::By(equal.remove(0).1),
        _ => {}
    }
    let bounds = names.iter().filter(|name| !names_id(name)).filter_map(|name| told(&name, bounded));
    Told::Otherwise(equal.into_iter().map(|(_, one)| one).chain(bounds).take(MAX_CONDITIONS).collect())
}

/// The one value that all of these have and none of the others.
fn equals(field: &str, these: &[Value], others: &[Value]) -> Option<String> {
    let first = these.first().filter(|first| !matches!(first, Value::Array(_) | Value::Object(_) | Value::Null))?;
    let only = these.iter().all(|one| equal(one, first)) && !others.iter().any(|one| equal(one, first));
    only.then(|| format!("{field} == {first}"))
}

/// That there is a value or none, or how much it is at least or at most.
fn bounded(field: &str, these: &[Value], others: &[Value]) -> Option<String> {
    if !these.contains(&Value::Null) && others.iter().all(Value::is_null) {
        return Some(format!("{field} != null"));
    }
    if these.iter().all(Value::is_null) && !others.contains(&Value::Null) {
        return Some(format!("{field} == null"));
    }
    let numbers = |some: &[Value]| some.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
    let (mine, theirs) = (numbers(these)?, numbers(others)?);
    let least = mine.iter().copied().min_by(f64::total_cmp)?;
    let most = mine.iter().copied().max_by(f64::total_cmp)?;
    match () {
        () if theirs.iter().all(|one| *one < least) => Some(format!("{field} >= {least}")),
        () if theirs.iter().all(|one| *one > most) => Some(format!("{field} <= {most}")),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_tells_by_its_value_by_being_there_and_by_how_much_it_is() {
        let item = |first: bool, room: &str, due: Value, fill: u64| json!({"first": first, "room": room, "due": due, "fill": fill});
        let some = |conditions: &[&str]| Told::Otherwise(conditions.iter().map(|one| (*one).to_owned()).collect());
        let none = Value::Null;
        let flagged = [item(true, "a", json!(1), 90), item(false, "b", json!(2), 95), item(true, "c", json!(1), 91)];
        let due = [item(true, "a", none, 5), item(true, "a", json!("y"), 90), item(true, "b", json!("z"), 91)];
        let same = [item(true, "a", json!(1), 5), item(true, "a", json!(1), 5)];
        assert_eq!(told(&flagged[..2], &[0]), some(&[".due == 1", ".fill == 90", ".first == true"]));
        assert_eq!(told(&flagged[1..], &[1]), some(&[".due == 1", ".fill == 91", ".first == true"]));
        assert_eq!(told(&due, &[1, 2]), some(&[".due != null", ".fill >= 90"]));
        assert_eq!(told(&due, &[0]), Told::By(".fill == 5".to_owned()));
        assert_eq!(told(&same, &[1]), some(&[]));
        let state = |state: &str, title: &str| json!({"state": state, "title": title});
        let telling = told(&[state("open", "a"), state("closed", "b")], &[0]);
        assert_eq!(telling, Told::By(".state == \"open\"".to_owned()));
    }
}
