//! The store itself: set, get, list, delete, resolve.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use rote_home::{FileMode, Home, LockGuard, lock, read_capped, write_durable};
use rote_types::Entropy;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::entry::{Entry, KeyName, TokenFile, VERSION, seal, unseal};
use crate::key::{KeySource, MachineKey};
use crate::value::{check_name, normalise};
use crate::{VaultError, jwt};

/// Longest file that is read: some ten thousand tokens.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// How long a writer waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// What is known of a token besides its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenMeta {
    /// When it was set.
    pub created_at: Timestamp,
    /// When it ends, where the caller knows; a JWT says it itself.
    pub expires_at: Option<Timestamp>,
    /// A person's note; not secret.
    pub description: String,
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenInfo {
    /// Its name.
    pub name: String,
    /// `jwt` or `static`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was set.
    pub created_at: Timestamp,
    /// When it ends, if that is known.
    pub expires_at: Option<Timestamp>,
    /// A person's note.
    pub description: String,
}

/// Where a token came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenSource {
    /// The vault.
    Vault,
    /// An environment variable of the token's name.
    Environment,
}

impl TokenSource {
    /// Returns `vault` or `environment`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vault => "vault",
            Self::Environment => "environment",
        }
    }
}

/// The token store of one home. The key is loaded when a value is first needed, and kept.
pub struct Vault {
    home: Home,
    entropy: Arc<dyn Entropy>,
    source: KeySource,
    key: OnceLock<MachineKey>,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("path", &self.path()).field("source", &self.source).finish_non_exhaustive()
    }
}

impl Vault {
    /// Opens the store of `home`. Nothing is read or created yet.
    ///
    /// # Errors
    /// [`VaultError::Home`] when `secrets/` leads out of the home.
    pub fn open(home: &Home, entropy: Arc<dyn Entropy>, source: KeySource) -> Result<Self, VaultError> {
        home.contained(&home.secrets_dir())?;
        Ok(Self { home: home.clone(), entropy, source, key: OnceLock::new() })
    }

    /// Stores a value under `name`, replacing one that is there. A leading `Bearer ` and surrounding white space
    /// are taken off.
    ///
    /// # Errors
    /// [`VaultError::InvalidName`], [`VaultError::InvalidValue`] (a line break, an empty value), or what makes the
    /// store unusable; the old content then stays.
    pub fn set(&self, name: &str, value: &SecretString, meta: TokenMeta) -> Result<TokenInfo, VaultError> {
        check_name(name)?;
        let value = normalise(name, value)?;
        let _guard = self.lock()?;
        let mut file = self.read()?.unwrap_or_default();
        let key = self.key(file.entries.is_empty())?;
        self.check_key(&file, key)?;
        let (nonce, ct) = seal(key, self.entropy.as_ref(), name, &value);
        let jwt = jwt::read(value.expose_secret());
        let kind = if jwt.is_some() { "jwt" } else { "static" };
        let expires_at = meta.expires_at.or(jwt.and_then(|jwt| jwt.expires_at));
        let TokenMeta { created_at, description, .. } = meta;
        let entry = Entry { kind: kind.to_owned(), nonce, ct, created_at, expires_at, description };
        let info = info(name, &entry);
        file.entries.insert(name.to_owned(), entry);
        file.key = Some(KeyName { source: self.source.as_str().to_owned(), id: key.id() });
        self.write(&file)?;
        Ok(info)
    }

    /// Returns the value of `name`, or `None` when there is none.
    ///
    /// # Errors
    /// [`VaultError::WrongKey`], [`VaultError::KeyMissing`], [`VaultError::Tampered`], [`VaultError::Damaged`] or
    /// [`VaultError::Insecure`]; a value that cannot be trusted is never returned.
    pub fn get(&self, name: &str) -> Result<Option<SecretString>, VaultError> {
        check_name(name)?;
        let Some(file) = self.read()? else { return Ok(None) };
        let Some(entry) = file.entries.get(name) else {
            return Ok(None);
        };
        let key = self.key(false)?;
        self.check_key(&file, key)?;
        unseal(key, name, entry).map(Some)
    }

    /// Returns what is stored, by name, without any value; needs no key.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], [`VaultError::Insecure`] or [`VaultError::Home`].
    pub fn list(&self) -> Result<Vec<TokenInfo>, VaultError> {
        let file = self.read()?.unwrap_or_default();
        Ok(file.entries.iter().map(|(name, entry)| info(name, entry)).collect())
    }

    /// Removes `name` and says whether it was there.
    ///
    /// # Errors
    /// As [`Vault::list`].
    pub fn delete(&self, name: &str) -> Result<bool, VaultError> {
        check_name(name)?;
        let _guard = self.lock()?;
        let Some(mut file) = self.read()? else { return Ok(false) };
        if file.entries.remove(name).is_none() {
            return Ok(false);
        }
        self.write(&file)?;
        Ok(true)
    }

    /// Returns the value for a credential slot: the vault's, else that of the environment variable `name`.
    ///
    /// # Errors
    /// As [`Vault::get`]; an unusable vault is an error and never falls through to the environment.
    pub fn resolve(
        &self,
        name: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<(SecretString, TokenSource)>, VaultError> {
        if let Some(value) = self.get(name)? {
            return Ok(Some((value, TokenSource::Vault)));
        }
        match environment(name).map(SecretString::from) {
            Some(value) if !value.expose_secret().trim().is_empty() => {
                normalise(name, &value).map(|value| Some((value, TokenSource::Environment)))
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.tokens_file()
    }

    fn lock(&self) -> Result<LockGuard, VaultError> {
        Ok(lock(&self.home.secrets_dir().join(".tokens.lock"), LOCK_TIMEOUT)?)
    }

    pub(crate) fn read(&self) -> Result<Option<TokenFile>, VaultError> {
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
        let damaged = |reason| VaultError::Damaged { path: self.path(), reason };
        // The parser's message names a position, never the text there, which may be part of a value.
        let file: TokenFile = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(format!("not readable at line {} column {}", error.line(), error.column())))?;
        match file.version {
            VERSION => Ok(Some(file)),
            other => Err(damaged(format!("version {other} is not known to this rote"))),
        }
    }

    fn write(&self, file: &TokenFile) -> Result<(), VaultError> {
        let mut bytes = serde_json::to_vec_pretty(file).expect("texts and times are always JSON");
        bytes.push(b'\n');
        Ok(write_durable(&self.path(), &bytes, FileMode::Private)?)
    }

    pub(crate) fn key(&self, create: bool) -> Result<&MachineKey, VaultError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = MachineKey::load(&self.home, self.entropy.as_ref(), self.source, create)?;
        Ok(self.key.get_or_init(|| key))
    }

    pub(crate) fn check_key(&self, file: &TokenFile, key: &MachineKey) -> Result<(), VaultError> {
        match &file.key {
            Some(name) if !file.entries.is_empty() && name.id != key.id() => {
                Err(VaultError::WrongKey { source_name: self.source.as_str() })
            }
            _ => Ok(()),
        }
    }
}

fn info(name: &str, entry: &Entry) -> TokenInfo {
    TokenInfo {
        name: name.to_owned(),
        kind: entry.kind.clone(),
        created_at: entry.created_at,
        expires_at: entry.expires_at,
        description: entry.description.clone(),
    }
}

#[cfg(test)]
mod tests;
