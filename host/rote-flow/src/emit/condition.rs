//! Conditions: how comparisons are joined, the same in every language.

use rote_plan::{Comparison, Condition, Expression, Operator};
use serde_json::Value;

/// A condition; in parentheses where it stands beside others and needs them. `compare` writes the relation of two values, the
/// right one null where there is none; `exists` writes whether there is a value, or that there is none.
pub(super) fn joined(
    condition: &Condition,
    alone: bool,
    compare: &dyn Fn(&Expression, Operator, &Expression) -> String,
    exists: &dyn Fn(&Expression, bool) -> String,
) -> String {
    let write = |inner: &Condition, alone: bool| joined(inner, alone, compare, exists);
    let several = |inner: &[Condition], word: &str, none: &str| match inner {
        [] => none.to_owned(),
        [one] => write(one, alone),
        parts => {
            let text = parts.iter().map(|one| write(one, false)).collect::<Vec<_>>().join(word);
            if alone { text } else { format!("({text})") }
        }
    };
    match condition {
        Condition::All(inner) => several(inner, " && ", "true"),
        Condition::Any(inner) => several(inner, " || ", "false"),
        Condition::Not(inner) => match &**inner {
            Condition::Compare(Comparison { left, op: Operator::Exists, .. }) => exists(left, true),
            inner => format!("!({})", write(inner, true)),
        },
        Condition::Compare(Comparison { left, op: Operator::Exists, .. }) => exists(left, false),
        Condition::Compare(Comparison { left, op, right }) => {
            compare(left, *op, right.as_ref().unwrap_or(&Expression::Literal(Value::Null)))
        }
    }
}
