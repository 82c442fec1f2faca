//! The private key on disk: AES-256-GCM under a key that Argon2id makes of a passphrase.

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rote_types::Entropy;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// What the ciphertext is bound to.
const LABEL: &str = "rote:approval-key:v1";
/// Bytes of a salt, and of a nonce (the seed's).
const SALT: usize = 16;
const NONCE: usize = 12;
/// Most of what a stored file may ask of this machine: 1 GiB, 16 rounds, 8 lanes.
const MOST: Cost = Cost { memory_kib: 1 << 20, iterations: 16, lanes: 8 };

/// What making the key of a passphrase costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Cost {
    memory_kib: u32,
    iterations: u32,
    lanes: u32,
}

/// The cost for new files (seed 004: 64 MiB, 3 rounds, one lane).
pub(crate) const COST: Cost = Cost { memory_kib: 64 << 10, iterations: 3, lanes: 1 };

impl Cost {
    /// Whether another one is worth as much.
    fn is_weaker_than(self, other: Self) -> bool {
        self.memory_kib < other.memory_kib || self.iterations < other.iterations
    }

    fn is_bearable(self) -> bool {
        self.memory_kib <= MOST.memory_kib && self.iterations <= MOST.iterations && self.lanes <= MOST.lanes
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kdf {
    name: String,
    #[serde(flatten)]
    cost: Cost,
    salt_b64: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Cipher {
    name: String,
    nonce_b64: String,
}

/// `approval.key`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeyFile {
    version: u32,
    created_at: String,
    /// Which key it is.
    pub(crate) key_id: String,
    kdf: Kdf,
    aead: Cipher,
    ciphertext_b64: String,
}

/// Why a file gives no key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    /// It is not of the form that rote writes.
    Damaged(String),
    /// The passphrase is another one, or the file was changed.
    Passphrase,
}

impl KeyFile {
    /// Encrypts the 32 bytes of a private key.
    pub(crate) fn seal(
        private: &[u8; 32],
        passphrase: &str,
        (key_id, created_at): (String, String),
        entropy: &dyn Entropy,
    ) -> Self {
        let (mut salt, mut nonce) = ([0; SALT], [0; NONCE]);
        entropy.fill(&mut salt);
        entropy.fill(&mut nonce);
        let wrapping = stretch(passphrase, &salt, COST).expect("the cost and the salt are within Argon2's bounds");
        let sealed = encrypt(&wrapping, &nonce, private, LABEL);
        Self {
            version: 1,
            created_at,
            key_id,
            kdf: Kdf { name: "argon2id".to_owned(), cost: COST, salt_b64: STANDARD.encode(salt) },
            aead: Cipher { name: "aesgcm".to_owned(), nonce_b64: STANDARD.encode(nonce) },
            ciphertext_b64: STANDARD.encode(sealed),
        }
    }

    pub(crate) fn created_at(&self) -> String {
        self.created_at.clone()
    }

    /// Whether its passphrase is cheaper to guess than one of a new file.
    pub(crate) fn is_weak(&self) -> bool {
        self.kdf.cost.is_weaker_than(COST)
    }

