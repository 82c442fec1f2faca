//! Whether a home, or a part of it, was ever under a key: what an older rote left without one is taken over once, and a
//! key that was removed does not make a home of before.
//!
//! Invariants: a part that is under a key is marked in `config/`, outside of the folders of keys and of what they
//! seal. The journal's key is the first that a home gets, so a trace of any other says that the journal had one.

use std::path::PathBuf;

use rote_types::AdapterId;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::{FileMode, Home, HomeError, read_capped, write_durable};

/// What a mark says to whoever opens it.
const TEXT: &[u8] = b"This part of the home is under a key of secrets/. Nothing older is taken over any more.\n";
/// Longest file that is looked into, as of those that write them.
const MAX_BYTES: u64 = 16 << 20;
/// First version of `tokens.json` that has a seal.
const SEALED_TOKENS: u32 = 2;

/// Marks a part of the home as being under a key; it stays so.
///
/// # Errors
/// [`HomeError::Io`] when the mark cannot be written.
pub fn mark(home: &Home, part: &str) -> Result<(), HomeError> {
    if is_marked(home, part) { Ok(()) } else { write_durable(&path(home, part), TEXT, FileMode::Private) }
}

/// Whether a part of the home was marked.
#[must_use]
pub fn is_marked(home: &Home, part: &str) -> bool {
    path(home, part).symlink_metadata().is_ok()
}

fn path(home: &Home, part: &str) -> PathBuf {
    home.config_dir().join(format!(".{part}.keyed"))
}

/// Whether there is any trace of keys besides the journal's own.
pub(crate) fn was(home: &Home) -> bool {
    let files = [home.secrets_dir().join(".adapter.key"), home.chronicle_dir().join("vault.anchor")];
    ["journal", "adapter", "vault"].iter().any(|part| is_marked(home, part))
        || files.iter().any(|path| path.symlink_metadata().is_ok())
        || is_vault_sealed(home)
        || is_a_manifest_sealed(home)
}

fn is_vault_sealed(home: &Home) -> bool {
    #[derive(Deserialize)]
    struct Tokens {
        version: u32,
    }
    let bytes = read_capped(&home.tokens_file(), MAX_BYTES).unwrap_or_default();
    serde_json::from_slice::<Tokens>(&bytes).is_ok_and(|tokens| tokens.version >= SEALED_TOKENS)
}

fn is_a_manifest_sealed(home: &Home) -> bool {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        seal: Option<IgnoredAny>,
    }
    let names = home.adapters_dir().read_dir().into_iter().flatten().flatten();
    let ids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<AdapterId>().ok());
    let mut manifests = ids.map(|id| home.adapter_dir(&id).join("manifest.json"));
    manifests.any(|path| {
        let bytes = read_capped(&path, MAX_BYTES).unwrap_or_default();
        serde_json::from_slice::<Manifest>(&bytes).is_ok_and(|manifest| manifest.seal.is_some())
    })
}
