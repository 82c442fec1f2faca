//! Structural difference of two JSON values, in a stable order.
//!
//! Objects are compared by key, in the order of the first value and then of the second; arrays by position after
//! their common beginning and end are set aside, so one inserted element is one difference.

use rote_types::{QueryEngine, ResponseId};
use serde::Serialize;
use serde_json::Value;

use crate::{Result, Workspace};
use rote_types::escape_token;

/// Most differences that are listed; beyond it two documents have little in common.
const MAX_CHANGES: usize = 10_000;

/// What happened to one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Only in the second value.
    Added,
    /// Only in the first value.
    Removed,
    /// In both, different.
    Changed,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// JSON pointer of the place.
    pub pointer: String,
    /// The value in the first, absent when added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value in the second, absent when removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Returns the differences of two values, at most 10,000.
#[must_use]
pub fn diff_values(before: &Value, after: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(before, after, "", &mut changes);
    changes
}

impl Workspace {
    /// Returns the differences of two bodies, or of what `program` gives on them.
    ///
    /// # Errors
    /// Unknown response, or the query failed.
    pub fn diff(
        &self,
        engine: &dyn QueryEngine,
        a: ResponseId,
        b: ResponseId,
        program: Option<&str>,
    ) -> Result<Vec<Change>> {
        let read = |id| {
            let values = self.values(engine, id, program.unwrap_or("."))?;
            Ok::<_, crate::WorkspaceError>(one_or_array(values))
        };
        Ok(diff_values(&read(a)?, &read(b)?))
    }
}

fn one_or_array(mut values: Vec<Value>) -> Value {
    match (values.pop(), values.is_empty()) {
        (Some(value), true) => value,
        (last, _) => Value::Array(values.into_iter().chain(last).collect()),
    }
}

fn compare(before: &Value, after: &Value, pointer: &str, changes: &mut Vec<Change>) {
    if before == after || changes.len() >= MAX_CHANGES {
        return;
    }
    match (before, after) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, value) in left {
                let place = format!("{pointer}/{}", escape_token(key));
                match right.get(key) {
                    Some(other) => compare(value, other, &place, changes),
                    None => changes.push(removed(place, value)),
                }
            }
            for (key, value) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                changes.push(added(format!("{pointer}/{}", escape_token(key)), value));
            }
        }
        (Value::Array(left), Value::Array(right)) => compare_arrays(left, right, pointer, changes),
        _ => changes.push(Change {
            kind: ChangeKind::Changed,
            pointer: pointer.to_owned(),
            before: Some(before.clone()),
            after: Some(after.clone()),
        }),
    }
}

/// Positions in the report are those of the first array for what changed or went, of the second for what came.
fn compare_arrays(left: &[Value], right: &[Value], pointer: &str, changes: &mut Vec<Change>) {
    // Arrays of one length are compared position by position: a changed element is the likeliest story.
    let (start, end) = if left.len() == right.len() { (0, 0) } else { common_ends(left, right) };
    let (left_middle, right_middle) = (&left[start..left.len() - end], &right[start..right.len() - end]);
    for (offset, (one, other)) in left_middle.iter().zip(right_middle).enumerate() {
        compare(one, other, &format!("{pointer}/{}", start + offset), changes);
    }
    let shared = left_middle.len().min(right_middle.len());
    for (offset, value) in left_middle.iter().enumerate().skip(shared) {
        changes.push(removed(format!("{pointer}/{}", start + offset), value));
    }
    for (offset, value) in right_middle.iter().enumerate().skip(shared) {
        changes.push(added(format!("{pointer}/{}", start + offset), value));
    }
    changes.truncate(MAX_CHANGES);
}

fn common_ends(left: &[Value], right: &[Value]) -> (usize, usize) {
    let start = left.iter().zip(right).take_while(|(one, other)| one == other).count();
    let (left, right) = (&left[start..], &right[start..]);
    let end = left.iter().rev().zip(right.iter().rev()).take_while(|(one, other)| one == other).count();
    (start, end)
}

fn added(pointer: String, value: &Value) -> Change {
    Change { kind: ChangeKind::Added, pointer, before: None, after: Some(value.clone()) }
}

fn removed(pointer: String, value: &Value) -> Change {
    Change { kind: ChangeKind::Removed, pointer, before: Some(value.clone()), after: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn lines(before: &Value, after: &Value) -> Vec<String> {
        let sign = |kind| match kind {
            ChangeKind::Added => '+',
            ChangeKind::Removed => '-',
            ChangeKind::Changed => '~',
        };
        diff_values(before, after).iter().map(|change| format!("{} {}", sign(change.kind), change.pointer)).collect()
    }

    #[test]
    fn differences_stand_in_document_order() {
        let before = json!({"b": 1, "a": {"x": 1, "y": 2}, "gone": 1, "s/t": 1});
        let after = json!({"a": {"y": 3, "x": 1}, "b": 1, "new": 1, "s/t": 2});
        assert_eq!(lines(&before, &after), ["~ /a/y", "- /gone", "~ /s~1t", "+ /new"]);
    }

    #[test]
    fn one_inserted_element_is_one_difference() {
        assert_eq!(lines(&json!([1, 2, 3]), &json!([1, 9, 2, 3])), ["+ /1"]);
        assert_eq!(lines(&json!([1, 2, 3]), &json!([2, 3])), ["- /0"]);
        assert_eq!(lines(&json!([{"a": 1}, 2]), &json!([{"a": 2}, 2])), ["~ /0/a"]);
        assert_eq!(lines(&json!([]), &json!([1, 2])), ["+ /0", "+ /1"]);
        assert_eq!(lines(&json!(1), &json!("1")), ["~ "]);
    }

    proptest! {
        #[test]
        fn equal_arrays_have_no_difference_and_others_have_one(left in prop::collection::vec(0..4_u8, 0..6), right in prop::collection::vec(0..4_u8, 0..6)) {
            let differ = left != right;
            prop_assert_eq!(!diff_values(&json!(left), &json!(right)).is_empty(), differ);
        }
    }
}
