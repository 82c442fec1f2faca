//! Repin: a flow's pins against what is installed, and the same flow with new pins.
//!
//! Only what was shown is pinned: a person sees first what became of each used tool, where requests go and which vault
//! entries they carry, and the file that is written is the one that was made of the reading that they saw. Permissions are never widened; a tool that began to write stays forbidden until the
//! flow is made anew. The new file has another digest, so a blessing of the old one is void.

use std::path::PathBuf;

use rote_types::{FlowName, Sha256Digest};
use serde::Serialize;
use serde_json::{Value, json};

use crate::drift::Drift;
use crate::error::PinError;
use crate::pins::{Readings, all_there};
use crate::{Content, FlowError, FlowReference, Package, Pins};

/// What repinning a flow would change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repin {
    pub flow: FlowName,
    /// Its version now.
    pub from: String,
    /// Its version then.
    pub to: String,
    /// Digest of the file as it was looked at.
    pub sha256: Sha256Digest,
    /// Digest of the file with the new pins; none when there is nothing to do, or a used tool is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_sha256: Option<Sha256Digest>,
    /// The adapters that are not the pinned ones; none when there is nothing to do.
    pub drifts: Vec<Drift>,
    /// Whether a used tool is breaking.
    pub breaking: bool,
    /// Whether a blessing ends with it.
    pub voids_blessing: bool,
    /// Flows that pin this one by digest and have to be made anew.
    pub pinned_by: Vec<FlowName>,
}

/// A flow with new pins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repinned {
    /// What changed.
    pub repin: Repin,
    /// The file.
    pub path: PathBuf,
    /// Digest of the new file.
    pub sha256: Sha256Digest,
}

/// A flow with new pins that is not written yet.
#[derive(Debug, Clone)]
pub struct RepinPlan {
    repin: Repin,
    written: Package,
}

impl RepinPlan {
    /// Says what writing it changes: surfaces, origins and vault entries, old and new.
    #[must_use]
    pub fn object(&self) -> Value {
        let repin = &self.repin;
        let change = |one: &Drift| {
            json!({
                "adapter": one.adapter,
                "from": one.expected,
                "to": one.installed,
                "elsewhere": one.elsewhere,
                "credentials": one.credentials,
            })
        };
        json!({
            "flow": repin.flow,
            "version": repin.to,
            "from_sha256": repin.sha256,
            "sha256": self.written.digest(),
            "adapters": repin.drifts.iter().map(change).collect::<Vec<_>>(),
            "breaking": repin.breaking,
        })
    }
}

impl Pins {
    /// Says what repinning would change. Writes nothing.
    ///
    /// # Errors
    /// The flow does not exist, or an adapter that it pins is not installed.
    pub fn repin_preview(&self, name: &FlowName) -> Result<Repin, FlowError> {
        Ok(self.look(name)?.0)
    }

    /// Reads the flow and each of its adapters once: what of them is not as pinned, and the flow that pins just that.
    fn look(&self, name: &FlowName) -> Result<(Repin, Result<Package, FlowError>), FlowError> {
        let (path, package) = self.library.load(&FlowReference::Name(name.clone()))?;
        let frontmatter = &package.frontmatter;
        let readings = self.read(frontmatter)?;
        all_there(frontmatter, &readings)?;
        let drifts = self.compare(&package, Some(&path), &readings);
        let to = next_patch(&frontmatter.version);
        let written = repinned(&package, &to, &drifts, &readings);
        let repin = Repin {
            flow: name.clone(),
            from: frontmatter.version.clone(),
            to,
            sha256: package.digest(),
            to_sha256: written.as_ref().ok().filter(|_| !drifts.is_empty()).map(Package::digest),
            breaking: drifts.iter().any(|drift| drift.breaking().next().is_some()),
            voids_blessing: self.library.home.flow_permissions_file(name).exists(),
            pinned_by: self.pinned_by(name),
            drifts,
        };
        Ok((repin, written))
    }

