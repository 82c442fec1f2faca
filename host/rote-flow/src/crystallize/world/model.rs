//! The recorded world: every call and its answer, those that were left out too, and the ids that only answers could tell.

use std::collections::BTreeSet;

use rote_plan::text_of;
use rote_types::ResponseId;
use rote_workspace::ResponseState;
use serde_json::Value;

use super::super::context::{Context, names_id};
use super::super::draft::Draft;
use super::super::path::Segment;

/// A call and its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) response: ResponseId,
    /// The step that it became a part of.
    pub(crate) step: Option<String>,
    /// `adapter/tool`.
    pub(crate) tool: String,
    pub(crate) writes: bool,
    /// The arguments as typed, templates unresolved: what stands here first is the person's.
    pub(crate) typed: Value,
    /// The arguments as sent.
    pub(crate) sent: Value,
    /// Null for a call that failed, and for an answer that is not JSON.
    pub(crate) body: Value,
}

/// Everything that was recorded, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct World {
    pub(crate) exchanges: Vec<Exchange>,
}

/// A scalar of an answer: the nearest member's name, the way to it, the value.
pub(crate) type Visit<'a> = dyn FnMut(&str, &[Segment], &Value) + 'a;

/// Whether a member of this name tells one thing, or one state of a thing, from all others.
pub(crate) fn tells_apart(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    names_id(name) || ["version", "etag", "sha", "cursor", "token"].iter().any(|end| lower.ends_with(end))
}

/// Calls `visit` with every scalar; items have the name of their array.
pub(crate) fn scalars(value: &Value, name: &str, path: &mut Vec<Segment>, visit: &mut Visit<'_>) {
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                path.push(Segment::Key(key.clone()));
                scalars(inner, key, path, visit);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                path.push(Segment::Index(index));
                scalars(inner, name, path, visit);
                path.pop();
            }
        }
        scalar => visit(name, path, scalar),
    }
}

/// Whether a text is the same by more than chance.
pub(crate) fn is_telling(text: &str) -> bool {
    let digits = text.chars().any(|c| c.is_ascii_digit());
    let others = text.chars().any(|c| !c.is_ascii_digit());
    let prefixed = || text.split_once('_').is_some_and(|(_, own)| own.contains(|c: char| c.is_ascii_uppercase()));
    match text.chars().count() {
        10.. => true,
        6.. if !others => true,
        4.. => digits && others || prefixed(),
        _ => false,
    }
}

impl World {
    /// Reads what was recorded.
    pub(crate) fn of(cx: &Context<'_>, draft: &Draft) -> Self {
        let exchange = |(position, call): (usize, &crate::trace::RecordedCall)| {
            let body = if call.state == ResponseState::Ok { cx.recorded(call.response) } else { None };
            Exchange {
                response: call.response,
                step: draft.step_of(position).map(|at| draft.steps[at].id.clone()),
                tool: format!("{}/{}", call.adapter, call.tool),
                writes: call.is_write(),
                typed: call.raw.clone(),
                sent: call.arguments.clone(),
                body: body.map_or(Value::Null, |body| (*body).clone()),
            }
        };
        Self { exchanges: cx.trace.calls.iter().enumerate().map(exchange).collect() }
    }

    /// Returns the ids that the person can only have from an answer: none that was typed before an answer had it, none that
    /// is `given` as a parameter, none that stands in a program.
    pub(crate) fn ids(&self, given: &[&Value], programs: &[&str]) -> BTreeSet<String> {
        let mut typed: BTreeSet<String> = given.iter().map(|value| text_of(value)).collect();
        let mut found = BTreeSet::new();
        for exchange in &self.exchanges {
            scalars(&exchange.typed, "", &mut Vec::new(), &mut |name, _, value| {
                if value.is_string() || tells_apart(name) {
                    typed.insert(text_of(value));
                }
            });
            scalars(&exchange.body, "", &mut Vec::new(), &mut |name, _, value| {
                let text = text_of(value);
                let is_id = matches!(value, Value::String(_) | Value::Number(_)) && tells_apart(name);
                let known = typed.contains(&text) && !found.contains(&text);
                let frozen = value.is_string() && programs.iter().any(|program| program.contains(&*text));
                if is_id && !text.is_empty() && !known && !frozen {
                    found.insert(text);
                }
            });
        }
        found
    }
}
