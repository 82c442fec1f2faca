//! What the workspace saw of files when it read or wrote them last, for the lock against changes of others.

use rote_types::Sha256Digest;
use rusqlite::OptionalExtension;

use crate::{Result, Workspace};

/// What was seen of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenFile {
    /// There was none.
    Absent,
    /// Its bytes had this digest.
    Bytes(Sha256Digest),
}

impl SeenFile {
    /// Returns the digest of its bytes; none where there was none.
    #[must_use]
    pub fn digest(self) -> Option<Sha256Digest> {
        match self {
            Self::Absent => None,
            Self::Bytes(digest) => Some(digest),
        }
    }
}

impl Workspace {
    /// Returns what was seen last of the file at an absolute path; none where the workspace never looked.
    ///
    /// # Errors
    /// The database refused, or holds what is not a digest.
    pub fn seen_file(&self, path: &str) -> Result<Option<SeenFile>> {
        let sql = "SELECT sha256 FROM seen_files WHERE path = ?1";
        self.with("read what was seen of a file", |connection| {
            let digest = |row: &rusqlite::Row<'_>| row.get::<_, Option<String>>(0);
            let found = connection.prepare_cached(sql)?.query_row([path], digest).optional()?;
            let seen = |text: Option<String>| match text {
                None => Ok(SeenFile::Absent),
                Some(text) => text.parse().map(SeenFile::Bytes),
            };
            found.map(seen).transpose().map_err(|problem: String| {
                rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, problem.into())
            })
        })
    }

    /// Notes what was seen of the file at an absolute path.
    ///
    /// # Errors
    /// The database refused.
    pub fn note_file(&self, path: &str, seen: SeenFile) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO seen_files (path, sha256) VALUES (?1, ?2)";
        let digest = seen.digest().map(|digest| digest.to_string());
        self.transact("note what was seen of a file", |connection| {
            connection.prepare_cached(sql)?.execute((path, digest)).map(drop)
        })
    }
}
