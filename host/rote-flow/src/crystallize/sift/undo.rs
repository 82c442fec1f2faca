//! What was made and deleted again falls out as a whole, with all that was done to it between.

use std::collections::BTreeSet;

use rote_find::split_words;
use rote_plan::text_of;
use rote_types::{Method, Tool, command};
use serde_json::Value;

use super::super::context::Context;
use super::super::desk::Desk;
use super::super::draft::{Draft, DraftStep};
use super::super::occurrences::id_words;
use crate::FlowError;
use crate::literals::{last_segment, walk_scalars};
use crate::question::{Answer, Place, Question, QuestionId};
use crate::trace::RecordedCall;

/// What words begin with that name the end of a thing.
const ENDINGS: [&str; 13] = [
    "cancel",
    "delet",
    "destroy",
    "discard",
    "drop",
    "eras",
    "obliterat",
    "purge",
    "remov",
    "revo",
    "terminat",
    "trash",
    "void",
];
/// What names begin with that take an end back, or refuse one.
const BEGINNINGS: [&str; 11] =
    ["declin", "deny", "recover", "reinstat", "reject", "restor", "revert", "uncancel", "undelet", "undo", "untrash"];

/// Words of the names of two tools of which each takes back what the other does.
const OPPOSITES: [(&str, &str); 20] = [
    ("add", "remove"),
    ("archive", "unarchive"),
    ("assign", "unassign"),
    ("block", "unblock"),
    ("close", "reopen"),
    ("connect", "disconnect"),
    ("disable", "enable"),
    ("favorite", "unfavorite"),
    ("follow", "unfollow"),
    ("hide", "unhide"),
    ("invite", "kick"),
    ("like", "unlike"),
    ("lock", "unlock"),
    ("mute", "unmute"),
    ("pause", "resume"),
    ("pin", "unpin"),
    ("publish", "unpublish"),
    ("star", "unstar"),
    ("start", "stop"),
    ("subscribe", "unsubscribe"),
];

/// Whether a person said that a step stays which would fall out.
pub(super) fn is_kept(desk: &mut Desk, step: &str) -> bool {
    desk.given(&QuestionId::Undo(step.to_owned()), &["keep", "pair", "last"]).is_some_and(|word| word == "keep")
}

