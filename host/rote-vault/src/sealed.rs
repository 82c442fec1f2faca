//! AES-256-GCM under the machine key: what is encrypted, and what is only signed.

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rote_types::Entropy;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::key::MachineKey;

/// Bytes of an AES-GCM nonce (NIST SP 800-38D §8.2.2: random, 96 bits).
const NONCE_BYTES: usize = 12;

/// A nonce and what was encrypted with it, both in base64.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sealed {
    nonce: String,
    ct: String,
}

impl Sealed {
    /// Encrypts `message`; `label` has to be given again to open it.
    pub(crate) fn new(key: &MachineKey, entropy: &dyn Entropy, label: &str, message: &[u8]) -> Self {
        Self::with(key, entropy, Payload { msg: message, aad: label.as_bytes() })
    }

    /// Signs `content` without keeping it.
    pub(crate) fn over(key: &MachineKey, entropy: &dyn Entropy, content: &[u8]) -> Self {
        Self::with(key, entropy, Payload { msg: &[], aad: content })
    }

    /// Whether this is the signature of `content`.
    pub(crate) fn fits(&self, key: &MachineKey, content: &[u8]) -> bool {
        self.open(key, content).is_some_and(|message| message.is_empty())
    }

    /// Returns the text that was encrypted under `label`.
    pub(crate) fn text(&self, key: &MachineKey, label: &str) -> Option<SecretString> {
        let bytes = self.open(key, label.as_bytes())?;
        std::str::from_utf8(&bytes).ok().map(SecretString::from)
    }

    fn with(key: &MachineKey, entropy: &dyn Entropy, payload: Payload<'_, '_>) -> Self {
        let mut nonce = [0_u8; NONCE_BYTES];
        entropy.fill(&mut nonce);
        let sealed = cipher(key).encrypt((&nonce).into(), payload).expect("64 KiB, and a file of 16 MiB, fit AES-GCM");
        Self { nonce: STANDARD.encode(nonce), ct: STANDARD.encode(sealed) }
    }

    fn open(&self, key: &MachineKey, aad: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let nonce: [u8; NONCE_BYTES] = STANDARD.decode(&self.nonce).ok()?.try_into().ok()?;
        let sealed = STANDARD.decode(&self.ct).ok()?;
        cipher(key).decrypt((&nonce).into(), Payload { msg: &sealed, aad }).ok().map(Zeroizing::new)
    }
}

fn cipher(key: &MachineKey) -> Aes256Gcm {
    Aes256Gcm::new(key.bytes().into())
}
