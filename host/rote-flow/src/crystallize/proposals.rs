//! Literals that a person may want to make parameters: those that recur, and those that look like what differs
//! from run to run. Only proposed.

use rote_plan::{Expression, text_of};
use serde_json::Value;

use super::draft::Draft;
use super::literals::{MIN_EMBEDDED_CHARS, last_segment, walk_literals};
use super::report::{Place, Proposal};

/// Most proposals.
const MAX_PROPOSALS: usize = 50;

/// Literals that recur or look like what differs from run to run.
pub(crate) fn proposals(draft: &Draft) -> Vec<Proposal> {
    let mut found: Vec<(Value, Vec<Place>)> = Vec::new();
    for step in &draft.steps {
        let mut add = |expression: &Expression| {
            walk_literals(expression, &mut String::new(), &mut |pointer, value| {
                let place = Place { step: step.id.clone(), pointer: pointer.to_owned() };
                match found.iter_mut().find(|(known, _)| known == value) {
                    Some((_, places)) => places.push(place),
                    None => found.push((value.clone(), vec![place])),
                }
            });
        };
        whole_literals(&step.arguments, &mut add);
    }
    let propose = |(value, places): (Value, Vec<Place>)| {
        let reason = if places.len() > 1 && text_of(&value).chars().count() >= MIN_EMBEDDED_CHARS {
            "it recurs"
        } else {
            looks_like(&value)?
        };
        let name =
            last_segment(&places.first()?.pointer).chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
        Some(Proposal { name: name.collect(), value, reason, places })
    };
    found
        .into_iter()
        .filter(|(value, _)| value.is_string() || value.is_number())
        .filter_map(propose)
        .take(MAX_PROPOSALS)
        .collect()
}

/// Visits everything but the pieces of texts, which mean nothing alone.
fn whole_literals(expression: &Expression, visit: &mut dyn FnMut(&Expression)) {
    match expression {
        Expression::Text(_) => {}
        other => visit(&without_texts(other)),
    }
}

fn without_texts(expression: &Expression) -> Expression {
    match expression {
        Expression::Text(_) => Expression::Literal(Value::Null),
        Expression::Object(members) => {
            Expression::Object(members.iter().map(|(key, inner)| (key.clone(), without_texts(inner))).collect())
        }
        Expression::Array(items) => Expression::Array(items.iter().map(without_texts).collect()),
        other => other.clone(),
    }
}

/// Names what a value looks like, if it looks like something that differs from run to run.
pub(crate) fn looks_like(value: &Value) -> Option<&'static str> {
    let text = value.as_str()?;
    let bytes = text.as_bytes();
    let digits =
        |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    if digits(0..4) && digits(5..7) && digits(8..10) && bytes[4] == b'-' && bytes[7] == b'-' {
        return Some("it looks like a date");
    }
    if text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.') && !text.contains(' ')) {
        return Some("it looks like an e-mail address");
    }
    let hex = |c: char| c.is_ascii_hexdigit() || c == '-';
    let uuid = text.len() == 36 && text.chars().all(hex) && text.matches('-').count() == 4;
    let number = text.len() >= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    (uuid || number).then_some("it looks like an id")
}
