//! What a flow expects of an adapter, held against one reading of it. There is no other comparison: the gate refuses by it,
//! and what is told of a changed adapter, asked and pinned anew is what it found.

use std::collections::{BTreeMap, BTreeSet};

use rote_govern::reach;
use rote_types::{Fingerprint, Manifest, Tool, ToolDigest};
use serde::Serialize;

use crate::Pinned;

/// What a flow expects the installed adapter to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The whole surface.
    pub fingerprint: Fingerprint,
    /// The called tool.
    pub tool_digest: ToolDigest,
    /// The origins that its requests may have; `None` in flows that were made before this was pinned.
    pub goes_to: Option<BTreeSet<String>>,
    /// The URLs, with their paths, that they may be appended to; `None` in flows that were made before this was pinned.
    pub below: Option<BTreeSet<String>>,
    /// The vault entry of each credential slot that the flow's calls of the adapter use; none in flows that were made before
    /// this was pinned.
    pub credentials: BTreeMap<String, String>,
}

/// Something that was pinned, and what is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    pub expected: T,
    pub installed: T,
}

/// What of an installed adapter and one tool of it is not what was pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differences {
    pub surface: Option<Change<Fingerprint>>,
    /// The tool's digest; none is installed where the tool is gone.
    pub tool: Option<Change<Option<ToolDigest>>>,
    /// The origins that its requests have.
    pub goes_to: Option<Change<BTreeSet<String>>>,
    /// The URLs that they are appended to.
    pub below: Option<Change<BTreeSet<String>>>,
    /// The vault entries of the slots that the tool needs, by slot.
    pub credentials: BTreeMap<String, Change<Option<String>>>,
    /// Whether pin and package cover all that decides what is sent, where, with which credential and how it is guarded, so that
    /// it does not matter what else changed of the adapter. Those from before all of that was in a digest do not.
    covered: bool,
}

impl Pin {
    /// Compares what was pinned with one reading of the adapter: its manifest, and the pinned tool unless that is gone.
    #[must_use]
    pub fn compare(&self, adapter: &Manifest, tool: Option<&Tool>) -> Differences {
        let surface = changed(&self.fingerprint, adapter.fingerprint.clone());
        let digest = tool.and_then(|tool| adapter.tool_digests.get(&tool.name).cloned());
        let digest = changed(&Some(self.tool_digest.clone()), digest);
        let Some(tool) = tool else {
            let credentials = BTreeMap::new();
            return Differences { surface, tool: digest, goes_to: None, below: None, credentials, covered: false };
        };
        let leaves = |pinned: &Option<BTreeSet<String>>, now: BTreeSet<String>| {
            let pinned = pinned.as_ref().filter(|pinned| !now.is_subset(pinned))?;
            Some(Change { expected: pinned.clone(), installed: now })
        };
        let pinned = |slot: &String| self.credentials.contains_key(slot) || !adapter.auth.schemes.contains_key(slot);
        Differences {
            surface,
            goes_to: leaves(&self.goes_to, reach::origins(adapter, tool)),
            below: leaves(&self.below, reach::below(adapter, tool)),
            credentials: self.rebound(adapter, tool, digest.is_some()),
            covered: tool.request.is_some()
                && self.goes_to.is_some()
                && self.below.is_some()
                && tool.security.iter().flatten().all(pinned),
            tool: digest,
        }
    }

    /// The slots of a tool that are filled from another vault entry than the pinned one. A flow that pins none, for a tool that
    /// is as it was, was made before they were pinned and takes what the adapter has.
    fn rebound(&self, adapter: &Manifest, tool: &Tool, tool_changed: bool) -> BTreeMap<String, Change<Option<String>>> {
        if self.credentials.is_empty() && !tool_changed {
            return BTreeMap::new();
        }
        let entry = |slot: &String| adapter.auth.schemes.get(slot).map(|scheme| scheme.token_env.clone());
        let slots = tool.security.iter().flatten();
        let rebound =
            slots.filter_map(|slot| Some((slot.clone(), changed(&self.credentials.get(slot).cloned(), entry(slot))?)));
        rebound.collect()
    }
}

impl Differences {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.surface.is_none() && self.is_same_tool()
    }

    /// Whether a call must not be made: the tool, where its requests go or a credential of it is another one, or something else
    /// of the adapter is and nobody knows that it does not matter.
    #[must_use]
    pub fn stops(&self) -> bool {
        !self.is_same_tool() || (self.surface.is_some() && !self.covered)
    }

    fn is_same_tool(&self) -> bool {
        self.tool.is_none() && self.goes_to.is_none() && self.below.is_none() && self.credentials.is_empty()
    }

    /// What stops a call of the tool, the widest first: what it is, what was pinned, what is there.
    pub(crate) fn stopping(&self, tool: &str) -> Option<(Pinned, String, String)> {
        if !self.stops() {
            return None;
        }
        let digest = |digest: &Option<ToolDigest>| digest.as_ref().map_or("absent", |digest| &digest.0).to_owned();
        let entry = |entry: &Option<String>| entry.as_deref().unwrap_or("none").to_owned();
        if let Some(Change { expected, installed }) = &self.surface {
            return Some((Pinned::Adapter, expected.to_string(), installed.to_string()));
        }
        if let Some(Change { expected, installed }) = &self.tool {
            return Some((Pinned::Tool(tool.to_owned()), digest(expected), digest(installed)));
        }
        if let Some(Change { expected, installed }) = self.goes_to.as_ref().or(self.below.as_ref()) {
            return Some((Pinned::Origin, places(expected), places(installed)));
        }
        let (slot, Change { expected, installed }) = self.credentials.first_key_value()?;
        Some((Pinned::Credential(slot.clone()), entry(expected), entry(installed)))
    }
}

fn changed<T: PartialEq + Clone>(expected: &T, installed: T) -> Option<Change<T>> {
    (*expected != installed).then(|| Change { expected: expected.clone(), installed })
}

fn places(places: &BTreeSet<String>) -> String {
    let names: Vec<&str> = places.iter().map(String::as_str).collect();
    if names.is_empty() { "nowhere".to_owned() } else { names.join("` or `") }
}
