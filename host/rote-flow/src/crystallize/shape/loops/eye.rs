//! What was done for some of the items, chosen by the eye of a person: no query says which. A field may tell them from the others,
//! else only their places do; that is asked.

use std::collections::BTreeSet;

use rote_types::{ResponseId, command};
use serde_json::Value;

use crate::crystallize::context::{Context, names_id};
use crate::crystallize::draft::DraftStep;
use crate::crystallize::path::{Segment, jq_of};
use crate::crystallize::program;
use crate::question::{Answer, Evidence, Place, Question, QuestionId};

/// Members that say which things are meant, before all others.
const TELLING: [&str; 6] = ["state", "status", "type", "archived", "milestone", "label"];
/// Most conditions that are offered.
const MAX_CONDITIONS: usize = 3;
/// Most of the others that are shown.
const MAX_SHOWN: usize = 3;

/// The items from one place on, or up to one, where a query before took just these: `[3:]`.
pub(super) fn range(cx: &Context<'_>, response: ResponseId, array: &str, indexes: &[usize]) -> Option<String> {
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
pub(super) enum Told {
    /// One value of one field, which says which things are meant or is the only one.
    By(String),
    /// Each of these conditions, or nothing.
    Otherwise(Vec<String>),
}

/// Looks for the conditions on one field that hold for these items and for no other.
pub(super) fn told(items: &[Value], indexes: &[usize]) -> Told {
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
    let only = these.iter().all(|one| one == first) && !others.contains(first);
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

/// Calls for some of the items of a list.
pub(super) struct Partial<'a, 'b> {
    pub(super) cx: &'a Context<'b>,
    /// The first of them.
    pub(super) step: &'a DraftStep,
    pub(super) items: &'a [Value],
    pub(super) indexes: &'a [usize],
    pub(super) response: ResponseId,
    pub(super) array: &'a str,
}

impl Partial<'_, '_> {
    /// Asks whether those with the one condition are meant that tells them.
    pub(super) fn question(&self, id: QuestionId, condition: &str) -> Question {
        let filter = self.answer("filter", condition);
        self.of(id, format!("those with `{condition}`?"), vec![filter], "filter")
    }

    /// Asks which are meant, where several conditions hold or none.
    pub(super) fn by_eye(&self, id: QuestionId, conditions: &[String]) -> Question {
        let answers: Vec<Answer> = conditions.iter().map(|condition| self.answer(condition, condition)).collect();
        let which = if conditions.is_empty() {
            "no field tells them from the others: are these places meant, or those with a condition, which is an answer too?"
        } else {
            "several fields tell them from the others, and another condition on one item is an answer, too: which are meant?"
        };
        self.of(id, which.to_owned(), answers, "no")
    }

    fn answer(&self, word: &str, condition: &str) -> Answer {
        let means = format!("one call for each item with `{condition}`");
        Answer::new(word, means, command("--loop").assignment(&self.step.id, word))
    }

    fn of(&self, id: QuestionId, which: String, mut answers: Vec<Answer>, taken: &str) -> Question {
        let Self { step, response, array, .. } = self;
        let left = (0..self.items.len()).filter(|index| !self.indexes.contains(index)).take(MAX_SHOWN);
        let evidence = left.map(|index| Evidence {
            what: "was left out".to_owned(),
            response: Some(*response),
            jq: Some(format!("{array}[{index}]")),
            value: self.items[index].clone(),
        });
        let no = command("--loop").assignment(&step.id, "no");
        answers.push(Answer::new("no", "these positions and no others".to_owned(), no));
        let (some, all) = (self.indexes.len(), self.items.len());
        Question {
            kind: id.kind(),
            ask: format!("{} and those like it take {some} of {all} items of {response} `{array}`: {which}", step.id),
            places: vec![Place { step: step.id.clone(), pointer: String::new() }],
            evidence: evidence.collect(),
            answers,
            taken: taken.to_owned(),
            writes: step.is_write(self.cx.trace),
            open: true,
            id,
        }
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
