//! Keeping the search index true to the flow files: one document at a time, or all of them.
//!
//! The files are the truth. A change of a flow file is announced by a marker before it is made and the marker goes
//! when the index has it, so that a process that was killed in between is noticed by the next search.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use rote_home::{
    FileMode, LockGuard, Stamp, create_private_dir, lock, read_capped, remove_dir, remove_file, write_atomic,
};
use rote_types::FlowName;
use serde::Serialize;

use super::{FlowDocument, FlowIndex, LOCK_TIMEOUT, Library};
use crate::FlowError;

/// The marker of a change under way, in the index's folder.
const MARKER: &str = "pending";
/// When the folder of flows was last changed when the index was last compared with it, in nanoseconds since 1970.
const SEEN: &str = "seen";
/// Most bytes of that file.
const SEEN_BYTES: u64 = 64;

/// A flow file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// The folder's name.
    pub name: FlowName,
    /// Why.
    pub problem: String,
}

/// What was done to the index.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct IndexReport {
    /// Flows that it has now.
    pub flows: usize,
    /// It was written anew.
    pub rebuilt: bool,
    /// Why that was necessary, when nobody asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Flows that it lacked.
    pub added: Vec<FlowName>,
    /// Flows whose files had changed.
    pub updated: Vec<FlowName>,
    /// Flows whose files are gone or no longer readable.
    pub removed: Vec<FlowName>,
    /// Files that are not intact flows; they are not found by a search.
    pub unreadable: Vec<Unreadable>,
}

impl Library {
    /// Compares the search index with the files on disk and mends it; writes it anew when it is missing, damaged or
    /// of another version.
    ///
    /// # Errors
    /// The folder of flows or the index cannot be read or written.
    pub fn verify_index(&self) -> Result<IndexReport, FlowError> {
        let _guard = self.lock_flows()?;
        self.mend_index()
    }

    /// Writes the search index anew from the files on disk.
    ///
    /// # Errors
    /// As [`Library::verify_index`].
    pub fn rebuild_index(&self) -> Result<IndexReport, FlowError> {
        let _guard = self.lock_flows()?;
        self.write_index(None)
    }

    pub(crate) fn lock_flows(&self) -> Result<LockGuard, FlowError> {
        create_private_dir(&self.home.flows_dir())?;
        Ok(lock(&self.home.flows_dir().join(".lock"), LOCK_TIMEOUT)?)
    }

    pub(crate) fn search_index(&self) -> FlowIndex {
        FlowIndex::of(&self.home)
    }

    /// As [`Library::verify_index`], for a holder of the lock.
    pub(crate) fn mend_index(&self) -> Result<IndexReport, FlowError> {
        let indexed = match self.search_index().documents() {
            Ok(documents) => documents,
            Err(error) if self.search_index().exists() => return self.write_index(Some(reason(&error))),
            Err(_) => return self.write_index(Some("there was none".to_owned())),
        };
        let changed_at = self.folder_changed_at();
        let mut indexed: BTreeMap<FlowName, FlowDocument> =
            indexed.into_iter().map(|document| (document.name.clone(), document)).collect();
        let mut report = IndexReport::default();
        let mut changed = Vec::new();
        for name in self.names()? {
            let known = indexed.remove(&name);
            if known.as_ref().is_some_and(|known| Stamp::of(&self.file(&name)) == Some(known.stamp)) {
                report.flows += 1;
                continue;
            }
            match self.read_document(&name, &self.file(&name)) {
                Ok(document) => {
                    report.flows += 1;
                    changed.push(document);
                    let list = if known.is_some() { &mut report.updated } else { &mut report.added };
                    list.push(name);
                }
                Err(error) => {
                    report.unreadable.push(Unreadable { name: name.clone(), problem: error.to_string() });
                    report.removed.extend(known.map(|_| name));
                }
            }
        }
        report.removed.extend(indexed.into_keys());
        if !changed.is_empty() || !report.removed.is_empty() {
            self.search_index().update(&changed, &report.removed)?;
        }
        self.settle_change()?;
        self.note_folder(changed_at)?;
        Ok(report)
    }

    /// As [`Library::rebuild_index`], for a holder of the lock.
    pub(crate) fn write_index(&self, reason: Option<String>) -> Result<IndexReport, FlowError> {
        let mut report = IndexReport { rebuilt: true, reason, ..IndexReport::default() };
        let changed_at = self.folder_changed_at();
        let mut documents = Vec::new();
        for name in self.names()? {
            match self.read_document(&name, &self.file(&name)) {
                Ok(document) => documents.push(document),
                Err(error) => report.unreadable.push(Unreadable { name, problem: error.to_string() }),
            }
        }
        report.flows = documents.len();
        self.search_index().rebuild(&documents)?;
        self.note_folder(changed_at)?;
        Ok(report)
    }

    /// Brings the documents of these flows up to date with their files. For a holder of the lock.
    pub(crate) fn index_flows(&self, names: &[FlowName]) -> Result<(), FlowError> {
        let (mut put, mut remove) = (Vec::new(), Vec::new());
        for name in names {
            match self.read_document(name, &self.file(name)) {
                Ok(document) => put.push(document),
                // A file that is gone or damaged is not found; `rote flow list` shows what is wrong with it.
                Err(_) => remove.push(name.clone()),
            }
        }
        self.search_index().update(&put, &remove)
    }

    /// Tells the index of a draft that was written. One that cannot be told goes: the next search makes it anew.
    /// For a holder of the lock.
    pub(crate) fn index_draft(&self, name: &FlowName) -> Result<(), FlowError> {
        if self.search_index().exists() && self.index_flows(std::slice::from_ref(name)).is_err() {
            remove_dir(&self.home.flow_index_dir())?;
        }
        Ok(())
    }

    /// Announces a change of flow files. Without an index there is nothing that could be behind.
    pub(crate) fn announce_change(&self) -> Result<(), FlowError> {
        if self.search_index().exists() {
            Ok(write_atomic(&self.change_marker(), b"", FileMode::Private)?)
        } else {
            Ok(())
        }
    }

    /// Takes the announcement back: the index has the change, or there was none.
    pub(crate) fn settle_change(&self) -> Result<(), FlowError> {
        if self.change_marker().exists() { Ok(remove_file(&self.change_marker())?) } else { Ok(()) }
    }

    /// Whether flows came or went since the index was compared with the folder: by rote itself, which tells the
    /// index, or by hand.
    pub(crate) fn folder_changed(&self) -> bool {
        let path = self.home.flow_index_dir().join(SEEN);
        let seen = read_capped(&path, SEEN_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        seen != self.folder_changed_at().map(|at| at.to_string())
    }

    fn folder_changed_at(&self) -> Option<u128> {
        let changed = self.home.flows_dir().metadata().ok()?.modified().ok()?;
        Some(changed.duration_since(UNIX_EPOCH).ok()?.as_nanos())
    }

    fn note_folder(&self, changed_at: Option<u128>) -> Result<(), FlowError> {
        let path = self.home.flow_index_dir().join(SEEN);
        match changed_at {
            Some(at) => Ok(write_atomic(&path, at.to_string().as_bytes(), FileMode::Private)?),
            None => Ok(()),
        }
    }

    pub(crate) fn change_marker(&self) -> PathBuf {
        self.home.flow_index_dir().join(MARKER)
    }
}

/// The innermost cause of an index that cannot be used.
pub(crate) fn reason(error: &FlowError) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
