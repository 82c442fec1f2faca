//! The longer parts of what errors of flows say.

use std::collections::BTreeSet;

use rote_types::{AdapterId, FlowName};

use super::run::ParameterProblem;
use crate::OpenQuestion;
use crate::drift::{Drift, Elsewhere};

pub(super) fn names(ids: &[AdapterId]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

/// The open questions, each with the id to answer it by.
pub(super) fn asked_text(questions: &[OpenQuestion]) -> String {
    questions.iter().map(|one| format!("{} ({})", one.ask, one.id)).collect::<Vec<_>>().join("; ")
}

pub(super) fn problems_text(problems: &[ParameterProblem]) -> String {
    problems.iter().map(|one| format!("parameter `{}` {}", one.name, one.problem)).collect::<Vec<_>>().join("; ")
}

/// How many more writes are in doubt.
pub(super) fn others_text(others: usize) -> String {
    if others == 0 { String::new() } else { format!(", and {others} more") }
}

/// Why the end of a run could not be written down.
pub(super) fn unkept_text(unkept: &[String]) -> String {
    if unkept.is_empty() {
        return String::new();
    }
    format!("; the end of the run could not be written down: {}", unkept.join("; "))
}

pub(super) fn of_text(flow: Option<&FlowName>) -> String {
    flow.map_or_else(String::new, |flow| format!(" of `{flow}`"))
}

pub(super) fn expected_text(expected: &[String]) -> String {
    if expected.is_empty() { "no parameters".to_owned() } else { expected.join(", ") }
}

/// The breaking tools, with what changed.
pub(super) fn breaking_text(drifts: &[Drift]) -> String {
    let breaking = drifts.iter().flat_map(|drift| drift.breaking().map(move |tool| (&drift.adapter, tool)));
    breaking
        .map(|(adapter, tool)| format!("`{adapter}/{}` ({})", tool.tool, tool.changes.join("; ")))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The seed's text, per adapter, with what became of each used tool.
pub(super) fn mismatch_text(drifts: &[Drift]) -> String {
    let mut text = String::new();
    for drift in drifts {
        if !text.is_empty() {
            text.push('\n');
        }
        let mut name = drift.adapter.to_string();
        if let Some(first) = name.get_mut(0..1) {
            first.make_ascii_uppercase();
        }
        if let Some(Elsewhere { expected, installed }) = &drift.elsewhere {
            let list = |origins: &BTreeSet<String>| match origins.len() {
                0 => "nowhere".to_owned(),
                _ => origins.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
            };
            text.push_str(&format!(
                "⚠️ {name} adapter goes elsewhere.\n  Made against: {}\n  Goes to now: {}",
                list(expected),
                list(installed)
            ));
        }
        if drift.expected == drift.installed {
            continue;
        }
        if drift.elsewhere.is_some() {
            text.push('\n');
        }
        text.push_str(&format!(
            "⚠️ {name} adapter fingerprint mismatch.\n  Expected: {}\n  Installed: {}\n  Re-export this flow to update fingerprints.",
            drift.expected, drift.installed
        ));
        for tool in &drift.tools {
            text.push_str(&format!("\n  {tool}"));
        }
    }
    text
}

/// Names as a list: "`a`, `b` and `c`".
pub(super) fn list_text(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
