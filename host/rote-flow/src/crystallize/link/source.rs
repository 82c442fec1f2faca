//! Which of the places that have a value is its source.

use rote_find::{singular, split_words};
use rote_plan::{equal, text_of};
use serde_json::Value;

use super::super::context::{Context, names_id};
use super::super::occurrences::Hit;
use super::super::path::{Segment, at};
use super::place_name;
use crate::trace::RecordedCall;

/// The places of a value that are the best of their kind.
pub(super) struct Sources<'h> {
    all: Vec<&'h Hit>,
    best: Vec<&'h Hit>,
    likeliest: Option<&'h Hit>,
}

/// Members that hold the items of an answer and name nothing.
const ENVELOPES: [&str; 10] =
    ["items", "data", "results", "result", "values", "records", "entries", "nodes", "list", "value"];

/// Words in the names of amounts: `amount` is what a bill calls `total`.
const AMOUNTS: [&str; 7] = ["amount", "total", "sum", "price", "cost", "value", "balance"];

/// How good a place is; the lower, the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The field is named as the argument.
    Named,
    /// The id of the kind of thing that the argument is about.
    OfTheKind,
    /// The id of something.
    AnId,
    /// Any other field.
    Any,
}

/// Whether an argument of this name says which state of a thing is meant.
pub(super) fn names_version(name: &str) -> bool {
    ["version", "etag", "sha", "revision", "cursor", "page_token"].contains(&name.to_ascii_lowercase().as_str())
}

impl<'h> Sources<'h> {
    pub(super) fn of(cx: &Context<'_>, call: &RecordedCall, pointer: &str, name: &str, hits: &[&'h Hit]) -> Self {
        let place = place_name(pointer);
        let about = kind_of_argument(cx, call, name);
        // An answer that says again what it was asked for has it from there; its version is equal by chance.
        let echo = |hit: &Hit| {
            if names_version(hit.field()) {
                return false;
            }
            let of = &cx.trace.calls[hit.call];
            cx.body(of.response).and_then(|body| at(&body, &hit.path).cloned()).is_some_and(|found| {
                let text = text_of(&found);
                let sent = of.arguments.as_object().into_iter().flatten();
                let mut named = sent.filter(|(name, _)| same_name(name, hit.field()));
                cx.path_arguments(of).iter().any(|(_, value)| text_of(value) == text)
                    || named.any(|(_, value)| text_of(value) == text)
            })
        };
        let mut hits: Vec<&Hit> = hits.to_vec();
        if hits.iter().any(|hit| !echo(hit)) {
            hits.retain(|hit| !echo(hit));
        }
        if names_version(&place) {
            return Self::of_version(cx, call, &place, &hits);
        }
        // A write that says again what was read before has not made it.
        let is_read = |hit: &&Hit| !cx.trace.calls[hit.call].is_write();
        if let Some(first) = hits.iter().filter(|hit| is_read(hit)).map(|hit| hit.call).min() {
            hits.retain(|hit| is_read(hit) || hit.call < first);
        }
        let rank = |hit: &Hit| {
            if !name.is_empty() && !is_generic(name) && same_name(hit.field(), name) {
                Rank::Named
            } else if is_generic(hit.field()) && about.as_ref().is_some_and(|about| kind_of_hit(cx, hit) == *about) {
                Rank::OfTheKind
            } else if names_id(hit.field()) {
                Rank::AnId
            } else {
                Rank::Any
            }
        };
        let top = hits.iter().map(|hit| rank(hit)).min();
        let best: Vec<&Hit> = hits.iter().copied().filter(|hit| Some(rank(hit)) == top).collect();
        // A number that stands where no thing is named is the same by chance.
        let is_by_chance = |hit: &&Hit| {
            let is_number = cx
                .body(cx.trace.calls[hit.call].response)
                .is_some_and(|body| at(&body, &hit.path).is_some_and(Value::is_number));
            rank(hit) == Rank::Any && is_number && about.as_ref() != Some(&normal(hit.field()))
        };
        let likeliest = likeliest(cx, call, &best).filter(|hit| !is_by_chance(hit));
        Self { all: hits, best, likeliest }
    }

    /// A state is that of the thing that the call is about, as it was seen last.
    fn of_version(cx: &Context<'_>, call: &RecordedCall, name: &str, hits: &[&'h Hit]) -> Self {
        let target: Vec<String> = cx.path_arguments(call).iter().map(|(_, value)| text_of(value)).collect();
        let of_target = |hit: &Hit| {
            let body = cx.body(cx.trace.calls[hit.call].response);
            let object = body.as_ref().and_then(|body| at(body, &hit.path[..hit.path.len() - 1])?.as_object().cloned());
            let has = |object: serde_json::Map<String, Value>| {
                object.iter().any(|(key, value)| names_id(key) && target.contains(&text_of(value)))
            };
            target.is_empty() || object.is_some_and(has)
        };
        let tail = |field: &str| normal(field).ends_with(&normal(name));
        let best: Vec<&Hit> = hits.iter().copied().filter(|hit| tail(hit.field()) && of_target(hit)).collect();
        let likeliest = best.last().copied();
        Self { all: Vec::new(), best, likeliest }
    }

    /// The source, where one is likelier than all others.
    pub(super) fn likeliest(&self) -> Option<&'h Hit> {
        self.likeliest
    }

    /// All places but those that only say again what was asked for.
    pub(super) fn all(&self) -> impl Iterator<Item = &'h Hit> {
        self.all.iter().copied()
    }

    /// All that are as good by their names.
    pub(super) fn best(&self) -> impl Iterator<Item = &'h Hit> {
        self.best.iter().copied().take(5)
    }
}

