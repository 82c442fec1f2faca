//! Repin: a flow's pins against what is installed, and the same flow with new pins.
//!
//! Only what was shown is pinned: a person sees each used tool's change first, and what they saw must still hold
//! when the file is written. Permissions are never widened; a tool that began to write stays forbidden until the
//! flow is made anew. The new file has another digest, so a blessing of the old one is void.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rote_govern::reach;
use rote_types::{AdapterId, FlowName, Manifest, Sha256Digest};
use serde::Serialize;
use serde_json::{Value, json};

use crate::drift::Drift;
use crate::error::PinError;
use crate::surface::goes_to;
use crate::{AdapterPin, Content, CredentialSlot, FlowError, FlowReference, Frontmatter, Package, Pins, ToolPin};

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
    /// Says what writing it changes: surfaces and origins, old and new.
    #[must_use]
    pub fn object(&self) -> Value {
        let repin = &self.repin;
        let change = |one: &Drift| json!({"adapter": one.adapter, "from": one.expected, "to": one.installed, "elsewhere": one.elsewhere});
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
        let (path, package) = self.library.load(&FlowReference::Name(name.clone()))?;
        self.preview_of(name, &path, &package)
    }

    fn preview_of(&self, name: &FlowName, path: &Path, package: &Package) -> Result<Repin, FlowError> {
        let frontmatter = &package.frontmatter;
        let missing: Vec<AdapterId> = frontmatter
            .adapters
            .keys()
            .filter_map(|adapter| match self.surface.manifest(adapter) {
                Ok(Some(_)) => None,
                Ok(None) => Some(Ok(adapter.clone())),
                Err(error) => Some(Err(error)),
            })
            .collect::<Result<_, _>>()?;
        if let Some(first) = missing.first() {
            let origin = frontmatter.adapters.get(first).and_then(|pin| pin.origin.clone());
            return Err(FlowError::Pins(PinError::MissingAdapters { flow: name.clone(), missing, origin }));
        }
        let drifts = self.drifts(package, Some(path))?;
        let breaking = drifts.iter().any(|drift| drift.breaking().next().is_some());
        Ok(Repin {
            flow: name.clone(),
            from: frontmatter.version.clone(),
            to: next_patch(&frontmatter.version),
            sha256: package.digest(),
            breaking,
            voids_blessing: self.library.home.flow_permissions_file(name).exists(),
            pinned_by: self.pinned_by(name),
            drifts,
        })
    }

    /// Makes the flow with the pins of what is installed, as `shown` says; writes nothing.
    ///
    /// # Errors
    /// [`PinError::RepinBreaking`] unless it was accepted, [`PinError::ToolGone`] for a used tool that there is
    /// none of any more, [`PinError::RepinStale`] when the flow or an adapter is another one than shown,
    /// [`FlowError::Usage`] when nothing would change.
    pub fn plan_repin(&self, shown: &Repin, accept_breaking: bool) -> Result<RepinPlan, FlowError> {
        let name = &shown.flow;
        let (path, package) = self.library.load(&FlowReference::Name(name.clone()))?;
        let repin = self.preview_of(name, &path, &package)?;
        if repin.sha256 != shown.sha256 || repin.drifts != shown.drifts {
            return Err(FlowError::Pins(PinError::RepinStale { flow: name.clone() }));
        }
        if repin.drifts.is_empty() {
            return Err(FlowError::Usage { message: format!("flow `{name}` pins what is installed already") });
        }
        if repin.breaking && !accept_breaking {
            return Err(FlowError::Pins(PinError::RepinBreaking { flow: name.clone(), drifts: repin.drifts }));
        }
        let frontmatter = self.with_new_pins(&package.frontmatter, &repin)?;
        let written = match &package.content {
            // Functions that `rote bind` wrote name the adapter that they were made for; a fingerprint is as long as another.
            Content::Script { code, map } => {
                let code = repin
                    .drifts
                    .iter()
                    .fold(code.clone(), |code, drift| code.replace(drift.expected.as_str(), drift.installed.as_str()));
                Package::of_script(frontmatter, code, map.clone())?
            }
            _ => package.with_frontmatter(frontmatter)?,
        };
        Ok(RepinPlan { written, repin })
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

    fn with_new_pins(&self, old: &Frontmatter, repin: &Repin) -> Result<Frontmatter, FlowError> {
        let mut new = old.clone();
        new.version.clone_from(&repin.to);
        for drift in &repin.drifts {
            let (Some(pin), Some(manifest)) =
                (old.adapters.get(&drift.adapter), self.surface.manifest(&drift.adapter)?)
            else {
                return Err(FlowError::Pins(PinError::RepinStale { flow: repin.flow.clone() }));
            };
            let (pin, slots) = self.new_pin(&repin.flow, &drift.adapter, pin, &manifest)?;
            new.adapters.insert(drift.adapter.clone(), pin);
            new.credentials.retain(|slot| slot.adapter != drift.adapter);
            new.credentials.extend(slots);
        }
        new.credentials.sort();
        Ok(new)
    }

    /// The pin of an installed adapter for the tools that the old pin has, and the credentials that they use.
    fn new_pin(
        &self,
        flow: &FlowName,
        adapter: &AdapterId,
        old: &AdapterPin,
        manifest: &Manifest,
    ) -> Result<(AdapterPin, BTreeSet<CredentialSlot>), FlowError> {
        let mut pin = AdapterPin {
            fingerprint: manifest.fingerprint.clone(),
            tools: std::collections::BTreeMap::new(),
            server: format!("{} {}", manifest.server.name, manifest.server.version),
            origin: Some(manifest.spec_source.clone()).filter(|source| source.starts_with("https://")),
            goes_to: Some(goes_to(&*self.surface, adapter, manifest, old.tools.keys())?),
        };
        let mut slots = BTreeSet::new();
        for name in old.tools.keys() {
            let gone = || {
                FlowError::Pins(PinError::ToolGone { flow: flow.clone(), adapter: adapter.clone(), tool: name.clone() })
            };
            let tool = self.surface.tool(adapter, name)?.ok_or_else(gone)?;
            let digest = match manifest.tool_digests.get(name) {
                Some(digest) => digest.clone(),
                None => rote_govern::tool_digest(&tool).map_err(|error| FlowError::adapter(adapter, &error))?,
            };
            let scheme = |slot: &String| Some((slot.clone(), manifest.auth.schemes.get(slot)?.token_env.clone()));
            slots.extend(tool.security.iter().flatten().filter_map(scheme).map(|(slot, token_env)| CredentialSlot {
                adapter: adapter.clone(),
                slot,
                token_env,
            }));
            pin.tools.insert(name.clone(), ToolPin::of(&tool, digest, reach::below(manifest, &tool)));
        }
        Ok((pin, slots))
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
