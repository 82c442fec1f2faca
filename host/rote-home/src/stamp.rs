//! How a file was when it was read.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// How a file was when it was read; another stamp means that somebody changed or replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Its size in bytes.
    pub bytes: u64,
    /// When its contents, mode or owner last changed, which nobody can set as the time of the contents: seconds since
    /// 1970.
    pub seconds: i64,
    /// And nanoseconds of that second.
    pub nanoseconds: i64,
    /// Its number in the file system: a file that was put in place of another one has a new one.
    pub inode: u64,
}

impl Stamp {
    /// Returns the stamp of a file, nothing when it is not there.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let (seconds, nanoseconds) = (metadata.ctime(), metadata.ctime_nsec());
        Some(Self { bytes: metadata.len(), seconds, nanoseconds, inode: metadata.ino() })
    }
}