/// One thing in several answers is read where a query showed it, else where it was made, else where it was found alone, else
/// where it was seen first. Several places in each answer, or several kinds of things, leave it open.
fn likeliest<'h>(cx: &Context<'_>, call: &RecordedCall, best: &[&'h Hit]) -> Option<&'h Hit> {
    let first = best.first()?;
    let kind = |hit: &Hit| (hit.field().to_owned(), kind_of_hit(cx, hit));
    if best.iter().any(|hit| kind(hit) != kind(first)) {
        return None;
    }
    let alone = |hit: &&&Hit| best.iter().filter(|other| other.call == hit.call).count() == 1;
    let single: Vec<&Hit> = best.iter().filter(alone).copied().collect();
    let was_shown = |hit: &&&Hit| shown(cx, call, hit);
    let was_made = |hit: &&&Hit| cx.trace.calls[hit.call].is_write();
    let by_itself = |hit: &&&Hit| {
        let indices = hit.path.iter().enumerate().filter(|(_, segment)| matches!(segment, Segment::Index(_)));
        let body = cx.body(cx.trace.calls[hit.call].response);
        let length =
            |at_index: usize| body.as_ref().and_then(|body| at(body, &hit.path[..at_index])?.as_array().map(Vec::len));
        indices.into_iter().all(|(position, _)| length(position) == Some(1))
    };
    let found = single.iter().find(was_shown).or_else(|| single.iter().find(was_made));
    found.or_else(|| single.iter().find(by_itself)).or_else(|| single.first()).copied()
}

/// Whether a query between the answer and the call showed the value.
pub(super) fn shown(cx: &Context<'_>, call: &RecordedCall, hit: &Hit) -> bool {
    let of = &cx.trace.calls[hit.call];
    let Some(value) = cx.body(of.response).and_then(|body| at(&body, &hit.path).cloned()) else { return false };
    let queries = cx.trace.queries.iter().filter(|query| {
        query.source_response == Some(of.response) && query.command.0 < call.command && query.program.trim() != "."
    });
    queries.into_iter().any(|query| {
        let outputs = cx.portable(query).and_then(|program| cx.outputs(of.response, &program));
        outputs.is_ok_and(|outputs| outputs.iter().any(|output| holds(output, &value)))
    })
}

/// Whether a value stands in another one.
pub(super) fn holds(value: &Value, wanted: &Value) -> bool {
    equal(value, wanted)
        || match value {
            Value::Object(members) => members.values().any(|inner| holds(inner, wanted)),
            Value::Array(items) => items.iter().any(|inner| holds(inner, wanted)),
            _ => false,
        }
}

/// What an argument is about: `issue` for `issue_id`, for an `id` the word before it in the path.
fn kind_of_argument(cx: &Context<'_>, call: &RecordedCall, name: &str) -> Option<String> {
    let lower = normal(name);
    let stem = ["ids", "id", "keys", "key", "number", "uuid", "slug"]
        .iter()
        .find_map(|end| lower.strip_suffix(end))
        .unwrap_or(&lower);
    if !stem.is_empty() {
        return Some(stem.to_owned());
    }
    let tool = cx.tool(call)?;
    let before = tool.path.split(&format!("{{{name}}}")).next().filter(|before| before.len() < tool.path.len())?;
    noun(before)
}

/// What the object of a place is: the member that holds it, or what the tool is about.
pub(super) fn kind_of_hit(cx: &Context<'_>, hit: &Hit) -> String {
    let tool = cx.tool(&cx.trace.calls[hit.call]);
    let of_tool = tool.and_then(|tool| noun(&tool.path)).unwrap_or_default();
    match hit.parent() {
        Some(parent) if !ENVELOPES.contains(&parent.to_ascii_lowercase().as_str()) => normal(&singular(parent)),
        _ => of_tool,
    }
}

/// What a tool is about, as one thing: `issue` for `/issues/{id}`.
pub(crate) fn kind_of_tool(cx: &Context<'_>, call: &RecordedCall) -> Option<String> {
    noun(&cx.tool(call)?.path)
}

/// The last word of a path that is not a parameter, as one thing.
fn noun(path: &str) -> Option<String> {
    let word = path.split('/').rev().find(|part| !part.is_empty() && !part.contains('{'))?;
    Some(normal(&singular(word)))
}

pub(super) fn is_generic(name: &str) -> bool {
    ["id", "key", "number", "uuid", "guid", "slug", "ids", "keys"].contains(&name.to_ascii_lowercase().as_str())
}

pub(super) fn same_name(one: &str, other: &str) -> bool {
    normal(one) == normal(other)
}

/// Whether a number of one name may be sent under the other one.
pub(super) fn are_alike(one: &str, other: &str) -> bool {
    let is_amount = |name: &str| split_words(name).iter().any(|word| AMOUNTS.contains(&word.as_str()));
    same_name(one, other) || is_amount(one) && is_amount(other)
}

/// A name without case, `_` and `-`.
fn normal(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
