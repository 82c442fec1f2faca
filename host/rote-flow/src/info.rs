//! All that can be said of one flow without running it.

use std::path::PathBuf;

use rote_plan::Plan;
use rote_types::{AdapterId, Sha256Digest};
use serde::Serialize;
use serde_json::Value;

use crate::{BlessingInfo, Blessings, FlowError, FlowReference, FlowWrite, Frontmatter, PinnedFlow, Sentences};

/// Everything about one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowInfo {
    /// What it says of itself.
    pub frontmatter: Frontmatter,
    /// Its plan, when it is one.
    pub plan: Option<Plan>,
    /// That plan in words.
    pub sentences: Option<Sentences>,
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: usize,
    /// Digest of the whole file.
    pub sha256: Sha256Digest,
    /// What each pinned adapter is here: `installed`, `missing`, or `mismatch` where that stops a run.
    pub adapters: Value,
    /// What each parameter takes, one line each.
    pub expected: Vec<String>,
    /// The flows that it runs, and those that they run.
    pub flows: Vec<PinnedFlow>,
    /// What it may write, and what those may.
    pub writes: Vec<FlowWrite>,
    /// How its blessing stands; none when it has none.
    pub blessing: Option<BlessingInfo>,
}

impl FlowInfo {
    /// Describes one flow.
    ///
    /// # Errors
    /// It does not exist, or its file is not an intact flow.
    pub fn read(blessings: &Blessings, reference: &FlowReference) -> Result<Self, FlowError> {
        let pins = &blessings.pins;
        let (path, package) = pins.library.load(reference)?;
        let readings = pins.read(&package.frontmatter)?;
        let drifts = pins.compare(&package, Some(&path), &readings);
        let state = |id: &AdapterId| match drifts.iter().find(|drift| drift.adapter == *id) {
            _ if !readings.contains_key(id) => "missing",
            Some(drift) if drift.stops => "mismatch",
            _ => "installed",
        };
        let adapters = package.frontmatter.adapters.keys().map(|id| (id.to_string(), state(id).into())).collect();
        let below = pins.library.pinned_flows(&package)?;
        Ok(Self {
            writes: pins.writes(&package.frontmatter, &below, &blessings.tools_that_count(&package)?)?,
            blessing: blessings.blessing_info(&package)?,
            flows: below.into_iter().map(|inner| inner.shown).collect(),
            path,
            bytes: package.bytes().len(),
            sha256: package.digest(),
            adapters: Value::Object(adapters),
            expected: crate::parameter::expected(&package.frontmatter),
            sentences: package.plan().map(|plan| Sentences::of(&package.frontmatter, plan)),
            plan: package.plan().cloned(),
            frontmatter: package.frontmatter,
        })
    }
}
