//! The file: `{version, key, entries:{NAME:{type, nonce, ct, created_at, expires_at, description}}}`.

use std::collections::BTreeMap;

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rote_types::Entropy;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::VaultError;
use crate::key::MachineKey;

/// The only version of the file's shape so far.
pub(crate) const VERSION: u32 = 1;

/// Bytes of an AES-GCM nonce (NIST SP 800-38D §8.2.2: random, 96 bits).
const NONCE_BYTES: usize = 12;

/// The whole file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TokenFile {
    pub(crate) version: u32,
    /// The key that the entries are written with; none while there was no entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<KeyName>,
    pub(crate) entries: BTreeMap<String, Entry>,
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
    pub(crate) nonce: String,
    pub(crate) ct: String,
    pub(crate) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
}

impl Default for TokenFile {
    fn default() -> Self {
        Self { version: VERSION, key: None, entries: BTreeMap::new() }
    }
}

/// Encrypts a value for the entry `name`; returns nonce and ciphertext in base64.
pub(crate) fn seal(key: &MachineKey, entropy: &dyn Entropy, name: &str, value: &SecretString) -> (String, String) {
    let mut nonce = [0_u8; NONCE_BYTES];
    entropy.fill(&mut nonce);
    let payload = Payload { msg: value.expose_secret().as_bytes(), aad: name.as_bytes() };
    let sealed = cipher(key).encrypt((&nonce).into(), payload).expect("a value of at most 64 KiB fits AES-GCM");
    (STANDARD.encode(nonce), STANDARD.encode(sealed))
}

/// Decrypts the entry `name`.
pub(crate) fn unseal(key: &MachineKey, name: &str, entry: &Entry) -> Result<SecretString, VaultError> {
    let tampered = || VaultError::Tampered { name: name.to_owned() };
    let nonce = STANDARD.decode(&entry.nonce).map_err(|_| tampered())?;
    let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| tampered())?;
    let sealed = STANDARD.decode(&entry.ct).map_err(|_| tampered())?;
    let payload = Payload { msg: &sealed, aad: name.as_bytes() };
    let bytes = cipher(key).decrypt((&nonce).into(), payload).map_err(|_| tampered())?;
    let bytes = Zeroizing::new(bytes);
    std::str::from_utf8(&bytes).map(SecretString::from).map_err(|_| tampered())
}

fn cipher(key: &MachineKey) -> Aes256Gcm {
    Aes256Gcm::new(key.bytes().into())
}
