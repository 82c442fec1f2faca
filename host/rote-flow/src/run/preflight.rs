//! Before anything is sent: is every adapter that the flow pins installed, and is it the pinned one?

use crate::surface::drift;
use crate::{FlowError, Package, Surface};

/// Checks every pinned adapter; all missing ones are named at once, then all changed ones.
pub(crate) fn check_adapters(surface: &dyn Surface, package: &Package) -> Result<(), FlowError> {
    let frontmatter = &package.frontmatter;
    let mut missing = Vec::new();
    let mut origin = None;
    let mut drifts = Vec::new();
    for (adapter, pin) in &frontmatter.adapters {
        match surface.manifest(adapter)? {
            None => {
                if missing.is_empty() {
                    origin.clone_from(&pin.origin);
                }
                missing.push(adapter.clone());
            }
            Some(installed) => drifts.extend(drift(surface, adapter, pin, &installed, &package.plan)?),
        }
    }
    let flow = frontmatter.name.clone();
    if !missing.is_empty() {
        return Err(FlowError::MissingAdapters { flow, missing, origin });
    }
    if drifts.is_empty() { Ok(()) } else { Err(FlowError::FingerprintMismatch { flow, drifts }) }
}