/// Takes out each pair of a write that made a thing and the one that deleted it.
pub(super) fn pairs(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<(), FlowError> {
    for deletion in 0..draft.steps.len() {
        let Some((creation, id)) = creation_of(cx, draft, deletion) else { continue };
        let members = members(cx, draft, creation, deletion, &id);
        let kind = super::super::link::kind_of_tool(cx, draft.steps[creation].call(cx.trace)).unwrap_or_default();
        let outside = |user: &(usize, &DraftStep)| {
            let (position, step) = *user;
            let uses = |member: &usize| step.uses().any(|id| id == draft.steps[*member].id);
            let holds = || holds_id(cx, step, &id) || says(cx, step, &id, &kind);
            let holds = position > creation && step.is_write(cx.trace) && holds();
            step.out.is_none() && !members.contains(&position) && (holds || members.iter().any(uses))
        };
        let users: Vec<usize> = draft.steps.iter().enumerate().filter(outside).map(|(position, _)| position).collect();
        let names: Vec<String> = members.iter().map(|member| draft.steps[*member].id.clone()).collect();
        let made = &draft.steps[creation];
        let response = made.call(cx.trace).response;
        if users.is_empty() {
            if !is_kept(desk, &made.id) {
                let text = format!("{} left out: made and deleted again", names.join(", "));
                desk.note(Some(&made.id), text, Some(command("--keep").argument(response)));
                leave(draft, &members);
            }
        } else if desk.ask(question(cx, draft, &names, &users, creation))? == "pair" {
            leave(draft, &members);
        }
    }
    Ok(())
}

fn leave(draft: &mut Draft, members: &BTreeSet<usize>) {
    for member in members {
        draft.steps[*member].out = Some("was made and deleted again".to_owned());
    }
}

/// Asks of each change that a later one takes back, and returns those that stay for it: switched off and on again is a job,
/// and a slip of the hand is none.
pub(super) fn reversals(cx: &Context<'_>, draft: &mut Draft, desk: &mut Desk) -> Result<BTreeSet<usize>, FlowError> {
    let mut stay = BTreeSet::new();
    for later in 0..draft.steps.len() {
        let Some(earlier) = taken_back(cx, draft, later).or_else(|| undone(cx, draft, later)) else { continue };
        match desk.ask(reversal(cx, draft, earlier, later))?.as_str() {
            "pair" => {
                for member in [earlier, later] {
                    draft.steps[member].out = Some("was changed and changed back".to_owned());
                }
            }
            "last" => {}
            _ => {
                stay.insert(earlier);
            }
        }
    }
    Ok(stay)
}

/// The change before `later` that it takes back: of the same thing, and each field has the value again that an answer had before.
fn taken_back(cx: &Context<'_>, draft: &Draft, later: usize) -> Option<usize> {
    let step = &draft.steps[later];
    let call = step.call(cx.trace);
    let path = cx.path_arguments(call);
    if step.out.is_some() || !step.is_write(cx.trace) {
        return None;
    }
    let earlier = (0..later).rev().find(|at| {
        let other = &draft.steps[*at];
        let same_tool = other.call(cx.trace).adapter == call.adapter && other.call(cx.trace).tool == call.tool;
        other.out.is_none() && same_tool && super::same_target(call, &path, other.call(cx.trace))
    })?;
    let first = draft.steps[earlier].call(cx.trace);
    let id = path.last()?.1;
    let before = cx.trace.calls[..draft.steps[earlier].calls[0]].iter().rev().find_map(|known| {
        let body = cx.body(known.response).filter(|_| known.adapter == call.adapter)?;
        let same = cx.path_arguments(known).iter().any(|(_, value)| *value == id);
        thing_with(&body, id).or_else(|| Some(&*body).filter(|body| same && body.is_object())).cloned()
    })?;
    let sets = |call: &RecordedCall| {
        let mut set = Vec::new();
        super::leaves(&call.arguments, &mut |pointer, value| set.push((pointer.to_owned(), value.clone())));
        set.retain(|(pointer, _)| !path.iter().any(|(name, _)| *pointer == format!("/{name}")));
        set
    };
    let (changed, back) = (sets(first), sets(call));
    let had = |pointer: &str| before.pointer(pointer).or_else(|| before.get(last_segment(pointer)));
    let is_back = back.iter().all(|(pointer, value)| had(pointer) == Some(value));
    let covers = changed.iter().all(|(pointer, _)| back.iter().any(|(other, _)| other == pointer));
    (is_back && covers && changed != back).then_some(earlier)
}

/// The change before `later` that it takes back with another tool, such as `unlock`.
fn undone(cx: &Context<'_>, draft: &Draft, later: usize) -> Option<usize> {
    let step = &draft.steps[later];
    let call = step.call(cx.trace);
    if step.out.is_some() || !step.is_write(cx.trace) {
        return None;
    }
    (0..later).rev().find(|at| {
        let other = &draft.steps[*at];
        let changed = other.call(cx.trace);
        let is_before = other.out.is_none() && other.is_write(cx.trace) && changed.adapter == call.adapter;
        is_before && are_opposite(cx, changed, call) && sends_again(changed, call)
    })
}

/// Whether one tool takes back what the other does: by one word of their names, or as the `PUT` and the `DELETE` of a thing's
/// state, which has a name and is not the thing.
fn are_opposite(cx: &Context<'_>, one: &RecordedCall, other: &RecordedCall) -> bool {
    let (Some(tool), Some(back)) = (cx.tool(one), cx.tool(other)) else { return false };
    let is_state = !tool.path.is_empty() && tool.path == back.path && !tool.path.ends_with('}');
    if is_state && matches!((one.method, other.method), (Method::Put, Method::Delete) | (Method::Delete, Method::Put)) {
        return true;
    }
    let (words, others) = (split_words(&tool.name), split_words(&back.name));
    let singular = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    let differing: Vec<(&str, &str)> = words
        .iter()
        .zip(&others)
        .filter(|(word, other)| singular(word) != singular(other))
        .map(|(word, other)| (word.as_str(), other.as_str()))
        .collect();
    words.len() == others.len()
        && matches!(&*differing, [(a, b)] if OPPOSITES.contains(&(a, b)) || OPPOSITES.contains(&(b, a)))
}

/// Whether a call sends nothing but what another one sent: each value under its name, or one of a list of the other's; at
/// least one under its name.
fn sends_again(changed: &RecordedCall, call: &RecordedCall) -> bool {
    let (Some(before), Some(sent)) = (changed.arguments.as_object(), call.arguments.as_object()) else { return false };
    let is_same = |(name, value): &(&String, &Value)| before.get(*name) == Some(*value);
    let is_listed = |value: &Value| before.values().filter_map(Value::as_array).any(|list| list.contains(value));
    sent.iter().any(|one| is_same(&one)) && sent.iter().all(|one| is_same(&one) || is_listed(one.1))
}

/// The object with this id in an answer.
fn thing_with<'v>(value: &'v Value, id: &Value) -> Option<&'v Value> {
    match value {
        Value::Object(members) => {
            let own = members.iter().any(|(key, inner)| super::super::context::names_id(key) && inner == id);
            if own { Some(value) } else { members.values().find_map(|inner| thing_with(inner, id)) }
        }
        Value::Array(items) => items.iter().find_map(|inner| thing_with(inner, id)),
        _ => None,
    }
}

