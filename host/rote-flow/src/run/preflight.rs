//! Before anything is sent: may a run send what its calls need?

use std::collections::BTreeSet;

use rote_gate::UnboundError;

use super::Runner;
use crate::{FlowError, Package};

impl Runner {
    /// Refuses a run that would need a credential of the vault which nobody bound to where its calls go, or those of the
    /// flows that it runs; all such credentials are named at once.
    pub(crate) fn check_bindings(&self, package: &Package) -> Result<(), FlowError> {
        let below = self.library().pinned_flows(package)?;
        let below = below.iter().filter_map(|inner| inner.known.as_ref().map(|(frontmatter, _)| frontmatter));
        let mut unbound = BTreeSet::new();
        for (adapter, pin) in std::iter::once(&package.frontmatter).chain(below).flat_map(|one| &one.adapters) {
            let tools: Vec<&str> = pin.tools.keys().map(String::as_str).collect();
            unbound.extend(self.parts.tools.unbound(adapter, &tools)?);
        }
        Ok(UnboundError::refuse(unbound)?)
    }
}
