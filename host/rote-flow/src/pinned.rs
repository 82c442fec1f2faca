//! The flows that a flow runs, and those that they run: what all of them may write, for whoever decides about the
//! first one.

use std::collections::{BTreeSet, VecDeque};

use rote_plan::Plan;
use rote_types::{AdapterId, FlowName, Sha256Digest};
use serde::Serialize;

use crate::{FlowError, FlowPin, FlowReference, FlowStatus, Flows, Form, Frontmatter, Package, WriteMode};

/// Most flows below one.
const MAX_PINNED: usize = 1_000;

/// A flow that another one pins, as it is here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PinnedFlow {
    /// Its name.
    pub name: FlowName,
    /// The pinned version.
    pub version: String,
    /// The pinned file.
    pub sha256: Sha256Digest,
    /// The flow that pins it.
    pub pinned_by: FlowName,
    /// What it is made of, when it is here.
    pub form: Option<Form>,
    /// Why a run of it is refused; then it is not known what it does.
    pub problem: Option<String>,
}

/// A write that a flow, or one that it runs, may make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlowWrite {
    /// The adapter.
    pub adapter: AdapterId,
    /// The tool.
    pub tool: String,
    /// How the write guard treated it when it was recorded.
    pub mode: WriteMode,
    /// The pinned flow that makes it; the flow itself, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowName>,
}

/// A pinned flow with what is known of it.
pub(crate) struct Inner {
    pub(crate) shown: PinnedFlow,
    /// Nothing when a run of it is refused.
    pub(crate) known: Option<(Frontmatter, Option<Plan>)>,
}

impl Flows {
    /// Finds every flow below one, each once, whoever pins it first.
    ///
    /// # Errors
    /// [`FlowError::NestedFlow`] for more than a person could look through.
    pub(crate) fn pinned_flows(&self, package: &Package) -> Result<Vec<Inner>, FlowError> {
        let pins = |frontmatter: &Frontmatter| -> Vec<(FlowName, FlowName, FlowPin)> {
            let by = &frontmatter.name;
            frontmatter.flows.iter().map(|(name, pin)| (by.clone(), name.clone(), pin.clone())).collect()
        };
        let (mut open, mut seen, mut found) = (VecDeque::from(pins(&package.frontmatter)), BTreeSet::new(), Vec::new());
        while let Some((by, name, pin)) = open.pop_front() {
            // Told by digest, so that nothing is followed in a circle.
            if !seen.insert((name.clone(), pin.sha256)) {
                continue;
            }
            if seen.len() > MAX_PINNED {
                let reason = format!("more than {MAX_PINNED} flows would run below it");
                return Err(FlowError::NestedFlow {
                    flow: package.frontmatter.name.clone(),
                    name: name.to_string(),
                    reason,
                });
            }
            let inner = self.inner(by, name, &pin);
            open.extend(inner.known.iter().flat_map(|(frontmatter, _)| pins(frontmatter)));
            found.push(inner);
        }
        Ok(found)
    }

    fn inner(&self, pinned_by: FlowName, name: FlowName, pin: &FlowPin) -> Inner {
        let loaded = self.load(&FlowReference::Name(name.clone())).map(|(_, package)| package);
        let problem = match &loaded {
            Err(error) => Some(error.to_string()),
            Ok(package) if package.digest() != pin.sha256 => {
                Some(format!("version {} of another digest is here", package.frontmatter.version))
            }
            Ok(package) if package.frontmatter.status != FlowStatus::Released => Some("it is not released".to_owned()),
            Ok(_) => None,
        };
        let known = loaded.ok().filter(|_| problem.is_none());
        let known = known.map(|package| (package.frontmatter.clone(), package.plan().cloned()));
        let form = known.as_ref().map(|(frontmatter, _)| frontmatter.form);
        let (version, sha256) = (pin.version.clone(), pin.sha256);
        Inner { shown: PinnedFlow { name, version, sha256, pinned_by, form, problem }, known }
    }
}

/// What a flow and those below it may write.
pub(crate) fn writes(frontmatter: &Frontmatter, below: &[Inner]) -> Vec<FlowWrite> {
    let of = |frontmatter: &Frontmatter, flow: Option<&FlowName>| -> Vec<FlowWrite> {
        let write = |one: &crate::WritePermission| FlowWrite {
            adapter: one.adapter.clone(),
            tool: one.tool.clone(),
            mode: one.mode,
            flow: flow.cloned(),
        };
        frontmatter.write_permissions.iter().map(write).collect()
    };
    let mut writes = of(frontmatter, None);
    for inner in below {
        writes.extend(inner.known.iter().flat_map(|(frontmatter, _)| of(frontmatter, Some(&inner.shown.name))));
    }
    writes
}
