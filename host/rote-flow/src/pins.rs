//! The pins of flows held against the adapters that are installed.

use std::path::Path;
use std::sync::Arc;

use rote_types::command;

use crate::drift::Drift;
use crate::error::PinError;
use crate::surface::{drift, spares};
use crate::usage::Usage;
use crate::{FlowError, Library, Package, Surface};

/// What flows pin, beside what is installed.
#[derive(Clone)]
pub struct Pins {
    pub(crate) library: Library,
    pub(crate) surface: Arc<dyn Surface>,
}

impl Pins {
    /// Returns the pins of the flows of a library; nothing is opened.
    #[must_use]
    pub fn new(library: Library, surface: Arc<dyn Surface>) -> Self {
        Self { library, surface }
    }

    /// Compares every pin of a flow with what is installed. Adapters that are missing are left out.
    pub(crate) fn drifts(&self, package: &Package, path: Option<&Path>) -> Result<Vec<Drift>, FlowError> {
        let mut changed = Vec::new();
        for (adapter, pin) in &package.frontmatter.adapters {
            let installed = self.surface.manifest(adapter)?;
            changed.extend(installed.map(|one| (adapter, pin, one)));
        }
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        // A recording only helps the judgement. One that cannot be read proves nothing, and that is how it counts.
        let evidence = self.library.evidence(package, path).unwrap_or_default();
        let usage = Usage::new(package, evidence.as_ref());
        let mut drifts = Vec::new();
        for (adapter, pin, installed) in changed {
            drifts.extend(drift(&*self.surface, adapter, pin, &installed, &usage)?);
        }
        Ok(drifts)
    }

    /// Parts what stops a run from what spares it: adapters of which all that the flow uses is what it pins.
    pub(crate) fn stopping(
        &self,
        package: &Package,
        drifts: Vec<Drift>,
    ) -> Result<(Vec<Drift>, Vec<Drift>), FlowError> {
        let (mut stopping, mut spared) = (Vec::new(), Vec::new());
        for drift in drifts {
            let installed = self.surface.manifest(&drift.adapter)?;
            let same = match &installed {
                Some(installed) => spares(&*self.surface, &package.frontmatter, &drift.adapter, installed)?,
                None => false,
            };
            if same && drift.elsewhere.is_none() { spared.push(drift) } else { stopping.push(drift) }
        }
        Ok((stopping, spared))
    }

    /// Says of each adapter that changed in what the flow does not use that it did.
    pub(crate) fn notices(&self, package: &Package) -> Result<Vec<String>, FlowError> {
        let (_, spared) = self.stopping(package, self.drifts(package, None)?)?;
        let pin = command("rote flow repin").argument(&package.frontmatter.name);
        let say = |drift: Drift| {
            format!("adapter `{}` was made anew; what this flow uses of it is as it was ({pin} pins it)", drift.adapter)
        };
        Ok(spared.into_iter().map(say).collect())
    }

    /// Checks every pinned adapter; all missing ones are named at once, then all that changed in what the flow uses.
    pub(crate) fn check_adapters(&self, package: &Package, path: &Path) -> Result<(), FlowError> {
        let frontmatter = &package.frontmatter;
        let mut missing = Vec::new();
        let mut origin = None;
        for (adapter, pin) in &frontmatter.adapters {
            if self.surface.manifest(adapter)?.is_none() {
                if missing.is_empty() {
                    origin.clone_from(&pin.origin);
                }
                missing.push(adapter.clone());
            }
        }
        let flow = frontmatter.name.clone();
        if !missing.is_empty() {
            return Err(FlowError::Pins(PinError::MissingAdapters { flow, missing, origin }));
        }
        let (drifts, _) = self.stopping(package, self.drifts(package, Some(path))?)?;
        if drifts.is_empty() { Ok(()) } else { Err(FlowError::Pins(PinError::FingerprintMismatch { flow, drifts })) }
    }
}
