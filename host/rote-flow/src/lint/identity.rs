//! Name, version, description, status, kind: what a flow is found and judged by before anyone reads its steps.

use std::path::Path;

use rote_types::command;

use super::finding::{Finding, Findings, Position};
use crate::{FlowKind, FlowStatus, Package};

/// Fewest characters of a description that says something.
pub(crate) const MIN_DESCRIPTION_CHARS: usize = 20;

pub(super) fn lint(package: &Package, path: Option<&Path>, findings: &mut Findings) {
    let frontmatter = &package.frontmatter;
    let described = Position::frontmatter("/description");
    let length = frontmatter.description.trim().chars().count();
    if length == 0 {
        let finding = Finding::warning("DESCRIPTION_MISSING", described, "there is no description");
        findings.push(finding.edit("say in one sentence what it does and when to use it"));
    } else if length < MIN_DESCRIPTION_CHARS {
        let message = format!("the description has {length} characters; a search finds little in it");
        let finding = Finding::warning("DESCRIPTION_SHORT", described, message);
        findings.push(finding.edit("say in one sentence what it does and when to use it"));
    }
    if !is_version(&frontmatter.version) {
        let message = format!("`{}` is not a version `x.y.z`", frontmatter.version);
        let finding = Finding::warning("VERSION_INVALID", Position::frontmatter("/version"), message);
        findings.push(finding.edit("use a version such as `0.1.0`"));
    }
    if frontmatter.status == FlowStatus::Draft {
        let finding = Finding::note("STATUS_DRAFT", Position::frontmatter("/status"), "the flow is a draft");
        findings.push(finding.command(command("rote flow release").argument(&frontmatter.name)));
    }
    for (index, question) in frontmatter.questions.iter().enumerate() {
        let place = Position::frontmatter(format!("/questions/{index}"));
        // Without a write the worst is a wrong answer.
        let finding = if question.writes { Finding::error } else { Finding::warning };
        let finding = finding("QUESTION_OPEN", place, question.ask.clone());
        findings.push(finding.command(command("rote flow review").argument(&frontmatter.name)));
    }
    lint_kind(package, findings);
    let folder = path.and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str());
    let installed = path.and_then(Path::file_name).is_some_and(|file| file == "flow.wasm");
    if let Some(folder) = folder.filter(|folder| installed && *folder != frontmatter.name.as_str()) {
        let message = format!("it is kept as `{folder}` and calls itself `{}`", frontmatter.name);
        let finding = Finding::warning("NAME_MISMATCH", Position::frontmatter("/name"), message);
        findings.push(finding.edit(format!("keep it in a folder `{}`", frontmatter.name)));
    }
}

fn lint_kind(package: &Package, findings: &mut Findings) {
    let frontmatter = &package.frontmatter;
    let (message, edit) = match (frontmatter.kind, frontmatter.flows.is_empty()) {
        (FlowKind::Composite, true) => ("it says that it is composite and pins no flow", "set `kind` to `atomic`"),
        (FlowKind::Atomic, false) => ("it says that it is atomic and pins flows", "set `kind` to `composite`"),
        _ => return,
    };
    findings.push(Finding::error("KIND_MISMATCH", Position::frontmatter("/kind"), message).edit(edit));
}

/// Whether a text is `x.y.z` with an optional `-pre` or `+build` (semver.org 2.0.0, shortened).
fn is_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    let number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(number)
}
