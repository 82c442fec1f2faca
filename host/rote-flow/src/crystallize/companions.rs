//! What lies beside a crystallized flow: the same program as TypeScript and Rust sources to edit, and a replay
//! test made of the session that it came from.

use std::path::PathBuf;

use rote_gate::Redaction;
use rote_home::{FileMode, create_private_dir, write_atomic};
use rote_types::Language;

use crate::author::ENTRY;
use crate::recording::{RunRecording, TEST_RECORDING};
use crate::{FlowError, Library, Package};

/// Writes `main.ts`, `rust/` and `test.rec` into the flow's folder; returns their paths.
pub(crate) fn write(
    library: &Library,
    redaction: &Redaction,
    package: &Package,
    recording: &RunRecording,
) -> Result<Vec<PathBuf>, FlowError> {
    let folder = library.home.flow_dir(&package.frontmatter.name);
    let mut written = Vec::new();
    for (language, below) in [(Language::TypeScript, ENTRY), (Language::Rust, "rust")] {
        for (name, text) in library.sources(package, language)? {
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
