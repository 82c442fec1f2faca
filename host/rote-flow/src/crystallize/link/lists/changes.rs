//! How the list that was sent may have been made of one that an answer has. Which of these programs does it, the recorded answer says.

use rote_plan::equal;
use serde_json::Value;

/// The list that was sent, in which what the other one has is written as it is there: an API that gives `25.0` is sent `25` by hand.
pub(super) fn written_as(had: &[Value], sent: &[Value]) -> Vec<Value> {
    let written = |one: &Value| had.iter().find(|other| equal(one, other)).unwrap_or(one).clone();
    sent.iter().map(written).collect()
}

/// Whether two lists are not the same, and have something in common.
pub(super) fn shares(had: &[Value], sent: &[Value]) -> bool {
    had != sent && in_common(had, sent) > 0
}

/// Whether the longer of two lists has half of its elements from the other one.
pub(super) fn shares_most(had: &[Value], sent: &[Value]) -> bool {
    in_common(had, sent) * 2 >= had.len().max(sent.len())
}

/// Whether the list of a thing may have become the one that is sent for it, whatever they have in common: both are of one kind.
pub(super) fn may_become(had: &[Value], sent: &[Value]) -> bool {
    let mut all = had.iter().chain(sent);
    let Some(first) = all.next() else { return false };
    // Of none that is left nothing says that objects are sent: it is what they are called.
    let is_told = !sent.is_empty() || !first.is_object();
    had != sent && is_told && all.all(|one| is_like(first, one))
}

