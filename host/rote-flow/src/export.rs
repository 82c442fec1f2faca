//! Writing a plan flow as sources that a person edits.

use std::path::{Path, PathBuf};

use rote_home::{FileMode, create_private_dir, read_capped, write_atomic};
use rote_types::Language;
use serde::Serialize;

use crate::emit::Origins;
use crate::error::AuthorError;
use crate::{FlowError, FlowReference, Library, Package};

/// Sources that were written out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    pub files: Vec<PathBuf>,
}

impl Library {
    /// Writes a plan flow as editable sources: one file for TypeScript, a crate's files for Rust.
    ///
    /// # Errors
    /// [`AuthorError::CannotExport`] for a flow that is not a plan, or whose plan has what is not written out;
    /// [`AuthorError::Edited`] where a file says something else, unless it is forced: nothing is written then; the disk refused.
    pub fn export(
        &self,
        flow: &FlowReference,
        language: Language,
        path: &Path,
        force: bool,
    ) -> Result<Exported, FlowError> {
        let (_, package) = self.load(flow)?;
        let files = self.sources(&package, language, &self.origins(&package)?)?;
        // One file is written as the person named it; several go into a folder of that name.
        let place = |name: &str| if name.is_empty() { path.to_owned() } else { path.join(name) };
        let edited = |(name, text): &&(&str, String)| differs(&place(name), text);
        if let Some((name, _)) = files.iter().find(edited).filter(|_| !force) {
            return Err(FlowError::Author(AuthorError::Edited { path: place(name) }));
        }
        let mut written = Vec::with_capacity(files.len());
        for (name, text) in files {
            let path = place(name);
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                create_private_dir(folder)?;
            }
            write_atomic(&path, text.as_bytes(), FileMode::Shared)?;
            written.push(path);
        }
        Ok(Exported { files: written })
    }

    /// Where the constants of a flow came from, as far as that was kept.
    fn origins(&self, package: &Package) -> Result<Origins, FlowError> {
        Ok(self.kept(package)?.map_or_else(Origins::default, |kept| Origins::of(&kept.questions)))
    }
}

/// Whether something else than this text stands in a file.
fn differs(path: &Path, text: &str) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    metadata.len() != length || read_capped(path, length).is_ok_and(|bytes| bytes != text.as_bytes())
}
