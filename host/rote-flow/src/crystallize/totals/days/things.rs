//! The days of the things that a write is about, whether a query printed them or not.

use rote_plan::{Bound, Reference};
use serde_json::Value;

use super::super::super::bind::known;
use super::super::super::context::{Context, names_id};
use super::super::super::draft::{Draft, DraftStep};
use super::super::super::link::place_name;
use super::super::super::parameters::Parameters;
use super::super::super::path::{Segment, jq_of, path_of};
use super::super::super::program::stages;
use crate::literals::references;

/// Most members of one thing that are looked at.
const MAX_MEMBERS: usize = 500;
/// Parts of the names of members that say when somebody touched a thing, from which nobody reckons.
const TOUCHED: [&str; 2] = ["updated", "modified"];

/// A text of a thing, and where it stands.
pub(super) struct Known {
    pub(super) reference: Reference,
    /// The members on the way there from the thing.
    pub(super) way: Vec<String>,
    pub(super) text: String,
}

/// The texts of the things that a write is for, or that other values of it come from, as far as they are wanted.
pub(super) fn texts(
    cx: &Context<'_>,
    draft: &Draft,
    parameters: &Parameters,
    step: &DraftStep,
    wanted: fn(&str) -> bool,
) -> Vec<Known> {
    let mut found = Vec::new();
    for thing in things(cx, draft, step) {
        let Some(value) = known(cx, draft, parameters, &Bound::From(Box::new(thing.clone()))) else { continue };
        let mut open: Vec<(Vec<String>, Value)> = vec![(Vec::new(), value)];
        let mut seen = 0;
        while let Some((way, value)) = open.pop().filter(|_| seen < MAX_MEMBERS) {
            seen += 1;
            match value {
                Value::Object(members) => {
                    let within = |(name, inner): (String, Value)| ([way.as_slice(), &[name]].concat(), inner);
                    let members: Vec<(String, Value)> = members.into_iter().collect();
                    open.extend(members.into_iter().rev().map(within));
                }
                Value::String(text) if wanted(&text) && !is_touched(&way) => {
                    let path: Vec<Segment> = way.iter().cloned().map(Segment::Key).collect();
                    let reference = Reference { jq: below(&thing.jq, &path), ..thing.clone() };
                    found.push(Known { reference, way, text });
                }
                _ => {}
            }
        }
    }
    found
}

fn is_touched(way: &[String]) -> bool {
    let name = way.last().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
    TOUCHED.iter().any(|word| name.contains(word))
}

/// The things: what was read of which more than an id is sent, and what was asked for by what the write says, too.
fn things(cx: &Context<'_>, draft: &Draft, step: &DraftStep) -> Vec<Reference> {
    let call = step.call(cx.trace);
    let stays = |one: &DraftStep| one.out.is_none() && one.broken.is_none() && one.is_one() && !one.is_write(cx.trace);
    let mut found: Vec<Reference> = Vec::new();
    references(&step.arguments, &mut |pointer, reference| {
        let place = place_name(pointer);
        let is_for = names_id(&place) || cx.path_arguments(call).iter().any(|(name, _)| *name == place);
        let is_id = |path: &[Segment]| matches!(path.last(), Some(Segment::Key(key)) if names_id(key));
        let read = draft.steps.iter().any(|one| one.id == reference.step && stays(one));
        let thing = around(reference).filter(|(_, path)| read && (is_for || !is_id(path)));
        found.extend(thing.map(|(thing, _)| thing));
    });
    let before = draft.steps.iter().filter(|read| read.calls[0] < step.calls[0] && stays(read));
    let asked_for = before.filter(|read| {
        let asked = cx.path_arguments(read.call(cx.trace)).pop();
        asked.is_some_and(|(name, value)| call.arguments.get(&name) == Some(value))
    });
    found.extend(asked_for.map(|read| Reference::new(read.id.clone(), ".".to_owned())));
    let mut each: Vec<Reference> = Vec::new();
    for thing in found {
        if !each.contains(&thing) {
            each.push(thing);
        }
    }
    each
}

/// The thing of which a reference takes something, and the way from there.
fn around(reference: &Reference) -> Option<(Reference, Vec<Segment>)> {
    if reference.each {
        return None;
    }
    let (before, last) = match path_of(&reference.jq) {
        Some(path) => (".".to_owned(), path),
        None => {
            let all = stages(&reference.jq);
            let (last, before) = all.split_last()?;
            let before: Vec<&str> = before.iter().map(|stage| stage.trim()).collect();
            (before.join(" | "), path_of(last.trim()).filter(|_| !before.is_empty())?)
        }
    };
    let end = last.iter().rposition(|segment| matches!(segment, Segment::Index(_))).map_or(0, |at| at + 1);
    let thing = Reference { jq: below(&before, &last[..end]), ..reference.clone() };
    Some((thing, last[end..].to_vec()))
}

/// The program that goes on from another one along a path.
fn below(before: &str, path: &[Segment]) -> String {
    match (before, path) {
        (before, []) => before.to_owned(),
        (".", path) => jq_of(path),
        (before, path) => format!("{before} | {}", jq_of(path)),
    }
}
