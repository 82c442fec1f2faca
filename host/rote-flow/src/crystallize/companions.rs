//! What lies beside a crystallized flow: the same program as TypeScript and Rust sources to edit, and a replay
//! test made of the session that it came from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rote_gate::Redaction;
use rote_home::{FileMode, HomeError, create_private_dir, read_capped, remove_file, write_atomic};
use rote_types::{Language, Sha256Digest, sha256};

use crate::author::ENTRY;
use crate::emit::Origins;
use crate::error::AuthorError;
use crate::question::Note;
use crate::recording::{RunRecording, TEST_RECORDING};
use crate::{FlowError, Library, Package};

/// The entry of the Rust sources.
pub(crate) const RUST_ENTRY: &str = "rust/src/lib.rs";
/// Most bytes of a source that is compared with what was written.
const MAX_SOURCE_BYTES: u64 = 16 << 20;

/// A flow that was made before, in whose place another one is made.
#[derive(Debug)]
pub(crate) struct Made {
    /// Digest of the whole flow.
    pub(crate) sha256: Sha256Digest,
    /// What was written beside it, by its name there.
    pub(crate) companions: BTreeMap<String, Sha256Digest>,
    /// What was asked about it, by the id.
    pub(crate) asked: BTreeMap<String, String>,
    /// The ids that it was made with answers to, asked or not.
    pub(crate) answered: BTreeSet<String>,
}

impl Made {
    /// The ids of what was asked about it or answered.
    pub(super) fn known(&self) -> BTreeSet<String> {
        self.asked.keys().chain(&self.answered).cloned().collect()
    }
}

/// Files to write into a flow's folder, checked, and those that do not stay.
#[derive(Debug, Default)]
pub(crate) struct Companions {
    files: Vec<(String, Vec<u8>)>,
    stale: Vec<&'static str>,
}

/// Makes `main.ts`, `rust/` and `test.rec`. What cannot be written out is said in `notes`, and nothing that was
/// written for an earlier plan stays in its place, but for what somebody edited since `instead_of` was made.
pub(crate) fn make(
    library: &Library,
    redaction: &Redaction,
    (package, recording): (&Package, &RunRecording),
    origins: &Origins,
    instead_of: Option<&Made>,
    notes: &mut Vec<Note>,
) -> Result<Companions, FlowError> {
    let folder = library.home.flow_dir(&package.frontmatter.name);
    let mut made = Companions::default();
    let mut note = |text| notes.push(Note { step: None, text, undo: None });
    for (language, below, entry) in [(Language::TypeScript, ENTRY, ENTRY), (Language::Rust, "rust", RUST_ENTRY)] {
        let sources = match library.sources(package, language, origins) {
            Err(FlowError::Author(AuthorError::CannotExport { reason, .. })) => Err(reason),
            sources => Ok(sources?),
        };
        let name_of = |name: &str| if name.is_empty() { below.to_owned() } else { format!("{below}/{name}") };
        let mut names = sources
            .as_ref()
            .map_or_else(|_| vec![entry.to_owned()], |sources| sources.iter().map(|(name, _)| name_of(name)).collect());
        if let Some(before) = instead_of {
            names.extend(before.companions.keys().filter(|name| name.starts_with(below)).cloned());
            if names.iter().any(|name| is_edited(&before.companions, &folder, name)) {
                note(format!("{below} was edited and stays as it is: it is not this flow"));
                continue;
            }
        }
        match sources {
            Ok(sources) => {
                made.files.extend(sources.into_iter().map(|(name, text)| (name_of(name), text.into_bytes())));
            }
            Err(reason) => {
                made.stale.push(entry);
                note(format!("{below} is not written: {reason}"));
            }
        }
    }
    made.files.push((TEST_RECORDING.to_owned(), recording.bytes(&folder.join(TEST_RECORDING), redaction)?));
    Ok(made)
}

/// Whether a file is another one than was written. One that cannot be read may be.
pub(crate) fn is_edited(before: &BTreeMap<String, Sha256Digest>, folder: &Path, name: &str) -> bool {
    match read_capped(&folder.join(name), MAX_SOURCE_BYTES) {
        Ok(bytes) => before.get(name) != Some(&sha256(&bytes)),
        Err(HomeError::NotFound { .. }) => false,
        Err(_) => true,
    }
}

impl Companions {
    /// Returns the digest of each file.
    pub(crate) fn digests(&self) -> BTreeMap<String, Sha256Digest> {
        self.files.iter().map(|(name, bytes)| (name.clone(), sha256(bytes))).collect()
    }

    /// Writes them.
    pub(crate) fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, FlowError> {
        for name in &self.stale {
            remove_file(&folder.join(name))?;
        }
        let mut written = Vec::with_capacity(self.files.len());
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            create_private_dir(path.parent().unwrap_or(folder))?;
            write_atomic(&path, bytes, FileMode::Private)?;
            written.push(path);
        }
        Ok(written)
    }
}