fn reversal(cx: &Context<'_>, draft: &Draft, earlier: usize, later: usize) -> Question {
    let (one, other) = (&draft.steps[earlier], &draft.steps[later]);
    let (id, response) = (&one.id, one.call(cx.trace).response);
    let question = QuestionId::Undo(id.clone());
    Question {
        kind: question.kind(),
        ask: format!("{id} changed what {} changed back: are both part of the job?", other.id),
        places: [one, other].map(|step| Place { step: step.id.clone(), pointer: String::new() }).to_vec(),
        evidence: Vec::new(),
        answers: vec![
            Answer::new("keep", "both are made in each run".to_owned(), command("--keep").argument(response)),
            Answer::by_id(&question, "pair", format!("{id} and {} fall out", other.id)),
            Answer::by_id(&question, "last", format!("only {} is made", other.id)),
        ],
        taken: "keep".to_owned(),
        writes: true,
        open: true,
        id: question,
    }
}

fn question(cx: &Context<'_>, draft: &Draft, names: &[String], users: &[usize], creation: usize) -> Question {
    let (id, response) = (&draft.steps[creation].id, draft.steps[creation].call(cx.trace).response);
    let users: Vec<&str> = users.iter().map(|user| draft.steps[*user].id.as_str()).collect();
    let kept = command("--keep").argument(response);
    let question = QuestionId::Undo(id.clone());
    Question {
        kind: question.kind(),
        ask: format!(
            "{} made something and deleted it again, but {} uses it: is it part of the job?",
            names.join(", "),
            users.join(", ")
        ),
        places: names.iter().map(|step| Place { step: step.clone(), pointer: String::new() }).collect(),
        evidence: Vec::new(),
        answers: vec![
            Answer::new("keep", "it is made and deleted in each run".to_owned(), kept),
            Answer::by_id(&question, "pair", format!("{} fall out", names.join(", "))),
        ],
        taken: "keep".to_owned(),
        writes: true,
        open: true,
        id: question,
    }
}

/// The step that made what `deletion` deletes, and the id of it.
fn creation_of(cx: &Context<'_>, draft: &Draft, deletion: usize) -> Option<(usize, Value)> {
    let step = &draft.steps[deletion];
    let call = step.call(cx.trace);
    let tool = cx.tool(call)?;
    if step.out.is_some() || !step.is_write(cx.trace) {
        return None;
    }
    let (name, id) = cx.path_arguments(call).pop()?;
    let hole = format!("{{{name}}}");
    let (of, behind) = tool.path.split_once(&hole).unwrap_or((&tool.path, ""));
    if !ends(&tool, behind) {
        return None;
    }
    let creation = (0..deletion).rev().find(|earlier| {
        let made = draft.steps[*earlier].call(cx.trace);
        let same_place = cx.tool(made).is_some_and(|tool| noun(&tool.path) == noun(of));
        let is_made = made.method == Method::Post && made.adapter == call.adapter && same_place;
        let answered = || cx.body(made.response).is_some_and(|body| holds_at_id(&body, id));
        draft.steps[*earlier].out.is_none() && made.is_write() && is_made && answered()
    })?;
    let known = draft.steps[..creation].iter().any(|earlier| {
        let call = earlier.call(cx.trace);
        holds_id(cx, earlier, id)
            || (!call.is_write() && cx.body(call.response).is_some_and(|body| holds_at_id(&body, id)))
    });
    let own = holds_id(cx, &draft.steps[creation], id);
    (!known && !own).then(|| (creation, id.clone()))
}

