//! What the flow pins and what it may write: taken from the journal, checked against what is installed.
//!
//! The journal says which surface and which contract each recorded call met. When a tool's contract is another
//! one by now, the recording proves nothing about it, and crystallize stops.

use std::collections::{BTreeMap, BTreeSet};

use rote_govern::audit::{Decision, EffectRecord};
use rote_govern::{reach, tool_digest};
use rote_home::Journal;
use rote_types::{AdapterId, Manifest, ResponseId, Tool};
use rote_workspace::Workspace;
use serde::Deserialize;

use super::draft::Draft;
use crate::error::CrystallizeError;
use crate::trace::{RecordedCall, Trace};
use crate::{AdapterPin, CredentialSlot, FlowError, Surface, ToolPin, WriteMode, WritePermission};

/// The pinned part of a frontmatter.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    pub(crate) adapters: BTreeMap<AdapterId, AdapterPin>,
    pub(crate) credentials: Vec<CredentialSlot>,
    pub(crate) write_permissions: Vec<WritePermission>,
}

impl Pins {
    /// Collects the pins of every step.
    pub(crate) fn collect(
        journal: &Journal,
        surface: &dyn Surface,
        trace: &Trace,
        draft: &Draft,
        workspace: &Workspace,
    ) -> Result<Self, FlowError> {
        let effects = effects(journal, workspace)?;
        let mut pins = Self::default();
        let mut credentials = BTreeSet::new();
        let mut writes = BTreeSet::new();
        for call in draft.calls(trace) {
            let recorded = effects.get(&call.response);
            if let Some(headers) = recorded.map(|record| &record.headers).filter(|headers| !headers.is_empty()) {
                let (response, headers) = (call.response, headers.join("`, `"));
                let refused = CrystallizeError::Headers { response, call: call.name(), headers };
                return Err(FlowError::Crystallize(refused));
            }
            let (manifest, tool) = installed(surface, call, recorded)?;
            if tool.access.changes() {
                writes.insert(WritePermission {
                    adapter: call.adapter.clone(),
                    tool: call.tool.clone(),
                    mode: mode(&tool, recorded),
                });
            }
            for slot in tool.security.iter().flatten() {
                if let Some(scheme) = manifest.auth.schemes.get(slot) {
                    credentials.insert(CredentialSlot {
                        adapter: call.adapter.clone(),
                        slot: slot.clone(),
                        token_env: scheme.token_env.clone(),
                    });
                }
            }
            pins.pin(call, &manifest, &tool, recorded)?;
        }
        pins.credentials = credentials.into_iter().collect();
        pins.write_permissions = strictest(writes);
        Ok(pins)
    }

    fn pin(
        &mut self,
        call: &RecordedCall,
        manifest: &Manifest,
        tool: &Tool,
        recorded: Option<&EffectRecord>,
    ) -> Result<(), FlowError> {
        let digest = match manifest.tool_digests.get(&tool.name) {
            Some(digest) => digest.clone(),
            None => tool_digest(tool).map_err(|error| FlowError::adapter(&call.adapter, &error))?,
        };
        let pin = self.adapters.entry(call.adapter.clone()).or_insert_with(|| AdapterPin {
            fingerprint: manifest.fingerprint.clone(),
            tools: BTreeMap::new(),
            server: format!("{} {}", manifest.server.name, manifest.server.version),
            origin: Some(manifest.spec_source.clone()).filter(|source| source.starts_with("https://")),
            goes_to: Some(BTreeSet::new()),
        });
        pin.goes_to.get_or_insert_default().extend(origins(manifest, tool, recorded));
        pin.tools.insert(tool.name.clone(), ToolPin::of(tool, digest, below(manifest, tool, recorded)));
        Ok(())
    }
}

/// The adapter and the tool of a call as installed, provided that they are still those that were called.
fn installed(
    surface: &dyn Surface,
    call: &RecordedCall,
    recorded: Option<&EffectRecord>,
) -> Result<(Manifest, Tool), FlowError> {
    let changed = |reason: String| {
        FlowError::Crystallize(CrystallizeError::AdapterChanged { adapter: call.adapter.clone(), reason })
    };
    let manifest =
        surface.manifest(&call.adapter)?.ok_or_else(|| changed("it is not installed any more".to_owned()))?;
    let gone = || changed(format!("it has no tool `{}` any more", call.tool));
    let tool = surface.tool(&call.adapter, &call.tool)?.ok_or_else(gone)?;
    match (recorded, manifest.tool_digests.get(&call.tool)) {
        (Some(recorded), Some(installed)) if recorded.tool_digest != *installed => {
            Err(changed(format!("the contract of `{}` is another one; record the workspace again", call.tool)))
        }
        _ => Ok((manifest, tool)),
    }
}

/// The origins of a recorded call: where it went, and where else the tool may go when that is one of its places.
fn origins(manifest: &Manifest, tool: &Tool, recorded: Option<&EffectRecord>) -> BTreeSet<String> {
    let now = reach::origins(manifest, tool);
    match recorded.map(|record| reach::origin(&record.url)) {
        // The origin of a file is the file, which is below the folder.
        Some(went) if !went.is_empty() && !now.iter().any(|base| is_below(&went, base)) => BTreeSet::from([went]),
        _ => now,
    }
}

/// What the requests of a recorded call are appended to: the tool's base URLs, provided that it went below one of them.
fn below(manifest: &Manifest, tool: &Tool, recorded: Option<&EffectRecord>) -> BTreeSet<String> {
    let now = reach::below(manifest, tool);
    match recorded.map(|record| record.url.as_str()).filter(|url| !url.is_empty()) {
        Some(url) if !now.iter().any(|base| is_below(url, base)) => BTreeSet::from([reach::origin(url)]),
        _ => now,
    }
}

fn is_below(url: &str, base: &str) -> bool {
    url.strip_prefix(base.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

/// The started effects of a workspace, by response.
fn effects(journal: &Journal, workspace: &Workspace) -> Result<BTreeMap<ResponseId, EffectRecord>, FlowError> {
    let mut events = journal.started_behind(workspace.identity(), ResponseId(0), jiff::Timestamp::MAX)?;
    // The last one of a response is what came of it.
    events.sort_by_key(|event| event.seq);
    let records = events.iter().filter_map(|event| EffectRecord::deserialize(&event.body).ok());
    Ok(records.map(|record| (record.response, record)).collect())
}

/// How the guard treated a write; its default where the journal does not say.
fn mode(tool: &Tool, recorded: Option<&EffectRecord>) -> WriteMode {
    match recorded.map(|record| record.decision) {
        Some(Decision::Allow) => WriteMode::Allow,
        Some(Decision::Audit) => WriteMode::Audit,
        None if !tool.access.asks(tool.method) => WriteMode::Audit,
        _ => WriteMode::Confirm,
    }
}

/// One permission per tool, in the strictest mode that was seen.
fn strictest(writes: BTreeSet<WritePermission>) -> Vec<WritePermission> {
    let mut kept: Vec<WritePermission> = Vec::new();
    for permission in writes {
        match kept.last_mut() {
            // The set is ordered by adapter, tool and then mode.
            Some(last) if last.adapter == permission.adapter && last.tool == permission.tool => *last = permission,
            _ => kept.push(permission),
        }
    }
    kept
}
