//! Digests and fingerprints: SHA-256 everywhere, written in two ways.
//!
//! Bytes (components, artifacts, arguments) are named `sha256:<64 hex>`. Meaning (an adapter's surface, one
//! tool's contract) is named by base58 of the first 20 bytes of SHA-256 over RFC 8785 canonical JSON, the
//! form that published rote fingerprints have.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `bytes`.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Sha256Digest {
    Sha256Digest(Sha256::digest(bytes).into())
}

/// Returns the SHA-256 of the bytes before `split` and that of all of them, reading them once. A split beyond the end
/// counts as the end.
#[must_use]
pub fn sha256_split(bytes: &[u8], split: usize) -> (Sha256Digest, Sha256Digest) {
    let (before, after) = bytes.split_at(split.min(bytes.len()));
    let mut hash = Sha256::new_with_prefix(before);
    let first = hash.clone().finalize().into();
    hash.update(after);
    (Sha256Digest(first), Sha256Digest(hash.finalize().into()))
}

/// A SHA-256 over exact bytes, written `sha256:<64 hex digits>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256Digest(pub [u8; 32]);

impl Sha256Digest {
    /// Returns the 64 hex digits without the `sha256:` prefix.
    #[must_use]
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = text.strip_prefix("sha256:").and_then(|digits| hex::decode(digits).ok());
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not `sha256:` and 64 hex digits"))
    }
}

impl TryFrom<String> for Sha256Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Sha256Digest> for String {
    fn from(digest: Sha256Digest) -> String {
        digest.to_string()
    }
}

/// Base58 (Bitcoin alphabet) of the first 20 bytes of a digest: 26 to 28 characters.
fn short(digest: Sha256Digest) -> String {
    bs58::encode(&digest.0[..20]).into_string()
}

/// The identity of a whole adapter surface: `mcp_` and 26–28 base58 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

impl Fingerprint {
    /// Names the surface whose canonical identity hashes to `digest`.
    #[must_use]
    pub fn of(digest: Sha256Digest) -> Self {
        Self(format!("mcp_{}", short(digest)))
    }

    /// Returns the fingerprint as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The identity of one tool's contract: method, path, input schema and hints; never its prose.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolDigest(pub String);

impl ToolDigest {
    /// Names the contract whose canonical identity hashes to `digest`.
    #[must_use]
    pub fn of(digest: Sha256Digest) -> Self {
        Self(short(digest))
    }
}

impl fmt::Display for ToolDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_digests_of_a_split_are_those_of_the_parts() {
        for split in [0, 3, 6, 9] {
            let (before, all) = sha256_split(b"abcdef", split);
            assert_eq!(before, sha256(&b"abcdef"[..split.min(6)]));
            assert_eq!(all, sha256(b"abcdef"));
        }
    }

    #[test]
    fn a_digest_round_trips_through_text() {
        let digest = sha256(b"rote");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert!("sha256:00".parse::<Sha256Digest>().is_err());
    }

    #[test]
    fn a_fingerprint_looks_like_the_published_ones() {
        let text = Fingerprint::of(sha256(b"calendar")).0;
        assert!(text.starts_with("mcp_") && (30..=32).contains(&text.len()), "{text}");
    }
}
