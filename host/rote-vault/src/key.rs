//! The key of the token store: a file of the home, or the keyring of the system.
//!
//! 32 random bytes in either place; never derived from names or addresses of the machine.

use keyring::Entry;
use rote_home::{Home, host_key};
use rote_types::{Entropy, sha256};
use zeroize::Zeroizing;

use crate::VaultError;

/// Service and account under which the keyring holds the key.
const KEYRING_SERVICE: &str = "rote";
const KEYRING_ACCOUNT: &str = "vault-machine-key";

/// Name of the key file: `secrets/.machine.key`.
const KEY_FILE: &str = "machine";

/// Where the key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeySource {
    /// `secrets/.machine.key`, mode 0600.
    #[default]
    File,
    /// The keyring of the operating system.
    Keyring,
}

impl KeySource {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Keyring => "keyring",
        }
    }
}

/// A loaded key.
pub(crate) struct MachineKey {
    bytes: Zeroizing<[u8; 32]>,
}

impl MachineKey {
    /// Loads the key. One that is not there is made when `create` says so, else it is missing.
    pub(crate) fn load(
        home: &Home,
        entropy: &dyn Entropy,
        source: KeySource,
        create: bool,
    ) -> Result<Self, VaultError> {
        let bytes = match source {
            KeySource::File => from_file(home, entropy, create)?,
            KeySource::Keyring => from_keyring(entropy, create)?,
        };
        match bytes {
            Some(bytes) => Ok(Self { bytes }),
            None => Err(VaultError::KeyMissing { source_name: source.as_str() }),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Names the key without giving it away: tells a wrong key from a changed entry.
    pub(crate) fn id(&self) -> String {
        let mut labelled = Zeroizing::new(b"rote:vault:key-id:".to_vec());
        labelled.extend_from_slice(&*self.bytes);
        sha256(&labelled).hex()[..16].to_owned()
    }
}

fn from_file(home: &Home, entropy: &dyn Entropy, create: bool) -> Result<Option<Zeroizing<[u8; 32]>>, VaultError> {
    let present = home.secrets_dir().join(format!(".{KEY_FILE}.key")).symlink_metadata().is_ok();
    if !present && !create {
        return Ok(None);
    }
    Ok(Some(Zeroizing::new(host_key(home, KEY_FILE, entropy)?)))
}

fn from_keyring(entropy: &dyn Entropy, create: bool) -> Result<Option<Zeroizing<[u8; 32]>>, VaultError> {
    let failed = |source| VaultError::Keyring { source };
    let entry = Entry::new(KEYRING_SERVICE, KEYRING_ACCOUNT).map_err(failed)?;
    match entry.get_secret() {
        Ok(secret) => {
            let secret = Zeroizing::new(secret);
            // Something else under our name is as good as no key, and must not be overwritten.
            Ok(<[u8; 32]>::try_from(secret.as_slice()).ok().map(Zeroizing::new))
        }
        Err(keyring::Error::NoEntry) if create => {
            let mut key = Zeroizing::new([0_u8; 32]);
            entropy.fill(&mut *key);
            entry.set_secret(&*key).map_err(failed)?;
            Ok(Some(key))
        }
        Err(keyring::Error::NoEntry) => Ok(None),
        Err(source) => Err(failed(source)),
    }
}
