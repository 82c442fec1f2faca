//! The longer parts of what errors of flows say.

use std::collections::BTreeSet;

use rote_gate::Change;
use rote_types::{AdapterId, FlowName};

use super::run::ParameterProblem;
use crate::OpenQuestion;
use crate::drift::Drift;

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

/// What differs, per adapter, with what became of each used tool. Of a fingerprint it is the seed's text.
pub(super) fn mismatch_text(drifts: &[Drift]) -> String {
    let mut lines = Vec::new();
    for drift in drifts {
        let mut name = drift.adapter.to_string();
        if let Some(first) = name.get_mut(0..1) {
            first.make_ascii_uppercase();
        }
        if let Some(Change { expected, installed }) = &drift.elsewhere {
            lines.push(format!("⚠️ {name} adapter goes elsewhere."));
            lines.extend([places("Made against", expected), places("Goes to now", installed)]);
        }
        if !drift.credentials.is_empty() {
            lines.push(format!("⚠️ {name} adapter sends another credential."));
            lines.extend(drift.credential_lines().map(|line| format!("  {line}")));
        }
        if drift.expected != drift.installed {
            lines.push(format!("⚠️ {name} adapter fingerprint mismatch."));
            lines.extend([format!("  Expected: {}", drift.expected), format!("  Installed: {}", drift.installed)]);
            lines.push("  Re-export this flow to update fingerprints.".to_owned());
            lines.extend(drift.tools.iter().map(|tool| format!("  {tool}")));
        } else if drift.breaking().next().is_some() {
            lines.push(format!("⚠️ {name} adapter is the pinned one, and not what the flow says of it."));
            lines.extend(drift.breaking().map(|tool| format!("  {tool}")));
        }
    }
    lines.join("\n")
}

fn places(what: &str, origins: &BTreeSet<String>) -> String {
    let origins: Vec<&str> = origins.iter().map(String::as_str).collect();
    format!("  {what}: {}", if origins.is_empty() { "nowhere".to_owned() } else { origins.join(", ") })
}

/// Names as a list: "`a`, `b` and `c`".
pub(super) fn list_text(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