    /// Makes the flow with the pins of what is installed, as `shown` says; writes nothing.
    ///
    /// # Errors
    /// [`PinError::RepinBreaking`] unless it was accepted, [`PinError::ToolGone`] for a used tool that there is
    /// none of any more, [`PinError::RepinStale`] when the flow or an adapter is another one than shown,
    /// [`FlowError::Usage`] when nothing would change.
    pub fn plan_repin(&self, shown: &Repin, accept_breaking: bool) -> Result<RepinPlan, FlowError> {
        let name = &shown.flow;
        let (repin, written) = self.look(name)?;
        if repin != *shown {
            return Err(FlowError::Pins(PinError::RepinStale { flow: name.clone() }));
        }
        if repin.drifts.is_empty() {
            return Err(FlowError::Usage { message: format!("flow `{name}` pins what is installed already") });
        }
        if repin.breaking && !accept_breaking {
            return Err(FlowError::Pins(PinError::RepinBreaking { flow: name.clone(), drifts: repin.drifts }));
        }
        Ok(RepinPlan { written: written?, repin })
    }

    /// Writes the flow with its new pins over the one that was looked at.
    ///
    /// # Errors
    /// [`LibraryError::ChangedMeanwhile`](crate::LibraryError::ChangedMeanwhile) when another one is there by now, or the files refused.
    pub fn repin(&self, plan: RepinPlan) -> Result<Repinned, FlowError> {
        let RepinPlan { repin, written } = plan;
        let path = self.library.replace(&repin.flow, &repin.sha256, &written)?;
        Ok(Repinned { repin, path, sha256: written.digest() })
    }

    /// The flows that pin this one by digest; broken files pin nothing.
    pub(crate) fn pinned_by(&self, name: &FlowName) -> Vec<FlowName> {
        let names = self.library.names().unwrap_or_default();
        let pins = |other: &FlowName| {
            let loaded = self.library.load(&FlowReference::Name(other.clone()));
            loaded.is_ok_and(|(_, package)| package.frontmatter.flows.contains_key(name))
        };
        names.into_iter().filter(pins).collect()
    }
}

/// The flow with pins of the adapters that are not the pinned ones, as they were read.
fn repinned(package: &Package, version: &str, drifts: &[Drift], readings: &Readings) -> Result<Package, FlowError> {
    let mut new = package.frontmatter.clone();
    new.version = version.to_owned();
    for Drift { adapter, .. } in drifts {
        let (Some(old), Some(reading)) = (package.frontmatter.adapters.get(adapter), readings.get(adapter)) else {
            return Err(FlowError::Pins(PinError::RepinStale { flow: new.name }));
        };
        if let Some(tool) = old.tools.keys().find(|tool| reading.tool(tool).is_none()) {
            let (adapter, tool) = (adapter.clone(), tool.clone());
            return Err(FlowError::Pins(PinError::ToolGone { flow: new.name, adapter, tool }));
        }
        let (pin, slots) = reading.pin()?;
        new.adapters.insert(adapter.clone(), pin);
        new.credentials.retain(|slot| slot.adapter != *adapter);
        new.credentials.extend(slots);
    }
    new.credentials.sort();
    match &package.content {
        // Functions that `rote bind` wrote name the adapter that they were made for; a fingerprint is as long as another.
        Content::Script { code, map } => {
            let renewed = |code: String, one: &Drift| code.replace(one.expected.as_str(), one.installed.as_str());
            Package::of_script(new, drifts.iter().fold(code.clone(), renewed), map.clone())
        }
        _ => package.with_frontmatter(new),
    }
}

/// The next patch version; a version that is not `x.y.z` gets a suffix that counts as one.
fn next_patch(version: &str) -> String {
    let Some((front, patch)) = version.rsplit_once('.') else { return format!("{version}.0.1") };
    match patch.parse::<u64>() {
        Ok(patch) => format!("{front}.{}", patch.saturating_add(1)),
        Err(_) => format!("{version}.1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_version_is_counted_up() {
        assert_eq!(next_patch("0.1.0"), "0.1.1");
        assert_eq!(next_patch("1.2.9"), "1.2.10");
        assert_eq!(next_patch("1.0.0-rc"), "1.0.0-rc.1");
        assert_eq!(next_patch("1"), "1.0.1");
    }
}
