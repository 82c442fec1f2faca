//! Confirm tokens: how one is written and what is stored of it.
//!
//! Invariants: a token is 64 random bits as 16 hex digits; only its hash is ever stored.

use std::time::Duration;

use rote_types::{Canonical, Sha256Digest, sha256};
use serde_json::Value;

/// How long a token is good for (seed 001: 5 minutes).
pub const CONFIRM_LIFETIME: Duration = Duration::from_secs(300);

/// Returns the digest of a call's arguments: what a confirm token, an idempotency key, a write in doubt and a resumed run know
/// the call by. It is taken over the exact form, since two ids that differ are two calls.
#[must_use]
pub fn args_digest(arguments: &Value) -> Sha256Digest {
    let mut canonical = Canonical::exact();
    canonical.value(arguments);
    sha256(&canonical.finish())
}

/// Writes eight random bytes as a token.
#[must_use]
pub fn confirm_token(random: [u8; 8]) -> String {
    hex::encode(random)
}

/// Returns what is stored of a token, or `None` for a text that cannot be one.
#[must_use]
pub fn token_hash(token: &str) -> Option<Sha256Digest> {
    let fits = token.len() == 16 && token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    fits.then(|| sha256(format!("rote:confirm:{token}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn neighbouring_ids_are_different_arguments() {
        let digest = |id: u64| args_digest(&json!({"id": id}));
        assert_ne!(digest(9_007_199_254_740_993), digest(9_007_199_254_740_992));
        assert_eq!(digest(1), args_digest(&json!({"id": 1.0})));
    }

    #[test]
    fn only_sixteen_lower_hex_digits_are_a_token() {
        let token = confirm_token([0, 1, 2, 3, 4, 5, 6, 255]);
        assert_eq!(token, "00010203040506ff");
        assert!(token_hash(&token).is_some());
        for bad in ["", "00010203040506f", "00010203040506FF", "00010203040506fg", "00010203040506ff0"] {
            assert_eq!(token_hash(bad), None, "{bad}");
        }
    }
}
