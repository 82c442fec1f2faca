//! Before anything is sent: is it decided what a run writes, and may it send what its calls need?

use rote_gate::{GateError, UnboundError};

use super::{Runner, ToolSource};
use crate::error::RunnerError;
use crate::{FlowError, Frontmatter, Library, Package};

impl Runner {
    /// Refuses a run that would need a credential of the vault which nobody bound to where its calls go, or those of the
    /// flows that it runs; all such credentials are named at once.
    pub(crate) fn check_bindings(&self, package: &Package) -> Result<(), FlowError> {
        Ok(UnboundError::refuse(lacking(&*self.parts.tools, self.library(), package)?)?)
    }
}

/// Refuses a run while a question about what it writes is open: what it would write was guessed.
pub(crate) fn refuse_undecided(frontmatter: &Frontmatter) -> Result<(), FlowError> {
    let questions: Vec<_> = frontmatter.questions.iter().filter(|question| question.writes).cloned().collect();
    if questions.is_empty() {
        return Ok(());
    }
    Err(FlowError::Run(RunnerError::Undecided { flow: frontmatter.name.clone(), questions }))
}

/// The refusals that the calls of a flow, and of the flows that it runs, would get for want of a credential.
pub(crate) fn lacking(
    tools: &dyn ToolSource,
    library: &Library,
    package: &Package,
) -> Result<Vec<GateError>, FlowError> {
    let below = library.pinned_flows(package)?;
    let below = below.iter().filter_map(|inner| inner.known.as_ref().map(|(frontmatter, _)| frontmatter));
    let mut found = Vec::new();
    for (adapter, pin) in std::iter::once(&package.frontmatter).chain(below).flat_map(|one| &one.adapters) {
        let pinned: Vec<&str> = pin.tools.keys().map(String::as_str).collect();
        found.extend(tools.lacking(adapter, &pinned)?);
    }
    Ok(found)
}