/// Whether a tool ends the thing whose id is the last of its path, before `behind`: it says so, or is the `DELETE` of it. What
/// else cannot be taken back (a payment, a publication) is done to the thing, which stays.
fn ends(tool: &Tool, behind: &str) -> bool {
    let is_ending = |word: &String| ENDINGS.iter().any(|ending| word.starts_with(ending));
    let (words, tail) = (split_words(&tool.name), split_words(behind));
    match &*tail {
        [] => {
            let is_beginning = |word: &String| BEGINNINGS.iter().any(|beginning| word.starts_with(beginning));
            let last = || words.last().is_some_and(is_ending) && !words.iter().any(is_beginning);
            matches!(tool.method, Method::Delete) || words.first().is_some_and(is_ending) || last()
        }
        // Of what else is behind it something is ended that belongs to the thing, such as its lock.
        tail => tail.len() == 1 && is_ending(&tail[0]),
    }
}

/// The last word of a path that is not a parameter.
fn noun(path: &str) -> Option<&str> {
    path.split('/').rev().find(|part| !part.is_empty() && !part.contains('{'))
}

/// Everything that was done to the thing, and reads of it that only serve that.
fn members(cx: &Context<'_>, draft: &Draft, creation: usize, deletion: usize, id: &Value) -> BTreeSet<usize> {
    let mut members = BTreeSet::from([creation, deletion]);
    for (position, step) in draft.steps.iter().enumerate().skip(creation + 1) {
        let call = step.call(cx.trace);
        let own = cx.tool(call).is_some_and(|tool| !tool.path.is_empty());
        let of_it = own && cx.path_arguments(call).iter().any(|(_, value)| *value == id);
        let reads_of_it = || {
            let uses: BTreeSet<&str> = step.uses().collect();
            !step.is_write(cx.trace) && members.iter().any(|member| uses.contains(draft.steps[*member].id.as_str()))
        };
        if step.out.is_none() && (of_it && position <= deletion || reads_of_it()) {
            members.insert(position);
        }
    }
    members
}

/// Whether an argument of a step that names a thing has this id.
fn holds_id(cx: &Context<'_>, step: &DraftStep, id: &Value) -> bool {
    let call = step.call(cx.trace);
    cx.path_arguments(call).iter().any(|(_, value)| *value == id) || holds_at_id(&call.arguments, id)
}

/// Whether a step sends the id at a place that is not named after ids: as a text, as a word of one, as a number under the name of
/// the thing.
fn says(cx: &Context<'_>, step: &DraftStep, id: &Value, kind: &str) -> bool {
    let (text, mut found) = (text_of(id), false);
    walk_scalars(&step.call(cx.trace).arguments, String::new(), &mut |pointer, value| {
        found |= match value {
            Value::String(said) => *said == text || id_words(said).any(|word| word == text),
            value => value == id && !kind.is_empty() && last_segment(pointer).to_ascii_lowercase().contains(kind),
        };
    });
    found
}

/// Whether the id stands somewhere at a key that names ids.
fn holds_at_id(value: &Value, id: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, inner)| {
            let named = super::super::context::names_id(key);
            named && (inner == id || inner.as_array().is_some_and(|items| items.contains(id))) || holds_at_id(inner, id)
        }),
        Value::Array(items) => items.iter().any(|inner| holds_at_id(inner, id)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_taken_back_ends_nothing() {
        for (method, name, behind, ended) in [
            ("DELETE", "dropThing", "", true),
            ("DELETE", "removeLock", "/lock", false),
            ("DELETE", "labels/delete", "/labels", false),
            ("POST", "cancelBooking", "/cancel", true),
            ("POST", "bookings.cancel", "/cancellation", true),
            ("PUT", "trash_page", "", true),
            ("POST", "payPayslip", "/pay", false),
            ("POST", "publish", "", false),
            ("POST", "refundCharge", "/refunds", false),
            ("MCP", "delete_note", "", true),
            ("MCP", "send_note", "", false),
        ] {
            let tool = serde_json::json!({
                "name": name, "method": method, "path": "/x", "toolset": "t", "inputSchema": {}, "access": "destroy",
            });
            assert_eq!(ends(&serde_json::from_value(tool).unwrap(), behind), ended, "{method} {name}");
        }
    }
}