fn is_like(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => one.keys().eq(other.keys()),
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

fn in_common(had: &[Value], sent: &[Value]) -> usize {
    sent.iter().filter(|one| had.contains(one)).count()
}

fn without(some: &[Value], others: &[Value]) -> Vec<Value> {
    some.iter().filter(|one| !others.contains(one)).cloned().collect()
}

/// The list as it was, or with elements more or fewer.
pub(super) fn more_or_fewer(list: &str, had: &[Value], sent: &[Value]) -> Option<String> {
    let (added, gone) = (without(sent, had), without(had, sent));
    if had == sent {
        return Some(list.to_owned());
    }
    if added.is_empty() == gone.is_empty() {
        return None;
    }
    let (added, is_more) = (Value::from(added), gone.is_empty());
    Some(if is_more { format!("{list} | . + ({added} - .)") } else { format!("{list} - {}", Value::from(gone)) })
}

/// Whether a program puts elements in the place of others, which writes them twice where they are there: it comes last.
pub(super) fn may_write_twice(program: &str) -> bool {
    program.contains("map(if ")
}

/// The list with other elements in the place of some, with new ones before all others, or in another order.
pub(super) fn otherwise(list: &str, had: &[Value], sent: &[Value]) -> Vec<String> {
    let (added, gone) = (Value::from(without(sent, had)), Value::from(without(had, sent)));
    let none = Value::Array(Vec::new());
    let before = |rest: &str| format!("{rest} | {added} + (. - {added})");
    match (added == none, gone == none) {
        _ if had.is_empty() || had == sent => Vec::new(),
        (true, true) => ["sort", "reverse"].map(|order| format!("{list} | {order}")).to_vec(),
        (false, true) => vec![before(list)],
        (true, false) => Vec::new(),
        (false, false) => {
            let rest = format!("{list} | . - {gone}");
            let (new, stay) = (without(sent, had), without(had, &without(had, sent)));
            let at_an_end = [[&stay[..], &new].concat(), [&new[..], &stay].concat()].iter().any(|made| made == sent);
            let in_place = replaced(had, sent).filter(|_| had.len() == sent.len() || !at_an_end);
            let front = (!stay.is_empty()).then(|| before(&rest));
            let in_place = in_place.map(|program| format!("{list} | {program}"));
            [format!("{rest} | . + ({added} - .)")].into_iter().chain(front).chain(in_place).collect()
        }
    }
}

/// The program that puts other elements in the place of some, leaves out others, and adds new ones at the end; none where it is not one
/// for each.
fn replaced(had: &[Value], sent: &[Value]) -> Option<String> {
    let (mut pairs, mut gone, mut added): (Vec<(&Value, &Value)>, Vec<&Value>, Vec<&Value>) = Default::default();
    let (mut old, mut new) = (had.iter().peekable(), sent.iter().peekable());
    loop {
        let out: Vec<&Value> = std::iter::from_fn(|| old.next_if(|one| !sent.contains(one))).collect();
        let into: Vec<&Value> = std::iter::from_fn(|| new.next_if(|one| !had.contains(one))).collect();
        let both = out.len().min(into.len());
        pairs.extend(out.iter().copied().zip(into.iter().copied()));
        gone.extend(&out[both..]);
        added.extend(&into[both..]);
        match (old.next(), new.next()) {
            (None, None) => break,
            (one, other) if one != other || into.len() > both => return None,
            _ => {}
        }
    }
    let mut whens: Vec<String> = Vec::new();
    for (at, (old, new)) in pairs.iter().enumerate() {
        match pairs[..at].iter().find(|(known, _)| known == old) {
            Some((_, known)) if known != new => return None,
            Some(_) => {}
            None => whens.push(format!("if . == {old} then {new}")),
        }
    }
    let list = |some: &[&Value]| Value::from_iter(some.iter().copied().cloned());
    let mut program = vec![format!("map({} else . end)", whens.join(" el"))];
    if !gone.is_empty() {
        program.insert(0, format!(". - {}", list(&gone)));
    }
    if !added.is_empty() {
        program.push(format!(". + ({} - .)", list(&added)));
    }
    (!pairs.is_empty()).then(|| program.join(" | "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_element_is_replaced_by_one_other() {
        for (had, sent, wanted) in [
            (json!(["a", "b"]), json!(["x", "b"]), Some("map(if . == \"a\" then \"x\" else . end)")),
            (json!([1, 2, 1, 3]), json!([7, 2, 7, 8]), Some("map(if . == 1 then 7 elif . == 3 then 8 else . end)")),
            (json!(["a", "b", "a"]), json!(["x", "b", "y"]), None),
            (json!(["a", "b"]), json!(["b", "x"]), None),
            (
                json!(["a", "b"]),
                json!(["x", "b", "c"]),
                Some("map(if . == \"a\" then \"x\" else . end) | . + ([\"c\"] - .)"),
            ),
            (
                json!(["a", "b", "c", "d"]),
                json!(["x", "c", "d"]),
                Some(". - [\"b\"] | map(if . == \"a\" then \"x\" else . end)"),
            ),
            (json!(["a", "b"]), json!(["x", "y", "b"]), None),
            (json!(["a", "b"]), json!(["b", "c"]), None),
        ] {
            let (had, sent) = (had.as_array().unwrap(), sent.as_array().unwrap());
            assert_eq!(replaced(had, sent).as_deref(), wanted, "{sent:?}");
        }
    }

    #[test]
    fn what_has_the_same_value_is_written_as_it_was() {
        let had = [json!({"price": 25.0, "sku": "a"}), json!(1), json!("1")];
        let sent = [json!({"sku": "a", "price": 25}), json!(1.0), json!(2.0), json!("1")];
        let wanted = [had[0].clone(), json!(1), json!(2.0), json!("1")];
        assert_eq!(written_as(&had, &sent), wanted);
    }

    #[test]
    fn what_is_the_same_is_not_otherwise() {
        let list = [json!("a"), json!("b")];
        assert_eq!((otherwise(".", &list, &list), otherwise(".", &[], &list)), (vec![], vec![]));
        assert!(shares(&list, &list[1..]) && !shares(&list, &list) && !shares(&list, &[json!("c")]));
        assert!(may_become(&list, &[]) && may_become(&[], &list) && may_become(&list, &[json!("c")]));
        assert!(!may_become(&list, &list) && !may_become(&list, &[json!(1)]) && !may_become(&[json!({})], &[]));
        assert!(shares_most(&list, &[json!("a"), json!("c")]) && !shares_most(&list, &[json!("c"), json!("d")]));
    }
}
