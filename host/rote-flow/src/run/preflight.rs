//! Before anything is sent: is every adapter that the flow pins installed, is it the pinned one, and may it send what its
//! calls need?

use std::collections::BTreeSet;
use std::path::Path;

use rote_gate::UnboundError;

use crate::{FlowError, Flows, Package};

impl Flows {
    /// Checks every pinned adapter; all missing ones are named at once, then all changed ones.
    pub(crate) fn check_adapters(&self, package: &Package, path: &Path) -> Result<(), FlowError> {
        let frontmatter = &package.frontmatter;
        let mut missing = Vec::new();
        let mut origin = None;
        for (adapter, pin) in &frontmatter.adapters {
            if self.parts.surface.manifest(adapter)?.is_none() {
                if missing.is_empty() {
                    origin.clone_from(&pin.origin);
                }
                missing.push(adapter.clone());
            }
        }
        let flow = frontmatter.name.clone();
        if !missing.is_empty() {
            return Err(FlowError::MissingAdapters { flow, missing, origin });
        }
        let drifts = self.drifts(package, Some(path))?;
        if drifts.is_empty() { Ok(()) } else { Err(FlowError::FingerprintMismatch { flow, drifts }) }
    }
    /// Refuses a run that would need a credential of the vault which nobody bound to where its calls go, or those of the
    /// flows that it runs; all such credentials are named at once.
    pub(crate) fn check_bindings(&self, package: &Package) -> Result<(), FlowError> {
        let below = self.pinned_flows(package)?;
        let below = below.iter().filter_map(|inner| inner.known.as_ref().map(|(frontmatter, _)| frontmatter));
        let mut unbound = BTreeSet::new();
        for (adapter, pin) in std::iter::once(&package.frontmatter).chain(below).flat_map(|one| &one.adapters) {
            let tools: Vec<&str> = pin.tools.keys().map(String::as_str).collect();
            unbound.extend(self.parts.tools.unbound(adapter, &tools)?);
        }
        Ok(UnboundError::refuse(unbound)?)
    }
}
