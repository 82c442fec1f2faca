//! What lies beside a crystallized flow: the same program as TypeScript and Rust sources to edit, and a replay
//! test made of the session that it came from.

use std::path::PathBuf;

use rote_gate::Redaction;
use rote_home::{FileMode, create_private_dir, remove_file, write_atomic};
use rote_types::Language;

use super::desk::Note;
use crate::author::ENTRY;
use crate::emit::Origins;
use crate::error::AuthorError;
use crate::recording::{RunRecording, TEST_RECORDING};
use crate::{FlowError, Library, Package};

/// Writes `main.ts`, `rust/` and `test.rec` into the flow's folder. What cannot be written out is said in `notes`, and
/// nothing that was written for an earlier plan stays in its place.
pub(crate) fn write(
    library: &Library,
    redaction: &Redaction,
    package: &Package,
    recording: &RunRecording,
    origins: &Origins,
    notes: &mut Vec<Note>,
) -> Result<Vec<PathBuf>, FlowError> {
    let folder = library.home.flow_dir(&package.frontmatter.name);
    let mut written = Vec::new();
    for (language, below, entry) in [(Language::TypeScript, ENTRY, ENTRY), (Language::Rust, "rust", "rust/src/lib.rs")]
    {
        let sources = match library.sources(package, language, origins) {
            Err(FlowError::Author(AuthorError::CannotExport { reason, .. })) => {
                remove_file(&folder.join(entry))?;
                notes.push(Note { step: None, text: format!("{below} is not written: {reason}"), undo: None });
                continue;
            }
            sources => sources?,
        };
        for (name, text) in sources {
            let path = if name.is_empty() { folder.join(below) } else { folder.join(below).join(name) };
            create_private_dir(path.parent().unwrap_or(&folder))?;
            write_atomic(&path, text.as_bytes(), FileMode::Private)?;
            written.push(path);
        }
    }
    let path = folder.join(TEST_RECORDING);
    recording.write(&path, redaction)?;
    written.push(path);
    Ok(written)
}