    /// Decrypts the private key.
    pub(crate) fn open(&self, passphrase: &str) -> Result<Zeroizing<[u8; 32]>, Unopened> {
        let damaged = |what: &str| Unopened::Damaged(what.to_owned());
        if self.version != 1 {
            return Err(Unopened::Damaged(format!("it has version {}", self.version)));
        }
        if (self.kdf.name.as_str(), self.aead.name.as_str()) != ("argon2id", "aesgcm") {
            return Err(damaged("it is not under argon2id and aesgcm"));
        }
        if !self.kdf.cost.is_bearable() {
            return Err(damaged("its passphrase would cost more than 1 GiB, 16 rounds or 8 lanes"));
        }
        let bytes = |text: &str| STANDARD.decode(text).map_err(|_| damaged("it has bytes that are not base64"));
        let nonce: [u8; NONCE] = bytes(&self.aead.nonce_b64)?.try_into().map_err(|_| damaged("its nonce is cut"))?;
        let (salt, sealed) = (bytes(&self.kdf.salt_b64)?, bytes(&self.ciphertext_b64)?);
        let wrapping = stretch(passphrase, &salt, self.kdf.cost).map_err(Unopened::Damaged)?;
        decrypt(&wrapping, &nonce, &sealed, LABEL).ok_or(Unopened::Passphrase)
    }
}

fn stretch(passphrase: &str, salt: &[u8], cost: Cost) -> Result<Zeroizing<[u8; 32]>, String> {
    let mut key = Zeroizing::new([0; 32]);
    Params::new(cost.memory_kib, cost.iterations, cost.lanes, Some(key.len()))
        .and_then(|params| {
            let kdf = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
            kdf.hash_password_into(passphrase.as_bytes(), salt, &mut *key)
        })
        .map_err(|error| error.to_string())?;
    Ok(key)
}

fn encrypt(wrapping: &[u8; 32], nonce: &[u8; NONCE], private: &[u8; 32], label: &str) -> Vec<u8> {
    let payload = Payload { msg: private, aad: label.as_bytes() };
    Aes256Gcm::new(wrapping.into()).encrypt(nonce.into(), payload).expect("32 bytes fit AES-GCM")
}

fn decrypt(wrapping: &[u8; 32], nonce: &[u8; NONCE], sealed: &[u8], label: &str) -> Option<Zeroizing<[u8; 32]>> {
    let payload = Payload { msg: sealed, aad: label.as_bytes() };
    let opened = Zeroizing::new(Aes256Gcm::new(wrapping.into()).decrypt(nonce.into(), payload).ok()?);
    opened.as_slice().try_into().ok().map(Zeroizing::new)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As a file of an older rote would be, which asked less.
    pub(crate) fn weakened(file: &KeyFile, passphrase: &str) -> KeyFile {
        let private = file.open(passphrase).unwrap();
        let cost = Cost { memory_kib: 64, iterations: 1, lanes: 1 };
        let salt = STANDARD.decode(&file.kdf.salt_b64).unwrap();
        let nonce = STANDARD.decode(&file.aead.nonce_b64).unwrap().try_into().unwrap();
        let sealed = encrypt(&stretch(passphrase, &salt, cost).unwrap(), &nonce, &private, LABEL);
        let kdf = Kdf { cost, ..file.kdf.clone() };
        KeyFile { kdf, ciphertext_b64: STANDARD.encode(sealed), ..file.clone() }
    }

    fn counted<const N: usize>() -> [u8; N] {
        std::array::from_fn(|at| u8::try_from(at).unwrap())
    }

    #[test]
    fn the_vector_of_the_seed() {
        let wrapping = stretch("correct-passphrase", &counted::<16>(), COST).unwrap();
        assert_eq!(hex::encode(*wrapping), "76e2a7b65347bd5482a376ed3ae189b58ad705032b7b463858a1756c05de046c");
        let sealed = encrypt(&wrapping, &counted(), &counted(), "autopoiesis:approval-key:v1");
        assert_eq!(STANDARD.encode(&sealed), "h+6x/h+DroJ4z6UdoGWtf3ki0Iw3fqwvQfWr6CTYoSwbbeAUvZVUUnKOkSIPxcJk");
        let opened = decrypt(&wrapping, &counted(), &sealed, "autopoiesis:approval-key:v1").unwrap();
        assert_eq!(*opened, counted());
        // Under another label it is another thing.
        assert!(decrypt(&wrapping, &counted(), &sealed, LABEL).is_none());
    }

    #[test]
    fn a_file_that_asks_too_much_is_refused_before_anything_is_reckoned() {
        let file = KeyFile {
            version: 1,
            created_at: String::new(),
            key_id: String::new(),
            kdf: Kdf {
                name: "argon2id".to_owned(),
                cost: Cost { memory_kib: u32::MAX, ..COST },
                salt_b64: String::new(),
            },
            aead: Cipher { name: "aesgcm".to_owned(), nonce_b64: STANDARD.encode([0; 12]) },
            ciphertext_b64: String::new(),
        };
        assert!(matches!(file.open("correct-passphrase"), Err(Unopened::Damaged(_))));
        let salted = |cost| KeyFile { kdf: Kdf { cost, ..file.kdf.clone() }, ..file.clone() };
        for cost in [Cost { memory_kib: 0, ..COST }, Cost { lanes: 0, ..COST }, COST] {
            // No memory, no lanes, no salt.
            assert!(matches!(salted(cost).open("correct-passphrase"), Err(Unopened::Damaged(_))), "{cost:?}");
        }
    }
}
