//! Removing a flow: its folder, its blessing and its place in the index. Its runs and the journal stay.

use rote_home::{Durability, NewEvent, discard_dir, remove_file, sweep_staging};
use rote_types::FlowName;
use serde_json::json;

use crate::{FlowError, FlowReference, FlowStatus, Flows};

impl Flows {
    /// Removes a flow. A released one only with `force`: others may run it by its digest.
    ///
    /// # Errors
    /// [`FlowError::NoFlow`], [`FlowError::IsReleased`] for a released one without `force`, or the files, the index or
    /// the journal refused.
    pub fn remove(&self, name: &FlowName, force: bool) -> Result<(), FlowError> {
        let _guard = self.lock_flows()?;
        // A damaged file is no reason to keep it.
        let digest = match self.load(&FlowReference::Name(name.clone())) {
            Ok((_, package)) if package.frontmatter.status != FlowStatus::Draft && !force => {
                return Err(FlowError::IsReleased { flow: name.clone() });
            }
            Ok((_, package)) => Some(package.digest()),
            Err(error @ FlowError::NoFlow { .. }) => return Err(error),
            Err(_) => None,
        };
        // First: with it the blessing ends, whatever copy of its file comes back.
        let event = NewEvent { kind: "flow.removed", effect: None, body: json!({ "flow": name, "sha256": digest }) };
        self.parts.journal.append(self.parts.clock.now(), Durability::Disk, &[event])?;
        self.announce_change()?;
        sweep_staging(&self.parts.home.flows_dir())?;
        discard_dir(&self.parts.home.flow_dir(name))?;
        let permissions = self.parts.home.flow_permissions_file(name);
        if permissions.exists() {
            remove_file(&permissions)?;
        }
        self.index_draft(name)?;
        self.settle_change()
    }
}
