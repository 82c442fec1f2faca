//! The file as a whole: checked against its seal and its anchor when it is read, replaced in one step when it is written.
//!
//! The anchor, `chronicle/vault.anchor`, says how often the store has changed, under the machine key and in another
//! folder than the store: an older `tokens.json` that is put back is behind it. It is written after the store, so a
//! machine that stops between the two leaves a store that is ahead, which is the truth.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use rote_home::{FileMode, LockGuard, lock, read_capped, write_durable};
use serde::{Deserialize, Serialize};

use crate::entry::{KeyName, TokenFile, VERSION};
use crate::key::MachineKey;
use crate::sealed::Sealed;
use crate::{Vault, VaultError};

/// Longest file that is read: some ten thousand tokens.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Longest anchor that is read; it has some hundred bytes.
const MAX_ANCHOR_BYTES: u64 = 4 << 10;

/// How long a writer waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// How often the store has changed.
#[derive(Debug, Serialize, Deserialize)]
struct Anchor {
    counter: u64,
    seal: Sealed,
}

impl Vault {
    pub(crate) fn path(&self) -> PathBuf {
        self.home.tokens_file()
    }

    fn anchor_path(&self) -> PathBuf {
        self.home.chronicle_dir().join("vault.anchor")
    }

    pub(crate) fn lock(&self) -> Result<LockGuard, VaultError> {
        Ok(lock(&self.home.secrets_dir().join(".tokens.lock"), LOCK_TIMEOUT)?)
    }

    /// Reads the file for a listing: no value leaves it, so its seal is not asked for, nor a key.
    pub(crate) fn peek(&self) -> Result<Option<TokenFile>, VaultError> {
        let path = self.path();
        let bytes = match read_capped(&path, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mode = path.metadata().map_or(0o777, |metadata| metadata.permissions().mode() & 0o777);
        if mode & 0o077 != 0 {
            return Err(VaultError::Insecure { path, mode });
        }
        // The parser's message names a position, never the text there, which may be part of a value.
        let file: TokenFile = serde_json::from_slice(&bytes).map_err(|error| {
            self.damaged(format!("not readable at line {} column {}", error.line(), error.column()))
        })?;
        match file.is_known() {
            true => Ok(Some(file)),
            false => Err(self.damaged(format!("version {} is not known to this rote", file.version))),
        }
    }

    /// Reads the file and checks that it is what was written last.
    pub(crate) fn read(&self) -> Result<Option<TokenFile>, VaultError> {
        // Before the file: whoever writes meanwhile replaces the file first.
        let anchor = self.anchor()?;
        let Some(mut file) = self.peek()? else { return Ok(None) };
        let seal = file.seal.take();
        if file.is_of_old() || file.entries.is_empty() {
            // Of the first version is what was never written since there are anchors.
            file.counter = 0;
        }
        if file.entries.is_empty() {
            // There is nothing to believe, and no key that would have to be there.
            return Ok(Some(file));
        }
        let key = self.key(false)?;
        self.check_key(&file, key)?;
        let expected = match anchor {
            Some(anchor) if anchor.seal.fits(key, &anchor_content(anchor.counter)) => Some(anchor.counter),
            Some(_) => return Err(self.damaged("its anchor was changed by another program".to_owned())),
            None if file.is_of_old() => Some(0),
            None => None,
        };
        if !file.is_of_old() && !seal.is_some_and(|seal| seal.fits(key, &content(&file))) {
            return Err(self.damaged("it was changed by another program".to_owned()));
        }
        match expected {
            Some(expected) if file.counter >= expected => Ok(Some(file)),
            _ => Err(VaultError::RolledBack { path: self.path(), found: file.counter, expected }),
        }
    }

    /// Writes a file that was read, sealed anew, and then the anchor.
    pub(crate) fn write(&self, file: &mut TokenFile) -> Result<(), VaultError> {
        let key = self.key(true)?;
        let before = self.anchor()?;
        if before.is_none() {
            // A store without an anchor is one whose anchor was taken away.
            self.write_anchor(key, 0)?;
        }
        file.version = VERSION;
        file.key = Some(KeyName { source: self.source.as_str().to_owned(), id: key.id() });
        file.counter = file.counter.max(before.map_or(0, |anchor| anchor.counter)).saturating_add(1);
        file.seal = Some(Sealed::over(key, self.entropy.as_ref(), &content(file)));
        let mut bytes = serde_json::to_vec_pretty(file).expect("texts and times are always JSON");
        bytes.push(b'\n');
        write_durable(&self.path(), &bytes, FileMode::Private)?;
        self.write_anchor(key, file.counter)
    }

    fn anchor(&self) -> Result<Option<Anchor>, VaultError> {
        let bytes = match read_capped(&self.anchor_path(), MAX_ANCHOR_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let anchor = serde_json::from_slice(&bytes);
        anchor.map(Some).map_err(|_| self.damaged("its anchor was changed by another program".to_owned()))
    }

    fn write_anchor(&self, key: &MachineKey, counter: u64) -> Result<(), VaultError> {
        let seal = Sealed::over(key, self.entropy.as_ref(), &anchor_content(counter));
        let bytes = serde_json::to_vec(&Anchor { counter, seal }).expect("a number and texts are always JSON");
        Ok(write_durable(&self.anchor_path(), &bytes, FileMode::Private)?)
    }

    pub(crate) fn key(&self, create: bool) -> Result<&MachineKey, VaultError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = MachineKey::load(&self.home, self.entropy.as_ref(), self.source, create)?;
        Ok(self.key.get_or_init(|| key))
    }

    fn check_key(&self, file: &TokenFile, key: &MachineKey) -> Result<(), VaultError> {
        match &file.key {
            Some(name) if name.id != key.id() => Err(VaultError::WrongKey { source_name: self.source.as_str() }),
            _ => Ok(()),
        }
    }

    fn damaged(&self, reason: String) -> VaultError {
        VaultError::Damaged { path: self.path(), reason }
    }
}

/// What the seal is over: the file, whose own place for a seal is empty. No label of an entry starts like it.
fn content(file: &TokenFile) -> Vec<u8> {
    let mut bytes = b"rote:vault:file:".to_vec();
    bytes.extend(serde_json::to_vec(file).expect("texts and times are always JSON"));
    bytes
}

fn anchor_content(counter: u64) -> Vec<u8> {
    format!("rote:vault:anchor:{counter}").into_bytes()
}
