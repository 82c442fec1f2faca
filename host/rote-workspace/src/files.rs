//! Named blobs that a flow keeps among the artifacts of its run.
//!
//! Invariant: a name is one segment of a fixed alphabet, so it never leaves its folder, whatever a guest sends.

use std::path::PathBuf;

use rote_home::{FileMode, HomeError, create_private_dir, read_capped, write_atomic};
use serde::{Deserialize, Serialize};

use crate::{Result, Workspace, WorkspaceError};

/// Folder of the blobs below `artifacts/`. No artifact of a response has this name: those are digests.
const FOLDER: &str = "files";
/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 100;
/// Most bytes of one blob.
const MAX_FILE_BYTES: usize = 64 << 20;
/// Most blobs of one workspace.
const MAX_FILES: usize = 1_000;
/// Most bytes of all blobs of one workspace.
const MAX_TOTAL_BYTES: u64 = 512 << 20;

/// One blob of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Workspace {
    /// Writes a blob whole; an older one of the name is replaced.
    ///
    /// # Errors
    /// [`WorkspaceError::BadFileName`], [`WorkspaceError::FileLimit`] (64 MiB each, 512 MiB and 1,000 blobs in all),
    /// or the disk refused.
    pub fn write_file(&self, name: &str, content: &[u8]) -> Result<()> {
        let path = self.file_path(name)?;
        if content.len() > MAX_FILE_BYTES {
            return Err(WorkspaceError::FileLimit { what: "bytes in one file", max: MAX_FILE_BYTES as u64 });
        }
        let others: Vec<NamedFile> = self.files()?.into_iter().filter(|file| file.name != name).collect();
        if others.len() >= MAX_FILES {
            return Err(WorkspaceError::FileLimit { what: "files", max: MAX_FILES as u64 });
        }
        let total: u64 = others.iter().map(|file| file.bytes).sum();
        if total + content.len() as u64 > MAX_TOTAL_BYTES {
            return Err(WorkspaceError::FileLimit { what: "bytes in all files", max: MAX_TOTAL_BYTES });
        }
        create_private_dir(&self.artifacts_dir())?;
        create_private_dir(&self.artifacts_dir().join(FOLDER))?;
        Ok(write_atomic(&path, content, FileMode::Private)?)
    }

    /// Reads a blob; `None` when there is none of the name.
    ///
    /// # Errors
    /// [`WorkspaceError::BadFileName`], or the disk refused.
    pub fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match read_capped(&self.file_path(name)?, MAX_FILE_BYTES as u64) {
            Ok(content) => Ok(Some(content)),
            Err(HomeError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Lists the blobs by name.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn files(&self) -> Result<Vec<NamedFile>> {
        let folder = self.artifacts_dir().join(FOLDER);
        let fail = |source| WorkspaceError::Io { action: "list", path: folder.clone(), source };
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(fail(source)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(fail)?;
            let bytes = entry.metadata().map_err(fail)?.len();
            let name = entry.file_name().into_string().ok().filter(|name| is_name(name));
            files.extend(name.map(|name| NamedFile { name, bytes }));
        }
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(files)
    }

    fn file_path(&self, name: &str) -> Result<PathBuf> {
        if is_name(name) {
            Ok(self.artifacts_dir().join(FOLDER).join(name))
        } else {
            Err(WorkspaceError::BadFileName { name: name.chars().take(MAX_NAME_BYTES).collect() })
        }
    }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}
