//! The pins of flows held against the adapters that are installed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rote_types::{AdapterId, command};

use crate::drift::Drift;
use crate::error::PinError;
use crate::surface::{Reading, drift};
use crate::usage::Usage;
use crate::{FlowError, Frontmatter, Library, Package, Surface};

/// The installed ones of the adapters that a flow pins.
pub(crate) type Readings = BTreeMap<AdapterId, Reading>;

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

    /// Reads each installed adapter that a flow pins, once.
    pub(crate) fn read(&self, frontmatter: &Frontmatter) -> Result<Readings, FlowError> {
        let mut readings = Readings::new();
        for (adapter, pin) in &frontmatter.adapters {
            let tools: Vec<&str> = pin.tools.keys().map(String::as_str).collect();
            readings.extend(self.surface.read(adapter, &tools)?.map(|reading| (adapter.clone(), reading)));
        }
        Ok(readings)
    }

    /// Compares every pin of a flow with what is installed. Adapters that are missing are left out.
    pub(crate) fn drifts(&self, package: &Package, path: Option<&Path>) -> Result<Vec<Drift>, FlowError> {
        Ok(self.compare(package, path, &self.read(&package.frontmatter)?))
    }

    /// As [`Pins::drifts`], with what was read.
    pub(crate) fn compare(&self, package: &Package, path: Option<&Path>, readings: &Readings) -> Vec<Drift> {
        if readings.is_empty() {
            return Vec::new();
        }
        // A recording only helps the judgement. One that cannot be read proves nothing, and that is how it counts.
        let evidence = self.library.evidence(package, path).unwrap_or_default();
        let usage = Usage::new(package, evidence.as_ref());
        let pinned = package.frontmatter.adapters.iter();
        pinned.filter_map(|(id, pin)| drift(package, id, pin, readings.get(id)?, &usage)).collect()
    }

    /// Says of each adapter that changed in what the flow does not use that it did.
    pub(crate) fn notices(&self, package: &Package) -> Result<Vec<String>, FlowError> {
        let pin = command("rote flow repin").argument(&package.frontmatter.name);
        let say = |drift: Drift| {
            format!("adapter `{}` was made anew; what this flow uses of it is as it was ({pin} pins it)", drift.adapter)
        };
        Ok(self.drifts(package, None)?.into_iter().filter(|drift| !drift.stops).map(say).collect())
    }

    /// Checks every pinned adapter; all missing ones are named at once, then all that changed in what the flow uses.
    pub(crate) fn check_adapters(&self, package: &Package, path: &Path) -> Result<(), FlowError> {
        let readings = self.read(&package.frontmatter)?;
        all_there(&package.frontmatter, &readings)?;
        let mut drifts = self.compare(package, Some(path), &readings);
        drifts.retain(|drift| drift.stops);
        let flow = package.frontmatter.name.clone();
        if drifts.is_empty() { Ok(()) } else { Err(FlowError::Pins(PinError::FingerprintMismatch { flow, drifts })) }
    }
}

/// Refuses a flow adapters of which are not installed; all of them are named.
pub(crate) fn all_there(frontmatter: &Frontmatter, readings: &Readings) -> Result<(), FlowError> {
    let missing: Vec<_> = frontmatter.adapters.keys().filter(|id| !readings.contains_key(id)).cloned().collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let origin = frontmatter.adapters.get(first).and_then(|pin| pin.origin.clone());
    Err(FlowError::Pins(PinError::MissingAdapters { flow: frontmatter.name.clone(), missing, origin }))
}
