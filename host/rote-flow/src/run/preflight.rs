//! Before anything is sent: is every adapter that the flow pins installed, and is it the pinned one?

use std::path::Path;

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
}
