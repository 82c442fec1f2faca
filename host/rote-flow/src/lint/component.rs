//! What can be said from the component itself: its world, its imports, whether its template is this rote's.

use rote_runtime::{LoadError, Runtime, World, imported_interfaces};

use super::finding::{Finding, Findings, Position};
use crate::{FlowError, Form, Package};

/// The interfaces that a call of a tool takes.
const TOOLS: &str = "rote:host/tools@";
/// The one that a run of another flow takes.
const FLOWS: &str = "rote:host/flows@";
/// The one that shows lines.
const OUTPUT: &str = "rote:host/output@";
/// The one that a template reads its payload with.
const PAYLOAD: &str = "rote:host/payload@";

pub(super) fn lint(runtime: &Runtime, package: &Package, findings: &mut Findings) -> Result<(), FlowError> {
    let imports = match imported_interfaces(package.bytes()) {
        Ok(imports) => imports,
        Err(error) => {
            findings.push(mismatch(&error));
            return Ok(());
        }
    };
    if let Some((found, offered)) = other_version(&imports) {
        let message = format!("it imports `{found}`; this rote offers `{offered}`");
        let finding = Finding::error("WORLD_VERSION", Position::Component, message);
        findings.push(finding.edit("build the flow again with the SDK of this rote"));
        return Ok(());
    }
    match runtime.sandbox().prepare(World::Flow, package.bytes()) {
        Ok(_) => {}
        // The engine itself: nothing that the flow could mend.
        Err(error @ LoadError::Engine { .. }) => return Err(error.into()),
        Err(error) => findings.push(mismatch(&error)),
    }
    lint_template(package, findings);
    if package.frontmatter.form == Form::Component {
        lint_imports(package, &imports, findings);
    }
    Ok(())
}

fn mismatch(error: &LoadError) -> Finding {
    let finding = Finding::error("WORLD_MISMATCH", Position::Component, error.to_string());
    finding.edit(format!("build it for world `{}` and nothing else", World::Flow.name()))
}

/// The first import that this rote has in another version, with its own.
fn other_version(imports: &[String]) -> Option<(&str, &'static str)> {
    let same_name = |import: &str, offered: &str| import.split('@').next() == offered.split('@').next();
    let offered = |import: &str| World::Flow.imports().iter().find(|offered| same_name(import, offered)).copied();
    imports.iter().find_map(|import| {
        let offered = offered(import)?;
        (offered != import).then_some((import.as_str(), offered))
    })
}

/// A plan or a script that another version of the template runs.
fn lint_template(package: &Package, findings: &mut Findings) {
    if let Some(rote) = package.older_template() {
        let form = package.frontmatter.form.as_str();
        let message = format!("its code is the {form} template of rote {rote}, which is not this rote's");
        let finding = Finding::warning("TEMPLATE_OTHER", Position::Component, message);
        findings.push(finding.edit("make the flow again with this rote"));
    }
}

/// A component of its own imports what it uses and nothing else: its build leaves out what no code reaches.
fn lint_imports(package: &Package, imports: &[String], findings: &mut Findings) {
    let frontmatter = &package.frontmatter;
    let has = |interface: &str| imports.iter().find(|import| import.starts_with(interface));
    let pairs = [
        (TOOLS, !frontmatter.adapters.is_empty(), "/adapters", "no adapter is pinned", "adapters are pinned"),
        (FLOWS, !frontmatter.flows.is_empty(), "/flows", "no flow is pinned", "flows are pinned"),
    ];
    for (interface, declared, pointer, none, some) in pairs {
        match (has(interface), declared) {
            (Some(import), false) => {
                let message = format!("it imports `{import}` and {none}, so every use of it is refused");
                let finding = Finding::warning("IMPORT_UNNEEDED", Position::Component, message);
                findings.push(finding.edit(format!("pin what it uses in `{}`, or drop the import", &pointer[1..])));
            }
            (None, true) => {
                let message = format!("{some} and the component does not import `{}`", interface.trim_end_matches('@'));
                let finding = Finding::error("IMPORT_MISSING", Position::frontmatter(pointer), message);
                findings.push(finding.edit(format!("take what it does not use out of `{}`", &pointer[1..])));
            }
            _ => {}
        }
    }
    if let Some(import) = has(PAYLOAD) {
        let message = format!("it imports `{import}`, and a component of its own has no payload");
        let finding = Finding::warning("IMPORT_UNNEEDED", Position::Component, message);
        findings.push(finding.edit("drop the import"));
    }
    if has(OUTPUT).is_none() {
        let message = format!("it does not import `{}`, so it can show nothing", OUTPUT.trim_end_matches('@'));
        findings.push(human_missing(message, Position::Component));
    }
}

/// The finding of a flow that shows nothing.
pub(super) fn human_missing(message: String, position: Position) -> Finding {
    Finding::warning("OUTPUT_HUMAN_MISSING", position, message).edit("show at least one line for a person")
}
