//! Removing a flow: its folder, its blessing and its place in the index. Its runs and the journal stay.

use rote_home::{discard_dir, remove_file, sweep_staging};
use rote_types::{FlowName, Sha256Digest};

use crate::error::LibraryError;
use crate::{Blessings, FlowError, FlowReference, FlowStatus};

/// A flow that may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub flow: FlowName,
    /// Its file; none when that cannot be read as one.
    pub sha256: Option<Sha256Digest>,
    /// Whether a blessing ends with it.
    pub blessed: bool,
}

impl Blessings {
    /// Says what removing a flow would remove. A released one may be removed with `force` only: others may run it by its
    /// digest.
    ///
    /// # Errors
    /// [`LibraryError::NoFlow`], [`LibraryError::IsReleased`] for a released one without `force`, or the journal refused.
    pub fn removal(&self, name: &FlowName, force: bool) -> Result<Removal, FlowError> {
        // A damaged file is not a reason to keep it.
        let sha256 = match self.pins.library.load(&FlowReference::Name(name.clone())) {
            Ok((_, package)) if package.frontmatter.status != FlowStatus::Draft && !force => {
                return Err(FlowError::Library(LibraryError::IsReleased { flow: name.clone() }));
            }
            Ok((_, package)) => Some(package.digest()),
            Err(error @ FlowError::Library(LibraryError::NoFlow { .. })) => return Err(error),
            Err(_) => None,
        };
        Ok(Removal { flow: name.clone(), sha256, blessed: self.is_blessed(name)? })
    }

    /// Removes a flow that is what it was. The journal tells of it first: with that the blessing ends, whatever copy of
    /// its file comes back.
    ///
    /// # Errors
    /// As [`Blessings::removal`]; [`LibraryError::ChangedMeanwhile`], or the files or the index refused.
    pub fn remove(&self, removal: &Removal, force: bool) -> Result<(), FlowError> {
        let name = &removal.flow;
        let library = &self.pins.library;
        let _guard = library.lock_flows()?;
        if self.removal(name, force)?.sha256 != removal.sha256 {
            return Err(FlowError::Library(LibraryError::ChangedMeanwhile { flow: name.clone() }));
        }
        library.announce_change()?;
        sweep_staging(&library.home.flows_dir())?;
        discard_dir(&library.home.flow_dir(name))?;
        let permissions = library.home.flow_permissions_file(name);
        if permissions.exists() {
            remove_file(&permissions)?;
        }
        library.index_draft(name)?;
        library.settle_change()
    }
}
