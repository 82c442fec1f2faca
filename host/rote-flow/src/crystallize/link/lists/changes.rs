//! How the list that was sent may have been made of one that an answer has. Which of these programs does it, the recorded answer says.

use serde_json::Value;

/// Whether two lists are not the same, and have something in common.
pub(super) fn shares(had: &[Value], sent: &[Value]) -> bool {
    had != sent && in_common(had, sent) > 0
}

/// Whether the longer of two lists has half of its elements from the other one.
pub(super) fn shares_most(had: &[Value], sent: &[Value]) -> bool {
    in_common(had, sent) * 2 >= had.len().max(sent.len())
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
    if had.is_empty() || added.is_empty() == gone.is_empty() {
        return None;
    }
    let (added, is_more) = (Value::from(added), gone.is_empty());
    Some(if is_more { format!("{list} | . + ({added} - .)") } else { format!("{list} - {}", Value::from(gone)) })
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
            let in_place = replaced(had, sent).map(|program| format!("{list} | {program}"));
            in_place.into_iter().chain([format!("{rest} | . + ({added} - .)"), before(&rest)]).collect()
        }
    }
}

/// The program that puts other elements in the place of some; none where it is not one for each.
fn replaced(had: &[Value], sent: &[Value]) -> Option<String> {
    let mut pairs: Vec<(&Value, &Value)> = Vec::new();
    for (old, new) in had.iter().zip(sent).filter(|(old, new)| old != new) {
        match pairs.iter().find(|(known, _)| *known == old) {
            Some((_, known)) if *known != new => return None,
            Some(_) => {}
            None if sent.contains(old) || had.contains(new) => return None,
            None => pairs.push((old, new)),
        }
    }
    let whens: Vec<String> = pairs.iter().map(|(old, new)| format!("if . == {old} then {new}")).collect();
    (had.len() == sent.len()).then(|| format!("map({} else . end)", whens.join(" el")))
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
            (json!(["a", "b"]), json!(["x", "b", "c"]), None),
        ] {
            let (had, sent) = (had.as_array().unwrap(), sent.as_array().unwrap());
            assert_eq!(replaced(had, sent).as_deref(), wanted, "{sent:?}");
        }
    }

    #[test]
    fn what_is_the_same_is_not_otherwise() {
        let list = [json!("a"), json!("b")];
        assert_eq!((otherwise(".", &list, &list), otherwise(".", &[], &list)), (vec![], vec![]));
        assert!(shares(&list, &list[1..]) && !shares(&list, &list) && !shares(&list, &[json!("c")]));
        assert!(shares_most(&list, &[json!("a"), json!("c")]) && !shares_most(&list, &[json!("c"), json!("d")]));
    }
}
