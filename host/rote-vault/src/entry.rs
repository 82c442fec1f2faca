//! The file: `{version, key, counter, entries:{NAME:{type, nonce, ct, created_at, expires_at, description,
//! bindings}}, retired, seal}`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rote_types::Entropy;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::VaultError;
use crate::binding::Binding;
use crate::key::MachineKey;
use crate::sealed::Sealed;

/// The version of the file's shape that is written. Version 1 had neither bindings nor a seal; it is read once.
pub(crate) const VERSION: u32 = 2;

/// The only older version.
const OLD_VERSION: u32 = 1;

/// Most replaced and deleted values that are remembered, the oldest goes first.
const MAX_RETIRED: usize = 64;

/// The whole file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TokenFile {
    pub(crate) version: u32,
    /// The key that the entries are written with; none while there was no entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<KeyName>,
    /// Grows with each change.
    #[serde(default)]
    pub(crate) counter: u64,
    pub(crate) entries: BTreeMap<String, Entry>,
    /// Values that were replaced or deleted: they are still masked wherever they turn up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) retired: Vec<Retired>,
    /// Over everything else in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seal: Option<Sealed>,
}

/// Which key the entries are written with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeyName {
    pub(crate) source: String,
    pub(crate) id: String,
}

/// One token: what is needed to list it in the clear, its value encrypted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// None for a name that stands for an environment variable.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Sealed>,
    pub(crate) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) bindings: Vec<Binding>,
}

/// A value that was replaced or deleted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Retired {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) value: Sealed,
}

impl Default for TokenFile {
    fn default() -> Self {
        Self { version: VERSION, key: None, counter: 0, entries: BTreeMap::new(), retired: Vec::new(), seal: None }
    }
}

impl TokenFile {
    /// Whether the shape is one that this rote reads.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.version, VERSION | OLD_VERSION)
    }

    /// Whether it was written before there were bindings and a seal.
    pub(crate) fn is_of_old(&self) -> bool {
        self.version == OLD_VERSION
    }

    /// Remembers the value of `name`, unless it stays. One that cannot be read any more cannot turn up either.
    pub(crate) fn retire(&mut self, key: &MachineKey, entropy: &dyn Entropy, name: &str, next: Option<&SecretString>) {
        let Some(Ok(Some(value))) = self.entries.get(name).map(|entry| unseal(key, name, entry)) else { return };
        if next.is_some_and(|next| next.expose_secret() == value.expose_secret()) {
            return;
        }
        let value = Sealed::new(key, entropy, &retired_label(name), value.expose_secret().as_bytes());
        self.retired.push(Retired { name: name.to_owned(), value });
        let too_many = self.retired.len().saturating_sub(MAX_RETIRED);
        self.retired.drain(..too_many);
    }
}

/// Encrypts a value for the entry `name`.
pub(crate) fn seal(key: &MachineKey, entropy: &dyn Entropy, name: &str, value: &SecretString) -> Sealed {
    Sealed::new(key, entropy, name, value.expose_secret().as_bytes())
}

/// Decrypts the entry `name`; none when it has no value.
pub(crate) fn unseal(key: &MachineKey, name: &str, entry: &Entry) -> Result<Option<SecretString>, VaultError> {
    let Some(value) = &entry.value else { return Ok(None) };
    let text = value.text(key, name).ok_or_else(|| VaultError::Tampered { name: name.to_owned() })?;
    Ok(Some(text))
}

/// Decrypts a retired value; none when it does not fit its name.
pub(crate) fn unseal_retired(key: &MachineKey, retired: &Retired) -> Option<SecretString> {
    retired.value.text(key, &retired_label(&retired.name))
}

/// No name holds a `:`, so a retired value cannot be put back as an entry.
fn retired_label(name: &str) -> String {
    format!("retired:{name}")
}
